"""Programs of sharded products: layers, gradients, scans, vmap, shard_map, exported ones."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import ops  # noqa: E402

from .sharded import (  # noqa: E402
    BF16,
    EXACT,
    F32,
    GATHER,
    REDUCE,
    SCATTER,
    check,
    constrained,
    mesh,
    normal,
    squares,
)

A, B = (16, 64), (64, 32)


@pytest.fixture(autouse=True)
def _one_thread_each(monkeypatch):
    monkeypatch.setenv("PYPTX_EMULATOR_THREADS", "1")


def layers(multiply, place=None):
    """Two layers, the first split by columns and the second by rows; sequences are split, too."""

    def run(x, v, w):
        h = jax.nn.relu(multiply(x, v))
        h = h if place is None else constrained(h, place, None, None, "x")
        y = multiply(h, w)
        return y if place is None else constrained(y, place, None, "x")

    return run


def test_layers_of_split_sequences():
    place = mesh(4)
    arrays = tuple(
        normal(*shape, dtype=BF16, seed=i)
        for i, shape in enumerate(((2, 16, 32), (32, 64), (64, 32)))
    )
    split = (P(None, "x"), P(None, "x"), P("x"))
    functions = layers(ops.matmul, place), layers(jnp.matmul)
    program = check(place, functions, arrays, split, tolerance=1e-2)
    assert pyptx.collectives(program) == {GATHER: 1, SCATTER: 1}
    gradients = (jax.grad(squares(f), argnums=(0, 1, 2)) for f in functions)
    program = check(place, gradients, arrays, split, split, 2e-2)
    assert pyptx.collectives(program) == {GATHER: 2, SCATTER: 2}


@pytest.mark.parametrize("dims", [pytest.param((32,), marks=pytest.mark.sweep), (4, 8)], ids=str)
def test_gradients_of_weights_that_are_split(dims):
    """Data parallel: a weight is gathered for the product, its gradient is reduce-scattered."""

    def step(multiply):
        def run(x, w):
            loss = squares(multiply)
            return w - 0.01 * jax.grad(lambda w: loss(x, w))(w)

        return run

    x, w = normal(*dims, 64), normal(64, 32, seed=1)
    functions = step(ops.matmul), step(jnp.matmul)
    program = check(mesh(4), functions, (x, w), (P("x"), P("x")), P("x"))
    assert pyptx.collectives(program) == {GATHER: 1, SCATTER: 1}


@pytest.mark.parametrize("precision", [None, pytest.param("tf32", marks=pytest.mark.sweep)])
def test_gradients_over_two_axes(precision):
    ours = partial(ops.matmul, precision=precision)
    arrays = normal(4, 6, 32), normal(32, 24, seed=1)
    split = (P("x", "y"), P("x", "y"))
    gradients = (jax.grad(squares(f), argnums=(0, 1)) for f in (ours, jnp.matmul))
    program = check(mesh(2, 2), gradients, arrays, split, split, 2e-3 if precision else 2e-6)
    if precision is None:
        assert pyptx.collectives(program)[SCATTER] == 2
        assert REDUCE not in pyptx.collectives(program)


def test_few_rows_and_second_derivatives():
    arrays = normal(2, 2, 32), normal(32, 24, seed=1)
    gradients = (jax.grad(squares(f), argnums=(0, 1)) for f in (ops.matmul, jnp.matmul))
    check(mesh(2, 2), gradients, arrays, (P("x", "y"), P("x")), (P("x", "y"), P("x")))

    def second(multiply):
        first = jax.grad(squares(multiply), argnums=(0, 1))
        return jax.grad(lambda a, b: sum((g**2).sum() for g in first(a, b)), argnums=(0, 1))

    arrays = normal(2, 4, 16), normal(16, 8, seed=1)
    both = second(ops.matmul), second(jnp.matmul)
    check(mesh(4), both, arrays, (P(None, "x"), P()), (P(None, "x"), P("x")), 1e-5)


def test_gated_pairs():
    def reference(x, gate, up):
        return jax.nn.silu(x @ gate) * (x @ up)

    arrays = normal(2, 16, 64), normal(64, 32), normal(64, 32, seed=1)
    split = (P("x"), P(None, "y"), P(None, "y"))
    functions = ops.gated_matmul, reference
    assert pyptx.collectives(check(mesh(2, 2), functions, arrays, split)) == {}
    gradients = (jax.grad(squares(f), argnums=(0, 1, 2)) for f in functions)
    wanted = (P("x"), P("x", "y"), P("x", "y"))
    program = check(mesh(2, 2), gradients, arrays, split, wanted, 1e-5)
    assert pyptx.collectives(program)[SCATTER] == 2
    columns = (P(None, "x"), P(None, "x"), P(None, "x"))
    program = check(mesh(4), functions, arrays, columns, P(None, None, "x"))
    assert pyptx.collectives(program) == {GATHER: 1}


def test_groups_of_rows():
    def reference(lhs, rhs, sizes):
        of = jnp.searchsorted(jnp.cumsum(sizes), jnp.arange(lhs.shape[0]), side="right")
        found = jnp.einsum("mk,mkn->mn", lhs, rhs[jnp.minimum(of, rhs.shape[0] - 1)])
        return jnp.where((of < rhs.shape[0])[:, None], found, 0)

    arrays = normal(20, 32), normal(3, 32, 64), jnp.asarray([5, 0, 9], jnp.int32)
    functions = ops.ragged_dot, reference
    columns = (P(), P(None, None, "x"), P())
    assert pyptx.collectives(check(mesh(4), functions, arrays, columns, P(None, "x"))) == {}
    # Groups read rows where they are, and a split K would be a sum of rows by other matrices.
    for split in ((P(None, "x"), P(None, "x"), P()), (P("x"), P(), P())):
        program = check(mesh(4), functions, arrays, split, P("x"))
        assert set(pyptx.collectives(program)) == {GATHER}
    gradients = (
        lambda lhs, rhs, sizes, f=f: jax.grad(
            lambda lhs, rhs: squares(f)(lhs, rhs, sizes), argnums=(0, 1)
        )(lhs, rhs)
        for f in functions
    )
    check(mesh(4), gradients, arrays, columns, (P(None, "x"), P(None, None, "x")))


@pytest.mark.parametrize(
    "split",
    [(P("x", "y"), P(), P("x")), (P("x"), P(), P(None, "y"))],
    ids=["sequences", "vocabulary"],
)
def test_a_norm_a_product_and_a_loss(split):
    labels = jnp.asarray(np.random.default_rng(0).integers(0, 48, (4, 8)), jnp.int32)

    def ours(x, scale, w):
        return ops.cross_entropy(ops.matmul(ops.rms_norm(x, scale), w), labels).mean()

    def reference(x, scale, w):
        h = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale
        logits = jax.nn.log_softmax(h @ w)
        return -jnp.take_along_axis(logits, labels[..., None], -1).mean()

    arrays = normal(4, 8, 32), normal(32), normal(32, 48)
    both = (jax.value_and_grad(f, argnums=(0, 1, 2)) for f in (ours, reference))
    program = check(mesh(2, 2), both, arrays, split, (P(), split), 1e-5)
    assert pyptx.collectives(program).get(SCATTER, 0) == (1 if split[2] == P("x") else 0)


@pytest.mark.sweep  # layers one after the other are above
def test_a_scan_over_layers():
    def run(multiply):
        def layer(x, weights):
            v, w = weights
            return x + multiply(jax.nn.relu(multiply(x, v)), w), None

        return lambda x, v, w: jax.lax.scan(layer, x, (v, w))[0]

    arrays = normal(2, 8, 16), normal(3, 16, 32) / 5, normal(3, 32, 16) / 5
    split = (P("x"), P(None, None, "y"), P(None, "y"))
    functions = run(ops.matmul), run(jnp.matmul)
    program = check(mesh(2, 2), functions, arrays, split, P("x"), 1e-5)
    assert pyptx.collectives(program) == {REDUCE: 1}
    split = (P("x"), P(None, "x", "y"), P(None, "y", "x"))
    gradients = [jax.grad(squares(f), argnums=(1, 2)) for f in functions]
    program = check(mesh(2, 2), gradients, arrays, split, split[1:], 1e-5)
    assert pyptx.collectives(program) == {GATHER: 4, REDUCE: 2, SCATTER: 2}


# ---- other ways to split -------------------------------------------------------------------------


def test_inside_shard_map():
    place = mesh(4)

    def scattered(a, b):
        parts = ops.matmul(a, b, out_dtype=F32)
        return jax.lax.psum_scatter(parts, "x", scatter_dimension=0, tiled=True)

    mapped = jax.shard_map(scattered, mesh=place, in_specs=(P(None, "x"), P("x")), out_specs=P("x"))
    arrays, split = (normal(*A), normal(*B)), (P(None, "x"), P("x"))
    program = check(place, (mapped, jnp.matmul), arrays, split)
    assert pyptx.collectives(program) == {SCATTER: 1}
    gradients = (jax.grad(squares(f), argnums=(0, 1)) for f in (mapped, jnp.matmul))
    check(place, gradients, arrays, split, split)
    # Over one axis of two: the other one is the partitioner's, and sums stay whole there.
    place = mesh(2, 2)
    mapped = jax.shard_map(
        ops.matmul, mesh=place, in_specs=(P("x"), P()), out_specs=P("x"), axis_names={"x"}
    )
    arrays, split = (normal(4, 8, 64), normal(64, 32)), (P("x", None, "y"), P("y"))
    program = check(place, (mapped, jnp.matmul), arrays, split, P("x", "y"))
    assert not {SCATTER, REDUCE} & set(pyptx.collectives(program))


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("axes", "of_a", "of_b", "split", "sent"),
    [
        ((0, None), (4, 2, 8, 64), (64, 32), (P("x", None, "y"), P()), {}),
        ((0, None), (4, 2, 8, 64), (64, 32), (P("x", None, None, "y"), P("y")), {SCATTER: 1}),
        ((0, 0), (4, 8, 64), (4, 64, 32), (P("x", None, "y"), P("x", "y")), {SCATTER: 1}),
        ((0, 0), (2, 4, 8, 64), (2, 4, 64, 32), (P("x", "y"), P("x", "y")), {}),
        ((None, 0), (8, 64), (4, 64, 32), (P(None, "y"), P("x", "y")), {SCATTER: 1}),
    ],
    ids=str,
)
def test_mapped(axes, of_a, of_b, split, sent):
    arrays = normal(*of_a), normal(*of_b, seed=1)
    functions = tuple(jax.vmap(f, axes) for f in (ops.matmul, jnp.matmul))
    rank = max(len(of_a), len(of_b))
    out = P("x", "y") if len(of_b) == 4 or rank == 3 else P("x", None, "y")
    assert pyptx.collectives(check(mesh(2, 2), functions, arrays, split, out)) == sent
    gradients = (jax.vmap(jax.grad(squares(f), argnums=(0, 1)), axes) for f in (ops.matmul, EXACT))
    check(mesh(2, 2), gradients, arrays, split)


@pytest.mark.sweep  # test_mapped and the arrays of test_sharded_products.py, together
def test_mapped_with_arrays_of_rows_and_columns():
    def ours(a, b, bias, residual):
        return ops.matmul(a, b, bias=bias, activation="silu", residual=residual)

    def reference(a, b, bias, residual):
        return jax.nn.silu(a @ b + bias) + residual

    arrays = normal(2, 2, 3, 8, 16), normal(16, 24), normal(24), normal(2, 2, 3, 8, 24)
    split = (P("x", "y"), P(), P(), P("x", "y"))
    shared = (jax.vmap(f, (0, None, None, 0)) for f in (ours, reference))
    assert pyptx.collectives(check(mesh(2, 2), shared, arrays, split)) == {}
    arrays = arrays[0], normal(2, 2, 3, 16, 24), *arrays[2:]
    split = (P("x", "y"), P("x", "y"), P(), P("x", "y"))
    own = (jax.vmap(f, (0, 0, None, 0)) for f in (ours, reference))
    assert pyptx.collectives(check(mesh(2, 2), own, arrays, split)) == {}
    arrays = normal(2, 2, 8, 16), normal(2, 16, 24), normal(2, 24), normal(2, 2, 8, 24)
    split = (P("x"), P("x"), P("x"), P("x"))
    matrices = (jax.vmap(f) for f in (ours, reference))
    assert pyptx.collectives(check(mesh(2, 2), matrices, arrays, split)) == {}


def test_an_explicit_mesh():
    place = mesh(2, 2, kind=AxisType.Explicit)
    with jax.set_mesh(place):
        a = jax.device_put(normal(4, 8, 64, dtype=BF16), NamedSharding(place, P("x", "y")))
        b = jax.device_put(normal(64, 32, dtype=BF16), NamedSharding(place, P()))
        d = jax.jit(ops.matmul)(a, b)
        assert jax.typeof(d).sharding.spec == P("x", "y", None)
        gradient = jax.jit(jax.grad(squares(ops.matmul), argnums=1)).lower(a, b).compile()
        assert pyptx.collectives(gradient) == {REDUCE: 1}
        rows = jax.device_put(a, NamedSharding(place, P("x", None, "y")))
        depth = jax.device_put(b, NamedSharding(place, P("y")))
        scattered = jax.jit(lambda a, b: jax.sharding.reshard(ops.matmul(a, b), P("x", "y")))
        program = scattered.lower(rows, depth).compile()
        assert pyptx.collectives(program) == {SCATTER: 1}
        np.testing.assert_array_equal(program(rows, depth), d)


def test_layers_and_weights_under_an_explicit_mesh():
    place = mesh(4, kind=AxisType.Explicit)
    reshard = jax.sharding.reshard

    def run(x, v, w):
        h = jax.nn.relu(ops.matmul(reshard(x, P()), v))
        return reshard(ops.matmul(h, w), P(None, "x"))

    def product(x, w):
        return ops.matmul(x, reshard(w, P()))

    split = (P(None, "x"), P(None, "x"), P("x"))
    arrays = normal(2, 16, 32), normal(32, 64, seed=1), normal(64, 32, seed=2)
    with jax.set_mesh(place):
        x, v, w = (
            jax.device_put(a.astype(BF16), NamedSharding(place, p))
            for a, p in zip(arrays, split, strict=True)
        )
        program = jax.jit(jax.grad(squares(run), argnums=(0, 1, 2))).lower(x, v, w).compile()
        assert pyptx.collectives(program) == {GATHER: 2, SCATTER: 2}
        wanted = jax.grad(squares(layers(jnp.matmul)), argnums=(0, 1, 2))(*arrays)
        for found, other in zip(program(x, v, w), wanted, strict=True):
            assert np.linalg.norm(np.asarray(found, np.float32) - other) < 0.03 * np.linalg.norm(
                other
            )
        rows, weight = (reshard(a, P("x")) for a in (reshard(x, P()).reshape(32, 32), v))
        program = jax.jit(jax.grad(squares(product), argnums=1)).lower(rows, weight).compile()
        assert pyptx.collectives(program) == {GATHER: 1, SCATTER: 1}


def test_an_exported_program():
    place = mesh(4)
    arrays = normal(2, 16, 64), normal(64, 32)
    split = [NamedSharding(place, p) for p in (P(None, None, "x"), P("x"))]
    shapes = [
        jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=s)
        for x, s in zip(arrays, split, strict=True)
    ]
    out = NamedSharding(place, P(None, "x"))
    exported = jax.export.export(
        jax.jit(ops.matmul, out_shardings=out),
        platforms=("cpu",),
        disabled_checks=pyptx.export_safety_checks(),
    )(*shapes)
    loaded = jax.export.deserialize(exported.serialize())
    put = [jax.device_put(x, s) for x, s in zip(arrays, split, strict=True)]
    program = jax.jit(loaded.call).lower(*put).compile()
    assert pyptx.collectives(program) == {SCATTER: 1}
    np.testing.assert_allclose(program(*put), EXACT(*arrays), rtol=1e-5, atol=1e-4)
