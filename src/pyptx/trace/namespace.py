"""`ptx.inst`: an attribute path is a spelling, a call appends exactly that instruction.

Built from the ISA table alone: a path that the table lacks fails at the attribute, an operand that
the form does not take fails at the call, both at the user's line.
"""

from __future__ import annotations

from typing import Final

from pyptx.errors import IsaError
from pyptx.isa import check
from pyptx.isa.automaton import State
from pyptx.isa.table import opcodes
from pyptx.operands import Operand, Register, Vector
from pyptx.source import caller
from pyptx.trace.context import Trace, current
from pyptx.trace.values import Not, Reg, guard, raw

Result = Reg | list[Reg] | None


class Instructions:
    """The root of the namespace; its attributes are opcodes."""

    def __getattr__(self, name: str) -> Spelling:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            state = check.first(opcodes(), check.ptx_name(name))
        except IsaError as error:
            raise error.at(caller()) from None
        path = Spelling(state)
        self.__dict__[name] = path
        return path

    def __dir__(self) -> list[str]:
        return [check.python_name(opcode) for opcode in opcodes()]


class Spelling:
    """An opcode and modifiers so far. Call it with the operands, destination first or left out."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Spelling:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            state = check.step(self._state, check.ptx_name(name))
        except IsaError as error:
            raise error.at(caller()) from None
        path = Spelling(state)
        self.__dict__[name] = path
        return path

    def __call__(self, *operands: object, pred: Reg | Not | None = None) -> Result:
        """Append the instruction; the destination is returned, a new register if it was left out."""
        trace = current(f"ptx.inst.{self._state.spelling}")
        given = tuple(raw(trace, operand) for operand in operands)
        bound = trace.emit(self._state, given, guard(trace, pred))
        return _result(trace, operands, given, bound.results)

    def __dir__(self) -> list[str]:
        return [check.python_name(modifier) for modifier in self._state.next]

    def __repr__(self) -> str:
        return f"<{check.python_spelling(self._state.spelling)}>"


def _result(
    trace: Trace,
    operands: tuple[object, ...],
    given: tuple[object, ...],
    results: tuple[Register | Vector, ...],
) -> Result:
    """The destination as the user's own object where there is one."""
    if not results:
        return None
    first: Operand = results[0]
    for operand, value in zip(operands, given, strict=True):
        if value == first and isinstance(operand, Reg):
            return operand
        if isinstance(first, Vector) and value == first.elements:
            return [Reg(trace, e) for e in first.elements if isinstance(e, Register)]
    if isinstance(first, Vector):
        return [Reg(trace, e) for e in first.elements if isinstance(e, Register)]
    return Reg(trace, first)


inst: Final = Instructions()
