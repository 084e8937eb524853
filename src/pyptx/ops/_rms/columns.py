"""The end of the weight's gradient: its partial sums are added up, in a fixed order."""

from __future__ import annotations

from typing import Final

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg, smem
from pyptx.ops._rms import dependent
from pyptx.ops._rms.arithmetic import Arithmetic
from pyptx.ops._rms.elements import instruction, power_of_two, store_one, wide
from pyptx.ops._rms.geometry import Rows
from pyptx.types import DType, u32

THREADS: Final = 512
MOST: Final = 16
"""Partial sums that a CTA reads at the same time, at most."""


def column_sums(rows: Rows, partials: int, rows_per_partial: int, result: DType) -> Kernel:
    """partial[P, padded] and r[*B] to dw[N]: the sum of the first cdiv(B, rows_per_partial).

    `r` is there for its number of rows. A thread adds up every `depth`-th partial sum of a column;
    then the first `width` threads of a CTA add up what the threads of their column have. Where
    columns alone are as many as threads that a device holds, each thread adds up one by itself.
    """
    depth = min(MOST, power_of_two(partials))
    resident = rows.device.multiprocessors * rows.device.threads
    while depth > 1 and depth * rows.columns > resident:
        depth //= 2
    width = THREADS // depth
    columns, compute = rows.columns, rows.compute
    a = Arithmetic(compute)
    load = instruction(f"ld.global.{compute.name}")

    def rms_norm_column_sums(PARTIAL: Tensor, R: Tensor, DW: Tensor) -> None:
        level = reg.from_(ptx.special.tid.y(), u32)
        lane = reg.from_(ptx.special.tid.x(), u32)
        column = ptx.inst.mad.lo.u32(reg.from_(ptx.special.ctaid.x(), u32), width, lane)
        table = smem.alloc(compute, (depth, width))
        written = ptx.inst.cvt.u32.u64(R.shape[0])
        if rows_per_partial > 1:
            written = (written + (rows_per_partial - 1)) // rows_per_partial
        written = ptx.inst.min.u32(written, partials)
        there = column < columns
        dependent.wait(rows)
        partial, dw = ptx.global_ptrs(PARTIAL, DW)
        partial += (level * rows.padded + wide(column)) * compute.bytes
        values: list[Reg] = []
        for i in range(-(-partials // depth)):
            value = reg.scalar(compute, init=0.0)
            live = there & (level + i * depth < written)
            line = i * depth * rows.padded * compute.bytes
            if rows.aligned:
                load(value, ptx.addr(partial, line), pred=live)
            else:
                moved = partial + wide(_moved(rows, level + i * depth)) * compute.bytes
                load(value, ptx.addr(moved, line), pred=live)
            values.append(value)
        table[level, lane] = a.total(values)
        ptx.bar.sync(0)
        with ptx.if_((level == 0) & there):
            total = a.total([table[i, lane] for i in range(depth)])
            store_one(DW.dtype, dw + wide(column) * DW.dtype.bytes, total)

    return kernel(
        in_specs=(Tile(partials, rows.padded, compute), rows.scalars()),
        out_specs=(Tile(*rows.shape, result, sum_over="B", accumulate=compute),),
        grid=(-(-columns // width), 1, 1),
        block=(width, depth, 1),
        arch="auto",
        parallel=("B",),
        programmatic_stream_serialization=dependent.starts_early(rows),
    )(rms_norm_column_sums)


def _moved(rows: Rows, partial: Reg) -> Reg:
    """How far a partial sum is moved (`WeightGradient`), u32."""
    mask = rows.unit - 1
    before = ptx.inst.mul.lo.u32(partial, rows.columns & mask)
    return rows.unit - ((0 - before) & mask)
