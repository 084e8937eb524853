"""What one syntax line of the manual is: a form, its modifier slots and its operands.

Frozen data that validates itself when it is made. Rows are read into it by `isa.syntax`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Final

from pyptx._target import PtxVersion, Target, targets_of
from pyptx.types import DTYPES

ANY_VERSION: Final = PtxVersion(1, 0)
SPACES: Final = frozenset(
    ("const", "global", "local", "param", "shared", "generic", "tmem", "handle", "fabric")
)
WIDE: Final = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
"""The result type of a widening multiply, by operand type."""
PARTS: Final[dict[str, tuple[str, ...]]] = {
    "sel": ("b0", "b1", "b2", "b3", "h0", "h1"),
    "sel2": tuple(f"h{x}{y}" for x, y in product("0123", repeat=2)),
    "sel4": tuple(f"b{''.join(lanes)}" for lanes in product("01234567", repeat=4)),
    "mask2": ("h0", "h1", "h10"),
    "mask4": tuple(f"b{''.join(s)}" for n in range(1, 5) for s in combinations("3210", n)),
}
"""What an operand of a video instruction may select of a register: a byte or a half; lanes out of
the bytes or halves of two registers; lanes of the destination."""
PART_NAMES: Final = {
    "sel": ".b0 to .b3, .h0, .h1",
    "sel2": ".hxy, where x and y are 0 to 3: 0 and 1 are halves of a, 2 and 3 of b",
    "sel4": ".bxyzw, where each is 0 to 7: 0 to 3 are bytes of a, 4 to 7 of b",
    "mask2": ".h0 .h1 .h10",
    "mask4": ".b and one to four of the digits 3210, the greater first",
}
"""The same in words."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Targets (an expression of `pyptx.target`) and the first PTX version that have something."""

    sm: str = ""
    ptx: PtxVersion = ANY_VERSION

    def __post_init__(self) -> None:
        targets_of(self.sm)

    @property
    def targets(self) -> frozenset[Target]:
        return targets_of(self.sm)


EVERYWHERE: Final = Availability()


@dataclass(frozen=True, slots=True)
class Option:
    """One spelling a modifier slot can have, and where it exists beyond what its form needs."""

    name: str
    availability: Availability = EVERYWHERE


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one modifier; `name` is the manual's (`rnd`, `scope`) or the modifier itself."""

    name: str
    options: tuple[Option, ...]
    required: bool

    def __post_init__(self) -> None:
        if len({o.name for o in self.options}) != len(self.options) or not self.options:
            raise ValueError(f"slot {self.name} has no options or one twice")

    def option(self, name: str) -> Option | None:
        return next((o for o in self.options if o.name == name), None)


def slot_of(length: str) -> str:
    """The slot that a length is reckoned from."""
    return re.split(r"[-*/]", length)[0]


