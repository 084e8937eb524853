"""Row-wise operations of `pyptx.ops` over lengths and numbers of rows, beside everything else.

Measured as row_table.py does, at shapes that no kernel was tuned at, with fewer calls of each and
torch.compile in its default mode. It takes minutes: `--budget` ends it, and `--resume` goes on.
`python benchmarks/compile_ahead.py row_sweep` compiles everything before, in many processes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from measure import CONSOLE, Result, show, start
from norm_cases import CONDITIONS, Options
from norm_visit import on_device
from row_table import EPS, OPERATIONS, Case, visit

CALLS: Final = 7
BUDGET: Final = 360.0
"""Seconds, unless the command line says otherwise."""
MODE: Final = "default"
"""Of torch.compile."""
POWERS: Final = tuple(4**k for k in range(3, 10))
WIDTHS: Final = (576, 2304, 5120, 11008, 14336, 50257)
"""Of models in use, the last one a vocabulary."""
VALUES: Final = 2**26
"""Of an array, where rows are many."""
FEW: Final = 2**20
"""Where they are few."""
DTYPES: Final = ("bf16", "f32")


def cases(options: Options) -> Iterator[Case]:
    """Every operation that is asked for, many rows of every length first."""
    names = options.operations or tuple(OPERATIONS)
    if unknown := set(names) - set(OPERATIONS):
        raise SystemExit(f"{', '.join(sorted(unknown))}: operations are {', '.join(OPERATIONS)}")
    for values, lengths in ((VALUES, sorted((*POWERS, *WIDTHS))), (FEW, WIDTHS)):
        for dtype in options.dtypes or DTYPES:
            for name in names:
                for columns in lengths:
                    yield Case(OPERATIONS[name], values // columns, columns, dtype)


def measure(device: dict[str, object], options: Options) -> Result:
    """Every case that begins within the budget, and that is not known; saved after each."""
    result = start("row_sweep", device, calls=CALLS, eps=EPS, mode=MODE, **CONDITIONS)
    known = options.known or {}
    if known:
        result.adopt(known)
    failed: dict[str, str] = dict(known.get("settings", {}).get("failed", {}))
    left: list[str] = []
    result.settings |= {"failed": failed, "left": left}
    timer, begin = on_device(), time.monotonic()
    budget = BUDGET if options.budget is None else options.budget
    for case in cases(options):
        if any(m.name.startswith(f"{case.title} ") for m in result.measurements):
            continue
        if time.monotonic() - begin > budget:
            left.append(case.title)
            continue
        failed |= visit(result, case, timer, CALLS, MODE)
        CONSOLE.print(f"{case.title}: {time.monotonic() - begin:.0f} s")
        if options.out is not None:
            result.write(options.out)
    return result


def report(result: Result) -> None:
    """The table, with the share of the copy's speed."""
    show(result, {"of copy": lambda m: f"{m.notes['share']:.1%}"})
