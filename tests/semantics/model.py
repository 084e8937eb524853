"""What the arithmetic instructions of PTX mean, written from the manual in integers and fractions.

`evaluate(spelling, inputs)` gives the bits of the destinations of one lane. It is the opposite of
the emulator's code in every way: no machine arithmetic, no vectors, no shared trick; slow and
plain.

Where the manual leaves a result open, the choice is one that the assembler's code shows or that
hardware must confirm; each such place says "open:".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Final

from . import unit
from .rationals import (
    BF16,
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E5M2,
    F32,
    F64,
    FORMATS,
    NAN,
    TF32,
    Format,
    Number,
    decode,
    encode,
    floor_log2,
    infinity,
    is_subnormal,
    number,
    round_integer,
    square_root,
)

Bits = tuple[int, ...]
ROUNDINGS: Final = ("rn", "rz", "rm", "rp", "rna")
INTEGRAL: Final = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}
SMALL: Final = {"e4m3x2": E4M3, "e5m2x2": E5M2, "e2m3x2": E2M3, "e3m2x2": E3M2, "e2m1x2": E2M1}


class Spelled:
    """An opcode and its modifiers, asked by name."""

    def __init__(self, spelling: str) -> None:
        self.opcode, *self.modifiers = spelling.split(".")
        self.type = self.modifiers[-1] if self.modifiers else ""

    def __contains__(self, modifier: str) -> bool:
        return modifier in self.modifiers

    @property
    def rounding(self) -> str:
        return next((m for m in self.modifiers if m in ROUNDINGS), "rn")


def bits_of(type_: str) -> int:
    """Width of a scalar type name such as "u16" or "f64"."""
    return 1 if type_ == "pred" else int(type_.lstrip("busfe"))


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))


def limits(type_: str) -> tuple[int, int]:
    bits = bits_of(type_)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)


def as_integer(type_: str, code: int) -> int:
    bits = bits_of(type_)
    return signed(code, bits) if type_[0] == "s" else unsigned(code, bits)


# ---- integers ------------------------------------------------------------------------------------


def truncated_division(a: int, b: int) -> tuple[int, int]:
    quotient = abs(a) // abs(b)
    if (a < 0) != (b < 0):
        quotient = -quotient
    return quotient, a - quotient * b


def integer_two(s: Spelled, a: int, b: int) -> int:
    """Two-operand arithmetic on mathematical integers; the caller wraps the result."""
    bits = bits_of(s.type)
    match s.opcode:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "mul":
            return a * b >> bits if "hi" in s else a * b
        case "div":
            # open: all ones, quotient and remainder alike; the assembler's sequences say so.
            return -1 if b == 0 else truncated_division(a, b)[0]
        case "rem":
            return -1 if b == 0 else truncated_division(a, b)[1]
        case _:
            raise NotImplementedError(s.opcode)


def packed(f: Callable[..., int], bits: int, *operands: int) -> int:
    """f in each part of that many bits of a word."""
    parts = [f(*(x >> at & (1 << bits) - 1 for x in operands)) for at in range(0, 32, bits)]
    return sum(unsigned(part, bits) << bits * k for k, part in enumerate(parts))


def carryless_product(a: int, b: int) -> int:
    product = 0
    for k in range(64):
        product ^= a << k if b >> k & 1 else 0
    return product


def integer_arithmetic(s: Spelled, x: Sequence[int]) -> Bits:
    if s.type[-2:] in ("x2", "x4"):
        element = s.type[:-2]

        def one(a: int, b: int) -> int:
            r = integer_two(
                Spelled(f"{s.opcode}.{element}"), as_integer(element, a), as_integer(element, b)
            )
            r = clamp(r, *limits(element)) if "sat" in s else r
            return max(r, 0) if "relu" in s else r

        return (packed(one, bits_of(element), *x),)
    bits = bits_of(s.type)
    v = [as_integer(s.type, i) for i in x]
    wide = "wide" in s
    if s.opcode in ("mad", "sad"):
        # The third operand of mad.wide is wider, but wraps like the result.
        product = abs(v[0] - v[1]) if s.opcode == "sad" else v[0] * v[1]
        product = product >> bits if "hi" in s else product
        addend = v[2] if not wide else x[2]
        result = product + addend
    else:
        result = integer_two(s, v[0], v[1])
    if "sat" in s:
        result = clamp(result, *limits(s.type))
    if "relu" in s:
        result = max(result, 0)
    return (unsigned(result, 2 * bits if wide else bits),)


def multiply24(s: Spelled, x: Sequence[int]) -> Bits:
    low = [signed(i, 24) if s.type == "s32" else unsigned(i, 24) for i in x[:2]]
    result = low[0] * low[1] >> (16 if "hi" in s else 0)
    result = as_integer(s.type, result)
    if s.opcode == "mad24":
        result += as_integer(s.type, x[2])
    if "sat" in s:
        result = clamp(result, *limits(s.type))
    return (unsigned(result, 32),)


def leading_zeros(value: int, bits: int) -> int:
    return bits - unsigned(value, bits).bit_length()


def bit_find(s: Spelled, x: Sequence[int]) -> Bits:
    bits = bits_of(s.type)
    value = as_integer(s.type, x[0])
    value = ~value if value < 0 else value
    if value == 0:
        return (0xFFFFFFFF,)
    top = value.bit_length() - 1
    return (bits - 1 - top if "shiftamt" in s else top,)


def find_nth_set(mask: int, base: int, offset: int) -> int:
    n = signed(offset, 32)
    positions = [p for p in range(32) if mask >> p & 1]
    if n == 0:
        return base if base in positions else 0xFFFFFFFF
    if n > 0:
        beyond = [p for p in positions if p >= base]
    else:
        beyond = [p for p in reversed(positions) if p <= base]
    return beyond[abs(n) - 1] if abs(n) <= len(beyond) else 0xFFFFFFFF


def bit_field_extract(type_: str, a: int, b: int, c: int) -> int:
    msb = bits_of(type_) - 1
    position, length = b & 0xFF, c & 0xFF
    sign = 0
    if type_[0] == "s" and length:
        sign = a >> min(position + length - 1, msb) & 1
    result = 0
    for i in range(msb + 1):
        bit = a >> (position + i) & 1 if i < length and position + i <= msb else sign
        result |= bit << i
    return result


def bit_field_insert(bits: int, a: int, b: int, c: int, d: int) -> int:
    position, length = c & 0xFF, d & 0xFF
    result = b
    for i in range(length):
        if position + i < bits:
            at = 1 << (position + i)
            result = result & ~at | (at if a >> i & 1 else 0)
    return result


def bit_mask(wrap: bool, a: int, b: int) -> int:
    position, length = (a & 31, b & 31) if wrap else (a, b)
    return sum(1 << i for i in range(32) if position <= i < position + length)


def sign_extend(s: Spelled, a: int, b: int) -> int:
    width = b & 31 if "wrap" in s else min(b, 32)
    if width == 0:
        return 0
    return unsigned(signed(a, width) if s.type == "s32" else unsigned(a, width), 32)


def dot(s: Spelled, x: Sequence[int]) -> Bits:
    kind_a, kind_b = s.modifiers[-2:]
    a, b, c = x

    def part(kind: str, word: int, k: int, bits: int) -> int:
        piece = word >> (bits * k)
        return signed(piece, bits) if kind == "s32" else unsigned(piece, bits)

    if s.opcode == "dp4a":
        products = [part(kind_a, a, k, 8) * part(kind_b, b, k, 8) for k in range(4)]
    else:
        base = 2 if "hi" in s else 0
        products = [part(kind_a, a, k, 16) * part(kind_b, b, base + k, 8) for k in range(2)]
    return (unsigned(c + sum(products), 32),)


def extended(s: Spelled, x: Sequence[int]) -> Bits:
    """Operands and results end with the carry, where the instruction takes or gives one."""
    bits = bits_of(s.type)
    takes = s.opcode.endswith("c")
    carry = x[-1] & 1 if takes else 0
    if s.opcode.startswith("mad"):
        product = as_integer(s.type, x[0]) * as_integer(s.type, x[1])
        total = unsigned(product >> bits if "hi" in s else product, bits) + x[2] + carry
    elif s.opcode.startswith("sub"):
        # open: the manual speaks of a borrow; the assembler's code keeps the carry of a + ~b + 1.
        total = x[0] + unsigned(~x[1], bits) + (carry if takes else 1)
    else:
        total = x[0] + x[1] + carry
    result = unsigned(total, bits)
    return (result, total >> bits) if "cc" in s else (result,)


# ---- floating point ------------------------------------------------------------------------------


def flush(fmt: Format, code: int) -> int:
    return code & fmt.sign_bit if is_subnormal(fmt, code) else code


def saturate(fmt: Format, code: int) -> int:
    """To [0, 1]; NaN and, open: -0, give +0."""
    value = decode(fmt, code)
    if value.nan or value.sign:
        return 0
    return encode(fmt, number(1)) if value.inf or value.magnitude > 1 else code


def is_tiny(fmt: Format, value: Number, mode: str) -> bool:
    """Whether a result is below the least normal value when rounded to the format's digits alone.

    open: so IEEE 754 defines tininess after rounding, and so an H200 does, while a result that
    rounds up to the least normal value only for want of smaller exponents is flushed too.
    """
    if not value.finite:
        return False
    boundless = Format("boundless", 20, fmt.fraction)
    rounded = decode(boundless, encode(boundless, value, mode))
    return rounded.magnitude < Fraction(2) ** (1 - fmt.bias)


NAN_ORDER: Final = {"add": "ba", "sub": "ba", "mul": "ba", "div": "ab", "fma": "bca", "mad": "bca"}
"""open: which operand's NaN an f64 operation gives, the first that is one; an H200's order."""


def nan_code(fmt: Format, opcode: str = "", operands: Sequence[int] = ()) -> int:
    """The NaN of an operation. For f64 an operand's, made quiet, with its sign."""
    if fmt is F64:
        for name in NAN_ORDER.get(opcode, "a") if operands else "":
            code = operands["abc".index(name)]
            if decode(fmt, code).nan:
                return code | 1 << 51
    assert fmt.nan is not None
    return fmt.nan


