"""One cluster for all of a few rows, for operations other than norms, in the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from pyptx import Reg, device
from pyptx._target import Target
from pyptx.device import KIB
from pyptx.ops._layer_norm import LayerNormGradient
from pyptx.ops._rms_norm import RmsNormGradient
from pyptx.ops.rowwise import cluster_sizes
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import COLUMN, Operand, RowOp, Scalars, Values
from pyptx.ops.rowwise.sequences import finished
from pyptx.ops.rowwise.statistics import Statistic, Sums, Term
from pyptx.ops.rowwise.strategies import one_cluster
from pyptx.ops.rowwise.strategies.one_cluster import Shape
from pyptx.types import DType, bf16, f16, f32, f64

from . import toys_persistent
from .toys_cta import KINDS, Blend, Centred, Gate, Toy, clean, close, rows_of

kinds = pytest.mark.parametrize("kinds", KINDS, ids=lambda k: "-".join(t.name for t in k))
POLICIES: list[dict[str, object]] = [{}, {"completion": "eager", "seed": 1}, {"seed": 2}]


def check(op: Toy, count: int, shape: Shape, **how: Any) -> None:
    """Sums over rows come whole."""
    given = op.arrays(count, seed=count)
    kernel = one_cluster.persistent(op, rows_of(op).divided(), shape, result=op.compute)
    close(op, clean(kernel.emulate(*given, **how)), given)


@pytest.mark.sampled(32, each=("count", "shape", "kinds"))
@kinds
@pytest.mark.parametrize("shape", [Shape(2, 64, 1), Shape(4, 96, 3), Shape(1, 160, 2)], ids=str)
@pytest.mark.parametrize("count", [1, 7])
def test_several_sums_over_rows(count, shape, kinds):
    """One row, and more than are loaded together; three rows of two numbers are no whole pieces."""
    check(Blend(1032, kinds, summed=True), count, shape)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_numbers_of_earlier_rows_stay_until_all_have_read_them(policy):
    check(Blend(264, KINDS[0], summed=True), 9, Shape(4, 64, 2), **policy)


@pytest.mark.parametrize("n", [7, 99, 1028])
def test_every_length_in_vectors_that_divide_it(n):
    check(Blend(n, KINDS[1], summed=True), 5, Shape(4, 96, 4))


@pytest.mark.parametrize("n", [8, 2056])
def test_elements_that_need_nothing_of_their_row(n):
    """There is no statistic, so CTAs wait for nothing."""
    op = Gate(n, bf16, f32, summed=True)
    check(op, 5, Shape(2, 64, 2))
    text = one_cluster.persistent(op, rows_of(op), Shape(2, 64, 2), result=f32).ptx()
    assert "shfl" not in text
    assert "barrier.cluster" not in text


@pytest.mark.parametrize("count", [1, 4, 7])
def test_rows_that_are_not_there_are_no_numbers(count):
    """Their elements are minus infinity, and minus infinity times zero may not get into a sum."""
    check(Centred(1032, bf16, f32, f32, summed=True), count, Shape(4, 64, 4))


@pytest.mark.parametrize("parts", [5, 8])
def test_more_warps_than_lanes(parts):
    """A lane combines several warps, and the last lanes fewer: those change nothing."""
    check(Centred(1032, bf16, f32, f32, summed=True), 3, Shape(parts, 256, 2))
    check(Blend(1032, KINDS[3], summed=True), 3, Shape(parts, 256, 2))


@pytest.mark.sampled(20, each=("count", "op"))
@pytest.mark.parametrize(
    "op",
    [
        toys_persistent.Everything(520, f16, bf16),
        toys_persistent.Everything(520, f64, f16, f64),
        toys_persistent.Softmax(1000, f32, summed=True),
        toys_persistent.Alone(96, bf16, f64, summed=True),
    ],
    ids=["half", "wide", "softmax", "alone"],
)
@pytest.mark.parametrize("count", [0, 1, 6])
def test_numbers_per_row_and_per_column(op, count):
    rows = op.rows().divided()
    kernel = one_cluster.persistent(op, rows, Shape(3, 96, 4), result=op.compute)
    toys_persistent.check(op, rows, kernel, count, None)


@dataclass(frozen=True)
class Shares(RowOp):
    """Shares of the row's sum, and their sums over rows; a row of zeros has no shares."""

    x: DType = f32

    name = "shares"
    compute = f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (Operand("x", self.x),)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return Operand("y", f32), Operand("u", f32, COLUMN)

    @property
    def statistic(self) -> Statistic:
        return Sums(1)

    def term(self, m: Math, v: Values) -> Term:
        return v.x, m.one

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> Reg:
        del row
        return m.divide(1.0, total[0])

    def result(self, m: Math, v: Values, f: Reg) -> tuple[Reg, ...]:
        return (m.mul(v.x, f),)

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: Reg) -> None:
        m.fma(sums[0], v.x, f, sums[0])


