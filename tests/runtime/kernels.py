"""Small kernels that the tests of running share; subprocesses import this file too."""

from pyptx import Scalar, Tile, kernel, ptx, reg, sequence
from pyptx.types import f32, s32, u32


def _index(columns):
    """The byte offset of this thread's element of a row-major tensor, and its column."""
    chunk = reg.from_(ptx.special.ctaid.y(), u32)
    column = ptx.inst.mad.lo.u32(chunk, 128, reg.from_(ptx.special.tid.x(), u32))
    row = reg.from_(ptx.special.ctaid.x(), u32)
    return row * (columns * 4) + column * 4, column


@kernel(
    in_specs=(Tile("B", "N", f32), Scalar(f32)),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B, N: (B, ptx.cdiv(N, 128)),
    block=128,
    arch="auto",
)
def scale(X, factor, Y):
    """Y = X * factor."""
    px, py = ptx.global_ptrs(X, Y)
    offset, column = _index(X.shape[1])
    with ptx.if_(column < X.shape[1]):
        x = ptx.inst.ld.global_.f32(ptx.addr(px + offset))
        ptx.inst.st.global_.f32(ptx.addr(py + offset), x * factor)


@kernel(
    in_specs=(Tile("B", "N", f32), Tile("N", f32)),
    out_specs=(Tile("B", "N", f32), Tile("B", "N", f32)),
    grid=lambda B, N: (B, ptx.cdiv(N, 128)),
    block=128,
    arch="sm_90a",
)
def both(X, W, Sum, Difference):
    """Sum = X + W and Difference = X - W."""
    px, pw, ps, pd = ptx.global_ptrs(X, W, Sum, Difference)
    offset, column = _index(X.shape[1])
    with ptx.if_(column < X.shape[1]):
        x = ptx.inst.ld.global_.f32(ptx.addr(px + offset))
        w = ptx.inst.ld.global_.f32(ptx.addr(pw + column * 4))
        ptx.inst.st.global_.f32(ptx.addr(ps + offset), x + w)
        ptx.inst.st.global_.f32(ptx.addr(pd + offset), x - w)


@kernel(out_specs=(Tile(256, s32),), in_specs=(), grid=2, block=128, arch="sm_90a")
def iota(Y):
    """Y[i] = i."""
    (py,) = ptx.global_ptrs(Y)
    first = reg.from_(ptx.special.ctaid.x(), u32)
    i = ptx.inst.mad.lo.u32(first, 128, reg.from_(ptx.special.tid.x(), u32))
    ptx.inst.st.global_.u32(ptx.addr(py + i * 4), i)


@kernel(
    in_specs=(Tile(128, f32),),
    out_specs=(Tile(128, f32),),
    block=128,
    arch="sm_90a",
    input_output_aliases={0: 0},
)
def increment(X, Y):
    """Adds one in place: X and Y are one buffer."""
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.tid.x(), u32) * 4
    x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
    ptx.inst.st.global_.f32(ptx.addr(py + at), x + 1.0)


@kernel(
    in_specs=(Tile("B", 128, f32),),
    out_specs=(Tile("B", 128, f32),),
    grid=lambda B: (B, 1, 1),
    block=128,
    arch="auto",
    parallel=("B",),
)
def square(X, Y):
    """Y = X * X; one program for every B."""
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.ctaid.x(), u32) * 512 + reg.from_(ptx.special.tid.x(), u32) * 4
    x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
    ptx.inst.st.global_.f32(ptx.addr(py + at), x * x)


@kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), block=128, arch="sm_90a")
def beyond(X, Y):
    """Stores behind the end of Y."""
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.tid.x(), u32) * 4
    x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
    ptx.inst.st.global_.f32(ptx.addr(py + at, 4), x)


# ---- rows that are treated on their own ----------------------------------------------------------
#
# normalise(x, w) = x * r * w with r = 1 / (1 + sum of x * x), row by row, and what its gradient
# needs: one warp to a row, and one thread to a column for the sum over rows.


def _row(columns):
    """The row of this warp, in bytes from the first, and this lane's columns, strided by 32."""
    row = reg.from_(ptx.special.ctaid.x(), u32)
    return row * (columns * 4), reg.from_(ptx.special.tid.x(), u32)


@kernel(
    in_specs=(Tile("*B", "N", f32), Tile("N", f32)),
    out_specs=(Tile("*B", "N", f32), Tile("*B", f32)),
    grid=lambda B: (B, 1, 1),
    block=32,
    arch="auto",
    parallel=("B",),
)
def normalise(X, W, Y, R, *, one=1.0):
    """Y = X * R * W with R = 1 / (one + sum of X * X) of each row."""
    px, pw, py, pr = ptx.global_ptrs(X, W, Y, R)
    columns = X.shape[-1]
    offset, lane = _row(columns)
    total = reg.scalar(f32, init=0.0)
    for column in ptx.range_(lane, columns, 32):
        x = ptx.inst.ld.global_.f32(ptx.addr(px + offset + column * 4))
        total += x * x
    ptx.warp.reduce_sum(total)
    r = ptx.inst.rcp.rn.f32(total + one)
    for column in ptx.range_(lane, columns, 32):
        at = offset + column * 4
        x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
        w = ptx.inst.ld.global_.f32(ptx.addr(pw + column * 4))
        ptx.inst.st.global_.f32(ptx.addr(py + at), x * r * w)
    with ptx.if_(lane == 0):
        ptx.inst.st.global_.f32(ptx.addr(pr + reg.from_(ptx.special.ctaid.x(), u32) * 4), r)


