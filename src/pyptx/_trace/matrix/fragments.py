"""Fragments: the part of a matrix that a thread holds in registers, and which part that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx._isa.given import Number
from pyptx._layouts import fragments
from pyptx._layouts.fragments import Fragment
from pyptx._operands import Register
from pyptx._source import caller
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.indexing import index_register
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Reg, Value, integer
from pyptx._trace.matrix.element_types import remember
from pyptx._trace.memory.layout import layout_errors
from pyptx.errors import LanguageError
from pyptx.types import DType, b32, bf16, bf16x2, f16, f16x2, f32, f64, s32, u32

_WARPGROUP_ROWS: Final = 64
_PACKED: Final = {f16: f16x2, bf16: bf16x2, f64: f64}


class FragmentArray(RegArray):
    """The registers of a fragment; `fragment` says which elements they are.

    Register `i` of a thread holds the elements of register 0, moved by `step(i)` rows and columns,
    so an epilogue takes `origin` once and adds Python ints.
    """

    def __init__(self, registers: Sequence[Reg], fragment: Fragment) -> None:
        super().__init__(registers)
        self.fragment = fragment

    def step(self, register: int) -> tuple[int, int]:
        """Rows and columns from the first element of register 0 to that of this one; ints.

        The same in all threads. Raises LanguageError beyond the last register.
        """
        with layout_errors():
            row, column = self.fragment.coordinates(0, register)[0]
        return row, column

    def origin(self, thread: Value) -> tuple[Reg, Reg]:
        """The row and column (u32) of the first element that a thread holds.

        `thread` is its number in the warp, or in the warpgroup, a 32-bit register or special
        register; of a larger number the low bits count. Three instructions, four where a lane's
        neighbours are more than one element apart, two more for a warpgroup; a `mov` more for a
        special register.

        """
        trace = current("a fragment")
        source = index_register(trace, thread, "a fragment")
        number = _new(trace, "and.b32", source, self.fragment.threads - 1)
        line = _new(trace, "shr.u32", number, 2)
        if self.fragment.threads > fragments.LANES:
            # A warp's eight lines are followed by the other eight of its rows.
            warp = _new(trace, "shr.u32", number, 5)
            further = trace.register(u32)
            trace.write("mad.lo.u32", further, warp, Number(8), line)
            line = further
        along = _new(trace, "and.b32", number, 3)
        pair = self.fragment.coordinates(1, 0)[0]
        step = pair[0] if self.fragment.transposed else pair[1]
        if step > 1:
            along = _new(trace, "shl.b32", along, step.bit_length() - 1)
        found = (along, line) if self.fragment.transposed else (line, along)
        return Reg(trace, found[0]), Reg(trace, found[1])


def _new(trace: Trace, spelling: str, source: Register, number: int) -> Register:
    result = trace.register(u32)
    trace.write(spelling, result, source, Number(number))
    return result


def wgmma_frag(*, m: int = 64, n: int, dtype: DType, name: str | None = None) -> FragmentArray:
    """Accumulators of a warpgroup for `m` by `n` values: m * n / 128 registers a thread.

    `dtype` is f32 or s32, or f16, two in each of half as many f16x2 registers. Beyond 64 rows,
    block after block of 64: `d[: len(d) // 2]` are the first 64 of 128. No instruction.

    Of 64 rows, register i of thread t of the warpgroup holds row 16 * (t / 32) + t % 32 / 4 +
    8 * (i / 2 % 2), column 8 * (i / 4) + 2 * (t % 4) + i % 2 (PTX ISA, "wgmma", "Register Fragments
    for D"); of f16, registers i are pairs: row ... + 8 * (i % 2), columns 8 * (i / 2) + 2 * (t % 4)
    and the next.
    """
    del name
    rows, columns = integer(m), integer(n)
    whole = rows is not None and rows > 0 and rows % _WARPGROUP_ROWS == 0
    if not whole or columns is None or columns not in range(8, 257, 8):
        raise LanguageError(
            f"wgmma has no accumulators of {m!r} by {n!r}",
            location=caller(),
            notes=(("legal", "m a multiple of 64; n 8 to 256 in steps of 8"),),
        )
    if dtype not in (f32, s32, f16):
        raise LanguageError(
            f"wgmma does not accumulate in .{dtype}",
            location=caller(),
            notes=(("legal", ".f32 .s32 .f16"),),
        )
    held = fragments.wgmma_d(columns, bits=dtype.bits)
    return _registers(held, f16x2 if dtype is f16 else dtype, (rows or 0) // _WARPGROUP_ROWS)


def mma_frag(operand: str, *, shape: tuple[int, int, int], dtype: DType) -> FragmentArray:
    """Registers of a warp for operand "a", "b", "c" or "d" of `mma.sync` of (m, n, k) `shape`.

    `dtype` is that of the elements: f16 and bf16 are two in a register of f16x2 or bf16x2, f32, s32
    and f64 one in a register, other types 32 bits in a register of b32. No instruction.
    """
    if operand not in ("a", "b", "c", "d"):
        raise LanguageError(
            f"mma has no operand {operand!r}",
            location=caller(),
            notes=(("legal", '"a" "b" "c" "d"'),),
        )
    with layout_errors():
        held = fragments.mma(*shape, bits=dtype.bits, accumulator_bits=dtype.bits)
    if operand in ("c", "d"):
        return _registers(held.d, f16x2 if dtype is f16 else dtype, 1)
    made = _registers(held.a if operand == "a" else held.b, _PACKED.get(dtype, b32), 1)
    remember(list(made), dtype)
    return made


def _registers(held: Fragment, dtype: DType, blocks: int) -> FragmentArray:
    trace = current("a fragment")
    made = [Reg(trace, trace.register(dtype)) for _ in range(held.registers * blocks)]
    return FragmentArray(made, held)
