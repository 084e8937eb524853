"""The video instructions of the emulator, bit for bit against the model."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator

import pytest

from pyptx._isa.model import PARTS, Form, OperandSpec
from pyptx._isa.sample import spellings
from pyptx._isa.table import forms

from . import video
from .cases import Case, inputs
from .straightline import NotEmulated, evaluate

FORMS = [form for form in forms() if form.chapter == "Video Instructions"]
OPCODES = sorted({form.opcode for form in FORMS})
CHOICES, ROWS = 3, 16


def written(spec: OperandSpec, type_: str, generator: random.Random) -> str:
    """One operand as `cases` writes it: some part of a register, or all, negated or not."""
    selects = spec.parts and (spec.partial or generator.random() < 0.6)
    lanes = f".{generator.choice(PARTS[spec.parts])}" if selects else ""
    minus = spec.minus == "required" or (spec.minus and generator.random() < 0.5)
    return f"{'=' if spec.access == 'out' else ''}{'-' if minus else ''}{type_}{lanes}"


def cases_of(form: Form, choices: int) -> Iterator[Case]:
    generator = random.Random(form.syntax)
    for modifiers in spellings(form):
        spelling = ".".join((form.opcode, *modifiers))
        for _ in range(choices):
            operands = tuple(written(spec, "u32", generator) for spec in form.operands)
            yield Case(spelling, operands)


def disagreements(library: ctypes.CDLL, case: Case, count: int) -> list[str]:
    rows = inputs(case, count)
    results = evaluate(library, case, rows)
    return [
        f"{case}: {tuple(map(hex, row))} gives {got:#x}, the model {want:#x}"
        for row, (got,) in zip(rows, results, strict=True)
        if got != (want := video.evaluate(case.spelling, case.operands, row))
    ]


@pytest.mark.parametrize("opcode", OPCODES)
def test_agrees_with_the_model(library: ctypes.CDLL, opcode: str) -> None:
    cases = [c for form in FORMS if form.opcode == opcode for c in cases_of(form, CHOICES)]
    assert len(cases) > 70
    wrong = [w for case in cases for w in disagreements(library, case, ROWS)]
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:20])


@pytest.mark.sweep
@pytest.mark.parametrize("opcode", OPCODES)
def test_agrees_with_the_model_at_length(library: ctypes.CDLL, opcode: str) -> None:
    cases = (c for form in FORMS if form.opcode == opcode for c in cases_of(form, 6))
    wrong = [w for case in cases for w in disagreements(library, case, 300)]
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize(
    ("spelling", "operands", "values", "result"),
    [
        # by hand, so that the model and the emulator have no mistake in common
        ("vadd.u32.u32.u32", ("=u32", "u32.b1", "u32.h1"), (0x00000300, 0x00040000), 7),
        ("vadd.s32.s32.s32", ("=u32", "u32.b0", "u32"), (0xFF, 0), 0xFFFFFFFF),
        ("vadd.s32.s32.s32.sat", ("=u32.b2", "u32", "u32", "u32"),
         (100, 100, 0x11223344), 0x117F3344),
        ("vadd.u32.u32.u32", ("=u32.h0", "u32", "u32", "u32"), (0xFFFF, 2, 0xAAAABBBB), 0xAAAA0001),
        ("vsub.u32.u32.u32.sat", ("=u32", "u32", "u32"), (3, 5), 0),
        ("vabsdiff.u32.s32.u32.add", ("=u32", "u32.b3", "u32", "u32"), (0x80000000, 2, 10), 140),
        ("vmax.s32.s32.u32", ("=u32", "u32", "u32"), (0xFFFFFFFF, 3), 3),
        ("vshl.u32.u32.u32.sat.clamp", ("=u32", "u32", "u32"), (0x80000000, 1), 0xFFFFFFFF),
        ("vshl.u32.u32.u32.clamp", ("=u32", "u32", "u32"), (1, 99), 0),
        ("vshr.s32.s32.u32.wrap", ("=u32", "u32", "u32"), (0x80000000, 33), 0xC0000000),
        ("vset.s32.u32.lt.add", ("=u32", "u32.b0", "u32", "u32"), (0xFF, 0, 41), 42),
        ("vmad.s32.s32.s32", ("=u32", "-u32", "u32", "u32"), (3, 5, 1), 0xFFFFFFF2),
        ("vmad.u32.u32.u32.po.shr7", ("=u32", "u32.h0", "u32", "u32"), (0x50010, 8, 127), 2),
        ("vmad.s32.u32.u32.sat", ("=u32", "u32", "u32", "-u32"), (0xFFFF, 0xFFFF, 5), 0x7FFFFFFF),
        ("vadd2.u32.u32.u32", ("=u32", "u32", "u32", "u32"),
         (0x00010002, 0x00030004, 0), 0x00040006),
        ("vsub2.s32.s32.s32.sat", ("=u32.h1", "u32.h01", "u32.h33", "u32"),
         (0x00018000, 0x7FFF0000, 0x12345678), 0x80005678),
        ("vavrg2.s32.s32.s32", ("=u32", "u32", "u32", "u32"),
         (0xFFFF0003, 0xFFFE0004, 0), 0xFFFE0004),
        ("vadd4.u32.u32.u32.add", ("=u32.b20", "u32", "u32", "u32"),
         (0xFF03FF01, 0x01010101, 100), 106),
        ("vabsdiff4.u32.u32.u32", ("=u32", "u32.b7777", "u32", "u32"),
         (0, 0x01020304, 0), 0x00010203),
        ("vset4.u32.u32.ne", ("=u32.b3210", "u32", "u32", "u32"),
         (0x01020304, 0x01000300, 0), 0x00010001),
    ],
)  # fmt: skip
def test_results_by_hand(
    library: ctypes.CDLL,
    spelling: str,
    operands: tuple[str, ...],
    values: tuple[int, ...],
    result: int,
) -> None:
    assert evaluate(library, Case(spelling, operands), [values]) == [(result,)]
    assert video.evaluate(spelling, operands, values) == result


@pytest.mark.parametrize(
    ("spelling", "operands"),
    [
        ("vadd.u32.u32.u32", ("=u32", "u32", "u32", "u32")),
        ("vadd.u32.u32.u32.add", ("=u32.b0", "u32", "u32", "u32")),
        ("vadd.u32.u32.u32", ("=u32", "-u32", "u32")),
        ("vadd.u32.u32.u32", ("=u32", "u32.h10", "u32")),
        ("vadd.u32.u32.s16", ("=u32", "u32", "u32")),
        ("vshl.u32.u32.s32.clamp", ("=u32", "u32", "u32")),
        ("vshl.u32.u32.u32", ("=u32", "u32", "u32")),
        ("vset.u32.u32.lo", ("=u32", "u32", "u32")),
        ("vmad.u32.u32.u32", ("=u32", "-u32", "u32", "-u32")),
        ("vmad.u32.u32.u32.po", ("=u32", "u32", "u32", "-u32")),
        ("vadd2.u32.u32.u32.sat.add", ("=u32", "u32", "u32", "u32")),
        ("vadd2.u32.u32.u32.min", ("=u32", "u32", "u32", "u32")),
        ("vadd2.u32.u32.u32", ("=u32", "u32.b3210", "u32", "u32")),
        ("vadd4.u32.u32.u32", ("=u32", "u32", "u32")),
        ("vavrg.u32.u32.u32", ("=u32", "u32", "u32", "u32")),
        ("add.u32", ("=u32", "u32.b0", "u32")),
    ],
)
def test_refuses_what_ptx_does_not_have(
    library: ctypes.CDLL, spelling: str, operands: tuple[str, ...]
) -> None:
    case = Case(spelling, operands)
    with pytest.raises(NotEmulated):
        evaluate(library, case, [(0,) * len(case.sources)])
