"""The table against ptxas, in both directions, on a seeded sample; `-m sweep` is the whole of it.

What the installed assembler is too old for (PTX versions after its own, targets it does not know)
is left out and counted; the newest assembler leaves out nothing.
"""

import json
import random
from collections import defaultdict
from dataclasses import replace

import isa_oracle as oracle
import isa_search
import probe_isa
import pytest

from pyptx.assemble.ptxas import version as assembler_version
from pyptx.isa.check import availability
from pyptx.isa.differences import ABSENT, COMPLETE, REFUSED, WIDER, reason
from pyptx.isa.model import Availability
from pyptx.isa.sample import render, sample
from pyptx.isa.table import CHAPTERS, forms, opcodes
from pyptx.target import TARGETS, PtxVersion, Target

SEED = 20
PREFERRED = tuple(
    Target(sm, suffix)
    for sm, suffixes in ((75, " "), (80, " "), (89, " "), (90, " a"), (100, " fa"), (120, "fa"))
    for suffix in map(str.strip, suffixes)
)


def chapters():
    found = defaultdict(list)
    for form in forms():
        found[form.chapter].append(form)
    return dict(found)


def place(form, modifiers):
    """The first preferred target that has a spelling and the version from which it does.

    None where the installed assembler is too old for it.
    """
    targets, version = availability(form, modifiers)
    for target in (*PREFERRED, *TARGETS):
        if target in targets and target in oracle.known_targets():
            needed = max(version, target.version)
            if needed <= oracle.newest():
                return target, needed
    return None


def rejected(wanted, size):
    """Instructions that the assembler rejects where the table claims them, and how many it is too
    old for: `size` spellings of each form, the first with every kind of operand."""
    generator = random.Random(SEED)
    groups = defaultdict(list)
    too_old = 0
    for form in wanted:
        for number, modifiers in enumerate(sample(form, size, generator)):
            where = place(form, modifiers)
            if where is None:
                too_old += 1
                continue
            spelling = ".".join((form.opcode, *modifiers))
            if reason(spelling, REFUSED, assembler_version()):
                continue
            lists = render(form, modifiers)
            lists = lists if number == 0 or size > 1000 else [generator.choice(lists)]
            groups[where] += [oracle.line(spelling, operands) for operands in lists]
    wrong = [
        f"{target} {version}: {line}: {verdict}"
        for (target, version), lines in groups.items()
        for line, verdict in zip(lines, oracle.verdicts(lines, version, target), strict=True)
        if verdict is not None
    ]
    return wrong, too_old


@pytest.mark.parametrize("chapter", chapters())
def test_what_the_table_has_is_accepted(chapter):
    wrong, too_old = rejected(chapters()[chapter], 24)
    assert wrong == []
    assert too_old == 0 or oracle.newest() < newest_claim()


@pytest.mark.sweep
@pytest.mark.parametrize("chapter", chapters())
def test_what_the_table_has_is_accepted_in_full(chapter):
    wrong, _ = rejected(chapters()[chapter], 2000)
    assert wrong == []


def newest_claim() -> PtxVersion:
    claims = [t.version for t in TARGETS]
    for form in forms():
        claims.append(form.availability.ptx)
        claims += [o.availability.ptx for s in form.slots for o in s.options]
    return max(claims)


def outside(case, newest):
    """Places where the table says that a case is not: another target, and the version before."""
    claimed = case.claimed()
    without = [t for t in oracle.known_targets() if t not in claimed]
    places = [(t, newest) for t in without[:: max(1, len(without) // 2)]]
    for target, version in claimed.items():
        before = [v for v in oracle.VERSIONS if target.version <= v < version]
        if before and target in oracle.known_targets():
            places.append((target, min(before[-1], newest)))
            break
    return places


def test_what_the_table_denies_is_rejected():
    generator = random.Random(SEED)
    cases = probe_isa.cases(forms())
    groups = defaultdict(list)
    for case in generator.sample(cases, 500):
        for where in outside(case, oracle.newest()):
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
    assert isa_search.search(list(opcodes()), 24, SEED) == {}


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_missing_from_the_table_in_full(seed):
    assert isa_search.search(list(opcodes()), 500, seed) == {}


def test_the_search_finds_what_is_left_out(monkeypatch):
    """The control: with a row taken away, the search reports its spellings."""
    without = tuple(f for f in forms() if not (f.opcode == "sub" and f.slots[-1].name == "f64"))
    assert len(without) == len(forms()) - 1
    monkeypatch.setattr(isa_search, "forms", lambda: without)
    isa_search._by_opcode.cache_clear()
    try:
        found = isa_search.search(["sub"], 400, SEED)
    finally:
        isa_search._by_opcode.cache_clear()
    assert found
    assert all(spelling.endswith(".f64") for spelling in found)


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


# ---- availability -------------------------------------------------------------------------------


MEASURED = sorted(probe_isa.RESULTS.glob("ptxas-*.json"))


def test_a_measurement_is_committed():
    assert MEASURED


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
    cases = random.Random(SEED).sample(probe_isa.cases(forms()), 100)
    targets = [t for t in PREFERRED[2:] if t in oracle.known_targets()]
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
    assert len(CHAPTERS) == 20
    assert len(chapters()) >= len(CHAPTERS)
