"""Swizzles: how 16-byte chunks of shared memory change places so that columns spread over banks.

Tensor copies write shared memory in these patterns, and matrix descriptors read it in the same.
Source: PTX ISA, "Tensors", "Swizzling Modes", and "Asynchronous Warpgroup Level Matrix Shared
Memory Layout".
"""

from __future__ import annotations

from enum import Enum
from typing import Final

CHUNK_BYTES: Final = 16
"""What a swizzle moves as a whole."""

LINE_BYTES: Final = 128
"""The line whose number, modulo the chunks of a span, says how chunks are moved."""


class Swizzle(Enum):
    """A swizzling mode; its value is the bits of a chunk's number that the line's number flips.

    Chunks of 16 bytes move only inside their span. Every pattern repeats itself after
    `atom_bytes`, counted from address 0 of the shared window and not from a buffer's first byte,
    so a buffer that begins at a multiple of `atom_bytes` has the pattern that its offsets say.
    """

    NONE = 0
    B32 = 1
    B64 = 2
    B128 = 3

    @property
    def span(self) -> int:
        """Bytes inside which chunks change places: 32, 64 or 128; 16, one chunk, for NONE."""
        return CHUNK_BYTES << self.value

    @property
    def atom_bytes(self) -> int:
        """Bytes after which the pattern repeats: 256, 512 or 1024; 128 for NONE.

        128 is what tensor copies ask of every address in shared memory.
        """
        return LINE_BYTES << self.value

    @property
    def mask(self) -> int:
        """The bits of a byte offset that are XORed onto the bits three places below them."""
        return ((1 << self.value) - 1) << 7

    def apply(self, offset: int) -> int:
        """Where the byte with this offset lies, in bytes; applying it twice gives `offset` back.

        `offset` counts from a multiple of `atom_bytes`. The bits of `mask` are XORed onto the bits
        three places below them. Any integer type with `^ & >>` goes, NumPy's arrays too.
        """
        return offset ^ ((offset & self.mask) >> 3)

    @classmethod
    def of_span(cls, span: int) -> Swizzle:
        """The mode that moves chunks inside `span` bytes. Raises ValueError for another number."""
        for mode in cls:
            if mode.span == span:
                return mode
        raise ValueError(f"a span of {span} bytes: spans are 16 (no swizzle), 32, 64 and 128 bytes")
