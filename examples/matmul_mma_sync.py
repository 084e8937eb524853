"""D = A @ B.T by `mma.sync`, f16 or bf16 added in f32, for every GPU from Ampere on.

A CTA makes 128 by 128 of D with eight warps, 64 by 32 each. Tiles of A and B come to shared memory
by `cp.async`, three stages deep, and from there to registers by `ldmatrix`.

Runs on any machine: python examples/matmul_mma_sync.py
"""

from __future__ import annotations

import importlib.util

import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.types import DType, f16, f32, u32

TILE = 128  # rows of A, and of B, of a CTA
DEPTH = 32  # of K in a stage: 64 bytes, as wide as the swizzle
STAGES = 3
WARPS = 8
ROWS, COLUMNS = 64, 32  # of D that a warp makes
BLOCK = (16, 8, 16)


def build(n: int, k: int, dtype: DType = f16) -> Kernel:
    """The kernel for A of any number of rows, B of `n` rows, and rows of `k` values.

    n is a multiple of 128, k of 32.
    """
    if n % TILE or k % DEPTH or not n or not k:
        raise ValueError(f"n={n} is no multiple of {TILE}, or k={k} none of {DEPTH}")

    @kernel(
        in_specs=(Tile("M", k, dtype), Tile(n, k, dtype)),
        out_specs=(Tile("M", n, f32),),
        grid=lambda M: (n // TILE, ptx.cdiv(M, TILE)),
        block=32 * WARPS,
        parallel=("M",),
        arch="auto",
    )
    def matmul(A, B, D):
        tiles_a = smem.alloc(dtype, (STAGES, TILE, DEPTH), swizzle="64B")
        tiles_b = smem.alloc(dtype, (STAGES, TILE, DEPTH), swizzle="64B")
        rows = ptx.inst.cvt.u32.u64(A.shape[0])
        thread = reg.from_(ptx.special.tid.x(), u32)
        left = reg.from_(ptx.special.ctaid.x(), u32) << 7
        top = reg.from_(ptx.special.ctaid.y(), u32) << 7
        warp = thread >> 5
        row, column = warp >> 2 << 6, (warp & 3) << 5  # where this warp's part begins
        read, write = ptx.pipeline(STAGES), ptx.pipeline(STAGES)

        def fetch(step):
            with ptx.if_(step < k // DEPTH):
                copy(tiles_a[write.stage], A, top, step << 5, thread, rows)
                copy(tiles_b[write.stage], B, left, step << 5, thread, n)
            ptx.cp.async_.commit_group()
            write.advance()

        sums = zeros()
        for step in range(STAGES - 1):
            fetch(reg.scalar(u32, init=step))
        for step in ptx.range_(0, k // DEPTH, dtype=u32):
            ptx.cp.async_.wait_group(STAGES - 2)  # this stage has come, later ones may be under way
            ptx.bar.sync()  # for all threads, and all have used the stage before
            fetch(step + (STAGES - 1))
            multiply(sums, tiles_a[read.stage], tiles_b[read.stage], row, column)
            read.advance()
        store(D, sums, top + row, left + column, rows)

    return matmul


def copy(tile, source, first, column, thread, rows):
    """Start the copies of a stage: 16 bytes of a thread, 4 threads a row.

    Beyond the last of the `rows` nothing is read, and zeros are written.
    """
    along, down = (thread & 3) << 3, thread >> 2
    for i in range(0, TILE, 8 * WARPS):
        row = first + down + i
        size = ptx.inst.selp.u32(16, 0, row < rows)
        where = source.address(ptx.inst.min.u32(row, rows - 1), column + along)
        ptx.cp.async_.cg(tile.address(down + i, along), where, src_size=size)


def zeros():
    """The sums of a warp: rows of blocks of 16 by 8."""
    sums = [
        [reg.mma_frag("d", shape=BLOCK, dtype=f32) for _ in range(COLUMNS // 8)]
        for _ in range(ROWS // 16)
    ]
    for register in (r for line in sums for block in line for r in block):
        register.set(0.0)
    return sums


def multiply(sums, tile_a, tile_b, row, column):
    """Add the products of a stage. What `ldmatrix` brings is used for a whole row of blocks."""
    dtype = tile_a.dtype
    types = {"dtype_d": f32, "dtype_a": dtype, "dtype_b": dtype, "dtype_c": f32}
    for inner in range(0, DEPTH, 16):
        held = [ptx.mma.load_a(tile_a, row + i, inner) for i in range(0, ROWS, 16)]
        for j in range(0, COLUMNS, 16):
            pair = ptx.mma.load_b(tile_b, column + j, inner)
            for line, a in zip(sums, held, strict=True):
                for block, b in ((line[j // 8], pair[:2]), (line[j // 8 + 1], pair[2:])):
                    ptx.mma.sync(shape=BLOCK, d=block, a=a, b=b, c=block, **types)


def store(D, sums, first_row, first_column, rows):
    """Two neighbours of a row at a time."""
    down, right = sums[0][0].origin(reg.from_(ptx.special.laneid(), u32))
    down += first_row
    right += first_column
    for i, line in enumerate(sums):
        for half in range(2):
            there = down + (16 * i + 8 * half)
            for j, block in enumerate(line):
                values = block[2 * half : 2 * half + 2]
                D.store(there, right + 8 * j, values, pred=there < rows)


def random(rows: int, columns: int, seed: int) -> NDArray[np.float16]:
    """Normally distributed f16."""
    values = np.random.default_rng(seed).standard_normal((rows, columns), np.float32)
    return values.astype(np.float16)


def largest_error(result: object, a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    """Over what it may cost to add each of the products of K = 16 in 22 bits: at most 1."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    allowed = x.shape[1] // BLOCK[2] * 2.0**-22 * (np.abs(x) @ np.abs(y).T)
    return float(np.max(np.abs(np.asarray(result, np.float64) - x @ y.T) / allowed))


def main() -> None:
    for m, n, k in [(128, 128, 32), (150, 256, 160)]:
        a, b = random(m, k, 0), random(n, k, 1)
        emulation = build(n, k).emulate(a, b)
        emulation.report.check()  # raises if the emulator found a race or anything else wrong
        error = largest_error(emulation.outputs[0], a, b)
        print(f"{m} x {n} x {k} in the emulator: {error:.2f} of the error that is allowed")
        assert error <= 1

        if importlib.util.find_spec("jax"):
            import jax

            made = jax.jit(build(n, k))(jax.numpy.asarray(a), jax.numpy.asarray(b))
            error = largest_error(made, a, b)
            place = next(iter(made.devices())).device_kind
            print(f"under jax.jit on {place}: {error:.2f} of the error that is allowed")
            assert error <= 1


if __name__ == "__main__":
    main()
