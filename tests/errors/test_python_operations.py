"""What Python does with numbers and lists, done to registers and memory: what to write instead."""

import copy
import dataclasses
import math

import numpy as np

from pyptx import LanguageError, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, pred, s32

from .cases import Collection

wrong = Collection()


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        total = X + X
      help: Y[i] = X[i] + W[i]   for each index i that the thread has
    """,
)
def a_sum_of_tensors(X):
    total = X + X


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        twice = 2 * X
      help: Y[i] = X[i] + W[i]   for each index i that the thread has
    """,
)
def a_product_of_a_number_and_a_tensor(X):
    twice = 2 * X


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        less = -X
      help: Y[i] = X[i] + W[i]   for each index i that the thread has
    """,
)
def a_negated_tensor(X):
    less = -X


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        smaller = X < X
      help: Y[i] = X[i] + W[i]   for each index i that the thread has
    """,
)
def tensors_compared(X):
    smaller = X < X


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        zero = X == 0
      help: p = X[i] == 0   for an index i that the thread has
    """,
)
def a_tensor_compared_with_a_number(X):
    zero = X == 0


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        other = X != X[0]
      help: p = X[i] == 0   for an index i that the thread has
    """,
)
def a_tensor_that_is_not_a_register(X):
    other = X != X[0]


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        one = 1 == tile
      help: p = X[i] == 0   for an index i that the thread has
    """,
)
def a_number_compared_with_shared_memory(X):
    tile = smem.alloc(f32, 4)
    one = 1 == tile


@wrong(
    LanguageError,
    """
    here: `==` has no instruction for .pred
        one = ~p == 1
      help: predicates have `&`, `|`, `^` and `~`; a number is ptx.inst.selp.s32(1, 0, p)
    """,
)
def a_negated_predicate_that_is_one(X):
    p = X[0] == 0.0
    one = ~p == 1


@wrong(
    LanguageError,
    """
    here: `!=` has no instruction for .pred
        one = 1 != ~p
      help: predicates have `&`, `|`, `^` and `~`; a number is ptx.inst.selp.s32(1, 0, p)
    """,
)
def a_number_that_is_no_negated_predicate(X):
    p = X[0] == 0.0
    one = 1 != ~p


@wrong(
    LanguageError,
    """
    here: memory has no arithmetic: a thread loads an element and computes with that
        product = X @ X
      help: Y[i] = X[i] + W[i]   for each index i that the thread has
    """,
)
def a_matrix_product_of_tensors(X):
    product = X @ X


@wrong(
    LanguageError,
    """
    here: a tensor has no len(): its sizes are its shape
        size = len(X)
      help: X.shape[0]
    """,
)
def the_length_of_a_tensor(X):
    size = len(X)


@wrong(
    LanguageError,
    """
    here: a tensor is no number: its sizes are its shape
        rounds = range(X)
      help: range(X.shape[0]), or ptx.range_(X.shape[0])
    """,
)
def a_range_of_a_tensor(X):
    rounds = range(X)


@wrong(
    LanguageError,
    """
    here: an element of memory cannot be deleted
        del X[0]
      help: Y[i] = 0 stores a number
    """,
)
def a_deleted_element(X):
    del X[0]


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot round it
        whole = round(X[0])
      help: ptx.inst.cvt.rni.f32.f32(r) rounds to even, .rmi down, .rpi up and .rzi towards zero
    """,
)
def a_register_rounded(X):
    whole = round(X[0])


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot format it
        said = f"{X[0]:.3f}"
      help: ptx.printf("%d\\n", r)   prints when the kernel runs
    """,
)
def a_register_formatted(X):
    said = f"{X[0]:.3f}"


@wrong(
    LanguageError,
    """
    here: divmod has no instruction
        pair = divmod(X[0], 3)
      help: r // n and r % n
    """,
)
def divmod_of_a_register(X):
    pair = divmod(X[0], 3)


@wrong(
    LanguageError,
    """
    here: a register has no elements
        element = X[0][1]
      help: x = reg.array(f32, 4) has registers x[0] to x[3]; smem.alloc(f32, 4) is indexed by one
    """,
)
def an_element_of_a_register(X):
    element = X[0][1]


@wrong(
    LanguageError,
    """
    here: a register has no elements
        X[0][1] = 2.0
      help: x = reg.array(f32, 4) has registers x[0] to x[3]; smem.alloc(f32, 4) is indexed by one
    """,
)
def an_element_of_a_register_that_is_set(X):
    X[0][1] = 2.0


@wrong(
    LanguageError,
    """
    here: a register is not called
        value = X[0]()
      help: i = ptx.special.tid.x() is the register, so write i
    """,
)
def a_register_that_is_called(X):
    value = X[0]()


@wrong(
    LanguageError,
    """
    here: a copy by Python's copy module would be the same register
        value = copy.deepcopy([X[0]])
      help: reg.from_(r, f32) is a copy, another register
    """,
)
def a_copied_list_of_registers(X):
    value = copy.deepcopy([X[0]])


@wrong(
    LanguageError,
    """
    here: a copy by Python's copy module would be the same register
        value = copy.copy(X[0])
      help: reg.from_(r, f32) is a copy, another register
    """,
)
def a_copied_register(X):
    value = copy.copy(X[0])


@wrong(
    LanguageError,
    """
    here: `@` has no instruction for registers: a thread multiplies numbers, and a warp matrices
        value = X[0] @ X[1]
      help: a * b, or ptx.mma.sync(...) of the fragments of two matrices
    """,
)
def a_matrix_product_of_registers(X):
    value = X[0] @ X[1]


@wrong(
    LanguageError,
    """
    here: an array of registers has no arithmetic: a thread computes with each of them
        value = reg.array(f32, 4) + 1.0
      help: [v + 1.0 for v in a], or for i in range(len(a)): a[i] += 1.0
    """,
)
def a_sum_of_an_array_of_registers(X):
    value = reg.array(f32, 4) + 1.0


@wrong(
    LanguageError,
    """
    here: the registers of an array are written one by one
        values[0:2] = [X[0], X[1]]
      help: for i in range(2): a[i] = values[i]
    """,
)
def a_slice_of_an_array_of_registers(X):
    values = reg.array(f32, 4)
    values[0:2] = [X[0], X[1]]


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so it is not a Python number
        value = math.floor(X[0])
      help: ptx.inst.cvt.rmi.f32.f32(r) is math.floor of a register
    """,
)
def a_register_rounded_down(X):
    value = math.floor(X[0])


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python's clip() cannot compare it
        value = np.clip(X[0], 0, 1)
      help: r.max(low).min(high) is between two bounds
    """,
)
def a_register_clipped_by_numpy(X):
    value = np.clip(X[0], 0, 1)


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python's where() cannot compare it
        value = np.where(X[0] > 1, X[0], 0)
      help: ptx.where(p, a, b) is a where p holds and b elsewhere
    """,
)
def a_register_chosen_by_numpy(X):
    value = np.where(X[0] > 1, X[0], 0)


