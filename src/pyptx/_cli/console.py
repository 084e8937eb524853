"""Where the command line prints, and how a table looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Where nobody's window sets a width, tables may be wide.
_WIDTH: Final = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120

OUT: Final = Console(highlight=False, emoji=False, width=_WIDTH)
ERRORS: Final = Console(stderr=True, highlight=False, emoji=False)


def say(text: str = "") -> None:
    """A line or lines as they are, never wrapped."""
    OUT.print(Text(text), soft_wrap=True)


def show_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], to: Console = OUT
) -> None:
    """Print a table. A column ending with `>` is aligned right, one with `…` gives way to them."""
    cells = [list(row) for row in rows]
    for index in (i for i, name in enumerate(columns) if name.endswith("…")):
        shorten(index, [[name.rstrip(">…") for name in columns], *cells], cells)
    made = Table(title=title or None, box=None, pad_edge=False, show_header=any(columns))
    made.title_justify, made.title_style = "left", "bold"
    for name in columns:
        right = name.endswith(">")
        made.add_column(name.rstrip(">…"), justify="right" if right else "left", overflow="fold")
    for row in cells:
        made.add_row(*map(Text, row))
    to.print(made)
    to.print()


def shorten(index: int, known: Sequence[Sequence[str]], cells: list[list[str]]) -> None:
    """Cut the cells of a column to what the others, two spaces apart, leave of the width."""
    widths = [max(map(len, column)) for column in zip(*known, strict=True)]
    room = max(OUT.width - sum(widths) + widths[index] - 2 * (len(widths) - 1), 10)
    for row in cells:
        row[index] = row[index] if len(row[index]) <= room else row[index][: room - 3] + "..."


def size(count: int) -> str:
    """Bytes for a person: `8192` is `8 KiB`."""
    for unit, step in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= step:
            return f"{count / step:.4g} {unit}"
    return f"{count} bytes"
