"""`quantize`, `rms_norm_quantized` and `layer_norm_quantized` as operations of JAX."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from pyptx._calls import binding
from pyptx._source import SourceLocation, call_site
from pyptx.errors import CallError
from pyptx.ops import _jax as shell
from pyptx.ops import _layer_norm_jax
from pyptx.ops._quantize import Quantized, Scaling
from pyptx.ops._rms_norm import RmsNorm
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.operation import BLOCK_COLUMNS
from pyptx.types import DType, e4m3, e5m2, s8

_jax: Any = jax  # for what JAX annotates in part
_jnp: Any = jnp

RESULTS: Final[dict[str, DType]] = {str(dtype.numpy): dtype for dtype in (e4m3, e5m2, s8)}


@binding(CallError, "quantize")
def quantize(x: Any, dtype: Any, *, scale: Any = None, block: int | None = None) -> tuple[Any, Any]:
    """x in 8 bits, with a scale for each row or block: (y, scale), where y * scale is close to x.

    x        bf16, f16, f32 or f64, of shape (..., N); any leading dimensions and any N
    dtype    float8_e4m3fn, float8_e5m2 or int8
    scale    f32, one number or of a shape that broadcasts to (..., 1); by default it is found:
             the largest |x| of a row over the largest number of dtype, 448, 57344 or 127
    block    128 for a scale for each 128 columns of a row; the last block may have fewer
    returns  y of x's shape, and f32 scales: (..., 1), or (..., ceil(N / 128)) of blocks. Both are
             what `matmul` takes as a and a_scale. With `scale` the second is amax instead, the
             largest |x| of each row, (..., 1)

    y = round(x * (1 / scale)), to nearest even. All steps are in f32, or in f64 for f64 x, and both
    quotients are rounded correctly; scales are rounded to f32 before they are used. Numbers beyond
    the largest one of dtype become that number, so infinity does, too; int8 has -127 to 127. NaN
    stays NaN; in int8 it becomes 0. A row with NaN has NaN as its scale or amax, so what is
    multiplied by it is NaN; a row with infinity has infinity, so all of y is 0 or NaN. A row of
    zeros has scale 1, and none is below 2**-126. The same bits on every GPU.

    One kernel per device, also under `jax.vmap` and with sharded leading dimensions. Results of 8
    bits have no derivative: to differentiate raises CallError, unless x is
    `jax.lax.stop_gradient` of something. The kernels support sm_80 and later. Raises CallError.
    """
    where = call_site()
    shell.check_targets("quantize", where)
    kind = shell.check_array("x", x, "quantize", where)
    if x.ndim == 0:
        raise CallError("x has shape (), and rows are its last dimension", location=where)
    to = _checked_type(dtype, where)
    scaling = _scaling(scale, block, 1, "quantize", where)
    (x,) = shell.as_jax(x)
    if x.shape[-1] == 0:
        return _no_columns(x, to, scale, scaling, where)
    shell.check_rows(x, 1, "quantize", where)
    what = _What("quantize", tuple(x.shape[-1:]), Quantized(x.shape[-1], kind, to, scaling), where)
    return _call(what, (x,), scale)


@binding(CallError, "rms_norm_quantized")
def rms_norm_quantized(
    x: Any,
    weight: Any,
    dtype: Any,
    eps: float = 1e-5,
    *,
    offset: float = 0.0,
    scale: Any = None,
    block: int | None = None,
) -> tuple[Any, Any]:
    """`rms_norm` of x, then `quantize`, in one kernel: (y, scale), or (y, amax) with `scale`.

    x, weight, eps and offset are those of `rms_norm`; dtype,
    scale, block and the results are those of `quantize`, of a norm that is not rounded to x's or
    weight's type first. Leading dimensions are those before weight's, and scales have one dimension
    of size 1 for each of weight's. `block` is for weights of one dimension.

    The norm is (x * (weight + offset)) * rsqrt(mean(x * x) + eps), in this order, so a product
    beyond the range of f32 is infinite. Raises CallError.
    """
    where = call_site()
    name = "rms_norm_quantized"
    if weight is None:
        raise CallError(
            f"weight is a NoneType; {name} takes arrays",
            location=where,
            notes=(("help", "jax.numpy.ones(x.shape[-1])"),),
        )
    eps = shell.number("eps", eps, f"{name}(x, weight, dtype, eps=1e-5)", where)
    example = f"{name}(x, weight, dtype, offset=1.0)"
    offset = shell.number("offset", offset, example, where, signed=True)
    found = _layer_norm_jax.checked(x, weight, None, eps, where, name)
    assert found.weight is not None
    norm = RmsNorm(found.columns, found.x, found.weight, eps, offset=offset)
    return _norm(name, norm, found.shape, (x, weight), dtype, scale, block, where)


@binding(CallError, "layer_norm_quantized")
def layer_norm_quantized(
    x: Any,
    weight: Any,
    bias: Any,
    dtype: Any,
    eps: float = 1e-5,
    *,
    scale: Any = None,
    block: int | None = None,
) -> tuple[Any, Any]:
    """`layer_norm` of x, then `quantize`, in one kernel: (y, scale), or (y, amax) with `scale`.

    x, weight, bias and eps are those of `layer_norm`; weight and bias may be None. Everything else
    is as in `rms_norm_quantized`. One CTA takes a row: a few rows of hundreds of thousands of
    elements do not fill a GPU. Raises CallError.
    """
    where = call_site()
    name = "layer_norm_quantized"
    eps = shell.number("eps", eps, f"{name}(x, weight, bias, dtype, eps=1e-5)", where)
    found = _layer_norm_jax.checked(x, weight, bias, eps, where, name)
    arrays = [array for array in (x, weight, bias) if array is not None]
    norm = found.forward(kept=False)
    return _norm(name, norm, found.shape, arrays, dtype, scale, block, where)


def _norm(
    name: str,
    norm: Any,
    shape: tuple[int, ...],
    arrays: Any,
    dtype: Any,
    scale: Any,
    block: Any,
    where: SourceLocation,
) -> tuple[Any, Any]:
    to = _checked_type(dtype, where)
    scaling = _scaling(scale, block, len(shape), name, where)
    op = Quantized(norm.columns, norm.x, to, scaling, norm)
    return _call(_What(name, shape, op, where), shell.as_jax(*arrays), scale)


# ---- checks --------------------------------------------------------------------------------------


def _checked_type(dtype: Any, where: SourceLocation) -> DType:
    try:
        name = str(np.dtype(dtype))
    except TypeError:
        name = repr(dtype)
    if dtype is None or name not in RESULTS:
        raise CallError(
            f"dtype is {'None' if dtype is None else name}",
            location=where,
            notes=(("legal", " ".join(RESULTS)),),
        )
    return RESULTS[name]


def _scaling(scale: Any, block: Any, rank: int, name: str, where: SourceLocation) -> Scaling:
    """Where scales come from. Raises CallError for what is no block, and for both."""
    if block is None:
        return "row" if scale is None else "given"
    notes: tuple[tuple[str, str], ...] = (("legal", f"{BLOCK_COLUMNS} None"),)
    if isinstance(block, bool) or block != BLOCK_COLUMNS:
        problem = f"block is {block!r} and must be {BLOCK_COLUMNS}, the columns that share a scale"
    elif scale is not None:
        problem = "scale and block are both given: scales of blocks are found, not given"
        notes = (("help", f"{name}(..., scale=scale) or {name}(..., block={BLOCK_COLUMNS})"),)
    elif rank != 1:
        problem = f"block is {block}, and rows have {rank} dimensions: blocks are for rows of one"
        notes = (("help", "reshape x and weight"),)
    else:
        return "block"
    raise CallError(problem, location=where, notes=notes)


def _given_scale(scale: Any, x: Any, rank: int, where: SourceLocation) -> Any:
    """A scale for each row, f32, of the shape of x's leading dimensions."""
    lead = tuple(x.shape[: x.ndim - rank])
    try:
        number = _jnp.asarray(scale, jnp.float32)
    except (TypeError, ValueError):
        raise CallError(
            f"scale is a {type(scale).__name__} and must be a number or an array", location=where
        ) from None
    wanted = (*lead, *[1] * rank)
    if not shell.broadcasts(number.shape, wanted):
        raise CallError(
            f"scale has shape {tuple(number.shape)}, which is not broadcast to {wanted}",
            location=where,
            notes=(("legal", "one number, or one for each row: (..., 1)"),),
        )
    found = jnp.broadcast_to(number, wanted).reshape(lead)
    return shell.of_rows_like(found, x, len(lead))


