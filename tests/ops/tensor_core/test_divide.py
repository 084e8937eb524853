"""Quotients by a register, of u32 values of every size."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.quotients import quotients, values

from pyptx import Reg
from pyptx.ops.tensor_core.divide import LARGEST, SmallDivisor, if_not_below


def test_by_register() -> None:
    """Also of values below the divisor, which take no division."""
    x = values(3)
    d = np.maximum(np.random.default_rng(0).permutation(x) >> 7, 1).astype(np.uint32)
    found = quotients(if_not_below, x, d)
    np.testing.assert_array_equal(found, x // d)
    assert 0 < np.count_nonzero(found == 0) < 1024


@pytest.mark.parametrize("divisor", range(1, LARGEST + 1))
def test_a_divisor_that_is_chosen(divisor: int) -> None:
    """By the last predicate that held, of dividends up to the largest."""

    def divide(value: Reg, number: Reg) -> Reg:
        chosen = SmallDivisor()
        for each in range(2, LARGEST + 1):
            chosen.set(each, number >= each)
        return chosen.quotient(value)

    x = values(divisor) % np.uint32(2**28)
    x[:2] = 2**28 - 1, (2**28 - 1) // divisor * divisor
    found = quotients(divide, x, np.full_like(x, divisor))
    np.testing.assert_array_equal(found, x // np.uint32(divisor))


def test_a_divisor_that_has_no_factor() -> None:
    def divide(value: Reg, number: Reg) -> Reg:
        SmallDivisor().set(LARGEST + 1, number > 0)
        return value

    message = r"^a divisor from 1 to 8, not 9\nwhile quotients was traced for sm_90a$"
    with pytest.raises(ValueError, match=message):
        quotients(divide, values(9), values(9))
