"""The formulas of softmax and log-softmax, and of their gradients.

With the maximum M of a row and S, the sum of exp(x - M): softmax y = exp(x - M) / S, and its
logarithm y = x - M - log(S). For a cotangent g: dx = y (g - sum(g y)), dx = g - exp(y) sum(g).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pyptx import Reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import Operand, RowOp, Scalars, Values
from pyptx.ops.rowwise.statistics import MaxSumExp, Statistic, Sums, Term
from pyptx.types import DType, f32, f64


@dataclass(frozen=True)
class Softmax(RowOp):
    """y[*B, N] of x[*B, N], both of type `x`; with `log` its logarithm."""

    x: DType
    log: bool = False

    @property
    def name(self) -> str:
        return "log_softmax" if self.log else "softmax"

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (Operand("x", self.x, pad=-math.inf),)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("y", self.x),)

    @property
    def statistic(self) -> Statistic:
        return MaxSumExp()

    def term(self, m: Math, v: Values) -> Term:
        del m
        return (v.x,)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, Reg]:
        """The exponent of the maximum, and 1 / S; of the logarithm M + log S, twice."""
        del row
        exponent, exponentials = total
        if self.log:
            whole = m.number(exponent, m.log(exponentials))
            return whole, whole
        return exponent, m.divide(1.0, exponentials)

    def result(self, m: Math, v: Values, f: tuple[Reg, Reg]) -> tuple[Reg, ...]:
        if self.log:
            return (m.sub(v.x, f[0]),)
        return (m.mul(m.exp_from(v.x, f[0]), f[1]),)


@dataclass(frozen=True)
class SoftmaxGradient(RowOp):
    """dx[*B, N] of y[*B, N] and g[*B, N], all of type `x`."""

    x: DType
    log: bool = False

    @property
    def name(self) -> str:
        return "log_softmax_gradient" if self.log else "softmax_gradient"

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("y", self.x), Operand("g", self.x)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("dx", self.x),)

    @property
    def statistic(self) -> Statistic:
        return Sums(1)

    def term(self, m: Math, v: Values) -> Term:
        return (m.one, v.g) if self.log else (v.y, v.g)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> Reg:
        del m, row
        return total[0]

    def result(self, m: Math, v: Values, f: Reg) -> tuple[Reg, ...]:
        if self.log:
            return (m.fma(m.neg(m.exp(v.y)), f, v.g),)
        return (m.mul(v.y, m.sub(v.g, f)),)
