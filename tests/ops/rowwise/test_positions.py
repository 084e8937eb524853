"""What formulas can ask of positions: an element's column, and an element by its column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pyptx import Reg, ptx
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import COLUMN, ROW, Operand, Pick, RowOp, Scalars, Values
from pyptx.ops.rowwise.partition import Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.ops.rowwise.statistics import Statistic, Sums, Term
from pyptx.ops.rowwise.strategies import cluster, cta, one_cluster, persistent, subwarp, two_pass
from pyptx.types import DType, bf16, f32, f64, s32


@dataclass(frozen=True)
class Aimed(RowOp):
    """y = x up to column `at` and 0 after it, 100 more in that column; its element, and the sum.

    The columns of elements, mod 8, are added to y twice: by element, and by vector.

    With `summed` also the sum over rows of x up to that column.
    """

    x: DType
    summed: bool = False

    name = "aimed"

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("x", self.x), Operand("at", s32, ROW)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (
            Operand("y", self.x),
            Operand("element", self.compute, ROW),
            Operand("sum", self.compute, ROW),
            *((Operand("total", self.compute, COLUMN),) * self.summed),
        )

    @property
    def picks(self) -> tuple[Pick, ...]:
        return (Pick("element", "x", "at"),)

    @property
    def statistic(self) -> Statistic:
        return Sums(1)

    @property
    def term_reads_row(self) -> bool:
        return True

    def _kept(self, m: Math, v: Values, row: Scalars) -> Reg:
        return m.selp(v.x, 0.0, v.is_up_to(row.at))

    def term(self, m: Math, v: Values) -> Term:
        return m.one, self._kept(m, v, v.row)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> Any:
        return row, total[0]

    def result(self, m: Math, v: Values, f: Any) -> tuple[Reg, ...]:
        hot = m.add(self._kept(m, v, f[0]), m.selp(100.0, 0.0, v.is_in(f[0].at)))
        number = ptx.inst[f"cvt.rn.{m.dtype.name}.u32"]
        by_vector = v.of_vector("columns", self._numbers)
        return (m.add(hot, m.add(number(v.column & 7), number(by_vector))),)

    def _numbers(self, first: Reg, size: int) -> list[Reg]:
        """The columns of a vector mod 8, the first of which has fewer bits."""
        known = math.gcd(self.columns, size, 8)
        return [((first & (8 - known)) + i) & 7 for i in range(size)]

    def row_result(self, m: Math, f: Any) -> tuple[Reg, ...]:
        return f[0].element, f[1]

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: Any) -> None:
        m.add(sums[0], sums[0], self._kept(m, v, f[0]))

    def rows(self) -> Rows:
        return Rows((self.columns,), types_of(self), self.compute)

    def check(self, kernel: Any, count: int, *more: np.ndarray) -> None:
        x = np.random.default_rng(count).integers(-9, 9, (count, self.columns))
        at = np.random.default_rng(1).integers(0, self.columns, count, np.int32)
        at[:4] = (-1, self.columns, self.columns - 1, self.columns - 2**31)[: len(at[:4])]
        found = kernel.emulate(x.astype(self.x.numpy), at, *more, sanitize=True)
        assert not found.report.findings
        kept = np.where(np.arange(self.columns) <= at[:, None], x, 0)
        hot = np.arange(self.columns) == at[:, None]
        inside = (at >= 0) & (at < self.columns)
        element = np.where(inside, x[np.arange(count), np.where(inside, at, 0)], 0)
        y = kept + 100 * hot + 2 * (np.arange(self.columns) % 8)
        expected = y, element, kept.sum(1), *((kept.sum(0),) * self.summed)
        for one, other in zip(found.outputs[: len(self.outputs)], expected, strict=True):
            np.testing.assert_array_equal(np.asarray(one).astype(np.float64), other)


kinds = pytest.mark.parametrize("x", [bf16, f32, f64], ids=lambda dtype: dtype.name)


@kinds
@pytest.mark.parametrize("n", [24, 61])
def test_subwarps(x, n):
    op = Aimed(n, x)
    op.check(subwarp.independent(op, op.rows(), subwarp.Shape(8, 2, 64)), 13)


@pytest.mark.sampled(24, each=("way", "n", "x"))
@kinds
@pytest.mark.parametrize("n", [512, 515])
@pytest.mark.parametrize(
    "way",
    [{"held": True}, {"held": False}, {"held": True, "direct": True, "parts": 4}],
    ids=["held", "shared", "parts"],
)
def test_ctas(x, n, way):
    op = Aimed(n, x)
    op.check(cta.independent(op, op.rows(), threads=64, **way), 6)


@kinds
@pytest.mark.parametrize("n", [2048, 2051])
def test_two_passes(x, n):
    op = Aimed(n, x)
    kernels = two_pass.statistics(op, op.rows(), each=1), two_pass.result(op, op.rows(), each=1)
    op.check(_Both(*kernels), 5)


class _Both:
    """The two kernels, one after the other."""

    def __init__(self, first: Any, second: Any) -> None:
        self._first, self._second = first, second

    def emulate(self, *arrays: np.ndarray, **options: Any) -> Any:
        found = self._first.emulate(*arrays, **options)
        assert not found.report.findings
        return self._second.emulate(*arrays, *found.outputs, **options)


@kinds
@pytest.mark.parametrize("n", [512, 515])
def test_persistent_ctas(x, n):
    op = Aimed(n, x)
    op.check(persistent.kernel_of(op, op.rows(), persistent.Shape(8, 2, 64, 2)), 40)


@kinds
@pytest.mark.parametrize("n", [512, 515])
def test_one_cluster(x, n):
    op = Aimed(n, x, summed=True)
    rows, shape = op.rows().divided(), one_cluster.Shape(4, 64, 4)
    op.check(one_cluster.persistent(op, rows, shape, result=op.compute), 5)


@pytest.mark.sampled(20, each=("n", "shape", "x"))
@kinds
@pytest.mark.parametrize(
    ("n", "shape"),
    [
        (1024, cluster.Shape(2, 2, 64, 3)),
        (1031, cluster.Shape(8, 2, 64, 7, lag=2, pieces=2)),
        (1024, cluster.Shape(2, 3, 64, 7, lag=2, pieces=2, grid=True)),
        (515, cluster.Shape(8, 2, 64, 2, lag=0)),
    ],
    ids=["cluster", "lag", "grid", "no lag"],
)
def test_clusters(x, n, shape):
    op = Aimed(n, x)
    mail = []
    if shape.grid:
        like = np.zeros((21, n), x.numpy)
        mail = list(cluster.clear(op, op.rows(), shape).emulate(like).outputs)
    op.check(cluster.kernel_of(op, op.rows(), shape), 21, *mail)
