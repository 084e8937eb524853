"""Sums of a tile of which each CTA of a cluster has made a part of K, added up where they are.

A CTA puts its sums into its shared memory, and adds up those of all CTAs for its part of the tile's
columns. Compared with `workspace`, nothing goes through global memory, there are no flags to clear,
and the launch is not cooperative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyptx import Reg, SharedTile, Tensor, ptx, reg, smem
from pyptx.ops.rowwise.vectors import PIECE
from pyptx.ops.tensor_core.elements import Elements, store_eights
from pyptx.ops.tensor_core.schedule import Place, low
from pyptx.ops.tensor_core.shape import ROWS, WARPGROUP, Product, Shape, first_sum
from pyptx.types import u32

EACH: Final = 4
"""Of a thread's sums: those of 8 columns and 64 rows."""


def parts(shape: Shape, factors: int) -> int:
    """Groups of 8 columns of a matrix B's sums that each CTA of a cluster adds up."""
    return shape.columns // (8 * factors * shape.clustered)


def fits(shape: Shape, product: Product) -> bool:
    """Whether the CTAs of a cluster can divide a tile's columns, and each has one block of rows."""
    each = parts(shape, product.factors) * 8 * product.factors * shape.clustered
    plain = shape.blocks == 1 and not shape.split and not shape.pingpong
    return plain and product.ragged is None and each == shape.columns


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """The results of a tile, by the CTAs of its cluster; `rank` is this CTA's."""

    results: Sequence[Tensor]
    product: Product
    shape: Shape
    elements: Elements
    rank: Reg
    held: SharedTile

    @staticmethod
    def of(
        results: Sequence[Tensor], product: Product, shape: Shape, elements: Elements, rank: Reg
    ) -> ClusterSums:
        """With room for a CTA's sums in shared memory."""
        numbers = ROWS * shape.columns // (WARPGROUP * EACH)
        room = (shape.groups, numbers, WARPGROUP, EACH)
        held = smem.alloc(product.sum, room, align=PIECE)
        return ClusterSums(results, product, shape, elements, rank, held)

    def write(self, place: Place, group: Reg, lane: Reg, values: Sequence[Reg]) -> None:
        """Add up and write a part of the columns; all threads that multiply in the cluster.

        Those that fetch have ended, or do so without waiting for these.
        """
        kind = self.product.sum.name
        for i in range(0, len(values), EACH):
            where = self.held.address(group, i // EACH, lane, 0)
            ptx.inst[f"st.shared.v4.{kind}"](where, list(values[i : i + EACH]))
        ptx.cluster.arrive()
        ptx.cluster.wait()
        own = [self._total(factor, group, lane) for factor in range(self.product.factors)]
        ptx.cluster.arrive()  # others may end: nothing more is read from them
        self._store(place, group, lane, own)
        ptx.cluster.wait()

    def _total(self, factor: int, group: Reg, lane: Reg) -> list[Reg]:
        """The sums of this CTA's columns of a matrix B, of all parts of K in their order."""
        count = parts(self.shape, self.product.factors)
        first = low(self.rank, count) + factor * count * self.shape.clustered
        if self.shape.groups > 1:
            first = first + low(group, self.held.shape[1])
        piece = EACH * self.product.sum.bytes
        mine = ptx.inst.mad.lo.u32(low(first, WARPGROUP) + lane, piece, reg.from_(self.held, u32))
        kind, size = self.product.sum.name, piece * WARPGROUP
        add = ptx.inst["add.rn.f32" if kind == "f32" else f"add.{kind}"]
        total: list[Reg] = []
        for rank in range(self.shape.clustered):
            there = ptx.cluster.map_shared_rank(mine, rank)
            found: list[Reg] = []
            for i in range(count):
                four = [reg.scalar(self.product.sum) for _ in range(EACH)]
                ptx.inst[f"ld.shared::cluster.v4.{kind}"](four, ptx.addr(there, i * size))
                found += four
            total = [add(a, b) for a, b in zip(total, found, strict=True)] if total else found
        return total

    def _store(self, place: Place, group: Reg, lane: Reg, sums: Sequence[Sequence[Reg]]) -> None:
        """Make the elements of every result of these sums, and write them."""
        matrix = place.matrix if self.product.batched else []
        end = self.shape.end(place.row, self.elements.sizes.m)
        row = place.row + low(group, ROWS) if self.shape.groups > 1 else place.row
        below, beside = first_sum(lane)
        top = row + below
        first = low(self.rank, 8 * parts(self.shape, self.product.factors))
        column = place.column + first + beside
        found = self.elements.apply(place.matrix, (top, top + 8), column, sums)
        self.elements.put_amax(place.matrix, (top, top + 8), lane, end)
        for tensor, numbers in zip(self.results, found, strict=True):
            store_eights(tensor, matrix, (top, column), numbers, (end, self.elements.sizes.n))
