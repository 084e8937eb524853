"""PTX statements to operands: instructions, labels, register declarations and `{ }` scopes.

The parser knows no instruction: it hands over an opcode, modifiers and raw operands, and the ISA
table says whether they fit. Names come from the caller, from declarations, and from labels.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pyptx.errors import PtxError
from pyptx.isa.check import Number, Raw, RawScalar, TensorPosition
from pyptx.isa.special import SPECIAL
from pyptx.operands import (
    Address,
    Immediate,
    Label,
    Negated,
    Pair,
    Parameter,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Targets,
    Variable,
)
from pyptx.types import DTYPES, DType, b64, f32, f64

Named: TypeAlias = Register | Variable | Parameter


class ParseError(PtxError):
    """Text that is not PTX. The message has line, column and what was expected."""


@dataclass(frozen=True, slots=True)
class ParsedInstruction:
    """An instruction before the ISA has seen it."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Raw, ...]
    guard: tuple[Register, bool] | None
    line: int


@dataclass(frozen=True, slots=True)
class ParsedLabel:
    label: Label


Parsed: TypeAlias = ParsedInstruction | ParsedLabel


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int
    column: int


_TOKENS: Final = re.compile(
    r"""(?P<space>[ \t\r]+|//[^\n]*|/\*.*?\*/)
      | (?P<newline>\n)
      | (?P<float>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}
          |\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
      | (?P<number>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)
      | (?P<name>[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+|_)
      | (?P<dotted>\.[A-Za-z0-9_]+(?:::[A-Za-z0-9_]+)*)
      | (?P<mark>[@!,;:{}\[\]()|<>+\-=])""",
    re.VERBOSE | re.DOTALL,
)


def tokens(text: str) -> Iterator[_Token]:
    """The tokens of PTX text, comments left out. Raises ParseError."""
    position, line, start = 0, 1, 0
    while position < len(text):
        match = _TOKENS.match(text, position)
        if match is None:
            here = _Token("", text[position], line, position - start + 1)
            if text.startswith("/*", position):
                raise _error(here, "the comment is not closed", "*/")
            raise _error(here, f"{text[position]!r} cannot stand in PTX")
        kind, value = match.lastgroup or "", match[0]
        if kind not in ("space", "newline"):
            yield _Token(kind, value, line, position - start + 1)
        if breaks := value.count("\n"):
            line += breaks
            start = position + value.rindex("\n") + 1
        position = match.end()
    yield _Token("end", "the end", line, position - start + 1)


_DECLARED: Final = ".reg .b32 name; in the text, or a keyword of ptx.raw"


def _error(token: _Token, problem: str, expected: str = "") -> ParseError:
    notes = (("expected", expected),) if expected else ()
    return ParseError(f"line {token.line}, column {token.column}: {problem}", notes=notes)


@dataclass
class _Scope:
    names: dict[str, Named] = field(default_factory=dict[str, Named])
    arrays: dict[str, tuple[Register, ...]] = field(default_factory=dict[str, tuple[Register, ...]])


