"""`ptx.raw`: statements as PTX text, checked like any other."""

from __future__ import annotations

from collections.abc import Mapping

from pyptx._ir import Guard
from pyptx._isa import opcode_path
from pyptx._isa.table import spellings
from pyptx._operands import Parameter, Variable
from pyptx._source import SourceLocation, caller
from pyptx._text.lexer import ParseError
from pyptx._text.parser import Named, ParsedInstruction, ParsedLabel, StatementParser
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.values import Reg, own
from pyptx._trace.memory.mbarrier import Mbarriers
from pyptx._trace.memory.smem import SharedTile
from pyptx._trace.memory.variables import ModuleVariable, used
from pyptx.errors import IsaError, LanguageError
from pyptx.types import pred


def raw(text: str, **names: Reg | SharedTile | Mbarriers | Variable | ModuleVariable) -> None:
    """Append PTX statements: instructions, labels, `.reg` declarations, `{ }` scopes.

    Registers and shared memory of the kernel are named by keyword:
    `ptx.raw("add.u32 x, x, 1;", x=x)`. Parameters and named variables go by their names. Declared
    registers and labels belong to this text. One instruction for each that is written. Raises
    ParseError with line and column, and the errors of `ptx.inst`.
    """
    trace = current("ptx.raw")
    where = caller()
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LanguageError(f"ptx.raw takes text, not {text!r}", location=where)
    try:
        parser = StatementParser(text, _names(trace, names), trace.register, trace.label)
        for statement in parser.statements():
            if isinstance(statement, ParsedLabel):
                trace.place(statement.label)
            else:
                _emit(trace, statement, where, parser)
    except ParseError as error:
        if "<register " not in text and "<%" not in text:
            raise error.at(where) from None
        help_ = ("help", 'name registers by keyword: ptx.raw("add.u32 x, x, i;", x=x, i=i)')
        raise LanguageError(
            "the text has the repr of a register, which PTX has no name for",
            location=where,
            notes=(help_,),
        ) from None


def _names(trace: Trace, given: Mapping[str, object]) -> dict[str, Named]:
    names: dict[str, Named] = {p.name: p for p in trace.parameters}
    names |= {v.name: v for v in trace.variables if v.name}
    for name, value in given.items():
        names[name] = _named(trace, name, value)
    return names


def _named(trace: Trace, name: str, value: object) -> Named:
    if isinstance(value, Reg):
        return own(trace, value)
    if isinstance(value, SharedTile | Mbarriers):
        return value.variable
    if isinstance(value, Variable | Parameter):
        return value
    if isinstance(value, ModuleVariable):
        return used(trace, value)
    raise LanguageError(
        f"{name}={value!r}: ptx.raw names registers and shared memory", location=caller()
    )


def _emit(
    trace: Trace, statement: ParsedInstruction, where: SourceLocation, parser: StatementParser
) -> None:
    guard = _guard(statement, where)
    try:
        state = opcode_path.walk(spellings(), statement.opcode, statement.modifiers)
        trace.emit(state, statement.operands, guard, location=where, fresh=False)
    except IsaError as error:
        if unknown := parser.unknown_name(statement):
            raise unknown from None
        notes = ("in the text", f"line {statement.line}"), *error.notes
        raise IsaError(error.problem, location=where, notes=notes) from None


def _guard(statement: ParsedInstruction, where: SourceLocation) -> Guard | None:
    if statement.guard is None:
        return None
    register, negated = statement.guard
    if register.dtype is not pred:
        raise LanguageError(
            f"line {statement.line}: the guard is a .{register.dtype} register, not a predicate",
            location=where,
        )
    return Guard(register, negated)
