"""`matmul` with scales of blocks of 128, in the emulator."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tests.ops.test_matmul import mesh, normal, off

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import CallError, ops  # noqa: E402

E4M3, E5M2 = jnp.float8_e4m3fn, jnp.float8_e5m2
WIDE = partial(ops.matmul, out_dtype=jnp.float32)
EIGHT_BITS = 2e-4
"""Hopper cuts sums of 8-bit products; sums of 128 of K are added without."""


def positive(shape, seed):
    return jnp.abs(normal(shape, seed=seed)) + 0.1


def spread(scale, shape):
    """Scales of blocks, one for each element; in float64."""
    scale = np.asarray(scale, np.float64)
    for axis in (-2, -1):
        if scale.shape[axis] not in (1, shape[axis]):
            scale = np.repeat(scale, 128, axis)
    return scale[..., : shape[-2], : shape[-1]]


def exact_of(a, b, a_scale, b_scale):
    a, b = (np.asarray(x).astype(np.float64) for x in (a, b))
    return (a * spread(a_scale, a.shape)) @ (b * spread(b_scale, b.shape))


SCALES = {
    "rows, blocks": ((200, 3), (3, 2)),
    "rows, columns": ((200, 3), (3, 136)),
    "blocks, blocks": ((2, 3), (3, 2)),
    "of K alone": ((1, 3), (3, 1)),
    "of rows alone": ((200, 3), (1, 1)),
    "of rows, and columns of all K": ((200, 3), (1, 136)),
    "of rows of all K": ((200, 1), (3, 2)),
}


@pytest.mark.sampled(32)
@pytest.mark.parametrize("shapes", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("target", ["sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_what_scales_there_may_be(shapes, target):
    a, b = normal((200, 300), E4M3), normal((300, 136), E5M2, 1)
    scales = [positive(shape, i) for i, shape in enumerate(shapes)]
    with pyptx.target(target):
        d = jax.jit(WIDE)(a, b, a_scale=scales[0], b_scale=scales[1])
    assert off(d, exact_of(a, b, *scales)) < EIGHT_BITS


SHAPES = [(1, 1, 1), (7, 129, 128), (64, 8, 127), (129, 130, 1000), (33, 257, 129)]


@pytest.mark.sampled(40, each=("target", "sizes", "by_column"))
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
@pytest.mark.parametrize("target", ["sm_89", "sm_90a"])
def test_odd_sizes(sizes, by_column, target):
    m, n, k = sizes
    blocks = -(-k // 128)
    a, b = normal((m, k), E4M3), normal((k, n), E4M3, 1)
    rows = positive((m, blocks), 2)
    columns = positive((blocks, n if by_column else -(-n // 128)), 3)
    with pyptx.target(target):
        d = jax.jit(WIDE)(a, b, a_scale=rows, b_scale=columns)
    assert off(d, exact_of(a, b, rows, columns)) < EIGHT_BITS


@pytest.mark.parametrize("target", ["sm_89", pytest.param("sm_90a", marks=pytest.mark.sweep)])
def test_nothing_to_add(target):
    a, b = jnp.zeros((5, 0), E4M3), jnp.zeros((0, 6), E4M3)
    with pyptx.target(target):
        d = ops.matmul(a, b, a_scale=jnp.ones((5, 0)), b_scale=jnp.ones((0, 1)), bias=jnp.ones(6))
        assert np.array_equal(d, np.ones((5, 6)))
        none = ops.matmul(a[:0], b, a_scale=jnp.ones((0, 0)), b_scale=jnp.ones((0, 1)))
        assert none.shape == (0, 6)


def test_the_error_does_not_grow_with_k():
    """Of positive numbers: a tensor core cuts each addition to a long sum towards zero."""
    m, n, k = 64, 128, 8192
    a, b = (jnp.abs(normal(s, seed=i)).astype(E4M3) for i, s in enumerate(((m, k), (k, n))))
    exact = np.asarray(a).astype(np.float64) @ np.asarray(b).astype(np.float64)
    whole = WIDE(a, b)
    blocks = WIDE(a, b, a_scale=jnp.ones((m, k // 128)), b_scale=jnp.ones((k // 128, 1)))
    assert off(blocks, exact) < 1e-3
    assert off(whole, exact) > 1e-2


def test_what_follows_the_product():
    a, b = normal((40, 256), E4M3), normal((256, 48), E4M3, 1)
    rows, blocks = positive((40, 2), 2), positive((2, 1), 3)
    bias, residual = normal((48,), seed=4), normal((40, 48), jnp.bfloat16, 5)
    d = WIDE(a, b, a_scale=rows, b_scale=blocks, bias=bias, activation="silu", residual=residual)
    exact = np.asarray(jax.nn.silu(jnp.asarray(exact_of(a, b, rows, blocks), jnp.float32) + bias))
    assert off(d, exact + np.asarray(residual, np.float32)) < 1e-3
    d = ops.matmul(a, b, a_scale=rows, b_scale=blocks)
    assert d.dtype == jnp.bfloat16
    assert off(d, exact_of(a, b, rows, blocks)) < 4e-3


def test_batches_and_vmap():
    a, b = normal((3, 40, 200), E4M3), normal((3, 200, 144), E4M3, 1)
    rows, blocks = positive((3, 40, 2), 2), positive((3, 2, 2), 3)
    exact = exact_of(a, b, rows, blocks)
    assert off(WIDE(a, b, a_scale=rows, b_scale=blocks), exact) < EIGHT_BITS

    def product(a, b, rows, blocks):
        return WIDE(a, b, a_scale=rows, b_scale=blocks)

    assert off(jax.vmap(product)(a, b, rows, blocks), exact) < EIGHT_BITS
    for axes in ((0, None, 0, None), (None, 0, None, 0), (None, None, 0, None), (0, 0, None, 0)):
        given = [
            x[0] if axis is None else x for x, axis in zip((a, b, rows, blocks), axes, strict=True)
        ]
        whole = [x[None] if axis is None else x for x, axis in zip(given, axes, strict=True)]
        assert off(jax.vmap(product, axes)(*given), exact_of(*whole)) < EIGHT_BITS
    # One matrix for several batches of rows.
    d = WIDE(a, b[0], a_scale=rows, b_scale=blocks[0])
    assert off(d, exact_of(a, b[0], rows, blocks[0])) < EIGHT_BITS


@pytest.mark.parametrize(
    ("by_column", "of_a", "of_b"),
    [(False, P("x"), P()), (True, P("x"), P()), (True, P(), P(None, "x"))],
    ids=["blocks: rows", "columns: rows", "columns: columns"],
)
def test_sharding(by_column, of_a, of_b):
    a, b = normal((64, 256), E4M3), normal((256, 192), E4M3, 1)
    rows, columns = positive((64, 2), 2), positive((2, 192 if by_column else 2), 3)
    given = [
        jax.device_put(x, NamedSharding(mesh(), spec))
        for x, spec in ((a, of_a), (b, of_b), (rows, of_a), (columns, of_b))
    ]
    program = jax.jit(lambda a, b, r, c: WIDE(a, b, a_scale=r, b_scale=c)).lower(*given).compile()
    assert pyptx.collectives(program) == {}
    assert off(program(*given), exact_of(a, b, rows, columns)) < EIGHT_BITS


def test_blocks_of_columns_on_several_devices():
    """48 columns on each device: blocks of 128 lie on several, and the columns are gathered."""
    a, b = normal((64, 256), E4M3), normal((256, 192), E4M3, 1)
    rows, blocks = positive((64, 2), 2), positive((2, 2), 3)
    b = jax.device_put(b, NamedSharding(mesh(), P(None, "x")))
    program = jax.jit(lambda b: WIDE(a, b, a_scale=rows, b_scale=blocks)).lower(b).compile()
    assert set(pyptx.collectives(program)) == {"all-gather"}
    assert off(program(b), exact_of(a, b, rows, blocks)) < EIGHT_BITS


def test_an_exported_product_of_any_number_of_rows():
    (count,) = jax.export.symbolic_shape("M")
    a, b = normal((64, 256), E4M3), normal((256, 96), E4M3, 1)
    rows, blocks = positive((64, 2), 2), positive((2, 1), 3)
    product = jax.jit(lambda a, r: WIDE(a, b, a_scale=r, b_scale=blocks))
    checks = pyptx.export_safety_checks()
    exported = jax.export.export(product, platforms=("cpu",), disabled_checks=checks)(
        jax.ShapeDtypeStruct((count, 256), a.dtype), jax.ShapeDtypeStruct((count, 2), rows.dtype)
    )
    loaded = jax.export.deserialize(exported.serialize())
    for m in (64, 13):
        found = loaded.call(a[:m], rows[:m])
        assert off(found, exact_of(a[:m], b, rows[:m], blocks)) < EIGHT_BITS


# ---- groups --------------------------------------------------------------------------------------

GROUPS = [[100, 0, 70, 30], [300, 0, 0, 0], [0, 0, 0, 0], [5, 200, 95, 1000]]
OF_GROUPS = {
    "rows, blocks": ((300, 2), (4, 2, 2)),
    "rows, columns": ((300, 2), (4, 2, 140)),
    "of all K": ((300, 1), (4, 1, 140)),
    "numbers": ((1, 1), (4, 1, 1)),
}
RAGGED = partial(ops.ragged_dot, preferred_element_type=jnp.float32)


def groups_of(a, b, lengths, a_scale, b_scale):
    """Each group by itself, in float64."""
    rows = np.broadcast_to(a_scale, (a.shape[0], a_scale.shape[1]))
    found, at = np.zeros((a.shape[0], b.shape[-1])), 0
    for i, length in enumerate(lengths):
        own = slice(at, min(at + length, a.shape[0]))
        if own.start < own.stop:
            found[own] = exact_of(a[own], b[i], rows[own], b_scale[i])
        at = own.stop
    return found


@pytest.mark.sampled(48, each="target")
@pytest.mark.parametrize("shapes", OF_GROUPS.values(), ids=OF_GROUPS)
@pytest.mark.parametrize("target", ["sm_89", "sm_90a", "sm_120a"])
def test_groups(shapes, target):
    a, b = normal((300, 200), E4M3), normal((4, 200, 140), E5M2, 1)
    scales = [positive(shape, i) for i, shape in enumerate(shapes)]
    with pyptx.target(target):
        f = jax.jit(lambda lengths: RAGGED(a, b, lengths, lhs_scale=scales[0], rhs_scale=scales[1]))
        for lengths in GROUPS:
            d = f(jnp.array(lengths))
            assert off(d, groups_of(a, b, lengths, *scales)) < EIGHT_BITS


def test_groups_without_scales_and_mapped():
    a, b = normal((2, 70, 200), E4M3), normal((3, 200, 40), E4M3, 1)
    lengths = jnp.array([[20, 30, 20], [0, 50, 10]])
    d = jax.vmap(RAGGED, (0, None, 0))(a, b, lengths)
    ones = np.ones((1, 1)), np.ones((3, 1, 1))
    for own, x, of_rows in zip(d, a, lengths, strict=True):
        assert off(own, groups_of(x, b, of_rows, *ones)) < EIGHT_BITS
    assert ops.ragged_dot(a[0], b, lengths[0]).dtype == jnp.bfloat16
    empty = RAGGED(a[0, :, :0], b[:, :0], lengths[0])
    assert np.array_equal(empty, np.zeros((70, 40)))


def test_groups_with_sharded_columns():
    a, b = normal((64, 256), E4M3), normal((2, 256, 192), E4M3, 1)
    rows, columns, lengths = positive((64, 2), 2), positive((2, 2, 192), 3), jnp.array([40, 24])
    across = NamedSharding(mesh(), P(None, None, "x"))
    given = [jax.device_put(b, across), jax.device_put(columns, across)]
    f = jax.jit(lambda b, c: RAGGED(a, b, lengths, lhs_scale=rows, rhs_scale=c))
    program = f.lower(*given).compile()
    assert pyptx.collectives(program) == {}
    assert off(program(*given), groups_of(a, b, [40, 24], rows, columns)) < EIGHT_BITS


# ---- misuse --------------------------------------------------------------------------------------

A, B = jnp.ones((4, 256), E4M3), jnp.ones((256, 8), E4M3)
LEGAL = """
  legal: (..., M, 1) of a, (..., 1, N) of b, one number
  legal: of blocks of 128: (..., M, K / 128) of a, (..., K / 128, N / 128) or \
