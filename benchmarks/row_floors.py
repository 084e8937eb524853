"""Row-wise operations beside kernels that move the same bytes and compute nothing.

Shapes are those of row_table. For each operation and direction, `moving` has as many arrays per
element as it reads and writes, in twelve ways; the fastest counts. Sums over columns, scalars of
rows and labels are left out. What an operation takes beyond it is its own; a goal beyond it is out
of reach on the GPU that both ran on.

Few rows take as long as their steps do, one after the other. Where an operation has a statistic of
a row, the kernels that move its bytes are also measured with the exchange that it needs, once,
within a CTA or a cluster.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any, Final

import torch
from chrome_trace import busy
from measure import CONSOLE, Bar, Result, Summary, show, start, summarise
from moving import Moving, call_of, fastest, ways
from norm_cases import (
    ALONE,
    BACKWARD,
    CONDITIONS,
    COPY,
    DIRECTIONS,
    EXCHANGING,
    FORWARD,
    OURS,
)
from norm_visit import Timer, free, on_device
from row_table import Call, Case, candidates, cases

CALLS: Final = 10
WORD: Final = 4
PIECE: Final = 16
"""Bytes of a vector of `moving`."""
"""Bytes that `moving` counts in."""
STREAMS: Final = {
    "layer_norm": {FORWARD: (1, 1), BACKWARD: (2, 1)},
    "softmax": {FORWARD: (1, 1), BACKWARD: (2, 1)},
    "swiglu": {FORWARD: (2, 1), BACKWARD: (3, 2)},
    "add_rms_norm": {FORWARD: (2, 2), BACKWARD: (3, 1)},
    "cross_entropy": {FORWARD: (1, 0), BACKWARD: (1, 1)},
}
"""Arrays per element that are read and written."""
WITH_STATISTIC: Final = ("layer_norm", "add_rms_norm")
"""Operations whose few rows need an exchange."""
TOGETHER: Final = (1, 2, 4, 8, 16)
"""CTAs that exchange."""
GOALS: Final = {
    "layer_norm 32768 x 4096 bf16": ("101%", "97%"),
    "layer_norm 8192 x 8192 f32": ("101%", "97%"),
    "layer_norm 4096 x 32768 bf16": ("100%", "93%"),
    "layer_norm 16384 x 2304 bf16": ("102%", "92%"),
    "layer_norm 65536 x 128 bf16": ("106%", "86%"),
    "layer_norm 8 x 8192 bf16": ("1.9 us", "3.4 us"),
    "softmax 32768 x 4096 bf16": ("101%", "104%"),
    "softmax 8192 x 8192 f32": ("101%", "103%"),
    "softmax 4096 x 32768 bf16": ("100%", "103%"),
    "softmax 8192 x 131072 bf16": ("100%", "100%"),
    "softmax 16384 x 1000 f32": ("103%", "103%"),
    "softmax 65536 x 128 bf16": ("107%", "114%"),
    "cross_entropy 8192 x 32768 bf16": ("101%", "101%"),
    "cross_entropy 8192 x 128256 bf16": ("101%", "100%"),
    "cross_entropy 4096 x 151936 bf16": ("101%", "100%"),
    "cross_entropy 4096 x 262144 bf16": ("101%", "100%"),
    "cross_entropy 32768 x 4096 f32": ("105%", "108%"),
    "swiglu 16384 x 14336 bf16": ("103%", "102%"),
    "swiglu 8192 x 11008 bf16": ("103%", "102%"),
    "swiglu 4096 x 28672 bf16": ("103%", "102%"),
    "swiglu 16 x 14336 bf16": ("1.7 us", "2.0 us"),
    "add_rms_norm 32768 x 4096 bf16": ("101%", "97%"),
    "add_rms_norm 16384 x 8192 bf16": ("101%", "97%"),
    "add_rms_norm 4096 x 2304 bf16": ("102%", "88%"),
    "add_rms_norm 64 x 8192 bf16": ("2.9 us", "5.0 us"),
}
"""Forward and backward: the percent of a copy's speed at least, or microseconds at most."""


