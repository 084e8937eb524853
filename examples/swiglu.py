"""SwiGLU, silu(gate) * up with silu(x) = x / (1 + exp(-x)), of bf16, eight values for each thread.

bf16 values travel in pairs, 16 bytes at a time; the arithmetic is f32, and each result is rounded
once.

Runs on any machine: python examples/swiglu.py
"""

from __future__ import annotations

import importlib.util

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import bf16, bf16x2, f32, u32

THREADS = 256
VECTOR = 8  # bf16 values in a 16-byte access
LOG2_E = 1.4426950408889634


@kernel(
    in_specs=(Tile("B", "N", bf16), Tile("B", "N", bf16)),
    out_specs=(Tile("B", "N", bf16),),
    grid=lambda B, N: (ptx.cdiv(N, THREADS * VECTOR), B),
    block=THREADS,
    parallel=("B",),
    arch="auto",
)
def swiglu(Gate, Up, Y):
    """For rows of a multiple of 8 values."""
    row = reg.from_(ptx.special.ctaid.y(), u32)
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    thread = reg.from_(ptx.special.tid.x(), u32)
    column = ptx.inst.mad.lo.u32(cta, THREADS, thread) << 3
    with ptx.if_(column < Gate.shape[1]):
        gates = Gate.load(row, column, vector=VECTOR // 2, dtype=bf16x2)
        ups = Up.load(row, column, vector=VECTOR // 2, dtype=bf16x2)
        results = []
        for gate, up in zip(gates, ups, strict=True):
            low, high = (silu(g) * u for g, u in zip(split(gate), split(up), strict=True))
            results.append(ptx.inst.cvt.rn.bf16x2.f32(high, low))
        Y.store(row, column, results, dtype=bf16x2)


def split(pair):
    """The two values of a bf16x2 as f32: bf16 is the upper half of f32."""
    return (
        reg.from_(ptx.inst.shl.b32(pair, 16), f32),
        reg.from_(ptx.inst.and_.b32(pair, 0xFFFF0000), f32),
    )


def silu(x):
    power = ptx.inst.ex2.approx.f32(x * -LOG2_E)
    return x * ptx.inst.rcp.approx.f32(power + 1.0)


def reference(gate: NDArray[np.generic], up: NDArray[np.generic]) -> NDArray[np.float64]:
    """The same in float64."""
    wide = gate.astype(np.float64)
    return wide / (1 + np.exp(-wide)) * up.astype(np.float64)


def largest_error(result: object, expected: NDArray[np.float64]) -> float:
    """Relative to the expected value; half a unit in the last place of bf16 is 2**-9."""
    difference = np.abs(np.asarray(result, np.float64) - expected)
    return float(np.max(difference / (np.abs(expected) + 1e-30)))


def main() -> None:
    for rows, columns in [(4, 64), (3, 2048), (2, 5000)]:
        rng = np.random.default_rng(0)
        gate, up = (4 * rng.standard_normal((2, rows, columns))).astype(ml_dtypes.bfloat16)
        expected = reference(gate, up)
        emulation = swiglu.emulate(gate, up)
        emulation.report.check()  # raises if the emulator found a race or anything else wrong
        error = largest_error(emulation.outputs[0], expected)
        print(f"{rows} x {columns} in the emulator: largest error {error:.1e}")
        assert error < 2.0**-8

        if importlib.util.find_spec("jax"):
            import jax

            y = jax.jit(swiglu)(jax.numpy.asarray(gate), jax.numpy.asarray(up))
            error = largest_error(y, expected)
            place = next(iter(y.devices())).device_kind
            print(f"under jax.jit on {place}: largest error {error:.1e}")
            assert error < 2.0**-8


if __name__ == "__main__":
    main()
