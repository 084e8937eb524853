"""Reductions, scans, functions and conversions on an NVIDIA GPU."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from pyptx import ptx, reg
from pyptx.types import f32, s32

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

pytestmark = pytest.mark.gpu


def loaded(name):
    path = Path(__file__).parents[1] / f"trace/{name}.py"
    spec = importlib.util.spec_from_file_location(f"trace_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


programs, functions = loaded("collectives"), loaded("functions")
BLOCKS = ((7, 1, 1), (31, 1, 1), (33, 1, 1), (96, 1, 1), (5, 7, 3), (256, 1, 1), (1000, 1, 1),
          (16, 16, 4))  # fmt: skip


def run(program, values):
    unsigned = values.view(f"u{values.itemsize}")
    return np.asarray(program(jax.device_put(unsigned))).view(values.dtype)


@pytest.fixture
def wide():
    """64-bit types, which JAX has on request."""
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("dtype", programs.NUMPY)
@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: "x".join(map(str, b)))
@pytest.mark.usefixtures("wide")
def test_every_call_gives_what_the_emulator_gives(block, dtype):
    """Sums of random floats too: the order of the additions is the same."""
    x = programs.whole(1, dtype, 4 * math.prod(block))
    if x.dtype.kind == "f":
        x *= np.random.default_rng(2).random(x.shape).astype(x.dtype)

    def body(r, _):
        total = ptx.cta.inclusive_scan(r)
        for _ in ptx.range_(3):
            value = ptx.cta.exclusive_scan(r, "max", identity=-4 if dtype[0] != "u" else 0)
            ptx.cta.reduce_min(value)
            total += ptx.cta.broadcast(value, math.prod(block) - 1)
            total += ptx.cta.reduce_sum(reg.from_(r, r.dtype))
        return total

    program = programs.program(body, dtype, block, x.size)
    wanted, _ = programs.each_thread(body, dtype, block, x)
    np.testing.assert_array_equal(run(program, x), wanted)


@pytest.mark.parametrize("block", [(24, 1, 1), (96, 1, 1), (500, 2, 1)])
@pytest.mark.parametrize("ctas", [2, 8])
def test_clusters_in_a_loop(block, ctas):
    x = programs.whole(3, "f32", 16 * ctas * math.prod(block))

    def body(r, _):
        total = reg.scalar(f32, init=0.0)
        for _ in ptx.range_(20):
            total += ptx.cluster.reduce_sum(reg.from_(r, f32))
            total += ptx.cta.reduce_max(reg.from_(r, f32))
        return total

    program = programs.program(body, "f32", block, x.size, cluster=ctas)
    wanted, _ = programs.each_thread(body, "f32", block, x, cluster=ctas)
    np.testing.assert_array_equal(run(program, x), wanted)


def test_one_instruction_reduces_integers():
    x = programs.whole(4, "s32", 128)

    def body(r, _):
        return ptx.warp.reduce_sum(reg.from_(r, s32), redux=True)

    found = run(programs.program(body, "s32", (64, 1, 1), x.size), x)
    sums = x.reshape(-1, 32).sum(1)
    np.testing.assert_array_equal(found, np.repeat(sums, 32))


@pytest.mark.parametrize("case", functions.PROMISED, ids=str)
def test_functions_keep_their_promise(case):
    x = functions.padded(functions.inputs(5))
    found = np.asarray(functions.program(functions.called(*case))(jax.device_put(x)))
    functions.check(x, found, case, 1)
