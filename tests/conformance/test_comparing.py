"""What counts as the same: the comparison itself, on results made up for it."""

from __future__ import annotations

import numpy as np
import pytest
from comparing import Operands, bound_of, worst
from kernels import CASES, cases, inputs

ALL = {case.spelling: case for case in cases()}


def error(spelling: str, mine: int, theirs: int) -> float:
    """Of results that agree in all rows but one."""
    case = ALL[spelling]
    bound = bound_of(case)
    assert bound is not None
    kind = f"<u{case.result_bytes}"
    got, want = np.zeros(CASES, kind), np.zeros(CASES, kind)
    got[7], want[7] = mine, theirs
    every = np.ones(CASES, bool)
    return worst(case, bound, got.tobytes(), want.tobytes(), every, Operands(inputs(case)))


INFINITY, LARGEST, NAN = 0x7F800000, 0x7F7FFFFF, 0x7FC00000


@pytest.mark.parametrize(
    ("spelling", "mine", "theirs"),
    [
        ("div.approx.f32", 0x3F800000, 0x3F800002),
        ("div.approx.f32", LARGEST, INFINITY),
        ("div.approx.f32", INFINITY, LARGEST - 1),
        ("div.approx.f32", NAN, 0xFFFFFFFF),
        ("div.approx.ftz.f32", 0x00800000, 0x00000000),
        ("ex2.approx.f16", 0x3C00, 0x3BFF),
        ("ex2.approx.f16", 0x0001, 0x0000),
        ("ex2.approx.f16", 0x0110, 0x010F),
    ],
)
def test_errors_within_the_bound(spelling: str, mine: int, theirs: int):
    assert 0 <= error(spelling, mine, theirs) <= 1


@pytest.mark.parametrize(
    ("spelling", "mine", "theirs"),
    [
        ("div.approx.f32", 0x3F800000, 0x3F800003),
        ("div.approx.f32", LARGEST - 4, INFINITY),
        ("div.approx.f32", INFINITY, INFINITY | 1 << 31),
        ("div.approx.f32", INFINITY, NAN),
        ("div.approx.f32", 0x00800000, 0x00000000),
        ("div.approx.ftz.f32", 0x00800001, 0x00000000),
        ("div.approx.f32", NAN, 0x3F800000),
        ("rcp.approx.ftz.f64", 0x7FF0000000000000, 0x7FEFFFFF00000000),
        ("ex2.approx.f16", 0x3C00, 0x3BFC),
        ("ex2.approx.f16", 0x0002, 0x0000),
        ("ex2.approx.f16", 0x0110, 0x010D),
    ],
)
def test_errors_beyond_the_bound(spelling: str, mine: int, theirs: int):
    assert error(spelling, mine, theirs) > 1
