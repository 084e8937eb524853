"""Matrix products with an epilogue as operations of JAX, in the emulator."""

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
from pyptx import PtxError, ops, ptx  # noqa: E402
from pyptx.ops.tensor_core import hopper, plan  # noqa: E402
from pyptx.ops.tensor_core.epilogue import Layer, with_sums  # noqa: E402
from pyptx.ops.tensor_core.shape import Product  # noqa: E402
from pyptx.types import bf16  # noqa: E402

TOLERANCE = {"bfloat16": 6e-3, "float16": 1e-3, "float32": 1e-6}
EXACT = partial(jnp.matmul, precision="highest")
ACTIVATIONS = {
    None: lambda x: x,
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "gelu": partial(jax.nn.gelu, approximate=False),
    "gelu_tanh": partial(jax.nn.gelu, approximate=True),
}
TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120"]


def normal(shape, dtype=jnp.float32, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def off(found, expected):
    """The distance over the length."""
    found, expected = (np.asarray(x).astype(np.float64) for x in (found, expected))
    assert found.shape == expected.shape
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-300)


def layer(a, b, a_scale=1, b_scale=1, bias=0, activation=None, residual=0):
    """What `matmul` says that it gives, by jax.numpy."""
    a, b, bias, residual = (jnp.asarray(x, jnp.float32) for x in (a, b, bias, residual))
    return ACTIVATIONS[activation](EXACT(a, b) * a_scale * b_scale + bias) + residual


def gated(x, gate, up, activation):
    x, gate, up = (jnp.asarray(v, jnp.float32) for v in (x, gate, up))
    return ACTIVATIONS[activation](EXACT(x, gate)) * EXACT(x, up)


@pytest.mark.sampled(32, each=("dtype", "activation"))
@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_a_layer(dtype, activation):
    a, b = normal((33, 72), dtype), normal((72, 41), dtype, 1)
    given = {"bias": normal((41,), seed=2), "residual": normal((33, 41), dtype, 3)}
    d = ops.matmul(a, b, activation=activation, **given)
    assert d.dtype == dtype
    assert off(d, layer(a, b, activation=activation, **given)) < TOLERANCE[np.dtype(dtype).name]


@pytest.mark.parametrize("name", ["a_scale", "b_scale", "bias", "residual"])
def test_each_part_alone(name):
    shapes = {"a_scale": (3, 20, 1), "b_scale": (1, 16), "bias": (16,), "residual": (20, 1)}
    a, b = normal((3, 20, 24)), normal((24, 16), seed=1)
    given = {name: normal(shapes[name], seed=2)}
    assert off(ops.matmul(a, b, **given), layer(a, b, **given)) < 1e-6
    assert off(ops.matmul(a, b, a_scale=0.5, b_scale=3), layer(a, b, 0.5, 3)) < 1e-6


BATCHES = [
    ((2, 3, 20, 24), (3, 24, 16), (2, 3, 1, 16), (3, 20, 16)), ((20, 24), (3, 24, 16), (16,), ()),
    ((3, 20, 24), (24, 16), (3, 1, 16), (1, 20, 16)), ((1, 20, 24), (1, 24, 16), (16,), (16,)),
    ((24,), (24, 16), (16,), (16,)), ((20, 24), (24,), (1,), (20,)),
    ((20, 0), (0, 16), (16,), (20, 16)), ((0, 8), (8, 16), (16,), (0, 16)),
]  # fmt: skip


@pytest.mark.sampled(12)
@pytest.mark.parametrize("shapes", BATCHES, ids=str)
def test_batches(shapes):
    a, b, bias, residual = (normal(shape, seed=i) for i, shape in enumerate(shapes))
    d = ops.matmul(a, b, bias=bias, activation="silu", residual=residual)
    total = EXACT(a, b)
    exact = jax.nn.silu(total + (bias if b.ndim > 1 else bias[0])) + residual
    assert off(d, exact) < 1e-6


