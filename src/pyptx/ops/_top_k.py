"""The kernel of the largest elements of a row: a CTA for a row, which finds one after the other.

Elements are compared as integers of the same order. Every thread knows the largest of its own; the
largest of all is written, and the thread that had it looks for its next one. A row is so read once,
and again only by threads whose elements were among the largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg, smem
from pyptx.device import WARP
from pyptx.ops.rowwise.partition import grid
from pyptx.ops.rowwise.vectors import PIECE, Vector, access, advance, power_of_two, wide
from pyptx.types import DType, b32, f16, f32, f64, s32, s64, u32, u64

MOST: Final = 64
"""The most elements that are found of a row."""

_NONE: Final = 2**32 - 1  # the index of no element, after all others


@dataclass(frozen=True)
class TopK:
    """The `k` largest of `columns` elements; with `index_only` their values are not written.

    Elements are ordered as `jax.lax.top_k` has it: -NaN, -inf, ..., -0, 0, ..., inf, NaN, and of
    equal ones the first comes first. With `index_only` every NaN is the largest, and -0 is 0, as in
    `jax.numpy.argmax`.
    """

    dtype: DType
    columns: int
    k: int
    index_only: bool = False

    @property
    def name(self) -> str:
        return "argmax" if self.index_only else "top_k"

    @property
    def vector(self) -> Vector:
        """So many neighbouring elements that rows are whole vectors."""
        size = math.gcd(self.columns, PIECE // self.dtype.bytes)
        return Vector(self.dtype, size, f64 if self.dtype is f64 else f32)

    @property
    def key(self) -> DType:
        """What elements are compared as."""
        return u64 if self.dtype is f64 else u32

    @property
    def threads(self) -> int:
        vectors = self.columns // self.vector.size
        return min(1024, max(WARP, power_of_two(-(-vectors // 4))))


@lru_cache(256)
def kernel_of(op: TopK) -> Kernel:
    """x[*B, N] to values[*B, k] and indices[*B, k], s32; of one element without the last axis."""
    each = (op.k,) if op.k > 1 else ()
    outputs = (Tile("*B", *each, op.dtype), Tile("*B", *each, s32))

    def top_k(X: Tensor, VALUES: Tensor, INDICES: Tensor) -> None:
        _Row(op, X, VALUES, INDICES).run()

    def argmax(X: Tensor, INDICES: Tensor) -> None:
        _Row(op, X, None, INDICES).run()

    return kernel(
        in_specs=(Tile("*B", op.columns, op.dtype),),
        out_specs=outputs[1:] if op.index_only else outputs,
        grid=grid(lambda B: (B, 1, 1)),
        block=(op.threads, 1, 1),
        arch="auto",
        parallel=("B",),
    )(argmax if op.index_only else top_k)


class _Row:
    """A CTA and its row. `best` is the largest of a thread's elements that are not written yet."""

    def __init__(self, op: TopK, x: Tensor, values: Tensor | None, indices: Tensor) -> None:
        self.op = op
        self.thread = reg.from_(ptx.special.tid.x(), u32)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        base, *outputs = ptx.global_ptrs(*(t for t in (x, values, indices) if t is not None))
        self.x = base + row * op.columns * op.dtype.bytes
        self.indices = outputs[-1] + row * (op.k * 4)
        self.values = None if values is None else outputs[0] + row * (op.k * op.dtype.bytes)
        self.best = reg.scalar(op.key, init=0)
        self.index = reg.scalar(u32, init=_NONE)

    def run(self) -> None:
        op, warps = self.op, self.op.threads // WARP
        self.keys = smem.alloc(op.key, (2, warps)) if warps > 1 else None
        self.places = smem.alloc(u32, (2, warps)) if warps > 1 else None
        self._look(None)
        if op.k == 1:
            self._write(*self._largest(reg.scalar(u32, init=0)))
            return
        count = reg.scalar(u32, init=0)
        with ptx.while_(lambda: count < op.k):
            key, index = self._largest(count & 1)
            self._write(key, index)
            with ptx.if_(self.index == index):
                self._look((key, index))
            advance(self.indices, 4)
            if self.values is not None:
                advance(self.values, op.dtype.bytes)
            count += 1

    def _write(self, key: Reg, index: Reg) -> None:
        """One thread writes the index, and the element as it is."""
        del key
        dtype = self.op.dtype
        with ptx.if_(self.thread == 0):
            ptx.inst.st.global_.u32(ptx.addr(self.indices), index)
            if self.values is not None:
                value, kind = reg.scalar(dtype), access(dtype)
                place = self.x + wide(index) * dtype.bytes
                ptx.inst[f"ld.global.{kind}"](value, ptx.addr(place))
                ptx.inst[f"st.global.{kind}"](ptx.addr(self.values), value)

    # ---- the largest element ---------------------------------------------------------------------

    def _look(self, last: tuple[Reg, Reg] | None) -> None:
        """Find the largest of the thread's elements, after `last` in order."""
        op, vector = self.op, self.op.vector
        if last is not None:
            ptx.inst[f"mov.{op.key.name}"](self.best, 0)
            ptx.inst.mov.u32(self.index, _NONE)
        column = reg.scalar(u32, init=self.thread)
        with ptx.while_(lambda: column < op.columns // vector.size):
            words = vector.load("global", self.x + wide(column) * vector.bytes)
            first = ptx.inst.mul.lo.u32(column, vector.size)
            for i, key in enumerate(self._keys(words)):
                index = first + i if i else first
                better = self._is_before(key, index, self.best, self.index)
                if last is not None:
                    better = better & self._is_before(*last, key, index)
                ptx.inst[f"mov.{op.key.name}"](self.best, key, pred=better)
                ptx.inst.mov.u32(self.index, index, pred=better)
            column += op.threads

    @staticmethod
    def _is_before(key: Reg, index: Reg, other: Reg, at: Reg) -> Reg:
        """Whether an element is larger, or equal and before."""
        return (key > other) | ((key == other) & (index < at))

    def _largest(self, half: Reg) -> tuple[Reg, Reg]:
        """The largest of the CTA, in each thread: its key and index."""
        key, index = reg.scalar(self.op.key, init=self.best), reg.scalar(u32, init=self.index)
        self._over_warp(key, index)
        if self.keys is None or self.places is None:
            return key, index
        warps, lane = self.op.threads // WARP, self.thread & (WARP - 1)
        with ptx.if_(lane == 0):
            self.keys[half, self.thread >> 5] = key
            self.places[half, self.thread >> 5] = index
        ptx.bar.sync(0)
        # Warps are a power of two, so lanes that read the same slot change nothing.
        slot = lane & (warps - 1)
        key, index = self.keys[half, slot], self.places[half, slot]
        self._over_warp(key, index)
        return key, index

    def _over_warp(self, key: Reg, index: Reg) -> None:
        for distance in (16, 8, 4, 2, 1):
            other, at = self._of_lane(key, distance), _shuffled(index, distance)
            better = self._is_before(other, at, key, index)
            ptx.inst[f"mov.{key.dtype.name}"](key, other, pred=better)
            ptx.inst.mov.u32(index, at, pred=better)

    @staticmethod
    def _of_lane(key: Reg, distance: int) -> Reg:
        if key.dtype is u32:
            return _shuffled(key, distance)
        halves, other = [reg.scalar(b32), reg.scalar(b32)], reg.scalar(u64)
        ptx.inst.mov.b64(halves, key)
        ptx.inst.mov.b64(other, [_shuffled(half, distance) for half in halves])
        return other

    # ---- elements as integers --------------------------------------------------------------------

    def _keys(self, words: Sequence[Reg]) -> list[Reg]:
        """Integers of the order of the elements in words as loaded."""
        return [self._key(bits) for word in words for bits in self._bits(word)]

    def _bits(self, word: Reg) -> list[Reg]:
        """The bits of elements, those of 16 in the upper half of 32."""
        dtype = self.op.dtype
        if dtype is f64:
            bits = reg.scalar(s64)
            ptx.inst.mov.b64(bits, word)
            return [bits]
        upper = reg.scalar(s32)
        if dtype.bytes == 2 and word.dtype is not b32:
            zero = reg.scalar(dtype, init=0)
            ptx.inst.mov.b32(upper, [zero, word])
            return [upper]
        ptx.inst.mov.b32(upper, word)
        if dtype is f32:
            return [upper]
        lower = reg.scalar(s32)
        ptx.inst.shl.b32(lower, word, 16)
        ptx.inst.and_.b32(upper, upper, 0xFFFF0000)
        return [lower, upper]

    def _key(self, bits: Reg) -> Reg:
        size = 64 if self.op.dtype is f64 else 32
        negative, key = bits >> (size - 1), reg.scalar(self.op.key)
        if self.op.index_only:
            negative, bits = self._as_number(bits, negative, size)
        ptx.inst[f"or.b{size}"](negative, negative, 1 << (size - 1))
        ptx.inst[f"xor.b{size}"](key, bits, negative)
        return key

    def _as_number(self, bits: Reg, negative: Reg, size: int) -> tuple[Reg, Reg]:
        """The same with -0 as 0, and every NaN as the last one of all."""
        infinity = {f64: 0x7FF << 52, f16: 0x7C00 << 16}.get(self.op.dtype, 0x7F80 << 16)
        without_sign = reg.scalar(bits.dtype)
        ptx.inst[f"and.b{size}"](without_sign, bits, (1 << (size - 1)) - 1)
        zero, nan = without_sign == 0, without_sign > infinity
        move = ptx.inst[f"mov.{bits.dtype.name}"]
        move(negative, 0, pred=zero | nan)
        move(bits, 0, pred=zero)
        move(bits, (1 << (size - 1)) - 1, pred=nan)
        return negative, bits


def _shuffled(value: Reg, distance: int) -> Reg:
    other = reg.scalar(value.dtype)
    ptx.inst.shfl.sync.bfly.b32(other, value, distance, WARP - 1, 0xFFFFFFFF)
    return other
