"""The examples on the GPU that they are for."""

import importlib.util
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]


def hopper_example(name):
    if jax.devices()[0].compute_capability != "9.0":
        pytest.skip("wgmma is of sm_90a, and this GPU is not")
    path = ROOT / "examples" / "hopper" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"hopper_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def matmul():
    return hopper_example("matmul")


@pytest.fixture(scope="module")
def matmul_steps():
    return hopper_example("matmul_steps")


@pytest.mark.parametrize("m, n, k", [(256, 256, 64), (1000, 768, 1024), (4096, 4096, 4096)])
def test_hopper_matmul(matmul, m, n, k):
    a, b = matmul.random(m, k, 0), matmul.random(n, k, 1)
    result = jax.jit(matmul.build(n, k))(*map(jax.numpy.asarray, (a, b)))
    assert matmul.largest_error(result, a, b) <= 1


def test_hopper_matmul_gives_what_the_emulator_gives(matmul):
    """Every bit, of integers: how a sum that is not exact is rounded is left to the GPU."""
    values = np.random.default_rng(0).integers
    a, b = (values(-8, 9, (rows, 192)).astype(ml_dtypes.bfloat16) for rows in (300, 256))
    built = matmul.build(256, 192)
    result = jax.jit(built)(*map(jax.numpy.asarray, (a, b)))
    np.testing.assert_array_equal(np.asarray(result), built.emulate(a, b).outputs[0])


STEPS = ["naive", "tiled", "tensor_cores", "ring", "two_groups", "tma_stores", "persistent"]


@pytest.mark.parametrize("step", STEPS)
def test_a_step_of_the_fast_product(matmul_steps, step):
    """The persistent grid has 136 tiles of its own, four of them in a second round."""
    m, n, k = 2176, 2048, 1024
    a, b = matmul_steps.random(m, k, 0), matmul_steps.random(n, k, 1)
    built = getattr(matmul_steps, f"build_{step}")(m, n, k)
    result = jax.jit(built)(*map(jax.numpy.asarray, (a, b)))
    assert matmul_steps.largest_error(result, a, b) <= 1
