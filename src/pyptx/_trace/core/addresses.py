"""Addresses and positions in tensors, as operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from pyptx._isa.given import Number, RawScalar, TensorPosition
from pyptx._operands import Address, Immediate, Register, Symbol
from pyptx._source import caller
from pyptx._trace.core.context import Trace
from pyptx._trace.core.numbers import number
from pyptx._trace.core.values import Value, integer, kind, raw
from pyptx.errors import LanguageError
from pyptx.types import b64

_MOST_COORDINATES: Final = 5


def address(trace: Trace, base: object, offset: object = 0, *, unified: bool = False) -> Address:
    """`[base + offset]`; base is a register, shared memory, a variable or a number."""
    found = _address(trace, base, offset)
    return Address(found.base, found.offset, unified or found.unified)


def _address(trace: Trace, base: object, offset: object) -> Address:
    extra = integer(offset)
    if extra is None:
        add = (("help", "add a register to the base: ptx.addr(base + register)"),)
        raise LanguageError(
            f"the offset of an address is a Python integer, not {kind(offset)}",
            location=caller(),
            notes=add if isinstance(offset, Value) else (),
        )
    operand = raw(trace, base)
    if isinstance(operand, Register):
        return Address(operand, extra)
    if isinstance(operand, Address):
        return Address(operand.base, operand.offset + extra, operand.unified)
    if isinstance(operand, Symbol):
        return Address(operand.of, operand.offset + extra)
    if isinstance(operand, Number):
        return Address(Immediate(number(operand.value, b64), b64), extra)
    raise LanguageError(f"{kind(base)} cannot be the base of an address", location=caller())


def tensor_position(
    trace: Trace, tensor_map: object, coordinates: object, between: Sequence[object] = ()
) -> TensorPosition:
    """`[tensor_map, {x, y}]`; the coordinates are 32-bit registers and numbers."""
    given = raw(trace, coordinates)
    if not isinstance(given, tuple) or not 1 <= len(given) <= _MOST_COORDINATES:
        raise LanguageError(
            f"a position in a tensor has 1 to {_MOST_COORDINATES} coordinates, not {coordinates!r}",
            location=caller(),
            notes=(("help", "ptx.addr(tensor_map, [x, y])"),),
        )
    inside = (raw(trace, each) for each in between)
    return TensorPosition(
        address(trace, tensor_map),
        given,
        cast("tuple[RawScalar | tuple[RawScalar, ...], ...]", tuple(inside)),
    )
