"""Operations under `jax.vmap` whose elements begin within a vector of 16 bytes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx import ops

RANDOM = np.random.default_rng(0)
ELEMENTS = 3


def random(*shape, dtype=jnp.float32):
    return jnp.asarray(RANDOM.standard_normal(shape), dtype)


def labels(x):
    return jnp.arange(x.shape[-2]) % x.shape[-1]


def gradients(f):
    def both(*arrays):
        return jax.grad(lambda *given: (f(*given) ** 2).sum(), range(len(arrays)))(*arrays)

    return both


OF_ROWS = {
    "rms_norm of one weight": lambda x: ops.rms_norm(x, jnp.ones(x.shape[-1:])),
    "quantize by a scale of each row": lambda x: ops.quantize(x, jnp.int8, scale=0.1),
    "cross_entropy of the same labels": lambda x: ops.cross_entropy(x, labels(x)),
    "softmax, causal": lambda x: ops.softmax(x, causal=True),
    "dropout of the same key": lambda x: ops.add_rms_norm(
        x, x, jnp.ones(x.shape[-1:]), dropout_rate=0.5, dropout_key=jax.random.key(0)
    ),
}
OF_WEIGHTS = {
    "rms_norm": ops.rms_norm,
    "layer_norm": lambda x, w: ops.layer_norm(x, w, w),
    "rms_norm, gradients": gradients(ops.rms_norm),
    "rms_norm_quantized": lambda x, w: ops.rms_norm_quantized(x, w, jnp.float8_e4m3fn),
}


def compare(f, axes, *arrays):
    found = jax.vmap(f, axes)(*arrays)
    each = [
        f(*(a if axis is None else a[i] for a, axis in zip(arrays, axes, strict=True)))
        for i in range(ELEMENTS)
    ]
    wanted = jax.tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *each)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        of_all, of_each = (np.asarray(a).astype(np.float64) for a in (one, other))
        np.testing.assert_allclose(of_all, of_each, rtol=1e-5, atol=1e-5)


@pytest.mark.sampled(24, each="name")
@pytest.mark.parametrize("columns", [67, 511])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("name", OF_ROWS)
def test_what_rows_have_is_the_same_for_all_elements(name, rows, columns):
    compare(OF_ROWS[name], (0,), random(ELEMENTS, rows, columns))


@pytest.mark.sampled(20)
@pytest.mark.parametrize("columns", [67, 511])
@pytest.mark.parametrize("axes", [(0, 0), (None, 0)])
@pytest.mark.parametrize("name", OF_WEIGHTS)
def test_each_element_has_weights(name, axes, columns):
    x = random(ELEMENTS, 2, columns)
    compare(OF_WEIGHTS[name], axes, x if axes[0] == 0 else x[0], random(ELEMENTS, columns))


def test_elements_of_whole_vectors_are_one_launch():
    def launched(*shapes):
        text = jax.jit(jax.vmap(ops.rms_norm)).lower(*map(jnp.ones, shapes)).compile().as_text()
        return text.count('custom_call_target="pyptx_cpu"'), " while(" in text

    assert launched((3, 5, 64), (3, 64)) == (1, False)
    assert launched((3, 5, 67), (3, 67)) == (1, False)  # which have rows element by element
    assert launched((3, 5, 515), (3, 515)) == (1, True)
