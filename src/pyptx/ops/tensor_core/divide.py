"""Quotients without `div`, of which the assembler makes some twenty instructions, one after the
other: a kernel that runs for a few microseconds waits for each of them before its first copy.
"""

from __future__ import annotations

from typing import Final

from pyptx import Reg, ptx, reg
from pyptx.types import u32

BITS: Final = 32
SMALL_BITS: Final = 31
LARGEST: Final = 8
"""Of a `SmallDivisor`."""


def by_number(value: Reg, divisor: int) -> Reg:
    """value // divisor of a u32 register, by `mul.hi` and `shr` where such a product is exact.

    Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994).
    """
    found = factor(divisor)
    if found is None:
        return value // divisor  # a shift, where the divisor is a power of two
    by, shift = found
    return ptx.inst.mul.hi.u32(value, by) >> shift


def factor(divisor: int) -> tuple[int, int] | None:
    """`by` and `shift` for which value // divisor is value * by >> 32 + shift, for every u32.

    None for a power of two, and where `by` would have more than 32 bits.
    """
    if divisor & (divisor - 1) == 0:
        return None
    for shift in range(divisor.bit_length()):
        whole = 1 << (BITS + shift)
        by = -(-whole // divisor)
        if by >> BITS == 0 and by * divisor - whole <= 1 << shift:
            return by, shift
    return None


def if_not_below(value: Reg, divisor: Reg) -> Reg:
    """value // divisor of u32 registers: 0 without a division where the value is smaller."""
    found = reg.scalar(u32, init=0)
    with ptx.if_(value >= divisor):
        found.set(value // divisor)
    return found


class SmallDivisor:
    """A number from 1 to LARGEST that is chosen when the kernel runs, and quotients by it.

    Each of these numbers has a constant factor, so that there is no division.
    """

    def __init__(self) -> None:
        self.value = reg.scalar(u32, init=1)
        self._factor = reg.scalar(u32, init=1 << SMALL_BITS)

    def set(self, number: int, pred: Reg) -> None:
        """Make it this number where a predicate holds."""
        if not 1 <= number <= LARGEST:
            raise ValueError(f"a divisor from 1 to {LARGEST}, not {number}")
        self.value.set(ptx.inst.selp.u32(number, self.value, pred))
        factor = -(-(1 << SMALL_BITS) // number)
        self._factor.set(ptx.inst.selp.u32(factor, self._factor, pred))

    def quotient(self, dividend: Reg) -> Reg:
        """dividend // value, of a u32 below 2**28.

        The factor is too large by less than 1 / 2**SMALL_BITS of the number: the quotient is exact
        as long as the dividend times the number is below 2**SMALL_BITS.
        """
        wide = ptx.inst.mul.wide.u32(dividend, self._factor)
        return ptx.inst.cvt.u32.u64(wide >> SMALL_BITS)
