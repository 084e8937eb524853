"""The body of a function in a PTX file: declarations, scopes, labels and instructions.

Scopes disappear: registers become unique objects, numbered in the order in which the body first
names them, variables get unique names, and labels are numbered in the order of their places.

Almost all text is lines of one instruction whose spelling and operands have been seen before, so
those are read by one regular expression and put together from what is known (`_known_lines`); all
other statements, and all errors, take the way over tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NoReturn, TypeAlias, cast

from pyptx.errors import IsaError
from pyptx.ir import CodeLabel, Guard, Instruction, Line, Place, Statement, Written
from pyptx.isa import check
from pyptx.isa.automaton import State
from pyptx.isa.check import Raw, Typed
from pyptx.isa.model import Form
from pyptx.operands import (
    Address,
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
from pyptx.source import SourceLocation
from pyptx.text import declarations
from pyptx.text.lexer import Cursor, ParseError, Token
from pyptx.text.operands import OperandReader, Resolved
from pyptx.text.parser import spelling, type_named
from pyptx.text.quick import constructor
from pyptx.text.unit import Unit, notes_for_text
from pyptx.types import DType, pred

make_instruction: Final = constructor(Instruction)
make_location: Final = constructor(SourceLocation)
make_register: Final = constructor(Register)

_DECLARED: Final = ".reg .b32 name; before it"
_VECTORS: Final = {".v2": 2, ".v4": 4}
_COMPONENTS: Final = {".x": 0, ".y": 1, ".z": 2, ".w": 3, ".r": 0, ".g": 1, ".b": 2, ".a": 3}
_ENTRY: Final = frozenset(("call",))


@dataclass(frozen=True, slots=True)
class _Declared:
    """A register that is declared and not named yet; `count` of them are a vector."""

    dtype: DType
    count: int = 1


_Name: TypeAlias = (
    Register
    | Variable
    | Parameter
    | Targets
    | Prototype
    | CallTargets
    | _Declared
    | tuple[Register, ...]
)


@dataclass(slots=True)
class _Seen:
    """A label that a scope has named, where it did so first, and whether it is placed there."""

    label: Label
    token: Token
    placed: bool = False


_Bound: TypeAlias = tuple[Form, tuple[tuple[int, Operand], ...]]
"""The form that takes operands of some keys, and those of them that it takes for something else."""

_Candidate: TypeAlias = tuple[Form, tuple[Typed, ...]]


@dataclass(slots=True)
class _Spelled:
    """A spelling that has been read: its forms by number of operands, in the order to be tried,
    and what they take, by the keys of all operands."""

    modifiers: tuple[str, ...]
    candidates: dict[int, tuple[_Candidate, ...]]
    branches: bool
    bound: dict[tuple[object, ...], _Bound | None] = field(
        default_factory=dict[tuple[object, ...], "_Bound | None"]
    )


class _Operands(dict[str, Raw]):
    """What operands are that have been read; `read` reads others, and raises KeyError where it
    needs tokens for that."""

    read: Callable[[str], Raw]

    def __missing__(self, text: str) -> Raw:
        found = self[text] = self.read(text)
        return found


@dataclass(slots=True)
class _Scope:
    names: dict[str, _Name] = field(default_factory=dict[str, "_Name"])
    ranges: dict[str, tuple[DType, int]] = field(default_factory=dict[str, tuple[DType, int]])
    labels: dict[str, _Seen] = field(default_factory=dict[str, _Seen])
    spelled: dict[str, _Spelled] = field(default_factory=dict[str, _Spelled])
    operands: _Operands = field(default_factory=_Operands)
    keys: dict[str, object] = field(default_factory=dict[str, object])
    guards: dict[tuple[str, str], Guard] = field(default_factory=dict[tuple[str, str], Guard])

    def keep(self, text: str, raw: Raw) -> None:
        """Remember what an operand is, with its key, for the next time that it is written."""
        self.operands[text] = raw
        self.keys[text] = _key(raw, text)

    def forget(self) -> None:
        """A declaration may give another meaning to what has been read."""
        self.spelled.clear()
        self.operands.clear()
        self.keys.clear()
        self.guards.clear()


# A line that holds one whole instruction. What it does not match is read by tokens.
_LINE: Final = re.compile(
    r"\s*(?:@(!?)([%A-Za-z_$][\w$]*)\s+)?([a-z][\w.:]*)(?:[ \t]+([^;\n\"(/@]*))?;"
)
_LABEL: Final = re.compile(r"\s*([A-Za-z_$][\w$]*):[ \t]*\n")
_NAME: Final = re.compile(r"\$[\w$]+")
_DIGITS: Final = "0123456789"
_BASED: Final = re.compile(r"\[(%[A-Za-z_$][\w$]*)(?:\+(-?[1-9]\d{0,8}))?\]")
_SMALL: Final = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_PARTS: Final = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|[^,\s{}\[\]]+")


class BodyParser(OperandReader):
    """Parses one body, from behind its `{` to its `}`."""

    wraps = True

    def __init__(self, cursor: Cursor, unit: Unit, name: str) -> None:
        super().__init__(cursor)
        self.unit = unit
        self.name = name
        self.registers: list[Register] = []
        self._names: list[str] = []
        self._own: list[Variable] = []
        self._used: set[Variable] = set()
        self.body: list[Statement] = []
        self._scopes: list[_Scope] = []
        self._outer = self._open()
        self._labels = 0
        self._label_names: list[str] = []
        self._same: dict[Label, Label] = {}
        self._branches: list[int] = []
        self._taken: set[str] = set()
        self._at = 0
        self._pragmas: list[str] = []
        self._line: Line | None = None
        self._lines: list[Line] = []
        self._directives: dict[str, Callable[[], None]] = {
            ".reg": self._registers,
            ".pragma": self._pragma,
            ".loc": self._loc,
            **{f".{space}": partial(self._variables, space) for space in declarations.SPACES},
            **{f".{word}": partial(self._linked, word) for word in ("extern", "visible", "weak")},
        }
        self._lists: dict[str, Callable[[], _Name]] = {
            ".branchtargets": self._branch_targets,
            ".calltargets": self._call_targets,
            ".callprototype": self._prototype,
        }

    # ---- formal parameters -----------------------------------------------------------------------

    def formal(self, token: Token, parameter: Parameter) -> None:
        """Make a parameter known to the body. Raises ParseError."""
        self._fresh_name(token)
        self._outer.names[token.text] = parameter
        self._taken.add(token.text)

    def formal_register(self) -> Register:
        """A parameter behind its `.reg`."""
        dtype = type_named(self.cursor)
        token = self.cursor.name("a parameter name")
        self._fresh_name(token)
        self._outer.names[token.text] = register = self._new(dtype, token.text)
        return register

    @property
    def written(self) -> Written:
        """The names of the registers and of the labels, in their order."""
        return Written(tuple(self._names), tuple(self._label_names))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The body's own variables, then those of the module that it names."""
        return (*self._own, *sorted(self._used, key=lambda variable: variable.index))

    # ---- statements ------------------------------------------------------------------------------

    def parse(self) -> None:
        """Read the body. Raises ParseError."""
        while self._known_lines() or self._known_label() or self._statement():
            pass
        self._settle_labels()

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
            self._open()
        elif cursor.take("}"):
            if len(self._scopes) == 1:
                return False
            self._close()
        elif token.text == "@":
            self._instruction()
        elif not cursor.take(";"):
            raise cursor.out_of_place(token, "an instruction, a label or a declaration")
        return True

    def _open(self) -> _Scope:
        scope = _Scope()
        scope.operands.read = partial(self._quickly, scope)
        self._scopes.append(scope)
        return scope

    def _close(self) -> None:
        """Close a scope: labels that it names and does not place are of a scope around it."""
        inner = self._scopes.pop()
        outer = self._scopes[-1]
        for name, seen in inner.labels.items():
            if seen.placed:
                continue
            if name in outer.labels:
                self._same[seen.label] = outer.labels[name].label
            else:
                outer.labels[name] = seen

    def _settle_labels(self) -> None:
        """Number the labels in the order of their places, now that all are known."""
        for name, seen in self._outer.labels.items():
            if not seen.placed:
                problem = f"the label {name} is nowhere"
                raise self.cursor.error(seen.token, problem, f"{name}: before a statement")
        places = [s.label for s in self.body if isinstance(s, Place)]
        numbered = {label: Label(index) for index, label in enumerate(places)}
        for name, seen in self._outer.labels.items():
            self.unit.labels[name] = CodeLabel(self.name, numbered[seen.label])
        for index in self._branches:
            statement = self.body[index]
            if isinstance(statement, Place):
                self.body[index] = Place(numbered[statement.label])
            else:
                operands = tuple(self._settled(o, numbered) for o in statement.operands)
                self.body[index] = replace(statement, operands=operands)

    def _settled(self, operand: Operand, numbered: dict[Label, Label]) -> Operand:
        if isinstance(operand, Label):
            while operand in self._same:
                operand = self._same[operand]
            return numbered[operand]
        if isinstance(operand, Targets):
            labels = (self._settled(label, numbered) for label in operand.labels)
            return Targets(tuple(label for label in labels if isinstance(label, Label)))
        return operand

    # ---- declarations ----------------------------------------------------------------------------

    def _fresh_name(self, token: Token) -> None:
        scope = self._scopes[-1]
        if token.text in scope.names or token.text in scope.ranges:
            raise self.cursor.error(token, f"{token.text} is declared already")
        scope.forget()

    def _registers(self) -> None:
        cursor, scope = self.cursor, self._scopes[-1]
        count = _VECTORS.get(cursor.peek().text, 1)
        if count > 1:
            cursor.next()
        dtype = type_named(cursor)
        while True:
            token = cursor.name("a register name")
            self._fresh_name(token)
            if cursor.take("<"):
                scope.ranges[token.text] = dtype, self.expressions.plain()
                cursor.expect(">")
            else:
                scope.names[token.text] = _Declared(dtype, count)
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
                self._used.add(found)
            else:
                found = replace(variable, index=len(self._own), name=name)
                self._own.append(found)
            self._scopes[-1].names[token.text] = found

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
        self._pragmas += strings(self.cursor)
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
        self._lines.append(Line(file, line, column, ", ".join(inlined)))

    def _label(self) -> None:
        cursor = self.cursor
        token = cursor.next()
        cursor.expect(":")
        read = self._lists.get(cursor.peek().text)
        if read is not None:
            cursor.next()
            self._fresh_name(token)
            self._scopes[-1].names[token.text] = read()
            cursor.expect(";")
            return
        seen = self._seen(token)
        if seen.placed:
            raise cursor.error(token, f"the label {token.text} stands twice")
        self._place(seen)

    def _seen(self, token: Token) -> _Seen:
        labels = self._scopes[-1].labels
        if token.text not in labels:
            labels[token.text] = _Seen(Label(self._labels), token)
            self._labels += 1
        return labels[token.text]

    def _branch_targets(self) -> Targets:
        cursor = self.cursor
        labels = [self._seen(cursor.name("a label")).label]
        while cursor.take(","):
            labels.append(self._seen(cursor.name("a label")).label)
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
        noreturn = cursor.peek().text == ".noreturn"
        if noreturn:
            cursor.next()
        return Prototype(returns, formal, noreturn)

    # ---- instructions ----------------------------------------------------------------------------

    def _instruction(self) -> None:
        cursor = self.cursor
        guard = self._guard() if cursor.take("@") else None
        start = cursor.peek()
        opcode, modifiers = spelling(cursor)
        operands: list[Raw] = []
        tokens: list[Token] = []
        scope = self._scopes[-1]
        while cursor.peek().text != ";" and (not operands or cursor.take(",")):
            token = cursor.peek()
            tokens.append(token)
            called = opcode.text == "call" and cursor.take("(")
            operands.append(self.arguments() if called else self.operand())
            text = cursor.source.text[token.offset : cursor.last]
            scope.keep(text, operands[-1])
        cursor.expect(";")
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
        spelled = ".".join((start.text, *modifiers))
        if spelled not in self._scopes[-1].spelled:
            self._remember(spelled, state)

    def _refuse(
        self, start: Token, raw: list[Raw], tokens: list[Token], error: IsaError
    ) -> NoReturn:
        """Say what the ISA says, or that a name is not declared where it became a label."""
        placed = {
            seen.label for scope in self._scopes for seen in scope.labels.values() if seen.placed
        }
        for operand, token in zip(raw, tokens, strict=False):
            if isinstance(operand, Label) and operand not in placed:
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
        pragmas = self._pending()
        if any(isinstance(o, Label | Targets) for o in operands):
            self._branches.append(len(self.body))
        self.body.append(
            Instruction(form, modifiers, operands, guard, location, pragmas, self._line)
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
        return self._scopes[-1].guards.setdefault((mark, token.text), guard)

    # ---- lines that have been seen before --------------------------------------------------------

    def _remember(self, spelled: str, state: State) -> None:
        """Keep the forms of a spelling for the lines that follow."""
        candidates: dict[int, tuple[_Candidate, ...]] = {}
        try:
            for pattern in check.patterns(state):
                if pattern.made is not None:
                    continue
                self.unit.require(pattern.form, state.modifiers)
                for count in range(pattern.least, len(pattern.given) + 1):
                    found = pattern.form, pattern.given[:count]
                    candidates[count] = (*candidates.get(count, ()), found)
        except IsaError:
            return  # some form is not there for this target: the checks decide every time
        if state.opcode not in _ENTRY:
            kinds = {o.kind for pattern in check.patterns(state) for o in pattern.form.operands}
            branches = not kinds.isdisjoint(("label", "labels"))
            found = _Spelled(state.modifiers, candidates, branches)
            self._scopes[-1].spelled[spelled] = found

    def _known_label(self) -> bool:
        """Read a line that holds one label, if that is the next one."""
        cursor = self.cursor
        found = _LABEL.match(cursor.source.text, cursor.offset)
        if found is None:
            return False
        seen = self._seen(Token("name", found[1], found.start(1)))
        if seen.placed:
            return False
        self._place(seen)
        cursor.offset = found.end()
        return True

    def _place(self, seen: _Seen) -> None:
        seen.placed = True
        self._label_names.append(seen.token.text)
        self._branches.append(len(self.body))
        self.body.append(Place(seen.label))

    def _known_lines(self) -> bool:
        """Read lines as long as they are made of what is known; whether there was one.

        This loop is most of the time of a parse, so it calls little and makes no text twice.
        """
        cursor, scope, file = self.cursor, self._scopes[-1], self.unit.file
        text, position = cursor.source.text, cursor.offset
        match, body = _LINE.match, self.body
        known_operand, known_key = scope.operands.__getitem__, scope.keys.__getitem__
        number, _ = cursor.source.place(position)
        count = len(body)
        while (found := match(text, position)) is not None:
            mark, predicate, spelling, written = found.groups()
            known = scope.spelled.get(spelling)
            guard = None if predicate is None else scope.guards.get((mark, predicate))
            if known is None or (predicate is not None and guard is None):
                break
            self._at = start = found.start(3)
            parts = written.split(", ") if written else []
            try:
                raws = tuple(map(known_operand, parts))
            except KeyError:
                parts = _split(written)
                try:
                    raws = tuple(map(known_operand, parts))
                except KeyError:
                    break
            key = tuple(map(known_key, parts))
            bound = known.bound.get(key)
            if bound is None:
                bound = known.bound[key] = _choose(known.candidates.get(len(key), ()), raws)
                if bound is None:
                    break
            form, exchanged = bound
            operands = raws if not exchanged else _with(raws, exchanged)
            if known.branches:
                self._branches.append(len(body))
            number += text.count("\n", position, start)
            pragmas = self._pending() if self._pragmas or self._lines else ()
            body.append(
                make_instruction(
                    form,
                    known.modifiers,
                    operands,
                    guard,
                    make_location(file, number),
                    pragmas,
                    self._line,
                )
            )
            position = found.end()
        cursor.offset = position
        return len(body) > count

    def _pending(self) -> tuple[str, ...]:
        """The pragmas before the next instruction; lines before it become the one that it has."""
        if self._lines:
            *before, last = self._lines
            self._line = replace(last, before=tuple(before))
            self._lines.clear()
        if not self._pragmas:
            return ()
        pragmas = tuple(self._pragmas)
        self._pragmas.clear()
        return pragmas

    def _quickly(self, scope: _Scope, part: str) -> Raw:
        """The usual operands that need no tokens. Raises KeyError for others, and for names that
        are not known yet."""
        raw: Raw | None = self._register_called(part, scope)
        if raw is not None:
            scope.keys[part] = raw.dtype
            return raw
        if part[:1] == "[":
            found = _BASED.fullmatch(part)
            base = found and self._register_called(found[1], scope)
            raw = Address(base, int(found[2] or 0)) if found and base else None
        elif part[:1] == "$" and _NAME.fullmatch(part) and not self._declares(part):
            place = self.cursor.source.text.index(part, self._at)
            raw = self._seen(Token("name", part, place)).label
        elif _SMALL.fullmatch(part):
            raw = check.Number(int(part), wraps=True)
        if raw is None:
            raise KeyError(part)
        scope.keys[part] = _key(raw, part)
        return raw

    def _declares(self, name: str) -> bool:
        """Whether a name that no range has stands for something else than a label."""
        return name in self.unit or any(name in scope.names for scope in self._scopes)

    def _register_called(self, name: str, scope: _Scope) -> Register | None:
        """A register of a range of this scope, made where it is named for the first time."""
        register = scope.names.get(name)
        if register is not None:
            return register if type(register) is Register else None
        base = name.rstrip(_DIGITS)
        ranged = scope.ranges.get(base)
        if ranged is None:
            return None
        digits = name[len(base) :]
        if not digits or (digits[0] == "0" and digits != "0") or len(digits) > 9:
            return None
        dtype, count = ranged
        if int(digits) >= count:
            return None
        scope.names[name] = made = self._new(dtype, name)
        return made

    # ---- names -----------------------------------------------------------------------------------

    def _new(self, dtype: DType, name: str) -> Register:
        register = make_register(len(self.registers), dtype)
        self.registers.append(register)
        self._names.append(name)
        return register

    def resolve(self, token: Token) -> Resolved:
        name = token.text
        for scope in reversed(self._scopes):
            found = scope.names.get(name)
            if isinstance(found, _Declared):
                found = scope.names[name] = self._declared(name, found)
            if found is None:
                found = self._of_range(name, scope)
            if found is not None:
                return self._resolved(found)
        variable = self.unit.variables.get(name)
        if variable is not None:
            self._used.add(variable)
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
        return self._seen(token).label

    def _declared(self, name: str, declared: _Declared) -> Register | tuple[Register, ...]:
        """What a declaration without a range makes: a register, or those of a vector."""
        if declared.count == 1:
            return self._new(declared.dtype, name)
        parts = list(_COMPONENTS)[: declared.count]
        return tuple(self._new(declared.dtype, name + part) for part in parts)

    def _of_range(self, name: str, scope: _Scope) -> Register | None:
        """A register that a range of a scope declares: `%r12` of `%r<20>`."""
        start = len(name.rstrip("0123456789"))
        for split in range(start, len(name)):
            ranged = scope.ranges.get(name[:split])
            digits = name[split:]
            if ranged is None or (digits[0] == "0" and len(digits) > 1) or len(digits) > 9:
                continue
            if int(digits) < ranged[1]:
                scope.names[name] = register = self._new(ranged[0], name)
                return register
        return None

    def _resolved(self, found: _Name) -> Resolved:
        if isinstance(found, Variable | Parameter):
            return Symbol(found)
        if isinstance(found, tuple):
            component = self.cursor.next()
            index = _COMPONENTS.get(component.text, len(found))
            if index >= len(found):
                raise self.cursor.out_of_place(component, "a component .x .y .z .w")
            return found[index]
        assert not isinstance(found, _Declared)
        return found

    def not_a_register(self, token: Token) -> ParseError:
        return self.cursor.error(token, f"{token.text} is not a register", _DECLARED)

    def undeclared(self, token: Token) -> ParseError:
        return self.cursor.error(token, f"{token.text} is not declared", _DECLARED)


def _split(written: str) -> list[str]:
    """The operands of a line, with braces and brackets whole; commas must stand between all."""
    if "{" not in written:
        return [part.strip() for part in written.split(",")]
    parts: list[str] = _PARTS.findall(written)
    between = _PARTS.sub("", written)
    return parts if "".join(between.split()) == "," * (len(parts) - 1) else [""]


def _key(raw: Raw, text: str) -> object:
    """What decides where an operand fits and what it is there."""
    if type(raw) is Register:
        return raw.dtype
    if type(raw) is Address and type(raw.base) is Register and abs(raw.offset) < 2**31:
        return raw.base.dtype, raw.offset != 0
    return Label if type(raw) is Label else text


def _choose(candidates: tuple[_Candidate, ...], raws: Sequence[Raw]) -> _Bound | None:
    """The first form that takes operands, and those that become something else there."""
    for form, positions in candidates:
        exchanged: list[tuple[int, Operand]] = []
        for index, (raw, typed) in enumerate(zip(raws, positions, strict=True)):
            fits = _fits(typed, raw)
            if fits is False:
                break
            if fits is not True:
                exchanged.append((index, fits))
        else:
            return form, tuple(exchanged)
    return None


def _with(raws: tuple[Raw, ...], exchanged: tuple[tuple[int, Operand], ...]) -> tuple[Operand, ...]:
    """Operands of a form that takes some of them for something else, each at its index."""
    found = list(raws)
    for index, operand in exchanged:
        found[index] = operand
    return cast("tuple[Operand, ...]", tuple(found))


def _fits(typed: Typed, raw: Raw) -> Operand | bool:
    """What an operand becomes; True for a register as it is, False where it does not fit."""
    if isinstance(raw, Register | Symbol) and typed.spec.kind in ("address", "tensor"):
        return False
    operand = check.operand(typed, raw)
    if operand is None:
        return False
    return True if operand is raw else operand


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
