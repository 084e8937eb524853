"""Tracing takes time in proportion to the number of instructions, and 100,000 take seconds."""

import gc
import json
import subprocess
import sys
import time

from pyptx import Tile, kernel, ptx
from pyptx._ir import Instruction
from pyptx._operands import Register
from pyptx._source import SourceLocation
from pyptx.types import b32, f32

SMALL, LARGE = 2_500, 20_000
# What the three objects of an instruction take is the measure of the machine and of its Python: 1.0
# to 1.7 microseconds. A trace takes 11 to 14 times that, so 1.4 to 1.8 seconds for 100,000
# instructions.
TIMES_WHAT_IT_MAKES = 20


def traced(size):
    """A kernel of so many instructions, half of them written as instructions and half as sums."""

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), grid=(1, 1, 1), block=(32, 1, 1))
    def chain(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        first = ptx.inst.ld.global_.f32(ptx.addr(x))
        values = [first] * 4
        for i in range(size // 2):
            values[i % 4] = ptx.inst.fma.rn.f32(values[i % 4], values[(i + 1) % 4], first)
            values[(i + 2) % 4] = values[(i + 2) % 4] + values[i % 4]
        ptx.inst.st.global_.f32(ptx.addr(y), values[0])

    module = chain.module()
    assert size < len(module.kernels[0].body) < size + 20


def make(size):
    for i in range(size):
        Register(i, b32)
        SourceLocation("", i)
        Instruction(None, (), (), None)


def spent(function, size):
    """Seconds of processor time for each instruction."""
    gc.collect()
    start = time.process_time()
    function(size)
    return (time.process_time() - start) / size


def measured():
    """How a trace grows with its size, and how many times what it makes it takes, of each round."""
    traced(100)
    growth, times = [], []
    for _ in range(3):
        small, large, made = spent(traced, SMALL), spent(traced, LARGE), spent(make, LARGE)
        growth.append(large / small)
        times.append(large / made)
    return growth, times


def test_tracing_is_linear_and_quick():
    """The best of some rounds, of which each is short enough for one speed of the machine.

    In a process of its own: what the tests before have frozen is counted in a large trace.
    """
    told = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    growth, times = json.loads(told.stdout)
    assert min(growth) < 2, f"an instruction of {LARGE} takes {growth} times as long as of {SMALL}"
    assert min(times) < TIMES_WHAT_IT_MAKES, f"a trace takes {times} times as long as its objects"


if __name__ == "__main__":
    print(json.dumps(measured()))
