"""The formulas of a norm of x + residual, and of its gradient, from those of the norm.

s = x + residual, rounded to its type, is what the norm reads and what is written. For cotangents
gy of y and gs of s, what the norm's gradient makes of gy and s, plus gs, is the gradient of both.
With dropout s = dropout(x) + residual, and the gradient of x is what `Dropout` makes of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from pyptx import Reg
from pyptx.ops._dropout import Dropout
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import COLUMN, ELEMENT, Operand, RowOp, Scalars, Values
from pyptx.ops.rowwise.statistics import Statistic, Term
from pyptx.ops.rowwise.vectors import rounded
from pyptx.types import DType


class _Summed:
    """The elements that the norm sees: its x is the sum."""

    def __init__(self, v: Values, x: Reg) -> None:
        self._v = v
        self.x = x

    def __getattr__(self, name: str) -> Any:
        return getattr(self._v, name)


@dataclass(frozen=True, slots=True)
class _Factors:
    """What the norm's formulas need of a row, and the row's inputs."""

    norm: Any
    row: Scalars


def _seeds(dropout: Dropout | None) -> tuple[Operand, ...]:
    return () if dropout is None else dropout.inputs


@dataclass(frozen=True)
class AddNorm(RowOp):
    """y[*B, N] and s[*B, N] of x[*B, N] and residual[*B, N], and what `norm` has besides."""

    norm: RowOp
    x: DType
    residual: DType
    dropout: Dropout | None = None

    @property
    def name(self) -> str:
        return f"{'' if self.dropout is None else 'dropout_'}add_{self.norm.name}"

    @property
    def compute(self) -> DType:
        return self.norm.compute

    @property
    def inputs(self) -> tuple[Operand, ...]:
        elements = Operand("x", self.x), Operand("residual", self.residual)
        return *elements, *self.norm.inputs[1:], *_seeds(self.dropout)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        y, *rows = self.norm.outputs
        return y, Operand("s", self.residual), *rows

    @property
    def statistic(self) -> Statistic | None:
        return self.norm.statistic

    @property
    def term_reads_row(self) -> bool:
        return self.dropout is not None

    def _summed(self, m: Math, v: Values, row: Scalars | None) -> tuple[Reg, Values]:
        if self.dropout is None or row is None:
            total = m.add(v.x, v.residual)
        else:
            total = m.fma(self.dropout.kept(m, v, row, v.x), self.dropout.scale, v.residual)
        total = rounded(total, self.residual)
        return total, cast("Values", _Summed(v, total))

    def term(self, m: Math, v: Values) -> Term:
        row = None if self.dropout is None else v.row
        return self.norm.term(m, self._summed(m, v, row)[1])

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> Any:
        return _Factors(self.norm.factors(m, total, row), row)

    def result(self, m: Math, v: Values, f: _Factors) -> tuple[Reg, ...]:
        total, values = self._summed(m, v, f.row)
        return (*self.norm.result(m, values, f.norm), total)

    def row_result(self, m: Math, f: _Factors) -> tuple[Reg, ...]:
        return self.norm.row_result(m, f.norm)


@dataclass(frozen=True)
class AddNormGradient(RowOp):
    """The norm's gradient of s, whose x is s, and gs.

    dr too, where residual is of another type or x is dropped out.
    """

    norm: RowOp
    x: DType
    residual: DType
    dropout: Dropout | None = None

    @property
    def name(self) -> str:
        return f"{'' if self.dropout is None else 'dropout_'}add_{self.norm.name}"

    @property
    def compute(self) -> DType:
        return self.norm.compute

    @property
    def inputs(self) -> tuple[Operand, ...]:
        columns = self.norm.given(COLUMN)
        rest = [operand for operand in self.norm.inputs if operand.per != COLUMN]
        return *rest, Operand("gs", self.residual), *columns, *_seeds(self.dropout)

    @property
    def has_one(self) -> bool:
        """Whether the gradients of x and residual are one array."""
        return self.x is self.residual and self.dropout is None

    @property
    def outputs(self) -> tuple[Operand, ...]:
        dr = () if self.has_one else (Operand("dr", self.residual, ELEMENT),)
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
        return _Factors(self.norm.factors(m, total, row), row)

    def result(self, m: Math, v: Values, f: _Factors) -> tuple[Reg, ...]:
        (ds,) = self.norm.result(m, v, f.norm)
        both = m.add(ds, v.gs)
        if self.dropout is not None:
            return m.mul(self.dropout.kept(m, v, f.row, both), self.dropout.scale), both
        return (both,) if self.has_one else (both, both)

    def accumulate(self, m: Math, sums: Sequence[Reg], v: Values, f: _Factors) -> None:
        self.norm.accumulate(m, sums, v, f.norm)
