"""Dropout on a GPU: in every way that rows move, the mask that JAX's formulas give."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

from pyptx import ops  # noqa: E402
from pyptx.ops import _dropout_jax  # noqa: E402

pytestmark = pytest.mark.gpu
RATE = 0.3
KEY = jax.random.key(11)
# Part of a warp, a CTA, rows by a ring, a cluster, a grid and chunks that are read twice; odd ones.
SHAPES = [
    (4096, 128), (9, 129), (600, 1000), (16384, 2304), (300, 8191), (8, 8192),
    (200, 50257), (64, 131072), (2, 262144), (40, 400000),
]  # fmt: skip
NORMS = {
    "add_rms_norm": lambda x, r, **options: ops.add_rms_norm(
        x, r, jnp.ones(x.shape[-1], x.dtype), **options
    ),
    "add_layer_norm": ops.add_layer_norm,
}
ROUNDED = {"bfloat16": 2**-8, "float32": 2**-23}


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32], ids=["bf16", "f32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_the_mask_is_that_of_both_passes(name, shape, dtype):
    random = np.random.default_rng(sum(shape))
    x, r = (jnp.asarray(1 + random.random(shape, np.float32), dtype) for _ in range(2))

    def total(x, r):
        y, s = NORMS[name](x, r, dropout_rate=RATE, dropout_key=KEY)
        return s.astype(jnp.float32).sum(), (y, s)

    compiled = jax.jit(jax.grad(total, argnums=(0, 1), has_aux=True))
    (dx, dr), (y, s) = compiled(x, r)
    seeds = _dropout_jax.seeds(KEY, x, 1)
    keeps = np.asarray(_dropout_jax.kept(RATE, seeds, shape[1:]))
    wide_x, wide_r = (np.asarray(each).astype(np.float64) for each in (x, r))
    bound = ROUNDED[np.dtype(dtype).name]
    expected = wide_r + np.where(keeps, wide_x / (1 - RATE), 0)
    np.testing.assert_allclose(np.asarray(s).astype(np.float64), expected, rtol=2 * bound)
    np.testing.assert_array_equal(np.asarray(dx) != 0, keeps)
    gradient = np.asarray(dx).astype(np.float64)[keeps]
    np.testing.assert_allclose(gradient, 1 / (1 - RATE), rtol=2 * bound)
    np.testing.assert_array_equal(np.asarray(dr).astype(np.float64), 1)
    plain = NORMS[name](s, jnp.zeros_like(s))[0]
    np.testing.assert_array_equal(y, plain)
    for one, other in zip(compiled(x, r)[0], (dx, dr), strict=True):
        np.testing.assert_array_equal(one, other)
