"""Row-wise operations of `pyptx.ops` over lengths and numbers of rows, beside everything else.

Measured as row_table.py does, at shapes that no kernel was tuned at, with fewer calls of each and
torch.compile in its default mode. It takes minutes: `--jobs` builds cases in several processes at
once, `--budget` ends it, and `--resume` goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from measure import Result, Summary, show, start
from norm_cases import CONDITIONS, Options
from norm_visit import free, on_device
from row_table import EPS, OPERATIONS, Call, Case, candidates, named, timed
from sweeps import by_builder

CALLS: Final = 7
MODE: Final = "default"
"""Of torch.compile."""
POWERS: Final = tuple(4**k for k in range(3, 10))
WIDTHS: Final = (576, 2304, 5120, 11008, 14336, 50257)
"""Of models in use, the last one a vocabulary."""
LONG: Final = (40960, 81920, 163840)
"""Between powers of two, where CTAs have no power of two of a row."""
VALUES: Final = 2**26
"""Of an array, where rows are many."""
FEW: Final = 2**20
"""Where they are few."""
DTYPES: Final = ("bf16", "f32")


def cases(options: Options) -> Iterator[Case]:
    """Every operation that is asked for, many rows of every length first, the longest of them."""
    many = sorted((*POWERS, *WIDTHS))
    for values, lengths in ((VALUES, LONG), (VALUES, many), (FEW, WIDTHS)):
        for dtype in options.dtypes or DTYPES:
            for name in named(options):
                for columns in lengths:
                    yield Case(OPERATIONS[name], values // columns, columns, dtype)


class Builder:
    """Builds a case's candidates, then measures them."""

    def __init__(self) -> None:
        self._cases = {case.title: case for case in cases(Options())}
        self._timer = on_device()
        self._built: tuple[Case, Mapping[tuple[str, str], Call]] | None = None

    def build(self, title: str) -> Mapping[str, str]:
        """Build, check and call a case's candidates; why others were not built, by name."""
        self._built = None
        case = self._cases[title]
        calls, failed = candidates(case, MODE)
        self._built = case, calls
        return failed

    def measure(self) -> Sequence[Summary]:
        """Measure what was built, and give its memory back."""
        assert self._built is not None, "`build` comes first"
        found = list(timed(*self._built, self._timer, CALLS))
        self._built = None
        free()
        return found


def measure(device: dict[str, object], options: Options) -> Result:
    """Every case that begins within the budget, and that is not known; saved after each."""
    result = start("row_sweep", device, calls=CALLS, eps=EPS, mode=MODE, **CONDITIONS)
    titles = [case.title for case in cases(options)]
    by_builder(result, options, titles, __name__, Builder)
    return result


def report(result: Result) -> None:
    """The table, with the share of the copy's speed."""
    show(result, {"of copy": lambda m: f"{m.notes['share']:.1%}"})
