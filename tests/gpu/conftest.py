"""What every test here needs: an NVIDIA GPU and its driver.

Several processes run the tests. Each has a first GPU of its own if there are as many, and gives
memory back when a test has ended.
"""

import ctypes
import os
import sys
from pathlib import Path

import pytest


def _rotate() -> None:
    """Let this process see the GPUs in another order; before CUDA starts, which reads it once."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    count = len(list(Path("/dev").glob("nvidia[0-9]*")))
    if count > 1 and "CUDA_VISIBLE_DEVICES" not in os.environ:
        order = [str((int(worker) + i) % count) for i in range(count)]
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(order)


_rotate()


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
