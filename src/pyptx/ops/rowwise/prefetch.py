"""Prefetch: a row's scalars, and for each thread one element of the row's ends.

These few loads do not go through stages. They are made one row ahead and converted only when the
row comes up, because converting waits for them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pyptx import Reg, ptx, reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.partition import Ends
from pyptx.ops.rowwise.vectors import advance, convert, load_into, load_one, wide
from pyptx.types import DType, s32


@dataclass(frozen=True, slots=True)
class Progress:
    """How a team goes through `rows` rows: `row` is the present one, the next `stride` on."""

    row: Reg
    rows: Reg
    stride: int


@dataclass(frozen=True, slots=True)
class _Element:
    """Where the next row's element is, and the bytes from there to that of the row after it.

    `at_end` says that it is one of a row's ends, so that not every thread has one; the others have
    `pad`.
    """

    pointer: Reg
    dtype: DType
    step: int
    at_end: bool
    pad: float = 0.0


class Prefetch:
    """The elements of the rows on their way through a team.

    `queue` holds those of the last `depth` rows: its first entry is that of the row that came up
    last, in the order in which elements were added.
    """

    def __init__(self, m: Math, ends: Ends | None, progress: Progress, depth: int) -> None:
        self._m = m
        self._ends = ends
        self._progress = progress
        self._depth = depth
        self._elements: list[_Element] = []

    def add(self, place: Reg, dtype: DType) -> None:
        """One element for each row; that of the present row is at `place`."""
        self._elements.append(_Element(place, dtype, self._progress.stride * dtype.bytes, False))

    def add_ends(self, base: Reg, dtype: DType, columns: int, pad: float = 0.0) -> None:
        """One element of the ends of each row of `columns` elements, where rows have ends.

        It is `pad` for threads that have none.
        """
        if self._ends is None:
            return
        place = base + self._ends.position * dtype.bytes
        step = self._progress.stride * columns * dtype.bytes
        self._elements.append(_Element(place, dtype, step, True, pad))

    def begin(self, columns: Sequence[tuple[Reg, DType]]) -> None:
        """Have registers for the elements added, and load what the thread's end has per column.

        `columns` are the arrays with one number for each column: `self.columns` has those numbers.
        """
        self.columns = [self._m.zero() for _ in columns]
        if self._ends is not None:
            for i, (base, dtype) in enumerate(columns):
                place = base + wide(self._ends.column) * dtype.bytes
                self.columns[i] = load_one(dtype, self._m.dtype, place, pred=self._ends.active)
        self._next = [_register(element.dtype, element.pad) for element in self._elements]
        self.queue = [
            [self._m.zero() if e.dtype is not s32 else _register(s32, 0) for e in self._elements]
            for _ in range(self._depth)
        ]

    def load(self, row: Reg) -> None:
        """Load for a row, if there is one."""
        live = row < self._progress.rows
        loads = list(zip(self._next, self._elements, strict=True))
        for value, element in loads:
            if not element.at_end:
                load_into(value, element.pointer, pred=live)
                advance(element.pointer, element.step)
        if self._ends is not None:
            there = live & self._ends.active
            with self._ends.there():
                for value, element in loads:
                    if element.at_end:
                        load_into(value, element.pointer, pred=there, pad=element.pad)
                        advance(element.pointer, element.step)

    def take(self) -> None:
        """Move the queue on by a row: what was loaded last comes up."""
        for new, old in reversed(list(itertools.pairwise([self._next, *self.queue]))):
            for value, register in zip(new, old, strict=True):
                if value.dtype is s32:
                    ptx.inst.mov.s32(register, value)
                else:
                    self._m.mov(register, convert(value, self._m.dtype))


def _register(dtype: DType, pad: float) -> Reg:
    """A register of an element, with what it is where there is none."""
    return reg.scalar(dtype, init=int(pad) if dtype is s32 else pad)
