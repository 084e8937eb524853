"""D = A @ B.T on the tensor cores of Hopper, bf16 added in f32; for sm_90a.

Two CTAs of a cluster make 256 by 256 of D, 128 rows each. One thread of a CTA fetches its rows of A
and half of the rows of B, which it sends to both CTAs; two warpgroups multiply 64 rows each by all
of B, with the sums in registers that the fetching warps gave up.

Runs on any machine, in the emulator: python examples/hopper/matmul.py
"""

from __future__ import annotations

import importlib.util

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32

GROUP = 128  # threads of a warpgroup
GROUPS = 2  # that multiply, 64 rows each
ROWS = 64 * GROUPS  # of A and of D that a CTA has, and of B that it fetches
N_TILE = 256
K_TILE = 64  # 128 bytes of bf16: as wide as a swizzle
K_STEP = 16  # what one instruction multiplies
BOTH = 0b11  # CTAs of a cluster


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
        grid=lambda M: (2 * ptx.cdiv(M, 2 * ROWS), n // N_TILE, 1),
        block=GROUP * (1 + GROUPS),
        cluster=(2, 1, 1),
        arch="sm_90a",
        maxnreg=168,
        parallel=("M",),
    )
    def matmul(A, B, D):
        tiles_a = smem.wgmma_tile(bf16, (stages, ROWS, K_TILE))
        tiles_b = smem.wgmma_tile(bf16, (stages, N_TILE, K_TILE))
        ring = ptx.ring(stages, consumers=2 * GROUPS)  # those of both CTAs read what this one sends
        maps = A.tma_desc(), B.tma_desc()
        tid = reg.from_(ptx.special.tid.x(), u32)
        rank = ptx.cluster.rank()
        ctaid_x, ctaid_y = (
            reg.from_(r, u32) for r in (ptx.special.ctaid.x(), ptx.special.ctaid.y())
        )
        first_row = ptx.inst.mul.lo.u32(ctaid_x, ROWS)
        first_column = ptx.inst.mul.lo.u32(ctaid_y, N_TILE)

        with ptx.if_(tid == 0):
            ring.init()
            ptx.fence.mbarrier_init()
        ptx.cluster.sync()
        with ptx.if_(tid < GROUP):
            ptx.setmaxnreg(40, inc=False)
            with ptx.if_(tid == 0):
                fetch(ring, maps, (tiles_a, tiles_b), (first_row, first_column), rank, k)
        with ptx.else_():
            ptx.setmaxnreg(232)
            thread = tid - GROUP
            sums = multiply(ring, tiles_a, tiles_b, thread, k)
            store_sums(D, sums, thread, first_row, first_column, n)
        ptx.cluster.sync()  # the other CTA may still send, or arrive at mbarriers here

    return matmul


def fetch(ring, maps, tiles, rows, rank, k):
    """Fill stages with rows of A for this CTA, and with half of those of B for both."""
    (a, b), (tiles_a, tiles_b), (row_a, row_b) = maps, tiles, rows
    half = ptx.inst.mul.lo.u32(rank, ROWS)
    row_b = row_b + half
    state = ring.producer()
    for column in ptx.range_(0, k, K_TILE, dtype=u32):
        # In both CTAs. Relaxed, as `release` is: no thread itself reads or writes a stage.
        ring.empty[state.stage].wait(state.phase, cluster=True, relaxed=True)
        full = ring.full[state.stage]
        full.arrive_expect_tx(a.bytes + 2 * b.bytes)
        ptx.cp.async_.bulk.tensor_2d(
            dst=tiles_a[state.stage], src=a, coord=[column, row_a], mbar=full
        )
        ptx.cp.async_.bulk.tensor_2d(
            dst=tiles_b[state.stage].address(half, 0), src=b, coord=[column, row_b], mbar=full,
            multicast_mask=BOTH,
        )  # fmt: skip
        state.advance()


def multiply(ring, tiles_a, tiles_b, thread, k):
    """A warpgroup's 64 rows of the sums; while a product is made the next stage is waited for."""
    sums = reg.wgmma_frag(n=N_TILE, dtype=f32)
    rows = thread >> 7 << 6
    state, read = ring.consumer(), ring.consumer()
    for column in ptx.range_(0, k, K_TILE, dtype=u32):
        ring.wait(state)
        ptx.wgmma.fence()
        for step in range(0, K_TILE, K_STEP):
            ptx.wgmma.mma_async(
                shape=(64, N_TILE, K_STEP), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=sums,
                a=ptx.wgmma.descriptor(tiles_a[state.stage], k=step, mn=rows),
                b=ptx.wgmma.descriptor(tiles_b[state.stage], k=step),
                scale_d=True if step else column > 0,  # the first product begins the sums
            )  # fmt: skip
        ptx.wgmma.commit_group()
        state.advance()
        ptx.wgmma.wait_group(1)  # all but the last: the stage before has been read
        with ptx.if_(column > 0):
            release(ring, read, thread)
            read.advance()
    ptx.wgmma.wait_group(0)
    return sums


def release(ring, read, thread):
    """One thread of the warpgroup tells the fetching threads of both CTAs, after `wait_group`."""
    with ptx.if_((thread & (GROUP - 1)) == 0):
        for rank in range(2):
            ptx.cluster.arrive_remote(ring.empty[read.stage], rank, relaxed=True)


def store_sums(D, sums, thread, first_row, first_column, n):
    """Two neighbours of a row at a time; four threads have 32 bytes."""
    (d,) = ptx.global_ptrs(D)
    row, column = sums.origin(thread & (GROUP - 1))
    row += first_row + (thread >> 7 << 6)
    d += (row * n + first_column + column) * 4
    count = ptx.inst.cvt.u32.u64(D.shape[0])
    there = {down: row + down < count for down in (0, 8)}
    for i in range(0, len(sums), 2):
        down, right = sums.step(i)
        place = ptx.addr(d, (down * n + right) * 4)
        ptx.inst.st.global_.v2.f32(place, [sums[i], sums[i + 1]], pred=there[down])


def random(rows: int, columns: int, seed: int) -> NDArray[np.generic]:
    """Normally distributed bf16."""
    values = np.random.default_rng(seed).standard_normal((rows, columns), np.float32)
    return values.astype(ml_dtypes.bfloat16)


def largest_error(result: object, a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    """Over what it may cost to add each of the products of K = 16 in 22 bits: at most 1."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    allowed = x.shape[1] // K_STEP * 2.0**-22 * (np.abs(x) @ np.abs(y).T)
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

    suited = [d for d in jax.devices() if getattr(d, "compute_capability", "") == "9.0"]
    with jax.default_device((suited or jax.devices("cpu"))[0]):
        result = jax.jit(build(b.shape[0], b.shape[1]))(*map(jax.numpy.asarray, (a, b)))
        error = largest_error(result, a, b)
        place = next(iter(result.devices())).device_kind
    print(f"under jax.jit on {place}: {error:.2f} of the error that is allowed")
    return error


if __name__ == "__main__":
    main()
