"""`ptx.to_f32`, `ptx.from_f32`: registers of narrow types as f32 registers, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn, cast

from pyptx._isa.given import Number
from pyptx._operands import Register
from pyptx._source import caller
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Reg, checked_dtype, own
from pyptx.errors import LanguageError
from pyptx.types import (
    DTYPES,
    DType,
    bf16,
    bf16x2,
    e2m1x2,
    e2m3x2,
    e2m3x4,
    e3m2x2,
    e3m2x4,
    e4m3x2,
    e4m3x4,
    e5m2x2,
    e5m2x4,
    f16,
    f16x2,
    f32,
    ue8m0x2,
)

# Pairs of fewer than 16 bits, and the pair of 16 bits that each is converted to exactly.
_PAIRS: Final = {
    e4m3x2: f16x2, e5m2x2: f16x2, e2m3x2: f16x2, e3m2x2: f16x2, e2m1x2: f16x2, ue8m0x2: bf16x2,
}  # fmt: skip
_FOURS: Final = (e4m3x4, e5m2x4, e2m3x4, e3m2x4)
COUNTS: Final = {  # numbers in a register of each type
    **dict.fromkeys((f32, f16, bf16), 1),
    **dict.fromkeys((f16x2, bf16x2, *_PAIRS), 2),
    **dict.fromkeys(_FOURS, 4),
}


def to_f32(value: Reg, dtype: DType | None = None) -> list[Reg]:
    """The numbers of a register as f32 registers, lowest first: exactly, whatever they are.

    `dtype` is what the register holds where its own type is bits (b16, b32).

    | type | registers | instructions |
    |---|---:|---:|
    | f32 | 1 | 0, the register itself |
    | f16, bf16 | 1 | 1 |
    | bf16x2 | 2 | 2 |
    | f16x2 | 2 | 3 |
    | ue8m0x2 | 2 | 3 |
    | e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2 | 2 | 4 |
    | e4m3x4 e5m2x4 e2m3x4 e3m2x4 | 4 | 9 |

    Raises IsaError where the target lacks the `cvt`: bf16 needs sm_80, 8-bit types sm_89, those of
    4 and 6 bits and ue8m0 sm_100f, sm_110f or sm_120f.
    """
    trace = current("ptx.to_f32")
    if not isinstance(value, Reg):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LanguageError(f"ptx.to_f32 takes a register, not {value!r}", location=caller())
    register = own(trace, value)
    held = _held(value, dtype)
    if held is f32:
        return _Numbers([value])
    return _Numbers(Reg(trace, each) for each in _widened(trace, register, held))


class _Numbers(list[Reg]):
    """The registers of `to_f32`: a list, which Python would repeat for `* 2`."""

    def _refuse(self, other: object = None) -> NoReturn:
        del other
        names = ", ".join("abcd"[: len(self)]) + "," * (len(self) == 1)
        raise LanguageError(
            f"ptx.to_f32 gives a list, here of {len(self)}, and lists have no arithmetic",
            location=caller(),
            notes=(("help", f"{names} = ptx.to_f32(r), then arithmetic with each"),),
        )

    __mul__ = __rmul__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = _refuse
    __neg__ = _refuse

    def __radd__(self, other: object) -> Any:
        if isinstance(other, list):  # `values += ptx.to_f32(r)`, which Python has `list` do
            return NotImplemented
        return self._refuse(other)


def from_f32(values: Reg | Sequence[Reg] | RegArray, dtype: DType) -> Reg:
    """f32 registers, lowest first, as one new register of a narrow type, rounded to nearest even.

    One instruction: f16, bf16, f16x2, bf16x2 (where what is too large becomes infinite), e4m3x2,
    e5m2x2, e2m3x2, e3m2x2, e2m1x2 (`.satfinite`: the greatest number instead). Three: e4m3x4,
    e5m2x4, e2m3x4, e3m2x4. None: f32, the register itself. Types of two or four numbers take a
    list of as many.

    Raises IsaError where the target lacks the `cvt`: bf16 and pairs need sm_80, 8-bit types sm_89,
    those of 4 and 6 bits sm_100f, sm_110f or sm_120f.
    """
    trace = current("ptx.from_f32")
    kind = checked_dtype(dtype)
    if kind not in COUNTS or kind is ue8m0x2:
        raise _no_conversion("ptx.from_f32", "to", kind, [t for t in COUNTS if t is not ue8m0x2])
    sources = _sources(trace, values, kind)
    if kind is f32:
        return Reg(trace, sources[0])
    return Reg(trace, _narrowed(trace, sources, kind))


# ---- what they take ------------------------------------------------------------------------------


def _held(value: Reg, dtype: DType | None) -> DType:
    """The type that a register holds. Raises LanguageError where there is no conversion of it."""
    held = value.dtype if dtype is None else checked_dtype(dtype)
    if held not in COUNTS:
        raise _no_conversion("ptx.to_f32", "from", held, list(COUNTS))
    if value.dtype not in (held, DTYPES[held.storage], DTYPES[f"b{held.bits}"]):
        bits = f"b{held.bits}"
        same = value.dtype.bits == held.bits
        raise LanguageError(
            f"a .{value.dtype} register does not hold .{held}",
            location=caller(),
            notes=(
                ("legal", f"{held} {bits}"),
                *((("help", f"copy the bits first: reg.from_(r, {bits})"),) if same else ()),
            ),
        )
    return held


def _no_conversion(what: str, way: str, dtype: DType, legal: Sequence[DType]) -> LanguageError:
    notes = [("legal", " ".join(t.name for t in legal))]
    if dtype.is_bits and way == "from":
        notes.append(("help", "say what the bits are: ptx.to_f32(r, f16x2)"))
    if dtype.is_integer:
        spelled = f"f32.{dtype}" if way == "from" else f"{dtype}.f32"
        rounding = "rn" if way == "from" else "rni"
        notes.append(("help", f"ptx.inst.cvt.{rounding}.{spelled}(r)"))
    if (pair := DTYPES.get(f"{dtype}x2")) in COUNTS:
        made = f"ptx.from_f32([a, b], {pair})"
        notes.append(("help", made if way == "to" else f"ptx.to_f32(X.load(i, dtype={pair}))"))
    return LanguageError(
        f"{what} has no conversion {way} .{dtype}", location=caller(), notes=tuple(notes)
    )


def _sources(trace: Trace, values: object, dtype: DType) -> list[Register]:
    """The f32 registers that a value of this type is made of."""
    many = isinstance(values, (list, tuple, RegArray))
    given = list(cast("Sequence[object]", values)) if many else [values]
    count = COUNTS[dtype]
    if len(given) != count:
        raise LanguageError(
            f".{dtype} is made of {count} f32 registers, not {len(given)}",
            location=caller(),
            notes=(("help", f"ptx.from_f32([{', '.join('xyzw'[:count])}], {dtype})"),),
        )
    for each in given:
        if not isinstance(each, Reg) or each.dtype is not f32:
            found = f"a .{each.dtype} register" if isinstance(each, Reg) else repr(each)
            raise LanguageError(f"ptx.from_f32 takes f32 registers, not {found}", location=caller())
    return [own(trace, cast("Reg", each)) for each in given]


# ---- conversions ---------------------------------------------------------------------------------


def _widened(trace: Trace, register: Register, held: DType) -> list[Register]:
    if held in (f16, bf16):
        return [_new(trace, f32, f"cvt.f32.{held}", register)]
    if held is bf16x2:  # its halves are upper halves of f32
        low = trace.register(f32)
        trace.write("shl.b32", low, register, Number(16))
        high = trace.register(f32)
        trace.write("and.b32", high, register, Number(0xFFFF0000))
        return [low, high]
    if held is f16x2:
        halves = _halves(trace, register, f16)
        return [found for half in halves for found in _widened(trace, half, f16)]
    if held in _FOURS:
        pair = DTYPES[held.name.replace("x4", "x2")]
        halves = _halves(trace, register, pair)
        return [found for half in halves for found in _widened(trace, half, pair)]
    wide = _PAIRS[held]
    return _widened(trace, _new(trace, wide, f"cvt.rn.{wide}.{held}", register), wide)


def _halves(trace: Trace, register: Register, dtype: DType) -> tuple[Register, Register]:
    halves = trace.register(dtype), trace.register(dtype)
    trace.write("mov.b32", halves, register)
    return halves


def _narrowed(trace: Trace, sources: Sequence[Register], dtype: DType) -> Register:
    if dtype in _FOURS:
        pair = DTYPES[dtype.name.replace("x4", "x2")]
        halves = _narrowed(trace, sources[:2], pair), _narrowed(trace, sources[2:], pair)
        result = trace.register(dtype)
        trace.write("mov.b32", result, halves)
        return result
    finite = ".satfinite" if dtype in _PAIRS else ""
    # The first source is the upper half.
    return _new(trace, dtype, f"cvt.rn{finite}.{dtype}.f32", *reversed(sources))


def _new(trace: Trace, dtype: DType, spelling: str, *sources: Register) -> Register:
    result = trace.register(dtype)
    trace.write(spelling, result, *sources)
    return result
