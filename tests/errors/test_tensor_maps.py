"""Whole messages about tensor maps: what a Tile says, what the body asks for, what a call brings."""

# a line of a message is a line

import numpy as np

from pyptx import (
    Im2col,
    IsaError,
    LanguageError,
    Layout,
    OobFill,
    SpecError,
    Tile,
    kernel,
    ptx,
    reg,
    smem,
)
from pyptx.types import b8, bf16, f32, u8, u32, u64

from .cases import Collection

wrong = Collection()


def trace(*specs, parallel=(), arch="sm_90a", cluster=(1, 1, 1), **dims):
    """Trace the body for tensors of these specs, the last of them the output."""

    def decorate(body):
        made = kernel(
            in_specs=specs[:-1] or (),
            out_specs=specs[-1:],
            block=(32, 1, 1),
            parallel=parallel,
            arch=arch,
            cluster=cluster,
            grid=cluster,
        )(body)
        return made.ptx(**dims)

    return decorate


# ---- Tiles ---------------------------------------------------------------------------------------


@wrong(
    SpecError,
    """
    here: the box has 257 elements along axis 0; the range is 1 to 256
        Tile("M", "K", f32, tma_box=(257, 8))
      help: copy a larger piece of the tensor as several boxes
    """,
)
def a_box_that_is_too_large():
    Tile("M", "K", f32, tma_box=(257, 8))


@wrong(
    SpecError,
    """
    here: the box has 6 elements of bf16 along the last axis, 12 bytes; they must be a multiple of 16
        Tile("M", "K", bf16, tma_box=(8, 6))
      help: 8 elements, and what is beyond the tensor is filled
    """,
)
def a_row_of_an_odd_length():
    Tile("M", "K", bf16, tma_box=(8, 6))


@wrong(
    SpecError,
    """
    here: the box has 256 bytes along the last axis; with Layout.TMA_128B it has 128
        Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(64, 128))
      help: 64 elements of bf16, and several boxes for more
    """,
)
def a_row_longer_than_the_swizzle():
    Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(64, 128))


@wrong(
    SpecError,
    """
    here: the element stride along axis 0 is 9; the range is 1 to 8
        Tile("M", "K", f32, tma_box=(8, 8), tma_element_strides=(9, 1))
    """,
)
def an_element_stride_that_is_too_large():
    Tile("M", "K", f32, tma_box=(8, 8), tma_element_strides=(9, 1))


@wrong(
    SpecError,
    """
    here: the element stride along the last axis is ignored, so it must be 1, not 2
        Tile("M", "K", f32, tma_box=(8, 8), tma_element_strides=(1, 2))
    """,
)
def an_element_stride_along_the_last_axis():
    Tile("M", "K", f32, tma_box=(8, 8), tma_element_strides=(1, 2))


@wrong(
    SpecError,
    """
    here: Layout.INTERLEAVE_16B needs rank 3 to 5, and the tensor has rank 2
        Tile("M", "K", f32, layout=Layout.INTERLEAVE_16B, tma_box=(8, 8))
    """,
)
def an_interleaved_matrix():
    Tile("M", "K", f32, layout=Layout.INTERLEAVE_16B, tma_box=(8, 8))


@wrong(
    SpecError,
    """
    here: OobFill.NAN is for f16, bf16, f32 and f64, and the elements are u32
        Tile("M", "K", u32, tma_box=(8, 8), tma_oob_fill=OobFill.NAN)
    """,
)
def integers_that_are_not_a_number():
    Tile("M", "K", u32, tma_box=(8, 8), tma_oob_fill=OobFill.NAN)


@wrong(
    SpecError,
    """
    here: tma_box=(8, 8) has 2 sizes, and the tensor has rank 3
        Tile("B", "M", "K", u32, tma_box=(8, 8))
    """,
)
def a_box_of_another_rank():
    Tile("B", "M", "K", u32, tma_box=(8, 8))


@wrong(
    SpecError,
    """
    here: the tensor has rank 6; tensor maps have rank 1 to 5
        Tile(2, 2, 2, 2, 2, 16, u32, tma_box=(1, 1, 1, 1, 1, 8))
    """,
)
def a_tensor_of_rank_6():
    Tile(2, 2, 2, 2, 2, 16, u32, tma_box=(1, 1, 1, 1, 1, 8))


@wrong(
    SpecError,
    """
    here: tma_box= of X, a tensor of copy, names BN, which is neither a dimension nor a compile-time keyword
        @kernel(in_specs=(Tile("M", "K", u32, tma_box=("BN//2", 8)),), out_specs=(), block=32)
      dimensions: M, K
      keywords: BM
    """,
)
def a_box_of_an_unknown_name():
    @kernel(in_specs=(Tile("M", "K", u32, tma_box=("BN//2", 8)),), out_specs=(), block=32)
    def copy(X, *, BM): ...


