"""Operations on a GPU: every way of moving rows, against float64, and the same in every run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

_path = Path(__file__).parents[1] / "ops" / "operations.py"
_spec = importlib.util.spec_from_file_location("operations_of_gpu", _path)
operations = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = operations
_spec.loader.exec_module(operations)

pytestmark = pytest.mark.gpu
ROUNDED = {"bfloat16": 2**-8, "float16": 2**-10, "float32": 6e-6, "float64": 4e-14}
SHAPES = [
    (7, 1), (1000, 24), (4096, 128), (30000, 128), (9, 129), (600, 1000), (2100, 1000),
    (3000, 2304), (300, 8191), (8, 8192),
    (700, 16384), (300, 20001), (3, 50257), (200, 50257), (64, 131072), (2, 262144), (40, 400000),
]  # fmt: skip


def close(found, expected, dtype):
    """Compared on the GPU: a CPU takes most of a test's time for rows of millions of elements."""
    tolerance = ROUNDED[np.dtype(dtype).name]
    with jax.enable_x64(True):
        scale = max(1.0, float(jnp.abs(expected).max(initial=0)))
        if bool(_are_close(found, expected, tolerance, tolerance * scale)):
            return
    found = np.asarray(found).astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale)
    pytest.fail("not close on the GPU, but by NumPy")


@jax.jit
def _are_close(found, expected, rtol, atol):
    return jnp.allclose(found.astype(jnp.float64), expected, rtol, atol, equal_nan=True)


def same(one, other):
    """Equal numbers, or NaN."""
    if not bool(jnp.array_equal(one, other, equal_nan=True)):
        np.testing.assert_array_equal(one, other)
        pytest.fail("not the same on the GPU, but by NumPy")


def gradients(function, case):
    """Gradients of `(function(*arrays) * g).sum()`, of (g, *arrays).

    Compiled as one, since operations on their own are compiled one after the other. An array that
    is no argument would be a constant of the program.
    """

    def scalar(g, *arrays):
        return (function(*arrays).astype(g.dtype) * g).sum()

    return jax.jit(jax.grad(scalar, tuple(1 + i for i in case.floats)))


@pytest.mark.parametrize("case", operations.CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32], ids=["bf16", "f32"])
def test_values_and_gradients(case, shape, dtype):
    arrays = [jnp.asarray(a) for a in case.arguments(*shape, dtype=dtype)]
    y = jax.jit(case.operation)(*arrays)
    assert (y.shape, y.dtype) == case.result(arrays[0])
    close(y, case.exact(*arrays), y.dtype)
    g = jnp.asarray(np.random.default_rng(1).standard_normal(y.shape), y.dtype)
    compiled = gradients(case.operation, case)
    found = compiled(g, *arrays)
    for one, other in zip(found, compiled(g, *arrays), strict=True):
        same(one, other)
    with jax.enable_x64(True):
        wide_g = jnp.asarray(np.asarray(g).astype(np.float64))
        exact = gradients(case.formula, case)(wide_g, *case.wide(*arrays))
    if case.name == "log_softmax":  # it takes exp(y) of the rounded y
        wide_y = np.asarray(y).astype(np.float64)
        wide_g = np.asarray(wide_g)
        exact = [wide_g - np.exp(wide_y) * wide_g.sum(-1, keepdims=True)]
    for i, (one, other) in enumerate(zip(found, exact, strict=True)):
        # A gradient of softmax is made from y, which is rounded; sums over rows are of many.
        loose = case.from_result or case.per_column(i)
        close(one, other, jnp.bfloat16 if loose else dtype)
