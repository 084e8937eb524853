"""Addresses as an operand: their base, offset, alignment and state space."""

from __future__ import annotations

from typing import Final

from pyptx._isa.given import Raw
from pyptx._isa.model import OperandSpec
from pyptx._isa.operand_types import MismatchError, Typed
from pyptx._isa.scalar import describe
from pyptx._operands import Address, Immediate, Parameter, Register, Symbol, Variable
from pyptx.types import DType

_OFFSETS: Final = range(-(2**31), 2**31)


def address(typed: Typed, raw: Raw, depth: int) -> Address:
    spec, spaces = typed.spec, typed.spaces
    if isinstance(raw, Register):
        raw = Address(raw)
    if isinstance(raw, Symbol):
        raw = Address(raw.of, raw.offset)
    if not isinstance(raw, Address):
        raise MismatchError(depth, f"{spec.name} must be an address, not {describe(raw)}")
    base = raw.base
    if raw.unified:
        _check_unified(typed, base, depth)
    if raw.offset and spaces == ("handle",):
        raise MismatchError(depth, f"{spec.name} is a handle, which has no offset")
    if raw.offset not in _OFFSETS:
        raise MismatchError(
            depth,
            f"the offset {raw.offset} of {spec.name} does not fit 32 bits",
            ("help", "add it to the register: ptx.addr(base + offset)"),
        )
    if is_reference(spec, base):
        return raw
    if isinstance(base, Variable | Parameter):
        if "variable" not in spec.accepts:
            raise MismatchError(
                depth,
                f"{spec.name} must be an address in a register",
                ("help", "ptx.inst.mov.u32(variable) is its address in shared memory"),
            )
        space = space_of(base)
        if space not in spaces:
            raise MismatchError(
                depth, f"{spec.name} must be an address in .{' or .'.join(spaces)}, not in .{space}"
            )
        _check_position(typed, base, raw.offset, depth)
    elif isinstance(base, Register):
        _check_base(spec, spaces, base.dtype, depth)
    else:
        _check_absolute(spec, spaces, typed.align, base.bits + raw.offset, depth)
    return raw


REFERENCES: Final = {"tex": "texref", "surf": "surfref"}


def is_reference(spec: OperandSpec, base: object) -> bool:
    """Whether it is a variable or parameter that is a reference to a texture or surface."""
    return isinstance(base, Variable | Parameter) and base.opaque == REFERENCES.get(spec.name, "-")


def _check_unified(
    typed: Typed, base: Register | Variable | Parameter | Immediate, depth: int
) -> None:
    """What `.unified` behind an address needs (PTX ISA, "ld")."""
    spec = typed.spec
    if not spec.unified or not {"global", "generic"} & set(typed.spaces):
        raise MismatchError(
            depth,
            f"{spec.name} cannot be .unified here",
            ("legal", "weak loads of global memory: ld.global.f32 d, [a].unified"),
        )
    if isinstance(base, Variable) and not any(a.startswith("unified") for a in base.attributes):
        raise MismatchError(
            depth,
            f"{spec.name} is .unified, and {base.name} is not",
            ("write", f".attribute(.unified(1, 2)) in the declaration of {base.name}"),
        )


def space_of(of: Variable | Parameter) -> str:
    return of.space if isinstance(of, Variable) else "param"


def _check_position(typed: Typed, base: Variable | Parameter, offset: int, depth: int) -> None:
    """An access at a constant offset of a variable or parameter must be aligned and inside."""
    spec, access, needed = typed.spec, typed.access, typed.align
    if not needed:
        return
    align = base.align if isinstance(base, Variable) else base.alignment
    size = base.size or offset + access  # the size of an external array is not known here
    named = (
        f"{base.name or f'the {base.space} memory'}" if isinstance(base, Variable) else base.name
    )
    if access and not 0 <= offset <= size - access:
        raise MismatchError(
            depth,
            f"{spec.name} is {access} bytes at offset {offset} of {named}, which has {size} bytes",
        )
    if offset % needed:
        raise _misaligned(spec, needed, f"offset {offset} of {named}", depth)
    if align % needed:
        raise MismatchError(
            depth,
            f"{spec.name} needs {needed}-byte alignment, and {named} has {align}",
            ("help", f"smem.alloc(..., align={needed})"),
        )


def _misaligned(spec: OperandSpec, align: int, where: str, depth: int) -> MismatchError:
    what = f"{spec.name} needs" if spec.align else f"an access of {align} bytes needs"
    return MismatchError(
        depth,
        f"{spec.name} is misaligned: {where} is no multiple of {align}",
        ("help", f"{what} an address that is a multiple of {align}"),
    )


def _check_absolute(
    spec: OperandSpec, spaces: tuple[str, ...], align: int, position: int, depth: int
) -> None:
    if spaces != ("local",):
        raise MismatchError(
            depth,
            f"{spec.name} cannot be a number: only .local has constant addresses",
            ("help", "put it in a register: ptx.addr(reg.from_(address, u64))"),
        )
    if align and position % align:
        raise _misaligned(spec, align, str(position), depth)


def _check_base(spec: OperandSpec, spaces: tuple[str, ...], dtype: DType, depth: int) -> None:
    whole = dtype.is_integer or dtype.is_bits
    if spaces == ("handle",):
        if dtype.bits != 64 or not whole:
            raise MismatchError(
                depth, f"{spec.name} is a handle and needs a 64-bit register, not a .{dtype} one"
            )
        return
    if spaces == ("tmem",):
        # tcgen05.mma does not assemble with registers of 32-bit integers; what has one address does
        if dtype.bits != 32 or not (whole if spec.name == "taddr" else dtype.is_bits):
            raise MismatchError(
                depth,
                f"{spec.name} is an address in Tensor Memory and needs a .b32 register, "
                f"not a .{dtype} one",
                ("help", "ptx.inst.mov.b32(r)"),
            )
        return
    if not whole or dtype.bits not in (32, 64):
        raise MismatchError(
            depth, f"{spec.name} needs a 64-bit address register, not a .{dtype} one"
        )
    if dtype.bits == 32 and not set(spaces) & {"shared", "local", "param", "const"}:
        raise MismatchError(
            depth, f"an address in .{spaces[0]} needs a 64-bit register, not a .{dtype} one"
        )