@wrong(
    SpecError,
    """
    here: 'BM//' is neither a name nor an expression of names
        Tile("M", "K", u32, tma_box=("BM//", 8))
      legal: names, integers, + - * // ( ), cdiv(a, b), min(a, b, ...), max(a, b, ...)
      help: "N", "N//2", "cdiv(N, 4)"
    """,
)
def a_box_that_is_no_expression():
    Tile("M", "K", u32, tma_box=("BM//", 8))


@wrong(
    SpecError,
    """
    here: tma_box=("BM", 8) needs 'BM' to be a size when the kernel is traced
        X.tma_desc()
      help: the sizes of a box are ints; a run-time dimension has no size then
    """,
)
def a_box_of_a_keyword_that_is_no_number():
    @kernel(in_specs=(Tile("M", "K", u32, tma_box=("BM", 8)),), out_specs=(), block=32)
    def copy(X, *, BM="many"):
        X.tma_desc()

    copy.ptx(M=8, K=8)


@wrong(
    SpecError,
    """
    here: tma_box=8 is not a tuple with a size for each axis
        Tile("K", u32, tma_box=8)
    """,
)
def a_box_that_is_a_number():
    Tile("K", u32, tma_box=8)


@wrong(
    SpecError,
    """
    here: the Tile has two layouts, Layout.TMA_64B and Layout.ROW
        Tile("K", u32, Layout.TMA_64B, layout=Layout.ROW)
    """,
)
def two_layouts():
    Tile("K", u32, Layout.TMA_64B, layout=Layout.ROW)


@wrong(
    SpecError,
    """
    here: the dimension "K" has no size yet, so a box needs tile_k=
        Tile.wgmma_a("M", "K", bf16, tile_m=64)
      help: tile_k=64
    """,
)
def a_factor_of_no_size():
    Tile.wgmma_a("M", "K", bf16, tile_m=64)


@wrong(
    SpecError,
    """
    here: 20 elements of bf16 are 40 bytes, no multiple of 16
        Tile.wgmma_b(64, 20, bf16)
      help: tile_n=64
    """,
)
def a_factor_of_an_odd_length():
    Tile.wgmma_b(64, 20, bf16)


# ---- bodies --------------------------------------------------------------------------------------


@wrong(
    SpecError,
    """
    here: Tile("M", "K", f32) says no box, which a tensor map needs
        Y.tma_desc()
      help: Tile(..., tma_box=(16, 16))
    """,
)
def no_box():
    @trace(Tile("M", "K", f32), Tile("M", "K", f32), M=8, K=8)
    def body(X, Y):
        Y.tma_desc()


@wrong(
    SpecError,
    """
    here: Y cannot have a tensor map: the stride of axis 0 is 24 bytes; it must be a multiple of 16 below 2**40
        Y.tma_desc((8, 8))
      help: pad the rows of the array
    """,
)
def rows_of_an_odd_length():
    @trace(Tile("M", "K", f32), Tile("M", "K", f32), M=8, K=6)
    def body(X, Y):
        Y.tma_desc((8, 8))


@wrong(
    SpecError,
    """
    here: tma_box=("M", 8) needs 'M' to be a size when the kernel is traced
        Y.tma_desc()
      help: the sizes of a box are ints; a run-time dimension has no size then
    """,
)
def a_box_of_a_run_time_dimension():
    tile = Tile("M", "K", f32, tma_box=("M", 8))

    @trace(Tile("M", "K", f32), tile, parallel=("M",), K=8)
    def body(X, Y):
        Y.tma_desc()


@wrong(
    SpecError,
    """
    here: the box has 300 elements along axis 0; the range is 1 to 256
        Y.tma_desc()
      help: copy a larger piece of the tensor as several boxes
    """,
)
def a_dimension_that_is_too_large_for_a_box():
    @trace(Tile("M", "K", f32), Tile("M", "K", f32, tma_box=("M", 8)), M=300, K=8)
    def body(X, Y):
        Y.tma_desc()


@wrong(
    LanguageError,
    """
    here: X has no Tile, and a tensor map needs the sizes of its tensor
        X.tma_desc((8, 8))
      help: @kernel(in_specs=(Tile(...),), ...)
    """,
)
def a_kernel_without_specs():
    @kernel
    def body(X):
        X.tma_desc((8, 8))

    body.ptx()


@wrong(
    LanguageError,
    """
    here: the copy is of rank 1, and its tensor map has the box (8, 8)
        ptx.cp.async_.bulk.tensor_1d.store(dst=Y.tma_desc((8, 8)), src=tile, coord=[0])
      help: write .2d, with as many coordinates
    """,
)
def a_copy_of_another_rank():
    @trace(Tile("M", "K", f32), Tile("M", "K", f32), M=8, K=8)
    def body(X, Y):
        tile = smem.alloc(f32, (8, 8), align=128)
        ptx.cp.async_.bulk.tensor_1d.store(dst=Y.tma_desc((8, 8)), src=tile, coord=[0])


