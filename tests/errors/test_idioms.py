"""Wrong tiles, descriptors, products and Tensor Memory: the message names the rule."""

from pyptx import LanguageError, kernel, ptx, reg, smem
from pyptx.types import b32, bf16, e4m3, f16, f32, pred, s8, tf32, u32, u64

from .cases import Collection

wrong = Collection()


# ---- tiles ---------------------------------------------------------------------------------------


@wrong(
    LanguageError,
    """
    here: swizzle='256B' is no swizzle
        smem.alloc(bf16, (64, 64), swizzle="256B")
      legal: "none" "32B" "64B" "128B"
    """,
)
def an_unknown_swizzle():
    smem.alloc(bf16, (64, 64), swizzle="256B")


@wrong(
    LanguageError,
    """
    here: a swizzle needs rows and columns, not the shape (64,)
        smem.alloc(bf16, 64, swizzle="128B")
      help: smem.alloc(bf16, (rows, 64), swizzle="128B")
    """,
)
def a_swizzle_of_one_dimension():
    smem.alloc(bf16, 64, swizzle="128B")


@wrong(
    LanguageError,
    """
    here: rows of 96 bytes do not divide into panels of 128 bytes (Swizzle.B128)
        smem.alloc(bf16, (64, 48), swizzle="128B")
      legal: Swizzle.NONE Swizzle.B32
    """,
)
def rows_that_no_panel_divides():
    smem.alloc(bf16, (64, 48), swizzle="128B")


@wrong(
    LanguageError,
    """
    here: a matrix of 12 rows: a swizzle's atom has 8
        smem.wgmma_tile(bf16, (12, 64))
      legal: a multiple of 8
    """,
)
def rows_beside_an_atom():
    smem.wgmma_tile(bf16, (12, 64))


@wrong(
    LanguageError,
    """
    here: rows of 12 bytes do not divide into panels of 16 bytes (Swizzle.NONE)
        smem.wgmma_tile(f32, (8, 3))
      legal: rows of a multiple of 16 bytes
    """,
)
def rows_that_are_too_short():
    smem.wgmma_tile(f32, (8, 3))


@wrong(
    LanguageError,
    """
    here: major='N' is not which dimension is contiguous
        smem.wgmma_tile(bf16, (64, 64), "N")
      legal: "K" "MN"
    """,
)
def an_unknown_major():
    smem.wgmma_tile(bf16, (64, 64), "N")


@wrong(
    LanguageError,
    """
    here: align=128 is not a power of two of at least 1024 bytes
        smem.wgmma_tile(bf16, (64, 64), align=128)
      why: the swizzle's pattern repeats every 1024 bytes
    """,
)
def a_tile_that_begins_inside_a_pattern():
    smem.wgmma_tile(bf16, (64, 64), align=128)


@wrong(
    LanguageError,
    """
    here: an index of a swizzle is a 32-bit integer, not .u64
        smem.apply_swizzle(reg.scalar(u64, init=0), "32B")
      help: convert it: ptx.inst.cvt.u32.u64(r)
    """,
)
def a_swizzle_of_a_64_bit_offset():
    smem.apply_swizzle(reg.scalar(u64, init=0), "32B")


@wrong(
    LanguageError,
    """
    here: an instruction cannot begin at k=8 of 64
        smem.wgmma_tile(bf16, (64, 64)).k_offset(8)
      legal: multiples of 16 below 64
    """,
)
def half_of_an_instruction_s_k():
    smem.wgmma_tile(bf16, (64, 64)).k_offset(8)


@wrong(
    LanguageError,
    """
    here: k_offset is that of a smem.wgmma_tile
        smem.alloc(bf16, (64, 64)).k_offset(16)
    """,
)
def k_of_row_major_memory():
    smem.alloc(bf16, (64, 64)).k_offset(16)


# ---- wgmma ---------------------------------------------------------------------------------------


@wrong(
    LanguageError,
    """
    here: ptx.wgmma.descriptor needs shared memory in a canonical layout
        ptx.wgmma.descriptor(smem.alloc(bf16, (64, 64)))
      help: smem.wgmma_tile(bf16, (64, 64), major="K")
    """,
)
def a_descriptor_of_row_major_memory():
    ptx.wgmma.descriptor(smem.alloc(bf16, (64, 64)))


@wrong(
    LanguageError,
    """
    here: a tile of shape (3, 64, 64) has 3 matrices: ptx.wgmma.descriptor takes one
        ptx.wgmma.descriptor(smem.wgmma_tile(bf16, (3, 64, 64)))
      help: tile[stage]
    """,
)
def a_descriptor_of_all_stages():
    ptx.wgmma.descriptor(smem.wgmma_tile(bf16, (3, 64, 64)))


