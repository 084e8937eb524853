"""The formulas of gated activations, act(a) b, and of their gradients.

For a cotangent g of y = act(a) b: da = g b act'(a), db = g act(a). (Shazeer, GLU Variants Improve
Transformer, 2020; Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from pyptx import Reg, ptx
from pyptx.ops._normal import distribution
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import Operand, RowOp, Values
from pyptx.ops.rowwise.vectors import PIECE
from pyptx.types import DType, f16, f32, f64

Activation: TypeAlias = Literal["silu", "gelu_tanh", "gelu", "relu"]
_SLOPE: Final = math.sqrt(2 / math.pi)
_CUBE: Final = 0.044715
_SCALE: Final = 32.0
_SHUT: Final = 128.0
"""At minus this the sigmoid is 0 in f32."""
_LONG: Final = 2048
"""Bytes of a row that keeps a CTA busy: two vectors of 64 threads."""


def row_of(last: int, dtype: DType) -> int:
    """Elements of what the kernels take as a row, for arrays whose last dimension has `last`.

    They are a vector, since elements need nothing of each other. A long dimension that the widest
    vector does not divide is a row itself, with vectors where memory is aligned, and ends.
    """
    widest = PIECE // dtype.bytes
    size = math.gcd(last, widest)
    return last if size < widest and last * dtype.bytes >= _LONG else size


@dataclass(frozen=True)
class Gate(RowOp):
    """y of a and b, all of type `dtype`; without `gated` the activation of a alone."""

    activation: Activation
    dtype: DType
    gated: bool = True

    @property
    def name(self) -> str:
        return f"{self.activation}_gate" if self.gated else self.activation

    @property
    def compute(self) -> DType:
        return f64 if self.dtype is f64 else f32

    @property
    def narrow(self) -> bool:
        """Whether elements have 16 bits."""
        return is_narrow(self.dtype)

    @property
    def inputs(self) -> tuple[Operand, ...]:
        b = (Operand("b", self.dtype),) if self.gated else ()
        return Operand("a", self.dtype), *b

    @property
    def outputs(self) -> tuple[Operand, ...]:
        return (Operand("y", self.dtype),)

    def result(self, m: Math, v: Values, f: Any) -> tuple[Reg, ...]:
        del f
        value = activated(m, self.activation, v.a, narrow=self.narrow)
        return (m.mul(value, v.b) if self.gated else value,)


@dataclass(frozen=True)
class GateGradient(Gate):
    """da and db of a, b and g; without `gated` da of a and g."""

    @property
    def name(self) -> str:
        return f"{self.activation}_gate_gradient" if self.gated else f"{self.activation}_gradient"

    @property
    def inputs(self) -> tuple[Operand, ...]:
        b = (Operand("b", self.dtype),) if self.gated else ()
        return Operand("a", self.dtype), *b, Operand("g", self.dtype)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        db = (Operand("db", self.dtype),) if self.gated else ()
        return Operand("da", self.dtype), *db

    def result(self, m: Math, v: Values, f: Any) -> tuple[Reg, ...]:
        del f
        value, slope = derivative(m, self.activation, v.a, narrow=self.narrow)
        if not self.gated:
            return (m.mul(v.g, slope),)
        return m.mul(m.mul(v.g, v.b), slope), m.mul(v.g, value)


def is_narrow(dtype: DType) -> bool:
    """Whether results of a type are rounded to 16 bits, so that f32 has digits to spare."""
    return dtype.bytes == f16.bytes


def activated(m: Math, activation: Activation, x: Reg, *, narrow: bool = False) -> Reg:
    """The activation of a number; `narrow` where the result is rounded to 16 bits."""
    if activation == "relu":
        return _relu(m, x)
    if activation == "silu":
        return _gated(m, x, sigmoid(m, x, narrow=narrow), narrow=narrow)
    if activation == "gelu":
        return _gelu(m, x)
    return _gated(m, x, _gelu_gate(m, x, narrow=narrow)[0], narrow=narrow)


def derivative(m: Math, activation: Activation, x: Reg, *, narrow: bool = False) -> tuple[Reg, Reg]:
    """The activation of a number, and its derivative there; `narrow` as for `activated`."""
    if activation == "relu":
        positive = ptx.inst[f"setp.gt.{m.dtype.name}"](x, 0.0)
        return _relu(m, x), m.selp(1.0, 0.0, positive)
    if activation == "silu":
        # (x s)' = s + x s (1 - s)
        s = sigmoid(m, x, narrow=narrow)
        value = _gated(m, x, s, narrow=narrow)
        return value, m.fma(value, m.sub(1.0, s), s)
    if activation == "gelu":
        # (x P)' = P + x P', with the normal density P'
        value = _gelu(m, x)
        density = m.mul(m.exp(m.mul(m.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
        return value, m.add(_area(m, x, value), _gated(m, x, density))
    # (x s(2 u))' = s + x s (1 - s) 2 u'
    s, slope = _gelu_gate(m, x, narrow=narrow)
    value = _gated(m, x, s, narrow=narrow)
    return value, m.fma(m.mul(value, m.sub(1.0, s)), slope, s)


def sigmoid(m: Math, x: Reg, *, narrow: bool = False) -> Reg:
    """1 / (1 + e^-x), 0 and 1 where the exponential leaves the range.

    `narrow`: 5 instructions instead of 17, with a relative error of 1e-5. Where a few rows come
    from memory, so do the instructions: a gate of 16 x 14336 took 1.8 us with these, and 2.3
    with the others, on an H200.
    """
    if narrow:
        # Scaled down by 2^32, the sum and its reciprocal are normal numbers wherever f32 has the
        # result; these two instructions flush others to zero.
        power = ptx.inst.ex2.approx.ftz.f32(m.fma(x, -math.log2(math.e), -_SCALE))
        inverse = ptx.inst.rcp.approx.ftz.f32(m.add(power, 2.0**-_SCALE))
        return m.mul(inverse, 2.0**-_SCALE)
    if m.dtype is f32:
        return ptx.math.sigmoid(x)
    return m.divide(1.0, m.add(m.exp(m.neg(x)), 1.0))


def _relu(m: Math, x: Reg) -> Reg:
    """x or 0, and NaN for NaN, which `max` would leave out."""
    negative = ptx.inst[f"setp.lt.{m.dtype.name}"](x, 0.0)
    return m.selp(0.0, x, negative)


def _gated(m: Math, x: Reg, gate: Reg, *, narrow: bool = False) -> Reg:
    """x times a gate; 0 where the gate is, also for minus infinity."""
    if narrow:  # the gate is 0 long before
        return m.mul(ptx.inst.max.NaN.f32(x, -_SHUT), gate)
    shut = ptx.inst[f"setp.eq.{m.dtype.name}"](gate, 0.0)
    return m.selp(0.0, m.mul(x, gate), shut)


def _gelu(m: Math, x: Reg) -> Reg:
    """x times the area left of it under the normal density."""
    return ptx.math.gelu(x) if m.dtype is f32 else _gated(m, x, distribution(m, x))


def _area(m: Math, x: Reg, value: Reg) -> Reg:
    """That area; `value` is `_gelu` of x, which has its digits also where the area is small."""
    if m.dtype is not f32:
        return distribution(m, x)
    small = ptx.inst.setp.lt.f32(m.abs(x), 1e-20)
    large = ptx.inst.setp.gt.f32(x, 10.0)
    quotient = m.mul(value, m.reciprocal(x))
    return m.selp(1.0, m.selp(0.5, quotient, small), large)


def _gelu_gate(m: Math, x: Reg, *, narrow: bool = False) -> tuple[Reg, Reg]:
    """With u = sqrt(2 / pi) (x + 0.044715 x^3): (1 + tanh(u)) / 2 = sigmoid(2 u), and 2 u'."""
    square = m.mul(x, x)
    inner = m.mul(x, m.fma(square, 2 * _SLOPE * _CUBE, 2 * _SLOPE))
    return sigmoid(m, inner, narrow=narrow), m.fma(square, 6 * _SLOPE * _CUBE, 2 * _SLOPE)
