"""What instructions with operands of some kinds are: looked up, for the lines of large files.

Lines of a file differ in their registers and constants and hardly in anything else. An operand has
a *code*, which says everything of it that decides what takes it: a register's is its type. So the
spelling and the codes of all operands, a *shape*, decide the form; only constants are looked at
beside that, each at its position, because what they become depends on their value.

Shapes hold nothing of a file. They are kept in the process, for each target and PTX version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias, cast

from pyptx.errors import IsaError
from pyptx.isa import check
from pyptx.isa.check import Number, Raw, RawPair, TensorPosition, Typed
from pyptx.isa.model import Form
from pyptx.isa.table import spellings
from pyptx.operands import (
    Address,
    Immediate,
    Label,
    Negated,
    Operand,
    Pair,
    Parameter,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
)
from pyptx.target import PtxVersion, Target

Word: TypeAlias = Operand | int
"""An operand as a word of a line says it; integers get a type where they are used."""

ENDS: Final = (",", ";")
"""What stands behind an operand: the last one has the semicolon."""

_MANY: Final = 4096
_SPELLING: Final = re.compile(r"[a-z]\w*(?:\.[\w:]+)*", re.ASCII)
_IN_PARENTHESES: Final = frozenset(("call",))


class Constants(dict[int, Operand | None]):
    """What integers become where an operand of an instruction is expected; None: they do not."""

    def __init__(self, typed: Typed) -> None:
        self._typed = typed

    def __missing__(self, value: int) -> Operand | None:
        if len(self) >= _MANY:
            self.clear()
        found = self[value] = check.operand(self._typed, Number(value, wraps=True))
        return found


@dataclass(frozen=True, slots=True)
class Choice:
    """A form that takes operands of some codes where it takes the constants among them.

    `constants` are their indices, with what they become; `available` says whether the target has it.
    """

    form: Form
    available: bool
    constants: tuple[tuple[int, Constants], ...]


Shape: TypeAlias = tuple[Form, tuple[str, ...], tuple[Choice, ...]]
"""A form and its modifiers. Where constants decide, the choices, in the order to be tried."""


@dataclass(slots=True)
class Spelled:
    """A spelling: what its forms take, by the number of operands, and the shapes that were seen.

    `closed` is the spelling with the semicolon behind it, which has no operands.
    """

    modifiers: tuple[str, ...]
    closed: bool
    candidates: dict[int, list[tuple[Choice, tuple[Typed, ...]]]]
    shapes: dict[tuple[str, ...], Shape] = field(default_factory=dict[tuple[str, ...], Shape])

    def shape(self, codes: tuple[str, ...], operands: tuple[Word, ...]) -> Shape:
        """The shape of operands and their codes. KeyError where no form takes such operands."""
        if codes not in self.shapes:
            if [each[-1] for each in codes] != [","] * (len(codes) - 1) + [";"] * (not self.closed):
                raise KeyError(codes)
            given = self.candidates[len(codes)]
            choices = tuple(c for each in given if (c := _taken(*each, operands)) is not None)
            self._keep(codes, choices)
        return self.shapes[codes]

    def _keep(self, codes: tuple[str, ...], choices: tuple[Choice, ...]) -> None:
        if not choices:
            raise KeyError(codes)
        if len(self.shapes) >= _MANY:
            self.shapes.clear()
        final = choices[0].available and not choices[0].constants
        self.shapes[codes] = choices[0].form, self.modifiers, () if final else choices


def _taken(
    choice: Choice, positions: tuple[Typed, ...], operands: tuple[Word, ...]
) -> Choice | None:
    """The choice with its constants where a form takes operands, but for the values of integers."""
    constants: list[tuple[int, Constants]] = []
    for index, (operand, typed) in enumerate(zip(operands, positions, strict=True)):
        if isinstance(operand, int):
            constants.append((index, Constants(typed)))
        elif (
            typed.spec.kind in ("address", "tensor") and isinstance(operand, Register | Symbol)
        ) or check.operand(typed, operand) != operand:
            return None
    return Choice(choice.form, choice.available, tuple(constants))


def settled(
    choices: tuple[Choice, ...], operands: tuple[Word, ...]
) -> tuple[Form, tuple[Operand, ...]]:
    """The form that takes the constants among operands, and the operands as it has them.

    Raises KeyError where there is none, and where the target does not have it.
    """
    for choice in choices:
        found: list[Operand | int | None] = list(operands)
        for index, constants in choice.constants:
            found[index] = constants[operands[index]]  # pyright: ignore[reportArgumentType]
        if None not in found:
            if not choice.available:
                break
            return choice.form, cast("tuple[Operand, ...]", tuple(found))
    raise KeyError(operands)


# ---- spellings -----------------------------------------------------------------------------------


class Spellings(dict[str, Spelled]):
    """The spellings that were read for a target and PTX version, as the first word of a line."""

    def __init__(self, target: Target, version: PtxVersion) -> None:
        self._target = target
        self._version = version

    def learn(self, word: str) -> Spelled:
        """What a first word spells. KeyError where it is no instruction, or one of several lines."""
        if word not in self:
            name = word.removesuffix(";")
            opcode, *modifiers = name.split(".")
            if not _SPELLING.fullmatch(name) or opcode in _IN_PARENTHESES:
                raise KeyError(word)
            try:
                self[word] = self._spelled(opcode, tuple(modifiers), closed=word != name)
            except IsaError:
                raise KeyError(word) from None
        return self[word]

    def _spelled(self, opcode: str, modifiers: tuple[str, ...], *, closed: bool) -> Spelled:
        written = check.ordered(spellings(), opcode, modifiers)
        state = check.walk(spellings(), opcode, written)
        candidates: dict[int, list[tuple[Choice, tuple[Typed, ...]]]] = {}
        for pattern in check.patterns(state):
            if pattern.made is not None:
                continue
            available = self._has(pattern.form, state.modifiers)
            choice = Choice(pattern.form, available, ())
            for count in range(pattern.least, len(pattern.given) + 1):
                if closed == (count == 0):
                    candidates.setdefault(count, []).append((choice, pattern.given[:count]))
        return Spelled(state.modifiers, closed, candidates)

    def _has(self, form: Form, modifiers: tuple[str, ...]) -> bool:
        try:
            check.require(form, modifiers, self._target, self._version)
        except IsaError:
            return False
        return True


@lru_cache(maxsize=8)
def known_spellings(target: Target, version: PtxVersion) -> Spellings:
    """The spellings of a target and a PTX version, for all files that name them."""
    return Spellings(target, version)


# ---- codes ---------------------------------------------------------------------------------------


def word_of(raw: Raw) -> Word | None:
    """An operand as words say it, None for one that is read again each time."""
    if isinstance(raw, Number):
        return raw.value if isinstance(raw.value, int) else None
    return None if isinstance(raw, tuple | TensorPosition | RawPair) else raw


def code(operand: Word) -> str | None:
    """What decides where an operand fits. None for one that is read again each time."""
    match operand:
        case int():
            return "0"
        case Register(_, dtype):
            return f".{dtype}"
        case Address(Register(_, dtype), offset) if abs(offset) < 1 << 31:
            return f"[.{dtype}+]" if offset else f"[.{dtype}]"
        case Address(Variable() | Parameter() as base, offset):
            return f"[{_place(base)}+{offset}]"
        case Symbol(of):
            return _place(of)
        case Label():
            return ":"
        case SpecialRegister(name):
            return f"%{name}"
        case Immediate(bits, dtype):
            return f"0{dtype} {bits:x}"
        case Negated(register):
            return f"!.{register.dtype}"
        case Sink():
            return "_"
        case Pair(Register() as first, Register() as second):
            return f".{first.dtype}|.{second.dtype}"
        case Vector(elements):
            codes = [f".{e.dtype}" for e in elements if isinstance(e, Register)]
            return f"{{{''.join(codes)}}}" if len(codes) == len(elements) else None
        case _:
            return None


def _place(of: Variable | Parameter) -> str:
    """Everything of a variable or parameter that a check looks at."""
    if isinstance(of, Variable):
        return f"{of.space} {of.size} {of.align}"
    return f"parameter {of.size} {of.alignment}"