class StatementParser:
    """Parses statements; `register` and `label` make what the text declares."""

    def __init__(
        self,
        text: str,
        names: Mapping[str, Named],
        register: Callable[[DType], Register],
        label: Callable[[], Label],
    ) -> None:
        self._tokens = list(tokens(text))
        self._at = 0
        self._register = register
        self._label = label
        self._scopes = [_Scope(dict(names))]
        self._labels: dict[str, tuple[Label, _Token]] = {}
        self._placed: dict[str, Label] = {}
        self._targets: dict[str, Targets] = {}

    def statements(self) -> Iterator[Parsed]:
        """Each statement in order. Raises ParseError."""
        while self._peek.kind != "end":
            yield from self._statement()
        if len(self._scopes) > 1:
            raise _error(self._peek, "a { is not closed", "}")
        for name, (_, token) in self._labels.items():
            if name not in self._placed:
                raise _error(token, f"the label {name} is nowhere", f"{name}: before a statement")

    # ---- tokens ----------------------------------------------------------------------------------

    @property
    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._peek
        if token.kind != "end":
            self._at += 1
        return token

    def _take(self, text: str) -> bool:
        if self._peek.kind == "mark" and self._peek.text == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise _error(self._peek, f"{self._peek.text!r} is out of place", text)

    def _name(self, what: str) -> _Token:
        token = self._next()
        if token.kind != "name":
            raise _error(token, f"{token.text!r} is out of place", what)
        return token

    # ---- statements ------------------------------------------------------------------------------

    def _statement(self) -> Iterator[Parsed]:
        token = self._peek
        if self._take(";"):
            return
        if self._take("{"):
            self._scopes.append(_Scope())
        elif self._take("}"):
            if len(self._scopes) == 1:
                raise _error(token, "a } closes nothing")
            self._scopes.pop()
        elif token.text == ".reg":
            self._declaration()
        elif token.kind == "dotted":
            raise _error(
                token, f"{token.text} cannot stand here", "an instruction, a label or .reg"
            )
        elif token.kind == "name" and self._tokens[self._at + 1].text == ":":
            yield from self._place()
        else:
            yield self._instruction()

    def _declaration(self) -> None:
        self._next()
        type_token = self._next()
        dtype = DTYPES.get(type_token.text.removeprefix("."))
        if type_token.kind != "dotted" or dtype is None:
            raise _error(type_token, f"{type_token.text!r} is no type", "a type such as .b32")
        while True:
            self._declare(self._name("a register name"), dtype)
            if not self._take(","):
                break
        self._expect(";")

    def _declare(self, token: _Token, dtype: DType) -> None:
        scope = self._scopes[-1]
        if token.text in scope.names:
            raise _error(token, f"{token.text} is declared already")
        if self._take("<"):
            count = self._integer()
            self._expect(">")
            for index in range(count):
                scope.names[f"{token.text}{index}"] = self._register(dtype)
        else:
            scope.names[token.text] = self._register(dtype)

    def _place(self) -> Iterator[ParsedLabel]:
        token = self._next()
        self._expect(":")
        if self._peek.text == ".branchtargets":
            self._branch_targets(token)
            return
        if token.text in self._placed:
            raise _error(token, f"the label {token.text} stands twice")
        self._placed[token.text] = label = self._label_of(token)
        yield ParsedLabel(label)

    def _branch_targets(self, name: _Token) -> None:
        """`name: .branchtargets a, b;`, the list that a `brx.idx` names."""
        self._next()
        labels = [self._label_of(self._name("a label"))]
        while self._take(","):
            labels.append(self._label_of(self._name("a label")))
        self._expect(";")
        if name.text in self._targets:
            raise _error(name, f"{name.text} is declared already")
        self._targets[name.text] = Targets(tuple(labels))

    def _label_of(self, token: _Token) -> Label:
        if token.text not in self._labels:
            self._labels[token.text] = self._label(), token
        return self._labels[token.text][0]

    def _instruction(self) -> ParsedInstruction:
        guard = self._guard()
        opcode = self._name("an instruction")
        modifiers: list[str] = []
        while self._peek.kind == "dotted":
            modifiers += self._next().text[1:].split(".")
        operands: list[Raw] = []
        if self._peek.text != ";":
            operands.append(self._operand())
            while self._take(","):
                operands.append(self._operand())
        self._expect(";")
        return ParsedInstruction(opcode.text, tuple(modifiers), tuple(operands), guard, opcode.line)

    def _guard(self) -> tuple[Register, bool] | None:
        if not self._take("@"):
            return None
        negated = self._take("!")
        token = self._name("a predicate")
        return self._register_named(token), negated

    # ---- operands --------------------------------------------------------------------------------

    def _operand(self) -> Raw:
        if self._peek.text in self._targets:
            return self._targets[self._next().text]
        if self._take("["):
            return self._address()
        if self._take("{"):
            return self._vector()
        if self._take("!"):
            return Negated(self._register_named(self._name("a predicate")))
        value = self._scalar()
        if not self._take("|"):
            return value
        second = self._scalar()
        if isinstance(value, Register | Sink) and isinstance(second, Register | Sink):
            return Pair(value, second)
        raise _error(self._peek, "both sides of | are destinations")

    def _vector(self) -> tuple[RawScalar, ...]:
        elements: list[RawScalar] = []
        while True:
            element = self._scalar()
            if isinstance(element, Label):
                raise self._undeclared(element)
            elements.append(element)
            if not self._take(","):
                break
        self._expect("}")
        return tuple(elements)

    def _address(self) -> Address | TensorPosition:
        address = self._base()
        if not self._take(","):
            self._expect("]")
            return address
        self._expect("{")
        coordinates = self._vector()
        self._expect("]")
        return TensorPosition(address, coordinates)

    def _base(self) -> Address:
        token = self._peek
        base = self._scalar()
        offset = self._offset()
        if isinstance(base, Register):
            return Address(base, offset)
        if isinstance(base, Symbol):
            return Address(base.of, base.offset + offset)
        if isinstance(base, Number) and isinstance(base.value, int):
            return Address(Immediate(base.value, b64), offset)
        raise _error(
            token, f"{token.text} cannot be an address", "a register, a variable, a number"
        )

    def _offset(self) -> int:
        """What is added to an address: `+4`, `+-4` or nothing."""
        offset = 0
        while self._peek.text in ("+", "-"):
            sign = 1 if self._next().text == "+" else -1
            sign = -sign if self._take("-") else sign
            offset += sign * self._integer()
        return offset

    def _scalar(self) -> RawScalar | Label:
        token = self._peek
        if token.kind == "float":
            self._next()
            return _float(token)
        if token.kind == "number" or token.text == "-":
            return self._number()
        self._name("an operand")
        if token.text == "_":
            return Sink()
        return self._resolve(token)

    def _number(self) -> Number | Immediate:
        if self._take("-") and self._peek.kind == "float":
            value = _float(self._next())
            if isinstance(value, Number) and isinstance(value.value, float):
                return Number(-value.value)
            raise _error(self._peek, "a hexadecimal float has no sign")
        sign = -1 if self._tokens[self._at - 1].text == "-" else 1
        return Number(sign * self._integer())

    def _integer(self) -> int:
        token = self._next()
        if token.kind != "number":
            raise _error(token, f"{token.text!r} is out of place", "an integer")
        text = token.text.rstrip("U")
        octal = len(text) > 1 and text[0] == "0" and text.isdigit()
        if octal and not set(text) <= set("01234567"):
            raise _error(token, f"{token.text!r} is no octal number")
        return int(text, 8) if octal else int(text, 0)

    def _resolve(self, token: _Token) -> RawScalar | Label:
        for scope in reversed(self._scopes):
            if token.text in scope.names:
                found = scope.names[token.text]
                if isinstance(found, Register):
                    return found
                return Symbol(found, self._offset())
        if token.text.startswith("%"):
            return self._special(token)
        return self._label_of(token)

    def _special(self, token: _Token) -> SpecialRegister:
        name = token.text[1:]
        if self._peek.kind == "dotted" and name not in SPECIAL:
            name += self._next().text
        entry = SPECIAL.get(name)
        if entry is None:
            raise _error(token, f"%{name} is not declared and no special register", _DECLARED)
        return SpecialRegister(name, entry.dtype)

    def _register_named(self, token: _Token) -> Register:
        found = self._resolve(token)
        if isinstance(found, Register):
            return found
        raise _error(token, f"{token.text} is not a register", _DECLARED)

    def undeclared(self, statement: ParsedInstruction) -> ParseError | None:
        """What to say where an instruction does not take the label that an unknown name became."""
        labels = (o for o in statement.operands if isinstance(o, Label))
        unknown = (label for label in labels if label not in self._placed.values())
        return next((self._undeclared(label) for label in unknown), None)

    def _undeclared(self, label: Label) -> ParseError:
        token = next(token for known, token in self._labels.values() if known == label)
        return _error(token, f"{token.text} is not declared", _DECLARED)


def _float(token: _Token) -> Number | Immediate:
    head, digits = token.text[:2].lower(), token.text[2:]
    if head == "0f":
        return Immediate(int(digits, 16), f32)
    if head == "0d":
        return Immediate(int(digits, 16), f64)
    return Number(float(token.text))


def float_value(immediate: Immediate) -> float:
    """The Python float of an f32 or f64 constant."""
    code = ("<f", "<I") if immediate.dtype is f32 else ("<d", "<Q")
    return float(struct.unpack(code[0], struct.pack(code[1], immediate.bits))[0])
