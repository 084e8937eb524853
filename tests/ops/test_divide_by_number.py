"""Quotients and remainders by a number, of u32 values of every size."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.quotients import quotients, values

from pyptx.ops._divide import CTA_BITS, THREAD_BITS, by_number, factor, with_remainder

TOP = 2**32 - 1
DIVISORS = [*range(1, 14), 48, 63, 64, 75, 96, 160, 192, 641, 2**16 + 1, 2**31, TOP]


@pytest.mark.parametrize("divisor", DIVISORS)
def test_by_number(divisor: int) -> None:
    x = values(divisor)
    found = quotients(lambda value, _: by_number(value, divisor), x, x)
    np.testing.assert_array_equal(found, x // np.uint32(divisor))


@pytest.mark.parametrize("bits", [CTA_BITS, THREAD_BITS])
@pytest.mark.parametrize("divisor", [*range(1, 14), 63, 75, 96, 641, 1023])
def test_with_remainder(divisor: int, bits: int) -> None:
    """Of values below a limit, where no divisor needs a division."""
    x = values(divisor, bits) if divisor < 2**bits else np.arange(1024, dtype=np.uint32)
    for which in (0, 1):
        found = quotients(lambda value, _, i=which: with_remainder(value, divisor, bits)[i], x, x)
        np.testing.assert_array_equal(found, np.divmod(x, np.uint32(divisor))[which])


@pytest.mark.parametrize("bits", [32, CTA_BITS, THREAD_BITS])
def test_factors_are_exact(bits: int) -> None:
    """At the largest values, where a factor that is too large is wrong first."""
    top = 2**bits - 1
    found = {d: factor(d, bits) for d in (*range(1, 3000), *(TOP - i for i in range(100)))}
    for divisor, each in found.items():
        if each is None:
            assert bits == 32 or divisor.bit_count() == 1
            continue
        by, shift = each
        assert by < 2**32
        last = top // divisor * divisor
        for x in (last, last - 1, top, divisor, divisor - 1):
            if not 0 <= x <= top:
                continue
            assert x * by >> 32 + shift == x // divisor


def test_which_numbers_have_a_factor() -> None:
    """Those that schedules divide by do; 7 wants a number of 33 bits, but for a CTA's number."""
    assert factor(3) == (0xAAAAAAAB, 1)
    assert factor(5) == (0xCCCCCCCD, 2)
    assert factor(12) == (0xAAAAAAAB, 3)
    assert factor(7) is None
    assert factor(7, CTA_BITS) == (0x92492493, 2)
    assert factor(128) is None
    assert sum(factor(d) is not None for d in range(1, 3000)) > 1000
