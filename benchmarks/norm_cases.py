"""What the benchmarks of `pyptx.ops.rms_norm` measure: shapes, directions, bars, shares of a copy.

Data and arithmetic alone; needs neither a GPU nor a framework.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from measure import Bar, Summary, number, summarise

FORWARD: Final = "forward"
BACKWARD: Final = "backward"
DIRECTIONS: Final = (FORWARD, BACKWARD)
ITEM_SIZES: Final = {"f32": 4, "bf16": 2, "f16": 2}
TENSORS: Final = {FORWARD: 2, BACKWARD: 3}
"""Tensors of x's size that have to move: x and y; x, g and dx."""
CONDITIONS: Final = {
    "flush": "persisting lines of L2 made normal and 256 MiB filled before every call",
    "counted": "union of the busy intervals of a call's kernels, copies and fills (CUPTI)",
}
"""How every call is measured, for the settings of a results file."""

COPY: Final = "copy"
OURS: Final = "pyptx"
ALONE: Final = "the same bytes alone"
DENSE: Final = "dense product"
EXCHANGING: Final = "with one exchange"
COMPILE: Final = "torch.compile"
TRITON: Final = "Triton, one row per program"
NATIVE: Final = "F.rms_norm"
EAGER: Final = "torch eager, 5 operations"
XLA: Final = "XLA"
LIGER: Final = "Liger"
QUACK: Final = "quack"
OPERATION: Final = "pyptx.ops.rms_norm"
BY_HAND: Final = "a kernel called by hand"
CALLED: Final = ("eager", "jitted")
"""How the host's time is taken."""
HOST_LIMIT: Final = 3.0
"""Microseconds of the host's time that a call of the operation may take beyond one by hand."""
PEERS: Final = (NATIVE, COMPILE, TRITON, XLA, EAGER, LIGER, QUACK)


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """Rows that are normalized, their length, and the dtype of x and of the weight."""

    rows: int
    columns: int
    dtype: str

    @property
    def values(self) -> int:
        return self.rows * self.columns

    @property
    def title(self) -> str:
        return f"{self.rows} x {self.columns} {self.dtype}"

    def bytes(self, direction: str) -> int:
        """Bytes of the large tensors, each counted once."""
        return TENSORS[direction] * self.values * ITEM_SIZES[self.dtype]


def parse_shape(text: str) -> Shape:
    """`2048x8192:f32`. Raises ValueError that says how one is written."""
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*):(\w+)", text)
    if found is None or found[3] not in ITEM_SIZES:
        legal = ", ".join(ITEM_SIZES)
        raise ValueError(f"{text!r} is no shape; write rows x columns : dtype, as 2048x8192:f32, "
                         f"with a dtype of {legal}")  # fmt: skip
    return Shape(int(found[1]), int(found[2]), found[3])


def measurement_name(shape: Shape, direction: str, candidate: str) -> str:
    """The name of a measurement in a results file."""
    return f"{shape.title} {direction}: {candidate}"


# ---- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Goal:
    """What a shape has to reach: percent of a copy's speed, or a time where `unit` says so; None
    where there is no goal."""

    forward: float | None
    backward: float
    unit: str = "%"

    def limit(self, direction: str) -> float | None:
        return {FORWARD: self.forward, BACKWARD: self.backward}[direction]


