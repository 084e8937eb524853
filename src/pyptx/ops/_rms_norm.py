"""The formulas of the RMS normalization, and of its gradient.

r = 1 / sqrt(mean(x x) + eps), y = x r w, and for a cotangent g of y:
dx = r g w - x r**3 mean(g w x), dw = sum over rows of g x r.
(Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyptx import Reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import COLUMN, ROW, Operand, RowOp, Scalars, Values
from pyptx.ops.rowwise.statistics import Statistic, Sums, Term
from pyptx.types import DType, f32, f64


@dataclass(frozen=True)
class RmsNorm(RowOp):
    """y[*B, N] of x[*B, N] and w[N], and r[*B] with `invvar`."""

    x: DType
    weight: DType
    eps: float
    invvar: bool = False
    offset: float = 0.0
    """What is added to w."""

    @property
    def name(self) -> str:
        return "rms_norm_invvar" if self.invvar else "rms_norm"

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("x", self.x), Operand("w", self.weight, COLUMN)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        r = (Operand("r", self.compute, ROW),) if self.invvar else ()
        return Operand("y", self.weight), *r

    @property
    def statistic(self) -> Statistic:
        return Sums(1)

    @property
    def is_light(self) -> bool:
        return True

    def term(self, m: Math, v: Values) -> Term:
        del m
        return v.x, v.x

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> Reg:
        """r."""
        del row
        return m.inverse_root(m.fma(total[0], 1.0 / self.columns, self.eps))

    def result(self, m: Math, v: Values, f: Reg) -> tuple[Reg, ...]:
        x, w = v.x, _weight(m, v, self.offset)
        return (m.mul(m.mul(x, f), w),)

    def row_result(self, m: Math, f: Reg) -> tuple[Reg, ...]:
        del m
        return (f,) if self.invvar else ()


@dataclass(frozen=True)
class RmsNormGradient(RowOp):
    """dx[*B, N] and dw[N] of g[*B, N], r[*B], x[*B, N] and w[N].

    dx = r (g w - x r**2 mean(g w x)). No power of r is formed on its own: r**3 leaves the range of
    f32 long before r does.
    """

    x: DType
    weight: DType
    offset: float = 0.0
    """What is added to w."""

    @property
    def name(self) -> str:
        return "rms_norm_gradient"

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        x, g = Operand("x", self.x), Operand("g", self.weight)
        return x, g, Operand("r", self.compute, ROW), Operand("w", self.weight, COLUMN)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return Operand("dx", self.x), Operand("dw", self.compute, COLUMN)

    @property
    def statistic(self) -> Statistic:
        return Sums(1)

    @property
    def is_light(self) -> bool:
        return True

    @property
    def zeros_add_nothing(self) -> bool:
        return True

    def term(self, m: Math, v: Values) -> Term:
        x, g, w = v.x, v.g, _weight(m, v, self.offset)
        return x, m.mul(g, w)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, Reg]:
        """r, and what x has in dx."""
        mean = m.mul(total[0], 1.0 / self.columns)
        return row.r, m.neg(m.mul(row.r, m.mul(row.r, mean)))

    def result(self, m: Math, v: Values, f: tuple[Reg, Reg]) -> tuple[Reg, ...]:
        r, coefficient = f
        x, g, w = v.x, v.g, _weight(m, v, self.offset)
        return (m.mul(r, m.fma(coefficient, x, m.mul(g, w))),)

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: tuple[Reg, Reg]) -> None:
        m.fma(sums[0], v.g, m.mul(v.x, f[0]), sums[0])


def _weight(m: Math, v: Values, offset: float) -> Reg:
    return m.add(v.w, offset) if offset else v.w
