"""Every operation but `rms_norm`, as the same tests take it: arguments, and the formula in f64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pyptx import ops

TYPES = (jnp.bfloat16, jnp.float16, jnp.float32, np.float64)


@dataclass(frozen=True)
class Case:
    """`elements` arrays like x, then arrays per column; `formula` computes in what it is given."""

    name: str
    operation: Callable[..., Any]
    formula: Callable[..., Any]
    elements: int = 1
    columns: int = 0
    # Whether a result is one for each element of x on its own.
    elementwise: bool = False

    def arguments(self, *shape: int, dtype: Any = jnp.float32, seed: int = 0) -> list[Any]:
        random = np.random.default_rng(seed)
        shapes = [shape] * self.elements + [shape[-1:]] * self.columns
        return [
            random.standard_normal(each).astype(np.float64).astype(dtype) * dtype(2)
            for each in shapes
        ]

    def exact(self, *arrays: Any) -> np.ndarray:
        """The formula in float64 of what the arrays hold."""
        with jax.enable_x64(True):
            wide = [jnp.asarray(np.asarray(a).astype(np.float64)) for a in arrays]
            return np.asarray(self.formula(*wide))


def _layer_norm(x: Any, w: Any = None, b: Any = None) -> Any:
    away = x - x.mean(-1, keepdims=True)
    y = away / jnp.sqrt((away**2).mean(-1, keepdims=True) + 1e-5)
    y = y if w is None else y * w
    return y if b is None else y + b


CASES = [
    Case("layer_norm", ops.layer_norm, _layer_norm, columns=2),
    Case("layer_norm without bias", ops.layer_norm, _layer_norm, columns=1),
    Case("layer_norm alone", ops.layer_norm, _layer_norm),
    Case("softmax", ops.softmax, jax.nn.softmax),
    Case("log_softmax", ops.log_softmax, jax.nn.log_softmax),
    Case("swiglu", ops.swiglu, lambda a, b: jax.nn.silu(a) * b, elements=2, elementwise=True),
    Case("geglu", ops.geglu, lambda a, b: jax.nn.gelu(a) * b, elements=2, elementwise=True),
    Case("reglu", ops.reglu, lambda a, b: jax.nn.relu(a) * b, elements=2, elementwise=True),
    Case("silu", ops.silu, jax.nn.silu, elementwise=True),
    Case("gelu", ops.gelu, jax.nn.gelu, elementwise=True),
    Case("relu", ops.relu, jax.nn.relu, elementwise=True),
]
