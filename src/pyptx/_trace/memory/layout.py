"""Layouts as users name them, and errors of layouts at the user's line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from pyptx._layouts import Swizzle
from pyptx._layouts.matrix import LayoutError, Major
from pyptx._source import caller
from pyptx.errors import LanguageError

_SWIZZLES: Final = {
    "none": Swizzle.NONE,
    "32B": Swizzle.B32,
    "64B": Swizzle.B64,
    "128B": Swizzle.B128,
}


@contextmanager
def layout_errors() -> Generator[None]:
    """Raise what breaks a rule of layouts as an error of the language."""
    try:
        yield
    except LayoutError as error:
        legal = (("legal", error.legal),) if error.legal else ()
        raise LanguageError(str(error), location=caller(), notes=legal) from None


def checked_swizzle(swizzle: object) -> Swizzle:
    """A swizzle, or the one of a name. Raises LanguageError."""
    if isinstance(swizzle, Swizzle):
        return swizzle
    if isinstance(swizzle, str) and swizzle in _SWIZZLES:
        return _SWIZZLES[swizzle]
    raise LanguageError(
        f"swizzle={swizzle!r} is no swizzle",
        location=caller(),
        notes=(("legal", " ".join(f'"{name}"' for name in _SWIZZLES)),),
    )


def checked_major(major: object) -> Major:
    """A major-ness, or the one of a name. Raises LanguageError."""
    if isinstance(major, Major):
        return major
    for found in Major:
        if found.value == major:
            return found
    raise LanguageError(
        f"major={major!r} is not which dimension is contiguous",
        location=caller(),
        notes=(("legal", '"K" "MN"'),),
    )
