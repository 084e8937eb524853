"""Tables of fuzzing, and of the emulator beside a GPU."""

from __future__ import annotations

from measure import number

from doc_tables.record import TITLES, Record, medians


def fuzz(record: Record) -> list[str]:
    """A line for each target: its inputs, and the places in the code that they reach."""
    title = f"**{TITLES['fuzz']}**, {record['settings']['seconds']} s each; no failures"
    rows = [
        f"| {name} | {int(median):,} | {m['notes']['covered']:,} |"
        for name, median, m in medians(record)
    ]
    return [title, "", "| reader | inputs | places reached |", "|---|---:|---:|", *rows]


def approximations(record: Record) -> list[str]:
    """How many results of each function a GPU gives with other bits than the emulator."""
    rows = [
        f"| `{m['name']}` | {notes['inputs']:,} | {notes['different']:,} | {number(m['median'])} |"
        for m in record["measurements"]
        for notes in (m["notes"],)
    ]
    heading = "| function | arguments | results with other bits | largest distance, ulp |"
    return [f"**{TITLES['approximations']}**", "", heading, "|---|---:|---:|---:|", *rows]
