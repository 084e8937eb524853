"""What operations check of their arguments, and how `torch.compile` comes to them."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import importlib
import math
import numbers
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, TypeVar, cast

import torch

from pyptx._recent import CALLS, Recent
from pyptx._runtime import dynamo, targets
from pyptx._runtime.shortcut import MISSED
from pyptx._runtime.torch import fast
from pyptx._source import call_site
from pyptx._tracebacks import boundary, shortened
from pyptx.errors import CallError
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.arithmetic import problem_of
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


def operation(resolve: Call) -> Call:
    """A public operation, from a function that checks its arguments.

    `resolve(*args, **kwargs)` returns what computes the result from the same arguments, for all
    arguments of these classes, shapes, types and values, wherever the tensors are. It is kept.
    `torch.compile` puts a call of the operation into the graph as it is.
    """
    known: Recent[_Known] = Recent(CALLS)
    path = fast.make(autocast=True)

    @boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            kinds = _kinds(args, kwargs)
            found = known.get(kinds)
        except TypeError:  # sizes that PyTorch traces with have no hash
            kinds = found = None
            args = tuple(map(_number, args))
            kwargs = {name: _number(value) for name, value in kwargs.items()}
        try:
            if found is None:
                found = _Known(resolve(*args, **kwargs))
                if kinds is not None:
                    known.keep(kinds, found)
            seen = kwargs or found.watched >= _WATCHED
            if path is None or seen or fast.needs_gradient(args):
                return found.run(*args, **kwargs)
            found.watched += 1
            return path.watch(found.run, args)
        except CallError as error:
            raise error.at(call_site()) from None

    key = dynamo.register(resolve.__name__, call)
    shortcut = _missed if path is None else path.call

    @wraps(resolve)
    def called(*args: Any, **kwargs: Any) -> Any:
        if dynamo.traces() and dynamo.allow():
            return dynamo.apply(key, *args, **kwargs)
        if not kwargs:
            try:
                results = shortcut(*args)
            except Exception as error:
                error.__traceback__ = shortened(error.__traceback__, error)
                raise
            if results is not MISSED:
                return results
        return call(*args, **kwargs)

    setattr(called, "_pyptx_call", call)  # noqa: B010  # Dynamo's table has it weakly
    setattr(called, "_pyptx_key", key)  # noqa: B010
    return cast("Call", called)


_WATCHED: Final = 8
"""Calls of one kind that are looked at: which of them is one launch shows soon."""


class _Known:
    """What computes a result, and how often it was looked at."""

    __slots__ = ("run", "watched")

    def __init__(self, run: Callable[..., Any]) -> None:
        self.run = run
        self.watched = 0


def _number(value: Any) -> Any:
    """A number that PyTorch traces with as the number it is: kernels are made for it."""
    if isinstance(value, torch.SymFloat):
        return float(value)
    return bool(value) if isinstance(value, torch.SymBool) else dynamo.specialised(value)


def _missed(*args: Any) -> Any:
    del args
    return MISSED


def _kinds(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Hashable:
    """What decides how arguments are computed with."""
    precision = torch.get_float32_matmul_precision()
    kinds = tuple(map(_kind, args)), targets.in_context(), _autocast(args), precision
    return (kinds, *((name, _kind(value)) for name, value in kwargs.items())) if kwargs else kinds


def _kind(value: Any) -> Hashable:
    if isinstance(value, torch.Tensor):
        return value.__class__, value.shape, value.dtype, value.layout
    return value.__class__, value


def _autocast(args: Sequence[Any]) -> Hashable:
    """What autocast does to tensors of the devices of these arguments."""
    if not torch._C._is_any_autocast_enabled():  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001
        return None
    devices = {value.device.type for value in args if isinstance(value, torch.Tensor)}
    found = ((device, autocast_type(device)) for device in sorted(devices))
    return tuple((device, dtype) for device, dtype in found if dtype is not None)


def autocast_type(device: str) -> Any:
    """What autocast converts factors on devices of a type to, None outside of it."""
    if not torch.amp.is_autocast_available(device) or not torch.is_autocast_enabled(device):
        return None  # tensors on the device "meta" have none
    return torch.get_autocast_dtype(device)


def at_call(function: Call) -> Call:
    """Errors of a function name the line that called it."""

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
    check_tensor(name, tensor, what)
    return kernel_type(name, tensor.dtype)


def check_tensor(name: str, tensor: Any, what: str) -> None:
    """Raises CallError for what is no tensor with an element at each of its indices."""
    if not isinstance(tensor, torch.Tensor):
        problem, way = f"a {type(tensor).__name__}", f"torch.as_tensor({name})"
    elif tensor.is_nested:
        problem, way = "a nested tensor", f"{name}.values(), or to_padded_tensor(0.0)"
    elif tensor.layout != torch.strided:
        layout = str(tensor.layout).removeprefix("torch.")
        problem, way = f"a {layout} tensor", f"{name}.to_dense()"
    else:
        return
    kind = "dense tensors" if isinstance(tensor, torch.Tensor) else "tensors"
    raise CallError(f"{name} is {problem}; {what} takes {kind}", notes=(("help", way),))


def kernel_type(name: str, dtype: Any) -> DType:
    """A type of PyTorch as kernels call it. Raises CallError for others than theirs."""
    found = DTYPES.get(dtype)
    if found is None:
        raise CallError(
            f"{name} has elements of type {str(dtype).removeprefix('torch.')}",
            notes=(("legal", " ".join(str(each.numpy) for each in DTYPES.values())),),
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


def number(name: str, value: Any, example: str, *, signed: bool = False) -> float:
    """A number that is part of a kernel. Raises CallError for what is none.

    Negative ones are legal where it is `signed`.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        symbolic = isinstance(value, torch.SymFloat | torch.SymInt)
        value = float(value) if symbolic else None  # part of the kernel: known from here on
    if value is None:
        problem = f"{name} must be a Python number: it is part of the kernel"
    else:
        problem = problem_of(name, value, signed=signed)
        if problem is None:
            return float(value)
    raise CallError(problem, notes=(("help", example),))


