"""One pass, for operations other than losses, in the emulator against NumPy float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from pyptx import device
from pyptx._target import Target
from pyptx.ops.rowwise.moments import Moments
from pyptx.ops.rowwise.operation import ROW, Operand
from pyptx.ops.rowwise.statistics import Statistic
from pyptx.ops.rowwise.strategies import one_pass
from pyptx.types import bf16, f16, f32, f64

from .toys_cta import KINDS, Blend, Centred, Gate, Toy, clean, close, rows_of


class Totals(Blend):
    """f and h of each row alone: two inputs per element, one per column and two per row."""

    @property
    def name(self) -> str:
        return "totals"

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return Operand("f", self.kinds.compute, ROW), Operand("h", f32, ROW)

    def expected(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return super().expected(arrays)[2:4]


@dataclass(frozen=True)
class Extremes(Centred):
    """The maximum and the mean of a row; elements that are not there are minus infinity."""

    @property
    def name(self) -> str:
        return "extremes"

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return Operand("most", self.compute, ROW), Operand("mean", self.compute, ROW)

    def row_result(self, m, f):
        del m
        return f

    def expected(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        x = arrays[0].astype(np.float64)
        return [np.max(x, 1), np.mean(x, 1)]


@dataclass(frozen=True)
class Deviation(Extremes):
    """The mean and the variance of a row, from a statistic that needs to know what is there."""

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (Operand("x", self.x),)

    @property
    def statistic(self) -> Statistic:
        return Moments()

    def factors(self, m, total, row):
        del row
        return total[1], m.mul(total[2], 1.0 / self.columns)

    def expected(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        x = arrays[0].astype(np.float64)
        return [np.mean(x, 1), np.var(x, 1)]


def check(op: Toy, count: int, threads: int = 64, each: int = 4) -> None:
    given = op.arrays(count, seed=op.columns)
    kernel = one_pass.independent(op, rows_of(op), threads=threads, each=each)
    close(op, clean(kernel.emulate(*given)), given)


kinds = pytest.mark.parametrize("kinds", KINDS, ids=lambda k: "-".join(t.name for t in k))


@pytest.mark.sampled(28, each=("n", "kinds"))
@kinds
@pytest.mark.parametrize(
    ("n", "count"), [(16, 3), (17, 9), (2048, 2), (2056, 3), (4095, 4), (6007, 3), (20_000, 1)]
)
def test_several_inputs(n, count, kinds):
    """Rows of no whole round, of one, of several, and with a rest; with ends and without."""
    check(Totals(n, kinds), count)


@pytest.mark.sampled(24, each=("n", "threads", "each"))
@pytest.mark.parametrize("each", [1, 2, 3])
@pytest.mark.parametrize("threads", [64, 128, 512])
@pytest.mark.parametrize("n", [12_288, 12_291])
def test_any_number_of_threads_and_vectors(n, threads, each):
    check(Totals(n, KINDS[1]), 3, threads, each)


@pytest.mark.sampled(24, each=("op", "n", "types"))
@pytest.mark.parametrize("types", [(f32, f32, f32), (bf16, f16, f32), (f64, bf16, f64)], ids=str)
@pytest.mark.parametrize("n", [11, 2048, 2055, 70_001])
@pytest.mark.parametrize("op", [Extremes, Deviation])
def test_elements_that_are_not_there_add_nothing(n, types, op):
    check(op(n, *types), 2)


def test_a_row_is_read_once():
    """Of global memory the kernel asks for a row's bytes, and a little for its numbers."""
    n, count = 10_240, 3
    op = Extremes(n, f32, f32, f32)
    kernel = one_pass.independent(op, rows_of(op), threads=64, each=4)
    report = kernel.emulate(*op.arrays(count), statistics=True).report
    sectors = sum(each.sectors for each in report.statistics)
    assert 0 <= sectors - count * n * 4 // 32 <= 2 * count


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_every_target_assembles_it(arch):
    what = device.of(Target.parse(arch))
    for op in (Totals(40_003, KINDS[1]), Extremes(4096, bf16, f32, f32)):
        rows = rows_of(op, device=what)
        kernel = one_pass.independent(op, rows, threads=256, each=4)
        assert kernel.cubin(arch=arch).spill_stores == 0


def test_which_operations_it_takes():
    """Those that reduce rows and write nothing but numbers of them."""
    assert one_pass.fits(Totals(96, KINDS[0]))
    assert not one_pass.fits(Blend(96, KINDS[0]))
    assert not one_pass.fits(Gate(96, bf16, f32))
    assert not one_pass.fits(Blend(96, KINDS[0], summed=True))
