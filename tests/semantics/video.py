"""What the video instructions of PTX mean, written from the manual's pseudocode in integers.

`evaluate(spelling, operands, values)` gives the destination of one lane. Operands are written as in
`cases`: `u32.h1` a part, `-u32` negated, `=u32.b0` a destination.

open: the sign of a result that does not fit its type, before the secondary operation, is that of
the type.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Final

from .model import clamp, signed, unsigned

WORD: Final = 32
COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
PRIMARY: Final[dict[str, Callable[[int, int], int]]] = {
    "vadd": operator.add,
    "vsub": operator.sub,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
    "vavrg": lambda a, b: (a + b + 1) // 2 if a + b >= 0 else (a + b) // 2,
}
SECONDARY: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "min": min,
    "max": max,
}


def value(type_: str, bits: int, pattern: int) -> int:
    return signed(pattern, bits) if type_.startswith("s") else unsigned(pattern, bits)


def saturated(type_: str, bits: int, number: int) -> int:
    if type_.startswith("s"):
        return clamp(number, -(1 << bits - 1), (1 << bits - 1) - 1)
    return clamp(number, 0, (1 << bits) - 1)


def place(lanes: str) -> tuple[int, int]:
    """The lowest bit and the width of what is selected of one register."""
    bits = {"b": 8, "h": 16}[lanes[0]] if lanes else WORD
    return int(lanes[1:] or 0) * bits, bits


def evaluate(spelling: str, operands: Sequence[str], values: Sequence[int]) -> int:
    opcode, *modifiers = spelling.split(".")
    lanes = [operand.partition(".")[2] for operand in operands]
    types = [m for m in modifiers if m in ("u32", "s32")]
    if opcode.startswith("vset"):
        types.insert(0, "u32")
    if opcode[-1] in "24":
        return parallel(opcode, modifiers, types, lanes, values)
    a, b = (
        value(type_, bits, word >> low)
        for type_, word, (low, bits) in zip(types[1:], values, map(place, lanes[1:3]), strict=False)
    )
    if opcode == "vmad":
        return multiplied(modifiers, types, operands, (a, b, values[2]))
    result = scalar(opcode, modifiers, a, b)
    low, bits = place(lanes[0])
    if "sat" in modifiers:
        result = saturated(types[0], bits, result)
    if lanes[0]:
        field = (1 << bits) - 1 << low
        return result << low & field | values[2] & ~field
    if len(values) == 2:
        return unsigned(result, WORD)
    second = SECONDARY[modifiers[-1]]
    first, c = value(types[0], WORD, result), value(types[0], WORD, values[2])
    return unsigned(second(first, c), WORD)


def scalar(opcode: str, modifiers: Sequence[str], a: int, b: int) -> int:
    """The primary operation, whose result has 34 bits."""
    if opcode == "vset":
        return int(COMPARISONS[modifiers[2]](a, b))
    if opcode in ("vshl", "vshr"):
        b = b % 32 if "wrap" in modifiers else min(b, 32)
        return signed(a << b, 34) if opcode == "vshl" else a >> b
    return PRIMARY[opcode](a, b)


def multiplied(
    modifiers: Sequence[str], types: Sequence[str], operands: Sequence[str], abc: Sequence[int]
) -> int:
    a, b, c = abc
    minus = [operand.startswith("-") for operand in operands[1:]]
    negate = minus[0] != minus[1]
    final = "s32" if "s32" in types[1:] or negate or minus[2] else "u32"
    total = a * b
    if negate:
        total = -total
    # -c is its complement and one more, of 32 bits, extended as the final result is
    total += value(final, WORD, ~c) + 1 if minus[2] else value(final, WORD, c)
    total += "po" in modifiers
    for name in ("shr7", "shr15"):
        if name in modifiers:
            total >>= int(name[3:])
    return unsigned(saturated(final, WORD, total) if "sat" in modifiers else total, WORD)


def parallel(
    opcode: str,
    modifiers: Sequence[str],
    types: Sequence[str],
    lanes: Sequence[str],
    values: Sequence[int],
) -> int:
    count = int(opcode[-1])
    bits = WORD // count
    digits = "".join(str(k) for k in reversed(range(2 * count)))
    mask = lanes[0][1:] or digits[count:]
    firsts, seconds = lanes[1][1:] or digits[count:], lanes[2][1:] or digits[:count]
    both = values[1] << WORD | values[0]
    c = values[2]
    results: list[int] = []
    for first, second in zip(reversed(firsts), reversed(seconds), strict=True):
        a = value(types[1], bits, both >> int(first) * bits)
        b = value(types[2], bits, both >> int(second) * bits)
        result = scalar(opcode.rstrip("24"), modifiers, a, b)
        results.append(saturated(types[0], bits, result) if "sat" in modifiers else result)
    written = [str(k) in mask for k in range(count)]
    if modifiers[-1] == "add":
        return unsigned(c + sum(r for r, w in zip(results, written, strict=True) if w), WORD)
    kept = (
        r if w else c >> k * bits for k, (r, w) in enumerate(zip(results, written, strict=True))
    )
    return sum(unsigned(r, bits) << k * bits for k, r in enumerate(kept))
