"""Backward, a few rows: one cluster takes all of them, each CTA a strip of columns.

A CTA has its strip of every row, so the weight's gradient is complete without partial sums, and
there is one launch. Only one number for each row travels between the CTAs.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg, smem
from pyptx.device import WARP, Needs
from pyptx.ops._rms.arithmetic import address
from pyptx.ops._rms.elements import PIECE, Group, load_one, rounded_up
from pyptx.ops._rms.geometry import Rows
from pyptx.ops._rms.held import Columns, Held
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


def needs(shape: Shape) -> Needs:
    """What `backward` needs of a device."""
    return Needs(("clusters",), cluster=shape.parts)


def backward(rows: Rows, shape: Shape, result: DType) -> Kernel:
    """g[*B, N], r[*B], x[*B, N], w[N] to dx[*B, N] and dw[N] of type `result`.

    Takes any number of rows, `together` at a time. Rows have no ends.
    """

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


class _Strip:
    """A CTA of the cluster, and its columns of all rows."""

    def __init__(self, rows: Rows, shape: Shape, count: int | Reg) -> None:
        self.shape = shape
        self.count = ptx.inst.cvt.u32.u64(count)
        self.lane = reg.from_(ptx.special.tid.x(), u32)
        self.rank = ptx.cluster.rank()
        self.columns = Columns(
            rows, shape.threads, shape.parts, self.rank, self.lane, shape.together
        )
        self.a = self.columns.a
        self.each = rounded_up(shape.together, PIECE // self.a.dtype.bytes)
        """Sums of a warp, with room so that they move in whole pieces."""
        self.sums = smem.alloc(self.a.dtype, (shape.warps, self.each), align=PIECE)

    def run(self, G: Tensor, R: Tensor, X: Tensor, W: Tensor, DX: Tensor, DW: Tensor) -> None:
        columns, together = self.columns, self.shape.together
        ptx.cluster.arrive(relaxed=True, aligned=True)  # this CTA runs
        g, r, x, w, dx, dw = ptx.global_ptrs(G, R, X, W, DX, DW)
        columns.begin(g, x, w, dx)
        row = reg.scalar(u32, init=0)
        with ptx.while_(lambda: row < self.count):
            found = [self._load(i, row, r) for i in range(together)]
            products = [ptx.warp.reduce_sum(columns.products(held)) for _, held in found]
            ptx.cluster.wait(aligned=True)  # all CTAs run, and have read the sums before
            self._send(products)
            ptx.cluster.arrive(aligned=True)
            ptx.cluster.wait(aligned=True)
            totals = self._received()
            ptx.cluster.arrive(aligned=True)
            for i, ((scale, held), total) in enumerate(zip(found, totals, strict=True)):
                columns.write(i, held, scale, columns.math.coefficient(scale, total))
            row += together
            r += together * self.a.dtype.bytes
            columns.advance()
        ptx.cluster.wait(aligned=True)
        columns.finish(dw, DW.dtype)

    def _load(self, i: int, row: Reg, r: Reg) -> tuple[Reg, Held]:
        """r of the i-th of the rows to come and the row, zeros where there is none."""
        a, there = self.a, row + i < self.count
        scale = load_one(a.dtype, a.dtype, r + i * a.dtype.bytes, pred=there)
        return scale, self.columns.load(i, there)

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
