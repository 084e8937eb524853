"""`pyptx.sanitize()`: every launch in the emulator with all checks, in compiled programs too."""

from __future__ import annotations

import ctypes
import importlib
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Protocol

from pyptx._calls import constructing
from pyptx._emulator import Finding, Report, set_schedules
from pyptx._emulator.report import report_from
from pyptx._native import loader
from pyptx._source import caller
from pyptx._trace.core.values import integer
from pyptx._tracebacks import shortened
from pyptx.errors import CallError, DeviceError, EmulationError

_MESSAGE: Final = 0
_JSON: Final = 1
_OF_JAX: Final = "JaxRuntimeError"
_MOST_SCHEDULES: Final = 2**31
_SCHEDULES: Final[list[int]] = []
"""What the blocks that are open ask for."""


class Observer(Protocol):
    """Who is told of the launches that this process makes from Python."""

    statistics: bool
    """Whether launches count per Python line; eager calls of JAX then run as NumPy's do."""

    def keep(self, reports: Sequence[Report]) -> bool:
        """Take the reports of a call. Returns whether findings need not be raised at the call."""
        ...


_observers: Final[list[Observer]] = []
_lock: Final = threading.Lock()


def observers() -> tuple[Observer, ...]:
    """Those who observe now; empty outside of `sanitize` and `pyptx run`."""
    return tuple(_observers) if _observers else ()


def observe(observer: Observer) -> None:
    with _lock:
        _observers.append(observer)


def forget(observer: Observer) -> None:
    with _lock:
        _observers.remove(observer)


@dataclass
class Sanitized:
    """What `with pyptx.sanitize() as s` gives; filled when the block ends.

    `launches` ran with all checks, `findings` are theirs, each once.
    """

    launches: int = 0
    findings: tuple[Finding, ...] = ()


@constructing(CallError, "pyptx.sanitize")
class sanitize:  # noqa: N801  # written as a function is
    """A context manager: kernels in the emulator run with all checks; its end raises the findings.

        with pyptx.sanitize():
            state = train_step(state, batch)  # under jax.jit on a CPU

    It checks every launch of the process in the emulator: eager calls, compiled programs
    (`jax.jit`, `jax.vmap`, gradients, arrays sharded over several CPU devices) and calls on NumPy
    arrays, from every thread. Programs compiled before are checked too, and nothing is compiled
    again. Outside the block, launches do not become slower. $PYPTX_EMULATOR_SANITIZE=1 checks a
    whole process; then a launch with findings raises the error itself.

    Inside the block, a launch with findings runs to its end and the program continues. A launch
    that cannot continue, for example after an access out of bounds, raises its error as usual. The
    end of the block waits for the launches of this thread, and raises EmulationError. Its message
    has each finding once, at the Python line; its `findings` are the same as objects. Another error
    that leaves the block is not replaced, and gets the findings as a note. Launches of other
    threads are checked too, and reported if they have ended by then. If several blocks are open at
    the same time, each reports the findings of all launches.

    `schedules=64` runs each launch in up to 64 orders of its CTAs, warps and copies until one has
    findings, each time from the same memory; the results are those of the first. Use it for kernels
    with a control flow that depends on the order. The findings name the seed that repeats them.

    Launches on a GPU are not checked; `launches` of the object that `with` returns counts the
    launches that were. Raises EmulationError for findings, DeviceError if the native library is
    from another build, and CallError inside a function that JAX traces, because nothing runs there.
    """

    def __init__(self, *, schedules: int = 1) -> None:
        found = integer(schedules)
        if found is None or not 1 <= found < _MOST_SCHEDULES:
            raise CallError(
                f"schedules={schedules!r} is not a whole number from 1 to 2**31 - 1",
                location=caller(),
                notes=(("help", "schedules=64"),),
            )
        self._schedules = found
        self._open: list[_Open] = []

    def __enter__(self) -> Sanitized:
        if "jax" in sys.modules:
            _jax().refuse_tracing("pyptx.sanitize()", caller())
        entered = _Open()
        _SCHEDULES.append(self._schedules)
        set_schedules(max(_SCHEDULES))
        self._open.append(entered)
        return entered.sanitized

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        entered = self._open.pop()
        try:
            if "jax" in sys.modules and not isinstance(error, KeyboardInterrupt):
                _jax().wait()
        finally:
            entered.close()
            _SCHEDULES.remove(self._schedules)
            set_schedules(max(_SCHEDULES, default=1))
        found = entered.error()
        if found is None:
            return
        if error is None or _says(error, entered.reports):
            try:
                raise found from None
            except EmulationError:
                found.__traceback__ = shortened(found.__traceback__)
                raise
        error.add_note(f"pyptx.sanitize() found:\n{found}")


