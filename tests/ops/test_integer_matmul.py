"""`matmul` of 8-bit integers, in the emulator: exact sums, and what follows from them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tests.ops.test_matmul import SHAPES, TOLERANCE, mesh, normal, off

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import CallError, ops  # noqa: E402

TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
KINDS = [(jnp.int8, jnp.int8), (jnp.uint8, jnp.int8), (jnp.int8, jnp.uint8), (jnp.uint8, jnp.uint8)]
EXACT = partial(jnp.matmul, preferred_element_type=jnp.int32)


def integers(shape, dtype=jnp.int8, seed=0):
    """From the smallest to the largest of the type."""
    limits = jnp.iinfo(dtype)
    values = np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape)
    return jnp.asarray(values, dtype)


def same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_sums_are_exact(shapes):
    a, b = (integers(shape, seed=seed) for seed, shape in enumerate(shapes))
    same(ops.matmul(a, b), EXACT(a, b))


@pytest.mark.sampled(24, each="target")
@pytest.mark.parametrize(
    "kinds", KINDS, ids=lambda kinds: "-".join(np.dtype(k).name for k in kinds)
)
@pytest.mark.parametrize("target", TARGETS)
def test_every_target_and_sign(kinds, target):
    a, b = integers((72, 200), kinds[0]), integers((200, 264), kinds[1], 1)
    with pyptx.target(target):
        found = jax.jit(ops.matmul)(a, b)
    same(found, jnp.asarray(np.asarray(a, np.int64) @ np.asarray(b, np.int64), jnp.int32))


@pytest.mark.parametrize("target", [pytest.param("sm_80", marks=pytest.mark.sweep), "sm_90a"])
def test_sums_beyond_32_bits_wrap(target):
    """As those of JAX: 255 * 255 * 66560 is more than 2**32."""
    a, b = jnp.full((2, 66560), 255, jnp.uint8), jnp.full((66560, 16), 255, jnp.uint8)
    with pyptx.target(target):
        same(ops.matmul(a, b), EXACT(a, b))


@pytest.mark.sampled(32, each="target")
@pytest.mark.parametrize("out", [None, jnp.float32, jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_scales_as_inference_has_them(out, target):
    """A number for each row of activations and each column of weights."""
    x, w = normal((40, 200)), normal((200, 48), seed=1) / 10
    rows = jnp.abs(x).max(1, keepdims=True) / 127
    columns = jnp.abs(w).max(0, keepdims=True) / 127
    a, b = jnp.round(x / rows).astype(jnp.int8), jnp.round(w / columns).astype(jnp.int8)
    bias, residual = normal((48,), seed=2), normal((40, 48), jnp.bfloat16, 3)
    exact = np.asarray(a, np.float64) @ np.asarray(b, np.float64)
    exact = exact * np.asarray(rows, np.float64) * np.asarray(columns, np.float64)
    with pyptx.target(target):
        d = ops.matmul(a, b, a_scale=rows, b_scale=columns, out_dtype=out)
        assert d.dtype == (jnp.bfloat16 if out is None else out)
        assert off(d, exact) < TOLERANCE[d.dtype.name]
        assert off(d, x @ w) < 0.02
        d = ops.matmul(
            a, b, a_scale=rows, b_scale=columns, bias=bias, activation="relu", residual=residual,
            out_dtype=out,
        )  # fmt: skip
    with_all = np.maximum(exact + np.asarray(bias), 0) + np.asarray(residual, np.float64)
    assert off(d, with_all) < TOLERANCE[d.dtype.name]


def test_results_of_floats_without_scales():
    a, b = integers((33, 71)), integers((71, 41), seed=1)
    exact = np.asarray(EXACT(a, b), np.float64)
    for dtype in (jnp.float32, jnp.bfloat16):
        assert off(ops.matmul(a, b, out_dtype=dtype), exact) < TOLERANCE[np.dtype(dtype).name]


def test_dot_general_and_pairs():
    a, b = integers((3, 20, 24)), integers((3, 16, 24), seed=1)
    numbers = (((2,), (2,)), ((0,), (0,)))
    same(
        ops.dot_general(a, b, numbers, preferred_element_type=jnp.int32),
        jax.lax.dot_general(a, b, numbers, preferred_element_type=jnp.int32),
    )
    gate, up = integers((24, 16), seed=2) // 16, integers((24, 16), seed=3) // 16
    x = a[0] // 16
    found = ops.gated_matmul(x, gate, up, activation="relu", out_dtype=jnp.float32)
    assert off(found, jax.nn.relu(EXACT(x, gate)) * EXACT(x, up)) < 1e-6
    half = ops.fused_matmul(x, gate, lambda total: total * 0.5, out_dtype=jnp.float32)
    assert off(half, EXACT(x, gate) / 2) == 0


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)], ids=str)
def test_vmap(axes):
    a, b = integers((4, 16, 24)), integers((4, 24, 8), seed=1)
    given = [x if axis == 0 else x[0] for x, axis in zip((a, b), axes, strict=True)]
    same(jax.vmap(ops.matmul, axes)(*given), jax.vmap(EXACT, axes)(*given))


@pytest.mark.parametrize(
    ("of_a", "of_b", "sent"),
    [(P("x"), P(), {}), (P(), P(None, "x"), {}), (P(None, "x"), P("x"), {"all-reduce": 1})],
    ids=["rows", "columns", "K"],
)
def test_sharding(of_a, of_b, sent):
    a, b = integers((64, 128)), integers((128, 96), seed=1)
    arrays = [jax.device_put(x, NamedSharding(mesh(), p)) for x, p in ((a, of_a), (b, of_b))]
    program = jax.jit(ops.matmul).lower(*arrays).compile()
    assert pyptx.collectives(program) == sent
    same(jax.device_get(program(*arrays)), jax.device_get(EXACT(a, b)))


def test_an_exported_product_of_any_number_of_rows():
    (rows,) = jax.export.symbolic_shape("M")
    a, b = integers((64, 128)), integers((128, 96), seed=1)
    checks = pyptx.export_safety_checks()
    exported = jax.export.export(jax.jit(ops.matmul), platforms=("cpu",), disabled_checks=checks)(
        jax.ShapeDtypeStruct((rows, 128), a.dtype), jax.ShapeDtypeStruct(b.shape, b.dtype)
    )
    loaded = jax.export.deserialize(exported.serialize())
    for count in (64, 13):
        same(loaded.call(a[:count], b), EXACT(a[:count], b))


# ---- misuse --------------------------------------------------------------------------------------

A, B = jnp.ones((4, 6), jnp.int8), jnp.ones((6, 8), jnp.int8)
CASES = {
    "an integer and a float": (
        lambda: ops.matmul(A, B.astype(jnp.float32)),
        """a has elements of type int8 and b of float32; matmul takes one type
  help: b.astype(a.dtype)""",
    ),
    "a result of 8 bits": (
        lambda: ops.matmul(A, B, out_dtype=jnp.int8),
        """the result's type is int8
  legal: bfloat16 float16 float32 int32 float8_e4m3fn float8_e5m2""",
    ),
    "an integer of a scaled sum": (
        lambda: ops.matmul(A, B, a_scale=0.5, out_dtype=jnp.int32),
        """the result's type is int32
  legal: bfloat16 float16 float32 float8_e4m3fn float8_e5m2""",
    ),
    "integers of floats": (
        lambda: ops.matmul(A.astype(jnp.float32), B.astype(jnp.float32), out_dtype=jnp.int32),
        """the result's type is int32
  legal: bfloat16 float16 float32 float8_e4m3fn float8_e5m2""",
    ),
    "scales of blocks": (
        lambda: ops.matmul(jnp.tile(A, (1, 43)), jnp.tile(B, (43, 1)), a_scale=jnp.ones((4, 3))),
        """a_scale has shape (4, 3), a number for each 128 of K; a has elements of type int8
  legal: float8_e4m3fn float8_e5m2 with scales of blocks""",
    ),
    "a derivative": (
        lambda: jax.grad(lambda s: ops.matmul(A, B, a_scale=s, out_dtype="float32").sum())(1.0),
        """a product of int8 and int8 has no derivative
  help: differentiate the product of the arrays before they were rounded""",
    ),
    "by columns": (
        lambda: ops.dot_general(A, B, (((1,), (0,)), ((), ()))),
        """dimension numbers (((1,), (0,)), ((), ())) are no matrix product without a transpose: \
of 8 bits, those that are summed over come last
  help: jax.numpy.moveaxis brings dimensions there, by a copy""",
    ),
    "groups": (
        lambda: ops.ragged_dot(A, B[None], jnp.ones(1, jnp.int32)),
        """lhs has elements of type int8
  legal: bfloat16 float16 float32 float8_e4m3fn float8_e5m2""",
    ),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES)
def test_the_whole_message(call, message):
    with pytest.raises(CallError) as caught:
        call()
    where, _, text = str(caught.value).partition(": ")
    file, _, line = where.rpartition(":")
    assert (file, int(line)) == (__file__, call.__code__.co_firstlineno)
    problem, _source, *notes = text.splitlines()
    assert "\n".join([problem, *notes]) == message
