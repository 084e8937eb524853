"""Values for memory of a type: which registers it takes, and numbers as its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pyptx._isa.constants import BadConstantError, exact_bits
from pyptx._isa.scalar import conversion
from pyptx._operands import Register
from pyptx._source import caller
from pyptx._trace.core.context import Trace
from pyptx._trace.core.products import with_product
from pyptx._trace.core.values import Reg, Special, Value, move, own
from pyptx.errors import LanguageError
from pyptx.types import DTYPES, DType

Cure: TypeAlias = Callable[[DType], str]


def stored(trace: Trace, holder: str, kind: DType, value: object, cure: Cure) -> Register:
    """The register that a store into memory of type `kind` reads. One `mov` for a number.

    `holder` says what holds that type: "Y holds". `cure` says how to store a register of another.
    """
    if not isinstance(value, Value):
        # `mov` has no 8 bits: a number is in a register of 16, whose low 8 bits are stored.
        narrow = kind.bits == 8
        scratch = Reg(trace, trace.register(DTYPES["b16"] if narrow else kind))
        move(scratch, _bits(holder, kind, value) if narrow else value)
        return scratch.register
    if isinstance(value, Special):
        copied = Reg(trace, trace.register(value.dtype))
        move(copied, value)
        value = copied
    assert isinstance(value, Reg)
    source = own(trace, value)
    if not _holds(kind, source.dtype):
        notes = (("help", cure(source.dtype)),)
        raise LanguageError(
            f"{holder} .{kind}, and the value is .{source.dtype}",
            location=caller(),
            notes=with_product(trace.body, notes, [source]),
        )
    return source


def cure(kind: DType, source: DType, packed: Callable[[str, DType], str]) -> str:
    """How a register of another type is stored; `packed` spells a store of several numbers."""
    if source.is_packed and element_of(source) is kind:
        return f"{packed('v', source)} stores all its numbers"
    if kind.is_float and kind.bits == 8 and source.name == "f32":
        pair = DTYPES[f"{kind}x2"]
        return f"two at once: {packed(f'ptx.from_f32([a, b], {pair})', pair)}"
    return conversion(kind, source)


def element_of(packed: DType) -> DType | None:
    """The type of the elements of a packed one."""
    return DTYPES.get(packed.name.rpartition("x")[0])


def _holds(kind: DType, source: DType) -> bool:
    """Whether memory of a type takes a register of another without changing what it means."""
    if source is kind:
        return True
    if source.bits == kind.bits:
        if source.is_bits or (source.is_integer and kind.is_integer):
            return True
        # Untyped memory, and f32 whose low bits an instruction of .tf32 ignores.
        return kind.is_bits or (kind.name, source.name) == ("tf32", "f32")
    # PTX stores the low bits of a wider register, which is how 8-bit values are held.
    return kind.bits == 8 and source.bits in (16, 32) and (source.is_integer or source.is_bits)


def _bits(holder: str, kind: DType, value: object) -> int:
    """The bits of a number in a type of 8. Raises LanguageError for one that it lacks."""
    try:
        return exact_bits(value, kind)
    except BadConstantError as error:
        raise LanguageError(f"{holder} .{kind}: {error}", location=caller()) from None
