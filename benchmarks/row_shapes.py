"""Goals of row-wise operations that miss, by every shape of every strategy that has room.

Is a goal missed because another shape is quicker than the one that is chosen, or because none is?
The sizes are those of row_floors and norm_table whose goals missed on most GPUs. Every shape is
timed in the same turns as what is chosen and as a copy, in an order by chance, on random data with
a cold L2 cache; one that gives other results fails. `--jobs` builds cases in several processes at
once, `--budget` ends it, and `--resume` goes on.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, Final

import jax
from by_points import PointBuilder, Timed, compiled, device_here, every, rows_of
from measure import Result, Summary, show, summarise
from norm_cases import COPY, Options
from row_limits import Call, Point, arguments, ready, same

from pyptx.device import WARP, Device
from pyptx.ops.rowwise import plan, sizes
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.sequences import Operation, finished
from pyptx.ops.rowwise.strategies import cluster, cta, one_cluster, subwarp, two_pass
from pyptx.types import DType, bf16, f32

CALLS: Final = 6
WARM: Final = 1
CHOSEN: Final = "chosen"
FILE: Final = 65536
"""Registers of an SM."""
STEP: Final = 8
"""Registers of a thread come in such steps."""
CASES: Final = (
    ("layer_norm", 4096, 32768, bf16),
    ("layer_norm", 16384, 2304, bf16),
    ("layer_norm", 65536, 128, bf16),
    ("softmax", 4096, 32768, bf16),
    ("softmax", 65536, 128, bf16),
    ("softmax_gradient", 4096, 32768, bf16),
    ("softmax_gradient", 16384, 1000, f32),
    ("softmax_gradient", 65536, 128, bf16),
    ("add_rms_norm", 64, 8192, bf16),
    ("add_rms_norm_gradient", 64, 8192, bf16),
    ("rms_norm", 10682, 50257, bf16),
    ("rms_norm", 10682, 50257, f32),
)
MOVED: Final = {"softmax_gradient": 3, "add_rms_norm": 4, "add_rms_norm_gradient": 4}
"""Arrays per element that are read or written, where they are not two."""

Make = Callable[[], Operation]


def cases() -> Iterator[Point]:
    for name, count, columns, dtype in CASES:
        yield Point("row_shapes", name, dtype, columns, count, columns)


# ---- shapes --------------------------------------------------------------------------------------


def shapes(op: RowOp, rows: Rows, count: int) -> Iterator[tuple[str, Make]]:
    """Every kernel for so many rows, and what it is; a device has room for each."""
    if op.written(COLUMN):
        yield from _of_one_cluster(op, rows, count)
        return
    yield from _of_warps(op, rows)
    yield from _of_ctas(op, rows)
    yield from _of_clusters(op, rows)
    yield "two passes", lambda: two_pass.independent(op, rows)


def _of_warps(op: RowOp, rows: Rows) -> Iterator[tuple[str, Make]]:
    """Part of a warp for a row, or a whole one."""
    groups = rows.divided().groups
    for lanes, each, threads in product((4, 8, 16, 32), (1, 2, 4, 8), (64, 128, 256, 512)):
        vectors = -(-groups // lanes)
        if lanes >= 2 * groups or vectors * each > 12:
            continue
        shape = subwarp.Shape(lanes, each, threads)
        name = f"{lanes} lanes, {each} rows of a thread, {threads} threads"
        yield name, partial(subwarp.independent, op, rows, shape)
        if not op.given(COLUMN) or threads == 512:
            continue
        for warps in (8, 10, 12, 16):
            ctas = warps * 4 * WARP * rows.device.multiprocessors // threads
            stays = partial(subwarp.independent, op, rows, shape, ctas=ctas)
            yield f"{name}, {ctas} CTAs that stay", stays


def _of_ctas(op: RowOp, rows: Rows) -> Iterator[tuple[str, Make]]:
    """A CTA for a row, whose threads load it or copy it, or several CTAs that share it."""
    groups = rows.groups * len(op.given(ELEMENT))
    lates = (False, True) if op.given(COLUMN) else (False,)
    for threads in (64, 96, 128, 192, 256, 320, 384, 512, 768, 1024):
        each = groups / threads
        if not 0.5 <= each <= 24:
            continue
        cut = sizes.in_lines(op, rows, threads)
        most = min(248, FILE // threads // STEP * STEP)
        for held, late in product((False, True), lates):
            fits = rows.device.allows(cta.needs(op, cut, direct=False))
            if fits and not (held and each > 16):
                what = f"{threads} threads, copies{', held' * held}{', late' * late}"
                yield what, partial(cta.independent, op, cut, threads=threads, held=held, late=late)
        for parts, registers in ((1, None), (1, most), (2, most), (4, most), (8, most)):
            if 4 * each + 24 <= (registers or most):
                what = f"{threads} threads, loads, {parts} CTAs a row, registers {registers}"
                options: dict[str, Any] = {"threads": threads, "parts": parts, "maxnreg": registers}
                yield what, partial(cta.independent, op, cut, held=True, direct=True, **options)


def _of_clusters(op: RowOp, rows: Rows) -> Iterator[tuple[str, Make]]:
    """Clusters that stay for many rows, and clusters of one row each."""
    for parts, threads in product((2, 3, 4, 5, 6, 8, 16), (64, 128, 256, 352, 512)):
        each = -(-rows.part(parts) // threads)
        if each > 24 or 2 * rows.part(parts) < threads:
            continue
        stay = rows.device.resident_clusters(parts)
        ways = [(stay, *way) for way in _STAYING] if stay >= rows.alignments else []
        for teams, stages, lag in (*ways, (sizes.MANY, 1, 0)):
            for shared in (False, True) if op.given(COLUMN) else (False,):
                count = sizes.aligned(teams, rows)
                shape = cluster.Shape(count, parts, threads, stages, lag, shared)
                if not _holds(op, rows, shape, each):
                    continue
                rest = "one row" if teams == sizes.MANY else f"{stages} rows, lag {lag}"
                where = "shared memory" if shared else "registers"
                what = f"clusters of {parts}, {threads} threads, {rest}, {where}"
                yield what, partial(cluster.kernel_of, op, rows, shape)


_STAYING: Final = ((3, 1), (4, 1), (4, 2), (6, 1), (8, 1))
"""Rows of a CTA that stays, and how many of them wait for their statistics."""


def _holds(op: RowOp, rows: Rows, shape: cluster.Shape, each: int) -> bool:
    """Whether there is room for a shape, in registers for what is per column too."""
    words = sum(rows.vector(operand.dtype).words for operand in op.given(COLUMN))
    few = shape.shared or each * words <= 136
    return few and rows.device.allows(cluster.needs(op, rows, shape))


def _of_one_cluster(op: RowOp, rows: Rows, count: int) -> Iterator[tuple[str, Make]]:
    """One cluster for all rows, or several that have partial sums, which a kernel adds up."""
    whole = rows.divided()
    results = tuple(operand.dtype for operand in op.written(COLUMN))
    for parts, threads, together, teams, clusters in product(
        (2, 4, 8, 16), (64, 128, 256), (1, 2, 4, 5, 8), (1, 2, 4), (1, 2, 4, 8, 16, 32, 64)
    ):
        shape = one_cluster.Shape(parts, threads, together, teams, clusters)
        each = -(-whole.part(parts) // threads)
        half = count / 2 <= shape.stride < 2 * count if clusters > 1 else shape.at_once >= count / 8
        runs = clusters <= rows.device.resident_clusters(parts)
        fits = rows.device.allows(one_cluster.needs(op, whole, shape))
        if each > 2 or teams * threads > 512 or not (half and runs and fits):
            continue
        what = f"{clusters} clusters of {parts}, {threads} threads, {together} rows, {teams} teams"
        yield what, partial(_summed, op, whole, shape, results)


def _summed(
    op: RowOp, rows: Rows, shape: one_cluster.Shape, results: tuple[DType, ...]
) -> Operation:
    if shape.clusters == 1:
        return one_cluster.persistent(op, rows, shape, result=results[0])
    part = one_cluster.persistent(op, rows, shape, result=op.compute)
    return finished(op, rows, part, shape.clusters, shape.at_once, results)


# ---- times ---------------------------------------------------------------------------------------


class Builder(PointBuilder):
    """Builds a case's kernels and a copy, then measures them."""

    def __init__(self) -> None:
        on = device_here()

        def built(case: Point) -> Mapping[str, Call]:
            return {**calls(case, on), COPY: copying(case)}

        super().__init__(cases(), built, measured)


