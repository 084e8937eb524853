"""The formulas of the smoothed cross entropy with a weight for each class, and of its gradient.

With L, the logarithm of the sum of exp(x), weights w and W, their sum, smoothing s and N classes:
loss = w[label] ((1 - s) (L - x[label]) + z L^2) + s / N (W L - sum(w x)), and for a cotangent g
dx = g (exp(x - L) (w[label] (1 - s + 2 z L) + s W / N) - (1 - s) w[label] [column is label]
- s w / N).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyptx import Reg
from pyptx.ops._cross_entropy import ExpAndSums, checked
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import COLUMN, ROW, Operand, Pick, RowOp, Scalars, Values
from pyptx.ops.rowwise.statistics import Statistic, Term
from pyptx.types import DType, f32, f64, s32


@dataclass(frozen=True)
class Logits(RowOp):
    """Rows of type `x`, a weight of type `weight` for each column, and what rows have."""

    x: DType
    weight: DType
    smoothing: float
    z: float
    ignored: int

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    def _given(self) -> tuple[Operand, ...]:
        """The logits, the weights, and of each row its label and the weight of that class."""
        x, w = Operand("x", self.x, pad=-math.inf), Operand("w", self.weight, COLUMN)
        return x, w, Operand("label", s32, ROW), Operand("own", self.compute, ROW)

    def _kept(self) -> tuple[Operand, ...]:
        """What the gradient needs of a row: M and S, and W."""
        names = ("maximum", "exponentials", "total")
        return tuple(Operand(name, self.compute, ROW) for name in names)


class _Found(NamedTuple):
    loss: Reg
    maximum: Reg
    exponentials: Reg
    total: Reg


@dataclass(frozen=True)
class WeightedCrossEntropy(Logits):
    """loss[*B], M[*B], S[*B] and total[*B] of x[*B, N], w[N], label[*B] and own[*B]."""

    @property
    def name(self) -> str:
        return "cross_entropy_weighted"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return self._given()

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return Operand("loss", self.compute, ROW), *self._kept()

    @property
    def picks(self) -> tuple[Pick, ...]:
        return (Pick("picked", "x", "label"),)

    @property
    def statistic(self) -> Statistic:
        return ExpAndSums(2)

    def term(self, m: Math, v: Values) -> Term:
        # A class of weight 0 adds nothing, also where its logit is minus infinity.
        return v.x, v.w, m.selp(0.0, v.x, v.w == 0.0), v.w, m.one

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> _Found:
        maximum, exponentials, products, weights = total
        logarithm = m.log(exponentials)
        lse = m.add(maximum, logarithm)
        loss = m.sub(0.0, m.not_positive(m.less(row.picked, maximum, logarithm)))
        loss = m.mul(loss, 1 - self.smoothing)
        if self.z:
            loss = m.fma(m.mul(lse, lse), self.z, loss)
        rest = m.fma(weights, lse, m.neg(products))
        loss = m.fma(rest, self.smoothing / self.columns, m.mul(loss, row.own))
        loss = checked(m, row.label, loss, self.columns, self.ignored)
        return _Found(loss, maximum, exponentials, weights)

    def row_result(self, m: Math, f: _Found) -> tuple[Reg, ...]:
        del m
        return tuple(f)


class _Factors(NamedTuple):
    label: Reg
    maximum: Reg
    slope: Reg
    """What exp(x - M) has in dx."""
    weight: Reg
    """What w has in it."""
    own: Reg
    """What the label's column has more than others."""


@dataclass(frozen=True)
class WeightedCrossEntropyGradient(Logits):
    """dx[*B, N] of x[*B, N], w[N], label[*B], own[*B], M[*B], S[*B], total[*B] and g[*B]."""

    @property
    def name(self) -> str:
        return "cross_entropy_weighted_gradient"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return *self._given(), *self._kept(), Operand("g", self.compute, ROW)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("dx", self.x),)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> _Factors:
        del total
        g = checked(m, row.label, row.g, self.columns, self.ignored)
        own, weight = m.mul(g, row.own), m.mul(g, self.smoothing / self.columns)
        hot = m.mul(own, 1 - self.smoothing)
        slope = m.fma(weight, row.total, hot)
        if self.z:
            lse = m.add(row.maximum, m.log(row.exponentials))
            slope = m.fma(m.mul(own, lse), 2 * self.z, slope)
        slope = m.mul(slope, m.reciprocal(row.exponentials))
        return _Factors(row.label, row.maximum, slope, m.neg(weight), m.neg(hot))

    def result(self, m: Math, v: Values, f: _Factors) -> tuple[Reg, ...]:
        others = m.fma(v.w, f.weight, m.selp(f.own, 0.0, v.is_in(f.label)))
        dx = m.fma(m.exp_less(v.x, f.maximum), f.slope, others)
        return (m.selp(0.0, dx, f.label == self.ignored),)  # also where the row is not a number
