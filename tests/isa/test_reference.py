"""The pages of docs/isa: fresh, and each example in them run, or at least assembled."""

import linecache
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from pyptx import AssembleError
from pyptx._assemble.ptxas import version as assembler_version
from pyptx._emulator.coverage import coverage, runs
from pyptx._isa import reference
from pyptx._isa.model import Form
from pyptx._isa.table import forms, opcodes
from pyptx._isa.written import NOTES, WRITTEN

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import isa_pages  # noqa: E402

SECTIONS = {f"{s.opcode} {s.section}": s for s in reference.sections()}


@pytest.fixture(scope="module")
def pages():
    return isa_pages.made()


def test_the_pages_are_those_of_the_table(pages):
    committed = {path.name: path.read_text() for path in isa_pages.FOLDER.glob("*.md")}
    names = committed.keys() | pages.keys()
    stale = sorted(n for n in names if committed.get(n) != pages.get(n))
    assert not stale, f"run `make pages`, which is `{reference.COMMAND}`"


def program(text):
    """The kernel `example` of a page's block, with lines that messages can show."""
    name = "<example>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = {}
    exec(compile(text, name, "exec", dont_inherit=True), names)
    return names["example"]


@pytest.mark.parametrize("section", SECTIONS)
def test_each_example_runs_or_is_assembled(section, pages):
    own = SECTIONS[section]
    example = own.example
    assert f"```python\n{example.text}```\n" in pages[f"{own.opcode}.md"]
    kernel = program(example.text)
    form, modifiers = example.form, example.modifiers
    size = f"(Tile({', '.join(map(str, example.shape))}, u32),)"
    assert (size in example.text) == example.uses_memory
    if runs(form, modifiers) and not takes_handle(form):
        arrays = [np.arange(1024, dtype=np.uint32).reshape(example.shape)] * example.uses_memory
        assert kernel.emulate(*arrays, sanitize=True).report.findings == ()
    else:
        assert assembled(kernel, str(example.target))
    assert re.search(rf"(?m)^    (@!?%p\d+ )?{re.escape(example.spelling)}[ ;]", kernel.ptx())


def takes_handle(form):
    """Whether it takes a texture or surface, which only kernels of PTX files are given."""
    return any(spec.name in ("tex", "surf") for spec in form.operands)


def assembled(kernel, target):
    """Assemble a kernel, where the installed assembler knows its target and PTX version."""
    try:
        return kernel.cubin(arch=target)
    except AssembleError as error:
        old = re.search(r"Unsupported .version|not (recognized|defined for option)", str(error))
        newest = assembler_version().startswith("13.5.")
        if old and not newest:
            pytest.skip(f"ptxas {assembler_version()} is too old for {target}")
        raise


def test_most_examples_run():
    """The control: that the emulator is asked, and says yes for more than half."""
    examples = [s.example for s in SECTIONS.values()]
    running = sum(runs(e.form, e.modifiers) for e in examples)
    assert len(examples) > 200
    assert len(examples) / 2 < running < len(examples)


def test_every_form_and_opcode_is_on_a_page_and_in_the_index(pages):
    assert pages.keys() == {"README.md", *(f"{opcode}.md" for opcode in opcodes())}
    for form in forms():
        assert f"`{form.syntax}`".replace("|", "\\|") in pages[f"{form.opcode}.md"]
    for opcode in opcodes():
        assert f"]({opcode}.md" in pages["README.md"]


def test_every_link_between_pages_leads_somewhere(pages):
    for name, text in pages.items():
        for target, anchor in re.findall(r"\]\(([\w.]*\.md)?(?:#([\w-]+))?\)", text):
            there = pages[target or name]
            headings = re.findall(r"(?m)^## (.*)$", there)
            made = {re.sub(r"[^\w -]", "", h).replace(" ", "-").lower() for h in headings}
            assert not anchor or anchor in made, (name, target, anchor)
            assert len(headings) == len(made), f"{name}: a heading is there twice"


def test_what_is_written_by_hand_belongs_to_something():
    assert {form.section for form in forms()} >= WRITTEN.keys()
    assert opcodes().keys() >= NOTES.keys()
    shown = {section.example.lines for section in SECTIONS.values()}
    assert shown >= set(WRITTEN.values())


def form_of(syntax) -> Form:
    (found,) = (f for f in forms() if f.syntax == syntax)
    return found


def test_operands_in_words():
    form = form_of(
        "cp.async.cg.shared.global{.L2::cache_hint}{.prefetch}  [dst], [src], cp_size, policy"
    )
    words = {o.name: reference.operand(form, o) for o in form.operands}
    assert words == {
        "dst": "an address in .shared, a multiple of 16 bytes",
        "src": "an address in .global, a multiple of 16 bytes",
        "cp_size": "a .u32 constant, 16",
        "policy": "a 64-bit integer register or a constant; there with .L2::cache_hint only",
    }
    form = form_of("setp.cmp{.bool}{.ftz}.f32  p{|q}, a, b, {!}c")
    words = {o.name: reference.operand(form, o) for o in form.operands}
    assert words["p"] == (
        "destination: a .pred register, or ptx.pair(d, p) with a predicate behind it"
    )
    assert words["c"] == "a .pred register or its negation, ~p; there with .bool only"
    form = form_of("mul.wide.T  d, a, b")
    assert reference.operand(form, form.operands[0]) == (
        "destination: a (twice as wide as .T) register"
    )


def test_rules_in_words():
    form = form_of(
        "ld{.weak}{.ss}{.cop}{.L2::cache_hint}{.prefetch}{.vec}.T  d, [a]{.unified}, policy"
    )
    assert ".b128 excludes .vec" in reference.rules(form)
    assert ".prefetch needs .global or no .ss" in reference.rules(form)


def test_coverage_in_words():
    assert str(coverage(form_of("fma.rnd.f64  d, a, b, c"))) == "yes"
    assert str(coverage(form_of("txq.level.query.b32  d, [tex], lod"))) == "no"
    assert not runs(form_of("txq.level.query.b32  d, [tex], lod"), ("level", "width", "b32"))
