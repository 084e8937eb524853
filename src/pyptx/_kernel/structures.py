"""Structures that a foreign kernel is passed by value, given by their fields; and tensor maps.

In a copy of the kernel each field is a parameter of its own, and loads from the structure are loads
of that. So a field may be all that a parameter may be: a tensor, a Scalar, a size, a constant.
Parameters that are tensor maps are its last ones, as those of a traced kernel are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, cast

from pyptx._ir import Instruction, Kernel, Place, Statement
from pyptx._isa.model import Form
from pyptx._isa.table import forms
from pyptx._kernel.arguments import In, Out, Struct
from pyptx._layouts.tensor_map import MAP_ALIGN, MAP_BYTES
from pyptx._operands import Address, Arguments, Operand, Parameter, Register, Symbol, Vector
from pyptx._source import SourceLocation
from pyptx._spec import Spec, Tile
from pyptx.errors import SpecError
from pyptx.types import DTYPES, DType, b8, u64

_VECTORS: Final = ("v2", "v4", "v8")
_WIDEST: Final = 16


@dataclass(frozen=True, slots=True)
class _Load:
    """A load of one value from a structure: `size` bytes at `offset`."""

    instruction: Instruction
    target: Operand
    dtype: DType
    offset: int


@dataclass(frozen=True, slots=True)
class _Field:
    parameter: Parameter
    start: int

    def holds(self, load: _Load) -> bool:
        end = self.start + self.parameter.size
        return self.start <= load.offset and load.offset + load.dtype.bytes <= end


def with_fields(
    kernel: Kernel,
    params: Sequence[object] | None,
    in_specs: Sequence[Spec],
    out_specs: Sequence[Spec],
    where: SourceLocation,
) -> tuple[Kernel, tuple[object, ...] | None]:
    """The kernel with the fields of structures as parameters, and what each of them is given.

    Tensor maps are its last parameters, and given nothing. Raises SpecError for fields that are not
    in the structure, at the line of an instruction that reads something else of it than its fields,
    and for a Tile that can have no map.
    """
    if params is None or len(params) != len(kernel.parameters):
        return kernel, None if params is None else tuple(params)
    pairs = list(zip(kernel.parameters, params, strict=True))
    maps = [
        (parameter, param, number)
        for parameter, param in pairs
        if (number := _mapped(parameter, param, in_specs, out_specs)) is not None
    ]
    if not maps and not any(isinstance(param, Struct) for param in params):
        return kernel, tuple(params)
    parameters: list[Parameter] = []
    given: list[object] = []
    fields: dict[int, list[_Field]] = {}
    for parameter, param in pairs:
        if any(parameter is each for each, _, _ in maps):
            continue
        if isinstance(param, Struct):
            loads = list(_loads(kernel, parameter))
            found = fields[parameter.index] = []
            for start, value in _checked(kernel, parameter, param, where):
                made = _made(parameter, start, value, loads, len(parameters))
                if made is not None:
                    parameters.append(made)
                    given.append(value)
                    found.append(_Field(made, start))
        else:
            renumbered = replace(parameter, index=len(parameters))
            fields[parameter.index] = [_Field(renumbered, -1)]
            parameters.append(renumbered)
            given.append(param)
    for parameter, param, _ in maps:
        if param not in given:  # the tensor itself is a parameter too, which nothing reads
            parameters.append(Parameter(len(parameters), u64, f"{parameter.name}_address"))
            given.append(param)
    for parameter, _, number in maps:
        described = cast("Tile", (*in_specs, *out_specs)[number]).tensor_map({})
        index = len(parameters)
        align = max(parameter.alignment, MAP_ALIGN)
        mapped = replace(parameter, index=index, tensor_map=described, of=number, align=align)
        fields[parameter.index] = [_Field(mapped, -1)]
        parameters.append(mapped)
    body = tuple(s for each in kernel.body for s in _statement(each, fields))
    return replace(kernel, parameters=tuple(parameters), body=body), tuple(given)


def _mapped(
    parameter: Parameter, param: object, in_specs: Sequence[Spec], out_specs: Sequence[Spec]
) -> int | None:
    """The number of the tensor whose tensor map a parameter is, outputs after inputs."""
    if not isinstance(param, In | Out) or parameter.length is None or parameter.size != MAP_BYTES:
        return None
    specs, first = (in_specs, 0) if isinstance(param, In) else (out_specs, len(in_specs))
    if not 0 <= param.index < len(specs):
        return None
    spec = specs[param.index]
    has_map = isinstance(spec, Tile) and (spec.tma_box is not None or spec.tma_im2col is not None)
    return first + param.index if has_map else None


def _checked(
    kernel: Kernel, parameter: Parameter, struct: Struct, where: SourceLocation
) -> list[tuple[int, object]]:
    """The fields in their order. Raises SpecError for one that is not in the structure."""
    if not isinstance(struct.fields, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SpecError(
            f"Struct({struct.fields!r}) has no fields by their offsets",
            location=where,
            notes=(("help", 'Struct({0: In(0), 8: "N"}): byte offsets, and what is there'),),
        )
    for start in cast("Mapping[Any, object]", struct.fields):
        whole = isinstance(start, int) and not isinstance(start, bool)
        if not whole or not 0 <= start < parameter.size:
            raise SpecError(
                f"{parameter.name} of {kernel.name} has {parameter.size} bytes, and a field of it "
                f"is given at {start!r}",
                location=where,
                notes=(("help", 'Struct({0: In(0), 8: "N"}): byte offsets, and what is there'),),
            )
    return sorted(struct.fields.items())


def _made(
    parameter: Parameter, start: int, value: object, loads: Sequence[_Load], index: int
) -> Parameter | None:
    """The parameter for a field; None where nothing loads a constant or a size."""
    name = f"{parameter.name}_{start}"
    if isinstance(value, bytes):
        align = min(parameter.alignment, _WIDEST, start & -start or _WIDEST)
        return Parameter(index, b8, name, length=len(value), align=align)
    types = [load.dtype for load in loads if load.offset == start]
    if types:
        return Parameter(index, max(types, key=lambda dtype: dtype.bytes), name)
    tensor = not isinstance(value, (int, float, str)) and not callable(value)
    return Parameter(index, u64, name) if tensor else None


def _loads(kernel: Kernel, parameter: Parameter) -> Iterator[_Load]:
    """What is loaded of a structure. Raises SpecError for what is done with it besides."""
    for statement in kernel.body:
        if isinstance(statement, Instruction) and _names(statement, parameter.index):
            yield from _split(statement, parameter)


def _names(instruction: Instruction, index: int) -> bool:
    return any(of.index == index for of in _parameters(instruction))


def _parameters(instruction: Instruction) -> Iterator[Parameter]:
    for operand in instruction.operands:
        named: tuple[object, ...] = ()
        if isinstance(operand, Address):
            named = (operand.base,)
        elif isinstance(operand, Symbol):
            named = (operand.of,)
        elif isinstance(operand, Arguments):
            named = operand.elements
        yield from (of for of in named if isinstance(of, Parameter))


def _split(load: Instruction, parameter: Parameter) -> Iterator[_Load]:
    """The values of a load, of which a vector has several."""
    address = load.operands[1] if len(load.operands) == 2 else None
    plain = load.form.opcode == "ld" and load.modifiers[0] in ("param", "param::entry")
    if not plain or not isinstance(address, Address):
        raise SpecError(
            f"{load.spelling} does something else with {parameter.name} than to load it, so its "
            "fields cannot be given one by one",
            location=load.location,
            notes=(("help", f"give its {parameter.size} bytes: struct.pack(...)"),),
        )
    dtype = DTYPES[load.modifiers[-1]]
    first = load.operands[0]
    vector = any(modifier in _VECTORS for modifier in load.modifiers)
    targets = first.elements if vector and isinstance(first, Vector) else (first,)
    for number, target in enumerate(targets):
        yield _Load(load, target, dtype, address.offset + number * dtype.bytes)


# ---- the body ------------------------------------------------------------------------------------


def _statement(statement: Statement, fields: Mapping[int, list[_Field]]) -> Iterator[Statement]:
    if isinstance(statement, Place):
        yield statement
        return
    named = list(_parameters(statement))
    structures = [p for p in named if [f.start for f in fields[p.index]] != [-1]]
    if not named:
        yield statement
    elif not structures:
        yield moved(statement, {p.index: fields[p.index][0].parameter for p in named})
    else:
        for load in _split(statement, structures[0]):
            if isinstance(load.target, Register):
                yield _of_field(load, structures[0], fields[structures[0].index])


def _of_field(load: _Load, structure: Parameter, fields: Sequence[_Field]) -> Instruction:
    """The load of one value, from the field that has it."""
    found = next((field for field in fields if field.holds(load)), None)
    last = load.offset + load.dtype.bytes - 1
    if found is None:
        listed = ", ".join(f"{f.start} to {f.start + f.parameter.size - 1}" for f in fields)
        raise SpecError(
            f"{load.instruction.spelling} loads bytes {load.offset} to {last} of "
            f"{structure.name}, and no field is given that has them",
            location=load.instruction.location,
            notes=(("fields", listed or "none"), ("help", f"Struct({{{load.offset}: ...}})")),
        )
    where = Address(found.parameter, load.offset - found.start)
    modifiers = tuple(m for m in load.instruction.modifiers if m not in _VECTORS)
    form = load.instruction.form
    if modifiers != load.instruction.modifiers:
        form = _scalar_form(form, modifiers)
    return replace(load.instruction, form=form, modifiers=modifiers, operands=(load.target, where))


@cache
def _scalar_form(form: Form, modifiers: tuple[str, ...]) -> Form:
    """The form that loads one value with the modifiers that are left."""
    if form.assign(modifiers) is not None:
        return form
    return next(f for f in forms() if f.opcode == "ld" and f.assign(modifiers) is not None)


def moved(instruction: Instruction, parameters: Mapping[int, Parameter]) -> Instruction:
    """The instruction with the parameters as they are numbered now."""

    def other(operand: Operand) -> Operand:
        if isinstance(operand, Address) and isinstance(operand.base, Parameter):
            return replace(operand, base=parameters[operand.base.index])
        if isinstance(operand, Symbol) and isinstance(operand.of, Parameter):
            return replace(operand, of=parameters[operand.of.index])
        if isinstance(operand, Arguments):
            elements = tuple(
                parameters[e.index] if isinstance(e, Parameter) else e for e in operand.elements
            )
            return Arguments(elements)
        return operand

    return replace(instruction, operands=tuple(map(other, instruction.operands)))
