"""Encodes a kernel to a program image, the format of docs/architecture.md."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from pyptx.ir import Instruction, Kernel, Place
from pyptx.operands import (
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
from pyptx.target import Target
from pyptx.types import DType

MAGIC: Final = b"PTXEMU\x00\x01"
_NO_GUARD: Final = 0xFFFFFFFF
_SPACES: Final = {"shared": 0, "local": 1, "const": 2, "global": 3}
_MASK: Final = (1 << 64) - 1


def encode(kernel: Kernel, target: Target) -> bytes:
    """The program image of a kernel: the same bytes in every process, with no paths in it."""
    return _Image(kernel, target).bytes()


def parameter_offsets(types: list[DType]) -> list[int]:
    """Byte offset of each kernel parameter: in order, each at a multiple of its size."""
    offsets: list[int] = []
    end = 0
    for dtype in types:
        start = -(-end // dtype.bytes) * dtype.bytes
        offsets.append(start)
        end = start + dtype.bytes
    return offsets


class _Image:
    def __init__(self, kernel: Kernel, target: Target) -> None:
        self._kernel = kernel
        self._target = target
        self._strings: dict[str, int] = {}
        self._registers = {register.index: n for n, register in enumerate(kernel.registers)}
        self._variables = {variable: n for n, variable in enumerate(kernel.variables)}
        self._parameters = {parameter.index: n for n, parameter in enumerate(kernel.parameters)}
        self._instructions = [s for s in kernel.body if isinstance(s, Instruction)]
        self._labels = _label_positions(kernel)

    def bytes(self) -> bytes:
        name = struct.pack("<I", self._string(self._kernel.name))
        target = struct.pack("<II", self._target.sm, self._string(str(self._target)))
        body = b"".join(
            (
                name,
                target,
                self._encode_registers(),
                self._encode_parameters(),
                self._encode_variables(),
                struct.pack("<I", len(self._instructions)),
                *(self._encode_instruction(i) for i in self._instructions),
            )
        )
        strings = [struct.pack("<I", len(self._strings))]
        for text in self._strings:
            data = text.encode()
            strings.append(struct.pack("<I", len(data)) + data)
        return b"".join((MAGIC, *strings, body))

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def _encode_registers(self) -> bytes:
        widths = bytes(register.dtype.bits for register in self._kernel.registers)
        return struct.pack("<I", len(widths)) + widths

    def _encode_parameters(self) -> bytes:
        parameters = self._kernel.parameters
        offsets = parameter_offsets([p.dtype for p in parameters])
        rows = (
            struct.pack("<IIIB", self._string(p.name), offset, p.dtype.bytes, p.tensor)
            for p, offset in zip(parameters, offsets, strict=True)
        )
        return struct.pack("<I", len(parameters)) + b"".join(rows)

    def _encode_variables(self) -> bytes:
        out = [struct.pack("<I", len(self._kernel.variables))]
        offsets = _variable_offsets(self._kernel)
        for v in self._kernel.variables:
            head = (self._string(v.name), _SPACES[v.space], offsets[v], v.size, v.align)
            out += [struct.pack("<IBIIII", *head, len(v.initial)), v.initial]
        return b"".join(out)

    def _encode_instruction(self, instruction: Instruction) -> bytes:
        guard = instruction.guard
        head = struct.pack(
            "<IIBB",
            self._string(instruction.spelling),
            _NO_GUARD if guard is None else self._registers[guard.register.index],
            guard is not None and guard.negated,
            len(instruction.operands),
        )
        return head + b"".join(self._encode_operand(o) for o in instruction.operands)

    def _encode_operand(self, operand: Operand) -> bytes:
        return _ENCODERS[type(operand)](self, operand)

    def _register(self, operand: Register) -> bytes:
        return struct.pack("<BI", 0, self._registers[operand.index])

    def _immediate(self, operand: Immediate) -> bytes:
        dtype, bits = operand.dtype, operand.bits
        if dtype.is_signed and bits >> (dtype.bits - 1) & 1:
            bits |= -1 << dtype.bits
        return struct.pack("<BQB", 1, bits & _MASK, dtype.bits)

    def _special(self, operand: SpecialRegister) -> bytes:
        return struct.pack("<BI", 2, self._string(operand.name))

    def _address(self, operand: Address) -> bytes:
        base = operand.base
        if isinstance(base, Register):
            kind, value = 0, self._registers[base.index]
        elif isinstance(base, Variable):
            kind, value = 1, self._variables[base]
        elif isinstance(base, Parameter):
            kind, value = 2, self._parameters[base.index]
        else:
            kind, value = 3, base.bits & _MASK
        return struct.pack("<BBQq", 3, kind, value, operand.offset)

    def _symbol(self, operand: Symbol) -> bytes:
        if isinstance(operand.of, Variable):
            return struct.pack("<BBIq", 4, 1, self._variables[operand.of], operand.offset)
        return struct.pack("<BBIq", 4, 2, self._parameters[operand.of.index], operand.offset)

    def _label(self, operand: Label) -> bytes:
        return struct.pack("<BI", 5, self._labels[operand])

    def _negated(self, operand: Negated) -> bytes:
        return struct.pack("<BI", 6, self._registers[operand.register.index])

    def _sink(self, _: Sink) -> bytes:
        return b"\x07"

    def _pair(self, operand: Pair) -> bytes:
        return b"\x08" + self._encode_operand(operand.first) + self._encode_operand(operand.second)

    def _vector(self, operand: Vector) -> bytes:
        elements = b"".join(self._encode_operand(e) for e in operand.elements)
        return struct.pack("<BB", 9, len(operand.elements)) + elements


_ENCODERS: Final[dict[type, Callable[..., bytes]]] = {
    Register: _Image._register,  # pyright: ignore[reportPrivateUsage]
    Immediate: _Image._immediate,  # pyright: ignore[reportPrivateUsage]
    SpecialRegister: _Image._special,  # pyright: ignore[reportPrivateUsage]
    Address: _Image._address,  # pyright: ignore[reportPrivateUsage]
    Symbol: _Image._symbol,  # pyright: ignore[reportPrivateUsage]
    Label: _Image._label,  # pyright: ignore[reportPrivateUsage]
    Negated: _Image._negated,  # pyright: ignore[reportPrivateUsage]
    Sink: _Image._sink,  # pyright: ignore[reportPrivateUsage]
    Pair: _Image._pair,  # pyright: ignore[reportPrivateUsage]
    Vector: _Image._vector,  # pyright: ignore[reportPrivateUsage]
}


def _label_positions(kernel: Kernel) -> dict[Label, int]:
    """The index of the instruction that each label stands before."""
    positions: dict[Label, int] = {}
    count = 0
    for statement in kernel.body:
        if isinstance(statement, Place):
            positions[statement.label] = count
        else:
            count += 1
    return positions


def _variable_offsets(kernel: Kernel) -> dict[Variable, int]:
    """Where each variable lies in its space."""
    offsets = dict(kernel.shared.offsets)
    ends: dict[str, int] = {}
    for v in kernel.variables:
        if v.space == "shared":
            continue
        start = -(-ends.get(v.space, 0) // v.align) * v.align
        offsets[v] = start
        ends[v.space] = start + v.size
    return offsets
