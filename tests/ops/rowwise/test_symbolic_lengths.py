"""Rows whose length is a symbol of `jax.export`: kernels are made for a length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from pyptx import CallError, ops
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.operation import Operand, RowOp
from pyptx.types import f32

jax = pytest.importorskip("jax", reason="JAX is an optional dependency")

B, N = jax.export.symbolic_shape("b, n")


@dataclass(frozen=True)
class Twice(RowOp):
    """y = 2 x."""

    name = "twice"
    compute = f32
    inputs = (Operand("x", f32),)
    outputs = (Operand("y", f32),)

    def result(self, m: Any, v: Any, f: Any) -> Any:
        return (m.add(v.x, v.x),)


def array(*shape: Any, dtype: str = "float32") -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


X, INDICES = array(B, N), array(B, dtype="int32")
CASES = {
    "layer_norm": (lambda x: ops.layer_norm(x), (X,), "layer_norm", "n"),
    "rms_norm": (lambda x, w: ops.rms_norm(x, w), (X, array(N)), "rms_norm", "n"),
    "add_rms_norm": (lambda x, w: ops.add_rms_norm(x, x, w), (X, array(N)), "add_rms_norm", "n"),
    "softmax": (lambda x: ops.softmax(x), (X,), "softmax", "n"),
    "cross_entropy": (lambda x, i: ops.cross_entropy(x, i), (X, INDICES), "cross_entropy", "n"),
    "quantize": (lambda x: ops.quantize(x, "int8"), (X,), "quantize", "n"),
    "group_norm": (lambda x: ops.group_norm(x, 2), (array(B, 8, N),), "channel_moments", "n"),
    "channels": (lambda x: ops.group_norm(x, 2), (array(B, N, 8),), "group_norm", "n"),
    "swiglu of one": (lambda x: ops.swiglu(x), (array(B, 2 * N),), "swiglu", "2*n"),
    "top_k": (lambda x: ops.top_k(x, 2), (X,), "top_k", "n"),
    "argmax": (lambda x: ops.argmax(x), (X,), "argmax", "n"),
    "rope": (lambda q, i: ops.rope(q, q, i), (array(B, 2, N), INDICES), "rope", "n"),
    "heads": (lambda q, i: ops.rope(q, q, i), (array(B, N, 8), INDICES), "rope", "n"),
    "an operation": (lambda x: plan.operation(Twice(2 * N), (N, 2))(x), (X,), "twice", "n"),
}


@pytest.mark.parametrize("case", CASES)
def test_message(case):
    call, arrays, name, length = CASES[case]
    with pytest.raises(CallError) as caught:
        jax.export.export(jax.jit(call))(*arrays)
    location = caught.value.location
    assert location is not None
    assert (location.file, location.line) == (__file__, call.__code__.co_firstlineno)
    first, _source, *notes = str(caught.value).splitlines()
    assert [first.removeprefix(f"{location}: "), *notes] == [
        f"rows of {name} have the length {length}, which is no integer",
        "  help: kernels are made for a length; the number of rows may be a symbol",
    ]


def test_a_symbolic_number_of_rows():
    """That is no part of a kernel."""
    twice = plan.operation(Twice(6), (6,))
    traced = jax.jit(lambda x: twice(x)).trace(array(B, 6))
    assert traced.out_info.shape == (B, 6)
