"""Launching a program image on NumPy arrays."""

from __future__ import annotations

import ctypes
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pyptx._emulator.core import Program, program, registered_locations
from pyptx._emulator.report import Report, joined, report_from
from pyptx._emulator.tensor_map import encode_map
from pyptx._layouts import MapError, TensorMap
from pyptx._layouts.tensor_map import MAP_ALIGN
from pyptx._native import loader
from pyptx._spec import advice
from pyptx.errors import EmulationError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    Array: TypeAlias = NDArray[Any]

ALIGNMENT: Final = 256
"""Device memory starts at multiples of this, so kernels may rely on it."""

_READ_ONLY, _UNINITIALISED, _COMPLETE = 1, 2, 4
_STORED_BEFORE, _LOADED_BEFORE = 8, 16
_SANITIZE_ALL: Final = 7
_RANDOM_SCHEDULE: Final = 1
_INVALID: Final = 3

Completion: TypeAlias = Literal["eager", "late", "reversed", "random"]
"""When an asynchronous operation moves its data: as soon as it is issued; when nothing else can
run, in order or the latest first; at a time that the seed decides."""
_COMPLETIONS: Final[dict[Completion | None, int]] = {
    None: 0,
    "eager": 0x100,
    "late": 0x200,
    "reversed": 0x300,
    "random": 0x400,
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """A kernel argument that is the address of an array.

    The array is contiguous and starts at a multiple of the program's widest access, as those of
    `device_array` and `on_device` do.
    A store to it is a finding unless it is `writable`; with the sanitizer, so is a load of what
    nothing has stored, unless it is `initialised`. Of one that is `complete`, an element that the
    launch never writes is a finding. `name` is for findings. If the launch before this one stores
    to it or loads from it and may not have ended (`stored_before`, `loaded_before`), a conflicting
    access before griddepcontrol.wait is a finding.
    """

    array: Array
    name: str = ""
    writable: bool = False
    initialised: bool = True
    complete: bool = False
    stored_before: bool = False
    loaded_before: bool = False


@dataclass(frozen=True, slots=True)
class Map:
    """A kernel argument that is the tensor map of an array; `sizes` and `strides` as it has them.

    The array is another argument too, as a `Tensor`.
    """

    array: Array
    name: str
    map: TensorMap
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def encode(self) -> bytes:
        """The map as the emulator reads it. Raises EmulationError for a broken rule."""
        try:
            return encode_map(self.map, self.array.ctypes.data, self.sizes, self.strides)
        except MapError as error:
            problem = f"the tensor map of {self.name}: {error.problem}"
            raise EmulationError(problem, notes=advice(error)) from None


@dataclass(frozen=True, slots=True)
class Value:
    """A kernel argument that is passed by value, at a multiple of `align` bytes."""

    data: bytes
    align: int


Argument: TypeAlias = Tensor | Map | Value | bytes
"""A tensor, its map, or a value: as bytes, one that is aligned to its size."""


@dataclass(frozen=True, slots=True)
class Emulation:
    """The arrays that a call wrote, and a report of each of its launches, in order."""

    outputs: tuple[Array, ...]
    reports: tuple[Report, ...]

    def __repr__(self) -> str:
        shapes = ", ".join(f"{each.shape} {each.dtype}" for each in self.outputs)
        return f"<emulation: outputs {shapes or 'none'}; {self.report!r}>"

    @property
    def report(self) -> Report:
        """The reports as one; that of the launch, where a call has only one."""
        return joined(self.reports)


def device_array(shape: Sequence[int], dtype: DTypeLike) -> Array:
    """An uninitialised contiguous array that is aligned as device memory is."""
    import numpy as np  # with the first array: it is a third of the time to import pyptx

    kind = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(kind).reshape(tuple(shape))


def on_device(array: Array, *images: bytes) -> Array:
    """The array itself if programs may load from it where it is, otherwise a device copy."""
    widest = max(program(image).alignment for image in images)
    if array.flags.c_contiguous and array.ctypes.data % widest == 0:
        return array
    copy = device_array(array.shape, array.dtype)
    copy[...] = array
    return copy


def run(
    image: bytes,
    arguments: Sequence[Argument],
    *,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    cluster: tuple[int, int, int] = (1, 1, 1),
    dynamic_shared: int = 0,
    sanitize: bool | int = False,
    threads: int | None = None,
    max_instructions: int | None = None,
    max_launch_instructions: int | None = None,
    max_seconds: float | None = None,
    seed: int | None = None,
    schedules: int | None = None,
    statistics: bool = False,
    completion: Completion | None = None,
    watch: Sequence[tuple[int, int]] = (),
    cooperative: bool = False,
) -> Report:
    """Run a program image on arrays, in place, and report.

    `arguments` are in the order of the kernel's parameters. `dynamic_shared` counts bytes.
    `sanitize` adds initialisation, races and synchronisation (or the flags of pyptx_emulator.h).
    `threads` are host threads at most, by default all cores; what a launch gives and what is found
    is the same for any number. `max_instructions` bounds a warp's instructions (2**28),
    `max_launch_instructions` those of all warps together (2**34), and `max_seconds` the time that
    the launch takes (600). `seed` runs CTAs and warps in a random order of that seed; with the
    sanitizer, strong loads then give older values where the memory model allows it. `schedules`
    are tried one after the other, with the sanitizer, until one has findings: the one that `seed`
    and `completion` say, then those of the seeds that follow (as many as `set_schedules` says).
    `completion` says when
    asynchronous operations move their data: by default "late" with the sanitizer, else "eager".
    `watch` are ranges of memory, each an address and a number of bytes: with the sanitizer,
    `Report.visits` has who touches them. A `cooperative` launch has a barrier for grid.sync() of
    CUDA.

    What the kernel prints with printf is written to standard output when it has ended.
    Findings do not raise: see `Report.check`. What a signal handler of Python raises, Ctrl-C for
    one, ends the launch and is raised. Raises EmulationError for an image that cannot run
    (its message names every spelling that is not emulated) and for a launch that is wrong itself.
    """
    prepared = program(image)
    schedule = _schedule(completion, seed)
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    buffers = (loader.Buffer * len(tensors))()
    shapes: list[Any] = []
    for buffer, tensor in zip(buffers, tensors, strict=True):
        shapes.append(_describe(buffer, tensor, prepared.alignment))
    params = _parameters(arguments)
    watches = (loader.Watch * len(watch))(*watch)
    launch = loader.Launch(
        size=ctypes.sizeof(loader.Launch),
        grid=grid,
        block=block,
        cluster=cluster if cluster != (1, 1, 1) else (0, 0, 0),
        dynamic_shared=dynamic_shared,
        sanitize=_SANITIZE_ALL if sanitize is True else int(sanitize),
        threads=threads or 0,
        schedule=schedule,
        seed=seed or 0,
        schedules=schedules or 0,
        cooperative=cooperative,
        max_instructions=max_instructions or 0,
        max_launch_instructions=max_launch_instructions or 0,
        max_seconds=max_seconds or 0,
        statistics=statistics,
        params=ctypes.cast(params, ctypes.c_void_p),
        param_bytes=len(params) - 1,
        buffers=buffers,
        buffer_count=len(tensors),
        watches=watches,
        watch_count=len(watches),
    )
    return _launch(prepared, launch)


def set_schedules(schedules: int) -> None:
    """How many schedules launches of this process try that do not say (1)."""
    loader.emulator().set_schedules(schedules)


def _schedule(completion: Completion | None, seed: int | None) -> int:
    if completion not in _COMPLETIONS:
        known = ", ".join(repr(name) for name in _COMPLETIONS if name)
        raise EmulationError(f"completion is {completion!r} and must be one of {known}")
    return (0 if seed is None else _RANDOM_SCHEDULE) | _COMPLETIONS[completion]


def _launch(prepared: Program, launch: loader.Launch) -> Report:
    begin = time.perf_counter()
    with prepared.launch(launch) as result:
        seconds = time.perf_counter() - begin
        if result.status == _INVALID:
            raise EmulationError(result.message)
        sys.stdout.write(result.printed)
        return report_from(
            result.status,
            message=result.message,
            text=result.json,
            instructions=result.instructions,
            seconds=seconds,
            printed=result.printed,
            statistics=result.statistics(),
            locations=registered_locations(prepared.image),
            visits=result.visits(),
        )


def _describe(buffer: loader.Buffer, tensor: Tensor, alignment: int) -> Any:
    array = tensor.array
    if not array.flags.c_contiguous or (array.size and array.ctypes.data % alignment):
        raise ValueError(f"{tensor.name or 'an array'} is not laid out as device memory is")
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    buffer.data = array.ctypes.data
    buffer.bytes = array.nbytes
    buffer.name = tensor.name.encode() if tensor.name else None
    buffer.shape = shape
    buffer.rank = array.ndim
    buffer.itemsize = array.itemsize
    buffer.flags = (
        (0 if tensor.writable else _READ_ONLY)
        | (0 if tensor.initialised else _UNINITIALISED)
        | (_COMPLETE if tensor.complete else 0)
        | (_STORED_BEFORE if tensor.stored_before else 0)
        | (_LOADED_BEFORE if tensor.loaded_before else 0)
    )
    return shape


def _parameters(arguments: Sequence[Argument]) -> ctypes.Array[ctypes.c_char]:
    """The parameter block: each argument at its alignment, as `encode` lays them out."""
    block = bytearray()
    for argument in arguments:
        value, align = _placed(argument)
        block += bytes(-len(block) % align) + value
    return ctypes.create_string_buffer(bytes(block))


def _placed(argument: Argument) -> tuple[bytes, int]:
    """The bytes of an argument, and what their offset is a multiple of."""
    match argument:
        case Tensor(array):
            return array.ctypes.data.to_bytes(8, "little"), 8
        case Map():
            return argument.encode(), MAP_ALIGN
        case Value(data, align):
            return data, align
        case _:
            return argument, max(len(argument), 1)


_MISSING: Final = re.compile(r"^  (?:.+:\d+: )?(\S+)  \(instruction (\d+): ", re.MULTILINE)


def unsupported(image: bytes) -> dict[int, str]:
    """The instructions of an image that the core does not run: index of the first use, spelling.

    Empty if it runs all. Raises EmulationError for a corrupt image.
    """
    try:
        Program(image)
    except EmulationError as error:
        found = {int(index): spelling for spelling, index in _MISSING.findall(str(error))}
        if not found:
            raise
        return found
    return {}
