"""The operands of the present row, for threads that go through many rows.

Vectors come through stages. What else is read of a row, its scalars and its ends, is prefetched;
what is written goes through pointers that move on from row to row.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pyptx import Reg, ptx, reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import (
    COLUMN,
    ELEMENT,
    ROW,
    Operand,
    Pick,
    Scalars,
    Values,
    Vectors,
)
from pyptx.ops.rowwise.partition import Ends, Part
from pyptx.ops.rowwise.prefetch import Prefetch, Progress
from pyptx.ops.rowwise.program import Arrays
from pyptx.ops.rowwise.vectors import (
    Vector,
    access,
    advance,
    convert,
    load_into,
    load_one,
    store_one,
)

_FIRST: Final = 0  # the entry of the queue that came up last


def pointers_of(arrays: Arrays) -> dict[str, Reg]:
    """The addresses of all inputs, and of the outputs per element, by the operands' names."""
    op = arrays.op
    operands = [*op.given(ELEMENT), *op.given(ROW), *op.given(COLUMN), *op.written(ELEMENT)]
    names = [operand.name for operand in operands]
    return dict(zip(names, arrays.pointers(*operands), strict=True))


def load_scalars(
    m: Math,
    operands: Sequence[Operand],
    pointers: Mapping[str, Reg],
    row: Reg,
    space: str = "global",
) -> Scalars:
    """The inputs per row of one row; `pointers` are their arrays' addresses, by name."""

    def load(o: Operand) -> Reg:
        place = pointers[o.name] + row * o.dtype.bytes
        return load_one(o.dtype, o.register(m.dtype), place, pred=None, space=space)

    return Scalars(**{o.name: load(o) for o in operands})


def store_numbers(arrays: Arrays, m: Math, row: Reg, f: Any, first: Callable[[], Reg]) -> None:
    """Write the outputs per row of a row, from its factors, by the thread that `first` is true of.

    `first` is a predicate that is made for each output.
    """
    numbers = arrays.op.row_result(m, f)
    for operand, number in zip(arrays.op.written(ROW), numbers, strict=True):
        (out,) = arrays.pointers(operand)
        pred = first()
        store_one(operand.dtype, out + row * operand.dtype.bytes, number, pred=pred)


def pick_pointers(arrays: Arrays) -> dict[str, Reg]:
    """The addresses of the inputs that `RowOp.picks` reads, by their names."""
    names = list(dict.fromkeys(pick.of for pick in arrays.op.picks))
    operands = [operand for operand in arrays.op.given(ELEMENT) if operand.name in names]
    return dict(zip([o.name for o in operands], arrays.pointers(*operands), strict=True))


def add_picks(
    arrays: Arrays, pointers: Mapping[str, Reg], row: Reg, scalars: Scalars, *, pred: Any = None
) -> None:
    """Load the picks of a row and put them with its `scalars`; zeros where `pred` does not hold."""
    for pick in arrays.op.picks:
        operand, place, there = _picked(arrays, pick, pointers, row, scalars)
        there = there if pred is None else there & pred
        value = load_one(operand.dtype, arrays.rows.compute, place, pred=there)
        setattr(scalars, pick.name, value)


def _picked(
    arrays: Arrays, pick: Pick, pointers: Mapping[str, Reg], row: Reg, scalars: Scalars
) -> tuple[Operand, Reg, Reg]:
    """The operand of a pick, the element's address, and whether the row has that column."""
    op, column = arrays.op, getattr(scalars, pick.at)
    (operand,) = (o for o in op.given(ELEMENT) if o.name == pick.of)
    position = row * op.columns + ptx.inst.cvt.u64.s32(column)
    place = pointers[pick.of] + position * operand.dtype.bytes
    return operand, place, (column >= 0) & (column < op.columns)


