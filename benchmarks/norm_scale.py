"""A training step with `rms_norm` on one GPU and on all: how it scales, what is communicated.

Every device has the same number of rows, and the weight is replicated (weak scaling). A step is
`rms_norm` and its gradients for a given cotangent, and the update of the weight; sharded arguments
of a plain `jax.jit` are all that says so. The profile of the last step shows which kernels ran on
which device: the weight's gradient is the one thing that devices exchange.
"""

# JAX's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
import numpy as np
from jax import numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from measure import CONSOLE, Bar, Result, no_collection, seconds, show, start, summarise

from pyptx import collectives
from pyptx.ops import rms_norm

ROWS: Final = 16384
COLUMNS: Final = 8192
STEPS: Final = 20
ROUNDS: Final = 11
RATE: Final = 1e-3


def measure(device: dict[str, object]) -> Result:
    """Time of a step on 1, 2, 4, ... devices, with the numbers checked against one device's."""
    devices = jax.devices("gpu")
    result = start(
        "norm_scale", device, rows_per_device=ROWS, columns=COLUMNS, dtype="bf16",
        devices=len(devices), steps=STEPS, rounds=ROUNDS,
        counted="wall-clock time of steps that feed one another",
    )  # fmt: skip
    for count in counts(len(devices)):
        step, x, w, g = training(devices[:count])
        program = step.lower(x, w, g).compile()
        check(program(x, w, g), x, w, g)
        times = [timed(program, x, w, g) for _ in range(ROUNDS)]
        found = collectives(program)
        kernels = names(program, x, w, g, count)
        result.measurements.append(
            summarise(
                f"a step on {count} GPUs",
                "us",
                times,
                devices=count,
                collectives=found,
                kernels=kernels,
            )
        )
        if count > 1:
            exchanged = Bar(f"collectives of a step on {count} GPUs", sum(found.values()), 1, "")
            result.bars.append(exchanged)
            gathered = found.get("all-gather", 0)
            result.bars.append(Bar(f"all-gathers of a step on {count} GPUs", gathered, 0, ""))
            first = result.median("a step on 1 GPUs")
            share = 100 * first / result.median(f"a step on {count} GPUs")
            result.bars.append(Bar(f"efficiency on {count} GPUs", share, 90, "%", at_least=True))
    return result


def counts(devices: int) -> list[int]:
    """1, 2, 4, ... and all."""
    powers = [2**i for i in range(devices.bit_length()) if 2**i <= devices]
    return powers if powers[-1] == devices else [*powers, devices]


def training(devices: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """A jitted step on a mesh of these devices, and its arguments on them."""
    mesh = Mesh(np.array(devices), ("batch",), axis_types=(AxisType.Auto,))
    by_row, everywhere = NamedSharding(mesh, P("batch")), NamedSharding(mesh, P())
    rows = ROWS * len(devices)

    def make() -> tuple[Any, Any, Any]:
        keys = jax.random.split(jax.random.key(0), 3)
        x = jax.random.normal(keys[0], (rows, COLUMNS), jnp.bfloat16)
        w = 1 + jax.random.normal(keys[1], (COLUMNS,), jnp.bfloat16) / 8
        return x, w, jax.random.normal(keys[2], (rows, COLUMNS), jnp.bfloat16)

    def step(x: Any, w: Any, g: Any) -> tuple[Any, Any, Any]:
        y, back = jax.vjp(rms_norm, x, w)
        dx, dw = back(g)
        return y, dx, w - RATE * dw

    x, w, g = jax.jit(make, out_shardings=(by_row, everywhere, by_row))()
    return jax.jit(step, out_shardings=(by_row, by_row, everywhere)), x, w, g


def timed(program: Any, x: Any, w: Any, g: Any) -> float:
    """Microseconds of one of several steps, each with the weight of the one before."""

    def run() -> None:
        weight = w
        for _ in range(STEPS):
            _, _, weight = program(x, weight, g)
        jax.block_until_ready(weight)

    run()
    with no_collection():
        return seconds(run) / STEPS * 1e6


def check(found: tuple[Any, Any, Any], x: Any, w: Any, g: Any) -> None:
    """The new weight against the formula in f32, in which the rows are the largest sum."""

    def formula(x: Any, w: Any, g: Any) -> Any:
        a, b = x.astype(jnp.float32), g.astype(jnp.float32)
        dw = jnp.sum(a * b * jax.lax.rsqrt(jnp.mean(a * a, -1, keepdims=True) + 1e-5), 0)
        return (w - RATE * dw.astype(w.dtype)).astype(jnp.float32)

    expected = np.asarray(jax.jit(formula)(x, w, g))
    np.testing.assert_allclose(
        np.asarray(found[2].astype(jnp.float32)), expected, rtol=2e-2, atol=2e-2
    )


def names(program: Any, x: Any, w: Any, g: Any, devices: int) -> dict[str, float]:
    """The kernels of a step and how many of each a device ran, from CUPTI's records."""
    from device_time import profile  # needs PyTorch

    def run() -> None:
        jax.block_until_ready(program(x, w, g))

    trace = profile(run)
    found = [activity.name for activity in trace.activities]
    return {name: found.count(name) / devices for name in dict.fromkeys(found)}


def report(result: Result) -> None:
    """The table, and for each number of devices the kernels of a step."""
    show(result)
    for measured in result.measurements:
        kernels = measured.notes["kernels"]
        assert isinstance(kernels, dict)
        CONSOLE.print(f"{measured.name}: {measured.notes['collectives'] or 'no collectives'}")
        for name, count in kernels.items():
            CONSOLE.print(f"  {count:g} x {name[:100]}")
