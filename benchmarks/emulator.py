"""The emulator on the RMS normalization of 2048 x 8192, and what a kernel costs before it runs.

Needs no GPU. Speed is warp-instructions per second of one launch of 2048 CTAs on tensors in memory,
as those of a JAX program are, with the checks that are always on, then with more. A whole `emulate`
call, which also allocates the output, is measured too, and so are products (emulated_products.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Final

import emulated_products
import numpy as np
from measure import (
    Bar,
    Result,
    in_fresh_processes,
    no_collection,
    seconds,
    show,
    start,
    summarise,
    turns,
)
from measured_kernels import (
    COLUMNS,
    ROWS,
    WARP,
    Floats,
    check,
    example_module,
    four_warps,
    inputs,
    reference,
)

from pyptx import Kernel
from pyptx._emulator import Tensor, device_array, encode, on_device, run

RUNS: Final = 10
TRACES: Final = 20
IMPORTS: Final = 10
# The flags of pyptx_emulator.h: initialisation 1, races 2.
CHECKS: Final = {"always on": 0, "initialisation and races": 3}
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
        counted="warp-instructions over the wall-clock time of a launch",
    )  # fmt: skip
    kernel = four_warps(ROWS, COLUMNS)
    x, w = inputs(ROWS, COLUMNS)
    expected = reference(x, w)
    for name, speeds in time_runs(kernel, x, w, expected, runs).items():
        result.measurements.append(summarise(name, "M/s", speeds))
    for name, unit, speeds in emulated_products.speeds(runs):
        result.measurements.append(summarise(name, unit, speeds))
    times = call_times(kernel, x, w, runs)
    result.measurements.append(summarise("a whole emulate() call, all cores", "ms", times))
    for name, build in (("this kernel", four_warps), ("the example", example_module().build)):
        times = trace_times(build)
        result.measurements.append(summarise(f"trace, check and text of {name}", "ms", times))
    imported = [taken * 1000 for taken in in_fresh_processes(IMPORT, IMPORTS)]
    result.measurements.append(summarise("import pyptx, without JAX", "ms", imported))
    add_bars(result)
    return result


class Launch:
    """One launch of the kernel, on tensors in memory."""

    def __init__(self, kernel: Kernel, x: Floats, w: Floats) -> None:
        module = kernel.module()
        self._image = encode(module.kernels[0], module.target)
        self.output = device_array(x.shape, np.float32)
        self._tensors = [
            Tensor(on_device(array, self._image), name) for name, array in (("X", x), ("W", w))
        ]

    def run(self, *, sanitize: int, threads: int) -> float:
        """Million warp-instructions per second."""
        # As `emulate` has the results of a kernel.
        output = Tensor(self.output, "Y", writable=True, initialised=False, complete=True)
        begin = time.perf_counter()
        report = run(
            self._image, [*self._tensors, output], grid=(ROWS, 1, 1), block=(4 * WARP, 1, 1),
            sanitize=sanitize, threads=threads,
        )  # fmt: skip
        taken = time.perf_counter() - begin
        report.check()
        return report.instructions / taken / 1e6


def time_runs(
    kernel: Kernel, x: Floats, w: Floats, expected: Any, runs: int
) -> dict[str, list[float]]:
    """Million warp-instructions per second of each run, by checks and number of threads."""
    launch = Launch(kernel, x, w)
    cases = {
        f"{name}, {count} thread{'s' * (count > 1)}": (flags, count)
        for name, flags in CHECKS.items()
        for count in (1, 2)
        if count <= len(os.sched_getaffinity(0))
    }
    speeds: dict[str, list[float]] = {name: [] for name in cases}
    for sanitize, count in cases.values():
        launch.output[...] = np.nan
        launch.run(sanitize=sanitize, threads=count)
        check(launch.output, expected, f"emulator with {count} threads")
    with no_collection():
        for name in turns(tuple(cases), runs):
            sanitize, count = cases[name]
            speeds[name].append(launch.run(sanitize=sanitize, threads=count))
    return speeds


def call_times(kernel: Kernel, x: Floats, w: Floats, runs: int) -> list[float]:
    """Milliseconds of whole `emulate` calls on all cores with the checks that are always on."""
    with no_collection():
        return [
            seconds(lambda: kernel.emulate(x, w, sanitize=False, statistics=False)) * 1000
            for _ in range(runs)
        ]


def trace_times(build: Callable[..., Kernel]) -> list[float]:
    """Milliseconds from the Python function to the checked PTX text, in a warm process."""
    for _ in range(3):
        build(ROWS, COLUMNS).ptx()
    with no_collection():
        return [seconds(lambda: build(ROWS, COLUMNS).ptx()) * 1000 for _ in range(TRACES)]


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
    for name, limit in (
        ("wgmma m64n256 bf16", 15.0),
        ("wgmma m64n256 e4m3", 15.0),
        ("tcgen05.mma m128n256 bf16", 15.0),
        ("mma.sync m16n8k16 bf16", 1.6),
        ("a product by tiles in shared memory", 40.0),
    ):
        unit = next(m.unit for m in result.measurements if m.name == name)
        reached = result.median(name)
        result.bars.append(Bar(f"emulator, {name}", reached, limit, f" {unit}", at_least=True))
    traced = result.median("trace, check and text of this kernel")
    result.bars.append(Bar("trace, check and text", traced, 10.0, " ms"))
    imported = result.median("import pyptx, without JAX")
    result.bars.append(Bar("import pyptx", imported, 150.0, " ms"))


def report(result: Result) -> None:
    """The table, with the emulator's time for the whole tensor."""
    show(result)
