"""`matmul` and `gated_matmul` with results of 8 bits and the largest absolute value."""

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
MOST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}
WIDE = partial(ops.matmul, out_dtype=jnp.float32)


def rounded(x, dtype):
    """As the conversion with saturation rounds."""
    most = MOST[np.dtype(dtype).name]
    return jnp.clip(x, -most, most).astype(dtype)


def same(found, expected, dtype):
    """The rounded result, but for neighbours where a sum lies next to the middle of two."""
    assert found.dtype == dtype
    one, other = (np.asarray(x).astype(np.float32) for x in (found, expected))
    assert one.shape == other.shape
    differ = one != other
    assert np.mean(differ) < 0.005
    np.testing.assert_allclose(one[differ], other[differ], rtol=0.26)


SIZES = [(1, 8, 16), (72, 136, 200), (33, 41, 71), (129, 257, 64)]


@pytest.mark.sampled(64, each=("target", "kind", "out"))
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("out", [E4M3, E5M2])
@pytest.mark.parametrize("kind", [jnp.bfloat16, jnp.float32, E4M3])
@pytest.mark.parametrize("target", ["sm_89", "sm_90a"])
def test_values(sizes, out, kind, target):
    m, n, k = sizes
    a, b = normal((m, k), kind), normal((k, n), kind, 1)
    with pyptx.target(target):
        d, amax = jax.jit(partial(ops.matmul, out_dtype=out, out_scale=3.0, amax=True))(a, b)
        whole = WIDE(a, b)
        same(ops.matmul(a, b, out_dtype=out), rounded(whole, out), out)
    same(d, rounded(whole * 3, out), out)
    assert (amax.shape, amax.dtype) == ((), jnp.float32)
    np.testing.assert_allclose(amax, jnp.abs(whole).max(), rtol=1e-6)


@pytest.mark.sampled(24, each=("target", "out"))
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120a"])
@pytest.mark.parametrize("out", [jnp.float32, jnp.bfloat16])
def test_amax_of_other_results(target, out):
    a, b = normal((200, 72), jnp.bfloat16), normal((72, 264), jnp.bfloat16, 1)
    with pyptx.target(target):
        d, amax = ops.matmul(a, b, out_dtype=out, amax=True)
        assert off(d, ops.matmul(a, b, out_dtype=out)) == 0
        assert amax == jnp.abs(WIDE(a, b)).max()


@pytest.mark.parametrize("target", [pytest.param("sm_89", marks=pytest.mark.sweep), "sm_90a"])
def test_saturation_and_nan(target):
    """11 columns: kernels multiply infinity by more of them."""
    a = jnp.zeros((16, 16)).at[3, 4].set(jnp.inf).at[7, 8].set(-1e6)
    b = jnp.ones((16, 11))
    with pyptx.target(target):
        d, amax = ops.matmul(a, b, out_dtype=E4M3, amax=True)
        assert (d[3] == 448).all()
        assert (d[7] == -448).all()
        assert amax == jnp.inf
        d, amax = ops.matmul(a.at[5, 6].set(jnp.nan), b, out_dtype=E4M3, amax=True)
        assert jnp.isnan(d[5]).all()
        assert not jnp.isnan(d[6]).any()
        assert jnp.isnan(amax)
        d, amax = ops.matmul(a.at[3, 4].set(0), b, out_dtype=E4M3, amax=True, out_scale=1e-6)
        assert amax == 1e6
        assert (d[7] == -1).all()


def test_every_part_of_a_layer():
    a, b = normal((3, 40, 72), E4M3), normal((72, 48), E4M3, 1)
    rows, columns = jnp.abs(normal((3, 40, 1), seed=2)), jnp.abs(normal((1, 48), seed=3))
    bias, residual = normal((48,), seed=4), normal((3, 40, 48), seed=5)
    parts = {
        "a_scale": rows, "b_scale": columns, "bias": bias, "activation": "gelu",
        "residual": residual,
    }  # fmt: skip
    scale = jnp.abs(normal((3, 40, 1), seed=6))
    d, amax = ops.matmul(a, b, out_dtype=E4M3, out_scale=scale, amax=True, **parts)
    whole = WIDE(a, b, **parts)
    same(d, rounded(whole * scale, E4M3), E4M3)
    np.testing.assert_allclose(amax, jnp.abs(whole).max(), rtol=1e-6)
    blocks = {"a_scale": jnp.full((3, 40, 1), 0.5), "b_scale": jnp.ones((1, 1))}
    d, amax = ops.matmul(a, b, out_dtype=E4M3, amax=True, **blocks)
    same(d, rounded(WIDE(a, b) / 2, E4M3), E4M3)


