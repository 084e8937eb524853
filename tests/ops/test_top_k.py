"""The largest elements of rows: as jax.lax.top_k and jax.numpy.argmax have them, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import CallError, ops  # noqa: E402
from pyptx.ops._top_k import TopK, kernel_of  # noqa: E402
from pyptx.types import bf16, f32, f64  # noqa: E402

TYPES = (jnp.bfloat16, jnp.float16, np.float32, np.float64)
SHAPES = [(3, 1), (5, 2), (7, 61), (4, 64), (3, 256), (2, 1000), (2, 4099), (1, 50257)]


def rows(shape, dtype):
    """Random rows; one of few different numbers, and one of numbers that are none, and zeros."""
    x = np.random.default_rng(shape[-1]).standard_normal(shape)
    x[-1] = np.round(x[-1])
    x[0, ::3], x[0, 1::3] = 0, -0.0
    if shape[0] > 2:
        x[1, ::5], x[1, 1::5], x[1, 2::5] = np.nan, np.inf, -np.inf
        x[1, shape[-1] // 2 :] *= -1
    return x.astype(dtype)


def same(found, expected):
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    bits = [np.ascontiguousarray(np.asarray(a)).view(np.uint8) for a in (found, expected)]
    np.testing.assert_array_equal(*bits)


@pytest.mark.sampled(36, each="dtype")
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_and_indices(dtype, shape):
    with jax.enable_x64(dtype is np.float64), pyptx.sanitize():
        x = rows(shape, dtype)
        for k in (1, 2, 8, 64):
            if k <= shape[-1] and (k < 64 or shape[-1] < 50000):
                for found, expected in zip(ops.top_k(x, k), jax.lax.top_k(x, k), strict=True):
                    same(np.asarray(found), np.asarray(expected))
        same(np.asarray(ops.argmax(x)), np.asarray(jnp.argmax(x, -1)).astype(np.int32))


@pytest.mark.parametrize("k", [pytest.param(1, marks=pytest.mark.sweep), 3])
def test_derivatives(k):
    x = jnp.asarray(rows((2, 7), np.float32)) + jnp.arange(7) / 100

    def of(top):
        return lambda x: (top(x, k)[0] ** 3).sum()

    np.testing.assert_array_equal(jax.grad(of(ops.top_k))(x), jax.grad(of(jax.lax.top_k))(x))
    found, expected = (jax.jacrev(jax.grad(of(f)))(x) for f in (ops.top_k, jax.lax.top_k))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_array_equal(jax.grad(lambda x: x[0, ops.argmax(x)[0]])(x).sum(), 1)


def test_vmap_is_one_launch_of_more_rows():
    x = jnp.asarray(rows((3, 61), np.float32))[:, None] * jnp.ones((3, 2, 1))
    for function in (lambda x: ops.top_k(x, 4)[1], ops.argmax):
        np.testing.assert_array_equal(jax.vmap(function)(x), function(x))
        assert str(jax.make_jaxpr(jax.vmap(function))(x)).count("pyptx_launch[") == 1


def test_sharded_rows_need_no_collective():
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Auto,))
    x = rows((16, 61), np.float32)
    placed = jax.device_put(x, NamedSharding(mesh, P("rows")))
    compiled = jax.jit(lambda x: ops.top_k(x, 4)).lower(placed).compile()
    assert pyptx.collectives(compiled) == {}

    def gradient(x):
        return jax.grad(lambda x: (ops.top_k(x, 4)[0] ** 2).sum())(x)

    assert pyptx.collectives(jax.jit(gradient).lower(placed).compile()) == {}
    np.testing.assert_array_equal(jax.jit(gradient)(placed), gradient(x))
    np.testing.assert_array_equal(compiled(placed)[1], ops.top_k(x, 4)[1])


def test_export_and_no_rows():
    x = rows((6, 24), np.float32)
    (size,) = jax.export.symbolic_shape("b")
    function = jax.jit(lambda x: (*ops.top_k(x, 4), ops.argmax(x)))
    exported = jax.export.export(function, disabled_checks=pyptx.export_safety_checks())(
        jax.ShapeDtypeStruct((size, 24), x.dtype)
    )
    again = jax.export.deserialize(exported.serialize()).call(x)
    for found, expected in zip(again, function(x), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert ops.top_k(x[:0], 4)[0].shape == (0, 4)
    assert ops.argmax(x[0]).shape == ()


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_every_target_assembles_it(arch):
    for op in (TopK(bf16, 128256, 64), TopK(f32, 61, 2), TopK(f64, 1000, 1, index_only=True)):
        assert kernel_of(op).cubin(arch=arch).spill_stores == 0


X = jnp.ones((4, 6))
CASES = {
    "too many": (
        lambda: ops.top_k(X, 7),
        "k is 7 and must be a Python integer from 1 to 6\n  help: for more, jax.lax.top_k(x, k)",
    ),
    "none": (
        lambda: ops.top_k(jnp.ones(100), 0),
        "k is 0 and must be a Python integer from 1 to 64\n  help: for more, jax.lax.top_k(x, k)",
    ),
    "no integer": (
        lambda: ops.top_k(X, 1.5),
        "k is 1.5 and must be a Python integer from 1 to 6\n  help: for more, jax.lax.top_k(x, k)",
    ),
    "a number": (
        lambda: ops.argmax(jnp.float32(1)),
        "x has shape (), and rows are its last dimension",
    ),
    "rows without elements": (
        lambda: ops.argmax(jnp.ones((4, 0))),
        "x has shape (4, 0), and argmax of a row without elements is none",
    ),
    "integers": (
        lambda: ops.top_k(np.ones((4, 6), np.int32), 2),
        "x has elements of type int32\n  legal: bfloat16 float16 float32 float64",
    ),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES)
def test_the_whole_message(call, message):
    with pytest.raises(CallError) as caught:
        call()
    where, _, text = str(caught.value).partition(": ")
    assert where == f"{__file__}:{call.__code__.co_firstlineno}"
    problem, _source, *notes = text.splitlines()
    assert "\n".join([problem, *notes]) == message
