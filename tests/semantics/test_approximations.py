"""The `.approx` functions on recorded arguments of an H100, by the emulator and by the model."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from . import model
from .cases import CASES
from .straightline import evaluate

RECORDED = Path(__file__).parents[1] / "conformance" / "h100_approximations.npz"
"""Of each function an array of arguments and one of results, as bits: 195 of each binade that
tools/record_approximations.py recorded (tools/fit_approximations.py --sample)."""
SPELLINGS = (
    "ex2.approx.ftz.f32", "lg2.approx.ftz.f32", "rcp.approx.ftz.f32", "rsqrt.approx.ftz.f32",
    "sqrt.approx.ftz.f32", "sin.approx.ftz.f32", "cos.approx.ftz.f32", "tanh.approx.f32",
)  # fmt: skip
MODELLED = 64
"""The model takes its time: so many arguments."""


@pytest.fixture(scope="module")
def recorded() -> dict[str, np.ndarray]:
    with np.load(RECORDED) as kept:
        return dict(kept)


def test_every_recorded_function_is_tried(recorded: dict[str, np.ndarray]) -> None:
    assert sorted(recorded) == sorted(SPELLINGS)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_all_bits_are_those_of_the_h100(
    spelling: str, recorded: dict[str, np.ndarray], library: ctypes.CDLL, others: list[ctypes.CDLL]
) -> None:
    arguments, results = recorded[spelling].tolist()
    (case,) = (c for c in CASES if c.spelling == spelling)
    rows = [(each,) for each in arguments]
    for build in (library, *others):
        got = [each for (each,) in evaluate(build, case, rows)]
        wrong = [hex(a) for a, g, r in zip(arguments, got, results, strict=True) if g != r]
        assert wrong == []


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_model_gives_the_same_bits(spelling: str, recorded: dict[str, np.ndarray]) -> None:
    arguments, results = recorded[spelling][:, :: recorded[spelling].shape[1] // MODELLED].tolist()
    assert len(arguments) >= MODELLED
    assert [model.evaluate(spelling, (each,))[0] for each in arguments] == results


@pytest.mark.parametrize(
    ("spelling", "argument", "result"),
    [
        # The digits of a negative argument are complemented: no 2**-23 is added but to an integer.
        ("ex2.approx.ftz.f32", -1.0, 0.5),
        ("ex2.approx.ftz.f32", -0.5, float.fromhex("0x1.6a09e4p-1")),
        ("ex2.approx.ftz.f32", -(2.0**-24), 1.0),
        ("ex2.approx.ftz.f32", -126.5, 0.0),
        # Without .ftz the square of 2**(x/2).
        ("ex2.approx.f32", -149.0, 2.0**-149),
        ("lg2.approx.ftz.f32", 1.0, 0.0),
        ("lg2.approx.ftz.f32", 0.5, float.fromhex("-0x1.fffffcp-1")),
        ("lg2.approx.ftz.f32", 2.0, 1.0),
        ("lg2.approx.ftz.f32", 2.0**-149, -np.inf),
        ("lg2.approx.f32", 2.0**-149, -149.0),
        ("rsqrt.approx.ftz.f32", 0.25, 2.0),
        ("rsqrt.approx.ftz.f32", 0.5, float.fromhex("0x1.6a09e4p+0")),
        ("rcp.approx.ftz.f32", 2.0**127, 0.0),
        ("rcp.approx.f32", 2.0**127, 2.0**-127),
        ("sqrt.approx.f32", 2.0**-148, 2.0**-74),
        ("cos.approx.f32", 0.0, 1.0),
        ("sin.approx.f32", -0.0, -0.0),
        ("tanh.approx.f32", -(2.0**-9), -(2.0**-9)),
        ("tanh.approx.f32", 8.0, 1.0),
    ],
)
def test_the_ends_of_the_tables(
    spelling: str, argument: float, result: float, library: ctypes.CDLL
) -> None:
    (case,) = (c for c in CASES if c.spelling == spelling)
    bits = int(np.float32(argument).view(np.uint32))
    ((got,),) = evaluate(library, case, [(bits,)])
    assert float(np.uint32(got).view(np.float32)).hex() == result.hex()
