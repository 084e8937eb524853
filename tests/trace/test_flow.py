"""Structured control flow: where the branches and labels come to stand, in any nesting."""

import numpy as np
import pytest

from pyptx import LanguageWarning, Tile, kernel
from pyptx._trace import ptx, reg
from pyptx.types import s32, s64, u32, u64


def lines(text: str) -> list[str]:
    return [line.strip().removesuffix(";") for line in text.strip().splitlines()]


def body_of(found) -> list[str]:
    return [line.removesuffix(";") for line in found.body[:-1]]


def test_if(traced):
    def body():
        x = reg.scalar(u32, init=0)
        with ptx.if_(x == 0):
            x += 1
        x += 2

    found = traced(body)
    assert body_of(found) == lines("""
        mov.u32 %u0, 0
        setp.eq.u32 %p0, %u0, 0
        @!%p0 bra $L0
        add.u32 %u0, %u0, 1
        $L0:
        add.u32 %u0, %u0, 2
    """)
    found.assemble()


def test_if_not_and_else(traced):
    def body():
        x = reg.scalar(u32, init=0)
        with ptx.if_(~(x == 0)):
            x += 1
        with ptx.else_():
            x += 2
        x += 3

    found = traced(body)
    assert body_of(found) == lines("""
        mov.u32 %u0, 0
        setp.eq.u32 %p0, %u0, 0
        @%p0 bra $L0
        add.u32 %u0, %u0, 1
        bra $L1
        $L0:
        add.u32 %u0, %u0, 2
        $L1:
        add.u32 %u0, %u0, 3
    """)
    found.assemble()


def test_a_nested_if_without_else_then_the_else_of_the_outer_one(traced):
    def body():
        x = reg.scalar(u32, init=0)
        p, q = x == 0, x == 1
        with ptx.if_(p):  # noqa: SIM117 - the nesting is what is tested
            with ptx.if_(q):
                x += 1
        with ptx.else_():
            x += 2

    found = traced(body)
    assert body_of(found)[3:] == lines("""
        @!%p0 bra $L1
        @!%p1 bra $L0
        add.u32 %u0, %u0, 1
        $L0:
        bra $L2
        $L1:
        add.u32 %u0, %u0, 2
        $L2:
    """)
    found.assemble()


def test_else_of_an_if_inside_an_else(traced):
    def body():
        x = reg.scalar(u32, init=0)
        p, q = x == 0, x == 1
        with ptx.if_(p):
            x += 1
        with ptx.else_():
            with ptx.if_(q):
                x += 2
            with ptx.else_():
                x += 3
        x += 4

    found = traced(body)
    assert body_of(found)[3:] == lines("""
        @!%p0 bra $L0
        add.u32 %u0, %u0, 1
        bra $L2
        $L0:
        @!%p1 bra $L1
        add.u32 %u0, %u0, 2
        bra $L2
        $L1:
        add.u32 %u0, %u0, 3
        $L2:
        add.u32 %u0, %u0, 4
    """)
    found.assemble()


def test_loop_until_a_predicate_that_the_body_sets(traced):
    def body():
        x = reg.scalar(u32, init=0)
        go = x == 0
        with ptx.loop("again", pred=go):
            x += 1
            ptx.inst.setp.lt.u32(go, x, 4)

    found = traced(body)
    assert body_of(found) == lines("""
        mov.u32 %u0, 0
        setp.eq.u32 %p0, %u0, 0
        $L0:
        add.u32 %u0, %u0, 1
        setp.lt.u32 %p0, %u0, 4
        @%p0 bra $L0
    """)
    found.assemble()


def test_endless_loop_with_break_and_continue(traced):
    def body():
        x = reg.scalar(u32, init=0)
        with ptx.loop():
            x += 1
            ptx.continue_(pred=x < 3)
            ptx.break_(pred=~(x < 7))
            x += 2

    found = traced(body)
    assert body_of(found)[1:] == lines("""
        $L0:
        add.u32 %u0, %u0, 1
        setp.lt.u32 %p0, %u0, 3
        @%p0 bra $L1
        setp.lt.u32 %p1, %u0, 7
        @!%p1 bra $L2
        add.u32 %u0, %u0, 2
        $L1:
        bra $L0
        $L2:
    """)
    found.assemble()


def test_while(traced):
    def body():
        x = reg.scalar(u32, init=0)
        with ptx.while_(lambda: x < 10):
            x += 1
            ptx.continue_(pred=x == 5)
            x += 2
        return x

    found = traced(body)
    assert body_of(found)[1:] == lines("""
        $L0:
        setp.lt.u32 %p0, %u0, 10
        @!%p0 bra $L1
        add.u32 %u0, %u0, 1
        setp.eq.u32 %p1, %u0, 5
        @%p1 bra $L0
        add.u32 %u0, %u0, 2
        bra $L0
        $L1:
    """)
    found.assemble()


