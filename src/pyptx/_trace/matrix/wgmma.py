"""`ptx.wgmma`: multiplication by the four warps of a warpgroup (sm_90a).

Matrices in shared memory are `smem.wgmma_tile`s, whose layout gives the matrix descriptor; one that
was laid out by hand is described by `make_descriptor`. Source: PTX ISA, "Asynchronous Warpgroup
Level Matrix Multiply-Accumulate Instructions".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias, cast

from pyptx._isa.given import Number, Raw
from pyptx._layouts import Swizzle
from pyptx._layouts.descriptor import encoded, wgmma_matrix
from pyptx._layouts.matrix import Major, Multiplicand
from pyptx._source import caller
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Not, Reg, guard, integer, materialise, move, own, raw
from pyptx._trace.matrix.element_types import check_elements
from pyptx._trace.matrix.multiplicand import (
    add_start,
    beginning,
    check_pattern,
    checked_offset,
    matrix_of,
    multiplicand,
    shared_address,
)
from pyptx._trace.memory.layout import checked_swizzle, layout_errors
from pyptx._trace.memory.smem import SharedTile
from pyptx.errors import LanguageError
from pyptx.types import DType, b64, u64
from pyptx.types import pred as predicate

SWIZZLE_NONE: Final = Swizzle.NONE
SWIZZLE_32B: Final = Swizzle.B32
SWIZZLE_64B: Final = Swizzle.B64
SWIZZLE_128B: Final = Swizzle.B128

Shape: TypeAlias = "tuple[int, int, int] | str"
Registers: TypeAlias = "RegArray | Sequence[Reg]"

_ROWS: Final = 64
_SHAPE: Final = re.compile(r"m(\d+)n(\d+)k(\d+)")
_TRANSPOSED: Final = ("f16", "bf16")
_INTEGER: Final = ("s8", "u8", "b1")


# ---- descriptors ---------------------------------------------------------------------------------


def descriptor(tile: SharedTile, *, k: int = 0, mn: int | Reg = 0) -> Reg:
    """The matrix descriptor (u64) of a `smem.wgmma_tile`, from these K and M or N of it on.

    `k` counts values and is a multiple of one instruction's K; `mn` is a multiple of 8 (with
    major="MN", of a panel's columns), or a 32-bit register that holds one. Four instructions,
    `mov`, `bfe`, `cvt` and `add`; no `mov` for a part of a tile at a stage in a register, one
    `mad.lo` more for `mn` in a register.
    """
    trace = current("ptx.wgmma.descriptor")
    matrix = matrix_of(tile, "ptx.wgmma.descriptor")
    address, offset = beginning(trace, tile, matrix, k=k, mn=mn)
    return Reg(trace, add_start(trace, address, _bits(matrix, offset)))


def auto_descriptor(base: object, *, dtype: DType, shape: tuple[int, int], major: str = "K") -> Reg:
    """The descriptor (u64) of a matrix at `base` that is laid out as `smem.wgmma_tile` would.

    `base` is shared memory or a 32-bit register, at a multiple of the swizzle's `atom_bytes`.
    Three instructions, `bfe`, `cvt` and `add`; a `mov` before them unless it is in a register.
    """
    trace = current("ptx.wgmma.auto_descriptor")
    matrix = multiplicand(dtype, shape, major)
    address, offset = shared_address(trace, base)
    check_pattern(base, matrix.layout.swizzle, offset, 0)
    return Reg(trace, add_start(trace, address, _bits(matrix, offset)))


def make_descriptor(
    base: object,
    *,
    leading_byte_offset: int,
    stride_byte_offset: int,
    swizzle: Swizzle | str = SWIZZLE_NONE,
    base_offset: int = 0,
    addr_byte_offset: int = 0,
) -> Reg:
    """A matrix descriptor (u64) from its fields; offsets are in bytes, multiples of 16.

    `base` and the number of instructions are as for `auto_descriptor`; `addr_byte_offset` is added
    to it. PTX ISA, "Matrix Descriptor Format".
    """
    trace = current("ptx.wgmma.make_descriptor")
    address, offset = shared_address(trace, base)
    mode = checked_swizzle(swizzle)
    check_pattern(base, mode, offset + addr_byte_offset, base_offset)
    with layout_errors():
        bits = wgmma_matrix(
            leading=leading_byte_offset,
            stride=stride_byte_offset,
            swizzle=mode,
            base_offset=base_offset,
            start=offset + addr_byte_offset,
        )
    return Reg(trace, add_start(trace, address, bits))


MASKED_DESC_B128 = 1 << 62 | 64 << 32 | 1 << 16
"""A descriptor without its address: 128-byte swizzle, patterns of 1024 bytes one after another."""


def masked_descriptor(
    addr: Reg,
    *,
    byte_offset: int = 0,
    mask: int = 0x3FF80,
    const_bits: int = MASKED_DESC_B128,
) -> Reg:
    """A matrix descriptor (u64): `((addr + byte_offset) & mask) >> 4 | const_bits`.

    `addr` is an address of shared memory in a u32 register. Four instructions, `and`, `shr`, `cvt`
    and `or`, and an `add` before them for an offset. `descriptor` finds all bits from a tile.
    """
    trace = current("ptx.wgmma.masked_descriptor")
    start = own(trace, addr)
    offset = Reg(trace, start) + byte_offset if byte_offset else Reg(trace, start)
    line = (offset & mask) >> 4
    wide = Reg(trace, trace.register(u64))
    trace.write("cvt.u64.u32", wide.register, line.register)
    return wide | const_bits


def _bits(matrix: Multiplicand, start: int) -> int:
    with layout_errors():
        return wgmma_matrix(
            leading=matrix.leading_bytes,
            stride=matrix.stride_bytes,
            swizzle=matrix.layout.swizzle,
            start=start,
        )


# ---- multiplication ------------------------------------------------------------------------------


def mma_async(
    *,
    shape: Shape,
    dtype_d: DType,
    dtype_a: DType | str,
    dtype_b: DType | str,
    d: Registers,
    a: SharedTile | Reg | Registers,
    b: SharedTile | Reg,
    scale_d: bool | Reg | Not = False,
    scale_a: int = 1,
    scale_b: int = 1,
    trans_a: int | None = None,
    trans_b: int | None = None,
    a_k_offset: int = 0,
    b_k_offset: int = 0,
    satfinite: bool = False,
    pred: Reg | Not | None = None,
) -> None:
    """D = A * B, plus D where `scale_d` holds; in 64 rows, without waiting.

    `shape` is (64, n, k) or "m64n128k16". `d` are accumulators as `reg.wgmma_frag` makes them; with
    scale_d=False, the default, nothing needs to have set them. `a` and `b` are a
    `smem.wgmma_tile`, a descriptor in a 64-bit register, `a` also its fragment in four registers of
    32 bits. `scale_a` and `scale_b` are 1 or -1, of floats. `trans_a` and `trans_b` say that f16 or
    bf16 in shared memory is MN-major; a tile says so itself. `a_k_offset` and `b_k_offset` are
    bytes that an address is moved by, for the next values of K: `tile.k_offset(16)`. "b1" is the
    type of single bits.

    One `wgmma.mma_async`. For each tile four instructions more, that of its descriptor; for each
    descriptor with an offset one `add`; one `setp` where `scale_d` is not a predicate register.
    """
    trace = current("ptx.wgmma.mma_async")
    m, n, k = _checked_shape(shape)
    names = tuple(str(dtype) for dtype in (dtype_d, dtype_a, dtype_b))
    operands: list[Raw] = [raw(trace, list(d))]
    check_elements(trace, "d", [r.register for r in d if isinstance(r, Reg)], names[0])  # pyright: ignore[reportUnnecessaryIsInstance]
    in_registers = not isinstance(a, SharedTile | Reg)
    if in_registers:
        operands.append(raw(trace, list(a)))
        check_elements(trace, "a", [r.register for r in a if isinstance(r, Reg)], names[1])  # pyright: ignore[reportUnnecessaryIsInstance]
        if trans_a or a_k_offset:
            raise LanguageError(
                "A in registers is not transposed, and begins where it begins", location=caller()
            )
    else:
        found, trans_a = _shared(
            trace, "a", a, dtype=names[1], trans=trans_a, offset=a_k_offset, least=_ROWS
        )
        operands.append(found)
    found, trans_b = _shared(
        trace, "b", b, dtype=names[2], trans=trans_b, offset=b_k_offset, least=n
    )
    operands.append(found)
    operands.append(_scale(trace, scale_d))
    operands += _immediates(names[1], scale_a, scale_b, None if in_registers else trans_a, trans_b)
    saturating = ".satfinite" if satfinite else ""
    counted = ".and.popc" if names[1] == "b1" else ""
    spelling = f"wgmma.mma_async.sync.aligned.m{m}n{n}k{k}{saturating}.{'.'.join(names)}{counted}"
    trace.write(spelling, *operands, guard=guard(trace, pred))


def _checked_shape(shape: object) -> tuple[int, int, int]:
    if isinstance(shape, str):
        match = _SHAPE.fullmatch(shape)
        shape = match.groups() if match else ()
        return _three([int(part) for part in shape])
    listed = list(cast("Sequence[object]", shape)) if isinstance(shape, tuple | list) else []
    return _three([integer(extent) for extent in listed])


def _three(extents: Sequence[int | None]) -> tuple[int, int, int]:
    whole = [extent for extent in extents if extent is not None]
    if len(whole) != 3 or len(extents) != 3:
        raise LanguageError(
            "shape= of ptx.wgmma.mma_async is (64, n, k)",
            location=caller(),
            notes=(("help", 'shape=(64, 128, 16) or shape="m64n128k16"'),),
        )
    return whole[0], whole[1], whole[2]


def _shared(
    trace: Trace,
    name: str,
    value: SharedTile | Reg,
    *,
    dtype: str,
    trans: int | None,
    offset: int,
    least: int,
) -> tuple[Raw, int]:
    """The descriptor of a multiplicand in shared memory, and whether it is MN-major."""
    if isinstance(value, SharedTile):
        matrix = matrix_of(value, "ptx.wgmma.mma_async")
        _check_major(name, matrix, dtype, trans)
        _check_tile(name, value, matrix.mn, dtype, least)
        checked_offset(matrix, offset)
        address, start = beginning(trace, value, matrix)
        bits = _bits(matrix, start + offset)
        return add_start(trace, address, bits), int(matrix.major is Major.MN)
    if not isinstance(value, Reg):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LanguageError(
            f"{name}= of ptx.wgmma.mma_async is shared memory or a descriptor, not {value!r}",
            location=caller(),
            notes=(("help", "smem.wgmma_tile(...), ptx.wgmma.descriptor(tile)"),),
        )
    return _moved(trace, value, offset), int(trans or 0)


def _moved(trace: Trace, described: Reg, offset: int) -> Raw:
    register = own(trace, described)
    if not offset:
        return register
    with layout_errors():
        step = encoded("a descriptor's offset", offset)
    moved = trace.register(b64)
    trace.write("add.u64", moved, register, Number(step))
    return moved


def _check_major(name: str, matrix: Multiplicand, dtype: str, trans: int | None) -> None:
    major = int(matrix.major is Major.MN)
    if trans is not None and int(trans) != major:
        raise LanguageError(
            f"trans_{name}={trans}, but the tile is laid out with major={matrix.major.value!r}",
            location=caller(),
            notes=(("help", f"leave trans_{name}= out: a tile says so itself"),),
        )
    if major and dtype not in _TRANSPOSED:
        raise _k_alone(dtype)


def _k_alone(dtype: str) -> LanguageError:
    return LanguageError(
        f"wgmma reads .{dtype} with major='K' alone",
        location=caller(),
        notes=(("legal for 'MN'", ".f16 .bf16"),),
    )


def _check_tile(name: str, tile: SharedTile, mn: int, dtype: str, least: int) -> None:
    bits = {"b1": tile.dtype.bits, "tf32": 32, "f16": 16, "bf16": 16}.get(dtype, 8)
    if tile.dtype.bits != bits or (tile.dtype.name in _TRANSPOSED and tile.dtype.name != dtype):
        raise LanguageError(
            f"{name}= holds .{tile.dtype}, and dtype_{name} is .{dtype}", location=caller()
        )
    if mn < least:
        raise LanguageError(
            f"{name}= has {mn} {'rows' if name == 'a' else 'columns'}, and the instruction "
            f"reads {least}",
            location=caller(),
        )


def _scale(trace: Trace, scale: object) -> Raw:
    if isinstance(scale, Reg | Not):
        return own(trace, materialise(scale))
    if not isinstance(scale, bool | int):
        raise LanguageError(
            f"scale_d={scale!r} is not whether D is added",
            location=caller(),
            notes=(("legal", "True, False, a predicate"),),
        )
    fixed = Reg(trace, trace.register(predicate))
    move(fixed, scale)
    return fixed.register


def _immediates(
    dtype: str, scale_a: int, scale_b: int, trans_a: int | None, trans_b: int
) -> list[Raw]:
    if dtype in _INTEGER:
        if (scale_a, scale_b) != (1, 1):
            raise LanguageError("wgmma negates no integers", location=caller())
        return []
    found: list[Raw] = [Number(scale_a), Number(scale_b)]
    if dtype in _TRANSPOSED:
        found += [] if trans_a is None else [Number(trans_a)]
        found.append(Number(trans_b))
    elif trans_a or trans_b:
        raise _k_alone(dtype)
    return found


# ---- ordering ------------------------------------------------------------------------------------


def fence() -> None:
    """Order registers and shared memory before the next `mma_async`. One `wgmma.fence`."""
    current("ptx.wgmma.fence").write("wgmma.fence.sync.aligned")


def commit_group() -> None:
    """Put the multiplications since the last group into a group. One `wgmma.commit_group`."""
    current("ptx.wgmma.commit_group").write("wgmma.commit_group.sync.aligned")


def wait_group(n: int = 0) -> None:
    """Wait until at most `n` of the latest groups are under way. One `wgmma.wait_group`."""
    current("ptx.wgmma.wait_group").write("wgmma.wait_group.sync.aligned", Number(n))
