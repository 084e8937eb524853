"""The formulas of a norm of x + residual, and of its gradient, from those of the norm.

s = x + residual, rounded to its type, is what the norm reads and what is written. For cotangents
gy of y and gs of s, what the norm's gradient makes of gy and s, plus gs, is the gradient of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from pyptx import Reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, Operand, RowOp, Scalars, Values
from pyptx.ops.rowwise.statistics import Statistic, Term
from pyptx.ops.rowwise.vectors import convert
from pyptx.types import DType


class _Summed:
    """The elements that the norm sees: its x is the sum."""

    def __init__(self, v: Values, x: Reg) -> None:
        self._v = v
        self.x = x

    def __getattr__(self, name: str) -> Any:
        return getattr(self._v, name)


@dataclass(frozen=True)
class AddNorm(RowOp):
    """y[*B, N] and s[*B, N] of x[*B, N] and residual[*B, N], and what `norm` has besides."""

    norm: RowOp
    x: DType
    residual: DType

    @property
    def name(self) -> str:
        return f"add_{self.norm.name}"

    @property
    def compute(self) -> DType:
        return self.norm.compute

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("x", self.x), Operand("residual", self.residual), *self.norm.inputs[1:]

    @property
    def outputs(self) -> tuple[Operand, ...]:
        y, *rows = self.norm.outputs
        return y, Operand("s", self.residual), *rows

    @property
    def statistic(self) -> Statistic | None:
        return self.norm.statistic

    def _summed(self, m: Math, v: Values) -> tuple[Reg, Values]:
        total = convert(convert(m.add(v.x, v.residual), self.residual), m.dtype)
        return total, cast("Values", _Summed(v, total))

    def term(self, m: Math, v: Values) -> Term:
        return self.norm.term(m, self._summed(m, v)[1])

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> Any:
        return self.norm.factors(m, total, row)

    def result(self, m: Math, v: Values, f: Any) -> tuple[Reg, ...]:
        total, values = self._summed(m, v)
        return (*self.norm.result(m, values, f), total)

    def row_result(self, m: Math, f: Any) -> tuple[Reg, ...]:
        return self.norm.row_result(m, f)


@dataclass(frozen=True)
class AddNormGradient(RowOp):
    """The norm's gradient of s, whose x is s, and gs; dr too, where residual is of another type."""

    norm: RowOp
    x: DType
    residual: DType

    @property
    def name(self) -> str:
        return f"add_{self.norm.name}"

    @property
    def compute(self) -> DType:
        return self.norm.compute

    @property
    def inputs(self) -> tuple[Operand, ...]:
        columns = self.norm.given(COLUMN)
        rest = [operand for operand in self.norm.inputs if operand.per != COLUMN]
        return *rest, Operand("gs", self.residual), *columns

    @property
    def outputs(self) -> tuple[Operand, ...]:
        dr = () if self.x is self.residual else (Operand("dr", self.residual, ELEMENT),)
        return Operand("dx", self.x), *dr, *self.norm.outputs[1:]

    @property
    def statistic(self) -> Statistic | None:
        return self.norm.statistic

    @property
    def term_reads_row(self) -> bool:
        return self.norm.term_reads_row

    def term(self, m: Math, v: Values) -> Term:
        return self.norm.term(m, v)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> Any:
        return self.norm.factors(m, total, row)

    def result(self, m: Math, v: Values, f: Any) -> tuple[Reg, ...]:
        (dx,) = self.norm.result(m, v, f)
        both = m.add(dx, v.gs)
        return (both,) if self.x is self.residual else (both, both)

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: Any) -> None:
        self.norm.accumulate(m, sums, v, f)
