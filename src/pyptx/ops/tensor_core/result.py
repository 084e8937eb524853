"""D: from the registers of a warpgroup through shared memory to global memory."""

from __future__ import annotations

from collections.abc import Sequence

from pyptx import Layout, Reg, Tensor, ptx, smem
from pyptx.ops.tensor_core.schedule import Place, low
from pyptx.ops.tensor_core.shape import ROWS, SPAN, Product, Shape, barrier_of
from pyptx.types import bf16, f16


class Result:
    """What a warpgroup has made is copied by its thread 0, while the next tile is multiplied."""

    def __init__(self, D: Tensor, product: Product, shape: Shape) -> None:
        self.dtype = D.dtype
        self.shape = shape
        self.batched = product.batched
        self.width = SPAN // D.dtype.bytes
        held = (shape.groups * shape.panels, ROWS, self.width)
        self.held = smem.alloc(D.dtype, held, swizzle="128B")
        box = (*((1,) if self.batched else ()), *held[1:])
        self.map = D.tma_desc(box, layout=Layout.TMA_128B)

    def write(self, place: Place, block: int, group: Reg, lane: Reg, values: Sequence[Reg]) -> None:
        """Write a block of a tile: `values` are a warpgroup's sums of 64 rows, f32."""
        shape, barrier = self.shape, barrier_of(group)
        panels = shape.columns // self.width
        first = low(group, shape.panels)
        row = place.row + low(group, ROWS * shape.blocks)
        row = row + ROWS * block if block else row
        for begin in range(0, panels, shape.panels):
            some = range(begin, min(begin + shape.panels, panels))
            with ptx.if_(lane == 0):
                ptx.cp.async_.bulk.wait_group(0, read=True)
            barrier.sync()
            for panel in some:
                each = len(values) // panels
                own = values[panel * each : (panel + 1) * each]
                self._store(own, first + (panel - begin), lane)
            ptx.fence.proxy_async("shared::cta")
            barrier.sync()
            with ptx.if_(lane == 0):
                for panel in some:
                    self._copy(
                        first + (panel - begin), row, place.column + panel * self.width, place
                    )
                ptx.cp.async_.bulk.commit_group()

    def _copy(self, slot: Reg, row: Reg, column: Reg, place: Place) -> None:
        copy = ptx.cp.async_.bulk.tensor_3d if self.batched else ptx.cp.async_.bulk.tensor_2d
        copy.store(dst=self.map, src=self.held[slot], coord=[column, row, *place.matrix])

    def _store(self, values: Sequence[Reg], slot: Reg, lane: Reg) -> None:
        """A panel to shared memory: of each 8 columns a thread has 2 in one row, 2 eight below."""
        warp, within = lane >> 5, lane & 31
        if self.dtype in (bf16, f16):
            row = (warp << 4) + (within & 15)
            pack = ptx.inst[f"cvt.rn.{self.dtype}x2.f32"]
            packed = [pack(values[i + 1], values[i]) for i in range(0, len(values), 2)]
            for i in range(0, len(packed), 4):
                where = self.held.address(slot, row, ((within >> 4) << 3) + 4 * i)
                ptx.stmatrix(smem=where, regs=packed[i : i + 4])
            return
        row, column = (warp << 4) + (within >> 2), (within & 3) << 1
        for i in range(0, len(values), 4):
            for half in range(2):
                place = self.held.address(slot, row + 8 * half, column + 2 * i)
                own = values[i + 2 * half : i + 2 * half + 2]
                ptx.inst.st.shared.v2.f32(place, list(own))

    def finish(self, lane: Reg) -> None:
        """Wait for the last copies: shared memory is theirs until then."""
        with ptx.if_(lane == 0):
            ptx.cp.async_.bulk.wait_group(0)
