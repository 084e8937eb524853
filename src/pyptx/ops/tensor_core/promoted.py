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

from dataclasses import dataclass, fields
from typing import Any, Final

from pyptx import Reg, ptx, reg
from pyptx.ops.tensor_core.mainloop import Consumer, Sums
from pyptx.ops.tensor_core.scale_stages import ScaleStages, Walk
from pyptx.ops.tensor_core.scales import promote
from pyptx.ops.tensor_core.schedule import Schedule, become
from pyptx.ops.tensor_core.shape import BLOCK, turn_of
from pyptx.types import f32, u32

PAIR: Final = 2
"""Stages whose sums are made at a time, where registers hold those of both."""


@dataclass(frozen=True)
class Promoting(Consumer):
    """The same with the scales of A and B, where there are any."""

    scales: ScaleStages | None

    def run(self, schedule: Schedule) -> None:
        """All items of this CTA."""
        total, part = (
            [list(reg.wgmma_frag(n=self.shape.columns, dtype=f32)) for _ in range(count)]
            for count in (self.shape.blocks, PAIR if self._in_pairs else 1)
        )
        for register in (r for sums in part for r in sums):
            register.set(0.0)
        self.fill()
        state, read = self.ring.consumer(), self.ring.consumer()
        groups = None if self.scales is None else self.scales.ring.consumer()
        if self._by_two:
            with ptx.if_(self.group > 0):
                turn_of(1 - self.group).arrive()
        with schedule.walk() as item:
            scales = None
            if self.scales is not None:
                scales = self.scales.walk(item, self.group, self.lane, groups)
            walk = _Walk(state, read, self.left_of(item), scales)
            place = schedule.place(item)
            for register in (r for sums in total for r in sums):
                register.set(0.0)
            if self._in_pairs:
                with ptx.if_((item.steps & 1) == 1):
                    self._stages(walk, total, part[0], 1)
                for _ in ptx.range_(0, item.steps >> 1, dtype=u32):
                    self._pair(walk, total[0], part)
            else:
                self._stages(walk, total, part[0], item.steps)
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
        """Whether registers hold the sums of two stages: not beside scales of single columns."""
        few = self.shape.blocks == 1 and self.shape.columns <= BLOCK
        return few and self.product.blocks != "column"

    def _stages(self, walk: _Walk, total: Sums, part: list[Reg], steps: Reg | int) -> None:
        """Add the products of as many stages to `total`.

        While the last products of a stage are made, the next stage is waited for and its scales are
        loaded: the tensor cores would wait for what comes between these products and the next.
        """
        scales = walk.scales
        by_column = self.product.blocks == "column"
        self.wait(walk.state, walk.left)
        own = [reg.from_(x, f32) for x in walk.read_scales()]
        index = reg.scalar(u32, init=0)
        with ptx.while_(lambda: index < steps):
            index += 1
            following = [reg.scalar(f32, init=0.0) for _ in own]
            for i, sums in enumerate(total):
                last = i == len(total) - 1
                self._take_turn()
                self.multiply([part] * len(total), walk.state.stage, [i], add=False)
                self._give_turn()
                if last and not by_column:
                    self._look_ahead(walk, following, index < steps)
                ptx.wgmma.wait_group(0)
                if last:
                    self._release(walk.read)
                columns = scales.pairs() if scales is not None and by_column else ()
                rows, wholes = own[2 * i : 2 * i + 2], own[2 * len(total) :]
                promote(sums, part, rows, wholes, columns)
            if by_column:
                self._look_ahead(walk, following, index < steps)
            become(own, following)

    def _look_ahead(self, walk: _Walk, scales: list[Reg], more: Reg) -> None:
        """Go on to the next stage, and load its scales, if there is one."""
        walk.state.advance()
        if walk.scales is not None:
            walk.scales.go_on()
        with ptx.if_(more):
            self.wait(walk.state, walk.left)
            become(scales, walk.read_scales())

    def _pair(self, walk: _Walk, total: list[Reg], part: Sums) -> None:
        """Add the products of two stages."""
        state, stages, scales = walk.state, list[Reg](), list[list[Reg]]()
        for _ in part:
            self.wait(state, walk.left)
            stages.append(reg.from_(state.stage, u32))
            scales.append(walk.read_scales())
            if walk.scales is not None:
                walk.scales.go_on()
            state.advance()
        self._take_turn()
        for sums, stage in zip(part, stages, strict=True):
            self.multiply([sums], stage, [0], add=False)
        for i, (own, sums) in enumerate(zip(scales, part, strict=True)):
            ptx.wgmma.wait_group(len(part) - 1 - i)
            self._release(walk.read)
            if i == 0:
                # The second stage's products are left: the other's begin when they end.
                self._give_turn()
            promote(total, sums, own[:2], own[2:], ())

    def _take_turn(self) -> None:
        if self._by_two:
            turn_of(self.group).sync()

    def _give_turn(self) -> None:
        if self._by_two:
            turn_of(1 - self.group).arrive()


@dataclass(frozen=True, slots=True)
class _Walk:
    """Where a warpgroup is in an item.

    state, read   the stages that it multiplies and reads
    left          values that are left of a group's part of K, where it has one
    scales        where its scales are, if there are any
    """

    state: Any
    read: Any
    left: Reg | None
    scales: Walk | None

    def read_scales(self) -> list[Reg]:
        """A stage's scales of the thread's rows, then of equal parts of the columns."""
        return [] if self.scales is None else [*self.scales.rows(), *self.scales.wholes()]


def promoting(consumer: Consumer, scales: ScaleStages | None) -> Consumer:
    """The same warpgroup with these scales."""
    return Promoting(**{f.name: getattr(consumer, f.name) for f in fields(consumer)}, scales=scales)
