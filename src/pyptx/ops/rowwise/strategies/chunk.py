"""A CTA's chunk of a long row: what its threads load, and what they store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from pyptx import Reg, ptx, reg
from pyptx.ops.rowwise.operation import COLUMN, Operand, Scalars, Values, Vectors
from pyptx.ops.rowwise.partition import Ends, Part, Rows, load_columns
from pyptx.ops.rowwise.vectors import Vector, load_one, store_one, wide
from pyptx.types import u32

THREADS: Final = 256
"""Of a CTA."""


class Chunk:
    """A CTA: its chunk of a row, and one of the row's ends for the first threads of chunk 0."""

    def __init__(self, rows: Rows, row: Reg, rank: Reg, count: int, threads: int = THREADS) -> None:
        self.lane = reg.from_(ptx.special.tid.x(), u32)
        self.part = Part(rows, row, self.lane, threads, count, rank)
        self.ends = None if rows.aligned else Ends(self.part, rank)
        self.active = [self.part.active(k) for k in range(self.part.each)]

    @property
    def there(self) -> list[Reg | None]:
        """Whether the thread has each of its vectors, and an element of the ends as the last."""
        return [*self.active, *([] if self.ends is None else [self.ends.active])]

    def load(
        self, base: Reg, operand: Operand, vector: Vector, space: str = "global"
    ) -> list[list[Reg]]:
        """The thread's elements of an input; the last of them is that of the row's ends."""
        if operand.per == COLUMN:
            return self._load_columns(base, operand, vector, space)
        place = base + self.part.offset * operand.dtype.bytes
        values: list[list[Reg]] = []
        for k, ok in enumerate(self.active):
            offset = self.part.step(k, vector)
            words = vector.load(space, place, offset, pred=ok, pad=operand.pad)
            values.append(vector.unpack(words))
        if self.ends is not None:
            end = base + self.ends.position * operand.dtype.bytes
            values.append([self._load_end(end, operand, vector)])
        return values

    def _load_columns(
        self, base: Reg, operand: Operand, vector: Vector, space: str
    ) -> list[list[Reg]]:
        found = load_columns(self.part, base, vector, self.active, space)
        values = [vector.unpack(words) for words in found]
        if self.ends is not None:
            end = base + wide(self.ends.column) * operand.dtype.bytes
            values.append([self._load_end(end, operand, vector)])
        return values

    def _load_end(self, place: Reg, operand: Operand, vector: Vector) -> Reg:
        assert self.ends is not None
        there = self.ends.active
        return load_one(operand.dtype, vector.compute, place, pred=there, pad=operand.pad)

    def store(self, base: Reg, vector: Vector, values: Sequence[Sequence[Reg]]) -> None:
        """Write the thread's elements of an output."""
        place = base + self.part.offset * vector.dtype.bytes
        for k, ok in enumerate(self.active):
            words = vector.pack(values[k])
            vector.store("global", place, self.part.step(k, vector), words, pred=ok)
        if self.ends is not None:
            end = base + self.ends.position * vector.dtype.bytes
            store_one(vector.dtype, end, values[-1][0], pred=self.ends.active)

    def values(
        self,
        operands: Sequence[Operand],
        loads: Sequence[Callable[[], list[list[Reg]]]],
        row: Scalars | None,
    ) -> list[list[Values]]:
        """The elements of each of the thread's vectors, and of the ends; `loads` may be late."""
        sizes = [self.part.rows.group] * len(self.active) + [1] * (self.ends is not None)
        return [
            Vectors(
                operands, [partial(_nth, load, k) for load in loads], row, partial(self._column, k)
            ).elements(size)
            for k, size in enumerate(sizes)
        ]

    def _column(self, k: int) -> Reg:
        """The first column of the thread's k-th vector, of which the ends are the last."""
        if self.ends is not None and k == len(self.active):
            return self.ends.column
        return self.part.column_of(k)


def _nth(load: Callable[[], list[list[Reg]]], k: int) -> list[Reg]:
    return load()[k]
