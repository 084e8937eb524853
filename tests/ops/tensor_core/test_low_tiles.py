"""Tiles with fewer rows than one `wgmma` multiplies: every size and layout, in the emulator."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from tests.ops.tensor_core.products import built, emulated

from pyptx import ops
from pyptx.ops.tensor_core import hopper, plan
from pyptx.ops.tensor_core.epilogue import SCALED, Layer
from pyptx.ops.tensor_core.operands import Operand
from pyptx.ops.tensor_core.shape import Product, Shape
from pyptx.types import bf16, e4m3, f16, f32, s8, s32

LOW = [cut.shape for cut in plan.OTHERS if cut.shape.is_low]
SOME = [LOW[0], replace(LOW[5], stages=3), Shape(32, 64, stages=2, cluster="depth")]


@pytest.mark.sampled(56, each=("size", "b_major"))
@pytest.mark.parametrize("shape", LOW, ids=str)
@pytest.mark.parametrize("b_major", ["MN", "K"])
@pytest.mark.parametrize("size", [(1, 264, 520), (16, 64, 64), (17, 136, 1000), (70, 72, 8)])
def test_products_are_right(shape: Shape, b_major: Any, size: tuple[int, int, int]) -> None:
    """Also where rows, columns and values of K are fewer than a tile has, and of several tiles."""
    kind, d = (f16, f16) if shape.columns == 64 else (bf16, f32)
    product = Product(kind, kind, d, "K", b_major)
    assert emulated(built(product, shape, 5), product, *size) <= 1


@pytest.mark.parametrize("shape", SOME, ids=str)
def test_nothing_is_reported(shape: Shape) -> None:
    """Uninitialised reads and races, with the threads in several orders."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(s).astype(ml_dtypes.bfloat16) for s in ((37, 392), (392, 136)))
    built(Product(bf16, bf16, bf16), shape, 3).emulate(a, b, schedules=4).report.check()


def test_rows_that_are_never_fetched_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that, the tensor cores would read what is not initialised."""
    monkeypatch.setattr(Operand, "fill", lambda *_: None)
    kernel = hopper.build(Product(bf16, bf16, bf16), SOME[0], 3)
    zeros = [np.zeros(size, ml_dtypes.bfloat16) for size in ((16, 64), (64, 64))]
    report = kernel.emulate(*zeros).report
    assert "wgmma" in str(report)
    assert "uninitialised" in str(report)


def test_zeros_are_written_beside_what_is_fetched() -> None:
    """A later copy to a stage, and rows that the tensor cores read, are of disjoint lines."""
    text = built(Product(bf16, bf16, bf16), SOME[0]).ptx()
    assert text.count("st.shared.v4.b32") == 3  # 48 rows of 128 bytes, by 128 threads
    assert built(Product(bf16, bf16, bf16), Shape(64, 64)).ptx().count("st.shared.v4") == 0


def test_rows_without_end_stay_out() -> None:
    """Infinity and NaN of a row reach that row alone, and of a column that column."""
    a, b = np.ones((40, 1024), ml_dtypes.bfloat16), np.ones((1024, 64), ml_dtypes.bfloat16)
    a[1, 700], a[33, 5], b[1023, 9] = np.inf, np.nan, -np.inf
    for shape in SOME:
        d = np.asarray(built(Product(bf16, bf16, f32), shape)(a, b))
        with np.errstate(invalid="ignore"):
            right = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_array_equal(d, right)


@pytest.mark.parametrize("shape", SOME, ids=str)
def test_the_largest_value_of_each_row(shape: Shape) -> None:
    """Rows below a tile's, of which it has sums of zeros and a bias, are those of the next one."""
    epilogue = Layer(bias=f32, amax=True).epilogue
    product = Product(bf16, bf16, f32, epilogue=epilogue, batches=(False,))
    rng = np.random.default_rng(2)
    bias = rng.standard_normal(128).astype(ml_dtypes.bfloat16)
    a, b = np.zeros((70, 72), ml_dtypes.bfloat16), np.zeros((72, 128), ml_dtypes.bfloat16)
    a[:, 0], b[0] = 1, -bias  # what is left is far smaller than the bias
    a[:, 1], b[1] = rng.standard_normal(70) / 64, 1
    found, largest = plan.operation(product, shape)(a, b, bias.astype(np.float32))
    sizes = np.abs(np.asarray(found))
    np.testing.assert_allclose(sizes, np.abs(a[:, 1:2].astype(np.float32) + 0 * sizes), atol=1e-6)
    np.testing.assert_array_equal(np.asarray(largest).view(np.float32), sizes.max(1))


@pytest.mark.parametrize("shape", SOME[:2], ids=str)
def test_integers_eight_bits_and_batches(shape: Shape) -> None:
    for kind, total, d in ((s8, s32, s32), (e4m3, f32, bf16)):
        product = Product(kind, kind, d, "K", "K")
        assert product.sum is total
        assert plan.fits(shape, product)
    product = Product(s8, s8, s32, "K", "K", a_batched=True, b_batched=True)
    rng = np.random.default_rng(3)
    a, b = (
        rng.integers(-128, 128, (3, 21, 144), np.int8),
        rng.integers(-9, 9, (3, 72, 144), np.int8),
    )
    d = np.asarray(plan.operation(product, shape)(a, b))
    np.testing.assert_array_equal(d, a.astype(int) @ b.transpose(0, 2, 1).astype(int))


def test_what_is_chosen() -> None:
    """For as many rows as such a tile has, where A is by rows, and of no groups."""
    product = Product(bf16, bf16, bf16)
    for m, rows in ((1, 16), (16, 16), (17, 32), (32, 32), (33, 64), (64, 64)):
        assert plan.choose(product, m, 8192, 8192).rows == rows
        assert plan.choose(replace(product, b_major="K"), m, 8192, 8192).rows == rows
    assert plan.choose(product, 1, 128256, 4096).rows == 16
    assert plan.choose(product, 8, 3072, 5000).rows == 16
    assert plan.choose(product, 16, 4096, 4096, matrices=32).rows == 16
    for other in (replace(product, a_major="MN"), replace(product, ragged="M")):
        assert not any(plan.fits(shape, other) for shape in LOW)
    eight = Product(e4m3, e4m3, bf16, b_major="K", epilogue=SCALED, batches=(False, False))
    assert plan.choose(eight, 16, 14336, 4096).rows == 16


@pytest.mark.parametrize("by_rows", [pytest.param(False, marks=pytest.mark.sweep), True])
def test_an_operation_takes_it(by_rows: bool) -> None:
    """`ops.matmul` with an epilogue: bias, an activation, and a residual, of odd sizes too."""
    rng = np.random.default_rng(2)
    for m, (n, k) in itertools.product((1, 20), ((120, 1500), (67, 1111))):
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


def test_gated_pairs() -> None:
    rng = np.random.default_rng(4)
    x, w1, w2 = (
        jnp.asarray(rng.standard_normal(size), jnp.bfloat16)
        for size in ((3, 200), (200, 264), (200, 264))
    )
    d = ops.gated_matmul(x, w1, w2)
    one, other = (np.asarray(x, np.float64) @ np.asarray(w, np.float64) for w in (w1, w2))
    right = one / (1 + np.exp(-one)) * other
    np.testing.assert_allclose(np.asarray(d, np.float64), right, rtol=2**-6, atol=0.1)
