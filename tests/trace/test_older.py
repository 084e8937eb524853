"""What is said of what was made before a register was written, and is read after it."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
import types
import warnings

import numpy as np
import pytest

from pyptx import LanguageWarning, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, pred, u32, u64

OPTIONS = {"in_specs": (Tile(32, f32),), "out_specs": (Tile(32, f32),), "block": 32}
X = np.arange(32, dtype=np.float32)


def thread():
    return reg.from_(ptx.special.tid.x(), u32)


def traced(body, **options):
    """The kernel of a body, and what is said of it: lines after the body's own, and texts."""
    first = body.__code__.co_firstlineno
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = kernel(body, **{**OPTIONS, **options})
        made.ptx()
    said = []
    for each in caught:
        assert (each.category, each.filename) == (LanguageWarning, __file__)
        text = str(each.message)
        for line in range(first, first + 20):
            text = text.replace(f"{__file__}:{line}:", f"here +{line - first}:")
        said.append(f"+{each.lineno - first} {text}")
    return made, said


def clean(body, **options):
    """What it gives; nothing is said of it."""
    made, said = traced(body, **options)
    assert said == []
    return made(X)


LEFT = (
    "+{} {} writes a register that something else holds too, by which it is read later\n"
    "  read: here +{}: {}\n"
    "  help: reg.from_(r, {}) is a copy, another register"
)


@dataclasses.dataclass
class Pair:
    first: object
    second: object

    def add(self, value):
        self.first += value


# ---- what holds the old object -------------------------------------------------------------------


def attribute(X, Y):
    v = X[thread()]
    o = types.SimpleNamespace(x=v)
    v += 1.0
    Y[thread()] = o.x


def method(X, Y):
    v = X[thread()]
    o = Pair(v, v)
    o.first += 1.0
    Y[thread()] = o.second


def display(X, Y):
    v = X[thread()] + 0.0
    kept = (v, X[0])
    v += 1.0
    Y[thread()] = functools.reduce(operator.add, kept)


def default(X, Y):
    v = X[thread()]
    f = lambda a=v: a + 0.0
    v += 1.0
    Y[thread()] = f()


def partial(X, Y):
    v = X[thread()]
    f = functools.partial(operator.mul, v)
    v += 1.0
    Y[thread()] = f(2.0)


def generator(X, Y):
    v = X[thread()]
    each = iter([v])
    v += 1.0
    Y[thread()] = next(each)


def nested(X, Y):
    v = [[reg.scalar(f32, init=0.0)] * 2] * 2
    v[0][0] += X[thread()]
    v[0][1] += 1.0
    Y[thread()] = v[1][1]


def copied(X, Y):
    v = [X[thread()], X[0], X[1]]
    kept = v[:2]
    v[0] += 1.0
    Y[thread()] = kept[0]


def array(X, Y):
    v = np.full(2, X[thread()])
    v[0] += 1.0
    Y[thread()] = v[1]


def register_array(X, Y):
    v = reg.array(f32, 2)
    v[0], v[1] = X[thread()], X[0]
    kept = {"a": list(v)}
    v[0] += 1.0
    Y[thread()] = kept["a"][0]


def outer_name(X, Y):
    v = X[thread()]
    kept = (v,)

    def add():
        nonlocal v
        v += 1.0

    add()
    Y[thread()] = v - kept[0]


