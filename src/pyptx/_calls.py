"""Calls that Python cannot bind to a public function, as errors of pyptx."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from pyptx._cures import cure
from pyptx._near import near_names
from pyptx._source import SourceLocation, caller
from pyptx._tracebacks import shortened
from pyptx.errors import PtxError

_P = ParamSpec("_P")
_T = TypeVar("_T")
_E = TypeVar("_E", bound=PtxError)
_COUNT: Final = re.compile(r"takes (\d+) positional arguments? but (\d+) w\w+ given")
_KEYWORD: Final = re.compile(r"unexpected keyword argument '(\w+)'")


def binding(kind: type[PtxError], called: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Make arguments that a function does not take an error of this kind at the user's line.

    `called` is how a user writes the function. All its errors have short tracebacks.
    """

    def decorate(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def call(*arguments: _P.args, **keywords: _P.kwargs) -> _T:
            try:
                return function(*arguments, **keywords)
            except TypeError as error:
                frame = error.__traceback__
                if frame is None or frame.tb_next is not None:  # raised in the body
                    error.__traceback__ = shortened(error.__traceback__, error)
                    raise
                what = str(error).partition("() ")[2]
            except Exception as error:
                error.__traceback__ = shortened(error.__traceback__, error)
                raise
            try:
                raise call_error(kind, called, function, what, caller())
            except PtxError as error:
                error.__traceback__ = shortened(error.__traceback__)
                raise

        return call

    return decorate


def constructing(kind: type[PtxError], called: str | None = None) -> Callable[[type[_T]], type[_T]]:
    """`binding` for the arguments of a class, which is written as its name by default."""

    def decorate(cls: type[_T]) -> type[_T]:
        cls.__init__ = binding(kind, called or cls.__name__)(cls.__init__)
        return cls

    return decorate


def call_error(
    kind: type[_E], called: str, function: Callable[..., object], what: str, where: SourceLocation
) -> _E:
    """The error for arguments that a function does not take, `what` in Python's words."""
    signature = inspect.signature(function)
    if (counted := _COUNT.fullmatch(what)) and next(iter(signature.parameters), "") == "self":
        takes, given = int(counted[1]) - 1, int(counted[2]) - 1
        plural = "" if takes == 1 else "s"
        what = f"takes {takes} positional argument{plural} and is given {given}"
    shown = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    names = [p.name for p in shown if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keyword = _KEYWORD.search(what)
    problem = f"{called}() has no keyword {keyword[1]}" if keyword else f"{called}() {what}"
    plain = inspect.Signature([p.replace(annotation=p.empty) for p in shown])
    return kind(
        problem,
        location=where,
        notes=(*(nearest(keyword[1], names) if keyword else ()), ("takes", f"{called}{plain}")),
    )


def nearest(name: str, names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """A note with what to write for `name` or with the names that look like it, if there is one."""
    if known := cure(name):
        return known
    near = near_names(name, names)
    return (("nearest", " ".join(near)),) if near else ()
