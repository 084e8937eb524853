"""`rms_norm` as a JAX operation: its checks, and its derivatives.

The formulas, with the mean over a row: r = 1 / sqrt(mean(x x) + eps), y = x r w, and for a
cotangent g of y: dx = r g w - x r**3 mean(g w x), dw = sum over rows of g x r.
(Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax import core

from pyptx import CallError, KernelSequence, PtxError
from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.ops import _jax as shell
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops.rowwise import plan
from pyptx.types import DType, f32, f64

_jax: Any = jax  # for what JAX annotates in part

_known: Final[dict[object, KernelSequence]] = {}
"""The kernels of eager calls that were made before, which need no checks again."""

_KINDS: Final = 4096


@binding(CallError, "rms_norm")
def rms_norm(x: Any, weight: Any, eps: float = 1e-5, *, offset: float = 0.0) -> Any:
    """Root mean square normalization: x * rsqrt(mean(x * x) + eps) * (weight + offset).

    x        bf16, f16, f32 or f64, of shape (..., *weight.shape); any leading dimensions
    weight   bf16, f16, f32 or f64, independently of x; rank 0 means rows of one value
    eps      a Python or NumPy number, not negative
    offset   a Python or NumPy number: 1.0 for weights stored as w - 1
    returns  x's shape, weight's dtype, rounded once

    The mean is over the last `weight.ndim` dimensions. Sums, the reciprocal root and weight +
    offset are in f32, or in f64 for f64 x; an f64 weight with another type of x is rounded to f32
    first. Squares outside the range of f32 (|x| above 1e19, or all |x| of a row below 1e-19)
    overflow or underflow. A device takes fewer than 2**31 rows.

    Kernels compute reverse-mode derivatives; jax.numpy computes those of higher order. One launch
    per device, also under `jax.vmap` and with sharded leading dimensions. On one device the result
    has the same bits in every run. Forward-mode derivatives (`jax.jvp`, `jax.jacfwd`) are not
    supported: they raise CallError, and inside `jax.jit` the TypeError that JAX raises for any
    `jax.custom_vjp`. The kernels support sm_80 and later; a program contains those for the targets
    it is lowered for. Raises CallError.
    """
    try:
        return _known[_kind(x, weight, eps, offset)](x, weight)
    except (AttributeError, KeyError, TypeError, PtxError):
        pass  # not known yet, or refused: what follows finds the line that is to blame
    where = call_site()
    x, weight = _of_one_kind(x, weight)
    what = _checked(x, weight, eps, offset, where)
    if isinstance(x, core.Tracer) or isinstance(weight, core.Tracer):
        return shell.located("rms_norm", where, _norm, what, *shell.as_jax(x, weight))
    norm = what.norm(invvar=False)
    result = shell.located("rms_norm", where, norm, x, weight)
    if len(_known) >= _KINDS:
        _known.clear()
    _known[_kind(x, weight, eps, offset)] = norm
    return result


@binding(CallError, "rms_norm_fwd")
def rms_norm_fwd(x: Any, weight: Any, eps: float = 1e-5, *, offset: float = 0.0) -> tuple[Any, Any]:
    """The result of `rms_norm`, and r = rsqrt(mean(x * x) + eps) of each row for `rms_norm_bwd`.

    Arguments are those of `rms_norm`. r has the shape of x's leading dimensions, and is f32, or f64
    for f64 x. Raises CallError.
    """
    where = call_site()
    x, weight = _of_one_kind(x, weight)
    what = _checked(x, weight, eps, offset, where)
    return shell.located("rms_norm", where, _norm_and_invvar, what, x, weight)


@binding(CallError, "rms_norm_bwd")
def rms_norm_bwd(
    g: Any, invvar: Any, x: Any, weight: Any, eps: float = 1e-5, *, offset: float = 0.0
) -> tuple[Any, Any]:
    """The gradients of `rms_norm` in x and weight for a cotangent g of its result.

    g has x's shape and weight's dtype; invvar is the second result of `rms_norm_fwd`. eps is part
    of invvar and is only validated here. Returns grad_x, with x's shape and dtype, and grad_weight,
    with weight's. Sums over rows are in f32, or in f64 for f64 x. Raises CallError.
    """
    where = call_site()
    what = _checked(x, weight, eps, offset, where)
    result = _Like("the result", tuple(x.shape), str(weight.dtype))
    lead = tuple(x.shape[: x.ndim - weight.ndim])
    second = _Like("rms_norm_fwd's second result", lead, str(what.compute.numpy))
    _check_like("g", g, result, where)
    _check_like("invvar", invvar, second, where)
    return shell.located("rms_norm", where, _gradients, what, g, invvar, x, weight)


@dataclass(frozen=True, slots=True)
class _What:
    """What the kernels are made for."""

    shape: tuple[int, ...]
    x: DType
    weight: DType
    eps: float
    offset: float

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return math.prod(self.shape)

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    def norm(self, *, invvar: bool) -> KernelSequence:
        """x, w to y, and r with `invvar`."""
        op = RmsNorm(self.columns, self.x, self.weight, self.eps, invvar, self.offset)
        return plan.operation(op, self.shape)

    def gradients(self, result: DType) -> KernelSequence:
        """x, g, r, w to dx, and dw of type `result`."""
        op = RmsNormGradient(self.columns, self.x, self.weight, self.offset)
        return plan.operation(op, self.shape, (result,))


# ---- checks --------------------------------------------------------------------------------------


def _checked(x: Any, weight: Any, eps: Any, offset: Any, where: SourceLocation) -> _What:
    """What the kernels are made for: the shape of a row, the types, and the numbers."""
    shell.check_targets("rms_norm", where)
    numpy = shell.is_numpy(x, weight)
    dtype = shell.check_array("x", x, "rms_norm", where, numpy=numpy)
    kind = shell.check_array("weight", weight, "rms_norm", where, numpy=numpy)
    shape = _checked_shape(x, weight, where)
    return _What(shape, dtype, kind, *_numbers(eps, offset, where))


def _of_one_kind(x: Any, weight: Any) -> tuple[Any, Any]:
    """Kernels run on NumPy's arrays as they are; beside one of JAX they become such."""
    if shell.is_numpy(x, weight):
        return x, weight
    x, weight = (shell.as_jax(each)[0] if shell.is_numpy(each) else each for each in (x, weight))
    return x, weight


