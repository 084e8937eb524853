"""Block scales in a kernel: what a thread reads of them, and sums that are multiplied by them.

Tensor cores add 8-bit products with few bits. The sums of 128 of K are multiplied by their scales
and added up in f32 registers, so that the error does not grow with K.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pyptx import Reg, Tensor, ptx
from pyptx.ops.tensor_core.arrays import Sizes
from pyptx.ops.tensor_core.shape import BLOCK, Product

HALF: Final = BLOCK // 2


@dataclass(frozen=True)
class Scales:
    """`of_a` is (M, K / 128); `of_b` (K / 128, N / 128) or (K / 128, N), as the product says."""

    product: Product
    sizes: Sizes
    of_a: Tensor
    of_b: Tensor

    @property
    def by_column(self) -> bool:
        """Whether each column of B has its own."""
        return self.product.blocks == "column"

    def rows(self, matrix: list[Reg], rows: Sequence[Reg], block: Reg, there: Reg) -> list[Reg]:
        """Those of these rows of A, for a block of K; 0 where `there` is false, f32."""
        before = matrix if self.product.batches[0] else []
        return [
            self.of_a.load(*before, row, block, pred=there & (row < self.sizes.m), other=0.0)
            for row in rows
        ]

    def has_column(self, matrix: list[Reg], column: Reg) -> Reg:
        """Whether there is this column of B; rows after all groups have no matrix of it."""
        inside = column < self.sizes.n
        if self.product.ragged is None:
            return inside
        return inside & (matrix[0] < int(self.of_b.shape[0]))

    def whole(self, matrix: list[Reg], column: Reg, block: Reg, there: Reg) -> Reg:
        """That of a column, and of all in its block, for a block of K."""
        before = matrix if self.product.batches[1] else []
        inside = there & self.has_column(matrix, column)
        return self.of_b.load(*before, block, column // BLOCK, pred=inside, other=0.0)

    def pairs(self, matrix: list[Reg], columns: Sequence[Reg], block: Reg) -> list[list[Reg]]:
        """Those of each of these columns, which are even, and of the next one."""
        before = matrix if self.product.batches[1] else []
        return [
            list(
                self.of_b.load(
                    *before,
                    block,
                    column,
                    vector=2,
                    pred=self.has_column(matrix, column),
                    other=0.0,
                )
            )
            for column in columns
        ]


def count_of_wholes(columns: int) -> int:
    """How many scales a tile's columns have, if all of a block have one: of each 64, where a tile
    may begin within a block."""
    return 1 if BLOCK % columns == 0 else columns // HALF


def promote(
    total: Sequence[Reg],
    part: Sequence[Reg],
    rows: Sequence[Reg],
    wholes: Sequence[Reg],
    columns: Iterable[Sequence[Reg]],
) -> None:
    """Add a part of the sums, times its scales: of each 8 columns 2 in one row, 2 eight below.

    `rows` are the scales of both rows, or none. `columns` has those of each two columns, or none;
    `wholes` those of equal parts of the columns then.
    """
    if not rows:
        for mine, its in zip(total, part, strict=True):
            ptx.inst.add.rn.f32(mine, mine, its)
        return
    each = len(total) // max(1, len(wholes))
    both, pairs = list(rows), iter(columns)
    for i in range(0, len(total), 4):
        if wholes and i % each == 0:  # made where they are used: registers are scarce
            both = [ptx.inst.mul.rn.f32(row, wholes[i // each]) for row in rows]
        pair = next(pairs, None)
        for j in range(4):
            own = both[j // 2]
            if pair is not None:
                own = ptx.inst.mul.rn.f32(own, pair[j % 2])
            ptx.inst.fma.rn.f32(total[i + j], part[i + j], own, total[i + j])
