"""Each kernel by itself, at shapes so small that the emulator watches all of it.

Sizes are such that CTAs take several rows and threads several groups, that rows have ends, that
parts are empty, and that sums of the weight's gradient are written more than once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from pyptx._emulator import Emulation
from pyptx.ops.rowwise.finish import column_sums
from pyptx.ops.rowwise.operation import ROW, Operand
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.strategies import (
    cluster,
    cluster_shape,
    cta,
    one_cluster,
    persistent,
    subwarp,
    two_pass,
    two_pass_few,
)
from pyptx.types import f32

from .exact import BF16, EPS, F16, F32, F64, Problem, check_backward, check_forward, problem
from .norm import chosen_backward, chosen_forward, gradient_of, norm_of, rows_of

POLICIES: list[dict[str, object]] = [
    {},
    {"completion": "eager"},
    {"completion": "reversed", "seed": 1},
    {"completion": "random", "seed": 2},
    {"completion": "late", "seed": 3},
]
TYPES = [(F32, F32), (BF16, F32), (F16, F64), (F64, BF16)]
types = pytest.mark.parametrize("types", TYPES, ids=str)
policies = pytest.mark.parametrize("policy", POLICIES, ids=str)
types_and_policies = pytest.mark.parametrize(
    ("types", "policy"),
    [
        pytest.param(
            pair, policy, marks=() if not policy or pair == (F32, F32) else pytest.mark.sweep
        )
        for pair in TYPES
        for policy in POLICIES
    ],
    ids=str,
)


def clean(result: Emulation) -> list[np.ndarray]:
    """The outputs of a run in which nothing was found."""
    assert not result.report.findings, "\n".join(map(str, result.report.findings))
    outputs = result.outputs
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def forward(kernel, given: Problem, **policy) -> None:
    y, r = clean(kernel.emulate(given.x, given.weight, **policy))
    check_forward(given, y, r)


def invvar(given: Problem) -> np.ndarray:
    x = given.x.astype(np.float64)
    return np.asarray((np.mean(x * x, given.axes) + EPS) ** -0.5, given.compute)


def summed(given: Problem, what: Rows, partial: np.ndarray) -> np.ndarray:
    """The weight's gradient of partial sums: each may stand behind what aligns its groups."""
    total = np.zeros(what.columns)
    for index, line in enumerate(partial):
        head = -index * what.columns % what.unit
        first = 0 if what.aligned else what.unit - head
        total += line[first : first + what.columns]
    return total.reshape(given.weight.shape).astype(given.weight.dtype)


def backward(kernel, given: Problem, what: Rows, written: int, *more, **policy) -> None:
    """`written` partial sums are there; `more` is what a strategy takes besides, as sums of chunks.

    What it returns besides, it has written in place.
    """
    r = invvar(given)
    inputs = given.x, given.g, r, given.weight
    dx, partial, *_ = clean(kernel.emulate(*inputs, *more, **policy))
    check_backward(given, r, dx, summed(given, what, partial[:written]))


# ---- short rows ----------------------------------------------------------------------------------

SUBWARPS = [(1, 4, 3), (2, 3, 5), (4, 2, 16), (8, 1, 63), (32, 1, 130), (32, 2, 96)]


@pytest.mark.sampled(32, each=("width", "types", "count"))
@types
@pytest.mark.parametrize("count", [0, 1, 77])
@pytest.mark.parametrize(("width", "each", "n"), SUBWARPS)
def test_subwarps_forward(width, each, n, count, types):
    given = problem((count,), (n,), types)
    shape = subwarp.Shape(width, each, 64)
    forward(subwarp.independent(norm_of(given), rows_of(given), shape), given)


@pytest.mark.sampled(24)
@types
@pytest.mark.parametrize("count", [1, 77])
@pytest.mark.parametrize(("width", "each", "n"), SUBWARPS)
def test_subwarps_that_stay(width, each, n, count, types):
    """Two CTAs go through all rows: one round, or several, the last of which is not full."""
    given = problem((count,), (n,), types)
    shape = subwarp.Shape(width, each, 64)
    forward(subwarp.independent(norm_of(given), rows_of(given), shape, ctas=2), given)


