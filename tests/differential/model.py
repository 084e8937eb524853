"""Registers as a reader of Python takes them: typed numbers of one thread, by docs/language.md.

An operator gives a new number, and `x += v` binds x, and nothing else, to one; `x.set(v)` changes
the number that every name has. `run` runs the threads of a CTA from one exchange to the next.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Generator, Iterator, Sequence

import ml_dtypes
import numpy as np

FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
ARRAYS = {
    **FLOATS,
    **{f"u{bits}": np.dtype(f"uint{bits}").type for bits in (16, 32, 64)},
    **{f"s{bits}": np.dtype(f"int{bits}").type for bits in (16, 32, 64)},
}
"""The types of elements of arrays."""
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
ARITHMETIC: dict[str, Callable[..., object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_NAMES = {
    **dict(
        zip("+-*/%&|^", ("add", "sub", "mul", "truediv", "mod", "and", "or", "xor"), strict=True)
    ),
    "//": "floordiv",
    "<<": "lshift",
    ">>": "rshift",
    **dict(zip(COMPARISONS, ("lt", "le", "gt", "ge", "eq", "ne"), strict=True)),
}


class Undefined(Exception):
    """A reader cannot say what this reads: Python has no value for it."""


def bits_of(dtype: str) -> int:
    return int(dtype[1:])


def is_integer(dtype: str) -> bool:
    return dtype[0] in "us"


def number(dtype: str, value: object) -> Number:
    """A number of a type: integers wrap around, floats are rounded to nearest even."""
    if dtype == "pred":
        return Number(dtype, bool(value))
    if not is_integer(dtype):
        with np.errstate(all="ignore"):
            return Number(dtype, FLOATS[dtype](value))
    bits = bits_of(dtype)
    wrapped = int(value) & ((1 << bits) - 1)
    negative = dtype[0] == "s" and wrapped >> (bits - 1)
    return Number(dtype, wrapped - (1 << bits) if negative else wrapped)


class Number:
    """A number of a type of PTX."""

    def __init__(self, dtype: str, value: object) -> None:
        self.dtype, self.value = dtype, value

    def set(self, other: object) -> None:
        self.value = moved(self.dtype, other).value

    def max(self, other: object) -> Number:
        return _extreme(max, self, other)

    def min(self, other: object) -> Number:
        return _extreme(min, self, other)

    def __neg__(self) -> Number:
        return number(self.dtype, -self.value)

    def __abs__(self) -> Number:
        return number(self.dtype, abs(self.value))

    def __invert__(self) -> Number:
        inverted = not self.value if self.dtype == "pred" else ~self.value
        return number(self.dtype, inverted)

    __hash__ = object.__hash__


def moved(dtype: str, value: object) -> Number:
    """What a `mov` into a register of the type gives: integers keep their bits."""
    return number(dtype, value.value if isinstance(value, Number) else value)


def _agreed(symbol: str, a: object, b: object) -> tuple[object, object, str]:
    """The values of both sides, and the type that the operator computes in."""
    if symbol in ("<<", ">>"):
        return a.value, moved("u32", b).value, a.dtype
    if not isinstance(a, Number):
        a = number(b.dtype, a)
    if not isinstance(b, Number):
        b = number(a.dtype, b)
    wider = b if b.dtype != "pred" and bits_in(b) > bits_in(a) else a
    return a.value, b.value, wider.dtype


def bits_in(value: Number) -> int:
    return bits_of(value.dtype) if is_integer(value.dtype) else 0


def _divided(symbol: str, a: int, b: int) -> int:
    """`div` and `rem` of PTX truncate; by zero both are all ones."""
    if b == 0:
        return -1
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if symbol == "//" else a - quotient * b


def binary(symbol: str, a: object, b: object) -> Number:
    x, y, dtype = _agreed(symbol, a, b)
    if symbol in COMPARISONS:
        return Number("pred", bool(COMPARISONS[symbol](x, y)))
    if symbol in ("<<", ">>"):
        bits = bits_of(dtype)
        return number(dtype, (x << y if y < bits else 0) if symbol == "<<" else x >> min(y, bits))
    if symbol in ("//", "%"):
        return number(dtype, _divided(symbol, x, y))
    if symbol == "*" and is_integer(dtype) and bits_of(dtype) < 64:
        dtype = f"{dtype[0]}{2 * bits_of(dtype)}"
    with np.errstate(all="ignore"):
        return number(dtype, ARITHMETIC[symbol](x, y))


def in_place(symbol: str, a: Number, b: object) -> Number:
    """A new number of the same type: a product keeps its low half."""
    return number(a.dtype, binary(symbol, a, b).value)


def _extreme(function: Callable[..., object], a: Number, b: object) -> Number:
    x, y, dtype = _agreed("max", a, b)
    if not is_integer(dtype):
        if np.isnan(x) or np.isnan(y):
            return number(dtype, y if np.isnan(x) else x)
        if x == y == 0:  # -0 is the smaller
            negative = (all if function is max else any)(map(np.signbit, (x, y)))
            return number(dtype, -0.0 if negative else 0.0)
    return number(dtype, function(x, y))


for _symbol, _name in _NAMES.items():
    setattr(
        Number, f"__{_name}__", functools.partialmethod(lambda a, b, s: binary(s, a, b), s=_symbol)
    )
    if _symbol not in COMPARISONS:
        _right = functools.partialmethod(lambda a, b, s: binary(s, b, a), s=_symbol)
        _same = functools.partialmethod(lambda a, b, s: in_place(s, a, b), s=_symbol)
        setattr(Number, f"__r{_name}__", _right)
        setattr(Number, f"__i{_name}__", _same)


def holds(predicate: Number) -> bool:
    assert predicate.dtype == "pred"
    return bool(predicate.value)


def counted(*bounds: object, dtype: str = "s32") -> Iterator[Number]:
    """`ptx.range_`, which has the type of a bound in a register."""
    kinds = [each.dtype for each in bounds if isinstance(each, Number)]
    ints = [each.value if isinstance(each, Number) else each for each in bounds]
    return (number(kinds[0] if kinds else dtype, i) for i in range(*ints))


class Array(list[object]):
    """`reg.array`, of which an element is set by a `mov`."""

    def __init__(self, dtype: str, count: int) -> None:
        super().__init__([None] * count)
        self.dtype = dtype

    def __setitem__(self, index: int, value: object) -> None:
        super().__setitem__(index, moved(self.dtype, value))


class Memory:
    """The elements of a tensor or of a tile, by ints and numbers."""

    def __init__(self, dtype: str, array: np.ndarray) -> None:
        self.dtype, self.array = dtype, array
        self.known = np.ones(array.shape, bool)

    def _place(self, indices: object) -> tuple[int, ...]:
        listed = indices if isinstance(indices, tuple) else (indices,)
        found = tuple(int(i.value) if isinstance(i, Number) else i for i in listed)
        if not all(0 <= i < size for i, size in zip(found, self.array.shape, strict=True)):
            raise Undefined
        return found

    def __getitem__(self, indices: object) -> Number:
        place = self._place(indices)
        if not self.known[place]:
            raise Undefined
        return number(self.dtype, self.array[place])

    def __setitem__(self, indices: object, value: object) -> None:
        place = self._place(indices)
        self.array[place] = moved(self.dtype, value).value
        self.known[place] = True


class Registers:
    """`reg` of the reader."""

    array = Array

    @staticmethod
    def scalar(dtype: str, init: object) -> Number:
        return moved(dtype, init)

    from_ = staticmethod(lambda source, dtype: moved(dtype, source))


class Functions:
    """`ptx` of the reader, as far as an expression names it."""

    @staticmethod
    def where(predicate: Number, a: Number, b: object) -> Number:
        return number(a.dtype, (a if holds(predicate) else moved(a.dtype, b)).value)


# ---- the threads of a CTA ------------------------------------------------------------------------

Thread = Generator[tuple[object, ...], object, None]


def run(threads: Sequence[Thread]) -> None:
    """Run all threads to their end; each yields what it brings to an exchange."""
    results: list[object] = [None] * len(threads)
    while True:
        brought = []
        for thread, result in zip(threads, results, strict=True):
            try:
                brought.append(thread.send(result))
            except StopIteration:
                continue
        if not brought:
            return
        assert len(brought) == len(threads)
        results = _exchanged(brought)


def _exchanged(brought: list[tuple[object, ...]]) -> list[object]:
    what = brought[0][0]
    assert all(each[0] == what for each in brought)
    if what == "tile":
        dtype = brought[0][1]
        tile = Memory(dtype, np.zeros(len(brought), ARRAYS[dtype]))
        tile.known[:] = False
        return [tile] * len(brought)
    if what == "barrier":
        return [None] * len(brought)
    scope, _, name = what.partition(".")
    size = 32 if scope == "warp" else len(brought)
    values = [each[1] for each in brought]
    found: list[object] = []
    for first in range(0, len(values), size):
        found += _combined(name, values[first : first + size])
    return found


def _combined(name: str, values: list[Number]) -> list[object]:
    if name == "broadcast":
        return [number(values[0].dtype, values[0].value) for _ in values]
    if name.startswith("reduce"):
        steps = {"sum": operator.add, "max": Number.max, "min": Number.min}
        total = functools.reduce(steps[name.removeprefix("reduce_")], values)
        return [number(total.dtype, total.value) for _ in values]
    sums, total = [], number(values[0].dtype, 0)
    for value in values:
        before, total = total, total + value
        sums.append(total if name == "inclusive_scan" else before)
    return sums
