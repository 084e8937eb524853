"""`pyptx isa`: the instruction table, searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyptx.cli.console import say, show_table
from pyptx.errors import IsaError
from pyptx.isa.model import EVERYWHERE, Availability, Form
from pyptx.isa.table import forms, opcodes

DETAILED = 6
"""So many forms are shown with all their modifiers; more are only listed."""


def search(words: Sequence[str]) -> None:
    """Print the forms that all words match. Raises IsaError where there is none."""
    parts = [spoken(part) for word in words for part in word.split(".") if part]
    found = find(parts)
    if not found:
        known = [name for name in opcodes() if name.startswith(parts[0][:1])] if parts else []
        raise IsaError(
            f"no instruction matches {' '.join(words)}",
            notes=(("opcodes", " ".join(known) or "none begins like that"),),
        )
    rows = [(f.syntax, targets(f.availability), version(f.availability)) for f in found]
    show_table("", ("instruction", "targets", "PTX"), rows)
    if len(found) <= DETAILED:
        for form in found:
            show_modifiers(form)


def spoken(word: str) -> str:
    """A Python spelling as the manual's: `global_`, `_64` and `L1__no_allocate`."""
    if word.startswith("_") and word[1:2].isdigit():
        word = word[1:]
    return word.rstrip("_").replace("__", "::")


def find(parts: Sequence[str]) -> list[Form]:
    """Forms that have exactly this spelling, otherwise those in which every word occurs."""
    if parts:
        exact = [f for f in forms() if f.opcode == parts[0] and _assigns(f, tuple(parts[1:]))]
        if exact:
            return exact
    opcode = [f for f in forms() if parts and f.opcode == parts[0]]
    return [f for f in opcode or forms() if all(_matches(f, part) for part in parts)]


def _assigns(form: Form, modifiers: tuple[str, ...]) -> bool:
    chosen = form.assign(modifiers) if modifiers else None
    return chosen is not None and form.allows(chosen)


def _matches(form: Form, part: str) -> bool:
    options = (option.name for slot in form.slots for option in slot.options)
    prose = f"{form.section} {form.summary} {form.chapter}".lower()
    return form.opcode.startswith(part) or part in options or part.lower() in prose


def show_modifiers(form: Form) -> None:
    """Every slot of a form with its options, and where an option needs more than its form."""
    say(form.syntax)
    about = (form.summary.rstrip("."), f"PTX ISA, #{form.section}" if form.section else "")
    say(f"  {'; '.join(filter(None, about))}")
    for slot in form.slots:
        options = " ".join(f".{o.name}{_beyond(o.availability)}" for o in slot.options)
        needed = "" if slot.required else " (optional)"
        say(f"  .{slot.name}{needed}: {options}")
    for condition, requirement in form.rules:
        say(f"  where {condition}: {requirement}")
    say()


def _beyond(availability: Availability) -> str:
    if availability == EVERYWHERE:
        return ""
    return f" [{', '.join(_needs(availability))}]"


def _needs(availability: Availability) -> Iterator[str]:
    if availability.sm:
        yield targets(availability)
    if availability.ptx != EVERYWHERE.ptx:
        yield f"PTX {availability.ptx}"


def targets(availability: Availability) -> str:
    """`sm_90+` is that and everything later, `sm_90a` that alone, `sm_100f+` its family."""
    names = availability.sm.split()
    return ", ".join(n if n.endswith("a") else f"{n}+" for n in names) or "all"


def version(availability: Availability) -> str:
    """The first PTX version, `any` where all that are known have it."""
    return "any" if availability.ptx == EVERYWHERE.ptx else f"{availability.ptx}+"
