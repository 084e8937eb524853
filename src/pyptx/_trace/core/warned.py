"""Warnings at a line of a kernel's body: what is legal there and seldom intended."""

from __future__ import annotations

import warnings

from pyptx._source import SourceLocation
from pyptx.errors import LanguageError, LanguageWarning


def warn_at(where: SourceLocation, problem: str, *notes: tuple[str, str]) -> None:
    """Give a LanguageWarning of the form that errors have."""
    message = LanguageError(problem, notes=notes)  # warnings put the line before it
    warnings.warn_explicit(str(message), LanguageWarning, where.file, where.line, module="pyptx")
