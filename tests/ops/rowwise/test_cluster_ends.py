"""Clusters for long rows that begin within a vector: which are chosen, and that they are right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyptx.ops._add_norm import AddNorm
from pyptx.ops._layer_norm import LayerNormGradient
from pyptx.ops._softmax import SoftmaxGradient
from pyptx.ops.rowwise import cluster_ends, cluster_registers, cluster_sizes
from pyptx.ops.rowwise.operation import RowOp
from pyptx.ops.rowwise.sizes import bytes_read
from pyptx.ops.rowwise.strategies import cluster
from pyptx.types import bf16, f16, f32

from . import long_rows
from .long_rows import layer, rms
from .toys_cta import rows_of


@pytest.mark.parametrize(
    ("op", "parts", "threads", "stages"),
    [
        (rms(33001), 2, 256, 3),
        (rms(50257), 4, 256, 4),
        (rms(78125), 4, 256, 3),
        (rms(120001), 6, 256, 3),
        (rms(120001, f16), 6, 256, 3),
        (layer(33001), 2, 256, 3),
        (layer(50257), 2, 256, 3),
        (layer(78125), 3, 256, 3),
        (layer(120001), 4, 352, 3),
        (layer(82001, bf16, f32), 6, 256, 4),
        (SoftmaxGradient(33001, bf16), 4, 512, 4),
        (SoftmaxGradient(50257, bf16), 4, 512, 3),
        (SoftmaxGradient(78125, bf16), 6, 512, 3),
        (AddNorm(50257, rms(50257), bf16, bf16), 4, 512, 3),
        (rms(50257, f32), 8, 512, 4),
    ],
    ids=lambda v: f"{v.name} {v.columns} {v.inputs[-1].dtype}" if isinstance(v, RowOp) else str(v),
)
def test_what_was_fastest_is_chosen(op: RowOp, parts: int, threads: int, stages: int):
    shape = cluster_sizes.clusters_of(op, rows_of(op))
    assert shape is not None
    assert (shape.parts, shape.threads, shape.stages) == (parts, threads, stages)


@pytest.mark.parametrize("columns", range(33001, 200_000, 11_117))
@pytest.mark.parametrize("make", [rms, layer], ids=["rms", "layer"])
def test_another_shape_is_faster_and_has_enough_rows(make, columns: int):
    """Of any length: what takes its place is some percent faster, and holds no row too many."""
    op = make(columns)
    rows = rows_of(op)
    for parts in (2, 4, 8, 16):
        given = cluster_sizes.clusters(op, rows, parts)
        if given is None:
            continue
        found = cluster_ends.fastest(op, rows, given)
        if found == given:
            continue
        assert cluster_ends.rate(op, rows, found) > 1.02 * cluster_ends.rate(op, rows, given)
        assert rows.device.allows(cluster.needs(op, rows, found))
        assert found.teams % rows.alignments == 0
        assert not found.shared
        fewer = {8: 4, 4: 3, 3: 0}[found.stages]
        read = found.teams * fewer * bytes_read(op, rows)
        assert read < 66.4 * 1024 * rows.device.multiprocessors


@pytest.mark.parametrize(
    "op",
    [rms(50257, f32), layer(78125, f32, f32), LayerNormGradient(50257, bf16, bf16, bf16, bf16)],
    ids=["rms f32", "layer f32", "sums over rows"],
)
def test_others_keep_their_shape(op: RowOp):
    rows = rows_of(op)
    for parts in (4, 8):
        given = cluster_sizes.clusters(op, rows, parts)
        if given is not None:
            assert cluster_ends.fastest(op, rows, given) is given


def test_two_arrays_have_fewer_rows_in_a_cta_and_nothing_else():
    op = SoftmaxGradient(50257, bf16)
    rows = rows_of(op)
    given = cluster_sizes.clusters(op, rows, 4)
    assert given is not None
    assert given.stages == cluster_registers.STAGES
    assert cluster_ends.fastest(op, rows, given) == replace(given, stages=3)


@pytest.mark.parametrize(
    "op",
    [rms(33001), rms(78125), layer(50257), layer(78125), SoftmaxGradient(50257, bf16)],
    ids=lambda op: f"{op.name} {op.columns}",
)
def test_rows_of_their_real_length(op: RowOp):
    """A team of each way to cut rows."""
    long_rows.check(op, teams=rows_of(op).alignments)
