"""Clusters for long 16-bit rows that begin within a vector, without sums over rows.

All rows of a team are cut alike, so that there are few numbers of teams to choose from. More bytes
on their way than memory needs make such rows slower: rms_norm 1118 x 120001 bf16 took 142 us on an
H200 with three rows for each CTA of 16 clusters, and 159 with four. So a CTA holds as few rows as
suffice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pyptx.device import KIB
from pyptx.ops.rowwise import measured
from pyptx.ops.rowwise.cluster_rates import Work, narrow
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.strategies import cluster

_PARTS: Final = (2, 3, 4, 5, 6, 8, 16)
"""CTAs of a cluster for a row."""

_STAGES: Final = (3, 4, 8)
"""Rows that a CTA holds."""

_HELD: Final = 112
"""Registers of a thread for inputs per column, at most: layer_norm 1118 x 120001 took 154 us with
88 of them, and 159 with 120."""

_LEAST: Final = 1.02
"""How many times faster another shape is expected to be, at least.

The rates were fitted to 500 shapes for 11 lengths from 33001 to 180001 of layer_norm and rms_norm
on an H200. The shapes chosen so take 2.5% more time than the fastest, on average."""

_OF_TWO_ARRAYS: Final = 80
"""KiB for each SM that are read at a time where two arrays are, at least."""

_SHARP: Final = 6
"""How sharp the limit is where threads compute as much as memory gives."""


def fastest(op: RowOp, rows: Rows, shape: cluster.Shape) -> cluster.Shape:
    """The shape, or another if that is expected to be faster by 2%.

    layer_norm 1717 x 78125 bf16 took 166 us on an H200 with four CTAs of 512 threads for each row,
    and 147 with three of 256.
    """
    inputs = op.given(ELEMENT)
    if op.written(COLUMN) or inputs[0].dtype.bytes != 2:
        return shape
    if len(inputs) > 1:
        return _with_few_rows(op, rows, shape)
    found = [each for parts in _PARTS if (each := _narrow(op, rows, parts)) is not None]
    best = max(found, key=lambda each: rate(op, rows, each), default=shape)
    return best if rate(op, rows, best) > _LEAST * rate(op, rows, shape) else shape


def _narrow(op: RowOp, rows: Rows, parts: int) -> cluster.Shape | None:
    """Clusters of few threads that hold as few rows as suffice; None without room."""
    shapes = list(narrow(op, rows, parts, _STAGES, _HELD))
    least = measured.END_RATES.on_their_way
    enough = [each for each in shapes if Work.of(op, rows, each).on_their_way() >= least]
    return next(iter(enough + shapes[-1:]), None)


def _with_few_rows(op: RowOp, rows: Rows, shape: cluster.Shape) -> cluster.Shape:
    """The shape with as few rows in a CTA as suffice.

    The gradient of softmax 2670 x 50257 bf16 took 233 us on an H200 with four, and 210 with three.
    """
    shapes = (replace(shape, stages=count) for count in range(min(_STAGES), shape.stages))
    return next(
        (each for each in shapes if Work.of(op, rows, each).on_their_way() >= _OF_TWO_ARRAYS), shape
    )


def rate(op: RowOp, rows: Rows, shape: cluster.Shape) -> float:
    """Bytes that are read and written in a microsecond."""
    return expected(Work.of(op, rows, shape), measured.END_RATES)


def expected(work: Work, rates: measured.EndRates) -> float:
    """The same of what was measured: a little less than threads and memory each give."""
    besides = rates.one_number if work.numbers == 1 else rates.several
    computed = work.computed(rates.vector, besides, rates.of_threads)
    read = work.on_their_way() / rates.on_their_way
    memory = rates.memory * KIB * work.multiprocessors
    memory *= read**rates.less if read < 1 else read**-rates.more
    if work.parts % 2:
        memory *= rates.odd
    return (computed**-_SHARP + memory**-_SHARP) ** (-1 / _SHARP)
