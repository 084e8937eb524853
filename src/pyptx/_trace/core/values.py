"""Registers and predicates as Python values: operators that append instructions.

Which instruction an operator appends is one table over (operator, kind of type). Nothing here has a
truth value: Python's `if` would run at trace time, once, whatever the register holds.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn, SupportsFloat, SupportsIndex, TypeAlias, cast

from pyptx._ir import Guard
from pyptx._isa.given import OPERANDS, Number, Raw, RawScalar
from pyptx._isa.scalar import conversion
from pyptx._isa.syntax import takes_constant
from pyptx._operands import (
    Immediate,
    Label,
    Negated,
    Parameter,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Targets,
    Variable,
)
from pyptx._source import caller
from pyptx._trace.core import aliases, older, refusals
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.mistakes import hash_of
from pyptx._trace.core.numbers import is_number, number
from pyptx._trace.core.operators import (
    UNARY,
    WIDENING,
    arithmetic,
    beside,
    cure_of_number,
    disagree,
    operation,
    operation_on,
    spelled_for,
)
from pyptx._trace.core.products import product_notes
from pyptx.errors import LanguageError
from pyptx.types import DTYPES, DType, pred, u32

Numeric: TypeAlias = SupportsIndex | SupportsFloat
Operand: TypeAlias = "Value | Numeric"
Pred: TypeAlias = "Reg | Not"
"""A predicate register or its negation: what `pred=`, `ptx.if_` and `ptx.while_` take."""


class Value:
    """Anything a source operand can be besides a number; it has no truth value."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy numbers leave their operators to these

    dtype: DType

    @property
    def noun(self) -> str:
        """What this is, for messages."""
        return "a register"

    def __bool__(self) -> NoReturn:
        raise refusals.no_truth(self.noun)

    def __float__(self) -> NoReturn:
        raise refusals.no_float(self.noun, self.dtype)

    def __int__(self) -> NoReturn:
        raise refusals.no_int(self.noun, self.dtype)

    def __index__(self) -> NoReturn:
        raise refusals.no_index(self.noun, self.dtype)

    def __iter__(self) -> NoReturn:
        raise LanguageError(
            "a register is not iterable",
            location=caller(),
            notes=(("help", "reg.array(dtype, n) is a list of registers"),),
        )

    def __pow__(self, other: object) -> NoReturn:
        raise LanguageError(
            "`**` is no instruction",
            location=caller(),
            notes=(
                ("help", "write r * r, or ptx.inst.ex2.approx.f32 and ptx.inst.lg2.approx.f32"),
            ),
        )

    __rpow__ = __pow__

    # ---- operators -------------------------------------------------------------------------------

    def __add__(self, other: Operand) -> Reg:
        return binary("+", self, other)

    def __radd__(self, other: Operand) -> Reg:
        return binary("+", other, self)

    def __sub__(self, other: Operand) -> Reg:
        return binary("-", self, other)

    def __rsub__(self, other: Operand) -> Reg:
        return binary("-", other, self)

    def __mul__(self, other: Operand) -> Reg:
        return binary("*", self, other)

    def __rmul__(self, other: Operand) -> Reg:
        return binary("*", other, self)

    def __floordiv__(self, other: Operand) -> Reg:
        """The quotient of integers, truncated toward zero as PTX `div` does; Python's floors.

        -7 // 2 is -3 here and -4 in Python. One `div`, or one `shr` where the divisor is the number
        2**k and the type is unsigned. Source: PTX ISA, "div" and "shr".
        """
        return binary("//", self, other)

    def __rfloordiv__(self, other: Operand) -> Reg:
        return binary("//", other, self)

    def __truediv__(self, other: Operand) -> Reg:
        return binary("/", self, other)

    def __rtruediv__(self, other: Operand) -> Reg:
        return binary("/", other, self)

    def __mod__(self, other: Operand) -> Reg:
        """The remainder of integers, with the sign of the dividend as PTX `rem` has it.

        -7 % 2 is -1 here and 1 in Python, whose remainder has the divisor's sign. One `rem`, or one
        `and` where the divisor is the number 2**k and the type is unsigned. Source: PTX ISA, "rem"
        and "and".
        """
        return binary("%", self, other)

    def __rmod__(self, other: Operand) -> Reg:
        return binary("%", other, self)

    def __lshift__(self, other: Operand) -> Reg:
        return binary("<<", self, other)

    def __rlshift__(self, other: Operand) -> Reg:
        return binary("<<", other, self)

    def __rshift__(self, other: Operand) -> Reg:
        return binary(">>", self, other)

    def __rrshift__(self, other: Operand) -> Reg:
        return binary(">>", other, self)

    def __and__(self, other: Operand) -> Reg:
        return binary("&", self, other)

    def __rand__(self, other: Operand) -> Reg:
        return binary("&", other, self)

    def __or__(self, other: Operand) -> Reg:
        return binary("|", self, other)

    def __ror__(self, other: Operand) -> Reg:
        return binary("|", other, self)

    def __xor__(self, other: Operand) -> Reg:
        return binary("^", self, other)

    def __rxor__(self, other: Operand) -> Reg:
        return binary("^", other, self)

    def __lt__(self, other: Operand) -> Reg:
        return binary("<", self, other)

    def __le__(self, other: Operand) -> Reg:
        return binary("<=", self, other)

    def __gt__(self, other: Operand) -> Reg:
        return binary(">", self, other)

    def __ge__(self, other: Operand) -> Reg:
        return binary(">=", self, other)

    def __eq__(self, other: object) -> Reg:  # type: ignore[override]
        return binary("==", self, other)

    def __ne__(self, other: object) -> Reg:  # type: ignore[override]
        return binary("!=", self, other)

    __hash__ = hash_of

    def __neg__(self) -> Reg:
        return unary("neg", self)

    def __abs__(self) -> Reg:
        return unary("abs", self)

    def __pos__(self) -> Value:
        return self

    def __copy__(self) -> NoReturn:
        raise _uncopied(self)

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise _uncopied(self)


