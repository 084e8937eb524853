"""Which instruction an operator of Python is, for which types."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Final

from pyptx._ir import Statement
from pyptx._isa.model import WIDE
from pyptx._isa.scalar import chosen, conversion
from pyptx._operands import Register
from pyptx._source import caller
from pyptx._trace.core.products import product_notes
from pyptx.errors import LanguageError, LanguageWarning
from pyptx.types import DTYPES, DType, Kind, pred

# operator -> kind of type -> spelling; T is the operand type, B its untyped counterpart.
OPERATORS: Final[dict[str, dict[str, str]]] = {
    "+": {"int": "add.T", "float": "add.rn.T", "packed": "add.rn.T"},
    "-": {"int": "sub.T", "float": "sub.rn.T", "packed": "sub.rn.T"},
    "*": {"int": "mul.wide.T", "int64": "mul.lo.T", "float": "mul.rn.T", "packed": "mul.rn.T"},
    "//": {"int": "div.T"},
    "%": {"int": "rem.T"},
    "/": {"f32": "div.rn.T", "f64": "div.rn.T"},
    "<<": {"int": "shl.B"},
    ">>": {"int": "shr.T"},
    "&": {"int": "and.B", "pred": "and.pred"},
    "|": {"int": "or.B", "pred": "or.pred"},
    "^": {"int": "xor.B", "pred": "xor.pred"},
    "<": {"int": "setp.lt.T", "float": "setp.lt.T"},
    "<=": {"int": "setp.le.T", "float": "setp.le.T"},
    ">": {"int": "setp.gt.T", "float": "setp.gt.T"},
    ">=": {"int": "setp.ge.T", "float": "setp.ge.T"},
    "==": {"int": "setp.eq.T", "float": "setp.eq.T"},
    # Unordered, so that x != x is true for NaN as in Python and C.
    "!=": {"int": "setp.ne.T", "float": "setp.neu.T"},
}
_COMPARISONS: Final = frozenset(("<", "<=", ">", ">=", "==", "!="))
WIDENING: Final = frozenset(("+", "-"))
UNARY: Final = {
    "neg": {"int": "neg.S", "float": "neg.T", "packed": "neg.T"},
    "abs": {"int": "abs.S", "float": "abs.T", "packed": "abs.T"},
    "not": {"int": "not.B", "pred": "not.pred"},
}


def _kinds(dtype: DType) -> tuple[str, ...]:
    """The columns of the operator table that serve a type, most specific first."""
    if dtype.kind is Kind.PREDICATE:
        return ("pred",)
    if dtype.is_packed:
        return ("packed",)
    if dtype.is_float:
        return (dtype.name, "float")
    return (f"int{dtype.bits}", "int")


def arithmetic(dtype: DType) -> DType:
    """The type an instruction computes in: untyped bits count as unsigned."""
    return DTYPES[f"u{dtype.bits}"] if dtype.is_bits and dtype.bits <= 64 else dtype


def _spell(pattern: str, dtype: DType) -> str:
    head, _, last = pattern.rpartition(".")
    types = {"T": dtype.name, "B": f"b{dtype.bits}", "S": f"s{dtype.bits}"}
    return f"{head}.{types.get(last, last)}"


@cache
def operation(symbol: str, dtype: DType) -> tuple[str, DType]:
    """What an operator appends on operands of a type, and the type of its result."""
    spelling = spelled_for(OPERATORS[symbol], symbol, dtype)
    if symbol in _COMPARISONS:
        return spelling, pred
    widens = spelling.startswith("mul.wide")
    return spelling, DTYPES[WIDE[arithmetic(dtype).name]] if widens else dtype


def operation_on(symbol: str, dtype: DType, right: object) -> tuple[str, DType, int | None]:
    """The same on this right side, and the number that stands for it where there is another.

    An unsigned quotient or remainder by a power of two is a shift or a mask: ptxas makes some
    twenty instructions of a `div` by a number, with a reciprocal. Raises LanguageError for a
    division by the number 0; warns of comparisons with it that decide nothing.
    """
    found = operation(symbol, dtype)
    _check_zero(symbol, right, dtype)
    unsigned = dtype.is_bits or (dtype.is_integer and not dtype.is_signed)
    if symbol not in ("//", "%") or not unsigned or type(right) is not int or right < 0:
        return *found, None
    if right & (right - 1):
        return *found, None
    if symbol == "//":
        return operation(">>", dtype)[0], found[1], right.bit_length() - 1
    return operation("&", dtype)[0], found[1], right - 1


def spelled_for(table: dict[str, str], symbol: str, dtype: DType) -> str:
    computed = arithmetic(dtype)
    pattern = next((table[kind] for kind in _kinds(computed) if kind in table), None)
    if dtype.bits == 8 or (dtype.is_packed and dtype.name not in ("f16x2", "bf16x2")):
        pattern = None
    if symbol == "abs()" and not (computed.is_signed or computed.is_float or computed.is_packed):
        pattern = None
    if pattern is None or (dtype.bits == 128):
        raise LanguageError(
            f"`{symbol}` has no instruction for .{dtype}",
            location=caller(),
            notes=(("help", _advice(symbol, dtype)),),
        )
    return _spell(pattern, computed)


def _advice(symbol: str, dtype: DType) -> str:
    if dtype.bits == 8:
        wide = "s32" if dtype.is_signed else "u32"
        return f"widen first: ptx.inst.cvt.{wide}.{'s8' if dtype.is_signed else 'u8'}(r)"
    if symbol == "abs()" and not dtype.is_float:
        return f"an unsigned number is not negative; for signed bits, reg.from_(r, s{dtype.bits})"
    if symbol == "/" and dtype.bits == 16 and dtype.is_float:
        return f"divide in f32: ptx.inst.cvt.f32.{dtype}(r), and back with cvt.rn.{dtype}.f32"
    if symbol == "/" and (dtype.is_integer or dtype.is_bits):
        return "`//` is the integer division; for a float quotient convert with ptx.inst.cvt first"
    if symbol in ("//", "%") and dtype.is_float:
        return _of_quotient(symbol, dtype)
    if symbol in ("<<", ">>", "&", "|", "^", "~") and dtype is not pred:
        return f"copy the bits first: reg.from_(r, b{dtype.bits})"
    if dtype is pred:
        return f"predicates have `&`, `|`, `^` and `~`; a number is {chosen(DTYPES['s32'])}"
    return "spell the instruction you mean: ptx.inst...."


def _of_quotient(symbol: str, dtype: DType) -> str:
    """What Python's `//` and `%` of floats are made of."""
    if dtype.bits == 16:
        return f"compute in f32: ptx.inst.cvt.f32.{dtype}(r), and back with cvt.rn.{dtype}.f32"
    whole = f"ptx.inst.cvt.rmi.{dtype}.{dtype}(a / b)"
    return f"{whole} rounds down" if symbol == "//" else f"a - {whole} * b"


