"""Two passes over a few rows, for operations other than norms, in the emulator."""

from __future__ import annotations

import pytest

from pyptx import device
from pyptx._target import Target
from pyptx.ops.rowwise.strategies import two_pass, two_pass_few
from pyptx.ops.rowwise.strategies.two_pass_few import MOST, Shape
from pyptx.types import bf16, f16, f32

from .toys_cta import KINDS, Blend, Centred, Gate, Toy, clean, close, rows_of

kinds = pytest.mark.parametrize("kinds", KINDS, ids=lambda k: "-".join(t.name for t in k))


def check(op: Toy, count: int, shape: Shape) -> None:
    """Sums over rows come whole."""
    given = op.arrays(count, seed=count)
    kernel = two_pass_few.persistent(op, rows_of(op), shape, result=op.compute)
    close(op, clean(kernel.emulate(*given)), given)


@pytest.mark.sampled(32, each=("count", "shape", "kinds"))
@kinds
@pytest.mark.parametrize("shape", [Shape(64, 1), Shape(128, 4)], ids=str)
@pytest.mark.parametrize("count", [1, 6, MOST])
def test_several_sums_over_rows(count, shape, kinds):
    """Fewer rows than are loaded together, and as many as a thread goes through at most."""
    check(Blend(4104, kinds, summed=True), count, shape)


@pytest.mark.parametrize("n", [8, 2056])
def test_elements_that_need_nothing_of_their_row(n):
    """There is no statistic, so there is one kernel, and it waits for nothing."""
    op = Gate(n, bf16, f32, summed=True)
    check(op, 5, Shape(64, 2))
    text = two_pass_few.result_and_sums(op, rows_of(op), Shape(64, 2), result=f32).ptx()
    assert "shfl" not in text
    assert "griddepcontrol" not in text


@pytest.mark.parametrize("count", [1, 4, 7])
def test_rows_that_are_not_there_are_no_numbers(count):
    """Their elements are minus infinity, and minus infinity times zero may not get into a sum."""
    check(Centred(1032, bf16, f32, f32, summed=True), count, Shape(64, 4))


def test_more_chunks_than_lanes():
    op = Blend(69_632, KINDS[3], summed=True)
    assert two_pass.parts(rows_of(op), two_pass_few.EACH) == 17
    check(op, 2, Shape(128, 2))
    op = Blend(69_632, KINDS[0], summed=True)
    assert two_pass.parts(rows_of(op), two_pass_few.EACH) == 34
    check(op, 3, Shape(256, 2))


@pytest.mark.parametrize("result", [bf16, f16], ids=lambda t: t.name)
def test_sums_are_rounded_to_the_type_of_the_result(result):
    op = Gate(2048, f32, f32, summed=True)
    given = op.arrays(9)
    kernel = two_pass_few.persistent(op, rows_of(op), Shape(64, 2), result=result)
    _, found = clean(kernel.emulate(*given))
    whole = two_pass_few.persistent(op, rows_of(op), Shape(64, 2), result=f32)
    _, want = clean(whole.emulate(*given))
    assert found.dtype == result.numpy
    assert (found == want.astype(result.numpy)).all()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_every_target_assembles_it(arch):
    what = device.of(Target.parse(arch))
    for op in (Blend(40_000, KINDS[1], summed=True), Gate(40_000, f32, f32, summed=True)):
        rows = rows_of(op, device=what)
        kernel = two_pass_few.result_and_sums(op, rows, Shape(128, 2), result=f32)
        assert kernel.cubin(arch=arch).spill_stores == 0
