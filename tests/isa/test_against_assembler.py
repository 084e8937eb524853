"""The table against ptxas, in both directions, on a seeded sample.

The whole of it is run by `make isa`, whose results are compared with the table here. What the
installed assembler is too old for (PTX versions after its own, targets it does not know) is left
out and counted; the newest assembler leaves out nothing.
"""

import json
import random
from collections import defaultdict
from dataclasses import replace

import isa_bulk
import isa_oracle as oracle
import isa_search
import probe_isa
import prove_isa
import pytest

from pyptx._assemble.ptxas import version as assembler_version
from pyptx._isa.differences import ABSENT, COMPLETE, REFUSED, STRICTER, WIDER, reason
from pyptx._isa.model import Availability
from pyptx._isa.sample import combinations, render, sample, spellings
from pyptx._isa.table import CHAPTERS, forms, opcodes
from pyptx._target import TARGETS, PtxVersion, Target

SEED = 20


def chapters():
    found = defaultdict(list)
    for form in forms():
        found[form.chapter].append(form)
    return dict(found)


def rejected(wanted, size):
    """Instructions that the assembler rejects where the table claims them, and how many it is too
    old for: `size` spellings of each form, the first with every kind of operand."""
    generator = random.Random(SEED)
    groups = defaultdict(list)
    too_old = 0
    for form in wanted:
        for number, modifiers in enumerate(sample(form, size, generator)):
            where = prove_isa.place(form, modifiers)
            if where is None:
                too_old += 1
                continue
            spelling = ".".join((form.opcode, *modifiers))
            if reason(spelling, REFUSED, assembler_version()):
                continue
            lists = render(form, modifiers)
            lists = lists if number == 0 else [generator.choice(lists)]
            groups[where] += [oracle.line(spelling, operands) for operands in lists]
    wrong = [
        f"{target} {version}: {line}: {verdict}"
        for (target, version), lines in groups.items()
        for line, verdict in zip(lines, oracle.verdicts(lines, version, target), strict=True)
        if verdict is not None
    ]
    return wrong, too_old


