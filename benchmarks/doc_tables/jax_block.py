"""The results of `jax_block` as a table of docs: a line for each way, a column for each form."""

from __future__ import annotations

from typing import Any, Final

from measure import number

Record = dict[str, Any]

TITLE: Final = "A training step of a transformer block in JAX, 4096 tokens of 4096 in bf16"
THEIRS: Final = "jax.numpy"


def table(record: Record) -> list[str]:
    """Milliseconds of a step, and what a step exchanges."""
    forms: dict[str, dict[str, Record]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        forms.setdefault(notes["form"], {})[notes["way"]] = m
    ways = dict.fromkeys(way for found in forms.values() for way in found)
    measured = "milliseconds, jax.numpy = 1, and GiB of intermediate results"
    lines = [
        f"**{TITLE}**: {measured}",
        "",
        f"| operations | {' | '.join(forms)} |",
        "|---|" + "---:|" * len(forms),
    ]
    lines += [
        f"| {way} | {' | '.join(_cell(found, way) for found in forms.values())} |" for way in ways
    ]
    sent = [line for form, found in forms.items() for line in _exchanged(form, found)]
    return [*lines, "", *sent] if sent else lines


def _cell(found: dict[str, Record], way: str) -> str:
    if way not in found:
        return "-"
    m, theirs = found[way], found[THEIRS]["median"]
    text = f"{number(m['median'])} ({m['median'] / theirs:.3f}x), {m['notes']['gib']:.1f} GiB"
    return f"**{text}**" if way != THEIRS and m["median"] <= theirs else text


def _exchanged(form: str, found: dict[str, Record]) -> list[str]:
    """A line with the arrays that a step exchanges, where it exchanges any."""
    ways: dict[str, list[str]] = {}
    for way, m in found.items():
        sent = ", ".join(f"{n} by {kind}" for kind, n in m["notes"]["exchanged"].items())
        ways.setdefault(sent or "none", []).append(way)
    if list(ways) == ["none"]:
        return []
    one = len(ways) == 1
    parts = (f"{sent} ({'all' if one else '; '.join(names)})" for sent, names in ways.items())
    return [f"- {form}: arrays exchanged in a step: {'; '.join(parts)}"]
