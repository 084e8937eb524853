"""Clusters for long rows without sums over rows: which are chosen, and that they are right."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from pyptx.ops._add_norm import AddNorm
from pyptx.ops._layer_norm import LayerNorm
from pyptx.ops._rms_norm import RmsNorm
from pyptx.ops._softmax import SoftmaxGradient
from pyptx.ops.rowwise import cluster_rates, cluster_sizes, plan
from pyptx.ops.rowwise.operation import RowOp
from pyptx.ops.rowwise.strategies import cluster
from pyptx.types import DType, bf16, f32

from .toys_cta import rows_of


def layer(columns: int, x: DType = bf16, weights: DType = bf16) -> LayerNorm:
    return LayerNorm(columns, x, x, weights, weights, 1e-5)


def rms(columns: int, x: DType = bf16) -> RmsNorm:
    return RmsNorm(columns, x, x, 1e-5)


@pytest.mark.parametrize(
    ("op", "parts", "threads", "stages"),
    [
        (layer(32768), 2, 512, 4),
        (layer(40960), 2, 256, 4),
        (layer(81920), 4, 256, 4),
        (layer(131072), 8, 512, 4),
        (layer(163840), 8, 256, 4),
        (layer(262144), 8, 256, 3),
        (layer(81920, f32, f32), 8, 256, 4),
        (layer(131072, f32, f32), 16, 256, 4),
        (layer(131072, bf16, f32), 8, 256, 4),
        (layer(163840, bf16, f32), 8, 352, 4),
        (AddNorm(81920, layer(81920), bf16, bf16), 8, 256, 4),
        (AddNorm(81920, rms(81920), bf16, bf16), 16, 256, 8),
        (rms(65536), 4, 512, 4),
        (rms(163840), 16, 256, 8),
        (SoftmaxGradient(81920, bf16), 8, 256, 4),
        (SoftmaxGradient(98304, bf16), 16, 256, 8),
        (SoftmaxGradient(131072, bf16), 16, 512, 4),
    ],
    ids=lambda v: f"{v.name} {v.columns} {v.inputs[-1].dtype}" if isinstance(v, RowOp) else str(v),
)
def test_what_was_fastest_is_chosen(op: RowOp, parts: int, threads: int, stages: int):
    shape = cluster_sizes.clusters_of(op, rows_of(op))
    assert shape is not None
    assert (shape.parts, shape.threads, shape.stages) == (parts, threads, stages)


def test_another_shape_is_at_least_some_percent_faster():
    op = layer(163840)
    rows = rows_of(op)
    given = cluster_sizes.clusters(op, rows, 16)
    assert given is not None
    found = cluster_rates.fastest(op, rows, given)
    assert cluster_rates.rate(op, rows, found) > 1.05 * cluster_rates.rate(op, rows, given)
    assert cluster_rates.fastest(op, rows, found) == found


@pytest.mark.parametrize("name", ["layer_norm", "layer_norm of f32", "softmax_gradient"])
@pytest.mark.parametrize("columns", [40960, 81920])
def test_rows_of_their_real_length(name: str, columns: int):
    """Two teams have several rows each, one after the other, and one more than they hold."""
    rng = np.random.default_rng(columns)
    op: RowOp = SoftmaxGradient(columns, bf16)
    if name != "softmax_gradient":
        op = layer(columns, bf16, f32 if name.endswith("f32") else bf16)
    rows = rows_of(op)
    shape = cluster_sizes.clusters_of(op, rows)
    assert shape is not None
    kernel = cluster.kernel_of(op, rows, replace(shape, teams=2))
    count = 2 * shape.stages + 3
    kinds = {bf16: ml_dtypes.bfloat16, f32: np.float32}
    given = [
        rng.standard_normal((count, columns) if o.per == "element" else columns).astype(
            kinds[o.dtype]
        )
        for o in op.inputs
    ]
    run = kernel.emulate(*given, sanitize=True)
    run.report.check()
    a, b, *c = (np.asarray(each, np.float64) for each in given)
    if c:
        deviation = a - a.mean(-1, keepdims=True)
        exact = deviation / np.sqrt((deviation**2).mean(-1, keepdims=True) + 1e-5) * b + c[0]
    else:
        names = [o.name for o in op.inputs]
        y, dy = (a, b) if names[0] == "y" else (b, a)
        exact = y * (dy - (y * dy).sum(-1, keepdims=True))
    found = np.asarray(run.outputs[0], np.float64)
    assert np.abs(found - exact).max() <= 2.0**-8 * np.abs(exact).max()


@pytest.mark.parametrize(("columns", "parts"), [(40960, 2), (49152, 2), (57344, 2), (65536, 4)])
def test_rows_that_a_cta_could_hold_are_those_of_clusters_too(columns: int, parts: int):
    """Inputs per column would be loaded for each row: layer_norm 6553 x 40960 bf16 took 336 us on
    an H200 by clusters of four, and 262 by two CTAs."""
    given = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "by_cluster", lambda op, rows, shape: given.append(shape))
        patch.setattr(plan, "_few_twice", lambda op, rows, many: many)
        op = layer(columns)
        plan._by_long_ctas(op, rows_of(op), None)
    assert [shape.parts for shape in given] == [parts]
