"""A kernel that copies boxes of a tensor whose last axis is split, and what it should do.

It runs in the emulator, from JAX and on a GPU alike.
"""

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

GROUP = 48
"""Elements of a group: two boxes, the second of them half beyond it."""


@kernel(
    in_specs=(Tile("B", "N", f32),),
    out_specs=(Tile("B", "N", 2, 32, f32),),
    grid=lambda B, N: (N, B, 1), block=(64, 1, 1), parallel=("B", "N"),
)  # fmt: skip
def boxes_of_groups(X, Y):
    """Of as many groups as there are elements: most are beyond the map."""
    tile = smem.alloc(f32, (2, 32), align=128)
    bar = smem.mbarrier()
    x = X.tma_desc((1, 1, 32), split=GROUP)
    (y,) = ptx.global_ptrs(Y)
    lane = reg.from_(ptx.special.tid.x(), u32)
    group, row = (reg.from_(each(), u32) for each in (ptx.special.ctaid.x, ptx.special.ctaid.y))
    one = lane == 0
    bar.init(1, pred=one)
    ptx.bar.sync(0)
    bar.arrive_expect_tx(2 * x.bytes, pred=one)
    for i in range(2):
        place, coord = tile[i], [32 * i, group, row]
        ptx.cp.async_.bulk.tensor_3d(dst=place, src=x, coord=coord, mbar=bar, pred=one)
    bar.wait(0)
    at = (row * ptx.special.nctaid.x() + group) * 64 + lane
    value = reg.from_(tile[lane >> 5, lane & 31], f32)
    ptx.inst.st.global_.f32(ptx.addr(y + at * 4), value)


def boxes_of_whole_groups(x):
    """What the manual says of boxes beyond a tensor, of one with another axis."""
    rows, columns = x.shape
    each = min(GROUP, columns)
    whole = max(1, columns // GROUP)
    found = np.zeros((rows, columns, 64), np.float32)
    found[:, :whole, :each] = x[:, : whole * each].reshape(rows, whole, each)
    return found.reshape(rows, columns, 2, 32)


COLUMNS = (48, 144, 152, 188, 40, 16)
"""Of whole groups, of a part of one behind them, and of less than one."""
