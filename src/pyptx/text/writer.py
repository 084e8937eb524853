"""IR to PTX text: total, deterministic, one instruction a line.

Names are given here and only here: registers by class in order of allocation, labels and unnamed
variables by number. The same kernel gives the same text in any process.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pyptx.ir import Guard, Instruction, Kernel, Module, Place
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
    Targets,
    TensorAddress,
    Variable,
    Vector,
)
from pyptx.source import UNKNOWN, SourceLocation
from pyptx.types import DType

DYNAMIC_SHARED: Final = "dynamic_shared"
"""The name of the array that holds the shared variables when they are dynamic."""

# PTX also has names that begin with % and $; those are the registers' and the labels'.
_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|_[A-Za-z0-9_$]+")
_RESERVED: Final = frozenset(("WARP_SZ", DYNAMIC_SHARED))
_HEX_FLOATS: Final = {"f32": ("0f", 8), "f64": ("0d", 16)}


@dataclass(frozen=True, slots=True)
class Text:
    """PTX text and, for each of its lines that came from one, the Python line."""

    ptx: str
    lines: Mapping[int, SourceLocation]


def write(module: Module, *, lines: bool = False) -> Text:
    """The text of a module; with `lines`, `.loc` directives name the Python source."""
    writer = _Writer(lines=lines)
    writer.module(module)
    return Text("\n".join(writer.out) + "\n", writer.locations)


def identifier(name: str, fallback: str) -> str:
    """`name` where PTX can have it as an identifier, otherwise `fallback`."""
    return name if _IDENTIFIER.fullmatch(name) and name not in _RESERVED else fallback


class _Writer:
    def __init__(self, *, lines: bool) -> None:
        self.out: list[str] = []
        self.locations: dict[int, SourceLocation] = {}
        self._with_lines = lines
        self._files: dict[str, int] = {}
        self._declared: set[Targets] = set()

    def module(self, module: Module) -> None:
        self.out += [
            f".version {module.version}",
            f".target {module.target}",
            ".address_size 64",
        ]
        for kernel in module.kernels:
            self._number_files(kernel)
            for variable in kernel.variables:
                if variable.space in ("const", "global"):
                    self.out += ["", _module_variable(variable)]
            if kernel.shared.dynamic:
                layout = kernel.shared
                self.out += ["", f".extern .shared .align {layout.align} .b8 {DYNAMIC_SHARED}[];"]
            self.out.append("")
            self._kernel(kernel)

    def _number_files(self, kernel: Kernel) -> None:
        if not self._with_lines:
            return
        for statement in kernel.body:
            if isinstance(statement, Instruction) and statement.location is not UNKNOWN:
                file = statement.location.file
                if file not in self._files:
                    self._files[file] = len(self._files) + 1
                    escaped = file.replace("\\", "\\\\").replace('"', '\\"')
                    self.out.append(f'.file {self._files[file]} "{escaped}"')

    def _kernel(self, kernel: Kernel) -> None:
        names = Names(kernel)
        parameters = ",\n".join(
            f"    .param .{p.dtype.storage} {names.of_parameter(p)}" for p in kernel.parameters
        )
        self.out += f".visible .entry {kernel.name}(\n{parameters}\n)".replace(
            "(\n\n)", "()"
        ).split("\n")
        for directive in kernel.directives:
            values = ", ".join(map(str, directive.values))
            self.out.append(f".{directive.name} {values}".rstrip())
        self.out.append("{")
        self.out += names.declarations
        self.out += _local_variables(kernel, names)
        previous = UNKNOWN
        for statement in kernel.body:
            if isinstance(statement, Place):
                self.out.append(f"{names.labels[statement.label]}:")
                continue
            location = statement.location
            if self._with_lines and location is not UNKNOWN and location != previous:
                self.out.append(f"    .loc {self._files[location.file]} {location.line} 0")
                previous = location
            self._branch_targets(statement, names)
            self.out.append(f"    {instruction_text(statement, names)}")
            if location is not UNKNOWN:
                self.locations[len(self.out)] = location
        self.out.append("}")

    def _branch_targets(self, instruction: Instruction, names: Names) -> None:
        """Declare the list of labels of a `brx.idx` before its first use."""
        for operand in instruction.operands:
            if isinstance(operand, Targets) and operand not in self._declared:
                self._declared.add(operand)
                self.out.append(f"    {targets_text(operand, names)}")


class Names:
    """The PTX names of one kernel's registers, labels, variables and parameters."""

    def __init__(self, kernel: Kernel) -> None:
        classes: dict[str, DType] = {}
        self.registers: dict[Register, str] = {}
        numbers: defaultdict[str, int] = defaultdict(int)
        for register in kernel.registers:
            prefix = register.dtype.prefix
            classes.setdefault(prefix, register.dtype)
            self.registers[register] = f"%{prefix}{numbers[prefix]}"
            numbers[prefix] += 1
        self.declarations = [
            f"    .reg .{dtype.storage} %{prefix}<{numbers[prefix]}>;"
            for prefix, dtype in sorted(classes.items())
        ]
        places = (s.label for s in kernel.body if isinstance(s, Place))
        self.labels: dict[Label, str] = {label: f"$L{i}" for i, label in enumerate(places)}
        lists = (o for o in _operands(kernel) if isinstance(o, Targets))
        self.targets = {found: f"$T{i}" for i, found in enumerate(dict.fromkeys(lists))}
        self._layout = kernel.shared
        self.parameters = {
            p: identifier(p.name, f"{kernel.name}_param_{p.index}") for p in kernel.parameters
        }
        taken = set(self.parameters.values())
        self.variables: dict[Variable, str] = {}
        for variable in kernel.variables:
            name = identifier(variable.name, f"{variable.space}_{variable.index}")
            while name in taken:
                name += "_"
            taken.add(name)
            self.variables[variable] = name

    def of_parameter(self, parameter: Parameter) -> str:
        return self.parameters[parameter]

    def of_variable(self, variable: Variable) -> tuple[str, int]:
        """The symbol that holds a variable, and the variable's byte offset in it."""
        if variable.space == "shared" and self._layout.dynamic:
            return DYNAMIC_SHARED, self._layout.offsets[variable]
        return self.variables[variable], 0


