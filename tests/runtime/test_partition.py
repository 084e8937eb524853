"""Kernels over eight simulated devices: every transformation in every sharding, and what is sent."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402

RNG = np.random.default_rng(0)
X, G = RNG.standard_normal((2, 8, 2, 20)).astype(np.float32)
W = RNG.standard_normal(20).astype(np.float32)
LAYERS = RNG.standard_normal((3, 20)).astype(np.float32)

AUTO, EXPLICIT = AxisType.Auto, AxisType.Explicit


@pytest.fixture(autouse=True)
def _one_thread_each(monkeypatch):
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")


@pytest.fixture
def mesh(devices):
    return lambda kind=AUTO: Mesh(np.reshape(devices, (4, 2)), ("data", "model"), (kind, kind))


def put(array, mesh, *spec):
    return jax.device_put(array, NamedSharding(mesh, P(*spec)))


def close(found, wanted):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5)


# ---- transformations -----------------------------------------------------------------------------
# Each makes a function of x, w and a cotangent g from an operation of x and w.


def forward(f):
    return lambda x, w, g: f(x, w)


def gradient(f):
    return lambda x, w, g: jax.vjp(f, x, w)[1](g)


def remat(f):
    return gradient(jax.checkpoint(f))


def layers(f):
    """A scan over weights."""
    weights = LAYERS
    return lambda x, w, g: jax.lax.scan(lambda c, v: (f(c, v * w), None), x, weights)[0]


def layers_gradient(f):
    scanned = layers(f)
    return gradient(lambda x, w: scanned(x, w, None))


def cond(f):
    return lambda x, w, g: jax.lax.cond(w[0] < 9, lambda: f(x, w), lambda: x)


def mapped(f):
    """vmap of the first axis, which is the sharded one where one is."""
    return lambda x, w, g: jax.vmap(f, (0, None))(x, w)


def mapped_gradient(f):
    """One weight gradient for each index of the first axis."""

    def each(x, w, g):
        return jax.vjp(f, x, w)[1](g)

    return lambda x, w, g: jax.vmap(each, (0, None, 0))(x, w, g)


FORWARD = [forward, layers, cond, mapped, mapped_gradient]
BACKWARD = [gradient, remat, layers_gradient]

# How x is sharded, of shape (8, 2, 20): its rows are the first two axes.
ROWS = {
    "replicated": (),
    "data": ("data",),
    "data and model": (("data", "model"),),
    "model and data": (("model", "data"),),
    "both axes": ("data", "model"),
    "second axis": (None, "model"),
}


def names(values):
    return getattr(values, "__name__", None)


def check(operations, transformation, *arguments):
    """Compiles, compares with jax.numpy, and returns the results and what the program sends."""
    program = jax.jit(transformation(operations.normalise)).lower(*arguments).compile()
    found = program(*arguments)
    close(found, transformation(operations.reference)(X, W, G))
    return found, pyptx.collectives(program)


@pytest.mark.parametrize("spec", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("transformation", FORWARD, ids=names)
def test_nothing_is_sent(operations, mesh, transformation, spec):
    m = mesh()
    arguments = put(X, m, *spec), put(W, m), put(G, m, *spec)
    # With every second row elsewhere, mapping the first axis sums over the second: see below.
    if transformation is mapped_gradient and "model" in spec:
        _, sent = check(operations, transformation, *arguments)
        assert set(sent) == {"all-reduce"}
        return
    found, sent = check(operations, transformation, *arguments)
    assert sent == {}
    first = jax.tree.leaves(found)[0]
    assert first.sharding.is_equivalent_to(NamedSharding(m, P(*spec)), first.ndim)


@pytest.mark.parametrize("spec", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("transformation", BACKWARD, ids=names)
def test_weight_gradients_are_added_up_once(operations, mesh, transformation, spec):
    m = mesh()
    _, sent = check(operations, transformation, put(X, m, *spec), put(W, m), put(G, m, *spec))
    assert sent == ({"all-reduce": 1} if spec else {})
