"""Whatever register the checker accepts in an operand, the assembler accepts too.

Each operand of each form once with a register of every other type that fits, all in one module.
"""

import pytest

from pyptx._assemble import assemble
from pyptx._ir import Instruction, Kernel, Module, Place
from pyptx._isa import available, check, opcode_path
from pyptx._isa.sample import LABEL, PARAMETER, VARIABLES, least, render
from pyptx._isa.table import forms, opcodes
from pyptx._operands import Register, replaced
from pyptx._target import PtxVersion, Target
from pyptx._text import write
from pyptx.errors import IsaError
from pyptx.types import DTYPES

VERSION = PtxVersion(9, 0)
STORED = [d for d in DTYPES.values() if d.bits <= 64 and d.storage == d.name]
NOT_HERE = {
    "bra": "no registers",
    "brx": "needs a list of targets",
    "cvt.rs.f16x2.f32": "the assembler wants its random bits declared .b32 and nothing else",
    "cvt.rs.bf16x2.f32": "the same",
    "cvt.rs.satfinite.e2m1x4.f32": "the same",
    "cvt.rs.satfinite.e2m3x4.f32": "the same",
    "cvt.rs.satfinite.e3m2x4.f32": "the same",
    "cvt.rs.satfinite.e4m3x4.f32": "the same",
    "cvt.rs.satfinite.e5m2x4.f32": "the same",
}


class Registers:
    """Registers of one kernel, each operand in new ones."""

    def __init__(self) -> None:
        self.all: list[Register] = []

    def new(self, dtype) -> Register:
        self.all.append(Register(len(self.all), dtype))
        return self.all[-1]

    def renewed(self, operand):
        return replaced(operand, lambda register: self.new(register.dtype))


def variations(target: Target, registers: Registers):
    """Instructions that the checker accepts, each with one operand of another type."""
    for form in forms():
        modifiers = least(form)
        state = opcode_path.walk(opcodes(), form.opcode, modifiers)
        if form.opcode in NOT_HERE or state.spelling in NOT_HERE:
            continue
        try:
            available.require(form, modifiers, target, VERSION)
        except IsaError:
            continue
        plain = render(form, modifiers)[0]
        for index, operand in enumerate(plain):
            if not isinstance(operand, Register):
                continue
            for dtype in STORED:
                changed = [*plain]
                changed[index] = Register(1000, dtype)
                try:
                    bound = check.bind(state, changed)
                except IsaError:
                    continue
                if dtype.storage != operand.dtype.storage and bound.form is form:
                    renewed = tuple(map(registers.renewed, changed))
                    yield Instruction(form, state.modifiers, renewed)


@pytest.mark.parametrize("name", ["sm_90a", "sm_100a", "sm_75"])
def test_registers_of_other_types(name):
    target, registers = Target.parse(name), Registers()
    body = tuple(variations(target, registers))
    assert len(body) > 500
    variables = tuple(VARIABLES.values())
    kernel = Kernel("k", (PARAMETER,), variables, (), tuple(registers.all), (Place(LABEL), *body))
    text = write(Module(VERSION, target, (kernel,))).ptx
    assert assemble(text, target, flags=("-O0",)).kernel == "k"
