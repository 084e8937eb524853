"""Products of groups of rows, whose lengths are known when the kernel runs.

Every CTA adds up the lengths first: a table in shared memory has each group's last row and, of
tiles of rows, how many there are up to its end. A tile never has rows of two groups.
"""

from __future__ import annotations

from pyptx import Reg, SharedTile, Tensor, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.tensor_core.arrays import Sizes
from pyptx.ops.tensor_core.schedule import Item, Place, Schedule, low
from pyptx.ops.tensor_core.shape import Shape
from pyptx.types import u32


class Groups:
    """Where groups of rows end. The rows after all groups are one more group, the last.

    Lengths below zero count as zero, and no group reaches beyond the last of `rows`.
    """

    def __init__(self, lengths: Tensor, rows: Reg, unit: int) -> None:
        self.lengths, self.rows, self.unit = lengths, rows, unit
        self.count = int(lengths.shape[0])
        self.ends = smem.alloc(u32, self.count + 1)
        self.tiles = smem.alloc(u32, self.count + 1)

    def fill(self, lane: Reg) -> None:
        """Make the table; one warp, and a barrier after it."""
        rows, tiles = reg.scalar(u32, init=0), reg.scalar(u32, init=0)
        for first in range(0, self.count + 1, WARP):
            group = lane + first
            length = self.lengths.load(group, pred=group < self.count, other=0)
            length = reg.from_(ptx.inst.max.s32(length, 0), u32)
            length = ptx.inst.min.u32(length, self.rows)
            after = rows + ptx.warp.inclusive_scan(length)
            begin, end = (ptx.inst.min.u32(x, self.rows) for x in (after - length, after))
            end = ptx.inst.selp.u32(end, self.rows, group < self.count)
            own = (end - begin + (self.unit - 1)) // self.unit
            until = tiles + ptx.warp.inclusive_scan(own)
            with ptx.if_(group <= self.count):
                self.ends[group] = end
                self.tiles[group] = until
            rows.set(ptx.warp.broadcast(after, WARP - 1))
            tiles.set(ptx.warp.broadcast(until, WARP - 1))

    @property
    def all_tiles(self) -> Reg:
        """Of rows, of all groups."""
        return self.tiles[self.count]

    def find(self, tile: Reg) -> Reg:
        """The group of a tile of rows, by halves."""
        group = reg.scalar(u32, init=0)
        step = 1 << self.count.bit_length()
        while step:
            # Is the tile in a group from `probe` on?
            probe = group + step
            last = ptx.inst.min.u32(probe, self.count + 1) - 1
            there = (probe <= self.count) & (self.tiles[last] <= tile)
            group.set(ptx.inst.selp.u32(probe, group, there))
            step >>= 1
        return group

    def before(self, table: SharedTile, group: Reg) -> Reg:
        """The number of the group before, 0 of the first."""
        first = group == 0
        found = table[ptx.inst.selp.u32(0, group - 1, first)]
        return ptx.inst.selp.u32(0, found, first)


class Rows(Schedule):
    """Tiles of groups of rows: of all columns of a group before the next group."""

    def __init__(
        self, shape: Shape, sizes: Sizes, steps: Reg, columns: int, groups: Groups
    ) -> None:
        self.groups = groups
        super().__init__(shape, sizes, steps, columns)

    def count(self, sizes: Sizes) -> Reg:
        """How many tiles all groups have."""
        del sizes
        return low(self.groups.all_tiles, self.across)

    def item(self, index: Reg) -> Item:
        """The item of this number, with its place."""
        groups, found = self.groups, super().item(index)
        tile = found.tile
        group = groups.find(tile // self.across)
        before = groups.before(groups.tiles, group)
        row, column = self.banded(tile - low(before, self.across), groups.tiles[group] - before)
        top = groups.before(groups.ends, group) + low(row, self.shape.rows)
        # Rows after all groups are zero: no row of A and no matrix of B is there to be fetched.
        none = group == groups.count
        source = ptx.inst.selp.u32(groups.rows, top, none)
        steps = ptx.inst.selp.u32(1, found.steps, none)
        place = Place(top, low(column, self.columns), [group], groups.ends[group], source)
        return Item(tile, found.first, steps, found.share, place)


class Parts(Schedule):
    """Tiles of each group's matrix, whose K is the group's part."""

    def __init__(
        self, shape: Shape, sizes: Sizes, depth: int, columns: int, groups: Groups
    ) -> None:
        super().__init__(shape, sizes, sizes.k, columns)
        self.groups, self.depth = groups, depth

    def item(self, index: Reg) -> Item:
        """The item of this number, with its place and its part of K."""
        found = super().item(index)
        place = self.place(found)
        (group,) = place.matrix
        begin, end = self.groups.before(self.groups.ends, group), self.groups.ends[group]
        steps = (end - begin + (self.depth - 1)) // self.depth
        steps = ptx.inst.max.u32(steps, 1)  # a group without rows gives zeros
        return Item(found.tile, found.first, steps, place=place, begin=begin, end=end)