@wrong(
    LanguageError,
    """
    here: ptx.cp.async_.bulk.tensor_2d takes 2 coordinates, not [0]
        ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc((8, 8)), src=tile, coord=[0])
      help: coord=[...] begins with the last axis of the tensor
    """,
)
def a_copy_with_too_few_coordinates():
    @trace(Tile("M", "K", f32), Tile("M", "K", f32), M=8, K=8)
    def body(X, Y):
        tile = smem.alloc(f32, (8, 8), align=128)
        ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc((8, 8)), src=tile, coord=[0])


@wrong(
    LanguageError,
    """
    here: a box in Layout.TMA_128B lies in shared memory that is aligned to 128 bytes; its pattern repeats every 1024 bytes and begins where addresses are multiples of 1024
        ptx.cp.async_.bulk.tensor_2d.store(dst=box, src=tile, coord=[0, 0])
      help: smem.alloc(..., align=1024)
    """,
)
def a_swizzled_box_at_an_odd_place():
    @trace(Tile("M", "K", f32), Tile("M", "K", f32, Layout.TMA_128B, tma_box=(8, 32)), M=8, K=32)
    def body(X, Y):
        tile, box = smem.alloc(f32, (8, 32), align=128), Y.tma_desc()
        ptx.cp.async_.bulk.tensor_2d.store(dst=box, src=tile, coord=[0, 0])


@wrong(
    LanguageError,
    """
    here: the first coordinate is 6, 24 bytes of f32; it must be a multiple of 4 elements, 16 bytes
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=X.tma_desc(), coord=[6, 1], mbar=bar)
      help: begin at 4, with a box that spans more
    """,
)
def a_load_that_begins_inside_of_16_bytes():
    tile_of_x = Tile("M", "K", f32, tma_box=(8, 8))

    @trace(tile_of_x, Tile("M", "K", f32), M=8, K=32)
    def body(X, Y):
        tile, bar = smem.alloc(f32, (8, 8), align=128), smem.mbarrier()
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=X.tma_desc(), coord=[6, 1], mbar=bar)


@wrong(
    LanguageError,
    """
    here: the first coordinate is -1, -2 bytes of bf16; it must be a multiple of 8 elements, 16 bytes
        ptx.cp.async_.bulk.tensor_2d.prefetch(src=Y.tma_desc((8, 8)), coord=[-1, 0])
      help: begin at -8, with a box that spans more
    """,
)
def a_prefetch_that_begins_inside_of_16_bytes():
    @trace(Tile("M", "K", bf16), Tile("M", "K", bf16), M=8, K=32)
    def body(X, Y):
        ptx.cp.async_.bulk.tensor_2d.prefetch(src=Y.tma_desc((8, 8)), coord=[-1, 0])


@wrong(
    LanguageError,
    """
    here: the first coordinate is 1, 1 bytes of u8; it must be a multiple of 16 elements, 16 bytes
        ptx.cp.async_.bulk.tensor_1d.store(dst=Y.tma_desc((16,)), src=tile, coord=[1])
      help: let threads store what lies before such a multiple
    """,
)
def a_store_that_begins_inside_of_16_bytes():
    @trace(Tile("K", u8), Tile("K", u8), K=32)
    def body(X, Y):
        tile = smem.alloc(u8, (16,), align=128)
        ptx.cp.async_.bulk.tensor_1d.store(dst=Y.tma_desc((16,)), src=tile, coord=[1])


@wrong(
    LanguageError,
    """
    here: coordinate 1 is -2; those of stores and reductions must not be negative, only loads may begin before the tensor
        ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc((8, 8)), src=tile, coord=[0, -2])
      help: begin at 0, with a smaller box
    """,
)
def a_store_that_begins_before_the_tensor():
    @trace(Tile("M", "K", f32), Tile("M", "K", f32), M=8, K=8)
    def body(X, Y):
        tile = smem.alloc(f32, (8, 8), align=128)
        ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc((8, 8)), src=tile, coord=[0, -2])


@wrong(
    LanguageError,
    """
    here: coordinate 0 is -1; those of stores and reductions must not be negative, only loads may begin before the tensor
        ptx.cp.async_.bulk.tensor_2d.reduce("add", dst=Y.tma_desc((8, 8)), src=tile, coord=[-1, 0])
      help: begin at 0, with a smaller box
    """,
)
def a_reduction_that_begins_before_the_tensor():
    @trace(Tile("M", "K", f32), Tile("M", "K", f32), M=8, K=8)
    def body(X, Y):
        tile = smem.alloc(f32, (8, 8), align=128)
        ptx.cp.async_.bulk.tensor_2d.reduce("add", dst=Y.tma_desc((8, 8)), src=tile, coord=[-1, 0])


