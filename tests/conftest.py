"""Tests of many combinations: every run has a sample of them, and `make sweep` has all.

`@pytest.mark.sampled(n)` above a parametrised test keeps about one of n cases in every run. A
case's name decides, by its checksum, so that no parameter is tied to another by its place; the
first case is always kept. `@pytest.mark.sampled(n, each="dtype")` keeps at least one case of every
dtype, `each=("dtype", "shape")` one of every dtype and one of every shape, and where cases are of a
dataclass, `each="case.*"` one of every value that any of its fields has.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import json
import os
import subprocess
import sys
import zlib
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without a look for garbage, which takes as long as the rest of it.

    There are tens of thousands, which stay to the end, so that later looks leave them out too.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_finish() -> None:
    """JAX has one MLIR context for all programs: one for each takes 7 ms, an eighth of a test."""
    mlir = sys.modules.get("jax._src.interpreters.mlir")
    make = getattr(mlir, "make_ir_context", None)
    if make is not None:
        vars(mlir)["make_ir_context"] = functools.cache(make)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    families: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sampled")
        # What the sweep has anyway is not what stands for a value in the other runs.
        if mark is not None and item.get_closest_marker("sweep") is None:
            families[item.nodeid.partition("[")[0], str(mark)].append(item)
    for cases in families.values():
        kept = _kept(cases)
        for item in cases:
            if item not in kept:
                item.add_marker(pytest.mark.sweep)


def _kept(cases: list[pytest.Item]) -> set[pytest.Item]:
    """Those cases of one test that every run has."""
    mark = cases[0].get_closest_marker("sampled")
    assert mark is not None
    (one_of,) = mark.args
    each: str | tuple[str, ...] = mark.kwargs.get("each", ())
    kept = {item for item in cases if _checksum(item) % one_of == 0}
    if not each:
        kept.add(cases[0])
    names = (each,) if isinstance(each, str) else each
    values = {item: {value for name in names for value in _values(item, name)} for item in cases}
    missing = set().union(*values.values()).difference(*(values[item] for item in kept))
    ordered = sorted(cases, key=_checksum)
    while missing:  # one case for as many values as there is one for
        item = max(ordered, key=lambda item: len(values[item] & missing))
        kept.add(item)
        missing -= values[item]
    return kept


def _checksum(item: pytest.Item) -> int:
    return zlib.crc32(item.name.encode())


def _values(item: pytest.Item, name: str) -> Iterator[tuple[str, str]]:
    """The parameter of this name and its value, or the fields of the dataclass that it is."""
    assert isinstance(item, pytest.Function)
    value: object = item.callspec.params[name.removesuffix(".*")]
    if not name.endswith(".*"):
        yield name, repr(value)
        return
    assert dataclasses.is_dataclass(value)
    for field in dataclasses.fields(value):
        yield field.name, repr(getattr(value, field.name))


# ---- programs that import the same ---------------------------------------------------------------

SERVER = """
import json, os, runpy, sys, warnings
{imports}

for line in sys.stdin:
    told = json.loads(line)
    with warnings.catch_warnings(action="ignore"):  # threads of NumPy that do nothing
        child = os.fork()
    if child == 0:
        os.chdir(told["folder"])
        os.environ.clear()
        os.environ.update(told["environment"])
        for name, number in (("out", 1), ("err", 2)):
            os.dup2(os.open(told[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = told["arguments"]
        if told["code"] is not None:
            sys.path[0] = ""
            exec(compile(told["code"], "<string>", "exec"), {{"__name__": "__main__"}})
        elif told["module"] is None:
            sys.path[0] = os.path.dirname(sys.argv[0])
            runpy.run_path(sys.argv[0], run_name="__main__")
        else:
            sys.path[0] = told["folder"]
            runpy.run_module(told["module"], run_name="__main__", alter_sys=True)
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""A process that has imported something, and runs each program in a copy of itself."""


@dataclasses.dataclass(frozen=True)
class Forking:
    """Programs with the imports of `SERVER` cost no more than what they do."""

    server: subprocess.Popen[str]
    files: Path

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: dict[str, str],
        module: str | None = None,
        code: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a module or a text, or the program that is the first argument."""
        out, err = self.files / "out", self.files / "err"
        told = {
            "arguments": list(arguments), "module": module, "code": code, "folder": str(folder),
            "environment": os.environ | environment, "out": str(out), "err": str(err),
        }  # fmt: skip
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        print(json.dumps(told), file=self.server.stdin, flush=True)
        status = int(self.server.stdout.readline())
        return subprocess.CompletedProcess(arguments, status, out.read_text(), err.read_text())


@pytest.fixture(scope="session")
def forking(tmp_path_factory: pytest.TempPathFactory):
    """Start a process with these options of Python and these imports."""

    @contextmanager
    def start(imports: str, *options: str) -> Iterator[Forking]:
        command = [sys.executable, *options, "-c", SERVER.format(imports=imports)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            yield Forking(server, tmp_path_factory.mktemp("forking"))
            assert server.stdin is not None
            server.stdin.close()

    return start
