"""Programs that bind names in blocks, or leave Python's own loops, and are right."""

from contextlib import ExitStack

import pytest

from pyptx import LanguageError, LanguageWarning, kernel, ptx, reg, smem
from pyptx import _bytecode as bytecode
from pyptx.types import f32, u32


def thread():
    return reg.from_(ptx.special.tid.x(), u32)


def loops_of_python_in_a_block():
    i = thread()
    with ptx.if_(i < 100):
        for k in range(4):
            if k == 1:
                continue
            if k == 3:
                break
            i += k
    for k in range(2):
        i += k


def a_return_of_a_nested_function():
    i = thread()
    with ptx.if_(i < 100):

        def twice(value):
            return value * 2

        smem.alloc(f32, 8)[0] = 1.0
        twice(i)


def a_return_that_is_not_taken(last=False):
    i = thread()
    with ptx.if_(i < 100):
        i += 1
        if last:
            return
        i += 2
    i += 3


def a_name_that_is_bound_again_before_it_is_read():
    i = thread()
    for k in range(3):
        value = i + k
        with ptx.if_(i < 100):
            value = i * 2
            smem.alloc(f32, 8)[0] = 1.0
    value = i + 7
    i += value


def a_name_of_a_loop_that_is_not_carried():
    i = thread()
    value = i + 1
    i += value
    for j in ptx.range_(10, dtype=u32):
        value = i + j
        i += value


def the_same_number():
    i = thread()
    step = 4
    with ptx.if_(i < 100):
        step = 4
    i += step


def a_list_that_each_loop_fills_anew():
    values = [None, None]
    total = reg.scalar(u32, init=0)
    for _ in range(2):
        for j in ptx.range_(4, dtype=u32):
            values[0] = j + 1
            values[1] = j + 2
            total += values[0]
            total += values[1]


def registers_that_are_written_in_place():
    i = thread()
    sums = reg.array(f32, 2)
    scalars = [reg.scalar(f32, init=0.0) for _ in range(2)]
    held = {"total": reg.scalar(f32, init=0.0)}
    sums[0] = 0.0
    for _ in ptx.range_(10):
        sums[0] = sums[0] + 1.0
        scalars[1] += sums[0]
        held["total"].set(scalars[1])
    with ptx.if_(i < 100):
        i.set(5)
    i += 1
    scalars[1] += held["total"]


def the_variable_of_two_loops():
    i = thread()
    for j in ptx.range_(4, dtype=u32):
        i += j
    for j in range(3):
        i += j
    i += j


def fragments_that_each_round_fills_anew():
    i = thread()
    fragments, total = [[], None], reg.scalar(u32, init=0)
    for j in ptx.range_(4, dtype=u32):
        fragments[0] = [i + j, i ^ j]
        fragments[1] = fragments[0][1]
        total += fragments[0][0] + fragments[1]
    i += total


def the_same_registers_in_another_list():
    state = {"sums": [reg.scalar(u32, init=0) for _ in range(2)]}
    for j in ptx.range_(4, dtype=u32):
        state["sums"] = list(state["sums"])
        state["sums"][0] += j
    state["sums"][1] += 1


def a_count_of_what_was_traced():
    class Trace:
        copies = 0
        name = ""

    i, trace = thread(), Trace()
    trace.copies, trace.name = 0, ""
    with ptx.if_(i < 100):
        trace.copies, trace.name = trace.copies + 1, "first"
        i += trace.copies
    i += len(trace.name)


def a_buffer_that_is_chosen_before_each_block():
    i = thread()
    buffers = [smem.alloc(u32, 32), smem.alloc(u32, 32)]
    for k in range(2):
        buffers = [buffers[1], buffers[0]]
        with ptx.if_(i < 32):
            buffers[0][i] = i + k


def one_name_in_both_branches():
    i = thread()
    value = reg.scalar(u32)
    with ptx.if_(i < 100):
        value.set(i + 1)
    with ptx.else_():
        value.set(i + 2)
    i += value


def a_block_of_an_exit_stack():
    i = thread()
    with ExitStack() as stack:
        stack.enter_context(ptx.if_(i < 100))
        i += 1
    i += 2


