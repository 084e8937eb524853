"""A matrix product by `mma.sync`, for every GPU from Ampere on.

A CTA makes 128 by 128 of D with eight warps, 64 by 32 each. Tiles of A and B come to shared memory
by `cp.async`, three stages deep, and from there to registers by `ldmatrix`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyptx import Kernel, Reg, SharedTile, Tensor, ptx, reg, smem
from pyptx.ops.tensor_core import arrays
from pyptx.ops.tensor_core.schedule import low
from pyptx.ops.tensor_core.shape import Major, Product
from pyptx.types import f32, u32

TILE: Final = 128
"""Rows and columns of D that a CTA makes."""
DEPTH: Final = 32
"""Values of K in a stage."""
STAGES: Final = 3
WARPS: Final = 8
ROWS: Final = 64
COLUMNS: Final = 32
BLOCK: Final = (16, 8, 16)
BYTES: Final = 2
"""Of an element that there are kernels for."""
CHUNK: Final = 8
"""Values that one copy of 16 bytes has."""


def build(product: Product) -> Kernel:
    """The kernel of A, B to D for 16-bit types. Rows of A, B and D are multiples of 16 bytes."""

    def matmul(A: Tensor, B: Tensor, D: Tensor) -> None:
        program(product, A, B, D)

    return arrays.kernel_of(
        product,
        matmul,
        grid=(f"cdiv(N, {TILE}) * cdiv(M, {TILE})", "G" if product.batched else 1),
        block=32 * WARPS,
        arch="auto",
        name="matmul_mma_sync",
    )


@dataclass(frozen=True, slots=True)
class Operand:
    """A or B in shared memory, and what a thread copies of it for a stage."""

    tensor: Tensor
    tile: SharedTile
    k_major: bool
    batched: bool
    first: Reg
    """The CTA's first row of A, or column of B."""
    lines: Reg
    """Rows of A, or columns of B, that there are."""
    k: Reg
    matrix: list[Reg]

    def copy(self, stage: Reg, k_first: Reg, thread: Reg) -> None:
        """Start this thread's copies: zeros are written for what is beyond the matrix."""
        wide, high = (DEPTH, TILE) if self.k_major else (TILE, DEPTH)
        bounds = (self.lines, self.k) if self.k_major else (self.k, self.lines)
        begin = (self.first, k_first) if self.k_major else (k_first, self.first)
        across = wide // CHUNK
        along, down = low(thread & (across - 1), CHUNK), thread // across
        before = self.matrix if self.batched else []
        for i in range(0, high, 32 * WARPS // across):
            row, column = begin[0] + down + i, begin[1] + along
            there = (row < bounds[0]) & (column < bounds[1])
            size = ptx.inst.selp.u32(16, 0, there)
            # An address inside the matrix, where nothing is read too.
            row = ptx.inst.selp.u32(row, 0, there)
            column = ptx.inst.selp.u32(column, 0, there)
            source = self.tensor.address(*before, row, column)
            place = self.tile[stage].address(down + i, along)
            ptx.cp.async_.cg(place, source, src_size=size)

    def load(self, stage: Reg, line: Reg, k: int, lane: Reg, *, is_a: bool) -> Sequence[Reg]:
        """Four 8 by 8 matrices: 16 lines by 16 of K, in the order that `mma.sync` takes them."""
        inner, first, second = lane & 7, (lane >> 3) & 1, lane >> 4
        # A's registers go over rows first, B's over K first.
        down, along = (first, second) if is_a else (second, first)
        if self.k_major:
            place = self.tile[stage].address(line + (down << 3) + inner, (along << 3) + k)
            return list(ptx.ldmatrix(src=place))
        place = self.tile[stage].address((along << 3) + inner + k, line + (down << 3))
        return list(ptx.ldmatrix(src=place, trans=True))


def program(product: Product, A: Tensor, B: Tensor, D: Tensor) -> None:
    """The kernel's body."""
    sizes = arrays.sizes(product, A, D)
    thread = reg.from_(ptx.special.tid.x(), u32)
    across = (sizes.n + (TILE - 1)) // TILE
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    top_tile = cta // across
    top = low(top_tile, TILE)
    left = low(cta - low(top_tile, across), TILE)
    matrix = [reg.from_(ptx.special.ctaid.y(), u32)] if product.batched else []
    a = _operand(A, product.a_major, product.a_batched, (top, sizes.m), sizes, matrix)
    b = _operand(B, product.b_major, product.b_batched, (left, sizes.n), sizes, matrix)
    warp, lane = thread >> 5, thread & 31
    row, column = warp >> 2 << 6, (warp & 3) << 5  # where this warp's part begins
    read, write = ptx.pipeline(STAGES), ptx.pipeline(STAGES)
    fetched = reg.scalar(u32, init=0)

    def fetch() -> None:
        with ptx.if_(fetched < sizes.k):
            for operand in (a, b):
                operand.copy(write.stage, fetched, thread)
        ptx.cp.async_.commit_group()
        write.advance()
        fetched.set(fetched + DEPTH)

    sums = [
        [reg.mma_frag("d", shape=BLOCK, dtype=f32) for _ in range(COLUMNS // 8)]
        for _ in range(ROWS // 16)
    ]
    for register in (r for line in sums for block in line for r in block):
        register.set(0.0)
    for _ in range(STAGES - 1):
        fetch()
    for _ in ptx.range_(0, sizes.k, DEPTH, dtype=u32):
        ptx.cp.async_.wait_group(STAGES - 2)  # this stage has come, later ones may be under way
        ptx.bar.sync()  # for all threads, and all have used the stage before
        fetch()
        _multiply(product, sums, (a, b), read.stage, (row, column), lane)
        read.advance()
    ptx.cp.async_.wait_all()
    _store(product, D, sums, (top + row, left + column), sizes, matrix)


def _operand(
    tensor: Tensor, major: Major, batched: bool, lines: tuple[Reg, Reg], sizes: arrays.Sizes,
    matrix: list[Reg],
) -> Operand:  # fmt: skip
    """A or B, from this line on of as many; a stage is as wide as one swizzle or two."""
    if major == "K":
        tile = smem.alloc(tensor.dtype, (STAGES, TILE, DEPTH), swizzle="64B")
    else:
        tile = smem.alloc(tensor.dtype, (STAGES, DEPTH, TILE), swizzle="128B")
    return Operand(tensor, tile, major == "K", batched, *lines, sizes.k, matrix)


def _multiply(
    product: Product, sums: Any, operands: Sequence[Operand], stage: Reg, at: tuple[Reg, Reg],
    lane: Reg,
) -> None:  # fmt: skip
    """Add the products of a stage. What `ldmatrix` brings is used for a whole row of blocks."""
    a, b = operands
    types: dict[str, Any] = {
        "shape": BLOCK, "dtype_d": f32, "dtype_a": product.a, "dtype_b": product.b, "dtype_c": f32
    }  # fmt: skip
    for k in range(0, DEPTH, 16):
        held = [a.load(stage, at[0] + i, k, lane, is_a=True) for i in range(0, ROWS, 16)]
        for j in range(0, COLUMNS, 16):
            pair = b.load(stage, at[1] + j, k, lane, is_a=False)
            for line, own in zip(sums, held, strict=True):
                for block, other in ((line[j // 8], pair[:2]), (line[j // 8 + 1], pair[2:])):
                    ptx.mma.sync(d=block, a=own, b=other, c=block, **types)


def _store(
    product: Product, D: Tensor, sums: Any, at: tuple[Reg, Reg], sizes: arrays.Sizes,
    matrix: list[Reg],
) -> None:  # fmt: skip
    """Two neighbours of a row at a time."""
    down, right = sums[0][0].origin(reg.from_(ptx.special.laneid(), u32))
    down += at[0]
    right += at[1]
    for i, line in enumerate(sums):
        for half in range(2):
            row = down + (16 * i + 8 * half)
            for j, block in enumerate(line):
                column = right + 8 * j
                there = (row < sizes.m) & (column < sizes.n)
                values = [ptx.from_f32(v, product.d) for v in block[2 * half : 2 * half + 2]]
                D.store(*matrix, row, column, values, pred=there)
