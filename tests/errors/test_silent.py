"""What would be wrong in silence is an error at its line: lost numbers, lost masks, lost pairs."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx import CallError, IsaError, LanguageError, Scalar, Tile, kernel, ptx, reg
from pyptx.types import b32, b64, bf16, bf16x2, e4m3, f16, f32, f64, pred, s32, u8, u32

from .cases import Collection

traced = Collection()
called = Collection()

X = np.zeros(4, np.float32)


def _scaled(dtype):
    @kernel(in_specs=(Tile("N", f32), Scalar(dtype)), out_specs=(Tile("N", f32),), block=4)
    def scale(X, S, Y):
        x, y = ptx.global_ptrs(X, Y)
        at = reg.scalar(u32, init=ptx.special.tid.x()) * 4
        ptx.inst.st.global_.f32(ptx.addr(y + at), ptx.inst.ld.global_.f32(ptx.addr(x + at)))

    return scale


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block=4)
def copy(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    at = reg.scalar(u32, init=ptx.special.tid.x()) * 4
    ptx.inst.st.global_.f32(ptx.addr(y + at), ptx.inst.ld.global_.f32(ptx.addr(x + at)))


# ---- loops of the kernel that Python would see one round of --------------------------------------


@traced(
    LanguageError,
    """
    here: ptx.range_ is a loop of the kernel, and Python sees one round of it: a comprehension, sum(), list() and unpacking take one register from it
        values = [i + 1 for i in ptx.range_(4)]
      help: for i in ptx.range_(n): ...   acc += v in its body adds up all rounds
      help: for i in range(n): ...   is unrolled: each round has its own registers
    """,
)
def a_comprehension_over_a_range():
    values = [i + 1 for i in ptx.range_(4)]


@traced(
    LanguageError,
    """
    here: ptx.range_ is a loop of the kernel, and Python sees one round of it: a comprehension, sum(), list() and unpacking take one register from it
        values = {i + 1 for i in ptx.range_(4)}
      help: for i in ptx.range_(n): ...   acc += v in its body adds up all rounds
      help: for i in range(n): ...   is unrolled: each round has its own registers
    """,
)
def a_set_comprehension_over_a_range():
    values = {i + 1 for i in ptx.range_(4)}


@traced(
    LanguageError,
    """
    here: ptx.range_ is a loop of the kernel, and Python sees one round of it: a comprehension, sum(), list() and unpacking take one register from it
        values = [i + j for i in ptx.range_(4) for j in range(2)]
      help: for i in ptx.range_(n): ...   acc += v in its body adds up all rounds
      help: for i in range(n): ...   is unrolled: each round has its own registers
    """,
)
def nested_comprehensions_over_a_range():
    values = [i + j for i in ptx.range_(4) for j in range(2)]


@traced(
    LanguageError,
    """
    here: ptx.range_ is a loop of the kernel, and Python sees one round of it: a comprehension, sum(), list() and unpacking take one register from it
        total = sum(i + 1 for i in ptx.range_(4))
      help: for i in ptx.range_(n): ...   acc += v in its body adds up all rounds
      help: for i in range(n): ...   is unrolled: each round has its own registers
    """,
)
def a_sum_over_a_range():
    total = sum(i + 1 for i in ptx.range_(4))


@traced(
    LanguageError,
    """
    here: ptx.range_ is a loop of the kernel, and Python sees one round of it: a comprehension, sum(), list() and unpacking take one register from it
        values = list(ptx.range_(4))
      help: for i in ptx.range_(n): ...   acc += v in its body adds up all rounds
      help: for i in range(n): ...   is unrolled: each round has its own registers
    """,
)
def a_list_of_a_range():
    values = list(ptx.range_(4))


@traced(
    LanguageError,
    """
    here: ptx.range_ is a loop of the kernel, and Python sees one round of it: a comprehension, sum(), list() and unpacking take one register from it
        first, second = ptx.range_(2)
      help: for i in ptx.range_(n): ...   acc += v in its body adds up all rounds
      help: for i in range(n): ...   is unrolled: each round has its own registers
    """,
)
def a_range_unpacked():
    first, second = ptx.range_(2)


@traced(
    LanguageError,
    """
    here: ptx.range_ is a loop of the kernel, and Python sees one round of it: a comprehension, sum(), list() and unpacking take one register from it
        first = next(iter(ptx.range_(2)))
      help: for i in ptx.range_(n): ...   acc += v in its body adds up all rounds
      help: for i in range(n): ...   is unrolled: each round has its own registers
    """,
)
def a_range_by_next():
    first = next(iter(ptx.range_(2)))


@traced(
    LanguageError,
    """
    here: enumerate counts what Python sees, and of ptx.range_ it sees one round
        for number, i in enumerate(ptx.range_(4)):
      help: for i in ptx.range_(n): ...   i is the number of the round
      help: for ... in enumerate(range(n), ...): ...   is unrolled
    """,
)
def a_range_in_enumerate():
    for number, i in enumerate(ptx.range_(4)):
        i + 1


@traced(
    LanguageError,
    """
    here: zip counts what Python sees, and of ptx.range_ it sees one round
        for value, i in zip((1, 2), ptx.range_(2), strict=True):
      help: for i in ptx.range_(n): ...   i is the number of the round
      help: for ... in zip(range(n), ...): ...   is unrolled
    """,
)
def a_range_in_zip():
    for value, i in zip((1, 2), ptx.range_(2), strict=True):
        i + 1


# ---- scalars -------------------------------------------------------------------------------------


@called(
    CallError,
    """
    here: S is a Scalar(s32) and is given 1.5, which is not a whole number
        _scaled(s32)(X, 1.5)
      legal: whole numbers from -2147483648 to 2147483647
    """,
)
def a_fraction_for_an_integer():
    _scaled(s32)(X, 1.5)


@called(
    CallError,
    """
    here: S is a Scalar(s32) and is given 2147483648, which is out of its range
        _scaled(s32).emulate(X, 2**31)
      legal: whole numbers from -2147483648 to 2147483647
    """,
)
def one_too_many_for_a_signed_integer():
    _scaled(s32).emulate(X, 2**31)


@called(
    CallError,
    """
    here: S is a Scalar(u8) and is given -1, which is out of its range
        _scaled(u8)(X, np.int64(-1))
      legal: whole numbers from 0 to 255
    """,
)
def a_negative_number_for_an_unsigned_integer():
    _scaled(u8)(X, np.int64(-1))


@called(
    CallError,
    """
    here: S is a Scalar(f32) and is given 1e+300, which is out of its range
        _scaled(f32)(X, 1e300)
      legal: numbers from -3.4028235e+38 to 3.4028235e+38, inf and nan; they are rounded
    """,
)
def a_number_that_becomes_infinite():
    _scaled(f32)(X, 1e300)


@called(
    CallError,
    """
    here: S is a Scalar(bf16) and is given 3.4e+38, which is out of its range
        _scaled(bf16)(X, 3.4e38)
      legal: numbers from -3.3895314e+38 to 3.3895314e+38, inf and nan; they are rounded
    """,
)
def a_number_that_becomes_infinite_in_bf16():
    _scaled(bf16)(X, 3.4e38)


@called(
    CallError,
    """
    here: S is a Scalar(f64) and is given an integer of 1329 bits, which is out of its range
        _scaled(f64)(X, 10**400)
      legal: numbers from -1.7976931e+308 to 1.7976931e+308, inf and nan; they are rounded
    """,
)
def an_integer_beyond_every_float():
    _scaled(f64)(X, 10**400)


@called(
    CallError,
    """
    here: S is a Scalar(e4m3) and is given inf, and e4m3 has no infinity
        _scaled(e4m3)(X, math.inf)
      legal: numbers from -448 to 448, nan; they are rounded
    """,
)
def infinity_in_a_type_without_one():
    _scaled(e4m3)(X, math.inf)


@called(
    CallError,
    """
    here: S is a Scalar(s32) and is given (1+0j), which is no real number
        _scaled(s32)(X, np.complex64(1))
      legal: whole numbers from -2147483648 to 2147483647
    """,
)
def a_complex_number():
    _scaled(s32)(X, np.complex64(1))


@called(
    CallError,
    """
    here: S is an array of type float32 and Scalar(s32) takes int32
        jax.jit(lambda s: _scaled(s32)(jnp.zeros(4), s))(1.5)
      legal: whole numbers from -2147483648 to 2147483647
      help: convert it: S.astype('int32')
    """,
)
def a_traced_float_for_an_integer():
    jax.jit(lambda s: _scaled(s32)(jnp.zeros(4), s))(1.5)


@called(
    CallError,
    """
    here: S is a Scalar(s32) and is given 2.5, which is not a whole number
        _scaled(s32)(jnp.zeros(4), 2.5)
      legal: whole numbers from -2147483648 to 2147483647
    """,
)
def a_fraction_with_arrays_of_jax():
    _scaled(s32)(jnp.zeros(4), 2.5)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        *((s32, value) for value in (2.0, -(2**31), 2**31 - 1, True, np.array(3), np.int64(7))),
        *((f32, value) for value in (0.1, 2**31 + 1, math.inf, -math.inf, math.nan, 1e-300)),
        *((f16, value) for value in (65519.9, np.float32(0.3))),
        (bf16, 3.39e38),
        (e4m3, 448),
        (e4m3, math.nan),
        (f64, 1e300),
    ],
    ids=str,
)
def test_a_number_that_the_type_holds_or_rounds_is_legal(dtype, value):
    np.testing.assert_array_equal(_scaled(dtype)(X + 1, value), X + 1)


# ---- arrays --------------------------------------------------------------------------------------


@called(
    CallError,
    """
    here: X is a masked array, and a kernel cannot see the mask
        copy(np.ma.masked_array(X, mask=[1, 0, 0, 0]))
      help: pass X.filled(value)
    """,
)
def a_masked_array():
    copy(np.ma.masked_array(X, mask=[1, 0, 0, 0]))


@called(
    CallError,
    """
    here: S is a masked array, and a kernel cannot see the mask
        _scaled(f32).emulate(X, np.ma.masked)
      help: pass S.filled(value)
    """,
)
def a_masked_number():
    _scaled(f32).emulate(X, np.ma.masked)


@called(
    CallError,
    """
    here: X is an array of Python objects
        copy.emulate(np.array([1.0, None]))
      help: pass X.astype("float32")
    """,
)
def an_array_of_objects():
    copy.emulate(np.array([1.0, None]))


@called(
    CallError,
    """
    here: X is a structured array of the fields a b
        copy(np.zeros(4, [("a", "f4"), ("b", "f4")]))
      help: pass X["a"].copy()
    """,
)
def a_structured_array():
    copy(np.zeros(4, [("a", "f4"), ("b", "f4")]))


@called(
    CallError,
    """
    here: X is an array of big-endian numbers, and a kernel reads those of this machine
        copy(np.zeros(4, ">f4"))
      help: pass X.astype("float32")
    """,
)
def an_array_of_another_byte_order():
    copy(np.zeros(4, ">f4"))


# ---- immediates ----------------------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: 3.4e+38 is out of range for .bf16 (largest finite 3.3895314e+38)
        reg.scalar(bf16, init=3.4e38)
    """,
)
def an_immediate_that_becomes_infinite_in_bf16():
    reg.scalar(bf16, init=3.4e38)


