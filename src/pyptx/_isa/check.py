"""Binds operands to a form: which of a spelling's forms is meant, or what is wrong, what is legal.

Callers hand over operands whose numbers and vectors are still raw; they get the form, the final
operands and the destinations. Errors carry no location: the caller knows the user's line.
"""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from typing import Final, TypeAlias, cast

from pyptx._isa import rounding
from pyptx._isa.automaton import State
from pyptx._isa.constants import BadConstantError, constant
from pyptx._isa.model import (
    PART_NAMES,
    PARTS,
    WIDE,
    Availability,
    Form,
    OperandSpec,
    Option,
    length_in,
    slot_of,
)
from pyptx._isa.syntax import NAMED, takes_constant
from pyptx._operands import (
    Address,
    Arguments,
    CallTargets,
    FabricHandle,
    FunctionName,
    Immediate,
    Label,
    Minus,
    Negated,
    Operand,
    Pair,
    Parameter,
    Part,
    Prototype,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Targets,
    TensorAddress,
    Variable,
    Vector,
)
from pyptx._operands import Scalar as ScalarOperand
from pyptx._target import TARGETS, PtxVersion, Target, targets_of
from pyptx.errors import IsaError
from pyptx.types import DTYPES, DType, Kind, b64


@dataclass(frozen=True, slots=True)
class Number:
    """A constant as the user wrote it, before its type is known.

    An integer that `wraps` is converted to its type, as constants of PTX text are.
    """

    value: object
    wraps: bool = False


RawScalar: TypeAlias = Register | SpecialRegister | Symbol | Sink | Number | Immediate


