"""`silu`, `gelu`, `relu` and the gates with them, as operations of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final

import torch
from torch.nn import functional

from pyptx import KernelSequence
from pyptx.errors import CallError
from pyptx.ops._gates import Activation, Gate, GateGradient, row_of
from pyptx.ops._gates_one import GateOfOne, kernel_of
from pyptx.ops.rowwise import plan
from pyptx.torch import _arguments as arguments
from pyptx.torch._differentiable import differentiable
from pyptx.types import DType

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""

_FUNCTIONS: Final[dict[Activation, Any]] = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
    "relu": functional.relu,
}


@arguments.operation
def swiglu(gate: Any, up: Any = None, *, interleaved: Any = False) -> Any:
    """silu(gate) * up, element by element, rounded once.

    gate, up     bfloat16, float16, float32 or float64, of the same shape and type
    interleaved  only without `up`
    returns      their shape and type

    Without `up`, the first tensor has shape (..., 2 n) and holds both, and the result has shape
    (..., n): gate is `[..., :n]` and up is `[..., n:]`; interleaved they are `[..., ::2]` and
    `[..., 1::2]`. The kernels read that tensor and write one gradient of its shape, without copies.
    They are fastest if n is a multiple of 16 bytes. (`torch.nn.functional.glu` has the gate in the
    second half.)

    Computed in float32, or in float64 for float64 tensors. Tensors that are not contiguous are
    copied. One kernel computes both gradients; PyTorch's operators compute derivatives of higher
    order. Raises CallError.
    """
    return _gated("swiglu", "silu", gate, up, interleaved)


@arguments.operation
def geglu(gate: Any, up: Any = None, *, approximate: Any = "tanh", interleaved: Any = False) -> Any:
    """gelu(gate) * up, by tanh, or exact for approximate="none"; otherwise as `swiglu`."""
    return _gated("geglu", _gelu(approximate), gate, up, interleaved)


@arguments.operation
def reglu(gate: Any, up: Any = None, *, interleaved: Any = False) -> Any:
    """relu(gate) * up; otherwise as `swiglu`."""
    return _gated("reglu", "relu", gate, up, interleaved)


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


def _gated(name: str, activation: Activation, gate: Any, up: Any, interleaved: object) -> Any:
    if not isinstance(interleaved, bool):
        raise CallError(f"interleaved is {interleaved!r} and must be True or False")
    if up is None:
        return _call_of_one(name, activation, gate, interleaved)
    if interleaved:
        raise CallError(
            "interleaved is True, and gate and up are two tensors",
            notes=(("help", f"{name}(gate_and_up, interleaved=True), of shape (..., 2 n)"),),
        )
    return _call(name, activation, gate, up)


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
    size = row_of(last, types[0])
    run = _operation(size, activation, types[0], len(tensors) > 1).run

    def one(input: Any, *_: Any, **__: Any) -> Any:
        return computed(input)

    def two(gate: Any, up: Any, **_: Any) -> Any:
        return computed(gate, up)

    def computed(*given: Any) -> Any:
        shape = given[0].shape
        if not last or arguments.is_empty(given[0]):
            return given[0].clone()
        cut = (*shape[:-1], last // size, size)
        return run(*(_cut(tensor, cut) for tensor in given)).view(shape)

    return two if len(tensors) > 1 else one


def gradient(activation: Activation, tensors: Sequence[Any], g: Any) -> list[Any]:
    """The gradients of `activation(x)`, or of `activation(gate) * up`, for that of the result.

    By one kernel, of contiguous tensors of one shape (M, N) and type, as g is. N is known.
    """
    first = tensors[0]
    if arguments.is_empty(first):
        return [each.clone() for each in tensors]
    m, n = first.shape
    dtype = arguments.DTYPES[first.dtype]
    size = row_of(n, dtype)
    operation = _gradient(size, activation, dtype, len(tensors) > 1)
    found: Any = operation(*(_cut(each, (m, n // size, size)) for each in (*tensors, g)))
    several = found if isinstance(found, (tuple, list)) else [found]
    return [each.view(m, n) for each in several]


def _cut(tensor: Any, shape: Any) -> Any:
    """A tensor with its last dimension cut into rows."""
    return tensor.reshape(shape).contiguous()


def _gradient(size: int, activation: Activation, dtype: DType, gated: bool) -> KernelSequence:
    return plan.operation(GateGradient(size, activation, dtype, gated), (size,))


@lru_cache(_OPERATIONS)
def _operation(size: int, activation: Activation, dtype: DType, gated: bool) -> Any:
    plain = plan.operation(Gate(size, activation, dtype, gated), (size,))
    gradient = _gradient(size, activation, dtype, gated)

    def gate(*tensors: Any) -> Any:
        return plain(*tensors)

    def forward(*tensors: Any) -> Any:
        return plain(*tensors), tensors

    def backward(saved: Any, g: Any) -> Any:
        return gradient(*saved, g)

    gate.__name__ = Gate(size, activation, dtype, gated).name
    reference = partial(_reference, activation)
    return differentiable(gate, forward, backward, reference=reference)


def _reference(activation: Activation, *tensors: Any) -> Any:
    wide = torch.promote_types(tensors[0].dtype, torch.float32)
    value = _FUNCTIONS[activation](tensors[0].to(wide))
    for tensor in tensors[1:]:
        value = value * tensor.to(wide)
    return value.to(tensors[0].dtype)


# ---- of one tensor -------------------------------------------------------------------------------


def _call_of_one(name: str, activation: Activation, x: Any, interleaved: bool) -> Any:
    dtype = arguments.dtype_of("gate", x, name)
    arguments.check_targets(name)
    if x.ndim == 0 or x.shape[-1] % 2:
        raise CallError(
            f"gate has shape {tuple(x.shape)}, and {name} of one tensor takes (..., 2 n)",
            notes=(("help", f"{name}(gate, up)"),),
        )
    columns = int(x.shape[-1]) // 2
    if columns:
        arguments.check_rows(x, 1, name)
    run = _operation_of_one(GateOfOne(activation, dtype, columns or 1, interleaved)).run

    def computed(gate: Any, *_: Any, **__: Any) -> Any:
        if arguments.is_empty(gate):
            return gate[..., :columns].clone()
        return run(gate.contiguous())

    return computed


@lru_cache(_OPERATIONS)
def _operation_of_one(what: GateOfOne) -> Any:
    plain, gradient = kernel_of(what), kernel_of(replace(what, gradient=True))

    def gate(x: Any) -> Any:
        return plain(x)

    def forward(x: Any) -> Any:
        return plain(x), (x,)

    def backward(saved: Any, g: Any) -> Any:
        return gradient(*saved, g)

    def reference(x: Any) -> Any:
        n = what.columns
        parts = (x[..., ::2], x[..., 1::2]) if what.interleaved else (x[..., :n], x[..., n:])
        return _reference(what.activation, *parts)

    gate.__name__ = what.name
    return differentiable(gate, forward, backward, reference=reference)
