"""The factors of a product before it is launched: their types, how they are in memory, in parts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from pyptx.ops.tensor_core.epilogue import Epilogue
from pyptx.ops.tensor_core.shape import Blocks, Major, Spread
from pyptx.types import DType, bf16, e4m3, e5m2, f16, f32, s8, u8

DTYPES: Final[dict[str, DType]] = {str(dtype.numpy): dtype for dtype in (bf16, f16, f32)}
FLOAT8: Final[dict[str, DType]] = {
    "float8_e4m3fn": e4m3,
    "float8_e5m2": e5m2,
}
INT8: Final[dict[str, DType]] = {"int8": s8, "uint8": u8}
EIGHT_BITS: Final = FLOAT8 | INT8
"""Types whose kernels take both factors with K last in memory."""
KINDS: Final = DTYPES | EIGHT_BITS
ALIGNED: Final = 16
"""Bytes that rows are a multiple of, as copies to shared memory ask for."""
SPLIT: Final = ((2, 0), (1, 1), (0, 2), (1, 0), (0, 1), (0, 0))
"""Which parts of two f32 numbers are multiplied, the smallest products first: the three of 24 bits
each but for the products that are below the last bit of a sum."""
_PARTS: Final = {"bfloat16": 1, "float16": 2, "float32": 3}
"""How many bf16 numbers have all bits of one of a type."""

Factor: TypeAlias = Literal["a", "b", "g"]


@dataclass(frozen=True, slots=True)
class Call:
    """How A and B are in memory (`Product`), the type of D, the epilogue, block scales, tf32.

    `spread` is the dimension that is several axes: those before the last one of A, or of a batch.
    """

    a_major: Major
    b_major: Major
    out: DType
    epilogue: Epilogue | None = None
    blocks: Blocks | None = None
    tf32: bool = False
    """Whether f32 numbers are rounded to tf32 for one product, not split for several."""

    spread: Spread | None = None

    @property
    def results(self) -> tuple[DType, ...]:
        """The types of all results."""
        return (self.out, *(() if self.epilogue is None else self.epilogue.results))

    def sizes(self, a: Any, b: Any) -> tuple[Any, Any, Any]:
        """M, N, K."""
        m, k = a.shape[-2:] if self.a_major == "K" else a.shape[:-3:-1]
        if self.spread in ("M", "K"):
            every = math.prod(a.shape[:-1])
            m, k = (every, k) if self.spread == "M" else (m, every)
        return m, b.shape[-2] if self.b_major == "K" else b.shape[-1], k


@dataclass(frozen=True, slots=True)
class Derivative:
    """The product that is the cotangent of a factor: how its factors are in memory, and which."""

    majors: tuple[Major, Major]
    factors: tuple[Factor, Factor]


def part_pairs(a: str, b: str) -> tuple[tuple[int, int], ...]:
    """Those of SPLIT for elements of these types; none where a kernel multiplies them as they are.

    A number of 16 bits has fewer parts: f32 by bf16 are three products, f32 by f16 five.
    """
    if a not in _PARTS or (a == b and _PARTS[a] < len(_PARTS)):
        return ()
    return tuple((i, j) for i, j in SPLIT if i < _PARTS[a] and j < _PARTS[b])


def derivatives(a_major: Major, b_major: Major) -> tuple[Derivative, Derivative]:
    """Those of A and of B, for a cotangent g (M, N) of their product; each in its factor's memory.

    In memory B's other dimension is N: what was MN-major is K-major where N is summed over.
    """
    turned: Major = "MN" if b_major == "K" else "K"
    other: Major = "MN" if a_major == "K" else "K"
    of_a = Derivative(("K", turned), ("g", "b"))  # g by B's transpose
    if a_major != "K":
        of_a = Derivative((turned, "K"), ("b", "g"))  # B by g's transpose
    of_b = Derivative((other, "MN"), ("a", "g"))  # A's transpose by g
    if b_major != "MN":
        of_b = Derivative(("MN", other), ("g", "a"))  # g's transpose by A
    return of_a, of_b
