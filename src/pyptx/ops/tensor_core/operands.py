"""A and B on their way: tensor maps, stages of shared memory, and what `wgmma` reads of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyptx import Layout, Reg, SharedTile, Tensor, ptx, smem
from pyptx.ops.tensor_core.shape import SPAN, Major
from pyptx.types import DType


@dataclass(frozen=True, slots=True)
class Operand:
    """A or B: `lines` rows of A, or columns of B, for each of the stages."""

    dtype: DType
    lines: int
    k_major: bool
    batched: bool
    stages: SharedTile
    map: Any

    @property
    def bytes(self) -> int:
        """Of a stage."""
        return self.lines * SPAN

    def fetch(self, stage: Reg, full: Any, line: Reg, k: Reg, matrix: list[Reg]) -> None:
        """Have a stage filled, from this row or column and this value of K on. One thread."""
        after = matrix if self.batched else []
        copy = ptx.cp.async_.bulk.tensor_3d if self.batched else ptx.cp.async_.bulk.tensor_2d
        tile = self.stages[stage]
        if self.k_major:
            copy(dst=tile, src=self.map, coord=[k, line, *after], mbar=full)
            return
        width = SPAN // self.dtype.bytes
        for panel in range(0, self.lines, width):
            place = tile.address(0, panel)
            copy(dst=place, src=self.map, coord=[line + panel, k, *after], mbar=full)

    def descriptor(self, stage: Reg, k: int, line: Reg | int) -> Reg:
        """The matrix descriptor of what one instruction reads from this value of K and line on."""
        return ptx.wgmma.descriptor(self.stages[stage], k=k, mn=line)


def operand(tensor: Tensor, major: Major, lines: int, stages: int, batched: bool) -> Operand:
    """The stages of A or B, and its tensor map, whose boxes are as wide as a swizzle."""
    dtype = tensor.dtype
    depth = SPAN // dtype.bytes
    k_major = major == "K"
    whole = (stages, lines, depth) if k_major else (stages, depth, lines)
    box = (lines, depth) if k_major else (depth, SPAN // dtype.bytes)
    held = smem.wgmma_tile(dtype, whole, major)
    described = tensor.tma_desc((*((1,) if batched else ()), *box), layout=Layout.TMA_128B)
    return Operand(dtype, lines, k_major, batched, held, described)
