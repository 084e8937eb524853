"""Kernels that the tests of PyTorch share, here and on a GPU."""

from pyptx import Scalar, Tile, kernel, ptx, reg, sequence
from pyptx.types import bf16, f32, u32


def _position(X):
    row = reg.from_(ptx.special.ctaid.x(), u32)
    column = ptx.inst.mad.lo.u32(
        reg.from_(ptx.special.ctaid.y(), u32), 128, reg.from_(ptx.special.tid.x(), u32)
    )
    return row, column, column < X.shape[1]


@kernel(
    in_specs=(Tile("B", "N", f32), Tile("N", f32)),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B, N: (B, ptx.cdiv(N, 128)),
    block=128,
    arch="auto",
    parallel=("B",),
)
def product(X, W, Y):
    row, column, inside = _position(X)
    with ptx.if_(inside):
        Y[row, column] = X[row, column] * W[column]


@kernel(
    in_specs=(Tile("B", "N", f32), Scalar(f32)),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B, N: (B, ptx.cdiv(N, 128)),
    block=128,
    arch="auto",
)
def scale(X, factor, Y):
    row, column, inside = _position(X)
    with ptx.if_(inside):
        Y[row, column] = X[row, column] * factor


@kernel(
    in_specs=(Tile("B", 128, bf16),),
    out_specs=(Tile("B", 128, bf16),),
    grid=lambda B: (B, 1, 1),
    block=16,
    arch="auto",
    parallel=("B",),
)
def copied(X, Y):
    """Rows in pieces of 16 bytes, which is what their addresses have to be multiples of."""
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.ctaid.x(), u32) * 256 + reg.from_(ptx.special.tid.x(), u32) * 16
    piece = reg.array(u32, 4)
    ptx.inst.ld.global_.v4.u32([piece[i] for i in range(4)], ptx.addr(px + at))
    ptx.inst.st.global_.v4.u32(ptx.addr(py + at), [piece[i] for i in range(4)])


@kernel(
    in_specs=(Tile(128, f32),),
    out_specs=(Tile(128, f32),),
    block=128,
    arch="auto",
    input_output_aliases={0: 0},
)
def increment(X, Y):
    i = reg.from_(ptx.special.tid.x(), u32)
    Y[i] = X[i] + 1.0


@kernel(
    in_specs=(Tile("B", 32, f32),),
    out_specs=(Tile(32, f32, sum_over="B"),),
    grid=lambda B: (min(B, 1), 1, 1),
    block=32,
    arch="auto",
    parallel=("B",),
)
def total(X, S):
    column = reg.from_(ptx.special.tid.x(), u32)
    sum_ = reg.scalar(f32, init=0.0)
    for row in ptx.range_(0, X.shape[0]):
        sum_ += X[row, column]
    S[column] = sum_


@sequence(
    in_specs=(Tile("B", "N", f32), Tile("N", f32)),
    out_specs=(Tile("B", "N", f32),),
    parallel=("B",),
)
def twice(X, W):
    return product(product(X, W), W)
