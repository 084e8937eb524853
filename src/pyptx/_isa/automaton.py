"""Opcode paths as states: a state is the set of forms that a spelling so far can still become.

The `ptx.inst` namespace, the parser and the reference all walk it. States are made when first
reached and kept, so `ptx.inst.fma.rn.f32` costs dictionary lookups.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TypeAlias

from pyptx._isa.model import Form, Option

_Position: TypeAlias = tuple[Form, int]


class State:
    """A spelling so far: which modifiers may follow, and the forms it completes."""

    __slots__ = ("__dict__", "_positions", "_table", "every", "modifiers", "opcode")

    def __init__(
        self,
        table: dict[tuple[str, tuple[str, ...]], State],
        opcode: str,
        modifiers: tuple[str, ...],
        positions: frozenset[_Position],
        every: tuple[Form, ...],
    ) -> None:
        self._table = table
        self.every = every
        """Every form of the opcode, reached by this spelling or not."""
        self._positions = positions
        self.opcode = opcode
        self.modifiers = modifiers

    @property
    def spelling(self) -> str:
        return ".".join((self.opcode, *self.modifiers))

    @cached_property
    def next(self) -> dict[str, State]:
        """The states after each modifier that may follow, in alphabetical order."""
        reached: defaultdict[str, set[_Position]] = defaultdict(set)
        for form, index in self._positions:
            if index < len(form.slots):
                for option in form.slots[index].options:
                    reached[option.name].add((form, index + 1))
        return {name: self._after(name, reached[name]) for name in sorted(reached)}

    def _after(self, name: str, positions: set[_Position]) -> State:
        modifiers = (*self.modifiers, name)
        key = (self.opcode, modifiers)
        if key not in self._table:
            self._table[key] = State(
                self._table, self.opcode, modifiers, _closure(positions), self.every
            )
        return self._table[key]

    @cached_property
    def forms(self) -> tuple[tuple[Form, dict[str, Option]], ...]:
        """The forms this spelling completes with the option in each slot, their rules satisfied."""
        return tuple((form, chosen) for form, chosen in self.complete if form.allows(chosen))

    @cached_property
    def complete(self) -> tuple[tuple[Form, dict[str, Option]], ...]:
        """The forms whose modifiers are all there, whether or not their rules hold."""
        ends = (form for form, index in self._positions if index == len(form.slots))
        found = ((form, form.assign(self.modifiers)) for form in sorted(ends, key=_order))
        return tuple((form, chosen) for form, chosen in found if chosen is not None)

    @cached_property
    def possible(self) -> tuple[Form, ...]:
        """Every form that still can be reached from here."""
        return tuple(sorted({form for form, _ in self._positions}, key=_order))


def _every(positions: set[_Position]) -> tuple[Form, ...]:
    return tuple(sorted((form for form, _ in positions), key=_order))


def _order(form: Form) -> tuple[str, int]:
    return form.syntax, len(form.operands)


def _closure(positions: set[_Position]) -> frozenset[_Position]:
    """Add the positions reached by leaving optional slots out."""
    reached = set(positions)
    for form, index in positions:
        for end in range(index, len(form.slots)):
            if form.slots[end].required:
                break
            reached.add((form, end + 1))
    return frozenset(reached)


def build(forms: tuple[Form, ...]) -> dict[str, State]:
    """The first state of each opcode."""
    table: dict[tuple[str, tuple[str, ...]], State] = {}
    by_opcode: defaultdict[str, set[_Position]] = defaultdict(set)
    for form in forms:
        by_opcode[form.opcode].add((form, 0))
    return {
        opcode: State(table, opcode, (), _closure(by_opcode[opcode]), _every(by_opcode[opcode]))
        for opcode in sorted(by_opcode)
    }
