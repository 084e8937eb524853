"""Products in the emulator, with the sanitizer on one thread: tensor cores, `mma.sync`, tiles.

Each kernel multiplies again what it has in shared memory or registers, so that little but products
is timed. The numbers are small integers, so that every sum is exact and is checked.
"""

# Bodies of kernels take tensors that have no types of their own to name.
# pyright: reportMissingParameterType=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import ml_dtypes
import numpy as np
from measure import no_collection, seconds

from pyptx import Kernel, Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import DType, bf16, e4m3, f32, u32

ROUNDS: Final = 64
UNROLLED: Final = 128
COLUMNS: Final = 256
SIDE: Final = 16
SIZE: Final = 128


def warpgroup(dtype: DType) -> Kernel:
    """D = ROUNDS * A @ B.T by `wgmma` m64n256, of one 128-byte tile of A and of B."""
    depth, step = 128 // dtype.bytes, 32 // dtype.bytes
    layout = Layout.TMA_128B

    @kernel(
        in_specs=(
            Tile(64, depth, dtype, layout=layout, tma_box=(64, depth)),
            Tile(COLUMNS, depth, dtype, layout=layout, tma_box=(COLUMNS, depth)),
        ),
        out_specs=(Tile(64, COLUMNS, f32),),
        block=128,
        arch="sm_90a",
    )
    def warpgroup_product(A, B, D):
        tile_a, tile_b = (
            smem.wgmma_tile(dtype, (64, depth)),
            smem.wgmma_tile(dtype, (COLUMNS, depth)),
        )
        arrived = smem.mbarrier()
        a, b = A.tma_desc(), B.tma_desc()
        thread = reg.from_(ptx.special.tid.x(), u32)
        first = thread == 0
        arrived.init(1, pred=first)
        ptx.bar.sync()
        with ptx.if_(first):
            arrived.arrive_expect_tx(a.bytes + b.bytes)
            ptx.cp.async_.bulk.tensor_2d(dst=tile_a, src=a, coord=[0, 0], mbar=arrived)
            ptx.cp.async_.bulk.tensor_2d(dst=tile_b, src=b, coord=[0, 0], mbar=arrived)
        arrived.wait(0)
        sums = reg.wgmma_frag(n=COLUMNS, dtype=f32)
        for register in sums:
            register.set(0.0)
        for _ in ptx.range_(ROUNDS, dtype=u32):
            ptx.wgmma.fence()
            for inner in range(0, depth, step):
                ptx.wgmma.mma_async(
                    shape=(64, COLUMNS, step), dtype_d=f32, dtype_a=dtype, dtype_b=dtype, d=sums,
                    a=ptx.wgmma.descriptor(tile_a, k=inner),
                    b=ptx.wgmma.descriptor(tile_b, k=inner), scale_d=True,
                )  # fmt: skip
            ptx.wgmma.commit_group()
            ptx.wgmma.wait_group(0)
        row, column = sums.origin(thread)
        for i in range(0, len(sums), 2):
            down, right = sums.step(i)
            D.store(row + down, column + right, [sums[i], sums[i + 1]])

    return warpgroup_product


