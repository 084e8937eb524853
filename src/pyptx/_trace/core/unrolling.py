"""Python loops that append very many instructions: legal, and seldom meant."""

from __future__ import annotations

import ast
import linecache
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Final

from pyptx._ir import Instruction, Statement
from pyptx._source import SourceLocation
from pyptx.errors import LanguageError, LanguageWarning

LIMIT: Final = 20_000
"""Instructions that one line may append."""

_REPORTED_BY: Final = "pyptx"


def warn(body: Sequence[Statement]) -> None:
    """Warn where one line has appended more than `LIMIT` instructions, at its loop."""
    if len(body) <= LIMIT:
        return
    places = (s.location for s in body if isinstance(s, Instruction))
    counts = Counter((p.file, p.line) for p in places)
    most = max(counts, key=counts.__getitem__, default=("", 0))
    count = counts[most]
    if count <= LIMIT:
        return
    line = SourceLocation(*most)
    where = _loop(line) or line
    message = LanguageError(  # warnings put the line before it
        f"Python unrolls this: {count} instructions come from one line",
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