@wrong(
    LanguageError,
    """
    here: leading_byte_offset=24 does not fit a matrix descriptor
        ptx.wgmma.make_descriptor(reg.scalar(u32), leading_byte_offset=24, stride_byte_offset=128)
      legal: multiples of 16 below 262144
    """,
)
def an_offset_beside_16_bytes():
    ptx.wgmma.make_descriptor(reg.scalar(u32), leading_byte_offset=24, stride_byte_offset=128)


@wrong(
    LanguageError,
    """
    here: a matrix descriptor is of shared memory, not of 4096
        ptx.wgmma.auto_descriptor(4096, dtype=bf16, shape=(64, 64))
      help: smem.alloc(...), or its address in a 32-bit register
    """,
)
def a_descriptor_of_a_number():
    ptx.wgmma.auto_descriptor(4096, dtype=bf16, shape=(64, 64))


def multiply(**given):
    product = {"shape": (64, 64, 16), "dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16}
    ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)


@wrong(
    LanguageError,
    """
    here: no instruction begins 8 bytes into this tile
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
      legal: 0 32 64 96
      help: tile.k_offset(k), k a multiple of 16
    """,
)
def an_offset_inside_an_instruction_s_k():
    tile = smem.wgmma_tile(bf16, (64, 64))
    multiply(a=tile, b=tile, b_k_offset=8)


@wrong(
    LanguageError,
    """
    here: trans_b=0, but the tile is laid out with major='MN'
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
      help: leave trans_b= out: a tile says so itself
    """,
)
def a_transpose_that_the_tile_contradicts():
    tile = smem.wgmma_tile(bf16, (64, 64), "MN")
    multiply(a=tile, b=tile, trans_b=0)


@wrong(
    LanguageError,
    """
    here: wgmma reads .tf32 with major='K' alone
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
      legal for 'MN': .f16 .bf16
    """,
)
def an_mn_major_matrix_of_32_bits():
    tile = smem.wgmma_tile(tf32, (64, 64), "MN")
    multiply(shape=(64, 64, 8), dtype_a=tf32, dtype_b=tf32, a=tile, b=tile)


@wrong(
    LanguageError,
    """
    here: a= holds .f16, and dtype_a is .bf16
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
    """,
)
def a_tile_of_another_type():
    multiply(a=smem.wgmma_tile(f16, (64, 64)), b=smem.wgmma_tile(bf16, (64, 64)))


@wrong(
    LanguageError,
    """
    here: b= has 32 columns, and the instruction reads 64
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
    """,
)
def a_tile_that_is_too_small():
    multiply(a=smem.wgmma_tile(bf16, (64, 64)), b=smem.wgmma_tile(bf16, (32, 64)))


@wrong(
    LanguageError,
    """
    here: wgmma negates no integers
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
    """,
)
def a_negated_integer():
    tile = smem.wgmma_tile(s8, (64, 64))
    multiply(shape=(64, 64, 32), dtype_a=s8, dtype_b=s8, a=tile, b=tile, scale_b=-1)


@wrong(
    LanguageError,
    """
    here: A in registers is not transposed, and begins where it begins
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
    """,
)
def a_transpose_of_registers():
    multiply(a=reg.array(b32, 4), b=smem.wgmma_tile(bf16, (64, 64)), trans_a=1)


@wrong(
    LanguageError,
    """
    here: shape= of ptx.wgmma.mma_async is (64, n, k)
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
      help: shape=(64, 128, 16) or shape="m64n128k16"
    """,
)
def a_shape_without_k():
    tile = smem.wgmma_tile(bf16, (64, 64))
    multiply(a=tile, b=tile, shape="m64n64")


@wrong(
    LanguageError,
    """
    here: scale_d=2.0 is not whether D is added
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
      legal: True, False, a predicate
    """,
)
def a_scale_that_is_a_factor():
    tile = smem.wgmma_tile(bf16, (64, 64))
    multiply(a=tile, b=tile, scale_d=2.0)


@wrong(
    LanguageError,
    """
    here: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 reads a .f32 register that \
nothing has set
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
      help: reg.scalar(f32, init=...) sets it
    """,
)
def sums_that_nothing_has_set():
    tile = smem.wgmma_tile(bf16, (64, 64))
    multiply(a=tile, b=tile, scale_d=True)


