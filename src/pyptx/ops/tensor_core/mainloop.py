"""What the warpgroups of a CTA do: one of them fetches, the others multiply.

A warpgroup that has two blocks of 64 rows multiplies the first before the second at a tile's end,
so that the sums of one are written while the tensor cores work on the other; the second's are
written while they work on the first block of the next tile. The assembler keeps instructions
asynchronous only as long as all of them write the same registers: halves of one block's columns
would be multiplied one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyptx import Reg, ptx, reg
from pyptx.ops._divide import by_number
from pyptx.ops.tensor_core.operands import Operand
from pyptx.ops.tensor_core.schedule import Item, Place, Schedule, become, copy_of, low
from pyptx.ops.tensor_core.shape import ROWS, STEP, WARPGROUP, Product, Shape, everybody_of, turn_of
from pyptx.types import u32

Sums: TypeAlias = "list[list[Reg]]"
"""A warpgroup's sums of each block of 64 rows."""


def produce(
    ring: Any, a: Operand, b: Operand, schedule: Schedule, depth: int, policy: Reg | None = None,
    before: Callable[[Place, Reg, Reg], None] | None = None,
) -> None:  # fmt: skip
    """Fill stages, item after item. One thread.

    policy   that of the lines of B
    before   called before each stage, with its item's place, its number along K and in the item
    """
    state = ring.producer()
    with schedule.placed() as (item, place):
        k = low(item.first, depth)
        if item.begin is not None:
            k += item.begin
        row = place.row if place.source is None else place.source
        boxes = b.boxes(place.column)
        for i in ptx.range_(0, item.steps, dtype=u32):
            if before is not None:
                before(place, item.first + i, i)
            full = acquire(ring, state, shared=a.shared or b.shared)
            full.arrive_expect_tx(a.bytes + b.bytes)
            a.fetch(state.stage, full, row, k, place.matrix)
            b.fetch(state.stage, full, place.column, k, place.matrix, policy, boxes)
            k += depth
            state.advance()
    if a.shared or b.shared:
        # This CTA ends after the others' arrivals at its mbarriers. What they send has come before
        # those who multiply here arrive.
        for _ in ptx.range_(0, ring.n_stages, dtype=u32):
            acquire(ring, state, shared=True)
            state.advance()


def acquire(ring: Any, state: Any, *, shared: bool) -> Any:
    """The next stage's `full` mbarrier, once all who read what the stage held have done so.

    All CTAs' threads arrive relaxed, and the wait is relaxed, because only the reads of `wgmma`
    come before, which `wgmma.wait_group` has completed, and only asynchronous copies after. A
    release at the cluster's scope is a fence of all memory, which takes about as long as a stage.
    """
    if not shared:
        return ring.acquire(state)
    ring.empty[state.stage].wait(state.phase, cluster=True, relaxed=True)
    return ring.full[state.stage]


