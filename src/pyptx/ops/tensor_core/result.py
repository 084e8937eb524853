"""D: from the registers of a warpgroup through shared memory to global memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyptx import Layout, Reg, SharedTile, Tensor, ptx, smem
from pyptx.ops.tensor_core.elements import Elements, store_eights
from pyptx.ops.tensor_core.operands import HALF, ends_with_half, is_turned
from pyptx.ops.tensor_core.schedule import Place, low
from pyptx.ops.tensor_core.shape import ROWS, SPAN, Product, Shape, barrier_of, first_sum
from pyptx.types import DType, bf16, f16


@dataclass(frozen=True, slots=True)
class Panel:
    """64 rows of a result, 128 bytes wide: its first column in the tile, and a thread's numbers."""

    result: int
    column: int | Reg
    values: Sequence[Reg]


_SWIZZLES: Final = {32: ("32B", Layout.TMA_32B), 64: ("64B", Layout.TMA_64B)}
"""Of rows of so many bytes in shared memory."""
_TOGETHER: Final = 64
"""Columns of a tile that are added up together, if a panel has not more."""


class Results:
    """What a warpgroup has made is copied by its thread 0, while the next tile is multiplied.

    D is first, then the further results of the epilogue.
    """

    def __init__(
        self, tensors: Sequence[Tensor], product: Product, shape: Shape, elements: Elements
    ) -> None:
        self.product, self.shape, self.elements = product, shape, elements
        self.tensors = tensors
        self.batched = product.batched
        self.types = [tensor.dtype for tensor in tensors]
        widest = min(self.types, key=lambda dtype: dtype.bytes)
        self.unit = SPAN // widest.bytes
        first = self.types[0]
        held = smem.alloc(
            first, (shape.groups * shape.panels, ROWS, SPAN // first.bytes), swizzle="128B"
        )
        self.held: list[SharedTile] = [held.view(dtype) for dtype in self.types]
        self.maps: list[Any] = []
        self.rest: SharedTile | None = None
        """Of a warpgroup, the last panel of a tile whose columns are no whole panels."""
        self.left = shape.columns // product.factors % self.unit
        """Columns beside whole panels, of a tile with one result of 16 bits."""
        self.describe()

    def describe(self) -> None:
        """Make the tensor maps."""
        for tensor, tile in zip(self.tensors, self.held, strict=True):
            self._map(tensor, tile.shape[-1], Layout.TMA_128B)
        if self.left:
            first = self.types[0]
            swizzle, layout = _SWIZZLES.get(self.left * first.bytes, (None, Layout.ROW))
            panels = self.shape.groups, ROWS, self.left
            self.rest = smem.alloc(first, panels, swizzle=swizzle, align=None if swizzle else SPAN)
            self._map(self.tensors[0], self.left, layout)

    def _map(self, tensor: Tensor, columns: int, layout: Layout) -> None:
        """The tensor map of a result, in boxes of a panel."""
        box = min(self.shape.rows, ROWS), columns
        self.maps.append(tensor.tma_desc((*((1,) * self.batched), *box), layout=layout))

    def units(self, values: Sequence[Reg]) -> list[list[range]]:
        """What of a thread's sums of a block is written together: of each matrix B as many."""
        own = len(values) // self.product.factors
        each = max(_TOGETHER, self.unit) // 2
        return [
            [range(i + j, i + min(j + each, own)) for i in range(0, len(values), own)]
            for j in range(0, own, each)
        ]

    def write(
        self, place: Place, block: int, group: Reg, lane: Reg, values: Sequence[Reg],
        unit: int | None = None, follows: Reg | None = None,
    ) -> None:  # fmt: skip
        """Write a block of a tile, or a unit of its columns: `values` are a warpgroup's sums of 64
        rows.

        Units are written from left to right; `follows` says whether the one before was, too.
        """
        parts = self.units(values)
        first, end = (0, len(parts)) if unit is None else (unit, unit + 1)
        part = range(parts[first][0].start, parts[end - 1][0].stop)
        row = place.row
        if self.shape.per_tile > 1:
            row = row + low(group, ROWS * self.shape.blocks)
        row = row + ROWS * block if block else row
        if place.end is None:
            self._copied(place, row, group, lane, values, part, unit or 0, follows)
            return
        with ptx.if_(row + ROWS <= place.end):
            self._copied(place, row, group, lane, values, part, unit or 0, follows)
        with ptx.else_():
            self._stored(place, row, lane, values, part)

    def _stored(
        self, place: Place, row: Reg, lane: Reg, values: Sequence[Reg], part: range
    ) -> None:
        """Rows of a tile that the next group has a part of: a box would have its rows, too."""
        sizes, end = self.elements.sizes, place.end
        assert end is not None
        matrix = place.matrix if self.batched else []
        first, beside = first_sum(lane)
        top, left = row + first, place.column + beside
        for panel in self._panels(place, row, lane, values, part):
            start = top, left + panel.column
            ends = end, sizes.n
            store_eights(self.tensors[panel.result], matrix, start, panel.values, ends)

    def _copied(
        self, place: Place, row: Reg, group: Reg, lane: Reg, values: Sequence[Reg], part: range,
        unit: int, follows: Reg | None,
    ) -> None:  # fmt: skip
        """64 rows, by copies of boxes."""
        barrier, held = barrier_of(group), self.shape.panels
        panels = self._panels(place, row, lane, values, part)
        left = self._panels_of(len(part))
        at_once = max(1, held // self._panels_of(len(self.units(values)[0][0])))
        """Units that have shared memory of their own."""
        first, turn = low(group, held), unit % at_once * (held // at_once)
        first = first + turn if turn else first
        while left > 0:
            with ptx.if_(lane == 0):
                if follows is None or at_once == 1:
                    ptx.cp.async_.bulk.wait_group(0, read=True)
                else:
                    ptx.cp.async_.bulk.wait_group(at_once - 1, read=True)
                    with ptx.if_(~follows):
                        ptx.cp.async_.bulk.wait_group(0, read=True)
            barrier.sync()
            some = [next(panels) for _ in range(min(left, held))]
            left -= len(some)
            for i, panel in enumerate(some):
                self._store(panel, *self._place_of(panel, first + i, group), lane)
            ptx.fence.proxy_async("shared::cta")
            barrier.sync()
            with ptx.if_(lane == 0):
                for i, panel in enumerate(some):
                    self._copy(panel, *self._place_of(panel, first + i, group), row, place)
                ptx.cp.async_.bulk.commit_group()

    def _panels_of(self, count: int) -> int:
        """How many panels so many of a thread's sums are, those of every result."""
        return -(-2 * count // self.unit) * sum(self._each(dtype) for dtype in self.types)

    def _each(self, dtype: Any) -> int:
        """Panels of a unit of columns, as wide as a panel of the narrowest type."""
        return self.unit * dtype.bytes // SPAN

    def _panels(
        self, place: Place, row: Reg, lane: Reg, values: Sequence[Reg], part: range
    ) -> Iterator[Panel]:
        """The panels of a part of a block, from left to right: of each unit those of every result.

        `part` are the numbers of a thread's sums of one matrix B: it has half of the columns.
        """
        factors = self.product.factors
        own = len(values) // factors
        sums = [values[i * own : (i + 1) * own] for i in range(factors)]
        first, beside = first_sum(lane)
        top, left = row + first, place.column + beside
        each = self.unit // 2  # of a thread's numbers: 128 threads have 64 rows
        for begin in part[::each]:
            found = [total[begin : begin + each] for total in sums]
            column = self._column_of(place, 2 * begin)
            if self.elements.needed:
                rows = (top, top + 8)
                found = self.elements.apply(place.matrix, rows, left + column, found)
                self.elements.put_amax(
                    place.matrix, rows, lane, self.shape.end(place.row, self.elements.sizes.m)
                )
            for i, numbers in enumerate(found):
                panels = self._each(self.types[i])
                count = len(numbers) // panels
                for j in range(panels):
                    at = column + j * (self.unit // panels)
                    yield Panel(i, at, numbers[j * count : (j + 1) * count])

    def _column_of(self, place: Place, number: int) -> int | Reg:
        """The column of a tile of its sum of this number in a row: they are in the order in which
        B's columns were fetched (`operands.Boxes`)."""
        columns = self.shape.columns
        if not ends_with_half(columns, self.product.b_major, self.product.b):
            return number
        turned = is_turned(place.column, columns, self.elements.sizes.n)
        there = 0 if number == columns - HALF else number + HALF
        return ptx.inst.selp.u32(there, number, turned)

    def _place_of(self, panel: Panel, slot: Reg, group: Reg) -> tuple[SharedTile, Reg]:
        """The panels of which this one is, and its number; of the rest a warpgroup has one."""
        if self.rest is not None and self._is_rest(panel):
            return self.rest, group
        return self.held[panel.result], slot

    def _is_rest(self, panel: Panel) -> bool:
        """Whether a panel has the columns that are left beside whole ones."""
        return self.left > 0 and 2 * len(panel.values) < self.unit

    def _copy(self, panel: Panel, held: SharedTile, slot: Reg, row: Reg, place: Place) -> None:
        self._copy_box(panel, held[slot], [place.column + panel.column, row], place)

    def _copy_box(self, panel: Panel, held: Any, coord: Sequence[Reg], place: Place) -> None:
        copy = ptx.cp.async_.bulk.tensor_3d if self.batched else ptx.cp.async_.bulk.tensor_2d
        described = self.maps[-1 if self._is_rest(panel) else panel.result]
        matrix = place.matrix if self.batched else []
        copy.store(dst=described, src=held, coord=[*coord, *matrix])

    def _store(self, panel: Panel, held: SharedTile, slot: Reg, lane: Reg) -> None:
        """A panel to shared memory: of each 8 columns a thread has 2 in one row, 2 eight below."""
        dtype, values = self.types[panel.result], panel.values
        if dtype in (bf16, f16):
            warp, within = lane >> 5, lane & 31
            row = (warp << 4) + (within & 15)
            for i, packed in _in_fours(dtype, values):
                where = held.address(slot, row, ((within >> 4) << 3) + 4 * i)
                ptx.stmatrix(smem=where, regs=packed, layout=f"x{len(packed)}")
            return
        row, column = first_sum(lane)
        for i in range(0, len(values), 4):
            for half in range(2):
                place = held.address(slot, row + 8 * half, column + 2 * i)
                own = values[i + 2 * half : i + 2 * half + 2]
                if dtype.bits == 32:
                    ptx.inst.st.shared.v2.b32(place, list(own))
                else:  # two numbers of 8 bits
                    packed8 = ptx.inst[f"cvt.rn.satfinite.{dtype}x2.f32"](own[1], own[0])
                    ptx.inst.st.shared.b16(place, packed8)

    def finish(self, lane: Reg) -> None:
        """Wait until the last copies have read: shared memory is theirs until then."""
        with ptx.if_(lane == 0):
            ptx.cp.async_.bulk.wait_group(0, read=True)


class TransposedResults(Results):
    """The same where the kernel makes D^T, of 16 or 32 bits: the 64 rows of a panel are one or two
    times 128 bytes of each row of D."""

    @property
    def width(self) -> int:
        """Rows of D^T that are 128 bytes of a row of D."""
        return SPAN // self.types[0].bytes

    def describe(self) -> None:
        for lines in (self.unit, *((self.left,) * (self.left > 0))):
            box = *((1,) * self.batched), lines, self.width
            self.maps.append(self.tensors[0].tma_desc(box, layout=Layout.TMA_128B))

    def _copy(self, panel: Panel, held: SharedTile, slot: Reg, row: Reg, place: Place) -> None:
        for first in range(0, ROWS, self.width):
            line = first // self.width * self.unit
            coord = [row + first if first else row, place.column + panel.column]
            self._copy_box(panel, held.address(slot, line, 0), coord, place)

    def _store(self, panel: Panel, held: SharedTile, slot: Reg, lane: Reg) -> None:
        """Matrices of 8 by 8 of 16 bits are transposed on their way: lanes have addresses of their
        columns."""
        dtype, values = self.types[panel.result], panel.values
        if dtype.bits == 16:
            warp, within = lane >> 5, lane & 31
            line = ((within >> 4) << 3) + (within & 7)
            across = (warp << 4) + (within & 8)
            for i, packed in _in_fours(dtype, values):
                where = held.address(slot, line + 4 * i, across)
                ptx.stmatrix(smem=where, regs=packed, layout=f"x{len(packed)}", trans=True)
            return
        row, column = first_sum(lane)
        line = low(row >> 5, self.unit) + column
        for i, value in enumerate(values):  # of each 8 columns two in one row, two eight below
            across = (row & 31) + (8 if i & 2 else 0)
            place = held.address(slot, line + (2 * (i & ~3) + (i & 1)), across)
            ptx.inst.st.shared.b32(place, value)


def _in_fours(dtype: DType, values: Sequence[Reg]) -> Iterator[tuple[int, list[Reg]]]:
    """Pairs of neighbours, as many as one `stmatrix` stores, and the number of the first."""
    pack = ptx.inst[f"cvt.rn.{dtype}x2.f32"]
    packed = [pack(values[i + 1], values[i]) for i in range(0, len(values), 2)]
    for i in range(0, len(packed), 4):
        yield i, packed[i : i + 4]
