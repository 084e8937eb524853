"""What is reduced over a row: sums, or a maximum with the sum of exponentials.

A statistic is a few numbers. A thread makes them of its own elements, and they are combined over a
warp by shuffles and between warps and CTAs in a fixed order, so that a result is the same in every
run. Which numbers these are is all that the ways of moving rows do not know.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyptx import Reg, ptx, reg
from pyptx.ops.rowwise.arithmetic import Math

Term: TypeAlias = "tuple[Reg, ...]"
"""What one element adds to a statistic, in the statistic's own form."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the elements of one vector add; `active` is whether the thread has it, None for yes.

    Terms are read once and in order: they may be made, by a generator, only when they are added.
    """

    terms: Iterable[Term]
    active: Reg | None = None


class Statistic(ABC):
    """`count` numbers of a row."""

    count: int

    def neutral(self, number: int) -> float:
        """What changes nothing when it is combined, for one of the numbers."""
        del number
        return 0.0

    @abstractmethod
    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        """The statistic of what one thread has."""

    def add(self, m: Math, values: Sequence[Reg], more: Terms) -> None:
        """Add a few more elements to what one thread has, in place."""
        both = self.combine(m, [values, self.of_thread(m, [more], chains=1)])
        for value, one in zip(values, both, strict=True):
            m.mov(value, one)

    @abstractmethod
    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        """The statistic of several parts, in their order."""

    @abstractmethod
    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        """Combine over `width` neighbouring lanes, in place; all lanes have the result."""


@dataclass(frozen=True, slots=True)
class Sums(Statistic):
    """`count` sums of products. A term is one pair of factors for each sum, flat.

    Elements that a thread does not have are zeros, so that their products add nothing.
    """

    count: int = 1

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        sums = [[m.zero() for _ in range(chains)] for _ in range(self.count)]
        terms = (term for vector in vectors for term in vector.terms)
        for j, term in enumerate(terms):
            for i, chain in enumerate(sums):
                one = chain[j % chains]
                m.fma(one, term[2 * i], term[2 * i + 1], one)
        return [m.total(chain) for chain in sums]

    def add(self, m: Math, values: Sequence[Reg], more: Terms) -> None:
        for term in more.terms:
            for i, value in enumerate(values):
                m.fma(value, term[2 * i], term[2 * i + 1], value)

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        return [m.total([part[i] for part in parts]) for i in range(self.count)]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        del m
        return [ptx.warp.reduce_sum(value, width=width) for value in values]


@dataclass(frozen=True, slots=True)
class MaxSumExp(Statistic):
    """The maximum of a row, and the sum of exp(x - maximum). A term is (x,).

    Elements that a thread does not have are minus infinity (`Operand.pad`). A row of nothing else
    has the maximum minus infinity and the sum 0.
    """

    count: int = 2

    def neutral(self, number: int) -> float:
        return 0.0 if number else -math.inf

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        values = [term[0] for vector in vectors for term in vector.terms]
        maximum = _largest(m, values)
        start = finite(m, maximum)
        sums = [m.zero() for _ in range(chains)]
        for i, value in enumerate(values):
            m.add(sums[i % chains], sums[i % chains], m.exp(m.sub(value, start)))
        return [maximum, m.total(sums)]

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        maximum = _largest(m, [part[0] for part in parts])
        start = finite(m, maximum)
        sums = [m.mul(part[1], m.exp(m.sub(part[0], start))) for part in parts]
        return [maximum, m.total(sums)]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        maximum, total = reg.scalar(m.dtype, init=values[0]), values[1]
        ptx.warp.reduce_max(maximum, width=width)
        scaled = m.mul(total, m.exp(m.sub(values[0], finite(m, maximum))))
        return [maximum, ptx.warp.reduce_sum(scaled, width=width)]


@dataclass(frozen=True, slots=True)
class Moments(Statistic):
    """How many elements there are, their mean, and the sum of (x - mean) squared. A term is (x,).

    Every part has its own mean, so nothing is lost where the mean is large against the deviation.
    (Chan, Golub and LeVeque, Algorithms for Computing the Sample Variance, 1983.)
    """

    count: int = 3

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        elements = reg.scalar(m.dtype, init=0.0)
        values: list[tuple[Reg, Reg | None]] = []
        for vector in vectors:
            some = [(term[0], vector.active) for term in vector.terms]
            m.add(elements, elements, _chosen(m, float(len(some)), vector.active))
            values += some
        mean = m.divide(_sum(m, [value for value, _ in values], chains), m.max(elements, 1.0))
        away = [(m.sub(value, mean), active) for value, active in values]
        away = [d if active is None else m.selp(d, 0.0, active) for d, active in away]
        return [elements, mean, m.products(((d, d) for d in away), chains)]

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        elements = m.total([part[0] for part in parts])
        mean = m.divide(m.products((p[0], p[1]) for p in parts), m.max(elements, 1.0))
        away = [m.sub(part[1], mean) for part in parts]
        squares = [
            m.fma(m.mul(part[0], d), d, part[2]) for part, d in zip(parts, away, strict=True)
        ]
        return [elements, mean, m.total(squares)]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        elements, mean, squares = values
        total = ptx.warp.reduce_sum(reg.scalar(m.dtype, init=elements), width=width)
        weighted = ptx.warp.reduce_sum(m.mul(elements, mean), width=width)
        common = m.divide(weighted, m.max(total, 1.0))
        away = m.sub(mean, common)
        squares = m.fma(m.mul(elements, away), away, squares)
        return [total, common, ptx.warp.reduce_sum(squares, width=width)]


def finite(m: Math, maximum: Reg) -> Reg:
    """The maximum, or 0 where it is minus infinity, from which nothing can be subtracted."""
    none = ptx.inst[f"setp.eq.{m.dtype.name}"](maximum, -math.inf)
    return m.selp(0.0, maximum, none)


def _chosen(m: Math, value: float, active: Reg | None) -> Reg | float:
    return value if active is None else m.selp(value, 0.0, active)


def _largest(m: Math, values: Sequence[Reg]) -> Reg:
    level = list(values)
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        level = [m.max(level[i - 1], level[i]) for i in range(1, len(level), 2)] + odd
    return level[0]


def _sum(m: Math, values: Sequence[Reg], chains: int) -> Reg:
    sums = [m.zero() for _ in range(chains)]
    for i, value in enumerate(values):
        m.add(sums[i % chains], sums[i % chains], value)
    return m.total(sums)