@dataclass(frozen=True, slots=True)
class TensorPosition:
    """A tensor map, what stands behind it, and coordinates, as the user wrote them."""

    map: Address
    coordinates: tuple[RawScalar, ...]
    between: tuple[RawScalar | tuple[RawScalar, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class RawPair:
    """Destinations `first|second` of which the first is a vector, as the user wrote them."""

    first: tuple[RawScalar, ...]
    second: Register | Sink


Raw: TypeAlias = Operand | Number | TensorPosition | RawPair | tuple[RawScalar, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """A checked instruction: its form, its operands, and the destination that was made for it."""

    form: Form
    operands: tuple[Operand, ...]
    made: Register | Vector | None


class _MismatchError(Exception):
    """Why an operand list is not this form's. `depth` is how far it got: the farthest is shown."""

    def __init__(self, depth: int, problem: str, *notes: tuple[str, str]) -> None:
        super().__init__(problem)
        self.depth = depth
        self.problem = problem
        self.notes = notes


# ---- spelling -----------------------------------------------------------------------------------


def walk(opcodes: dict[str, State], opcode: str, modifiers: Sequence[str]) -> State:
    """The state of a whole spelling. Raises IsaError for an unknown opcode or modifier."""
    state = first(opcodes, opcode)
    for index, modifier in enumerate(modifiers):
        state = step(state, modifier, tuple(modifiers[index + 1 :]))
    return state


def ordered(opcodes: dict[str, State], opcode: str, modifiers: tuple[str, ...]) -> tuple[str, ...]:
    """The modifiers in the manual's order where some form has them, otherwise as they are."""
    state = opcodes.get(opcode)
    if state is None:
        return modifiers
    reached: State | None = state
    for modifier in modifiers:
        reached = reached and reached.next.get(modifier)
    return modifiers if reached else _in_order(state, modifiers) or modifiers


def first(opcodes: dict[str, State], opcode: str) -> State:
    """The state of an opcode without modifiers; IsaError names the nearest ones."""
    if opcode in opcodes:
        return opcodes[opcode]
    near = difflib.get_close_matches(opcode, opcodes, n=3, cutoff=0.5)
    notes = (("nearest", " ".join(near)),) if near else (("opcodes", " ".join(opcodes)),)
    raise IsaError(f"PTX has no instruction {opcode!r}", notes=notes)


def step(state: State, modifier: str, later: tuple[str, ...] = ()) -> State:
    """The state after one more modifier; IsaError says what may follow here."""
    after = state.next.get(modifier)
    if after is not None:
        return after
    wanted = (*state.modifiers, modifier, *later)
    without_rounding = rounding.missing(state.every, wanted)
    if without_rounding is not None and without_rounding.is_wrong:
        raise _needs_rounding(state.opcode, without_rounding)
    notes = [("legal here", _legal_after(state))]
    if near := difflib.get_close_matches(modifier, state.next, n=1, cutoff=0.6):
        notes.append(("nearest", f".{near[0]}"))
    ordered = _in_order(state, wanted)
    if without_rounding is not None and without_rounding.given:
        ordered = without_rounding.example
    if ordered:
        written = ".".join((state.opcode, *ordered))
        raise IsaError(
            f"the modifiers of {state.opcode}.{'.'.join(wanted)} are out of order",
            notes=(("write", python_spelling(written)),),
        )
    missing = _missing(state, wanted)
    if without_rounding is not None and (missing is None or len(without_rounding.slots) > 1):
        raise _needs_rounding(state.opcode, without_rounding)
    if missing is not None:
        form, slot = missing
        options = " ".join(f".{o.name}" for s in form.slots if s.name == slot for o in s.options)
        raise IsaError(
            f"{'.'.join((state.opcode, *wanted))} needs .{slot}",
            notes=((f"legal for .{slot}", options), ("form", form.syntax)),
        )
    raise IsaError(f"{state.spelling} has no modifier .{modifier} here", notes=tuple(notes))


def _needs_rounding(opcode: str, found: rounding.Missing) -> IsaError:
    spelled = ".".join((opcode, *found.modifiers))
    if not found.options:
        problem = f"{spelled} takes no rounding, and .{found.given} is one"
    elif found.given:
        problem = f"{spelled} has no rounding .{found.given}"
    else:
        problem = f"{spelled} needs a rounding"
    legal = " ".join(f".{option}" for option in found.options)
    forms = dict.fromkeys(form.syntax for form in found.forms)
    return IsaError(
        problem,
        notes=(
            *((("legal here", legal),) if legal else ()),
            ("write", python_spelling(".".join((opcode, *found.example))) + "(...)"),
            *(("form", syntax) for syntax in list(forms)[:3]),
        ),
    )


def _legal_after(state: State) -> str:
    options = " ".join(f".{name}" for name in state.next)
    return (
        f"{options} or the operands".lstrip()
        if state.complete and options
        else options or ("the operands: no modifier may follow")
    )


def _in_order(state: State, wanted: tuple[str, ...]) -> tuple[str, ...] | None:
    """The same modifiers in an order that some form has."""
    for form in _all_forms(state):
        used: list[str] = []
        rest = list(wanted)
        for slot in form.slots:
            chosen = next((m for m in rest if slot.option(m)), None)
            if chosen is not None:
                rest.remove(chosen)
                used.append(chosen)
        if not rest and form.assign(tuple(used)) is not None:
            return tuple(used)
    return None


def _missing(state: State, wanted: tuple[str, ...]) -> tuple[Form, str] | None:
    """A form that has all the modifiers in order, and the one required slot they leave empty."""
    for form in _all_forms(state):
        empty: list[str] = []
        rest = list(wanted)
        for slot in form.slots:
            if rest and slot.option(rest[0]):
                rest.pop(0)
            elif slot.required:
                empty.append(slot.name)
        if not rest and len(empty) == 1:
            return form, empty[0]
    return None


def _all_forms(state: State) -> tuple[Form, ...]:
    return state.possible


def python_spelling(spelling: str) -> str:
    """How a PTX spelling is written in Python: `ld.global.f32` as `ptx.inst.ld.global_.f32`."""
    return "ptx.inst." + ".".join(python_name(part) for part in spelling.split("."))


def python_name(part: str) -> str:
    """One opcode or modifier as a Python attribute."""
    name = part.replace("::", "__").replace(":", "_")
    if name[0].isdigit():
        return f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def ptx_name(attribute: str) -> str:
    """The opcode or modifier that a Python attribute spells."""
    name = attribute[:-1] if attribute.endswith("_") and not attribute.endswith("__") else attribute
    if name.startswith("_") and name[1:2].isdigit():
        name = name[1:]
    return _RATIO.sub(":", name.replace("__", "::"))


_RATIO: Final = re.compile(r"(?<=::\d)_(?=\d+$)")
"""What stands for the colon of `sp::2:4` in Python."""


# ---- availability -------------------------------------------------------------------------------


def availability(form: Form, modifiers: tuple[str, ...]) -> tuple[frozenset[Target], PtxVersion]:
    """The targets that have this spelling of a form, and the first PTX version that has it."""
    return _combine(_parts(form, modifiers))


def _parts(form: Form, modifiers: tuple[str, ...]) -> list[Availability]:
    chosen = form.assign(modifiers) or {}
    return [form.availability, *(option.availability for option in chosen.values())]


def _combine(parts: Sequence[Availability]) -> tuple[frozenset[Target], PtxVersion]:
    targets = reduce(frozenset[Target].intersection, (part.targets for part in parts))
    return targets, max(part.ptx for part in parts)


def require(
    form: Form, modifiers: tuple[str, ...], target: Target | None, version: PtxVersion | None
) -> PtxVersion:
    """Check that target and version have the instruction; the PTX version it needs.

    A target or version of None is not checked. Raises IsaError that names what has it.
    """
    spelling = ".".join((form.opcode, *modifiers))
    return require_parts(spelling, _parts(form, modifiers), target, version)


def require_parts(
    what: str,
    parts: Sequence[Availability],
    target: Target | None,
    version: PtxVersion | None,
) -> PtxVersion:
    """`require` for anything whose availability is the meeting of `parts`."""
    targets, needed = _combine(parts)
    if target is not None and target not in targets:
        raise IsaError(
            f"{target} does not have {what}",
            notes=(("targets that do", availability_note(targets)),),
        )
    if version is not None and version < needed:
        raise IsaError(
            f"PTX {version} does not have {what}",
            notes=(
                ("first in", f"PTX {needed}"),
                ("help", f"kernel(version=({needed.major}, {needed.minor}))"),
            ),
        )
    return needed


def availability_note(targets: frozenset[Target]) -> str:
    """The targets, in the table's order, for a message."""
    for first in TARGETS:
        if not first.suffix and targets == targets_of(str(first)):
            return f"{first} and later"
    return " ".join(str(t) for t in TARGETS if t in targets) or "none that is known"


_OFFSETS: Final = range(-(2**31), 2**31)


# ---- operands -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Typed:
    """An operand of a spelling: what its row says, with types, length and state spaces worked out.

    A register of type `exact` fits as it is; None where that takes a closer look. `access` is how
    many bytes the instruction reads or writes at an address, 0 where it does neither or where its
    type does not tell; `align` what the address is a multiple of.
    """

    spec: OperandSpec
    dtype: DType
    length: int
    spaces: tuple[str, ...]
    access: int
    align: int
    exact: DType | None
    inner: tuple[Typed, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A form of a spelling and the operands to hand over: all of them, or all but the destination.

    `made` is the destination that gets a new register, None where it is among `given`.
    """

    form: Form
    made: Typed | None
    given: tuple[Typed, ...]
    least: int

    def takes(self, count: int) -> bool:
        """Whether so many operands can be the given ones."""
        return self.least <= count <= len(self.given)


@cache
def patterns(state: State) -> tuple[Pattern, ...]:
    """Every way to call a spelling, in the order in which they are tried.

    Those with the destination given come first: `max.f32 d, a, b` is not the form of three sources.
    A destination that is left out is thrown away only where the spelling has no other.
    """
    full: list[Pattern] = []
    short: list[Pattern] = []
    thrown: list[Pattern] = []
    for form, chosen in state.forms:
        specs = [o for o in form.operands if o.when is None or o.when in chosen]
        typed = tuple(_typed(spec, chosen) for spec in specs)
        least = sum(not spec.optional for spec in specs)
        full.append(Pattern(form, None, typed, least))
        if specs and specs[0].access == "out" and not specs[0].partial:
            made = thrown if specs[0].kind == "sink" else short
            made.append(Pattern(form, typed[0], typed[1:], least - 1))
    return (*full, *short, *thrown)


def _typed(spec: OperandSpec, chosen: dict[str, Option]) -> Typed:
    dtype = b64 if spec.kind in (*NAMED, "sink") else type_of(spec, chosen)
    length = length_of(spec, chosen)
    scalar = length == 1 and not spec.braces and spec.second != "required"
    plain = scalar and not spec.partial and spec.minus != "required"
    exact = dtype if plain and spec.kind == "value" else None
    access = _access(chosen) if spec.kind == "address" and not spec.align else 0
    align = spec.align or access
    inner = tuple(_typed(each, chosen) for each in spec.inner)
    return Typed(spec, dtype, length, _spaces(spec, chosen), access, align, exact, inner)


def _access(chosen: dict[str, Option]) -> int:
    """Bytes of a memory access: the last modifier is its type, slot vec the number of elements."""
    *_, last = (option.name for option in chosen.values())
    count = int(chosen["vec"].name[1:]) if "vec" in chosen else 1
    return DTYPES[last].bytes * count if last in DTYPES else 0


def bind(
    state: State, raw: Sequence[Raw], fresh: Callable[[DType], Register] | None = None
) -> Bound:
    """Choose the form of a spelling that takes these operands.

    With `fresh`, the destination may be left out: new registers are made for it. Raises IsaError.
    """
    worst: tuple[Pattern, _MismatchError] | None = None
    count = len(raw)
    for pattern in patterns(state):
        if pattern.takes(count) and (pattern.made is None or fresh is not None):
            try:
                return _match(pattern, raw, fresh)
            except _MismatchError as mismatch:
                if worst is None or mismatch.depth > worst[1].depth:
                    worst = pattern, mismatch
    if worst is None:
        raise _not_called_so(state, count, without=fresh is not None)
    raise _rejected(state, worst[1].problem, worst[1].notes)


def _match(
    pattern: Pattern, raw: Sequence[Raw], fresh: Callable[[DType], Register] | None
) -> Bound:
    operands: list[Operand] = []
    for depth, (typed, value) in enumerate(zip(pattern.given, raw, strict=False), 1):
        if type(value) is Register and value.dtype is typed.exact:
            operands.append(value)
        else:
            operands.append(_operand(typed, value, depth))
    if pattern.made is None:
        return Bound(pattern.form, tuple(operands), None)
    # Made only once everything else fits, so that a form that fails leaves no trace.
    if pattern.made.spec.kind == "sink":
        return Bound(pattern.form, (Sink(), *operands), None)
    assert fresh is not None
    made = _make(pattern.made, fresh)
    return Bound(pattern.form, (made, *operands), made)


def _make(typed: Typed, fresh: Callable[[DType], Register]) -> Register | Vector:
    if typed.length == 1 and not typed.spec.braces:
        return fresh(typed.dtype)
    return Vector(tuple(fresh(typed.dtype) for _ in range(typed.length)))


def _not_called_so(state: State, count: int, *, without: bool) -> IsaError:
    """No form of the spelling takes so many operands, or the spelling is no instruction yet."""
    if not state.forms:
        return _incomplete(state)
    wanted = [p for p in patterns(state) if p.made is None]
    numbers = sorted({n for p in wanted for n in range(p.least, len(p.given) + 1)})
    spelled = _either(numbers)
    noun = "operand" if numbers == [1] else "operands"
    left = sorted({n for p in patterns(state) if p.made for n in range(p.least, len(p.given) + 1)})
    rest = f" ({_either(left)} without the destination)" if without and left else ""
    return _rejected(state, f"takes {spelled} {noun}{rest}, not {count}", ())


def _either(numbers: Sequence[int]) -> str:
    *head, last = map(str, numbers)
    return f"{', '.join(head)} or {last}" if head else last


def _rejected(state: State, problem: str, notes: tuple[tuple[str, str], ...]) -> IsaError:
    full = (p.given for p in patterns(state) if p.made is None)
    operands = dict.fromkeys(", ".join(t.spec.plainly for t in given) for given in full)
    shown = [("form", f"{state.spelling}  {each}".rstrip()) for each in list(operands)[:4]]
    return IsaError(f"{state.spelling}: {problem}", notes=(*notes, *shown))


def _incomplete(state: State) -> IsaError:
    if state.complete:
        form, chosen = state.complete[0]
        rule = form.broken_rule(chosen)
        assert rule is not None
        return IsaError(
            f"{state.spelling}: {_phrase(rule[0])} needs {_phrase(rule[1])}",
            notes=(("form", form.syntax),),
        )
    return IsaError(
        f"{state.spelling} is not complete", notes=(("legal here", _legal_after(state)),)
    )


def _phrase(term: str) -> str:
    if term.startswith("!"):
        return f"no {_phrase(term[1:])}"
    slot, _, values = term.partition("=")
    return " or ".join(f".{v}" for v in values.split("|")) if values else f".{slot}"


def type_of(spec: OperandSpec, chosen: dict[str, Option]) -> DType:
    """The type of an operand once the modifiers are chosen."""
    if spec.type.startswith("wide("):
        inner = spec.type[5:-1]
        return DTYPES[WIDE[chosen[inner].name if inner in chosen else inner]]
    return DTYPES[chosen[spec.type].name if spec.type in chosen else spec.type]


def length_of(spec: OperandSpec, chosen: dict[str, Option]) -> int:
    """How many elements an operand has once the modifiers are chosen."""
    if isinstance(spec.length, int):
        return spec.length
    slot = slot_of(spec.length)
    return (length_in(spec.length, chosen[slot].name) or 1) if slot in chosen else 1


def _operand(typed: Typed, raw: Raw, depth: int) -> Operand:
    spec = typed.spec
    if spec.kind not in ("value", "immediate"):
        return _OTHERS[spec.kind](typed, raw, depth)
    if isinstance(raw, Pair | RawPair):
        return _pair(typed, raw, depth)
    if typed.length > 1 or spec.braces:
        return _vector(spec, typed.dtype, typed.length, raw, depth)
    if isinstance(raw, tuple) and len(raw) == 1:
        raw = raw[0]
    if isinstance(raw, Part | Minus) or spec.partial or spec.minus == "required":
        return _decorated(spec, typed.dtype, raw, depth)
    if spec.second == "required":
        raise _MismatchError(
            depth,
            f"{spec.name} must be a pair d|p, not {describe(raw)}",
            ("help", "ptx.pair(d, p) is a pair of destinations; `|` is the instruction or"),
        )
    if isinstance(raw, Symbol) and typed.spaces and _space(raw.of) not in typed.spaces:
        raise _MismatchError(
            depth, f"{spec.name} must be in .{typed.spaces[0]}, not in .{_space(raw.of)}"
        )
    return _scalar(spec, typed.dtype, raw, depth)


def operand(typed: Typed, raw: Raw) -> Operand | None:
    """What an operand is where a spelling has this one, None where it does not fit."""
    try:
        return _operand(typed, raw, 0)
    except _MismatchError:
        return None


def _label(typed: Typed, raw: Raw, depth: int) -> Label:
    if isinstance(raw, Label):
        return raw
    raise _MismatchError(depth, f"{typed.spec.name} must be a label, not {describe(raw)}")


def _targets(typed: Typed, raw: Raw, depth: int) -> Targets:
    if isinstance(raw, Targets):
        return raw
    raise _MismatchError(depth, f"{typed.spec.name} must be a list of labels, not {describe(raw)}")


def _function(typed: Typed, raw: Raw, depth: int) -> FunctionName:
    if isinstance(raw, FunctionName):
        return raw
    raise _MismatchError(depth, f"{typed.spec.name} must be a function, not {describe(raw)}")


def _arguments(typed: Typed, raw: Raw, depth: int) -> Arguments:
    if isinstance(raw, Arguments):
        return raw
    raise _MismatchError(
        depth, f"{typed.spec.name} must be in parentheses, ({typed.spec.name}), not {describe(raw)}"
    )


def _prototype(typed: Typed, raw: Raw, depth: int) -> Prototype | CallTargets:
    if isinstance(raw, Prototype | CallTargets):
        return raw
    raise _MismatchError(
        depth,
        f"{typed.spec.name} must be a .callprototype or .calltargets list, not {describe(raw)}",
    )


def _sink(typed: Typed, raw: Raw, depth: int) -> Sink:
    if isinstance(raw, Sink):
        return raw
    raise _MismatchError(
        depth,
        f"the destination must be {typed.spec.written}, not {describe(raw)}",
        ("help", "leave it out, or write ptx.sink"),
    )


def _vector(spec: OperandSpec, dtype: DType, length: int, raw: Raw, depth: int) -> Vector:
    elements: tuple[object, ...]
    if isinstance(raw, tuple):
        elements = raw
    elif isinstance(raw, Vector):
        elements = raw.elements
    else:
        raise _MismatchError(depth, f"{spec.name} must be a list of {length}, not {describe(raw)}")
    if len(elements) != length:
        raise _MismatchError(
            depth, f"{spec.name} must be a list of {length} elements, not {len(elements)}"
        )
    if spec.first:
        first = _element(spec, DTYPES[spec.first], elements[0], depth)
        rest = _vector(replace(spec, first=""), dtype, length - 1, elements[1:], depth)
        return Vector((first, *rest.elements))
    vector = Vector(tuple(_element(spec, dtype, e, depth) for e in elements))
    _check_mixture(spec, vector, depth)
    return vector


def _check_mixture(spec: OperandSpec, vector: Vector, depth: int) -> None:
    """Registers of one vector have one width, and floats do not stand beside integers."""
    dtypes = {e.dtype for e in vector.elements if isinstance(e, Register)}
    floats = {d for d in dtypes if DTYPES[d.storage].is_float}
    numbers = any(isinstance(e, Immediate) and not e.dtype.is_float for e in vector.elements)
    mixed = floats and (numbers or any(d.is_integer for d in dtypes))
    if mixed or len({d.bits for d in dtypes}) > 1:
        names = " and ".join([*sorted(f".{d}" for d in dtypes), *(["integer"] * numbers)])
        raise _MismatchError(
            depth,
            f"the elements of {spec.name} are {names}; they need one type",
            ("help", "reg.array(dtype, n) makes registers of one type"),
        )


def _element(spec: OperandSpec, dtype: DType, raw: object, depth: int) -> ScalarOperand:
    operand = _scalar(spec, dtype, raw, depth)
    if isinstance(operand, Register | Immediate | SpecialRegister | Sink):
        return operand
    raise _MismatchError(depth, f"{spec.name} cannot hold {describe(raw)}")


def _pair(typed: Typed, raw: Pair | RawPair, depth: int) -> Pair:
    spec, first = typed.spec, raw.first
    if spec.second is None:
        raise _MismatchError(depth, f"{spec.name} takes no second destination")
    if isinstance(first, Sink) and isinstance(raw.second, Sink):
        raise _MismatchError(depth, f"{spec.name} is _|_; one of the two must be a register")
    if isinstance(raw.second, Register) and raw.second.dtype.kind is not Kind.PREDICATE:
        raise _MismatchError(depth, f"the second destination of {spec.name} must be a predicate")
    if typed.length > 1 or spec.braces or isinstance(first, tuple | Vector):
        return Pair(_vector(spec, typed.dtype, typed.length, first, depth), raw.second)
    if isinstance(first, Register) and not agrees(typed.dtype, first.dtype, wider=False):
        raise _wrong_type(spec, typed.dtype, first, depth)
    return Pair(first, raw.second)


def _decorated(spec: OperandSpec, dtype: DType, raw: object, depth: int) -> Part | Minus:
    """A source with a minus, or parts of a register, or both."""
    if isinstance(raw, Minus):
        if spec.minus is None:
            helps = ("help", "negate it first: ptx.inst.neg.s32(r)")
            raise _MismatchError(depth, f"{spec.name} cannot be negated here", helps)
        of = raw.of
        inside = _part(spec, dtype, of, depth) if isinstance(of, Part) else of
        if isinstance(inside, Register) and not agrees(dtype, inside.dtype, wider=False):
            raise _wrong_type(spec, dtype, inside, depth)
        return Minus(inside)
    if spec.minus == "required":
        raise _MismatchError(depth, f"{spec.name} must be negated, ptx.minus({spec.name})")
    if isinstance(raw, Part):
        return _part(spec, dtype, raw, depth)
    raise _MismatchError(
        depth,
        f"{spec.name} must be a part of a register, not {describe(raw)}",
        ("help", f'ptx.part({spec.name}, "{PARTS[spec.parts][0]}")'),
    )


def _part(spec: OperandSpec, dtype: DType, raw: Part, depth: int) -> Part:
    if not spec.parts:
        raise _MismatchError(depth, f"{spec.name} must be a whole register, not {describe(raw)}")
    if raw.lanes not in PARTS[spec.parts]:
        raise _MismatchError(
            depth, f"{spec.name} has no part .{raw.lanes}", ("legal", PART_NAMES[spec.parts])
        )
    if not agrees(dtype, raw.register.dtype, wider=False):
        raise _wrong_type(spec, dtype, raw.register, depth)
    return raw


def _scalar(spec: OperandSpec, dtype: DType, raw: object, depth: int) -> Operand:
    if isinstance(raw, Register) and spec.kind == "value":
        floats = spec.whole and DTYPES[raw.dtype.storage].is_float
        if agrees(dtype, raw.dtype, wider=spec.wider) and not floats:
            return raw
        raise _wrong_type(spec, dtype, raw, depth)
    if isinstance(raw, Immediate):
        return _bits(spec, dtype, raw, depth)
    if isinstance(raw, Number):
        return _constant(spec, dtype, _converted(raw, dtype), depth)
    if isinstance(raw, Negated) and spec.negatable:
        return raw
    if isinstance(raw, Sink) and "sink" in spec.accepts:
        return raw
    if isinstance(raw, SpecialRegister):
        return _special(spec, dtype, raw, depth)
    if (
        isinstance(raw, Symbol | FunctionName)
        and "symbol" in spec.accepts
        and _holds_address(dtype)
    ):
        return raw
    what = "a constant" if spec.kind == "immediate" else f"a .{dtype} register"
    notes = (
        (("help", "negate it first: ptx.inst.not_.pred(p)"),) if isinstance(raw, Negated) else ()
    )
    raise _MismatchError(depth, f"{spec.name} must be {what}, not {describe(raw)}", *notes)


def _holds_address(dtype: DType) -> bool:
    return dtype.bits in (32, 64) and (dtype.is_integer or dtype.is_bits)


def _special(
    spec: OperandSpec, dtype: DType, special: SpecialRegister, depth: int
) -> SpecialRegister:
    if "special" not in spec.accepts:
        raise _MismatchError(
            depth,
            f"{spec.name} cannot be the special register %{special.name}",
            ("help", f"reg.from_(ptx.special.{special.name}(), {special.dtype})"),
        )
    if not agrees(dtype, special.dtype, wider=spec.wider):
        raise _MismatchError(
            depth,
            f"%{special.name} is .{special.dtype}, {spec.name} is .{dtype}",
            ("help", f"ptx.inst.mov.{special.dtype}(ptx.special.{special.name}())"),
        )
    return special


_LEFT_OUT: Final = "leave the destination out to get a new register of the right type"


def _converted(number: Number, dtype: DType) -> object:
    """Source: PTX ISA, "Integer Constants": each is converted to the size where it is used."""
    value = number.value
    if not number.wraps or not isinstance(value, int) or dtype.kind in (Kind.FLOAT, Kind.PREDICATE):
        return value
    low = 0 if dtype.kind is Kind.UNSIGNED else -(1 << (dtype.bits - 1))
    high = 1 << (dtype.bits - 1 if dtype.is_signed else dtype.bits)
    return value if low <= value < high else (value - low) % (1 << dtype.bits) + low


def _constant(spec: OperandSpec, dtype: DType, value: object, depth: int) -> Immediate:
    takes = takes_constant(dtype.name) or spec.type == "pred"
    if spec.kind == "value" and ("immediate" not in spec.accepts or not takes):
        helps = f"put it in a register: reg.scalar({dtype}, init={value!r})"
        raise _MismatchError(
            depth,
            f"{spec.name} must be a .{dtype} register, not the constant {value!r}",
            (
                "help",
                helps if spec.access == "in" else _LEFT_OUT,
            ),
        )
    try:
        immediate = constant(value, dtype)
    except BadConstantError as error:
        raise _MismatchError(depth, f"{spec.name}: {error}") from None
    # Of a predicate, every number but 0 would be 1.
    found = value if dtype.kind is Kind.PREDICATE else immediate.bits
    if spec.legal is not None and found not in spec.legal:
        raise _MismatchError(
            depth, f"{spec.name} must be {_legal_values(spec.legal)}, not {value!r}"
        )
    return immediate


def _bits(spec: OperandSpec, dtype: DType, raw: Immediate, depth: int) -> Immediate:
    """A constant that is spelled as the bits of a float: for that type, or untyped of its width."""
    if spec.legal is not None and raw.bits not in spec.legal:
        raise _MismatchError(
            depth, f"{spec.name} must be {_legal_values(spec.legal)}, not {raw.bits}"
        )
    fits = raw.dtype == dtype or (dtype.is_bits and dtype.bits == raw.dtype.bits)
    constant_here = spec.kind == "immediate" or (spec.type == "pred" and spec.accepts)
    if fits and (constant_here or dtype.kind is not Kind.PREDICATE):
        return raw
    raise _MismatchError(depth, f"{spec.name} must be .{dtype}, not a .{raw.dtype} constant")


def _legal_values(legal: frozenset[int] | range) -> str:
    if isinstance(legal, range):
        every = f"a multiple of {legal.step} from " if legal.step > 1 else ""
        return f"{every}{legal[0]} to {legal[-1]}"
    return " or ".join(str(v) for v in sorted(legal))


def _wrong_type(spec: OperandSpec, dtype: DType, register: Register, depth: int) -> _MismatchError:
    return _MismatchError(
        depth,
        f"{spec.name} must be a .{dtype} register, not a .{register.dtype} one",
        ("help", conversion(dtype, register.dtype) if spec.access == "in" else _LEFT_OUT),
    )


def conversion(to: DType, source: DType) -> str:
    """How to write a conversion of a register, for a message."""
    if to.kind is Kind.PREDICATE:
        return "compare: r != 0 is a predicate"
    if source.kind is Kind.PREDICATE:
        return f"choose by the predicate: ptx.inst.selp.b{max(to.bits, 16)}(1, 0, p)"
    into, out_of = (f"u{d.bits}" if d.is_bits else d.name for d in (to, source))
    if into == out_of or not {into, out_of} <= _CONVERTIBLE:
        return f"make a register of the type: reg.scalar({to})"
    rounding = ""
    if to.is_float and (not source.is_float or source.bits >= to.bits):
        rounding = ".rn"
    elif source.is_float and not to.is_float:
        rounding = ".rzi"
    return f"convert it: ptx.inst.cvt{rounding}.{into}.{out_of}(r)"


_CONVERTIBLE: Final = frozenset(
    ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16", "f32", "f64")
)


def agrees(instruction: DType, register: DType, *, wider: bool) -> bool:
    """Whether a register may stand where an instruction has this type.

    Source: PTX ISA, "Type Information for Instructions and Operands" and "Operand Size Exceeding
    Instruction-Type Size".
    """
    if instruction == register:
        return True
    if Kind.PREDICATE in (instruction.kind, register.kind):
        return False
    if register.bits != instruction.bits:
        whole = Kind.BITS, Kind.UNSIGNED, Kind.SIGNED
        return (
            wider
            and register.bits > instruction.bits
            and register.bits <= 64
            and register.kind in whole
            and instruction.kind in whole
        )
    if instruction.is_bits or register.is_bits:
        return True
    return instruction.is_integer and register.is_integer


def _tensor(typed: Typed, raw: Raw, depth: int) -> TensorAddress:
    spec = typed.spec
    if not isinstance(raw, TensorAddress | TensorPosition):
        what = "a tensor map" if spec.name == "tensorMap" else "a handle"
        raise _MismatchError(
            depth,
            f"{spec.name} must be {what} with coordinates, not {describe(raw)}",
            ("help", f"ptx.addr({'handle' if what == 'a handle' else 'tensor_map'}, [x, y])"),
        )
    if not isinstance(raw.map.base, Register) or raw.map.offset:
        raise _MismatchError(
            depth,
            f"{spec.name} must be the generic address of a tensor map in one register",
            ("help", "add an offset to the register, and convert a variable's address with cvta"),
        )
    name = "tensorCoords" if spec.name == "tensorMap" else "the coordinate"
    coordinates = _vector(
        replace(spec, name=name, kind="value"),
        typed.dtype,
        typed.length,
        raw.coordinates,
        depth,
    )
    return TensorAddress(_address(typed, raw.map, depth), coordinates, _between(typed, raw, depth))


def _between(
    typed: Typed, raw: TensorAddress | TensorPosition, depth: int
) -> tuple[ScalarOperand | Vector, ...]:
    """What stands between a tensor map or handle and the coordinates."""
    inner = typed.inner
    if not sum(not each.spec.optional for each in inner) <= len(raw.between) <= len(inner):
        raise _MismatchError(
            depth,
            f"{typed.spec.name} must be {typed.spec.written}, not with {len(raw.between)} operands "
            "in front of the coordinates",
        )
    bound = (_operand(each, given, depth) for each, given in zip(inner, raw.between, strict=False))
    return tuple(cast("ScalarOperand | Vector", each) for each in bound)


def _fabric(typed: Typed, raw: Raw, depth: int) -> FabricHandle:
    spec, inner = typed.spec, typed.inner
    if not isinstance(raw, FabricHandle):
        names = ", ".join((spec.name, *(each.spec.name for each in inner)))
        raise _MismatchError(
            depth,
            f"{spec.written} must be a handle of the fabric, not {describe(raw)}",
            ("help", f"ptx.fabric_handle({names})"),
        )
    if len(raw.offsets) != len(inner):
        problem = f"{spec.written} has {len(inner)} offsets, not {len(raw.offsets)}"
        raise _MismatchError(depth, problem)
    endpoint = _scalar(replace(spec, kind="value"), typed.dtype, raw.endpoint, depth)
    offsets = (_scalar(t.spec, t.dtype, r, depth) for t, r in zip(inner, raw.offsets, strict=True))
    return FabricHandle(cast("Register", endpoint), cast("tuple[Register, ...]", tuple(offsets)))


def _address(typed: Typed, raw: Raw, depth: int) -> Address:
    spec, spaces = typed.spec, typed.spaces
    if isinstance(raw, Register):
        raw = Address(raw)
    if isinstance(raw, Symbol):
        raw = Address(raw.of, raw.offset)
    if not isinstance(raw, Address):
        raise _MismatchError(depth, f"{spec.name} must be an address, not {describe(raw)}")
    base = raw.base
    if raw.unified:
        _check_unified(typed, base, depth)
    if raw.offset and spaces == ("handle",):
        raise _MismatchError(depth, f"{spec.name} is a handle, which has no offset")
    if raw.offset not in _OFFSETS:
        raise _MismatchError(
            depth,
            f"the offset {raw.offset} of {spec.name} does not fit 32 bits",
            ("help", "add it to the register: ptx.addr(base + offset)"),
        )
    if isinstance(base, Variable | Parameter):
        if "variable" not in spec.accepts:
            raise _MismatchError(
                depth,
                f"{spec.name} must be an address in a register",
                ("help", "ptx.inst.mov.u32(variable) is its address in shared memory"),
            )
        space = _space(base)
        if space not in spaces:
            raise _MismatchError(
                depth, f"{spec.name} must be an address in .{' or .'.join(spaces)}, not in .{space}"
            )
        _check_position(typed, base, raw.offset, depth)
    elif isinstance(base, Register):
        _check_base(spec, spaces, base.dtype, depth)
    else:
        _check_absolute(spec, spaces, typed.align, base.bits + raw.offset, depth)
    return raw


def _check_unified(
    typed: Typed, base: Register | Variable | Parameter | Immediate, depth: int
) -> None:
    """What `.unified` behind an address needs (PTX ISA, "ld")."""
    spec = typed.spec
    if not spec.unified or not {"global", "generic"} & set(typed.spaces):
        raise _MismatchError(
            depth,
            f"{spec.name} cannot be .unified here",
            ("legal", "weak loads of global memory: ld.global.f32 d, [a].unified"),
        )
    if isinstance(base, Variable) and not any(a.startswith("unified") for a in base.attributes):
        raise _MismatchError(
            depth,
            f"{spec.name} is .unified, and {base.name} is not",
            ("write", f".attribute(.unified(1, 2)) in the declaration of {base.name}"),
        )


_OTHERS: Final[dict[str, Callable[[Typed, Raw, int], Operand]]] = {
    "address": _address,
    "tensor": _tensor,
    "fabric": _fabric,
    "label": _label,
    "labels": _targets,
    "function": _function,
    "arguments": _arguments,
    "prototype": _prototype,
    "sink": _sink,
}
"""What binds an operand that is no value, by its kind."""


def _space(of: Variable | Parameter) -> str:
    return of.space if isinstance(of, Variable) else "param"


def _spaces(spec: OperandSpec, chosen: dict[str, Option]) -> tuple[str, ...]:
    if "symbol" in spec.accepts and "space" in chosen:
        return (chosen["space"].name.split("::")[0],)
    names: list[str] = []
    for space in spec.spaces:
        option = chosen.get(space)
        names.append((option.name if option else space).split("::")[0])
    known = ("const", "global", "local", "param", "shared", "tmem", "handle", "fabric")
    return tuple(name if name in known else "generic" for name in names)


def _check_position(typed: Typed, base: Variable | Parameter, offset: int, depth: int) -> None:
    """An access at a constant offset of a variable or parameter must be aligned and inside."""
    spec, access, needed = typed.spec, typed.access, typed.align
    if not needed:
        return
    align = base.align if isinstance(base, Variable) else base.alignment
    size = base.size or offset + access  # the size of an external array is not known here
    named = (
        f"{base.name or f'the {base.space} memory'}" if isinstance(base, Variable) else base.name
    )
    if access and not 0 <= offset <= size - access:
        raise _MismatchError(
            depth,
            f"{spec.name} is {access} bytes at offset {offset} of {named}, which has {size} bytes",
        )
    if offset % needed:
        raise _misaligned(spec, needed, f"offset {offset} of {named}", depth)
    if align % needed:
        raise _MismatchError(
            depth,
            f"{spec.name} needs {needed}-byte alignment, and {named} has {align}",
            ("help", f"smem.alloc(..., align={needed})"),
        )


def _misaligned(spec: OperandSpec, align: int, where: str, depth: int) -> _MismatchError:
    what = f"{spec.name} needs" if spec.align else f"an access of {align} bytes needs"
    return _MismatchError(
        depth,
        f"{spec.name} is misaligned: {where} is no multiple of {align}",
        ("help", f"{what} an address that is a multiple of {align}"),
    )


def _check_absolute(
    spec: OperandSpec, spaces: tuple[str, ...], align: int, position: int, depth: int
) -> None:
    if spaces != ("local",):
        raise _MismatchError(
            depth,
            f"{spec.name} cannot be a number: only .local has constant addresses",
            ("help", "put it in a register: ptx.addr(reg.from_(address, u64))"),
        )
    if align and position % align:
        raise _misaligned(spec, align, str(position), depth)


def _check_base(spec: OperandSpec, spaces: tuple[str, ...], dtype: DType, depth: int) -> None:
    whole = dtype.is_integer or dtype.is_bits
    if spaces == ("handle",):
        if dtype.bits != 64 or not whole:
            raise _MismatchError(
                depth, f"{spec.name} is a handle and needs a 64-bit register, not a .{dtype} one"
            )
        return
    if spaces == ("tmem",):
        # tcgen05.mma does not assemble with registers of 32-bit integers; what has one address does
        if dtype.bits != 32 or not (whole if spec.name == "taddr" else dtype.is_bits):
            raise _MismatchError(
                depth,
                f"{spec.name} is an address in Tensor Memory and needs a .b32 register, "
                f"not a .{dtype} one",
                ("help", "ptx.inst.mov.b32(r)"),
            )
        return
    if not whole or dtype.bits not in (32, 64):
        raise _MismatchError(
            depth, f"{spec.name} needs a 64-bit address register, not a .{dtype} one"
        )
    if dtype.bits == 32 and not set(spaces) & {"shared", "local", "param", "const"}:
        raise _MismatchError(
            depth, f"an address in .{spaces[0]} needs a 64-bit register, not a .{dtype} one"
        )


_DESCRIPTIONS: dict[type, str] = {
    Label: "a label",
    Targets: "a list of labels",
    Negated: "a negated predicate",
    Minus: "a negated register",
    Pair: "a pair",
    RawPair: "a pair",
    FabricHandle: "a handle of the fabric",
    Sink: "the sink _",
    Symbol: "the address of a variable",
    Address: "an address",
    TensorAddress: "a position in a tensor",
    TensorPosition: "a position in a tensor",
    FunctionName: "a function",
    Arguments: "a list of arguments",
    Prototype: "a prototype",
    CallTargets: "a list of functions",
}


def describe(raw: object) -> str:
    """What an operand is, in words."""
    if isinstance(raw, Register):
        return f"a .{raw.dtype} register"
    if isinstance(raw, Number):
        return f"the constant {raw.value!r}"
    if isinstance(raw, Part):
        return f"part .{raw.lanes} of a .{raw.register.dtype} register"
    if isinstance(raw, SpecialRegister):
        return f"%{raw.name}"
    if isinstance(raw, tuple):
        return f"a list of {len(cast('tuple[object, ...]', raw))}"
    if isinstance(raw, Vector):
        return f"a list of {len(raw.elements)}"
    return _DESCRIPTIONS.get(type(raw), repr(raw))
