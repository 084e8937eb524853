"""The arrays of an epilogue in a kernel: what a thread reads of them at the places of its sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pyptx import Reg, Tensor, ptx, reg
from pyptx.ops.tensor_core.arrays import Sizes
from pyptx.ops.tensor_core.shape import Product
from pyptx.types import e4m3, e5m2, s32, u32


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
        columns: Sequence[Reg],
        sums: Sequence[Sequence[Reg]],
    ) -> list[list[Reg]]:
        """The elements of each result: for each of `columns` and `rows` two neighbours of a row.

        `columns` are even; `sums` has the sums of each matrix B, in the order of the results.
        """
        epilogue = self.product.epilogue
        if self._converted:
            sums = [[ptx.inst.cvt.rn.f32.s32(value) for value in total] for total in sums]
        if epilogue is None:
            return [list(total) for total in sums]
        of_rows = [self._of_row(matrix, row) for row in rows]
        found: list[list[Reg]] = [[] for _ in range(1 + len(epilogue.results) + epilogue.amax)]
        place = 0
        for column in columns:
            of_columns = self._of_pair(self._columns, matrix, (), column < self.sizes.n, column)
            for down, (row, of_row) in enumerate(zip(rows, of_rows, strict=True)):
                there = (column < self.sizes.n) & (row < self.sizes.m) if self._elements else None
                of_elements = self._of_pair(self._elements, matrix, (row,), there, column)
                for i in range(2):
                    operands = (*of_row, *of_columns[i], *of_elements[i])
                    values = epilogue.values([total[place] for total in sums], operands)
                    for result, value in zip(found, values, strict=True):
                        result.append(value)
                    if epilogue.amax:
                        self._greater(down, column < self.sizes.n, values[-1])
                    place += 1
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

    def _of_pair(
        self, arrays: Sequence[tuple[Tensor, bool]], matrix: list[Reg], row: tuple[Reg, ...],
        there: Reg | None, column: Reg,
    ) -> list[list[Reg]]:  # fmt: skip
        """What two neighbours have of arrays; rows of D are whole 16 bytes: either has both."""
        found: list[list[Reg]] = [[], []]
        for tensor, batched in arrays:
            before = matrix if batched else []
            pair: Iterator[Reg] = iter(
                tensor.load(*before, *row, column, vector=2, pred=there, other=0.0)
            )
            for own, value in zip(found, pair, strict=True):
                own.extend(ptx.to_f32(value))
        return found


def store_pair(tensor: Tensor, index: Sequence[Reg], pair: Sequence[Reg], there: Reg) -> None:
    """Store two neighbours of a row, rounded to the tensor's type."""
    dtype = tensor.dtype
    if dtype in (e4m3, e5m2):
        packed = ptx.inst[f"cvt.rn.satfinite.{dtype}x2.f32"](pair[1], pair[0])
        ptx.inst.st.global_.b16(tensor.address(*index), packed, pred=there)
        return
    values = list(pair) if dtype is s32 else [ptx.from_f32(value, dtype) for value in pair]
    tensor.store(*index, values, pred=there)
