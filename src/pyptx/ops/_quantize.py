"""The formulas of quantization to 8 bits, of rows as they are and of their norms.

n is x, (x w) r of the RMS norm, or ((x - mean) r) w + b of layer normalization, not rounded to x's
type. s is the largest |n| of a row or block over the largest number of the 8-bit type, and
y = n (1 / s), rounded once more; both quotients are correctly rounded.

|x w| r is in the order of |x w|, so of the RMS norm the largest is found with the sum of squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from pyptx import Reg, ptx
from pyptx.ops._layer_norm import LayerNorm
from pyptx.ops._rms_norm import RmsNorm
from pyptx.ops.rowwise import eight_bits
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import BLOCK, ROW, Operand, RowOp, Scalars, Span, Values
from pyptx.ops.rowwise.statistics import Both, Largest, Statistic, Term
from pyptx.ops.rowwise.vectors import convert
from pyptx.types import DType, f32, f64

Scaling: TypeAlias = Literal["row", "block", "given"]
"""A scale for each row, for each block of a row, or given as an input per row."""

LEAST: float = 2.0**-126
"""No scale that is found is smaller: the reciprocal of a smaller one could be infinite."""


class _Factors(NamedTuple):
    """What the norm's formulas need of a row, 1 / s, and the number that is written of it."""

    norm: Any
    inverse: Reg | None = None
    number: Reg | None = None


@dataclass(frozen=True)
class Quantized(RowOp):
    """y[*B, N], of type `to`, and numbers in f32, of x[*B, N] and what `norm` has per column.

    The numbers are scale[*B], or of blocks scale[*B, cdiv(N, 128)]; where scale[*B] is given they
    are the largest |n|, amax[*B].
    """

    x: DType
    to: DType
    scaling: Scaling
    norm: RmsNorm | LayerNorm | None = None

    @property
    def name(self) -> str:
        what = "quantize" if self.norm is None else f"{self.norm.name}_quantized"
        return f"{what}_{self.scaling}"

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    @property
    def inputs(self) -> tuple[Operand, ...]:
        given = (Operand("scale", f32, ROW),) if self.scaling == "given" else ()
        return *((Operand("x", self.x),) if self.norm is None else self.norm.inputs), *given

    @property
    def outputs(self) -> tuple[Operand, ...]:
        number = Operand("amax" if self.scaling == "given" else "scale", f32, ROW)
        if self.scaling == "block":
            number = Operand("scale", f32, BLOCK)
        return Operand("y", self.to), number

    @property
    def span(self) -> Span | None:
        if self.scaling == "block":
            return "block"
        return "row" if isinstance(self.norm, LayerNorm) else None

    # ---- formulas --------------------------------------------------------------------------------

    @property
    def statistic(self) -> Statistic | None:
        found = None if self.norm is None else self.norm.statistic
        if self.span is not None:
            return found
        return Largest() if found is None else Both(found, 2, Largest())

    def term(self, m: Math, v: Values) -> Term:
        found = () if self.norm is None else self.norm.term(m, v)
        return found if self.span is not None else (*found, m.abs(self._weighted(m, v)))

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> _Factors:
        norm = None if self.norm is None else self.norm.factors(m, total, row)
        inverse = m.divide(1.0, row.scale) if self.scaling == "given" else None
        f = _Factors(norm, inverse)
        if self.span is not None:
            return f
        largest = total[-1] if norm is None else m.mul(total[-1], norm)
        return self.measured(m, largest, f)

    def measure(self, m: Math, v: Values, f: _Factors) -> Reg:
        return m.abs(self._value(m, v, f))

    def measured(self, m: Math, largest: Reg, f: _Factors) -> _Factors:
        if self.scaling == "given":
            return f._replace(number=largest)
        scale = _scale(m, largest, self.to)
        return _Factors(f.norm, m.divide(1.0, convert(scale, m.dtype)), scale)

    def result(self, m: Math, v: Values, f: _Factors) -> tuple[Reg, ...]:
        assert f.inverse is not None
        return (m.mul(self._value(m, v, f), f.inverse),)

    def row_result(self, m: Math, f: _Factors) -> tuple[Reg, ...]:
        del m
        assert f.number is not None
        return (f.number,)

    def _weighted(self, m: Math, v: Values) -> Reg:
        """n without the row's factor."""
        if self.norm is None:
            return v.x
        assert isinstance(self.norm, RmsNorm)
        return m.mul(v.x, m.add(v.w, self.norm.offset) if self.norm.offset else v.w)

    def _value(self, m: Math, v: Values, f: _Factors) -> Reg:
        """n."""
        if isinstance(self.norm, LayerNorm):
            return self.norm.result(m, v, f.norm)[0]
        value = self._weighted(m, v)
        return value if self.norm is None else m.mul(value, f.norm)


def _scale(m: Math, largest: Reg, to: DType) -> Reg:
    """s in f32: 1 where all elements are zeros."""
    found = ptx.inst[f"div.rn.{m.dtype.name}"](largest, eight_bits.largest(to))
    scale = ptx.inst.max.NaN.f32(convert(found, f32), LEAST)
    zeros = ptx.inst[f"setp.eq.{m.dtype.name}"](largest, 0.0)
    return ptx.inst.selp.f32(1.0, scale, zeros)
