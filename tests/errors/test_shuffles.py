"""Shuffles that read no other lane: a warning at their line."""

import warnings

import numpy as np
import pytest

from pyptx import LanguageWarning, Tile, kernel, ptx, reg
from pyptx.types import f32, u32

FULL = 0xFFFFFFFF
ONES = np.ones(32, np.float32)


def _shuffled(mode, distance, clamp):
    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=32)
    def k(X, Y):
        i = reg.from_(ptx.special.tid.x(), u32)
        w = reg.scalar(f32)
        getattr(ptx.inst.shfl.sync, mode).b32(w, X[i], distance, clamp, FULL)
        Y[i] = w

    return k


UP = "shfl.up with c={} gives every lane its own value: c is the first lane that may be read\n"
LAST = "shfl.{} with c={} gives every lane its own value: c is the last lane that may be read\n"


@pytest.mark.parametrize(
    ("mode", "clamp", "message"),
    [
        ("up", 31, UP.format(31) + "  help: c=0 is CUDA's __shfl_up_sync"),
        ("up", 0x181F, UP.format(0x181F) + "  help: c=6144 is CUDA's __shfl_up_sync"),
        ("down", 0, LAST.format("down", 0) + "  help: c=31 is CUDA's __shfl_down_sync"),
        ("down", 0x1800, LAST.format("down", 6144) + "  help: c=6151 is CUDA's __shfl_down_sync"),
    ],
)
def test_the_whole_warning(mode, clamp, message):
    k = _shuffled(mode, 1, clamp)
    with pytest.warns(LanguageWarning) as caught:
        result = k(np.arange(32, dtype=np.float32))
    (warning,) = caught
    assert str(warning.message) == message
    line = _shuffled.__code__.co_firstlineno + 5
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert np.array_equal(result, np.arange(32))  # as the warning says


@pytest.mark.parametrize(
    ("mode", "clamp"),
    [
        ("up", 0),
        ("up", 0x1800),
        ("up", 3),
        ("down", 31),
        ("bfly", 31),
        ("bfly", 0x1807),
        ("idx", 0),
    ],
)
def test_shuffles_that_read_another_lane(mode, clamp):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = _shuffled(mode, 1, clamp)(np.arange(32, dtype=np.float32))
    assert not np.array_equal(result, np.arange(32)) or (mode, clamp) == ("idx", 0)


def test_a_clamp_in_a_register():
    @kernel(out_specs=(Tile(32, u32),), block=32)
    def k(Y):
        i, clamp = reg.from_(ptx.special.tid.x(), u32), reg.scalar(u32, init=0)
        Y[i] = ptx.inst.shfl.sync.up.b32(reg.scalar(u32), i, 1, clamp, FULL)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert k()[:3].tolist() == [0, 0, 1]


def test_a_scan():
    """What the row of __shfl_up_sync in docs/from_cuda.md gives."""

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=32)
    def k(X, Y):
        i = reg.from_(ptx.special.tid.x(), u32)
        v = X[i]
        for d in (1, 2, 4, 8, 16):
            w = reg.scalar(f32)
            ptx.inst.shfl.sync.up.b32(w, v, d, 0, FULL)
            with ptx.if_(i >= d):
                v += w
        Y[i] = v

    assert np.array_equal(k(ONES), np.arange(1, 33))
