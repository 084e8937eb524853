"""Products made one after the other for seconds: the rate, and the GPU's clock and power meanwhile.

A GPU that would take more power than its limit lowers its clock. What the tensor cores could do at
the clock that it had is the bound of a kernel there; beyond it, only less energy for a product
helps. Random normal data; the L2 cache is as the call before left it; `nvidia-smi` reads the clock
and the power.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final

import jax
import torch
from matmul_table import SIZES, candidates
from measure import CONSOLE, Result, Summary, show, start, summarise

SECONDS: Final = 1.0
"""Of each candidate; clock and power are those of the second half."""
ROUND: Final = 0.1
"""Seconds between two waits for the device."""
LARGE: Final = tuple(size for size in SIZES if size[0] >= 2048)
LAYOUT: Final = "KN"
FLOP: Final = 4096
"""Of a multiprocessor in a clock, in bf16: m64n256k16 in 128 clocks (H100 whitepaper, table 2)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The clock of the multiprocessors in MHz and the power in W, at a time."""

    at: float
    clock: float
    power: float


class Watch:
    """Reads clock and power while it is open, each 50 ms."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def __enter__(self) -> Watch:
        gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        query = "--query-gpu=clocks.sm,power.draw.instant"
        command = ["nvidia-smi", f"--id={gpu}", query, "--format=csv,noheader,nounits", "-lms=50"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._reader = Thread(target=self._read)
        self._reader.start()
        return self

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            clock, power = map(float, line.split(","))
            self.readings.append(Reading(time.monotonic(), clock, power))

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._reader.join()


def measure(device: dict[str, object]) -> Result:
    """Every product of many rows, by every candidate."""
    result = start("matmul_power", device, seconds=SECONDS, dtype="bf16", layout=LAYOUT)
    result.settings["limit"] = device.get("power.limit")
    count = int(torch.cuda.get_device_properties(0).multi_processor_count)
    for sizes in LARGE:
        for who, (call, _) in candidates(sizes, LAYOUT, quack=False).items():
            result.put(measured(sizes, who, call, count, Watch()))
        CONSOLE.print(f"{sizes}")
    return result


def report(result: Result) -> None:
    """The table, with clock, power, and the share of what the tensor cores do at that clock."""
    show(result, {
        "MHz": lambda m: f"{m.notes['clock']:.0f}",
        "W": lambda m: f"{m.notes['power']:.0f}",
        "of peak": lambda m: f"{m.notes['share']:.1%}",
    })  # fmt: skip


def measured(
    sizes: tuple[int, int, int],
    who: str,
    call: Callable[[], object],
    count: int,
    watch: AbstractContextManager[Any],
) -> Summary:
    """One candidate on a GPU of `count` multiprocessors."""
    m, n, k = sizes
    with watch as watched:
        rates = rates_of(call, 2e-12 * m * n * k)
        end = time.monotonic()
    late = [each for each in watched.readings if end - SECONDS / 2 <= each.at <= end]
    if not late:
        raise RuntimeError("nvidia-smi gave no readings")
    clock, power = (
        statistics.median(x) for x in zip(*((r.clock, r.power) for r in late), strict=True)
    )
    middle = statistics.median(rates)
    return summarise(
        f"{m} x {n} x {k}: {who}", "TFLOP/s", rates, candidate=who, m=m, n=n, k=k, clock=clock,
        power=power, share=round(middle / (1e-6 * FLOP * count * clock), 4),
    )  # fmt: skip


def rates_of(call: Callable[[], object], work: float) -> Sequence[float]:
    """TFLOP/s of each round of calls; `work` is of one call, in TFLOP."""
    for _ in range(3):
        _finish(call())
    begin = time.monotonic()
    _finish(call())
    calls = max(1, round(ROUND / (time.monotonic() - begin)))
    rates: list[float] = []
    end = time.monotonic() + SECONDS
    while (now := time.monotonic()) < end:
        for _ in range(calls - 1):
            call()
        _finish(call())
        rates.append(work * calls / (time.monotonic() - now))
    return rates[len(rates) // 2 :]


def _finish(found: object) -> None:
    jax.block_until_ready(found)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
