"""Persistent CTAs: rows that fit a CTA several times over, each team of threads with own stages.

A team reads a row from a stage into registers, which frees the stage for the next copy, reduces it
and writes its results. Sums over rows stay in registers for all rows of the team; the teams of a
CTA add theirs up at the end. All rows of a team are cut alike, so threads keep their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pyptx import Kernel, Reg, Tile, ptx, reg, smem
from pyptx.device import WARP, Needs
from pyptx.ops.rowwise import dependent
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.column_sums import FEW, RegisterSums
from pyptx.ops.rowwise.exchange import address, load_of_warps, store_of_warp
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, ROW, RowOp, Scalars, Values
from pyptx.ops.rowwise.partition import Ends, Part, Rows, grid, in_teams, load_columns
from pyptx.ops.rowwise.prefetch import Progress
from pyptx.ops.rowwise.program import Arrays, make, vectors_of
from pyptx.ops.rowwise.row_operands import RowOutputs, RowPrefetch, pointers_of
from pyptx.ops.rowwise.stages import Counter, Ring, Source, ThreadRing
from pyptx.ops.rowwise.statistics import Terms
from pyptx.ops.rowwise.vectors import BULK, LINE, PIECE, rounded_up
from pyptx.types import u32

_NOW: Final = 0  # the only entry of the prefetch's queue


@dataclass(frozen=True, slots=True)
class Shape:
    """`ctas` CTAs of `teams` teams of `threads` threads, each with `stages` rows on their way.

    All rows of a team are cut alike: `ctas * teams` is a multiple of `Rows.alignments`, and with
    sums over rows `ctas` is. With several teams a thread has few sums (`sums_of_thread`).
    """

    ctas: int
    teams: int
    threads: int
    stages: int

    def neighbours(self, op: RowOp, rows: Rows) -> int:
        """Rows in a row of the tensor that a CTA takes at once.

        Where rows have ends, teams that add up their sums take rows that are cut alike instead.
        """
        return self.teams if rows.aligned or not op.written(COLUMN) else 1


def sums_of_thread(op: RowOp, rows: Rows, threads: int) -> int:
    """Bytes of the sums over rows of a thread's columns, of `threads` that share a row.

    A CTA has several teams only where those are few (`sizes.resident`).
    """
    vectors = -(-rows.groups // threads)
    return vectors * rows.group * len(op.written(COLUMN)) * rows.compute.bytes


def sums_are_shared(op: RowOp, rows: Rows, shape: Shape) -> bool:
    """Whether second sums are in shared memory: several teams, and too many for registers."""
    return shape.teams > 1 and sums_of_thread(op, rows, shape.threads) > FEW


def thread_of_cta() -> Reg:
    return reg.from_(ptx.special.tid.x(), u32)


def needs(op: RowOp, rows: Rows, shape: Shape) -> Needs:
    """What the kernel needs of a device: its stages, and where teams add up their sums."""
    groups, bytes_, teams = rows.groups, rows.compute.bytes, shape.teams
    stage = sum(rounded_up(groups * rows.vector(o.dtype).bytes) for o in op.given(ELEMENT))
    shared = teams * shape.stages * (stage + 8) + LINE
    if op.statistic is not None:
        slots = 2 * teams * (shape.threads // WARP) * op.statistic.count
        shared += rounded_up(slots * bytes_, PIECE)
    ends = 0 if rows.aligned else len(op.written(COLUMN)) * bytes_
    shared += (teams - 1) * shape.threads * (sums_of_thread(op, rows, shape.threads) + ends)
    if sums_are_shared(op, rows, shape):
        shared += teams * shape.threads * (sums_of_thread(op, rows, shape.threads) + ends) + PIECE
    return Needs(BULK if rows.device.has(*BULK) else ("cp.async",), shared)


def kernel_of(op: RowOp, rows: Rows, shape: Shape) -> Kernel:
    """The operation. Of sums over rows it writes partial ones, [ctas, padded], CTA i the i-th.

    With few rows only the first cdiv(B, `shape.neighbours`) CTAs are launched, and write.
    """
    neighbours = shape.neighbours(op, rows)
    assert rows.groups, "rows that are shorter than a unit"
    assert shape.ctas * shape.teams % rows.alignments == 0, "rows of a team that are not cut alike"
    if op.written(COLUMN):
        assert shape.ctas % rows.alignments == 0, "rows of a CTA that are not cut alike"
    return make(
        op,
        rows,
        "persistent",
        lambda arrays: _Team(arrays, shape).run(),
        sums=Tile(shape.ctas, rows.padded, rows.compute, sum_over="B", partial=True),
        grid=grid(lambda B: (min(ptx.cdiv(B, neighbours), shape.ctas), 1, 1)),
        block=(shape.threads * shape.teams, 1, 1),
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """A thread's vector of each input, as loaded; unpacked they take more registers."""

    arrays: Arrays
    elements: list[list[Reg]]
    columns: list[list[Reg]]
    column: Callable[[], Reg]

    def values(self, row: Scalars) -> list[Values]:
        arrays = self.arrays
        operands = [*arrays.inputs(ELEMENT), *arrays.inputs(COLUMN)]
        vectors = vectors_of(operands, [*self.elements, *self.columns], row, self.column)
        return vectors.elements(arrays.rows.group)


