"""Which tiles of D a CTA makes, and in which order.

CTAs are persistent: as many as the device has multiprocessors, each with every n-th tile. Tiles
that are made at the same time lie close to each other, `band` of them along the rows of D, so that
they read the same rows of A and columns of B, which are then in the L2 cache. A cluster has
every n-th group of tiles, or a tile of which each CTA has a part of K.

The tiles that remain after whole rounds would leave multiprocessors idle. Where the kernel may
split them, several CTAs make such a tile, each a segment of K: either each tile is split among the
same number of CTAs, or `q` tiles among `q + 1` CTAs, each of which has the end of one tile and the
beginning of the next.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, TypeVar

from pyptx import Reg, ptx, reg
from pyptx.ops._divide import by_number
from pyptx.ops.tensor_core.arrays import Sizes
from pyptx.ops.tensor_core.divide import SmallDivisor, if_not_below
from pyptx.ops.tensor_core.shape import Shape, rank_of
from pyptx.types import u32

T = TypeVar("T")
LEAST: Final = 4
"""Stages of a segment of K, at least, but for the last."""
MOST: Final = 8
"""CTAs that make a tile, at most."""
FRACTIONS: Final = (2, 3, 4)
"""`q` for which `q` tiles are split among `q + 1` CTAs."""


@dataclass(frozen=True, slots=True)
class Share:
    """Which of a tile's segments along K an item is; u32 registers.

    index, count   of the segment, and of the tile's segments
    adding         how many of the tile's CTAs add up some of its sums: the first of them
    slot           the place in the workspace of the tile's share 0
    """

    index: Reg
    count: Reg
    adding: Reg
    slot: Reg


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tile of D begins; `matrix` is that of a batch, as a list of one register, or none.

    end      the first row that is not of the tile's group
    source   the row of A that is fetched first, where it is not `row`
    """

    row: Reg
    column: Reg
    matrix: list[Reg]
    end: Reg | None = None
    source: Reg | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A tile, or a segment of K of one: its number, its first stage, and how many there are.

    place        where it is already known
    begin, end   of a group's part of K: its first value, and the first that is not in it
    """

    tile: Reg
    first: Reg
    steps: Reg
    share: Share | None = None
    place: Place | None = None
    begin: Reg | None = None
    end: Reg | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a tile of the last round; `steps` is 0 where there is none."""

    tile: Reg
    first: Reg
    steps: Reg
    share: Reg