class Reg(Value):
    """A virtual register of the kernel that is being traced.

    In-place operators (`+=` and the like) write the same register: every name for it sees it.
    """

    __slots__ = ("dtype", "left", "register", "trace")

    def __init__(self, trace: Trace, register: Register) -> None:
        self.trace = trace
        self.register = register
        self.dtype = register.dtype
        self.left: older.Left | None = None

    def __repr__(self) -> str:
        return f"<register {self.register.index} .{self.dtype}>"

    @property
    def noun(self) -> str:
        """What this is, for messages."""
        name = self.trace.run_time.get(self.register)
        if name is None:
            return "a register"
        return f"the dimension {name} is known only at a launch and"

    def __invert__(self) -> Reg | Not:
        """A predicate gives its negation as an operand, anything else one `not`."""
        return Not(self, len(self.trace.body)) if self.dtype is pred else unary("not", self)

    def max(self, other: Operand) -> Reg:
        """The larger of two, in a new register. One `max`."""
        return extreme("max", self, other)

    def min(self, other: Operand) -> Reg:
        """The smaller of two, in a new register. One `min`."""
        return extreme("min", self, other)

    def set(self, value: Operand) -> None:
        """Write `value`, a register or a number, into this register. One `mov`.

        Every name for the register sees it, in every block. One `setp` for a number in a predicate.
        """
        own(current("Reg.set"), self)
        aliases.warn_of_set(self, self.dtype)
        move(self, value)

    def __iadd__(self, other: Operand) -> Reg:
        return in_place("+", self, other)

    def __isub__(self, other: Operand) -> Reg:
        return in_place("-", self, other)

    def __imul__(self, other: Operand) -> Reg:
        return in_place("*", self, other)

    def __ifloordiv__(self, other: Operand) -> Reg:
        return in_place("//", self, other)

    def __itruediv__(self, other: Operand) -> Reg:
        return in_place("/", self, other)

    def __imod__(self, other: Operand) -> Reg:
        return in_place("%", self, other)

    def __ilshift__(self, other: Operand) -> Reg:
        return in_place("<<", self, other)

    def __irshift__(self, other: Operand) -> Reg:
        return in_place(">>", self, other)

    def __iand__(self, other: Operand) -> Reg:
        return in_place("&", self, other)

    def __ior__(self, other: Operand) -> Reg:
        return in_place("|", self, other)

    def __ixor__(self, other: Operand) -> Reg:
        return in_place("^", self, other)


