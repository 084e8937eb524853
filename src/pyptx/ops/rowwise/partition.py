"""Where the elements of a row are: groups that are aligned in every tensor, and a row's ends.

Rows of `columns` elements lie one after another, so a row may start anywhere in a 16-byte piece.
Groups are aligned in the whole tensor instead of in the row; a row has some full units, each a
group or a line of them, and at most `unit - 1` elements before and after them, its ends. Rows whose
distance is a multiple of `alignments` are cut in the same places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from pyptx import Reg, Tile, ptx, reg
from pyptx._target import Target
from pyptx.device import WARP, Device, of
from pyptx.ops.rowwise.operation import BLOCK, BLOCK_COLUMNS, COLUMN, ELEMENT, Operand
from pyptx.ops.rowwise.vectors import LINE, PIECE, Vector, power_of_two, wide
from pyptx.types import DType, s32, u32

H200: Final = of(Target(90, "a"))


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of `shape`, of arrays of arrays whose elements have the types `types`.

    Arrays with one for each column count too; those with one for each row do not.
    """

    shape: tuple[int, ...]
    types: tuple[DType, ...]
    compute: DType
    widest: int = 2**10
    """The most elements of a vector."""
    lines: bool = False
    """Whether rows are cut at lines of memory: longer ends, but no access crosses a line more."""
    device: Device = H200
    """What the kernels have to run on; they are tuned for the default, an H200."""

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return math.prod(self.shape)

    def tile(self, operand: Operand) -> Tile:
        """The Tile of an operand that is no sum over rows."""
        if operand.per == ELEMENT:
            return Tile("*B", *self.shape, operand.dtype)
        if operand.per == BLOCK:
            return Tile("*B", -(-self.columns // BLOCK_COLUMNS), operand.dtype)
        return (
            Tile(*self.shape, operand.dtype) if operand.per == COLUMN else Tile("*B", operand.dtype)
        )

    def vector(self, dtype: DType) -> Vector:
        """How elements of a type are moved."""
        return Vector(dtype, self.group, self.compute)

    @property
    def _least(self) -> int:
        """Bytes of an element of the narrowest type."""
        return min(dtype.bytes for dtype in self.types)

    @property
    def group(self) -> int:
        """Elements of a group: 16 bytes of the narrower type, more of the other."""
        return min(self.widest, PIECE // self._least)

    def divided(self) -> Rows:
        """The same rows in groups small enough to divide a row, so that it has no ends."""
        return replace(self, widest=math.gcd(self.columns, self.group))

    def is_even(self, threads: int) -> bool:
        """Whether so many threads, a power of two, have as many groups of a row each, and all."""
        return self.aligned and self.groups % threads == 0 and threads == power_of_two(threads)

    @property
    def unit(self) -> int:
        """Elements of what rows are cut in: a group, or a line of the narrower type."""
        return LINE // self._least if self.lines else self.group

    @property
    def alignments(self) -> int:
        """In how many ways rows are cut; 1 where every row starts with a full unit."""
        return self.unit // math.gcd(self.columns, self.unit)

    @property
    def aligned(self) -> bool:
        return self.alignments == 1

    @property
    def padded(self) -> int:
        """Elements of a partial sum of dw: a row, and room to move it so that groups align."""
        if self.aligned:
            return self.columns
        return -(-(self.columns + self.unit) // 4) * 4

    @property
    def groups(self) -> int:
        """The most full groups that a row has between its ends."""
        return self.columns // self.unit * (self.unit // self.group)

    def part(self, parts: int) -> int:
        """The most full groups of one of so many parts of a row, each of which has full units."""
        each = self.unit // self.group
        return -(-self.groups // (parts * each)) * each


Grid: TypeAlias = Callable[[Any], tuple[Any, int, int]]


def grid(sizes: Grid) -> Grid:
    """`sizes`, a grid for B rows; a lambda by itself has no types."""
    return sizes


def in_teams(thread: Reg, threads: int, teams: int) -> tuple[Reg, Reg]:
    """Which of the `threads` of a team a thread of the CTA is, and of which team."""
    if threads & (threads - 1) == 0:
        return thread & (threads - 1), thread >> (threads.bit_length() - 1)
    lane, team = reg.scalar(u32, init=thread), reg.scalar(u32, init=0)
    for first in range(threads, threads * teams, threads):
        later = thread >= first
        ptx.inst.sub.u32(lane, lane, threads, pred=later)
        ptx.inst.add.u32(team, team, 1, pred=later)
    return lane, team


class Part:
    """The full groups of a row that one CTA of `parts` handles, and which of them a thread has.

    `row` is a u32 register, and holds any row of those that are cut alike. Thread `lane` of
    `threads` has the groups lane, lane + threads, ... of the part, `each` of them at most; all
    registers here belong to the first one.
    """

    def __init__(
        self, rows: Rows, row: Reg, lane: Reg, threads: int, parts: int = 1, rank: Reg | None = None
    ) -> None:
        self.rows = rows
        self.lane = lane
        self.threads = threads
        shift = rows.group.bit_length() - 1
        self.most: Final = rows.part(parts)
        self.each: Final = -(-self.most // threads)
        self.flat: Final = row * rows.columns
        """The row's first element in the tensor, u64."""
        self.head: Reg | None = None
        self.tail: Reg | None = None
        groups = None
        if not rows.aligned:
            self.head, self.tail = _ends(rows, self.flat)
            groups = (reg.from_(rows.columns, u32) - self.head - self.tail) >> shift
        elif self.most * parts != rows.groups:
            groups = reg.from_(rows.groups, u32)
        before = None if rank is None else ptx.inst.mul.lo.u32(rank, self.most)
        lead = None if before is None else before << shift
        if self.head is not None:
            lead = self.head if lead is None else lead + self.head
        least = rows.groups if rows.aligned else rows.groups - rows.unit // rows.group
        self.fewest: Final = least - (parts - 1) * self.most
        """Groups that every part has at least; below 1 where a part may have none."""
        self.lead: Final = lead
        """Elements of a row before the part, u32; None for none. One number for rows cut alike."""
        start = self.flat if lead is None else self.flat + wide(lead)
        self.start: Final = start
        """The part's first element in the tensor, u64."""
        self.count: Final = None if groups is None else _count(groups, before, self.most)
        """Groups of the part, u32; None where it is always `most`."""
        first = lane if before is None else lane + before
        column = first << shift
        self.column: Final = column if self.head is None else column + self.head
        """The thread's first column, u32."""
        self.offset: Final = start + wide(lane << shift)
        """The thread's first element in the tensor, u64."""

    def active(self, k: int) -> Reg | None:
        """Whether the thread has a k-th group; None where every thread has one."""
        if self.count is not None:
            return self.lane + k * self.threads < self.count
        if (k + 1) * self.threads <= self.most:
            return None
        return self.lane < self.most - k * self.threads

    def column_of(self, k: int) -> Reg:
        """The first column of the thread's k-th group, u32."""
        return self.column + k * self.threads * self.rows.group if k else self.column

    def bytes_of(self, vector: Vector, pieces: range | None = None) -> int | Reg:
        """Bytes of the part in a tensor; a u32 register where the part's size is not fixed.

        `pieces` are the groups of each thread to count, a range of k; all of them by default.
        """
        first, most = 0, self.most
        if pieces is not None:
            first = pieces.start * self.threads
            most = min(len(pieces) * self.threads, self.most - first)
        if self.count is None:
            return most * vector.bytes
        count = _count(self.count, reg.from_(first, u32), most) if first else self.count
        if first == 0 and most < self.most:
            count = ptx.inst.min.u32(count, most)
        return ptx.inst.mul.lo.u32(count, vector.bytes)

    def may_lack(self, pieces: range) -> bool:
        """Whether there are rows of whose part no thread has any of these groups, a range of k."""
        return self.fewest <= pieces.start * self.threads

    def step(self, k: int, vector: Vector) -> int:
        """Bytes from the thread's first group to its k-th."""
        return k * self.threads * vector.bytes


def load_columns(
    part: Part, base: Reg, vector: Vector, active: Sequence[Reg | None], space: str = "global"
) -> list[list[Reg]]:
    """A thread's vectors of an array with one number for each column, as loaded."""
    first = base + wide(part.column) * vector.dtype.bytes
    return [_load_column(part, first, vector, k, ok, space) for k, ok in enumerate(active)]


def load_column(part: Part, base: Reg, vector: Vector, k: int, active: Reg | None) -> list[Reg]:
    """The k-th of these vectors, loaded where it is used: by a load that may be made earlier.

    The array is not written by the kernel.
    """
    first = base + wide(part.column) * vector.dtype.bytes
    return _load_column(part, first, vector, k, active, "global.nc")


def _load_column(
    part: Part, first: Reg, vector: Vector, k: int, active: Reg | None, space: str
) -> list[Reg]:
    if part.rows.aligned:
        return vector.load(space, first, part.step(k, vector), pred=active)
    return vector.gather(first, part.step(k, vector), pred=active)


class Ends:
    """The elements at the ends of a row, one for each of the first threads: `active` says which."""

    def __init__(self, part: Part, rank: Reg | None = None) -> None:
        assert part.head is not None, "rows that have no ends"
        assert part.tail is not None
        unit, columns = part.rows.unit, part.rows.columns
        in_head = part.lane < part.head
        behind = part.lane - unit
        in_tail = (part.lane >= unit) & (behind < part.tail)
        active = in_head | in_tail
        self.active: Final = active if rank is None else active & (rank == 0)
        warps = -(-2 * unit // WARP)
        assert warps * WARP <= part.threads
        self._warps = part.lane < warps * WARP if warps * WARP < part.threads else None
        last = reg.from_(columns, u32) - part.tail + behind
        self.column: Final = ptx.inst.selp.u32(part.lane, last, in_head)
        self.position: Final = part.flat + wide(self.column)
        """The element in the tensor, u64."""

    def there(self) -> AbstractContextManager[None]:
        """A block that only those warps run which may have ends."""
        return nullcontext() if self._warps is None else ptx.if_(self._warps)


def _ends(rows: Rows, flat: Reg) -> tuple[Reg, Reg]:
    """How many elements a row has before its first and after its last full unit, u32."""
    low = ptx.inst.cvt.u32.u64(flat)
    mask = rows.unit - 1
    head = (0 - low) & mask
    tail = (low + rows.columns % rows.unit) & mask
    return head, tail


def _count(groups: Reg, before: Reg | None, most: int) -> Reg:
    if before is None:
        return ptx.inst.min.u32(groups, most)
    left = reg.scalar(s32)
    ptx.inst.sub.s32(left, groups, before)
    count = reg.scalar(u32)
    ptx.inst.max.s32(count, ptx.inst.min.s32(left, most), 0)
    return count
