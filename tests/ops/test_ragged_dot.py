"""`ragged_dot` as an operation of JAX, in the emulator, held against `jax.lax.ragged_dot`."""

from __future__ import annotations

import textwrap
from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import CallError, ops  # noqa: E402
from pyptx.ops.tensor_core import plan  # noqa: E402

EXACT = partial(jax.lax.ragged_dot, precision="highest")
TOLERANCE = {"bfloat16": 4e-3, "float16": 5e-4, "float32": 1e-6}
LENGTHS = {
    "all rows": [10, 0, 23, 7], "rows after": [3, 9, 0, 5], "one row each": [1, 1, 1, 1],
    "none": [0, 0, 0, 0],
}  # fmt: skip


def normal(shape, dtype=jnp.float32, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def off(found, expected):
    """The distance over the length."""
    found, expected = (np.asarray(x).astype(np.float64) for x in (found, expected))
    assert found.shape == expected.shape
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-30)


def wide(*arrays):
    return [x.astype(jnp.float32) for x in arrays]


@pytest.mark.sampled(32, each="dtype")
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS.keys())
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_values_and_gradients(dtype, lengths):
    x, w, sizes = normal((40, 21), dtype), normal((4, 21, 19), dtype, 1), jnp.array(lengths)
    tolerance = TOLERANCE[np.dtype(dtype).name]
    d = ops.ragged_dot(x, w, sizes)
    assert d.dtype == dtype
    assert off(d, EXACT(*wide(x, w), sizes)) < tolerance

    def loss(f, x, w):
        return jnp.sum(jnp.sin(f(x, w, sizes).astype(jnp.float32) / 8))

    found = jax.grad(partial(loss, ops.ragged_dot), (0, 1))(x, w)
    exact = jax.grad(partial(loss, EXACT), (0, 1))(*wide(x, w))
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == dtype
        assert off(one, other) < 2 * tolerance


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120"])
def test_every_target(target):
    x, w, sizes = normal((300, 72)), normal((3, 72, 40), seed=1), jnp.array([130, 1, 160])
    with pyptx.target(target):
        d, pull = jax.vjp(lambda x, w: ops.ragged_dot(x, w, sizes), x, w)
        found = pull(jnp.cos(d))
    exact, pull = jax.vjp(lambda x, w: EXACT(x, w, sizes), x, w)
    assert off(d, exact) < 3e-6
    for one, other in zip(found, pull(jnp.cos(d)), strict=True):
        assert off(one, other) < 3e-6


def test_lengths_are_known_when_it_runs():
    x, w = normal((40, 24), jnp.bfloat16), normal((4, 24, 16), jnp.bfloat16, 1)
    f = jax.jit(partial(ops.ragged_dot, preferred_element_type=jnp.float32))
    for lengths in LENGTHS.values():
        sizes = jnp.array(lengths, jnp.int16)
        assert off(f(x, w, sizes), EXACT(*wide(x, w), sizes.astype(int))) < 1e-6
    assert f._cache_size() == 1


@pytest.mark.parametrize(
    ("dtype", "lengths", "rows"),
    [
        ("int8", [100, 50], 200), ("uint8", [200, 50], 300), ("int8", [127, -3], 130),
        ("uint16", [9, 250], 260), ("int32", [9, 2**31 - 1], 40), ("uint32", [2**32 - 1, 1], 40),
    ],
)  # fmt: skip
def test_lengths_of_every_type(dtype, lengths, rows):
    """The number of rows may be beyond the type's largest number."""
    x, w = normal((rows, 8)), normal((2, 8, 8), seed=1)
    first = min(lengths[0], rows)
    exact = jnp.zeros((rows, 8)).at[:first].set(jnp.matmul(x[:first], w[0], precision="highest"))
    second = slice(first, min(first + max(lengths[1], 0), rows))
    exact = exact.at[second].set(jnp.matmul(x[second], w[1], precision="highest"))
    assert off(ops.ragged_dot(x, w, jnp.array(lengths, dtype)), exact) < 1e-6


def masked(x, w, sizes):
    """The same by a product for each group; `jax.lax.ragged_dot` has no second derivative in w."""
    ends = jnp.cumsum(sizes)
    row = jnp.arange(len(x))[:, None]
    return sum(
        jnp.where((row >= end - size) & (row < end), jnp.matmul(x, m, precision="highest"), 0)
        for m, size, end in zip(w, sizes, ends, strict=True)
    )


def test_gradients_of_the_second_order():
    x, w, sizes = normal((20, 16)), normal((3, 16, 8), seed=1), jnp.array([7, 0, 11])

    def slope(f, w):
        return jnp.sum(jax.grad(lambda x: jnp.sum(jnp.sin(f(x, w, sizes) / 4)))(x) ** 2)

    def weights(f, x):
        return jnp.sum(jax.grad(lambda w: jnp.sum(jnp.sin(f(x, w, sizes) / 4)))(w) ** 2)

    for of, at in ((slope, w), (weights, x)):
        found, exact = (jax.grad(partial(of, f))(at) for f in (ops.ragged_dot, masked))
        assert off(found, exact) < 5e-6