def _checked_shape(x: Any, weight: Any, where: SourceLocation) -> tuple[int, ...]:
    """The shape of a row."""
    shape = tuple(weight.shape)
    lead = tuple(x.shape[: max(x.ndim - len(shape), 0)])
    if tuple(x.shape) != lead + shape:
        raise CallError(
            f"x has shape {tuple(x.shape)}, which does not end with weight's {shape}",
            location=where,
            notes=(("help", "the mean is over the dimensions of weight, the last ones of x"),),
        )
    if 0 in shape:
        raise CallError(
            f"weight has shape {shape}; the mean of a row without elements is none", location=where
        )
    # An exported function may have dimensions without a size.
    if all(isinstance(size, int) for size in lead) and math.prod(lead) > shell.MOST_ROWS:
        raise CallError(
            f"x has {math.prod(lead)} rows, and rms_norm takes {shell.MOST_ROWS}",
            location=where,
            notes=(("help", "split x, or shard its rows with jax.shard_map"),),
        )
    return shape


def _numbers(eps: object, offset: object, where: SourceLocation) -> tuple[float, float]:
    """Raises CallError for what are no numbers, or none that the formula takes."""
    found = shell.number("eps", eps, "rms_norm(x, weight, eps=1e-5)", where)
    example = "rms_norm(x, weight, offset=1.0)"
    return found, shell.number("offset", offset, example, where, signed=True)


def _kind(x: Any, weight: Any, eps: Any, offset: Any) -> tuple[Any, ...]:
    """What a call's kernel depends on."""
    kinds = x.__class__, weight.__class__, eps.__class__, offset.__class__
    return *kinds, x.shape, x.dtype, weight.shape, weight.dtype, eps, offset


@dataclass(frozen=True, slots=True)
class _Like:
    """What an array has to be: the shape and the element type of `what`."""

    what: str
    shape: tuple[int, ...]
    dtype: str


