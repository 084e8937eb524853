"""`pyptx.ops.rms_norm` and its backward at the shapes that have a goal, beside everything else.

Device time of a call is the union of the intervals in which a kernel, copy or fill of it runs:
kernels that overlap count once, gaps between kernels do not count. CUPTI records them; before every
call the L2 cache is flushed; data are random; every result is compared with float64 at every value
before anything is timed. Forward is `rms_norm(x, weight, eps)` without a derivative, backward
`rms_norm_bwd` of a given invvar. `copy` is `dst.copy_(src)` of PyTorch with the bytes of the
forward, timed in the same turns; the backward's share is of the time that its three tensors would
take at that copy's speed.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from measure import CONSOLE, Result, show, start
from norm_candidates import EPS, FULL_TUNING, absent
from norm_cases import (
    CONDITIONS,
    DIRECTIONS,
    EAGER,
    GOALS,
    OURS,
    PEERS,
    Options,
    Shape,
    bars,
    share,
)
from norm_visit import Timer, Visit, on_device, operations, run

CALLS = 20
EAGER_SHAPES = tuple(GOALS)[:4]
"""Where PyTorch's eager formula is measured: it is far behind everywhere."""


def measure(
    device: dict[str, object], options: Options, timer: Timer | None = None, place: str = "cuda"
) -> Result:
    """Every shape that is asked for, forward and backward, and the bars."""
    calls = options.calls or CALLS
    result = start(
        "norm_table", device, calls=calls, eps=EPS, mode=FULL_TUNING, absent=absent(),
        **CONDITIONS,
    )  # fmt: skip
    visits = wanted(options, calls)
    asked = [(shape, d) for shape in options.select(GOALS) for d in options.directions]

    def judge(result: Result) -> None:
        known = {(m.notes["rows"], m.notes["columns"], m.notes["dtype"], m.notes["direction"])
                 for m in result.measurements if m.notes["candidate"] == OURS}  # fmt: skip
        result.bars = [
            bar
            for shape in GOALS
            for direction in DIRECTIONS
            if (shape, direction) in asked
            or (shape.rows, shape.columns, shape.dtype, direction) in known
            for bar in bars(result.measurements, (direction,), (shape,))
        ]

    run(result, visits, options, timer or on_device(), judge=judge, device=place)
    return result


def wanted(options: Options, calls: int) -> Iterator[Visit]:
    """A visit of every shape."""
    for shape in options.select(GOALS):
        names = names_for(shape) if options.peers else (OURS,)
        yield Visit(
            shape, names, options.directions, operations(options), FULL_TUNING, calls
        )  # fmt: skip


def names_for(shape: Shape) -> tuple[str, ...]:
    """pyptx and its peers; the eager formula at some shapes only."""
    peers = (peer for peer in PEERS if peer != EAGER or shape in EAGER_SHAPES)
    return (OURS, *peers)


def report(result: Result) -> None:
    """The table, with the share of the copy's speed, and the bars."""
    show(result, {"of copy": share, "kernels": lambda m: m.notes.get("kernels", "")})
    for m in result.measurements:
        if "parts" in m.notes:
            text = f"{m.name}: {m.notes['with gaps']} us with gaps: {m.notes['parts']}"
            CONSOLE.print(text, markup=False)
    spreads = [m.spread for m in result.measurements]
    if spreads:
        CONSOLE.print(f"median spread {statistics.median(spreads):.1%}")
