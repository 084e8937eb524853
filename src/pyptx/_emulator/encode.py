"""Encodes a kernel to a program image, the format of docs/architecture.md."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from pyptx._emulator.link import Linked, link
from pyptx._ir import Function, Instruction, Kernel, Module, Place, shared_layout
from pyptx._operands import (
    Address,
    Arguments,
    CallTargets,
    FabricHandle,
    FunctionName,
    Immediate,
    Initial,
    Label,
    Minus,
    Negated,
    Operand,
    Pair,
    Parameter,
    Part,
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
from pyptx._target import Target
from pyptx.errors import EmulationError

MAGIC: Final = b"PTXEMU\x00\x02"
_OBJECT: Final = (
    "take a texture or surface object: a parameter of type .u64, and Texture(In(0)) or "
    "Surface(Out(0)) in params= of from_ptx"
)
_NO_GUARD: Final = 0xFFFFFFFF
_SPACES: Final = {"shared": 0, "local": 1, "const": 2, "global": 3}
_FRAME: Final = 4
_MASK: Final = (1 << 64) - 1
_MOST: Final = 255
_STACK: Final = 1 << 31
_LARGEST: Final = {0: 1 << 20, 1: 512 << 10, 2: 64 << 10, 3: 1 << 30, 4: 512 << 10}
"""Bytes that a memory of the core has at most."""
_MEMORIES: Final = ("shared", "local", "constant", "global", "local")

PARAMETER_BYTES: Final = 32764
"""Bytes of parameters that a kernel has at most (PTX ISA, ".entry")."""


def encode(kernel: Kernel, target: Target, module: Module | None = None) -> bytes:
    """The program image of a kernel: the same bytes in every process, with no paths in it.

    `module` has the functions that it may call. Raises EmulationError where one has no body.
    """
    return _Image(link(kernel, module), target).bytes()


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
    """What a parameter holds: a value, an address, a map or a texture of elements of a size."""
    if parameter.tensor_map is not None:
        return 2 * parameter.tensor_map.dtype.bytes
    if parameter.texel:
        return 2 * parameter.texel
    return int(parameter.tensor)


class _Image:
    """The parts of an image. Registers, variables and instructions of all bodies are numbered."""

    def __init__(self, linked: Linked, target: Target) -> None:
        self._linked = linked
        self._kernel = linked.kernel
        self._target = target
        self.strings: dict[str, int] = {}
        self._functions = {f.name: n for n, f in enumerate(linked.functions)}
        self.variables: dict[tuple[str, Variable | Parameter], int] = {}
        self._rows: list[bytes] = []
        self._place_variables()
        self._bodies: list[_Body] = []
        registers = first = 0
        for body in linked.bodies:
            self._bodies.append(_Body(self, body, linked.instructions(body), registers, first))
            registers += len(body.registers)
            first += len(self._bodies[-1].instructions)

    def bytes(self) -> bytes:
        name = struct.pack("<I", self.string(self._kernel.name))
        target = struct.pack("<II", self._target.sm, self.string(str(self._target)))
        body = b"".join(
            (
                name,
                target,
                self._encode_registers(),
                self._encode_parameters(),
                struct.pack("<I", len(self._rows)),
                *self._rows,
                self._encode_relocations(),
                self._encode_functions(),
                struct.pack("<I", sum(len(b.instructions) for b in self._bodies)),
                *(b.bytes() for b in self._bodies),
                self._encode_subscripts(),
            )
        )
        strings = [struct.pack("<I", len(self.strings))]
        for text in self.strings:
            data = text.encode()
            strings.append(struct.pack("<I", len(data)) + data)
        return b"".join((MAGIC, *strings, body))

    def _encode_subscripts(self) -> bytes:
        """What is known of the indices of elements; nothing where there are none."""
        rows = [row for body in self._bodies for row in body.subscripts()]
        return struct.pack("<I", len(rows)) + b"".join(rows) if rows else b""

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def offset(self, body: str, formal: Parameter) -> int:
        """Where a function's parameter lies in its frame."""
        return self._linked.frames[body].offsets[formal]

    def function(self, name: str) -> int:
        found = self._linked.by_name[name]
        return self._functions[found.name]

    def _encode_registers(self) -> bytes:
        widths = bytes(r.dtype.bits for body in self._linked.bodies for r in body.registers)
        return struct.pack("<I", len(widths)) + widths

    def _encode_parameters(self) -> bytes:
        parameters = self._kernel.parameters
        offsets = parameter_offsets(parameters)
        if parameters and offsets[-1] + parameters[-1].size > PARAMETER_BYTES:
            raise EmulationError(
                f"the parameters of {self._kernel.name} are {offsets[-1] + parameters[-1].size} "
                f"bytes, and a kernel has at most {PARAMETER_BYTES}"
            )
        rows = (
            struct.pack("<IIIB", self.string(p.name), offset, p.size, _contents(p))
            for p, offset in zip(parameters, offsets, strict=True)
        )
        return struct.pack("<I", len(parameters)) + b"".join(rows)

    # ---- variables -------------------------------------------------------------------------------

    def _place_variables(self) -> None:
        offsets = _variable_offsets(self._linked.variables)
        for v in self._linked.variables:
            if v.opaque:
                raise EmulationError(
                    f"{self._kernel.name} uses {v.name}, a .{v.opaque}, and a launch has nothing "
                    "to bind it to",
                    notes=(("help", _OBJECT),),
                )
            self._add(v.name, _SPACES[v.space], offsets[v], v)
        numbers = {v: n for n, v in enumerate(self._linked.variables)}
        for place, variable in self._linked.places.items():
            self.variables[place] = numbers[variable]
        for body in self._linked.bodies:
            space = _FRAME if isinstance(body, Function) else _SPACES["local"]
            for each, offset in self._linked.frames[body.name].offsets.items():
                self.variables[body.name, each] = len(self._rows)
                self._add(each.name, space, offset, each)

    def _add(self, name: str, space: int, offset: int, of: Variable | Parameter) -> None:
        align = of.align if isinstance(of, Variable) else of.alignment
        if offset + of.size > _LARGEST[space]:
            raise EmulationError(
                f"{name or 'a variable'} of {self._kernel.name} ends at byte {offset + of.size} of "
                f"{_MEMORIES[space]} memory, of which the emulator has {_LARGEST[space]}"
            )
        initial = of.initial if isinstance(of, Variable) else b""
        head = (self.string(name), space, offset, of.size, align)
        self._rows.append(struct.pack("<IBIIII", *head, len(initial)) + initial)

    def _encode_relocations(self) -> bytes:
        rows = [
            self._relocation(number, variable, address)
            for number, variable in enumerate(self._linked.variables)
            for address in variable.addresses
        ]
        return struct.pack("<I", len(rows)) + b"".join(rows)

    def _relocation(self, number: int, variable: Variable, address: Initial) -> bytes:
        of = self._linked.by_name[address.of]
        if isinstance(of, Variable):
            kind, index = 2 if address.generic else 1, of.index
        else:
            kind, index = 3, self._functions[of.name]
        size = 1 if address.mask else variable.dtype.bytes
        shift = (address.mask & -address.mask).bit_length() - 1 if address.mask else 0
        where = (number, address.offset, size, shift)
        return struct.pack("<IIBBBIq", *where, kind, index, address.addend)

    # ---- functions -------------------------------------------------------------------------------

    def _encode_functions(self) -> bytes:
        linked = self._linked
        rows = [struct.pack("<I", len(linked.functions))]
        for function, body in zip(linked.functions, self._bodies, strict=False):
            end = body.first + len(body.instructions)
            registers = (body.first_register, body.first_register + len(function.registers))
            size = linked.frames[function.name].size
            recursive = function.name in linked.recursive
            head = (self.string(function.name), body.first, end, size, *registers, recursive)
            rows += [
                struct.pack("<IIIIIIB", *head),
                body.formals(function.returns),
                body.formals(function.parameters),
            ]
        if linked.stack > _STACK:
            raise EmulationError(
                f"{linked.kernel.name} needs {linked.stack} bytes of local memory for each thread, "
                f"of which the emulator has {_STACK}"
            )
        frame = linked.frames[linked.kernel.name].size
        rows.append(struct.pack("<III", self._bodies[-1].first, frame, linked.stack))
        return b"".join(rows)


