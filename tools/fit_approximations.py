"""Find the tables of the GPU's unit for approximate functions in recorded results.

    python tools/fit_approximations.py FOLDER [--header FILE] [--sample FILE]

FOLDER is what record_approximations.py wrote. The unit interpolates (Oberman and Siu, "A
High-Performance Area-Efficient Multifunction Interpolator", ARITH 2005). The upper digits of an
argument's fraction select a segment, and the next 17 digits are x. The value is c0 + c1 x + c2 s,
where s is the square of x without the columns of its partial products below 2**-15. The value is
truncated to the 24 digits of the result.

So every recorded result bounds the value of one argument from both sides. For each segment the
program takes the integers c1 and c2 next to the least-squares solution for which the bounds of c0
leave most room. If there is room in all segments, the tables give every recorded bit. Otherwise the
program says which segments have none and ends with status 1. --header writes the tables for the
emulator, --sample a few results of each function for the tests.
"""

# NumPy's stubs give up on structured reductions.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

X_BITS: Final = 17
SQUARE_BITS: Final = 15
FRACTION: Final = 23
"""Digits of an f32 behind the point."""
X: Final = np.arange(2**X_BITS)
WIDE: Final = 2**62
"""Bounds of a value that no result bounds."""
NEIGHBOURS: Final = range(-2, 3)
SAMPLE: Final = 192
"""Results of each binade that --sample keeps."""
HEAD: Final = """\
// The tables of the hardware's unit for approximate functions. tools/fit_approximations.py wrote
// this file from results of an H100 for all arguments of @ binades, and the tables give every bit.
//
// The value in a segment is c0 + c1 x + c2 s(x) in units of the table: x is 17 digits of the
// argument, and s the truncated square of approximate.h.
#pragma once

#include <cstdint>

namespace pyptx::emulator {

struct Segment {
  int64_t c0;
  int32_t c1, c2;
};
"""
TAIL: Final = """
// The first binade of tanh, and the digits of the segment's number in each.
constexpr int kTanhFirst = {};
constexpr uint32_t kTanhDigits[{}] = {{{}}};

}}  // namespace pyptx::emulator
"""


