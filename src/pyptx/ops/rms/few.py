"""Backward, a few rows: one cluster takes all of them, each CTA a strip of columns.

A CTA has its strip of every row, so the weight's gradient is complete without partial sums, and
there is one launch. Only one number for each row travels between the CTAs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg, smem
from pyptx.ops.rms.arithmetic import Arithmetic, Backward, address
from pyptx.ops.rms.elements import PIECE, WARP, Group, load_one, rounded_up, wide
from pyptx.ops.rms.geometry import Part, Rows, load_weights
from pyptx.types import DType, u32


@dataclass(frozen=True, slots=True)
class Shape:
    """`parts` CTAs of `threads` threads, which have `together` rows in registers at once."""

    parts: int
    threads: int
    together: int

    @property
    def warps(self) -> int:
        """Warps of the cluster, each of which has a sum for each row."""
        return self.parts * self.threads // WARP


def backward(rows: Rows, shape: Shape, result: DType) -> Kernel:
    """g[*B, N], r[*B], x[*B, N], w[N] to dx[*B, N] and dw[N] of type `result`.

    Takes any number of rows, `together` at a time. Rows have no ends.
    """
    assert rows.aligned

    def rms_norm_few_backward(
        G: Tensor, R: Tensor, X: Tensor, W: Tensor, DX: Tensor, DW: Tensor
    ) -> None:
        _Strip(rows, shape, X.shape[0]).run(G, R, X, W, DX, DW)

    return kernel(
        in_specs=rows.backward_inputs,
        out_specs=(
            rows.tensor(rows.x),
            Tile(*rows.shape, result, sum_over="B", accumulate=rows.compute),
        ),
        grid=(shape.parts, 1, 1),
        block=(shape.threads, 1, 1),
        cluster=(shape.parts, 1, 1),
        arch="auto",
        parallel=("B",),
    )(rms_norm_few_backward)


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of those in registers: its r, and a thread's groups of x and of g."""

    there: Reg
    r: Reg
    x: list[list[Reg]]
    g: list[list[Reg]]