def tensor_core() -> Kernel:
    """D = ROUNDS * A @ B.T by `tcgen05.mma` m128n256, of one 128-byte tile of A and of B."""
    rows, depth, step = 128, 64, 16
    layout = Layout.TMA_128B

    @kernel(
        in_specs=(
            Tile(rows, depth, bf16, layout=layout, tma_box=(rows, depth)),
            Tile(COLUMNS, depth, bf16, layout=layout, tma_box=(COLUMNS, depth)),
        ),
        out_specs=(Tile(rows, COLUMNS, f32),),
        block=128,
        arch="sm_100a",
    )
    def tensor_core_product(A, B, D):
        tile_a = smem.wgmma_tile(bf16, (rows, depth))
        tile_b = smem.wgmma_tile(bf16, (COLUMNS, depth))
        arrived, done, slot = smem.mbarrier(), smem.mbarrier(), smem.alloc(u32, 1)
        a, b = A.tma_desc(), B.tma_desc()
        thread = reg.from_(ptx.special.tid.x(), u32)
        first = thread == 0
        with ptx.if_(thread < 32):
            memory = ptx.tcgen05.alloc(slot, COLUMNS)
            ptx.tcgen05.relinquish_alloc_permit()
        arrived.init(1, pred=first)
        done.init(1, pred=first)
        ptx.tcgen05.fence_before_thread_sync()
        ptx.bar.sync()
        ptx.tcgen05.fence_after_thread_sync()
        sums = memory.address()
        with ptx.if_(first):
            arrived.arrive_expect_tx(a.bytes + b.bytes)
            ptx.cp.async_.bulk.tensor_2d(dst=tile_a, src=a, coord=[0, 0], mbar=arrived)
            ptx.cp.async_.bulk.tensor_2d(dst=tile_b, src=b, coord=[0, 0], mbar=arrived)
            arrived.wait(0)
            how = ptx.tcgen05.instruction_descriptor("f16", m=rows, n=COLUMNS, a=bf16, b=bf16)
            for turn in ptx.range_(ROUNDS, dtype=u32):
                for inner in range(0, depth, step):
                    ptx.tcgen05.mma(
                        sums, ptx.tcgen05.descriptor(tile_a, k=inner),
                        ptx.tcgen05.descriptor(tile_b, k=inner), how,
                        enable_input_d=True if inner else turn > 0,
                    )  # fmt: skip
            ptx.tcgen05.commit(done)
        done.wait(0)
        ptx.tcgen05.fence_after_thread_sync()
        lanes = ptx.tcgen05.at(sums, lane=thread >> 5 << 5)  # a warp reaches 32 lanes
        for column in range(0, COLUMNS, 32):
            place = ptx.tcgen05.at(lanes, column=column)
            values = ptx.tcgen05.ld(None, place, count=32, dtype=f32)
            ptx.tcgen05.wait_ld()
            for i in range(0, 32, 4):
                D.store(thread, column + i, list(values[i : i + 4]))
        ptx.tcgen05.fence_before_thread_sync()
        ptx.bar.sync()
        with ptx.if_(thread < 32):
            ptx.tcgen05.dealloc(sums)

    return tensor_core_product


