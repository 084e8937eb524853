"""Tiles, scalars and expressions over dimensions: the shapes that a kernel is written for.

A dimension of a `Tile` is an integer or a name. A name stands for whatever the arrays of a call
have there, and means the same size everywhere in one call. A size that is known only when the
kernel is launched is a `Dim`: grids and launch arguments compute with it before it has a value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import FunctionType
from typing import Final, NoReturn, SupportsIndex, TypeAlias, cast, overload

from pyptx.errors import CallError, SpecError
from pyptx.source import SourceLocation, caller
from pyptx.types import DType

Extent: TypeAlias = "int | Dim"
"""A size: known, or an expression over dimensions."""

Shape: TypeAlias = tuple[int, ...]
Grid: TypeAlias = "Sequence[Extent] | Callable[..., Sequence[Extent]]"


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

    `+ - * //`, `cdiv`, `minimum` and `maximum` build larger expressions. It has no value while the
    kernel is built, so `bool()`, `int()`, `range()` and comparisons raise SpecError.
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

    def __lt__(self, other: object) -> NoReturn:
        raise _no_value(self, "<", _COMPUTE)

    def __le__(self, other: object) -> NoReturn:
        raise _no_value(self, "<=", _COMPUTE)

    def __gt__(self, other: object) -> NoReturn:
        raise _no_value(self, ">", _COMPUTE)

    def __ge__(self, other: object) -> NoReturn:
        raise _no_value(self, ">=", _COMPUTE)


_COMPUTE: Final = "compute with it (+ - * // ptx.cdiv min max); it has no value before the launch"


def _no_value(dim: Dim, use: str, advice: str) -> SpecError:
    return SpecError(f"{use} of the run-time dimension {dim}", notes=(("help", advice),))


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
    a, b = _extent(left), _extent(right)
    if isinstance(a, int) and isinstance(b, int):
        return apply(name, a, b)
    if isinstance(b, int) and b == 0 and name in ("//", "cdiv"):
        raise SpecError(f"{a} {name} 0: an expression over dimensions divides by zero")
    return Binary(name, a, b)


def _extent(value: object) -> Extent:
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
        raise SpecError(f"the dimension {extent.name} is in no tensor", notes=_known(places))
    return places[extent.name]


def _known(names: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return (("dimensions", ", ".join(names) or "none"),)


@dataclass(frozen=True, slots=True, init=False)
class Tile:
    """A tensor that a kernel takes or gives: dimensions, then the type: `Tile("B", "N", f32)`.

    A dimension is an int or a name (a Python identifier). Raises SpecError for anything else.
    """

    dims: tuple[int | str, ...]
    dtype: DType

    def __init__(self, *dims_and_dtype: int | str | DType) -> None:
        try:
            dims, dtype = _tile(dims_and_dtype)
        except SpecError as error:
            raise error.at(caller()) from None
        object.__setattr__(self, "dims", dims)
        object.__setattr__(self, "dtype", dtype)

    def __repr__(self) -> str:
        dims = (f'"{dim}"' if isinstance(dim, str) else str(dim) for dim in self.dims)
        return f"Tile({', '.join((*dims, repr(self.dtype)))})"

    @property
    def names(self) -> tuple[str, ...]:
        """The named dimensions, in order, each once."""
        return tuple(dict.fromkeys(dim for dim in self.dims if isinstance(dim, str)))

    def shape(self, dims: Mapping[str, int]) -> Shape:
        """The shape where the names have these sizes. Raises SpecError for a missing one."""
        missing = [name for name in self.names if name not in dims]
        if missing:
            raise SpecError(f"{self!r} needs the dimension {missing[0]}", notes=_known(dims))
        return tuple(dims[dim] if isinstance(dim, str) else dim for dim in self.dims)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A run-time value among the inputs: a Python or NumPy number, or an array of rank 0."""

    dtype: DType

    def __post_init__(self) -> None:
        try:
            _array_dtype(self.dtype)
        except SpecError as error:
            raise error.at(caller()) from None

    def __repr__(self) -> str:
        return f"Scalar({self.dtype!r})"

    @property
    def dims(self) -> tuple[int | str, ...]:
        return ()

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    def shape(self, _dims: Mapping[str, int]) -> Shape:
        """Always ()."""
        return ()


Spec: TypeAlias = Tile | Scalar


def _tile(dims_and_dtype: Sequence[object]) -> tuple[tuple[int | str, ...], DType]:
    """What stands in a Tile's parentheses, checked."""
    if not dims_and_dtype or not isinstance(dims_and_dtype[-1], DType):
        raise SpecError(
            f"Tile({', '.join(map(repr, dims_and_dtype))}) does not end with a type",
            notes=(("help", 'Tile("B", "N", f32)'),),
        )
    *dims, dtype = dims_and_dtype
    return tuple(_tile_dim(dim) for dim in dims), _array_dtype(dtype)


def _tile_dim(dim: object) -> int | str:
    if isinstance(dim, str):
        if dim.isidentifier():
            return dim
        raise SpecError(f"the dimension name {dim!r} is not a Python identifier")
    size = _extent(dim)
    if not isinstance(size, int) or size < 0:
        raise SpecError(f"a dimension of a Tile is a size or a name, not {dim}")
    return size


def _array_dtype(dtype: object) -> DType:
    if not isinstance(dtype, DType):
        raise SpecError(f"{dtype!r} is no type; types are in pyptx.types")
    if dtype.numpy is None:
        raise SpecError(f"arrays have no type {dtype!r}; the elements of a tensor need one")
    return dtype


