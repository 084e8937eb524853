"""What `k.emulate` is given besides arrays and compile-time values, checked."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Final, NoReturn

from pyptx._source import SourceLocation
from pyptx._trace.core.values import integer
from pyptx.errors import CallError

_BITS: Final = {
    "threads": 31,
    "seed": 64,
    "schedules": 31,
    "max_instructions": 64,
    "max_launch_instructions": 64,
}
_EXAMPLES: Final = {
    "threads": "1",
    "seed": "1",
    "schedules": "64",
    "max_instructions": "1_000_000",
    "max_launch_instructions": "1_000_000",
}
_FLAGS: Final = ("sanitize", "statistics")
_COMPLETIONS: Final = ("eager", "late", "reversed", "random")


def checked(where: SourceLocation, **options: object) -> dict[str, Any]:
    """The options as the emulator takes them. Raises CallError for one of another kind."""
    return {name: _checked(name, value, where) for name, value in options.items()}


def _checked(name: str, value: object, where: SourceLocation) -> object:
    if name in _FLAGS:
        if isinstance(value, bool):
            return value
        _refuse(name, value, "True or False", f"{name}=True", where)
    if value is None:
        return None
    if name in _BITS:
        least = 0 if name == "seed" else 1
        found = integer(value)
        if found is None or not least <= found < 2 ** _BITS[name]:
            what = f"a whole number from {least} to 2**{_BITS[name]} - 1"
            _refuse(name, value, what, f"{name}={_EXAMPLES[name]}", where)
        return found
    if name == "completion":
        if isinstance(value, str) and value in _COMPLETIONS:
            return value
        legal = ", ".join(map(repr, _COMPLETIONS))
        _refuse(name, value, f"one of {legal}", 'completion="late"', where)
    found = _seconds(value)
    if found is None:
        _refuse(name, value, "a positive number of seconds", "max_seconds=10", where)
    return found


def _seconds(value: object) -> float | None:
    """A positive number, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):  # which NumPy's numbers are, too
        return None
    found = float(value)
    return found if math.isfinite(found) and found > 0 else None


def _refuse(name: str, value: object, legal: str, example: str, where: SourceLocation) -> NoReturn:
    raise CallError(f"{name}={value!r} is not {legal}", location=where, notes=(("help", example),))