# ---- the call ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _What:
    """What kernels are made for, and the call that errors name."""

    name: str
    shape: tuple[int, ...]
    op: Quantized
    where: SourceLocation


def _call(what: _What, arrays: Any, scale: Any) -> tuple[Any, Any]:
    if what.op.scaling == "given":
        arrays = [*arrays, _given_scale(scale, arrays[0], len(what.shape), what.where)]
    y, numbers = shell.located(what.name, what.where, _quantized, what, *arrays)
    if what.op.scaling == "block":
        return y, numbers
    return y, jnp.expand_dims(numbers, tuple(range(-len(what.shape), 0)))


def _no_columns(
    x: Any, to: DType, scale: Any, scaling: Scaling, where: SourceLocation
) -> tuple[Any, Any]:
    """Rows without elements: scales of zeros, and the largest of nothing is 0."""
    y = x.astype(str(to.numpy))
    if scaling == "given":
        _given_scale(scale, x, 1, where)
        return y, _jnp.zeros((*x.shape[:-1], 1), jnp.float32)
    return y, _jnp.ones((*x.shape[:-1], 0 if scaling == "block" else 1), jnp.float32)


@partial(_jax.custom_jvp, nondiff_argnums=(0,))
def _quantized(what: _What, *arrays: Any) -> Any:
    return plan.operation(what.op, what.shape)(*arrays)


@_quantized.defjvp
def _no_derivative(what: _What, primals: Any, tangents: Any) -> Any:
    del primals, tangents
    raise CallError(
        f"{what.name} has no derivative: its results are rounded to 8 bits",
        location=what.where,
        notes=(("help", f"{what.name}(jax.lax.stop_gradient(x), ...)"),),
    )
