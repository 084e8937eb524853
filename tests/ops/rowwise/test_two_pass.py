"""Two passes, for operations other than norms, in the emulator against NumPy float64."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import Tile, device
from pyptx._target import Target
from pyptx.ops._rms_norm import RmsNorm
from pyptx.ops.rowwise.finish import column_sums
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.strategies import two_pass
from pyptx.types import bf16, f16, f32, f64

from .toys_cta import KINDS, Blend, Centred, Gate, Toy, clean, close, rows_of

kinds = pytest.mark.parametrize("kinds", KINDS, ids=lambda k: "-".join(t.name for t in k))


def check(op: Toy, count: int, each: int = two_pass.EACH) -> None:
    given = op.arrays(count, seed=op.columns)
    kernel = two_pass.independent(op, rows_of(op), each=each)
    close(op, clean(kernel.emulate(*given)), given)


def check_sums(op: Toy, count: int, teams: int) -> None:
    """Outputs, and the sums over rows that the kernel of partial sums makes of them."""
    given, rows = op.arrays(count, seed=count), rows_of(op)
    found = clean(two_pass.persistent(op, rows, teams=teams).emulate(*given))
    partial = [i for i, operand in enumerate(op.outputs) if operand.per == "column"]
    assert partial
    for i in partial:
        written = min(count, teams)
        assert found[i].shape == (teams, rows.padded)
        finish = column_sums(op.name, rows, op.inputs[0], teams, 1, op.compute)
        whole = summed(rows, found[i][:written])
        (found[i],) = clean(finish.emulate(found[i], given[0]))
        np.testing.assert_allclose(found[i], whole, rtol=1e-6)
    close(op, found, given)


def summed(rows: Rows, partial: np.ndarray) -> np.ndarray:
    """The sums of partial sums, each of which is moved so that its vectors are aligned."""
    total = np.zeros(rows.columns)
    for index, line in enumerate(partial):
        head = -index * rows.columns % rows.unit
        first = 0 if rows.aligned else rows.unit - head
        total += line[first : first + rows.columns]
    return total


@pytest.mark.sampled(24, each=("kinds", "n"))
@kinds
@pytest.mark.parametrize(("n", "count"), [(9, 4), (4096, 2), (1003, 9), (6007, 3)])
def test_two_sums_of_two_inputs(n, count, kinds):
    """Of several numbers of a row, with an input and two outputs per row."""
    check(Blend(n, kinds), count)


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("n", [73_728, 73_731])
def test_more_chunks_than_lanes(n, each):
    """A lane of the second kernel combines several chunks, and some have one more."""
    op = Blend(n, KINDS[0])
    assert two_pass.parts(rows_of(op), each) > 32
    check(op, 1, each)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("types", [(f32, f32, f32), (bf16, f16, f32), (f64, bf16, f64)], ids=str)
@pytest.mark.parametrize("n", [11, 2048, 2055, 70_001])
def test_a_statistic_of_two_numbers(n, types):
    """Chunks that a lane does not have say minus infinity, and so do elements."""
    check(Centred(n, *types), 2, each=1)


@pytest.mark.parametrize("n", [96, 5155])
def test_elements_that_need_nothing_of_their_row(n):
    """There is no statistic, so there is one kernel, and it waits for nothing."""
    op = Gate(n, bf16, f32)
    check(op, 7)
    text = two_pass.result(op, rows_of(op)).ptx()
    assert "shfl" not in text
    assert "griddepcontrol" not in text


@pytest.mark.sampled(24, each=("kinds", "n"))
@kinds
@pytest.mark.parametrize(("n", "count"), [(9, 40), (1024, 3), (1003, 17), (5003, 9)])
def test_several_sums_over_rows(n, count, kinds):
    """Fewer rows than teams, and more; rows with ends, whose partial sums are moved."""
    check_sums(Blend(n, kinds, summed=True), count, teams=8)


@pytest.mark.parametrize(("n", "count"), [(11, 40), (5003, 9)])
def test_sums_over_rows_of_what_has_another_neutral_element(n, count):
    check_sums(Centred(n, bf16, f32, f32, summed=True), count, teams=8)


@pytest.mark.parametrize("n", [24, 21])
def test_so_many_rows_that_sums_are_joined(n):
    """More than 32 rows of a team: in registers, and in global memory where columns are many."""
    check_sums(Gate(n, f32, f64, summed=True), 600, teams=8)
    check_sums(Blend(n, KINDS[3], summed=True), 600, teams=8)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_every_target_assembles_it(arch):
    what = device.of(Target.parse(arch))
    for op in (Blend(40_003, KINDS[1]), Centred(4096, bf16, bf16, f32)):
        rows = rows_of(op, device=what)
        for kernel in (two_pass.statistics(op, rows), two_pass.result(op, rows)):
            assert kernel.cubin(arch=arch).spill_stores == 0
    op = Blend(40_003, KINDS[3], summed=True)
    rows = rows_of(op, device=what)
    two_pass.result_and_sums(op, rows, teams=8).cubin(arch=arch)


def test_the_tile_of_statistics():
    """[*B, parts] of one number, as of a norm, and [*B, parts, count] of more."""
    op = Blend(40_000, KINDS[0])
    assert two_pass.parts(rows_of(op)) == 10
    assert two_pass.statistics_tile(op, rows_of(op)) == Tile("*B", 10, 2, f32)
    norm = RmsNorm(40_000, f32, f32, 1e-5)
    rows = Rows((40_000,), types_of(norm), norm.compute)
    assert two_pass.statistics_tile(norm, rows, 1) == Tile("*B", 40, f32)
