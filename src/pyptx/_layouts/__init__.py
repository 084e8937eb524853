"""Layouts as arithmetic: where bytes lie in shared memory. No tracing, no arrays."""

from pyptx._layouts.swizzle import Swizzle
from pyptx._layouts.tensor_map import (
    Atomicity,
    Im2col,
    Interleave,
    L2Promotion,
    Layout,
    MapError,
    OobFill,
    TensorMap,
)

__all__ = [
    "Atomicity",
    "Im2col",
    "Interleave",
    "L2Promotion",
    "Layout",
    "MapError",
    "OobFill",
    "Swizzle",
    "TensorMap",
]
