"""What operations say to arrays and numbers that they do not take."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

import jax.numpy as jnp  # noqa: E402

import pyptx  # noqa: E402
from pyptx import CallError, ops  # noqa: E402

X, W = jnp.ones((4, 6)), jnp.ones(6)
KEY = jax.random.key(0)

CASES = {
    "a weight of another length": (
        lambda: ops.layer_norm(X, jnp.ones(5)),
        """
        x has shape (4, 6), which does not end with (5,)
          help: the mean is over the dimensions of weight, the last ones of x
        """,
    ),
    "a bias of another shape": (
        lambda: ops.layer_norm(X, W, jnp.ones(5)),
        "bias has shape (5,), and weight (6,)",
    ),
    "a negative eps": (
        lambda: ops.layer_norm(X, W, eps=-1),
        """
        eps is -1 and must be finite and not negative
          help: layer_norm(x, eps=1e-5)
        """,
    ),
    "another axis": (
        lambda: ops.softmax(X, 0),
        """
        axis is 0 and x has shape (4, 6); rows are the last dimension
          help: softmax(jax.numpy.moveaxis(x, axis, -1)), and back
        """,
    ),
    "rows without elements": (
        lambda: ops.log_softmax(jnp.ones((4, 0))),
        "x has shape (4, 0), and log_softmax of a row without elements is none",
    ),
    "integers": (
        lambda: ops.softmax(np.ones((4, 6), np.int32)),
        """
        x has elements of type int32
          legal: bfloat16 float16 float32 float64
        """,
    ),
    "a list": (
        lambda: ops.silu([1.0]),
        """
        x is a list; silu takes arrays
          help: jax.numpy.asarray(x)
        """,
    ),
    "arrays of two types": (
        lambda: ops.swiglu(X, X.astype(jnp.bfloat16)),
        """
        up is bfloat16[4, 6], and gate float32[4, 6]
          help: up.astype(gate.dtype), jax.numpy.broadcast_to(up, ...)
        """,
    ),
    "labels of another shape": (
        lambda: ops.cross_entropy(X, np.ones(3, np.int32)),
        """
        labels have shape (3,), and logits (4, 6)
          legal: one integer for each row, (4,)
          legal: one target for each logit, (4, 6), not integers
        """,
    ),
    "one label for each logit": (
        lambda: ops.cross_entropy(X, np.ones((4, 6), np.int32)),
        """
        labels have shape (4, 6), and logits (4, 6)
          legal: one integer for each row, (4,)
          legal: one target for each logit, (4, 6), not integers
        """,
    ),
    "labels that are no numbers": (
        lambda: ops.cross_entropy(X, np.ones(4, bool)),
        """
        labels have elements of type bool
          legal: integers bfloat16 float16 float32 float64
        """,
    ),
    "labels in a list": (
        lambda: ops.cross_entropy(X, [1, 2, 3, 4]),
        """
        labels is a list; cross_entropy takes arrays
          help: jax.numpy.asarray(labels)
        """,
    ),
    "logits without a row": (
        lambda: ops.cross_entropy(jnp.float32(1), np.int32(1)),
        "logits have shape (), and rows are their last dimension",
    ),
    "logits without elements": (
        lambda: ops.cross_entropy(jnp.ones((4, 0)), np.ones(4, np.int32)),
        "logits has shape (4, 0), and cross_entropy of a row without elements is none",
    ),
    "an index to ignore that is no integer": (
        lambda: ops.cross_entropy(X, np.ones(4, np.int32), ignore_index=1.5),
        """
        ignore_index is 1.5 and must be a Python integer
          help: cross_entropy(logits, labels, ignore_index=-100)
        """,
    ),
    "an index to ignore that is too large": (
        lambda: ops.cross_entropy(X, np.ones(4, np.int32), ignore_index=2**31),
        """
        ignore_index is 2147483648 and must be less than 2147483647 from 0
          help: cross_entropy(logits, labels, ignore_index=-100)
        """,
    ),
    "targets to ignore": (
        lambda: ops.cross_entropy(X, X, ignore_index=1),
        """
        ignore_index is of labels, and these are targets
          help: (targets.sum(-1) > 0) * cross_entropy(logits, targets)
        """,
    ),
    "too much smoothing": (
        lambda: ops.cross_entropy(X, np.ones(4, np.int32), label_smoothing=1.5),
        """
        label_smoothing is 1.5 and must be at most 1
          help: cross_entropy(logits, labels, label_smoothing=0.1, z_loss=1e-4)
        """,
    ),
    "a negative z": (
        lambda: ops.cross_entropy(X, np.ones(4, np.int32), z_loss=-1.0),
        """
        z_loss is -1.0 and must be finite and not negative
          help: cross_entropy(logits, labels, label_smoothing=0.1, z_loss=1e-4)
        """,
    ),
    "a sum without a weight": (
        lambda: ops.add_rms_norm(X, X, None),
        """
        weight is a NoneType; add_rms_norm takes arrays
          help: jax.numpy.ones(x.shape[-1])
        """,
    ),
    "another residual": (
        lambda: ops.add_layer_norm(X, X[:3]),
        """
        residual is float32[3, 6], and x float32[4, 6]
          legal: one shape; float64 only for both
        """,
    ),
    "a residual of integers": (
        lambda: ops.add_rms_norm(X, np.ones((4, 6), np.int32), W),
        """
        residual has elements of type int32
          legal: bfloat16 float16 float32 float64
        """,
    ),
    "a weight of another length than the sum": (
        lambda: ops.add_rms_norm(X, X, jnp.ones(5)),
        """
        x has shape (4, 6), which does not end with (5,)
          help: the mean is over the dimensions of weight, the last ones of x
        """,
    ),
    "eps of a sum": (
        lambda: ops.add_rms_norm(X, X, W, -1.0),
        """
        eps is -1.0 and must be finite and not negative
          help: add_rms_norm(x, residual, weight, eps=1e-5)
        """,
    ),
    "a negative rate": (
        lambda: ops.add_rms_norm(X, X, W, dropout_rate=-0.1, dropout_key=KEY),
        """
        dropout_rate is -0.1 and must be finite and not negative
          help: add_rms_norm(x, residual, weight, dropout_rate=0.1, dropout_key=jax.random.key(0))
        """,
    ),
    "a rate of one": (
        lambda: ops.add_rms_norm(X, X, W, dropout_rate=1.0, dropout_key=KEY),
        """
        dropout_rate is 1.0 and must be below 1, and at most 1 - 2**-16
          help: add_rms_norm(x, residual, weight, dropout_rate=0.1, dropout_key=jax.random.key(0))
        """,
    ),
    "a rate above one": (
        lambda: ops.add_rms_norm(X, X, W, dropout_rate=2, dropout_key=KEY),
        """
        dropout_rate is 2 and must be below 1, and at most 1 - 2**-16
          help: add_rms_norm(x, residual, weight, dropout_rate=0.1, dropout_key=jax.random.key(0))
        """,
    ),
    "a rate without a key": (
        lambda: ops.add_rms_norm(X, X, W, dropout_rate=0.1),
        """
        dropout_rate is 0.1 and dropout_key is None
          help: add_rms_norm(x, residual, weight, dropout_rate=0.1, dropout_key=jax.random.key(0))
        """,
    ),
    "a seed for a key": (
        lambda: ops.add_rms_norm(X, X, W, dropout_rate=0.1, dropout_key=1),
        """
        dropout_key has type int and must be one key of jax.random
          help: add_rms_norm(x, residual, weight, dropout_rate=0.1, dropout_key=jax.random.key(0))
        """,
    ),
    "several keys": (
        lambda: ops.add_rms_norm(X, X, W, dropout_rate=0.1, dropout_key=jax.random.split(KEY)),
        """
        dropout_key is key<fry>[2] and must be one key of jax.random
          help: add_rms_norm(x, residual, weight, dropout_rate=0.1, dropout_key=jax.random.key(0))
        """,
    ),
    "raw keys of another shape": (
        lambda: ops.add_rms_norm(
            X, X, W, dropout_rate=0.1, dropout_key=np.zeros((3, 2), np.uint32)
        ),
        """
        dropout_key is uint32[3, 2] and must be one key of jax.random
          help: add_rms_norm(x, residual, weight, dropout_rate=0.1, dropout_key=jax.random.key(0))
        """,
    ),
    "a key of another type": (
        lambda: ops.add_layer_norm(X, X, dropout_rate=0.1, dropout_key=jnp.zeros(2)),
        """
        dropout_key is float32[2] and must be one key of jax.random
          help: add_layer_norm(x, residual, dropout_rate=0.1, dropout_key=jax.random.key(0))
        """,
    ),
    "keys of random numbers": (
        lambda: ops.softmax(jax.random.split(jax.random.key(0), 2)),
        """
        x has elements of type key<fry>
          legal: bfloat16 float16 float32 float64
        """,
    ),
    "keys as labels": (
        lambda: ops.cross_entropy(X, jax.random.split(jax.random.key(0), 4)),
        """
        labels have elements of type key<fry>
          legal: integers bfloat16 float16 float32 float64
        """,
    ),
    "keys as positions": (
        lambda: ops.softmax(X, causal=True, positions=jax.random.split(jax.random.key(0), 4)),
        "positions are key<fry> and must be an array of integers",
    ),
    "text of NumPy": (
        lambda: ops.softmax(np.array(["a"])),
        """
        x has elements of type <U1
          legal: bfloat16 float16 float32 float64
        """,
    ),
    "a scale that is no f32": (
        lambda: ops.softmax(X, scale=1e300),
        """
        scale is 1e+300, and must be at most 3.4028234663852886e+38, as f32 is
          help: softmax(x, scale=0.125)
        """,
    ),
    "an eps that is no f32": (
        lambda: ops.layer_norm(X, eps=10**40),
        f"""
        eps is {10**40}, and must be at most 3.4028234663852886e+38, as f32 is
          help: layer_norm(x, eps=1e-5)
        """,
    ),
    "an offset that is no f32": (
        lambda: ops.rms_norm(X, jnp.ones(6), offset=-1e39),
        """
        offset is -1e+39, and must be at most 3.4028234663852886e+38, as f32 is
          help: rms_norm(x, weight, offset=1.0)
        """,
    ),
    "a mask that is one boolean": (
        lambda: ops.softmax(X, where=True),
        "where is bool and must be an array of booleans",
    ),
    "an axis that is no number": (
        lambda: ops.softmax(X, axis=np.array([1, 1])),
        """
        axis is array([1, 1]) and x has shape (4, 6); rows are the last dimension
          help: softmax(jax.numpy.moveaxis(x, axis, -1)), and back
        """,
    ),
    "an axis that is true": (
        lambda: ops.softmax(X, axis=True),
        """
        axis is True and x has shape (4, 6); rows are the last dimension
          help: softmax(jax.numpy.moveaxis(x, axis, -1)), and back
        """,
    ),
    "a mesh axis that is a number": (
        lambda: ops.cross_entropy(X, jnp.zeros(4, int), axis_name=3),
        """
        there is no mesh axis 3 here
          help: call it inside jax.shard_map
        """,
    ),
    "no number of groups": (
        lambda: ops.group_norm(X, None),
        """
        num_groups is None and must be an integer
          help: group_norm(x, 32)
        """,
    ),
    "no scale": (lambda: ops.softmax(X, scale=0), "scale is 0 and must be positive"),
    "a negative scale": (
        lambda: ops.log_softmax(X, scale=-1.0),
        """
        scale is -1.0 and must be finite and not negative
          help: log_softmax(x, scale=0.125)
        """,
    ),
    "a causal vector": (
        lambda: ops.softmax(X[0], causal=True),
        "x has shape (6,), and causal needs a dimension of rows before it",
    ),
    "a causal number": (
        lambda: ops.softmax(X, causal=3),
        "causal is 3 and must be True or False",
    ),
    "positions without a mask": (
        lambda: ops.softmax(X, positions=np.arange(4)),
        "positions are given, and causal is False",
    ),
    "positions that are no integers": (
        lambda: ops.softmax(X, causal=True, positions=X[:, 0]),
        "positions are float32 and must be an array of integers",
    ),
    "positions of other rows": (
        lambda: ops.softmax(X, causal=True, positions=np.arange(3)),
        "positions have shape (3,), which does not broadcast to (4,)",
    ),
    "a mask of numbers": (
        lambda: ops.softmax(X, where=X),
        "where is float32 and must be an array of booleans",
    ),
    "a mask that is no array": (
        lambda: ops.softmax(X, where=[True]),
        "where is list and must be an array of booleans",
    ),
    "a mask of another shape": (
        lambda: ops.softmax(X, where=np.ones((3, 6), bool)),
        """
        where has shape (3, 6), and x (4, 6)
          legal: a shape that broadcasts to x's
        """,
    ),
    "an approximation by name": (
        lambda: ops.gelu(X, "tanh"),
        "approximate is 'tanh' and must be True or False",
    ),
    "targets that are split": (
        lambda: ops.cross_entropy(X, X, axis_name="columns"),
        "axis_name is given, and labels are targets; columns are split for integers alone",
    ),
    "no keyword of this name": (
        lambda: ops.layer_norm(X, axis=1),
        """
        layer_norm() has no keyword axis
          takes: layer_norm(x, weight=None, bias=None, eps=1e-05)
        """,
    ),
    "a mesh axis that is not there": (
        lambda: ops.cross_entropy(X, np.zeros(4, np.int32), axis_name="columns"),
        """
        there is no mesh axis 'columns' here
          help: call it inside jax.shard_map
        """,
    ),
    "positions of 64 bits": (
        lambda: ops.rope(X[:, None], X[:, None], np.arange(4)),
        """
        positions are int64; kernels take int32
          help: positions.astype(jax.numpy.int32)
        """,
    ),
    "an infinite offset": (
        lambda: ops.add_rms_norm(X, X, W, offset=-float("inf")),
        """
        offset is -inf and must be finite
          help: add_rms_norm(x, residual, weight, offset=1.0)
        """,
    ),
    "activations in a list": (
        lambda: ops.matmul(X, X.T, activation=["relu"]),
        """
        there is no activation ['relu']
          legal: relu silu gelu gelu_tanh
        """,
    ),
    "a scale by name": (
        lambda: ops.matmul(X, X.T, a_scale="row"),
        "a_scale is a str and must be a number or an array",
    ),
    "a result's scale by name": (
        lambda: ops.matmul(X, X.T, out_scale="row"),
        "out_scale is a str and must be a number or an array",
    ),
    "a gate's scale by name": (
        lambda: ops.gated_matmul(X, X.T, X.T, gate_scale="row"),
        "gate_scale is a str and must be a number or an array",
    ),
    "a number for amax": (
        lambda: ops.matmul(X, X.T, amax=1),
        "amax is 1 and must be True or False",
    ),
    "an epilogue that is none": (
        lambda: ops.fused_matmul(X, X.T, None),
        """
        epilogue is None, and no function
          help: fused_matmul(a, b, lambda total: total * 0.5)
        """,
    ),
    "an array in place of a list": (
        lambda: ops.fused_matmul(X, X.T, max, rows=np.ones(4, np.float32)),
        """
        rows has type ndarray; fused_matmul takes a list
          help: rows=[rows]
        """,
    ),
    "dimensions of one array": (
        lambda: ops.dot_general(X, X.T, ((1,), (0,))),
        """
        dimension_numbers are ((1,), (0,))
          legal: ((contracting of lhs, of rhs), (batch of lhs, of rhs))
        """,
    ),
    "a dimension from the end": (
        lambda: ops.dot_general(X, X.T, (((-1,), (0,)), ((), ()))),
        """
        dimension numbers (((-1,), (0,)), ((), ())) are (-1,) of lhs, which has 2 dimensions
          legal: each dimension once, from 0 on
        """,
    ),
    "a dimension twice": (
        lambda: ops.dot_general(X, X, (((1,), (1,)), ((0,), (1,)))),
        """
        dimension numbers (((1,), (1,)), ((0,), (1,))) are (1, 1) of rhs, which has 2 dimensions
          legal: each dimension once, from 0 on
        """,
    ),
    "forward mode": (
        lambda: jax.jvp(ops.softmax, (X,), (X,)),
        """
        softmax has no derivative in forward mode (jax.jvp, jax.jacfwd)
          help: jax.grad, jax.vjp and jax.jacrev work
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
    with (
        pyptx.target("sm_75"),
        pytest.raises(CallError, match="layer_norm has no kernels for sm_75"),
    ):
        ops.layer_norm(X)