@wrong(
    LanguageError,
    """
    here: rows are gathered and scattered with boxes of one row, not (8, 8)
        gather(tile.address(), ptx.addr(X.tma_desc(), [0, 1, 2, 3, 4]), bar)
      help: X.tma_desc((1, 8))
    """,
)
def rows_that_are_gathered_as_boxes():
    @trace(Tile(8, 8, f32, tma_box=(8, 8)), Tile(8, 8, f32), arch="sm_100a")
    def body(X, Y):
        tile, bar = smem.alloc(f32, (32, 8), align=128), smem.mbarrier()
        tensor = ptx.inst.cp.async_.bulk.tensor._2d.shared__cta.global_
        gather = tensor.tile__gather4.mbarrier__complete_tx__bytes
        gather(tile.address(), ptx.addr(X.tma_desc(), [0, 1, 2, 3, 4]), bar)


@wrong(
    LanguageError,
    """
    here: the box has 256 bytes, and the tile of shape (8, 7) 224
        ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc((8, 8)), src=tile, coord=[0, 0])
      help: smem.alloc(f32, (8, 8), align=128)
    """,
)
def a_tile_that_is_too_small():
    @trace(Tile(8, 8, f32), Tile(8, 8, f32))
    def body(X, Y):
        tile = smem.alloc(f32, (8, 7), align=128)
        ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc((8, 8)), src=tile, coord=[0, 0])


@wrong(
    LanguageError,
    """
    here: the box has 512 bytes, and the tile of shape (8, 8) 256
        ptx.cp.async_.bulk.tensor_2d(dst=tiles[stage], src=X.tma_desc(), coord=[0, 0], mbar=bar)
      help: smem.alloc(f32, (16, 8), align=128)
    """,
)
def a_stage_that_is_too_small():
    @trace(Tile(16, 8, f32, tma_box=(16, 8)), Tile(8, 8, f32))
    def body(X, Y):
        tiles, bar = smem.alloc(f32, (3, 8, 8), align=128), smem.mbarrier()
        stage = reg.scalar(u32, init=1)
        ptx.cp.async_.bulk.tensor_2d(dst=tiles[stage], src=X.tma_desc(), coord=[0, 0], mbar=bar)


@wrong(
    LanguageError,
    """
    here: the box has 256 bytes, and the shared memory from here on 128
        load(tile.address(4, 0), ptx.addr(X.tma_desc(), [0, 0]), bar)
      help: smem.alloc(f32, (8, 8), align=128)
    """,
)
def a_box_past_the_end_of_a_tile():
    @trace(Tile(8, 8, f32, tma_box=(8, 8)), Tile(8, 8, f32))
    def body(X, Y):
        tile, bar = smem.alloc(f32, (8, 8), align=128), smem.mbarrier()
        tensor = ptx.inst.cp.async_.bulk.tensor._2d.shared__cluster.global_
        load = tensor.tile.mbarrier__complete_tx__bytes
        load(tile.address(4, 0), ptx.addr(X.tma_desc(), [0, 0]), bar)


@wrong(
    LanguageError,
    """
    here: the tile lies in panels of 128 bytes (Swizzle.B128), and the box has rows of 64 bytes in Layout.TMA_64B
        ptx.cp.async_.bulk.tensor_2d.store(dst=box, src=tile, coord=[0, 0])
      help: layout=Layout.TMA_128B, and a box with 32 elements along the last axis
    """,
)
def a_tile_in_another_swizzle():
    @trace(Tile(8, 32, f32), Tile(8, 32, f32, Layout.TMA_64B, tma_box=(8, 16)))
    def body(X, Y):
        tile, box = smem.alloc(f32, (8, 32), swizzle="128B"), Y.tma_desc()
        ptx.cp.async_.bulk.tensor_2d.store(dst=box, src=tile, coord=[0, 0])


# ---- bytes that mbarriers expect -----------------------------------------------------------------

A, B = Tile(8, 64, f32, tma_box=(8, 32)), Tile(8, 64, f32, tma_box=(8, 8))