@pytest.mark.parametrize("kind", [jnp.float8_e4m3fn, jnp.float8_e5m2])
def test_eight_bits(kind):
    a, b = (normal(shape, seed=i).astype(kind) for i, shape in enumerate([(40, 48), (48, 24)]))
    given = {"a_scale": normal((40, 1), seed=2), "bias": normal((24,), seed=3)}
    with pyptx.target("sm_90a"):
        d = ops.matmul(a, b, activation="relu", **given)
    exact = layer(a.astype(jnp.float32), b.astype(jnp.float32), activation="relu", **given)
    assert off(d, exact) < 6e-3


@pytest.mark.sampled(16)
@pytest.mark.parametrize("activation", [None, "relu", "silu", "gelu", "gelu_tanh"])
def test_gradients(activation):
    a, b = normal((3, 20, 24)), normal((24, 16), seed=1)
    parts = {
        "a_scale": normal((3, 20, 1), seed=2), "b_scale": normal((1, 16), seed=3),
        "bias": normal((16,), seed=4), "residual": normal((20, 16), seed=5),
    }  # fmt: skip

    def loss(f, a, b, parts):
        return jnp.sum(jnp.sin(f(a, b, activation=activation, **parts) / 16))

    found = jax.grad(partial(loss, ops.matmul), (0, 1, 2))(a, b, parts)
    exact = jax.grad(partial(loss, layer), (0, 1, 2))(a, b, parts)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(exact), strict=True):
        assert off(one, other) < 2e-6


def test_gradients_of_the_second_order():
    a, b, bias = normal((20, 24)), normal((24, 16), seed=1), normal((16,), seed=2)

    def slope(f, b, bias):
        return jnp.sum(jax.grad(lambda a: jnp.sum(jnp.sin(f(a, b, bias))))(a) ** 2)

    one = partial(ops.matmul, activation="gelu_tanh")
    found = jax.grad(partial(slope, lambda a, b, c: one(a, b, bias=c)), (0, 1))(b, bias)
    exact = jax.grad(
        partial(slope, lambda a, b, c: layer(a, b, bias=c, activation="gelu_tanh")), (0, 1)
    )(b, bias)
    for one, other in zip(found, exact, strict=True):
        assert off(one, other) < 5e-6


@pytest.mark.sampled(20)
@pytest.mark.parametrize("activation", ["silu", "gelu", "gelu_tanh", "relu"])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32])
def test_two_matrices(dtype, activation):
    x, gate, up = (
        normal(shape, dtype, i) for i, shape in enumerate([(2, 20, 40), (40, 72), (40, 72)])
    )
    tolerance = TOLERANCE[np.dtype(dtype).name]
    d = ops.gated_matmul(x, gate, up, activation=activation)
    assert off(d, gated(x, gate, up, activation)) < tolerance

    def loss(f, *arrays):
        return jnp.sum(jnp.sin(f(*arrays, activation=activation).astype(jnp.float32) / 64))

    found = jax.grad(partial(loss, ops.gated_matmul), (0, 1, 2))(x, gate, up)
    exact = jax.grad(partial(loss, gated), (0, 1, 2))(x, gate, up)
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == dtype
        assert off(one, other) < 4 * tolerance


@pytest.mark.sampled(8)
@pytest.mark.parametrize("target", TARGETS)
def test_every_target(target):
    x, gate, up = (
        normal(shape, jnp.bfloat16, i) for i, shape in enumerate([(40, 40), (40, 72), (40, 72)])
    )
    with pyptx.target(target):
        assert off(ops.gated_matmul(x, gate, up), gated(x, gate, up, "silu")) < 6e-3
        bias = normal((72,), seed=4)
        d = ops.matmul(x, up, bias=bias, activation="gelu")
        assert off(d, layer(x, up, bias=bias, activation="gelu")) < 6e-3


# ---- a function of the user's --------------------------------------------------------------------


def soft_cap(total, cap):
    return cap * ptx.math.tanh(total / cap)


