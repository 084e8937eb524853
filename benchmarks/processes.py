"""Cases that several processes build at once and measure one after the other.

Compilers take most of the time of a sweep with peers. Here each process builds a case of its own,
calls included; then one process after the other measures, while the rest waits. What torch.compile
chooses by measuring is left to that time.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import importlib
import multiprocessing
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol

from measure import Summary, first_gpu, reason

ENDED: Final = "its process ended"
ENVIRONMENT: Final = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""A process compiles with one thread: there are as many processes as cores."""


class Builder(Protocol):
    """What a part gives: `Builder()` in its module makes one, in each process."""

    def build(self, title: str) -> Mapping[str, str]:
        """Build and call a case's candidates; why others were not built, by name."""
        ...

    def measure(self) -> Sequence[Summary]:
        """Measure what was built, alone on the GPU, and give its memory back."""
        ...


class Processes:
    """So many processes, each with a `Builder` of a part.

    An error in one, or its end, is a failure of its case.
    """

    def __init__(self, part: str, jobs: int) -> None:
        self._part = part
        self._context = multiprocessing.get_context("spawn")
        self._pipes = [self._start() for _ in range(jobs)]
        self._failed: dict[str, Mapping[str, str]] = {}
        self._of: dict[str, int] = {}

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self._pipes:
            pipe.close()

    @property
    def jobs(self) -> int:
        """Cases that are built at a time."""
        return len(self._pipes)

    def build(self, titles: Sequence[str]) -> None:
        """Build these cases, at most `jobs`, all at once."""
        self._of = {title: i for i, title in enumerate(titles)}
        for title, i in self._of.items():
            self._pipes[i].send(title)
        self._failed = {title: self._answer(title)[1] for title in titles}

    def measure(self, title: str) -> tuple[Sequence[Summary], Mapping[str, str]]:
        """What was measured of a case that has been built, and what failed of it."""
        failed = self._failed[title]
        if title in failed:
            return [], failed
        self._pipes[self._of[title]].send(None)
        found, more = self._answer(title)
        return found, {**failed, **more}

    def _start(self) -> Connection:
        ours, theirs = self._context.Pipe()
        before = dict(os.environ)
        os.environ.update(ENVIRONMENT)  # which a process begins with
        self._context.Process(target=serve, args=(theirs, self._part), daemon=True).start()
        os.environ.clear()
        os.environ.update(before)
        theirs.close()
        return ours

    def _answer(self, title: str) -> tuple[Sequence[Summary], Mapping[str, str]]:
        i = self._of[title]
        try:
            found, failed = self._pipes[i].recv()
        except EOFError:
            self._pipes[i] = self._start()
            return [], {title: ENDED}
        return found, failed


def serve(pipe: Connection, part: str) -> None:
    """Of a process: build the case that is named, then measure it, until the pipe is closed."""
    first_gpu()
    builder: Builder = importlib.import_module(part).Builder()
    title = ""
    while True:
        try:
            asked: str | None = pipe.recv()
        except EOFError:
            return
        found: Sequence[Summary] = []
        failed: Mapping[str, str] = {}
        title = asked or title
        try:
            if asked is None:
                found = builder.measure()
            else:
                with choosing_later():
                    failed = builder.build(asked)
        except Exception as error:  # noqa: BLE001, the other cases are still to be measured
            failed = {title: reason(error)}
        pipe.send((found, failed))


@contextmanager
def choosing_later() -> Generator[None]:
    """Let torch.compile's kernels run in the first of their configurations, without a choice.

    A choice is made by measuring, which other processes would disturb. It is made at the first call
    after this.
    """
    heuristics: Any = importlib.import_module("torch._inductor.runtime.triton_heuristics")
    kernel: Any = heuristics.CachingAutotuner
    run = kernel.run

    def first(self: Any, *arguments: Any, **options: Any) -> Any:
        if not self.launchers:
            self.precompile()
        every = self.launchers
        self.launchers = every[:1]
        try:
            return run(self, *arguments, **options)
        finally:
            self.launchers = every
            if hasattr(self, "_cached_launcher"):
                self._cached_launcher = None

    kernel.run = first
    try:
        yield
    finally:
        kernel.run = run
