"""Which way a row-wise operation moves its rows: by their length, when it is compiled.

A new number of rows needs no new kernel: where a few rows want another kernel than many, an
operation has both, and each launch chooses. The limits between them are in `measured`. A way says
what it needs of a device (`needs` in its file); a device that does not allow it gets the next one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from pyptx import CallError, Kernel, KernelSequence, device, lowered_for
from pyptx._target import Target
from pyptx.device import KIB, WARP
from pyptx.ops.rowwise import checks, cluster_rates, cluster_sizes, measured, sizes
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.plan_sums import FEW_ROWS_MEASURED, by_cluster, with_sums
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.sequences import Operation, either, of_operation
from pyptx.ops.rowwise.strategies import (
    cluster,
    cta,
    one_pass,
    subwarp,
    two_pass,
    two_reductions,
)
from pyptx.ops.rowwise.vectors import power_of_two
from pyptx.types import DType, f32

_EVERYWHERE: Final = ("bf16", "createpolicy", "cp.async")
"""Features of all devices that there are kernels for."""

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""

_CHUNK: Final = 256
"""Vectors of a chunk of a row whose elements need nothing of each other."""

_ROUNDS: Final = 12
"""CTAs of 128 threads on each multiprocessor that stay for many rows."""


@lru_cache(_OPERATIONS)
def operation(op: RowOp, shape: tuple[int, ...], results: tuple[DType, ...] = ()) -> KernelSequence:
    """The operation on rows of a shape, on whatever it is lowered for.

    It takes and gives arrays in the order of `op.inputs` and `op.outputs`; `results` are the types
    of those that are sums over rows. Raises SpecError and CallError (`checks.check`).
    """
    checks.check(op, shape, results)
    rows = Rows(shape, types_of(op), op.compute)

    def on_targets(*arrays: Any) -> Any:
        return _chosen(op, _on_targets(op.name, rows), results)(*arrays)

    return of_operation(op, rows, results, op.name, on_targets)


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


@lru_cache(_OPERATIONS)
def _chosen(op: RowOp, rows: Rows, results: tuple[DType, ...]) -> Operation:
    if op.written(COLUMN):
        return with_sums(op, rows, results)
    return _without_sums(op, rows)


def _without_sums(op: RowOp, rows: Rows) -> Operation:
    """The kernels for rows that need nothing of each other."""
    found = _once(op, rows)
    shape = _rounds_shape(op, rows)
    if shape is None:
        return found
    ctas, size = _ROUNDS * rows.device.multiprocessors, sizes.bytes_read(op, rows)
    some = subwarp.independent(op, rows, shape, ctas=ctas)
    wide = replace(sizes.subwarp_shape(rows, 4), threads=shape.threads)
    many = subwarp.independent(op, rows, wide)
    few = either(op, rows, measured.LIMITS.once // size, found, some)
    return either(op, rows, measured.LIMITS.rounds // size, few, many)


def _rounds_shape(op: RowOp, rows: Rows) -> subwarp.Shape | None:
    """How CTAs that stay take many short rows, part of a warp each; None where they are no quicker.

    CTAs that have a row once load as many bytes per column as of the row, or twice as many: with
    two inputs per column, 16384 x 512 bf16 took 11.0 us on an H200, and takes 9.8 so. Of light
    formulas more of them fit that wait for less. Of many more rows they are slower: 1048576 x 64
    bf16 took 69 us so, and 64 by CTAs that have a row once.
    """
    several = len(op.given(ELEMENT)) > 1 or sizes.widest(op) > 2
    if op.is_light or op.statistic is None or op.span is not None or several:
        return None
    plain = rows.aligned and sizes.is_plain(rows)
    if not op.given(COLUMN) or not plain or not sizes.is_short(op, rows):
        return None
    vectors = -(-rows.divided().groups // WARP)
    return replace(sizes.subwarp_shape(rows, max(4, 2 * vectors)), threads=128)


def _once(op: RowOp, rows: Rows) -> Operation:
    """The same by CTAs that have a row, or a few, once.

    A second reduction has one kernel for rows of all lengths.
    """
    if op.span is not None:
        return two_reductions.independent(op, rows, two_reductions.shape_of(op, rows))
    limits = measured.LIMITS
    most = limits.subwarp if rows.aligned else limits.subwarp_ends
    if sizes.is_short(op, rows) and rows.divided().groups <= most:
        return _by_subwarps(op, rows)
    if one_pass.fits(op) and rows.columns >= rows.unit:
        return _by_one_pass(op, rows)
    if op.statistic is None:
        return _without_statistic(op, rows)
    if _fits_cta(op, rows):
        return _by_ctas(op, rows)
    shape = cluster_sizes.cluster_of_one_row(op, rows) or cluster_sizes.clusters_of(op, rows)
    many = two_pass.independent(op, rows) if shape is None else by_cluster(op, rows, shape)
    many = _few_twice(op, rows, many)
    return _few_by_parts(op, rows, many) if op.name in FEW_ROWS_MEASURED else many


def _without_statistic(op: RowOp, rows: Rows) -> Operation:
    """Elements that need nothing of each other: a CTA has a row, or a chunk of it."""
    if not (rows.aligned and _fits_cta(op, rows)):
        return _by_chunks(op, rows)
    found = _by_ctas(op, rows)
    if len(op.given(ELEMENT)) > 1 or rows.groups < 2 * _CHUNK:
        return found
    most = int(measured.LIMITS.whole * rows.device.multiprocessors)
    return either(op, rows, most, found, _by_chunks(op, rows))


def _by_chunks(op: RowOp, rows: Rows) -> Operation:
    """CTAs that have a chunk of a row each."""
    each = 1 if len(op.given(ELEMENT)) > 1 else 2
    return two_pass.result(op, rows, each=each, threads=_CHUNK // each)


def _by_one_pass(op: RowOp, rows: Rows) -> Operation:
    """Rows of which no element is written: one CTA each, or more where they are few.

    Few CTAs would not keep memory busy: a CTA asks for less than a copy of its row does, or than
    the CTAs of all its chunks.
    """
    limits = measured.LIMITS
    if _fits_cta(op, rows):
        few, each = _by_ctas(op, rows), limits.chunked
    else:
        few, each = two_pass.independent(op, rows, each=2), limits.chunked_long
    most = int(each * rows.device.multiprocessors)
    at_once = max(1, 8 // len(op.given(ELEMENT)))
    threads = sizes.one_pass_threads(op, rows)
    many = one_pass.independent(op, rows, threads=threads, each=at_once)
    return either(op, rows, most, few, many)


def _few_twice(op: RowOp, rows: Rows, many: Operation) -> Operation:
    """By two passes, a few long rows; by `many`, more of them."""
    most = measured.LIMITS.twice // sizes.bytes_read(op, rows)
    if most == 0:
        return many
    shape = cluster_sizes.clusters_of(op, rows)
    # Of a few long rows there are more chunks than CTAs that could share a row.
    if sizes.widest(op) == 2 and shape is not None and not shape.grid:
        most = min(most, max(3, most // 4))
    return either(op, rows, most, two_pass.independent(op, rows, each=2), many)


def _by_subwarps(op: RowOp, rows: Rows) -> Operation:
    one = rows.divided().groups <= WARP
    most = 32 if op.is_light and sizes.is_plain(rows) and one else None

    def kernel(accesses: int, threads: int) -> Kernel:
        shape = replace(sizes.subwarp_shape(rows, accesses), threads=threads)
        return subwarp.independent(op, rows, shape, maxnreg=most)

    size = sizes.bytes_read(op, rows)
    narrow = one and sizes.widest(op) <= 2
    if op.statistic is None:
        # What needs nothing of its row is quickest as a copy is, an access of a thread to an array.
        few = measured.LIMITS.single // size if narrow else 0
        return either(op, rows, few, kernel(1, 256), kernel(1, 512)) if few else kernel(1, 512)
    if sizes.is_of_two(op, rows) and one:
        return kernel(1, 256)  # which asks for as much at once as two accesses of one array
    # Of a statistic that needs many registers, more would leave other threads none.
    wide = sizes.widest(op) == f32.bytes and op.given(COLUMN)
    each = 4 if op.is_light or wide or len(op.given(ELEMENT)) > 1 else 2
    found: Operation = kernel(each if one else 1, 128)
    limits = [(measured.LIMITS.wide, 4), (measured.LIMITS.spread, 2)] if each == 4 else []
    for most_bytes, accesses in limits if narrow else ():
        found = either(op, rows, most_bytes // size, kernel(accesses, 256), found)
    return found


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
        cut = sizes.in_lines(op, rows, threads)
        return cta.independent(op, cut, threads=threads, held=held, **options)

    shape = sizes.cta_shape(op, rows)
    loading = sizes.loading_threads(op, rows)
    many: Operation = (
        kernel(shape.threads, held=shape.held, maxnreg=shape.registers, late=shape.late)
        if loading is None
        else kernel(loading, held=True, direct=True)
    )
    inputs = len(op.given(ELEMENT))
    groups = rows.groups * inputs
    if groups > sizes.ROW and inputs == 1:
        return _by_long_ctas(op, rows, many)
    if groups > sizes.ROW and op.name in FEW_ROWS_MEASURED:
        return _few_by_parts(op, rows, _few_long(op, rows, many))
    if groups > sizes.held(rows):
        return many
    if 1024 < groups <= 2048 and shape.held and not sizes.is_of_two(op, rows):
        few = measured.LIMITS.narrow // sizes.bytes_read(op, rows)
        many = either(op, rows, few, kernel(128, held=False), many)
    late = shape.late or loading is not None
    few, threads, most = _direct(op, rows, late=late)
    direct = kernel(threads, held=True, direct=True, maxnreg=most)
    return _few_by_parts(op, rows, either(op, rows, few, direct, many))


def _direct(op: RowOp, rows: Rows, *, late: bool) -> tuple[int, int, int | None]:
    """How few rows go to registers instead of shared memory; the threads and registers for that.

    Where each CTA has an SM of its own, or half of one, a copy would come too late. CTAs of short
    rows are so many that others start while one of them waits, and so are CTAs with nothing but two
    rows: the gradient of softmax 1000 x 5120 bf16 took 9.7 us on an H200, and takes 8.9 so.
    """
    limits, size = measured.LIMITS, sizes.bytes_read(op, rows)
    inputs = len(op.given(ELEMENT))
    groups = rows.groups * inputs
    # Of two inputs, twelve vectors of a thread are as quick as three, and leave room for a CTA.
    narrow = inputs == 2 and groups <= (3072 if sizes.is_plain(rows) and rows.aligned else 2048)
    threads = min(256 if narrow else 1024, max(WARP, power_of_two(groups) // 4))
    if groups <= 512:
        return (limits.direct_late if late else limits.direct) // size, threads, None
    share = 2 if narrow or groups <= 1024 else 1
    few = share * rows.device.multiprocessors
    if narrow and rows.aligned and sizes.is_of_two(op, rows):
        few = max(few, limits.direct_of_two // size)
    # Without a number of registers the assembler uses few, and loads wait for others.
    return few, threads, min(255, 65536 // (share * threads))


def _by_long_ctas(op: RowOp, rows: Rows, many: Operation) -> Operation:
    """Rows that leave no room for other CTAs beside their own: clusters, where these are quicker.

    Where a CTA would gather inputs per column, or load several of them, for one row, clusters that
    stay for many rows are.
    """
    columns = len(op.given(COLUMN))
    shape = _long_clusters(op, rows)
    if columns and shape is not None and (columns > 1 or not rows.aligned):
        if rows.aligned:
            shape = cluster_rates.fastest(op, rows, shape)
        return _few_twice(op, rows, by_cluster(op, rows, shape))
    if not columns:
        alone = cluster_sizes.cluster_of_one_row(op, rows) if rows.aligned else None
        return _few_twice(op, rows, many if alone is None else by_cluster(op, rows, alone))
    return _few_by_parts(op, rows, _few_long(op, rows, many))


def _long_clusters(op: RowOp, rows: Rows) -> cluster.Shape | None:
    """Clusters for rows that a CTA could hold."""
    if rows.aligned:
        return cluster_sizes.clusters(op, rows, 4)
    return cluster_sizes.clusters_of(op, rows)


def _few_long(op: RowOp, rows: Rows, many: Operation) -> Operation:
    """Of long rows with a CTA each, a few by clusters, and fewer by two passes.

    They are so few that CTAs of one row each would end one by one.
    """
    shape = _long_clusters(op, rows)
    if shape is not None:
        most = int(measured.LIMITS.clusters * rows.device.multiprocessors)
        many = either(op, rows, most, by_cluster(op, rows, shape), many)
    return _few_twice(op, rows, many)


def _few_by_parts(op: RowOp, rows: Rows, many: Operation) -> Operation:
    """Several CTAs for each of a few rows; `many` of more."""
    for parts, most in _together(op, rows).items():
        many = either(op, rows, most, _by_parts(op, rows, parts), many)
    return many


def _by_parts(op: RowOp, rows: Rows, parts: int) -> Kernel:
    """As many CTAs for a row as there are `parts`: each reduces all of it and writes a part."""
    groups = rows.groups * len(op.given(ELEMENT))
    limits = (512, 128), (2048, 256), (4096, 512)
    wanted = groups if parts > 2 else 2 * groups  # fewer CTAs, with twice as many threads each
    threads = next((count for most, count in limits if wanted <= most), 1024)
    # Without a number of registers the assembler uses few, and loads wait for others.
    most = min(255, 65536 // threads)
    cut = sizes.in_lines(op, rows, threads)
    return cta.independent(
        op, cut, threads=threads, held=True, direct=True, parts=parts, maxnreg=most
    )


def _together(op: RowOp, rows: Rows) -> dict[int, int]:
    """Numbers of CTAs that reduce a row together, and how many rows are quicker so.

    Each of them reads the whole row, but has only a part of it to write.
    """
    inputs = len(op.given(ELEMENT))
    groups = rows.groups * inputs
    if not op.written(ELEMENT) or groups <= 128 or groups > sizes.held(rows):
        return {}
    limits = measured.LIMITS
    several: dict[int, float] = {}
    # Each of them reads twice as much as of one input, or computes for longer.
    costly = groups <= sizes.ROW // 2 if inputs > 1 else not op.is_light
    if costly and groups <= sizes.ROW:
        several = {2: limits.two, 4: limits.four_of_two}
    elif groups <= sizes.ROW:
        # Of longer rows the L2 cache gives more bytes than memory would.
        several = {4: limits.four if groups <= 2048 else limits.four / 2}
    if groups > 1024:
        several[8] = limits.eight
    return {parts: int(most * rows.device.multiprocessors) for parts, most in several.items()}
