"""Two passes: rows of any length, of which each CTA takes a chunk, and which are read twice.

For rows that no cluster of CTAs can hold. The first kernel reduces each chunk; the second one reads
the statistics of all chunks of a row and writes. With sums over rows, a CTA keeps its columns and
goes through rows. Rows have a full unit (`Rows.unit`) at least.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, Final

from pyptx import Kernel, KernelSequence, Reg, Tile, ptx, reg, sequence
from pyptx.device import WARP
from pyptx.ops._divide import CTA_BITS, with_remainder
from pyptx.ops._parameters import with_parameters
from pyptx.ops.rowwise import dependent
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.column_sums import RegisterSums
from pyptx.ops.rowwise.exchange import over_cta
from pyptx.ops.rowwise.operation import (
    COLUMN,
    ELEMENT,
    ROW,
    Operand,
    RowOp,
    Scalars,
)
from pyptx.ops.rowwise.partition import Rows, grid
from pyptx.ops.rowwise.program import Arrays, define, make
from pyptx.ops.rowwise.row_operands import add_picks, load_scalars, pick_pointers, store_numbers
from pyptx.ops.rowwise.statistics import Statistic, Terms
from pyptx.ops.rowwise.strategies.chunk import THREADS, Chunk
from pyptx.ops.rowwise.vectors import AT_ONCE, Vector, advance, load_one, store_one, wide
from pyptx.types import u32

EACH: Final = 4
"""Vectors of a thread, where rows are so many that chunks need not be small."""

CHUNKS: Final = "chunk_statistics"
"""What kernels call the statistics of chunks."""


def parts(rows: Rows, each: int = EACH, threads: int = THREADS) -> int:
    """Chunks of a row; each of `threads` threads has at most `each` vectors."""
    return -(-rows.groups // (threads * each))


def independent(op: RowOp, rows: Rows, *, each: int = EACH) -> Kernel | KernelSequence:
    """The operation on rows that need nothing of each other: no sums over rows.

    Both kernels; without a statistic there is nothing for the first one to do.
    """
    assert not op.written(COLUMN), "sums over rows"
    return both_kernels(op, rows, result(op, rows, each=each), each)


def persistent(op: RowOp, rows: Rows, *, teams: int) -> Kernel | KernelSequence:
    """The operation with sums over rows: `teams` partial sums of each column. Both kernels.

    `teams` is a multiple of `rows.alignments`. CTAs with the same columns share the rows; with
    fewer rows than teams only the first B partial sums are written.
    """
    return both_kernels(op, rows, result_and_sums(op, rows, teams=teams), EACH)


# ---- the kernels ---------------------------------------------------------------------------------


def statistics_tile(op: RowOp, rows: Rows, each: int = EACH) -> Tile:
    """The statistics of all chunks: [*B, parts, count], or [*B, parts] of one number."""
    assert op.statistic is not None
    count = op.statistic.count
    return Tile("*B", parts(rows, each), *((count,) if count > 1 else ()), rows.compute)


def statistics_inputs(op: RowOp) -> tuple[Operand, ...]:
    """What `statistics` takes: inputs per row only where terms read them."""
    return tuple(o for o in op.inputs if o.per != ROW or op.term_reads_row)


def statistics(op: RowOp, rows: Rows, *, each: int = EACH) -> Kernel:
    """`statistics_inputs` to the statistics of all chunks.

    Inputs per column are read if the terms ask for them; inputs per element that they do not ask
    for are loads without use, which ptxas removes.
    """
    count, tile = parts(rows, each), statistics_tile(op, rows, each)
    return define(
        op,
        rows,
        "chunks",
        [(operand.name, rows.tile(operand)) for operand in statistics_inputs(op)],
        [(CHUNKS, tile)],
        lambda arrays: _statistics(arrays, count),
        grid=grid(lambda B: (B * count, 1, 1)),
        block=(THREADS, 1, 1),
    )


def result(op: RowOp, rows: Rows, *, each: int = EACH, threads: int = THREADS) -> Kernel:
    """The inputs and the statistics of all chunks to the outputs, of which none is a sum.

    Comes right after `statistics`, and has its chunk by the time that these are there. An operation
    without a statistic is this kernel alone, which may have other numbers of threads.
    """
    assert op.statistic is None or threads == THREADS, "chunks as those of the statistics"
    count = parts(rows, each, threads)
    return make(
        op,
        rows,
        "two_pass",
        lambda arrays: _Result(arrays, count, threads).run(),
        before=statistics_input(op, rows, each),
        grid=grid(lambda B: (B * count, 1, 1)),
        block=(threads, 1, 1),
        programmatic_stream_serialization=op.statistic is not None and dependent.starts_early(rows),
    )


def result_and_sums(op: RowOp, rows: Rows, *, teams: int) -> Kernel:
    """The inputs and the statistics of all chunks to the outputs, as `persistent` says."""
    assert teams % rows.alignments == 0
    count = parts(rows)
    return make(
        op,
        rows,
        "two_pass",
        lambda arrays: _Result(arrays, count).run_through(teams),
        before=statistics_input(op, rows, EACH),
        sums=Tile(teams, rows.padded, rows.compute, sum_over="B", partial=True),
        grid=grid(lambda B: (min(B, teams) * count, 1, 1)),
        block=(THREADS, 1, 1),
    )


def statistics_input(op: RowOp, rows: Rows, each: int) -> list[tuple[str, Tile]]:
    """The first kernel's result, where there is one."""
    assert rows.columns >= rows.unit, "rows that have ends alone"
    return [] if op.statistic is None else [(CHUNKS, statistics_tile(op, rows, each))]


