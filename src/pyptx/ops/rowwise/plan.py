"""Which way a row-wise operation moves its rows: by their length, when it is compiled.

A new number of rows needs no new kernel: where a few rows want another kernel than many, an
operation has both, and each launch chooses. A way says what it needs of a device (`needs` in its
file); a device that does not allow it gets the next one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

from pyptx import CallError, Kernel, KernelSequence, Tile, cond, device, lowered_for, sequence
from pyptx._target import Target
from pyptx.device import KIB, WARP
from pyptx.ops.rowwise.column_sums import FEW
from pyptx.ops.rowwise.finish import column_sums
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.strategies import cluster, cta, persistent, subwarp, two_pass
from pyptx.ops.rowwise.vectors import power_of_two, rounded_up
from pyptx.types import DType, f32

Operation: TypeAlias = "Kernel | KernelSequence"

_EVERYWHERE: Final = ("bf16", "createpolicy", "cp.async")
"""Features of all devices that there are kernels for."""

_SOON: Final = 32 * KIB * KIB
"""Bytes that are read so soon that beginning and end take a good part of the time."""

_LITTLE: Final = 8 * KIB * KIB
"""Bytes, of 16-bit inputs, so few that rows are better off spread over more CTAs."""

_TWICE: Final = 4096 * KIB
"""Bytes that are quicker read twice: the second time they are in the L2 cache."""

_GRID: Final = 128
"""CTAs of a team that is larger than a cluster."""

_STAGES: Final = 4
"""Rows that a CTA of a cluster holds; more would delay the first ones."""

_ROW: Final = 4096
"""Vectors of a row that leaves room for other CTAs beside its own."""

_LINES: Final = 32
"""Units of a row that is worth cutting at lines."""

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""


@lru_cache(_OPERATIONS)
def operation(op: RowOp, shape: tuple[int, ...], results: tuple[DType, ...] = ()) -> KernelSequence:
    """The operation on rows of a shape, on whatever it is lowered for.

    It takes and gives arrays in the order of `op.inputs` and `op.outputs`; `results` are the types
    of those that are sums over rows.
    """
    rows = Rows(shape, types_of(op), op.compute)

    def on_targets(*arrays: Any) -> Any:
        return _chosen(op, _on_targets(op.name, rows), results)(*arrays)

    return _sequence(op, rows, results, op.name, on_targets)


def check(name: str, targets: Iterable[Target]) -> None:
    """Raises CallError for a target that no kernel can be assembled for."""
    for target in targets:
        if not device.of(target).has(*_EVERYWHERE):
            raise CallError(
                f"{name} has no kernels for {target}",
                notes=(
                    ("legal", "sm_80 and later: bf16 and the cache policies of loads are theirs"),
                ),
            )


def _on_targets(name: str, rows: Rows) -> Rows:
    targets = lowered_for()
    check(name, targets)
    return replace(rows, device=device.common(targets))


def _sequence(
    op: RowOp,
    rows: Rows,
    results: Sequence[DType],
    name: str,
    function: Callable[..., Any],
) -> KernelSequence:
    """A sequence with the operation's arrays as parameters."""
    left = iter(results)
    outputs = [
        _sum(rows, next(left)) if operand.per == COLUMN else rows.tile(operand)
        for operand in op.outputs
    ]
    return _sequence_of(op, rows, outputs, name, function)


