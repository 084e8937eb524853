"""A warpgroup that adds a stage's sums in f32 registers: with block scales, or to round them.

Tensor cores truncate sums, those of 8-bit products to few bits. Here they sum the products of a
stage alone, in registers of their own. Those sums are added to the tile's in f32, rounded to
nearest; before that they are multiplied by block scales, where there are any: a stage has 128 of K,
which is what a scale is for.

Tensor cores have work meanwhile. Where registers allow it, sums of two stages are made in registers
of their own each: one is added while the other is made. Blocks of 64 rows take the same registers
for a stage's sums in turn. Two warpgroups multiply by turns, since each would wait for the products
of both, had both begun at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from typing import Any, Final

from pyptx import Reg, ptx, reg
from pyptx.ops.tensor_core.mainloop import Consumer, Sums, become
from pyptx.ops.tensor_core.scales import HALF, Path, Scales, count_of_wholes, promote
from pyptx.ops.tensor_core.schedule import Place, Schedule, low
from pyptx.ops.tensor_core.shape import BLOCK, ROWS, first_sum, turn_of
from pyptx.types import f32, u32

AHEAD: Final = 2
"""Stages of a pair, and those whose scales are loaded at a time, while as many stages before them
are multiplied: a load takes longer than a stage."""


@dataclass(frozen=True)
class Promoting(Consumer):
    """The same with the scales of A and B, where there are any."""

    scales: Scales | None

    def run(self, schedule: Schedule) -> None:
        """All items of this CTA."""
        total, part = (
            [list(reg.wgmma_frag(n=self.shape.columns, dtype=f32)) for _ in range(count)]
            for count in (self.shape.blocks, AHEAD if self._in_pairs else 1)
        )
        for register in (r for sums in part for r in sums):
            register.set(0.0)
        state, read = self.ring.consumer(), self.ring.consumer()
        if self._by_two:
            with ptx.if_(self.group > 0):
                turn_of(1 - self.group).arrive()
        with schedule.walk() as item:
            left = self.left_of(item)
            place = schedule.place(item)
            block = reg.from_(item.first, u32)
            end = item.first + item.steps
            # CTAs that divide K may have stages beyond it, which are zeros and have no scales.
            there = ptx.inst.min.u32(end, schedule.steps) if self._may_be_beyond else end
            for register in (r for sums in total for r in sums):
                register.set(0.0)
            path = None if self.scales is None else self._path(self.scales, place, block)
            walk = _Walk(state, read, left, place, block, end, there, schedule.steps, path)
            if self._in_pairs:
                self._all_in_pairs(walk, total[0], part, item.steps)
            else:
                self._one_by_one(walk, total, part)
            for i, sums in enumerate(total):
                self.finish(item, place, i, sums)
        if self._by_two:
            with ptx.if_(self.group == 0):
                turn_of(self.group).sync()  # the other's last turn has given it to this one

    @property
    def _by_two(self) -> bool:
        return self.shape.groups == 2

    @property
    def _in_pairs(self) -> bool:
        """Whether registers hold the sums of two stages. So many scales of columns leave none."""
        return (
            self.shape.blocks == 1
            and self.shape.columns <= BLOCK
            and self.product.blocks != "column"
        )

    @property
    def _may_be_beyond(self) -> bool:
        return self.shape.cluster == "depth"

    # ---- a stage after the other -----------------------------------------------------------------

    def _one_by_one(self, walk: _Walk, total: Sums, part: Sums) -> None:
        """The stages of an item."""
        scales = self._scales(walk)
        with ptx.while_(lambda: walk.block < walk.end):
            following: list[list[Reg]] = []

            def load() -> None:
                following.extend(self._loads(walk, AHEAD))

            for i, own in enumerate(scales):
                with ptx.if_(walk.block < walk.end) if i else nullcontext():
                    self.wait(walk.state, walk.left)
                    self._stage(walk, total, part[0], own, None if i else load)
            become(scales, following)

    def _stage(
        self, walk: _Walk, total: Sums, part: list[Reg], scales: Sequence[Reg],
        load: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        """Add the products of a stage to `total`; `load` runs while they are made."""
        for i, sums in enumerate(total):
            self._take_turn()
            self.multiply([part] * len(total), walk.state.stage, [i], add=False)
            self._give_turn()
            if i == 0 and load is not None:
                load()
            factors = self._factors(scales, i, walk, 0)
            ptx.wgmma.wait_group(0)
            if i == len(total) - 1:
                self._release(walk.read)
            promote(sums, part, *factors)
        walk.state.advance()
        walk.go_on(1)

    def _take_turn(self) -> None:
        if self._by_two:
            turn_of(self.group).sync()

    def _give_turn(self) -> None:
        if self._by_two:
            turn_of(1 - self.group).arrive()

    # ---- two stages at a time --------------------------------------------------------------------

    def _all_in_pairs(self, walk: _Walk, total: list[Reg], part: Sums, steps: Reg) -> None:
        """The stages of an item, of which the first is alone where their number is odd."""
        with ptx.if_((steps & 1) == 1):
            scales = walk.scales(0)
            self.wait(walk.state, walk.left)
            self._stage(walk, [total], part[0], scales)
        ahead = self._scales(walk)
        with ptx.while_(lambda: walk.block < walk.end):
            self._pair(walk, total, part, ahead)

    def _pair(self, walk: _Walk, total: list[Reg], part: Sums, scales: list[list[Reg]]) -> None:
        """Add the products of two stages, and load the scales of the next ones meanwhile."""
        state = walk.state
        self.wait(state, walk.left)
        first = reg.from_(state.stage, u32)
        state.advance()
        self.wait(state, walk.left)
        self._take_turn()
        for sums, stage in zip(part, (first, state.stage), strict=True):
            self.multiply([sums], stage, [0], add=False)
        state.advance()
        following = self._loads(walk, AHEAD)
        for i, (own, sums) in enumerate(zip(scales, part, strict=True)):
            factors = self._factors(own, 0, walk, i)
            ptx.wgmma.wait_group(len(part) - 1 - i)
            self._release(walk.read)
            if i == 0:
                # The second stage's products are left: the other's begin when they end.
                self._give_turn()
            promote(total, sums, *factors)
        walk.go_on(len(part))
        become(scales, following)

    # ---- scales ----------------------------------------------------------------------------------

    def _scales(self, walk: _Walk) -> list[list[Reg]]:
        """Those of the first stages, in registers of their own."""
        return [[reg.from_(x, f32) for x in own] for own in self._loads(walk, 0)]

    def _loads(self, walk: _Walk, ahead: int) -> list[list[Reg]]:
        """What a thread has of the scales of as many stages, so many ahead."""
        if self.scales is None:
            return [[] for _ in range(AHEAD if self._in_pairs else 1)]
        return [walk.scales(ahead + i) for i in range(AHEAD)]

    def _path(self, scales: Scales, place: Place, block: Reg) -> Path:
        """A's scales of each of this thread's rows, then B's where columns of a block have one."""
        first, _ = first_sum(self.lane)
        top = place.row + low(self.group, ROWS * self.shape.blocks)
        top = top + first
        rows = [top + (ROWS * i + 8 * half) for i in range(self.shape.blocks) for half in range(2)]
        wholes = 0 if scales.by_column else count_of_wholes(self.shape.columns)
        columns = [place.column + HALF * j if j else place.column for j in range(wholes)]
        return scales.path(place.matrix, rows, columns, block)

    def _factors(
        self, scales: Sequence[Reg], i: int, walk: _Walk, ahead: int
    ) -> tuple[Sequence[Reg], Sequence[Reg], Sequence[Sequence[Reg]]]:
        """What `promote` multiplies by: of a block's rows, of blocks of columns, and of columns."""
        if self.scales is None:
            return (), (), ()
        rows, whole = scales[2 * i : 2 * i + 2], scales[2 * self.shape.blocks :]
        if not self.scales.by_column:
            return rows, whole, ()
        block = walk.block + ahead if ahead else walk.block
        if self._may_be_beyond:
            block = ptx.inst.min.u32(block, walk.steps - 1)
        left = walk.place.column + first_sum(self.lane)[1]
        columns = [left + 8 * j for j in range(self.shape.columns // 8)]
        return rows, (), self.scales.pairs(walk.place.matrix, columns, block)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Where a warpgroup is in an item: the stages that it multiplies and reads, and the block of K.

    left    values that are left of a group's part of K, where it has one
    end     the block after the item's last
    there   the block after the last that has scales
    steps   blocks of the whole of K
    path    where the scales are
    """

    state: Any
    read: Any
    left: Reg | None
    place: Place
    block: Reg
    end: Reg
    there: Reg
    steps: Reg
    path: Path | None

    def scales(self, ahead: int) -> list[Reg]:
        """Those of a stage so many ahead, where there are any."""
        if self.path is None:
            return []
        block = self.block + ahead if ahead else self.block
        return self.path.load(ahead, block < self.there)

    def go_on(self, count: int) -> None:
        """To a later block of K."""
        self.block.set(self.block + count)
        if self.path is not None:
            self.path.go_on(count)


def promoting(consumer: Consumer, scales: Scales | None) -> Consumer:
    """The same warpgroup with these scales."""
    return Promoting(**{f.name: getattr(consumer, f.name) for f in fields(consumer)}, scales=scales)
