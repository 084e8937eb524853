"""Fragments against the manual's formulas, shape by shape."""

import pytest

from pyptx._layouts import fragments
from pyptx._layouts.matrix import LayoutError

# Row and column of element i in lane `t % 32`, with g = lane / 4 and t = lane % 4, as printed under
# "Matrix Fragments for mma.m...".
A = {
    (16, 8, 8, 16): lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    (16, 8, 16, 16): lambda g, t, i: (
        g if i in (0, 1, 4, 5) else g + 8,
        t * 2 + (i & 1) + (8 if i >= 4 else 0),
    ),
    (16, 8, 4, 32): lambda g, t, i: (g if i == 0 else g + 8, t),
    (16, 8, 8, 32): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    (8, 8, 16, 8): lambda g, t, i: (g, t * 4 + (i & 3)),
    (16, 8, 16, 8): lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)),
    (16, 8, 32, 8): lambda g, t, i: (
        g if i < 4 or 8 <= i < 12 else g + 8,
        t * 4 + (i & 3) + (16 if i >= 8 else 0),
    ),
    (8, 8, 4, 64): lambda g, t, i: (g, t),
    (16, 8, 8, 64): lambda g, t, i: (g if i % 2 == 0 else g + 8, t if i < 2 else t + 4),
    (16, 8, 16, 64): lambda g, t, i: (g if i % 2 == 0 else g + 8, i // 2 * 4 + t),
    (8, 8, 32, 4): lambda g, t, i: (g, t * 8 + (i & 7)),
    (16, 8, 64, 4): lambda g, t, i: (
        g if i < 8 or 16 <= i < 24 else g + 8,
        t * 8 + (i & 7) + (32 if i >= 16 else 0),
    ),
}
B = {
    (16, 8, 8, 16): lambda g, t, i: (t * 2 + i, g),
    (16, 8, 16, 16): lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    (16, 8, 4, 32): lambda g, t, i: (t, g),
    (16, 8, 8, 32): lambda g, t, i: (t if i == 0 else t + 4, g),
    (8, 8, 16, 8): lambda g, t, i: (t * 4 + i, g),
    (16, 8, 16, 8): lambda g, t, i: (t * 4 + i, g),
    (16, 8, 32, 8): lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
    (8, 8, 4, 64): lambda g, t, i: (t, g),
    (16, 8, 8, 64): lambda g, t, i: (t + 4 * i, g),
    (16, 8, 16, 64): lambda g, t, i: (t + 4 * i, g),
    (8, 8, 32, 4): lambda g, t, i: (t * 8 + (i & 7), g),
    (16, 8, 64, 4): lambda g, t, i: (t * 8 + (i & 7) + (32 if i >= 8 else 0), g),
}
C = {
    8: lambda g, t, i: (g, t * 2 + (i & 1)),
    16: lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
}


def elements(fragment, thread):
    return [c for r in range(fragment.registers) for c in fragment.coordinates(thread, r)]


@pytest.mark.parametrize("shape", A, ids=str)
def test_fragments_of_mma(shape):
    m, n, k, bits = shape
    found = fragments.mma(m, n, k, bits=bits, accumulator_bits=64 if bits == 64 else 32)
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        for fragment, formula in ((found.a, A[shape]), (found.b, B[shape]), (found.d, C[m])):
            here = elements(fragment, lane)
            assert here == [formula(group, thread, i) for i in range(len(here))]


@pytest.mark.parametrize("m", [8, 16])
def test_accumulators_of_f16_are_pairs(m):
    bits = 16 if m == 16 else 8
    found = fragments.mma(m, 8, 32 if m == 8 else 16, bits=bits, accumulator_bits=16).d
    assert found.registers == m // 8
    for lane in range(32):
        here = elements(found, lane)
        assert here == [C[m](lane >> 2, lane % 4, i) for i in range(len(here))]


@pytest.mark.parametrize("n", [8, 24, 256])
@pytest.mark.parametrize("bits", [16, 32])
def test_accumulators_of_wgmma(n, bits):
    """PTX ISA, figure "WGMMA .m64nNk16 register fragment layout for accumulator matrix D"."""
    found = fragments.wgmma_d(n, bits=bits)
    assert found.registers == n * bits // 64
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        for i, (row, column) in enumerate(elements(found, thread)):
            assert row == warp * 16 + lane // 4 + 8 * (i // 2 % 2)
            assert column == 8 * (i // 4) + lane % 4 * 2 + i % 2


@pytest.mark.parametrize(("bits", "k"), [(16, 16), (32, 8), (8, 32)])
def test_a_of_wgmma_is_that_of_mma_in_each_warp(bits, k):
    found, one = fragments.wgmma_a(bits=bits), fragments.mma(16, 8, k, bits=bits).a
    assert found.registers == 4
    for thread in range(128):
        moved = [(16 * (thread // 32) + r, c) for r, c in elements(one, thread % 32)]
        assert elements(found, thread) == moved


@pytest.mark.parametrize("number", [1, 2, 4])
def test_ldmatrix(number):
    plain, trans = fragments.ldmatrix(number), fragments.ldmatrix(number, trans=True)
    for lane in range(32):
        for i in range(number):
            pair = [(lane // 4, lane % 4 * 2 + j) for j in range(2)]
            assert plain.coordinates(lane, i) == tuple((8 * i + r, c) for r, c in pair)
            assert trans.coordinates(lane, i) == tuple((c, 8 * i + r) for r, c in pair)


@pytest.mark.parametrize(
    "fragment",
    [
        fragments.wgmma_d(40),
        fragments.wgmma_d(16, bits=16),
        fragments.mma(16, 8, 16, bits=16).b,
        fragments.ldmatrix(4, trans=True),
    ],
    ids=str,
)
def test_every_element_has_one_holder(fragment):
    holders = fragment.holders()
    assert len(holders) == fragment.rows * fragment.columns
    assert len(set(holders.values())) == len(holders)
    for where, (thread, register, place) in holders.items():
        assert fragment.coordinates(thread, register)[place] == where


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: fragments.mma(8, 8, 4, bits=16),
            "no fragments of m8n8k4 with elements of 16 bits are known",
        ),
        (
            lambda: fragments.mma(16, 16, 16, bits=16),
            "no fragments of m16n16k16 with elements of 16 bits are known",
        ),
        (
            lambda: fragments.wgmma_d(8).coordinates(128, 0),
            "thread 128, register 0 is outside the fragment",
        ),
        (
            lambda: fragments.wgmma_d(8).coordinates(0, 4),
            "thread 0, register 4 is outside the fragment",
        ),
        (lambda: fragments.ldmatrix(3), "ldmatrix has no .x3"),
    ],
)
def test_what_is_not_there_is_an_error(make, message):
    with pytest.raises(LayoutError) as caught:
        make()
    assert str(caught.value) == message