def length_in(length: str, modifier: str) -> int | None:
    """A length with the modifier that its slot has; None where that says no number.

    The number is the only one, or n of a shape: `v4`, `3d`, `x16`, `cta_group::2`, `m64n128k16`.
    """
    said = re.search(r"\dn(\d+)k", modifier) or re.search(r"(\d+)", modifier)
    if said is None:
        return None
    number = int(said[1])
    for operation, by in re.findall(r"([-*/])(\d+)", length):
        step = int(by)
        number = {"-": number - step, "*": number * step, "/": -(-number // step)}[operation]
    return number


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One operand of a form.

    kind      "value" (register or constant), "immediate", "address", "tensor" (a tensor map and
              coordinates, which have `type` and `length`), "fabric" (an endpoint and offsets),
              "sink", "label" or "labels"
    type      a dtype, the name of the slot that spells it, or `wide(T)`
    access    "in", "out" or "inout"
    length    1, a number of vector elements, or the slot that gives it (`vec`, `dim-2`, `num*4`,
              `num*3/4`; see `length_in`)
    braces    a vector is written as one even where it has one element
    first     the type of a vector's first element where the others have another
    spaces    for an address: state spaces, or the slot that spells the space
    align     for an address that is no access of the instruction's type: what it is a multiple of
    unified   for an address: `.unified` may stand behind it
    optional  may be left out at the end; `when` ties presence to a modifier slot instead
    wider     the register may be wider than the type (ld, st, cvt)
    whole     untyped bits that are an integer: a register of floats does not fit
    accepts   what it takes besides a register: "immediate", "special", "symbol", "sink"; an
              address "variable"
    second    for `d|p`: None, "optional" or "required"; the second is a predicate
    parts     which parts of the register may be selected, a key of PARTS, "" for none; `partial`
              where they have to be
    minus     for `-a`, which the instruction negates: None, "optional" or "required"
    inner     what stands between a tensor map and the coordinates, or the offsets of an endpoint
    legal     the values an immediate may have, None for every value of its type
    """

    name: str
    kind: str
    type: str
    access: str = "in"
    length: int | str = 1
    braces: bool = False
    first: str = ""
    spaces: tuple[str, ...] = ()
    align: int = 0
    unified: bool = False
    optional: bool = False
    when: str | None = None
    wider: bool = False
    whole: bool = False
    accepts: frozenset[str] = frozenset()
    second: str | None = None
    negatable: bool = False
    parts: str = ""
    partial: bool = False
    minus: str | None = None
    inner: tuple[OperandSpec, ...] = ()
    legal: frozenset[int] | range | None = None
    written: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.written

    @property
    def plainly(self) -> str:
        """As it is written without what may stand behind it."""
        return self.written.partition("{")[0] if self.unified else self.written


@dataclass(frozen=True, eq=False)
class Form:
    """One syntax line: an opcode, slots in manual order, operands, and where it exists.

    `rules` are implications over slots, each (condition, requirement), both of the form
    `slot`, `!slot`, `slot=a|b` or `slot?=a|b` (where the slot is filled at all): if the condition
    holds, so must the requirement.
    """

    opcode: str
    slots: tuple[Slot, ...]
    operands: tuple[OperandSpec, ...]
    availability: Availability = EVERYWHERE
    rules: tuple[tuple[str, str], ...] = ()
    chapter: str = ""
    section: str = ""
    summary: str = ""

    def __post_init__(self) -> None:
        if self.chapter:  # a checked row that gets its place in the manual
            return
        names = {slot.name for slot in self.slots}
        for operand in self.operands:
            self._check_operand(operand, names)
        for term in (term for rule in self.rules for term in rule):
            self._check_term(term, names)
        optional = [o.optional for o in self.operands]
        if optional != sorted(optional):
            raise ValueError(f"{self.syntax}: an optional operand stands before a required one")

    def _check_term(self, term: str, slots: set[str]) -> None:
        name, _, values = term.lstrip("!").partition("=")
        name = name.removesuffix("?")
        if name not in slots:
            raise ValueError(f"{self.syntax}: rule names no slot: {term}")
        known = {o.name for s in self.slots if s.name == name for o in s.options}
        if unknown := set(values.split("|")) - known - {""}:
            raise ValueError(f"{self.syntax}: rule names no option of {name}: {unknown}")

    def _check_operand(self, operand: OperandSpec, slots: set[str]) -> None:
        where = f"{self.syntax}: operand {operand.name}"
        for inner in operand.inner:
            self._check_operand(inner, slots)
        type_ = operand.type.removeprefix("wide(").removesuffix(")")
        if operand.kind in ("value", "immediate", "tensor") and type_ not in slots | DTYPES.keys():
            raise ValueError(f"{where} has unknown type {operand.type}")
        if isinstance(operand.length, str) and slot_of(operand.length) not in slots:
            raise ValueError(f"{where} has unknown length {operand.length}")
        if operand.when is not None and operand.when not in slots:
            raise ValueError(f"{where} is tied to unknown slot {operand.when}")
        if operand.parts and operand.parts not in PARTS:
            raise ValueError(f"{where} has unknown parts {operand.parts}")
        if unknown := {s for s in operand.spaces if s.partition("::")[0] not in slots | SPACES}:
            raise ValueError(f"{where} has unknown space {unknown}")

    @cached_property
    def syntax(self) -> str:
        """The modifiers and operands as the manual writes them."""
        parts = [f".{s.name}" if s.required else f"{{.{s.name}}}" for s in self.slots]
        operands = ", ".join(o.written for o in self.operands)
        return f"{self.opcode}{''.join(parts)}  {operands}".rstrip()

    @cached_property
    def outputs(self) -> tuple[OperandSpec, ...]:
        return tuple(o for o in self.operands if o.access != "in" and o.kind == "value")

    def assign(self, modifiers: tuple[str, ...]) -> dict[str, Option] | None:
        """Which slot each modifier fills, in order; None where they are not this form's."""
        if modifiers not in self._assigned:
            self._assigned[modifiers] = _assign(self.slots, modifiers)
        return self._assigned[modifiers]

    @cached_property
    def _assigned(self) -> dict[tuple[str, ...], dict[str, Option] | None]:
        return {}

    def allows(self, chosen: dict[str, Option]) -> bool:
        """Whether the chosen modifiers satisfy the form's rules."""
        return self.broken_rule(chosen) is None

    def broken_rule(self, chosen: dict[str, Option]) -> tuple[str, str] | None:
        """The first rule that the chosen modifiers break."""
        return next(
            (r for r in self.rules if _holds(r[0], chosen) and not _holds(r[1], chosen)), None
        )


def _assign(slots: tuple[Slot, ...], modifiers: tuple[str, ...]) -> dict[str, Option] | None:
    if not slots:
        return None if modifiers else {}
    slot, rest = slots[0], slots[1:]
    if modifiers and (option := slot.option(modifiers[0])):
        tail = _assign(rest, modifiers[1:])
        if tail is not None:
            return {slot.name: option, **tail}
    return None if slot.required else _assign(rest, modifiers)


def _holds(term: str, chosen: dict[str, Option]) -> bool:
    if term.startswith("!"):
        return not _holds(term[1:], chosen)
    slot, _, values = term.partition("=")
    if slot.removesuffix("?") not in chosen:
        return slot.endswith("?")
    slot = slot.removesuffix("?")
    return not values or chosen[slot].name in values.split("|")
