"""Kernels on NumPy arrays: the emulator, on the arrays where they are if their alignment allows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import ml_dtypes  # noqa: F401  # NumPy learns bfloat16 and the 8-bit floats from it  # pyright: ignore[reportUnusedImport]
import numpy as np
from numpy.typing import NDArray

from pyptx._binding import ARRAY_CONVERSION
from pyptx._emulator import (
    Completion,
    Emulation,
    Map,
    Report,
    Tensor,
    Value,
    device_array,
    on_device,
    run,
)
from pyptx._launch.call import Call
from pyptx._launch.plan import (
    Argument,
    Bytes,
    EarlierResult,
    InputAddress,
    InputValue,
    Integer,
    Launch,
    MapArgument,
    OutputAddress,
)
from pyptx._runtime import sanitizing, scalars, targets
from pyptx._runtime.shortcut import Shortcut
from pyptx.errors import CallError

Array: TypeAlias = NDArray[Any]

THREADS: Final = "PYPTX_EMULATOR_THREADS"
SANITIZE: Final = "PYPTX_EMULATOR_SANITIZE"
INSTRUCTIONS: Final = "PYPTX_EMULATOR_INSTRUCTIONS"
SECONDS: Final = "PYPTX_EMULATOR_SECONDS"

scalars_by_value: Final = True
"""Scalars are numbers on the host and go into the launch as they are."""

conversion: Final = ARRAY_CONVERSION


def scalar(value: object, dtype: str, name: str) -> Array:
    """A run-time scalar as an operand: an array of rank 0."""
    scalars.check(value, dtype, name)
    return np.asarray(value, dtype=dtype)


def launch(call: Call, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Run `call` in the emulator. Raises EmulationError for what the kernel did wrong.

    $PYPTX_EMULATOR_THREADS is the number of host threads (all cores), $PYPTX_EMULATOR_SANITIZE=1
    adds the sanitizer, $PYPTX_EMULATOR_INSTRUCTIONS and $PYPTX_EMULATOR_SECONDS are what a launch
    may take (`max_launch_instructions` and `max_seconds` of `pyptx._emulator.run`); the same
    variables hold for JAX on the CPU.
    """
    observers = sanitizing.observers()
    done = emulate(
        call,
        arrays,
        sanitize=bool(observers or _setting(SANITIZE)),
        statistics=any(observer.statistics for observer in observers),
        threads=_setting(THREADS) or None,
        max_launch_instructions=_setting(INSTRUCTIONS) or None,
        max_seconds=_setting(SECONDS) or None,
    )
    kept = [observer.keep(done.reports) for observer in observers]
    if not kept or not all(kept) or done.report.status == "stopped":
        done.report.check()
    return done.outputs


