"""Accesses of a tensor in a type that is not its Tile's, and descriptors that are not of their data."""

from pyptx import LanguageError, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, s8, s32, u32

from .cases import Collection

wrong = Collection()
SPECS = {
    "in_specs": (Tile(64, f32), Tile(64, bf16), Tile(64, s8)),
    "out_specs": (Tile(64, f32),),
    "block": 128,
    "arch": "sm_100a",
}


def thread():
    return reg.from_(ptx.special.tid.x(), u32)


@wrong(
    LanguageError,
    """
    here: ld.global.f64 of X, whose Tile holds .f32
        ptx.inst.ld.global_.f64(ptx.addr(x))
      legal: .f32, and .b64 for bits
      help: X[i] loads in the type of the Tile
    """,
)
def a_load_of_the_wrong_width(X, H, C, Y):
    (x,) = ptx.global_ptrs(X)
    ptx.inst.ld.global_.f64(ptx.addr(x))


@wrong(
    LanguageError,
    """
    here: ld.global.s32 of X, whose Tile holds .f32
        ptx.inst.ld.global_.s32(ptx.addr(x + thread() * 4, 16))
      legal: .f32, and .b32 for bits
      help: X[i] loads in the type of the Tile
    """,
)
def a_load_of_integers_from_floats(X, H, C, Y):
    (x,) = ptx.global_ptrs(X)
    ptx.inst.ld.global_.s32(ptx.addr(x + thread() * 4, 16))


@wrong(
    LanguageError,
    """
    here: ld.global.v2.f32 of H, whose Tile holds .bf16
        ptx.inst.ld.global_.v2.f32(ptx.addr(address))
      legal: .b16, and .b32 for bits
      help: H[i] loads in the type of the Tile
    """,
)
def a_load_of_floats_from_narrow_floats(X, H, C, Y):
    (h,) = ptx.global_ptrs(H)
    address = h + 0
    for _ in ptx.range_(4):
        ptx.inst.ld.global_.v2.f32(ptx.addr(address))
        address += 8


@wrong(
    LanguageError,
    """
    here: ld.global.u8 of C, whose Tile holds .s8
        ptx.inst.ld.global_.u8(reg.scalar(u32), ptx.addr(c))
      legal: .s8, and .b8 for bits
      help: C[i] loads in the type of the Tile
    """,
)
def a_load_that_extends_without_the_sign(X, H, C, Y):
    (c,) = ptx.global_ptrs(C)
    ptx.inst.ld.global_.u8(reg.scalar(u32), ptx.addr(c))


@wrong(
    LanguageError,
    """
    here: st.global.s32 of Y, whose Tile holds .f32
        ptx.inst.st.global_.s32(ptx.addr(y), reg.scalar(s32, init=1))
      legal: .f32, and .b32 for bits
      help: Y[i] = v stores in the type of the Tile
    """,
)
def a_store_of_another_type(X, H, C, Y):
    (y,) = ptx.global_ptrs(Y)
    ptx.inst.st.global_.s32(ptx.addr(y), reg.scalar(s32, init=1))


@wrong(
    LanguageError,
    """
    here: red.global.add.u32 of Y, whose Tile holds .f32
        ptx.inst.red.global_.add.u32(Y.address(thread()), 1)
      legal: .f32
    """,
)
def an_atomic_of_another_type(X, H, C, Y):
    ptx.inst.red.global_.add.u32(Y.address(thread()), 1)


@wrong(
    LanguageError,
    """
    here: this shared memory is laid out with swizzle 128B, and the descriptor says 64B
        ptx.tcgen05.descriptor(tile, stride_bytes=512, swizzle="64B")
      help: swizzle="128B"
    """,
)
def a_swizzle_that_is_not_the_datas(X, H, C, Y):
    tile = smem.alloc(bf16, (64, 64), swizzle="128B")
    ptx.tcgen05.descriptor(tile, stride_bytes=512, swizzle="64B")


@wrong(
    LanguageError,
    """
    here: this shared memory begins at a multiple of 16 bytes, and the pattern of swizzle 128B repeats every 1024
        ptx.tcgen05.descriptor(tile, stride_bytes=1024, swizzle="128B")
      help: smem.alloc(..., swizzle="128B"), or align=1024
    """,
)
def data_that_need_not_begin_at_the_pattern(X, H, C, Y):
    tile = smem.alloc(bf16, (64, 64))
    ptx.tcgen05.descriptor(tile, stride_bytes=1024, swizzle="128B")


@wrong(
    LanguageError,
    """
    here: this matrix begins 256 bytes into the pattern of swizzle 128B, and its base offset is 0
        ptx.tcgen05.descriptor(tile, stride_bytes=1024, byte_offset=256)
      legal: a multiple of 1024 bytes, or base_offset=2
    """,
)
def a_beginning_inside_of_the_pattern(X, H, C, Y):
    tile = smem.alloc(bf16, (64, 64), align=1024)
    ptx.tcgen05.descriptor(tile, stride_bytes=1024, byte_offset=256)


@wrong(
    LanguageError,
    """
    here: this shared memory begins at a multiple of 128 bytes, and the pattern of swizzle 64B repeats every 512
        ptx.wgmma.make_descriptor(tile, leading_byte_offset=16, stride_byte_offset=512, swizzle="64B")
      help: smem.alloc(..., swizzle="64B"), or align=512
    """,
)
def a_descriptor_of_wgmma_from_its_fields(X, H, C, Y):
    tile = smem.alloc(bf16, (64, 32), align=128)
    ptx.wgmma.make_descriptor(tile, leading_byte_offset=16, stride_byte_offset=512, swizzle="64B")


@wrong(
    LanguageError,
    """
    here: this shared memory begins at a multiple of 256 bytes, and the pattern of swizzle 128B repeats every 1024
        ptx.wgmma.auto_descriptor(tile, dtype=bf16, shape=(64, 64))
      help: smem.alloc(..., swizzle="128B"), or align=1024
    """,
)
def a_descriptor_of_wgmma_for_a_shape(X, H, C, Y):
    tile = smem.alloc(bf16, (64, 64), align=256)
    ptx.wgmma.auto_descriptor(tile, dtype=bf16, shape=(64, 64))


@wrong.parametrize()
def test_the_whole_message(wrong):
    wrong.check(lambda: kernel(**SPECS)(wrong.program).ptx())
