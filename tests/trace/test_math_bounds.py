"""`ptx.math` where each `.approx` instruction is as wrong as the PTX manual lets it be.

The traced instructions run in NumPy. Those whose result the manual leaves open are pushed by its
whole bound: up, down, or either way from value to value. What the docstrings promise holds then
too, so it holds on every device.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from pyptx._operands import Immediate
from pyptx._target import Target
from pyptx._trace import reg
from pyptx._trace.core.context import Trace, tracing
from pyptx.types import f32

_path = Path(__file__).with_name("functions.py")
_spec = importlib.util.spec_from_file_location("trace_functions", _path)
functions = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(functions)

NORMAL = functions.NORMAL


def places(count):
    """An error of units in the last place."""
    return lambda _, y: count * np.spacing(np.abs(np.float32(y))).astype(np.float64)


def share(power):
    return lambda _, y: 2.0**power * np.abs(y)


def of_a_logarithm(x, y):
    return np.where((x > 0.5) & (x < 2), 2.0**-22, 2.0**-22 * np.abs(y))


# Source: PTX ISA, "Floating Point Instructions", of each instruction.
APPROXIMATE = {
    "ex2": (np.exp2, places(2)),
    "rcp": (np.reciprocal, places(1)),
    "lg2": (np.log2, of_a_logarithm),
    "sqrt": (np.sqrt, share(-23)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), share(-22.9)),
    "tanh": (np.tanh, share(-11)),
}


def bits(operation):
    def applied(*sources):
        return operation(*(s.view(np.uint32) for s in sources)).view(np.float32)

    return applied


def in_f64(operation):
    """Rounded to f32 once more; `fma` of f32 in f64 is exact enough for what is compared here."""

    def applied(*sources):
        return operation(*(s.astype(np.float64) for s in sources)).astype(np.float32)

    return applied


EXACT = {
    "mul.rn.f32": in_f64(np.multiply),
    "add.rn.f32": in_f64(np.add),
    "fma.rn.f32": in_f64(lambda a, b, c: a * b + c),
    "sqrt.rn.f32": in_f64(np.sqrt),
    "rcp.rn.f32": in_f64(np.reciprocal),
    "max.f32": np.fmax,
    "min.f32": np.fmin,
    "abs.f32": np.abs,
    "copysign.f32": lambda a, b: np.copysign(b, a),
    "or.b32": bits(np.bitwise_or),
    "shl.b32": bits(np.left_shift),
    "setp.lt.f32": np.less,
    "setp.gt.f32": np.greater,
    "setp.ge.f32": np.greater_equal,
    "selp.f32": lambda a, b, p: np.where(p, a, b),
}


def flushed(x):
    return np.where(np.abs(x) < NORMAL, np.copysign(np.float32(0), x), x)


def approximate(spelling, x, way):
    """The value pushed by its bound, rounded so that it stays inside."""
    function, bound = APPROXIMATE[spelling.split(".")[0]]
    source = flushed(x) if ".ftz" in spelling else x
    wide = source.astype(np.float64)
    exact = function(wide)
    nearest = exact.astype(np.float32)
    allowed = bound(wide, exact)
    pushed = (exact + way * allowed).astype(np.float32)
    beyond = np.abs(pushed.astype(np.float64) - exact) > allowed
    pushed = np.where(beyond, np.nextafter(pushed, nearest), pushed)
    found = np.where(np.isfinite(nearest) & (nearest != 0), pushed, nearest)
    return flushed(found) if ".ftz" in spelling else found


def run(function, x, way):
    """What the function appends, of all values at once."""
    trace = Trace(Target.parse("sm_80"))
    with tracing(trace):
        source = reg.scalar(f32)
        result = function(source).register
    held = {source.register: x}
    for instruction in trace.body:
        target, *sources = instruction.operands
        given = [
            np.array(s.bits, np.uint32).view(np.float32) if isinstance(s, Immediate) else held[s]
            for s in sources
        ]
        spelling = instruction.spelling
        held[target] = (
            EXACT[spelling](*given) if spelling in EXACT else approximate(spelling, *given, way)
        )
    return held[result]


@pytest.mark.sampled(16, each="case")
@pytest.mark.parametrize("way", ["up", "down", "either"])
@pytest.mark.parametrize("case", functions.PROMISED, ids=lambda c: c[0] + "-fast" * c[1])
def test_the_promise_holds_on_every_device(case, way):
    x = functions.inputs(6)[::4]
    ways = {
        "up": 1.0,
        "down": -1.0,
        "either": np.random.default_rng(7).choice([-1.0, 1.0], x.size),
    }
    with np.errstate(all="ignore"):
        found = run(functions.called(*case), x, ways[way])
    functions.check(x, found, case, 1)


@pytest.mark.parametrize(
    "case",
    sorted(functions.PROMISED.keys() - functions.ROUNDED),
    ids=lambda c: c[0] + "-fast" * c[1],
)
def test_a_third_of_the_promise_would_not_hold(case):
    """The bounds are near what can happen: none is so loose that it says nothing."""
    x = functions.inputs(6)[::4]
    with np.errstate(all="ignore"):
        found = run(functions.called(*case), x, np.where(np.arange(x.size) % 2, 1.0, -1.0))
    with pytest.raises(AssertionError):
        functions.check(x, found, case, 0.3)
