"""What the words of lines mean in one scope: the usual operands, read without tokens."""

from __future__ import annotations

import re
from collections.abc import Container, Generator
from contextlib import contextmanager
from typing import Final

from pyptx.ir import Guard
from pyptx.isa.check import Raw
from pyptx.operands import (
    Address,
    Immediate,
    Label,
    Pair,
    Parameter,
    Register,
    Variable,
    Vector,
)
from pyptx.text.lexer import Token
from pyptx.text.quick import constructor
from pyptx.text.scopes import Declared, FlatBody, Name
from pyptx.text.shapes import ENDS, Word, code, word_of
from pyptx.types import DTYPES, DType, f32, pred

_make_address: Final = constructor(Address)

_DIGITS: Final = "0123456789"
_ADDRESS: Final = re.compile(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?(?:0|[1-9]\d{0,8})))?\s*\]", re.ASCII)
_LABEL: Final = re.compile(r"\$[\w$]+", re.ASCII)
_INTEGER: Final = re.compile(r"-?(?:0|[1-9]\d{0,17})", re.ASCII)
_FLOAT: Final = re.compile(r"0[fF]([0-9a-fA-F]{8})")
_REGISTER_CODES: Final[dict[DType, tuple[str, ...]]] = {
    dtype: tuple(f".{dtype}{end}" for end in ENDS) for dtype in DTYPES.values()
}


def _constant(text: str) -> int | Immediate | None:
    if _INTEGER.fullmatch(text):
        return int(text)
    found = _FLOAT.fullmatch(text)
    return Immediate(int(found[1], 16), f32) if found else None


class Words(dict[str, Word]):
    """The operands that words are, with the comma or semicolon behind them, and their codes.

    A word is read when it is first looked up: KeyError where that takes the grammar, and where it
    names what is not declared in this scope. A name that may be a label needs to be `located`.
    """

    def __init__(self, flat: FlatBody, of_module: Container[str]) -> None:
        super().__init__()
        self._flat = flat
        self._of_module = of_module
        self._names = flat.scope.names
        self._ranges = flat.scope.ranges
        self._start: int | None = None
        self._line = ""
        self.codes: dict[str, str] = {}
        self.guards: dict[str, Guard] = {}

    def __missing__(self, word: str) -> Word:
        name, end = word[:-1], word[-1]
        if end not in ENDS:
            raise KeyError(word)
        register = self.register(name)
        if register is None:
            return self._other(name, word)
        first, last = f"{name},", f"{name};"
        self.codes[first], self.codes[last] = _REGISTER_CODES[register.dtype]
        self[first] = self[last] = register
        return register

    def keep(self, text: str, raw: Raw) -> None:
        """Remember what the text of an operand means, where that is all that matters of it."""
        operand = word_of(raw)
        if operand is None or (found := code(operand)) is None:
            return
        for end in ENDS:
            self[text + end] = operand
            self.codes[text + end] = found + end

    def forget(self) -> None:
        """Forget all: a declaration may give another meaning to what has been read."""
        self.clear()
        self.codes.clear()
        self.guards.clear()

    def register(self, name: str) -> Register | None:
        """A register that this scope declares, made where it is named for the first time."""
        found = self._names.get(name)
        if type(found) is Register:
            return found
        if found is not None:
            return self._named_first(name, found)
        base = name.rstrip(_DIGITS)
        ranged = self._ranges.get(base)
        if ranged is None:
            return None
        digits = name[len(base) :]
        if not digits or (digits[0] == "0" and digits != "0") or len(digits) > 9:
            return None
        dtype, count = ranged
        if int(digits) >= count:
            return None
        made = self._names[name] = self._flat.register(dtype, name)
        return made

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

    @contextmanager
    def located(self, line: str, start: int) -> Generator[None]:
        """While the words are those of a line that begins at an offset."""
        self._line, self._start = line, start
        try:
            yield
        finally:
            self._start = None

    # ---- operands that are no registers ----------------------------------------------------------

    def _other(self, text: str, word: str) -> Word:
        operand = self._operand(text)
        if operand is None or (found := code(operand)) is None:
            raise KeyError(word)
        self.codes[word] = found + word[-1]
        self[word] = operand
        return operand

    def _operand(self, text: str) -> Word | None:
        match text[:1]:
            case "[":
                return self._address(text)
            case "{":
                return self._vector(text)
            case "$":
                return self._label(text)
            case "%":
                return self._pair(text)
            case _:
                return _constant(text)

    def _address(self, text: str) -> Address | None:
        found = _ADDRESS.fullmatch(text)
        if found is None:
            return None
        name, offset = found.groups()
        base = self.register(name) or self._names.get(name)
        if isinstance(base, Register | Parameter | Variable):
            return _make_address(base, int(offset or 0))
        return None

    def _vector(self, text: str) -> Vector | None:
        found = self._registers(text[1:-1].split(",")) if text[-1] == "}" else None
        return Vector(found) if found and len(found) > 1 else None

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
        if self._start is None or not _LABEL.fullmatch(name) or self._declares(name):
            return None
        token = Token("name", name, self._start + self._line.index(name))
        return self._flat.seen(token).label

    def _declares(self, name: str) -> bool:
        """Whether a name may stand for something else than a label."""
        return name in self._of_module or any(
            name in scope.names or any(map(name.startswith, scope.ranges))
            for scope in self._flat.scopes
        )
