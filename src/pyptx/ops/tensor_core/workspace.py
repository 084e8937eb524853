"""Sums of a tile that several CTAs make: each writes its own, and one adds them up.

A block of a warpgroup's sums is added up by one of the tile's CTAs, the first of them or the last.
The others write theirs to the workspace and then release a flag. CTAs that wait for each other must
run at the same time: the kernel is launched cooperatively.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyptx import Reg, Tensor, Tile, ptx
from pyptx.ops.tensor_core.schedule import Share, low
from pyptx.ops.tensor_core.shape import ROWS, WARPGROUP, Shape, barrier_of
from pyptx.types import DType, u32

_VECTOR = 4


def registers(shape: Shape) -> int:
    """Of a block of a warpgroup's sums, in each thread."""
    return ROWS * shape.columns // WARPGROUP


def tiles(shape: Shape, ctas: int, over: Sequence[str], dtype: DType) -> tuple[Tile, Tile]:
    """The sums and the flags; no more tiles are split than there are CTAs, into two on average."""
    slots = 2 * ctas * shape.blocks * shape.groups
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

    def _slot(self, share: Share, index: Reg, block: int, group: Reg) -> Reg:
        return low(low(share.slot + index, self.shape.blocks) + block, self.shape.groups) + group

    def give(self, share: Share, block: int, group: Reg, lane: Reg, values: Sequence[Reg]) -> None:
        """Write a block of this CTA's sums; all threads of a warpgroup."""
        slot = self._slot(share, share.index, block, group)
        for i in range(0, len(values), _VECTOR):
            self.sums.store(slot, i // _VECTOR, lane, 0, values[i : i + _VECTOR])
        barrier_of(group).sync()
        flag = self.flags.address(slot)
        ptx.inst.st.release.gpu.global_.u32(flag, 1, pred=lane == 0)

    def take(self, share: Share, block: int, group: Reg, lane: Reg, values: Sequence[Reg]) -> None:
        """Add what the tile's other CTAs have of a block, in their order."""
        for index in ptx.range_(0, share.count, dtype=u32):
            with ptx.if_(index != share.index):
                slot = self._slot(share, index, block, group)
                flag = self.flags.address(slot)
                with ptx.if_(lane == 0), ptx.loop():
                    there = ptx.inst.ld.acquire.gpu.global_.u32(flag)
                    ptx.break_(pred=there != 0)
                barrier_of(group).sync()
                for i in range(0, len(values), _VECTOR):
                    found = self.sums.load(slot, i // _VECTOR, lane, 0, vector=_VECTOR)
                    for j, other in enumerate(found):
                        values[i + j].set(values[i + j] + other)
