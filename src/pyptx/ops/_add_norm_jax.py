"""`add_rms_norm` and `add_layer_norm` as operations of JAX."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _dropout_jax, _layer_norm_jax
from pyptx.ops import _jax as shell
from pyptx.ops._add_norm import AddNorm, AddNormGradient
from pyptx.ops._dropout import Dropout
from pyptx.ops._layer_norm import LayerNorm, LayerNormGradient
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.operation import RowOp
from pyptx.types import DType, f64

_jax: Any = jax  # for what JAX annotates in part


@binding(CallError, "add_rms_norm")
def add_rms_norm(
    x: Any,
    residual: Any,
    weight: Any,
    eps: float = 1e-5,
    *,
    offset: float = 0.0,
    dropout_rate: float = 0.0,
    dropout_key: Any = None,
) -> tuple[Any, Any]:
    """s = x + residual, and y = rms_norm(s, weight, eps), in one pass: (y, s).

    x             bf16, f16, f32 or f64, of shape (..., *weight.shape); any leading dimensions
    residual      x's shape; bf16, f16 or f32 independently of x, f64 where x is
    weight        bf16, f16, f32 or f64, independently
    eps           a Python or NumPy number, not negative
    offset        a number that is added to weight: 1.0 for weights stored as w - 1
    dropout_rate  a number in [0, 1): s = residual + dropout(x). The probability that an element of
                  x is dropped, rounded to a multiple of 2**-16; others are divided by 1 - rate
    dropout_key   a key of jax.random, typed or raw; required unless the rate is 0
    returns       y in weight's dtype, s in residual's; both of x's shape

    s is rounded before the norm reads it, so y equals that of two calls. The backward pass takes
    the cotangents of both results and computes one gradient for x and residual, in one kernel.

    Dropout stores no mask: the backward pass draws it again, from two numbers per row that come
    from the key (Philox-4x32-7). The mask depends on the key and x's shape only, not on the GPU or
    on how rows are sharded. Inside `jax.shard_map`, as with `jax.random`, devices with the same key
    have the same mask: `jax.random.fold_in` the device's `axis_index`.

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
    offset = shell.number("offset", offset, example, where, signed=True)
    dropout = dropout_rate, dropout_key
    return _call("add_rms_norm", (x, residual, weight, None), eps, dropout, where, offset)


@binding(CallError, "add_layer_norm")
def add_layer_norm(
    x: Any,
    residual: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *,
    dropout_rate: float = 0.0,
    dropout_key: Any = None,
) -> tuple[Any, Any]:
    """s = x + residual, and y = layer_norm(s, weight, bias, eps), in one pass: (y, s).

    weight and bias may be None; y has x's dtype, s residual's. Everything else, dropout of x
    included, is as in `add_rms_norm` and `layer_norm`. Raises CallError.
    """
    dropout = dropout_rate, dropout_key
    return _call("add_layer_norm", (x, residual, weight, bias), eps, dropout, call_site())


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
    rate: float = 0.0

    @property
    def dropout(self) -> Dropout | None:
        return Dropout(self.rate, math.prod(self.shape)) if self.rate else None

    def forward(self, *, kept: bool) -> AddNorm:
        columns, s, norm = math.prod(self.shape), self.residual, self._rms_norm(kept=kept)
        if norm is None:
            norm = LayerNorm(columns, s, self.x, self.weight, self.bias, self.eps, kept)
        return AddNorm(columns, norm, self.x, s, self.dropout)

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
        return AddNormGradient(columns, norm, self.x, s, self.dropout)


