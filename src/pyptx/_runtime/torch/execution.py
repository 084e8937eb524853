"""Calls on tensors of PyTorch: launched on the current stream of a GPU, emulated on the CPU."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch

from pyptx._launch.call import AUTO, Call
from pyptx._native.launcher import NativeCall
from pyptx._recent import CALLS, SPECIALISATIONS, Recent
from pyptx._runtime import levels, numpy, targets
from pyptx._runtime.assembling import assembled, assembler_of
from pyptx._runtime.torch import fast, programs
from pyptx._runtime.torch.tensors import DTYPES, as_numpy, as_tensor, check_strides, device_of
from pyptx._target import Target
from pyptx.errors import CallError

_raw_stream: Final[Any] = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001


class Prepared:
    """A call, with what becomes of it on each device: made once, and used by every launch."""

    __slots__ = ("_natives", "call")

    def __init__(self, call: Call) -> None:
        self.call = call
        self._natives: dict[object, tuple[Call, NativeCall]] = {}

    def on_device(self, device: int) -> tuple[Call, NativeCall]:
        """The call as it is on a CUDA device, and the launcher's form of it.

        Raises DeviceError and AssembleError where there is none.
        """
        if (loaded := programs.on_cuda(self.call)) is not None:
            return self._loaded(loaded)
        named = targets.in_context() if self.call.arch == AUTO else ()
        found = self._natives.get((device, named))
        if found is None:
            chosen = targets.lowering_targets(self.call.arch, lambda: [_capability(device)])
            call = self.call.lowered_for(chosen)
            found = self._natives[device, named] = call, _native(call, chosen)
        return found

    def _loaded(self, loaded: programs.OnCuda) -> tuple[Call, NativeCall]:
        found = self._natives.get(None)
        if found is None:
            call = loaded.call
            native = NativeCall(str(call.plan), loaded.cubins, loaded.assembler, _itemsizes(call))
            found = self._natives[None] = call, native
        return found


_prepared: Final[Recent[Prepared]] = Recent(SPECIALISATIONS)


def prepared(call: Call) -> Prepared:
    """The prepared form of a call, one for all calls of the same content."""
    return _prepared.get(call.identity) or _prepared.keep(call.identity, Prepared(call))


def _capability(device: int) -> str:
    major, minor = torch.cuda.get_device_capability(device)
    return f"{major}.{minor}"


def _native(call: Call, chosen: Sequence[Target]) -> NativeCall:
    cubins = assembled(call.code, chosen)
    assembler = assembler_of(cubins)
    codes = [{name: cubin.code for name, cubin in step.items()} for step in cubins]
    return NativeCall(str(call.plan), codes, assembler, _itemsizes(call))


def _itemsizes(call: Call) -> list[int]:
    return [np.dtype(tensor.dtype).itemsize for tensor in (*call.outputs, *call.scratch)]


class Launcher:
    """Launches a call on tensors of one device and of known shapes, with little of Python.

    `shapes` are those of the inputs. An input that a step updates is updated where it is, and is
    the result. One that begins at an address which the kernels cannot load from is copied first.
    """

    __slots__ = (
        "_alignment",
        "_axes",
        "_call",
        "_device",
        "_fresh",
        "_handle",
        "_index",
        "_kept",
        "_launch",
        "_pack",
        "_sizes",
        "_updated",
    )

    def __init__(self, ready: Prepared, shapes: Sequence[Sequence[int]], index: int) -> None:
        call, native = ready.on_device(index)
        tensors = (*call.outputs, *call.scratch)
        results = (*call.output_shapes(shapes), *call.scratch_shapes(shapes))
        sources = {target: source for source, target in call.aliases}
        self._call = call
        self._kept = native
        self._launch = native.launch
        self._handle = native.handle
        self._index = index
        self._device = torch.device("cuda", index)
        self._alignment = levels.alignment(call) - 1
        self._updated = tuple(source for source, _ in call.aliases)
        # For each result the input whose memory it has, or its shape and type.
        self._fresh = tuple(
            (sources.get(i), tuple(shape), DTYPES[tensor.dtype])
            for i, (tensor, shape) in enumerate(zip(tensors, results, strict=True))
        )
        dims = [size for shape in (*shapes, *results) for size in shape]
        self._axes = tuple(map(int, dims))
        self._sizes = struct.pack(f"={len(dims)}q", *dims)
        self._pack = struct.Struct(f"={len(shapes) + len(results)}Q").pack

    def __call__(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        addresses = [operand.data_ptr() for operand in operands]
        held = None
        for address in addresses:
            if address & self._alignment:
                addresses, held = self._aligned(operands)
                break
        device = self._device
        results: list[Any] = []
        for source, shape, dtype in self._fresh:
            if source is None:
                result = torch.empty(shape, dtype=dtype, device=device)
            else:
                result = operands[source]
            results.append(result)
            addresses.append(result.data_ptr())
        words = self._pack(*addresses) + self._sizes
        status = self._launch(self._handle, self._index, _raw_stream(self._index), words)
        del held  # until the launch: the allocator gives its memory to later work of the stream
        if status:
            raise NativeCall.failure(status)
        for source in self._updated:
            torch.autograd.graph.increment_version(operands[source])
        if fast.watching.current is not None:
            self._show(fast.watching.current, operands, results)
        return tuple(results[: len(self._call.outputs)])

    def _show(self, watch: fast.Watch, operands: Sequence[Any], results: Sequence[Any]) -> None:
        if self._updated:
            watch.other = True
            return
        native, alignment = self._kept, self._alignment + 1
        launched = fast.Launched(native, self._index, alignment, self._axes, operands, results)
        watch.launches.append(launched)

    def _aligned(self, operands: Sequence[Any]) -> tuple[list[int], list[Any]]:
        """The addresses of the operands, or of copies that the kernels can load from."""
        held: list[Any] = []
        for i, operand in enumerate(operands):
            aligned = operand
            if isinstance(operand, HostValue) or not operand.data_ptr() & self._alignment:
                pass
            elif i in self._updated:
                raise CallError(
                    f"{self._call.inputs[i].name} is updated in place, and its address is not a "
                    f"multiple of {self._alignment + 1} bytes, which the kernel's accesses need",
                    notes=(("help", "update a copy of it, .clone()"),),
                )
            else:
                aligned = operand.clone()
            held.append(aligned)
        return [each.data_ptr() for each in held], held


class HostValue:
    """A scalar on the host, at an address for the launch to copy it from."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    def data_ptr(self) -> int:
        return self.array.ctypes.data


