"""The arrays of an epilogue in a kernel: what a thread reads of them at the places of its sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyptx import Reg, Tensor, ptx, reg
from pyptx.ops.tensor_core.arrays import Sizes
from pyptx.ops.tensor_core.shape import Product
from pyptx.types import DType, bf16, bf16x2, e4m3, e5m2, f16, f16x2, s32, u32

PACKED: Final = {bf16: bf16x2, f16: f16x2}
"""Two neighbours in one register."""


@dataclass(frozen=True)
class Elements:
    """`operands` are the epilogue's arrays of rows, of columns and of elements, in this order."""

    product: Product
    sizes: Sizes
    operands: Sequence[Tensor]
    amax: Tensor | None = None
    largest: dict[int, Reg] = field(default_factory=dict[int, Reg])
    """Of what `apply` has been called for since `put_amax`: by the place in `rows`."""

    def apply(
        self,
        matrix: list[Reg],
        rows: Sequence[Reg],
        column: Reg,
        sums: Sequence[Sequence[Reg]],
    ) -> list[list[Reg]]:
        """The elements of each result: at `column`, which is even, and every eighth after it, two
        neighbours of each of `rows`. `sums` has those of each matrix B in this order, and so do the
        results.
        """
        epilogue = self.product.epilogue
        if self._converted:
            sums = [[ptx.inst.cvt.rn.f32.s32(value) for value in total] for total in sums]
        if epilogue is None:
            return [list(total) for total in sums]
        of_rows = [self._of_row(matrix, row) for row in rows]
        columns = self._parts(self._columns, matrix, column)
        elements = [self._parts(self._elements, matrix, row, column) for row in rows]
        found: list[list[Reg]] = [[] for _ in range(1 + len(epilogue.results) + epilogue.amax)]
        for across in range(len(sums[0]) // (2 * len(rows))):
            inside = column + 8 * across < self.sizes.n
            of_columns = [part.pair(8 * across, inside) for part in columns]
            for down, row in enumerate(rows):
                there = inside & (row < self.sizes.m) if self._elements else inside
                of_elements = [part.pair(8 * across, there) for part in elements[down]]
                for i in range(2):
                    at = 2 * (across * len(rows) + down) + i
                    others = (pair[i] for pair in (*of_columns, *of_elements))
                    values = epilogue.values(
                        [total[at] for total in sums], [*of_rows[down], *others]
                    )
                    for result, value in zip(found, values, strict=True):
                        result.append(value)
                    if epilogue.amax:
                        self._greater(down, inside, values[-1])
        return found[:-1] if epilogue.amax else found

    def _greater(self, down: int, there: Reg, value: Reg) -> None:
        """Beyond D infinity is multiplied by zeros."""
        size = ptx.inst.selp.f32(ptx.inst.abs.f32(value), 0.0, there)
        before = self.largest.get(down)
        self.largest[down] = size if before is None else ptx.inst.max.NaN.f32(before, size)

    def put_amax(self, matrix: list[Reg], rows: Sequence[Reg], lane: Reg, end: Reg) -> None:
        """Join what `apply` has seen of rows with the rows' results. Four lanes have a row each.

        As integers, what is not negative is ordered as the numbers are, and NaN is the largest.
        """
        if self.amax is None:
            return
        for down, row in enumerate(rows):
            bits = ptx.inst.mov.b32(reg.scalar(u32), self.largest[down])
            largest = ptx.warp.reduce_max(bits, width=4)
            there = (row < end) & ((lane & 3) == 0)
            place = self.amax.address(*(matrix if self.product.batched else []), row)
            ptx.inst.red.relaxed.gpu.global_.max.u32(place, largest, pred=there)
        self.largest.clear()

    @property
    def needed(self) -> bool:
        """Whether sums are other numbers than elements of D before they are rounded."""
        return self.product.epilogue is not None or self._converted

    @property
    def _converted(self) -> bool:
        return self.product.sum is s32 and self.product.d is not s32

    def _part(self, first: int, count: int) -> list[tuple[Tensor, bool]]:
        """Some of the arrays, and whether each has a matrix of its own for each of D's."""
        chosen = slice(first, first + count)
        return list(zip(self.operands[chosen], self.product.operand_batches[chosen], strict=True))

    @property
    def _rows(self) -> list[tuple[Tensor, bool]]:
        epilogue = self.product.epilogue
        return [] if epilogue is None else self._part(0, len(epilogue.rows))

    @property
    def _columns(self) -> list[tuple[Tensor, bool]]:
        epilogue = self.product.epilogue
        return [] if epilogue is None else self._part(len(epilogue.rows), len(epilogue.columns))

    @property
    def _elements(self) -> list[tuple[Tensor, bool]]:
        epilogue = self.product.epilogue
        if epilogue is None:
            return []
        return self._part(len(epilogue.rows) + len(epilogue.columns), len(epilogue.elements))

    def _of_row(self, matrix: list[Reg], row: Reg) -> list[Reg]:
        found: list[Reg] = []
        for tensor, batched in self._rows:
            there = row < self.sizes.m  # of another group's rows too: they are not stored
            before = matrix if batched else []
            found += ptx.to_f32(tensor.load(*before, row, pred=there, other=0.0))
        return found

    def _parts(
        self, arrays: Sequence[tuple[Tensor, bool]], matrix: list[Reg], *index: Reg
    ) -> list[_Part]:
        """The arrays from an element on: what follows is at constant distances."""
        before = [matrix if batched else [] for _, batched in arrays]
        return [
            _Part(tensor.at(*lead, *index), tensor.dtype, len(lead) + len(index))
            for (tensor, _), lead in zip(arrays, before, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class _Part:
    """An array from an element on."""

    elements: Any
    dtype: DType
    rank: int

    def pair(self, distance: int, there: Reg) -> list[Reg]:
        """Two neighbours in its last axis, f32. Rows of D are whole 16 bytes: either is there."""
        place = [*[0] * (self.rank - 1), distance]
        packed = PACKED.get(self.dtype)
        if packed is not None:
            return ptx.to_f32(self.elements.load(*place, dtype=packed, pred=there, other=0.0))
        pair = self.elements.load(*place, vector=2, pred=there, other=0.0)
        return [number for value in pair for number in ptx.to_f32(value)]


def store_eights(
    tensor: Tensor,
    matrix: Sequence[Reg],
    start: tuple[Reg, Reg],
    values: Sequence[Reg],
    ends: tuple[Reg, Reg],
) -> None:
    """Store a thread's numbers of `wgmma`: from a row and a column on, two neighbours of that row
    and of the eighth after it, of every eighth column. `ends` are the first row and column that are
    not there.
    """
    (top, left), (bottom, right) = start, ends
    for i in range(0, len(values), 4):
        column = left + 2 * i if i else left
        for half in range(2):
            row = top + 8 * half if half else top
            there = (row < bottom) & (column < right)
            store_pair(
                tensor, [*matrix, row, column], values[i + 2 * half : i + 2 * half + 2], there
            )


def store_pair(tensor: Tensor, index: Sequence[Reg], pair: Sequence[Reg], there: Reg) -> None:
    """Store two neighbours of a row, rounded to the tensor's type."""
    dtype = tensor.dtype
    if dtype in (e4m3, e5m2):
        packed = ptx.inst[f"cvt.rn.satfinite.{dtype}x2.f32"](pair[1], pair[0])
        ptx.inst.st.global_.b16(tensor.address(*index), packed, pred=there)
        return
    values = list(pair) if dtype is s32 else [ptx.from_f32(value, dtype) for value in pair]
    tensor.store(*index, values, pred=there)
