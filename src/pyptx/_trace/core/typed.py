"""Frequent instructions as functions of types: `ptx.add(u32, d, a, b)`.

For code that is written by code, where a spelling would have to be put together: the types are
values of `pyptx.types`. One instruction each; a destination that is None is a new register, and the
destination is what comes back. `ptx.inst` has every instruction.
"""

from __future__ import annotations

from typing import Any

from pyptx._operands import Register
from pyptx._trace.core.context import current, spelled
from pyptx._trace.core.values import Not, Reg, guard, raw
from pyptx.types import DType

_Guard = Reg | Not | None


def _append(spelling: str, d: object, *sources: object, pred: _Guard = None) -> Any:
    trace = current(f"ptx.{spelling.partition('.')[0]}")
    given = [raw(trace, value) for value in (*(() if d is None else (d,)), *sources)]
    bound = trace.emit(spelled(spelling), given, guard(trace, pred))
    return Reg(trace, bound.made) if isinstance(bound.made, Register) else d


def mov(dtype: DType, d: Reg | None, a: object, *, pred: _Guard = None) -> Reg:
    """`mov`: d = a."""
    return _append(f"mov.{dtype}", d, a, pred=pred)


def add(dtype: DType, d: Reg | None, a: object, b: object, *, pred: _Guard = None) -> Reg:
    """`add`; of floats with `.rn`."""
    return _append(f"add{_rounded(dtype)}.{dtype}", d, a, b, pred=pred)


def sub(dtype: DType, d: Reg | None, a: object, b: object, *, pred: _Guard = None) -> Reg:
    """`sub`; of floats with `.rn`."""
    return _append(f"sub{_rounded(dtype)}.{dtype}", d, a, b, pred=pred)


def mul(
    dtype: DType, d: Reg | None, a: object, b: object, *, mode: str = "lo", pred: _Guard = None
) -> Reg:
    """`mul`; of integers `mode` is "lo", "hi" or "wide", of floats it is `.rn`."""
    return _append(f"mul{_rounded(dtype) or '.' + mode}.{dtype}", d, a, b, pred=pred)


def mad(
    dtype: DType,
    d: Reg | None,
    a: object,
    b: object,
    c: object,
    *,
    mode: str = "lo",
    pred: _Guard = None,
) -> Reg:
    """`mad`, d = a * b + c, of integers; `mode` is "lo", "hi" or "wide"."""
    return _append(f"mad.{mode}.{dtype}", d, a, b, c, pred=pred)


def shl(dtype: DType, d: Reg | None, a: object, b: object, *, pred: _Guard = None) -> Reg:
    """`shl`."""
    return _append(f"shl.b{dtype.bits}", d, a, b, pred=pred)


def shr(dtype: DType, d: Reg | None, a: object, b: object, *, pred: _Guard = None) -> Reg:
    """`shr`: arithmetic for signed types."""
    return _append(f"shr.{dtype}", d, a, b, pred=pred)


def and_(dtype: DType, d: Reg | None, a: object, b: object, *, pred: _Guard = None) -> Reg:
    """`and`."""
    return _append(f"and.{_bits(dtype)}", d, a, b, pred=pred)


def or_(dtype: DType, d: Reg | None, a: object, b: object, *, pred: _Guard = None) -> Reg:
    """`or`."""
    return _append(f"or.{_bits(dtype)}", d, a, b, pred=pred)


def xor_(dtype: DType, d: Reg | None, a: object, b: object, *, pred: _Guard = None) -> Reg:
    """`xor`."""
    return _append(f"xor.{_bits(dtype)}", d, a, b, pred=pred)


def not_(dtype: DType, d: Reg | None, a: object, *, pred: _Guard = None) -> Reg:
    """`not`."""
    return _append(f"not.{_bits(dtype)}", d, a, pred=pred)


def setp(
    comparison: str, dtype: DType, p: Reg | None, a: object, b: object, *, pred: _Guard = None
) -> Reg:
    """`setp`: p = a comparison b; "eq", "ne", "lt", "le", "gt", "ge" and those of the manual."""
    return _append(f"setp.{comparison}.{dtype}", p, a, b, pred=pred)


def selp(
    dtype: DType, d: Reg | None, true: object, false: object, p: Reg, *, pred: _Guard = None
) -> Reg:
    """`selp`: d = true where p holds, else false."""
    return _append(f"selp.{dtype}", d, true, false, p, pred=pred)


def cvt(
    to: DType,
    of: DType,
    d: Reg | None,
    a: object,
    *,
    rounding: str = "",
    ftz: bool = False,
    sat: bool = False,
    pred: _Guard = None,
) -> Reg:
    """`cvt` to a type, of a type; `rounding` is "rn", "rzi" and so on, where the manual has one."""
    modifiers = f"{'.' + rounding if rounding else ''}{'.ftz' * ftz}{'.sat' * sat}"
    return _append(f"cvt{modifiers}.{to}.{of}", d, a, pred=pred)


def ld(
    dtype: DType,
    d: Reg | None,
    address: object,
    *,
    space: str = "global",
    cache: str = "",
    pred: _Guard = None,
) -> Reg:
    """`ld` from a state space; `cache` is "ca", "cg" and so on, or "nc"."""
    operator = f".{cache}" if cache else ""
    return _append(f"ld.{space}{operator}.{dtype}", d, address, pred=pred)


def st(
    dtype: DType,
    address: object,
    a: object,
    *,
    space: str = "global",
    cache: str = "",
    pred: _Guard = None,
) -> None:
    """`st` to a state space."""
    operator = f".{cache}" if cache else ""
    _append(f"st.{space}{operator}.{dtype}", address, a, pred=pred)


def _rounded(dtype: DType) -> str:
    return ".rn" if dtype.is_float or dtype.is_packed else ""


def _bits(dtype: DType) -> str:
    return "pred" if dtype.bits == 1 else f"b{dtype.bits}"
