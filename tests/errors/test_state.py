"""Python's lists, functions and numbers that change in a run-time block: once, while it is traced."""

# ruff: noqa: PERF401, PLW0603, PLW2901 - the programs are what users write

import collections
import itertools
import warnings

import numpy as np
import pytest

from pyptx import LanguageError, LanguageWarning, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

from .cases import Collection

traced = Collection()
warned = Collection()
SPECS = {"in_specs": (Tile(32, f32),), "out_specs": (Tile(32, f32),), "grid": 1, "block": 32}
X = np.arange(1, 33, dtype=np.float32)
total = None
rounds = 0


def thread():
    return ptx.special.tid.x()


# ---- lists that grow and shrink ------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: parts has more elements after ptx.range_ than before it, and one of them is read here
        B[thread()] = sum(parts[1:], parts[0])
      block: here: for i in ptx.range_(4):
      why: the block is traced once, so Python adds one element for all rounds
      help: for i in range(n) is unrolled by Python: each i has its own registers
    """,
)
def a_list_that_a_loop_fills(A, B):
    parts = []
    for i in ptx.range_(4):
        parts.append(A[i])
    B[thread()] = sum(parts[1:], parts[0])


@traced(
    LanguageError,
    """
    here: parts has more elements after ptx.if_ than before it, and one of them is read here
        B[thread()] = sum(parts[1:], parts[0])
      block: here: with ptx.if_(thread() < 4):
      why: the block is traced once, so Python adds the element for all threads
      help: v = reg.scalar(dtype) before the block, and v.set(x) in it
    """,
)
def a_list_that_an_if_extends(A, B):
    parts = [A[0]]
    with ptx.if_(thread() < 4):
        parts += [A[1]]
    B[thread()] = sum(parts[1:], parts[0])


@traced(
    LanguageError,
    """
    here: state.parts has more elements after ptx.while_ than before it, and one of them is read here
        B[thread()] = state.parts[0]
      block: here: with ptx.while_(lambda: i < 4):
      why: the block is traced once, so Python adds one element for all rounds
      help: for i in range(n) is unrolled by Python: each i has its own registers
    """,
)
def a_list_in_an_object(A, B):
    class State:
        def __init__(self):
            self.parts = []

        def step(self, i):
            self.parts.insert(0, A[i])

    state = State()
    step = state.step
    i = reg.scalar(u32, init=0)
    with ptx.while_(lambda: i < 4):
        step(i)
        i += 1
    B[thread()] = state.parts[0]


class Held:
    """What a set may hold, unlike a register itself."""

    def __init__(self, part):
        self.part = part


@traced(
    LanguageError,
    """
    here: parts has more elements after ptx.range_ than before it, and one of them is read here
        B[thread()] = held.part
      block: here: for i in ptx.range_(4):
      why: the block is traced once, so Python adds one element for all rounds
      help: for i in range(n) is unrolled by Python: each i has its own registers
    """,
)
def a_set(A, B):
    parts = set()
    for i in ptx.range_(4):
        parts.add(Held(A[i]))
    (held,) = parts
    B[thread()] = held.part


@traced(
    LanguageError,
    """
    here: values has fewer elements after ptx.range_ than before it, and one that was removed is read here
        s += values.pop()
      block: here: for _ in ptx.range_(4):
      why: the block is traced once, so Python removes one element, which every round reads
      help: for i in range(n) is unrolled by Python: each round removes its own
    """,
)
def a_list_that_a_loop_empties(A, B):
    values = [A[j] for j in range(4)]
    s = reg.scalar(f32, init=0.0)
    for _ in ptx.range_(4):
        s += values.pop()
    B[thread()] = s


@traced(
    LanguageError,
    """
    here: values[0] has another register after ptx.range_ than before it, and is read here
        s += values[0]
      block: here: for _ in ptx.range_(4):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: values[0] += v or values[0].set(v) writes the register that it has
    """,
)
def a_deque_that_turns(A, B):
    values = collections.deque([A[0], A[1]])
    s = reg.scalar(f32, init=0.0)
    for _ in ptx.range_(4):
        s += values[0]
        values.rotate()
    B[thread()] = s


@traced(
    LanguageError,
    """
    here: values[0] has another register after ptx.range_ than before it, and is read here
        values[0] = values[0] + values[1]
      block: here: for _ in ptx.range_(4):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: values[0] += v or values[0].set(v) writes the register that it has
    """,
)
def an_array_of_objects(A, B):
    values = np.array([None, None])
    values[0], values[1] = A[0], A[1]
    for _ in ptx.range_(4):
        values[0] = values[0] + values[1]
    B[thread()] = values[0]


# ---- objects and functions -----------------------------------------------------------------------


@traced(
    LanguageError,
    """
    here: state.value has another register after ptx.range_ than before it, and is read here
        state.value = state.value + 1.0
      block: here: for _ in ptx.range_(4):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: state.value += v or state.value.set(v) writes the register that it has
    """,
)
def an_object_with_slots(A, B):
    class State:
        __slots__ = ("value",)

    state = State()
    state.value = A[0]
    for _ in ptx.range_(4):
        state.value = state.value + 1.0
    B[thread()] = state.value


@traced(
    LanguageError,
    """
    here: State.value has another register after ptx.range_ than before it, and is read here
        State.value = State.value + 1.0
      block: here: for _ in ptx.range_(4):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: State.value += v or State.value.set(v) writes the register that it has
    """,
)
def an_attribute_of_a_class(A, B):
    class State:
        value = None

    State.value = A[0]
    for _ in ptx.range_(4):
        State.value = State.value + 1.0
    B[thread()] = State.value


@traced(
    LanguageError,
    """
    here: value has another register after ptx.range_ than before it, and is read here
        value = value + 1.0
      block: here: for _ in ptx.range_(4):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: value += v or value.set(v) writes the register that it has
    """,
)
def a_variable_that_two_functions_share(A, B):
    value = A[0]

    def step():
        nonlocal value
        value = value + 1.0

    def finish():
        B[thread()] = value

    for _ in ptx.range_(4):
        step()
    finish()


@traced(
    LanguageError,
    """
    here: step.__defaults__[0][0] has another register after ptx.range_ than before it, and is read here
        held[0] = A[0] if held[0] is None else held[0] + 1.0
      block: here: for _ in ptx.range_(4):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: step.__defaults__[0][0] += v or step.__defaults__[0][0].set(v) writes the register that it has
    """,
)
def a_default_of_a_function(A, B):
    def step(held=[None]):  # noqa: B006
        held[0] = A[0] if held[0] is None else held[0] + 1.0
        return held[0]

    step()
    for _ in ptx.range_(4):
        step()
    B[thread()] = step()


@traced(
    LanguageError,
    """
    here: total was bound before ptx.range_ and is bound anew in it, and it is read in the next round
        total = total + 1.0
      block: here: for _ in ptx.range_(4):
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: total += v or total.set(v) writes the register that it has
    """,
)
def a_variable_of_the_module(A, B):
    global total
    total = A[0]
    for _ in ptx.range_(4):
        total = total + 1.0
    B[thread()] = total


def add_one():
    global total
    total = total + 1.0


@traced(
    LanguageError,
    """
    here: total was bound before ptx.range_ and is bound anew in it, and it is read after it
        for _ in ptx.range_(4):
      block: here: for _ in ptx.range_(4):
      read: here: B[thread()] = total
      why: the block is traced once, so a name bound in it changes for all threads and rounds
      help: total += v or total.set(v) writes the register that it has
    """,
)
def a_variable_of_the_module_in_a_function(A, B):
    global total
    total = A[0]
    for _ in ptx.range_(4):
        add_one()
    B[thread()] = total


@traced.parametrize()
def test_the_whole_message(wrong):
    wrong.check(lambda: kernel(**SPECS)(wrong.program).ptx())


# ---- numbers -------------------------------------------------------------------------------------


@warned(
    LanguageWarning,
    """
    pipeline.phase is 0 before ptx.range_ and 1 after it: every round reads 0
      why: the block is traced once, and Python's numbers change while it is traced
      help: a register counts rounds: n = reg.scalar(s32, init=0), n += 1
    """,
)
def a_phase_in_an_object(A, B):
    class Pipeline:
        phase = 0

    pipeline = Pipeline()
    pipeline.phase = 0
    for i in ptx.range_(4):
        B[i] = A[i] + float(pipeline.phase)
        pipeline.phase ^= 1


@warned(
    LanguageWarning,
    """
    phase is False before ptx.range_ and True after it: every round reads False
      why: the block is traced once, and Python's numbers change while it is traced
      help: a register counts rounds: n = reg.scalar(s32, init=0), n += 1
    """,
)
def a_phase_in_a_function(A, B):
    phase = False

    def step(i):
        nonlocal phase
        B[i] = A[i] + float(phase)
        phase = not phase

    for i in ptx.range_(4):
        step(i)


@warned(
    LanguageWarning,
    """
    state['phase'] is 1 before ptx.while_ and 2 after it: every round reads 1
      why: the block is traced once, and Python's numbers change while it is traced
      help: a register counts rounds: n = reg.scalar(s32, init=1), n += 1
    """,
)
def a_phase_in_a_dict(A, B):
    state = {"phase": 1}
    i = reg.scalar(f32, init=0.0)
    with ptx.while_(lambda: i < 4.0):
        i += float(state["phase"])
        state["phase"] += 1
    B[thread()] = i


ITERATOR = """
    {} is an iterator that ptx.range_ advances: every round has the same element
      why: the block is traced once, and Python's iterators advance while it is traced
      help: for v in {} is unrolled by Python: each round has its own
    """


@warned(LanguageWarning, ITERATOR.format("parts", "parts"))
def an_iterator_over_a_list(A, B):
    parts = iter([A[j] for j in range(4)])
    for i in ptx.range_(4):
        B[i] = next(parts)


@warned(LanguageWarning, ITERATOR.format("buffers", "buffers"))
def buffers_in_turn(A, B):
    buffers = itertools.cycle((A.at(0), A.at(1)))
    next(buffers)
    for i in ptx.range_(4):
        B[i] = next(buffers)[i]


@warned(LanguageWarning, ITERATOR.format("values", "values"))
def a_generator(A, B):
    values = (A[j] for j in range(8))
    next(values)
    for i in ptx.range_(4):
        B[i] = next(values)


@warned(LanguageWarning, ITERATOR.format("state['pairs']", "state['pairs']"))
def pairs_in_a_dict(A, B):
    state = {"pairs": zip(range(4), reversed([A[0], A[1], A[2], A[3]]), strict=True)}
    for i in ptx.range_(4):
        _, value = next(state["pairs"])
        B[i] = value


@warned.parametrize()
def test_the_whole_warning(wrong):
    with pytest.warns(LanguageWarning) as caught:
        kernel(**SPECS)(wrong.program).ptx()
    (found,) = caught
    lines = str(found.message)
    assert found.filename == __file__
    assert lines == wrong.message


# ---- what is right -------------------------------------------------------------------------------


def iterators_that_no_loop_advances(A, B):
    parts, names = iter([A[j] for j in range(4)]), itertools.count()
    sums = reg.scalar(f32, init=0.0)
    for i in ptx.range_(4):
        smem.alloc(f32, (1,), name=f"s{next(names)}")
        sums += A[i]
    with ptx.if_(thread() < 40):
        for part in parts:
            sums += part
    B[thread()] = sums


def registers_that_were_there_before(A, B):
    sums = [reg.scalar(f32, init=0.0) for _ in range(2)]
    used = []
    for i in ptx.range_(4):
        for each in sums:
            each += A[i]
            used.append(each)
    B[thread()] = used[0] + used[1]


def a_pool_that_is_whole_again(A, B):
    pool = [reg.scalar(f32) for _ in range(2)]
    s = reg.scalar(f32, init=0.0)
    for i in ptx.range_(4):
        each = pool.pop()
        each.set(A[i])
        s += each + each
        pool.append(each)
    B[thread()] = s


def a_scratch_register_of_a_pool(A, B):
    pool = [reg.scalar(f32) for _ in range(2)]
    s = reg.scalar(f32, init=0.0)
    for i in ptx.range_(4):
        each = pool.pop()
        each.set(A[i])
        s += each + each
    B[thread()] = s


def a_list_that_is_read_in_the_block_alone(A, B):
    s = reg.scalar(f32, init=0.0)
    parts = []
    for i in ptx.range_(4):
        parts.append(A[i])
        parts.append(A[i])
        s += parts[0] + parts[1]
    B[thread()] = s


def a_list_that_is_filled_by_python(A, B):
    parts = []
    for i in range(4):
        parts.append(A[i] + A[i])
    B[thread()] = sum(parts[1:], parts[0])


def a_dict_of_the_last_round(A, B):
    last = {}
    for i in ptx.range_(4):
        last["value"] = A[i]
    B[thread()] = last["value"] * 5.0


def a_count_of_what_is_traced(A, B):
    class Counter:
        appended = 0

    counter = Counter()
    s = reg.scalar(f32, init=0.0)
    with ptx.if_(thread() < 32):
        counter.appended += 1
        s += 20.0 * counter.appended
    B[thread()] = s


def a_function_that_keeps_a_register(A, B):
    s = reg.scalar(f32, init=0.0)

    def step(i):
        nonlocal s
        s += A[i] + A[i]

    for i in ptx.range_(4):
        step(i)
    B[thread()] = s


RIGHT = [
    iterators_that_no_loop_advances,
    registers_that_were_there_before,
    a_pool_that_is_whole_again,
    a_scratch_register_of_a_pool,
    a_list_that_is_read_in_the_block_alone,
    a_list_that_is_filled_by_python,
    a_dict_of_the_last_round,
    a_count_of_what_is_traced,
    a_function_that_keeps_a_register,
]


@pytest.mark.parametrize("program", RIGHT, ids=lambda each: each.__name__)
def test_what_is_right(program):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = kernel(**SPECS)(program).emulate(X)
    assert not found.report.findings
    (y,) = found.outputs
    np.testing.assert_array_equal(y, np.full(32, 20, np.float32))
