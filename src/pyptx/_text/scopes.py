"""A body while it is read: its scopes, and the flat lists of registers, labels and statements.

Scopes disappear: registers become unique objects, numbered in the order in which the body first
names them, and labels are numbered in the order of their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from pyptx._frozen import constructor
from pyptx._ir import Instruction, Line, Place, Statement
from pyptx._operands import (
    CallTargets,
    Label,
    Parameter,
    Prototype,
    Register,
    Targets,
    Variable,
)
from pyptx._text.lexer import Source
from pyptx.types import DType

_make_register: Final = constructor(Register)
_NOWHERE: Final = -1


@dataclass(frozen=True, slots=True)
class Declared:
    """A register that is declared and not named yet; `count` of them are a vector."""

    dtype: DType
    count: int = 1


Name: TypeAlias = (
    Register
    | Variable
    | Parameter
    | Targets
    | Prototype
    | CallTargets
    | Declared
    | tuple[Register, ...]
)
"""What a name of a scope stands for."""


@dataclass(slots=True)
class Seen:
    """A label that a scope has named.

    `labels` stand for it in operands, one for each scope that named it: they get their number when
    it is placed. `offset` is where a token named it first; usual lines do not say where.
    """

    name: str
    labels: list[Label]
    offset: int | None

    @property
    def label(self) -> Label:
        return self.labels[0]

    @property
    def placed(self) -> bool:
        return is_placed(self.label)

    def place(self, index: int) -> None:
        """Number the label."""
        for label in self.labels:
            object.__setattr__(label, "index", index)  # the body is not there yet to be frozen


def is_placed(label: Label) -> bool:
    """Whether a label of a body that is being read has been placed already."""
    return label.index != _NOWHERE


@dataclass(slots=True)
class Scope:
    """The names that are declared in a scope, and the labels that it names."""

    names: dict[str, Name] = field(default_factory=dict[str, Name])
    ranges: dict[str, tuple[DType, int]] = field(default_factory=dict[str, tuple[DType, int]])
    labels: dict[str, Seen] = field(default_factory=dict[str, Seen])

    def in_range(self, name: str) -> bool:
        """Whether a range declares a name: `%r12` is one of `%r<20>`."""
        for split in range(len(name.rstrip("0123456789")), len(name)):
            ranged, digits = self.ranges.get(name[:split]), name[split:]
            plain = len(digits) < 10 and (digits[0] != "0" or digits == "0")
            if ranged is not None and plain and int(digits) < ranged[1]:
                return True
        return False


class FlatBody:
    """What has been read of a body. Statements come in order, and so do registers and labels."""

    def __init__(self) -> None:
        self.scopes = [Scope()]
        self.registers: list[Register] = []
        self.register_names: list[str] = []
        self.used: set[Variable] = set()
        """The variables of the module that the body names."""
        self.statements: list[Statement] = []
        self.label_names: list[str] = []
        self.pending: list[str | Line] = []
        """The pragmas and `.loc` lines that stand before the next instruction."""
        self.line: Line | None = None
        """The `.loc` line that holds for the next instruction."""

    @property
    def scope(self) -> Scope:
        """The innermost scope."""
        return self.scopes[-1]

    def close(self) -> None:
        """Close a scope: labels that it names and does not place are of a scope around it."""
        inner = self.scopes.pop().labels
        outer = self.scope.labels
        for name, seen in inner.items():
            if seen.placed:
                continue
            same = outer.setdefault(name, seen)
            if same.placed:
                seen.place(same.label.index)
            elif same is not seen:
                same.labels += seen.labels

    def register(self, dtype: DType, name: str) -> Register:
        """A new register."""
        made = _make_register(len(self.registers), dtype)
        self.registers.append(made)
        self.register_names.append(name)
        return made

    def seen(self, name: str, offset: int | None = None) -> Seen:
        """A label that the innermost scope names."""
        labels = self.scope.labels
        found = labels.get(name)
        if found is None:
            found = labels[name] = Seen(name, [Label(_NOWHERE)], offset)
        return found

    def first_named(self, seen: Seen, source: Source) -> int:
        """The offset at which a label was named first."""
        if seen.offset is not None:
            return seen.offset
        labels = {id(label) for label in seen.labels}
        line = next(
            each.location.line
            for each in self.statements
            if isinstance(each, Instruction) and not labels.isdisjoint(map(id, each.operands))
        )
        return source.text.index(seen.name, source.starts[line - 1])

    def place(self, seen: Seen) -> None:
        """Place a label behind what has been read."""
        seen.place(len(self.label_names))
        self.label_names.append(seen.name)
        self.statements.append(Place(seen.label))

    def nowhere(self) -> Iterator[Seen]:
        """The labels of the whole body that are named and never placed."""
        return (seen for seen in self.scopes[0].labels.values() if not seen.placed)

    def add_intermediate(self, place: tuple[int, ...]) -> bool:
        """Add a place to the `.loc` line before it, or to the one that holds here; if there is."""
        found = [i for i, each in enumerate(self.pending) if isinstance(each, Line)]
        line = self.pending[found[-1]] if found else self.line
        if not isinstance(line, Line):
            return False
        if found:
            self.pending[found[-1]] = replace(line, intermediate=(*line.intermediate, place))
        else:
            self.pending.append(replace(line, intermediate=(place,), before=()))
        return True

    def take_pending(self) -> tuple[str, ...]:
        """The pragmas before the next instruction; lines before it become the one that it has."""
        *before, last = [each for each in self.pending if isinstance(each, Line)] or [None]
        if last is not None:
            self.line = replace(last, before=tuple(before))
        pragmas = tuple(each for each in self.pending if isinstance(each, str))
        self.pending.clear()
        return pragmas
