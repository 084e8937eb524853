"""Instructions and operands as PTX writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx._ir import Guard, Instruction
from pyptx._operands import (
    Address,
    Arguments,
    CallTargets,
    FabricHandle,
    FunctionName,
    Immediate,
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
from pyptx._text.names import LISTING, Names

HEX_FLOATS: Final = {"f32": ("0f", 8), "f64": ("0d", 16)}
"""How constants of the floating-point types begin, and their number of digits."""


def instruction_text(instruction: Instruction, names: Names) -> str:
    """One instruction with its guard and semicolon."""
    registers = names.registers
    operands = ", ".join(
        [
            registers[o.index] if type(o) is Register else operand_text(o, names)
            for o in instruction.operands
        ]
    )
    guard = _guard(instruction.guard, names) if instruction.guard else ""
    return f"{guard}{instruction.spelling} {operands}".rstrip() + ";"


def _guard(guard: Guard, names: Names) -> str:
    return f"@{'!' if guard.negated else ''}{names.registers[guard.register.index]} "


def operand_text(operand: Operand, names: Names) -> str:
    """One operand as PTX writes it."""
    match operand:
        case Register():
            return names.registers[operand.index]
        case Immediate():
            return immediate_text(operand)
        case Address():
            return _address(operand, names)
        case TensorAddress(tensor_map, coordinates, between):
            inside = (operand_text(each, names) for each in (*between, coordinates))
            return f"{_address(tensor_map, names)[:-1]}, {', '.join(inside)}]"
        case FabricHandle(endpoint, offsets):
            return f"[{', '.join(names.registers[each.index] for each in (endpoint, *offsets))}]"
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
        case FunctionName() | Arguments() | Prototype() | CallTargets():
            return _of_call(operand, names)
        case _:
            return _decorated(operand, names)


def _of_call(operand: FunctionName | Arguments | Prototype | CallTargets, names: Names) -> str:
    match operand:
        case FunctionName():
            return operand.name
        case Arguments():
            return f"({', '.join(_argument(e, names) for e in operand.elements)})"
        case Prototype():
            return names.prototypes[operand]
        case CallTargets():
            return names.call_targets[operand]


def _argument(argument: Register | Immediate | Variable | Parameter, names: Names) -> str:
    if isinstance(argument, Variable | Parameter):
        return _address(Address(argument), names)[1:-1]
    return operand_text(argument, names)


def _decorated(operand: Negated | Part | Minus | Pair | Sink, names: Names) -> str:
    if isinstance(operand, Negated):
        return f"!{names.registers[operand.register.index]}"
    if isinstance(operand, Part):
        return f"{names.registers[operand.register.index]}.{operand.lanes}"
    if isinstance(operand, Minus):
        return f"-{operand_text(operand.of, names)}"
    if isinstance(operand, Pair):
        return f"{operand_text(operand.first, names)}|{operand_text(operand.second, names)}"
    return "_"


def immediate_text(immediate: Immediate) -> str:
    """A constant: floats in hexadecimal so that no digit is lost, integers in decimal."""
    if immediate.dtype.name in HEX_FLOATS:
        prefix, digits = HEX_FLOATS[immediate.dtype.name]
        return f"{prefix}{immediate.bits:0{digits}X}"
    if immediate.dtype.is_float or immediate.dtype.is_packed:
        return f"0x{immediate.bits:0{immediate.dtype.bits // 4}X}"
    return str(immediate.bits)


def _address(address: Address, names: Names) -> str:
    base, offset = address.base, address.offset
    if isinstance(base, Register):
        name = names.registers[base.index]
    elif isinstance(base, Variable):
        name, start = names.of_variable(base)
        offset += start
    elif isinstance(base, Parameter):
        name = names.of_parameter(base)
    else:
        return f"[{base.bits + offset}]"
    behind = ".unified" if address.unified else ""
    return f"[{name}+{offset}]{behind}" if offset else f"[{name}]{behind}"  # `+-4`: PTX has no `-4`


def targets_text(targets: Targets, names: Names) -> str:
    """The statement that declares the list of labels of a `brx.idx`."""
    labels = ", ".join(names.labels[label] for label in targets.labels)
    return f"{names.targets[targets]}: .branchtargets {labels};"


def declarations(instruction: Instruction, names: Names) -> list[tuple[Operand, str]]:
    """The lists and prototypes that an instruction names, with the statements that declare them."""
    found: list[tuple[Operand, str]] = []
    if instruction.form.opcode not in LISTING:
        return found
    for operand in instruction.operands:
        match operand:
            case Targets():
                found.append((operand, targets_text(operand, names)))
            case Prototype():
                found.append((operand, _prototype(operand, names)))
            case CallTargets():
                functions = ", ".join(f.name for f in operand.functions)
                text = f"{names.call_targets[operand]}: .calltargets {functions};"
                found.append((operand, text))
            case _:
                pass
    return found


def _prototype(prototype: Prototype, names: Names) -> str:
    returns = f"{_formals(prototype.returns)} " if prototype.returns else ""
    ends = " .noreturn" if prototype.noreturn else ""
    ends += "".join(f" .{name} {number}" for name, number in prototype.preserves.items())
    parameters = _formals(prototype.parameters)
    return f"{names.prototypes[prototype]}: .callprototype {returns}_ {parameters}{ends};"


def _formals(parameters: Sequence[Parameter]) -> str:
    return f"({', '.join(parameter_text(p, '_') for p in parameters)})"


def parameter_text(parameter: Parameter, name: str) -> str:
    """The declaration of a parameter: `.param .align 8 .b8 name[16]`."""
    if parameter.opaque:
        return f".param .{parameter.opaque} {name}"
    align = f".align {parameter.align} " if parameter.align else ""
    pointer = ""
    if parameter.pointer is not None:
        space = f" .{parameter.pointer.space}" if parameter.pointer.space else ""
        pointer = f" .ptr{space} .align {parameter.pointer.align}"
    size = "" if parameter.length is None else f"[{parameter.length}]"
    return f".param {align}.{parameter.dtype.storage}{pointer} {name}{size}"
