"""A cluster of CTAs, or a grid of them, takes a row: at shapes that the emulator watches all of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import pyptx
from pyptx import device
from pyptx._target import Target
from pyptx.ops import _softmax as ops_softmax
from pyptx.ops._layer_norm import LayerNorm, LayerNormGradient
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops.rowwise import cluster_sizes, plan
from pyptx.ops.rowwise.operation import COLUMN, RowOp
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.strategies import cluster
from pyptx.ops.rowwise.strategies.cluster import Shape
from pyptx.types import DType, bf16, f16, f32, f64

from .toys_cta import rows_of
from .toys_persistent import Alone, Everything, Scaled, Softmax, Toy, check

POLICIES: list[dict[str, object]] = [
    {},
    {"completion": "eager"},
    {"completion": "random", "seed": 2},
]
OPERATIONS = [
    lambda n: Everything(n),
    lambda n: Everything(n, f64, f16, f64),
    lambda n: Everything(n, f16, bf16),
    lambda n: Scaled(n),
    lambda n: Scaled(n, f64, f64),
    lambda n: Softmax(n, bf16),
    lambda n: Softmax(n, f32, summed=True),
]
NAMES = ["mixed", "wide", "half", "range", "range f64", "softmax", "use"]
operations = pytest.mark.parametrize("make", OPERATIONS, ids=NAMES)
ALONE = [lambda n: Alone(n), lambda n: Alone(n, bf16, f64, summed=True)]

CLUSTERS = [
    (512, Shape(2, 2, 64, 3)),
    (1030, Shape(2, 2, 64, 3, shared=False)),
    (1024, Shape(2, 4, 96, 3)),
    (99, Shape(2, 4, 64, 3)),  # CTAs that have none of the row
    (1100, Shape(2, 3, 64, 5, pieces=2)),
    (1603, Shape(2, 2, 64, 7, lag=2, pieces=2)),
    (515, Shape(2, 2, 64, 2, lag=0)),
    (1027, Shape(2, 4, 64, 1, lag=0)),
    (1024, Shape(2, 1, 64, 5, pieces=2)),
    (1099, Shape(2, 1, 64, 3)),
    (1603, Shape(2, 5, 64, 4, shared=False, sums=True)),
    (1603, Shape(2, 6, 32, 3)),
]
GRIDS = [
    (768, Shape(2, 3, 64, 3, shared=False, grid=True)),
    (1030, Shape(2, 3, 64, 3, grid=True)),
    (99, Shape(2, 2, 64, 3, grid=True)),
    (1603, Shape(2, 2, 64, 7, lag=2, pieces=2, grid=True)),
    (515, Shape(2, 2, 64, 2, lag=0, grid=True)),
]


def fitting(rows: Rows, shape: Shape) -> Shape:
    """The shape with teams whose rows are cut alike."""
    return replace(shape, teams=math.lcm(shape.teams, rows.alignments))


def run(
    op: Toy, rows: Rows, shape: Shape, count: int, result: DType | None = None, **how: object
) -> list[np.ndarray]:
    kernel = cluster.kernel_of(op, rows, shape, result)
    mail = ()
    if shape.grid:
        like = op.arrays(count)[[o.name for o in op.inputs].index("x")]
        clear = cluster.clear(op, rows, shape).emulate(like)
        assert not clear.report.findings
        outputs = clear.outputs
        mail = tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
        assert not np.any(mail[0])
    partial = min(shape.teams, count) if result is None else None
    return check(op, rows, kernel, count, partial, mail=mail, result=result, **how)


@operations
@pytest.mark.sampled(48, each=("make", "policy", "shape"))
@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize(("n", "shape"), CLUSTERS[:4])
def test_clusters(n, shape, policy, make):
    op = make(n)
    rows = op.rows()
    shape = fitting(rows, shape)
    run(op, rows, shape, 2 * shape.teams + 1, **policy)


@pytest.mark.sampled(48, each="make")
@operations
@pytest.mark.parametrize(("n", "shape"), CLUSTERS[4:])
def test_pieces_and_lags(n, shape, make):
    op = make(n)
    rows = op.rows()
    shape = fitting(rows, shape)
    run(op, rows, shape, 3 * shape.teams + 1)


@operations
@pytest.mark.sampled(48, each=("make", "policy"))
@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize(("n", "shape"), GRIDS)
def test_grids(n, shape, policy, make):
    op = make(n)
    rows = op.rows()
    shape = fitting(rows, shape)
    run(op, rows, shape, 2 * shape.teams + 1, **policy)


@pytest.mark.sampled(16, each=("make", "parts"))
@pytest.mark.parametrize("parts", [33, 40])
@pytest.mark.parametrize("make", [lambda n: Scaled(n, f64, f64), lambda n: Softmax(n, f32)])
def test_grids_of_more_ctas_than_lanes(make, parts):
    """A lane waits for several CTAs, and the last lanes for fewer: those change nothing."""
    op = make(1024)
    run(op, op.rows(), Shape(1, parts, 32, 3, grid=True), 3)


@pytest.mark.sampled(24, each=("target", "n", "dtype"))
@pytest.mark.parametrize("dtype", [bf16, f32], ids=str)
@pytest.mark.parametrize("n", [131072 + 8, 100003, 262144])
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a", "sm_120a"])
def test_a_cluster_for_each_long_row(n, dtype, target):
    """Up to 64 KiB of a row in each CTA, and as much shared memory is used as is said."""
    op = ops_softmax.Softmax(n, dtype)
    rows = replace(Rows((n,), types_of(op), op.compute), device=device.of(Target.parse(target)))
    shape = cluster_sizes.cluster_of_one_row(op, rows)
    if n * dtype.bytes > 2**19:
        assert shape is None
        return
    assert shape is not None
    assert (shape.stages, shape.lag) == (1, 0)
    assert shape.teams % rows.alignments == 0
    assert n * dtype.bytes <= shape.parts * 2**16 < 2 * n * dtype.bytes
    with pyptx.target(target):
        used = cluster.kernel_of(op, rows, shape).module().kernels[0].shared.size
    needed = cluster.needs(op, rows, shape).shared
    assert used <= needed <= used + 512
    assert 2 * needed <= rows.device.cta_shared or target == "sm_120a"


def test_weights_and_sums_want_clusters_that_stay():
    """Each CTA of a cluster for one row would load the weights once more."""
    for op in (RmsNorm(131072, bf16, bf16, 1e-5), RmsNormGradient(131072, bf16, bf16)):
        assert (
            cluster_sizes.cluster_of_one_row(op, Rows((131072,), types_of(op), op.compute)) is None
        )


def test_a_long_softmax_has_a_cluster_for_each_row():
    with pyptx.target("sm_90a"):
        many = plan.operation(ops_softmax.Softmax(131072, f16), (131072,))
        x = np.random.default_rng(0).standard_normal((20, 131072)).astype(np.float16)
        found = many.emulate(x)
    assert not found.report.findings
    e = np.exp(x.astype(np.float64))
    y = e / e.sum(-1, keepdims=True)
    np.testing.assert_allclose(found.outputs[0], y, atol=2**-24, rtol=2**-10)
    ran = [report.kernel for report in found.reports if report.instructions]
    assert ran == ["softmax_cluster"]


LENGTHS = [33001, 50257, 65537, 99999, 100003, 130003]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("x", [bf16, f32], ids=str)
@pytest.mark.parametrize(
    "make",
    [
        lambda n, x: RmsNorm(n, x, x, 1e-6),
        lambda n, x: RmsNormGradient(n, x, x),
        lambda n, x: LayerNorm(n, x, x, x, x, 1e-6, False),
        lambda n, x: LayerNormGradient(n, x, x, x, x),
    ],
    ids=["rms", "rms gradient", "layer", "layer gradient"],
)
def test_clusters_of_rows_with_ends(n, x, make):
    """As many CTAs as others would have, unless it is two thirds of the SMs."""
    op = make(n, x)
    rows = rows_of(op)
    shape = cluster_sizes.clusters_of(op, rows)
    others = [cluster_sizes.clusters(op, rows, parts) for parts in cluster_sizes._PARTS]
    if shape is not None:
        narrow = x is bf16 and not op.written(COLUMN)  # chosen by what they are expected to take
        many = rows.part(shape.parts) > 6 * 512 and not op.written(COLUMN)
        assert narrow or (replace(shape, threads=512) if many else shape) in others
        assert shape.threads == 352 or narrow or not many
        assert shape.teams % rows.alignments == 0
        most = max(each.teams * each.parts for each in others if each)
        assert shape.teams * shape.parts >= min(most, 2 * rows.device.multiprocessors // 3)


@pytest.mark.parametrize(
    ("op", "parts", "threads", "near"),
    [
        (LayerNormGradient(50257, bf16, bf16, bf16, bf16), 6, 352, True),
        (LayerNormGradient(50257, bf16, f32, f32, f32), 6, 352, True),
        (LayerNormGradient(30522, bf16, bf16, bf16, bf16), 4, 352, True),
        (LayerNormGradient(28001, bf16, bf16, bf16, bf16), 2, 352, False),
        (LayerNormGradient(65537, f32, f32, f32, f32), 8, 352, False),
        (LayerNormGradient(43008, bf16, bf16, bf16, bf16), 4, 352, True),
        (LayerNormGradient(262144, bf16, bf16, bf16, bf16), 16, 352, False),
        (RmsNormGradient(98304, bf16, bf16), 8, 256, True),
        (RmsNormGradient(131072, bf16, bf16), 16, 512, False),
        (RmsNormGradient(110001, f32, f32), 16, 352, False),
    ],
    ids=lambda v: f"{v.name} {v.columns}" if isinstance(v, RowOp) else str(v),
)
def test_threads_have_registers_for_their_sums(op, parts, threads, near):
    """None are stored to memory; second sums are in shared memory where there is room."""
    rows = rows_of(op)
    shape = cluster_sizes.clusters_of(op, rows)
    assert (shape.parts, shape.threads, shape.sums) == (parts, threads, near)
    assert cluster.kernel_of(op, rows, shape).cubin(arch="sm_90a").spill_stores == 0


def test_sums_would_be_stored_to_memory():
    """By 512 threads, of eight vectors of two sums of a column; the test above can fail."""
    op = LayerNormGradient(50257, bf16, bf16, bf16, bf16)
    rows = rows_of(op)
    shape = replace(cluster_sizes.clusters(op, rows, 4), threads=512, sums=False)
    assert cluster.kernel_of(op, rows, shape).cubin(arch="sm_90a").spill_stores > 100


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize(
    "shape",
    [
        Shape(1, 3, 64, 3),
        Shape(1, 3, 32, 3, shared=False, sums=True),
        Shape(1, 3, 64, 4, lag=2, grid=True),
    ],
    ids=["cluster", "second sums", "grid"],
)
def test_the_sums_of_one_team_are_whole(shape, count):
    """Also of no rows; a narrower result is rounded once."""
    op = Everything(520)
    exact = run(op, op.rows(), shape, count, result=f32)
    rounded = run(op, op.rows(), shape, count, result=bf16)
    summed = [i for i, operand in enumerate(op.outputs) if operand.per == COLUMN]
    assert summed
    for i in summed:
        assert np.array_equal(exact[i].astype(rounded[i].dtype), rounded[i])


@pytest.mark.parametrize(
    ("n", "shape"),
    [(520, Shape(2, 3, 64, 3)), (803, Shape(8, 3, 64, 3)), (1040, Shape(1, 2, 32, 3))],
    ids=["two teams", "ends", "sums that are written more than once"],
)
def test_sums_that_are_not_whole(n, shape):
    op = Everything(n)
    rows = op.rows()
    assert not cluster.has_whole_sums(op, rows, shape)
    with pytest.raises(AssertionError, match="sums that are written more than once"):
        cluster.kernel_of(op, rows, fitting(rows, shape), f32)


@pytest.mark.sampled(32, each=("count", "make"))
@operations
@pytest.mark.parametrize("count", [0, 1, 3])
def test_teams_without_rows(count, make):
    op = make(520)
    rows = op.rows()
    run(op, rows, fitting(rows, Shape(4, 2, 64, 3)), count)


@pytest.mark.sampled(24, each="make")
@pytest.mark.parametrize("make", ALONE, ids=["alone", "alone f64"])
@pytest.mark.parametrize(("n", "shape"), CLUSTERS)
def test_nothing_is_exchanged_where_elements_need_nothing_of_their_row(n, shape, make):
    op = make(n)
    rows = op.rows()
    shape = fitting(rows, shape)
    assert cluster.needs(op, rows, shape).cluster == 1
    kernel = cluster.kernel_of(op, rows, shape)
    assert "st.async" not in kernel.ptx()
    run(op, rows, shape, 2 * shape.teams + 1)


def test_a_grid_has_something_to_exchange():
    op = Alone(512)
    with pytest.raises(AssertionError, match="a grid that has nothing to exchange"):
        cluster.kernel_of(op, op.rows(), Shape(2, 2, 64, 3, grid=True))


def test_rows_of_a_team_have_to_be_cut_alike():
    op = Softmax(131)
    with pytest.raises(AssertionError, match="rows of a team that are not cut alike"):
        cluster.kernel_of(op, op.rows(), Shape(3, 2, 64, 3))


@pytest.mark.parametrize("make", [Softmax, Scaled, Alone], ids=["softmax", "range", "alone"])
def test_rows_cut_at_lines(make):
    op = make(2091)
    rows = op.rows(lines=True)
    run(op, rows, Shape(rows.alignments, 2, 128, 3), rows.alignments + 3)


@pytest.mark.sampled(24, each=("grid", "each"))
@pytest.mark.parametrize("each", [31, 32, 33, 65])
@pytest.mark.parametrize("grid", [False, True])
def test_sums_of_blocks_of_rows(each, grid):
    op = Softmax(603, f32, summed=True)
    run(op, op.rows(), Shape(4, 2, 32, 3, grid=grid), each * 4)


def test_rows_have_a_unit():
    op = Softmax(7, bf16)
    with pytest.raises(AssertionError, match="rows that are shorter than a unit"):
        cluster.kernel_of(op, op.rows(), Shape(8, 2, 64, 3))


@pytest.mark.sampled(48, each=("make", "target"))
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize(
    ("n", "shape"),
    [
        (4096, Shape(8, 4, 128, 3)),
        (4099, Shape(8, 4, 128, 3, shared=False)),
        (4099, Shape(8, 2, 128, 7, lag=2, pieces=2)),
        (4096, Shape(1, 20, 128, 3, grid=True)),
    ],
)
@pytest.mark.parametrize("make", [*OPERATIONS, lambda n: RmsNormGradient(n, bf16, f32)])
def test_needs_are_what_is_allocated(make, n, shape, target):
    """On every target that has clusters, and hardly more; and nothing is spilled."""
    op = make(n)
    rows = Rows((n,), types_of(op), op.compute, device=device.of(Target.parse(target)))
    shape = fitting(rows, shape)
    needs = cluster.needs(op, rows, shape)
    assert needs.cluster == (1 if shape.grid else shape.parts)
    assert rows.device.allows(needs)
    kernel = cluster.kernel_of(op, rows, shape)
    with pyptx.target(target):
        used = kernel.module().kernels[0].shared.size
        code = kernel.cubin()
    assert used <= needs.shared <= used + 512
    assert code.spill_stores == 0


def test_what_no_device_without_clusters_allows():
    op = Softmax(4096)
    rows = op.rows(device=device.of(Target(80)))
    assert not rows.device.allows(cluster.needs(op, rows, Shape(8, 4, 128, 3)))
    assert not rows.device.allows(cluster.needs(op, rows, Shape(1, 20, 128, 3, grid=True)))
