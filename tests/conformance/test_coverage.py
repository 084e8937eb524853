"""Every arithmetic spelling that the emulator runs is vouched for: by the record or by the model.

Of a form that an H200 has the record holds every modifier at least once; what it cannot have is the
list of elsewhere.py and nothing else, and all of that is among the cases of tests/semantics.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import emulated
import numpy as np
import pytest
from elsewhere import ELSEWHERE
from kernels import CONSTANT, TARGET, VERSION, cases

from pyptx import Tile, kernel, ptx, reg
from pyptx._isa import available
from pyptx._isa.model import Form
from pyptx._isa.sample import spellings
from pyptx._isa.table import forms
from pyptx._target import TARGETS
from pyptx.types import pred, u32
from semantics.cases import CASES, CHAPTERS, NOT_EMULATED, expand

FOLDER = Path(__file__).parent

Entry = tuple[str, int]
"""A spelling and how many operands it has; some spellings are forms of two and of three."""

ALL = list(cases())


def arithmetic() -> Iterator[tuple[Form, tuple[str, ...], Entry]]:
    """Every spelling of the chapters that the emulator runs."""
    for form in forms():
        if form.chapter not in CHAPTERS and form.opcode not in ("mov", "prmt", "cvt"):
            continue
        if form.syntax in CONSTANT:
            continue
        count = sum(1 for o in form.operands if o.when is None and not o.optional)
        for modifiers in spellings(form):
            spelling = ".".join((form.opcode, *modifiers))
            if spelling not in NOT_EMULATED:
                yield form, modifiers, (spelling, count)


def needs(form: Form, modifiers: tuple[str, ...]) -> str | None:
    """The first place that has the spelling, None where an H200 with the record's PTX has it."""
    targets, version = available.availability(form, modifiers)
    if TARGET not in targets:
        return str(next(t for t in TARGETS if t in targets))
    return f"PTX ISA {version}" if version > VERSION else None


@pytest.fixture(scope="module")
def recorded() -> set[str]:
    digests = json.loads((FOLDER / "h200.json").read_text())["digests"]
    return set(digests) | set(np.load(FOLDER / "h200.npz"))


LISTED = {(s, count): first for first, count, pattern in ELSEWHERE for s in expand(pattern)}


def test_the_list_is_what_no_h200_runs():
    found = {
        entry: first
        for form, modifiers, entry in arithmetic()
        if (first := needs(form, modifiers)) is not None
    }
    assert len(found) > 150
    assert found == LISTED


def test_the_model_vouches_for_the_list():
    modelled = {(c.spelling, len([o for o in c.operands if "cc" not in o])) for c in CASES}
    assert sorted(LISTED.keys() - modelled) == []


def test_the_record_has_every_modifier_of_every_other_form(recorded: set[str]):
    shown: dict[str, set[str]] = {}
    for case in ALL:
        if case.name in recorded:
            names = shown.setdefault(case.form.syntax + case.form.opcode, set())
            names.update(case.spelling.split("."))
    missing = [
        f"{form.syntax}: .{name}"
        for form, modifiers, _ in arithmetic()
        if needs(form, modifiers) is None
        for name in modifiers
        if name not in shown.get(form.syntax + form.opcode, set())
    ]
    assert sorted(set(missing)) == []


def test_the_emulator_runs_every_case():
    assert [c.spelling for c in ALL if not emulated.supported(c)] == []


@pytest.mark.parametrize(("value", "held"), [(0, 0), (1, 1), (-1, 1), (2, 1)])
def test_a_predicate_of_a_constant_holds_where_the_constant_is_not_zero(value, held):
    assert [form.syntax for form in forms() if form.syntax in CONSTANT] == list(CONSTANT)

    @kernel(in_specs=(), out_specs=(Tile(1, u32),), grid=(1, 1, 1), block=(1, 1, 1))
    def constant(Y):
        (y,) = ptx.global_ptrs(Y)
        p = reg.scalar(pred)
        ptx.inst.mov.pred(p, value)
        ptx.inst.st.global_.u32(ptx.addr(y), ptx.inst.selp.u32(1, 0, p))

    assert constant.emulate().outputs[0] == held
