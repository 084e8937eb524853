"""Gated activations of one array: values, derivatives, maps, shardings, exports, errors."""

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
from pyptx.ops._gates_one import GateOfOne, kernel_of  # noqa: E402
from pyptx.types import bf16, f64  # noqa: E402

# Rounding to a type, and the arithmetic in f32 or f64 before it.
TYPES = {jnp.bfloat16: 2**-8, jnp.float16: 2**-10, np.float32: 4e-6, np.float64: 2e-14}
GATES = {
    "swiglu": (ops.swiglu, jax.nn.silu),
    "geglu": (ops.geglu, jax.nn.gelu),
    "geglu exact": (
        partial(ops.geglu, approximate=False),
        partial(jax.nn.gelu, approximate=False),
    ),
    "reglu": (ops.reglu, jax.nn.relu),
}
# Several rows in a CTA, several CTAs for a row, vectors of each width.
SHAPES = [(5, 1), (3, 3), (2, 3, 24), (70, 8), (2, 1000), (2, 3001), (3,), (3, 4100)]

each_layout = pytest.mark.parametrize("interleaved", [False, True], ids=["halves", "interleaved"])


def formula(activation, interleaved):
    def of(x):
        n = x.shape[-1] // 2
        a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :n], x[..., n:])
        return activation(a) * b

    return of


def numbers(*shape, dtype=np.float32):
    random = np.random.default_rng(shape[-1])
    return jnp.asarray((2 * random.standard_normal(shape)).astype(dtype))


def close(found, exact, tolerance):
    exact = np.asarray(exact)
    scale = max(1.0, float(np.abs(exact).max()))
    np.testing.assert_allclose(
        np.asarray(found).astype(np.float64), exact, rtol=tolerance, atol=tolerance * scale
    )


def check(gate, dtype, shape, interleaved):
    operation, activation = GATES[gate]
    with jax.enable_x64(dtype is np.float64), pyptx.sanitize():
        x = numbers(*shape[:-1], 2 * shape[-1], dtype=dtype)
        g = numbers(*shape, dtype=dtype)
        y, pull = jax.vjp(partial(operation, interleaved=interleaved), x)
        (dx,) = pull(g)
    assert (y.shape, y.dtype, dx.shape, dx.dtype) == (shape, x.dtype, x.shape, x.dtype)
    with jax.enable_x64(True):
        wide = [jnp.asarray(np.asarray(a).astype(np.float64)) for a in (x, g)]
        exact, pull = jax.vjp(formula(activation, interleaved), wide[0])
        (dexact,) = pull(wide[1])
    close(y, exact, TYPES[dtype])
    close(dx, dexact, TYPES[dtype])


@pytest.mark.sampled(40, each=("gate", "dtype", "interleaved"))
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("gate", GATES)
@each_layout
def test_values_and_gradients(gate, dtype, interleaved):
    check(gate, dtype, (2, 3, 24), interleaved)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float32], ids=["bfloat16", "float32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@each_layout
@pytest.mark.sampled(32, each=("dtype", "interleaved"))
def test_every_length(dtype, shape, interleaved):
    check("swiglu", dtype, shape, interleaved)


@each_layout
def test_results_are_those_of_two_arrays(interleaved):
    x = numbers(4, 128, dtype=jnp.bfloat16)
    a, b = (x[:, ::2], x[:, 1::2]) if interleaved else (x[:, :64], x[:, 64:])
    np.testing.assert_array_equal(ops.swiglu(x, interleaved=interleaved), ops.swiglu(a, b))


@each_layout
def test_what_is_no_number_stays_in_its_place(interleaved):
    x = np.ones((1, 8), np.float32)
    x[0, [0, 5]] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        expected = formula(jax.nn.silu, interleaved)(x)
    np.testing.assert_allclose(ops.swiglu(x, interleaved=interleaved), expected, rtol=1e-6)


@each_layout
def test_second_derivatives(interleaved):
    x = numbers(2, 6)
    ours = partial(ops.swiglu, interleaved=interleaved)

    def twice(of):
        return jax.jacrev(jax.grad(lambda x: (of(x) ** 2).sum()))(x)

    expected = twice(formula(jax.nn.silu, interleaved))
    np.testing.assert_allclose(twice(ours), expected, rtol=2e-4, atol=2e-4)


def test_one_launch_forward_and_one_for_the_gradient_also_of_a_batch():
    x = numbers(4, 3, 16)
    mapped = jax.vmap(ops.swiglu)
    np.testing.assert_array_equal(mapped(x), ops.swiglu(x))
    assert str(jax.make_jaxpr(mapped)(x)).count("pyptx_launch[") == 1
    gradient = jax.grad(lambda x: mapped(x).sum())
    assert str(jax.make_jaxpr(gradient)(x)).count("pyptx_launch[") == 2


@each_layout
def test_sharded_rows_need_no_collective(interleaved):
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Auto,))
    x = jax.device_put(numbers(16, 40), NamedSharding(mesh, P("rows")))

    def pulled(x, g):
        return jax.vjp(lambda x: (ops.swiglu(x, interleaved=interleaved) ** 2).sum(-1), x)[1](g)[0]

    g = jax.device_put(jnp.ones(16), NamedSharding(mesh, P("rows")))
    compiled = jax.jit(pulled).lower(x, g).compile()
    assert pyptx.collectives(compiled) == {}
    np.testing.assert_array_equal(compiled(x, g), pulled(numbers(16, 40), jnp.ones(16)))


