"""Values and gradients against extended precision: types, lengths, numbers of rows, hard cases."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from . import norm
from .exact import BF16, EPS, F16, F32, F64, NAMES, PAIRS, Problem, check_backward, problem

LENGTHS = [
    *(1, 2, 3, 31, 32, 33, 127, 128, 129, 255, 257, 1000, 1024, 1025),
    *(4096, 4097, 8191, 8192, 32768, 65536, 65537),
]
EVERYDAY = [(F32, F32), (BF16, F32), (F16, F16), (F64, BF16)]
SOME_PAIRS = (1, 32, 128, 257, 1024, 4097)
EVERY_PAIR = (3, 1025)


def cases():
    """Some pairs at every length and every pair at some; the others are for the sweep."""
    for n in LENGTHS:
        for pair, name in zip(PAIRS, NAMES, strict=True):
            some = pair in EVERYDAY and n in SOME_PAIRS
            often = n in EVERY_PAIR or some or pair == (F32, F32)
            marks = () if often else pytest.mark.sweep
            yield pytest.param(n, pair, id=f"{n}-{name}", marks=marks)


@pytest.mark.sampled(60)
@pytest.mark.parametrize(("n", "types"), [*cases()])
def test_lengths_and_types(n, types):
    norm.check(problem((3,), (n,), types, seed=n))


@pytest.mark.sweep
@pytest.mark.parametrize("types", [(F32, F32), (BF16, BF16), (F64, F64)], ids=str)
@pytest.mark.parametrize("n", [2**18 - 8, 2**20, 2**20 + 1])
def test_very_long_rows(n, types):
    norm.check(problem((2,), (n,), types))


@pytest.mark.sampled(32, each=("rows", "n"))
@pytest.mark.parametrize("n", [1, 5, 129, 257, 1000, 4097])
@pytest.mark.parametrize("rows", [0, 1, 2, 131])
def test_numbers_of_rows(rows, n):
    """Also none: the weight's gradient is then zeros."""
    given = problem((rows,), (n,), (F32, BF16))
    norm.check(given)
    if rows == 0:
        _, r = norm.forward(given)
        np.testing.assert_array_equal(norm.backward(given, r)[1], np.zeros(n, BF16))


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("lead", "row"),
    [
        ((), (40,)),
        ((), (3, 5)),
        ((), ()),
        ((7,), ()),
        ((2, 3, 4), (33,)),
        ((2, 3), (4, 5, 6)),
        ((1, 1, 5), (1,)),
        ((3, 0, 2), (8, 2)),
    ],
    ids=str,
)
def test_dimensions(lead, row):
    """Rows are the last dimensions, as many as the weight has; there may be no others."""
    norm.check(problem(lead, row, (F32, F32)))


@pytest.mark.sampled(24, each="types")
@pytest.mark.parametrize("n", [7, 100, 1024, 8191, 40000])
@pytest.mark.parametrize("types", [(F32, F32), (BF16, BF16), (F64, F64)], ids=str)
def test_gradients_along_x(n, types):
    """Where g weight is a multiple of x the gradient almost vanishes: everything cancels."""
    given = problem((4,), (n,), types)
    along = given.x.astype(np.float64) / given.weight.astype(np.float64)
    norm.check(dataclasses.replace(given, g=along.astype(given.g.dtype)))


@pytest.mark.parametrize("scale", [1e-18, 1e-6, 1e4, 1e17])
def test_scales(scale):
    """eps decides what small values become; large ones are normalized to one."""
    norm.check(problem((5,), (1000,), (F32, F32), scale=scale))
    norm.check(problem((5,), (1000,), (F32, F32), scale=scale), eps=0.0)
    norm.check(problem((5,), (1000,), (F64, F64), scale=scale), eps=1e-3)


@pytest.mark.parametrize("n", [1, 129, 4096, 40001])
def test_a_constant_row_and_one_of_zeros(n):
    given = problem((3,), (n,), (F32, F32))
    x = given.x.copy()
    x[0], x[1] = 0, 3
    norm.check(dataclasses.replace(given, x=x))
    y, r = norm.forward(dataclasses.replace(given, x=x))
    np.testing.assert_array_equal(y[0], np.zeros(n, np.float32))
    np.testing.assert_allclose(r[0], EPS**-0.5, rtol=1e-6)