class Special(Value):
    """A special register as an operand. Only `mov` reads it; an operator moves it first."""

    __slots__ = ("dtype", "made", "register")

    def __init__(self, register: SpecialRegister) -> None:
        self.register = register
        self.dtype = register.dtype
        counts = register.name.startswith(older.COUNTS)
        self.made = (len(current("a special register").body), caller()) if counts else None

    def __repr__(self) -> str:
        return f"<%{self.register.name}>"

    def __invert__(self) -> Reg:
        return unary("not", self)


@dataclass(frozen=True, slots=True, eq=False)
class Not:
    """The negation of a predicate, for `pred=`, `ptx.if_` and negatable operands."""

    of: Reg
    made: int | None = None
    """How many statements there were before it."""
    __eq__, __ne__, __hash__ = Value.__eq__, Value.__ne__, Value.__hash__  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<not {self.of!r}>"

    def __invert__(self) -> Reg:
        return self.of

    def __and__(self, other: Pred) -> Reg:
        return binary("&", materialise(self), other)

    def __or__(self, other: Pred) -> Reg:
        return binary("|", materialise(self), other)

    def __xor__(self, other: Pred) -> Reg:
        return binary("^", materialise(self), other)

    def __bool__(self) -> NoReturn:
        return Value.__bool__(self.of)


class Several:
    """Several registers, which are one operand: a vector, or the fragment of a matrix."""

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Reg]:
        raise NotImplementedError


def raw(trace: Trace, value: object) -> Raw:
    """A value as the user passed it, as an operand before its type is checked."""
    if isinstance(value, Reg):
        return own(trace, value)
    if isinstance(value, Special):
        return older.special(trace.body, value.register, value.made)
    if isinstance(value, Not):
        return Negated(negated(trace, value))
    if isinstance(value, older.UsersAddress):
        return older.plain(trace.body, value)
    if isinstance(value, OPERANDS):
        return value
    if isinstance(value, int | float):
        return Number(value)
    if isinstance(value, list | tuple) and value and all(isinstance(v, Label) for v in value):  # pyright: ignore[reportUnknownVariableType]
        return Targets(tuple(value))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Several | list | tuple):
        return tuple(_element(trace, v) for v in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, Variable | Parameter):
        return Symbol(value)
    to_operand = getattr(value, "__ptx_operand__", None)
    if to_operand is not None:
        return to_operand(trace)
    if is_number(value):
        return Number(value)
    legal = "a register, a number, a list of registers, ptx.addr(...), a label"
    helps = (("help", "PTX as text goes through ptx.raw"),) if isinstance(value, str) else ()
    raise LanguageError(
        f"{kind(value)} cannot be an operand",
        location=caller(),
        notes=(("legal", legal), *helps),
    )


def integer(value: object) -> int | None:
    """A Python or NumPy integer as an int; None for anything else, registers and bools too."""
    if type(value) is int:
        return value
    if isinstance(value, (bool, Value)):
        return None
    try:
        return operator.index(cast("SupportsIndex", value))
    except TypeError:
        return None


def kind(value: object) -> str:
    if isinstance(value, Value):
        return f"a .{value.dtype} register"
    return "None" if value is None else f"{value!r} of type {type(value).__name__}"


def is_same(a: object, b: object) -> bool:
    """Whether two values are one object, or objects of one register."""
    return a is b or (isinstance(a, Reg) and isinstance(b, Reg) and a.register is b.register)


def renewed(value: Reg, what: str, *, told: bool) -> Reg:
    """The register that the user's line has written, as a new object where the line binds it."""
    return left_behind(value, what, told=told) if older.rebinds() else value