def both_kernels(op: RowOp, rows: Rows, second: Kernel, each: int) -> Kernel | KernelSequence:
    """Both kernels as one operation."""
    if op.statistic is None:
        return second
    first = statistics(op, rows, each=each)
    names = [operand.name for operand in op.inputs]

    def both(*arrays: Any) -> Any:
        given = dict(zip(names, arrays, strict=True))
        return second(*arrays, first(*(given[o.name] for o in statistics_inputs(op))))

    body = with_parameters(both, names, name=f"{op.name}_two_pass")
    tiles = [rows.tile(operand) for operand in op.inputs]
    return sequence(in_specs=tiles, out_specs=second.out_specs, parallel=("B",))(body)


def of_row(
    m: Math, statistic: Statistic, chunks: Reg, row: Reg, count: int, lane: Reg
) -> list[Reg]:
    """The statistic of a row's `count` chunks, in the same order everywhere, in a warp's lanes.

    `chunks` is the address of the statistics of all chunks of all rows.
    """
    size = statistic.count * m.dtype.bytes
    neutral = [statistic.neutral(i) for i in range(statistic.count)]
    total = [reg.scalar(m.dtype, init=value) for value in neutral]
    place = chunks + (row * count + wide(lane & (WARP - 1))) * size
    for first in range(0, count, WARP):
        there = (lane & (WARP - 1)) < count - first
        values = [
            load_one(
                m.dtype, m.dtype, place + (first * size + i * m.dtype.bytes), pred=there, pad=value
            )
            for i, value in enumerate(neutral)
        ]
        total = statistic.combine(m, [total, values])
    return statistic.over_warp(m, total)


def last_first(arrays: Arrays) -> list[tuple[Operand, Vector]]:
    """The inputs per element, the last first: a norm's gradient takes fewer registers so."""
    return arrays.inputs(ELEMENT)[::-1]


def _row_and_rank(count: int) -> tuple[Reg, Reg]:
    return with_remainder(reg.from_(ptx.special.ctaid.x(), u32), count, CTA_BITS)


def _statistics(arrays: Arrays, count: int) -> None:
    """Reduce a chunk, and write what that gives."""
    op, rows, m = arrays.op, arrays.rows, Math(arrays.rows.compute)
    assert op.statistic is not None
    dependent.launch_dependents(rows)
    row, rank = _row_and_rank(count)
    chunk = Chunk(rows, row, rank, count)
    inputs = [*last_first(arrays), *arrays.inputs(COLUMN)]
    operands = [operand for operand, _ in inputs]
    scalars = list(op.given(ROW)) if op.term_reads_row else []
    given = [*operands, *scalars]
    pointers = dict(zip((o.name for o in given), arrays.pointers(*given), strict=True))
    loads = [
        cache(partial(chunk.load, pointers[operand.name], operand, vector))
        for operand, vector in inputs
    ]
    for load, operand in zip(loads, operands, strict=True):
        if operand.per == ELEMENT:
            load()
    known = load_scalars(m, scalars, pointers, row) if op.term_reads_row else None
    values = chunk.values(operands, loads, known)
    terms = [
        Terms([op.term(m, v) for v in vector], ok)
        for vector, ok in zip(values, chunk.there, strict=True)
    ]
    total = over_cta(m, op.statistic, op.statistic.of_thread(m, terms), chunk.lane, THREADS)
    (base,) = ptx.global_ptrs(arrays.tensors[CHUNKS])
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    place = base + cta * (op.statistic.count * m.dtype.bytes)
    for i, number in enumerate(total):
        here = place + i * m.dtype.bytes if i else place
        store_one(m.dtype, here, number, pred=chunk.lane == 0)


