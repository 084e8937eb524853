"""Initial values of outputs on an NVIDIA GPU: every type, batches, CUDA graphs, empty grids."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

from pyptx import Tile, kernel, ptx, reg  # noqa: E402
from pyptx.types import bf16, f32, f64, u8, u16, u32, u64  # noqa: E402

pytestmark = pytest.mark.gpu

VALUES = [
    (u8, 255), (u16, 258), (u32, 2**32 - 1), (f32, -1.5), (bf16, 0.0078125), (f32, -0.0),
    (u64, 0x0102030405060708), (f64, 1e-300), (u64, 0x100000001), (f64, 0),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "value"), VALUES, ids=str)
@pytest.mark.parametrize("size", [1, 70_001])
def test_every_type_has_its_value(dtype, value, size):
    """More rows of eight bytes than a grid has in y."""

    @kernel(in_specs=(Tile("N", u8),), out_specs=(Tile("N", dtype, init=value),), arch="auto")
    def fills(X, Y):
        pass

    wanted = np.full(size, value, np.dtype(dtype.numpy))
    with jax.enable_x64(True):
        found = jax.jit(fills)(jnp.zeros(size, jnp.uint8))
        assert np.asarray(found).tobytes() == wanted.tobytes()


@kernel(
    in_specs=(Tile("B", 4, f32),), out_specs=(Tile(4, f32, sum_over="B", init=0),),
    grid=lambda B: B, block=4, parallel=("B",), arch="auto",
)  # fmt: skip
def column_sums(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    i = reg.from_(ptx.special.tid.x(), u32)
    row = reg.from_(ptx.special.ctaid.x(), u32)
    at = (row * 4 + ptx.inst.cvt.u64.u32(i)) * 4
    value = ptx.inst.ld.global_.f32(ptx.addr(x + at))
    ptx.inst.red.global_.add.f32(ptx.addr(y + i * 4), value)


X = np.random.default_rng(0).integers(0, 100, (64, 4)).astype(np.float32)


def test_atomics_add_to_it():
    for rows in (64, 1, 0):
        for call in (column_sums, jax.jit(column_sums)):
            assert np.array_equal(call(jnp.asarray(X[:rows])), X[:rows].sum(0)), rows


def test_each_element_of_a_batch_and_each_replay_begins_anew():
    x = jnp.asarray(X.reshape(4, 16, 4))
    assert np.array_equal(jax.vmap(column_sums)(x), np.asarray(x).sum(1))

    @jax.jit
    def often(x):
        return jax.lax.fori_loop(0, 9, lambda _, y: y + column_sums(x), jnp.zeros(4, jnp.float32))

    for _ in range(6):
        assert np.array_equal(often(jnp.asarray(X)), 9 * X.sum(0))
