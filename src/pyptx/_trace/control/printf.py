"""`ptx.printf`: the format in a variable of the module, the values in local memory, and `vprintf`.

Source: CUDA C++ Programming Guide, "Formatted Output"; PTX ISA, "call".
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Final, SupportsIndex

from pyptx._isa import given, opcode_path
from pyptx._isa.table import spellings
from pyptx._operands import Address, Immediate, Register, Symbol
from pyptx._source import caller
from pyptx._trace.control.function import ExternFunc, call, returned
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.scope import DeviceFunction
from pyptx._trace.core.values import Not, Value, integer
from pyptx._trace.core.values import raw as operand
from pyptx._trace.memory.variables import ModuleVariable, argument, global_, local, param, used
from pyptx.errors import LanguageError
from pyptx.types import DTYPES, DType, b8, b32, b64, f64, pred, u64

_CONVERSION: Final = re.compile(
    r"%(?:%|[-+ #0]*(?P<width>\*|\d*)(?:\.\d*)?(?P<size>ll|[hl]?)(?P<kind>[cdiouxXpeEfFgGaAs]))"
)
_LEGAL: Final = "%% and %[-+ #0][width or *][.precision][h l ll] with one of cdiouxXpeEfFgGaAs"
_MOST: Final = 32  # values of one call, as CUDA has it
_WIDENED: Final = {  # conversions to what a format can name, one after the other
    "f32": ("f64",), "f16": ("f32", "f64"), "bf16": ("f32", "f64"),
    "s8": ("s32",), "s16": ("s32",), "u8": ("u32",), "u16": ("u32",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a part of a format takes: an integer of 32 or 64 bits, a float, an address."""

    text: str
    kind: str
    bits: int


def printf(text: str, /, *values: Value | Not | SupportsIndex | float) -> None:
    """Print from every thread that runs it, as CUDA's printf does: when the kernel has ended.

    `%d %i %u %x %X %o %c` take integers of up to 32 bits and with `l` or `ll` those of 64, `%f %e
    %g %a` floats, `%p` and `%s` addresses (generic, of a text that ends with a zero); a predicate
    is 0 or 1. Values are registers and numbers, at most 32. The device prints to standard output
    when the stream is synchronised, the emulator when the launch ends.

    Five instructions; with values two more, a store for each, and a conversion for each that is
    no integer of 32 or 64 bits and no f64 (two for f16 and bf16). Raises LanguageError where
    format and values do not fit.
    """
    trace = current("ptx.printf")
    wanted = _read(text)
    if len(wanted) != len(values):
        raise LanguageError(
            f"the format {text!r} takes {len(wanted)} values, not {len(values)}",
            location=caller(),
        )
    stored = [_stored(trace, part, value) for part, value in zip(wanted, values, strict=True)]
    given, buffer, status = argument(b64), argument(b64), argument(b32)
    format_ = trace.register(u64)
    trace.write("mov.u64", format_, Symbol(used(trace, _format(trace, text))))
    trace.write("cvta.global.u64", format_, format_)
    where = _buffer(trace, stored)
    pass_on = opcode_path.walk(spellings(), "st", ("param", "b64"))
    trace.emit(pass_on, [Address(given), format_], own=True)
    trace.emit(pass_on, [Address(buffer), where], own=True)
    call(_vprintf(trace), [given, buffer], [status])


# ---- the format ----------------------------------------------------------------------------------


def _read(text: str) -> list[_Wanted]:
    """What a format takes, in order. Raises LanguageError for what printf does not have."""
    found: list[_Wanted] = []
    at = text.find("%")
    while at >= 0:
        match = _CONVERSION.match(text, at)
        if match is None:
            raise LanguageError(
                f"printf has no conversion {text[at : at + 4]!r}",
                location=caller(),
                notes=(("legal", _LEGAL),),
            )
        if match["width"] == "*":
            found.append(_Wanted("*", "integer", 32))
        if match["kind"]:
            found.append(_wanted(match[0], match["kind"], match["size"]))
        at = text.find("%", match.end())
    if len(found) > _MOST or "\0" in text:
        more = f"takes {len(found)} values, and printf at most {_MOST}"
        problem = more if len(found) > _MOST else "has a zero, which is its end"
        raise LanguageError(f"the format {text!r} {problem}", location=caller())
    return found


def _wanted(text: str, kind: str, size: str) -> _Wanted:
    if kind in "eEfFgGaA":
        return _Wanted(text, "float", 64)
    if kind in "ps":
        return _Wanted(text, "address", 64)
    return _Wanted(text, "integer", 64 if "l" in size and kind != "c" else 32)


