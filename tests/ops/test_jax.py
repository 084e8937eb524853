"""The operation in JAX programs: compiled, differentiated, mapped, sharded, exported."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import pyptx  # noqa: E402
from pyptx.ops import rms_norm, rms_norm_bwd, rms_norm_fwd  # noqa: E402

N = 24
LENGTHS = pytest.mark.parametrize("n", [24, 129, 1025])


def arrays(*lead, n=N, seed=0, dtype=jnp.float32):
    """x[*lead, n], w[n], and a fixed direction that makes a scalar of the result."""
    random = np.random.default_rng(seed)
    x, w, c = (random.standard_normal(shape) for shape in ((*lead, n), (n,), (*lead, n)))
    return jnp.asarray(x, dtype), jnp.asarray(1 + 0.1 * w, dtype), jnp.asarray(c, jnp.float32)


def reference(x, w, eps=1e-5):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + eps) * w


def scalar(norm):
    return lambda x, w, c: jnp.sum(norm(x, w) * c)


GRADIENT = jax.grad(scalar(rms_norm), (0, 1))
EXPECTED = jax.grad(scalar(reference), (0, 1))


def close(found, expected, tolerance=2e-5):
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance),
        found,
        expected,
    )


@pytest.mark.sampled(12)
@LENGTHS
def test_eager_and_jit_agree_bit_by_bit(n):
    x, w, c = arrays(5, n=n)
    y = rms_norm(x, w)
    close(y, reference(x, w))
    np.testing.assert_array_equal(jax.jit(rms_norm)(x, w), y)
    for one, other in zip(jax.jit(GRADIENT)(x, w, c), GRADIENT(x, w, c), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.sampled(12)
@LENGTHS
def test_gradients(n):
    values = arrays(2, 3, n=n)
    close(GRADIENT(*values), EXPECTED(*values))


def test_the_parts_for_rules_of_ones_own():
    x, w, c = arrays(2, 3)
    y, r = rms_norm_fwd(x, w, 1e-5)
    np.testing.assert_array_equal(y, rms_norm(x, w))
    close(r, jax.lax.rsqrt(jnp.mean(x * x, -1) + 1e-5))
    close(rms_norm_bwd(c, r, x, w), EXPECTED(x, w, c))


def test_numpy_arrays_run_without_jax_and_come_back():
    x, w, _ = map(np.asarray, arrays(4))
    y = rms_norm(x, w)
    assert type(y) is np.ndarray
    close(y, reference(x, w))


def test_numpy_arrays_beside_those_of_jax():
    """In a program they are constants; a cotangent may be one too."""
    x, w, c = arrays(4)
    close(jax.jit(lambda x: rms_norm(x, np.asarray(w)))(x), reference(x, w))
    _, pull = jax.vjp(rms_norm, x, w)
    close(pull(np.asarray(c)), EXPECTED(x, w, c))
    close(jax.grad(scalar(rms_norm))(x, np.asarray(w), c), EXPECTED(x, w, c)[0])


@pytest.mark.parametrize("eps", [1, 0.5, np.float32(0.5), np.int64(2), np.float64(1e-3)])
def test_eps_is_a_number(eps):
    x, w, _ = arrays(3)
    close(jax.jit(lambda x, w: rms_norm(x, w, eps))(x, w), reference(x, w, float(eps)))


def test_check_grads():
    x, w, _ = arrays(3)
    check_grads(rms_norm, (x, w), modes=["rev"], order=1, rtol=2e-2, atol=2e-2)


def test_second_derivatives():
    x, w, c = arrays(3, n=6)
    for which, again in ((0, 0), (0, 1), (1, 0)):

        def second(norm, which=which, again=again):
            first = jax.grad(scalar(norm), which)
            return jax.jit(jax.jacrev(lambda *a: jnp.sin(first(*a)), again))(x, w, c)

        close(second(rms_norm), second(reference), 1e-4)
    close(
        jax.grad(lambda x, w: rms_norm_fwd(x, w)[1].sum(), (0, 1))(x, w),
        jax.grad(
            lambda x, w: jax.lax.rsqrt(jnp.mean(x * x, -1) + 1e-5).sum() + 0 * w.sum(), (0, 1)
        )(x, w),
    )


def test_rows_and_weights_of_none():
    x, w, c = arrays(0)
    assert rms_norm(x, w).shape == (0, N)
    dx, dw = jax.jit(GRADIENT)(x, w, c)
    assert dx.shape == (0, N)
    np.testing.assert_array_equal(dw, np.zeros(N))


# ---- mapped --------------------------------------------------------------------------------------

MAPS = [(0, None), (None, 0), (0, 0), (1, None), (1, 1)]


def stacked(axes):
    """Arguments with an axis of size 3 where they are mapped."""
    x, w, c = arrays(4)
    many = [jnp.stack([a, 2 * a, a - 1], axis or 0) for a, axis in zip((x, w), axes, strict=True)]
    return [m if axis is not None else a for m, axis, a in zip(many, axes, (x, w), strict=True)], c


@pytest.mark.sampled(32, each=("compiled", "axes"))
@pytest.mark.parametrize("axes", MAPS, ids=str)
@pytest.mark.parametrize("compiled", [False, True])
def test_vmap(axes, compiled):
    given, c = stacked(axes)
    found = jax.vmap(rms_norm, axes)
    close((jax.jit(found) if compiled else found)(*given), jax.vmap(reference, axes)(*given))
    gradient = jax.vmap(GRADIENT, (*axes, None))
    close(
        (jax.jit(gradient) if compiled else gradient)(*given, c),
        jax.vmap(EXPECTED, (*axes, None))(*given, c),
    )


@pytest.mark.parametrize(
    ("outer", "inner"),
    [((0, None), (0, 0)), pytest.param((None, 0), (0, None), marks=pytest.mark.sweep)],
    ids=str,
)
def test_nested_vmap(outer, inner):
    random = np.random.default_rng(1)
    shapes = [
        [2] * (o is not None) + [3] * (i is not None) for o, i in zip(outer, inner, strict=True)
    ]
    x, w = (
        jnp.asarray(random.standard_normal((*shape, *tail)), jnp.float32)
        for shape, tail in zip(shapes, ((4, N), (N,)), strict=True)
    )
    c = jnp.ones((4, N))

    def nested(function, *more):
        return jax.jit(jax.vmap(jax.vmap(function, (*inner, *more)), (*outer, *more)))

    close(nested(rms_norm)(x, w), nested(reference)(x, w))
    close(nested(GRADIENT, None)(x, w, c), nested(EXPECTED, None)(x, w, c))


def test_gradient_of_vmap():
    x, w, c = arrays(3, 4)

    def total(norm):
        return jax.grad(lambda x, w: jnp.vdot(jax.vmap(norm, (0, None))(x, w), c), (0, 1))(x, w)

    close(total(rms_norm), total(reference))


def test_scan_and_remat():
    x, w, c = arrays(4)

    def layers(norm):
        def loss(x, w):
            step = jax.checkpoint(lambda x, _: (norm(x, w) + x, None))
            return jnp.vdot(jax.lax.scan(step, x, None, 3)[0], c)

        return jax.jit(jax.value_and_grad(loss, (0, 1)))(x, w)

    close(layers(rms_norm), layers(reference), 1e-4)


# ---- over devices --------------------------------------------------------------------------------


def mesh(kind=AxisType.Auto, shape=(8,), names=("rows",)):
    return jax.make_mesh(shape, names, axis_types=(kind,) * len(shape))


def test_sharded_rows_need_no_collective_forward_and_one_sum_backward():
    x, w, c = arrays(16, 3)
    over = mesh()
    rows, whole = NamedSharding(over, P("rows")), NamedSharding(over, P())
    xs, cs, ws = jax.device_put(x, rows), jax.device_put(c, rows), jax.device_put(w, whole)
    forward = jax.jit(rms_norm).lower(xs, ws).compile()
    assert pyptx.collectives(forward) == {}
    y = forward(xs, ws)
    assert y.sharding.is_equivalent_to(rows, y.ndim)
    np.testing.assert_array_equal(y, rms_norm(x, w))
    backward = jax.jit(GRADIENT).lower(xs, ws, cs).compile()
    assert pyptx.collectives(backward) == {"all-reduce": 1}
    close(backward(xs, ws, cs), EXPECTED(x, w, c))
    close(GRADIENT(xs, ws, cs), EXPECTED(x, w, c))


def test_whole_sums_of_a_grid_are_added_in_f32_over_devices():
    """Its one team writes dw as bf16, where it is not added to that of other devices."""
    n = 524288
    x, w, c = arrays(16, n=n, dtype=jnp.bfloat16)
    over = mesh(shape=(2,))
    rows, whole = NamedSharding(over, P("rows")), NamedSharding(over, P())
    sharded = jax.device_put(x, rows), jax.device_put(w, whole), jax.device_put(c, rows)
    lowered = jax.jit(GRADIENT).lower(*sharded)
    assert "rms_norm_gradient_grid" in lowered.as_text()
    x64, g64 = (np.asarray(a, np.float64) for a in (x, c.astype(jnp.bfloat16)))
    invvar = 1 / np.sqrt((x64 * x64).mean(-1, keepdims=True) + 1e-5)
    expected = (g64 * x64 * invvar).sum(0)
    for dw in (GRADIENT(x, w, c)[1], lowered.compile()(*sharded)[1]):
        error = np.abs(np.asarray(dw, np.float64) - expected)
        assert np.all(error <= 2.0**-8 * np.abs(expected) + 1e-5)  # half a unit in the last place


def test_two_dimensions_of_rows_over_two_axes():
    x, w, c = arrays(4, 6)
    over = mesh(shape=(4, 2), names=("a", "b"))
    sharding = NamedSharding(over, P("a", "b"))
    xs, cs = jax.device_put(x, sharding), jax.device_put(c, sharding)
    compiled = jax.jit(GRADIENT).lower(xs, w, cs).compile()
    assert pyptx.collectives(compiled) == {"all-reduce": 1}
    close(compiled(xs, jax.device_put(w, NamedSharding(over, P())), cs), EXPECTED(x, w, c))


@pytest.mark.parametrize("check_vma", [True, pytest.param(False, marks=pytest.mark.sweep)])
def test_shard_map(check_vma):
    x, w, c = arrays(16)
    over = mesh()
    inside = jax.shard_map(
        rms_norm, mesh=over, in_specs=(P("rows"), P()), out_specs=P("rows"), check_vma=check_vma
    )
    np.testing.assert_array_equal(jax.jit(inside)(x, w), rms_norm(x, w))
    found = jax.jit(jax.grad(lambda x, w: jnp.vdot(inside(x, w), c), (0, 1)))(x, w)
    close(found, EXPECTED(x, w, c))


def test_gradient_inside_shard_map():
    """The weight is the same everywhere, so its gradient is the sum over all devices."""
    x, w, c = arrays(16)
    inside = jax.shard_map(
        GRADIENT,
        mesh=mesh(),
        in_specs=(P("rows"), P(), P("rows")),
        out_specs=(P("rows"), P()),
    )
    close(jax.jit(inside)(x, w, c), EXPECTED(x, w, c))


def test_an_explicit_mesh():
    x, w, c = arrays(16)
    with jax.set_mesh(mesh(AxisType.Explicit)):
        xs, cs = (jax.sharding.reshard(a, P("rows")) for a in (x, c))
        ws = jax.sharding.reshard(w, P())
        y = jax.jit(rms_norm)(xs, ws)
        assert jax.typeof(y).sharding.spec == P("rows", None)
        close(y, reference(x, w))
        dx, dw = jax.jit(GRADIENT)(xs, ws, cs)
        assert jax.typeof(dx).sharding.spec == P("rows", None)
        assert jax.typeof(dw).sharding.spec == P(None)
        close((dx, dw), EXPECTED(x, w, c))


def test_a_sharded_row_is_gathered_where_xla_decides():
    x, w, _ = arrays(4)
    columns = NamedSharding(mesh(), P(None, "rows"))
    xs = jax.device_put(x, columns)
    compiled = jax.jit(rms_norm).lower(xs, w).compile()
    assert "all-gather" in pyptx.collectives(compiled)
    close(compiled(xs, jax.device_put(w, NamedSharding(mesh(), P()))), reference(x, w))


# ---- exported ------------------------------------------------------------------------------------


def test_export():
    x, w, c = arrays(6)
    checks = pyptx.export_safety_checks()
    (rows,) = jax.export.symbolic_shape("rows")
    shape = jax.ShapeDtypeStruct((rows, N), jnp.float32)
    weight = jax.ShapeDtypeStruct((N,), jnp.float32)
    exported = jax.export.export(jax.jit(GRADIENT), disabled_checks=checks)(shape, weight, shape)
    again = jax.export.deserialize(exported.serialize())
    close(again.call(x, w, c), EXPECTED(x, w, c))
    close(again.call(x[:2], w, c[:2]), EXPECTED(x[:2], w, c[:2]))