@kernel(
    in_specs=(Tile("*B", "N", f32), Tile("*B", "N", f32), Tile("N", f32), Tile("*B", f32)),
    out_specs=(Tile("*B", "N", f32),),
    grid=lambda B: (B, 1, 1),
    block=32,
    arch="auto",
    parallel=("B",),
)
def rows_gradient(G, X, W, R, DX):
    """DX = G * W * R - 2 * X * R * R * (sum of G * W * X), row by row."""
    pg, px, pw, pr, pd = ptx.global_ptrs(G, X, W, R, DX)
    columns = X.shape[-1]
    offset, lane = _row(columns)
    r = ptx.inst.ld.global_.f32(ptx.addr(pr + reg.from_(ptx.special.ctaid.x(), u32) * 4))
    total = reg.scalar(f32, init=0.0)
    for column in ptx.range_(lane, columns, 32):
        g = ptx.inst.ld.global_.f32(ptx.addr(pg + offset + column * 4))
        x = ptx.inst.ld.global_.f32(ptx.addr(px + offset + column * 4))
        w = ptx.inst.ld.global_.f32(ptx.addr(pw + column * 4))
        total += g * w * x
    ptx.warp.reduce_sum(total)
    for column in ptx.range_(lane, columns, 32):
        at = offset + column * 4
        g = ptx.inst.ld.global_.f32(ptx.addr(pg + at))
        x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
        w = ptx.inst.ld.global_.f32(ptx.addr(pw + column * 4))
        ptx.inst.st.global_.f32(ptx.addr(pd + at), g * w * r - x * r * r * total * 2.0)


@kernel(
    in_specs=(Tile("*B", "N", f32), Tile("*B", "N", f32), Tile("*B", f32)),
    out_specs=(Tile("N", f32, sum_over="B"),),
    grid=lambda B, N: (ptx.cdiv(N, 32) * min(B, 1), 1, 1),
    block=32,
    arch="auto",
    parallel=("B",),
)
def weight_gradient(G, X, R, DW):
    """DW = the sum of G * X * R over all rows."""
    pg, px, pr, pd = ptx.global_ptrs(G, X, R, DW)
    columns = X.shape[-1]
    first = reg.from_(ptx.special.ctaid.x(), u32) * 32
    column = first + ptx.inst.cvt.u64.u32(reg.from_(ptx.special.tid.x(), u32))
    with ptx.if_(column < columns):
        total = reg.scalar(f32, init=0.0)
        for row in ptx.range_(X.shape[0]):
            at = row * (columns * 4) + column * 4
            g = ptx.inst.ld.global_.f32(ptx.addr(pg + at))
            x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
            total += g * x * ptx.inst.ld.global_.f32(ptx.addr(pr + row * 4))
        ptx.inst.st.global_.f32(ptx.addr(pd + column * 4), total)


@sequence(
    in_specs=(Tile("*B", "N", f32), Tile("N", f32)),
    out_specs=(Tile("*B", "N", f32), Tile("N", f32, sum_over="B")),
    parallel=("B",),
)
def twice(x, w):
    """z = normalise(normalise(x, w), w), and a sum over rows; the value between is scratch."""
    y, _ = normalise(x, w)
    z, r = normalise(y, w)
    return z, weight_gradient(y, z, r)


@kernel(
    in_specs=(Tile("B", 32, f32), Tile("C", 32, f32)),
    out_specs=(Tile("B", "C", f32),),
    grid=lambda B, C: (B, C, 1),
    block=32,
    arch="auto",
    parallel=("B", "C"),
)
def products(X, Y, Z):
    """Z = X @ Y.T: two parallel dimensions."""
    px, py, pz = ptx.global_ptrs(X, Y, Z)
    i, j = (reg.from_(r(), u32) for r in (ptx.special.ctaid.x, ptx.special.ctaid.y))
    lane = reg.from_(ptx.special.tid.x(), u32)
    x = ptx.inst.ld.global_.f32(ptx.addr(px + i * 128 + lane * 4))
    y = ptx.inst.ld.global_.f32(ptx.addr(py + j * 128 + lane * 4))
    total = x * y
    ptx.warp.reduce_sum(total)
    with ptx.if_(lane == 0):
        at = ptx.inst.cvt.u64.u32(i) * Y.shape[0] + ptx.inst.cvt.u64.u32(j)
        ptx.inst.st.global_.f32(ptx.addr(pz + at * 4), total)


@kernel(
    in_specs=(Tile("B", 32, f32),),
    out_specs=(Tile("B", 32, f32),),
    grid=lambda B: (B, 1, 1),
    block=32,
    arch="auto",
    parallel=("B",),
    input_output_aliases={0: 0},
)
def double(X, Y):
    """Y = X + X in place, row by row."""
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.ctaid.x(), u32) * 128 + reg.from_(ptx.special.tid.x(), u32) * 4
    x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
    ptx.inst.st.global_.f32(ptx.addr(py + at), x + x)


@kernel(
    in_specs=(Tile("B", 64, f32), Tile(64, f32)),
    out_specs=(Tile("B", 64, f32),),
    grid=lambda B: (B, 2, 2),
    block=16,
    arch="auto",
    parallel=("B",),
)
def add_row(X, W, Y):
    """Y = X + W; its grid uses all axes, so nothing is left to batch W over."""
    px, pw, py = ptx.global_ptrs(X, W, Y)
    chunk = reg.from_(ptx.special.ctaid.y(), u32) * 2 + reg.from_(ptx.special.ctaid.z(), u32)
    column = chunk * 16 + ptx.inst.cvt.u64.u32(reg.from_(ptx.special.tid.x(), u32))
    at = reg.from_(ptx.special.ctaid.x(), u32) * 256 + column * 4
    x = ptx.inst.ld.global_.f32(ptx.addr(px + at))
    w = ptx.inst.ld.global_.f32(ptx.addr(pw + column * 4))
    ptx.inst.st.global_.f32(ptx.addr(py + at), x + w)
