"""Softmax of rows of any length, a CTA for each row.

The row is read twice. The first time each thread keeps a running maximum and the sum of the powers
relative to it (an online softmax); the second time the results are made. Rows of minus infinity
give NaN, as 0 / 0 does.

Runs on any machine: python examples/softmax.py
"""

from __future__ import annotations

import importlib.util

import numpy as np
from numpy.typing import NDArray

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

THREADS = 256
WARPS = THREADS // 32
LOG2_E = 1.4426950408889634
LOWEST = float(np.finfo(np.float32).min)  # not infinity: infinity minus infinity is NaN


@kernel(
    in_specs=(Tile("B", "N", f32),),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B: B,
    block=THREADS,
    parallel=("B",),
    arch="auto",
)
def softmax(X, Y):
    maxima, totals = smem.alloc(f32, WARPS), smem.alloc(f32, WARPS)
    columns = X.shape[1]
    row = reg.from_(ptx.special.ctaid.x(), u32)
    thread = reg.from_(ptx.special.tid.x(), u32)
    lane, warp = thread & 31, thread >> 5
    x, y = X.at(row, 0), Y.at(row, 0)

    largest, total = reg.scalar(f32, init=LOWEST), reg.scalar(f32, init=0.0)
    for i in ptx.range_(thread, columns, THREADS):
        value = x[0, i]
        before = reg.from_(largest, f32)
        ptx.inst.max.f32(largest, largest, value)
        total *= power(before - largest)
        total += power(value - largest)

    # The same step for the lanes of a warp, then for the warps.
    of_warp = ptx.warp.reduce_max(reg.from_(largest, f32))
    total *= power(largest - of_warp)
    ptx.warp.reduce_sum(total)
    with ptx.if_(lane == 0):
        maxima[warp] = of_warp
        totals[warp] = total
    ptx.bar.sync()
    theirs = maxima[lane & (WARPS - 1)]
    of_row = ptx.warp.reduce_max(reg.from_(theirs, f32), width=WARPS)
    total = totals[lane & (WARPS - 1)] * power(theirs - of_row)
    ptx.warp.reduce_sum(total, width=WARPS)

    for i in ptx.range_(thread, columns, THREADS):
        y[0, i] = power(x[0, i] - of_row) / total


def power(exponent):
    """e to the power of a register."""
    return ptx.inst.ex2.approx.f32(exponent * LOG2_E)


def reference(x: NDArray[np.float32]) -> NDArray[np.float64]:
    """The same in float64."""
    wide = x.astype(np.float64)
    powers = np.exp(wide - wide.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def main() -> None:
    for rows, columns in [(4, 1000), (3, 33), (2, 4096)]:
        x = 10 * np.random.default_rng(0).standard_normal((rows, columns), np.float32)
        x[0, :5] = -np.inf  # what is masked has probability 0
        expected = reference(x)
        emulation = softmax.emulate(x)
        emulation.report.check()  # raises if the emulator found a race or anything else wrong
        error = np.abs(emulation.outputs[0] - expected).max()
        print(f"{rows} x {columns} in the emulator: largest error {error:.1e}")
        assert error < 1e-5

        if importlib.util.find_spec("jax"):
            import jax

            y = jax.jit(softmax)(jax.numpy.asarray(x))
            error = np.abs(np.asarray(y, np.float64) - expected).max()
            place = next(iter(y.devices())).device_kind
            print(f"under jax.jit on {place}: largest error {error:.1e}")
            assert error < 1e-5


if __name__ == "__main__":
    main()
