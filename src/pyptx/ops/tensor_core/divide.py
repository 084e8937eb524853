"""Quotients by registers with as few divisions as can be; those by numbers are in `ops._divide`."""

from __future__ import annotations

from typing import Final

from pyptx import Reg, ptx, reg
from pyptx.types import u32

SMALL_BITS: Final = 31
LARGEST: Final = 8
"""Of a `SmallDivisor`."""


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