def left_behind(value: Reg, what: str, *, told: bool) -> Reg:
    """A new object of a register: what holds the old one is warned of where it is read."""
    if type(value) is not Reg:
        return value
    value.left = None if told else older.Left(caller(), what, len(value.trace.body) - 1)
    return Reg(value.trace, value.register)


def negated(trace: Trace, value: Not) -> Register:
    """The predicate that a negation negates."""
    told = value.of.left is not None  # which `own` does
    register = own(trace, value.of)
    if value.made is not None and not told:
        older.warn_of_negation(trace.body, value.made, register)
    return register


def _element(trace: Trace, value: object) -> RawScalar:
    element = raw(trace, value)
    if isinstance(element, (Register, SpecialRegister, Symbol, Sink, Number)):
        return element
    raise LanguageError(
        f"{kind(value)} cannot be an element of a vector",
        location=caller(),
        notes=(("legal", "registers, numbers, ptx.sink"),),
    )


def own(trace: Trace, value: Reg) -> Register:
    """The register of a value, which must be of this trace."""
    if not isinstance(value, Reg):  # pyright: ignore[reportUnnecessaryIsInstance]
        several = isinstance(value, Several | list | tuple)
        what = f"a list of {len(value)}" if several else kind(value)
        raise LanguageError(
            f"a register is needed here, not {what}",
            location=caller(),
            notes=(("help", "[*a, *b] joins lists of registers"),) if several else (),
        )
    if value.trace is not trace:
        raise LanguageError(
            "a register of another kernel (or of another trace of it) is used here",
            location=caller(),
            notes=(("help", "make registers in the body: reg.scalar(...), reg.array(...)"),),
        )
    if value.left is not None:
        left, value.left = value.left, None  # once
        older.warn_of_left(trace.body, left, value.register)
    return value.register


def guard(trace: Trace, predicate: object) -> Guard | None:
    """The guard that `pred=` means, None for none."""
    return None if predicate is None else needed_guard(trace, predicate)


def needed_guard(trace: Trace, predicate: object) -> Guard:
    """The guard that a predicate or its negation means. Raises LanguageError for anything else."""
    register = predicate.of if isinstance(predicate, Not) else predicate
    if not isinstance(register, Reg) or register.dtype is not pred:
        what = kind(register)
        raise LanguageError(
            f"a predicate is needed, not {what}",
            location=caller(),
            notes=(("help", "compare first: p = r != 0, then ptx.if_(p) or pred=p or pred=~p"),),
        )
    if isinstance(predicate, Not):
        return Guard(negated(trace, predicate), negated=True)
    return Guard(own(trace, register))


def _uncopied(value: Value) -> LanguageError:
    return LanguageError(
        "a copy by Python's copy module would be the same register",
        location=caller(),
        notes=(("help", f"reg.from_(r, {value.dtype}) is a copy, another register"),),
    )


def materialise(predicate: Pred) -> Reg:
    """A predicate register for a predicate or its negation (one `not.pred` for the latter)."""
    if isinstance(predicate, Reg):
        return predicate
    trace = current("a predicate")
    register = trace.register(pred)
    trace.write("not.pred", register, negated(trace, predicate))
    return Reg(trace, register)


def checked_dtype(dtype: object) -> DType:
    """A type of `pyptx.types`. Raises LanguageError for anything else, names and NumPy's too."""
    if isinstance(dtype, DType):
        return dtype
    raise LanguageError(
        f"{dtype!r} is not a PTX type",
        location=caller(),
        notes=(("help", "from pyptx.types import f32, u32, ..."),),
    )


def move_spelling(dtype: DType) -> str:
    """The `mov` that copies a register of this type."""
    if dtype.bits == 8:
        raise LanguageError(
            f"PTX has no mov for .{dtype}",
            location=caller(),
            notes=(
                ("help", f"keep it in a 16- or 32-bit register; ld and st of .{dtype} convert"),
            ),
        )
    if dtype.is_packed or dtype.storage != dtype.name:
        return f"mov.b{dtype.bits}"
    return f"mov.{dtype}"