@wrong(
    LanguageError,
    """
    here: the mbarrier expects 1024 bytes, and the 2 copies bring 1280
        bar.arrive_expect_tx(a.bytes)
      help: expect 1280 bytes; X.tma_desc().bytes are those of one box
      brought: 1024 bytes at here
      brought: 256 bytes at here
    """,
)
def too_few_bytes_expected():
    @trace(A, B, Tile(8, 64, f32))
    def body(X, Y, Z):
        tiles, bar = smem.alloc(f32, (2, 8, 32), align=128), smem.mbarrier()
        a, b = X.tma_desc(), Y.tma_desc()
        bar.arrive_expect_tx(a.bytes)
        ptx.cp.async_.bulk.tensor_2d(dst=tiles[0], src=a, coord=[0, 0], mbar=bar)
        ptx.cp.async_.bulk.tensor_2d(dst=tiles[1], src=b, coord=[0, 0], mbar=bar)


@wrong(
    LanguageError,
    """
    here: the mbarrier expects 2048 bytes, and the copy brings 1024
        full.arrive_expect_tx(2 * a.bytes)
      help: expect 1024 bytes; X.tma_desc().bytes are those of one box
      brought: 1024 bytes at here
    """,
)
def too_many_bytes_expected_in_a_pipeline():
    @trace(A, B, Tile(8, 64, f32))
    def body(X, Y, Z):
        tiles, a = smem.alloc(f32, (3, 8, 32), align=128), X.tma_desc()
        ring = ptx.ring(3)
        state = ring.producer()
        for step in ptx.range_(0, 8, dtype=u32):
            full = ring.acquire(state)
            full.arrive_expect_tx(2 * a.bytes)
            at = [0, step << 3]
            ptx.cp.async_.bulk.tensor_2d(dst=tiles[state.stage], src=a, coord=at, mbar=full)
            state.advance()


@wrong(
    LanguageError,
    """
    here: the mbarrier expects 1024 bytes here, and no copy brings them
        bar.arrive_expect_tx(a.bytes)
      help: expect only what copies bring
    """,
)
def bytes_that_no_copy_brings():
    @trace(A, B, Tile(8, 64, f32))
    def body(X, Y, Z):
        tile, bar, a = smem.alloc(f32, (8, 32), align=128), smem.mbarrier(), X.tma_desc()
        bar.arrive_expect_tx(a.bytes)
        bar.wait(0)
        bar.arrive_expect_tx(a.bytes)
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=a, coord=[0, 0], mbar=bar)


@wrong(
    LanguageError,
    """
    here: the copy brings 1024 bytes to an mbarrier that does not expect them here
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=a, coord=[0, 0], mbar=bar)
      help: expect 1024 bytes; X.tma_desc().bytes are those of one box
    """,
)
def a_copy_that_is_not_expected():
    @trace(A, B, Tile(8, 64, f32))
    def body(X, Y, Z):
        tile, bar, a = smem.alloc(f32, (8, 32), align=128), smem.mbarrier(), X.tma_desc()
        bar.arrive_expect_tx(a.bytes)
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=a, coord=[0, 0], mbar=bar)
        bar.wait(0)
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=a, coord=[0, 0], mbar=bar)


@wrong(
    LanguageError,
    """
    here: the mbarrier expects 1024 bytes, and the copy brings 2048
        bar.arrive_expect_tx(a.bytes)
      help: expect 2048 bytes; X.tma_desc().bytes are those of one box
      brought: 2048 bytes at here
    """,
)
def a_multicast_brings_its_bytes_to_each_cta():
    @trace(A, B, Tile(8, 64, f32), cluster=(2, 1, 1))
    def body(X, Y, Z):
        tile, bar, a = smem.alloc(f32, (8, 32), align=128), smem.mbarrier(), X.tma_desc()
        bar.arrive_expect_tx(a.bytes)
        copy = ptx.cp.async_.bulk.tensor_2d
        copy(dst=tile, src=a, coord=[0, 0], mbar=bar, multicast_mask=3)


@wrong(
    LanguageError,
    """
    here: the mbarrier expects 512 bytes, and the copy brings 256
        bar.arrive_expect_tx(512, pred=one)
      help: expect 256 bytes; X.tma_desc().bytes are those of one box
      brought: 256 bytes at here
    """,
)
def a_bulk_copy_of_fewer_bytes():
    @trace(A, B, Tile(8, 64, f32))
    def body(X, Y, Z):
        tile, bar = smem.alloc(f32, (2, 64), align=128), smem.mbarrier()
        (x,) = ptx.global_ptrs(X)
        one = reg.from_(ptx.special.tid.x(), u32) == 0
        bar.arrive_expect_tx(512, pred=one)
        ptx.cp.async_.bulk.load(tile, ptx.addr(x), 256, bar, pred=one)


# ---- maps that are changed -----------------------------------------------------------------------


@wrong(
    LanguageError,
    """
    here: ptx.tensormap.copy takes a tensor map in shared memory, not 3
        ptx.tensormap.copy(3, X.tma_desc())
      help: smem.alloc(u32, 32, align=128)
    """,
)
def a_map_that_is_copied_nowhere():
    @trace(A, Tile(8, 64, f32))
    def body(X, Y):
        ptx.tensormap.copy(3, X.tma_desc())


