"""Two kernels on the sides of each limit: what `ops.rowwise.plan` chooses by.

For every limit of `pyptx.ops.rowwise.measured`, at sizes around it, the device time of the kernel
below the limit and of the one above. Random data, a cold L2 cache, the time of everything on the
device that a call starts. Both give the same results, or the benchmark fails. `--limit` measures
some of them alone.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked. The plan
# is taken apart, below its public functions.
# ruff: noqa: SLF001
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Final
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from measure import CONSOLE, Result, Summary, show, start, summarise
from norm_cases import Options

from pyptx.device import WARP
from pyptx.ops._add_norm import AddNorm, AddNormGradient
from pyptx.ops._cross_entropy import CrossEntropy, CrossEntropyGradient
from pyptx.ops._gates import Gate
from pyptx.ops._layer_norm import LayerNorm, LayerNormGradient
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops._softmax import Softmax, SoftmaxGradient
from pyptx.ops.rowwise import cluster_sizes, measured, plan, sizes
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, ROW, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.types import DType, bf16, f32

Call = Callable[[], Any]
CALLS: Final = 6
WARM: Final = 2
"""Calls before them, which are not counted."""
EPS: Final = 1e-5
AROUND: Final = (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)
"""Sizes, over the limit."""
NEVER: Final = 0
ALWAYS: Final = 2**40
BYTES: Final = 2**27
"""Of all rows, where a limit is of the length of one."""
FEW: Final = 64
"""Rows, where such a limit is of a few."""

MAKE: Final[dict[str, Callable[[int, DType], RowOp]]] = {
    "rms_norm": lambda n, x: RmsNorm(n, x, x, EPS),
    "rms_norm_gradient": lambda n, x: RmsNormGradient(n, x, x),
    "layer_norm": lambda n, x: LayerNorm(n, x, x, x, x, EPS, False),
    "layer_norm_gradient": lambda n, x: LayerNormGradient(n, x, x, x, x),
    "add_rms_norm": lambda n, x: AddNorm(n, RmsNorm(n, x, x, EPS), x, x),
    "add_rms_norm_gradient": lambda n, x: AddNormGradient(n, RmsNormGradient(n, x, x), x, x),
    "softmax": Softmax,
    "softmax_gradient": SoftmaxGradient,
    "cross_entropy": CrossEntropy,
    "cross_entropy_gradient": CrossEntropyGradient,
    "swiglu": lambda n, x: Gate(n, "silu", x),
}

FEW_BY_BYTES: Final = {
    "direct": [("rms_norm", 4096, bf16)],
    "direct_late": [("layer_norm", 2304, bf16), ("softmax", 1000, f32)],
    "direct_of_two": [
        ("softmax_gradient", 2304, f32),
        ("softmax_gradient", 4096, bf16),
        ("softmax_gradient", 8192, bf16),
        ("softmax_gradient", 11008, bf16),
    ],
    "narrow": [("rms_norm", 8192, f32), ("softmax", 8192, f32)],
    "spread": [("rms_norm", 128, bf16), ("rms_norm", 256, bf16)],
    "once": [("layer_norm", 128, bf16), ("layer_norm", 512, bf16)],
    "rounds": [("layer_norm", 64, bf16), ("layer_norm", 256, bf16)],
    "single": [("swiglu", 8, bf16)],
    "wide": [("rms_norm", 128, bf16), ("rms_norm", 256, bf16)],
    "twice": [("layer_norm", 131072, bf16), ("softmax", 65536, f32)],
    "twice_summed": [("rms_norm_gradient", 524288, bf16), ("rms_norm_gradient", 524288, f32)],
    "apart": [("rms_norm_gradient", 8192, bf16), ("rms_norm_gradient", 16384, bf16)],
}
"""Limits of the bytes that are read of all rows, and the rows that are measured."""

FEW_BY_ROWS: Final = {
    "clusters": [("rms_norm", 40960, bf16), ("rms_norm", 32768, f32)],
    "four": [("rms_norm", 8192, bf16), ("rms_norm", 8192, f32)],
    "eight": [("rms_norm", 16384, bf16), ("rms_norm", 16384, f32)],
    "two": [("add_rms_norm", 8192, bf16), ("layer_norm", 8192, bf16), ("softmax", 14336, bf16)],
    "four_of_two": [
        ("add_rms_norm", 8192, bf16),
        ("layer_norm", 8192, bf16),
        ("softmax", 14336, bf16),
    ],
    "alone": [("rms_norm_gradient", 2048, bf16), ("rms_norm_gradient", 3072, bf16)],
    "alone_of_two": [("layer_norm_gradient", 768, bf16), ("layer_norm_gradient", 1536, bf16)],
    "whole": [("cross_entropy_gradient", 4096, bf16), ("cross_entropy_gradient", 32768, bf16)],
    "chunked": [("cross_entropy", 32768, bf16)],
    "chunked_long": [("cross_entropy", 151936, bf16)],
}
"""Limits of rows for each multiprocessor."""

BY_LENGTH: Final = {
    "subwarp": [("rms_norm", bf16), ("softmax", bf16)],
    "subwarp_ends": [("rms_norm", bf16), ("softmax", bf16)],
    "clustered": [("layer_norm_gradient", bf16), ("rms_norm_gradient", bf16)],
    "held": [("rms_norm", bf16)],
    "held_between": [("rms_norm", bf16)],
    "held_wide": [("rms_norm", f32), ("softmax", f32)],
    "held_regular": [("rms_norm", f32), ("softmax", f32)],
}
"""Limits of a row's vectors."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where a limit is measured; `size` is what the limit is compared with."""

    limit: str
    name: str
    dtype: DType
    columns: int
    count: int
    size: float

    @property
    def op(self) -> RowOp:
        return MAKE[self.name](self.columns, self.dtype)

    @property
    def title(self) -> str:
        """The operation, its rows and their type."""
        return f"{self.name} {self.count} x {self.columns} {self.dtype}"


