"""Layer normalization of rows, y = (x - mean) / sqrt(variance + eps) * w + b, a CTA for each row.

Each thread keeps its part of the row in registers, so the row is read once, and the variance is the
mean of squared deviations, without the cancellation of E[x^2] - E[x]^2. All sums are added in a
fixed order. All global accesses are 16 bytes wide.

Runs on any machine: python examples/layer_norm.py
"""

from __future__ import annotations

import importlib.util

import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

VECTOR = 4  # f32 values in a 16-byte access
CTA_SIZES = (512, 256, 128, 64, 32)


def build(columns: int, eps: float = 1e-5) -> Kernel:
    """The kernel for any number of rows of `columns` values, a multiple of 128."""
    fitting = [size for size in CTA_SIZES if columns % (size * VECTOR) == 0]
    if not fitting or not columns:
        raise ValueError(f"{columns} columns are not a multiple of {CTA_SIZES[-1] * VECTOR}")
    threads = fitting[0]
    starts = range(0, columns, threads * VECTOR)

    @kernel(
        in_specs=(Tile("B", columns, f32), Tile(columns, f32), Tile(columns, f32)),
        out_specs=(Tile("B", columns, f32),),
        grid=lambda B: B,
        block=threads,
        parallel=("B",),
        arch="auto",
    )
    def layer_norm(X, W, Bias, Y):
        partial = smem.alloc(f32, (2, threads // 32))
        row = reg.from_(ptx.special.ctaid.x(), u32)
        thread = reg.from_(ptx.special.tid.x(), u32)
        first = thread << 2  # this thread's first value, and those at `starts` from it
        x, w, b, y = X.at(row, first), W.at(first), Bias.at(first), Y.at(row, first)

        vectors = [x.load(0, i, vector=VECTOR) for i in starts]
        mean = add([v for vector in vectors for v in vector], partial, 0, thread) * (1 / columns)
        deviations = [[value - mean for value in vector] for vector in vectors]
        squares = [d * d for vector in deviations for d in vector]
        variance = add(squares, partial, 1, thread) * (1 / columns)
        scale = ptx.inst.rsqrt.approx.f32(variance + eps)

        for i, vector in zip(starts, deviations, strict=True):
            ws, bs = w.load(i, vector=VECTOR), b.load(i, vector=VECTOR)
            results = [ptx.inst.fma.rn.f32(d * scale, ws[j], bs[j]) for j, d in enumerate(vector)]
            y.store(0, i, results)

    return layer_norm


def add(values, partial, use, thread):
    """The sum of the values of all threads, in every thread. `use` is a row of shared memory."""
    warps = partial.shape[1]
    total = reg.scalar(f32, init=0.0)
    for value in values:
        total += value
    ptx.warp.reduce_sum(total)
    with ptx.if_((thread & 31) == 0):
        partial[use, thread >> 5] = total
    ptx.bar.sync()
    # Every warp adds the sums of all warps itself, so no second barrier hands out the result.
    total = partial[use, thread & (warps - 1)]
    if warps > 1:
        ptx.warp.reduce_sum(total, width=warps)
    return total


def reference(
    x: NDArray[np.float32], w: NDArray[np.float32], b: NDArray[np.float32], eps: float = 1e-5
) -> NDArray[np.float64]:
    """The same in float64."""
    wide = x.astype(np.float64)
    deviations = wide - wide.mean(1, keepdims=True)
    return deviations / np.sqrt((deviations**2).mean(1, keepdims=True) + eps) * w + b


def main() -> None:
    rng = np.random.default_rng(0)
    for rows, columns in [(4, 128), (8, 1024), (3, 8192)]:
        x = 100 + rng.standard_normal((rows, columns), np.float32)
        w, b = rng.standard_normal((2, columns), np.float32)
        expected = reference(x, w, b)
        emulation = build(columns).emulate(x, w, b)
        emulation.report.check()  # raises if the emulator found a race or anything else wrong
        error = np.abs(emulation.outputs[0] - expected).max()
        print(f"{rows} x {columns} in the emulator: largest error {error:.1e}")
        assert error < 1e-4

        if importlib.util.find_spec("jax"):
            import jax

            y = jax.jit(build(columns))(*map(jax.numpy.asarray, (x, w, b)))
            error = np.abs(np.asarray(y, np.float64) - expected).max()
            place = next(iter(y.devices())).device_kind
            print(f"under jax.jit on {place}: largest error {error:.1e}")
            assert error < 1e-4


if __name__ == "__main__":
    main()