def measure(device: dict[str, object], options: Options) -> Result:
    """Every case that begins within the budget; RuntimeError if one fails."""
    return every(__name__, device, options, cases(), Builder, calls=CALLS)


def report(result: Result) -> None:
    """The chosen one and the fastest five of each case."""
    few: list[Summary] = []
    for case in cases():
        own = [m for m in result.measurements if m.name.startswith(f"{case.title} by ")]
        fastest = sorted(own, key=lambda m: m.median)[:5]
        few += [*fastest, *(m for m in own if m.notes["shape"] == CHOSEN and m not in fastest)]
    some = replace(result, measurements=few)
    show(some, {"of copy": lambda m: f"{m.notes['share']:.1%}"})


def calls(case: Point, on: Device) -> dict[str, Call]:
    """What is chosen and every shape, called once; RuntimeError if one gives other results."""
    op = case.op
    rows = rows_of(op, case.columns, on)
    results = tuple(operand.dtype for operand in op.written(COLUMN))
    arrays = arguments(case)
    chosen: Any = plan.operation(op, (case.columns,), results)
    of_plan = partial(ready, jax.jit(chosen).lower(*arrays).compile(), arrays)
    found: dict[str, Call] = {CHOSEN: of_plan}
    expected = of_plan()
    for what, make in shapes(op, rows, case.count):
        found[what] = compiled(op, rows, results, make(), arrays)
        same(found[what](), expected, case)
    return found


def copying(case: Point) -> Call:
    """A copy of an array, by PyTorch."""
    torch: Any = __import__("torch")
    dtype = torch.bfloat16 if case.dtype is bf16 else torch.float32
    x = torch.randn(case.count, case.columns, device="cuda", dtype=dtype)
    y = torch.empty_like(x)
    return lambda: y.copy_(x)


def measured(case: Point, built: Mapping[str, Call], timed: Timed) -> Iterator[Summary]:
    """What each took, and its share of a copy's speed."""
    busy: Any = __import__("chrome_trace").busy
    found = timed(built, CALLS, warm=WARM)
    times = {what: [busy(call) for call in activities] for what, activities in found.items()}
    copy = statistics.median(times[COPY]) * MOVED.get(case.name, 2) / 2
    for what, each in times.items():
        share = round(copy / statistics.median(each), 4)
        yield summarise(
            f"{case.title} by {what}", "us", each, case=case.title, shape=what, share=share
        )