@wrong(
    LanguageError,
    """
    here: an index in a register has no value while the kernel is traced, so Python's lists and arrays have no element for it
        value = np.arange(4.0)[ptx.special.tid.x() & 3]
      help: TABLE = ptx.const(f32, name="table", init=[...]) before the kernel, TABLE[i] in it
      help: registers by an index: keep them in shared memory (smem.alloc)
      help: one of two: ptx.where(i == 0, a, b)
    """,
)
def an_element_of_an_array_of_numpy(X):
    value = np.arange(4.0)[ptx.special.tid.x() & 3]


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so it is not a Python number
        value = "%d" % (ptx.special.tid.x() + 1)  # noqa: UP031
      help: ptx.printf("%d\\n", r)   prints when the kernel runs
    """,
)
def a_register_formatted_by_percent(X):
    value = "%d" % (ptx.special.tid.x() + 1)  # noqa: UP031


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so it is not a Python number
        value = hex(ptx.special.tid.x() + 1)
      help: ptx.printf("%d\\n", r)   prints when the kernel runs
    """,
)
def a_register_in_hexadecimal(X):
    value = hex(ptx.special.tid.x() + 1)


@wrong(
    LanguageError,
    """
    here: a type is not called: an instruction converts
        value = f32(ptx.special.tid.x())
      help: ptx.inst.cvt.rn.f32.u32(r), or reg.scalar(f32, init=1.0) for a number
    """,
)
def a_type_that_is_called(X):
    value = f32(ptx.special.tid.x())


