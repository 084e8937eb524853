"""Sums of several values over lanes, in the emulator: to the bit those of one value at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.statistics import Sums, Terms
from pyptx.types import f32, f64, u32

from .toys_cta import clean


def totals(values: np.ndarray, width: int, *, together: bool) -> np.ndarray:
    """The sums of [32, rows, count] over each `width` lanes, by `of_lanes` or one by one."""
    _, rows, count = values.shape
    dtype = f32 if values.dtype == np.float32 else f64
    tile = Tile(32, rows * count, dtype)

    @kernel(in_specs=(tile,), out_specs=(tile,), block=32)
    def lanes(X: Any, Y: Any) -> None:
        m, statistic = Math(dtype), Sums(count)
        lane = reg.from_(ptx.special.tid.x(), u32)
        found = [[X[lane, i * count + j] for j in range(count)] for i in range(rows)]
        if together:
            terms = ([Terms([tuple(x for v in row for x in (v, m.one))])] for row in found)
            sums = statistic.of_lanes(m, terms, width=width)
        else:
            sums = [statistic.over_warp(m, row, width=width) for row in found]
        for i, row in enumerate(sums):
            for j, value in enumerate(row):
                Y[lane, i * count + j] = value

    (found,) = clean(lanes.emulate(values.reshape(32, -1)))
    return found.reshape(values.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [2, 4, 16, 32])
@pytest.mark.parametrize(("rows", "count"), [(1, 2), (3, 2), (4, 1), (1, 3), (3, 3)])
def test_sums_over_lanes_are_the_same_to_the_bit(rows, count, width, dtype):
    values = np.random.default_rng(rows + count).standard_normal((32, rows, count)).astype(dtype)
    found = totals(values, width, together=True)
    assert np.array_equal(found, totals(values, width, together=False))
    exact = values.astype(np.float64).reshape(-1, width, rows, count).sum(1)
    np.testing.assert_allclose(found.reshape(-1, width, rows, count)[:, 0], exact, 1e-5, 1e-5)
