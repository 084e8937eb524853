"""`silu`, `gelu`, `relu` and the gates with them, as operations of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any, Final

import torch
from torch.nn import functional

from pyptx.errors import CallError
from pyptx.ops._gates import Activation, Gate, GateGradient
from pyptx.ops.rowwise import plan
from pyptx.torch import _arguments as arguments
from pyptx.torch._differentiable import differentiable
from pyptx.types import DType

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""

_WIDEST: Final = 16
"""Bytes of an access: rows are cut so that each thread has one of each tensor."""

_FUNCTIONS: Final[dict[Activation, Any]] = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
}


@arguments.operation
def swiglu(gate: Any, up: Any) -> Any:
    """silu(gate) * up, element by element, rounded once.

    gate, up   bfloat16, float16, float32 or float64, of the same shape and type
    returns    their shape and type

    Computed in float32, or in float64 for float64 tensors. Tensors that are not contiguous are
    copied. One kernel computes both gradients; PyTorch's operators compute derivatives of higher
    order. Raises CallError.
    """
    return _call("swiglu", "silu", gate, up)


@arguments.operation
def geglu(gate: Any, up: Any, *, approximate: Any = "tanh") -> Any:
    """gelu(gate) * up, by tanh, or exact for approximate="none"; otherwise as `swiglu`."""
    return _call("geglu", _gelu(approximate), gate, up)


@arguments.operation
def reglu(gate: Any, up: Any) -> Any:
    """relu(gate) * up; otherwise as `swiglu`."""
    return _call("reglu", "relu", gate, up)


@arguments.operation
def silu(input: Any, inplace: Any = False) -> Any:
    """`torch.nn.functional.silu` in a kernel, without `inplace=True`; otherwise as `swiglu`."""
    arguments.refuse_in_place(inplace, "silu")
    return _call("silu", "silu", input)


@arguments.operation
def gelu(input: Any, approximate: Any = "none") -> Any:
    """`torch.nn.functional.gelu` in a kernel; otherwise as `swiglu`.

    approximate   "none" for the exact function, "tanh" for the approximation by tanh
    """
    return _call("gelu", _gelu(approximate), input)


@arguments.operation
def relu(input: Any, inplace: Any = False) -> Any:
    """`torch.nn.functional.relu` in a kernel, without `inplace=True`; otherwise as `swiglu`."""
    arguments.refuse_in_place(inplace, "relu")
    return _call("relu", "relu", input)


def _gelu(approximate: object) -> Activation:
    if approximate == "none":
        return "gelu"
    if approximate == "tanh":
        return "gelu_tanh"
    raise CallError(f"approximate is {approximate!r}", notes=(("legal", "'none' 'tanh'"),))


def _call(name: str, activation: Activation, *tensors: Any) -> Any:
    names = ("gate", "up") if len(tensors) > 1 else ("input",)
    types = [arguments.dtype_of(n, t, name) for n, t in zip(names, tensors, strict=True)]
    arguments.check_targets(name)
    first: Any = next(iter(tensors))
    for n, tensor, dtype in zip(names[1:], tensors[1:], types[1:], strict=True):
        if tuple(tensor.shape) != tuple(first.shape) or dtype is not types[0]:
            raise CallError(
                f"{n} is {arguments.described(tensor)}, and {names[0]} "
                f"{arguments.described(first)}",
                notes=(("help", f"{n}.to({names[0]}.dtype).expand_as({names[0]})"),),
            )
    last = int(first.shape[-1]) if first.ndim else 1
    size = math.gcd(last, _WIDEST // types[0].bytes)
    run = _operation(size or 1, activation, types[0], len(tensors) > 1).run

    def one(input: Any, *_: Any, **__: Any) -> Any:
        return computed(input)

    def two(gate: Any, up: Any, **_: Any) -> Any:
        return computed(gate, up)

    def computed(*given: Any) -> Any:
        shape = given[0].shape
        if not last or 0 in shape:
            return given[0].clone()
        cut = (*shape[:-1], last // size, size)
        return run(*(_cut(tensor, cut) for tensor in given)).view(shape)

    return two if len(tensors) > 1 else one


def _cut(tensor: Any, shape: Any) -> Any:
    """A tensor with its last dimension cut into vectors."""
    return tensor.reshape(shape).contiguous()


@lru_cache(_OPERATIONS)
def _operation(size: int, activation: Activation, dtype: DType, gated: bool) -> Any:
    plain = plan.operation(Gate(size, activation, dtype, gated), (size,))
    gradient = plan.operation(GateGradient(size, activation, dtype, gated), (size,))

    def gate(*tensors: Any) -> Any:
        return plain(*tensors)

    def forward(*tensors: Any) -> Any:
        return plain(*tensors), tensors

    def backward(saved: Any, g: Any) -> Any:
        return gradient(*saved, g)

    def reference(*tensors: Any) -> Any:
        wide = torch.promote_types(tensors[0].dtype, torch.float32)
        value = _FUNCTIONS[activation](tensors[0].to(wide))
        for tensor in tensors[1:]:
            value = value * tensor.to(wide)
        return value.to(tensors[0].dtype)

    gate.__name__ = Gate(size, activation, dtype, gated).name
    return differentiable(gate, forward, backward, reference=reference)