GOALS: Final[dict[Shape, Goal]] = {
    Shape(2048, 8192, "f32"): Goal(99, 92),
    Shape(16384, 8192, "f32"): Goal(101, 99),
    Shape(32768, 4096, "bf16"): Goal(99, 93),
    Shape(4096, 32768, "bf16"): Goal(99, 88),
    Shape(2048, 262144, "bf16"): Goal(97, 85),
    Shape(16384, 4096, "bf16"): Goal(99, 92),
    Shape(512, 65536, "f32"): Goal(97, 88),
    Shape(8192, 8191, "bf16"): Goal(94, 87),
    Shape(4096, 4097, "f32"): Goal(94, 85),
    Shape(64, 1048576, "f32"): Goal(93, 85),
    Shape(1024, 8192, "bf16"): Goal(98, 80),
    Shape(65536, 128, "bf16"): Goal(107, 85),
    Shape(8, 8192, "bf16"): Goal(1.8, 3.4, " us"),
    Shape(1, 4096, "bf16"): Goal(None, 1.8, " us"),
    Shape(32, 7168, "bf16"): Goal(None, 4.4, " us"),
    Shape(128, 5120, "bf16"): Goal(None, 5.9, " us"),
    Shape(4096, 2304, "f16"): Goal(None, 88),
    Shape(8192, 1536, "f16"): Goal(None, 92),
    Shape(10682, 50257, "bf16"): Goal(93, 86),
    Shape(10682, 50257, "f32"): Goal(96, 90),
    Shape(128, 524288, "bf16"): Goal(None, 90),
}


# ---- the sweep -----------------------------------------------------------------------------------

POWERS: Final = tuple(2**k for k in range(6, 21))
ODD_COLUMNS: Final = (4097, 8191, 50257)
SWEEP_COLUMNS: Final = tuple(sorted((*POWERS, *ODD_COLUMNS)))
SWEEP_VALUES: Final = (2**26, 2**29, 2**23, 2**20)
"""Values of x; the sizes that show bandwidth best come first, in case the time runs out."""
SWEEP_DTYPES: Final = ("bf16", "f32")
COMPILED_COLUMNS: Final = (*POWERS[::2], 4097)
"""Row lengths at which torch.compile is measured too; each costs seconds of compiling."""


