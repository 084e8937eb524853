"""Sizes: known ones, and expressions over dimensions that are known only at a launch.

A size that is known only when a kernel is launched is a `Dim`: grids and launch arguments compute
with it before it has a value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final, NoReturn, SupportsIndex, TypeAlias, cast, overload

from pyptx.errors import SpecError

Extent: TypeAlias = "int | Dim"
"""A size: known, or an expression over dimensions."""


def _ceil_divide(a: int, b: int) -> int:
    return -(-a // b)


OPERATORS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda a, b: a // b,
    "cdiv": _ceil_divide,
    "min": min,
    "max": max,
}
"""What expressions compute with, by the name that a plan spells it with; all on 64-bit integers."""

INT64: Final = range(-(2**63), 2**63)


def apply(name: str, a: int, b: int) -> int:
    """One operation on known sizes. Raises SpecError for a zero divisor or beyond 64 bits."""
    if b == 0 and name in ("//", "cdiv"):
        raise SpecError(f"{a} {name} 0: an expression over dimensions divides by zero")
    value = OPERATORS[name](a, b)
    if value not in INT64:
        raise SpecError(f"{a} {name} {b} does not fit 64 bits")
    return value


class Dim:
    """A size that is known when the kernel is launched, or an expression over such sizes.

    `+ - * //`, `cdiv`, `minimum` and `maximum` build larger expressions, and `< <= > >=` give a
    Comparison. It has no value while the kernel is built, so `bool()`, `int()`, `range()` and `==`
    raise SpecError, and so does the truth of a Comparison.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    def __add__(self, other: Extent) -> Extent:
        return combine("+", self, other)

    def __radd__(self, other: int) -> Extent:
        return combine("+", other, self)

    def __sub__(self, other: Extent) -> Extent:
        return combine("-", self, other)

    def __rsub__(self, other: int) -> Extent:
        return combine("-", other, self)

    def __mul__(self, other: Extent) -> Extent:
        return combine("*", self, other)

    def __rmul__(self, other: int) -> Extent:
        return combine("*", other, self)

    def __floordiv__(self, other: Extent) -> Extent:
        return combine("//", self, other)

    def __rfloordiv__(self, other: int) -> Extent:
        return combine("//", other, self)

    def __truediv__(self, other: object) -> NoReturn:
        raise _no_value(self, "/", "sizes are integers: write // or ptx.cdiv(a, b)")

    def __rtruediv__(self, other: object) -> NoReturn:
        raise _no_value(self, "/", "sizes are integers: write // or ptx.cdiv(a, b)")

    def __bool__(self) -> NoReturn:
        raise _no_value(self, "bool()", _COMPUTE)

    def __int__(self) -> NoReturn:
        raise _no_value(self, "int()", _COMPUTE)

    def __index__(self) -> NoReturn:
        raise _no_value(self, "an index or range()", _COMPUTE)

    def __eq__(self, other: object) -> NoReturn:
        raise _no_value(self, "==", _COMPUTE)

    def __ne__(self, other: object) -> NoReturn:
        raise _no_value(self, "!=", _COMPUTE)

    def __lt__(self, other: Extent) -> Comparison:
        return Comparison(self, "<", combine("-", other, self))

    def __le__(self, other: Extent) -> Comparison:
        return Comparison(self, "<=", combine("-", combine("+", other, 1), self))

    def __gt__(self, other: Extent) -> Comparison:
        return Comparison(self, ">", combine("-", self, other))

    def __ge__(self, other: Extent) -> Comparison:
        return Comparison(self, ">=", combine("-", combine("+", self, 1), other))


_COMPUTE: Final = "compute with it (+ - * // ptx.cdiv min max); it has no value before the launch"


def _no_value(dim: Dim, use: str, advice: str) -> SpecError:
    return SpecError(f"{use} of the run-time dimension {dim}", notes=(("help", advice),))


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """How a dimension compares with a size: it holds where `positive` is more than 0."""

    dim: Dim
    operator: str
    positive: Extent

    def __bool__(self) -> NoReturn:
        raise _no_value(self.dim, self.operator, _COMPUTE)


@dataclass(frozen=True, slots=True, eq=False)
class Symbol(Dim):
    """A dimension by name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Dim):
    """An operation of `OPERATORS` on two sizes, at least one of them a Dim."""

    operator: str
    left: Extent
    right: Extent

    def __str__(self) -> str:
        if self.operator.isalpha():
            return f"{self.operator}({self.left}, {self.right})"
        return f"({self.left} {self.operator} {self.right})"


def combine(name: str, left: Extent, right: Extent) -> Extent:
    """The expression `left name right`; an int where both are known. Raises SpecError."""
    a, b = as_extent(left), as_extent(right)
    if isinstance(a, int) and isinstance(b, int):
        return apply(name, a, b)
    if isinstance(b, int) and b == 0 and name in ("//", "cdiv"):
        raise SpecError(f"{a} {name} 0: an expression over dimensions divides by zero")
    return Binary(name, a, b)


def as_extent(value: object) -> Extent:
    """A size as an int or a Dim. Raises SpecError for anything else."""
    if isinstance(value, Dim):
        return value
    try:
        if not isinstance(value, bool):
            return operator.index(cast("SupportsIndex", value))
    except TypeError:
        pass
    raise SpecError(f"{value!r} is no size: sizes are integers and dimensions")


@overload
def cdiv(a: int, b: int) -> int: ...
@overload
def cdiv(a: Extent, b: Extent) -> Extent: ...
def cdiv(a: Extent, b: Extent) -> Extent:
    """`a / b` rounded up, for ints and run-time dimensions."""
    return combine("cdiv", a, b)


def minimum(first: Extent, *others: Extent) -> Extent:
    """The smallest of one or more sizes."""
    return reduce(lambda a, b: combine("min", a, b), others, first)


def maximum(first: Extent, *others: Extent) -> Extent:
    """The largest of one or more sizes."""
    return reduce(lambda a, b: combine("max", a, b), others, first)


def rpn(extent: Extent, places: Mapping[str, str]) -> str:
    """The expression in reverse Polish notation, each symbol spelled as `places` says.

    Raises SpecError for a symbol without a place.
    """
    if isinstance(extent, int):
        return str(extent)
    if isinstance(extent, Binary):
        return f"{rpn(extent.left, places)} {rpn(extent.right, places)} {extent.operator}"
    assert isinstance(extent, Symbol)
    if extent.name not in places:
        raise SpecError(f"the dimension {extent.name} is in no tensor", notes=known_names(places))
    return places[extent.name]


def known_names(names: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """The note of an error that says which dimensions there are."""
    return (("dimensions", ", ".join(names) or "none"),)