@pytest.mark.sampled(16, each=("target", "by_column"))
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize("target", ["sm_89", "sm_90a"])
def test_block_scales_too(by_column, target):
    a, b = normal((72, 300), E4M3), normal((300, 136), E4M3, 1)
    scales = {
        "a_scale": jnp.abs(normal((72, 3), seed=2)),
        "b_scale": jnp.abs(normal((3, 136 if by_column else 2), seed=3)),
    }
    with pyptx.target(target):
        d, amax = ops.matmul(a, b, out_dtype=E5M2, out_scale=8, amax=True, **scales)
        whole = WIDE(a, b, **scales)
    same(d, rounded(whole * 8, E5M2), E5M2)
    np.testing.assert_allclose(amax, jnp.abs(whole).max(), rtol=1e-6)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("kind", [jnp.bfloat16, E4M3, jnp.int8])
@pytest.mark.parametrize("target", ["sm_89", "sm_90a"])
def test_pairs(kind, target):
    shapes = (40, 72), (72, 72), (72, 72)
    x, gate, up = ((normal(s, seed=i) * 4).astype(kind) for i, s in enumerate(shapes))
    rows = jnp.abs(normal((40, 1), seed=3)) / 4
    of_gate, of_up = (jnp.abs(normal((1, 72), seed=i)) / 4 for i in (4, 5))
    scales = {"x_scale": rows, "gate_scale": of_gate, "up_scale": of_up}
    with pyptx.target(target):
        d, amax = ops.gated_matmul(x, gate, up, out_dtype=E4M3, out_scale=2, amax=True, **scales)
        one = WIDE(x, gate, a_scale=rows, b_scale=of_gate)
        whole = jax.nn.silu(one) * WIDE(x, up, a_scale=rows, b_scale=of_up)
        wide = ops.gated_matmul(x, gate, up, out_dtype=jnp.float32, **scales)
    assert off(wide, whole) < 1e-6
    same(d, rounded(whole * 2, E4M3), E4M3)
    np.testing.assert_allclose(amax, jnp.abs(whole).max(), rtol=1e-5)


def test_a_gradient_of_scaled_pairs():
    x, gate, up = (normal(shape, seed=i) for i, shape in enumerate([(24, 16), (16, 8), (16, 8)]))
    scales = [jnp.abs(normal(shape, seed=i)) for i, shape in enumerate([(24, 1), (1, 8), (1, 8)])]

    def loss(x, gate, up, *scales):
        names = ("x_scale", "gate_scale", "up_scale")
        return (ops.gated_matmul(x, gate, up, **dict(zip(names, scales, strict=True))) ** 2).sum()

    def exact(x, gate, up, rows, one, other):
        product = partial(jnp.matmul, precision="highest")
        first, second = product(x, gate) * rows * one, product(x, up) * rows * other
        return ((jax.nn.silu(first) * second) ** 2).sum()

    found, expected = (
        jax.grad(f, argnums=tuple(range(6)))(x, gate, up, *scales) for f in (loss, exact)
    )
    assert max(map(off, found, expected)) < 1e-5


def test_an_epilogue_of_ones_own():
    a, b = normal((40, 72), jnp.bfloat16), normal((72, 48), jnp.bfloat16, 1)
    d, whole = ops.fused_matmul(
        a, b, lambda total: (total * 2.0, total), out_dtype=E4M3, further=[jnp.float32]
    )
    same(d, rounded(whole * 2, E4M3), E4M3)
    assert off(whole, WIDE(a, b)) == 0


def test_nothing():
    for m, n, k in ((0, 8, 8), (8, 0, 8), (8, 8, 0)):
        d, amax = ops.matmul(jnp.ones((m, k)), jnp.ones((k, n)), out_dtype=E4M3, amax=True)
        assert (d.shape, d.dtype, float(amax)) == ((m, n), E4M3, 0.0)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("axes", [(0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0)])
