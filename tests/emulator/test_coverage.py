"""Which spellings of the ISA the emulator runs: all, but those listed here with the reason."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pyptx import emulator
from pyptx.ir import Instruction, Kernel, Place
from pyptx.isa.model import Form
from pyptx.isa.sample import LABEL, PARAMETER, VARIABLES, render, sample
from pyptx.isa.table import forms
from pyptx.operands import Address, Negated, Operand, Pair, Register, Vector
from pyptx.target import Target

PER_FORM = 40


class Renumber:
    """Gives the registers of many operand lists numbers of their own."""

    def __init__(self) -> None:
        self.registers: list[Register] = []
        self.seen: dict[tuple[int, Register], Register] = {}
        self.list = 0

    def all(self, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        self.list += 1
        return tuple(self.one(o) for o in operands)

    def one(self, operand: Operand) -> Operand:
        match operand:
            case Register():
                key = (self.list, operand)
                if key not in self.seen:
                    self.seen[key] = replace(operand, index=len(self.registers))
                    self.registers.append(self.seen[key])
                return self.seen[key]
            case Negated(register):
                return Negated(self.one(register))
            case Pair(first, second):
                return Pair(self.one(first), self.one(second))
            case Vector(elements):
                return Vector(tuple(self.one(e) for e in elements))
            case Address(Register() as base, offset):
                return Address(self.one(base), offset)
            case _:
                return operand


def kernel(form: Form, lists: list[tuple[tuple[str, ...], tuple[Operand, ...]]]) -> Kernel:
    renumber = Renumber()
    body = [Instruction(form, modifiers, renumber.all(operands)) for modifiers, operands in lists]
    return Kernel(
        "coverage", (PARAMETER,), tuple(VARIABLES.values()), (), tuple(renumber.registers),
        (*body, Place(LABEL)),
    )  # fmt: skip


def refused(form: Form) -> dict[str, list[str]]:
    """Spellings of a form that do not run, each with the operand lists that were refused."""
    generator = random.Random(form.syntax)
    lists = [
        (modifiers, operands)
        for modifiers in sample(form, PER_FORM, generator)
        for operands in render(form, modifiers)
    ]
    found: dict[str, list[str]] = {}
    rest = lists
    while rest:
        # One report names each spelling once; what it names is taken out, so that all are found.
        image = emulator.encode(kernel(form, rest), Target.parse("sm_90a"))
        missing = emulator.unsupported(image)
        if not missing:
            break
        for index, spelling in missing.items():
            found.setdefault(spelling, []).append(repr(rest[index][1]))
        rest = [item for i, item in enumerate(rest) if i not in missing]
    return found
