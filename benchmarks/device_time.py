"""Time on the device, from CUPTI's records of every kernel and copy, whoever launched it.

PyTorch's profiler collects the activity of the whole process, so what XLA and pyptx launch is in it
as much as what PyTorch launches itself.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

ACTIVITIES: Final = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES: Final = ("cuda_runtime", "cuda_driver")
FLUSH_BYTES: Final = 256 * 2**20
"""More than four times the L2 cache of an H200."""


@dataclass(frozen=True, slots=True)
class Activity:
    """A kernel, copy or fill on the device. Times are in microseconds.

    Everything that one launch started shares its `correlation`, the nodes of a graph too.
    """

    name: str
    start: float
    duration: float
    correlation: int

    @property
    def end(self) -> float:
        return self.start + self.duration


@dataclass(frozen=True, slots=True)
class Trace:
    """What the device did while the profiler watched, in the order it began."""

    activities: tuple[Activity, ...]
    launches: tuple[str, ...]
    """Names of the calls of the CUDA libraries that the profiler recorded, each once."""


class Flush:
    """Fills a buffer far larger than the L2 cache, so that nothing of an earlier call is left."""

    # The functor of PyTorch's fill, by which a trace shows where a call begins.
    MARK: Final = "FillFunctor"

    def __init__(self) -> None:
        self._buffer: Any = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self._value = 0

    def __call__(self) -> None:
        self._value = (self._value + 1) % 256
        self._buffer.fill_(self._value)


def profile(run: Callable[[], object]) -> Trace:
    """Everything the device did during `run`."""
    torch.cuda.synchronize()
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profiler:
        run()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return read_trace(json.loads(path.read_text()))


def read_trace(trace: dict[str, Any]) -> Trace:
    """The device's part of a Chrome trace."""
    events: list[dict[str, Any]] = trace["traceEvents"]
    found = [
        Activity(event["name"], event["ts"], event["dur"], int(event["args"].get("correlation", 0)))
        for event in events
        if event.get("cat") in ACTIVITIES
    ]
    names = (str(event["name"]) for event in events if event.get("cat") in LAUNCHES)
    return Trace(tuple(sorted(found, key=lambda a: a.start)), tuple(dict.fromkeys(names)))


def flushed_calls(call: Callable[[], object], count: int, flush: Flush) -> list[list[Activity]]:
    """The activities of each of `count` calls, every one with a cold L2 cache.

    The device is idle when a call begins, so its kernels do not overlap with the fill.
    """

    def run() -> None:
        for _ in range(count):
            flush()
            torch.cuda.synchronize()
            call()
            torch.cuda.synchronize()

    calls = split(profile(run).activities)
    if len(calls) != count or not all(calls):
        raise RuntimeError(f"the profiler shows {len(calls)} of {count} calls, or one without work")
    return calls


def split(activities: Iterable[Activity]) -> list[list[Activity]]:
    """The activities after each fill of the flush buffer."""
    calls: list[list[Activity]] = []
    for activity in activities:
        if Flush.MARK in activity.name:
            calls.append([])
        elif calls:
            calls[-1].append(activity)
    return calls


def busy(call: Sequence[Activity]) -> float:
    """Time of all kernels of a call, in microseconds; the gaps between them do not count."""
    return sum(activity.duration for activity in call)


def span(activities: Sequence[Activity]) -> float:
    """From the first kernel's begin to the last one's end, in microseconds."""
    return max(a.end for a in activities) - min(a.start for a in activities)


def by_events(call: Callable[[], object], count: int, flush: Flush) -> list[float]:
    """The same by CUDA events around calls on PyTorch's stream, in microseconds.

    An event pair also counts the time between the records and the kernel, a few microseconds.
    """
    readings: list[float] = []
    for _ in range(count):
        flush()
        # Enough queued work that the call is submitted before the device reaches it.
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        readings.append(begin.elapsed_time(end) * 1000)
    return readings
