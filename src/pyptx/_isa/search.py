"""Searches the table: by spelling, by words of what an instruction does, by what was meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from pyptx._isa.available import availability_note
from pyptx._isa.forms.calls import FORMS
from pyptx._isa.model import Availability, Form, Option
from pyptx._isa.opcode_path import ptx_name
from pyptx._isa.table import forms, opcodes
from pyptx._near import near_names
from pyptx._target import PtxVersion, Target
from pyptx.errors import IsaError

_SMALLEST: Final = 3
"""Letters that a word has at least without its ending."""

_ENDINGS: Final = (
    *("ations", "ation", "ating", "ates", "ated", "ate", "tions", "tion", "ting", "tes", "ted"),
    *("te", "ies", "ing", "es", "ed", "s", "y", "e"),
)

_EVERYDAY: Final[dict[str, tuple[str, ...]]] = {
    "shuffle": ("shfl",),
    "ballot": ("vote",),
    "fast": ("approx",),
    "exp": ("ex2",),
    "exponential": ("ex2",),
    "log": ("lg2",),
    "sqrtf": ("sqrt",),
    "divide": ("div",),
    "modulo": ("rem",),
    "popcount": ("popc",),
    "ternary": ("selp",),
    "compare": ("setp", "set"),
    "atomic": ("atom", "red"),
    "cas": ("cas",),
    "syncthreads": ("bar", "barrier"),
    "syncwarp": ("bar",),
    "threadfence": ("membar", "fence"),
    "tma": ("cp",),
    "float": ("f32", "f64"),
    "double": ("f64",),
    "half": ("f16",),
    "bfloat16": ("bf16",),
    "int": ("s32", "u32"),
}
"""Words of CUDA C++ and of mathematics, by the words of PTX that say the same."""

_ELSEWHERE: Final = {
    "printf": "ptx.printf(format, ...) prints",
    "malloc": "smem.alloc and ptx.local make memory of a kernel; a tensor comes from the caller",
}
"""What is no instruction of the table, and where it is instead."""


@dataclass(frozen=True, slots=True)
class Found:
    """The forms that match, in the table's order; `modifiers` where a whole spelling was asked.

    Of everyday words, the forms of the opcodes that these mean come first.
    """

    forms: tuple[Form, ...]
    modifiers: tuple[str, ...] | None


def find(words: Sequence[str], target: Target | None, version: PtxVersion | None) -> Found:
    """Forms that words match, of those that a target and a PTX version have.

    A whole spelling matches its forms, the beginning of one those that it can become, an opcode
    all of its own that have the other words, and other words what says them. Raises IsaError with
    the nearest words where there is nothing.
    """
    words = [each for word in words for each in word.split()]
    parts = [ptx_name(part) for word in words for part in _parts(word)]
    found = _matching(parts)
    if not found.forms:
        raise IsaError(f"no instruction matches {' '.join(words)}", notes=_near(parts))
    kept = tuple(f for f in found.forms if has(f, found.modifiers, target, version))
    if not kept:
        raise _not_there(words, found, target, version)
    return Found(kept, found.modifiers)


def _parts(word: str) -> list[str]:
    """The parts of a spelling: `ptx.inst.ld.global_` and `.v4` too."""
    parts = [part for part in word.split(".") if part]
    return parts[2:] if parts[:2] == ["ptx", "inst"] else parts


def _matching(parts: Sequence[str]) -> Found:
    if not parts:
        return Found((), None)
    opcode, modifiers = parts[0], tuple(parts[1:])
    own = [f for f in forms() if f.opcode == opcode] or [f for f in FORMS if f.opcode == opcode]
    exact = [f for f in own if modifiers and _spells(f, modifiers)]
    if exact:
        return Found(tuple(exact), modifiers)
    begun = _begun(opcode, modifiers) if modifiers else ()
    found = begun or tuple(f for f in own if all(_matches(f, part) for part in modifiers))
    if not found:
        found = tuple(f for f in forms() if all(_matches(f, part) for part in parts))
    if not found:
        meant = [f for f in forms() if all(_means(f, part) for part in parts)]
        said = {word for part in parts for word in _EVERYDAY.get(part.lower(), ())}
        found = tuple(sorted(meant, key=lambda f: f.opcode not in said))
    return Found(found, None)


def _means(form: Form, part: str) -> bool:
    """Whether a form has a word, or what an everyday word says."""
    everyday = _EVERYDAY.get(part.lower(), ())
    if any(word == form.opcode or word in _options(form) for word in everyday):
        return True
    return _matches(form, part)


def _spells(form: Form, modifiers: tuple[str, ...]) -> bool:
    chosen = form.assign(modifiers)
    return chosen is not None and form.allows(chosen)


def _begun(opcode: str, modifiers: tuple[str, ...]) -> tuple[Form, ...]:
    """The forms that modifiers are the beginning of, in the table's order."""
    state = opcodes().get(opcode)
    for modifier in modifiers:
        state = state.next.get(modifier) if state else None
    possible = set(state.possible) if state else set[Form]()
    return tuple(f for f in forms() if f in possible)