@wrong(
    LanguageError,
    """
    here: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 reads a .f32 register that \
nothing has set
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
      help: reg.scalar(f32, init=...) sets it
    """,
)
def sums_that_are_added_if_a_register_says_so():
    tile = smem.wgmma_tile(bf16, (64, 64))
    multiply(a=tile, b=tile, scale_d=reg.from_(ptx.special.tid.x(), u32) > 200)


@wrong(
    LanguageError,
    """
    here: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 reads a .f32 register that \
nothing has set
        ptx.wgmma.mma_async(**product | {"d": reg.wgmma_frag(n=64, dtype=f32)} | given)
      help: reg.scalar(f32, init=...) sets it
    """,
)
def sums_that_are_added_if_a_constant_predicate_that_is_set_again_says_so():
    tile = smem.wgmma_tile(bf16, (64, 64))
    adds = reg.scalar(pred, init=False)
    adds.set(reg.from_(ptx.special.tid.x(), u32) > 200)
    multiply(a=tile, b=tile, scale_d=adds)


@wrong(
    LanguageError,
    """
    here: wgmma has no accumulators of 64 by 20
        reg.wgmma_frag(n=20, dtype=f32)
      legal: m a multiple of 64; n 8 to 256 in steps of 8
    """,
)
def accumulators_of_another_width():
    reg.wgmma_frag(n=20, dtype=f32)


@wrong(
    LanguageError,
    """
    here: wgmma does not accumulate in .bf16
        reg.wgmma_frag(n=64, dtype=bf16)
      legal: .f32 .s32 .f16
    """,
)
def accumulators_of_another_type():
    reg.wgmma_frag(n=64, dtype=bf16)


# ---- warps' matrices -----------------------------------------------------------------------------


@wrong(
    LanguageError,
    """
    here: no fragments of m16n16k16 with elements of 16 bits are known
        reg.mma_frag("a", shape=(16, 16, 16), dtype=f16)
      legal: m8n8 and m16n8 with k a multiple of 8
    """,
)
def fragments_of_wmma():
    reg.mma_frag("a", shape=(16, 16, 16), dtype=f16)


@wrong(
    LanguageError,
    """
    here: mma has no operand 'e'
        reg.mma_frag("e", shape=(16, 8, 16), dtype=f16)
      legal: "a" "b" "c" "d"
    """,
)
def a_fragment_of_nothing():
    reg.mma_frag("e", shape=(16, 8, 16), dtype=f16)


@wrong(
    LanguageError,
    """
    here: layout='x3' is no number of matrices
        ptx.ldmatrix(src=smem.alloc(f16, (8, 8)), layout="x3")
      legal: "x1" "x2" "x4"
    """,
)
def three_matrices():
    ptx.ldmatrix(src=smem.alloc(f16, (8, 8)), layout="x3")


@wrong(
    LanguageError,
    """
    here: ptx.mma.load_a takes shared memory with rows and columns, not 0
        ptx.mma.load_a(0)
      help: smem.alloc(f16, (rows, 64), swizzle="128B")
    """,
)
def a_matrix_at_a_number():
    ptx.mma.load_a(0)


# ---- barriers and pipelines ----------------------------------------------------------------------


@wrong(
    LanguageError,
    """
    here: a CTA has no barrier 16
        ptx.named_barrier(16)
      legal: 0 to 15
    """,
)
def a_seventeenth_barrier():
    ptx.named_barrier(16)


@wrong(
    LanguageError,
    """
    here: 100 threads are not whole warps
        ptx.named_barrier(1, count=100)
      legal: a multiple of 32
    """,
)
def a_barrier_for_part_of_a_warp():
    ptx.named_barrier(1, count=100)


@wrong(
    LanguageError,
    """
    here: an arrival says how many threads meet
        ptx.named_barrier(1).arrive()
      help: ptx.named_barrier(1, count=128).arrive()
    """,
)
def an_arrival_without_a_count():
    ptx.named_barrier(1).arrive()


@wrong(
    LanguageError,
    """
    here: a pipeline has 1 stage or more, not 0
        ptx.pipeline(0)
    """,
)
def a_pipeline_without_stages():
    ptx.pipeline(0)


# ---- tcgen05 -------------------------------------------------------------------------------------


@wrong(
    LanguageError,
    """
    here: Tensor Memory is not allocated in 100 columns
        ptx.tcgen05.alloc(smem.alloc(u32, 1), 100)
      legal: 32 64 128 256 512
    """,
    arch="sm_100a",
)
def columns_that_are_no_power_of_two():
    ptx.tcgen05.alloc(smem.alloc(u32, 1), 100)


