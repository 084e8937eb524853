"""What every test here needs: an NVIDIA GPU and its driver."""

import ctypes

import pytest


@pytest.fixture(scope="session", autouse=True)
def device():
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        pytest.skip("no NVIDIA driver on this machine")
    count = ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        pytest.skip("an NVIDIA driver without a GPU")
