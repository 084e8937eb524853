"""Bodies of `ptx.range_` that write its counter or its bound: a warning at their line."""

import warnings

import pytest

from pyptx import LanguageWarning, Tile, kernel, ptx, reg
from pyptx.types import f32, u32


def _counted(body):
    """A kernel that gives how many rounds `body(rounds)` has."""

    @kernel(out_specs=(Tile(1, f32),), block=1)
    def k(Y):
        rounds = reg.scalar(f32, init=0.0)
        body(rounds)
        Y[0] = rounds

    return k


def writes_the_counter(rounds):
    for i in ptx.range_(10):
        i += 1  # noqa: PLW2901 -- the register is written
        rounds += 1.0


def writes_the_bound(rounds):
    n = reg.scalar(u32, init=4)
    for i in ptx.range_(n):
        n -= 1
        rounds += 1.0


def sets_the_bound_in_a_block(rounds):
    n = reg.scalar(u32, init=4)
    for i in ptx.range_(n):
        with ptx.if_(i == 2):
            n.set(0)
        rounds += 1.0


COUNTER = """\
this writes the counter of a ptx.range_ loop, from which the next round counts on
  help: reg.from_(i, s32) is a copy, another register
  help: with ptx.while_(lambda: i < n): ...   counts as its body says"""
BOUND = """\
this writes the bound of a ptx.range_ loop, which every round reads again
  help: ptx.range_(reg.from_(n, u32)) has a bound of its own
  help: ptx.break_(pred=p) leaves the loop early"""


@pytest.mark.parametrize(
    ("body", "message", "line", "rounds"),
    [
        (writes_the_counter, COUNTER, 2, 5),
        (writes_the_bound, BOUND, 3, 2),
        (sets_the_bound_in_a_block, BOUND, 4, 3),
    ],
)
def test_the_whole_warning(body, message, line, rounds):
    with pytest.warns(LanguageWarning) as caught:
        found = _counted(body)()[0]
    (warning,) = caught
    assert str(warning.message) == message
    first = body.__code__.co_firstlineno
    assert (warning.filename, warning.lineno) == (__file__, first + line)
    assert found == rounds


def copies(rounds):
    n = reg.scalar(u32, init=4)
    for i in ptx.range_(reg.from_(n, u32)):
        j = reg.from_(i, u32)
        n -= 1
        j += 1
        rounds += 1.0


def writes_the_first_bound(rounds):
    first = reg.scalar(u32, init=0)
    for i in ptx.range_(first, 4):
        first += 1
        rounds += 1.0


def writes_after_the_loop(rounds):
    n = reg.scalar(u32, init=4)
    for i in ptx.range_(n):
        rounds += 1.0
    n -= 1


def nests(rounds):
    n = reg.scalar(u32, init=1)
    for i in ptx.range_(4):
        n.set(1)
        for j in ptx.range_(n):
            rounds += 1.0


def sums_of_the_counter(rounds):
    for i in ptx.range_(4):
        j = i + 1
        j -= 1
        rounds += 1.0


@pytest.mark.parametrize(
    "body", [copies, writes_the_first_bound, writes_after_the_loop, nests, sums_of_the_counter]
)
def test_bodies_that_write_other_registers(body):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _counted(body)()[0] == 4
