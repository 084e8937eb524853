"""`ptx.math`: the errors that the docstrings promise, against float64, and the limits.

The emulator rounds `.approx` correctly, which is inside every bound of the manual, so what is
measured here leaves out what a device's instructions may add. `SHARE` is the part of the promise
that is left for the arithmetic; tests/gpu holds devices to the whole.
"""

import math

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.ir import Instruction
from pyptx.trace.context import current
from pyptx.types import f32, f64, u32

LEAST, NORMAL, GREATEST = 2.0**-149, 2.0**-126, 2.0**128
SHARE = 0.6
ROOT = math.sqrt(2 / math.pi)


def each(function, x, dtype=f32):
    """The function of each value, by a kernel in the emulator."""
    padded = np.zeros(-(-x.size // 256) * 256, x.dtype)
    padded[: x.size] = x
    size, name = x.dtype.itemsize, str(dtype)

    @kernel(
        in_specs=(Tile("N", dtype),),
        out_specs=(Tile("N", dtype),),
        grid=lambda N: (N // 256, 1, 1),
        block=256,
        arch="sm_80",
    )
    def program(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        index = ptx.inst.mad.lo.u32(cta, 256, reg.from_(ptx.special.tid.x(), u32)) * size
        value = getattr(ptx.inst.ld.global_, name)(ptx.addr(x + index))
        getattr(ptx.inst.st.global_, name)(ptx.addr(y + index), function(value))

    return program.emulate(padded, sanitize=True).outputs[0][: x.size]


def inputs(seed):
    """Values of every exponent and sign, and many where the functions bend."""
    random = np.random.default_rng(seed)
    whole = np.arange(0, 2**32, 20011, dtype=np.uint64) + random.integers(20011)
    dense = [
        random.uniform(-110, 100, 150_000),
        random.standard_normal(100_000),
        random.uniform(0.4, 2.1, 50_000),
        np.array([0.6, -0.6, 0.75, 1.25, 1.0, -1.0, 88.72, 88.73, -87.3, -103.9, -104.1]),
    ]
    return np.concatenate([whole.astype(np.uint32).view(np.float32), np.float32(np.hstack(dense))])


def vectorized(function):
    return lambda x: np.frompyfunc(function, 1, 1)(x).astype(np.float64)


def gated(x, weight):
    """x * weight, and its limit where x is -inf."""
    return np.where(np.isneginf(x), 0.0, x * weight)


def sigmoid(x):
    power = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + power), power / (1 + power))


def inner(x):
    return ROOT * (x + 0.044715 * x**3)


erfc = vectorized(math.erfc)
EXACT = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "sigmoid": sigmoid,
    "silu": lambda x: gated(x, sigmoid(x)),
    "tanh": np.tanh,
    "erf": vectorized(math.erf),
    "gelu": lambda x: gated(x, erfc(-x / math.sqrt(2)) / 2),
    "gelu_tanh": lambda x: gated(x, sigmoid(2 * inner(x))),
}


# Bounds are functions of x, of the exact value and of the part that instructions' errors may take.


def relative(bound, most=LEAST):
    return lambda _, y, part: part * bound * np.abs(y) + most


def tail(bound, slope, below, most, argument=np.abs):
    """A bound that grows below 0, and an error on top of it below some x."""
    return lambda x, y, part: (
        (part * bound + np.where(x < 0, slope * argument(x), 0)) * np.abs(y)
        + np.where(x < below, most, LEAST)
    )


def growing(bound, slope, flushed=NORMAL):
    return lambda x, y, part: (part * bound + slope * np.abs(x)) * np.abs(y) + flushed


def near_one(absolute, bound):
    return lambda x, y, part: part * np.where((x > 0.5) & (x < 2), absolute, bound * np.abs(y))


# What the docstrings say: the function, fast or not, and the error at x.
PROMISED = {
    ("exp", False): relative(4e-7),
    ("exp", True): growing(3e-7, 8e-8),
    ("exp2", False): relative(2.4e-7),
    ("log", False): relative(9e-7),
    ("log", True): near_one(2.1e-7, 4e-7),
    ("log2", False): near_one(2.4e-7, 2.4e-7),
    ("sqrt", False): relative(2.0**-24, 0.0),
    ("sqrt", True): relative(1.2e-7),
    ("rsqrt", False): relative(1.3e-7),
    ("reciprocal", False): relative(2.0**-24, LEAST / 2),
    ("reciprocal", True): relative(1.2e-7),
    ("sigmoid", False): relative(7e-7),
    ("sigmoid", True): growing(8e-7, 8e-8),
    ("silu", False): tail(7e-7, 0, -87.3, 1e-43),
    ("silu", True): growing(8e-7, 8e-8, 1.1e-36),
    ("tanh", False): relative(6e-7),
    ("tanh", True): relative(4.9e-4),
    ("erf", False): relative(7e-7),
    ("gelu", False): tail(8e-7, 1e-7, -12.9, 2e-44, np.square),
    ("gelu_tanh", False): tail(8e-7, 5e-7, -9.9, 2e-44, lambda x: np.abs(inner(x))),
}
ROUNDED = {("sqrt", False), ("reciprocal", False)}
COUNTS = {
    ("exp", False): 11, ("exp", True): 2, ("exp2", False): 1, ("log", False): 14, ("log", True): 2,
    ("log2", False): 1, ("sqrt", False): 1, ("sqrt", True): 1, ("rsqrt", False): 1,
    ("reciprocal", False): 1, ("reciprocal", True): 1, ("sigmoid", False): 17, ("sigmoid", True): 8,
    ("silu", False): 18, ("silu", True): 9, ("tanh", False): 16, ("tanh", True): 1,
    ("erf", False): 25, ("gelu", False): 19, ("gelu_tanh", False): 11,
}  # fmt: skip


def called(name, fast):
    function = getattr(ptx.math, name)
    return (lambda r: function(r, fast=True)) if fast else function


def names(case):
    return f"{case[0]}-fast" if case[1] else case[0]


@pytest.mark.parametrize("case", PROMISED, ids=names)
def test_the_error_is_what_the_docstring_says(case):
    x = inputs(1)
    part = 1 if case in ROUNDED else SHARE
    check(x, each(called(*case), x), case, part)


def check(x, found, case, part):
    """Raises AssertionError with the first values whose error is larger than promised.

    An infinity counts as the number after the greatest one, on both sides.
    """
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        exact = np.clip(EXACT[case[0]](wide), -GREATEST, GREATEST)
        found = np.clip(found.astype(np.float64), -GREATEST, GREATEST)
        allowed = PROMISED[case](wide, exact, part)
        # Rounding to nearest even takes a half of the last place, whatever else is exact.
        allowed = np.maximum(allowed, np.abs(exact) * 2.0**-24 + LEAST / 2)
        fits = np.where(np.isnan(exact), np.isnan(found), np.abs(found - exact) <= allowed)
    at = np.flatnonzero(~fits)[:5]
    assert not at.size, [(x[i], found[i], exact[i]) for i in at]


LIMITS = {
    "exp": (1, np.inf, 0, 1), "exp2": (1, np.inf, 0, 1), "log": (-np.inf, np.inf, np.nan, -np.inf),
    "log2": (-np.inf, np.inf, np.nan, -np.inf), "sqrt": (0, np.inf, np.nan, -0.0),
    "rsqrt": (np.inf, 0, np.nan, -np.inf), "reciprocal": (np.inf, 0, -0.0, -np.inf),
    "sigmoid": (0.5, 1, 0, 0.5), "silu": (0, np.inf, 0, 0), "tanh": (0, 1, -1, -0.0),
    "erf": (0, 1, -1, -0.0), "gelu": (0, np.inf, 0, 0), "gelu_tanh": (0, np.inf, 0, 0),
}  # fmt: skip
SIGNED = ("sqrt", "tanh", "erf", "reciprocal", "rsqrt")


@pytest.mark.parametrize("case", PROMISED, ids=names)
def test_limits(case):
    """At 0, inf, -inf, -0 and NaN; zeros have their sign where the function is odd."""
    x = np.array([0, np.inf, -np.inf, -0.0, np.nan], np.float32)
    found = each(called(*case), x)
    expected = np.array([*LIMITS[case[0]], np.nan], np.float32)
    np.testing.assert_array_equal(found, expected)
    if case[0] in SIGNED:
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "sqrt", "tanh", "erf", "sigmoid", "gelu"])
def test_denormal_inputs_and_results(name):
    """Denormals are numbers: 2^-140 has a logarithm and a root, and tanh gives it back."""
    x = np.array([2.0**-140, 3 * 2.0**-149, 2.0**-127], np.float32)
    exact = EXACT[name](x.astype(np.float64))
    np.testing.assert_allclose(each(getattr(ptx.math, name), x), exact, rtol=4e-7, atol=LEAST)
    if name.startswith("exp"):
        low = np.float32([-139.5, -148.0, -126.5]) * (1 if name == "exp2" else np.log(2))
        low = low.astype(np.float32)
        found, exact = each(getattr(ptx.math, name), low), EXACT[name](low.astype(np.float64))
        assert (found > 0).all()
        np.testing.assert_allclose(found, exact, rtol=4e-7, atol=LEAST)


@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "reciprocal"])
def test_functions_of_f64(name):
    x = 10.0 ** np.random.default_rng(2).uniform(-300, 300, 4096)
    found = each(getattr(ptx.math, name), x, f64)
    np.testing.assert_allclose(found, EXACT[name](x), rtol=2.3e-16)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a", "sm_120"])
@pytest.mark.parametrize("case", COUNTS, ids=names)
def test_as_many_instructions_as_it_says(traced, case, target):
    def body():
        x = reg.scalar(f32, init=0.5)
        trace = current("a test")
        before = len(trace.body)
        result = called(*case)(x)
        assert result.dtype is f32
        assert result.register is not x.register
        added = trace.body[before:]
        assert all(isinstance(s, Instruction) for s in added)
        return len(added)

    found = traced(body, target)
    assert found.result == COUNTS[case]
    found.assemble(target)