def sweep_shapes(columns: Iterable[int] = SWEEP_COLUMNS) -> tuple[Shape, ...]:
    """Whole rows of every length, as many as fit into every size."""
    lengths = tuple(columns)
    return tuple(
        Shape(values // n, n, dtype)
        for values in SWEEP_VALUES
        for dtype in SWEEP_DTYPES
        for n in lengths
    )


def nominal_values(shape: Shape) -> int:
    """The size of the sweep that a shape belongs to: it has up to one row less."""
    return min(SWEEP_VALUES, key=lambda values: abs(values - shape.values))


# ---- what is asked for ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line selects. Empty tuples select everything."""

    shapes: tuple[Shape, ...] = ()
    dtypes: tuple[str, ...] = ()
    directions: tuple[str, ...] = DIRECTIONS
    peers: bool = True
    ops: tuple[str, ...] = ()
    calls: int | None = None
    budget: float | None = None
    out: Path | None = None
    """Where results are saved while they are made; None saves nothing."""
    known: Mapping[str, Any] | None = field(default=None)
    """The record of an earlier command that the results are added to."""
    resume: bool = False
    """Leave out what `known` has."""
    operations: tuple[str, ...] = ()
    jobs: int = 1
    """Processes that build cases at once."""
    limits: tuple[str, ...] = ()
    """Of `row_limits`."""

    def select(self, shapes: Iterable[Shape]) -> tuple[Shape, ...]:
        """`shapes`, or those that were asked for instead, of the dtypes that were asked for."""
        wanted = self.shapes or tuple(shapes)
        return tuple(s for s in wanted if not self.dtypes or s.dtype in self.dtypes)


@dataclass(frozen=True, slots=True)
class Operation:
    """A variant that is timed beside the product: `module:function` in one direction."""

    name: str
    module: str
    function: str
    direction: str


def parse_operation(text: str) -> Operation:
    """`[forward=|backward=]module:function`; a file ending in .py is a module too.

    A forward function takes (x, weight, eps) and returns y. A backward one takes (g, invvar, x,
    weight, eps) and returns (dx, dw). Without a direction, a name ending in `bwd` or `backward` is
    the backward one. Raises ValueError.
    """
    found = re.fullmatch(r"(?:(forward|backward)=)?([^=:]+):(\w+)", text)
    if found is None:
        raise ValueError(f"{text!r} names no operation; write module:function, file.py:function, "
                         "or with a direction, backward=module:function")  # fmt: skip
    direction, module, function = found.groups()
    if direction is None:
        direction = BACKWARD if function.endswith(("bwd", "backward")) else FORWARD
    return Operation(f"{module}:{function}", module, function, direction)


# ---- from readings to results --------------------------------------------------------------------

Readings = Mapping[tuple[str, str, str], Sequence[float]]
"""Microseconds of every call, by direction, candidate and variant; the copy is forward."""


def summaries(
    shape: Shape, readings: Readings, notes: Mapping[tuple[str, str], Mapping[str, object]]
) -> list[Summary]:
    """A measurement for every candidate, of its fastest variant, with the copy's time beside it.

    `notes` are further facts, by direction and candidate.
    """
    copy = summarise("", "us", readings[FORWARD, COPY, ""]).median
    best: dict[tuple[str, str], tuple[Summary, str]] = {}
    for (direction, candidate, variant), samples in readings.items():
        rounded = [round(sample, 3) for sample in samples]  # CUPTI counts nanoseconds
        facts: dict[str, object] = {
            "rows": shape.rows, "columns": shape.columns, "dtype": shape.dtype,
            "direction": direction, "candidate": candidate, "copy": round(copy, 3),
        }  # fmt: skip
        if variant:
            facts["variant"] = variant
        facts.update(notes.get((direction, candidate), {}))
        made = summarise(measurement_name(shape, direction, candidate), "us", rounded, **facts)
        known = best.get((direction, candidate))
        if known is None or made.median < known[0].median:
            best[direction, candidate] = (made, variant)
    return [made for made, _ in best.values()]


def percent(notes: Mapping[str, Any], median: float) -> float:
    """The time that the tensors take at the speed of the copy of the same visit, over `median`."""
    return 100 * notes["copy"] * TENSORS[notes["direction"]] / TENSORS[FORWARD] / median


def host_bars(samples: Mapping[str, Sequence[float]]) -> list[Bar]:
    """What the operation takes beyond a kernel called by hand: the median over pairs of turns.

    A host has slow moments and quick ones, which both of a turn share more or less; the difference
    of two medians would tell how many of each happened to be which one's.
    """
    return [
        Bar(
            f"beyond {BY_HAND}, {how}, in pairs of turns",
            statistics.median(
                ours - theirs
                for ours, theirs in zip(
                    samples[f"{OPERATION}, {how}"], samples[f"{BY_HAND}, {how}"], strict=True
                )
            ),
            HOST_LIMIT,
            " us",
        )
        for how in CALLED
    ]


def bars(
    measured: Iterable[Summary], directions: Sequence[str], shapes: Iterable[Shape]
) -> list[Bar]:
    """The goal of every shape that has one. A shape without a measurement does not hold."""
    found = {m.name: m for m in measured}
    return [
        _bar(found.get(measurement_name(shape, direction, OURS)), shape, direction, limit)
        for shape in shapes
        if shape in GOALS
        for direction in directions
        if (limit := GOALS[shape].limit(direction)) is not None
    ]


def _bar(measured: Summary | None, shape: Shape, direction: str, limit: float) -> Bar:
    goal, name = GOALS[shape], f"{shape.title} {direction}"
    if measured is None:
        return Bar(name, float("nan"), limit, goal.unit, at_least=goal.unit == "%")
    if goal.unit == "%":
        reached = percent(measured.notes, measured.median)
        return Bar(name, reached, limit, "%", at_least=True)
    return Bar(name, measured.median, limit, goal.unit)


def share(m: Summary) -> str:
    """The share of the copy's speed for a table on the console."""
    return f"{number(percent(m.notes, m.median))}%" if "copy" in m.notes else ""


def pairs(shapes: Iterable[Shape], directions: Sequence[str]) -> Iterator[tuple[Shape, str]]:
    """Every shape in every direction."""
    yield from ((shape, direction) for shape in shapes for direction in directions)
