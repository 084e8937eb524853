"""Group and instance normalization: values, derivatives, maps, shardings, exports, errors."""

from __future__ import annotations

import textwrap
from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import CallError, ops  # noqa: E402

# Rounding to a type, and the arithmetic in f32 or f64 before it.
TYPES = {jnp.bfloat16: 2**-8, jnp.float16: 2**-10, np.float32: 4e-6, np.float64: 2e-14}
SHAPES = [((3, 6), 2), ((2, 4, 3, 5), 2), ((1, 2, 5), 1), ((2, 6, 33, 31), 6), ((2, 3, 9001), 1)]


def formula(x, groups, w=1.0, b=0.0):
    rows = x.reshape(x.shape[0], groups, -1)
    away = rows - rows.mean(-1, keepdims=True)
    y = (away / jnp.sqrt((away**2).mean(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    ends = (-1,) + (1,) * (x.ndim - 2)
    return y * jnp.reshape(w, ends) + jnp.reshape(b, ends)


def arguments(shape, dtype=np.float32, parameters=None):
    random = np.random.default_rng(shape[-1])
    kinds = [(shape, dtype)] + [(shape[1:2], parameters or dtype)] * 2 + [(shape, dtype)]
    found = [jnp.asarray((random.standard_normal(s) + 1).astype(kind)) for s, kind in kinds]
    return found[:3], found[3]


def exactly(groups, x, w, b, g):
    y, pull = jax.vjp(lambda x, *wb: formula(x, groups, *wb), x, w, b)
    return y, pull(g)


def check(shape, groups, dtype, parameters=None):
    with jax.enable_x64(np.float64 in (dtype, parameters)), pyptx.sanitize():
        arrays, g = arguments(shape, dtype, parameters)
        y, pull = jax.vjp(lambda x, *wb: ops.group_norm(x, groups, *wb), *arrays)
        found = pull(g)
    assert (y.shape, y.dtype) == (shape, np.dtype(dtype))
    assert [(d.shape, d.dtype) for d in found] == [(a.shape, a.dtype) for a in arrays]
    with jax.enable_x64(True):
        wide = [jnp.asarray(np.asarray(a).astype(np.float64)) for a in (*arrays, g)]
        exact, expected = jax.jit(partial(exactly, groups))(*wide)
        size = float(np.abs(wide[3]).sum())
    limit = TYPES[dtype]
    np.testing.assert_allclose(np.asarray(y, np.float64), exact, rtol=limit, atol=4 * limit)
    for one, other, array in zip(found, expected, arrays, strict=True):
        rounding = max(limit, TYPES.get(array.dtype.type, limit))
        scale = max(1.0, float(np.abs(other).max()))
        slack = 1e-6 * size if array.ndim == 1 and dtype is not np.float64 else 0
        np.testing.assert_allclose(
            np.asarray(one, np.float64), other, rtol=rounding, atol=4 * rounding * scale + slack
        )


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_every_type(dtype):
    check((2, 4, 3, 5), 2, dtype)


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("shape", "groups"), SHAPES, ids=str)
def test_every_length(shape, groups):
    check(shape, groups, np.float32)


def test_parameters_of_another_type():
    check((2, 4, 40), 2, jnp.bfloat16, np.float32)
    check((2, 4, 40), 2, np.float32, jnp.bfloat16)


def test_parameters_may_be_left_out_and_channels_be_last():
    (x, w, b), _ = arguments((2, 6, 4, 5))
    np.testing.assert_allclose(ops.group_norm(x, 3), formula(x, 3), rtol=1e-5, atol=1e-5)
    zero, one = jnp.zeros(6), jnp.ones(6)
    for given, both in (((w,), (w, zero)), ((None, b), (one, b))):
        found = jax.grad(lambda x, a=given: (ops.group_norm(x, 3, *a) ** 2).sum())(x)
        exact = jax.grad(lambda x, a=both: (formula(x, 3, *a) ** 2).sum())(x)
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-4)
    last = jnp.moveaxis(x, 1, -1)
    for axis in (-1, 3):
        y = ops.group_norm(last, 3, w, b, channel_axis=axis)
        np.testing.assert_array_equal(jnp.moveaxis(y, -1, 1), ops.group_norm(x, 3, w, b))


def test_instances_are_groups_of_a_channel():
    (x, w, b), _ = arguments((2, 6, 20))
    np.testing.assert_array_equal(ops.instance_norm(x, w, b), ops.group_norm(x, 6, w, b))


def test_a_mean_far_from_zero_costs_no_digits():
    x = np.random.default_rng(0).standard_normal((2, 4, 500)).astype(np.float32) + 4096
    with jax.enable_x64(True):
        exact = np.asarray(formula(jnp.asarray(x.astype(np.float64)), 2))
    assert np.abs(ops.group_norm(x, 2) - exact).max() < 4096 * 2**-22


def test_what_is_no_number_spreads_over_its_group():
    x = np.zeros((1, 4, 20), np.float32)
    x[0, 0, 3] = np.nan
    y = np.asarray(ops.group_norm(x, 2))
    np.testing.assert_array_equal(np.isnan(y).all(-1), [[True, True, False, False]])
    np.testing.assert_array_equal(y[0, 2:], 0)


def test_second_derivatives():
    (x, w, b), _ = arguments((2, 4, 3))

    def twice(of):
        first = jax.grad(lambda x, w: (of(x, 2, w, b) ** 3).sum(), (0, 1))
        return jax.grad(lambda x, w: sum((d**2).sum() for d in first(x, w)), (0, 1))(x, w)

    for one, other in zip(
        *(jax.jit(twice, static_argnums=0)(of) for of in (ops.group_norm, formula)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


def test_a_batch_is_more_rows():
    (x, w, b), _ = arguments((6, 4, 30))
    x = x.reshape(3, 2, 4, 30)
    mapped = jax.vmap(lambda x: ops.group_norm(x, 2, w, b))
    flat = ops.group_norm(x.reshape(6, 4, 30), 2, w, b).reshape(x.shape)
    np.testing.assert_array_equal(mapped(x), flat)
    assert str(jax.make_jaxpr(mapped)(x)).count("pyptx_launch[") == 2


def test_sharded_examples_need_no_collective_but_the_sums_of_parameters():
    mesh = jax.make_mesh((8,), ("n",), axis_types=(AxisType.Auto,))
    (x, w, b), g = arguments((8, 4, 30))
    rows, whole = NamedSharding(mesh, P("n")), NamedSharding(mesh, P())
    placed = [jax.device_put(a, s) for a, s in ((x, rows), (w, whole), (b, whole), (g, rows))]
    norm = lambda x, w, b: ops.group_norm(x, 2, w, b)
    forward = jax.jit(norm).lower(*placed[:3]).compile()
    assert pyptx.collectives(forward) == {}
    # The numbers of groups are sums that XLA makes, in an order of each program's own.
    np.testing.assert_allclose(forward(*placed[:3]), norm(x, w, b), rtol=1e-5, atol=1e-5)
    pulled = lambda x, w, b, g: jax.vjp(norm, x, w, b)[1](g)
    backward = jax.jit(pulled).lower(*placed).compile()
    assert set(pyptx.collectives(backward)) == {"all-reduce"}
    for one, other in zip(backward(*placed), pulled(x, w, b, g), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [AxisType.Explicit, AxisType.Auto], ids=["explicit", "shard_map"])
def test_gradients_under_explicit_meshes_and_in_shard_map(kind):
    mesh = jax.make_mesh((8,), ("n",), axis_types=(kind,))
    arrays, _ = arguments((8, 4, 30))
    gradient = jax.grad(lambda x, w, b: (ops.group_norm(x, 2, w, b) ** 2).sum(), (0, 1, 2))
    specs = (P("n"), P(), P())
    placed = [jax.device_put(a, NamedSharding(mesh, s)) for a, s in zip(arrays, specs, strict=True)]
    with jax.set_mesh(mesh):
        mapped = gradient
        if kind is AxisType.Auto:
            mapped = jax.shard_map(gradient, mesh=mesh, in_specs=specs, out_specs=specs)
        found = jax.jit(mapped)(*placed)
    for one, other in zip(found, gradient(*arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_export_and_no_examples():
    (x, w, b), _ = arguments((6, 4, 30))
    (size,) = jax.export.symbolic_shape("n")
    shapes = [jax.ShapeDtypeStruct((size, *x.shape[1:]), x.dtype), w, b]
    norm = jax.jit(lambda x, w, b: ops.group_norm(x, 2, w, b))
    exported = jax.export.export(norm, disabled_checks=pyptx.export_safety_checks())(*shapes)
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(x, w, b), norm(x, w, b))
    assert ops.group_norm(x[:0], 2, w, b).shape == (0, 4, 30)


@pytest.mark.parametrize(
    "arch",
    [
        "sm_90a",
        *(pytest.param(a, marks=pytest.mark.sweep) for a in ("sm_80", "sm_100a", "sm_120a")),
    ],
)
def test_every_target_assembles_and_runs_it(arch):
    (x, w, b), _ = arguments((2, 4, 1000))
    with pyptx.target(arch):
        np.testing.assert_allclose(
            ops.group_norm(x, 2, w, b), formula(x, 2, w, b), rtol=1e-5, atol=1e-5
        )

    def gradient(x, w, b, g):
        return jax.vjp(lambda *a: ops.group_norm(a[0], 2, *a[1:]), x, w, b)[1](g)

    arrays, g = arguments((2, 4, 4096), jnp.bfloat16)
    with pyptx.target(arch):
        lowered = jax.jit(gradient).trace(*arrays, g).lower(lowering_platforms=("cuda",))
    assert lowered.as_text().count("pyptx_cuda") == 3


X = jnp.ones((2, 6, 4))
CASES = {
    "groups that do not divide": (
        lambda: ops.group_norm(X, 4),
        "num_groups is 4 and must divide the 6 channels of x",
    ),
    "groups that are no integer": (
        lambda: ops.group_norm(X, True),
        "num_groups is True and must divide the 6 channels of x",
    ),
    "no channels": (
        lambda: ops.instance_norm(X[0, 0]),
        "x has shape (4,), and instance_norm takes (N, C, ...)",
    ),
    "channels first of all": (
        lambda: ops.group_norm(X, 2, channel_axis=0),
        """
        channel_axis is 0, and x has 3 dimensions
          legal: 1 to 2, or -1 to -2
        """,
    ),
    "a weight for each element": (
        lambda: ops.group_norm(X, 2, jnp.ones(4)),
        """
        weight has shape (4,), and x 6 channels
          legal: (6,)
        """,
    ),
    "a bias of integers": (
        lambda: ops.instance_norm(X, bias=np.ones(6, np.int32)),
        """
        bias has elements of type int32
          legal: bfloat16 float16 float32 float64
        """,
    ),
    "a negative eps": (
        lambda: ops.group_norm(X, 2, eps=-1.0),
        """
        eps is -1.0 and must be finite and not negative
          help: group_norm(x, num_groups, eps=1e-5)
        """,
    ),
    "a list": (
        lambda: ops.instance_norm([1.0]),
        """
        x is a list; instance_norm takes arrays
          help: jax.numpy.asarray(x)
        """,
    ),
    "forward mode": (
        lambda: jax.jvp(ops.instance_norm, (X,), (X,)),
        """
        instance_norm has no derivative in forward mode (jax.jvp, jax.jacfwd)
          help: jax.grad, jax.vjp and jax.jacrev work
        """,
    ),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES)
def test_the_whole_message(call, message):
    with pytest.raises(CallError) as caught:
        call()
    where, _, text = str(caught.value).partition(": ")
    assert where == f"{__file__}:{call.__code__.co_firstlineno}"
    problem, _source, *notes = text.splitlines()
    assert "\n".join([problem, *notes]) == textwrap.dedent(message).strip()


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("value", [1234.567, -0.1, 1e30])
def test_channels_of_one_number(groups, value):
    """Their mean is that number, exactly."""
    y = ops.group_norm(jnp.full((2, 6, 5), value, jnp.float32), groups)
    np.testing.assert_array_equal(y, np.zeros((2, 6, 5), np.float32))
