"""Runs one case on the emulator's handlers: a program image of one instruction, values in, values
out.

The image is written here from its description in docs/architecture.md, not with the project's
encoder, so that the format has a second reader's view too.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from .cases import Case, elements, width

LANES = 32
SLOTS = {1: 4, 8: 1, 16: 2, 32: 4, 64: 8, 128: 16}


class NotEmulated(Exception):
    """The emulator refuses the image; the text is its message."""


@dataclass
class Image:
    """Registers, and instructions as (spelling, encoded operands)."""

    widths: list[int] = field(default_factory=list)
    instructions: list[tuple[str, list[bytes]]] = field(default_factory=list)

    def register(self, bits: int) -> int:
        self.widths.append(bits)
        return len(self.widths) - 1

    def encode(self) -> bytes:
        strings = ["test", "sm_90a", *(s for s, _ in self.instructions)]
        out = [b"PTXEMU\x00\x02", struct.pack("<I", len(strings))]
        for text in strings:
            out += [struct.pack("<I", len(text)), text.encode()]
        out.append(struct.pack("<III", 0, 90, 1))
        out.append(struct.pack("<I", len(self.widths)) + bytes(self.widths))
        out.append(struct.pack("<IIII", 0, 0, 0, 0))  # parameters, variables, addresses, functions
        out.append(struct.pack("<III", 0, 0, 0))  # the entry: no local memory, no stack
        out.append(struct.pack("<I", len(self.instructions)))
        for k, (_, operands) in enumerate(self.instructions):
            out.append(struct.pack("<IIBB", 2 + k, 0xFFFFFFFF, 0, len(operands)))
            out += operands
        return b"".join(out)


def register_operand(index: int, *, negated: bool = False) -> bytes:
    return struct.pack("<BI", 6 if negated else 0, index)


def part_operand(index: int, text: str) -> bytes:
    """`-u32.h1`: a negation, and the selected bytes or halves, each number in 4 bits."""
    lanes = text.partition(".")[2]
    code = sum(int(digit) << 4 * k for k, digit in enumerate(reversed(lanes[1:])))
    code += (len(lanes) - 1 << 16) + (lanes.startswith("h") << 24) if lanes else 0
    return struct.pack("<BIBI", 11, index, text.startswith("-"), code)


def immediate(value: int, bits: int = 32) -> bytes:
    return struct.pack("<BQB", 1, value & (1 << 64) - 1, bits)


@dataclass
class Straightline:
    """A case as an image, with the registers that hold its sources and destinations in order."""

    case: Case
    image: Image = field(default_factory=Image)
    sources: list[int] = field(default_factory=list)
    destinations: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        operands: list[bytes] = []
        for operand in self.case.operands:
            if operand == "cc":
                # Adding all ones gives a carry exactly where the source is not zero.
                flag = self.source("b32")
                self.image.instructions.append(
                    ("add.cc.u32", [b"\x07", register_operand(flag), immediate(0xFFFFFFFF)])
                )
            elif operand != "=cc":
                operands.append(self.operand(operand))
        self.image.instructions.append((self.case.spelling, operands))
        if "=cc" in self.case.operands:
            at = self.image.register(32)
            # The destinations keep the order of the operands, in which the carry comes second.
            self.destinations.append(at)
            self.image.instructions.append(
                ("addc.u32", [register_operand(at), immediate(0), immediate(0)])
            )

    def source(self, type_: str) -> int:
        index = self.image.register(width(type_))
        self.sources.append(index)
        return index

    def destination(self, type_: str) -> int:
        index = self.image.register(width(type_))
        self.destinations.append(index)
        return index

    def operand(self, text: str) -> bytes:
        if text.startswith("#"):
            return immediate(int(text[1:]))
        make = self.destination if text.startswith("=") else self.source
        body = text.lstrip("=")
        if "." in body or body.startswith("-"):
            return part_operand(make(elements(body)[0]), body)
        negated = body.startswith("!")
        parts = [register_operand(make(t), negated=negated) for t in elements(body)]
        if "|" in body:
            return b"\x08" + b"".join(parts)
        return struct.pack("<BB", 9, len(parts)) + b"".join(parts) if "{" in body else parts[0]


def pack(values: Sequence[int], bits: int) -> bytearray:
    """Lane values as the register's memory; a predicate is a bit per lane."""
    if bits == 1:
        words = [
            sum(bool(v) << k for k, v in enumerate(values[i : i + LANES]))
            for i in range(0, len(values), LANES)
        ]
        return bytearray(struct.pack(f"<{len(words)}I", *words))
    size = bits // 8
    return bytearray(b"".join((v & (1 << bits) - 1).to_bytes(size, "little") for v in values))


def unpack(memory: bytes | bytearray, bits: int, count: int) -> list[int]:
    if bits == 1:
        words = struct.unpack(f"<{len(memory) // 4}I", memory)
        return [words[k // LANES] >> k % LANES & 1 for k in range(count)]
    size = bits // 8
    return [int.from_bytes(memory[k * size : (k + 1) * size], "little") for k in range(count)]


def run(
    library: ctypes.CDLL,
    image: Image,
    registers: list[bytearray],
    warps: int,
    mask: int = 0xFFFFFFFF,
    repeat: int = 1,
) -> None:
    """Run the image on the registers' memory, in place. Raises NotEmulated with the message."""
    data = image.encode()
    pointers = (ctypes.c_void_p * len(registers))(
        *(ctypes.addressof((ctypes.c_char * len(r)).from_buffer(r)) for r in registers)
    )
    error = ctypes.create_string_buffer(4096)
    status = library.pyptx_emulator_evaluate(
        data, ctypes.c_uint64(len(data)), pointers, ctypes.c_uint64(warps), ctypes.c_uint32(mask),
        ctypes.c_uint64(repeat), error, ctypes.c_uint64(len(error)),
    )  # fmt: skip
    if status != 0:
        raise NotEmulated(error.value.decode())


def evaluate(
    library: ctypes.CDLL, case: Case, rows: Sequence[tuple[int, ...]], mask: int = 0xFFFFFFFF
) -> list[tuple[int, ...]]:
    """The destinations of each row; rows beyond a warp's 32 lanes run in further warps.

    Destinations start as all ones in every bit, and keep that in lanes outside `mask`.
    """
    line = Straightline(case)
    count = -(-len(rows) // LANES) * LANES
    padded = list(rows) + [rows[0]] * (count - len(rows))
    columns: dict[int, Sequence[int]] = {
        r: [row[k] for row in padded] for k, r in enumerate(line.sources)
    }
    ones = [(1 << 128) - 1] * count
    registers = [pack(columns.get(r, ones), bits) for r, bits in enumerate(line.image.widths)]
    run(library, line.image, registers, count // LANES, mask)
    results = [unpack(registers[r], line.image.widths[r], len(rows)) for r in line.destinations]
    return list(zip(*results, strict=True))
