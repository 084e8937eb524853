"""Checks of what an operation's formulas give, when a kernel is traced."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

from pyptx import LanguageError, Reg
from pyptx._source import SourceLocation, call_site
from pyptx.ops.rowwise.moments import Moments
from pyptx.ops.rowwise.operation import BLOCK, ELEMENT, ROW, Per, RowOp
from pyptx.ops.rowwise.statistics import Both, Largest, MaxSumExp, Statistic, Sums


def with_checks(op: RowOp) -> RowOp:
    """The operation, whose formulas raise LanguageError if they give what no kernel can take.

    That is known when a kernel is traced. The operation is equal to the one that is given.
    """
    found = copy.copy(op)
    kinds: dict[str, Per] = {"result": ELEMENT, "row_result": BLOCK if op.span == "block" else ROW}
    for formula, kind in kinds.items():
        count = len(op.written(kind))
        what = f"{many(count, 'output')} per {kind}"
        names = f" ({' '.join(o.name for o in op.written(kind))})" if count else ""
        takes = f"{type(op).__name__} has {what}{names}"
        _replace(found, formula, count, takes, registers=True)
    width = None if op.statistic is None else width_of(op.statistic)
    if width is not None:
        takes = f"a term of {op.statistic!r} has {many(width, 'number')}"
        _replace(found, "term", width, takes, registers=False)
    return found


def _replace(op: RowOp, formula: str, count: int, takes: str, *, registers: bool) -> None:
    """Have one of its formulas checked: how many numbers it gives, and whether they are those."""
    given: Callable[..., Any] = getattr(op, formula)
    name = f"{type(op).__name__}.{formula}"

    def checked(*arguments: Any) -> Any:
        found: object = given(*arguments)
        if not isinstance(found, (tuple, list)):
            what = "a register" if isinstance(found, Reg) else repr(found)
            _refuse(given, f"{name} gives {what} and must give a tuple", "return (y,)")
        listed = cast("Sequence[object]", found)
        if len(listed) != count:
            _refuse(given, f"{name} gives {many(len(listed), 'number')}, and {takes}")
        for each in listed if registers else ():
            if not isinstance(each, Reg):
                dtype = op.compute
                example = f"reg.scalar({dtype}, init=1.0)"
                _refuse(given, f"{name} gives {each!r}, which is no register", example)
        return listed

    vars(op)[formula] = checked


def _refuse(formula: Callable[..., Any], problem: str, example: str | None = None) -> NoReturn:
    """Raises LanguageError at the line of the call; a note says where the formula is."""
    notes = () if example is None else (("help", example),)
    code = getattr(formula, "__code__", None)
    if code is not None:
        place = SourceLocation(code.co_filename, code.co_firstlineno)
        notes = (("formula", place.quoted), *notes)
    raise LanguageError(problem, location=call_site(), notes=notes)


def width_of(statistic: Statistic) -> int | None:
    """Numbers of a term; None where only the statistic itself knows."""
    if isinstance(statistic, Sums):
        return 2 * statistic.count
    if isinstance(statistic, (Largest, MaxSumExp, Moments)):
        return 1
    if isinstance(statistic, Both):
        second = width_of(statistic.second)
        return None if second is None else statistic.width + second
    return None


def many(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}" + ("" if count == 1 else "s")