def test_vmap(axes):
    """Each product has its own largest value and scale."""
    a, b, scale = normal((4, 16, 24)), normal((4, 24, 8), seed=1), jnp.arange(1.0, 5.0)
    given = [x if axis == 0 else x[0] for x, axis in zip((a, b, scale), axes, strict=True)]
    f = jax.vmap(lambda a, b, s: ops.matmul(a, b, out_dtype=E4M3, out_scale=s, amax=True), axes)
    d, amax = f(*given)
    sums = jnp.broadcast_to(WIDE(*given[:2]), (4, 16, 8))
    np.testing.assert_allclose(amax, jnp.abs(sums).max((1, 2)), rtol=1e-6)
    same(d, rounded(sums * jnp.reshape(given[2], (-1, 1, 1)), E4M3), E4M3)


@pytest.mark.parametrize(
    ("of_a", "of_b", "sent"),
    [
        (P("x"), P(), {"all-reduce": 1}),
        (P(), P(None, "x"), {"all-gather": 1}),
        (P(None, "x"), P("x"), {"all-gather": 2}),
    ],
    ids=["rows", "columns", "K"],
)
def test_sharding(of_a, of_b, sent):
    a, b = normal((64, 128), jnp.bfloat16), normal((128, 96), jnp.bfloat16, 1)
    arrays = [jax.device_put(x, NamedSharding(mesh(), p)) for x, p in ((a, of_a), (b, of_b))]
    f = jax.jit(partial(ops.matmul, out_dtype=E4M3, out_scale=2, amax=True))
    program = f.lower(*arrays).compile()
    assert pyptx.collectives(program) == sent
    d, amax = program(*arrays)
    whole = jnp.asarray(jax.device_get(WIDE(a, b)))
    np.testing.assert_allclose(amax, jnp.abs(whole).max(), rtol=1e-6)
    same(jax.device_get(d), rounded(whole * 2, E4M3), E4M3)


def test_results_of_8_bits_alone_need_no_communication():
    a, b = normal((64, 128), jnp.bfloat16), normal((128, 1024), jnp.bfloat16, 1)
    for of_a, of_b in ((P("x"), P()), (P(), P(None, "x"))):
        arrays = [jax.device_put(x, NamedSharding(mesh(), p)) for x, p in ((a, of_a), (b, of_b))]
        program = jax.jit(partial(ops.matmul, out_dtype=E4M3)).lower(*arrays).compile()
        assert pyptx.collectives(program) == {}


def test_an_exported_product_of_any_number_of_rows():
    (rows,) = jax.export.symbolic_shape("M")
    a, b = normal((64, 128), jnp.bfloat16), normal((128, 96), jnp.bfloat16, 1)
    f = jax.jit(lambda a: ops.matmul(a, b, out_dtype=E4M3, out_scale=2, amax=True))
    checks = pyptx.export_safety_checks()
    exported = jax.export.export(f, platforms=("cpu",), disabled_checks=checks)(
        jax.ShapeDtypeStruct((rows, 128), a.dtype)
    )
    loaded = jax.export.deserialize(exported.serialize())
    for count in (64, 13):
        d, amax = loaded.call(a[:count])
        same(d, f(a[:count])[0], E4M3)
        assert amax == f(a[:count])[1]


# ---- misuse --------------------------------------------------------------------------------------

A, B = jnp.ones((4, 6)), jnp.ones((6, 8))
HELP = "\n  help: differentiate the product with out_dtype=jax.numpy.bfloat16"


def on_ampere():
    with pyptx.target("sm_80"):
        return ops.matmul(A, B, out_dtype=E4M3)


