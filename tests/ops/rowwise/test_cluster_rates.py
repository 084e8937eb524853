"""Clusters for long rows without sums over rows: which are chosen, and that they are right."""

from __future__ import annotations

import pytest

from pyptx.ops._add_norm import AddNorm
from pyptx.ops._softmax import SoftmaxGradient
from pyptx.ops.rowwise import cluster_rates, cluster_sizes, plan
from pyptx.ops.rowwise.operation import RowOp
from pyptx.types import bf16, f32

from . import long_rows
from .long_rows import layer, rms
from .toys_cta import rows_of


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
    op: RowOp = SoftmaxGradient(columns, bf16)
    if name != "softmax_gradient":
        op = layer(columns, bf16, f32 if name.endswith("f32") else bf16)
    long_rows.check(op, teams=2)


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
