"""Row-wise operations of `pyptx.ops` over lengths and numbers of rows, beside everything else.

Measured as row_table.py does, at shapes that no kernel was tuned at, with fewer calls of each and
torch.compile in its default mode. It takes minutes: `--budget` ends it, and `--resume` goes on.
`python benchmarks/compile_ahead.py row_sweep` compiles everything before, in many processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from measure import Result, show, start
from norm_cases import CONDITIONS, Options
from norm_visit import on_device
from row_table import EPS, OPERATIONS, Case, named, visit
from sweeps import sweep

CALLS: Final = 7
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
    for values, lengths in ((VALUES, sorted((*POWERS, *WIDTHS))), (FEW, WIDTHS)):
        for dtype in options.dtypes or DTYPES:
            for name in named(options):
                for columns in lengths:
                    yield Case(OPERATIONS[name], values // columns, columns, dtype)


def measure(device: dict[str, object], options: Options) -> Result:
    """Every case that begins within the budget, and that is not known; saved after each."""
    result = start("row_sweep", device, calls=CALLS, eps=EPS, mode=MODE, **CONDITIONS)
    timer = on_device()
    sweep(result, options, (
        (f"{case.title} ", partial(visit, result, case, timer, CALLS, MODE))
        for case in cases(options)
    ))  # fmt: skip
    return result


def report(result: Result) -> None:
    """The table, with the share of the copy's speed."""
    show(result, {"of copy": lambda m: f"{m.notes['share']:.1%}"})