def test_a_function_of_your_own():
    a, b, cap = normal((20, 24)), normal((24, 16), seed=1), jnp.abs(normal((16,), seed=2)) + 1
    own = partial(ops.fused_matmul, reference=lambda s, cap: cap * jnp.tanh(s / cap))
    exact = cap * jnp.tanh(EXACT(a, b) / cap)
    assert off(own(a, b, soft_cap, columns=[cap]), exact) < 1e-6

    def loss(a, b, cap):
        return jnp.sum(own(a, b, soft_cap, columns=[cap]) ** 2)

    def plain(a, b, cap):
        return jnp.sum((cap * jnp.tanh(EXACT(a, b) / cap)) ** 2)

    for one, other in zip(
        jax.grad(loss, (0, 1, 2))(a, b, cap), jax.grad(plain, (0, 1, 2))(a, b, cap), strict=True
    ):
        assert off(one, other) < 5e-6


def test_further_results_and_two_matrices_of_your_own():
    a, b, c = normal((20, 24)), normal((24, 16), seed=1), normal((24, 16), seed=2)
    row, element = normal((20,), jnp.bfloat16, 3), normal((20, 16), jnp.float16, 4)

    def kernel(one, other, row, element):
        return one * row + element, one - other

    def reference(one, other, row, element):
        return one * row + element, one - other

    run = partial(ops.fused_matmul, epilogue=kernel, further=[jnp.bfloat16], reference=reference)

    def found(a, b, c, row):
        return run(a, (b, c), rows=[row], elements=[element])

    def exact(a, b, c, row):
        return reference(EXACT(a, b), EXACT(a, c), row[:, None].astype(jnp.float32), element)

    d, more = found(a, b, c, row)
    assert (d.dtype, more.dtype) == (jnp.float32, jnp.bfloat16)
    for one, other in zip((d, more), exact(a, b, c, row), strict=True):
        assert off(one, other) < 6e-3

    def loss(f, *arrays):
        d, more = f(*arrays)
        return jnp.sum(d**2) + jnp.sum(jnp.sin(more.astype(jnp.float32)))

    for one, other in zip(
        jax.grad(partial(loss, found), (0, 1, 2, 3))(a, b, c, row),
        jax.grad(partial(loss, exact), (0, 1, 2, 3))(a, b, c, row),
        strict=True,
    ):
        assert off(one, other) < 2e-2


# ---- vmap and several devices --------------------------------------------------------------------

AXES = [(0, None, None), (None, 0, None), (None, None, 0), (0, 0, None), (0, None, 0), (1, 1, 1)]


@pytest.mark.sampled(24, each="twice")
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("twice", [False, True])
def test_vmap(axes, twice):
    shapes = [(20, 24), (24, 16), (16,)]
    if twice:
        shapes = [(3, *shape) for shape in shapes]
    shapes = [
        shape if axis is None else (*shape[:axis], 2, *shape[axis:])
        for shape, axis in zip(shapes, axes, strict=True)
    ]
    arrays = [normal(shape, seed=i) for i, shape in enumerate(shapes)]

    def mapped(f):
        inner = lambda a, b, c: f(a, b, bias=c, activation="silu", residual=c)
        return jax.vmap(jax.vmap(inner) if twice else inner, axes)(*arrays)

    assert off(mapped(ops.matmul), mapped(layer)) < 1e-6


def mesh(kind=AxisType.Auto):
    return jax.make_mesh((4,), ("x",), axis_types=(kind,))


@pytest.mark.parametrize(
    ("of_a", "of_b", "of_bias", "sent"),
    [
        (P("x"), P(), P(), {}),
        (P(), P(None, "x"), P("x"), {}),
        (P(None, "x"), P("x"), P(), {"all-gather": 2}),
    ],
    ids=["rows", "columns", "K"],
)
def test_sharding(of_a, of_b, of_bias, sent):
    a, b, bias = normal((64, 128)), normal((128, 96), seed=1), normal((96,), seed=2)
    f = jax.jit(lambda a, b, c: ops.matmul(a, b, bias=c, activation="relu"))
    arrays = [
        jax.device_put(x, NamedSharding(mesh(), p))
        for x, p in ((a, of_a), (b, of_b), (bias, of_bias))
    ]
    program = f.lower(*arrays).compile()
    assert pyptx.collectives(program) == sent
    assert off(program(*arrays), layer(a, b, bias=bias, activation="relu")) < 3e-6


