"""Sizes that are written as text: `"N//2"`, `"(N+127)//128"`, `"cdiv(N, BM)"`.

A Tile, `grid=`, `block=` and `cluster=` name dimensions and compile-time keywords in text, and
compute with them. The text is Python's, of integers, names, `+ - * //`, parentheses and the
functions `cdiv`, `min` and `max`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, cast

from pyptx._dims import (
    OPERATORS,
    Binary,
    Dim,
    Extent,
    Symbol,
    cdiv,
    combine,
    maximum,
    minimum,
)
from pyptx._near import near_names
from pyptx.errors import SpecError

_SYMBOLS: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
}
_FUNCTIONS: Final[dict[str, Callable[..., Extent]]] = {
    "cdiv": cdiv,
    "min": minimum,
    "max": maximum,
}
_LEGAL: Final = "names, integers, + - * // ( ), cdiv(a, b), min(a, b, ...), max(a, b, ...)"


@lru_cache(maxsize=4096)
def parse(text: str) -> Extent:
    """The expression that a text says; a name alone is a Symbol. Raises SpecError."""
    text = str(text)  # a name in a sequence is a str that shows itself otherwise
    if text.isidentifier():
        return Symbol(text)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _no_size(text, "") from None
    found = _extent(tree, text)
    if isinstance(found, int):
        raise SpecError(f"{text!r} names no dimension", notes=(("help", f"write {found}"),))
    return found


def canonical(text: str) -> str:
    """The text as it is compared and shown, with the spaces of Python's style: `"N // 2"`."""
    parse(text)
    return ast.unparse(ast.parse(text.strip(), mode="eval"))


def _extent(node: ast.expr, text: str) -> Extent:
    match node:
        case ast.Name(id=name):
            return Symbol(name)
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return combine("-", 0, _extent(operand, text))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SYMBOLS:
            return combine(_SYMBOLS[type(op)], _extent(left, text), _extent(right, text))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            sizes = [_extent(each, text) for each in args]
            if len(sizes) != 2 if name == "cdiv" else not sizes:
                raise _no_size(text, ast.unparse(node))
            return _FUNCTIONS[name](*sizes)
        case _:
            raise _no_size(text, ast.unparse(node))


def _no_size(text: str, part: str) -> SpecError:
    where = f": {part} is none" if part and part != text.strip() else ""
    division = part and " / " in f" {part} "
    help_ = (
        "sizes are integers: write // or cdiv(a, b)" if division else '"N", "N//2", "cdiv(N, 4)"'
    )
    return SpecError(
        f"{text!r} is neither a name nor an expression of names{where}",
        notes=(("legal", _LEGAL), ("help", help_)),
    )


def names(text: str) -> tuple[str, ...]:
    """The names that a text has, in order, each once."""
    return tuple(dict.fromkeys(_names(parse(text))))


def _names(extent: Extent) -> Iterable[str]:
    if isinstance(extent, Binary):
        yield from _names(extent.left)
        yield from _names(extent.right)
    elif isinstance(extent, Symbol):
        yield extent.name


def size(text: str, sizes: Mapping[str, Any]) -> Any:
    """What a text is where its names have these sizes.

    A size is an int, a Dim, a symbolic size of `jax.export`, or a text; where one is a text, so is
    the result, unless it is an int. Raises SpecError for a division by zero, for a result that is
    negative or does not fit 64 bits, and for min and max of symbolic sizes.
    """
    try:
        found = _value(parse(text), sizes, text)
    except SpecError as error:
        raise SpecError(f"the size {text}: {error.problem}", notes=error.notes) from None
    if isinstance(found, int) and found < 0:
        known = ", ".join(f"{name} = {sizes[name]}" for name in names(text))
        raise SpecError(f"the size {text} is {found} where {known}; a size is not negative")
    if isinstance(found, Dim):
        for name in names(text):
            if isinstance(sizes[name], str):
                return cast("Any", type(sizes[name]))(found)
    return found


def _value(extent: Extent, sizes: Mapping[str, Any], text: str) -> Any:
    if isinstance(extent, int):
        return extent
    if isinstance(extent, Symbol):
        found = sizes[extent.name]
        return parse(found) if isinstance(found, str) else found
    assert isinstance(extent, Binary)
    left, right = (_value(each, sizes, text) for each in (extent.left, extent.right))
    if isinstance(left, (int, Dim)) and isinstance(right, (int, Dim)):
        return combine(extent.operator, left, right)
    if extent.operator in ("min", "max"):
        raise SpecError(
            f"{extent.operator} of sizes that are symbolic, {left} and {right}",
            notes=(("help", "export it for known sizes, or with an expression of + - * // cdiv"),),
        )
    return OPERATORS[extent.operator](cast("int", left), cast("int", right))


def axis_extent(axis: str) -> Extent:
    """What the axis of a buffer is: a dimension by its name, or an expression over such."""
    return parse(axis) if "(" in axis else Symbol(axis)


def axis_size(axis: int | str, sizes: Mapping[str, Any]) -> Any:
    """The size of the axis of a buffer, where the dimensions have these sizes."""
    if isinstance(axis, int):
        return axis
    return sizes[axis] if axis in sizes else size(axis, sizes)


def check_names(what: str, text: str, dims: Iterable[str], keywords: Iterable[str]) -> None:
    """Raises SpecError where `what`, an option that has this text, names something else."""
    dims, keywords = tuple(dims), tuple(keywords)
    for name in names(text):
        if name in dims or name in keywords:
            continue
        near = near_names(name, [*dims, *keywords], 1)
        raise SpecError(
            f"{what} names {name}, which is neither a dimension nor a compile-time keyword",
            notes=(
                *((("nearest", near[0]),) if near else ()),
                ("dimensions", ", ".join(dims) or "none"),
                ("keywords", ", ".join(keywords) or "none"),
            ),
        )
