"""`add_rms_norm` and `add_layer_norm` as operations of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import torch

from pyptx.errors import CallError
from pyptx.ops._add_norm import AddNorm, AddNormGradient
from pyptx.ops._dropout import Dropout
from pyptx.ops._layer_norm import LayerNorm, LayerNormGradient
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.operation import RowOp
from pyptx.torch import _arguments as arguments
from pyptx.torch import _dropout
from pyptx.torch._differentiable import differentiable
from pyptx.torch._norms import (
    RmsNormOf,
    RmsNormOfGradient,
    ones,
    sum_type,
    torch_type,
    weight_offset,
)
from pyptx.types import DType, f64

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""


@arguments.operation
def add_rms_norm(
    input: Any,
    residual: Any,
    normalized_shape: Any,
    weight: Any = None,
    eps: Any = None,
    *,
    offset: Any = 0.0,
    dropout_p: Any = 0.0,
) -> tuple[Any, Any]:
    """s = input + residual and y = rms_norm(s, normalized_shape, weight, eps), in one pass: (y, s).

    input      bfloat16, float16, float32 or float64, of shape (..., *normalized_shape)
    residual   of input's shape; bfloat16, float16 or float32 independently of input's type, float64
               where input is
    eps        a number; None for torch.finfo(input.dtype).eps
    offset     a number that is added to weight: 1.0 for weights stored as w - 1
    dropout_p  a number in [0, 1): s = residual + dropout(input). The probability that an element
               of input is dropped, rounded to a multiple of 2**-16; others are divided by 1 - p
    returns    y in input's type, s in residual's; both of input's shape

    s is rounded before the norm reads it, so y equals that of two calls. The backward pass takes
    the gradients of both results and computes one gradient for input and residual, in one kernel.

    Dropout is applied whenever `dropout_p` is not 0, as in `scaled_dot_product_attention`: pass
    `p if self.training else 0.0`. It stores no mask: the backward pass draws it again, from two
    numbers per row that `torch.randint` drew in the forward pass (Philox-4x32-7). So
    `torch.manual_seed` and activation checkpointing reproduce it.

    Everything else is as in `rms_norm`. Raises CallError.
    """
    least = torch.finfo(input.dtype).eps if eps is None and _is_floating(input) else eps
    what = _checked("add_rms_norm", input, residual, normalized_shape, weight, None, least)
    example = "add_rms_norm(input, residual, shape, weight, offset=1.0)"
    rate = _dropout.checked(dropout_p, "add_rms_norm")
    what = replace(what, offset=weight_offset(example, offset, weight), rate=rate)
    run = _operation(what).run

    def computed(
        input: Any, residual: Any, shape: Any, weight: Any = None, eps: Any = None, **_: Any
    ) -> tuple[Any, Any]:
        del shape, eps
        scale = ones(what.shape, input) if weight is None else weight.contiguous()
        return run(input.contiguous(), residual.contiguous(), scale, None, *what.seeds(input))

    return computed  # pyright: ignore[reportReturnType]  # what `operation` makes the result with


@arguments.operation
def add_layer_norm(
    input: Any,
    residual: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: Any = 1e-5,
    *,
    dropout_p: Any = 0.0,
) -> tuple[Any, Any]:
    """s = input + residual, and y = layer_norm(s, normalized_shape, weight, bias, eps): (y, s).

    Everything else, dropout of input included, is as in `add_rms_norm` and `layer_norm`; y has
    input's type under autocast too. Raises CallError.
    """
    what = _checked("add_layer_norm", input, residual, normalized_shape, weight, bias, eps)
    what = replace(what, rate=_dropout.checked(dropout_p, "add_layer_norm"))
    run = _operation(what).run

    def computed(
        input: Any,
        residual: Any,
        shape: Any,
        weight: Any = None,
        bias: Any = None,
        eps: Any = 0,
        **_: Any,
    ) -> tuple[Any, Any]:
        del shape, eps
        columns = (None if each is None else each.contiguous() for each in (weight, bias))
        return run(input.contiguous(), residual.contiguous(), *columns, *what.seeds(input))

    return computed  # pyright: ignore[reportReturnType]  # what `operation` makes the result with


def _is_floating(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and tensor.is_floating_point()


@dataclass(frozen=True, slots=True)
class _What:
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

    def seeds(self, x: Any) -> tuple[Any, ...]:
        """What dropout draws of each row of x, where there is any."""
        return _dropout.seeds(x, len(self.shape)) if self.rate else ()

    def forward(self, *, kept: bool) -> Any:
        columns, s = math.prod(self.shape), self.residual
        norm: RowOp = LayerNorm(columns, s, self.x, self.weight, self.bias, self.eps, kept)
        if self.rms:
            weight, least = self.weight or self.x, self.eps
            norm = RmsNormOf(columns, s, weight, least, kept, self.offset, y=self.x)
        return plan.operation(AddNorm(columns, norm, self.x, s, self.dropout), self.shape)

    @property
    def gradient(self) -> Any:
        columns, s = math.prod(self.shape), self.residual
        norm: RowOp = LayerNormGradient(columns, s, self.x, self.weight, self.bias)
        if self.rms:
            norm = RmsNormOfGradient(columns, s, self.weight or self.x, self.offset, y=self.x)
        op = AddNormGradient(columns, norm, self.x, s, self.dropout)
        types = tuple(sum_type(column, op.compute) for column in self.columns)
        return plan.operation(op, self.shape, types)

    @property
    def columns(self) -> list[DType]:
        """The types of the tensors that rows share."""
        weight = self.weight or (self.x if self.rms else None)
        return [each for each in (weight, self.bias) if each is not None]


def _checked(
    name: str, x: Any, residual: Any, normalized_shape: Any, weight: Any, bias: Any, eps: Any
) -> _What:
    dtype = arguments.dtype_of("input", x, name)
    arguments.check_targets(name)
    shape = arguments.normalized(normalized_shape, x, name)
    s = arguments.dtype_of("residual", residual, name)
    if tuple(residual.shape) != tuple(x.shape) or (s is f64) != (dtype is f64):
        raise CallError(
            f"residual is {arguments.described(residual)}, and input {arguments.described(x)}",
            notes=(("legal", "one shape; float64 only for both"),),
        )
    types = [
        arguments.parameter(n, each, shape, name)
        for n, each in (("weight", weight), ("bias", bias))
    ]
    least = arguments.number("eps", eps, f"{name}(input, residual, shape, eps=1e-5)")
    return _What(name == "add_rms_norm", shape, dtype, s, types[0], types[1], least)


def _given(*tensors: Any) -> list[Any]:
    return [tensor for tensor in tensors if tensor is not None]


@lru_cache(_OPERATIONS)
def _operation(what: _What) -> Any:
    plain, kept, gradient = what.forward(kept=False), what.forward(kept=True), what.gradient
    has_one = what.x is what.residual and what.dropout is None  # gradient of input and residual
    without = () if what.dropout is None else (None, None)  # the seeds have no gradient

    def add_norm(x: Any, residual: Any, weight: Any, bias: Any, *seeds: Any) -> Any:
        return plain(*_given(x, residual, weight, bias, *seeds))

    def forward(x: Any, residual: Any, weight: Any, bias: Any, *seeds: Any) -> Any:
        y, s, *rows = kept(*_given(x, residual, weight, bias, *seeds))
        return (y, s), tuple(_given(s, *rows, weight, *seeds))

    def backward(saved: Any, gy: Any, gs: Any) -> Any:
        rows = 1 if what.rms else 2
        s, rest = saved[0], saved[1 + rows :]  # the weight, and the seeds
        results = gradient(s, gy, *saved[1 : 1 + rows], gs, *rest)
        found = list(results) if isinstance(results, tuple) else [results]
        dx = found.pop(0)
        dr = dx if has_one else found.pop(0)
        sums = [total.to(torch_type(t)) for total, t in zip(found, what.columns, strict=True)]
        both = what.rms or what.weight is not None, what.bias is not None
        left = iter(sums)
        return dx, dr, *(next(left) if there else None for there in both), *without

    def reference(x: Any, residual: Any, weight: Any, bias: Any, *seeds: Any) -> Any:
        compute = torch.promote_types(residual.dtype, torch.float32)
        added = x.to(compute)
        if seeds:
            mask = _dropout.kept(what.rate, seeds, what.shape)
            added = torch.where(mask, added / (1 - what.rate), 0)
        s = (added + residual.to(compute)).to(residual.dtype)
        wide, axes = s.to(compute), tuple(range(x.ndim - len(what.shape), x.ndim))
        away = wide if what.rms else wide - wide.mean(axes, keepdim=True)
        y = away * torch.rsqrt((away * away).mean(axes, keepdim=True) + what.eps)
        y = y if weight is None else y * (weight.to(compute) + what.offset)
        return (y if bias is None else y + bias.to(compute)).to(x.dtype), s

    add_norm.__name__ = "add_rms_norm" if what.rms else "add_layer_norm"
    return differentiable(add_norm, forward, backward, reference=reference)