def _sequence_of(
    op: RowOp, rows: Rows, outputs: Sequence[Tile], name: str, function: Callable[..., Any]
) -> KernelSequence:
    """The same with results that are not all the operation's own: partial sums."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(operand.name, kind) for operand in op.inputs]
    function.__name__ = function.__qualname__ = name
    setattr(function, "__signature__", inspect.Signature(parameters))  # noqa: B010
    inputs = tuple(rows.tile(operand) for operand in op.inputs)
    return sequence(in_specs=inputs, out_specs=tuple(outputs), parallel=("B",))(function)


def _sum(rows: Rows, result: DType) -> Tile:
    return Tile(*rows.shape, result, sum_over="B", accumulate=rows.compute)


@lru_cache(_OPERATIONS)
def _chosen(op: RowOp, rows: Rows, results: tuple[DType, ...]) -> Operation:
    if op.written(COLUMN):
        return _with_sums(op, rows, results)
    return _without_sums(op, rows)


def _without_sums(op: RowOp, rows: Rows) -> Operation:
    """The kernels for rows that need nothing of each other."""
    if _is_short(op, rows) and rows.divided().groups <= (3 if rows.aligned else 2) * WARP:
        return _by_subwarps(op, rows)
    if _fits_cta(op, rows):
        return _by_ctas(op, rows)
    shape = _clusters_of(op, rows)
    many = two_pass.independent(op, rows) if shape is None else _by_cluster(op, rows, shape)
    if _read(op, rows) > _TWICE or op.statistic is None:
        return many
    # Of a few long rows there are more chunks than CTAs that could share a row.
    most = _TWICE // _read(op, rows)
    if _widest(op) == 2 and shape is not None and not shape.grid:
        most = min(most, max(3, most // 4))
    return _either(op, rows, most, two_pass.independent(op, rows, each=2), many)


def _by_subwarps(op: RowOp, rows: Rows) -> Operation:
    one = rows.divided().groups <= WARP
    most = 32 if op.is_light and _is_plain(rows) and one else None

    def kernel(accesses: int, threads: int) -> Kernel:
        shape = replace(_subwarp(rows, accesses), threads=threads)
        return subwarp.independent(op, rows, shape, maxnreg=most)

    many = kernel(4 if one else 1, 128)
    if not one or _widest(op) > 2:
        return many
    size = _read(op, rows)
    some = _either(op, rows, 2 * _LITTLE // size, kernel(4, 256), many)
    return _either(op, rows, _LITTLE // size, kernel(2, 256), some)


def _fits_cta(op: RowOp, rows: Rows) -> bool:
    """Whether a CTA holds a row of each input, with room for others beside it."""
    if rows.columns < rows.unit:
        return False
    widest = max(dtype.bytes for dtype in rows.types)
    inputs = len(op.given(ELEMENT))
    fits = rows.columns * widest * inputs <= 128 * KIB
    return fits and rows.device.allows(cta.needs(op, rows, direct=False))


def _by_ctas(op: RowOp, rows: Rows) -> Operation:
    """One CTA per row; of few rows several CTAs, or rows loaded to registers."""

    def kernel(threads: int, *, held: bool, **options: Any) -> Kernel:
        cut = _in_lines(op, rows, threads)
        return cta.independent(op, cut, threads=threads, held=held, **options)

    threads, held, most = _cta(op, rows)
    many: Operation = kernel(threads, held=held, maxnreg=most)
    groups = rows.groups * len(op.given(ELEMENT))
    if groups > (4096 if _is_plain(rows) else 2048):
        return many  # of which the registers of a CTA would not hold a row
    size = _read(op, rows)
    if 1024 < groups <= 2048 and held:
        many = _either(op, rows, 2 * _SOON // size, kernel(128, held=False), many)
    # Where each CTA has an SM of its own, a copy would come too late. CTAs of short rows are so
    # many that others start while one of them waits.
    direct = kernel(min(1024, max(WARP, power_of_two(groups) // 4)), held=True, direct=True)
    found = _either(
        op, rows, _SOON // size if groups <= 512 else rows.device.multiprocessors, direct, many
    )
    for parts, rows_at_most in _together(op, rows).items():
        found = _either(op, rows, rows_at_most, _by_parts(op, rows, parts), found)
    return found


def _by_parts(op: RowOp, rows: Rows, parts: int) -> Kernel:
    """As many CTAs for a row as there are `parts`: each reduces all of it and writes a part."""
    groups = rows.groups * len(op.given(ELEMENT))
    limits = (512, 128), (2048, 256), (4096, 512)
    threads = next((count for most, count in limits if groups <= most), 1024)
    # Without a number of registers the assembler uses few, and loads wait for others.
    most = min(255, 65536 // threads)
    cut = _in_lines(op, rows, threads)
    return cta.independent(
        op, cut, threads=threads, held=True, direct=True, parts=parts, maxnreg=most
    )


def _together(op: RowOp, rows: Rows) -> dict[int, int]:
    """Numbers of CTAs that reduce a row together, and how many rows are quicker so.

    Each of them reads the whole row, but has only a part of it to write.
    """
    groups = rows.groups * len(op.given(ELEMENT))
    if groups <= 128 or groups > (2 * _ROW if _is_plain(rows) else 2048):
        return {}
    half = rows.device.multiprocessors // 2
    return ({4: half} if groups <= _ROW else {}) | ({8: 16} if groups > 1024 else {})


def _with_sums(op: RowOp, rows: Rows, results: tuple[DType, ...]) -> Operation:
    """The kernels for operations with sums over rows, then those that add up partial sums."""
    if _is_short(op, rows) and rows.divided().groups <= (2 if _widest(op) == 2 else 4) * WARP:
        shape = _subwarp(rows, accesses=3)
        ctas = 2 * rows.device.multiprocessors
        one = _is_plain(rows) and rows.divided().groups <= WARP
        most = 128 if one and op.is_light else None
        gradient = subwarp.persistent(op, rows, shape, ctas=ctas, maxnreg=most)
        return _finished(op, rows.divided(), gradient, ctas, shape.rows, results)
    cut = _in_lines(op, rows, _team_threads(op, rows), backward=True)
    resident = _resident(op, cut)
    if resident is not None:
        gradient = persistent.kernel_of(op, cut, resident)
        return _finished(op, cut, gradient, resident.ctas, resident.neighbours(op, cut), results)
    split = _clusters_of(op, rows)
    if split is not None:
        return _finished(op, rows, _by_cluster(op, rows, split), split.teams, 1, results)
    # Few CTAs where nothing but chunks can take rows; more where these are the common way.
    each = 1 if rows.device.has("clusters") else 2
    count = max(8, each * rows.device.multiprocessors // two_pass.parts(rows))
    teams = _aligned(count, rows)
    return _finished(op, rows, two_pass.persistent(op, rows, teams=teams), teams, 1, results)


def _by_cluster(op: RowOp, rows: Rows, shape: cluster.Shape) -> Operation:
    """A team of CTAs for a row; of a grid, after its mail has been cleared."""
    kernel = cluster.kernel_of(op, rows, shape)
    if not shape.grid:
        return kernel
    clear = cluster.clear(op, rows, shape)
    counted = [operand.name for operand in op.inputs].index(op.given(ELEMENT)[0].name)

    def over_grid(*arrays: Any) -> Any:
        found = kernel(*arrays, clear(arrays[counted]))[:-1]
        return found if len(found) > 1 else found[0]

    outputs = kernel.out_specs[:-1]
    return _sequence_of(op, rows, outputs, f"{op.name}_over_grid", over_grid)


def _either(op: RowOp, rows: Rows, most: int, few: Operation, many: Operation) -> KernelSequence:
    """`few` for up to `most` rows, `many` for more."""

    def chosen(*arrays: Any) -> Any:
        return cond(_at_most(most), few, many, *arrays)

    return _sequence(op, rows, (), op.name, chosen)


def _at_most(rows: int) -> Callable[[Any], Any]:
    """Whether there are so few rows; a lambda by itself has no types."""
    return lambda B: rows >= B


def _finished(
    op: RowOp,
    rows: Rows,
    partial: Operation,
    partials: int,
    rows_each: int,
    results: Sequence[DType],
) -> KernelSequence:
    """An operation that writes partial sums, then the kernels that add them up."""
    like = op.given(ELEMENT)[0]
    finish = [column_sums(op.name, rows, like, partials, rows_each, each) for each in results]

    def in_two_steps(*arrays: Any) -> tuple[Any, ...]:
        found: Any = partial(*arrays)
        counted = arrays[[operand.name for operand in op.inputs].index(like.name)]
        left = iter(finish)
        return tuple(
            next(left)(array, counted) if operand.per == COLUMN else array
            for operand, array in zip(op.outputs, found, strict=True)
        )

    return _sequence(op, rows, results, f"{op.name}_in_two_steps", in_two_steps)


# ---- sizes ---------------------------------------------------------------------------------------


def _read(op: RowOp, rows: Rows) -> int:
    """Bytes that are read of a row."""
    return rows.columns * sum(operand.dtype.bytes for operand in op.given(ELEMENT))


def _widest(op: RowOp) -> int:
    """Bytes of an element of the widest input."""
    return max(operand.dtype.bytes for operand in op.given(ELEMENT))


def _is_plain(rows: Rows) -> bool:
    """Whether vectors are 16 bytes of every array, in f32, so that few registers hold them."""
    return rows.compute is f32 and len({dtype.bytes for dtype in rows.types}) == 1


def _is_short(op: RowOp, rows: Rows) -> bool:
    """Whether part of a warp takes a row, each thread four accesses of each input at most."""
    first = op.given(ELEMENT)[0].dtype.bytes
    return rows.divided().groups <= 4 * WARP and rows.columns * first <= 2 * KIB


def _subwarp(rows: Rows, accesses: int) -> subwarp.Shape:
    """Lanes for a row, and rows for a thread, so that it has about so many accesses."""
    groups = rows.divided().groups
    count = min(WARP, power_of_two(groups))
    return subwarp.Shape(count, max(1, accesses // -(-groups // count)), 256)


def _threads(groups: int, each: int) -> int:
    """As many threads, in whole warps, as take so many vectors with `each` of them at most."""
    return rounded_up(-(-groups // each), WARP)


def _cta(op: RowOp, rows: Rows) -> tuple[int, bool, int | None]:
    """Threads of a CTA, whether it keeps the row in registers, and how many of those it has."""
    groups = rows.groups
    plain, inputs = _is_plain(rows), len(op.given(ELEMENT))
    columns = max(1, len(op.given(COLUMN)))  # what there is per column is in registers
    regular = groups == power_of_two(groups)
    if groups * inputs > _ROW:
        return 1024, False, None
    if groups * inputs > 2048 and (regular or not plain):
        return 256 * columns, False, 80 if plain and op.is_light else None
    if groups * inputs > (512 if _widest(op) == 2 else 2048 if regular else 1024):
        return 128, False, None
    if regular:
        return min(512, max(WARP, groups // 2)), True, None
    # Of other numbers three each leave fewer threads without a vector than a power of two would.
    threads = max(2 * WARP, _threads(groups, 3))
    lines = replace(rows, lines=True)
    if not rows.aligned and rows.columns >= _LINES * lines.unit:
        threads = max(2 * lines.unit, threads)  # for the ends of rows that are cut at lines
    return max(threads, 2 * rows.unit), True, None


def _in_lines(op: RowOp, rows: Rows, threads: int, *, backward: bool = False) -> Rows:
    """The rows cut at lines, if they are many lines long and threads enough for their ends.

    Forward, 16-bit rows of whole vectors are not: so many ends, element by element, cost more.
    """
    if rows.aligned and _widest(op) == 2 and not backward:
        return rows
    lines = replace(rows, lines=True)
    long = rows.columns >= _LINES * lines.unit and threads >= 2 * lines.unit
    return lines if long else rows


def _team_threads(op: RowOp, rows: Rows) -> int:
    """Threads of a team; where rows have ends, two of them have registers for 512.

    Otherwise a thread has two vectors, if it holds the sums of both in registers twice.
    """
    groups = rows.groups
    threads = power_of_two(groups)
    if _is_plain(rows) and rows.aligned:
        if groups > 512 and groups != threads:
            # Fewer threads without a vector, and room for a second team where sums are few bytes.
            most = 256 if _widest(op) > 2 and groups <= 768 else 512
            return _threads(groups, -(-groups // most))
        threads //= 2
    most = 256 if groups <= 512 and not rows.aligned else 512
    return min(most, max(WARP, threads))


def _resident(op: RowOp, rows: Rows) -> persistent.Shape | None:
    """Teams that fit a CTA, and three rows for each: more of them would only delay the first.

    None where not even one team with one row fits, or where a thread would have too many sums.
    """
    fits = _read(op, rows) <= (60 if rows.aligned else 66) * KIB
    most = 576 if _is_plain(rows) and rows.aligned else 512
    kept = rows.columns * rows.compute.bytes
    if not fits or kept > most * FEW or rows.columns < rows.unit:
        return None
    threads = _team_threads(op, rows)
    sums = persistent.sums_of_thread(op, rows, threads)
    few = sums <= FEW * len(op.written(COLUMN))
    most_teams = min(8, 512 // threads) if few else 1
    ctas = _aligned(max(rows.device.multiprocessors, rows.alignments), rows)
    room = rows.device.cta_shared - KIB
    for count in range(most_teams, 0, -1):
        left = room - (count - 1) * threads * (sums + rows.compute.bytes)
        if count > 1 and sums > FEW:
            left -= count * threads * (sums + rows.compute.bytes)  # second sums
        stages = min(3, left // (count * (_read(op, rows) + 256)))
        shape = persistent.Shape(ctas, count, threads, stages)
        if stages > 0 and rows.device.allows(persistent.needs(op, rows, shape)):
            return shape
    return None


def _aligned(count: int, rows: Rows) -> int:
    """At most so many teams, such that all rows of each are cut alike."""
    assert count >= rows.alignments
    return count // rows.alignments * rows.alignments


# ---- clusters ------------------------------------------------------------------------------------


def _clusters_of(op: RowOp, rows: Rows) -> cluster.Shape | None:
    """How rows are split: into parts of 22 to 44 KiB of what is read, if clusters allow it.

    None where no team can hold three rows, or where there cannot be a team for each way in which
    rows are cut.
    """
    size, device = _read(op, rows), rows.device
    most = (42 if op.written(COLUMN) else 36) * KIB
    parts = min(16, max(2, power_of_two(-(-size // most))), max(2, device.cluster))
    if device.resident_clusters(parts) < rows.alignments:
        parts //= 2
    if size // parts * 3 <= device.cta_shared - KIB:
        count = device.resident_clusters(parts)
        return None if count < rows.alignments else _shape(op, rows, parts, count)
    # Teams of a grid wait for each other's CTAs, so all of them must run at once: one team.
    if rows.aligned and op.statistic is not None:
        return _shape(op, rows, _GRID, 1)
    return None


def _shape(op: RowOp, rows: Rows, parts: int, count: int) -> cluster.Shape | None:
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
    shape = cluster.Shape(_aligned(count, rows), parts, threads, held, 1, shared, grid)
    if grid:
        shape = _lagging(op, rows, shape, room)
    return shape if rows.device.allows(cluster.needs(op, rows, shape)) else None


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
