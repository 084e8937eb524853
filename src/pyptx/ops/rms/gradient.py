"""Sums over rows for the weight's gradient, and how a CTA writes its partial sum of them.

A sum of many rows in f32 would lose a bit for every doubling, so after `BLOCK` rows a thread adds
what it has to the CTA's partial sum in global memory, which nobody else touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx import ptx, reg
from pyptx.ops.rms.arithmetic import Arithmetic
from pyptx.ops.rms.elements import Group, store_one
from pyptx.ops.rms.geometry import Ends, Part
from pyptx.ops.rms.rows import wide
from pyptx.trace.values import Reg
from pyptx.types import u32

BLOCK: Final = 32


class WeightGradient:
    """The sums of a thread's columns in registers, and the partial sum `row` of dw[P, N]."""

    def __init__(self, a: Arithmetic, part: Part, ends: Ends | None, dw: Reg, row: Reg) -> None:
        rows = part.rows
        self._a = a
        self._part = part
        self._ends = ends
        self._group = Group(a.dtype, rows.group, a.dtype)
        self.sums = [[a.zero() for _ in range(rows.group)] for _ in range(part.each)]
        self.end_sum = a.zero() if ends is not None else None
        line = dw + row * (rows.columns * a.dtype.bytes)
        self._place = line + wide(part.column) * a.dtype.bytes
        self._end_place = line + wide(ends.column) * a.dtype.bytes if ends is not None else None
        self._rows = reg.scalar(u32, init=0)
        self._written = reg.scalar(u32, init=0)

    def row_done(self, active: Sequence[Reg | None]) -> None:
        """Count a row; after `BLOCK` of them, write what they sum to."""
        self._rows += 1
        with ptx.if_((self._rows & (BLOCK - 1)) == 0):
            self.write(active)

    def write(self, active: Sequence[Reg | None]) -> None:
        """Add the sums to the partial sum, and begin new ones."""
        again = self._written != 0
        for k, group in enumerate(self.sums):
            self._write_group(k, group, active[k], again)
        if self._ends is not None and self.end_sum is not None and self._end_place is not None:
            before = self._before(self._end_place, 0, self._ends.active & again)
            total = self._a.add(self.end_sum, before)
            store_one(self._a.dtype, self._end_place, total, pred=self._ends.active)
            self._a.mov(self.end_sum, 0.0)
        ptx.inst.mov.u32(self._written, 1)

    def _write_group(self, k: int, sums: Sequence[Reg], ok: Reg | None, again: Reg) -> None:
        offset = self._part.step(k, self._group)
        there = again if ok is None else again & ok
        if self._part.rows.aligned:
            before = self._group.load("global", self._place, offset, pred=there)
            totals = [self._a.add(one, old) for one, old in zip(sums, before, strict=True)]
            self._group.store("global", self._place, offset, totals, pred=ok)
        else:
            for i, one in enumerate(sums):
                place = offset + i * self._a.dtype.bytes
                total = self._a.add(one, self._before(self._place, place, there))
                store_one(self._a.dtype, self._place + place, total, pred=ok)
        for one in sums:
            self._a.mov(one, 0.0)

    def _before(self, place: Reg, offset: int, pred: Reg) -> Reg:
        return self._element.load("global", place, offset, pred=pred)[0]

    @property
    def _element(self) -> Group:
        return Group(self._a.dtype, 1, self._a.dtype)
