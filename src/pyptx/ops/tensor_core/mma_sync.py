"""A matrix product by `mma.sync`, for every GPU from Ampere on.

A CTA makes 128 by 128 of D with eight warps, 64 by 32 each. Tiles of A and B come to shared memory
by `cp.async`, three stages deep, and from there to registers by `ldmatrix`. Where two matrices B
are multiplied, a CTA makes 128 by 64 of D: of the 32 columns that a warp multiplies, the first 16
are those of one matrix, and the others the same of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pyptx import Kernel, Reg, SharedTile, Tensor, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.tensor_core import arrays
from pyptx.ops.tensor_core.elements import Elements
from pyptx.ops.tensor_core.ragged import Groups
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
    """The kernel of A, B, and the epilogue's arrays to D, for factors of 16-bit types.

    Rows of A, B and D are multiples of 16 bytes.
    """

    def matmul(*tensors: Tensor) -> None:
        program(product, tensors)

    return arrays.kernel_of(
        product,
        matmul,
        grid=arrays.tiles(product, TILE, TILE),
        block=32 * WARPS,
        arch="auto",
        name="matmul_mma_sync",
    )


@dataclass(frozen=True, slots=True)
class Operand:
    """A or B in shared memory, and what a thread copies of it for a stage."""

    tensors: Sequence[Tensor]
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
        across = wide // CHUNK
        along, down = low(thread & (across - 1), CHUNK), thread // across
        before = self.matrix if self.batched else []
        for i in range(0, high, 32 * WARPS // across):
            inside = down + i
            line, k = (inside, k_first + along) if self.k_major else (along, k_first + inside)
            which, place = self._of(line)
            at = self.first + place
            there = (at < self.lines) & (k < self.k)
            size = ptx.inst.selp.u32(16, 0, there)
            # An address inside the matrix, where nothing is read too.
            at, k = (ptx.inst.selp.u32(each, 0, there) for each in (at, k))
            index = (at, k) if self.k_major else (k, at)
            target = self.tile[stage].address(inside, along)
            first, *second = [tensor.address(*before, *index) for tensor in self.tensors]
            if which is None:
                ptx.cp.async_.cg(target, first, src_size=size)
                continue
            with ptx.if_(which):
                ptx.cp.async_.cg(target, second[0], src_size=size)
            with ptx.else_():
                ptx.cp.async_.cg(target, first, src_size=size)

    def _of(self, line: Reg) -> tuple[Reg | None, Reg]:
        """Of a line of the tile: whether it is the second matrix's, and which of the CTA's."""
        if len(self.tensors) == 1:
            return None, line
        half = COLUMNS // 2
        return (line & half) != 0, low(line // COLUMNS, half) + (line & (half - 1))

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


def program(product: Product, tensors: Sequence[Tensor]) -> None:
    """The kernel's body."""
    names = arrays.names(product)
    named = dict(zip(names, tensors, strict=True))
    results = [named[name] for name in names if name.startswith("D")]
    operands = [named[name] for name in names if name.startswith("E")]
    factors = [named[name] for name in "BC" if name in named]
    width = TILE // product.factors
    sizes = arrays.sizes(product, named["A"], results[0])
    thread = reg.from_(ptx.special.tid.x(), u32)
    part = _part(product, sizes, width, named.get("GROUPS"), thread)
    top, left, matrix, sizes = part.top, part.left, part.matrix, part.sizes
    a = _operand([named["A"]], product.a_major, product.a_batched, (top, sizes.m), sizes, matrix)
    b = _operand(factors, product.b_major, product.b_batched, (left, sizes.n), sizes, matrix)
    warp, lane = thread >> 5, thread & 31
    row, column = warp >> 2 << 6, (warp & 3) << 5  # where this warp's part begins
    read, write = ptx.pipeline(STAGES), ptx.pipeline(STAGES)
    fetched = reg.from_(part.first, u32)

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
    for _ in ptx.range_(part.first, sizes.k, DEPTH, dtype=u32):
        ptx.cp.async_.wait_group(STAGES - 2)  # this stage has come, later ones may be under way
        ptx.bar.sync()  # for all threads, and all have used the stage before
        fetch()
        _multiply(product, sums, (a, b), read.stage, (row, column), lane)
        read.advance()
    ptx.cp.async_.wait_all()
    elements = Elements(product, sizes, operands)
    at = top + row, left + column // product.factors
    _store(product, results, sums, at, elements, matrix if product.batched else [])


