"""Rows on their way: a ring of stages in shared memory that bulk copies fill.

A stage holds the part of one row of every tensor that is read. Its mbarrier completes a phase when
all bytes are there; who may fill a stage again is up to the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyptx import Mbarrier, Reg, Tensor, ptx, reg, smem
from pyptx.ops.rms.arithmetic import address
from pyptx.ops.rms.elements import Group, advance, instruction, wide
from pyptx.ops.rms.geometry import Part
from pyptx.types import u8, u32

_BULK_COPY: Final = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
_LINE: Final = 128


@dataclass(frozen=True, slots=True)
class Source:
    """A tensor to read, in groups."""

    tensor: Tensor
    group: Group


class Ring:
    """`stages` stages for the rows of one team, of which there are `teams` in the CTA.

    Rows are fetched in order, `stride` rows apart; `next_row` is the one to fetch next, and only
    the thread that calls `fetch` changes it. Addresses are kept in registers of all threads where
    they are `held`, which fetches sooner, and computed anew for each row otherwise.
    """

    def __init__(
        self,
        part: Part,
        sources: Sequence[Source],
        row: Reg,
        rows: Reg,
        *,
        stages: int,
        stride: int,
        teams: int = 1,
        team: Reg | None = None,
        held: bool = False,
    ) -> None:
        self.part = part
        self.stages = stages
        self._sources = sources
        self._rows = rows
        self._stride = stride
        self._sizes = [part.bytes_of(source.group) for source in sources]
        self._offsets: list[int] = []
        end = 0
        for source in sources:
            self._offsets.append(end)
            end += _rounded(part.most * source.group.bytes)
        self.stage_bytes: Final = end
        self._base = address(smem.alloc(u8, teams * stages * end, align=_LINE))
        bars = smem.mbarrier(teams * stages)
        self._bars = reg.from_(bars, u32)
        if team is not None:
            self._base = ptx.inst.mad.lo.u32(team, stages * end, self._base)
            self._bars = ptx.inst.mad.lo.u32(team, stages * 8, self._bars)
        self.next_row = reg.scalar(u32, init=row)
        self._held = [self._address(source, part.start) for source in sources] if held else None

    def init(self) -> None:
        """Make the mbarriers; one thread of the team calls it before it fetches."""
        for stage in range(self.stages):
            ptx.mbarrier.init(ptx.addr(self._bars, 8 * stage), 1)

    def fetch_first(self) -> None:
        """Fetch a row into every stage."""
        for stage in range(self.stages):
            self.fetch(reg.from_(stage, u32))

    def fetch(self, stage: Reg) -> None:
        """Fetch the next row into a stage, if there is one. One thread of the team calls it."""
        with ptx.if_(self.next_row < self._rows):
            bar = self.arrived(stage)
            here = self.place(stage)
            total = self._sizes[0]
            for size in self._sizes[1:]:
                total = total + size
            ptx.inst.mbarrier.arrive.expect_tx.shared.b64(ptx.sink, bar, total)
            addresses = self._held or self._addresses()
            for source, offset, size in zip(addresses, self._offsets, self._sizes, strict=True):
                instruction(_BULK_COPY)(ptx.addr(here, offset), ptx.addr(source), size, bar)
        self.next_row += self._stride
        for pointer, source in zip(self._held or (), self._sources, strict=False):
            advance(pointer, self._stride * self.part.rows.columns * source.group.dtype.bytes)

    def _addresses(self) -> list[Reg]:
        """Where the next row is, in each source."""
        first = self.next_row * self.part.rows.columns
        if self.part.lead is not None:
            first = first + wide(self.part.lead)
        return [self._address(source, first) for source in self._sources]

    @staticmethod
    def _address(source: Source, element: Reg) -> Reg:
        (base,) = ptx.global_ptrs(source.tensor)
        return base + element * source.group.dtype.bytes

    def arrived(self, stage: Reg) -> Mbarrier:
        """The mbarrier of a stage."""
        return ptx.mbarrier.at(ptx.inst.mad.lo.u32(stage, 8, self._bars))

    def place(self, stage: Reg) -> Reg:
        """The address of a stage."""
        return ptx.inst.mad.lo.u32(stage, self.stage_bytes, self._base)

    def groups(self, stage: Reg) -> list[Reg]:
        """The addresses of the thread's first group in a stage, one for each source."""
        here = self.place(stage)
        return [
            ptx.inst.mad.lo.u32(self.part.lane, source.group.bytes, here + offset)
            for source, offset in zip(self._sources, self._offsets, strict=True)
        ]


class Counter:
    """Which stage (or slot) of `size` comes next, and the parity of its phase."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.index = reg.scalar(u32, init=0)
        self.parity = reg.scalar(u32, init=0)

    def advance(self) -> None:
        self.index += 1
        wrapped = self.index == self._size
        ptx.inst.mov.u32(self.index, 0, pred=wrapped)
        ptx.inst.xor.b32(self.parity, self.parity, 1, pred=wrapped)


def _rounded(size: int) -> int:
    return -(-size // _LINE) * _LINE
