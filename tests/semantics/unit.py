"""The hardware's unit for approximate functions, in integers and fractions.

The coefficients are those of the emulator's tables, which come from a GPU; all else is written anew
from the description in docs/arithmetic.md. A function takes a finite number that is not zero and
gives the number that the unit gives, before results below the least normal f32 become zeros.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Final

from .rationals import Number, floor_log2, number

FOLDER: Final = Path(__file__).parents[2] / "src/pyptx/_native/src/emulator/semantics"
FRACTION: Final = 23
DIGITS: Final = 17
"""Of x, the argument within its segment."""
LEAST: Final = -15
"""The exponent of the last column of the square."""
TURNS: Final = Fraction(0x145F306, 2**27)
"""In one radian, rounded to f32."""


@cache
def tables() -> dict[str, list[tuple[int, int, int]]]:
    """The segments of each table."""
    text = (FOLDER / "approximate_tables.h").read_text()
    found = re.findall(r"Segment k(\w+)Segments\[\d+\] = \{\n(.*?)\n\};", text, re.DOTALL)
    return {
        name: [(int(a), int(b), int(c)) for a, b, c in re.findall(r"\{(.+?), (.+?), (.+?)\}", body)]
        for name, body in found
    }


@cache
def tanh_digits() -> tuple[int, list[int]]:
    """The first binade of tanh's table, and how many digits number the segments of each."""
    text = (FOLDER / "approximate_tables.h").read_text()
    (first,) = re.findall(r"kTanhFirst = (-?\d+);", text)
    (digits,) = re.findall(r"kTanhDigits\[\d+\] = \{(.*)\};", text)
    return int(first), [int(each) for each in digits.split(", ")]


@cache
def square(x: int) -> Fraction:
    """The square of 0.x: the products of its digits, without the columns below 2**LEAST."""
    ones = [i for i in range(1, DIGITS + 1) if x >> (DIGITS - i) & 1]
    columns = [-2 * i for i in ones]
    columns += [1 - i - j for i in ones for j in ones if i < j]
    return sum((Fraction(2) ** c for c in columns if c >= LEAST), Fraction(0))


def value(table: str, segment: int, x: int) -> int:
    """In the table's unit."""
    c0, c1, c2 = tables()[table][segment]
    total = c0 + c1 * x + c2 * square(x) * 2**-LEAST
    assert total.denominator == 1
    return total.numerator


def at(table: str, place: int) -> int:
    """The value at a segment's number followed by the digits of x."""
    return value(table, place >> DIGITS, place & 2**DIGITS - 1)


def truncated(x: Fraction, digits: int = FRACTION + 1) -> Fraction:
    """To so many significant digits."""
    if x == 0:
        return x
    last = Fraction(2) ** (floor_log2(x) - digits + 1)
    return x // last * last


def parts(x: Number, digits: int = FRACTION) -> tuple[int, int]:
    """The exponent, and the first digits of the significand behind the point."""
    exponent = floor_log2(x.magnitude)
    return exponent, int((x.magnitude / Fraction(2) ** exponent - 1) * 2**digits)


def ex2(x: Number) -> Number:
    whole, fraction = divmod(int(min(x.magnitude, Fraction(1000)) * 2**FRACTION), 2**FRACTION)
    if x.sign:
        whole = -whole
    if x.sign and fraction:
        whole, fraction = whole - 1, 2**FRACTION - 1 - fraction
    return number(truncated(Fraction(at("Exp2", fraction), 2**38)) * Fraction(2) ** whole)


def lg2(x: Number) -> Number:
    exponent, fraction = parts(x)
    if exponent == fraction == 0:
        return number(0)
    total = at("Log2", fraction) + exponent * 2**38
    magnitude = -1 - total if total < 0 else total
    return Number(int(total < 0), truncated(Fraction(magnitude // 4, 2**36)))


def rcp(x: Number, digits: int = FRACTION) -> Number:
    exponent, fraction = parts(x, digits)
    found = Fraction(at("Reciprocal", fraction << FRACTION + 1 - digits), 2**40)
    return Number(x.sign, truncated(found, digits + 1) / Fraction(2) ** exponent)


def _root(x: Number, digits: int = FRACTION) -> tuple[int, int]:
    """Half of the exponent, and the place in the table of a root."""
    exponent, fraction = parts(x, digits)
    half, odd = divmod(exponent, 2)
    return half, (odd << digits | fraction) << FRACTION - digits


def rsqrt(x: Number, digits: int = FRACTION) -> Number:
    half, place = _root(x, digits)
    found = Fraction(at("ReciprocalRoot", place), 2**40) if place else Fraction(1)
    return number(truncated(found, digits + 1) / Fraction(2) ** half)


def sqrt(x: Number) -> Number:
    half, place = _root(x)
    return number(truncated(Fraction(at("Root", place), 2**40)) * Fraction(2) ** half)


def of_angle(x: Number, *, cosine: bool) -> Number:
    """sin or cos of an f32 number of turns that is truncated to a multiple of 2**-25."""
    turns = truncated(x.magnitude * TURNS)
    quadrant, place = divmod(int(turns % 1 * 2**25), 2**FRACTION)
    quadrant += cosine
    if quadrant % 2:
        place = 2**FRACTION - 1 - place
    negative = quadrant % 4 >= 2
    sign = negative if cosine else negative ^ bool(x.sign)
    return Number(int(sign), truncated(Fraction(at("Sine", place), 2**38)))


def tanh(x: Number) -> Number:
    """The argument below the table, and 1 above it."""
    exponent, fraction = parts(x)
    first, digits = tanh_digits()
    if exponent < first:
        return x
    if exponent >= first + len(digits):
        return Number(x.sign, Fraction(1))
    binade = exponent - first
    place = fraction >> FRACTION - DIGITS - digits[binade]
    place += sum(2**each for each in digits[:binade]) << DIGITS
    return Number(x.sign, truncated(Fraction(at("Tanh", place), 2**39)))