@pytest.mark.sampled(8)
@pytest.mark.parametrize("axes", [(0, None, None), (None, 0, 0), (0, 0, None), (1, 2, 0)], ids=str)
def test_vmap(axes):
    shapes = [(20, 16), (3, 16, 8)]
    shapes = [
        shape if axis is None else (*shape[:axis], 2, *shape[axis:])
        for shape, axis in zip(shapes, axes[:2], strict=True)
    ]
    x, w = (normal(shape, seed=i) for i, shape in enumerate(shapes))
    sizes = jnp.array([7, 0, 11]) if axes[2] is None else jnp.array([[7, 0, 11], [1, 2, 3]])
    every = zip(*(
        [a] * 2 if axis is None else [jnp.take(a, i, axis) for i in range(2)]
        for a, axis in zip((x, w, sizes), axes, strict=True)
    ), strict=True)  # fmt: skip
    exact = jnp.stack([EXACT(*each) for each in every])
    assert off(jax.vmap(ops.ragged_dot, axes)(x, w, sizes), exact) < 1e-6


def test_columns_that_are_split():
    x, w, sizes = normal((40, 24)), normal((4, 24, 64), seed=1), jnp.array([10, 0, 23, 5])
    place = jax.make_mesh((4,), ("x",))
    specs = (P(), P(None, None, "x"), P())
    arrays = [
        jax.device_put(a, NamedSharding(place, p))
        for a, p in zip((x, w, sizes), specs, strict=True)
    ]
    program = jax.jit(ops.ragged_dot).lower(*arrays).compile()
    assert pyptx.collectives(program) == {}
    assert off(program(*arrays), EXACT(x, w, sizes)) < 1e-6


ROWS, EACH, WHOLE = P("x"), P(None, None, "x"), P()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32])
@pytest.mark.parametrize(
    ("specs", "out"),
    [
        ((ROWS, WHOLE, ROWS), ROWS),
        ((WHOLE, WHOLE, ROWS), ROWS),
        ((WHOLE, EACH, WHOLE), P(None, "x")),
        ((ROWS, EACH, ROWS), ROWS),
    ],
    ids=str,
)
def test_gradients_inside_shard_map(specs, out, dtype):
    """Each device has its own rows and lengths; what all have the same of is added up."""
    x, w = normal((32, 24), dtype), normal((2, 24, 32), dtype, 1)
    sizes = jnp.array([3, 4, 0, 6, 8, 0, 1, 1]) if specs[2] == ROWS else jnp.array([9, 20])

    def loss(f, x, w):
        mapped = jax.shard_map(
            lambda x, w, s: f(x, w, s, preferred_element_type=jnp.float32),
            mesh=jax.make_mesh((4,), ("x",), axis_types=(AxisType.Auto,)),
            in_specs=specs, out_specs=out,
        )  # fmt: skip
        return jnp.sum(jnp.sin(mapped(x, w, sizes)))

    found = jax.grad(partial(loss, ops.ragged_dot), (0, 1))(x, w)
    exact = jax.grad(partial(loss, EXACT), (0, 1))(*wide(x, w))
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == dtype
        assert off(one, other) < 2 * TOLERANCE[np.dtype(dtype).name]


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32])
@pytest.mark.parametrize(
    ("of_x", "of_w", "out"),
    [
        (WHOLE, EACH, P(None, "x")),
        (P("x"), WHOLE, P(None, None)),
        (P(None, "x"), P(None, "x"), P(None, None)),
        (P(None, "x"), EACH, P(None, "x")),
        (WHOLE, P("x"), P(None, None)),
    ],
    ids=str,
)
def test_an_explicit_mesh(of_x, of_w, out, dtype):
    """What devices may not split is gathered, and gradients are sharded as what they belong to."""
    place = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,))
    x, w, sizes = normal((24, 32), dtype), normal((4, 32, 64), dtype, 1), jnp.array([5, 0, 9, 3])
    exact, pull = jax.vjp(lambda x, w: EXACT(x, w, sizes), *wide(x, w))
    slopes = pull(jnp.ones_like(exact))
    with jax.set_mesh(place):
        a, b = (jax.device_put(v, NamedSharding(place, p)) for v, p in ((x, of_x), (w, of_w)))
        assert off(ops.ragged_dot(a, b, sizes), exact) < TOLERANCE[np.dtype(dtype).name]
        program = jax.jit(lambda a, b: jax.vjp(lambda a, b: ops.ragged_dot(a, b, sizes), a, b)[0])
        d = program(a, b)
        assert jax.typeof(d).sharding.spec == out
        gradient = jax.jit(
            jax.grad(lambda a, b: ops.ragged_dot(a, b, sizes).astype(jnp.float32).sum(), (0, 1))
        )
        found = gradient(a, b)
        for one, given, other in zip(found, (a, b), slopes, strict=True):
            assert jax.typeof(one).sharding.spec == jax.typeof(given).sharding.spec
            assert off(one, other) < 2 * TOLERANCE[np.dtype(dtype).name]


