"""After a change of the ISA table: writes what follows from it, and lists what is left to fill in.

    python tools/instruction.py          everything: `make instruction`
    python tools/instruction.py --list   only the list

What follows from the rows is written in order: the stubs, the pages, the tables of the documents,
the golden files, and where each spelling exists, if there is an assembler to ask. The rest is what
the tests that hold other files to the table still miss: each is named with the place to fill in.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from pyptx._assemble import PTXAS, find
from pyptx.errors import AssembleError

ROOT: Final = Path(__file__).parents[1]

WRITERS: Final = (
    ("the stubs of ptx.inst and ptx.special", ("-m", "pyptx._isa.stub")),
    ("the pages of docs/isa", ("tools/isa_pages.py",)),
    ("the tables of docs/language.md", ("tools/language_tables.py",)),
    (
        "the golden files",
        ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/golden", "--snapshot-update"),
    ),
)
PROBES: Final = (
    ("where each spelling exists, by ptxas", ("tools/probe_isa.py",)),
    ("the proof of what has changed, by ptxas", ("tools/prove_isa.py", "--seconds", "300")),
)


@dataclass(frozen=True)
class Place:
    """What a failing test asks a person for: the file, and the line that has `anchor`."""

    tests: str
    file: str
    anchor: str
    do: str

    @property
    def line(self) -> int:
        """Where `anchor` is, from 1. Raises LookupError if the file does not have it."""
        for number, line in enumerate((ROOT / self.file).read_text().splitlines(), 1):
            if self.anchor in line:
                return number
        raise LookupError(f"{self.file} has no {self.anchor!r}")


PLACES: Final = (
    Place(
        "tests.isa.test_against_assembler",
        "src/pyptx/_isa/differences.py", "REFUSED",
        "ptxas disagrees: correct the row, or list the difference with its reason",
    ),
    Place(
        "tests.isa.test_reference",
        "src/pyptx/_isa/written.py", "WRITTEN",
        "the page: an example that runs, and words for kinds of operands that are new",
    ),
    Place(
        "tests.emulator.test_coverage",
        "tests/emulator/test_coverage.py", "WITHOUT = {",
        "its function in src/pyptx/_native/src/emulator/semantics; or here why it is not emulated",
    ),
    Place(
        "tests.semantics.test_semantics",
        "tests/semantics/cases.py", "CASES: Final",
        "its model, or its spelling in NOT_EMULATED with the reason",
    ),
    Place(
        "tests.conformance.test_replay",
        "tests/conformance/record.py", "def main",
        "its results on an H200: python tests/conformance/record.py on one",
    ),
    Place(
        "tests.conformance.test_coverage",
        "tests/conformance/elsewhere.py", "ELSEWHERE: Final",
        "its results on an H200, or here which place has the spelling first",
    ),
    Place(
        "tests.errors",
        "tests/errors/test_instructions.py", "def test_",
        "messages that list what is legal: read the new list, then correct the test",
    ),
    Place(
        "tests.typing",
        "tests/typing/accepted.py", "import",
        "what editors offer: a line that is accepted, one that is rejected",
    ),
)  # fmt: skip
CHECKED: Final = (
    "tests/isa", "tests/emulator/test_coverage.py", "tests/semantics", "tests/conformance",
    "tests/errors", "tests/typing", "tests/trace/test_instructions.py",
    "tests/trace/test_public_names.py", "tests/text/test_forms_in_files.py",
    "tests/cli/test_isa.py",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One line of the list: a place, and what its tests said, each once."""

    where: str
    do: str
    said: list[str] = field(default_factory=list[str])


def failures(report: str) -> Iterable[tuple[str, str]]:
    """The failed tests of a JUnit report, as dotted names, each with what it said first."""
    for case in ET.fromstring(report).iter("testcase"):
        for problem in (*case.findall("failure"), *case.findall("error")):
            name = f"{case.get('classname')}.{case.get('name')}"
            yield name, (problem.get("message") or "").strip().partition("\n")[0]


def checklist(report: str) -> list[Entry]:
    """What is left to do, in the order of PLACES; tests of no place are named themselves."""
    entries: dict[str, Entry] = {}
    others: dict[str, Entry] = {}
    for name, message in failures(report):
        place = next((p for p in PLACES if name.startswith(p.tests)), None)
        if place is None:
            others[name] = Entry(name, "a test that no place is known for", [message])
            continue
        where = f"{place.file}:{place.line}"
        entry = entries.setdefault(place.tests, Entry(where, place.do))
        if message not in entry.said:
            entry.said.append(message)
    return [entries[p.tests] for p in PLACES if p.tests in entries] + list(others.values())


def written(entries: list[Entry]) -> str:
    """The list as it is printed."""
    if not entries:
        return "nothing is left to fill in"
    lines: list[str] = []
    for entry in entries:
        lines.append(f"[ ] {entry.where}: {entry.do}")
        lines += [f"      {said[:160]}" for said in entry.said[:5]]
        if len(entry.said) > 5:
            lines.append(f"      and {len(entry.said) - 5} more")
    return "\n".join(lines)


def _write() -> None:
    for what, arguments in (*WRITERS, *_probe()):
        print(f"writing {what}", flush=True)
        done = subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if done.returncode:
            print(done.stdout)


def _probe() -> tuple[tuple[str, tuple[str, ...]], ...]:
    try:
        find(PTXAS)
    except AssembleError as error:
        print(f"nothing is asked of ptxas: {error.args[0]}")
        return ()
    return PROBES


def _report(tests: Iterable[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.xml"
        options = ("-q", "-p", "no:cacheprovider", "-n", os.environ.get("JOBS", "2"))
        chosen = ("-m", "not gpu and not sweep and not wheel", f"--junitxml={path}")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *chosen, *tests],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not path.exists():
            raise SystemExit(done.stdout + done.stderr)
        return path.read_text()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", help="instead of all that hold files to the table")
    parser.add_argument("--list", action="store_true", help="write nothing, list what is left")
    given = parser.parse_args()
    if not given.list:
        _write()
    entries = checklist(_report(given.tests or CHECKED))
    print(written(entries))
    raise SystemExit(1 if entries else 0)


if __name__ == "__main__":
    main()
