"""Memory runs out at every allocation of the emulator: pyptx raises, and the next launch is right.

A library of a few lines, allocations.c, precedes the C library and fails the n-th allocation of
pyptx's libraries, once or from then on. Processes of their own load it.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.errors import EmulationError
from pyptx.types import f32, u32

SHIM = "PYPTX_TEST_ALLOCATIONS"
X = np.arange(1024, dtype=np.float32)


def copies():
    """A kernel that uses most of what the emulator allocates: mbarriers, copies, printf, a race."""

    @kernel(
        in_specs=(Tile(1024, f32),), out_specs=(Tile(1024, f32),), grid=16, block=64, arch="sm_90a"
    )
    def copies(X, Y):
        tile, full = smem.alloc(f32, 64, align=128), smem.mbarrier()
        i = reg.from_(ptx.special.tid.x(), u32)
        first = ptx.special.ctaid.x() * 64
        full.init(1, pred=i == 0)
        ptx.fence.mbarrier_init()
        ptx.bar.sync()
        with ptx.if_(i == 0):
            full.arrive_expect_tx(256)
            ptx.cp.async_.bulk.load(tile, X.address(first), 256, full)
            ptx.printf("%u\n", i)
        full.wait(0)
        value = tile[63 - i]
        tile[i] = value
        Y[first + i] = value

    return copies


def outcome(operation, threads):
    try:
        done = operation.emulate(X, threads=threads)
    except EmulationError as error:
        return str(error)
    return [f.kind for f in done.report.findings], done.outputs[0].tobytes()


def run_out(threads, step, persistent):
    """Fails allocations until a launch gets through without; what the errors say."""
    shim = ctypes.CDLL(os.environ[SHIM])
    shim.fail_at.argtypes = [ctypes.c_long, ctypes.c_int]
    shim.failures.restype = ctypes.c_long
    operation = copies()
    right = outcome(operation, threads)
    errors = set()
    for at in range(1, 1_000_000, step):
        shim.fail_at(at, persistent)
        found = outcome(operation, threads)
        failures = shim.failures()
        shim.fail_at(0, 0)
        if isinstance(found, str):
            errors.add(found)
        else:
            assert found == right, at
        assert outcome(operation, threads) == right, at
        if failures == 0:
            return errors
    raise AssertionError("allocations never end")


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("allocations fail through glibc, with a C compiler")
    library = tmp_path_factory.mktemp("shim") / "allocations.so"
    source = Path(__file__).with_name("allocations.c")
    command = ["cc", "-O1", "-fno-builtin", "-shared", "-fPIC", source, "-o", library, "-ldl"]
    subprocess.run(command, check=True)
    return library


SCRIPT = """
import json
from tests.native.test_allocations import run_out
print(json.dumps([sorted(run_out(*each)) for each in {runs}]))
"""
WAYS = [(threads, persistent) for threads in (1, 4) for persistent in (False, True)]


def said_by(shim, runs):
    """What the errors say of each of these runs, of one process."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(runs=runs)],
        env={**os.environ, "LD_PRELOAD": str(shim), SHIM: str(shim)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("step", [499, pytest.param(1, marks=pytest.mark.sweep)])
def test_every_allocation_may_fail(shim, step):
    """Once or from then on, with one thread and with several."""
    found = said_by(shim, [(threads, step, persistent) for threads, persistent in WAYS])
    for way, said in zip(WAYS, found, strict=True):
        assert said, way
        assert set(said) <= {"kernel copies: no memory left", "no memory left for the emulator"}
