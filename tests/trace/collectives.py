"""Kernels that combine the values of warps, CTAs and clusters, for tests of what they give."""

import math

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import DTYPES, u16, u32, u64

NUMPY = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "u32": np.uint32,
    "s32": np.int32,
    "u64": np.uint64,
    "s64": np.int64,
}
_UNSIGNED = {16: u16, 32: u32, 64: u64}


def thread_number(block):
    """The number of the thread in its CTA, x fastest."""
    x, y, z = (reg.from_(getattr(ptx.special.tid, axis)(), u32) for axis in "xyz")
    return ptx.inst.mad.lo.u32(ptx.inst.mad.lo.u32(z, block[1], y), block[0], x)


def program(body, dtype, block, count, *, cluster=1, arch="sm_90a"):
    """A kernel that puts `body` of each value, and of the thread's number, in its place.

    Its `count` values are of all CTAs, one after the other, as unsigned integers.
    """
    threads, size = math.prod(block), DTYPES[dtype].bytes
    unsigned = _UNSIGNED[8 * size]

    @kernel(
        in_specs=(Tile(count, unsigned),),
        out_specs=(Tile(count, unsigned),),
        grid=(count // threads, 1, 1),
        block=block,
        cluster=(cluster, 1, 1),
        arch=arch,
    )
    def combine(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        thread = thread_number(block)
        index = ptx.inst.mad.lo.u32(reg.from_(ptx.special.ctaid.x(), u32), threads, thread)
        value = reg.scalar(DTYPES[dtype])
        offset = index * size
        getattr(ptx.inst.ld.global_, f"b{8 * size}")(value, ptx.addr(x + offset))
        result = body(value, thread)
        getattr(ptx.inst.st.global_, f"b{8 * size}")(ptx.addr(y + offset), result)

    return combine


def each_thread(body, dtype, block, values, **options):
    """What the program gives in the emulator: the outputs, and the report."""
    made = program(body, dtype, block, values.size, **options)
    done = made.emulate(values.view(f"u{values.itemsize}"), sanitize=True)
    return done.outputs[0].view(values.dtype), done.report


def combined(body, dtype, block, values, **options):
    """What `each_thread` gives, from a run without findings, a row for each CTA."""
    found, report = each_thread(body, dtype, block, values, **options)
    assert not report.findings, str(report)
    return found.reshape(-1, math.prod(block))


def whole(seed, dtype, count, least=-3):
    """Small whole numbers of a type."""
    low = 0 if dtype.startswith("u") else least
    return np.random.default_rng(seed).integers(low, 4, count).astype(NUMPY[dtype])


def totals(name, rows):
    """The sum, maximum or minimum of each row, in every place of it, in the type of the row."""
    wide = rows.astype(np.float64) if rows.dtype.kind in "fV" else rows
    return np.broadcast_to(getattr(wide, name)(1, keepdims=True), rows.shape).astype(rows.dtype)
