"""Sums over a few rows: a thread has its columns of every row, so its sums are complete.

What the strategies for few rows share: several rows are loaded to registers at once, and leave them
as outputs and as terms of the sums.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pyptx import Reg, ptx, reg, smem
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.exchange import address
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, Scalars, Values
from pyptx.ops.rowwise.partition import Part, Rows, load_columns
from pyptx.ops.rowwise.program import Arrays, vectors_of
from pyptx.ops.rowwise.statistics import Terms
from pyptx.ops.rowwise.vectors import AT_ONCE, PIECE, Vector, wide
from pyptx.types import u32


@dataclass(frozen=True, slots=True)
class Held:
    """A row in registers: whether there is one, and each vector's words of each input."""

    there: Reg
    active: list[Reg]
    words: list[list[list[Reg]]]


def columns_of(rows: Rows, groups: int, threads: int) -> int:
    """Columns of the vectors of so many threads that have so many groups, with what is beyond."""
    return -(-groups // threads) * threads * rows.group


class Columns:
    """The columns of one CTA of `parts`, of every `stride` rows those from `first` on, or from 0.

    Rows have no ends. `rank` says which of the CTAs it is. Where a row is not there, its elements
    are `pad`; its factors are zeros, or `zeros_add_nothing` says whether those of zeros do: if all
    elements are zeros too, they have to add nothing to the sums.
    """

    def __init__(
        self,
        arrays: Arrays,
        threads: int,
        parts: int,
        rank: Reg,
        lane: Reg,
        stride: int,
        *,
        first: Reg | None = None,
        zeros_add_nothing: bool = True,
    ) -> None:
        rows = arrays.rows
        assert rows.aligned
        self.arrays, self.op, self.rows = arrays, arrays.op, rows
        self.stride: Final = stride
        self._first = first
        self.m: Final = Math(rows.compute)
        self.part: Final = Part(rows, reg.scalar(u32, init=0), lane, threads, parts, rank)
        self._active = [self.part.active(k) for k in range(self.part.each)]
        self._elements, self._columns = arrays.inputs(ELEMENT), arrays.inputs(COLUMN)
        self._results = arrays.outputs(ELEMENT)
        zeros = all(operand.pad == 0 for operand, _ in self._elements)
        self._zeros = zeros and zeros_add_nothing

    def begin(self, pointers: dict[str, Reg]) -> None:
        """Load what there is per column, and go to the first row; `pointers` are the tensors'."""
        part, m = self.part, self.m
        loaded = [
            load_columns(part, pointers[o.name], vector, self._active, AT_ONCE)
            for o, vector in self._columns
        ]
        self._weights = [list(of_k) for of_k in zip(*loaded, strict=True)] or [
            [] for _ in self._active
        ]
        moving = [o for o, _ in (*self._elements[::-1], *self._results)]
        offset = part.offset
        if self._first is not None:
            offset = offset + wide(self._first) * self.rows.columns
        self._places = {o.name: pointers[o.name] + offset * o.dtype.bytes for o in moving}
        count = len(self.op.written(COLUMN))
        self._sums = [
            [[m.zero() for _ in range(count)] for _ in range(self.rows.group)] for _ in self._active
        ]

    def load(self, i: int, there: Reg) -> Held:
        """The i-th of the rows to come; `pad` where it has no vector or is not `there`."""
        active = [there if ok is None else there & ok for ok in self._active]
        words: list[list[list[Reg]]] = [[] for _ in active]
        for operand, vector in self._elements:
            place = self._places[operand.name]
            first = i * self.rows.columns * operand.dtype.bytes
            for k, ok in enumerate(active):
                offset = first + self.part.step(k, vector)
                words[k].append(vector.load(AT_ONCE, place, offset, pred=ok, pad=operand.pad))
        return Held(there, active, words)

    def statistic(self, row: Held, scalars: Scalars | None = None) -> list[Reg]:
        """The statistic of what the thread has of a row, whose inputs per row are `scalars`."""
        op, m = self.op, self.m
        if op.statistic is None:
            return []
        terms = [
            Terms((op.term(m, v) for v in self._values(row, k, scalars)), ok)
            for k, ok in enumerate(row.active)
        ]
        return op.statistic.of_thread(m, terms)

    def write(self, i: int, row: Held, f: Any, scalars: Scalars | None = None) -> None:
        """Write the thread's vectors of the i-th row's outputs, and add to its sums."""
        with nullcontext() if self._zeros else ptx.if_(row.there):
            self._write(i, row, f, scalars)

    def _write(self, i: int, row: Held, f: Any, scalars: Scalars | None) -> None:
        op, m = self.op, self.m
        for k, ok in enumerate(self._active):
            found: list[tuple[Reg, ...]] = []
            for v, sums in zip(self._values(row, k, scalars), self._sums[k], strict=True):
                found.append(op.result(m, v, f))
                op.accumulate(m, sums, v, f)
            there = row.there if ok is None else row.there & ok
            for j, (operand, vector) in enumerate(self._results):
                offset = i * self.rows.columns * operand.dtype.bytes + self.part.step(k, vector)
                words = vector.pack([each[j] for each in found])
                vector.store("global", self._places[operand.name], offset, words, pred=there)

    def advance(self) -> None:
        """Go to the next rows."""
        for operand, _ in (*self._elements[::-1], *self._results):
            place = self._places[operand.name]
            place += self.stride * self.rows.columns * operand.dtype.bytes

    def finish(self, pointers: dict[str, Reg]) -> None:
        """Write the thread's sums, each in its tensor's type."""
        for j, operand in enumerate(self.op.written(COLUMN)):
            vector = self.rows.vector(self.arrays.tensors[operand.name].dtype)
            place = pointers[operand.name] + wide(self.part.column) * vector.dtype.bytes
            for k, ok in enumerate(self._active):
                words = vector.pack([each[j] for each in self._sums[k]])
                vector.store("global", place, self.part.step(k, vector), words, pred=ok)

    def finish_together(self, pointers: dict[str, Reg], thread: Reg, team: Reg, teams: int) -> None:
        """Add up what the teams of a CTA have, a few columns by each thread, and write it.

        `thread` and `team` are those of the CTA, all threads of which call it.
        """
        m, part, size, bytes_ = self.m, self.part, self.rows.group, self.m.dtype.bytes
        outputs, vector = self.op.written(COLUMN), self.rows.vector(self.m.dtype)
        width = columns_of(self.rows, part.most, part.threads)
        table = address(smem.alloc(m.dtype, (teams, len(outputs), width), align=PIECE))
        mine = ptx.inst.mad.lo.u32(team, len(outputs) * width * bytes_, table)
        mine = ptx.inst.mad.lo.u32(part.lane, vector.bytes, mine)
        for k, sums in enumerate(self._sums):
            for j in range(len(outputs)):
                offset = j * width * bytes_ + part.step(k, vector)
                vector.store("shared", mine, offset, [each[j] for each in sums])
        ptx.bar.sync(0)
        threads = part.threads * teams
        unit = min(size, 1 << max(1, width // threads).bit_length() - 1)
        for first in range(0, width, threads * unit):
            column = ptx.inst.mad.lo.u32(thread, unit, first)
            there = None
            if part.count is not None:
                there = column < ptx.inst.mul.lo.u32(part.count, size)
            elif first + threads * unit > part.most * size:
                there = column < part.most * size
            self._add_up(pointers, table, column, (teams, width, unit), there)

    def _add_up(
        self,
        pointers: dict[str, Reg],
        table: Reg,
        column: Reg,
        sizes: tuple[int, int, int],
        there: Reg | None,
    ) -> None:
        """Write the sums of `unit` columns from one on, of each of which the teams have one."""
        (teams, width, unit), bytes_ = sizes, self.m.dtype.bytes
        outputs, read = self.op.written(COLUMN), Vector(self.m.dtype, unit, self.m.dtype)
        place = ptx.inst.mad.lo.u32(column, bytes_, table)
        to = column if self.part.lead is None else column + self.part.lead
        for j, operand in enumerate(outputs):
            found = [
                read.load("shared", place, (team * len(outputs) + j) * width * bytes_, pred=there)
                for team in range(teams)
            ]
            vector = Vector(self.arrays.tensors[operand.name].dtype, unit, self.m.dtype)
            words = vector.pack([self.m.total(list(each)) for each in zip(*found, strict=True)])
            out = pointers[operand.name] + wide(to) * vector.dtype.bytes
            vector.store("global", out, 0, words, pred=there)

    def _values(self, row: Held, k: int, scalars: Scalars | None = None) -> list[Values]:
        """The elements of the k-th vector."""
        operands, words = [*self._elements, *self._columns], [*row.words[k], *self._weights[k]]
        vectors = vectors_of(operands, words, scalars, partial(self.part.column_of, k))
        return vectors.elements(self.rows.group)
