"""Asks ptxas about many instructions at once, and reads why it refuses each.

One kernel holds thousands of statements, and ptxas says of every wrong one what is wrong with it:
there is no limit to how many it reports (50,000 in one module were seen, 20 microseconds each).
Two things end its reading: a line that is no grammar, and a line that it crashes at. What stands
behind such a line is asked again. That it says nothing of a statement is no proof that it takes it:
`isa_oracle` asks for that.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, TypeAlias

import isa_oracle as oracle

from pyptx._target import PtxVersion, Target
from pyptx.types import DTYPES

Refusal: TypeAlias = tuple[str, ...]
"""What the assembler says of a statement; nothing where it has no word against it."""

CRASHED: Final = ("the assembler crashed",)

_REGISTERS: Final = 300
"""So many registers of each type that statements may name."""
_AT_ONCE: Final = 20_000
_ERROR: Final = re.compile(r"line (\d+); (?:error|fatal)\s*: (.*)")
_GRAMMAR: Final = "Parsing error"


def refusals(
    statements: Sequence[str], version: PtxVersion, target: Target
) -> tuple[list[Refusal], list[int]]:
    """What the assembler says of each statement, which stands on a line of its own.

    Also the numbers of those that it crashed at among the others, but not alone.
    """
    found: list[Refusal] = [()] * len(statements)
    uneasy: list[int] = []
    start, size = 0, _AT_ONCE
    while start < len(statements):
        part = statements[start : start + size]
        result, errors = _ask(part, version, target)
        for line, said in errors.items():
            found[start + line] = tuple(said)
        last = max(errors, default=-1)
        if result >= 0:
            start += last + 1 if broken(tuple(errors.get(last, ()))) else len(part)
            size = _AT_ONCE
        elif len(part) == 1:
            found[start] = CRASHED
            uneasy.pop()
            start, size = start + 1, _AT_ONCE
        else:  # it crashed somewhere behind the last line that it spoke of, mostly at the next
            start, size = start + last + 1, 1 if last >= 0 else max(1, size // 8)
            if size == 1 and start < len(statements):
                uneasy.append(start)
    return found, uneasy


def broken(said: Refusal) -> bool:
    """Whether the assembler read nothing of what stands behind a statement."""
    return said == CRASHED or any(each.startswith(_GRAMMAR) for each in said)


def _ask(
    statements: Sequence[str], version: PtxVersion, target: Target
) -> tuple[int, dict[int, list[str]]]:
    """The assembler's exit status, and what it says by the statement's number."""
    storages = sorted({dtype.storage for dtype in DTYPES.values()})
    registers = [f".reg .{storage} %{storage}_<{_REGISTERS}>;" for storage in storages]
    opening = [f".entry {oracle.KERNEL} {{", oracle.LOCALS, *registers, oracle.TARGETS]
    head = oracle.module_head(version, target) + "\n".join(opening) + "\n"
    result = oracle.run("\n".join((head + statements[0], *statements[1:], oracle.END)), target)
    before = head.count("\n") + 1
    errors: defaultdict[int, list[str]] = defaultdict(list)
    for number, message in _ERROR.findall(result.stderr):
        if 0 <= int(number) - before < len(statements):
            errors[int(number) - before].append(message)
    return result.returncode, dict(errors)
