"""Where in the user's Python source something was written."""

from __future__ import annotations

import contextlib
import inspect
import linecache
import re
from collections.abc import Generator, Set
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Final

from pyptx._frozen import constructor

_PACKAGE: Final = str(Path(__file__).parent) + "/"
_OPS: Final = f"{_PACKAGE}ops/"
_LIBRARY: Final = str(Path(contextlib.__file__).parent) + "/"
"""Python's own modules: what the user's line calls, such as `copy` and `dataclasses`."""
_INSTALLED: Final = re.compile(r"/(site|dist)-packages/")
_METHOD: Final = re.compile(r"__\w+__")
# Whether files are the package's, so that the walk up the stack costs a dict lookup per frame.
_inside: dict[str, bool] = {}
_of_commands: Final[set[str]] = set()
"""Files of Typer that were seen. It calls the commands of pyptx; a user's function is inside it."""
_FILES: Final = 4096
"""File names that are known at most: each cell of a notebook has its own."""
_GENERATED: Final = "<string>"


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A line of a file; the text of the line is read when it is asked for."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def text(self) -> str:
        """The source line without its indentation, "" where the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def quoted(self) -> str:
        """The place and, where the file can be read, its text: a note of a message."""
        return f"{self}: {self.text}" if self.text else str(self)


_make_location: Final = constructor(SourceLocation)
UNKNOWN: Final = SourceLocation("<unknown>", 0)


def caller() -> SourceLocation:
    """The innermost frame outside this package: the line that the user wrote.

    The package's own `ops` count as users of the language, so their lines are reported too.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if is_users(frame):
            name = frame.f_code.co_filename
            if name in _of_commands:  # a command of pyptx itself asks, and no line of the user
                return UNKNOWN
            return _make_location(name, frame.f_lineno)
        frame = frame.f_back
    return UNKNOWN


def users_frames(roots: Set[int] = frozenset()) -> Generator[FrameType]:
    """The frames of the user's functions, innermost first, as far as code whose id is a root."""
    frame = inspect.currentframe()
    while frame is not None and id(frame.f_code) not in roots:
        if is_users(frame):
            yield frame
        frame = frame.f_back


def is_of_ops(frame: FrameType) -> bool:
    """Whether a frame runs a function of the package's own operations."""
    return frame.f_code.co_filename.startswith(_OPS)


def is_users(frame: FrameType) -> bool:
    """Whether a frame runs a user's function, as `caller` understands it."""
    name = frame.f_code.co_filename
    inside = _inside.get(name)
    if inside is None:
        inside = _is_inside(frame)
        if name != _GENERATED:
            if len(_inside) >= _FILES:
                _inside.clear()
            _inside[name] = inside
            if not inside and str(frame.f_globals.get("__name__")).startswith("typer."):
                _of_commands.add(name)
    return not inside


def call_site() -> SourceLocation:
    """The innermost frame outside this package and its `ops`: the line that calls an operation."""
    frame = inspect.currentframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE) and not _is_inside(frame):
            return SourceLocation(name, frame.f_lineno)
        frame = frame.f_back
    return UNKNOWN


def _is_inside(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    if name == _GENERATED:  # what dataclasses generate
        of_ours = str(frame.f_globals.get("__name__")).startswith("pyptx.")
        return of_ours or _METHOD.fullmatch(frame.f_code.co_name) is not None
    ours = name.startswith(_PACKAGE) and not name.startswith(_OPS)
    pythons = name.startswith(_LIBRARY) and not _INSTALLED.search(name)
    return ours or pythons or _is_framework(frame)


def _is_framework(frame: FrameType) -> bool:
    """Whether JAX, NumPy or PyTorch is calling, as for `jax.jit(kernel)`: the user is outside."""
    return str(frame.f_globals.get("__name__")).startswith(("jax.", "numpy.", "torch."))


def raised_by_user(traceback: TracebackType | None) -> SourceLocation | None:
    """The line that raised an exception, None where this package did."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or _is_inside(traceback.tb_frame):
        return None
    return SourceLocation(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
