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


@pytest.fixture(scope="module")
def tools(approximations) -> tuple[ModuleType, ModuleType]:
    """The programs that record results and that find tables in them."""
    sys.path.insert(0, str(BENCHMARKS.parent / "tools"))
    try:
        return tuple(map(importlib.import_module, ("record_approximations", "fit_approximations")))
    finally:
        sys.path.remove(str(BENCHMARKS.parent / "tools"))


def test_binades_are_recorded(approximations, tools, monkeypatch, tmp_path):
    record, fit = tools
    monkeypatch.setattr(record, "BINADE", 512)
    monkeypatch.setattr(record, "BINADES", {"cos.approx.ftz.f32": (0, 1)})
    monkeypatch.setattr(sys, "argv", ["record", str(tmp_path)])
    record.main()
    records = fit.Records(tmp_path)
    assert records.exponents("cos") == [0, 1]
    for exponent in (0, 1):
        _, expected = approximations.chunk("cos.approx.ftz.f32", (127 + exponent) << 23, 512)
        assert (records.bits("cos", exponent) == np.asarray(expected)).all()


def segment(fit, c0, c1, c2):
    """The bounds that results of 24 digits put on the values of a segment."""
    values = c0 + c1 * fit.X + c2 * fit.S
    low = values >> 15 << 15
    return low, low + 2**15


@pytest.mark.parametrize(
    ("c0", "c1", "c2"),
    [(274877937634, 22713, 494), (549755813887, -65534, 1013), (549755420672, 4, -8)],
)
def test_the_fit_finds_a_segment(tools, c0, c1, c2):
    _, fit = tools
    low, high = segment(fit, c0, c1, c2)
    found = fit.fit(low, high)
    assert (found.c1, found.c2) == (c1, c2)
    assert found.least <= c0 <= found.greatest
    unknown = low.copy()
    unknown[:100] = -fit.WIDE
    fewer = fit.fit(unknown, high)
    assert (fewer.c1, fewer.c2) == (c1, c2)
    assert fewer.least <= found.least <= found.greatest <= fewer.greatest


def test_one_other_result_leaves_a_segment_without_room(tools):
    _, fit = tools
    low, high = segment(fit, 274877937634, 22713, 494)
    low[70000] += 2**15
    high[70000] += 2**15
    found = fit.fit(low, high)
    assert found.greatest < found.least


def test_the_last_digits_of_constants_are_equal(tools):
    _, fit = tools
    fitted = [fit.Fitted(8192 * k + 6110 + k, 8192 * k + 6114 + k, 1, 1) for k in range(5)]
    assert {each % 8192 for each in fit.constants(fitted)} == {6114}


def test_a_kept_sample_has_the_ends_of_a_binade(tools, tmp_path):
    record, fit = tools
    bits = (np.arange(2**23, dtype=np.uint32) * np.uint32(3)) ^ np.uint32(0x3F800000)
    np.savez_compressed(tmp_path / "rcp.approx.ftz.f32.npz", **{"0": record.steps(bits)})
    kept = fit.sample(fit.Records(tmp_path))
    arguments, results = kept["rcp.approx.ftz.f32"]
    assert {0x3F800000, 0x3F800001, 0x3FFFFFFF} <= set(arguments.tolist())
    assert (results == bits[arguments - 0x3F800000]).all()