@traced(
    LanguageError,
    """
    here: 3.4e+38 is out of range for .bf16 (largest finite 3.3895314e+38)
        reg.scalar(bf16x2, init=1) * 3.4e38
    """,
)
def an_operand_that_becomes_infinite_in_a_pair():
    reg.scalar(bf16x2, init=1) * 3.4e38


@traced(
    LanguageError,
    """
    here: 1e+300 is out of range for .f32 (largest finite 3.4028235e+38)
        reg.scalar(f32, init=1.0) + 1e300
    """,
)
def an_operand_that_becomes_infinite():
    reg.scalar(f32, init=1.0) + 1e300


@traced(
    IsaError,
    """
    here: mov.f32: a: 1e+300 is out of range for .f32 (largest finite 3.4028235e+38)
        ptx.inst.mov.f32(1e300)
      form: mov.f32  d, a
    """,
)
def an_immediate_that_becomes_infinite():
    ptx.inst.mov.f32(1e300)


@traced(
    IsaError,
    """
    here: mov.f64: a: np.longdouble('1e+4000') is out of range for .f64
        reg.scalar(f64, init=np.longdouble("1e4000"))
      form: mov.f64  d, a
    """,
)
def a_wide_float_of_numpy():
    reg.scalar(f64, init=np.longdouble("1e4000"))


