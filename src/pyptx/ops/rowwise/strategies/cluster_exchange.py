"""How the statistics of the warps and CTAs that share a row become that of the row.

Warps put theirs into a slot of the CTA's shared memory, and one warp sends them on. A slot is for
one row at a time: `Shape.slots` rows can be on their way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pyptx import Reg, Tensor, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.rowwise.exchange import address, load_of_warps, store_of_warp
from pyptx.ops.rowwise.stages import Counter
from pyptx.ops.rowwise.statistics import Statistic
from pyptx.ops.rowwise.strategies.cluster_shape import Cta, words
from pyptx.ops.rowwise.vectors import PIECE, wide
from pyptx.types import DType, b32, u32, u64

COMPUTING: Final = 1  # a barrier of the threads that compute; 0 is the whole CTA's


class Exchange:
    """Within a CTA that takes a row by itself."""

    def __init__(self, cta: Cta, statistic: Statistic) -> None:
        shape = cta.shape
        self.cta, self.m, self.statistic = cta, cta.m, statistic
        numbers = shape.warps * statistic.count
        self._of_warps = address(smem.alloc(self.m.dtype, (shape.slots, numbers), align=PIECE))

    def init(self) -> None:
        """Make the mbarriers, one thread."""

    def put(self, slot: Reg, values: Sequence[Reg]) -> None:
        """Give what each thread has of the row; all threads that compute call it."""
        shape = self.cta.shape
        store_of_warp(
            self.m, self.statistic, values, self.cta.thread, self._place(slot), shape.warps
        )
        ptx.bar.sync(COMPUTING, shape.threads)
        if shape.parts > 1:
            with ptx.if_(self.cta.thread < WARP):
                self._send(slot)

    def get(self, slot: Counter) -> list[Reg]:
        """The statistic of the row, combined in the same order everywhere."""
        return self._of_cta(slot.index)

    def release(self, slot: Reg) -> None:
        """Say that the warp has read the statistic."""

    def deliver(self) -> None:
        """What a warp of its own does, for all rows of the team."""

    def _send(self, slot: Reg) -> None:
        """One warp: give the CTA's statistic to all CTAs of the team."""
        raise NotImplementedError

    def _place(self, slot: Reg) -> Reg:
        """Where the warps of this CTA put their statistics."""
        bytes_ = self.cta.shape.warps * self.statistic.count * self.m.dtype.bytes
        return ptx.inst.mad.lo.u32(slot, bytes_, self._of_warps)

    def _of_cta(self, slot: Reg) -> list[Reg]:
        """The CTA's statistic, in all lanes of a warp."""
        warps = self.cta.shape.warps
        return load_of_warps(self.m, self.statistic, self.cta.thread, self._place(slot), warps)


class _Letters(Exchange):
    """Between CTAs: what others send arrives in shared memory, and an mbarrier says that it has."""

    def __init__(self, cta: Cta, statistic: Statistic) -> None:
        super().__init__(cta, statistic)
        self._each = cta.shape.letter(self.m.dtype)
        size = statistic.count * self._each
        self._letters = smem.alloc(self.m.dtype, (cta.shape.slots, size), align=PIECE)
        self.read = smem.mbarrier(cta.shape.slots)

    def init(self) -> None:
        self.read.init(1)

    def _letter(self, slot: Reg) -> Reg:
        """Where the numbers of a row arrive."""
        bytes_ = self._letters.shape[1] * self.m.dtype.bytes
        return ptx.inst.mad.lo.u32(slot, bytes_, address(self._letters))


