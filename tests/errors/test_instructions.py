"""Wrong instructions: the message says what is legal and how to write it."""

import numpy as np

from pyptx import IsaError, LanguageError, kernel, ptx, reg, smem
from pyptx.types import b32, f16, f32, pred, s32, u16, u32, u64

from .cases import Collection

wrong = Collection()


@wrong(
    IsaError,
    """
    here: PTX has no instruction 'ad'
        ptx.inst.ad.u32(x, x, 1)
      nearest: sad mad and
    """,
)
def unknown_opcode():
    x = reg.scalar(u32, init=0)
    ptx.inst.ad.u32(x, x, 1)


@wrong(
    IsaError,
    """
    here: PTX has no instruction 'quux'
        ptx.inst.quux()
      opcodes: abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call clmad clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fabric fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct spcompress spdecompress sqrt st stackrestore stacksave stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor
    """,
)
def unknown_opcode_far_from_all():
    ptx.inst.quux()


@wrong(
    IsaError,
    """
    here: fma.rm has no modifier .f23 here
        ptx.inst.fma.rm.f23(x, x, x, x)
      legal here: .f32 .f32x2 .f64 .ftz .sat
      nearest: .f32
    """,
)
def unknown_modifier():
    x = reg.scalar(f32, init=0.0)
    ptx.inst.fma.rm.f23(x, x, x, x)


@wrong(
    IsaError,
    """
    here: ld.global has no modifier .v3 here
        ptx.inst.ld.global_.v3.f32(ptx.addr(reg.from_(0, u64)))
      legal here: .L1::evict_first .L1::evict_last .L1::evict_normal .L1::evict_unchanged .L1::no_allocate .L2::128B .L2::256B .L2::64B .L2::cache_hint .L2::evict_first .L2::evict_last .L2::evict_normal .b128 .b16 .b32 .b64 .b8 .ca .cg .cs .cv .f32 .f64 .lu .nc .s16 .s32 .s64 .s8 .u16 .u32 .u64 .u8 .v2 .v4 .v8
    """,
)
def unknown_modifier_of_a_type_that_does_not_exist():
    ptx.inst.ld.global_.v3.f32(ptx.addr(reg.from_(0, u64)))


@wrong(
    IsaError,
    """
    here: the modifiers of fma.f32.rn are out of order
        ptx.inst.fma.f32.rn(x, x, x, x)
      write: ptx.inst.fma.rn.f32
    """,
)
def modifiers_out_of_order():
    x = reg.scalar(f32, init=0.0)
    ptx.inst.fma.f32.rn(x, x, x, x)


@wrong(
    IsaError,
    """
    here: the modifiers of ld.v4.global.f32 are out of order
        ptx.inst.ld.v4.global_.f32(ptx.addr(reg.from_(0, u64)))
      write: ptx.inst.ld.global_.v4.f32
    """,
)
def modifiers_of_a_load_out_of_order():
    ptx.inst.ld.v4.global_.f32(ptx.addr(reg.from_(0, u64)))


@wrong(
    IsaError,
    """
    here: fma.f32 needs .rnd
        ptx.inst.fma.f32(x, x, x, x)
      legal for .rnd: .rn .rz .rm .rp
      form: fma.rnd{.ftz}{.sat}.f32  d, a, b, c
    """,
)
def a_required_modifier_is_missing():
    x = reg.scalar(f32, init=0.0)
    ptx.inst.fma.f32(x, x, x, x)


@wrong(
    IsaError,
    """
    here: add is not complete
        ptx.inst.add(x, x, x)
      legal here: .bf16 .bf16x2 .cc .e4m3x4 .e5m2x4 .f16 .f16x2 .f32 .f32x2 .f64 .ftz .rm .rn .rp .rz .s16 .s16x2 .s32 .s64 .s8x4 .sat .satfinite .u16 .u16x2 .u32 .u64 .u8x4
    """,
)
def the_type_is_missing():
    x = reg.scalar(u32, init=0)
    ptx.inst.add(x, x, x)


