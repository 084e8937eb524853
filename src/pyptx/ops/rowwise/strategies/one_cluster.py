"""One cluster takes all of a few rows with sums over them; each CTA has a part of the columns.

A CTA has its columns of every row, so the sums over rows are complete without partial sums, and
there is one launch. Only the statistics of rows travel between the CTAs, those of several rows at
once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyptx import Kernel, Mbarrier, Reg, Tile, ptx, reg, smem
from pyptx.device import KIB, WARP, Needs
from pyptx.ops.rowwise import dependent
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.exchange import address
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, ROW, RowOp, Scalars
from pyptx.ops.rowwise.partition import Rows, grid, in_teams
from pyptx.ops.rowwise.program import Arrays, make
from pyptx.ops.rowwise.row_operands import add_picks, pick_pointers
from pyptx.ops.rowwise.statistics import Statistic
from pyptx.ops.rowwise.strategies import two_pass
from pyptx.ops.rowwise.strategies.columns import Columns, Held, columns_of
from pyptx.ops.rowwise.vectors import (
    AT_ONCE,
    PIECE,
    Vector,
    advance,
    load_one,
    rounded_up,
    store_one,
)
from pyptx.types import DType, u32


@dataclass(frozen=True, slots=True)
class Shape:
    """`parts` CTAs of `teams` teams of `threads` threads, which have `together` rows in registers.

    More teams are more warps with fewer instructions each: as many as an SM has schedulers for.
    Several `clusters` take rows in turn, and have a partial sum each.
    """

    parts: int
    threads: int
    together: int
    teams: int = 1
    clusters: int = 1

    @property
    def at_once(self) -> int:
        """Rows of the cluster."""
        return self.teams * self.together

    @property
    def stride(self) -> int:
        """Rows of all clusters, after which a team has its next ones."""
        return self.clusters * self.at_once

    @property
    def warps(self) -> int:
        """Warps of the cluster that have the same rows, each with a statistic for each of them."""
        return self.parts * self.threads // WARP

    def numbers(self, statistic: Statistic, dtype: DType) -> int:
        """Numbers of a warp, with room so that they move in whole pieces."""
        return rounded_up(self.together * statistic.count, PIECE // dtype.bytes)


def needs(op: RowOp, rows: Rows, shape: Shape) -> Needs:
    """What `persistent` needs of a device."""
    size = 0
    if op.statistic is not None:
        numbers = shape.numbers(op.statistic, rows.compute)
        size = KIB + shape.teams * shape.warps * numbers * rows.compute.bytes
    if shape.teams > 1:
        columns = columns_of(rows, rows.part(shape.parts), shape.threads)
        size += shape.teams * columns * len(op.written(COLUMN)) * rows.compute.bytes
    return Needs(("clusters", "st.async"), size, shape.parts)


def persistent(op: RowOp, rows: Rows, shape: Shape, *, result: DType) -> Kernel:
    """The operation with sums over any number of rows, which have no ends.

    The sums of one cluster are whole, and rounded once, to the type `result`: `op.compute` or a
    narrower one. Of several, cluster i writes the i-th partial sum, [clusters, padded]; with few
    rows only the first cdiv(B, shape.at_once) are launched, and write.
    """
    assert op.written(COLUMN), "no sums over rows"
    sums = Tile(*rows.shape, result, sum_over="B", accumulate=rows.compute)
    size: Any = (shape.parts, 1, 1)
    if shape.clusters > 1:
        sums = Tile(shape.clusters, rows.padded, rows.compute, sum_over="B", partial=True)
        each, most = shape.at_once, shape.clusters
        size = grid(lambda B: (min(ptx.cdiv(B, each), most) * shape.parts, 1, 1))
    return make(
        op,
        rows,
        "one_cluster",
        lambda arrays: _Cta(arrays, shape).run(),
        sums=sums,
        grid=size,
        block=(shape.threads * shape.teams, 1, 1),
        cluster=(shape.parts, 1, 1),
    )


class _Cta:
    """A CTA of the cluster, and its columns of all rows."""

    def __init__(self, arrays: Arrays, shape: Shape) -> None:
        self.arrays, self.shape = arrays, shape
        self.op, self.rows = arrays.op, arrays.rows
        first = arrays.tensors[self.op.given(ELEMENT)[0].name]
        self.count = ptx.inst.cvt.u32.u64(first.shape[0])
        self.thread = self.lane = reg.from_(ptx.special.tid.x(), u32)
        self.team: Reg | None = None
        self.cluster: Reg | None = None
        self.first: Reg | None = None
        """The first row of the team, if that is not the cluster's."""
        if shape.teams > 1:
            self.lane, self.team = in_teams(self.thread, shape.threads, shape.teams)
            self.first = ptx.inst.mul.lo.u32(self.team, shape.together)
        self.begin = reg.scalar(u32, init=0)
        if shape.clusters > 1:
            self.cluster = reg.from_(ptx.special.clusterid.x(), u32)
            self.begin = ptx.inst.mul.lo.u32(self.cluster, shape.at_once)
        self.offset = self.first
        """The team's first row of all, if that is not 0."""
        if self.cluster is not None:
            self.offset = reg.from_(
                self.begin if self.first is None else self.begin + self.first, u32
            )
        self.rank = ptx.cluster.rank()
        self.columns = Columns(
            arrays,
            shape.threads,
            shape.parts,
            self.rank,
            self.lane,
            shape.stride,
            first=self.offset,
            zeros_add_nothing=self.op.zeros_add_nothing,
        )
        self.m = self.columns.m
        self.exchange: _Exchange | None = None
        if self.op.statistic is not None:
            self.exchange = _Exchange(self.m, self.op.statistic, shape, self)

    def run(self) -> None:
        columns, exchange, together = self.columns, self.exchange, self.shape.together
        if self.cluster is not None:
            dependent.launch_dependents(self.rows)
        pointers = self._pointers()
        columns.begin(pointers)
        if exchange is not None:
            exchange.begin()
        row = self.begin
        with ptx.while_(lambda: row < self.count):
            found = [self._load(i, row) for i in range(together)]
            totals: list[list[Reg]] = [[] for _ in found]
            if exchange is not None:
                threads = (columns.statistic(h, s) for s, h in found)
                totals = exchange.combined(threads, row + self.shape.stride < self.count)
            for i, ((scalars, held), total) in enumerate(zip(found, totals, strict=True)):
                f = self.op.factors(self.m, total, scalars)
                self._store_row(i, held, f)
                columns.write(i, held, f, scalars)
            row += self.shape.stride
            self._advance()
        if exchange is not None:
            exchange.end()
        if self.cluster is not None:
            for o in self.op.written(COLUMN):
                size = self.rows.padded * self.m.dtype.bytes
                advance(pointers[o.name], self.cluster * size)
        if self.team is None:
            columns.finish(pointers)
            return
        columns.finish_together(pointers, self.thread, self.team, self.shape.teams)

    def _pointers(self) -> dict[str, Reg]:
        """The addresses of all tensors; those of a number per row move on."""
        arrays = self.arrays
        inputs = [*two_pass.last_first(arrays), *arrays.inputs(ROW), *arrays.inputs(COLUMN)]
        outputs = [*arrays.outputs(ELEMENT), *arrays.outputs(COLUMN), *arrays.outputs(ROW)]
        operands = [operand for operand, _ in (*inputs, *outputs)]
        found = dict(zip([o.name for o in operands], arrays.pointers(*operands), strict=True))
        self.per_row = {o.name: found[o.name] for o in operands if o.per == ROW}
        if self.offset is not None:
            for place, o in ((found[o.name], o) for o in operands if o.per == ROW):
                advance(place, self.offset * o.dtype.bytes)
        self.picked = pick_pointers(arrays)
        return found

    def _load(self, i: int, row: Reg) -> tuple[Scalars, Held]:
        """The inputs per row of the i-th of the rows to come and the row, zeros for no row."""
        row = (row if self.first is None else row + self.first) + i
        op, there = self.op, row < self.count
        scalars = Scalars()
        for o in op.given(ROW):
            place = self.per_row[o.name] + i * o.dtype.bytes
            register = o.register(self.m.dtype)
            found = load_one(o.dtype, register, place, pred=there, space=AT_ONCE)
            setattr(scalars, o.name, found)
        if op.picks:
            add_picks(self.arrays, self.picked, row, scalars, pred=there)
        return scalars, self.columns.load(i, there)

    def _store_row(self, i: int, held: Held, f: Any) -> None:
        """Write the outputs per row, by one thread of the cluster."""
        written = self.op.written(ROW)
        if not written:
            return
        first = held.there & ((self.lane | self.rank) == 0)
        for o, number in zip(written, self.op.row_result(self.m, f), strict=True):
            store_one(o.dtype, self.per_row[o.name] + i * o.dtype.bytes, number, pred=first)

    def _advance(self) -> None:
        """Go to the next rows."""
        for o in (*self.op.given(ROW), *self.op.written(ROW)):
            advance(self.per_row[o.name], self.shape.stride * o.dtype.bytes)
        self.columns.advance()