def test_export_and_no_rows():
    (size,) = jax.export.symbolic_shape("b")
    exported = jax.export.export(jax.jit(ops.swiglu), disabled_checks=pyptx.export_safety_checks())(
        jax.ShapeDtypeStruct((size, 24), np.float32)
    )
    again = jax.export.deserialize(exported.serialize())
    x = numbers(6, 24)
    np.testing.assert_array_equal(again.call(x), ops.swiglu(x))
    assert ops.swiglu(jnp.ones((0, 24))).shape == (0, 12)
    assert ops.swiglu(jnp.ones((3, 0))).shape == (3, 0)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_every_target_assembles_and_runs_it(arch):
    x = numbers(3, 48)
    for interleaved in (False, True):
        with pyptx.target(arch), pyptx.sanitize():
            found = ops.geglu(x, interleaved=interleaved)
        np.testing.assert_allclose(
            found, formula(jax.nn.gelu, interleaved)(x), rtol=1e-5, atol=1e-5
        )
        for dtype, gradient in ((bf16, False), (bf16, True), (f64, True)):
            op = GateOfOne("gelu", dtype, 14336, interleaved, gradient)
            assert kernel_of(op).cubin(arch=arch).spill_stores == 0


X = jnp.ones((4, 6))
CASES = {
    "an odd length": (
        lambda: ops.swiglu(X[:, :5]),
        """
        gate has shape (4, 5), and swiglu of one array takes (..., 2 n)
          help: swiglu(gate, up)
        """,
    ),
    "a number": (
        lambda: ops.reglu(jnp.float32(1)),
        """
        gate has shape (), and reglu of one array takes (..., 2 n)
          help: reglu(gate, up)
        """,
    ),
    "two arrays interleaved": (
        lambda: ops.geglu(X, X, interleaved=True),
        """
        interleaved is True, and gate and up are two arrays
          help: geglu(gate_and_up, interleaved=True), of shape (..., 2 n)
        """,
    ),
    "interleaved as a number": (
        lambda: ops.swiglu(X, interleaved=1),
        "interleaved is 1 and must be True or False",
    ),
    "integers": (
        lambda: ops.swiglu(np.ones((4, 6), np.int32)),
        """
        gate has elements of type int32
          legal: bfloat16 float16 float32 float64
        """,
    ),
    "a list": (
        lambda: ops.swiglu([1.0, 2.0]),
        """
        gate is a list; swiglu takes arrays
          help: jax.numpy.asarray(gate)
        """,
    ),
    "forward mode": (
        lambda: jax.jvp(ops.swiglu, (X,), (X,)),
        """
        swiglu has no derivative in forward mode (jax.jvp, jax.jacfwd)
          help: jax.grad, jax.vjp and jax.jacrev work
        """,
    ),
}


@pytest.mark.parametrize(("call", "message"), CASES.values(), ids=CASES)
def test_the_whole_message(call, message):
    with pytest.raises(CallError) as caught:
        call()
    where, _, text = str(caught.value).partition(": ")
    assert where == f"{__file__}:{call.__code__.co_firstlineno}"
    problem, _source, *notes = text.splitlines()
    assert "\n".join([problem, *notes]) == textwrap.dedent(message).strip()