def add(a: Number, b: Number, mode: str) -> Number:
    if a.nan or b.nan or (a.inf and b.inf and a.sign != b.sign):
        return NAN
    if a.inf or b.inf:
        return a if a.inf else b
    total = a.value + b.value
    if total:
        return number(total)
    if a.zero and b.zero and a.sign == b.sign:
        return a
    return Number(int(mode == "rm"))


def multiply(a: Number, b: Number) -> Number:
    sign = a.sign ^ b.sign
    if a.nan or b.nan or (a.inf and b.zero) or (a.zero and b.inf):
        return NAN
    return infinity(sign) if a.inf or b.inf else Number(sign, a.magnitude * b.magnitude)


def divide(a: Number, b: Number) -> Number:
    sign = a.sign ^ b.sign
    if a.nan or b.nan or (a.inf and b.inf) or (a.zero and b.zero):
        return NAN
    if a.inf or b.zero:
        return infinity(sign)
    return Number(sign) if b.inf else Number(sign, a.magnitude / b.magnitude)


def root(a: Number) -> Number:
    if a.nan or (a.sign and not a.zero):
        return NAN
    return a if a.inf or a.zero else Number(0, square_root(a.magnitude))


def operate(opcode: str, v: Sequence[Number], mode: str) -> Number:
    match opcode:
        case "add":
            return add(v[0], v[1], mode)
        case "sub":
            return add(v[0], -v[1], mode)
        case "mul":
            return multiply(v[0], v[1])
        case "fma" | "mad":
            return add(multiply(v[0], v[1]), v[2], mode)
        case "div":
            return divide(v[0], v[1])
        case "rcp":
            return divide(number(1), v[0])
        case "sqrt":
            return root(v[0])
        case "neg":
            return -v[0]
        case "abs":
            return abs(v[0])
        case _:
            raise NotImplementedError(opcode)


