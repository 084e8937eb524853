"""Elements of tensors and variables in memory: `X[i, j]`, `Y[i, j] = v`, and vectors of them.

An index is a Python int or an integer register. What is known while tracing goes into the offset
of the address. The rest is `mul.wide` and `add` for each index in a register, one instruction of
the machine. Inner indices are added up in 32 bits first, by one `mad.lo` each, as far as the
extents show that it suffices. The base address of a tensor is loaded once, where the kernel begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, cast

from pyptx._ir import Subscript
from pyptx._isa.automaton import State
from pyptx._isa.given import Number, Raw
from pyptx._isa.scalar import conversion
from pyptx._operands import Address, Register
from pyptx._source import caller
from pyptx._trace.core.context import Trace, spelled
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.stored import cure, element_of, stored
from pyptx._trace.core.values import (
    Not,
    Reg,
    Special,
    Value,
    checked_dtype,
    guard,
    integer,
    move,
    own,
)
from pyptx.errors import IsaError, LanguageError
from pyptx.types import DTYPES, DType, u32, u64

Extent: TypeAlias = "int | Reg"
Stride: TypeAlias = "int | Register"
"""Bytes: an int, or a u64 register where the size of an inner axis is known only at a launch."""

_REACH: Final = 2**31
"""Elements and bytes that 32 bits count, whatever the sign of the indices."""
_VECTORS: Final = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Elements:
    """A row-major tensor or variable in a state space, as one trace knows it."""

    name: str
    shape: tuple[Extent, ...]
    dtype: DType
    base: Register
    strides: tuple[Stride, ...]
    space: str = "global"
    moved: bool = False
    """Whether `base` is that of another element than the first."""
    align: int = 0
    """What the address of a variable is a multiple of, in bytes; 0 for tensors of a launch."""

    @property
    def memory(self) -> str:
        """The state space in words, for messages."""
        return "constant memory" if self.space == "const" else f"{self.space} memory"

    # ---- addresses -------------------------------------------------------------------------------

    def address(self, trace: Trace, indices: Sequence[object]) -> Address:
        """The address of an element. At most two instructions for each index in a register.

        One more, `mov`, for a special register.
        """
        return self._located(trace, indices)[0]

    def _located(
        self, trace: Trace, indices: Sequence[object]
    ) -> tuple[Address, dict[int, Register]]:
        """The address of an element, and the registers of its indices by axis."""
        if len(indices) != len(self.shape):
            raise self._wrong_rank(len(indices))
        offset = 0
        outer: list[tuple[Register, Stride]] = []
        inner: list[tuple[Register, int]] = []
        given: dict[int, Register] = {}
        narrow = self._narrow()
        for axis, (index, stride) in enumerate(zip(indices, self.strides, strict=True)):
            if isinstance(index, Value):
                given[axis] = register = _register(trace, self.name, index)
                if axis >= narrow and isinstance(stride, int) and register.dtype.bits == 32:
                    inner.append((register, stride))
                else:
                    outer.append((register, stride))
                continue
            known = self._known(index, axis)
            if isinstance(stride, int):
                offset += known * stride
            elif known:  # an int, and a stride that only a launch knows
                outer.append((_number(trace, known), stride))
        base = self.base
        for register, stride in outer:
            base = _add(trace, base, register, stride)
        if inner:
            base = _add(trace, base, *_linear(trace, inner))
        return Address(base, offset), given

    def _subscripts(self, given: dict[int, Register], bytes_: int) -> tuple[Subscript, ...]:
        """What the emulator checks of an access of so many bytes; none from another element on."""
        if self.moved:
            return ()
        last, span = len(self.shape) - 1, bytes_ // self.dtype.bytes
        extents = (e.register if isinstance(e, Reg) else e for e in self.shape)
        return tuple(
            Subscript(given[axis], extent, axis, self.name, span if axis == last else 1)
            for axis, extent in enumerate(extents)
            if axis in given
        )

    def at(self, trace: Trace, indices: Sequence[object]) -> Elements:
        """The same tensor from an element on. As `address`, and one `add` for an offset."""
        where = self.address(trace, indices)
        base = where.base
        assert isinstance(base, Register)
        if where.offset:
            start, base = base, trace.register(u64)
            trace.write("add.s64", base, start, Number(where.offset))
        return replace(self, name=f"{self.name}.at(...)", base=base, moved=True)

    def _narrow(self) -> int:
        """The first axis from which on all elements are within reach of 32 bits."""
        first = len(self.shape)
        for axis in reversed(range(len(self.shape))):
            extent, stride = self.shape[axis], self.strides[axis]
            if not isinstance(extent, int) or not isinstance(stride, int):
                break
            if extent * (stride // self.dtype.bytes) > _REACH:
                break
            first = axis
        return first

    def _known(self, index: object, axis: int) -> int:
        position, extent = integer(index), self.shape[axis]
        if position is None:
            raise LanguageError(
                f"an index of {self.name} is an int or an integer register, not {index!r}",
                location=caller(),
                notes=(("help", f"{self.name}.load(..., vector=4) loads four neighbours"),)
                if isinstance(index, slice)
                else (),
            )
        # From an element on, a distance may lead out of small shapes where a predicate excludes it.
        beyond = isinstance(extent, int) and position >= extent
        if not self.moved and (position < 0 or beyond):
            legal = f"0 to {extent - 1}" if isinstance(extent, int) else "0 and more"
            raise LanguageError(
                f"index {position} is outside dimension {axis} of {self.name}, whose shape is "
                f"{_shape(self.shape)}",
                location=caller(),
                notes=(("legal", legal),),
            )
        return position

    def _wrong_rank(self, count: int) -> LanguageError:
        rank = len(self.shape)
        return LanguageError(
            f"{self.name} has {rank} dimension{'s' * (rank != 1)}, and {count} "
            f"{'index is' if count == 1 else 'indices are'} given",
            location=caller(),
            notes=(("help", f"{self.name}[{', '.join('ijklmnop'[:rank]) or '()'}]"),),
        )

    # ---- loads and stores ------------------------------------------------------------------------

    def load(
        self,
        trace: Trace,
        indices: Sequence[object],
        *,
        vector: int | None = None,
        dtype: DType | None = None,
        cache: str = "",
        pred: Reg | Not | None = None,
        other: object = None,
    ) -> Reg | RegArray:
        """One `ld.global` of an element, or of `vector` values along the last axis."""
        kind = self._kind(dtype)
        count = 1 if vector is None else self._vector(vector)
        where, given = self._located(trace, indices)
        self._check_aligned(where, kind.bytes * count)
        made = [Reg(trace, trace.register(kind)) for _ in range(count)]
        if other is not None:
            for each in made:
                move(each, other)
        values = _values([each.register for each in made])
        held = guard(trace, pred)
        trace.emit(
            _spelled(f"ld.{self.space}", cache, count, kind), (values, where), held, own=True
        )
        trace.subscript(self._subscripts(given, kind.bytes * count))
        return made[0] if vector is None else RegArray(made)

    def store(
        self,
        trace: Trace,
        indices: Sequence[object],
        values: object,
        *,
        dtype: DType | None = None,
        cache: str = "",
        pred: Reg | Not | None = None,
    ) -> None:
        """One `st.global` of an element, or of as many along the last axis as `values` has."""
        if self.space == "const":
            raise LanguageError(
                f"{self.name} is in constant memory, which a kernel cannot write",
                location=caller(),
                notes=(("help", "ptx.global_(...) is a variable that kernels write"),),
            )
        kind = self._kind(dtype)
        listed = (
            list(cast("Sequence[object]", values))
            if isinstance(values, (list, tuple, RegArray))
            else [values]
        )
        count = self._vector(len(listed))
        sources = [self._source(trace, kind, value) for value in listed]
        where, given = self._located(trace, indices)
        self._check_aligned(where, kind.bytes * count)
        held = guard(trace, pred)
        trace.emit(
            _spelled(f"st.{self.space}", cache, count, kind),
            (where, _values(sources)),
            held,
            own=True,
        )
        trace.subscript(self._subscripts(given, kind.bytes * count))

    def _kind(self, dtype: DType | None) -> DType:
        """The type of a load or store: the Tile's, or a packed one of its elements."""
        if dtype is None or checked_dtype(dtype) is self.dtype:
            return self.dtype
        packed = {t.name: t for t in DTYPES.values() if t.is_packed and element_of(t) is self.dtype}
        if dtype.name not in packed:
            raise LanguageError(
                f"{self.name} holds .{self.dtype}, not .{dtype}",
                location=caller(),
                notes=(("legal", " ".join([self.dtype.name, *packed])),),
            )
        return dtype

    def _vector(self, count: object) -> int:
        found = integer(count)
        if found not in _VECTORS:
            raise LanguageError(
                f"a vector of {self.name} has 1, 2, 4 or 8 values, not {count!r}", location=caller()
            )
        return found

    def _check_aligned(self, where: Address, size: int) -> None:
        """A vector begins at a multiple of its size, so every row has to."""
        if size == self.dtype.bytes:
            return
        what = f"{where.offset} bytes from the first element" if where.offset % size else ""
        for extent, stride in zip(self.shape[:-1], self.strides[:-1], strict=True):
            whole = isinstance(extent, int) and extent == 1
            if isinstance(stride, int) and stride % size and not whole:
                what = f"rows of {stride} bytes"
        if 0 < self.align < size:
            raise LanguageError(
                f"{size} bytes at once begin at a multiple of {size} bytes, and {self.name} is "
                f"aligned to {self.align}",
                location=caller(),
                notes=(("help", f"align={size} where the variable is declared"),),
            )
        if what:
            raise LanguageError(
                f"{size} bytes of {self.name} begin at a multiple of {size} bytes, not at {what}",
                location=caller(),
                notes=(("help", "load or store fewer values at once"),),
            )

    def _source(self, trace: Trace, kind: DType, value: object) -> Register:
        return stored(trace, f"{self.name} holds", kind, value, lambda of: self._cure(kind, of))

    def _cure(self, kind: DType, source: DType) -> str:
        """How a register of another type is stored."""
        where = ", ".join("ijklmnop"[: len(self.shape)])
        return cure(kind, source, lambda v, of: f"{self.name}.store({where}, {v}, dtype={of})")


