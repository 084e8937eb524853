"""`@kernel`, and what a user holds of it."""

from pyptx.kernel.entry import Kernel, kernel
from pyptx.kernel.operation import Operation

__all__ = ["Kernel", "Operation", "kernel"]
