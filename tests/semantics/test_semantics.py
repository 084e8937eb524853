"""Every arithmetic instruction of the emulator, bit for bit against the model."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
import re

import pytest

from pyptx._isa.sample import spellings
from pyptx._isa.table import forms

from . import model
from .cases import CASES, CHAPTERS, NOT_EMULATED, Case, exhaustive, inputs, width
from .straightline import NotEmulated, evaluate

EVERYDAY = 40
# Comparisons come in thousands of spellings that share their parts.
EVERYDAY_COMPARISONS = 8
SWEEP = 20000


def expected(case: Case, row: tuple[int, ...]) -> tuple[int, ...]:
    """What the model gives, as the case's registers hold it."""
    values = list(row)
    # The carry is the model's last input, and a negated predicate is negated before it gets there.
    constants = [int(o[1:]) for o in case.operands if o.startswith("#")]
    at = 0
    for operand in case.operands:
        if operand == "cc":
            values[at] = int(values[at] != 0)
        if operand.startswith("!"):
            values[at] ^= 1
        at += 0 if operand[0] in "=#" else len(operand.strip("{}").split())
    if constants:
        values.insert(3, constants[0])
    if case.spelling.startswith("mov.") and any("{" in o for o in case.operands):
        return moved(case, values)
    results = model.evaluate(case.spelling, values)[: len(case.destinations)]
    if case.spelling.startswith("cvt.") and "@" in case.destinations[0]:
        spelled = model.Spelled(case.spelling)
        return (model.extend_result(spelled, results[0], width(case.destinations[0])),)
    return tuple(results)


def moved(case: Case, values: list[int]) -> tuple[int, ...]:
    """mov between a register and a vector: the first element is the lowest part."""
    if len(case.sources) > 1:
        bits = width(case.sources[0])
        return (sum(v << bits * k for k, v in enumerate(values)),)
    bits = width(case.destinations[0])
    return tuple(values[0] >> bits * k & (1 << bits) - 1 for k in range(len(case.destinations)))


def disagreements(library: ctypes.CDLL, case: Case, rows: list[tuple[int, ...]]) -> list[str]:
    results = evaluate(library, case, rows)
    return [
        f"{case}: {hexes(row)} gives {hexes(got)}, the model {hexes(want)}"
        for row, got in zip(rows, results, strict=True)
        if got != (want := expected(case, row))
    ]


def hexes(values: tuple[int, ...]) -> str:
    return "(" + ", ".join(f"{v:#x}" for v in values) + ")"


def by_opcode() -> list[tuple[str, list[Case]]]:
    """Cases in groups small enough to be tests: by opcode and, of large ones, by types."""
    groups: dict[str, list[Case]] = {}
    for case in CASES:
        parts = case.spelling.split(".")
        kind = parts[0]
        if kind in ("set", "setp"):
            kind = ".".join([kind, *parts[-2:]]) if kind == "set" else f"{kind}.{parts[-1]}"
        if kind == "cvt":
            kind = f"cvt.{parts[-2]}.{parts[-1]}"
        groups.setdefault(kind, []).append(case)
    return sorted(groups.items())


@pytest.mark.parametrize(("group", "cases"), by_opcode(), ids=[g for g, _ in by_opcode()])
def test_agrees_with_the_model(library: ctypes.CDLL, group: str, cases: list[Case]) -> None:
    compared = group.startswith("set")
    count = EVERYDAY_COMPARISONS if compared else EVERYDAY
    wrong = [w for c in cases for w in disagreements(library, c, inputs(c, count))]
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:20])


@pytest.mark.sweep
@pytest.mark.parametrize(("group", "cases"), by_opcode(), ids=[g for g, _ in by_opcode()])
def test_agrees_with_the_model_at_length(
    library: ctypes.CDLL, group: str, cases: list[Case]
) -> None:
    count = 512 if group.startswith("set") else SWEEP
    wrong = [w for c in cases for w in disagreements(library, c, exhaustive(c) or inputs(c, count))]
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("mask", [0x00000001, 0x80000000, 0x0F0F3355])
def test_lanes_outside_the_mask_keep_their_destinations(library: ctypes.CDLL, mask: int) -> None:
    wrong: list[str] = []
    for group, cases in by_opcode():
        case = cases[len(group) % len(cases)]
        rows = inputs(case, 32)
        results = evaluate(library, case, rows, mask)
        untouched = tuple((1 << width(t)) - 1 for t in case.destinations)
        carry = (
            "=cc" in case.operands
        )  # read by an instruction of its own, which the mask bounds too
        for lane, (row, got) in enumerate(zip(rows, results, strict=True)):
            want = expected(case, row) if mask >> lane & 1 else untouched
            if got[: -1 if carry else None] != want[: -1 if carry else None]:
                wrong.append(f"{case} lane {lane}: {hexes(got)}, not {hexes(want)}")
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:20])


