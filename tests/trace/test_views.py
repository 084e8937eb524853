"""Shared memory as elements of another type."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pyptx import LanguageError, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u8, u16, u32


@pytest.mark.parametrize("swizzle", [None, "32B", "64B", "128B"])
def test_bytes_are_the_same(swizzle):
    """Words written by one name are read by bytes and halves, wherever a swizzle puts them."""

    @kernel(
        in_specs=(Tile(3, 8, 32, u32),), out_specs=(Tile(3, 8, 128, u8), Tile(3, 8, 64, u16)),
        block=32,
    )  # fmt: skip
    def halves(X, BYTES, HALVES):
        tile = smem.alloc(u32, (3, 8, 32), swizzle=swizzle)
        i = reg.from_(ptx.special.tid.x(), u32)
        for matrix in range(3):
            for row in range(8):
                tile[matrix, row, i] = X[matrix, row, i]
        ptx.bar.sync()
        small, wide = tile.view(u8), tile.view(u16)
        assert (small.shape, wide.shape) == ((3, 8, 128), (3, 8, 64))
        for matrix in range(3):
            for row in range(8):
                for part in range(4):
                    at = i + 32 * part
                    BYTES[matrix, row, at] = small[matrix, row, at]
                for part in range(2):
                    at = i + 32 * part
                    HALVES[matrix, row, at] = wide[matrix][row, at]

    x = np.random.default_rng(0).integers(0, 2**32, (3, 8, 32), np.uint32)
    ran = halves.emulate(x)
    ran.report.check()
    assert np.array_equal(ran.outputs[0], x.view(np.uint8))
    assert np.array_equal(ran.outputs[1], x.view(np.uint16))


def test_no_instruction():
    @kernel(out_specs=(Tile(32, f32),), block=32)
    def plain(OUT):
        tile = smem.alloc(f32, 32)
        i = reg.from_(ptx.special.tid.x(), u32)
        tile[i] = 1.0
        OUT[i] = tile[i]

    @kernel(out_specs=(Tile(32, f32),), block=32, name="plain")
    def viewed(OUT):
        tile = smem.alloc(u8, 128).view(f32).view(bf16).view(f32)
        i = reg.from_(ptx.special.tid.x(), u32)
        tile[i] = 1.0
        OUT[i] = tile[i]

    def code(k):
        return [line for line in k.ptx().splitlines() if not line.lstrip().startswith((".", "//"))]

    assert code(plain) == code(viewed)


def test_rows_that_are_no_whole_number():
    @kernel(out_specs=(Tile(32, f32),), block=32)
    def wrong(OUT):
        smem.alloc(u8, (4, 30)).view(f32)

    with pytest.raises(LanguageError) as error:
        wrong.ptx()
    assert re.sub(r":\d+:", ":N:", str(error.value)) == (
        f"{__file__}:N: shared memory of (4, 30) .u8 has 30 elements in a row, which are no whole "
        "number of .f32\n"
        "    smem.alloc(u8, (4, 30)).view(f32)"
    )
