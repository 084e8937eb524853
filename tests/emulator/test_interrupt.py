"""Ctrl-C ends an emulation at once, as every exception does that a signal handler raises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import u32

SOON = 2.0
"""Seconds: it takes some milliseconds where nothing else runs."""
LONG = 120


@kernel(in_specs=(Tile(64, u32),), out_specs=(Tile(64, u32),), grid=(8, 1, 1), block=64)
def endless(X, Y):
    """Counts for ever, on as many threads as are asked for."""
    count = reg.scalar(u32, init=0)
    with ptx.loop():
        count += 1


@kernel(in_specs=(Tile(64, u32),), out_specs=(Tile(64, u32, init=0),), grid=(8, 1, 1), block=64)
def atomics(X, Y):
    """The same on one thread, and with an effect."""
    (y,) = ptx.global_ptrs(Y)
    with ptx.loop():
        ptx.inst.red.global_.add.u32(ptx.addr(y), 1)


X = np.zeros(64, np.uint32)


@contextmanager
def interrupted(after: float = 0.3, number: int = signal.SIGINT) -> Iterator[Callable[[], float]]:
    """Sends this process a signal, unless the block has ended before; the seconds since."""
    sent: list[float] = []
    ended = threading.Event()

    def send() -> None:
        if ended.wait(after):
            return
        sent.append(time.perf_counter())
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield lambda: time.perf_counter() - sent[0]
    finally:
        ended.set()
        thread.join()


@pytest.mark.sampled(16, each=("operation", "sanitize", "threads"))
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("operation", [endless, atomics], ids=["threads", "atomics"])
def test_emulate(operation, sanitize: bool, threads: int):
    with interrupted() as seconds, pytest.raises(KeyboardInterrupt):
        operation.emulate(X, sanitize=sanitize, threads=threads)
    assert seconds() < SOON


def test_a_call_on_numpy_arrays():
    with interrupted() as seconds, pytest.raises(KeyboardInterrupt):
        endless(X)
    assert seconds() < SOON


def test_another_signal_and_another_exception():
    class Enough(Exception):
        pass

    def handler(*_: object) -> None:
        raise Enough("now")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with (
            interrupted(number=signal.SIGUSR1) as seconds,
            pytest.raises(Enough, match="now") as caught,
        ):
            endless.emulate(X)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seconds() < SOON
    assert [entry.name for entry in caught.traceback][-1] == "handler"


def test_a_handler_that_raises_nothing_runs_and_the_launch_goes_on():
    handled: list[float] = []
    before = signal.signal(signal.SIGINT, lambda *_: handled.append(time.perf_counter()))
    try:
        begin = time.perf_counter()
        with interrupted(0.1):
            report = endless.emulate(X, max_seconds=1.0, threads=2).report
    finally:
        signal.signal(signal.SIGINT, before)
    assert [f.kind for f in report.findings] == ["budget"]
    assert handled[0] - begin < 1.0 < time.perf_counter() - begin


def test_on_another_thread_a_launch_ends_by_its_budget():
    reports = []
    thread = threading.Thread(
        target=lambda: reports.append(endless.emulate(X, max_seconds=0.3).report)
    )
    thread.start()
    thread.join()
    assert [f.kind for f in reports[0].findings] == ["budget"]


def test_a_launch_after_one_that_was_interrupted():
    with interrupted(), pytest.raises(KeyboardInterrupt):
        endless.emulate(X)
    report = endless.emulate(X, max_launch_instructions=1000).report
    assert [f.kind for f in report.findings] == ["budget"]


PROGRAM = """
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import u32

@kernel(in_specs=(Tile(64, u32),), out_specs=(Tile(64, u32),), grid=(8, 1, 1), block=64)
def endless(X, Y):
    count = reg.scalar(u32, init=0)
    with ptx.loop():
        count += 1
        if not called:
            print("begins", flush=True)
"""
CALLED = """
import numpy as np
print("begins", flush=True)
endless(np.zeros(64, np.uint32))
"""


@pytest.mark.parametrize("called", [True, False])
def test_the_command_line(tmp_path: Path, called: bool):
    """`pyptx run` of a program that calls the kernel, and of the kernel on random arrays."""
    path = tmp_path / "program.py"
    path.write_text(f"called = {called}\n{PROGRAM}{CALLED if called else ''}")
    target = str(path) if called else f"{path}:endless"
    process = subprocess.Popen(
        [sys.executable, "-m", "pyptx", "run", target],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(1.0)
        assert process.poll() is None
        begin = time.perf_counter()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=LONG)
        assert time.perf_counter() - begin < SOON, error
    finally:
        process.kill()
    assert process.returncode != 0
