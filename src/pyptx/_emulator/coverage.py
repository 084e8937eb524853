"""Which spellings of the ISA the emulator runs: the core is asked, nothing is listed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from pyptx._emulator.encode import encode
from pyptx._emulator.run import unsupported
from pyptx._ir import Instruction, Kernel, Place
from pyptx._isa.model import Form
from pyptx._isa.sample import LABEL, PARAMETER, VARIABLES, render, sample
from pyptx._operands import Operand, Register, replaced
from pyptx._target import Target

_SAMPLES = 12
_NAMED = 4  # options; more are "in part"
_TARGET = Target(90, "a")


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a form the emulator runs, of a sample that has every option of it.

    `runs` counts those spellings of `all` that run; `without` are the options of which none does,
    where all others run.
    """

    runs: int
    all: int
    without: tuple[str, ...]

    def __str__(self) -> str:
        if self.runs in (0, self.all):
            return "yes" if self.runs else "no"
        named = 0 < len(self.without) <= _NAMED
        return f"not {' '.join(f'.{o}' for o in self.without)}" if named else "in part"


@cache
def coverage(form: Form) -> Coverage:
    """What the core says of a form. A call is one for any function, which no sample has."""
    if form.opcode == "call":
        return Coverage(1, 1, ())
    generator = random.Random(form.syntax)  # noqa: S311 (repeatable on purpose)
    spellings = sample(form, _SAMPLES, generator)
    refused = _refused(form, spellings)
    options = dict.fromkeys(option for modifiers in spellings for option in modifiers)
    without = tuple(o for o in options if all(m in refused for m in spellings if o in m))
    if any(not set(without) & set(modifiers) for modifiers in refused):
        without = ()  # others are refused too, and then it is chance which these are
    return Coverage(len(spellings) - len(refused), len(spellings), without)


def runs(form: Form, modifiers: tuple[str, ...]) -> bool:
    """Whether the emulator runs a spelling, with the plainest operands."""
    return not _refused(form, [modifiers])


def _refused(form: Form, spellings: Sequence[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The spellings that the core does not run."""
    body: list[Instruction] = []
    registers: list[Register] = []
    for modifiers in spellings:
        operands = tuple(_renumbered(render(form, modifiers)[0], registers))
        body.append(Instruction(form, modifiers, operands))
    kernel = Kernel(
        "coverage",
        (PARAMETER,),
        tuple(VARIABLES.values()),
        (),
        tuple(registers),
        (*body, Place(LABEL)),
    )
    return {spellings[index] for index in unsupported(encode(kernel, _TARGET))}


def _renumbered(operands: Iterable[Operand], registers: list[Register]) -> list[Operand]:
    """The operands with registers of their own, which are added to those of the kernel."""
    seen: dict[Register, Register] = {}

    def renumbered(register: Register) -> Register:
        if register not in seen:
            seen[register] = replace(register, index=len(registers))
            registers.append(seen[register])
        return seen[register]

    return [replaced(operand, renumbered) for operand in operands]
