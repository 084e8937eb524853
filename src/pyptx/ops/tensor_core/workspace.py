"""Sums of a tile that several CTAs make: two of them add up one half each.

A block of a warpgroup's sums is added up by one of the tile's CTAs, the first of them or the last.
The others write theirs to the workspace and then release a flag. CTAs that wait for each other must
run at the same time: the kernel is launched cooperatively.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from pyptx import Reg, Tensor, Tile, ptx
from pyptx.ops.tensor_core.schedule import Share, low
from pyptx.ops.tensor_core.shape import ROWS, WARPGROUP, Shape, barrier_of
from pyptx.types import DType, u32

_VECTOR = 4
_MOST_AT_ONCE = 4
_FREE = 200
"""Registers of a thread, for its own sums and those that it loads."""


def registers(shape: Shape) -> int:
    """Of a block of a warpgroup's sums, in each thread."""
    return ROWS * shape.columns // WARPGROUP


def tiles(shape: Shape, ctas: int, over: Sequence[str], dtype: DType) -> tuple[Tile, Tile]:
    """The sums and the flags; no more tiles are split than there are CTAs, into two on average."""
    slots = 2 * ctas * shape.blocks * shape.per_tile
    each = registers(shape) // _VECTOR
    return (
        Tile(slots, each, WARPGROUP, _VECTOR, dtype, sum_over=tuple(over), partial=True),
        Tile(slots, u32, sum_over=tuple(over), init=0),
    )


@dataclass(frozen=True, slots=True)
class Workspace:
    """The tensors of `tiles`."""

    sums: Tensor
    flags: Tensor
    shape: Shape

    def adds_up(self, share: Share, block: int, group: Reg) -> Reg:
        """Whether this CTA adds up a block of this warpgroup's sums: one half is the first share's,
        the other the owner's, so that two CTAs read at a time."""
        if self.shape.blocks == 1 and self.shape.per_tile > 1:
            return share.index == ptx.inst.selp.u32(share.owner, 0, (group & 1) > 0)
        return share.index == (share.owner if block else 0)

    def _slot(self, share: Share, index: Reg, block: int, group: Reg) -> Reg:
        slot = low(share.slot + index, self.shape.blocks) + block
        each = self.shape.per_tile
        return slot if each == 1 else low(slot, each) + group

    def give(self, share: Share, block: int, group: Reg, lane: Reg, values: Sequence[Reg]) -> None:
        """Write a block of this CTA's sums; all threads of a warpgroup."""
        slot = self._slot(share, share.index, block, group)
        for i in range(0, len(values), _VECTOR):
            self.sums.store(slot, i // _VECTOR, lane, 0, values[i : i + _VECTOR])
        barrier_of(group).sync()
        flag = self.flags.address(slot)
        ptx.inst.st.release.gpu.global_.u32(flag, 1, pred=lane == 0)

    def take(self, share: Share, block: int, group: Reg, lane: Reg, values: Sequence[Reg]) -> None:
        """Add what the tile's other CTAs have of a block, in their order.

        Each lane waits for one of them. Sums of several are loaded at once where registers allow
        it, since each load waits for the L2 cache.
        """
        with ptx.if_((lane < share.count) & (lane != share.index)):
            flag = self.flags.address(self._slot(share, lane, block, group))
            with ptx.loop():
                there = ptx.inst.ld.acquire.gpu.global_.u32(flag)
                ptx.break_(pred=there != 0)
        barrier_of(group).sync()
        others = share.count - 1
        at_once = max(1, min(_MOST_AT_ONCE, _FREE // len(values) - 1))
        for i in ptx.range_(0, others, at_once, dtype=u32):
            there = [None, *(i + j < others for j in range(1, at_once))]
            found = [
                self._load(share, (block, group, lane), i + j, len(values), pred)
                for j, pred in enumerate(there)
            ]
            for sums, pred in zip(found, there, strict=True):
                with nullcontext() if pred is None else ptx.if_(pred):
                    for value, other in zip(values, sums, strict=True):
                        value.set(value + other)

    def _load(
        self, share: Share, where: tuple[int, Reg, Reg], other: Reg, count: int, pred: Reg | None
    ) -> list[Reg]:
        """The sums of one of the other CTAs, counted without this one."""
        block, group, lane = where
        index = other + ptx.inst.selp.u32(1, 0, other >= share.index)
        slot = self._slot(share, index, block, group)
        more: dict[str, Any] = {} if pred is None else {"pred": pred, "other": 0}
        return [
            value
            for i in range(0, count, _VECTOR)
            for value in self.sums.load(slot, i // _VECTOR, lane, 0, vector=_VECTOR, **more)
        ]