def test_range_of_ints(traced):
    def body():
        total = reg.scalar(s32, init=0)
        for i in ptx.range_(2, 10, 3):
            total += i
            assert i.dtype is s32

    found = traced(body)
    assert body_of(found) == lines("""
        mov.s32 %s0, 0
        mov.s32 %s1, 2
        $L0:
        add.s32 %s0, %s0, %s1
        add.s32 %s1, %s1, 3
        setp.lt.s32 %p0, %s1, 10
        @%p0 bra $L0
    """)
    found.assemble()


def test_range_of_registers_downwards(traced):
    def body():
        n = reg.scalar(s64, init=9)
        total = reg.scalar(s64, init=0)
        for i in ptx.range_(n, 0, -2):
            total += i
            assert i.dtype is s64

    found = traced(body)
    assert body_of(found)[2:] == lines("""
        mov.s64 %sd2, %sd0
        setp.le.s64 %p0, %sd2, 0
        @%p0 bra $L1
        $L0:
        add.s64 %sd1, %sd1, %sd2
        add.s64 %sd2, %sd2, -2
        setp.gt.s64 %p1, %sd2, 0
        @%p1 bra $L0
        $L1:
    """)
    found.assemble()


def test_range_with_a_special_register_as_bound(traced):
    def body():
        for i in ptx.range_(ptx.special.tid.x(), 1024, 128):
            assert i.dtype is u32
        for j in ptx.range_(ptx.special.ntid.x()):
            assert j.dtype is u32

    found = traced(body)
    assert body_of(found) == lines("""
        mov.u32 %u0, %tid.x
        setp.ge.u32 %p0, %u0, 1024
        @%p0 bra $L1
        $L0:
        add.u32 %u0, %u0, 128
        setp.lt.u32 %p1, %u0, 1024
        @%p1 bra $L0
        $L1:
        mov.u32 %u1, 0
        mov.u32 %u2, %ntid.x
        setp.ge.u32 %p2, %u1, %u2
        @%p2 bra $L3
        $L2:
        add.u32 %u1, %u1, 1
        setp.lt.u32 %p3, %u1, %u2
        @%p3 bra $L2
        $L3:
    """)
    found.assemble()


@pytest.mark.parametrize("bounds", [(0,), (5, 5), (5, 2), (2, 5, -1)])
def test_an_empty_range_of_ints_appends_nothing(traced, bounds):
    def body():
        for _ in ptx.range_(*bounds):
            raise AssertionError

    assert traced(body).instructions == []


def test_the_type_of_a_range_of_ints(traced):
    def body():
        for i in ptx.range_(4, dtype=u64):
            assert i.dtype is u64

    assert traced(body).instructions[0] == "mov.u64 %ud0, 0"


def test_everything_in_everything(traced):
    """if and else in a range in a while in a loop, with every way out."""

    def body():
        x = reg.scalar(u32, init=0)
        with ptx.loop():
            with ptx.while_(lambda: x < 100):
                for i in ptx.range_(0, x):
                    p = i == x
                    with ptx.if_(p):
                        x += 1
                        ptx.continue_()
                    with ptx.else_():
                        with ptx.if_(x == 9):
                            ptx.break_()
                        x += 2
                    x += 3
                x += 4
                ptx.break_(pred=x > 50)
            ptx.ret(pred=x == 77)
            ptx.break_(pred=x > 60)
        x += 5

    with pytest.warns(LanguageWarning, match="writes the bound of a ptx.range_ loop"):
        found = traced(body)
    assert body_of(found) == lines("""
        mov.u32 %u0, 0
        $L0:
        setp.lt.u32 %p0, %u0, 100
        @!%p0 bra $L7
        mov.u32 %u1, 0
        setp.ge.u32 %p1, %u1, %u0
        @%p1 bra $L6
        $L1:
        setp.eq.u32 %p2, %u1, %u0
        @!%p2 bra $L2
        add.u32 %u0, %u0, 1
        bra $L5
        bra $L4
        $L2:
        setp.eq.u32 %p3, %u0, 9
        @!%p3 bra $L3
        bra $L6
        $L3:
        add.u32 %u0, %u0, 2
        $L4:
        add.u32 %u0, %u0, 3
        $L5:
        add.u32 %u1, %u1, 1
        setp.lt.u32 %p4, %u1, %u0
        @%p4 bra $L1
        $L6:
        add.u32 %u0, %u0, 4
        setp.gt.u32 %p5, %u0, 50
        @%p5 bra $L7
        bra $L0
        $L7:
        setp.eq.u32 %p6, %u0, 77
        @%p6 ret
        setp.gt.u32 %p7, %u0, 60
        @%p7 bra $L8
        bra $L0
        $L8:
        add.u32 %u0, %u0, 5
    """)
    found.assemble()


