"""Comparisons of unsigned numbers with zero, which decide nothing: a warning at their line."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from pyptx import LanguageWarning, Reg, kernel, ptx, reg
from pyptx.types import b32, f32, s32, u16, u32, u64


def traced(body: Callable[[], object]) -> None:
    @kernel(block=32)
    def k():
        body()

    k.ptx()


def counts_down() -> None:
    i = reg.scalar(u32, init=4)
    with ptx.while_(lambda: i >= 0):
        i -= 1


def below_zero() -> None:
    i = reg.scalar(u64, init=4)
    with ptx.if_(i - 8 < 0):
        ptx.ret()


def zero_on_the_left() -> None:
    i = reg.scalar(u16, init=4)
    with ptx.if_(0 > i):
        ptx.ret()


def zero_is_at_most() -> None:
    i = reg.scalar(b32, init=4)
    with ptx.if_(0 <= i):
        ptx.ret()


CASES: dict[Callable[[], None], str] = {
    counts_down: """`r >= 0` always holds: .u32 has no negative numbers
  help: reg.from_(r, s32) has the same bits as a signed number""",
    below_zero: """`r < 0` never holds: .u64 has no negative numbers
  help: reg.from_(r, s64) has the same bits as a signed number""",
    zero_on_the_left: """`r < 0` never holds: .u16 has no negative numbers
  help: reg.from_(r, s16) has the same bits as a signed number""",
    zero_is_at_most: """`r >= 0` always holds: .b32 has no negative numbers
  help: reg.from_(r, s32) has the same bits as a signed number""",
}


@pytest.mark.parametrize("body", CASES, ids=lambda body: body.__name__)
def test_the_whole_warning(body: Callable[[], None]) -> None:
    with pytest.warns(LanguageWarning) as caught:
        traced(body)
    assert {str(each.message) for each in caught} == {CASES[body]}
    (line,) = {each.lineno for each in caught}
    first = body.__code__.co_firstlineno
    assert (caught[0].filename, line) == (__file__, first + 2)


def unrolled() -> None:
    i = reg.from_(ptx.special.tid.x(), u32)
    for start in (0, 8, 16):
        with ptx.if_(i >= start):
            ptx.inst.mov.u32(i)


def signed() -> None:
    i = reg.scalar(s32, init=4)
    with ptx.while_(lambda: i >= 0):
        i -= 1


def of_floats() -> None:
    x = reg.scalar(f32, init=4.0)
    with ptx.if_(x < 0):
        ptx.ret()


def that_decide() -> None:
    i = reg.scalar(u32, init=4)
    for p in (i > 0, i == 0, i <= 0, 0 < i, 0 >= i, i >= 0x10, i < 0b11):
        assert isinstance(p, Reg)


@pytest.mark.parametrize(
    "body", [unrolled, signed, of_floats, that_decide], ids=lambda body: body.__name__
)
def test_others_do_not_warn(body: Callable[[], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced(body)
