"""PTX data types: the only dtype table of the project.

Every layer that needs a width, a storage class, a register prefix or a NumPy dtype reads it here.
Source: PTX ISA, "Fundamental Types" and "Packed Data Types".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Kind(Enum):
    """What the bits of a type mean, the manual's "type kinds" plus packed and predicate."""

    PREDICATE = "predicate"
    BITS = "untyped bits"
    UNSIGNED = "unsigned integer"
    SIGNED = "signed integer"
    FLOAT = "floating point"
    PACKED = "packed floating point"


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One PTX type: its name without the dot, width in bits, kind, and how a register holds it.

    There is one object for each type, so they compare by identity.

    `storage` is the type of a `.reg` declaration that can hold a value (`bf16` lives in `.b16`);
    `numpy` is the dtype name that NumPy and ml_dtypes know, None where arrays have no such dtype.
    """

    name: str
    bits: int
    kind: Kind
    storage: str
    prefix: str
    numpy: str | None = None

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return from_name, (self.name,)

    @property
    def bytes(self) -> int:
        """Size in memory; a predicate has none and sub-byte types round up."""
        return (self.bits + 7) // 8

    @property
    def access(self) -> str:
        """The type that a load or store names: floats of 16 bits and packed values move as bits."""
        return self.name if self.storage == self.name else f"b{self.bits}"

    @property
    def is_integer(self) -> bool:
        return self.kind in (Kind.UNSIGNED, Kind.SIGNED)

    @property
    def is_signed(self) -> bool:
        return self.kind is Kind.SIGNED

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_bits(self) -> bool:
        return self.kind is Kind.BITS

    @property
    def is_packed(self) -> bool:
        return self.kind is Kind.PACKED


def _dtype(row: str) -> DType:
    name, bits, kind, storage, prefix, numpy = row.split()
    return DType(name, int(bits), Kind[kind], storage, prefix, None if numpy == "-" else numpy)


# name bits kind storage register-prefix numpy
pred: Final = _dtype("pred 1 PREDICATE pred p bool")
b8: Final = _dtype("b8 8 BITS b8 b -")
b16: Final = _dtype("b16 16 BITS b16 h -")
b32: Final = _dtype("b32 32 BITS b32 r -")
b64: Final = _dtype("b64 64 BITS b64 rd -")
b128: Final = _dtype("b128 128 BITS b128 rq -")
u8: Final = _dtype("u8 8 UNSIGNED u8 ub uint8")
u16: Final = _dtype("u16 16 UNSIGNED u16 us uint16")
u32: Final = _dtype("u32 32 UNSIGNED u32 u uint32")
u64: Final = _dtype("u64 64 UNSIGNED u64 ud uint64")
s8: Final = _dtype("s8 8 SIGNED s8 sb int8")
s16: Final = _dtype("s16 16 SIGNED s16 ss int16")
s32: Final = _dtype("s32 32 SIGNED s32 s int32")
s64: Final = _dtype("s64 64 SIGNED s64 sd int64")
f16: Final = _dtype("f16 16 FLOAT b16 h float16")
f32: Final = _dtype("f32 32 FLOAT f32 f float32")
f64: Final = _dtype("f64 64 FLOAT f64 fd float64")
bf16: Final = _dtype("bf16 16 FLOAT b16 h bfloat16")
tf32: Final = _dtype("tf32 32 FLOAT b32 r -")
f16x2: Final = _dtype("f16x2 32 PACKED b32 r -")
bf16x2: Final = _dtype("bf16x2 32 PACKED b32 r -")
f32x2: Final = _dtype("f32x2 64 PACKED b64 rd -")
u16x2: Final = _dtype("u16x2 32 PACKED b32 r -")
s16x2: Final = _dtype("s16x2 32 PACKED b32 r -")
u8x4: Final = _dtype("u8x4 32 PACKED b32 r -")
s8x4: Final = _dtype("s8x4 32 PACKED b32 r -")
e4m3: Final = _dtype("e4m3 8 FLOAT b8 b float8_e4m3fn")
e5m2: Final = _dtype("e5m2 8 FLOAT b8 b float8_e5m2")
e4m3x2: Final = _dtype("e4m3x2 16 PACKED b16 h -")
e5m2x2: Final = _dtype("e5m2x2 16 PACKED b16 h -")
e2m1x2: Final = _dtype("e2m1x2 8 PACKED b8 b -")
e2m3x2: Final = _dtype("e2m3x2 16 PACKED b16 h -")
e3m2x2: Final = _dtype("e3m2x2 16 PACKED b16 h -")
ue8m0x2: Final = _dtype("ue8m0x2 16 PACKED b16 h -")
ue5m3x2: Final = _dtype("ue5m3x2 16 PACKED b16 h -")
s2f6x2: Final = _dtype("s2f6x2 16 PACKED b16 h -")
e4m3x4: Final = _dtype("e4m3x4 32 PACKED b32 r -")
e5m2x4: Final = _dtype("e5m2x4 32 PACKED b32 r -")
e2m3x4: Final = _dtype("e2m3x4 32 PACKED b32 r -")
e3m2x4: Final = _dtype("e3m2x4 32 PACKED b32 r -")
e2m1x4: Final = _dtype("e2m1x4 16 PACKED b16 h -")
e2m1p4x4: Final = _dtype("e2m1p4x4 32 PACKED b32 r -")
ue8m0x4: Final = _dtype("ue8m0x4 32 PACKED b32 r -")

DTYPES: Final[dict[str, DType]] = {
    value.name: value for value in list(globals().values()) if isinstance(value, DType)
}
"""Every type by its PTX name."""

BY_NUMPY: Final[dict[str, DType]] = {
    dtype.numpy: dtype for dtype in DTYPES.values() if dtype.numpy is not None
}
"""The PTX type of an array dtype, by the name NumPy and ml_dtypes give it."""


def from_name(name: str) -> DType:
    """The type called `name` ("f32" or ".f32"). Raises KeyError."""
    return DTYPES[name.removeprefix(".")]