def test_labels_by_hand(traced):
    def body():
        x = reg.scalar(u32, init=0)
        again, out = ptx.label(), ptx.label()
        ptx.place(again)
        x += 1
        ptx.bra(out, pred=x == 3)
        ptx.inst.bra.uni(again)
        ptx.place(out)

    found = traced(body)
    assert body_of(found)[1:] == lines("""
        $L0:
        add.u32 %u0, %u0, 1
        setp.eq.u32 %p0, %u0, 3
        @%p0 bra $L1
        bra.uni $L0
        $L1:
    """)
    found.assemble()


def test_labels_by_name(traced):
    """A name may be branched to before its label stands."""

    def body():
        x = reg.scalar(u32, init=0)
        with ptx.scope():
            ptx.label("again")
            x += 1
            ptx.bra("out", pred=x == 3)
            ptx.inst.bra.uni("again")
        ptx.label("out")

    found = traced(body)
    assert body_of(found)[1:] == lines("""
        $L0:
        add.u32 %u0, %u0, 1
        setp.eq.u32 %p0, %u0, 3
        @%p0 bra $L1
        bra.uni $L0
        $L1:
    """)


def test_a_body_without_ret_gets_one_and_others_keep_theirs(traced):
    def guarded():
        ptx.ret(pred=reg.scalar(u32, init=0) == 0)

    assert traced(lambda: None).body == ["ret;"]
    assert traced(ptx.ret).body == ["ret;"]
    assert traced(lambda: ptx.inst.exit()).body == ["exit;"]
    assert traced(guarded).body[-2:] == ["@%p0 ret;", "ret;"]


def test_ret_in_a_branch_at_the_end_still_gets_one(traced):
    def body():
        with ptx.if_(reg.scalar(u32, init=0) == 0):
            ptx.ret()

    found = traced(body)
    assert found.body[-3:] == ["ret;", "$L0:", "ret;"]
    found.assemble()


def test_a_branch_by_index():
    @kernel(in_specs=(Tile(32, u32),), out_specs=(Tile(32, u32),), block=32)
    def pick(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        offset = reg.from_(ptx.special.tid.x(), u32) * 4
        index = ptx.inst.ld.global_.u32(ptx.addr(x + offset))
        result = reg.scalar(u32)
        labels = [ptx.label() for _ in range(3)]
        end = ptx.label()
        ptx.inst.brx.idx(index, labels)
        for label, value in zip(labels, (10, 20, 30), strict=True):
            ptx.place(label)
            ptx.inst.mov.u32(result, value)
            ptx.bra(end)
        ptx.place(end)
        ptx.raw(
            "t: .branchtargets u, v; brx.idx i, t; u: add.u32 r, r, 1; v:", i=index % 2, r=result
        )
        ptx.inst.st.global_.u32(ptx.addr(y + offset), result)

    index = np.arange(32, dtype=np.uint32) % 3
    emulation = pick.emulate(index)
    emulation.report.check()
    np.testing.assert_array_equal(emulation.outputs[0], 10 * (index + 1) + (index % 2 == 0))
    assert "$T0: .branchtargets $L0, $L1, $L2;\n    brx.idx" in pick.ptx()
    assert pick.cubin().code


def test_labels_are_those_that_something_branches_to(traced):
    def body():
        n = reg.from_(ptx.special.tid.x(), u32)
        ptx.label("nobody")
        with ptx.loop(pred=lambda: n > 0):
            n -= 1
        with ptx.loop():
            with ptx.if_(n == 3), ptx.if_(n == 4):
                n += 2
            ptx.break_(pred=n > 9)
        ptx.raw("T: .branchtargets A, B; brx.idx x, T; A: B: add.u32 x, x, 1;", x=n)

    found = traced(body)
    labels = [line for line in found.body if line.startswith("$L")]
    assert labels == [f"$L{i}:" for i in range(5)]
    assert "$T0: .branchtargets $L4, $L4;" in found.text
    assert "@!%p1 bra $L2;" in found.body
    assert "@!%p2 bra $L2;" in found.body
    found.assemble()


def test_what_iterates_a_range_for_a_for_statement_is_its_loop(traced):
    def from_it(n):
        yield from ptx.range_(n)

    def by_hand(n):
        for i in ptx.range_(n):
            yield i + 1

    def body():
        x = reg.scalar(s32, init=0)
        for loop in (from_it(2), by_hand(2), (i + 1 for i in ptx.range_(2)), ptx.range_(2)):
            for i in loop:
                values = [x + k for k in range(2)]
                x += [*values, i][2] + sum(k for k in range(2))

    found = traced(body)
    assert sum(line.startswith("setp.lt") for line in found.body) == 4
    found.assemble()
