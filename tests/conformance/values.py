"""Operand values for the conformance kernels, the same in every process.

Half of the threads take boundary patterns of the operands' types in pairs. A quarter takes values
made for a purpose: numbers of moderate size, ties, NaNs with payloads, operands that nearly cancel
or nearly underflow, positions and lengths in range. The last quarter takes random bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pyptx.types import DTYPES, DType

Operand = tuple[str, DType]
"""Name in the manual's syntax, and type."""


def fill(
    opcode: str, operands: Sequence[Operand], rows: int, slot: int, generator: np.random.Generator
) -> np.ndarray:
    """uint8 of (operand, row, slot): the elements of each operand one after another."""
    data = generator.integers(0, 256, (len(operands), rows, slot), np.uint8)
    half, quarter = rows // 2, rows // 4
    for index, (_, dtype) in enumerate(operands):
        data[index, :half] = _boundaries(dtype, index, half, slot, generator)
    purposeful = slice(half, half + quarter)
    for index, (name, dtype) in enumerate(operands):
        if dtype.bits <= 64:
            made = _purposeful(opcode, name, dtype, quarter, slot, generator)
            data[index, purposeful] = made
    _meet(opcode, operands, data[:, purposeful], generator)
    return data


def _boundaries(
    dtype: DType, index: int, rows: int, slot: int, generator: np.random.Generator
) -> np.ndarray:
    width = max(dtype.bits // 8, 1)
    encoded = b"".join(v.to_bytes(width, "little") for v in _lattice(dtype))
    lattice = np.frombuffer(encoded, np.uint8).reshape(-1, width)
    order = np.arange(rows)
    # The first two operands go through all pairs.
    shifted = order // len(lattice) * (7 * index + 1) + order
    picks = shifted if index < 2 else generator.integers(0, 1 << 30, rows)
    shifts = generator.integers(0, len(lattice), slot // width)
    shifts[0] = 0
    return lattice[(picks[:, None] + shifts) % len(lattice)].reshape(rows, slot)


_FLOATS: Final = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52), "tf32": (8, 23)}


def _lattice(dtype: DType) -> list[int]:
    """Bit patterns where instructions of a type do something special."""
    if dtype.is_packed and dtype.name.endswith("x2") and dtype.bits == 32:
        half = _lattice(DTYPES[dtype.name.removesuffix("x2")])
        return [a | half[(i * 7 + 3) % len(half)] << 16 for i, a in enumerate(half)]
    if dtype.name in _FLOATS:
        return _float_lattice(*_FLOATS[dtype.name])
    bits = max(dtype.bits, 8)
    top = 1 << (bits - 1)
    values = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255]
    values += [
        top - 1,
        top,
        top + 1,
        2 * top - 1,
        2 * top - 2,
        0xA5A5A5A5A5A5A5A5,
        0x0123456789ABCDEF,
    ]
    values += _float_lattice(*_FLOATS["f32"]) if bits == 32 else []
    return [v & ((1 << bits) - 1) for v in values]


def _float_lattice(exponent: int, mantissa: int) -> list[int]:
    bias = (1 << (exponent - 1)) - 1
    one, top = bias << mantissa, ((1 << exponent) - 1) << mantissa
    last = (1 << mantissa) - 1
    positive = [
        0,
        1,
        2,
        last,
        1 << mantissa,
        (1 << mantissa) + 1,
        one,
        one + 1,
        one - 1,
        one | last,
    ]
    positive += [one + (1 << mantissa), one + (1 << (mantissa - 1)), one - (1 << mantissa)]
    positive += [top - 1, top - 2, top, top + 1, top | 1 << (mantissa - 1), top | last]
    positive += [(bias + min(7, bias - 1)) << mantissa, (bias + min(31, bias)) << mantissa]
    positive += [(bias + min(31, bias)) << mantissa | last, (bias - min(23, bias - 1)) << mantissa]
    sign = 1 << (exponent + mantissa)
    return [v for p in positive for v in (p, p | sign)]


# ---- values for a purpose ------------------------------------------------------------------------

# Operands that are positions, lengths and counts, and the range that most of their values take.
_RANGES: Final = {
    ("bfe", "b"): (0, 70),
    ("bfe", "c"): (0, 70),
    ("bfi", "c"): (0, 70),
    ("bfi", "d"): (0, 70),
    ("fns", "base"): (0, 32),
    ("fns", "offset"): (-20, 21),
    ("shf", "c"): (0, 66),
    ("shl", "b"): (0, 70),
    ("shr", "b"): (0, 70),
    ("szext", "b"): (0, 36),
    ("bmsk", "a"): (0, 36),
    ("bmsk", "b"): (0, 36),
    ("prmt", "c"): (0, 1 << 16),
}
# Exponents and how far around them: one, and the ends of f16 and f32.
_PLACES: Final = (
    *((0, reach) for reach in (1, 4, 16, 40, 160)),
    *((end, 1) for end in (-25, -14, 15, -150, -126, 127)),
)
_NANS: Final = 0.12
_OUT_OF_BOUNDS: Final = 0x7FF7