def _check_like(name: str, array: Any, like: _Like, where: SourceLocation) -> None:
    shell.check_array(name, array, "rms_norm", where)
    shape, dtype = tuple(array.shape), str(array.dtype)
    if (shape, dtype) != (like.shape, like.dtype):
        raise CallError(
            f"{name} is {dtype}{list(shape)} and must be {like.dtype}{list(like.shape)}, "
            f"as {like.what} is",
            location=where,
        )


# ---- the norm and its derivatives ----------------------------------------------------------------


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _norm(what: _What, x: Any, weight: Any) -> Any:
    return what.norm(invvar=False)(x, weight)


def _norm_fwd(what: _What, x: Any, weight: Any) -> tuple[Any, Any]:
    y, r = _norm_and_invvar(what, x, weight)
    return y, (r, x, weight)


def _norm_bwd(what: _What, saved: tuple[Any, Any, Any], g: Any) -> tuple[Any, Any]:
    r, x, weight = saved
    return _gradients(what, *shell.as_jax(g, r, x, weight))


_norm.defvjp(_norm_fwd, _norm_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _norm_and_invvar(what: _What, x: Any, weight: Any) -> tuple[Any, Any]:
    return what.norm(invvar=True)(x, weight)


def _norm_and_invvar_fwd(what: _What, x: Any, weight: Any) -> tuple[Any, Any]:
    return _norm_and_invvar(what, x, weight), (x, weight)


def _norm_and_invvar_bwd(
    what: _What, saved: tuple[Any, Any], cotangents: tuple[Any, Any]
) -> tuple[Any, Any]:
    _, pull = _jax.vjp(partial(_reference, what), *saved)
    return pull(cotangents)


_norm_and_invvar.defvjp(_norm_and_invvar_fwd, _norm_and_invvar_bwd)


@partial(_jax.custom_vjp, nondiff_argnums=(0,))
def _gradients(what: _What, g: Any, r: Any, x: Any, weight: Any) -> tuple[Any, Any]:
    others = g, r, x
    gradients = what.gradients(shell.result_type(weight, what.compute, *others))
    dx, dw = gradients(x, g, r, weight)
    return shell.like(dx, x), shell.column_cotangent(dw, weight, *others)


def _gradients_fwd(what: _What, *operands: Any) -> tuple[Any, Any]:
    return _gradients(what, *operands), operands


def _gradients_bwd(
    what: _What, operands: tuple[Any, ...], cotangents: tuple[Any, Any]
) -> tuple[Any, ...]:
    _, pull = _jax.vjp(partial(_reference_gradients, what), *operands)
    return pull(cotangents)


_gradients.defvjp(_gradients_fwd, _gradients_bwd)


# ---- the formulas in jax.numpy, for derivatives of higher order ----------------------------------


def _reference(what: _What, x: Any, weight: Any) -> tuple[Any, Any]:
    compute = what.compute.numpy
    wide, axes = x.astype(compute), _axes(what, x)
    r = _jax.lax.rsqrt(jnp.mean(wide * wide, axes) + what.eps)
    y = wide * jnp.expand_dims(r, axes) * (weight.astype(compute) + what.offset)
    return y.astype(weight.dtype), r


def _reference_gradients(what: _What, g: Any, r: Any, x: Any, weight: Any) -> tuple[Any, Any]:
    compute = what.compute.numpy
    axes = _axes(what, x)
    xw, gw, w = x.astype(compute), g.astype(compute), weight.astype(compute) + what.offset
    rw = jnp.expand_dims(r, axes)
    mean = jnp.mean(gw * w * xw, axes, keepdims=True)
    dx = rw * gw * w - xw * rw**3 * mean
    dw = jnp.sum(gw * xw * rw, tuple(range(x.ndim - len(what.shape))))
    return dx.astype(x.dtype), dw.astype(weight.dtype)


def _axes(what: _What, x: Any) -> tuple[int, ...]:
    """The dimensions that are a row."""
    return tuple(range(x.ndim - len(what.shape), x.ndim))
