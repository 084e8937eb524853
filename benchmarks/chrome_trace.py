"""What a device did, read from a Chrome trace that PyTorch's profiler writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

ACTIVITIES: Final = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES: Final = ("cuda_runtime", "cuda_driver")
FLUSH_MARK: Final = "FillFunctor"
"""The functor of PyTorch's fill, by which a trace shows where a call begins."""


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


def split(activities: Iterable[Activity]) -> list[list[Activity]]:
    """The activities after each fill of the flush buffer, which is what the device did first.

    Fills of other types, as a call may make them, have other names and belong to the call.
    """
    calls: list[list[Activity]] = []
    flush: str | None = None
    for activity in activities:
        if flush is None and FLUSH_MARK in activity.name:
            flush = activity.name
        if activity.name == flush:
            calls.append([])
        elif calls:
            calls[-1].append(activity)
    return calls


def split_at_gaps(activities: Sequence[Activity], count: int) -> list[list[Activity]]:
    """The activities in `count` runs, cut where the device was idle for longest."""
    ends = [max(a.end for a in activities[: i + 1]) for i in range(len(activities))]
    idle = [(activities[i + 1].start - ends[i], i + 1) for i in range(len(activities) - 1)]
    cuts = sorted(place for _, place in sorted(idle, reverse=True)[: count - 1])
    edges = (0, *cuts, len(activities))
    return [list(activities[a:b]) for a, b in itertools.pairwise(edges)]


def busy(call: Iterable[Activity]) -> float:
    """Time in which at least one kernel, copy or fill of a call ran, in microseconds.

    It is the union of their intervals: kernels that overlap, as a programmatic dependent launch
    lets them, count once, and the gaps between kernels do not count.
    """
    total, reached = 0.0, float("-inf")
    for activity in sorted(call, key=lambda a: a.start):
        total += max(0.0, activity.end - max(activity.start, reached))
        reached = max(reached, activity.end)
    return total


def span(activities: Sequence[Activity]) -> float:
    """From the first kernel's begin to the last one's end, in microseconds."""
    return max(a.end for a in activities) - min(a.start for a in activities)
