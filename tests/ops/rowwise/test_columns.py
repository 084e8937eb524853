"""A thread's columns of a few rows: the statistic of what it holds, then outputs and sums."""

from __future__ import annotations

import pytest

from pyptx import Kernel, Tile, ptx, reg
from pyptx.ops.rowwise.exchange import over_cta
from pyptx.ops.rowwise.operation import ROW, Scalars
from pyptx.ops.rowwise.program import Arrays, make
from pyptx.ops.rowwise.strategies.columns import Columns
from pyptx.ops.rowwise.vectors import load_one
from pyptx.types import u32

from .toys_cta import KINDS, Blend, clean, close, rows_of


def of_one_row(op: Blend, threads: int) -> Kernel:
    """The operation on one row, which a CTA holds."""
    rows = rows_of(op)

    def body(arrays: Arrays) -> None:
        lane = reg.from_(ptx.special.tid.x(), u32)
        columns = Columns(arrays, threads, 1, reg.scalar(u32, init=0), lane, 1)
        m, tensors = columns.m, arrays.tensors
        pointers = dict(zip(tensors, ptx.global_ptrs(*tensors.values()), strict=True))
        columns.begin(pointers)
        held = columns.load(0, lane < threads)
        total = over_cta(m, op.statistic, columns.statistic(held), lane, threads)
        found = {o.name: load_one(o.dtype, m.dtype, pointers[o.name], pred=None) for o in scalars}
        f = op.factors(m, total, Scalars(**found))
        columns.write(0, held, f)
        columns.finish(pointers)
        for operand, number in zip(op.written(ROW), op.row_result(m, f), strict=True):
            place = tensors[operand.name]
            with ptx.if_(lane == 0):
                place[0] = number

    scalars = op.given(ROW)
    sums = Tile(op.columns, op.compute, sum_over="B")
    return make(op, rows, "held", body, sums=sums, grid=(1, 1, 1), block=(threads, 1, 1))


@pytest.mark.parametrize("kinds", KINDS[:3], ids=lambda k: "-".join(t.name for t in k))
@pytest.mark.parametrize("n", [8, 1000, 2048])
def test_one_row(n, kinds):
    op = Blend(n, kinds, summed=True)
    given = op.arrays(1)
    close(op, clean(of_one_row(op, 128).emulate(*given)), given)
