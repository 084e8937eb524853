"""Launches of tensors that are known, by the native fast path: no Python between call and launch.

It is for eager calls on plain tensors of the current GPU that ask for no gradient. What it is told
of is one launch, whose inputs are arguments of the call; everything else it leaves to Python. It
reads tensors by DLPack's exchange API, which PyTorch has from 2.10 on; without it, and without the
GIL, there is none.
"""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportPrivateUsage=false
# ruff: noqa: SLF001

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NoReturn

import torch
from torch.autograd import forward_ad

from pyptx._native import launcher
from pyptx._runtime import recording, targets
from pyptx._runtime.shortcut import MISSED
from pyptx._trace.core.context import in_kernel
from pyptx.errors import DeviceError

_CONSTANTS: Final = frozenset((bool, int, float, str, type(None), tuple, torch.Size, torch.dtype))
"""Types of arguments that are compared without running code of the user."""


@dataclass(slots=True)
class Launched:
    """One launch, as it was done: by what, on which tensors, with which results."""

    native: launcher.NativeCall
    device: int
    alignment: int
    sizes: tuple[int, ...]
    operands: Sequence[Any]
    results: Sequence[Any]
    """With scratch."""


@dataclass(slots=True)
class Watch:
    """The launches of a thread while something is called. `other` where more than they was done."""

    launches: list[Launched] = field(default_factory=list[Launched])
    other: bool = False


class _Watching(threading.local):
    current: Watch | None = None


watching: Final = _Watching()


@contextmanager
def watched() -> Generator[Watch]:
    """Sees the launches of this thread."""
    around = watching.current
    watching.current = watch = Watch()
    try:
        yield watch
    finally:
        watching.current = around
        if around is not None:
            around.launches.extend(watch.launches)
            around.other |= watch.other


class FastPath:
    """The fast path of an operation. `call(*arguments)` returns `MISSED` for what is not known."""

    __slots__ = ("_path", "_values", "call")

    def __init__(self, call: Callable[..., Any], path: object) -> None:
        self.call = call
        self._path = path
        self._values = 0

    def watch(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Call a function, and make the call known if it is one launch."""
        with watched() as watch:
            found = function(*arguments)
        self.remember(arguments, watch, found)
        return found

    def remember(self, arguments: Sequence[Any], watch: Watch, found: Any) -> bool:
        """Make a call known that did nothing but one launch, of which `found` are the results."""
        if len(watch.launches) != 1 or watch.other:
            return False
        launched = watch.launches[0]
        returned = found if isinstance(found, tuple) else (found,)
        positions = [_position(operand, arguments) for operand in launched.operands]
        if None in positions or not _are_results(returned, launched.results):
            return False
        values = [operand for operand in launched.operands if _is_fixed(operand)]
        if not all(map(_is_tensor, values)) and not self._takes_values(arguments):
            return False
        if not all(_is_constant(each) for each in arguments if not _is_tensor(each)):
            return False
        made = [*returned, *launched.results[len(returned) :]]
        known = (
            (launched.native, *values),
            launched.native.handle,
            launched.device,
            launched.alignment,
            tuple(positions),
            tuple(map(_allocation, made)),
            len(returned),
            launched.sizes,
        )
        return launcher.remember(self._path, tuple(arguments), known)

    def _takes_values(self, arguments: Sequence[Any]) -> bool:
        """Whether numbers among arguments are made known: some, and no zero, whose sign is lost."""
        self._values += 1
        zeros = any(type(each) is float and each == 0 for each in arguments)
        return self._values <= _VALUES and not zeros


_VALUES: Final = 64
"""Launches with numbers that are kept: what changes from call to call is not worth it."""


def make(*, autocast: bool) -> FastPath | None:
    """A fast path, for calls that autocast changes or not; None where there is none."""
    conditions = _conditions()
    if conditions is None:
        return None
    if autocast:
        conditions = (*conditions, (torch._C._is_any_autocast_enabled, False))
    settings = (
        (torch.Tensor, torch.nn.Parameter),
        torch.Tensor.__dlpack_c_exchange_api__,
        conditions,
        forward_ad.__dict__,
        "_current_level",
        -1,
        torch.is_grad_enabled,
        "requires_grad",
        "is_neg",
        True,
        MISSED,
        _fail,
    )
    pair = launcher.fast_path(settings)
    return None if pair is None else FastPath(*pair)


@cache
def _conditions() -> tuple[tuple[Callable[[], Any], Any], ...] | None:
    """What nothing but the tensors decides about a call by; None where that cannot be asked."""
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        return None
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    try:
        launcher.library()
    except DeviceError:
        return None
    return (
        (torch._C._len_torch_dispatch_stack, 0),
        (torch._C._are_functorch_transforms_active, False),
        (torch._C._is_tracing, False),
        (targets.in_context, ()),
        (in_kernel, None),
        (recording.current, None),
    )


def needs_gradient(arguments: Sequence[Any]) -> bool:
    """Whether a gradient may be asked for, so that a call keeps what that needs."""
    if not torch.is_grad_enabled():
        return False
    return any(_is_tensor(each) and each.requires_grad for each in arguments)


def _fail(status: int) -> NoReturn:
    raise launcher.NativeCall.failure(status)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _is_constant(value: Any) -> bool:
    if type(value) in (tuple, torch.Size):
        return all(type(each) is int for each in value)
    return type(value) in _CONSTANTS


def _is_same(one: Any, other: Any) -> bool:
    """Whether two tensors are the same elements, in the same order, maybe of another shape."""
    return (
        _is_tensor(one)
        and _is_tensor(other)
        and one.numel() == other.numel() > 0
        and one.dtype == other.dtype
        and one.data_ptr() == other.data_ptr()
        and one.is_contiguous()
        and other.is_contiguous()
    )


def _position(operand: Any, arguments: Sequence[Any]) -> int | None:
    """Which argument an operand is, if it is one and no other is the same.

    Of a number, which goes into the launch by value, minus the address that it is copied from, and
    of a tensor that lasts minus its address.
    """
    if _is_fixed(operand):
        return -int(operand.data_ptr())
    found = [i for i, argument in enumerate(arguments) if _is_same(operand, argument)]
    return found[0] if len(found) == 1 else None


_lasting: Final[dict[int, Any]] = {}


def lasting(tensor: Any) -> Any:
    """A tensor of an operation's own, never written and never freed; it is no argument."""
    return _lasting.setdefault(id(tensor), tensor)


def _is_fixed(operand: Any) -> bool:
    """Whether an operand is where it is in every call: a tensor that lasts, or a number."""
    return not _is_tensor(operand) or id(operand) in _lasting


def _are_results(returned: Sequence[Any], results: Sequence[Any]) -> bool:
    if len(returned) > len(results):
        return False
    return all(_is_same(one, other) for one, other in zip(returned, results, strict=False))


def _allocation(tensor: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What makes another tensor like this one, on the current device."""
    return allocate, (tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)


allocate: Callable[..., Any] = torch._C._dynamo.guards._empty_strided_cuda
"""allocate(shape, strides, type): what Inductor's programs allocate with, past the dispatcher."""
