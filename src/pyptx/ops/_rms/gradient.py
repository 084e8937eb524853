"""Sums over rows for the weight's gradient, and how a CTA writes its partial sum of them.

A sum of many rows in f32 would lose a bit for every doubling, so after `BLOCK` rows a thread adds
what it has to second sums: in registers too, where it has few columns, and otherwise the CTA's
partial sum in global memory, which nobody else touches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final

from pyptx import Reg, Tensor, ptx, reg, smem
from pyptx.ops._rms.arithmetic import Arithmetic, Backward
from pyptx.ops._rms.elements import Group, load_one, store_one, wide
from pyptx.ops._rms.geometry import Ends, Part
from pyptx.types import u32

BLOCK: Final = 32
FEW: Final = 64
"""Bytes of sums for which a thread has as many registers again."""


class WeightGradient:
    """The sums of a thread's columns in registers, and a partial sum of dw[P, padded].

    `row` gives the index of the partial sum, u32, which is also a row of those it sums. Where rows
    have ends, a partial sum is moved so that its groups are aligned: column c of a row with `head`
    elements before its first unit stands at c + unit - head. Addresses are computed when they
    are needed, which is seldom, so that no registers hold them meanwhile.
    """

    def __init__(
        self, a: Arithmetic, part: Part, ends: Ends | None, dw: Tensor, row: Callable[[], Reg]
    ) -> None:
        self._a = a
        self._part = part
        self._ends = ends
        self._dw = dw
        self._row = row
        self._group = Group(a.dtype, part.rows.group, a.dtype)
        group, each = part.rows.group, part.each
        self.sums = [[a.zero() for _ in range(group)] for _ in range(each)]
        self.end_sum = a.zero() if ends is not None else None
        self._near = [*itertools.chain(*self.sums), *self._end()]
        few = each * group * a.dtype.bytes <= FEW
        self._far = [a.zero() for _ in self._near] if few else None
        self._rows = reg.scalar(u32, init=0)

    def _end(self) -> list[Reg]:
        return [] if self.end_sum is None else [self.end_sum]

    def add_end(self, math: Backward, x: Reg, g: Reg, r: Reg) -> None:
        """Add g x r of the thread's element at the ends of a row."""
        if self.end_sum is not None:
            math.accumulate(self.end_sum, x, g, r)

    def row_done(self, active: Sequence[Reg | None]) -> None:
        """Count a row; after `BLOCK` of them, add what they sum to to the second sums."""
        self._rows += 1
        with ptx.if_((self._rows & (BLOCK - 1)) == 0):
            if self._far is None:
                self._write(active, self._rows > BLOCK)
            else:
                self._join(self._far)
            for value in self._near:
                self._a.mov(value, 0.0)

    def write(self, active: Sequence[Reg | None], team: Reg | None = None, teams: int = 1) -> None:
        """Write the partial sum, or what is left to add to it, when all rows are done.

        A CTA of several teams whose rows are cut alike writes their sum; all threads call it.
        """
        if self._far is None:
            assert team is None, "sums that are written every few rows"
            with ptx.if_((self._rows & (BLOCK - 1)) != 0):
                self._write(active, self._rows >= BLOCK)
            return
        self._join(self._near)
        if team is None:
            self._write(active, None)
            return
        self._gather(team, teams)
        with ptx.if_(team == 0):
            self._write(active, None)

    def _gather(self, team: Reg, teams: int) -> None:
        """Add the sums of all teams to those of the first."""
        a, lane, threads = self._a, self._part.lane, self._part.threads
        table = smem.alloc(a.dtype, (teams - 1, len(self._near), threads))
        with ptx.if_(team > 0):
            for i, value in enumerate(self._near):
                table[team - 1, i, lane] = value
        ptx.bar.sync(0)
        with ptx.if_(team == 0):
            for i, value in enumerate(self._near):
                a.mov(value, a.total([value, *(table[t, i, lane] for t in range(teams - 1))]))

    def _join(self, totals: Sequence[Reg]) -> None:
        """Both sums into `totals`, which is one of them."""
        for total, near, far in zip(totals, self._near, self._far or (), strict=True):
            self._a.add(total, near, far)

    def _write(self, active: Sequence[Reg | None], again: Reg | None) -> None:
        """Write the sums, added to what stands there where that is so `again`."""
        bytes_, part = self._a.dtype.bytes, self._part
        (dw,) = ptx.global_ptrs(self._dw)
        line = dw + self._row() * (part.rows.padded * bytes_)
        if part.head is not None:
            line = line + wide(part.rows.unit - part.head) * bytes_
        place = line + wide(part.column) * bytes_
        for k, sums in enumerate(self.sums):
            offset, ok = part.step(k, self._group), active[k]
            totals = sums
            if again is not None:
                there = again if ok is None else again & ok
                before = self._group.load("global", place, offset, pred=there)
                totals = [self._a.add(one, old) for one, old in zip(sums, before, strict=True)]
            self._group.store("global", place, offset, totals, pred=ok)
        if self._ends is not None and self.end_sum is not None:
            end, total = line + wide(self._ends.column) * bytes_, self.end_sum
            if again is not None:
                there = self._ends.active & again
                before_end = load_one(self._a.dtype, self._a.dtype, end, pred=there)
                total = self._a.add(total, before_end)
            store_one(self._a.dtype, end, total, pred=self._ends.active)