class _Open:
    """A block that is open: what NumPy's launches are told to, and where the handler's begin."""

    statistics = False

    def __init__(self) -> None:
        self.sanitized = Sanitized()
        self.reports: list[Report] = []
        self._beyond = 0
        self._native = _Native.load()
        self._begin = self._native.open() if self._native else _Counts()
        observe(self)

    def keep(self, reports: Sequence[Report]) -> bool:
        with _lock:
            self.sanitized.launches += len(reports)
            self.reports += [report for report in reports if report.findings]
        return True

    def close(self) -> None:
        forget(self)
        if self._native is not None:
            now = self._native.counts()
            kept = [self._native.report(i) for i in range(self._begin.kept, now.kept)]
            self._native.close()
            self._beyond = now.found - self._begin.found - len(kept)
            self.sanitized.launches += now.launches - self._begin.launches
            self.reports += kept
        self.sanitized.findings = tuple(
            finding for report, _ in _distinct(self.reports) for finding in report.findings
        )

    def error(self) -> EmulationError | None:
        """All findings as one error, None where there are none."""
        if not self.reports and not self._beyond:
            return None
        parts: list[str] = []
        for report, times in _distinct(self.reports):
            again = f"  launches: {times} with these findings\n" if times > 1 else ""
            parts.append(f"{report.message.rstrip()}\n{again}")
        if self._beyond:
            parts.append(f"{self._beyond} more launches have findings, which were not kept\n")
        error = EmulationError("\n".join(part.rstrip() for part in parts))
        error.findings = self.sanitized.findings
        return error


def _distinct(reports: Sequence[Report]) -> list[tuple[Report, int]]:
    """Reports that found different things, and how many launches found the same."""
    found: dict[object, tuple[Report, int]] = {}
    for report in reports:
        lines = tuple((f.kind, f.site.ptx, f.site.location, f.tensor) for f in report.findings)
        first, times = found.get((report.kernel, lines), (report, 0))
        found[report.kernel, lines] = first, times + 1
    return list(found.values())


def _says(error: BaseException, reports: Sequence[Report]) -> bool:
    """Whether an error is a launch's own, which the findings say again."""
    if type(error).__name__ != _OF_JAX and not isinstance(error, EmulationError):
        return False
    return any(report.message.rstrip() in str(error) for report in reports)


def _jax() -> Any:
    return importlib.import_module("pyptx._runtime.jax.runtime")  # it imports JAX


# ---- the handler of compiled programs ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Counts:
    """Launches that the handler checked, those with findings, and those of them that it keeps."""

    launches: int = 0
    found: int = 0
    kept: int = 0


class _Native:
    """The functions of native/src/ffi/sanitizing.cc."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        try:
            library.pyptx_cpu_sanitized_text.restype = ctypes.c_int64
            library.pyptx_cpu_sanitized_text.argtypes = (
                ctypes.c_int64,
                ctypes.c_int32,
                ctypes.c_char_p,
                ctypes.c_int64,
            )
            library.pyptx_cpu_sanitized_status.argtypes = (ctypes.c_int64,)
        except AttributeError:
            raise DeviceError(
                "the native library is of another build, which cannot sanitize compiled programs",
                notes=(("help", "pip install . in a checkout builds it"),),
            ) from None

    @staticmethod
    def load() -> _Native | None:
        """None where there is no library, without which no kernel runs under JAX."""
        try:
            return _Native(loader.ffi_library())
        except DeviceError:
            if "jax" in sys.modules:
                raise
            return None

    def open(self) -> _Counts:
        self._library.pyptx_cpu_sanitize(1)
        return self.counts()

    def close(self) -> None:
        self._library.pyptx_cpu_sanitize(0)

    def counts(self) -> _Counts:
        numbers = [ctypes.c_int64() for _ in range(3)]
        self._library.pyptx_cpu_sanitized(*map(ctypes.byref, numbers))
        return _Counts(*(number.value for number in numbers))

    def report(self, index: int) -> Report:
        """The report of a launch that is kept."""
        return report_from(
            self._library.pyptx_cpu_sanitized_status(index),
            message=self._text(index, _MESSAGE),
            text=self._text(index, _JSON),
            instructions=0,
            seconds=0.0,
            printed="",
            statistics=(),
            locations=(),
            visits=(),
        )

    def _text(self, index: int, part: int) -> str:
        size = self._library.pyptx_cpu_sanitized_text(index, part, None, 0)
        text = ctypes.create_string_buffer(size + 1)
        self._library.pyptx_cpu_sanitized_text(index, part, text, size)
        return text.raw[:size].decode()
