"""Declarations of PTX text: parameters, and variables with their initial values.

Source: PTX ISA, "State Spaces, Types, and Variables".
"""

from __future__ import annotations

import math
import struct
from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from pyptx._operands import Immediate, Initial, Parameter, Pointer, Variable
from pyptx._text.expressions import Constant, Expressions, Integer, Real, float_value
from pyptx._text.lexer import Cursor, ParseError, Token
from pyptx._text.parser import type_named
from pyptx.types import DType, Kind, u64

SPACES: Final = ("global", "const", "shared", "local", "param")
LINKAGES: Final = ("visible", "extern", "weak", "common")
OPAQUE: Final = ("texref", "samplerref", "surfref")
_VECTORS: Final = {".v2": 2, ".v4": 4, ".v8": 8}
_LARGEST: Final = 1 << 40
_ALIGNMENTS: Final = tuple(1 << n for n in range(24))


def alignment(cursor: Cursor, expressions: Expressions) -> int:
    """`.align 16` if it comes next, otherwise 0. Raises ParseError."""
    if cursor.peek().text != ".align":
        return 0
    cursor.next()
    token = cursor.peek()
    value = expressions.integer()
    if value not in _ALIGNMENTS:
        raise cursor.error(token, f"an alignment of {value} bytes", "a power of two")
    return value


def _opaque(cursor: Cursor) -> str:
    name = cursor.peek().text.removeprefix(".")
    if cursor.peek().kind != "dotted" or name not in OPAQUE:
        return ""
    cursor.next()
    return name


# ---- parameters ----------------------------------------------------------------------------------


def parameter(
    cursor: Cursor, expressions: Expressions, index: int, *, returned: bool
) -> tuple[Token, Parameter]:
    """One parameter behind its `.param`, and where its name stands. Raises ParseError."""
    align = alignment(cursor, expressions)
    opaque = _opaque(cursor)
    dtype = u64 if opaque else type_named(cursor)
    align = align or alignment(cursor, expressions)
    pointer = _pointer(cursor, expressions)
    name = cursor.name("a parameter name")
    length = None
    if cursor.peek().text == "[":
        length = _product(cursor, _extents(cursor, expressions))
    return name, Parameter(
        index,
        dtype,
        "" if name.text == "_" else name.text,
        length=length,
        align=align,
        pointer=pointer,
        opaque=opaque,
        returned=returned,
    )


def _pointer(cursor: Cursor, expressions: Expressions) -> Pointer | None:
    if cursor.peek().text != ".ptr":
        return None
    cursor.next()
    space = ""
    if cursor.peek().text in (".global", ".const", ".shared", ".local", ".param"):
        space = cursor.next().text[1:]
    return Pointer(space, alignment(cursor, expressions) or 4)


# ---- variables -----------------------------------------------------------------------------------


@dataclass
class _Value:
    """The initial value of a variable: what stands in the braces, one element after the other."""

    elements: list[Constant | Initial] = field(default_factory=list["Constant | Initial"])


def variables(
    cursor: Cursor,
    expressions: Expressions,
    space: str,
    linkage: str,
    known: Container[str],
) -> Iterator[tuple[Token, Variable]]:
    """The variables of a declaration behind its state space, with where their names stand.

    Their index is 0. `known` are the names whose addresses may be initial values. Raises
    ParseError.
    """
    attached = attributes(cursor, expressions)
    align = alignment(cursor, expressions)
    vector = _VECTORS.get(cursor.peek().text, 1)
    if vector > 1:
        cursor.next()
    opaque = _opaque(cursor)
    dtype = u64 if opaque else type_named(cursor)
    if dtype.kind is Kind.PREDICATE:
        raise cursor.error(cursor.peek(), "a predicate cannot be in memory")
    align = align or alignment(cursor, expressions) or dtype.bytes * vector
    base = Variable(
        0, space, 0, align, "", dtype=dtype, linkage=linkage, opaque=opaque, attributes=attached
    )
    while True:
        yield _variable(cursor, expressions, base, vector, known)
        if not cursor.take(","):
            break
    cursor.expect(";")


