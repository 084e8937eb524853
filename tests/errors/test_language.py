"""Wrong registers, control flow and shared memory: the message says what is legal and how to write it."""

import math

import numpy as np

from pyptx import IsaError, LanguageError, kernel, ptx, reg, smem
from pyptx.types import b16, bf16, e4m3, f16, f16x2, f32, f64, pred, s8, s32, s64, u8, u16, u32, u64

from .cases import Collection

wrong = Collection()


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot branch on it
        if x == 0:
      help: with ptx.if_(predicate): ...   with ptx.while_(lambda: predicate): ...
      instead of and, or, not: predicates combine with &, | and ~: (r > 0) & (r < n)
    """,
)
def if_on_a_register():
    x = reg.scalar(u32, init=0)
    if x == 0:
        x += 1


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot branch on it
        while x:
      help: with ptx.if_(predicate): ...   with ptx.while_(lambda: predicate): ...
      instead of and, or, not: predicates combine with &, | and ~: (r > 0) & (r < n)
    """,
)
def while_on_a_register():
    x = reg.scalar(u32, init=0)
    while x:
        x += 1


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot branch on it
        return not x
      help: with ptx.if_(predicate): ...   with ptx.while_(lambda: predicate): ...
      instead of and, or, not: predicates combine with &, | and ~: (r > 0) & (r < n)
    """,
)
def not_of_a_register():
    x = reg.scalar(u32, init=0)
    return not x


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot branch on it
        return x in [y]
      help: with ptx.if_(predicate): ...   with ptx.while_(lambda: predicate): ...
      instead of and, or, not: predicates combine with &, | and ~: (r > 0) & (r < n)
    """,
)
def a_register_in_a_list():
    x, y = reg.scalar(u32, init=0), reg.scalar(u32, init=0)
    return x in [y]


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot branch on it
        with ptx.if_(0 < x < 3):
      help: with ptx.if_(predicate): ...   with ptx.while_(lambda: predicate): ...
      instead of and, or, not: predicates combine with &, | and ~: (r > 0) & (r < n)
    """,
)
def a_chained_comparison():
    x = reg.scalar(u32, init=0)
    with ptx.if_(0 < x < 3):
        pass


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot branch on it
        with ptx.if_(x > 0 and x < 3):
      help: with ptx.if_(predicate): ...   with ptx.while_(lambda: predicate): ...
      instead of and, or, not: predicates combine with &, | and ~: (r > 0) & (r < n)
    """,
)
def python_and_of_predicates():
    x = reg.scalar(u32, init=0)
    with ptx.if_(x > 0 and x < 3):
        pass


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so it is not a Python number
        for _ in range(x):
      help: for i in ptx.range_(stop): ...   loops over a bound in a register
    """,
)
def python_range_of_a_register():
    x = reg.scalar(u32, init=0)
    for _ in range(x):
        pass


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so it is not a Python number
        int(reg.scalar(u32, init=0))
      help: the register is an integer, .u32: leave int() out
    """,
)
def int_of_a_register():
    int(reg.scalar(u32, init=0))


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python's math cannot take it
        math.sqrt(reg.scalar(f32, init=0.0))
      help: ptx.math.exp(r), ptx.math.sqrt(r) and the like are made of instructions
    """,
)
def float_of_a_register():
    math.sqrt(reg.scalar(f32, init=0.0))


@wrong(
    LanguageError,
    """
    here: a register is not iterable
        a, b = reg.scalar(u32, init=0)
      help: reg.array(dtype, n) is a list of registers
    """,
)
def iterating_a_register():
    a, b = reg.scalar(u32, init=0)


@wrong(
    LanguageError,
    """
    here: registers cannot be indexed by a register
        reg.array(f32, 4)[x]
      help: keep the array in shared memory (smem.alloc) to index it
    """,
)
def indexing_registers_by_a_register():
    x = reg.scalar(u32, init=0)
    reg.array(f32, 4)[x]


@wrong(
    LanguageError,
    """
    here: index 4 is outside an array of 4 registers
        reg.array(f32, 4)[4]
    """,
)
def an_index_outside_of_an_array():
    reg.array(f32, 4)[4]


@wrong(
    LanguageError,
    """
    here: an array needs 1 to 1048576 registers, not 0
        reg.array(f32, 0)
    """,
)
def an_array_without_registers():
    reg.array(f32, 0)


@wrong(
    LanguageError,
    """
    here: 'f32' is not a PTX type
        reg.scalar("f32")
      help: from pyptx.types import f32, u32, ...
    """,
)
def a_type_that_is_none():
    reg.scalar("f32")


@wrong(
    LanguageError,
    """
    here: <class 'numpy.float32'> is not a PTX type
        reg.array(np.float32, 4)
      help: from pyptx.types import f32, u32, ...
    """,
)
def a_type_of_numpy():
    reg.array(np.float32, 4)


@wrong(
    IsaError,
    """
    here: mov.u32: a: -1 is out of range for .u32 (0 to 4294967295)
        reg.scalar(u32, init=-1)
      form: mov.u32  d, a
    """,
)
def a_first_value_that_does_not_fit():
    reg.scalar(u32, init=-1)


@wrong(
    IsaError,
    """
    here: mov.u32: a must be a .u32 register, not a .u64 one
        reg.scalar(u32, init=reg.scalar(u64, init=0))
      help: convert it: ptx.inst.cvt.u32.u64(r)
      form: mov.u32  d, a
    """,
)
def a_first_value_of_another_type():
    reg.scalar(u32, init=reg.scalar(u64, init=0))


@wrong(
    LanguageError,
    """
    here: '1.0' of type str cannot be an operand
        reg.scalar(f32, init="1.0")
      legal: a register, a number, a list of registers, ptx.addr(...), a label
      help: PTX as text goes through ptx.raw
    """,
)
def a_first_value_that_is_a_string():
    reg.scalar(f32, init="1.0")


@wrong(
    LanguageError,
    """
    here: PTX has no mov for .u8
        reg.scalar(u8, init=1)
      help: keep it in a 16- or 32-bit register; ld and st of .u8 convert
    """,
)
def a_mov_of_8_bits():
    reg.scalar(u8, init=1)


@wrong(
    LanguageError,
    """
    here: `+` of .u32 and .s32: both sides need one signedness
        reg.scalar(u32, init=0) + reg.scalar(s32, init=0)
      help: convert it: ptx.inst.cvt.u32.s32(r)
    """,
)
def signed_with_unsigned():
    reg.scalar(u32, init=0) + reg.scalar(s32, init=0)


@wrong(
    LanguageError,
    """
    here: `<` of .s64 and .u64: both sides need one signedness
        reg.scalar(s64, init=0) < reg.scalar(u64, init=0)
      help: convert it: ptx.inst.cvt.s64.u64(r)
    """,
)
def comparing_signed_with_unsigned():
    reg.scalar(s64, init=0) < reg.scalar(u64, init=0)


@wrong(
    LanguageError,
    """
    here: `+` of .u32 and .f32: both sides need one type
        reg.scalar(u32, init=0) + reg.scalar(f32, init=0.0)
      help: convert it: ptx.inst.cvt.rzi.u32.f32(r)
    """,
)
def integer_with_float():
    reg.scalar(u32, init=0) + reg.scalar(f32, init=0.0)


@wrong(
    LanguageError,
    """
    here: `*` of .f32 and .f64: both sides need one type
        reg.scalar(f32, init=0.0) * reg.scalar(f64, init=0.0)
      help: widen the .f32: ptx.inst.cvt.f64.f32(r)
    """,
)
def floats_of_two_types():
    reg.scalar(f32, init=0.0) * reg.scalar(f64, init=0.0)


@wrong(
    LanguageError,
    """
    here: `*` of .f32 and .f16: both sides need one type
        reg.scalar(f32, init=0.0) * reg.scalar(f16, init=0.0)
      help: widen the .f16: ptx.inst.cvt.f32.f16(r)
    """,
)
def half_with_single():
    reg.scalar(f32, init=0.0) * reg.scalar(f16, init=0.0)


@wrong(
    LanguageError,
    """
    here: `<` of .u64 and .u32: both sides need one type
        reg.scalar(u64, init=0) < reg.scalar(u32, init=0)
      help: convert it: ptx.inst.cvt.u64.u32(r)
    """,
)
def comparing_two_widths():
    reg.scalar(u64, init=0) < reg.scalar(u32, init=0)


@wrong(
    LanguageError,
    """
    here: `abs()` has no instruction for .u32
        abs(reg.scalar(u32, init=1) - 8)
      help: an unsigned number is not negative; for signed bits, reg.from_(r, s32)
    """,
)
def abs_of_an_unsigned_number():
    abs(reg.scalar(u32, init=1) - 8)


@wrong(
    LanguageError,
    """
    here: `/` has no instruction for .u32
        reg.scalar(u32, init=0) / 3
      help: `//` is the integer division; for a float quotient convert with ptx.inst.cvt first
    """,
)
def true_division_of_integers():
    reg.scalar(u32, init=0) / 3


@wrong(
    LanguageError,
    """
    here: `//` has no instruction for .f32
        reg.scalar(f32, init=0.0) // 3
      help: ptx.inst.cvt.rmi.f32.f32(a / b) rounds down
    """,
)
def floor_division_of_floats():
    reg.scalar(f32, init=0.0) // 3


@wrong(
    LanguageError,
    """
    here: `/` has no instruction for .f16
        reg.scalar(f16, init=0.0) / 3
      help: divide in f32: ptx.inst.cvt.f32.f16(r), and back with cvt.rn.f16.f32
    """,
)
def division_of_halves():
    reg.scalar(f16, init=0.0) / 3


@wrong(
    LanguageError,
    """
    here: `&` has no instruction for .f32
        reg.scalar(f32, init=0.0) & 3
      help: copy the bits first: reg.from_(r, b32)
    """,
)
def bits_of_a_float():
    reg.scalar(f32, init=0.0) & 3


@wrong(
    LanguageError,
    """
    here: `<<` has no instruction for .f64
        reg.scalar(f64, init=0.0) << 3
      help: copy the bits first: reg.from_(r, b64)
    """,
)
def shifting_a_float():
    reg.scalar(f64, init=0.0) << 3


@wrong(
    LanguageError,
    """
    here: `<<` by a .u64 register: the amount is a 32-bit integer
        reg.scalar(u64, init=0) << reg.scalar(u64, init=0)
      help: convert it: ptx.inst.cvt.u32.u64(r)
    """,
)
def shifting_by_64_bits():
    reg.scalar(u64, init=0) << reg.scalar(u64, init=0)


@wrong(
    LanguageError,
    """
    here: `+` has no instruction for .s8
        x + x
      help: widen first: ptx.inst.cvt.s32.s8(r)
    """,
)
def arithmetic_on_8_bits():
    x = ptx.inst.ld.global_.s8(reg.scalar(s8), ptx.addr(reg.from_(0, u64)))
    x + x


@wrong(
    LanguageError,
    """
    here: `+` has no instruction for .pred
        (x == 0) + (x == 1)
      help: predicates have `&`, `|`, `^` and `~`; a number is ptx.inst.selp.s32(1, 0, p)
    """,
)
def adding_predicates():
    x = reg.scalar(u32, init=0)
    (x == 0) + (x == 1)


@wrong(
    LanguageError,
    """
    here: 1.5 is not an integer, and .u32 is a type of integers
        reg.scalar(u32, init=0) + 1.5
      help: compute in f32: ptx.inst.cvt.rn.f32.u32(r) + v
    """,
)
def a_float_added_to_an_integer():
    reg.scalar(u32, init=0) + 1.5


@wrong(
    LanguageError,
    """
    here: 1099511627776 is out of range for .u32 (0 to 4294967295)
        reg.scalar(u32, init=0) + 2**40
    """,
)
def a_constant_that_does_not_fit_the_register():
    reg.scalar(u32, init=0) + 2**40


@wrong(
    LanguageError,
    """
    here: -1 is out of range for .u32 (0 to 4294967295)
        reg.scalar(u32, init=0) + -1
      help: r - 1
    """,
)
def a_negative_constant_beside_an_unsigned_register():
    reg.scalar(u32, init=0) + -1


@wrong(
    LanguageError,
    """
    here: `+` takes a register or a number, not '1' of type str
        reg.scalar(u32, init=0) + "1"
    """,
)
def a_string_beside_a_register():
    reg.scalar(u32, init=0) + "1"


@wrong(
    LanguageError,
    """
    here: `==` takes a register or a number, not None
        reg.scalar(u32, init=0) == None
    """,
)
def none_beside_a_register():
    reg.scalar(u32, init=0) == None


@wrong(
    LanguageError,
    """
    here: `+` takes a register or a number, not True of type bool
        reg.scalar(u32, init=0) + True
      help: write 1
    """,
)
def a_bool_beside_a_register():
    reg.scalar(u32, init=0) + True


@wrong(
    LanguageError,
    """
    here: `*` takes a register or a number, not [1, 2] of type list
        reg.scalar(u32, init=0) * [1, 2]
      help: each of its registers alone: values[0]
    """,
)
def a_list_beside_a_register():
    reg.scalar(u32, init=0) * [1, 2]


@wrong(
    LanguageError,
    """
    here: `+=` cannot put a 64-bit result into a .u32 register
        x += reg.scalar(u64, init=0)
      help: r += ptx.inst.cvt.u32.u64(other) has its lower half
      help: r = r + other makes a new register
    """,
)
def a_product_into_a_narrower_register():
    x = reg.scalar(u32, init=0)
    x += reg.scalar(u64, init=0)


@wrong(
    IsaError,
    """
    here: shl.b64: b must be a .u32 register, not a .u64 one
        1 << reg.scalar(u64, init=0)
      help: convert it: ptx.inst.cvt.u32.u64(r)
      form: shl.b64  d, a, b
    """,
)
def a_shift_of_a_number_by_64_bits():
    1 << reg.scalar(u64, init=0)


@wrong(
    LanguageError,
    """
    here: `**` is no instruction
        reg.scalar(f32, init=0.0) ** 2
      help: write r * r, or ptx.inst.ex2.approx.f32 and ptx.inst.lg2.approx.f32
    """,
)
def power_of_a_register():
    reg.scalar(f32, init=0.0) ** 2


@wrong(
    LanguageError,
    """
    here: add.u32 reads a .u32 register that nothing has set
        x + 1
      help: reg.scalar(u32, init=...) sets it
    """,
)
def a_register_that_nothing_has_set():
    x = reg.scalar(u32)
    x + 1


@wrong(
    LanguageError,
    """
    here: add.u32 reads a .u32 register that nothing has set
        ptx.inst.add.u32(y, x, 1)
      help: reg.scalar(u32, init=...) sets it
    """,
)
def a_register_that_is_set_only_in_a_later_branch():
    x, y = reg.scalar(u32), reg.scalar(u32, init=0)
    with ptx.if_(y == 0):
        ptx.inst.add.u32(y, x, 1)
    with ptx.else_():
        ptx.inst.mov.u32(x, 1)


@wrong(
    LanguageError,
    """
    here: bra reads a .pred register that nothing has set
        with ptx.if_(p):
      help: reg.scalar(pred, init=...) sets it
    """,
)
def a_predicate_that_nothing_has_set():
    p = reg.scalar(pred)
    with ptx.if_(p):
        pass


@wrong(
    LanguageError,
    """
    here: ld.global.f32 reads a .u64 register that nothing has set
        ptx.inst.ld.global_.f32(ptx.addr(p))
      help: reg.scalar(u64, init=...) sets it
    """,
)
def a_tensor_pointer_that_nothing_has_set():
    p = reg.scalar(u64)
    ptx.inst.ld.global_.f32(ptx.addr(p))


@wrong(
    LanguageError,
    """
    here: a predicate is needed, not a .u32 register
        with ptx.if_(reg.scalar(u32, init=0)):
      help: compare first: p = r != 0, then ptx.if_(p) or pred=p or pred=~p
    """,
)
def if_without_a_predicate():
    with ptx.if_(reg.scalar(u32, init=0)):
        pass


@wrong(
    LanguageError,
    """
    here: a predicate is needed, not True of type bool
        with ptx.if_(True):
      help: compare first: p = r != 0, then ptx.if_(p) or pred=p or pred=~p
    """,
)
def if_of_a_python_bool():
    with ptx.if_(True):
        pass


@wrong(
    LanguageError,
    """
    here: a predicate is needed, not None
        with ptx.if_(None):
      help: compare first: p = r != 0, then ptx.if_(p) or pred=p or pred=~p
    """,
)
def if_of_none():
    with ptx.if_(None):
        pass


@wrong(
    LanguageError,
    """
    here: ptx.else_ does not follow a ptx.if_ directly
        with ptx.else_():
      help: with ptx.if_(p): ...   with ptx.else_(): ...   with nothing between
    """,
)
def else_without_if():
    with ptx.else_():
        pass


@wrong(
    LanguageError,
    """
    here: ptx.else_ does not follow a ptx.if_ directly
        with ptx.else_():
      help: with ptx.if_(p): ...   with ptx.else_(): ...   with nothing between
    """,
)
def else_after_something_else():
    x = reg.scalar(u32, init=0)
    with ptx.if_(x == 0):
        x += 1
    x += 2
    with ptx.else_():
        x += 3


@wrong(
    LanguageError,
    """
    here: ptx.else_ does not follow a ptx.if_ directly
        with ptx.else_():
      help: with ptx.if_(p): ...   with ptx.else_(): ...   with nothing between
    """,
)
def else_twice():
    x = reg.scalar(u32, init=0)
    with ptx.if_(x == 0):
        x += 1
    with ptx.else_():
        x += 2
    with ptx.else_():
        x += 3


@wrong(
    LanguageError,
    """
    here: ptx.else_ does not follow a ptx.if_ directly
        with ptx.else_():
      help: with ptx.if_(p): ...   with ptx.else_(): ...   with nothing between
    """,
)
def else_inside_of_the_if():
    x = reg.scalar(u32, init=0)
    with ptx.if_(x == 0):
        with ptx.else_():
            x += 3


@wrong(
    LanguageError,
    """
    here: ptx.break_ stands outside every loop
        ptx.break_()
      legal in: ptx.loop, ptx.while_, ptx.range_
    """,
)
def break_outside_of_a_loop():
    x = reg.scalar(u32, init=0)
    with ptx.if_(x == 0):
        ptx.break_()


@wrong(
    LanguageError,
    """
    here: ptx.continue_ stands outside every loop
        ptx.continue_()
      legal in: ptx.loop, ptx.while_, ptx.range_
    """,
)
def continue_outside_of_a_loop():
    ptx.continue_()


@wrong(
    LanguageError,
    """
    here: `break` or `return` left a ptx.range_ loop while it was being traced
        for i in ptx.range_(4):
      help: ptx.break_(pred=p) leaves the loop when the kernel runs
    """,
)
def python_break_out_of_a_range():
    x = reg.scalar(u32, init=0)
    for i in ptx.range_(4):
        x += 1
        break


@wrong(
    LanguageError,
    """
    here: `break` or `return` left a ptx.range_ loop while it was being traced
        for i in ptx.range_(4):
      help: ptx.break_(pred=p) leaves the loop when the kernel runs
    """,
)
def python_return_out_of_a_range():
    for i in ptx.range_(4):
        return


@wrong(
    LanguageError,
    """
    here: the bounds of ptx.range_ are .s32 and .u32; one integer type is needed
        for _ in ptx.range_(x, y):
      help: the .u32 bound: reg.from_(r, s32)
    """,
)
def a_range_whose_bounds_differ():
    x, y = reg.scalar(u32, init=0), reg.scalar(s32, init=0)
    for _ in ptx.range_(x, y):
        pass


@wrong(
    LanguageError,
    """
    here: the bounds of ptx.range_ are .u32 and .u64; one integer type is needed
        for _ in ptx.range_(reg.scalar(u32, init=0), reg.scalar(u64, init=9)):
      help: the .u32 bound: ptx.inst.cvt.u64.u32(r)
    """,
)
def a_range_whose_bounds_differ_in_width():
    for _ in ptx.range_(reg.scalar(u32, init=0), reg.scalar(u64, init=9)):
        pass


@wrong(
    LanguageError,
    """
    here: the bounds of ptx.range_ are .f32; one integer type is needed
        for _ in ptx.range_(reg.scalar(f32, init=0.0)):
      help: the .f32 bound: ptx.inst.cvt.rzi.s32.f32(r)
    """,
)
def a_range_over_floats():
    for _ in ptx.range_(reg.scalar(f32, init=0.0)):
        pass


@wrong(
    LanguageError,
    """
    here: the step of ptx.range_ is a Python int other than 0, not 0
        for _ in ptx.range_(0, 4, 0):
    """,
)
def a_range_with_a_step_of_zero():
    for _ in ptx.range_(0, 4, 0):
        pass


@wrong(
    LanguageError,
    """
    here: the step of ptx.range_ is a Python int other than 0, not <register 0 .u32>
        for _ in ptx.range_(0, 4, reg.scalar(u32, init=1)):
    """,
)
def a_range_with_a_step_in_a_register():
    for _ in ptx.range_(0, 4, reg.scalar(u32, init=1)):
        pass


@wrong(
    LanguageError,
    """
    here: a bound of ptx.range_ is an int or a register, not 4.5
        for _ in ptx.range_(0, 4.5):
    """,
)
def a_range_with_a_float_bound():
    for _ in ptx.range_(0, 4.5):
        pass


@wrong(
    LanguageError,
    """
    here: ptx.range_ counts in .s32 here and stops at 1099511627776
        for _ in ptx.range_(2**40):
      legal: -2147483648 to 2147483647
      help: count in 64 bits: dtype=s64
    """,
)
def a_range_that_does_not_fit_its_type():
    for _ in ptx.range_(2**40):
        pass


@wrong(
    LanguageError,
    """
    here: this loop never ends: nothing in its body sets its predicate, and nothing leaves it
        with ptx.loop("again", pred=x < 4):
      help: compare in every round: ptx.loop(pred=lambda: i < n)
    """,
)
def a_loop_whose_predicate_never_changes():
    x = reg.scalar(u32, init=0)
    with ptx.loop("again", pred=x < 4):
        x += 1


@wrong(
    LanguageError,
    """
    here: this loop never ends: nothing in its body sets its predicate, and nothing leaves it
        with ptx.while_(x < 4):
      help: compare in every round: ptx.while_(lambda: i < n)
    """,
)
def a_while_whose_predicate_never_changes():
    x = reg.scalar(u32, init=0)
    with ptx.while_(x < 4):
        x += 1


@wrong(
    LanguageError,
    """
    here: a predicate is needed, not a .u32 register
        with ptx.while_(lambda: x):
      help: compare first: p = r != 0, then ptx.if_(p) or pred=p or pred=~p
    """,
)
def a_condition_that_is_no_predicate():
    x = reg.scalar(u32, init=0)
    with ptx.while_(lambda: x):
        x += 1


@wrong(
    LanguageError,
    """
    here: this branches to a label that is placed nowhere
        ptx.bra(ptx.label())
      help: ptx.place(label) or ptx.label(name) puts it into the body
    """,
)
def a_label_that_is_placed_nowhere():
    ptx.bra(ptx.label())


@wrong(
    LanguageError,
    """
    here: the label stands in the body already
        ptx.place(here)
    """,
)
def a_label_that_is_placed_twice():
    here = ptx.label()
    ptx.place(here)
    ptx.place(here)


@wrong(
    LanguageError,
    """
    here: this branches to a label that is placed nowhere
        ptx.bra("again")
      help: ptx.place(label) or ptx.label(name) puts it into the body
    """,
)
def a_label_whose_name_stands_nowhere():
    ptx.bra("again")


@wrong(
    LanguageError,
    """
    here: the label stands in the body already
        ptx.label("again")
    """,
)
def a_name_of_a_label_twice():
    ptx.label("again")
    ptx.bra("again")
    ptx.label("again")


@wrong(
    IsaError,
    """
    here: bra: target must be a label, not the constant 3
        ptx.bra(3)
      form: bra  target
    """,
)
def a_branch_to_a_number():
    ptx.bra(3)


@wrong(
    LanguageError,
    """
    here: width=12 is not a number of lanes that a reduction has
        ptx.warp.reduce_sum(reg.scalar(u32, init=0), width=12)
      legal: 2 4 8 16 32
    """,
)
def a_reduction_over_twelve_lanes():
    ptx.warp.reduce_sum(reg.scalar(u32, init=0), width=12)


@wrong(
    LanguageError,
    """
    here: ptx.place takes a label, not 'again'
        ptx.place("again")
      help: again = ptx.label()
    """,
)
def placing_something_else():
    ptx.place("again")


@wrong(
    LanguageError,
    """
    here: shared memory of shape (4, 4) takes 2 indices, not 3
        smem.alloc(f32, (4, 4))[0, 0, 0]
      help: s[i, j]
    """,
)
def the_wrong_number_of_indices():
    smem.alloc(f32, (4, 4))[0, 0, 0]


@wrong(
    LanguageError,
    """
    here: shared memory of shape (4, 4) takes 2 indices, not 1
        smem.alloc(f32, (4, 4))[0] = 1.0
      help: s[i, j]
    """,
)
def a_part_of_shared_memory_is_stored_to():
    smem.alloc(f32, (4, 4))[0] = 1.0


@wrong(
    LanguageError,
    """
    here: index 4 is outside shared memory of shape (4, 4)
        smem.alloc(f32, (4, 4))[0, 4]
      legal: 0 to 3
    """,
)
def an_index_outside_of_shared_memory():
    smem.alloc(f32, (4, 4))[0, 4]


@wrong(
    LanguageError,
    """
    here: index -1 is outside shared memory of shape (4, 4)
        smem.alloc(f32, (4, 4))[-1, 0]
      legal: 0 to 3
    """,
)
def a_negative_index_of_shared_memory():
    smem.alloc(f32, (4, 4))[-1, 0]


@wrong(
    LanguageError,
    """
    here: an index of shared memory is a 32-bit integer, not .u64
        smem.alloc(f32, 4)[reg.scalar(u64, init=0)]
      help: convert it: ptx.inst.cvt.u32.u64(r)
    """,
)
def an_index_of_64_bits():
    smem.alloc(f32, 4)[reg.scalar(u64, init=0)]


@wrong(
    LanguageError,
    """
    here: an index of shared memory is a 32-bit integer, not .f32
        smem.alloc(f32, 4)[reg.scalar(f32, init=0.0)]
      help: convert it: ptx.inst.cvt.rzi.u32.f32(r)
    """,
)
def an_index_that_is_a_float():
    smem.alloc(f32, 4)[reg.scalar(f32, init=0.0)]


@wrong(
    LanguageError,
    """
    here: an index of shared memory is an int or a register, not '0'
        smem.alloc(f32, 4)["0"]
    """,
)
def an_index_that_is_a_string():
    smem.alloc(f32, 4)["0"]


@wrong(
    LanguageError,
    """
    here: an index of shared memory is an int or a register, not slice(1, 2, None)
        smem.alloc(f32, 4)[1:2]
      help: for i in ptx.range_(thread, n, threads): ... tile[i] = v
    """,
)
def a_slice_of_shared_memory():
    smem.alloc(f32, 4)[1:2]


@wrong(
    LanguageError,
    """
    here: shared memory holds .f32, and the value is .f64
        smem.alloc(f32, 4)[0] = reg.scalar(f64, init=0.0)
      help: convert it: ptx.inst.cvt.rn.f32.f64(r)
    """,
)
def storing_another_type():
    smem.alloc(f32, 4)[0] = reg.scalar(f64, init=0.0)


@wrong(
    LanguageError,
    """
    here: shared memory holds .f32, and the value is .u32
        smem.alloc(f32, 4)[0] = reg.scalar(u32, init=0)
      help: convert it: ptx.inst.cvt.rn.f32.u32(r)
    """,
)
def storing_an_integer_register_into_floats():
    smem.alloc(f32, 4)[0] = reg.scalar(u32, init=0)


@wrong(
    LanguageError,
    """
    here: shared memory holds .f16, and the value is .f32
        smem.alloc(f16, 4)[0] = reg.scalar(f32, init=1)
      help: convert it: ptx.inst.cvt.rn.f16.f32(r)
    """,
)
def storing_a_wide_float_into_halves():
    smem.alloc(f16, 4)[0] = reg.scalar(f32, init=1)


@wrong(
    LanguageError,
    """
    here: shared memory holds .f16, and the value is .u32
        smem.alloc(f16, 4)[0] = reg.scalar(u32, init=1)
      help: convert it: ptx.inst.cvt.rn.f16.u32(r)
    """,
)
def storing_an_integer_into_halves():
    smem.alloc(f16, 4)[0] = reg.scalar(u32, init=1)


@wrong(
    LanguageError,
    """
    here: shared memory holds .f16, and the value is .u16
        smem.alloc(f16, 4)[0] = reg.scalar(u16, init=1)
      help: convert it: ptx.inst.cvt.rn.f16.u16(r)
    """,
)
def storing_an_integer_of_16_bits_into_halves():
    smem.alloc(f16, 4)[0] = reg.scalar(u16, init=1)


@wrong(
    LanguageError,
    """
    here: shared memory holds .bf16, and the value is .f16
        smem.alloc(bf16, 4)[0] = reg.scalar(f16, init=1)
      help: convert it: ptx.inst.cvt.rn.bf16.f16(r)
    """,
)
def storing_the_other_type_of_16_bits():
    smem.alloc(bf16, 4)[0] = reg.scalar(f16, init=1)


@wrong(
    LanguageError,
    """
    here: shared memory holds .u16, and the value is .u32
        smem.alloc(u16, 4)[0] = reg.scalar(u32, init=1)
      help: convert it: ptx.inst.cvt.u16.u32(r)
    """,
)
def storing_a_wider_integer():
    smem.alloc(u16, 4)[0] = reg.scalar(u32, init=1)


@wrong(
    LanguageError,
    """
    here: shared memory holds .f16x2, and the value is .u32
        smem.alloc(f16x2, 4)[0] = reg.scalar(u32, init=1)
      help: copy its bits: reg.from_(r, f16x2)
    """,
)
def storing_an_integer_into_pairs():
    smem.alloc(f16x2, 4)[0] = reg.scalar(u32, init=1)


@wrong(
    LanguageError,
    """
    here: shared memory holds .b16, and the value is .u32
        smem.alloc(b16, 4)[0] = reg.scalar(u32, init=1)
      help: convert it: ptx.inst.cvt.u16.u32(r)
    """,
)
def storing_too_many_bits():
    smem.alloc(b16, 4)[0] = reg.scalar(u32, init=1)


@wrong(
    LanguageError,
    """
    here: shared memory holds .f16, and the value is .f16x2
        smem.alloc(f16, (4, 4))[0, 0] = reg.scalar(f16x2, init=1)
      help: s.view(f16x2)[i, j] = v stores all its numbers
    """,
)
def storing_a_pair_as_one_element():
    smem.alloc(f16, (4, 4))[0, 0] = reg.scalar(f16x2, init=1)


@wrong(
    LanguageError,
    """
    here: shared memory holds .e4m3, and the value is .f32
        smem.alloc(e4m3, 4)[0] = reg.scalar(f32, init=1)
      help: two at once: s.view(e4m3x2)[i] = ptx.from_f32([a, b], e4m3x2)
    """,
)
def storing_a_float_into_eight_bits():
    smem.alloc(e4m3, 4)[0] = reg.scalar(f32, init=1)


@wrong(
    LanguageError,
    """
    here: shared memory holds .u8, and the value is .f16x2
        smem.alloc(u8, 4)[0] = reg.scalar(f16x2, init=1)
      help: make a register of the type: reg.scalar(u8)
    """,
)
def storing_a_pair_into_bytes():
    smem.alloc(u8, 4)[0] = reg.scalar(f16x2, init=1)


@wrong(
    LanguageError,
    """
    here: shared memory holds .u8: 300 is out of range for .u8 (0 to 255)
        smem.alloc(u8, 4)[0] = 300
    """,
)
def storing_a_number_beyond_a_byte():
    smem.alloc(u8, 4)[0] = 300


@wrong(
    LanguageError,
    """
    here: smem.store writes .f16, and the value is .f32
        smem.store(f16, smem.base(), reg.scalar(f32, init=1))
      help: convert it: ptx.inst.cvt.rn.f16.f32(r)
    """,
)
def storing_another_type_at_an_address():
    smem.store(f16, smem.base(), reg.scalar(f32, init=1))


@wrong(
    LanguageError,
    """
    here: a register holds one value, not [1] of type list
        reg.scalar(f32, init=[1])
      help: 1 without the brackets, or reg.array(f32, n)
    """,
)
def a_register_of_a_list():
    reg.scalar(f32, init=[1])


@wrong(
    LanguageError,
    """
    here: a register holds one value, not (1.5,) of type tuple
        reg.from_((1.5,), f32)
      help: 1.5 without the brackets, or reg.array(f32, n)
    """,
)
def a_register_from_a_tuple():
    reg.from_((1.5,), f32)


@wrong(
    LanguageError,
    """
    here: '1' of type str cannot be an operand
        smem.alloc(f32, 4)[0] = "1"
      legal: a register, a number, a list of registers, ptx.addr(...), a label
      help: PTX as text goes through ptx.raw
    """,
)
def storing_a_string():
    smem.alloc(f32, 4)[0] = "1"


@wrong(
    LanguageError,
    """
    here: shared memory needs positive Python ints as its shape, not (4, 0)
        smem.alloc(f32, (4, 0))
      help: smem.alloc(f32, (rows, columns)); its size is known before a launch
    """,
)
def shared_memory_without_elements():
    smem.alloc(f32, (4, 0))


@wrong(
    LanguageError,
    """
    here: shared memory needs positive Python ints as its shape, not <register 0 .u32>
        smem.alloc(f32, reg.scalar(u32, init=4))
      help: smem.alloc(f32, (rows, columns)); its size is known before a launch
    """,
)
def shared_memory_of_a_size_in_a_register():
    smem.alloc(f32, reg.scalar(u32, init=4))


@wrong(
    LanguageError,
    """
    here: shared memory needs positive Python ints as its shape, not 4.0
        smem.alloc(f32, 4.0)
      help: smem.alloc(f32, (rows, columns)); its size is known before a launch
    """,
)
def shared_memory_of_a_float_size():
    smem.alloc(f32, 4.0)


@wrong(
    LanguageError,
    """
    here: shared memory cannot hold .pred
        smem.alloc(pred, 4)
      help: store 0 or 1: ptx.inst.selp.u32(1, 0, p)
    """,
)
def shared_memory_of_predicates():
    smem.alloc(pred, 4)


@wrong(
    LanguageError,
    """
    here: 'f32' is not a PTX type
        smem.alloc("f32", 4)
      help: from pyptx.types import f32, u32, ...
    """,
)
def shared_memory_of_no_type():
    smem.alloc("f32", 4)


@wrong(
    LanguageError,
    """
    here: align=12 is not a power of two of at least 4 bytes
        smem.alloc(f32, 4, align=12)
    """,
)
def an_alignment_that_is_no_power_of_two():
    smem.alloc(f32, 4, align=12)


@wrong(
    LanguageError,
    """
    here: shared memory is not iterable
        for _ in smem.alloc(f32, 4):
      help: for i in range(n): ... tile[i]   or   for i in ptx.range_(n)
    """,
)
def iterating_shared_memory():
    for _ in smem.alloc(f32, 4):
        pass


@wrong(
    LanguageError,
    """
    here: X is a tensor, not an operand
        ptx.inst.ld.global_.f32(X)
      help: p, = ptx.global_ptrs(X) gives its global address
    """,
)
def a_tensor_as_an_operand(X):
    ptx.inst.ld.global_.f32(X)


@wrong(
    LanguageError,
    """
    here: ptx.global_ptrs takes tensors of the kernel, not <register 0 .u64>
        ptx.global_ptrs(reg.scalar(u64, init=0))
    """,
)
def pointers_of_something_else():
    ptx.global_ptrs(reg.scalar(u64, init=0))


@wrong(
    LanguageError,
    """
    here: the offset of an address is a Python integer, not a .u64 register
        ptx.addr(x, x)
      help: add a register to the base: ptx.addr(base + register)
    """,
)
def an_offset_in_a_register():
    x = reg.scalar(u64, init=0)
    ptx.addr(x, x)


@wrong(
    LanguageError,
    """
    here: the offset of an address is a Python integer, not 1.5 of type float
        ptx.addr(reg.scalar(u64, init=0), 1.5)
    """,
)
def an_offset_that_is_a_float():
    ptx.addr(reg.scalar(u64, init=0), 1.5)


@wrong(
    LanguageError,
    """
    here: 'X' of type str cannot be an operand
        ptx.addr("X")
      legal: a register, a number, a list of registers, ptx.addr(...), a label
      help: PTX as text goes through ptx.raw
    """,
)
def an_address_of_a_string():
    ptx.addr("X")


@wrong(
    LanguageError,
    """
    here: ptx.warp.reduce_sum has no instruction for .pred
        ptx.warp.reduce_sum(reg.scalar(u32, init=0) == 0)
      legal: u32 s32 u64 s64 f16 bf16 f32 f64 f16x2 bf16x2
    """,
)
def reducing_a_predicate():
    ptx.warp.reduce_sum(reg.scalar(u32, init=0) == 0)


@wrong(
    LanguageError,
    """
    here: ptx.warp.reduce_max takes a register that it writes, not 3
        ptx.warp.reduce_max(3)
    """,
)
def reducing_a_number():
    ptx.warp.reduce_max(3)


@wrong(
    LanguageError,
    """
    here: ptx.warp.reduce_min has no instruction for .u16
        ptx.warp.reduce_min(reg.scalar(u16, init=0))
      legal: u32 s32 u64 s64 f16 bf16 f32 f64 f16x2 bf16x2
    """,
)
def reducing_16_bit_integers():
    ptx.warp.reduce_min(reg.scalar(u16, init=0))


@wrong(
    LanguageError,
    """
    here: a predicate is needed, not a .u32 register
        ptx.inst.add.u32(x, x, 1, pred=x)
      help: compare first: p = r != 0, then ptx.if_(p) or pred=p or pred=~p
    """,
)
def guarding_by_a_register():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, 1, pred=x)


@wrong(
    LanguageError,
    """
    here: a predicate is needed, not False of type bool
        ptx.inst.add.u32(x, x, 1, pred=False)
      help: compare first: p = r != 0, then ptx.if_(p) or pred=p or pred=~p
    """,
)
def guarding_by_a_bool():
    x = reg.scalar(u32, init=0)
    ptx.inst.add.u32(x, x, 1, pred=False)


@wrong(
    IsaError,
    """
    here: bar.sync: a must be 0 to 15, not 16
        ptx.bar.sync(16)
      form: bar.sync  a, {b}
    """,
)
def a_barrier_number_that_ptx_does_not_have():
    ptx.bar.sync(16)


@wrong(
    LanguageError,
    """
    here: ptx.pair takes two registers or ptx.sink, not 1
        ptx.pair(1, 2)
    """,
)
def a_pair_of_numbers():
    ptx.pair(1, 2)


@wrong(
    LanguageError,
    """
    here: an exception left ptx.if_ while it was being traced, and was caught
        with ptx.if_(x == 0):
      help: catch it inside of the block, or let it end the trace
    """,
)
def a_loop_left_by_an_exception():
    x = reg.scalar(u32, init=0)
    try:
        with ptx.if_(x == 0):
            raise KeyError
    except KeyError:
        pass
    x += 1


@wrong.parametrize()
def test_the_whole_message(wrong):
    wrong.check(lambda: kernel(**wrong.options)(wrong.program).ptx())
