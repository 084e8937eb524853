"""D[i] = A[i] @ B[g].T for rows i of group g: one product for each expert of a mixture of experts.

The rows of A are sorted by group, and `sizes` says how many each group has, which is known only
when the kernel runs. Each CTA makes 64 by 64 of D within one group: it walks along `sizes` until it
finds its tile, so the grid has one CTA for each tile that there can be.

f16 added in f32, by `mma.sync`. Runs on any machine: python examples/grouped_matmul.py
"""

from __future__ import annotations

import importlib.util

import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.types import f16, f32, u32

TILE = 64  # rows of A, and of B, of a CTA
DEPTH = 64  # of K at a time: 128 bytes, as wide as the swizzle
WARPS = 4  # with 16 rows of D each
BLOCK = (16, 8, 16)
PRODUCT = {"shape": BLOCK, "dtype_d": f32, "dtype_a": f16, "dtype_b": f16, "dtype_c": f32}


def build(groups: int, n: int, k: int) -> Kernel:
    """The kernel for A of any number of rows of `k` values and B of (groups, n, k).

    n and k are multiples of 64. Sizes are u32 and their sum is the number of rows.
    """
    if n % TILE or k % DEPTH or not n or not k:
        raise ValueError(f"n={n} or k={k} is no multiple of {TILE}")

    @kernel(
        in_specs=(Tile("M", k, f16), Tile(groups, n, k, f16), Tile(groups, u32)),
        out_specs=(Tile("M", n, f32),),
        grid=lambda M: (n // TILE, M // TILE + groups),
        block=32 * WARPS,
        arch="auto",
    )
    def grouped_matmul(A, B, Sizes, D):
        tile_a = smem.alloc(f16, (TILE, DEPTH), swizzle="128B")
        tile_b = smem.alloc(f16, (TILE, DEPTH), swizzle="128B")
        thread = reg.from_(ptx.special.tid.x(), u32)
        left = reg.from_(ptx.special.ctaid.x(), u32) << 6
        group, top, end = find_tile(Sizes, reg.from_(ptx.special.ctaid.y(), u32))
        with ptx.if_(top >= end):  # fewer tiles than there could be
            ptx.ret()

        sums = [reg.mma_frag("d", shape=BLOCK, dtype=f32) for _ in range(TILE // 8)]
        for register in (r for block in sums for r in block):
            register.set(0.0)
        down, along = thread >> 3, (thread & 7) << 3
        for k_first in ptx.range_(0, k, DEPTH, dtype=u32):
            for i in range(0, TILE, 4 * WARPS):
                size = ptx.inst.selp.u32(16, 0, top + down + i < end)  # zeros beyond the group
                row = ptx.inst.min.u32(top + down + i, end - 1)
                place = tile_a.address(down + i, along)
                ptx.cp.async_.cg(place, A.address(row, along + k_first), src_size=size)
                place = tile_b.address(down + i, along)
                ptx.cp.async_.cg(place, B.address(group, left + down + i, along + k_first))
            ptx.cp.async_.wait_all()
            ptx.bar.sync()
            for inner in range(0, DEPTH, 16):
                held = ptx.mma.load_a(tile_a, thread >> 5 << 4, inner)
                for j in range(0, TILE, 16):
                    pair = ptx.mma.load_b(tile_b, j, inner)
                    for block, b in ((sums[j // 8], pair[:2]), (sums[j // 8 + 1], pair[2:])):
                        ptx.mma.sync(d=block, a=held, b=b, c=block, **PRODUCT)
            ptx.bar.sync()

        row, column = sums[0].origin(reg.from_(ptx.special.laneid(), u32))
        row += top + (thread >> 5 << 4)
        for half in range(2):
            there = row + 8 * half
            for j, block in enumerate(sums):
                values = block[2 * half : 2 * half + 2]
                D.store(there, left + column + 8 * j, values, pred=there < end)

    return grouped_matmul


def find_tile(Sizes, tile):
    """The group of a tile, the tile's first row, and the end of the group's rows.

    Where there is no such tile, the first row is not before the end.
    """
    group = reg.scalar(u32, init=0)
    top, end = reg.scalar(u32, init=0), reg.scalar(u32, init=0)
    left = reg.from_(tile, u32)  # tiles before the one that is looked for
    for i in ptx.range_(0, Sizes.shape[0], dtype=u32):
        group.set(i)
        size = Sizes[i]
        top.set(end + (left << 6))
        end += size
        tiles = (size + (TILE - 1)) >> 6
        ptx.break_(pred=left < tiles)
        left -= tiles
    return group, top, end


def random(shape: tuple[int, ...], seed: int) -> NDArray[np.float16]:
    """Normally distributed f16."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(np.float16)


def largest_error(
    result: object, a: NDArray[np.float16], b: NDArray[np.float16], sizes: NDArray[np.uint32]
) -> float:
    """Over what it may cost to add each of the products of K = 16 in 22 bits: at most 1."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    parts = list(zip(np.split(x, np.cumsum(sizes)[:-1]), y, strict=True))
    expected = np.concatenate([rows @ matrix.T for rows, matrix in parts])
    largest = np.concatenate([np.abs(rows) @ np.abs(matrix).T for rows, matrix in parts])
    allowed = a.shape[1] // BLOCK[2] * 2.0**-22 * largest
    return float(np.max(np.abs(np.asarray(result, np.float64) - expected) / allowed))


def main() -> None:
    for sizes, n, k in [([64, 0, 100, 1], 64, 64), ([10, 200, 30], 128, 192)]:
        counts = np.array(sizes, np.uint32)
        a, b = random((sum(sizes), k), 0), random((len(sizes), n, k), 1)
        emulation = build(len(sizes), n, k).emulate(a, b, counts)
        emulation.report.check()  # raises if the emulator found a race or anything else wrong
        error = largest_error(emulation.outputs[0], a, b, counts)
        print(f"groups of {sizes} rows in the emulator: {error:.2f} of the error that is allowed")
        assert error <= 1

        if importlib.util.find_spec("jax"):
            import jax

            made = jax.jit(build(len(sizes), n, k))(*map(jax.numpy.asarray, (a, b, counts)))
            error = largest_error(made, a, b, counts)
            place = next(iter(made.devices())).device_kind
            print(f"under jax.jit on {place}: {error:.2f} of the error that is allowed")
            assert error <= 1


if __name__ == "__main__":
    main()