class _Body:
    """The instructions of a kernel or function, whose registers and labels are its own."""

    def __init__(
        self,
        image: _Image,
        body: Kernel | Function,
        instructions: Sequence[Instruction],
        first_register: int,
        first: int,
    ) -> None:
        self._image = image
        self._body = body
        self.instructions = instructions
        self.first_register = first_register
        self.first = first
        self._registers = {r.index: first_register + n for n, r in enumerate(body.registers)}
        formal = body.parameters if isinstance(body, Kernel) else ()
        self._parameters = {p.index: n for n, p in enumerate(formal)}
        self._labels = _label_positions(body, first)

    def bytes(self) -> bytes:
        return b"".join(map(self._encode_instruction, self.instructions))

    def subscripts(self) -> Iterator[bytes]:
        """The indices of the elements that its instructions load and store."""
        for number, instruction in enumerate(self.instructions, self.first):
            for each in instruction.subscripts:
                extent = each.extent
                known = not isinstance(extent, Register)
                yield struct.pack(
                    "<IIBBBQII",
                    number,
                    self._registers[each.register.index],
                    each.register.dtype.is_signed,
                    each.axis,
                    known,
                    self._registers[extent.index] if isinstance(extent, Register) else extent,
                    each.span,
                    self._image.string(each.of),
                )

    def formals(self, formals: Sequence[Parameter | Register]) -> bytes:
        """What a function takes or gives: registers, and places in its frame."""
        if len(formals) > _MOST:
            raise EmulationError(
                f"{self._body.name} takes or returns {len(formals)} values, and the emulator "
                f"passes up to {_MOST}"
            )
        rows = [struct.pack("<B", len(formals))]
        for formal in formals:
            if isinstance(formal, Register):
                at, size = self._registers[formal.index], formal.dtype.bits // 8
                rows.append(struct.pack("<BII", 0, at, size))
            else:
                offset = self._image.offset(self._body.name, formal)
                rows.append(struct.pack("<BII", 1, offset, formal.size))
        return b"".join(rows)

    def _encode_instruction(self, instruction: Instruction) -> bytes:
        guard = instruction.guard
        operands = instruction.operands
        spelling = self._image.string(_spelling(instruction))
        if instruction.form.opcode == "call":
            encoded = self._call(operands)
        else:
            encoded = [self._encode_operand(o) for o in operands]
        head = struct.pack(
            "<IIBB",
            spelling,
            _NO_GUARD if guard is None else self._registers[guard.register.index],
            guard is not None and guard.negated,
            len(encoded),
        )
        return head + b"".join(encoded)

    def _call(self, operands: Sequence[Operand]) -> list[bytes]:
        """Results, function, what is passed, and the functions that there are to choose from."""
        lists = [o for o in operands if isinstance(o, Arguments)]
        at = next(n for n, o in enumerate(operands) if isinstance(o, FunctionName | Register))
        before = [o for o in operands[:at] if isinstance(o, Arguments)]
        results = before[0].elements if before else ()
        passed = lists[-1].elements if len(lists) > len(before) else ()
        targets = next((o.functions for o in operands if isinstance(o, CallTargets)), ())
        return [
            self._vector([self._passed(e) for e in results]),
            self._encode_operand(operands[at]),
            self._vector([self._passed(e) for e in passed]),
            self._vector([self._encode_operand(f) for f in targets]),
        ]

    def _passed(self, element: Register | Immediate | Variable | Parameter) -> bytes:
        if isinstance(element, Variable | Parameter):
            return self._encode_operand(Symbol(element))
        return self._encode_operand(element)

    def _vector(self, elements: Sequence[bytes]) -> bytes:
        if len(elements) > _MOST:
            raise EmulationError(
                f"{self._body.name} has an instruction with a list of {len(elements)}, and the "
                f"emulator has lists of up to {_MOST}"
            )
        return struct.pack("<BB", 9, len(elements)) + b"".join(elements)

    def _encode_operand(self, operand: Operand) -> bytes:
        match operand:
            case Pair(first, second):
                return b"\x08" + self._encode_operand(first) + self._encode_operand(second)
            case TensorAddress() | FabricHandle():
                return self._encode_position(operand)
            case Vector(elements):
                return self._vector([self._encode_operand(e) for e in elements])
            case Address():
                return struct.pack("<BBQq", 3, *self._base(operand.base), operand.offset)
            case Symbol():
                kind, index = self._base(operand.of)
                return struct.pack("<BBIq", 4, kind, index, operand.offset)
            case Label():
                return struct.pack("<BI", 5, self._labels[operand])
            case FunctionName(name):
                return struct.pack("<BI", 10, self._image.function(name))
            case Targets(labels):
                return self._vector([self._encode_operand(label) for label in labels])
            case Arguments() | Prototype() | CallTargets():
                raise AssertionError("only calls have these, and those are encoded apart")
            case _:
                return self._encode_scalar(operand)

    def _encode_scalar(
        self, operand: Register | Immediate | SpecialRegister | Negated | Part | Minus | Sink
    ) -> bytes:
        match operand:
            case Register():
                return struct.pack("<BI", 0, self._registers[operand.index])
            case Immediate():
                return struct.pack("<BQB", 1, _immediate_bits(operand), operand.dtype.bits)
            case SpecialRegister():
                return struct.pack("<BI", 2, self._image.string(operand.name))
            case Negated():
                return struct.pack("<BI", 6, self._registers[operand.register.index])
            case Part(register, lanes):
                return self._encode_part(register, lanes, negated=False)
            case Minus(of):
                register, lanes = (of.register, of.lanes) if isinstance(of, Part) else (of, "")
                return self._encode_part(register, lanes, negated=True)
            case Sink():
                return b"\x07"

    def _encode_part(self, register: Register, lanes: str, *, negated: bool) -> bytes:
        """What is selected: digits in 4 bits each, their number in bits 16 to 23, halves in 24."""
        selected = int(lanes[1:], 16) | len(lanes[1:]) << 16 if lanes else 0
        halves = lanes.startswith("h") << 24
        return struct.pack("<BIBI", 11, self._registers[register.index], negated, selected | halves)

    def _encode_position(self, operand: TensorAddress | FabricHandle) -> bytes:
        if isinstance(operand, FabricHandle):
            inside = [self._encode_operand(r) for r in (operand.endpoint, *operand.offsets)]
            return self._vector(inside)
        inside = list(map(self._encode_operand, (*operand.between, operand.coordinates)))
        position = self._vector(inside) if operand.between else inside[0]
        return b"\x08" + self._encode_operand(operand.map) + position

    def _base(self, base: Register | Variable | Parameter | Immediate) -> tuple[int, int]:
        match base:
            case Register():
                return 0, self._registers[base.index]
            case Parameter() if isinstance(self._body, Kernel):
                return 2, self._parameters[base.index]
            case Variable() | Parameter():
                return 1, self._image.variables[self._body.name, base]
            case Immediate():
                return 3, base.bits & _MASK


