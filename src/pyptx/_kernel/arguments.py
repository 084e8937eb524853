"""What each parameter of a foreign kernel is: a tensor, a scalar, a size, a constant."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from pyptx import _expressions as expressions
from pyptx import _ir as ir
from pyptx._calls import constructing
from pyptx._dims import Extent
from pyptx._grid import extent_of
from pyptx._launch.description import Number
from pyptx._launch.plan import Bytes
from pyptx._layouts.tensor_map import MAP_BYTES
from pyptx._operands import Parameter
from pyptx._source import SourceLocation
from pyptx._spec import Scalar, Spec
from pyptx._trace.core.values import integer
from pyptx.errors import SpecError


@constructing(SpecError)
@dataclass(frozen=True, slots=True)
class In:
    """A parameter of a PTX file's kernel that is an input, by its index in `in_specs`."""

    index: int


@constructing(SpecError)
@dataclass(frozen=True, slots=True)
class Out:
    """A parameter of a PTX file's kernel that is an output, by its index in `out_specs`."""

    index: int


Kind = Literal["linear", "1d", "2d", "3d", "1d_layered", "2d_layered", "cubemap", "cubemap_layered"]
AddressMode = Literal["wrap", "clamp", "mirror", "border"]


@constructing(SpecError)
@dataclass(frozen=True, slots=True)
class Texture:
    """A parameter that is a texture object, `cudaTextureObject_t` in CUDA, of an input.

    The options are those of CUDA's `cudaTextureDesc`. The Tile's axes are depth or layers, height,
    width; with `channels=` 2 or 4, which its last axis then is, a texel has so many elements.

    kind               "1d", "2d" or "3d", by default as many axes as the Tile has; "1d_layered",
                       "2d_layered"; "cubemap" of 6 faces, or "cubemap_layered", of 6 for each
                       layer; "linear" for tex1Dfetch
    channels           elements of a texel: 1, 2 or 4
    address_mode       what is beyond the edges: "clamp" or "border", or with normalized_coords
                       "wrap" or "mirror"; one for all axes, or a tuple from the x axis on
    filter_mode        "point", or "linear" between texels, which then are floats
    read_mode          "element", or "normalized_float": integers of 8 or 16 bits as 0 to 1, or -1
                       to 1
    normalized_coords  whether coordinates count from 0 to 1
    border_color       what "border" reads, up to four numbers
    """

    tensor: In
    kind: Kind | None = None
    channels: Literal[1, 2, 4] = 1
    address_mode: AddressMode | tuple[AddressMode, ...] = "clamp"
    filter_mode: Literal["point", "linear"] = "point"
    read_mode: Literal["element", "normalized_float"] = "element"
    normalized_coords: bool = False
    border_color: tuple[float, ...] = ()


@constructing(SpecError)
@dataclass(frozen=True, slots=True)
class Surface:
    """A parameter that is a surface object, `cudaSurfaceObject_t` in CUDA, of a tensor.

    `kind` and `channels` are those of a `Texture`; cubemaps and linear memory are no surfaces.
    """

    tensor: In | Out
    kind: Kind | None = None
    channels: Literal[1, 2, 4] = 1


@constructing(SpecError)
@dataclass(frozen=True, slots=True)
class Struct:
    """A parameter of a PTX file's kernel that is a structure, by the byte offsets of its fields.

    Each field is what a parameter may be: `Struct({0: In(0), 8: "N", 16: Out(0)})`. How wide a
    field is, and of which type, is what the kernel loads from there.
    """

    fields: Mapping[int, Field]


Field: TypeAlias = In | Out | Texture | Surface | str | int | float | bytes | Callable[..., Extent]
"""What a field of a structure is given: a tensor or Scalar, a texture or surface, a dimension, a
constant, bytes, or a function of named dimensions."""

Param: TypeAlias = Field | Struct
"""What a parameter is given."""

