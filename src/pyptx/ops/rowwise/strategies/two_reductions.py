"""A second reduction: the largest of numbers that depend on what was reduced first.

A warp or a CTA takes a row. It keeps its elements in registers, where they fit; a longer row is
read again for each reduction and for the result, which the L1 or the L2 cache has by then. Rows are
in vectors that divide them, so they have no ends; a block of columns belongs to lanes of one warp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

from pyptx import Kernel, Reg, ptx, reg
from pyptx.device import WARP
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.exchange import over_cta
from pyptx.ops.rowwise.operation import (
    BLOCK,
    BLOCK_COLUMNS,
    COLUMN,
    ELEMENT,
    ROW,
    Operand,
    RowOp,
    Scalars,
    Values,
)
from pyptx.ops.rowwise.partition import Rows, grid
from pyptx.ops.rowwise.program import Arrays, make, vectors_of
from pyptx.ops.rowwise.statistics import Largest, Statistic, Term, Terms
from pyptx.ops.rowwise.vectors import Vector, load_one, power_of_two, store_one, wide
from pyptx.types import u32

_HELD: Final = 256
"""Bytes of a thread's elements that registers hold, as loaded."""

_MOST: Final = 16
"""Warps of a row."""

_TOGETHER: Final = 4
"""Rows of a CTA whose warps take one each."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`warps` take a row; each thread goes through it in `steps`, all of them held or none."""

    warps: int
    steps: int
    held: bool

    @property
    def rows(self) -> int:
        """Rows of a CTA."""
        return _TOGETHER if self.warps == 1 else 1

    @property
    def threads(self) -> int:
        return WARP * self.warps * self.rows


