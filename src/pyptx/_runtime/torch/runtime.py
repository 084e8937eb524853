"""Kernels as operations of PyTorch: run where the tensors are, or put into the program around.

Where nothing but the tensors decides what happens, a call is run at once. In a program that
`torch.compile` or `torch.export` makes, in a transformation, and where a gradient may be asked for,
it is the operator of `operator`.
"""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportPrivateUsage=false
# ruff: noqa: SLF001

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch.autograd import forward_ad

from pyptx._binding import TENSOR_CONVERSION
from pyptx._emulator import Emulation
from pyptx._launch.call import AUTO, Call
from pyptx._runtime import dynamo, numpy, scalars, targets
from pyptx._runtime.shortcut import Shortcut
from pyptx._runtime.torch import execution, fast, operator
from pyptx._runtime.torch.execution import HostValue
from pyptx._runtime.torch.tensors import (
    DTYPES,
    NUMPY_NAMES,
    Described,
    as_numpy,
    as_tensor,
    dtype_name,
)
from pyptx._source import SourceLocation
from pyptx._spec import Scalar, Spec
from pyptx.errors import CallError
from pyptx.types import BY_NUMPY

PLAIN: Final = frozenset((torch.Tensor, torch.nn.Parameter))
"""Classes of tensors that are memory and no more. A subclass says itself what happens to it."""

_TRACED: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
"""Numbers that a program is traced with; its compiler does not know them."""

dynamo.use(torch.compiler.is_dynamo_compiling)

_modes: Final[Any] = torch._C._len_torch_dispatch_stack
_transforms: Final[Any] = torch._C._are_functorch_transforms_active
_grad_enabled: Final[Any] = torch.is_grad_enabled
_jit_traces: Final[Any] = torch._C._is_tracing


def runs_at_once(tensors: Sequence[Any]) -> bool:
    """Whether a call on these tensors, whose classes are plain, is run as it is."""
    if _modes() or _transforms() or forward_ad._current_level >= 0 or _jit_traces():
        return False
    if _grad_enabled():
        for tensor in tensors:
            if tensor.requires_grad:
                return False
    return True


def has_gradient(tensor: Any) -> bool:
    """Whether a gradient of a tensor is asked for, where gradients are enabled.

    What `torch.func.vmap` maps does not say so of a tensor that `torch.func.grad` is applied to.
    """
    if tensor.requires_grad:
        return True
    layers = torch._C._functorch
    levels = layers.get_interpreter_stack() or ()
    if any(level.key() == layers.TransformType.Jvp for level in levels):
        return False  # the operator says that it has no derivative in forward mode
    while layers.is_functorch_wrapped_tensor(tensor):
        if layers.is_gradtrackingtensor(tensor):
            return True
        tensor = layers.get_unwrapped(tensor)
    return bool(tensor.requires_grad)


def is_distributed(arrays: Sequence[Any]) -> bool:
    """Whether one of them is split over processes."""
    distributed: Any = sys.modules.get("torch.distributed.tensor")
    return distributed is not None and any(isinstance(a, distributed.DTensor) for a in arrays)