class _Result:
    """A CTA of the second kernel."""

    def __init__(self, arrays: Arrays, count: int, threads: int = THREADS) -> None:
        self.arrays, self.count, self.threads = arrays, count, threads
        self.op, self.rows = arrays.op, arrays.rows
        self.m = Math(self.rows.compute)
        self.elements, self.columns = last_first(arrays), arrays.inputs(COLUMN)
        self.operands = [operand for operand, _ in (*self.elements, *self.columns)]
        self.scalars, self.results = arrays.inputs(ROW), arrays.outputs(ELEMENT)
        self.picked = pick_pointers(arrays)

    def _pointers(self) -> dict[str, Reg]:
        """The addresses of what is read and of outputs per element, by name."""
        inputs = (*self.elements, *self.scalars, *self.columns)
        names = [operand.name for operand, _ in inputs]
        names += [] if self.op.statistic is None else [CHUNKS]
        names += [operand.name for operand, _ in self.results]
        found = ptx.global_ptrs(*(self.arrays.tensors[name] for name in names))
        return dict(zip(names, found, strict=True))

    def _row_scalars(self, pointers: dict[str, Reg], row: Reg, space: str = "global") -> Scalars:
        """The inputs per row."""
        operands = [operand for operand, _ in self.scalars]
        scalars = load_scalars(self.m, operands, pointers, row, space)
        add_picks(self.arrays, self.picked, row, scalars)
        return scalars

    def _factors(self, pointers: dict[str, Reg], row: Reg, chunk: Chunk, scalars: Scalars) -> Any:
        """What elements need of their row."""
        total: list[Reg] = []
        if self.op.statistic is not None:
            chunks = pointers[CHUNKS]
            total = of_row(self.m, self.op.statistic, chunks, row, self.count, chunk.lane)
        return self.op.factors(self.m, total, scalars)

    def _store(
        self, chunk: Chunk, pointers: dict[str, Reg], found: list[list[tuple[Reg, ...]]]
    ) -> None:
        """Write the thread's elements of each output."""
        for i, (operand, vector) in enumerate(self.results):
            values = [[each[i] for each in elements] for elements in found]
            chunk.store(pointers[operand.name], vector, values)

    def _store_row(self, chunk: Chunk, rank: Reg, row: Reg, f: Any) -> None:
        """Write the outputs per row, by one thread of the row."""
        store_numbers(self.arrays, self.m, row, f, lambda: (chunk.lane == 0) & (rank == 0))

    def run(self) -> None:
        op, m = self.op, self.m
        row, rank = _row_and_rank(self.count)
        chunk = Chunk(self.rows, row, rank, self.count, self.threads)
        pointers = self._pointers()
        inputs = (*self.elements, *self.columns)
        # Without a statistic to wait for, loads that ptxas moves behind the first use of the row's
        # inputs cost up to 1.5% of a gradient of cross entropy on an H200.
        space = AT_ONCE if op.statistic is None else "global"
        loaded = [chunk.load(pointers[o.name], o, vector, space) for o, vector in inputs]
        scalars = self._row_scalars(pointers, row, space)
        if op.statistic is not None:
            dependent.wait(self.rows)
        f = self._factors(pointers, row, chunk, scalars)
        values = chunk.values(self.operands, [partial(_loaded, each) for each in loaded], scalars)
        self._store(chunk, pointers, [[op.result(m, v, f) for v in vector] for vector in values])
        self._store_row(chunk, rank, row, f)

    def run_through(self, teams: int) -> None:
        """Rows `teams` apart, with sums over all of them."""
        op, m, rows = self.op, self.m, self.rows
        team, rank = _row_and_rank(self.count)
        first = self.arrays.tensors[self.elements[0][0].name]
        total = ptx.inst.cvt.u32.u64(first.shape[0])
        chunk = Chunk(rows, team, rank, self.count)
        pointers = self._pointers()
        weights = [chunk.load(pointers[o.name], o, vector) for o, vector in self.columns]
        outputs = [self.arrays.tensors[operand.name] for operand in op.written(COLUMN)]
        sums = RegisterSums(m, chunk.part, chunk.ends, outputs, lambda: team)
        every = [*sums.sums, *([] if sums.end_sums is None else [[sums.end_sums]])]
        row = reg.scalar(u32, init=team)
        with ptx.while_(lambda: row < total):
            loaded = [chunk.load(pointers[o.name], o, vector) for o, vector in self.elements]
            scalars = self._row_scalars(pointers, row)
            f = self._factors(pointers, row, chunk, scalars)
            late = [partial(_loaded, each) for each in (*loaded, *weights)]
            values = chunk.values(self.operands, late, scalars)
            found: list[list[tuple[Reg, ...]]] = []
            for vector, of_vector in zip(values, every, strict=True):
                found.append([])
                for v, of_element in zip(vector, of_vector, strict=True):
                    found[-1].append(op.result(m, v, f))
                    op.accumulate(m, of_element, v, f)
            self._store(chunk, pointers, found)
            self._store_row(chunk, rank, row, f)
            sums.row_done(chunk.active)
            row += teams
            for operand, _ in (*self.elements, *self.results):
                advance(pointers[operand.name], teams * rows.columns * operand.dtype.bytes)
        dependent.launch_dependents(rows)
        sums.write(chunk.active)


def _loaded(values: list[list[Reg]]) -> list[list[Reg]]:
    return values