class LastRound:
    """The tiles that remain after whole rounds, and which segments of them this CTA has."""

    def __init__(self, cta: Reg, ctas: Reg, count: Reg, steps: Reg) -> None:
        self.cta, self.ctas, self.steps = cta, ctas, steps
        self.rounds = if_not_below(count, ctas)
        self.whole = low(self.rounds, ctas)
        rest = count - self.whole
        shares = SmallDivisor()
        for each in range(2, MOST + 1):
            shares.set(each, (low(rest, each) <= ctas) & (steps >= LEAST * each))
        self.shares = reg.from_(shares.value, u32)
        self.adding = reg.from_(shares.value, u32)
        self.segments = [no_segment(), self._even(rest, shares)]
        with ptx.if_((shares.value == 1) & (steps >= LEAST * 2)):
            for q in reversed(FRACTIONS):  # the smallest that fits: fewest CTAs wait
                fits = low(by_number(rest + (q - 1), q), q + 1) <= ctas
                with ptx.if_(fits):
                    self._odd(rest, q)
        self._compact()

    def _even(self, rest: Reg, shares: SmallDivisor) -> Segment:
        """Each tile among the same number of CTAs."""
        tile = shares.quotient(self.cta)
        share = self.cta - low(tile, shares.value)
        first = shares.quotient(low(share, self.steps))
        end = shares.quotient(low(share + 1, self.steps))
        there = tile < rest
        return Segment(tile, first, ptx.inst.selp.u32(end - first, 0, there), share)

    def _odd(self, rest: Reg, q: int) -> None:
        """`q` tiles among `q + 1` CTAs: CTA i has the end of tile i - 1 and the beginning of i."""
        team = by_number(self.cta, q + 1)
        place = self.cta - low(team, q + 1)
        tile = low(team, q) + place
        end, begin = self.segments
        # Of tile i, CTA i makes the first (q - i) / (q + 1), and CTA i + 1 the rest.
        length = by_number(low(self.steps, q - place), q + 1)
        there = (place < q) & (tile < rest)
        begin.tile.set(tile)
        begin.first.set(0)
        begin.share.set(0)
        begin.steps.set(ptx.inst.selp.u32(length, 0, there))
        before = by_number(low(self.steps, (q + 1) - place), q + 1)
        there = (place > 0) & (tile <= rest)
        end.tile.set(tile - 1)
        end.first.set(before)
        end.share.set(1)
        end.steps.set(ptx.inst.selp.u32(self.steps - before, 0, there))
        self.shares.set(2)
        # A CTA has the end of a tile before the beginning of the next, and waits for nobody there:
        # otherwise each would wait for the one before it.
        self.adding.set(1)

    def _compact(self) -> None:
        """Have a segment that is not there come after one that is."""
        end, begin = self.segments
        missing = end.steps == 0
        for one, other in (
            (end.tile, begin.tile), (end.first, begin.first), (end.share, begin.share),
            (end.steps, begin.steps),
        ):  # fmt: skip
            one.set(ptx.inst.selp.u32(other, one, missing))
        begin.steps.set(ptx.inst.selp.u32(0, begin.steps, missing))
        some, more = (ptx.inst.selp.u32(1, 0, each.steps > 0) for each in self.segments)
        self.items = self.rounds + some + more

    def share(self, index: Reg, tile: Reg, first: Reg, steps: Reg) -> Share:
        """The share of an item; in the last round, its tile and its stages are set too."""
        number, count = reg.scalar(u32, init=0), reg.scalar(u32, init=1)
        adding, slot = reg.scalar(u32, init=1), reg.scalar(u32, init=0)
        with ptx.if_(index >= self.rounds):
            end, begin = self.segments
            early = index == self.rounds
            for mine, one, other in (
                (tile, end.tile, begin.tile), (first, end.first, begin.first),
                (steps, end.steps, begin.steps), (number, end.share, begin.share),
            ):  # fmt: skip
                mine.set(ptx.inst.selp.u32(one, other, early))
            count.set(self.shares)
            adding.set(self.adding)
            slot.set(low(tile, self.shares))
            tile += self.whole
        return Share(number, count, adding, slot)


