"""The same source gives the same text: in any process, in any order; and tracing stays linear."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyptx import kernel, ptx, reg
from pyptx.types import f32, u32

PROGRAM = Path(__file__).with_name("program.py")


def run(*arguments: str, seed: str = "0") -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_texts_are_the_same_in_every_process_and_order():
    first = run(str(PROGRAM), "one", "two", "three", seed="1")
    again = run(str(PROGRAM), "three", "one", "two", "one", seed="2")
    assert dict(line.split() for line in first.splitlines()) == dict(
        line.split() for line in again.splitlines()
    )
    assert len(first.splitlines()) == 3


def test_importing_brings_in_no_arrays_and_no_command_line():
    loaded = run("-c", "import pyptx, sys; print(*sys.modules)").split()
    assert "pyptx._kernel" in loaded
    heavy = {"numpy", "jax", "jaxlib", "torch", "typer", "rich", "flatbuffers", "pytest"}
    assert not heavy & set(loaded)


def body(count: int):
    def trace():
        x = reg.scalar(f32, init=0.0)
        for i in range(count):
            y = x + 1.0
            if i % 10 == 0:
                with ptx.if_(y < 2.0):
                    x += y
        ptx.inst.mov.u32(reg.scalar(u32), 0)

    return trace


@pytest.mark.parametrize("small", [300, pytest.param(1000, marks=pytest.mark.sweep)])
def test_tracing_is_linear_in_instructions(small):
    """Twenty times the instructions take twenty times as long; a quadratic step takes 400."""

    def seconds(count: int) -> float:
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            kernel(body(count)).ptx()
            best = min(best, time.process_time() - start)
        return best

    seconds(small)
    assert seconds(20 * small) < 60 * seconds(small)