def _format(trace: Trace, text: str) -> ModuleVariable:
    """The variable of a format, one for each text of the module."""
    data = text.encode()
    names = trace.module.variables
    for declared, variable in names.values():
        if isinstance(declared, _Format) and variable.initial == data:
            return declared
    number = next(n for n in range(len(names) + 1) if f"printf_{n}" not in names)
    made = global_(b8, len(data) + 1, name=f"printf_{number}", init=data)
    return _Format(made.variable)


class _Format(ModuleVariable):
    """The variable of a format."""


def _vprintf(trace: Trace) -> ExternFunc:
    found: DeviceFunction | None = trace.module.functions.get("vprintf")
    return found if isinstance(found, ExternFunc) else _VPRINTF


def _declared() -> None:
    returned(b32, "status")
    param(b64, "format")
    param(b64, "values")


_VPRINTF: Final = ExternFunc(_declared, "vprintf", "extern", ())


# ---- the values ----------------------------------------------------------------------------------


def _stored(trace: Trace, wanted: _Wanted, value: object) -> tuple[int, Register | Immediate]:
    """A value as it is stored: its bits, and a register or a constant."""
    if isinstance(value, float) and wanted.kind == "float":
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        return 64, Immediate(bits, b64)
    whole = integer(value)
    if whole is not None and wanted.kind != "float":
        return wanted.bits, _constant(wanted, whole)
    if isinstance(value, Not | Value):
        return wanted.bits, _register(trace, wanted, value)
    raise _unfit(wanted, repr(value))


def _constant(wanted: _Wanted, value: int) -> Immediate:
    if not -(1 << wanted.bits - 1) <= value < 1 << wanted.bits:
        raise _unfit(wanted, str(value))
    return Immediate(value % (1 << wanted.bits), DTYPES[f"b{wanted.bits}"])


def _register(trace: Trace, wanted: _Wanted, value: Not | Value) -> Register:
    if isinstance(value, Not) or value.dtype is pred:
        return _predicate(trace, wanted, value)
    dtype = value.dtype
    for wider in _WIDENED.get(dtype.name, ()):
        dtype = DTYPES[wider]
    kinds = {"float": dtype is f64, "integer": _whole(dtype), "address": _whole(dtype)}
    if not kinds[wanted.kind] or dtype.bits != wanted.bits:
        raise _unfit(wanted, f"a .{value.dtype} register")
    return _widened(trace, value)


def _predicate(trace: Trace, wanted: _Wanted, value: Not | Value) -> Register:
    """1 where a predicate holds, 0 where it does not."""
    if (wanted.kind, wanted.bits) != ("integer", 32):
        raise _unfit(wanted, "a predicate")
    holds = (0, 1) if isinstance(value, Not) else (1, 0)
    made = trace.register(DTYPES["u32"])
    held = operand(trace, value.of if isinstance(value, Not) else value)
    trace.write("selp.u32", made, *map(given.Number, holds), held)
    return made


def _whole(dtype: DType) -> bool:
    return dtype.is_integer or (dtype.is_bits and dtype.bits >= 32)


def _widened(trace: Trace, value: Value) -> Register:
    """The register, or its value as one of 32 or 64 bits."""
    source, dtype = operand(trace, value), value.dtype
    if not isinstance(source, Register):  # a special register
        staged = trace.register(dtype)
        trace.write(f"mov.{dtype}", staged, source)
        source = staged
    for wider in _WIDENED.get(dtype.name, ()):
        made = trace.register(DTYPES[wider])
        trace.write(f"cvt.{wider}.{dtype}", made, source)
        source, dtype = made, made.dtype
    return source


def _buffer(
    trace: Trace, stored: list[tuple[int, Register | Immediate]]
) -> Register | given.Number:
    """The generic address of the values in local memory, each at a multiple of its size."""
    if not stored:
        return given.Number(0)
    offsets: list[int] = []
    end = 0
    for bits, _ in stored:
        offsets.append(-(-end // (bits // 8)) * (bits // 8))
        end = offsets[-1] + bits // 8
    memory = local(b8, end, align=8).variable
    for offset, (bits, value) in zip(offsets, stored, strict=True):
        raw = given.Number(value.bits) if isinstance(value, Immediate) else value
        trace.write(f"st.local.b{bits}", Address(memory, offset), raw)
    where = trace.register(u64)
    trace.write("mov.u64", where, Symbol(memory))
    trace.write("cvta.local.u64", where, where)
    return where


def _unfit(wanted: _Wanted, what: str) -> LanguageError:
    takes = {
        "integer": f"an integer of {wanted.bits} bits",
        "address": "an address of 64 bits",
        "float": "a float",
    }
    return LanguageError(
        f"{wanted.text} of printf takes {takes[wanted.kind]}, not {what}",
        location=caller(),
        notes=(("help", "%d is for 32 bits, %lld for 64, %f for floats, %p for addresses"),),
    )
