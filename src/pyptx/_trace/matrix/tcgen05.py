"""`ptx.tcgen05`: tensor cores of the fifth generation and Tensor Memory (sm_100a and its family).

Multiplicands are `smem.wgmma_tile`s or lie in Tensor Memory. A 32-bit instruction descriptor, an
int that is made while tracing, gives their types and the product's shape. Source: PTX ISA,
"TensorCore 5th Generation Family Instructions".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from pyptx._isa.given import Number, Raw
from pyptx._layouts import Swizzle
from pyptx._layouts.descriptor import instruction_descriptor as encode
from pyptx._layouts.descriptor import tcgen05_matrix
from pyptx._layouts.matrix import Major, Multiplicand
from pyptx._operands import Address, Register, Symbol
from pyptx._source import SourceLocation, caller
from pyptx._trace.core.context import Block, Trace, current
from pyptx._trace.core.indexing import index_register
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Not, Reg, guard, integer, materialise, move, own, raw
from pyptx._trace.matrix.multiplicand import (
    add_start,
    beginning,
    check_pattern,
    matrix_of,
    shared_address,
)
from pyptx._trace.memory.layout import checked_major, checked_swizzle, layout_errors
from pyptx.errors import LanguageError
from pyptx.types import DType, b32
from pyptx.types import pred as predicate

Group: TypeAlias = Literal[1, 2]
Registers: TypeAlias = "RegArray | Sequence[Reg]"

LANES: Final = 128
COLUMNS: Final = 512
_ALLOCATED: Final = (32, 64, 128, 256, 512)
_PER_COUNT: Final = {"32x32b": 1, "16x64b": 1, "16x32bx2": 1, "16x128b": 2, "16x256b": 4}


# ---- Tensor Memory -------------------------------------------------------------------------------


@dataclass(slots=True)
class TensorMemory:
    """Columns of Tensor Memory, 32 bits each in 128 lanes, whose address lies in shared memory."""

    trace: Trace
    slot: Symbol | Address
    columns: int
    cta_group: Group = 1
    _freed: tuple[SourceLocation, tuple[Block, ...]] | None = field(default=None, repr=False)

    def address(self) -> TensorMemoryReg:
        """Load the address of the first column (b32), behind the barrier after `alloc`.

        One `ld.shared`.
        """
        self.check()
        found = TensorMemoryReg(self, self.trace.register(b32))
        where = self.slot
        if isinstance(where, Symbol):
            where = Address(where.of, where.offset)
        self.trace.write("ld.shared.b32", found.register, where)
        return found

    def free(self, where: SourceLocation) -> None:
        """Note that what follows in this block finds the memory freed."""
        self.check()
        self._freed = where, tuple(self.trace.blocks)

    def check(self) -> None:
        """Raise LanguageError where the memory was freed in this block, or around it."""
        if current("Tensor Memory") is not self.trace:
            raise LanguageError("Tensor Memory of another kernel is used here", location=caller())
        if self._freed is None:
            return
        line, blocks = self._freed
        if tuple(self.trace.blocks[: len(blocks)]) == blocks:
            raise LanguageError(
                "this Tensor Memory is freed already",
                location=caller(),
                notes=(("freed at", str(line)),),
            )


class TensorMemoryReg(Reg):
    """An address in Tensor Memory that is known to belong to an allocation."""

    __slots__ = ("memory",)

    def __init__(self, memory: TensorMemory, register: Register) -> None:
        super().__init__(memory.trace, register)
        self.memory = memory


def _tmem(trace: Trace, taddr: Reg) -> Register:
    """The register of an address. Raises LanguageError where its memory is freed already."""
    if isinstance(taddr, TensorMemoryReg):
        taddr.memory.check()
    return own(trace, taddr)


def _b32(trace: Trace, taddr: Reg) -> Register:
    """`_tmem` in a register of untyped bits, which `tcgen05.mma` needs: one `mov` for others."""
    register = _tmem(trace, taddr)
    if register.dtype.is_bits or register.dtype.bits != 32:
        return register
    bits = trace.register(b32)
    trace.write("mov.b32", bits, register)
    return bits


def alloc(tmem_addr: object, ncols: int, *, cta_group: Group = 1) -> TensorMemory:
    """Allocate `ncols` columns (32, 64, 128, 256 or 512); the address goes to shared memory.

    `tmem_addr` is 4 bytes of shared memory, for example `smem.alloc(u32, 1)`. One warp runs it, of
    two CTAs where `cta_group` is 2; others load the address after a barrier:
    `taddr = memory.address()`. Until columns are free it waits. One `tcgen05.alloc`.
    """
    trace = current("ptx.tcgen05.alloc")
    columns = _columns(ncols)
    where = raw(trace, tmem_addr)
    if not isinstance(where, Symbol | Address | Register):
        raise LanguageError(
            f"ptx.tcgen05.alloc writes the address to shared memory, not to {tmem_addr!r}",
            location=caller(),
            notes=(("help", "smem.alloc(u32, 1)"),),
        )
    slot = Address(where) if isinstance(where, Register) else where
    trace.write(
        f"tcgen05.alloc.{_group(cta_group)}.sync.aligned.shared::cta.b32", slot, Number(columns)
    )
    return TensorMemory(trace, slot, columns, cta_group)


def dealloc(taddr: Reg, ncols: int | None = None, *, cta_group: Group = 1) -> None:
    """Free columns, by the warp that allocated them.

    `taddr` is what `TensorMemory.address` gave, which knows the columns and the group of CTAs; of
    an address from elsewhere they are given. What uses the memory after it, in this block, is a
    LanguageError. One `tcgen05.dealloc`.
    """
    trace = current("ptx.tcgen05.dealloc")
    register = _tmem(trace, taddr)
    if isinstance(taddr, TensorMemoryReg):
        memory = taddr.memory
        if ncols not in (None, memory.columns):
            raise LanguageError(
                f"{memory.columns} columns were allocated here, not {ncols}", location=caller()
            )
        columns, cta_group = memory.columns, memory.cta_group
        memory.free(caller())
    else:
        columns = _columns(ncols)
    group = _group(cta_group)
    trace.write(f"tcgen05.dealloc.{group}.sync.aligned.b32", register, Number(columns))


def relinquish_alloc_permit(*, cta_group: Group = 1) -> None:
    """Promise that this CTA allocates no more. One `tcgen05.relinquish_alloc_permit`."""
    trace = current("ptx.tcgen05.relinquish_alloc_permit")
    trace.write(f"tcgen05.relinquish_alloc_permit.{_group(cta_group)}.sync.aligned")


def at(taddr: Reg, *, lane: int | Reg = 0, column: int = 0) -> Reg:
    """An address in Tensor Memory: so many lanes and columns from `taddr` on.

    The high half of an address counts lanes, of which a warp reaches the 32 of its number in the
    warpgroup, the low half columns. One `add`, or none; one `mad.lo` more for a lane in a 32-bit
    register.
    """
    trace = current("ptx.tcgen05.at")
    fixed = 0 if isinstance(lane, Reg) else lane
    if not (0 <= fixed < LANES and 0 <= column < COLUMNS):
        raise LanguageError(
            f"Tensor Memory has no lane {fixed}, column {column}",
            location=caller(),
            notes=(("legal", f"lanes 0 to {LANES - 1}, columns 0 to {COLUMNS - 1}"),),
        )
    register = _tmem(trace, taddr)
    if isinstance(lane, Reg):
        moved, index = trace.register(b32), index_register(trace, lane, "Tensor Memory")
        trace.write("mad.lo.u32", moved, index, Number(1 << 16), register)
        register = moved
    if fixed or column:
        moved = trace.register(b32)
        trace.write("add.u32", moved, register, Number(fixed << 16 | column))
        register = moved
    if isinstance(taddr, TensorMemoryReg):
        return TensorMemoryReg(taddr.memory, register)
    return Reg(trace, register)


def _columns(ncols: object) -> int:
    found = integer(ncols)
    if found not in _ALLOCATED:
        raise LanguageError(
            f"Tensor Memory is not allocated in {ncols!r} columns",
            location=caller(),
            notes=(("legal", " ".join(map(str, _ALLOCATED))),),
        )
    return found


def _group(cta_group: object) -> str:
    if cta_group not in (1, 2):
        raise LanguageError(
            f"cta_group={cta_group!r} is no group of CTAs",
            location=caller(),
            notes=(("legal", "1 2"),),
        )
    return f"cta_group::{cta_group}"


# ---- descriptors ---------------------------------------------------------------------------------


def descriptor(
    addr: object,
    *,
    k: int = 0,
    mn: int | Reg = 0,
    byte_offset: int = 0,
    stride_bytes: int | None = None,
    leading_bytes: int = 16,
    swizzle: Swizzle | str = Swizzle.B128,
    base_offset: int = 0,
    lbo_mode: int = 0,
) -> Reg:
    """The shared memory descriptor (u64) of a `smem.wgmma_tile`, from these K and M or N on.

    With `stride_bytes`, of any address: shared memory or a 32-bit register, `byte_offset` further,
    with these offsets in bytes and this swizzle. Three instructions, `bfe`, `cvt` and `add`; a
    `mov` before them unless the address is in a register, one `mad.lo` for `mn` in a register.
    """
    trace = current("ptx.tcgen05.descriptor")
    if stride_bytes is not None:
        address, offset = shared_address(trace, addr)
        mode = checked_swizzle(swizzle)
        check_pattern(addr, mode, offset + byte_offset, base_offset)
        with layout_errors():
            bits = tcgen05_matrix(
                leading=leading_bytes,
                stride=stride_bytes,
                swizzle=mode,
                base_offset=base_offset,
                start=offset + byte_offset,
                lbo_mode=lbo_mode,
            )
        return Reg(trace, add_start(trace, address, bits))
    matrix = matrix_of(addr, "ptx.tcgen05.descriptor")
    _check_major(matrix)
    address, offset = beginning(trace, addr, matrix, k=k, mn=mn)  # pyright: ignore[reportArgumentType]
    with layout_errors():
        bits = tcgen05_matrix(
            leading=matrix.leading_bytes,
            stride=matrix.stride_bytes,
            swizzle=matrix.layout.swizzle,
            start=offset + byte_offset,
        )
    return Reg(trace, add_start(trace, address, bits))


def _check_major(matrix: Multiplicand) -> None:
    """Table "Valid combinations of type-size, major-ness and swizzling"."""
    if matrix.major is Major.MN and matrix.layout.element_bytes not in (1, 2):
        raise LanguageError(
            f"tcgen05 reads values of {8 * matrix.layout.element_bytes} bits with major='MN' only "
            "in a swizzle with atoms of 32 bytes",
            location=caller(),
            notes=(("help", "major='K', or values of 8 or 16 bits"),),
        )


def instruction_descriptor(
    kind: str,
    *,
    m: int,
    n: int,
    a: DType | str,
    b: DType | str,
    d: DType | str | None = None,
    a_major: str = "K",
    b_major: str = "K",
    cta_group: int = 1,
    ws: bool = False,
    negate_a: bool = False,
    negate_b: bool = False,
    saturate: bool = False,
    sparse: bool = False,
    sparsity_selector: int = 0,
    max_shift: int = 0,
    scale: DType | str = "",
    scale_a_id: int = 0,
    scale_b_id: int = 0,
    k: int | None = None,
) -> int:
    """The instruction descriptor of a `.kind`, an int; no instruction.

    `kind` is "f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4" or "mxf4nvf4"; `a`, `b` and `d` are
    types, `d` f32 (i8: s32) where it is left out. `scale` is the type of the factors of a scaled
    kind, `scale_a_id` and `scale_b_id` say which bytes of the scales' columns are used. `k` is only
    needed for K = 96 of the 4-bit kinds. What the manual's table of shapes lacks is an error.
    """
    with layout_errors():
        return encode(
            kind,
            m=m,
            n=n,
            a=str(a),
            b=str(b),
            d=str(d) if d is not None else "s32" if kind == "i8" else "f32",
            cta_group=cta_group,
            ws=ws,
            transpose_a=checked_major(a_major) is Major.MN,
            transpose_b=checked_major(b_major) is Major.MN,
            negate_a=negate_a,
            negate_b=negate_b,
            saturate=saturate,
            sparse=sparse,
            sparsity_selector=sparsity_selector,
            max_shift=max_shift,
            scale=str(scale),
            scale_a_id=scale_a_id,
            scale_b_id=scale_b_id,
            k=k,
        )


def make_instr_desc_f16bf16_f32(
    *, m: int = 128, n: int = 256, ab_dtype: DType | str = "bf16", a_major: str = "K",
    b_major: str = "K", cta_group: int = 1,
) -> int:  # fmt: skip
    """`instruction_descriptor` of kind::f16 with both types alike, added in f32."""
    return instruction_descriptor(
        "f16", m=m, n=n, a=ab_dtype, b=ab_dtype, a_major=a_major, b_major=b_major,
        cta_group=cta_group,
    )  # fmt: skip


# ---- multiplication ------------------------------------------------------------------------------


def mma(
    d: Reg,
    a: Reg,
    b_desc: Reg,
    idesc: int | Reg,
    *,
    kind: str = "f16",
    cta_group: Group = 1,
    enable_input_d: bool | Reg | Not = True,
    scale_input_d: int | None = None,
    a_is_tmem: bool = False,
    ws: bool = False,
    sparse_metadata: Reg | None = None,
    scale_a: Reg | None = None,
    scale_b: Reg | None = None,
    scale_vector: str = "",
    disable_output_lane: Registers | None = None,
    ashift: bool = False,
    collector: str = "",
    pred_operand: Reg | Not | None = None,
    pred: Reg | Not | None = None,
) -> None:
    """D = A * B, plus D where `enable_input_d` holds, in Tensor Memory, without waiting.

    One thread issues it. `d` is an address in Tensor Memory, `a` a descriptor or with `a_is_tmem`
    an address there, `b_desc` a descriptor, `idesc` of `instruction_descriptor`. A sparse A comes
    with `sparse_metadata`, a scaled kind with `scale_a` and `scale_b`, all in Tensor Memory, and
    `scale_vector`, "scale_vec::2X" or "block16" for example. `scale_input_d` n divides D by 2**n.
    `disable_output_lane` is four registers (eight for two CTAs) of bits; `collector` is
    "a::fill" or, with `ws`, "b0::use", and the like.

    One `tcgen05.mma`; one `setp` more where `enable_input_d` is a bool, and one `mov` for an
    address in a register of a 32-bit integer type. `pred_operand` is another name of
    `enable_input_d`, which is then left out. `commit` makes an mbarrier
    follow it.
    """
    trace = current("ptx.tcgen05.mma")
    scaled = scale_a is not None or scale_b is not None
    modifiers = [
        *(["ws"] if ws else []),
        *(["sp"] if sparse_metadata is not None else []),
        _group(cta_group),
        f"kind::{kind}",
        *(["block_scale"] if scaled else []),
        *([scale_vector] if scale_vector else []),
        *(["ashift"] if ashift else []),
        *([f"collector::{collector}"] if collector else []),
    ]
    operands: list[Raw] = [Address(_b32(trace, d))]
    operands.append(Address(_b32(trace, a)) if a_is_tmem else own(trace, a))
    operands.append(own(trace, b_desc))
    operands += [] if sparse_metadata is None else [Address(_b32(trace, sparse_metadata))]
    operands.append(raw(trace, idesc))
    operands += [Address(_b32(trace, s)) for s in (scale_a, scale_b) if s is not None]
    if disable_output_lane is not None:
        operands.append(raw(trace, list(disable_output_lane)))
    enable = enable_input_d if pred_operand is None else pred_operand
    operands.append(_enabled(trace, enable))
    operands += [] if scale_input_d is None else [Number(scale_input_d)]
    trace.write(f"tcgen05.mma.{'.'.join(modifiers)}", *operands, guard=guard(trace, pred))


def _enabled(trace: Trace, enable: object) -> Register:
    if isinstance(enable, Reg | Not):
        return own(trace, materialise(enable))
    if not isinstance(enable, bool):
        raise LanguageError(
            f"enable_input_d={enable!r} is not whether D is added",
            location=caller(),
            notes=(("legal", "True, False, a predicate"),),
        )
    fixed = Reg(trace, trace.register(predicate))
    move(fixed, enable)
    return fixed.register


def commit(
    mbar: object,
    *,
    cta_group: Group = 1,
    multicast_mask: int | Reg | None = None,
    pred: Reg | Not | None = None,
) -> None:
    """Arrive at an mbarrier once this thread's multiplications and copies so far are complete.

    With a `multicast_mask`, at the mbarrier in this place of every CTA of the cluster whose bit is
    set. One `tcgen05.commit`.
    """
    trace = current("ptx.tcgen05.commit")
    masks = () if multicast_mask is None else (raw(trace, multicast_mask),)
    multicast = ".multicast::cluster" if masks else ""
    trace.write(
        f"tcgen05.commit.{_group(cta_group)}.mbarrier::arrive::one.shared::cluster{multicast}.b64",
        raw(trace, mbar),
        *masks,
        guard=guard(trace, pred),
    )


# ---- moving data ---------------------------------------------------------------------------------


def ld(
    dst: Registers | None,
    taddr: Reg,
    *,
    shape: str = "32x32b",
    count: int = 1,
    dtype: DType = b32,
    pack: bool = False,
    split: int | None = None,
) -> Registers:
    """Load registers of a warp from its 32 lanes of Tensor Memory; new ones of `dtype` for None.

    With "32x32b", lane l gets column i of its lane in register i, of `count` columns. `count` is a
    power of two; "16x128b" has two registers each, "16x256b" four, the others one. `pack` puts two
    values of 16 bits into a register; `split` is the second half's column of "16x32bx2". The
    registers are there after `wait_ld`. One `tcgen05.ld`.
    """
    trace = current("ptx.tcgen05.ld")
    number = _held(shape, count)
    if dst is None:
        dst = RegArray([Reg(trace, trace.register(dtype)) for _ in range(number)])
    registers = tuple(own(trace, register) for register in dst)
    packed = ".pack::16b" if pack else ""
    splits = () if split is None else (Number(split),)
    trace.write(
        f"tcgen05.ld.sync.aligned.{shape}.x{count}{packed}.b32",
        registers,
        Address(_tmem(trace, taddr)),
        *splits,
    )
    return dst


def st(
    taddr: Reg,
    src: Registers,
    *,
    shape: str = "32x32b",
    count: int = 1,
    unpack: bool = False,
    split: int | None = None,
) -> None:
    """Store registers of a warp, as `ld` loads them; they are there after `wait_st`.

    One `tcgen05.st`.
    """
    trace = current("ptx.tcgen05.st")
    _held(shape, count)
    registers = tuple(own(trace, register) for register in src)
    unpacked = ".unpack::16b" if unpack else ""
    splits = () if split is None else (Number(split),)
    trace.write(
        f"tcgen05.st.sync.aligned.{shape}.x{count}{unpacked}.b32",
        Address(_tmem(trace, taddr)),
        *splits,
        registers,
    )


def _held(shape: str, count: int) -> int:
    """Registers of a thread. Raises LanguageError for another shape."""
    if shape not in _PER_COUNT:
        raise LanguageError(
            f"shape={shape!r} is no shape of Tensor Memory's loads and stores",
            location=caller(),
            notes=(("legal", " ".join(f'"{name}"' for name in _PER_COUNT)),),
        )
    return _PER_COUNT[shape] * count


def cp(
    taddr: Reg,
    desc: Reg,
    *,
    size: str = "128x256b",
    multicast: str = "",
    fmt: str = "",
    cta_group: Group = 1,
    pred: Reg | Not | None = None,
) -> None:
    """Copy a matrix in shared memory, by its descriptor, to Tensor Memory, without waiting.

    `size` is "128x256b", "4x256b", "128x128b", "64x128b" or "32x128b"; `multicast` "warpx2::02_13"
    or "warpx2::01_23" for 64 lanes, "warpx4" for 32. `fmt` "b6x16_p32" or "b4x16_p64" widens to
    bytes. One `tcgen05.cp`.
    """
    trace = current("ptx.tcgen05.cp")
    parts = [_group(cta_group), size, *([multicast] if multicast else [])]
    parts += ["b8x16", fmt] if fmt else []
    operands = Address(_tmem(trace, taddr)), own(trace, desc)
    trace.write(f"tcgen05.cp.{'.'.join(parts)}", *operands, guard=guard(trace, pred))


def shift(taddr: Reg, *, cta_group: Group = 1, pred: Reg | Not | None = None) -> None:
    """Move rows of Tensor Memory down by one. One `tcgen05.shift`."""
    trace = current("ptx.tcgen05.shift")
    spelling = f"tcgen05.shift.{_group(cta_group)}.down"
    trace.write(spelling, Address(_tmem(trace, taddr)), guard=guard(trace, pred))


# ---- ordering ------------------------------------------------------------------------------------


def wait_ld() -> None:
    """Wait until this thread's loads are complete. One `tcgen05.wait::ld`."""
    current("ptx.tcgen05.wait_ld").write("tcgen05.wait::ld.sync.aligned")


def wait_st() -> None:
    """Wait until this thread's stores are complete. One `tcgen05.wait::st`."""
    current("ptx.tcgen05.wait_st").write("tcgen05.wait::st.sync.aligned")


def fence_before_thread_sync() -> None:
    """What this thread issued comes before the next barrier. One `tcgen05.fence`."""
    trace = current("ptx.tcgen05.fence_before_thread_sync")
    trace.write("tcgen05.fence::before_thread_sync")


def fence_after_thread_sync() -> None:
    """What this thread issues comes after the barrier before it. One `tcgen05.fence`."""
    trace = current("ptx.tcgen05.fence_after_thread_sync")
    trace.write("tcgen05.fence::after_thread_sync")