def move(target: Reg, value: object) -> None:
    """One `mov` of a register, number or special register into `target`.

    One `setp` for a number into a predicate, which `mov` takes from predicates alone; or one `not`.
    """
    trace = target.trace
    if target.dtype is pred and not isinstance(value, Value) and is_number(value):
        truth = integer(int(value) if isinstance(value, bool) else value)
        if truth not in (0, 1):
            raise LanguageError(
                f"a predicate is 0 or 1, not {value!r}",
                location=caller(),
                notes=(("help", "compare: r != 0"),),
            )
        trace.write("setp.ne.u32", target.register, Number(truth), Number(0))
        return
    if target.dtype is pred and isinstance(value, Not):
        trace.write("not.pred", target.register, negated(trace, value))
        return
    trace.write(move_spelling(target.dtype), target.register, _source(trace, target.dtype, value))


def _source(trace: Trace, dtype: DType, value: object) -> Raw:
    """`value` for a `mov` into a register of `dtype`, numbers as that type's bit pattern."""
    source = raw(trace, refusals.one_value(dtype, value))
    if not isinstance(source, Number):
        return source
    if dtype.is_packed and dtype.name in ("f16x2", "bf16x2"):
        half = number(source.value, DTYPES[dtype.name.removesuffix("x2")])
        return Immediate(half << 16 | half, dtype)
    if dtype.is_float and dtype.storage != dtype.name:
        return Immediate(number(source.value, dtype), dtype)
    return source


def binary(symbol: str, left: object, right: object) -> Reg:
    """One instruction for `left symbol right` into a new register."""
    trace = current(f"`{symbol}`")
    if isinstance(left, Not):
        left = materialise(left)
    if isinstance(right, Not):
        right = materialise(right)
    a, b, dtype = _operands(trace, symbol, left, right)
    spelling, kind, number_instead = operation_on(symbol, dtype, right)
    b = b if number_instead is None else Number(number_instead)
    result = trace.register(kind)
    trace.write(spelling, result, a, b)
    if symbol == "|":
        trace.ored[result] = len(trace.body) - 1
    return Reg(trace, result)


def extreme(name: str, left: Reg, right: object) -> Reg:
    """One `max` or `min` of two registers, or of one and a number, into a new register."""
    trace = current(f"Reg.{name}")
    a, b, dtype = _operands(trace, name, left, right)
    kind = f"{'us'[dtype.is_signed]}{dtype.bits}" if dtype.is_bits else str(dtype)
    result = trace.register(dtype)
    trace.write(f"{name}.{kind}", result, a, b)
    return Reg(trace, result)


def in_place(symbol: str, target: Reg, right: object) -> Reg:
    """`target symbol= right`: one instruction that writes the same register."""
    trace = target.trace
    own(current(f"`{symbol}=`"), target)
    told = aliases.warn(target, symbol, target.dtype, (list, tuple, dict, Several))
    if isinstance(right, Not):
        right = materialise(right)
    a, b, dtype = _operands(trace, symbol, target, right)
    if dtype.bits != target.dtype.bits:
        converted = f"ptx.inst.cvt.{arithmetic(target.dtype)}.{arithmetic(dtype)}(other)"
        raise LanguageError(
            f"`{symbol}=` cannot put a {dtype.bits}-bit result into a .{target.dtype} register",
            location=caller(),
            notes=(
                *product_notes(trace.body, (a, b)),
                ("help", f"r {symbol}= {converted} has its lower half"),
                ("help", f"r = r {symbol} other makes a new register"),
            ),
        )
    spelling, _, number_instead = operation_on(symbol, dtype, right)
    b = b if number_instead is None else Number(number_instead)
    # The same register holds the result, so a product keeps its low half.
    trace.write(spelling.replace("mul.wide", "mul.lo"), target.register, a, b)
    return renewed(target, f"`{symbol}=`", told=told)


