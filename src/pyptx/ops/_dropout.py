"""Dropout without a stored mask: random bits from a row's seeds and an element's column.

The generator is Philox-4x32 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC 2011): a block cipher of a counter of 128 bits, with a key of 64. Columns 8q to 8q + 7
of a row share the block of the counter (q, 0, 0, 0) with the row's seeds as the key; each has 16 of
its bits, from the lowest on. So the mask depends on nothing but seeds and columns, and a backward
pass draws it again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyptx import Reg, ptx, reg
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.operation import ROW, Operand, Scalars, Values
from pyptx.types import b32, s32, u32

ROUNDS: Final = 7
"""Rounds of dropout's generator: the fewest that pass BigCrush, by table 2 of the paper."""

MULTIPLIERS: Final = 0xD2511F53, 0xCD9E8D57
"""Of the words 0 and 2 of a block, in each round."""

STEPS: Final = 0x9E3779B9, 0xBB67AE85
"""What is added to the words of the key after each round."""

LEVELS: Final = 2**16
"""A rate is rounded to a multiple of one over this."""

COLUMNS: Final = 8
"""Columns that share a block: 16 bits each."""

_XOR_OF_THREE: Final = 0x96
"""The table of `lop3` (PTX ISA, Logic and Shift Instructions: lop3)."""


def level(rate: float) -> int:
    """How many of the 2**16 values of an element's bits drop it."""
    return round(rate * LEVELS)


def philox(counter: Sequence[Reg], key: Sequence[Reg], rounds: int = ROUNDS) -> list[Reg]:
    """The four words of a block, b32, of four words of a counter and two of a key, all u32."""
    words = list(counter)
    first, second = key
    for i in range(rounds):
        if i > 0:
            first, second = first + STEPS[0], second + STEPS[1]
        low, high = _product(words[0], MULTIPLIERS[0])
        other_low, other_high = _product(words[2], MULTIPLIERS[1])
        words = [
            ptx.inst.lop3.b32(other_high, words[1], first, _XOR_OF_THREE),
            other_low,
            ptx.inst.lop3.b32(high, words[3], second, _XOR_OF_THREE),
            low,
        ]
    return words


def _product(word: Reg, factor: int) -> tuple[Reg, Reg]:
    """The lower and upper halves of a product of 64 bits."""
    low, high = reg.scalar(u32), reg.scalar(u32)
    ptx.inst.mov.b64([low, high], ptx.inst.mul.wide.u32(reg.from_(word, u32), factor))
    return low, high


def words_of(key: Sequence[Reg], first: Reg, size: int, known: int) -> list[Reg]:
    """The bits of columns `first` to `first + size - 1`, two columns a word, b32.

    `first`, u32, is a multiple of `known`, a power of two. One block for each eight columns that
    may have any of them: one block where both `size` and `known` are 8.
    """
    known = min(known, COLUMNS)
    blocks = (COLUMNS - known + size - 1) // COLUMNS + 1
    words: list[Reg] = []
    for i in range(blocks):
        number = first >> 3
        zeros = [reg.scalar(u32, init=0) for _ in range(3)]
        words += philox([number + i if i else number, *zeros], key)
    needed = -(-size // 2)
    for distance in (4, 2):
        if known <= distance:
            words = _shifted(words, distance // 2, (first & distance) != 0, needed + distance // 2)
    if known == 1:
        by = (first & 1) << 4
        above = [*words[1:], words[-1]]
        pairs = zip(words, above, strict=True)
        words = [ptx.inst.shf.r.wrap.b32(low, high, by) for low, high in pairs]
    return words[:needed]


def _shifted(words: Sequence[Reg], by: int, pred: Reg, most: int) -> list[Reg]:
    """The words from the one at `by` on where `pred` holds; at most so many."""
    shifted = [
        ptx.inst.selp.b32(words[i + by], word, pred) if i + by < len(words) else word
        for i, word in enumerate(words)
    ]
    return shifted[:most]


@dataclass(frozen=True)
class Dropout:
    """x / (1 - rate) where an element is kept, 0 elsewhere, for rows of `columns` elements.

    An element is kept where its 16 bits are at least `level(rate)`, which is below 2**16. `inputs`
    are two seeds of each row, s32, that formulas read.
    """

    rate: float
    columns: int

    inputs = (Operand("seed_0", s32, ROW), Operand("seed_1", s32, ROW))

    @property
    def scale(self) -> float:
        """What kept elements are multiplied by."""
        return 1 / (1 - self.rate)

    def kept(self, m: Math, v: Values, row: Scalars, x: Reg) -> Reg:
        """x, or 0 where the element is dropped."""
        if level(self.rate) == 0:
            return x
        return m.selp(x, 0.0, self._keeps(v, row))

    def _keeps(self, v: Values, row: Scalars) -> Reg:
        """Whether the element is kept: a predicate."""

        def bits(first: Reg, size: int) -> list[Reg]:
            known = math.gcd(self.columns, size, COLUMNS)
            key = [reg.from_(seed, u32) for seed in (row.seed_0, row.seed_1)]
            words = words_of(key, first, size, known)
            return [self._at_the_top(words[i // 2], i % 2) for i in range(size)]

        return v.of_vector("dropout", bits) >= level(self.rate) << 16

    @staticmethod
    def _at_the_top(word: Reg, half: int) -> Reg:
        """A word whose upper half is that of the two in `word`, u32; the lower is anything."""
        if half:
            return reg.from_(word, u32)
        top = reg.scalar(b32)
        ptx.inst.shl.b32(top, word, 16)
        return reg.from_(top, u32)
