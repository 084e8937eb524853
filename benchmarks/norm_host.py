"""What Python takes for one call of `rms_norm` on a tiny array, eager and jitted.

Beside it a kernel of the same shape called by hand, and the formula in jax.numpy, which eager is
several operations. Wall-clock time of many calls in a row and one wait for the device.
"""

# JAX's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

import jax
import numpy as np
from measure import Result, show, start, summarise
from measured_kernels import EPS, check, example_module, inputs, reference
from norm_cases import BY_HAND, CALLED, OPERATION, host_bars

from launch import time_calls

ROWS: Final = 8
COLUMNS: Final = 128
CALLS: Final = 1000
ROUNDS: Final = 11

Function = Callable[[Any, Any], Any]


def measure(
    device: dict[str, object],
    calls: int = CALLS,
    rounds: int = ROUNDS,
    operation: Callable[..., Any] | None = None,
) -> Result:
    """Check every function, then time it eager and jitted."""
    result = start(
        "norm_host", device, rows=ROWS, columns=COLUMNS, dtype="f32", calls=calls, rounds=rounds,
        counted="wall-clock time of many calls and one wait",
    )  # fmt: skip
    x, w = inputs(ROWS, COLUMNS)
    a, b = jax.device_put(x), jax.device_put(w)
    found = functions(operation or importlib.import_module("pyptx.ops").rms_norm)
    jitted = {name: jax.jit(run) for name, run in found.items()}
    programs: dict[str, Function] = {
        f"{name}, {how}": run
        for how, runs in zip(CALLED, (found, jitted), strict=True)
        for name, run in runs.items()
    }
    expected = reference(x, w)
    for name, run in programs.items():
        check(np.asarray(run(a, b)), expected, name)
    taken = time_calls(programs, a, b, calls, rounds, per=1)
    result.measurements = [summarise(name, "us", times) for name, times in taken.items()]
    result.bars = host_bars(taken)
    return result


def functions(operation: Callable[..., Any]) -> dict[str, Function]:
    """The operation, the kernel by hand, and the formula."""

    def formula(x: Any, w: Any) -> Any:
        return x * jax.lax.rsqrt(jax.numpy.mean(x * x, -1, keepdims=True) + EPS) * w

    return {
        OPERATION: lambda x, w: operation(x, w, EPS),
        BY_HAND: example_module().build(ROWS, COLUMNS, EPS),
        "jax.numpy": formula,
    }


def report(result: Result) -> None:
    """The table."""
    show(result)
