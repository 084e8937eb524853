"""Functions of any number of arrays, as kernels and sequences are made from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_parameters(
    function: _Function,
    names: Iterable[str],
    *,
    name: str | None = None,
    annotation: Any = inspect.Parameter.empty,
) -> _Function:
    """The function, which takes `*arrays`, with these parameters in its signature, and a name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(each, kind, annotation=annotation) for each in names]
    function.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    if name is not None:
        function.__name__ = function.__qualname__ = name
    return function