(..., K / 128, N) of b, rounded up"""
NO_DERIVATIVE = """a product of float8_e4m3fn and float8_e4m3fn has no derivative
  help: differentiate the product of the arrays before they were rounded"""
CASES = {
    "blocks of another length": (
        lambda: ops.matmul(A, B, a_scale=jnp.ones((4, 3)), b_scale=jnp.ones((2, 1))),
        "a_scale has shape (4, 3), which is not broadcast to (4, 1)" + LEGAL,
    ),
    "turned": (
        lambda: ops.matmul(A, B, a_scale=jnp.ones((4, 2)), b_scale=jnp.ones((8, 2))),
        "b_scale has shape (8, 2), which is not broadcast to (1, 8)" + LEGAL,
    ),
    "one dimension": (
        lambda: ops.matmul(A, B, a_scale=jnp.ones(2)),
        "a_scale has shape (2,), which is not broadcast to (4, 1)" + LEGAL,
    ),
    "16 bits": (
        lambda: ops.matmul(jnp.ones((4, 256)), jnp.ones((256, 8)), a_scale=jnp.ones((4, 2))),
        """a_scale has shape (4, 2), a number for each 128 of K; a has elements of type float32
  legal: float8_e4m3fn float8_e5m2 with scales of blocks""",
    ),
    "groups with other scales": (
        lambda: RAGGED(A, B[None], jnp.ones(1, int), lhs_scale=jnp.ones((4, 3))),
        "lhs_scale has shape (4, 3), which is not broadcast to (4, 1)"
        + LEGAL.replace("of a", "of lhs").replace("of b,", "of rhs,"),
    ),
    "groups of other types": (
        lambda: RAGGED(jnp.ones((4, 6)), jnp.ones((1, 6, 8)), jnp.ones(1, int), lhs_scale=1.0),
        """lhs has elements of type float32, which has no scales
  legal: float8_e4m3fn float8_e5m2""",
    ),
    "a derivative of groups": (
        lambda: jax.grad(lambda s: RAGGED(A, B[None], jnp.ones(1, int), lhs_scale=s).sum())(1.0),
        NO_DERIVATIVE,
    ),
    "a derivative": (
        lambda: jax.grad(lambda s: WIDE(A, B, a_scale=s).sum())(jnp.ones((4, 2))),
        NO_DERIVATIVE,
    ),
    "forward mode": (
        lambda: jax.jvp(lambda s: WIDE(A, B, a_scale=s), [jnp.ones((4, 2))], [jnp.ones((4, 2))]),
        NO_DERIVATIVE,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES)
def test_the_whole_message(call, message):
    with pytest.raises(CallError) as caught:
        call()
    where, _, text = str(caught.value).partition(": ")
    file, _, line = where.rpartition(":")
    assert (file, int(line)) == (__file__, call.__code__.co_firstlineno)
    problem, _source, *notes = text.splitlines()
    assert "\n".join([problem, *notes]) == message
