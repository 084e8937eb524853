"""What the operation says to arrays, numbers and meshes that it does not take."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from pyptx import CallError  # noqa: E402
from pyptx.ops import rms_norm, rms_norm_bwd, rms_norm_fwd  # noqa: E402

X, W = jnp.ones((4, 6)), jnp.ones(6)
_, R = rms_norm_fwd(X, W)


def refused(call) -> str:
    """The message without the line it stands at, which has to be that of the call."""
    with pytest.raises(CallError) as caught:
        call()
    where, _, message = str(caught.value).partition(": ")
    file, _, line = where.rpartition(":")
    assert file == __file__
    assert int(line) == call.__code__.co_firstlineno
    problem, _source, *notes = message.splitlines()
    return "\n".join([problem, *notes])


CASES = {
    "a weight of another shape": (
        lambda: rms_norm(X, jnp.ones(5)),
        """
        x has shape (4, 6), which does not end with weight's (5,)
          help: the mean is over the dimensions of weight, the last ones of x
        """,
    ),
    "a weight of a higher rank": (
        lambda: rms_norm(W, X),
        """
        x has shape (6,), which does not end with weight's (4, 6)
          help: the mean is over the dimensions of weight, the last ones of x
        """,
    ),
    "rows without elements": (
        lambda: rms_norm(jnp.ones((4, 0)), jnp.ones(0)),
        """
        weight has shape (0,); the mean of a row without elements is none
        """,
    ),
    "integers": (
        lambda: rms_norm(jnp.ones((4, 6), jnp.int32), W),
        """
        x has elements of type int32
          legal: bfloat16 float16 float32 float64
        """,
    ),
    "a weight of integers": (
        lambda: rms_norm_fwd(X, np.ones(6, np.int8)),
        """
        weight has elements of type int8
          legal: bfloat16 float16 float32 float64
        """,
    ),
    "a list": (
        lambda: rms_norm([1.0, 2.0], W),
        """
        x is a list; rms_norm takes arrays
          help: jax.numpy.asarray(x)
        """,
    ),
    "a traced eps": (
        lambda: jax.jit(rms_norm)(X, W, 1e-5),
        """
        eps is traced; it is part of the kernel and must be known when it is built
          help: rms_norm(x, weight, eps=1e-5)
        """,
    ),
    "an eps that is an array": (
        lambda: rms_norm(X, W, np.ones(1)),
        """
        eps is array([1.]) and must be a Python or NumPy number
          help: rms_norm(x, weight, eps=1e-5)
        """,
    ),
    "an eps that is true": (
        lambda: rms_norm(X, W, True),
        """
        eps is True and must be a Python or NumPy number
          help: rms_norm(x, weight, eps=1e-5)
        """,
    ),
    "an eps in text": (
        lambda: rms_norm(X, W, "1e-5"),
        """
        eps is '1e-5' and must be a Python or NumPy number
          help: rms_norm(x, weight, eps=1e-5)
        """,
    ),
    "a negative eps": (
        lambda: rms_norm(X, W, -1e-5),
        """
        eps is -1e-05 and must be finite and not negative
          help: rms_norm(x, weight, eps=1e-5)
        """,
    ),
    "an eps that is no number": (
        lambda: rms_norm(X, W, float("nan")),
        """
        eps is nan and must be finite and not negative
          help: rms_norm(x, weight, eps=1e-5)
        """,
    ),
    "a traced offset": (
        lambda: jax.jit(lambda offset: rms_norm(X, W, offset=offset))(1.0),
        """
        offset is traced; it is part of the kernel and must be known when it is built
          help: rms_norm(x, weight, offset=1.0)
        """,
    ),
    "an offset that is true": (
        lambda: rms_norm(X, W, offset=True),
        """
        offset is True and must be a Python or NumPy number
          help: rms_norm(x, weight, offset=1.0)
        """,
    ),
    "an offset that is infinite": (
        lambda: rms_norm_fwd(X, W, offset=float("inf")),
        """
        offset is inf and must be finite
          help: rms_norm(x, weight, offset=1.0)
        """,
    ),
    "an offset that is an array": (
        lambda: rms_norm_bwd(X, R, X, W, offset=np.ones(1)),
        """
        offset is array([1.]) and must be a Python or NumPy number
          help: rms_norm(x, weight, offset=1.0)
        """,
    ),
    "a cotangent of another shape": (
        lambda: rms_norm_bwd(X[:2], R, X, W),
        """
        g is float32[2, 6] and must be float32[4, 6], as the result is
        """,
    ),
    "a cotangent of another type": (
        lambda: rms_norm_bwd(X.astype(jnp.bfloat16), R, X, W),
        """
        g is bfloat16[4, 6] and must be float32[4, 6], as the result is
        """,
    ),
    "an invvar of other rows": (
        lambda: rms_norm_bwd(X, R[:3], X, W),
        """
        invvar is float32[3] and must be float32[4], as rms_norm_fwd's second result is
        """,
    ),
    "an invvar that is a number": (
        lambda: rms_norm_bwd(X, 1.0, X, W),
        """
        invvar is a float; rms_norm takes arrays
          help: jax.numpy.asarray(invvar)
        """,
    ),
    "more rows than 32 bits count": (
        lambda: jax.eval_shape(rms_norm, jax.ShapeDtypeStruct((2**16, 2**15, 6), "float32"), W),
        """
        x has 2147483648 rows, and rms_norm takes 2147483647
          help: split x, or shard its rows with jax.shard_map
        """,
    ),
    "forward mode": (
        lambda: jax.jvp(lambda x: rms_norm(x, W), (X,), (X,)),
        """
        rms_norm has no derivative in forward mode (jax.jvp, jax.jacfwd)
          help: jax.grad, jax.vjp and jax.jacrev work
        """,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, expected = CASES[name]
    assert refused(call) == textwrap.dedent(expected).strip()


def test_forward_mode_in_a_compiled_program_is_refused_by_jax():
    """Whether a derivative goes forward is known there only after the operation was traced."""
    with pytest.raises(TypeError, match="custom_vjp"):
        jax.jit(lambda x: jax.jvp(lambda x: rms_norm(x, W), (x,), (x,)))(X)


WHOLE = """
dimension 1 of x is sharded over 'columns', and kernel rms_norm needs it whole
  help: call the kernel inside jax.shard_map, or replicate the array
  help: parallel= names dimensions that a kernel treats each index of on its own
"""


def columns(kind):
    mesh = jax.make_mesh((2,), ("columns",), axis_types=(kind,))
    return jax.device_put(X, NamedSharding(mesh, P(None, "columns")))


def test_a_sharded_row_in_an_eager_call():
    x = columns(AxisType.Auto)
    assert refused(lambda: rms_norm(x, W)) == WHOLE.strip()


def test_a_sharded_row_under_an_explicit_mesh():
    x = columns(AxisType.Explicit)
    with jax.set_mesh(x.sharding.mesh):
        w = jax.sharding.reshard(W, P())
        assert refused(lambda: jax.jit(rms_norm)(x, w)) == WHOLE.strip()


def test_a_mesh_that_does_not_divide_the_rows():
    mesh = jax.make_mesh((8,), ("rows",), axis_types=(AxisType.Explicit,))
    inside = jax.shard_map(rms_norm, mesh=mesh, in_specs=(P("rows"), P()), out_specs=P("rows"))
    with pytest.raises(ValueError, match="divisible"):
        jax.jit(inside)(X, W)