@wrong(
    IsaError,
    """
    here: div has no modifier .b32 here
        ptx.inst.div.b32(x, x, x)
      legal here: .approx .full .rm .rn .rp .rz .s16 .s32 .s64 .u16 .u32 .u64
      nearest: .u32
    """,
)
def a_type_that_the_instruction_does_not_have():
    x = reg.scalar(u32, init=0)
    ptx.inst.div.b32(x, x, x)


@wrong(
    IsaError,
    """
    here: min.relu has no modifier .u32 here
        ptx.inst.min.relu.u32(x, x, x)
      legal here: .s16x2 .s32 .s8x4
      nearest: .s32
    """,
)
def modifiers_that_exclude_each_other():
    x = reg.scalar(s32, init=0)
    ptx.inst.min.relu.u32(x, x, x)


@wrong(
    IsaError,
    """
    here: add.u32: takes 3 operands (2 without the destination), not 1
        ptx.inst.add.u32(x)
      form: add.u32  d, a, b
    """,
)
def too_few_operands():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x)


@wrong(
    IsaError,
    """
    here: add.u32: takes 3 operands (2 without the destination), not 4
        ptx.inst.add.u32(x, x, x, x)
      form: add.u32  d, a, b
    """,
)
def too_many_operands():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, x, x)


@wrong(
    IsaError,
    """
    here: fma.rn.f32: takes 4 operands (3 without the destination), not 0
        ptx.inst.fma.rn.f32()
      form: fma.rn.f32  d, a, b, c
    """,
)
def no_operands():
    ptx.inst.fma.rn.f32()


@wrong(
    IsaError,
    """
    here: bar.sync: takes 1 or 2 operands, not 3
        ptx.inst.bar.sync(0, 32, 64)
      form: bar.sync  a, {b}
    """,
)
def an_operand_that_a_barrier_does_not_take():
    ptx.inst.bar.sync(0, 32, 64)


@wrong(
    IsaError,
    """
    here: add.u32: b must be a .u32 register, not a .f32 one
        ptx.inst.add.u32(x, x, y)
      help: convert it: ptx.inst.cvt.rzi.u32.f32(r)
      form: add.u32  d, a, b
    """,
)
def a_register_of_another_type():
    x, y = reg.scalar(u32, init=0), reg.scalar(f32, init=0.0)
    ptx.inst.add.u32(x, x, y)


@wrong(
    IsaError,
    """
    here: add.u32: b must be a .u32 register, not a .u64 one
        ptx.inst.add.u32(x, x, y)
      help: convert it: ptx.inst.cvt.u32.u64(r)
      form: add.u32  d, a, b
    """,
)
def a_register_of_another_width():
    x, y = reg.scalar(u32, init=0), reg.scalar(u64, init=0)
    ptx.inst.add.u32(x, x, y)


@wrong(
    IsaError,
    """
    here: mul.wide.u32: d must be a .u64 register, not a .u32 one
        ptx.inst.mul.wide.u32(x, x, x)
      help: leave the destination out to get a new register of the right type
      form: mul.wide.u32  d, a, b
    """,
)
def a_destination_of_another_width():
    x = reg.scalar(u32, init=0)
    ptx.inst.mul.wide.u32(x, x, x)


@wrong(
    IsaError,
    """
    here: add.u32: b: 1.5 is not an integer, and .u32 is a type of integers
        ptx.inst.add.u32(x, x, 1.5)
      form: add.u32  d, a, b
    """,
)
def a_float_where_an_integer_belongs():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, 1.5)


@wrong(
    IsaError,
    """
    here: add.u32: b: 4294967296 is out of range for .u32 (0 to 4294967295)
        ptx.inst.add.u32(x, x, 2**32)
      form: add.u32  d, a, b
    """,
)
def a_constant_that_is_out_of_range():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, 2**32)


@wrong(
    IsaError,
    """
    here: add.u16: b: -1 is out of range for .u16 (0 to 65535)
        ptx.inst.add.u16(x, x, -1)
      form: add.u16  d, a, b
    """,
)
def a_negative_constant_in_an_unsigned_type():
    x = reg.scalar(u16, init=0)
    ptx.inst.add.u16(x, x, -1)


