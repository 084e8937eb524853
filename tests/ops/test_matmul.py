"""`matmul` and `dot_general` as operations of JAX, in the emulator."""

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
from pyptx._recent import Recent  # noqa: E402
from pyptx.ops import _matmul_jax  # noqa: E402
from pyptx.ops.tensor_core import plan  # noqa: E402
from pyptx.ops.tensor_core.shape import Product  # noqa: E402
from pyptx.types import bf16  # noqa: E402

TOLERANCE = {"bfloat16": 4e-3, "float16": 5e-4, "float32": 2e-6}
"""Tensor cores cut their sums instead of rounding them, to 24 bits each 16 products."""
EIGHT_BITS = 2e-4
"""The same of products of 8 bits, whose sums Hopper cuts to fewer."""
EXACT = partial(jnp.matmul, precision="highest")
SHAPES = [
    ((64, 72), (72, 40)), ((33, 71), (71, 41)), ((7,), (7, 9)), ((5, 7), (7,)), ((7,), (7,)),
    ((1, 1), (1, 1)), ((3, 20, 24), (24, 16)), ((2, 3, 20, 24), (3, 24, 16)),
    ((20, 24), (3, 24, 16)), ((2, 1, 20, 24), (1, 3, 24, 16)), ((3, 9, 11), (3, 11, 13)),
    ((0, 8), (8, 8)), ((8, 8), (8, 0)), ((8, 0), (0, 8)), ((0, 4, 8), (8, 8)),
    ((2, 8, 0), (2, 0, 4)),
]  # fmt: skip


def normal(shape, dtype=jnp.float32, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def off(found, expected):
    """The distance over the length."""
    found, expected = (np.asarray(x).astype(np.float64) for x in (found, expected))
    assert found.shape == expected.shape
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-300)


@pytest.mark.sampled(24, each="dtype")
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_values(shapes, dtype):
    a, b = (normal(shape, dtype, seed) for seed, shape in enumerate(shapes))
    d = ops.matmul(a, b)
    assert d.dtype == dtype
    exact = np.asarray(a).astype(np.float64) @ np.asarray(b).astype(np.float64)
    assert off(d, exact) < TOLERANCE[np.dtype(dtype).name]


KEPT = [
    ((64, 72), (72, 40), {}, True), ((2, 24, 72), (72, 40), {}, True),
    ((64, 72), (72, 40), {"out_dtype": jnp.float32}, True), ((33, 72), (72, 40), {}, True),
    ((64, 71), (71, 40), {}, False), ((64, 72), (72, 41), {}, False),
    ((72,), (72, 40), {}, False), ((2, 24, 72), (2, 72, 40), {}, False),
    ((64, 72), (72, 40), {"activation": "relu"}, False), ((0, 72), (72, 40), {}, False),
]  # fmt: skip


@pytest.mark.sampled(32, each=("kept", "dtype"))
@pytest.mark.parametrize(("of_a", "of_b", "options", "kept"), KEPT, ids=str)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_a_product_that_is_one_launch_is_kept(of_a, of_b, options, kept, dtype, monkeypatch):
    """Called again, it needs no checks; whatever else is called gives what it gave before."""
    known = Recent(8)
    monkeypatch.setattr(_matmul_jax, "KNOWN", known)
    a, b = normal(of_a, dtype), normal(of_b, dtype, 1)
    first = ops.matmul(a, b, **options)
    assert len(known) == (kept and dtype != jnp.float32)
    again, jitted = ops.matmul(a, b, **options), jax.jit(partial(ops.matmul, **options))(a, b)
    host = ops.matmul(np.asarray(a), np.asarray(b), **options)
    for found in (again, jitted, host):
        assert isinstance(found, jax.Array)
        assert (found.shape, found.dtype) == (first.shape, first.dtype)
        assert np.array_equal(found, first)
    others = jax.vmap(partial(ops.matmul, **options), (0, None))(jnp.stack([a, a]), b)
    assert off(others[1], first) < TOLERANCE[np.dtype(dtype).name]
    jax.grad(lambda a: ops.matmul(a, b, **options).astype(jnp.float32).sum())(a)
    with pytest.raises(CallError, match="a has shape"):
        ops.matmul(a[..., 1:], b, **options)


