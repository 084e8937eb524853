"""`pyptx demo`: RMS normalization under `jax.jit` on whatever is here, checked and looked at."""

# JAX's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import typer

from pyptx import _source as source
from pyptx._cli.console import say, show_table
from pyptx._cli.program import Program
from pyptx._cli.report import show_report
from pyptx._cli.show import usage
from pyptx._kernel import Kernel
from pyptx.errors import CallError, DeviceError

_PACKAGE: Final = Path(source.__file__).parent
_PLACES: Final = (_PACKAGE.parents[1] / "examples", _PACKAGE / "examples")  # a checkout, a wheel
EXAMPLE: Final = next((p for p in _PLACES if p.is_dir()), _PLACES[0]) / "hopper" / "rms_norm.py"
EPS: Final = 1e-6
TOLERANCE: Final = 1e-5
CHAIN: Final = 32
"""Dependent calls in one program, so that the device's time is seen and not the host's."""
REPEATS: Final = 10
WARM_UP: Final = 0.5
"""Seconds that a program runs before it is timed."""


def run_demo(rows: int, columns: int, example: Path | None) -> None:
    """Run, check against float64, and show what the kernel costs. Exits with 1 if it is wrong."""
    jax = _jax()
    build: Callable[..., Kernel] = _example(example)
    device = jax.devices()[0]
    try:
        kernel = build(rows, columns, EPS, arch="auto")
        x, w = _inputs(rows, columns)
    except (ValueError, MemoryError) as error:
        if example is not None:  # an error of the user's program
            raise
        raise CallError(f"--rows {rows} --columns {columns}: {error}") from None
    say(f"RMS normalization of {rows} x {columns} f32 on {device.device_kind} ({device.platform})")
    say()
    begin = time.perf_counter()
    result = np.asarray(jax.jit(kernel)(jax.numpy.asarray(x), jax.numpy.asarray(w)))
    taken = time.perf_counter() - begin
    error = largest_error(result, x, w)

    shown = [
        ("largest relative error against float64", f"{error:.1e}"),
        ("first call under jax.jit, compiling included", f"{taken * 1000:.0f} ms"),
    ]
    hopper = build(rows, columns, EPS, arch="sm_90a")
    shown += [(f"sm_90a: {name}", value) for name, value in usage(hopper.cubin(), hopper.ptx())]
    if device.platform == "gpu":
        shown += bandwidth(jax, kernel, x, w)
    report = hopper.emulate(x, w).report if device.platform != "gpu" else None
    if report is not None:
        rate = report.instructions / report.seconds / 1e6
        speed = f"{report.seconds * 1000:.0f} ms, {rate:.0f} million warp-instructions a second"
        shown.append(("emulator, every check and count on", speed))
    show_table("", ("", ""), shown)
    if report is not None:
        show_report(report)
    if not error < TOLERANCE:  # NaN is wrong too
        say(f"WRONG: the error is larger than {TOLERANCE:.0e}")
        raise typer.Exit(1)


def _jax() -> Any:
    if importlib.util.find_spec("jax") is None:
        raise DeviceError(
            "the demo runs under jax.jit, and JAX is not installed",
            notes=(("help", 'pip install "jax>=0.10"'),),
        )
    return importlib.import_module("jax")


def _example(path: Path | None) -> Callable[..., Kernel]:
    """`build(rows, columns, eps, arch)` of the example."""
    chosen = path or EXAMPLE
    if not chosen.is_file():
        raise DeviceError(
            f"the demo's kernel is not here: {chosen}",
            notes=(("help", "run `make demo` in a source checkout, or give --example FILE"),),
        )
    return Program(chosen, None).execute("pyptx_demo")["build"]


def _inputs(rows: int, columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((rows, columns), np.float32),
        rng.standard_normal(columns, np.float32),
    )


def largest_error(result: Any, x: Any, w: Any) -> float:
    """Against the formula in float64, relative to its value."""
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + EPS) * w
    return float(np.max(np.abs(result - expected) / (np.abs(expected) + 1e-6)))


def bandwidth(jax: Any, kernel: Kernel, x: Any, w: Any) -> list[tuple[str, str]]:
    """GB/s of the kernel and of a copy of the same bytes, each many times in one program.

    The copy multiplies by a one that XLA cannot see, so it reads and writes every value.
    """
    rows, weights, one = (jax.numpy.asarray(a) for a in (x, w, np.float32(1)))
    total = 2 * x.nbytes
    found: list[tuple[str, str]] = []
    steps: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
        "kernel": (kernel, weights),
        "copy of the same bytes": (lambda value, factor: value * factor, one),
    }
    for name, (step, second) in steps.items():
        seconds = _per_step(jax, step, rows, second)
        found.append((name, f"{seconds * 1e6:.1f} us, {total / seconds / 1e9:.0f} GB/s"))
    return found


def _per_step(jax: Any, step: Callable[[Any, Any], Any], value: Any, second: Any) -> float:
    """Seconds of one of `CHAIN` dependent steps that XLA may not merge; median of several runs."""

    def chain(value: Any, second: Any) -> Any:
        for _ in range(CHAIN):
            value = jax.lax.optimization_barrier(step(value, second))
        return value

    program = jax.jit(chain)
    warm = time.perf_counter() + WARM_UP
    while time.perf_counter() < warm:  # clocks rise, and XLA records its graphs
        jax.block_until_ready(program(value, second))
    times: list[float] = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        jax.block_until_ready(program(value, second))
        times.append(time.perf_counter() - begin)
    return statistics.median(times) / CHAIN