def square() -> np.ndarray:
    """x squared without the columns below 2**-15, in units of 2**-15, for all x of 17 digits."""
    total = np.zeros_like(X)
    for i in range(1, SQUARE_BITS // 2 + 1):
        digit = X >> (X_BITS - i) & 1
        later = X >> (i + 1) & (1 << SQUARE_BITS + 1 - 2 * i) - 1
        total += digit * (later + (1 << SQUARE_BITS - 2 * i))
    return total


S: Final = square()


@dataclass
class Bounds:
    """What results say of the values of one table: low <= value < high, in units of 2**-unit."""

    unit: int
    segments: int
    low: np.ndarray = field(init=False)
    high: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        size = self.segments << X_BITS
        self.low, self.high = np.full(size, -WIDE), np.full(size, WIDE)

    def add(self, places: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Bounds of the values at these places: the segment and x."""
        np.maximum.at(self.low, places, low)
        np.minimum.at(self.high, places, high)

    def add_results(self, places: np.ndarray, results: np.ndarray, scale: float = 1.0) -> None:
        """Results, times a power of two, that are values truncated to f32."""
        low, high = truncated(results * scale, self.unit)
        self.add(places, low, high)


def truncated(results: np.ndarray, unit: int) -> tuple[np.ndarray, np.ndarray]:
    """The least value that is truncated to each result, and the least one beyond."""
    _, exponent = np.frexp(results)
    low = np.ldexp(results, unit)
    high = low + np.maximum(np.ldexp(1.0, exponent + unit - FRACTION - 1), 1)
    return low.astype(np.int64), high.astype(np.int64)


@dataclass(frozen=True)
class Fitted:
    """A segment: c1 and c2, and the bounds of c0, the second included."""

    least: int
    greatest: int
    c1: int
    c2: int


def fit(low: np.ndarray, high: np.ndarray) -> Fitted:
    """The coefficients with the most room for c0; greatest < least if there is none."""
    known = np.flatnonzero((low > -WIDE) & (high < WIDE))
    base = int(low[known[0]])
    low, high = ((each[known] - base).astype(float) for each in (low, high))
    x, s = X[known], S[known]
    terms = np.stack([s, x, np.ones_like(x)], 1).astype(float)
    solution = np.linalg.lstsq(terms.T @ terms, terms.T @ ((low + high - 1) / 2), rcond=None)[0]
    best: Fitted | None = None
    for c2 in (round(solution[0]) + k for k in NEIGHBOURS):
        for c1 in (round(solution[1]) + k for k in NEIGHBOURS):
            curve = c1 * x + c2 * s
            least, beyond = int((low - curve).max()), int((high - curve).min())
            found = Fitted(base + least, base + beyond - 1, c1, c2)
            if best is None or found.greatest - found.least > best.greatest - best.least:
                best = found
    assert best is not None
    return best


def fit_all(bounds: Bounds) -> list[Fitted]:
    size = 2**X_BITS
    return [fit(bounds.low[at : at + size], bounds.high[at : at + size])
            for at in range(0, bounds.segments * size, size)]  # fmt: skip


def constants(fitted: list[Fitted]) -> list[int]:
    """A c0 for each segment. The unit adds one rounding constant to the few digits of its c0, so of
    their last digits as many are equal as can be."""
    for digits in range(X_BITS, 0, -1):
        granule = 1 << digits
        possible = np.ones(granule, bool)
        for each in fitted:
            room = np.zeros(granule, bool)
            room[np.arange(each.least, each.greatest + 1) % granule] = True
            possible &= room
        if possible.any():
            last = int(np.argmax(possible))
            return [each.least + (last - each.least) % granule for each in fitted]
    return [each.least for each in fitted]


# ---- what each function's results say ----


def mantissas() -> np.ndarray:
    return np.arange(2**FRACTION)


class Records:
    """The folder: results by function and exponent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, name: str) -> Any:
        (path,) = self.folder.glob(f"{name}.approx*.f32.npz")
        return np.load(path)

    def exponents(self, name: str) -> list[int]:
        return sorted(int(each) for each in self.file(name).files)

    def bits(self, name: str, exponent: int) -> np.ndarray:
        return np.cumsum(self.file(name)[str(exponent)].view(np.uint32), dtype=np.uint32)

    def results(self, name: str, exponent: int) -> np.ndarray:
        return self.bits(name, exponent).view(np.float32).astype(np.float64)


def exp2(records: Records) -> Bounds:
    """2**f for the fraction f of the argument, truncated to 23 digits; the rest is the exponent."""
    bounds = Bounds(unit=38, segments=64)
    for exponent in records.exponents("ex2"):
        shift = FRACTION - exponent
        argument = (2**FRACTION + mantissas()) << FRACTION >> shift
        whole, places = argument >> FRACTION, argument & (2**FRACTION - 1)
        bounds.add_results(places, records.results("ex2", exponent) * np.ldexp(1.0, -whole))
    return bounds


def log2(records: Records) -> Bounds:
    """log2 of the significand, to which the unit adds the exponent. A negative sum is complemented,
    and the magnitude truncated to a multiple of 2**-36. log2 of 1 is 0, without the table."""
    bounds = Bounds(unit=38, segments=64)
    for exponent in records.exponents("lg2"):
        results = records.results("lg2", exponent)
        low, high = truncated(np.abs(results), bounds.unit)
        high = np.maximum(high, low + 4)
        if exponent < 0:
            low, high = -high, -low
        used = slice(1 if exponent == 0 else 0, None)
        whole = exponent << bounds.unit
        bounds.add(mantissas()[used], low[used] - whole, high[used] - whole)
    return bounds


def reciprocal(records: Records) -> Bounds:
    """1/m for the significand m; x has 16 digits, to which a zero is added here."""
    bounds = Bounds(unit=40, segments=128)
    bounds.add_results(mantissas() << 1, records.results("rcp", 0))
    return bounds


def _of_two_binades(records: Records, name: str, skipped: int) -> Bounds:
    """Of a root: 64 segments for even exponents, and 64 for odd ones."""
    bounds = Bounds(unit=40, segments=128)
    for odd in (0, 1):
        used = slice(0 if odd else skipped, None)
        places = mantissas() + (odd << FRACTION)
        bounds.add_results(places[used], records.results(name, odd)[used])
    return bounds


def reciprocal_root(records: Records) -> Bounds:
    """1/sqrt. Of an even power of two it is exact, without the table."""
    return _of_two_binades(records, "rsqrt", skipped=1)


def root(records: Records) -> Bounds:
    """sqrt."""
    return _of_two_binades(records, "sqrt", skipped=0)


def sine(records: Records) -> Bounds:
    """The sine of 23 digits of a quarter of a turn, complemented in every second quadrant."""
    bounds = Bounds(unit=38, segments=64)
    for quadrants, name in enumerate(("sin", "cos")):
        for exponent in records.exponents(name):
            first = np.uint32((exponent + 127) << FRACTION)
            argument = (first + mantissas().astype(np.uint32)).view(np.float32).astype(np.float64)
            product = argument * float(np.float32(1 / (2 * np.pi)))
            turns = (product.view(np.int64) & ~np.int64(2**29 - 1)).view(np.float64)
            angle = np.floor(turns * 2**25).astype(np.int64) + (quadrants << FRACTION)
            odd = angle >> FRACTION & 1
            places = (angle ^ -odd) & (2**FRACTION - 1)
            bounds.add_results(places, np.abs(records.results(name, exponent)))
    return bounds


def tanh(records: Records, exponent: int, digits: int) -> Bounds | None:
    """tanh of a binade in 2**digits segments; None if results differ for the same x."""
    bounds = Bounds(unit=39, segments=2**digits)
    results = records.results("tanh", exponent).reshape(-1, 2 ** (FRACTION - X_BITS - digits))
    if (results != results[:, :1]).any():
        return None
    bounds.add_results(np.arange(len(results)), results[:, 0])
    return bounds


def fit_tanh(records: Records) -> tuple[list[int], list[Fitted]]:
    """The digits of the segment's number in each binade, and the segments."""
    digits: list[int] = []
    segments: list[Fitted] = []
    for exponent in records.exponents("tanh"):
        tried = (tanh(records, exponent, each) for each in range(FRACTION - X_BITS))
        found = [fit_all(bounds) for bounds in tried if bounds is not None]
        best = min(found, key=lambda each: sum(s.greatest < s.least for s in each))
        digits.append(len(best).bit_length() - 1)
        segments += best
    return digits, segments


TABLES: Final[tuple[tuple[str, Callable[[Records], Bounds], str], ...]] = (
    ("kExp2Segments", exp2, "2^f, in units of 2^-38."),
    ("kLog2Segments", log2, "log2 of the significand, in units of 2^-38."),
    ("kReciprocalSegments", reciprocal, "1/m of the significand m, in units of 2^-40."),
    (
        "kReciprocalRootSegments",
        reciprocal_root,
        "1/sqrt of [1, 2), then [2, 4), in units of 2^-40.",
    ),
    ("kRootSegments", root, "sqrt of [1, 2), then [2, 4), in units of 2^-40."),
    ("kSineSegments", sine, "The sine of the first quadrant, in units of 2^-38."),
)


# ---- output ----


def table(name: str, meaning: str, fitted: list[Fitted]) -> str:
    pairs = zip(constants(fitted), fitted, strict=True)
    entries = [f"{{{c0}, {each.c1}, {each.c2}}}," for c0, each in pairs]
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + len(entry) < 116:
            lines[-1] += " " + entry
        else:
            lines.append("    " + entry)
    body = "\n".join(lines)
    return f"\n// {meaning}\nconstexpr Segment {name}[{len(fitted)}] = {{\n{body}\n}};\n"


def sample(records: Records) -> dict[str, Any]:
    """Arguments and results of each function, as bits: a few of each binade, with its ends."""
    generator = np.random.default_rng(18)
    kept: dict[str, Any] = {}
    for path in sorted(records.folder.glob("*.npz")):
        name = path.name.partition(".")[0]
        pairs: list[np.ndarray] = []
        for exponent in records.exponents(name):
            at = generator.integers(0, 2**FRACTION, SAMPLE)
            at = np.union1d(at, [0, 1, 2**FRACTION - 1])
            arguments = at + ((exponent + 127) << FRACTION)
            pairs.append(np.stack([arguments, records.bits(name, exponent)[at]]).astype(np.uint32))
        kept[path.stem] = np.concatenate(pairs, 1)
    return kept


def fit_tables(records: Records) -> tuple[str, int]:
    """The header, and how many segments have no room for a c0."""
    found = [(name, meaning, fit_all(bounds_of(records))) for name, bounds_of, meaning in TABLES]
    digits, segments = fit_tanh(records)
    found.append(("kTanhSegments", "tanh of its binades in turn, in units of 2^-39.", segments))
    names = [path.name.partition(".")[0] for path in records.folder.glob("*.npz")]
    text = HEAD.replace("@", str(sum(len(records.exponents(name)) for name in names)))
    without = 0
    for name, meaning, fitted in found:
        no_room = [at for at, each in enumerate(fitted) if each.greatest < each.least]
        without += len(no_room)
        print(f"{name}: {len(fitted)} segments, without room {no_room}")
        text += table(name, meaning, fitted)
    return text + TAIL.format(records.exponents("tanh")[0], len(digits), str(digits)[1:-1]), without


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--header", type=Path)
    parser.add_argument("--sample", type=Path)
    arguments = parser.parse_args()
    records = Records(arguments.folder)
    text, without = fit_tables(records)
    if arguments.header:
        arguments.header.write_text(text)
    if arguments.sample:
        np.savez_compressed(arguments.sample, **sample(records))
    return 1 if without else 0


if __name__ == "__main__":
    sys.exit(main())
