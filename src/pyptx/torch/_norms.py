"""`rms_norm` and `layer_norm` as operations of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final

import torch

from pyptx._runtime.torch import fast
from pyptx._runtime.torch.runtime import is_distributed
from pyptx.errors import CallError
from pyptx.ops._layer_norm import LayerNorm, LayerNormGradient
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.operation import Operand
from pyptx.torch import _arguments as arguments
from pyptx.torch._arguments import DTYPES
from pyptx.torch._differentiable import differentiable
from pyptx.types import DType

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""


@arguments.operation
def rms_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    eps: Any = None,
    *,
    offset: Any = 0.0,
    out_dtype: Any = None,
) -> Any:
    """`torch.nn.functional.rms_norm` in kernels: input * rsqrt(mean(input^2) + eps) * weight.

    input              bfloat16, float16, float32 or float64, of shape (..., *normalized_shape)
    normalized_shape   the last dimensions; the mean is over them
    weight             of these types, independently, and this shape; None for ones
    eps                a number; None for torch.finfo(input.dtype).eps, as in PyTorch
    offset             a number that is added to weight: 1.0 for weights stored as w - 1
    out_dtype          of these types, the result's; by default input's
    returns            input's shape

    Computed in float32, or in float64 for float64 input, and rounded once, at the end. An input
    that is not contiguous is copied. Kernels compute first derivatives, PyTorch's operators those
    of higher order. Raises CallError.
    """
    what = rms_of("rms_norm", input, normalized_shape, weight, eps, offset)
    if out_dtype is not None:
        what = replace(what, y=arguments.kernel_type("the result", out_dtype))
    run = _rms_operation(what).run

    def computed(
        input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None, **_: Any
    ) -> Any:
        del normalized_shape, eps
        return run(input.contiguous(), what.scale(input, weight))

    return computed


def rms_of(
    name: str, input: Any, normalized_shape: Any, weight: Any, eps: Any, offset: Any
) -> RmsNormKernels:
    """The kernels of `rms_norm` for these arguments. Raises CallError for what it does not take."""
    x = arguments.dtype_of("input", input, name)
    arguments.check_targets(name)
    shape = arguments.normalized(normalized_shape, input, name)
    arguments.parameter("weight", weight, shape, name)
    least = torch.finfo(input.dtype).eps if eps is None else eps
    least = arguments.number("eps", least, f"{name}(input, shape, weight, eps=1e-5)")
    added = weight_offset(f"{name}(input, shape, weight, offset=1.0)", offset, weight)
    return RmsNormKernels(shape, x, x if weight is None else DTYPES[weight.dtype], least, added)


def weight_offset(example: str, offset: Any, weight: Any) -> float:
    """`offset` as a number. Raises CallError for what is none, and where there is no weight."""
    found = arguments.number("offset", offset, example, signed=True)
    if found and weight is None:
        problem = f"offset is {offset!r}, and weight, which it is added to, is None"
        raise CallError(problem, notes=(("help", example),))
    return found


@dataclass(frozen=True)
class RmsNormOf(RmsNorm):
    """The norm whose result has a type of its own: that of x where none is given."""

    y: DType | None = None

    @property
    def outputs(self) -> tuple[Operand, ...]:
        _, *r = super().outputs
        return Operand("y", self.y or self.x), *r


@dataclass(frozen=True)
class RmsNormOfGradient(RmsNormGradient):
    """Its gradient: g has the type of the result too."""

    y: DType | None = None

    @property
    def inputs(self) -> tuple[Operand, ...]:
        g = Operand("g", self.y or self.x)
        return tuple(g if o.name == "g" else o for o in super().inputs)


@cache
def _kept_ones(shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
    return fast.lasting(torch.ones(shape, dtype=dtype, device=device))


def ones(shape: tuple[int, ...], like: Any) -> Any:
    """A weight of ones, kept from call to call but where a program is traced."""
    if is_distributed((like,)):
        return arguments.replicated(ones(shape, like.to_local()), like)
    if arguments.is_traced():
        return torch.ones(shape, dtype=like.dtype, device=like.device)
    return _kept_ones(shape, like.dtype, like.device)


@dataclass(frozen=True, slots=True)
class RmsNormKernels:
    """What the kernels of `rms_norm` are made for."""

    shape: tuple[int, ...]
    x: DType
    weight: DType
    eps: float
    offset: float
    y: DType | None = None
    """The type of the result; that of x where none is given."""

    def scale(self, input: Any, weight: Any) -> Any:
        """The weight as kernels take it."""
        return ones(self.shape, input) if weight is None else weight.contiguous()

    def forward(self, *, kept: bool) -> Any:
        options = (self.eps, kept, self.offset, self.y)
        op = RmsNormOf(math.prod(self.shape), self.x, self.weight, *options)
        return plan.operation(op, self.shape)

    @property
    def gradient(self) -> Any:
        op = RmsNormOfGradient(math.prod(self.shape), self.x, self.weight, self.offset, self.y)
        return plan.operation(op, self.shape, (sum_type(self.weight, op.compute),))


def sum_type(column: DType, compute: DType) -> DType:
    """What a kernel rounds a sum to."""
    return compute if column.bytes > compute.bytes else column


@lru_cache(_OPERATIONS)
def _rms_operation(what: RmsNormKernels) -> Any:
    plain, kept, gradient = what.forward(kept=False), what.forward(kept=True), what.gradient
    dtype = torch_type(what.y or what.x)

    def rms_norm(x: Any, weight: Any) -> Any:
        return plain(x, weight)

    def forward(x: Any, weight: Any) -> Any:
        y, r = kept(x, weight)
        return y, (x, weight, r)

    def backward(saved: Any, g: Any) -> Any:
        x, weight, r = saved
        dx, dw = gradient(x, g, r, weight)
        return dx, dw.to(weight.dtype)

    def reference(x: Any, weight: Any) -> Any:
        wide = torch.promote_types(x.dtype, torch.float32)
        value, scale = x.to(wide), weight.to(wide)
        axes = tuple(range(x.ndim - len(what.shape), x.ndim))
        mean = (value * value).mean(axes, keepdim=True)
        return (value * torch.rsqrt(mean + what.eps) * (scale + what.offset)).to(dtype)

    return differentiable(rms_norm, forward, backward, reference=reference)


def torch_type(dtype: DType) -> Any:
    """PyTorch's name of a type."""
    return next(there for there, here in DTYPES.items() if here is dtype)


