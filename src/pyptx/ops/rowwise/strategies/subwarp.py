"""Part of a warp takes a row: short rows, several at once.

A row is so short that its threads have a vector or a few each. All rows that a thread takes are
loaded before any of them is used, and statistics go through shuffles only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyptx import Kernel, Reg, Tile, ptx, reg
from pyptx.ops.rowwise import dependent
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.column_sums import BLOCK, SharedSums, fold_lanes
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, ROW, RowOp, Scalars, Values
from pyptx.ops.rowwise.partition import Part, Rows, grid, load_columns
from pyptx.ops.rowwise.program import Arrays, make, vectors_of
from pyptx.ops.rowwise.row_operands import add_picks, pick_pointers
from pyptx.ops.rowwise.statistics import Statistic, Terms
from pyptx.ops.rowwise.vectors import AT_ONCE, advance, load_one, store_one
from pyptx.types import DType, u32


@dataclass(frozen=True, slots=True)
class Shape:
    """`lanes` threads take a row, `rows_each` rows at once; a CTA has `threads`."""

    lanes: int
    rows_each: int
    threads: int

    @property
    def count(self) -> int:
        """Rows that a CTA takes side by side."""
        return self.threads // self.lanes

    @property
    def rows(self) -> int:
        """Rows that a CTA takes at once."""
        return self.count * self.rows_each


def independent(
    op: RowOp, rows: Rows, shape: Shape, *, ctas: int | None = None, maxnreg: int | None = None
) -> Kernel:
    """The operation on rows that need nothing of each other: no sums over rows.

    With `ctas`, so many CTAs at most go through all rows, and load what there is per column once.
    """
    rows = rows.divided()
    options: dict[str, Any] = {} if maxnreg is None else {"maxnreg": maxnreg}

    def body(arrays: Arrays) -> None:
        thread = _Thread(arrays, shape)
        if ctas is None:
            thread.run_once()
        else:
            thread.run_rounds(ctas)

    once = grid(lambda B: (ptx.cdiv(B, shape.rows), 1, 1))
    most = ctas or 0
    rounds = grid(lambda B: (min(ptx.cdiv(B, shape.rows), most), 1, 1))
    return make(
        op,
        rows,
        "subwarp",
        body,
        grid=once if ctas is None else rounds,
        block=(shape.threads, 1, 1),
        **options,
    )


def persistent(
    op: RowOp, rows: Rows, shape: Shape, *, ctas: int, maxnreg: int | None = None
) -> Kernel:
    """The operation with sums over rows: `ctas` partial sums of each column.

    CTA i writes partial sum i; with fewer rows only the first cdiv(B, shape.rows) are written.
    """
    rows = rows.divided()
    options: dict[str, Any] = {} if maxnreg is None else {"maxnreg": maxnreg}
    return make(
        op,
        rows,
        "subwarp",
        lambda arrays: _Thread(arrays, shape).run_through(ctas),
        sums=Tile(ctas, rows.columns, rows.compute, sum_over="B", partial=True),
        grid=grid(lambda B: (min(ptx.cdiv(B, shape.rows), ctas), 1, 1)),
        block=(shape.threads, 1, 1),
        **options,
    )


class _Thread:
    """Where a thread is: its row, its part of a row, and which of its rows there are."""

    def __init__(self, arrays: Arrays, shape: Shape) -> None:
        self.arrays, self.shape = arrays, shape
        self.op, self.rows = arrays.op, arrays.rows
        self.elements, self.columns = arrays.inputs(ELEMENT), arrays.inputs(COLUMN)
        self.scalars, self.results = arrays.inputs(ROW), arrays.outputs(ELEMENT)
        self.row_results = arrays.outputs(ROW)

    def _begin(self) -> None:
        shape = self.shape
        first = self.arrays.tensors[self.elements[0][0].name]
        self.thread = reg.from_(ptx.special.tid.x(), u32)
        self.cta = reg.from_(ptx.special.ctaid.x(), u32)
        self.lane = self.thread & (shape.lanes - 1)
        self.team = self.thread >> (shape.lanes.bit_length() - 1)
        self.row = ptx.inst.mad.lo.u32(self.cta, shape.rows, self.team)
        self.total = ptx.inst.cvt.u32.u64(first.shape[0])
        self.part = Part(self.rows, self.row, self.lane, shape.lanes)
        self.active = [self.part.active(k) for k in range(self.part.each)]
        self.picked = pick_pointers(self.arrays)

    def _live(self, j: int) -> list[Reg]:
        """For each vector of the j-th row whether it is there."""
        row = self.row + j * self.shape.count < self.total
        return [row if ok is None else row & ok for ok in self.active]

    def _to(self, j: int, dtype: DType) -> int:
        """Bytes from the thread's first row to its j-th."""
        return j * self.shape.count * self.rows.columns * dtype.bytes

    def _load(self, places: Sequence[Reg], j: int, live: Sequence[Reg]) -> list[list[list[Reg]]]:
        """For each vector of the j-th row its words of each input."""
        return [
            [
                vector.load(
                    AT_ONCE,
                    place,
                    self._to(j, operand.dtype) + self.part.step(k, vector),
                    pred=ok,
                    pad=operand.pad,
                )
                for place, (operand, vector) in zip(places, self.elements, strict=True)
            ]
            for k, ok in enumerate(live)
        ]

    def _weights(self, columns: Sequence[Reg]) -> list[list[list[Reg]]]:
        """For each of the thread's vectors its words of each input per column."""
        loaded = [
            load_columns(self.part, base, vector, self.active, AT_ONCE)
            for base, (_, vector) in zip(columns, self.columns, strict=True)
        ]
        return [list(words) for words in zip(*loaded, strict=True)] or [[] for _ in self.active]

    def _values(
        self, words: Sequence[list[Reg]], weights: Sequence[list[Reg]], row: Scalars, k: int
    ) -> list[Values]:
        """The elements of the k-th vector, from its words of inputs per element and per column."""
        operands, column = [*self.elements, *self.columns], partial(self.part.column_of, k)
        vectors = vectors_of(operands, [*words, *weights], row, column)
        return vectors.elements(self.rows.group)

    def _statistics(
        self,
        m: Math,
        loaded: list[list[list[list[Reg]]]],
        weights: list[list[list[Reg]]],
        live: list[list[Reg]],
        scalars: list[Scalars],
    ) -> list[list[Reg]]:
        """The statistics of the rows at once, of which the thread has this."""
        op = self.op
        if op.statistic is None:
            return [[] for _ in live]
        rows = (
            [
                Terms([op.term(m, v) for v in self._values(words, w, row, k)], ok)
                for k, (words, w, ok) in enumerate(zip(one, weights, oks, strict=True))
            ]
            for one, oks, row in zip(loaded, live, scalars, strict=True)
        )
        return self._kind(op.statistic).of_lanes(m, rows, width=self.shape.lanes)

    def _kind(self, statistic: Statistic) -> Statistic:
        """The statistic, for threads that have as many elements of a row each where they do."""
        even = self.rows.is_even(self.shape.lanes)
        return statistic.even(self.rows.columns) if even else statistic

    def _scalars(self, places: Sequence[Reg], j: int) -> Scalars:
        """The inputs per row of the j-th row."""
        row = self.row + j * self.shape.count
        there = row < self.total
        found = {
            operand.name: load_one(
                operand.dtype,
                operand.register(self.rows.compute),
                place + j * self.shape.count * operand.dtype.bytes,
                pred=there,
            )
            for place, (operand, _) in zip(places, self.scalars, strict=True)
        }
        scalars = Scalars(**found)
        add_picks(self.arrays, self.picked, row, scalars, pred=there)
        return scalars

    def run_once(self) -> None:
        self._open()
        words = self._words()
        self._finish(words, self._weights(self.of_columns))

    def run_rounds(self, ctas: int) -> None:
        """Rows `ctas * shape.rows` apart, with one load of the inputs per column."""
        self._open()
        weights = self._weights(self.of_columns)
        stride = ctas * self.shape.rows
        with ptx.while_(lambda: self.row - self.team < self.total):
            self._finish(self._words(), weights)
            self.row += stride
            for pointer, operand in self.moving:
                advance(pointer, stride * self.rows.columns * operand.dtype.bytes)

    def _open(self) -> None:
        """Where the thread's first row begins in each array."""
        inputs = [o for o, _ in (*self.elements, *self.columns)]
        results = [o for o, _ in self.results]
        pointers = self.arrays.pointers(*inputs, *results)
        count = len(self.elements)
        self.xs, self.ys = pointers[:count], pointers[len(inputs) :]
        self.of_columns = pointers[count : len(inputs)]
        self._begin()
        operands = [o for o, _ in (*self.elements, *self.results)]
        self.moving = list(zip([*self.xs, *self.ys], operands, strict=True))
        for pointer, operand in self.moving:
            advance(pointer, self.part.offset * operand.dtype.bytes)

    def _words(self) -> list[list[list[list[Reg]]]]:
        """Of the rows at once."""
        self.live = [self._live(j) for j in range(self.shape.rows_each)]
        return [self._load(self.xs, j, oks) for j, oks in enumerate(self.live)]

    def _finish(self, words: list[list[list[list[Reg]]]], weights: list[list[list[Reg]]]) -> None:
        """Compute and write the rows at once."""
        op, m, live = self.op, Math(self.rows.compute), self.live
        rows = self._row_scalars() if self.scalars else [Scalars() for _ in live]
        totals = self._statistics(m, words, weights, live, rows)
        for j, oks in enumerate(live):
            f = op.factors(m, totals[j], rows[j])
            for k, ok in enumerate(oks):
                # unpacked again: the elements would take more registers than the words
                values = self._values(words[j][k], weights[k], rows[j], k)
                found = [op.result(m, v, f) for v in values]
                self._store(self.ys, j, k, found, ok)
            self._store_row(m, f, j)

    def _row_scalars(self) -> list[Scalars]:
        places = self.arrays.pointers(*(o for o, _ in self.scalars))
        for place, (operand, _) in zip(places, self.scalars, strict=True):
            advance(place, self.row * operand.dtype.bytes)
        return [self._scalars(places, j) for j in range(self.shape.rows_each)]

    def _store(
        self, places: Sequence[Reg], j: int, k: int, found: Sequence[tuple[Reg, ...]], ok: Reg
    ) -> None:
        """Write the k-th vector of the j-th row of each output."""
        for i, (place, (operand, vector)) in enumerate(zip(places, self.results, strict=True)):
            offset = self._to(j, operand.dtype) + self.part.step(k, vector)
            vector.store("global", place, offset, vector.pack([e[i] for e in found]), pred=ok)

    def _store_row(self, m: Math, f: Any, j: int) -> None:
        """Write the outputs per row of the j-th row, by the first of its threads."""
        numbers = self.op.row_result(m, f)
        for (operand, _), number in zip(self.row_results, numbers, strict=True):
            (out,) = self.arrays.pointers(operand)
            row = self.row + j * self.shape.count
            first = (self.lane == 0) & (row < self.total)
            store_one(operand.dtype, out + row * operand.dtype.bytes, number, pred=first)

    def run_through(self, ctas: int) -> None:
        """Rows `ctas * shape.rows` apart, with sums over all of them."""
        op, m, shape, rows = self.op, Math(self.rows.compute), self.shape, self.rows
        summed = [o for o in op.outputs if o.per == COLUMN]
        operands = [o for o, _ in (*self.elements, *self.scalars, *self.columns, *self.results)]
        operands += summed
        pointers = dict(
            zip((o.name for o in operands), self.arrays.pointers(*operands), strict=True)
        )
        xs, rs, ys = (
            [pointers[o.name] for o, _ in kind]
            for kind in (self.elements, self.scalars, self.results)
        )
        self._begin()
        weights = self._weights([pointers[o.name] for o, _ in self.columns])
        moving = [*zip(xs, self.elements, strict=True), *zip(ys, self.results, strict=True)]
        for pointer, (operand, _) in moving:
            advance(pointer, self.part.offset * operand.dtype.bytes)
        for pointer, (operand, _) in zip(rs, self.scalars, strict=True):
            advance(pointer, self.row * operand.dtype.bytes)
        near = [
            [[m.zero() for _ in summed] for _ in range(rows.group)] for _ in range(self.part.each)
        ]
        flat = [value for vector in near for element in vector for value in element]
        far = SharedSums(m, self.thread, shape.threads, len(flat))
        blocks = 1 << (BLOCK // shape.rows_each).bit_length() - 1
        turn = reg.scalar(u32, init=0)
        stride = ctas * shape.rows
        with ptx.while_(lambda: self.row - self.team < self.total):
            live = [self._live(j) for j in range(shape.rows_each)]
            words = [self._load(xs, j, oks) for j, oks in enumerate(live)]
            scalars = [self._scalars(rs, j) for j in range(shape.rows_each)]
            totals = self._statistics(m, words, weights, live, scalars)
            for j, oks in enumerate(live):
                f = op.factors(m, totals[j], scalars[j])
                for k, ok in enumerate(oks):
                    found: list[tuple[Reg, ...]] = []
                    values = self._values(words[j][k], weights[k], scalars[j], k)
                    for v, sums in zip(values, near[k], strict=True):
                        found.append(op.result(m, v, f))
                        op.accumulate(m, sums, v, f)
                    self._store(ys, j, k, found, ok)
                self._store_row(m, f, j)
            turn += 1
            with ptx.if_((turn & (blocks - 1)) == 0):
                far.add(flat)
            self.row += stride
            for pointer, (operand, _) in moving:
                advance(pointer, stride * rows.columns * operand.dtype.bytes)
            for pointer, (operand, _) in zip(rs, self.scalars, strict=True):
                advance(pointer, stride * operand.dtype.bytes)
        dependent.launch_dependents(rows)
        far.add(flat)
        far.read(flat)
        for i, operand in enumerate(summed):
            out = pointers[operand.name]
            sums = [[element[i] for element in vector] for vector in near]
            fold_lanes(m, self.part, self.active, self.thread, shape.threads, sums, out, self.cta)