def _operands(kernel: Kernel) -> Iterator[Operand]:
    for statement in kernel.body:
        if isinstance(statement, Instruction):
            yield from statement.operands


def targets_text(targets: Targets, names: Names) -> str:
    """The statement that declares the list of labels of a `brx.idx`."""
    labels = ", ".join(names.labels[label] for label in targets.labels)
    return f"{names.targets[targets]}: .branchtargets {labels};"


def _local_variables(kernel: Kernel, names: Names) -> list[str]:
    return [
        f"    .{v.space} .align {v.align} .b8 {names.variables[v]}[{v.size}];"
        for v in kernel.variables
        if v.space == "local" or (v.space == "shared" and not kernel.shared.dynamic)
    ]


def _module_variable(variable: Variable) -> str:
    name = identifier(variable.name, f"{variable.space}_{variable.index}")
    head = f".{variable.space} .align {variable.align} .b8 {name}[{variable.size}]"
    values = ", ".join(map(str, variable.initial))
    return f"{head} = {{{values}}};" if variable.initial else f"{head};"


def instruction_text(instruction: Instruction, names: Names) -> str:
    """One instruction with its guard and semicolon."""
    operands = ", ".join(operand_text(o, names) for o in instruction.operands)
    guard = _guard(instruction.guard, names) if instruction.guard else ""
    return f"{guard}{instruction.spelling} {operands}".rstrip() + ";"


def _guard(guard: Guard, names: Names) -> str:
    return f"@{'!' if guard.negated else ''}{names.registers[guard.register]} "


def operand_text(operand: Operand, names: Names) -> str:
    """One operand as PTX writes it."""
    match operand:
        case Register():
            return names.registers[operand]
        case Immediate():
            return immediate_text(operand)
        case Address():
            return _address(operand, names)
        case TensorAddress():
            coordinates = operand_text(operand.coordinates, names)
            return f"{_address(operand.map, names)[:-1]}, {coordinates}]"
        case Vector():
            return "{" + ", ".join(operand_text(e, names) for e in operand.elements) + "}"
        case Symbol():
            return _address(Address(operand.of, operand.offset), names)[1:-1]
        case SpecialRegister():
            return f"%{operand.name}"
        case Label():
            return names.labels[operand]
        case Targets():
            return names.targets[operand]
        case _:
            return _decorated(operand, names)


def _decorated(operand: Negated | Pair | Sink, names: Names) -> str:
    if isinstance(operand, Negated):
        return f"!{names.registers[operand.register]}"
    if isinstance(operand, Pair):
        return f"{operand_text(operand.first, names)}|{operand_text(operand.second, names)}"
    return "_"


def immediate_text(immediate: Immediate) -> str:
    """A constant: floats in hexadecimal so that no digit is lost, integers in decimal."""
    if immediate.dtype.name in _HEX_FLOATS:
        prefix, digits = _HEX_FLOATS[immediate.dtype.name]
        return f"{prefix}{immediate.bits:0{digits}X}"
    if immediate.dtype.is_float or immediate.dtype.is_packed:
        return f"0x{immediate.bits:0{immediate.dtype.bits // 4}X}"
    return str(immediate.bits)


def _address(address: Address, names: Names) -> str:
    base, offset = address.base, address.offset
    if isinstance(base, Register):
        name = names.registers[base]
    elif isinstance(base, Variable):
        name, start = names.of_variable(base)
        offset += start
    elif isinstance(base, Parameter):
        name = names.of_parameter(base)
    else:
        return f"[{base.bits + offset}]"
    return f"[{name}+{offset}]" if offset else f"[{name}]"  # `+-4`: PTX has no `-4`
