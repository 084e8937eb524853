"""Which targets and PTX versions have an instruction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyptx._isa.model import Availability, Form
from pyptx._target import TARGETS, PtxVersion, Target, targets_of
from pyptx.errors import IsaError


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
    if target is not None and target.current not in targets:
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
