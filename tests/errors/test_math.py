"""Wrong calls of ptx.math, ptx.where and the conversions: what is legal, and how to write it."""

from pyptx import IsaError, LanguageError, kernel, ptx, reg
from pyptx.types import (
    b16,
    b32,
    bf16,
    bf16x2,
    e2m1x2,
    e4m3,
    e4m3x2,
    f16,
    f16x2,
    f32,
    f64,
    pred,
    s32,
    u8,
    u16,
    u32,
    ue8m0x2,
)

from .cases import Collection

wrong = Collection()


@wrong(
    LanguageError,
    """
    here: ptx.math.exp has no instructions for .f64
        ptx.math.exp(reg.scalar(f64, init=1.0))
      legal: f32
      help: PTX has no such function of f64; in f32: ptx.inst.cvt.rn.f32.f64(r)
    """,
)
def the_power_of_an_f64():
    ptx.math.exp(reg.scalar(f64, init=1.0))


@wrong(
    LanguageError,
    """
    here: ptx.math.sqrt has no instructions for .f16
        ptx.math.sqrt(reg.scalar(f16, init=1.0))
      legal: f32 f64
      help: convert it: ptx.to_f32(r), and back with ptx.from_f32
    """,
)
def the_root_of_an_f16():
    ptx.math.sqrt(reg.scalar(f16, init=1.0))


@wrong(
    LanguageError,
    """
    here: ptx.math.reciprocal has no instructions for .f64
        ptx.math.reciprocal(reg.scalar(f64, init=1.0), fast=True)
      legal: f32
      help: leave fast= out: it is for f32 alone
    """,
)
def a_fast_reciprocal_of_an_f64():
    ptx.math.reciprocal(reg.scalar(f64, init=1.0), fast=True)


@wrong(
    LanguageError,
    """
    here: ptx.math.tanh has no instructions for .s32
        ptx.math.tanh(reg.scalar(s32, init=1))
      legal: f32
      help: convert it: ptx.inst.cvt.rn.f32.s32(r)
    """,
)
def the_tangent_of_an_integer():
    ptx.math.tanh(reg.scalar(s32, init=1))


@wrong(
    LanguageError,
    """
    here: ptx.math.silu has no instructions for .b32
        ptx.math.silu(reg.scalar(b32, init=0))
      legal: f32
      help: say that the bits are an f32: reg.from_(r, f32)
    """,
)
def a_function_of_bits():
    ptx.math.silu(reg.scalar(b32, init=0))


@wrong(
    LanguageError,
    """
    here: ptx.math.erf has no instructions for .pred
        ptx.math.erf(reg.scalar(pred, init=0))
      legal: f32
    """,
)
def a_function_of_a_predicate():
    ptx.math.erf(reg.scalar(pred, init=0))


@wrong(
    LanguageError,
    """
    here: ptx.math.log takes a register, not 2.0
        ptx.math.log(2.0)
      help: math.exp and the like compute with Python numbers
    """,
)
def the_logarithm_of_a_number():
    ptx.math.log(2.0)


@wrong(
    LanguageError,
    """
    here: ptx.where chooses between .f32 and .u32; one type is needed
        ptx.where(reg.scalar(pred, init=1), reg.scalar(f32), reg.scalar(u32))
      help: convert it: ptx.inst.cvt.rn.f32.u32(r)
    """,
)
def two_types_to_choose_from():
    ptx.where(reg.scalar(pred, init=1), reg.scalar(f32), reg.scalar(u32))


@wrong(
    LanguageError,
    """
    here: ptx.where chooses between two numbers; one type is needed
        ptx.where(reg.scalar(pred, init=1), 1.0, 2.0)
      help: name the type: ptx.inst.selp.f32(1.0, 2.0, p)
    """,
)
def two_numbers_to_choose_from():
    ptx.where(reg.scalar(pred, init=1), 1.0, 2.0)


@wrong(
    LanguageError,
    """
    here: ptx.where takes registers and numbers, not 'x'
        ptx.where(reg.scalar(pred, init=1), "x", reg.scalar(u32))
    """,
)
def text_to_choose_from():
    ptx.where(reg.scalar(pred, init=1), "x", reg.scalar(u32))


@wrong(
    LanguageError,
    """
    here: PTX has no selp for .pred
        ptx.where(p, p, p)
      help: (p & a) | (~p & b)
    """,
)
def predicates_to_choose_from():
    p = reg.scalar(pred, init=1)
    ptx.where(p, p, p)


@wrong(
    LanguageError,
    """
    here: PTX has no selp for .u8
        ptx.where(reg.scalar(pred, init=1), reg.scalar(u8), 0)
      legal: registers of 16, 32 and 64 bits
    """,
)
def bytes_to_choose_from():
    ptx.where(reg.scalar(pred, init=1), reg.scalar(u8), 0)


@wrong(
    LanguageError,
    """
    here: a predicate is needed, not a .u32 register
        ptx.where(reg.scalar(u32, init=1), reg.scalar(f32), 0.0)
      help: compare first: p = r != 0, then ptx.if_(p) or pred=p or pred=~p
    """,
)
def a_choice_by_a_number():
    ptx.where(reg.scalar(u32, init=1), reg.scalar(f32), 0.0)


