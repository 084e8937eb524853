"""`ptx.raw`: statements as PTX text, checked like any other."""

from __future__ import annotations

from pyptx.errors import IsaError, LanguageError
from pyptx.ir import Guard
from pyptx.isa import check
from pyptx.isa.table import opcodes
from pyptx.operands import Parameter, Variable
from pyptx.source import SourceLocation, caller
from pyptx.text.parser import Named, ParsedInstruction, ParsedLabel, ParseError, StatementParser
from pyptx.trace.context import Trace, current
from pyptx.trace.smem import SharedTile
from pyptx.trace.values import Reg, own
from pyptx.types import pred


def raw(text: str, **names: Reg | SharedTile) -> None:
    """Append PTX statements: instructions, labels, `.reg` declarations, `{ }` scopes.

    Registers and shared memory of the kernel are named by keyword:
    `ptx.raw("add.u32 x, x, 1;", x=x)`. Parameters and named variables go by their names. Declared
    registers and labels belong to this text. One instruction for each that is written. Raises
    ParseError with line and column, and the errors of `ptx.inst`.
    """
    trace = current("ptx.raw")
    where = caller()
    parser = StatementParser(text, _names(trace, names), trace.register, trace.label)
    try:
        for statement in parser.statements():
            if isinstance(statement, ParsedLabel):
                trace.place(statement.label)
            else:
                _emit(trace, statement, where)
    except ParseError as error:
        raise error.at(where) from None


def _names(trace: Trace, given: dict[str, Reg | SharedTile]) -> dict[str, Named]:
    names: dict[str, Named] = {p.name: p for p in trace.parameters}
    names |= {v.name: v for v in trace.variables if v.name}
    for name, value in given.items():
        names[name] = _named(trace, name, value)
    return names


def _named(trace: Trace, name: str, value: object) -> Named:
    if isinstance(value, Reg):
        return own(trace, value)
    if isinstance(value, SharedTile):
        return value.variable
    if isinstance(value, Variable | Parameter):
        return value
    raise LanguageError(
        f"{name}={value!r}: ptx.raw names registers and shared memory", location=caller()
    )


def _emit(trace: Trace, statement: ParsedInstruction, where: SourceLocation) -> None:
    try:
        state = check.walk(opcodes(), statement.opcode, statement.modifiers)
    except IsaError as error:
        raise error.at(where) from None
    guard = None
    if statement.guard is not None:
        register, negated = statement.guard
        if register.dtype is not pred:
            raise LanguageError(
                f"line {statement.line}: the guard is a .{register.dtype} register", location=where
            )
        guard = Guard(register, negated)
    trace.emit(state, statement.operands, guard, location=where, fresh=False)