def test_infinities_and_rounded_numbers_are_legal_immediates():
    @kernel
    def body():
        for dtype in (f16, bf16, f32, f64):
            x = reg.scalar(dtype, init=math.inf)
            x + -math.inf
            x + 0.1

    assert "0f7F800000" in body.ptx()
    assert "0d7FF0000000000000" in body.ptx()


# ---- roundings -----------------------------------------------------------------------------------


@traced(
    IsaError,
    """
    here: cvt.s32.f32 needs a rounding
        ptx.inst.cvt.s32.f32(reg.scalar(f32, init=1.0))
      legal here: .rni .rzi .rmi .rpi
      write: ptx.inst.cvt.rzi.s32.f32(...)
      form: cvt.irnd{.ftz}{.sat}.D.f32  d, a
    """,
)
def a_conversion_to_an_integer():
    ptx.inst.cvt.s32.f32(reg.scalar(f32, init=1.0))


@traced(
    IsaError,
    """
    here: sqrt.f32 needs a rounding
        ptx.inst.sqrt.f32(reg.scalar(f32, init=1.0))
      legal here: .rn .rz .rm .rp .approx
      write: ptx.inst.sqrt.rn.f32(...)
      form: sqrt.rnd{.ftz}.f32  d, a
      form: sqrt.approx{.ftz}.f32  d, a
    """,
)
def a_square_root():
    ptx.inst.sqrt.f32(reg.scalar(f32, init=1.0))


