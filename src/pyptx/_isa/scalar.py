"""Registers and constants as an operand of one type takes them."""

from __future__ import annotations

from typing import Final, cast

from pyptx._isa.constants import BadConstantError, constant
from pyptx._isa.given import Number, RawPair, TensorPosition
from pyptx._isa.model import OperandSpec
from pyptx._isa.operand_types import MismatchError
from pyptx._isa.syntax import takes_constant
from pyptx._operands import (
    Address,
    Arguments,
    CallTargets,
    FabricHandle,
    FunctionName,
    Immediate,
    Label,
    Minus,
    Negated,
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
from pyptx.types import DTYPES, DType, Kind


def scalar(spec: OperandSpec, dtype: DType, raw: object, depth: int) -> Operand:
    if isinstance(raw, Register) and spec.kind == "value":
        floats = spec.whole and DTYPES[raw.dtype.storage].is_float
        if agrees(dtype, raw.dtype, wider=spec.wider) and not floats:
            return raw
        raise wrong_type(spec, dtype, raw, depth)
    if isinstance(raw, Immediate):
        return _bits(spec, dtype, raw, depth)
    if isinstance(raw, Number):
        return _constant(spec, dtype, _converted(raw, dtype), depth)
    if isinstance(raw, Negated) and spec.negatable:
        return raw
    if isinstance(raw, Sink) and "sink" in spec.accepts:
        return raw
    if isinstance(raw, SpecialRegister):
        return _special(spec, dtype, raw, depth)
    if (
        isinstance(raw, Symbol | FunctionName)
        and "symbol" in spec.accepts
        and _holds_address(dtype)
    ):
        return raw
    what = "a constant" if spec.kind == "immediate" else f"a .{dtype} register"
    notes = (
        (("help", "negate it first: ptx.inst.not_.pred(p)"),) if isinstance(raw, Negated) else ()
    )
    raise MismatchError(depth, f"{spec.name} must be {what}, not {describe(raw)}", *notes)


def _holds_address(dtype: DType) -> bool:
    return dtype.bits in (32, 64) and (dtype.is_integer or dtype.is_bits)


def _special(
    spec: OperandSpec, dtype: DType, special: SpecialRegister, depth: int
) -> SpecialRegister:
    if "special" not in spec.accepts:
        raise MismatchError(
            depth,
            f"{spec.name} cannot be the special register %{special.name}",
            ("help", f"reg.from_(ptx.special.{special.name}(), {special.dtype})"),
        )
    if not agrees(dtype, special.dtype, wider=spec.wider):
        raise MismatchError(
            depth,
            f"%{special.name} is .{special.dtype}, {spec.name} is .{dtype}",
            ("help", f"ptx.inst.mov.{special.dtype}(ptx.special.{special.name}())"),
        )
    return special


_LEFT_OUT: Final = "leave the destination out to get a new register of the right type"


def _converted(number: Number, dtype: DType) -> object:
    """Source: PTX ISA, "Integer Constants": each is converted to the size where it is used."""
    value = number.value
    if not number.wraps or not isinstance(value, int) or dtype.kind in (Kind.FLOAT, Kind.PREDICATE):
        return value
    low = 0 if dtype.kind is Kind.UNSIGNED else -(1 << (dtype.bits - 1))
    high = 1 << (dtype.bits - 1 if dtype.is_signed else dtype.bits)
    return value if low <= value < high else (value - low) % (1 << dtype.bits) + low


def _constant(spec: OperandSpec, dtype: DType, value: object, depth: int) -> Immediate:
    takes = takes_constant(dtype.name) or spec.type == "pred"
    if spec.kind == "value" and ("immediate" not in spec.accepts or not takes):
        helps = f"put it in a register: reg.scalar({dtype}, init={value!r})"
        raise MismatchError(
            depth,
            f"{spec.name} must be a .{dtype} register, not the constant {value!r}",
            (
                "help",
                helps if spec.access == "in" else _LEFT_OUT,
            ),
        )
    try:
        immediate = constant(value, dtype)
    except BadConstantError as error:
        raise MismatchError(depth, f"{spec.name}: {error}") from None
    # Of a predicate, every number but 0 would be 1.
    found = value if dtype.kind is Kind.PREDICATE else immediate.bits
    if spec.legal is not None and found not in spec.legal:
        raise MismatchError(
            depth, f"{spec.name} must be {_legal_values(spec.legal)}, not {value!r}"
        )
    return immediate


def _bits(spec: OperandSpec, dtype: DType, raw: Immediate, depth: int) -> Immediate:
    """A constant that is spelled as the bits of a float: for that type, or untyped of its width."""
    if spec.legal is not None and raw.bits not in spec.legal:
        raise MismatchError(
            depth, f"{spec.name} must be {_legal_values(spec.legal)}, not {raw.bits}"
        )
    fits = raw.dtype == dtype or (dtype.is_bits and dtype.bits == raw.dtype.bits)
    constant_here = spec.kind == "immediate" or (spec.type == "pred" and spec.accepts)
    if fits and (constant_here or dtype.kind is not Kind.PREDICATE):
        return raw
    raise MismatchError(depth, f"{spec.name} must be .{dtype}, not a .{raw.dtype} constant")


def _legal_values(legal: frozenset[int] | range) -> str:
    if isinstance(legal, range):
        every = f"a multiple of {legal.step} from " if legal.step > 1 else ""
        return f"{every}{legal[0]} to {legal[-1]}"
    return " or ".join(str(v) for v in sorted(legal))


def wrong_type(spec: OperandSpec, dtype: DType, register: Register, depth: int) -> MismatchError:
    return MismatchError(
        depth,
        f"{spec.name} must be a .{dtype} register, not a .{register.dtype} one",
        ("help", conversion(dtype, register.dtype) if spec.access == "in" else _LEFT_OUT),
    )


def conversion(to: DType, source: DType) -> str:
    """How to write a conversion of a register, for a message."""
    if to.kind is Kind.PREDICATE:
        return "compare: r != 0 is a predicate"
    if source.kind is Kind.PREDICATE:
        return f"choose by the predicate: {chosen(to)}"
    into, out_of = (f"u{d.bits}" if d.is_bits else d.name for d in (to, source))
    if into == out_of or not {into, out_of} <= _CONVERTIBLE:
        return _without_cvt(to, source)
    rounding = ""
    if to.is_float and (not source.is_float or source.bits >= to.bits):
        rounding = ".rn"
    elif source.is_float and not to.is_float:
        rounding = ".rzi"
    convert = f"ptx.inst.cvt{rounding}.{into}.{out_of}(r)"
    if to.is_float and source.is_bits and to.bits == source.bits:
        return f"copy its bits: reg.from_(r, {to}); or convert its number: {convert}"
    return f"convert it: {convert}"


def chosen(to: DType) -> str:
    """How to write 1 where a predicate holds and 0 elsewhere, in a type."""
    if to.bits == 8 and not to.is_float:
        return "ptx.inst.selp.u16(1, 0, p)"  # memory of 8 bits takes the low ones
    if to.name in ("f16", "bf16", "tf32", "f16x2", "bf16x2"):
        return f"ptx.where(p, reg.scalar({to}, init=1.0), 0.0)"
    if to.storage != to.name or to.bits == 8:
        return f"ptx.where(p, a, b) of two .{to} registers"
    one, zero = ("1.0", "0.0") if to.is_float else ("1", "0")
    return f"ptx.inst.selp.{to}({one}, {zero}, p)"


def _without_cvt(to: DType, source: DType) -> str:
    """How to write a conversion that no `cvt` between two registers does."""
    pair = f"{to}x2"
    if to.is_float and not to.is_packed and to.bits < 16 and pair in DTYPES:
        return f"convert two numbers of f32 at once: ptx.from_f32([a, b], {pair})"
    if to.name == "f32" and source.name in _WIDENED:
        return "ptx.to_f32(r) is a list of its numbers"
    if to.name == "f32" and f"{source}x2" in DTYPES:
        return f"load two at once: a, b = ptx.to_f32(X.load(i, dtype={source}x2))"
    if to.is_packed and source.is_integer and source.bits == to.bits:
        return f"copy its bits: reg.from_(r, {to})"
    return f"make a register of the type: reg.scalar({to})"


_CONVERTIBLE: Final = frozenset(
    ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16", "f32", "f64")
)


_WIDENED: Final = frozenset(
    f"{name}x{count}"
    for count, names in (
        (2, "f16 bf16 e4m3 e5m2 e2m3 e3m2 e2m1 ue8m0"),
        (4, "e4m3 e5m2 e2m3 e3m2"),
    )
    for name in names.split()
)
"""Packed types that `ptx.to_f32` takes."""


def agrees(instruction: DType, register: DType, *, wider: bool) -> bool:
    """Whether a register may stand where an instruction has this type.

    Source: PTX ISA, "Type Information for Instructions and Operands" and "Operand Size Exceeding
    Instruction-Type Size".
    """
    if instruction == register:
        return True
    if Kind.PREDICATE in (instruction.kind, register.kind):
        return False
    if register.bits != instruction.bits:
        whole = Kind.BITS, Kind.UNSIGNED, Kind.SIGNED
        return (
            wider
            and register.bits > instruction.bits
            and register.bits <= 64
            and register.kind in whole
            and instruction.kind in whole
        )
    if instruction.is_bits or register.is_bits:
        return True
    return instruction.is_integer and register.is_integer


_DESCRIPTIONS: dict[type, str] = {
    Label: "a label",
    Targets: "a list of labels",
    Negated: "a negated predicate",
    Minus: "a negated register",
    Pair: "a pair",
    RawPair: "a pair",
    FabricHandle: "a handle of the fabric",
    Sink: "the sink _",
    Symbol: "the address of a variable",
    Address: "an address",
    TensorAddress: "a position in a tensor",
    TensorPosition: "a position in a tensor",
    FunctionName: "a function",
    Arguments: "a list of arguments",
    Prototype: "a prototype",
    CallTargets: "a list of functions",
}


def describe(raw: object) -> str:
    """What an operand is, in words."""
    if isinstance(raw, Register):
        return f"a .{raw.dtype} register"
    if isinstance(raw, Number):
        return f"the constant {raw.value!r}"
    if isinstance(raw, Part):
        return f"part .{raw.lanes} of a .{raw.register.dtype} register"
    if isinstance(raw, SpecialRegister):
        return f"%{raw.name}"
    if isinstance(raw, tuple):
        return f"a list of {len(cast('tuple[object, ...]', raw))}"
    if isinstance(raw, Vector):
        return f"a list of {len(raw.elements)}"
    return _DESCRIPTIONS.get(type(raw), repr(raw))
