"""Which global variables of a PTX file several of its kernels use, and change.

In CUDA, kernels of one module see the same variables. Here each kernel is a module of its own, so
a file that counts on it is pointed out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from pyptx import _emulator as emulator
from pyptx import _ir as ir
from pyptx._operands import (
    Address,
    Arguments,
    Operand,
    Parameter,
    Register,
    Symbol,
    Variable,
    Vector,
    registers_of,
)
from pyptx.errors import PtxError, SharedVariableWarning

_CHANGING = frozenset(("st", "atom", "red", "cp", "multimem"))
"""Opcodes that write memory at an address among their operands."""


def warn_of_shared(module: ir.Module, entry: ir.Kernel, file: str) -> None:
    """Warn of each global variable that `entry` and another kernel use, and one of them changes.

    To be called by what the user calls: the warning is at the user's line.
    """
    others = [kernel for kernel in module.kernels if kernel.name != entry.name]
    if not others:
        return
    used = {kernel.name: _reached(kernel, module) for kernel in (entry, *others)}
    changed = set[str]().union(*map(_changed, _bodies(module)))
    for name in used[entry.name]:
        sharing = [kernel.name for kernel in others if name in used[kernel.name]]
        if sharing and name in changed:
            warnings.warn(_message(name, [entry.name, *sharing], file), stacklevel=4)


def _message(variable: str, kernels: list[str], file: str) -> SharedVariableWarning:
    return SharedVariableWarning(
        f"{', '.join(kernels[:-1])} and {kernels[-1]} of {file} use the global variable "
        f"{variable}, which is changed; in CUDA they would see one, here each kernel has its own\n"
        "  help: pass what kernels hand on to each other as an array, in in_specs and out_specs"
    )


def _bodies(module: ir.Module) -> tuple[ir.Kernel | ir.Function, ...]:
    return (*module.kernels, *module.functions)


def _reached(kernel: ir.Kernel, module: ir.Module) -> list[str]:
    """The module's global variables that a kernel names, or a function that it may call."""
    try:
        bodies: Iterable[ir.Kernel | ir.Function] = emulator.link(kernel, module).bodies
    except PtxError:  # it calls what the file has no body of: any function may be called from there
        bodies = (kernel, *module.functions)
    own = {variable for variable in module.variables if variable.space == "global"}
    found = (variable.name for body in bodies for variable in body.variables if variable in own)
    return list(dict.fromkeys(found))


def _changed(body: ir.Kernel | ir.Function) -> set[str]:
    """The variables of which a body writes something, at an address made of the variable's."""
    instructions = [s for s in body.body or () if isinstance(s, ir.Instruction)]
    made = _addresses(instructions)
    found: set[str] = set()
    for instruction in instructions:
        if instruction.form.opcode in _CHANGING:
            for operand in instruction.operands:
                if isinstance(operand, Address):
                    found |= _variables(operand.base, made)
    return found


def _addresses(instructions: list[ir.Instruction]) -> dict[Register, set[str]]:
    """The variables whose addresses a register may have been reckoned from."""
    made: dict[Register, set[str]] = {}
    grown = True
    while grown:
        grown = False
        for instruction in instructions:
            if instruction.form.opcode in ("ld", "ldu", "call"):
                continue
            sources = set[str]().union(*(_variables(o, made) for o in instruction.operands))
            for operand in instruction.operands[:1]:
                for register in registers_of(operand) if sources else ():
                    before = made.setdefault(register, set())
                    grown = grown or not sources <= before
                    before |= sources
    return made


def _variables(
    operand: Operand | Variable | Parameter | int, made: dict[Register, set[str]]
) -> set[str]:
    match operand:
        case Variable(name=name):
            return {name}
        case Symbol(of=Variable(name=name)):
            return {name}
        case Register():
            return made.get(operand, set())
        case Vector(elements) | Arguments(elements):
            return set[str]().union(*(_variables(e, made) for e in elements))
        case _:
            return set()