_launchers: Final[Recent[Launcher]] = Recent(CALLS)


def execute(call: Call, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Run a call on tensors, and values of scalars: on their GPU, or in the emulator.

    Raises CallError for tensors of two devices, or with strides that are not the kernels'.
    """
    names = [tensor.name for tensor in call.inputs]
    tensors = [(o, n) for o, n in zip(operands, names, strict=True) if not isinstance(o, HostValue)]
    device = _check(call, tensors)
    if device.type == "cpu":
        return emulated(call, operands)
    given = _as_read(call, operands)
    return launcher(call, given, device.index)(given)


def _as_read(call: Call, operands: Sequence[Any]) -> Sequence[Any]:
    """The operands with the numbers that PyTorch reads in their memory.

    That of a view such as `x.conj().imag` has other signs; a copy has those. Raises CallError for
    such a view that is updated in place.
    """
    found = list(operands)
    for i, operand in enumerate(operands):
        if isinstance(operand, HostValue) or not operand.is_neg():
            continue
        if any(source == i for source, _ in call.aliases):
            name = call.inputs[i].name
            raise CallError(
                f"{name} is updated in place, and PyTorch negates this view when it is read",
                notes=(("help", f"update a copy of it, {name}.resolve_neg()"),),
            )
        found[i] = operand.detach().resolve_neg()
    return found


def launcher(call: Call, operands: Sequence[Any], index: int) -> Launcher:
    """What launches a call on operands of these shapes on a CUDA device."""
    shapes = tuple(tuple(operand.shape) for operand in operands)
    named = targets.in_context() if call.arch == AUTO else ()
    key = (call, shapes, index, named)
    found = _launchers.get(key)
    if found is None:
        found = _launchers.keep(key, Launcher(prepared(call), shapes, index))
    return found


def _check(call: Call, tensors: Sequence[tuple[Any, str]]) -> Any:
    if not tensors:
        return torch.device("cpu")
    operands, names = zip(*tensors, strict=True)
    check_strides(operands, names, call.name)
    device = device_of(operands, names)
    if device.type not in ("cpu", "cuda"):
        raise CallError(
            f"{names[0]} is on {device}, and kernels run on CUDA devices and on the CPU",
            notes=(("help", f'pass {names[0]}.to("cuda")'),),
        )
    return device


def emulated(call: Call, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Run a call in the emulator; inputs that are updated are updated where they are."""
    arrays = [o.array if isinstance(o, HostValue) else as_numpy(o) for o in operands]
    results = list(map(as_tensor, numpy.launch(call, arrays)))
    for source, target in call.aliases:
        operands[source].detach().copy_(results[target])
        torch.autograd.graph.increment_version(operands[source])
        results[target] = operands[source]
    return tuple(results)
