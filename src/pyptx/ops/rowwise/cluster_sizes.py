"""Sizes of kernels whose rows are those of a cluster or of a grid: CTAs, threads, stages."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from pyptx.device import KIB, WARP
from pyptx.ops.rowwise import cluster_ends, cluster_rates, cluster_registers, measured
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.sizes import MANY, aligned, bytes_read, threads_for
from pyptx.ops.rowwise.strategies import cluster, one_cluster
from pyptx.ops.rowwise.vectors import power_of_two, rounded_up
from pyptx.types import f32

_LARGE: Final = 51 * KIB
"""Bytes that are read of a row by each CTA, at most, so that it holds four rows."""

_PARTS: Final = (2, 3, 4, 5, 6, 8, 16)
"""CTAs of a cluster for a row that has ends."""

_GRID: Final = 128
"""CTAs of a team that is larger than a cluster."""

_SEVERAL: Final = 256
"""Vectors of a row that several clusters take."""

_ONE_CTA: Final = 512
"""Vectors of a row, each of a thread, of which a CTA has room for two rows."""


def clusters_of(op: RowOp, rows: Rows) -> cluster.Shape | None:
    """How rows are split: into parts of 18 to 51 KiB of what is read, if clusters allow it.

    None where no team can hold three rows, or where there cannot be a team for each way in which
    rows are cut.
    """
    size, device = bytes_read(op, rows), rows.device
    # Where rows have ends, eight CTAs of a cluster were slower than four with larger parts, but for
    # one array with one input per column.
    large = not rows.aligned and (len(op.given(ELEMENT)) > 1 or len(op.given(COLUMN)) > 1)
    most = _LARGE if large else (42 if op.written(COLUMN) else 36) * KIB
    parts = min(16, max(2, power_of_two(-(-size // most))), max(2, device.cluster))
    if device.resident_clusters(parts) < rows.alignments:
        parts //= 2
    if size // parts * 3 <= device.cta_shared - KIB:
        found = clusters(op, rows, parts)
        if found is None:
            return None
        if not rows.aligned:
            return _with_ends(op, rows, found)
        if op.written(COLUMN):
            return _of_half(op, rows, found)
        return cluster_rates.fastest(op, rows, found)
    # Teams of a grid wait for each other's CTAs, so all of them must run at once: one team.
    if rows.aligned and op.statistic is not None:
        return _cluster_shape(op, rows, _GRID, 1)
    return None


def _of_half(op: RowOp, rows: Rows, shape: cluster.Shape) -> cluster.Shape:
    """Half as many CTAs for a row where there would be 16, if rows are no slower by that.

    Six clusters of 16 run at once on an H200, and 14 of eight, which are 112 CTAs rather than 96:
    the gradient of layer_norm 2730 x 98304 bf16 took 433 us, and 487 by clusters of 16.
    """
    half = clusters(op, rows, 8) if shape.parts == 16 else None
    if half is None:
        return shape
    if bytes_read(op, rows) <= 8 * _LARGE:
        return half
    several = len(op.written(COLUMN)) > 1  # of one sum memory is the limit anyway
    pace = partial(cluster_registers.pace, op, rows)
    return half if several and pace(half) > pace(shape) else shape


def _with_ends(op: RowOp, rows: Rows, shape: cluster.Shape) -> cluster.Shape:
    """The shape, or one with another number of CTAs for a row.

    All rows of a team are cut alike, so that there are as many teams for each way to cut them. Of
    14 clusters of eight CTAs 8 are left where there are eight ways: 2684 x 100003 bf16 took 370 us
    forward on an H200, and with 24 clusters of four 283.

    Threads that sum over rows have much to compute: there it is the shape that computes most.
    """
    every = (clusters(op, rows, parts) for parts in _PARTS if parts <= rows.device.cluster)
    found = [each for each in every if each is not None]
    if op.written(COLUMN):
        return max(found, key=partial(cluster_registers.pace, op, rows), default=shape)
    if not cluster_registers.fills(rows, shape):
        shape = max(
            found,
            key=lambda each: (each.teams * each.parts, each.shared, -each.parts),
            default=shape,
        )
    return cluster_ends.fastest(op, rows, cluster_registers.with_registers(rows, shape))


def cluster_of_one_row(op: RowOp, rows: Rows) -> cluster.Shape | None:
    """A cluster for each row, whose CTAs have up to 64 KiB of it and share an SM with others.

    Clusters that stay for many rows have an SM for each CTA, and leave those without that are no
    whole cluster of a GPC: 20 of 132. None where CTAs would load inputs per column for one row, and
    for rows longer than eight such parts.
    """
    inputs = op.given(ELEMENT)
    if op.statistic is None or op.given(COLUMN) or op.written(COLUMN) or len(inputs) > 1:
        return None
    parts = max(2, power_of_two(-(-bytes_read(op, rows) // (64 * KIB))))
    if parts > min(8, rows.device.cluster):
        return None
    threads = threads_for(rows.part(parts), 16)
    shape = cluster.Shape(aligned(MANY, rows), parts, threads, stages=1, lag=0)
    return shape if rows.device.allows(cluster.needs(op, rows, shape)) else None


def clusters(op: RowOp, rows: Rows, parts: int) -> cluster.Shape | None:
    """As many clusters of that many CTAs as run at once; None where they are fewer than needed."""
    count = rows.device.resident_clusters(parts)
    return None if count < rows.alignments else _cluster_shape(op, rows, parts, count)


def one_cluster_shapes(op: RowOp, rows: Rows) -> tuple[one_cluster.Shape, ...]:
    """A cluster, or a CTA, for eight rows, and others for fewer: for the most rows first.

    Each thread has a vector of its rows. Two rows of a thread leave nothing of other threads to add
    up: layer_norm's gradient of 2 x 8192 bf16 took 2.2 us on an H200, and 2.8 with teams. A second
    row that is not there costs less than code for one row, but where there is one sum. Empty where
    a device has no such cluster, or a thread would have more vectors than one.
    """
    most = one_cluster_shape(op, rows)
    if most is None:
        return ()
    groups, light = rows.divided().groups, len(op.written(COLUMN)) == 1
    if groups < _ONE_CTA or rows.compute is not f32:
        return most, *_one_cta_shapes(groups, light=light)
    parts, threads = _wide(groups) or (most.parts, most.threads)
    few = (2, 1) if light else (2,)
    return most, *(one_cluster.Shape(parts, threads, together) for together in few)


def one_cluster_shape(op: RowOp, rows: Rows) -> one_cluster.Shape | None:
    """A cluster of 16 CTAs, at most, for eight rows.

    Four teams of a CTA have two rows each: layer_norm's gradient of 8 x 8192 took 3.3 us on an
    H200, where one team with all eight, which leaves three of four schedulers idle, took 4.2.
    """
    rows = rows.divided()
    groups, words = rows.groups, _words(op, rows)
    least = 4 if groups >= 4 * WARP else 2
    parts = min(16, max(least, -(-groups // 64)), max(2, rows.device.cluster))
    threads = threads_for(groups, parts)
    teams = 1
    if rows.compute is f32 and threads <= 6 * WARP:  # of more, registers would not do
        teams = 4 if threads <= 4 * WARP else 2
    together = min(8 // teams, 8 if words <= 8 else 4)
    shape = one_cluster.Shape(parts, threads, together, teams)
    fits = shape.threads <= 256 and rows.device.allows(one_cluster.needs(op, rows, shape))
    return shape if fits else None


def several_clusters(op: RowOp, rows: Rows) -> tuple[one_cluster.Shape, ...]:
    """Clusters for some rows of at least 256 vectors, as many as run at once: for few rows first.

    Each CTA has a part of about 128 vectors of several rows. The fewer rows it has at once, the
    sooner it has written them. Five rows of a thread leave no sums of other threads to add up,
    which heavier formulas have no registers for. Parts of 64 vectors gave 2% of 16 rows, and four
    rows of a thread 5% of four: programs have fewer kernels without them.
    """
    divided = rows.divided()
    if not rows.aligned or divided.groups < _SEVERAL:
        return ()
    found: list[one_cluster.Shape] = []
    for parts, threads, together, teams in _ways(op, divided):
        count = rows.device.resident_clusters(parts)
        shape = one_cluster.Shape(parts, threads, together, teams, count)
        more = count > 1 and shape.stride > (found[-1].stride if found else 0)
        if more and rows.device.allows(one_cluster.needs(op, divided, shape)):
            found.append(shape)
    return tuple(found)


def _ways(op: RowOp, rows: Rows) -> list[tuple[int, int, int, int]]:
    """CTAs of a cluster, threads of a row, rows of a thread, and teams."""
    groups = rows.groups
    plain = rows.compute is f32  # of wider numbers more teams have too few registers
    if groups <= measured.LIMITS.clustered:  # fewer rows have another way, which is quicker
        parts = max(4, power_of_two(-(-groups // 64)))
        together, teams = (2, 4) if plain else (4, 1)
        return [(parts, threads_for(groups, parts), together, teams)]
    found = _wide(groups)
    if found is None:
        return []
    wide, threads = found
    if not plain:
        return [(wide, threads, 4, 1)]
    light, roomy = len(op.written(COLUMN)) == 1, threads <= 4 * WARP
    small = light or _words(op, rows) <= 8  # otherwise registers would be stored to memory
    shared = [(2, 2)] + [(5, 1)] * light
    shared += [(2, 4)] * (small or roomy) + [(3, 4)] * (small and roomy)
    return [(wide, threads, *each) for each in shared]


def _words(op: RowOp, rows: Rows) -> int:
    """Registers that a thread's vectors of a row are in."""
    return sum(rows.vector(o.dtype).words for o in op.given(ELEMENT))


