"""`@kernel` and `@sequence`, and what a user holds of them."""

from pyptx.kernel.entry import Kernel, kernel
from pyptx.kernel.operation import Operation
from pyptx.kernel.sequence import KernelSequence, sequence

__all__ = ["Kernel", "KernelSequence", "Operation", "kernel", "sequence"]
