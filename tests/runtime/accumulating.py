"""Sums that are given in bf16 and added up in f32; subprocesses import this file too."""

from pyptx import Tile, kernel, ptx, reg, sequence
from pyptx.types import bf16, f32, u32, u64

PARTS = 3


def _column():
    return reg.from_(ptx.special.ctaid.x(), u32) * 32 + reg.from_(ptx.special.tid.x(), u32)


def _load(base, at):
    return ptx.inst.cvt.f32.bf16(ptx.inst.ld.global_.b16(ptx.addr(base + at)))


def _store(tensor, base, column, value):
    """The value in the type of the tensor, rounded if that is bf16."""
    at = ptx.addr(base + column * tensor.dtype.bytes)
    if tensor.dtype is f32:
        ptx.inst.st.global_.f32(at, value)
    else:
        ptx.inst.st.global_.b16(at, ptx.inst.cvt.rn.bf16.f32(value))


@kernel(
    in_specs=(Tile("*B", "N", bf16),),
    out_specs=(Tile("N", bf16, sum_over="B", accumulate=f32),),
    grid=lambda N: (N // 32, 1, 1),
    block=32,
    parallel=("B",),
)
def total(X, Y):
    """Y = the sum of the rows of X."""
    px, py = ptx.global_ptrs(X, Y)
    rows, columns = X.shape
    column = _column()
    found = reg.scalar(f32, init=0.0)
    for row in ptx.range_(reg.scalar(u64, init=0), rows):
        found += _load(px, row * (2 * columns) + column * 2)
    _store(Y, py, column, found)


@kernel(
    in_specs=(Tile("*B", "N", bf16),),
    out_specs=(Tile("*B", "N", bf16), Tile(PARTS, "N", f32, sum_over="B")),
    grid=lambda N: (N // 32, PARTS, 1),
    block=32,
    parallel=("B",),
)
def partial_sums(X, Y, Partial):
    """Y = X, and Partial[p] = the sum of every third row of X from the p-th on."""
    px, py, pp = ptx.global_ptrs(X, Y, Partial)
    rows, columns = X.shape
    column, part = _column(), reg.from_(ptx.special.ctaid.y(), u32)
    found = reg.scalar(f32, init=0.0)
    for row in ptx.range_(ptx.inst.cvt.u64.u32(part), rows, PARTS):
        at = row * (2 * columns) + column * 2
        x = _load(px, at)
        ptx.inst.st.global_.b16(ptx.addr(py + at), ptx.inst.cvt.rn.bf16.f32(x))
        found += x
    ptx.inst.st.global_.f32(ptx.addr(pp + (part * (4 * columns) + column * 4)), found)


@kernel(
    in_specs=(Tile("P", "N", f32),),
    out_specs=(Tile("N", bf16, sum_over="P", accumulate=f32),),
    grid=lambda N: (N // 32, 1, 1),
    block=32,
    parallel=("P",),
)
def finish(Partial, Y):
    """Y = the sum of the rows of Partial."""
    pp, py = ptx.global_ptrs(Partial, Y)
    rows, columns = Partial.shape
    column = _column()
    found = reg.scalar(f32, init=0.0)
    for row in ptx.range_(reg.scalar(u64, init=0), rows):
        found += ptx.inst.ld.global_.f32(ptx.addr(pp + (row * (4 * columns) + column * 4)))
    _store(Y, py, column, found)


@sequence(
    in_specs=(Tile("*B", "N", bf16),),
    out_specs=(Tile("*B", "N", bf16), Tile("N", bf16, sum_over="B", accumulate=f32)),
    parallel=("B",),
)
def copy_and_total(x):
    """x, and the sum of its rows."""
    y, partial = partial_sums(x)
    return y, finish(partial)


@sequence(
    in_specs=(Tile("*B", "N", bf16),),
    out_specs=(Tile("N", bf16, sum_over="B", accumulate=f32),),
    parallel=("B",),
)
def total_in_steps(x):
    """The sum of the rows of x, by a sequence in a sequence."""
    return copy_and_total(x)[1]
