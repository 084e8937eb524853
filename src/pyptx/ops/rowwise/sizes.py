"""Sizes of kernels for rows of a length: threads, rows at once, teams, stages.

They were found on an H200; numbers of CTAs follow the device, and what a device has no room for
is None. Limits between two kernels are in `measured`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from pyptx.device import KIB, WARP
from pyptx.ops.rowwise import measured
from pyptx.ops.rowwise.column_sums import FEW
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.strategies import cluster, one_cluster, persistent, subwarp
from pyptx.ops.rowwise.vectors import power_of_two, rounded_up
from pyptx.types import f32

_LINES: Final = 32
"""Units of a row that is worth cutting at lines."""

_STAGES: Final = 4
"""Rows that a CTA of a cluster holds; more would delay the first ones."""

_MANY: Final = 2**20
"""Teams, each of one row, unless there are more rows still."""

_GRID: Final = 128
"""CTAs of a team that is larger than a cluster."""

ROW: Final = 4096
"""Vectors of a row that leaves room for other CTAs beside its own."""


def bytes_read(op: RowOp, rows: Rows) -> int:
    """Bytes that are read of a row."""
    return rows.columns * sum(operand.dtype.bytes for operand in op.given(ELEMENT))


def widest(op: RowOp) -> int:
    """Bytes of an element of the widest input."""
    return max(operand.dtype.bytes for operand in op.given(ELEMENT))


def is_plain(rows: Rows) -> bool:
    """Whether vectors are 16 bytes of every array, in f32, so that few registers hold them."""
    return rows.compute is f32 and len({dtype.bytes for dtype in rows.types}) == 1


def held(rows: Rows) -> int:
    """Vectors of all inputs that the registers of a CTA hold."""
    return 2 * ROW if is_plain(rows) else ROW // 2


def is_of_two(op: RowOp, rows: Rows) -> bool:
    """Whether two arrays and nothing else are read, both in vectors that few registers hold."""
    return is_plain(rows) and len(op.given(ELEMENT)) == 2 and not op.given(COLUMN)


def is_short(op: RowOp, rows: Rows) -> bool:
    """Whether part of a warp takes a row, each thread four accesses of each input at most.

    Of rows that begin within a vector eight, which are narrow: a CTA has few vectors of such a row,
    and many ends. 691843 x 97 bf16 took it 417 us on an H200, and parts of warps 107.
    """
    first = op.given(ELEMENT)[0].dtype.bytes
    most = (4 if rows.aligned else 8) * WARP
    return rows.divided().groups <= most and rows.columns * first <= 2 * KIB


def subwarp_shape(rows: Rows, accesses: int) -> subwarp.Shape:
    """Lanes for a row, and rows for a thread, so that it has about so many accesses."""
    groups = rows.divided().groups
    count = min(WARP, power_of_two(groups))
    return subwarp.Shape(count, max(1, accesses // -(-groups // count)), 256)


def _threads(groups: int, each: int) -> int:
    """As many threads, in whole warps, as take so many vectors with `each` of them at most."""
    return rounded_up(-(-groups // each), WARP)


class CtaShape(NamedTuple):
    """Threads of a CTA, whether it keeps the row in registers, how many of those it has (None: as
    many as it wants), and whether what there is per column is loaded where it is used."""

    threads: int
    held: bool
    registers: int | None = None
    late: bool = False


def cta_shape(op: RowOp, rows: Rows) -> CtaShape:
    """How a CTA takes a row."""
    groups = rows.groups
    plain, inputs = is_plain(rows), len(op.given(ELEMENT))
    columns = len(op.given(COLUMN))
    regular = groups == power_of_two(groups)
    if is_of_two(op, rows) and groups * inputs > 512:
        # Wide CTAs ask for the lines of a row of each input at about the same time.
        if groups * inputs > ROW:
            return CtaShape(256, held=False)
        least = 2 if op.statistic is None else 1  # where threads wait for nothing, more at once
        return CtaShape(_threads(groups, max(least, -(-groups // 512))), held=True)
    if groups * inputs > ROW:
        # A row without ends keeps more threads busy.
        return CtaShape(1024 if rows.aligned else 512, held=False)
    late = _late_shape(op, rows)
    if late is not None:
        return late
    if groups * inputs > 2048 and (regular or not plain):
        return CtaShape(256, held=False, registers=80 if plain and op.is_light else None)
    limits = measured.LIMITS
    narrow = limits.held if regular else limits.held_between
    wider = limits.held_regular if regular else limits.held_wide
    if groups * inputs > (narrow if widest(op) == 2 else wider):
        return CtaShape(128, held=False)
    if regular:  # fewer threads hold more of what there is per column, and more CTAs fit
        each = 2 * columns if columns else 2 if op.is_light else 4
        most = 256 if columns > 1 else 512
        return CtaShape(min(most, max(WARP, groups // each)), held=True)
    # Of other numbers three each leave fewer threads without a vector than a power of two would.
    threads = max(2 * WARP, _threads(groups, 3))
    lines = replace(rows, lines=True)
    if not rows.aligned and rows.columns >= _LINES * lines.unit:
        threads = max(2 * lines.unit, threads)  # for the ends of rows that are cut at lines
    return CtaShape(max(threads, 2 * rows.unit), held=True)


def _late_shape(op: RowOp, rows: Rows) -> CtaShape | None:
    """Where two arrays per column would take so many registers that few CTAs fit; or None.

    They are loaded where they are used, from the L1 cache, since all CTAs of an SM read them.
    """
    if len(op.given(COLUMN)) < 2 or len(op.given(ELEMENT)) > 1:
        return None
    if not is_plain(rows) or not rows.aligned:
        return None
    groups, narrow = rows.groups, widest(op) == 2
    if groups > 2048 and groups == power_of_two(groups):
        return CtaShape(256, held=False, registers=80, late=True)
    if narrow and groups <= 512:
        return CtaShape(max(2 * WARP, _threads(groups, 4)), held=False, late=True)
    if not narrow and groups == 1024:
        return CtaShape(256, held=False, late=True)
    return None


def loading_threads(op: RowOp, rows: Rows) -> int | None:
    """Threads that load a row to registers, two vectors each; None where a copy is as quick.

    A number of vectors that is no power of two leaves threads without one, which a copy waits for.
    """
    groups = rows.groups
    plain = is_plain(rows) and rows.aligned and len(op.given(ELEMENT)) == 1
    if not plain or op.given(COLUMN) or groups == power_of_two(groups) or groups > 512:
        return None
    return max(2 * WARP, _threads(groups, 2))


def one_pass_threads(op: RowOp, rows: Rows) -> int:
    """Threads that have four vectors each, of long rows eight, or up to twice as many.

    CTAs of several rows share an SM, and the fewer threads they have, the more rows are on their
    way: 13107 x 5120 bf16 took 39 us on an H200 with 128 threads, and 46 with 256.
    """
    each = max(1, (4 if rows.groups <= 1024 else 8) // len(op.given(ELEMENT)))
    return min(512, max(2 * WARP, power_of_two(rows.groups // each + 1) // 2))


def in_lines(op: RowOp, rows: Rows, threads: int, *, backward: bool = False) -> Rows:
    """The rows cut at lines, if they are many lines long and threads enough for their ends.

    Forward, 16-bit rows of whole vectors are not: so many ends, element by element, cost more.
    """
    if rows.aligned and widest(op) == 2 and not backward:
        return rows
    lines = replace(rows, lines=True)
    long = rows.columns >= _LINES * lines.unit and threads >= 2 * lines.unit
    return lines if long else rows


def team_threads(op: RowOp, rows: Rows) -> int:
    """Threads of a team; where rows have ends, two of them have registers for 512.

    Otherwise a thread has two vectors, if it holds the sums of both in registers twice.
    """
    groups = rows.groups
    threads = power_of_two(groups)
    if is_plain(rows) and rows.aligned:
        if _is_between(op, groups):
            return _threads(groups, 3 if _has_thirds(op, rows) else 2)
        if groups > 512 and groups != threads:
            # Fewer threads without a vector, and room for a second team where sums are few bytes.
            most = 256 if widest(op) > 2 and groups <= 768 else 512
            return _threads(groups, -(-groups // most))
        threads //= 2
    most = 256 if groups <= 512 and not rows.aligned else 512
    return min(most, max(WARP, threads))


def _is_between(op: RowOp, groups: int) -> bool:
    """Whether half as many threads as the next power of two would leave many without a vector.

    So it was with 16-bit elements; wider ones keep memory busy as they are.
    """
    between = 128 < groups <= 512 and groups != power_of_two(groups)
    return between and widest(op) == 2


def _has_thirds(op: RowOp, rows: Rows) -> bool:
    """Whether the threads of a team have three vectors each, and all of them have as many."""
    third, rest = divmod(rows.groups, 3)
    even = rest == 0 and third == power_of_two(third)
    return even and is_plain(rows) and rows.aligned and _is_between(op, rows.groups)


def resident(op: RowOp, rows: Rows) -> persistent.Shape | None:
    """Teams that fit a CTA, and three rows for each: more of them would only delay the first.

    None where not even one team with one row fits, or where a thread would have too many sums.
    """
    fits = bytes_read(op, rows) <= (60 if rows.aligned else 66) * KIB
    most = 576 if is_plain(rows) and rows.aligned else 512
    kept = rows.columns * rows.compute.bytes
    if not fits or kept > most * FEW or rows.columns < rows.unit:
        return None
    threads = team_threads(op, rows)
    sums = persistent.sums_of_thread(op, rows, threads)
    thirds = _has_thirds(op, rows)
    few = sums <= FEW * len(op.written(COLUMN)) or thirds
    most_teams = min(8, (384 if thirds else 512) // threads) if few else 1
    ctas = aligned(max(rows.device.multiprocessors, rows.alignments), rows)
    room = rows.device.cta_shared - KIB
    for count in range(most_teams, 0, -1):
        left = room - (count - 1) * threads * (sums + rows.compute.bytes)
        if count > 1 and sums > FEW:
            left -= count * threads * (sums + rows.compute.bytes)  # second sums
        stages = min(3, left // (count * (bytes_read(op, rows) + 256)))
        shape = persistent.Shape(ctas, count, threads, stages)
        if stages > 0 and rows.device.allows(persistent.needs(op, rows, shape)):
            return shape
    return None


def aligned(count: int, rows: Rows) -> int:
    """At most so many teams, such that all rows of each are cut alike."""
    assert count >= rows.alignments
    return count // rows.alignments * rows.alignments


# ---- clusters ------------------------------------------------------------------------------------


def clusters_of(op: RowOp, rows: Rows) -> cluster.Shape | None:
    """How rows are split: into parts of 18 to 51 KiB of what is read, if clusters allow it.

    None where no team can hold three rows, or where there cannot be a team for each way in which
    rows are cut.
    """
    size, device = bytes_read(op, rows), rows.device
    # Where rows have ends, eight CTAs of a cluster were slower than four with larger parts, but for
    # one array with one input per column.
    large = not rows.aligned and (len(op.given(ELEMENT)) > 1 or len(op.given(COLUMN)) > 1)
    most = (51 if large else 36 if not op.written(COLUMN) else 42) * KIB
    parts = min(16, max(2, power_of_two(-(-size // most))), max(2, device.cluster))
    if device.resident_clusters(parts) < rows.alignments:
        parts //= 2
    if size // parts * 3 <= device.cta_shared - KIB:
        return clusters(op, rows, parts)
    # Teams of a grid wait for each other's CTAs, so all of them must run at once: one team.
    if rows.aligned and op.statistic is not None:
        return _cluster_shape(op, rows, _GRID, 1)
    return None


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
    threads = _threads(rows.part(parts), 16)
    shape = cluster.Shape(aligned(_MANY, rows), parts, threads, stages=1, lag=0)
    return shape if rows.device.allows(cluster.needs(op, rows, shape)) else None


def clusters(op: RowOp, rows: Rows, parts: int) -> cluster.Shape | None:
    """As many clusters of that many CTAs as run at once; None where they are fewer than needed."""
    count = rows.device.resident_clusters(parts)
    return None if count < rows.alignments else _cluster_shape(op, rows, parts, count)


def one_cluster_shape(op: RowOp, rows: Rows, parts: int = 16) -> one_cluster.Shape | None:
    """A cluster of so many CTAs, at most, for eight rows, a vector of each for a thread.

    Four teams of a CTA have two rows each: 8 x 8192 took 3.5 us on an H200, where one team with all
    eight, which leaves three of four schedulers idle, took 3.9. None where a device has no such
    cluster, or a thread would have more vectors than one.
    """
    rows = rows.divided()
    groups, words = rows.groups, sum(rows.vector(o.dtype).words for o in op.given(ELEMENT))
    least = 4 if groups >= 4 * WARP else 2
    parts = min(parts, max(least, power_of_two(-(-groups // 64))), max(2, rows.device.cluster))
    threads = _threads(groups, parts)
    teams = 1
    if rows.compute is f32 and threads <= 6 * WARP:  # of more, registers would not do
        teams = 4 if threads <= 4 * WARP else 2
    together = min(8 // teams, 8 if words <= 8 else 4)
    shape = one_cluster.Shape(parts, threads, together, teams)
    fits = shape.threads <= 256 and rows.device.allows(one_cluster.needs(op, rows, shape))
    return shape if fits else None


def several_clusters(op: RowOp, rows: Rows) -> one_cluster.Shape | None:
    """As many such clusters as run at once, for some rows of at least 256 vectors."""
    shape = one_cluster_shape(op, rows, 8) if rows.aligned else None
    if shape is None or rows.groups < 256 or shape.threads > 128:
        return None
    count = rows.device.resident_clusters(shape.parts)
    return replace(shape, clusters=count) if count > 1 else None


def one_cta_shapes(rows: Rows) -> tuple[one_cluster.Shape, ...]:
    """The same of one CTA in which each thread has one vector of a row, for two rows and for one.

    Empty for rows that have more vectors than half of the threads of a CTA.
    """
    groups = rows.divided().groups
    if groups > 512:
        return ()
    threads = rounded_up(groups, WARP)
    return one_cluster.Shape(1, threads, 2), one_cluster.Shape(1, threads, 1)


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
    held = min(6 if grid else _STAGES, (room - (weights if shared else 0)) // stage)
    threads = _cluster_threads(rows, most) if sums and not grid else 512
    shape = cluster.Shape(aligned(count, rows), parts, threads, held, 1, shared, grid=grid)
    if grid:
        shape = _lagging(op, rows, shape, room)
    elif sums:
        shape = _with_second_sums(op, rows, shape)
    return shape if rows.device.allows(cluster.needs(op, rows, shape)) else None


def _with_second_sums(op: RowOp, rows: Rows, shape: cluster.Shape) -> cluster.Shape:
    """Second sums over rows in shared memory, if they fit beside as many rows.

    They would be added to in global memory otherwise, where registers do not hold them. 256 threads
    have registers enough to load ahead: 95% of a copy's speed, where 512 had 91%. They hold 16-bit
    inputs per column, too: 97%, where it was 95% with these in shared memory.
    """
    if cluster.sums_of_thread(op, rows, shape) <= FEW:
        return shape
    shared = shape.shared and not (is_plain(rows) and widest(op) == 2)
    found = replace(shape, sums=True, threads=min(256, shape.threads), shared=shared)
    return found if rows.device.allows(cluster.needs(op, rows, found)) else shape


def _lagging(op: RowOp, rows: Rows, shape: cluster.Shape, room: int) -> cluster.Shape:
    """Statistics take longer through global memory: more rows are on their way, if they fit."""
    if shape.stages >= 5:
        return replace(shape, lag=shape.stages - 3)
    each = -(-rows.part(shape.parts) // shape.threads)
    # In pieces of as many vectors of each thread; a stage is free as soon as one is written.
    pieces = -(-each // -(-each // 4))
    shape = replace(shape, pieces=pieces)
    held = room // cluster.stage_bytes(op, rows, shape)
    lag = (held - 2) // pieces - 1 if pieces > 1 else held - 3
    return replace(shape, stages=held, lag=lag)


def _cluster_threads(rows: Rows, groups: int) -> int:
    """Threads for that many vectors with sums: 512, or two vectors each where that fits better.

    Where rows have ends, more than 576 threads would not have registers enough.
    """
    most = 1280 if rows.aligned else 1152
    if groups == power_of_two(groups) or not 512 < groups <= most:
        return 512
    return _threads(groups, 2)
