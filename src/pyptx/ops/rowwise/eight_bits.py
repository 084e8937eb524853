"""Numbers of 8 bits: e4m3, e5m2 and s8, rounded to nearest even and saturated.

Devices without `cvt` to 8-bit floats get the same bits from integer instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyptx import Reg, device, ptx, reg
from pyptx.types import DType, b16, b32, e4m3, e5m2, s8, s32, u32

MOST: Final = 4
"""Elements of a word."""

WORDS: Final = {1: b16, 2: b16, 4: b32}
"""What holds so many elements; of one the lower 8 bits are stored."""


@dataclass(frozen=True, slots=True)
class _Format:
    """An 8-bit float, and its exponents."""

    fraction: int
    bias: int
    largest: float


_FORMATS: Final = {e4m3: _Format(3, 7, 448.0), e5m2: _Format(2, 15, 57344.0)}
_LARGEST: Final = {e4m3: 448.0, e5m2: 57344.0, s8: 127.0}
_F32_FRACTION: Final = 23
_F32_BIAS: Final = 127
_NAN: Final = 0x7F


def largest(dtype: DType) -> float:
    """The largest number of a type; of s8 its negative is the least one that is written."""
    return _LARGEST[dtype]


def pack(values: Sequence[Reg], dtype: DType) -> Reg:
    """One, two or four values, f32, as a word (`WORDS`), the first one lowest.

    What is beyond the largest number becomes that number, also infinity. NaN is 0x7f of both
    8-bit floats, as `cvt` gives it, and 0 of s8.
    """
    if dtype is s8:
        word = _integers(values)
    elif device.of(ptx.target()).has("cvt.e4m3"):
        return _converted(values, dtype)
    else:
        word = _joined([_code(value, _FORMATS[dtype]) for value in values])
    return word if len(values) == MOST else _lower_half(word)


def _converted(values: Sequence[Reg], dtype: DType) -> Reg:
    convert = ptx.inst[f"cvt.rn.satfinite.{dtype.name}x2.f32"]
    if len(values) == 1:
        return _as_b16(convert(0.0, values[0]))
    halves = [convert(values[i + 1], values[i]) for i in range(0, len(values), 2)]
    if len(halves) == 1:
        return _as_b16(halves[0])
    word = reg.scalar(b32)
    ptx.inst.mov.b32(word, [_as_b16(half) for half in halves])
    return word


def _as_b16(pair: Reg) -> Reg:
    return ptx.inst.mov.b16(reg.scalar(b16), pair)


def _lower_half(word: Reg) -> Reg:
    half, rest = reg.scalar(b16), reg.scalar(b16)
    ptx.inst.mov.b32([half, rest], word)
    return half


def _integers(values: Sequence[Reg]) -> Reg:
    """Integers from -127 to 127."""
    numbers = [ptx.inst.max.s32(ptx.inst.cvt.rni.s32.f32(value), -127) for value in values]
    numbers += [reg.scalar(s32, init=0)] * (len(numbers) % 2)
    word = reg.scalar(b32, init=0)
    for i in reversed(range(0, len(numbers), 2)):  # the pair comes below what was there
        low, high = numbers[i : i + 2]
        word = ptx.inst.cvt.pack.sat.s8.s32.b32(reg.scalar(b32), high, low, word)
    return word


def _code(value: Reg, to: _Format) -> Reg:
    """The 8 bits of a value, u32, by integer instructions."""
    bits = ptx.inst.mov.b32(reg.scalar(u32), value)
    size = ptx.inst.min.f32(ptx.inst.abs.f32(value), to.largest)
    cut = _F32_FRACTION - to.fraction
    of_size = ptx.inst.mov.b32(reg.scalar(u32), size)
    # Half a unit of what stays, less one unless the last bit that stays is odd.
    half = of_size + ((1 << (cut - 1)) - 1)
    normal = ((half + ((of_size >> cut) & 1)) >> cut) - ((_F32_BIAS - to.bias) << to.fraction)
    # Below the normal numbers all have one unit: that of this sum, whose last bits are the code.
    unit = 2.0 ** (1 - to.bias - to.fraction)
    fixed = ptx.inst.add.rn.f32(size, unit * 2**_F32_FRACTION)
    below = ptx.inst.mov.b32(reg.scalar(u32), fixed) & 0xFF
    code = ptx.inst.selp.u32(below, normal, ptx.inst.setp.lt.f32(size, 2.0 ** (1 - to.bias)))
    code = code | ((bits >> 24) & 0x80)
    return ptx.inst.selp.u32(_NAN, code, ptx.inst.setp.nan.f32(value, value))


def _joined(codes: Sequence[Reg]) -> Reg:
    """Up to four codes in a word."""
    word = codes[0]
    for i, code in enumerate(codes[1:], 1):
        word = word | (code << (8 * i))
    return ptx.inst.mov.b32(reg.scalar(b32), word)