RIGHT = [
    loops_of_python_in_a_block,
    a_return_of_a_nested_function,
    a_return_that_is_not_taken,
    a_name_that_is_bound_again_before_it_is_read,
    a_name_of_a_loop_that_is_not_carried,
    the_same_number,
    a_list_that_each_loop_fills_anew,
    registers_that_are_written_in_place,
    fragments_that_each_round_fills_anew,
    the_same_registers_in_another_list,
    a_count_of_what_was_traced,
    a_buffer_that_is_chosen_before_each_block,
    the_variable_of_two_loops,
    one_name_in_both_branches,
    a_block_of_an_exit_stack,
]


@pytest.mark.parametrize("program", RIGHT, ids=lambda p: p.__name__)
def test_right(program):
    assert kernel(lambda: program()).ptx()


def test_set_is_one_mov(traced):
    def body():
        x, p = reg.scalar(u32, init=1), reg.scalar(f32, init=0.0)
        x.set(7)
        p.set(p)
        return x, p

    found = traced(body)
    x, p = found.result
    assert found.named(x=x, p=p) == [
        "mov.u32 x, 1",
        "mov.f32 p, 0f00000000",
        "mov.u32 x, 7",
        "mov.f32 p, p",
    ]


# ---- two names of one register -------------------------------------------------------------------


def test_an_operator_that_changes_another_name_warns():
    def body():
        i = thread()
        j = i
        j += 1
        smem.alloc(f32, 256)[i] = 1.0

    with pytest.warns(LanguageWarning) as caught:
        kernel(body).ptx()
    (warning,) = caught
    assert warning.filename == __file__
    text = str(warning.message).replace(__file__, "here")
    line = warning.lineno + 1
    assert text == (
        "`+=` writes the register that i names too, and i is read later\n"
        f"  read: here:{line}: smem.alloc(f32, 256)[i] = 1.0\n"
        "  help: reg.from_(i, u32) is a copy, another register"
    )


def test_an_element_that_has_a_name_warns():
    def body():
        values = reg.array(u32, 2)
        values[0] = 1
        first = values[0]
        values[0] += 1
        smem.alloc(f32, 256)[first] = 1.0

    with pytest.warns(LanguageWarning, match="writes the register that first names too"):
        kernel(body).ptx()


def test_a_register_with_two_names_that_is_set_warns():
    def body():
        a, b = thread(), thread() + 1
        before = a
        a.set(b)
        b.set(before)
        smem.alloc(f32, 256)[a + b] = 1.0

    with pytest.warns(LanguageWarning) as caught:
        kernel(body).ptx()
    (warning,) = caught
    text = str(warning.message).replace(__file__, "here")
    line = warning.lineno + 1
    assert text == (
        "`.set()` writes the register that before names too, and before is read later\n"
        f"  read: here:{line}: b.set(before)\n"
        "  help: reg.from_(before, u32) is a copy, another register"
    )


def test_registers_that_are_set_as_they_should_do_not_warn():
    def body():
        a, b = thread(), thread() + 1
        before = reg.from_(a, u32)
        a.set(b)
        b.set(before)
        largest = a
        largest.set(b)  # `a` is not read any more
        held = [largest, b]
        for one, other in zip(held, (b, largest), strict=True):
            one.set(other)
        held[0].set(1)
        smem.alloc(f32, 256)[largest + b] = 1.0

    assert kernel(body).ptx()


def test_another_name_that_is_not_read_later_does_not_warn():
    def body():
        i = thread()
        j = i
        j += 1
        smem.alloc(f32, 256)[j] = 1.0

    assert kernel(body).ptx()


def test_a_list_that_has_one_register_twice_warns():
    def body():
        sums = [reg.scalar(u32, init=0)] * 4
        sums[1] += 1
        smem.alloc(f32, 256)[sums[0]] = 1.0

    with pytest.warns(LanguageWarning) as caught:
        kernel(body).ptx()
    (warning,) = caught
    text = str(warning.message).replace(__file__, "here")
    assert text == (
        "`+=` writes one register that is both sums[0] and sums[1]\n"
        f"  read: here:{warning.lineno + 1}: smem.alloc(f32, 256)[sums[0]] = 1.0\n"
        "  help: reg.scalar(u32) for each element, or reg.from_(sums[0], u32) for a copy"
    )


def test_an_object_that_has_one_register_twice_warns():
    class State:
        pass

    def body():
        state = State()
        state.now = thread()
        state.before = state.now
        state.now += 1
        smem.alloc(f32, 256)[state.before] = 1.0

    with pytest.warns(LanguageWarning, match="^`\\+=` writes one register that is both state.now"):
        kernel(body).ptx()


