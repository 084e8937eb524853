"""Sums of a tile that several CTAs make: each of them adds up some of its columns.

The units of a tile's sums, 64 rows of some columns each, are divided among its CTAs. A CTA writes
its sums of the others' units to the workspace and releases a flag; then it adds the others' sums to
those of its own units. CTAs that wait for each other must run at the same time: the kernel is
launched cooperatively.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from pyptx import Reg, Tensor, Tile, ptx, reg
from pyptx.ops._divide import by_number
from pyptx.ops.tensor_core.schedule import Share, low
from pyptx.ops.tensor_core.shape import ROWS, WARPGROUP, Shape, barrier_of
from pyptx.types import DType, f32, u32

VECTOR: Final = 4
"""Sums that a thread writes or loads at once."""
_MOST_AT_ONCE = 4
_FREE = 200
"""Registers of a thread, for its own sums and those that it loads."""


def registers(shape: Shape) -> int:
    """Of a block of a warpgroup's sums, in each thread."""
    return ROWS * shape.columns // WARPGROUP


def tiles(shape: Shape, ctas: int, over: Sequence[str], dtype: DType) -> tuple[Tile, Tile]:
    """The sums and the flags; no more tiles are split than there are CTAs, into two on average."""
    slots = 2 * ctas * shape.blocks * shape.per_tile
    each = registers(shape) // VECTOR
    return (
        Tile(slots, each, WARPGROUP, VECTOR, dtype, sum_over=tuple(over), partial=True),
        Tile(slots, u32, sum_over=tuple(over), init=0),
    )


@dataclass(frozen=True, slots=True)
class Workspace:
    """The tensors of `tiles`."""

    sums: Tensor
    flags: Tensor
    shape: Shape

    def owned(self, share: Share, unit: int, units: int, block: int, group: Reg) -> Reg:
        """Whether this CTA adds up this one of the `units` of a block of this warpgroup's sums."""
        number: Reg | int = unit + units * block
        each = units * self.shape.blocks
        if self.shape.per_tile > 1:
            number = low(group, each) + number
        owner = by_number(low(share.adding, number), each * self.shape.per_tile)
        return share.index == owner

    def _slot(self, share: Share, index: Reg, block: int, group: Reg) -> Reg:
        slot = low(share.slot + index, self.shape.blocks) + block
        each = self.shape.per_tile
        return slot if each == 1 else low(slot, each) + group

    def _place(self, share: Share, index: Reg, where: tuple[int, Reg, Reg]) -> object:
        """The address of what a lane has of a block in a CTA's slot: the other addresses are so
        many bytes from it."""
        block, group, lane = where
        return self.sums.address(self._slot(share, index, block, group), 0, lane, 0)

    def give(
        self, share: Share, where: tuple[int, Reg, Reg], values: Sequence[Reg],
        parts: Sequence[tuple[Reg, Sequence[range]]],
    ) -> None:  # fmt: skip
        """Write those parts of this CTA's sums of a block, of which a thread has `values`, that
        are another CTA's to add up."""
        place, store = self._place(share, share.index, where), ptx.inst[f"st.global.v4.{self.kind}"]
        for mine, some in parts:
            with ptx.if_(~mine):
                for i in (i for part in some for i in part[::VECTOR]):
                    store(ptx.addr(place, self._bytes(i)), list(values[i : i + VECTOR]))

    def _bytes(self, number: int) -> int:
        """From a thread's first sum to one of this number."""
        return number * WARPGROUP * self.sums.dtype.bytes

    @property
    def kind(self) -> str:
        """The type of the sums."""
        return self.sums.dtype.name

    def release(self, share: Share, block: int, group: Reg, lane: Reg) -> None:
        """Say that all units of a block have been given; all threads of a warpgroup."""
        barrier_of(group).sync()
        flag = self.flags.address(self._slot(share, share.index, block, group))
        ptx.inst.st.release.gpu.global_.u32(flag, 1, pred=lane == 0)

    def wait(self, share: Share, block: int, group: Reg, lane: Reg) -> None:
        """Until the tile's other CTAs have given theirs: each lane waits for one of them."""
        with ptx.if_((lane < share.count) & (lane != share.index)):
            flag = self.flags.address(self._slot(share, lane, block, group))
            with ptx.loop():
                there = ptx.inst.ld.acquire.gpu.global_.u32(flag)
                ptx.break_(pred=there != 0)
        barrier_of(group).sync()

    def add(
        self, share: Share, where: tuple[int, Reg, Reg], values: Sequence[Reg], part: range
    ) -> None:
        """Add what the tile's other CTAs have of a part of a block, in their order.

        Sums of several are loaded at once where registers allow it, since each load waits for the
        L2 cache.
        """
        others = share.count - 1
        free = _FREE - registers(self.shape) * self.shape.blocks
        at_once = max(1, min(_MOST_AT_ONCE, free // len(part)))
        for i in ptx.range_(0, others, at_once, dtype=u32):
            there = [None, *(i + j < others for j in range(1, at_once))]
            found = [self._load(share, where, i + j, part, pred) for j, pred in enumerate(there)]
            for sums, pred in zip(found, there, strict=True):
                with nullcontext() if pred is None else ptx.if_(pred):
                    for number, other in zip(part, sums, strict=True):
                        _add(values[number], other)

    def _load(
        self, share: Share, where: tuple[int, Reg, Reg], other: Reg, part: range, pred: Reg | None
    ) -> list[Reg]:
        """The sums of a part of a block of one of the other CTAs, counted without this one."""
        index = other + ptx.inst.selp.u32(1, 0, other >= share.index)
        place, load = self._place(share, index, where), ptx.inst[f"ld.global.v4.{self.kind}"]
        # Without a value, registers of a load that may not be made would be kept from the first on.
        init = None if pred is None else 0
        found = [reg.scalar(self.sums.dtype, init=init) for _ in part]
        for at, i in enumerate(part[::VECTOR]):
            four = found[at * VECTOR : (at + 1) * VECTOR]
            load(four, ptx.addr(place, self._bytes(i)), pred=pred)
        return found


def _add(value: Reg, other: Reg) -> None:
    """In place, by one instruction: `set` would be a second one, which the assembler takes out."""
    if value.dtype is f32:
        ptx.inst.add.rn.f32(value, value, other)
    else:
        ptx.inst.add.s32(value, value, other)