def _spelling(instruction: Instruction) -> str:
    """With the bytes of a load that matter, where a compiler says so."""
    spelling = instruction.spelling
    for pragma in instruction.pragmas:
        name, _, mask = pragma.partition(" ")
        if name == "used_bytes_mask" and mask.strip():
            used = _mask(mask.strip())
            if 0 < used < 1 << 32 and instruction.form.opcode in ("ld", "ldu"):
                return f"{spelling}.used_bytes_{used}"
    return spelling


def _mask(text: str) -> int:
    """A number as PTX writes it, 0 for anything else, which an assembler ignores in a pragma."""
    try:
        return int(text, 0)
    except ValueError:
        return 0


def _immediate_bits(operand: Immediate) -> int:
    """The bits of a constant, integers sign-extended to 64."""
    bits, width = operand.bits, operand.dtype.bits
    if operand.dtype.is_signed and bits >> (width - 1) & 1:
        bits |= -1 << width
    return bits & _MASK


def _label_positions(body: Kernel | Function, first: int) -> dict[Label, int]:
    """The index of the instruction that each label stands before."""
    positions: dict[Label, int] = {}
    count = first
    for statement in body.body or ():
        if isinstance(statement, Place):
            positions[statement.label] = count
        else:
            count += 1
    return positions


def _variable_offsets(variables: Sequence[Variable]) -> dict[Variable, int]:
    """Where each variable lies in its space."""
    offsets = dict(shared_layout(tuple(variables)).offsets)
    ends: dict[str, int] = {}
    for v in variables:
        if v.space == "shared":
            continue
        start = -(-ends.get(v.space, 0) // v.align) * v.align
        offsets[v] = start
        ends[v.space] = start + v.size
    return offsets
