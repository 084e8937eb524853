"""`ptx.inst`: an attribute path is a spelling, a call appends exactly that instruction.

Built from the ISA table alone: a path that the table lacks fails at the attribute, an operand that
the form does not take fails at the call, both at the user's line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn, cast

from pyptx._isa import opcode_path
from pyptx._isa.automaton import State
from pyptx._isa.table import spellings
from pyptx._operands import Register, Vector
from pyptx._source import caller
from pyptx._trace.control.flow import named_label
from pyptx._trace.core import aliases
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.values import Not, Reg, guard, raw
from pyptx.errors import IsaError

_BRANCHES: Final = ("bra", "brx")


class Instructions:
    """The root of the namespace; its attributes are opcodes."""

    def __getattr__(self, name: str) -> Spelling:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            state = opcode_path.first(spellings(), opcode_path.ptx_name(name))
        except IsaError as error:
            raise error.at(caller()) from None
        path = Spelling(state)
        self.__dict__[name] = path
        return path

    def __getitem__(self, spelling: str) -> Spelling:
        """`ptx.inst["ld.global.v4.b32"]`: the spelling of the manual, for code that makes it.

        Raises IsaError as the attributes do: the nearest spelling, the right order, what is legal.
        """
        opcode, *modifiers = str(spelling).split(".")
        try:
            return Spelling(opcode_path.walk(spellings(), opcode, modifiers))
        except IsaError as error:
            raise error.at(caller()) from None

    def __repr__(self) -> str:
        return "ptx.inst"

    def __dir__(self) -> list[str]:
        return [opcode_path.python_name(opcode) for opcode in spellings()]


class Spelling:
    """An opcode and modifiers so far. Call it with the operands, destination first or left out."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Spelling | Misspelling:
        if name.startswith("__"):
            raise AttributeError(name)
        modifier = opcode_path.ptx_name(name)
        state = self._state.next.get(modifier)
        path = Misspelling(self._state, (modifier,)) if state is None else Spelling(state)
        self.__dict__[name] = path
        return path

    def __call__(self, *operands: object, pred: Reg | Not | None = None) -> Any:
        """Append the instruction; returns the destination, a new register where it was left out.

        Whether that is a Reg, a list of them or None is the form's, so no one type says it.
        """
        trace = current(self)
        if self._state.opcode in _BRANCHES:
            operands = tuple(_labels(trace, operand) for operand in operands)
        given = [
            operand.register
            if type(operand) is Reg and operand.trace is trace and operand.left is None  # most are
            else raw(trace, operand)
            for operand in operands
        ]
        bound = trace.emit(self._state, given, guard(trace, pred))
        if bound.made is not None:
            return _value(trace, bound.made)
        if not bound.form.outputs:
            return None
        written = operands[0]
        if isinstance(written, Reg):
            aliases.warn_of_result(written, repr(self), written.dtype)
        return written

    def __dir__(self) -> list[str]:
        return [opcode_path.python_name(modifier) for modifier in self._state.next]

    def __repr__(self) -> str:
        return opcode_path.python_spelling(self._state.spelling)


class Misspelling:
    """Modifiers that the table lacks after a spelling; what is wrong is said once all are there."""

    def __init__(self, state: State, modifiers: tuple[str, ...]) -> None:
        self._state = state
        self._modifiers = modifiers

    def __getattr__(self, name: str) -> Misspelling:
        if name.startswith("__"):
            raise AttributeError(name)
        return Misspelling(self._state, (*self._modifiers, opcode_path.ptx_name(name)))

    def __call__(self, *_: object, pred: object = None) -> NoReturn:
        """Raise IsaError: the nearest spelling, the right order, or what is legal."""
        del pred
        modifier, *later = self._modifiers
        try:
            opcode_path.step(self._state, modifier, tuple(later))
        except IsaError as error:
            raise error.at(caller()) from None
        raise AssertionError


def _labels(trace: Trace, operand: object) -> object:
    """The label of a name, the labels of a list of names; any other operand as it is."""
    if isinstance(operand, str):
        return named_label(trace, operand)
    if isinstance(operand, list | tuple):
        return [_labels(trace, each) for each in cast("Sequence[object]", operand)]
    return operand


def _value(trace: Trace, made: Register | Vector) -> Reg | list[Reg]:
    if isinstance(made, Register):
        return Reg(trace, made)
    return [Reg(trace, element) for element in made.elements if isinstance(element, Register)]


inst: Final = Instructions()
