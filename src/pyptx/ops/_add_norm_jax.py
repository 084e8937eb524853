"""`add_rms_norm` and `add_layer_norm` as operations of JAX."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops import _layer_norm_jax
from pyptx.ops._add_norm import AddNorm, AddNormGradient
from pyptx.ops._layer_norm import LayerNorm, LayerNormGradient
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.operation import RowOp
from pyptx.types import DType, f64

_jax: Any = jax  # for what JAX annotates in part


def add_rms_norm(
    x: Any, residual: Any, weight: Any, eps: float = 1e-5, *, offset: float = 0.0
) -> tuple[Any, Any]:
    """s = x + residual, and y = rms_norm(s, weight, eps), in one pass: (y, s).

    x         bf16, f16, f32 or f64, of shape (..., *weight.shape); any leading dimensions
    residual  x's shape; bf16, f16 or f32 independently of x, f64 where x is
    weight    bf16, f16, f32 or f64, independently
    eps       a Python or NumPy number, not negative
    offset    the same, added to weight: 1.0 for weights stored as w - 1
    returns   y in weight's dtype, s in residual's; both of x's shape

    s is rounded before the norm reads it, so y equals that of two calls. The backward pass takes
    the cotangents of both results and computes one gradient for x and residual, in one kernel.
    Everything else is as in `rms_norm`. Raises CallError.
    """
    where = call_site()
    if weight is None:
        raise CallError(
            "weight is a NoneType; add_rms_norm takes arrays",
            location=where,
            notes=(("help", "jax.numpy.ones(x.shape[-1])"),),
        )
    example = "add_rms_norm(x, residual, weight, offset=1.0)"
    offset = shell.number("offset", offset, example, where)
    return _call("add_rms_norm", x, residual, weight, None, eps, where, offset)


def add_layer_norm(
    x: Any, residual: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> tuple[Any, Any]:
    """s = x + residual, and y = layer_norm(s, weight, bias, eps), in one pass: (y, s).

    weight and bias may be None; y has x's dtype, s residual's. Everything else is as in
    `add_rms_norm` and `layer_norm`. Raises CallError.
    """
    return _call("add_layer_norm", x, residual, weight, bias, eps, call_site())


@dataclass(frozen=True, slots=True)
class What:
    """What kernels are made for."""

    rms: bool
    shape: tuple[int, ...]
    x: DType
    residual: DType
    weight: DType | None
    bias: DType | None
    eps: float
    offset: float = 0.0

    def forward(self, *, kept: bool) -> AddNorm:
        columns, s, norm = math.prod(self.shape), self.residual, self._rms_norm(kept=kept)
        if norm is None:
            norm = LayerNorm(columns, s, self.x, self.weight, self.bias, self.eps, kept)
        return AddNorm(columns, norm, self.x, s)

    def _rms_norm(self, *, kept: bool) -> RowOp | None:
        if not self.rms or self.weight is None:
            return None
        columns = math.prod(self.shape)
        return RmsNorm(columns, self.residual, self.weight, self.eps, kept, self.offset)

    @property
    def gradient(self) -> AddNormGradient:
        columns, s = math.prod(self.shape), self.residual
        norm: RowOp = LayerNormGradient(columns, s, self.x, self.weight, self.bias)
        if self.rms and self.weight is not None:
            norm = RmsNormGradient(columns, s, self.weight, self.offset)
        return AddNormGradient(columns, norm, self.x, s)


def _call(
    name: str,
    x: Any,
    residual: Any,
    weight: Any,
    bias: Any,
    eps: Any,
    where: SourceLocation,
    offset: float = 0.0,
) -> tuple[Any, Any]:
    arguments = "x, residual, weight" if name == "add_rms_norm" else "x, residual"
    eps = shell.number("eps", eps, f"{name}({arguments}, eps=1e-5)", where)
    what = replace(checked(name, x, residual, weight, bias, eps, where), offset=offset)
    return shell.located(name, where, _norm, what, *shell.as_jax(x, residual, weight, bias))


def checked(
    name: str, x: Any, residual: Any, weight: Any, bias: Any, eps: float, where: SourceLocation
) -> What:
    norm = _layer_norm_jax.checked(x, weight, bias, eps, where, name)
    s = shell.check_array("residual", residual, name, where)
    if tuple(residual.shape) != tuple(x.shape) or (s is f64) != (norm.x is f64):
        raise CallError(
            f"residual is {residual.dtype}{list(residual.shape)}, and x {x.dtype}{list(x.shape)}",
            location=where,
            notes=(("legal", "one shape; float64 only for both"),),
        )
    return What(name == "add_rms_norm", norm.shape, norm.x, s, norm.weight, norm.bias, eps)


# ---- the norm and its derivatives ----------------------------------------------------------------


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _norm(what: What, *operands: Any) -> tuple[Any, Any]:
    y, s = plan.operation(what.forward(kept=False), what.shape)(*_given(*operands))
    return y, s


def _norm_fwd(what: What, *operands: Any) -> tuple[Any, Any]:
    y, s, *rows = kept(what, *operands)
    return (y, s), (s, tuple(rows), *operands[2:])


def _norm_bwd(what: What, saved: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    s, rows, weight, bias = saved
    gy, gs = shell.as_jax(*cotangents)
    return gradient(what, s, gy, rows, gs, *shell.as_jax(weight, bias))


_norm.defvjp(_norm_fwd, _norm_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def kept(what: What, *operands: Any) -> tuple[Any, ...]:
    """y and s, with what the gradient needs: the mean, of layer_norm, and r of each row."""
    return tuple(plan.operation(what.forward(kept=True), what.shape)(*_given(*operands)))


def _kept_fwd(what: What, *operands: Any) -> tuple[Any, Any]:
    return kept(what, *operands), operands


def _kept_bwd(what: What, operands: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    return _jax.vjp(partial(_reference, what), *operands)[1](cotangents)


kept.defvjp(_kept_fwd, _kept_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def gradient(
    what: What, s: Any, gy: Any, rows: tuple[Any, ...], gs: Any, weight: Any, bias: Any
) -> Any:
    """dx, dresidual, and dw and db of those that are given."""
    op = what.gradient
    columns = [column for column in (weight, bias) if column is not None]
    results = tuple(shell.result_type(column, op.compute, s, gy, gs) for column in columns)
    inputs = _given(s, gy, *rows, gs, weight)
    found: Any = plan.operation(op, what.shape, results)(*inputs)
    found = list(found) if len(op.outputs) > 1 else [found]
    dx = found.pop(0)
    dr = dx if what.x is what.residual else found.pop(0)
    totals = [
        shell.column_cotangent(total, column, s, gy, gs)
        for total, column in zip(found, columns, strict=True)
    ]
    dw = totals.pop(0) if weight is not None else None
    return shell.like(dx, s), shell.like(dr, s), dw, totals[0] if bias is not None else None


def _gradient_fwd(what: What, *operands: Any) -> tuple[Any, Any]:
    return gradient(what, *operands), operands


def _gradient_bwd(what: What, operands: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    return _jax.vjp(partial(_reference_gradient, what), *operands)[1](cotangents)


gradient.defvjp(_gradient_fwd, _gradient_bwd)


def _given(*arrays: Any) -> list[Any]:
    return [array for array in arrays if array is not None]


def _reference(what: What, x: Any, residual: Any, weight: Any, bias: Any) -> tuple[Any, ...]:
    """The formulas in jax.numpy, for derivatives of higher order."""
    compute = jnp.promote_types(residual.dtype, jnp.float32)
    s = (x.astype(compute) + residual.astype(compute)).astype(residual.dtype)
    wide, axes = s.astype(compute), tuple(range(x.ndim - len(what.shape), x.ndim))
    mean = None if what.rms else jnp.mean(wide, axes, keepdims=True)
    away = wide if mean is None else wide - mean
    r = _jax.lax.rsqrt(jnp.mean(away**2, axes, keepdims=True) + what.eps)
    y = away * r
    y = y if weight is None else y * (weight.astype(compute) + what.offset)
    y = y if bias is None else y + bias.astype(compute)
    rows = (r,) if mean is None else (mean, r)
    dtype = x.dtype if weight is None or not what.rms else weight.dtype
    return (y.astype(dtype), s, *(jnp.squeeze(row, axes) for row in rows))


def _reference_gradient(
    what: What, s: Any, gy: Any, rows: tuple[Any, ...], gs: Any, weight: Any, bias: Any
) -> tuple[Any, ...]:
    """Those of the gradient."""
    compute = jnp.promote_types(s.dtype, jnp.float32)
    axes = tuple(range(s.ndim - len(what.shape), s.ndim))
    lead = tuple(range(s.ndim - len(what.shape)))
    *mean, r = (jnp.expand_dims(row, axes) for row in rows)
    normal = (s.astype(compute) - sum(mean)) * r
    cotangent = gy.astype(compute)
    gw = cotangent if weight is None else cotangent * (weight.astype(compute) + what.offset)
    rest = gw if what.rms else gw - jnp.mean(gw, axes, keepdims=True)
    along = jnp.mean(gw * normal, axes, keepdims=True)
    both = r * (rest - normal * along) + gs.astype(compute)
    dw = None if weight is None else jnp.sum(cotangent * normal, lead).astype(weight.dtype)
    db = None if bias is None else jnp.sum(cotangent, lead).astype(bias.dtype)
    return both.astype(what.x.numpy), both.astype(s.dtype), dw, db
