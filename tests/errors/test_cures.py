"""Cures that are followed: the message of a wrong program, and the program that it asks for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pyptx import CallError, IsaError, LanguageError, Tile, kernel, ptx, reg
from pyptx.types import b32, bf16, bf16x2, e4m3, e4m3x2, f32, pred, s32, s64, u32, u64

from .cases import Collection

traced = Collection()


def thread(dtype=u32):
    return reg.from_(ptx.special.tid.x(), dtype)


def memory(dtype, size=32):
    """A variable in global memory, which a kernel without arguments stores to."""
    return ptx.global_(dtype, size, name=f"memory_{dtype}_{size}")


WORDS, WHOLE, PAIRS, BYTES, FLOATS = (memory(t) for t in (u32, s32, bf16, e4m3, f32))


# ---- products of 64 bits -------------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: memory_u32_32 holds .u32, and the value is .u64
        WORDS[0] = h
      64 bits since: here: h = (h ^ (h >> 16)) * 0x45D9F3B
      help: `*` of .u32 has 64 bits: ptx.inst.mul.lo.u32(a, b) has 32
      help: or cut the wide result at the end: ptx.inst.cvt.u32.u64(r)
    """,
)
def a_hash_of_a_wide_product():
    h = thread()
    h = (h ^ (h >> 16)) * 0x45D9F3B
    h = h ^ (h >> 16)
    WORDS[0] = h


@traced(
    LanguageError,
    """
    here: `^` of .u64 and .u32: both sides need one type
        h ^ i
      64 bits since: here: h = i * 3
      help: `*` of .u32 has 64 bits: ptx.inst.mul.lo.u32(a, b) has 32
      help: convert it: ptx.inst.cvt.u64.u32(r)
    """,
)
def a_wide_product_beside_32_bits():
    i = thread()
    h = i * 3
    h ^ i


@traced(
    LanguageError,
    """
    here: ptx.where chooses between .u32 and .u64; one type is needed
        ptx.where(i > 3, i, h)
      64 bits since: here: h = i * 3
      help: `*` of .u32 has 64 bits: ptx.inst.mul.lo.u32(a, b) has 32
      help: or cut the wide result at the end: ptx.inst.cvt.u32.u64(r)
    """,
)
def a_choice_of_a_wide_product():
    i = thread()
    h = i * 3
    ptx.where(i > 3, i, h)


@traced(
    LanguageError,
    """
    here: memory_u32_32 holds .u32, and the value is .u64
        WORDS[0] = reg.scalar(u64, init=1)
      help: convert it: ptx.inst.cvt.u32.u64(r)
    """,
)
def sixty_four_bits_without_a_product():
    WORDS[0] = reg.scalar(u64, init=1)


# ---- stores --------------------------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: memory_bf16_32 holds .bf16, and the value is .bf16x2
        PAIRS[0] = reg.scalar(bf16x2, init=1)
      help: memory_bf16_32.store(i, v, dtype=bf16x2) stores all its numbers
    """,
)
def a_pair_as_one_element():
    PAIRS[0] = reg.scalar(bf16x2, init=1)


@traced(
    LanguageError,
    """
    here: memory_e4m3_32 holds .e4m3, and the value is .f32
        BYTES[0] = reg.scalar(f32, init=1)
      help: two at once: memory_e4m3_32.store(i, ptx.from_f32([a, b], e4m3x2), dtype=e4m3x2)
    """,
)
def a_float_into_eight_bits():
    BYTES[0] = reg.scalar(f32, init=1)


@traced(
    LanguageError,
    """
    here: `+` of .f32 and .e4m3: both sides need one type
        reg.scalar(f32, init=1) + BYTES[0]
      help: load two at once: a, b = ptx.to_f32(X.load(i, dtype=e4m3x2))
    """,
)
def a_float_of_eight_bits():
    reg.scalar(f32, init=1) + BYTES[0]


# ---- predicates as numbers -----------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: `*` of .f32 and .pred: both sides need one type
        v * (v > 0.0)
      help: ptx.where(p, v, 0.0) is v where p holds, and 0.0 elsewhere
    """,
)
def a_number_times_a_predicate():
    v = reg.scalar(f32, init=1)
    v * (v > 0.0)


@traced(
    LanguageError,
    """
    here: `+` of .f32 and .pred: both sides need one type
        v + (v > 0.0)
      help: choose by the predicate: ptx.inst.selp.f32(1.0, 0.0, p)
    """,
)
def a_number_plus_a_predicate():
    v = reg.scalar(f32, init=1)
    v + (v > 0.0)


