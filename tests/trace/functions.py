"""Kernels of the functions of ptx.math, what they should give, and the errors they promise."""

import math

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

LEAST, NORMAL, GREATEST = 2.0**-149, 2.0**-126, 2.0**128
ROOT = math.sqrt(2 / math.pi)


def program(function, dtype=f32):
    """A kernel of the function of each value, of a multiple of 256."""
    size, name = dtype.bytes, str(dtype)

    @kernel(
        in_specs=(Tile("N", dtype),),
        out_specs=(Tile("N", dtype),),
        grid=lambda N: (N // 256, 1, 1),
        block=256,
    )
    def each(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        index = ptx.inst.mad.lo.u32(cta, 256, reg.from_(ptx.special.tid.x(), u32)) * size
        value = getattr(ptx.inst.ld.global_, name)(ptx.addr(x + index))
        getattr(ptx.inst.st.global_, name)(ptx.addr(y + index), function(value))

    return each


def padded(x):
    """The values, and zeros up to a multiple of 256."""
    return np.concatenate([x, np.zeros(-x.size % 256, x.dtype)])


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
    ("exp2", False): relative(2.4e-7, 2 * LEAST),
    ("log", False): relative(9e-7),
    ("log", True): near_one(2.4e-7, 4e-7),
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
    ("gelu_tanh", False): tail(8e-7, 5e-7, -9.9, 6e-44, lambda x: np.abs(inner(x))),
}
ROUNDED = {("sqrt", False), ("reciprocal", False)}


def called(name, fast):
    function = getattr(ptx.math, name)
    return (lambda r: function(r, fast=True)) if fast else function


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
