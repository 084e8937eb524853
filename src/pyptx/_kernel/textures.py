"""Textures and surfaces that a foreign kernel is given, as the emulator reads them.

A driver's texture object is its secret, so the emulator has its own: a record of 72 bytes among the
parameters, whose offset is in the handle (`_native/src/emulator/semantics/texture.h`). In a copy of
the kernel the records are its first parameters: options, the tensor's address, and three sizes.
So records are at the same offsets whatever follows them, and the sizes are those of each launch.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast, get_args

from pyptx._ir import Instruction, Kernel
from pyptx._kernel.arguments import AddressMode, In, Kind, Out, Struct, Surface, Texture
from pyptx._kernel.structures import moved
from pyptx._operands import Parameter
from pyptx._source import SourceLocation
from pyptx._spec import Spec, Tile
from pyptx.errors import SpecError
from pyptx.types import b8, u64

WINDOW: Final = 0x50 << 56
"""What a handle is, besides the offset of its record."""
_MAGIC: Final = b"PTXTEX\0\x01"
_OPTION_BYTES: Final = 40
_RECORD_BYTES: Final = _OPTION_BYTES + 8 + 3 * 8
_RECORD_PARAMETERS: Final = 5

_KINDS: Final[tuple[str, ...]] = get_args(Kind)
_AXES: Final = dict(zip(_KINDS, (1, 1, 2, 3, 2, 3, 3, 3), strict=True))
_SAMPLED: Final = dict(zip(_KINDS, (1, 1, 2, 3, 1, 2, 2, 2), strict=True))
"""Coordinates that address modes are of: those of a face of a cubemap, and without a layer."""
_BY_AXES: Final = {1: "1d", 2: "2d", 3: "3d"}
_TEXELS: Final = ("u8", "s8", "u16", "s16", "u32", "s32", "f16", "f32")
_MODES: Final[tuple[str, ...]] = get_args(AddressMode)
_FILTERS: Final = ("point", "linear")
_READS: Final = ("element", "normalized_float")
_FACES: Final = 6


def with_textures(
    kernel: Kernel,
    params: Sequence[Any] | None,
    in_specs: Sequence[Spec],
    out_specs: Sequence[Spec],
    where: SourceLocation,
) -> tuple[Kernel, tuple[Any, ...] | None, bool]:
    """The kernel with the records as its first parameters, what each is given, and if any are.

    Raises SpecError for a texture or surface that CUDA does not have.
    """
    if params is None or len(params) != len(kernel.parameters):
        return kernel, None if params is None else tuple(params), False
    found = _Found(kernel, in_specs, out_specs, where)
    values = [
        found.value(parameter, param)
        for parameter, param in zip(kernel.parameters, params, strict=True)
    ]
    if not found.records:
        return kernel, tuple(params), False
    shift = len(found.records) * _RECORD_PARAMETERS
    handles = {
        parameter.index: replace(
            parameter, index=parameter.index + shift, name=found.names[parameter.index]
        )
        for parameter in kernel.parameters
    }
    records = [each for record in found.records for each in record.parameters]
    numbered = [replace(parameter, index=index) for index, parameter in enumerate(records)]
    body = tuple(moved(s, handles) if isinstance(s, Instruction) else s for s in kernel.body)
    changed = replace(kernel, parameters=(*numbered, *handles.values()), body=body)
    given = [each for record in found.records for each in record.given]
    return changed, (*given, *values), True


@dataclass(frozen=True, slots=True)
class _Record:
    parameters: tuple[Parameter, ...]
    given: tuple[object, ...]


class _Found:
    """The textures and surfaces among the parameters."""

    def __init__(
        self,
        kernel: Kernel,
        in_specs: Sequence[Spec],
        out_specs: Sequence[Spec],
        where: SourceLocation,
    ) -> None:
        self._in_specs, self._out_specs, self._where = in_specs, out_specs, where
        self.records: list[_Record] = []
        self.names = {parameter.index: parameter.name for parameter in kernel.parameters}

    def value(self, parameter: Parameter, param: object) -> object:
        """What the parameter is given instead."""
        if isinstance(param, Texture | Surface):
            if parameter.opaque:
                raise self._wrong(
                    f"{_written(param)} is a handle, and the parameter {parameter.name} is a "
                    f".{parameter.opaque}",
                    ("help", f".param .u64 {parameter.name}, and a register that loads it"),
                )
            if parameter.size != len(self._handle()) or parameter.length is not None:
                raise self._wrong(
                    f"{_written(param)} is a handle of 64 bits, and the parameter "
                    f"{parameter.name} has {8 * parameter.size}"
                )
            self.names[parameter.index] = f"{parameter.name}_handle"
            return self._add(parameter.name, param)
        if isinstance(param, Struct) and isinstance(param.fields, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            fields = {
                start: self._add(f"{parameter.name}_{start}_texture", field)
                if isinstance(field, Texture | Surface)
                else field
                for start, field in param.fields.items()
            }
            return Struct(fields)
        return param

    def _handle(self) -> bytes:
        return (WINDOW + len(self.records) * _RECORD_BYTES).to_bytes(8, "little")

    def _add(self, name: str, param: Texture | Surface) -> bytes:
        """A record more; its handle."""
        handle = self._handle()
        tile = self._tile(param)
        kind = self._kind(param, tile)
        sizes = self._sizes(param, tile, kind)
        options = self._options(param, tile, kind)
        parameters = (
            Parameter(
                0, b8, f"{name}_options", length=_OPTION_BYTES, align=8, texel=tile.dtype.bytes
            ),
            Parameter(0, u64, name),
            *(Parameter(0, u64, f"{name}_size_{axis}") for axis in "xyz"),
        )
        self.records.append(_Record(parameters, (options, param.tensor, *sizes)))
        return handle

    def _tile(self, param: Texture | Surface) -> Tile:
        marker = param.tensor
        legal: tuple[type, ...] = (In,) if isinstance(param, Texture) else (In, Out)
        if not isinstance(marker, legal):  # pyright: ignore[reportUnnecessaryIsInstance]
            names = " or ".join(f"{each.__name__}(i)" for each in legal)
            raise self._wrong(f"{_written(param)} is not of {names}")
        specs = self._in_specs if isinstance(marker, In) else self._out_specs
        spec = specs[marker.index] if marker.index in range(len(specs)) else None
        if not isinstance(spec, Tile):
            what = f"there is no {marker!r}" if spec is None else f"{marker!r} is {spec!r}"
            raise self._wrong(f"{_written(param)} is of a Tile, and {what}")
        if spec.dtype.name not in _TEXELS:
            raise self._wrong(
                f"{_written(param)} has texels of {spec.dtype}", ("legal", " ".join(_TEXELS))
            )
        return spec

    def _kind(self, param: Texture | Surface, tile: Tile) -> str:
        """The kind; by default that of as many axes as texels have."""
        self._check_choice(param, "channels", param.channels, (1, 2, 4))
        axes = len(tile.dims) - (param.channels > 1)
        if param.channels > 1 and tile.dims[-1:] != (param.channels,):
            raise self._wrong(
                f"{_written(param)} has channels={param.channels}, and the last dimension of "
                f"{tile!r} is not {param.channels}"
            )
        legal = _KINDS if isinstance(param, Texture) else _KINDS[1:6]
        kind = _BY_AXES.get(axes) if param.kind is None else param.kind
        self._check_choice(param, "kind", kind, legal)
        assert kind is not None
        if _AXES[kind] != axes or any(str(dim).startswith("*") for dim in tile.dims):
            channels = ", and one for the channels" if param.channels > 1 else ""
            raise self._wrong(
                f"{_written(param)} has kind {kind!r}, which takes {_AXES[kind]} dimensions"
                f"{channels}, and is of {tile!r}"
            )
        return kind

    def _sizes(
        self, param: Texture | Surface, tile: Tile, kind: str
    ) -> tuple[int | str, int | str, int | str]:
        """Width, height, and depth, layers or faces."""
        dims = tile.dims[: _AXES[kind]]
        if kind.startswith("cubemap"):
            faces, height, width = dims
            whole = kind == "cubemap"
            if height != width or (faces != _FACES if whole else _odd(faces)):
                raise self._wrong(
                    f"{_written(param)} has kind {kind!r}, whose dimensions are "
                    f"{'6' if whole else 'a multiple of 6'} faces and two equal sizes, and is of "
                    f"{tile!r}"
                )
        if kind == "1d_layered":
            return dims[1], 1, dims[0]
        x, y, z = (*reversed(dims), 1, 1)[:3]
        return x, y, z

    def _options(self, param: Texture | Surface, tile: Tile, kind: str) -> bytes:
        head = (_KINDS.index(kind), param.channels, _TEXELS.index(tile.dtype.name))
        if isinstance(param, Surface):
            return struct.pack("<8s3B7B6x4f", _MAGIC, *head, 0, 0, 0, 1, 0, 0, 0, *[0.0] * 4)
        self._check_choice(param, "filter_mode", param.filter_mode, _FILTERS)
        self._check_choice(param, "read_mode", param.read_mode, _READS)
        if not isinstance(param.normalized_coords, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise self._wrong(
                f"{_written(param)} has normalized_coords={param.normalized_coords!r}",
                ("legal", "False True"),
            )
        self._check_reads(param, tile, kind)
        choices = (
            param.filter_mode == "linear",
            param.normalized_coords,
            param.read_mode == "normalized_float",
        )
        modes = (_MODES.index(mode) for mode in self._address_modes(param, kind))
        border = (*self._border(param), *[0.0] * 4)[:4]
        return struct.pack("<8s3B7B6x4f", _MAGIC, *head, *choices, 0, *modes, *border)

    def _border(self, param: Texture) -> list[float]:
        given: object = param.border_color
        values: tuple[object, ...] = (None,)
        if isinstance(given, tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
            values = cast("tuple[object, ...]", given)
        if len(values) > 4 or not all(isinstance(each, int | float) for each in values):
            raise self._wrong(
                f"{_written(param)} has border_color={given!r}",
                ("legal", "a tuple of up to four numbers"),
            )
        return [float(cast("float", each)) for each in values]

    def _check_reads(self, param: Texture, tile: Tile, kind: str) -> None:
        """What is read: floats or integers, at coordinates that the kind has."""
        dtype = tile.dtype
        floats = param.read_mode == "normalized_float"
        if floats and (dtype.is_float or dtype.bits > 16):
            raise self._wrong(
                f'{_written(param)} has read_mode="normalized_float" and texels of {dtype}',
                ("legal", "u8 s8 u16 s16"),
            )
        if param.filter_mode == "linear" and not (floats or dtype.is_float):
            help_ = 'read_mode="normalized_float", or filter_mode="point"'
            raise self._wrong(
                f'{_written(param)} has filter_mode="linear", and reads {dtype} as integers',
                ("help", help_ if dtype.bits <= 16 else 'filter_mode="point"'),
            )
        if kind == "linear" and (param.filter_mode == "linear" or param.normalized_coords):
            raise self._wrong(
                f'{_written(param)} has kind "linear", whose coordinates are integers',
                ("help", 'kind="1d" filters, and takes normalized_coords=True'),
            )

    def _address_modes(self, param: Texture, kind: str) -> tuple[str, str, str]:
        given: object = param.address_mode
        modes = cast("tuple[str, ...]", given if isinstance(given, tuple) else (given,) * 3)
        axes = _SAMPLED[kind]
        if isinstance(given, tuple) and len(modes) != axes:
            raise self._wrong(
                f"{_written(param)} has address_mode={given!r}, and kind {kind!r} has {axes} "
                f"coordinate{'s' * (axes > 1)}"
            )
        for mode in modes:
            self._check_choice(param, "address_mode", mode, _MODES)
            if mode in ("wrap", "mirror") and not param.normalized_coords:
                raise self._wrong(
                    f"{_written(param)} has address_mode={mode!r}, for which coordinates count "
                    "from 0 to 1",
                    ("help", 'normalized_coords=True, or address_mode="clamp"'),
                )
        if kind == "linear":
            return "border", "border", "border"
        x, y, z = (*modes, "clamp", "clamp", "clamp")[:3]
        return x, y, z

    def _check_choice(
        self, param: Texture | Surface, option: str, value: object, legal: Sequence[object]
    ) -> None:
        if type(value) not in (str, int) or value not in legal:
            raise self._wrong(
                f"{_written(param)} has {option}={value!r}", ("legal", " ".join(map(str, legal)))
            )

    def _wrong(self, problem: str, *notes: tuple[str, str]) -> SpecError:
        return SpecError(problem, location=self._where, notes=notes)


def _odd(faces: int | str) -> bool:
    return isinstance(faces, int) and faces % _FACES != 0


def _written(param: Texture | Surface) -> str:
    """How it begins in the user's program."""
    return f"{type(param).__name__}({param.tensor!r}, ...)"