CASES = {
    "a scale for each column": (
        lambda: ops.matmul(A, B, out_scale=jnp.ones(8)),
        """out_scale has shape (8,), which is not broadcast to (4, 1)
  legal: one number, or (..., M, 1)""",
    ),
    "a derivative": (
        lambda: jax.grad(lambda a: WIDE(a, B, amax=True)[0].sum())(A),
        "a product with an amax as a result has no derivative" + HELP,
    ),
    "a derivative of 8 bits": (
        lambda: jax.vjp(lambda a: ops.matmul(a, B, out_dtype=E4M3), A),
        "a product with float8_e4m3fn as a result has no derivative" + HELP,
    ),
    "a pair's scale": (
        lambda: ops.gated_matmul(A, B, B, up_scale=jnp.ones((8, 1))),
        """up_scale has shape (8, 1), which is not broadcast to (1, 8)
  legal: (..., M, 1) of x, (..., 1, N) of gate and up, one number""",
    ),
    "dot_general": (
        lambda: ops.dot_general(A, B, (((1,), (0,)), ((), ())), preferred_element_type=E4M3),
        """the result's type is float8_e4m3fn
  legal: bfloat16 float16 float32""",
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


def test_a_target_without_results_of_8_bits():
    with pytest.raises(CallError) as caught:
        on_ampere()
    problem, _source, *notes = str(caught.value).partition(": ")[2].splitlines()
    assert problem == "matmul with a result of e4m3 has no kernels for sm_80"
    assert notes == ["  legal: sm_89 and later", "  help: a result of bfloat16"]


@pytest.mark.sampled(16, each=("target", "out"))
@pytest.mark.parametrize("target", ["sm_89", "sm_90a"])
@pytest.mark.parametrize("out", [E4M3, E5M2])
def test_gates_of_f32(out, target):
    """Two matrices of f32 have no kernel with results of 8 bits: f32 elements are rounded."""
    x, *pair = (normal(s, jnp.float32, i) for i, s in enumerate(((5, 40), (40, 24), (40, 24))))
    gate, up = pair
    with pyptx.target(target):
        d, amax = ops.gated_matmul(x, gate, up, out_dtype=out, out_scale=2.0, amax=True)
        whole = ops.gated_matmul(x, gate, up)
    np.testing.assert_array_equal(bits(d), bits(rounded(2 * whole, out)))
    np.testing.assert_allclose(amax, jnp.abs(whole).max(), rtol=1e-6)


def bits(x):
    return np.asarray(x).view(np.uint8)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("each", [False, True], ids=["one", "rows"])
@pytest.mark.parametrize(
    "parts", ["", "bias", "residual", "a_scale", "activation", "a_scale bias residual activation"]
)
def test_derivatives_of_scaled_results(parts, each):
    """A result's scale is another number of each row, beside those of `a_scale`."""
    a, b = normal((3, 5, 16), jnp.float32), normal((16, 8), jnp.float32, 1)
    scale = jnp.linspace(0.5, 2, 15).reshape(3, 5, 1) if each else jnp.float32(1.5)
    options = {
        "bias": jnp.linspace(-1, 1, 8),
        "residual": normal((3, 5, 8), jnp.float32, 2),
        "a_scale": jnp.linspace(1, 2, 5)[:, None],
        "activation": "silu",
    }
    options = {name: value for name, value in options.items() if name in parts.split()}
    floats = {name: value for name, value in options.items() if name != "activation"}

    def found(a, b, scale, floats):
        return (ops.matmul(a, b, out_scale=scale, **(options | floats)) ** 2).sum()

    def wanted(a, b, scale, floats):
        total = jnp.matmul(a, b, precision="highest") * floats.get("a_scale", 1)
        total = total + floats.get("bias", 0)
        total = jax.nn.silu(total) if "activation" in options else total
        return (((total + floats.get("residual", 0)) * scale) ** 2).sum()

    pairs = (jax.grad(f, range(4))(a, b, scale, floats) for f in (found, wanted))
    for one, other in zip(*map(jax.tree.leaves, pairs), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)


def test_derivatives_of_a_scaled_gate():
    x, *pair = (normal(s, jnp.float32, i) for i, s in enumerate(((5, 16), (16, 8), (16, 8))))

    def found(x, gate, up, scale):
        return (ops.gated_matmul(x, gate, up, out_scale=scale) ** 2).sum()

    def wanted(x, gate, up, scale):
        one, other = (jnp.matmul(x, each, precision="highest") for each in (gate, up))
        return ((jax.nn.silu(one) * other * scale) ** 2).sum()

    given = x, *pair, jnp.float32(0.25)
    pairs = (jax.grad(f, range(4))(*given) for f in (found, wanted))
    for one, other in zip(*pairs, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4)
