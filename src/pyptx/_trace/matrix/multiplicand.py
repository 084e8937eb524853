"""Multiplicands in shared memory: from a tile to the start address of its descriptor."""

from __future__ import annotations

from pyptx._isa.given import Number
from pyptx._layouts.descriptor import ADDRESS_BITS
from pyptx._layouts.matrix import MatrixLayout, Multiplicand
from pyptx._layouts.swizzle import LINE_BYTES, Swizzle
from pyptx._operands import Address, Register, Symbol, Variable
from pyptx._source import caller
from pyptx._trace.core.context import Trace
from pyptx._trace.core.indexing import add_index
from pyptx._trace.core.values import Reg, Value, integer, raw
from pyptx._trace.memory.layout import checked_major, layout_errors
from pyptx._trace.memory.smem import SharedTile
from pyptx.errors import LanguageError
from pyptx.types import DType, u32, u64


def matrix_of(tile: object, what: str) -> Multiplicand:
    """The matrix that a tile is. Raises LanguageError for one without a canonical layout."""
    if not isinstance(tile, SharedTile) or tile.layout is None:
        raise LanguageError(
            f"{what} needs shared memory in a canonical layout",
            location=caller(),
            notes=(("help", 'smem.wgmma_tile(bf16, (64, 64), major="K")'),),
        )
    if len(tile.shape) != 2:
        raise LanguageError(
            f"a tile of shape {tile.shape} has {tile.shape[0]} matrices: {what} takes one",
            location=caller(),
            notes=(("help", "tile[stage]"),),
        )
    return Multiplicand(tile.layout, tile.major)


def multiplicand(dtype: DType, shape: tuple[int, int], major: object) -> Multiplicand:
    """The matrix that `smem.wgmma_tile` would lay out. Raises LanguageError."""
    with layout_errors():
        layout = MatrixLayout.widest(shape[0], shape[1], dtype.bytes)
    return Multiplicand(layout, checked_major(major))


def shared_address(trace: Trace, base: object) -> tuple[Register, int]:
    """An address in shared memory as a register, and bytes beyond it. One `mov`, or none."""
    found = raw(trace, base)
    if isinstance(found, Register):
        return found, 0
    where, offset = None, 0
    if isinstance(found, Symbol):
        where, offset = found.of, found.offset
    elif isinstance(found, Address):
        where, offset = found.base, found.offset
    if isinstance(where, Register):
        return where, offset
    if not isinstance(where, Variable) or where.space != "shared":
        raise LanguageError(
            f"a matrix descriptor is of shared memory, not of {base!r}",
            location=caller(),
            notes=(("help", "smem.alloc(...), or its address in a 32-bit register"),),
        )
    register = trace.register(u32)
    trace.write("mov.u32", register, Symbol(where))
    return register, offset


def check_pattern(base: object, swizzle: Swizzle, offset: int, base_offset: int) -> None:
    """What a descriptor says of shared memory whose layout and alignment are known.

    Raises LanguageError where the data have another swizzle, and where they need not begin at the
    swizzle's pattern. An address in a register is known when the kernel runs. PTX ISA, "Matrix
    Descriptor Format", base offset.
    """
    if isinstance(base, SharedTile) and base.layout is not None and base.swizzle is not swizzle:
        data, said = _mode(base.swizzle), _mode(swizzle)
        raise LanguageError(
            f"this shared memory is laid out with swizzle {data}, and the descriptor says {said}",
            location=caller(),
            notes=(("help", f'swizzle="{data}"'),),
        )
    variable = base.variable if isinstance(base, SharedTile) and base.base is None else base
    if not isinstance(variable, Variable) or swizzle is Swizzle.NONE or base_offset:
        return
    atom, mode = swizzle.atom_bytes, _mode(swizzle)
    if variable.align % atom:
        raise LanguageError(
            f"this shared memory begins at a multiple of {variable.align} bytes, and the pattern "
            f"of swizzle {mode} repeats every {atom}",
            location=caller(),
            notes=(("help", f'smem.alloc(..., swizzle="{mode}"), or align={atom}'),),
        )
    start = offset % atom
    if start >= LINE_BYTES:
        raise LanguageError(
            f"this matrix begins {start} bytes into the pattern of swizzle {mode}, and its base "
            "offset is 0",
            location=caller(),
            notes=(("legal", f"a multiple of {atom} bytes, or base_offset={start // LINE_BYTES}"),),
        )


def _mode(swizzle: Swizzle) -> str:
    """A swizzle as `swizzle=` takes it."""
    return "none" if swizzle is Swizzle.NONE else f"{swizzle.span}B"


def beginning(
    trace: Trace, tile: SharedTile, matrix: Multiplicand, *, k: int = 0, mn: int | Reg = 0
) -> tuple[Register, int]:
    """Where an instruction begins to read: a register, and bytes beyond it."""
    address, offset = shared_address(trace, tile)
    fixed = 0 if isinstance(mn, Value) else mn
    with layout_errors():
        offset += matrix.advance(k=_whole("k", k), mn=_whole("mn", fixed))
    if isinstance(mn, Value):
        address = add_index(trace, address, mn, matrix.mn_bytes, "a matrix")
    return address, offset


def _whole(name: str, value: object) -> int:
    found = integer(value)
    if found is None:
        raise LanguageError(f"{name}={value!r} is not an int", location=caller())
    return found


def checked_offset(matrix: Multiplicand, offset: int) -> None:
    """An offset along K must be where an instruction may begin. Raises LanguageError."""
    legal = [matrix.advance(k=k) for k in range(0, matrix.k, matrix.k_step)]
    if offset not in legal:
        raise LanguageError(
            f"no instruction begins {offset} bytes into this tile",
            location=caller(),
            notes=(
                ("legal", " ".join(map(str, legal))),
                ("help", f"tile.k_offset(k), k a multiple of {matrix.k_step}"),
            ),
        )


def add_start(trace: Trace, address: Register, bits: int) -> Register:
    """A descriptor's bits plus the encoded address: `bfe`, `cvt`, `add`.

    Shared memory has 18 bits of addresses at most, and what is added to them stays inside it, so
    the sum does not leave its field. Of another CTA of a cluster than the first, addresses have the
    rank above them, which descriptors have no place for.
    """
    start, wide, total = trace.register(u32), trace.register(u64), trace.register(u64)
    trace.write("bfe.u32", start, address, Number(4), Number(ADDRESS_BITS - 4))
    trace.write("cvt.u64.u32", wide, start)
    trace.write("add.u64", total, wide, Number(bits))
    return total
