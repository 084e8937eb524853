"""What operations check of their arguments, and how `torch.compile` comes to them."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final, TypeVar, cast

import torch

from pyptx._runtime import dynamo, targets
from pyptx._source import call_site
from pyptx._tracebacks import boundary
from pyptx.errors import CallError
from pyptx.ops.rowwise import plan
from pyptx.types import DType, bf16, f16, f32, f64

DTYPES: Final[dict[Any, DType]] = {
    torch.bfloat16: bf16,
    torch.float16: f16,
    torch.float32: f32,
    torch.float64: f64,
}
MOST_ROWS: Final = 2**31 - 1
"""Kernels count rows in 32 bits, and add to the count before they compare it."""

Call = TypeVar("Call", bound=Callable[..., Any])


def operation(function: Call) -> Call:
    """A public operation: `torch.compile` puts a call of it into the graph as it is."""
    checked = boundary(function)
    key = dynamo.register(function.__name__, checked)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if dynamo.traces() and dynamo.allow():
            return dynamo.apply(key, *args, **kwargs)
        return checked(*args, **kwargs)

    setattr(called, "_pyptx_entry", checked)  # noqa: B010  # dynamo keeps it weakly
    return cast("Call", called)


def at_call(function: Call) -> Call:
    """Errors of kernels inside name the line that called the operation."""

    @wraps(function)
    def located(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except CallError as error:
            raise error.at(call_site()) from None

    return cast("Call", located)


def widened(tensor: Any) -> bool:
    """Whether autocast makes results of norms and softmax float32: PyTorch's does so on GPUs."""
    return tensor.device.type == "cuda" and torch.is_autocast_enabled("cuda")


def check_targets(name: str) -> None:
    """Raises CallError where `pyptx.target` names a target without kernels."""
    plan.check(name, targets.chosen())


def dtype_of(name: str, tensor: Any, what: str) -> DType:
    """The type of a tensor. Raises CallError for other things, and for other types."""
    if not isinstance(tensor, torch.Tensor):
        raise CallError(
            f"{name} is a {type(tensor).__name__}; {what} takes tensors",
            notes=(("help", f"torch.as_tensor({name})"),),
        )
    found = DTYPES.get(tensor.dtype)
    if found is None:
        raise CallError(
            f"{name} has elements of type {str(tensor.dtype).removeprefix('torch.')}",
            notes=(("legal", " ".join(str(dtype.numpy) for dtype in DTYPES.values())),),
        )
    return found


def normalized(shape: Any, tensor: Any, what: str) -> tuple[int, ...]:
    """`normalized_shape` as sizes. Raises CallError where the tensor does not end with it."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    found = tuple(int(size) for size in sizes)
    rank = len(found)
    if not rank or tensor.ndim < rank or tuple(tensor.shape[tensor.ndim - rank :]) != found:
        raise CallError(
            f"input has shape {tuple(tensor.shape)}, which does not end with normalized_shape "
            f"{found}",
            notes=(("help", f"{what}(input, input.shape[-1:], ...) is over the last dimension"),),
        )
    check_rows(tensor, rank, what)
    return found


def check_rows(tensor: Any, rank: int, what: str) -> None:
    """Raises CallError where rows are too many, or have no elements."""
    lead = tuple(tensor.shape[: tensor.ndim - rank])
    if 0 in tensor.shape[tensor.ndim - rank :]:
        raise CallError(
            f"input has shape {tuple(tensor.shape)}, and {what} of a row without elements is none"
        )
    # A program that is compiled for any number of rows does not know it.
    if all(isinstance(size, int) for size in lead) and math.prod(lead) > MOST_ROWS:
        raise CallError(
            f"input has {math.prod(lead)} rows, and {what} takes {MOST_ROWS}",
            notes=(("help", "split input along its first dimension"),),
        )


def parameter(name: str, tensor: Any, shape: Sequence[int], what: str) -> DType | None:
    """The type of a weight or bias. Raises CallError where its shape is not `shape`."""
    if tensor is None:
        return None
    found = dtype_of(name, tensor, what)
    if tuple(tensor.shape) != tuple(shape):
        raise CallError(
            f"{name} has shape {tuple(tensor.shape)}, and normalized_shape is {tuple(shape)}"
        )
    return found


def number(name: str, value: Any, example: str) -> float:
    """A number that is part of a kernel. Raises CallError for what is none or is negative."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        value = float(value) if isinstance(value, torch.SymFloat) else None
    if value is None:
        problem = f"{name} must be a Python number: it is part of the kernel"
    elif not 0 <= float(value) < math.inf:
        problem = f"{name} is {value!r} and must be finite and not negative"
    else:
        return float(value)
    raise CallError(problem, notes=(("help", example),))


def refuse_in_place(inplace: object, what: str) -> None:
    """Raises CallError for `inplace=True`."""
    if inplace:
        raise CallError(
            f"{what} has no inplace=True: its result is a tensor of its own",
            notes=(("help", f"x = pyptx.torch.{what}(x)"),),
        )
