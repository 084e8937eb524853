"""`ptx.math`: the errors that the docstrings promise, against float64, and the limits.

The emulator gives an H100's bits for `.approx`, so what holds here holds there. tests/gpu measures
the devices themselves.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from pyptx._ir import Instruction
from pyptx._trace import ptx, reg
from pyptx._trace.core.context import current
from pyptx.types import f32, f64

_path = Path(__file__).with_name("functions.py")
_spec = importlib.util.spec_from_file_location("trace_functions", _path)
functions = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(functions)
EXACT, LEAST, PROMISED, called = (
    functions.EXACT, functions.LEAST, functions.PROMISED, functions.called,
)  # fmt: skip


def names(case):
    return f"{case[0]}-fast" if case[1] else case[0]


def each(function, x, dtype=f32):
    """The function of each value, by a kernel in the emulator."""
    made = functions.program(function, dtype)
    return made.emulate(functions.padded(x), sanitize=True).outputs[0][: x.size]


COUNTS = {
    ("exp", False): 11, ("exp", True): 2, ("exp2", False): 1, ("log", False): 14, ("log", True): 2,
    ("log2", False): 1, ("sqrt", False): 1, ("sqrt", True): 1, ("rsqrt", False): 1,
    ("reciprocal", False): 1, ("reciprocal", True): 1, ("sigmoid", False): 17, ("sigmoid", True): 8,
    ("silu", False): 18, ("silu", True): 9, ("tanh", False): 16, ("tanh", True): 1,
    ("erf", False): 25, ("gelu", False): 19, ("gelu_tanh", False): 11,
}  # fmt: skip


@pytest.mark.parametrize("case", PROMISED, ids=names)
def test_the_error_is_what_the_docstring_says(case):
    x = functions.inputs(1)
    functions.check(x, each(called(*case), x), case, 1)


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
