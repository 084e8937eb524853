"""`ptx.warp`: reductions over the 32 lanes of a warp by butterfly shuffles."""

from __future__ import annotations

from typing import Final

from pyptx.errors import LanguageError
from pyptx.isa.check import Number
from pyptx.operands import Register
from pyptx.source import caller
from pyptx.trace.context import Trace, current
from pyptx.trace.values import Reg, Value, own
from pyptx.types import b32

_FULL: Final = Number(0xFFFFFFFF)
_LAST_LANE: Final = Number(0x1F)
_OPERATIONS: Final = {
    "sum": {"int": "add.T", "float": "add.rn.T"},
    "max": {"int": "max.T", "float": "max.T"},
    "min": {"int": "min.T", "float": "min.T"},
}


def reduce_sum(value: Reg, *, width: int = 32) -> Reg:
    """Sum over the warp, in place, in every lane; over each `width` neighbours where that is less.

    32-bit and packed types: 10 instructions, five `shfl.sync.bfly` and five `add`. 64-bit types:
    25, as each round moves two halves (unpack, two shuffles, pack, add). 16-bit floats: 20. All 32
    lanes take part. `width` is a power of two up to 32; each halving saves a round.
    """
    return _reduce("sum", value, width)


def reduce_max(value: Reg, *, width: int = 32) -> Reg:
    """Maximum over the warp, in place, in every lane; instruction counts as for `reduce_sum`."""
    return _reduce("max", value, width)


def reduce_min(value: Reg, *, width: int = 32) -> Reg:
    """Minimum over the warp, in place, in every lane; instruction counts as for `reduce_sum`."""
    return _reduce("min", value, width)


def _reduce(operation: str, value: Reg, width: int) -> Reg:
    trace = current(f"ptx.warp.reduce_{operation}")
    if not isinstance(value, Reg):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LanguageError(
            f"ptx.warp.reduce_{operation} takes a register that it writes, not {value!r}",
            location=caller(),
        )
    register = own(trace, value)
    spelling = _spelling(operation, value)
    if width not in (32, 16, 8, 4, 2):
        raise LanguageError(
            f"width={width!r} is not a number of lanes that a reduction has",
            location=caller(),
            notes=(("legal", "2 4 8 16 32"),),
        )
    for distance in (d for d in (16, 8, 4, 2, 1) if d < width):
        other = _SHUFFLES[register.dtype.bits](trace, register, distance)
        trace.write(spelling, register, register, other)
    return value


def _spelling(operation: str, value: Value) -> str:
    dtype = value.dtype
    if dtype.is_integer and dtype.bits in (32, 64):
        return _OPERATIONS[operation]["int"].replace("T", dtype.name)
    if dtype.name in ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2"):
        return _OPERATIONS[operation]["float"].replace("T", dtype.name)
    raise LanguageError(
        f"ptx.warp.reduce_{operation} has no instruction for .{dtype}",
        location=caller(),
        notes=(("legal", "u32 s32 u64 s64 f16 bf16 f32 f64 f16x2 bf16x2"),),
    )


def _shuffle32(trace: Trace, register: Register, distance: int) -> Register:
    other = trace.register(register.dtype)
    _shuffle(trace, other, register, distance)
    return other


def _shuffle(trace: Trace, to: Register, source: Register, distance: int) -> None:
    trace.write("shfl.sync.bfly.b32", to, source, Number(distance), _LAST_LANE, _FULL)


def _shuffle64(trace: Trace, register: Register, distance: int) -> Register:
    halves = trace.register(b32), trace.register(b32)
    trace.write("mov.b64", halves, register)
    for half in halves:
        _shuffle(trace, half, half, distance)
    other = trace.register(register.dtype)
    trace.write("mov.b64", other, halves)
    return other


def _shuffle16(trace: Trace, register: Register, distance: int) -> Register:
    wide = trace.register(b32)
    trace.write("mov.b32", wide, (register, register))
    _shuffle(trace, wide, wide, distance)
    other, rest = trace.register(register.dtype), trace.register(register.dtype)
    trace.write("mov.b32", (other, rest), wide)
    return other


_SHUFFLES: Final = {16: _shuffle16, 32: _shuffle32, 64: _shuffle64}
