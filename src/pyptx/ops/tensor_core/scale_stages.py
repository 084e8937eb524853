"""Block scales on their way: a warp has them copied to shared memory, eight blocks of K at a time.

A scale for each row of A is 4 bytes in a line of memory of its own, and each line that a load
touches takes the L1 cache the time in which it gives 128 bytes to the tensor cores. Loaded for each
block of K, by whoever multiplies by them or by a warp alone, they made a product a tenth slower
(4096 x 7168 x 16384 on an H200). Eight of a row are a sector, and TMA copies those of all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pyptx import Layout, Reg, SharedTile, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.tensor_core.scales import HALF, Scales, count_of_wholes
from pyptx.ops.tensor_core.schedule import Item, Place, Schedule, low
from pyptx.ops.tensor_core.shape import ROWS, WARPGROUP, Shape, first_sum
from pyptx.types import f32, u32

FETCHING: Final = 1
"""The warp that fetches them; warp 0 fetches A and B."""
GROUP: Final = 8
"""Blocks of K whose scales come at once."""
SLOTS: Final = 2
"""Such groups in shared memory."""
BYTES: Final = f32.bytes
LINE: Final = GROUP * BYTES
"""Bytes of a row of A."""
TARGET: Final = 128
"""Bytes that the address of what TMA copies to is a multiple of."""
REPEAT: Final = 8 * LINE
"""Bytes after which a swizzle of 32 bytes repeats."""


@dataclass(frozen=True)
class ScaleStages:
    """The scales of a tile, f32.

    rows   of A: (slot, row, block of K), swizzled so that a warp's rows are in different banks
    of_b   of B: (slot, part of the columns, block), or, where each has one, (slot, block, column)
    maps   the tensor maps of A's, and of B's where each column has one
    ring   says which slot is full or empty
    """

    scales: Scales
    shape: Shape
    rows: SharedTile
    of_b: SharedTile
    maps: tuple[Any, ...]
    ring: Any

    @staticmethod
    def of(scales: Scales, shape: Shape) -> ScaleStages:
        """With room in shared memory."""
        product, by_column = scales.product, scales.by_column
        rows = smem.alloc(f32, (SLOTS, shape.rows, GROUP), align=REPEAT)
        dims = (GROUP, shape.columns) if by_column else (count_of_wholes(shape.columns), GROUP)
        of_b = smem.alloc(f32, (SLOTS, *dims), align=TARGET)
        before = [(1,) if batched else () for batched in product.batches[:2]]
        maps = [scales.of_a.tma_desc((*before[0], shape.rows, GROUP), layout=Layout.TMA_32B)]
        if by_column:
            maps.append(scales.of_b.tma_desc((*before[1], *dims), layout=Layout.ROW))
        warps = shape.per_tile * WARPGROUP // WARP
        # One thread arrives with what it copies, and one after stores.
        ring = ptx.ring(SLOTS, producers=1 if by_column else 2, consumers=warps)
        return ScaleStages(scales, shape, rows, of_b, tuple(maps), ring)

    # ---- those that fetch ------------------------------------------------------------------------

    def copies(self) -> Copies:
        """For the thread that fetches A and B."""
        return Copies(self, self.ring.producer())

    def fetch(self, schedule: Schedule, lane: Reg) -> None:
        """Fetch B's of every item where a block of columns has one. A warp."""
        if self.scales.by_column:
            return
        state = self.ring.producer()
        with schedule.placed() as (item, place):
            block = reg.from_(low(item.first // GROUP, GROUP), u32)
            end = item.first + item.steps
            with ptx.while_(lambda: block < end):
                scale = self._whole(schedule, place, block, lane)
                full = self.ring.acquire(state)
                there = lane < GROUP * self.of_b.shape[1]
                ptx.inst.st.shared.f32(self._of_b(state.stage, lane), scale, pred=there)
                ptx.inst.bar.warp.sync(0xFFFFFFFF)
                full.arrive(pred=lane == 0)
                state.advance()
                block += GROUP

    def _whole(self, schedule: Schedule, place: Place, block: Reg, lane: Reg) -> Reg:
        """A lane's scale of B: each eight lanes have a part of the columns."""
        column = place.column + low(lane // GROUP, HALF)
        own = block + (lane & (GROUP - 1))
        there = (own < schedule.steps) & (lane < GROUP * self.of_b.shape[1])
        return self.scales.whole(place.matrix, column, own, there)

    def _of_b(self, stage: Reg, scale: Reg) -> Any:
        """The address of one of B's of a slot, by its number."""
        size = self.of_b.bytes // SLOTS
        first = ptx.inst.mad.lo.u32(stage, size, reg.from_(self.of_b, u32))
        return ptx.addr(ptx.inst.mad.lo.u32(scale, BYTES, first))

    # ---- the warps that multiply -----------------------------------------------------------------

    def walk(self, item: Item, group: Reg, lane: Reg, state: Any) -> Walk:
        """Through the scales of an item; waits for the first. A thread of a warpgroup's."""
        first, beside = first_sum(lane)
        if self.shape.per_tile > 1:
            first = first + low(group, ROWS * self.shape.blocks)
        if self.shape.is_low:
            first = first & (self.shape.rows - 1)  # of zeros, any row's
        top = ptx.inst.mad.lo.u32(first, LINE, reg.from_(self.rows, u32))
        turned = ((first >> 2) & 1) << 4
        block = reg.from_(item.first, u32)
        self.ring.wait(state)
        return Walk(self, state, block, item.first + item.steps, top, turned, beside, lane)


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a thread that multiplies is in an item.

    block, end      the block of K, and that after the item's last
    top, turned     the address of its first row's in slot 0, and the bit that the swizzle turns
    beside          its first column
    """

    stages: ScaleStages
    state: Any
    block: Reg
    end: Reg
    top: Reg
    turned: Reg
    beside: Reg
    lane: Reg

    def rows(self) -> list[Reg]:
        """Those of each of the thread's rows: of every block of 64 two, eight apart."""
        stages = self.stages
        size = stages.rows.bytes // SLOTS
        place = ptx.inst.mad.lo.u32(self.state.stage, size, self.top)
        place = place + (low(self._within, BYTES) ^ self.turned)
        return [
            ptx.inst.ld.shared.f32(ptx.addr(place, LINE * (ROWS * i + 8 * half)))
            for i in range(stages.shape.blocks)
            for half in range(2)
        ]

    def wholes(self) -> list[Reg]:
        """Those of equal parts of the tile's columns, where a block of columns has one."""
        if self.stages.scales.by_column:
            return []
        of_b, stage = self.stages.of_b, self.state.stage
        place = of_b.address(stage, 0, self._within)
        return [ptx.inst.ld.shared.f32(ptx.addr(place, LINE * j)) for j in range(of_b.shape[1])]

    def pairs(self) -> Iterator[list[Reg]]:
        """Those of the thread's columns, two of every eight, loaded as they are asked for."""
        place = self.stages.of_b.address(self.state.stage, self._within, self.beside)
        for j in range(self.stages.shape.columns // 8):
            pair = [reg.scalar(f32) for _ in range(2)]
            ptx.inst.ld.shared.v2.f32(pair, ptx.addr(place, BYTES * 8 * j))
            yield pair

    def go_on(self) -> None:
        """To the next block, once this one's have been read."""
        ring, state = self.stages.ring, self.state
        self.block.set(self.block + 1)
        with ptx.if_((self._within == 0) | (self.block == self.end)):
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
            ring.release(state, pred=(self.lane & (WARP - 1)) == 0)
            state.advance()
            with ptx.if_(self.block < self.end):
                ring.wait(state)

    @property
    def _within(self) -> Reg:
        """The block within its group."""
        return self.block & (GROUP - 1)


@dataclass(frozen=True, slots=True)
class Copies:
    """What the thread that fetches A and B does for the scales, by TMA.

    It does so before the stages that need them: behind a ring of stages, which memory takes
    microseconds to fill, they would come last.
    """

    stages: ScaleStages
    state: Any

    def before(self, place: Place, block: Reg, index: Reg) -> None:
        """What comes before an item's stage of this block and index: at times, a group's scales."""
        first = ((block & (GROUP - 1)) == 0) | (index == 0)
        with ptx.if_(first):
            self._copy(place, low(block // GROUP, GROUP))
            self.state.advance()

    def _copy(self, place: Place, block: Reg) -> None:
        stages, stage = self.stages, self.state.stage
        by_column, batched = stages.scales.by_column, stages.scales.product.batches
        copied = [stages.rows, stages.of_b] if by_column else [stages.rows]
        full = stages.ring.acquire(self.state)
        full.arrive_expect_tx(sum(each.bytes // SLOTS for each in copied))
        after = place.matrix if batched[0] else []
        row = place.row if place.source is None else place.source
        _copied(stages.rows[stage], stages.maps[0], [block, row, *after], full)
        if by_column:
            after = place.matrix if batched[1] else []
            _copied(stages.of_b[stage], stages.maps[1], [place.column, block, *after], full)


def _copied(target: Any, described: Any, coord: list[Reg], full: Any) -> None:
    """Have a box copied. One thread."""
    dims = {2: ptx.cp.async_.bulk.tensor_2d, 3: ptx.cp.async_.bulk.tensor_3d}
    dims[len(coord)](dst=target, src=described, coord=coord, mbar=full)
