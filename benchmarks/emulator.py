"""The emulator on the RMS normalization of 2048 x 8192, and what a kernel costs before it runs.

Needs no GPU. Speed is warp-instructions per second of a whole `emulate` call: one kernel launch of
2048 CTAs with inputs, outputs and report, with the checks that are always on, then with more.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

from kernels import (
    COLUMNS,
    ROWS,
    Floats,
    check,
    example_module,
    four_warps,
    inputs,
    reference,
)
from measure import Bar, Result, no_collection, seconds, show, start, summarise, turns

from pyptx import Kernel

RUNS: Final = 10
TRACES: Final = 20
IMPORTS: Final = 10
CHECKS: Final = {"always on": False, "initialisation and races": True}
IMPORT: Final = """
import sys, time
begin = time.perf_counter()
import pyptx
print(time.perf_counter() - begin)
assert "jax" not in sys.modules
"""


def measure(device: dict[str, object], runs: int = RUNS) -> Result:
    """Speed with one thread and two, and the times of importing and tracing."""
    result = start(
        "emulator", device, rows=ROWS, columns=COLUMNS, dtype="f32", runs=runs,
        counted="warp-instructions over the wall-clock time of a whole emulate() call",
    )  # fmt: skip
    kernel = four_warps(ROWS, COLUMNS)
    x, w = inputs(ROWS, COLUMNS)
    expected = reference(x, w)
    for name, speeds in time_runs(kernel, x, w, expected, runs).items():
        result.measurements.append(summarise(name, "M/s", speeds))
    for name, build in (("this kernel", four_warps), ("the example", example_module().build)):
        times = trace_times(build)
        result.measurements.append(summarise(f"trace, check and text of {name}", "ms", times))
    result.measurements.append(summarise("import pyptx, without JAX", "ms", import_times()))
    add_bars(result)
    return result


def time_runs(
    kernel: Kernel, x: Floats, w: Floats, expected: Any, runs: int
) -> dict[str, list[float]]:
    """Million warp-instructions per second of each run, by checks and number of threads."""
    threads = (1, 2) if len(os.sched_getaffinity(0)) > 1 else (1,)
    cases = {f"{name}, {count} thread{'s' * (count > 1)}": (on, count)
             for name, on in CHECKS.items() for count in threads}  # fmt: skip
    speeds: dict[str, list[float]] = {name: [] for name in cases}
    for sanitize, count in cases.values():
        done = kernel.emulate(x, w, sanitize=sanitize, threads=count)
        done.report.check()
        check(done.outputs[0], expected, f"emulator with {count} threads")
    with no_collection():
        for name in turns(tuple(cases), runs):
            sanitize, count = cases[name]
            speeds[name].append(speed(kernel, x, w, sanitize=sanitize, threads=count))
    return speeds


def speed(kernel: Kernel, x: Floats, w: Floats, *, sanitize: bool, threads: int) -> float:
    """Million warp-instructions per second of one emulation."""
    kept: list[Any] = []

    def run() -> None:
        kept.append(kernel.emulate(x, w, sanitize=sanitize, threads=threads, statistics=False))

    taken = seconds(run)
    return kept[0].report.instructions / taken / 1e6


def trace_times(build: Callable[..., Kernel]) -> list[float]:
    """Milliseconds from the Python function to the checked PTX text, in a warm process."""
    for _ in range(3):
        build(ROWS, COLUMNS).ptx()
    with no_collection():
        return [seconds(lambda: build(ROWS, COLUMNS).ptx()) * 1000 for _ in range(TRACES)]


def import_times() -> list[float]:
    """Milliseconds of `import pyptx` in fresh processes."""
    command = [sys.executable, "-c", IMPORT]
    times: list[float] = []
    for _ in range(IMPORTS + 1):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        times.append(float(done.stdout) * 1000)
    return times[1:]


def add_bars(result: Result) -> None:
    """A hundred million instructions a second, fifty with more checks; 1.6 times on two threads."""
    names = {m.name for m in result.measurements}
    for name, limit in (("always on", 100.0), ("initialisation and races", 50.0)):
        one, two = f"{name}, 1 thread", f"{name}, 2 threads"
        reached = result.median(one)
        result.bars.append(Bar(f"emulator, {name}", reached, limit, " M/s", at_least=True))
        if two in names:
            gain = result.median(two) / reached
            result.bars.append(Bar(f"two threads, {name}", gain, 1.6, "x", at_least=True))
    traced = result.median("trace, check and text of this kernel")
    result.bars.append(Bar("trace, check and text", traced, 10.0, " ms"))
    imported = result.median("import pyptx, without JAX")
    result.bars.append(Bar("import pyptx", imported, 150.0, " ms"))


def report(result: Result) -> None:
    """The table, with the emulator's time for the whole tensor."""
    show(result)