def bind(
    specs: Sequence[Spec],
    shapes: Sequence[Shape],
    names: Sequence[str] = (),
    location: SourceLocation | None = None,
) -> dict[str, int]:
    """The size of every named dimension, from the shapes of the tensors in the order of `specs`.

    `names` are the tensors' names for messages. Raises CallError for a wrong number of tensors or
    rank, a size that is not the spec's, or a name that would mean two sizes.
    """
    tensors = tuple(names) or tuple(f"input {i}" for i in range(len(specs)))
    if len(shapes) != len(specs):
        takes = f"the kernel takes {len(specs)} arrays ({', '.join(tensors) or 'none'})"
        raise CallError(f"{takes} and got {len(shapes)}", location=location)
    sizes: dict[str, int] = {}
    first: dict[str, tuple[str, int]] = {}
    for tensor, spec, shape in zip(tensors, specs, shapes, strict=True):
        if len(shape) != len(spec.dims):
            problem = f"{tensor} has rank {len(shape)} and {spec!r} has rank {len(spec.dims)}"
            raise _misfit(problem, tensor, spec, shape, location)
        for axis, (dim, size) in enumerate(zip(spec.dims, shape, strict=True)):
            if isinstance(dim, int) and size != dim:
                problem = f"dimension {axis} of {tensor} is {size} and must be {dim}"
                raise _misfit(problem, tensor, spec, shape, location)
            if isinstance(dim, str) and sizes.setdefault(dim, size) != size:
                other, where = first[dim]
                problem = (
                    f'the dimension "{dim}" is {sizes[dim]} in {other} (axis {where}) '
                    f"and {size} in {tensor} (axis {axis})"
                )
                raise _misfit(problem, tensor, spec, shape, location)
            if isinstance(dim, str):
                first.setdefault(dim, (tensor, axis))
    return sizes


def _misfit(
    problem: str, tensor: str, spec: Spec, shape: Shape, location: SourceLocation | None
) -> CallError:
    notes = (("spec", f"{tensor}: {spec!r}"), ("shape", f"{tensor}: {shape}"))
    return CallError(problem, location=location, notes=notes)


def check_dtypes(
    specs: Sequence[Spec],
    dtypes: Sequence[str],
    names: Sequence[str] = (),
    location: SourceLocation | None = None,
) -> None:
    """Compare NumPy's names of the arrays' types with the specs'. Raises CallError."""
    tensors = tuple(names) or tuple(f"input {i}" for i in range(len(specs)))
    for tensor, spec, dtype in zip(tensors, specs, dtypes, strict=True):
        if spec.dtype.numpy != dtype:
            raise CallError(
                f"{tensor} has elements of type {dtype} and {spec!r} takes {spec.dtype.numpy}",
                location=location,
                notes=(("help", f"convert it: {tensor}.astype({spec.dtype.numpy!r})"),),
            )


def check_outputs(in_specs: Sequence[Spec], out_specs: Sequence[Spec]) -> None:
    """Every named dimension of an output must be one of an input. Raises SpecError."""
    known = {name: None for spec in in_specs for name in spec.names}
    for spec in out_specs:
        if isinstance(spec, Scalar):
            raise SpecError(
                f"{spec!r} is among the outputs; a kernel writes tensors: Tile({spec.dtype})"
            )
        for name in spec.names:
            if name not in known:
                raise SpecError(
                    f'the dimension "{name}" of the output {spec!r} is in no input',
                    notes=_known(known),
                )


def resolve_grid(grid: Grid, dims: Mapping[str, Extent]) -> tuple[Extent, Extent, Extent]:
    """The three grid expressions of `grid=`: one to three sizes, or a function of dimensions.

    The function's parameters are names of dimensions, and its `min` and `max` take dimensions.
    Raises SpecError.
    """
    values: object = _call_grid(grid, dims) if callable(grid) else grid
    if isinstance(values, (int, Dim)):
        values = (values,)
    if not isinstance(values, (tuple, list)) or not 1 <= len(values) <= 3:
        raise SpecError(f"grid= gives {values!r}; a grid is one to three sizes (x, y, z)")
    x, y, z = (*map(_extent, values), 1, 1, 1)[:3]
    for size in (x, y, z):
        if isinstance(size, int) and size < 0:
            raise SpecError(f"grid= gives ({x}, {y}, {z}); a size is not negative")
    return x, y, z


def _call_grid(
    grid: Callable[..., Sequence[Extent]], dims: Mapping[str, Extent]
) -> Sequence[Extent]:
    if not isinstance(grid, FunctionType):
        return grid(**dims)
    code = grid.__code__
    wanted = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = set(wanted[code.co_argcount - len(grid.__defaults__ or ()) : code.co_argcount])
    defaults |= set(grid.__kwdefaults__ or ())
    for name in wanted:
        if name not in dims and name not in defaults:
            raise SpecError(f"grid= asks for the dimension {name}", notes=_known(dims))
    # Python's min and max cannot build an expression, so the function sees ours under their names.
    own = {"min": minimum, "max": maximum} | grid.__globals__
    seen = FunctionType(code, own, grid.__name__, grid.__defaults__, grid.__closure__)
    seen.__kwdefaults__ = grid.__kwdefaults__
    return seen(**{name: dims[name] for name in wanted if name in dims})
