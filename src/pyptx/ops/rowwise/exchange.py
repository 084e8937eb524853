"""Statistics of the warps of a CTA: put in shared memory, and combined in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence

from pyptx import Reg, SharedTile, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.statistics import Statistic
from pyptx.ops.rowwise.vectors import PIECE, Vector, power_of_two
from pyptx.types import u32


def address(tile: SharedTile) -> Reg:
    """The address of shared memory in a register, u32."""
    return reg.from_(tile, u32)


def store_of_warp(
    m: Math, statistic: Statistic, values: Sequence[Reg], lane: Reg, slots: Reg, warps: int
) -> None:
    """Combine over a warp, and put each number at `slots + number * warps + warp`.

    `lane` counts the threads that share a row.
    """
    values = statistic.over_warp(m, list(values))
    with ptx.if_((lane & (WARP - 1)) == 0):
        place = ptx.inst.mad.lo.u32(lane >> 5, m.dtype.bytes, slots)
        for i, value in enumerate(values):
            m.store(ptx.addr(place, i * warps * m.dtype.bytes), value)


def load_of_warps(m: Math, statistic: Statistic, lane: Reg, slots: Reg, warps: int) -> list[Reg]:
    """The statistic of what `warps` warps have put at `slots`, in every lane of a warp."""
    width = power_of_two(warps)
    index = lane & (width - 1)
    place = ptx.inst.mad.lo.u32(index, m.dtype.bytes, slots)
    there = None if width == warps else index < warps
    values: list[Reg] = []
    for i in range(statistic.count):
        value = reg.scalar(m.dtype, init=statistic.neutral(i))
        m.load(value, ptx.addr(place, i * warps * m.dtype.bytes), pred=there)
        values.append(value)
    return statistic.over_warp(m, values, width=width) if width > 1 else values


def over_cta(
    m: Math, statistic: Statistic, values: list[Reg], lane: Reg, threads: int
) -> list[Reg]:
    """The statistic over all threads of a CTA, in each of them. One barrier; once a kernel."""
    warps = threads // WARP
    if warps == 1:
        return statistic.over_warp(m, values)
    slots = address(smem.alloc(m.dtype, warps * statistic.count, align=PIECE))
    store_of_warp(m, statistic, values, lane, slots, warps)
    ptx.bar.sync(0)
    if warps in (2, 4, 8):  # so few that a thread has read them all before shuffles would end
        vector = Vector(m.dtype, warps, m.dtype)
        numbers = [vector.load("shared", slots, i * vector.bytes) for i in range(statistic.count)]
        return statistic.combine(m, [list(part) for part in zip(*numbers, strict=True)])
    return load_of_warps(m, statistic, lane, slots, warps)
