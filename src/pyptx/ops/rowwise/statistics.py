"""What is reduced over a row: sums, or a maximum with the sum of exponentials.

A statistic is a few numbers. A thread makes them of its own elements, and they are combined over a
warp by shuffles and between warps and CTAs in a fixed order, so that a result is the same in every
run. Which numbers these are is all that the ways of moving rows do not know.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyptx import Reg, ptx
from pyptx.ops.rowwise.arithmetic import Math

Term: TypeAlias = "tuple[Reg, ...]"
"""What one element adds to a statistic, in the statistic's own form."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the elements of one vector add; `active` is whether the thread has it, None for yes."""

    terms: Sequence[Term]
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
        flat = [term for vector in vectors for term in vector.terms]
        return [
            m.products(((t[2 * i], t[2 * i + 1]) for t in flat), chains) for i in range(self.count)
        ]

    def combine(self, m: Math, parts: Sequence[Sequence[Reg]]) -> list[Reg]:
        return [m.total([part[i] for part in parts]) for i in range(self.count)]

    def over_warp(self, m: Math, values: list[Reg], *, width: int = 32) -> list[Reg]:
        del m
        return [ptx.warp.reduce_sum(value, width=width) for value in values]
