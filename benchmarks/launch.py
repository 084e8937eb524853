"""What a launch from JAX costs: host time of one call, and a chain of dependent kernels in one jit.

The kernel is RMS normalization of 4 x 512, beside the same formula compiled by XLA alone. XLA reads
its flags once, so each mode of CUDA graphs is a process of its own: `launch.py --mode default`.
"""

# PyTorch is not installed where the types are checked.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from chrome_trace import span, split_at_gaps
from measure import Bar, Result, no_collection, seconds, show, start, summarise, turns
from measured_kernels import EPS, check, example_module, inputs, reference

ROWS: Final = 4
COLUMNS: Final = 512
LENGTH: Final = 32
CALLS: Final = 1000
ROUNDS: Final = 11
MODES: Final = {
    "default": "",
    "every graph": "--xla_gpu_graph_min_graph_size=1",
    "no graphs": "--xla_gpu_enable_command_buffer=",
}
PROFILED: Final = 20
"""Calls that are profiled, each after the one before has ended."""
ON_DEVICE: Final = ", device time"
OURS: Final = "pyptx"
XLA: Final = "XLA alone"
XLA_APART: Final = "XLA alone, with optimization barriers"

Step = Callable[[Any, Any], Any]


def steps() -> dict[str, Step]:
    """One tiny operation, by us and by XLA."""

    def formula(x: Any, w: Any) -> Any:
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + EPS) * w

    return {OURS: example_module().build(ROWS, COLUMNS, EPS), XLA: formula}


def chains() -> dict[str, Step]:
    """`LENGTH` operations, each on the result of the one before.

    XLA may make one kernel of all of them; optimization barriers keep it from that.
    """
    made = steps()
    apart = {XLA_APART: lambda x, w: jax.lax.optimization_barrier(made[XLA](x, w))}
    return {name: _repeated(step) for name, step in {**made, **apart}.items()}


def _repeated(step: Step) -> Step:
    def run(x: Any, w: Any) -> Any:
        for _ in range(LENGTH):
            x = step(x, w)
        return x

    return run


# ---- in the process of one mode ------------------------------------------------------------------