@pytest.mark.sampled(20, each=("out", "dtype"))
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
@pytest.mark.parametrize("out", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_the_type_of_the_result(dtype, out):
    a, b = normal((24, 40), dtype), normal((40, 32), dtype, 1)
    d = ops.matmul(a, b, out_dtype=out)
    assert d.dtype == out
    exact = np.asarray(a).astype(np.float64) @ np.asarray(b).astype(np.float64)
    assert off(d, exact) < TOLERANCE[np.dtype(out).name]


EIGHT = [(jnp.float8_e4m3fn, jnp.float8_e4m3fn), (jnp.float8_e5m2, jnp.float8_e4m3fn)]


@pytest.mark.sampled(28, each="dtypes")
@pytest.mark.parametrize(
    "shapes", [s for s in SHAPES if s != ((2, 1, 20, 24), (1, 3, 24, 16))], ids=str
)
@pytest.mark.parametrize("dtypes", EIGHT, ids=["e4m3", "e5m2 e4m3"])
def test_eight_bits(shapes, dtypes):
    a, b = (normal(s, t, seed) for seed, (s, t) in enumerate(zip(shapes, dtypes, strict=True)))
    exact = np.asarray(a).astype(np.float64) @ np.asarray(b).astype(np.float64)
    d = ops.matmul(a, b)
    assert d.dtype == jnp.bfloat16
    assert off(d, exact) < TOLERANCE["bfloat16"]
    assert (
        off(ops.matmul(a, b, out_dtype=jnp.float32, a_scale=0.5, b_scale=3), exact * 1.5)
        < EIGHT_BITS
    )


def test_a_scale_for_each_row_and_column():
    a, b = normal((3, 33, 71), jnp.float8_e4m3fn), normal((71, 41), jnp.float8_e4m3fn, 1)
    rows, columns = jnp.abs(normal((3, 33, 1), seed=2)), jnp.abs(normal((1, 41), seed=3))
    exact = np.asarray(a).astype(np.float64) @ np.asarray(b).astype(np.float64)
    exact = exact * np.asarray(rows) * np.asarray(columns)
    product = partial(ops.matmul, out_dtype=jnp.float32)
    assert off(product(a, b, a_scale=rows, b_scale=columns), exact) < EIGHT_BITS
    mapped = jax.vmap(lambda a, r: product(a, b, a_scale=r, b_scale=columns))(a, rows)
    assert off(mapped, exact) < EIGHT_BITS
    numbers = (((2,), (1,)), ((), ()))
    d = ops.dot_general(a, b.T, numbers, preferred_element_type=jnp.float32)
    assert off(d * rows * columns, exact) < EIGHT_BITS


def test_eight_bits_before_ada():
    a = normal((16, 16), jnp.float8_e4m3fn)
    with pyptx.target("sm_90a", "sm_80"), pytest.raises(CallError) as caught:
        ops.matmul(a, a)
    problem, _source, *notes = str(caught.value).partition(": ")[2].splitlines()
    assert str(caught.value).startswith(__file__)
    assert problem == "matmul of e4m3 has no kernels for sm_80"
    assert notes == ["  legal: sm_89 and later", "  help: convert both factors to bfloat16"]


@pytest.mark.sampled(32, each=("target", "dtypes"))
@pytest.mark.parametrize("target", ["sm_89", "sm_90", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("dtypes", EIGHT, ids=["e4m3", "e5m2 e4m3"])
def test_eight_bits_elsewhere_than_on_hopper(dtypes, target):
    a, b = normal((72, 200), dtypes[0]), normal((200, 264), dtypes[1], 1)
    rows = jnp.abs(normal((72, 1), seed=2))
    with pyptx.target(target):
        d = jax.jit(lambda a, b: ops.matmul(a, b, out_dtype=jnp.float32, a_scale=rows))(a, b)
    exact = np.asarray(a).astype(np.float64) @ np.asarray(b).astype(np.float64) * np.asarray(rows)
    assert off(d, exact) < EIGHT_BITS * 2


def test_f32_keeps_its_bits():
    """Numbers of 24 bits, of which no product is a bf16 number."""
    a = (1 + jnp.arange(64 * 64).reshape(64, 64) * 2.0**-23).astype(jnp.float32)
    exact = np.asarray(a).astype(np.float64) @ np.asarray(a).astype(np.float64)
    # 24 sums, each off by a last bit at most; two parts of each number would be off by 2**-16.
    assert np.abs(np.asarray(ops.matmul(a, a)) / exact - 1).max() < 24 * 2.0**-23


def test_nan_and_infinity():
    a = jnp.ones((16, 16)).at[3, 4].set(jnp.inf).at[5, 6].set(jnp.nan).at[7, 8].set(3.4e38)
    d = np.asarray(ops.matmul(a, jnp.eye(16)))
    with np.errstate(invalid="ignore"):
        expected = np.asarray(a).astype(np.float64) @ np.eye(16)
    assert np.array_equal(np.isnan(d), np.isnan(expected))
    there = ~np.isnan(expected)
    np.testing.assert_allclose(d[there], expected[there], rtol=1e-6)


@pytest.mark.parametrize("target", ["sm_90a", pytest.param("sm_80", marks=pytest.mark.sweep)])
def test_sums_of_f32_are_rounded_to_nearest(target):
    """Tensor cores truncate sums: of positive numbers, all of them become too small."""
    random = np.random.default_rng(0)
    a, b = (random.random(shape).astype(np.float32) for shape in ((16, 4096), (4096, 16)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    with pyptx.target(target):
        plain = ops.matmul(a, b)
        gated = ops.gated_matmul(a, b, b)
        groups = ops.ragged_dot(a, np.stack([b, b]), np.array([7, 9], np.int32))
    np.testing.assert_allclose(plain, exact, rtol=2e-6)
    np.testing.assert_allclose(gated, exact**2, rtol=4e-6)
    np.testing.assert_allclose(groups, exact, rtol=2e-6)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("shapes", [s for s in SHAPES if min(map(len, s)) > 1][:6:2], ids=str)
def test_gradients(shapes):
    a, b = (normal(shape, seed=seed) for seed, shape in enumerate(shapes))
    g = normal(jnp.matmul(a, b).shape, seed=2)
    found, exact = (jax.vjp(f, a, b)[1](g) for f in (ops.matmul, EXACT))
    assert max(map(off, found, exact)) < 1e-6

    def second(f):
        once = jax.grad(lambda a, b: jnp.sum(f(a, b) ** 2))
        return jax.grad(lambda a, b: jnp.sum(once(a, b) ** 2), argnums=(0, 1))(a, b)

    assert max(map(off, second(ops.matmul), second(EXACT))) < 1e-5


def test_gradients_have_no_transposed_copy():
    a, b = normal((64, 128), jnp.bfloat16), normal((128, 96), jnp.bfloat16, 1)
    f = jax.grad(lambda a, b: ops.matmul(a, b).astype(jnp.float32).sum(), argnums=(0, 1))
    assert "stablehlo.transpose" not in jax.jit(f).lower(a, b).as_text()
    turned = jax.jit(lambda a, b: ops.matmul(a, b.T)).lower(a, b.T).as_text()
    assert "stablehlo.transpose" in turned


@pytest.mark.sampled(32, each=("gradient", "axes"))
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0), (1, 2)], ids=str)
@pytest.mark.parametrize("gradient", [False, True])
def test_vmap(axes, gradient):
    a, b = normal((4, 16, 24)), normal((4, 24, 8), seed=1)
    a = a[0] if axes[0] is None else jnp.moveaxis(a, 0, axes[0])
    b = b[0] if axes[1] is None else jnp.moveaxis(b, 0, axes[1])

    def mapped(f):
        if gradient:
            f = jax.grad(lambda a, b, f=f: jnp.sum(f(a, b) ** 2), argnums=(0, 1))
        return jax.tree.leaves(jax.vmap(f, axes)(a, b))

    assert max(map(off, mapped(ops.matmul), mapped(EXACT))) < 1e-6


def test_vmap_of_vmap_and_of_batches():
    a, b = normal((4, 16, 24)), normal((3, 24, 8), seed=1)
    for inner, outer in (((0, None), (None, 0)), ((None, 0), (0, None))):
        found, exact = (jax.vmap(jax.vmap(f, inner), outer)(a, b) for f in (ops.matmul, EXACT))
        assert off(found, exact) < 1e-6
    a, b = normal((2, 3, 16, 24)), normal((3, 24, 8), seed=1)
    found, exact = (jax.vmap(f, (0, None))(a, b) for f in (ops.matmul, EXACT))
    assert off(found, exact) < 1e-6


NUMBERS = [
    ((((1,), (0,)), ((), ())), (20, 24), (24, 8)),
    ((((1,), (1,)), ((), ())), (20, 24), (8, 24)),
    ((((0,), (0,)), ((), ())), (24, 20), (24, 8)),
    ((((0,), (1,)), ((), ())), (24, 20), (8, 24)),
    ((((2,), (1,)), ((0,), (0,))), (3, 20, 24), (3, 24, 8)),
    ((((2, 3), (0, 1)), ((), ())), (2, 5, 4, 6), (4, 6, 8)),
    ((((1,), (2,)), ((0,), (0,))), (3, 24, 5, 2), (3, 8, 24)),
    ((((3, 2), (1, 0)), ((), ())), (2, 5, 4, 6), (4, 6, 8)),
    ((((2, 1), (3, 2)), ((0,), (0,))), (3, 4, 6, 5), (3, 8, 4, 6)),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("numbers", "left", "right"), NUMBERS, ids=str)
def test_dot_general(numbers, left, right):
    lhs, rhs = normal(left), normal(right, seed=1)
    found = ops.dot_general(lhs, rhs, numbers)
    assert off(found, jax.lax.dot_general(lhs, rhs, numbers, precision="highest")) < 1e-6


# ---- several devices -----------------------------------------------------------------------------


def mesh(kind=AxisType.Auto):
    return jax.make_mesh((4,), ("x",), axis_types=(kind,))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("out", [jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize(
    ("of_a", "of_b", "sent"),
    [
        (P("x"), P(), {}),
        (P(), P(None, "x"), {}),
        (P(None, "x"), P("x"), {"all-reduce": 1}),
    ],
    ids=["rows", "columns", "K"],
)
def test_sharding(of_a, of_b, sent, out):
    a, b = normal((64, 128), jnp.bfloat16), normal((128, 96), jnp.bfloat16, 1)
    f = jax.jit(partial(ops.matmul, out_dtype=out))
    arrays = [jax.device_put(x, NamedSharding(mesh(), p)) for x, p in ((a, of_a), (b, of_b))]
    program = f.lower(*arrays).compile()
    assert pyptx.collectives(program) == sent
    exact = np.asarray(a).astype(np.float64) @ np.asarray(b).astype(np.float64)
    assert off(program(*arrays), exact) < TOLERANCE[np.dtype(out).name]


def test_a_block_that_is_split_by_columns_and_then_by_rows():
    x, first, second = normal((16, 64)), normal((64, 128), seed=1), normal((128, 64), seed=2)
    block = jax.jit(lambda x, v, w: ops.matmul(jax.nn.relu(ops.matmul(x, v)), w))
    specs = (P(), P(None, "x"), P("x"))
    arrays = [
        jax.device_put(a, NamedSharding(mesh(), p))
        for a, p in zip((x, first, second), specs, strict=True)
    ]
    program = block.lower(*arrays).compile()
    assert pyptx.collectives(program) == {"all-reduce": 1}
    assert off(program(*arrays), EXACT(jax.nn.relu(EXACT(x, first)), second)) < 1e-6


@pytest.mark.parametrize("mapped", [False, True], ids=["jit", "shard_map"])
def test_gradients_of_split_rows(mapped):
    x, w = normal((4, 16, 32)), normal((32, 24), seed=1)

    def loss(f, x, w):
        return jnp.sum(f(x, w) ** 2)

    exact = jax.grad(partial(loss, EXACT), argnums=1)(x, w)
    total = partial(loss, ops.matmul)
    if mapped:
        total = jax.shard_map(
            lambda x, w: jax.lax.psum(loss(ops.matmul, x, w), "x"),
            mesh=mesh(), in_specs=(P("x"), P()), out_specs=P(),
        )  # fmt: skip
    arrays = [jax.device_put(a, NamedSharding(mesh(), p)) for a, p in ((x, P("x")), (w, P()))]
    assert off(jax.jit(jax.grad(total, argnums=1))(*arrays), exact) < 1e-6


def test_an_explicit_mesh():
    x, w = normal((16, 32), jnp.bfloat16), normal((32, 24), jnp.bfloat16, 1)
    place = mesh(AxisType.Explicit)
    with jax.set_mesh(place):
        a, b = (jax.device_put(v, NamedSharding(place, p)) for v, p in ((x, P("x")), (w, P())))
        d = jax.jit(ops.matmul)(a, b)
        assert jax.typeof(d).sharding.spec == P("x", None)
        dx = jax.jit(jax.grad(lambda a: ops.matmul(a, b).astype(jnp.float32).sum()))(a)
        assert jax.typeof(dx).sharding.spec == P("x", None)


def test_an_exported_product_of_any_number_of_rows():
    (rows,) = jax.export.symbolic_shape("M")
    a, b = normal((64, 128), jnp.bfloat16), normal((128, 96), jnp.bfloat16, 1)
    shapes = jax.ShapeDtypeStruct((rows, 128), a.dtype), jax.ShapeDtypeStruct(b.shape, b.dtype)
    exported = jax.export.export(
        jax.jit(ops.matmul), platforms=("cpu",), disabled_checks=pyptx.export_safety_checks()
    )(*shapes)
    loaded = jax.export.deserialize(exported.serialize())
    for count in (64, 13):
        assert off(loaded.call(a[:count], b), EXACT(a[:count], b)) < 4e-3


@pytest.mark.sampled(10, each="dtype")
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32, jnp.float8_e4m3fn])
@pytest.mark.parametrize("options", [{}, {"activation": "gelu"}, {"amax": True}], ids=str)
def test_an_exported_product_of_any_sizes(dtype, options):
    """Rows that are no multiple of 16 bytes are padded when the program is compiled."""
    m, k, n = jax.export.symbolic_shape("M, K, N")
    f = partial(ops.matmul, out_dtype=jnp.float32, **options)
    exported = jax.export.export(
        jax.jit(f), platforms=("cpu",), disabled_checks=pyptx.export_safety_checks()
    )(jax.ShapeDtypeStruct((m, k), dtype), jax.ShapeDtypeStruct((k, n), dtype))
    loaded = jax.export.deserialize(exported.serialize())
    for size in ((16, 32, 16), (4, 7, 5), (1, 1, 1), (33, 130, 9)):
        a, b = normal(size[:2], dtype), normal(size[1:], dtype, 1)
        found, exact = (jax.tree.leaves(g(a, b)) for g in (loaded.call, f))
        assert max(map(off, found, exact)) < EIGHT_BITS


def test_an_exported_gradient_of_any_sizes():
    p, m, k, n = jax.export.symbolic_shape("P, M, K, N")
    given = normal((2, 3, 7), jnp.bfloat16), normal((2, 7, 5), jnp.bfloat16, 1)
    f = jax.grad(lambda a, b: (ops.matmul(a, b).astype(jnp.float32) ** 2).sum(), (0, 1))
    shapes = ((p, m, k), (p, k, n))
    exported = jax.export.export(
        jax.jit(f), platforms=("cpu",), disabled_checks=pyptx.export_safety_checks()
    )(*(jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes))
    assert max(map(off, exported.call(*given), f(*given))) < 1e-6


# ---- targets and choices -------------------------------------------------------------------------


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_every_target(target):
    a, b = normal((72, 136), jnp.bfloat16), normal((136, 264), jnp.bfloat16, 1)
    with pyptx.target(target):
        assert off(jax.jit(ops.matmul)(a, b), EXACT(a, b)) < 4e-3


def test_what_is_chosen():
    """Large products take a tile with little traffic, few rows a tile of 64."""
    product = Product(bf16, bf16, bf16)
    large = plan.choose(product, 8192, 8192, 8192)
    assert (large.rows, large.columns) in ((256, 192), (128, 256), (128, 192))
    assert plan.choose(product, 4096, 4096, 4096).columns == 256
    assert plan.choose(product, 64, 8192, 8192).rows == 64


# ---- misuse --------------------------------------------------------------------------------------

A, B = jnp.ones((4, 6)), jnp.ones((6, 8))
E4M3 = jnp.float8_e4m3fn
CASES = {
    "sizes that differ": (
        lambda: ops.matmul(A, jnp.ones((5, 8))),
        """
        a has shape (4, 6) and b (5, 8); a's last dimension is b's last but one
          legal: (..., M, K) @ (..., K, N)
        """,
    ),
    "two types": (
        lambda: ops.matmul(A, B.astype(jnp.bfloat16)),
        """
        a has elements of type float32 and b of bfloat16; matmul takes one type
          help: b.astype(a.dtype)
        """,
    ),
    "integers": (
        lambda: ops.matmul(np.ones((4, 6), np.int32), B),
        """
        a has elements of type int32
          legal: bfloat16 float16 float32 float8_e4m3fn float8_e5m2 int8 uint8
        """,
    ),
    "a list": (
        lambda: ops.matmul([[1.0]], B),
        """
        a is a list; matmul takes arrays
          help: jax.numpy.asarray(a)
        """,
    ),
    "a scalar": (
        lambda: ops.matmul(jnp.ones(()), B),
        """
        a has shape () and b (6, 8); a's last dimension is b's last but one
          legal: (..., M, K) @ (..., K, N)
        """,
    ),
    "a result of another type": (
        lambda: ops.matmul(A, B, out_dtype=jnp.int8),
        """
        the result's type is int8
          legal: bfloat16 float16 float32 float8_e4m3fn float8_e5m2
        """,
    ),
    "scales of another length": (
        lambda: ops.matmul(A.astype(E4M3), B.astype(E4M3), b_scale=jnp.ones((8, 1))),
        """
        b_scale has shape (8, 1), which is not broadcast to (1, 8)
          legal: (..., M, 1) of a, (..., 1, N) of b, one number
          legal: of blocks of 128: (..., M, K / 128) of a, (..., K / 128, N / 128) or \
(..., K / 128, N) of b, rounded up
        """,
    ),
    "a derivative of 8 bits": (
        lambda: jax.grad(lambda a: ops.matmul(a, B.astype(E4M3)).sum())(A.astype(E4M3)),
        """
        a product of float8_e4m3fn and float8_e4m3fn has no derivative
          help: differentiate the product of the arrays before they were rounded
        """,
    ),
    "8 bits by columns": (
        lambda: ops.dot_general(A.astype(E4M3), B.astype(E4M3), (((1,), (0,)), ((), ()))),
        """
        dimension numbers (((1,), (0,)), ((), ())) are no matrix product without a transpose: \
of 8 bits, those that are summed over come last
          help: jax.numpy.moveaxis brings dimensions there, by a copy
        """,
    ),
    "batches that differ": (
        lambda: ops.matmul(jnp.ones((2, 4, 6)), jnp.ones((3, 6, 8))),
        """
        a has shape (2, 4, 6) and b (3, 6, 8), whose batches (2,) and (3,) cannot be broadcast
          help: a batch dimension is the same in both, or 1
        """,
    ),
    "forward mode": (
        lambda: jax.jvp(lambda a: ops.matmul(a, B), (A,), (A,)),
        """
        matmul has no derivative in forward mode (jax.jvp, jax.jacfwd)
          help: jax.grad, jax.vjp and jax.jacrev work
        """,
    ),
    "no precision": (
        lambda: ops.matmul(A, B, precision=([], [])),
        """
        there is no precision ([], [])
          legal: None "highest" "tf32" jax.lax.DotAlgorithmPreset.TF32_TF32_F32
        """,
    ),
    "dimensions in the middle": (
        lambda: ops.dot_general(jnp.ones((2, 3, 4)), jnp.ones((3, 5)), (((1,), (0,)), ((), ()))),
        """
        dimension numbers (((1,), (0,)), ((), ())) are no matrix product without a transpose: \
dimensions that are summed over come directly after the batch or last
          help: jax.numpy.moveaxis brings dimensions there, by a copy
        """,
    ),
    "a batch that is not first": (
        lambda: ops.dot_general(A, A, (((0,), (0,)), ((1,), (1,)))),
        """
        dimension numbers (((0,), (0,)), ((1,), (1,))) are no matrix product without a transpose: \
batch dimensions come first, in order
          help: jax.numpy.moveaxis brings dimensions there, by a copy
        """,
    ),
    "sums of different lengths": (
        lambda: ops.dot_general(A, jnp.ones((5, 8)), (((1,), (0,)), ((), ()))),
        """
        lhs has shape (4, 6) and rhs (5, 8), whose sizes along (((1,), (0,)), ((), ())) are not \
equal
        """,
    ),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES)
def test_the_whole_message(call, message):
    with pytest.raises(CallError) as caught:
        call()
    where, _, text = str(caught.value).partition(": ")
    file, _, line = where.rpartition(":")
    assert file == __file__
    assert int(line) == call.__code__.co_firstlineno
    problem, _source, *notes = text.splitlines()
    assert "\n".join([problem, *notes]) == textwrap.dedent(message).strip()


def test_a_target_without_kernels():
    with pyptx.target("sm_75"), pytest.raises(CallError, match="matmul has no kernels for sm_75"):
        ops.matmul(A, B)