@pytest.mark.sampled(16)
@pytest.mark.parametrize("size", [1, pytest.param(24, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("chapter", chapters())
def test_what_the_table_has_is_accepted(chapter, size):
    """Every option of every form; `make isa` proves the whole."""
    wrong, too_old = rejected(chapters()[chapter], size)
    assert wrong == []
    assert too_old == 0 or oracle.newest() < newest_claim()


def newest_claim() -> PtxVersion:
    claims = [t.version for t in TARGETS]
    for form in forms():
        claims.append(form.availability.ptx)
        claims += [o.availability.ptx for s in form.slots for o in s.options]
    return max(claims)


def test_what_the_table_denies_is_rejected():
    generator = random.Random(SEED)
    cases = probe_isa.cases(forms())
    groups = defaultdict(list)
    for case in generator.sample(cases, 500):
        for where in prove_isa.outside(case.form, case.modifiers):
            groups[where].append(case)
    wrong = []
    for (target, version), wanted in groups.items():
        verdicts = oracle.verdicts([c.line for c in wanted], version, target)
        wrong += [
            f"{target} {version} {case.key}"
            for case, verdict in zip(wanted, verdicts, strict=True)
            if verdict is None and reason(case.spelling, WIDER, assembler_version()) is None
        ]
    assert sum(map(len, groups.values())) > 300
    assert wrong == []


def test_nothing_is_missing_from_the_table():
    found = [isa_search.Search(opcode).sample(2) for opcode in opcodes()]
    assert [each.taken for each in found if each.taken] == []
    assert sum(each.spellings for each in found) > 5000


def test_the_search_finds_what_is_left_out(monkeypatch):
    """The control: with a row taken away, the search reports its spellings."""
    without = tuple(f for f in forms() if not (f.opcode == "sub" and f.slots[-1].name == "f64"))
    assert len(without) == len(forms()) - 1
    monkeypatch.setattr(isa_search, "forms", lambda: without)
    isa_search._by_opcode.cache_clear()
    try:
        found = isa_search.Search("sub").sample(100).taken
    finally:
        isa_search._by_opcode.cache_clear()
    assert found
    assert all("f64" in spelling.split(".") for spelling in found)


def test_each_statement_has_what_is_said_of_it(monkeypatch):
    """Also behind what is no grammar, and behind what an assembler crashes at."""
    target = Target.parse("sm_80")
    statements = [
        "add.u32 %u32_0, %u32_1, %u32_2;",
        "add.ftz.u32 %u32_0, %u32_1, %u32_2;",
        "add.unified.u32 %u32_0, %u32_1, %u32_2;",
        "add.u32 %u32_0, %u32_1;",
        "add.no_such.u32 %u32_0, %u32_1, %u32_2;",
        "sub.u32 %u32_0, %u32_1, %u32_2;",
    ]
    said, uneasy = isa_bulk.refusals(statements, PtxVersion(8, 0), target)
    assert [each[:1] for each in said] == [
        (),
        ("Illegal modifier '.ftz' for instruction 'add'",),
        ("Parsing error near '.unified': syntax error",),
        ("Arguments mismatch for instruction 'add'",),
        ("Unknown modifier '.no_such'",),
        (),
    ]
    assert uneasy == []
    assert [isa_bulk.broken(each) for each in said] == [n == 2 for n in range(6)]

    ask = isa_bulk._ask

    def crashing(part, version, target):
        if any("sub" in statement for statement in part):
            before = part[: next(n for n, s in enumerate(part) if "sub" in s)]
            return -11, ask(before, version, target)[1] if before else {}
        return ask(part, version, target)

    monkeypatch.setattr(isa_bulk, "_ask", crashing)
    again, _ = isa_bulk.refusals(statements, PtxVersion(8, 0), target)
    assert again == [*said[:5], isa_bulk.CRASHED]


def test_a_crash_in_company_is_no_refusal(monkeypatch):
    def crashing(part, version, target):
        return (-11, {0: ["bad"]}) if len(part) > 2 else (255, {0: ["bad"]} if part[0] else {})

    monkeypatch.setattr(isa_bulk, "_ask", crashing)
    said, uneasy = isa_bulk.refusals(["x", "", "", ""], PtxVersion(8, 0), Target.parse("sm_80"))
    assert said == [("bad",), (), (), ()]
    assert uneasy == [1]


def test_a_crash_behind_the_last_statement_is_of_none(monkeypatch):
    monkeypatch.setattr(isa_bulk, "_ask", lambda part, version, target: (-11, {1: ["bad"]}))
    said, uneasy = isa_bulk.refusals(["x", "y"], PtxVersion(8, 0), Target.parse("sm_80"))
    assert said == [(), ("bad",)]
    assert uneasy == []


@pytest.mark.parametrize("absence", ABSENT, ids=lambda a: a.instruction.split(" ")[0])
def test_what_is_left_out_exists(absence):
    """So that the list of what the table lacks stays true."""
    target = Target.parse(absence.target)
    version = min(COMPLETE, oracle.newest())
    if target.version > version or (absence.target != "sm_75" and version < COMPLETE):
        assert oracle.newest() < COMPLETE  # an assembler that is too old for it
        return
    registers = "".join(
        f".reg .{dtype} %{name}<8>; "
        for name, dtype in (("r", "b32"), ("d", "b64"), ("f", "f32"), ("p", "pred"))
    )
    assert oracle.alone(oracle.stub(f"{registers} {absence.instruction};"), version, target)
    assert absence.reason


STRICT = {
    "membar.proxy.async.global": "",
    "cvta.to.shared.u32": "%r0, %r1",
    "shfl.idx.b32": "%r0, %r1, 0, 31",
    "st.async.weak.shared::cluster.b32": "[%d0], %r1, [%d2]",
    "multimem.red.relaxed.global.add.u32": "[%d0], %r1",
    "ld.proxy::readonly.global.b128": "%q0, [%d0]",
    "cvt.rs.pzo.f16x2.f32": "%r0, %f0, %f1, %r1",
}
"""What the manual has and assemblers refuse, an instruction for each difference, with operands."""


def test_what_is_said_to_be_refused_is_refused():
    """On every target, so that what the table leaves out for it stays true."""
    registers = "".join(
        f".reg .{dtype} %{name}<3>; "
        for name, dtype in (("r", "b32"), ("d", "b64"), ("f", "f32"), ("q", "b128"))
    )
    lines = [oracle.stub(f"{registers} {s} {operands};") for s, operands in STRICT.items()]
    lines.append(".entry kernel() .maxnctapersm 2 { ret; }")
    version = min(COMPLETE, oracle.newest())
    for target in oracle.known_targets():
        if target.version <= version:
            assert None not in oracle.verdicts(lines, version, target)
    examples = (*STRICT, ".maxnctapersm")
    assert [sum(map(each.covers, examples)) for each in STRICTER] == [1] * len(examples)
    tabled = {".".join((f.opcode, *m)) for f in forms() for m in sample(f, 1, random.Random(SEED))}
    assert [s for s in tabled if reason(s, STRICTER)] == []


# ---- availability -------------------------------------------------------------------------------


MEASURED = sorted(probe_isa.RESULTS.glob("ptxas-*.json"))
PROOFS = sorted(probe_isa.RESULTS.glob("proof-*.json"))
AGAIN = "changed since it was proven: make isa"


def test_measurements_are_committed():
    assert [p.stem.removeprefix("ptxas-") for p in MEASURED] == ["13.0.88", "13.5.37"]
    assert [p.stem.removeprefix("proof-") for p in PROOFS] == ["13.5.37"]


@pytest.mark.parametrize("path", PROOFS, ids=lambda p: p.stem)
def test_all_of_the_table_is_proven(path):
    """Every form as it is now: accepted and denied; every opcode as it is now: searched."""
    proof = prove_isa.load(path)
    names = {prove_isa.name(form) for form in forms()}
    for part in ("accepted", "denied"):
        missing = sorted(names - proof[part].keys())
        assert missing == [], AGAIN
        assert proof[part].keys() == names
    assert proof["searched"].keys() == set(map(prove_isa.opcode_name, opcodes())), AGAIN


@pytest.mark.parametrize("path", PROOFS, ids=lambda p: p.stem)
def test_a_proof_is_of_every_spelling(path):
    """So many as the table has today, but for those that a known difference covers."""
    proof = prove_isa.load(path)
    for form in forms():
        name, size = prove_isa.name(form), combinations(form)
        if size > 5000:
            assert proof["accepted"][name][0] > 1000, name
            continue
        spelled = [".".join((form.opcode, *m)) for m in spellings(form)]
        accepted = [s for s in spelled if reason(s, REFUSED, proof["ptxas"]) is None]
        denied = [s for s in spelled if reason(s, WIDER, proof["ptxas"]) is None]
        assert proof["accepted"][name][0] == len(accepted), name
        assert proof["denied"][name][0] == len(denied), name
        assert proof["accepted"][name][1] >= len(accepted)


@pytest.mark.parametrize("path", PROOFS, ids=lambda p: p.stem)
def test_a_proof_has_searched(path):
    """Of every opcode more spellings than the pool has modifiers, and millions in all."""
    searched = prove_isa.load(path)["searched"]
    few = [opcode for opcode, tried in searched.items() if tried[0] < len(isa_search.pool())]
    assert few == []
    assert sum(spellings for spellings, _ in searched.values()) > 2_000_000
    assert all(spellings <= instructions for spellings, instructions in searched.values())


def test_a_changed_row_is_not_proven():
    """The control: whatever of a row changes, its name in the proof does."""
    form = next(f for f in forms() if f.opcode == "elect")
    changed = (
        replace(form, availability=Availability("sm_90a", PtxVersion(8, 0))),
        replace(form, operands=form.operands[:1]),
        replace(form, operands=(form.operands[0], replace(form.operands[1], legal=range(3)))),
        replace(form, slots=(replace(form.slots[0], required=False),)),
    )
    assert len({prove_isa.name(f) for f in (form, *changed)}) == 5
    assert prove_isa.digest([replace(form, section="elsewhere")]) == prove_isa.digest([form])


@pytest.mark.parametrize("path", MEASURED, ids=lambda p: p.stem)
def test_the_table_claims_what_was_measured(path):
    stored = json.loads(path.read_text())
    cases = probe_isa.cases(forms())
    measured = probe_isa.decode(stored)
    assert {c.key for c in cases} == set(measured)
    targets = [Target.parse(t) for t in stored["targets"]]
    wrong = probe_isa.disagreements(cases, measured, targets, PtxVersion.parse(stored["ptx"]))
    assert probe_isa.unexplained(wrong, stored["ptxas"]) == []


def test_the_installed_assembler_agrees_on_a_sample():
    cases = random.Random(SEED).sample(probe_isa.cases(forms()), 40)
    targets = [t for t in prove_isa.PREFERRED[2:] if t in oracle.known_targets()]
    measured = probe_isa.measure(cases, targets)
    wrong = probe_isa.disagreements(cases, measured, targets, oracle.newest())
    assert probe_isa.unexplained(wrong, assembler_version()) == []


def test_a_wrong_claim_is_noticed():
    """The control: a claim moved by one target or one version shows."""
    stored = json.loads(MEASURED[-1].read_text())
    measured = probe_isa.decode(stored)
    targets = [Target.parse(t) for t in stored["targets"]]
    case = next(c for c in probe_isa.cases(forms()) if c.key.startswith("elect.sync  "))
    assert case.form.availability == Availability("sm_90", PtxVersion(8, 0))
    for wrong in (
        Availability("sm_90a", PtxVersion(8, 0)),
        Availability("sm_90", PtxVersion(8, 1)),
    ):
        moved = replace(case, form=replace(case.form, availability=wrong))
        found = probe_isa.disagreements([moved], measured, targets, PtxVersion.parse(stored["ptx"]))
        assert len(found) == 1
        assert found[0].startswith("elect.sync  d|p, membermask: sm_90")


@pytest.mark.sweep
def test_the_installed_assembler_agrees_in_full():
    cases = probe_isa.cases(forms())
    measured = probe_isa.measure(cases, oracle.known_targets())
    wrong = probe_isa.disagreements(cases, measured, oracle.known_targets(), oracle.newest())
    assert probe_isa.unexplained(wrong, assembler_version()) == []


def test_the_measurement_of_the_installed_assembler_is_fresh():
    """Where the installed assembler has a committed result, it measures the same today."""
    path = probe_isa.RESULTS / f"ptxas-{assembler_version()}.json"
    if path not in MEASURED:
        # Another assembler than those measured: its answers are tested live, above.
        assert assembler_version() not in {p.stem.removeprefix("ptxas-") for p in MEASURED}
        return
    stored = probe_isa.decode(json.loads(path.read_text()))
    cases = random.Random(SEED + 1).sample(probe_isa.cases(forms()), 60)
    target = Target.parse("sm_90a")
    for key, where in probe_isa.measure(cases, [target]).items():
        assert where.get(target) == stored[key].get(target), key


def test_every_chapter_is_measured():
    assert len(CHAPTERS) == 21
    assert len(chapters()) >= len(CHAPTERS)