class _Exchange:
    """Statistics of warps, put where every CTA of the cluster finds those of all.

    Numbers sent to shared memory of other CTAs count themselves at an mbarrier there. Barriers of
    the cluster would do as well, but one that releases what was written waits for all of memory, so
    there is one only between rows and the next ones, which few rows do not have.
    """

    def __init__(self, m: Math, statistic: Statistic, shape: Shape, cta: _Cta) -> None:
        self.m, self.statistic, self.shape = m, statistic, shape
        self.thread, self.rank, self.lane = cta.thread, cta.rank, cta.lane
        self.numbers = shape.numbers(statistic, m.dtype)
        size = shape.warps * self.numbers * m.dtype.bytes
        table = address(smem.alloc(m.dtype, (shape.teams, shape.warps, self.numbers), align=PIECE))
        if cta.team is not None:
            table = ptx.inst.mad.lo.u32(cta.team, size, table)
        self.table = table
        """The team's part."""
        self.bytes = shape.teams * size
        """Bytes that come to a CTA."""
        self.arrived = smem.mbarrier(1)[0] if shape.parts > 1 else None
        self.parity = reg.scalar(u32, init=0)
        self.pending = reg.scalar(u32, init=1)
        """Whether an `arrive` has had no `wait`: others may not run yet."""

    def begin(self) -> None:
        """Say that this CTA runs, before another one writes to it."""
        if self.arrived is None:
            return
        with ptx.if_(self.thread == 0):
            self.arrived.init(1)
            ptx.fence.mbarrier_init()
        ptx.cluster.arrive(relaxed=True, aligned=True)

    def end(self) -> None:
        """Wait where there were no rows, so that each `arrive` has its `wait`."""
        if self.arrived is not None:
            with ptx.if_(self.pending != 0):
                ptx.cluster.wait(aligned=True)

    def combined(self, rows: Iterable[list[Reg]], more: Reg) -> list[list[Reg]]:
        """The statistic of each row, of what each thread of the cluster has of it.

        What threads have may be made only when it is combined over a warp, row by row. `more` says
        whether other rows follow.
        """
        of_warp = self.statistic.rows_over_warp(self.m, rows)
        numbers = [number for values in of_warp for number in values]
        numbers += [self.m.zero() for _ in range(self.numbers - len(numbers))]
        if self.arrived is None:
            self._put(numbers)
            ptx.bar.sync(0)
        else:
            ptx.cluster.wait(aligned=True)
            ptx.inst.mov.u32(self.pending, 0)
            self._send(numbers, self.arrived)
            self.arrived.wait(self.parity, cluster=True)
        totals = self._received()
        with ptx.if_(more):
            if self.arrived is None:
                ptx.bar.sync(0)
            else:
                ptx.cluster.arrive(aligned=True)
                ptx.inst.xor.b32(self.parity, self.parity, 1)
        return totals

    def _place(self) -> Reg:
        """Where the numbers of this warp are, in each CTA."""
        index = ptx.inst.mad.lo.u32(self.rank, self.shape.threads // WARP, self.lane >> 5)
        return ptx.inst.mad.lo.u32(index, self.numbers * self.m.dtype.bytes, self.table)

    def _put(self, numbers: list[Reg]) -> None:
        """Give the warp's numbers to its CTA, which is the only one."""
        place, dtype = self._place(), self.m.dtype
        with ptx.if_((self.lane & (WARP - 1)) == 0):
            Vector(dtype, len(numbers), dtype).store("shared", place, 0, numbers)

    def _send(self, numbers: list[Reg], arrived: Mbarrier) -> None:
        """Give the warp's numbers to all CTAs, lane i to CTA i."""
        dtype, mine = self.m.dtype, self._place()
        with ptx.if_(self.thread == 0):
            arrived.arrive_expect_tx(self.bytes)
        lane = self.lane & (WARP - 1)
        each = PIECE // dtype.bytes
        store = f"st.async.shared::cluster.mbarrier::complete_tx::bytes.v{each}.b{dtype.bits}"
        with ptx.if_(lane < self.shape.parts):
            there = ptx.cluster.map_shared_rank(mine, lane)
            bar = ptx.addr(ptx.cluster.map_shared_rank(arrived, lane))
            for i in range(0, len(numbers), each):
                place = ptx.addr(there, i * dtype.bytes)
                ptx.inst[store](place, numbers[i : i + each], bar)

    def _received(self) -> list[list[Reg]]:
        """The statistic of each row, combined in the same order everywhere."""
        m, shape, count = self.m, self.shape, self.statistic.count
        lane = self.lane & (WARP - 1)
        size = self.numbers * m.dtype.bytes
        place = ptx.inst.mad.lo.u32(lane, size, self.table)
        rounds: list[list[Reg]] = []
        for first in range(0, shape.warps, WARP):
            left = shape.warps - first
            there = None if left >= WARP else lane < left
            rounds.append(self._load(place, first * size, there))
        totals: list[list[Reg]] = []
        for i in range(0, shape.together * count, count):
            parts = [numbers[i : i + count] for numbers in rounds]
            # To combine one part would be to compute with it for nothing.
            totals.append(parts[0] if len(parts) == 1 else self.statistic.combine(m, parts))
        return self.statistic.rows_over_warp(m, totals)

    def _load(self, place: Reg, offset: int, there: Reg | None) -> list[Reg]:
        """The numbers of a warp; what changes nothing where it is not `there`."""
        m, count = self.m, self.statistic.count
        found = Vector(m.dtype, self.numbers, m.dtype).load("shared", place, offset, pred=there)
        if there is None:
            return found
        neutral = [self.statistic.neutral(i % count) for i in range(self.shape.together * count)]
        return [
            m.selp(number, other, there) if other else number
            for number, other in zip(found, neutral, strict=False)
        ]
