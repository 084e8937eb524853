"""Records what a GPU computes: `python tests/conformance/record.py` on a machine with one.

Writes h200.json, with a digest of the compared rows of every exact case, and h200.npz, with the
results of the approximate ones, for the tests on machines without a GPU.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import device
from comparing import Operands, bound_of, compared
from kernels import CASES, Case, cases, inputs

from pyptx._assemble import version

FOLDER = Path(__file__).parent


def digest(case: Case, results: bytes, operands: Operands) -> str:
    """Of the compared rows of a case's results, and of its memory."""
    rows = compared(case, operands)
    size = case.result_bytes * CASES
    values = np.frombuffer(results[:size], np.uint8).reshape(CASES, -1)[rows]
    return hashlib.sha256(values.tobytes() + results[size:]).hexdigest()[:24]


def main(folder: Path) -> None:
    digests: dict[str, str] = {}
    approximate: dict[str, np.ndarray] = {}
    for case, output in device.run(list(cases())):
        results = case.results(output)
        if bound_of(case) is None:
            digests[case.name] = digest(case, results, Operands(inputs(case)))
        else:
            approximate[case.name] = np.frombuffer(results, np.uint8)
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpu = subprocess.run(query, check=True, capture_output=True, text=True).stdout.strip()
    record = {"gpu": gpu, "ptxas": version(), "digests": dict(sorted(digests.items()))}
    (folder / "h200.json").write_text(json.dumps(record, indent=0) + "\n")
    np.savez_compressed(folder / "h200.npz", **approximate)
    print(f"{len(digests)} exact and {len(approximate)} approximate cases on {gpu}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
