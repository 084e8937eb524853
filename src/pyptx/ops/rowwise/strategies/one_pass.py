"""One pass: rows of any length, each read once by one CTA, which keeps none of their elements.

For operations that write nothing per element, such as a loss. A thread adds its vectors to its own
statistic as they come, so neither registers nor shared memory limit the length of a row, and CTAs
need nothing of each other. The loads of the CTAs of a multiprocessor hide each other's arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pyptx import Kernel, Reg, ptx, reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.exchange import over_cta
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, ROW, Operand, RowOp, Vectors
from pyptx.ops.rowwise.partition import Ends, Part, Rows, grid
from pyptx.ops.rowwise.program import Arrays, make
from pyptx.ops.rowwise.row_operands import add_picks, load_scalars, pick_pointers, store_numbers
from pyptx.ops.rowwise.statistics import Statistic, Terms
from pyptx.ops.rowwise.vectors import Vector, advance, load_one, wide
from pyptx.types import u32


def independent(
    op: RowOp, rows: Rows, *, threads: int, each: int, maxnreg: int | None = None
) -> Kernel:
    """The operation on rows of which nothing is written but numbers per row.

    A thread loads `each` vectors of every input at once. Rows have a full unit (`Rows.unit`) at
    least.
    """
    assert fits(op)
    assert rows.columns >= rows.unit, "rows that have ends alone"
    options: dict[str, Any] = {} if maxnreg is None else {"maxnreg": maxnreg}
    return make(
        op,
        rows,
        "one_pass",
        lambda arrays: _Cta(arrays, threads, each).run(),
        grid=grid(lambda B: (B, 1, 1)),
        block=(threads, 1, 1),
        **options,
    )


def fits(op: RowOp) -> bool:
    """Whether an operation reduces rows, and writes numbers per row alone."""
    return op.statistic is not None and all(o.per == ROW for o in op.outputs)


class _Cta:
    """A CTA and its row."""

    def __init__(self, arrays: Arrays, threads: int, each: int) -> None:
        self.arrays, self.op, self.rows = arrays, arrays.op, arrays.rows
        self.threads, self.each = threads, each
        self.m = Math(self.rows.compute)
        self.inputs = [*arrays.inputs(ELEMENT), *arrays.inputs(COLUMN)]
        self.operands = [operand for operand, _ in self.inputs]

    def run(self) -> None:
        op, m = self.op, self.m
        self.lane = reg.from_(ptx.special.tid.x(), u32)
        self.row = reg.from_(ptx.special.ctaid.x(), u32)
        self.part = Part(self.rows, self.row, self.lane, self.threads)
        scalars = list(op.given(ROW))
        pointers = self.arrays.pointers(*self.operands, *scalars)
        bases, of_row = pointers[: len(self.inputs)], pointers[len(self.inputs) :]
        end = self._end(bases)
        named = dict(zip((o.name for o in scalars), of_row, strict=True))
        self.scalars = load_scalars(m, scalars, named, self.row)
        add_picks(self.arrays, pick_pointers(self.arrays), self.row, self.scalars)
        total = self._statistic(bases, end)
        f = op.factors(m, total, self.scalars)
        store_numbers(self.arrays, m, self.row, f, lambda: self.lane == 0)

    def _statistic(self, bases: Sequence[Reg], end: Terms | None) -> list[Reg]:
        """The statistic of the row, in every thread."""
        statistic, m, part = self.op.statistic, self.m, self.part
        assert statistic is not None
        places = self._places(bases)
        column = reg.scalar(u32, init=part.column)
        found = [reg.scalar(m.dtype, init=statistic.neutral(i)) for i in range(statistic.count)]
        rounds = part.fewest // (self.threads * self.each)
        if rounds:
            for _ in ptx.range_(0, rounds, dtype=u32):
                self._add(statistic, found, places, column, [None] * self.each)
                for place, (_, vector) in zip(places, self.inputs, strict=True):
                    advance(place, self.each * self.threads * vector.bytes)
                column += self.each * self.threads * self.rows.group
        rest = [part.active(k) for k in range(rounds * self.each, part.each)]
        if rest or end is not None:
            self._add(statistic, found, places, column, rest, end)
        return over_cta(m, statistic, found, self.lane, self.threads)

    def _places(self, bases: Sequence[Reg]) -> list[Reg]:
        """The addresses of the thread's first vectors; they move on."""
        places: list[Reg] = []
        for base, (operand, vector) in zip(bases, self.inputs, strict=True):
            first = self.part.offset if operand.per == ELEMENT else wide(self.part.column)
            places.append(base + first * vector.dtype.bytes)
        return places

    def _add(
        self,
        statistic: Statistic,
        found: Sequence[Reg],
        places: Sequence[Reg],
        column: Reg,
        active: Sequence[Reg | None],
        end: Terms | None = None,
    ) -> None:
        """Add the thread's next vectors, and what it has at the row's ends, to its statistic."""
        m, loaded = self.m, [self._load(places, k, ok) for k, ok in enumerate(active)]
        terms: list[Terms] = []
        for k, (words, ok) in enumerate(zip(loaded, active, strict=True)):
            unpack = [partial(v.unpack, w) for (_, v), w in zip(self.inputs, words, strict=True)]
            first = partial(_column_of, column, k * self.threads * self.rows.group)
            values = Vectors(self.operands, unpack, self.scalars, first).elements(self.rows.group)
            terms.append(Terms((self.op.term(m, v) for v in values), ok))
        terms += [] if end is None else [end]
        both = statistic.combine(m, [found, statistic.of_thread(m, terms)])
        for number, one in zip(found, both, strict=True):
            m.mov(number, one)

    def _load(self, places: Sequence[Reg], k: int, active: Reg | None) -> list[list[Reg]]:
        """The k-th of the next vectors of each input, as loaded."""
        words: list[list[Reg]] = []
        for place, (operand, vector) in zip(places, self.inputs, strict=True):
            step = self.part.step(k, vector)
            if operand.per == COLUMN and not self.rows.aligned:
                words.append(vector.gather(place, step, pred=active))
            else:
                words.append(vector.load("global", place, step, pred=active, pad=operand.pad))
        return words

    def _end(self, bases: Sequence[Reg]) -> Terms | None:
        """What the thread has at the ends of the row, where rows have ends."""
        if self.rows.aligned:
            return None
        ends = Ends(self.part)
        values = [
            self._one(ends, base, operand, vector)
            for base, (operand, vector) in zip(bases, self.inputs, strict=True)
        ]
        return Terms(self._terms_of_end(ends, values), ends.active)

    def _one(self, ends: Ends, base: Reg, operand: Operand, vector: Vector) -> Reg:
        """An element of an input at the row's ends."""
        at = ends.position if operand.per == ELEMENT else wide(ends.column)
        place = base + at * operand.dtype.bytes
        return load_one(operand.dtype, vector.compute, place, pred=ends.active, pad=operand.pad)

    def _terms_of_end(self, ends: Ends, values: Sequence[Reg]) -> Any:
        """Its term, made when it is added: inputs per row are known by then."""
        unpack = [partial(_alone, value) for value in values]
        vectors = Vectors(self.operands, unpack, self.scalars, lambda: ends.column)
        yield from (self.op.term(self.m, v) for v in vectors.elements(1))


def _alone(value: Reg) -> list[Reg]:
    return [value]


def _column_of(first: Reg, distance: int) -> Reg:
    return first + distance if distance else first
