"""Tables of `pyptx.ops.rms_norm`."""

from __future__ import annotations

from typing import Final

from measure import ROOT, number
from norm_cases import (
    BACKWARD,
    COPY,
    DIRECTIONS,
    FORWARD,
    GOALS,
    OURS,
    PEERS,
    TENSORS,
    Shape,
    host_bars,
    measurement_name,
    percent,
)

from doc_tables.record import TITLES, Record, bars, medians, plain

HEADINGS: Final = {
    FORWARD: "Forward: y",
    BACKWARD: "Backward: the gradients of x and weight",
}
PICTURE: Final = "norm_sweep.svg"
FLAT_COPY: Final = "copy of the same bytes"
"""What a copy is called in the results of `rms_norm`."""


def rms_norm(record: Record) -> list[str]:
    """Time, share of the copy's time and bandwidth, fastest first."""
    settings = record["settings"]
    total = settings["columns"] * 4 * (2 * settings["rows"] + 1)
    rows = [row for row in medians(record) if not row[0].endswith("CUDA events")]
    copy = next(median for name, median, _ in rows if name == FLAT_COPY)
    size = f"{settings['rows']} x {settings['columns']} {settings['dtype']}"
    lines = [
        f"**{TITLES['rms_norm']}**, {size}, device time of one call with a cold L2 cache",
        "",
        "| | us | copy = 1 | GB/s |",
        "|---|---:|---:|---:|",
    ]
    for name, median, _ in sorted(rows, key=lambda row: row[1]):
        shown = f"**{name}**" if name.startswith("pyptx") else name
        bandwidth = f"{total / median / 1000:,.0f}"
        lines.append(f"| {shown} | {number(median)} | {number(median / copy)} | {bandwidth} |")
    return lines


def norm_host(record: Record) -> list[str]:
    """Times of calls, and how far the operation is from a kernel called by hand."""
    samples = {m["name"]: m["samples"] for m in record["measurements"]}
    return [*plain(record), "", *bars({"bars": [bar.record() for bar in host_bars(samples)]})]


def norm_table(record: Record) -> list[str]:
    """A table for each direction: microseconds and percent of the copy's speed, beside the goal."""
    found = {m["name"]: m for m in record["measurements"]}
    title = f"**{TITLES['norm_table']}**, microseconds and percent of a copy's speed, cold L2 cache"
    compiled = any(m["notes"]["candidate"] in PEERS for m in found.values())
    lines = (
        [f"{title};", f"torch.compile with {record['settings']['mode']}"] if compiled else [title]
    )
    for direction in DIRECTIONS:
        peers = [p for p in PEERS if any(m["notes"]["candidate"] == p
                 and m["notes"]["direction"] == direction for m in found.values())]  # fmt: skip
        lines += ["", HEADINGS[direction], "",
                  f"| | {' | '.join(('at copy speed', '**pyptx**', 'goal', *peers))} |",
                  "|---|---:|---:|---:|" + "---:|" * len(peers)]  # fmt: skip
        for shape in GOALS:
            copied = found.get(measurement_name(shape, FORWARD, COPY))
            if copied is not None:
                lines.append(_norm_row(found, shape, direction, copied["median"], peers))
    return lines


def _norm_row(found: Record, shape: Shape, direction: str, copied: float, peers: list[str]) -> str:
    ideal = copied * TENSORS[direction] / TENSORS[FORWARD]

    def cell(name: str) -> str:
        m = found.get(measurement_name(shape, direction, name))
        if m is None:
            return "-"
        return f"{number(m['median'])} ({percent(m['notes'], m['median']):.0f})"

    ours = found.get(measurement_name(shape, direction, OURS))
    cells = (shape.title, number(ideal), f"**{cell(OURS)}**", _goal(ours, shape, direction))
    return f"| {' | '.join((*cells, *map(cell, peers)))} |"


def _goal(ours: Record | None, shape: Shape, direction: str) -> str:
    """What a shape has to reach, and whether it is reached."""
    goal = GOALS[shape]
    limit = goal.limit(direction)
    if limit is None:
        return "-"
    reached = ours is not None and (
        percent(ours["notes"], ours["median"]) >= limit if goal.unit == "%"
        else ours["median"] <= limit
    )  # fmt: skip
    return f"{limit:g}{goal.unit}{'' if reached else ' **not reached**'}"


def norm_sweep(record: Record) -> list[str]:
    """The picture, how much it shows, and where a peer is faster."""
    cases = cases_of(record)
    lines = [f"**{TITLES['norm_sweep']}**: {len(cases)} cases; {ahead(cases)}"]
    if (ROOT / "docs" / PICTURE).exists():
        lines += ["", f"![percent of the speed of a copy over the length of a row]({PICTURE})"]
    return lines


def cases_of(record: Record) -> dict[str, dict[str, float]]:
    """The microseconds of each candidate, by case, where the product has been measured."""
    cases: dict[str, dict[str, float]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        title = Shape(notes["rows"], notes["columns"], notes["dtype"]).title
        operation = f"{notes['operation']} " if "operation" in notes else ""
        case = cases.setdefault(f"{operation}{title} {notes['direction']}", {})
        case[notes["candidate"]] = m["median"]
    return {case: found for case, found in cases.items() if OURS in found}


def ahead(cases: dict[str, dict[str, float]]) -> str:
    """Where a peer is faster than the product, of microseconds by case and candidate."""
    found: list[str] = []
    for case, times in cases.items():
        peers = {name: us for name, us in times.items() if name not in (OURS, COPY)}
        if peers and min(peers.values()) < times[OURS]:
            best = min(peers, key=peers.__getitem__)
            found.append(f"{case} ({best}, {times[OURS] / peers[best] - 1:.1%})")
    return f"a peer is faster in {len(found) or 'none'}" + ": " * bool(found) + ", ".join(found)


def norm_reasons(record: Record) -> list[str]:
    """A line for each reason: the product's time, and each other way's."""
    lines = ["| choice | rows | us | alternatives, us |", "|---|---|---:|---|"]
    for (shape, what), ways in _by_reason(record).items():
        (_, product), *others = ways
        rest = ", ".join(f"{way}: {number(us)} ({us / product - 1:+.1%})" for way, us in others)
        lines.append(f"| {what} | {shape} | {number(product)} | {rest} |")
    return lines


def _by_reason(record: Record) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """The ways of each reason with their medians, the product's first."""
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        what, mark, way = notes["candidate"].partition(": ")
        if mark:  # the copy has none
            shape = Shape(notes["rows"], notes["columns"], notes["dtype"]).title
            found.setdefault((f"{shape} {notes['direction']}", what), []).append((way, m["median"]))
    return found
