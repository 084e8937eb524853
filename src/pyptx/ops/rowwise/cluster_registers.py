"""Clusters whose threads sum over rows: threads with registers for it, and room beside rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from pyptx.device import KIB
from pyptx.ops.rowwise.column_sums import FEW
from pyptx.ops.rowwise.operation import COLUMN, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.sizes import widest
from pyptx.ops.rowwise.strategies import cluster
from pyptx.ops.rowwise.vectors import PIECE, power_of_two

STAGES: Final = 4
"""Rows that a CTA of a cluster holds; more would delay the first ones."""

_NARROW: Final = 256
"""Threads of a CTA that have 168 registers each, with the warp that fetches; of 512 it is 96."""

_ROOMY: Final = 352
"""The most threads that have as many."""

_WIDE: Final = 480
"""Threads that have 128 registers."""

_EACH: Final = 6
"""Vectors of a thread, at most, where there are threads enough."""

_HELD: Final = 320
"""Bytes of sums for which 168 registers do, with what is computed beside them."""

_PACE: Final = 2.5 * KIB
"""Bytes of vectors, 16 each, for each SM in the time of one: memory does not deliver more."""

_PACE_OF_TWO: Final = 2.9 * KIB
"""The same where there are several sums, so that a vector takes longer."""


def with_second_sums(op: RowOp, rows: Rows, shape: cluster.Shape) -> cluster.Shape:
    """Few sums in registers; of more the second sums in shared memory, and fewer threads.

    Registers hold a thread's sums, or ptxas stores them to memory: the gradient of layer_norm
    5341 x 50257 bf16 took 1224 us on an H200 with 512 threads, and 490 so. Second sums in shared
    memory, rather than in global memory, are worth a stage: 2670 x 50257 f32 took 420 us with them
    and three stages, and 459 with four stages. Inputs per column are in registers, too: that of
    rms_norm 5341 x 50257 bf16 with weights in f32 took 534 us, and 602 with these in shared memory.
    """
    sums = partial(cluster.sums_of_thread, op, rows)
    single = rows.part(shape.parts) <= shape.threads
    if sums(shape) <= FEW and (rows.aligned or single):
        # 16-bit elements are unpacked again for each row, wherever they are.
        return shape if single else replace(shape, shared=shape.shared and widest(op) > 2)
    found = replace(shape, threads=_threads(op, rows, shape), shared=False)
    if sums(found) > FEW:
        # Few CTAs need their stages: rms_norm 1220 x 110001 f32 took 464 us with four, 519 so.
        least = 3 if fills(rows, shape) else STAGES
        second = _with_stages(op, rows, replace(found, sums=True), least)
        if second is not None:
            return second
    if sums(found) >= _HELD:
        found = replace(found, shared=shape.shared)
    return _with_stages(op, rows, found, 3) or shape


def _threads(op: RowOp, rows: Rows, shape: cluster.Shape) -> int:
    """Threads for the part of a row that a CTA has, such that each has many registers."""
    most = rows.part(shape.parts)
    sums = cluster.sums_of_thread(op, rows, replace(shape, threads=_NARROW))
    if rows.aligned and most <= _EACH * _NARROW and sums <= _HELD:
        return _NARROW
    return _ROOMY if most <= _EACH * _ROOMY else _WIDE


def _with_stages(op: RowOp, rows: Rows, shape: cluster.Shape, least: int) -> cluster.Shape | None:
    """The shape with as many stages as there is room for; None where these are fewer than that."""
    for stages in range(STAGES, least - 1, -1):
        found = replace(shape, stages=stages)
        if rows.device.allows(cluster.needs(op, rows, found)):
            return found
    return None


def with_registers(rows: Rows, shape: cluster.Shape) -> cluster.Shape:
    """The shape with 352 threads where each of 512 has more than six vectors of a row: layer_norm
    1766 x 151937 bf16 took 460 us on an H200, and 317 so."""
    many = rows.part(shape.parts) > _EACH * shape.threads
    return replace(shape, threads=_ROOMY) if many else shape


def fills(rows: Rows, shape: cluster.Shape) -> bool:
    """Whether teams have two thirds of the SMs."""
    return 3 * shape.teams * shape.parts > 2 * rows.device.multiprocessors


def pace(op: RowOp, rows: Rows, shape: cluster.Shape) -> tuple[float, int, int, bool]:
    """How much is computed while a thread has one vector, as far as memory does not limit it.

    Then how many stages all CTAs have. A row takes a thread about one vector more than it has,
    with second sums in global memory 8% longer, with many threads, which have fewer registers, a
    tenth longer where rows have ends, and twice as long where there are many sums: of about 900
    shapes on an H200.
    """
    most = rows.part(shape.parts)
    vectors, many = -(-most // shape.threads) + 1, shape.threads > _ROOMY
    found = shape.teams * rows.columns * PIECE / rows.group / vectors
    limit = _PACE if len(op.written(COLUMN)) == 1 else _PACE_OF_TWO
    found = min(found, limit * rows.device.multiprocessors)
    if cluster.has_near_sums(op, rows, shape):
        found *= 1.08
    if many and not rows.aligned:
        found *= 0.9
    if many and cluster.sums_of_thread(op, rows, shape) >= _HELD:
        found /= 2
    even = shape.parts == power_of_two(shape.parts)
    return found, shape.teams * shape.parts * shape.stages, shape.stages, even
