"""tcgen05.cp in the emulator: rows of shared memory in Tensor Memory, held to NumPy."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import re

import numpy as np
import pytest

from pyptx._layouts import Swizzle

from .harness import device, kinds, output, run
from .test_tensor_core import (
    ENDED,
    FREE,
    POLICIES,
    READY,
    SETUP,
    SYNC,
    TOTAL,
    Matrix,
    from_tensor,
    pointers,
    to_shared,
    to_tensor,
)

ROWS = {
    "128x256b": lambda lane: lane,
    "128x128b": lambda lane: lane,
    "64x128b.warpx2::02_13": lambda lane: lane // 32 % 2 * 32 + lane % 32,
    "64x128b.warpx2::01_23": lambda lane: lane // 64 * 32 + lane % 32,
    "32x128b.warpx4": lambda lane: lane % 32,
}
COLUMN = 24


def copied(spelling, rows, words, swizzle, *, before, lane=0, **policy):
    """8 columns of all lanes, which are `before`, [column, lane], until rows of so many words are copied there.

    Without `before` they have no value. Rows in shared memory are groups of 8.
    """
    source = Matrix(max(8, len(rows)), 4 * words, 1, 0, swizzle, False)
    memory = np.zeros(TOTAL, np.uint8)
    groups = np.zeros((max(8, len(rows)), 4 * words), np.uint64)
    groups[: len(rows)] = rows
    source.lay_out(memory, groups, "u8")
    found = output((8, 128), np.uint32)
    text = f"""
{pointers("M", "T", "D")}
{SETUP}
{to_shared("%rd1", TOTAL)}
{READY}
{to_tensor("%rd2", 8, COLUMN) if before is not None else ""}
{SYNC}
shr.u32 %r13, %r10, 4
cvt.u64.u32 %rd19, %r13
add.u64 %rd20, %rd19, {source.descriptor}
@%p2 tcgen05.cp.cta_group::1.{spelling} [%r30+{COLUMN + (lane << 16)}], %rd20
{ENDED}
{from_tensor("%rd3", 8, COLUMN)}
{FREE}
"""
    given = np.zeros(1, np.uint32) if before is None else before
    inputs = [device(memory.view(np.uint32)), device(given)]
    report = run(text, inputs, [found], block=128, target="sm_100a", **policy)
    return report, found


def drawn(rows, words):
    random = np.random.default_rng(rows)
    before = random.integers(0, 1 << 32, (8, 128), np.uint32)
    return random.integers(0, 256, (rows, 4 * words), np.uint8), before


def size_of(shape):
    """Rows, and the words of each."""
    return int(shape.partition("x")[0]), 8 if "256b" in shape else 4


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("swizzle", Swizzle)
@pytest.mark.parametrize("shape", ROWS)
def test_copies(shape, swizzle, policy):
    """Rows of 32 or 16 bytes, the rows of a matrix with K beside each other."""
    rows, words = size_of(shape)
    values, before = drawn(rows, words)
    report, found = copied(shape, values, words, swizzle, before=before, **policy)
    assert kinds(report) == [], report.message
    before[:words] = values.view(np.uint32)[[ROWS[shape](lane) for lane in range(128)]].T
    np.testing.assert_array_equal(found, before)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("lane", [0, 5, 31])
def test_four_rows_go_to_one_lane_of_each_quarter(lane, policy):
    values, before = drawn(4, 8)
    report, found = copied("4x256b", values, 8, Swizzle.NONE, before=before, lane=lane, **policy)
    assert kinds(report) == [], report.message
    before[:, lane::32] = values.view(np.uint32).T
    np.testing.assert_array_equal(found, before)


def test_four_rows_begin_in_the_first_quarter():
    values, before = drawn(4, 8)
    report, _ = copied("4x256b", values, 8, Swizzle.NONE, before=before, lane=32)
    assert [f.note for f in report.findings] == [
        "it needs lanes 128, columns 24 to 31; there are 128 lanes and 512 columns"
    ]


def test_lanes_that_four_rows_leave_out_have_no_value():
    values, _ = drawn(4, 8)
    report, _ = copied("4x256b", values, 8, Swizzle.NONE, before=None, sanitize=True)
    assert kinds(report) == ["uninitialised-memory"]
    note = re.fullmatch(r"Tensor Memory, lane (\d+), column 24", report.findings[0].note)
    assert note is not None
    assert int(note[1]) % 32 == 1


@pytest.mark.parametrize("policy", POLICIES[:3], ids=str)
@pytest.mark.parametrize("swizzle", [Swizzle.NONE, Swizzle.B128])
@pytest.mark.parametrize("shape", ["128x256b", "4x256b", "64x128b.warpx2::01_23", "32x128b.warpx4"])
def test_elements_of_six_bits_get_bytes(shape, swizzle, policy):
    """16 elements and 4 bytes of padding become 16 bytes: an element has the low bits of its byte."""
    rows, words = size_of(shape)
    padded, before = drawn(rows, words)
    bits = np.unpackbits(padded.reshape(-1, 16)[:, :12], axis=1, bitorder="little")
    elements = np.packbits(bits.reshape(-1, 6), axis=1, bitorder="little").reshape(rows, -1)
    spelling = f"{shape}.b8x16.b6x16_p32"
    report, found = copied(spelling, padded, words, swizzle, before=before, **policy)
    assert kinds(report) == [], report.message
    values = np.ascontiguousarray(elements).view(np.uint32)
    if shape == "4x256b":
        before[:, ::32] = values.T
    else:
        before[:words] = values[[ROWS[shape](lane) for lane in range(128)]].T
    np.testing.assert_array_equal(found, before)
