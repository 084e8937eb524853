"""`ptx.tensormap`: tensor maps that a kernel changes, for tensors that the host does not know.

A kernel copies a map to shared memory, modifies it there, and copies it to global memory, where
copies read it. Copies read maps through the tensormap proxy, so the thread that modifies a map must
release it, and the threads that use it must acquire it. Source: PTX ISA, "tensormap.replace",
"tensormap.cp_fenceproxy" and, under "membar / fence", the fences of the tensormap proxy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx._isa.given import Number, Raw
from pyptx._isa.special import SPECIAL
from pyptx._layouts import Layout, OobFill
from pyptx._layouts.tensor_map import ELEMENT_TYPES, MAP_ALIGN, MAP_BYTES, MAX_RANK
from pyptx._operands import Address, Register, Symbol, Variable
from pyptx._source import caller
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.values import Not, Reg, guard, own, raw
from pyptx._trace.memory.fence import checked_scope
from pyptx._trace.tensors.tensor_map import TensorMapReg
from pyptx.errors import LanguageError
from pyptx.types import DType, b32, u32, u64

Value = int | Reg
Values = Sequence[Value | None]

_LANES: Final = 32
_WORD: Final = 4


def copy(dst: object, src: Reg) -> None:
    """Copy the 128 bytes of a tensor map to shared memory, by all lanes of a warp.

    `src` is what `X.tma_desc()` gives, `dst` 128 bytes of shared memory at a multiple of 128, for
    example `smem.alloc(u32, 32, align=128)`. Eight instructions; the last orders the lanes.
    """
    trace = current("ptx.tensormap.copy")
    to, where = _shared(trace, dst, "ptx.tensormap.copy"), own(trace, src)
    lane, step, base = (trace.register(t) for t in (u32, u64, u64))
    trace.write("mov.u32", lane, SPECIAL["laneid"].operand)
    trace.write("mul.wide.u32", step, lane, Number(_WORD))
    trace.write("add.u64", base, where, step)
    word = trace.register(b32)
    trace.write("ld.b32", word, Address(base))
    first, place = trace.register(u32), trace.register(u32)
    if isinstance(to.base, Register):
        trace.write("mov.u32", first, to.base)
    else:
        assert isinstance(to.base, Variable)
        trace.write("mov.u32", first, Symbol(to.base))
    trace.write("mad.lo.u32", place, lane, Number(_WORD), first)
    trace.write("st.shared.b32", Address(place, to.offset), word)
    trace.write("bar.warp.sync", Number((1 << _LANES) - 1))


def replace(
    tensor_map: object,
    *,
    global_address: Value | None = None,
    rank: int | None = None,
    global_dim: Values | None = None,
    global_stride: Values | None = None,
    box_dim: Values | None = None,
    element_stride: Values | None = None,
    elemtype: DType | None = None,
    layout: Layout | None = None,
    fill_mode: OobFill | None = None,
    pred: Reg | Not | None = None,
) -> None:
    """Change fields of a map in shared memory, or in global memory at a 64-bit address.

    global_address  where the tensor is, a 64-bit register
    rank            its number of axes, 1 to 5
    global_dim      its sizes, box_dim those of the box, element_stride every how many elements
                    along each axis a copy takes one: 32-bit registers or ints in the order of the
                    axes, None for one that stays as it is
    global_stride   bytes from one index to the next, of all axes but the last: 64-bit registers or
                    ints
    elemtype        the type of its elements; layout and fill_mode as in `X.tma_desc`

    One `tensormap.replace` for each value, two for a layout; `pred` is that of each. One thread
    runs it (sm_90a, sm_100f, sm_110f, sm_120f).
    """
    trace = current("ptx.tensormap.replace")
    what = "ptx.tensormap.replace"
    place, space = _place(trace, tensor_map, what)
    held = guard(trace, pred)

    def write(field: str, bits: int, *operands: Raw) -> None:
        trace.write(f"tensormap.replace.tile.{field}.{space}.b1024.b{bits}", place, *operands,
                    guard=held)  # fmt: skip

    if global_address is not None:
        write("global_address", 64, raw(trace, global_address))
    if rank is not None:
        if not 1 <= rank <= MAX_RANK:
            raise LanguageError(
                f"rank={rank}; tensor maps have rank 1 to {MAX_RANK}", location=caller()
            )
        write("rank", 32, Number(rank - 1))
    for field, bits, values in (
        ("global_dim", 32, global_dim),
        ("global_stride", 64, global_stride),
        ("box_dim", 32, box_dim),
        ("element_stride", 32, element_stride),
    ):
        for ordinal, value in _ordinals(field, values):
            write(field, bits, Number(ordinal), raw(trace, value))
    if elemtype is not None:
        if elemtype.name not in ELEMENT_TYPES:
            raise LanguageError(
                f"tensor maps have no elements of type {elemtype}",
                location=caller(),
                notes=(("legal", " ".join(ELEMENT_TYPES)),),
            )
        write("elemtype", 32, Number(ELEMENT_TYPES[elemtype.name]))
    if layout is not None:
        write("interleave_layout", 32, Number(layout.interleave.value))
        write("swizzle_mode", 32, Number(layout.swizzle.value))
    if fill_mode is not None:
        write("fill_mode", 32, Number(fill_mode.value))


def cp_fenceproxy(dst: Reg, src: object, *, scope: str = "gpu") -> None:
    """Copy a map from shared to global memory and release it, by all lanes of a warp together.

    `dst` is its 64-bit global address, a multiple of 128; who copies through the map acquires it
    first: `ptx.fence.proxy_tensormap_acquire`. One `tensormap.cp_fenceproxy`.
    """
    trace = current("ptx.tensormap.cp_fenceproxy")
    source = _shared(trace, src, "ptx.tensormap.cp_fenceproxy")
    trace.write(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release."
        f"{checked_scope(scope)}.sync.aligned",
        Address(own(trace, dst)),
        source,
        Number(MAP_BYTES),
    )


def at(address: Reg, like: TensorMapReg) -> TensorMapReg:
    """A map in global memory that has the box, layout and type of another. No instruction.

    For copies through a map whose tensor alone was changed: `.bytes`, `.shape` and the checks while
    tracing are those of `like`.
    """
    trace = current("ptx.tensormap.at")
    register = own(trace, address)
    trace.map_registers[register] = like.map
    return TensorMapReg(trace, register, like.map)


def _ordinals(field: str, values: Values | None) -> list[tuple[int, Value]]:
    """What changes of a field, by the instruction's numbers, which begin with the last axis."""
    if values is None:
        return []
    most = MAX_RANK - 1 if field == "global_stride" else MAX_RANK
    if not 1 <= len(values) <= most:
        raise LanguageError(
            f"{field}= has {len(values)} values, and there are 1 to {most}",
            location=caller(),
            notes=(("help", "one for each axis, None for what stays as it is"),),
        )
    return [(i, value) for i, value in enumerate(reversed(values)) if value is not None]


