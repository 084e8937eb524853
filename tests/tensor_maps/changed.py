"""Kernels that change tensor maps: groups of rows of one matrix, each a tensor of its own."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32, u64

Array = NDArray[Any]
ROWS, COLUMNS = 8, 32
ROW_BYTES = 4 * COLUMNS


@cache
def grouped_kernel(groups: int, pieces: int, how: str = "shared", wrong: str = "") -> Kernel:
    """CTA g loads `pieces` boxes of the rows starts[g] to starts[g + 1], zeros behind them.

    The map of X is changed in shared memory, or (how="global") in global memory. `wrong` names a
    bug, none for "".
    """

    @kernel(
        in_specs=(Tile("R", COLUMNS, f32, tma_box=(ROWS, COLUMNS)), Tile(groups + 1, u32)),
        out_specs=(Tile(groups, pieces, ROWS, COLUMNS, f32), Tile(groups, 32, u32)),
        grid=(groups, 1, 1), block=(32, 1, 1), arch="sm_90a",
    )  # fmt: skip
    def grouped(X, S, Y, M):
        tile, mine = smem.alloc(f32, (ROWS, COLUMNS), align=128), smem.alloc(u32, 64, align=128)
        bar, box = smem.mbarrier(), X.tma_desc()
        x, s, y, m = ptx.global_ptrs(X, S, Y, M)
        lane, group = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.ctaid.x(), u32)
        one = lane == 0
        starts = ptx.addr(s + group * 4), ptx.addr(s + group * 4, 4)
        first, end = (ptx.inst.ld.global_.u32(start) for start in starts)
        where = m + group * 128
        bar.init(1, pred=one)
        if wrong == "acquired before it is changed":
            ptx.fence.proxy_tensormap_acquire(where)
        ptx.tensormap.copy(mine, box)
        new = {"global_address": x + first * ROW_BYTES, "global_dim": (end - first, None)}
        new |= changes(wrong)
        if wrong == "a place of no map":
            mine[lane] = 0
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
        if how == "shared":
            place = mine if wrong != "a misaligned place" else ptx.addr(reg.from_(mine, u32), 64)
            ptx.tensormap.replace(place, **new, pred=one)
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
            ptx.tensormap.cp_fenceproxy(where, mine)
        else:
            ptx.inst.st.global_.u32(ptx.addr(where + lane * 4), mine[lane])
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
            ptx.tensormap.replace(where, **new, pred=one)
            if wrong != "not released":
                ptx.fence.proxy_tensormap_release()
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
        if wrong not in ("not acquired", "acquired before it is changed"):
            ptx.fence.proxy_tensormap_acquire(where)
        if wrong == "changed behind the acquire":
            ptx.tensormap.replace(where, fill_mode=None, rank=2, pred=one)
        ptx.bar.sync()
        changed = ptx.tensormap.at(where, like=box)
        for piece in range(pieces):
            bar.arrive_expect_tx(box.bytes, pred=one)
            load = ptx.cp.async_.bulk.tensor_2d
            load(dst=tile, src=changed, coord=[0, ROWS * piece], mbar=bar, pred=one)
            bar.wait(piece & 1)
            out = y + (group * pieces + piece) * (ROWS * ROW_BYTES)
            for row in range(ROWS):
                ptx.inst.st.global_.f32(ptx.addr(out + lane * 4, ROW_BYTES * row), tile[row, lane])
            ptx.fence.proxy_async("shared::cta")
            ptx.bar.sync()

    return grouped


def changes(wrong: str) -> dict[str, Any]:
    """Fields that are wrong, each alone or for the copy."""
    return {
        "another rank": {"rank": 3},
        "a stride of 24 bytes": {"global_stride": (24,)},
        "a box of 0 rows": {"box_dim": (0, None)},
        "a box without elements along a row": {"box_dim": (None, 2)},
        "a size of 0": {"global_dim": (0, None)},
        "a swizzle narrower than the box": {"layout": Layout.TMA_64B},
        "a tensor beyond the array": {"global_dim": (1000, None)},
    }.get(wrong, {})


def reg_of(value: int) -> Any:
    return reg.scalar(u32, init=value)


def grouped(x: Array, starts: Array, pieces: int) -> Array:
    """What the kernel gives."""
    out = np.zeros((len(starts) - 1, pieces * ROWS, COLUMNS), x.dtype)
    for group, (first, end) in enumerate(pairwise(starts)):
        rows = x[first:end][: pieces * ROWS]
        out[group, : len(rows)] = rows
    return out.reshape(len(out), pieces, ROWS, COLUMNS)


def groups() -> tuple[Array, Array]:
    """Rows, and where each group begins: one row, a whole box, more than one, and the rest."""
    x = np.random.default_rng(5).standard_normal((33, COLUMNS)).astype(np.float32)
    return x, np.array([0, 1, 9, 20, 33], np.uint32)


@cache
def fields_kernel() -> Kernel:
    """Every field of a map is replaced: a map of bytes becomes one of f32 in another tensor.

    A box of the new tensor goes to the output, as words of shared memory.
    """

    @kernel(
        in_specs=(Tile(4, 64, u32, tma_box=(2, 8)), Tile(20, 24, f32)),
        out_specs=(Tile(256, u32), Tile(32, u32)),
        grid=(1, 1, 1), block=(32, 1, 1), arch="sm_90a",
    )  # fmt: skip
    def fields(X, W, Y, M):
        memory, mine = smem.alloc(u32, 256, align=1024), smem.alloc(u32, 32, align=128)
        bar = smem.mbarrier()
        w, y, where = ptx.global_ptrs(W, Y, M)
        lane = reg.from_(ptx.special.tid.x(), u32)
        one = lane == 0
        bar.init(1, pred=one)
        for first in range(0, 256, 32):
            memory[lane + first] = 7
        ptx.tensormap.copy(mine, X.tma_desc())
        ptx.tensormap.replace(
            mine,
            global_address=w,
            rank=3,
            global_dim=(reg_of(5), 4, 24),
            global_stride=(reg.scalar(u64, init=4 * 96), 96),
            box_dim=(2, 4, 16),
            element_stride=(1, 2, 1),
            elemtype=f32,
            layout=Layout.TMA_64B,
            pred=one,
        )
        ptx.inst.bar.warp.sync(0xFFFFFFFF)
        ptx.tensormap.cp_fenceproxy(where, mine)
        ptx.fence.proxy_tensormap_acquire(where)
        ptx.fence.proxy_async("shared::cta")
        ptx.bar.sync()
        with ptx.if_(one):
            bar.arrive_expect_tx(256)
            copy = ptx.cp.async_.bulk.tensor_3d
            copy(dst=memory, src=where, coord=[12, 1, 4], mbar=bar)
        bar.wait(0)
        for first in range(0, 256, 32):
            word = lane + first
            ptx.inst.st.global_.u32(ptx.addr(y + word * 4), memory[word])

    return fields
