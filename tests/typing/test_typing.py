"""What type checkers say of programs: `accepted.py` is right, `rejected.py` wrong line by line.

The examples' documented calls are in `accepted.py`; with pyright strict no type of it is unknown.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path


HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = ("accepted.py", "rejected.py")


def lines_of(errors):
    """The lines of each program that have an error, from (file, line) pairs."""
    found = {name: set() for name in PROGRAMS}
    for file, line in errors:
        found[Path(file).name].add(line)
    return found


def expected():
    marked = (HERE / "rejected.py").read_text().splitlines()
    wrong = {i for i, line in enumerate(marked, 1) if line.endswith("  # rejected")}
    assert len(wrong) > 50
    return {"accepted.py": set(), "rejected.py": wrong}


def pyright(folder, programs):
    """The errors of pyright's strict mode in programs of a user who has pyptx installed."""
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT / "src")],
        "reportMissingModuleSource": False,
    }
    for name, text in programs.items():
        (folder / name).write_text(text)
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "-p", str(folder), "--outputjson"]
    command += ["--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["generalDiagnostics"]


def test_pyright_accepts_the_right_lines_and_rejects_the_wrong_ones(tmp_path):
    errors = pyright(tmp_path, {name: (HERE / name).read_text() for name in PROGRAMS})
    pairs = [(e["file"], e["range"]["start"]["line"] + 1) for e in errors]
    messages = "\n".join(
        f"{e['file']}:{e['range']['start']['line'] + 1}: {e['message']}" for e in errors
    )
    assert lines_of(pairs) == expected(), messages


def test_mypy_accepts_the_right_lines_and_rejects_the_wrong_ones(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11"]
    command += ["--cache-dir", str(tmp_path), "--no-error-summary", *PROGRAMS]
    environment = os.environ | {"MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, cwd=HERE, env=environment, capture_output=True, text=True, check=False
    )
    errors = re.findall(r"(?m)^(\w+\.py):(\d+): error: ", done.stdout)
    assert lines_of((file, int(line)) for file, line in errors) == expected(), done.stdout
