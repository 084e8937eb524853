"""Sample instructions: the spellings of a form, and operands that fit each.

For whoever needs an instruction of every form: the proof against the assembler, the round trip
through text, the emulator's coverage.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count, product
from typing import Final, cast

from pyptx._isa.constants import constant
from pyptx._isa.model import PARTS, Form, OperandSpec, Option
from pyptx._isa.operand_types import length_of, type_of
from pyptx._isa.special import SPECIAL
from pyptx._isa.syntax import takes_constant
from pyptx._operands import (
    Address,
    FabricHandle,
    Immediate,
    Label,
    Minus,
    Negated,
    Operand,
    Pair,
    Parameter,
    Part,
    Register,
    Sink,
    Symbol,
    Targets,
    TensorAddress,
    Variable,
    Vector,
)
from pyptx.types import DTYPES, DType

VARIABLES: Final = {
    space: Variable(index, space, size=1024, align=128, name=f"{space}_bytes")
    for index, space in enumerate(("const", "global", "local", "shared"))
}
"""The variable of each state space that samples name."""

PARAMETER: Final = Parameter(0, DTYPES["u64"], "parameter")
"""The kernel parameter that samples name."""

LABEL: Final = Label(0)
"""The label that samples branch to."""

_ATTEMPTS: Final = 300


# ---- modifiers ----------------------------------------------------------------------------------


def combinations(form: Form) -> int:
    """How many combinations of modifiers a form has before its rules."""
    total = 1
    for slot in form.slots:
        total *= len(slot.options) + (not slot.required)
    return total


def spellings(form: Form) -> Iterator[tuple[str, ...]]:
    """All modifiers that a form allows, in the order of the table."""
    choices = ((*(() if s.required else (None,)), *s.options) for s in form.slots)
    for options in product(*choices):
        chosen = {s.name: o for s, o in zip(form.slots, options, strict=True) if o is not None}
        if form.allows(chosen):
            yield _names(form, chosen)


def sample(form: Form, size: int, generator: random.Random) -> list[tuple[str, ...]]:
    """Modifiers that between them use every option, and `size` in all where that takes fewer.

    Everything, where a form has no more than `size` spellings. Raises ValueError for an option
    that no spelling can have.
    """
    if combinations(form) <= size:
        return list(spellings(form))
    found = dict.fromkeys([least(form)])
    found |= dict.fromkeys(least(form, o.name, s.name) for s in form.slots for o in s.options)
    for _ in range(size * 4):
        if len(found) >= size:
            break
        chosen = _random(form, generator, {}, absent=0.5)
        if form.allows(chosen):
            found[_names(form, chosen)] = None
    return list(found)


def least(form: Form, option: str | None = None, slot: str | None = None) -> tuple[str, ...]:
    """The shortest modifiers a form allows, with `option` of `slot` among them."""
    fixed = {s.name: o for s in form.slots if s.name == slot for o in s.options if o.name == option}
    generator = random.Random(0)  # noqa: S311 (repeatable on purpose)
    for attempt in range(_ATTEMPTS):
        chosen = _random(form, generator, fixed, absent=1 - attempt / _ATTEMPTS, first=not attempt)
        if form.allows(chosen):
            return _names(form, chosen)
    raise ValueError(f"{form.syntax}: no spelling has .{option}")


def _random(
    form: Form,
    generator: random.Random,
    fixed: dict[str, Option],
    *,
    absent: float,
    first: bool = False,
) -> dict[str, Option]:
    chosen: dict[str, Option] = {}
    for slot in form.slots:
        if slot.name in fixed:
            chosen[slot.name] = fixed[slot.name]
        elif slot.required or generator.random() >= absent:
            chosen[slot.name] = slot.options[0] if first else generator.choice(slot.options)
    return chosen


def _names(form: Form, chosen: dict[str, Option]) -> tuple[str, ...]:
    return tuple(chosen[s.name].name for s in form.slots if s.name in chosen)


# ---- operands -----------------------------------------------------------------------------------


def render(form: Form, modifiers: tuple[str, ...]) -> list[tuple[Operand, ...]]:
    """Operand lists that fit: the plainest first, then one for each other kind that is accepted.

    Registers are numbered from 0 in each list. Raises ValueError for modifiers of another form.
    """
    chosen = form.assign(modifiers)
    if chosen is None:
        raise ValueError(f"{form.syntax} has no spelling {'.'.join(modifiers)}")
    return operand_lists(form, chosen)


def operand_lists(form: Form, chosen: dict[str, Option]) -> list[tuple[Operand, ...]]:
    """The same for options that are already chosen, also for ones that the form does not have."""
    return list(dict.fromkeys(_Operands(chosen, v).all(form) for v in _VARIATIONS))


def plain(form: Form, chosen: dict[str, Option]) -> tuple[Operand, ...]:
    """The plainest of `operand_lists`."""
    return _Operands(chosen, _VARIATIONS[0]).all(form)


_VARIATIONS: Final = (
    "plain",
    "full",
    "parts",
    "immediate",
    "special",
    "symbol",
    "sink",
    "wider",
    "narrow address",
    "variable",
)


class _Operands:
    """Makes the operands of one instruction, all in the way that `variation` says."""

    def __init__(self, chosen: dict[str, Option], variation: str) -> None:
        self._chosen = chosen
        self._variation = variation
        self._numbers = count()

    def all(self, form: Form) -> tuple[Operand, ...]:
        specs = (s for s in form.operands if s.when is None or s.when in self._chosen)
        return tuple(self._one(s) for s in specs if not s.optional or self._variation == "full")

    def _register(self, dtype: DType) -> Register:
        return Register(next(self._numbers), dtype)

    def _one(self, spec: OperandSpec) -> Operand:
        if spec.kind == "address":
            return self._address(spec)
        if spec.kind == "sink":
            return Sink()
        if spec.kind == "label":
            return LABEL
        if spec.kind == "labels":
            return Targets((LABEL,))
        dtype = type_of(spec, self._chosen)
        if spec.kind == "tensor":
            return self._tensor(spec, dtype)
        if spec.kind == "fabric":
            endpoint = self._register(dtype)
            offsets = (self._register(type_of(each, self._chosen)) for each in spec.inner)
            return FabricHandle(endpoint, tuple(offsets))
        if spec.kind == "immediate":
            return _immediate(spec, dtype)
        if spec.second and (spec.second == "required" or self._variation == "full"):
            first = Sink() if self._is("sink", spec) else self._first(spec, dtype)
            return Pair(first, self._register(DTYPES["pred"]))
        return self._first(spec, dtype)

    def _first(self, spec: OperandSpec, dtype: DType) -> Register | Vector:
        """An operand without a second destination."""
        length = length_of(spec, self._chosen)
        if length > 1 or spec.braces:
            return self._vector(spec, dtype, length)
        return cast("Register", self._scalar(spec, dtype))

    def _tensor(self, spec: OperandSpec, dtype: DType) -> TensorAddress:
        tensor_map = Address(self._register(DTYPES["u64"]))
        inside = [s for s in spec.inner if not s.optional or self._variation == "full"]
        between = tuple(self._first(each, type_of(each, self._chosen)) for each in inside)
        length = length_of(spec, self._chosen)
        return TensorAddress(tensor_map, self._vector(spec, dtype, length), between)

    def _is(self, kind: str, spec: OperandSpec) -> bool:
        return self._variation == kind and kind in spec.accepts

    def _vector(self, spec: OperandSpec, dtype: DType, length: int) -> Vector:
        first = [self._register(DTYPES[spec.first])] if spec.first else []
        elements = first + [self._register(dtype) for _ in range(length - len(first))]
        return Vector((*elements[:-1], Sink()) if self._is("sink", spec) else tuple(elements))

    def _scalar(self, spec: OperandSpec, dtype: DType) -> Operand:
        if self._is("immediate", spec) and takes_constant(dtype.name):
            return _immediate(spec, dtype)
        if self._is("special", spec) and dtype.bits in (32, 64) and not dtype.is_float:
            return SPECIAL["tid.x" if dtype.bits == 32 else "clock64"].operand
        if self._is("symbol", spec) and not dtype.is_float:
            named = self._of_space()
            near = isinstance(named, Variable) and named.space == "shared"
            if dtype.bits == 64 or (dtype.bits == 32 and near):
                return Symbol(named)
        if self._is("sink", spec):
            return Sink()
        if self._variation == "wider" and spec.wider and dtype.bits < 64 and not dtype.is_float:
            return self._register(DTYPES["b32" if dtype.bits < 32 else "b64"])
        register = self._register(dtype)
        if spec.parts or spec.minus:
            return self._decorated(spec, register)
        return Negated(register) if spec.negatable and self._variation == "full" else register

    def _decorated(self, spec: OperandSpec, register: Register) -> Operand:
        """Parts of a register, the last and the first of those there are, and a minus."""
        selects = spec.partial or (spec.parts and self._variation in ("parts", "full"))
        legal = PARTS[spec.parts] if spec.parts else ()
        which = legal[-1 if self._variation == "full" else 0] if selects else ""
        operand = Part(register, which) if selects else register
        negated = spec.minus == "required" or (spec.minus and self._variation == "full")
        return Minus(operand) if negated else operand

    def _of_space(self) -> Variable | Parameter:
        space = self._chosen["space"].name if "space" in self._chosen else "global"
        space = space.partition("::")[0]
        return PARAMETER if space == "param" else VARIABLES.get(space, VARIABLES["global"])

    def _address(self, spec: OperandSpec) -> Address:
        named = (self._chosen[s].name if s in self._chosen else s for s in spec.spaces)
        space = next(iter(named)).partition("::")[0]
        if space == "param":
            return Address(PARAMETER)
        offset = 16 if self._variation == "full" else 0
        if space in VARIABLES and self._is("variable", spec):
            return Address(VARIABLES[space], offset)
        if space == "handle":
            return Address(self._register(DTYPES["u64"]))
        if space == "tmem":
            return Address(self._register(DTYPES["b32"]), offset)
        narrow = space == "shared" and self._variation == "narrow address"
        return Address(self._register(DTYPES["u32" if narrow else "u64"]), offset)


def _immediate(spec: OperandSpec, dtype: DType) -> Immediate:
    if spec.legal:
        return Immediate(spec.legal[0] if isinstance(spec.legal, range) else min(spec.legal), dtype)
    return constant(1, dtype)
