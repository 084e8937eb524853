"""Runs the README and the documents as tests.

A `python` block is executed, with one namespace for the whole document. A `text` block is what the
block before it printed, or the message of the pyptx error that it raised. A `console` block is
commands after `$ `, each with its output; `python` and `pyptx` are run, other commands only shown.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyptx

try:
    from sybil import Sybil
    from sybil.parsers.markdown import CodeBlockParser
except ImportError:  # the suite for GPUs runs without the packages for documents
    Sybil = CodeBlockParser = None
    collect_ignore_glob = ["*.md"]

ROOT = Path(__file__).parent
SHOWN_AS = "example.py"
UNREAD = "unread error"


def run_python(example: Any) -> str | None:
    """Execute a block as if it were the file `example.py`, so that messages name its lines."""
    names = example.namespace
    if UNREAD in names:
        return f"the block before raised an error that the document does not show: {names[UNREAD]}"
    source = str(example.parsed)
    linecache.cache[SHOWN_AS] = (len(source), None, source.splitlines(keepends=True), SHOWN_AS)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, SHOWN_AS, "exec", dont_inherit=True), names)  # noqa: S102
    except pyptx.PtxError as error:
        names[UNREAD] = f"{type(error).__module__}.{type(error).__qualname__}: {error}"
    names["printed"] = printed.getvalue()
    return None


def compare_text(example: Any) -> str | None:
    """The block before printed, or raised, exactly this."""
    said = example.namespace.pop(UNREAD, None) or example.namespace["printed"]
    return difference(str(example.parsed), said)


def run_console(example: Any) -> str | None:
    """Each command prints exactly what stands below it."""
    for session in str(example.parsed).split("$ ")[1:]:
        command, _, expected = session.partition("\n")
        program, *arguments = shlex.split(command)
        if program in ("python", "pyptx"):
            module = ["-m", "pyptx"] if program == "pyptx" else []
            problem = difference(expected, output_of([sys.executable, *module, *arguments]))
            if problem:
                return f"$ {command}\n{problem}"
    return None


def output_of(command: list[str]) -> str:
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def difference(expected: str, actual: str) -> str | None:
    """None where the texts agree line by line, apart from spaces at the ends of lines."""
    wanted, got = ([line.rstrip() for line in text.strip().splitlines()] for text in (expected, actual))
    if wanted == got:
        return None
    return "\n".join(["the document says:", *wanted, "", "and it is:", *got])


def check_end(namespace: dict[str, Any]) -> None:
    if UNREAD in namespace:
        raise AssertionError(f"the last block raised what no text shows: {namespace[UNREAD]}")


if Sybil is not None:
    pytest_collect_file = Sybil(
        parsers=[
            CodeBlockParser("python", run_python),
            CodeBlockParser("text", compare_text),
            CodeBlockParser("console", run_console),
        ],
        patterns=["README.md", "docs/*.md"],
        teardown=check_end,
    ).pytest()
