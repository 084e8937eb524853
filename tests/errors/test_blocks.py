"""Blocks that Python leaves early, and names that a block binds anew: each with its whole message.

The twins without the mistake are in tests/trace/test_blocks.py.
"""

from contextlib import contextmanager

from pyptx import LanguageError, kernel, ptx, reg, smem
from pyptx.types import f32, s32, u32

from .cases import Collection

wrong = Collection()


def thread():
    return reg.from_(ptx.special.tid.x(), u32)


@contextmanager
def guarded(predicate):
    with ptx.if_(predicate):
        yield


# ---- Python leaves the block ---- ----------------------------------------------------------------


@wrong(
    LanguageError,
    """
    here: `return` leaves ptx.if_ while the kernel is traced, so what follows is never traced
        return
      block: here: with ptx.if_(i >= 100):
      help: ptx.ret() returns when the kernel runs, in the threads that come to it
    """,
)
def return_in_an_if():
    i = thread()
    with ptx.if_(i >= 100):
        return
    i += 1


@wrong(
    LanguageError,
    """
    here: `return` leaves ptx.if_ while the kernel is traced, so what follows is never traced
        with ptx.if_(i >= 100): return  # fmt: skip
      help: ptx.ret() returns when the kernel runs, in the threads that come to it
    """,
)
def return_on_the_line_of_its_if():
    i = thread()
    with ptx.if_(i >= 100): return  # fmt: skip
    i += 1


@wrong(
    LanguageError,
    """
    here: `return` leaves ptx.if_ while the kernel is traced, so what follows is never traced
        return i >> 1
      block: here: with ptx.if_(i >= 100):
      help: ptx.ret() returns when the kernel runs, in the threads that come to it
    """,
)
def return_of_a_value_in_a_function_of_the_user():
    def halved(i):
        with ptx.if_(i >= 100):
            return i >> 1
        return i

    i = halved(thread())
    i += 1


@wrong(
    LanguageError,
    """
    here: `return` leaves ptx.if_ while the kernel is traced, so what follows is never traced
        return
      block: here: with ptx.if_(i >= 100):
      help: ptx.ret() returns when the kernel runs, in the threads that come to it
    """,
)
def return_at_the_end_of_a_loop():
    i = thread()
    with ptx.loop():
        i += 1
        with ptx.if_(i >= 100):
            return


@wrong(
    LanguageError,
    """
    here: `return` leaves ptx.else_ while the kernel is traced, so what follows is never traced
        return
      block: here: with ptx.else_():
      help: ptx.ret() returns when the kernel runs, in the threads that come to it
    """,
)
def return_in_an_else():
    i = thread()
    with ptx.if_(i < 100):
        i += 1
    with ptx.else_():
        return
    i += 1


@wrong(
    LanguageError,
    """
    here: `return` leaves ptx.while_ while the kernel is traced, so what follows is never traced
        return
      block: here: with ptx.while_(lambda: i < 100):
      help: ptx.ret() returns when the kernel runs, in the threads that come to it
    """,
)
def return_in_a_while():
    i = thread()
    with ptx.while_(lambda: i < 100):
        i += 1
        return
    i += 1


@wrong(
    LanguageError,
    """
    here: `return` leaves ptx.if_ while the kernel is traced, so what follows is never traced
        return
      block: here: with ptx.if_(predicate):
      help: ptx.ret() returns when the kernel runs, in the threads that come to it
    """,
)
def return_through_a_context_manager_of_the_user():
    i = thread()
    with guarded(i >= 100):
        return
    i += 1


@wrong(
    LanguageError,
    """
    here: `return` leaves ptx.if_ while the kernel is traced, so what follows is never traced
        return
      block: here: with ptx.if_(i >= 100):
      help: ptx.ret() returns when the kernel runs, in the threads that come to it
    """,
)
def return_through_finally():
    i = thread()
    with ptx.if_(i >= 100):
        try:
            return
        finally:
            i += 2
    i += 1


@wrong(
    LanguageError,
    """
    here: `continue` leaves ptx.if_ while the kernel is traced, so what follows is never traced
        continue
      block: here: with ptx.if_(j == i):
      help: ptx.continue_() goes to the next round when the kernel runs
    """,
)
def continue_in_an_if():
    i = thread()
    for j in ptx.range_(4, dtype=u32):
        with ptx.if_(j == i):
            continue
        i += j


