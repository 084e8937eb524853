"""The core's functions as Python sees them: programs, source lines, launches."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Final, Self

from pyptx._ir import Instruction, Kernel
from pyptx._native import loader
from pyptx._recent import IMAGES, Recent
from pyptx._source import UNKNOWN, SourceLocation
from pyptx.errors import EmulationError


class Program:
    """A program image that the core has read. Raises EmulationError for one that it cannot run.

    The message names every spelling that is not emulated. Safe to use from several threads.
    """

    def __init__(self, image: bytes) -> None:
        self._api = loader.emulator()
        error = ctypes.c_char_p()
        self._handle = self._api.program_create(image, len(image), ctypes.byref(error))
        if not self._handle:
            raise EmulationError((error.value or b"the core gave no reason").decode())
        self.image = image
        self.instructions: int = self._api.program_instructions(self._handle)
        self.param_bytes: int = self._api.program_param_bytes(self._handle)
        self.shared_bytes: int = self._api.program_shared_bytes(self._handle)
        self.alignment: int = self._api.program_alignment(self._handle)

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            self._api.program_destroy(handle)
            self._handle = None

    def launch(self, launch: loader.Launch) -> Result:
        """Run a launch to its end, without the interpreter's lock.

        On the main thread Python's signal handlers run meanwhile. What one raises, as that of
        Ctrl-C does, ends the launch and is raised here.
        """
        signals = None
        if threading.current_thread() is threading.main_thread():
            signals = _signals()
            launch.signals = ctypes.pointer(signals)
        result = Result(self._api, self._api.launch(self._handle, ctypes.byref(launch)))
        if signals is not None and signals.raised[0]:
            result.__exit__(None, None, None)
            _restore(*signals.raised)
        return result


def _signals() -> loader.Signals:
    """CPython's functions by which the core lets signal handlers run."""
    python = ctypes.pythonapi
    functions = (
        python.PyGILState_Ensure,
        python.PyGILState_Release,
        python.PyErr_CheckSignals,
        python.PyErr_Fetch,
    )
    return loader.Signals(*(ctypes.cast(function, ctypes.c_void_p) for function in functions))


def _restore(*raised: int | None) -> None:
    """Raise what a signal handler raised: its type, value and traceback, which are taken."""
    restore = ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 3)(("PyErr_Restore", ctypes.pythonapi))
    restore(*raised)


class Result:
    """What a launch left: read it inside `with`."""

    def __init__(self, api: loader.EmulatorApi, handle: int | None) -> None:
        if not handle:
            raise EmulationError("no memory left for the emulator")
        self._api = api
        self._handle = handle

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._api.result_destroy(self._handle)

    @property
    def status(self) -> int:
        return self._api.result_status(self._handle)

    @property
    def message(self) -> str:
        return self._api.result_message(self._handle).decode()

    @property
    def json(self) -> str:
        return self._api.result_json(self._handle).decode()

    @property
    def instructions(self) -> int:
        """Warp-instructions that were executed."""
        return self._api.result_instructions(self._handle)

    @property
    def printed(self) -> str:
        """What the kernel printed; bytes that are no UTF-8 are replaced."""
        count = ctypes.c_uint64()
        start = self._api.result_printed(self._handle, ctypes.byref(count))
        return ctypes.string_at(start, count.value).decode(errors="replace")

    def visits(self) -> list[tuple[int, int, int, int, int, bool]]:
        """Of the watched ranges: range, instruction, CTA, warp, lanes, and whether they store."""
        count = ctypes.c_uint64()
        rows = self._api.result_visits(self._handle, ctypes.byref(count))
        found = (rows[i] for i in range(count.value))
        return [(v.watch, v.instruction, v.cta, v.warp, v.lanes, bool(v.store)) for v in found]

    def statistics(self) -> list[tuple[int, ...]]:
        """The counters of each instruction; empty unless the launch asked for them."""
        count = ctypes.c_uint64()
        rows = self._api.result_statistics(self._handle, ctypes.byref(count))
        names = [field[0] for field in loader.Statistics._fields_]
        return [tuple(getattr(rows[i], n) for n in names) for i in range(count.value)]


@lru_cache(maxsize=256)
def program(image: bytes) -> Program:
    """The program of an image, read once and kept while it is in use."""
    return Program(image)


class Sources:
    """What tells the core the source lines of an image, and does so again where it may not know.

    The core keeps those of `_TABLES` images at least.
    """

    def __init__(self, register: Callable[[], None]) -> None:
        self._register = register
        self._registered: int | None = None

    def keep(self) -> None:
        """Register them, unless that was done lately."""
        count = _registrations[0]
        if self._registered is None or count - self._registered >= _TABLES:
            self._register()
            self._registered = _registrations[0]


_TABLES: Final = 512
_registrations = [0]


def register_sources(
    image: bytes,
    kernel: Kernel,
    locations: Sequence[SourceLocation] | None = None,
    *,
    defined: SourceLocation = UNKNOWN,
    registers: Sequence[str] = (),
) -> None:
    """Tell the core the Python line of each instruction of an image, and the names of its tensors.

    Findings and statistics of every launch of this image in this process then name them.
    `locations` are those lines, where they are not those of the kernel's instructions. `defined` is
    where the kernel is, for findings that no instruction is to blame for. `registers` are the names
    that a file gives the registers of the program, in the order of the image.
    """
    api = loader.emulator()
    locations = source_locations(kernel) if locations is None else tuple(locations)
    lines = (loader.SourceLine * len(locations))()
    texts = {each: each.text.encode() for each in {*locations, defined}}  # of a line once
    for line, location in zip(lines, locations, strict=True):
        _describe(line, location, texts[location])
    names = [p.name.encode() for p in kernel.parameters if p.tensor]
    tensors = (ctypes.c_char_p * len(names))(*names)
    place = loader.SourceLine()
    _describe(place, defined, texts[defined])
    known = (ctypes.c_char_p * len(registers))(*(name.encode() for name in registers))
    tensor_names, register_names = (tensors, len(names)), (known, len(registers))
    at = ctypes.byref(place)
    api.register_source(image, len(image), lines, len(lines), *tensor_names, at, *register_names)
    _registrations[0] += 1
    _locations.keep(image, locations)


def _describe(line: loader.SourceLine, location: SourceLocation, text: bytes) -> None:
    if location != UNKNOWN:
        line.file, line.line, line.text = location.file.encode(), location.line, text


_locations: Final[Recent[tuple[SourceLocation, ...]]] = Recent(IMAGES)


def registered_locations(image: bytes) -> tuple[SourceLocation, ...]:
    """The Python lines registered for an image, () if none are."""
    return _locations.get(image) or ()


def source_locations(kernel: Kernel) -> tuple[SourceLocation, ...]:
    """The Python line of each instruction, in the order of the image."""
    return tuple(s.location for s in kernel.body if isinstance(s, Instruction))
