"""`pyptx.ops.rms_norm` over row lengths and sizes, forward and backward: what the picture shows.

Measured as norm_table.py does, with fewer calls and peers. torch.compile, which takes seconds for
each shape, follows when all else is done, in its default mode and at every second row length.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace

from measure import CONSOLE, Result, number, start
from norm_candidates import EPS, absent
from norm_cases import (
    COMPILE,
    COMPILED_COLUMNS,
    CONDITIONS,
    NATIVE,
    OURS,
    TRITON,
    Options,
    Shape,
    nominal_values,
    percent,
    sweep_shapes,
)
from norm_visit import Timer, Visit, on_device, operations, run

CALLS = 7
BUDGET = 360.0
"""Seconds, unless the command line says otherwise."""
MODE = "default"
QUICK = (OURS, TRITON, NATIVE)


def measure(
    device: dict[str, object], options: Options, timer: Timer | None = None, place: str = "cuda"
) -> Result:
    """The shapes that are asked for, until the time is over."""
    calls = options.calls or CALLS
    result = start(
        "norm_sweep", device, calls=calls, eps=EPS, mode=MODE, absent=absent(),
        **CONDITIONS,
    )  # fmt: skip
    limited = replace(options, budget=BUDGET if options.budget is None else options.budget)
    run(result, wanted(limited, calls), limited, timer or on_device(), device=place)
    return result


def wanted(options: Options, calls: int) -> Iterator[Visit]:
    """First what compiles quickly at every shape, then torch.compile."""
    shapes = options.select(sweep_shapes())

    def at(shape: Shape, names: tuple[str, ...], *, variants: bool = False) -> Visit:
        given = operations(options) if variants else ()
        return Visit(shape, names, options.directions, given, MODE, calls)

    yield from (at(shape, QUICK if options.peers else (OURS,), variants=True) for shape in shapes)
    if options.peers:
        yield from (at(shape, (COMPILE,)) for shape in shapes if shape.columns in COMPILED_COLUMNS)


def report(result: Result) -> None:
    """For each dtype, direction and size the shares of the copy's speed over all row lengths."""
    shares: dict[tuple[str, str, int, str], list[float]] = {}
    for m in result.measurements:
        notes: dict[str, object] = dict(m.notes)
        rows, columns, dtype = notes["rows"], notes["columns"], str(notes["dtype"])
        assert isinstance(rows, int)
        assert isinstance(columns, int)
        size = nominal_values(Shape(rows, columns, dtype))
        key = (dtype, str(notes["direction"]), size, str(notes["candidate"]))
        shares.setdefault(key, []).append(percent(m.notes, m.median))
    for (dtype, direction, size, candidate), values in sorted(shares.items()):
        CONSOLE.print(
            f"{dtype} {direction} {size >> 20}M values, {candidate}: {number(min(values))}% to "
            f"{number(max(values))}% of copy, median {number(statistics.median(values))}%, "
            f"{len(values)} row lengths"
        )
    settings = result.record()["settings"]
    CONSOLE.print(f"{len(settings['failed'])} failed, {len(settings['left'])} visits left out")
