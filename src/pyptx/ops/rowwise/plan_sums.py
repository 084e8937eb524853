"""The part of `plan` about operations with sums over rows, such as the gradient of a weight.

CTAs stay for many rows, and a second kernel adds up what each has. Of a few rows the second kernel,
and what the first one writes for it, would take longer than the rows: there one cluster has all of
them, or several have a few each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pyptx.device import WARP
from pyptx.ops.rowwise import cluster_sizes, measured, sizes
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.sequences import Operation, either, finished, sequence_of
from pyptx.ops.rowwise.strategies import (
    cluster,
    one_cluster,
    persistent,
    subwarp,
    two_pass,
    two_pass_few,
)
from pyptx.types import DType

FEW_ROWS_MEASURED: Final = frozenset({"rms_norm", "rms_norm_invvar", "rms_norm_gradient"})
"""Operations whose few rows were measured one way against another."""


def with_sums(op: RowOp, rows: Rows, results: tuple[DType, ...]) -> Operation:
    """The kernels for operations with sums over rows; of a few rows others, where measured."""
    found = _many_summed(op, rows, results)
    if op.name in FEW_ROWS_MEASURED:
        found = _some_summed(op, rows, results, found)
    alone = _alone(op, rows)
    several = len(op.written(COLUMN)) > 1
    each = measured.LIMITS.alone_of_two if several else measured.LIMITS.alone
    most = 0 if alone is None else int(each * alone[1].ctas)
    found = _by_several_clusters(op, rows, results, found, most)
    if alone is not None:
        found = either(op, rows, most, _by_teams(op, *alone, results), found, results)
    if op.name in FEW_ROWS_MEASURED:
        return _few_summed(op, rows, results, found)
    return _by_one_cluster(op, rows, results, found) or found


def _some_summed(op: RowOp, rows: Rows, results: tuple[DType, ...], many: Operation) -> Operation:
    """Some rows by twice as many CTAs for each, which leave half as many partial sums."""
    each = op.given(ELEMENT)[0].dtype.bytes
    if each > 2 or rows.groups <= 512:
        return many
    split = cluster_sizes.clusters_of(op, rows)
    parts = 1 if _resident(op, rows) is not None else 16 if split is None else split.parts
    shape = cluster_sizes.clusters(op, rows, 2 * parts) if parts <= 4 else None
    if shape is None:
        return many
    some = _summed_by_cluster(op, rows, shape, results)
    most = measured.LIMITS.apart // (rows.columns * each)
    return either(op, rows, most, some, many, results)


def _few_summed(op: RowOp, rows: Rows, results: tuple[DType, ...], many: Operation) -> Operation:
    """A few rows by one cluster, or by two passes where it has no room; without partial sums."""
    found = _by_one_cluster(op, rows, results, many)
    if found is not None:
        return found
    each = op.given(ELEMENT)[0].dtype.bytes
    limit = two_pass_few.MOST if each == 2 else two_pass_few.MOST // 2
    most = min(limit, measured.LIMITS.twice_summed // (rows.columns * each))
    # Short rows get here only where there are no clusters, and the other kernels are as quick.
    if most == 0 or not rows.aligned or sizes.is_short(op, rows):
        return many
    chunks = two_pass_few.Shape(128, 4 if most >= 4 else 2)
    few = two_pass_few.persistent(op, rows, chunks, result=results[0])
    return either(op, rows, most, few, many, results)


def _by_one_cluster(
    op: RowOp, rows: Rows, results: tuple[DType, ...], many: Operation
) -> Operation | None:
    """A few rows by one cluster, whose threads have complete sums; None where it has no room.

    One or two short rows are quicker by a single CTA, which exchanges nothing with others.
    """
    shapes = cluster_sizes.one_cluster_shapes(op, rows)
    if not shapes or len(set(results)) > 1:
        return None
    for each in shapes:
        few = one_cluster.persistent(op, rows.divided(), each, result=results[0])
        many = either(op, rows, each.at_once, few, many, results)
    return many


def _by_several_clusters(
    op: RowOp, rows: Rows, results: tuple[DType, ...], many: Operation, fewer: int
) -> Operation:
    """Some rows by clusters of which each takes several at once: few partial sums.

    They take as many rows as they have at once, if those are more than others take: `fewer`.
    """
    whole = rows.divided()
    for shape in reversed(cluster_sizes.several_clusters(op, rows)):
        if shape.stride > fewer:
            some = one_cluster.persistent(op, whole, shape, result=op.compute)
            some = finished(op, whole, some, shape.clusters, shape.at_once, results)
            many = either(op, rows, shape.stride, some, many, results)
    return many


def _alone(op: RowOp, rows: Rows) -> tuple[Rows, persistent.Shape] | None:
    """A team that is alone in its CTA, for a few rows; None where that would not have several."""
    resident = None if _is_short_summed(op, rows) else _resident(op, rows)
    if resident is None or resident[1].teams == 1:
        return None
    clustered = rows.groups > measured.LIMITS.clustered
    if clustered and cluster_sizes.several_clusters(op, rows):
        return None
    cut, shape = resident
    return cut, replace(shape, teams=1, stages=1)


def _is_short_summed(op: RowOp, rows: Rows) -> bool:
    """Whether part of a warp takes a row, where there are sums over rows."""
    narrow = op.name in FEW_ROWS_MEASURED  # of 16-bit x with a gradient of any type
    each = op.given(ELEMENT)[0].dtype.bytes if narrow else sizes.widest(op)
    return sizes.is_short(op, rows) and rows.divided().groups <= (2 if each == 2 else 4) * WARP


def _resident(op: RowOp, rows: Rows) -> tuple[Rows, persistent.Shape] | None:
    """The rows as teams of a CTA have them, and those teams; None where they have no room."""
    cut = sizes.in_lines(op, rows, sizes.team_threads(op, rows), backward=True)
    shape = sizes.resident(op, cut)
    return None if shape is None else (cut, shape)


def _many_summed(op: RowOp, rows: Rows, results: tuple[DType, ...]) -> Operation:
    """The kernels for operations with sums over rows, then those that add up partial sums."""
    if _is_short_summed(op, rows):
        shape = sizes.subwarp_shape(rows, accesses=3)
        ctas = 2 * rows.device.multiprocessors
        one = sizes.is_plain(rows) and rows.divided().groups <= WARP
        most = 128 if one and op.is_light else None
        gradient = subwarp.persistent(op, rows, shape, ctas=ctas, maxnreg=most)
        return finished(op, rows.divided(), gradient, ctas, shape.rows, results)
    resident = _resident(op, rows)
    if resident is not None:
        return _by_teams(op, *resident, results)
    split = cluster_sizes.clusters_of(op, rows)
    if split is not None:
        return _summed_by_cluster(op, rows, split, results)
    # Few CTAs where nothing but chunks can take rows; more where these are the common way.
    each = 1 if rows.device.has("clusters") else 2
    count = max(8, each * rows.device.multiprocessors // two_pass.parts(rows))
    teams = sizes.aligned(count, rows)
    return finished(op, rows, two_pass.persistent(op, rows, teams=teams), teams, 1, results)


def _by_teams(
    op: RowOp, rows: Rows, shape: persistent.Shape, results: tuple[DType, ...]
) -> Operation:
    """Teams that keep their sums for all their rows."""
    gradient = persistent.kernel_of(op, rows, shape)
    return finished(op, rows, gradient, shape.ctas, shape.neighbours(op, rows), results)


def _summed_by_cluster(
    op: RowOp, rows: Rows, shape: cluster.Shape, results: tuple[DType, ...]
) -> Operation:
    """Teams of CTAs; of one team the sums are whole, where results have one type."""
    if len(set(results)) == 1 and cluster.has_whole_sums(op, rows, shape):
        return by_cluster(op, rows, shape, results[0])
    return finished(op, rows, by_cluster(op, rows, shape), shape.teams, 1, results)


def by_cluster(
    op: RowOp, rows: Rows, shape: cluster.Shape, result: DType | None = None
) -> Operation:
    """A team of CTAs for a row; of a grid, after its mail has been cleared."""
    kernel = cluster.kernel_of(op, rows, shape, result)
    if not shape.grid:
        return kernel
    clear = cluster.clear(op, rows, shape)
    counted = [operand.name for operand in op.inputs].index(op.given(ELEMENT)[0].name)

    def over_grid(*arrays: Any) -> Any:
        found = kernel(*arrays, clear(arrays[counted]))[:-1]
        return found if len(found) > 1 else found[0]

    outputs = kernel.out_specs[:-1]
    return sequence_of(op, rows, outputs, f"{op.name}_over_grid", over_grid)
