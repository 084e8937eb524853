"""Joins results of one part that several commands measured: `merge.py FILE... --out FOLDER`.

The files have to be of the same GPU, commit, versions and settings. Where two hold the same
measurement, the later file's is kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure import Bar, Result, load


def merged(records: Sequence[dict[str, Any]]) -> Result:
    """One result of at least one record. Raises ValueError for records of different kinds."""
    last = records[-1]
    result = Result(last["part"], last["device"], last["environment"], dict(last["settings"]))
    failed: dict[str, str] = {}
    bars: dict[str, Bar] = {}
    for record in records:
        result.adopt(record)
        failed |= record["settings"].get("failed", {})
        for bar in record["bars"]:
            bars[bar["name"]] = Bar(**{k: v for k, v in bar.items() if k != "holds"})
    known = {m.name for m in result.measurements}
    left = [e for r in records for e in r["settings"].get("left", ()) if not _made(e, known)]
    if "failed" in last["settings"]:
        result.settings["failed"] = {n: why for n, why in failed.items() if n not in known}
        result.settings["left"] = sorted(set(left))
    result.bars = list(bars.values())
    return result


def _made(visit: str, known: set[str]) -> bool:
    """Whether a visit that one command left out was made by another: `SHAPE: NAME, NAME`."""
    shape, _, names = visit.partition(": ")
    made = {name.partition(": ")[2] for name in known if name.startswith(f"{shape} ")}
    return set(names.split(", ")) <= made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="the folder for the joined file")
    given = parser.parse_args()
    result = merged([load(path) for path in given.files])
    sys.stdout.write(f"{result.write(given.out)}: {len(result.measurements)} measurements\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
