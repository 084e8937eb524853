"""Draws docs/norm_sweep.svg and .png from benchmarks/results/norm_sweep-*.json, and nothing else.

Share of the copy's speed over the row length, a panel for each dtype, direction and size: lines
through the powers of two, dots for the odd lengths. The same file gives the same picture; the SVG's
description holds the file's name and SHA-256.
"""

# Matplotlib's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure
from measure import RESULTS, ROOT, load
from norm_cases import (
    COMPILE,
    COPY,
    DIRECTIONS,
    NATIVE,
    ODD_COLUMNS,
    OURS,
    SWEEP_DTYPES,
    SWEEP_VALUES,
    TRITON,
    Shape,
    nominal_values,
    percent,
)

PICTURE: Final = ROOT / "docs" / "norm_sweep.svg"
STYLES: Final[dict[str, dict[str, Any]]] = {
    NATIVE: {"color": "#9a9a9a", "linewidth": 1.1},
    TRITON: {"color": "#3f8fd2", "linewidth": 1.1},
    COMPILE: {"color": "#d97b29", "linewidth": 1.1},
    OURS: {"color": "#1c7a3c", "linewidth": 2.2},
}
"""How each candidate is drawn, the last one on top."""
TOP: Final = 125
"""Percent at the panels' upper edge: small tensors beat a copy now and then."""

Point = tuple[int, float]
Panel = tuple[str, str, int]
"""Dtype, direction, values."""


def curves(record: Mapping[str, Any]) -> dict[Panel, dict[str, list[Point]]]:
    """For every panel the candidates' points, columns and percent, by columns."""
    found: dict[Panel, dict[str, list[Point]]] = {}
    for m in record["measurements"]:
        notes = m["notes"]
        if notes["candidate"] == COPY:
            continue
        shape = Shape(notes["rows"], notes["columns"], notes["dtype"])
        panel = (shape.dtype, notes["direction"], nominal_values(shape))
        points = found.setdefault(panel, {}).setdefault(notes["candidate"], [])
        points.append((shape.columns, percent(notes, m["median"])))
    return {panel: {n: sorted(p) for n, p in lines.items()} for panel, lines in found.items()}


def draw(record: Mapping[str, Any]) -> Figure:
    """All panels, of every dtype, direction and size of the sweep."""
    rows = [(dtype, direction) for dtype in SWEEP_DTYPES for direction in DIRECTIONS]
    sizes = sorted(SWEEP_VALUES)
    figure = Figure(figsize=(3.1 * len(sizes), 2.25 * len(rows)), layout="constrained")
    axes: Any = figure.subplots(len(rows), len(sizes), sharex=True, sharey=True)
    panels = curves(record)
    handles: dict[str, Any] = {}
    for row, (dtype, direction) in enumerate(rows):
        for column, size in enumerate(sizes):
            lines = panels.get((dtype, direction, size), {})
            handles |= _panel(axes[row][column], lines, f"{dtype} {direction}, {size >> 20}M")
        axes[row][0].set_ylabel("percent of copy", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("row length; dots: odd ones", fontsize=8)
    axes[0][0].set_xscale("log", base=2)
    axes[0][0].set_xticks([2**k for k in range(6, 21, 2)])
    axes[0][0].set_xticklabels(["64", "256", "1K", "4K", "16K", "64K", "256K", "1M"])
    axes[0][0].set_ylim(0, TOP)
    name_lines(figure, handles, (OURS, COPY, COMPILE, TRITON, NATIVE))
    return figure


def _panel(axis: Any, lines: Mapping[str, Iterable[Point]], title: str) -> dict[str, Any]:
    """One panel with the copy as the line at 100; the lines by name."""
    handles = {COPY: whole(axis)}
    for name, style in STYLES.items():
        points = dict(lines.get(name, ()))
        if points:
            smooth = {n: share for n, share in points.items() if n not in ODD_COLUMNS}
            odd = {n: share for n, share in points.items() if n in ODD_COLUMNS}
            (handles[name],) = axis.plot(list(smooth), list(smooth.values()), **style)
            axis.plot(list(odd), list(odd.values()), linestyle="", marker="o",
                      markersize=1.5 + style["linewidth"], color=style["color"])  # fmt: skip
    tidy(axis, title)
    return handles


def digest(path: Path) -> str:
    """What a picture says of the file that it was drawn from."""
    return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


@contextmanager
def drawing() -> Generator[None]:
    """Fixed styles, so that the same numbers give the same picture."""
    fixed: dict[Any, Any] = {
        "svg.hashsalt": "pyptx",
        "svg.fonttype": "path",
        "font.family": "DejaVu Sans",
    }
    with mpl.rc_context({**mpl.rcParamsDefault, **fixed, "backend": "agg"}):
        yield


def about(results: Path, creator: str) -> dict[str, str | None]:
    """What an SVG says of itself."""
    return {"Date": None, "Creator": f"benchmarks/{creator}", "Description": digest(results)}


def tidy(axis: Any, title: str) -> None:
    """A panel's title, ticks and grid."""
    axis.set_title(title, fontsize=9)
    axis.tick_params(labelsize=7)
    axis.grid(visible=True, color="#e4e4e4", linewidth=0.5)


def whole(axis: Any) -> Any:
    """The line at 100 percent."""
    return axis.axhline(100, color="black", linewidth=0.9, linestyle=(0, (4, 2)))


def name_lines(figure: Figure, handles: Mapping[str, Any], order: Iterable[str]) -> None:
    """The legend above all panels, of the lines that there are."""
    shown = [name for name in order if name in handles]
    figure.legend([handles[n] for n in shown], shown, loc="outside upper center", ncols=len(shown),
                  frameon=False, fontsize=9)  # fmt: skip


def write(results: Path, picture: Path) -> tuple[Path, Path]:
    """The picture of a results file, as SVG and as PNG beside it."""
    raster = picture.with_suffix(".png")
    with drawing():
        figure = draw(load(results))
        figure.savefig(picture, metadata=about(results, Path(__file__).name))
        figure.savefig(raster, dpi=130, metadata={"Software": None})
    return picture, raster


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--out", type=Path, default=PICTURE)
    given = parser.parse_args()
    files = sorted(given.results.glob("norm_sweep-*.json"))
    if len(files) != 1:
        sys.stderr.write(f"{given.results} has {len(files)} files norm_sweep-*.json, not one; "
                         "`make bench` measures it\n")  # fmt: skip
        return 1
    sys.stdout.write("\n".join(str(path) for path in write(files[0], given.out)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
