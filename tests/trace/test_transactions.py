"""Bytes that mbarriers expect: kernels that are right, however the bytes are counted in them.

The wrong ones stand in tests/errors/test_tensor_maps.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

BOX = 8 * 32 * 4


def at_once(bar, copies, lane):
    with ptx.if_(lane == 0):
        bar.arrive_expect_tx(BOX * len(copies))
        for copy in copies:
            copy()


def under_one_guard(bar, copies, lane):
    one = lane == 0
    bar.arrive_expect_tx(BOX * len(copies), pred=one)
    for copy in copies:
        copy(pred=one)


def by_another_thread(bar, copies, lane):
    bar.arrive_expect_tx(BOX * len(copies), pred=lane == 0)
    ptx.bar.sync()
    with ptx.if_(lane == 32):
        for copy in copies:
            copy()


def in_a_loop(bar, copies, lane):
    """The copies are behind each other in a loop, the bytes before it."""
    bar.arrive_expect_tx(BOX * len(copies), pred=lane == 0)
    for step in ptx.range_(0, len(copies), dtype=u32):
        for number, copy in enumerate(copies):
            copy(pred=(lane == 0) & (step == number))


def one_of_two(bar, copies, lane):
    """What is expected is brought on one of two ways."""
    with ptx.if_(lane == 0):
        bar.arrive_expect_tx(BOX * len(copies))
        first = ptx.special.ctaid.x() == 0
        for copy in copies:
            with ptx.if_(first):
                copy()
            with ptx.else_():
                copy()


def in_parts(bar, copies, lane):
    with ptx.if_(lane == 0):
        for copy in copies:
            bar.expect_tx(BOX)
            copy()
        bar.arrive()


def a_guard_that_changes(bar, copies, lane):
    """The guard's register is another predicate for each copy."""
    with ptx.if_(lane == 0):
        bar.arrive_expect_tx(BOX * len(copies))
    chosen = lane == 64
    for number, copy in enumerate(copies):
        ptx.inst.setp.eq.u32(chosen, lane, number)
        copy(pred=chosen)


def too_many_that_a_thread_completes(bar, copies, lane):
    with ptx.if_(lane == 0):
        bar.arrive_expect_tx(BOX * len(copies) + 16)
        for copy in copies:
            copy()
        ptx.inst.mbarrier.complete_tx.relaxed.cta.shared__cta.b64(bar, 16)


@pytest.mark.parametrize(
    "how",
    [at_once, under_one_guard, by_another_thread, in_a_loop, one_of_two, in_parts,
     a_guard_that_changes, too_many_that_a_thread_completes],
    ids=lambda how: how.__name__,
)  # fmt: skip
@pytest.mark.parametrize("several", [False, True])
def test_what_is_right_is_silent(how, several):
    """Here, and where the kernel runs; the mbarrier is one, or one of several."""

    @kernel(in_specs=(Tile(24, 32, f32, tma_box=(8, 32)),), out_specs=(Tile(24, 32, f32),),
            grid=(1, 1, 1), block=(96, 1, 1))  # fmt: skip
    def copied(X, Y):
        tiles, bars = smem.alloc(f32, (3, 8, 32), align=128), smem.mbarrier(2)
        x, (y,) = X.tma_desc(), ptx.global_ptrs(Y)
        lane = reg.from_(ptx.special.tid.x(), u32)
        bar = bars[reg.scalar(u32, init=1)] if several else bars[1]
        bars.init(1, pred=lane == 0)
        ptx.bar.sync()
        load = ptx.cp.async_.bulk.tensor_2d

        def copy(number):
            return lambda pred=None: load(
                dst=tiles[number], src=x, coord=[0, 8 * number], mbar=bar, pred=pred
            )

        how(bar, [copy(number) for number in range(3)], lane)
        bar.wait(0)
        for first in range(0, 768, 96):
            at = lane + first
            value = tiles[at >> 8, (at >> 5) & 7, at & 31]
            ptx.inst.st.global_.f32(ptx.addr(y + at * 4), value)

    x = np.arange(24 * 32, dtype=np.float32).reshape(24, 32)
    done = copied.emulate(x)
    assert done.report.message == ""
    assert np.array_equal(done.outputs[0], x)