@wrong(
    LanguageError,
    """
    here: rank=6; tensor maps have rank 1 to 5
        ptx.tensormap.replace(mine, rank=6)
    """,
)
def a_map_of_six_axes():
    @trace(A, Tile(8, 64, f32))
    def body(X, Y):
        mine = smem.alloc(u32, 32, align=128)
        ptx.tensormap.replace(mine, rank=6)


@wrong(
    LanguageError,
    """
    here: global_stride= has 5 values, and there are 1 to 4
        ptx.tensormap.replace(mine, global_stride=(None, None, None, None, 16))
      help: one for each axis, None for what stays as it is
    """,
)
def too_many_strides():
    @trace(A, Tile(8, 64, f32))
    def body(X, Y):
        mine = smem.alloc(u32, 32, align=128)
        ptx.tensormap.replace(mine, global_stride=(None, None, None, None, 16))


@wrong(
    LanguageError,
    """
    here: tensor maps have no elements of type b8
        ptx.tensormap.replace(mine, elemtype=b8)
      legal: u8 s8 e4m3 e5m2 u16 s16 u32 s32 u64 s64 f16 f32 f64 bf16
    """,
)
def elements_of_no_type():
    @trace(A, Tile(8, 64, f32))
    def body(X, Y):
        mine = smem.alloc(u32, 32, align=128)
        ptx.tensormap.replace(mine, elemtype=b8)


@wrong(
    IsaError,
    """
    here: tensormap.replace.tile.rank.shared::cta.b1024.b32: addr needs 128-byte alignment, and the shared memory has 64
        ptx.tensormap.replace(mine, rank=2)
      help: smem.alloc(..., align=128)
      form: tensormap.replace.tile.rank.shared::cta.b1024.b32  [addr], new_val
    """,
)
def a_map_at_an_odd_place():
    @trace(A, Tile(8, 64, f32))
    def body(X, Y):
        mine = smem.alloc(u32, 32, align=64)
        ptx.tensormap.replace(mine, rank=2)


@wrong(
    LanguageError,
    """
    here: 'warp' is no scope
        ptx.fence.proxy_tensormap_release("warp")
      legal: "cta" "cluster" "gpu" "sys"
    """,
)
def a_release_of_no_scope():
    @trace(A, Tile(8, 64, f32))
    def body(X, Y):
        ptx.fence.proxy_tensormap_release("warp")


# ---- layouts of sm_100, and images ---------------------------------------------------------------

FLIPPED = Tile(8, 32, f32, Layout.TMA_128B_ATOM_32B_FLIP_8B, tma_box=(8, 32))


@wrong(
    LanguageError,
    """
    here: sm_90a has no Layout.TMA_128B_ATOM_32B_FLIP_8B: its swizzles move 16 bytes
        ptx.cp.async_.bulk.tensor_2d.prefetch(src=X.tma_desc(), coord=[0, 0])
      first in: sm_100
    """,
)
def wider_atoms_on_hopper():
    @trace(FLIPPED, Tile(8, 32, f32))
    def body(X, Y):
        ptx.cp.async_.bulk.tensor_2d.prefetch(src=X.tma_desc(), coord=[0, 0])


@wrong(
    LanguageError,
    """
    here: Layout.TMA_128B_ATOM_32B_FLIP_8B is for loads alone
        ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc(), src=tile, coord=[0, 0])
      help: layout=Layout.TMA_128B_ATOM_32B
    """,
)
def a_store_that_flips():
    @trace(Tile(8, 32, f32), FLIPPED, arch="sm_100a")
    def body(X, Y):
        tile = smem.alloc(f32, (8, 32), align=1024)
        ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc(), src=tile, coord=[0, 0])


@wrong(
    SpecError,
    """
    here: split=6 makes groups of 12 bytes; they must be a positive multiple of 16
        X.tma_desc((8, 1, 32), split=6)
      help: a multiple of 8 elements of bf16
    """,
)
def groups_that_are_no_multiple_of_16_bytes():
    @trace(Tile(8, 64, bf16), Tile(8, f32))
    def body(X, Y):
        X.tma_desc((8, 1, 32), split=6)


@wrong(
    SpecError,
    """
    here: box=(8, 32) has 2 sizes, and the map of a tensor of rank 2 whose last axis is split has rank 3
        X.tma_desc((8, 32), split=48)
      help: the axis before the last one is that of the groups: 1 for one of them
    """,
)
def a_box_without_the_axis_of_groups():
    @trace(Tile(8, 64, bf16), Tile(8, f32))
    def body(X, Y):
        X.tma_desc((8, 32), split=48)


