"""Matrix products on a GPU: kernels and choices against float64, and the same bits in every run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

from pyptx import ops  # noqa: E402
from pyptx.ops.tensor_core import mma_sync, plan  # noqa: E402
from pyptx.ops.tensor_core.shape import Product  # noqa: E402
from pyptx.types import bf16, e4m3, f16, f32, s8, s32  # noqa: E402

pytestmark = pytest.mark.gpu
JAX = {bf16: jnp.bfloat16, f16: jnp.float16, f32: jnp.float32}
ULP = {"bfloat16": 2.0**-8, "float16": 2.0**-10, "float32": 0.0}
MAJORS = [(a, b) for a in ("K", "MN") for b in ("K", "MN")]


def normal(shape, dtype, seed):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def check(d, a, b):
    """Within a last bit of D, and what 22 bits of each 16 products lose."""
    x, y = np.asarray(a).astype(np.float64), np.asarray(b).astype(np.float64)
    exact, found = x @ y, np.asarray(d).astype(np.float64)
    depth = x.shape[-1] / 16 + 1
    allowed = ULP[np.dtype(d.dtype).name] * np.abs(exact) + depth * 2.0**-22 * (
        np.abs(x) @ np.abs(y)
    )
    assert found.shape == exact.shape
    assert np.max(np.abs(found - exact) / (allowed + 1e-30)) <= 1


def turned(x, major, wanted):
    return jnp.swapaxes(x, -1, -2).copy() if major != wanted else x


EVERY = [
    (cut.shape, product)
    for majors in MAJORS
    for product in [Product(bf16, bf16, d, *majors) for d in (f32, bf16)]
    for cut in plan.candidates(product)
    if plan.fits(cut.shape, product)
    # Results of 16 bits where a shape is for these alone.
    and (product.d is f32 or not plan.fits(cut.shape, replace(product, d=f32)))
]


@pytest.mark.parametrize(
    ("shape", "product"), EVERY, ids=[f"{s}-{p.d}-{p.a_major}-{p.b_major}" for s, p in EVERY]
)
@pytest.mark.parametrize("sizes", [(704, 1160, 1032), (2304, 2000, 520), (64, 4096, 2048)], ids=str)
def test_every_shape(shape, product, sizes):
    m, n, k = sizes
    a, b = normal((m, k), jnp.bfloat16, 0), normal((k, n), jnp.bfloat16, 1)
    operation = jax.jit(plan.operation(product, shape))
    arrays = turned(a, product.a_major, "K"), turned(b, product.b_major, "MN")
    d = operation(*arrays)
    check(d, a, b)
    for _ in range(3):
        np.testing.assert_array_equal(d, operation(*arrays))


@pytest.mark.parametrize("batches", [(True, True), (True, False), (False, True)], ids=str)
@pytest.mark.parametrize("cut", plan.CUTS[:4], ids=lambda cut: str(cut.shape))
@pytest.mark.parametrize("d", [bf16, f16, f32], ids=str)
def test_batches(batches, cut, d):
    kind = f16 if d is f16 else bf16
    product = replace(Product(kind, kind, d), a_batched=batches[0], b_batched=batches[1])
    a = normal((*((5,) if batches[0] else ()), 200, 264), JAX[kind], 0)
    b = normal((*((5,) if batches[1] else ()), 264, 520), JAX[kind], 1)
    check(jax.jit(plan.operation(product, cut.shape))(a, b), a, b)


@pytest.mark.parametrize("majors", MAJORS, ids=str)
def test_mma_sync(majors):
    product = Product(bf16, bf16, f32, *majors)
    a, b = normal((264, 392), jnp.bfloat16, 0), normal((392, 520), jnp.bfloat16, 1)
    kernel = jax.jit(mma_sync.build(product))
    check(kernel(turned(a, majors[0], "K"), turned(b, majors[1], "MN")), a, b)


LOW = [cut.shape for cut in plan.OTHERS if cut.shape.is_low]


@pytest.mark.parametrize("shape", LOW, ids=str)
@pytest.mark.parametrize("major", ["K", "MN"])
@pytest.mark.parametrize("sizes", [(1, 4096, 4096), (29, 1000, 5000), (70, 520, 520)], ids=str)
def test_few_rows(sizes, major, shape):
    m, n, k = sizes
    kind = f16 if shape.columns == 128 else bf16
    a, b = normal((m, k), JAX[kind], 0), normal((k, n), JAX[kind], 1)
    operation = jax.jit(plan.operation(Product(kind, kind, f32, "K", major), shape))
    arrays = a, turned(b, major, "MN")
    d = operation(*arrays)
    check(d, a, b)
    for _ in range(3):
        np.testing.assert_array_equal(d, operation(*arrays))


SIZES = [
    (1, 1, 1), (1, 4096, 4096), (8, 1024, 8192), (1, 8192, 512), (16, 1000, 4096), (17, 33, 65),
    (64, 64, 10000), (129, 257, 511), (300, 5000, 3000), (1024, 1024, 131072), (4096, 2112, 7168),
    (2048, 2048, 2048),
]  # fmt: skip


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_values(sizes, dtype):
    m, n, k = sizes
    a, b = normal((m, k), dtype, 0), normal((k, n), dtype, 1)
    d = jax.jit(ops.matmul)(a, b)
    check(d, a, b)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32])
def test_gradients(dtype):
    a, b = normal((3, 200, 136), dtype, 0), normal((136, 328), dtype, 1)
    g = normal((3, 200, 328), dtype, 2)
    found = jax.jit(lambda a, b, g: jax.vjp(ops.matmul, a, b)[1](g))(a, b, g)
    check(found[0], g, b.T)
    check(found[1], a.reshape(-1, 136).T, g.reshape(-1, 328))


@pytest.mark.parametrize("sizes", [(64, 264, 4096), (1000, 2000, 520), (4096, 4096, 4096)], ids=str)
@pytest.mark.parametrize("dtype", [jnp.float8_e4m3fn, jnp.float8_e5m2])
def test_eight_bits(sizes, dtype, record_property):
    """Tensor cores add products of 8 bits with few bits: 2**-10.8 was the most, at K = 4096."""
    m, n, k = sizes
    a, b = normal((m, k), dtype, 0), normal((k, n), dtype, 1)
    rows, columns = jnp.abs(normal((m, 1), jnp.float32, 2)), jnp.abs(normal((1, n), jnp.float32, 3))
    f = jax.jit(lambda a, b, r, c: ops.matmul(a, b, out_dtype=jnp.float32, a_scale=r, b_scale=c))
    x, y = np.asarray(a).astype(np.float64), np.asarray(b).astype(np.float64)
    scale = np.asarray(rows) * np.asarray(columns)
    error = np.abs(np.asarray(f(a, b, rows, columns)) - x @ y * scale)
    share = np.max(error / (scale * (np.abs(x) @ np.abs(y))))
    record_property("error over the sum of absolute values", float(share))
    print(f"{sizes} {np.dtype(dtype).name}: 2**{np.log2(share):.2f}")
    assert share < 2.0**-10


@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize(
    "sizes", [(64, 264, 4096), (1000, 2000, 520), (4096, 4096, 7168), (129, 130, 1000)], ids=str
)
def test_block_scales(sizes, by_column):
    """Sums of 128 of K are cut; their total is of f32, so the error does not grow with K."""
    m, n, k = sizes
    blocks = -(-k // 128)
    a, b = normal((m, k), jnp.float8_e4m3fn, 0), normal((k, n), jnp.float8_e4m3fn, 1)
    rows = jnp.abs(normal((m, blocks), jnp.float32, 2)) + 0.1
    columns = jnp.abs(normal((blocks, n if by_column else -(-n // 128)), jnp.float32, 3)) + 0.1
    f = jax.jit(lambda a, b, r, c: ops.matmul(a, b, out_dtype=jnp.float32, a_scale=r, b_scale=c))
    x = np.asarray(a).astype(np.float64) * np.repeat(np.asarray(rows), 128, 1)[:, :k]
    tall = np.repeat(np.asarray(columns), 128, 0)[:k]
    y = np.asarray(b).astype(np.float64) * (tall if by_column else np.repeat(tall, 128, 1)[:, :n])
    found = f(a, b, rows, columns)
    assert np.max(np.abs(np.asarray(found) - x @ y) / (np.abs(x) @ np.abs(y))) < 2.0**-11
    for _ in range(3):
        np.testing.assert_array_equal(found, f(a, b, rows, columns))


@pytest.mark.parametrize(
    "cut", (*plan.PROMOTED_CUTS, *plan.PROMOTED_OTHERS), ids=lambda cut: str(cut.shape)
)
def test_every_shape_with_block_scales(cut):
    m, n, k = 704, 1168, 1040
    product = Product(e4m3, e4m3, f32, "K", "K", blocks="block", batches=(False, False))
    a, b = normal((m, k), jnp.float8_e4m3fn, 0), normal((n, k), jnp.float8_e4m3fn, 1)
    ones = jnp.ones((m, 12)), jnp.ones((9, 10))  # rows of whole 16 bytes, as operations pad them
    x, y = np.asarray(a).astype(np.float64), np.asarray(b).astype(np.float64).T
    found = jax.jit(plan.operation(product, cut.shape))(a, b, *ones)
    assert np.max(np.abs(np.asarray(found) - x @ y) / (np.abs(x) @ np.abs(y))) < 2.0**-11


@pytest.mark.parametrize("sizes", [(1, 8, 16), (64, 264, 4096), (1000, 2000, 528)], ids=str)
@pytest.mark.parametrize("kinds", [("int8", "int8"), ("uint8", "int8")], ids=str)
def test_integers(sizes, kinds):
    m, n, k = sizes
    rng = np.random.default_rng(0)
    a, b = (
        rng.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape, kind)
        for kind, shape in zip(kinds, ((m, k), (k, n)), strict=True)
    )
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(jax.jit(ops.matmul)(jnp.asarray(a), jnp.asarray(b)), exact)
    d = jax.jit(lambda a, b: ops.matmul(a, b, a_scale=0.5, out_dtype="float32"))(a, b)
    np.testing.assert_allclose(d, exact / 2, rtol=2.0**-23)


@pytest.mark.parametrize("cut", plan.CUTS, ids=lambda cut: str(cut.shape))
def test_every_shape_of_integers(cut):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, shape, "int8") for shape in ((704, 1040), (1168, 1040)))
    product = Product(s8, s8, s32, "K", "K")
    found = jax.jit(plan.operation(product, cut.shape))(jnp.asarray(a), jnp.asarray(b))
    np.testing.assert_array_equal(found, a.astype(np.int64) @ b.astype(np.int64).T)


def test_integers_by_mma_sync():
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-128, 128, shape, "int8") for shape in ((264, 400), (520, 400)))
    found = jax.jit(mma_sync.build(Product(s8, s8, s32, "K", "K")))(jnp.asarray(a), jnp.asarray(b))
    np.testing.assert_array_equal(found, a.astype(np.int64) @ b.astype(np.int64).T)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_tf32(sizes):
    """Against products of the rounded numbers."""
    m, n, k = sizes
    a, b = normal((m, k), jnp.float32, 0), normal((k, n), jnp.float32, 1)
    d = jax.jit(lambda a, b: ops.matmul(a, b, precision="tf32"))(a, b)
    check(d, *(jax.lax.reduce_precision(x, 8, 10) for x in (a, b)))


@pytest.mark.parametrize("cut", plan.CUTS, ids=lambda cut: str(cut.shape))
def test_every_shape_of_tf32(cut):
    a, b = normal((704, 1032), jnp.float32, 0), normal((1160, 1032), jnp.float32, 1)
    a, b = (jax.lax.reduce_precision(x, 8, 10) for x in (a, b))
    product = Product(f32, f32, f32, "K", "K")
    check(jax.jit(plan.operation(product, cut.shape))(a, b), a, b.T)


def test_tf32_by_mma_sync():
    a, b = normal((264, 392), jnp.float32, 0), normal((520, 392), jnp.float32, 1)
    a, b = (jax.lax.reduce_precision(x, 8, 10) for x in (a, b))
    check(jax.jit(mma_sync.build(Product(f32, f32, f32, "K", "K")))(a, b), a, b.T)


@pytest.mark.parametrize("by_column", [False, True])
def test_groups_with_block_scales(by_column):
    """Each group as a product by itself, whose sums have the same order."""
    m, n, k, sizes = 3000, 1040, 1032, (700, 0, 1500, 300)
    a, b = normal((m, k), jnp.float8_e4m3fn, 0), normal((4, k, n), jnp.float8_e4m3fn, 1)
    rows = jnp.abs(normal((m, 9), jnp.float32, 2)) + 0.1
    others = jnp.abs(normal((4, 9, n if by_column else 9), jnp.float32, 3)) + 0.1
    f = jax.jit(
        lambda sizes: ops.ragged_dot(
            a, b, sizes, lhs_scale=rows, rhs_scale=others, preferred_element_type=jnp.float32
        )
    )
    d, at = f(jnp.array(sizes)), 0
    for i, size in enumerate(sizes):
        own = slice(at, at + size)
        if size:
            alone = ops.matmul(
                a[own], b[i], a_scale=rows[own], b_scale=others[i], out_dtype=jnp.float32
            )
            np.testing.assert_allclose(d[own], alone, rtol=1e-5, atol=1e-3)
        at += size
    assert not np.asarray(d[at:]).any()
