"""Vectors of neighbouring elements: 16 bytes an access, computed in f32 or f64, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyptx import Pred, Reg, device, ptx, reg
from pyptx.ops.rowwise import eight_bits
from pyptx.types import DType, b32, bf16, f16, f32, f64, s32

PIECE: Final = 16
"""Bytes of the widest access."""

BULK: Final = ("cp.async.bulk", "mbarrier.expect_tx")
"""Features of a device on which one thread copies a row, and an mbarrier counts its bytes."""

LINE: Final = 128
"""Bytes that memory moves at once between caches."""


AT_ONCE: Final = "relaxed.cta.global"
"""The space of loads that the assembler leaves in their order, and before a barrier.

It moves weak ones to where their registers are needed, also behind a reduction, so that each waits
for memory after the one before has come.
"""


def kept() -> tuple[str, list[Reg]]:
    """The qualifier and the operand of loads whose lines leave the L2 cache after all others.

    Lines that were written leave the cache early then, and in order; docs/rms_norm.md says what
    that does on an H200.
    """
    return ".L2::cache_hint", [ptx.inst["createpolicy.fractional.L2::evict_last.b64"](1.0)]


def bulk_load(to: object, source: object, size: int | Reg, arrived: object) -> None:
    """Copy `size` bytes of global to shared memory, counted by the mbarrier `arrived`."""
    hint, policy = kept()
    spelling = f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{hint}"
    ptx.inst[spelling](to, source, size, arrived, *policy)


def async_load(to: Reg, source: Reg, offset: int, size: int, *, pred: Pred | None) -> None:
    """Copy a thread's `size` bytes, 16 at a time, of global to shared memory: `cp.async`.

    Both are at `offset` from the addresses given. It is for devices without `bulk_load`.
    """
    assert size % PIECE == 0
    for first in range(offset, offset + size, PIECE):
        hint, policy = kept()
        copy = ptx.inst[f"cp.async.cg.shared.global{hint}"]
        copy(ptx.addr(to, first), ptx.addr(source, first), PIECE, *policy, pred=pred)


@dataclass(frozen=True, slots=True)
class Vector:
    """`size` neighbouring elements of `dtype`, which are computed with as `compute`.

    dtype is bf16, f16, f32 or f64; an element type of 8 bits can be stored only.
    """

    dtype: DType
    size: int
    compute: DType

    @property
    def bytes(self) -> int:
        return self.size * self.dtype.bytes

    @property
    def word(self) -> DType:
        """What one register holds as loaded: an element, or two of 16 bits, or up to four of 8."""
        if self.dtype.bytes == 1:
            return eight_bits.WORDS[min(self.size, eight_bits.MOST)]
        return b32 if self.dtype.bytes == 2 and self.size > 1 else self.dtype

    @property
    def words(self) -> int:
        return max(1, self.bytes // self.word.bytes)

    # ---- memory ----------------------------------------------------------------------------------

    def load(
        self,
        space: str,
        base: object,
        offset: int = 0,
        *,
        pred: Pred | None = None,
        pad: float = 0.0,
    ) -> list[Reg]:
        """The vector at `base + offset` bytes, as it lies there; one load for each 16 bytes.

        Where `pred` does not hold, all of its elements are `pad`.
        """
        init = None if pred is None else self._padding(pad)
        words = [reg.scalar(self.word, init=init) for _ in range(self.words)]
        outside = space.endswith("global")
        hint, policy = kept() if outside else ("", [])
        for first, piece in self._pieces(words):
            load = ptx.inst[f"ld.{space}{hint}{self._vector(piece)}"]
            load(_operand(piece), ptx.addr(base, offset + first), *policy, pred=pred)
        return words

    def gather(self, base: object, offset: int = 0, *, pred: Pred | None = None) -> list[Reg]:
        """The vector at an address that no vector access takes: one load for each element."""
        kind = access(self.dtype)
        elements = [reg.scalar(self.dtype, init=0) for _ in range(self.size)]
        for i, element in enumerate(elements):
            address = ptx.addr(base, offset + i * self.dtype.bytes)
            ptx.inst[f"ld.global.{kind}"](element, address, pred=pred)
        if self.word is not b32:
            return elements
        words = [reg.scalar(b32) for _ in range(self.words)]
        for i, word in enumerate(words):
            ptx.inst.mov.b32(word, elements[2 * i : 2 * i + 2])
        return words

    def store(
        self,
        space: str,
        base: object,
        offset: int,
        words: Sequence[Reg],
        *,
        pred: Pred | None = None,
    ) -> None:
        """The reverse of `load`."""
        for first, piece in self._pieces(words):
            store = ptx.inst[f"st.{space}{self._vector(piece)}"]
            store(ptx.addr(base, offset + first), _operand(piece), pred=pred)

    def _padding(self, pad: float) -> float:
        """What a word of such elements is; bits, where it holds two."""
        if self.word is not b32:
            return pad
        bits = constant(pad, self.dtype)
        return bits << 16 | bits

    def _pieces(self, words: Sequence[Reg]) -> list[tuple[int, Sequence[Reg]]]:
        each = min(PIECE // self.word.bytes, len(words))
        return [
            (first * self.word.bytes, words[first : first + each])
            for first in range(0, len(words), each)
        ]

    def _vector(self, piece: Sequence[Reg]) -> str:
        if self.bytes == 1:
            return ".b8"
        vector = f".v{len(piece)}" if len(piece) > 1 else ""
        return f"{vector}.{access(self.word)}"

    # ---- values ----------------------------------------------------------------------------------

    def unpack(self, words: Sequence[Reg]) -> list[Reg]:
        """The elements, in registers of the type to compute with."""
        if self.word is not b32:
            return [convert(word, self.compute) for word in words]
        return [value for word in words for value in self._two(word)]

    def _two(self, word: Reg) -> list[Reg]:
        if self.dtype is bf16:
            # A bf16 is the upper half of the f32 of the same value.
            low, high = reg.scalar(f32), reg.scalar(f32)
            ptx.inst.shl.b32(low, word, 16)
            ptx.inst.and_.b32(high, word, 0xFFFF0000)
            return [convert(low, self.compute), convert(high, self.compute)]
        halves = [reg.scalar(self.dtype), reg.scalar(self.dtype)]
        ptx.inst.mov.b32(halves, word)
        return [convert(half, self.compute) for half in halves]

    def pack(self, values: Sequence[Reg]) -> list[Reg]:
        """Words of the values, each rounded to nearest even; to 8 bits, saturated."""
        if self.dtype.bytes == 1:
            each = min(self.size, eight_bits.MOST)
            wide = [in_f32(value) for value in values]
            parts = range(0, len(wide), each)
            return [eight_bits.pack(wide[i : i + each], self.dtype) for i in parts]
        if self.word is not b32:
            return [convert(value, self.dtype) for value in values]
        return [self._one(*values[i : i + 2]) for i in range(0, len(values), 2)]

    def _one(self, low: Reg, high: Reg) -> Reg:
        word = reg.scalar(b32)
        if self.compute is f32:
            ptx.inst[f"cvt.rn.{self.dtype.name}x2.f32"](word, high, low)
        else:
            ptx.inst.mov.b32(word, [convert(low, self.dtype), convert(high, self.dtype)])
        return word


def load_one(
    dtype: DType,
    compute: DType,
    base: object,
    *,
    pred: Pred | None,
    pad: float = 0.0,
    space: str = "global",
) -> Reg:
    """One element of global memory as a value to compute with; `pad` where `pred` does not hold."""
    value = reg.scalar(dtype)
    load_into(value, base, pred=pred, pad=pad, space=space)
    return convert(value, compute)


def load_into(
    value: Reg, base: object, *, pred: Pred | None, pad: float = 0.0, space: str = "global"
) -> None:
    """One element of global memory into a register of its type; `pad` where not `pred`."""
    if pred is not None:
        bits = value.dtype.storage != value.dtype.name
        number = int(pad) if value.dtype is s32 else pad
        start = constant(pad, value.dtype) if bits else number
        ptx.inst[f"mov.{access(value.dtype)}"](value, start)
    ptx.inst[f"ld.{space}.{access(value.dtype)}"](value, ptx.addr(base), pred=pred)


def store_one(dtype: DType, base: object, value: Reg, *, pred: Pred | None = None) -> None:
    """One value to global memory, rounded to nearest even, where `pred` holds."""
    if dtype.bytes == 1:
        ptx.inst.st.global_.b8(ptx.addr(base), eight_bits.pack([in_f32(value)], dtype), pred=pred)
        return
    rounded = convert(value, dtype)
    ptx.inst[f"st.global.{access(dtype)}"](ptx.addr(base), rounded, pred=pred)


def convert(value: Reg, dtype: DType) -> Reg:
    """A value in another type: exact to a wider one, rounded to nearest even to a narrower one."""
    if value.dtype is dtype:
        return value
    if {value.dtype, dtype} == {bf16, f64} and not device.of(ptx.target()).has("cvt.bf16.f64"):
        return convert(convert(value, f32) if dtype is f64 else _rounded_to_odd(value), dtype)
    rounding = ".rn" if dtype.bits < value.dtype.bits else ""
    return ptx.inst[f"cvt{rounding}.{dtype.name}.{value.dtype.name}"](value)


def rounded(value: Reg, dtype: DType) -> Reg:
    """The nearest number of a type, in the type that the value has."""
    if value.dtype is f32 and dtype is bf16:
        # With zero below it a bf16 is the f32 of the same value. Conversions of a pair are made
        # as fast as sums, and those of one number at a fraction of that.
        found = reg.scalar(f32)
        ptx.inst.mov.b32(found, ptx.inst.cvt.rn.bf16x2.f32(value, 0.0))
        return found
    return convert(convert(value, dtype), value.dtype)


def in_f32(value: Reg) -> Reg:
    """A value as f32, such that what it is rounded to next is what one rounding would give."""
    return value if value.dtype is f32 else _rounded_to_odd(value)


def _rounded_to_odd(value: Reg) -> Reg:
    """An f64 as f32: cut off, and the last bit set if that has lost something. Six instructions.

    Rounded once more, to so much less, it is what one rounding would have given (Boldo and
    Melquiond, Emulation of FMA and Correctly Rounded Sums, 2008).
    """
    cut = ptx.inst.cvt.rz.f32.f64(value)
    lost = ptx.inst.setp.neu.f64(ptx.inst.cvt.f64.f32(cut), value)
    bits = reg.scalar(b32)
    ptx.inst.mov.b32(bits, cut)
    ptx.inst.or_.b32(bits, bits, 1, pred=lost)
    ptx.inst.mov.b32(cut, bits)
    return cut


def constant(value: float, dtype: DType) -> int:
    """The bits of a number that a type of 16 bits has exactly.

    NumPy has no bf16 before a package registers it, and kernels are made without one.
    """
    if dtype is f16:
        return int(np.float16(value).view(np.uint16))
    assert dtype is bf16
    return int(np.float32(value).view(np.uint32)) >> 16


def access(dtype: DType) -> str:
    """The type of loads and stores: 16-bit floats move as bits."""
    return dtype.name if dtype.storage == dtype.name else f"b{dtype.bits}"


def _operand(piece: Sequence[Reg]) -> object:
    return list(piece) if len(piece) > 1 else piece[0]


def wide(value: Reg) -> Reg:
    """A u32 index as u64. One `cvt`."""
    return ptx.inst.cvt.u64.u32(value)


def advance(pointer: Reg, distance: int | Reg) -> None:
    """Move an address on by that many bytes, in place. One `add`."""
    pointer += distance


def rounded_up(value: int, step: int = LINE) -> int:
    """The next multiple of `step`."""
    return -(-value // step) * step


def power_of_two(value: int) -> int:
    """The next power of two."""
    return 1 << (value - 1).bit_length()
