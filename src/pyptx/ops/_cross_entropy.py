"""The formulas of the cross entropy of a row's softmax, and of its gradient.

With M, the maximum, S, the sum of exp(x - M), and L = M + log(S), the logarithm of the sum of
exp(x): loss = L - x[label] + z L^2, and for a cotangent g of it
dx = g ((1 + 2 z L) exp(x - M) / S - [column is label]). Of targets t, one for each element, and T,
their sum: loss = T L - sum(t x) + z L^2, dx = g ((T + 2 z L) exp(x - M) / S - t), dt = g (L - x).
Label smoothing s makes targets (1 - s) t + s / N of t, which is 1 in the label's column for labels.
(Szegedy and others, Rethinking the Inception Architecture, 2016.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyptx import Reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import ROW, Operand, Pick, RowOp, Scalars, Values
from pyptx.ops.rowwise.statistics import MaxSumExp, Statistic, Sums, Term, Terms
from pyptx.types import DType, f32, f64, s32


@dataclass(frozen=True, slots=True)
class ExpAndSums(Statistic):
    """The numbers of `MaxSumExp`, and `sums` sums of products.

    A term is (x, a, b, ...): x, and a pair of factors for each sum. What they are of an element
    that a thread does not have does not matter.
    """

    sums: int

    @property
    def count(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 2 + self.sums

    def neutral(self, number: int) -> float:
        return MaxSumExp().neutral(number) if number < 2 else 0.0

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        sums = [m.zero() for _ in range(self.sums)]

        def first(vector: Terms) -> Iterator[Term]:
            """The term of `MaxSumExp`, while the others are added."""
            parts = [m.zero() for _ in sums]
            for x, *factors in vector.terms:
                for i, part in enumerate(parts):
                    m.fma(part, factors[2 * i], factors[2 * i + 1], part)
                yield (x,)
            for total, part in zip(sums, parts, strict=True):
                there = part if vector.active is None else m.selp(part, 0.0, vector.active)
                m.add(total, total, there)

        exponentials = [Terms(first(vector), vector.active) for vector in vectors]
        return [*MaxSumExp().of_thread(m, exponentials, chains=chains), *sums]

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        sums = Sums(self.sums).combine(m, [part[2:] for part in parts])
        return [*MaxSumExp().combine(m, [part[:2] for part in parts]), *sums]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        first = MaxSumExp().over_warp(m, values[:2], width=width)
        return [*first, *Sums(self.sums).over_warp(m, values[2:], width=width)]


def checked(m: Math, label: Reg, value: Reg, columns: int, ignored: int | None) -> Reg:
    """The value, 0 where the label is the one to ignore, and NaN where it is no column."""
    there = (label >= 0) & (label < columns)
    value = m.selp(value, math.nan, there)
    return value if ignored is None else m.selp(0.0, value, label == ignored)


@dataclass(frozen=True)
class _Types(RowOp):
    """Logits are of type `x`, targets of `targets`; None where rows have labels."""

    x: DType
    targets: DType | None = None
    smoothing: float = 0.0
    z: float = 0.0
    ignored: int | None = None

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    def _given(self) -> tuple[Operand, ...]:
        if self.targets is not None:
            return Operand("x", self.x, pad=-math.inf), Operand("t", self.targets)
        return Operand("x", self.x, pad=-math.inf), Operand("label", s32, ROW)

    def _kept(self) -> tuple[Operand, ...]:
        """What the gradient needs of a row: M and S, and T of targets.

        L alone, rounded, would leave exp(x - L) an error of 6e-8 |L|.
        """
        names = ("maximum", "exponentials", *(("total",) if self.targets is not None else ()))
        return tuple(Operand(name, self.compute, ROW) for name in names)

    def _target(self, m: Math, v: Values) -> Reg:
        if not self.smoothing:
            return v.t
        return m.fma(v.t, 1 - self.smoothing, self.smoothing / self.columns)


class _Found(NamedTuple):
    loss: Reg
    kept: tuple[Reg, ...]


@dataclass(frozen=True)
class CrossEntropy(_Types):
    """loss[*B] of x[*B, N] and label[*B] or t[*B, N]; with `kept` what its gradient needs."""

    kept: bool = False

    @property
    def name(self) -> str:
        return "cross_entropy_kept" if self.kept else "cross_entropy"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return self._given()

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return Operand("loss", self.compute, ROW), *(self._kept() if self.kept else ())

    @property
    def picks(self) -> tuple[Pick, ...]:
        return (Pick("picked", "x", "label"),) if self.targets is None else ()

    @property
    def statistic(self) -> Statistic:
        if self.targets is not None:
            return ExpAndSums(2)
        return ExpAndSums(1) if self.smoothing else MaxSumExp()

    def term(self, m: Math, v: Values) -> Term:
        if self.targets is None:
            return (v.x, v.x, m.one) if self.smoothing else (v.x,)
        # 0 times the logarithm of 0 is 0.
        target = self._target(m, v)
        x = v.x if self.smoothing else m.selp(0.0, v.x, target == 0.0)
        return v.x, target, m.one, target, x

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> _Found:
        maximum, exponentials, *sums = total
        logarithm = m.log(exponentials)
        lse = m.add(maximum, logarithm)
        if self.targets is not None:
            loss = m.sub(m.mul(lse, sums[0]), sums[1])
            return _Found(self._regularized(m, loss, lse), (maximum, exponentials, sums[0]))
        loss = m.sub(0.0, m.not_positive(m.less(row.picked, maximum, logarithm)))
        if self.smoothing:
            rest = m.less(m.mul(sums[0], 1 / self.columns), maximum, logarithm)
            loss = m.fma(rest, -self.smoothing, m.mul(loss, 1 - self.smoothing))
        loss = checked(m, row.label, self._regularized(m, loss, lse), self.columns, self.ignored)
        return _Found(loss, (maximum, exponentials))

    def _regularized(self, m: Math, loss: Reg, lse: Reg) -> Reg:
        return m.fma(m.mul(lse, lse), self.z, loss) if self.z else loss

    def row_result(self, m: Math, f: _Found) -> tuple[Reg, ...]:
        del m
        return f.loss, *(f.kept if self.kept else ())


class _Factors(NamedTuple):
    row: Scalars
    slope: Reg
    """What exp(x - M) has in dx."""
    others: Reg
    """What all columns have in dx, or of targets the cotangent."""
    last: Reg
    """What the label's column has; of targets L."""


