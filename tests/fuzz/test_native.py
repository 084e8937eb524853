"""The native readers on the corpus and on changes of it, the same in every run.

The readers of plans and tensor maps are compiled with the address and undefined-behaviour
sanitizers. The reader of images is the installed library's: `make test-sanitize` has that with the
sanitizers, and `make fuzz` all three, with libFuzzer, which chooses inputs by coverage.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pyptx._native import loader

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "src/pyptx/_native"
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
CHANGES = {"plan": 4000, "tensor_map": 20_000, "image": 1500}
SAID = re.compile(r"(\d+) files, (\d+) taken; (\d+) changes, (\d+) taken\n")
ABORT = {"ASAN_OPTIONS": "abort_on_error=1", "UBSAN_OPTIONS": "abort_on_error=1"}


def compiled(folder: Path, *arguments: str | Path) -> Path:
    """The program of replay.cc and these sources."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ compiles the readers")
    command = [
        compiler, "-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror",
        *(f"-I{NATIVE / part}" for part in ("include", "src", "src/launch")),
        HERE / "replay.cc", *arguments, "-o", folder / "replay",
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return folder / "replay"


def replay(program: Path, target: str, changes: int) -> subprocess.CompletedProcess[str]:
    files = sorted((HERE / "corpus" / target).iterdir())
    command = [str(program), str(changes), "2026", *map(str, files)]
    return subprocess.run(
        command,
        cwd=program.parent,
        env={**os.environ, **ABORT},
        capture_output=True,
        text=True,
        check=False,
    )


def check(done: subprocess.CompletedProcess[str], target: str) -> None:
    """Everything was read, and both answers of the reader were seen."""
    assert done.returncode == 0, done.stderr
    found = SAID.fullmatch(done.stdout)
    assert found is not None, done.stdout
    files, right, changes, taken = map(int, found.groups())
    kept = [each for each in (HERE / "corpus" / target).iterdir() if "found-" in each.name]
    assert right >= files - len(kept), "what pyptx writes is read"
    assert changes == CHANGES[target]
    assert changes // 100 < taken < changes


# The reader of plans takes long to compile; tests/launch has what it says of plans.
@pytest.mark.parametrize("target", [pytest.param("plan", marks=pytest.mark.sweep), "tensor_map"])
def test_a_reader_with_sanitizers(tmp_path: Path, target: str):
    sources = [HERE / f"{target}.cc"]
    sources += [NATIVE / "src/launch/plan.cc"] if target == "plan" else []
    program = compiled(tmp_path, *SANITIZED, *sources)
    check(replay(program, target, CHANGES[target]), target)


def test_the_reader_of_images(tmp_path: Path):
    """Images that are taken are launched too, with the sanitizer of the emulator and without."""
    name = f"libpyptx_emulator_{loader.variants()[-1]}.so"
    library = next((d / name for d in loader.directories() if (d / name).is_file()), None)
    if library is None:
        pytest.skip(f"no {name} is built here")
    program = compiled(
        tmp_path, HERE / "image.cc", library, f"-Wl,-rpath,{library.resolve().parent}"
    )
    check(replay(program, "image", CHANGES["image"]), "image")


def test_a_planted_bug_is_found(tmp_path: Path):
    """With the input that it fails on, which is the same in every run."""
    program = compiled(tmp_path, *SANITIZED, HERE / "planted.cc")
    done = replay(program, "plan", 4000)
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr
    assert (tmp_path / "failed").read_bytes().endswith(b";;")
