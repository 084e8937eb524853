"""The table of row-wise operations."""

from __future__ import annotations

from typing import Any, Final

from measure import number
from norm_cases import ALONE, COPY, DIRECTIONS, EXCHANGING, FORWARD, OURS

from doc_tables.norm import ahead, cases_of
from doc_tables.record import TITLES, Record


def row_table(record: Record) -> list[str]:
    """A line for each operation and shape: the share of a copy's speed, and the best other."""
    cases: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        case = notes["operation"], f"{notes['rows']} x {notes['columns']} {notes['dtype']}"
        cases.setdefault((*case, notes["direction"]), {})[notes["candidate"]] = m
    title = f"**{TITLES['row_table']}**: microseconds, and percent of the speed of a copy of the"
    lines = [
        f"{title} bytes that must move; cold L2 cache",
        "",
        "| operation | shape | forward | best peer | backward | best peer |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for operation, shape, direction in cases:
        if direction == FORWARD:
            cells = [_against(cases.get((operation, shape, d), {})) for d in DIRECTIONS]
            lines.append(f"| {operation} | {shape} | {' | '.join(cells)} |")
    return lines


SWEPT: Final = "percent of a copy's speed, of few rows of the fastest peer's, over a row's length"
"""What the picture of the sweep shows."""


def row_sweep(record: Record) -> list[str]:
    """How many cases there are, where a peer is faster, and the picture."""
    cases = cases_of(record)
    return [
        f"**{TITLES['row_sweep']}**: {len(cases)} cases; {ahead(cases)}",
        "",
        f"![{SWEPT}](row_sweep.svg)",
    ]


def row_floors(record: Record) -> list[str]:
    """A line for each goal: what was reached, and what kernels reach that only move the bytes."""
    found = {m["name"]: m for m in record["measurements"]}
    lines = [
        f"**{TITLES['row_floors']}**: percent of a copy's speed, or microseconds; cold L2 cache",
        "",
        f"| operation, shape, direction | goal | {OURS} | {ALONE} | {EXCHANGING} |",
        "|---|---:|---:|---:|---:|",
    ]
    for bar in record["bars"]:
        measured = (found.get(f"{bar['name']}: {who}") for who in (OURS, ALONE, EXCHANGING))
        cells = ["" if m is None else _in_unit(m, bar["unit"]) for m in measured]
        if bar["holds"]:
            cells[0] = f"**{cells[0]}**"
        lines.append(f"| {bar['name']} | {bar['limit']:g}{bar['unit']} | {' | '.join(cells)} |")
    return lines


def _in_unit(m: dict[str, Any], unit: str) -> str:
    return f"{m['notes']['share']:.1%}" if unit == "%" else f"{m['median']:.2f} us"


def _against(found: dict[str, dict[str, Any]]) -> str:
    """The product's cell and that of the fastest other; dashes where nothing was measured."""
    if not found:
        return "- | -"
    others = [name for name in found if name not in (OURS, COPY)]
    best = min(others, key=lambda name: found[name]["median"])

    def cell(name: str) -> str:
        m = found[name]
        return f"{number(m['median'])} us, {m['notes']['share']:.1%}"

    ours = cell(OURS)
    ahead = found[OURS]["median"] <= found[best]["median"]
    return f"{f'**{ours}**' if ahead else ours} | {best}: {cell(best)}"