@wrong(
    SpecError,
    """
    here: split= needs box=, and the map of a tensor of rank 2 whose last axis is split has rank 3
        X.tma_desc(split=48)
      help: the axis before the last one is that of the groups: 1 for one of them
    """,
)
def groups_without_a_box():
    @trace(Tile(8, 64, bf16, tma_box=(8, 32)), Tile(8, f32))
    def body(X, Y):
        X.tma_desc(split=48)


@wrong(
    SpecError,
    """
    here: split= is for boxes, not for im2col
        X.tma_desc(im2col=Im2col((0, 0), (0, 0), 32, 64), split=32)
      help: leave out one of them
    """,
)
def images_that_are_split():
    @trace(Tile(2, 8, 8, 32, f32), Tile(8, f32))
    def body(X, Y):
        X.tma_desc(im2col=Im2col((0, 0), (0, 0), 32, 64), split=32)


@wrong(
    LanguageError,
    """
    here: the copy is of rank 2, and its tensor map has the box (8, 1, 64)
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=x, coord=[0, 0], mbar=bar)
      help: write .3d, with as many coordinates
    """,
)
def a_copy_of_a_split_map_without_the_group():
    @trace(Tile(8, 64, bf16), Tile(8, f32))
    def body(X, Y):
        tile, bar = smem.alloc(bf16, (8, 64), align=128), smem.mbarrier()
        x = X.tma_desc((8, 1, 64), split=48)
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=x, coord=[0, 0], mbar=bar)


@wrong(
    SpecError,
    """
    here: lower=(-129, 0) has an offset of -129; the range for rank 4 is -128 to 127
        Tile(2, 8, 8, 32, f32, tma_im2col=Im2col((-129, 0), (0, 0), 32, 64))
    """,
)
def a_corner_that_is_too_far_away():
    Tile(2, 8, 8, 32, f32, tma_im2col=Im2col((-129, 0), (0, 0), 32, 64))


@wrong(
    SpecError,
    """
    here: upper=(0,) has 1 offsets, and there are 2 axes between images and channels
        Tile(2, 8, 8, 32, f32, tma_im2col=Im2col((0, 0), (0,), 32, 64))
    """,
)
def a_corner_of_too_few_axes():
    Tile(2, 8, 8, 32, f32, tma_im2col=Im2col((0, 0), (0,), 32, 64))


@wrong(
    SpecError,
    """
    here: the tensor has rank 2; im2col is for rank 3 to 5
        Tile(8, 32, f32, tma_im2col=Im2col((), (), 32, 64))
    """,
)
def images_without_an_axis():
    Tile(8, 32, f32, tma_im2col=Im2col((), (), 32, 64))


@wrong(
    SpecError,
    """
    here: pixels=1025; the range is 1 to 1024
        Tile(2, 8, 8, 32, f32, tma_im2col=Im2col((0, 0), (0, 0), 32, 1025))
    """,
)
def too_many_pixels():
    Tile(2, 8, 8, 32, f32, tma_im2col=Im2col((0, 0), (0, 0), 32, 1025))


@wrong(
    SpecError,
    """
    here: a Tile has tma_box= or tma_im2col=, not both
        Tile(2, 8, 32, f32, tma_box=(1, 8, 32), tma_im2col=Im2col((0,), (0,), 32, 64))
    """,
)
def a_box_of_pixels():
    Tile(2, 8, 32, f32, tma_box=(1, 8, 32), tma_im2col=Im2col((0,), (0,), 32, 64))


@wrong(
    SpecError,
    """
    here: X cannot have a tensor map: the bounding box is empty along axis 1: it goes from 3 to 2
        X.tma_desc(im2col=Im2col((3,), (-1,), 32, 64))
    """,
)
def an_empty_bounding_box():
    @trace(Tile(2, 4, 32, f32), Tile(8, 32, f32))
    def body(X, Y):
        X.tma_desc(im2col=Im2col((3,), (-1,), 32, 64))


IMAGES = Tile(2, 8, 8, 32, f32, tma_im2col=Im2col((-1, 0), (-1, 0), 32, 8))


@wrong(
    LanguageError,
    """
    here: the copy is of boxes, and its tensor map of im2col
        load(dst=tile, src=X.tma_desc(), coord=[0, 0, 0, 0], mbar=bar)
      help: offsets=[...] for loads of a map of im2col, and for no other
    """,
)
def pixels_without_offsets():
    @trace(IMAGES, Tile(8, 32, f32))
    def body(X, Y):
        tile, bar = smem.alloc(f32, (8, 32), align=128), smem.mbarrier()
        load = ptx.cp.async_.bulk.tensor_4d
        load(dst=tile, src=X.tma_desc(), coord=[0, 0, 0, 0], mbar=bar)