@wrong(
    LanguageError,
    """
    here: `break` leaves ptx.if_ while the kernel is traced, so what follows is never traced
        break
      block: here: with ptx.if_(j == i):
      help: ptx.break_() leaves the loop when the kernel runs
    """,
)
def break_in_an_if():
    i = thread()
    for j in ptx.range_(4, dtype=u32):
        with ptx.if_(j == i):
            break
        i += j


@wrong(
    LanguageError,
    """
    here: ptx.range_ was left by Python while it was being traced
        rounds = iter(ptx.range_(4, dtype=u32))
      help: ptx.break_(pred=p) leaves a loop when the kernel runs
    """,
)
def break_of_an_iterator_that_is_kept():
    i = thread()
    rounds = iter(ptx.range_(4, dtype=u32))
    for j in rounds:
        i += j
        break
    i += 1


# ---- blocks that are made and not entered, or entered twice ---- ---------------------------------


@wrong(
    LanguageError,
    """
    here: ptx.if_ is made here, and its block is never entered
        ptx.if_(i >= 100)
      help: with ptx.if_(p): ...
    """,
)
def an_if_that_is_never_entered():
    i = thread()
    ptx.if_(i >= 100)
    i += 1


@wrong(
    LanguageError,
    """
    here: ptx.range_ is made here, and its block is never entered
        ptx.range_(4)
      help: for i in ptx.range_(n): ...
    """,
)
def a_range_that_is_never_entered():
    i = thread()
    ptx.range_(4)
    i += 1


@wrong(
    LanguageError,
    """
    here: ptx.else_ is made here, and its block is never entered
        ptx.else_()
      help: with ptx.else_(): ...
    """,
)
def an_else_that_is_never_entered():
    i = thread()
    with ptx.if_(i >= 100):
        i += 1
    ptx.else_()
    i += 1


@wrong(
    LanguageError,
    """
    here: ptx.if_ has no truth value: Python cannot branch on what a kernel decides
        if ptx.if_(i >= 100):
      help: with ptx.if_(p): ...
    """,
)
def if_as_a_condition_of_python():
    i = thread()
    if ptx.if_(i >= 100):
        i += 1


@wrong(
    LanguageError,
    """
    here: ptx.loop has no truth value: Python cannot branch on what a kernel decides
        while ptx.loop():
      help: with ptx.loop(): ...
    """,
)
def loop_as_a_condition_of_python():
    i = thread()
    while ptx.loop():
        i += 1


@wrong(
    LanguageError,
    """
    here: this ptx.if_ was entered before; a block is entered once
        with block:
      made: here
      help: with ptx.if_(p): ...
    """,
)
def a_block_that_is_entered_twice():
    i = thread()
    block = ptx.if_(i >= 100)
    with block:
        i += 1
    with block:
        i += 2


@wrong(
    LanguageError,
    """
    here: ptx.else_ does not follow a ptx.if_ directly
        with ptx.else_():
      help: with ptx.if_(p): ...   with ptx.else_(): ...   with nothing between
    """,
)
def an_else_far_from_its_if():
    i = thread()
    with ptx.if_(i >= 100):
        i += 1
    i += 2
    with ptx.else_():
        i += 3


@wrong(
    LanguageError,
    """
    here: instructions stand between this ptx.else_ and its ptx.if_
        otherwise = ptx.else_()
      help: with ptx.else_(): ...
    """,
)
def an_else_that_is_entered_too_late():
    i = thread()
    with ptx.if_(i >= 100):
        i += 1
    otherwise = ptx.else_()
    i += 2
    with otherwise:
        i += 3


# ---- names bound anew ---- -----------------------------------------------------------------------


@wrong(
    LanguageError,
    """
    here: total was bound before ptx.range_ and is bound anew in it, and it is read in the next round
        total = total + 1.0
      block: here: for _ in ptx.range_(10):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: total += v or total.set(v) writes the register that it has
    """,
)
def a_sum_in_a_loop():
    total = reg.scalar(f32, init=0.0)
    for _ in ptx.range_(10):
        total = total + 1.0
    total += 1.0


@wrong(
    LanguageError,
    """
    here: total was bound before ptx.range_ and is bound anew in it, and it is read in the next round
        total = total + value
      block: here: for _ in ptx.range_(10):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: total = reg.scalar(f32, init=0.0) before the block, and total += v or total.set(v) in it
    """,
)
def a_sum_that_begins_as_a_number():
    total = 0.0
    value = reg.scalar(f32, init=1.0)
    for _ in ptx.range_(10):
        total = total + value
    value += total


