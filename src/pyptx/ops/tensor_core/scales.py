"""Numbers that rows and columns of D are multiplied by, before D is rounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyptx import Reg, Tensor, ptx
from pyptx.ops.tensor_core.arrays import Sizes
from pyptx.ops.tensor_core.schedule import Place, low
from pyptx.ops.tensor_core.shape import ROWS, Product, Shape


@dataclass(frozen=True, slots=True)
class Scales:
    """Those of the rows and of the columns: f32, batched as A and B are."""

    rows: Tensor
    columns: Tensor
    product: Product
    shape: Shape
    sizes: Sizes

    def apply(
        self, place: Place, block: int, group: Reg, lane: Reg, values: Sequence[Reg]
    ) -> list[Reg]:
        """The sums of 64 rows, multiplied: a thread has 2 columns of 8, in 2 rows 8 apart."""
        warp, within = lane >> 5, lane & 31
        row = place.row + low(group, ROWS * self.shape.blocks) + ROWS * block
        row = row + (warp << 4) + (within >> 2)
        column = place.column + ((within & 3) << 1)
        before_a = place.matrix if self.product.a_batched else []
        before_b = place.matrix if self.product.b_batched else []
        of_rows = [
            self.rows.load(*before_a, row + 8 * half, pred=row + 8 * half < self.sizes.m, other=1.0)
            for half in range(2)
        ]
        found: list[Reg] = []
        for i in range(0, len(values), 4):
            at = column + 2 * i
            there = at < self.sizes.n  # rows of D are whole 16 bytes: so is the next column
            of_columns = self.columns.load(*before_b, at, vector=2, pred=there, other=1.0)
            for half, of_row in enumerate(of_rows):
                for j, of_column in enumerate(of_columns):
                    value = ptx.inst.mul.rn.f32(values[i + 2 * half + j], of_row)
                    found.append(ptx.inst.mul.rn.f32(value, of_column))
        return found