@dataclass(frozen=True, slots=True)
class Part:
    """What a CTA makes: where it begins, the matrix of a batch or group, and its first value of K.

    `sizes` has where rows of D and values of K end: those of the group, where there are groups.
    """

    top: Reg
    left: Reg
    matrix: list[Reg]
    first: Reg
    sizes: arrays.Sizes


def _part(
    product: Product, sizes: arrays.Sizes, width: int, lengths: Tensor | None, thread: Reg
) -> Part:
    across = (sizes.n + (width - 1)) // width
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    none = reg.scalar(u32, init=0)
    groups = None
    if lengths is not None:
        groups = Groups(lengths, sizes.m if product.ragged == "M" else sizes.k, TILE)
        with ptx.if_(thread < WARP):
            groups.fill(thread)
        ptx.bar.sync()
    down = cta // across
    left = low(cta - low(down, across), width)
    if groups is not None and product.ragged == "M":
        with ptx.if_(down >= groups.all_tiles):
            ptx.ret()
        group = groups.find(down)
        top = groups.before(groups.ends, group)
        top += low(down - groups.before(groups.tiles, group), TILE)
        # Rows after all groups are sums of nothing.
        there = group < groups.count
        k = ptx.inst.selp.u32(sizes.k, 0, there)
        own = replace(sizes, m=groups.ends[group], k=k)
        return Part(top, left, [ptx.inst.selp.u32(group, 0, there)], none, own)
    matrix: list[Reg] = []
    if product.batched:
        rows = (sizes.m + (TILE - 1)) // TILE
        matrix = [down // rows]
        down = down - low(matrix[0], rows)
    top = low(down, TILE)
    if groups is None:
        return Part(top, left, matrix, none, sizes)
    first, end = groups.before(groups.ends, matrix[0]), groups.ends[matrix[0]]
    return Part(top, left, matrix, first, replace(sizes, k=end))


def _operand(
    tensors: Sequence[Tensor], major: Major, batched: bool, lines: tuple[Reg, Reg],
    sizes: arrays.Sizes, matrix: list[Reg],
) -> Operand:  # fmt: skip
    """A, or B once or twice, from this line on of as many; a stage is one swizzle wide or two."""
    dtype = tensors[0].dtype
    if major == "K":
        tile = smem.alloc(dtype, (STAGES, TILE, DEPTH), swizzle="64B")
    else:
        tile = smem.alloc(dtype, (STAGES, DEPTH, TILE), swizzle="128B")
    return Operand(tensors, tile, major == "K", batched, *lines, sizes.k, matrix)


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
    product: Product, results: Sequence[Tensor], sums: Any, at: tuple[Reg, Reg],
    elements: Elements, matrix: list[Reg],
) -> None:  # fmt: skip
    """Two neighbours of a row at a time."""
    down, right = sums[0][0].origin(reg.from_(ptx.special.laneid(), u32))
    down += at[0]
    right += at[1]
    sizes, each = elements.sizes, COLUMNS // 8 // product.factors
    for i, line in enumerate(sums):
        rows = [down + (16 * i + 8 * half) for half in range(2)]
        for j in range(each):
            column = right + 8 * j
            found = elements.apply(matrix, rows, [column], [list(b) for b in line[j::each]])
            for tensor, numbers in zip(results, found, strict=True):
                for half, row in enumerate(rows):
                    there = (row < sizes.m) & (column < sizes.n)
                    own = numbers[2 * half : 2 * half + 2]
                    values = [ptx.from_f32(v, tensor.dtype) for v in own]
                    tensor.store(*matrix, row, column, values, pred=there)