def arithmetic(
    s: Spelled, fmt: Format, codes: Sequence[int], formats: Sequence[Format] = ()
) -> int:
    """One rounded operation, flushed and saturated. `formats`: of the operands, if they differ."""
    sources = list(formats) or [fmt] * len(codes)
    if "ftz" in s:
        codes = [flush(f, c) for f, c in zip(sources, codes, strict=True)]
    values = [decode(f, c) for f, c in zip(sources, codes, strict=True)]
    mode = s.rounding
    result = operate(s.opcode, values, mode)
    if result.nan:
        code = nan_code(fmt, s.opcode, codes)
    elif "ftz" in s and is_tiny(fmt, result, mode):
        code = fmt.sign_bit if result.sign else 0
    else:
        code = encode(fmt, result, mode)
    if "relu" in s and (result.sign and not result.nan):
        code = 0
    if "oob" in s and any(c & 0x7FFF == OUT_OF_BOUNDS for c in codes[:2]):
        code = 0
    return saturate(fmt, code) if "sat" in s else code


OUT_OF_BOUNDS: Final = 0x7FF7
"""open: the NaN of an element out of bounds, of either sign, in f16 and bf16; an H200's."""


def smaller(fmt: Format, codes: Sequence[int], *, maximum: bool, propagate: bool) -> int:
    """min or max of two codes; -0 is below +0, a NaN loses unless it is to be propagated."""
    values = [decode(fmt, c) for c in codes]
    count = sum(v.nan for v in values)
    if count == 2 or (count and propagate):
        # open: f64 gives the second operand made quiet, as the assembler's sequence does.
        return codes[1] | 1 << 51 if fmt is F64 else fmt.nan or 0
    if count:
        return codes[1] if values[0].nan else codes[0]

    def key(index: int) -> tuple[int, Fraction, int]:
        v = values[index]
        far = (-1 if v.sign else 1) if v.inf else 0
        return far, v.value if v.finite else Fraction(0), -v.sign

    order = sorted(range(2), key=key)
    return codes[order[1] if maximum else order[0]]