_FLOATS: Final = {16: "<e", 32: "<f", 64: "<d"}
_INTEGERS: Final = "an integer (.u8 to .u64, .s8 to .s64, .b8 to .b64)"


@dataclass(frozen=True, slots=True)
class Taken:
    """What a kernel takes, in the order of its parameters; `numbers` says which are tensors.

    `numbers` has for the index of a parameter the number of its tensor or Scalar, outputs behind
    inputs.
    """

    takes: tuple[int | Number | Bytes, ...]
    numbers: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Given:
    """What a user says of a kernel: its entry in the file, and what it is given."""

    entry: ir.Kernel
    file: str
    text: str
    in_specs: tuple[Spec, ...]
    out_specs: tuple[Spec, ...]
    aliases: tuple[tuple[int, int], ...]
    where: SourceLocation
    textures: bool = False
    """Whether textures or surfaces are among its parameters."""

    def line(self, parameter: Parameter | None = None) -> SourceLocation:
        """Where the entry is in the file, or one of its parameters."""
        begin = re.search(rf"\.entry\s+{re.escape(self.entry.name)}\b", self.text)
        at = begin.start() if begin else 0
        if parameter is not None:
            pattern = rf"\.param\b[^,)]*?{re.escape(parameter.name)}(?![\w$])"
            found = re.compile(pattern).search(self.text, at)
            at = found.end() - 1 if found else at
        return SourceLocation(self.file, self.text.count("\n", 0, at) + 1)

    @property
    def dimensions(self) -> tuple[str, ...]:
        specs = (*self.in_specs, *self.out_specs)
        return tuple(dict.fromkeys(name for spec in specs for name in spec.names))

    @property
    def default(self) -> tuple[Param, ...]:
        """The inputs, then the outputs that share no buffer with one."""
        shared = {target for _, target in self.aliases}
        outputs = (i for i in range(len(self.out_specs)) if i not in shared)
        return (*map(In, range(len(self.in_specs))), *map(Out, outputs))


def match(given: Given, params: Sequence[object] | None) -> Taken:
    """What each parameter of the entry is. Raises SpecError at the parameter's line in the file."""
    wanted = given.default if params is None else tuple(params)
    parameters = [p for p in given.entry.parameters if p.tensor_map is None]
    if len(wanted) != len(parameters):
        raise _wrong_count(given, len(wanted), by_default=params is None)
    takes: list[int | Number | Bytes] = []
    numbers: dict[int, int] = {}
    for parameter, param in zip(parameters, wanted, strict=True):
        match param:
            case In(index):
                number = _number(given, parameter, index, given.in_specs, "in_specs")
            case Out(index):
                number = _number(given, parameter, index, given.out_specs, "out_specs")
                number += len(given.in_specs)
            case _:
                takes.append(_value(given, parameter, param))
                continue
        _check_spec(given, parameter, number)
        numbers[parameter.index] = number
        takes.append(number)
    _check_all_taken(given, set(numbers.values()))
    return Taken(tuple(takes), numbers)


# ---- tensors and scalars -------------------------------------------------------------------------


def _number(
    given: Given, parameter: Parameter, index: object, specs: Sequence[Spec], what: str
) -> int:
    if isinstance(index, int) and 0 <= index < len(specs):
        return index
    raise _wrong(
        given,
        parameter,
        f"is given number {index} of {what}, which has {len(specs)}",
        ("legal", " ".join(map(str, range(len(specs)))) or f"none; {what} is empty"),
    )


def _check_spec(given: Given, parameter: Parameter, number: int) -> None:
    """A tensor is an address of 64 bits, a Scalar a value of its type."""
    spec = (*given.in_specs, *given.out_specs)[number]
    dtype = parameter.dtype
    whole = parameter.length is None and not parameter.opaque
    if isinstance(spec, Scalar):
        of_a_kind = dtype.is_bits or dtype.is_float == spec.dtype.is_float
        if not (whole and of_a_kind and dtype.bytes == spec.dtype.bytes):
            raise _wrong(given, parameter, f"is given {spec!r}", *_legal(parameter))
    elif not (whole and dtype.bits == 64 and not dtype.is_float):
        raise _wrong(
            given,
            parameter,
            f"is given the address of {spec!r}, which has 64 bits",
            *_legal(parameter),
            *_as_map(parameter),
        )