# ---- layer normalization -------------------------------------------------------------------------


@arguments.operation
def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: Any = 1e-5,
) -> Any:
    """`torch.nn.functional.layer_norm` in kernels.

    (input - mean) * rsqrt(variance + eps) * weight + bias, with

    input              bfloat16, float16, float32 or float64, of shape (..., *normalized_shape)
    normalized_shape   the last dimensions; mean and variance are over them
    weight, bias       of these types, independently, and this shape; None for ones and zeros
    eps                a number, not negative
    returns            input's shape and type; float32 on a GPU under autocast, as in PyTorch

    Computed in float32, or in float64 for float64 input, and rounded once, at the end. An input
    that is not contiguous is copied. Kernels compute first derivatives, PyTorch's operators those
    of higher order. Raises CallError.
    """
    x = arguments.dtype_of("input", input, "layer_norm")
    arguments.check_targets("layer_norm")
    shape = arguments.normalized(normalized_shape, input, "layer_norm")
    weight_type = arguments.parameter("weight", weight, shape, "layer_norm")
    bias_type = arguments.parameter("bias", bias, shape, "layer_norm")
    least = arguments.number("eps", eps, "layer_norm(input, shape, weight, bias, eps=1e-5)")
    wide = arguments.widened(input) and x.bytes < 4
    y = DTYPES[torch.float32] if wide else x
    what = _Layer(shape, x, y, weight_type, bias_type, least)
    run = _layer_operation(what).run

    def computed(
        input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Any = 0
    ) -> Any:
        del normalized_shape, eps
        weight = None if weight is None else weight.contiguous()
        return run(input.contiguous(), weight, None if bias is None else bias.contiguous())

    return computed


@dataclass(frozen=True, slots=True)
class _Layer:
    shape: tuple[int, ...]
    x: DType
    y: DType
    weight: DType | None
    bias: DType | None
    eps: float

    def forward(self, *, kept: bool) -> Any:
        columns = math.prod(self.shape)
        op = LayerNorm(columns, self.x, self.y, self.weight, self.bias, self.eps, kept)
        return plan.operation(op, self.shape)

    @property
    def gradient(self) -> Any:
        op = LayerNormGradient(math.prod(self.shape), self.x, self.y, self.weight, self.bias)
        columns = [column for column in (self.weight, self.bias) if column is not None]
        types = tuple(sum_type(column, op.compute) for column in columns)
        return plan.operation(op, self.shape, types)


def _given(*tensors: Any) -> list[Any]:
    return [tensor for tensor in tensors if tensor is not None]


@lru_cache(_OPERATIONS)
def _layer_operation(what: _Layer) -> Any:
    plain, kept, gradient = what.forward(kept=False), what.forward(kept=True), what.gradient
    dtype = torch_type(what.y)

    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        return plain(*_given(x, weight, bias))

    def forward(x: Any, weight: Any, bias: Any) -> Any:
        y, mean, r = kept(*_given(x, weight, bias))
        return y, tuple(_given(x, mean, r, weight))

    def backward(saved: Any, g: Any) -> Any:
        x, mean, r, *weight = saved
        found = gradient(x, g, mean, r, *weight)
        dx, *sums = found if isinstance(found, tuple) else (found,)
        types = [each and torch_type(each) for each in (what.weight, what.bias)]
        left = iter(sums)
        return dx, *(None if each is None else next(left).to(each) for each in types)

    def reference(x: Any, weight: Any, bias: Any) -> Any:
        wide = torch.promote_types(x.dtype, torch.float32)
        value, axes = x.to(wide), tuple(range(x.ndim - len(what.shape), x.ndim))
        # PyTorch's own has no second derivative without a weight.
        centred = value - value.mean(axes, keepdim=True)
        variance = (centred * centred).mean(axes, keepdim=True)
        y = centred * torch.rsqrt(variance + what.eps)
        y = y if weight is None else y * weight.to(wide)
        return (y if bias is None else y + bias.to(wide)).to(dtype)

    return differentiable(layer_norm, forward, backward, reference=reference)
