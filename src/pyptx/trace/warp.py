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


def reduce_sum(value: Reg) -> Reg:
    """Sum over the warp, in place, in every lane.

    32-bit and packed types: 10 instructions, five `shfl.sync.bfly` and five `add`. 64-bit types:
    25, as each round moves two halves (unpack, two shuffles, pack, add). 16-bit floats: 20. All 32
    lanes take part.
    """
    return _reduce("sum", value)


def reduce_max(value: Reg) -> Reg:
    """Maximum over the warp, in place, in every lane; instruction counts as for `reduce_sum`."""
    return _reduce("max", value)


def reduce_min(value: Reg) -> Reg:
    """Minimum over the warp, in place, in every lane; instruction counts as for `reduce_sum`."""
    return _reduce("min", value)


def _reduce(operation: str, value: Reg) -> Reg:
    trace = current(f"ptx.warp.reduce_{operation}")
    if not isinstance(value, Reg):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LanguageError(
            f"ptx.warp.reduce_{operation} takes a register that it writes, not {value!r}",
            location=caller(),
        )
    register = own(trace, value)
    spelling = _spelling(operation, value)
    for distance in (16, 8, 4, 2, 1):
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
