"""Calls of several steps on an NVIDIA GPU: scratch, sums over nothing, early starts, graphs."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

from pyptx import Tile, kernel, ptx, reg, sequence  # noqa: E402
from pyptx.types import f32, u32  # noqa: E402

pytestmark = pytest.mark.gpu

_path = Path(__file__).parents[1] / "launch/kernels.py"
_spec = importlib.util.spec_from_file_location("launch_kernels", _path)
kernels = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kernels)

RANDOM = np.random.default_rng(2)


def array(*shape):
    return jnp.asarray(RANDOM.standard_normal(shape), jnp.float32)


def inputs(*lead, columns=200):
    return array(*lead, columns), array(*lead), array(*lead, columns), array(columns)


def close(found, arrays):
    expected = kernels.gradient(*map(np.asarray, arrays))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("lead", [(), (1,), (300,), (2, 3), (0,)], ids=str)
def test_a_sequence(lead):
    arrays = inputs(*lead)
    close(kernels.backward(*arrays), arrays)
    close(jax.jit(kernels.backward)(*arrays), arrays)


@pytest.mark.parametrize("mapped", [(0, 0, 0, 0), (0, 0, 0, None), (None, None, None, 0)], ids=str)
def test_a_mapped_sequence(mapped):
    one = inputs(6)
    whole = [
        jnp.stack([a, a * 2, a - 1]) if m == 0 else a for a, m in zip(one, mapped, strict=True)
    ]
    found = jax.jit(jax.vmap(kernels.backward, mapped))(*whole)
    for i in range(3):
        arrays = [a[i] if m == 0 else a for a, m in zip(whole, mapped, strict=True)]
        close([result[i] for result in found], arrays)


def test_a_sum_over_nothing_is_zeros():
    """Also in a graph, where the memory was used before."""

    @jax.jit
    def many(x):
        found = [kernels.total(x + i) for i in range(8)]
        return jnp.stack(found)

    np.testing.assert_array_equal(many(jnp.zeros((0, 40))), np.zeros((8, 40)))
    np.testing.assert_array_equal(kernels.total(jnp.zeros((0, 40))), np.zeros(40))
    x = array(5, 40)
    np.testing.assert_allclose(many(x)[3], (np.asarray(x) + 3).sum(0), rtol=1e-4, atol=1e-4)


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N: (N // 128, 1, 1),
    block=128,
    programmatic_stream_serialization=True,
)
def increment(X, Y):
    """Y = X + 1; it may start before the kernel ahead of it has ended, and lets the next."""
    ptx.inst.griddepcontrol.launch_dependents()
    px, py = ptx.global_ptrs(X, Y)
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    at = cta * 512 + reg.from_(ptx.special.tid.x(), u32) * 4
    ptx.inst.griddepcontrol.wait()
    ptx.inst.st.global_.f32(ptx.addr(py + at), ptx.inst.ld.global_.f32(ptx.addr(px + at)) + 1.0)


@sequence(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
def add_eight(x):
    for _ in range(8):
        x = increment(x)
    return x


def test_kernels_that_start_early_wait():
    x = jnp.zeros(1 << 20, jnp.float32)
    chain = jax.jit(lambda x: add_eight(add_eight(add_eight(x)) * 2))
    for _ in range(20):
        np.testing.assert_array_equal(chain(x), np.full(1 << 20, 40))


@kernel(
    in_specs=(Tile("N", u32),),
    out_specs=(Tile("N", u32),),
    grid=lambda N: (N, 1, 1),
    cluster=(16, 1, 1),
    block=32,
)
def rank(X, Y):
    """Each CTA's rank in its cluster of 16, which only some devices allow."""
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.ctaid.x(), u32) * 4
    x = ptx.inst.ld.global_.u32(ptx.addr(px + at))
    ptx.inst.st.global_.u32(ptx.addr(py + at), x + reg.from_(ptx.special.cluster_ctarank(), u32))


def test_clusters_beyond_the_portable_size():
    found = jax.jit(rank)(jnp.zeros(64, jnp.uint32))
    np.testing.assert_array_equal(found, np.tile(np.arange(16), 4))
