"""The inputs of the conformance kernels have what they are made for."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import CASES, OPERANDS, SLOT, cases, inputs

ALL = {case.spelling: case for case in cases()}


def operand(spelling: str, index: int, kind: str) -> np.ndarray:
    """The first element of an operand in every row."""
    data = inputs(ALL[spelling]).reshape(OPERANDS, CASES, SLOT)[index]
    return data[:, : np.dtype(kind).itemsize].copy().view(kind)[:, 0]


def test_they_are_the_same_every_time():
    assert np.array_equal(inputs(ALL["fma.rn.f32"]), inputs(ALL["fma.rn.f32"]))


@pytest.mark.parametrize(
    ("spelling", "index", "end"),
    [
        ("bfe.u64", 1, 70), ("bfe.s32", 2, 70), ("bfi.b64", 3, 70), ("fns.b32", 1, 32),
        ("shf.l.wrap.b32", 2, 66), ("szext.clamp.s32", 1, 36), ("bmsk.clamp.b32", 1, 36),
    ],
)  # fmt: skip
def test_positions_and_lengths_are_in_range_often(spelling: str, index: int, end: int):
    values = operand(spelling, index, "<u4")
    assert (values < end).sum() > 200
    assert len(set(values[values < end].tolist())) > 0.9 * end


@pytest.mark.parametrize("spelling", ["add.rn.f64", "fma.rz.f64", "div.rn.f64", "max.f64"])
def test_different_nans_meet(spelling: str):
    a, b = (operand(spelling, k, "<u8") for k in range(2))
    nan = [(v & 2**63 - 1) > 0x7FF << 52 for v in (a, b)]
    assert (nan[0] & nan[1] & (a != b)).sum() >= 5


@pytest.mark.parametrize("type_", ["f16", "bf16"])
@pytest.mark.parametrize("sign", [0, 0x8000])
def test_elements_are_out_of_bounds(type_: str, sign: int):
    for index in range(3):
        assert (operand(f"fma.rn.oob.{type_}", index, "<u2") == 0x7FF7 | sign).any()


@pytest.mark.parametrize(
    ("spelling", "kind", "digits"),
    [("cvt.rn.f16.f32", "<f4", 13), ("cvt.rn.bf16.f32", "<f4", 16), ("cvt.rn.f32.f64", "<f8", 29)],
)
def test_conversions_meet_ties(spelling: str, kind: str, digits: int):
    bits = operand(spelling, 0, kind.replace("f", "u"))
    cut = bits & bits.dtype.type((1 << digits) - 1)
    assert (cut == 1 << (digits - 1)).sum() >= 3


@pytest.mark.parametrize("spelling", ["mul.ftz.f32", "mul.ftz.f16"])
def test_products_meet_the_least_normal_value(spelling: str):
    half = spelling.endswith("16")
    least = 2.0**-14 if half else 2.0**-126
    kind = "<f2" if half else "<f4"
    with np.errstate(invalid="ignore"):
        a, b = (operand(spelling, k, kind).astype(np.float64) for k in range(2))
        product = np.abs(a * b)
    near = (product != least) & (np.abs(product / least - 1) < (2.0**-9 if half else 2.0**-21))
    assert near.sum() >= 5