class Torch:
    """The runtime of PyTorch, with scalars by value, or by address on a device."""

    conversion: str = TENSOR_CONVERSION

    def __init__(self, device: Any) -> None:
        self.scalars_by_value: bool = device is None
        self._device = device

    def scalar(self, value: Any, dtype: str, name: str) -> Any:
        """A run-time scalar as an operand: a value on the host, or a tensor of rank 0."""
        if isinstance(value, torch.Tensor):
            _check_scalar(value, dtype, name)
            return value.to(device=self._device, dtype=DTYPES[dtype])
        if isinstance(value, _TRACED):
            if isinstance(value, torch.SymFloat):
                scalars.check_kind("float64", dtype, name)
            # A product is what the compiler can make of a number without a program for each.
            return torch.ones((), dtype=DTYPES[dtype], device=self._device) * value
        scalars.check(value, dtype, name)
        number = np.asarray(value, dtype=dtype)
        if self._device is None:
            return HostValue(number)
        return as_tensor(number).to(self._device)

    def describe(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Shapes and types of operands, for `_prepare`. Raises CallError under torch.jit.trace."""
        operator.refuse_jit_trace()
        return [_described(operand) for operand in operands]

    def launch(self, call: Call, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run `call` on checked operands, or put it into the program that is being made."""
        if any(isinstance(each, HostValue) for each in arrays) or at_once(arrays):
            return execution.execute(call, arrays)
        if is_distributed(arrays):
            sharding = importlib.import_module("pyptx._runtime.torch.sharding")
            return sharding.launch(call, arrays, self.launch)
        return operator.apply(call, arrays)

    def remembered(
        self, call: Call, operands: Sequence[Any], shortcut: Shortcut
    ) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        """What launches the call on other tensors of the same shapes and types."""
        if not all(type(operand) in PLAIN for operand in operands):
            return lambda arrays: self.launch(call, arrays)
        return _Remembered(self, call, _path(shortcut))

    def launch_with_scalars(
        self, call: Call, operands: Sequence[Any], arrays: Sequence[Any], shortcut: Shortcut
    ) -> tuple[Any, ...]:
        """`launch`; a call with the same numbers is known from then on."""
        path = _path(shortcut)
        if path is None or targets.in_context() or not at_once(_tensors(arrays)):
            return self.launch(call, operands)
        with fast.watched() as watch:
            results = self.launch(call, operands)
        path.remember(arrays, watch, results[0] if len(results) == 1 else results)
        return results

    def emulate(self, call: Call, arrays: Sequence[Any], **options: Any) -> Emulation:
        """`numpy.emulate` on the memory of tensors on the CPU; its outputs are tensors."""
        given = [each.array if isinstance(each, HostValue) else as_numpy(each) for each in arrays]
        done = numpy.emulate(call, given, **options)
        return Emulation(tuple(map(as_tensor, done.outputs)), done.reports)


def _path(shortcut: Shortcut) -> fast.FastPath | None:
    """The fast path of an operation, if there are any."""
    if shortcut.path is None and (path := fast.make(autocast=False)) is not None:
        shortcut.path, shortcut.call = path, path.call
    return shortcut.path


def _tensors(arrays: Sequence[Any]) -> list[Any]:
    return [array for array in arrays if isinstance(array, torch.Tensor)]


class _Remembered:
    """A call on plain tensors of known shapes and types: what is left is where they are."""

    __slots__ = ("_auto", "_call", "_launchers", "_path", "_place")

    def __init__(self, place: Torch, call: Call, path: fast.FastPath | None) -> None:
        self._place = place
        self._path = path
        self._call = call
        self._auto = call.arch == AUTO
        self._launchers: dict[object, execution.Launcher] = {}

    def __call__(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        if not runs_at_once(tensors):
            return self._place.launch(self._call, tensors)
        index = tensors[0].get_device() if tensors else -1
        for tensor in tensors:
            if tensor.get_device() != index or not tensor.is_contiguous() or tensor.is_neg():
                return execution.execute(self._call, tensors)  # says what is wrong, or copies
        if index < 0:
            return self._place.launch(self._call, tensors)
        key = (index, targets.in_context()) if self._auto else index
        found = self._launchers.get(key)
        if found is None:
            found = self._launchers[key] = execution.launcher(self._call, tensors, index)
            if self._path is not None and not targets.in_context():
                with fast.watched() as watch:
                    results = found(tensors)
                single = results[0] if len(results) == 1 else results
                self._path.remember(tensors, watch, single)
                return results
        return found(tensors)


def place(specs: Sequence[Spec], arrays: Sequence[object]) -> Torch:
    """The runtime for these arguments, at least one of which is a tensor.

    Numbers go into a launch as they are, unless a scalar is a tensor too, or the call becomes an
    operator, which takes tensors alone.
    """
    tensors = _tensors(arrays)
    scalar = any(
        isinstance(spec, Scalar) and isinstance(array, torch.Tensor)
        for spec, array in zip(specs, arrays, strict=True)
    )
    if not scalar and at_once(tensors):
        return _BY_VALUE
    others = (
        array
        for spec, array in zip(specs, arrays, strict=True)
        if not isinstance(spec, Scalar) and isinstance(array, torch.Tensor)
    )
    first: Any = next(others, tensors[0])
    return Torch(first.device)


_BY_VALUE: Final = Torch(None)


def at_once(operands: Sequence[Any]) -> bool:
    """Whether a call on tensors is run as it is: they are plain ones with data."""
    plain = all(type(operand) in PLAIN and not operand.is_meta for operand in operands)
    return plain and runs_at_once(operands)


def _described(operand: Any) -> Any:
    if isinstance(operand, HostValue):
        return operand.array
    return Described(tuple(operand.shape), dtype_name(operand.dtype))


def _check_scalar(value: Any, dtype: str, name: str) -> None:
    """Raises CallError for a tensor that cannot be a scalar of this type; reads no value."""
    given = NUMPY_NAMES.get(value.dtype)
    if given is None:
        problem = f"{name} is a tensor of type {dtype_name(value.dtype)}"
        raise CallError(f"{problem}, and Scalar({BY_NUMPY[dtype]}) takes {dtype}")
    scalars.check_kind(given, dtype, name)


def check_on_cpu(
    arrays: Sequence[Any], names: Sequence[str], location: SourceLocation | None
) -> None:
    """Raises CallError for tensors that the emulator cannot read."""
    for array, name in zip(arrays, names, strict=True):
        if isinstance(array, torch.Tensor) and array.device.type != "cpu":
            raise CallError(
                f"{name} is on {array.device}; emulating takes tensors on the CPU",
                location=location,
                notes=(("help", f"{name}.cpu()"),),
            )


def numpy_arrays(arrays: Sequence[Any]) -> list[Any]:
    """The arguments with arrays of NumPy in place of tensors."""
    return [as_numpy(each) if isinstance(each, torch.Tensor) else each for each in arrays]
