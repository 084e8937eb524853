"""Asks ptxas whether instructions exist: one stub kernel each, hundreds of them in a process.

Independent of the project's writer on purpose: what the table says is compared with what the
assembler takes, through nothing but the operand values.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from tempfile import TemporaryFile
from typing import Final

from pyptx._assemble.ptxas import PTXAS, find
from pyptx._isa.sample import VARIABLES
from pyptx._operands import (
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
)
from pyptx._target import PTX_FOR_TARGET, PTX_VERSIONS, PtxVersion, Target
from pyptx.types import DTYPES

VERSIONS: Final = PTX_VERSIONS

_ERROR: Final = re.compile(r"line (\d+); (?:error|fatal)\s*: (.*)")
_NEWEST: Final = re.compile(r"current version is '(\d+\.\d+)'")
_STORAGES: Final = "|".join(sorted({dtype.storage for dtype in DTYPES.values()}))
_REGISTER: Final = re.compile(rf"%({_STORAGES})_(\d+)\b")
_BATCH: Final = 1500

KERNEL: Final = "kernel(.param .align 16 .b8 parameter[256])"
LOCALS: Final = ".local .align 128 .b8 local_bytes[1024];"
TARGETS: Final = "targets: .branchtargets label0;"
END: Final = "label0: ret; }"
"""What statements stand between: a kernel's name, its variable, its list of labels, its end."""


@lru_cache(maxsize=1)
def newest() -> PtxVersion:
    """The newest PTX version that the installed assembler knows."""
    match = _NEWEST.search(run(".version 99.0\n.target sm_75\n", Target.parse("sm_75")).stderr)
    assert match is not None
    return PtxVersion.parse(match[1])


@lru_cache(maxsize=1)
def known_targets() -> tuple[Target, ...]:
    """The targets of the project that the installed assembler knows."""
    return tuple(t for t in PTX_FOR_TARGET if not _empty_kernel(t, newest()))


def _empty_kernel(target: Target, version: PtxVersion) -> str:
    return run(_module([".entry k() { ret; }"], version, target), target).stderr


# ---- text ---------------------------------------------------------------------------------------


def line(spelling: str, operands: Sequence[Operand]) -> str:
    """A stub kernel with one instruction, on one line."""
    return around(f"{spelling} {written(operands)};")


def around(statement: str) -> str:
    """A stub kernel with a statement, on one line, that declares the registers it names."""
    named = dict.fromkeys(_REGISTER.findall(statement))
    declared = " ".join(f".reg .{storage} %{storage}_{number};" for storage, number in named)
    targets = TARGETS if statement.startswith("brx") else ""
    return stub(f"{declared} {LOCALS} {targets} {statement}")


def stub(statements: str) -> str:
    """A kernel around statements; `parameter` is its parameter and `label0` its last label."""
    return f".entry {KERNEL} {{ {statements} {END}"


def written(operands: Sequence[Operand]) -> str:
    """Operands as text; a register is named by its type and its number."""
    return ", ".join(_text(o) for o in operands)


def _name(register: Register) -> str:
    return f"%{register.dtype.storage}_{register.index}"


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
    return module_head(version, target) + "\n".join(kernels) + "\n"


def module_head(version: PtxVersion, target: Target) -> str:
    """The directives of a module and its variables, with a line break at the end."""
    variables = [
        f".{v.space} .align {v.align} .b8 {v.name}[{v.size}];"
        for v in VARIABLES.values()
        if v.space != "local"
    ]
    head = [f".version {version}", f".target {target}", ".address_size 64", *variables]
    return "\n".join(head) + "\n"


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
    return run(_module([text], version, target), target).returncode == 0


def _batch(
    lines: list[str], version: PtxVersion, target: Target, found: dict[str, str | None]
) -> None:
    while lines:
        head = module_head(version, target).count("\n")
        numbered = [t.replace(" kernel(", f" kernel{i}(", 1) for i, t in enumerate(lines)]
        result = run(_module(numbered, version, target), target)
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


def run(text: str, target: Target) -> subprocess.CompletedProcess[str]:
    """Assemble a module and throw the code away.

    Through files: thousands of errors in a pipe take longer to read than to find.
    """
    command = [str(find(PTXAS)), f"-arch={target}", "-O0", "-w", "-", "-o", "/dev/null"]
    with TemporaryFile("w+") as module, TemporaryFile("w+") as errors:
        module.write(text)
        module.seek(0)
        status = subprocess.run(command, stdin=module, stderr=errors, check=False).returncode
        errors.seek(0)
        return subprocess.CompletedProcess(command, status, stderr=errors.read())
