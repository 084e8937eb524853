"""The end of sums over rows: partial sums are added up, in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pyptx import Kernel, Reg, Tile, kernel, ptx, reg, smem
from pyptx.ops._parameters import with_parameters
from pyptx.ops.rowwise import dependent
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import Operand
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.vectors import power_of_two, store_one, wide
from pyptx.types import DType, u32

THREADS: Final = 512
MOST: Final = 16
"""Partial sums that a CTA reads at the same time, at most."""
FEW: Final = 32
"""Partial sums that small CTAs add up."""
SMALL: Final = 128
"""Threads of a small CTA."""


def column_sums(
    name: str,
    rows: Rows,
    like: Operand,
    partials: int,
    rows_per_partial: int,
    result: DType,
    count: int = 1,
) -> Kernel:
    """`count` times partial[P, padded], and an array of the operation, to as many times out[N].

    Each is the sum of the first cdiv(B, rows_per_partial) partial sums; the array `like` is there
    for its number of rows. The CTAs of an index along y have an output each. A thread adds up every
    `depth`-th partial sum of a column; then the first `width` threads of a CTA add up what the
    threads of their column have. Where columns alone are as many as threads that a device holds,
    a thread adds up one by itself, unless partial sums are few.
    """
    depth, threads = _depth(rows, partials, count)
    width = threads // depth
    columns, compute = rows.columns, rows.compute
    m = Math(compute)
    load = ptx.inst[f"ld.global.{compute.name}"]

    def sums(*arrays: Any) -> None:
        like, outputs = arrays[count], arrays[count + 1 :]
        level = reg.from_(ptx.special.tid.y(), u32)
        lane = reg.from_(ptx.special.tid.x(), u32)
        column = ptx.inst.mad.lo.u32(reg.from_(ptx.special.ctaid.x(), u32), width, lane)
        table = smem.alloc(compute, (depth, width))
        written = ptx.inst.cvt.u32.u64(like.shape[0])
        if rows_per_partial > 1:
            written = (written + (rows_per_partial - 1)) // rows_per_partial
        written = ptx.inst.min.u32(written, partials)
        there = column < columns
        partial, out = _own(ptx.global_ptrs(*arrays[:count], *outputs), count)
        partial += (level * rows.padded + wide(column)) * compute.bytes
        dependent.wait(rows)
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
            dtype = outputs[0].dtype
            store_one(dtype, out + wide(column) * dtype.bytes, total)

    which = [""] if count == 1 else range(count)
    names = [*(f"PARTIAL{i}" for i in which), "LIKE", *(f"OUT{i}" for i in which)]
    body = with_parameters(sums, names, name=f"{name}_column_sums")
    return kernel(
        in_specs=(*(Tile(partials, rows.padded, compute),) * count, rows.tile(like)),
        out_specs=(Tile(*rows.shape, result, sum_over="B", accumulate=compute),) * count,
        grid=(-(-columns // width), count, 1),
        block=(width, depth, 1),
        arch="auto",
        parallel=("B",),
        programmatic_stream_serialization=dependent.starts_early(rows),
    )(body)


def _depth(rows: Rows, partials: int, count: int) -> tuple[int, int]:
    """How many threads add up the partial sums of a column, and how many a CTA has.

    Few partial sums are sooner there by two threads of small CTAs: those of 13 clusters took 0.1 us
    less of 5 on an H200. Of more it is one, where columns alone are as many as the threads that a
    device holds.
    """
    if partials <= FEW:
        return min(2, partials), SMALL
    depth = min(MOST, power_of_two(partials))
    resident = rows.device.multiprocessors * rows.device.threads
    while depth > 1 and depth * rows.columns * count > resident:
        depth //= 2
    return depth, THREADS


def _own(pointers: Sequence[Reg], count: int) -> tuple[Reg, Reg]:
    """The addresses of the partial sums and of the output that are the CTA's."""
    partial, out = pointers[0], pointers[count]
    if count > 1:
        which = reg.from_(ptx.special.ctaid.y(), u32)
        for i in range(1, count):
            mine = which == i
            partial = ptx.inst.selp.b64(pointers[i], partial, mine)
            out = ptx.inst.selp.b64(pointers[count + i], out, mine)
    return partial, out


def _moved(rows: Rows, partial: Reg) -> Reg:
    """How far a partial sum is moved (`RegisterSums`), u32."""
    mask = rows.unit - 1
    before = ptx.inst.mul.lo.u32(partial, rows.columns & mask)
    return rows.unit - ((0 - before) & mask)
