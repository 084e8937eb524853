"""Constant expressions: 64-bit integers with a sign or without one, and floats.

Source: PTX ISA, "Constants", "Constant Expressions" and "Summary of Constant Expression Evaluation
Rules".
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pyptx._operands import Immediate
from pyptx._text.lexer import Cursor, Token
from pyptx.types import f32, f64

_BITS: Final = 1 << 64
_DEEPEST: Final = 64
_DIGITS: Final = 4000  # Python converts no more in decimal


@dataclass(frozen=True, slots=True)
class Integer:
    """A 64-bit integer constant, `.s64` or `.u64`."""

    value: int
    signed: bool = True

    @staticmethod
    def of(value: int, *, signed: bool) -> Integer:
        """The value in 64 bits."""
        value %= _BITS
        return Integer(value - _BITS if signed and value >> 63 else value, signed)


@dataclass(frozen=True, slots=True)
class Real:
    """A double-precision constant."""

    value: float


Constant = Integer | Real | Immediate
"""Immediates are what `0f` and `0d` spell: bits that no operator applies to."""

_UNARY: Final = ("+", "-", "!", "~")
_PRECEDENCE: Final[dict[str, int]] = {
    mark: level
    for level, marks in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %"), 1
    )
    for mark in marks.split()
}
MULTIPLICATIVE: Final = _PRECEDENCE["*"]
"""The level of terms: what may be added to an address without parentheses."""

_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: Final[dict[str, Callable[[int, int], int]]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "&": int.__and__,
    "|": int.__or__,
    "^": int.__xor__,
}


class Expressions:
    """Reads constant expressions from a cursor."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._depth = 0

    def integer(self, what: str = "an integer") -> int:
        """The value of an integer expression. Raises ParseError."""
        token = self._cursor.peek()
        found = self.constant()
        if isinstance(found, Integer):
            return found.value
        raise self._cursor.out_of_place(token, what)

    def plain(self, what: str = "an integer") -> int:
        """An integer without operators, where `<` and `>` are brackets."""
        token = self._cursor.peek()
        if token.kind != "number" and token.text != "(":
            raise self._cursor.out_of_place(token, what)
        found = self._primary()
        if isinstance(found, Integer):
            return found.value
        raise self._cursor.out_of_place(token, what)

    def constant(self, level: int = 0) -> Constant:
        """A constant expression whose operators bind tighter than `level`. Raises ParseError."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._cursor.error(self._cursor.peek(), "the expression is nested too deeply")
        value = self._unary()
        while _PRECEDENCE.get(self._cursor.peek().text, 0) > level:
            mark = self._cursor.next()
            right = self.constant(_PRECEDENCE[mark.text])
            value = self._binary(mark, value, right)
        if level == 0 and self._cursor.take("?"):
            value = self._choice(value)
        self._depth -= 1
        return value

    def _choice(self, condition: Constant) -> Constant:
        mark = self._cursor.peek()
        yes = self.constant()
        self._cursor.expect(":")
        no = self.constant()
        return yes if self._truth(mark, condition) else no

    def _unary(self) -> Constant:
        mark = self._cursor.peek()
        if mark.kind != "mark" or mark.text not in _UNARY:
            return self._primary()
        self._cursor.next()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._cursor.error(mark, "the expression is nested too deeply")
        value = self._unary()
        self._depth -= 1
        return self._applied(mark, value)

    def _applied(self, mark: Token, value: Constant) -> Constant:
        if isinstance(value, Real) and mark.text in ("+", "-"):
            return Real(-value.value if mark.text == "-" else value.value)
        if isinstance(value, Immediate):
            raise self._cursor.error(mark, "a hexadecimal float has no sign")
        if isinstance(value, Real):
            raise self._cursor.error(mark, f"{mark.text} is for integers")
        if mark.text == "-":
            return Integer.of(-value.value, signed=value.signed)
        if mark.text == "!":
            return Integer(int(not value.value))
        return Integer.of(~value.value, signed=False) if mark.text == "~" else value

    def _primary(self) -> Constant:
        token = self._cursor.next()
        if token.kind == "float":
            return self._float(token)
        if token.kind == "number":
            return self._literal(token)
        if token.text == "WARP_SZ":
            return Integer(32)
        if token.text != "(" or token.kind != "mark":
            raise self._cursor.out_of_place(token, "an integer")
        if self._cursor.peek().kind == "dotted":
            return self._cast()
        value = self.constant()
        self._cursor.expect(")")
        return value

    def _cast(self) -> Constant:
        kind = self._cursor.next()
        if kind.text not in (".s64", ".u64"):
            raise self._cursor.out_of_place(kind, ".s64 .u64")
        self._cursor.expect(")")
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._cursor.error(kind, "the expression is nested too deeply")
        value = self._unary()
        self._depth -= 1
        if isinstance(value, Immediate):
            value = Real(float_value(value))
        if isinstance(value, Real) and not math.isfinite(value.value):
            raise self._cursor.error(kind, f"{value.value} is no integer")
        return Integer.of(int(value.value), signed=kind.text == ".s64")

    def _float(self, token: Token) -> Constant:
        head, digits = token.text[:2].lower(), token.text[2:]
        if head in ("0f", "0d"):
            return Immediate(int(digits, 16), f32 if head == "0f" else f64)
        value = float(token.text)
        if math.isinf(value):
            raise self._cursor.error(token, f"{token.text} is out of range for .f64")
        return Real(value)

    def _literal(self, token: Token) -> Integer:
        text = token.text.rstrip("U")
        octal = len(text) > 1 and text[0] == "0" and text.isdigit()
        if octal and not set(text) <= set("01234567"):
            raise self._cursor.error(token, f"{token.text!r} is no octal number")
        value = _BITS if len(text) > _DIGITS else int(text, 8) if octal else int(text, 0)
        if value >= _BITS:
            raise self._cursor.error(token, "the constant does not fit 64 bits")
        return Integer(value, signed=value < _BITS // 2 and not token.text.endswith("U"))

    def _truth(self, mark: Token, value: Constant) -> bool:
        if isinstance(value, Integer):
            return value.value != 0
        raise self._cursor.error(mark, f"{mark.text} is for integers")

    def _binary(self, mark: Token, left: Constant, right: Constant) -> Constant:
        if isinstance(left, Immediate) or isinstance(right, Immediate):
            raise self._cursor.error(mark, f"{mark.text} is not for hexadecimal floats")
        if mark.text in ("&&", "||"):
            truths = self._truth(mark, left), self._truth(mark, right)
            return Integer(int(all(truths) if mark.text == "&&" else any(truths)))
        if isinstance(left, Integer) and isinstance(right, Integer):
            return self._integers(mark, left, right)
        return self._reals(mark, float(left.value), float(right.value))

    def _reals(self, mark: Token, left: float, right: float) -> Constant:
        if mark.text in _COMPARISONS:
            return Integer(int(_COMPARISONS[mark.text](left, right)))
        if mark.text in ("+", "-"):
            return Real(left + right if mark.text == "+" else left - right)
        if mark.text == "*":
            return Real(left * right)
        if mark.text == "/" and right:
            return Real(left / right)
        problem = "division by zero" if mark.text == "/" else f"{mark.text} is for integers"
        raise self._cursor.error(mark, problem)

    def _integers(self, mark: Token, left: Integer, right: Integer) -> Integer:
        if mark.text in ("<<", ">>"):
            return _shifted(mark.text, left, right)
        signed = left.signed and right.signed and mark.text != "%"
        a, b = (Integer.of(v.value, signed=signed).value for v in (left, right))
        if mark.text in _COMPARISONS:
            return Integer(int(_COMPARISONS[mark.text](a, b)))
        if mark.text in _ARITHMETIC:
            return Integer.of(_ARITHMETIC[mark.text](a, b), signed=signed)
        if b == 0:
            raise self._cursor.error(mark, "division by zero")
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        value = quotient if mark.text == "/" else a - quotient * b
        return Integer.of(value, signed=signed)


def _shifted(mark: str, left: Integer, right: Integer) -> Integer:
    """A shift: the type is that of the left operand; the distance has no sign."""
    distance = min(right.value % _BITS, 64)
    value = left.value << distance if mark == "<<" else left.value >> distance
    return Integer.of(value, signed=left.signed)


def float_value(immediate: Immediate) -> float:
    """The Python float of an f32 or f64 constant."""
    code = ("<f", "<I") if immediate.dtype is f32 else ("<d", "<Q")
    return float(struct.unpack(code[0], struct.pack(code[1], immediate.bits))[0])