class _Team:
    """What a team of threads does with its rows."""

    def __init__(self, arrays: Arrays, shape: Shape) -> None:
        self.arrays, self.shape = arrays, shape
        self.op, self.rows = arrays.op, arrays.rows
        thread = reg.from_(ptx.special.tid.x(), u32)
        self.cta = reg.from_(ptx.special.ctaid.x(), u32)
        self.team: Reg | None = None
        lane, row = thread, self.cta
        if shape.teams > 1:
            lane, self.team = in_teams(thread, shape.threads, shape.teams)
            if shape.neighbours(self.op, self.rows) > 1:
                row = ptx.inst.mad.lo.u32(self.cta, shape.teams, self.team)
            else:
                row = ptx.inst.mad.lo.u32(self.team, shape.ctas, self.cta)
        self.part = Part(self.rows, row, lane, shape.threads)
        self.row = reg.scalar(u32, init=row)
        first = arrays.tensors[arrays.inputs(ELEMENT)[0][0].name]
        self.total = ptx.inst.cvt.u32.u64(first.shape[0])
        self.m = Math(self.rows.compute)
        self.stride = shape.ctas * shape.teams
        self.active = [self.part.active(k) for k in range(self.part.each)]

    def run(self) -> None:
        self._begin()
        with ptx.while_(lambda: self.row < self.total):
            self.prefetch.take()
            self.prefetch.load(self.row + self.stride)
            self.ring.wait(self.stage)
            groups = self._read()
            totals = self._statistic(groups)
            f = self.op.factors(self.m, totals, self.prefetch.scalars(_NOW))
            self._write(groups, f)
            self._next()
        if self.sums is not None:
            dependent.launch_dependents(self.rows)
            self.sums.write(self.active, self.team, self.shape.teams)

    def _begin(self) -> None:
        """Fetch the first rows, and load what is kept for all of them."""
        arrays, part, rows, op = self.arrays, self.part, self.rows, self.op
        pointers = pointers_of(arrays)
        ends = None if rows.aligned else Ends(part)
        self.ends = ends
        progress = Progress(self.row, self.total, self.stride)
        self.prefetch = RowPrefetch(arrays, self.m, ends, progress, 1, self.row, pointers)
        self.prefetch.start()
        self.ring = self._ring()
        self.leader = part.lane == 0
        with self.ring.threads(self.leader):
            self.ring.begin()
        columns = [
            load_columns(part, pointers[operand.name], vector, self.active)
            for operand, vector in arrays.inputs(COLUMN)
        ]
        self.columns = [[words[k] for words in columns] for k in range(part.each)]
        sums = [arrays.tensors[operand.name] for operand in op.written(COLUMN)]
        self.sums = None
        if sums:
            shared = (thread_of_cta(), self.shape.threads * self.shape.teams)
            apart = shared if sums_are_shared(op, rows, self.shape) else None
            self.sums = RegisterSums(self.m, part, ends, sums, self._cta, apart)
        self._slots()
        self.prefetch.load(self.row)
        ptx.bar.sync(0)  # the mbarriers are there
        self.stage, self.half = Counter(self.shape.stages), reg.scalar(u32, init=0)
        self.outputs = RowOutputs(arrays, part, ends, self.row, self.stride, pointers)

    @staticmethod
    def _cta() -> Reg:
        """Which partial sums the CTA writes."""
        return reg.from_(ptx.special.ctaid.x(), u32)

    def _ring(self) -> Ring:
        """The inputs per element on their way."""
        shape, tensors = self.shape, self.arrays.tensors
        kind = Ring if self.rows.device.has(*BULK) else ThreadRing
        return kind(
            self.part,
            [Source(tensors[o.name], vector) for o, vector in self.arrays.inputs(ELEMENT)],
            self.row,
            self.total,
            stages=shape.stages,
            stride=self.stride,
            teams=shape.teams,
            team=self.team,
            held=shape.teams == 1,
        )

    def _slots(self) -> None:
        """Where the team's warps put their statistics; two halves, for rows in turn."""
        if self.op.statistic is None:
            return
        warps, teams = self.shape.threads // WARP, self.shape.teams
        numbers = warps * self.op.statistic.count
        table = address(smem.alloc(self.m.dtype, (2, teams, numbers), align=PIECE))
        self.half_bytes = teams * numbers * self.m.dtype.bytes
        if self.team is not None:
            table = ptx.inst.mad.lo.u32(self.team, numbers * self.m.dtype.bytes, table)
        self.slots = table

    def _read(self) -> list[_Group]:
        """The thread's vectors of the row, from its stage."""
        places = self.ring.places(self.stage.index)
        found: list[_Group] = []
        for k, ok in enumerate(self.active):
            words = [
                vector.load("shared", place, self.part.step(k, vector), pred=ok, pad=operand.pad)
                for place, (operand, vector) in zip(
                    places, self.arrays.inputs(ELEMENT), strict=True
                )
            ]
            column = partial(self.part.column_of, k)
            found.append(_Group(self.arrays, words, self.columns[k], column))
        return found

    def _statistic(self, groups: Sequence[_Group]) -> list[Reg]:
        """The statistic of the row; its stage is filled anew when all threads have read it."""
        op, m, statistic = self.op, self.m, self.op.statistic
        if statistic is None:
            if not isinstance(self.ring, ThreadRing):  # whose threads fetch what they read
                self._sync()
            self._fetch()
            return []
        terms = [
            Terms((op.term(m, v) for v in group.values(self.prefetch.scalars(_NOW))), ok)
            for group, ok in zip(groups, self.active, strict=True)
        ]
        values = statistic.of_thread(m, terms)
        if self.ends is not None:
            end = (op.term(m, v) for v in [self.prefetch.end(_NOW)])
            with self.ends.there():
                statistic.add(m, values, Terms(end, self.ends.active))
        here = ptx.inst.mad.lo.u32(self.half, self.half_bytes, self.slots)
        warps = self.shape.threads // WARP
        store_of_warp(m, statistic, values, self.part.lane, here, warps)
        self._sync()
        self._fetch()
        return load_of_warps(m, statistic, self.part.lane, here, warps)

    def _fetch(self) -> None:
        with self.ring.threads(self.leader):
            self.ring.fetch(self.stage.index)

    def _sync(self) -> None:
        barrier = 1 if self.team is None else self.team + 1
        ptx.bar.sync(barrier, self.shape.threads)

    def _write(self, groups: Sequence[_Group], f: Any) -> None:
        """Write the thread's results, and add its elements to its sums."""
        op, m, sums = self.op, self.m, self.sums
        for k, (group, ok) in enumerate(zip(groups, self.active, strict=True)):
            found: list[tuple[Reg, ...]] = []
            for i, v in enumerate(group.values(self.prefetch.scalars(_NOW))):
                found.append(op.result(m, v, f))
                if sums is not None:
                    op.accumulate(m, sums.sums[k][i], v, f)
            self.outputs.store(k, found, ok)
        if self.ends is not None:
            with self.ends.there():
                v = self.prefetch.end(_NOW)
                self.outputs.store_end(op.result(m, v, f))
                if sums is not None:
                    op.accumulate(m, sums.end_sums or (), v, f)
                self.outputs.next_end()
        if op.written(ROW):
            self.outputs.store_row(op.row_result(m, f), self.leader)

    def _next(self) -> None:
        """Go on to the next row."""
        if self.sums is not None:
            self.sums.row_done(self.active)
        self.outputs.next_row()
        self.row += self.stride
        if self.op.statistic is not None:
            ptx.inst.xor.b32(self.half, self.half, 1)
        self.stage.advance()
