"""From an opcode and its modifiers to the forms that they may be, and how spellings are written."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import Final

from pyptx._isa import rounding
from pyptx._isa.automaton import State
from pyptx._isa.model import Form
from pyptx._near import near_names
from pyptx.errors import IsaError


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
    near = near_names(opcode, opcodes, cutoff=0.5)
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
    if near := near_names(modifier, state.next, 1):
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
    if state.opcode in ("red", "atom") and modifier == "f32" and {"min", "max"} & {*wanted}:
        bits = "reg.from_(v, b32), in a Tile of s32"
        notes.append(("help", f"of floats from 0 on, .s32 of their bits, {bits}"))
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


def incomplete(state: State) -> IsaError:
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
