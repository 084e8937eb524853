"""Swizzled tiles in the emulator: every way to index finds the byte that the layout says."""

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx._layouts import Swizzle
from pyptx._layouts.matrix import MatrixLayout
from pyptx.types import bf16, f32, u8, u16, u32

TYPES = {1: (u8, u8), 2: (bf16, u16), 4: (f32, u32)}
ROWS, STAGES = 16, 2
STEP = 13  # of the places whose stores are written out one by one
WAYS = ("row and column", "row", "column", "neither", "slice")


def stored(layout, way):
    """Store i at the i-th place of the second stage, indexed one `way`; the bytes come out."""
    dtype, unsigned = TYPES[layout.element_bytes]
    count = layout.rows * layout.columns
    store = getattr(ptx.inst.st.shared, f"{unsigned}")

    @kernel(in_specs=(), out_specs=(Tile(STAGES * layout.bytes // 4, u32),), block=128)
    def fill(Y):
        (y,) = ptx.global_ptrs(Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        shape = (STAGES, layout.rows, layout.columns)
        tile = smem.alloc(dtype, shape, swizzle=layout.swizzle, name="tile")
        raw = reg.from_(tile, u32)
        for i in ptx.range_(tid, STAGES * layout.bytes // 4, 128):
            ptx.inst.st.shared.u32(ptx.addr(ptx.inst.mad.lo.u32(i, 4, raw)), 0)
        ptx.bar.sync()
        one = reg.scalar(u32, init=1)
        if way in ("row and column", "slice"):
            for i in ptx.range_(tid, count, 128):
                row, column = i // layout.columns, i % layout.columns
                part = tile[one] if way == "slice" else tile[1]
                store(part.address(row, column), i)
        else:
            with ptx.if_(tid == 0):
                for number in range(0, count, STEP):
                    row, column = divmod(number, layout.columns)
                    r = reg.from_(row, u32) if way == "row" else row
                    c = reg.from_(column, u32) if way == "column" else column
                    store(tile.address(1, r, c), reg.from_(number, u32))
        ptx.bar.sync()
        for i in ptx.range_(tid, STAGES * layout.bytes // 4, 128):
            word = ptx.inst.ld.shared.u32(ptx.addr(ptx.inst.mad.lo.u32(i, 4, raw)))
            ptx.inst.st.global_.u32(ptx.addr(y + i * 4), word)

    return fill


@pytest.mark.sampled(16, each=("swizzle", "way"))
@pytest.mark.parametrize(
    ("size", "way"),
    [*((2, way) for way in WAYS), (1, "row and column"), (4, "row and column")],
)
@pytest.mark.parametrize("swizzle", Swizzle, ids=lambda s: s.name)
def test_every_index_finds_its_place(swizzle, size, way):
    layout = MatrixLayout(ROWS, 2 * swizzle.span // size, size, swizzle)
    done = stored(layout, way).emulate(sanitize=True)
    assert not done.report.findings
    expected = np.zeros((STAGES, layout.bytes), np.uint8).view(f"u{size}")
    step = 1 if way in ("row and column", "slice") else STEP
    for number in range(0, layout.rows * layout.columns, step):
        place = layout.offset(*divmod(number, layout.columns))
        expected[1, place // size] = number % 256**size
    np.testing.assert_array_equal(done.outputs[0], expected.reshape(-1).view(np.uint32))
