"""`ptx.math`: functions of f32 registers, each with the greatest error that it can have.

Every function takes a register, which it keeps, and returns a new one. Errors are against the exact
value of the function of the f32 that the register holds. They are the manual's bounds for the
`.approx` instructions plus what the arithmetic around them adds, rounded up, so they hold on every
device. A relative error is one of the exact value, and the least denormal, 2^-149, is allowed on
top of it. At 0 and at the infinities the functions give their limits, and NaN for NaN. Inputs and
results may be denormal, unless a function says that they are zero then (`.ftz`). The arithmetic is
`.rn`, so no assembler fuses it. `fast=True` takes fewer instructions and is less exact.

The range reduction of `exp` is that of W. Cody and W. Waite, "Software Manual for the Elementary
Functions" (1980): a multiple of ln 2 in two parts. Polynomials are minimax fits of the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx._isa.given import Number
from pyptx._operands import Register
from pyptx._source import caller
from pyptx._trace.arithmetic.narrow import COUNTS
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.values import Reg, own
from pyptx.errors import LanguageError
from pyptx.types import DType, b32, f32, f64, pred

_LN2: Final = 0.6931471824645996
_LOG2E: Final = 1.4426950216293335
# exp(x) = 2^m 2^m exp(x - 2 m ln 2): with m up to 75 in magnitude, m times the upper part is exact.
_TWO_LN2: Final = (1.38629150390625, 2.857213530660374e-06)
# 1.5 * 2^23 puts the whole number of a sum into its last bits; 127 more make them an exponent.
_WHOLE: Final = 12582912.0 + 127.0
_SIGN: Final = 0x80000000
_OF_F64: Final = ("sqrt", "rsqrt", "reciprocal")

# (log(1 + r) - r) / r^2, |r| <= 0.25
_LOG: Final = (
    -0.5, 0.33333662152290344, -0.25000497698783875, 0.19958508014678955, -0.1662067174911499,
    0.1558530479669571, -0.1376277357339859,
)  # fmt: skip
# (tanh(x) - x) / x^3 of x^2, |x| <= 0.6
_TANH: Final = (
    -0.3333333134651184, 0.13332915306091309, -0.053873978555202484, 0.021111099049448967,
    -0.006269312463700771,
)  # fmt: skip
# erf(x) / x of x^2, |x| <= 0.6
_ERF: Final = (
    1.1283791065216064, -0.37612512707710266, 0.112809918820858, -0.026646984741091728,
    0.004512355662882328,
)  # fmt: skip
# exp(a^2 / 2) erfc(a / sqrt 2) / (2 t) of t = 1 / (1 + 0.35 a), 0 <= a <= 15
_TAIL: Final = (
    0.13962125778198242, 0.13986432552337646, 0.11981555819511414, 0.10557454079389572,
    -0.02326318435370922, 0.15939192473888397, -0.2559009790420532, 0.14406035840511322,
    -0.02916383184492588,
)  # fmt: skip


# ---- powers and logarithms -----------------------------------------------------------------------


def exp(x: Reg, *, fast: bool = False) -> Reg:
    """e^x. 11 instructions; relative error 4e-7.

    `fast`: 2 instructions, `mul` and `ex2.approx.ftz`; relative error 3e-7 + 8e-8 |x|, and
    denormal results are zero.
    """
    trace, source = _taken("exp", x)
    return Reg(trace, (_fast_exp if fast else _exp)(trace, source))


def exp2(x: Reg) -> Reg:
    """2^x. One `ex2.approx`: 2 units in the last place, so relative error 2.4e-7."""
    trace, source = _taken("exp2", x)
    return Reg(trace, _new(trace, "ex2.approx.f32", source))


def log(x: Reg, *, fast: bool = False) -> Reg:
    """The natural logarithm. 14 instructions; relative error 9e-7, also near 1.

    -inf at 0, NaN below. `fast`: 2 instructions, `lg2.approx` and `mul`; absolute error 2.4e-7
    from 0.5 to 2, so near 1 no digit need be right; relative error 4e-7 elsewhere.
    """
    trace, source = _taken("log", x)
    whole = _new(trace, "mul.rn.f32", _new(trace, "lg2.approx.f32", source), _LN2)
    if fast:
        return Reg(trace, whole)
    rest = _new(trace, "add.rn.f32", source, -1.0)
    scaled = _new(trace, "mul.rn.f32", _polynomial(trace, rest, _LOG), rest)
    near = _new(trace, "fma.rn.f32", scaled, rest, rest)
    is_near = _test(trace, "setp.lt.f32", _new(trace, "abs.f32", rest), 0.25)
    return Reg(trace, _new(trace, "selp.f32", near, whole, is_near))


def log2(x: Reg) -> Reg:
    """The logarithm to base 2. One `lg2.approx`: -inf at 0, NaN below.

    Absolute error 2.4e-7 (2^-22) from 0.5 to 2, relative error 2.4e-7 elsewhere.
    """
    trace, source = _taken("log2", x)
    return Reg(trace, _new(trace, "lg2.approx.f32", source))


# ---- roots and reciprocals -----------------------------------------------------------------------


def sqrt(x: Reg, *, fast: bool = False) -> Reg:
    """The square root, of f32 or f64. One `sqrt.rn`, rounded correctly; NaN below 0.

    `fast`, of f32: one `sqrt.approx`; relative error 1.2e-7.
    """
    trace, source = _taken("sqrt", x, double=not fast)
    how = "approx" if fast else "rn"
    return Reg(trace, _new(trace, f"sqrt.{how}.{x.dtype}", source))


def rsqrt(x: Reg) -> Reg:
    """1 / sqrt(x), of f32 or f64. One `rsqrt.approx`; relative error 1.3e-7, of f64 2.3e-16.

    inf at 0, -inf at -0, NaN below.
    """
    trace, source = _taken("rsqrt", x, double=True)
    return Reg(trace, _new(trace, f"rsqrt.approx.{x.dtype}", source))


def reciprocal(x: Reg, *, fast: bool = False) -> Reg:
    """1 / x, of f32 or f64. One `rcp.rn`, rounded correctly.

    `fast`, of f32: one `rcp.approx`; 1 unit in the last place, relative error 1.2e-7.
    """
    trace, source = _taken("reciprocal", x, double=not fast)
    how = "approx" if fast else "rn"
    return Reg(trace, _new(trace, f"rcp.{how}.{x.dtype}", source))


# ---- sigmoids ------------------------------------------------------------------------------------


def sigmoid(x: Reg, *, fast: bool = False) -> Reg:
    """1 / (1 + e^-x). 17 instructions; relative error 7e-7, also where it is near 0.

    `fast`: 8 instructions; relative error 8e-7 + 8e-8 |x|, and denormal results are zero.
    """
    trace, source = _taken("sigmoid", x)
    power = (_fast_exp if fast else _exp)(trace, _minus_abs(trace, source))
    inverse = _one_over_one_plus(trace, power)
    positive = _test(trace, "setp.ge.f32", source, 0.0)
    return Reg(
        trace,
        _new(trace, "mul.rn.f32", _new(trace, "selp.f32", 1.0, power, positive), inverse),
    )


def silu(x: Reg, *, fast: bool = False) -> Reg:
    """x * sigmoid(x), 0 at -inf. 18 instructions; relative error 7e-7.

    Below -87.3, where sigmoid(x) is denormal, its last place counts: 1e-43 on top of that.
    `fast`: 9 instructions; relative error 8e-7 + 8e-8 |x|, and 0 below -87.3.
    """
    trace, source = _taken("silu", x)
    minus = _minus_abs(trace, source)
    power = (_fast_exp if fast else _exp)(trace, minus)
    weight = _new(trace, "mul.rn.f32", power, _one_over_one_plus(trace, power))
    return Reg(trace, _gated(trace, source, minus, weight))


def tanh(x: Reg, *, fast: bool = False) -> Reg:
    """The hyperbolic tangent. 16 instructions; relative error 6e-7, also near 0.

    `fast`: one `tanh.approx` (sm_75); relative error 4.9e-4 (2^-11).
    """
    trace, source = _taken("tanh", x)
    if fast:
        return Reg(trace, _new(trace, "tanh.approx.f32", source))
    size = _new(trace, "abs.f32", source)
    power = _new(trace, "ex2.approx.ftz.f32", _new(trace, "mul.rn.f32", size, 2 * _LOG2E))
    far = _new(trace, "fma.rn.f32", _one_over_one_plus(trace, power), -2.0, 1.0)
    square = _new(trace, "mul.rn.f32", source, source)
    scaled = _new(trace, "mul.rn.f32", _polynomial(trace, square, _TANH), square)
    near = _new(trace, "fma.rn.f32", scaled, size, size)
    is_near = _test(trace, "setp.lt.f32", size, 0.6)
    chosen = _new(trace, "selp.f32", near, far, is_near)
    return Reg(trace, _new(trace, "copysign.f32", source, chosen))


# ---- the error function --------------------------------------------------------------------------


def erf(x: Reg) -> Reg:
    """The error function. 25 instructions; relative error 7e-7, also near 0."""
    trace, source = _taken("erf", x)
    minus = _minus_abs(trace, source)
    square = _new(trace, "mul.rn.f32", source, source)
    tail = _tail(trace, minus, square, -0.4949747323989868, -_LOG2E)
    far = _new(trace, "copysign.f32", source, _new(trace, "fma.rn.f32", tail, -2.0, 1.0))
    near = _new(trace, "mul.rn.f32", _polynomial(trace, square, _ERF), source)
    is_near = _test(trace, "setp.gt.f32", minus, -0.6)
    return Reg(trace, _new(trace, "selp.f32", near, far, is_near))


def gelu(x: Reg) -> Reg:
    """x * (1 + erf(x / sqrt 2)) / 2, 0 at -inf. 19 instructions.

    Relative error 8e-7 + 1e-7 x^2 below 0, so the tail keeps its digits; 8e-7 above. Below -12.9,
    where a denormal is multiplied by x, 2e-44 on top of that.
    """
    trace, source = _taken("gelu", x)
    minus = _minus_abs(trace, source)
    square = _new(trace, "mul.rn.f32", source, source)
    tail = _tail(trace, minus, square, -0.3499999940395355, -_LOG2E / 2)
    return Reg(trace, _gated(trace, source, minus, tail))


def gelu_tanh(x: Reg) -> Reg:
    """x * (1 + tanh(y)) / 2 of y = sqrt(2 / pi) (x + 0.044715 x^3), 0 at -inf. 11 instructions.

    Relative error 8e-7 + 5e-7 |y| below 0, 8e-7 above. Below -9.9, where a denormal is multiplied
    by x, 6e-44 on top of that.
    """
    trace, source = _taken("gelu_tanh", x)
    minus = _minus_abs(trace, source)
    square = _new(trace, "mul.rn.f32", source, source)
    slope = _new(trace, "fma.rn.f32", square, 0.10294324159622192, 2.302208185195923)
    power = _new(trace, "ex2.approx.f32", _new(trace, "mul.rn.f32", slope, minus))
    weight = _new(trace, "mul.rn.f32", power, _one_over_one_plus(trace, power))
    return Reg(trace, _gated(trace, source, minus, weight))


# ---- what they are made of -----------------------------------------------------------------------


def _taken(name: str, value: object, *, double: bool = False) -> tuple[Trace, Register]:
    """The register that a function takes. Raises LanguageError for another type than its own."""
    what = f"ptx.math.{name}"
    trace = current(what)
    if not isinstance(value, Reg):
        raise LanguageError(
            f"{what} takes a register, not {value!r}",
            location=caller(),
            notes=(("help", "math.exp and the like compute with Python numbers"),),
        )
    if value.dtype is f32 or (double and value.dtype is f64):
        return trace, own(trace, value)
    help_ = _advice(value.dtype, double=name in _OF_F64)
    raise LanguageError(
        f"{what} has no instructions for .{value.dtype}",
        location=caller(),
        notes=(("legal", "f32 f64" if double else "f32"), *((("help", help_),) if help_ else ())),
    )


def _advice(dtype: DType, *, double: bool) -> str:
    """What to write for a register of another type; nothing where there is no one way."""
    if dtype is f64:
        if double:
            return "leave fast= out: it is for f32 alone"
        return "PTX has no such function of f64; in f32: ptx.inst.cvt.rn.f32.f64(r)"
    if dtype is b32:
        return "say that the bits are an f32: reg.from_(r, f32)"
    if dtype.is_integer:
        return f"convert it: ptx.inst.cvt.rn.f32.{dtype}(r)"
    if dtype in COUNTS:
        return "convert it: ptx.to_f32(r), and back with ptx.from_f32"
    return ""


def _new(trace: Trace, spelling: str, *sources: Register | float) -> Register:
    """One instruction into a new f32 register, or one of the type that the spelling ends in."""
    result = trace.register(f64 if spelling.endswith("f64") else f32)
    given = (Number(each) if isinstance(each, (int, float)) else each for each in sources)
    trace.write(spelling, result, *given)
    return result


def _test(trace: Trace, spelling: str, source: Register, bound: float) -> Register:
    holds = trace.register(pred)
    trace.write(spelling, holds, source, Number(bound))
    return holds


def _polynomial(trace: Trace, x: Register, coefficients: Sequence[float]) -> Register:
    """Horner's scheme, lowest coefficient first: one `fma` less than there are coefficients."""
    *rest, last = coefficients
    total: Register | float = last
    for coefficient in reversed(rest):
        total = _new(trace, "fma.rn.f32", x, total, coefficient)
    assert isinstance(total, Register)
    return total


