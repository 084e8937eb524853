"""Sweeps over many cases: within a budget, each saved as it is measured, and continued later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from measure import CONSOLE, Result
from norm_cases import Options

BUDGET: Final = 360.0
"""Seconds, unless the command line says otherwise."""

Measure = Callable[[], Mapping[str, str]]
"""Puts what is measured into the result; gives why other measurements were not made, by name."""


def sweep(result: Result, options: Options, cases: Iterable[tuple[str, Measure]]) -> None:
    """Measure the cases that are not known, until the budget ends.

    Names of a case's measurements begin with its own. What the budget left out is in the settings
    as `left`, what failed as `failed`.
    """
    known = options.known or {}
    if known:
        result.adopt(known)
    failed: dict[str, str] = dict(known.get("settings", {}).get("failed", {}))
    left: list[str] = []
    result.settings |= {"failed": failed, "left": left}
    begin = time.monotonic()
    budget = BUDGET if options.budget is None else options.budget
    for name, measure in cases:
        if any(found.name.startswith(name) for found in result.measurements):
            continue
        if time.monotonic() - begin > budget:
            left.append(name.rstrip(", "))
            continue
        failed |= measure()
        CONSOLE.print(f"{name.rstrip(', ')}: {time.monotonic() - begin:.0f} s")
        if options.out is not None:
            result.write(options.out)
