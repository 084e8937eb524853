"""Backward, few long rows: every multiprocessor has a chunk of the columns, and reads it twice.

The first kernel is that of `chunks`, which adds up g w x of every chunk. The second starts beside
it and has its first rows in registers by the time the sums are there; what it reads is in the L2
cache. A CTA has its columns of every row, so the weight's gradient is complete without partial
sums.
"""

from __future__ import annotations

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
from pyptx.device import WARP
from pyptx.ops._rms import chunks, dependent
from pyptx.ops._rms.elements import load_one
from pyptx.ops._rms.geometry import Rows
from pyptx.ops._rms.held import Columns
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

    def rms_norm_twice(
        G: Tensor, R: Tensor, X: Tensor, W: Tensor, S: Tensor, DX: Tensor, DW: Tensor
    ) -> None:
        _Chunk(rows, shape, X.shape[0]).run(G, R, X, W, S, DX, DW)

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
        programmatic_stream_serialization=dependent.starts_early(rows),
    )(rms_norm_twice)


class _Chunk:
    """A CTA's columns, of all rows."""

    def __init__(self, rows: Rows, shape: Shape, count: int | Reg) -> None:
        self.rows, self.shape = rows, shape
        self.count = ptx.inst.cvt.u32.u64(count)
        self.lane = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        parts = -(-rows.groups // shape.threads)
        self.columns = Columns(rows, shape.threads, parts, cta, self.lane, shape.together)
        self.a = self.columns.a
        # r of each row, and its coefficient.
        self.scales: SharedTile = smem.alloc(self.a.dtype, (MOST + shape.together - 1, 2))

    def run(
        self, G: Tensor, R: Tensor, X: Tensor, W: Tensor, S: Tensor, DX: Tensor, DW: Tensor
    ) -> None:
        columns, together = self.columns, self.shape.together
        g, r, x, w, s, dx, dw = ptx.global_ptrs(G, R, X, W, S, DX, DW)
        columns.begin(g, x, w, dx)
        row = reg.scalar(u32, init=0)
        with ptx.while_(lambda: row < self.count):
            found = [columns.load(i, row + i < self.count) for i in range(together)]
            with ptx.if_(row == 0):
                dependent.wait(self.rows)
                self._scale(r, s)
            for i, held in enumerate(found):
                columns.write(i, held, self.scales[row + i, 0], self.scales[row + i, 1])
            row += together
            columns.advance()
        columns.finish(dw, DW.dtype)

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
                a.mov(coefficient, self.columns.math.coefficient(scale, products))
            with ptx.if_(first):
                self.scales[row, 0] = scale
                self.scales[row, 1] = coefficient
            row += shape.threads // WARP
        ptx.bar.sync(0)
