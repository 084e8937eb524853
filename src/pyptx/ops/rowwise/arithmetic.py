"""Instructions of the type that rows are computed in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pyptx import Reg, ptx, reg
from pyptx.types import DType, f32, f64, s32, u32

LOG2_E: Final = 1.4426950408889634
LN_2: Final = 0.6931471805599453
LARGEST: Final = (2 - 2.0**-23) * 2.0**127
"""Of f32."""


def as_float(value: Any) -> float:
    """A number as a float: infinity where it is an integer beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def problem_of(name: str, value: Any, *, signed: bool) -> str | None:
    """What is wrong with a number that is part of a kernel; negative ones are legal if `signed`."""
    found = as_float(value)
    if not math.isfinite(found) or (found < 0 and not signed):
        rule = "finite" if signed else "finite and not negative"
        return f"{name} is {value!r} and must be {rule}"
    if abs(found) > LARGEST:
        return f"{name} is {value!r}, and must be at most {LARGEST}, as f32 is"
    return None


class Math:
    """Instructions of f32 or f64; every operation rounds to nearest even."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.add = ptx.inst[f"add.rn.{dtype.name}"]
        self.sub = ptx.inst[f"sub.rn.{dtype.name}"]
        self.mul = ptx.inst[f"mul.rn.{dtype.name}"]
        self.fma = ptx.inst[f"fma.rn.{dtype.name}"]
        self.neg = ptx.inst[f"neg.{dtype.name}"]
        self.abs = ptx.inst[f"abs.{dtype.name}"]
        self.max = ptx.inst[f"max.{dtype.name}"]
        self.min = ptx.inst[f"min.{dtype.name}"]
        self.mov = ptx.inst[f"mov.{dtype.name}"]
        self.selp = ptx.inst[f"selp.{dtype.name}"]
        self.load = ptx.inst[f"ld.shared.{dtype.name}"]
        self.store = ptx.inst[f"st.shared.{dtype.name}"]

    @property
    def one(self) -> Reg:
        """1, in a register that nothing may write."""
        return reg.scalar(self.dtype, init=1.0)

    def from_lane(self, value: Reg, distance: int) -> Reg:
        """The value of the lane that many lanes away, by exclusive or; all lanes call it."""
        copy = reg.scalar(self.dtype, init=value)
        halves = [copy]
        if self.dtype.bits == 64:
            halves = [reg.scalar(u32), reg.scalar(u32)]
            ptx.inst.mov.b64(halves, copy)
        for half in halves:
            ptx.inst.shfl.sync.bfly.b32(half, half, distance, 31, 0xFFFFFFFF)
        if self.dtype.bits == 64:
            ptx.inst.mov.b64(copy, halves)
        return copy

    def zero(self) -> Reg:
        return reg.scalar(self.dtype, init=0.0)

    def inverse_root(self, value: Reg) -> Reg:
        """1 / sqrt(value): within 2**-22.9 in f32, correctly rounded steps in f64."""
        if self.dtype is f32:
            return ptx.inst.rsqrt.approx.f32(value)
        return ptx.inst.div.rn.f64(1.0, ptx.inst.sqrt.rn.f64(value))

    def divide(self, numerator: Reg | float, denominator: Reg) -> Reg:
        """The quotient, correctly rounded."""
        return ptx.inst[f"div.rn.{self.dtype.name}"](numerator, denominator)

    def products(self, pairs: Iterable[tuple[Reg, Reg]], chains: int = 4) -> Reg:
        """The sum of products, in several chains so that additions need not wait for another."""
        sums = [self.zero() for _ in range(chains)]
        for i, (a, b) in enumerate(pairs):
            self.fma(sums[i % chains], a, b, sums[i % chains])
        return self.total(sums)

    def total(self, values: Sequence[Reg]) -> Reg:
        """The sum of registers, as a tree."""
        level = list(values)
        while len(level) > 1:
            odd = level[-1:] if len(level) % 2 else []
            level = [self.add(level[i - 1], level[i]) for i in range(1, len(level), 2)] + odd
        return level[0]

    def exp(self, x: Reg) -> Reg:
        """e^x. In f32 two instructions, within 3e-7 + 8e-8 |x|; in f64 about 40, within 4e-16.

        In f64 results below 2**-1022 are zero.
        """
        if self.dtype is f32:
            return ptx.inst.ex2.approx.ftz.f32(ptx.inst.mul.rn.f32(x, LOG2_E))
        return _exp(x)

    def exp_less(self, x: Reg, y: Reg) -> Reg:
        """e^(x - y), in f32 three instructions.

        `ex2` of x log2(e) - y log2(e) would be two, but the product that is rounded leaves an
        error of up to 6e-8 |y|: a factor of 2^64 for y = 1e9.
        """
        return self.exp(self.sub(x, y))

    def less(self, x: Reg | float, y: Reg, more: Reg) -> Reg:
        """x - y - more."""
        return self.sub(self.sub(x, y), more)

    def not_positive(self, x: Reg) -> Reg:
        """x, or 0 where it is larger; NaN stays."""
        if self.dtype is f32:
            return ptx.inst.min.NaN.f32(x, 0.0)
        return self.selp(0.0, x, ptx.inst.setp.gt.f64(x, 0.0))

    def reciprocal(self, x: Reg) -> Reg:
        """1 / x of a normal number: within one unit in the last place in f32, rounded in f64."""
        if self.dtype is f32:
            return ptx.inst.rcp.approx.ftz.f32(x)
        return ptx.inst.rcp.rn.f64(x)

    def log(self, x: Reg) -> Reg:
        """The natural logarithm of a finite number that is at least 1, within 2e-15 in f64."""
        if self.dtype is f32:
            return ptx.math.log(x)
        # Halley's iteration: each step has three times as many digits right.
        y = ptx.inst.cvt.f64.f32(ptx.math.log(ptx.inst.cvt.rn.f32.f64(x)))
        for _ in range(2):
            e = _exp(y)
            step = self.divide(self.sub(x, e), self.add(x, e))
            y = self.fma(step, 2.0, y)
        return y


_LN_2_HIGH: Final = 0.6931471803691238
"""The upper 32 bits of ln 2, so that a small integer times it is exact."""
_LN_2_LOW: Final = 1.9082149292705877e-10


def _exp(x: Reg) -> Reg:
    """e^x in f64: x = k ln 2 + r, and the series of e^r to the 13th power.

    |r| is at most 0.35, so what the series leaves out is below 5e-18.
    """
    low = ptx.inst.setp.lt.f64(x, -708.0)
    high = ptx.inst.setp.gt.f64(x, 709.75)
    near = ptx.inst.selp.f64(-708.0, x, low)
    near = ptx.inst.selp.f64(709.75, near, high)
    k = ptx.inst.cvt.rni.s32.f64(ptx.inst.mul.rn.f64(near, LOG2_E))
    whole = ptx.inst.cvt.rn.f64.s32(k)
    r = ptx.inst.fma.rn.f64(whole, -_LN_2_HIGH, near)
    r = ptx.inst.fma.rn.f64(whole, -_LN_2_LOW, r)
    result = reg.scalar(f64, init=1.0 / math.factorial(13))
    for n in range(12, -1, -1):
        result = ptx.inst.fma.rn.f64(result, r, 1.0 / math.factorial(n))
    # 2**k by its exponent; k is at least -1021, and for 1024 two steps are needed.
    half = k >> 1
    for part in (half, k - half):
        result = ptx.inst.mul.rn.f64(result, _power_of_two(part))
    result = ptx.inst.selp.f64(0.0, result, low)
    return ptx.inst.selp.f64(math.inf, result, high)


def _power_of_two(k: Reg) -> Reg:
    power = reg.scalar(f64)
    ptx.inst.mov.b64(power, [reg.scalar(s32, init=0), (k + 1023) << 20])
    return power