class Schedule:
    """The items of this CTA, for D of these sizes and `steps` stages along K, u32.

    A CTA's tile has `columns` of D, as many as of each matrix B.
    """

    def __init__(self, shape: Shape, sizes: Sizes, steps: Reg, columns: int) -> None:
        self.shape = shape
        self.first: tuple[Item, Place] | None = None
        # Of a cluster's tiles, which are next to each other.
        self.rows, self.columns = shape.all_rows, columns * shape.all_columns // shape.columns
        self.steps = steps
        self.down = _ceil(sizes.m, self.rows)
        self.across = _ceil(sizes.n, self.columns)
        self.batched = sizes.matrices is not None
        count = self.count(sizes)
        self.cta = reg.from_(ptx.special.ctaid.x(), u32)
        self.ctas = reg.from_(ptx.special.nctaid.x(), u32)
        self.rank = None
        if shape.cluster is not None:  # all CTAs of a cluster have the same number
            size = shape.clustered
            self.rank = rank_of(self.cta, size)
            self.cta, self.ctas = by_number(self.cta, size), by_number(self.ctas, size)
        self.last = LastRound(self.cta, self.ctas, count, steps) if shape.split else None
        if self.last is not None:
            self.items = self.last.items
        else:
            self.items = self.of(count)

    def count(self, sizes: Sizes) -> Reg:
        """How many tiles there are, of all matrices."""
        count = low(self.down, self.across)
        return count if sizes.matrices is None else low(count, sizes.matrices)

    # ---- items -----------------------------------------------------------------------------------

    def of(self, count: Reg) -> Reg:
        """How many of so many tiles are this CTA's: every n-th from its own number on."""
        found = ptx.inst.selp.u32(0, 1, self.cta >= count)
        with ptx.if_(self.cta + self.ctas < count):
            found.set((count - self.cta + (self.ctas - 1)) // self.ctas)
        return found

    def item(self, index: Reg) -> Item:
        """The item of this number, below `items`."""
        tile = low(index, self.ctas) + self.cta
        first, steps = reg.scalar(u32, init=0), reg.from_(self.steps, u32)
        share = None
        if self.last is not None:
            share = self.last.share(index, tile, first, steps)
        elif self.rank is not None and self.shape.cluster == "depth":
            # As many stages for each CTA; beyond K there are zeros.
            size = self.shape.clustered
            steps = reg.from_(by_number(self.steps + (size - 1), size), u32)
            first = low(self.rank, steps)
        return Item(tile, first, steps, share)

    @contextmanager
    def walk(self) -> Generator[Item]:
        """A run-time block that runs once for each item of this CTA."""
        index = reg.scalar(u32, init=0)
        with ptx.while_(lambda: index < self.items):
            yield self.item(index)
            index += 1

    def begin(self) -> None:
        """Find the first item and its place, before the threads' ways part: meanwhile one of them
        makes the mbarriers."""
        item = self.item(reg.scalar(u32, init=0))
        self.first = item, self.place(item)

    @contextmanager
    def placed(self) -> Generator[tuple[Item, Place]]:
        """The same block, with an item's place, which is found at the end of the item before."""
        if self.first is None:
            with self.walk() as item:
                yield item, self.place(item)
            return
        index = reg.scalar(u32, init=0)
        item, place = copy_of(self.first)
        with ptx.while_(lambda: index < self.items):
            yield item, place
            index += 1
            following = self.item(index)
            become((item, place), (following, self.place(following)))

    def place(self, item: Item) -> Place:
        """Where an item's tile begins: two divisions, three of a batch."""
        if item.place is not None:
            return item.place
        at = item.tile
        matrix: list[Reg] = []
        if self.batched:
            whole = low(self.down, self.across)
            matrix = [at // whole]
            at = at - low(matrix[0], whole)
        row, column = self.banded(at, self.down)
        row, column = low(row, self.rows), low(column, self.columns)
        if self.rank is not None and self.shape.shares:
            if self.shape.below > 1:
                row = row + low(self.rank, self.shape.rows)
            if self.shape.beside > 1:
                column = column + low(self.rank, self.columns // self.shape.beside)
        return Place(row, column, matrix)

    def banded(self, at: Reg, down: Reg) -> tuple[Reg, Reg]:
        """The row and the column, counted in tiles, of the n-th of `down` rows of tiles."""
        row, column = reg.scalar(u32, init=0), reg.from_(at, u32)
        with ptx.if_(down > 1):
            size = low(self.across, self.shape.band)
            band = if_not_below(at, size)
            top = low(band, self.shape.band)
            inside = at - low(band, size)
            high = ptx.inst.min.u32(down - top, self.shape.band)
            column.set(inside // high)
            row.set(top + (inside - low(column, high)))
        return row, column


def no_segment() -> Segment:
    """A segment without stages, in registers that may be set."""
    tile, first, steps, share = (reg.scalar(u32, init=0) for _ in range(4))
    return Segment(tile, first, steps, share)


def low(a: Reg | int, b: Reg | int) -> Reg:
    """a * b in 32 bits."""
    return ptx.inst.mul.lo.u32(a, b)


def _ceil(size: Reg, unit: int) -> Reg:
    return by_number(size + (unit - 1), unit)


def registers_of(value: Any) -> list[Reg]:
    """The registers of an item or a place, and of what it holds."""
    if value is None:
        return []
    if isinstance(value, Reg):
        return [value]
    held = [getattr(value, f.name) for f in fields(value)] if is_dataclass(value) else value
    return [register for part in held for register in registers_of(part)]


def copy_of(value: T) -> T:
    """An item or a place in registers of its own, which `become` may change."""
    copies = iter([reg.from_(register, u32) for register in registers_of(value)])
    return _filled(value, copies)


def _filled(value: Any, registers: Iterator[Reg]) -> Any:
    if value is None:
        return None
    if isinstance(value, Reg):
        return next(registers)
    if not is_dataclass(value):
        return [_filled(part, registers) for part in value]
    return type(value)(*(_filled(getattr(value, f.name), registers) for f in fields(value)))


def become(mine: T, other: T) -> None:
    """Set the registers of an item or a place to those of another."""
    for register, its in zip(registers_of(mine), registers_of(other), strict=True):
        register.set(its)
