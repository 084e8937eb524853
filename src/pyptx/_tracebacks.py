"""Short tracebacks: an error that leaves pyptx shows the user's lines and no frames of ours.

A public entry point ends with

    except Exception as error:
        error.__traceback__ = shortened(error.__traceback__, error)
        raise

A bare `raise` adds no frame of its own, so what is left are the frames of the user's functions
that were called from there, and of those that called. $PYPTX_FULL_TRACEBACK=1 keeps all frames.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from types import FrameType, TracebackType
from typing import Final, ParamSpec, TypeVar

from pyptx.errors import PtxError

VARIABLE: Final = "PYPTX_FULL_TRACEBACK"
_P = ParamSpec("_P")
_T = TypeVar("_T")
_PACKAGE: Final = str(Path(__file__).parent) + os.sep
_JAX: Final = ("jax", "jaxlib")
"""It calls us for a function that it transforms, and we call it; it hides its frames itself."""


def boundary(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A public entry point whose errors show the user's frames only."""

    @wraps(function)
    def call(*arguments: _P.args, **keywords: _P.kwargs) -> _T:
        try:
            return function(*arguments, **keywords)
        except Exception as error:
            error.__traceback__ = shortened(error.__traceback__, error)
            raise

    return call


def shortened(
    traceback: TracebackType | None,
    error: BaseException | None = None,
    *,
    hidden: Iterable[str] = (),
) -> TracebackType | None:
    """A traceback without frames of pyptx, of JAX, and of the modules named in `hidden`.

    An `error` of another kind that pyptx's own code raised keeps all: that is a bug of pyptx.
    """
    if os.environ.get(VARIABLE) == "1":
        return traceback
    hide = frozenset((*_JAX, *hidden))
    entries: list[TracebackType] = []
    innermost = None
    while traceback is not None:
        innermost = traceback
        entries.append(traceback)
        traceback = traceback.tb_next
    if innermost is None or (
        error is not None and not isinstance(error, PtxError) and _is_ours(innermost.tb_frame)
    ):
        return entries[0] if entries else None
    short: TracebackType | None = None
    for entry in reversed(entries):
        if not _is_hidden(entry.tb_frame, hide):
            short = TracebackType(short, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return short


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    if name.startswith(_PACKAGE):
        return True
    return name == "<string>" and _module(frame) == "pyptx"  # what dataclasses generate


def _is_hidden(frame: FrameType, modules: frozenset[str]) -> bool:
    return (
        _is_ours(frame)
        or frame.f_code.co_filename == contextlib.__file__
        or _module(frame) in modules
    )


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
