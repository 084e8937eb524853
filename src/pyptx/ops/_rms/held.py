"""Backward, a few rows: a thread has its columns of every row, so its sums for dw are complete.

What the kernels of few rows share: several rows are loaded to registers at once, and leave them as
dx and as terms of dw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyptx import Reg, reg
from pyptx.ops._rms.arithmetic import Arithmetic, Backward
from pyptx.ops._rms.elements import Group, wide
from pyptx.ops._rms.geometry import Part, Rows, load_weights
from pyptx.types import DType, u32


@dataclass(frozen=True, slots=True)
class Held:
    """A row in registers: whether there is one, and a thread's groups of x and of g."""

    there: Reg
    x: list[list[Reg]]
    g: list[list[Reg]]


class Columns:
    """The columns of one CTA of `parts`, of all rows; `together` of them are loaded at once.

    Rows have no ends. `rank` says which of the CTAs it is.
    """

    def __init__(
        self, rows: Rows, threads: int, parts: int, rank: Reg, lane: Reg, together: int
    ) -> None:
        assert rows.aligned
        self.rows: Final = rows
        self.together: Final = together
        self.a: Final = Arithmetic(rows.compute)
        self.math: Final = Backward(self.a, rows.columns)
        self.part: Final = Part(rows, reg.scalar(u32, init=0), lane, threads, parts, rank)
        self._active = [self.part.active(k) for k in range(self.part.each)]

    def begin(self, g: Reg, x: Reg, w: Reg, dx: Reg) -> None:
        """Load the weights, and go to the first row; the pointers are the tensors'."""
        rows, part = self.rows, self.part
        self._weights = load_weights(part, w, self._active)
        self._g = g + part.offset * rows.weight.bytes
        self._x, self._dx = (pointer + part.offset * rows.x.bytes for pointer in (x, dx))
        self._sums = [[self.a.zero() for _ in range(rows.group)] for _ in self._active]

    def load(self, i: int, there: Reg) -> Held:
        """The i-th of the rows to come, zeros where it has no group or is not `there`."""
        rows, part = self.rows, self.part
        active = [there if ok is None else there & ok for ok in self._active]

        def load(group: Group, base: Reg) -> list[list[Reg]]:
            first = i * rows.columns * group.dtype.bytes
            return [
                group.load("global", base, first + part.step(k, group), pred=ok)
                for k, ok in enumerate(active)
            ]

        return Held(there, load(rows.xs, self._x), load(rows.ws, self._g))

    def products(self, row: Held) -> Reg:
        """The thread's sum of g w x."""
        a = self.a
        triples = [t for k in range(len(row.x)) for t in self._elements(row, k)]
        return a.products((x, a.mul(g, w)) for x, g, w in triples)

    def write(self, i: int, row: Held, scale: Reg, coefficient: Reg) -> None:
        """Write the thread's groups of the i-th row's dx, and add to its sums for dw."""
        xs, math = self.rows.xs, self.math
        for k, ok in enumerate(self._active):
            result: list[Reg] = []
            for (x, g, w), sum_ in zip(self._elements(row, k), self._sums[k], strict=True):
                result.append(math.result(x, g, w, scale, coefficient))
                math.accumulate(sum_, x, g, scale)
            offset = i * self.rows.columns * self.rows.x.bytes + self.part.step(k, xs)
            there = row.there if ok is None else row.there & ok
            xs.store("global", self._dx, offset, xs.pack(result), pred=there)

    def advance(self) -> None:
        """Go to the next rows."""
        rows = self.rows
        self._g += self.together * rows.columns * rows.weight.bytes
        self._x += self.together * rows.columns * rows.x.bytes
        self._dx += self.together * rows.columns * rows.x.bytes

    def finish(self, dw: Reg, dtype: DType) -> None:
        """Write the thread's sums; `dw` is the tensor's address, `dtype` its type."""
        group = Group(dtype, self.rows.group, self.a.dtype)
        place = dw + wide(self.part.column) * dtype.bytes
        for k, ok in enumerate(self._active):
            words = group.pack(self._sums[k])
            group.store("global", place, self.part.step(k, group), words, pred=ok)

    def _elements(self, row: Held, k: int) -> Iterator[tuple[Reg, Reg, Reg]]:
        """x, g and w of the k-th group."""
        xs, ws = self.rows.xs, self.rows.ws
        groups = xs.unpack(row.x[k]), ws.unpack(row.g[k]), ws.unpack(self._weights[k])
        return zip(*groups, strict=True)