@wrong(
    IsaError,
    """
    here: add.f32: b: 1e+39 is out of range for .f32 (largest finite 3.4028235e+38)
        ptx.inst.add.f32(x, x, 1e39)
      form: add.f32  d, a, b
    """,
)
def a_float_constant_beyond_the_type():
    x = reg.scalar(f32, init=0.0)
    ptx.inst.add.f32(x, x, 1e39)


@wrong(
    IsaError,
    """
    here: add.f16: b must be a .f16 register, not the constant 1.0
        ptx.inst.add.f16(x, x, 1.0)
      help: put it in a register: reg.scalar(f16, init=1.0)
      form: add.f16  d, a, b
    """,
)
def a_constant_where_ptx_takes_none():
    x = reg.scalar(f16, init=0.0)
    ptx.inst.add.f16(x, x, 1.0)


@wrong(
    IsaError,
    """
    here: add.u32: d must be a .u32 register, not the constant 1
        ptx.inst.add.u32(1, x, x)
      help: leave the destination out to get a new register of the right type
      form: add.u32  d, a, b
    """,
)
def a_constant_as_destination():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(1, x, x)


@wrong(
    IsaError,
    """
    here: bar.sync: a must be 0 to 15, not 16
        ptx.inst.bar.sync(16)
      form: bar.sync  a, {b}
    """,
)
def a_constant_outside_of_what_is_legal():
    ptx.inst.bar.sync(16)


@wrong(
    IsaError,
    """
    here: nanosleep.u32: t: -5 is out of range for .u32 (0 to 4294967295)
        ptx.inst.nanosleep.u32(-5)
      form: nanosleep.u32  t
    """,
)
def an_immediate_that_must_be_one_of_some():
    ptx.inst.nanosleep.u32(-5)


@wrong(
    IsaError,
    """
    here: add.u32: b must be a .u32 register, not a .pred one
        ptx.inst.add.u32(x, x, x == 0)
      help: choose by the predicate: ptx.inst.selp.u32(1, 0, p)
      form: add.u32  d, a, b
    """,
)
def a_predicate_as_an_integer():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, x == 0)


@wrong(
    IsaError,
    """
    here: selp.u32: c must be a .pred register, not a .u32 one
        ptx.inst.selp.u32(x, x, x, x)
      help: compare: r != 0 is a predicate
      form: selp.u32  d, a, b, c
    """,
)
def an_integer_as_a_predicate():
    x = reg.scalar(u32, init=0)
    ptx.inst.selp.u32(x, x, x, x)


@wrong(
    IsaError,
    """
    here: and.pred: b must be a .pred register, not a negated predicate
        ptx.inst.and_.pred(p, p, ~p)
      help: negate it first: ptx.inst.not_.pred(p)
      form: and.pred  d, a, b
    """,
)
def a_negated_predicate_where_none_is_taken():
    x = reg.scalar(u32, init=0)
    p = x == 0
    ptx.inst.and_.pred(p, p, ~p)


@wrong(
    IsaError,
    """
    here: add.u32: b cannot be the special register %tid.x
        ptx.inst.add.u32(x, x, ptx.special.tid.x())
      help: reg.from_(ptx.special.tid.x(), u32)
      form: add.u32  d, a, b
    """,
)
def a_special_register_where_none_is_taken():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, ptx.special.tid.x())


@wrong(
    IsaError,
    """
    here: mov.f32: %tid.x is .u32, a is .f32
        ptx.inst.mov.f32(ptx.special.tid.x())
      help: ptx.inst.mov.u32(ptx.special.tid.x())
      form: mov.f32  d, a
    """,
)
def a_special_register_of_another_type():
    ptx.inst.mov.f32(ptx.special.tid.x())


@wrong(
    IsaError,
    """
    here: ld.global.v4.f32: d must be a list of 4 elements, not 3
        ptx.inst.ld.global_.v4.f32(reg.array(f32, 3), ptx.addr(p))
      form: ld.global.v4.f32  d, [a]
    """,
)
def a_vector_of_the_wrong_length():
    p = reg.scalar(u64, init=0)
    ptx.inst.ld.global_.v4.f32(reg.array(f32, 3), ptx.addr(p))


