"""The body of a function in a PTX file: declarations, scopes, labels and instructions.

Scopes disappear: registers become unique objects, numbered in the order in which the body first
names them, variables get unique names, and labels are numbered in the order of their places.

Almost all text is usual lines of one instruction, which `lines` reads; all other statements, and
all errors, take the way over tokens that is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final, NoReturn

from pyptx._ir import CodeLabel, Guard, Instruction, Line, Statement, Written
from pyptx._isa import check
from pyptx._isa.given import Raw
from pyptx._isa.model import Form
from pyptx._operands import (
    Address,
    Arguments,
    CallTargets,
    FunctionName,
    Label,
    Operand,
    Parameter,
    Prototype,
    Register,
    Symbol,
    Targets,
    TensorAddress,
    Variable,
)
from pyptx._source import SourceLocation
from pyptx._target import PtxVersion
from pyptx._text import declarations
from pyptx._text.lexer import Cursor, ParseError, Token
from pyptx._text.lines import LineReader
from pyptx._text.operands import OperandReader, Resolved
from pyptx._text.parser import spelling, type_named
from pyptx._text.scopes import Declared, FlatBody, Name, Scope, is_placed
from pyptx._text.unit import Unit, notes_for_text
from pyptx.errors import IsaError
from pyptx.types import pred

_DECLARED: Final = ".reg .b32 name; before it"
_INTERMEDIATE: Final = PtxVersion(9, 4)
_VECTORS: Final = {".v2": 2, ".v4": 4}
_OF_PROTOTYPES: Final = (".noreturn", ".abi_preserve", ".abi_preserve_control")
_COMPONENTS: Final = {".x": 0, ".y": 1, ".z": 2, ".w": 3, ".r": 0, ".g": 1, ".b": 2, ".a": 3}


class BodyParser(OperandReader):
    """Parses one body, from behind its `{` to its `}`."""

    wraps = True

    def __init__(self, cursor: Cursor, unit: Unit, name: str) -> None:
        super().__init__(cursor)
        self.unit = unit
        self.name = name
        self._flat = FlatBody()
        self._lines = LineReader(cursor, unit, self._flat)
        self._own: list[Variable] = []
        self._taken: set[str] = set()
        self._directives: dict[str, Callable[[], None]] = {
            ".reg": self._registers,
            ".pragma": self._pragma,
            ".loc": self._loc,
            ".loc_intermediate": self._loc_intermediate,
            **{f".{space}": partial(self._variables, space) for space in declarations.SPACES},
            **{f".{word}": partial(self._linked, word) for word in ("extern", "visible", "weak")},
        }
        self._lists: dict[str, Callable[[], Name]] = {
            ".branchtargets": self._branch_targets,
            ".calltargets": self._call_targets,
            ".callprototype": self._prototype,
        }

    # ---- formal parameters -----------------------------------------------------------------------

    def formal(self, token: Token, parameter: Parameter) -> None:
        """Make a parameter known to the body. Raises ParseError."""
        self._fresh_name(token)
        self._flat.scope.names[token.text] = parameter
        self._taken.add(token.text)

    def formal_register(self) -> Register:
        """A parameter behind its `.reg`."""
        dtype = type_named(self.cursor)
        token = self.cursor.name("a parameter name")
        self._fresh_name(token)
        self._flat.scope.names[token.text] = register = self._flat.register(dtype, token.text)
        return register

    @property
    def registers(self) -> tuple[Register, ...]:
        """The registers, in the order in which the body names them."""
        return tuple(self._flat.registers)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What has been read."""
        return tuple(self._flat.statements)

    @property
    def written(self) -> Written:
        """The names of the registers and of the labels, in their order."""
        return Written(tuple(self._flat.register_names), tuple(self._flat.label_names))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The body's own variables, then those of the module that it names."""
        return (*self._own, *sorted(self._flat.used, key=lambda variable: variable.index))

    # ---- statements ------------------------------------------------------------------------------

    def parse(self) -> None:
        """Read the body. Raises ParseError."""
        while self._lines.read() or self._statement():
            pass
        for seen in self._flat.nowhere():
            problem = f"the label {seen.name} is nowhere"
            offset = self._flat.first_named(seen, self.cursor.source)
            raise self.cursor.source.error(
                offset, problem, ("expected", f"{seen.name}: before a statement")
            )
        for name, seen in self._flat.scope.labels.items():
            self.unit.labels[name] = CodeLabel(self.name, seen.label)

    def _statement(self) -> bool:
        """One statement; False at the end of the body."""
        cursor = self.cursor
        token = cursor.peek()
        if token.kind == "mark":
            return self._mark(token)
        if token.kind == "dotted":
            directive = self._directives.get(token.text)
            if directive is None:
                expected = "an instruction, a label or a declaration"
                raise cursor.error(token, f"{token.text} cannot stand here", expected)
            cursor.next()
            directive()
        elif token.kind == "name" and cursor.peek(1).text == ":":
            self._label()
        elif token.kind == "end":
            raise cursor.error(token, f"the body of {self.name} is not closed", "}")
        else:
            self._instruction()
        return True

    def _mark(self, token: Token) -> bool:
        cursor = self.cursor
        if cursor.take("{"):
            self._flat.scopes.append(Scope())
            self._lines.open()
        elif cursor.take("}"):
            if len(self._flat.scopes) == 1:
                return False
            self._flat.close()
            self._lines.close()
        elif token.text == "@":
            self._instruction()
        elif not cursor.take(";"):
            raise cursor.out_of_place(token, "an instruction, a label or a declaration")
        return True

    # ---- declarations ----------------------------------------------------------------------------

    def _fresh_name(self, token: Token) -> None:
        scope = self._flat.scope
        if token.text in scope.names or scope.in_range(token.text):
            raise self.cursor.error(token, f"{token.text} is declared already")
        self._lines.words.forget()

    def _fresh_range(self, token: Token) -> None:
        """A range `a<2>` and a register `a` have no name in common."""
        if token.text in self._flat.scope.ranges:
            raise self.cursor.error(token, f"{token.text} is declared already")
        self._lines.words.forget()

    def _registers(self) -> None:
        cursor, scope = self.cursor, self._flat.scope
        count = _VECTORS.get(cursor.peek().text, 1)
        if count > 1:
            cursor.next()
        dtype = type_named(cursor)
        while True:
            token = cursor.name("a register name")
            if cursor.take("<"):
                self._fresh_range(token)
                scope.ranges[token.text] = dtype, self.expressions.plain()
                cursor.expect(">")
            else:
                self._fresh_name(token)
                scope.names[token.text] = Declared(dtype, count)
            if not cursor.take(","):
                break
        cursor.expect(";")

    def _variables(self, space: str, linkage: str = "") -> None:
        for token, variable in declarations.variables(
            self.cursor, self.expressions, space, linkage, self.unit
        ):
            self._fresh_name(token)
            name = self._unique(token.text)
            if space in ("global", "const") or linkage:
                found = replace(variable, index=len(self.unit.variables), name=name)
                self.unit.variables[name] = found
                self._flat.used.add(found)
            else:
                found = replace(variable, index=len(self._own), name=name)
                self._own.append(found)
            self._flat.scope.names[token.text] = found

    def _linked(self, linkage: str) -> None:
        token = self.cursor.next()
        if token.text not in (".shared", ".global", ".const"):
            raise self.cursor.out_of_place(token, ".shared .global .const")
        self._variables(token.text[1:], linkage)

    def _unique(self, name: str) -> str:
        """A name that no other variable has once the scopes are gone."""
        unique, number = name, 2
        while unique in self._taken or unique in self.unit:
            unique, number = f"{name}_{number}", number + 1
        self._taken.add(unique)
        return unique

    # ---- other directives ------------------------------------------------------------------------

    def _pragma(self) -> None:
        self._flat.pending += strings(self.cursor)
        self.cursor.expect(";")

    def _loc(self) -> None:
        """`.loc file line column, function_name label+offset, inlined_at file line column`."""
        plain = self.expressions.plain
        file, line, column = plain("a file"), plain("a line"), plain("a column")
        inlined: list[str] = []
        while self.cursor.take(","):
            word = self.cursor.name("function_name or inlined_at")
            if word.text == "inlined_at":
                inlined.append(f"inlined_at {plain()} {plain()} {plain()}")
            elif word.text == "function_name":
                label = self.cursor.name("a label")
                offset = f"+{plain()}" if self.cursor.take("+") else ""
                inlined.append(f"function_name {label.text}{offset}")
            else:
                raise self.cursor.out_of_place(word, "function_name or inlined_at")
        self._flat.pending.append(Line(file, line, column, ", ".join(inlined)))

    def _loc_intermediate(self) -> None:
        """`.loc_intermediate file line column`: the line before it, in another language."""
        token = self.cursor.peek()
        place = tuple(self.expressions.plain(f"a {what}") for what in ("file", "line", "column"))
        if self.unit.version < _INTERMEDIATE:
            raise self.cursor.error(
                token, f"PTX {self.unit.version} does not have .loc_intermediate", "PTX 9.4"
            )
        if not self._flat.add_intermediate(place):
            raise self.cursor.error(
                token, ".loc_intermediate stands behind no .loc", ".loc before it"
            )

    def _label(self) -> None:
        cursor = self.cursor
        token = cursor.next()
        cursor.expect(":")
        read = self._lists.get(cursor.peek().text)
        if read is not None:
            cursor.next()
            self._fresh_name(token)
            self._flat.scope.names[token.text] = read()
            cursor.expect(";")
            return
        seen = self._flat.seen(token.text, token.offset)
        if seen.placed:
            raise cursor.error(token, f"the label {token.text} stands twice")
        self._flat.place(seen)

    def _seen(self, token: Token) -> Label:
        return self._flat.seen(token.text, token.offset).label

    def _branch_targets(self) -> Targets:
        cursor = self.cursor
        labels = [self._seen(cursor.name("a label"))]
        while cursor.take(","):
            labels.append(self._seen(cursor.name("a label")))
        return Targets(tuple(labels))

    def _call_targets(self) -> CallTargets:
        cursor = self.cursor
        found: list[FunctionName] = []
        while True:
            token = cursor.name("a function")
            if token.text not in self.unit.functions:
                raise cursor.error(token, f"{token.text} is no function that is declared above")
            found.append(FunctionName(token.text))
            if not cursor.take(","):
                return CallTargets(tuple(found))

    def _prototype(self) -> Prototype:
        cursor = self.cursor
        returns = parameters(cursor, self, returned=True) if cursor.peek().text == "(" else ()
        cursor.name("_")
        formal = parameters(cursor, self, returned=False) if cursor.peek().text == "(" else ()
        given = Prototype(returns, formal)
        while cursor.peek().text in _OF_PROTOTYPES:
            name = cursor.next().text[1:]
            number = self.expressions.plain() if name != "noreturn" else True
            given = replace(given, **{name: number})
        return given

    # ---- instructions ----------------------------------------------------------------------------

    def _instruction(self) -> None:
        cursor = self.cursor
        guard = self._guard() if cursor.take("@") else None
        start = cursor.peek()
        opcode, modifiers = spelling(cursor)
        operands: list[Raw] = []
        tokens: list[Token] = []
        while cursor.peek().text != ";" and (not operands or cursor.take(",")):
            token = cursor.peek()
            tokens.append(token)
            called = opcode.text == "call" and cursor.take("(")
            operands.append(self.arguments() if called else self.operand())
            text = cursor.source.text[token.offset : cursor.last]
            self._lines.words.keep(text, operands[-1])
        cursor.expect(";")
        if opcode.text == "call" and [*map(_is_list, operands[:3])] in ([1, 0], [1, 0, 0]):
            # A function that takes nothing may stand without its empty parentheses.
            operands.insert(2, Arguments(()))
            tokens.insert(2, tokens[1])
        self._bind(start, modifiers, operands, tokens, guard)

    def _bind(
        self,
        start: Token,
        modifiers: tuple[str, ...],
        raw: list[Raw],
        tokens: list[Token],
        guard: Guard | None,
    ) -> None:
        try:
            state = self.unit.state(start.text, modifiers)
            bound = check.bind(state, raw)
            self.unit.require(bound.form, state.modifiers)
        except IsaError as error:
            self._refuse(start, raw, tokens, error)
        for operand, given, token in zip(bound.operands, raw, tokens, strict=False):
            if isinstance(operand, Address | TensorAddress) and isinstance(
                given, Register | Symbol
            ):
                raise self.cursor.out_of_place(token, "an address in brackets")
        self._append(bound.form, state.modifiers, bound.operands, guard, start.offset)

    def _refuse(
        self, start: Token, raw: list[Raw], tokens: list[Token], error: IsaError
    ) -> NoReturn:
        """Say what the ISA says, or that a name is not declared where it became a label."""
        for operand, token in zip(raw, tokens, strict=False):
            if isinstance(operand, Label) and not is_placed(operand):
                raise self.undeclared(token) from None
        raise self.cursor.source.error(
            start.offset, error.problem, *notes_for_text(error)
        ) from None

    def _append(
        self,
        form: Form,
        modifiers: tuple[str, ...],
        operands: tuple[Operand, ...],
        guard: Guard | None,
        offset: int,
    ) -> None:
        line, _ = self.cursor.source.place(offset)
        location = SourceLocation(self.unit.file, line)
        pragmas = self._flat.take_pending()
        self._flat.statements.append(
            Instruction(form, modifiers, operands, guard, location, pragmas, self._flat.line)
        )

    def _guard(self) -> Guard:
        cursor = self.cursor
        mark = "!" if cursor.take("!") else ""
        token = cursor.name("a predicate")
        register = self.register(token)
        if register.dtype is not pred:
            problem = f"the guard is a .{register.dtype} register, not a predicate"
            raise cursor.error(token, problem)
        guard = Guard(register, bool(mark))
        return self._lines.words.guards.setdefault(f"@{mark}{token.text}", guard)

    # ---- names -----------------------------------------------------------------------------------

    def resolve(self, token: Token) -> Resolved:
        name = token.text
        for scope in reversed(self._flat.scopes):
            found = scope.names.get(name)
            if isinstance(found, Declared):
                found = scope.names[name] = self._declared(name, found)
            if found is None:
                found = self._of_range(name, scope)
            if found is not None:
                return self._resolved(found)
        variable = self.unit.variables.get(name)
        if variable is not None:
            self._flat.used.add(variable)
            return Symbol(variable)
        if name in self.unit.functions or name in self.unit.kernels:
            return FunctionName(name)
        if name.startswith("%"):
            special = self.special(token, _DECLARED)
            try:
                self.unit.require_special(special.name)
            except IsaError as error:
                notes = notes_for_text(error)
                raise self.cursor.source.error(token.offset, error.problem, *notes) from None
            return special
        return self._seen(token)

    def _declared(self, name: str, declared: Declared) -> Register | tuple[Register, ...]:
        """What a declaration without a range makes: a register, or those of a vector."""
        if declared.count == 1:
            return self._flat.register(declared.dtype, name)
        parts = list(_COMPONENTS)[: declared.count]
        return tuple(self._flat.register(declared.dtype, name + part) for part in parts)

    def _of_range(self, name: str, scope: Scope) -> Register | None:
        """A register that a range of a scope declares: `%r12` of `%r<20>`."""
        start = len(name.rstrip("0123456789"))
        for split in range(start, len(name)):
            ranged = scope.ranges.get(name[:split])
            digits = name[split:]
            if ranged is None or (digits[0] == "0" and len(digits) > 1) or len(digits) > 9:
                continue
            if int(digits) < ranged[1]:
                scope.names[name] = register = self._flat.register(ranged[0], name)
                return register
        return None

    def _resolved(self, found: Name) -> Resolved:
        if isinstance(found, Variable | Parameter):
            return Symbol(found)
        if isinstance(found, tuple):
            component = self.cursor.next()
            index = _COMPONENTS.get(component.text, len(found))
            if index >= len(found):
                raise self.cursor.out_of_place(component, "a component .x .y .z .w")
            return found[index]
        assert not isinstance(found, Declared)
        return found

    def not_a_register(self, token: Token) -> ParseError:
        return self.cursor.error(token, f"{token.text} is not a register", _DECLARED)

    def undeclared(self, token: Token) -> ParseError:
        return self.cursor.error(token, f"{token.text} is not declared", _DECLARED)


def _is_list(operand: Raw) -> bool:
    return isinstance(operand, Arguments)


def strings(cursor: Cursor) -> list[str]:
    """Strings separated by commas, without their quotation marks. Raises ParseError."""
    found: list[str] = []
    while True:
        token = cursor.next()
        if token.kind != "string":
            raise cursor.out_of_place(token, "a string")
        found.append(token.text[1:-1])
        if not cursor.take(","):
            return found


def parameters(cursor: Cursor, reader: OperandReader, *, returned: bool) -> tuple[Parameter, ...]:
    """The parameters of a prototype in their parentheses. Raises ParseError."""
    cursor.expect("(")
    found: list[Parameter] = []
    while not cursor.take(")"):
        if found:
            cursor.expect(",")
        token = cursor.next()
        if token.text != ".param":
            raise cursor.out_of_place(token, ".param")
        _, parameter = declarations.parameter(
            cursor, reader.expressions, len(found), returned=returned
        )
        found.append(replace(parameter, name=""))
    return tuple(found)
