"""The command line, called in this process or as one of its own."""

import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from pyptx._cli import main

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str


@pytest.fixture
def pyptx(monkeypatch, capsys):
    """Run a command in this process, from the root of the sources."""

    def run(*arguments: str) -> Done:
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(sys, "argv", ["pyptx", *arguments])
        with pytest.raises(SystemExit) as exited:
            main()
        return Done(int(exited.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def command_line(forking):
    with forking("import numpy, pyptx") as started:
        yield started


@pytest.fixture
def process(command_line, tmp_path):
    """Run `python -m pyptx` as a process; for commands that run the user's program."""

    def run(*arguments: str, width: int = 120) -> Done:
        environment = {"COLUMNS": str(width), "JAX_PLATFORMS": "cpu", "NO_COLOR": "1"}
        done = command_line.run(["pyptx", *arguments], tmp_path, environment, module="pyptx")
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def program(tmp_path):
    """Write a program into a file of its own; its path."""

    def write(text: str, name: str = "program.py") -> str:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text).lstrip("\n"))
        return str(path)

    return write