@wrong(
    LanguageError,
    """
    here: count was bound before ptx.range_ and is bound anew in it, and it is read in the next round
        count += 1
      block: here: for _ in ptx.range_(10):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: count = reg.scalar(s32, init=0) before the block, and count += v or count.set(v) in it
    """,
)
def a_number_that_counts_rounds():
    count = 0
    value = reg.scalar(s32, init=1)
    for _ in ptx.range_(10):
        count += 1
    value += count


@wrong(
    LanguageError,
    """
    here: value was bound before ptx.if_ and is bound anew in it, and it is read after it
        value = i * 2
      block: here: with ptx.if_(i >= 100):
      read: here: smem.alloc(f32, 4)[value] = 1.0
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: value += v or value.set(v) writes the register that it has
    """,
)
def a_name_under_an_if():
    i = thread()
    value = i
    with ptx.if_(i >= 100):
        value = i * 2
    smem.alloc(f32, 4)[value] = 1.0


@wrong(
    LanguageError,
    """
    here: scale was bound before ptx.if_ and is bound anew in it, and it is read after it
        scale = 2
      block: here: with ptx.if_(i >= 100):
      read: here: i += scale
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: scale = reg.scalar(s32, init=1) before the block, and scale += v or scale.set(v) in it
    """,
)
def a_number_under_an_if():
    i = thread()
    scale = 1
    with ptx.if_(i >= 100):
        scale = 2
    i += scale


@wrong(
    LanguageError,
    """
    here: value was bound before ptx.else_ and is bound anew in it, and it is read after it
        value = i + 2
      block: here: with ptx.else_():
      read: here: i += value
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: value = reg.scalar(u32) before both blocks, value.set(v) in each
    """,
)
def a_name_of_both_branches():
    i = thread()
    with ptx.if_(i >= 100):
        value = i + 1
    with ptx.else_():
        value = i + 2
    i += value


@wrong(
    LanguageError,
    """
    here: n was bound before ptx.while_ and is bound anew in it, and it is read in the next round
        n = n + 1
      block: here: with ptx.while_(lambda: n < 10):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: n += v or n.set(v) writes the register that it has
    """,
)
def a_counter_of_a_while():
    n = reg.scalar(u32, init=0)
    with ptx.while_(lambda: n < 10):
        n = n + 1


@wrong(
    LanguageError,
    """
    here: n was bound before ptx.while_ and is bound anew in it, and it is read in the next round
        n = ten
      block: here: with ptx.while_(lambda: n < 10):
      read: here: with ptx.while_(lambda: n < 10):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: n += v or n.set(v) writes the register that it has
    """,
)
def a_counter_that_only_the_condition_reads():
    n, ten = reg.scalar(u32, init=0), reg.scalar(u32, init=10)
    with ptx.while_(lambda: n < 10):
        n = ten


@wrong(
    LanguageError,
    """
    here: here was bound before ptx.range_ and is bound anew in it, and it is read in the next round
        here, there = there, here
      block: here: for _ in ptx.range_(10):
      read: here: here[i] = 1.0
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: another name in the block; a register is changed by here.set(v)
    """,
)
def buffers_that_are_swapped():
    i = thread()
    here, there = smem.alloc(f32, 128), smem.alloc(f32, 128)
    for _ in ptx.range_(10):
        here[i] = 1.0
        here, there = there, here


@wrong(
    LanguageError,
    """
    here: sums[1] has another register after ptx.range_ than before it, and is read here
        sums[1] = sums[1] + 1.0
      block: here: for _ in ptx.range_(10):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: sums[1] += v or sums[1].set(v) writes the register that it has
    """,
)
def an_element_of_a_list():
    sums = [reg.scalar(f32, init=0.0) for _ in range(2)]
    for _ in ptx.range_(10):
        sums[1] = sums[1] + 1.0


@wrong(
    LanguageError,
    """
    here: values['x'] has another register after ptx.if_ than before it, and is read here
        i += values["x"]
      block: here: with ptx.if_(i >= 100):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: values['x'] += v or values['x'].set(v) writes the register that it has
    """,
)
def an_element_of_a_list_under_an_if():
    i = thread()
    values = {"x": i}
    with ptx.if_(i >= 100):
        values["x"] = i + 1
    i += values["x"]


