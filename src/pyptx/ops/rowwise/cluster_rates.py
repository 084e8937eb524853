"""Clusters for long rows without sums over rows: which of them are fastest, by what was measured.

A row of a team takes as long as its vectors, and as its statistic, which goes from thread to thread
and from CTA to CTA whatever the row's length. So few CTAs for a row are faster where a statistic is
several numbers, and many, of which memory has fewer rows at a time, where it is one. The rates are
in `measured`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pyptx.device import KIB
from pyptx.ops.rowwise import measured
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.sizes import aligned, bytes_read
from pyptx.ops.rowwise.strategies import cluster
from pyptx.ops.rowwise.vectors import PIECE

_PARTS: Final = (2, 4, 8, 16)
"""CTAs of a cluster for a row."""

_FEW: Final = (256, 352)
"""Of a CTA: so few have registers for inputs per column, and their statistics are soon added."""

_UNIT: Final = 256
"""Threads of which the measured times are."""

_STAGES: Final = (8, 4, 3)
"""Rows that a CTA holds. Of 512 threads, some took 10% more time with five than with four."""

_HELD: Final = 128
"""Registers of a thread for inputs per column, at most."""

_LEAST: Final = 1.05
"""How many times faster another shape is expected to be, at least: the rates are off by some 3%.

They were fitted to 1500 shapes for 41 lengths from 32768 to 262144, of norms and the gradient of
softmax on an H200. The shapes chosen so take 1.2% more time than the fastest, on average, and 8% at
most."""

_CONFLICT: Final = 2
"""How many times longer a vector takes where threads read 32 bytes each of an input per column from
shared memory, two wavefronts for one: weights in f32 of 16-bit elements."""


@dataclass(frozen=True, slots=True)
class Work:
    """What the time of rows depends on.

    teams, parts, threads, stages
                     of the clusters
    multiprocessors  of the device
    vectors          of a row that a thread has of each array, at most
    arrays           that are read and written
    moved            bytes of a row in all of these
    read             bytes of a row in those that are read
    numbers          of the statistic
    wide             whether elements have 32 bits or more
    conflict         whether threads read 32 bytes each of an input per column from shared memory
    """

    teams: int
    parts: int
    threads: int
    stages: int
    multiprocessors: int
    vectors: int
    arrays: int
    moved: int
    read: int
    numbers: int
    wide: bool
    conflict: bool

    @staticmethod
    def of(op: RowOp, rows: Rows, shape: cluster.Shape) -> Work:
        """That of an operation's rows by clusters of a shape."""
        assert op.statistic is not None
        arrays = [*op.given(ELEMENT), *op.written(ELEMENT)]
        wide_columns = any(rows.vector(o.dtype).bytes > PIECE for o in op.given(COLUMN))
        return Work(
            shape.teams, shape.parts, shape.threads, shape.stages, rows.device.multiprocessors,
            vectors=-(-rows.part(shape.parts) // shape.threads), arrays=len(arrays),
            moved=rows.columns * sum(o.dtype.bytes for o in arrays), read=bytes_read(op, rows),
            numbers=op.statistic.count, wide=rows.group < 8,
            conflict=shape.shared and wide_columns,
        )  # fmt: skip

    def computed(self, vector: float, besides: float, of_threads: float) -> float:
        """Bytes that threads compute in a microsecond; 256 of them take `vector` for one each of an
        array, and `besides` for a row."""
        threads = self.threads / _UNIT
        row = vector * self.arrays * self.vectors * threads
        row += besides * (1 - of_threads + of_threads * threads)
        return self.teams * self.moved / row

    def on_their_way(self) -> float:
        """KiB that are read at a time, for each SM."""
        return self.teams * self.stages * self.read / (KIB * self.multiprocessors)


def fastest(op: RowOp, rows: Rows, shape: cluster.Shape) -> cluster.Shape:
    """The shape, or another if that is expected to be faster by 5%.

    layer_norm 3276 x 163840 bf16 took 882 us on an H200 with 16 CTAs for each row, and 514 so; the
    gradient of softmax 6553 x 81920 bf16 883 and 748.
    """
    if op.statistic is None:  # CTAs have nothing to wait for
        return shape
    found = [each for parts in _PARTS if (each := _narrow(op, rows, parts)) is not None]
    best = max(found, key=lambda each: rate(op, rows, each), default=shape)
    return best if rate(op, rows, best) > _LEAST * rate(op, rows, shape) else shape


def _narrow(op: RowOp, rows: Rows, parts: int) -> cluster.Shape | None:
    """Clusters of few threads, with inputs per column in registers; None without room."""
    return next(narrow(op, rows, parts, _STAGES, _HELD), None)


def narrow(
    op: RowOp, rows: Rows, parts: int, stages: Iterable[int], held: int
) -> Iterator[cluster.Shape]:
    """Clusters of so few threads that `held` registers have a thread's inputs per column.

    With each number of stages that there is room for.
    """
    teams = rows.device.resident_clusters(parts)
    words = sum(rows.vector(o.dtype).words for o in op.given(COLUMN))
    threads = [n for n in _FEW if -(-rows.part(parts) // n) * words <= held]
    if teams < rows.alignments or not threads:
        return
    for count in stages:
        shape = cluster.Shape(aligned(teams, rows), parts, threads[0], count, 1, shared=False)
        if rows.device.allows(cluster.needs(op, rows, shape)):
            yield shape


def rate(op: RowOp, rows: Rows, shape: cluster.Shape) -> float:
    """Bytes that are read and written in a microsecond."""
    return expected(Work.of(op, rows, shape), measured.RATES)


def expected(work: Work, rates: measured.Rates) -> float:
    """The same of what was measured: whichever of threads and memory gives less."""
    vector = rates.vector_of_32 if work.wide else rates.vector
    besides = rates.one_number if work.numbers == 1 else rates.several
    computed = work.computed(vector * _CONFLICT if work.conflict else vector, besides,
                             rates.of_threads)  # fmt: skip
    parts = {2: rates.of_two, 4: rates.of_four, 8: rates.of_eight, 16: rates.of_sixteen}
    waiting = min(1.0, work.on_their_way() / rates.on_their_way) ** 0.5
    memory = rates.memory * KIB * work.multiprocessors * parts[work.parts] * waiting
    return min(computed, memory) + computed / 1000
