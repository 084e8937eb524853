"""What is said of a register with two names, and of constants of Python that a block changes."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

from pyptx import LanguageError, LanguageWarning, Tile, kernel, ptx, reg
from pyptx.types import f32, u32

OPTIONS = {"in_specs": (Tile(32, f32),), "out_specs": (Tile(32, f32),), "block": 32}
X = np.arange(32, dtype=np.float32)


def thread():
    return reg.from_(ptx.special.tid.x(), u32)


def said(body, **options):
    """The one warning of a kernel, with `here` for this file and lines after the body's own."""
    with pytest.warns(LanguageWarning) as caught:
        kernel(body, **{**OPTIONS, **options}).ptx()
    warning = caught[0]
    assert {(str(each.message), each.lineno) for each in caught} == {
        (str(warning.message), warning.lineno)  # again in each round that Python unrolls
    }
    assert warning.filename == __file__
    first = body.__code__.co_firstlineno
    text = str(warning.message).replace(__file__, "here")
    for line in range(first, first + 20):
        text = text.replace(f"here:{line}:", f"here +{line - first}:")
    return f"+{warning.lineno - first} {text}"


def clean(body, **options):
    """What it gives; nothing is said of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kernel(body, **{**OPTIONS, **options})(X)


# ---- what writes its argument --------------------------------------------------------------------


def test_a_reduction_whose_argument_is_read_again():
    def softmax(X, Y):
        i = thread()
        v = X[i]
        s = ptx.warp.reduce_sum(v)
        Y[i] = v / s

    assert said(softmax) == (
        "+3 ptx.warp.reduce_sum writes the register that v names too, and v is read later\n"
        "  read: here +4: Y[i] = v / s\n"
        "  help: reg.from_(v, f32) is a copy, another register"
    )

    def cured(X, Y):
        i = thread()
        v = X[i]
        s = ptx.warp.reduce_sum(reg.from_(v, f32))
        Y[i] = v / s

    np.testing.assert_allclose(clean(cured), X / X.sum())


@pytest.mark.parametrize(
    "reduce",
    [ptx.warp.reduce_max, ptx.cta.reduce_sum, ptx.cluster.reduce_min],
    ids=["warp", "cta", "cluster"],
)
def test_reductions_of_a_second_name(reduce):
    def named(X, Y):
        v = X[thread()]
        m = v
        s = reduce(m)
        Y[thread()] = v - s

    def unnamed(X, Y):
        v = X[thread()]
        m = v
        reduce(m)
        Y[thread()] = v - m

    for body, read in ((named, "v - s"), (unnamed, "v - m")):
        text = said(body, arch="sm_90a")
        assert " writes the register that " in text
        assert f"  read: here +4: Y[thread()] = {read}\n" in text

    def one_name(X, Y):
        v = X[thread()]
        reduce(v)
        Y[thread()] = v

    assert kernel(one_name, **OPTIONS, arch="sm_90a").ptx()


def test_an_instruction_with_a_destination():
    def body(X, Y):
        v = X[thread()]
        m = v
        ptx.inst.max.f32(m, m, 4.0)
        Y[thread()] = v - m

    text = said(body)
    assert text.startswith("+3 ptx.inst.max.f32 writes the register that ")

    def named(X, Y):
        v = X[thread()]
        m = ptx.inst.max.f32(v, v, 4.0)
        Y[thread()] = v - m

    assert "ptx.inst.max.f32 writes the register that v names too" in said(named)

    def accumulates(X, Y):
        acc = reg.scalar(f32, init=0.0)
        for _ in range(3):
            acc = ptx.inst.fma.rn.f32(acc, X[thread()], 2.0, acc)
        before = reg.from_(acc, f32)
        ptx.inst.max.f32(acc, acc, 4.0)
        Y[thread()] = acc - before

    np.testing.assert_array_equal(clean(accumulates), np.maximum(6 * X, 4) - 6 * X)


def test_a_helper_that_writes_and_returns_its_parameter():
    def doubled(v):
        v *= 2.0
        return v

    def body(X, Y):
        v = X[thread()]
        w = doubled(v)
        Y[thread()] = v + w

    with pytest.warns(LanguageWarning) as caught:
        kernel(body, **OPTIONS).ptx()
    (warning,) = caught
    assert warning.lineno == doubled.__code__.co_firstlineno + 1
    text = str(warning.message).replace(__file__, "here")
    assert text == (
        "`*=` writes the parameter v, which doubled returns: w and v are one register, and v is "
        "read later\n"
        f"  read: here:{body.__code__.co_firstlineno + 3}: Y[thread()] = v + w\n"
        "  help: v = v * x makes a new register"
    )

    def one_name(X, Y):
        v = X[thread()]
        v = doubled(v)
        Y[thread()] = v

    np.testing.assert_array_equal(clean(one_name), 2 * X)


# ---- elements ------------------------------------------------------------------------------------


def test_a_sum_that_begins_with_an_element():
    def body(X, Y):
        v = [X[j] for j in range(1, 4)]
        total = v[0]
        for each in v[1:]:
            total += each
        Y[thread()] = v[0] / total

    assert said(body) == (
        "+4 `+=` writes a register that is an element of v too, and v is read later\n"
        "  read: here +5: Y[thread()] = v[0] / total\n"
        "  help: reg.from_(total, f32) is a copy, another register"
    )


def test_a_register_that_is_appended_and_then_written():
    def body(X, Y):
        s = reg.scalar(f32, init=0.0)
        sums = []
        for _ in range(3):
            s += X[1]
            sums.append(s)
        Y[thread()] = sums[0]

    with pytest.warns(LanguageWarning, match="that is an element of sums too, and sums is read"):
        kernel(body, **OPTIONS).ptx()


def test_a_list_that_was_copied():
    def body(X, Y):
        a = [X[0], X[1]]
        b = list(a)
        b[0] += 1.0
        Y[thread()] = a[0] + b[0]

    assert said(body) == (
        "+3 `+=` writes a register that is an element of both a and b\n"
        "  read: here +4: Y[thread()] = a[0] + b[0]\n"
        "  help: b = [reg.from_(v, v.dtype) for v in a] has copies"
    )


def test_a_dict_with_one_register_for_two_keys():
    def body(X, Y):
        v = X[thread()]
        state = {"m": v, "s": v}
        state["m"] += 1.0
        Y[thread()] = state["s"]

    text = said(body)
    assert "`+=` writes one register that is both state['m'] and state['s']" in text


def test_elements_that_are_meant_to_be_written():
    def body(X, Y):
        rows = [[X[0], X[1]], [X[2], X[3]]]
        flat = [each for row in rows for each in row]
        for each in flat:
            each += 1.0  # noqa: PLW2901
        total = reg.from_(flat[0], f32)
        for each in flat[1:]:
            total += each
        kept = reg.array(f32, 2)
        kept[0], kept[1] = total, X[0]
        kept[0] += kept[1]
        Y[thread()] = kept[0] + flat[0]

    np.testing.assert_array_equal(clean(body), np.full(32, 0 + 1 + 2 + 3 + 4 + 0 + 1, np.float32))


def swapped(X, Y):
    a = reg.array(f32, 2)
    a[0], a[1] = X[0], X[1]
    a[0], a[1] = a[1], a[0]
    Y[thread()] = a[0] - a[1]


def rotated(X, Y):
    a = reg.array(f32, 3)
    a[0], a[1], a[2] = X[0], X[1], X[2]
    a[0], a[1], a[2] = a[1], a[2], a[0]
    Y[thread()] = a[0] - a[2]


@pytest.mark.parametrize("body", [swapped, rotated])
def test_elements_of_an_array_that_change_places(body):
    with pytest.raises(LanguageError) as caught:
        kernel(body, **OPTIONS).ptx()
    if body is swapped:
        line = body.__code__.co_firstlineno + 3
        assert str(caught.value).replace(__file__, "here") == (
            f"here:{line}: this stores a register that the assignment to an element before has "
            "written\n"
            "    a[0], a[1] = a[1], a[0]\n"
            "  why: a[i] = v is a mov: elements are written one after the other\n"
            "  help: t = reg.from_(a[i], f32) before both is a copy to store"
        )


def test_an_element_that_has_a_name_and_is_stored_over():
    def body(X, Y):
        a = reg.array(f32, 2)
        a[0] = X[0]
        old = a[0]
        a[0] = X[5]
        Y[thread()] = a[0] - old

    assert said(body) == (
        "+4 `=` writes the register that old names too, and old is read later\n"
        "  read: here +5: Y[thread()] = a[0] - old\n"
        "  help: reg.from_(old, f32) is a copy, another register"
    )


def test_elements_of_an_array_that_move_in_order():
    def body(X, Y):
        a = reg.array(f32, 3)
        for i in range(3):
            a[i] = X[i]
        t = reg.from_(a[0], f32)
        for i in range(2):
            a[i] = a[i + 1]
        a[2] = t
        Y[thread()] = a[0] * 100.0 + a[1] * 10.0 + a[2]

    np.testing.assert_array_equal(clean(body), np.full(32, 120, np.float32))


# ---- sizes ---------------------------------------------------------------------------------------

DYNAMIC = {"in_specs": (Tile("B", 32, f32),), "dynamic": ("B",)}


def test_a_size_is_not_written():
    def body(X, Y):
        half = X.shape[0]
        half //= 2
        Y[thread()] = X[0, thread()]

    with pytest.raises(LanguageError) as caught:
        kernel(body, **{**OPTIONS, **DYNAMIC}).ptx()
    assert str(caught.value).replace(__file__, "here") == (
        f"here:{body.__code__.co_firstlineno + 2}: this writes the size B itself, which X.shape "
        "and every index have\n"
        "    half //= 2\n"
        "  help: n = reg.from_(X.shape[i], u64) is a copy to write\n"
        "  help: m = n // 2 makes a new register, m //= 2 writes one"
    )

    def cured(X, Y):
        half = X.shape[0] // 2
        half -= 1
        total = reg.scalar(f32, init=0.0)
        for b in ptx.range_(X.shape[0]):
            total += X[b, thread()]
        Y[thread()] = total + X[half, thread()]

    found = kernel(cured, **{**OPTIONS, **DYNAMIC})(np.ones((6, 32), np.float32))
    np.testing.assert_array_equal(found, np.full(32, 7, np.float32))


# ---- constants of Python in a block --------------------------------------------------------------


class State:
    def __init__(self):
        self.n = 0.0


def changes(change, read, start):
    """A kernel that changes what `start` makes under `ptx.if_`, and reads it after that."""

    def body(X, Y):
        held = start()
        with ptx.if_(X[thread()] > 15.0):
            change(held)
        Y[thread()] = float(read(held))

    return body


@pytest.mark.parametrize(
    ("change", "read", "start", "spelled", "old", "new"),
    [
        (lambda h: h.__setitem__(0, 1.0), lambda h: h[0], lambda: [0.0], "held[0]", 0.0, 1.0),
        (lambda h: h.update(n=2), lambda h: h["n"], lambda: {"n": 1}, "held['n']", 1, 2),
        (lambda h: h[0].__setitem__(0, 1.0), lambda h: h[0][0], lambda: [[0.0]], "held[0][0]",
         0.0, 1.0),
        (lambda h: h.append(1.0), len, list, "len(held)", 0, 1),
        (lambda h: h.pop(), len, lambda: [1.0], "len(held)", 1, 0),
        (lambda h: h.add(3), len, set, "len(held)", 0, 1),
        (lambda h: h.__setitem__(0, 5), lambda h: h[0], lambda: np.zeros(1, np.int32), "held[0]",
         0, 5),
    ],
)  # fmt: skip
def test_a_number_that_a_block_changes(change, read, start, spelled, old, new):
    body = changes(change, read, start)
    dtype = "f32" if isinstance(old, float) else "s32"
    assert said(body) == (
        f"+2 {spelled} is {old!r} before ptx.if_ and {new!r} after it, in all threads, and held is "
        "read later\n"
        "  read: here +4: Y[thread()] = float(read(held))\n"
        "  why: the block is traced once, so a Python value changed in it changes for all threads "
        "and rounds\n"
        f"  help: v = reg.scalar({dtype}, init={old!r}) before the block, v.set(x) in it"
    )


def test_an_attribute_that_a_block_changes():
    def body(X, Y):
        state = State()
        with ptx.if_(X[thread()] > 15.0):
            state.n = 1.0
        Y[thread()] = state.n

    assert "state.n is 0.0 before ptx.if_ and 1.0 after it, in all threads" in said(body)

    def in_else(X, Y):
        state = State()
        with ptx.if_(X[thread()] > 15.0):
            Y[thread()] = 1.0
        with ptx.else_():
            state.n = 2.0
            Y[thread()] = state.n

    np.testing.assert_array_equal(clean(in_else), np.where(X > 15, 1, 2))


def test_what_counts_the_trace_is_not_read_in_the_kernel():
    def body(X, Y):
        made, state, log = [], State(), {"last": ""}
        with ptx.if_(X[thread()] > 15.0):
            made.append("a")
            state.n += 1
            log["last"] = "if"
        Y[thread()] = X[thread()] + float(len(log["last"]) * 0)
        assert made

    np.testing.assert_array_equal(clean(body), X)


def test_a_loop_that_takes_numbers_from_a_list():
    def body(X, Y):
        w = [1.0, 2.0, 3.0]
        total = reg.scalar(f32, init=0.0)
        for _ in ptx.range_(3):
            total += w.pop()
        Y[thread()] = total + X[0]

    assert said(body) == (
        "+3 len(w) is 3 before ptx.range_ and 2 after it: every round reads 3\n"
        "  why: the block is traced once, and Python's numbers change while it is traced\n"
        "  help: for i in range(n) is unrolled by Python: each round has its own"
    )

    def phases(X, Y):
        phase = np.zeros(1, np.int32)
        total = reg.scalar(f32, init=0.0)
        for _ in ptx.range_(3):
            total += float(phase[0])
            phase[0] ^= 1
        Y[thread()] = total + X[0]

    assert "phase[0] is 0 before ptx.range_ and 1 after it: every round reads 0" in said(phases)


def test_functions_that_are_exchanged():
    def body(X, Y):
        ops = [lambda v: v]
        with ptx.if_(X[thread()] > 15.0):
            ops[0] = functools.partial
            ops[0] = lambda v: v + 1.0
        Y[thread()] = ops[0](X[thread()])

    assert "ops[0] is <lambda> before ptx.if_ and <lambda> after it, in all threads" in said(body)