def test_parts_of_scaled_sums_are_added():
    a, b, scale = normal((16, 128)), normal((128, 24), seed=1), normal((1, 24), seed=2)
    f = jax.jit(lambda a, b, s: ops.matmul(a, b, b_scale=s))
    arrays = [
        jax.device_put(x, NamedSharding(mesh(), p))
        for x, p in ((a, P(None, "x")), (b, P("x")), (scale, P()))
    ]
    program = f.lower(*arrays).compile()
    assert pyptx.collectives(program) == {"all-reduce": 1}
    assert off(program(*arrays), layer(a, b, b_scale=scale)) < 1e-6


@pytest.mark.parametrize("mapped", [False, True], ids=["jit", "shard_map"])
def test_gradients_of_split_rows(mapped):
    x, w, bias = normal((4, 16, 32)), normal((32, 24), seed=1), normal((24,), seed=2)

    def loss(f, x, w, bias):
        return jnp.sum(f(x, w, bias=bias, activation="gelu") ** 2)

    exact = jax.grad(partial(loss, layer), argnums=(1, 2))(x, w, bias)
    total = partial(loss, ops.matmul)
    if mapped:
        total = jax.shard_map(
            lambda *arrays: jax.lax.psum(loss(ops.matmul, *arrays), "x"),
            mesh=mesh(), in_specs=(P("x"), P(), P()), out_specs=P(),
        )  # fmt: skip
    arrays = [
        jax.device_put(v, NamedSharding(mesh(), p)) for v, p in ((x, P("x")), (w, P()), (bias, P()))
    ]
    found = jax.jit(jax.grad(total, argnums=(1, 2)))(*arrays)
    for one, other in zip(found, exact, strict=True):
        assert off(one, other) < 2e-6


def test_an_exported_layer_of_any_number_of_rows():
    (rows,) = jax.export.symbolic_shape("M")
    a, b = normal((64, 128), jnp.bfloat16), normal((128, 96), jnp.bfloat16, 1)
    bias = normal((96,), seed=2)
    shapes = [jax.ShapeDtypeStruct((rows, 128), a.dtype)]
    shapes += [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (b, bias)]
    f = jax.jit(lambda a, b, c: ops.matmul(a, b, bias=c, activation="relu"))
    checks = pyptx.export_safety_checks()
    program = jax.export.export(f, platforms=("cpu",), disabled_checks=checks)(*shapes)
    loaded = jax.export.deserialize(program.serialize())
    for count in (64, 5):
        x = a[:count]
        assert off(loaded.call(x, b, bias), layer(x, b, bias=bias, activation="relu")) < 6e-3


# ---- what is chosen, and messages ----------------------------------------------------------------


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.sweep)])
def test_kernels_keep_their_sums_asynchronous(every):
    """An epilogue neither serializes the products nor spills, in any shape that is chosen."""
    parts = Layer(bias=bf16, activation="gelu", residual=bf16).epilogue
    pair = Layer(activation="silu", paired=True).epilogue
    epilogues = (parts, with_sums(parts, bf16), pair, with_sums(pair, bf16))
    for at, epilogue in enumerate(epilogues):
        product = Product(
            bf16, bf16, bf16, epilogue=epilogue, batches=(False,) * len(epilogue.operands)
        )
        fit = sorted({cut.shape for cut in plan.CUTS if plan.fits(cut.shape, product)}, key=str)
        assert len(fit) >= 6
        for shape in fit if every else fit[at :: len(epilogues)]:
            cubin = hopper.build(product, shape).cubin()
            assert cubin.spill_stores == cubin.spill_loads == 0, shape
            assert not cubin.warnings, cubin.log
            assert "serialized" not in cubin.log


A, B = normal((4, 16)), normal((16, 8), seed=1)


def no_derivative():
    return jax.grad(lambda a: ops.fused_matmul(a, B, lambda total: total + 1.0).sum())(A)


