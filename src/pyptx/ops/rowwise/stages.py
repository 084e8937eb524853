"""Stages: rows on their way, in a ring of shared memory that bulk copies fill.

A stage holds a piece of a row, or all of its part, of every tensor that is read. Its mbarrier
completes a phase when all bytes are there; who may fill a stage again is up to the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from pyptx import Mbarrier, Pred, Reg, Tensor, ptx, reg, smem
from pyptx.ops.rowwise.exchange import address
from pyptx.ops.rowwise.partition import Part
from pyptx.ops.rowwise.vectors import (
    LINE,
    Vector,
    advance,
    async_load,
    bulk_load,
    rounded_up,
    wide,
)
from pyptx.types import u8, u32


@dataclass(frozen=True, slots=True)
class Source:
    """A tensor to read, in vectors."""

    tensor: Tensor
    vector: Vector


class Ring:
    """`stages` stages for the rows of one team, of which there are `teams` in the CTA.

    A row comes in `pieces` at most, which have the same number of vectors of each thread:
    `ks(piece)` says which. Rows are fetched in order, `stride` rows apart; `next_row` is the one to
    fetch next, and only the thread that calls `fetch` changes it. Addresses are kept in registers
    of all threads where they are `held`, which fetches sooner, and computed anew for each row
    otherwise.
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
        pieces: int = 1,
    ) -> None:
        self.part = part
        self.stages = stages
        self._each = -(-part.each // pieces)
        self.pieces: Final = -(-part.each // self._each)
        self._sources = sources
        self._rows = rows
        self._stride = stride
        self._sizes = [
            [part.bytes_of(source.vector, self.ks(piece)) for source in sources]
            for piece in range(self.pieces)
        ]
        most = min(part.most, self._each * part.threads)
        self._offsets: list[int] = []
        end = 0
        for source in sources:
            self._offsets.append(end)
            end += rounded_up(most * source.vector.bytes)
        self.stage_bytes: Final = end
        self._base = address(smem.alloc(u8, teams * stages * end, align=LINE))
        bars = self._mbarriers(teams * stages)
        if team is not None:
            self._base = ptx.inst.mad.lo.u32(team, stages * end, self._base)
            bars = None if bars is None else ptx.inst.mad.lo.u32(team, stages * 8, bars)
        self._bars = bars
        self.next_row = reg.scalar(u32, init=row)
        self._held = [self._address(source, part.start) for source in sources] if held else None

    def _mbarriers(self, count: int) -> Reg | None:
        """The address of the mbarriers of all stages."""
        return reg.from_(smem.mbarrier(count), u32)

    @staticmethod
    def threads(leader: Pred) -> AbstractContextManager[None]:
        """A block for the threads that fetch: the one of each team where `leader` holds."""
        return ptx.if_(leader)

    def init(self) -> None:
        """Make the mbarriers; one thread of the team calls it before it fetches."""
        for stage in range(self.stages):
            assert self._bars is not None
            ptx.mbarrier.init(ptx.addr(self._bars, 8 * stage), 1)

    def ks(self, piece: int) -> range:
        """Which of a thread's vectors a piece has."""
        return range(piece * self._each, min((piece + 1) * self._each, self.part.each))

    def begin(self) -> None:
        """Make the mbarriers and fetch a row into every stage. One thread of the team."""
        self.init()
        ptx.fence.mbarrier_init()
        for stage in range(self.stages):
            self.fetch(reg.from_(stage, u32))

    def fetch(self, stage: Reg, piece: int = 0) -> None:
        """Fetch a piece of the next row into a stage, if there is one. One thread of the team."""
        sizes = self._sizes[piece]
        with ptx.if_(self.next_row < self._rows):
            bar = self.arrived(stage)
            here = self.place(stage)
            total = sizes[0]
            for size in sizes[1:]:
                total = total + size
            ptx.inst.mbarrier.arrive.expect_tx.shared.b64(ptx.sink, bar, total)
            starts = self._held or self._addresses()
            for start, source, offset, size in zip(
                starts, self._sources, self._offsets, sizes, strict=True
            ):
                first = self.part.step(self.ks(piece).start, source.vector)
                # what lies after a part that has nothing to copy may be no memory
                lacks = isinstance(size, Reg) and self.part.may_lack(self.ks(piece))
                with ptx.if_(reg.from_(size, u32) > 0) if lacks else nullcontext():
                    bulk_load(ptx.addr(here, offset), ptx.addr(start, first), size, bar)
        if piece == self.pieces - 1:
            self._next()

    def _next(self) -> None:
        """Go on to the next row."""
        self.next_row += self._stride
        for pointer, source in zip(self._held or (), self._sources, strict=False):
            advance(pointer, self._stride * self.part.rows.columns * source.vector.dtype.bytes)

    def _addresses(self) -> list[Reg]:
        """Where the next row is, in each source."""
        first = self.next_row * self.part.rows.columns
        if self.part.lead is not None:
            first = first + wide(self.part.lead)
        return [self._address(source, first) for source in self._sources]

    @staticmethod
    def _address(source: Source, element: Reg) -> Reg:
        (base,) = ptx.global_ptrs(source.tensor)
        return base + element * source.vector.dtype.bytes

    def wait(self, stage: Counter) -> None:
        """Wait until the stage that comes next has been filled."""
        self.arrived(stage.index).wait(stage.parity)

    def arrived(self, stage: Reg) -> Mbarrier:
        """The mbarrier of a stage."""
        assert self._bars is not None
        return ptx.mbarrier.at(ptx.inst.mad.lo.u32(stage, 8, self._bars))

    def place(self, stage: Reg) -> Reg:
        """The address of a stage."""
        return ptx.inst.mad.lo.u32(stage, self.stage_bytes, self._base)

    def places(self, stage: Reg) -> list[Reg]:
        """The addresses of the thread's first vector in a stage, one for each source."""
        here = self.place(stage)
        return [
            ptx.inst.mad.lo.u32(self.part.lane, source.vector.bytes, here + offset)
            for source, offset in zip(self._sources, self._offsets, strict=True)
        ]


class ThreadRing(Ring):
    """The same for devices without bulk copies: each thread fetches what it reads, by `cp.async`.

    All threads of the team call `begin` and `fetch`, the latter for the stages in turn, and wait
    for the groups of copies in the order in which they were made. A row comes in one piece.
    """

    def _mbarriers(self, count: int) -> None:
        """None: a thread waits for its own copies."""

    @staticmethod
    def threads(leader: Pred) -> AbstractContextManager[None]:
        del leader
        return nullcontext()

    def begin(self) -> None:
        for stage in range(self.stages):
            self.fetch(reg.from_(stage, u32))

    def fetch(self, stage: Reg, piece: int = 0) -> None:
        assert self.pieces == 1
        assert piece == 0
        part = self.part
        with ptx.if_(self.next_row < self._rows):
            starts = self._held or self._addresses()
            for to, start, source in zip(self.places(stage), starts, self._sources, strict=True):
                vector = source.vector
                mine = start + wide(ptx.inst.mul.lo.u32(part.lane, vector.bytes))
                for k in range(part.each):
                    async_load(to, mine, part.step(k, vector), vector.bytes, pred=part.active(k))
        ptx.inst.cp.async_.commit_group()  # of nothing too, so that groups can be counted
        self._next()

    def wait(self, stage: Counter) -> None:
        del stage
        ptx.inst.cp.async_.wait_group(self.stages - 1)


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
