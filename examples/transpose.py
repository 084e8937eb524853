"""A transpose in tiles of 32 x 32 through shared memory, for matrices of any shape.

Rows are loaded and rows are stored, so both are coalesced; the columns are read from shared memory,
whose rows are 33 values apart, so that a column lies in 32 different banks.

Runs on any machine: python examples/transpose.py
"""

from __future__ import annotations

import importlib.util

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

SIDE = 32
LINES = 8  # rows of a tile that the CTA loads at once


@kernel(
    in_specs=(Tile("M", "N", f32),),
    out_specs=(Tile("N", "M", f32),),
    grid=lambda M, N: (ptx.cdiv(N, SIDE), ptx.cdiv(M, SIDE)),
    block=(SIDE, LINES),
    arch="auto",
)
def transpose(X, Y):
    tile = smem.alloc(f32, (SIDE, SIDE + 1))
    rows, columns = X.shape
    across, down = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.tid.y(), u32)
    left = reg.from_(ptx.special.ctaid.x(), u32) << 5
    top = reg.from_(ptx.special.ctaid.y(), u32) << 5
    row, column = top + down, left + across
    x = X.at(row, column)
    for i in range(0, SIDE, LINES):
        inside = (row + i < rows) & (column < columns)
        tile[down + i, across] = x.load(i, 0, pred=inside, other=0.0)
    ptx.bar.sync()
    row, column = left + down, top + across
    y = Y.at(row, column)
    for i in range(0, SIDE, LINES):
        inside = (row + i < columns) & (column < rows)
        y.store(i, 0, tile[across, down + i], pred=inside)


def main() -> None:
    for shape in [(64, 96), (1, 100), (50, 33)]:
        x = np.random.default_rng(0).standard_normal(shape, np.float32)
        emulation = transpose.emulate(x)
        emulation.report.check()  # raises if the emulator found a race or anything else wrong
        np.testing.assert_array_equal(emulation.outputs[0], x.T)
        print(f"{shape[0]} x {shape[1]} in the emulator: right")

        if importlib.util.find_spec("jax"):
            import jax

            y = jax.jit(transpose)(jax.numpy.asarray(x))
            np.testing.assert_array_equal(y, x.T)
            print(f"under jax.jit on {next(iter(y.devices())).device_kind}: right")


if __name__ == "__main__":
    main()
