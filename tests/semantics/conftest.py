"""The emulator's library, as the tests of instructions call it."""

from __future__ import annotations

import ctypes

import pytest

from pyptx._native import loader


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    """The build of the emulator that this machine would use."""
    return loader.load(f"pyptx_emulator_{loader._variant()}")


@pytest.fixture(scope="session")
def others() -> list[ctypes.CDLL]:
    """The builds for older processors, which must give the same bits."""
    return [loader.load(f"pyptx_emulator_{name}") for name in loader.variants()[1:]]