def dimension(dim: Any, tensor: Any) -> int:
    """A dimension of a tensor, from 0 on. Raises CallError for what is none."""
    rank = tensor.ndim
    dim = int(dim) if isinstance(dim, torch.SymInt) else dim
    if isinstance(dim, bool) or not isinstance(dim, int) or not -rank <= dim < rank:
        raise CallError(
            f"dim is {dim!r} and input has shape {tuple(tensor.shape)}",
            notes=(("legal", f"{-rank} to {rank - 1}" if rank else "nothing of a scalar"),),
        )
    return dim % rank


def broadcasts(shape: Sequence[Any], to: Sequence[Any]) -> bool:
    """Whether a tensor of one shape broadcasts to another.

    Sizes that a program is compiled without may do; PyTorch checks them when it runs.
    """
    last = zip(shape[::-1], to[::-1], strict=False)
    return len(shape) <= len(to) and all(_fits(size, other) for size, other in last)


def _fits(size: Any, other: Any) -> bool:
    if isinstance(size, int) and (size == 1 or isinstance(other, int)):
        return size in (1, other)
    symbolic = _symbolic_shapes()
    return symbolic.guard_or_true(size == other) or symbolic.guard_or_true(size == 1)


def _symbolic_shapes() -> Any:
    return importlib.import_module("torch.fx.experimental.symbolic_shapes")


def of_unknown_size(tensor: Any) -> bool:
    """Whether a size is one that a program computes, which no guard of the program may ask for."""
    if not any(isinstance(size, torch.SymInt) for size in tensor.shape):
        return False
    symbolic = _symbolic_shapes()
    return symbolic.has_free_unbacked_symbols(tensor)


def is_contiguous(tensor: Any) -> bool:
    """Whether a tensor is known to be contiguous; one of a size that a program computes may be."""
    if not of_unknown_size(tensor):
        return tensor.is_contiguous()
    symbolic = _symbolic_shapes()
    expected: Any = 1
    for size, stride in zip(reversed(tensor.shape), reversed(tensor.stride()), strict=True):
        if not symbolic.guard_or_false(stride == expected):
            return False
        expected = expected * size
    return True


def is_empty(tensor: Any) -> bool:
    """Whether a tensor is known to have no elements."""
    return any(isinstance(size, int) and size == 0 for size in tensor.shape)


def described(tensor: Any) -> str:
    """A tensor's type and shape, for a message."""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def is_traced() -> bool:
    """Whether a program is traced, of which no tensor that is kept may be a part."""
    return bool(torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack())  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001


def replicated(tensor: Any, like: Any) -> Any:
    """A tensor that every process has whole, where another one is split over processes."""
    mesh: Any = like.device_mesh
    whole = [importlib.import_module("torch.distributed.tensor").Replicate()] * mesh.ndim
    return type(like).from_local(tensor, mesh, whole, run_check=False)


def refuse_in_place(inplace: object, what: str) -> None:
    """Raises CallError for `inplace=True`."""
    if inplace:
        raise CallError(
            f"{what} has no inplace=True: its result is a tensor of its own",
            notes=(("help", f"x = pyptx.torch.{what}(x)"),),
        )
