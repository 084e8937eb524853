"""Two names of one register: an operator that writes it changes both."""

from __future__ import annotations

import warnings
from types import FrameType
from typing import Final

from pyptx import _bytecode as bytecode
from pyptx._source import SourceLocation, users_frames
from pyptx.errors import LanguageError, LanguageWarning
from pyptx.types import DType

_REPORTED_BY: Final = "pyptx"


def warn(register: object, symbol: str, dtype: DType) -> None:
    """Warn where the caller has another name for `register`, which it reads after this line.

    `j = i` gives one register two names, so `j += 1` changes i, unlike a number of Python.
    """
    frame = next(users_frames(), None)
    if frame is None:
        return
    names = [name for name, value in frame.f_locals.items() if value is register]
    if len(names) > 1 or (names and bytecode.assigned(frame.f_code, frame.f_lasti) is None):
        _warn(frame, names, symbol, dtype)


def _warn(frame: FrameType, names: list[str], symbol: str, dtype: DType) -> None:
    code, here = frame.f_code, frame.f_lasti
    written = bytecode.assigned(code, here)
    for name in names:
        read = None if name == written else bytecode.next_read(code, here, name)
        if read is None:
            continue
        where = SourceLocation(code.co_filename, frame.f_lineno)
        reads = SourceLocation(code.co_filename, read)
        message = LanguageError(  # warnings put the line before it
            f"`{symbol}=` writes the register that {name} names too, and {name} is read later",
            notes=(
                ("read", f"{reads}: {reads.text}" if reads.text else str(reads)),
                ("help", f"reg.from_({name}, {dtype}) is a copy, another register"),
            ),
        )
        warnings.warn_explicit(
            str(message), LanguageWarning, where.file, where.line, module=_REPORTED_BY
        )