def _wide(groups: int) -> tuple[int, int] | None:
    """CTAs of a cluster with about 128 threads, as few of them as possible without a vector."""
    parts = [p for p in range(2, 9) if 3 <= threads_for(groups, p) // WARP <= 5]
    found = [(p * threads_for(groups, p), abs(threads_for(groups, p) - 128), p) for p in parts]
    if not found:
        return None
    *_, wide = min(found)
    return wide, threads_for(groups, wide)


def _one_cta_shapes(groups: int, *, light: bool) -> tuple[one_cluster.Shape, ...]:
    """The same of one CTA in which each thread has one vector of a row, for two rows and for one.

    Empty for rows that have more vectors than half of the threads of a CTA.
    """
    if groups > _ONE_CTA:
        return ()
    threads = rounded_up(groups, WARP)
    return tuple(
        one_cluster.Shape(1, threads, together) for together in ((2, 1) if light else (2,))
    )


def _cluster_shape(op: RowOp, rows: Rows, parts: int, count: int) -> cluster.Shape | None:
    """Teams of `parts` CTAs, `count` of which run at once. None where a device has no room."""
    grid, sums = parts == _GRID, bool(op.written(COLUMN))
    most = rows.part(parts)
    stage = sum(rounded_up(most * rows.vector(o.dtype).bytes) for o in op.given(ELEMENT))
    weights = sum(rounded_up(most * rows.vector(o.dtype).bytes) for o in op.given(COLUMN))
    numbers = op.statistic.count if op.statistic is not None else 0
    room = rows.device.cta_shared - KIB - (0 if grid else 8 * parts * rows.compute.bytes * numbers)
    if 3 * stage > room:
        return None
    shared = not grid and 3 * stage + weights <= room
    held = min(
        8 if grid else cluster_registers.STAGES, (room - (weights if shared else 0)) // stage
    )
    threads = _threads_with_sums(most, grid=grid) if sums else 512
    shape = cluster.Shape(aligned(count, rows), parts, threads, held, 1, shared, grid=grid)
    if grid:
        shape = _lagging(op, rows, shape, room)
    elif sums:
        shape = cluster_registers.with_second_sums(op, rows, shape)
    return shape if rows.device.allows(cluster.needs(op, rows, shape)) else None


def _lagging(op: RowOp, rows: Rows, shape: cluster.Shape, room: int) -> cluster.Shape:
    """Statistics take longer through global memory: more rows are on their way, if they fit.

    As many wait for their statistics as are fetched or written: the gradient of rms_norm
    128 x 524288 bf16 took 109 us on an H200 where four of eight wait, and 115 where five do.
    """
    if shape.stages >= 5:
        return replace(shape, lag=shape.stages // 2)
    each = -(-rows.part(shape.parts) // shape.threads)
    # In pieces of as many vectors of each thread; a stage is free as soon as one is written.
    pieces = -(-each // -(-each // 4))
    shape = replace(shape, pieces=pieces)
    held = room // cluster.stage_bytes(op, rows, shape)
    lag = (held - 2) // pieces - 1 if pieces > 1 else held - 3
    return replace(shape, stages=held, lag=lag)


def _threads_with_sums(groups: int, *, grid: bool) -> int:
    """Threads for that many vectors with sums: 512, or two vectors each where that fits better.

    More than 608 would have fewer registers. In a grid 256 with two vectors took 1% less time.
    """
    if grid:
        return 256 if groups <= 512 else 512
    if groups == power_of_two(groups) or not 512 < groups <= 2 * 608:
        return 512
    return threads_for(groups, 2)