@pytest.mark.parametrize(
    ("body", "wrote", "read", "text"),
    [
        (attribute, 3, 4, "Y[thread()] = o.x"),
        (display, 3, 4, "Y[thread()] = functools.reduce(operator.add, kept)"),
        (default, 3, 2, "f = lambda a=v: a + 0.0"),
        (partial, 3, 4, "Y[thread()] = f(2.0)"),
        (generator, 3, 4, "Y[thread()] = next(each)"),
        (nested, 2, 3, "v[0][1] += 1.0"),
        (copied, 3, 4, "Y[thread()] = kept[0]"),
        (array, 2, 3, "Y[thread()] = v[1]"),
        (register_array, 4, 5, 'Y[thread()] = kept["a"][0]'),
        (outer_name, 6, 9, "Y[thread()] = v - kept[0]"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_an_operator_leaves(body, wrote, read, text):
    _, said = traced(body)
    assert said[0] == LEFT.format(wrote, "`+=`", read, text, "f32")
    assert len(said) == 1


def test_a_method_that_writes_one_of_two_attributes():
    def body(X, Y):
        v = X[thread()]
        o = Pair(v, v)
        o.add(1.0)
        Y[thread()] = o.second

    made, said = traced(body)
    (text,) = said
    assert "`+=` writes a register that something else holds too" in text
    np.testing.assert_array_equal(made(X), X + 1)

    def cured(X, Y):
        v = X[thread()]
        o = Pair(reg.from_(v, f32), v)
        o.add(1.0)
        Y[thread()] = o.second

    np.testing.assert_array_equal(clean(cured), X)


def test_functions_of_python_that_add_in_place():
    def reduced(X, Y):
        v = [X[thread()], X[0]]
        total = functools.reduce(operator.iadd, v)
        Y[thread()] = total - v[0]

    _, said = traced(reduced)
    assert said == [LEFT.format(2, "`+=`", 3, "Y[thread()] = total - v[0]", "f32")]

    def cured(X, Y):
        v = [X[thread()], X[1]]
        total = functools.reduce(operator.add, v)
        sums = list(itertools.accumulate(v))
        Y[thread()] = total - v[0] + sums[1] - sums[0]

    np.testing.assert_array_equal(clean(cured), np.full(32, 2, np.float32))


def test_a_function_that_writes_its_parameter_and_returns_it():
    def added(value):
        value += 1.0
        return value

    def total(value):
        return ptx.warp.reduce_sum(value)

    def body(X, Y):
        o = types.SimpleNamespace(x=X[thread()], y=X[0])
        first, second = added(o.x), total(o.y)
        Y[thread()] = first + second + o.x + o.y

    _, said = traced(body)
    assert len(said) == 2
    assert "`+=` writes a register that something else holds too" in said[0]
    assert "ptx.warp.reduce_sum writes a register that something else holds too" in said[1]

    def cured(X, Y):
        o = types.SimpleNamespace(x=X[thread()], y=X[0])
        o.x = added(o.x)
        total(o.y)
        Y[thread()] = o.x + o.y

    np.testing.assert_array_equal(clean(cured), X + 1)


def test_a_reduction_whose_argument_an_object_holds():
    def body(X, Y):
        o = types.SimpleNamespace(x=X[thread()])
        s = ptx.warp.reduce_sum(o.x)
        Y[thread()] = o.x / s

    _, said = traced(body)
    assert said == [LEFT.format(2, "ptx.warp.reduce_sum", 3, "Y[thread()] = o.x / s", "f32")]

    def cured(X, Y):
        o = types.SimpleNamespace(x=X[thread()])
        s = ptx.warp.reduce_sum(reg.from_(o.x, f32))
        Y[thread()] = o.x - s

    np.testing.assert_array_equal(clean(cured), X - X.sum())


def test_what_is_meant_to_write_what_others_hold():
    """Parameters, the variables of loops, elements of one list, parts of an array, and `set`."""

    def add(total, value):
        total += value

    def each_of(values):
        for i, value in enumerate(values):
            value += float(i)  # noqa: PLW2901

    def most(value):
        return ptx.warp.reduce_max(value)

    def body(X, Y):
        total = reg.scalar(f32, init=0.0)
        state = Pair(total, [X[thread()], X[1]])
        add(total, 1.0)
        each_of(state.second)
        for (value, other), _ in zip([state.second], range(1), strict=True):
            value *= 2.0  # noqa: PLW2901
            other *= 2.0  # noqa: PLW2901
        state.second[0] += 1.0
        again = state.second
        again[0] += total
        held = reg.array(f32, 4)
        low = held[:2]
        held[0], held[1] = 0.0, 0.0
        low[0] += state.second[0]
        held[1] += state.second[1]
        with ptx.if_(thread() < 32):
            state.first.set(3.0)
        ptx.warp.reduce_max(total)
        most(total)
        Y[thread()] = held[0] + low[1] + total

    np.testing.assert_array_equal(clean(body), X * 2 + 1 + 1 + 4 + 3)


def test_a_loop_that_adds_to_its_names():
    def body(X, Y):
        total, count = X[thread()], reg.scalar(u32, init=0)
        held = [reg.scalar(f32, init=0.0) for _ in range(2)]
        o = Pair(reg.scalar(f32, init=0.0), None)
        for _ in ptx.range_(3):
            total += 1.0
            held[0] += total
            o.first += 1.0
        with ptx.while_(lambda: count < 4):
            count += 1
            o.add(1.0)
        with ptx.if_(count == 4):
            total += o.first
        with ptx.else_():
            total -= o.first
        Y[thread()] = total + held[0]

    np.testing.assert_array_equal(clean(body), X + 3 + 7 + 3 * X + 6)


# ---- operands that are read late -----------------------------------------------------------------


def test_a_negation_from_before_its_predicate_changes():
    def body(X, Y):
        p = X[thread()] > 4.0
        n = ~p
        p &= X[thread()] < 8.0
        Y[thread()] = ptx.where(n, 1.0, X[0])

    _, said = traced(body)
    assert said == [LEFT.format(3, "`&=`", 4, "Y[thread()] = ptx.where(n, 1.0, X[0])", "pred")]

    def by_set(X, Y):
        p = X[thread()] > 4.0
        n = ~p
        p.set(X[thread()] < 8.0)
        Y[thread()] = ptx.where(n, 1.0, X[0])

    _, said = traced(by_set)
    (text,) = said
    assert text == (
        "+3 this writes the predicate p of a `~p` from before, which negates what p has where it "
        "is read\n"
        "  read: here +4: Y[thread()] = ptx.where(n, 1.0, X[0])\n"
        "  help: reg.from_(~p, pred) is the negation in a register of its own"
    )

    def cured(X, Y):
        p = X[thread()] > 4.0
        n = reg.from_(~p, pred)
        p.set(X[thread()] < 8.0)
        Y[thread()] = ptx.where(n, 1.0, ptx.where(~p, X[0], 2.0))

    expected = np.where(X <= 4, 1, np.where(X >= 8, 0, 2))
    np.testing.assert_array_equal(clean(cured), expected.astype(np.float32))


def test_loops_read_their_condition_in_each_round():
    def body(X, Y):
        v, done = X[thread()], reg.scalar(pred, init=0)
        with ptx.while_(~done):
            v += 8.0
            done.set(v > 31.0)
        more = v < 64.0
        with ptx.loop(pred=~more):
            v -= 8.0
            more |= v < 40.0
        Y[thread()] = v

    expected = X + 8
    while (expected <= 31).any():
        expected[expected <= 31] += 8
    expected -= 8
    np.testing.assert_array_equal(clean(body), expected)


def test_an_address_from_before_its_register_changes():
    def body(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        i = thread()
        here = ptx.addr(x)
        x += i * 4
        ptx.inst.st.global_.f32(ptx.addr(y + i * 4), ptx.inst.ld.global_.f32(here))

    _, said = traced(body)
    (text,) = said
    assert text == (
        "+4 this writes the register x of a ptx.addr(x) from before, which is read later and has "
        "what x has then\n"
        "  read: here +5: ptx.inst.st.global_.f32(ptx.addr(y + i * 4), "
        "ptx.inst.ld.global_.f32(here))\n"
        "  help: ptx.addr(reg.from_(x, u64)) has a register of its own"
    )

    def cured(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        i = thread()
        here = ptx.addr(reg.from_(x, u64))
        x += i * 4
        v = ptx.inst.ld.global_.f32(here) + ptx.inst.ld.global_.f32(ptx.addr(x))
        ptx.inst.st.global_.f32(ptx.addr(y + i * 4), v)

    np.testing.assert_array_equal(clean(cured), X + X[0])


def test_an_mbarrier_from_before_its_register_changes():
    def body(X, Y):
        i = thread()
        a = reg.from_(smem.alloc(u64, 2), u32)
        first = ptx.mbarrier.at(a)
        a += 8
        second = ptx.mbarrier.at(a)
        with ptx.if_(i == 0):
            first.init(32)
            second.init(32)
        Y[i] = X[i]

    _, said = traced(body)
    (text,) = said
    assert text == (
        "+4 this writes the register x of a ptx.mbarrier.at(x) from before, which is from here on "
        "an mbarrier at another address\n"
        "  used: here +7: first.init(32)\n"
        "  help: ptx.mbarrier.at(reg.from_(x, u32)) has a register of its own"
    )

    def cured(X, Y):
        i = thread()
        a = reg.from_(smem.alloc(u64, 2), u32)
        first, second = ptx.mbarrier.at(a), ptx.mbarrier.at(ptx.addr(a, 8))
        with ptx.if_(i == 0):
            first.init(32)
            second.init(32)
        ptx.bar.sync()
        first.arrive()
        first.wait(0)
        Y[i] = X[i]

    np.testing.assert_array_equal(clean(cured), X)


def test_a_clock_that_is_read_later():
    def body(X, Y):
        start = ptx.special.clock64()
        v = X[thread()] + 1.0
        stop = ptx.special.clock64()
        Y[thread()] = ptx.where(stop - start > 0, v, 0.0)

    _, said = traced(body)
    (text,) = said
    assert text == (
        "+1 %clock64 is read where an instruction takes it, later than this line\n"
        "  read: here +4: Y[thread()] = ptx.where(stop - start > 0, v, 0.0)\n"
        "  help: t = reg.from_(ptx.special.clock64(), u64) reads it here"
    )

    def now():
        return ptx.special.clock64()

    def cured(X, Y):
        i, threads = thread(), ptx.special.ntid.x()
        start = reg.from_(now(), u64)
        v = X[i] + 1.0
        spent = ptx.special.clock64() - start
        Y[i] = ptx.where((spent > 0) & (threads == 32), v, 0.0)

    np.testing.assert_array_equal(clean(cured), X + 1)


def test_elements_that_an_if_takes_from_a_list():
    def body(X, Y):
        kept = [X[thread()], X[0]]
        last = reg.scalar(f32, init=0.0)
        with ptx.if_(thread() < 8):
            last.set(kept.pop())
        Y[thread()] = kept[-1] + last

    _, said = traced(body)
    (text,) = said
    assert text == (
        "+3 len(kept) is 2 before ptx.if_ and 1 after it, in all threads, and kept is read later\n"
        "  read: here +5: Y[thread()] = kept[-1] + last\n"
        "  why: the block is traced once, so a Python value changed in it changes for all threads "
        "and rounds\n"
        "  help: v = reg.scalar(s32, init=2) before the block, v.set(x) in it"
    )

    def cured(X, Y):
        kept = [X[thread()], X[0]]
        taken = kept.pop()
        last = reg.scalar(f32, init=0.0)
        with ptx.if_(thread() < 8):
            last.set(taken)
        Y[thread()] = kept[-1] + last

    np.testing.assert_array_equal(clean(cured), X)


# ---- rounds of a loop ----------------------------------------------------------------------------


def test_an_attribute_that_a_loop_writes_under_another_name():
    def body(X, Y):
        v, total = X[thread()] + 0.0, reg.scalar(f32, init=0.0)
        o = types.SimpleNamespace(v=v, w=v)
        for _ in ptx.range_(3):
            total += o.v
            v += 1.0
        Y[thread()] = total

    _, said = traced(body)
    (text,) = said
    assert text == (
        "+3 o.v is a register that an operator of this ptx.range_ writes under another name, so "
        "each round reads what the one before has written\n"
        "  read: here +4: total += o.v\n"
        "  help: reg.from_(o.v, f32) is a copy, another register"
    )

    def cured(X, Y):
        v, total = X[thread()] + 0.0, reg.scalar(f32, init=0.0)
        o = types.SimpleNamespace(v=reg.from_(v, f32), w=v)
        for _ in ptx.range_(3):
            total += o.v
            v += 1.0
        Y[thread()] = total

    np.testing.assert_array_equal(clean(cured), X * 3)


def test_a_name_that_a_while_reads_before_it_writes_another():
    def body(X, Y):
        v = X[thread()] + 0.0
        w, total, n = v, reg.scalar(f32, init=0.0), reg.scalar(u32, init=0)
        with ptx.while_(lambda: n < 3):
            total += w
            v += 1.0
            n += 1
        Y[thread()] = total

    _, said = traced(body)
    (text,) = said
    assert text == (
        "+3 w is a register that an operator of this ptx.while_ writes under another name, so "
        "each round reads what the one before has written\n"
        "  read: here +4: total += w\n"
        "  help: reg.from_(w, f32) is a copy, another register"
    )

    def cured(X, Y):
        v = X[thread()] + 0.0
        w, total, n = reg.from_(v, f32), reg.scalar(f32, init=0.0), reg.scalar(u32, init=0)
        with ptx.while_(lambda: n < 3):
            total += w
            v += 1.0
            n += 1
        Y[thread()] = total

    np.testing.assert_array_equal(clean(cured), X * 3)


def test_an_object_that_a_loop_reads_for_another_attribute():
    def body(X, Y):
        o = types.SimpleNamespace(total=reg.scalar(f32, init=0.0), step=X[thread()])
        total = o.total
        for _ in ptx.range_(3):
            total += o.step
        Y[thread()] = total

    np.testing.assert_array_equal(clean(body), X * 3)


def test_operands_from_before_a_loop_that_writes_their_registers():
    def body(X, Y):
        p, total = X[thread()] > 3.0, reg.scalar(f32, init=0.0)
        (x,) = ptx.global_ptrs(X)
        n, here = ~p, ptx.addr(x)
        for _ in ptx.range_(3):
            total += ptx.where(n, 1.0, ptx.inst.ld.global_.f32(here))
            p.set(total > 2.0)
            x += 4
        Y[thread()] = total

    _, said = traced(body)
    address, negation = sorted(said)
    assert address == (
        "+4 here is ptx.addr(x) from before ptx.range_, which writes that register: each round "
        "reads it anew\n"
        "  read: here +5: total += ptx.where(n, 1.0, ptx.inst.ld.global_.f32(here))\n"
        "  why: ptx.addr(x) is an operand, read by the instruction that takes it\n"
        "  help: reg.from_(x, u64) before the loop is a register of its own"
    )
    assert negation == (
        "+4 n is ~p from before ptx.range_, which writes that register: each round reads it anew\n"
        "  read: here +5: total += ptx.where(n, 1.0, ptx.inst.ld.global_.f32(here))\n"
        "  why: ~p is an operand, read by the instruction that takes it\n"
        "  help: reg.from_(~p, pred) before the loop is a register of its own"
    )

    def cured(X, Y):
        p, total = X[thread()] > 3.0, reg.scalar(f32, init=0.0)
        (x,) = ptx.global_ptrs(X)
        n, here = reg.from_(~p, pred), ptx.addr(reg.from_(x, u64))
        for _ in ptx.range_(3):
            total += ptx.where(n, 1.0, ptx.inst.ld.global_.f32(here))
            total += ptx.where(~p, 0.0, ptx.inst.ld.global_.f32(ptx.addr(x)))
            p.set(total > 100.0)
            x += 4
        Y[thread()] = total

    np.testing.assert_array_equal(clean(cured), np.where(X > 3, 0, 3).astype(np.float32))
