"""Which elements of a matrix a thread holds, and in which register.

Source: PTX ISA, the figures and formulas "Matrix Fragments for mma" of each shape, "Register
Fragments and Shared Memory Matrix Layouts" of wgmma, ldmatrix and stmatrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyptx._layouts.matrix import LayoutError

LANES: Final = 32
_GROUP: Final = 4  # lanes that share a row
_BLOCK: Final = 8  # rows, or columns, of what one register of a warp covers


@dataclass(frozen=True, slots=True)
class Fragment:
    """A matrix of `rows` by `columns` that `threads` threads hold in registers.

    A register has `per_register` neighbours, the first in its lowest bits. Blocks of 8 lines by
    4 * `per_register` positions are spread over a warp alike, a register for each block: lane l has
    line l / 4, positions from l % 4 * `per_register`. A line is a row, in a `transposed` fragment a
    column. Registers count blocks of lines first. The warps of a warpgroup have 16 rows each, one
    below the other.
    """

    rows: int
    columns: int
    per_register: int
    threads: int = LANES
    transposed: bool = False

    @property
    def registers(self) -> int:
        """Registers of each thread."""
        return self.rows * self.columns // (self.threads * self.per_register)

    def coordinates(self, thread: int, register: int) -> tuple[tuple[int, int], ...]:
        """The (row, column) of each element in a register of a thread, lowest bits first.

        Raises LayoutError for a thread or register that is not there.
        """
        if not (0 <= thread < self.threads and 0 <= register < self.registers):
            raise LayoutError(
                f"thread {thread}, register {register} is outside the fragment",
                f"{self.threads} threads of {self.registers} registers",
            )
        warp, lane = divmod(thread, LANES)
        lines = (self.columns if self.transposed else self.rows) * LANES // self.threads
        wide = _GROUP * self.per_register
        block, line = divmod(register, lines // _BLOCK)
        at = warp * lines + line * _BLOCK + lane // _GROUP
        first = block * wide + lane % _GROUP * self.per_register
        along = range(first, first + self.per_register)
        return tuple((p, at) if self.transposed else (at, p) for p in along)

    def holders(self) -> dict[tuple[int, int], tuple[int, int, int]]:
        """(row, column) to the thread, the register, and the place in it that hold it."""
        return {
            where: (thread, register, place)
            for thread, register in self._all()
            for place, where in enumerate(self.coordinates(thread, register))
        }

    def _all(self) -> Iterator[tuple[int, int]]:
        return ((t, r) for t in range(self.threads) for r in range(self.registers))


@dataclass(frozen=True, slots=True)
class Mma:
    """The fragments of an `mma.sync` shape: A (m by k), B (k by n), C and D (m by n)."""

    a: Fragment
    b: Fragment
    d: Fragment


def _register(bits: int) -> int:
    """Elements in a register: 32 bits' worth, one of 64 bits."""
    return max(1, 32 // bits)


def mma(m: int, n: int, k: int, *, bits: int, accumulator_bits: int = 32) -> Mma:
    """The fragments of m8n8 and m16n8 shapes with elements of `bits` bits.

    `accumulator_bits` is 16 where C and D are f16, 64 for f64. Of f16, m8n8k4 (Volta's) has other
    fragments and is a LayoutError, as is any other shape.
    """
    block = _GROUP * _register(bits)
    if m not in (8, 16) or n != _BLOCK or k % block or (m == 8 and bits == 16):
        raise LayoutError(
            f"no fragments of m{m}n{n}k{k} with elements of {bits} bits are known",
            f"m8n8 and m16n8 with k a multiple of {block}",
        )
    return Mma(
        Fragment(m, k, _register(bits)),
        Fragment(k, n, _register(bits), transposed=True),
        # C and D have two neighbours in two registers, or in one of f16x2
        _accumulators(m, n, accumulator_bits, LANES),
    )


def wgmma_a(*, bits: int) -> Fragment:
    """The fragment of A (64 rows, 32 bytes of K) in the registers of a warpgroup."""
    return Fragment(64, 256 // bits, _register(bits), threads=4 * LANES)


def wgmma_d(n: int, *, bits: int = 32) -> Fragment:
    """The accumulators of 64 by n values, of 32 bits or (f16, two in a register) of 16."""
    return _accumulators(64, n, bits, 4 * LANES)


def _accumulators(m: int, n: int, bits: int, threads: int) -> Fragment:
    if bits == 16:
        return Fragment(m, n, 2, threads=threads)
    return _Neighbours(m, n, 1, threads=threads)


@dataclass(frozen=True, slots=True)
class _Neighbours(Fragment):
    """Accumulators of 32 or 64 bits: two registers hold what one of f16x2 does."""

    def coordinates(self, thread: int, register: int) -> tuple[tuple[int, int], ...]:
        pairs = Fragment(self.rows, self.columns, 2, threads=self.threads)
        if not 0 <= register < self.registers:
            raise LayoutError(
                f"thread {thread}, register {register} is outside the fragment",
                f"{self.threads} threads of {self.registers} registers",
            )
        return (pairs.coordinates(thread, register // 2)[register % 2],)


def ldmatrix(number: int, *, trans: bool = False) -> Fragment:
    """What `ldmatrix.m8n8` gives of `number` matrices of 8 by 8 that stand below each other.

    Register i is of matrix i; its rows are at the addresses of lanes 8 i to 8 i + 7. With `trans`
    the matrices stand beside each other and a register has two values of one column. `stmatrix`
    has the same.
    """
    if number not in (1, 2, 4):
        raise LayoutError(f"ldmatrix has no .x{number}", "1 2 4")
    if trans:
        return Fragment(8, 8 * number, 2, transposed=True)
    return Fragment(8 * number, 8, 2)
