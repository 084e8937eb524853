"""Asks ptxas whether instructions exist: one stub kernel each, hundreds of them in a process.

Independent of the project's writer on purpose: what the table says is compared with what the
assembler takes, through nothing but the operand values.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from pyptx.assemble.ptxas import PTXAS, find
from pyptx.isa.sample import VARIABLES
from pyptx.operands import (
    Address,
    FabricHandle,
    Immediate,
    Label,
    Minus,
    Negated,
    Operand,
    Pair,
    Parameter,
    Part,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Targets,
    TensorAddress,
    Variable,
    Vector,
    registers_of,
)
from pyptx.target import PTX_FOR_TARGET, PtxVersion, Target

VERSIONS: Final = tuple(
    PtxVersion(major, minor)
    for major, minors in ((6, range(3, 6)), (7, range(9)), (8, range(9)), (9, range(6)))
    for minor in minors
)
"""PTX versions from that of the oldest target on."""

_ERROR: Final = re.compile(r"line (\d+); (?:error|fatal)\s*: (.*)")
_NEWEST: Final = re.compile(r"current version is '(\d+\.\d+)'")
_BATCH: Final = 1500


@lru_cache(maxsize=1)
def newest() -> PtxVersion:
    """The newest PTX version that the installed assembler knows."""
    match = _NEWEST.search(_run(".version 99.0\n.target sm_75\n", "sm_75").stderr)
    assert match is not None
    return PtxVersion.parse(match[1])


@lru_cache(maxsize=1)
def known_targets() -> tuple[Target, ...]:
    """The targets of the project that the installed assembler knows."""
    return tuple(t for t in PTX_FOR_TARGET if not _empty_kernel(t, newest()))


def _empty_kernel(target: Target, version: PtxVersion) -> str:
    return _run(_module([".entry k() { ret; }"], version, target), str(target)).stderr


# ---- text ---------------------------------------------------------------------------------------


def line(spelling: str, operands: Sequence[Operand]) -> str:
    """A stub kernel with one instruction, on one line."""
    registers = dict.fromkeys(r for operand in operands for r in registers_of(operand))
    declared = " ".join(f".reg .{r.dtype.storage} {_name(r)};" for r in registers)
    text = ", ".join(_text(o) for o in operands)
    local = ".local .align 128 .b8 local_bytes[1024];"
    targets = "targets: .branchtargets label0;" if spelling.startswith("brx") else ""
    return stub(f"{declared} {local} {targets} {spelling} {text};")


def stub(statements: str) -> str:
    """A kernel around statements; `parameter` is its parameter and `label0` its last label."""
    return f".entry kernel(.param .align 16 .b8 parameter[256]) {{ {statements} label0: ret; }}"


def _name(register: Register) -> str:
    return f"%r{register.index}"


def _text(operand: Operand | Variable | Parameter) -> str:  # noqa: C901, PLR0912 (a case per operand)
    match operand:
        case Register():
            return _name(operand)
        case Immediate(bits=bits, dtype=dtype):
            if dtype.is_float:
                return f"0{'f' if dtype.bits == 32 else 'd'}{bits:0{dtype.bits // 4}X}"
            return str(bits)
        case SpecialRegister(name=name):
            return f"%{name}"
        case Address(base=base, offset=offset):
            return f"[{_text(base)}{f'+{offset}' if offset else ''}]"
        case TensorAddress(map=tensor_map, coordinates=coordinates, between=between):
            inside = ", ".join(_text(each) for each in (*between, coordinates))
            return f"{_text(tensor_map)[:-1]}, {inside}]"
        case FabricHandle(endpoint=endpoint, offsets=offsets):
            return f"[{', '.join(_name(each) for each in (endpoint, *offsets))}]"
        case Part(register=register, lanes=lanes):
            return f"{_name(register)}.{lanes}"
        case Minus(of=of):
            return f"-{_text(of)}"
        case Symbol(of=of):
            return _text(of)
        case Variable() | Parameter():
            return operand.name
        case Negated(register=register):
            return f"!{_name(register)}"
        case Pair(first=first, second=second):
            return f"{_text(first)}|{_text(second)}"
        case Vector(elements=elements):
            return "{" + ", ".join(_text(e) for e in elements) + "}"
        case Label():
            return "label0"
        case Targets():
            return "targets"
        case Sink():
            return "_"
        case _:
            raise TypeError(f"{operand!r} is an operand of files only")


def _module(kernels: Sequence[str], version: PtxVersion, target: Target) -> str:
    variables = [
        f".{v.space} .align {v.align} .b8 {v.name}[{v.size}];"
        for v in VARIABLES.values()
        if v.space != "local"
    ]
    head = [f".version {version}", f".target {target}", ".address_size 64", *variables]
    return "\n".join([*head, *kernels]) + "\n"


# ---- asking -------------------------------------------------------------------------------------


def verdicts(lines: Sequence[str], version: PtxVersion, target: Target) -> list[str | None]:
    """Of each stub: None where the assembler takes it, otherwise what it says.

    Every acceptance comes from a module that was assembled without any error.
    """
    found: dict[str, str | None] = {}
    unique = list(dict.fromkeys(lines))
    for start in range(0, len(unique), _BATCH):
        _batch(unique[start : start + _BATCH], version, target, found)
    return [found[text] for text in lines]


def alone(text: str, version: PtxVersion, target: Target) -> bool:
    """Whether the assembler takes a stub in a module of its own."""
    return _run(_module([text], version, target), str(target)).returncode == 0


def _batch(
    lines: list[str], version: PtxVersion, target: Target, found: dict[str, str | None]
) -> None:
    while lines:
        head = _module([], version, target).count("\n")
        numbered = [t.replace(" kernel(", f" kernel{i}(", 1) for i, t in enumerate(lines)]
        result = _run(_module(numbered, version, target), str(target))
        if result.returncode == 0:
            found |= dict.fromkeys(lines)
            return
        errors = {int(n) - head - 1: message for n, message in _ERROR.findall(result.stderr)}
        rejected = {lines[n]: message for n, message in errors.items() if 0 <= n < len(lines)}
        if not rejected:
            _halve(lines, version, target, found, result.stderr)
            return
        found |= rejected
        lines = [text for text in lines if text not in rejected]


def _halve(
    lines: list[str],
    version: PtxVersion,
    target: Target,
    found: dict[str, str | None],
    message: str,
) -> None:
    """Errors without a line: look for the kernels that cause them."""
    if len(lines) == 1:
        found[lines[0]] = message.strip()
        return
    middle = len(lines) // 2
    _batch(lines[:middle], version, target, found)
    _batch(lines[middle:], version, target, found)


def _run(text: str, target: str) -> subprocess.CompletedProcess[str]:
    command = [str(find(PTXAS)), f"-arch={target}", "-O0", "-w", "-", "-o", "/dev/null"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)
