"""Runs the README and the documents as tests.

A `python` block is executed, with one namespace for the whole document. A `text` block is what the
block before it printed, or the message of the pyptx error that it raised. A `console` block is
commands after `$ `, each with its output; `python` and `pyptx` are run, with the variables that are
set before them, other commands only shown.

The CPU is eight devices to JAX in all tests of one process.

What the tests of a file leave behind, most of it in caches, no later collection looks through.

JAX keeps each program that it has compiled, some megabytes with its code: where a process has grown
by a gigabyte, they are forgotten after the test.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.metadata
import importlib.util
import io
import itertools
import linecache
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pyptx

ROOT = Path(__file__).parent
SHOWN_AS = "example.py"
UNREAD = "unread error"
FILES = itertools.count(1)
MEMORY = Path("/proc/self/statm")
HAS_STATM = MEMORY.exists()
GROWTH = 2**30
FLOOR = [0]  # what it had when they were forgotten last
HAS_TORCH = importlib.util.find_spec("torch") is not None

SIMULATED = (
    "--xla_force_host_platform_device_count=8",
    # The emulator is slow, and a device that waits for the others does not know why.
    "--xla_cpu_collective_call_warn_stuck_timeout_seconds=300",
    "--xla_cpu_collective_call_terminate_timeout_seconds=600",
)
HAS_JAX = importlib.util.find_spec("jaxlib") is not None
JAX = importlib.metadata.version("jaxlib").split(".") if HAS_JAX else []
# What JAX compiles in tests runs for moments. With a GPU these would be for its compiler too.
QUICK = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    # XLA ends a process that gives it a flag of another version.
    *(("--xla_cpu_use_fusion_emitters=false",) if JAX[:2] == ["0", "10"] else ()),
)
FLAGS = SIMULATED if Path("/proc/driver/nvidia").exists() else (*SIMULATED, *QUICK)
# JAX reads them when it first looks for devices, which is after all tests have been collected.
os.environ["XLA_FLAGS"] = " ".join((*os.environ.get("XLA_FLAGS", "").split(), *FLAGS))
# A shell starts what runs in the background without Ctrl-C, which some tests send.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """Of a gigabyte in a process, each collection would take seconds."""
    yield
    if next(FILES) % 60 == 0:  # what is garbage by now
        gc.unfreeze()
    gc.collect()
    gc.freeze()


def resident() -> int:
    """The bytes of memory that the process has; 0 where the system does not say."""
    return int(MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if HAS_STATM else 0


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Forget JAX's programs after a test that has left the process a gigabyte larger."""
    yield
    jax: Any = sys.modules.get("jax")
    if jax is None or resident() < FLOOR[0] + GROWTH:
        return
    jax.clear_caches()
    gc.collect()
    with contextlib.suppress(AttributeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)
    FLOOR[0] = resident()


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
        words = shlex.split(command)
        settings = list(itertools.takewhile(lambda word: "=" in word, words))
        program, *arguments = words[len(settings) :]
        if program in ("python", "pyptx"):
            module = ["-m", "pyptx"] if program == "pyptx" else []
            done = output_of([sys.executable, *module, *arguments], settings)
            problem = difference(expected, done)
            if problem:
                return f"$ {command}\n{problem}"
    return None


def output_of(command: list[str], settings: list[str]) -> str:
    """What a command prints on the CPU, with these variables and no XLA_FLAGS but among them."""
    usual = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    environment = usual | {"COLUMNS": "100", "NO_COLOR": "1", "JAX_PLATFORMS": "cpu"}
    environment |= dict(setting.split("=", 1) for setting in settings)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def difference(expected: str, actual: str) -> str | None:
    """None where the texts agree line by line, apart from spaces at the ends of lines."""
    wanted, got = (_lines(text) for text in (expected, actual))
    if wanted == got:
        return None
    return "\n".join(["the document says:", *wanted, "", "and it is:", *got])


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def check_end(namespace: dict[str, Any]) -> None:
    if UNREAD in namespace:
        raise AssertionError(f"the last block raised what no text shows: {namespace[UNREAD]}")


def collector() -> Any:
    """Collects the documents."""
    markdown: Any = importlib.import_module("sybil.parsers.markdown")
    readers = {"python": run_python, "text": compare_text, "console": run_console}
    documents: Any = importlib.import_module("sybil").Sybil(
        parsers=[markdown.CodeBlockParser(language, run) for language, run in readers.items()],
        patterns=["README.md", "docs/*.md", "docs/tutorial/*.md"],
        # tests/isa/test_reference.py runs what is in docs/isa, `make test-torch` what has PyTorch.
        excludes=["docs/isa/*.md", *([] if HAS_TORCH else ["docs/*pytorch.md"])],
        teardown=check_end,
    )
    return documents.pytest()


# The suite for GPUs runs where the packages for documents are missing.
if importlib.util.find_spec("sybil") is not None:
    pytest_collect_file = collector()