@wrong(
    LanguageError,
    """
    here: 300000 is out of range for .u16 (0 to 65535)
        ptx.where(reg.scalar(pred, init=1), reg.scalar(u16), 300000)
    """,
)
def a_number_that_does_not_fit():
    ptx.where(reg.scalar(pred, init=1), reg.scalar(u16), 300000)


ALL = "f32 f16 bf16 f16x2 bf16x2 e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2"


@wrong(
    LanguageError,
    f"""
    here: ptx.to_f32 has no conversion from .b32
        ptx.to_f32(reg.scalar(b32, init=0))
      legal: {ALL} ue8m0x2 e4m3x4 e5m2x4 e2m3x4 e3m2x4
      help: say what the bits are: ptx.to_f32(r, f16x2)
    """,
)
def numbers_of_bits():
    ptx.to_f32(reg.scalar(b32, init=0))


@wrong(
    LanguageError,
    f"""
    here: ptx.from_f32 has no conversion to .u32
        ptx.from_f32(reg.scalar(f32), u32)
      legal: {ALL} e4m3x4 e5m2x4 e2m3x4 e3m2x4
      help: ptx.inst.cvt.rni.u32.f32(r)
    """,
)
def an_integer_from_f32():
    ptx.from_f32(reg.scalar(f32), u32)


@wrong(
    LanguageError,
    f"""
    here: ptx.from_f32 has no conversion to .ue8m0x2
        ptx.from_f32(reg.array(f32, 2), ue8m0x2)
      legal: {ALL} e4m3x4 e5m2x4 e2m3x4 e3m2x4
    """,
    arch="sm_100a",
)
def a_power_of_two_to_nearest():
    ptx.from_f32(reg.array(f32, 2), ue8m0x2)


@wrong(
    LanguageError,
    f"""
    here: ptx.to_f32 has no conversion from .e4m3
        ptx.to_f32(reg.scalar(e4m3))
      legal: {ALL} ue8m0x2 e4m3x4 e5m2x4 e2m3x4 e3m2x4
      help: ptx.to_f32(X.load(i, dtype=e4m3x2))
    """,
)
def one_number_of_8_bits():
    ptx.to_f32(reg.scalar(e4m3))


@wrong(
    LanguageError,
    """
    here: a .u32 register does not hold .bf16x2
        ptx.to_f32(reg.scalar(u32, init=0), bf16x2)
      legal: bf16x2 b32
      help: copy the bits first: reg.from_(r, b32)
    """,
)
def pairs_in_an_integer():
    ptx.to_f32(reg.scalar(u32, init=0), bf16x2)


@wrong(
    LanguageError,
    """
    here: a .b16 register does not hold .f16x2
        ptx.to_f32(reg.scalar(b16, init=0), f16x2)
      legal: f16x2 b32
    """,
)
def a_pair_in_16_bits():
    ptx.to_f32(reg.scalar(b16, init=0), f16x2)


@wrong(
    LanguageError,
    """
    here: .bf16x2 is made of 2 f32 registers, not 1
        ptx.from_f32(reg.scalar(f32), bf16x2)
      help: ptx.from_f32([x, y], bf16x2)
    """,
)
def a_pair_of_one():
    ptx.from_f32(reg.scalar(f32), bf16x2)


@wrong(
    LanguageError,
    """
    here: ptx.from_f32 takes f32 registers, not a .f64 register
        ptx.from_f32(reg.scalar(f64), bf16)
    """,
)
def a_bf16_of_an_f64():
    ptx.from_f32(reg.scalar(f64), bf16)


@wrong(
    LanguageError,
    """
    here: ptx.to_f32 takes a register, not 1.5
        ptx.to_f32(1.5)
    """,
)
def the_f32_of_a_number():
    ptx.to_f32(1.5)


@wrong(
    IsaError,
    """
    here: sm_80 does not have cvt.rn.satfinite.e4m3x2.f32
        ptx.from_f32(reg.array(f32, 2), e4m3x2)
      targets that do: sm_89 and later
    """,
    arch="sm_80",
)
def numbers_of_8_bits_on_ampere():
    ptx.from_f32(reg.array(f32, 2), e4m3x2)


@wrong(
    IsaError,
    """
    here: sm_90a does not have cvt.rn.f16x2.e2m1x2
        ptx.to_f32(reg.scalar(e2m1x2))
      targets that do: sm_100a sm_100f sm_103a sm_103f sm_107a sm_107f sm_110a sm_110f sm_120a sm_120f sm_121a sm_121f
    """,
)
def numbers_of_4_bits_on_hopper():
    ptx.to_f32(reg.scalar(e2m1x2))


@wrong(
    IsaError,
    """
    here: sm_75 does not have cvt.f32.bf16
        ptx.to_f32(reg.scalar(bf16))
      targets that do: sm_80 and later
    """,
    arch="sm_75",
)
def a_bf16_before_ampere():
    ptx.to_f32(reg.scalar(bf16))


@wrong.parametrize()
def test_the_whole_message(wrong):
    options = {"arch": "sm_90a", **wrong.options}
    wrong.check(lambda: kernel(**options)(wrong.program).ptx())
