"""What a function takes: tensors by position, compile-time values by keyword."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from pyptx import _text as text
from pyptx._source import SourceLocation, caller
from pyptx._spec import Scalar, Spec, Tile
from pyptx._trace.build import Signature
from pyptx._trace.core.values import integer
from pyptx.errors import CallError, SpecError

Body: TypeAlias = Callable[..., object]


def parameters_of(
    function: Body, what: str, location: SourceLocation
) -> tuple[str, tuple[str, ...], dict[str, object]]:
    """A function's PTX name, its positional parameters and its keyword-only ones with defaults.

    `what` is "kernel" or "sequence", for messages. Raises SpecError.
    """
    if problem := _no_body(function):
        raise SpecError(
            f"{problem}, so it cannot be the body of a {what}",
            location=location,
            notes=(("help", f"@{what}(...) stands before def name(tensors): ..."),),
        )
    written = re.sub(r"\W", "_", function.__name__.strip("<>"), flags=re.ASCII)
    name = text.identifier(written, what)
    parameters = inspect.signature(function).parameters.values()
    starred = [p for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if starred:
        raise SpecError(
            f"{name} takes {starred[0]}; each tensor of a {what} has a name of its own",
            location=location,
        )
    tensors = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    for parameter in tensors:
        if parameter.default is not parameter.empty:
            raise SpecError(
                f"{name} gives {parameter.name} a default, and positional parameters are tensors",
                location=location,
                notes=(
                    ("help", f"compile-time values follow a star: def {name}(..., *, {parameter})"),
                ),
            )
    positional = tuple(p.name for p in tensors)
    constants = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    return name, positional, constants


def ptx_name(name: object, where: SourceLocation) -> str:
    """What a user says a kernel is called. Raises SpecError for what PTX cannot have as a name."""
    if isinstance(name, str) and name and text.identifier(name, "") == name:
        return name
    raise SpecError(
        f"name={name!r} cannot be the name of a kernel in PTX",
        location=where,
        notes=(("legal", "letters, digits, _ and $, of which no digit begins it"),),
    )


def signature(
    function: Body,
    run_time: tuple[str, ...],
    in_specs: Sequence[Spec] | None,
    out_specs: Sequence[Tile] | None,
    location: SourceLocation,
) -> tuple[Signature, dict[str, object]]:
    """A kernel's positional parameters with their specs, its keyword-only ones with defaults."""
    name, positional, constants = parameters_of(function, "kernel", location)
    inputs, outputs = tuple(in_specs or ()), tuple(out_specs or ())
    specs: tuple[Spec | None, ...] = (*inputs, *outputs)
    if in_specs is None and out_specs is None:
        specs = (None,) * len(positional)
    made = Signature(name, positional, specs, run_time, location)
    if len(specs) != len(positional):
        raise SpecError(
            f"{name} takes {len(positional)} tensors ({', '.join(positional) or 'none'}), "
            f"and has {len(inputs)} in_specs and {len(outputs)} out_specs",
            location=location,
        )
    return made, constants


def _no_body(function: object) -> str:
    """Why something cannot be traced: "" for a plain function or a method."""
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        return f"{function!r} is no function"
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return f"{function.__name__} is a generator or a coroutine"
    return ""


def specs(name: str, specs: object, where: SourceLocation) -> tuple[Any, ...] | None:
    """What in_specs or out_specs hold, None where they were left out."""
    if specs is None:
        return None
    found = tuple(cast("Sequence[object]", specs)) if isinstance(specs, (tuple, list)) else ()
    if isinstance(specs, (tuple, list)) and all(isinstance(s, (Tile, Scalar)) for s in found):
        return found
    raise SpecError(
        f"{name}={specs!r} is not a tuple of Tiles",
        location=where,
        notes=(("help", f'{name}=(Tile("B", "N", f32),)'),),
    )


def check_constants(name: str, constants: Mapping[str, object]) -> None:
    for keyword, value in constants.items():
        if value is inspect.Parameter.empty:
            raise CallError(
                f"{name} needs the compile-time keyword {keyword}",
                location=caller(),
                notes=(("help", f"{name}(..., {keyword}=...)"),),
            )
        try:
            hash(value)
        except TypeError:
            if type(value).__module__.partition(".")[0] in ("jax", "jaxlib"):
                raise CallError(
                    f"the compile-time keyword {keyword} of {name} is a value of JAX; it is part "
                    "of the kernel and must be known when it is built",
                    location=caller(),
                    notes=(
                        ("help", f"a Python or NumPy number: {name}(..., {keyword}=2)"),
                        ("help", f"under a transformation: lambda x: {name}(x, {keyword}=2)"),
                    ),
                ) from None
            raise CallError(
                f"the compile-time keyword {keyword} of {name} must be hashable, and "
                f"{type(value).__name__} is not",
                location=caller(),
            ) from None


def exact(value: object) -> object:
    """A compile-time value as a key: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    if isinstance(value, tuple):
        return tuple(map(exact, cast("tuple[object, ...]", value)))
    return type(value), value, repr(value) if isinstance(value, (float, complex)) else ""


def dimension_size(name: str, value: object) -> int:
    size = integer(value)
    if size is None or size < 0:
        raise SpecError(
            f"the dimension {name} is a size, not {value!r}",
            location=caller(),
            notes=(("help", f"{name}=1024"),),
        )
    return size
