"""Layouts as arithmetic: where bytes lie in shared memory. No tracing, no arrays."""

from pyptx.layouts.swizzle import Swizzle

__all__ = ["Swizzle"]
