"""The end of sums over rows: partial sums are added up, in a fixed order."""

from __future__ import annotations

from typing import Final

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg, smem
from pyptx.ops.rowwise import dependent
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import Operand
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.vectors import power_of_two, store_one, wide
from pyptx.types import DType, u32

THREADS: Final = 512
MOST: Final = 16
"""Partial sums that a CTA reads at the same time, at most."""


def column_sums(
    name: str, rows: Rows, like: Operand, partials: int, rows_per_partial: int, result: DType
) -> Kernel:
    """partial[P, padded] and an array of the operation to out[N].

    It is the sum of the first cdiv(B, rows_per_partial) partial sums; the array `like` is there for
    its number of rows. A thread adds up every `depth`-th partial sum of a column; then the first
    `width` threads of a CTA add up what the threads of their column have. Where columns alone are
    as many as threads that a device holds, each thread adds up one by itself.
    """
    depth = min(MOST, power_of_two(partials))
    resident = rows.device.multiprocessors * rows.device.threads
    while depth > 1 and depth * rows.columns > resident:
        depth //= 2
    width = THREADS // depth
    columns, compute = rows.columns, rows.compute
    m = Math(compute)
    load = ptx.inst[f"ld.global.{compute.name}"]

    def sums(PARTIAL: Tensor, LIKE: Tensor, OUT: Tensor) -> None:
        level = reg.from_(ptx.special.tid.y(), u32)
        lane = reg.from_(ptx.special.tid.x(), u32)
        column = ptx.inst.mad.lo.u32(reg.from_(ptx.special.ctaid.x(), u32), width, lane)
        table = smem.alloc(compute, (depth, width))
        written = ptx.inst.cvt.u32.u64(LIKE.shape[0])
        if rows_per_partial > 1:
            written = (written + (rows_per_partial - 1)) // rows_per_partial
        written = ptx.inst.min.u32(written, partials)
        there = column < columns
        dependent.wait(rows)
        partial, out = ptx.global_ptrs(PARTIAL, OUT)
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
        table[level, lane] = m.total(values)
        ptx.bar.sync(0)
        with ptx.if_((level == 0) & there):
            total = m.total([table[i, lane] for i in range(depth)])
            store_one(OUT.dtype, out + wide(column) * OUT.dtype.bytes, total)

    sums.__name__ = f"{name}_column_sums"
    return kernel(
        in_specs=(Tile(partials, rows.padded, compute), rows.tile(like)),
        out_specs=(Tile(*rows.shape, result, sum_over="B", accumulate=compute),),
        grid=(-(-columns // width), 1, 1),
        block=(width, depth, 1),
        arch="auto",
        parallel=("B",),
        programmatic_stream_serialization=dependent.starts_early(rows),
    )(sums)


def _moved(rows: Rows, partial: Reg) -> Reg:
    """How far a partial sum is moved (`RegisterSums`), u32."""
    mask = rows.unit - 1
    before = ptx.inst.mul.lo.u32(partial, rows.columns & mask)
    return rows.unit - ((0 - before) & mask)
