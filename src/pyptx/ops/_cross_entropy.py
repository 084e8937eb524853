"""The formulas of the cross entropy of a row's softmax, and of its gradient.

With L, the logarithm of the sum of exp(x): loss = L - x[label] + z L^2, and for a cotangent g of it
dx = g ((1 + 2 z L) exp(x - L) - [column is label]). Of targets t, one for each element, and T,
their sum: loss = T L - sum(t x) + z L^2, dx = g ((T + 2 z L) exp(x - L) - t), dt = g (L - x). Label
smoothing s makes targets (1 - s) t + s / N of t, which is 1 in the label's column for labels.
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
        """What the gradient needs of a row: L, and T of targets."""
        total = () if self.targets is None else (Operand("total", self.compute, ROW),)
        return Operand("lse", self.compute, ROW), *total

    def _target(self, m: Math, v: Values) -> Reg:
        if not self.smoothing:
            return v.t
        return m.fma(v.t, 1 - self.smoothing, self.smoothing / self.columns)


class _Found(NamedTuple):
    lse: Reg
    loss: Reg
    total: Reg | None


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
        exponent, exponentials, *sums = total
        logarithm = m.log(exponentials)
        lse = m.number(exponent, logarithm)
        if self.targets is not None:
            loss = m.sub(m.mul(lse, sums[0]), sums[1])
            return _Found(lse, self._regularized(m, loss, lse), sums[0])
        loss = m.sub(0.0, m.not_positive(m.less(row.picked, exponent, logarithm)))
        if self.smoothing:
            rest = m.less(m.mul(sums[0], 1 / self.columns), exponent, logarithm)
            loss = m.fma(rest, -self.smoothing, m.mul(loss, 1 - self.smoothing))
        loss = self._regularized(m, loss, lse)
        return _Found(lse, checked(m, row.label, loss, self.columns, self.ignored), None)

    def _regularized(self, m: Math, loss: Reg, lse: Reg) -> Reg:
        return m.fma(m.mul(lse, lse), self.z, loss) if self.z else loss

    def result(self, m: Math, v: Values, f: _Found) -> tuple[Reg, ...]:
        del m, v, f
        return ()

    def row_result(self, m: Math, f: _Found) -> tuple[Reg, ...]:
        del m
        total = () if f.total is None else (f.total,)
        return f.loss, *((f.lse, *total) if self.kept else ())


class _Factors(NamedTuple):
    row: Scalars
    exponent: Reg
    slope: Reg
    """What exp(x - L) has in dx."""
    others: Reg
    """What all columns have in dx, or of targets the cotangent."""
    label: Reg
    """What the label's column has."""


@dataclass(frozen=True)
class CrossEntropyGradient(_Types):
    """dx[*B, N] of x[*B, N], label[*B], lse[*B] and g[*B]; of targets, and total[*B], dt too."""

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
        exponent = m.exponent(row.lse)
        if self.targets is not None:
            slope = m.fma(row.lse, 2 * self.z, row.total) if self.z else row.total
            return _Factors(row, exponent, m.mul(row.g, slope), m.neg(row.g), row.g)
        g = checked(m, row.label, row.g, self.columns, self.ignored)
        slope = m.fma(m.mul(g, row.lse), 2 * self.z, g) if self.z else g
        others = m.mul(g, -self.smoothing / self.columns)
        return _Factors(row, exponent, slope, others, m.fma(g, -(1 - self.smoothing), others))

    def result(self, m: Math, v: Values, f: _Factors) -> tuple[Reg, ...]:
        power = m.exp_from(v.x, f.exponent)
        if self.targets is not None:
            dt = m.mul(m.mul(f.row.g, 1 - self.smoothing), m.sub(f.row.lse, v.x))
            return m.fma(power, f.slope, m.mul(self._target(m, v), f.others)), dt
        others = m.selp(f.label, f.others, v.is_in(f.row.label))
        dx = m.fma(power, f.slope, others)
        if self.ignored is not None:  # also where the row is not a number
            dx = m.selp(0.0, dx, f.row.label == self.ignored)
        return (dx,)


@dataclass(frozen=True)
class Part(RowOp):
    """lse[*B], picked[*B] and total[*B] of x[*B, N] and label[*B], where N are some of the columns.

    picked is x in the label's column, and 0 where that is none of them; total is the sum of x.
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
        return tuple(Operand(name, self.compute, ROW) for name in ("lse", "picked", "total"))

    @property
    def picks(self) -> tuple[Pick, ...]:
        return (Pick("picked", "x", "label"),)

    @property
    def statistic(self) -> Statistic:
        return ExpAndSums(1)

    def term(self, m: Math, v: Values) -> Term:
        return v.x, v.x, m.one

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, ...]:
        lse = m.number(total[0], m.log(total[1]))
        # Of minus infinities, which other columns are added to. With NaN its sum is that.
        nothing = (total[0] == -math.inf) & (total[2] == -math.inf)
        return m.selp(-math.inf, lse, nothing), row.picked, total[2]

    def result(self, m: Math, v: Values, f: tuple[Reg, ...]) -> tuple[Reg, ...]:
        del m, v, f
        return ()

    def row_result(self, m: Math, f: tuple[Reg, ...]) -> tuple[Reg, ...]:
        del m
        return f


@dataclass(frozen=True)
class PartGradient(RowOp):
    """dx[*B, N] of x[*B, N], label[*B], lse[*B], and the cotangents of lse, picked and total."""

    x: DType

    @property
    def name(self) -> str:
        return "cross_entropy_part_gradient"

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        rows = [Operand(name, self.compute, ROW) for name in ("lse", "slope", "picked", "total")]
        return Operand("x", self.x), Operand("label", s32, ROW), *rows

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("dx", self.x),)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Scalars, Reg, Reg]:
        del total
        return row, m.exponent(row.lse), m.add(row.picked, row.total)

    def result(self, m: Math, v: Values, f: tuple[Scalars, Reg, Reg]) -> tuple[Reg, ...]:
        row, exponent, here = f
        others = m.selp(here, row.total, v.is_in(row.label))
        dx = m.fma(m.exp_from(v.x, exponent), row.slope, others)
        # A row that is ignored, or minus infinity in these columns, may have powers that are NaN.
        return (m.selp(others, dx, row.slope == 0),)
