"""One CTA per row: the row comes by bulk copies while what there is per column goes to registers.

A device without bulk copies has each thread copy the elements that it reads, by `cp.async`.

What a CTA waits for is on its way before anything is waited for, so with a few CTAs on each
multiprocessor the memory never idles; between the copies and the stores there is one barrier. With
few rows there is no memory to keep busy: loads to registers are sooner there, and several CTAs
reduce the same row, so that each has only a part of it to write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pyptx import Kernel, Reg, ptx, reg
from pyptx.device import KIB, Needs
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.exchange import over_cta
from pyptx.ops.rowwise.operation import (
    COLUMN,
    ELEMENT,
    ROW,
    Operand,
    RowOp,
    Scalars,
    Values,
    Vectors,
)
from pyptx.ops.rowwise.partition import Ends, Part, Rows, grid, load_column, load_columns
from pyptx.ops.rowwise.program import Arrays, make
from pyptx.ops.rowwise.row_operands import (
    add_picks,
    load_scalars,
    pick_pointers,
    store_numbers,
)
from pyptx.ops.rowwise.statistics import Terms
from pyptx.ops.rowwise.strategies.cta_copies import BulkCopies, ThreadCopies, places_of
from pyptx.ops.rowwise.vectors import (
    AT_ONCE,
    BULK,
    Vector,
    advance,
    load_one,
    store_one,
    wide,
)
from pyptx.types import u32


def independent(
    op: RowOp,
    rows: Rows,
    *,
    threads: int,
    held: bool,
    maxnreg: int | None = None,
    direct: bool = False,
    late: bool = False,
    parts: int = 1,
) -> Kernel:
    """The operation on rows that need nothing of each other: no sums over rows.

    A row has a full unit (`Rows.unit`) at least, and of every input it must fit in shared memory
    (`needs`). `held` keeps the row in registers
    between the statistic and the result; otherwise it is read from shared memory twice, and more
    CTAs fit. `late` loads what there is per column where it is used, so that it takes no registers
    until then. `direct` loads the row to registers, without a copy. Then there may be `parts` CTAs
    for each row, a power of two: all of them reduce the whole row, and each writes its part.
    """
    assert held or not direct
    assert direct or parts == 1
    assert parts & (parts - 1) == 0
    assert rows.columns >= rows.unit, "rows that have ends alone"
    assert not op.written(COLUMN), "sums over rows"
    options: dict[str, Any] = {} if maxnreg is None else {"maxnreg": maxnreg}
    return make(
        op,
        rows,
        "row",
        lambda arrays: _Cta(arrays, threads, parts, held=held, direct=direct, late=late).run(),
        grid=grid(lambda B: (B * parts, 1, 1)),
        block=(threads, 1, 1),
        **options,
    )


def needs(op: RowOp, rows: Rows, *, direct: bool) -> Needs:
    """What `independent` needs of a device; besides its row a CTA has statistics of its warps."""
    if direct:
        return Needs()
    vectors = [rows.vector(operand.dtype) for operand in op.given(ELEMENT)]
    copied = Needs(("cp.async",), places_of(rows, vectors)[-1] + KIB)
    return replace(copied, features=BULK) if rows.device.has(*BULK) else copied


class _Cta:
    """A CTA, and the row or part of a row that it writes."""

    def __init__(
        self, arrays: Arrays, threads: int, parts: int, *, held: bool, direct: bool, late: bool
    ) -> None:
        self.arrays, self.op, self.rows = arrays, arrays.op, arrays.rows
        self.threads, self.parts = threads, parts
        self.held, self.direct, self.late = held, direct, late
        self.m = Math(self.rows.compute)
        self.elements, self.columns = arrays.inputs(ELEMENT), arrays.inputs(COLUMN)
        self.results = arrays.outputs(ELEMENT)

    def run(self) -> None:
        op, m = self.op, self.m
        operands = [o for o, _ in (*self.elements, *self.columns, *self.results)]
        pointers = self.arrays.pointers(*operands)
        n = len(self.elements)
        self.xs, self.ws = pointers[:n], pointers[n : n + len(self.columns)]
        ys = pointers[n + len(self.columns) :]
        self._begin()
        copy = self._copy()
        self.weights = self._weights()
        end = self._end()
        row = self.scalars = self._row_scalars()
        if end is not None:
            end.row = row
        load = self._load(copy)
        words = [load(k) for k in range(self.part.each)] if self.held or op.statistic else []
        f = op.factors(m, self._statistic(words, end), row)
        self._store_row(f)
        for y, (operand, _) in zip(ys, self.results, strict=True):
            advance(y, self.part.offset * operand.dtype.bytes)
        for k in range(self.part.each):
            given = words[k] if self.held else load(k)
            found = [op.result(m, v, f) for v in self._values(given, k)]
            for i, (y, (_, vector)) in enumerate(zip(ys, self.results, strict=True)):
                packed = vector.pack([each[i] for each in found])
                vector.store("global", y, self.part.step(k, vector), packed, pred=self.active[k])
        self._store_end(end, f)

    def _begin(self) -> None:
        """Which row it is, and where its elements are."""
        self.lane = reg.from_(ptx.special.tid.x(), u32)
        self.row = reg.from_(ptx.special.ctaid.x(), u32)
        self.rank = None
        if self.parts > 1:
            self.rank = self.row & (self.parts - 1)
            self.row = self.row >> (self.parts.bit_length() - 1)
        self.whole = self.part = Part(self.rows, self.row, self.lane, self.threads)
        if self.rank is not None:
            self.part = Part(self.rows, self.row, self.lane, self.threads, self.parts, self.rank)

    def _copy(self) -> BulkCopies | ThreadCopies | None:
        """The row on its way to shared memory, unless it is loaded to registers."""
        vectors = [vector for _, vector in self.elements]
        bulk = not self.direct and self.rows.device.has(*BULK)
        copy = BulkCopies(self.whole, vectors, self.xs) if bulk else None
        self.active = [self.part.active(k) for k in range(self.part.each)]
        if self.direct or copy is not None:
            return copy
        return ThreadCopies(self.whole, vectors, self.xs, self.active)

    def _weights(self) -> list[Sequence[Callable[[], list[Reg]]]]:
        """For each of the thread's vectors what gives its elements of each input per column."""
        both = list(zip(self.ws, self.columns, strict=True))
        if self.late:
            return [
                [partial(self._late_weights, base, vector, k, ok) for base, (_, vector) in both]
                for k, ok in enumerate(self.active)
            ]
        space = AT_ONCE if self.direct else "global"
        loaded = [
            (vector, load_columns(self.part, base, vector, self.active, space))
            for base, (_, vector) in both
        ]
        return [
            [partial(vector.unpack, words[k]) for vector, words in loaded]
            for k in range(len(self.active))
        ]

    def _late_weights(self, base: Reg, vector: Vector, k: int, active: Reg | None) -> list[Reg]:
        return vector.unpack(load_column(self.part, base, vector, k, active))

    def _end(self) -> Vectors | None:
        """What the thread has at the ends of the row, where rows have ends."""
        self.ends = None if self.rows.aligned else Ends(self.whole)
        if self.ends is None:
            return None
        values: list[Reg] = []
        for base, (operand, _) in zip(self.xs, self.elements, strict=True):
            values.append(self._one(operand, base + self.ends.position * operand.dtype.bytes))
        for base, (operand, _) in zip(self.ws, self.columns, strict=True):
            values.append(self._one(operand, base + wide(self.ends.column) * operand.dtype.bytes))
        operands = [operand for operand, _ in (*self.elements, *self.columns)]
        column = self.ends.column
        unpack = [partial(_alone, value) for value in values]
        return Vectors(operands, unpack, column=lambda: column)

    def _one(self, operand: Operand, place: Reg) -> Reg:
        """An element at the row's ends."""
        assert self.ends is not None
        return load_one(operand.dtype, self.m.dtype, place, pred=self.ends.active, pad=operand.pad)

    def _row_scalars(self) -> Scalars:
        """The inputs per row."""
        scalars = self.op.given(ROW)
        if not scalars:
            return Scalars()
        pointers = self.arrays.pointers(*scalars)
        named = dict(zip((o.name for o in scalars), pointers, strict=True))
        found = load_scalars(self.m, scalars, named, self.row)
        add_picks(self.arrays, pick_pointers(self.arrays), self.row, found)
        return found

    def _load(self, copy: BulkCopies | ThreadCopies | None) -> Callable[[int], list[list[Reg]]]:
        """What loads the thread's k-th vector of each input, after waiting for the copy."""
        if copy is not None:
            return partial(self._load_from, "shared", copy.wait(), self.part, self.active)
        here = self._starts(self.part)
        return partial(self._load_from, AT_ONCE, here, self.part, self.active)

    def _starts(self, part: Part) -> list[Reg]:
        """The thread's first vector of a part, in each input."""
        return [
            x + part.offset * operand.dtype.bytes
            for x, (operand, _) in zip(self.xs, self.elements, strict=True)
        ]

    def _load_from(
        self, space: str, here: Sequence[Reg], part: Part, active: Sequence[Reg | None], k: int
    ) -> list[list[Reg]]:
        return [
            vector.load(space, place, part.step(k, vector), pred=active[k], pad=operand.pad)
            for place, (operand, vector) in zip(here, self.elements, strict=True)
        ]

    def _values(self, words: Sequence[list[Reg]], k: int) -> list[Values]:
        """The elements of the k-th vector, from its words of inputs per element."""
        operands = [operand for operand, _ in (*self.elements, *self.columns)]
        unpack: list[Callable[[], list[Reg]]] = [
            partial(vector.unpack, w) for w, (_, vector) in zip(words, self.elements, strict=True)
        ]
        unpack += self.weights[k]
        column = partial(self.part.column_of, k)
        return Vectors(operands, unpack, self.scalars, column).elements(self.rows.group)

    def _statistic(self, words: Sequence[list[list[Reg]]], end: Vectors | None) -> list[Reg]:
        """The statistic of the whole row, in every thread."""
        op, m = self.op, self.m
        if op.statistic is None:
            return []
        if self.rank is None:
            active = self.active
            values = [self._values(x, k) for k, x in enumerate(words)]
        else:
            active = [self.whole.active(k) for k in range(self.whole.each)]
            values = self._values_of_whole(active)
        terms = [
            Terms([op.term(m, v) for v in vector], ok)
            for vector, ok in zip(values, active, strict=True)
        ]
        if end is not None and self.ends is not None:
            terms.append(Terms([op.term(m, v) for v in end.elements(1)], self.ends.active))
        statistic = op.statistic
        if self.rows.is_even(self.threads):
            statistic = statistic.even(self.rows.columns)
        found = over_cta(m, statistic, statistic.of_thread(m, terms), self.lane, self.threads)
        return statistic.whole(m, found)

    def _values_of_whole(self, active: Sequence[Reg | None]) -> list[list[Values]]:
        """The thread's elements of the whole row, of which the CTA writes a part.

        What there is per column is loaded when a term asks for it: few terms do.
        """
        starts, whole = self._starts(self.whole), self.whole
        words = [self._load_from(AT_ONCE, starts, whole, active, k) for k in range(whole.each)]
        known: dict[str, list[list[Reg]]] = {}

        def column(operand: Operand, vector: Vector, base: Reg, k: int) -> list[Reg]:
            if operand.name not in known:
                known[operand.name] = load_columns(whole, base, vector, active, AT_ONCE)
            return vector.unpack(known[operand.name][k])

        operands = [operand for operand, _ in (*self.elements, *self.columns)]
        found: list[list[Values]] = []
        for k in range(whole.each):
            unpack = [
                partial(vector.unpack, w)
                for w, (_, vector) in zip(words[k], self.elements, strict=True)
            ]
            unpack += [
                partial(column, operand, vector, base, k)
                for base, (operand, vector) in zip(self.ws, self.columns, strict=True)
            ]
            first = partial(whole.column_of, k)
            found.append(Vectors(operands, unpack, self.scalars, first).elements(self.rows.group))
        return found

    def _store_row(self, f: Any) -> None:
        """Write the outputs per row, by one thread of the row."""

        def first() -> Reg:
            return self.lane == 0 if self.rank is None else (self.lane | self.rank) == 0

        store_numbers(self.arrays, self.m, self.row, f, first)

    def _store_end(self, end: Vectors | None, f: Any) -> None:
        """Write the thread's element at the ends of the row, by the first CTA of the row."""
        ends = self.ends
        if end is None or ends is None or not self.results:
            return
        bases = self.arrays.pointers(*(operand for operand, _ in self.results))
        there = ends.active if self.rank is None else ends.active & (self.rank == 0)
        (v,) = end.elements(1)
        numbers = self.op.result(self.m, v, f)
        for base, (operand, _), number in zip(bases, self.results, numbers, strict=True):
            place = base + ends.position * operand.dtype.bytes
            store_one(operand.dtype, place, number, pred=there)


def _alone(value: Reg) -> list[Reg]:
    return [value]
