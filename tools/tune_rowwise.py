"""Put the limits of `pyptx.ops.rowwise.measured` where the benchmark `row_limits` found them.

    python benchmarks/run.py --only row_limits && python tools/tune_rowwise.py [result.json]

Writes src/pyptx/ops/rowwise/measured.py, and says what each limit was and is, and how much time
the kernels on the wrong sides of it lose.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from pyptx.ops.rowwise import measured
from pyptx.ops.rowwise.measured import Limits

ROOT: Final = Path(__file__).parent.parent
TARGET: Final = ROOT / "src/pyptx/ops/rowwise/measured.py"
LEAST: Final = 0.003
"""What another limit must save of the time, on average, to be taken: more than calls differ by."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Both kernels of a limit at one size, in microseconds: below it `few` is taken."""

    limit: str
    size: float
    few: float
    many: float

    def lost(self, limit: float) -> float:
        """The logarithm of the time that is taken, over that of the quicker one."""
        return math.log((self.few if self.size <= limit else self.many) / min(self.few, self.many))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    found = sorted((ROOT / "benchmarks/results").glob("row_limits-*.json"))
    parser.add_argument("result", type=Path, nargs="?", default=found[0] if found else None)
    given = parser.parse_args()
    if given.result is None:
        parser.error("there is no row_limits result; make bench ARGS='--only row_limits'")
    record = json.loads(given.result.read_text())
    pairs = read(record)
    made = tuned(pairs, measured.LIMITS)
    TARGET.write_text(written(made, str(record["device"]["name"])))
    for field in fields(Limits):
        own = [pair for pair in pairs if pair.limit == field.name]
        if own:
            old, new = getattr(measured.LIMITS, field.name), getattr(made, field.name)
            print(f"{field.name}: {old} -> {new}, loses {lost(own, new):.1%} of the time")


def read(record: Mapping[str, Any]) -> list[Pair]:
    """The pairs of a result of `row_limits`."""
    sides: dict[tuple[Any, ...], dict[str, float]] = {}
    for summary in record["measurements"]:
        notes = summary["notes"]
        key = tuple(notes[n] for n in ("limit", "size", "operation", "rows", "columns", "dtype"))
        sides.setdefault(key, {})[notes["side"]] = summary["median"]
    return [Pair(key[0], key[1], each["few"], each["many"]) for key, each in sides.items()]


def lost(pairs: Sequence[Pair], limit: float) -> float:
    """The part of the time that is lost on average, by the geometric mean."""
    return math.expm1(sum(pair.lost(limit) for pair in pairs) / len(pairs))


def tuned(pairs: Sequence[Pair], before: Limits) -> Limits:
    """The limits that lose the least. One that is as good as any stays what it was."""
    found: dict[str, float] = {}
    for name, old in asdict(before).items():
        own = [pair for pair in pairs if pair.limit == name]
        if not own:
            continue
        best = min(_between(own, whole=isinstance(old, int)), key=lambda limit: lost(own, limit))
        if lost(own, old) - lost(own, best) > LEAST:
            found[name] = best
    return replace(before, **found)


def _between(pairs: Sequence[Pair], *, whole: bool) -> list[float]:
    """One limit below all sizes that were measured, one between each two, and one above."""
    known = sorted({pair.size for pair in pairs})
    limits = [known[0] / 2, *map(_middle, known[:-1], known[1:]), known[-1]]
    return [int(limit) if whole else float(f"{limit:.3g}") for limit in limits]


def _middle(one: float, other: float) -> float:
    return math.sqrt(one * other)


def written(limits: Limits, device: str) -> str:
    """The module."""
    text = TARGET.read_text()
    head = text[: text.index("DEVICE: Final")]
    lines = "".join(f"    {name}={value},\n" for name, value in asdict(limits).items())
    return f'{head}DEVICE: Final = "{device}"\n\nLIMITS: Final = Limits(\n{lines})\n'


if __name__ == "__main__":
    main()
