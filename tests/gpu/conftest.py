"""What every test here needs: an NVIDIA GPU and its driver.

Several processes run the tests. Each sees two GPUs, where there are as many, of which the first is
another for each process, and gives memory back when a test has ended.
"""

import ctypes
import os
import sys
from pathlib import Path

import pytest


def _two_gpus() -> None:
    """Let a worker see the two GPUs that are its own; before CUDA starts, which reads it once.

    No test needs a third, and JAX would take memory of each for every process.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        return
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    there = [path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*")]
    gpus = named.split(",") if named else sorted(there, key=int)
    if len(gpus) > 1:
        first = int(worker.removeprefix("gw")) % len(gpus)
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join((gpus[first:] + gpus[:first])[:2])


_two_gpus()


def pytest_configure(config):
    """What PyTorch warns of in its own code is no error; resetting Dynamo imports some of it."""
    config.addinivalue_line("filterwarnings", "ignore:.*torch.jit:DeprecationWarning")
    config.addinivalue_line("filterwarnings", "ignore::DeprecationWarning:torch.*")


@pytest.fixture(scope="session", autouse=True)
def device():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        pytest.skip("no NVIDIA driver on this machine")
    count = ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        pytest.skip("an NVIDIA driver without a GPU")


@pytest.fixture(autouse=True)
def _nothing_is_left():
    """PyTorch keeps memory that it does not use, and a few compiled programs of a function."""
    yield
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if "torch._dynamo" in sys.modules:
        sys.modules["torch._dynamo"].reset()
