"""A cluster of CTAs takes a row: long rows, of which each CTA has a part of the columns.

The CTAs of a team go through the team's rows together. Statistics travel: while that of one row is
on its way to the other CTAs, the row `lag` rows before is written, read again from shared memory.
One warp only fetches: it waits until a stage has been written and starts the next copy into it. A
team that is larger than a cluster, a grid, exchanges its statistics through global memory, read by
a warp of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyptx import Kernel, Reg, Tile, kernel, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.rowwise.operation import ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows, grid
from pyptx.ops.rowwise.program import Arrays, make
from pyptx.ops.rowwise.stages import Counter, Ring
from pyptx.ops.rowwise.statistics import Statistic
from pyptx.ops.rowwise.strategies.cluster_exchange import Exchange, ThroughCluster, ThroughMemory
from pyptx.ops.rowwise.strategies.cluster_row import Work
from pyptx.ops.rowwise.strategies.cluster_shape import (
    Cta,
    Shape,
    has_near_sums,
    has_whole_sums,
    needs,
    stage_bytes,
    sums_of_thread,
    words,
)
from pyptx.ops.rowwise.vectors import wide
from pyptx.types import DType, u32, u64

__all__ = [
    "Shape",
    "clear",
    "has_near_sums",
    "has_whole_sums",
    "kernel_of",
    "needs",
    "stage_bytes",
    "sums_of_thread",
]


def kernel_of(op: RowOp, rows: Rows, shape: Shape, result: DType | None = None) -> Kernel:
    """The operation. Of sums over rows it writes partial ones, [teams, padded], one for each team.

    With fewer rows than teams only the first B partial sums are written. The sums of one team are
    whole, and of the type `result`, if that is given. With `shape.grid` the last input is what
    `clear` makes, mail[*B, parts * words]; so is the last output, in place.
    """
    assert rows.groups, "rows that are shorter than a unit"
    assert shape.teams % rows.alignments == 0, "rows of a team that are not cut alike"
    options: dict[str, Any] = {}
    sums = Tile(shape.teams, rows.padded, rows.compute, sum_over="B", partial=True)
    size: Any = grid(lambda B: (min(B, shape.teams) * shape.parts, 1, 1))
    if result is not None:
        assert has_whole_sums(op, rows, shape), "sums that are written more than once"
        sums = Tile(*rows.shape, result, sum_over="B", accumulate=rows.compute)
        size = (shape.parts, 1, 1)  # also of no rows, whose sums are zeros
    if shape.grid:
        # A team of a grid waits for all its CTAs, so they start together.
        mail = _mail(op, rows, shape)
        options = {
            "before": (("mail", mail),),
            "after": (("read", mail),),
            "cooperative": True,
            "input_output_aliases": {len(op.inputs): len(op.outputs)},
        }
    return make(
        op,
        rows,
        "grid" if shape.grid else "cluster",
        lambda arrays: _Team(arrays, shape).run(),
        sums=sums,
        grid=size,
        block=(shape.block, 1, 1),
        cluster=(shape.parts if shape.clustered(op) else 1, 1, 1),
        **options,
    )


def clear(op: RowOp, rows: Rows, shape: Shape) -> Kernel:
    """The first input per element to mail[*B, parts * words]: zeros, for so many rows."""
    assert op.statistic is not None
    count, threads = shape.parts * words(op.statistic, rows.compute), 256

    def clear_mail(LIKE: Any, MAIL: Any) -> None:
        (mail,) = ptx.global_ptrs(MAIL)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        index = cta * threads + wide(reg.from_(ptx.special.tid.x(), u32))
        there = index < LIKE.shape[0] * count
        ptx.inst.st.global_.u64(ptx.addr(mail + index * 8), reg.scalar(u64, init=0), pred=there)

    clear_mail.__name__ = f"{op.name}_clear"
    return kernel(
        in_specs=(rows.tile(op.given(ELEMENT)[0]),),
        out_specs=(_mail(op, rows, shape),),
        grid=grid(lambda B: (ptx.cdiv(B * count, threads), 1, 1)),
        block=(threads, 1, 1),
        arch="auto",
        parallel=("B",),
    )(clear_mail)


def _mail(op: RowOp, rows: Rows, shape: Shape) -> Tile:
    assert op.statistic is not None, "a grid that has nothing to exchange"
    return Tile("*B", shape.parts * words(op.statistic, rows.compute), u64)


class _Team:
    """A CTA of a team: how rows come, statistics go, and results are written."""

    def __init__(self, arrays: Arrays, shape: Shape) -> None:
        self.shape, self.statistic = shape, arrays.op.statistic
        self.cta = Cta(arrays, shape)
        self.exchange = None
        if self.statistic is not None:
            self.exchange = self._exchange(arrays, self.statistic)
        self.written = smem.mbarrier(shape.stages)
        self.work = Work(self.cta, arrays)
        self.ring = Ring(
            self.cta.part,
            self.work.sources(),
            self.cta.row,
            self.cta.total,
            stages=shape.stages,
            stride=shape.teams,
            pieces=shape.pieces,
        )

    def _exchange(self, arrays: Arrays, statistic: Statistic) -> Exchange:
        if self.shape.grid:
            return ThroughMemory(self.cta, statistic, arrays.tensors["mail"])
        return (ThroughCluster if self.cta.clustered else Exchange)(self.cta, statistic)

    def run(self) -> None:
        shape, thread = self.shape, self.cta.thread
        with ptx.if_(thread == 0):
            self.ring.init()
            self.written.init(shape.warps)
            if self.exchange is not None:
                self.exchange.init()
            ptx.fence.mbarrier_init()
        if self.cta.clustered:
            ptx.cluster.arrive(relaxed=True, aligned=True)
            ptx.cluster.wait(aligned=True)
        ptx.bar.sync(0)
        with ptx.if_(thread < shape.threads):
            self._compute()
        with ptx.else_():
            with ptx.if_(thread == shape.threads):
                self._fetch()
            if self.exchange is not None and shape.grid:
                with ptx.if_(thread >= shape.threads + WARP):
                    self.exchange.deliver()

    def _fetch(self) -> None:
        """One thread: pieces into stages, at first into all, then wherever one has been written."""
        ring, free = self.ring, Counter(self.shape.stages)
        with ptx.while_(lambda: ring.next_row < self.cta.total):
            for piece in range(ring.pieces):
                self.written[free.index].wait(free.parity ^ 1)  # at once where it is new
                ring.fetch(free.index, piece)
                free.advance()

    def _compute(self) -> None:
        shape, cta, work = self.shape, self.cta, self.work
        work.begin()
        work.prefetch.load(cta.row)
        reduced, stored = Counter(shape.stages), Counter(shape.stages)
        sent, received = Counter(shape.slots), Counter(shape.slots)
        waiting, turn = reg.scalar(u32, init=0), reg.scalar(u32, init=0)
        with ptx.loop("rows"):
            more = cta.row < cta.total
            work.prefetch.take()
            with ptx.if_(more):
                work.prefetch.load(cta.row + shape.teams)
                self._reduce(reduced, sent)
                waiting += 1
            # `lag` turns after it was reduced, also when no rows follow: the queue moves by turns
            with ptx.if_((turn >= shape.lag) & (waiting > 0)):
                self._write(stored, received)
                waiting -= 1
            cta.row += shape.teams
            turn += 1
            ptx.break_(pred=~more & (waiting == 0))
        work.end()

    def _reduce(self, stage: Counter, slot: Counter) -> None:
        """Reduce the row that comes up, and send what the CTA has of its statistic."""
        parts = [self._piece(stage, piece) for piece in range(self.ring.pieces)]
        if self.exchange is None or self.statistic is None:
            return
        whole = parts[0] if len(parts) == 1 else self.statistic.combine(self.cta.m, parts)
        self.exchange.put(slot.index, whole)
        slot.advance()

    def _piece(self, stage: Counter, piece: int) -> Sequence[Reg]:
        """What a thread has of the statistic of a piece of the row, when it has arrived."""
        ring = self.ring
        ring.arrived(stage.index).wait(stage.parity)
        found: list[Reg] = []
        if self.statistic is not None:
            places = ring.places(stage.index)
            found = self.work.reduce(self.statistic, places, ring.ks(piece), ends=piece == 0)
        stage.advance()
        return found

    def _write(self, stage: Counter, slot: Counter) -> None:
        """Write the row whose statistic has arrived, and free its stages."""
        work, ring = self.work, self.ring
        totals = self.exchange.get(slot) if self.exchange is not None else []
        f = work.factors(totals)
        if self.exchange is not None:
            self.exchange.release(slot.index)
        slot.advance()
        for piece in range(ring.pieces):
            work.write(ring.places(stage.index), ring.ks(piece), f)
            ptx.inst.bar.warp.sync(0xFFFFFFFF)
            with ptx.if_(self.cta.leads_warp):
                self.written[stage.index].arrive()
            stage.advance()
        work.written(f)
