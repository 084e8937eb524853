"""Clusters of many shapes for long rows without sums over rows: what their rates are fitted to.

`pyptx.ops.rowwise.cluster_rates` and `cluster_ends` choose by `measured.RATES` and `END_RATES`,
which `tools/tune_rowwise.py` fits to the times of this part. Lengths lie at powers of two and
between them. Random data, a cold L2 cache; all shapes for a case take turns, in an order by chance,
and give the same results, or the benchmark fails. Building the kernels takes most of the time:
`--jobs` builds cases in several processes at once, `--budget` ends it, and `--resume` goes on.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from by_points import PointBuilder, Timed, compiled, device_here, every, rows_of
from measure import Result, Summary, show, summarise
from norm_cases import Options
from row_limits import Call, Point, arguments, same

from pyptx.device import Device
from pyptx.ops.rowwise.cluster_rates import Work
from pyptx.ops.rowwise.operation import COLUMN, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.sizes import aligned
from pyptx.ops.rowwise.strategies import cluster
from pyptx.types import DType, bf16, f32

CALLS: Final = 4
WARM: Final = 1
"""Rounds before them, which are not counted."""
BYTES: Final = 2**28
"""Of an array."""
PARTS: Final = (2, 4, 8, 16)
"""CTAs of a cluster, where rows are whole vectors."""
PARTS_OF_ENDS: Final = (2, 3, 4, 5, 6, 8, 16)
"""The same where rows begin within a vector."""
THREADS: Final = (256, 352, 512)
STAGES: Final = (3, 4, 8)
HELD: Final = 128
"""Registers of a thread for inputs per column, at most; otherwise these are in shared memory."""
MOST: Final = 24
"""Vectors of a row that a thread has of each array, at most."""
KINDS: Final[dict[DType, tuple[str, ...]]] = {
    bf16: ("layer_norm", "rms_norm", "softmax_gradient"),
    f32: ("layer_norm", "rms_norm"),
}
WHOLE: Final[dict[DType, tuple[int, ...]]] = {
    bf16: (40960, 65536, 81920, 114688, 163840, 262144),
    f32: (40960, 81920, 131072),
}
"""Lengths of rows that are whole vectors."""
WITH_ENDS: Final = (33001, 50257, 65537, 78125, 100003, 120001, 151937, 180001)
"""Of one array of 16 bits."""


def cases() -> Iterator[Point]:
    """An operation at a length, and as many rows as an array has room for."""
    for dtype, lengths in WHOLE.items():
        for name in KINDS[dtype]:
            yield from (_case(name, dtype, columns) for columns in lengths)
    for name in ("layer_norm", "rms_norm"):
        yield from (_case(name, bf16, columns) for columns in WITH_ENDS)


def _case(name: str, dtype: DType, columns: int) -> Point:
    return Point("row_clusters", name, dtype, columns, BYTES // (columns * dtype.bytes), columns)


def shapes(op: RowOp, rows: Rows) -> Iterator[cluster.Shape]:
    """Every shape that a device has room for, and registers."""
    words = sum(rows.vector(operand.dtype).words for operand in op.given(COLUMN))
    for parts in PARTS if rows.aligned else PARTS_OF_ENDS:
        teams = rows.device.resident_clusters(parts)
        if teams < rows.alignments:
            continue
        for threads in THREADS:
            each = -(-rows.part(parts) // threads)
            shared = each * words > HELD
            for stages in STAGES:
                shape = cluster.Shape(aligned(teams, rows), parts, threads, stages, 1, shared)
                fits = each <= MOST and 2 * rows.part(parts) >= threads
                if fits and rows.device.allows(cluster.needs(op, rows, shape)):
                    yield shape


class Builder(PointBuilder):
    """Builds a case's kernels, then measures them."""

    def __init__(self) -> None:
        on = device_here()
        super().__init__(cases(), partial(calls, on=on), partial(measured, on=on))


def measure(device: dict[str, object], options: Options) -> Result:
    """Every case that begins within the budget; RuntimeError if one fails."""
    return every(__name__, device, options, cases(), Builder, calls=CALLS)


def report(result: Result) -> None:
    """The table."""
    show(result, {"vectors": lambda m: str(m.notes["vectors"])})


def calls(case: Point, on: Device) -> dict[cluster.Shape, Call]:
    """The kernel of each shape, called once; RuntimeError if one gives other results."""
    arrays = arguments(case)
    rows = rows_of(case.op, case.columns, on)
    found = {
        shape: compiled(case.op, rows, (), cluster.kernel_of(case.op, rows, shape), arrays)
        for shape in shapes(case.op, rows)
    }
    expected = None
    for call in found.values():
        given = call()
        if expected is None:
            expected = given
        same(given, expected, case)
    return found


def measured(
    case: Point, built: Mapping[cluster.Shape, Call], timed: Timed, *, on: Device
) -> Iterator[Summary]:
    """What each took."""
    busy: Any = __import__("chrome_trace").busy
    rows = rows_of(case.op, case.columns, on)
    for shape, activities in timed(built, CALLS, warm=WARM).items():
        times = [busy(call) for call in activities]
        yield summarise(
            f"{case.title} by {named(shape)}", "us", times, operation=case.name, rows=case.count,
            columns=case.columns, dtype=str(case.dtype), ends=not rows.aligned,
            **asdict(Work.of(case.op, rows, shape)),
        )  # fmt: skip


def named(shape: cluster.Shape) -> str:
    """Its clusters, CTAs, threads and rows, and where inputs per column are."""
    where = "shared memory" if shape.shared else "registers"
    sizes = f"{shape.teams} x {shape.parts} x {shape.threads}"
    return f"{sizes}, {shape.stages} rows, {where}"
