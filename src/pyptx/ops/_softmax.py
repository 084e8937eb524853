"""The formulas of softmax and log-softmax, and of their gradients.

With the maximum M of a row and S, the sum of exp(x - M): softmax y = exp(x - M) / S, and its
logarithm y = x - M - log(S). For a cotangent g: dx = y (g - sum(g y)), dx = g - exp(y) sum(g).
With a scale x is scale times the input, and dx is scaled. Elements after the column `last` of a row
are minus infinity instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyptx import Reg, ptx
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import ROW, Operand, RowOp, Scalars, Values
from pyptx.ops.rowwise.statistics import MaxSumExp, Statistic, Sums, Term, finite
from pyptx.types import DType, f32, f64, s32


@dataclass(frozen=True)
class _Types(RowOp):
    """All arrays are of type `x`; last[*B] is given with `limited`."""

    x: DType
    log: bool = False
    scale: float = 1.0
    limited: bool = False

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    def _last(self) -> tuple[Operand, ...]:
        return (Operand("last", s32, ROW),) if self.limited else ()

    @property
    def term_reads_row(self) -> bool:
        return self.limited


class _Factors(NamedTuple):
    """M, and 1 / S; of the logarithm log S."""

    maximum: Reg
    scale: Reg
    row: Scalars | None


@dataclass(frozen=True)
class Softmax(_Types):
    """y[*B, N] of x[*B, N]; with `log` its logarithm.

    With `masked` a row of minus infinities has a softmax, zeros, and a logarithm, minus infinities.
    """

    masked: bool = False

    @property
    def name(self) -> str:
        return "log_softmax" if self.log else "softmax"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("x", self.x, pad=-math.inf), *self._last()

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("y", self.x),)

    @property
    def statistic(self) -> Statistic:
        return MaxSumExp()

    def _element(self, m: Math, v: Values, row: Scalars | None) -> Reg:
        """The element whose exponential counts."""
        x = v.x if self.scale == 1 else m.mul(v.x, self.scale)
        return x if row is None else m.selp(x, -math.inf, v.is_up_to(row.last))

    def term(self, m: Math, v: Values) -> Term:
        return (self._element(m, v, v.row if self.limited else None),)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> _Factors:
        maximum, exponentials = total
        limits = row if self.limited else None
        if self.masked:
            maximum = finite(m, maximum)
            empty = ptx.inst[f"setp.eq.{m.dtype.name}"](exponentials, 0.0)
            exponentials = m.selp(1.0, exponentials, empty)
        scale = m.log(exponentials) if self.log else m.reciprocal(exponentials)
        return _Factors(maximum, scale, limits)

    def result(self, m: Math, v: Values, f: _Factors) -> tuple[Reg, ...]:
        x = self._element(m, v, f.row)
        if self.log:
            return (m.not_positive(m.less(x, f.maximum, f.scale)),)  # but for rounding it is so
        return (m.mul(m.exp_less(x, f.maximum), f.scale),)


@dataclass(frozen=True)
class SoftmaxGradient(_Types):
    """dx[*B, N] of y[*B, N] and g[*B, N]."""

    @property
    def name(self) -> str:
        return "log_softmax_gradient" if self.log else "softmax_gradient"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("y", self.x), Operand("g", self.x), *self._last()

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("dx", self.x),)

    @property
    def statistic(self) -> Statistic:
        return Sums(1)

    def _cotangent(self, m: Math, v: Values, row: Scalars | None) -> Reg:
        """g, 0 after the last column that counts."""
        return v.g if row is None else m.selp(v.g, 0.0, v.is_up_to(row.last))

    def term(self, m: Math, v: Values) -> Term:
        row = v.row if self.limited else None
        return m.one if self.log else v.y, self._cotangent(m, v, row)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, Scalars | None]:
        del m
        return total[0], row if self.limited else None

    def result(self, m: Math, v: Values, f: tuple[Reg, Scalars | None]) -> tuple[Reg, ...]:
        total, row = f
        if self.log:
            rest = m.neg(m.exp(v.y))
            dx = m.fma(rest, total, self._cotangent(m, v, row))
        else:
            dx = m.mul(v.y, m.sub(self._cotangent(m, v, row), total))
        return (dx if self.scale == 1 else m.mul(dx, self.scale),)
