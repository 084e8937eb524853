"""A small assembler for tests: PTX-like lines to the IR, with this file's caller as the Python source.

Registers need no declaration; their prefix gives the type. One line is one statement:

    .param u64 X            a parameter; `X` in an operand is its address in param space
    .shared tile 256 16     a variable: name, bytes, alignment (also .local, .const, .global)
    loop:                   a label
    @!%p1 bra loop;         an instruction
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import re
import struct
import sys
from dataclasses import dataclass, field

from pyptx._ir import Guard, Instruction, Kernel, Place
from pyptx._isa.model import Form
from pyptx._operands import (
    Address,
    Immediate,
    Label,
    Negated,
    Operand,
    Pair,
    Parameter,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
)
from pyptx._source import SourceLocation
from pyptx.types import DTYPES

PREFIXES = {
    "p": "pred", "b": "b8", "h": "b16", "r": "b32", "rd": "b64", "f": "f32", "fd": "f64", "rq": "b128",
}  # fmt: skip
REGISTER = re.compile(r"%(p|b|h|rd|rq|r|fd|f)(\d+)")


@dataclass
class Assembler:
    file: str
    first_line: int
    registers: dict[str, Register] = field(default_factory=dict)
    parameters: list[Parameter] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    labels: dict[str, Label] = field(default_factory=dict)
    body: list[Instruction | Place] = field(default_factory=list)

    def assemble(self, text: str) -> Kernel:
        for number, line in enumerate(text.splitlines()):
            self.statement(line.split("//")[0].strip().rstrip(";"), self.first_line + number)
        return Kernel(
            "kernel",
            tuple(self.parameters),
            tuple(self.variables),
            (),
            tuple(self.registers.values()),
            tuple(self.body),
        )

    def statement(self, line: str, number: int) -> None:
        if not line:
            return
        if line.startswith(".param"):
            _, dtype, name = line.split()
            tensor = dtype == "u64"
            self.parameters.append(
                Parameter(len(self.parameters), DTYPES[dtype], name, tensor=tensor)
            )
        elif line.startswith("."):
            space, name, size, align, *initial = line.split()
            data = bytes.fromhex("".join(initial))
            self.variables.append(
                Variable(len(self.variables), space[1:], int(size), int(align), name, data)
            )
        elif line.endswith(":"):
            self.body.append(Place(self.label(line[:-1])))
        else:
            self.body.append(self.instruction(line, SourceLocation(self.file, number)))

    def instruction(self, line: str, location: SourceLocation) -> Instruction:
        guard = None
        if line.startswith("@"):
            name, line = line[1:].split(None, 1)
            guard = Guard(self.register(name.lstrip("!")), negated=name.startswith("!"))
        spelling, _, rest = line.partition(" ")
        opcode, *modifiers = spelling.split(".")
        operands = tuple(self.operand(part) for part in split(rest)) if rest.strip() else ()
        form = Form(opcode=opcode, slots=(), operands=())
        return Instruction(form, tuple(modifiers), operands, guard, location)

    def register(self, name: str) -> Register:
        if name not in self.registers:
            match = REGISTER.fullmatch(name)
            assert match, name
            dtype = DTYPES[PREFIXES[match[1]]]
            self.registers[name] = Register(len(self.registers), dtype)
        return self.registers[name]

    def label(self, name: str) -> Label:
        return self.labels.setdefault(name, Label(len(self.labels)))

    def symbol(self, name: str) -> Variable | Parameter | None:
        named = [*self.variables, *self.parameters]
        return next((v for v in named if v.name == name), None)

    def operand(self, text: str) -> Operand:
        text = text.strip()
        if "|" in text:
            first, second = (self.operand(t) for t in text.split("|"))
            return Pair(first, second)
        if text.startswith("{"):
            return Vector(tuple(self.operand(t) for t in split(text[1:-1])))
        if text.startswith("["):
            return self.address(text[1:-1])
        if text == "_":
            return Sink()
        if text.startswith("!"):
            return Negated(self.register(text[1:]))
        if REGISTER.fullmatch(text):
            return self.register(text)
        if text.startswith("%"):
            return SpecialRegister(text[1:], DTYPES["u32"])
        name, _, offset = text.partition("+")
        if (symbol := self.symbol(name.strip())) is not None:
            return Symbol(symbol, int(offset or "0"))
        return constant(text) or self.label(text)

    def address(self, text: str) -> Address:
        base, sign, offset = re.fullmatch(
            r"([^+-]+)([+-]?)(.*)", text.replace(" ", "").replace("+-", "-")
        ).groups()
        number = int(sign + offset) if offset else 0
        if base.startswith("%"):
            return Address(self.register(base), number)
        symbol = self.symbol(base)
        return Address(symbol or Immediate(int(base, 0), DTYPES["u64"]), number)


def constant(text: str) -> Immediate | None:
    if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text):
        value = int(text, 0)
        return Immediate(value & (1 << 64) - 1, DTYPES["b64"])
    if re.fullmatch(r"-?\d*\.\d*(e-?\d+)?", text):
        return Immediate(struct.unpack("<I", struct.pack("<f", float(text)))[0], DTYPES["f32"])
    return None


def split(text: str) -> list[str]:
    """Parts between commas that are not inside brackets."""
    if "{" not in text and "[" not in text:
        return text.split(",")
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "{[") - (c in "}]")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def assemble(text: str) -> Kernel:
    """The kernel of PTX-like text; its lines are those of the file that calls this."""
    frame = sys._getframe(1)
    return Assembler(frame.f_code.co_filename, 1).assemble(text)