class _Strip:
    """A CTA of the cluster, and its columns of all rows."""

    def __init__(self, rows: Rows, shape: Shape, count: int | Reg) -> None:
        self.rows, self.shape = rows, shape
        self.a = Arithmetic(rows.compute)
        self.math = Backward(self.a, rows.columns)
        self.count = ptx.inst.cvt.u32.u64(count)
        self.lane = reg.from_(ptx.special.tid.x(), u32)
        self.rank = ptx.cluster.rank()
        first = reg.scalar(u32, init=0)
        self.part = Part(rows, first, self.lane, shape.threads, shape.parts, self.rank)
        self.active = [self.part.active(k) for k in range(self.part.each)]
        self.each = rounded_up(shape.together, PIECE // self.a.dtype.bytes)
        """Sums of a warp, with room so that they move in whole pieces."""
        self.sums = smem.alloc(self.a.dtype, (shape.warps, self.each), align=PIECE)

    def run(self, G: Tensor, R: Tensor, X: Tensor, W: Tensor, DX: Tensor, DW: Tensor) -> None:
        a, rows, part, together = self.a, self.rows, self.part, self.shape.together
        ptx.cluster.arrive(relaxed=True, aligned=True)  # this CTA runs
        g, r, x, w, dx, dw = ptx.global_ptrs(G, R, X, W, DX, DW)
        weights = load_weights(part, w, self.active)
        g = g + part.offset * rows.weight.bytes
        x, dx = (pointer + part.offset * rows.x.bytes for pointer in (x, dx))
        sums = [[a.zero() for _ in range(rows.group)] for _ in self.active]
        row = reg.scalar(u32, init=0)
        with ptx.while_(lambda: row < self.count):
            found = [self._load(i, row, g, r, x) for i in range(together)]
            products = [self._products(each, weights) for each in found]
            ptx.cluster.wait(aligned=True)  # all CTAs run, and have read the sums before
            self._send(products)
            ptx.cluster.arrive(aligned=True)
            ptx.cluster.wait(aligned=True)
            totals = self._received()
            ptx.cluster.arrive(aligned=True)
            for i, (each, total) in enumerate(zip(found, totals, strict=True)):
                self._write(i, each, self.math.coefficient(each.r, total), weights, dx, sums)
            row += together
            r += together * a.dtype.bytes
            g += together * rows.columns * rows.weight.bytes
            x += together * rows.columns * rows.x.bytes
            dx += together * rows.columns * rows.x.bytes
        ptx.cluster.wait(aligned=True)
        group = Group(DW.dtype, rows.group, a.dtype)
        place = dw + wide(part.column) * DW.dtype.bytes
        for k, ok in enumerate(self.active):
            group.store("global", place, part.step(k, group), group.pack(sums[k]), pred=ok)

    def _load(self, i: int, row: Reg, g: Reg, r: Reg, x: Reg) -> _Row:
        """The i-th of the rows to come, zeros where there is none."""
        rows, part, a = self.rows, self.part, self.a
        there = row + i < self.count
        oks = [there if ok is None else there & ok for ok in self.active]
        line = i * rows.columns

        def load(group: Group, base: Reg) -> list[list[Reg]]:
            first = line * group.dtype.bytes
            return [
                group.load("global", base, first + part.step(k, group), pred=ok)
                for k, ok in enumerate(oks)
            ]

        scale = load_one(a.dtype, a.dtype, r + i * a.dtype.bytes, pred=there)
        return _Row(there, scale, load(rows.xs, x), load(rows.ws, g))

    def _elements(
        self, row: _Row, weights: list[list[Reg]], k: int
    ) -> Iterator[tuple[Reg, Reg, Reg]]:
        """x, g and w of the k-th group."""
        xs, ws = self.rows.xs, self.rows.ws
        return zip(xs.unpack(row.x[k]), ws.unpack(row.g[k]), ws.unpack(weights[k]), strict=True)

    def _products(self, row: _Row, weights: list[list[Reg]]) -> Reg:
        """The warp's sum of g w x, in each of its lanes."""
        a = self.a
        triples = [t for k in range(len(self.active)) for t in self._elements(row, weights, k)]
        return ptx.warp.reduce_sum(a.products((x, a.mul(g, w)) for x, g, w in triples))

    def _send(self, products: list[Reg]) -> None:
        """Give the warp's sums to all CTAs, lane i to CTA i."""
        a, shape = self.a, self.shape
        size = self.each * a.dtype.bytes
        index = ptx.inst.mad.lo.u32(self.rank, shape.threads // WARP, self.lane >> 5)
        mine = ptx.inst.mad.lo.u32(index, size, address(self.sums))
        lane = self.lane & (WARP - 1)
        with ptx.if_(lane < shape.parts):
            there = ptx.cluster.map_shared_rank(mine, lane)
            Group(a.dtype, len(products), a.dtype).store("shared::cluster", there, 0, products)

    def _received(self) -> list[Reg]:
        """The sum of each row, added up in the same order everywhere."""
        a, shape = self.a, self.shape
        group = Group(a.dtype, shape.together, a.dtype)
        lane = self.lane & (WARP - 1)
        place = ptx.inst.mad.lo.u32(lane, self.each * a.dtype.bytes, address(self.sums))
        rounds: list[list[Reg]] = []
        for first in range(0, shape.warps, WARP):
            left = shape.warps - first
            there = None if left >= WARP else lane < left
            offset = first * self.each * a.dtype.bytes
            rounds.append(group.load("shared", place, offset, pred=there))
        totals = [a.total(values) for values in zip(*rounds, strict=True)]
        return [ptx.warp.reduce_sum(total) for total in totals]

    def _write(
        self,
        i: int,
        row: _Row,
        coefficient: Reg,
        weights: list[list[Reg]],
        dx: Reg,
        sums: list[list[Reg]],
    ) -> None:
        """Write the thread's groups of dx, and add to its sums for dw."""
        rows, xs, math = self.rows, self.rows.xs, self.math
        for k, ok in enumerate(self.active):
            result: list[Reg] = []
            for (x, g, w), sum_ in zip(self._elements(row, weights, k), sums[k], strict=True):
                result.append(math.result(x, g, w, row.r, coefficient))
                math.accumulate(sum_, x, g, row.r)
            offset = i * rows.columns * rows.x.bytes + self.part.step(k, xs)
            there = row.there if ok is None else row.there & ok
            xs.store("global", dx, offset, xs.pack(result), pred=there)
