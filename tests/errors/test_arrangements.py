"""A tile that a copy fills in one arrangement and an index reads in another."""

import warnings

import numpy as np
import pytest

from pyptx import LanguageError, LanguageWarning, Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import b8, f32, u32

A = np.arange(256, dtype=np.float32).reshape(8, 32)
OPTIONS = {"out_specs": (Tile(8, 32, f32),), "block": 32, "arch": "sm_90a"}


def _boxes(layout=Layout.TMA_128B):
    return kernel(in_specs=(Tile(8, 32, f32, layout, tma_box=(8, 32)),), **OPTIONS)


def _copied(X, tile):
    """Copy the box of a tensor; the thread."""
    box, bar, i = X.tma_desc(), smem.mbarrier(), reg.from_(ptx.special.tid.x(), u32)
    first = i == 0
    bar.init(1, pred=first)
    ptx.bar.sync()
    bar.arrive_expect_tx(box.bytes, pred=first)
    ptx.cp.async_.bulk.tensor_2d(dst=tile, src=box, coord=[0, 0], mbar=bar, pred=first)
    bar.wait(0)
    return i


def _in_order(X, tile, size=1024):
    x, bar, i = ptx.global_ptrs(X)[0], smem.mbarrier(), reg.from_(ptx.special.tid.x(), u32)
    first = i == 0
    bar.init(1, pred=first)
    ptx.bar.sync()
    bar.arrive_expect_tx(size, pred=first)
    ptx.cp.async_.bulk.load(tile, x, size, bar, pred=first)
    bar.wait(0)
    return i


def _silent(k, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(k(A), expected)


# ---- a box with a swizzle, in a tile without -----------------------------------------------------

PERMUTED = """\
here:{read}: the copy into this tile permutes each row (Layout.TMA_128B), and the tile has no swizzle, so an index finds another element
    {text}
  copied: here:{copied}: ptx.cp.async_.bulk.tensor_2d(dst=tile, src=box, coord=[0, 0], mbar=bar, pred=first)
  help: smem.alloc(f32, (8, 32), swizzle="128B")
  help: Layout.ROW permutes nothing"""

_COPIED = _copied.__code__.co_firstlineno + 7


def _refused(k, text):
    with pytest.raises(LanguageError) as caught:
        k(A)
    read = caught.value.location.line
    message = PERMUTED.format(read=read, copied=_COPIED, text=text)
    assert str(caught.value).replace(__file__, "here") == message


def test_a_box_with_a_swizzle():
    @_boxes()
    def k(X, Y):
        t = smem.alloc(f32, (8, 32), align=1024)
        i = _copied(X, t)
        for r in range(8):
            Y[r, i] = t[r, i]

    _refused(k, "Y[r, i] = t[r, i]")


def test_a_box_that_is_read_before_it_is_copied_in_the_text():
    @_boxes()
    def k(X, Y):
        t = smem.alloc(f32, (8, 32), align=1024)
        i = reg.from_(ptx.special.tid.x(), u32)
        for r in ptx.range_(8):
            with ptx.if_(r > 0):
                Y[r, i] = t[r, i]
            with ptx.else_():
                _copied(X, t)

    _refused(k, "Y[r, i] = t[r, i]")


def test_a_stage_that_is_read_with_ints():
    @_boxes()
    def k(X, Y):
        t = smem.alloc(f32, (2, 8, 32), align=1024)[1]
        i = _copied(X, t)
        Y[0, i] = t[1, 4]

    _refused(k, "Y[0, i] = t[1, 4]")


@pytest.mark.parametrize("layout", ["TMA_128B", "ROW"])
def test_a_tile_of_the_same_arrangement(layout):
    @_boxes(Layout[layout])
    def k(X, Y):
        swizzle = None if layout == "ROW" else "128B"
        t = smem.alloc(f32, (8, 32), swizzle=swizzle, align=1024)
        i = _copied(X, t)
        for r in range(8):
            Y[r, i] = t[r, i]

    _silent(k, A)


def test_the_swizzle_by_hand():
    @_boxes()
    def k(X, Y):
        t, flat = smem.alloc(f32, (8, 32), align=1024), smem.alloc(f32, 256, align=1024)
        i = _copied(X, t)
        for r in range(4):
            Y[r, i] = t[r, i ^ (r * 4)]
        i = _copied(X, flat)
        base = reg.from_(t, u32)
        for r in range(4, 8):
            Y[r, i] = ptx.inst.ld.shared.f32(ptx.addr(base + ((i ^ (r * 4)) << 2), 128 * r))

    _silent(k, A)


def test_the_row_that_no_swizzle_permutes():
    @_boxes()
    def k(X, Y):
        t = smem.alloc(f32, (8, 32), align=1024)
        i = _copied(X, t)
        for r in range(8):
            Y[r, i] = t[0, i] + r

    _silent(k, A[0] + np.arange(8, dtype=np.float32)[:, None])


def test_memory_that_is_used_again():
    """Threads store other values into the tile before they read it by index."""

    @_boxes()
    def k(X, Y):
        t = smem.alloc(f32, (8, 32), align=1024)
        i = _copied(X, t)
        ptx.bar.sync()
        base = reg.from_(t, u32)
        for r in range(8):
            ptx.inst.st.shared.f32(ptx.addr(base + (i << 2), 128 * r), X[r, i] * 2.0)
        for r in range(8):
            Y[r, i] = t[r, i]

    _silent(k, A * 2)


def test_bytes_whose_rows_are_not_the_boxs():
    @_boxes()
    def k(X, Y):
        t = smem.alloc(b8, 1024, align=1024)
        i = _copied(X, t)
        chunks = smem.alloc(f32, (8, 8, 4), align=1024)
        _copied(X, chunks)
        for r in range(8):
            Y[r, i] = chunks[r, (i >> 2) ^ r, i & 3]

    _silent(k, A)


# ---- bytes in order, in a tile with a swizzle ----------------------------------------------------

IN_ORDER = """\
a copy of bytes in order fills this tile, whose indices follow a swizzle of 128 bytes
  copied: here:{copied}: ptx.cp.async_.bulk.load(tile, x, size, bar, pred=first)
  help: smem.alloc(f32, (8, 32)) has its elements in order
  help: a tensor copy with Layout.TMA_128B writes the swizzle"""


def _plain():
    return kernel(in_specs=(Tile(8, 32, f32),), **OPTIONS)


def test_bytes_in_order_in_a_tile_with_a_swizzle():
    @_plain()
    def k(X, Y):
        t = smem.alloc(f32, (8, 32), swizzle="128B")
        i = _in_order(X, t)
        for r in range(8):
            Y[r, i] = t[r, i]

    with pytest.warns(LanguageWarning) as caught:
        k(A)
    (warning,) = caught
    copied = _in_order.__code__.co_firstlineno + 6
    assert str(warning.message).replace(__file__, "here") == IN_ORDER.format(copied=copied)
    assert warning.filename == __file__


def test_bytes_in_order_in_a_tile_without_a_swizzle():
    @_plain()
    def k(X, Y):
        t = smem.alloc(f32, (8, 32))
        i = _in_order(X, t)
        for r in range(8):
            Y[r, i] = t[r, i]

    _silent(k, A)


def test_the_first_row_in_order():
    @_plain()
    def k(X, Y):
        t = smem.alloc(f32, (8, 32), swizzle="128B")
        i = _in_order(X, t, 128)
        for r in range(8):
            Y[r, i] = t[0, i]

    _silent(k, np.tile(A[0], (8, 1)))
