"""`rms_norm(offset=)`: weights that are kept as w - 1, in programs of JAX."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx.ops import rms_norm, rms_norm_bwd, rms_norm_fwd  # noqa: E402

OFFSET = 1.0
BF16, F16, F32, F64 = (np.dtype(t) for t in (jnp.bfloat16, np.float16, np.float32, np.float64))
# Rounding to a type, and the arithmetic before it.
ROUNDED = {BF16: 2**-8, F16: 2**-10, F32: 4e-6, F64: 2e-14}
TYPES = [
    (x, w) if (x, w) in ((BF16, BF16), (F16, F32), (F32, BF16), (F64, F64))
    else pytest.param(x, w, marks=pytest.mark.sweep)
    for x in ROUNDED
    for w in ROUNDED
]  # fmt: skip

norm = partial(rms_norm, offset=OFFSET)


def arrays(*lead, n=24, x=F32, w=F32):
    """x[*lead, n], w - 1 [n], and a cotangent of the norm."""
    random = np.random.default_rng(n)
    values = random.standard_normal((*lead, n)), 0.1 * random.standard_normal(n)
    c = random.standard_normal((*lead, n))
    return tuple(jnp.asarray(a, t) for a, t in ((values[0], x), (values[1], w), (c, w)))


def formula(x, w, eps=1e-5):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + eps) * (w + OFFSET)


def exact(x, w, c):
    """The norm and its gradients in float64."""
    with jax.enable_x64(True):
        wide = [jnp.asarray(np.asarray(a, np.float64)) for a in (x, w, c)]
        return jax.jit(exactly)(*wide)


def exactly(x, w, c):
    y, pull = jax.vjp(formula, x, w)
    return y, pull(c)


def close(found, expected, x=F32):
    """Up to rounding to the result's type, and in the arithmetic, which is f64 where x is."""
    tolerance = max(ROUNDED[found.dtype], ROUNDED[F64 if x == F64 else F32])
    expected = np.asarray(expected, np.float64)
    atol = tolerance * max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(
        np.asarray(found, np.float64), expected, rtol=2 * tolerance, atol=atol
    )


def gradients(function=norm):
    return jax.grad(lambda x, w, c: jnp.vdot(function(x, w), c), (0, 1))


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("x", "w"), TYPES, ids=str)
@pytest.mark.parametrize("n", [1, 24, 1025])
def test_values_and_gradients(x, w, n):
    with jax.enable_x64(True):
        operands = arrays(3, n=n, x=x, w=w)
        y, (dx, dw) = exact(*operands)
        close(norm(*operands[:2]), y, x)
        np.testing.assert_array_equal(jax.jit(norm)(*operands[:2]), norm(*operands[:2]))
        for found, wanted in zip(jax.jit(gradients())(*operands), (dx, dw), strict=True):
            close(found, wanted, x)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("rows", "n"),
    [(1, 33792), pytest.param(3, 53248, marks=pytest.mark.sweep), (3, 9216), (17, 33792)],
)
def test_a_few_long_rows(rows, n):
    """Which have kernels of their own: several CTAs for a row, clusters, and two passes."""
    operands = arrays(rows, n=n, x=BF16, w=BF16)
    y, expected = exact(*operands)
    close(norm(*operands[:2]), y)
    for found, wanted in zip(jax.jit(gradients())(*operands), expected, strict=True):
        close(found, wanted)


def test_the_parts_for_rules_of_ones_own():
    x, w, c = arrays(3)
    y, r = rms_norm_fwd(x, w, offset=OFFSET)
    np.testing.assert_array_equal(y, norm(x, w))
    found = rms_norm_bwd(c, r, x, w, offset=OFFSET)
    for one, other in zip(found, gradients()(x, w, c), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_offset_is_part_of_what_is_remembered():
    """Calls with numbers that are equal, or not, in any order."""
    x, w, _ = arrays(2)
    found = {offset: rms_norm(x, w, offset=offset) for offset in (0.0, 1.0, -0.5, 1)}
    for offset, y in found.items():
        close(y, np.asarray(formula(x, w + (offset - OFFSET)), np.float64))
        np.testing.assert_array_equal(rms_norm(x, w, offset=np.float32(offset)), y)


def test_second_derivatives():
    x, w, c = arrays(2, n=6)

    def twice(function):
        def slope(x, w):
            dx, dw = gradients(function)(x, w, c)
            return (dx * c).sum() + (dw * dw).sum()

        return jax.grad(slope, (0, 1))(x, w)

    for found, expected in zip(twice(norm), twice(formula), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("weights", [None, 0])
def test_vmap(weights):
    x, w, c = arrays(4, 3)
    w = w if weights is None else jnp.stack([w * i for i in range(4)])
    each = [w if weights is None else w[i] for i in range(4)]
    axes = (0, weights)
    for found, one in zip(jax.vmap(norm, axes)(x, w), map(norm, x, each), strict=True):
        np.testing.assert_array_equal(found, one)
    dx, dw = jax.vmap(gradients(), (*axes, 0))(x, w, c)
    for i in range(4):
        one = gradients()(x[i], each[i], c[i])
        np.testing.assert_array_equal(dx[i], one[0])
        np.testing.assert_allclose(dw[i], one[1], rtol=1e-5, atol=1e-6)


def test_sharded_rows_need_no_collective_forward_and_one_sum_backward():
    x, w, c = arrays(16, 3)
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Auto,))
    rows, whole = NamedSharding(mesh, P("rows")), NamedSharding(mesh, P())
    xs, cs, ws = jax.device_put(x, rows), jax.device_put(c, rows), jax.device_put(w, whole)
    forward = jax.jit(norm).lower(xs, ws).compile()
    assert pyptx.collectives(forward) == {}
    np.testing.assert_array_equal(forward(xs, ws), norm(x, w))
    backward = jax.jit(gradients()).lower(xs, ws, cs).compile()
    assert pyptx.collectives(backward) == {"all-reduce": 1}
    for found, expected in zip(backward(xs, ws, cs), exact(x, w, c)[1], strict=True):
        close(found, expected)


def test_shard_map():
    x, w, c = arrays(16)
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Auto,))
    inside = jax.shard_map(norm, mesh=mesh, in_specs=(P("rows"), P()), out_specs=P("rows"))
    np.testing.assert_array_equal(jax.jit(inside)(x, w), norm(x, w))
    for found, expected in zip(gradients(inside)(x, w, c), exact(x, w, c)[1], strict=True):
        close(found, expected)
