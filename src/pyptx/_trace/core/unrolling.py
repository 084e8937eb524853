"""Python loops that append very many instructions: legal, and seldom meant."""

from __future__ import annotations

import ast
import linecache
import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Final

from pyptx._ir import Instruction, Statement
from pyptx._source import SourceLocation
from pyptx.errors import LanguageError, LanguageWarning

LIMIT: Final = 20_000
"""Instructions that one line may append."""

_REPORTED_BY: Final = "pyptx"
_LEAST: Final = 256
"""Statements between two counts, so that counting costs nothing for each of them."""


class Unrolling:
    """Counts the instructions of each line while a body grows, and warns once, at the loop.

    `due` is the length of the body at which `count` is to be called again: no line can have
    appended more than `LIMIT` instructions much before.
    """

    def __init__(self) -> None:
        self.due = LIMIT + 1
        self._counted = 0
        self._lines: Counter[SourceLocation] = Counter()
        self._warned = False

    def count(self, body: Sequence[Statement]) -> None:
        """Count what was appended since the last call, and warn where a line has too many."""
        if self._warned or len(body) <= LIMIT:
            return
        new = islice(body, self._counted, None)
        self._lines.update(s.location for s in new if isinstance(s, Instruction))
        self._counted = len(body)
        ((line, most),) = self._lines.most_common(1) or ((SourceLocation("", 0), 0),)
        if most > LIMIT:
            self._warned = True
            _warn(line)
        self.due = len(body) + max(LIMIT + 1 - most, _LEAST)


def _warn(line: SourceLocation) -> None:
    where = _loop(line) or line
    message = LanguageError(  # warnings put the line before it
        f"Python unrolls this: more than {LIMIT} instructions come from one line",
        notes=(
            ("from", f"{line}: {line.text}"),
            ("help", "for i in ptx.range_(n): ...   is a loop of the kernel"),
        ),
    )
    warnings.warn_explicit(
        str(message), LanguageWarning, where.file, where.line, module=_REPORTED_BY
    )


def _loop(line: SourceLocation) -> SourceLocation | None:
    """The innermost loop of Python around a line, None where its source has none."""
    try:
        tree = ast.parse("".join(linecache.getlines(line.file)))
    except SyntaxError:
        return None
    loops = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, (ast.For, ast.While))
        and node.lineno <= line.line <= (node.end_lineno or 0)
        and not (isinstance(node, ast.For) and "range_(" in ast.unparse(node.iter))
    ]
    return SourceLocation(line.file, max(loops)) if loops else None
