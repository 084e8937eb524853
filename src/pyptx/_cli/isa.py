"""`pyptx isa`: the instruction table, searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pyptx._cli.console import say, show_table
from pyptx._emulator.coverage import coverage
from pyptx._isa import reference
from pyptx._isa.model import Form, Option
from pyptx._isa.reference import targets, version
from pyptx._isa.sample import least
from pyptx._isa.search import Found, find, has, usable
from pyptx._isa.written import NOTES
from pyptx._target import PtxVersion, Target
from pyptx.errors import IsaError

DETAILED: Final = 6
"""So many forms are shown with modifiers and operands; more are only listed."""
_LISTED: Final = 60
"""So many forms are listed."""


def search(words: Sequence[str], target: str | None = None, ptx: str | None = None) -> None:
    """Print the forms that all words match. Raises IsaError where there is none."""
    on, at = _target(target), _version(ptx)
    found = find(words, on, at)
    shown = found.forms[:_LISTED]
    rows = [
        (f.syntax, targets(f.availability), version(f.availability), str(coverage(f)))
        for f in shown
    ]
    show_table("", ("instruction", "targets", "PTX", "emulated"), rows)
    if len(shown) < len(found.forms):
        say(f"and {len(found.forms) - len(shown)} more: another word makes them fewer")
    if len(found.forms) <= DETAILED:
        for form in found.forms:
            show_form(form, found.modifiers, lambda option: usable(option, on, at))
        show_notes(found)
        show_example(found, on, at)


def _target(name: str | None) -> Target | None:
    try:
        return Target.parse(name) if name else None
    except ValueError as error:
        raise IsaError(str(error)) from None


def _version(text: str | None) -> PtxVersion | None:
    try:
        return PtxVersion.parse(text) if text else None
    except ValueError:
        raise IsaError(f"--version {text} is not a PTX version, such as 8.6") from None


def show_form(
    form: Form, modifiers: tuple[str, ...] | None, usable_: Callable[[Option], bool]
) -> None:
    """A form with its modifiers, operands, rules, and how it is written in Python."""
    say(form.syntax)
    manual = f"; PTX ISA, #{form.section}" if form.section else ""
    say(f"  {form.summary.rstrip('.')}{manual}")
    for slot in form.slots:
        options = reference.options(slot, usable_)
        if options and (reference.telling(slot) or not slot.required):
            say(f"  .{slot.name}{'' if slot.required else ' (optional)'}: {options}")
    for spec in form.operands:
        say(f"  {spec.name}: {reference.operand(form, spec)}")
    for rule in reference.rules(form):
        say(f"  {rule}")
    for call in reference.in_python(form, modifiers or least(form)):
        say(f"  {call}")
    say()


def show_notes(found: Found) -> None:
    """What is often got wrong about the instructions."""
    notes = [
        note for o in dict.fromkeys(f.opcode for f in found.forms) for note in NOTES.get(o, ())
    ]
    for note in notes:
        say(f"- {note}")
    if notes:
        say()


def show_example(found: Found, target: Target | None, at: PtxVersion | None) -> None:
    """The example of the forms' section, where they have one."""
    own = [s for s in reference.sections() if set(found.forms) <= set(s.forms)]
    if own:
        example = own[0].example
        if has(example.form, example.modifiers, target, at):
            say(example.text)
