"""Quotients by numbers without `div`, of which the assembler makes some twenty instructions, one
after the other: a kernel that runs for a few microseconds waits for them before its first load.
"""

from __future__ import annotations

from typing import Final

from pyptx import Reg, ptx

BITS: Final = 32
CTA_BITS: Final = 31
"""Of the number of a CTA."""
THREAD_BITS: Final = 10
"""Of the number of a thread."""


def by_number(value: Reg, divisor: int, bits: int = BITS) -> Reg:
    """value // divisor of a u32 register below 2**bits, by an exact `mul.hi` and `shr`.

    With all 32 bits some divisors have none, and there is a division.
    Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994).
    """
    found = factor(divisor, bits)
    if found is None:
        return value // divisor  # a shift, where the divisor is a power of two
    by, shift = found
    return ptx.inst.mul.hi.u32(value, by) >> shift


def with_remainder(value: Reg, divisor: int, bits: int) -> tuple[Reg, Reg]:
    """value // divisor and value % divisor of a u32 register below 2**bits, in the same way."""
    quotient = by_number(value, divisor, bits)
    if factor(divisor, bits) is None:
        return quotient, value % divisor
    return quotient, ptx.inst.mad.lo.u32(quotient, 2**BITS - divisor, value)


def factor(divisor: int, bits: int = BITS) -> tuple[int, int] | None:
    """`by` and `shift` for which value // divisor is value * by >> 32 + shift, below 2**bits.

    None for a power of two, and where `by` would have more than 32 bits: never of fewer than 32.
    """
    if divisor & (divisor - 1) == 0:
        return None
    for shift in range(divisor.bit_length()):
        whole = 1 << (BITS + shift)
        by = -(-whole // divisor)
        if by >> BITS == 0 and by * divisor - whole <= 1 << (BITS - bits + shift):
            return by, shift
    return None
