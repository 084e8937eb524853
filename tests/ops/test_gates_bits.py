"""Activations of every number of 16 bits, beside the formulas in double precision.

Kernels of 16-bit elements have a shorter sigmoid: what it loses must not be seen in the results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from tests.ops.exact import unit

from pyptx import ops

Function = Callable[[Any], Any]
LOST: Final = 0.002
"""Units in the last place that the sigmoid may lose before a result is rounded."""
SUBNORMAL: Final = 1e-37
"""Nothing is asked of smaller numbers, which f32 itself loses."""


def every(dtype: Any) -> np.ndarray:
    return np.arange(2**16, dtype=np.uint16).view(dtype).reshape(256, 256)


def sigmoid(x: np.ndarray) -> np.ndarray:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


def silu(x: np.ndarray) -> np.ndarray:
    return x * sigmoid(x)


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    return x * sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


def slope(x: np.ndarray) -> np.ndarray:
    s = sigmoid(x)
    return s + x * s * (1 - s)


def gradient(function: Function, x: Any) -> Any:
    return jax.vjp(function, x)[1](jnp.ones_like(x))[0]


CASES: Final[dict[str, tuple[Function, Function]]] = {
    "silu": (ops.silu, silu),
    "gelu_tanh": (partial(ops.gelu, approximate=True), gelu_tanh),
    "swiglu": (lambda x: ops.swiglu(x, jnp.ones_like(x)), silu),
    "swiglu of one": (lambda x: ops.swiglu(jnp.concatenate([x, jnp.ones_like(x)], 1)), silu),
    "silu's derivative": (partial(gradient, ops.silu), slope),
}


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16], ids=["bf16", "f16"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_every_number(case, dtype):
    ours, formula = case
    given = every(dtype)
    found = np.asarray(ours(jnp.asarray(given)))
    with np.errstate(all="ignore"):  # signalling NaNs, and infinity times 0
        x, found = given.astype(np.float64), found.astype(np.float64)
        exact = formula(x)
        # The derivative is a sum of two terms.
        size = np.maximum(np.abs(exact), sigmoid(x)) if formula is slope else np.abs(exact)
    there = np.isfinite(x) & (np.abs(exact) <= float(ml_dtypes.finfo(dtype).max))
    bound = (0.5 + LOST) * unit(np.where(there, size, 1), np.dtype(dtype)) + SUBNORMAL
    if formula is slope:
        bound = 2 * bound
    assert np.all(np.abs(found[there] - exact[there]) <= bound[there])
    assert np.isnan(found[np.isnan(x)]).all()
    assert (found[np.isneginf(x)] == 0).all()
    if formula is not slope:
        assert np.isposinf(found[np.isposinf(x)]).all()