def _as_map(parameter: Parameter) -> tuple[tuple[str, str], ...]:
    if parameter.length is None or parameter.size != MAP_BYTES:
        return ()
    return (("help", "Tile(..., tma_box=...) makes it the Tile's tensor map"),)


def _check_all_taken(given: Given, taken: set[int]) -> None:
    """Every tensor must be a parameter, itself or what it shares a buffer with."""
    count = len(given.in_specs)
    names = [f"in_specs[{i}]" for i in range(count)]
    names += [f"out_specs[{i}]" for i in range(len(given.out_specs))]
    shared = [{source, target + count} for source, target in given.aliases]
    for number, name in enumerate(names):
        group = set[int]({number}).union(*(pair for pair in shared if number in pair))
        if not group & taken:
            raise SpecError(
                f"{given.entry.name} takes no parameter that is {name}",
                location=given.where,
                notes=(("help", f"write {_marker(number, count)} where params= has it"),),
            )


def _marker(number: int, inputs: int) -> str:
    return f"In({number})" if number < inputs else f"Out({number - inputs})"


# ---- sizes and constants -------------------------------------------------------------------------


def _value(given: Given, parameter: Parameter, param: object) -> Number | Bytes:
    if isinstance(param, bytes):
        return _bytes(given, parameter, param)
    if parameter.length is not None:
        raise _structure(given, parameter)
    whole = int(param) if isinstance(param, bool) else integer(param)
    if whole is not None:
        return _whole(given, parameter, whole)
    if isinstance(param, str) or callable(param):
        return _size(given, parameter, cast("str | Callable[..., Extent]", param))
    if isinstance(param, float):  # NumPy's float64 is one
        return _float(given, parameter, param)
    raise _wrong(
        given,
        parameter,
        f"is given {param!r}",
        ("legal", "In(0), Out(0), a dimension, a function of dimensions, a number, bytes"),
    )


def _size(given: Given, parameter: Parameter, param: str | Callable[..., Extent]) -> Number:
    """What the dimensions make of an integer parameter."""
    dtype = parameter.dtype
    if dtype.is_float or dtype.bits > 64 or parameter.opaque:
        said = f"the size of {param!r}" if isinstance(param, str) else "the value of a function"
        raise _wrong(given, parameter, f"is given {said}", ("legal", _INTEGERS))
    if isinstance(param, str):
        text = param
        try:
            known = set(expressions.names(text)) <= set(given.dimensions)
        except SpecError:
            known = False
        if not known:
            dims = " ".join(given.dimensions) or "none"
            raise _wrong(given, parameter, f"is given {text!r}", ("dimensions", dims))
        return Number(lambda dims: expressions.size(text, dims), dtype.bits)
    return Number(lambda dims: extent_of(param, dims, f"of {parameter.name}"), dtype.bits)


def _whole(given: Given, parameter: Parameter, value: int) -> Bytes:
    """A constant integer in the type of the parameter."""
    dtype = parameter.dtype
    if dtype.is_float:
        return _float(given, parameter, float(value))
    if dtype.bits > 64 or parameter.opaque:
        raise _wrong(given, parameter, f"is given {value}", ("legal", _INTEGERS))
    if not -(1 << dtype.bits - 1) <= value < 1 << dtype.bits:
        raise _wrong(given, parameter, f"is given {value}, which {dtype.bits} bits do not hold")
    data = (value % (1 << dtype.bits)).to_bytes(dtype.bytes, "little")
    return Bytes(data, dtype.bytes)


