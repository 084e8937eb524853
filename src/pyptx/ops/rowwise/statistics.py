"""What is reduced over a row: sums, a maximum, or a maximum with the sum of exponentials.

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
from pyptx.device import WARP
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.types import f32, s32, s64, u32

CHAINS = 2
"""Of sums of a row in a thread that has few elements of each of several rows."""
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

    def of_lanes(self, m: Math, rows: Iterable[Sequence[Terms]], *, width: int) -> list[list[Reg]]:
        """The numbers of several rows as formulas take them, where `width` neighbouring lanes have
        all of a row in registers; in each of them."""
        found = [self.of_thread(m, vectors, chains=CHAINS) for vectors in rows]
        if width > 1:
            found = [self.over_warp(m, numbers, width=width) for numbers in found]
        return [self.whole(m, numbers) for numbers in found]

    def even(self, elements: int) -> Statistic:
        """What is the same of a row of that many elements, where all of a power of two of threads
        have as many of them: it may be less work. Its `whole` gives the numbers of this one."""
        del elements
        return self

    def whole(self, m: Math, numbers: list[Reg]) -> list[Reg]:
        """The numbers of a row as formulas take them."""
        del m
        return numbers

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

    def rows_over_warp(self, m: Math, rows: Iterable[list[Reg]]) -> list[list[Reg]]:
        """The same of several rows over a warp. What lanes have of a row may be made only when it
        is its turn."""
        return [self.over_warp(m, values) for values in rows]


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

    def of_lanes(self, m: Math, rows: Iterable[Sequence[Terms]], *, width: int) -> list[list[Reg]]:
        if self.count == 1 or m.dtype is not f32:
            return Statistic.of_lanes(self, m, rows, width=width)
        found = [self.of_thread(m, vectors, chains=CHAINS) for vectors in rows]
        sums = _halved(m, [number for numbers in found for number in numbers], width)
        return [sums[i : i + self.count] for i in range(0, len(sums), self.count)]

    def rows_over_warp(self, m: Math, rows: Iterable[list[Reg]]) -> list[list[Reg]]:
        # Round by round: one number after the other, the assembler has them wait in a row.
        found = [number for values in rows for number in values]
        distance = WARP // 2
        while distance:
            others = [m.from_lane(number, distance) for number in found]
            found = [m.add(number, other) for number, other in zip(found, others, strict=True)]
            distance //= 2
        return [found[i : i + self.count] for i in range(0, len(found), self.count)]


@dataclass(frozen=True, slots=True)
class MaxSumExp(Statistic):
    """The maximum of a row, and the sum of exp(x - maximum).

    A term is (x,). Elements that a thread does not have are minus infinity (`Operand.pad`). A row
    of nothing else has the maximum minus infinity and the sum 0.
    """

    count: int = 2

    def neutral(self, number: int) -> float:
        return 0.0 if number else -math.inf

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        maximum = reg.scalar(m.dtype, init=-math.inf)
        sums: list[Reg] = []
        for vector in vectors:  # one after the other, so that few elements are in registers at once
            values = [term[0] for term in vector.terms]
            before, maximum = maximum, m.max(maximum, _largest(m, values))
            start = finite(m, maximum)
            if sums:
                shrunk = m.exp_less(before, start)
                sums = [m.mul(one, shrunk) for one in sums]
            for i, value in enumerate(values):
                power = m.exp_less(value, start)
                if len(sums) < chains:
                    sums.append(power)
                else:
                    sums[i % chains] = m.add(sums[i % chains], power)
        return [maximum, m.total(sums)]

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        maximum = _largest(m, [part[0] for part in parts])
        start = finite(m, maximum)
        return [maximum, m.total([m.mul(part[1], m.exp_less(part[0], start)) for part in parts])]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        maximum, total = reg.scalar(m.dtype, init=values[0]), values[1]
        ptx.warp.reduce_max(maximum, width=width)
        scaled = m.mul(total, m.exp_less(values[0], finite(m, maximum)))
        return [maximum, ptx.warp.reduce_sum(scaled, width=width)]


@dataclass(frozen=True, slots=True)
class Largest(Statistic):
    """The largest of numbers that are not negative; NaN where one of them is NaN. A term is (x,).

    As integers such numbers have the same order, and NaN is above infinity.
    """

    count: int = 1

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        found = [m.zero() for _ in range(chains)]
        values = (term[0] for vector in vectors for term in vector.terms)
        for i, value in enumerate(values):
            found[i % chains] = larger(m, found[i % chains], value)
        return self.combine(m, [[one] for one in found])

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        level = [part[0] for part in parts]
        while len(level) > 1:
            odd = level[-1:] if len(level) % 2 else []
            level = [larger(m, level[i - 1], level[i]) for i in range(1, len(level), 2)] + odd
        return level

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        bits, whole = _bits(m, values[0]), m.dtype is f32 and width == WARP
        return [_number(m, ptx.warp.reduce_max(bits, width=width, redux=whole))]


def _halved(m: Math, values: list[Reg], width: int) -> list[Reg]:
    """The sums of several values over `width` neighbouring lanes, in each of them.

    In each round a lane of a pair goes on with one half of the values, and the other lane with the
    other one: of six values over 16 lanes there are 12 shuffles where one after the other takes 24.
    The sums are the same to the bit.
    """
    if width == 1:
        return values
    distance = width // 2
    if len(values) == 1:
        return _halved(m, [m.add(values[0], m.from_lane(values[0], distance))], distance)
    upper = (reg.from_(ptx.special.laneid(), u32) & distance) != 0
    pairs = list(zip(values[::2], values[1::2], strict=False))
    odd = values[2 * len(pairs) :]
    kept = [m.selp(b, a, upper) for a, b in pairs]
    given = [m.selp(a, b, upper) for a, b in pairs]
    half = [m.add(k, m.from_lane(g, distance)) for k, g in zip(kept, given, strict=True)]
    half += [m.add(value, m.from_lane(value, distance)) for value in odd]
    sums = _halved(m, half, distance)
    found: list[Reg] = []
    for mine in sums[: len(pairs)]:
        other = m.from_lane(mine, distance)
        found += [m.selp(other, mine, upper), m.selp(mine, other, upper)]
    return found + sums[len(pairs) :]


def larger(m: Math, a: Reg, b: Reg) -> Reg:
    """The larger of two numbers that are not negative, or NaN."""
    if m.dtype is f32:
        return ptx.inst.max.NaN.f32(a, b)
    return _number(m, ptx.inst.max.s64(_bits(m, a), _bits(m, b)))


def _bits(m: Math, value: Reg) -> Reg:
    """A number as an integer of its size, without the sign that NaN may have."""
    bits = reg.scalar(s32 if m.dtype is f32 else s64)
    ptx.inst[f"mov.b{m.dtype.bits}"](bits, value)
    return ptx.inst[f"and.b{m.dtype.bits}"](bits, bits, (1 << (m.dtype.bits - 1)) - 1)


def _number(m: Math, bits: Reg) -> Reg:
    return ptx.inst[f"mov.b{m.dtype.bits}"](reg.scalar(m.dtype), bits)


@dataclass(frozen=True, slots=True)
class Both(Statistic):
    """Two statistics. A term is one of the first, of `width` numbers, then one of the second."""

    first: Statistic
    width: int
    second: Statistic

    @property
    def count(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.first.count + self.second.count

    def neutral(self, number: int) -> float:
        if number < self.first.count:
            return self.first.neutral(number)
        return self.second.neutral(number - self.first.count)

    def of_thread(self, m: Math, vectors: Sequence[Terms], *, chains: int = 4) -> list[Reg]:
        found: list[list[Reg]] = []
        for vector in vectors:  # one after the other, so that few terms are in registers at once
            one, other = self._parted(vector)
            first = self.first.of_thread(m, [one], chains=chains)
            found.append([*first, *self.second.of_thread(m, [other], chains=chains)])
        return self.combine(m, found)

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        count = self.first.count
        return [
            *self.first.combine(m, [part[:count] for part in parts]),
            *self.second.combine(m, [part[count:] for part in parts]),
        ]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        count = self.first.count
        return [
            *self.first.over_warp(m, values[:count], width=width),
            *self.second.over_warp(m, values[count:], width=width),
        ]

    def _parted(self, vector: Terms) -> tuple[Terms, Terms]:
        terms = list(vector.terms)
        first, second = [term[: self.width] for term in terms], [t[self.width :] for t in terms]
        return Terms(first, vector.active), Terms(second, vector.active)


def finite(m: Math, maximum: Reg) -> Reg:
    """The maximum, or 0 where it is minus infinity, from which nothing can be subtracted."""
    none = ptx.inst[f"setp.eq.{m.dtype.name}"](maximum, -math.inf)
    return m.selp(0.0, maximum, none)


def _largest(m: Math, values: Sequence[Reg]) -> Reg:
    level = list(values)
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        level = [m.max(level[i - 1], level[i]) for i in range(1, len(level), 2)] + odd
    return level[0]