def warp() -> Kernel:
    """D = UNROLLED * ROUNDS * A @ B.T by `mma.sync` m16n8k16 of bf16."""

    @kernel(
        in_specs=(Tile(16, 16, bf16), Tile(8, 16, bf16)),
        out_specs=(Tile(16, 8, f32),),
        block=32,
        arch="sm_80",
    )
    def warp_product(A, B, D):
        lane = reg.from_(ptx.special.tid.x(), u32)
        tiles = smem.alloc(bf16, (16, 16)), smem.alloc(bf16, (16, 16))
        for each, tile, rows in ((A, tiles[0], 16), (B, tiles[1], 8)):
            for row in range(rows):
                with ptx.if_(lane < 16):
                    tile[row, lane] = each[row, lane]
                    if rows == 8:
                        tile[row + 8, lane] = each[row, lane]
        ptx.inst.bar.warp.sync(0xFFFFFFFF)
        a, b = ptx.mma.load_a(tiles[0], 0, 0), ptx.mma.load_b(tiles[1], 0, 0)
        sums = reg.mma_frag("d", shape=(16, 8, 16), dtype=f32)
        for register in sums:
            register.set(0.0)
        for _ in ptx.range_(ROUNDS, dtype=u32):
            for _ in range(UNROLLED):
                ptx.mma.sync(
                    shape=(16, 8, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, dtype_c=f32,
                    d=sums, a=a, b=b[:2], c=sums,
                )  # fmt: skip
        row, column = sums.origin(lane)
        for i in range(0, len(sums), 2):
            down, right = sums.step(i)
            D.store(row + down, column + right, [sums[i], sums[i + 1]])

    return warp_product


def tiled() -> Kernel:
    """D = A @ B in f32 by tiles of 16 x 16 in shared memory: a thread has one element of D."""

    @kernel(
        in_specs=(Tile(SIZE, SIZE, f32), Tile(SIZE, SIZE, f32)),
        out_specs=(Tile(SIZE, SIZE, f32),),
        grid=(SIZE // SIDE, SIZE // SIDE),
        block=(SIDE, SIDE),
        arch="sm_80",
    )
    def tiled_product(A, B, D):
        a, b = smem.alloc(f32, (SIDE, SIDE)), smem.alloc(f32, (SIDE, SIDE))
        x, y = (reg.from_(t, u32) for t in (ptx.special.tid.x(), ptx.special.tid.y()))
        right = reg.from_(ptx.special.ctaid.x(), u32) * SIDE
        down = reg.from_(ptx.special.ctaid.y(), u32) * SIDE
        column, row = ptx.inst.cvt.u32.u64(right) + x, ptx.inst.cvt.u32.u64(down) + y
        total = reg.scalar(f32, init=0.0)
        for k in ptx.range_(0, SIZE, SIDE, dtype=u32):
            a[y, x] = A[row, k + x]
            b[y, x] = B[k + y, column]
            ptx.bar.sync(0)
            for i in range(SIDE):
                ptx.inst.fma.rn.f32(total, a[y, i], b[i, x], total)
            ptx.bar.sync(0)
        D[row, column] = total

    return tiled_product


def speeds(runs: int) -> list[tuple[str, str, list[float]]]:
    """Name, unit and speed of each run: GFLOP/s or million warp-instructions a second."""
    found: list[tuple[str, str, list[float]]] = []
    for dtype in (bf16, e4m3):
        depth = 128 // dtype.bytes
        kind = ml_dtypes.bfloat16 if dtype is bf16 else ml_dtypes.float8_e4m3fn
        a, b = (_integers((n, depth), kind) for n in (64, COLUMNS))
        wanted = ROUNDS * (a.astype(np.float32) @ b.astype(np.float32).T)
        work = 2 * 64 * COLUMNS * depth * ROUNDS / 1e9
        run = _timed(warpgroup(dtype), a, b, wanted, lambda _, work=work: work)
        found.append((f"wgmma m64n256 {dtype}", "GFLOP/s", [run() for _ in range(runs)]))
    a, b = (_integers((n, 64), ml_dtypes.bfloat16) for n in (128, COLUMNS))
    wanted = ROUNDS * (a.astype(np.float32) @ b.astype(np.float32).T)
    run = _timed(tensor_core(), a, b, wanted, lambda _: 2 * 128 * COLUMNS * 64 * ROUNDS / 1e9)
    found.append(("tcgen05.mma m128n256 bf16", "GFLOP/s", [run() for _ in range(runs)]))
    a, b = (_integers((n, 16), ml_dtypes.bfloat16) for n in (16, 8))
    wanted = UNROLLED * ROUNDS * (a.astype(np.float32) @ b.astype(np.float32).T)
    run = _timed(warp(), a, b, wanted, lambda _: UNROLLED * ROUNDS / 1e6)
    found.append(("mma.sync m16n8k16 bf16", "M/s", [run() for _ in range(runs)]))
    a, b = (_integers((SIZE, SIZE), np.float32) for _ in range(2))
    run = _timed(tiled(), a, b, a @ b, lambda report: report.instructions / 1e6)
    found.append(("a product by tiles in shared memory", "M/s", [run() for _ in range(runs)]))
    return found


def _integers(shape: tuple[int, int], dtype: Any) -> Any:
    return np.random.default_rng(0).integers(-1, 2, shape).astype(dtype)


def _timed(
    made: Kernel, a: Any, b: Any, wanted: Any, work: Callable[[Any], float]
) -> Callable[[], float]:
    """Work over the wall-clock time of an `emulate` call with the sanitizer, on one thread."""

    def run() -> float:
        done: list[Any] = []
        with no_collection():
            taken = seconds(
                lambda: done.append(made.emulate(a, b, sanitize=True, threads=1, statistics=False))
            )
        (result,) = done
        result.report.check()
        np.testing.assert_array_equal(result.outputs[0], wanted)
        return work(result.report) / taken

    run()  # traces it
    return run
