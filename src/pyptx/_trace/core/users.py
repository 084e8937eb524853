"""Which values of Python are the user's: what a block may change in them, pyptx has to follow."""

from __future__ import annotations

from collections import deque
from types import FunctionType, MethodType
from typing import Final, cast

FRAMEWORKS: Final = frozenset(
    (
        "builtins", "collections", "jax", "jaxlib", "ml_dtypes", "numpy", "pyptx", "torch",
        "_pytest", "pluggy", "pytest",  # which every `assert` in a file of tests names
    )
)  # fmt: skip
"""Packages whose classes and functions are no user's."""

CONTAINERS: Final = (list, tuple, dict, set, deque)
"""Types of Python whose values hold what may be the user's."""


def is_users(value: object) -> bool:
    """Whether a value's type, class or function is of the user, or holds values of his."""
    if isinstance(value, CONTAINERS):
        return True
    of = value if isinstance(value, (type, FunctionType, MethodType)) else type(value)
    module = cast("str", getattr(of, "__module__", None) or "builtins")
    return module.partition(".")[0] not in FRAMEWORKS
