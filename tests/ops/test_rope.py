"""Rotary position embedding: values, derivatives, maps, shardings, exported programs, errors."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import pyptx  # noqa: E402
from pyptx import CallError, ops  # noqa: E402
from pyptx.ops._rope import Rope, kernel_of  # noqa: E402
from pyptx.types import bf16, f32  # noqa: E402

TYPES = {jnp.bfloat16: 2**-8, jnp.float16: 2**-10, np.float32: 1e-6, np.float64: 1e-14}
SHAPES = [
    ((2, 3), 4, 2, 8),
    ((5,), 32, 8, 128),
    ((2, 2), 3, 3, 6),
    ((3,), 1, 1, 2),
    ((1,), 2, 1, 514),
    ((40,), 9, 3, 64),
    ((), 4, 4, 64),
    ((2,), 1, 1, 4098),
]


def turned(x, positions, interleaved, base=10000.0, xp=np):
    """The formula in float64, whose angles are exact for positions that are not far."""
    half = x.shape[-1] // 2
    angle = positions[..., None] * base ** (-np.arange(half) / half)
    cosine, sine = xp.cos(angle)[..., None, :], xp.sin(angle)[..., None, :]
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    first, second = a * cosine - b * sine, b * cosine + a * sine
    if interleaved:
        return xp.stack([first, second], -1).reshape(x.shape)
    return xp.concatenate([first, second], -1)


def arguments(lead, heads, keys, size, dtype=np.float32, far=40):
    random = np.random.default_rng(size)
    q = random.standard_normal((*lead, heads, size)).astype(dtype)
    k = random.standard_normal((*lead, keys, size)).astype(dtype)
    return q, k, np.asarray(random.integers(-far, far, lead), np.int32)


@pytest.mark.sampled(56, each=("dtype", "interleaved"))
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("interleaved", [False, True], ids=["halves", "interleaved"])
def test_values_and_gradients(dtype, shape, interleaved):
    rotate = partial(ops.rope, interleaved=interleaved)
    with jax.enable_x64(dtype is np.float64), pyptx.sanitize():
        q, k, positions = map(jnp.asarray, arguments(*shape, dtype=dtype))
        found, pull = jax.vjp(lambda q, k: rotate(q, k, positions), q, k)
        back = pull(found)
    for y, x, again in zip(found, (q, k), back, strict=True):
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        exact = turned(np.asarray(x).astype(np.float64), np.asarray(positions), interleaved)
        limit = TYPES[dtype] * np.abs(exact).max()
        assert np.abs(np.asarray(y).astype(np.float64) - exact).max() <= limit
        # The gradient turns back.
        away = np.asarray(again).astype(np.float64) - np.asarray(x).astype(np.float64)
        assert np.abs(away).max() <= 2 * limit


def test_angles_of_far_positions_lose_no_digits():
    q, k, _ = arguments((4,), 1, 1, 64)
    positions = np.array([2**31 - 1, -(2**31), 2**24 + 1, 10**6], np.int32)
    y, _ = ops.rope(q, k, positions)
    exact = turned(q.astype(np.longdouble), positions.astype(np.longdouble), interleaved=False)
    # In float64 the first angle itself is right to 2**31 times a unit in its last place.
    assert np.abs(np.asarray(y) - exact).max() < 2e-6


def test_second_derivatives_and_another_base():
    q, k, positions = map(jnp.asarray, arguments((3,), 2, 1, 6))

    def of(rotate):
        return lambda q: (rotate(q) ** 3).sum()

    ours = of(lambda q: ops.rope(q, k, positions, base=50.0)[0])
    exact = of(lambda q: turned(q, positions, interleaved=False, base=50.0, xp=jnp))
    found, expected = (jax.jacrev(jax.grad(f))(q) for f in (ours, exact))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_vmap_is_one_launch_of_more_tokens():
    q, k, positions = map(jnp.asarray, arguments((4, 3), 2, 1, 8))
    mapped = jax.vmap(ops.rope)
    for found, expected in zip(mapped(q, k, positions), ops.rope(q, k, positions), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert str(jax.make_jaxpr(mapped)(q, k, positions)).count("pyptx_launch[") == 1
    shared = jax.vmap(ops.rope, (0, 0, None))(q, k, positions[0])
    np.testing.assert_array_equal(shared[0], ops.rope(q, k, positions[0])[0])


def test_sharded_tokens_need_no_collective():
    mesh = jax.make_mesh((8,), ("tokens",), axis_types=(AxisType.Auto,))
    arrays = arguments((16,), 2, 1, 8)
    placed = [jax.device_put(a, NamedSharding(mesh, P("tokens"))) for a in arrays]
    compiled = jax.jit(ops.rope).lower(*placed).compile()
    assert pyptx.collectives(compiled) == {}
    np.testing.assert_array_equal(compiled(*placed)[0], ops.rope(*arrays)[0])


def test_export_and_no_tokens():
    arrays = arguments((6,), 2, 1, 8)
    (size,) = jax.export.symbolic_shape("b")
    shapes = [jax.ShapeDtypeStruct((size, *a.shape[1:]), a.dtype) for a in arrays]
    exported = jax.export.export(jax.jit(ops.rope), disabled_checks=pyptx.export_safety_checks())(
        *shapes
    )
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(*arrays)[1], ops.rope(*arrays)[1])
    assert ops.rope(*arguments((0,), 2, 1, 8))[0].shape == (0, 2, 8)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("dtype", [bf16, f32], ids=lambda dtype: dtype.name)
def test_every_target_assembles_it(arch, dtype):
    for interleaved in (False, True):
        cubin = kernel_of(Rope(dtype, 128, (32, 8), interleaved, back=False)).cubin(arch=arch)
        assert cubin.spill_stores == 0


Q, K, AT = jnp.ones((3, 2, 8)), jnp.ones((3, 1, 8)), np.arange(3, dtype=np.int32)
CASES = {
    "odd heads": (
        lambda: ops.rope(Q[..., :5], K[..., :5], AT),
        "q has shape (3, 2, 5), and rope takes (..., heads, D) with D even",
    ),
    "other keys": (
        lambda: ops.rope(Q, K[:2], AT),
        "k has shape (2, 1, 8), and q (3, 2, 8); heads alone may differ",
    ),
    "keys of another type": (
        lambda: ops.rope(Q, K.astype(jnp.bfloat16), AT),
        "k is bfloat16[3, 1, 8], and q float32[3, 2, 8]\n  help: k.astype(q.dtype)",
    ),
    "positions that are no integers": (
        lambda: ops.rope(Q, K, Q[:, 0, 0]),
        "positions are float32 and must be an array of integers",
    ),
    "wide positions": (
        lambda: ops.rope(Q, K, np.arange(3)),
        "positions are int64; kernels take int32\n  help: positions.astype(jax.numpy.int32)",
    ),
    "positions of another shape": (
        lambda: ops.rope(Q, K, np.arange(2, dtype=np.int32)),
        "positions have shape (2,), which does not broadcast to (3,)",
    ),
    "a list of positions": (
        lambda: ops.rope(Q, K, [0, 1, 2]),
        "positions are list and must be an array of integers",
    ),
    "a small base": (
        lambda: ops.rope(Q, K, AT, base=0.5),
        "base is 0.5 and must be at least 1",
    ),
    "interleaved as a number": (
        lambda: ops.rope(Q, K, AT, interleaved=2),
        "interleaved is 2 and must be True or False",
    ),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES)
def test_the_whole_message(call, message):
    with pytest.raises(CallError) as caught:
        call()
    where, _, text = str(caught.value).partition(": ")
    assert where == f"{__file__}:{call.__code__.co_firstlineno}"
    problem, _source, *notes = text.splitlines()
    assert "\n".join([problem, *notes]) == message


@pytest.mark.parametrize("base", [10000.0, 1.0])
def test_far_positions_in_f64(base):
    """An angle's error is that of its frequency times the position: 64 bits were not enough."""
    positions = np.array([0, -7, 20000, 2**31 - 1, -(2**31)], np.int32)
    q = np.random.default_rng(0).standard_normal((5, 1, 8))
    with localcontext() as context:
        context.prec = 60
        tau = Decimal("6.28318530717958647692528676655900576839433879875021164194988")
        frequencies = [(-Decimal(base).ln() * 2 * i / 8).exp() / tau for i in range(4)]
        turns = [[int(p) * f % 1 for f in frequencies] for p in positions]
    angles = 2 * np.pi * np.array(turns, np.float64)[:, None]
    a, b = q[..., :4], q[..., 4:]
    sine, cosine = np.sin(angles), np.cos(angles)
    expected = np.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1)
    with jax.enable_x64(True):
        found, _ = ops.rope(jnp.asarray(q), jnp.asarray(q), jnp.asarray(positions), base=base)
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-15)
