"""Addresses in shared memory that depend on an index in a register."""

from __future__ import annotations

from pyptx.errors import LanguageError
from pyptx.isa.check import Number, conversion
from pyptx.operands import Register
from pyptx.source import caller
from pyptx.trace.context import Trace
from pyptx.trace.values import Reg, Special, Value, move, own
from pyptx.types import u32


def add_index(trace: Trace, base: Register, index: Value, step: int, what: str) -> Register:
    """`base + index * step` in a new register. One `mad.lo`; a special register costs a `mov` more.

    Raises LanguageError for an index that is not a 32-bit integer; `what` names what is indexed.
    """
    if index.dtype.bits != 32 or not (index.dtype.is_integer or index.dtype.is_bits):
        raise LanguageError(
            f"an index of {what} is a 32-bit integer, not .{index.dtype}",
            location=caller(),
            notes=(("help", conversion(u32, index.dtype)),),
        )
    if isinstance(index, Special):
        staged = Reg(trace, trace.register(index.dtype))
        move(staged, index)
        index = staged
    assert isinstance(index, Reg)
    total = trace.register(u32)
    trace.write("mad.lo.u32", total, own(trace, index), Number(step), base)
    return total
