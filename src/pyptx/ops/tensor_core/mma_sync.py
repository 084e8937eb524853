"""A matrix product by `mma.sync`, for every GPU from Ampere on.

A CTA makes 128 by 128 of D with eight warps, 64 by 32 each. Tiles of A and B come to shared memory
by `cp.async`, three stages deep, and from there to registers by `ldmatrix`. Where two matrices B
are multiplied, a CTA makes 128 by 64 of D: of the 32 columns that a warp multiplies, the first 16
are those of one matrix, and the others the same of the other.

A stage has 64 bytes along K. Elements of other than 16 bits have K last in both factors: `ldmatrix`
transposes 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from pyptx import Kernel, Reg, SharedTile, Tensor, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.tensor_core import arrays
from pyptx.ops.tensor_core.elements import Elements, store_pair
from pyptx.ops.tensor_core.ragged import Groups
from pyptx.ops.tensor_core.scales import Scales, promote
from pyptx.ops.tensor_core.schedule import low
from pyptx.ops.tensor_core.shape import BLOCK, Major, Product
from pyptx.types import u32

Loaded: TypeAlias = "tuple[Sequence[Reg], Sequence[Sequence[Reg]]]"
"""Scales of a stage: of rows, and of columns."""
TILE: Final = 128
"""Rows and columns of D that a CTA makes."""
SPAN: Final = 64
"""Bytes along K in a stage."""
STAGES: Final = 3
WARPS: Final = 8
ROWS: Final = 64
COLUMNS: Final = 32
STEP: Final = 32
"""Bytes that one `mma.sync` multiplies along K."""
CHUNK: Final = 16
"""Bytes that one `cp.async` copies, and that a matrix of `ldmatrix` has in a row."""


def build(product: Product) -> Kernel:
    """The kernel of A, B, and the epilogue's arrays to D, of any type that targets multiply.

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

    @property
    def bytes(self) -> int:
        """Of an element."""
        return self.tile.dtype.bytes

    def copy(self, stage: Reg, k_first: Reg, thread: Reg) -> None:
        """Start this thread's copies: zeros are written for what is beyond the matrix."""
        depth = SPAN // self.bytes
        wide, high = (depth, TILE) if self.k_major else (TILE, depth)
        across = wide * self.bytes // CHUNK
        along, down = low(thread & (across - 1), CHUNK // self.bytes), thread // across
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
        """Four matrices: 16 lines by 32 bytes of K, in the order that `mma.sync` takes them."""
        inner, one, other = lane & 7, (lane >> 3) & 1, lane >> 4
        # A's registers go over rows first, B's over K first.
        down, along = (one, other) if is_a else (other, one)
        if self.k_major:
            first = low(along, CHUNK // self.bytes) + k
            place = self.tile[stage].address(line + (down << 3) + inner, first)
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
    depth = SPAN // product.a.bytes
    read, write = ptx.pipeline(STAGES), ptx.pipeline(STAGES)
    fetched = reg.from_(part.first, u32)

    def fetch() -> None:
        with ptx.if_(fetched < sizes.k):
            for operand in (a, b):
                operand.copy(write.stage, fetched, thread)
        ptx.cp.async_.commit_group()
        write.advance()
        fetched.set(fetched + depth)

    sums = [
        [reg.mma_frag("d", shape=block_of(product), dtype=product.sum) for _ in range(COLUMNS // 8)]
        for _ in range(ROWS // 16)
    ]
    for register in (r for line in sums for block in line for r in block):
        register.set(0)
    for _ in range(STAGES - 1):
        fetch()
    multiply = _Multiply(product, sums, (a, b), (row, column), lane)
    scales = None
    if product.blocks is not None:
        scales = Scales(product, sizes, named["A_SCALE"], named["B_SCALE"])
    for k in ptx.range_(part.first, sizes.k, depth, dtype=u32):
        loaded: Loaded | None = ([], []) if product.promoted else None
        if scales is not None:
            loaded = multiply.scales(scales, (top, left), matrix, k)
        ptx.cp.async_.wait_group(STAGES - 2)  # this stage has come, later ones may be under way
        ptx.bar.sync()  # for all threads, and all have used the stage before
        fetch()
        if loaded is None:
            multiply.add(read.stage)
        else:
            multiply.promote(read.stage, loaded)
        read.advance()
    ptx.cp.async_.wait_all()
    elements = Elements(product, sizes, operands, named.get("AMAX"))
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
        tile = smem.alloc(dtype, (STAGES, TILE, SPAN // dtype.bytes), swizzle="64B")
    else:
        tile = smem.alloc(dtype, (STAGES, SPAN // dtype.bytes, TILE), swizzle="128B")
    return Operand(tensors, tile, major == "K", batched, *lines, sizes.k, matrix)


def block_of(product: Product) -> tuple[int, int, int]:
    """Rows, columns and values of K of one `mma.sync`."""
    return 16, 8, STEP // product.a.bytes


@dataclass(frozen=True, slots=True)
class _Multiply:
    """The products of a stage, by a warp; `at` are its first row and column in the CTA's tile.

    `sums` has blocks of 16 by 8 in lines of 32 columns.
    """

    product: Product
    sums: Sequence[Sequence[Any]]
    factors: tuple[Operand, Operand]
    at: tuple[Reg, Reg]
    lane: Reg

    @property
    def _steps(self) -> range:
        size = self.product.a.bytes
        return range(0, SPAN // size, STEP // size)

    def add(self, stage: Reg) -> None:
        """Add them. What `ldmatrix` brings is used for a whole row of blocks."""
        for k in self._steps:
            held = [self._rows(stage, i, k) for i in range(0, ROWS, 16)]
            for j in range(0, COLUMNS, 16):
                pair = self._columns(stage, j, k)
                for line, own in zip(self.sums, held, strict=True):
                    for i in range(2):
                        block = line[j // 8 + i]
                        self._one(block, own, pair[2 * i : 2 * i + 2], block)

    def promote(self, stage: Reg, scales: Loaded) -> None:
        """Add them times their scales: those of `rows`, two for each line, and of `columns`."""
        rows, columns = scales
        zero = [reg.scalar(self.product.sum, init=0) for _ in range(4)]
        columns_of = {
            j: [self._columns(stage, j, k) for k in self._steps] for j in range(0, COLUMNS, 16)
        }
        for n, line in enumerate(self.sums):
            own = [self._rows(stage, 16 * n, k) for k in self._steps]
            for place, total in enumerate(line):
                part = reg.mma_frag("d", shape=block_of(self.product), dtype=self.product.sum)
                before: Any = zero
                first = place % 2 * 2
                for values, pair in zip(own, columns_of[place // 2 * 16], strict=True):
                    self._one(part, values, pair[first : first + 2], before)
                    before = part
                own_rows = rows[2 * n : 2 * n + 2]
                promote(total, list(part), own_rows, (), columns[place : place + 1])

    def scales(self, scales: Scales, corner: tuple[Reg, Reg], matrix: list[Reg], k: Reg) -> Loaded:
        """What `promote` takes, for the stage from this value of K on of the tile at `corner`."""
        block = k // BLOCK
        down, right = self.sums[0][0].origin(self.lane)
        top, left = corner[0] + self.at[0] + down, corner[1] + self.at[1] + right
        there = k < scales.sizes.k
        lines = [top + (16 * i + 8 * half) for i in range(ROWS // 16) for half in range(2)]
        rows = scales.rows(matrix, lines, block, there)
        if scales.by_column:
            columns = [left + 8 * j for j in range(COLUMNS // 8)]
            return rows, scales.pairs(matrix, columns, block)
        whole = scales.whole(matrix, corner[1], block, there)
        return [ptx.inst.mul.rn.f32(row, whole) for row in rows], []

    def _rows(self, stage: Reg, i: int, k: int) -> Sequence[Reg]:
        return self.factors[0].load(stage, self.at[0] + i, k, self.lane, is_a=True)

    def _columns(self, stage: Reg, j: int, k: int) -> Sequence[Reg]:
        return self.factors[1].load(stage, self.at[1] + j, k, self.lane, is_a=False)

    def _one(self, d: Any, a: Sequence[Reg], b: Sequence[Reg], c: Any) -> None:
        product = self.product
        kind_a, kind_b = product.kinds
        ptx.mma.sync(
            shape=block_of(product), dtype_d=product.sum, dtype_a=kind_a, dtype_b=kind_b,
            dtype_c=product.sum, d=d, a=a, b=b, c=c,
        )  # fmt: skip


def _store(
    product: Product, results: Sequence[Tensor], sums: Any, at: tuple[Reg, Reg],
    elements: Elements, matrix: list[Reg],
) -> None:  # fmt: skip
    """Two neighbours of a row at a time."""
    lane = reg.from_(ptx.special.laneid(), u32)
    down, right = sums[0][0].origin(lane)
    down += at[0]
    right += at[1]
    sizes, each = elements.sizes, COLUMNS // 8 // product.factors
    for i, line in enumerate(sums):
        rows = [down + (16 * i + 8 * half) for half in range(2)]
        for j in range(each):
            column = right + 8 * j
            found = elements.apply(matrix, rows, column, [list(b) for b in line[j::each]])
            for tensor, numbers in zip(results, found, strict=True):
                for half, row in enumerate(rows):
                    there = (row < sizes.m) & (column < sizes.n)
                    own = numbers[2 * half : 2 * half + 2]
                    store_pair(tensor, [*matrix, row, column], own, there)
        elements.put_amax(matrix, rows, lane, sizes.m)
