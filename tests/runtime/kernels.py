"""Small kernels that the tests of running share; subprocesses import this file too."""

from pyptx import Scalar, Tile, kernel, ptx, reg
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
