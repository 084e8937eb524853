"""RMS normalization on an NVIDIA GPU: every family of kernels at real sizes, against float64."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

from pyptx.ops import rms_norm, rms_norm_bwd, rms_norm_fwd  # noqa: E402

pytestmark = pytest.mark.gpu

_path = Path(__file__).parents[1] / "ops/exact.py"
_spec = importlib.util.spec_from_file_location("rms_norm_exact", _path)
exact = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = exact  # where dataclasses look for it
_spec.loader.exec_module(exact)

BF16, F16, F32, F64 = exact.DTYPES
# Rows of a part of a warp, of a CTA, of a cluster, of the whole grid, and of chunks; a few rows.
SIZES = [
    (4000, 100),
    (3000, 129),
    (1000, 4096),
    (500, 8191),
    (64, 65537),
    (4, 2**20),
    (3, 2**20 + 1),
    (8, 4096),
    (5, 2**17),
    (1, 2**20 + 1),
]
TWICE = [(4096, 64), (2048, 4096), (300, 8191), (40, 131072), (4, 2**20)]


@pytest.fixture(autouse=True)
def wide_types():
    with jax.enable_x64(True):
        yield


def on_device(given):
    return [jnp.asarray(a) for a in (given.x, given.weight, given.g)]


def check(given):
    x, w, g = on_device(given)
    y, r = rms_norm_fwd(x, w, exact.EPS)
    exact.check_forward(given, np.asarray(y), np.asarray(r))
    np.testing.assert_array_equal(np.asarray(rms_norm(x, w)), np.asarray(y))
    dx, dw = rms_norm_bwd(g, r, x, w)
    exact.check_backward(given, np.asarray(r), np.asarray(dx), np.asarray(dw))


@pytest.mark.parametrize("types", exact.PAIRS, ids=exact.NAMES)
@pytest.mark.parametrize("n", [7, 1000, 4097])
def test_types(n, types):
    check(exact.problem((37,), (n,), types))


@pytest.mark.parametrize("types", [(F32, F32), (BF16, BF16), (F64, F64)], ids=str)
@pytest.mark.parametrize(("rows", "n"), SIZES)
def test_sizes(rows, n, types):
    check(exact.problem((rows,), (n,), types))


@pytest.mark.parametrize("n", [1, 2, 3, 31, 33, 127, 255, 257, 1025, 32768, 65536])
@pytest.mark.parametrize("rows", [0, 1, 131])
def test_lengths_and_numbers_of_rows(rows, n):
    check(exact.problem((rows,), (n,), (F32, BF16)))


@pytest.mark.parametrize("types", [(F32, F32), (BF16, BF16)], ids=str)
@pytest.mark.parametrize("n", [576, 2304, 2305, 9216, 18432])
@pytest.mark.parametrize("rows", [12, 60, 300])
def test_lengths_between_powers_of_two(rows, n, types):
    """By eight CTAs a row, by four, and by one; teams and strips of other numbers of threads."""
    check(exact.problem((rows,), (n,), types))


def test_sums_over_a_million_rows():
    check(exact.problem((2**20,), (8,), (F32, F32)))


@pytest.mark.parametrize("rows_and_n", TWICE, ids=str)
@pytest.mark.parametrize("dtype", [F32, BF16], ids=str)
def test_same_bits_every_time(rows_and_n, dtype):
    """Eager and compiled, and while other work runs between."""
    rows, n = rows_and_n
    x, w, g = on_device(exact.problem((rows,), (n,), (dtype, dtype)))

    def both(x, w, g):
        y, r = rms_norm_fwd(x, w)
        return y, *rms_norm_bwd(g, r, x, w)

    first = [np.asarray(a).view(np.uint8) for a in both(x, w, g)]
    compiled = jax.jit(both)
    for _ in range(5):
        for one, other in zip(first, compiled(x, w, g), strict=True):
            np.testing.assert_array_equal(one, np.asarray(other).view(np.uint8))


@pytest.mark.parametrize("n", [96, 4097, 70000])
def test_vmap_of_the_gradient(n):
    given = exact.problem((3, 20), (n,), (F32, F32))
    x, w, g = on_device(given)
    many = jnp.stack([w, 2 * w, w - 1])

    def gradient(x, w, g):
        return jax.vjp(rms_norm, x, w)[1](g)

    for axes, weights in (((0, None, 0), w), ((0, 0, 0), many)):
        dx, dw = jax.jit(jax.vmap(gradient, axes))(x, weights, g)
        for i in range(3):
            one = weights if weights.ndim == 1 else weights[i]
            part = exact.Problem(given.x[i], np.asarray(one), given.g[i])
            r = exact.invvar(part).astype(np.float32)
            exact.check_backward(part, r, np.asarray(dx[i]), np.asarray(dw[i]))


def test_in_a_loop_of_a_compiled_program():
    """Kernels behind each other, in CUDA graphs where XLA makes them."""
    x, w, _ = on_device(exact.problem((256,), (2048,), (F32, F32)))

    def loss(norm):
        def step(x, _):
            return x + norm(x, w), None

        return jax.jit(jax.grad(lambda x: jnp.sin(jax.lax.scan(step, x, None, 6)[0]).sum()))

    def reference(x, w):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * w

    found, expected = loss(rms_norm)(x), loss(reference)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