class ThroughCluster(_Letters):
    """Between the CTAs of a cluster, through distributed shared memory."""

    def _send(self, slot: Reg) -> None:
        cta, bytes_ = self.cta, self.m.dtype.bytes
        parts, count = cta.shape.parts, self.statistic.count
        totals = self._of_cta(slot)
        read = self.read[slot]
        with ptx.if_(cta.thread == 0):
            read.arrive_expect_tx(parts * count * bytes_)
        with ptx.if_(cta.thread < parts):  # lane i to CTA i
            mine = ptx.inst.mad.lo.u32(cta.rank, bytes_, self._letter(slot))
            there = ptx.cluster.map_shared_rank(mine, cta.thread)
            bar = ptx.cluster.map_shared_rank(read, cta.thread)
            kind = f"st.async.shared::cluster.mbarrier::complete_tx::bytes.b{8 * bytes_}"
            for i, total in enumerate(totals):
                ptx.inst[kind](ptx.addr(there, i * self._each * bytes_), total, ptx.addr(bar))

    def get(self, slot: Counter) -> list[Reg]:
        self.read[slot.index].wait(slot.parity, cluster=True)
        place, bytes_ = self._letter(slot.index), self.m.dtype.bytes
        numbers = [
            self._numbers(place, i * self._each * bytes_) for i in range(self.statistic.count)
        ]
        return self.statistic.combine(self.m, list(zip(*numbers, strict=True)))

    def _numbers(self, place: Reg, offset: int) -> list[Reg]:
        """One number of each CTA."""
        dtype, parts = self.m.dtype, self.cta.shape.parts
        found: list[Reg] = []
        while left := parts - len(found):
            size = min(PIECE // dtype.bytes, 1 << left.bit_length() - 1)
            some = [reg.scalar(dtype) for _ in range(size)]
            load = ptx.inst[f"ld.shared{f'.v{size}' if size > 1 else ''}.{dtype.name}"]
            at = ptx.addr(place, offset + len(found) * dtype.bytes)
            load(some if size > 1 else some[0], at)
            found += some
        return found


class ThroughMemory(_Letters):
    """Between CTAs that are more than a cluster, through global memory.

    `mail` is [rows, parts * words] of u64 and zeros at first. A warp of each CTA, which does
    nothing else, waits for the words of all CTAs of the team, combines what they carry, and hands
    it on to the other warps. Two or three such warps read so often that words arrive later.
    """

    def __init__(self, cta: Cta, statistic: Statistic, mail: Tensor) -> None:
        (self._mail,) = ptx.global_ptrs(mail)
        super().__init__(cta, statistic)
        self._free = smem.mbarrier(cta.shape.slots)
        self._halves = self.m.dtype.bytes // 4
        self._words = words(statistic, self.m.dtype)

    def init(self) -> None:
        super().init()
        self._free.init(self.cta.shape.warps)

    def get(self, slot: Counter) -> list[Reg]:
        self.read[slot.index].wait(slot.parity)
        place, bytes_ = self._letter(slot.index), self.m.dtype.bytes
        totals = [self.m.zero() for _ in range(self.statistic.count)]
        for i, total in enumerate(totals):
            self.m.load(total, ptx.addr(place, i * self._each * bytes_))
        return totals

    def release(self, slot: Reg) -> None:
        ptx.inst.bar.warp.sync(0xFFFFFFFF)
        with ptx.if_(self.cta.leads_warp):
            self._free[slot].arrive()

    def _send(self, slot: Reg) -> None:
        totals = self._of_cta(slot)
        with ptx.if_(self.cta.thread == 0):
            first = self._box(self.cta.row, self.cta.rank)
            mark = reg.scalar(b32, init=1)
            for i, half in enumerate(half for total in totals for half in self._split(total)):
                word = reg.scalar(u64)
                ptx.inst.mov.b64(word, [half, mark])
                ptx.inst.st.relaxed.gpu.global_.u64(ptx.addr(first, 8 * i), word)

    def _split(self, value: Reg) -> list[Reg]:
        """A number in registers of 32 bits."""
        if self._halves == 1:
            return [value]
        halves = [reg.scalar(b32), reg.scalar(b32)]
        ptx.inst.mov.b64(halves, value)
        return halves

    def _box(self, row: Reg, rank: Reg) -> Reg:
        """The address of the words of a CTA for a row."""
        index = row * self.cta.shape.parts + wide(rank)
        return self._mail + index * (8 * self._words)

    def deliver(self) -> None:
        cta, shape, m = self.cta, self.cta.shape, self.m
        lane = cta.thread & (WARP - 1)
        row = reg.scalar(u32, init=cta.team)
        place = self._box(row, lane)
        slot = Counter(shape.slots)
        with ptx.while_(lambda: row < cta.total):
            boxes = self._wait(place, lane)
            totals = self._combine([self._value(box) for box in boxes])
            with ptx.if_(lane == 0):
                # A slot is free once all warps have read what it held; at first all of them are.
                self._free[slot.index].wait(slot.parity ^ 1)
                letter = self._letter(slot.index)
                for i, total in enumerate(totals):
                    m.store(ptx.addr(letter, i * self._each * m.dtype.bytes), total)
                self.read[slot.index].arrive()
            slot.advance()
            row += shape.teams
            place += shape.teams * shape.parts * self._words * 8

    def _wait(self, place: Reg, lane: Reg) -> list[list[Reg]]:
        """The words of CTAs lane, lane + 32, ... for a row, when all of the team have sent them."""
        parts, count = self.cta.shape.parts, self._words
        found = [
            [reg.scalar(u64, init=word) for word in self._neutral()]
            for _ in range(-(-parts // WARP))
        ]
        for i, box in enumerate(found):
            there = None if (i + 1) * WARP <= parts else lane < parts - i * WARP
            for word in box:
                ptx.inst.mov.b64(word, 0, pred=there)
        with ptx.loop("wait"):
            for i, box in enumerate(found):
                for j, word in enumerate(box):
                    # What has come is not read again, so that fewer read where others write.
                    at = ptx.addr(place, (i * WARP * count + j) * 8)
                    ptx.inst.ld.relaxed.gpu.global_.u64(word, at, pred=_mark(word) == 0)
            marks = [_mark(word) for box in found for word in box]
            every = marks[0]
            for mark in marks[1:]:
                every = every & mark
            ptx.break_(pred=ptx.inst.vote.sync.all.pred(every != 0, 0xFFFFFFFF))
        return found

    def _neutral(self) -> list[int]:
        """The words of a CTA that does not exist: marked, and combined they change nothing."""
        numbers = [self.statistic.neutral(i) for i in range(self.statistic.count)]
        bits = np.asarray(numbers, self.m.dtype.numpy).view(np.uint32)
        return [1 << 32 | int(half) for half in bits]

    def _combine(self, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        """The statistic of what all lanes have, `parts` each."""
        total = list(parts[0]) if len(parts) == 1 else self.statistic.combine(self.m, parts)
        return self.statistic.over_warp(self.m, total)

    def _value(self, box: Sequence[Reg]) -> list[Reg]:
        """The numbers in the words of a CTA."""
        halves = [reg.scalar(b32) for _ in box]
        for half, word in zip(halves, box, strict=True):
            ptx.inst.mov.b64([half, ptx.sink], word)
        each = self._halves
        return [_joined(self.m.dtype, halves[i : i + each]) for i in range(0, len(box), each)]


def _mark(word: Reg) -> Reg:
    """What says whether a word has been sent, u32."""
    return ptx.inst.cvt.u32.u64(word >> 32)


def _joined(dtype: DType, halves: Sequence[Reg]) -> Reg:
    """A number of its registers of 32 bits."""
    value = reg.scalar(dtype)
    if len(halves) == 1:
        ptx.inst.mov.b32(value, halves[0])
    else:
        ptx.inst.mov.b64(value, list(halves))
    return value