@wrong(
    LanguageError,
    """
    here: i (Reg) has no astype
        value = i.astype(f32)
      instead: ptx.inst.cvt.rn.f32.u32(r), and so on
      names: dtype left max min noun register set trace
    """,
)
def a_method_of_arrays(X):
    i = ptx.special.tid.x() + 1
    value = i.astype(f32)


@wrong(
    LanguageError,
    """
    here: `r // 0` is a division by zero
        value = i // 0
      why: PTX has no error for it: the result is all ones
    """,
)
def a_division_by_zero(X):
    i = ptx.special.tid.x() + 1
    value = i // 0


@wrong(
    LanguageError,
    """
    here: `r % 0` is a division by zero
        i %= 0
      why: PTX has no error for it: the result is all ones
    """,
)
def a_remainder_of_zero(X):
    i = ptx.special.tid.x() + 1
    i %= 0


@wrong(
    LanguageError,
    """
    here: 64 blocks are open, one in the other
        with ptx.if_(n > 0):
      why: a block is traced once, whatever decides it when the kernel runs
      help: a depth that is a Python number ends: if n > 0: f(n - 1)
    """,
)
def a_recursion_in_an_if(X):
    def power(n):
        with ptx.if_(n > 0):
            power(n - 1)

    power(reg.scalar(s32, init=3))


@wrong(
    LanguageError,
    """
    here: `+=` cannot put a 64-bit result into a .u32 register
        i += i * 2
      64 bits since: here: i += i * 2
      help: `*` of .u32 has 64 bits: ptx.inst.mul.lo.u32(a, b) has 32
      help: r += ptx.inst.cvt.u32.u64(other) has its lower half
      help: r = r + other makes a new register
    """,
)
def a_product_added_in_place(X):
    i = ptx.special.tid.x() + 1
    i += i * 2


@dataclasses.dataclass
class Pair:
    first: object
    second: object


@wrong(
    LanguageError,
    """
    here: a register has no value while the kernel is traced, so Python cannot branch on it
        same = Pair(X[0], 1) == Pair(X[0], 1)
      help: with ptx.if_(predicate): ...   with ptx.while_(lambda: predicate): ...
      instead of and, or, not: predicates combine with &, | and ~: (r > 0) & (r < n)
    """,
)
def a_comparison_of_dataclasses(X):
    same = Pair(X[0], 1) == Pair(X[0], 1)


@wrong(
    LanguageError,
    """
    here: a copy by Python's copy module would be the same register
        value = dataclasses.asdict(Pair(X[0], 1))
      help: reg.from_(r, f32) is a copy, another register
    """,
)
def a_dataclass_as_a_dict(X):
    value = dataclasses.asdict(Pair(X[0], 1))


@wrong(
    LanguageError,
    """
    here: an array of registers has no arithmetic: a thread computes with each of them
        zero = values == 0
      help: p = a[i] == 0   for each i in range(len(a))
    """,
)
def an_array_compared_with_a_number(X):
    values = reg.array(s32, 4)
    zero = values == 0


@wrong(
    LanguageError,
    """
    here: an array of registers has no arithmetic: a thread computes with each of them
        other = [0, 0] != values
      help: p = a[i] == 0   for each i in range(len(a))
    """,
)
def a_list_compared_with_an_array(X):
    values = reg.array(s32, 2)
    other = [0, 0] != values


