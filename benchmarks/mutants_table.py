"""The tools of compute-sanitizer and the emulator on the same mutants, as a table of docs.

    python benchmarks/mutants_table.py mutants.json              the table
    python benchmarks/mutants_table.py mutants.json --list       and what became of each mutant

The file is what tools/mutants_on_gpu.py wrote. A tool finds a mutant if it reports anything of it
and nothing of the kernel before the change: what it says of both is no news of the mutant. A hang
and a wrong result without a report are not found.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

Record = dict[str, Any]

TOOLS: Final = ("memcheck", "racecheck", "initcheck", "synccheck")
ENDS: Final = {
    "hang": "the kernel hangs",
    "error": "the launch fails",
    "wrong": "wrong results",
    "varies": "results that vary, as those of the kernel do",
    "right": "the right results",
}
"""How a mutant ends without a tool, worst first."""


@dataclass(frozen=True)
class Results:
    """What a results file says of each mutant that is not equivalent.

    Cases that not all tools have run count nowhere: the runs take long, and may be continued.
    """

    record: Record

    @property
    def left(self) -> int:
        """Cases that not all tools have run."""
        return sum(not self.is_complete(case) for case in self.record["cases"])

    @staticmethod
    def is_complete(case: Record) -> bool:
        """Whether all tools have run it, and it has run without a tool."""
        return all(tool in case["runs"] for tool in ("alone", *TOOLS))

    @cached_property
    def kernels(self) -> dict[str, Record]:
        """The kernels as they are, by subject."""
        return {case["subject"]: case for case in self._cases("clean")}

    @cached_property
    def mutants(self) -> list[Record]:
        return self._cases("found", "explored", "missed")

    @cached_property
    def equivalent(self) -> list[Record]:
        return self._cases("equivalent")

    def _cases(self, *verdicts: str) -> list[Record]:
        return [
            case
            for case in self.record["cases"]
            if case["verdict"] in verdicts and self.is_complete(case)
        ]

    def reports(self, case: Record, tool: str) -> bool:
        """Whether a tool reports anything of a case."""
        return bool(case["runs"].get(tool, {}).get("errors"))

    def found(self, case: Record, tool: str) -> bool:
        """Whether it does, and nothing of the kernel without the change."""
        return self.reports(case, tool) and not self.reports(self.kernels[case["subject"]], tool)

    def no_verdict(self, case: Record, tool: str) -> bool:
        """Whether a tool did not work, or was killed with the hanging process before its end."""
        run = case["runs"].get(tool, {})
        return not run.get("errors") and (not run.get("summary") or bool(run.get("trouble")))

    def by_any(self, case: Record) -> bool:
        return any(self.found(case, tool) for tool in TOOLS)

    def end(self, case: Record) -> str:
        """How it ends alone: a key of ENDS, or "failed" where nothing was launched."""
        alone = case["runs"].get("alone", {})
        outcome = alone.get("outcome", "failed")
        if outcome == "killed":
            return "hang"
        if outcome != "ran":
            return outcome
        right = self.kernels[case["subject"]]["runs"]["alone"]["digests"]
        if len(right) > 1:
            return "varies"
        return "right" if alone["digests"] == right else "wrong"


def table(record: Record) -> list[str]:
    """A line for each tool, for all four, and for the emulator."""
    results = Results(record)
    schedules = record["settings"]["schedules"]
    verdicts = Counter(case["verdict"] for case in results.mutants)
    found, explored = verdicts["found"], verdicts["found"] + verdicts["explored"]
    rows = [_tool(results, tool) for tool in TOOLS]
    rows.append(_all_tools(results))
    # A kernel with findings is no subject, and a mutant that is found by default not equivalent.
    contradicted = sum(bool(case["kinds"]) for case in results.equivalent)
    rows.append(("pyptx's emulator", str(found), "0", "0"))
    rows.append(
        (f"pyptx's emulator, `schedules={schedules}`", str(explored), "0", str(contradicted))
    )
    total = len(results.mutants)
    kernels, equivalent = len(results.kernels), len(results.equivalent)
    version = record["environment"]["compute_sanitizer"]
    heading = (
        f"found of {total}",
        f"reports on {kernels} correct kernels",
        f"on {equivalent} equivalent mutants",
    )
    return [
        f"**compute-sanitizer {version}**, {total} mutants of {kernels} kernels{_left(results)}",
        "",
        f"| | {' | '.join(heading)} |",
        "|---|---:|---:|---:|",
        *(f"| {' | '.join(cells)} |" for cells in rows),
        "",
        *_silence(results),
    ]


def _left(results: Results) -> str:
    """What the table is not of, where there is anything."""
    left = results.left
    return f" ({left} of {len(results.record['cases'])} cases have not been run)" if left else ""


def _tool(results: Results, tool: str) -> tuple[str, ...]:
    return _row(tool, results, lambda case: results.found(case, tool),
                lambda case: results.reports(case, tool))  # fmt: skip


def _all_tools(results: Results) -> tuple[str, ...]:
    def reported(case: Record) -> bool:
        return any(results.reports(case, tool) for tool in TOOLS)

    return _row("all four tools", results, results.by_any, reported)


def _row(
    name: str,
    results: Results,
    found: Callable[[Record], bool],
    reported: Callable[[Record], bool],
) -> tuple[str, ...]:
    counts = (
        sum(map(found, results.mutants)),
        sum(map(reported, results.kernels.values())),
        sum(map(reported, results.equivalent)),
    )
    return (name, *map(str, counts))


def _silence(results: Results) -> Iterator[str]:
    """How the mutants end, and how many of these the four tools find."""
    yield "| without a tool | mutants | found by the four tools | by the emulator |"
    yield "|---|---:|---:|---:|"
    for end, said in {**ENDS, "failed": "not launched"}.items():
        cases = [case for case in results.mutants if results.end(case) == end]
        if cases:
            tools = sum(map(results.by_any, cases))
            emulator = sum(case["verdict"] == "found" for case in cases)
            yield f"| {said} | {len(cases)} | {tools} | {emulator} |"


def details(record: Record) -> Iterator[str]:
    """A line for each case that is not a correct kernel without a report."""
    results = Results(record)
    for case in record["cases"]:
        reports = {
            tool: case["runs"][tool]["said"] or "reported"
            for tool in TOOLS
            if results.reports(case, tool)
        }
        silent = [tool for tool in TOOLS if results.no_verdict(case, tool)]
        alone = case["runs"].get("alone", {})
        compared = alone.get("emulator", "")
        yield (
            f"{case['subject']} / {case['change'] or 'the kernel'} [{case['verdict']}] "
            f"{results.end(case)} {compared}: {reports or 'no report'}"
            + (f"; no verdict of {', '.join(silent)}" if silent else "")
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args(arguments)
    record = json.loads(given.results.read_text())
    print("\n".join(table(record)))
    if given.list:
        print("\n".join(details(record)))


if __name__ == "__main__":
    main()
