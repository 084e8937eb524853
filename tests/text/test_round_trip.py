"""Every form of the table, written and parsed back: the same operands and the same text."""

import itertools
import random
from dataclasses import dataclass

import pytest

from pyptx._ir import Guard, Instruction, Kernel, Place
from pyptx._isa import check, opcode_path
from pyptx._isa.sample import LABEL, PARAMETER, VARIABLES, render, sample
from pyptx._isa.table import forms, opcodes
from pyptx._operands import Register, registers_of
from pyptx._text import Names, StatementParser, instruction_text
from pyptx._text.instructions import targets_text
from pyptx._text.parser import ParsedInstruction
from pyptx.types import pred

SPELLINGS = 12
"""Spellings of a form in the sweep; every day as many as use every option."""


@dataclass
class Printed:
    """An instruction in a kernel, its text, and the names that the text uses."""

    instruction: Instruction
    registers: tuple[Register, ...]

    def __post_init__(self) -> None:
        variables = tuple(VARIABLES.values())
        body = (Place(LABEL), self.instruction)
        self.names = Names(Kernel("k", (PARAMETER,), variables, (), self.registers, body))
        self.text = instruction_text(self.instruction, self.names)

    def parse(self) -> tuple[Instruction, str]:
        """The instruction that the text means, and its own text."""
        known = {self.names.registers[r.index]: r for r in self.registers}
        known |= {v.name: v for v in VARIABLES.values()} | {PARAMETER.name: PARAMETER}
        lists = " ".join(targets_text(targets, self.names) for targets in self.names.targets)
        text = f"$L0: {lists} {self.text}"
        parser = StatementParser(text, known, _no_register, lambda: LABEL)
        _, parsed = parser.statements()
        assert isinstance(parsed, ParsedInstruction)
        state = opcode_path.walk(opcodes(), parsed.opcode, parsed.modifiers)
        bound = check.bind(state, parsed.operands)
        guard = None if parsed.guard is None else Guard(*parsed.guard)
        found = Instruction(bound.form, state.modifiers, bound.operands, guard)
        return found, instruction_text(found, self.names)


def _no_register(dtype):
    raise AssertionError(dtype)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", forms(), ids=lambda form: form.syntax)
def test_a_form_survives_text(form):
    survives(form, 1)


@pytest.mark.sweep
@pytest.mark.parametrize("form", forms(), ids=lambda form: form.syntax)
def test_spellings_of_a_form_survive_text(form):
    survives(form, SPELLINGS)


def survives(form, size):
    spellings = sample(form, size, random.Random(form.syntax))
    assert spellings
    p = Register(1000, pred)
    guards = itertools.cycle((None, Guard(p), Guard(p, negated=True)))
    for modifiers in spellings:
        for operands, guard in zip(render(form, modifiers), guards, strict=False):
            made = Instruction(form, modifiers, operands, guard)
            printed = Printed(
                made, tuple(dict.fromkeys((*(r for o in operands for r in registers_of(o)), p)))
            )
            found, text = printed.parse()
            assert text == printed.text
            assert found.operands == operands
            assert (found.spelling, found.guard) == (made.spelling, guard)
