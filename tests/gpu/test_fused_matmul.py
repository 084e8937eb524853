"""Products with epilogues and products of groups on a GPU, against float64."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

from pyptx import ops  # noqa: E402
from pyptx.ops.tensor_core import plan  # noqa: E402
from pyptx.ops.tensor_core.epilogue import ACTIVATIONS, Layer  # noqa: E402
from pyptx.ops.tensor_core.shape import Product  # noqa: E402
from pyptx.types import bf16, f32  # noqa: E402

pytestmark = pytest.mark.gpu
BF16 = jnp.bfloat16
FUNCTIONS = {
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "gelu": partial(jax.nn.gelu, approximate=False),
    "gelu_tanh": partial(jax.nn.gelu, approximate=True),
}
SIZES = [(704, 1160, 1032), (2304, 2048, 520), (64, 4096, 2048), (1, 8200, 512), (300, 500, 300)]


def normal(shape, dtype, seed):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def exact(a, b):
    return np.asarray(a).astype(np.float64) @ np.asarray(b).astype(np.float64)


def off(found, expected):
    """The distance over the length."""
    found, expected = (np.asarray(x).astype(np.float64) for x in (found, expected))
    assert found.shape == expected.shape
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-300)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_layers(size, activation):
    m, n, k = size
    a, b = normal((m, k), BF16, 0), normal((k, n), BF16, 1) / 16
    parts = {"bias": normal((n,), jnp.float32, 2), "residual": normal((m, n), BF16, 3)}
    layer = jax.jit(partial(ops.matmul, activation=activation))
    d = layer(a, b, **parts)
    wide = jnp.asarray(exact(a, b), jnp.float32) + parts["bias"]
    assert off(d, FUNCTIONS[activation](wide) + parts["residual"]) < 4e-3
    for _ in range(3):
        np.testing.assert_array_equal(d, layer(a, b, **parts))


@pytest.mark.parametrize("cut", plan.CUTS, ids=lambda cut: str(cut.shape))
@pytest.mark.parametrize("paired", [False, True])
def test_every_shape(cut, paired):
    formula = Layer(activation="silu", paired=paired)
    product = Product(bf16, bf16, f32, epilogue=formula.epilogue)
    if not plan.fits(cut.shape, product):
        assert cut.shape.blocks == 2 or (paired and cut.shape.columns == 64)
        return
    a, b, c = (normal(s, BF16, i) for i, s in enumerate([(704, 1032), (1032, 1160), (1032, 1160)]))
    given = (a, b, c) if paired else (a, b)
    d = jax.jit(plan.operation(product, cut.shape))(*given)
    expected = jax.nn.silu(jnp.asarray(exact(a, b), jnp.float32))
    assert off(d, expected * exact(a, c) if paired else expected) < 1e-5


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_two_matrices_and_gradients(size):
    m, n, k = size
    x = normal((m, k), BF16, 0)
    gate, up = (normal((k, n), BF16, i) / 16 for i in (1, 2))

    def plain(x, gate, up):
        x, gate, up = (v.astype(jnp.float32) for v in (x, gate, up))
        product = partial(jnp.matmul, precision="highest")
        return jax.nn.silu(product(x, gate)) * product(x, up)

    g = normal((m, n), BF16, 3)

    @partial(jax.jit, static_argnums=0)
    def both(f, *arrays):
        d, pull = jax.vjp(f, *arrays)
        return d, *pull(g.astype(d.dtype))

    # The operands of the products of a gradient are rounded to bf16, and so are results.
    found, wanted = (both(f, x, gate, up) for f in (ops.gated_matmul, plain))
    for one, other in zip(found, wanted, strict=True):
        assert off(one, other) < 6e-3


@pytest.mark.parametrize("groups", [1, 8, 64, 300])
@pytest.mark.parametrize("rows", [1, 500, 4096])
def test_groups(rows, groups):
    sizes = np.random.default_rng(groups).multinomial(rows - rows // 9, np.ones(groups) / groups)
    x, w = normal((rows, 520), BF16, 0), normal((groups, 520, 392), BF16, 1)

    @jax.jit
    def both(x, w, sizes):
        d, pull = jax.vjp(
            partial(ops.ragged_dot, group_sizes=sizes, preferred_element_type=jnp.float32), x, w
        )
        return d, *pull(jnp.cos(d))

    d, dx, dw = both(x, w, jnp.asarray(sizes))
    g = np.asarray(jnp.cos(d).astype(BF16)).astype(np.float64)
    wide = [np.asarray(v).astype(np.float64) for v in (x, w)]
    expected = [np.zeros(v.shape) for v in (d, dx, dw)]
    begin = 0
    for group, size in enumerate(sizes):
        own = slice(begin, begin + size)
        begin += size
        expected[0][own] = wide[0][own] @ wide[1][group]
        expected[1][own] = g[own] @ wide[1][group].T
        expected[2][group] = wide[0][own].T @ g[own]
    for found, wanted, bound in zip((d, dx, dw), expected, (1e-6, 4e-3, 4e-3), strict=True):
        assert off(found, wanted) < bound
    for one, other in zip((d, dx, dw), both(x, w, jnp.asarray(sizes)), strict=True):
        np.testing.assert_array_equal(one, other)


# ---- results of 8 bits ---------------------------------------------------------------------------


def rounded(x, dtype):
    """As the conversion with saturation rounds."""
    most = float(jnp.finfo(dtype).max)
    return jnp.clip(x, -most, most).astype(dtype)


def same(found, expected):
    """The rounded result, but for neighbours where a sum lies next to the middle of two.

    Near zero sums are what is left of larger ones, in another order where the kernel is another.
    """
    one, other = (np.asarray(x).astype(np.float32) for x in (found, expected))
    differ = one != other
    assert np.mean(differ) < 0.005
    np.testing.assert_allclose(one[differ], other[differ], rtol=0.26, atol=0.01)


@pytest.mark.parametrize("out", [jnp.float8_e4m3fn, jnp.float8_e5m2])
@pytest.mark.parametrize("kind", [BF16, jnp.float8_e4m3fn])
@pytest.mark.parametrize("size", [*SIZES, (129, 257, 71)], ids=str)
def test_results_of_8_bits(size, kind, out):
    m, n, k = size
    a, b = normal((m, k), kind, 0), normal((k, n), kind, 1)
    f = jax.jit(partial(ops.matmul, out_dtype=out, out_scale=3.0, amax=True))
    d, amax = f(a, b)
    whole = jax.jit(partial(ops.matmul, out_dtype=jnp.float32))(a, b)
    same(d, rounded(whole * 3, out))
    np.testing.assert_allclose(amax, jnp.abs(whole).max(), rtol=1e-6)
    again, same_amax = f(a, b)
    np.testing.assert_array_equal(np.asarray(d), np.asarray(again))
    assert amax == same_amax


@pytest.mark.parametrize("kind", [BF16, jnp.float8_e4m3fn, jnp.int8])
def test_pairs_of_8_bits(kind):
    x, gate, up = (
        (normal(shape, jnp.float32, i) * 4).astype(kind)
        for i, shape in enumerate(((1000, 520), (520, 2000), (520, 2000)))
    )
    rows = jnp.abs(normal((1000, 1), jnp.float32, 3)) / 16
    of_gate, of_up = (jnp.abs(normal((1, 2000), jnp.float32, i)) / 16 for i in (4, 5))
    d, amax = ops.gated_matmul(
        x, gate, up, x_scale=rows, gate_scale=of_gate, up_scale=of_up, out_scale=2, amax=True,
        out_dtype=jnp.float8_e4m3fn,
    )  # fmt: skip
    wide = partial(ops.matmul, out_dtype=jnp.float32, a_scale=rows)
    whole = jax.nn.silu(wide(x, gate, b_scale=of_gate)) * wide(x, up, b_scale=of_up)
    same(d, rounded(whole * 2, jnp.float8_e4m3fn))
    np.testing.assert_allclose(amax, jnp.abs(whole).max(), rtol=1e-5)
