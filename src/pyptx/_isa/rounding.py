"""Spellings that lack their rounding modifier, or have one that their types do not take.

Source: PTX ISA, "Rounding Modifiers".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyptx._isa.model import Form, Option, Slot

ROUNDINGS: Final = (
    *("rn", "rz", "rm", "rp"),
    *("rni", "rzi", "rmi", "rpi"),
    *("rna", "rs", "full", "approx"),
)
"""The modifiers that say how a result is rounded, those of IEEE 754 first."""

_TRUNCATION: Final = "rzi"


@dataclass(frozen=True, slots=True)
class Missing:
    """What a spelling without its rounding can be.

    modifiers  as they were written, less a rounding that is wrong
    given      the rounding that is wrong, "" where there was none
    options    the roundings that are legal, those of IEEE 754 first; none where none is taken
    slots      the names of the slots that they fill
    forms      the forms that have them
    example    the modifiers of a legal spelling
    """

    modifiers: tuple[str, ...]
    given: str
    options: tuple[str, ...]
    slots: frozenset[str]
    forms: tuple[Form, ...]
    example: tuple[str, ...]

    @property
    def is_wrong(self) -> bool:
        """Whether the types take no such rounding; else it is missing or at a wrong place."""
        return bool(self.given) and self.given not in self.options


def missing(forms: Sequence[Form], wanted: tuple[str, ...]) -> Missing | None:
    """What `wanted` would be with a rounding, None where no rounding makes it an instruction."""
    given = next((each for each in wanted if each in ROUNDINGS), "")
    kept = tuple(each for each in wanted if each != given)
    bare = next((form for form in forms if _complete(form, kept)), None) if given else None
    for others in (False,) if bare else (False, True):
        found = [
            each
            for form in forms
            for each in _with_rounding(form, kept, optional=bool(given), others=others)
        ]
        if found:
            break
    else:
        return bare and Missing(kept, given, (), frozenset(), (bare,), kept)
    options = tuple(option for option in ROUNDINGS if any(option == o for o, *_ in found))
    usual = _TRUNCATION if _TRUNCATION in options else options[0]
    chosen = given if given in options else usual
    ordered = sorted(found, key=lambda each: ROUNDINGS.index(each[0]))
    return Missing(
        kept,
        given,
        options,
        frozenset(slot for _, slot, _, _ in found),
        tuple(form for *_, form, _ in ordered),
        next(example for option, *_, example in found if option == chosen),
    )


def _complete(form: Form, modifiers: tuple[str, ...]) -> bool:
    chosen = form.assign(modifiers)
    return chosen is not None and form.allows(chosen)


def _with_rounding(
    form: Form, kept: tuple[str, ...], *, optional: bool, others: bool
) -> Iterator[tuple[str, str, Form, tuple[str, ...]]]:
    """Each rounding that completes a form, with its slot, and all modifiers then.

    With `optional`, also one that may be left out. With `others`, so do modifiers that the form
    cannot be without and that are one word.
    """
    for slot in form.slots:
        if (slot.required or optional) and all(option.name in ROUNDINGS for option in slot.options):
            for option in slot.options:
                completed = _fill(form.slots, kept, slot, option, others=others)
                if completed is not None and _complete(form, completed):
                    yield option.name, slot.name, form, completed


def _fill(
    slots: Sequence[Slot], kept: tuple[str, ...], rounding: Slot, option: Option, *, others: bool
) -> tuple[str, ...] | None:
    """The modifiers `kept` with the rounding at its place, None where they are not the form's."""
    done: list[str] = []
    rest = list(kept)
    for slot in slots:
        if slot is rounding:
            done.append(option.name)
        elif rest and slot.option(rest[0]):
            done.append(rest.pop(0))
        elif slot.required:
            if not others or len(slot.options) != 1:
                return None
            done += [word.name for word in slot.options]
    return None if rest else tuple(done)
