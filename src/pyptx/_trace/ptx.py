"""`ptx`: what a kernel's body is written with.

`ptx.inst.*` appends exactly one instruction. Everything else that appends more says how many.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, SupportsIndex, TypeAlias, overload
from typing import cast as _cast

from pyptx._dims import cdiv
from pyptx._isa.given import Number, RawPair, TensorPosition
from pyptx._operands import Address, FabricHandle, Label, Minus, Pair, Part, Register, Sink
from pyptx._source import caller
from pyptx._target import Target
from pyptx._trace.arithmetic import math
from pyptx._trace.arithmetic.narrow import from_f32, to_f32
from pyptx._trace.arithmetic.where import where
from pyptx._trace.collectives import cluster, cta, warp
from pyptx._trace.control.flow import (
    break_,
    continue_,
    else_,
    if_,
    kloop,
    loop,
    named_label,
    place_label,
    range_,
    ret,
    while_,
)
from pyptx._trace.control.function import (
    call,
    formal,
    func,
    param_register,
    prototype,
    returned,
    returned_register,
)
from pyptx._trace.control.namespace import inst
from pyptx._trace.control.printf import printf
from pyptx._trace.control.raw import raw
from pyptx._trace.control.special import special
from pyptx._trace.core.addresses import address, tensor_position
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.mistakes import public_names, unknown_name
from pyptx._trace.core.older import UsersAddress
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.typed import (
    add,
    and_,
    cvt,
    ld,
    mad,
    mov,
    mul,
    not_,
    or_,
    selp,
    setp,
    shl,
    shr,
    st,
    sub,
    xor_,
)
from pyptx._trace.core.values import Not, Reg, Special, own
from pyptx._trace.core.values import raw as operand
from pyptx._trace.matrix import mma, tcgen05, wgmma
from pyptx._trace.matrix.matrix import ldmatrix, movmatrix, stmatrix
from pyptx._trace.memory import fence, mbarrier
from pyptx._trace.memory.barrier import named_barrier
from pyptx._trace.memory.pipeline import pipeline, ring
from pyptx._trace.memory.variables import address_of, argument, const, global_, local, param, shared
from pyptx._trace.tensors import copy as cp
from pyptx._trace.tensors import modify_map as tensormap
from pyptx._trace.tensors.tensor import global_pointer
from pyptx.errors import LanguageError
from pyptx.types import pred as predicate

__all__ = [
    "add",
    "addr",
    "address_of",
    "and_",
    "argument",
    "bar",
    "bra",
    "break_",
    "call",
    "cdiv",
    "cluster",
    "const",
    "continue_",
    "cp",
    "cta",
    "ctaid_x",
    "ctaid_y",
    "cvt",
    "elect",
    "elect_one",
    "elect_sync",
    "else_",
    "fabric_handle",
    "fence",
    "formal",
    "from_f32",
    "func",
    "global_",
    "global_ptrs",
    "if_",
    "inst",
    "kloop",
    "label",
    "ld",
    "ldmatrix",
    "local",
    "loop",
    "mad",
    "math",
    "mbarrier",
    "minus",
    "mma",
    "mov",
    "movmatrix",
    "mul",
    "named_barrier",
    "not_",
    "or_",
    "pair",
    "param",
    "param_register",
    "part",
    "pipeline",
    "place",
    "pragma",
    "printf",
    "prototype",
    "range_",
    "raw",
    "ret",
    "returned",
    "returned_register",
    "ring",
    "scope",
    "selp",
    "setmaxnreg",
    "setmaxnreg_dec",
    "setmaxnreg_inc",
    "setp",
    "shared",
    "shl",
    "shr",
    "sink",
    "special",
    "sreg",
    "st",
    "stmatrix",
    "sub",
    "target",
    "target_options",
    "tcgen05",
    "tensormap",
    "to_f32",
    "warp",
    "wgmma",
    "where",
    "while_",
    "xor_",
]

Coordinates: TypeAlias = "Sequence[SupportsIndex | Reg] | RegArray"
sink: Final = Sink()
"""`_`: a destination that is discarded."""


def global_ptrs(*tensors: object) -> tuple[Reg, ...]:
    """The global addresses of tensors, u64 each. Two instructions a tensor: load, convert."""
    trace = current("ptx.global_ptrs")
    return tuple(global_pointer(trace, tensor) for tensor in tensors)


@overload
def addr(base: object, offset: SupportsIndex = 0, *, unified: bool = False) -> Address: ...
@overload
def addr(base: object, offset: Coordinates) -> TensorPosition: ...
@overload
def addr(
    base: object, offset: Reg | Coordinates, *more: Reg | SupportsIndex | Coordinates
) -> TensorPosition: ...
def addr(
    base: object, offset: object = 0, *more: object, unified: bool = False
) -> Address | TensorPosition:
    """The address operand `[base + offset]`, the offset an int in bytes. No instruction.

    With `unified`, `[base + offset].unified`: for loads from a variable with that attribute.

    With a list of coordinates, `[tensor_map, {x, y}]`: a position in the tensor of a tensor map,
    whose generic address is in a 64-bit register. Coordinates count elements, innermost first.
    What PTX has in front of them is written there: `ptx.addr(texture, sampler, [x, y])`.
    """
    trace = current("ptx.addr")
    *between, last = (offset, *more)
    if more or isinstance(last, (list, tuple, RegArray)):
        return tensor_position(trace, base, _cast("object", last), between)
    return UsersAddress(address(trace, base, offset, unified=unified), len(trace.body))


def target() -> Target:
    """What the kernel is traced for, such as sm_90a: `str()` of it is its name. No instruction.

    A kernel with `arch="auto"` is traced for each target that it is assembled for, so its body may
    ask `pyptx.device.of(ptx.target())` what that has, and write other instructions.
    """
    return current("ptx.target").target


def fabric_handle(endpoint: Reg, *offsets: Reg) -> FabricHandle:
    """`[leId, dataOff]`: a logical endpoint of the fabric and an offset in bytes. No instruction.

    The endpoint is in a 32-bit register, offsets in 64-bit ones: of the data, and of the counter
    for `.counted::bytes`. Source: PTX ISA, "Fabric Instructions".
    """
    trace = current("ptx.fabric_handle")
    registers = [_register(trace, "ptx.fabric_handle", each) for each in (endpoint, *offsets)]
    return FabricHandle(registers[0], tuple(registers[1:]))


def part(register: Reg, lanes: str) -> Part:
    """`r.h1`: parts of a 32-bit register, as an operand of a video instruction. No instruction.

    `lanes` is what PTX has after the dot: `"b0"` to `"b3"` for a byte, `"h0"`, `"h1"` for a half;
    `"h32"` or `"b7654"` for the lanes of SIMD instructions, highest first, where the second source
    is counted on from the first; `"h10"` or `"b3210"` for the lanes of a destination that are
    written. Source: PTX ISA, "Video Instructions".
    """
    return Part(_register(current("ptx.part"), "ptx.part", register), lanes)


def minus(source: Reg | Part) -> Minus:
    """`-r`: a source that `vmad` negates, a register or a part of one. No instruction."""
    if isinstance(source, Part):
        return Minus(source)
    return Minus(_register(current("ptx.minus"), "ptx.minus", source))


def _register(trace: Trace, what: str, value: object) -> Register:
    if isinstance(value, Reg):
        return own(trace, value)
    raise LanguageError(f"{what} takes registers, not {value!r}", location=caller())


def elect(membermask: int | Reg = 0xFFFFFFFF) -> Reg:
    """A predicate that holds in one lane of those in the mask. One `elect.sync`."""
    trace = current("ptx.elect")
    chosen = Reg(trace, trace.register(predicate))
    mask = operand(trace, membermask)
    trace.write("elect.sync", Pair(Sink(), chosen.register), mask)
    return chosen


elect_one = elect
"""`ptx.elect` by the name that CUTLASS gives it."""


def elect_sync(dst: Reg | Sink, pred_out: Reg, mask: int | Reg = 0xFFFFFFFF) -> Reg:
    """`elect` with its destinations: the lane that was elected, and the predicate.

    One `elect.sync`.
    """
    trace = current("ptx.elect_sync")
    trace.write("elect.sync", pair(dst, pred_out), operand(trace, mask))
    return pred_out


@overload
def pair(first: Reg | Sink, second: Reg | Sink) -> Pair: ...
@overload
def pair(first: Sequence[Reg | Sink] | RegArray, second: Reg | Sink) -> RawPair: ...
def pair(first: Reg | Sink | Sequence[Reg | Sink] | RegArray, second: Reg | Sink) -> Pair | RawPair:
    """`first|second`: two destinations in one operand, as `setp` and `shfl.sync` take them.

    The first may be a list, as for `tex` and `tld4`, whose predicate says that the texels are
    resident.
    """
    trace = current("ptx.pair")
    if isinstance(first, (list, tuple, RegArray)):
        several = tuple(_destination(trace, each) for each in _cast("Sequence[object]", first))
        return RawPair(several, _destination(trace, second))
    return Pair(_destination(trace, first), _destination(trace, second))


def _destination(trace: Trace, value: object) -> Register | Sink:
    if isinstance(value, Reg):
        return own(trace, value)
    if isinstance(value, Sink):
        return value
    raise LanguageError(
        f"ptx.pair takes two registers or ptx.sink, not {value!r}", location=caller()
    )


def setmaxnreg(count: int, *, inc: bool = True) -> None:
    """Have `count` registers a thread in this warpgroup: wait for more, or give some back.

    `count` is a multiple of 8 from 24 to 256, the same in all its warps. One `setmaxnreg`.
    """
    action = "inc" if inc else "dec"
    current("ptx.setmaxnreg").write(f"setmaxnreg.{action}.sync.aligned.u32", Number(count))


def setmaxnreg_inc(count: int) -> None:
    """`setmaxnreg(count)`. One `setmaxnreg`."""
    setmaxnreg(count)


def setmaxnreg_dec(count: int) -> None:
    """`setmaxnreg(count, inc=False)`. One `setmaxnreg`."""
    setmaxnreg(count, inc=False)


def label(name: str | None = None) -> Label:
    """With a name, put the label of that name here; without, a new label for `ptx.place`.

    `ptx.bra` takes both, the name also before the label is placed. No instruction.
    """
    trace = current("ptx.label")
    if name is None:
        return trace.label()
    target = named_label(trace, name)
    place_label(trace, target)
    return target


def place(target: Label) -> None:
    """Put a label here."""
    place_label(current("ptx.place"), target)


def bra(target: Label | str, *, pred: Reg | Not | None = None) -> None:
    """Branch to a label or to the label of a name, in the threads where `pred` holds. One `bra`."""
    inst.bra(target, pred=pred)


@contextmanager
def scope() -> Generator[None]:
    """A block for the reader: registers are never shared, so nothing is appended."""
    current("ptx.scope")
    yield


def pragma(text: str, *, whole: bool = False) -> None:
    """`.pragma` before the instruction that follows, or for the `whole` kernel. No instruction."""
    trace = current("ptx.pragma")
    (trace.kernel_pragmas if whole else trace.pragmas).append(text)


def target_options(*names: str) -> None:
    """Options of the `.target` directive, such as `texmode_unified`. No instruction."""
    options = current("ptx.target_options").module.options
    options += [name for name in names if name not in options]


def sreg(name: str) -> Special:
    """The special register of that name: `ptx.sreg("%tid.x")` is `ptx.special.tid.x()`.

    No instruction. Raises LanguageError for a name that PTX does not have.
    """
    current("ptx.sreg")
    found: Any = special
    for part in name.removeprefix("%").split("."):
        found = getattr(found, part)
    return found()


def ctaid_x() -> Special:
    """`ptx.special.ctaid.x()`. No instruction."""
    return special.ctaid.x()


def ctaid_y() -> Special:
    """`ptx.special.ctaid.y()`. No instruction."""
    return special.ctaid.y()


class _Barrier:
    """`ptx.bar`: barriers of the CTA."""

    def sync(
        self,
        barrier: int | Reg = 0,
        count: int | Reg | None = None,
        *,
        pred: Reg | Not | None = None,
    ) -> None:
        """Wait until all threads (or `count` of them, a multiple of 32) arrive. One `bar.sync`."""
        operands = (barrier,) if count is None else (barrier, count)
        inst.bar.sync(*operands, pred=pred)

    def arrive(
        self, barrier: int | Reg, count: int | Reg, *, pred: Reg | Not | None = None
    ) -> None:
        """Arrive without waiting. One `bar.arrive`."""
        inst.bar.arrive(barrier, count, pred=pred)


bar: Final = _Barrier()


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)


for _module in (cluster, cp, cta, fence, math, mbarrier, mma, tcgen05, tensormap, warp, wgmma):
    vars(_module)["__dir__"] = partial(public_names, _module)
    _called = f"ptx.{'cp' if _module is cp else _module.__name__.rpartition('.')[2]}"
    vars(_module)["__getattr__"] = unknown_name(_called, _module.__name__)
globals()["__getattr__"] = unknown_name("ptx", __name__)
