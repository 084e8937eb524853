"""Sweeps over many cases: within a budget, each saved as it is measured, and continued later."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from measure import CONSOLE, Result, Summary
from norm_cases import Options
from processes import Builder, Processes

BUDGET: Final = 360.0
"""Seconds, unless the command line says otherwise."""

Measure = Callable[[], tuple[Sequence[Summary], Mapping[str, str]]]
"""What was measured, and why other measurements were not made, by name."""


def unlimited(options: Options) -> Options:
    """The options without a budget, unless there is one on the command line."""
    return replace(options, budget=math.inf) if options.budget is None else options


def by_builder(
    result: Result, options: Options, titles: Sequence[str], part: str,
    alone: Callable[[], Builder],
) -> None:  # fmt: skip
    """`sweep` of cases that a part's `Builder` builds and measures, in `options.jobs` processes."""

    def named(measure: Callable[[str], tuple[Sequence[Summary], Mapping[str, str]]]) -> Any:
        return [(f"{title} ", partial(measure, title)) for title in titles]

    if options.jobs > 1:
        with Processes(part, options.jobs) as processes:
            sweep(result, options, named(processes.measure), processes)
        return
    builder = alone()

    def both(title: str) -> tuple[Sequence[Summary], Mapping[str, str]]:
        failed = builder.build(title)
        return builder.measure(), failed

    sweep(result, options, named(both))


def sweep(
    result: Result, options: Options, cases: Iterable[tuple[str, Measure]],
    ahead: Processes | None = None,
) -> None:  # fmt: skip
    """Measure the cases that are not known, until the budget ends.

    `ahead` builds as many as it has processes before they are measured.

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
    names = tuple(found.name for found in result.measurements)
    missing = [each for each in cases if not any(name.startswith(each[0]) for name in names)]
    group = 1 if ahead is None else ahead.jobs
    for first in range(0, len(missing), group):
        some = missing[first : first + group]
        titles = [name.rstrip(",: ") for name, _ in some]
        if time.monotonic() - begin > budget:
            left += titles
            continue
        if ahead is not None:
            ahead.build(titles)
        for title, (_, measure) in zip(titles, some, strict=True):
            found, why = measure()
            for each in found:
                result.put(each)
            failed |= why
            CONSOLE.print(f"{title}: {time.monotonic() - begin:.0f} s")
        if options.out is not None:
            result.write(options.out)