def measure(device: dict[str, object]) -> Result:
    """Every shape of row_table; the goals are the bars."""
    result = start("row_floors", device, calls=CALLS, **CONDITIONS)
    timer = on_device()
    for case in cases():
        for found in visit(case, timer):
            result.put(found)
        CONSOLE.print(case.title)
    result.bars = list(bars(result))
    return result


def report(result: Result) -> None:
    """The table, with the share of the copy's speed."""
    show(result, {"of copy": lambda m: f"{m.notes['share']:.1%}"})


def visit(case: Case, timer: Timer) -> Iterator[Summary]:
    """Ours and the kernels that only move, in the same turns."""
    calls, failed = candidates(case, names=(OURS,))
    if failed:
        raise RuntimeError(str(failed))
    keyed: dict[tuple[str, str, str], Call] = {(*key, ""): call for key, call in calls.items()}
    for direction, (inputs, outputs) in STREAMS[case.operation.name].items():
        arrays = _words(case, inputs)
        for how in ways(inputs, outputs):
            keyed[direction, ALONE, str(how)] = call_of(how, arrays)
        for how in exchanging(case, direction, ways(inputs, outputs, exchanging=TOGETHER)):
            keyed[direction, EXCHANGING, str(how)] = call_of(how, arrays)
    times = {key: [busy(call) for call in found] for key, found in timer(keyed, CALLS).items()}
    copy = statistics.median(times[FORWARD, COPY, ""])
    for direction in DIRECTIONS:
        moved = case.operation.moved[direction]
        ours = times[direction, OURS, ""]
        every: list[tuple[str, list[float], dict[str, str]]] = [(OURS, ours, {})]
        for who in (ALONE, EXCHANGING):
            moved_by = {key[2]: each for key, each in times.items() if key[:2] == (direction, who)}
            if moved_by:
                way = fastest(moved_by)
                every.append((who, moved_by[way], {"way": way}))
        for who, samples, more in every:
            yield summarise(
                f"{case.title} {direction}: {who}", "us", samples, case=case.title,
                direction=direction, candidate=who,
                share=round(copy * moved / 2 / statistics.median(samples), 4), **more,
            )  # fmt: skip
    del calls, keyed
    free()


def exchanging(case: Case, direction: str, among: list[Moving]) -> list[Moving]:
    """Those whose threads that exchange have all of a row, or, with sums over rows, of all rows.

    Where those are more than a cluster has, a row is enough: partial sums need another kernel.
    None for operations without a statistic, and where the goals are of many rows.
    """
    if case.operation.name not in WITH_STATISTIC or not GOALS[case.title][0].endswith("us"):
        return []
    size = 2 if case.dtype == "bf16" else 4
    row, every = (count * case.columns * size // PIECE for count in (1, case.rows))
    held = {how: how.exchanging * how.threads * how.vectors for how in among}
    whole = [how for how in among if held[how] >= every] if direction == BACKWARD else []
    return whole or [how for how in among if held[how] >= row]


def _words(case: Case, count: int) -> list[Any]:
    """As many arrays of as many bytes as an array per element has."""
    size = 2 if case.dtype == "bf16" else 4
    words = case.rows * case.columns * size // WORD
    generator = torch.Generator("cuda").manual_seed(1)
    how: Any = {"generator": generator, "device": "cuda", "dtype": torch.int32}
    return [torch.randint(-(2**31), 2**31 - 1, (words,), **how) for _ in range(count)]


def bars(result: Result) -> Iterator[Bar]:
    """What is ours against the goals."""
    found = {m.name: m for m in result.measurements}
    for title, goals in GOALS.items():
        for direction, goal in zip(DIRECTIONS, goals, strict=True):
            m = found[f"{title} {direction}: {OURS}"]
            limit, unit = float(goal.rstrip("% us")), "%" if goal.endswith("%") else " us"
            value = 100 * m.notes["share"] if unit == "%" else m.median  # pyright: ignore[reportOperatorIssue]
            yield Bar(f"{title} {direction}", value, limit, unit, at_least=unit == "%")
