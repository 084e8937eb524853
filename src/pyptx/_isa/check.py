"""Binds operands to a form: which of a spelling's forms is meant, or what is wrong, what is legal.

Callers hand over operands whose numbers and vectors are still raw; they get the form, the final
operands and the destinations. Errors carry no location: the caller knows the user's line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from pyptx._isa.automaton import State
from pyptx._isa.given import Raw
from pyptx._isa.model import Form
from pyptx._isa.opcode_path import incomplete
from pyptx._isa.operand_kinds import bound_operand
from pyptx._isa.operand_types import MismatchError, Typed, typed_operand
from pyptx._operands import Operand, Register, Sink, Vector
from pyptx.errors import IsaError
from pyptx.types import DType


@dataclass(frozen=True, slots=True)
class Bound:
    """A checked instruction: its form, its operands, and the destination that was made for it."""

    form: Form
    operands: tuple[Operand, ...]
    made: Register | Vector | None


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
        typed = tuple(typed_operand(spec, chosen) for spec in specs)
        least = sum(not spec.optional for spec in specs)
        full.append(Pattern(form, None, typed, least))
        if specs and specs[0].access == "out" and not specs[0].partial:
            made = thrown if specs[0].kind == "sink" else short
            made.append(Pattern(form, typed[0], typed[1:], least - 1))
    return (*full, *short, *thrown)


def bind(
    state: State, raw: Sequence[Raw], fresh: Callable[[DType], Register] | None = None
) -> Bound:
    """Choose the form of a spelling that takes these operands.

    With `fresh`, the destination may be left out: new registers are made for it. Raises IsaError.
    """
    worst: tuple[Pattern, MismatchError] | None = None
    count = len(raw)
    for pattern in patterns(state):
        if pattern.takes(count) and (pattern.made is None or fresh is not None):
            try:
                return _match(pattern, raw, fresh)
            except MismatchError as mismatch:
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
            operands.append(bound_operand(typed, value, depth))
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
        return incomplete(state)
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
