"""Products of few rows from registers: every size and layout, against float64, in the emulator."""

from __future__ import annotations

import itertools
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from pyptx import ops
from pyptx.ops.tensor_core import few_rows, plan
from pyptx.ops.tensor_core.few_rows import FewRows
from pyptx.ops.tensor_core.shape import Product, Shape
from pyptx.types import bf16, e4m3, f16, f32

TYPES = {"bf16": (bf16, ml_dtypes.bfloat16), "f16": (f16, np.float16)}
SIZES = (
    (1, 64, 1024, 2),  # a tile, each warp a chunk
    (16, 72, 1096, 2),  # a second tile of 8 columns, and K that ends within a chunk
    (7, 200, 520, 1),
    (9, 64, 8, 4),  # most warps have nothing to multiply
    (17, 136, 2056, 8),  # a second row of tiles
)


def _product(kind: str, b_major: Any, d: Any = f32) -> Product:
    dtype = TYPES[kind][0]
    return Product(dtype, dtype, d, "K", b_major)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("b_major", ["MN", "K"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_are_right(kind: str, b_major: Any, size: tuple[int, int, int, int]) -> None:
    """All CTAs, also where rows, columns and values of K are fewer than a tile has."""
    m, n, k, cluster = size
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, k)).astype(TYPES[kind][1])
    b = rng.standard_normal((k, n) if b_major == "MN" else (n, k)).astype(TYPES[kind][1])
    d = np.asarray(few_rows.build(_product(kind, b_major), FewRows(cluster))(a, b))
    right = a.astype(np.float64) @ (b if b_major == "MN" else b.T).astype(np.float64)
    scale = np.abs(a).astype(np.float64) @ np.abs(b if b_major == "MN" else b.T).astype(np.float64)
    assert np.max(np.abs(d - right) / scale) < 2e-6


@pytest.mark.parametrize("b_major", ["MN", "K"])
def test_nothing_is_reported(b_major: Any) -> None:
    """Uninitialised reads and races, with the CTAs of a cluster in several orders."""
    rng = np.random.default_rng(1)
    a = rng.standard_normal((3, 1160)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((1160, 136) if b_major == "MN" else (136, 1160))
    kernel = few_rows.build(_product("bf16", b_major), FewRows(4))
    emulation = kernel.emulate(a, b.astype(ml_dtypes.bfloat16), schedules=4)
    emulation.report.check()


def test_rows_without_end_stay_out() -> None:
    """Infinity and NaN of a row reach that row alone, and of a column that column."""
    a, b = np.ones((4, 1024), ml_dtypes.bfloat16), np.ones((1024, 64), ml_dtypes.bfloat16)
    a[1, 700], a[2, 5], b[1023, 9] = np.inf, np.nan, -np.inf
    d = np.asarray(few_rows.build(_product("bf16", "MN"), FewRows(2))(a, b))
    with np.errstate(invalid="ignore"):
        right = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(d, right)


def test_what_is_chosen() -> None:
    """Up to 16 rows of as many columns as were quicker so, of matrices that there is a kernel of.

    Small B has more CTAs a tile, but none that would share a multiprocessor, and is left to tiles
    where these CTAs would be few for K.
    """
    by_columns, by_rows = _product("bf16", "MN"), _product("bf16", "K")
    chosen = {n: few_rows.choose(by_columns, 8, n, 4096) for n in (1024, 2048, 4096, 8192, 8200)}
    clusters = {n: None if few is None else few.cluster for n, few in chosen.items()}
    assert clusters == {1024: 4, 2048: 2, 4096: 2, 8192: 1, 8200: None}
    chosen = {n: few_rows.choose(by_rows, 8, n, 4096) for n in (512, 1024, 2048, 4096, 8200)}
    clusters = {n: None if few is None else few.cluster for n, few in chosen.items()}
    assert clusters == {512: 8, 1024: 4, 2048: 2, 4096: 1, 8200: None}
    assert few_rows.choose(by_columns, 8, 1024, 2048) == FewRows(2)
    assert few_rows.choose(by_columns, 1, 8192, 28672) == FewRows(1)
    assert few_rows.choose(by_rows, 1, 8192, 28672) is None
    assert few_rows.choose(by_columns, 8, 2048, 8192) is None  # 64 CTAs with too much of K each
    assert few_rows.choose(by_rows, 8, 4096, 512) == FewRows(1)
    assert few_rows.choose(by_columns, 17, 4096, 4096) is None
    assert few_rows.choose(by_columns, 0, 4096, 4096) is None
    assert few_rows.choose(by_columns, 1, 4096, 4096, matrices=2) is None
    assert few_rows.choose(by_columns, 1, 4096, 512) is None  # fewer chunks than warps
    assert few_rows.choose(Product(e4m3, e4m3, bf16, "K", "K"), 1, 4096, 4096) is None
    assert few_rows.choose(Product(bf16, bf16, bf16, "MN", "MN"), 1, 4096, 4096) is None
    assert isinstance(plan.choose(by_columns, 1, 4096, 4096), FewRows)
    assert isinstance(plan.choose(by_columns, 64, 4096, 4096), Shape)


@pytest.mark.parametrize("by_rows", [False, True])
def test_an_operation_takes_it(by_rows: bool) -> None:
    """`ops.matmul` with an epilogue: bias, an activation, and a residual, of odd sizes too."""
    rng = np.random.default_rng(2)
    for m, (n, k) in itertools.product((1, 5), ((120, 1500), (67, 1111))):
        a = jnp.asarray(rng.standard_normal((m, k)), jnp.bfloat16)
        b = jnp.asarray(rng.standard_normal((k, n)), jnp.bfloat16)
        bias = jnp.asarray(rng.standard_normal(n), jnp.bfloat16)
        residual = jnp.asarray(rng.standard_normal((m, n)), jnp.bfloat16)
        right = np.asarray(a, np.float64) @ np.asarray(b, np.float64)
        if by_rows:
            d = ops.dot_general(a, b.T, (((1,), (1,)), ((), ())))
        else:
            d = ops.matmul(a, b, bias=bias, activation="relu", residual=residual)
            right = np.maximum(right + np.asarray(bias, np.float64), 0)
            right += np.asarray(residual, np.float64)
        np.testing.assert_allclose(np.asarray(d, np.float64), right, rtol=2**-7, atol=0.02)
