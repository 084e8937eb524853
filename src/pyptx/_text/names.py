"""The PTX names of registers, labels, variables and parameters: given here and only here.

Registers are named by class in order of allocation, labels and unnamed variables by number.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, TypeVar

from pyptx._ir import Function, Instruction, Kernel, Place
from pyptx._operands import (
    CallTargets,
    Label,
    Operand,
    Parameter,
    Prototype,
    Register,
    Targets,
    Variable,
)
from pyptx.types import DType

DYNAMIC_SHARED: Final = "dynamic_shared"
"""The name of the array that holds the shared variables when they are dynamic."""

LISTING: Final = frozenset(("call", "brx"))
"""The opcodes that name lists of labels or functions, or prototypes."""

# PTX also has names that begin with %; those are the registers'.
_IDENTIFIER: Final = re.compile(r"[A-Za-z$][A-Za-z0-9_$]*|_[A-Za-z0-9_$]+")
_OURS: Final = re.compile(r"\$[LTPC]\d+")
_RESERVED: Final = frozenset(("WARP_SZ", DYNAMIC_SHARED))

_Kind = TypeVar("_Kind", Targets, Prototype, CallTargets)


def identifier(name: str, fallback: str) -> str:
    """`name` where PTX can have it as an identifier, otherwise `fallback`."""
    fits = _IDENTIFIER.fullmatch(name) and not _OURS.fullmatch(name)
    return name if fits and name not in _RESERVED else fallback


class Names:
    """The PTX names of one kernel's or function's registers, labels, variables and parameters.

    `first_label` is the number of its first label.
    """

    def __init__(self, kernel: Kernel | Function, first_label: int = 0) -> None:
        formal = (*_returns(kernel), *kernel.parameters)
        self.registers: dict[int, str] = {
            r.index: f"%formal{i}" for i, r in enumerate(formal) if isinstance(r, Register)
        }
        """By the number of the register."""
        classes: dict[str, DType] = {}
        numbers: defaultdict[str, int] = defaultdict(int)
        written = set(self.registers)
        for register in kernel.registers:
            if register.index in written:
                continue
            assert register.index not in self.registers, f"{register.index} counts two registers"
            prefix = register.dtype.prefix
            classes.setdefault(prefix, register.dtype)
            self.registers[register.index] = f"%{prefix}{numbers[prefix]}"
            numbers[prefix] += 1
        self.declarations = [
            f"    .reg .{dtype.storage} %{prefix}<{numbers[prefix]}>;"
            for prefix, dtype in sorted(classes.items())
        ]
        places = (s.label for s in kernel.body or () if isinstance(s, Place))
        self.labels: dict[Label, str] = {
            label: f"$L{i}" for i, label in enumerate(places, first_label)
        }
        lists = _lists(kernel)
        self.targets = _numbered("$T", lists, Targets)
        self.prototypes = _numbered("$P", lists, Prototype)
        self.call_targets = _numbered("$C", lists, CallTargets)
        self._layout = kernel.shared if isinstance(kernel, Kernel) else None
        self.parameters = {
            p: identifier(p.name, f"{kernel.name}_{'ret' if p.returned else 'param'}_{p.index}")
            for p in formal
            if isinstance(p, Parameter)
        }
        taken = set(self.parameters.values())
        self.variables: dict[Variable, str] = {}
        for variable in kernel.variables:
            name = variable_name(variable)
            while name in taken:
                name += "_"
            taken.add(name)
            self.variables[variable] = name

    def of_parameter(self, parameter: Parameter) -> str:
        return self.parameters[parameter]

    def of_variable(self, variable: Variable) -> tuple[str, int]:
        """The symbol that holds a variable, and the variable's byte offset in it."""
        layout = self._layout
        if layout is not None and variable.space == "shared" and layout.dynamic:
            return DYNAMIC_SHARED, layout.offsets[variable]
        return self.variables[variable], 0


def variable_name(variable: Variable) -> str:
    """The name of a variable where nothing else in the kernel has it."""
    if variable.linkage == "extern" and variable.name == DYNAMIC_SHARED:
        return variable.name
    return identifier(variable.name, f"{variable.space}_{variable.index}")


def operands_of(kernel: Kernel | Function) -> Iterator[Operand]:
    """Every operand of the body, in order."""
    for statement in kernel.body or ():
        if isinstance(statement, Instruction):
            yield from statement.operands


def _returns(kernel: Kernel | Function) -> tuple[Parameter | Register, ...]:
    return kernel.returns if isinstance(kernel, Function) else ()


def _lists(kernel: Kernel | Function) -> list[Operand]:
    """The operands of a body that are lists with a name of their own, in order."""
    kinds = (Targets, Prototype, CallTargets)
    return [
        operand
        for statement in kernel.body or ()
        if type(statement) is Instruction and statement.form.opcode in LISTING
        for operand in statement.operands
        if type(operand) in kinds
    ]


def _numbered(prefix: str, lists: list[Operand], kind: type[_Kind]) -> dict[_Kind, str]:
    """Names of what a body has lists of, in order of their first use."""
    found = dict.fromkeys(o for o in lists if isinstance(o, kind))
    return {each: f"{prefix}{i}" for i, each in enumerate(found)}