def points(limit: str, multiprocessors: int) -> Iterator[Point]:
    """Where it is measured: at sizes around what it is."""
    value = getattr(measured.LIMITS, limit)
    for name, columns, dtype in FEW_BY_BYTES.get(limit, ()):
        each = _bytes_of_row(limit, MAKE[name](columns, dtype), columns)
        for count in _counts(value / each):
            yield Point(limit, name, dtype, columns, count, count * each)
    for name, columns, dtype in FEW_BY_ROWS.get(limit, ()):
        for count in _counts(value * multiprocessors):
            yield Point(limit, name, dtype, columns, count, count / multiprocessors)
    for name, dtype in BY_LENGTH.get(limit, ()):
        for groups in _lengths(limit, value):
            columns = groups if limit == "subwarp_ends" else groups * 16 // dtype.bytes
            count = FEW if limit == "clustered" else BYTES // (columns * dtype.bytes)
            yield Point(limit, name, dtype, columns, count, groups)


def _bytes_of_row(limit: str, op: RowOp, columns: int) -> int:
    """What the plan divides the limit by."""
    rows = Rows((columns,), types_of(op), op.compute)
    if limit in ("apart", "twice_summed"):
        return columns * op.given(ELEMENT)[0].dtype.bytes
    clustered = sizes.widest(op) == 2 and cluster_sizes.clusters_of(op, rows) is not None
    return sizes.bytes_read(op, rows) * (4 if limit == "twice" and clustered else 1)


def _counts(value: float) -> list[int]:
    return sorted({max(1, round(around * value)) for around in AROUND})