class RowPrefetch(Prefetch):
    """The prefetch of an operation's inputs per row, and of the ends of those per element.

    `row` is the present row, u32 or u64; `pointers` are the addresses of the arrays by name.
    """

    def __init__(
        self,
        arrays: Arrays,
        m: Math,
        ends: Ends | None,
        progress: Progress,
        depth: int,
        row: Reg,
        pointers: Mapping[str, Reg],
    ) -> None:
        super().__init__(m, ends, progress, depth)
        op = arrays.op
        self._scalars, self._elements_read = op.given(ROW), op.given(ELEMENT)
        self._columns_read = op.given(COLUMN)
        self._pointers = pointers
        self._arrays, self._picked = arrays, pick_pointers(arrays)
        for operand in self._scalars:
            place = pointers[operand.name] + row * operand.dtype.bytes
            self.add(place, operand.dtype)
        for operand in self._elements_read:
            self.add_ends(pointers[operand.name], operand.dtype, op.columns, operand.pad)

    def start(self) -> None:
        """Have registers, and load what the thread's end has of the inputs per column."""
        self.begin([(self._pointers[o.name], o.dtype) for o in self._columns_read])
        types = {operand.name: operand.dtype for operand in self._elements_read}
        # As loaded: to convert them would be to wait for them.
        self._picks = [
            [reg.scalar(types[pick.of], init=0) for pick in self._arrays.op.picks]
            for _ in self.queue
        ]

    def take(self) -> None:
        """Move the queue on, and load the picks of the row that comes up."""
        super().take()
        for new, old in reversed(list(itertools.pairwise(self._picks))):
            for value, register in zip(new, old, strict=True):
                ptx.inst[f"mov.{access(value.dtype)}"](register, value)
        if not self._picked:
            return
        present = self._progress.row
        there = present < self._progress.rows
        for pick, value in zip(self._arrays.op.picks, self._picks[0], strict=True):
            _, place, found = _picked(
                self._arrays, pick, self._picked, present, self._inputs(_FIRST)
            )
            load_into(value, place, pred=found & there)

    def _inputs(self, entry: int) -> Scalars:
        """The inputs per row of an entry of the queue."""
        values = self.queue[entry][: len(self._scalars)]
        return Scalars(**{o.name: value for o, value in zip(self._scalars, values, strict=True)})

    def scalars(self, entry: int) -> Scalars:
        """The same, with the row's picks."""
        scalars = self._inputs(entry)
        for pick, value in zip(self._arrays.op.picks, self._picks[entry], strict=True):
            setattr(scalars, pick.name, convert(value, self._m.dtype))
        return scalars

    def end(self, entry: int) -> Values:
        """The thread's element of the ends of an entry's row; there are no others."""
        values = [*self.queue[entry][len(self._scalars) :], *self.columns]
        operands = [*self._elements_read, *self._columns_read]
        unpack: list[Callable[[], list[Reg]]] = [partial(list[Reg], [value]) for value in values]
        assert self._ends is not None
        column = self._ends.column
        return Values(Vectors(operands, unpack, self.scalars(entry), lambda: column), 0)


@dataclass(frozen=True, slots=True)
class _Output:
    """Where a thread writes its vectors of the present row, and its end if rows have ends."""

    operand: Operand
    vector: Vector
    place: Reg
    end: Reg | None
    step: int


class RowOutputs:
    """The outputs per element and per row of a thread that goes through rows `stride` apart.

    `row` is the first of them; `pointers` are the addresses of the arrays by name.
    """

    def __init__(
        self,
        arrays: Arrays,
        part: Part,
        ends: Ends | None,
        row: Reg,
        stride: int,
        pointers: Mapping[str, Reg],
    ) -> None:
        self._part = part
        self._ends = ends
        self._stride = stride
        self._outputs: list[_Output] = []
        for operand, vector in arrays.outputs(ELEMENT):
            base, size = pointers[operand.name], operand.dtype.bytes
            end = None if ends is None else base + ends.position * size
            place, step = base + part.offset * size, stride * arrays.op.columns * size
            self._outputs.append(_Output(operand, vector, place, end, step))
        self._numbers = [
            (operand, arrays.pointers(operand)[0] + row * operand.dtype.bytes)
            for operand in arrays.op.written(ROW)
        ]

    def store(self, k: int, found: Sequence[tuple[Reg, ...]], active: Reg | None) -> None:
        """Write the thread's k-th vector of each output; `found` has one tuple an element."""
        for i, output in enumerate(self._outputs):
            vector = output.vector
            words = vector.pack([element[i] for element in found])
            offset = self._part.step(k, vector)
            vector.store("global", output.place, offset, words, pred=active)

    def store_end(self, found: tuple[Reg, ...]) -> None:
        """Write the thread's element of the row's ends, if it has one, of each output."""
        assert self._ends is not None
        for output, value in zip(self._outputs, found, strict=True):
            assert output.end is not None
            store_one(output.operand.dtype, output.end, value, pred=self._ends.active)

    def store_row(self, found: Sequence[Reg], first: Any) -> None:
        """Write the outputs per row where the predicate `first` holds, and go on to the next."""
        for (operand, place), value in zip(self._numbers, found, strict=True):
            store_one(operand.dtype, place, value, pred=first)
            advance(place, self._stride * operand.dtype.bytes)

    def next_end(self) -> None:
        """Go on to the ends of the next row; by the threads that may have ends."""
        for output in self._outputs:
            if output.end is not None:
                advance(output.end, output.step)

    def next_row(self) -> None:
        """Go on to the vectors of the next row."""
        for output in self._outputs:
            advance(output.place, output.step)
