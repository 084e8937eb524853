"""Sums over rows, one for each column: what the threads of a CTA keep, and what they write."""

from __future__ import annotations

from collections.abc import Sequence

from pyptx import Reg, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.partition import Part
from pyptx.ops.rowwise.vectors import store_one, wide
from pyptx.types import u32


class SharedSums:
    """Second sums of a thread, in shared memory, to which those of blocks of rows are added.

    A sum of many rows in f32 would lose a bit for every doubling.
    """

    def __init__(self, m: Math, thread: Reg, threads: int, count: int) -> None:
        self._m = m
        table = smem.alloc(m.dtype, (count, threads), align=16)
        self._step = threads * m.dtype.bytes
        self._place = ptx.inst.mad.lo.u32(thread, m.dtype.bytes, reg.from_(table, u32))
        for i in range(count):
            m.store(ptx.addr(self._place, i * self._step), m.zero())

    def add(self, sums: Sequence[Reg]) -> None:
        """Add sums, and begin them anew."""
        for i, one in enumerate(sums):
            total = self._m.zero()
            self._m.load(total, ptx.addr(self._place, i * self._step))
            self._m.store(ptx.addr(self._place, i * self._step), self._m.add(total, one))
            self._m.mov(one, 0.0)

    def read(self, sums: Sequence[Reg]) -> None:
        """Bring the second sums into these registers."""
        for i, value in enumerate(sums):
            self._m.load(value, ptx.addr(self._place, i * self._step))


def fold_lanes(
    m: Math,
    part: Part,
    active: Sequence[Reg | None],
    thread: Reg,
    threads: int,
    sums: Sequence[Sequence[Reg]],
    out: Reg,
    line: Reg,
) -> None:
    """Add up the sums of all threads with the same columns, and write the CTA's partial sum.

    `sums` are those of each of the thread's vectors; `out` is the address of the partial sums in
    global memory, of which the CTA writes number `line`. A CTA has `threads` threads,
    and each of its warps has whole rows.
    """
    rows, lanes = part.rows, part.threads
    warps, n = threads // WARP, rows.columns
    table = smem.alloc(m.dtype, (warps, n), align=16)
    for vector in sums:
        for value in vector:
            distance = WARP // 2
            while distance >= lanes:
                m.add(value, value, _from_lane(m, value, distance))
                distance //= 2
    with ptx.if_((thread & (WARP - 1)) < lanes):
        base = reg.from_(table, u32)
        row = ptx.inst.mad.lo.u32(thread >> 5, n * m.dtype.bytes, base)
        place = ptx.inst.mad.lo.u32(part.column, m.dtype.bytes, row)
        for k, vector in enumerate(sums):
            for i, value in enumerate(vector):
                offset = (k * lanes * rows.group + i) * m.dtype.bytes
                m.store(ptx.addr(place, offset), value, pred=active[k])
    ptx.bar.sync(0)
    out += line * (n * m.dtype.bytes)
    for first in range(0, n, threads):
        column = thread + first
        there = column < n
        column = ptx.inst.selp.u32(column, 0, there)
        total = m.total([table[warp, column] for warp in range(warps)])
        store_one(m.dtype, out + wide(column) * m.dtype.bytes, total, pred=there)


def _from_lane(m: Math, value: Reg, distance: int) -> Reg:
    """The value of the lane that many lanes away, by exclusive or."""
    copy = reg.scalar(m.dtype, init=value)
    low_high = [copy]
    if m.dtype.bits == 64:
        halves = [reg.scalar(u32), reg.scalar(u32)]
        ptx.inst.mov.b64(halves, copy)
        low_high = halves
    for half in low_high:
        ptx.inst.shfl.sync.bfly.b32(half, half, distance, 31, 0xFFFFFFFF)
    if m.dtype.bits == 64:
        ptx.inst.mov.b64(copy, low_high)
    return copy
