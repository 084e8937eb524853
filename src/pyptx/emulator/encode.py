"""Encodes a kernel to a program image, the format of docs/architecture.md."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from pyptx.errors import EmulationError
from pyptx.ir import Instruction, Kernel, Place
from pyptx.operands import (
    Address,
    Arguments,
    CallTargets,
    FunctionName,
    Immediate,
    Label,
    Negated,
    Operand,
    Pair,
    Parameter,
    Prototype,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Targets,
    TensorAddress,
    Variable,
    Vector,
)
from pyptx.target import Target

MAGIC: Final = b"PTXEMU\x00\x01"
_NO_GUARD: Final = 0xFFFFFFFF
_SPACES: Final = {"shared": 0, "local": 1, "const": 2, "global": 3}
_MASK: Final = (1 << 64) - 1


def encode(kernel: Kernel, target: Target) -> bytes:
    """The program image of a kernel: the same bytes in every process, with no paths in it."""
    return _Image(kernel, target).bytes()


def parameter_offsets(parameters: Sequence[Parameter]) -> list[int]:
    """Byte offset of each kernel parameter: in order, each at a multiple of its alignment."""
    offsets: list[int] = []
    end = 0
    for parameter in parameters:
        start = -(-end // parameter.alignment) * parameter.alignment
        offsets.append(start)
        end = start + parameter.size
    return offsets


def _contents(parameter: Parameter) -> int:
    """What a parameter holds: a value, a tensor's address, a tensor map of elements of a size."""
    if parameter.tensor_map is not None:
        return 2 * parameter.tensor_map.dtype.bytes
    return int(parameter.tensor)


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
        offsets = parameter_offsets(parameters)
        rows = (
            struct.pack("<IIIB", self._string(p.name), offset, p.size, _contents(p))
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
        match operand:
            case Pair(first, second):
                return b"\x08" + self._encode_operand(first) + self._encode_operand(second)
            case TensorAddress(tensor_map, coordinates):
                inside = self._encode_operand(tensor_map) + self._encode_operand(coordinates)
                return b"\x08" + inside
            case Vector(elements):
                inside = b"".join(self._encode_operand(e) for e in elements)
                return struct.pack("<BB", 9, len(elements)) + inside
            case Address():
                return struct.pack("<BBQq", 3, *self._base(operand.base), operand.offset)
            case Symbol():
                kind, index = self._base(operand.of)
                return struct.pack("<BBIq", 4, kind, index, operand.offset)
            case Label():
                return struct.pack("<BI", 5, self._labels[operand])
            case FunctionName() | Arguments() | Prototype() | CallTargets():
                raise EmulationError("calls of functions are not emulated")
            case Targets(labels):
                inside = b"".join(self._encode_operand(label) for label in labels)
                return struct.pack("<BB", 9, len(labels)) + inside
            case _:
                return self._encode_scalar(operand)

    def _encode_scalar(
        self, operand: Register | Immediate | SpecialRegister | Negated | Sink
    ) -> bytes:
        match operand:
            case Register():
                return struct.pack("<BI", 0, self._registers[operand.index])
            case Immediate():
                return struct.pack("<BQB", 1, _immediate_bits(operand), operand.dtype.bits)
            case SpecialRegister():
                return struct.pack("<BI", 2, self._string(operand.name))
            case Negated():
                return struct.pack("<BI", 6, self._registers[operand.register.index])
            case Sink():
                return b"\x07"

    def _base(self, base: Register | Variable | Parameter | Immediate) -> tuple[int, int]:
        match base:
            case Register():
                return 0, self._registers[base.index]
            case Variable():
                return 1, self._variables[base]
            case Parameter():
                return 2, self._parameters[base.index]
            case Immediate():
                return 3, base.bits & _MASK


def _immediate_bits(operand: Immediate) -> int:
    """The bits of a constant, integers sign-extended to 64."""
    bits, width = operand.bits, operand.dtype.bits
    if operand.dtype.is_signed and bits >> (width - 1) & 1:
        bits |= -1 << width
    return bits & _MASK


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
