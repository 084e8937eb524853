"""Layouts as arithmetic on ints: where bytes lie in shared memory, and fragments in registers.

Nothing here traces a kernel or needs an array: programs print layouts, and tests check them.
"""

from pyptx._layouts import (
    Atomicity,
    Im2col,
    Interleave,
    L2Promotion,
    Layout,
    MapError,
    OobFill,
    Swizzle,
    TensorMap,
    fragments,
)
from pyptx._layouts.matrix import LayoutError, Major, MatrixLayout, Multiplicand

__all__ = [
    "Atomicity",
    "Im2col",
    "Interleave",
    "L2Promotion",
    "Layout",
    "LayoutError",
    "Major",
    "MapError",
    "MatrixLayout",
    "Multiplicand",
    "OobFill",
    "Swizzle",
    "TensorMap",
    "fragments",
]