def _place(trace: Trace, tensor_map: object, what: str) -> tuple[Raw, str]:
    """The address operand of a map that is changed, and its state space."""
    found = raw(trace, tensor_map)
    if isinstance(found, Register) and found.dtype.bits == 64:
        return Address(found), "global"
    if isinstance(found, Address) and isinstance(found.base, Register):
        wide = found.base.dtype.bits == 64
        return found, "global" if wide else "shared::cta"
    return _shared(trace, tensor_map, what), "shared::cta"


def _shared(trace: Trace, place: object, what: str) -> Address:
    """128 bytes of shared memory. Raises LanguageError for anything else."""
    found = raw(trace, place)
    if isinstance(found, Symbol) and isinstance(found.of, Variable):
        found = Address(found.of, found.offset)
    if isinstance(found, Register) and found.dtype.bits == 32:
        found = Address(found)
    if isinstance(found, Address):
        base = found.base
        narrow = isinstance(base, Register) and base.dtype.bits == 32
        if narrow or (isinstance(base, Variable) and base.space == "shared"):
            return found
    raise LanguageError(
        f"{what} takes a tensor map in shared memory, not {place!r}",
        location=caller(),
        notes=(("help", f"smem.alloc(u32, {MAP_BYTES // _WORD}, align={MAP_ALIGN})"),),
    )
