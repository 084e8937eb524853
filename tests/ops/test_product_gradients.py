"""Gradients of products of 16 bits against products in f64, element by element."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

from pyptx import ops, ptx  # noqa: E402

BF16, F16, F32 = jnp.bfloat16, jnp.float16, jnp.float32
ULP = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-22}
LEAST = {"bfloat16": 0.0, "float16": 2.0**-24, "float32": 0.0}
"""What numbers are multiples of near zero."""


def normal(shape, dtype=F32, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def exact(x):
    return np.asarray(x).astype(np.float64)


def check(found, wanted, absolute):
    """Within 1e-6 of the sum of absolute products, and a unit in the last place."""
    kind = found.dtype.name
    bound = 1e-6 * absolute + ULP[kind] * np.abs(wanted) + LEAST[kind]
    assert found.shape == wanted.shape
    assert (np.abs(exact(found) - wanted) <= bound).all()


def check_both(f, a, b, g, product=np.matmul):
    """The gradients of a product of matrices, (..., M, K) and (..., K, N)."""
    da, db = jax.vjp(f, a, b)[1](g)
    assert (da.dtype, db.dtype) == (a.dtype, b.dtype)
    for found, one, other in (
        (da, exact(g), exact(b).swapaxes(-1, -2)), (db, exact(a).swapaxes(-1, -2), exact(g))
    ):  # fmt: skip
        wanted, absolute = product(one, other), product(np.abs(one), np.abs(other))
        batch = tuple(range(wanted.ndim - found.ndim))
        check(found, wanted.sum(batch), absolute.sum(batch))


# ---- results of more bits than the factors -------------------------------------------------------

SHAPES = [
    ((24, 40), (40, 16)), ((9, 35), (35, 7)), ((3, 5, 24), (24, 16)), ((2, 9, 16), (2, 16, 8)),
    ((130, 8), (8, 264)),
]  # fmt: skip
KINDS = {
    "bf16": (BF16, F32, 1.0, 1.0), "large": (F16, F32, 1e5, 0.01), "small": (F16, F32, 1e-8, 1e3),
    "large bf16": (F16, BF16, 1e5, 0.01), "f16 of bf16": (BF16, F16, 1.0, 1.0),
}  # fmt: skip


@pytest.mark.sampled(24, each=("kind", "shapes"))
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_all_bits_of_a_cotangent_are_multiplied(kind, shapes):
    """f16 has the gradients, and not the cotangents, of KINDS."""
    dtype, out, size, factor = KINDS[kind]
    a, b = normal(shapes[0], dtype), normal(shapes[1], dtype, 1)
    (a, b) = (a, b) if factor == 1 else (a * dtype(size**-0.5), b * dtype(factor))
    f = partial(ops.matmul, out_dtype=out)
    g = (normal(jnp.matmul(a, b).shape, seed=2) * size).astype(out)
    check_both(f, a, b, g)


def test_the_majors_of_dot_general():
    for numbers in ((((1,), (1,)), ((), ())), (((0,), (0,)), ((), ()))):
        a, b = (normal((12, 12), BF16, seed) for seed in (0, 1))
        f = partial(ops.dot_general, dimension_numbers=numbers, preferred_element_type=F32)
        g = normal((12, 12), seed=2)
        found, wanted = (
            jax.vjp(h, *x)[1](g)
            for h, x in (
                (f, (a, b)),
                (partial(jax.lax.dot_general, dimension_numbers=numbers, precision="highest"),
                 (a.astype(F32), b.astype(F32))),
            )
        )  # fmt: skip
        for one, other in zip(found, wanted, strict=True):
            check(one, exact(other), 20.0)


def test_a_layer_of_more_bits():
    a, b = normal((9, 40), BF16), normal((40, 24), BF16, 1)
    g, row = normal((9, 24), seed=2), jnp.abs(normal((9, 1), seed=3))
    f = partial(ops.matmul, out_dtype=F32, a_scale=row, bias=jnp.ones(24))
    da, db = jax.vjp(f, a, b)[1](g)
    scaled = exact(g) * exact(row)
    check(da, scaled @ exact(b).T, np.abs(scaled) @ np.abs(exact(b).T))
    check(db, exact(a).T @ scaled, np.abs(exact(a).T) @ np.abs(scaled))


@pytest.mark.parametrize("dtype", [BF16, F16])
def test_derivatives_of_the_second_order(dtype):
    a, b = normal((8, 24), dtype), normal((24, 16), dtype, 1)

    def second(f, a, b):
        once = jax.grad(lambda a, b: jnp.sum(jnp.sin(f(a, b))), (0, 1))
        return jax.grad(lambda a, b: sum(jnp.sum(d.astype(F32) ** 2) for d in once(a, b)), (0, 1))(
            a, b
        )

    found = second(partial(ops.matmul, out_dtype=F32), a, b)
    wanted = second(partial(jnp.matmul, precision="highest"), a.astype(F32), b.astype(F32))
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == dtype
        assert np.linalg.norm(exact(one) - exact(other)) < 0.01 * np.linalg.norm(exact(other))


@pytest.mark.sampled(8, each="kind")
@pytest.mark.parametrize("kind", [k for k in KINDS if KINDS[k][1] is F32])
@pytest.mark.parametrize("lengths", [[4, 0, 9], [13, 0, 0], [20, 1, 3]], ids=str)
def test_groups_of_rows(kind, lengths):
    dtype, _, size, factor = KINDS[kind]
    a, b = normal((24, 40), dtype), normal((3, 40, 10), dtype, 1)
    (a, b) = (a, b) if factor == 1 else (a * dtype(size**-0.5), b * dtype(factor))
    g = normal((24, 10), seed=2) * size
    f = partial(ops.ragged_dot, group_sizes=jnp.array(lengths), preferred_element_type=F32)
    da, db = jax.vjp(f, a, b)[1](g)
    begin = 0
    for i, length in enumerate(lengths):
        rows = slice(begin, begin + length)
        x, h, w = exact(a)[rows], exact(g)[rows], exact(b)[i]
        check(da[rows], h @ w.T, np.abs(h) @ np.abs(w.T))
        check(db[i], x.T @ h, np.abs(x.T) @ np.abs(h))
        begin += length
    assert not exact(da)[begin:].any()


def test_a_result_of_16_bits_has_a_gradient_of_one_product():
    """The parts of a wide cotangent are several times as long, which costs memory traffic."""
    a, b = normal((16, 64), BF16), normal((64, 32), BF16, 1)
    for out, longest in ((BF16, 64), (F32, 96)):
        f = partial(ops.matmul, out_dtype=out)
        text = jax.jit(lambda a, b, g, f=f: jax.vjp(f, a, b)[1](g)).lower(a, b, f(a, b)).as_text()
        assert (f"{longest}xbf16" in text) and ("concatenate" in text) is (out is F32)


# ---- sums and their cotangents beyond f16 --------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 64, 8), (3, 72, 20)], ids=str)
@pytest.mark.parametrize("activation", ["relu", "silu", "gelu", "gelu_tanh"])
def test_sums_beyond_f16_have_a_gradient(activation, shape):
    m, k, n = shape
    a, b = jnp.full((m, k), 100, F16), jnp.full((k, n), -100, F16)
    d, pull = jax.vjp(lambda a: ops.matmul(a, b, activation=activation), a)
    assert not exact(d).any()
    assert not exact(pull(jnp.ones_like(d))[0]).any()


def test_scales_that_bring_sums_back_into_f16():
    a, b, scale = jnp.full((4, 64), 100, F16), jnp.full((64, 8), 100, F16), jnp.float32(1e-7)
    d, pull = jax.vjp(lambda a, s: ops.matmul(a, b, a_scale=s), a, scale)
    da, of_scale = pull(jnp.ones_like(d))
    check(d, np.full((4, 8), 64e4 * 1e-7), 0.064)
    check(da, np.full((4, 64), 8e2 * 1e-7), 8e-5)
    assert abs(float(of_scale) / (32 * 64e4) - 1) < 1e-6


def test_a_gate_beyond_f16():
    x, gate, up = jnp.full((4, 64), 100, F16), jnp.full((64, 8), 1e-6, F16), jnp.full((64, 8), 2e1)
    up = up.astype(F16)
    d, pull = jax.vjp(ops.gated_matmul, x, gate, up)
    exact_gate, exact_up = (x.astype(F32) @ w.astype(F32) for w in (gate, up))
    assert float(exact_up.max()) > 65504
    h, of_h = jax.vjp(lambda s, t: jax.nn.silu(s) * t, exact_gate, exact_up)
    of_gate, of_up = of_h(jnp.full_like(h, 0.5))
    dx, _, dup = pull(jnp.full_like(d, 0.5))
    of_x = of_gate @ gate.astype(F32).T + of_up @ up.astype(F32).T
    np.testing.assert_allclose(exact(dx), exact(of_x), rtol=2e-3)
    np.testing.assert_allclose(exact(dup), exact(x.astype(F32).T @ of_up), rtol=2e-3)


def test_a_function_of_your_own_beyond_f16():
    a, b = jnp.full((4, 64), 100, F16), jnp.full((64, 8), 100, F16)

    def shrunk(total):
        return ptx.inst.mul.rn.f32(total, 1e-7)

    f = partial(ops.fused_matmul, epilogue=shrunk, reference=lambda total: total * 1e-7)
    da = jax.vjp(lambda a: f(a, b), a)[1](jnp.ones((4, 8), F16))[0]
    check(da, np.full((4, 64), 8e2 * 1e-7), 8e-5)


def test_silu_of_minus_infinity_is_zero():
    a, b = jnp.full((3, 16), -jnp.inf), jnp.ones((16, 8))
    assert not exact(ops.matmul(a, b, activation="silu")).any()
    assert not exact(ops.matmul(a.astype(BF16), b.astype(BF16), activation="silu")).any()


# ---- factors that are the same along a part of a batch -------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "shapes",
    [
        ((64, 2, 5, 16), (2, 16, 8)),
        ((33, 2, 5, 16), (1, 2, 16, 8)),
        ((3, 1, 5, 16), (1, 4, 16, 8)),
        ((2, 16, 9), (40, 2, 9, 3)),
        ((2, 3, 1, 4, 8), (3, 5, 8, 8)),
    ],
    ids=str,
)
def test_the_gradient_is_added_up_before_it_is_rounded(shapes):
    """Rounded to bf16 for each element of the batch, sums would be off by more than a bit."""
    a, b = (abs(normal(shape, BF16, seed)) for seed, shape in enumerate(shapes))
    d, pull = jax.vjp(ops.matmul, a, b)
    g = abs(normal(d.shape, BF16, 2))
    wanted = jax.vjp(
        partial(jnp.matmul, precision="highest"), *(x.astype(F32) for x in (a, b))
    )[1](g.astype(F32))  # fmt: skip
    for found, total in zip(pull(g), wanted, strict=True):
        assert found.dtype == BF16
        check(found, exact(total), exact(total))


def test_the_second_order_of_such_a_factor():
    a, b = normal((3, 2, 5, 16)), normal((2, 16, 8), seed=1)

    def second(f):
        once = jax.grad(lambda a, b: jnp.sum(jnp.sin(f(a, b))), (0, 1))
        return jax.grad(lambda a, b: sum(jnp.sum(d**2) for d in once(a, b)), (0, 1))(a, b)

    exactly = second(partial(jnp.matmul, precision="highest"))
    for found, wanted in zip(second(ops.matmul), exactly, strict=True):
        assert np.linalg.norm(found - wanted) < 1e-5 * np.linalg.norm(wanted)


def test_a_layer_of_heads():
    a, b = abs(normal((32, 2, 5, 16), BF16)), abs(normal((2, 16, 8), BF16, 1))
    f = partial(ops.matmul, activation="relu", bias=jnp.ones(8))
    d, pull = jax.vjp(f, a, b)
    g = abs(normal(d.shape, BF16, 2))
    wanted = np.einsum("bhmk,bhmn->hkn", exact(a), exact(g))
    check(pull(g)[1], wanted, wanted)
