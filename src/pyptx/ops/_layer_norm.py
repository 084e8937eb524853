"""The formulas of layer normalization, and of its gradient.

m = mean(x), r = 1 / sqrt(mean((x - m)^2) + eps), y = (x - m) r w + b. For a cotangent g of y, with
x' = (x - m) r: dx = r (g w - mean(g w) - x' mean(g w x')), dw = sum over rows of g x', db of g.
(Ba, Kiros and Hinton, Layer Normalization, 2016.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyptx import Reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.moments import Moments
from pyptx.ops.rowwise.operation import COLUMN, ROW, Operand, RowOp, Scalars, Values
from pyptx.ops.rowwise.statistics import Statistic, Sums, Term
from pyptx.types import DType, f32, f64


@dataclass(frozen=True)
class _Types(RowOp):
    """x is of type `x`, y and g of type `y`, w and b of theirs where they are given."""

    x: DType
    y: DType
    weight: DType | None
    bias: DType | None

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    def _weights(self) -> tuple[Operand, ...]:
        return () if self.weight is None else (Operand("w", self.weight, COLUMN),)


@dataclass(frozen=True)
class LayerNorm(_Types):
    """y[*B, N] of x[*B, N], w[N] and b[N]; mean[*B] and r[*B] with `kept`."""

    eps: float
    kept: bool = False

    @property
    def name(self) -> str:
        return "layer_norm_kept" if self.kept else "layer_norm"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        b = () if self.bias is None else (Operand("b", self.bias, COLUMN),)
        return Operand("x", self.x), *self._weights(), *b

    @property
    def outputs(self) -> tuple[Operand, ...]:
        kept = Operand("mean", self.compute, ROW), Operand("r", self.compute, ROW)
        return Operand("y", self.y), *(kept if self.kept else ())

    @property
    def statistic(self) -> Statistic:
        return Moments()

    def term(self, m: Math, v: Values) -> Term:
        del m
        return (v.x,)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, Reg]:
        """The mean, and r."""
        del row
        _, mean, squares = total
        return mean, m.inverse_root(m.fma(squares, 1.0 / self.columns, self.eps))

    def result(self, m: Math, v: Values, f: tuple[Reg, Reg]) -> tuple[Reg, ...]:
        mean, r = f
        value = m.mul(m.sub(v.x, mean), r)
        if self.weight is not None and self.bias is not None:
            return (m.fma(value, v.w, v.b),)
        if self.weight is not None:
            return (m.mul(value, v.w),)
        return (value if self.bias is None else m.add(value, v.b),)

    def row_result(self, m: Math, f: tuple[Reg, Reg]) -> tuple[Reg, ...]:
        del m
        return f if self.kept else ()


@dataclass(frozen=True)
class LayerNormGradient(_Types):
    """dx[*B, N], dw[N] and db[N] of x[*B, N], g[*B, N], mean[*B], r[*B] and w[N]."""

    @property
    def name(self) -> str:
        return "layer_norm_gradient"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        rows = Operand("mean", self.compute, ROW), Operand("r", self.compute, ROW)
        return Operand("x", self.x), Operand("g", self.y), *rows, *self._weights()

    @property
    def outputs(self) -> tuple[Operand, ...]:
        dw = () if self.weight is None else (Operand("dw", self.compute, COLUMN),)
        db = () if self.bias is None else (Operand("db", self.compute, COLUMN),)
        return Operand("dx", self.x), *dw, *db

    @property
    def statistic(self) -> Statistic:
        return Sums(2)

    @property
    def term_reads_row(self) -> bool:
        return True

    def _weighted(self, m: Math, v: Values) -> Reg:
        return v.g if self.weight is None else m.mul(v.g, v.w)

    def term(self, m: Math, v: Values) -> Term:
        # Where the thread has no element g is zero, so what x is does not matter.
        weighted = self._weighted(m, v)
        return weighted, m.one, weighted, m.sub(v.x, v.row.mean)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, ...]:
        """The mean, r, the mean of g w, and r^2 times the mean of g w (x - m)."""
        mean_gw = m.mul(total[0], 1.0 / self.columns)
        mean_gwx = m.mul(total[1], 1.0 / self.columns)
        return row.mean, row.r, mean_gw, m.mul(row.r, m.mul(row.r, mean_gwx))

    def result(self, m: Math, v: Values, f: tuple[Reg, ...]) -> tuple[Reg, ...]:
        mean, r, mean_gw, slope = f
        rest = m.sub(self._weighted(m, v), mean_gw)
        return (m.mul(r, m.fma(m.neg(slope), m.sub(v.x, mean), rest)),)

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: tuple[Reg, ...]) -> None:
        left = list(sums)
        if self.weight is not None:
            total = left.pop(0)
            m.fma(total, v.g, m.mul(m.sub(v.x, f[0]), f[1]), total)
        if self.bias is not None:
            m.add(left[0], left[0], v.g)
