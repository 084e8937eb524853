"""Operations in JAX programs: their values, derivatives, maps, shardings, exported programs."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import ops  # noqa: E402

from .operations import CASES, TYPES  # noqa: E402

# Rounding to a type, and the arithmetic in f32 or f64 before it.
ROUNDED = {"bfloat16": 2**-8, "float16": 2**-10, "float32": 4e-6, "float64": 2e-14}
LENGTHS = (1, 24, 129, 1000, 2049)

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def close(found, expected, dtype):
    tolerance = ROUNDED[np.dtype(dtype).name]
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(
        np.asarray(found).astype(np.float64), expected, rtol=tolerance, atol=tolerance * scale
    )


def scalar(function, direction):
    return lambda *arrays: (function(*arrays).astype(direction.dtype) * direction).sum()


@each_case
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("length", LENGTHS)
def test_values_and_gradients(case, dtype, length):
    with jax.enable_x64(dtype is np.float64):
        arrays = [jnp.asarray(a) for a in case.arguments(3, length, dtype=dtype)]
        y = case.operation(*arrays)
        assert (y.shape, y.dtype) == (arrays[0].shape, arrays[0].dtype)
        close(y, case.exact(*arrays), dtype)
        np.testing.assert_array_equal(jax.jit(case.operation)(*arrays), y)
        g = np.random.default_rng(1).standard_normal((3, length)).astype(dtype)
        every = tuple(range(len(arrays)))
        found = jax.jit(jax.grad(scalar(case.operation, jnp.asarray(g)), every))(*arrays)
    with jax.enable_x64(True):
        wide = [jnp.asarray(np.asarray(a).astype(np.float64)) for a in arrays]
        direction = jnp.asarray(g.astype(np.float64))
        exact = jax.grad(scalar(case.formula, direction), every)(*wide)
    for one, other in zip(found, exact, strict=True):
        # A gradient of softmax is made from y, which is rounded.
        close(one, np.asarray(other), dtype if "softmax" not in case.name else jnp.bfloat16)


@pytest.mark.parametrize("length", [9000, 20001, 50257, 131072, 262144])
@pytest.mark.parametrize("case", [CASES[0], CASES[3]], ids=lambda case: case.name)
@pytest.mark.parametrize("rows", [2, 300])
def test_long_rows(case, length, rows):
    """By several CTAs for a row, and by two passes; where rows are many, by other kernels."""
    if rows * length > 2_000_000:
        rows = 2_000_000 // length
    arrays = [jnp.asarray(a) for a in case.arguments(rows, length, dtype=jnp.bfloat16)]
    close(case.operation(*arrays), case.exact(*arrays), jnp.bfloat16)
    g = np.random.default_rng(1).standard_normal((rows, length)).astype(jnp.bfloat16)
    every = tuple(range(len(arrays)))
    found = jax.jit(jax.grad(scalar(case.operation, jnp.asarray(g)), every))(*arrays)
    with jax.enable_x64(True):
        wide = [jnp.asarray(np.asarray(a).astype(np.float64)) for a in arrays]
        exact = jax.grad(scalar(case.formula, jnp.asarray(g.astype(np.float64))), every)(*wide)
    for one, other in zip(found, exact, strict=True):
        close(one, np.asarray(other), jnp.bfloat16)


@each_case
def test_second_derivatives(case):
    arrays = [jnp.asarray(a) for a in case.arguments(2, 5)]

    def twice(function):
        first = jax.grad(lambda *a: (function(*a) ** 2).sum())
        return jax.jacrev(lambda *a: first(*a).sum())(*arrays)

    np.testing.assert_allclose(twice(case.operation), twice(case.formula), rtol=2e-4, atol=2e-4)


@each_case
def test_vmap_is_one_launch_of_more_rows(case):
    arrays = [jnp.asarray(a) for a in case.arguments(4, 3, 40)]
    columns = [jnp.asarray(a) for a in case.arguments(40)[case.elements :]]
    axes = (0,) * case.elements + (None,) * case.columns
    mapped = jax.jit(jax.vmap(case.operation, axes))
    elements = arrays[: case.elements]
    np.testing.assert_array_equal(mapped(*elements, *columns), case.operation(*elements, *columns))
    assert str(jax.make_jaxpr(mapped)(*elements, *columns)).count("pyptx_launch[") == 1


@each_case
def test_sharded_rows_need_no_collective_but_the_sums_of_columns(case):
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Auto,))
    rows, whole = NamedSharding(mesh, P("rows")), NamedSharding(mesh, P())
    arrays = case.arguments(16, 40)
    placed = [jax.device_put(a, rows if i < case.elements else whole) for i, a in enumerate(arrays)]
    forward = jax.jit(case.operation).lower(*placed).compile()
    assert pyptx.collectives(forward) == {}
    np.testing.assert_array_equal(forward(*placed), case.operation(*map(jnp.asarray, arrays)))
    g = jax.device_put(np.ones((16, 40), np.float32), rows)

    def gradient(g, *arrays):
        return jax.vjp(case.operation, *arrays)[1](g)

    backward = jax.jit(gradient).lower(g, *placed).compile()
    sums = pyptx.collectives(backward)
    assert set(sums) <= ({"all-reduce"} if case.columns else set())
    alone = gradient(jnp.ones((16, 40)), *map(jnp.asarray, arrays))
    for found, expected in zip(backward(g, *placed), alone, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@each_case
def test_export(case):
    """In a program with a symbolic number of rows, read back."""
    arrays = case.arguments(6, 24)
    (size,) = jax.export.symbolic_shape("b")
    shapes = [
        jax.ShapeDtypeStruct((size, 24) if i < case.elements else (24,), a.dtype)
        for i, a in enumerate(arrays)
    ]
    exported = jax.export.export(
        jax.jit(case.operation), disabled_checks=pyptx.export_safety_checks()
    )(*shapes)
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(*arrays), case.operation(*map(jnp.asarray, arrays)))


@each_case
def test_no_rows(case):
    arrays = [jnp.asarray(a) for a in case.arguments(0, 24)]
    assert case.operation(*arrays).shape == (0, 24)


def test_what_is_no_number_spreads_as_in_the_formula():
    x = np.zeros((6, 40), np.float32)
    x[0, 3], x[1, 3], x[2], x[3, 5] = np.nan, np.inf, -np.inf, -np.inf
    for found, formula in ((ops.softmax, jax.nn.softmax), (ops.log_softmax, jax.nn.log_softmax)):
        np.testing.assert_array_equal(np.isnan(found(x)), np.isnan(formula(x)))
    y = ops.layer_norm(x)
    assert np.isnan(y[:4]).all()
    np.testing.assert_array_equal(y[4:], 0)


def test_a_mean_far_from_zero_costs_no_digits():
    x = np.random.default_rng(0).standard_normal((4, 3000)).astype(np.float32) + 4096
    exact = x.astype(np.float64)
    away = exact - exact.mean(-1, keepdims=True)
    expected = away / np.sqrt((away**2).mean(-1, keepdims=True) + 1e-5)
    assert np.abs(ops.layer_norm(x) - expected).max() < 4096 * 2**-23


@pytest.mark.parametrize("length", [40, 4096, 50257])
def test_a_row_of_softmax_adds_up_to_one(length):
    x = (np.random.default_rng(0).standard_normal((3, length)) * 30).astype(np.float32)
    exact = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True).astype(np.float64))
    exact /= exact.sum(-1, keepdims=True)
    assert np.abs(np.asarray(ops.softmax(x), np.float64) - exact).max() <= 2e-6