def test_a_list_of_different_registers_and_a_tuple_of_them_do_not_warn():
    def body():
        sums = [reg.scalar(u32, init=0) for _ in range(4)]
        both = (sums, sums)
        for each in range(4):
            both[0][each] += each
        smem.alloc(f32, 256)[both[1][0]] = 1.0

    assert kernel(body).ptx()


# ---- code without source -------------------------------------------------------------------------

WITHOUT_SOURCE = """
from pyptx import ptx, reg
from pyptx.types import u32

def left():
    i = reg.from_(ptx.special.tid.x(), u32)
    with ptx.if_(i >= 100):
        return
    i += 1

def left_for_the_next_round():
    i = reg.from_(ptx.special.tid.x(), u32)
    for j in ptx.range_(4, dtype=u32):
        with ptx.if_(j == i):
            continue
        i += j

def ended():
    i = reg.from_(ptx.special.tid.x(), u32)
    for j in ptx.range_(4, dtype=u32):
        with ptx.if_(j == i):
            with ptx.if_(j < 3):
                i += 2
            i += 1
        with ptx.else_():
            pass
        i += j

def bound():
    i = reg.from_(ptx.special.tid.x(), u32)
    value = i
    with ptx.if_(i >= 100):
        value = i + 1
    i += value
"""


@pytest.fixture(scope="module")
def without_source():
    names: dict[str, object] = {"__name__": "somewhere"}
    exec(compile(WITHOUT_SOURCE, "<no such file>", "exec"), names)
    return names


@pytest.mark.parametrize("name", ["left", "left_for_the_next_round"])
def test_a_block_that_is_left_is_seen_without_source(without_source, name):
    with pytest.raises(LanguageError) as caught:
        kernel(without_source[name]).ptx()
    assert caught.value.problem == (
        "`return, break or continue` leaves ptx.if_ while the kernel is traced, so what follows "
        "is never traced"
    )


def test_a_block_that_ends_is_right_without_source(without_source):
    assert kernel(without_source["ended"]).ptx()


def test_a_long_function_is_right_without_source():
    """Jumps over more than 255 units of code have a prefix, which is no instruction of its own."""
    block = "    with ptx.if_(i == 3):\n        i += 1\n"
    more = "    i += 2\n" * 150
    head = "from pyptx import ptx, reg\nfrom pyptx.types import u32\ndef long():\n"
    start = "    i = reg.from_(ptx.special.tid.x(), u32)\n"
    names: dict[str, object] = {"__name__": "somewhere"}
    exec(compile(head + start + block + more + block + more, "<no such file>", "exec"), names)
    assert kernel(names["long"]).ptx()


def test_a_name_is_followed_without_source(without_source):
    with pytest.raises(LanguageError) as caught:
        kernel(without_source["bound"]).ptx()
    assert caught.value.location is not None
    assert caught.value.location.line == 33


def test_source_that_is_another_than_what_runs(tmp_path):
    """A file that changed after it was imported has its `with` elsewhere: the bytecode decides."""
    file = tmp_path / "changed.py"
    file.write_text("\n\n\n" + WITHOUT_SOURCE)
    names: dict[str, object] = {"__name__": "changed"}
    exec(compile(WITHOUT_SOURCE, str(file), "exec"), names)
    assert kernel(names["ended"]).ptx()
    with pytest.raises(LanguageError, match=r"leaves ptx\.if_"):
        kernel(names["left"]).ptx()


# ---- what is read next ---------------------------------------------------------------------------


def reads(flag, items):
    first = second = third = 1
    if flag:
        second = 2
    for item in items:
        third = item
    return first, second, third


def test_next_read_ends_where_a_name_is_bound():
    code = reads.__code__
    start = next(i.offset for i in bytecode.code_of(code).instructions if i.opname == "RESUME")
    stores = [
        i.offset
        for i in bytecode.code_of(code).instructions
        if i.opname.startswith("STORE_FAST") and "third" in str(i.argval)
    ]
    last = code.co_firstlineno + 6
    assert bytecode.next_read(code, stores[0], "first") == last
    assert bytecode.next_read(code, stores[0], "second") == last
    # A loop that is entered runs once at least, and binds it.
    assert bytecode.next_read(code, stores[0], "third") is None
    assert bytecode.next_read(code, stores[-1], "third") == last
    assert bytecode.next_read(code, start, "missing") is None
