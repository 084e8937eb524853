"""Draws docs/row_sweep.svg and docs/matmul_sweep.svg from benchmarks/results, and nothing else.

A panel for each operation, type and direction, with the share of a copy's speed over the row's
length, where rows are many, and that of the fastest peer's where they are few; and one for each
weight, with the rate over that of the faster cuBLAS over the number of
rows. The same file gives the same picture; the SVG's description holds the file's name and SHA-256.
"""

# Matplotlib's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure
from measure import RESULTS, ROOT, load
from norm_cases import COMPILE, COPY, DIRECTIONS, OURS
from picture import STYLES, about, drawing, name_lines, tidy, whole

COLUMNS: Final = 4
"""Panels side by side."""
MANY: Final = 2**24
"""Values of an array, from which on rows are many."""

Curves = dict[str, dict[str, list[tuple[int, float]]]]
"""For each panel's title the points of each line: percent over a length or a number of rows."""


def row_curves(record: Mapping[str, Any]) -> Curves:
    """Ours and the fastest peer of each case, in percent of a copy's speed.

    Of few rows ours alone, in percent of the fastest peer's: a copy of so little says nothing.
    """
    cases: dict[tuple[str, int], dict[str, Any]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        if notes["candidate"] != COPY:
            many = notes["rows"] * notes["columns"] > MANY
            which = "many rows" if many else "few rows"
            what = f"{notes['operation']} {notes['dtype']} {notes['direction']}, {which}"
            cases.setdefault((what, notes["columns"]), {})[notes["candidate"]] = m
    found: Curves = {}
    for (what, columns), measured in cases.items():
        lines = found.setdefault(what, {})
        ours = measured.pop(OURS, None)
        best = min(measured.values(), key=lambda m: m["median"], default=None)
        if "many" not in what:
            if ours is not None and best is not None:
                share = 100 * best["median"] / ours["median"]
                lines.setdefault(OURS, []).append((columns, share))
            continue
        for who, m in ((OURS, ours), (BEST, best)):
            if m is not None:
                lines.setdefault(who, []).append((columns, 100 * m["notes"]["share"]))
    return _sorted({what: lines for what, lines in found.items() if lines})


def product_curves(record: Mapping[str, Any]) -> Curves:
    """Ours over the faster cuBLAS, in percent, for each N and K over M."""
    cases: dict[tuple[str, int], dict[str, float]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        what = f"M x {notes['n']} x {notes['k']}"
        cases.setdefault((what, notes["m"]), {})[notes["candidate"]] = m["median"]
    found: Curves = {}
    for (what, rows), rates in cases.items():
        best = max(rate for who, rate in rates.items() if who != OURS)
        found.setdefault(what, {}).setdefault(OURS, []).append((rows, 100 * rates[OURS] / best))
    return _sorted(found)


def _sorted(found: Curves) -> Curves:
    return {what: {who: sorted(p) for who, p in lines.items()} for what, lines in found.items()}


BEST: Final = "best peer"
PICTURES: Final[dict[str, tuple[Callable[[Mapping[str, Any]], Curves], str, str, str]]] = {
    "row_sweep": (row_curves, "copy; of few rows the best peer", "percent", "row length"),
    "matmul_sweep": (product_curves, "faster cuBLAS", "percent of cuBLAS", "rows of A"),
}
"""Of each part: its curves, what is the line at 100, and the names of the axes."""


def draw(part: str, record: Mapping[str, Any]) -> Figure:
    """All panels of a part."""
    curves_of, base, ordinate, abscissa = PICTURES[part]
    panels = sorted(curves_of(record).items(), key=lambda item: _order(item[0]))
    across = min(COLUMNS, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(3.1 * across, 2.25 * down), layout="constrained")
    axes: Any = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    handles: dict[str, Any] = {}
    for i, axis in enumerate(axes.flat):
        if i >= len(panels):
            axis.set_visible(False)
            continue
        handles |= _panel(axis, *panels[i], base)
    for row in axes:
        row[0].set_ylabel(ordinate, fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel(abscissa, fontsize=8)
    axes[0][0].set_xscale("log", base=2)
    axes[0][0].set_ylim(0, None)
    name_lines(figure, handles, (OURS, base, BEST))
    return figure


def _order(title: str) -> tuple[str, int]:
    """Forward beside backward of the same operation; weights as they were measured."""
    for i, direction in enumerate(DIRECTIONS):
        if direction in title:
            return title.replace(direction, ""), i
    return "", 0


def _panel(
    axis: Any, title: str, lines: Mapping[str, Sequence[tuple[int, float]]], base: str
) -> dict[str, Any]:
    """One panel; its lines by name."""
    handles = {base: whole(axis)}
    for name, style in ((BEST, STYLES[COMPILE]), (OURS, STYLES[OURS])):
        if name in lines:
            (handles[name],) = axis.plot(*zip(*lines[name], strict=True), marker=".", **style)
    tidy(axis, title)
    return handles


def write(part: str, results: Path, folder: Path) -> Path:
    """The picture of a results file."""
    picture = folder / f"{part}.svg"
    with drawing():
        figure = draw(part, load(results))
        figure.savefig(picture, metadata=about(results, Path(__file__).name))
    return picture


def main() -> int:
    """Draw what has been measured."""
    for part in PICTURES:
        for path in sorted(RESULTS.glob(f"{part}-*.json"))[:1]:
            sys.stdout.write(f"{write(part, path, ROOT / 'docs')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