def _call(
    name: str,
    arrays: tuple[Any, Any, Any, Any],
    eps: Any,
    dropout: tuple[Any, Any],
    where: SourceLocation,
    offset: float = 0.0,
) -> tuple[Any, Any]:
    arguments = "x, residual, weight" if name == "add_rms_norm" else "x, residual"
    eps = shell.number("eps", eps, f"{name}({arguments}, eps=1e-5)", where)
    rate = _dropout_jax.checked(*dropout, name, where)
    what = replace(checked(name, *arrays, eps, where), offset=offset, rate=rate)
    x, *others = shell.as_jax(*arrays)
    seeds = _dropout_jax.seeds(dropout[1], x, len(what.shape)) if rate else ()
    return shell.located(name, where, _norm, what, x, *others, seeds)


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
    s, rows, weight, bias, seeds = saved
    gy, gs = shell.as_jax(*cotangents)
    return *gradient(what, s, gy, rows, gs, *shell.as_jax(weight, bias), seeds), None


_norm.defvjp(_norm_fwd, _norm_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def kept(what: What, *operands: Any) -> tuple[Any, ...]:
    """y and s, with what the gradient needs: the mean, of layer_norm, and r of each row."""
    return tuple(plan.operation(what.forward(kept=True), what.shape)(*_given(*operands)))


def _kept_fwd(what: What, *operands: Any) -> tuple[Any, Any]:
    return kept(what, *operands), operands


def _kept_bwd(what: What, operands: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    *floats, seeds = operands
    return *_jax.vjp(partial(_reference, what, seeds), *floats)[1](cotangents), None


kept.defvjp(_kept_fwd, _kept_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def gradient(
    what: What,
    s: Any,
    gy: Any,
    rows: tuple[Any, ...],
    gs: Any,
    weight: Any,
    bias: Any,
    seeds: tuple[Any, ...],
) -> Any:
    """dx, dresidual, and dw and db of those that are given."""
    op = what.gradient
    columns = [column for column in (weight, bias) if column is not None]
    results = tuple(shell.result_type(column, op.compute, s, gy, gs) for column in columns)
    inputs = _given(s, gy, *rows, gs, weight, seeds)
    found: Any = plan.operation(op, what.shape, results)(*inputs)
    found = list(found) if len(op.outputs) > 1 else [found]
    dx = found.pop(0)
    dr = dx if op.has_one else found.pop(0)
    totals = [
        shell.column_cotangent(total, column, s, gy, gs)
        for total, column in zip(found, columns, strict=True)
    ]
    dw = totals.pop(0) if weight is not None else None
    return shell.like(dx, s), shell.like(dr, s), dw, totals[0] if bias is not None else None


def _gradient_fwd(what: What, *operands: Any) -> tuple[Any, Any]:
    return gradient(what, *operands), operands


def _gradient_bwd(what: What, operands: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
    *floats, seeds = operands
    return *_jax.vjp(partial(_reference_gradient, what, seeds), *floats)[1](cotangents), None


gradient.defvjp(_gradient_fwd, _gradient_bwd)


def _given(*operands: Any) -> list[Any]:
    """The arrays among the operands, the last of which are seeds: none, or two."""
    *arrays, seeds = operands
    return [array for array in (*arrays, *seeds) if array is not None]


def _dropped(what: What, seeds: tuple[Any, ...], x: Any) -> Any:
    """Dropout of x; its derivative is itself."""
    if not what.rate:
        return x
    return jnp.where(_dropout_jax.kept(what.rate, seeds, what.shape), x / (1 - what.rate), 0)


def _reference(
    what: What, seeds: tuple[Any, ...], x: Any, residual: Any, weight: Any, bias: Any
) -> tuple[Any, ...]:
    """The formulas in jax.numpy, for derivatives of higher order."""
    compute = jnp.promote_types(residual.dtype, jnp.float32)
    s = _dropped(what, seeds, x.astype(compute)) + residual.astype(compute)
    s = s.astype(residual.dtype)
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
    what: What,
    seeds: tuple[Any, ...],
    s: Any,
    gy: Any,
    rows: tuple[Any, ...],
    gs: Any,
    weight: Any,
    bias: Any,
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
    dx = _dropped(what, seeds, both)
    return dx.astype(what.x.numpy), both.astype(s.dtype), dw, db
