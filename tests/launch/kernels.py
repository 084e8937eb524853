"""Kernels that batch, partition and chain, and what they compute in NumPy."""

import numpy as np

from pyptx import Scalar, Tile, kernel, ptx, reg, sequence
from pyptx.types import f32, u32, u64

P = 3


def _lane():
    return reg.from_(ptx.special.tid.x(), u32)


@kernel(
    in_specs=(Tile("*B", "N", f32), Tile("N", f32)),
    out_specs=(Tile("*B", "N", f32),),
    grid=lambda B: (B, 1, 1),
    block=32,
    parallel=("B",),
)
def scale(X, W, Y):
    """Y = X * W, a CTA for each row."""
    px, pw, py = ptx.global_ptrs(X, W, Y)
    _, columns = X.shape
    row = reg.from_(ptx.special.ctaid.x(), u32) * (4 * columns)
    for column in ptx.range_(_lane(), columns, 32):
        at = column * 4
        x = ptx.inst.ld.global_.f32(ptx.addr(px + row + at))
        ptx.inst.st.global_.f32(
            ptx.addr(py + row + at), x * ptx.inst.ld.global_.f32(ptx.addr(pw + at))
        )


@kernel(
    in_specs=(Tile("*B", "N", f32), Tile("*B", f32), Tile("*B", "N", f32), Tile("N", f32)),
    out_specs=(Tile("*B", "N", f32), Tile(P, "N", f32, sum_over="B")),
    grid=(P, 1, 1),
    block=32,
    parallel=("B",),
)
def rows(G, R, X, W, DX, Partial):
    """The gradient of an RMS norm in x, and in its weight for every P-th row."""
    pg, pr, px, pw, pdx, pp = ptx.global_ptrs(G, R, X, W, DX, Partial)
    count, columns = X.shape
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    for column in ptx.range_(_lane(), columns, 32):
        ptx.inst.st.global_.f32(ptx.addr(pp + (cta * columns * 4 + column * 4)), 0.0)
    for row in ptx.range_(ptx.inst.cvt.u64.u32(cta), count, P):
        r = ptx.inst.ld.global_.f32(ptx.addr(pr + row * 4))
        start = row * (4 * columns)
        total = reg.scalar(f32, init=0.0)
        for column in ptx.range_(_lane(), columns, 32):
            g, x, w = _loads(start, column, pg, px, pw)
            total += g * x * w
        ptx.warp.reduce_sum(total)
        slope = total * r * r * (1.0 / columns)
        for column in ptx.range_(_lane(), columns, 32):
            g, x, w = _loads(start, column, pg, px, pw)
            ptx.inst.st.global_.f32(ptx.addr(pdx + start + column * 4), r * (g * w - x * slope))
            at = ptx.addr(pp + (cta * columns * 4 + column * 4))
            ptx.inst.st.global_.f32(at, ptx.inst.ld.global_.f32(at) + g * x * r)


def _loads(start, column, pg, px, pw):
    at = column * 4
    rows_at = (ptx.addr(pg + start + at), ptx.addr(px + start + at))
    return (
        *(ptx.inst.ld.global_.f32(a) for a in rows_at),
        ptx.inst.ld.global_.f32(ptx.addr(pw + at)),
    )


@kernel(
    in_specs=(Tile("P", "N", f32),),
    out_specs=(Tile("N", f32),),
    block=32,
)
def finish(Partial, DW):
    """DW = the sum of the rows of Partial."""
    pp, pdw = ptx.global_ptrs(Partial, DW)
    rows, columns = Partial.shape
    for column in ptx.range_(_lane(), columns, 32):
        total = reg.scalar(f32, init=0.0)
        for row in range(rows):
            total += ptx.inst.ld.global_.f32(ptx.addr(pp + (column * 4 + row * columns * 4)))
        ptx.inst.st.global_.f32(ptx.addr(pdw + column * 4), total)


@kernel(
    in_specs=(Tile("B", "N", f32),),
    out_specs=(Tile("N", f32, sum_over="B"),),
    grid=lambda B, N: (min(B, 1), 1, 1),
    block=32,
    parallel=("B",),
)
def total(X, Y):
    """Y = the sum of the rows of X, by one CTA; by none where there are no rows."""
    px, py = ptx.global_ptrs(X, Y)
    count, columns = X.shape
    for column in ptx.range_(_lane(), columns, 32):
        found = reg.scalar(f32, init=0.0)
        for row in ptx.range_(reg.scalar(u64, init=0), count):
            found += ptx.inst.ld.global_.f32(ptx.addr(px + row * (4 * columns) + column * 4))
        ptx.inst.st.global_.f32(ptx.addr(py + column * 4), found)


def gradient(g, r, x, w):
    """What `rows` and `finish` compute, in float64."""
    g, r, x, w = (a.astype(np.float64) for a in (g, r, x, w))
    slope = (g * x * w).sum(-1) * r * r / x.shape[-1]
    dx = r[..., None] * (g * w - x * slope[..., None])
    dw = (g * x * r[..., None]).reshape(-1, x.shape[-1]).sum(0)
    return dx, dw


@sequence(
    in_specs=rows.in_specs,
    out_specs=(Tile("*B", "N", f32), Tile("N", f32, sum_over="B")),
    parallel=("B",),
)
def backward(g, r, x, w):
    """Both gradients of an RMS norm."""
    dx, partial = rows(g, r, x, w)
    return dx, finish(partial)


@kernel(
    in_specs=(Tile("B", "N", f32), Scalar(f32)),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B: (1, B, 1),
    block=32,
    parallel=("B",),
    input_output_aliases={0: 0},
)
def add(X, term, Y):
    """Y = X + term, in place."""
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.ctaid.y(), u32) * (4 * X.shape[1]) + _lane() * 4
    with ptx.if_(_lane() < X.shape[1]):
        ptx.inst.st.global_.f32(
            ptx.addr(py + at), ptx.inst.ld.global_.f32(ptx.addr(px + at)) + term
        )
