"""Quantized rows and norms on a GPU: the bits of the formula, and the same in every run."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

from pyptx import ops  # noqa: E402

pytestmark = pytest.mark.gpu
LARGEST = {jnp.float8_e4m3fn: 448.0, jnp.float8_e5m2: 57344.0, jnp.int8: 127.0}
SHAPES = [
    (7, 1), (4096, 128), (9, 129), (600, 1000), (300, 8191), (8, 8192), (700, 16384), (200, 50257),
    (2, 262144), (40, 400000),
]  # fmt: skip


def bits(array):
    return np.ascontiguousarray(np.asarray(array)).view(np.uint8)


def rounded(values, dtype):
    near = np.clip(values, -LARGEST[dtype], LARGEST[dtype])
    return (np.rint(near) if dtype is jnp.int8 else near).astype(dtype)


def rows(shape, dtype=jnp.float32):
    x = np.random.default_rng(shape[-1]).standard_normal(shape)
    x[-1] = 0
    return jnp.asarray(x, dtype)


def per_column(scale, block, columns):
    """A scale for each element."""
    scale = np.asarray(scale)
    return scale if block is None else np.repeat(scale, block, -1)[..., :columns]


@pytest.mark.parametrize("block", [None, 128])
@pytest.mark.parametrize("dtype", LARGEST, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("of", [jnp.bfloat16, jnp.float32], ids=["bf16", "f32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows(shape, of, dtype, block):
    x = rows(shape, of)
    compiled = jax.jit(lambda x: ops.quantize(x, dtype, block=block))
    y, scale = compiled(x)
    wide = np.asarray(x.astype(jnp.float32))
    each = block or shape[-1]
    padded = np.pad(np.abs(wide), ((0, 0), (0, -shape[-1] % each)))
    largest = padded.reshape(shape[0], -1, each).max(-1)
    wanted = np.where(largest == 0, 1, largest / np.float32(LARGEST[dtype]))
    np.testing.assert_array_equal(scale, wanted)
    inverse = np.float32(1) / per_column(scale, block, shape[-1])
    np.testing.assert_array_equal(bits(y), bits(rounded(wide * inverse, dtype)))
    for one, other in zip(compiled(x), (y, scale), strict=True):
        np.testing.assert_array_equal(bits(one), bits(other))


@pytest.mark.parametrize("dtype", LARGEST, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("of", [jnp.bfloat16, jnp.float16], ids=["bf16", "f16"])
def test_every_number_of_16_bits(of, dtype):
    x = jnp.asarray(np.arange(2**16, dtype=np.uint16).view(of).reshape(256, 256))
    y, _ = ops.quantize(x, dtype, scale=1.0)
    with np.errstate(invalid="ignore"):
        wide = np.asarray(x).astype(np.float32)
        nan = np.isnan(wide)
        wanted = rounded(np.where(nan, 0, wide), dtype)
    np.testing.assert_array_equal(bits(y)[~nan], bits(wanted)[~nan])
    assert (bits(y)[nan] == (0 if dtype is jnp.int8 else 0x7F)).all()


@pytest.mark.parametrize("options", [{}, {"block": 128}, {"scale": 0.01}], ids=str)
@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_norms(shape, name, options):
    x = rows(shape)
    parameters = (jnp.linspace(0.5, 1.5, shape[-1]),) * (1 if name == "rms_norm" else 2)
    function = getattr(ops, f"{name}_quantized")
    compiled = jax.jit(lambda x: function(x, *parameters, jnp.int8, **options))
    y, number = compiled(x)
    n = np.asarray(getattr(ops, name)(x, *parameters)).astype(np.float64)
    if "scale" in options:
        np.testing.assert_allclose(number[:, 0], np.abs(n).max(-1), rtol=1e-5, atol=1e-7)
        number = np.float32([[0.01]])
    scale = per_column(number, options.get("block"), shape[-1])
    exact = np.clip(n / scale, -127, 127)
    assert np.abs(np.asarray(y) - exact).max() < 0.5 + 1e-3
    for one, other in zip(compiled(x), (y, compiled(x)[1]), strict=True):
        np.testing.assert_array_equal(bits(one), bits(other))