@dataclass(frozen=True)
class WrongShares(Shares):
    """Shares that say what is not so."""

    zeros_add_nothing = True


@pytest.mark.parametrize("count", [1, 3, 4])
def test_rows_that_are_not_there_have_no_factors(count):
    """Zero over zero may not get into a sum; where an operation says that it is none, it does."""
    x = np.random.default_rng(count).uniform(0.5, 1.5, (count, 72)).astype(np.float32)
    found = {}
    for op in (Shares(72), WrongShares(72)):
        kernel = one_cluster.persistent(op, rows_of(op), Shape(2, 32, 4), result=f32)
        found[type(op)] = clean(kernel.emulate(x))
    shares = x / x.sum(1, keepdims=True)
    np.testing.assert_allclose(found[Shares][0], shares, rtol=1e-6)
    np.testing.assert_allclose(found[Shares][1], shares.sum(0), rtol=1e-6)
    assert bool(np.isnan(found[WrongShares][1]).all()) is (count < 4)


@pytest.mark.parametrize("result", [bf16, f16], ids=lambda t: t.name)
def test_sums_are_rounded_to_the_type_of_the_result(result):
    op = Gate(2048, f32, f32, summed=True)
    given = op.arrays(9)
    found, want = (
        clean(one_cluster.persistent(op, rows_of(op), Shape(8, 64, 2), result=t).emulate(*given))[1]
        for t in (result, f32)
    )
    assert found.dtype == result.numpy
    assert (found == want.astype(result.numpy)).all()


@pytest.mark.parametrize("arch", ["sm_90", "sm_100a", "sm_120a"])
def test_every_target_with_clusters_assembles_it(arch):
    what = device.of(Target.parse(arch))
    for op in (Blend(4096, KINDS[1], summed=True), Gate(4100, f32, f32, summed=True)):
        rows = rows_of(op, device=what)
        shape = cluster_sizes.one_cluster_shape(op, rows)
        assert shape is not None
        kernel = one_cluster.persistent(op, rows.divided(), shape, result=f32)
        assert kernel.cubin(arch=arch).spill_stores == 0


def test_devices_without_room_have_none():
    op = Blend(4096, KINDS[1], summed=True)
    assert (
        cluster_sizes.one_cluster_shape(op, rows_of(op, device=device.of(Target.parse("sm_89"))))
        is None
    )
    # 8192 vectors, of which 16 CTAs of 256 threads have half
    assert cluster_sizes.one_cluster_shape(op, rows_of(Blend(65536, KINDS[1], summed=True))) is None
    limited = replace(device.of(Target.parse("sm_90a")), cta_shared=KIB)
    assert cluster_sizes.one_cluster_shape(op, rows_of(op, device=limited)) is None
    assert cluster_sizes.several_clusters(op, rows_of(op, device=limited)) == ()


# ---- teams of a CTA, and several clusters --------------------------------------------------------

TEAMS = [Shape(2, 64, 1, 2), Shape(4, 96, 3, 2), Shape(1, 160, 2, 3), Shape(8, 32, 2, 4)]


@pytest.mark.sampled(36, each=("shape", "kinds"))
@kinds
@pytest.mark.parametrize("shape", TEAMS, ids=str)
@pytest.mark.parametrize("count", [1, 3, 17])
def test_teams_have_rows_of_their_own(count, shape, kinds):
    """Fewer rows than teams, and more than all have at once."""
    check(Blend(1032, kinds, summed=True), count, shape)


