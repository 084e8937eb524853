"""The sizes of a launch as functions of dimensions: what `grid=`, `smem=` and `cond` are given."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, SupportsIndex, TypeAlias, cast

from pyptx import _expressions as expressions
from pyptx._dims import Comparison, Dim, Extent, as_extent, known_names, maximum, minimum
from pyptx.errors import SpecError

Sizes: TypeAlias = "Extent | str | Sequence[Extent | str]"
# Type checkers know the parameters of a lambda from a list of them only, and `...` is none.
GridOf1: TypeAlias = "Callable[[Any], Sizes]"
GridOf2: TypeAlias = "Callable[[Any, Any], Sizes]"
GridOf3: TypeAlias = "Callable[[Any, Any, Any], Sizes]"
GridOf4: TypeAlias = "Callable[[Any, Any, Any, Any], Sizes]"
GridOf5: TypeAlias = "Callable[[Any, Any, Any, Any, Any], Sizes]"
Grid: TypeAlias = "Sizes | GridOf1 | GridOf2 | GridOf3 | GridOf4 | GridOf5"
"""One to three sizes, or a function of the dimensions that it names; a size may be text."""


def texts_of(sizes: object) -> tuple[str, ...]:
    """The sizes of `grid=`, `block=` or `cluster=` that are text."""
    listed = cast("Sequence[object]", sizes if isinstance(sizes, (tuple, list)) else (sizes,))
    return tuple(size for size in listed if isinstance(size, str))


def resolve_grid(grid: Grid, dims: Mapping[str, Any]) -> tuple[Extent, Extent, Extent]:
    """The three grid expressions of `grid=`: one to three sizes, or a function of dimensions.

    The function's parameters are names of dimensions, and its `min` and `max` take dimensions.
    `dims` may have compile-time keywords too. Raises SpecError.
    """
    values: object = _call_grid(grid, dims) if callable(grid) else grid
    values = (values,) if isinstance(values, (Dim, str)) or _is_integer(values) else values
    sizes = cast("Sequence[object]", values if isinstance(values, (tuple, list)) else ())
    if not 1 <= len(sizes) <= 3:
        raise SpecError(f"grid= gives {values!r}; a grid is one to three sizes (x, y, z)")
    x, y, z = (*(_grid_size("grid=", size, dims) for size in sizes), 1, 1, 1)[:3]
    for size in (x, y, z):
        if isinstance(size, int) and size < 0:
            raise SpecError(f"grid= gives ({x}, {y}, {z}); a size is not negative")
    return x, y, z


def _is_integer(value: object) -> bool:
    """Whether it is an int or an integer of NumPy."""
    try:
        operator.index(cast("SupportsIndex", value))
    except TypeError:
        return False
    return True


def known_sizes(option: str, given: object, dims: Mapping[str, Any]) -> object:
    """What `block=` or `cluster=` is where it is text or a function, with sizes that are known.

    Raises SpecError for a name that is none of `dims`, and for a dimension without a size.
    """
    values = _call_grid(given, dims, option) if callable(given) else given
    several = isinstance(values, (tuple, list))
    listed = cast("Sequence[object]", values if several else (values,))
    found: list[object] = []
    for each in listed:
        size = _grid_size(option, each, dims) if isinstance(each, (str, Dim)) else each
        if isinstance(size, Dim):
            raise SpecError(
                f"{option} is {size}, which has no size before the launch",
                notes=(("help", "compute it from compile-time keywords and other dimensions"),),
            )
        found.append(size)
    return tuple(found) if several else found[0]


def _grid_size(option: str, size: object, dims: Mapping[str, Any]) -> Extent:
    """A size that is a number, a dimension, or a text that names some. Raises SpecError."""
    if not isinstance(size, str):
        return as_extent(size)
    known: dict[str, Extent] = {}
    for name in expressions.names(size):
        if name not in dims:
            raise SpecError(f"{option} asks for the dimension {name}", notes=known_names(dims))
        try:
            known[name] = as_extent(dims[name])
        except SpecError:
            raise SpecError(
                f"{option} has {name} as a size, and it is {dims[name]!r}",
                notes=(("legal", "a size is an integer"),),
            ) from None
    return expressions.size(size, known)


def extent_of(
    function: Callable[..., Extent], dims: Mapping[str, Extent], what: str = ""
) -> Extent:
    """A size as a function of named dimensions, as `grid=` has them. Raises SpecError."""
    return as_extent(_call_grid(function, dims, f"the function {what}".rstrip()))


def condition_of(function: Callable[..., object], dims: Mapping[str, Extent]) -> Comparison | bool:
    """A comparison as a function of named dimensions, as `grid=` has them. Raises SpecError."""
    found = _call_grid(function, dims, "the condition")
    if isinstance(found, (Comparison, bool)):
        return found
    raise SpecError(
        f"the condition gives {found!r}, which is no comparison",
        notes=(("help", "lambda B: B <= 16"),),
    )


def _parameters(function: Callable[..., object], dims: Mapping[str, object]) -> tuple[str, ...]:
    """Which of the dimensions a callable object takes: all where it does not say."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return tuple(dims)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return tuple(dims)
    return tuple(name for name in dims if name in parameters)


def _call_grid(
    grid: Callable[..., object], dims: Mapping[str, Extent], what: str = "grid="
) -> object:
    if not isinstance(grid, FunctionType):
        return grid(**{name: dims[name] for name in _parameters(grid, dims)})
    code = grid.__code__
    wanted = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = set(wanted[code.co_argcount - len(grid.__defaults__ or ()) : code.co_argcount])
    defaults |= set(grid.__kwdefaults__ or ())
    for name in wanted:
        if name not in dims and name not in defaults:
            raise SpecError(f"{what} asks for the dimension {name}", notes=known_names(dims))
    # Python's min and max cannot build an expression, so the function sees ours under their names.
    own = {"min": minimum, "max": maximum} | grid.__globals__
    seen = FunctionType(code, own, grid.__name__, grid.__defaults__, grid.__closure__)
    seen.__kwdefaults__ = grid.__kwdefaults__
    return seen(**{name: dims[name] for name in wanted if name in dims})