def strides_of(trace: Trace, shape: tuple[Extent, ...], dtype: DType) -> tuple[Stride, ...]:
    """The strides of a row-major tensor. One `mul.lo` where the next is known only at a launch."""
    found: list[Stride] = []
    stride: Stride = dtype.bytes
    for axis, extent in reversed(list(enumerate(shape))):
        found.append(stride)
        if axis == 0:
            break
        if isinstance(extent, int) and isinstance(stride, int):
            stride *= extent
        else:
            made = trace.register(u64)
            sizes = (_factor(trace, extent), _factor(trace, stride))
            trace.write("mul.lo.u64", made, *sorted(sizes, key=lambda s: isinstance(s, Number)))
            stride = made
    return tuple(reversed(found))


def _factor(trace: Trace, size: Extent | Stride) -> Raw:
    if isinstance(size, Reg):
        return own(trace, size)
    return Number(size) if isinstance(size, int) else size


def _linear(trace: Trace, parts: list[tuple[Register, int]]) -> tuple[Register, int]:
    """A sum of products in 32 bits: a register, and the bytes that it counts.

    Each stride divides the one before it.
    """
    (total, stride), *rest = parts
    for register, inner in rest:
        signed = total.dtype.is_signed or register.dtype.is_signed
        made = trace.register(DTYPES["s32"] if signed else u32)
        trace.write(f"mad.lo.{made.dtype}", made, total, Number(stride // inner), register)
        total, stride = made, inner
    return total, stride


def _add(trace: Trace, base: Register, index: Register, stride: Stride) -> Register:
    """`base + index * stride` in 64 bits.

    A product and a sum, which ptxas makes one multiply-add; what `mad.wide` says at once it takes
    apart into four instructions.
    """
    made = trace.register(u64)
    sign = "s" if index.dtype.is_signed else "u"
    factor = Number(stride) if isinstance(stride, int) else stride
    if index.dtype.bits == 32 and isinstance(stride, int) and stride < _REACH:
        product = trace.register(DTYPES[f"{sign}64"])
        trace.write(f"mul.wide.{sign}32", product, index, factor)
        trace.write("add.u64", made, base, product)
        return made
    if index.dtype.bits == 32:
        wide = trace.register(DTYPES[f"{sign}64"])
        trace.write(f"cvt.{sign}64.{sign}32", wide, index)
        index = wide
    trace.write("mad.lo.u64", made, index, factor, base)
    return made


def _number(trace: Trace, value: int) -> Register:
    made = trace.register(u64)
    trace.write("mov.u64", made, Number(value % 2**64))  # beyond a part, before its start
    return made


def _register(trace: Trace, name: str, index: Value) -> Register:
    dtype = index.dtype
    if dtype.bits not in (32, 64) or not (dtype.is_integer or dtype.is_bits):
        raise LanguageError(
            f"an index of {name} is a 32- or 64-bit integer, not .{dtype}",
            location=caller(),
            notes=(("help", conversion(u32, dtype)),),
        )
    if isinstance(index, Special):
        staged = Reg(trace, trace.register(dtype))
        move(staged, index)
        return staged.register
    assert isinstance(index, Reg)
    return own(trace, index)


def _spelled(opcode: str, cache: str, count: int, dtype: DType) -> State:
    parts = (opcode, *cache.split("."), f"v{count}" * (count > 1), dtype.access)
    try:
        return spelled(".".join(part for part in parts if part))
    except IsaError as error:
        raise error.at(caller()) from None


def _values(registers: Sequence[Register]) -> Raw:
    """The operand of a load or store: a register, or a vector of them."""
    first, *more = registers
    return (first, *more) if more else first


def _shape(shape: tuple[Extent, ...]) -> str:
    sizes = [str(extent) if isinstance(extent, int) else "?" for extent in shape]
    return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"