@wrong(
    IsaError,
    """
    here: ld.global.f32: d must be a .f32 register, not a list of 2
        ptx.inst.ld.global_.f32(reg.array(f32, 2), ptx.addr(p))
      form: ld.global.f32  d, [a]
    """,
)
def a_vector_where_a_register_belongs():
    p = reg.scalar(u64, init=0)
    ptx.inst.ld.global_.f32(reg.array(f32, 2), ptx.addr(p))


@wrong(
    IsaError,
    """
    here: ld.global.v2.f32: d must be a list of 2, not a .f32 register
        ptx.inst.ld.global_.v2.f32(reg.scalar(f32), ptx.addr(p))
      form: ld.global.v2.f32  d, [a]
    """,
)
def a_register_where_a_vector_belongs():
    p = reg.scalar(u64, init=0)
    ptx.inst.ld.global_.v2.f32(reg.scalar(f32), ptx.addr(p))


@wrong(
    IsaError,
    """
    here: st.global.v2.f32: b must be a .f32 register, not a .u16 one
        ptx.inst.st.global_.v2.f32(ptx.addr(p), [x, x])
      help: convert it: ptx.inst.cvt.rn.f32.u16(r)
      form: st.global.v2.f32  [a], b
    """,
)
def a_vector_element_of_another_type():
    p, x = reg.scalar(u64, init=0), reg.scalar(u16)
    ptx.inst.st.global_.v2.f32(ptx.addr(p), [x, x])


@wrong(
    IsaError,
    """
    here: sm_90a does not have ld.global.v8.f32
        ptx.inst.ld.global_.v8.f32(ptx.addr(p))
      targets that do: sm_100 and later
    """,
)
def a_vector_that_is_longer_than_the_target_has():
    p = reg.scalar(u64, init=0)
    ptx.inst.ld.global_.v8.f32(ptx.addr(p))


@wrong(
    IsaError,
    """
    here: and.pred: d takes no second destination
        ptx.inst.and_.pred(ptx.pair(p, q), x == 0, x == 1)
      form: and.pred  d, a, b
    """,
)
def a_pair_where_one_destination_belongs():
    x = reg.scalar(u32, init=0)
    p, q = reg.scalar(pred), reg.scalar(pred)
    ptx.inst.and_.pred(ptx.pair(p, q), x == 0, x == 1)


@wrong(
    IsaError,
    """
    here: shfl.sync.bfly.b32: the second destination of d must be a predicate
        ptx.inst.shfl.sync.bfly.b32(ptx.pair(x, y), x, 1, 31, -1)
      form: shfl.sync.bfly.b32  d{|p}, a, b, c, membermask
    """,
)
def a_pair_whose_second_is_no_predicate():
    x, y = reg.scalar(b32, init=0), reg.scalar(b32)
    ptx.inst.shfl.sync.bfly.b32(ptx.pair(x, y), x, 1, 31, -1)


@wrong(
    IsaError,
    """
    here: ld.global.u32: an address in .global needs a 64-bit register, not a .u32 one
        ptx.inst.ld.global_.u32(x, ptx.addr(x))
      form: ld.global.u32  d, [a]
    """,
)
def a_register_where_an_address_is_too_narrow():
    x = reg.scalar(u32, init=0)
    ptx.inst.ld.global_.u32(x, ptx.addr(x))


@wrong(
    IsaError,
    """
    here: ld.global.f32: a needs a 64-bit address register, not a .f32 one
        ptx.inst.ld.global_.f32(x, ptx.addr(x))
      form: ld.global.f32  d, [a]
    """,
)
def a_float_as_an_address():
    x = reg.scalar(f32, init=0.0)
    ptx.inst.ld.global_.f32(x, ptx.addr(x))


@wrong(
    IsaError,
    """
    here: ld.global.f32: a cannot be a number: only .local has constant addresses
        ptx.inst.ld.global_.f32(ptx.addr(4096))
      help: put it in a register: ptx.addr(reg.from_(address, u64))
      form: ld.global.f32  d, [a]
    """,
)
def a_number_as_a_global_address():
    ptx.inst.ld.global_.f32(ptx.addr(4096))