def describe(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands have their shape and NumPy's type as they are."""
    return operands


def launch_with_scalars(
    call: Call, operands: Sequence[Any], arrays: Sequence[Any], shortcut: Shortcut
) -> tuple[Any, ...]:
    """`launch` of an operation with scalars."""
    del arrays, shortcut
    return launch(call, operands)


def remembered(
    call: Call, operands: Sequence[Any], shortcut: Shortcut
) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """What launches the call on other arrays of the same classes, shapes and types."""
    del operands, shortcut
    return partial(launch, call)


def _setting(variable: str) -> int:
    text = os.environ.get(variable, "0")
    if not text.isdecimal():
        raise CallError(f"{variable} is {text!r} and must be a number")
    return int(text)


def emulate(
    call: Call,
    arrays: Sequence[Array],
    *,
    sanitize: bool = True,
    threads: int | None = None,
    max_instructions: int | None = None,
    max_launch_instructions: int | None = None,
    max_seconds: float | None = None,
    seed: int | None = None,
    schedules: int | None = None,
    statistics: bool = False,
    completion: Completion | None = None,
    clear: bool = False,
    watch: Sequence[tuple[bool, int, int, int]] = (),
) -> Emulation:
    """Run `call` in the emulator and keep its report; findings do not raise.

    The options are those of `_emulator.run`, but that `watch` are bytes of the call's tensors:
    whether of a result, its number, where they begin, and how many. With `clear`, results hold
    zeros before the first step instead of anything. Raises EmulationError where the kernel has
    instructions that are not emulated.
    """
    call = call.lowered_for(targets.emulated())
    images = [code.image() for code in call.code]
    # Sectors are counted as on a device, where tensors start at multiples of 256 bytes.
    buffers = _Arrays.of(call, arrays, images, copy=statistics, clear=clear)
    ranges = [buffers.range(*part) for part in watch]
    reports: list[Report] = []
    for launch, image in zip(buffers.launches, images, strict=True):
        if not launch.skipped:
            buffers.fill(launch)
        if launch.empty:
            for index in launch.zeros:
                buffers.results[index][...] = 0
            reports.append(Report(launch.kernel, "ok", ""))
            continue
        report = run(
            image,
            buffers.arguments(launch),
            grid=launch.grid,
            block=launch.block,
            cluster=launch.cluster,
            cooperative=launch.cooperative,
            dynamic_shared=launch.shared,
            sanitize=sanitize,
            threads=threads,
            max_instructions=max_instructions,
            max_launch_instructions=max_launch_instructions,
            max_seconds=max_seconds,
            seed=seed,
            schedules=schedules,
            statistics=statistics,
            completion=completion,
            watch=ranges,
        )
        reports.append(report)
        if report.status == "stopped":
            break
        buffers.written.update(a.index for a in launch.arguments if isinstance(a, OutputAddress))
    return Emulation(tuple(buffers.results[: len(call.outputs)]), tuple(reports))


def _copy(array: Array) -> Array:
    copy = device_array(array.shape, array.dtype)
    copy[...] = array
    return copy


_NOTHING: Final = (frozenset[int](), frozenset[int]())


@dataclass(frozen=True, slots=True)
class _Arrays:
    """The arrays of a call, and its launches; `written` are the results that have values so far."""

    call: Call
    launches: tuple[Launch, ...]
    inputs: Sequence[Array]
    results: Sequence[Array]
    written: set[int]
    launched: list[Launch] = field(default_factory=list[Launch])

    @staticmethod
    def of(
        call: Call, arrays: Sequence[Array], images: Sequence[bytes], *, copy: bool, clear: bool
    ) -> _Arrays:
        """Those of a call: inputs where they are, if that will do, unless it is to `copy` them."""
        shapes = [array.shape for array in arrays]
        tensors = (*call.outputs, *call.scratch)
        result_shapes = (*call.output_shapes(shapes), *call.scratch_shapes(shapes))
        launches = call.plan.evaluate(shapes, result_shapes)
        updated = {source for source, _ in call.aliases}
        inputs = [
            _copy(array) if copy or i in updated else on_device(array, *images)
            for i, array in enumerate(arrays)
        ]
        results = [
            device_array(shape, tensor.dtype)
            for tensor, shape in zip(tensors, result_shapes, strict=True)
        ]
        for result in results if clear else ():
            result[...] = np.zeros((), result.dtype)
        for source, target in call.aliases:
            results[target] = inputs[source]
        return _Arrays(call, launches, inputs, results, {target for _, target in call.aliases})

    def range(self, output: bool, number: int, start: int, size: int) -> tuple[int, int]:
        """The address and the size of bytes of a tensor."""
        return (self.results if output else self.inputs)[number].ctypes.data + start, size

    def fill(self, launch: Launch) -> None:
        """What results hold before the kernel starts."""
        for index, value in launch.init:
            result = self.results[index]
            result[...] = np.frombuffer(value, result.dtype)[0]
            self.written.add(index)

    def arguments(self, launch: Launch) -> list[Tensor | Map | Value | bytes]:
        """What the emulator takes for the arguments of the next launch."""
        early = launch.programmatic_stream_serialization and bool(self.launched)
        stored, loaded = self._touched(self.launched[-1]) if early else _NOTHING
        self.launched.append(launch)
        taken: list[Tensor | Map | Value | bytes] = []
        for each in launch.arguments:
            value = self.argument(launch, each)
            if isinstance(value, Tensor) and early:
                at = value.array.ctypes.data
                value = replace(value, stored_before=at in stored, loaded_before=at in loaded)
            taken.append(value)
        return taken

    def _touched(self, launch: Launch) -> tuple[frozenset[int], frozenset[int]]:
        """The addresses of the tensors that a launch may store to, and may load from."""
        stored: set[int] = set()
        loaded: set[int] = set()
        for argument in launch.arguments:
            place = argument.buffer if isinstance(argument, MapArgument) else argument
            match place:
                case InputAddress(index):
                    loaded.add(self.inputs[index].ctypes.data)
                case OutputAddress(index):
                    stored.add(self.results[index].ctypes.data)
                case EarlierResult(index):
                    loaded.add(self.results[index].ctypes.data)
                case _:
                    pass
        return frozenset(stored), frozenset(loaded)

    def argument(self, launch: Launch, argument: Argument) -> Tensor | Map | Value | bytes:
        """What the emulator takes for an argument of a launch."""
        match argument:
            case InputValue(index):
                return self.inputs[index].tobytes()
            case Integer():
                return argument.value
            case Bytes(data, align):
                return Value(data, align)
            case MapArgument(buffer, name, described, sizes, strides):
                arrays = self.inputs if isinstance(buffer, InputAddress) else self.results
                axes = (tuple(map(int, each)) for each in (sizes, strides))
                return Map(arrays[buffer.index], name, described, *axes)
            case InputAddress(index):
                shared = any(source == index for source, _ in self.call.aliases)
                return Tensor(self.inputs[index], self.call.inputs[index].name, writable=shared)
            case OutputAddress(index) | EarlierResult(index):
                return self._result(launch, index, read=isinstance(argument, EarlierResult))

    def _result(self, launch: Launch, index: int, *, read: bool) -> Tensor:
        known = index in self.written
        return Tensor(
            self.results[index],
            (*self.call.outputs, *self.call.scratch)[index].name,
            writable=not read,
            initialised=known,
            complete=not read and not known and index in launch.complete,
        )
