"""Clusters for long rows without sums over rows: which of them are fastest, by what was measured.

A row of a team takes as long as its vectors, and as its statistic, which goes from thread to thread
and from CTA to CTA whatever the row's length. So few CTAs for a row are faster where a statistic is
several numbers, and many, of which memory has fewer rows at a time, where it is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pyptx.device import KIB
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
"""Threads of which the times below are."""

_STAGES: Final = (8, 4, 3)
"""Rows that a CTA holds. Of 512 threads, some took 10% more time with five than with four."""

_HELD: Final = 128
"""Registers of a thread for inputs per column, at most."""

_LEAST: Final = 1.05
"""How many times faster another shape is expected to be, at least: the rates are off by some 3%."""

# Fitted to 1500 shapes for 41 lengths from 32768 to 262144, of norms and the gradient of softmax on
# an H200. The shapes chosen so take 1.2% more time than the fastest, on average, and 8% at most.
_MEMORY: Final = 31.1 * KIB
"""Bytes that memory gives and takes in a microsecond, for each SM."""

_OF_MEMORY: Final = {2: 0.97, 4: 0.957, 8: 0.976, 16: 1.0}
"""The part of that, by the CTAs of a row: the fewer rows at a time, the better."""

_ON_THEIR_WAY: Final = 84.4 * KIB
"""Bytes for each SM that are read at a time, at least, or memory waits."""

_VECTOR: Final = 0.0266
"""Microseconds of 256 threads for a vector of each, of 16 bits, and for each array."""

_VECTOR_OF_32: Final = 0.016
"""The same of 32 bits, which are half as many elements."""

_CONFLICT: Final = 2
"""How many times longer that is where threads read 32 bytes each of an input per column from shared
memory, two wavefronts for one: weights in f32 of 16-bit elements."""

_ONE_NUMBER: Final = 0.55
"""Microseconds of a row besides, with 256 threads, where its statistic is one number."""

_SEVERAL: Final = 1.11
"""The same where it is more numbers."""

_OF_THREADS: Final = 0.29
"""The part of that time that grows with the number of threads."""


def fastest(op: RowOp, rows: Rows, shape: cluster.Shape) -> cluster.Shape:
    """The shape, or another if that is expected to be faster by 5%.

    layer_norm 3276 x 163840 bf16 took 882 us on an H200 with 16 CTAs for each row, and 514 so; the
    gradient of softmax 6553 x 81920 bf16 883 and 748.
    """
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
    assert op.statistic is not None
    arrays = [*op.given(ELEMENT), *op.written(ELEMENT)]
    moved = rows.columns * sum(o.dtype.bytes for o in arrays)
    vector = _VECTOR_OF_32 if rows.group < 8 else _VECTOR
    if shape.shared and any(rows.vector(o.dtype).bytes > PIECE for o in op.given(COLUMN)):
        vector *= _CONFLICT
    besides = _ONE_NUMBER if op.statistic.count == 1 else _SEVERAL
    computed = shape.teams * moved / time_of_row(op, rows, shape, vector, besides)
    read = shape.teams * shape.stages * bytes_read(op, rows)
    waiting = min(1.0, read / (_ON_THEIR_WAY * rows.device.multiprocessors)) ** 0.5
    memory = _MEMORY * rows.device.multiprocessors * _OF_MEMORY[shape.parts] * waiting
    return min(computed, memory) + computed / 1000


def time_of_row(
    op: RowOp, rows: Rows, shape: cluster.Shape, vector: float, besides: float
) -> float:
    """Microseconds that threads take for a row; 256 of them `vector` for one each of an array."""
    arrays = len(op.given(ELEMENT)) + len(op.written(ELEMENT))
    each, threads = -(-rows.part(shape.parts) // shape.threads), shape.threads / _UNIT
    return vector * arrays * each * threads + besides * (1 - _OF_THREADS + _OF_THREADS * threads)
