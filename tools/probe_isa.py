"""Measures with ptxas where every form and every option exists, and writes the result down.

    python tools/probe_isa.py            measure what is new, compare with the table, write the JSON
    python tools/probe_isa.py --all      measure what was measured before too
    python tools/probe_isa.py --check    measure and compare only

The result belongs to one version of the assembler; a test compares it with the table.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import isa_oracle as oracle

from pyptx._assemble.ptxas import version as assembler_version
from pyptx._isa.available import availability
from pyptx._isa.differences import REFUSED, WIDER, reason
from pyptx._isa.model import Form
from pyptx._isa.sample import least, render
from pyptx._isa.table import forms
from pyptx._target import PtxVersion, Target

RESULTS: Final = Path(__file__).parents[1] / "tests" / "isa" / "measured"


@dataclass(frozen=True)
class Case:
    """One spelling of a form with plain operands."""

    form: Form
    modifiers: tuple[str, ...]

    @property
    def spelling(self) -> str:
        return ".".join((self.form.opcode, *self.modifiers))

    @property
    def key(self) -> str:
        """The spelling and the operands' shape, which tell forms of one spelling apart."""
        return f"{self.spelling}  {', '.join(o.written for o in self.form.operands)}".rstrip()

    @property
    def line(self) -> str:
        return oracle.line(self.spelling, render(self.form, self.modifiers)[0])

    def claimed(self) -> dict[Target, PtxVersion]:
        """The first version that the table claims for each target."""
        targets, version = availability(self.form, self.modifiers)
        return {t: max(version, t.version) for t in targets}


def cases(wanted: Iterable[Form]) -> list[Case]:
    """The shortest spelling of each form and of each of its options."""
    found: dict[str, Case] = {}
    for form in wanted:
        spelled = [least(form)]
        spelled += [least(form, o.name, s.name) for s in form.slots for o in s.options]
        for modifiers in spelled:
            case = Case(form, modifiers)
            found.setdefault(case.key, case)
    return list(found.values())


def measure(
    wanted: Iterable[Case], targets: Sequence[Target]
) -> dict[str, dict[Target, PtxVersion]]:
    """The first version with which the assembler takes each case, by target."""
    lines = {case.key: case.line for case in wanted}
    with ThreadPoolExecutor(2) as pool:
        columns = list(pool.map(partial(_column, lines=lines), targets))
    return {
        key: {t: c[key] for t, c in zip(targets, columns, strict=True) if key in c} for key in lines
    }


def _column(target: Target, lines: Mapping[str, str]) -> dict[str, PtxVersion]:
    found: dict[str, PtxVersion] = {}
    pending = dict(lines)
    for version in oracle.VERSIONS:
        if not target.version <= version <= oracle.newest():
            continue
        verdicts = oracle.verdicts(list(pending.values()), version, target)
        accepted = [k for k, verdict in zip(pending, verdicts, strict=True) if verdict is None]
        for key in accepted:
            found[key] = version
            del pending[key]
    return found


def disagreements(
    wanted: Iterable[Case],
    measured: Mapping[str, Mapping[Target, PtxVersion]],
    known: Iterable[Target],
    newest: PtxVersion,
) -> list[str]:
    """Where the table claims another target or version than was measured, a line each.

    Targets and versions that the assembler does not know are left out.
    """
    targets = tuple(known)
    found: list[str] = []
    for case in wanted:
        claimed = {t: v for t, v in case.claimed().items() if t in targets and v <= newest}
        actual = measured[case.key]
        wrong = [
            f"{t} claimed {claimed.get(t, '-')} measured {actual.get(t, '-')}"
            for t in targets
            if claimed.get(t) != actual.get(t)
        ]
        if wrong:
            found.append(f"{case.key}: {'; '.join(wrong)}")
    return found


def unexplained(found: Iterable[str], assembler: str) -> list[str]:
    """The disagreements that no known difference explains."""
    known = WIDER + REFUSED
    spellings = ((line, line.split(": ")[0].split("  ")[0]) for line in found)
    return [line for line, spelling in spellings if reason(spelling, known, assembler) is None]


# ---- the committed result -----------------------------------------------------------------------


def encode(measured: Mapping[str, Mapping[Target, PtxVersion]]) -> dict[str, object]:
    """As plain data: spellings grouped by where they exist."""
    groups: dict[str, list[str]] = {}
    for key, where in measured.items():
        text = " ".join(f"{t}:{v}" for t, v in where.items())
        groups.setdefault(text, []).append(key)
    return {
        "ptxas": assembler_version(),
        "ptx": str(oracle.newest()),
        "targets": [str(t) for t in oracle.known_targets()],
        "exists": groups,
    }


def decode(stored: Mapping[str, dict[str, list[str]]]) -> dict[str, dict[Target, PtxVersion]]:
    """The inverse of `encode`, its measurements."""
    found: dict[str, dict[Target, PtxVersion]] = {}
    for text, keys in stored["exists"].items():
        pairs = (pair.split(":") for pair in text.split())
        where = {Target.parse(t): PtxVersion.parse(v) for t, v in pairs}
        found |= dict.fromkeys(keys, where)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    parser.add_argument("--all", action="store_true", help="measure all of it again")
    parser.add_argument("opcodes", nargs="*", help="only these opcodes; implies --check")
    arguments = parser.parse_args()
    chosen = [f for f in forms() if not arguments.opcodes or f.opcode in arguments.opcodes]
    wanted = cases(chosen)
    path = RESULTS / f"ptxas-{assembler_version()}.json"
    again = arguments.all or arguments.check or arguments.opcodes or not path.exists()
    before = {} if again else decode(json.loads(path.read_text()))
    new = [case for case in wanted if case.key not in before]
    known = before | measure(new, oracle.known_targets())
    measured = {case.key: known[case.key] for case in wanted}  # in the order of the table
    found = disagreements(wanted, measured, oracle.known_targets(), oracle.newest())
    wrong = unexplained(found, assembler_version())
    print(f"{len(chosen)} forms, {len(wanted)} spellings, {len(new)} new, {len(wrong)} disagree")
    print("\n".join(wrong))
    if not (arguments.check or arguments.opcodes):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(encode(measured), indent=1) + "\n")
        print(f"wrote {path}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