def measure_mode(calls: int, rounds: int) -> dict[str, Any]:
    """Host time of one operation, time of a chain per operation, and how the chain was launched."""
    x, w = inputs(ROWS, COLUMNS)
    w = 1 + w / 10  # a chain multiplies by a power of it
    once = {name: jax.jit(step) for name, step in steps().items()}
    many = {name: jax.jit(step) for name, step in chains().items()}
    check_both(once, many, x, w)
    a, b = jax.device_put(x), jax.device_put(w)
    return {
        "host": time_calls(once, a, b, calls, rounds, per=1),
        "chain": time_calls(many, a, b, max(calls // 10, 20), rounds, per=LENGTH),
        "launched": {name: how_launched(run, a, b) for name, run in many.items()},
    }


def check_both(once: dict[str, Any], many: dict[str, Any], x: Any, w: Any) -> None:
    """Against float64: one operation, and as many as a chain has."""
    expected = reference(x, w)
    end = expected
    for _ in range(LENGTH - 1):
        end = reference(end, w)
    for name, run in once.items():
        check(run(x, w), expected, name)
    for name, run in many.items():
        np.testing.assert_allclose(run(x, w), end, rtol=1e-4, atol=1e-30, err_msg=name)


def time_calls(
    programs: dict[str, Any], x: Any, w: Any, calls: int, rounds: int, *, per: int
) -> dict[str, list[float]]:
    """Microseconds per call and operation: `calls` calls in a row, then one wait for the device."""

    def repeat(run: Any) -> None:
        for _ in range(calls - 1):
            run(x, w)
        jax.block_until_ready(run(x, w))

    readings: dict[str, list[float]] = {name: [] for name in programs}
    for run in programs.values():
        repeat(run)
    with no_collection():
        for name in turns(tuple(programs), rounds):
            taken = seconds(lambda run=programs[name]: repeat(run))
            readings[name].append(taken / calls / per * 1e6)
    return readings


def how_launched(run: Any, x: Any, w: Any) -> dict[str, Any]:
    """From the profile of settled calls: device times, and how many kernels one launch starts.

    Kernels that one launch call started share its correlation id, so more than one is a graph.
    """
    if jax.default_backend() != "gpu":
        return {}
    from device_time import profile

    for _ in range(5):
        jax.block_until_ready(run(x, w))
    trace = profile(lambda: [jax.block_until_ready(run(x, w)) for _ in range(PROFILED)])
    calls = split_at_gaps(trace.activities, PROFILED)
    launches = Counter(activity.correlation for activity in calls[-1])
    return {
        "device": [span(call) / LENGTH for call in calls],
        "kernels": len(calls[-1]),
        "launches": len(launches),
        "most kernels of one launch": max(launches.values()),
        "calls seen": trace.launches,
    }


# ---- all modes -----------------------------------------------------------------------------------


def measure(device: dict[str, object], calls: int = CALLS, rounds: int = ROUNDS) -> Result:
    """Every mode in its own process, and the bars."""
    result = start(
        "launch", device, rows=ROWS, columns=COLUMNS, dtype="f32", length=LENGTH, calls=calls,
        rounds=rounds, modes=MODES, counted="wall-clock time of many calls and one wait",
    )  # fmt: skip
    for mode in MODES:
        found = run_mode(mode, calls, rounds)
        for name, samples in found["host"].items():
            result.measurements.append(summarise(f"one call, {name}, {mode}", "us", samples))
        for name, samples in found["chain"].items():
            notes = dict(found["launched"][name])
            device_times = notes.pop("device", None)
            title = f"{LENGTH} in one jit, per operation, {name}, {mode}"
            result.measurements.append(summarise(title, "us", samples, **notes))
            if device_times:
                made = summarise(f"{title}{ON_DEVICE}", "us", device_times, **notes)
                result.measurements.append(made)
    add_bars(result)
    return result


def run_mode(mode: str, calls: int, rounds: int) -> dict[str, Any]:
    """`measure_mode` in a process with the mode's flags."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} {MODES[mode]}".strip()
    environment = os.environ | {"XLA_FLAGS": flags, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        sizes = ["--calls", str(calls), "--rounds", str(rounds)]
        command = [sys.executable, __file__, "--write", str(path), *sizes]
        subprocess.run(command, env=environment, check=True)
        return json.loads(path.read_text())


def add_bars(result: Result) -> None:
    """Within 2 us of XLA's own call; a kernel of a chain at most 1.7 us, launched as a graph.

    The chain's bar is device time, from the profile: what a host with other work makes of it is the
    reading beside it.
    """
    known = {m.name: m for m in result.measurements}
    # Round by round: a host's clock drifts more than the two differ.
    rounds = zip(*(known[f"one call, {n}, default"].samples for n in (OURS, XLA)), strict=True)
    beyond = statistics.median(ours - alone for ours, alone in rounds)
    result.bars.append(Bar("one call: host time beyond XLA's own", beyond, 2.0, " us"))
    for mode in ("default", "every graph"):
        made = known.get(f"{LENGTH} in one jit, per operation, {OURS}, {mode}{ON_DEVICE}")
        each = made.median if made else float("nan")
        result.bars.append(Bar(f"a kernel of a chain, device time, {mode}", each, 1.7, " us"))
        most = made.notes["most kernels of one launch"] if made else 0
        assert isinstance(most, int)
        name = f"kernels that one graph launch starts, {mode}"
        result.bars.append(Bar(name, most, 2, "", at_least=True))


def report(result: Result) -> None:
    """The table, with what the profile of a call shows."""
    keys = ("kernels", "launches")
    show(result, {key: lambda m, key=key: m.notes.get(key, "") for key in keys})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", type=Path, required=True)
    given = parser.parse_args()
    given.write.write_text(json.dumps(measure_mode(given.calls, given.rounds)))


if __name__ == "__main__":
    main()
