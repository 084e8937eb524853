"""Each kernel by itself, at shapes so small that the emulator watches all of it.

Sizes are such that CTAs take several rows and threads several groups, that rows have ends, that
parts are empty, and that sums of the weight's gradient are written more than once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from pyptx._emulator import Emulation
from pyptx.ops._rms import choice, chunks, few, lanes, rows, strips, teams, twice
from pyptx.ops._rms.columns import column_sums
from pyptx.ops._rms.geometry import Rows
from pyptx.types import BY_NUMPY, f32

from .exact import BF16, EPS, F16, F32, F64, Problem, check_backward, check_forward, problem
from .norm import rows_of

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


def rows_like(types, n, widest):
    x, w = (BY_NUMPY[str(t)] for t in types)
    return Rows((n,), x, w, widest)


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


def backward(kernel, given: Problem, what: Rows, written: int, *between, **policy) -> None:
    """`written` partial sums are there; `between` stands behind w, as the sums of chunks do."""
    r = invvar(given)
    inputs = given.g, r, given.x, given.weight
    dx, partial = clean(kernel.emulate(*inputs, *between, **policy))
    check_backward(given, r, dx, summed(given, what, partial[:written]))


# ---- short rows ----------------------------------------------------------------------------------

LANES = [(1, 4, 3), (2, 3, 5), (4, 2, 16), (8, 1, 63), (32, 1, 130), (32, 2, 96)]


@types
@pytest.mark.parametrize("count", [0, 1, 77])
@pytest.mark.parametrize(("width", "each", "n"), LANES)
def test_lanes_forward(width, each, n, count, types):
    given = problem((count,), (n,), types)
    forward(lanes.forward(rows_of(given), EPS, lanes.Teams(width, each, 64), invvar=True), given)


@types
@pytest.mark.parametrize("count", [1, 77])
@pytest.mark.parametrize(("width", "each", "n"), LANES)
def test_lanes_backward(width, each, n, count, types):
    given = problem((count,), (n,), types)
    team = lanes.Teams(width, each, 64)
    kernel = lanes.backward(rows_of(given), team, ctas=2)
    backward(kernel, given, rows_of(given).divided(), min(2, -(-count // team.rows)))


@pytest.mark.parametrize(("width", "each", "n"), [(16, 2, 64), (32, 3, 7)])
def test_lanes_add_up_blocks_of_rows(width, each, n):
    given = problem((4 * each * 2 * 40,), (n,), (F32, F32))
    kernel = lanes.backward(rows_of(given), lanes.Teams(width, each, 64), ctas=1)
    backward(kernel, given, rows_of(given).divided(), 1)


# ---- a row of one CTA ----------------------------------------------------------------------------


@types_and_policies
@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("n", [128, 131, 520, 1003])
def test_rows(n, held, types, policy):
    given = problem((9,), (n,), types)
    kernel = rows.forward(rows_of(given), EPS, threads=64, held=held, invvar=True)
    forward(kernel, given, **policy)


@types
@pytest.mark.parametrize("parts", [1, 2, 4, 8])
@pytest.mark.parametrize("n", [128, 131, 520, 1003])
def test_rows_without_a_copy(n, parts, types):
    """By one CTA a row, and by several, each of which writes a part."""
    given = problem((9,), (n,), types)
    what = rows_of(given)
    kernel = rows.forward(what, EPS, threads=64, held=True, direct=True, parts=parts, invvar=True)
    forward(kernel, given)


@types
@pytest.mark.parametrize("n", [128, 131])
def test_rows_of_few_groups_in_many_parts(n, types):
    """Parts that have no group at all."""
    given = problem((3,), (n,), types)
    kernel = rows.forward(
        rows_of(given), EPS, threads=64, held=True, direct=True, parts=64, invvar=True
    )
    forward(kernel, given)


# ---- a few rows ----------------------------------------------------------------------------------


@types
@pytest.mark.parametrize("count", [0, 1, 4, 5, 13])
@pytest.mark.parametrize(("parts", "n"), [(2, 512), (4, 1000), (2, 90)])
def test_a_few_rows_backward(parts, n, count, types):
    given = problem((count,), (n,), types)
    what = rows_of(given).divided()
    kernel = few.backward(what, few.Shape(parts, 96, 4), what.compute)
    r = invvar(given)
    dx, dw = clean(kernel.emulate(given.g, r, given.x, given.weight))
    check_backward(given, r, dx, dw.astype(given.weight.dtype))


def test_a_few_rows_in_more_warps_than_one_reads():
    given = problem((9,), (1280,), (F32, F32))
    kernel = few.backward(rows_of(given), few.Shape(16, 96, 8), f32)
    r = invvar(given)
    check_backward(given, r, *clean(kernel.emulate(given.g, r, given.x, given.weight)))


SHAPES = [(4, 1), (2, 4), (1, 8)]


@policies
@pytest.mark.parametrize(("ctas", "count"), SHAPES)
@pytest.mark.parametrize(
    ("n", "types"), [(256, TYPES[0]), (512, TYPES[1]), (263, TYPES[0]), (521, TYPES[1])]
)
def test_teams(n, types, ctas, count, policy):
    what = rows_like(types, n, 2**10)
    ctas = math.lcm(ctas, what.alignments)  # all rows of a CTA are cut alike
    given = problem((ctas * count * 2 + 1,), (n,), types)
    kernel = teams.backward(what, teams.Shape(ctas, count, 64, 2))
    backward(kernel, given, what, ctas, **policy)


@policies
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("n", "types"), [(576, TYPES[0]), (580, TYPES[1]), (587, TYPES[0])])
def test_teams_of_three_warps(n, types, count, policy):
    """Numbers of threads that are no power of two."""
    what = rows_like(types, n, 2**10)
    ctas = math.lcm(2, what.alignments)
    given = problem((ctas * count * 2 + 1,), (n,), types)
    kernel = teams.backward(what, teams.Shape(ctas, count, 96, 2))
    backward(kernel, given, what, ctas, **policy)


@pytest.mark.parametrize("rows", [0, 1, 5, 8, 9, 11])
@pytest.mark.parametrize("n", [256, 258])
def test_teams_without_rows(n, rows):
    """A CTA adds up the sums of all its teams, also of those that had no row."""
    given = problem((rows,), (n,), (F32, F32))
    shape = teams.Shape(4, 4, 64, 2)
    what = rows_of(given)
    written = min(4, -(-rows // shape.beside(what)))
    backward(teams.backward(what, shape), given, what, written)


@policies
@pytest.mark.parametrize(("n", "types"), [(1091, TYPES[0]), (1095, TYPES[1])])
def test_rows_cut_at_lines(n, types, policy):
    what = replace(rows_like(types, n, 2**10), lines=True)
    given = problem((what.alignments * 2 + 3,), (n,), types)
    kernel = teams.backward(what, teams.Shape(what.alignments, 1, 128, 2))
    backward(kernel, given, what, what.alignments, **policy)
    for held in (False, True):
        kernel = rows.forward(what, EPS, threads=128, held=held, invvar=True)
        forward(kernel, given, **policy)


@pytest.mark.parametrize("rows_each", [31, 32, 33, 64, 65])
@pytest.mark.parametrize(("n", "count"), [(67, 1), (67, 2), (603, 1)])  # second sums in memory
def test_teams_write_sums_of_blocks(n, count, rows_each):
    given = problem((rows_each * 4,), (n,), (F32, F32))
    kernel = teams.backward(rows_of(given), teams.Shape(4, count, 32, 3))
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

    def shape(self, what: Rows) -> strips.Shape:
        count = max(2, what.alignments)
        stages = (self.lag + 1) * self.pieces + 1
        return strips.Shape(
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


def strip_inputs(given: Problem, shape: strips.Shape) -> tuple[np.ndarray, ...]:
    """The memory for sums of a team that is larger than a cluster."""
    if not shape.grid:
        return ()
    words = shape.parts * strips.words(rows_of(given))
    return (np.zeros((*given.lead, words), np.uint64),)


@types_and_policies
@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_strips_forward(split, types, policy):
    given = problem((split.rows_each * 4 + 1,), (split.n,), types)
    shape = split.shape(rows_of(given))
    kernel = strips.forward(rows_of(given), EPS, shape, invvar=True)
    mail = strip_inputs(given, shape)
    *_, y, r = clean(kernel.emulate(*mail, given.x, given.weight, **policy))
    check_forward(given, y, r)


@types_and_policies
@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_strips_backward(split, types, policy):
    given = problem((split.rows_each * 4 + 1,), (split.n,), types)
    shape = split.shape(rows_of(given))
    kernel = strips.backward(rows_of(given), shape)
    mail, r = strip_inputs(given, shape), invvar(given)
    outputs = clean(kernel.emulate(*mail, given.g, r, given.x, given.weight, **policy))
    *_, dx, partial = outputs
    check_backward(
        given, r, dx, summed(given, rows_of(given), partial[: min(shape.teams, *given.lead)])
    )


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("rows_each", [1, 2, 3, 31, 33, 65])
@pytest.mark.parametrize(("n", "pieces"), [(131, 1), (1203, 2)])
def test_strips_write_sums_of_blocks(n, pieces, rows_each, grid):
    given = problem((rows_each * 4,), (n,), (F32, F32))
    shape = strips.Shape(4, 2, 32, 3 * pieces, grid=grid, pieces=pieces)
    mail, r = strip_inputs(given, shape), invvar(given)
    kernel = strips.backward(rows_of(given), shape)
    *_, dx, partial = clean(kernel.emulate(*mail, given.g, r, given.x, given.weight))
    check_backward(given, r, dx, summed(given, rows_of(given), partial))


# ---- a few long rows ---------------------------------------------------------------------------


@types
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 16])
@pytest.mark.parametrize(("threads", "n"), [(32, 1024), (64, 1000)])
def test_a_few_rows_read_twice(threads, n, count, types):
    given = problem((count,), (n,), types)
    what = rows_of(given)
    kernels = twice.backward(what, twice.Shape(threads, 4), what.compute)
    r = invvar(given)
    dx, dw = clean(kernels.emulate(given.g, r, given.x, given.weight))
    check_backward(given, r, dx, dw.astype(given.weight.dtype))


# ---- a row in chunks -----------------------------------------------------------------------------


@types
@pytest.mark.parametrize(("n", "widest"), [(1100, 1), (2051, 2), (4096, 4), (3, 2)])
def test_chunks_forward(n, widest, types):
    given = problem((5,), (n,), types)
    what = rows_like(types, n, widest)
    (squares,) = clean(chunks.sums(what, gradient=False).emulate(given.x))
    kernel = chunks.forward(what, EPS, invvar=True)
    y, r = clean(kernel.emulate(given.x, given.weight, squares))
    check_forward(given, y, r)


@types
@pytest.mark.parametrize("count", [1, 2, 5, 70])
@pytest.mark.parametrize(("n", "widest"), [(1100, 1), (2051, 2)])
def test_chunks_backward(n, widest, count, types):
    given = problem((count,), (n,), types)
    what = rows_like(types, n, widest)
    (products,) = clean(chunks.sums(what, gradient=True).emulate(given.g, given.x, given.weight))
    backward(chunks.backward(what, teams=2), given, what, min(count, 2), products)


# ---- the end of the weight's gradient ------------------------------------------------------------


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 7, 100])
@pytest.mark.parametrize(("partials", "n"), [(1, 5), (7, 33), (64, 40), (264, 3), (5, 70000)])
@pytest.mark.parametrize("widest", [1, 4])
def test_column_sums(widest, partials, n, count, each):
    """Partial sums that no row belongs to are not read: they may be anything."""
    what = Rows((n,), f32, f32, widest)
    partial = np.random.default_rng(0).standard_normal((partials, what.padded)).astype(np.float32)
    used = min(partials, -(-count // each))
    partial[used:] = np.nan
    given = problem((count,), (n,), (F32, F32))
    kernel = column_sums(what, partials, each, f32)
    (dw,) = clean(kernel.emulate(partial, np.zeros(count, np.float32)))
    np.testing.assert_allclose(dw, summed(given, what, partial[:used]), rtol=1e-5, atol=1e-5)


# ---- what the operation chooses ------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 9])  # few, and many for a gradient
@pytest.mark.parametrize("n", [1, 3, 100, 129, 576, 1000, 1025, 2304, 4097, 8200, 9216])
@pytest.mark.parametrize("pair", [(F32, F32), (BF16, BF16)], ids=str)
def test_sequences_are_clean(pair, n, count):
    """With what one step leaves for the next, and memory that nothing has written."""
    given = problem((count,), (n,), pair)
    what = rows_of(given)
    y, r = clean(choice.forward(what, EPS, invvar=True).emulate(given.x, given.weight))
    check_forward(given, y, r)
    gradient = choice.backward(what, what.weight)
    check_backward(given, r, *clean(gradient.emulate(given.g, r, given.x, given.weight)))


def kernels_of(operation):
    """The names of the kernels that an operation may launch."""
    description = operation._describe({}, {"B": 1}, {}, by_reference=True)
    return {step.name for step in description.steps}


def test_all_kernels_are_chosen_somewhere():
    """Lengths that lead to every family, so that the tests of values meet them all."""
    found = set()
    for n in (100, 4096, 65536, 2**20, 2**23):
        what = Rows((n,), f32, f32)
        found |= kernels_of(choice.forward(what, EPS, invvar=False))
        found |= kernels_of(choice.backward(what, f32))
    assert found == {
        "rms_norm_lanes",
        "rms_norm_row",
        "rms_norm_strips",
        "rms_norm_grid",
        "rms_norm_clear",
        "rms_norm_chunk_squares",
        "rms_norm_chunks",
        "rms_norm_few_backward",
        "rms_norm_lanes_backward",
        "rms_norm_teams_backward",
        "rms_norm_strips_backward",
        "rms_norm_grid_backward",
        "rms_norm_chunk_products",
        "rms_norm_chunks_backward",
        "rms_norm_twice",
        "rms_norm_column_sums",
    }
