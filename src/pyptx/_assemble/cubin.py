"""An assembled kernel: its code, what it needs of the device, and its SASS."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from pyptx._source import SourceLocation


@dataclass(frozen=True, slots=True)
class Message:
    """One line of the assembler's report. `line` counts the PTX text's lines from 1, 0 for none."""

    severity: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Cubin:
    """One kernel assembled for one target. Sizes are in bytes; stack and spills are per thread.

    `shared` is the static shared memory of a CTA, `constant` the constant bank with the kernel's
    arguments, `spill_stores` and `spill_loads` the bytes moved by spill code (0 without spills).
    """

    kernel: str
    target: str
    code: bytes
    registers: int
    barriers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int
    constant: int
    assembler: str
    """Version of the ptxas that made it, e.g. "13.5.37"."""
    messages: tuple[Message, ...] = ()
    log: str = ""

    def __repr__(self) -> str:
        return (
            f"Cubin({self.kernel}, {self.target}, {len(self.code)} bytes, "
            f"{self.registers} registers, {self.spill_stores + self.spill_loads} spilled, "
            f"{self.shared} shared, ptxas {self.assembler})"
        )

    @property
    def warnings(self) -> tuple[Message, ...]:
        """The assembler's warnings."""
        return tuple(message for message in self.messages if message.severity == "warning")

    @property
    def assembler_major(self) -> int:
        """The CUDA version of the assembler, which a driver must reach to load the code."""
        return int(self.assembler.partition(".")[0])


_MESSAGE: Final = re.compile(r"ptxas (?:.*?, line (\d+); )?(error|warning|fatal)\s*: (.*)")


def messages(log: str) -> tuple[Message, ...]:
    """The errors and warnings of a ptxas log, in its order and without repetitions."""
    found = (match for match in map(_MESSAGE.fullmatch, log.splitlines()) if match)
    return tuple(dict.fromkeys(Message(m[2], int(m[1] or 0), m[3].strip()) for m in found))


_USAGE: Final = {
    "registers": r"Used (\d+) registers",
    "barriers": r"used (\d+) barriers",
    "stack": r"(\d+) bytes stack frame",
    "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads",
    "shared": r"(\d+) bytes smem",
}


def resources(log: str, kernel: str) -> dict[str, int]:
    """Resource usage of `kernel` from the log of `ptxas -v`; what it does not mention is 0."""
    _, _, rest = log.partition(f"Compiling entry function '{kernel}' ")
    section = rest.partition("Compiling entry function")[0]
    found = {name: re.search(pattern, section) for name, pattern in _USAGE.items()}
    return {name: int(match[1]) if match else 0 for name, match in found.items()}


def by_entry(
    cubin: Cubin, kernels: Mapping[str, range], lines: Mapping[int, SourceLocation]
) -> dict[str, Cubin] | None:
    """What an assembly of several kernels says of each: its sizes and its messages.

    The code is that of all, and `constant` has the banks of the whole module.
    `kernels` has the lines of each in the user's file, `lines` the place there of each PTX line.
    None where a message is neither at one of these lines nor names one of the kernels: what it
    says of a function is for the kernels that call it.
    """
    said: dict[str, list[Message]] = {name: [] for name in kernels}
    for message in cubin.messages:
        words = set(re.findall(r"[\w$%]+", message.text))
        line = lines[message.line].line if message.line in lines else 0
        about = [name for name, own in kernels.items() if line in own or name in words]
        if not about:
            return None
        for name in about:
            said[name].append(message)
    banks = _constant_banks(cubin.code)
    mark = "Compiling entry function '"
    logs = {part.partition("'")[0]: mark + part for part in cubin.log.split(mark)[1:]}
    return {
        name: replace(
            cubin,
            kernel=name,
            messages=tuple(said[name]),
            log=logs.get(name, ""),
            constant=banks.get("", 0) + banks.get(name, 0),
            **resources(logs.get(name, ""), name),
        )
        for name in kernels
    }


def entries(log: str) -> tuple[str, ...]:
    """The kernels that a `ptxas -v` log reports, in its order."""
    return tuple(re.findall(r"Compiling entry function '([^']+)'", log))


def section_sizes(code: bytes) -> dict[str, int]:
    """The sections of a 64-bit little-endian ELF file and their sizes in bytes."""
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count, names = struct.unpack_from("<HHH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", code, table + i * size) for i in range(count)]
    strings = headers[names][4]
    return {_string(code, strings + header[0]): header[5] for header in headers}


def _string(code: bytes, at: int) -> str:
    return code[at : code.index(0, at)].decode()


def constant_bytes(code: bytes, kernel: str) -> int:
    """Bytes of the constant banks of `kernel`: module constants (bank 3) and arguments (bank 0)."""
    banks = _constant_banks(code)
    return banks.get("", 0) + banks.get(kernel, 0)


_BANK: Final = re.compile(r"\.nv\.constant\d+(?:\.(.+))?")


def _constant_banks(code: bytes) -> dict[str, int]:
    """Bytes of the constant banks of each kernel, and at "" of those of the module."""
    found: dict[str, int] = {}
    for name, size in section_sizes(code).items():
        if match := _BANK.fullmatch(name):
            kernel = match[1] or ""
            found[kernel] = found.get(kernel, 0) + size
    return found
