"""Operands of PTX text: what stands between the commas, before the ISA has seen it.

Names are the caller's: a kernel that is traced, or the declarations of a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Final, TypeAlias

from pyptx._isa.given import Number, Raw, RawPair, RawScalar, TensorPosition
from pyptx._isa.special import SPECIAL
from pyptx._operands import (
    Address,
    Arguments,
    CallTargets,
    FabricHandle,
    FunctionName,
    Immediate,
    Label,
    Minus,
    Negated,
    Pair,
    Part,
    Prototype,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Targets,
)
from pyptx._text.expressions import MULTIPLICATIVE, Constant, Expressions, Integer
from pyptx._text.lexer import Cursor, ParseError, Token
from pyptx.types import b64

Resolved: TypeAlias = RawScalar | Label | FunctionName | Targets | Prototype | CallTargets
"""What a name can stand for."""

_WHOLE: Final = (Targets, Prototype, CallTargets, FunctionName)
_CONSTANT_MARKS: Final = frozenset(("-", "+", "~", "!", "("))
_ADDITIVE: Final = MULTIPLICATIVE - 1


def _names_register(token: Token) -> bool:
    """Whether a name behind a minus is a register's, and no constant."""
    return token.kind == "name" and token.text != "WARP_SZ"


class OperandReader(ABC):
    """Reads operands at a cursor."""

    wraps = False
    """Whether integers are converted to the type where they are used, as the manual has it."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.expressions = Expressions(cursor)

    @abstractmethod
    def resolve(self, token: Token) -> Resolved:
        """What a name stands for; what is no other name is a label."""

    @abstractmethod
    def undeclared(self, token: Token) -> ParseError:
        """The error about a name that stands for nothing that fits."""

    def operand(self) -> Raw:
        """One operand. Raises ParseError."""
        cursor = self.cursor
        if cursor.take("["):
            return self._address()
        if cursor.peek().text == "!" and cursor.peek(1).kind == "name":
            cursor.next()
            return Negated(self.register(cursor.name("a predicate")))
        if cursor.peek().text == "-" and _names_register(cursor.peek(1)):
            cursor.next()
            return Minus(self._selected(self.register(cursor.name("a register"))))
        token = cursor.peek()
        value = self._vector() if cursor.take("{") else self._any()
        if isinstance(value, Register):
            value = self._selected(value)
        return self._pair(token, value) if cursor.take("|") else value

    def _selected(self, register: Register) -> Register | Part:
        """A register, or the parts of it that are selected behind a dot."""
        if self.cursor.peek().kind != "dotted":
            return register
        return Part(register, self.cursor.next().text[1:])

    def _pair(self, token: Token, first: Raw) -> Pair | RawPair:
        second = self._any()
        if isinstance(second, Register | Sink):
            if isinstance(first, Register | Sink):
                return Pair(first, second)
            if isinstance(first, tuple):
                return RawPair(first, second)
        raise self.cursor.error(token, "both sides of | are destinations")

    def register(self, token: Token) -> Register:
        """The register of a name."""
        found = self.resolve(token)
        if isinstance(found, Register):
            return found
        raise self.not_a_register(token)

    @abstractmethod
    def not_a_register(self, token: Token) -> ParseError:
        """The error about a name that should be a register."""

    def arguments(self) -> Arguments:
        """What a call passes or gets back, behind its parenthesis."""
        elements: list[Register | Immediate] = []
        cursor = self.cursor
        while not cursor.take(")"):
            if elements:
                cursor.expect(",")
            token = cursor.peek()
            value = self._any()
            if isinstance(value, Symbol) and not value.offset:
                elements.append(value.of)  # pyright: ignore[reportArgumentType]
            elif isinstance(value, Register | Immediate):
                elements.append(value)
            elif isinstance(value, Number) and isinstance(value.value, int):
                elements.append(Immediate(value.value, b64))
            else:
                raise cursor.error(
                    token,
                    f"{token.text} cannot be an argument",
                    "a register, a constant or a variable in .param",
                )
        return Arguments(tuple(elements))

    def _vector(self) -> tuple[RawScalar, ...]:
        elements: list[RawScalar] = []
        while True:
            elements.append(self._scalar())
            if not self.cursor.take(","):
                break
        self.cursor.expect("}")
        return tuple(elements)

    def _address(self) -> Address | TensorPosition | FabricHandle:
        cursor = self.cursor
        token = cursor.peek()
        address = self._base()
        more: list[RawScalar | tuple[RawScalar, ...]] = []
        while cursor.take(","):
            more.append(self._vector() if cursor.take("{") else self._scalar())
        cursor.expect("]")
        if not more:
            unified = cursor.peek().text == ".unified"
            return replace(address, unified=bool(cursor.next())) if unified else address
        if isinstance(more[-1], tuple):
            return TensorPosition(address, more[-1], tuple(more[:-1]))
        offsets = tuple(each for each in more if isinstance(each, Register))
        if not isinstance(address.base, Register) or address.offset or len(offsets) < len(more):
            raise cursor.error(
                token,
                "this is no address",
                "[map, {coordinates}], or [endpoint, offset] in registers",
            )
        return FabricHandle(address.base, offsets)

    def _base(self) -> Address:
        token = self.cursor.peek()
        base = self._scalar()
        offset = self._offset()
        if isinstance(base, Register):
            return Address(base, offset)
        if isinstance(base, Symbol):
            return Address(base.of, base.offset + offset)
        if isinstance(base, Number) and isinstance(base.value, int):
            return Address(Immediate(base.value, b64), offset)
        raise self.cursor.error(
            token, f"{token.text} cannot be an address", "a register, a variable, a number"
        )

    def _offset(self) -> int:
        """What is added to an address: `+4`, `+-4`, `+2*4` or nothing."""
        offset = 0
        while self.cursor.peek().text in ("+", "-"):
            mark = self.cursor.next()
            token = self.cursor.peek()
            term = self.expressions.constant(_ADDITIVE)
            if not isinstance(term, Integer):
                raise self.cursor.out_of_place(token, "an integer")
            offset += term.value if mark.text == "+" else -term.value
        return offset

    def _scalar(self) -> RawScalar:
        """A scalar; a name that stands for nothing yet is an error."""
        token = self.cursor.peek()
        value = self._any()
        if isinstance(value, Label):
            raise self.undeclared(token)
        if isinstance(value, _WHOLE):
            raise self.cursor.error(token, f"{token.text} cannot stand here", "an operand")
        return value

    def _any(self) -> Resolved:
        token = self.cursor.peek()
        if token.kind in ("float", "number") or token.text in _CONSTANT_MARKS:
            return self._constant(self.expressions.constant())
        if token.text == "WARP_SZ":
            return self._constant(self.expressions.constant())
        self.cursor.name("an operand")
        if token.text == "_":
            return Sink()
        found = self.resolve(token)
        return Symbol(found.of, self._offset()) if isinstance(found, Symbol) else found

    def _constant(self, constant: Constant) -> Number | Immediate:
        if isinstance(constant, Immediate):
            return constant
        return Number(constant.value, wraps=self.wraps)

    def special(self, token: Token, expected: str) -> SpecialRegister:
        """The special register of a name that begins with a percent sign. Raises ParseError."""
        name = token.text[1:]
        if self.cursor.peek().kind == "dotted" and name not in SPECIAL:
            name += self.cursor.next().text
        entry = SPECIAL.get(name)
        if entry is None:
            problem = f"%{name} is not declared and no special register"
            raise self.cursor.error(token, problem, expected)
        return SpecialRegister(name, entry.dtype)