def extremum(s: Spelled, fmt: Format, codes: Sequence[int]) -> int:
    sign = codes[0] ^ codes[1]
    x = [c & ~fmt.sign_bit if "abs" in s else c for c in codes]
    x = [flush(fmt, c) for c in x] if "ftz" in s else x
    maximum, propagate = s.opcode == "max", "NaN" in s
    result = x[0]
    for other in x[1:]:
        result = smaller(fmt, (result, other), maximum=maximum, propagate=propagate)
    if "xorsign" in s and not decode(fmt, result).nan:
        result = result & ~fmt.sign_bit | sign & fmt.sign_bit
    return result


def at_limits(opcode: str, x: Number) -> Number | None:
    """Values at zeros, infinities and out of the domain, from the manual's tables; None
    elsewhere."""
    if x.nan:
        return NAN
    match opcode:
        case "ex2":
            if x.zero:
                return number(1)
            return (number(0) if x.sign else x) if x.inf else None
        case "lg2":
            if x.zero:
                return infinity(1)
            return NAN if x.sign else x if x.inf else None
        case "tanh":
            if x.zero:
                return x
            return Number(x.sign, Fraction(1)) if x.inf else None
        case "rsqrt":
            if x.zero:
                return infinity(x.sign)
            return NAN if x.sign else number(0) if x.inf else None
        case "rcp":
            if x.zero:
                return infinity(x.sign)
            return Number(x.sign) if x.inf else None
        case "sqrt":
            if x.zero:
                return x
            return NAN if x.sign else x if x.inf else None
        case "sin" | "cos":
            if x.zero:
                return unit.of_angle(x, cosine=opcode == "cos")
            return NAN if x.inf else None
        case _:
            raise NotImplementedError(opcode)


BY_UNIT: Final[dict[str, Callable[[Number], Number]]] = {
    "ex2": unit.ex2,
    "lg2": unit.lg2,
    "rcp": unit.rcp,
    "rsqrt": unit.rsqrt,
    "sqrt": unit.sqrt,
    "sin": partial(unit.of_angle, cosine=False),
    "cos": partial(unit.of_angle, cosine=True),
    "tanh": unit.tanh,
}
UP: Final = 2**24


def by_unit(opcode: str, code: int) -> int:
    """The unit's result for an f32. Only tanh takes subnormal arguments."""
    x = decode(F32, code if opcode == "tanh" else flush(F32, code))
    limit = at_limits(opcode, x)
    result = BY_UNIT[opcode](x) if limit is None else limit
    if opcode != "tanh" and is_tiny(F32, result, "rz"):
        result = Number(result.sign)
    return encode(F32, result)


def scale_of(opcode: str, x: Number) -> Fraction:
    """What the assembler multiplies the argument by before the unit, without .ftz."""
    tiny = x.finite and x.magnitude < Fraction(1, 2**126)
    huge = x.magnitude > 2**126
    if opcode == "ex2":
        return Fraction(1, 2) if x.sign and x.magnitude > 126 else Fraction(1)
    if opcode in ("lg2", "rsqrt", "sqrt", "rcp") and tiny:
        return Fraction(UP)
    return Fraction(1, 4) if opcode == "rcp" and huge else Fraction(1)


def single(a: int, b: int, operation: Callable[[Number, Number], Number]) -> int:
    """An f32 operation of two codes, rounded to nearest."""
    return encode(F32, operation(decode(F32, a), decode(F32, b)))


def unscaled(opcode: str, scale: Fraction, code: int) -> int:
    """What the assembler makes of the unit's result for the scaled argument."""
    if scale == 1:
        return code
    if opcode == "ex2":
        return single(code, code, multiply)
    if opcode == "lg2":
        return single(code, encode(F32, number(-24)), partial(add, mode="rn"))
    back = {"rcp": scale, "rsqrt": Fraction(2**12), "sqrt": Fraction(1, 2**12)}[opcode]
    return single(code, encode(F32, number(back)), multiply)


def approximate(s: Spelled, fmt: Format, code: int) -> int:
    """The unit's result; results of 16 bits are truncated."""
    if fmt is F32 and "ftz" in s:
        return by_unit(s.opcode, code)
    if fmt is F32:
        scale = scale_of(s.opcode, decode(F32, code))
        scaled = code if scale == 1 else single(code, encode(F32, number(scale)), multiply)
        return unscaled(s.opcode, scale, by_unit(s.opcode, scaled))
    x = decode(fmt, flush(fmt, code) if "ftz" in s else code)
    result = decode(F32, by_unit(s.opcode, encode(F32, x)))
    if result.nan:
        return nan_code(fmt, s.opcode, [code])
    beyond = result.inf or result.magnitude >= 2 * Fraction(2) ** fmt.bias
    rounded = encode(fmt, infinity(result.sign) if beyond else result, "rz")
    return flush(fmt, rounded) if "ftz" in s else rounded


