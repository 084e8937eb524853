"""`reg`: registers of the kernel that is being traced."""

from __future__ import annotations

from typing import Final

from pyptx._source import caller
from pyptx._trace.core.context import current
from pyptx._trace.core.mistakes import unknown_name
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Reg, checked_dtype, integer, move
from pyptx._trace.matrix.fragments import mma_frag, wgmma_frag
from pyptx.errors import LanguageError
from pyptx.types import DType

_MOST: Final = 2**20  # a thread has 255; what is more goes to local memory, slowly
__all__ = ["array", "from_", "mma_frag", "scalar", "undefined", "wgmma_frag"]


def scalar(dtype: DType, init: object = None, name: str | None = None) -> Reg:
    """A new register. `init` is a number or a register and costs one `mov`.

    Numbers become exact immediates of the register's type; both halves of a packed type get it.
    `name` is for the reader: in PTX registers are numbered.
    """
    del name
    trace = current("reg.scalar")
    register = Reg(trace, trace.register(checked_dtype(dtype)))
    if init is not None:
        move(register, init)
    return register


def undefined(dtype: DType) -> Reg:
    """A new register that may be read before it is set; its value is then unspecified.

    Compilers leave such reads where the value does not matter. No instruction. In other registers
    a read of what nothing has set is an error.
    """
    trace = current("reg.undefined")
    register = trace.register(checked_dtype(dtype))
    trace.undefined.add(register.index)
    return Reg(trace, register)


def array(dtype: DType, count: int, name: str | None = None) -> RegArray:
    """`count` new registers; `a[i]` is a register and `a[i] = v` one `mov`."""
    del name
    trace = current("reg.array")
    checked_dtype(dtype)
    number = integer(count)
    if number is None or not 1 <= number <= _MOST:
        raise LanguageError(
            f"an array needs 1 to {_MOST} registers, not {count!r}", location=caller()
        )
    return RegArray([Reg(trace, trace.register(dtype)) for _ in range(number)])


def from_(source: object, dtype: DType) -> Reg:
    """A new register holding `source`: a register, a special register or a number. One `mov`."""
    return scalar(dtype, init=source)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)


globals()["__getattr__"] = unknown_name("reg", __name__)