@wrong(
    LanguageError,
    """
    here: an array of registers has no arithmetic: a thread computes with each of them
        same = values == values
      help: p = a[i] == 0   for each i in range(len(a))
    """,
)
def an_array_compared_with_itself(X):
    values = reg.array(s32, 2)
    same = values == values


@wrong(
    LanguageError,
    """
    here: an array of registers has no value while the kernel is traced, so Python cannot branch on it
        if values:
      help: with ptx.if_(predicate): ...   with ptx.while_(lambda: predicate): ...
      instead of and, or, not: predicates combine with &, | and ~: (r > 0) & (r < n)
    """,
)
def an_array_as_a_condition(X):
    values = reg.array(s32, 2)
    if values:
        X[0] = 1.0


@wrong(
    LanguageError,
    """
    here: a predicate has no arithmetic: it holds or does not
        less = ~p < 1
      help: predicates have `&`, `|`, `^` and `~`; a number is ptx.inst.selp.s32(1, 0, p)
    """,
)
def a_negated_predicate_below_one(X):
    p = X[0] == 0.0
    less = ~p < 1


@wrong(
    LanguageError,
    """
    here: a predicate has no arithmetic: it holds or does not
        both = 1 & ~p
      help: predicates have `&`, `|`, `^` and `~`; a number is ptx.inst.selp.s32(1, 0, p)
    """,
)
def a_number_and_a_negated_predicate(X):
    p = X[0] == 0.0
    both = 1 & ~p


@wrong(
    LanguageError,
    """
    here: a register holds one value, not [1] of type list
        value.set([1])
      help: 1 without the brackets, or reg.array(s32, n)
    """,
)
def a_register_set_to_a_list(X):
    value = reg.scalar(s32)
    value.set([1])


@wrong(
    LanguageError,
    """
    here: a register holds one value, not [2] of type list
        values[0] = [2]
      help: 2 without the brackets, or reg.array(s32, n)
    """,
)
def an_element_of_an_array_set_to_a_list(X):
    values = reg.array(s32, 2)
    values[0] = [2]


@wrong.parametrize()
def test_the_whole_message(wrong):
    wrong.check(
        lambda: kernel(in_specs=(Tile(8, f32),), out_specs=(), block=32)(wrong.program).ptx()
    )


def test_the_same_mistakes_with_objects_of_python_stay_those_of_python():
    def body():
        for mistake in (
            lambda: None + 1,
            lambda: len(3),
            lambda: object()[0],
            lambda: divmod("a", 1),
        ):
            try:
                mistake()
            except TypeError as error:
                assert type(error) is TypeError

    kernel(in_specs=(), out_specs=(), block=32)(body).ptx()


def test_what_is_written_instead():
    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), block=32)
    def body(X, Y):
        i = ptx.special.tid.x() + 0
        j, q = reg.from_(i, s32), reg.scalar(pred, init=0)
        values = reg.array(f32, 2)
        for k, v in enumerate([v + 1.0 for v in (X[i], X[i])]):
            values[k] = v
        clipped = values[0].max(2.0).min(6.0)
        q.set(~(clipped > 5.0))
        both = (~(clipped > 5.0)) ^ (~(clipped < 3.0))
        down = ptx.inst.cvt.rmi.f32.f32(clipped / 4.0)
        i += ptx.inst.mul.lo.u32(i, 2)
        i //= 3
        zero = 0
        Y[i] = ptx.where(q & (j >= zero), down, ptx.where(both, 8.0, values[1]))

    x = np.arange(32, dtype=np.float32)
    clipped = np.clip(x + 1, 2, 6)
    both = ~(clipped > 5) ^ ~(clipped < 3)
    expected = np.where(clipped <= 5, clipped // 4, np.where(both, 8, x + 1))
    np.testing.assert_array_equal(body(x), expected)
