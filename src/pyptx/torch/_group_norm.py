"""`group_norm` and `instance_norm` as operations of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import torch

from pyptx.errors import CallError
from pyptx.ops._group_norm import ChannelMoments, ChannelNorm, ChannelNormGradient, ChannelSums
from pyptx.ops.rowwise import plan
from pyptx.torch import _arguments as arguments
from pyptx.torch._differentiable import differentiable
from pyptx.torch._norms import torch_type
from pyptx.types import DType

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""


@arguments.operation
def group_norm(
    input: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5
) -> Any:
    """`torch.nn.functional.group_norm` in kernels.

    input         bfloat16, float16, float32 or float64, of shape (N, C, ...)
    num_groups    divides C; mean and variance are over C / num_groups channels of one example
    weight, bias  of these types, independently, of shape (C); None for ones and zeros
    eps           a number, not negative
    returns       input's shape and type; float32 on a GPU under autocast, as in PyTorch

    Sums are in float32, or in float64 for float64 input. Two kernels read input twice and write the
    result once; the gradient reads input and the result's gradient twice. An input that is not
    contiguous is copied. Kernels compute first derivatives, PyTorch's operators those of higher
    order. Raises CallError.
    """
    return _call("group_norm", input, num_groups, weight, bias, eps)


@arguments.operation
def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: Any = True,
    momentum: Any = 0.1,
    eps: Any = 1e-5,
) -> Any:
    """`torch.nn.functional.instance_norm` without running statistics: a group for each channel.

    running_mean, running_var   None
    use_input_stats             True
    momentum                    has no effect without running statistics

    Everything else is as in `group_norm`. Raises CallError.
    """
    del momentum
    if running_mean is not None or running_var is not None or use_input_stats is not True:
        raise CallError(
            "instance_norm takes the statistics of input, and keeps no running ones",
            notes=(("help", "instance_norm(input, weight=weight, bias=bias)"),),
        )
    run = _call("instance_norm", input, None, weight, bias, eps)

    def computed(
        input: Any,
        running_mean: Any = None,
        running_var: Any = None,
        weight: Any = None,
        bias: Any = None,
        *_: Any,
        **__: Any,
    ) -> Any:
        del running_mean, running_var
        return run(input, None, weight, bias)

    return computed


def _call(name: str, x: Any, groups: Any, weight: Any, bias: Any, eps: Any) -> Any:
    what = _checked(name, x, groups, weight, bias, eps)
    kind = torch_type(what.x)
    run = _operation(what).run

    def computed(
        input: Any, num_groups: Any = None, weight: Any = None, bias: Any = None, *_: Any, **__: Any
    ) -> Any:
        del num_groups  # which are known
        x = input.to(kind)
        if 0 in x.shape[1:]:
            return x.clone()
        rows = x.reshape(x.shape[0], what.channels, what.size).contiguous()
        columns = (None if each is None else each.contiguous() for each in (weight, bias))
        return run(rows, *columns).reshape(x.shape)

    return computed


def _checked(name: str, x: Any, groups: Any, weight: Any, bias: Any, eps: Any) -> _What:
    dtype = arguments.dtype_of("input", x, name)
    arguments.check_targets(name)
    if x.ndim < 2:
        raise CallError(f"input has shape {tuple(x.shape)}, and {name} takes (N, C, ...)")
    channels = int(x.shape[1])
    count = channels if groups is None else groups
    whole = isinstance(count, int) and not isinstance(count, bool)
    if not whole or count < 1 or channels % count:
        raise CallError(
            f"num_groups is {groups!r} and must divide the {channels} channels of input"
            if groups is not None
            else f"input has shape {tuple(x.shape)}, which has no channels"
        )
    types: list[DType | None] = []
    for each, tensor in (("weight", weight), ("bias", bias)):
        types.append(None if tensor is None else arguments.dtype_of(each, tensor, name))
        if tensor is not None and tuple(tensor.shape) != (channels,):
            raise CallError(
                f"{each} has shape {tuple(tensor.shape)}, and input {channels} channels",
                notes=(("legal", f"({channels},)"),),
            )
    least = arguments.number("eps", eps, f"{name}(input, eps=1e-5)")
    if arguments.widened(x):
        dtype = arguments.DTYPES[torch.promote_types(x.dtype, torch.float32)]
    size = math.prod(int(n) for n in x.shape[2:])
    return _What(channels, int(count), size, dtype, types[0], types[1], least)


@dataclass(frozen=True, slots=True)
class _What:
    """What kernels are made for; rows are channels of `size` elements."""

    channels: int
    groups: int
    size: int
    x: DType
    weight: DType | None
    bias: DType | None
    eps: float

    def run(self, op: Any, *tensors: Any) -> Any:
        return plan.operation(op(self.size, self.x), (self.size,))(*tensors)

    def of_groups(self, x: Any) -> Any:
        """Numbers of channels, (N, C), by group: (N, groups, C / groups)."""
        return x.reshape(x.shape[0], self.groups, self.channels // self.groups)

    def of_channels(self, x: Any) -> Any:
        """Numbers of groups, (N, groups), for each channel: (N, C)."""
        return x.repeat_interleave(self.channels // self.groups, 1)

    @property
    def elements(self) -> int:
        """Of a group."""
        return self.channels // self.groups * self.size


def _kept(what: _What, x: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any]:
    """The norm, with the mean and r of each group."""
    means, squares = what.run(ChannelMoments, x)
    each = what.of_groups(means)
    # Distances from one of them are small numbers, and zeros where all channels are one number.
    mean = each[..., 0] + (each - each[..., :1]).mean(-1)
    between = ((each - mean[..., None]) ** 2).sum(-1) * what.size
    r = torch.rsqrt((what.of_groups(squares).sum(-1) + between) / what.elements + what.eps)
    scale, shift = what.of_channels(r), torch.zeros_like(means)
    scale = scale if weight is None else scale * weight.to(scale.dtype)
    shift = shift if bias is None else shift + bias.to(scale.dtype)
    return what.run(ChannelNorm, x, what.of_channels(mean), scale, shift), mean, r


def _gradient(what: _What, x: Any, g: Any, mean: Any, r: Any, weight: Any) -> tuple[Any, ...]:
    """Of x, and of weight and bias where they are given."""
    center, root = what.of_channels(mean), what.of_channels(r)
    of_g, of_products = what.run(ChannelSums, x, g, center)
    w = torch.ones_like(root) if weight is None else weight.to(root.dtype).expand(root.shape)
    mean_g = what.of_groups(of_g * w).sum(-1) / what.elements
    mean_products = what.of_groups(of_products * w).sum(-1) / what.elements
    slope, shift = what.of_channels(-(r**3) * mean_products), what.of_channels(-r * mean_g)
    dx = what.run(ChannelNormGradient, x, g, center, root * w, slope, shift)
    dw = None if what.weight is None else (of_products * root).sum(0).to(torch_type(what.weight))
    db = None if what.bias is None else of_g.sum(0).to(torch_type(what.bias))
    return dx, dw, db


@lru_cache(_OPERATIONS)
def _operation(what: _What) -> Any:
    def group_norm(x: Any, weight: Any, bias: Any) -> Any:
        return _kept(what, x, weight, bias)[0]

    def forward(x: Any, weight: Any, bias: Any) -> Any:
        y, *numbers = _kept(what, x, weight, bias)
        return y, (x, *numbers, *(() if weight is None else (weight,)))

    def backward(saved: Any, g: Any) -> Any:
        x, mean, r, *weight = saved
        return _gradient(what, x, g, mean, r, weight[0] if weight else None)

    def reference(x: Any, weight: Any, bias: Any) -> Any:
        wide = torch.promote_types(x.dtype, torch.float32)
        value = x.to(wide).reshape(x.shape[0], what.groups, -1)
        centred = value - value.mean(-1, keepdim=True)
        variance = (centred * centred).mean(-1, keepdim=True)
        y = (centred * torch.rsqrt(variance + what.eps)).reshape(x.shape)
        y = y if weight is None else y * weight.to(wide)[:, None]
        return (y if bias is None else y + bias.to(wide)[:, None]).to(x.dtype)

    return differentiable(group_norm, forward, backward, reference=reference)
