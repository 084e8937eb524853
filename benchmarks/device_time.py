"""Time on the device, from CUPTI's records of every kernel and copy, whoever launched it.

PyTorch's profiler collects the activity of the whole process, so what XLA and pyptx launch is in it
as much as what PyTorch launches itself.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked. The
# driver's bindings have none.
# pyright: reportMissingTypeStubs=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import torch
from chrome_trace import Activity, Trace, read_trace, split
from cuda.bindings import driver

Key = TypeVar("Key")
FLUSH_BYTES: Final = 256 * 2**20
"""More than four times the L2 cache of an H200."""


class Flush:
    """Fills a buffer far larger than the L2 cache, so that nothing of an earlier call is left.

    A fill alone leaves lines that were read with the policy `evict_last`, as pyptx's norms and some
    kernels of torch.compile read them: who is next to read the same tensor would find them there.
    So all lines are made normal ones before it (CUDA Driver API, cuCtxResetPersistingL2Cache).
    """

    def __init__(self) -> None:
        self._buffer: Any = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
        self._value = 0

    def fill(self) -> None:
        """The fill alone."""
        self._value = (self._value + 1) % 256
        self._buffer.fill_(self._value)

    def __call__(self) -> None:
        torch.cuda.synchronize()
        (status,) = driver.cuCtxResetPersistingL2Cache()
        if status != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"cuCtxResetPersistingL2Cache: {status.name}")
        self.fill()


def profile(run: Callable[[], object]) -> Trace:
    """Everything the device did during `run`."""
    torch.cuda.synchronize()
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds, acc_events=True) as profiler:
        run()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return read_trace(json.loads(path.read_text()))


def flushed_sequence(
    calls: Sequence[Callable[[], object]], flush: Callable[[], None]
) -> list[list[Activity]]:
    """The activities of each of `calls`, made in this order, every one with a cold L2 cache.

    The device is idle when a call begins, so its kernels do not overlap with the fill.
    """

    def run() -> None:
        for call in calls:
            flush()
            torch.cuda.synchronize()
            call()
            torch.cuda.synchronize()

    found = split(profile(run).activities)
    if len(found) != len(calls) or not all(found):
        idle = sum(not call for call in found)
        raise RuntimeError(
            f"the profiler shows {len(found)} of {len(calls)} calls, {idle} of them without work"
        )
    return found


def flushed_calls(call: Callable[[], object], count: int, flush: Flush) -> list[list[Activity]]:
    """The activities of each of `count` calls, every one with a cold L2 cache."""
    return flushed_sequence([call] * count, flush)


def in_rounds(
    calls: Mapping[Key, Callable[[], object]], rounds: int, flush: Flush, *, warm: int
) -> dict[Key, list[list[Activity]]]:
    """The activities of each of `calls`, once in every round; `warm` rounds before are left out.

    Each round has an order by chance. A GPU that is hot, or that has drawn much current, lowers its
    clock: whoever always came after a light kernel would be faster.
    """
    chance = random.Random(0)
    order = [key for _ in range(warm + rounds) for key in chance.sample(list(calls), len(calls))]
    found: dict[Key, list[list[Activity]]] = {key: [] for key in calls}
    activities = flushed_sequence([calls[key] for key in order], flush)
    for key, each in zip(order, activities, strict=True):
        found[key].append(each)
    return {key: each[warm:] for key, each in found.items()}


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
