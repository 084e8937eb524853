"""What the words of lines mean in one scope: the usual operands, read without tokens."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from pyptx._frozen import constructor
from pyptx._ir import Guard
from pyptx._isa.given import Raw
from pyptx._isa.special import SPECIAL
from pyptx._operands import (
    Address,
    Immediate,
    Label,
    Pair,
    Parameter,
    Register,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
)
from pyptx._text.scopes import Declared, FlatBody, Name
from pyptx._text.shapes import Word, code, word_of
from pyptx._text.unit import Unit
from pyptx.errors import IsaError
from pyptx.types import DTYPES, f32, f64, pred

_make_address: Final = constructor(Address)

_DIGITS: Final = "0123456789"
_ADDRESS: Final = re.compile(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?(?:0|[1-9]\d{0,8})))?\s*\]", re.ASCII)
_LABEL: Final = re.compile(r"\$[\w$]+", re.ASCII)
_INTEGER: Final = re.compile(r"-?(?:0|[1-9]\d{0,18}|0[xX][0-9a-fA-F]{1,15})", re.ASCII)
_FLOAT: Final = re.compile(r"0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))")
_REGISTER_CODES: Final = {dtype: f".{dtype}" for dtype in DTYPES.values()}


def _constant(text: str) -> int | Immediate | None:
    if _INTEGER.fullmatch(text):
        value = int(text, 0)
        return value if abs(value) < 1 << 63 else None
    found = _FLOAT.fullmatch(text)
    if found is None:
        return None
    single, double = found.groups()
    return Immediate(int(single or double, 16), f32 if single else f64)


Meaning: TypeAlias = tuple[Word, str]
"""The operand that a word is, and its code."""


class Words(dict[str, Meaning]):
    """What the words of operands mean, and the guards.

    A word is read when it is first looked up: KeyError where that takes the grammar, and where it
    names what is not declared in this scope.
    """

    def __init__(self, flat: FlatBody, unit: Unit) -> None:
        super().__init__()
        self._flat = flat
        self._unit = unit
        self._names = flat.scope.names
        self._ranges = flat.scope.ranges
        self._scopes_around = flat.scopes[-2::-1]
        self.guards: dict[str, Guard] = {}

    def __missing__(self, word: str) -> Meaning:
        register = self.register(word)
        if register is not None:
            made = self[word] = register, _REGISTER_CODES[register.dtype]
            return made
        operand = self._operand(word)
        if operand is None or (found := code(operand)) is None:
            raise KeyError(word)
        made = self[word] = operand, found
        return made

    def keep(self, text: str, raw: Raw) -> None:
        """Remember what the text of an operand means, where that is all that matters of it."""
        operand = word_of(raw)
        if operand is not None and (found := code(operand)) is not None:
            self[text] = operand, found

    def forget(self) -> None:
        """Forget all: a declaration may give another meaning to what has been read."""
        self.clear()
        self.guards.clear()

    def register(self, name: str) -> Register | None:
        """A register that this scope declares, made where it is named for the first time."""
        found = self._names.get(name)
        if found is not None:
            return found if type(found) is Register else self._named_first(name, found)
        base = name.rstrip(_DIGITS)
        ranged = self._ranges.get(base)
        if ranged is None:
            return self._around(name) if self._scopes_around else None
        digits = name[len(base) :]
        if not digits or (digits[0] == "0" and digits != "0") or len(digits) > 9:
            return None
        dtype, count = ranged
        if int(digits) >= count:
            return None
        made = self._names[name] = self._flat.register(dtype, name)
        return made

    def _around(self, name: str) -> Register | None:
        """A register that a scope around this one has and that has been named before."""
        if any(map(name.startswith, self._ranges)):
            return None
        for scope in self._scopes_around:
            found = scope.names.get(name)
            if found is not None:
                return found if isinstance(found, Register) else None
            if any(map(name.startswith, scope.ranges)):
                return None
        return None

    def _named_first(self, name: str, found: Name) -> Register | None:
        if type(found) is not Declared or found.count > 1:
            return None
        made = self._names[name] = self._flat.register(found.dtype, name)
        return made

    def guard(self, word: str) -> Guard:
        """The guard that a first word is. KeyError where that takes the grammar."""
        found = self.guards.get(word)
        if found is None:
            mark = word[1:2] == "!"
            register = self.register(word[1 + mark :])
            if register is None or register.dtype is not pred:
                raise KeyError(word)
            found = self.guards[word] = Guard(register, mark)
        return found

    # ---- operands that are no registers ----------------------------------------------------------

    def _operand(self, text: str) -> Word | None:
        match text[:1]:
            case "[":
                return self._address(text)
            case "{":
                return self._vector(text)
            case "$":
                return self._label(text) or self._symbol(text)
            case "%":
                return self._pair(text) if "|" in text else self._special(text)
            case "-" | "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9":
                return _constant(text)
            case _:
                return self._symbol(text)

    def _address(self, text: str) -> Address | None:
        found = _ADDRESS.fullmatch(text)
        if found is None:
            return None
        base = self.register(found[1]) or self._memory(found[1])
        return _make_address(base, int(found[2] or 0), False) if base else None

    def _symbol(self, name: str) -> Symbol | None:
        of = self._memory(name)
        return Symbol(of) if of else None

    def _memory(self, name: str) -> Variable | Parameter | None:
        """What is declared in memory by a name, in this scope, around it or in the module."""
        for scope in reversed(self._flat.scopes):
            found = scope.names.get(name)
            if found is not None:
                return found if isinstance(found, Variable | Parameter) else None
            if any(map(name.startswith, scope.ranges)):
                return None
        variable = self._unit.variables.get(name)
        if variable is not None:
            self._flat.used.add(variable)
        return variable

    def _special(self, text: str) -> SpecialRegister | None:
        name = text[1:]
        if name not in SPECIAL or self._declares(text.partition(".")[0]):
            return None
        try:
            self._unit.require_special(name)
        except IsaError:
            return None
        return SpecialRegister(name, SPECIAL[name].dtype)

    def _vector(self, text: str) -> Vector | None:
        found = self._registers(text[1:-1].split(",")) if text[-1] == "}" else None
        return Vector(found) if found else None

    def _pair(self, text: str) -> Pair | None:
        found = self._registers(text.split("|"))
        return Pair(*found) if found and len(found) == 2 else None

    def _registers(self, names: list[str]) -> tuple[Register, ...] | None:
        found: list[Register] = []
        for name in names:
            register = self.register(name.strip())
            if register is None:
                return None
            found.append(register)
        return tuple(found)

    def _label(self, name: str) -> Label | None:
        if not _LABEL.fullmatch(name) or self._declares(name):
            return None
        return self._flat.seen(name).label

    def _declares(self, name: str) -> bool:
        """Whether a name may stand for something else than a label."""
        return name in self._unit or any(
            name in scope.names or any(map(name.startswith, scope.ranges))
            for scope in self._flat.scopes
        )
