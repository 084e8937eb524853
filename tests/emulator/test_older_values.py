"""Strong loads that give older values: algorithms that need `fence.sc`, and others that do not.

In each wrong program two threads store and then load what the other stores, and go on wrongly where
both loads give the old values. The right program has a `fence.sc` between; or nothing follows from
an old value but that a thread waits a little longer.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pyptx import _emulator as emulator
from pyptx._emulator import Report, Tensor

from .harness import encode, output

HEAD = """
.param u64 Y
.param u64 Z
ld.param.u64 %rd1, [Y]
ld.param.u64 %rd5, [Z]
mov.u32 %r1, %ctaid.x
mov.u32 %r31, 1
mov.u32 %r32, 0
shl.b32 %r2, %r1, 2
cvt.u64.u32 %rd2, %r2
add.u64 %rd2, %rd1, %rd2
xor.b32 %r3, %r2, 4
cvt.u64.u32 %rd3, %r3
add.u64 %rd3, %rd1, %rd3
"""

# Y[0] and Y[1] are the threads' flags; who sees that the other's is not set may use Y[2].
DEKKER = """
st.relaxed.gpu.global.u32 [%rd2], 1
BUG
ld.relaxed.gpu.global.u32 %r4, [%rd3]
setp.ne.u32 %p1, %r4, 0
@%p1 bra done
st.global.u32 [%rd1+8], %r1
done:
"""
# Y[2] is whose turn it is, Y[3] what the lock protects. Each thread takes the lock three times.
PETERSON = """
mov.u32 %r8, 0
xor.b32 %r9, %r1, 1
again:
st.release.gpu.global.u32 [%rd2], 1
st.release.gpu.global.u32 [%rd1+8], %r9
BUG
wait:
ld.acquire.gpu.global.u32 %r4, [%rd3]
ld.acquire.gpu.global.u32 %r5, [%rd1+8]
setp.eq.u32 %p1, %r4, 1
setp.eq.u32 %p2, %r5, %r9
and.pred %p1, %p1, %p2
@%p1 bra wait
ld.global.u32 %r6, [%rd1+12]
add.u32 %r6, %r6, 1
st.global.u32 [%rd1+12], %r6
st.release.gpu.global.u32 [%rd2], 0
add.u32 %r8, %r8, 1
setp.lt.u32 %p3, %r8, 3
@%p3 bra again
"""
# Y[0] says which of Y[2] and Y[3] is in use, Y[1] which of them the reader protects, plus one.
HAZARD = """
setp.eq.u32 %p1, %r1, 1
@%p1 bra writer
ld.acquire.gpu.global.u32 %r4, [%rd1]
add.u32 %r5, %r4, 1
st.relaxed.gpu.global.u32 [%rd1+4], %r5
BUG
ld.acquire.gpu.global.u32 %r6, [%rd1]
setp.ne.u32 %p2, %r4, %r6
@%p2 bra leave
shl.b32 %r7, %r4, 2
cvt.u64.u32 %rd4, %r7
add.u64 %rd4, %rd1, %rd4
ld.global.u32 %r8, [%rd4+8]
leave:
st.release.gpu.global.u32 [%rd1+4], 0
bra done
writer:
atom.release.gpu.global.exch.b32 %r4, [%rd1], 1
BUG
ld.acquire.gpu.global.u32 %r5, [%rd1+4]
setp.eq.u32 %p2, %r5, 1
@%p2 bra done
st.global.u32 [%rd1+8], 99
done:
"""
# Who sees both flags in Y[0] and Y[1] is last, and stores Z[0]; if both are, one of them.
LAST = """
st.release.gpu.global.u32 [%rd2], 1
BUG
ld.acquire.gpu.global.u32 %r4, [%rd3]
setp.eq.u32 %p1, %r4, 0
@%p1 bra done
atom.relaxed.gpu.global.exch.b32 %r5, [%rd1+8], 1
setp.ne.u32 %p1, %r5, 0
@%p1 bra done
st.global.u32 [%rd5], 7
done:
"""
# The threads are two warps of a CTA, and the flags in its shared memory.
SHARED = """
.shared flags 16 16
mov.u32 %r10, %tid.x
setp.lt.u32 %p9, %r10, 3
@!%p9 bra cleared
shl.b32 %r11, %r10, 2
mov.u32 %r12, flags
add.u32 %r12, %r12, %r11
st.shared.u32 [%r12], 0
cleared:
bar.sync 0
and.b32 %r13, %r10, 31
setp.ne.u32 %p8, %r13, 0
@%p8 bra done
shr.u32 %r14, %r10, 3
mov.u32 %r15, flags
add.u32 %r16, %r15, %r14
xor.b32 %r17, %r14, 4
add.u32 %r17, %r15, %r17
st.volatile.shared.u32 [%r16], 1
BUG
ld.volatile.shared.u32 %r4, [%r17]
setp.ne.u32 %p1, %r4, 0
@%p1 bra done
st.shared.u32 [flags+8], %r10
done:
"""
WRONG = {
    "Dekker": (DEKKER, "fence.sc.gpu", "global-race", {}),
    "Dekker with membar": (DEKKER, "membar.gl", "global-race", {}),
    "Peterson": (PETERSON, "fence.sc.gpu", "global-race", {}),
    "hazard pointer": (HAZARD, "fence.sc.gpu", "global-race", {}),
    "the last of two": (LAST, "fence.sc.gpu", "unwritten-output", {"complete": True}),
    "Dekker in shared memory": (SHARED, "fence.sc.cta", "shared-race", {"grid": 1, "block": 64}),
}

# Y[0] is the head of a ring of four slots from Y[8] on, Y[1] its tail. Z[i] gets what was sent.
RING = """
mov.u32 %r8, 0
setp.eq.u32 %p1, %r1, 1
@%p1 bra consumer
full:
ld.acquire.gpu.global.u32 %r4, [%rd1+4]
sub.u32 %r5, %r8, %r4
setp.ge.u32 %p2, %r5, 4
@%p2 bra full
and.b32 %r6, %r8, 3
shl.b32 %r6, %r6, 2
cvt.u64.u32 %rd4, %r6
add.u64 %rd4, %rd1, %rd4
mul.lo.u32 %r7, %r8, %r8
st.global.u32 [%rd4+32], %r7
add.u32 %r8, %r8, 1
st.release.gpu.global.u32 [%rd1], %r8
setp.lt.u32 %p3, %r8, 16
@%p3 bra full
bra done
consumer:
ld.acquire.gpu.global.u32 %r4, [%rd1]
setp.eq.u32 %p2, %r4, %r8
@%p2 bra consumer
and.b32 %r6, %r8, 3
shl.b32 %r6, %r6, 2
cvt.u64.u32 %rd4, %r6
add.u64 %rd4, %rd1, %rd4
ld.global.u32 %r7, [%rd4+32]
mul.wide.u32 %rd6, %r8, 4
add.u64 %rd6, %rd5, %rd6
st.global.u32 [%rd6], %r7
add.u32 %r8, %r8, 1
st.release.gpu.global.u32 [%rd1+4], %r8
setp.lt.u32 %p3, %r8, 16
@%p3 bra consumer
done:
"""
# Whoever sees Y[0] free tries to take it. Z[0] counts.
SPIN_LOCK = """
mov.u32 %r8, 0
take:
ld.relaxed.gpu.global.u32 %r4, [%rd1]
setp.ne.u32 %p1, %r4, 0
@%p1 bra take
atom.acquire.gpu.global.cas.b32 %r4, [%rd1], 0, 1
setp.ne.u32 %p1, %r4, 0
@%p1 bra take
ld.global.u32 %r5, [%rd5]
add.u32 %r5, %r5, 1
st.global.u32 [%rd5], %r5
st.release.gpu.global.u32 [%rd1], 0
add.u32 %r8, %r8, 1
setp.lt.u32 %p3, %r8, 4
@%p3 bra take
"""
# Each CTA adds its number to what those before it have; Y[i] says when Z[i] is there.
LOOK_BACK = """
mov.u32 %r5, 0
setp.eq.u32 %p1, %r1, 0
@%p1 bra first
before:
ld.relaxed.gpu.global.u32 %r4, [%rd2-4]
setp.eq.u32 %p2, %r4, 0
@%p2 bra before
fence.acq_rel.gpu
add.u64 %rd6, %rd5, %rd2
sub.u64 %rd6, %rd6, %rd1
ld.global.u32 %r5, [%rd6-4]
first:
add.u32 %r5, %r5, %r1
add.u64 %rd6, %rd5, %rd2
sub.u64 %rd6, %rd6, %rd1
st.global.u32 [%rd6], %r5
fence.acq_rel.gpu
st.relaxed.gpu.global.u32 [%rd2], 1
"""
# Two barriers of the grid in Y[0]; between them each CTA reads what the next one stored.
GRID_BARRIER = """
mov.u32 %r8, 0
mov.u32 %r9, %nctaid.x
mov.u32 %r10, 0
add.u64 %rd6, %rd5, %rd2
sub.u64 %rd6, %rd6, %rd1
add.u32 %r11, %r1, 1
rem.u32 %r11, %r11, %r9
mul.wide.u32 %rd7, %r11, 4
add.u64 %rd7, %rd5, %rd7
again:
add.u32 %r12, %r1, %r8
st.global.u32 [%rd6], %r12
add.u32 %r10, %r10, %r9
FENCE
atom.relaxed.gpu.global.add.u32 %r4, [%rd1], 1
wait:
ld.volatile.global.u32 %r4, [%rd1]
setp.lt.u32 %p1, %r4, %r10
@%p1 bra wait
FENCE
ld.global.u32 %r13, [%rd7]
add.u32 %r10, %r10, %r9
FENCE
atom.relaxed.gpu.global.add.u32 %r4, [%rd1], 1
leave:
ld.volatile.global.u32 %r4, [%rd1]
setp.lt.u32 %p1, %r4, %r10
@%p1 bra leave
FENCE
add.u32 %r8, %r8, 1
setp.lt.u32 %p3, %r8, 3
@%p3 bra again
"""
# Z[0] is a message, and Y[0] says that it is there; the third CTA hears of it from the second.
MESSAGE = """
setp.eq.u32 %p1, %r1, 1
@%p1 bra second
setp.eq.u32 %p1, %r1, 2
@%p1 bra third
st.relaxed.gpu.global.u32 [%rd1+8], 5
st.global.u32 [%rd5], 42
st.release.gpu.global.u32 [%rd1], 1
bra done
second:
ld.acquire.gpu.global.u32 %r4, [%rd1]
setp.eq.u32 %p2, %r4, 0
@%p2 bra second
st.release.gpu.global.u32 [%rd1+4], 1
bra done
third:
ld.acquire.gpu.global.u32 %r4, [%rd1+4]
setp.eq.u32 %p2, %r4, 0
@%p2 bra third
ld.relaxed.gpu.global.u32 %r6, [%rd1+8]
st.global.u32 [%rd5+8], %r6
ld.global.u32 %r5, [%rd5]
st.global.u32 [%rd5+4], %r5
done:
"""
# The CTA that counts last adds what all have stored.
LAST_BLOCK = """
add.u64 %rd6, %rd5, %rd2
sub.u64 %rd6, %rd6, %rd1
add.u32 %r9, %r1, 3
st.global.u32 [%rd6+4], %r9
fence.acq_rel.gpu
atom.relaxed.gpu.global.inc.u32 %r4, [%rd1], 2
fence.acq_rel.gpu
setp.ne.u32 %p1, %r4, 2
@%p1 bra done
ld.global.u32 %r5, [%rd5+4]
ld.global.u32 %r6, [%rd5+8]
ld.global.u32 %r7, [%rd5+12]
add.u32 %r5, %r5, %r6
add.u32 %r5, %r5, %r7
st.global.u32 [%rd5], %r5
done:
"""
# Loads of one place never go back: Y[0] grows, and Z[1] counts when the second CTA sees it shrink.
COHERENT = """
mov.u32 %r8, 0
mov.u32 %r9, 0
mov.u32 %r10, 0
setp.eq.u32 %p1, %r1, 1
@%p1 bra reader
writer:
add.u32 %r8, %r8, 1
st.relaxed.gpu.global.u32 [%rd1], %r8
setp.lt.u32 %p2, %r8, 9
@%p2 bra writer
bra done
reader:
ld.relaxed.gpu.global.u32 %r4, [%rd1]
setp.lt.u32 %p2, %r4, %r9
@%p2 add.u32 %r10, %r10, 1
mov.u32 %r9, %r4
setp.lt.u32 %p2, %r4, 9
@%p2 bra reader
st.global.u32 [%rd5+4], %r10
done:
"""
RIGHT = {
    "ring buffer": (RING, 2, [i * i for i in range(16)]),
    "spin lock": (SPIN_LOCK, 3, [12]),
    "look-back": (LOOK_BACK, 8, list(itertools.accumulate(range(8)))),
    "grid barrier with fence.acq_rel": (GRID_BARRIER.replace("FENCE", "fence.acq_rel.gpu"), 4, [2, 3, 4, 5]),
    "grid barrier with membar": (GRID_BARRIER.replace("FENCE", "membar.gl"), 4, [2, 3, 4, 5]),
    "message": (MESSAGE, 3, [42, 42, 5]),
    "last block": (LAST_BLOCK, 3, [12, 3, 4, 5]),
    "coherence": (COHERENT, 2, [0, 0]),
}  # fmt: skip


def launch(text: str, *, complete: bool = False, **options: object) -> tuple[Report, np.ndarray]:
    """The report, and Z. Both arrays start as zeros; where Z is `complete`, its element has no value."""
    y, z = output(64, np.uint32), output(1 if complete else 64, np.uint32)
    y.fill(0)
    z.fill(complete)
    tensors = [
        Tensor(y, "Y", writable=True, initialised=True),
        Tensor(z, "Z", writable=True, initialised=not complete, complete=complete),
    ]
    grid, block = options.pop("grid", 2), options.pop("block", 1)
    launched = {"grid": (grid, 1, 1), "block": (block, 1, 1), "sanitize": True} | options
    return emulator.run(encode(HEAD + text), tensors, **launched), z


def found(report: Report) -> set[str]:
    return {f.kind for f in report.findings}


@pytest.mark.parametrize("line", ["nanosleep.u32 1", "fence.acq_rel.gpu"])
@pytest.mark.parametrize("name", WRONG)
def test_what_follows_from_an_old_value_is_found(name: str, line: str):
    text, _, kind, options = WRONG[name]
    text = text.replace("BUG", line)
    report, _ = launch(text, schedules=64, **options)
    assert found(report) == {kind}
    head = report.message.splitlines()[0]
    assert "in schedule " in head
    repeated = {"seed": int(head.split("seed=")[1].split(",")[0]), "completion": head.split('"')[1]}
    for threads in (1, 2):
        again, _ = launch(text, threads=threads, **repeated, **options)
        assert [(f.kind, f.count, f.site, f.other) for f in again.findings] == [
            (f.kind, f.count, f.site, f.other) for f in report.findings
        ]


@pytest.mark.parametrize("name", WRONG)
def test_a_sequential_fence_between_store_and_load_is_enough(name: str):
    text, fence, _, options = WRONG[name]
    assert launch(text.replace("BUG", fence), schedules=64, **options)[0].message == ""


def test_one_that_leaves_out_the_other_thread_is_not():
    report, _ = launch(DEKKER.replace("BUG", "fence.sc.cta"), schedules=64)
    assert found(report) == {"global-race"}


@pytest.mark.parametrize("first", ["0", "1"])
def test_one_in_one_thread_alone_is_not(first: str):
    fence = f"setp.eq.u32 %p7, %r1, {first}\n@%p7 fence.sc.gpu"
    assert found(launch(DEKKER.replace("BUG", fence), schedules=64)[0]) == {"global-race"}


@pytest.mark.parametrize("name", RIGHT)
def test_where_an_old_value_only_delays_nothing_is_found(name: str):
    text, grid, expected = RIGHT[name]
    assert launch(text, grid=grid, schedules=64)[0].message == ""
    for seed in range(32):
        report, z = launch(text, grid=grid, seed=seed)
        assert report.message == ""
        assert z[: len(expected)].tolist() == expected


def test_the_default_order_gives_the_newest_values():
    assert launch(DEKKER.replace("BUG", "nanosleep.u32 1"))[0].message == ""


# The second CTA waits for a flag that has no value before the first stores it.
UNSET = """
setp.eq.u32 %p1, %r1, 1
@%p1 bra second
st.global.u32 [%rd1], 42
st.release.gpu.global.u32 [%rd5], 1
bra done
second:
ld.acquire.gpu.global.u32 %r4, [%rd5]
setp.ne.u32 %p2, %r4, 1
@%p2 bra second
ld.global.u32 %r5, [%rd1]
st.global.u32 [%rd1+4], %r5
done:
"""


def test_what_has_no_value_is_no_older_value():
    # Where the second CTA runs first, its load of the flag is a finding; otherwise nothing is.
    kinds = [found(launch(UNSET, complete=True, seed=seed)[0]) for seed in range(64)]
    assert set() in kinds
    assert all("uninitialised-memory" in each for each in kinds if each)
