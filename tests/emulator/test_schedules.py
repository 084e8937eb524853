"""`schedules=`: orders of CTAs, warps and copies that are tried until one has findings."""

from __future__ import annotations

import numpy as np
import pytest

import pyptx
from pyptx import Tile, kernel, ptx, reg
from pyptx._emulator import Report
from pyptx.types import u32

from .harness import output, run

# Two locks that two CTAs take in opposite orders: one after the other all goes well.
LOCKS = """
.param u64 Y
ld.param.u64 %rd1, [Y]
mov.u32 %r1, %ctaid.x
shl.b32 %r2, %r1, 2
cvt.u64.u32 %rd2, %r2
add.u64 %rd2, %rd1, %rd2
xor.b32 %r3, %r2, 4
cvt.u64.u32 %rd3, %r3
add.u64 %rd3, %rd1, %rd3
first:
atom.acquire.gpu.global.cas.b32 %r4, [%rd2], 0, 1
setp.ne.u32 %p1, %r4, 0
@%p1 bra first
second:
atom.acquire.gpu.global.cas.b32 %r4, [%rd3], 0, 1
setp.ne.u32 %p1, %r4, 0
@%p1 bra second
st.release.gpu.global.u32 [%rd3], 0
st.release.gpu.global.u32 [%rd2], 0
"""
ORDERED = LOCKS.replace("xor.b32 %r3, %r2, 4", "mov.u32 %r2, 0\nmov.u32 %r3, 4").replace(
    "cvt.u64.u32 %rd2, %r2\n", "mov.u32 %r2, 0\ncvt.u64.u32 %rd2, %r2\n"
)


def locks(text: str = LOCKS, **options: object) -> Report:
    y = output(2, np.uint32)
    y.fill(0)
    return run(text, [], [y], grid=2, block=1, initialised=True, sanitize=True, **options)


def test_the_default_order_does_not_meet_the_deadlock():
    assert locks().message == ""


def test_another_order_does_and_says_how_to_repeat_it():
    report = locks(schedules=64)
    assert [f.kind for f in report.findings] == ["deadlock"]
    first = report.message.splitlines()[0]
    head, _, repeats = first.partition("; ")
    assert head.startswith("kernel kernel: 1 finding, in schedule ")
    seed = int(repeats.split("seed=")[1].split(",")[0])
    policy = report.message.split('"')[1]
    said = f'seed={seed}, completion="{policy}" repeats it; the launch was stopped'
    assert repeats == said
    again = locks(seed=seed, completion=policy)
    assert again.findings == report.findings


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_what_is_found_is_the_same_for_all_threads(threads: int):
    assert locks(schedules=64, threads=threads).message == locks(schedules=64).message


def test_locks_in_one_order_are_silent_in_all():
    assert locks(ORDERED, schedules=64).message == ""


@kernel(in_specs=(Tile("N", u32),), out_specs=(Tile("N", u32),), grid=lambda N: N // 32, block=32)
def double(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    i = reg.from_(ptx.special.ctaid.x(), u32) * 32 + ptx.special.tid.x()
    value = ptx.inst.ld.global_.u32(ptx.addr(x + i * 4))
    ptx.inst.st.global_.u32(ptx.addr(y + i * 4), value + value)


def test_results_and_counts_are_those_of_the_first_order():
    x = np.arange(128, dtype=np.uint32)
    one, many = double.emulate(x), double.emulate(x, schedules=5)
    assert many.outputs[0].tolist() == one.outputs[0].tolist() == (2 * x).tolist()
    assert many.report.statistics == one.report.statistics
    assert many.report.instructions == one.report.instructions


def test_sanitize_takes_it():
    x = np.arange(64, dtype=np.uint32)
    with pyptx.sanitize(schedules=3) as done:
        assert double(x).tolist() == (2 * x).tolist()
    assert done.launches == 1


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, 2**31])
def test_what_is_no_number_of_schedules_is_refused(wrong: object):
    with pytest.raises(pyptx.CallError) as error:
        double.emulate(np.zeros(32, np.uint32), schedules=wrong)
    assert (
        str(error.value)
        .splitlines()[0]
        .endswith(f"schedules={wrong!r} is not a whole number from 1 to 2**31 - 1")
    )
    with pytest.raises(pyptx.CallError) as error:
        pyptx.sanitize(schedules=wrong)  # pyright: ignore[reportArgumentType]
    assert f"schedules={wrong!r} is not a whole number from 1 to 2**31 - 1" in str(error.value)
