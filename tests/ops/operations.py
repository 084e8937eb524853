"""Every operation but `rms_norm`, as the same tests take it: arguments, and the formula in f64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pyptx import ops

TYPES = (jnp.bfloat16, jnp.float16, jnp.float32, np.float64)


@dataclass(frozen=True)
class Case:
    """`elements` arrays like x, then arrays per column, then columns of each row: integers.

    `formula` computes in what it is given.
    """

    name: str
    operation: Callable[..., Any]
    formula: Callable[..., Any]
    elements: int = 1
    columns: int = 0
    labels: int = 0
    # Whether a result is one number for each row.
    reduces: bool = False
    # How many results there are, put together along the rows.
    results: int = 1
    # Whether a gradient is made from a result that has been rounded.
    from_result: bool = False

    def arguments(self, *shape: int, dtype: Any = jnp.float32, seed: int = 0) -> list[Any]:
        random = np.random.default_rng(seed)
        shapes = [shape] * self.elements + [shape[-1:]] * self.columns
        arrays = [
            random.standard_normal(each).astype(np.float64).astype(dtype) * dtype(2)
            for each in shapes
        ]
        return arrays + [
            random.integers(0, shape[-1], shape[:-1]).astype(np.int32) for _ in range(self.labels)
        ]

    @property
    def floats(self) -> tuple[int, ...]:
        """The arguments that there are derivatives in."""
        return tuple(range(self.elements + self.columns))

    def per_column(self, argument: int) -> bool:
        return self.elements <= argument < self.elements + self.columns

    def result(self, x: Any) -> tuple[tuple[int, ...], Any]:
        """The shape and type of a result."""
        if not self.reduces:
            return (*x.shape[:-1], x.shape[-1] * self.results), x.dtype
        return x.shape[:-1], np.promote_types(x.dtype, np.float32)

    def wide(self, *arrays: Any) -> list[Any]:
        """The arguments of the formula in float64."""
        return [
            jnp.asarray(np.asarray(a).astype(np.float64 if i in self.floats else np.int32))
            for i, a in enumerate(arrays)
        ]

    def exact(self, *arrays: Any) -> np.ndarray:
        """The formula in float64 of what the arrays hold."""
        with jax.enable_x64(True):
            return np.asarray(jax.jit(self.formula)(*self.wide(*arrays)))


def _layer_norm(x: Any, w: Any = None, b: Any = None) -> Any:
    away = x - x.mean(-1, keepdims=True)
    y = away / jnp.sqrt((away**2).mean(-1, keepdims=True) + 1e-5)
    y = y if w is None else y * w
    return y if b is None else y + b


def _together(operation: Callable[..., Any]) -> Callable[..., Any]:
    """All results as one array."""
    return lambda *arrays: jnp.concatenate(operation(*arrays), -1)


def _add_layer_norm(x: Any, residual: Any, *parameters: Any) -> Any:
    return _layer_norm(x + residual, *parameters), x + residual


def _add_rms_norm(x: Any, residual: Any, w: Any) -> Any:
    s = x + residual
    return s / jnp.sqrt((s * s).mean(-1, keepdims=True) + 1e-5) * w, s


def _cross_entropy(x: Any, labels: Any, smoothing: float = 0.0, z: float = 0.0) -> Any:
    of_label = jnp.issubdtype(labels.dtype, jnp.integer)
    targets = jax.nn.one_hot(labels, x.shape[-1], dtype=x.dtype) if of_label else labels
    targets = targets * (1 - smoothing) + smoothing / x.shape[-1]
    lse = jax.nn.logsumexp(x, -1)
    return targets.sum(-1) * lse - (targets * x).sum(-1) + z * lse**2


CASES = [
    Case("layer_norm", ops.layer_norm, _layer_norm, columns=2),
    Case("layer_norm without bias", ops.layer_norm, _layer_norm, columns=1),
    Case("layer_norm alone", ops.layer_norm, _layer_norm),
    Case("softmax", ops.softmax, jax.nn.softmax, from_result=True),
    Case("log_softmax", ops.log_softmax, jax.nn.log_softmax, from_result=True),
    Case(
        "softmax scaled",
        partial(ops.softmax, scale=0.125),
        lambda x: jax.nn.softmax(x * 0.125),
        from_result=True,
    ),
    Case("swiglu", ops.swiglu, lambda a, b: jax.nn.silu(a) * b, elements=2),
    Case("geglu", ops.geglu, lambda a, b: jax.nn.gelu(a) * b, elements=2),
    Case("reglu", ops.reglu, lambda a, b: jax.nn.relu(a) * b, elements=2),
    Case("silu", ops.silu, jax.nn.silu),
    Case("gelu", ops.gelu, jax.nn.gelu),
    Case(
        "geglu exact",
        partial(ops.geglu, approximate=False),
        lambda a, b: jax.nn.gelu(a, approximate=False) * b,
        elements=2,
    ),
    Case(
        "gelu exact",
        partial(ops.gelu, approximate=False),
        partial(jax.nn.gelu, approximate=False),
    ),
    Case("relu", ops.relu, jax.nn.relu),
    Case("cross_entropy", ops.cross_entropy, _cross_entropy, labels=1, reduces=True),
    Case(
        "cross_entropy with smoothing",
        partial(ops.cross_entropy, label_smoothing=0.1, z_loss=1e-2, ignore_index=-100),
        partial(_cross_entropy, smoothing=0.1, z=1e-2),
        labels=1,
        reduces=True,
    ),
    Case(
        "cross_entropy of targets",
        partial(ops.cross_entropy, label_smoothing=0.2, z_loss=1e-2),
        partial(_cross_entropy, smoothing=0.2, z=1e-2),
        elements=2,
        reduces=True,
    ),
    Case(
        "add_rms_norm",
        _together(ops.add_rms_norm),
        _together(_add_rms_norm),
        elements=2,
        columns=1,
        results=2,
    ),
    Case(
        "add_rms_norm with an offset",
        _together(partial(ops.add_rms_norm, offset=1.0)),
        _together(lambda x, residual, w: _add_rms_norm(x, residual, w + 1)),
        elements=2,
        columns=1,
        results=2,
    ),
    Case(
        "add_layer_norm",
        _together(ops.add_layer_norm),
        _together(_add_layer_norm),
        elements=2,
        columns=2,
        results=2,
    ),
]