@dataclass(frozen=True)
class Consumer:
    """A warpgroup that multiplies. `finish` takes an item, its place, a block, and its sums."""

    product: Product
    shape: Shape
    ring: Any
    a: Operand
    b: Operand
    group: Reg
    lane: Reg
    finish: Callable[[Item, Place, int, Sequence[Reg]], None]

    def run(self, schedule: Schedule) -> None:
        """All items of this CTA."""
        sums = [
            list(reg.wgmma_frag(n=self.shape.columns, dtype=self.product.sum)) for _ in self._blocks
        ]
        for register in (r for block in sums for r in block):
            register.set(0)
        self.fill()
        if self.shape.pingpong:
            self._by_turns(schedule, sums)
        elif self.shape.blocks == 1:
            self._one_block(schedule, sums)
        else:
            self._two_blocks(schedule, sums)

    def fill(self) -> None:
        """Have zeros where a low tile has no rows, before anything is multiplied."""
        if self.shape.is_low:
            self.a.fill(self.lane, WARPGROUP)
            ptx.fence.proxy_async("shared::cta")
            everybody_of(self.shape.groups).sync()

    @property
    def _blocks(self) -> range:
        return range(self.shape.blocks)

    def _one_block(self, schedule: Schedule, sums: Sums) -> None:
        state, read = self.ring.consumer(), self.ring.consumer()
        with schedule.walk() as item:
            left = self.left_of(item)
            self.wait(state, left)
            self.multiply(sums, state.stage, self._blocks, add=False)
            place = schedule.place(item)  # its divisions take as long as the first products
            state.advance()
            self._middle(sums, item.steps, state, read, left)
            ptx.wgmma.wait_group(0)
            self._release(read)
            self.finish(item, place, 0, sums[0])

    def _two_blocks(self, schedule: Schedule, sums: Sums) -> None:
        state, read = self.ring.consumer(), self.ring.consumer()
        first, second = ([block] for block in self._blocks)
        index = reg.scalar(u32, init=0)
        with ptx.if_(index < schedule.items):
            item = copy_of(schedule.item(index))
            self.ring.wait(state)
            self.multiply(sums, state.stage, first, add=False)
            self.multiply(sums, state.stage, second, add=False)
            place = copy_of(schedule.place(item))
            with ptx.loop():
                state.advance()
                with ptx.if_(item.steps > 1):
                    self._middle(sums, item.steps - 1, state, read)
                    self.ring.wait(state)
                    self.multiply(sums, state.stage, first)
                    self.multiply(sums, state.stage, second)
                    state.advance()
                    ptx.wgmma.wait_group(2)
                    self._release(read)
                ptx.wgmma.wait_group(1)
                self.finish(item, place, 0, sums[0])
                index += 1
                ptx.break_(pred=index >= schedule.items)
                following = schedule.item(index)
                self.ring.wait(state)
                ptx.wgmma.wait_group(0)
                self._release(read)
                self.multiply(sums, state.stage, first, add=False)
                self.finish(item, place, 1, sums[1])
                self.multiply(sums, state.stage, second, add=False)
                become(item, following)
                become(place, schedule.place(item))
            ptx.wgmma.wait_group(0)
            if self.shape.shares:  # those who fetch wait for every stage at the end
                self._release(read)
            self.finish(item, place, 1, sums[1])

    def _by_turns(self, schedule: Schedule, sums: Sums) -> None:
        """Every second item: the other warpgroup multiplies while this one writes."""
        state, read = self.ring.consumer(), self.ring.consumer()
        own, other = turn_of(self.group), turn_of(1 - self.group)
        index = reg.scalar(u32, init=0)
        with ptx.if_(self.group > 0):
            self._skip(state, read, schedule.item(index).steps)
            index += 1
        with ptx.while_(lambda: index < schedule.items):
            item = schedule.item(index)
            with ptx.if_(index > 0):
                own.sync()
            self.wait(state, None)
            self.multiply(sums, state.stage, self._blocks, add=False)
            place = schedule.place(item)
            state.advance()
            self._middle(sums, item.steps, state, read)
            index += 1
            with ptx.if_(index < schedule.items):
                other.arrive()
            ptx.wgmma.wait_group(0)
            self._release(read)
            for block in self._blocks:
                self.finish(item, place, block, sums[block])
            self._skip(state, read, schedule.item(index).steps)
            index += 1

    def _skip(self, state: Any, read: Any, steps: Reg) -> None:
        """Go on by the stages of an item that the other warpgroup multiplies."""
        stages = self.ring.n_stages
        stage = reg.from_(state.stage + steps, u32)
        rounds = by_number(stage, stages)
        for each in (state, read):
            each.stage.set(stage - low(rounds, stages))
            each.phase.set((each.phase + rounds) & 1)

    def left_of(self, item: Item) -> Reg | None:
        """Of a group's part of K: its values, which `wait` counts down."""
        if item.begin is None or item.end is None:
            return None
        return reg.from_(item.end - item.begin, u32)

    def wait(self, state: Any, left: Reg | None) -> None:
        """Until a stage has come. At the end of a group's part of K, the rest is cleared."""
        self.ring.wait(state)
        if left is None:
            return
        depth = self.product.depth
        with ptx.if_(left < depth):
            for operand in (self.a, self.b):
                operand.clear(state.stage, left, self.thread, WARPGROUP * self.shape.groups)
            ptx.fence.proxy_async("shared::cta")
            everybody_of(self.shape.groups).sync()
        left -= depth

    @property
    def thread(self) -> Reg:
        """Of those that multiply."""
        return low(self.group, WARPGROUP) + self.lane

    def _middle(
        self, sums: Sums, steps: Reg, state: Any, read: Any, left: Reg | None = None
    ) -> None:
        """The stages of an item from the second on, up to as many as it has of these."""
        for _ in ptx.range_(1, steps, dtype=u32):
            self.wait(state, left)
            self.multiply(sums, state.stage, self._blocks)
            state.advance()
            ptx.wgmma.wait_group(1)  # all but the latest: the stage before has been read
            self._release(read)

    def multiply(self, sums: Sums, stage: Reg, blocks: Sequence[int], *, add: bool = True) -> None:
        """The products of one stage for some blocks, as a group; without `add`, they begin sums."""
        product, shape = self.product, self.shape
        kind_a, kind_b = product.kinds
        step = STEP // product.a.bytes
        row: Reg | int = low(self.group, ROWS * shape.blocks) if shape.per_tile > 1 else 0
        ptx.wgmma.fence()
        for k in range(0, product.depth, step):
            for block in blocks:
                ptx.wgmma.mma_async(
                    shape=(ROWS, shape.columns, step), dtype_d=product.sum, dtype_a=kind_a,
                    dtype_b=kind_b, d=sums[block], scale_d=add or k > 0,
                    a=self.a.descriptor(stage, k, row + ROWS * block if block else row),
                    b=self.b.descriptor(stage, k, 0),
                    trans_a=int(not self.a.k_major), trans_b=int(not self.b.k_major),
                )  # fmt: skip
        ptx.wgmma.commit_group()

    def _release(self, read: Any) -> None:
        """Say that this warpgroup has read a stage, to whoever fills it."""
        if not self.shape.shares:
            self.ring.release(read, pred=self.lane == 0)
        else:
            stage = self.ring.empty[read.stage]
            every = self.lane < self.shape.clustered
            ptx.cluster.arrive_remote(stage, self.lane, relaxed=True, pred=every)
        read.advance()