def exported(f, *shapes):
    """A program for symbolic sizes, of arrays of these shapes and types."""
    scope = jax.export.SymbolicScope()
    given = [
        jax.ShapeDtypeStruct(jax.export.symbolic_shape(shape, scope=scope), dtype)
        for shape, dtype in shapes
    ]
    checks = pyptx.export_safety_checks()
    program = jax.export.export(jax.jit(f), platforms=("cpu",), disabled_checks=checks)(*given)
    return jax.export.deserialize(program.serialize())


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32])
def test_exported_for_any_sizes(dtype):
    def gradients(x, w, sizes):
        loss = lambda x, w: ops.ragged_dot(x, w, sizes).astype(jnp.float32).sum()
        return jax.grad(loss, (0, 1))(x, w)

    shapes = ("M, K", dtype), ("3, K, N", dtype), ("3", jnp.int8)
    for f in (ops.ragged_dot, gradients):
        program = exported(f, *shapes)
        for m, k, n in ((40, 24, 16), (300, 7, 5)):
            x, w, sizes = normal((m, k), dtype), normal((3, k, n), dtype, 1), jnp.array([9, 0, 30])
            given = x, w, sizes.astype(jnp.int8)
            found, exact = (jax.tree.leaves(g(*given)) for g in (program.call, f))
            assert max(map(off, found, exact)) < 2 * TOLERANCE[np.dtype(dtype).name]


@pytest.mark.parametrize("shapes", [((0, 8), (2, 8, 8)), ((8, 0), (2, 0, 8)), ((8, 8), (2, 8, 0))])
def test_nothing(shapes):
    x, w = (normal(shape) for shape in shapes)
    assert np.array_equal(ops.ragged_dot(x, w, jnp.array([1, 2])), jnp.zeros((len(x), w.shape[2])))


def test_many_groups():
    count = plan.FEW_GROUPS + 20
    sizes = jnp.asarray(np.random.default_rng(2).integers(0, 3, count))
    x, w = normal((int(sizes.sum()), 8), jnp.bfloat16), normal((count, 8, 8), jnp.bfloat16, 1)
    d = ops.ragged_dot(x, w, sizes, preferred_element_type=jnp.float32)
    assert off(d, EXACT(*wide(x, w), sizes)) < 1e-6


X, W, SIZES = normal((4, 8)), normal((2, 8, 8)), jnp.array([1, 2])
CASES = {
    "another K": (
        lambda: ops.ragged_dot(X, normal((2, 4, 8)), SIZES),
        """
        lhs has shape (4, 8), rhs (2, 4, 8) and group_sizes (2,)
          legal: (M, K), (G, K, N) and (G,)
        """,
    ),
    "no lengths": (
        lambda: ops.ragged_dot(X, W, 3),
        """
        group_sizes is a int; ragged_dot takes arrays
          help: jax.numpy.asarray(group_sizes)
        """,
    ),
    "a list of lengths": (
        lambda: ops.ragged_dot(X, W, [1, 2]),
        """
        group_sizes is a list; ragged_dot takes arrays
          help: jax.numpy.asarray(group_sizes)
        """,
    ),
    "lengths of another rank": (
        lambda: ops.ragged_dot(X, W, SIZES[None]),
        """
        lhs has shape (4, 8), rhs (2, 8, 8) and group_sizes (1, 2)
          legal: (M, K), (G, K, N) and (G,)
        """,
    ),
    "a symbolic number of groups": (
        lambda: exported(
            lambda x, w, s: ops.ragged_dot(x, w, s),
            ("4, 8", X.dtype),
            ("G, 8, 8", X.dtype),
            ("G", jnp.int32),
        ),
        """
        rhs has G groups, and ragged_dot takes a number that is known when its kernel is built
          help: export it for each number of groups; M, K and N may be symbolic
        """,
    ),
    "lengths that are no integers": (
        lambda: ops.ragged_dot(X, W, jnp.ones(2)),
        """
        group_sizes has elements of type float32
        """,
    ),
    "too many groups": (
        lambda: ops.ragged_dot(X, normal((2049, 8, 1)), jnp.ones(2049, int)),
        """
        rhs has 2049 groups, and ragged_dot takes 2048
        """,
    ),
    "integers": (
        lambda: ops.ragged_dot(X.astype(jnp.int8), W.astype(jnp.int8), SIZES),
        """
        lhs has elements of type int8
          legal: bfloat16 float16 float32 float8_e4m3fn float8_e5m2
        """,
    ),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES)
def test_the_whole_message(call, message):
    with pyptx.target("sm_90a"), pytest.raises(CallError) as caught:
        call()
    place, _, text = str(caught.value).partition(": ")
    assert place.rpartition(":")[0] == __file__
    problem, _source, *notes = text.splitlines()
    assert "\n".join([problem, *notes]) == textwrap.dedent(message).strip()
