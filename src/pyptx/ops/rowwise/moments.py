"""The mean and the variance of a row, as statistics: each part has its own mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyptx import Reg, ptx, reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.statistics import CHAINS, Statistic, Terms


@dataclass(frozen=True, slots=True)
class Moments(Statistic):
    """How many elements there are, their mean, and the sum of (x - mean) squared. A term is (x,).

    Every part has its own mean, so nothing is lost where the mean is large against the deviation.
    (Chan, Golub and LeVeque, Algorithms for Computing the Sample Variance, 1983.) A thread measures
    its elements from the mean of its first vector: what that is away from the mean of all shows in
    the sum of squares of those very elements, so the error is a few roundings of the row's sum.
    """

    count: int = 3

    def even(self, elements: int) -> EvenMoments:
        return EvenMoments(elements)

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        elements = reg.scalar(m.dtype, init=0.0)

        def counted() -> Iterator[Terms]:
            for vector in vectors:
                values = list(vector.terms)
                m.add(elements, elements, _chosen(m, float(len(values)), vector.active))
                yield Terms(values, vector.active)

        start, total, squares = _from_start(m, counted(), chains)
        distance = m.mul(total, m.reciprocal(m.max(elements, 1.0)))
        return [elements, m.add(start, distance), _rest(m, squares, distance, total)]

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        elements = m.total([part[0] for part in parts])
        weighted = m.products((p[0], p[1]) for p in parts)
        mean = m.mul(weighted, m.reciprocal(m.max(elements, 1.0)))
        away = [m.sub(part[1], mean) for part in parts]
        squares = [
            m.fma(m.mul(part[0], d), d, part[2]) for part, d in zip(parts, away, strict=True)
        ]
        return [elements, mean, m.total(squares)]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        elements, mean, squares = values
        total = ptx.warp.reduce_sum(reg.scalar(m.dtype, init=elements), width=width)
        weighted = ptx.warp.reduce_sum(m.mul(elements, mean), width=width)
        common = m.mul(weighted, m.reciprocal(m.max(total, 1.0)))
        away = m.sub(mean, common)
        squares = m.fma(m.mul(elements, away), away, squares)
        return [total, common, ptx.warp.reduce_sum(squares, width=width)]


@dataclass(frozen=True, slots=True)
class EvenMoments(Statistic):
    """The mean and the variance of parts that have as many elements each, of a row of `elements`.

    The mean of means and the mean of variances, with what the means are apart: no part counts its
    elements, nothing is divided by a number that is not known, and a reduction less is waited for.
    """

    elements: int
    count: int = 2

    def whole(self, m: Math, numbers: list[Reg]) -> list[Reg]:
        mean, variance = numbers
        elements = reg.scalar(m.dtype, init=float(self.elements))
        return [elements, mean, m.mul(variance, elements)]

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        whole = [Terms(list(vector.terms)) for vector in vectors]
        count = sum(len(list(vector.terms)) for vector in whole)
        start, total, squares = _from_start(m, whole, chains)
        if len(whole) == 1:
            return [start, m.mul(squares, 1.0 / count)]
        distance = m.mul(total, 1.0 / count)
        rest = _rest(m, squares, distance, total)
        return [m.add(start, distance), m.mul(rest, 1.0 / count)]

    def of_lanes(self, m: Math, rows: Iterable[Sequence[Terms]], *, width: int) -> list[list[Reg]]:
        """First the mean of all, from which the squares are taken, and the results: the distance of
        an element is found once."""
        values = [[term[0] for vector in vectors for term in vector.terms] for vectors in rows]
        totals = [_over(m.total(each), width) for each in values]
        found: list[list[Reg]] = []
        for each, total in zip(values, totals, strict=True):
            elements = reg.scalar(m.dtype, init=float(self.elements))
            mean = m.mul(total, 1.0 / self.elements)
            squares = [m.zero() for _ in range(CHAINS)]
            for i, value in enumerate(each):
                away = m.sub(value, mean)
                m.fma(squares[i % CHAINS], away, away, squares[i % CHAINS])
            found.append([elements, mean, _over(m.total(squares), width)])
        return found

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        mean = m.mul(m.total([part[0] for part in parts]), 1.0 / len(parts))
        away = [m.sub(part[0], mean) for part in parts]
        variances = [m.fma(d, d, part[1]) for part, d in zip(parts, away, strict=True)]
        return [mean, m.mul(m.total(variances), 1.0 / len(parts))]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        mean, variance = values
        total = ptx.warp.reduce_sum(reg.scalar(m.dtype, init=mean), width=width)
        common = m.mul(total, 1.0 / width)
        away = m.sub(mean, common)
        variance = ptx.warp.reduce_sum(m.fma(away, away, variance), width=width)
        return [common, m.mul(variance, 1.0 / width)]


def _from_start(m: Math, vectors: Iterable[Terms], chains: int) -> tuple[Reg, Reg, Reg]:
    """The mean of the first vector, and how far all elements are from it: their sum, and squares.

    The sum leaves out the first vector, whose own is nothing but rounding of its mean.
    """
    start: Reg | None = None
    sums, squares = [m.zero() for _ in range(chains)], [m.zero() for _ in range(chains)]
    for vector in vectors:  # one after the other, so that few elements are in registers at once
        values = [term[0] for term in vector.terms]
        first = start is None
        if start is None:
            start = m.mul(m.total(values), 1.0 / len(values))
        for i, value in enumerate(values):
            away = m.sub(value, start)
            if vector.active is not None:
                away = m.selp(away, 0.0, vector.active)
            if not first:
                m.add(sums[i % chains], sums[i % chains], away)
            m.fma(squares[i % chains], away, away, squares[i % chains])
    assert start is not None
    return start, m.total(sums), m.total(squares)


def _over(value: Reg, width: int) -> Reg:
    """The sum of a value over `width` neighbouring lanes."""
    return ptx.warp.reduce_sum(value, width=width) if width > 1 else value


def _rest(m: Math, squares: Reg, distance: Reg, total: Reg) -> Reg:
    """The sum of squares from the mean, which is `distance` from where they were taken."""
    rest = m.fma(m.neg(distance), total, squares)
    negative = ptx.inst[f"setp.lt.{m.dtype.name}"](rest, 0.0)  # by rounding
    return m.selp(0.0, rest, negative)


def _chosen(m: Math, value: float, active: Reg | None) -> Reg | float:
    return value if active is None else m.selp(value, 0.0, active)
