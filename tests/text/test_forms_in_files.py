"""Every form of the table in a file: written, read as a module, and the same as before."""

import itertools
import random

import pytest

from pyptx._ir import Guard, Instruction, Kernel, Module, Place
from pyptx._isa.available import availability
from pyptx._isa.sample import LABEL, PARAMETER, VARIABLES, render, sample
from pyptx._isa.table import forms
from pyptx._operands import Register, registers_of, replaced
from pyptx._target import TARGETS
from pyptx._text import normal_form, parse, write
from pyptx.types import pred

SPELLINGS = 4
"""Spellings of a form in the sweep; every day as many as use every option."""


@pytest.mark.sampled(24)
@pytest.mark.parametrize("form", forms(), ids=lambda form: form.syntax)
def test_a_form_survives_a_file(form):
    survives(form, 1)


@pytest.mark.sweep
@pytest.mark.parametrize("form", forms(), ids=lambda form: form.syntax)
def test_spellings_of_a_form_survive_files(form):
    survives(form, SPELLINGS)


def survives(form, spellings):
    p = Register(100_000, pred)
    guards = itertools.cycle((None, Guard(p), Guard(p, negated=True)))
    for modifiers in sample(form, spellings, random.Random(form.syntax)):
        targets, version = availability(form, modifiers)
        target = next(t for t in TARGETS if t in targets)
        lists = (
            tuple(shifted(operand, 1000 * i) for operand in operands)
            for i, operands in enumerate(render(form, modifiers))
        )
        body = [Place(LABEL)]
        for operands, guard in zip(lists, guards, strict=False):
            body.append(Instruction(form, modifiers, operands, guard))
        used = [r for s in body[1:] for o in s.operands for r in registers_of(o)]
        registers = tuple(dict.fromkeys((*used, p)))
        variables = tuple(VARIABLES.values())
        kernel = Kernel("k", (PARAMETER,), variables, (), registers, tuple(body))
        module = Module(max(version, target.version), target, (kernel,))
        normal, found = normal_form(module), parse(write(module).ptx)
        assert found == normal
        assert write(found).ptx == write(normal).ptx


def shifted(operand, by):
    """An operand whose registers have other numbers: each list of operands counts its own."""
    return replaced(operand, lambda register: Register(register.index + by, register.dtype))
