"""Quotients by a number, and by a register, of u32 values of every size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pyptx import Reg, Tensor, Tile, kernel, ptx, reg
from pyptx.ops.tensor_core.divide import (
    LARGEST,
    SmallDivisor,
    by_number,
    factor,
    if_not_below,
)
from pyptx.types import u32

TOP = 2**32 - 1
DIVISORS = [*range(1, 14), 48, 64, 96, 160, 192, 641, 2**16 + 1, 2**31, TOP]


def _values(divisor: int) -> np.ndarray:
    """The largest, the smallest, both sides of multiples, and others."""
    last = TOP // divisor
    near = [k * divisor + i for k in (1, 2, 3, 1000, last) for i in (-1, 0, 1)]
    some = [v for v in (0, 1, TOP, *near) if 0 <= v <= TOP]
    random = np.random.default_rng(divisor).integers(0, 2**32, 1024 - len(some))
    return np.concatenate([some, random]).astype(np.uint32)


def _quotients(divide: Callable[[Reg, Reg], Reg], x: np.ndarray, d: np.ndarray) -> np.ndarray:
    @kernel(
        in_specs=(Tile(1024, u32),) * 2, out_specs=(Tile(1024, u32),), block=1024, arch="sm_90a"
    )
    def quotients(x: Tensor, d: Tensor, q: Tensor) -> None:
        thread = reg.from_(ptx.special.tid.x(), u32)
        q[thread] = divide(x[thread], d[thread])

    return np.asarray(quotients(x, d))


@pytest.mark.parametrize("divisor", DIVISORS)
def test_by_number(divisor: int) -> None:
    x = _values(divisor)
    found = _quotients(lambda value, _: by_number(value, divisor), x, x)
    np.testing.assert_array_equal(found, x // np.uint32(divisor))


def test_by_register() -> None:
    """Also of values below the divisor, which take no division."""
    x = _values(3)
    d = np.maximum(np.random.default_rng(0).permutation(x) >> 7, 1).astype(np.uint32)
    found = _quotients(if_not_below, x, d)
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

    x = _values(divisor) % np.uint32(2**28)
    x[:2] = 2**28 - 1, (2**28 - 1) // divisor * divisor
    found = _quotients(divide, x, np.full_like(x, divisor))
    np.testing.assert_array_equal(found, x // np.uint32(divisor))


def test_a_divisor_that_has_no_factor() -> None:
    def divide(value: Reg, number: Reg) -> Reg:
        SmallDivisor().set(LARGEST + 1, number > 0)
        return value

    message = r"^a divisor from 1 to 8, not 9\nwhile quotients was traced for sm_90a$"
    with pytest.raises(ValueError, match=message):
        _quotients(divide, _values(9), _values(9))


def test_factors_are_exact() -> None:
    """At the largest values, where a factor that is too large is wrong first."""
    found = {d: factor(d) for d in (*range(1, 3000), *(TOP - i for i in range(100)))}
    assert sum(each is not None for each in found.values()) > 1000
    for divisor, each in found.items():
        if each is None:
            continue
        by, shift = each
        last = TOP // divisor * divisor
        for x in (last, last - 1, TOP, divisor, divisor - 1):
            assert x * by >> 32 + shift == x // divisor


def test_which_numbers_have_a_factor() -> None:
    """Those that the schedules divide by do; 7 wants a number of 33 bits."""
    assert factor(3) == (0xAAAAAAAB, 1)
    assert factor(5) == (0xCCCCCCCD, 2)
    assert factor(12) == (0xAAAAAAAB, 3)
    assert factor(7) is None
    assert factor(128) is None
