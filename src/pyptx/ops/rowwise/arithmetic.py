"""Instructions of the type that rows are computed in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pyptx import Reg, ptx, reg
from pyptx.types import DType, f32

LOG2_E: Final = 1.4426950408889634
LN_2: Final = 0.6931471805599453


class Math:
    """Instructions of f32 or f64; every operation rounds to nearest even."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.add = ptx.inst[f"add.rn.{dtype.name}"]
        self.sub = ptx.inst[f"sub.rn.{dtype.name}"]
        self.mul = ptx.inst[f"mul.rn.{dtype.name}"]
        self.fma = ptx.inst[f"fma.rn.{dtype.name}"]
        self.neg = ptx.inst[f"neg.{dtype.name}"]
        self.abs = ptx.inst[f"abs.{dtype.name}"]
        self.max = ptx.inst[f"max.{dtype.name}"]
        self.min = ptx.inst[f"min.{dtype.name}"]
        self.mov = ptx.inst[f"mov.{dtype.name}"]
        self.selp = ptx.inst[f"selp.{dtype.name}"]
        self.load = ptx.inst[f"ld.shared.{dtype.name}"]
        self.store = ptx.inst[f"st.shared.{dtype.name}"]

    def zero(self) -> Reg:
        return reg.scalar(self.dtype, init=0.0)

    def inverse_root(self, value: Reg) -> Reg:
        """1 / sqrt(value): within 2**-22.9 in f32, correctly rounded steps in f64."""
        if self.dtype is f32:
            return ptx.inst.rsqrt.approx.f32(value)
        return ptx.inst.div.rn.f64(1.0, ptx.inst.sqrt.rn.f64(value))

    def divide(self, numerator: Reg | float, denominator: Reg) -> Reg:
        """The quotient, correctly rounded."""
        return ptx.inst[f"div.rn.{self.dtype.name}"](numerator, denominator)

    def products(self, pairs: Iterable[tuple[Reg, Reg]], chains: int = 4) -> Reg:
        """The sum of products, in several chains so that additions need not wait for another."""
        sums = [self.zero() for _ in range(chains)]
        for i, (a, b) in enumerate(pairs):
            self.fma(sums[i % chains], a, b, sums[i % chains])
        return self.total(sums)

    def total(self, values: Sequence[Reg]) -> Reg:
        """The sum of registers, as a tree."""
        level = list(values)
        while len(level) > 1:
            odd = level[-1:] if len(level) % 2 else []
            level = [self.add(level[i - 1], level[i]) for i in range(1, len(level), 2)] + odd
        return level[0]