CASES = {
    "an activation": (
        lambda: ops.matmul(A, B, activation="swish"),
        """
        there is no activation 'swish'
          legal: relu silu gelu gelu_tanh
        """,
    ),
    "a bias of another length": (
        lambda: ops.matmul(A, B, bias=jnp.ones(4)),
        """
        bias has shape (4,), which is not broadcast to (8,)
        """,
    ),
    "a residual of another shape": (
        lambda: ops.matmul(A, B, residual=jnp.ones((4, 4))),
        """
        residual has shape (4, 4), which is not broadcast to (4, 8)
        """,
    ),
    "a bias that is no array": (
        lambda: ops.matmul(A, B, bias=[1.0] * 8),
        """
        bias is of type list and must be an array of one that is added
          legal: bfloat16 float16 float32
        """,
    ),
    "a residual of integers": (
        lambda: ops.matmul(A, B, residual=jnp.ones((4, 8), int)),
        """
        residual is of type int32 and must be an array of one that is added
          legal: bfloat16 float16 float32
        """,
    ),
    "two matrices of two shapes": (
        lambda: ops.gated_matmul(A, B, jnp.ones((16, 16))),
        """
        gate has shape (16, 8) and up (16, 16); they have one
        """,
    ),
    "another K": (
        lambda: ops.gated_matmul(A, jnp.ones((8, 8)), jnp.ones((8, 8))),
        """
        x has shape (4, 16) and gate (8, 8); x's last dimension is gate's last but one
          legal: (..., M, K) @ (..., K, N)
        """,
    ),
    "three matrices": (
        lambda: ops.fused_matmul(A, (B, B, B), lambda x, y, z: x),
        """
        b is a tuple of 3 arrays, and may be of two
        """,
    ),
    "no matrices": (
        lambda: ops.fused_matmul(A, (), lambda x: x),
        """
        b is a tuple of 0 arrays, and may be of two
        """,
    ),
    "a gate without an activation": (
        lambda: ops.gated_matmul(A, B, B, activation=None),
        """
        activation is None, and a gate needs one
          legal: relu silu gelu gelu_tanh
        """,
    ),
    "a further result of no type": (
        lambda: ops.fused_matmul(A, B, lambda t: (t, t), further=[[1]]),
        """
        the result's type is [1]
          legal: bfloat16 float16 float32
        """,
    ),
    "too few parameters": (
        lambda: ops.fused_matmul(A, B, lambda t: t, rows=[jnp.ones(4)]),
        """
        <lambda>(t) cannot take its registers: one sum, 1 of rows
          legal: epilogue(*sums, *of_rows, *of_columns, *of_elements)
        """,
    ),
    "too many parameters": (
        lambda: ops.fused_matmul(
            A, (B, B), lambda x, y, r, c, e, f: x, columns=[jnp.ones(8)] * 2, elements=[A @ B]
        ),
        """
        <lambda>(x, y, r, c, e, f) cannot take its registers: two sums, 2 of columns, 1 of elements
          legal: epilogue(*sums, *of_rows, *of_columns, *of_elements)
        """,
    ),
    "a reference of other results": (
        lambda: jax.grad(
            lambda a: ops.fused_matmul(
                a, B, lambda t: (t, t), further=[jnp.float32], reference=lambda t: t
            )[0].sum()
        )(A),
        """
        reference gives 1 of 2 results
          help: reference= is the same function on arrays
        """,
    ),
    "rows of another length": (
        lambda: ops.fused_matmul(A, B, lambda s, r: s * r, rows=[jnp.ones(8)]),
        """
        an array of rows has shape (8,), which is not broadcast to (4,)
        """,
    ),
    "no reference": (
        no_derivative,
        """
        this epilogue has no derivative: fused_matmul was not given reference=
          help: reference=function of the sums and operands as arrays
        """,
    ),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES)
def test_the_whole_message(call, message):
    with pytest.raises(PtxError) as caught:
        call()
    place, _, text = str(caught.value).partition(": ")
    assert place.rpartition(":")[0] == __file__
    problem, _source, *notes = text.splitlines()
    assert "\n".join([problem, *notes]) == textwrap.dedent(message).strip()
