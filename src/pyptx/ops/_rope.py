"""The kernel of rotary position embedding: pairs of elements are turned by position and frequency.

Pair i of a head of D elements is turned by the angle p b^(-2 i / D) of position p and base b: in
halves a pair is elements i and i + D / 2, interleaved it is 2 i and 2 i + 1. The gradient turns
back. (Su and others, RoFormer, 2021.)

An angle is a number of turns. Frequencies are turns as fractions of 2**64, so the product with a
position is exact but for whole turns, which fall away: angles of far positions lose no digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Final, NamedTuple

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg
from pyptx.ops._divide import THREAD_BITS, with_remainder
from pyptx.ops._parameters import with_parameters
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.partition import grid
from pyptx.ops.rowwise.vectors import PIECE, Vector, wide
from pyptx.types import DType, f32, f64, s32, s64, u32, u64

_OF_A_CTA: Final = 128
_TOGETHER: Final = 4
"""Heads of a thread whose loads are on their way at once."""

_TWO_PI: Final = Decimal("6.28318530717958647692528676655900576839433879875021164194988")
_WORD: Final = 2**32 - 1


@lru_cache(64)
def frequencies(base: float, size: int, dtype: DType = f32) -> tuple[tuple[int, ...], ...]:
    """Of each pair of a head of `size` elements the turns for each position, in words of 32 bits.

    They are a number of 2**-64 turns, the lower word first; in f64 another follows, below 2**63, of
    2**-127 turns: with a position of 31 bits an error of 2**-64 would be seen there.
    """
    with localcontext() as context:
        context.prec = 60
        root = Decimal(base).ln() * 2 / size
        every = [int((-root * i).exp() / _TWO_PI * 2**127) for i in range(size // 2)]
    parts = [(each >> 63, each & (2**63 - 1)) for each in every]
    kept = 2 if dtype is f64 else 1
    return tuple(
        tuple(word for part in both[:kept] for word in (part & _WORD, part >> 32)) for both in parts
    )


@dataclass(frozen=True)
class Rope:
    """Heads of `size` elements, `heads` of each array, all of type `dtype`."""

    dtype: DType
    size: int
    heads: tuple[int, ...]
    interleaved: bool
    back: bool
    """Whether pairs are turned back."""

    @property
    def name(self) -> str:
        return "rope_back" if self.back else "rope"

    @property
    def compute(self) -> DType:
        return f64 if self.dtype is f64 else f32

    @property
    def words(self) -> int:
        """Of 32 bits, of a frequency."""
        return 4 if self.dtype is f64 else 2

    @property
    def vector(self) -> Vector:
        """Neighbouring elements: of one half of a head, or of pairs."""
        run = self.size if self.interleaved else self.size // 2
        return Vector(self.dtype, math.gcd(run, PIECE // self.dtype.bytes), self.compute)

    @property
    def places(self) -> int:
        """Vectors of a head; of halves, of one of them: a thread has those of both."""
        run = self.size if self.interleaved else self.size // 2
        return run // self.vector.size


def cta_of(op: Rope) -> tuple[int, int, int]:
    """Threads of a token for one place, tokens of a CTA, and its threads."""
    lanes = max(1, min(max(op.heads), _OF_A_CTA // op.places))
    tokens = max(1, _OF_A_CTA // (op.places * lanes))
    return lanes, tokens, min(1024, -(-op.places * lanes * tokens // 32) * 32)


@lru_cache(256)
def kernel_of(op: Rope) -> Kernel:
    """positions[*B], `frequencies` and arrays[*B, heads, D] to the arrays, turned."""
    lanes, tokens, threads = cta_of(op)

    def program(*tensors: Tensor) -> None:
        Thread(op, tensors, lanes, tokens, threads).run()

    names = ["positions", "turns"]
    names += [f"{letter}{i}" for letter in "xy" for i in range(len(op.heads))]
    body = with_parameters(program, names, name=op.name, annotation=Tensor)
    tiles = tuple(Tile("*B", heads, op.size, op.dtype) for heads in op.heads)
    return kernel(
        in_specs=(Tile("*B", s32), Tile(op.size // 2, op.words, u32), *tiles),
        out_specs=tiles,
        grid=grid(lambda B: (ptx.cdiv(B, tokens), 1, 1)),
        block=(threads, 1, 1),
        arch="auto",
        parallel=("B",),
    )(body)


class Row(NamedTuple):
    """A thread's elements of an array: bytes from `base` to its first head of a token, and on."""

    base: Reg
    first: Reg
    step: int | Reg
    """Bytes from a head of the thread to its next."""

    def heads(self, ks: range) -> list[tuple[Reg, int]]:
        """The address and the offset of these heads of the thread."""
        first, step = self.base + self.first, self.step
        if isinstance(step, int):
            return [(first, k * step) for k in ks]
        return [(first + step * k if k else first, 0) for k in ks]


