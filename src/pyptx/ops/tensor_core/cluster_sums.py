"""Sums of a tile of which each CTA of a cluster has made a part of K.

A CTA sends its sums to the CTAs that add them up, each for a part of the tile's columns: into their
shared memory, where an mbarrier counts what has come. Compared with `workspace`, nothing goes
through global memory, there are no flags to clear, and the launch is not cooperative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from pyptx import Mbarrier, Reg, SharedTile, Tensor, ptx, reg, smem
from pyptx.ops.rowwise.vectors import PIECE
from pyptx.ops.tensor_core.elements import Elements, store_eights
from pyptx.ops.tensor_core.schedule import Place, low
from pyptx.ops.tensor_core.shape import ROWS, WARPGROUP, Product, Shape, first_sum

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
    received: SharedTile
    """[warpgroups, CTAs of the cluster, pieces, threads, numbers of a piece]"""
    arrived: Mbarrier

    @staticmethod
    def of(
        results: Sequence[Tensor], product: Product, shape: Shape, elements: Elements, rank: Reg
    ) -> ClusterSums:
        """With room for a CTA's sums in shared memory."""
        pieces = ROWS * shape.columns // (WARPGROUP * EACH * shape.clustered)
        room = (shape.groups, shape.clustered, pieces, WARPGROUP, EACH)
        received = smem.alloc(product.sum, room, align=PIECE)
        arrived = smem.mbarrier(1)[0]
        return ClusterSums(results, product, shape, elements, rank, received, arrived)

    def init(self) -> None:
        """Make the mbarrier, one thread; then all threads of the cluster have to arrive."""
        self.arrived.init(1)

    def write(self, place: Place, group: Reg, lane: Reg, values: Sequence[Reg]) -> None:
        """Add up and write a part of the columns; all threads that multiply in the cluster.

        A thread gets the sums of the same columns that the same thread of each CTA has made.
        """
        # Barriers of the cluster around loads from other CTAs would wait twice for all of memory.
        with ptx.if_((group | lane) == 0):
            size = math.prod(self.received.shape) * self.product.sum.bytes
            self.arrived.arrive_expect_tx(size // WARPGROUP * self._threads)
        ptx.cluster.wait()  # all CTAs run, and their mbarriers are made
        with ptx.if_(lane < self._threads) if self.shape.is_low else nullcontext():
            for rank in range(self.shape.clustered):
                self._send(rank, group, lane, values)
            self.arrived.wait(0, cluster=True)
            self._store(place, group, lane, self._totals(group, lane))

    @property
    def _threads(self) -> int:
        """Threads of a warpgroup whose sums are of rows that a tile has."""
        return WARPGROUP * min(self.shape.rows, ROWS) // ROWS

    def _send(self, rank: int, group: Reg, lane: Reg, values: Sequence[Reg]) -> None:
        """Give a CTA the sums of its columns of each matrix B."""
        count = parts(self.shape, self.product.factors)
        mine = self.received.address(group, self.rank, 0, lane, 0)
        there = ptx.cluster.map_shared_rank(mine, rank)
        bar = ptx.addr(ptx.cluster.map_shared_rank(self.arrived, rank))
        for factor in range(self.product.factors):
            first = (factor * self.shape.clustered + rank) * count
            for i in range(count):
                place = ptx.addr(there, (factor * count + i) * self._piece)
                four = values[(first + i) * EACH : (first + i + 1) * EACH]
                ptx.inst.st.async_.shared__cluster.mbarrier__complete_tx__bytes.v4.b32(
                    place, list(four), bar
                )

    @property
    def _piece(self) -> int:
        """Bytes from a piece of a thread to its next one."""
        return EACH * self.product.sum.bytes * WARPGROUP

    def _totals(self, group: Reg, lane: Reg) -> list[list[Reg]]:
        """The sums of this CTA's columns of each matrix B, of all parts of K in their order."""
        kind, pieces = self.product.sum.name, self.received.shape[2]
        add = ptx.inst["add.rn.f32" if kind == "f32" else f"add.{kind}"]
        mine = self.received.address(group, 0, 0, lane, 0)
        total: list[Reg] = []
        for rank in range(self.shape.clustered):
            found: list[Reg] = []
            for i in range(pieces):
                four = [reg.scalar(self.product.sum) for _ in range(EACH)]
                offset = (rank * pieces + i) * self._piece
                ptx.inst[f"ld.shared.v4.{kind}"](four, ptx.addr(mine, offset))
                found += four
            total = [add(a, b) for a, b in zip(total, found, strict=True)] if total else found
        each = len(total) // self.product.factors
        return [total[i : i + each] for i in range(0, len(total), each)]

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
