"""The sizes of a launch as functions of dimensions: what `grid=`, `smem=` and `cond` are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeAlias, cast

from pyptx._dims import Comparison, Dim, Extent, as_extent, known_names, maximum, minimum
from pyptx.errors import SpecError

Sizes: TypeAlias = "Extent | Sequence[Extent]"
# Type checkers know the parameters of a lambda from a list of them only, and `...` is none.
GridOf1: TypeAlias = "Callable[[Any], Sizes]"
GridOf2: TypeAlias = "Callable[[Any, Any], Sizes]"
GridOf3: TypeAlias = "Callable[[Any, Any, Any], Sizes]"
GridOf4: TypeAlias = "Callable[[Any, Any, Any, Any], Sizes]"
GridOf5: TypeAlias = "Callable[[Any, Any, Any, Any, Any], Sizes]"
Grid: TypeAlias = "Sizes | GridOf1 | GridOf2 | GridOf3 | GridOf4 | GridOf5"
"""One to three sizes, or a function of the dimensions that it names."""


def resolve_grid(grid: Grid, dims: Mapping[str, Extent]) -> tuple[Extent, Extent, Extent]:
    """The three grid expressions of `grid=`: one to three sizes, or a function of dimensions.

    The function's parameters are names of dimensions, and its `min` and `max` take dimensions.
    Raises SpecError.
    """
    values: object = _call_grid(grid, dims) if callable(grid) else grid
    values = (values,) if isinstance(values, (int, Dim)) else values
    sizes = cast("Sequence[object]", values if isinstance(values, (tuple, list)) else ())
    if not 1 <= len(sizes) <= 3:
        raise SpecError(f"grid= gives {values!r}; a grid is one to three sizes (x, y, z)")
    x, y, z = (*map(as_extent, sizes), 1, 1, 1)[:3]
    for size in (x, y, z):
        if isinstance(size, int) and size < 0:
            raise SpecError(f"grid= gives ({x}, {y}, {z}); a size is not negative")
    return x, y, z


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


def _call_grid(
    grid: Callable[..., object], dims: Mapping[str, Extent], what: str = "grid="
) -> object:
    if not isinstance(grid, FunctionType):
        return grid(**dims)
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