@wrong(
    IsaError,
    """
    here: ld.global.f32: a must be an address in .global, not in .shared
        ptx.inst.ld.global_.f32(ptx.addr(tile))
      form: ld.global.f32  d, [a]
    """,
)
def an_address_in_another_space():
    tile = smem.alloc(f32, 4)
    ptx.inst.ld.global_.f32(ptx.addr(tile))


@wrong(
    IsaError,
    """
    here: ld.shared.v4.f32: a is misaligned: offset 4 of tile is no multiple of 16
        ptx.inst.ld.shared.v4.f32(ptx.addr(tile, 4))
      help: an access of 16 bytes needs an address that is a multiple of 16
      form: ld.shared.v4.f32  d, [a]
    """,
)
def a_misaligned_offset():
    tile = smem.alloc(f32, 64, name="tile")
    ptx.inst.ld.shared.v4.f32(ptx.addr(tile, 4))


@wrong(
    IsaError,
    """
    here: st.shared.f32: a is 4 bytes at offset 16 of tile, which has 16 bytes
        ptx.inst.st.shared.f32(ptx.addr(tile, 16), reg.from_(1.0, f32))
      form: st.shared.f32  [a], b
    """,
)
def an_offset_outside_the_variable():
    tile = smem.alloc(f32, 4, name="tile")
    ptx.inst.st.shared.f32(ptx.addr(tile, 16), reg.from_(1.0, f32))


@wrong(
    IsaError,
    """
    here: ld.shared.v2.f32: a needs 8-byte alignment, and tile has 4
        ptx.inst.ld.shared.v2.f32(ptx.addr(tile))
      help: smem.alloc(..., align=8)
      form: ld.shared.v2.f32  d, [a]
    """,
)
def a_variable_that_is_aligned_too_little():
    tile = smem.alloc(f32, 8, name="tile", align=4)
    ptx.inst.ld.shared.v2.f32(ptx.addr(tile))


@wrong(
    IsaError,
    """
    here: ld.global.f32: the offset 2147483648 of a does not fit 32 bits
        ptx.inst.ld.global_.f32(ptx.addr(p, 2**31))
      help: add it to the register: ptx.addr(base + offset)
      form: ld.global.f32  d, [a]
    """,
)
def an_offset_that_does_not_fit():
    p = reg.scalar(u64, init=0)
    ptx.inst.ld.global_.f32(ptx.addr(p, 2**31))


@wrong(
    IsaError,
    """
    here: add.u32: b must be a .u32 register, not a label
        ptx.inst.add.u32(x, x, ptx.label())
      form: add.u32  d, a, b
    """,
)
def a_label_where_a_register_belongs():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, ptx.label())


@wrong(
    IsaError,
    """
    here: bra: target must be a label, not a .u32 register
        ptx.inst.bra(reg.scalar(u32, init=0))
      form: bra  target
    """,
)
def a_register_where_a_label_belongs():
    ptx.inst.bra(reg.scalar(u32, init=0))


@wrong(
    IsaError,
    """
    here: brx.idx: targets must be a list of labels, not a label
        ptx.inst.brx.idx(reg.scalar(u32, init=0), ptx.label())
      form: brx.idx  index, targets
    """,
)
def a_branch_through_no_table():
    ptx.inst.brx.idx(reg.scalar(u32, init=0), ptx.label())


@wrong(
    IsaError,
    """
    here: st.global.v2.b32: the elements of b are .f32 and .u32; they need one type
        ptx.inst.st.global_.v2.b32(ptx.addr(p), [y, x])
      help: reg.array(dtype, n) makes registers of one type
      form: st.global.v2.b32  [a], b
    """,
)
def a_vector_of_floats_and_integers():
    p, x, y = reg.scalar(u64, init=0), reg.scalar(u32, init=0), reg.scalar(f32, init=0.0)
    ptx.inst.st.global_.v2.b32(ptx.addr(p), [y, x])


