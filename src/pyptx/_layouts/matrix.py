"""Matrices in shared memory as tensor copies write them and tensor cores read them.

A matrix is cut along its contiguous dimension into panels as wide as the swizzle's span, and one
panel lies behind the other, row by row. A panel is what one tensor copy writes whose box is as wide
as the span. Without a swizzle panels are 16 bytes wide, columns of the manual's core matrices.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout" (strides, canonical
layouts) and, with the same contents, "tcgen05 Shared Memory Layout and Swizzling".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from pyptx._layouts.swizzle import CHUNK_BYTES, Swizzle

CORE_ROWS: Final = 8
"""Rows of a core matrix, and of a swizzle's atom."""

STEP_BYTES: Final = 32
"""What one instruction reads along K: 16 values of 16 bits, 8 of 32, 32 of 8, 256 of one."""


class LayoutError(ValueError):
    """A layout, or a place in one, that breaks a rule; `legal` says what the rule allows."""

    def __init__(self, problem: str, legal: str = "") -> None:
        super().__init__(problem)
        self.legal = legal


class Major(Enum):
    """Which dimension of a multiplicand is contiguous: K, or the other one (M of A, N of B)."""

    K = "K"
    MN = "MN"


@dataclass(frozen=True, slots=True)
class MatrixLayout:
    """`rows` by `columns` values of `element_bytes`; columns are next to each other.

    Rows are a multiple of 8, and a row's bytes a multiple of the swizzle's span. The first byte
    lies at a multiple of `align`. Raises LayoutError.
    """

    rows: int
    columns: int
    element_bytes: int
    swizzle: Swizzle = Swizzle.NONE

    def __post_init__(self) -> None:
        if self.rows % CORE_ROWS:
            raise LayoutError(
                f"a matrix of {self.rows} rows: a swizzle's atom has {CORE_ROWS}",
                f"a multiple of {CORE_ROWS}",
            )
        if self.row_bytes % self.swizzle.span:
            raise LayoutError(
                f"rows of {self.row_bytes} bytes do not divide into panels of "
                f"{self.swizzle.span} bytes ({self.swizzle})",
                _dividing(self.row_bytes),
            )

    @classmethod
    def widest(cls, rows: int, columns: int, element_bytes: int) -> MatrixLayout:
        """The layout with the widest swizzle that divides a row. Raises LayoutError."""
        for swizzle in reversed(Swizzle):
            if columns * element_bytes % swizzle.span == 0:
                return cls(rows, columns, element_bytes, swizzle)
        return cls(rows, columns, element_bytes)

    @property
    def row_bytes(self) -> int:
        """Bytes of the elements of a row."""
        return self.columns * self.element_bytes

    @property
    def panel_bytes(self) -> int:
        """Bytes of a panel, which is the distance between panels."""
        return self.rows * self.swizzle.span

    @property
    def panel_columns(self) -> int:
        """Values in a row of a panel."""
        return self.swizzle.span // self.element_bytes

    @property
    def bytes(self) -> int:
        """Bytes of all elements."""
        return self.rows * self.row_bytes

    @property
    def align(self) -> int:
        """What the first byte's address is a multiple of, so that offsets say the pattern."""
        return self.swizzle.atom_bytes

    def offset(self, row: int, column: int) -> int:
        """Where the value in this row and column lies, in bytes. NumPy's arrays go too."""
        byte = column * self.element_bytes
        inside = row * self.swizzle.span + byte % self.swizzle.span
        return byte // self.swizzle.span * self.panel_bytes + self.swizzle.apply(inside)


@dataclass(frozen=True, slots=True)
class Multiplicand:
    """A matrix as a tensor core reads it: its layout, and which of its dimensions K is.

    With Major.K rows are M or N and columns K; with Major.MN rows are K and columns M or N.
    """

    layout: MatrixLayout
    major: Major = Major.K

    @property
    def k(self) -> int:
        """Elements along K, the dimension that products are summed over."""
        return self.layout.columns if self.major is Major.K else self.layout.rows

    @property
    def mn(self) -> int:
        """Elements along the other dimension: rows of A, or columns of B."""
        return self.layout.rows if self.major is Major.K else self.layout.columns

    @property
    def leading_bytes(self) -> int:
        """The leading dimension byte offset of the canonical layout.

        K-major: from one 16-byte column of core matrices to the next, and 16 (which stands for 1)
        with a swizzle, where it is not used. MN-major: from one panel to the next, and without a
        swizzle from 8 values of K to the next 8.
        """
        swizzled = self.layout.swizzle is not Swizzle.NONE
        if self.major is Major.K:
            return CHUNK_BYTES if swizzled else self.layout.panel_bytes
        return self.layout.panel_bytes if swizzled else CORE_ROWS * CHUNK_BYTES

    @property
    def stride_bytes(self) -> int:
        """The stride dimension byte offset of the canonical layout.

        From 8 rows to the next 8; in an MN-major layout without a swizzle from panel to panel.
        """
        if self.major is Major.MN and self.layout.swizzle is Swizzle.NONE:
            return self.layout.panel_bytes
        return CORE_ROWS * self.layout.swizzle.span

    def advance(self, *, k: int = 0, mn: int = 0) -> int:
        """Bytes from the first value to where an instruction may begin, at this K and M or N.

        `k` is a multiple of 32 bytes' worth of values; `mn` of 8, and in an MN-major layout of a
        panel's columns. Raises LayoutError.
        """
        self._check("k", k, self.k, self.k_step)
        self._check("mn", mn, self.mn, self.mn_step)
        row, column = (mn, k) if self.major is Major.K else (k, mn)
        byte = column * self.layout.element_bytes
        span = self.layout.swizzle.span
        # Inside a span the hardware swizzles what it adds to the first address: no bit is flipped.
        return byte // span * self.layout.panel_bytes + byte % span + row * span

    @property
    def k_step(self) -> int:
        """Values of K that one instruction reads."""
        return STEP_BYTES // self.layout.element_bytes

    @property
    def mn_step(self) -> int:
        """A multiple of this many values of M or N is where an instruction may begin."""
        return CORE_ROWS if self.major is Major.K else self.layout.panel_columns

    @property
    def mn_bytes(self) -> int:
        """Bytes from one value of M or N to the next, where only multiples of `mn_step` are."""
        if self.major is Major.K:
            return self.layout.swizzle.span
        return self.layout.rows * self.layout.element_bytes

    def _check(self, name: str, value: int, extent: int, step: int) -> None:
        if value % step or not 0 <= value < extent:
            raise LayoutError(
                f"an instruction cannot begin at {name}={value} of {extent}",
                f"multiples of {step} below {extent}",
            )


def _dividing(row_bytes: int) -> str:
    fits = [str(s) for s in Swizzle if row_bytes % s.span == 0]
    return " ".join(fits) if fits else f"rows of a multiple of {CHUNK_BYTES} bytes"