def _float(given: Given, parameter: Parameter, value: float) -> Bytes:
    """A Python float as the type has it; for bits, the type of that width that CUDA passes."""
    dtype = parameter.dtype
    named = dtype.is_float or (dtype.is_bits and dtype.bits in (32, 64))
    if not named or dtype.bits not in _FLOATS or parameter.opaque:
        legal = "a float for .f16 .f32 .f64 .b32 .b64; for other types its bits, as an integer"
        raise _wrong(given, parameter, f"is given {value!r}", ("legal", legal))
    try:
        return Bytes(struct.pack(_FLOATS[dtype.bits], value), dtype.bytes)
    except OverflowError:
        raise _wrong(given, parameter, f"is given {value!r}, which is out of its range") from None


def _bytes(given: Given, parameter: Parameter, data: bytes) -> Bytes:
    if len(data) != parameter.size:
        raise _wrong(given, parameter, f"is given {len(data)} bytes and has {parameter.size}")
    return Bytes(data, parameter.alignment)


def _structure(given: Given, parameter: Parameter) -> SpecError:
    return _wrong(
        given,
        parameter,
        f"is {parameter.size} bytes, a structure that is passed by value",
        ("help", f"give its bytes in params=: struct.pack(...), {parameter.size} of them"),
        ("help", 'or its fields, by their offsets: Struct({0: In(0), 8: "N"})'),
    )


# ---- errors --------------------------------------------------------------------------------------


def declared(parameter: Parameter) -> str:
    """A parameter as the file declares it, without its name: `.b8[16]`."""
    kind = parameter.opaque or str(parameter.dtype)
    return f".{kind}" + (f"[{parameter.length}]" if parameter.length is not None else "")


def _legal(parameter: Parameter) -> tuple[tuple[str, str], ...]:
    """What a parameter of this type can be given."""
    dtype = parameter.dtype
    if parameter.length is not None:
        note = ("help", f"give its bytes in params=: struct.pack(...), {parameter.size} of them")
        return (note,)
    if parameter.opaque:
        return (("legal", "nothing: a texture or surface is a handle here, a parameter of .u64"),)
    if dtype.is_float:
        return (("legal", f"Scalar({dtype}), or a number in params="),)
    legal = ["Scalar", "a dimension", "a number in params="]
    if dtype.bits == 64:
        legal.insert(0, "a Tile")
    return (("legal", f"for {declared(parameter)}: " + ", ".join(legal)),)


def _wrong(given: Given, parameter: Parameter, problem: str, *notes: tuple[str, str]) -> SpecError:
    position = [p.index for p in given.entry.parameters].index(parameter.index)
    return SpecError(
        f"parameter {position} of {given.entry.name}, {parameter.name} of type "
        f"{declared(parameter)}, {problem}",
        location=given.line(parameter),
        notes=(*notes, ("from", f"from_ptx at {given.where}")),
    )


def _wrong_count(given: Given, count: int, *, by_default: bool) -> SpecError:
    parameters = given.entry.parameters
    listed = ", ".join(f"{p.name} {declared(p)}" for p in parameters) or "none"
    what = f"in_specs and out_specs are {count}" if by_default else f"params= has {count}"
    help_ = "params= says what each is: " + ", ".join(
        "In(0)" if p.dtype.bits == 64 and p.length is None else '"N"' for p in parameters[:4]
    )
    notes = (("parameters", listed), ("help", help_)) if parameters else ()
    return SpecError(
        f"{given.entry.name} takes {len(parameters)} parameters, and {what}",
        location=given.line(),
        notes=(*notes, ("from", f"from_ptx at {given.where}")),
    )


def checked_params(params: object, where: SourceLocation) -> tuple[Any, ...] | None:
    """What `params=` holds. Raises SpecError where it is no sequence."""
    if params is None:
        return None
    if isinstance(params, (tuple, list)):
        return tuple(cast("Sequence[object]", params))
    raise SpecError(
        f"params={params!r} is not a tuple, one for each parameter of the entry",
        location=where,
        notes=(("help", 'params=("N", In(0), Out(0))'),),
    )