@traced(
    LanguageError,
    """
    here: `*` has no instruction for .pred
        (thread() > 0) * 2.0
      help: predicates have `&`, `|`, `^` and `~`; a number is ptx.inst.selp.s32(1, 0, p)
    """,
)
def a_predicate_times_a_number():
    (thread() > 0) * 2.0


@traced(
    LanguageError,
    """
    here: `^` takes a register or a number, not True of type bool
        (thread() > 0) ^ True
      help: ~p is the negation
    """,
)
def a_predicate_and_true():
    (thread() > 0) ^ True


@traced(
    LanguageError,
    """
    here: `*` of .f32 and .b32: both sides need one type
        reg.scalar(f32, init=1) * reg.scalar(b32, init=1)
      help: copy its bits: reg.from_(r, f32); or convert its number: ptx.inst.cvt.rn.f32.u32(r)
    """,
)
def a_float_and_bits():
    reg.scalar(f32, init=1) * reg.scalar(b32, init=1)


@traced(
    LanguageError,
    """
    here: ptx.where chooses between two numbers; one type is needed
        ptx.where(thread() > 3, 1, 0)
      help: name the type: ptx.inst.selp.s32(1, 0, p)
    """,
)
def a_choice_of_two_integers():
    ptx.where(thread() > 3, 1, 0)


@traced(
    LanguageError,
    """
    here: ptx.where chooses between two numbers; one type is needed
        ptx.where(thread() > 3, 1.0, 0)
      help: name the type: ptx.inst.selp.f32(1.0, 0.0, p)
    """,
)
def a_choice_of_two_floats():
    ptx.where(thread() > 3, 1.0, 0)


# ---- floats, signs and shifts --------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: `%` has no instruction for .f32
        reg.scalar(f32, init=1) % 2.0
      help: a - ptx.inst.cvt.rmi.f32.f32(a / b) * b
    """,
)
def a_remainder_of_floats():
    reg.scalar(f32, init=1) % 2.0


@traced(
    LanguageError,
    """
    here: 0.5 is not an integer, and .s32 is a type of integers
        thread(s32) * 0.5
      help: compute in f32: ptx.inst.cvt.rn.f32.s32(r) * v
    """,
)
def half_an_integer():
    thread(s32) * 0.5


@traced(
    LanguageError,
    """
    here: -1 is out of range for .u32 (0 to 4294967295)
        thread() == -1
      help: as a signed number: reg.from_(r, s32) == -1
    """,
)
def an_unsigned_minus_one():
    thread() == -1


@traced(
    LanguageError,
    """
    here: -1 is out of range for .u32 (0 to 4294967295)
        thread() << -1
      help: shift the other way: r >> 1
    """,
)
def a_shift_by_less_than_nothing():
    thread() << -1


# ---- ranges --------------------------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: ptx.range_ counts in .u32 here and steps by -1
        for q in ptx.range_(31, thread(), -1):
      legal: 0 to 4294967295
      help: count in .s32: reg.from_(r, s32) for a bound r
    """,
)
def a_range_down_to_an_unsigned_bound():
    for q in ptx.range_(31, thread(), -1):
        q + 1


@traced(
    LanguageError,
    """
    here: ptx.range_ counts in .u32 here and stops at -1
        for q in ptx.range_(thread(), -1, -1):
      legal: 0 to 4294967295
      help: count in .s32: reg.from_(r, s32) for a bound r
    """,
)
def a_range_from_an_unsigned_bound():
    for q in ptx.range_(thread(), -1, -1):
        q + 1


@traced(
    LanguageError,
    """
    here: ptx.range_ counts in .u32 here and starts at -5
        for q in ptx.range_(-5, thread()):
      legal: 0 to 4294967295
      help: count in .s32: reg.from_(r, s32) for a bound r
    """,
)
def a_range_from_below_zero():
    for q in ptx.range_(-5, thread()):
        q + 1


@traced(
    LanguageError,
    """
    here: ptx.range_ counts in .s32 here and stops at 1099511627776
        for q in ptx.range_(2**40):
      legal: -2147483648 to 2147483647
      help: count in 64 bits: dtype=s64
    """,
)
def a_range_that_is_too_long():
    for q in ptx.range_(2**40):
        q + 1


@traced(
    LanguageError,
    """
    here: the bounds of ptx.range_ are .s32 and .u32; one integer type is needed
        for q in ptx.range_(thread(), -1, -1, dtype=s32):
      help: the .u32 bound: reg.from_(r, s32)
    """,
)
def a_range_of_another_type_than_its_bound():
    for q in ptx.range_(thread(), -1, -1, dtype=s32):
        q + 1