@dataclass(frozen=True)
class CrossEntropyGradient(_Types):
    """dx[*B, N] of x[*B, N], label[*B], what is kept of rows, and g[*B]; of targets dt, too."""

    @property
    def name(self) -> str:
        return "cross_entropy_gradient"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return *self._given(), *self._kept(), Operand("g", self.compute, ROW)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        dt = () if self.targets is None else (Operand("dt", self.targets),)
        return Operand("dx", self.x), *dt

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> _Factors:
        del total
        lse = m.add(row.maximum, m.log(row.exponentials))
        each = m.reciprocal(row.exponentials)
        if self.targets is not None:
            slope = m.fma(lse, 2 * self.z, row.total) if self.z else row.total
            return _Factors(row, m.mul(m.mul(row.g, slope), each), m.neg(row.g), lse)
        g = checked(m, row.label, row.g, self.columns, self.ignored)
        slope = m.fma(m.mul(g, lse), 2 * self.z, g) if self.z else g
        others = m.mul(g, -self.smoothing / self.columns)
        here = m.fma(g, -(1 - self.smoothing), others)
        return _Factors(row, m.mul(slope, each), others, here)

    def result(self, m: Math, v: Values, f: _Factors) -> tuple[Reg, ...]:
        power = m.exp_less(v.x, f.row.maximum)
        if self.targets is not None:
            dt = m.mul(m.mul(f.row.g, 1 - self.smoothing), m.sub(f.last, v.x))
            return m.fma(power, f.slope, m.mul(self._target(m, v), f.others)), dt
        others = m.selp(f.last, f.others, v.is_in(f.row.label))
        dx = m.fma(power, f.slope, others)
        if self.ignored is not None:  # also where the row is not a number
            dx = m.selp(0.0, dx, f.row.label == self.ignored)
        return (dx,)


@dataclass(frozen=True)
class Part(RowOp):
    """M[*B], S[*B], picked[*B] and total[*B] of x[*B, N] and label[*B], where N are some of the
    columns.

    picked is x in the label's column, and 0 where that is none of them; total is the sum of x. A
    row of minus infinities has the sum S = 0.
    """

    x: DType

    @property
    def name(self) -> str:
        return "cross_entropy_part"

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("x", self.x, pad=-math.inf), Operand("label", s32, ROW)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        names = ("maximum", "exponentials", "picked", "total")
        return tuple(Operand(name, self.compute, ROW) for name in names)

    @property
    def picks(self) -> tuple[Pick, ...]:
        return (Pick("picked", "x", "label"),)

    @property
    def statistic(self) -> Statistic:
        return ExpAndSums(1)

    def term(self, m: Math, v: Values) -> Term:
        return v.x, v.x, m.one

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, ...]:
        del m
        return total[0], total[1], row.picked, total[2]

    def row_result(self, m: Math, f: tuple[Reg, ...]) -> tuple[Reg, ...]:
        del m
        return f


@dataclass(frozen=True)
class PartGradient(RowOp):
    """dx[*B, N] of x[*B, N], label[*B], M[*B], and the cotangents of S, picked and total."""

    x: DType

    @property
    def name(self) -> str:
        return "cross_entropy_part_gradient"

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        rows = ("maximum", "slope", "picked", "total")
        of_rows = [Operand(name, self.compute, ROW) for name in rows]
        return Operand("x", self.x), Operand("label", s32, ROW), *of_rows

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("dx", self.x),)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Scalars, Reg]:
        del total
        return row, m.add(row.picked, row.total)

    def result(self, m: Math, v: Values, f: tuple[Scalars, Reg]) -> tuple[Reg, ...]:
        row, here = f
        others = m.selp(here, row.total, v.is_in(row.label))
        dx = m.fma(m.exp_less(v.x, row.maximum), row.slope, others)
        # A row that is ignored, or minus infinity in these columns, may have powers that are NaN.
        return (m.selp(others, dx, row.slope == 0),)