def _operands(trace: Trace, symbol: str, left: object, right: object) -> tuple[Raw, Raw, DType]:
    """The operands of a binary operator, made to agree, and the type it computes in."""
    left, right = _staged(left), _staged(right)
    if isinstance(left, Reg) and isinstance(right, Reg):
        return _agree(trace, symbol, left, right)
    if isinstance(left, Reg):
        shift = symbol in ("<<", ">>")
        return own(trace, left), _number(trace, symbol, left.dtype, right, shift=shift), left.dtype
    assert isinstance(right, Reg)
    return _number(trace, symbol, right.dtype, left), own(trace, right), right.dtype


def _staged(value: object) -> object:
    """A special register, moved to a register; anything else as it is."""
    if not isinstance(value, Special):
        return value
    trace = current("a special register")
    register = trace.register(value.dtype)
    trace.write(
        move_spelling(value.dtype), register, older.special(trace.body, value.register, value.made)
    )
    return Reg(trace, register)


def _number(trace: Trace, symbol: str, dtype: DType, value: object, *, shift: bool = False) -> Raw:
    """A Python number beside a register: an immediate, in a register where PTX takes none."""
    if dtype is pred:
        operation(symbol, dtype)  # what has no instruction for predicates
    if isinstance(value, bool) or not is_number(value):
        raise LanguageError(
            f"`{symbol}` takes a register or a number, not {kind(value)}",
            location=caller(),
            notes=beside(value, dtype),
        )
    wanted = u32 if shift else arithmetic(dtype)
    if wanted.is_integer or takes_constant(wanted.name):
        number(value, wanted, cure_of_number(symbol, value, dtype))
        return Number(value)
    scratch = Reg(trace, trace.register(dtype))
    move(scratch, value)
    return scratch.register


def _agree(trace: Trace, symbol: str, left: Reg, right: Reg) -> tuple[Raw, Raw, DType]:
    a, b = own(trace, left), own(trace, right)
    if symbol in ("<<", ">>"):
        if b.dtype.bits != 32 or not (b.dtype.is_integer or b.dtype.is_bits):
            raise LanguageError(
                f"`{symbol}` by a .{b.dtype} register: the amount is a 32-bit integer",
                location=caller(),
                notes=(("help", conversion(u32, b.dtype)),),
            )
        return a, b, a.dtype
    whole = all(r.dtype.is_integer or r.dtype.is_bits for r in (a, b))
    if whole and {a.dtype.bits, b.dtype.bits} == {32, 64} and symbol in WIDENING:
        return _widen(trace, a), _widen(trace, b), a.dtype if a.dtype.bits == 64 else b.dtype
    if a.dtype == b.dtype:
        return a, b, a.dtype
    if not whole or a.dtype.bits != b.dtype.bits:
        raise disagree(symbol, a, b, "both sides need one type", trace.body)
    if a.dtype.is_bits or b.dtype.is_bits:
        return a, b, b.dtype if a.dtype.is_bits else a.dtype
    if symbol in WIDENING and a.dtype.bits == 64:
        # Addresses are unsigned and offsets may be negative: the sum is the same bits.
        return a, b, a.dtype
    raise disagree(symbol, a, b, "both sides need one signedness", trace.body)


def _widen(trace: Trace, register: Register) -> Register:
    if register.dtype.bits == 64:
        return register
    signed = register.dtype.is_signed
    wide = trace.register(DTYPES["s64" if signed else "u64"])
    trace.write("cvt.s64.s32" if signed else "cvt.u64.u32", wide, register)
    return wide


def unary(opcode: str, value: Value) -> Reg:
    """One instruction of one operand into a new register of the same type."""
    trace = current(f"`{opcode}`")
    source = _staged(value)
    assert isinstance(source, Reg)
    symbol = {"neg": "-", "not": "~", "abs": "abs()"}[opcode]
    spelling = spelled_for(UNARY[opcode], symbol, source.dtype)
    result = trace.register(source.dtype)
    trace.write(spelling, result, own(trace, source))
    return Reg(trace, result)