@traced(
    LanguageError,
    """
    here: the bounds of ptx.range_ are .s32 and .u64; one integer type is needed
        for q in ptx.range_(reg.scalar(u64, init=1), thread(s32)):
      help: the .s32 bound: ptx.inst.cvt.s64.s32(r)
      help: the .u64 bound: reg.from_(r, s64)
    """,
)
def a_range_between_a_signed_and_a_wider_bound():
    for q in ptx.range_(reg.scalar(u64, init=1), thread(s32)):
        q + 1


# ---- numbers of Python ---------------------------------------------------------------------------

INDEX = """
    here: a register has no value while the kernel is traced, so Python's lists and arrays have no element for it
        {}
      help: TABLE = ptx.const(f32, name="table", init=[...]) before the kernel, TABLE[i] in it
      help: registers by an index: keep them in shared memory (smem.alloc)
      help: one of two: ptx.where(i == 0, a, b)
    """


@traced(LanguageError, INDEX.format("[1.0, 2.0][thread()]"))
def an_element_of_a_list():
    [1.0, 2.0][thread()]


@traced(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python's lists and arrays have no element for it
        (0.0, 1.0)[thread() > 3]
      help: ptx.where(p, a, b) is a where p holds and b elsewhere
    """,
)
def an_element_by_a_predicate():
    (0.0, 1.0)[thread() > 3]


@traced(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so it is not a Python number
        int(reg.scalar(f32, init=1))
      help: convert it: ptx.inst.cvt.rzi.s32.f32(r)
    """,
)
def an_int_of_a_register():
    int(reg.scalar(f32, init=1))


@traced(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so it is not a Python number
        float(thread())
      help: convert it: ptx.inst.cvt.rn.f32.u32(r)
    """,
)
def a_float_of_a_register():
    float(thread())


@traced(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python's max() cannot compare it
        max(reg.scalar(f32, init=1), 0.0)
      help: r.max(v) and r.min(v) are the larger and the smaller of a register and a value
    """,
)
def the_larger_by_python():
    max(reg.scalar(f32, init=1), 0.0)