def _minus_abs(trace: Trace, x: Register) -> Register:
    """-|x|. One `or` of the sign."""
    return _new(trace, "or.b32", x, _SIGN)


def _fast_exp(trace: Trace, x: Register) -> Register:
    return _new(trace, "ex2.approx.ftz.f32", _new(trace, "mul.rn.f32", x, _LOG2E))


def _exp(trace: Trace, x: Register) -> Register:
    """e^x in 11 instructions: 2^m 2^m e^r with m whole and |r| at most ln 2.

    m is of a clamped x, r of x itself, so the infinities and NaN pass through r. 2^m is never
    denormal: the last product alone rounds, and alone overflows.
    """
    bounded = _new(trace, "min.f32", _new(trace, "max.f32", x, -104.0), 89.0)
    shifted = _new(trace, "fma.rn.f32", bounded, _LOG2E / 2, _WHOLE)
    m = _new(trace, "add.rn.f32", shifted, -_WHOLE)
    rest = x
    for part in _TWO_LN2:
        rest = _new(trace, "fma.rn.f32", m, -part, rest)
    power = _new(trace, "ex2.approx.ftz.f32", _new(trace, "mul.rn.f32", rest, _LOG2E))
    scale = _new(trace, "shl.b32", shifted, 23)
    return _new(trace, "mul.rn.f32", _new(trace, "mul.rn.f32", power, scale), scale)