@traced(
    IsaError,
    """
    here: div.ftz.f32 needs a rounding
        ptx.inst.div.ftz.f32(x, x)
      legal here: .rn .rz .rm .rp .full .approx
      write: ptx.inst.div.rn.ftz.f32(...)
      form: div.rnd{.ftz}.f32  d, a, b
      form: div.full{.ftz}.f32  d, a, b
      form: div.approx{.ftz}.f32  d, a, b
    """,
)
def a_division():
    x = reg.scalar(f32, init=1.0)
    ptx.inst.div.ftz.f32(x, x)


@traced(
    IsaError,
    """
    here: cvt.e4m3x2.f32 needs a rounding
        ptx.inst.cvt.e4m3x2.f32(x, x)
      legal here: .rn .rz
      write: ptx.inst.cvt.rn.satfinite.e4m3x2.f32(...)
      form: cvt.frnd2.satfinite{.relu}{.pzo}{.scaled::n1::ue8m0}.D.f32  d, a, b, scale
    """,
)
def a_conversion_that_lacks_two_words():
    x = reg.scalar(f32, init=1.0)
    ptx.inst.cvt.e4m3x2.f32(x, x)


@traced(
    IsaError,
    """
    here: cvt.s32.f32 has no rounding .rn
        ptx.inst.cvt.rn.s32.f32(reg.scalar(f32, init=1.0))
      legal here: .rni .rzi .rmi .rpi
      write: ptx.inst.cvt.rzi.s32.f32(...)
      form: cvt.irnd{.ftz}{.sat}.D.f32  d, a
    """,
)
def a_rounding_to_a_float_for_an_integer():
    ptx.inst.cvt.rn.s32.f32(reg.scalar(f32, init=1.0))


@traced(
    IsaError,
    """
    here: cvt.f32.f16 takes no rounding, and .rn is one
        ptx.inst.cvt.rn.f32.f16(reg.scalar(f16, init=1.0))
      write: ptx.inst.cvt.f32.f16(...)
      form: cvt{.ftz}{.sat}.f32.f16  d, a
    """,
)
def a_rounding_where_nothing_is_rounded():
    ptx.inst.cvt.rn.f32.f16(reg.scalar(f16, init=1.0))


