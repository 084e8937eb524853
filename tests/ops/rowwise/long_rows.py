"""Operations on long rows, by the clusters that are chosen for them, against float64."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np

from pyptx.ops._layer_norm import LayerNorm
from pyptx.ops._rms_norm import RmsNorm
from pyptx.ops.rowwise import cluster_sizes
from pyptx.ops.rowwise.operation import RowOp
from pyptx.ops.rowwise.strategies import cluster
from pyptx.types import DType, bf16, f32

from .toys_cta import rows_of

NUMPY = {bf16: ml_dtypes.bfloat16, f32: np.float32}


def layer(columns: int, x: DType = bf16, weights: DType = bf16) -> LayerNorm:
    return LayerNorm(columns, x, x, weights, weights, 1e-5)


def rms(columns: int, x: DType = bf16) -> RmsNorm:
    return RmsNorm(columns, x, x, 1e-5)


def check(op: RowOp, teams: int) -> None:
    """A norm, or the gradient of softmax, by so few teams that each has several rows, one after the
    other, and one more than it holds."""
    rng = np.random.default_rng(op.columns)
    rows = rows_of(op)
    shape = cluster_sizes.clusters_of(op, rows)
    assert shape is not None
    kernel = cluster.kernel_of(op, rows, replace(shape, teams=teams))
    count = teams * shape.stages + 3
    given = [
        rng.standard_normal((count, op.columns) if o.per == "element" else op.columns).astype(
            NUMPY[o.dtype]
        )
        for o in op.inputs
    ]
    run = kernel.emulate(*given, sanitize=True)
    run.report.check()
    a, b, *c = (np.asarray(each, np.float64) for each in given)
    if op.name == "softmax_gradient":
        y, dy = (a, b) if op.inputs[0].name == "y" else (b, a)
        exact = y * (dy - (y * dy).sum(-1, keepdims=True))
    else:
        away = a - a.mean(-1, keepdims=True) if op.name == "layer_norm" else a
        exact = away / np.sqrt((away**2).mean(-1, keepdims=True) + 1e-5) * b
        exact = exact + (c[0] if c else 0)
    found = np.asarray(run.outputs[0], np.float64)
    assert np.abs(found - exact).max() <= 2.0**-8 * np.abs(exact).max()
