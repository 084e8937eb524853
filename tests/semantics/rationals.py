"""Floating-point formats as exact rational numbers: the arithmetic that the model of PTX is written
in.

A value is a `Number`: a sign and a magnitude that is a fraction, infinity or NaN. Nothing here
knows how a machine computes; a result is the exact rational number, rounded once by its definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Final


@dataclass(frozen=True)
class Format:
    """A binary format of `1 + exponent + fraction` bits.

    `nan` is the code that a NaN becomes; a format without infinities or NaN uses all its codes for
    numbers, except that one (`nan` is None where there is none at all).
    """

    name: str
    exponent: int
    fraction: int
    infinite: bool = True
    nan: int | None = None

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def bias(self) -> int:
        return 2 ** (self.exponent - 1) - 1

    @property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def infinity_code(self) -> int:
        return (2**self.exponent - 1) << self.fraction

    @property
    def largest_code(self) -> int:
        if self.infinite:
            return self.infinity_code - 1
        return self.sign_bit - (1 if self.nan is None else 2)


F16: Final = Format("f16", 5, 10, nan=0x7FFF)
BF16: Final = Format("bf16", 8, 7, nan=0x7FFF)
F32: Final = Format("f32", 8, 23, nan=0x7FFFFFFF)
F64: Final = Format("f64", 11, 52, nan=0xFFF8000000000000)
TF32: Final = Format("tf32", 8, 10, nan=0x3FFFF)
E4M3: Final = Format("e4m3", 4, 3, infinite=False, nan=0x7F)
E5M2: Final = Format("e5m2", 5, 2, nan=0x7F)
E2M3: Final = Format("e2m3", 2, 3, infinite=False)
E3M2: Final = Format("e3m2", 3, 2, infinite=False)
E2M1: Final = Format("e2m1", 2, 1, infinite=False)
FORMATS: Final = {f.name: f for f in (F16, BF16, F32, F64, TF32, E4M3, E5M2, E2M3, E3M2, E2M1)}


@dataclass(frozen=True)
class Number:
    """`sign` is 1 for negative. `kind` is "finite", "inf" or "nan"; `magnitude` counts for finite
    ones."""

    sign: int
    magnitude: Fraction = Fraction(0)
    kind: str = "finite"

    @property
    def nan(self) -> bool:
        return self.kind == "nan"

    @property
    def inf(self) -> bool:
        return self.kind == "inf"

    @property
    def finite(self) -> bool:
        return self.kind == "finite"

    @property
    def zero(self) -> bool:
        return self.finite and self.magnitude == 0

    @property
    def value(self) -> Fraction:
        return -self.magnitude if self.sign else self.magnitude

    def __neg__(self) -> Number:
        return Number(1 - self.sign, self.magnitude, self.kind)

    def __abs__(self) -> Number:
        return Number(0, self.magnitude, self.kind)


NAN: Final = Number(0, kind="nan")


def infinity(sign: int) -> Number:
    return Number(sign, kind="inf")


def number(value: Fraction | int) -> Number:
    return Number(int(value < 0), abs(Fraction(value)))


def decode(fmt: Format, code: int) -> Number:
    """The number that the lower bits of `code` stand for in the format."""
    sign = code >> (fmt.bits - 1) & 1
    field = code >> fmt.fraction & (2**fmt.exponent - 1)
    fraction = code & (2**fmt.fraction - 1)
    if fmt.infinite and field == 2**fmt.exponent - 1:
        return Number(sign, kind="nan") if fraction else infinity(sign)
    if not fmt.infinite and fmt.nan is not None and code & (fmt.sign_bit - 1) == fmt.nan:
        return Number(sign, kind="nan")
    if field == 0:
        return Number(sign, Fraction(fraction) * Fraction(2) ** (1 - fmt.bias - fmt.fraction))
    significand = 1 + Fraction(fraction, 2**fmt.fraction)
    return Number(sign, significand * Fraction(2) ** (field - fmt.bias))


def floor_log2(x: Fraction) -> int:
    """The largest k with 2**k <= x, for positive x."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    return k if Fraction(2) ** k <= x else k - 1


def rounds_away(mode: str, sign: int, odd: bool, rest: Fraction) -> bool:
    """Whether a magnitude that is `rest` (0 <= rest < 1) above an integer goes up to the next."""
    half = Fraction(1, 2)
    if rest == 0:
        return False
    return {
        "rn": rest > half or (rest == half and odd),
        "rna": rest >= half,
        "rz": False,
        "rm": sign == 1,
        "rp": sign == 0,
    }[mode]


def round_integer(x: Number, mode: str) -> int:
    """A finite number as an integer in the direction of the mode."""
    whole = x.magnitude.numerator // x.magnitude.denominator
    up = rounds_away(mode, x.sign, whole % 2 == 1, x.magnitude - whole)
    magnitude = whole + up
    return -magnitude if x.sign else magnitude


def encode(fmt: Format, x: Number, mode: str = "rn", *, satfinite: bool = False) -> int:
    """The code of the number, rounded to the format. Overflow follows IEEE 754 for the mode."""
    sign = fmt.sign_bit if x.sign else 0
    if x.nan:
        return fmt.largest_code if fmt.nan is None else fmt.nan
    if x.inf:
        return sign | (fmt.largest_code if satfinite or not fmt.infinite else fmt.infinity_code)
    if x.zero:
        return sign
    least = 1 - fmt.bias
    exponent = max(floor_log2(x.magnitude), least)
    scaled = x.magnitude / Fraction(2) ** (exponent - fmt.fraction)
    whole = scaled.numerator // scaled.denominator
    whole += rounds_away(mode, x.sign, whole % 2 == 1, scaled - whole)
    if whole == 2 ** (fmt.fraction + 1):
        whole, exponent = whole // 2, exponent + 1
    if whole < 2**fmt.fraction:
        return sign | whole
    code = (exponent + fmt.bias) << fmt.fraction | whole - 2**fmt.fraction
    if code <= fmt.largest_code:
        return sign | code
    outwards = mode in ("rn", "rna") or mode == ("rm" if x.sign else "rp")
    if satfinite or not fmt.infinite or not outwards:
        return sign | fmt.largest_code
    return sign | fmt.infinity_code


def is_subnormal(fmt: Format, code: int) -> bool:
    magnitude = code & (fmt.sign_bit - 1)
    return 0 < magnitude < 2**fmt.fraction


def square_root(x: Fraction) -> Fraction:
    """The root to 250 significant bits, exact where it is rational, never on the wrong side of a
    number of fewer bits: an inexact root has its last bit set."""
    shift = 500 - (x.numerator.bit_length() - x.denominator.bit_length())
    shift += shift % 2
    scaled = x * Fraction(2) ** shift
    whole = scaled.numerator // scaled.denominator
    root = isqrt(whole)
    exact = root * root == scaled
    value = Fraction(2 * root + (0 if exact else 1), 2)
    return value / Fraction(2) ** (shift // 2)