@wrong(
    LanguageError,
    """
    here: ptx.cp.async_.bulk.tensor_4d takes 2 offsets, not [1]
        load(dst=tile, src=X.tma_desc(), coord=[0, 0, 0, 0], offsets=[1], mbar=bar)
      help: offsets=[...] are those of W, H and D, of rank 3 to 5
    """,
)
def pixels_with_too_few_offsets():
    @trace(IMAGES, Tile(8, 32, f32))
    def body(X, Y):
        tile, bar = smem.alloc(f32, (8, 32), align=128), smem.mbarrier()
        load = ptx.cp.async_.bulk.tensor_4d
        load(dst=tile, src=X.tma_desc(), coord=[0, 0, 0, 0], offsets=[1], mbar=bar)


@wrong(
    LanguageError,
    """
    here: the bounding box of a store lies in the image, and lower=(-1, 0), upper=(-1, 0) reach beyond it
        store(dst=Y.tma_desc(), src=tile, coord=[0, 0, 0, 0])
      legal: lower of 0 or more, upper of 0 or less
    """,
)
def a_store_to_padding():
    @trace(Tile(8, 32, f32), IMAGES)
    def body(X, Y):
        tile = smem.alloc(f32, (8, 32), align=128)
        store = ptx.cp.async_.bulk.tensor_4d.store
        store(dst=Y.tma_desc(), src=tile, coord=[0, 0, 0, 0])


# ---- calls ---------------------------------------------------------------------------------------


def _call(shape, *, parallel):
    @kernel(
        in_specs=(Tile("M", "K", u8, tma_box=(8, 16)),), out_specs=(Tile("M", "K", u8),),
        parallel=parallel, block=(32, 1, 1),
    )  # fmt: skip
    def body(X, Y):
        X.tma_desc()

    return body(np.zeros(shape, np.uint8))  # here


@wrong(
    SpecError,
    """
    here: the tensor map of X: the stride of axis 0 is 20 bytes; it must be a multiple of 16 below 2**40
        return body(np.zeros(shape, np.uint8))  # here
      help: pad the rows of the array
    """,
)
def a_run_time_size_that_breaks_a_rule():
    _call((4, 20), parallel=("M", "K"))


@wrong(
    SpecError,
    """
    here: the tensor map of X: axis 0 has size 0; the range is 1 to 2**32
        return body(np.zeros(shape, np.uint8))  # here
    """,
)
def an_empty_tensor():
    _call((0, 16), parallel=("M",))


@wrong.parametrize()
def test_the_whole_message(wrong):
    wrong.check(wrong.program)


def test_a_load_may_begin_before_the_tensor():
    @trace(Tile("M", "K", f32, tma_box=(8, 8)), Tile("M", "K", f32), M=8, K=32)
    def written(X, Y):
        tile, bar = smem.alloc(f32, (8, 8), align=128), smem.mbarrier()
        ptx.cp.async_.bulk.tensor_2d(dst=tile, src=X.tma_desc(), coord=[-4, -3], mbar=bar)

    assert ", {-4, -3}]" in written


def test_a_prefetch_with_a_cache_policy_may_begin_before_the_tensor():
    @trace(Tile("M", "K", f32), Tile("M", "K", f32), M=8, K=8)
    def written(X, Y):
        policy = reg.scalar(u64, init=0)
        prefetch = ptx.inst.cp.async_.bulk.prefetch.tensor._2d.L2.global_.tile.L2__cache_hint
        prefetch(ptx.addr(X.tma_desc((8, 8)), [-4, -3]), policy)

    assert ", {-4, -3}], " in written


def test_a_store_may_lie_beyond_the_tensor():
    @trace(Tile("M", "K", f32), Tile("M", "K", f32), M=8, K=8)
    def written(X, Y):
        tile = smem.alloc(f32, (8, 8), align=128)
        ptx.cp.async_.bulk.tensor_2d.store(dst=Y.tma_desc((8, 8)), src=tile, coord=[8, 7])

    assert ", {8, 7}]" in written


def test_factors_of_wgmma_have_boxes_of_one_swizzle():
    wanted = {
        (8,): (Layout.ROW, 8), (16,): (Layout.TMA_32B, 16), (32,): (Layout.TMA_64B, 32),
        (64,): (Layout.TMA_128B, 64), (256,): (Layout.TMA_128B, 64), (96,): (Layout.TMA_64B, 32),
    }  # fmt: skip
    for (size,), (layout, columns) in wanted.items():
        a = Tile.wgmma_a("M", "K", bf16, tile_m=128, tile_k=size)
        assert a == Tile("M", "K", bf16, layout, tma_box=(128, columns))
        assert a.tensor_map({}).shape == (128, columns)
        assert Tile.wgmma_b(64, size, bf16) == Tile(64, size, bf16, layout, tma_box=(64, columns))