def divide_approximately(s: Spelled, a: int, b: int) -> int:
    """The dividend times the unit's reciprocal, both scaled for a divisor that it does not take."""
    a, b = (flush(F32, c) if "ftz" in s else c for c in (a, b))
    divisor = decode(F32, b)
    scale = scale_of("rcp", divisor)
    if scale < 1 and "approx" in s:
        scale = Fraction(1)
    factor = encode(F32, number(scale))
    if scale != 1:
        a, b = single(a, factor, multiply), single(b, factor, multiply)
    x = decode(F32, flush(F32, a) if "ftz" in s else a)
    result = multiply(x, decode(F32, by_unit("rcp", b)))
    if "ftz" in s and is_tiny(F32, result, "rn"):
        return F32.sign_bit if result.sign else 0
    return encode(F32, result)


def upper_half(s: Spelled, code: int) -> int:
    """rcp and rsqrt of the upper 32 bits of an f64, to the upper 32 bits of one."""
    x = decode(F64, flush(F64, code >> 32 << 32))
    limit = at_limits(s.opcode, x)
    of_upper = {"rcp": unit.rcp, "rsqrt": unit.rsqrt}[s.opcode]
    result = of_upper(x, digits=20) if limit is None else limit
    if result.nan:
        return 0x7FFFFFFF << 32  # open: of any NaN and of none; an H200's
    return flush(F64, encode(F64, result))


def reciprocal_root(x: Number) -> Number:
    """1 / sqrt(x) to far more bits than any format has."""
    limit = at_limits("rsqrt", x)
    return number(1 / square_root(x.magnitude)) if limit is None else limit


def property_of(s: Spelled, fmt: Format, code: int) -> bool:
    value = decode(fmt, code)
    subnormal = is_subnormal(fmt, code)
    return {
        "finite": value.finite,
        "infinite": value.inf,
        "number": not value.nan,
        "notanumber": value.nan,
        "normal": value.finite and not subnormal,
        "subnormal": subnormal,
    }[s.modifiers[0]]


def mixed(s: Spelled, x: Sequence[int]) -> int:
    narrow = FORMATS[s.type]
    formats = [narrow] * (len(x) - 1) + [F32]
    plain = Spelled(".".join([s.opcode, *s.modifiers[:-1]]))
    return arithmetic(plain, F32, x, formats)


def floating(s: Spelled, x: Sequence[int]) -> Bits:
    base = s.type.removesuffix("x2")
    if s.type.endswith("x2"):
        element = Spelled(".".join([s.opcode, *s.modifiers[:-1], base]))
        bits = bits_of(base)
        low = floating(element, [unsigned(i, bits) for i in x])[0]
        high = floating(element, [i >> bits for i in x])[0]
        return (low | high << bits,)
    fmt = FORMATS[base]
    if len(s.modifiers) > 1 and s.modifiers[-2] == "f32" and s.type in ("f16", "bf16"):
        return (mixed(s, x),)
    if s.opcode in ("min", "max"):
        return (extremum(s, fmt, x),)
    if s.opcode in ("rcp", "rsqrt") and fmt is F64 and "ftz" in s:
        return (upper_half(s, x[0]),)
    if s.opcode == "rsqrt" and fmt is F64:
        result = reciprocal_root(decode(F64, x[0]))
        return (nan_code(F64, s.opcode, x) if result.nan else encode(F64, result),)
    if s.opcode in BY_UNIT and "approx" in s:
        return (approximate(s, fmt, x[0]),)
    if s.opcode == "div" and ("approx" in s or "full" in s):
        return (divide_approximately(s, x[0], x[1]),)
    return (arithmetic(s, fmt, x),)


# ---- comparison ----------------------------------------------------------------------------------


def compare_numbers(op: str, a: Number, b: Number) -> bool:
    unordered = a.nan or b.nan
    if op in ("num", "nan"):
        return unordered == (op == "nan")
    if unordered:
        return op.endswith("u") and len(op) == 3

    def key(v: Number) -> tuple[int, Fraction]:
        return ((-1 if v.sign else 1) if v.inf else 0, v.value if v.finite else Fraction(0))

    return ordered(op[:2], key(a), key(b))


def ordered(op: str, a: object, b: object) -> bool:
    return {
        "eq": a == b,
        "ne": a != b,
        "lt": a < b,  # type: ignore[operator]
        "le": a <= b,  # type: ignore[operator]
        "gt": a > b,  # type: ignore[operator]
        "ge": a >= b,  # type: ignore[operator]
    }[op]