@traced(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python's sorted() cannot compare it
        sorted([thread(), thread()])
      help: a.min(b) and a.max(b) put two registers in order; compare and exchange sorts more
    """,
)
def registers_sorted():
    sorted([thread(), thread()])


@traced(
    LanguageError,
    """
    here: a register is no array, so NumPy's functions do not take it
        np.maximum(reg.scalar(f32, init=1), 0.0)
      help: r.max(v) and r.min(v) are the larger and the smaller of a register and a value
    """,
)
def the_larger_by_numpy():
    np.maximum(reg.scalar(f32, init=1), 0.0)


@traced(
    LanguageError,
    """
    here: ptx.to_f32 gives a list, here of 2, and lists have no arithmetic
        ptx.to_f32(reg.scalar(bf16x2, init=1)) * 2
      help: a, b = ptx.to_f32(r), then arithmetic with each
    """,
)
def a_list_of_numbers_doubled():
    ptx.to_f32(reg.scalar(bf16x2, init=1)) * 2


@traced(
    LanguageError,
    """
    here: ptx.to_f32 gives a list, here of 1, and lists have no arithmetic
        ptx.to_f32(reg.scalar(f32, init=1)) * 2.0
      help: a, = ptx.to_f32(r), then arithmetic with each
    """,
)
def a_list_of_one_number_doubled():
    ptx.to_f32(reg.scalar(f32, init=1)) * 2.0


@traced(
    LanguageError,
    """
    here: the text has the repr of a register, which PTX has no name for
        ptx.raw(f"add.u32 {i}, {i}, 1;")
      help: name registers by keyword: ptx.raw("add.u32 x, x, i;", x=x, i=i)
    """,
)
def a_register_formatted_into_text():
    i = thread()
    ptx.raw(f"add.u32 {i}, {i}, 1;")


@traced(
    LanguageError,
    """
    here: flag was bound before ptx.if_ and is bound anew in it, and it is read after it
        flag = True
      block: here: with ptx.if_(thread() > 3):
      read: here: ptx.where(flag, thread(), 0)
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: flag = reg.scalar(pred, init=False) before the block, and flag.set(v) in it
    """,
)
def a_flag_of_python():
    flag = False
    with ptx.if_(thread() > 3):
        flag = True
    ptx.where(flag, thread(), 0)


@traced.parametrize()
def test_message(wrong):
    wrong.check(lambda: kernel(block=32)(wrong.program).ptx())


# ---- the cures, followed -------------------------------------------------------------------------

X = np.arange(32, dtype=np.float32)


def of_flag(x, i):
    flag = reg.scalar(pred, init=False)
    with ptx.if_(x > 3.0):
        flag.set(True)
    return ptx.where(flag, 1.0, x)


def of_product(x, i):
    p = x > 3.0
    return ptx.where(p, x, 0.0)


def of_sum(x, i):
    p = x > 3.0
    return x + ptx.inst.selp.f32(1.0, 0.0, p)


def of_remainder(x, i):
    a, b = x, 2.5
    return a - ptx.inst.cvt.rmi.f32.f32(a / b) * b


def of_half(x, i):
    return ptx.inst.cvt.rn.f32.s32(reg.from_(i, s32)) * 0.5


def of_range_to_zero(x, i):
    rounds = reg.scalar(f32, init=0.0)
    for _ in ptx.range_(reg.from_(i, s32), -1, -1, dtype=s32):
        rounds += 1.0
    return rounds


def of_range_to_a_bound(x, i):
    rounds = reg.scalar(f32, init=0.0)
    for _ in ptx.range_(31, reg.from_(i, s32), -1):
        rounds += 1.0
    return rounds


def of_wide_range(x, i):
    rounds = reg.scalar(f32, init=0.0)
    first, last = reg.from_(reg.scalar(u64, init=1), s64), ptx.inst.cvt.s64.s32(reg.from_(i, s32))
    for _ in ptx.range_(first, last):
        rounds += 1.0
    return rounds


def of_bits(x, i):
    return x * reg.from_(reg.from_(x, b32), f32)


FOLLOWED: dict[Callable[..., object], np.ndarray] = {
    of_flag: np.where(X > 3, 1, X),
    of_product: np.where(X > 3, X, 0),
    of_sum: X + (X > 3),
    of_remainder: X % 2.5,
    of_half: X * 0.5,
    of_range_to_zero: X + 1,
    of_range_to_a_bound: 31 - X,
    of_wide_range: np.maximum(X - 1, 0),
    of_bits: X * X,
}


@pytest.mark.parametrize("cure", FOLLOWED, ids=lambda cure: cure.__name__)
def test_a_cure_that_is_followed_computes_what_was_meant(cure):
    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=32)
    def k(X, Y):
        i = thread()
        Y[i] = cure(X[i], i)

    np.testing.assert_array_equal(k(X), FOLLOWED[cure])


def test_arrays_by_their_names():
    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=32)
    def k(X, Y):
        i = thread()
        Y[i] = X[i]

    for call in (k, k.emulate):
        with pytest.raises(CallError) as caught:
            call(X=X)
        assert caught.value.problem == "k takes 1 arrays (X), not 0"
        assert caught.value.notes == (("help", "arrays are positional: k(X)"),)
    np.testing.assert_array_equal(k(X), X)


def test_the_largest_float_by_its_bits():
    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(1, s32, init=0),), block=32)
    def k(X, Y):
        ptx.inst.red.global_.max.s32(Y.address(0), reg.from_(X[thread()], b32))

    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(1, f32, init=0),), block=32)
    def wrong(X, Y):
        ptx.inst.red.global_.max.f32(Y.address(0), X[thread()])

    with pytest.raises(IsaError) as caught:
        wrong.ptx()
    assert caught.value.problem == "red.global.max has no modifier .f32 here"
    help_ = ("help", "of floats from 0 on, .s32 of their bits, reg.from_(v, b32), in a Tile of s32")
    assert caught.value.notes[-1] == help_
    np.testing.assert_array_equal(k(X).view(np.float32), [31])


def test_a_hash_with_products_of_32_bits():
    @kernel(in_specs=(Tile(32, u32),), out_specs=(Tile(32, u32),), block=32)
    def k(X, Y):
        i = thread()
        h = X[i]
        h = ptx.inst.mul.lo.u32(h ^ (h >> 16), 0x45D9F3B)
        Y[i] = h ^ (h >> 16)

    given = np.arange(32, dtype=np.uint32) * 2654435
    h = (given ^ (given >> 16)) * np.uint32(0x45D9F3B)
    np.testing.assert_array_equal(k(given), h ^ (h >> 16))


def test_pairs_stored_with_their_type():
    @kernel(in_specs=(Tile(64, f32),), out_specs=(Tile(64, e4m3),), block=32)
    def k(X, Y):
        i = ptx.inst.mul.lo.u32(thread(), 2)
        Y.store(i, ptx.from_f32([X[i], X[i + 1]], e4m3x2), dtype=e4m3x2)

    given = np.arange(64, dtype=np.float32) % 16
    np.testing.assert_array_equal(k(given).astype(np.float32), given)