def test_a_number_that_is_traced():
    with pytest.raises(CallError, match=r"k is .* and must be a Python integer from 1 to 6"):
        jax.jit(lambda k: ops.top_k(X, k))(2)


def test_precisions_as_jax_has_them():
    default = jax.lax.Precision.DEFAULT
    for precision in (default, (default, default), (None, None)):
        np.testing.assert_array_equal(ops.matmul(X, X.T, precision=precision), ops.matmul(X, X.T))
    half = X.astype(jnp.bfloat16)
    assert ops.matmul(half, half.T, precision=default).dtype == jnp.bfloat16


def test_offsets_of_any_sign():
    """Weights may be stored as w + 1."""
    x = jnp.linspace(-2, 3, 24).reshape(4, 6)
    expected = ops.rms_norm(x, W)
    np.testing.assert_array_equal(ops.rms_norm(x, W + 1, offset=-1.0), expected)
    y, _ = ops.add_rms_norm(x, 0 * x, W + 1, offset=-1.0)
    np.testing.assert_array_equal(y, expected)
    given = ops.rms_norm_quantized(x, W + 1, jnp.int8, offset=-1.0)
    for one, other in zip(given, ops.rms_norm_quantized(x, W, jnp.int8), strict=True):
        np.testing.assert_array_equal(one, other)
