"""D = A @ B.T of bf16, added in f32, in seven steps from a naive kernel to a fast one; for sm_90a.

A is (M, K), B is (N, K), D is (M, N) in bf16. docs/tutorial/11_fast_product.md explains the steps.

Runs on any machine, in the emulator: python examples/hopper/matmul_steps.py
"""

from __future__ import annotations

import importlib.util
from contextlib import contextmanager

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, bf16x2, f32, u32

WARPGROUP = 128  # threads
SIDE = 64  # rows and columns of D that a CTA of step 2 makes
CHUNK = 32  # values of K that it has in shared memory
ROWS = 128  # of D that a CTA makes on the tensor cores
K_TILE = 64  # values of K in a stage: 128 bytes, as wide as the swizzle
K_STEP = 16  # of them that one wgmma multiplies
PANELS = 2  # boxes of 64 x 64 of D that a warpgroup's results wait in
BAND = 8  # rows of tiles of D that are made together
CTAS = 132  # of a persistent grid: as many as an H100 has SMs


def specs(m, n, k, multiples, box_b=None):
    """What all kernels take and give. `box_b` are the rows of B that one copy fetches."""
    if any(size % unit for size, unit in zip((m, n, k), multiples, strict=True)) or not m * n * k:
        raise ValueError(f"{m} x {n} x {k} are no multiples of {' x '.join(map(str, multiples))}")
    a, b, d = {}, {}, {}
    if box_b is not None:
        a, b, d = ({"layout": Layout.TMA_128B, "tma_box": (r, K_TILE)} for r in (ROWS, box_b, 64))
    inputs = Tile(m, k, bf16, **a), Tile(n, k, bf16, **b)
    return {"in_specs": inputs, "out_specs": (Tile(m, n, bf16, **d),), "arch": "sm_90a"}


def place(rows, columns):
    """The first row and the first column of this CTA's tile of D."""
    x, y = (reg.from_(r, u32) for r in (ptx.special.ctaid.x(), ptx.special.ctaid.y()))
    return low(y, rows), low(x, columns)


def low(a, b):
    """a * b in 32 bits; `*` gives 64."""
    return ptx.inst.mul.lo.u32(a, b)


