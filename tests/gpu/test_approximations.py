"""Approximate functions of this GPU against the emulator: equal bits.

All binades of both signs, 4,096 consecutive arguments of each. `make bench ARGS="--only
approximations"` has all arguments.
"""

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SIZE = 4096
PLACES = 512
"""Starts of a function's arguments: of f32 one in each binade of each sign."""

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def approximations():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module("approximations")
    finally:
        sys.path.remove(str(BENCHMARKS))


def functions():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        return importlib.import_module("approximations").FUNCTIONS


@pytest.mark.parametrize("spelling", functions())
def test_all_bits_are_the_emulators(approximations, spelling):
    inputs = approximations.inputs_of(spelling)
    size = min(SIZE, inputs)
    step = max(inputs // PLACES, size)
    different = {}
    for first in range(0, inputs, step):
        # Away from the binade's start, and in another place of each.
        begin = min(first + first // step * 7919 * 512 % max(step - size, 1), inputs - size)
        found = approximations.difference(spelling, begin, size)
        if found.count:
            different[hex(found.at)] = found.count
    assert different == {}
