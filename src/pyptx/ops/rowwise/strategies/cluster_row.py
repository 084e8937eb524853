"""What a CTA does with its part of a row: terms of the statistic, and then the results.

Elements are read from shared memory for both, so that none of them is held in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pyptx import Reg, ptx, smem
from pyptx.ops.rowwise import dependent
from pyptx.ops.rowwise.column_sums import RegisterSums
from pyptx.ops.rowwise.exchange import address
from pyptx.ops.rowwise.operation import (
    COLUMN,
    ELEMENT,
    ROW,
    Operand,
    Scalars,
    Values,
    Vectors,
)
from pyptx.ops.rowwise.partition import load_columns
from pyptx.ops.rowwise.prefetch import Progress
from pyptx.ops.rowwise.program import Arrays
from pyptx.ops.rowwise.row_operands import RowOutputs, RowPrefetch, pointers_of
from pyptx.ops.rowwise.stages import Source
from pyptx.ops.rowwise.statistics import Statistic, Terms
from pyptx.ops.rowwise.strategies.cluster_shape import Cta
from pyptx.ops.rowwise.vectors import Vector, wide
from pyptx.types import u8

_REDUCED, _WRITTEN = 0, -1  # entries of the prefetch's queue: of the rows that are


class _Together:
    """Vectors of an operand, all of which are read as soon as one of them is asked for."""

    def __init__(self, read: Callable[[int], list[Reg]], ks: Sequence[int]) -> None:
        self._read = read
        self._ks = ks
        self._found: dict[int, list[Reg]] = {}

    def of(self, k: int) -> list[Reg]:
        """The elements of the k-th."""
        if not self._found:
            self._found = {each: self._read(each) for each in self._ks}
        return self._found[k]


class Work:
    """An operation on a CTA's part of the rows of its team.

    Sums over rows are kept in registers for all of them, where the operation has any.
    """

    def __init__(self, cta: Cta, arrays: Arrays) -> None:
        self.cta, self.arrays = cta, arrays
        self.op, self.rows, self.m = arrays.op, arrays.rows, cta.m
        self.part, stride = cta.part, cta.shape.teams
        self._pointers = pointers_of(arrays)
        progress = Progress(cta.row, cta.total, stride)
        row = wide(cta.row) if self.op.given(ROW) else cta.row
        self.prefetch = RowPrefetch(
            arrays, self.m, cta.ends, progress, cta.shape.lag + 1, row, self._pointers
        )
        self._outputs = RowOutputs(arrays, self.part, cta.ends, cta.row, stride, self._pointers)
        self._tables: list[Reg] = []
        self._sums: RegisterSums | None = None

    def sources(self) -> list[Source]:
        """What comes through stages."""
        tensors = self.arrays.tensors
        return [Source(tensors[o.name], vector) for o, vector in self.arrays.inputs(ELEMENT)]

    def begin(self) -> None:
        """Load the inputs per column, and prepare the prefetch and the sums over rows."""
        cta, arrays = self.cta, self.arrays
        self._columns = [
            load_columns(self.part, self._pointers[operand.name], vector, cta.active)
            for operand, vector in arrays.inputs(COLUMN)
        ]
        if cta.shape.shared:
            for (_, vector), loaded in zip(arrays.inputs(COLUMN), self._columns, strict=True):
                table = address(smem.alloc(u8, self.part.most * vector.bytes, align=16))
                table = ptx.inst.mad.lo.u32(cta.thread, vector.bytes, table)
                for k, words in enumerate(loaded):
                    offset = self.part.step(k, vector)
                    vector.store("shared", table, offset, words, pred=cta.active[k])
                self._tables.append(table)
        self.prefetch.start()
        sums = [arrays.tensors[operand.name] for operand in self.op.written(COLUMN)]
        if sums:
            apart = (cta.thread, cta.shape.threads) if cta.shape.sums else None
            self._sums = RegisterSums(self.m, self.part, cta.ends, sums, lambda: cta.team, apart)

    # ---- elements --------------------------------------------------------------------------------

    def _column(self, i: int, vector: Vector, k: int) -> list[Reg]:
        """The k-th vector of an input per column; a thread reads only what it has put there."""
        if not self._tables:
            return vector.unpack(self._columns[i][k])
        offset, ok = self.part.step(k, vector), self.cta.active[k]
        return vector.unpack(vector.load("shared", self._tables[i], offset, pred=ok))

    def _element(
        self, operand: Operand, vector: Vector, place: Reg, ks: range, k: int
    ) -> list[Reg]:
        """The k-th vector of an input per element, of a piece at `place` with the vectors `ks`."""
        offset, ok = self.part.step(k - ks.start, vector), self.cta.active[k]
        return vector.unpack(vector.load("shared", place, offset, pred=ok, pad=operand.pad))

    def _values(
        self, places: Sequence[Reg], ks: range, of: Sequence[int], entry: int
    ) -> list[list[Values]]:
        """The elements of the vectors `of` a piece with the vectors `ks`, of a row in the queue.

        An operand is read, of all of them, when a formula asks for it.
        """
        together: list[tuple[Operand, _Together]] = []
        for place, (operand, vector) in zip(places, self.arrays.inputs(ELEMENT), strict=True):
            together.append(
                (operand, _Together(partial(self._element, operand, vector, place, ks), of))
            )
        for i, (operand, vector) in enumerate(self.arrays.inputs(COLUMN)):
            together.append((operand, _Together(partial(self._column, i, vector), of)))
        operands, row = [operand for operand, _ in together], self.prefetch.scalars(entry)
        return [
            Vectors(
                operands,
                [partial(read.of, k) for _, read in together],
                row,
                partial(self.part.column_of, k),
            ).elements(self.rows.group)
            for k in of
        ]

    # ---- a row -----------------------------------------------------------------------------------

    def reduce(
        self, statistic: Statistic, places: Sequence[Reg], ks: range, *, ends: bool
    ) -> list[Reg]:
        """The thread's part of the statistic of a piece in shared memory, with the row's `ends`."""
        op, m = self.op, self.m
        terms = [
            Terms((op.term(m, v) for v in values), self.cta.active[k])
            for k, values in zip(ks, self._values(places, ks, ks, _REDUCED), strict=True)
        ]
        if ends and self.cta.ends is not None:
            end = self.prefetch.end(_REDUCED)
            terms.append(Terms((op.term(m, v) for v in [end]), self.cta.ends.active))
        return statistic.of_thread(m, terms)

    def factors(self, total: Sequence[Reg]) -> Any:
        """What the elements of the row to write need, whose statistic is `total`."""
        return self.op.factors(self.m, total, self.scalars())

    def scalars(self) -> Scalars:
        """The inputs per row of the row to write."""
        return self.prefetch.scalars(_WRITTEN)

    def write(self, places: Sequence[Reg], ks: range, f: Any) -> None:
        """Write the results of the next piece, of the row after the one written before."""
        op, m, sums = self.op, self.m, self._sums
        for k in ks:
            found: list[tuple[Reg, ...]] = []
            (values,) = self._values(places, ks, [k], _WRITTEN)
            for i, v in enumerate(values):
                found.append(op.result(m, v, f))
                if sums is not None:
                    op.accumulate(m, sums.sums[k][i], v, f)
            self._outputs.store(k, found, self.cta.active[k])

    def written(self, f: Any) -> None:
        """Write what else belongs to the row, and go on to the next."""
        cta, op, m, sums = self.cta, self.op, self.m, self._sums
        if op.written(ROW):
            first = (cta.thread == 0) & (cta.rank == 0)
            self._outputs.store_row(op.row_result(m, f), first)
        if cta.ends is not None:
            with cta.ends.there():
                v = self.prefetch.end(_WRITTEN)
                self._outputs.store_end(op.result(m, v, f))
                if sums is not None:
                    op.accumulate(m, sums.end_sums or (), v, f)
                self._outputs.next_end()
        self._outputs.next_row()
        if sums is not None:
            sums.row_done(cta.active)

    def end(self) -> None:
        """Write what is left of the sums, when all rows are written."""
        if self._sums is not None:
            dependent.launch_dependents(self.rows)
            self._sums.write(self.cta.active)