def comparison(s: Spelled, type_: str, a: int, b: int) -> bool:
    op = s.modifiers[0]
    op = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(op, op)
    if type_ in FORMATS:
        fmt = FORMATS[type_]
        codes = [flush(fmt, c) if "ftz" in s else c for c in (a, b)]
        return compare_numbers(op, decode(fmt, codes[0]), decode(fmt, codes[1]))
    return ordered(op, as_integer(type_, a), as_integer(type_, b))


def join(s: Spelled, value: bool, x: Sequence[int]) -> bool:
    for op, f in (("and", bool.__and__), ("or", bool.__or__), ("xor", bool.__xor__)):
        if op in s.modifiers[1:]:
            return f(value, bool(x[2]))
    return value


def set_predicates(s: Spelled, x: Sequence[int]) -> Bits:
    if s.type.endswith("x2"):
        base = s.type[:-2]
        parts = [comparison(s, base, x[0] >> k & 0xFFFF, x[1] >> k & 0xFFFF) for k in (0, 16)]
    else:
        first = comparison(s, s.type, x[0], x[1])
        parts = [first, not first]
    return tuple(int(join(s, p, x)) for p in parts)


def set_number(s: Spelled, x: Sequence[int]) -> Bits:
    result, compared = s.modifiers[-2:]
    one = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}
    if compared.endswith("x2"):
        base = compared[:-2]
        code = one.get(result, 0xFFFF)
        parts = [
            join(s, comparison(s, base, x[0] >> k & 0xFFFF, x[1] >> k & 0xFFFF), x) for k in (0, 16)
        ]
        return ((code if parts[0] else 0) | (code << 16 if parts[1] else 0),)
    code = one.get(result, (1 << bits_of(result)) - 1)
    return (code if join(s, comparison(s, compared, x[0], x[1]), x) else 0,)


def select(s: Spelled, x: Sequence[int]) -> Bits:
    if s.opcode == "selp":
        return (x[0] if x[2] else x[1],)
    if s.type == "s32":
        return (x[0] if signed(x[2], 32) >= 0 else x[1],)
    code = flush(F32, x[2]) if "ftz" in s else x[2]
    return (x[0] if compare_numbers("ge", decode(F32, code), number(0)) else x[1],)


# ---- logic ---------------------------------------------------------------------------------------


def logic_function(table: int, a: int, b: int, c: int) -> int:
    result = 0
    for i in range(32):
        entry = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1
        result |= (table >> entry & 1) << i
    return result


def logic(s: Spelled, x: Sequence[int]) -> Bits:
    bits = bits_of(s.type)
    match s.opcode:
        case "and":
            return (x[0] & x[1],)
        case "or":
            return (x[0] | x[1],)
        case "xor":
            return (x[0] ^ x[1],)
        case "not":
            return (unsigned(~x[0], bits),)
        case "cnot":
            return (int(x[0] == 0),)
        case "shl":
            return (unsigned(x[0] << min(x[1], bits), bits),)
        case "shr":
            return (unsigned(as_integer(s.type, x[0]) >> min(x[1], bits), bits),)
        case "shf":
            amount = x[2] % 32 if "wrap" in s else min(x[2], 32)
            both = x[1] << 32 | x[0]
            return (unsigned(both << amount >> 32 if "l" in s else both >> amount, 32),)
        case _:
            result = logic_function(x[3] & 0xFF, x[0], x[1], x[2])
            if s.modifiers[0] == "b32":
                return (result,)
            set_ = result != 0
            return (result, int(set_ or bool(x[4]) if "or" in s else set_ and bool(x[4])))


# ---- movement and conversion ---------------------------------------------------------------------


def permute(s: Spelled, a: int, b: int, c: int) -> int:
    mode = s.modifiers[1] if len(s.modifiers) > 1 else ""
    k = c & 3
    selectors = {
        "": [c >> 4 * i & 15 for i in range(4)],
        "f4e": [k + i for i in range(4)],
        "b4e": [(k - i) % 8 for i in range(4)],
        "rc8": [k] * 4,
        "ecl": [max(k, i) for i in range(4)],
        "ecr": [min(k, i) for i in range(4)],
        "rc16": [k % 2 * 2 + i % 2 for i in range(4)],
    }[mode]
    result = 0
    for i, selector in enumerate(selectors):
        byte = (b << 32 | a) >> 8 * (selector & 7) & 0xFF
        if selector & 8:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << 8 * i
    return result


def pack_saturated(s: Spelled, x: Sequence[int]) -> int:
    type_ = s.modifiers[2]
    size = bits_of(type_)
    low, high = limits(type_)
    parts = [unsigned(clamp(signed(i, 32), low, high), size) for i in x[:2]]
    packed = parts[0] << size | parts[1]
    return packed if size == 16 else unsigned(x[2] << 2 * size | packed, 32)