def shape_of(op: RowOp, rows: Rows) -> Shape:
    """Two steps for a thread, more in long rows; held if registers are enough."""
    rows = rows.divided()
    read = [rows.vector(o.dtype).bytes for o in (*op.given(ELEMENT), *op.given(COLUMN))]
    most = max(1, _HELD // (sum(read) * _vectors(rows)))
    groups = -(-rows.columns // _columns(rows))
    warps = min(_MOST, power_of_two(-(-groups // min(2, most))))
    steps = -(-groups // warps)
    return Shape(warps, steps, steps <= most)


def _columns(rows: Rows) -> int:
    """Columns that a warp takes in a step: whole blocks."""
    return max(BLOCK_COLUMNS, WARP * rows.group)


def _vectors(rows: Rows) -> int:
    """Vectors of a thread in a step."""
    return _columns(rows) // (WARP * rows.group)


def independent(op: RowOp, rows: Rows, shape: Shape) -> Kernel:
    """The operation on rows that need nothing of each other: no sums over rows."""
    assert op.span is not None, "nothing to measure"
    assert not op.written(COLUMN), "sums over rows"
    return make(
        op,
        rows.divided(),
        "two_reductions",
        lambda arrays: _Team(arrays, shape).run(),
        grid=grid(lambda B: (ptx.cdiv(B, shape.rows), 1, 1)),
        block=(shape.threads, 1, 1),
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """One of the thread's vectors: the number of bytes to it is `offset` times an element's."""

    offset: int
    column: Reg
    active: Reg | None
    moved: dict[str, Reg]
    """Where the thread's first vector of the step is, of each array, by name."""


class _Team:
    """The threads that take a row."""

    def __init__(self, arrays: Arrays, shape: Shape) -> None:
        self.arrays, self.shape = arrays, shape
        self.op, self.rows = arrays.op, arrays.rows
        self.m = Math(self.rows.compute)
        self.elements, self.columns = arrays.inputs(ELEMENT), arrays.inputs(COLUMN)
        self.results = arrays.outputs(ELEMENT)
        self._held: dict[tuple[str, int], list[Reg]] = {}

    def run(self) -> None:
        op, m = self.op, self.m
        self._begin()
        self.scalars = self._row_scalars()
        total: list[Reg] = []
        if op.statistic is not None:
            total = self._reduced(op.statistic, partial(op.term, m))
        f = op.factors(m, total, self.scalars)
        if op.span == "row":
            (largest,) = self._reduced(Largest(), partial(self._measure, f), masked=True)
            f = op.measured(m, largest, f)
            self._store_row(op.row_result(m, f))
        self._sweep(partial(self._write, f))

    def _begin(self) -> None:
        """Which row it is, and where the thread's first elements are."""
        thread, cta = (reg.from_(s.x(), u32) for s in (ptx.special.tid, ptx.special.ctaid))
        self.lane, self.row, self.there = thread, cta, None
        if self.shape.rows > 1:
            self.lane = thread & (WARP - 1)
            self.row = ptx.inst.mad.lo.u32(cta, self.shape.rows, thread >> 5)
            first = self.arrays.tensors[self.elements[0][0].name]
            self.there = self.row < ptx.inst.cvt.u32.u64(first.shape[0])
        rows = self.rows
        in_warp = (self.lane & (WARP - 1)) << (rows.group.bit_length() - 1)
        self.column = ptx.inst.mad.lo.u32(self.lane >> 5, _columns(rows), in_warp)
        position = self.row * rows.columns + wide(self.column)
        found = [operand for operand, _ in (*self.elements, *self.results)]
        columns = [operand for operand, _ in self.columns]
        bases = self.arrays.pointers(*found, *columns)
        self.places = {
            o.name: base + (wide(self.column) if o.per == COLUMN else position) * o.dtype.bytes
            for o, base in zip([*found, *columns], bases, strict=True)
        }

    def _row_scalars(self) -> Scalars:
        found = Scalars()
        for operand, _ in self.arrays.inputs(ROW):
            (base,) = self.arrays.pointers(operand)
            place = base + self.row * operand.dtype.bytes
            kind = operand.register(self.m.dtype)
            value = load_one(operand.dtype, kind, place, pred=self.there)
            setattr(found, operand.name, value)
        return found

    # ---- going through the row -------------------------------------------------------------------

    @cached_property
    def _stride(self) -> int:
        """Columns from a step to the next."""
        return self.shape.warps * _columns(self.rows)

    def _sweep(self, body: Callable[[list[_Place]], None]) -> None:
        """Call `body` for each step, with the thread's vectors."""
        if self.shape.held:
            for step in range(self.shape.steps):
                body(self._step(step * self._stride, self.column, self.places))
            return
        column = reg.scalar(u32, init=self.column)
        ahead = ptx.inst.mul.lo.u32(self.lane >> 5, _columns(self.rows))
        places = {name: ptx.inst.mov.u64(place) for name, place in self.places.items()}
        operands = [operand for operand, _ in (*self.elements, *self.results, *self.columns)]
        with ptx.while_(lambda: ahead < self.rows.columns):
            body(self._step(0, column, places))
            column += self._stride
            ahead += self._stride
            for operand in operands:
                places[operand.name] += self._stride * operand.dtype.bytes

    def _step(self, first: int, column: Reg, places: dict[str, Reg]) -> list[_Place]:
        each, found = WARP * self.rows.group, list[_Place]()
        for i in range(_vectors(self.rows)):
            offset = first + i * each
            here = column + offset if offset else column
            found.append(_Place(offset, here, self._active(here, offset), places))
        return found

    def _active(self, column: Reg, offset: int) -> Reg | None:
        """Whether the thread has a vector at a column; None where every thread has."""
        last = self._stride - _columns(self.rows) + WARP * self.rows.group
        if self.shape.held and offset + last <= self.rows.columns:
            return self.there
        inside = column < self.rows.columns
        return inside if self.there is None else inside & self.there

    def _values(self, place: _Place) -> list[Values]:
        """The elements of a vector."""
        inputs = [*self.elements, *self.columns]
        words = [self._words(operand, vector, place) for operand, vector in inputs]
        vectors = vectors_of(inputs, words, self.scalars, lambda: place.column)
        return vectors.elements(self.rows.group)

    def _words(self, operand: Operand, vector: Vector, place: _Place) -> list[Reg]:
        key = operand.name, place.offset
        if key in self._held:
            return self._held[key]
        offset = place.offset * operand.dtype.bytes
        words = vector.load(
            "global", place.moved[operand.name], offset, pred=place.active, pad=operand.pad
        )
        if self.shape.held:
            self._held[key] = words
        return words

    # ---- reductions and results ------------------------------------------------------------------

    def _reduced(
        self,
        statistic: Statistic,
        term: Callable[[Values], Term],
        *,
        masked: bool = False,
    ) -> list[Reg]:
        """A statistic over the row, in all of its threads; `masked` terms are zeros beyond it."""
        terms: list[Terms] = []
        total = [
            reg.scalar(self.m.dtype, init=statistic.neutral(i)) for i in range(statistic.count)
        ]

        def add(step: list[_Place]) -> None:
            for place in step:
                found = [term(v) for v in self._values(place)]
                if masked:
                    found = [(self._masked(value, place.active),) for (value,) in found]
                if self.shape.held:
                    terms.append(Terms(found, place.active))
                else:
                    statistic.add(self.m, total, Terms(found, place.active))

        self._sweep(add)
        if self.shape.held:
            total = statistic.of_thread(self.m, terms)
        if self.shape.warps == 1:
            return statistic.over_warp(self.m, total)
        return over_cta(self.m, statistic, total, self.lane, self.shape.threads)

    def _measure(self, f: Any, v: Values) -> Term:
        return (self.op.measure(self.m, v, f),)

    def _masked(self, value: Reg, active: Reg | None) -> Reg:
        return value if active is None else self.m.selp(value, 0.0, active)

    def _write(self, f: Any, step: list[_Place]) -> None:
        """Write the results of a step."""
        op, m = self.op, self.m
        if op.span == "block":
            f = self._of_block(f, step)
        for place in step:
            found = [op.result(m, v, f) for v in self._values(place)]
            for i, (operand, vector) in enumerate(self.results):
                words = vector.pack([each[i] for each in found])
                offset = place.offset * operand.dtype.bytes
                base = place.moved[operand.name]
                vector.store("global", base, offset, words, pred=place.active)

    def _of_block(self, f: Any, step: list[_Place]) -> Any:
        """What the elements of the thread's block take; its first lane writes the block's results.

        A step of a warp has several blocks, or one, of which a thread has all vectors of the step.
        """
        op, m, largest = self.op, self.m, Largest()
        terms = [
            Terms([(self._masked(op.measure(m, v, f), p.active),) for v in self._values(p)])
            for p in step
        ]
        lanes = min(WARP, BLOCK_COLUMNS // self.rows.group)
        (found,) = largest.over_warp(m, largest.of_thread(m, terms, chains=2), width=lanes)
        f = op.measured(m, found, f)
        column, active = step[0].column, step[0].active
        first = (self.lane & (lanes - 1)) == 0
        first = first if active is None else first & active
        numbers = op.row_result(m, f)
        count = -(-self.rows.columns // BLOCK_COLUMNS)
        for operand, number in zip(op.written(BLOCK), numbers, strict=True):
            (base,) = self.arrays.pointers(operand)
            block = self.row * count + wide(column // BLOCK_COLUMNS)
            store_one(operand.dtype, base + block * operand.dtype.bytes, number, pred=first)
        return f

    def _store_row(self, numbers: Sequence[Reg]) -> None:
        """Write the outputs per row, by one thread of the row."""
        first = self.lane == 0
        first = first if self.there is None else first & self.there
        for operand, number in zip(self.op.written(ROW), numbers, strict=True):
            (base,) = self.arrays.pointers(operand)
            place = base + self.row * operand.dtype.bytes
            store_one(operand.dtype, place, number, pred=first)