# ---- pairs ---------------------------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: `|` appends `or`, whose result setp overwrites: it is no pair of destinations
        ptx.inst.setp.lt.u32(p | q, x + 1, 2)
      help: ptx.pair(p, q) is the destination p|q
    """,
)
def two_predicates_of_setp():
    p, q, x = (reg.scalar(dtype, init=1) for dtype in (pred, pred, u32))
    ptx.inst.setp.lt.u32(p | q, x + 1, 2)


@traced(
    LanguageError,
    """
    here: `|` appends `or`, whose result setp overwrites: it is no pair of destinations
        ptx.inst.setp.lt.u32(p | q, x | y, 2)
      help: ptx.pair(p, q) is the destination p|q
    """,
)
def two_predicates_of_setp_with_an_or_as_its_source():
    p, q, x, y = (reg.scalar(dtype, init=1) for dtype in (pred, pred, u32, u32))
    ptx.inst.setp.lt.u32(p | q, x | y, 2)


def test_an_or_that_something_read_may_be_overwritten():
    @kernel
    def body():
        p, q, x = (reg.scalar(dtype, init=1) for dtype in (pred, pred, u32))
        either, guard, element = p | q, p | q, x | 2
        with ptx.if_(guard):
            ptx.inst.mov.u32(x, 2)
        ptx.inst.mov.b64(reg.scalar(b64), [element, x])
        ptx.inst.selp.u32(x, x, 1, either)
        ptx.inst.setp.lt.u32(either, x | 1, 2)
        ptx.inst.setp.lt.u32(guard, x | 1, 2)
        ptx.inst.shfl.sync.bfly.b32(element, x | 1, 1, 31, 0xFFFFFFFF)

    assert "or.pred" in body.ptx()


@traced(
    LanguageError,
    """
    here: `|` of .b32 and .pred: both sides need one type
        ptx.inst.elect.sync(lane | p, 0xFFFFFFFF)
      help: ptx.pair(d, p) is a pair of destinations, d|p
      help: choose by the predicate: ptx.inst.selp.b32(1, 0, p)
    """,
)
def a_lane_and_a_predicate_of_elect():
    p, lane = reg.scalar(pred, init=1), reg.scalar(b32, init=1)
    ptx.inst.elect.sync(lane | p, 0xFFFFFFFF)


@traced(
    IsaError,
    """
    here: elect.sync: d must be a pair d|p, not a .pred register
        ptx.inst.elect.sync(p | p, 0xFFFFFFFF)
      help: ptx.pair(d, p) is a pair of destinations; `|` is the instruction or
      form: elect.sync  d|p, membermask
    """,
)
def two_predicates_of_elect():
    p = reg.scalar(pred, init=1)
    ptx.inst.elect.sync(p | p, 0xFFFFFFFF)


def test_the_result_of_or_may_be_written_again_where_it_is_read():
    @kernel
    def body():
        p, q, x = (reg.scalar(dtype, init=1) for dtype in (pred, pred, b32))
        both = p | q
        ptx.inst.selp.b32(1, 0, both)
        ptx.inst.setp.lt.u32(both, x, 2)
        bits = x | 8
        ptx.inst.shfl.sync.bfly.b32(bits, bits, 1, 31, 0xFFFFFFFF)
        ptx.inst.setp.lt.and_.u32(q, x, 2, p | q)

    assert body.ptx().count("or.") == 3


# ---- widening ------------------------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: `+` of .bf16 and .f32: both sides need one type
        reg.scalar(bf16, init=1) + reg.scalar(f32, init=1)
      help: widen the .bf16: ptx.inst.cvt.f32.bf16(r)
    """,
)
def a_narrow_and_a_wide_float():
    reg.scalar(bf16, init=1) + reg.scalar(f32, init=1)


@traced(
    LanguageError,
    """
    here: `*` of .f32 and .f16: both sides need one type
        reg.scalar(f32, init=1) * reg.scalar(f16, init=1)
      help: widen the .f16: ptx.inst.cvt.f32.f16(r)
    """,
)
def a_wide_and_a_narrow_float():
    reg.scalar(f32, init=1) * reg.scalar(f16, init=1)


@traced.parametrize()
def test_the_whole_message_while_tracing(wrong):
    wrong.check(lambda: kernel(wrong.program).ptx())


@called.parametrize()
def test_the_whole_message_of_a_call(wrong):
    wrong.check(wrong.program)
