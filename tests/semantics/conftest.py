"""The emulator's library, as the tests of instructions call it."""

from __future__ import annotations

import ctypes
import os

import pytest


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(os.environ["PYPTX_EMULATOR_LIBRARY"])
