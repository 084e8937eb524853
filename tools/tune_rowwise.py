"""Put the numbers of `pyptx.ops.rowwise.measured` where benchmarks found them.

    python benchmarks/run.py --only row_limits --only row_clusters
    python tools/tune_rowwise.py [result.json ...]

`row_limits` has both kernels on the sides of each limit, `row_clusters` clusters of many shapes, to
which rates are fitted. Writes src/pyptx/ops/rowwise/measured.py, and says what was changed, and how
much time is lost by what the limits and the rates choose.
"""

# SciPy's annotations are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from scipy.optimize import least_squares

from pyptx.ops.rowwise import cluster_ends, cluster_rates, measured
from pyptx.ops.rowwise.cluster_rates import Work
from pyptx.ops.rowwise.measured import EndRates, Limits, Rates

ROOT: Final = Path(__file__).parent.parent
TARGET: Final = ROOT / "src/pyptx/ops/rowwise/measured.py"
LEAST: Final = 0.003
"""What another limit, or other rates, must save of the time, on average, to be taken: more than
calls differ by."""
NEAR: Final = 1.3
"""Shapes that take up to so many times as long as the fastest count most in a fit."""
PARTS: Final = ("row_limits", "row_clusters")

AnyRates = TypeVar("AnyRates", Rates, EndRates)


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


@dataclass(frozen=True, slots=True)
class Reading:
    """What rows took by clusters of one shape: bytes that were moved in a microsecond."""

    case: str
    work: Work
    rate: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    results = ROOT / "benchmarks/results"
    found = [path for part in PARTS for path in sorted(results.glob(f"{part}-*.json"))[:1]]
    parser.add_argument("results", type=Path, nargs="*", default=found)
    given = parser.parse_args()
    if not given.results:
        parser.error("there is no result; make bench ARGS='--only row_limits'")
    for path in given.results:
        record = json.loads(path.read_text())
        _take(record, str(record["device"]["name"]))


def _take(record: Mapping[str, Any], device: str) -> None:
    """Write what a result says, and say what was changed."""
    if record["part"] == "row_clusters":
        whole = _refitted(record, measured.RATES, cluster_rates.expected, ends=False)
        ends = _refitted(record, measured.END_RATES, cluster_ends.expected, ends=True)
        text = with_numbers(with_numbers(TARGET.read_text(), whole), ends)
        TARGET.write_text(with_device(text, device))
        return
    pairs = read(record)
    made = tuned(pairs, measured.LIMITS)
    TARGET.write_text(written(made, device))
    for field in fields(Limits):
        own = [pair for pair in pairs if pair.limit == field.name]
        if own:
            old, new = getattr(measured.LIMITS, field.name), getattr(made, field.name)
            print(f"{field.name}: {old} -> {new}, loses {lost(own, new):.1%} of the time")


def _refitted(
    record: Mapping[str, Any],
    rates: AnyRates,
    expected: Callable[[Work, AnyRates], float],
    *,
    ends: bool,
) -> AnyRates:
    """The rates as a result has them; says what is lost with them, and before."""
    own = readings(record, ends=ends)
    made = fitted(own, rates, expected)
    before, after = (time_lost(own, each, expected) for each in (rates, made))
    print(f"{type(rates).__name__}: lose {after:.1%} of the time, {before:.1%} before")
    return made


# ---- limits --------------------------------------------------------------------------------------


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


# ---- rates ---------------------------------------------------------------------------------------


def readings(record: Mapping[str, Any], *, ends: bool) -> list[Reading]:
    """Those of a result of `row_clusters`, of rows with ends or of others."""
    names = [field.name for field in fields(Work)]
    found: list[Reading] = []
    for summary in record["measurements"]:
        notes = summary["notes"]
        if notes["ends"] == ends:
            work = Work(**{name: notes[name] for name in names})
            case = "{operation} {rows} x {columns} {dtype}".format(**notes)
            # The last round of teams may be one of a few, which says nothing of the shape.
            rounds = math.ceil(notes["rows"] / work.teams) * work.teams
            found.append(Reading(case, work, rounds * work.moved / summary["median"]))
    return found


def time_lost(
    given: Sequence[Reading], rates: AnyRates, expected: Callable[[Work, AnyRates], float]
) -> float:
    """The part of the time that is lost by what the rates choose of the shapes that were measured,
    by the geometric mean over the cases."""
    cases: dict[str, list[Reading]] = {}
    for reading in given:
        cases.setdefault(reading.case, []).append(reading)
    total = 0.0
    for own in cases.values():
        chosen = max(own, key=lambda reading: expected(reading.work, rates))
        total += math.log(max(reading.rate for reading in own) / chosen.rate)
    return math.expm1(total / len(cases)) if cases else 0.0


def fitted(
    given: Sequence[Reading], before: AnyRates, expected: Callable[[Work, AnyRates], float]
) -> AnyRates:
    """The rates that are nearest to the readings, if they choose better than those before."""
    names = [field.name for field in fields(before)]
    best: dict[str, float] = {}
    for reading in given:
        best[reading.case] = max(reading.rate, best.get(reading.case, 0.0))
    weights = np.array([min(1.0, NEAR * r.rate / best[r.case]) ** 3 for r in given])

    def rates_of(logarithms: Sequence[float]) -> AnyRates:
        return type(before)(**dict(zip(names, np.exp(logarithms).tolist(), strict=True)))

    def residuals(logarithms: Sequence[float]) -> Any:
        rates = rates_of(logarithms)
        off = [math.log(expected(r.work, rates) / r.rate) for r in given]
        return weights * np.array(off)

    if not given:
        return before
    first = np.log([getattr(before, name) for name in names])
    # Close to what they were: of numbers that a few readings say nothing about, none runs away.
    found: Any = least_squares(
        residuals, first, bounds=(first - 1.5, first + 1.5), loss="soft_l1", f_scale=0.05
    )
    exact = asdict(rates_of(found.x))
    made = type(before)(**{name: float(f"{number:.3g}") for name, number in exact.items()})
    saved = time_lost(given, before, expected) - time_lost(given, made, expected)
    return made if saved > LEAST else before


# ---- the module ----------------------------------------------------------------------------------


def written(limits: Limits, device: str) -> str:
    """The module, with these limits."""
    return with_device(with_numbers(TARGET.read_text(), limits), device)


def with_numbers(text: str, numbers: Limits | Rates | EndRates) -> str:
    """The module's text with other numbers of a kind."""
    kind = type(numbers).__name__
    begin = text.index(f"= {kind}(\n")
    end = text.index("\n)\n", begin)
    lines = "".join(f"    {name}={value},\n" for name, value in asdict(numbers).items())
    return f"{text[:begin]}= {kind}(\n{lines}{text[end + 1 :]}"


def with_device(text: str, device: str) -> str:
    """The same with the name of the device that they are of."""
    begin = text.index("DEVICE: Final = ")
    return f'{text[:begin]}DEVICE: Final = "{device}"{text[text.index(chr(10), begin) :]}'


if __name__ == "__main__":
    main()