@wrong(
    LanguageError,
    """
    here: sums[1][0] has another register after ptx.range_ than before it, and is read here
        sums[1][0] = ptx.inst.fma.rn.f32(sums[0][0], 2.0, sums[1][0])
      block: here: for _ in ptx.range_(10):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: sums[1][0] += v or sums[1][0].set(v) writes the register that it has
    """,
)
def an_element_of_lists_in_a_list():
    sums = [[reg.scalar(f32, init=0.0)] for _ in range(2)]
    for _ in ptx.range_(10):
        sums[1][0] = ptx.inst.fma.rn.f32(sums[0][0], 2.0, sums[1][0])


@wrong(
    LanguageError,
    """
    here: state.total has another register after ptx.loop than before it, and is read here
        state.total = state.total + 1.0
      block: here: with ptx.loop(pred=lambda: state.total < 10.0):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: state.total += v or state.total.set(v) writes the register that it has
    """,
)
def an_attribute():
    class State:
        total = None

    state = State()
    state.total = reg.scalar(f32, init=0.0)
    with ptx.loop(pred=lambda: state.total < 10.0):
        state.total = state.total + 1.0


@wrong(
    LanguageError,
    """
    here: sums[0] has other registers after ptx.range_ than before it, and is read here
        sums[0] = [each + 1.0 for each in sums[0]]
      block: here: for _ in ptx.range_(10):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: write the registers that it has, each by .set(v), and leave sums[0] as it is
    """,
)
def a_list_in_a_list():
    sums = [[reg.scalar(f32, init=0.0) for _ in range(4)] for _ in range(2)]
    for _ in ptx.range_(10):
        sums[0] = [each + 1.0 for each in sums[0]]


@wrong(
    LanguageError,
    """
    here: state.sums has other registers after ptx.if_ than before it, and is read here
        i += state.sums[1]
      block: here: with ptx.if_(i >= 100):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: write the registers that it has, each by .set(v), and leave state.sums as it is
    """,
)
def registers_in_an_attribute():
    class State:
        sums = None

    i = thread()
    state = State()
    state.sums = reg.array(u32, 2)
    with ptx.if_(i >= 100):
        state.sums = reg.array(u32, 2)
        state.sums[1] = i
    i += state.sums[1]


@wrong(
    LanguageError,
    """
    here: sums[2] has another register after ptx.range_ than before it, and is read here
        total += sums[2]
      block: here: for j in ptx.range_(10, dtype=u32):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: sums[2] is a register before the block, which sums[2].set(v) writes in it
    """,
)
def a_number_in_a_list():
    total = thread()
    sums = [0, 0, 0]
    for j in ptx.range_(10, dtype=u32):
        sums[2] = j + sums[2]
    total += sums[2]


@wrong(
    LanguageError,
    """
    here: buffers[0] has another value after ptx.range_ than before it, and buffers is read later
        for _ in ptx.range_(10):
      read: here: buffers[1][i] = buffers[0][i]
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: an index or an address that changes is a register, changed by .set
    """,
)
def buffers_that_change_places():
    i = thread()
    buffers = [smem.alloc(u32, 32), smem.alloc(u32, 32)]
    for _ in ptx.range_(10):
        buffers[1][i] = buffers[0][i]
        buffers[0], buffers[1] = buffers[1], buffers[0]


@wrong(
    LanguageError,
    """
    here: total was bound before ptx.range_ and is bound anew in it, and it is read after it
        for _ in ptx.range_(10):
      block: here: for _ in ptx.range_(10):
      read: here: total += 1.0
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: total += v or total.set(v) writes the register that it has
    """,
)
def a_name_of_another_function():
    total = reg.scalar(f32, init=0.0)

    def step():
        nonlocal total
        total = total + 1.0

    for _ in ptx.range_(10):
        step()
    total += 1.0


@wrong(
    LanguageError,
    """
    here: value was bound before ptx.if_ and is bound anew in it, and it is read after it
        value = i + 2
      block: here: with ptx.if_(predicate):
      read: here: i += value
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: value += v or value.set(v) writes the register that it has
    """,
)
def a_name_through_a_context_manager_of_the_user():
    i = thread()
    value = i + 1
    with guarded(i >= 100):
        value = i + 2
    i += value


@wrong(
    LanguageError,
    """
    here: j is read after its loop, where it holds the stop and not what it had in the last round
        i += j
      loop: here: for j in ptx.range_(10, dtype=u32):
      help: a register of its own keeps it: last.set(j) in the loop
    """,
)
def the_variable_of_a_loop_after_it():
    i = thread()
    for j in ptx.range_(10, dtype=u32):
        i += j
    i += j


@wrong.parametrize()
def test_the_whole_message(wrong):
    wrong.check(lambda: kernel(**wrong.options)(wrong.program).ptx())