@wrong(
    IsaError,
    """
    here: vote.sync.ballot.b32: membermask must be a .b32 register, not a .f32 one
        ptx.inst.vote.sync.ballot.b32(x == 0, reg.scalar(f32, init=0.0))
      help: convert it: ptx.inst.cvt.rzi.u32.f32(r)
      form: vote.sync.ballot.b32  d, {!}a, membermask
    """,
)
def a_float_as_a_mask():
    x = reg.scalar(u32, init=0)
    ptx.inst.vote.sync.ballot.b32(x == 0, reg.scalar(f32, init=0.0))


@wrong(
    IsaError,
    """
    here: cvta.local.u64: a must be in .local, not in .shared
        ptx.inst.cvta.local.u64(smem.alloc(f32, 4))
      form: cvta.local.u64  p, a
    """,
)
def a_symbol_of_another_space():
    ptx.inst.cvta.local.u64(smem.alloc(f32, 4))


@wrong(
    IsaError,
    """
    here: setp.lt.u32: p is _|_; one of the two must be a register
        ptx.inst.setp.lt.u32(ptx.pair(ptx.sink, ptx.sink), x, 1)
      form: setp.lt.u32  p{|q}, a, b
    """,
)
def a_pair_of_sinks():
    x = reg.scalar(u32, init=0)
    ptx.inst.setp.lt.u32(ptx.pair(ptx.sink, ptx.sink), x, 1)


@wrong(
    IsaError,
    """
    here: sm_75 does not have redux.sync.add.u32
        ptx.inst.redux.sync.add.u32(x, x, -1)
      targets that do: sm_80 and later
    """,
    arch="sm_75",
)
def an_instruction_that_the_target_lacks():
    x = reg.scalar(b32, init=0)
    ptx.inst.redux.sync.add.u32(x, x, -1)


@wrong(
    IsaError,
    """
    here: PTX 7.8 does not have elect.sync
        ptx.inst.elect.sync(ptx.pair(ptx.sink, reg.scalar(pred)), x)
      first in: PTX 8.0
      help: kernel(version=(8, 0))
    """,
    arch="sm_90",
    version=(7, 8),
)
def an_instruction_that_the_version_lacks():
    x = reg.scalar(b32, init=0)
    ptx.inst.elect.sync(ptx.pair(ptx.sink, reg.scalar(pred)), x)


@wrong(
    IsaError,
    """
    here: sm_80 does not have fence.acq_rel.cluster
        ptx.inst.fence.acq_rel.cluster()
      targets that do: sm_90 and later
    """,
    arch="sm_80",
)
def an_option_that_the_target_lacks():
    p = reg.scalar(u64, init=0)
    ptx.inst.fence.acq_rel.cluster()


@wrong(
    IsaError,
    """
    here: sm_80 does not have %cluster_ctarank
        reg.from_(ptx.special.cluster_ctarank(), u32)
      targets that do: sm_90 and later
    """,
    arch="sm_80",
)
def a_special_register_that_the_target_lacks():
    reg.from_(ptx.special.cluster_ctarank(), u32)


@wrong(
    LanguageError,
    """
    here: PTX has no special register %tidx
        ptx.special.tidx()
      nearest: ptx.special.tid.x() ptx.special.ntid.x() ptx.special.ctaid.x()
      special registers: tid ntid laneid warpid nwarpid ctaid nctaid smid nsmid gridid is_explicit_cluster clusterid nclusterid cluster_ctaid cluster_nctaid cluster_ctarank cluster_nctarank lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt clock clock_hi clock64 pm<n> pm<n>_64 envreg<n> globaltimer globaltimer_lo globaltimer_hi reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap reserved_smem_offset_<n> total_smem_size aggr_smem_size dynamic_smem_size current_graph_exec perctamemoryoffset perctamemorysize
    """,
)
def an_unknown_special_register():
    ptx.special.tidx()


@wrong(
    LanguageError,
    """
    here: %tid has the components x y z w, and q is none
        ptx.special.tid.q()
      help: ptx.special.tid.x()
    """,
)
def an_unknown_component():
    ptx.special.tid.q()


