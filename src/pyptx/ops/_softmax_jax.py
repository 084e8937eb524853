"""`softmax` and `log_softmax` as operations of JAX."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops._softmax import Softmax, SoftmaxGradient
from pyptx.ops.rowwise import plan
from pyptx.types import DType

_jax: Any = jax  # for what JAX annotates in part


@binding(CallError, "softmax")
def softmax(
    x: Any,
    axis: int = -1,
    *,
    scale: float = 1.0,
    where: Any = None,
    causal: bool = False,
    positions: Any = None,
) -> Any:
    """exp(x - max(x)) / sum(exp(x - max(x))) over the last dimension, rounded once.

    x        bf16, f16, f32 or f64, of any shape but ()
    axis     the last dimension; another axis is moved there first, with jax.numpy.moveaxis
    scale    a positive number that x is multiplied by, in the kernel
    where    booleans that broadcast to x's shape, True for elements to keep: the others are 0, and
             a row with none to keep is zeros, as in `jax.nn.softmax`. XLA applies the mask in a
             separate pass
    causal   a causal mask, applied in the kernel: row i of the last but one dimension keeps
             elements up to column i
    positions   with `causal`, integers that broadcast to x's shape without its last dimension: a
             row keeps elements up to the column of its position, as queries do that follow others.
             At a negative position it keeps none, and is zeros
    returns  x's shape and dtype

    Sums and exponentials are in f32, or in f64 for f64 x. A row of minus infinities, and a row with
    NaN or plus infinity, gives NaN, as in `jax.nn.softmax`; with `where`, a row of minus infinities
    gives zeros. Kernels compute reverse-mode derivatives; jax.numpy computes those of higher order.
    One launch under `jax.vmap`, and one per device. Raises CallError.
    """
    return _call("softmax", x, axis, scale, where, causal, positions)


@binding(CallError, "log_softmax")
def log_softmax(
    x: Any,
    axis: int = -1,
    *,
    scale: float = 1.0,
    where: Any = None,
    causal: bool = False,
    positions: Any = None,
) -> Any:
    """x - max(x) - log(sum(exp(x - max(x)))) over the last dimension, rounded once.

    Masked elements are minus infinity. Everything else is as in `softmax`. Raises CallError.
    """
    return _call("log_softmax", x, axis, scale, where, causal, positions)


@dataclass(frozen=True, slots=True)
class What:
    """What kernels are made for."""

    columns: int
    x: DType
    log: bool = False
    scale: float = 1.0
    causal: bool = False
    masked: bool = False

    @property
    def forward(self) -> Softmax:
        return Softmax(self.columns, self.x, self.log, self.scale, self.causal, self.masked)

    @property
    def gradient(self) -> SoftmaxGradient:
        # Elements that do not count are zeros of softmax.
        limited = self.causal and self.log
        return SoftmaxGradient(self.columns, self.x, self.log, self.scale, limited)


def _call(
    name: str, x: Any, axis: object, scale: object, mask: Any, causal: object, positions: Any
) -> Any:
    where = call_site()
    what = checked(name, x, axis, scale, causal, where, positions)
    if mask is not None:
        what, x = replace(what, masked=True), _masked(x, mask, where)
    last = _last(x, positions) if what.causal else None
    y = shell.located(name, where, _softmax, what, *shell.as_jax(x, last))
    return y if mask is None or not what.log else _only(y, *shell.as_jax(mask))


def checked(
    name: str,
    x: Any,
    axis: object,
    scale: object,
    causal: object,
    where: SourceLocation,
    positions: Any = None,
) -> What:
    shell.check_targets(name, where)
    dtype = shell.check_array("x", x, name, where)
    integer = hasattr(axis, "__index__") and not isinstance(axis, (bool, np.ndarray))
    if not integer or x.ndim == 0 or axis not in (-1, x.ndim - 1):
        raise CallError(
            f"axis is {axis!r} and x has shape {tuple(x.shape)}; rows are the last dimension",
            location=where,
            notes=(("help", f"{name}(jax.numpy.moveaxis(x, axis, -1)), and back"),),
        )
    shell.check_rows(x, 1, name, where)
    factor = shell.number("scale", scale, f"{name}(x, scale=0.125)", where)
    problem = "scale is 0 and must be positive" if factor == 0 else None
    if not isinstance(causal, bool):
        problem = f"causal is {causal!r} and must be True or False"
    elif positions is not None:
        problem = _problem_of(positions, tuple(x.shape[:-1]), causal=causal)
    elif causal and x.ndim < 2:
        problem = f"x has shape {tuple(x.shape)}, and causal needs a dimension of rows before it"
    if problem is not None:
        raise CallError(problem, location=where)
    masked = positions is not None
    return What(x.shape[-1], dtype, name == "log_softmax", factor, bool(causal), masked)


def _problem_of(positions: Any, lead: tuple[Any, ...], *, causal: bool) -> str | None:
    """What is wrong with positions."""
    if not causal:
        return "positions are given, and causal is False"
    known = _is_array(positions)
    if not known or not _jax.numpy.issubdtype(positions.dtype, np.integer):
        kind = str(positions.dtype) if known else type(positions).__name__
        return f"positions are {kind} and must be an array of integers"
    if not shell.broadcasts(tuple(positions.shape), lead):
        return f"positions have shape {tuple(positions.shape)}, which does not broadcast to {lead}"
    return None


def _is_array(value: object) -> bool:
    return isinstance(value, (jax.Array, np.ndarray))


def _masked(x: Any, mask: Any, where: SourceLocation) -> Any:
    """x with minus infinity where the mask is False."""
    kind = str(mask.dtype) if _is_array(mask) else type(mask).__name__
    if kind != "bool" or not _is_array(mask):
        raise CallError(f"where is {kind} and must be an array of booleans", location=where)
    if not shell.broadcasts(tuple(mask.shape), tuple(x.shape)):
        raise CallError(
            f"where has shape {tuple(mask.shape)}, and x {tuple(x.shape)}",
            location=where,
            notes=(("legal", "a shape that broadcasts to x's"),),
        )
    return _jax.numpy.where(mask, x, _jax.numpy.asarray(-np.inf, x.dtype))


@_jax.custom_vjp
def _only(y: Any, mask: Any) -> Any:
    """y, whose masked elements are constants: their cotangents do not count."""
    del mask
    return y


def _only_fwd(y: Any, mask: Any) -> tuple[Any, Any]:
    return y, mask


def _only_bwd(mask: Any, g: Any) -> tuple[Any, None]:
    return _jax.numpy.where(mask, g, 0).astype(g.dtype), None


_only.defvjp(_only_fwd, _only_bwd)


def _last(x: Any, positions: Any) -> Any:
    """The last column of each row that counts."""
    if positions is not None:
        # A column that is far from all others is no number of 32 bits away from them.
        (last,) = shell.as_jax(shell.as_s32(positions))
        last = _jax.numpy.clip(last, -1, x.shape[-1] - 1)
        return shell.of_rows_like(_jax.numpy.broadcast_to(last, x.shape[:-1]), x, x.ndim - 1)
    return _jax.lax.broadcasted_iota(np.int32, x.shape[:-1], x.ndim - 2)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _softmax(what: What, x: Any, last: Any) -> Any:
    rows = () if last is None else (last,)
    return plan.operation(what.forward, (what.columns,))(x, *rows)


def _softmax_fwd(what: What, x: Any, last: Any) -> tuple[Any, Any]:
    y = _softmax(what, x, last)
    return y, (y, last)


def _softmax_bwd(what: What, saved: tuple[Any, Any], g: Any) -> tuple[Any, None]:
    y, last = saved
    return shell.like(gradient(what, y, *shell.as_jax(g), last), y), None


_softmax.defvjp(_softmax_fwd, _softmax_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def gradient(what: What, y: Any, g: Any, last: Any) -> Any:
    op = what.gradient
    rows = (last,) if op.limited else ()
    return plan.operation(op, (what.columns,))(y, g, *rows)


def gradient_fwd(what: What, y: Any, g: Any, last: Any) -> tuple[Any, Any]:
    return gradient(what, y, g, last), (y, g, last)


def gradient_bwd(what: What, saved: tuple[Any, ...], cotangent: Any) -> tuple[Any, Any, None]:
    y, g, last = saved

    def of_floats(y: Any, g: Any) -> Any:
        return _reference_gradient(what, y, g, last)

    return (*_jax.vjp(of_floats, y, g)[1](cotangent), None)


gradient.defvjp(gradient_fwd, gradient_bwd)


def _reference_gradient(what: What, y: Any, g: Any, last: Any) -> Any:
    """The formula in jax.numpy, for derivatives of higher order."""
    compute = jnp.promote_types(y.dtype, jnp.float32)
    wide, cotangent = y.astype(compute), g.astype(compute)
    if last is not None:
        count = _jax.lax.broadcasted_iota(np.int32, y.shape, y.ndim - 1) <= last[..., None]
        cotangent = jnp.where(count, cotangent, 0)
        if what.log:
            wide = jnp.where(count, wide, -jnp.inf)
    if what.log:
        dx = cotangent - jnp.exp(wide) * jnp.sum(cotangent, -1, keepdims=True)
    else:
        dx = wide * (cotangent - jnp.sum(wide * cotangent, -1, keepdims=True))
    return (what.scale * dx).astype(y.dtype)