class Thread:
    """A thread has one place of the heads lane, lane + lanes, ... of a token."""

    def __init__(
        self, op: Rope, tensors: Sequence[Tensor], lanes: int, tokens: int, threads: int
    ) -> None:
        self.op, self.tensors, self.lanes = op, tensors, lanes
        self.tokens, self.threads = tokens, threads
        self.m = Math(op.compute)

    def run(self) -> None:
        op = self.op
        thread = reg.from_(ptx.special.tid.x(), u32)
        unit, first = with_remainder(thread, op.places, THREAD_BITS)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        own, self.head = with_remainder(unit, self.lanes, THREAD_BITS)
        token = ptx.inst.mad.lo.u32(cta, self.tokens, own)
        there = (token < self.total()) & (unit < self.tokens * self.lanes)
        self.pointers = ptx.global_ptrs(*self.tensors)
        step = self.threads // op.places  # places of one thread: of heads that are very long
        with ptx.if_(there):
            position = reg.scalar(s32)
            ptx.inst.ld.global_.s32(position, ptx.addr(self.pointers[0] + token * 4))
            self.position = ptx.inst.cvt.s64.s32(position)
            if step:
                self._place(token, first)
            else:
                place = reg.scalar(u32, init=first)
                with ptx.while_(lambda: place < op.places):
                    self._place(token, place)
                    place += self.threads

    def total(self) -> Reg:
        """The number of tokens."""
        return ptx.inst.cvt.u32.u64(self.tensors[0].shape[0])

    def _place(self, token: Reg, place: Reg) -> None:
        """Turn the thread's vectors of all its heads, at a place."""
        op, vector = self.op, self.op.vector
        pairs = vector.size // 2 if op.interleaved else vector.size
        turned = [self._turned(place * pairs, i) for i in range(pairs)]
        for i, heads in enumerate(op.heads):
            both = self.rows(i, token, place)
            each = -(-heads // self.lanes)
            for start in range(0, each, _TOGETHER):
                ks = range(start, min(each, start + _TOGETHER))
                self._heads([row.heads(ks) for row in both], heads, ks, turned)

    def rows(self, i: int, token: Reg, place: Reg) -> tuple[Row, Row]:
        """Where the thread reads the i-th array, and where it writes its result."""
        op = self.op
        row = token * op.heads[i] + wide(self.head)
        offset = (row * op.size + wide(place * op.vector.size)) * op.dtype.bytes
        step = self.lanes * op.size * op.dtype.bytes
        x, y = self.pointers[2 + i], self.pointers[2 + len(op.heads) + i]
        return Row(x, offset, step), Row(y, offset, step)

    def _heads(
        self,
        places: Sequence[Sequence[tuple[Reg, int]]],
        heads: int,
        ks: range,
        turned: list[tuple[Reg, Reg]],
    ) -> None:
        """Turn the thread's heads `ks`, of which `places` says where they are, and go to."""
        op, vector = self.op, self.op.vector
        parts = (0,) if op.interleaved else (0, op.size // 2 * op.dtype.bytes)
        there = [
            None if (k + 1) * self.lanes <= heads else self.head < heads - k * self.lanes
            for k in ks
        ]
        loaded = [
            [vector.load("global", x, offset + part, pred=ok) for part in parts]
            for (x, offset), ok in zip(places[0], there, strict=True)
        ]
        for (y, offset), ok, words in zip(places[1], there, loaded, strict=True):
            values = [value for each in words for value in vector.unpack(each)]
            found = self._rotated(values, turned)
            for i, part in enumerate(parts):
                packed = vector.pack(found[i * vector.size : (i + 1) * vector.size])
                vector.store("global", y, offset + part, packed, pred=ok)

    def _rotated(self, values: list[Reg], turned: list[tuple[Reg, Reg]]) -> list[Reg]:
        m, found = self.m, list(values)
        for i, (sine, cosine) in enumerate(turned):
            a, b = (2 * i, 2 * i + 1) if self.op.interleaved else (i, i + len(turned))
            minus = m.neg(sine)
            found[a] = m.fma(values[a], cosine, m.mul(values[b], minus))
            found[b] = m.fma(values[b], cosine, m.mul(values[a], sine))
        return found

    def _turned(self, first: Reg, i: int) -> tuple[Reg, Reg]:
        """The sine and cosine of the i-th pair after `first`."""
        size = 4 * self.op.words
        turn, place = reg.scalar(u64), self.pointers[1] + wide(first) * size
        ptx.inst.ld.global_.u64(turn, ptx.addr(place, size * i))
        angle = ptx.inst.mul.lo.s64(self.position, reg.from_(turn, s64))
        if self.op.dtype is f64:
            rest = reg.scalar(u64)
            ptx.inst.ld.global_.u64(rest, ptx.addr(place, size * i + 8))
            below = ptx.inst.mul.hi.s64(self.position, reg.from_(rest, s64))
            angle = ptx.inst.add.s64(angle, below << 1)
        sine, cosine = sine_and_cosine(self.m, angle)
        return (self.m.neg(sine) if self.op.back else sine), cosine


def sine_and_cosine(m: Math, angle: Reg) -> tuple[Reg, Reg]:
    """Of an angle in 2**-64 turns, s64: within 2e-7 in f32, 4e-16 in f64.

    Less the nearest quarter of a turn at most an eighth is left, of which series give both.
    """
    quarter = ptx.inst.add.s64(angle, 1 << 61) >> 62
    rest = ptx.inst.sub.s64(angle, quarter << 62)
    scale = math.tau / 2**64
    x = m.mul(ptx.inst[f"cvt.rn.{m.dtype.name}.s64"](rest), scale)
    terms = 4 if m.dtype is f32 else 8
    square = m.mul(x, x)
    sine = _series(m, square, [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, terms + 1)])
    cosine = _series(m, square, [(-1) ** n / math.factorial(2 * n) for n in range(1, terms + 1)])
    sine = m.fma(m.mul(sine, square), x, x)
    cosine = m.fma(cosine, square, 1.0)
    odd = (quarter & 1) != 0
    swapped = m.selp(cosine, sine, odd), m.selp(sine, cosine, odd)
    lower = (quarter & 2) != 0
    left = (ptx.inst.add.s64(quarter, 1) & 2) != 0
    return (
        m.selp(m.neg(swapped[0]), swapped[0], lower),
        m.selp(m.neg(swapped[1]), swapped[1], left),
    )


def _series(m: Math, x: Reg, coefficients: Sequence[float]) -> Reg:
    *rest, last = coefficients
    found = reg.scalar(m.dtype, init=last)
    for coefficient in reversed(rest):
        found = m.fma(found, x, coefficient)
    return found
