"""How the arrays of a call bind the dimensions of Tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pyptx import _expressions as expressions
from pyptx._source import SourceLocation
from pyptx._spec import Shape, Size, Spec, unstarred
from pyptx.errors import CallError, SpecError

ARRAY_CONVERSION: Final = "{}.astype('{}')"
TENSOR_CONVERSION: Final = "{}.to(torch.{})"


def bind(
    specs: Sequence[Spec],
    shapes: Sequence[Shape],
    names: Sequence[str] = (),
    location: SourceLocation | None = None,
    keywords: Mapping[str, int] | None = None,
) -> dict[str, Size]:
    """What every named dimension is, from the shapes of the tensors in the order of `specs`.

    A starred name is bound to the sizes of its axes. `names` are the tensors' names for messages;
    `keywords` are the sizes that compile-time keywords have, which are in the result too.
    Raises CallError for a wrong number of tensors or rank, a size that is not the spec's, or a name
    that would mean two sizes.
    """
    tensors = tuple(names) or tuple(f"input {i}" for i in range(len(specs)))
    if len(shapes) != len(specs):
        takes = f"the kernel takes {len(specs)} arrays ({', '.join(tensors) or 'none'})"
        raise CallError(f"{takes} and got {len(shapes)}", location=location)
    keywords = keywords or {}
    sizes: dict[str, Size] = dict(keywords)
    first: dict[str, tuple[str, str]] = {}
    for tensor, spec, shape in zip(tensors, specs, shapes, strict=True):
        for axis, dim, size in _dimensions(tensor, spec, shape, location):
            if isinstance(dim, int) and size != dim:
                problem = f"dimension {axis} of {tensor} is {size} and must be {dim}"
                raise _misfit(problem, tensor, spec, shape, location)
            if isinstance(dim, int):
                continue
            name, where = unstarred(dim), f"axis {axis}" if dim[0] != "*" else "leading axes"
            if not name.isidentifier():
                continue  # an expression: the names that it has may follow
            if name in keywords and size != keywords[name]:
                problem = (
                    f"dimension {axis} of {tensor} is {size} and must be {keywords[name]}, the "
                    f"compile-time keyword {name}"
                )
                raise _misfit(problem, tensor, spec, shape, location)
            if sizes.setdefault(name, size) != size:
                other, there = first[name]
                problem = (
                    f'the dimension "{dim}" is {sizes[name]} in {other} ({there}) '
                    f"and {size} in {tensor} ({where})"
                )
                raise _misfit(problem, tensor, spec, shape, location)
            first.setdefault(name, (tensor, where))
    for tensor, spec, shape in zip(tensors, specs, shapes, strict=True):
        _check_computed(tensor, spec, shape, sizes, location)
    return sizes


def _check_computed(
    tensor: str,
    spec: Spec,
    shape: Shape,
    sizes: Mapping[str, Size],
    location: SourceLocation | None,
) -> None:
    """Dimensions of an input that are expressions have the sizes of these. Raises CallError."""
    if not spec.computed:
        return
    for axis, dim, size in _dimensions(tensor, spec, shape, location):
        if isinstance(dim, int) or dim not in spec.computed:
            continue
        wanted = size_at_call(dim, sizes, location)
        if size != wanted:
            known = ", ".join(f"{name} = {sizes[name]}" for name in expressions.names(dim))
            problem = (
                f"dimension {axis} of {tensor} is {size} and must be {dim} = {wanted}, "
                f"where {known}"
            )
            raise _misfit(problem, tensor, spec, shape, location)


def size_at_call(dim: str, sizes: Mapping[str, Size], location: SourceLocation | None) -> object:
    """What an expression is for the arrays of a call. Raises CallError where it is no size."""
    try:
        return expressions.size(dim, sizes)
    except SpecError as error:
        raise CallError(error.problem, location=location, notes=error.notes) from None


def _dimensions(
    tensor: str, spec: Spec, shape: Shape, location: SourceLocation | None
) -> Iterator[tuple[int, int | str, Size]]:
    """The first axis of each dimension of a Tile, the dimension, and what it is in `shape`."""
    more = len(shape) - len(spec.dims)
    if spec.starred is None:
        if more:
            problem = f"{tensor} has rank {len(shape)} and {spec!r} has rank {len(spec.dims)}"
            raise _misfit(problem, tensor, spec, shape, location)
        for axis, (dim, size) in enumerate(zip(spec.dims, shape, strict=True)):
            yield axis, dim, size
        return
    if more < -1:
        least = len(spec.dims) - 1
        problem = f"{tensor} has rank {len(shape)} and {spec!r} has at least rank {least}"
        raise _misfit(problem, tensor, spec, shape, location)
    yield 0, spec.dims[0], tuple(shape[: more + 1])
    for axis, dim in enumerate(spec.dims[1:], start=more + 1):
        yield axis, dim, shape[axis]


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
    *,
    conversion: str = ARRAY_CONVERSION,
) -> None:
    """Compare NumPy's names of the arrays' types with the specs'. Raises CallError.

    `conversion` is what makes an array of another type, with places for its name and the type.
    """
    tensors = tuple(names) or tuple(f"input {i}" for i in range(len(specs)))
    for tensor, spec, dtype in zip(tensors, specs, dtypes, strict=True):
        if spec.dtype.numpy != dtype:
            raise CallError(
                f"{tensor} has elements of type {dtype} and {spec!r} takes {spec.dtype.numpy}",
                location=location,
                notes=(("help", f"convert it: {conversion.format(tensor, spec.dtype.numpy)}"),),
            )
