"""`layer_norm` as an operation of JAX."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._layer_norm import LayerNorm, LayerNormGradient
from pyptx.ops.rowwise import plan
from pyptx.types import DType

_jax: Any = jax  # for what JAX annotates in part


@binding(CallError, "layer_norm")
def layer_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Layer normalization: (x - mean) * rsqrt(variance + eps) * weight + bias, rounded once.

    x        bf16, f16, f32 or f64, of shape (..., *weight.shape); any leading dimensions
    weight   bf16, f16, f32 or f64, independently of x; None for ones
    bias     the same, of weight's shape; None for zeros
    eps      a Python or NumPy number, not negative
    returns  x's shape and dtype

    Mean and variance are over the last `weight.ndim` dimensions, or over the last one if neither
    weight nor bias is given; the variance is the mean of squared deviations. Both are in f32, or in
    f64 for f64 x. Each thread computes its own mean before they are combined, so a mean that is
    large compared to the deviation costs no accuracy.

    Kernels compute reverse-mode derivatives; jax.numpy computes those of higher order. One launch
    under `jax.vmap`, and one per device if leading dimensions are sharded. On one device the result
    has the same bits in every run. Raises CallError.
    """
    where = call_site()
    what = checked(
        x, weight, bias, shell.number("eps", eps, "layer_norm(x, eps=1e-5)", where), where
    )
    return shell.located("layer_norm", where, _norm, what, *shell.as_jax(x, weight, bias))


@dataclass(frozen=True, slots=True)
class _What:
    """What kernels are made for."""

    shape: tuple[int, ...]
    x: DType
    weight: DType | None
    bias: DType | None
    eps: float

    @property
    def columns(self) -> int:
        columns = 1
        for size in self.shape:
            columns *= size
        return columns

    def forward(self, *, kept: bool) -> LayerNorm:
        return LayerNorm(self.columns, self.x, self.x, self.weight, self.bias, self.eps, kept)

    @property
    def gradient(self) -> LayerNormGradient:
        return LayerNormGradient(self.columns, self.x, self.x, self.weight, self.bias)


def checked(
    x: Any, weight: Any, bias: Any, eps: float, where: SourceLocation, operation: str = "layer_norm"
) -> _What:
    shell.check_targets(operation, where)
    dtype = shell.check_array("x", x, operation, where)
    given = [(n, a) for n, a in (("weight", weight), ("bias", bias)) if a is not None]
    kinds = {name: shell.check_array(name, array, operation, where) for name, array in given}
    shape = tuple(given[0][1].shape) if given else tuple(x.shape[-1:])
    for name, array in given:
        if tuple(array.shape) != shape:
            raise CallError(
                f"{name} has shape {tuple(array.shape)}, and weight {shape}", location=where
            )
    rank = len(shape)
    if (x.ndim == 0 and not given) or tuple(x.shape[max(x.ndim - rank, 0) :]) != shape:
        raise CallError(
            f"x has shape {tuple(x.shape)}, which does not end with {shape}",
            location=where,
            notes=(("help", "the mean is over the dimensions of weight, the last ones of x"),),
        )
    shell.check_rows(x, rank, operation, where)
    return _What(shape, dtype, kinds.get("weight"), kinds.get("bias"), eps)


# ---- the norm and its derivatives ----------------------------------------------------------------


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _norm(what: _What, x: Any, weight: Any, bias: Any) -> Any:
    return plan.operation(what.forward(kept=False), what.shape)(*_given(x, weight, bias))


def _norm_fwd(what: _What, x: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    y, mean, r = kept(what, x, weight, bias)
    return y, (x, mean, r, weight, bias)


def _norm_bwd(what: _What, saved: tuple[Any, ...], g: Any) -> tuple[Any, Any, Any]:
    x, mean, r, weight, bias = saved
    return gradient(what, *shell.as_jax(x, g, mean, r, weight, bias))


_norm.defvjp(_norm_fwd, _norm_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def kept(what: _What, x: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any]:
    """The norm, with what its gradient needs: the mean and r of each row."""
    return plan.operation(what.forward(kept=True), what.shape)(*_given(x, weight, bias))


def _kept_fwd(what: _What, *operands: Any) -> tuple[Any, Any]:
    return kept(what, *operands), operands


def _kept_bwd(what: _What, operands: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    _, pull = _jax.vjp(partial(_reference, what), *operands)
    return pull(cotangents)


kept.defvjp(_kept_fwd, _kept_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def gradient(what: _What, x: Any, g: Any, mean: Any, r: Any, weight: Any, bias: Any) -> Any:
    op = what.gradient
    columns = [column for column in (weight, bias) if column is not None]
    results = tuple(shell.result_type(column, op.compute, x, g) for column in columns)
    found: Any = plan.operation(op, what.shape, results)(*_given(x, g, mean, r, weight))
    dx, sums = (found[0], found[1:]) if columns else (found, ())
    totals = [
        shell.column_cotangent(total, column, x, g)
        for total, column in zip(sums, columns, strict=True)
    ]
    dw = totals.pop(0) if weight is not None else None
    return shell.like(dx, x), dw, totals[0] if bias is not None else None


def _gradient_fwd(what: _What, *operands: Any) -> tuple[Any, Any]:
    return gradient(what, *operands), operands


def _gradient_bwd(what: _What, operands: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    _, pull = _jax.vjp(partial(_reference_gradient, what), *operands)
    return pull(cotangents)


gradient.defvjp(_gradient_fwd, _gradient_bwd)


def _given(*arrays: Any) -> list[Any]:
    return [array for array in arrays if array is not None]


def _reference(what: _What, x: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any]:
    """The formulas in jax.numpy, for derivatives of higher order."""
    compute = jnp.promote_types(x.dtype, jnp.float32)
    axes = tuple(range(x.ndim - len(what.shape), x.ndim))
    wide = x.astype(compute)
    mean = jnp.mean(wide, axes, keepdims=True)
    r = _jax.lax.rsqrt(jnp.mean((wide - mean) ** 2, axes, keepdims=True) + what.eps)
    y = (wide - mean) * r
    y = y if weight is None else y * weight.astype(compute)
    y = y if bias is None else y + bias.astype(compute)
    return y.astype(x.dtype), jnp.squeeze(mean, axes), jnp.squeeze(r, axes)


def _reference_gradient(
    what: _What, x: Any, g: Any, mean: Any, r: Any, weight: Any, bias: Any
) -> tuple[Any, Any, Any]:
    """Those of the gradient."""
    compute = jnp.promote_types(x.dtype, jnp.float32)
    axes = tuple(range(x.ndim - len(what.shape), x.ndim))
    lead = tuple(range(x.ndim - len(what.shape)))
    root = jnp.expand_dims(r, axes)
    normal = (x.astype(compute) - jnp.expand_dims(mean, axes)) * root
    cotangent = g.astype(compute)
    gw = cotangent if weight is None else cotangent * weight.astype(compute)
    along = jnp.mean(gw * normal, axes, keepdims=True)
    dx = root * (gw - jnp.mean(gw, axes, keepdims=True) - normal * along)
    dw = None if weight is None else jnp.sum(cotangent * normal, lead).astype(weight.dtype)
    db = None if bias is None else jnp.sum(cotangent, lead).astype(bias.dtype)
    return dx.astype(x.dtype), dw, db
