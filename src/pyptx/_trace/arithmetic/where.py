"""`ptx.where`: one of two values by a predicate."""

from __future__ import annotations

from typing import SupportsFloat, cast

from pyptx._isa.given import Number, Raw
from pyptx._isa.scalar import conversion
from pyptx._source import caller
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.numbers import is_number, number
from pyptx._trace.core.products import with_product
from pyptx._trace.core.values import Not, Numeric, Reg, integer, needed_guard, own
from pyptx.errors import LanguageError
from pyptx.types import DTYPES, DType, pred


def where(predicate: Reg | Not, a: Reg | Numeric, b: Reg | Numeric) -> Reg:
    """`a` in the threads where `predicate` holds, `b` in the others. One `selp`, a new register.

    Both are registers of one type of 16, 32 or 64 bits, packed types too, or one of them a number;
    of packed types a number is in both halves. 16-bit floats and packed types move as bits.
    """
    trace = current("ptx.where")
    holds = needed_guard(trace, predicate)
    if holds.negated:
        a, b = b, a
    dtype = _type(a, b)
    result = trace.register(dtype)
    plain = dtype.storage == dtype.name
    first, second = (_source(trace, each, dtype, plain=plain) for each in (a, b))
    spelling = f"selp.{dtype if plain else DTYPES[f'b{dtype.bits}']}"
    trace.write(spelling, result, first, second, holds.register)
    return Reg(trace, result)


def _type(a: object, b: object) -> DType:
    """The one type of both values."""
    for each in (a, b):
        if not isinstance(each, Reg) and not is_number(each):
            raise LanguageError(
                f"ptx.where takes registers and numbers, not {each!r}", location=caller()
            )
    types = {each.dtype for each in (a, b) if isinstance(each, Reg)}
    if len(types) != 1:
        names = " and ".join(sorted(f".{t}" for t in types))
        raise LanguageError(
            f"ptx.where chooses between {names or 'two numbers'}; one type is needed",
            location=caller(),
            notes=with_product(
                current("ptx.where").body,
                (("help", _one_type(a, b)),),
                [each.register for each in (a, b) if isinstance(each, Reg)],
            ),
        )
    (dtype,) = types
    if dtype is pred or dtype.bits not in (16, 32, 64):
        raise LanguageError(
            f"PTX has no selp for .{dtype}",
            location=caller(),
            notes=(
                ("help", "(p & a) | (~p & b)")
                if dtype is pred
                else ("legal", "registers of 16, 32 and 64 bits"),
            ),
        )
    return dtype


def _one_type(a: object, b: object) -> str:
    """How to write the choice with one type."""
    if isinstance(a, Reg) and isinstance(b, Reg):
        return conversion(a.dtype, b.dtype)
    whole = integer(a), integer(b)
    if None not in whole:
        return f"name the type: ptx.inst.selp.s32({whole[0]}, {whole[1]}, p)"
    first, second = (float(cast("SupportsFloat", each)) for each in (a, b))
    return f"name the type: ptx.inst.selp.f32({first!r}, {second!r}, p)"


def _source(trace: Trace, value: object, dtype: DType, *, plain: bool) -> Raw:
    if isinstance(value, Reg):
        return own(trace, value)
    if plain:
        number(value, dtype)
        return Number(value)  # pyright: ignore[reportArgumentType]
    if dtype.name in ("f16x2", "bf16x2"):
        half = number(value, DTYPES[dtype.name.removesuffix("x2")])
        return Number(half << 16 | half)
    return Number(number(value, dtype))
