"""The comparison of approximate functions on all inputs, with the emulator in the GPU's place."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import jax.numpy as jnp
import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def approximations() -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module("approximations")
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_every_function_is_equal_to_itself(approximations):
    """Around the inputs 1 and infinity, which a result of each type has on both sides."""
    for spelling in approximations.FUNCTIONS:
        dtype = approximations.dtype_of(spelling)
        infinity = approximations.INFINITY[dtype]
        one = {16: 0x3C00, 32: 0x3F800000, 64: 0x3FF00000}[dtype.bits]
        for first in (one, infinity - 128):
            found = approximations.difference(spelling, first, 256)
            assert (found.count, found.largest, found.absolute) == (0, 0, 0), spelling


def test_the_kernel_has_the_function_of_every_input(approximations):
    found, _ = approximations.chunk("rsqrt.approx.ftz.f64", 0x40100000, 256)
    assert hex(found[0]) == "0x3fe00000"  # 1 / sqrt(4.0)
    found, _ = approximations.chunk("ex2.approx.f16", 0xBC00, 256)
    assert hex(found[0]) == "0x3800"  # 2^-1
    found, _ = approximations.chunk("tanh.approx.bf16", 0, 2**16)
    assert hex(found[0x7F80]) == "0x3f80"
    found, _ = approximations.chunk("rcp.approx.f32", 0x40800000, 256)
    assert hex(found[0]) == "0x3e800000"


@pytest.mark.parametrize(
    ("found", "expected", "apart"),
    [
        (0x3F800000, 0x3F800001, 1),
        (0x3F800010, 0x3F800000, 16),
        (0x80000002, 0x00000003, 5),
        (0x80000000, 0x00000000, 1),
        (0x7FFFFFFF, 0xFFC00000, 0),
        (0x7F800000, 0x7F7FFFFF, 1),
        (0x7FC00000, 0x7F800000, 0x400000),
        (0xFF800000, 0x7F800000, 0xFF000000),
    ],
)
def test_distances_of_f32(approximations, found, expected, apart):
    bits = (jnp.full(1, each, jnp.uint32) for each in (found, expected))
    assert int(approximations._distances(*bits, 0x7F800000)[0]) == apart


def test_differences_are_counted_and_the_largest_has_its_input(approximations, monkeypatch):
    exact = approximations.chunk("rcp.approx.f32", 0x3F800000, 256)[0]
    off = exact.at[7].add(3).at[9].add(1)
    monkeypatch.setattr(approximations, "chunk", lambda *_: (off, exact))
    found = approximations.difference("rcp.approx.f32", 0x3F800000, 256)
    assert (found.count, found.largest, found.at) == (2, 3, 0x3F800007)
    assert found.absolute == pytest.approx(3 * 2.0**-24)


def test_halves_are_compared_as_numbers(approximations, monkeypatch):
    one, two = (jnp.full(4, bits, jnp.uint32) for bits in (0x3C00, 0x4000))
    monkeypatch.setattr(approximations, "chunk", lambda *_: (two, one))
    assert approximations.difference("ex2.approx.f16", 0, 4).absolute == 1.0


def test_binades_are_recorded(approximations, monkeypatch, tmp_path):
    sys.path.insert(0, str(BENCHMARKS.parent / "tools"))
    try:
        tool = importlib.import_module("record_approximations")
    finally:
        sys.path.remove(str(BENCHMARKS.parent / "tools"))
    monkeypatch.setattr(tool, "BINADE", 512)
    monkeypatch.setattr(tool, "BINADES", {"lg2.approx.ftz.f32": (-1, 0)})
    monkeypatch.setattr(sys, "argv", ["record", str(tmp_path)])
    tool.main()
    with np.load(tmp_path / "lg2.approx.ftz.f32.npz") as kept:
        assert {name: kept[name].dtype for name in kept} == {"-1": np.int8, "0": np.int8}
        assert all(not kept[name].any() and kept[name].size == 512 for name in kept)

    def far(*_):
        return np.zeros(512, np.uint32), np.full(512, 128, np.uint32)

    monkeypatch.setattr(tool, "chunk", far)
    tool.main()
    with np.load(tmp_path / "lg2.approx.ftz.f32.npz") as kept:
        assert all(kept[name].dtype == np.int16 and (kept[name] == -128).all() for name in kept)
