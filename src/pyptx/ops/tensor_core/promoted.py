"""A warpgroup that multiplies with block scales: a stage's sums come to registers of their own.

A stage has 128 of K, which is what a scale is for. Its products are summed by the tensor cores,
multiplied by their scales and added to the tile's sums in f32. Meanwhile the tensor cores work for
the other warpgroup. Blocks of 64 rows take the same registers for a stage's sums in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from pyptx import Reg, ptx, reg
from pyptx.ops.tensor_core.mainloop import Consumer, Sums
from pyptx.ops.tensor_core.scales import Scales, promote
from pyptx.ops.tensor_core.schedule import Place, Schedule, low
from pyptx.ops.tensor_core.shape import ROWS
from pyptx.types import f32, u32


@dataclass(frozen=True)
class Promoting(Consumer):
    """The same with the scales of A and B."""

    scales: Scales

    def run(self, schedule: Schedule) -> None:
        """All items of this CTA."""
        total, part = (
            [list(reg.wgmma_frag(n=self.shape.columns, dtype=f32)) for _ in range(count)]
            for count in (self.shape.blocks, 1)
        )
        for register in part[0]:
            register.set(0.0)
        state = self.ring.consumer()
        with schedule.walk() as item:
            place = schedule.place(item)
            block = reg.from_(item.first, u32)
            end = item.first + item.steps
            for register in (r for sums in total for r in sums):
                register.set(0.0)
            scales = [
                reg.from_(scale, f32)
                for scale in self._scales(self._loads(place, block, block < end))
            ]
            for _ in ptx.range_(0, item.steps, dtype=u32):
                self.ring.wait(state)
                self._stage(state, total, part, scales, place, block, end)
                block += 1
                state.advance()
            for i, sums in enumerate(total):
                self.finish(item, place, i, sums)

    def _stage(
        self, state: Any, total: Sums, part: Sums, scales: list[Reg], place: Place, block: Reg,
        end: Reg,
    ) -> None:  # fmt: skip
        """Add the products of a stage to `total`; `scales` become those of the next stage."""
        following: list[Reg] = []
        for i, sums in enumerate(total):
            self._multiply(part * len(total), state.stage, [i], add=False)
            if i == 0:
                following = self._loads(place, block + 1, block + 1 < end)
            columns: Sequence[Sequence[Reg]] = ()
            if self.scales.by_column:
                columns = self.scales.pairs(place.matrix, self._columns(place), block)
            ptx.wgmma.wait_group(0)
            if i == len(total) - 1:
                self.ring.release(state, pred=self.lane == 0)
            promote(sums, part[0], scales[2 * i : 2 * i + 2], columns)
        for mine, its in zip(scales, self._scales(following), strict=True):
            mine.set(its)

    def _loads(self, place: Place, block: Reg, there: Reg) -> list[Reg]:
        """A's scales of each of this thread's rows, and B's where all columns have one."""
        warp, within = self.lane >> 5, self.lane & 31
        top = place.row + low(self.group, ROWS * self.shape.blocks)
        top = top + ((warp << 4) + (within >> 2))
        rows = [top + (ROWS * i + 8 * half) for i in self._blocks for half in range(2)]
        found = self.scales.rows(place.matrix, rows, block, there)
        if not self.scales.by_column:
            found.append(self.scales.whole(place.matrix, place.column, block, there))
        return found

    def _scales(self, loads: Sequence[Reg]) -> list[Reg]:
        """What sums of each row are multiplied by."""
        if self.scales.by_column:
            return list(loads)
        *rows, whole = loads
        return [ptx.inst.mul.rn.f32(row, whole) for row in rows]

    def _columns(self, place: Place) -> list[Reg]:
        left = place.column + ((self.lane & 3) << 1)
        return [left + 8 * j for j in range(self.shape.columns // 8)]


def promoting(consumer: Consumer, scales: Scales) -> Consumer:
    """The same warpgroup with these scales."""
    return Promoting(**{f.name: getattr(consumer, f.name) for f in fields(consumer)}, scales=scales)