def test_all_builds_give_the_same_bits(library: ctypes.CDLL, others: list[ctypes.CDLL]) -> None:
    wrong: list[str] = []
    for group, cases in by_opcode():
        # Of comparisons one each; the others whole.
        for case in cases if not group.startswith("set") else cases[:1]:
            rows = inputs(case, 64)
            found = evaluate(library, case, rows)
            if any(evaluate(other, case, rows) != found for other in others):
                wrong.append(str(case))
    assert not wrong


UPWARDS = {"x86_64": 0x800, "amd64": 0x800, "aarch64": 0x400000, "arm64": 0x400000}


def test_the_hosts_rounding_mode_does_not_matter(library: ctypes.CDLL) -> None:
    """The caller of a launch may have changed its thread's floating-point environment."""
    chosen = [
        c
        for c in CASES
        if c.spelling in ("add.rn.f32", "fma.rn.f64", "ex2.approx.f32", "div.rz.f64")
    ]
    wanted = [evaluate(library, c, inputs(c, 256)) for c in chosen]
    math = ctypes.CDLL(ctypes.util.find_library("m"))
    before = math.fegetround()
    assert math.fesetround(UPWARDS[platform.machine().lower()]) == 0
    try:
        got = [evaluate(library, c, inputs(c, 256)) for c in chosen]
        assert math.fegetround() == UPWARDS[platform.machine().lower()]
    finally:
        math.fesetround(before)
    assert got == wanted


def test_every_spelling_of_the_chapters_is_a_case_or_refused() -> None:
    table = {
        ".".join((form.opcode, *modifiers))
        for form in forms()
        if form.chapter in CHAPTERS or form.opcode in ("mov", "prmt", "cvt")
        for modifiers in spellings(form)
    }
    assert len(table) > 5000
    tried = {case.spelling for case in CASES}
    assert sorted(table - tried - NOT_EMULATED.keys()) == []
    assert sorted(tried & NOT_EMULATED.keys()) == []
    assert sorted(NOT_EMULATED.keys() - table) == []


@pytest.mark.parametrize("spelling", sorted(NOT_EMULATED))
def test_refuses_what_it_does_not_run(library: ctypes.CDLL, spelling: str) -> None:
    parts = spelling.split(".")
    sources = ("{f32 f32 f32 f32}",) if parts[-2].endswith("x4") else ("f32", "f32")
    place = "=b16" if parts[-2] == "e2m1x4" else "=b32"
    case = Case(spelling, (place, *sources, "b32"))
    with pytest.raises(NotEmulated, match=re.escape(spelling)):
        evaluate(library, case, [(0,) * len(case.sources)])


@pytest.mark.parametrize(
    "spelling",
    [
        "add.rna.f32", "add.ftz.rn.f32", "add.rn.sat.ftz.f32", "add.foo.f32", "add.f32.f32",
        "fma.f32", "div.f32", "mul.u32", "mad.lo.sat.s32", "min.NaN.f64", "add.ftz.f64",
        "add.ftz.bf16", "fma.rn.sat.relu.f16", "ex2.approx.bf16", "rsqrt.rn.f64", "sqrt.approx.f64",
        "setp.lt.b32", "setp.lo.s32", "setp.num.u32", "setp.lt.ftz.f64", "set.lt.f64.f32",
        "set.lt.f32.f16", "cvt.u32.f32", "cvt.rn.u32.f32", "add.sat.u64", "cvt.f32.s32",
        "cvt.rni.f32.s32", "cvt.relu.f32.f32", "cvt.rn.relu.f32.f64", "cvt.f32.f64",
        "cvt.rn.f64.f32", "cvt.rn.e4m3x2.f32", "shl.u32", "and.u32", "cnot.pred", "prmt.b32.f5e",
        "shf.l.b32", "mov.f16", "bfe.b32",
    ],
)  # fmt: skip
def test_refuses_what_ptx_does_not_have(library: ctypes.CDLL, spelling: str) -> None:
    """Of operands of the types' widths; three sources at most."""
    last = spelling.rsplit(".", 1)[1]
    type_ = last if last != "f5e" else "b32"
    refused = 0
    for count in (1, 2, 3):
        case = Case(spelling, (f"={type_}", *[type_] * count))
        with pytest.raises(NotEmulated):
            evaluate(library, case, [(0,) * count])
        refused += 1
    assert refused == 3