@wrong(
    LanguageError,
    """
    here: %tid has the components x y z w
        ptx.special.tid()
      help: ptx.special.tid.x()
    """,
)
def a_special_register_without_its_component():
    ptx.special.tid()


@wrong(
    LanguageError,
    """
    here: None cannot be an operand
        ptx.inst.add.u32(x, x, None)
      legal: a register, a number, a list of registers, ptx.addr(...), a label
    """,
)
def none_as_an_operand():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, None)


@wrong(
    LanguageError,
    """
    here: '%tid.x' of type str cannot be an operand
        ptx.inst.add.u32(x, x, "%tid.x")
      legal: a register, a number, a list of registers, ptx.addr(...), a label
      help: PTX as text goes through ptx.raw
    """,
)
def a_string_as_an_operand():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, "%tid.x")


@wrong(
    IsaError,
    """
    here: add.u32: b: True is no number: write 1
        ptx.inst.add.u32(x, x, True)
      form: add.u32  d, a, b
    """,
)
def a_bool_as_an_operand():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, True)


@wrong(
    IsaError,
    """
    here: add.u32: b: array([0, 1, 2]) is not an integer, and .u32 is a type of integers
        ptx.inst.add.u32(x, x, np.arange(3))
      form: add.u32  d, a, b
    """,
)
def an_array_as_an_operand():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, np.arange(3))


@wrong(
    LanguageError,
    """
    here: 1j of type complex cannot be an operand
        ptx.inst.add.f32(x, x, 1j)
      legal: a register, a number, a list of registers, ptx.addr(...), a label
    """,
)
def a_complex_number_as_an_operand():
    x = reg.scalar(f32, init=0.0)
    ptx.inst.add.f32(x, x, 1j)


@wrong(
    LanguageError,
    """
    here: [<register 1 .f32>] of type list cannot be an element of a vector
        ptx.inst.st.global_.v2.f32(ptx.addr(p), [x, [x]])
      legal: registers, numbers, ptx.sink
    """,
)
def a_nested_list():
    p, x = reg.scalar(u64, init=0), reg.scalar(f32, init=0.0)
    ptx.inst.st.global_.v2.f32(ptx.addr(p), [x, [x]])


@wrong(
    IsaError,
    r"""
    here: add.u32: b: 1.5 is not an integer, and .u32 is a type of integers
        ptx.raw("add.u32 x, x, 1;\n add.u32 x, x, 1.5;", x=x)
      in the text: line 2
      form: add.u32  d, a, b
    """,
)
def an_error_inside_raw_text():
    x = reg.scalar(u32, init=0)
    ptx.raw("add.u32 x, x, 1;\n add.u32 x, x, 1.5;", x=x)


@wrong(
    IsaError,
    """
    here: PTX has no instruction 'adds'
        ptx.raw("adds.u32 x, x, 1;", x=x)
      in the text: line 1
      nearest: add vadd addc
    """,
)
def an_unknown_opcode_inside_raw_text():
    x = reg.scalar(u32, init=0)
    ptx.raw("adds.u32 x, x, 1;", x=x)


@wrong(
    LanguageError,
    """
    here: line 1: the guard is a .u32 register, not a predicate
        ptx.raw("@x add.u32 x, x, 1;", x=x)
    """,
)
def raw_text_with_a_guard_that_is_no_predicate():
    x = reg.scalar(u32, init=0)
    ptx.raw("@x add.u32 x, x, 1;", x=x)


@wrong(
    LanguageError,
    """
    here: x=3: ptx.raw names registers and shared memory
        ptx.raw("add.u32 x, x, 1;", x=3)
    """,
)
def raw_text_with_a_name_that_is_no_register():
    ptx.raw("add.u32 x, x, 1;", x=3)


@wrong(
    LanguageError,
    """
    here: ptx.raw takes text, not None
        ptx.raw(None)
    """,
)
def raw_text_that_is_no_text():
    ptx.raw(None)


@wrong.parametrize()
def test_the_whole_message(wrong):
    wrong.check(lambda: kernel(**wrong.options)(wrong.program).ptx())
