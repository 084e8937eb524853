"""`quantize`, `rms_norm_quantized` and `layer_norm_quantized` as operations of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
import numbers
from functools import lru_cache
from typing import Any, Final, NoReturn

import torch

from pyptx.errors import CallError
from pyptx.ops._layer_norm import LayerNorm
from pyptx.ops._quantize import Quantized, Scaling
from pyptx.ops._rms_norm import RmsNorm
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.operation import BLOCK_COLUMNS
from pyptx.torch import _arguments as arguments
from pyptx.torch._differentiable import differentiable
from pyptx.torch._norms import ones, weight_offset
from pyptx.types import DType, e4m3, e5m2, s8

RESULTS: Final[dict[Any, DType]] = {
    torch.float8_e4m3fn: e4m3,
    torch.float8_e5m2: e5m2,
    torch.int8: s8,
}

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""


@arguments.operation
def quantize(
    input: Any, dtype: Any, *, scale: Any = None, block: int | None = None
) -> tuple[Any, Any]:
    """input in 8 bits, with a scale for each row or block: (y, scale); y * scale is close to input.

    input    bfloat16, float16, float32 or float64, of shape (..., N); any N
    dtype    torch.float8_e4m3fn, torch.float8_e5m2 or torch.int8
    scale    a number, or a tensor that broadcasts to (..., 1), used in float32; by default it is
             found: the largest |input| of a row over the largest number of dtype, 448, 57344 or 127
    block    128 for a scale for each 128 columns of a row; the last block may have fewer
    returns  y of input's shape, and float32 scales: (..., 1), or (..., ceil(N / 128)) of blocks;
             rows' scales are what `scaled_mm` takes. With `scale` the second is amax instead, the
             largest |input| of each row, (..., 1)

    Rounding, what is beyond the largest number, NaN and rows of zeros are as in
    `pyptx.ops.quantize`. Results of 8 bits have no derivative: the backward pass raises CallError,
    and `torch.compile` of a call that needs a gradient does; detach input. An input that is not
    contiguous is copied. Raises CallError.
    """
    x = arguments.dtype_of("input", input, "quantize")
    arguments.check_targets("quantize")
    if input.ndim == 0:
        raise CallError("input has shape (), and rows are its last dimension")
    shape = (int(input.shape[-1]),)
    to = _checked_type(dtype)
    scaling = _scaling(scale, block, shape, "quantize")
    _check_scale(scale, input, 1)
    if shape == (0,):
        return _without_columns(to, scaling)  # pyright: ignore[reportReturnType]
    arguments.check_rows(input, 1, "quantize")
    run = _operation("quantize", Quantized(shape[0], x, to, scaling), shape)

    def computed(input: Any, dtype: Any, *, scale: Any = None, block: Any = None) -> Any:
        del dtype, block
        return _called(run, shape, input, scale)

    return computed  # pyright: ignore[reportReturnType]  # what `operation` makes the result with


@arguments.operation
def rms_norm_quantized(
    input: Any,
    normalized_shape: Any,
    weight: Any,
    dtype: Any,
    eps: Any = None,
    *,
    offset: Any = 0.0,
    scale: Any = None,
    block: int | None = None,
) -> tuple[Any, Any]:
    """`rms_norm` of input, then `quantize`, in one kernel: (y, scale), or (y, amax) with `scale`.

    input, normalized_shape, weight, eps and offset are those of `rms_norm`; weight may be None.
    dtype, scale, block and the results are those of `quantize`, of a norm that is not rounded to
    input's type first. Scales have one dimension of size 1 for each of normalized_shape; `block` is
    for one dimension. Raises CallError.
    """
    name = "rms_norm_quantized"
    x = arguments.dtype_of("input", input, name)
    arguments.check_targets(name)
    shape = arguments.normalized(normalized_shape, input, name)
    kind = arguments.parameter("weight", weight, shape, name)
    least = torch.finfo(input.dtype).eps if eps is None else eps
    least = arguments.number("eps", least, f"{name}(input, shape, weight, dtype, eps=1e-5)")
    added = weight_offset(f"{name}(input, shape, weight, dtype, offset=1.0)", offset, weight)
    norm = RmsNorm(math.prod(shape), x, kind or x, least, offset=added)
    run = _of_norm(name, norm, shape, input, dtype, scale, block)

    def computed(
        input: Any,
        normalized_shape: Any,
        weight: Any,
        dtype: Any,
        eps: Any = None,
        *,
        scale: Any = None,
        **_: Any,
    ) -> Any:
        del normalized_shape, dtype, eps
        factor = ones(shape, input) if weight is None else weight.contiguous()
        return _called(run, shape, input, scale, factor)

    return computed  # pyright: ignore[reportReturnType]


@arguments.operation
def layer_norm_quantized(
    input: Any,
    normalized_shape: Any,
    weight: Any,
    bias: Any,
    dtype: Any,
    eps: Any = 1e-5,
    *,
    scale: Any = None,
    block: int | None = None,
) -> tuple[Any, Any]:
    """`layer_norm` of input, then `quantize`, in one kernel: (y, scale), or (y, amax) with `scale`.

    input, normalized_shape, weight, bias and eps are those of `layer_norm`; weight and bias may be
    None. Everything else is as in `rms_norm_quantized`. Raises CallError.
    """
    name = "layer_norm_quantized"
    x = arguments.dtype_of("input", input, name)
    arguments.check_targets(name)
    shape = arguments.normalized(normalized_shape, input, name)
    weight_type = arguments.parameter("weight", weight, shape, name)
    bias_type = arguments.parameter("bias", bias, shape, name)
    least = arguments.number("eps", eps, f"{name}(input, shape, weight, bias, dtype, eps=1e-5)")
    norm = LayerNorm(math.prod(shape), x, x, weight_type, bias_type, least)
    run = _of_norm(name, norm, shape, input, dtype, scale, block)

    def computed(
        input: Any,
        normalized_shape: Any,
        weight: Any,
        bias: Any,
        dtype: Any,
        eps: Any = 0,
        *,
        scale: Any = None,
        **_: Any,
    ) -> Any:
        del normalized_shape, dtype, eps
        columns = [each.contiguous() for each in (weight, bias) if each is not None]
        return _called(run, shape, input, scale, *columns)

    return computed  # pyright: ignore[reportReturnType]


def _of_norm(
    name: str,
    norm: RmsNorm | LayerNorm,
    shape: tuple[int, ...],
    input: Any,
    dtype: Any,
    scale: Any,
    block: Any,
) -> Any:
    to = _checked_type(dtype)
    scaling = _scaling(scale, block, shape, name)
    _check_scale(scale, input, len(shape))
    return _operation(name, Quantized(norm.columns, norm.x, to, scaling, norm), shape)


# ---- checks --------------------------------------------------------------------------------------


def _checked_type(dtype: Any) -> DType:
    if isinstance(dtype, torch.dtype) and dtype in RESULTS:
        return RESULTS[dtype]
    legal = " ".join(map(str, RESULTS))
    raise CallError(f"dtype is {dtype}", notes=(("legal", legal),))


def _scaling(scale: Any, block: Any, shape: tuple[int, ...], name: str) -> Scaling:
    """Where scales come from. Raises CallError for what is no block, and for both."""
    if block is None:
        return "row" if scale is None else "given"
    notes: tuple[tuple[str, str], ...] = (("legal", f"{BLOCK_COLUMNS} None"),)
    if isinstance(block, bool) or block != BLOCK_COLUMNS:
        problem = f"block is {block!r} and must be {BLOCK_COLUMNS}, the columns that share a scale"
    elif scale is not None:
        problem = "scale and block are both given: scales of blocks are found, not given"
        notes = (("help", f"{name}(..., scale=scale) or {name}(..., block={BLOCK_COLUMNS})"),)
    elif len(shape) != 1:
        problem = f"block is {block}, and normalized_shape is {shape}: blocks are for one dimension"
        notes = (("help", "reshape input and weight"),)
    else:
        return "block"
    raise CallError(problem, notes=notes)


def _check_scale(scale: Any, input: Any, rank: int) -> None:
    wanted = (*input.shape[: input.ndim - rank], *[1] * rank)
    if isinstance(scale, torch.Tensor):
        if not arguments.broadcasts(scale.shape, wanted):
            raise CallError(
                f"scale has shape {tuple(scale.shape)}, which is not broadcast to {wanted}",
                notes=(("legal", "one number, or one for each row: (..., 1)"),),
            )
        return
    real = isinstance(scale, numbers.Real | torch.SymFloat) and not isinstance(scale, bool)
    if scale is not None and not real:
        raise CallError(f"scale is a {type(scale).__name__} and must be a number or a tensor")


# ---- the call ------------------------------------------------------------------------------------


@lru_cache(_OPERATIONS)
def _operation(name: str, op: Quantized, shape: tuple[int, ...]) -> Any:
    kernels = plan.operation(op, shape)

    def function(*tensors: Any) -> Any:
        return kernels(*tensors)

    def forward(*tensors: Any) -> Any:
        return kernels(*tensors), ()

    def backward(saved: Any, *gradients: Any) -> NoReturn:
        del saved, gradients
        raise CallError(
            f"{name} has no derivative: its results are rounded to 8 bits",
            notes=(("help", f"{name}(input.detach(), ...)"),),
        )

    function.__name__ = name
    return differentiable(function, forward, backward).run


def _called(run: Any, shape: tuple[int, ...], input: Any, scale: Any, *columns: Any) -> Any:
    """The results, with dimensions of size 1 in the place of the row's."""
    lead, given = input.shape[: input.ndim - len(shape)], ()
    if scale is not None:
        given = (_scale_of_rows(scale, lead, len(shape), input),)
    y, found = run(input.contiguous(), *columns, *given)
    if found.ndim == len(lead):
        found = found.reshape((*lead, *[1] * len(shape)))
    return y, found


def _scale_of_rows(scale: Any, lead: Any, rank: int, input: Any) -> Any:
    if not isinstance(scale, torch.Tensor):
        first = input.detach().flatten(input.ndim - rank).select(-1, 0)  # split as the rows are
        form = torch.contiguous_format
        return torch.full_like(first, float(scale), dtype=torch.float32, memory_format=form)
    wide = scale.to(device=input.device, dtype=torch.float32)
    return wide.expand((*lead, *[1] * rank)).reshape(lead).contiguous()


def _without_columns(to: DType, scaling: Scaling) -> Any:
    """Rows without elements: scales of zeros, and the largest of nothing is 0."""
    kind = next(there for there, here in RESULTS.items() if here is to)

    def computed(input: Any, *_: Any, **__: Any) -> Any:
        size = 0 if scaling == "block" else 1
        number = 0.0 if scaling == "given" else 1.0
        lead = input.shape[:-1]
        found = torch.full((*lead, size), number, dtype=torch.float32, device=input.device)
        return torch.empty(input.shape, dtype=kind, device=input.device), found

    return computed
