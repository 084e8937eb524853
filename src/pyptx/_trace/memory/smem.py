"""`smem`: shared memory of the CTA, allocated while tracing and laid out when the trace ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, NoReturn, SupportsIndex, TypeAlias

from pyptx._ir import Subscript
from pyptx._isa.scalar import conversion
from pyptx._layouts import Swizzle
from pyptx._layouts.matrix import Major, MatrixLayout, Multiplicand
from pyptx._operands import Address, Register, Symbol, Variable
from pyptx._source import caller
from pyptx._trace.collectives.cluster import map_shared_rank
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.indexed import refuse_value
from pyptx._trace.core.indexing import add_register, add_swizzled, index_register, xor_lines
from pyptx._trace.core.mistakes import unknown_name
from pyptx._trace.core.stored import cure, stored
from pyptx._trace.core.values import Reg, Value, checked_dtype, integer, raw
from pyptx._trace.memory.arrangement import indexed
from pyptx._trace.memory.layout import checked_major, checked_swizzle, layout_errors
from pyptx._trace.memory.mbarrier import Mbarrier, Mbarriers
from pyptx._trace.memory.variables import ModuleVariable, extern
from pyptx.errors import LanguageError
from pyptx.types import DType, b8, b64, u32

__all__ = [
    "SharedTile",
    "alloc",
    "apply_swizzle",
    "base",
    "extern",
    "load",
    "mbarrier",
    "store",
    "wgmma_tile",
]

Index: TypeAlias = "SupportsIndex | Value"
_Located: TypeAlias = "tuple[Address, tuple[Subscript, ...]]"
_DEFAULT_ALIGN = 16


@dataclass(frozen=True, slots=True)
class SharedTile:
    """Shared memory of one type and shape, row-major. As an operand it is its address.

    `tile[i, j]` is one `ld.shared`, `tile[i, j] = v` one `st.shared`; each index in a register adds
    one `mad.lo`, and the first of them one `mov` of the address. Fewer indices name a part:
    `tile[stage]` of three dimensions is a tile of two. No instruction for ints.

    With a swizzle the last two dimensions are a matrix laid out as `layout` says, and an index of
    theirs in a register costs more: with the `mov` at most six for a row, at most seven for a
    column, at most ten for both.
    """

    trace: Trace
    variable: Variable
    dtype: DType
    shape: tuple[int, ...]
    layout: MatrixLayout | None = None
    major: Major = Major.K
    base: Register | None = None
    offset: int = 0
    space: str = "shared"

    def __eq__(self, other: object) -> bool:
        refuse_value(other)
        return isinstance(other, SharedTile) and all(
            getattr(self, field.name) == getattr(other, field.name) for field in fields(self)
        )

    def __repr__(self) -> str:
        swizzle = "" if self.layout is None else f", swizzle {self.swizzle.name}"
        of = "" if self.space == "shared" else " of a peer,"
        return f"<shared memory{of} of {self.shape} .{self.dtype}{swizzle}>"

    def __ptx_operand__(self, trace: Trace) -> Symbol | Address:
        self._own(trace)
        if self.base is None:
            return Symbol(self.variable, self.offset)
        return Address(self.base, self.offset)

    @property
    def name(self) -> SharedTile:
        """The memory itself, since as an operand it is its address: `ptx.addr(tile.name, 16)`."""
        return self

    def peer(self, rank: int | Reg) -> SharedTile:
        """The same memory in the CTA of that rank of the cluster, read and written by index.

        `tile.peer(rank)[i, j]` is one `ld.shared::cluster` and `tile.peer(rank)[i, j] = v` one
        `st.shared::cluster`, an index in a register counted as in `tile[i, j]`. `peer` itself is
        one `mapa`, so keep what it gives: `other = tile.peer(rank)`. As an operand it is its
        address in `.shared::cluster`. `ptx.cluster.sync()` stands between a write and the reads of
        other CTAs, and before a CTA ends whose memory others reach. Needs sm_90.
        """
        trace = current("shared memory")
        self._own(trace)
        if self.space != "shared":
            raise LanguageError(
                "this is shared memory of a peer already",
                location=caller(),
                notes=(("help", "tile.peer(rank), of the CTA's own tile"),),
            )
        mapped = map_shared_rank(Address(self._root, 0), rank)
        return replace(self, base=mapped.register, space="shared::cluster")

    @property
    def swizzle(self) -> Swizzle:
        """The swizzle of the last two dimensions."""
        return Swizzle.NONE if self.layout is None else self.layout.swizzle

    @property
    def bytes(self) -> int:
        """Bytes of the tile: what a copy of all of it brings."""
        return math.prod(self.shape) * self.dtype.bytes

    def view(self, dtype: DType) -> SharedTile:
        """The same bytes as elements of another type, as NumPy's `view`: no instruction.

        The last dimension has as many more elements as they are smaller. Raises LanguageError
        where its bytes are no whole number of them.
        """
        current("shared memory")
        kind = checked_dtype(dtype)
        columns, rest = divmod(self.shape[-1] * self.dtype.bytes, kind.bytes)
        if rest or not columns:
            raise LanguageError(
                f"shared memory of {self.shape} .{self.dtype} has {self.shape[-1]} elements in a "
                f"row, which are no whole number of .{kind}",
                location=caller(),
            )
        shape = (*self.shape[:-1], columns)
        layout = None if self.layout is None else _matrix(kind, shape, self.swizzle)
        return replace(self, dtype=kind, shape=shape, layout=layout)

    def k_offset(self, k: int) -> int:
        """Bytes from the first value of a `wgmma_tile` to those of K from `k` on; an int.

        For `a_k_offset=` and `b_k_offset=`; `k` is a multiple of one instruction's K.
        """
        if self.layout is None:
            raise LanguageError("k_offset is that of a smem.wgmma_tile", location=caller())
        with layout_errors():
            return Multiplicand(self.layout, self.major).advance(k=k)

    def address(self, *indices: Index) -> Address:
        """The address operand of an element; of the first one without indices."""
        trace = current("shared memory")
        self._own(trace)
        if not indices:
            return Address(self._root, self.offset)
        return self._locate(trace, self._whole(indices))[0]

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Any:
        """The value at these indices, in a new register; a SharedTile where there are fewer."""
        trace = current("shared memory")
        self._own(trace)
        listed = _indices(indices)
        if 0 < len(listed) <= len(self.shape) - (1 if self.layout is None else 2):
            return self._part(trace, listed)
        where, subscripts = self._locate(trace, self._whole(listed))
        value = Reg(trace, trace.register(self.dtype))
        trace.write(f"ld.{self.space}.{self.dtype.access}", value.register, where)
        trace.subscript(subscripts)
        indexed(trace, self, listed)
        return value

    def __setitem__(self, indices: Index | tuple[Index, ...], value: object) -> None:
        trace = current("shared memory")
        self._own(trace)
        listed = self._whole(_indices(indices))
        source = stored(trace, "shared memory holds", self.dtype, value, self._cure)
        where, subscripts = self._locate(trace, listed)
        trace.write(f"st.{self.space}.{self.dtype.access}", where, source)
        trace.subscript(subscripts)

    def _cure(self, source: DType) -> str:
        """How a register of another type is stored."""
        where = ", ".join("ijklmnop"[: len(self.shape)])
        return cure(self.dtype, source, lambda v, of: f"s.view({of})[{where}] = {v}")

    def _whole(self, indices: tuple[Index, ...]) -> tuple[Index, ...]:
        if len(indices) != len(self.shape):
            raise LanguageError(
                f"shared memory of shape {self.shape} takes {len(self.shape)} indices, "
                f"not {len(indices)}",
                location=caller(),
                notes=(("help", f"s[{', '.join('ijklmnop'[: len(self.shape)])}]"),),
            )
        return indices

    def _part(self, trace: Trace, indices: tuple[Index, ...]) -> SharedTile:
        """What lies at these indices of the first dimensions."""
        shape = self.shape[len(indices) :]
        where, _ = self._plain(trace, indices, math.prod(shape) * self.dtype.bytes)
        base = where.base if isinstance(where.base, Register) else None
        return replace(self, shape=shape, base=base, offset=where.offset)

    def _locate(self, trace: Trace, indices: tuple[Index, ...]) -> _Located:
        """The address of an element, given all indices."""
        if self.layout is None:
            return self._plain(trace, indices, self.dtype.bytes)
        *before, row, column = indices
        whole, subscripts = self._plain(trace, tuple(before), self.layout.bytes)
        row, column = (
            i if isinstance(i, Value) else self._constant_index(i, extent)
            for i, extent in zip((row, column), self.shape[-2:], strict=True)
        )
        if not isinstance(row, Value) and not isinstance(column, Value):
            offset = whole.offset + self.layout.offset(row, column)
            return Address(whole.base, offset), subscripts
        base = whole.base
        if not isinstance(base, Register):
            base = self._address(trace)
        base, inside, given = add_swizzled(trace, base, self.layout, row, column)
        first = len(self.shape) - 2
        found = tuple(self._subscript(first + axis, given[axis]) for axis in sorted(given))
        return Address(base, whole.offset + inside), (*subscripts, *found)

    def _plain(self, trace: Trace, indices: tuple[Index, ...], stride: int) -> _Located:
        """Row-major: the last of the indices is `stride` bytes apart."""
        offset = self.offset
        dynamic: list[tuple[int, Value, int]] = []
        for axis in reversed(range(len(indices))):
            index, extent = indices[axis], self.shape[axis]
            if isinstance(index, Value):
                dynamic.append((axis, index, stride))
            else:
                offset += self._constant_index(index, extent) * stride
            stride *= extent
        if not dynamic:
            return Address(self._root, offset), ()
        base = self._address(trace)
        subscripts: list[Subscript] = []
        for axis, index, step in reversed(dynamic):
            register = index_register(trace, index, "shared memory")
            base = add_register(trace, base, register, step)
            subscripts.append(self._subscript(axis, register))
        return Address(base, offset), tuple(subscripts)

    def _subscript(self, axis: int, index: Register) -> Subscript:
        of = self.variable.name or "shared memory"
        return Subscript(index, self.shape[axis], axis, of)

    @property
    def _root(self) -> Variable | Register:
        return self.variable if self.base is None else self.base

    def _address(self, trace: Trace) -> Register:
        """The address without the offset, in a register. One `mov`, or none."""
        if self.base is not None:
            return self.base
        base = trace.register(u32)
        trace.write("mov.u32", base, Symbol(self.variable))
        return base

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
                notes=(("help", "for i in ptx.range_(thread, n, threads): ... tile[i] = v"),)
                if isinstance(index, slice)
                else (),
            )
        if not 0 <= position < extent:
            raise LanguageError(
                f"index {position} is outside shared memory of shape {self.shape}",
                location=caller(),
                notes=(("legal", f"0 to {extent - 1}"),),
            )
        return position

    def _own(self, trace: Trace) -> None:
        if self.trace is not trace:
            raise LanguageError("shared memory of another kernel is used here", location=caller())


def base(name: str = "global_smem") -> Reg:
    """The address of the dynamic shared memory of that name, in a new u32 register. One `mov`.

    The memory is `extern(b8, name=name, align=128)`, as long as `smem=` of the kernel says.
    """
    trace = current("smem.base")
    memory = _dynamic(name)
    address = Reg(trace, trace.register(u32))
    trace.write("mov.u32", address.register, raw(trace, memory))
    return address


@lru_cache(maxsize=256)  # names of users; a module has one or two
def _dynamic(name: str) -> ModuleVariable:
    """The variable of that name, declared once: a module has one of each name."""
    return extern(b8, name=name, align=128)


def _indices(indices: Index | tuple[Index, ...]) -> tuple[Index, ...]:
    return indices if isinstance(indices, tuple) else (indices,)


def alloc(
    dtype: DType,
    shape: int | tuple[int, ...],
    *,
    swizzle: Swizzle | str | None = None,
    align: int | None = None,
    name: str = "",
) -> SharedTile:
    """Shared memory for `shape` values of `dtype`, at `align` bytes (16 or the value's size).

    Up to 48 KiB in all it is declared statically, beyond that it becomes dynamic; the body sees no
    difference. With a `swizzle` ("32B", "64B", "128B") the last two dimensions are a matrix in
    panels as wide as the swizzle's span (`layouts.MatrixLayout`), as tensor copies with boxes of
    that width write it, and indices find its elements. No instruction is appended.
    """
    current("smem.alloc")
    checked_dtype(dtype)
    whole = _shape(shape)
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LanguageError(f"name={name!r} is not a string", location=caller())
    if dtype.bits < 8:
        raise LanguageError(
            f"shared memory cannot hold .{dtype}",
            location=caller(),
            notes=(("help", "store 0 or 1: ptx.inst.selp.u32(1, 0, p)"),),
        )
    if swizzle is None:
        return _allocated(dtype, whole, None, align, name)
    layout = _matrix(dtype, whole, checked_swizzle(swizzle))
    return _allocated(dtype, whole, layout, align, name)


def wgmma_tile(
    dtype: DType,
    shape: tuple[int, ...],
    major: str = "K",
    *,
    swizzle: Swizzle | str | None = None,
    align: int | None = None,
    name: str = "",
) -> SharedTile:
    """Shared memory for a multiplicand of `wgmma` or `tcgen05`, in the manual's canonical layout.

    The last dimension of `shape` is the contiguous one: (M, K) or (N, K) with `major="K"`, (K, M)
    or (K, N) with `major="MN"`; dimensions before these two are stages. The other dimension is a
    multiple of 8. `swizzle` is the widest that divides a row where it is left out. Tensor copies
    fill it with boxes as wide as the swizzle's span, `tile[row, column]` finds an element, and
    `ptx.wgmma.descriptor` and `ptx.tcgen05.descriptor` describe it. No instruction is appended.
    """
    current("smem.wgmma_tile")
    checked_dtype(dtype)
    whole = _shape(shape)
    mode = None if swizzle is None else checked_swizzle(swizzle)
    layout = _matrix(dtype, whole, mode)
    found = _allocated(dtype, whole, layout, align, name)
    return replace(found, major=checked_major(major))


def apply_swizzle(offset: Reg, swizzle: Swizzle | str | None) -> Reg:
    """The swizzled offset of the byte at `offset` from the start of a pattern: a new u32 register.

    `offset` is a 32-bit integer register, in bytes from a multiple of the swizzle's `atom_bytes`.
    Three instructions, `and`, `shr` and `xor`; none for no swizzle, which gives `offset` back.
    """
    trace = current("smem.apply_swizzle")
    mode = Swizzle.NONE if swizzle is None else checked_swizzle(swizzle)
    register = index_register(trace, offset, "a swizzle")
    found = xor_lines(trace, register, mode.mask)
    return offset if found is register else Reg(trace, found)


def _shape(shape: object) -> tuple[int, ...]:
    listed: tuple[object, ...] = shape if isinstance(shape, tuple) else (shape,)  # pyright: ignore[reportUnknownVariableType]
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
    return whole


def _matrix(dtype: DType, shape: tuple[int, ...], swizzle: Swizzle | None) -> MatrixLayout:
    if len(shape) < 2:
        raise LanguageError(
            f"a swizzle needs rows and columns, not the shape {shape}",
            location=caller(),
            notes=(("help", 'smem.alloc(bf16, (rows, 64), swizzle="128B")'),),
        )
    rows, columns = shape[-2:]
    with layout_errors():
        if swizzle is None:
            return MatrixLayout.widest(rows, columns, dtype.bytes)
        return MatrixLayout(rows, columns, dtype.bytes, swizzle)


def _allocated(
    dtype: DType,
    shape: tuple[int, ...],
    layout: MatrixLayout | None,
    align: object,
    name: str,
) -> SharedTile:
    trace = current("smem.alloc")
    least = 0 if layout is None else layout.align
    alignment = _alignment(dtype, align, least)
    variable = trace.variable("shared", math.prod(shape) * dtype.bytes, alignment, name)
    return SharedTile(trace, variable, dtype, shape, layout)


def _alignment(dtype: DType, align: object, pattern: int) -> int:
    if align is None:
        return max(_DEFAULT_ALIGN, dtype.bytes, pattern)
    least = max(dtype.bytes, pattern)
    found = integer(align)
    if found is None or found < least or found & (found - 1):
        raise LanguageError(
            f"align={align!r} is not a power of two of at least {least} bytes",
            location=caller(),
            notes=(("why", f"the swizzle's pattern repeats every {pattern} bytes"),)
            if pattern
            else (),
        )
    return found


def mbarrier(count: int = 1, *, name: str = "") -> Mbarriers:
    """Shared memory for `count` mbarrier objects (64 bits each, 8-byte aligned).

    `bars[i]` is one of them, with `init`, `arrive`, `arrive_expect_tx`, `wait` and the like; a
    single object has them itself. No instruction is appended.
    """
    memory = alloc(b64, (count,), align=8, name=name)
    return Mbarriers(Mbarrier(memory.trace, memory.variable), memory.shape[0])


def load(dtype: DType, address: object) -> Reg:
    """The value at an address in shared memory, in a new register. One `ld.shared`."""
    trace = current("smem.load")
    value = Reg(trace, trace.register(checked_dtype(dtype)))
    trace.write(f"ld.shared.{dtype.access}", value.register, raw(trace, address))
    return value


def store(dtype: DType, address: object, value: object) -> None:
    """Put a register or a number at an address in shared memory. One `st.shared`.

    One `mov` more for a number.
    """
    trace = current("smem.store")
    kind = checked_dtype(dtype)
    source = stored(trace, "smem.store writes", kind, value, partial(conversion, kind))
    trace.write(f"st.shared.{dtype.access}", raw(trace, address), source)


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)


globals()["__getattr__"] = unknown_name("smem", __name__)
