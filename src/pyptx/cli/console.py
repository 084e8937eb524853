"""Where the command line prints, and how a table looks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

OUT: Final = Console(highlight=False, soft_wrap=False, emoji=False)
ERRORS: Final = Console(file=sys.stderr, highlight=False, emoji=False)


def say(text: str = "") -> None:
    """A line or lines as they are, never wrapped."""
    OUT.print(Text(text), soft_wrap=True)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table. A column whose name ends with `>` is aligned to the right."""
    made = Table(title=title or None, box=None, pad_edge=False, show_header=any(columns))
    made.title_justify, made.title_style = "left", "bold"
    for name in columns:
        right = name.endswith(">")
        made.add_column(name.rstrip(">"), justify="right" if right else "left", overflow="fold")
    for row in rows:
        made.add_row(*map(Text, row))
    OUT.print(made)
    OUT.print()


def size(count: int) -> str:
    """Bytes for a person: `8192` is `8 KiB`."""
    for unit, step in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= step:
            return f"{count / step:.4g} {unit}"
    return f"{count} bytes"