def attributes(cursor: Cursor, expressions: Expressions) -> tuple[str, ...]:
    """`.attribute(.managed, .unified(1, 2))`, each as it is written behind its dot."""
    found: list[str] = []
    while cursor.peek().text == ".attribute":
        cursor.next()
        cursor.expect("(")
        while not cursor.take(")"):
            token = cursor.next()
            if token.text not in (".managed", ".unified"):
                raise cursor.out_of_place(token, ".managed .unified")
            text = token.text[1:]
            if cursor.take("("):
                first = expressions.integer()
                cursor.expect(",")
                text += f"({first}, {expressions.integer()})"
                cursor.expect(")")
            found.append(text)
            cursor.take(",")
    return tuple(found)


def _variable(
    cursor: Cursor,
    expressions: Expressions,
    base: Variable,
    vector: int,
    known: Container[str],
) -> tuple[Token, Variable]:
    name = cursor.name("a variable name")
    extents = _extents(cursor, expressions)
    open_ended = bool(extents) and extents[0] is None
    value = _Value()
    if cursor.peek().text == "=":
        equals = cursor.next()
        if base.space not in ("global", "const") or base.linkage == "extern" or base.opaque:
            raise cursor.error(equals, f"{name.text} cannot have an initial value")
        rest = [e or 0 for e in extents[1:]] + ([vector] if vector > 1 else [])
        _read_value(cursor, expressions, value, rest if extents else rest[1:], known)
    if open_ended and not value.elements and base.linkage != "extern":
        raise cursor.error(name, f"{name.text} has no size", "[n], an initial value or .extern")
    if open_ended:
        inner = _product(cursor, extents[1:]) * vector
        count = -(-len(value.elements) // max(inner, 1)) * inner
    else:
        count = _product(cursor, extents) * vector
    if len(value.elements) > count:
        problem = f"{name.text} has {count} elements and {len(value.elements)} initial values"
        raise cursor.error(name, problem)
    variable = replace(base, name=name.text, size=0 if base.opaque else count * base.dtype.bytes)
    return name, _initialised(cursor, name, variable, value)


def _extents(cursor: Cursor, expressions: Expressions) -> list[int | None]:
    """The sizes in brackets behind a name; None for an empty pair."""
    found: list[int | None] = []
    while cursor.take("["):
        if cursor.take("]"):
            found.append(None)
            continue
        token = cursor.peek()
        value = expressions.integer()
        if not 0 <= value <= _LARGEST:
            raise cursor.error(token, f"an array of {value} elements", f"0 to {_LARGEST}")
        found.append(value)
        cursor.expect("]")
    return found


def _product(cursor: Cursor, extents: list[int | None]) -> int:
    product = math.prod(e or 0 for e in extents)
    if product > _LARGEST:
        raise cursor.error(cursor.peek(), f"an array of {product} elements", f"0 to {_LARGEST}")
    return product


def _read_value(
    cursor: Cursor,
    expressions: Expressions,
    value: _Value,
    extents: list[int],
    known: Container[str],
) -> None:
    """A value, or values in braces; an inner pair is filled up with zeros to its size."""
    if not cursor.take("{"):
        value.elements.append(_element(cursor, expressions, known))
        return
    while not cursor.take("}"):
        start = len(value.elements)
        token = cursor.peek()
        nested = token.text == "{"
        if nested and not extents:
            raise cursor.error(token, "the initial value has more braces than dimensions")
        _read_value(cursor, expressions, value, extents[1:], known)
        if nested:
            _fill(cursor, token, value, start, math.prod(extents))
        if cursor.peek().text != "}":
            cursor.expect(",")


def _fill(cursor: Cursor, token: Token, value: _Value, start: int, size: int) -> None:
    missing = start + size - len(value.elements)
    if missing < 0:
        raise cursor.error(token, f"{size - missing} values stand where {size} fit")
    if missing > 1 << 24:
        raise cursor.error(token, f"{missing} zeros would have to be filled in")
    value.elements += [Integer(0)] * missing


def _element(cursor: Cursor, expressions: Expressions, known: Container[str]) -> Constant | Initial:
    """A constant; or an address, with `generic( )` around it, a mask of one byte, an offset."""
    token = cursor.peek()
    if token.kind == "name" and token.text != "WARP_SZ":
        return _named(cursor, expressions, known)
    if token.kind == "number" and cursor.peek(1).text == "(":
        mask = expressions.plain()
        cursor.expect("(")
        if cursor.peek(1).text == "(" and cursor.peek().kind == "number":
            raise cursor.error(cursor.peek(), "a mask is for an address or an integer")
        inner = _element(cursor, expressions, known)
        cursor.expect(")")
        legal = [0xFF << shift for shift in range(0, 64, 8)]
        if mask not in legal:
            raise cursor.error(token, f"0x{mask:X} is no mask of one byte", "0xFF, 0xFF00 and on")
        if isinstance(inner, Initial):
            return replace(inner, mask=mask)
        if isinstance(inner, Integer):
            return Integer((inner.value & mask) >> 8 * legal.index(mask))
        raise cursor.error(token, "a mask is for an address or an integer")
    return expressions.constant()


def _named(cursor: Cursor, expressions: Expressions, known: Container[str]) -> Initial:
    token = cursor.next()
    generic = token.text == "generic" and cursor.take("(")
    if generic:
        token = cursor.name("a variable")
    if token.text not in known:
        problem = f"{token.text} is not declared"
        raise cursor.error(token, problem, "a variable or function of the module, above")
    if generic:
        cursor.expect(")")
    return Initial(0, token.text, _addend(cursor, expressions), generic)


def _addend(cursor: Cursor, expressions: Expressions) -> int:
    if cursor.peek().text not in ("+", "-"):
        return 0
    sign = 1 if cursor.next().text == "+" else -1
    return Integer.of(sign * expressions.integer(), signed=True).value


def _initialised(cursor: Cursor, name: Token, variable: Variable, value: _Value) -> Variable:
    """The variable with its initial bytes, without the zeros at their end, and its addresses."""
    width = variable.dtype.bytes
    data = bytearray()
    addresses: list[Initial] = []
    for element in value.elements:
        if isinstance(element, Initial):
            fits = variable.dtype.name == "u8" if element.mask else width in (4, 8)
            if not fits or variable.dtype.is_float:
                raise cursor.error(
                    name,
                    f"an address does not fit a .{variable.dtype} of {name.text}",
                    ".u64, or .u8 with the masks 0xFF(...), 0xFF00(...) and on",
                )
            addresses.append(replace(element, offset=len(data)))
            data += bytes(width)
        else:
            data += _bits(cursor, name, variable.dtype, element).to_bytes(width, "little")
    while data and not any(data[-width:]):
        del data[-width:]
    return replace(variable, initial=bytes(data), addresses=tuple(addresses))


def _bits(cursor: Cursor, name: Token, dtype: DType, constant: Constant) -> int:
    """The bits of a constant in memory: floats rounded, integers cut off."""
    mask = (1 << 8 * dtype.bytes) - 1
    if isinstance(constant, Immediate):
        if dtype.bits == constant.dtype.bits and not dtype.is_integer:
            return constant.bits
        if not dtype.is_float:
            raise _unfit(cursor, name, dtype)
        constant = Real(float_value(constant))
    if dtype.name in _FLOATS and isinstance(constant, Real):
        try:
            return int.from_bytes(struct.pack(_FLOATS[dtype.name], constant.value), "little")
        except OverflowError:
            raise cursor.error(name, f"{constant.value} is out of range for .{dtype}") from None
    if isinstance(constant, Real) or not (dtype.is_integer or dtype.is_bits):
        raise _unfit(cursor, name, dtype)
    return constant.value & mask


_FLOATS: Final = {"f32": "<f", "f64": "<d"}


def _unfit(cursor: Cursor, name: Token, dtype: DType) -> ParseError:
    return cursor.error(name, f"an initial value of {name.text} is not a constant of type .{dtype}")