def _one_over_one_plus(trace: Trace, x: Register) -> Register:
    """1 / (1 + x) for x from 0 to inf. Two instructions."""
    return _new(trace, "rcp.approx.ftz.f32", _new(trace, "add.rn.f32", x, 1.0))


def _gated(trace: Trace, x: Register, minus: Register, weight: Register) -> Register:
    """max(x, 0) - |x| * weight: x times 1 - weight above 0, times weight below. Three instructions.

    The weight is 0 long before |x| is 200, so bounding it keeps inf * 0 away and changes nothing.
    """
    bounded = _new(trace, "max.f32", minus, -200.0)
    return _new(trace, "fma.rn.f32", bounded, weight, _new(trace, "max.f32", x, 0.0))


def _tail(
    trace: Trace, minus: Register, square: Register, slope: float, exponent: float
) -> Register:
    """erfc(a / sqrt 2) / 2 for a >= 0, given -a and a^2, or multiples that the factors undo.

    14 instructions. The relative error is that of the exponent, and so it grows with a^2.
    """
    inverse = _new(trace, "rcp.approx.ftz.f32", _new(trace, "fma.rn.f32", minus, slope, 1.0))
    scaled = _new(trace, "mul.rn.f32", _polynomial(trace, inverse, _TAIL), inverse)
    power = _new(trace, "ex2.approx.f32", _new(trace, "mul.rn.f32", square, exponent))
    return _new(trace, "mul.rn.f32", scaled, power)