def _purposeful(
    opcode: str, name: str, dtype: DType, rows: int, slot: int, generator: np.random.Generator
) -> np.ndarray:
    """(rows, slot) bytes."""
    part = _part(dtype)
    width = max(part.bits // 8, 1)
    shape = rows, slot // width
    if part.name in _FLOATS:
        made = _floats(*_FLOATS[part.name], shape, generator)
    elif (opcode, name) in _RANGES:
        low, high = _RANGES[opcode, name]
        near = generator.integers(low, high, shape).astype(np.uint64)
        far = generator.integers(0, 256, shape, np.uint64)
        made = np.where(generator.random(shape) < 0.85, near, far)
    else:
        made = _integers(max(part.bits, 8), shape, generator)
    return made.astype(f"<u{width}").view(np.uint8)


def _part(dtype: DType) -> DType:
    """The type of one of a packed register's values."""
    half = DTYPES.get(dtype.name.removesuffix("x2"))
    return half if dtype.is_packed and half is not None and half.bits == 16 else dtype


def _integers(bits: int, shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    """Of every length, half of them negative, with the ends of `_ends`."""
    size = generator.integers(1, bits + 1, shape, np.uint64)
    value = generator.integers(0, 1 << 64, shape, np.uint64) >> (np.uint64(64) - size)
    value = _ends(value, generator.integers(0, size, dtype=np.uint64), generator)
    return np.where(generator.random(shape) < 0.5, value, -value)


def _floats(
    exponent: int, mantissa: int, shape: tuple[int, int], generator: np.random.Generator
) -> np.ndarray:
    """Around one and the ends of the formats, with the ends of `_ends`; some NaN with payloads."""
    top, bias = (1 << exponent) - 1, (1 << (exponent - 1)) - 1
    center, reach = np.moveaxis(generator.choice(_PLACES, shape), -1, 0)
    field = bias + center + generator.integers(-reach, reach + 1)
    field = np.clip(field, 0, top - 1).astype(np.uint64)
    fraction = generator.integers(0, 1 << mantissa, shape, np.uint64)
    ones = generator.random(shape) < 0.2  # which rounding carries into the exponent
    fraction = np.where(ones, np.uint64((1 << mantissa) - 1), fraction)
    narrowed = [mantissa - m for m in (23, 10, 7, 3, 2, 1) if m < mantissa]
    cut = np.where(
        generator.random(shape) < 0.5,
        generator.integers(0, mantissa, shape),
        generator.choice(narrowed, shape),
    )
    fraction = _ends(fraction, cut.astype(np.uint64), generator)
    payload = np.maximum(generator.integers(0, 1 << mantissa, shape, np.uint64), np.uint64(1))
    if exponent + mantissa == 15:
        special = np.uint64(_OUT_OF_BOUNDS & ((1 << mantissa) - 1))
        payload = np.where(generator.random(shape) < 0.4, special, payload)
    nan = generator.random(shape) < _NANS
    value = np.where(nan, np.uint64(top), field) << np.uint64(mantissa)
    sign = generator.integers(0, 2, shape, np.uint64) << np.uint64(exponent + mantissa)
    return value | np.where(nan, payload, fraction) | sign


def _ends(values: np.ndarray, cut: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The lowest `cut` bits as they are, a tie, beside one, or zero: what rounding looks at."""
    unit = np.uint64(1) << cut
    half = unit >> np.uint64(1)
    low = unit - np.uint64(1)
    zero = np.zeros_like(half)
    ends = [values & low, half, (half - np.uint64(1)) & low, (half + np.uint64(1)) & low, zero]
    kind = generator.integers(0, len(ends), values.shape)
    return (values & ~low) | np.choose(kind, ends)


# ---- operands that meet --------------------------------------------------------------------------

_UNDERFLOWS: Final = ("mul", "fma", "mad", "div", "rcp")


def _meet(
    opcode: str, operands: Sequence[Operand], data: np.ndarray, generator: np.random.Generator
) -> None:
    """Make operands of one type nearly equal, opposite or tiny together, in some rows of `data`."""
    part = _part(operands[0][1])
    together = [
        k
        for k, (name, dtype) in enumerate(operands)
        if _part(dtype) == part and (opcode, name) not in _RANGES
    ]
    if part.bits not in (16, 32, 64) or len(together) < 2:
        return
    kind = f"<u{part.bits // 8}"
    first = data[0].copy().view(kind)
    equal = generator.random(first.shape) < 0.15
    for k in together[1:]:
        apart = generator.choice([0, 0, 1, 2, 3, 1 << (part.bits - 1)], first.shape).astype(kind)
        flip = generator.integers(0, 2, first.shape).astype(kind) << np.array(part.bits - 1, kind)
        if part.name not in _FLOATS or opcode in ("atom", "red"):
            flip *= np.array(0, kind)
        data[k] = np.where(equal, first ^ apart ^ flip, data[k].view(kind)).view(np.uint8)
    if part.name in _FLOATS and opcode in _UNDERFLOWS:
        _underflow(together, _FLOATS[part.name], data, kind, generator)


def _underflow(
    together: Sequence[int],
    layout: tuple[int, int],
    data: np.ndarray,
    kind: str,
    generator: np.random.Generator,
) -> None:
    """Make products and quotients meet the least normal value, beside one more addend."""
    exponent, mantissa = layout
    least = 1 << mantissa
    one = ((1 << (exponent - 1)) - 1) << mantissa
    shape = data[0].view(kind).shape
    rows = generator.random(shape) < 0.2
    swapped = generator.random(shape) < 0.5
    unit = np.where(generator.random(shape) < 0.7, one, least)
    pair = np.where(swapped, least, unit), np.where(swapped, unit, least)
    addend = generator.choice([0, 1, 2, least], shape)
    for k in together[:3]:
        value = pair[k] if k < 2 else addend
        value = np.maximum(value + generator.integers(-2, 3, shape), 0).astype(kind)
        sign = generator.integers(0, 2, shape).astype(kind)
        value |= sign << np.array(exponent + mantissa, kind)
        data[k] = np.where(rows, value, data[k].view(kind)).view(np.uint8)
