"""Whole messages about tensor maps: what a Tile says, what the body asks for, what a call brings."""

# a line of a message is a line

import numpy as np

from pyptx import LanguageError, Layout, OobFill, SpecError, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u8, u32, u64

from .cases import Collection

wrong = Collection()


def trace(*specs, parallel=(), **dims):
    """Trace the body for tensors of these specs, the last of them the output."""

    def decorate(body):
        made = kernel(
            in_specs=specs[:-1] or (), out_specs=specs[-1:], block=(32, 1, 1), parallel=parallel
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
    here: tma_box=("N", 8) names "N", which is no dimension of the Tile
        Tile("M", "K", u32, tma_box=("N", 8))
      dimensions: M, K
    """,
)
def a_box_of_an_unknown_dimension():
    Tile("M", "K", u32, tma_box=("N", 8))


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
      help: the sizes of a box are ints; those of parallel= are not known
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
