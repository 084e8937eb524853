"""The end of the weight's gradient: the sum of its partial sums, column by column, in a fixed order."""

from __future__ import annotations

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.ops.rms.arithmetic import Arithmetic
from pyptx.ops.rms.elements import instruction, store_one
from pyptx.ops.rms.geometry import Rows
from pyptx.ops.rms.rows import wide
from pyptx.trace.tensor import Tensor
from pyptx.types import DType, u32

COLUMNS = 32
"""Columns of a CTA: a warp reads 128 bytes of a partial sum."""


def column_sums(rows: Rows, partials: int, rows_per_partial: int, result: DType) -> Kernel:
    """partial[P, N] and r[*B] to dw[N]: the sum of the first cdiv(B, rows_per_partial) partials.

    `r` is there for its number of rows. Each CTA has `COLUMNS` columns, and each of its warps adds
    up every `warps`-th partial sum; then the first warp adds up what the warps have.
    """
    warps = min(8, 1 << (partials - 1).bit_length())
    columns, compute = rows.columns, rows.compute
    a = Arithmetic(compute)
    load = instruction(f"ld.global.{compute.name}")

    def rms_norm_column_sums(PARTIAL: Tensor, R: Tensor, DW: Tensor) -> None:
        warp = reg.from_(ptx.special.tid.y(), u32)
        lane = reg.from_(ptx.special.tid.x(), u32)
        column = ptx.inst.mad.lo.u32(reg.from_(ptx.special.ctaid.x(), u32), COLUMNS, lane)
        table = smem.alloc(compute, (warps, COLUMNS))
        written = ptx.inst.cvt.u32.u64(R.shape[0])
        if rows_per_partial > 1:
            written = (written + (rows_per_partial - 1)) // rows_per_partial
        written = ptx.inst.min.u32(written, partials)
        there = column < columns
        ptx.inst.griddepcontrol.wait()
        partial, dw = ptx.global_ptrs(PARTIAL, DW)
        partial += (warp * columns + wide(column)) * compute.bytes
        values = []
        for i in range(-(-partials // warps)):
            value = reg.scalar(compute, init=0.0)
            live = there & (warp + i * warps < written)
            place = ptx.addr(partial, i * warps * columns * compute.bytes)
            load(value, place, pred=live)
            values.append(value)
        table[warp, lane] = a.total(values)
        ptx.bar.sync(0)
        with ptx.if_((warp == 0) & there):
            total = a.total([table[i, lane] for i in range(warps)])
            store_one(DW.dtype, dw + wide(column) * DW.dtype.bytes, total)

    return kernel(
        in_specs=(Tile(partials, columns, compute), rows.scalars()),
        out_specs=(Tile(*rows.shape, result, sum_over="B"),),
        grid=(-(-columns // COLUMNS), 1, 1),
        block=(COLUMNS, warps, 1),
        arch="auto",
        parallel=("B",),
        programmatic_stream_serialization=True,
    )(rms_norm_column_sums)
