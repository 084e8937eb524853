"""A warpgroup that adds a stage's sums in f32 registers: with block scales, or to round them.

Tensor cores truncate sums, those of 8-bit products to few bits. Here they sum the products of a
stage alone, in registers of their own. Those sums are added to the tile's in f32, rounded to
nearest; before that they are multiplied by block scales, where there are any: a stage has 128 of K,
which is what a scale is for. Meanwhile the tensor cores work for the other warpgroup: where there
are two, they multiply by turns, because both would have to wait for products that both have begun.
Blocks of 64 rows take the same registers for a stage's sums in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from typing import Any, Final

from pyptx import Reg, ptx, reg
from pyptx.ops.tensor_core.mainloop import Consumer, Sums
from pyptx.ops.tensor_core.scales import HALF, Scales, count_of_wholes, promote
from pyptx.ops.tensor_core.schedule import Place, Schedule, low
from pyptx.ops.tensor_core.shape import ROWS, turn_of
from pyptx.types import f32, u32

AHEAD: Final = 2
"""Stages whose scales are loaded at a time, while as many stages before them are multiplied: a load
takes longer than a stage."""


@dataclass(frozen=True)
class Promoting(Consumer):
    """The same with the scales of A and B, where there are any."""

    scales: Scales | None

    def run(self, schedule: Schedule) -> None:
        """All items of this CTA."""
        total, part = (
            [list(reg.wgmma_frag(n=self.shape.columns, dtype=f32)) for _ in range(count)]
            for count in (self.shape.blocks, 1)
        )
        for register in part[0]:
            register.set(0.0)
        state = self.ring.consumer()
        if self._by_two:
            with ptx.if_(self.group > 0):
                turn_of(1 - self.group).arrive()
        with schedule.walk() as item:
            left = self.left_of(item)
            place = schedule.place(item)
            block = reg.from_(item.first, u32)
            end = item.first + item.steps
            # CTAs that divide K may have stages beyond it, which are zeros and have no scales.
            beyond = self.shape.cluster == "depth"
            there = ptx.inst.min.u32(end, schedule.steps) if beyond else end
            for register in (r for sums in total for r in sums):
                register.set(0.0)
            scales = [[reg.from_(x, f32) for x in own] for own in self._loads(place, block, there)]
            with ptx.while_(lambda: block < end):
                following: list[list[Reg]] = []

                def load() -> None:
                    following.extend(self._loads(place, block + AHEAD, there))

                for i, own in enumerate(scales):
                    with ptx.if_(block < end) if i else nullcontext():
                        self.wait(state, left)
                        known = ptx.inst.min.u32(block, schedule.steps - 1) if beyond else block
                        self._stage(state, total, part, own, place, known, None if i else load)
                        block += 1
                        state.advance()
                for own, next_own in zip(scales, following, strict=True):
                    for mine, its in zip(own, next_own, strict=True):
                        mine.set(its)
            for i, sums in enumerate(total):
                self.finish(item, place, i, sums)
        if self._by_two:
            with ptx.if_(self.group == 0):
                turn_of(self.group).sync()  # the other's last turn has given it to this one

    @property
    def _by_two(self) -> bool:
        return self.shape.groups == 2

    def _multiply(self, part: Sums, stage: Reg, block: int) -> None:
        """The products of a stage for a block, once the other warpgroup has begun its own."""
        if self._by_two:
            turn_of(self.group).sync()
        self.multiply(part, stage, [block], add=False)
        if self._by_two:
            turn_of(1 - self.group).arrive()

    def _stage(
        self, state: Any, total: Sums, part: Sums, scales: Sequence[Reg], place: Place, block: Reg,
        load: Callable[[], None] | None,
    ) -> None:  # fmt: skip
        """Add the products of a stage to `total`; `load` runs while they are made."""
        for i, sums in enumerate(total):
            self._multiply(part * len(total), state.stage, i)
            if i == 0 and load is not None:
                load()
            rows, whole, columns = self._factors(scales, i, place, block)
            ptx.wgmma.wait_group(0)
            if i == len(total) - 1:
                self.ring.release(state, pred=self.lane == 0)
            promote(sums, part[0], rows, whole, columns)

    def _loads(self, place: Place, first: Reg, end: Reg) -> list[list[Reg]]:
        """What a thread has of the scales of each of the next stages, from this one on."""
        if self.scales is None:
            return [[]]
        return [self._of_stage(self.scales, place, first + i, end) for i in range(AHEAD)]

    def _of_stage(self, scales: Scales, place: Place, block: Reg, end: Reg) -> list[Reg]:
        """A's scales of each of this thread's rows, then B's where columns of a block have one."""
        warp, within = self.lane >> 5, self.lane & 31
        top = place.row + low(self.group, ROWS * self.shape.blocks)
        top = top + ((warp << 4) + (within >> 2))
        there = block < end
        rows = [top + (ROWS * i + 8 * half) for i in range(self.shape.blocks) for half in range(2)]
        found = scales.rows(place.matrix, rows, block, there)
        if not scales.by_column:
            found += [
                scales.whole(
                    place.matrix, place.column + HALF * j if j else place.column, block, there
                )
                for j in range(count_of_wholes(self.shape.columns))
            ]
        return found

    def _factors(
        self, scales: Sequence[Reg], i: int, place: Place, block: Reg
    ) -> tuple[Sequence[Reg], Sequence[Reg], Sequence[Sequence[Reg]]]:
        """What `promote` multiplies by: of a block's rows, of blocks of columns, and of columns."""
        if self.scales is None:
            return (), (), ()
        rows, whole = scales[2 * i : 2 * i + 2], scales[2 * self.shape.blocks :]
        if self.scales.by_column:
            return rows, (), self.scales.pairs(place.matrix, self._columns(place), block)
        return rows, whole, ()

    def _columns(self, place: Place) -> list[Reg]:
        left = place.column + ((self.lane & 3) << 1)
        return [left + 8 * j for j in range(self.shape.columns // 8)]


def promoting(consumer: Consumer, scales: Scales | None) -> Consumer:
    """The same warpgroup with these scales."""
    return Promoting(**{f.name: getattr(consumer, f.name) for f in fields(consumer)}, scales=scales)
