"""D = A @ B.T by pairs of CTAs, bf16 added in f32; for sm_100a.

Two CTAs of six warps make 256 by 256 of D: each fetches its half of the rows of A and half of the
rows of B, and one thread of the even CTA multiplies them together, so every value in shared memory
serves both tensor cores. Each CTA has its 128 rows of the sums in its own Tensor Memory.

Runs on any machine, in the emulator: python examples/blackwell/matmul_pair.py
"""

from __future__ import annotations

import importlib.util

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32

ROWS = 128  # of A, of B and of D that a CTA has
M_TILE = N_TILE = 2 * ROWS
K_TILE = 64  # 128 bytes of bf16: as wide as a swizzle
K_STEP = 16  # what one instruction multiplies
WARP = 32
FETCHING, MULTIPLYING = 4 * WARP, 5 * WARP  # the first threads of these warps
BOTH = 0b11  # CTAs of a pair


def build(n: int, k: int, stages: int = 4) -> Kernel:
    """The kernel for A of any number of rows, B of `n` rows, and rows of `k` values.

    n is a multiple of 256, k of 64.
    """
    if n % N_TILE or k % K_TILE or not k:
        raise ValueError(f"n={n} is no multiple of {N_TILE}, or k={k} none of {K_TILE}")
    box = {"layout": Layout.TMA_128B, "tma_box": (ROWS, K_TILE)}

    @kernel(
        in_specs=(Tile("M", k, bf16, **box), Tile(n, k, bf16, **box)),
        out_specs=(Tile("M", n, f32),),
        grid=lambda M: (2 * ptx.cdiv(M, M_TILE), n // N_TILE, 1),
        block=6 * WARP,
        cluster=(2, 1, 1),
        arch="sm_100a",
        parallel=("M",),
    )
    def matmul(A, B, D):
        tiles = tuple(smem.wgmma_tile(bf16, (stages, ROWS, K_TILE)) for _ in range(2))
        ring = ptx.ring(stages)
        done, slot = smem.mbarrier(), smem.alloc(u32, 1)
        maps = A.tma_desc(), B.tma_desc()
        tid = reg.from_(ptx.special.tid.x(), u32)
        warp, rank = tid >> 5, ptx.cluster.rank()
        ctaid_x, ctaid_y = (
            reg.from_(r, u32) for r in (ptx.special.ctaid.x(), ptx.special.ctaid.y())
        )
        first_row = ptx.inst.mul.lo.u32(ctaid_x, ROWS)
        first_column = ptx.inst.mul.lo.u32(ctaid_y, N_TILE)

        # A warp of each CTA allocates, and both get the same columns.
        with ptx.if_(warp == MULTIPLYING // WARP):
            memory = ptx.tcgen05.alloc(slot, N_TILE, cta_group=2)
            ptx.tcgen05.relinquish_alloc_permit(cta_group=2)
        with ptx.if_(tid == 0):
            ring.init()
            done.init(1)
            ptx.fence.mbarrier_init()
        ptx.tcgen05.fence_before_thread_sync()
        ptx.cluster.sync()
        ptx.tcgen05.fence_after_thread_sync()
        sums = memory.address()

        with ptx.if_(tid == FETCHING):
            own_rows = first_row, ptx.inst.mad.lo.u32(rank, ROWS, first_column)
            fetch(ring, maps, tiles, own_rows, rank, k)
        with ptx.if_(tid == MULTIPLYING), ptx.if_(rank == 0):
            multiply(ring, done, tiles, sums, k)
        with ptx.if_(tid < FETCHING):
            store_sums(D, done, sums, tid, first_row + tid, first_column, n)
        ptx.bar.sync()
        with ptx.if_(warp == MULTIPLYING // WARP):
            ptx.tcgen05.dealloc(sums)

    return matmul


def fetch(ring, maps, tiles, rows, rank, k):
    """Both CTAs fill the even one's stage: its mbarrier counts the bytes of both."""
    state = ring.producer()
    with_both = 2 * sum(map_.bytes for map_ in maps)
    for column in ptx.range_(0, k, K_TILE, dtype=u32):
        full = ring.acquire(state)
        full_of_both = ptx.addr(ptx.cluster.map_shared_rank(full, 0))
        with ptx.if_(rank == 0):
            full.arrive_expect_tx(with_both)
        for map_, tile, row in zip(maps, tiles, rows, strict=True):
            ptx.cp.async_.bulk.tensor_2d(
                dst=tile[state.stage], src=map_, coord=[column, row], mbar=full_of_both, cta_group=2
            )
        state.advance()
    for _ in range(ring.n_stages):  # until no product arrives at this CTA any more
        ring.acquire(state)
        state.advance()


def multiply(ring, done, tiles, sums, k):
    """One thread for both CTAs: descriptors hold in the shared memory of each."""
    how = ptx.tcgen05.instruction_descriptor("f16", m=M_TILE, n=N_TILE, a=bf16, b=bf16, cta_group=2)
    state = ring.consumer()
    for column in ptx.range_(0, k, K_TILE, dtype=u32):
        ring.wait(state)
        ptx.tcgen05.fence_after_thread_sync()
        for step in range(0, K_TILE, K_STEP):
            multiplicands = (ptx.tcgen05.descriptor(tile[state.stage], k=step) for tile in tiles)
            more = True if step else column > 0  # the first product begins the sums
            ptx.tcgen05.mma(sums, *multiplicands, how, enable_input_d=more, cta_group=2)
        # Arrives in both CTAs when their tiles have been read.
        ptx.tcgen05.commit(ring.empty[state.stage], cta_group=2, multicast_mask=BOTH)
        state.advance()
    ptx.tcgen05.commit(done, cta_group=2, multicast_mask=BOTH)


def store_sums(D, done, sums, tid, row, first_column, n):
    """Each thread of four warps has a row: 16 bytes at a time, as long as there are rows."""
    (d,) = ptx.global_ptrs(D)
    d += (row * n + first_column) * 4
    there = row < ptx.inst.cvt.u32.u64(D.shape[0])
    done.wait(0)
    ptx.tcgen05.fence_after_thread_sync()
    lanes = ptx.tcgen05.at(sums, lane=tid >> 5 << 5)  # a warp reaches 32 lanes
    for column in range(0, N_TILE, 32):
        values = ptx.tcgen05.ld(None, ptx.tcgen05.at(lanes, column=column), count=32, dtype=f32)
        ptx.tcgen05.wait_ld()
        for i in range(0, 32, 4):
            place = ptx.addr(d, (column + i) * 4)
            ptx.inst.st.global_.v4.f32(place, list(values[i : i + 4]), pred=there)
    ptx.tcgen05.fence_before_thread_sync()


def random(rows: int, columns: int, seed: int) -> NDArray[np.generic]:
    """Normally distributed bf16."""
    values = np.random.default_rng(seed).standard_normal((rows, columns), np.float32)
    return values.astype(ml_dtypes.bfloat16)


def largest_error(result: object, a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    """Over what rounding each of the products of K = 16 once may cost: at most 1."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    allowed = x.shape[1] // K_STEP * 2.0**-24 * (np.abs(x) @ np.abs(y).T)
    return float(np.max(np.abs(np.asarray(result, np.float64) - x @ y.T) / allowed))


def main() -> None:
    for m, n, k in [(256, 256, 64), (300, 256, 384)]:
        a, b = random(m, k, 0), random(n, k, 1)
        emulation = build(n, k).emulate(a, b)
        emulation.report.check()  # raises if the emulator found a race or anything else wrong
        error = largest_error(emulation.outputs[0], a, b)
        print(f"{m} x {n} x {k} in the emulator: {error:.2f} of the error that is allowed")
        assert error <= 1

        if importlib.util.find_spec("jax"):
            error = with_jax(a, b)
            assert error <= 1


def with_jax(a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    """Under jax.jit: on a GPU that has such tensor cores, and otherwise on the CPU."""
    import jax

    suited = [d for d in jax.devices() if getattr(d, "compute_capability", "") == "10.0"]
    with jax.default_device((suited or jax.devices("cpu"))[0]):
        result = jax.jit(build(b.shape[0], b.shape[1]))(*map(jax.numpy.asarray, (a, b)))
        error = largest_error(result, a, b)
        place = next(iter(result.devices())).device_kind
    print(f"under jax.jit on {place}: {error:.2f} of the error that is allowed")
    return error


if __name__ == "__main__":
    main()