@pytest.mark.sampled(32, each=("width", "types"))
@types
@pytest.mark.parametrize("count", [1, 77])
@pytest.mark.parametrize(("width", "each", "n"), SUBWARPS)
def test_subwarps_backward(width, each, n, count, types):
    given = problem((count,), (n,), types)
    shape = subwarp.Shape(width, each, 64)
    kernel = subwarp.persistent(gradient_of(given), rows_of(given), shape, ctas=2)
    backward(kernel, given, rows_of(given).divided(), min(2, -(-count // shape.rows)))


@pytest.mark.parametrize(("width", "each", "n"), [(16, 2, 64), (32, 3, 7)])
def test_subwarps_add_up_blocks_of_rows(width, each, n):
    given = problem((4 * each * 2 * 40,), (n,), (F32, F32))
    shape = subwarp.Shape(width, each, 64)
    kernel = subwarp.persistent(gradient_of(given), rows_of(given), shape, ctas=1)
    backward(kernel, given, rows_of(given).divided(), 1)


# ---- a row of one CTA ----------------------------------------------------------------------------


@pytest.mark.sampled(32, each=("types", "policy", "held"))
@types_and_policies
@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("n", [128, 131, 520, 1003])
def test_ctas(n, held, types, policy):
    given = problem((9,), (n,), types)
    kernel = cta.independent(norm_of(given), rows_of(given), threads=64, held=held)
    forward(kernel, given, **policy)


@pytest.mark.sampled(32, each=("types", "parts", "n"))
@types
@pytest.mark.parametrize("parts", [1, 2, 4, 8])
@pytest.mark.parametrize("n", [128, 131, 520, 1003])
def test_ctas_without_a_copy(n, parts, types):
    """By one CTA a row, and by several, each of which writes a part."""
    given = problem((9,), (n,), types)
    what = rows_of(given)
    kernel = cta.independent(norm_of(given), what, threads=64, held=True, direct=True, parts=parts)
    forward(kernel, given)


@types
@pytest.mark.parametrize("n", [128, 131])
def test_rows_of_few_groups_in_many_parts(n, types):
    """Parts that have no group at all."""
    given = problem((3,), (n,), types)
    kernel = cta.independent(
        norm_of(given), rows_of(given), threads=64, held=True, direct=True, parts=64
    )
    forward(kernel, given)


# ---- a few rows ----------------------------------------------------------------------------------


@pytest.mark.sampled(40, each=("types", "count"))
@types
@pytest.mark.parametrize("count", [0, 1, 4, 5, 13])
@pytest.mark.parametrize(("parts", "n"), [(2, 512), (4, 1000), (2, 90)])
def test_a_few_rows_backward(parts, n, count, types):
    given = problem((count,), (n,), types)
    what = rows_of(given).divided()
    shape = one_cluster.Shape(parts, 96, 4)
    kernel = one_cluster.persistent(gradient_of(given), what, shape, result=what.compute)
    r = invvar(given)
    dx, dw = clean(kernel.emulate(given.x, given.g, r, given.weight))
    check_backward(given, r, dx, dw.astype(given.weight.dtype))


def test_a_few_rows_in_more_warps_than_one_reads():
    given = problem((9,), (1280,), (F32, F32))
    shape = one_cluster.Shape(16, 96, 8)
    kernel = one_cluster.persistent(gradient_of(given), rows_of(given), shape, result=f32)
    r = invvar(given)
    check_backward(given, r, *clean(kernel.emulate(given.x, given.g, r, given.weight)))


SHAPES = [(4, 1), (2, 4), (1, 8)]


@pytest.mark.sampled(40, each=("types", "ctas", "count", "policy"))
@policies
@pytest.mark.parametrize(("ctas", "count"), SHAPES)
@pytest.mark.parametrize(
    ("n", "types"), [(256, TYPES[0]), (512, TYPES[1]), (263, TYPES[0]), (521, TYPES[1])]
)
def test_teams(n, types, ctas, count, policy):
    what = rows_of(problem((0,), (n,), types))
    ctas = math.lcm(ctas, what.alignments)  # all rows of a CTA are cut alike
    given = problem((ctas * count * 2 + 1,), (n,), types)
    kernel = persistent.kernel_of(gradient_of(given), what, persistent.Shape(ctas, count, 64, 2))
    backward(kernel, given, what, ctas, **policy)


@pytest.mark.sampled(36, each=("policy", "n"))
@policies
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("n", "types"), [(576, TYPES[0]), (580, TYPES[1]), (587, TYPES[0])])
def test_teams_of_three_warps(n, types, count, policy):
    """Numbers of threads that are no power of two."""
    what = rows_of(problem((0,), (n,), types))
    ctas = math.lcm(2, what.alignments)
    given = problem((ctas * count * 2 + 1,), (n,), types)
    kernel = persistent.kernel_of(gradient_of(given), what, persistent.Shape(ctas, count, 96, 2))
    backward(kernel, given, what, ctas, **policy)


@pytest.mark.parametrize("rows", [0, 1, 5, 8, 9, 11])
@pytest.mark.parametrize("n", [256, 258])
def test_teams_without_rows(n, rows):
    """A CTA adds up the sums of all its teams, also of those that had no row."""
    given = problem((rows,), (n,), (F32, F32))
    shape = persistent.Shape(4, 4, 64, 2)
    op, what = gradient_of(given), rows_of(given)
    written = min(4, -(-rows // shape.neighbours(op, what)))
    backward(persistent.kernel_of(op, what, shape), given, what, written)


@pytest.mark.sampled(24, each=("n", "types", "policy"))
@policies
@pytest.mark.parametrize(("n", "types"), [(1091, TYPES[0]), (1095, TYPES[1])])
def test_rows_cut_at_lines(n, types, policy):
    what = rows_of(problem((0,), (n,), types), lines=True)
    given = problem((what.alignments * 2 + 3,), (n,), types)
    shape = persistent.Shape(what.alignments, 1, 128, 2)
    kernel = persistent.kernel_of(gradient_of(given), what, shape)
    backward(kernel, given, what, what.alignments, **policy)
    for held in (False, True):
        kernel = cta.independent(norm_of(given), what, threads=128, held=held)
        forward(kernel, given, **policy)


@pytest.mark.sampled(20, each="rows_each")
@pytest.mark.parametrize("rows_each", [31, 32, 33, 64, 65])
@pytest.mark.parametrize(("n", "count"), [(67, 1), (67, 2), (603, 1)])  # second sums in memory
def test_teams_write_sums_of_blocks(n, count, rows_each):
    given = problem((rows_each * 4,), (n,), (F32, F32))
    shape = persistent.Shape(4, count, 32, 3)
    kernel = persistent.kernel_of(gradient_of(given), rows_of(given), shape)
    backward(kernel, given, rows_of(given), 4)


# ---- a row of several CTAs -----------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """How rows are split, in which kinds of memory, and how many there are."""

    n: int
    parts: int
    shared: bool
    grid: bool
    rows_each: int = 3
    pieces: int = 1
    lag: int = 1
    threads: int = 64

    def shape(self, what: Rows) -> cluster.Shape:
        count = max(2, what.alignments)
        stages = (self.lag + 1) * self.pieces + 1
        return cluster.Shape(
            count,
            self.parts,
            self.threads,
            stages,
            self.lag,
            self.shared,
            self.grid,
            self.pieces,
        )


SPLITS = [
    *(Split(n, 2, shared, grid=False) for n in (512, 1030) for shared in (True, False)),
    *(Split(n, 4, True, grid=False) for n in (1024, 99)),
    *(Split(n, 2, True, grid=False, threads=96) for n in (1152, 1030)),
    Split(2055, 8, False, grid=False, rows_each=1),
    *(Split(n, 1, True, grid=False, pieces=2) for n in (1024, 1099)),
    *(Split(n, 3, n % 2 == 0, grid=True) for n in (768, 1030, 99)),
    *(Split(n, 2, True, grid=n % 2 == 0, pieces=3) for n in (1026, 1539, 1603)),
    *(Split(1100, 2, False, grid, pieces=2, lag=lag) for grid in (False, True) for lag in (0, 2)),
]


def mail_of(given: Problem, shape: cluster.Shape) -> tuple[np.ndarray, ...]:
    """The memory for sums of a team that is larger than a cluster."""
    if not shape.grid:
        return ()
    op = norm_of(given)
    words = shape.parts * cluster_shape.words(op.statistic, op.compute)
    return (np.zeros((*given.lead, words), np.uint64),)


@types_and_policies
@pytest.mark.sampled(40, each=("types", "policy"))
@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_clusters_forward(split, types, policy):
    given = problem((split.rows_each * 4 + 1,), (split.n,), types)
    shape = split.shape(rows_of(given))
    kernel = cluster.kernel_of(norm_of(given), rows_of(given), shape)
    mail = mail_of(given, shape)
    y, r, *_ = clean(kernel.emulate(given.x, given.weight, *mail, **policy))
    check_forward(given, y, r)


@types_and_policies
@pytest.mark.sampled(40, each=("types", "policy"))
@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_clusters_backward(split, types, policy):
    given = problem((split.rows_each * 4 + 1,), (split.n,), types)
    shape = split.shape(rows_of(given))
    kernel = cluster.kernel_of(gradient_of(given), rows_of(given), shape)
    written = min(shape.teams, *given.lead)
    backward(kernel, given, rows_of(given), written, *mail_of(given, shape), **policy)


@pytest.mark.sampled(48, each=("pieces", "grid", "sums"))
@pytest.mark.parametrize(("grid", "sums"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("rows_each", [1, 2, 3, 31, 33, 65])
@pytest.mark.parametrize(("n", "pieces"), [(131, 1), (1203, 2), (2048, 1)])
def test_clusters_write_sums_of_blocks(n, pieces, rows_each, grid, sums):
    given = problem((rows_each * 4,), (n,), (F32, F32))
    shape = cluster.Shape(4, 2, 32, 3 * pieces, grid=grid, pieces=pieces, sums=sums)
    kernel = cluster.kernel_of(gradient_of(given), rows_of(given), shape)
    backward(kernel, given, rows_of(given), 4, *mail_of(given, shape))


# ---- a few long rows ---------------------------------------------------------------------------


@pytest.mark.sampled(40, each=("types", "count"))
@types
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 16])
@pytest.mark.parametrize(("threads", "n"), [(32, 1024), (64, 1000)])
def test_a_few_rows_read_twice(threads, n, count, types):
    given = problem((count,), (n,), types)
    what = rows_of(given)
    shape = two_pass_few.Shape(threads, 4)
    kernels = two_pass_few.persistent(gradient_of(given), what, shape, result=what.compute)
    r = invvar(given)
    dx, dw = clean(kernels.emulate(given.x, given.g, r, given.weight))
    check_backward(given, r, dx, dw.astype(given.weight.dtype))


# ---- a row in chunks -----------------------------------------------------------------------------


@pytest.mark.sampled(16)
@types
@pytest.mark.parametrize(("n", "widest"), [(1100, 1), (2051, 2), (4096, 4), (3, 2)])
def test_two_passes_forward(n, widest, types):
    given = problem((5,), (n,), types)
    op, what = norm_of(given), rows_of(given, widest=widest)
    (squares,) = clean(two_pass.statistics(op, what).emulate(given.x, given.weight))
    y, r = clean(two_pass.result(op, what).emulate(given.x, given.weight, squares))
    check_forward(given, y, r)


@pytest.mark.sampled(24)
@types
@pytest.mark.parametrize("count", [1, 2, 5, 70])
@pytest.mark.parametrize(("n", "widest"), [(1100, 1), (2051, 2)])
def test_two_passes_backward(n, widest, count, types):
    given = problem((count,), (n,), types)
    op, what = gradient_of(given), rows_of(given, widest=widest)
    (products,) = clean(two_pass.statistics(op, what).emulate(given.x, given.g, given.weight))
    kernel = two_pass.result_and_sums(op, what, teams=2)
    backward(kernel, given, what, min(count, 2), products)


# ---- the end of the weight's gradient ------------------------------------------------------------


@pytest.mark.sampled(40, each=("widest", "partials"))
@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 7, 100])
@pytest.mark.parametrize(("partials", "n"), [(1, 5), (7, 33), (64, 40), (264, 3), (5, 70000)])
@pytest.mark.parametrize("widest", [1, 4])
def test_column_sums(widest, partials, n, count, each):
    """Partial sums that no row belongs to are not read: they may be anything."""
    what = Rows((n,), (f32,), f32, widest)
    partial = np.random.default_rng(0).standard_normal((partials, what.padded)).astype(np.float32)
    used = min(partials, -(-count // each))
    partial[used:] = np.nan
    given = problem((count,), (n,), (F32, F32))
    kernel = column_sums("rms_norm", what, Operand("r", f32, ROW), partials, each, f32)
    (dw,) = clean(kernel.emulate(partial, np.zeros(count, np.float32)))
    np.testing.assert_allclose(dw, summed(given, what, partial[:used]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("partials", "n"), [(7, 33), (264, 3), (5, 70000)])
@pytest.mark.parametrize("sums", [2, 3])
def test_several_column_sums_by_one_kernel(sums, partials, n):
    what = Rows((n,), (f32,), f32, 4)
    rng, used = np.random.default_rng(0), min(partials, 4)
    several = [rng.standard_normal((partials, what.padded)).astype(np.float32) for _ in range(sums)]
    for each in several:
        each[used:] = np.nan
    given = problem((7,), (n,), (F32, F32))
    like = Operand("r", f32, ROW)
    kernel = column_sums("rms_norm", what, like, partials, 2, f32, sums)
    found = clean(kernel.emulate(*several, np.zeros(7, np.float32)))
    for one, partial in zip(found, several, strict=True):
        wanted = summed(given, what, partial[:used])
        np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-5)


# ---- what the operation chooses ------------------------------------------------------------------


@pytest.mark.sampled(40, each="pair")
@pytest.mark.parametrize("count", [1, 9])  # few, and many for a gradient
@pytest.mark.parametrize("n", [1, 3, 100, 129, 576, 1000, 1025, 2304, 4097, 8200, 9216])
@pytest.mark.parametrize("pair", [(F32, F32), (BF16, BF16)], ids=str)
def test_sequences_are_clean(pair, n, count):
    """With what one step leaves for the next, and memory that nothing has written."""
    given = problem((count,), (n,), pair)
    y, r = clean(chosen_forward(given).emulate(given.x, given.weight))
    check_forward(given, y, r)
    gradient = chosen_backward(given)
    check_backward(given, r, *clean(gradient.emulate(given.x, given.g, r, given.weight)))


def kernels_of(operation):
    """The names of the kernels that an operation may launch."""
    description = operation._describe({}, {"B": 1}, {}, by_reference=True)
    return {step.name for step in description.steps}


def test_all_kernels_are_chosen_somewhere():
    """Lengths that lead to every family, so that the tests of values meet them all."""
    found = set()
    for n in (100, 4096, 65536, 2**20, 2**23):
        given = problem((0,), (n,), (F32, F32))
        found |= kernels_of(chosen_forward(given, invvar=False))
        found |= kernels_of(chosen_backward(given))
    assert found == {
        "rms_norm_subwarp",
        "rms_norm_row",
        "rms_norm_cluster",
        "rms_norm_grid",
        "rms_norm_clear",
        "rms_norm_chunks",
        "rms_norm_two_pass",
        "rms_norm_gradient_one_cluster",
        "rms_norm_gradient_subwarp",
        "rms_norm_gradient_persistent",
        "rms_norm_gradient_cluster",
        "rms_norm_gradient_grid",
        "rms_norm_gradient_clear",
        "rms_norm_gradient_chunks",
        "rms_norm_gradient_two_pass",
        "rms_norm_gradient_two_pass_few",
        "rms_norm_gradient_column_sums",
    }
