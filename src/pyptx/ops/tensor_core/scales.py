"""Block scales in a kernel: what a thread reads of them, and sums that are multiplied by them.

Tensor cores add 8-bit products with few bits. The sums of 128 of K are multiplied by their scales
and added up in f32 registers, so that the error does not grow with K.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyptx import Reg, Tensor, ptx, reg
from pyptx.ops.tensor_core.arrays import Sizes
from pyptx.ops.tensor_core.shape import BLOCK, Product
from pyptx.types import f32

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

    def _of_columns(self, matrix: list[Reg], column: Reg) -> Reg:
        """Whether there is this column of B; rows after all groups have no matrix of it."""
        inside = column < self.sizes.n
        if self.product.ragged is None:
            return inside
        return inside & (matrix[0] < int(self.of_b.shape[0]))

    def whole(self, matrix: list[Reg], column: Reg, block: Reg, there: Reg) -> Reg:
        """That of a column, and of all in its block, for a block of K."""
        before = matrix if self.product.batches[1] else []
        inside = there & self._of_columns(matrix, column)
        return self.of_b.load(*before, block, column // BLOCK, pred=inside, other=0.0)

    def path(
        self, matrix: list[Reg], rows: Sequence[Reg], columns: Sequence[Reg], block: Reg
    ) -> Path:
        """Those of these rows of A and of these columns' blocks of B, from a block of K on."""
        of_a = matrix if self.product.batches[0] else []
        of_b = matrix if self.product.batches[1] else []
        places = [_address(self.of_a, *of_a, row, block) for row in rows]
        there = [row < self.sizes.m for row in rows]
        places += [_address(self.of_b, *of_b, block, column // BLOCK) for column in columns]
        there += [self._of_columns(matrix, column) for column in columns]
        step = ptx.inst.cvt.u32.u64(self.of_b.shape[-1] * f32.bytes) if columns else None
        return Path(places, there, len(rows), step)

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
                    pred=self._of_columns(matrix, column),
                    other=0.0,
                )
            )
            for column in columns
        ]


@dataclass(frozen=True, slots=True)
class Path:
    """Where a thread finds its scales of a tile, of one block of K after the other.

    places   addresses of those of the next block: of `rows` rows of A, then of columns of B
    there    whether there are such rows and columns
    step     bytes between B's of two blocks, if it has any here
    """

    places: list[Reg]
    there: list[Reg]
    rows: int
    step: Reg | None

    def load(self, ahead: int, there: Reg) -> list[Reg]:
        """Those of a block so many ahead, f32; 0 where `there`, or the row or column, is not."""
        found: list[Reg] = []
        for i, (place, inside) in enumerate(zip(self.places, self.there, strict=True)):
            scale = reg.scalar(f32, init=0.0)
            if i < self.rows:
                where = ptx.addr(place, f32.bytes * ahead)
            else:
                where = ptx.addr(self._along(place, ahead))
            ptx.inst.ld.global_.f32(scale, where, pred=there & inside)
            found.append(scale)
        return found

    def go_on(self, count: int) -> None:
        """To a later block of K."""
        for i, place in enumerate(self.places):
            if i < self.rows:
                place.set(place + f32.bytes * count)
            else:
                place.set(self._along(place, count))

    def _along(self, place: Reg, count: int) -> Reg:
        """Of B, so many blocks further."""
        assert self.step is not None
        return place + self.step * count if count else place


def _address(tensor: Tensor, *index: Reg) -> Reg:
    """The global address of a scale, u64."""
    (pointer,) = ptx.global_ptrs(tensor)
    at = ptx.inst.cvt.u64.u32(index[0])
    for size, each in zip(tensor.shape[1:], index[1:], strict=True):
        at = ptx.inst.mad.lo.u64(at, size, ptx.inst.cvt.u64.u32(each))
    return ptx.inst.mad.lo.u64(at, f32.bytes, pointer)


def count_of_wholes(columns: int) -> int:
    """How many scales a tile's columns have, if all of a block have one: of each 64, where a tile
    may begin within a block."""
    return 1 if BLOCK % columns == 0 else columns // HALF


def promote(
    total: Sequence[Reg],
    part: Sequence[Reg],
    rows: Sequence[Reg],
    wholes: Sequence[Reg],
    columns: Sequence[Sequence[Reg]],
) -> None:
    """Add a part of the sums, times its scales: of each 8 columns 2 in one row, 2 eight below.

    `rows` are the scales of both rows, or none. `columns` has those of each two columns, or none;
    `wholes` those of equal parts of the columns then.
    """
    if not rows:
        for mine, its in zip(total, part, strict=True):
            mine.set(ptx.inst.add.rn.f32(mine, its))
        return
    each = len(total) // max(1, len(wholes))
    both = list(rows)
    for i in range(0, len(total), 4):
        if wholes and i % each == 0:  # made where they are used: registers are scarce
            both = [ptx.inst.mul.rn.f32(row, wholes[i // each]) for row in rows]
        for j in range(4):
            own = both[j // 2]
            if columns:
                own = ptx.inst.mul.rn.f32(own, columns[i // 4][j % 2])
            total[i + j].set(ptx.inst.fma.rn.f32(part[i + j], own, total[i + j]))
