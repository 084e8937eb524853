"""Cooperative grids on an NVIDIA GPU: CTAs that wait for each other, and grids that do not fit."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

from pyptx import Tile, kernel, ptx, reg  # noqa: E402
from pyptx.types import f32, u32  # noqa: E402

pytestmark = pytest.mark.gpu

_path = Path(__file__).parents[1] / "launch/cooperative.py"
_spec = importlib.util.spec_from_file_location("launch_cooperative", _path)
waiting = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(waiting)


def test_ctas_wait_for_each_other():
    """Also many launches in a row, which XLA may make one graph of."""
    zeros = jnp.zeros(waiting.CTAS, jnp.uint32)

    @jax.jit
    def eight_times(x):
        for _ in range(8):
            x = waiting.rotated(x, zeros)[0]
        return x

    expected = np.roll(waiting.X, -8 * 32) + np.float32(8)
    for _ in range(10):
        np.testing.assert_allclose(eight_times(waiting.X), expected, rtol=1e-5, atol=1e-5)


def test_one_element_at_a_time():
    several = jnp.stack([waiting.X * i for i in range(40)])
    y, _, flags = jax.jit(jax.vmap(waiting.rotated))(several, waiting.zeros(40))
    np.testing.assert_array_equal(y, waiting.expected(np.asarray(several)))
    np.testing.assert_array_equal(flags, np.ones((40, waiting.CTAS)))


@kernel(
    in_specs=(Tile("B", f32),),
    out_specs=(Tile("B", f32),),
    grid=lambda B: (B, 1, 1),
    block=128,
    parallel=("B",),
    cooperative=True,
)
def copy(X, Y):
    """Y = X, a CTA for each element."""
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.ctaid.x(), u32) * 4
    ptx.inst.st.global_.f32(ptx.addr(py + at), ptx.inst.ld.global_.f32(ptx.addr(px + at)))


def test_a_grid_that_the_device_cannot_hold():
    few = jnp.arange(100, dtype=jnp.float32)
    np.testing.assert_array_equal(jax.jit(copy)(few), few)
    # JAX raises the second from its C++ dispatch, once a jitted function has run before.
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError)) as caught:
        jax.block_until_ready(jax.jit(copy)(jnp.zeros(100_000, jnp.float32)))
    assert (
        "kernel copy: cuLaunchKernelEx failed with CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
        in str(caught.value)
    )
    assert "the cooperative grid has 100000 CTAs, and the device holds " in str(caught.value)
    np.testing.assert_array_equal(jax.jit(copy)(few), few)
