"""`ptx.mma`: multiplication by a warp, and its operands from shared memory.

Which element a thread holds is `layouts.fragments.mma`; `reg.mma_frag` makes registers. Source: PTX
ISA, "Multiply-and-Accumulate Instruction: mma", "Matrix Fragments for mma".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from pyptx._isa.special import SPECIAL
from pyptx._layouts import fragments
from pyptx._source import caller
from pyptx._trace.core.context import current
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Reg, Value, integer, own
from pyptx._trace.matrix.element_types import check_elements, remember
from pyptx._trace.matrix.fragments import FragmentArray
from pyptx._trace.matrix.matrix import ldmatrix
from pyptx._trace.memory.smem import SharedTile
from pyptx.errors import LanguageError
from pyptx.types import DType, b32, bf16, bf16x2, f16, f16x2, u32

Registers: TypeAlias = "RegArray | Sequence[Reg]"
_CHUNK_BYTES: Final = 16  # what the address of one lane is of


def sync(
    *,
    shape: tuple[int, int, int] | str,
    dtype_d: DType,
    dtype_a: DType | str,
    dtype_b: DType | str,
    dtype_c: DType,
    d: Registers,
    a: Registers,
    b: Registers,
    c: Registers,
    a_layout: str = "row",
    b_layout: str = "col",
) -> Registers:
    """D = A * B + C by all lanes of a warp; `d`, which may be `c`. One `mma.sync.aligned`.

    `shape` is (m, n, k) or "m16n8k16"; the registers are those of `reg.mma_frag`, or of `load_a`
    and `load_b`. "s4", "u4" and "b1" are types too (`ptx.inst.mma` has the single bits' `.xor`).
    Raises LanguageError where registers hold elements of another type than the one given for them.
    """
    trace = current("ptx.mma.sync")
    spelled = shape if isinstance(shape, str) else "m{}n{}k{}".format(*shape)
    types = f"{dtype_d}.{dtype_a}.{dtype_b}.{dtype_c}"
    operands = [tuple(own(trace, r) for r in registers) for registers in (d, a, b, c)]
    wanted = (("d", dtype_d), ("a", dtype_a), ("b", dtype_b), ("c", dtype_c))
    for (name, dtype), held in zip(wanted, operands, strict=True):
        check_elements(trace, name, held, dtype)
    trace.write(f"mma.sync.aligned.{spelled}.{a_layout}.{b_layout}.{types}", *operands)
    return d


def load_a(tile: SharedTile, row: int | Value = 0, column: int | Value = 0) -> FragmentArray:
    """A of m16: rows from `row` on, 32 bytes of K from `column` on, of a row-major tile (M, K).

    Four registers, with 16 values of K of 16 bits, 32 of 8, 8 of 32. `row` and `column` are ints or
    u32 registers, at a multiple of 16 bytes. One `ldmatrix`, and before it four instructions for
    the row and column of each lane, one `add` for `row` and for `column` where it is not 0, and
    those of `tile.address` with two registers.
    """
    lane = _lane("ptx.mma.load_a", tile)
    # The second of the four matrices has the next rows, the third the next 16 bytes.
    return _load(tile, lane & 15, lane >> 4, row, column)


def load_b(tile: SharedTile, column: int | Value = 0, k: int | Value = 0) -> FragmentArray:
    """B of two n8: 16 columns of B from `column` on, 32 bytes of K, of a tile (N, K).

    Four registers: [:2] are the fragment of the first 8 columns, [2:] that of the next 8. As
    `load_a`, with the rows of the tile as columns of B; eight instructions instead of four.
    """
    lane = _lane("ptx.mma.load_b", tile)
    # The second of the four matrices has the next 16 bytes, the third the next rows.
    rows = (lane & 7) + ((lane >> 4) << 3)
    return _load(tile, rows, (lane >> 3) & 1, column, k, transposed=True)


def _lane(what: str, tile: object) -> Reg:
    trace = current(what)
    if not isinstance(tile, SharedTile) or len(tile.shape) != 2:
        raise LanguageError(
            f"{what} takes shared memory with rows and columns, not {tile!r}",
            location=caller(),
            notes=(("help", 'smem.alloc(f16, (rows, 64), swizzle="128B")'),),
        )
    lane = Reg(trace, trace.register(u32))
    trace.write("mov.u32", lane.register, SPECIAL["laneid"].operand)
    return lane


def _load(
    tile: SharedTile,
    rows: Reg,
    chunk: Reg,
    row: int | Value,
    column: int | Value,
    *,
    transposed: bool = False,
) -> FragmentArray:
    values = _CHUNK_BYTES // tile.dtype.bytes
    along = chunk << (values.bit_length() - 1)
    where = tile.address(_plus(rows, row), _plus(along, column))
    held = fragments.mma(16, 8, 2 * values, bits=tile.dtype.bits)
    kind = {f16: f16x2, bf16: bf16x2}.get(tile.dtype, b32)
    registers = [Reg(rows.trace, rows.trace.register(kind)) for _ in range(4)]
    ldmatrix(src=where, dst=registers)
    remember(registers, tile.dtype, loaded=True)
    return FragmentArray(registers, held.b if transposed else held.a)


def _plus(place: Reg, first: int | Value) -> Reg:
    return place if integer(first) == 0 else place + first
