"""Operands as the kinds of a form take them: vectors, labels, functions, parts of registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, cast

from pyptx._isa.address import REFERENCES, address, is_reference, space_of
from pyptx._isa.given import Raw, RawPair, TensorPosition
from pyptx._isa.model import PART_NAMES, PARTS, OperandSpec
from pyptx._isa.operand_types import MismatchError, Typed
from pyptx._isa.scalar import agrees, describe, scalar, wrong_type
from pyptx._operands import (
    Arguments,
    CallTargets,
    FabricHandle,
    FunctionName,
    Immediate,
    Label,
    Minus,
    Operand,
    Pair,
    Part,
    Prototype,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Targets,
    TensorAddress,
    Vector,
)
from pyptx._operands import Scalar as ScalarOperand
from pyptx.types import DTYPES, DType, Kind


def bound_operand(typed: Typed, raw: Raw, depth: int) -> Operand:
    spec = typed.spec
    if spec.kind not in ("value", "immediate"):
        return _OTHERS[spec.kind](typed, raw, depth)
    if isinstance(raw, Pair | RawPair):
        return _pair(typed, raw, depth)
    if typed.length > 1 or spec.braces:
        return _vector(spec, typed.dtype, typed.length, raw, depth)
    if isinstance(raw, tuple) and len(raw) == 1:
        raw = raw[0]
    if isinstance(raw, Part | Minus) or spec.partial or spec.minus == "required":
        return _decorated(spec, typed.dtype, raw, depth)
    if spec.second == "required":
        raise MismatchError(
            depth,
            f"{spec.name} must be a pair d|p, not {describe(raw)}",
            ("help", "ptx.pair(d, p) is a pair of destinations; `|` is the instruction or"),
        )
    if isinstance(raw, Symbol) and typed.spaces and space_of(raw.of) not in typed.spaces:
        raise MismatchError(
            depth, f"{spec.name} must be in .{typed.spaces[0]}, not in .{space_of(raw.of)}"
        )
    return scalar(spec, typed.dtype, raw, depth)


def operand(typed: Typed, raw: Raw) -> Operand | None:
    """What an operand is where a spelling has this one, None where it does not fit."""
    try:
        return bound_operand(typed, raw, 0)
    except MismatchError:
        return None


def _label(typed: Typed, raw: Raw, depth: int) -> Label:
    if isinstance(raw, Label):
        return raw
    raise MismatchError(depth, f"{typed.spec.name} must be a label, not {describe(raw)}")


def _targets(typed: Typed, raw: Raw, depth: int) -> Targets:
    if isinstance(raw, Targets):
        return raw
    raise MismatchError(depth, f"{typed.spec.name} must be a list of labels, not {describe(raw)}")


def _function(typed: Typed, raw: Raw, depth: int) -> FunctionName:
    if isinstance(raw, FunctionName):
        return raw
    raise MismatchError(depth, f"{typed.spec.name} must be a function, not {describe(raw)}")


def _arguments(typed: Typed, raw: Raw, depth: int) -> Arguments:
    if isinstance(raw, Arguments):
        return raw
    raise MismatchError(
        depth, f"{typed.spec.name} must be in parentheses, ({typed.spec.name}), not {describe(raw)}"
    )


def _prototype(typed: Typed, raw: Raw, depth: int) -> Prototype | CallTargets:
    if isinstance(raw, Prototype | CallTargets):
        return raw
    raise MismatchError(
        depth,
        f"{typed.spec.name} must be a .callprototype or .calltargets list, not {describe(raw)}",
    )


def _sink(typed: Typed, raw: Raw, depth: int) -> Sink:
    if isinstance(raw, Sink):
        return raw
    raise MismatchError(
        depth,
        f"the destination must be {typed.spec.written}, not {describe(raw)}",
        ("help", "leave it out, or write ptx.sink"),
    )


def _vector(spec: OperandSpec, dtype: DType, length: int, raw: Raw, depth: int) -> Vector:
    elements: tuple[object, ...]
    if isinstance(raw, tuple):
        elements = raw
    elif isinstance(raw, Vector):
        elements = raw.elements
    else:
        raise MismatchError(depth, f"{spec.name} must be a list of {length}, not {describe(raw)}")
    if len(elements) != length:
        raise MismatchError(
            depth, f"{spec.name} must be a list of {length} elements, not {len(elements)}"
        )
    if spec.first:
        first = _element(spec, DTYPES[spec.first], elements[0], depth)
        rest = _vector(replace(spec, first=""), dtype, length - 1, elements[1:], depth)
        return Vector((first, *rest.elements))
    vector = Vector(tuple(_element(spec, dtype, e, depth) for e in elements))
    _check_mixture(spec, vector, depth)
    return vector


def _check_mixture(spec: OperandSpec, vector: Vector, depth: int) -> None:
    """Registers of one vector have one width, and floats do not stand beside integers."""
    dtypes = {e.dtype for e in vector.elements if isinstance(e, Register)}
    floats = {d for d in dtypes if DTYPES[d.storage].is_float}
    numbers = any(isinstance(e, Immediate) and not e.dtype.is_float for e in vector.elements)
    mixed = floats and (numbers or any(d.is_integer for d in dtypes))
    if mixed or len({d.bits for d in dtypes}) > 1:
        names = " and ".join([*sorted(f".{d}" for d in dtypes), *(["integer"] * numbers)])
        raise MismatchError(
            depth,
            f"the elements of {spec.name} are {names}; they need one type",
            ("help", "reg.array(dtype, n) makes registers of one type"),
        )


def _element(spec: OperandSpec, dtype: DType, raw: object, depth: int) -> ScalarOperand:
    operand = scalar(spec, dtype, raw, depth)
    if isinstance(operand, Register | Immediate | SpecialRegister | Sink):
        return operand
    raise MismatchError(depth, f"{spec.name} cannot hold {describe(raw)}")


def _pair(typed: Typed, raw: Pair | RawPair, depth: int) -> Pair:
    spec, first = typed.spec, raw.first
    if spec.second is None:
        raise MismatchError(depth, f"{spec.name} takes no second destination")
    if isinstance(first, Sink) and isinstance(raw.second, Sink):
        raise MismatchError(depth, f"{spec.name} is _|_; one of the two must be a register")
    if isinstance(raw.second, Register) and raw.second.dtype.kind is not Kind.PREDICATE:
        raise MismatchError(depth, f"the second destination of {spec.name} must be a predicate")
    if typed.length > 1 or spec.braces or isinstance(first, tuple | Vector):
        return Pair(_vector(spec, typed.dtype, typed.length, first, depth), raw.second)
    if isinstance(first, Register) and not agrees(typed.dtype, first.dtype, wider=False):
        raise wrong_type(spec, typed.dtype, first, depth)
    return Pair(first, raw.second)


def _decorated(spec: OperandSpec, dtype: DType, raw: object, depth: int) -> Part | Minus:
    """A source with a minus, or parts of a register, or both."""
    if isinstance(raw, Minus):
        if spec.minus is None:
            helps = ("help", "negate it first: ptx.inst.neg.s32(r)")
            raise MismatchError(depth, f"{spec.name} cannot be negated here", helps)
        of = raw.of
        inside = _part(spec, dtype, of, depth) if isinstance(of, Part) else of
        if isinstance(inside, Register) and not agrees(dtype, inside.dtype, wider=False):
            raise wrong_type(spec, dtype, inside, depth)
        return Minus(inside)
    if spec.minus == "required":
        raise MismatchError(depth, f"{spec.name} must be negated, ptx.minus({spec.name})")
    if isinstance(raw, Part):
        return _part(spec, dtype, raw, depth)
    raise MismatchError(
        depth,
        f"{spec.name} must be a part of a register, not {describe(raw)}",
        ("help", f'ptx.part({spec.name}, "{PARTS[spec.parts][0]}")'),
    )


def _part(spec: OperandSpec, dtype: DType, raw: Part, depth: int) -> Part:
    if not spec.parts:
        raise MismatchError(depth, f"{spec.name} must be a whole register, not {describe(raw)}")
    if raw.lanes not in PARTS[spec.parts]:
        raise MismatchError(
            depth, f"{spec.name} has no part .{raw.lanes}", ("legal", PART_NAMES[spec.parts])
        )
    if not agrees(dtype, raw.register.dtype, wider=False):
        raise wrong_type(spec, dtype, raw.register, depth)
    return raw


def _tensor(typed: Typed, raw: Raw, depth: int) -> TensorAddress:
    spec = typed.spec
    if not isinstance(raw, TensorAddress | TensorPosition):
        what = "a tensor map" if spec.name == "tensorMap" else "a handle"
        raise MismatchError(
            depth,
            f"{spec.name} must be {what} with coordinates, not {describe(raw)}",
            ("help", f"ptx.addr({'handle' if what == 'a handle' else 'tensor_map'}, [x, y])"),
        )
    register = isinstance(raw.map.base, Register)
    if not (register or is_reference(spec, raw.map.base)) or raw.map.offset:
        raise MismatchError(depth, *_wrong_base(spec))
    name = "tensorCoords" if spec.name == "tensorMap" else "the coordinate"
    coordinates = _vector(
        replace(spec, name=name, kind="value"),
        typed.dtype,
        typed.length,
        raw.coordinates,
        depth,
    )
    return TensorAddress(address(typed, raw.map, depth), coordinates, _between(typed, raw, depth))


def _wrong_base(spec: OperandSpec) -> tuple[str, tuple[str, str]]:
    """What is wrong with what stands where the map or the handle does, and what is legal."""
    opaque = REFERENCES.get(spec.name)
    if opaque is None:
        return f"{spec.name} must be the generic address of a tensor map in one register", (
            "help",
            "add an offset to the register, and convert a variable's address with cvta",
        )
    return f"{spec.name} must be a handle in one register, without an offset, or a .{opaque}", (
        "help",
        "a texture or surface object is a handle, a parameter of type .u64",
    )


def _between(
    typed: Typed, raw: TensorAddress | TensorPosition, depth: int
) -> tuple[ScalarOperand | Vector, ...]:
    """What stands between a tensor map or handle and the coordinates."""
    inner = typed.inner
    if not sum(not each.spec.optional for each in inner) <= len(raw.between) <= len(inner):
        raise MismatchError(
            depth,
            f"{typed.spec.name} must be {typed.spec.written}, not with {len(raw.between)} operands "
            "in front of the coordinates",
        )
    pairs = zip(inner, raw.between, strict=False)
    bound = (bound_operand(each, given, depth) for each, given in pairs)
    return tuple(cast("ScalarOperand | Vector", each) for each in bound)


def _fabric(typed: Typed, raw: Raw, depth: int) -> FabricHandle:
    spec, inner = typed.spec, typed.inner
    if not isinstance(raw, FabricHandle):
        names = ", ".join((spec.name, *(each.spec.name for each in inner)))
        raise MismatchError(
            depth,
            f"{spec.written} must be a handle of the fabric, not {describe(raw)}",
            ("help", f"ptx.fabric_handle({names})"),
        )
    if len(raw.offsets) != len(inner):
        problem = f"{spec.written} has {len(inner)} offsets, not {len(raw.offsets)}"
        raise MismatchError(depth, problem)
    endpoint = scalar(replace(spec, kind="value"), typed.dtype, raw.endpoint, depth)
    offsets = (scalar(t.spec, t.dtype, r, depth) for t, r in zip(inner, raw.offsets, strict=True))
    return FabricHandle(cast("Register", endpoint), cast("tuple[Register, ...]", tuple(offsets)))


_OTHERS: Final[dict[str, Callable[[Typed, Raw, int], Operand]]] = {
    "address": address,
    "tensor": _tensor,
    "fabric": _fabric,
    "label": _label,
    "labels": _targets,
    "function": _function,
    "arguments": _arguments,
    "prototype": _prototype,
    "sink": _sink,
}
"""What binds an operand that is no value, by its kind."""