@pytest.mark.parametrize("shape", [*TEAMS, Shape(2, 64, 1, 8)], ids=str)
def test_teams_write_a_few_columns_each(shape):
    """Also where a part has fewer vectors than threads, and vectors are single elements."""
    check(Blend(99, KINDS[1], summed=True), 5, shape)
    check(Gate(2056, bf16, f32, summed=True), 5, shape)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_teams_do_not_disturb_each_other(policy):
    check(Blend(264, KINDS[0], summed=True), 9, Shape(4, 32, 1, 4), **policy)


@pytest.mark.sampled(24, each=("kind", "count", "shape"))
@pytest.mark.parametrize(
    "shape", [Shape(2, 64, 1, 2, 3), Shape(4, 96, 3, 1, 2), Shape(8, 32, 2, 4, 4)], ids=str
)
@pytest.mark.parametrize("count", [1, 7, 40])
@pytest.mark.parametrize("kind", [Blend, Gate])
def test_several_clusters_have_a_partial_sum_each(kind, count, shape):
    """Fewer rows than clusters, of which some are not launched then; and several for each."""
    op = kind(1032, *([KINDS[0]] if kind is Blend else [bf16, f32]), summed=True)
    rows, given = rows_of(op).divided(), op.arrays(count, seed=count)
    results = tuple(o.dtype for o in op.outputs if o.per == COLUMN)
    partial = one_cluster.persistent(op, rows, shape, result=op.compute)
    whole = finished(op, rows, partial, shape.clusters, shape.at_once, results)
    close(op, clean(whole.emulate(*given)), given)


def test_code_of_teams_is_short():
    """A kernel that runs for a few microseconds waits for its instructions, too."""
    op = LayerNormGradient(8192, *[bf16] * 4)
    rows = rows_of(op).divided()
    one, four = (
        one_cluster.persistent(op, rows, shape, result=bf16).ptx().count(";")
        for shape in (Shape(8, 128, 8), Shape(8, 128, 2, 4))
    )
    assert four < one / 2


def test_where_several_clusters_take_rows():
    """Rows of 256 vectors or more, with one for a thread; as many clusters as run at once."""
    ops = [LayerNormGradient(n, *[bf16] * 4) for n in (1024, 2048, 5760, 8192, 16384)]
    assert [cluster_sizes.several_clusters(op, rows_of(op)) for op in ops] == [
        (),
        (Shape(4, 64, 2, 4, clusters=28),),
        (
            Shape(6, 128, 2, 2, clusters=16),
            Shape(6, 128, 2, 4, clusters=16),
            Shape(6, 128, 3, 4, clusters=16),
        ),
        (
            Shape(8, 128, 2, 2, clusters=14),
            Shape(8, 128, 2, 4, clusters=14),
            Shape(8, 128, 3, 4, clusters=14),
        ),
        (),
    ]


def test_one_sum_is_of_five_rows_in_a_thread():
    """Without teams nothing is added up in shared memory."""
    op = RmsNormGradient(8192, bf16, bf16)
    shapes = cluster_sizes.several_clusters(op, rows_of(op))
    assert Shape(8, 128, 5, clusters=14) in shapes
    assert [shape.stride for shape in shapes] == [56, 70, 112, 168]


def test_wider_numbers_have_one_team():
    op = RmsNormGradient(2048, f64, f64)
    assert cluster_sizes.several_clusters(op, rows_of(op)) == (Shape(8, 128, 4, clusters=14),)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [1024, 4096, 5120])
@pytest.mark.parametrize("kind", ["one sum", "two sums"])
def test_every_number_of_a_few_rows(kind, n, count):
    """Eight rows at most have a cluster; fewer have other clusters or one CTA."""
    op: Any = toys_persistent.Alone(n, bf16, f32, summed=True)
    if kind == "two sums":
        op = Blend(n, KINDS[0], summed=True)
    rows = rows_of(op) if kind == "two sums" else op.rows()
    shapes = cluster_sizes.one_cluster_shapes(op, rows)
    assert [shape.at_once for shape in shapes] == sorted(
        (shape.at_once for shape in shapes), reverse=True
    )
    shape = min((s for s in shapes if s.at_once >= count), key=lambda s: s.at_once)
    kernel = one_cluster.persistent(op, rows.divided(), shape, result=op.compute)
    if kind == "two sums":
        given = op.arrays(count, seed=count)
        close(op, clean(kernel.emulate(*given)), given)
    else:
        toys_persistent.check(op, rows, kernel, count, None)
