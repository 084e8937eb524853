"""Means and deviations of rows that are hard for them, of threads with as many elements or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyptx import Kernel
from pyptx.ops._layer_norm import LayerNorm
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.strategies import cta, subwarp
from pyptx.types import DType, bf16, f32, f64

EPS = 1e-12
NUMPY: dict[DType, Any] = {bf16: ml_dtypes.bfloat16, f32: np.float32, f64: np.float64}
ROUNDING = {bf16: 2.0**-24, f32: 2.0**-24, f64: 2.0**-53}


def _far(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A mean of ten thousand deviations."""
    return x + 1e4


def _outlier(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Nearly all of the deviation is one element of a thread's first vector."""
    x[:, 1] = 1e5
    return x


def _last(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same of the last vector of the row."""
    x[:, -1] = -1e5
    return x


def _apart(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Both halves of a row have a mean of their own, far from the other."""
    x[:, : x.shape[1] // 2] += 1e3
    return x


def _equal(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """No deviation."""
    return np.full_like(x, 3.0)


ROWS = [_far, _outlier, _last, _apart, _equal]


def _by_cta(op: LayerNorm, rows: Rows) -> Kernel:
    return cta.independent(op, rows, threads=64, held=True)


def _by_subwarp(op: LayerNorm, rows: Rows) -> Kernel:
    return subwarp.independent(op, rows, subwarp.Shape(16, 2, 64))


@pytest.mark.sampled(36, each=("by", "columns", "dtype", "make"))
@pytest.mark.parametrize("make", ROWS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("dtype", [bf16, f32, f64], ids=str)
@pytest.mark.parametrize(
    ("by", "columns"),
    [
        (_by_cta, 512),  # a vector each, or two
        (_by_cta, 2048),  # several
        (_by_cta, 520),  # not all have as many
        (_by_cta, 517),  # ends
        (_by_subwarp, 128),
        (_by_subwarp, 120),
    ],
)
def test_against_float64(
    by: Callable[..., Kernel], columns: int, dtype: DType, make: Callable[..., Any]
) -> None:
    op = LayerNorm(columns, dtype, dtype, None, None, EPS, kept=True)
    x = make(np.random.default_rng(0).standard_normal((5, columns))).astype(NUMPY[dtype])
    emulation = by(op, Rows((columns,), types_of(op), op.compute)).emulate(x)
    emulation.report.check()
    _, mean, r = (np.asarray(each, np.float64) for each in emulation.outputs)
    exact = x.astype(np.longdouble)
    right = exact.mean(-1)
    variance = ((exact - right[:, None]) ** 2).mean(-1)
    step = ROUNDING[dtype] * np.abs(exact).max()
    assert np.abs(mean - right).max() < 8 * step
    # Parts' means are rounded, so the deviation is known to no more than what the mean is; the
    # mean of squares less the square of the mean would be off by the step times the mean.
    allowed = 2 * step * np.sqrt(variance) + (8 * step) ** 2 + 16 * ROUNDING[dtype] * variance
    assert (np.abs(1 / r**2 - EPS - variance) <= allowed).all()


def test_even_threads_count_nothing() -> None:
    """Where all have as many elements, their number is no register: two numbers are exchanged."""
    op = LayerNorm(2048, f32, f32, None, None, EPS)

    def shuffles(columns: int) -> int:
        own = LayerNorm(columns, f32, f32, None, None, EPS)
        return _by_cta(own, Rows((columns,), types_of(own), own.compute)).ptx().count("shfl.sync")

    assert op.statistic.even(2048).count == 2
    assert shuffles(2048) == 10
    assert shuffles(2052) == 15
