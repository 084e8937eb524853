"""What type checkers say of programs: `accepted.py` is right, `rejected.py` wrong line by line.

The examples' documented calls are in `accepted.py`; with pyright strict no type of it is unknown.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyptx._isa.opcode_path import python_name
from pyptx._isa.special import SPECIAL
from pyptx._isa.table import opcodes

sys.path.insert(0, str(Path(__file__).parent))

from language_server import LanguageServer

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


SETTINGS = {
    "typeCheckingMode": "strict",
    "pythonVersion": "3.11",
    "extraPaths": [str(ROOT / "src")],
    "reportMissingModuleSource": False,
}


def pyright(folder, *arguments):
    """What pyright says of a user's folder, as JSON."""
    (folder / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
    command = [sys.executable, "-m", "pyright", "-p", str(folder), "--outputjson"]
    command += ["--pythonpath", sys.executable, *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


def test_pyright_accepts_the_right_lines_and_rejects_the_wrong_ones(tmp_path):
    for name in PROGRAMS:
        (tmp_path / name).write_text((HERE / name).read_text())
    errors = pyright(tmp_path)["generalDiagnostics"]
    pairs = [(e["file"], e["range"]["start"]["line"] + 1) for e in errors]
    messages = "\n".join(
        f"{e['file']}:{e['range']['start']['line'] + 1}: {e['message']}" for e in errors
    )
    assert lines_of(pairs) == expected(), messages


@pytest.mark.sweep  # pyright tells the same lines apart in a third of the time
def test_mypy_accepts_the_right_lines_and_rejects_the_wrong_ones(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11"]
    command += ["--cache-dir", str(tmp_path), "--no-error-summary", *PROGRAMS]
    environment = os.environ | {"MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, cwd=HERE, env=environment, capture_output=True, text=True, check=False
    )
    errors = re.findall(r"(?m)^(\w+\.py):(\d+): error: ", done.stdout)
    assert lines_of((file, int(line)) for file, line in errors) == expected(), done.stdout


@pytest.mark.sweep  # what users write is in accepted.py, and pyright knows every type of it
def test_no_type_of_the_package_is_unknown(tmp_path):
    """Of what is typed by pyptx itself; the command line's console is typed by its packages."""
    said = pyright(tmp_path, "--verifytypes", "pyptx", "--ignoreexternal")["typeCompleteness"]
    assert said["packageName"] == "pyptx"
    assert len(said["symbols"]) > 5000
    unknown = {
        symbol["name"]
        for symbol in said["symbols"]
        if symbol["isExported"] and not symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"]
    }
    # Modules of PyTorch, which is not installed here, are what these are made of.
    modules = ("CrossEntropyLoss", "GroupNorm", "LayerNorm", "RMSNorm")
    torch = {f"pyptx.torch.{name}" for name in modules}
    internal = ("pyptx._cli.", "pyptx._isa.forms.")
    assert not {name for name in unknown - torch if not name.startswith(internal)}


COMPLETED = {
    "ptx.inst.": [python_name(opcode) for opcode in opcodes()],
    "ptx.inst.fma.rn.": [python_name(m) for m in opcodes()["fma"].next["rn"].next],
    # not .b128, whose row excludes .vec
    "ptx.inst.ld.global_.v4.": [
        "b8",
        "b16",
        "b32",
        "b64",
        "u8",
        "u16",
        "u32",
        "u64",
        "s8",
        "s16",
        "s32",
        "s64",
        "f32",
        "f64",
    ],
    "ptx.inst.mbarrier.try_wait.parity.acquire.": ["cta", "cluster"],
    "ptx.inst.cp.async_.bulk.commit_group.": [],
    "ptx.special.tid.": ["x", "y", "z", "w"],
    "ptx.special.": sorted({name.partition(".")[0] for name in SPECIAL}),
}
"""What may follow, and nothing else: opcodes, modifiers, components, registers."""


def test_completion_offers_what_exists_and_nothing_else(tmp_path):
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
    text = "\n".join(["from pyptx import ptx", *COMPLETED, ""])
    with LanguageServer(tmp_path, text) as server:
        for line, (begun, wanted) in enumerate(COMPLETED.items(), 1):
            assert sorted(server.completions(line, len(begun))) == sorted(wanted), begun


@pytest.mark.timing
def test_the_stub_does_not_make_completion_slow(tmp_path):
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
    text = "\n".join(["from pyptx import ptx", *COMPLETED, ""])
    times = []
    with LanguageServer(tmp_path, text) as server:
        for line, begun in enumerate(COMPLETED, 1):
            begin = time.perf_counter()
            server.completions(line, len(begun))
            times.append(time.perf_counter() - begin)
    assert max(times[1:]) < 5  # the first reads pyptx and its packages