def disagree(
    symbol: str, left: Register, right: Register, why: str, body: Sequence[Statement]
) -> LanguageError:
    """The error for two registers that `symbol` does not take together."""
    a, b = left.dtype, right.dtype
    if symbol == "|" and pred in (a, b):
        helps = (
            ("help", "ptx.pair(d, p) is a pair of destinations, d|p"),
            ("help", conversion(*((a, b) if b is pred else (b, a)))),
        )
    elif symbol == "*" and pred in (a, b):
        zero = "0.0" if (a if b is pred else b).is_float else "0"
        helps = (("help", f"ptx.where(p, v, {zero}) is v where p holds, and {zero} elsewhere"),)
    elif pred in (a, b):
        helps = (("help", conversion(*((a, b) if b is pred else (b, a)))),)
    elif _widens(a, b):
        helps = (("help", f"widen the .{a}: {_widening(b, a)}"),)
    elif _widens(b, a):
        helps = (("help", f"widen the .{b}: {_widening(a, b)}"),)
    else:
        helps = (*product_notes(body, (left, right)), ("help", conversion(arithmetic(a), b)))
    return LanguageError(f"`{symbol}` of .{a} and .{b}: {why}", location=caller(), notes=helps)


def beside(value: object, dtype: DType) -> tuple[tuple[str, str], ...]:
    """What to write instead of a value of Python that is neither register nor number."""
    if isinstance(value, bool):
        written = "~p is the negation" if dtype is pred else f"write {int(value)}"
        return (("help", written),)
    if isinstance(value, (list, tuple)):
        return (("help", "each of its registers alone: values[0]"),)
    return ()


def cure_of_number(symbol: str, value: object, dtype: DType) -> tuple[tuple[str, str], ...]:
    """How to write an operator on a number that the type of the other side does not have."""
    if not isinstance(value, (int, float)):
        return ()
    negative = value < 0
    if symbol in ("<<", ">>"):
        other = ">>" if symbol == "<<" else "<<"
        return (("help", f"shift the other way: r {other} {-value}"),) if negative else ()
    if isinstance(value, float) and not value.is_integer():
        return (("help", f"compute in f32: ptx.inst.cvt.rn.f32.{arithmetic(dtype)}(r) {symbol} v"),)
    if negative and symbol in WIDENING:
        return (("help", f"r {'-' if symbol == '+' else '+'} {-value}"),)
    if negative and not dtype.is_signed and dtype.bits >= 16:
        signed = DTYPES[f"s{dtype.bits}"]
        return (("help", f"as a signed number: reg.from_(r, {signed}) {symbol} {value}"),)
    return ()


def _widens(source: DType, to: DType) -> bool:
    """Whether a float of one type is one of the other, exactly."""
    return source.is_float and to.is_float and 16 <= source.bits < to.bits


def _widening(to: DType, source: DType) -> str:
    return conversion(to, source).removeprefix("convert it: ")


_WITH_ZERO: Final = {
    "<": (re.compile(r"<\s*0(?![\w.])|(?<![\w.])0\s*>(?!=)"), "never holds"),
    ">=": (re.compile(r">=\s*0(?![\w.])|(?<![\w.])0\s*<="), "always holds"),
}
"""Comparisons of an unsigned number with zero that decide nothing, as a line has them.

Python makes `i < 0` of `0 > i`.
"""


def _check_zero(symbol: str, right: object, dtype: DType) -> None:
    """Raises LanguageError for `r // 0` and `r % 0`; warns of `r >= 0`, `r < 0` of an unsigned r.

    Of a comparison where the line has the zero itself: a variable that happens to be 0, as in the
    first of several unrolled rounds, is no mistake.
    """
    if type(right) is not int or right != 0 or dtype.is_float:
        return
    if symbol in ("//", "%"):
        raise LanguageError(
            f"`r {symbol} 0` is a division by zero",
            location=caller(),
            notes=(("why", "PTX has no error for it: the result is all ones"),),
        )
    if dtype.is_signed:
        return
    found = _WITH_ZERO.get(symbol)
    if found is None:
        return
    where = caller()
    written, holds = found
    if not written.search(where.text):
        return
    message = LanguageError(  # warnings put the line before it
        f"`r {symbol} 0` {holds}: .{dtype} has no negative numbers",
        notes=(("help", f"reg.from_(r, s{dtype.bits}) has the same bits as a signed number"),),
    )
    warnings.warn_explicit(str(message), LanguageWarning, where.file, where.line, module="pyptx")