@pytest.mark.sampled(24, each=("types", "n"))
@pytest.mark.parametrize("n", [5, 129, 1000, 4097, 40001])
@pytest.mark.parametrize("types", [(F32, F32), (F16, F32), (F64, F64)], ids=str)
def test_inf_and_nan_stay_in_their_rows(n, types):
    """As the formula has it: a NaN makes its row NaN, an Inf makes it zeros with a NaN."""
    given = problem((6,), (n,), types)
    x = given.x.copy()
    x[1, n // 2], x[3, n - 1], x[4, 0] = np.nan, np.inf, -np.inf
    y, r = norm.forward(dataclasses.replace(given, x=x))
    assert np.isnan(r[1])
    assert np.isnan(y[1]).all()
    for row, at in ((3, n - 1), (4, 0)):
        assert r[row] == 0
        assert np.isnan(y[row, at])
        np.testing.assert_array_equal(np.delete(y[row], at), 0)
    untouched = norm.forward(given)
    for row in (0, 2, 5):
        np.testing.assert_array_equal(y[row], untouched[0][row])
    g = given.g.copy()
    g[2, n // 3] = np.nan
    dx, dw = norm.backward(dataclasses.replace(given, g=g), untouched[1])
    assert np.isnan(dx[2]).all()
    assert np.isfinite(np.delete(dx, 2, 0)).all()
    assert np.isnan(dw[n // 3])
    assert np.isfinite(np.delete(dw, n // 3)).all()


@pytest.mark.sampled(24, each=("types", "n"))
@pytest.mark.parametrize("n", [4, 3, 129, 1000])
@pytest.mark.parametrize("types", [(F32, F32), (BF16, BF16), (F64, F32)], ids=str)
def test_sums_over_many_rows(n, types):
    """More rows than all CTAs take at once, so that sums of blocks are added to earlier ones."""
    norm.check(problem((20000 // n * 8,), (n,), types))


@pytest.mark.sweep
@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("sign", [0.0, 1.0])
def test_sums_over_a_million_rows(n, sign):
    """With `sign` all terms have one sign, so that the sum grows and loses low bits."""
    given = problem((2**20,), (n,), (F32, F32))
    g = np.abs(given.g) * np.sign(given.x) if sign else given.g
    norm.check(dataclasses.replace(given, g=g))


@pytest.mark.parametrize("n", [64, 129, 1024, 1025])
def test_same_bits_twice(n):
    given = problem((70,), (n,), (F32, F32))
    first, again = (
        (*norm.forward(given), *norm.backward(given, norm.forward(given)[1])) for _ in "ab"
    )
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.view(np.uint32), other.view(np.uint32))


def unaligned(array: np.ndarray) -> np.ndarray:
    """The same values in memory that starts one element behind a multiple of 16 bytes."""
    memory = np.zeros(array.nbytes + 64, np.uint8)
    first = -memory.ctypes.data % 16 + array.dtype.itemsize
    view = memory[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert view.ctypes.data % 16
    return view


@pytest.mark.sampled(12)
@pytest.mark.parametrize("n", [5, 129, 1000, 1024, 40000])
def test_arrays_anywhere_in_memory(n):
    """NumPy arrays need not start where 16-byte accesses do, nor have rows side by side."""
    given = problem((6,), (n,), (F32, F16))
    moved = Problem(*map(unaligned, (given.x, given.weight, given.g)))
    expected = norm.forward(given)
    for one, other in zip(norm.forward(moved), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    every = Problem(given.x[::2], given.weight, given.g[::2])
    dx, dw = norm.backward(every, expected[1][::2])
    check_backward(every, expected[1][::2], dx, dw)


def test_a_new_number_of_rows_is_nothing_new():
    """One trace and one call for any number of rows, leading dimensions aside."""
    kernel = norm.chosen_forward(problem((1,), (96,), (F32, F32)), 0.125)
    gradient = norm.chosen_backward(problem((1,), (96,), (F32, F32)))
    assert norm.chosen_forward(problem((9,), (96,), (F32, F32)), 0.125) is kernel
    identities = set()
    for lead in (1, 2, 131, 4096):
        given = problem((lead,), (96,), (F32, F32))
        _, r = kernel(given.x, given.weight)
        gradient(given.x, given.g, r, given.weight)
        identities.add(
            frozenset(
                call.identity for op in (kernel, gradient) for call in op._made._entries.values()
            )
        )
    assert len(identities) == 1
    assert len(kernel._traced) == 1
