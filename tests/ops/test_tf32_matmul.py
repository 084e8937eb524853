"""`matmul` and `dot_general` of f32 arrays by one product of tf32 numbers, in the emulator."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tests.ops.test_matmul import EXACT, NUMBERS, SHAPES, mesh, normal, off

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import CallError, ops  # noqa: E402

TF32 = partial(ops.matmul, precision="tf32")
PRESET = jax.lax.DotAlgorithmPreset.TF32_TF32_F32
SUMS = 2e-6
"""What adding products loses."""
ROUNDED = 2.0**-10
"""What rounding both factors loses."""


def rounded(x):
    """To 10 bits of fraction, in float64."""
    return np.asarray(jax.lax.reduce_precision(x, 8, 10)).astype(np.float64)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_values(shapes):
    a, b = (normal(shape, seed=seed) for seed, shape in enumerate(shapes))
    d = TF32(a, b)
    assert d.dtype == jnp.float32
    assert off(d, rounded(a) @ rounded(b)) < SUMS


@pytest.mark.sampled(16)
@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("sizes", [(72, 264, 200), (33, 41, 71)], ids=str)
def test_every_target(target, sizes):
    m, n, k = sizes
    a, b = normal((m, k)), normal((k, n), seed=1)
    with pyptx.target(target):
        d = jax.jit(TF32)(a, b)
        assert off(d, rounded(a) @ rounded(b)) < SUMS
        assert SUMS * 10 < off(d, EXACT(a, b)) < ROUNDED
        assert off(ops.matmul(a, b, precision="highest"), EXACT(a, b)) < SUMS * 4


@pytest.mark.parametrize("spelled", ["tf32", "tensorfloat32", "TF32_TF32_F32", PRESET], ids=str)
def test_how_it_is_spelled(spelled):
    a, b = normal((8, 16)), normal((16, 8), seed=1)
    assert np.array_equal(ops.matmul(a, b, precision=spelled), TF32(a, b))


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "spelled",
    ["highest", jax.lax.Precision.HIGHEST, jax.lax.DotAlgorithmPreset.BF16_BF16_F32_X6],
    ids=str,
)
def test_how_the_other_is_spelled(spelled):
    a, b = normal((8, 16)), normal((16, 8), seed=1)
    assert np.array_equal(ops.matmul(a, b, precision=spelled), ops.matmul(a, b))


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("numbers", "left", "right"), NUMBERS, ids=str)
def test_dot_general(numbers, left, right):
    lhs, rhs = normal(left), normal(right, seed=1)
    found = ops.dot_general(lhs, rhs, numbers, precision=PRESET)
    exact = jax.lax.dot_general(rounded(lhs), rounded(rhs), numbers, precision="highest")
    assert off(found, exact) < SUMS


def test_what_follows_the_product():
    a, b, bias = normal((40, 72)), normal((72, 48), seed=1), normal((48,), seed=2)
    d = TF32(a, b, bias=bias, activation="relu", out_dtype=jnp.bfloat16)
    exact = np.maximum(rounded(a) @ rounded(b) + np.asarray(bias), 0)
    assert (d.dtype, off(d, exact) < 4e-3) == (jnp.bfloat16, True)


def test_nan_and_infinity():
    a = jnp.ones((16, 16)).at[3, 4].set(jnp.inf).at[5, 6].set(jnp.nan)
    d = np.asarray(TF32(a, jnp.ones((16, 16))))
    assert np.isnan(d[5]).all()
    assert np.isposinf(d[3]).all()
    assert (d[[0, 15]] == 16).all()


@pytest.mark.parametrize(
    "shapes",
    [pytest.param(((24, 40), (40, 16)), marks=pytest.mark.sweep), ((3, 20, 24), (24, 16))],
    ids=str,
)
def test_gradients_are_of_tf32_too(shapes):
    a, b = (normal(shape, seed=seed) for seed, shape in enumerate(shapes))
    g = normal(jnp.matmul(a, b).shape, seed=2)
    da, db = jax.vjp(TF32, a, b)[1](g)
    assert off(da, rounded(g) @ rounded(b).T) < SUMS
    flat = [x.reshape(-1, x.shape[-1]) for x in (rounded(a), rounded(g))]
    assert off(db, flat[0].T @ flat[1]) < SUMS

    def second(f):
        once = jax.grad(lambda a, b: jnp.sum(f(a, b) ** 2))
        return jax.grad(lambda a, b: jnp.sum(once(a, b) ** 2), argnums=(0, 1))(a, b)

    assert max(map(off, second(TF32), second(EXACT))) < ROUNDED * 4


def test_gradients_of_a_layer():
    a, b, bias = normal((24, 40)), normal((40, 16), seed=1), normal((16,), seed=2)

    def loss(f, a, b, bias):
        return jnp.sum(jax.nn.silu(f(a, b) + bias) ** 2)

    found = jax.grad(lambda *x: jnp.sum(TF32(*x[:2], bias=x[2], activation="silu") ** 2), (0, 1, 2))
    exact = jax.grad(partial(loss, EXACT), (0, 1, 2))
    assert max(map(off, found(a, b, bias), exact(a, b, bias))) < ROUNDED * 4


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)], ids=str)
def test_vmap(axes):
    a, b = normal((4, 16, 24)), normal((4, 24, 8), seed=1)
    given = [x if axis == 0 else x[0] for x, axis in zip((a, b), axes, strict=True)]
    assert off(jax.vmap(TF32, axes)(*given), rounded(given[0]) @ rounded(given[1])) < SUMS


@pytest.mark.parametrize(
    ("of_a", "of_b", "sent"),
    [(P("x"), P(), {}), (P(), P(None, "x"), {}), (P(None, "x"), P("x"), {"all-reduce": 1})],
    ids=["rows", "columns", "K"],
)
def test_sharding(of_a, of_b, sent):
    a, b = normal((64, 128)), normal((128, 96), seed=1)
    arrays = [jax.device_put(x, NamedSharding(mesh(), p)) for x, p in ((a, of_a), (b, of_b))]
    program = jax.jit(TF32).lower(*arrays).compile()
    assert pyptx.collectives(program) == sent
    assert off(program(*arrays), rounded(a) @ rounded(b)) < SUMS


def test_an_exported_product_of_any_number_of_rows():
    (rows,) = jax.export.symbolic_shape("M")
    a, b = normal((64, 128)), normal((128, 96), seed=1)
    checks = pyptx.export_safety_checks()
    exported = jax.export.export(jax.jit(TF32), platforms=("cpu",), disabled_checks=checks)(
        jax.ShapeDtypeStruct((rows, 128), a.dtype), jax.ShapeDtypeStruct(b.shape, b.dtype)
    )
    loaded = jax.export.deserialize(exported.serialize())
    for count in (64, 13):
        assert off(loaded.call(a[:count], b), rounded(a[:count]) @ rounded(b)) < SUMS


# ---- misuse --------------------------------------------------------------------------------------

A, B = jnp.ones((4, 6)), jnp.ones((6, 8))
LEGAL = """
  legal: None "highest" "tf32" jax.lax.DotAlgorithmPreset.TF32_TF32_F32"""
CASES = {
    "another precision": (
        lambda: ops.matmul(A, B, precision="fast"),
        "there is no precision 'fast'" + LEGAL,
    ),
    "bf16": (
        lambda: TF32(A.astype(jnp.bfloat16), B.astype(jnp.bfloat16)),
        "precision tf32 is of float32; a has elements of type bfloat16",
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
