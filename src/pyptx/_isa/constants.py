"""Python numbers as PTX constants: exact bit patterns, or a sentence about why not."""

from __future__ import annotations

import math
import operator
import struct
from typing import Final, SupportsFloat, SupportsIndex, cast

from pyptx._operands import Immediate
from pyptx.types import DType, Kind, s64

_FLOAT_FORMATS: Final = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}

_BFLOAT16_INFINITY: Final = 0x7F80


class BadConstantError(ValueError):
    """The number does not fit the type; the text says why."""


def constant(value: object, dtype: DType) -> Immediate:
    """`value` as an immediate of `dtype`, floats rounded to nearest even, predicates 0 or 1.

    Raises BadConstantError for a float in an integer type, an integer out of range, a bool, and
    types without constants.
    """
    if isinstance(value, bool):
        raise BadConstantError(f"{value!r} is no number: write {int(value)}")
    if dtype.kind is Kind.PREDICATE:
        return Immediate(int(_integer(value, s64) != 0), dtype)
    if dtype.kind is Kind.PACKED:
        raise BadConstantError(f"{value!r} is not a constant of type .{dtype}")
    if dtype.is_float:
        return Immediate(_float_bits(value, dtype), dtype)
    return Immediate(_integer(value, dtype), dtype)


# Bits of the exponent and of the fraction. e4m3 has no infinity, and its only NaN is all ones.
_FIELDS: Final = {
    "f16": (5, 10),
    "bf16": (8, 7),
    "f32": (8, 23),
    "f64": (11, 52),
    "e4m3": (4, 3),
    "e5m2": (5, 2),
}


def exact_bits(value: object, dtype: DType) -> int:
    """The bits of `value` in a type of elements of arrays: integers, floats, predicates.

    Raises BadConstantError for a number that the type does not have, and for what is no number.
    """
    if dtype.kind is Kind.PREDICATE:
        if value in (0, 1) and getattr(value, "shape", ()) == ():
            return int(cast("SupportsIndex", value))
        raise BadConstantError(f"{value!r} is neither 0 nor 1")
    number_like = isinstance(value, SupportsIndex | SupportsFloat) and not isinstance(value, bool)
    if not number_like or getattr(value, "shape", ()) != ():
        raise BadConstantError(f"{value!r} is no number")
    if not dtype.is_float:
        return _integer(value, dtype) % (1 << dtype.bits)
    try:
        number = float(cast("SupportsFloat", value))
    except TypeError:
        raise BadConstantError(f"{value!r} is no number") from None
    except OverflowError:
        number = math.inf
    bits = _exact_float(number, *_FIELDS[dtype.name], infinite=dtype.name != "e4m3")
    if bits is None or (number != value and not math.isnan(number)):
        raise BadConstantError(f"{value!r} is not exact in .{dtype}")
    return bits


def _exact_float(number: float, exponent: int, fraction: int, *, infinite: bool) -> int | None:
    """The bits of a number in a format of IEEE 754, None where it has none."""
    sign = int(math.copysign(1, number) < 0) << (exponent + fraction)
    most = (1 << exponent) - 1
    if math.isnan(number):
        return most << fraction | ((1 << fraction) - 1 if not infinite else 1 << (fraction - 1))
    if math.isinf(number):
        return sign | most << fraction if infinite else None
    bias = most >> 1
    lowest = 1 - bias
    _, scale = math.frexp(number)
    power = max(scale - 1, lowest) - fraction
    digits = math.ldexp(abs(number), -power)  # exact: only the exponent changes
    if digits != int(digits):
        return None
    # A number below 1 << fraction is subnormal, and then its exponent field is 0.
    field = power + fraction + bias if digits >= 1 << fraction else 0
    bits = field << fraction | int(digits) & (1 << fraction) - 1
    largest = most << fraction if infinite else (most << fraction) + (1 << fraction) - 1
    return sign | bits if field <= most and bits < largest else None


def _integer(value: object, dtype: DType) -> int:
    try:
        number = operator.index(cast("SupportsIndex", value))
    except TypeError:
        raise BadConstantError(
            f"{value!r} is not an integer, and .{dtype} is a type of integers"
        ) from None
    low = 0 if dtype.kind is Kind.UNSIGNED else -(1 << (dtype.bits - 1))
    high = (1 << (dtype.bits - 1 if dtype.is_signed else dtype.bits)) - 1
    if not low <= number <= high:
        raise BadConstantError(f"{number} is out of range for .{dtype} ({low} to {high})")
    return number


def _float_bits(value: object, dtype: DType) -> int:
    try:
        number = float(cast("SupportsFloat", value))
    except (TypeError, ValueError):
        raise BadConstantError(f"{value!r} is not a number") from None
    except OverflowError:
        raise BadConstantError(f"{value!r} is out of range for .{dtype}") from None
    if math.isinf(number) and number != value:  # such as NumPy's longdouble
        raise BadConstantError(f"{value!r} is out of range for .{dtype}")
    if dtype.name == "bf16":
        return _bfloat16_bits(number)
    if dtype.name not in _FLOAT_FORMATS:
        raise BadConstantError(f".{dtype} has no constants")
    pack, unpack = _FLOAT_FORMATS[dtype.name]
    try:
        return int(struct.unpack(unpack, struct.pack(pack, number))[0])
    except OverflowError:
        largest = {"f16": "65504", "f32": "3.4028235e+38"}[dtype.name]
        raise BadConstantError(
            f"{number!r} is out of range for .{dtype} (largest finite {largest})"
        ) from None


def _bfloat16_bits(number: float) -> int:
    if math.isnan(number):
        return 0x7FFF
    try:
        (single,) = struct.unpack("<I", struct.pack("<f", number))
    except OverflowError:
        raise _bfloat16_range(number) from None
    (back,) = struct.unpack("<f", struct.pack("<I", single))
    if back != number:  # round to odd, so that the second rounding is exact
        toward_zero = single - 1 if abs(back) > abs(number) else single
        single = toward_zero | 1
    low, kept = single & 0xFFFF, single >> 16
    rounded = kept + (1 if low > 0x8000 or (low == 0x8000 and kept & 1) else 0)
    if math.isfinite(number) and rounded & 0x7FFF == _BFLOAT16_INFINITY:
        raise _bfloat16_range(number)
    return rounded


def _bfloat16_range(number: float) -> BadConstantError:
    return BadConstantError(f"{number!r} is out of range for .bf16 (largest finite 3.3895314e+38)")
