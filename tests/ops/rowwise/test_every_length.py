"""Every operation of the package has kernels for rows of every length, on every kind of device.

None is traced: it is the choice that is tested, at lengths on all sides of what it depends on.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyptx import device
from pyptx._target import Target
from pyptx.ops._add_norm import AddNorm, AddNormGradient
from pyptx.ops._cross_entropy import CrossEntropy, CrossEntropyGradient, Part, PartGradient
from pyptx.ops._gates import Gate, GateGradient
from pyptx.ops._layer_norm import LayerNorm, LayerNormGradient
from pyptx.ops._quantize import Quantized
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops._softmax import Softmax, SoftmaxGradient
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.operation import COLUMN, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.types import DType, bf16, e4m3, f32, f64

LENGTHS = (
    *(1, 3, 8, 64, 97, 100, 128, 256, 512, 576, 768, 1000, 1024, 1025, 2048, 2304, 3072, 4096),
    *(5120, 8191, 8192, 11008, 16384, 16385, 24576, 28672, 32000, 32768, 33001, 40000, 50257),
    *(50304, 57344, 65536, 65537, 81920, 98304, 100003, 120001, 128256, 131072, 151936, 163840),
    *(200001, 262144, 262145, 400000, 524288, 1000003, 2**20, 2**23),
)
TARGETS = ("sm_80", "sm_86", "sm_90a", "sm_100a", "sm_120a")

OPERATIONS: dict[str, Callable[[int, DType], RowOp]] = {
    "rms_norm": lambda n, x: RmsNorm(n, x, x, 1e-5),
    "rms_norm of f32": lambda n, x: RmsNorm(n, x, f32, 1e-5),
    "rms_norm_gradient": lambda n, x: RmsNormGradient(n, x, x),
    "layer_norm": lambda n, x: LayerNorm(n, x, x, x, x, 1e-5),
    "layer_norm of f32": lambda n, x: LayerNorm(n, x, x, f32, f32, 1e-5),
    "layer_norm alone": lambda n, x: LayerNorm(n, x, x, None, None, 1e-5),
    "layer_norm_gradient": lambda n, x: LayerNormGradient(n, x, x, x, x),
    "add_rms_norm": lambda n, x: AddNorm(n, RmsNorm(n, x, x, 1e-5), x, x),
    "add_layer_norm": lambda n, x: AddNorm(n, LayerNorm(n, x, x, x, x, 1e-5), x, x),
    "add_rms_norm_gradient": lambda n, x: AddNormGradient(n, RmsNormGradient(n, x, x), x, x),
    "softmax": Softmax,
    "log_softmax": lambda n, x: Softmax(n, x, log=True),
    "softmax_gradient": SoftmaxGradient,
    "log_softmax_gradient": lambda n, x: SoftmaxGradient(n, x, log=True),
    "cross_entropy": CrossEntropy,
    "cross_entropy of soft targets": lambda n, x: CrossEntropy(n, x, targets=x),
    "cross_entropy_gradient": CrossEntropyGradient,
    "cross_entropy_gradient of soft targets": lambda n, x: CrossEntropyGradient(n, x, targets=x),
    "a part of cross_entropy": Part,
    "a part of its gradient": PartGradient,
    "swiglu": lambda n, x: Gate(n, "silu", x),
    "silu": lambda n, x: Gate(n, "silu", x, gated=False),
    "swiglu_gradient": lambda n, x: GateGradient(n, "silu", x),
    "silu_gradient": lambda n, x: GateGradient(n, "silu", x, gated=False),
    "quantize": lambda n, x: Quantized(n, x, e4m3, "row"),
    "quantize blocks": lambda n, x: Quantized(n, x, e4m3, "block"),
    "quantize by a scale": lambda n, x: Quantized(n, x, e4m3, "given"),
    "rms_norm, quantized": lambda n, x: Quantized(n, x, e4m3, "row", RmsNorm(n, x, f32, 1e-5)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_there_are_kernels(name: str, target: str):
    on = device.of(Target.parse(target))
    for dtype in (bf16, f32, f64):
        for columns in LENGTHS:
            op = OPERATIONS[name](columns, dtype)
            rows = Rows((columns,), types_of(op), op.compute, device=on)
            results = tuple(dtype for operand in op.outputs if operand.per == COLUMN)
            assert plan._chosen.__wrapped__(op, rows, results) is not None


def test_these_are_all_operations_of_the_package():
    """Those of channels have rows of another kind, and tests of their own."""
    tried = {type(make(8, f32)).__name__ for make in OPERATIONS.values()}
    every, left = [RowOp], set[str]()
    while every:
        kind = every.pop()
        every += kind.__subclasses__()
        if kind.__module__.startswith("pyptx.ops._") and kind.__name__[0] != "_":
            left |= {kind.__name__} - tried
    assert left <= {"ChannelMoments", "ChannelNorm", "ChannelNormGradient", "ChannelSums"}
