"""PTX statements to operands: instructions, labels, register declarations and `{ }` scopes.

The parser knows no instruction: it hands over an opcode, modifiers and raw operands, and the ISA
table says whether they fit. Names come from the caller, from declarations, and from labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pyptx._isa.given import Raw
from pyptx._operands import Label, Parameter, Register, Symbol, Targets, Variable
from pyptx._text.lexer import Cursor, ParseError, Source, Token
from pyptx._text.operands import OperandReader, Resolved
from pyptx.types import DTYPES, DType

Named: TypeAlias = Register | Variable | Parameter


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

_DECLARED: Final = ".reg .b32 name; in the text, or a keyword of ptx.raw"


@dataclass
class _Scope:
    names: dict[str, Named] = field(default_factory=dict[str, Named])


class StatementParser(OperandReader):
    """Parses statements; `register` and `label` make what the text declares."""

    def __init__(
        self,
        text: str,
        names: Mapping[str, Named],
        register: Callable[[DType], Register],
        label: Callable[[], Label],
    ) -> None:
        super().__init__(Cursor(Source(text)))
        self._register = register
        self._label = label
        self._scopes = [_Scope(dict(names))]
        self._labels: dict[str, tuple[Label, Token]] = {}
        self._placed: dict[str, Label] = {}
        self._targets: dict[str, Targets] = {}

    def statements(self) -> Iterator[Parsed]:
        """Each statement in order. Raises ParseError."""
        cursor = self.cursor
        while cursor.peek().kind != "end":
            yield from self._statement()
        if len(self._scopes) > 1:
            raise cursor.error(cursor.peek(), "a { is not closed", "}")
        for name, (_, token) in self._labels.items():
            if name not in self._placed:
                raise cursor.error(
                    token, f"the label {name} is nowhere", f"{name}: before a statement"
                )

    # ---- statements ------------------------------------------------------------------------------

    def _statement(self) -> Iterator[Parsed]:
        cursor = self.cursor
        token = cursor.peek()
        if cursor.take(";"):
            return
        if cursor.take("{"):
            self._scopes.append(_Scope())
        elif cursor.take("}"):
            if len(self._scopes) == 1:
                raise cursor.error(token, "a } closes nothing")
            self._scopes.pop()
        elif token.text == ".reg":
            self._declaration()
        elif token.kind == "dotted":
            raise cursor.error(
                token, f"{token.text} cannot stand here", "an instruction, a label or .reg"
            )
        elif token.kind == "name" and cursor.peek(1).text == ":":
            yield from self._place()
        else:
            yield self._instruction()

    def _declaration(self) -> None:
        cursor = self.cursor
        cursor.next()
        dtype = type_named(cursor)
        while True:
            self._declare(cursor.name("a register name"), dtype)
            if not cursor.take(","):
                break
        cursor.expect(";")

    def _declare(self, token: Token, dtype: DType) -> None:
        scope = self._scopes[-1]
        if token.text in scope.names:
            raise self.cursor.error(token, f"{token.text} is declared already")
        if self.cursor.take("<"):
            count = self.expressions.plain()
            self.cursor.expect(">")
            for index in range(count):
                scope.names[f"{token.text}{index}"] = self._register(dtype)
        else:
            scope.names[token.text] = self._register(dtype)

    def _place(self) -> Iterator[ParsedLabel]:
        cursor = self.cursor
        token = cursor.next()
        cursor.expect(":")
        if cursor.peek().text == ".branchtargets":
            self._branch_targets(token)
            return
        if token.text in self._placed:
            raise cursor.error(token, f"the label {token.text} stands twice")
        self._placed[token.text] = label = self._label_of(token)
        yield ParsedLabel(label)

    def _branch_targets(self, name: Token) -> None:
        """`name: .branchtargets a, b;`, the list that a `brx.idx` names."""
        cursor = self.cursor
        cursor.next()
        labels = [self._label_of(cursor.name("a label"))]
        while cursor.take(","):
            labels.append(self._label_of(cursor.name("a label")))
        cursor.expect(";")
        if name.text in self._targets:
            raise cursor.error(name, f"{name.text} is declared already")
        self._targets[name.text] = Targets(tuple(labels))

    def _label_of(self, token: Token) -> Label:
        if token.text not in self._labels:
            self._labels[token.text] = self._label(), token
        return self._labels[token.text][0]

    def _instruction(self) -> ParsedInstruction:
        cursor = self.cursor
        guard = self._guard()
        opcode, modifiers = spelling(cursor)
        operands: list[Raw] = []
        if cursor.peek().text != ";":
            operands.append(self.operand())
            while cursor.take(","):
                operands.append(self.operand())
        cursor.expect(";")
        line, _ = cursor.source.place(opcode.offset)
        return ParsedInstruction(opcode.text, modifiers, tuple(operands), guard, line)

    def _guard(self) -> tuple[Register, bool] | None:
        if not self.cursor.take("@"):
            return None
        negated = self.cursor.take("!")
        return self.register(self.cursor.name("a predicate")), negated

    # ---- names -----------------------------------------------------------------------------------

    def resolve(self, token: Token) -> Resolved:
        if token.text in self._targets:
            return self._targets[token.text]
        for scope in reversed(self._scopes):
            found = scope.names.get(token.text)
            if found is not None:
                return found if isinstance(found, Register) else Symbol(found)
        if token.text.startswith("%"):
            return self.special(token, _DECLARED)
        return self._label_of(token)

    def not_a_register(self, token: Token) -> ParseError:
        return self.cursor.error(token, f"{token.text} is not a register", _DECLARED)

    def undeclared(self, token: Token) -> ParseError:
        return self.cursor.error(token, f"{token.text} is not declared", _DECLARED)

    def unknown_name(self, statement: ParsedInstruction) -> ParseError | None:
        """What to say where an instruction does not take the label that an unknown name became."""
        labels = (o for o in statement.operands if isinstance(o, Label))
        unknown = [label for label in labels if label not in self._placed.values()]
        tokens = (token for known, token in self._labels.values() if known in unknown)
        return next(map(self.undeclared, tokens), None)


def type_named(cursor: Cursor) -> DType:
    """Take a type such as `.b32`. Raises ParseError."""
    token = cursor.next()
    dtype = DTYPES.get(token.text.removeprefix("."))
    if token.kind != "dotted" or dtype is None:
        raise cursor.error(token, f"{token.text!r} is no type", "a type such as .b32")
    return dtype


def spelling(cursor: Cursor) -> tuple[Token, tuple[str, ...]]:
    """Take an opcode and its modifiers. Raises ParseError."""
    opcode = cursor.name("an instruction")
    modifiers: list[str] = []
    while cursor.peek().kind == "dotted":
        modifiers += cursor.next().text[1:].split(".")
    return opcode, tuple(modifiers)