def build_naive(m: int, n: int, k: int) -> Kernel:
    """Step 1: two loads from global memory for each multiply-add."""

    @kernel(**specs(m, n, k, (16, 16, 1)), grid=(n // 16, m // 16), block=(16, 16))
    def naive(A, B, D):
        row, column = place(16, 16)
        row, column = row + ptx.special.tid.y(), column + ptx.special.tid.x()
        a, b = A.at(row, 0), B.at(column, 0)
        total = reg.scalar(f32, init=0.0)
        for i in ptx.range_(0, k, dtype=u32):
            x, y = (ptx.to_f32(value)[0] for value in (a[0, i], b[0, i]))
            ptx.inst.fma.rn.f32(total, x, y, total)
        D[row, column] = ptx.inst.cvt.rn.bf16.f32(total)

    return naive


def build_tiled(m: int, n: int, k: int) -> Kernel:
    """Step 2: a thread makes 4 x 4 elements: 8 loads from shared memory for 16 multiply-adds."""

    @kernel(**specs(m, n, k, (SIDE, SIDE, CHUNK)), grid=(n // SIDE, m // SIDE), block=256)
    def tiled(A, B, D):
        tile_a, tile_b = (smem.alloc(f32, (SIDE, CHUNK + 1)) for _ in range(2))
        thread = reg.from_(ptx.special.tid.x(), u32)
        first_row, first_column = place(SIDE, SIDE)
        down, right = thread >> 4, thread & 15
        totals = [[reg.scalar(f32, init=0.0) for _ in range(4)] for _ in range(4)]
        for start in ptx.range_(0, k, CHUNK, dtype=u32):
            load(tile_a, A, first_row, start, thread)
            load(tile_b, B, first_column, start, thread)
            ptx.bar.sync()
            for i in range(CHUNK):
                a = [tile_a[down + 16 * j, i] for j in range(4)]
                b = [tile_b[right + 16 * j, i] for j in range(4)]
                for line, value in zip(totals, a, strict=True):
                    for total, other in zip(line, b, strict=True):
                        ptx.inst.fma.rn.f32(total, value, other, total)
            ptx.bar.sync()
        d = D.at(first_row + down, first_column + right)
        for i, line in enumerate(totals):
            for j, total in enumerate(line):
                d[16 * i, 16 * j] = ptx.inst.cvt.rn.bf16.f32(total)

    return tiled


def load(tile, source, row, column, thread):
    """A tile as f32: four threads load a row, 16 bytes each."""
    down, right = thread >> 2, (thread & 3) << 3
    for i, pair in enumerate(source.load(row + down, column + right, vector=4, dtype=bf16x2)):
        for j, value in enumerate(ptx.to_f32(pair)):
            tile[down, right + (2 * i + j)] = value


def build_tensor_cores(m: int, n: int, k: int) -> Kernel:
    """Step 3: TMA fetches two tiles, wgmma multiplies them, and each waits for the other."""

    @kernel(**specs(m, n, k, (ROWS, 128, K_TILE), 128), grid=(n // 128, m // ROWS), block=WARPGROUP)
    def tensor_cores(A, B, D):
        tiles = [smem.wgmma_tile(bf16, (rows, K_TILE)) for rows in (ROWS, 128)]
        maps = A.tma_desc(), B.tma_desc()
        arrived = smem.mbarrier()
        thread = reg.from_(ptx.special.tid.x(), u32)
        row, column = place(ROWS, 128)
        arrived.init(1, pred=thread == 0)
        ptx.bar.sync()
        sums, phase = new_sums(2, 128), reg.scalar(u32, init=0)
        for start in ptx.range_(0, k, K_TILE, dtype=u32):
            with ptx.if_(thread == 0):
                fetch(arrived, maps, tiles, (row, column), start)
            arrived.wait(phase)
            phase ^= 1
            multiply(sums, *tiles, 0, start)
            ptx.wgmma.wait_group(0)
            ptx.bar.sync()
        store(D, sums, row, column, thread)

    return tensor_cores


def new_sums(blocks, columns):
    """A warpgroup's sums: blocks of 64 rows."""
    return [reg.wgmma_frag(n=columns, dtype=f32) for _ in range(blocks)]


def fetch(full, maps, tiles, corner, start):
    """Copy K_TILE values of the rows of A and of B from `start` on. One thread."""
    full.arrive_expect_tx(sum(each.bytes for each in maps))
    for source, tile, row in zip(maps, tiles, corner, strict=True):
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=source, coord=[start, row], mbar=full)


def multiply(sums, tile_a, tile_b, first, start):
    """Start the products of a stage. `first` is the warpgroup's first row of A's tile."""
    ptx.wgmma.fence()
    for step in range(0, K_TILE, K_STEP):
        for i, block in enumerate(sums):
            ptx.wgmma.mma_async(
                shape=(64, 2 * len(block), K_STEP), dtype_d=f32, dtype_a=bf16, dtype_b=bf16,
                d=block, a=ptx.wgmma.descriptor(tile_a, k=step, mn=first + 64 * i),
                b=ptx.wgmma.descriptor(tile_b, k=step),
                scale_d=True if step else start > 0,  # the first product begins the sums
            )  # fmt: skip
    ptx.wgmma.commit_group()


def store(D, sums, row, column, thread):
    """Two neighbours of a row at a time."""
    down, right = sums[0].origin(thread)
    for i, block in enumerate(sums):
        d = D.at(row + down + 64 * i, column + right)
        for j in range(0, len(block), 2):
            pair = ptx.inst.cvt.rn.bf16x2.f32(block[j + 1], block[j])
            d.store(*block.step(j), pair, dtype=bf16x2)


def build_ring(m: int, n: int, k: int, stages: int = 3) -> Kernel:
    """Step 4: a fifth warp fetches up to `stages` stages ahead while the warpgroup multiplies."""

    @kernel(
        **specs(m, n, k, (ROWS, 128, K_TILE), 128), grid=(n // 128, m // ROWS), block=WARPGROUP + 32
    )
    def by_ring(A, B, D):
        ring, maps, tiles = new_ring(A, B, stages, 128, consumers=1)
        thread = reg.from_(ptx.special.tid.x(), u32)
        row, column = place(ROWS, 128)
        with ptx.if_(uniform(thread >> 5) == 4), ptx.if_(thread == WARPGROUP):
            produce(ring, ring.producer(), maps, tiles, (row, column), k)
        with ptx.else_():
            sums = new_sums(2, 128)
            consume(ring, (ring.consumer(), ring.consumer()), tiles, sums, 0, thread, k)
            store(D, sums, row, column, thread)

    return by_ring


def uniform(value):
    """A number that all threads of a warp have: of a shuffle's result the assembler knows it."""
    return ptx.inst.shfl.sync.idx.b32(value, 0, 31, 0xFFFFFFFF)


def new_ring(A, B, stages, columns, consumers):
    """The mbarriers of the stages, the tensor maps, and the stages."""
    tiles = [smem.wgmma_tile(bf16, (stages, rows, K_TILE)) for rows in (ROWS, columns)]
    ring = ptx.ring(stages, consumers=consumers)
    with ptx.if_(ptx.special.tid.x() == 0):
        ring.init()
    ptx.bar.sync()
    return ring, (A.tma_desc(), B.tma_desc()), tiles


def produce(ring, state, maps, tiles, corner, k):
    """Fill stages with all of K, each once it is empty. One thread."""
    for start in ptx.range_(0, k, K_TILE, dtype=u32):
        full = ring.acquire(state)
        fetch(full, maps, [tile[state.stage] for tile in tiles], corner, start)
        state.advance()


def consume(ring, states, tiles, sums, first, thread, k):
    """Multiply all of K. A stage is released when the products of the next have been started."""
    state, read = states
    for start in ptx.range_(0, k, K_TILE, dtype=u32):
        ring.wait(state)
        multiply(sums, *(tile[state.stage] for tile in tiles), first, start)
        state.advance()
        ptx.wgmma.wait_group(1)  # all but the latest
        with ptx.if_(start > 0):
            ring.release(read, pred=thread == 0)
            read.advance()
    ptx.wgmma.wait_group(0)
    ring.release(read, pred=thread == 0)
    read.advance()


def wide(m, n, k):
    """What the kernels of steps 5 to 7 have in common: 128 x 256 of D, three warpgroups."""
    return specs(m, n, k, (ROWS, 256, K_TILE), 256) | {"block": 3 * WARPGROUP, "maxnreg": 168}


def build_two_groups(m: int, n: int, k: int, stages: int = 4) -> Kernel:
    """Step 5: two warpgroups multiply 64 rows of A each by the same 256 rows of B."""

    @kernel(**wide(m, n, k), grid=(n // 256, m // ROWS))
    def two_groups(A, B, D):
        ring, maps, tiles = new_ring(A, B, stages, 256, consumers=2)
        row, column = place(ROWS, 256)
        group, thread = warpgroup()
        with producer(group, thread):
            produce(ring, ring.producer(), maps, tiles, (row, column), k)
        with consumers():
            sums, first = new_sums(1, 256), low(group - 1, 64)
            consume(ring, (ring.consumer(), ring.consumer()), tiles, sums, first, thread, k)
            store(D, sums, row + first, column, thread)

    return two_groups


def warpgroup():
    """The number of this thread's warpgroup, and of the thread in it."""
    thread = reg.from_(ptx.special.tid.x(), u32)
    return uniform(thread >> 7), thread & (WARPGROUP - 1)


@contextmanager
def producer(group, thread):
    """One thread of warpgroup 0, which gives registers to the others."""
    with ptx.if_(group == 0):
        ptx.setmaxnreg(40, inc=False)
        with ptx.if_(thread == 0):
            yield


@contextmanager
def consumers():
    """Warpgroups 1 and 2, which take these registers."""
    with ptx.else_():
        ptx.setmaxnreg(232)
        yield


def build_tma_stores(m: int, n: int, k: int, stages: int = 4) -> Kernel:
    """Step 6: results go to shared memory and from there, in boxes of 64 x 64, to D."""

    @kernel(**wide(m, n, k), grid=(n // 256, m // ROWS))
    def tma_stores(A, B, D):
        panels = smem.alloc(bf16, (2 * PANELS, 64, 64), swizzle="128B")
        ring, maps, tiles = new_ring(A, B, stages, 256, consumers=2)
        row, column = place(ROWS, 256)
        group, thread = warpgroup()
        with producer(group, thread):
            produce(ring, ring.producer(), maps, tiles, (row, column), k)
        with consumers():
            sums, first = new_sums(1, 256), low(group - 1, 64)
            consume(ring, (ring.consumer(), ring.consumer()), tiles, sums, first, thread, k)
            store_boxes(D, panels, sums, (row + first, column), group, thread)
            ptx.cp.async_.bulk.wait_group(0, read=True)  # shared memory is the copies' until then

    return tma_stores


def store_boxes(D, panels, sums, corner, group, thread):
    """64 x 256 of D: PANELS boxes at a time, which one thread copies."""
    d, (row, column), (block,) = D.tma_desc(), corner, sums
    mine, first = ptx.named_barrier(group, count=WARPGROUP), low(group - 1, PANELS)
    down, right = (thread >> 5 << 4) + (thread & 15), (thread >> 4 & 1) << 3
    pairs = [ptx.inst.cvt.rn.bf16x2.f32(block[i + 1], block[i]) for i in range(0, len(block), 2)]
    for left in range(0, 256, 64 * PANELS):
        ptx.cp.async_.bulk.wait_group(0, read=True)  # the boxes before have been read
        mine.sync()
        for i in range(PANELS):
            for j in range(0, 64, 16):
                at = (left + 64 * i + j) // 4
                where = panels.address(first + i, down, right + j)
                ptx.stmatrix(smem=where, regs=pairs[at : at + 4])
        ptx.fence.proxy_async("shared::cta")
        mine.sync()
        with ptx.if_(thread == 0):
            for i in range(PANELS):
                coord = [column + (left + 64 * i), row]
                ptx.cp.async_.bulk.tensor_2d.store(dst=d, src=panels[first + i], coord=coord)
            ptx.cp.async_.bulk.commit_group()


def build_persistent(m: int, n: int, k: int, stages: int = 4, ctas: int = CTAS) -> Kernel:
    """Step 7: one CTA on each SM makes tile after tile; the next is fetched while one is stored."""
    down, across = m // ROWS, n // 256

    @kernel(**wide(m, n, k), grid=min(ctas, down * across))
    def persistent(A, B, D):
        panels = smem.alloc(bf16, (2 * PANELS, 64, 64), swizzle="128B")
        ring, maps, tiles = new_ring(A, B, stages, 256, consumers=2)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        group, thread = warpgroup()
        with producer(group, thread):
            state = ring.producer()
            for tile in ptx.range_(cta, down * across, ctas, dtype=u32):
                produce(ring, state, maps, tiles, banded(tile, down, across), k)
        with consumers():
            sums, first = new_sums(1, 256), low(group - 1, 64)
            states = ring.consumer(), ring.consumer()
            for tile in ptx.range_(cta, down * across, ctas, dtype=u32):
                row, column = banded(tile, down, across)
                consume(ring, states, tiles, sums, first, thread, k)
                store_boxes(D, panels, sums, (row + first, column), group, thread)
            ptx.cp.async_.bulk.wait_group(0, read=True)

    return persistent


def banded(tile, down, across):
    """Where a tile begins. Tiles of BAND rows are numbered down first, then across."""
    band = tile // (BAND * across)
    inside, top = tile - low(band, BAND * across), low(band, BAND)
    height = ptx.inst.min.u32(down - top, BAND)
    column = inside // height
    return low(top + inside - low(column, height), ROWS), low(column, 256)


STEPS = {
    "a thread for each element": build_naive,
    "tiles in shared memory": build_tiled,
    "tensor cores": build_tensor_cores,
    "a ring of stages": build_ring,
    "a larger tile of two warpgroups": build_two_groups,
    "the result by TMA": build_tma_stores,
    "a persistent grid": build_persistent,
}


def random(rows: int, columns: int, seed: int) -> NDArray[np.generic]:
    """Normally distributed bf16."""
    values = np.random.default_rng(seed).standard_normal((rows, columns), np.float32)
    return values.astype(ml_dtypes.bfloat16)


def largest_error(result: object, a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    """Over what sums in f32 may be off, and their rounding to bf16: at most 1."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    exact = x @ y.T
    summed = x.shape[1] * 2.0**-24 * (np.abs(x) @ np.abs(y).T)
    allowed = 2.0**-8 * np.abs(exact) + (1 + 2.0**-8) * summed
    return float(np.max(np.abs(np.asarray(result).astype(np.float64) - exact) / allowed))


def main() -> None:
    m, n, k = 256, 256, 640
    a, b = random(m, k, 0), random(n, k, 1)
    for name, build in STEPS.items():
        emulation = build(m, n, k).emulate(a, b)
        emulation.report.check()  # raises if the emulator found a race or anything else wrong
        found = {"in the emulator": emulation.outputs[0]}
        if importlib.util.find_spec("jax"):
            import jax

            suited = [d for d in jax.devices() if getattr(d, "compute_capability", "") == "9.0"]
            with jax.default_device((suited or jax.devices("cpu"))[0]):
                result = jax.jit(build(m, n, k))(*map(jax.numpy.asarray, (a, b)))
            found[f"under jax.jit on {next(iter(result.devices())).device_kind}"] = result
        for where, result in found.items():
            error = largest_error(result, a, b)
            print(f"{name}, {where}: {error:.2f} of the error that is allowed")
            assert error <= 1


if __name__ == "__main__":
    main()
