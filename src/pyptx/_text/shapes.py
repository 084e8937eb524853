"""What instructions with operands of some kinds are: looked up, for the lines of large files.

Lines of a file differ in their registers and constants and hardly in anything else. An operand has
a *code*, which says everything of it that decides what takes it: a register's is its type. So the
spelling and the codes of all operands, a *shape*, decide the form; only constants are looked at
beside that, each at its position, because what they become depends on their value.

Shapes hold nothing of a file. They are kept in the process, for each target and PTX version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias

from pyptx._isa import available, check, opcode_path, operand_kinds
from pyptx._isa.given import Number, Raw, RawPair, TensorPosition
from pyptx._isa.model import Form
from pyptx._isa.operand_types import Typed
from pyptx._isa.table import spellings
from pyptx._operands import (
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
from pyptx._target import PtxVersion, Target
from pyptx.errors import IsaError
from pyptx.types import DTYPES

Word: TypeAlias = Operand | int
"""An operand as a word of a line says it; integers get a type where they are used."""

_ADDRESS_CODES: Final = {dtype: (f"[.{dtype}]", f"[.{dtype}+]") for dtype in DTYPES.values()}
_MANY: Final = 4096
_IN_PARENTHESES: Final = frozenset(("call",))


class Becomes(dict[Word, Operand | None]):
    """What operands become where an instruction expects one of some type; None: they do not fit."""

    def __init__(self, typed: Typed) -> None:
        self._typed = typed

    def __missing__(self, word: Word) -> Operand | None:
        if not isinstance(word, int):
            return operand_kinds.operand(self._typed, _opened(word))
        if len(self) >= _MANY:
            self.clear()
        found = self[word] = operand_kinds.operand(self._typed, Number(word, wraps=True))
        return found


def _opened(word: Operand) -> Raw:
    """A vector of one, which may be braces around a scalar, as the checks tell them apart."""
    return word.elements if isinstance(word, Vector) else word


@dataclass(frozen=True, slots=True)
class Choice:
    """A form that takes operands of some codes if it takes the values of those that change.

    `changed` are the indices of these, with what they become; `available` says whether the target
    has the form.
    """

    form: Form
    available: bool
    changed: tuple[tuple[int, Becomes], ...] = ()


Shape: TypeAlias = tuple[Form, tuple[str, ...], tuple[Choice, ...]]
"""A form and its modifiers. Where constants decide, the choices, in the order to be tried."""


@dataclass(slots=True)
class Spelled:
    """A spelling: what its forms take, by the number of operands, and the shapes that were seen."""

    modifiers: tuple[str, ...]
    candidates: dict[int, list[tuple[Choice, tuple[Typed, ...]]]]
    shapes: dict[tuple[str, ...], Shape] = field(default_factory=dict[tuple[str, ...], Shape])

    def shape(self, codes: tuple[str, ...], operands: tuple[Word, ...]) -> Shape:
        """The shape of operands and their codes. KeyError where no form takes such operands."""
        if codes not in self.shapes:
            given = self.candidates[len(codes)]
            choices = tuple(c for each in given if (c := _taken(*each, operands)) is not None)
            self._keep(codes, choices)
        return self.shapes[codes]

    def _keep(self, codes: tuple[str, ...], choices: tuple[Choice, ...]) -> None:
        if not choices:
            raise KeyError(codes)
        if len(self.shapes) >= _MANY:
            self.shapes.clear()
        final = choices[0].available and not choices[0].changed
        self.shapes[codes] = choices[0].form, self.modifiers, () if final else choices


def _taken(
    choice: Choice, positions: tuple[Typed, ...], operands: tuple[Word, ...]
) -> Choice | None:
    """The choice of a form if it takes operands, but for the values of constants."""
    changed: list[tuple[int, Becomes]] = []
    for index, (operand, typed) in enumerate(zip(operands, positions, strict=True)):
        if isinstance(operand, int) or _is_single(operand):
            changed.append((index, Becomes(typed)))
        elif not _fits(typed, operand):
            return None
    return Choice(choice.form, choice.available, tuple(changed))


def _is_single(operand: Operand) -> bool:
    return isinstance(operand, Vector) and len(operand.elements) == 1


def _fits(typed: Typed, operand: Operand) -> bool:
    """Whether an operand is taken as it is; text has addresses in brackets only."""
    if typed.spec.kind in ("address", "tensor") and isinstance(operand, Register | Symbol):
        return False
    return operand_kinds.operand(typed, operand) == operand


def settled(
    choices: tuple[Choice, ...], operands: tuple[Word, ...]
) -> tuple[Form, tuple[Operand, ...]]:
    """The form that takes operands of a shape, and the operands as it has them.

    Raises KeyError where none takes their values, and where the target does not have the form.
    """
    for choice in choices:
        found: list[Any] = list(operands)
        for index, becomes in choice.changed:
            operand = found[index] = becomes[found[index]]
            if operand is None:
                break
        else:
            if choice.available:
                return choice.form, tuple(found)
            break
    raise KeyError(operands)


# ---- spellings -----------------------------------------------------------------------------------


class Spellings(dict[str, Spelled]):
    """The spellings that were read for a target and PTX version."""

    def __init__(self, target: Target, version: PtxVersion) -> None:
        self._target = target
        self._version = version

    def learn(self, word: str) -> Spelled:
        """What a word spells. KeyError for no instruction, and for one of several lines."""
        if word not in self:
            opcode, *modifiers = word.split(".")
            if opcode not in spellings() or opcode in _IN_PARENTHESES:
                raise KeyError(word)
            try:
                self[word] = self._spelled(opcode, tuple(modifiers))
            except IsaError:
                raise KeyError(word) from None
        return self[word]

    def _spelled(self, opcode: str, modifiers: tuple[str, ...]) -> Spelled:
        written = opcode_path.ordered(spellings(), opcode, modifiers)
        state = opcode_path.walk(spellings(), opcode, written)
        candidates: dict[int, list[tuple[Choice, tuple[Typed, ...]]]] = {}
        for pattern in check.patterns(state):
            if pattern.made is not None:
                continue
            available = self._has(pattern.form, state.modifiers)
            choice = Choice(pattern.form, available)
            for count in range(pattern.least, len(pattern.given) + 1):
                candidates.setdefault(count, []).append((choice, pattern.given[:count]))
        return Spelled(state.modifiers, candidates)

    def _has(self, form: Form, modifiers: tuple[str, ...]) -> bool:
        try:
            available.require(form, modifiers, self._target, self._version)
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
    written = _CODES.get(type(operand))
    return written(operand) if written else None


def _address(operand: Address) -> str | None:
    base, offset = operand.base, operand.offset
    if operand.unified:
        return None
    if isinstance(base, Register) and abs(offset) < 1 << 31:
        return _ADDRESS_CODES[base.dtype][offset != 0]
    return f"[{_place(base)}+{offset}]" if isinstance(base, Variable | Parameter) else None


def _place(of: Variable | Parameter) -> str:
    """Everything of a variable or parameter that a check looks at."""
    if isinstance(of, Variable):
        return f"{of.space} {of.size} {of.align}"
    return f"parameter {of.size} {of.alignment}"


def _registers(operands: Sequence[Operand], written: str) -> str | None:
    dtypes = [f".{each.dtype}" for each in operands if isinstance(each, Register)]
    return written.format("".join(dtypes)) if len(dtypes) == len(operands) else None


_CODES: Final[dict[type, Callable[[Any], str | None]]] = {
    int: lambda _: "0",
    Register: lambda register: f".{register.dtype}",
    Immediate: lambda constant: f"0{constant.dtype} {constant.bits:x}",
    SpecialRegister: lambda special: f"%{special.name}",
    Address: _address,
    Symbol: lambda symbol: _place(symbol.of),
    Label: lambda _: ":",
    Negated: lambda negated: f"!.{negated.register.dtype}",
    Sink: lambda _: "_",
    Pair: lambda pair: _registers((pair.first, pair.second), "|{}"),
    Vector: lambda vector: _registers(vector.elements, "{{{}}}"),
}
"""The code of an operand by its type."""