def converted_nan(s: Spelled, to: str, source: str, code: int) -> int:
    """open: what becomes of a NaN, as an H200 does it.

    To and from f64 its sign and the first of its payload's digits stay; a conversion that does
    nothing leaves it alone; else it is the format's.
    """
    plain = len(s.modifiers) == 2
    if plain and to == source and to in ("f32", "f64"):
        return code
    if source == "bf16" and to == "f32" and "ftz" not in s:
        return code << 16
    if "f64" not in (to, source):
        return nan_code(FORMATS[to])
    old, new = FORMATS[source], FORMATS[to]
    if source == "f32" and "ftz" in s:
        code = nan_code(F32)
    digits = Fraction(code & (2**old.fraction - 1), 2**old.fraction)
    payload = int(digits * 2**new.fraction) | 2 ** (new.fraction - 1)
    sign = new.sign_bit if code & old.sign_bit else 0
    return sign | new.infinity_code | payload


def to_integer(s: Spelled, to: str, source: str, code: int) -> int:
    fmt = FORMATS[source]
    code = flush(fmt, code) if "ftz" in s and fmt is F32 else code
    value = decode(fmt, code)
    bits = bits_of(to)
    low, high = limits(to)
    if value.nan:
        return 1 << (bits - 1) if source == "f64" or bits == 64 else 0
    if value.inf:
        return low if value.sign else high
    return clamp(round_integer(value, INTEGRAL[s.modifiers[0]]), low, high)


def to_float(s: Spelled, to: str, source: str, code: int) -> int:
    fmt = FORMATS[to]
    if source not in FORMATS:
        result = encode(fmt, number(as_integer(source, code)), s.rounding)
        return saturate(fmt, result) if "sat" in s else result
    code = flush(F32, code) if "ftz" in s and source == "f32" else code
    value = decode(FORMATS[source], code)
    if value.nan:
        result = converted_nan(s, to, source, code)
    elif value.finite and s.modifiers[0] in INTEGRAL:
        whole = round_integer(value, INTEGRAL[s.modifiers[0]])
        result = encode(fmt, Number(value.sign, Fraction(abs(whole))))
    else:
        tiny = "ftz" in s and to == "f32" and is_tiny(F32, value, s.rounding)
        value = Number(value.sign) if tiny else value
        result = encode(fmt, value, s.rounding, satfinite="satfinite" in s)
        if "relu" in s and value.sign:
            result = 0
    return saturate(fmt, result) if "sat" in s else result


def to_tf32(s: Spelled, code: int) -> int:
    if "rna" in s:
        # open: NaN keeps its upper bits, even where only zeros are left: the assembler's sequence.
        if decode(F32, code).nan:
            cut = code & 0xFFFFE000
        else:
            cut = encode(TF32, decode(F32, code), "rna") << 13
        if "satfinite" in s and cut & 0x7FFFFFFF >= 0x7F800000:
            cut -= 0x2000
        return cut
    value = decode(F32, code)
    if "relu" in s and value.sign and not value.nan:
        return 0
    return encode(TF32, value, s.rounding, satfinite="satfinite" in s) << 13


def scale(s: Spelled, fmt: Format, code: int) -> int:
    """ue8m0: an exponent. Towards zero or up, of the magnitude."""
    value = abs(decode(fmt, code))
    if value.nan:
        return 0xFF
    if value.inf:
        return 0xFE if "satfinite" in s else 0xFF
    if value.zero:
        return 0
    exponent = floor_log2(value.magnitude)
    if s.rounding == "rp" and Fraction(2) ** exponent != value.magnitude:
        exponent += 1
    code = max(exponent + 127, 0)
    return code if code <= 0xFE else 0xFE if "satfinite" in s else 0xFF


