"""Tables of the parser and of indexing."""

from __future__ import annotations

import textwrap

from measure import number

from doc_tables.record import TITLES, Record, plain


def text_speed(record: Record) -> list[str]:
    """The table, and what stands between the parser and its bar."""
    found = {m["name"]: m["median"] for m in record["measurements"]}
    speed, known = (found[f"parse, generated{which}"] for which in ("", ", known words"))
    bar = next(bar for bar in record["bars"] if bar["name"] == "parse")
    reached = "reached" if bar["holds"] else "not reached"
    made = found["make a register, a location and an instruction"]
    sentence = (
        f"The parser's goal of {bar['limit']:.0f},000 instructions a second is {reached}. If every "
        f"word of a line is known, an instruction takes {number(1000 / known)} us, of which "
        f"{number(made)} us make its register, location and instruction. If every result has its "
        f"own register, it takes {number(1000 / speed)} us: each new word is read once, in Python, "
        "and kept."
    )
    return [*plain(record), "", *textwrap.wrap(sentence, 118)]


def indexing(record: Record) -> list[str]:
    """A line for each kernel: what it is by hand, and by index."""
    found: dict[str, list[str]] = {}
    for m in record["measurements"]:
        cells = (m["notes"]["lines"], m["notes"]["registers"], int(m["median"]))
        found.setdefault(m["name"].partition(", ")[0], []).extend(map(str, cells))
    heading = "lines by hand | registers | instructions | lines by index | registers | instructions"
    rows = [
        f"| [{name}](../examples/{name}.py) | {' | '.join(cells)} |"
        for name, cells in found.items()
    ]
    title = f"**{TITLES['indexing']}**, for {record['settings']['arch']}"
    return [title, "", f"| | {heading} |", "|---|" + "---:|" * 6, *rows]