@wrong(
    LanguageError,
    """
    here: this Tensor Memory is freed already
        ptx.tcgen05.ld(None, taddr)
      freed at: here
    """,
    arch="sm_100a",
)
def a_use_behind_dealloc():
    taddr = ptx.tcgen05.alloc(smem.alloc(u32, 1), 32).address()
    ptx.tcgen05.dealloc(taddr)
    ptx.tcgen05.ld(None, taddr)


@wrong(
    LanguageError,
    """
    here: this Tensor Memory is freed already
        ptx.tcgen05.dealloc(taddr)
      freed at: here
    """,
    arch="sm_100a",
)
def a_second_dealloc():
    taddr = ptx.tcgen05.alloc(smem.alloc(u32, 1), 32).address()
    ptx.tcgen05.dealloc(taddr)
    with ptx.if_(reg.from_(ptx.special.tid.x(), u32) == 0):
        ptx.tcgen05.dealloc(taddr)


@wrong(
    LanguageError,
    """
    here: 32 columns were allocated here, not 64
        ptx.tcgen05.dealloc(taddr, 64)
    """,
    arch="sm_100a",
)
def other_columns_are_freed():
    taddr = ptx.tcgen05.alloc(smem.alloc(u32, 1), 32).address()
    ptx.tcgen05.dealloc(taddr, 64)


@wrong(
    LanguageError,
    """
    here: Tensor Memory has no lane 128, column 0
        ptx.tcgen05.at(reg.scalar(b32, init=0), lane=128)
      legal: lanes 0 to 127, columns 0 to 511
    """,
    arch="sm_100a",
)
def a_lane_beyond_the_last():
    ptx.tcgen05.at(reg.scalar(b32, init=0), lane=128)


@wrong(
    LanguageError,
    """
    here: tcgen05 reads values of 32 bits with major='MN' only in a swizzle with atoms of 32 bytes
        ptx.tcgen05.descriptor(smem.wgmma_tile(tf32, (64, 64), "MN"))
      help: major='K', or values of 8 or 16 bits
    """,
    arch="sm_100a",
)
def an_mn_major_tf32():
    ptx.tcgen05.descriptor(smem.wgmma_tile(tf32, (64, 64), "MN"))


@wrong(
    LanguageError,
    """
    here: kind::mxf4 has no a=e4m3
        ptx.tcgen05.instruction_descriptor("mxf4", m=128, n=64, a=e4m3, b=e4m3)
      legal: .e2m1
    """,
    arch="sm_100a",
)
def a_kind_of_another_type():
    ptx.tcgen05.instruction_descriptor("mxf4", m=128, n=64, a=e4m3, b=e4m3)


@wrong(
    LanguageError,
    """
    here: kind::f16 with cta_group::2 has no M=64
        ptx.tcgen05.instruction_descriptor("f16", m=64, n=64, a=f16, b=f16, cta_group=2)
      legal: 128 256
    """,
    arch="sm_100a",
)
def a_shape_that_two_ctas_lack():
    ptx.tcgen05.instruction_descriptor("f16", m=64, n=64, a=f16, b=f16, cta_group=2)


@wrong(
    LanguageError,
    """
    here: shape='8x8b' is no shape of Tensor Memory's loads and stores
        ptx.tcgen05.ld(None, reg.scalar(b32, init=0), shape="8x8b")
      legal: "32x32b" "16x64b" "16x32bx2" "16x128b" "16x256b"
    """,
    arch="sm_100a",
)
def an_unknown_shape_of_a_load():
    ptx.tcgen05.ld(None, reg.scalar(b32, init=0), shape="8x8b")


@wrong.parametrize()
def test_the_whole_message(wrong):
    options = {"in_specs": (), "out_specs": (), "arch": "sm_90a"} | wrong.options

    wrong.check(lambda: kernel(**options)(wrong.program).ptx())


def test_memory_that_another_branch_frees_may_be_used():
    """The warp that frees waits for the others, which stand behind it in the text."""

    @kernel(in_specs=(), out_specs=(), arch="sm_100a")
    def roles():
        slot = smem.alloc(u32, 1)
        warp = reg.from_(ptx.special.tid.x(), u32) >> 5
        with ptx.if_(warp == 0):
            memory = ptx.tcgen05.alloc(slot, 32)
        ptx.bar.sync()
        taddr = memory.address()
        with ptx.if_(warp == 0):
            ptx.bar.sync(1)
            ptx.tcgen05.dealloc(taddr)
        with ptx.else_():
            ptx.tcgen05.ld(None, taddr)
            ptx.bar.sync(1)

    assert roles.ptx().count("tcgen05") == 3