def _lengths(limit: str, value: int) -> list[int]:
    """Vectors of a row: not so many more than the limit that a kernel has no registers for them."""
    if limit == "held_regular":
        return [value // 4, value // 2, value]
    if limit == "subwarp_ends":  # eight accesses of each thread at most
        return [*range(101, 8 * WARP, 32), 8 * WARP - 1]
    if limit == "held":
        return [value // 2, value, 2 * value]
    if limit == "clustered":  # of more, a CTA has one team in any case
        return [n for n in range(288, 513, 32) if n != value]
    lengths = sorted({int(around * value) | 1 for around in (0.4, 0.6, 0.8, 0.95, 1.2, 1.5, 1.9)})
    # Part of a warp has four accesses of each thread at most.
    return [n for n in lengths if limit != "subwarp" or n <= 4 * WARP]


def named(options: Options) -> tuple[str, ...]:
    """The limits that are asked for; all where none is."""
    every = tuple(field.name for field in fields(measured.Limits))
    if unknown := set(options.limits) - set(every):
        raise SystemExit(f"{', '.join(sorted(unknown))}: limits are {', '.join(every)}")
    return options.limits or every


def measure(device: dict[str, object], options: Options) -> Result:
    """Every limit at every point."""
    limits = named(options)
    module: Any = __import__("device_time")
    result = start("row_limits", device, calls=CALLS)
    flush, count = module.Flush(), _multiprocessors()
    for limit in limits:
        for point in points(limit, count):
            for summary in _measured(point, flush, module.flushed_sequence):
                result.put(summary)
        CONSOLE.print(limit)
    return result


def report(result: Result) -> None:
    """The table."""
    show(result, {"size": lambda m: f"{m.notes['size']:.4g}"})


def _multiprocessors() -> int:
    torch: Any = __import__("torch")
    return int(torch.cuda.get_device_properties(0).multi_processor_count)


def _measured(point: Point, flush: Any, timed: Callable[..., Any]) -> Iterator[Summary]:
    busy: Any = __import__("chrome_trace").busy
    arrays = arguments(point)
    calls = {side: compiled(point, side, arrays) for side in ("few", "many")}
    same(calls["few"](), calls["many"](), point)
    each = CALLS + WARM
    activities = timed([call for call in calls.values() for _ in range(each)], flush)
    for i, side in enumerate(calls):
        times = [busy(call) for call in activities[i * each + WARM : (i + 1) * each]]
        name = f"{point.limit}: {point.title}, {side}"
        yield summarise(
            name, "us", times, limit=point.limit, operation=point.name, rows=point.count,
            columns=point.columns, dtype=str(point.dtype), size=point.size, side=side,
        )  # fmt: skip


def compiled(point: Point, side: str, arrays: list[Any]) -> Call:
    """A call of the kernel that is chosen below the point's limit ("few"), or above it ("many")."""
    value = ALWAYS if side == "few" else NEVER
    return partial(ready, lowered(point, {point.limit: value}, arrays).compile(), arrays)


def lowered(point: Point, limits: Mapping[str, int], arrays: Sequence[Any]) -> Any:
    """The operation as JAX lowers it, where these limits have these values."""
    op = point.op
    results = tuple(operand.dtype for operand in op.outputs if operand.per == COLUMN)
    with forced(limits):
        sequence: Any = plan.operation.__wrapped__(op, (point.columns,), results)
        return jax.jit(sequence).lower(*arrays)


@contextmanager
def forced(values: Mapping[str, int]) -> Generator[None]:
    """With these limits, and all others as they are."""
    limits = replace(measured.LIMITS, **values)
    plan._chosen.cache_clear()
    with mock.patch.object(measured, "LIMITS", limits):
        yield
    plan._chosen.cache_clear()


def ready(run: Any, arrays: list[Any]) -> Any:
    """The results of a compiled call, once they are there."""
    return jax.block_until_ready(run(*arrays))


def arguments(point: Point) -> list[Any]:
    """Random numbers for each input; integers are columns."""
    random = np.random.default_rng(0)

    def made(shape: tuple[int, ...], dtype: Any) -> Any:
        if np.issubdtype(dtype, np.integer):
            return random.integers(point.columns, size=shape)
        return random.standard_normal(shape, np.float32)

    return [jnp.asarray(made(each.shape, each.dtype), each.dtype) for each in structures(point)]


def structures(point: Point) -> list[jax.ShapeDtypeStruct]:
    """Shapes and types of the inputs."""
    shapes = {ELEMENT: (point.count, point.columns), COLUMN: (point.columns,), ROW: (point.count,)}
    return [jax.ShapeDtypeStruct(shapes[o.per], o.dtype.numpy) for o in point.op.inputs]


def same(few: Any, many: Any, point: Point) -> None:
    """Raises RuntimeError where two kernels disagree by more than their roundings."""
    for one, other in zip(jax.tree.leaves(few), jax.tree.leaves(many), strict=True):
        apart, largest = (float(each) for each in _distance(one, other))
        bound = 2.0 ** (-6 if point.dtype is bf16 else -18) * (largest + 1e-30)
        if not apart <= bound:
            raise RuntimeError(f"the kernels of {point} disagree")


@jax.jit
def _distance(one: jax.Array, other: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The largest difference, and the largest number of `other`; NaN if either has one."""
    found, expected = (each.astype(jnp.float32) for each in (one, other))
    apart = jnp.abs(found - expected)
    # XLA's maximum on a CPU leaves out NaN.
    largest = jnp.where(jnp.isnan(apart).any(), jnp.nan, apart.max(initial=0))
    return largest, jnp.abs(expected).max(initial=0)
