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
from pyptx.ops.rowwise.strategies import persistent, subwarp
from pyptx.ops.rowwise.vectors import power_of_two, rounded_up
from pyptx.types import f32

_LINES: Final = 32
"""Units of a row that is worth cutting at lines."""

MANY: Final = 2**20
"""Teams, each of one row, unless there are more rows still."""

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


def threads_for(groups: int, each: int) -> int:
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
        return CtaShape(threads_for(groups, max(least, -(-groups // 512))), held=True)
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
    threads = max(2 * WARP, threads_for(groups, 3))
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
        return CtaShape(max(2 * WARP, threads_for(groups, 4)), held=False, late=True)
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
    return max(2 * WARP, threads_for(groups, 2))


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
            return threads_for(groups, 3 if _has_thirds(op, rows) else 2)
        if groups > 512 and groups != threads:
            # Fewer threads without a vector, and room for a second team where sums are few bytes.
            most = 256 if widest(op) > 2 and groups <= 768 else 512
            return threads_for(groups, -(-groups // most))
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
