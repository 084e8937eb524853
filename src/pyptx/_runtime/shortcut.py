"""A way past Python's checks, for arrays that an operation has been called on before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

MISSED: Final = object()
"""What a shortcut returns for arrays that are not known to it: the operation goes its usual way."""


class Shortcut:
    """What an operation calls first, with the arrays alone; None where no runtime has one for it.

    It returns what the operation does, or `MISSED`.
    """

    __slots__ = ("call", "path")

    def __init__(self) -> None:
        self.call: Callable[..., Any] | None = None
        self.path: Any = None
        """What the runtime knows it by."""
