"""The place where operations run in the body of a sequence: they are recorded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from pyptx._source import SourceLocation, caller
from pyptx.errors import CallError


class Recorder(ABC):
    """A sequence that is being traced. `name` is the sequence's."""

    name: str

    @abstractmethod
    def apply(
        self,
        operation: Any,
        arrays: Sequence[object],
        constants: Mapping[str, object],
        where: SourceLocation,
    ) -> object:
        """Record an operation on arrays of the sequence; its results. Raises CallError."""


_Recorder = TypeVar("_Recorder", bound=Recorder)
_current: Final[ContextVar[Recorder | None]] = ContextVar("pyptx_recording", default=None)

current: Final = _current.get
"""The recorder of the sequence that is being traced, if one is."""


@contextmanager
def recording(new: _Recorder) -> Generator[_Recorder]:
    """Make `new` the current one."""
    token = _current.set(new)
    try:
        yield new
    finally:
        _current.reset(token)


def refuse(what: str) -> None:
    """Raises CallError where a sequence is being traced."""
    open_one = current()
    if open_one is not None:
        raise CallError(
            f"{what} in the body of the sequence {open_one.name}; it applies kernels to its arrays",
            location=caller(),
        )
