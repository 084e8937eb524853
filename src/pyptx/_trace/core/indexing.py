"""Addresses in shared memory that depend on an index in a register."""

from __future__ import annotations

from typing import Final

from pyptx._isa.given import Number, Raw
from pyptx._isa.scalar import conversion
from pyptx._layouts.matrix import MatrixLayout
from pyptx._operands import Register
from pyptx._source import caller
from pyptx._trace.core.context import Trace
from pyptx._trace.core.products import with_product
from pyptx._trace.core.values import Reg, Special, Value, move, own
from pyptx.errors import LanguageError
from pyptx.types import u32

_WHAT: Final = "shared memory"


def add_index(trace: Trace, base: Register, index: Value, step: int, what: str) -> Register:
    """`base + index * step` in a new register. One `mad.lo`; a special register costs a `mov` more.

    Raises LanguageError for an index that is not a 32-bit integer; `what` names what is indexed.
    """
    return add_register(trace, base, index_register(trace, index, what), step)


def add_register(trace: Trace, base: Register, index: Register, step: int) -> Register:
    """The same for a register of 32 bits."""
    return _written(trace, "mad.lo.u32", index, Number(step), base)


def index_register(trace: Trace, index: Value, what: str) -> Register:
    """The register of an index. One `mov` for a special register; LanguageError as above."""
    if index.dtype.bits != 32 or not (index.dtype.is_integer or index.dtype.is_bits):
        notes = (("help", conversion(u32, index.dtype)),)
        registers = (index.register,) if isinstance(index, Reg) else ()
        raise LanguageError(
            f"an index of {what} is a 32-bit integer, not .{index.dtype}",
            location=caller(),
            notes=with_product(trace.body, notes, registers),
        )
    if isinstance(index, Special):
        staged = Reg(trace, trace.register(index.dtype))
        move(staged, index)
        index = staged
    assert isinstance(index, Reg)
    return own(trace, index)


def add_swizzled(
    trace: Trace, base: Register, layout: MatrixLayout, row: int | Value, column: int | Value
) -> tuple[Register, int, dict[int, Register]]:
    """Where an element of a swizzled matrix at `base` lies: a register, and bytes beyond it.

    Also the registers of its row (0) and of its column (1); at least one of them is in one. Two to
    five instructions for a row, one to six for a column, at most nine for both.
    """
    span = layout.swizzle.span
    given: dict[int, Register] = {}
    if isinstance(column, Value):
        given[1] = index_register(trace, column, _WHAT)
        base, inside = _in_panel(trace, base, layout, given[1])
        offset = 0
    else:
        offset, inside = divmod(column * layout.element_bytes, span)
        offset *= layout.panel_bytes
    if isinstance(row, Value):
        given[0] = index = index_register(trace, row, _WHAT)
        addend = inside if isinstance(inside, Register) else Number(inside)
        line = _written(trace, "mad.lo.u32", index, Number(span), addend)
        here = xor_lines(trace, line, layout.swizzle.mask)
    else:
        offset += row * span
        assert isinstance(inside, Register)
        # All of a row lies in one line, whose number flips the same bits.
        flip = layout.swizzle.apply(row * span) - row * span
        here = _written(trace, "xor.b32", inside, Number(flip)) if flip else inside
    return _written(trace, "add.u32", base, here), offset, given


def _in_panel(
    trace: Trace, base: Register, layout: MatrixLayout, column: Register
) -> tuple[Register, Register]:
    """The address of the column's panel, and the bytes of the column in it."""
    byte, span = column, layout.swizzle.span
    if layout.element_bytes > 1:
        byte = _written(trace, "mul.lo.u32", column, Number(layout.element_bytes))
    if layout.row_bytes == span:
        return base, byte
    panel = _written(trace, "shr.u32", byte, Number(span.bit_length() - 1))
    base = _written(trace, "mad.lo.u32", panel, Number(layout.panel_bytes), base)
    return base, _written(trace, "and.b32", byte, Number(span - 1))


def xor_lines(trace: Trace, offset: Register, mask: int) -> Register:
    """`offset ^ ((offset & mask) >> 3)`, a swizzle. Three instructions, none for an empty mask."""
    if not mask:
        return offset
    lines = _written(trace, "and.b32", offset, Number(mask))
    lines = _written(trace, "shr.u32", lines, Number(3))
    return _written(trace, "xor.b32", offset, lines)


def _written(trace: Trace, spelling: str, *operands: Raw) -> Register:
    result = trace.register(u32)
    trace.write(spelling, result, *operands)
    return result