def pair_conversion(s: Spelled, x: Sequence[int]) -> int | None:
    """Conversions that name a packed type; None for the others."""
    to, source = s.modifiers[-2:]
    if to in ("f16x2", "bf16x2") and source == "f32":
        one = Spelled(".".join(["cvt", *s.modifiers[:-2], to[:-2], "f32"]))
        return to_float(one, to[:-2], "f32", x[0]) << 16 | to_float(one, to[:-2], "f32", x[1])
    if to == "ue8m0x2":
        if source == "f32":
            return scale(s, F32, x[0]) << 8 | scale(s, F32, x[1])
        return scale(s, BF16, x[0] >> 16) << 8 | scale(s, BF16, x[0] & 0xFFFF)
    if source == "ue8m0x2":
        parts = [
            0x7FFF if c == 0xFF else encode(BF16, number(Fraction(2) ** (c - 127)))
            for c in (x[0] >> 8, x[0] & 0xFF)
        ]
        return parts[0] << 16 | parts[1]
    if to in SMALL:
        fmt = SMALL[to]
        if source == "f32":
            values = [decode(F32, c) for c in x]
        else:
            half = FORMATS[source[:-2]]
            values = [decode(half, c) for c in (x[0] >> 16, x[0] & 0xFFFF)]
        codes = [
            0 if "relu" in s and v.sign and not v.nan else encode(fmt, v, satfinite=True)
            for v in values
        ]
        return codes[0] << (4 if fmt is E2M1 else 8) | codes[1]
    if source in SMALL:
        fmt = SMALL[source]
        step = 4 if fmt is E2M1 else 8
        values = [decode(fmt, c) for c in (x[0] >> step, x[0] & (1 << step) - 1)]
        wide = FORMATS[to[:-2]]
        codes = [
            0 if "relu" in s and v.sign and not v.nan
            else encode(wide, v, satfinite="satfinite" in s)
            for v in values
        ]  # fmt: skip
        return codes[0] << 16 | codes[1]
    return None


def convert(s: Spelled, x: Sequence[int]) -> Bits:
    """The value in the width of the type; a wider register takes it extended by
    `extended_result`."""
    if "pack" in s:
        return (pack_saturated(s, x),)
    packed = pair_conversion(s, x)
    if packed is not None:
        return (packed,)
    to, source = s.modifiers[-2:]
    if to == "tf32":
        return (to_tf32(s, x[0]),)
    if source not in FORMATS:
        x = [unsigned(x[0], bits_of(source))]
    if to in FORMATS:
        return (to_float(s, to, source, x[0]),)
    if source in FORMATS:
        return (unsigned(to_integer(s, to, source, x[0]), bits_of(to)),)
    value = as_integer(source, x[0])
    return (unsigned(clamp(value, *limits(to)) if "sat" in s else value, bits_of(to)),)


def extend_result(s: Spelled, code: int, width: int) -> int:
    """A result of cvt in a register of `width` bits."""
    to = s.modifiers[-2]
    return unsigned(as_integer(to, code), width) if to[0] in "us" and to not in SMALL else code


# ---- all together --------------------------------------------------------------------------------

Rule = Callable[[Spelled, Sequence[int]], Bits]

BY_OPCODE: Final[dict[str, Rule]] = {
    "mul24": multiply24,
    "mad24": multiply24,
    "popc": lambda s, x: (x[0].bit_count(),),
    "clz": lambda s, x: (leading_zeros(x[0], bits_of(s.type)),),
    "bfind": bit_find,
    "fns": lambda s, x: (find_nth_set(*x),),
    "brev": lambda s, x: (int(format(x[0], f"0{bits_of(s.type)}b")[::-1], 2),),
    "bfe": lambda s, x: (bit_field_extract(s.type, *x),),
    "bfi": lambda s, x: (bit_field_insert(bits_of(s.type), *x),),
    "bmsk": lambda s, x: (bit_mask("wrap" in s, *x),),
    "szext": lambda s, x: (sign_extend(s, *x),),
    "dp4a": dot,
    "dp2a": dot,
    "clmad": lambda s, x: (
        unsigned(carryless_product(x[0], x[1]) >> (64 if "hi" in s else 0), 64) ^ x[2],
    ),
    "sad": integer_arithmetic,
    "rem": integer_arithmetic,
    "addc": extended,
    "subc": extended,
    "madc": extended,
    "testp": lambda s, x: (int(property_of(s, FORMATS[s.type], x[0])),),
    "copysign": lambda s, x: (x[0] & FORMATS[s.type].sign_bit | x[1] & ~FORMATS[s.type].sign_bit,),
    "set": set_number,
    "setp": set_predicates,
    "selp": select,
    "slct": select,
    "mov": lambda s, x: tuple(x),
    "prmt": lambda s, x: (permute(s, *x),),
    "cvt": convert,
    **dict.fromkeys(("and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "lop3"), logic),
}


def evaluate(spelling: str, inputs: Sequence[int]) -> Bits:
    """The destinations' bits of one lane; a carry is the last of the operands and results."""
    s = Spelled(spelling)
    rule = BY_OPCODE.get(s.opcode)
    if rule is not None:
        return rule(s, inputs)
    if "cc" in s:
        return extended(s, inputs)
    if s.type[0] in "us":
        if s.type == "s8x4" and s.opcode == "neg":
            return (packed(lambda a: -a, 8, inputs[0]),)
        if s.opcode in ("neg", "abs"):
            value = as_integer(s.type, inputs[0])
            return (unsigned(abs(value) if s.opcode == "abs" else -value, bits_of(s.type)),)
        return integer_arithmetic(s, inputs)
    return floating(s, inputs)
