"""`@kernel`, `@sequence` and `from_ptx`, and what a user holds of them."""

from pyptx._kernel.arguments import In, Out, Struct, Surface, Texture
from pyptx._kernel.entry import Kernel, kernel
from pyptx._kernel.foreign import ForeignKernel, from_ptx
from pyptx._kernel.operation import Operation
from pyptx._kernel.sequence import KernelSequence, cond, lowered_for, sequence

__all__ = [
    "ForeignKernel",
    "In",
    "Kernel",
    "KernelSequence",
    "Operation",
    "Out",
    "Struct",
    "Surface",
    "Texture",
    "cond",
    "from_ptx",
    "kernel",
    "lowered_for",
    "sequence",
]
