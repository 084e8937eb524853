"""Sums over rows, one for each column: what the threads of a CTA keep, and what they write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pyptx import Reg, Tensor, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.partition import Ends, Part
from pyptx.ops.rowwise.vectors import Vector, load_one, store_one, wide
from pyptx.types import u32

BLOCK: Final = 32
"""Rows that a first sum takes in before it is added to a second one."""

FEW: Final = 64
"""Bytes of sums for which a thread has as many registers again."""


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
                m.add(value, value, m.from_lane(value, distance))
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


class RegisterSums:
    """The sums of a thread's columns in registers, and a partial sum [P, padded] of each output.

    The sum of a team that has all rows may be whole, of any type, where rows have no ends.

    `row` gives the index of the partial sum, u32, which is also a row of those it sums. Where rows
    have ends, a partial sum is moved so that its vectors are aligned: column c of a row with `head`
    elements before its first unit is at c + unit - head. Addresses are computed when they are
    needed, which is seldom, so that no registers hold them meanwhile.

    A sum of many rows in f32 would lose a bit for every doubling, so after `BLOCK` rows a thread
    adds what it has to second sums: in registers too, where it has few columns, in shared memory
    where `shared` says which thread of how many it is, and otherwise the CTA's partial sum in
    global memory, which nobody else touches.
    """

    def __init__(
        self,
        m: Math,
        part: Part,
        ends: Ends | None,
        outputs: Sequence[Tensor],
        row: Callable[[], Reg],
        shared: tuple[Reg, int] | None = None,
    ) -> None:
        self._m = m
        self._part = part
        self._ends = ends
        self._outputs = outputs
        self._row = row
        self._vector = Vector(outputs[0].dtype, part.rows.group, m.dtype)
        count, size, each = len(outputs), part.rows.group, part.each
        self.sums = [[[m.zero() for _ in range(count)] for _ in range(size)] for _ in range(each)]
        """For each of the thread's vectors and elements, a sum of each output."""
        self.end_sums = [m.zero() for _ in range(count)] if ends is not None else None
        flat = [value for vector in self.sums for element in vector for value in element]
        self._near = [*flat, *(self.end_sums or ())]
        few = each * size * count * m.dtype.bytes <= FEW
        self._far = [m.zero() for _ in self._near] if few else None
        self._shared: SharedSums | None = None
        if shared is not None and not few:
            self._shared = SharedSums(m, *shared, len(self._near))
        self._rows = reg.scalar(u32, init=0)

    def row_done(self, active: Sequence[Reg | None]) -> None:
        """Count a row; after `BLOCK` of them, add what they sum to to the second sums."""
        self._rows += 1
        with ptx.if_((self._rows & (BLOCK - 1)) == 0):
            if self._shared is not None:
                self._shared.add(self._near)
            elif self._far is None:
                self._write(active, self._rows > BLOCK)
            else:
                self._join(self._far)
            for value in self._near:
                self._m.mov(value, 0.0)

    def write(self, active: Sequence[Reg | None], team: Reg | None = None, teams: int = 1) -> None:
        """Write the partial sum, or what is left to add to it, when all rows are done.

        A CTA of several teams whose rows are cut alike writes their sum; all threads call it.
        """
        if self._shared is not None:
            self._shared.add(self._near)
            self._shared.read(self._near)
        elif self._far is None:
            assert team is None, "sums that are written every few rows"
            with ptx.if_((self._rows & (BLOCK - 1)) != 0):
                self._write(active, self._rows >= BLOCK)
            return
        else:
            self._join(self._near)
        if team is None:
            self._write(active, None)
            return
        self._gather(team, teams)
        with ptx.if_(team == 0):
            self._write(active, None)

    def _gather(self, team: Reg, teams: int) -> None:
        """Add the sums of all teams to those of the first."""
        m, lane, threads = self._m, self._part.lane, self._part.threads
        table = smem.alloc(m.dtype, (teams - 1, len(self._near), threads))
        with ptx.if_(team > 0):
            for i, value in enumerate(self._near):
                table[team - 1, i, lane] = value
        ptx.bar.sync(0)
        with ptx.if_(team == 0):
            for i, value in enumerate(self._near):
                m.mov(value, m.total([value, *(table[t, i, lane] for t in range(teams - 1))]))

    def _join(self, totals: Sequence[Reg]) -> None:
        """Both sums into `totals`, which is one of them."""
        for total, near, far in zip(totals, self._near, self._far or (), strict=True):
            self._m.add(total, near, far)

    def _write(self, active: Sequence[Reg | None], again: Reg | None) -> None:
        """Write the sums, added to what is there already where that is so `again`."""
        for i, output in enumerate(self._outputs):
            self._write_one(i, output, active, again)

    def _write_one(
        self, i: int, output: Tensor, active: Sequence[Reg | None], again: Reg | None
    ) -> None:
        bytes_, part = output.dtype.bytes, self._part
        (base,) = ptx.global_ptrs(output)
        line = base + self._row() * (part.rows.padded * bytes_)
        if part.head is not None:
            line = line + wide(part.rows.unit - part.head) * bytes_
        place = line + wide(part.column) * bytes_
        for k, vector in enumerate(self.sums):
            offset, ok = part.step(k, self._vector), active[k]
            totals = [element[i] for element in vector]
            if again is not None:
                there = again if ok is None else again & ok
                before = self._vector.load("global", place, offset, pred=there)
                totals = [self._m.add(one, old) for one, old in zip(totals, before, strict=True)]
            self._vector.store("global", place, offset, self._vector.pack(totals), pred=ok)
        if self._ends is not None and self.end_sums is not None:
            end, total = line + wide(self._ends.column) * bytes_, self.end_sums[i]
            if again is not None:
                there = self._ends.active & again
                before_end = load_one(self._m.dtype, self._m.dtype, end, pred=there)
                total = self._m.add(total, before_end)
            store_one(self._m.dtype, end, total, pred=self._ends.active)