def _matches(form: Form, part: str) -> bool:
    return (
        form.opcode == part
        or part in _options(form)
        or stem(part.lower()) in _said(form)
        or (len(part) > _SMALLEST and form.opcode.startswith(part))
    )


@cache
def _options(form: Form) -> frozenset[str]:
    return frozenset(option.name for slot in form.slots for option in slot.options)


@cache
def _said(form: Form) -> frozenset[str]:
    """The stems of the words that say what a form does and where it stands."""
    prose = f"{form.section} {form.summary} {form.chapter}".lower()
    return frozenset(stem(word) for word in re.findall(r"[\w]+", prose))


def stem(word: str) -> str:
    """A word without its ending: `loading` is `load`, `copies` is `cop` as `copy` is."""
    ending = next((e for e in _ENDINGS if word.endswith(e)), "")
    return word.removesuffix(ending) if len(word) - len(ending) >= _SMALLEST else word


# ---- where it exists ----------------------------------------------------------------------------


def has(
    form: Form,
    modifiers: tuple[str, ...] | None,
    target: Target | None,
    version: PtxVersion | None,
) -> bool:
    """Whether a target and a PTX version have a form: this spelling of it, or some."""
    if not _available(form.availability, target, version):
        return False
    if modifiers is not None:
        chosen = form.assign(modifiers) or {}
        return all(_available(o.availability, target, version) for o in chosen.values())
    return all(
        any(_available(o.availability, target, version) for o in slot.options)
        for slot in form.slots
        if slot.required
    )


def usable(option: Option, target: Target | None, version: PtxVersion | None) -> bool:
    """Whether a target and a PTX version have an option."""
    return _available(option.availability, target, version)


def _available(
    availability: Availability, target: Target | None, version: PtxVersion | None
) -> bool:
    return (target is None or target in availability.targets) and (
        version is None or availability.ptx <= version
    )


def _not_there(
    words: Sequence[str], found: Found, target: Target | None, version: PtxVersion | None
) -> IsaError:
    have = {t for form in found.forms for t in form.availability.targets}
    needed = min(form.availability.ptx for form in found.forms)
    where = " with ".join(
        [*([str(target)] if target else []), *([f"PTX {version}"] if version else [])]
    )
    notes = [("targets that do", availability_note(frozenset(have)))]
    return IsaError(
        f"{where} does not have {' '.join(words)}", notes=(*notes, ("first in", f"PTX {needed}"))
    )


# ---- what was meant -----------------------------------------------------------------------------


def _near(parts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The nearest known words for each that nothing has, or which of them do not go together."""
    elsewhere = [_ELSEWHERE[part] for part in parts if part in _ELSEWHERE]
    if elsewhere:
        return tuple(("help", text) for text in elsewhere)
    if not parts:
        return (("help", "pyptx isa fma   pyptx isa ld.global.v4   pyptx isa reduce warp"),)
    unknown = [p for p in parts if not any(_means(f, p) for f in forms())]
    if not unknown:
        each = ((p, sum(_means(f, p) for f in forms())) for p in parts)
        return (("each alone", ", ".join(f"{p}: {n} forms" for p, n in each)),)
    notes: list[tuple[str, str]] = []
    for part in unknown:
        near = near_names(part, opcodes())
        near += near_names(part, sorted(_modifiers()), cutoff=0.7)
        near = near or near_names(part, sorted(_words()), cutoff=0.7)
        notes.append((f"nearest to {part}", " ".join(near) or "nothing"))
    return tuple(notes)


@cache
def _modifiers() -> frozenset[str]:
    return frozenset(option for form in forms() for option in _options(form))


@cache
def _words() -> frozenset[str]:
    """Words of what instructions do."""
    return frozenset(w for f in forms() for w in re.findall(r"[a-z]{4,}", f.summary.lower()))
