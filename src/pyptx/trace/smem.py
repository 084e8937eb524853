"""`smem`: shared memory of the CTA, allocated while tracing and laid out when the trace ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn, SupportsIndex, TypeAlias

from pyptx.errors import LanguageError
from pyptx.operands import Address, Symbol, Variable
from pyptx.source import caller
from pyptx.trace.context import Trace, current
from pyptx.trace.indexing import add_index
from pyptx.trace.mbarrier import Mbarriers
from pyptx.trace.values import Reg, Value, checked_dtype, integer, move, own, raw
from pyptx.types import DType, b64, u32

__all__ = ["SharedTile", "alloc", "load", "mbarrier", "store"]

Index: TypeAlias = "SupportsIndex | Value"
_DEFAULT_ALIGN = 16


@dataclass(frozen=True, slots=True)
class SharedTile:
    """Shared memory of one type and shape, row-major. As an operand it is its address.

    `tile[i, j]` is one `ld.shared`, `tile[i, j] = v` one `st.shared`; each index in a register adds
    one `mad.lo`, and the first of them one `mov` of the address.
    """

    trace: Trace
    variable: Variable
    dtype: DType
    shape: tuple[int, ...]

    def __ptx_operand__(self, trace: Trace) -> Symbol:
        self._own(trace)
        return Symbol(self.variable)

    def address(self, *indices: Index) -> Address:
        """The address operand of an element; of the first one without indices."""
        trace = current("shared memory")
        self._own(trace)
        return self._locate(trace, indices or (0,) * len(self.shape))

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Reg:
        trace = current("shared memory")
        self._own(trace)
        where = self._locate(trace, _indices(indices))
        value = Reg(trace, trace.register(self.dtype))
        trace.write(f"ld.shared.{_access(self.dtype)}", value.register, where)
        return value

    def __setitem__(self, indices: Index | tuple[Index, ...], value: object) -> None:
        trace = current("shared memory")
        self._own(trace)
        source = _stored(trace, self.dtype, value)
        where = self._locate(trace, _indices(indices))
        trace.write(f"st.shared.{_access(self.dtype)}", where, own(trace, source))

    def _locate(self, trace: Trace, indices: tuple[Index, ...]) -> Address:
        if len(indices) != len(self.shape):
            raise LanguageError(
                f"shared memory of shape {self.shape} takes {len(self.shape)} indices, "
                f"not {len(indices)}",
                location=caller(),
            )
        offset, stride = 0, self.dtype.bytes
        dynamic: list[tuple[Value, int]] = []
        for index, extent in zip(reversed(indices), reversed(self.shape), strict=True):
            if isinstance(index, Value):
                dynamic.append((index, stride))
            else:
                offset += self._constant_index(index, extent) * stride
            stride *= extent
        if not dynamic:
            return Address(self.variable, offset)
        base = trace.register(u32)
        trace.write("mov.u32", base, Symbol(self.variable))
        for index, step in reversed(dynamic):
            base = add_index(trace, base, index, step, "shared memory")
        return Address(base, offset)

    def __iter__(self) -> NoReturn:
        raise LanguageError(
            "shared memory is not iterable",
            location=caller(),
            notes=(("help", "for i in range(n): ... tile[i]   or   for i in ptx.range_(n)"),),
        )

    def _constant_index(self, index: object, extent: int) -> int:
        position = integer(index)
        if position is None:
            raise LanguageError(
                f"an index of shared memory is an int or a register, not {index!r}",
                location=caller(),
            )
        if not 0 <= position < extent:
            raise LanguageError(
                f"index {position} is outside shared memory of shape {self.shape}",
                location=caller(),
            )
        return position

    def _own(self, trace: Trace) -> None:
        if self.trace is not trace:
            raise LanguageError("shared memory of another kernel is used here", location=caller())


def _indices(indices: Index | tuple[Index, ...]) -> tuple[Index, ...]:
    return indices if isinstance(indices, tuple) else (indices,)


def alloc(
    dtype: DType,
    shape: int | tuple[int, ...],
    *,
    align: int | None = None,
    name: str = "",
) -> SharedTile:
    """Shared memory for `shape` values of `dtype`, at `align` bytes (16 or the value's size).

    Up to 48 KiB in all it is declared statically, beyond that it becomes dynamic; the body sees no
    difference. No instruction is appended.
    """
    trace = current("smem.alloc")
    checked_dtype(dtype)
    listed: tuple[object, ...] = shape if isinstance(shape, tuple) else (shape,)
    extents = [integer(extent) for extent in listed]
    whole = tuple(extent for extent in extents if extent is not None and extent > 0)
    if not whole or len(whole) != len(extents):
        raise LanguageError(
            f"shared memory needs positive Python ints as its shape, not {shape!r}",
            location=caller(),
            notes=(
                ("help", "smem.alloc(f32, (rows, columns)); its size is known before a launch"),
            ),
        )
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LanguageError(f"name={name!r} is not a string", location=caller())
    if dtype.bits < 8:
        raise LanguageError(
            f"shared memory cannot hold .{dtype}",
            location=caller(),
            notes=(("help", "store 0 or 1: ptx.inst.selp.u32(1, 0, p)"),),
        )
    alignment = _alignment(dtype, align)
    variable = trace.variable("shared", math.prod(whole) * dtype.bytes, alignment, name)
    return SharedTile(trace, variable, dtype, whole)


def _alignment(dtype: DType, align: object) -> int:
    if align is None:
        return max(_DEFAULT_ALIGN, dtype.bytes)
    found = integer(align)
    if found is None or found < dtype.bytes or found & (found - 1):
        raise LanguageError(
            f"align={align!r} is not a power of two of at least {dtype.bytes} bytes",
            location=caller(),
        )
    return found


def mbarrier(count: int = 1, *, name: str = "") -> Mbarriers:
    """Shared memory for `count` mbarrier objects (64 bits each, 8-byte aligned).

    `bars[i]` is one of them, with `init`, `arrive`, `arrive_expect_tx`, `wait` and the like; a
    single object has them itself. No instruction is appended.
    """
    memory = alloc(b64, (count,), align=8, name=name)
    return Mbarriers(memory.trace, memory.variable, memory.shape[0])


def load(dtype: DType, address: object) -> Reg:
    """The value at an address in shared memory, in a new register. One `ld.shared`."""
    trace = current("smem.load")
    value = Reg(trace, trace.register(checked_dtype(dtype)))
    trace.write(f"ld.shared.{_access(dtype)}", value.register, raw(trace, address))
    return value


def store(dtype: DType, address: object, value: object) -> None:
    """Put a register or a number at an address in shared memory. One `st.shared`.

    One `mov` more for a number.
    """
    trace = current("smem.store")
    source = _stored(trace, checked_dtype(dtype), value)
    trace.write(f"st.shared.{_access(dtype)}", raw(trace, address), own(trace, source))


def _access(dtype: DType) -> str:
    """The type of a load or store: floats of 16 bits and packed values move as bits."""
    return dtype.name if dtype.storage == dtype.name else f"b{dtype.bits}"


def _stored(trace: Trace, dtype: DType, value: object) -> Reg:
    if isinstance(value, Reg):
        return value
    scratch = Reg(trace, trace.register(dtype))
    move(scratch, value)
    return scratch
