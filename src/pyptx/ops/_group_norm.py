"""The formulas of group normalization, and of its gradient, on rows that are channels.

A group is K elements of some channels; m and r = 1 / sqrt(variance + eps) are its own, w and b the
channel's: y = (x - m) r w + b. A row is one channel of one example. Numbers of a group are made
from those of its channels, which are few. For a cotangent g of y, with sums over a group:
dx = r w g - r (sum(w g) + (x - m) r^2 sum(w g (x - m))) / K, and dw = sum of g (x - m) r, db of g.
(Wu and He, Group Normalization, 2018; Ulyanov and others, Instance Normalization, 2016.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyptx import Reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.moments import Moments
from pyptx.ops.rowwise.operation import ROW, Operand, RowOp, Scalars, Values
from pyptx.ops.rowwise.statistics import Statistic, Sums, Term
from pyptx.types import DType, f32, f64


@dataclass(frozen=True)
class _OfChannels(RowOp):
    """Arrays per element are of type `x`, numbers of each channel of type `compute`."""

    x: DType

    @property
    def compute(self) -> DType:
        return f64 if self.x is f64 else f32

    def _rows(self, *names: str) -> tuple[Operand, ...]:
        return tuple(Operand(name, self.compute, ROW) for name in names)


@dataclass(frozen=True)
class ChannelMoments(_OfChannels):
    """The mean of each row of x, and the sum of squared distances from it."""

    @property
    def name(self) -> str:
        return "channel_moments"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return (Operand("x", self.x),)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return self._rows("mean", "squares")

    @property
    def statistic(self) -> Statistic:
        return Moments()

    def term(self, m: Math, v: Values) -> Term:
        del m
        return (v.x,)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, Reg]:
        del m, row
        _, mean, squares = total
        return mean, squares

    def row_result(self, m: Math, f: tuple[Reg, Reg]) -> tuple[Reg, ...]:
        del m
        return f


@dataclass(frozen=True)
class ChannelNorm(_OfChannels):
    """y = (x - mean) scale + bias, with three numbers of each row."""

    @property
    def name(self) -> str:
        return "channel_norm"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("x", self.x), *self._rows("mean", "scale", "bias")

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("y", self.x),)

    def result(self, m: Math, v: Values, f: Scalars) -> tuple[Reg, ...]:
        return (m.fma(m.sub(v.x, f.mean), f.scale, f.bias),)


@dataclass(frozen=True)
class ChannelSums(_OfChannels):
    """Of each row the sums of g and of g (x - mean)."""

    @property
    def name(self) -> str:
        return "channel_sums"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return Operand("x", self.x), Operand("g", self.x), *self._rows("mean")

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return self._rows("of_g", "of_products")

    @property
    def statistic(self) -> Statistic:
        return Sums(2)

    @property
    def term_reads_row(self) -> bool:
        return True

    def term(self, m: Math, v: Values) -> Term:
        # Where the thread has no element g is zero, so what x is does not matter.
        return v.g, m.one, v.g, m.sub(v.x, v.row.mean)

    def factors(self, m: Math, total: Sequence[Reg], row: Scalars) -> tuple[Reg, ...]:
        del m, row
        return tuple(total)

    def row_result(self, m: Math, f: tuple[Reg, ...]) -> tuple[Reg, ...]:
        del m
        return f


@dataclass(frozen=True)
class ChannelNormGradient(_OfChannels):
    """dx = scale g + slope (x - mean) + shift, with four numbers of each row."""

    @property
    def name(self) -> str:
        return "channel_norm_gradient"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        rows = self._rows("mean", "scale", "slope", "shift")
        return Operand("x", self.x), Operand("g", self.x), *rows

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("dx", self.x),)

    def result(self, m: Math, v: Values, f: Scalars) -> tuple[Reg, ...]:
        return (m.fma(v.g, f.scale, m.fma(m.sub(v.x, f.mean), f.slope, f.shift)),)
