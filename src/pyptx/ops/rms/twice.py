"""Backward, few long rows: every multiprocessor has a chunk of the columns, and reads it twice.

The first kernel is that of `chunks`, which adds up g w x of every chunk. The second starts beside
it and has its first rows in registers by the time the sums are there; what it reads is in the L2
cache. A CTA has its columns of every row, so the weight's gradient is complete without partial
sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pyptx import (
    Kernel,
    KernelSequence,
    Reg,
    SharedTile,
    Tensor,
    Tile,
    kernel,
    ptx,
    reg,
    sequence,
    smem,
)
from pyptx.ops.rms import chunks
from pyptx.ops.rms.arithmetic import Arithmetic, Backward
from pyptx.ops.rms.elements import WARP, Group, load_one, wide
from pyptx.ops.rms.geometry import Part, Rows, load_weights
from pyptx.types import DType, u32

MOST: Final = 16
"""Rows, at most: a thread goes through all of them."""

_EACH: Final = 2
"""Groups of a thread in the kernel of the sums."""


@dataclass(frozen=True, slots=True)
class Shape:
    """CTAs of `threads` threads with a group of columns each, `together` rows in registers."""

    threads: int
    together: int


def backward(rows: Rows, shape: Shape, result: DType) -> KernelSequence:
    """g[*B, N], r[*B], x[*B, N], w[N] to dx[*B, N] and dw[N] of type `result`.

    Takes up to `MOST` rows, which have no ends.
    """
    products = chunks.sums(rows, gradient=True, each=_EACH)
    gradient = _gradient(rows, shape, result)

    @sequence(in_specs=rows.backward_inputs, out_specs=gradient.out_specs, parallel=("B",))
    def rms_norm_twice_backward(g: Any, r: Any, x: Any, w: Any) -> Any:
        return gradient(g, r, x, w, products(g, x, w))

    return rms_norm_twice_backward


def _gradient(rows: Rows, shape: Shape, result: DType) -> Kernel:
    """g, r, x, w and the sums of g w x[*B, parts] to dx and dw, right after those sums."""
    assert rows.aligned

    def rms_norm_twice(
        G: Tensor, R: Tensor, X: Tensor, W: Tensor, S: Tensor, DX: Tensor, DW: Tensor
    ) -> None:
        _Columns(rows, shape, X.shape[0]).run(G, R, X, W, S, DX, DW)

    ctas = -(-rows.groups // shape.threads)
    return kernel(
        in_specs=(*rows.backward_inputs, chunks.sums_of(rows, _EACH)),
        out_specs=(
            rows.tensor(rows.x),
            Tile(*rows.shape, result, sum_over="B", accumulate=rows.compute),
        ),
        grid=(ctas, 1, 1),
        block=(shape.threads, 1, 1),
        arch="auto",
        parallel=("B",),
        programmatic_stream_serialization=True,
    )(rms_norm_twice)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of those in registers: a thread's group of x and of g."""

    there: Reg
    x: list[Reg]
    g: list[Reg]


class _Columns:
    """A CTA's columns, of all rows."""

    def __init__(self, rows: Rows, shape: Shape, count: int | Reg) -> None:
        self.rows, self.shape = rows, shape
        self.a = Arithmetic(rows.compute)
        self.math = Backward(self.a, rows.columns)
        self.count = ptx.inst.cvt.u32.u64(count)
        self.lane = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        parts = -(-rows.groups // shape.threads)
        self.part = Part(rows, reg.scalar(u32, init=0), self.lane, shape.threads, parts, cta)
        assert self.part.each == 1
        self.active = self.part.active(0)
        # r of each row, and its coefficient.
        self.scales: SharedTile = smem.alloc(self.a.dtype, (MOST + shape.together - 1, 2))

    def run(
        self, G: Tensor, R: Tensor, X: Tensor, W: Tensor, S: Tensor, DX: Tensor, DW: Tensor
    ) -> None:
        rows, part, together = self.rows, self.part, self.shape.together
        g, r, x, w, s, dx, dw = ptx.global_ptrs(G, R, X, W, S, DX, DW)
        (weights,) = load_weights(part, w, [self.active])
        g = g + part.offset * rows.weight.bytes
        x, dx = (pointer + part.offset * rows.x.bytes for pointer in (x, dx))
        sums = [self.a.zero() for _ in range(rows.group)]
        row = reg.scalar(u32, init=0)
        with ptx.while_(lambda: row < self.count):
            found = [self._load(i, row, g, x) for i in range(together)]
            with ptx.if_(row == 0):
                ptx.inst.griddepcontrol.wait()
                self._scale(r, s)
            for i, each in enumerate(found):
                self._write(i, each, row, weights, dx, sums)
            row += together
            g += together * rows.columns * rows.weight.bytes
            x += together * rows.columns * rows.x.bytes
            dx += together * rows.columns * rows.x.bytes
        group = Group(DW.dtype, rows.group, self.a.dtype)
        place = dw + wide(part.column) * DW.dtype.bytes
        group.store("global", place, 0, group.pack(sums), pred=self.active)

    def _load(self, i: int, row: Reg, g: Reg, x: Reg) -> _Row:
        """The i-th of the rows to come, zeros where there is none."""
        rows = self.rows
        there = row + i < self.count
        if self.active is not None:
            there = there & self.active
        line = i * rows.columns
        return _Row(
            there,
            rows.xs.load("global", x, line * rows.x.bytes, pred=there),
            rows.ws.load("global", g, line * rows.weight.bytes, pred=there),
        )

    def _scale(self, r: Reg, s: Reg) -> None:
        """Put r and the coefficient of every row where all threads find them, a warp for each.

        Rows that are loaded together have zeros where there are no more of them.
        """
        a, shape = self.a, self.shape
        row = reg.scalar(u32, init=self.lane >> 5)
        first = (self.lane & (WARP - 1)) == 0
        with ptx.while_(lambda: row < self.count + (shape.together - 1)):
            scale, coefficient = a.zero(), a.zero()
            with ptx.if_(row < self.count):
                a.mov(scale, load_one(a.dtype, a.dtype, r + row * a.dtype.bytes, pred=None))
                products = chunks.row_sum(a, s, row, chunks.parts(self.rows, _EACH), self.lane)
                a.mov(coefficient, self.math.coefficient(scale, products))
            with ptx.if_(first):
                self.scales[row, 0] = scale
                self.scales[row, 1] = coefficient
            row += shape.threads // WARP
        ptx.bar.sync(0)

    def _elements(self, row: _Row, weights: list[Reg]) -> Iterator[tuple[Reg, Reg, Reg]]:
        """x, g and w of the thread's group."""
        xs, ws = self.rows.xs, self.rows.ws
        return zip(xs.unpack(row.x), ws.unpack(row.g), ws.unpack(weights), strict=True)

    def _write(
        self, i: int, row: _Row, first: Reg, weights: list[Reg], dx: Reg, sums: list[Reg]
    ) -> None:
        """Write the thread's group of dx, and add to its sums for dw."""
        xs, math = self.rows.xs, self.math
        scale, coefficient = self.scales[first + i, 0], self.scales[first + i, 1]
        result: list[Reg] = []
        for (x, g, w), sum_ in zip(self._elements(row, weights), sums, strict=True):
            result.append(math.result(x, g, w, scale, coefficient))
            math.accumulate(sum_, x, g, scale)
        offset = i * self.rows.columns * self.rows.x.bytes
        xs.store("global", dx, offset, xs.pack(result), pred=row.there)
