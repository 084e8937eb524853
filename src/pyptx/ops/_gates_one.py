"""The kernels of gated activations whose two inputs are in one array, in halves or interleaved.

Rows of 2 n elements hold a and b of act(a) b: in halves a is the first n elements, interleaved a
is elements 0, 2, ... The gradient writes da and db where a and b are, in one pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg
from pyptx.ops._divide import CTA_BITS, THREAD_BITS, with_remainder
from pyptx.ops._gates import Activation, activated, derivative, is_narrow
from pyptx.ops._parameters import with_parameters
from pyptx.ops.rowwise.arithmetic import Math
from pyptx.ops.rowwise.partition import grid
from pyptx.ops.rowwise.vectors import PIECE, Vector, wide
from pyptx.types import DType, f32, f64, u32

_OF_A_CTA: Final = 256


@dataclass(frozen=True)
class GateOfOne:
    """y[*B, n] of x[*B, 2 n]; with `gradient` dx[*B, 2 n] of x and g[*B, n]; all of `dtype`."""

    activation: Activation
    dtype: DType
    columns: int
    """n."""
    interleaved: bool
    gradient: bool = False

    @property
    def name(self) -> str:
        layout = "interleaved" if self.interleaved else "halves"
        return f"{self.activation}_gate_of_{layout}{'_gradient' if self.gradient else ''}"

    @property
    def compute(self) -> DType:
        return f64 if self.dtype is f64 else f32

    @property
    def vector(self) -> Vector:
        """What a thread has of y: as wide as an access where n is a multiple of that."""
        size = math.gcd(self.columns, PIECE // self.dtype.bytes)
        return Vector(self.dtype, size, self.compute)

    @property
    def places(self) -> int:
        """Vectors of a row of y."""
        return self.columns // self.vector.size


@lru_cache(256)
def kernel_of(op: GateOfOne) -> Kernel:
    """The kernel; a CTA has several short rows, or a part of a long one."""
    rows = max(1, _OF_A_CTA // op.places)
    threads = min(_OF_A_CTA, -(-op.places * rows // 32) * 32)
    ctas = -(-op.places // threads)

    def program(*tensors: Tensor) -> None:
        _Thread(op, tensors, rows, threads, ctas).run()

    names = ["x", "g", "dx"] if op.gradient else ["x", "y"]
    body = with_parameters(program, names, name=op.name, annotation=Tensor)
    both, one = Tile("*B", 2 * op.columns, op.dtype), Tile("*B", op.columns, op.dtype)
    return kernel(
        in_specs=(both, one) if op.gradient else (both,),
        out_specs=(both,) if op.gradient else (one,),
        grid=grid(lambda B: (ptx.cdiv(B, rows) * ctas, 1, 1)),
        block=(threads, 1, 1),
        arch="auto",
        parallel=("B",),
    )(body)


class _Thread:
    """A thread has one vector of a row of y, and the two of x that it is made from."""

    def __init__(
        self, op: GateOfOne, tensors: Sequence[Tensor], rows: int, threads: int, ctas: int
    ) -> None:
        self.op, self.tensors = op, tensors
        self.rows, self.threads, self.ctas = rows, threads, ctas
        self.m = Math(op.compute)

    def run(self) -> None:
        op = self.op
        thread = reg.from_(ptx.special.tid.x(), u32)
        cta = reg.from_(ptx.special.ctaid.x(), u32)
        total = ptx.inst.cvt.u32.u64(self.tensors[0].shape[0])
        if self.ctas > 1:
            row, part = with_remainder(cta, self.ctas, CTA_BITS)
            place = ptx.inst.mad.lo.u32(part, self.threads, thread)
            there = place < op.places
        else:
            own, place = with_remainder(thread, op.places, THREAD_BITS)
            row = ptx.inst.mad.lo.u32(cta, self.rows, own)
            there = (row < total) & (thread < op.places * self.rows)
        pointers = ptx.global_ptrs(*self.tensors)
        size, stride = op.dtype.bytes, op.columns * op.dtype.bytes
        of_one = row * stride + wide(place * (op.vector.size * size))
        along = op.vector.size * size * (2 if op.interleaved else 1)
        of_both = row * (2 * stride) + wide(place * along)
        with ptx.if_(there):
            values = self._load(pointers[0] + of_both)
            if op.gradient:
                words = op.vector.load("global", pointers[1] + of_one, 0)
                cotangents = op.vector.unpack(words)
                pairs = [self._gradient(*v, g) for v, g in zip(values, cotangents, strict=True)]
                self._store(pointers[2] + of_both, pairs)
            else:
                found = [self._result(*v) for v in values]
                op.vector.store("global", pointers[1] + of_one, 0, op.vector.pack(found))

    def _result(self, a: Reg, b: Reg) -> Reg:
        narrow = is_narrow(self.op.dtype)
        return self.m.mul(activated(self.m, self.op.activation, a, narrow=narrow), b)

    def _gradient(self, a: Reg, b: Reg, g: Reg) -> tuple[Reg, Reg]:
        m = self.m
        value, slope = derivative(m, self.op.activation, a, narrow=is_narrow(self.op.dtype))
        return m.mul(m.mul(g, b), slope), m.mul(g, value)

    @property
    def _parts(self) -> tuple[Vector, tuple[int, ...]]:
        """How the thread's elements of x lie: vectors, and their offsets in bytes."""
        op = self.op
        if op.interleaved:
            return Vector(op.dtype, 2 * op.vector.size, op.compute), (0,)
        return op.vector, (0, op.columns * op.dtype.bytes)

    def _load(self, base: Reg) -> list[tuple[Reg, Reg]]:
        vector, offsets = self._parts
        loaded = [vector.load("global", base, offset) for offset in offsets]
        values = [vector.unpack(words) for words in loaded]
        if self.op.interleaved:
            return list(zip(values[0][::2], values[0][1::2], strict=True))
        return list(zip(*values, strict=True))

    def _store(self, base: Reg, pairs: Sequence[tuple[Reg, Reg]]) -> None:
        vector, offsets = self._parts
        parts = [list(part) for part in zip(*pairs, strict=True)]
        if self.op.interleaved:
            parts = [[value for pair in pairs for value in pair]]
        for offset, part in zip(offsets, parts, strict=True):
            vector.store("global", base, offset, vector.pack(part))
