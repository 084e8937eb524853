"""Two names of one register: an operator that writes it changes both."""

from __future__ import annotations

import warnings
from itertools import repeat
from operator import is_
from types import FrameType
from typing import Final, cast

from pyptx import _bytecode as bytecode
from pyptx._source import SourceLocation, users_frames
from pyptx._trace.core.users import is_users
from pyptx.errors import LanguageError, LanguageWarning
from pyptx.types import DType

_REPORTED_BY: Final = "pyptx"
_TWICE: Final = 2


def warn(register: object, symbol: str, dtype: DType) -> None:
    """Warn where the caller has another name for `register`, which it reads after this line.

    `j = i` gives one register two names, so `j += 1` changes i, unlike a number of Python.
    """
    frame = next(users_frames(), None)
    if frame is None:
        return
    names = [name for name, value in frame.f_locals.items() if value is register]
    written = bytecode.assigned(frame.f_code, frame.f_lasti)
    if len(names) > 1 or (names and written is None):
        _warn(frame, names, f"{symbol}=", dtype)
    elif written is None:  # `acc[0] += v`
        _warn_of_elements(frame, register, symbol, dtype)


def warn_of_set(register: object, dtype: DType) -> None:
    """The same of `i.set(v)`, where one of the names was made from the other, by `j = i`.

    A name that a loop gives to one register after another is meant to write them.
    """
    frame = next(users_frames(), None)
    if frame is None:
        return
    names = [name for name, value in frame.f_locals.items() if value is register]
    if len(names) < _TWICE:
        return
    set_by = bytecode.receiver(frame.f_code, frame.f_lasti, "set")
    if set_by in names:
        others = (name for name in names if name != set_by)
        copies = [name for name in others if bytecode.copied(frame.f_code, name, set_by)]
        _warn(frame, copies, ".set()", dtype)


def _warn(frame: FrameType, names: list[str], symbol: str, dtype: DType) -> None:
    code, here = frame.f_code, frame.f_lasti
    written = bytecode.assigned(code, here)
    for name in names:
        read = None if name == written else bytecode.next_read(code, here, name)
        if read is None:
            continue
        _say(
            frame,
            f"`{symbol}` writes the register that {name} names too, and {name} is read later",
            read,
            f"reg.from_({name}, {dtype}) is a copy, another register",
        )


def _warn_of_elements(frame: FrameType, register: object, symbol: str, dtype: DType) -> None:
    """Warn where a list, dict or object that is read later has the register more than once."""
    for name, value in frame.f_locals.items():
        elements = _elements(value)
        if sum(map(is_, elements.values(), repeat(register))) < _TWICE:
            continue
        read = bytecode.next_read(frame.f_code, frame.f_lasti, name)
        if read is None:
            continue
        first, second, *_ = (key for key, each in elements.items() if each is register)
        spelled = "{}.{}" if hasattr(value, "__dict__") else "{}[{!r}]"
        first, second = (spelled.format(name, key) for key in (first, second))
        _say(
            frame,
            f"`{symbol}=` writes one register that is both {first} and {second}",
            read,
            f"reg.scalar({dtype}) for each element, or reg.from_({first}, {dtype}) for a copy",
        )


def _elements(value: object) -> dict[object, object]:
    if isinstance(value, list):
        return dict(enumerate(cast("list[object]", value)))
    if isinstance(value, dict):
        return cast("dict[object, object]", value)
    if hasattr(value, "__dict__") and is_users(value) and not callable(value):
        return {**vars(value)}
    return {}


def _say(frame: FrameType, what: str, read: int, cure: str) -> None:
    where = SourceLocation(frame.f_code.co_filename, frame.f_lineno)
    reads = SourceLocation(frame.f_code.co_filename, read)
    message = LanguageError(  # warnings put the line before it
        what, notes=(("read", reads.quoted), ("help", cure))
    )
    warnings.warn_explicit(
        str(message), LanguageWarning, where.file, where.line, module=_REPORTED_BY
    )
