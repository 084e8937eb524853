"""Attention, softmax(Q K^T / sqrt(D)) V, without the matrix of scores in memory; f16, added in f32.

A CTA has 64 queries of one head, 16 for each of its four warps, and walks along the keys in tiles
of 64. Both products are `mma.sync`; the softmax is online: a running maximum and sum for each row,
and results that are scaled when the maximum grows. The next tiles of K and V are copied by
`cp.async` while this one is used. docs/tutorial/10_attention.md explains it.

Runs on any machine: python examples/attention.py
"""

from __future__ import annotations

import importlib.util

import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.types import f16, f32, u32

ROWS = 64  # queries of a CTA, and keys of a tile
WIDTH = 64  # values of a head: 128 bytes, as wide as a swizzle
WARPS = ROWS // 16
LOG2_E = 1.4426950408889634
PRODUCT = {"shape": (16, 8, 16), "dtype_d": f32, "dtype_a": f16, "dtype_b": f16, "dtype_c": f32}


def build(keys: int, *, causal: bool = False) -> Kernel:
    """The kernel for Q of (heads, queries, 64), K and V of (heads, keys, 64), all f16.

    `keys` and the number of queries are multiples of 64. A `causal` query sees the keys up to its
    own number.
    """
    if keys % ROWS or not keys:
        raise ValueError(f"{keys} keys are not a multiple of {ROWS}")
    tensor = Tile("H", keys, WIDTH, f16)

    @kernel(
        in_specs=(Tile("H", "T", WIDTH, f16), tensor, tensor),
        out_specs=(Tile("H", "T", WIDTH, f16),),
        grid=lambda H, T: (T // ROWS, H),
        block=32 * WARPS,
        parallel=("H",),
        arch="auto",
    )
    def attention(Q, K, V, Y):
        tile_q = smem.alloc(f16, (ROWS, WIDTH), swizzle="128B")
        tiles_k = smem.alloc(f16, (2, ROWS, WIDTH), swizzle="128B")
        tiles_v = smem.alloc(f16, (2, ROWS, WIDTH), swizzle="128B")
        thread = reg.from_(ptx.special.tid.x(), u32)
        head = reg.from_(ptx.special.ctaid.y(), u32)
        tile = reg.from_(ptx.special.ctaid.x(), u32)
        first_query = tile << 6
        top = thread >> 5 << 4  # this warp's first row of the tile of queries
        tiles = tile + 1 if causal else keys // ROWS

        def fetch(step):
            with ptx.if_(step < tiles):
                copy(tiles_k[step & 1], K, head, step << 6, thread)
                copy(tiles_v[step & 1], V, head, step << 6, thread)
            ptx.cp.async_.commit_group()

        copy(tile_q, Q, head, first_query, thread)
        fetch(reg.scalar(u32, init=0))
        ptx.cp.async_.wait_group(0)
        ptx.bar.sync()
        queries = [ptx.mma.load_a(tile_q, top, d) for d in range(0, WIDTH, 16)]

        results = [zeros() for _ in range(WIDTH // 8)]
        most = [reg.scalar(f32, init=-np.inf) for _ in range(2)]  # of rows r and r + 8
        total = [reg.scalar(f32, init=0.0) for _ in range(2)]
        for step in ptx.range_(0, tiles, dtype=u32):
            fetch(step + 1)
            ptx.cp.async_.wait_group(1)  # this tile's copies have ended, the next one's may go on
            ptx.bar.sync()
            scores = multiply_keys(queries, tiles_k[step & 1])
            if causal:
                mask(scores, first_query + top, step << 6)
            for half in range(2):
                rescale(scores, results, most[half], total[half], half)
            multiply_values(scores, tiles_v[step & 1], results)
            ptx.bar.sync()

        store(Y, head, first_query + top, results, total)

    return attention


def copy(tile, source, head, first, thread):
    """Start the copies of 64 rows from `first` on: 16 bytes of a thread, 8 threads a row."""
    row, column = thread >> 3, (thread & 7) << 3
    for i in range(0, ROWS, 4 * WARPS):
        where = source.address(head, first + row + i, column)
        ptx.cp.async_.cg(tile.address(row + i, column), where)


def zeros():
    """Sums of 16 by 8 values."""
    sums = reg.mma_frag("d", shape=(16, 8, 16), dtype=f32)
    for register in sums:
        register.set(0.0)
    return sums


def multiply_keys(queries, tile):
    """The scores of this warp's 16 queries with 64 keys, in blocks of 8 keys."""
    scores = [zeros() for _ in range(ROWS // 8)]
    for k, held in enumerate(queries):
        for i in range(0, len(scores), 2):
            keys = ptx.mma.load_b(tile, 8 * i, 16 * k)
            for block, columns in ((scores[i], keys[:2]), (scores[i + 1], keys[2:])):
                ptx.mma.sync(d=block, a=held, b=columns, c=block, **PRODUCT)
    return scores


def mask(scores, first_query, first_key):
    """Minus infinity for each key that comes after its query."""
    row, column = scores[0].origin(reg.from_(ptx.special.laneid(), u32))
    row += first_query
    column += first_key
    for i, block in enumerate(scores):
        for j, register in enumerate(block):
            down, right = block.step(j)
            later = column + (8 * i + right) > row + down
            ptx.inst.mov.f32(register, -np.inf, pred=later)


def rescale(scores, results, most, total, half):
    """Scores of one row of each lane to powers of 2, by the largest score so far."""
    ours = [register for block in scores for register in block[2 * half : 2 * half + 2]]
    largest = reg.from_(most, f32)
    for score in ours:
        ptx.inst.max.f32(largest, largest, score)
    ptx.warp.reduce_max(largest, width=4)  # four lanes have a row
    scale = LOG2_E / WIDTH**0.5
    factor = ptx.inst.ex2.approx.f32((most - largest) * scale)
    most.set(largest)
    shift = largest * -scale
    total *= factor
    for score in ours:
        ptx.inst.ex2.approx.f32(score, ptx.inst.fma.rn.f32(score, scale, shift))
        total += score
    for block in results:
        for register in block[2 * half : 2 * half + 2]:
            ptx.inst.mul.rn.f32(register, register, factor)


def multiply_values(scores, tile, results):
    """Add the product of the powers and 64 rows of V. The sums of one are the A of the other."""
    lane = reg.from_(ptx.special.laneid(), u32)
    for k in range(0, len(scores), 2):
        pairs = [(block[j + 1], block[j]) for block in scores[k : k + 2] for j in (0, 2)]
        powers = [ptx.inst.cvt.rn.f16x2.f32(high, low) for high, low in pairs]
        for i in range(0, len(results), 2):
            where = tile.address((lane & 15) + 8 * k, (lane >> 4 << 3) + 8 * i)
            values = ptx.ldmatrix(src=where, layout="x4", trans=True)
            for block, columns in ((results[i], values[:2]), (results[i + 1], values[2:])):
                ptx.mma.sync(d=block, a=powers, b=columns, c=block, **PRODUCT)


def store(Y, head, first, results, total):
    """The results of this warp's 16 queries over the sums of their powers."""
    row, column = results[0].origin(reg.from_(ptx.special.laneid(), u32))
    for half in range(2):
        ptx.warp.reduce_sum(total[half], width=4)
        factor = ptx.inst.rcp.approx.f32(total[half])
        for i, block in enumerate(results):
            pair = [ptx.inst.cvt.rn.f16.f32(r * factor) for r in block[2 * half : 2 * half + 2]]
            Y.store(head, first + row + 8 * half, column + 8 * i, pair)


def reference(
    q: NDArray[np.float16], k: NDArray[np.float16], v: NDArray[np.float16], *, causal: bool = False
) -> NDArray[np.float64]:
    """The same in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
    if causal:
        scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(2, keepdims=True))
    return powers / powers.sum(2, keepdims=True) @ v


def random(heads: int, rows: int, seed: int) -> NDArray[np.float16]:
    """Normally distributed f16."""
    values = np.random.default_rng(seed).standard_normal((heads, rows, WIDTH), np.float32)
    return values.astype(np.float16)


def main() -> None:
    for queries, keys, causal in [(64, 128, False), (128, 128, True)]:
        q, k, v = random(2, queries, 0), random(2, keys, 1), random(2, keys, 2)
        expected = reference(q, k, v, causal=causal)
        emulation = build(keys, causal=causal).emulate(q, k, v)
        emulation.report.check()  # raises if the emulator found a race or anything else wrong
        error = np.abs(emulation.outputs[0] - expected).max()
        print(f"{queries} x {keys}, causal={causal}, in the emulator: largest error {error:.1e}")
        assert error < 2e-3

        if importlib.util.find_spec("jax"):
            import jax

            made = jax.jit(build(keys, causal=causal))(*map(jax.numpy.asarray, (q, k, v)))
            error = np.abs(np.asarray(made, np.float64) - expected).max()
            place = next(iter(made.devices())).device_kind
            print(f"under jax.jit on {place}: largest error {error:.1e}")
            assert error < 2e-3


if __name__ == "__main__":
    main()
