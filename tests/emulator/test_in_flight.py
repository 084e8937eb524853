"""Many asynchronous operations under way at once: the one that nobody has waited for is found among them."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from pyptx._emulator import Report

from .harness import device, output, run

COUNTS = (2, 40, 100, 300)
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
HEAD = """
.param u64 X
.param u64 Y
.param u32 N
.shared bar 16 8
.shared tile 8192 128
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
ld.param.u32 %r9, [N]
mov.u32 %r1, %tid.x
mov.u32 %r2, tile
setp.eq.u32 %p1, %r1, 0
mov.u32 %r10, %ctaid.x
mul.wide.u32 %rd4, %r10, 8208
add.u64 %rd2, %rd2, %rd4
"""


def waits(bar: str, label: str) -> str:
    return (
        f"{label}:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [{bar}], 0\n@!%p2 bra {label}\n"
    )


# One thread loads N pieces: the first completes on an mbarrier of its own.
LOADS = (
    HEAD
    + f"""
@!%p1 bra started
mbarrier.init.shared::cta.b64 [bar], 1
mbarrier.init.shared::cta.b64 [bar+8], 1
mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16
sub.u32 %r3, %r9, 1
shl.b32 %r3, %r3, 4
mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar+8], %r3
{LOAD} [tile], [%rd1], 16, [bar]
mov.u32 %r4, 16
shl.b32 %r5, %r9, 4
next:
add.u32 %r6, %r2, %r4
cvt.u64.u32 %rd3, %r4
add.u64 %rd3, %rd1, %rd3
{LOAD} [%r6], [%rd3], 16, [bar+8]
add.u32 %r4, %r4, 16
setp.lt.u32 %p3, %r4, %r5
@%p3 bra next
started:
bar.sync 0
BUG
"""
    + waits("bar+8", "others")
    + """
ld.shared.u32 %r7, [tile]
@%p1 st.global.u32 [%rd2], %r7
"""
    + waits("bar", "last")
)
# Thread 32 stores the first piece, and thread 0 all others, for which it waits.
STORES = (
    HEAD
    + f"""
shl.b32 %r3, %r1, 2
add.u32 %r4, %r2, %r3
st.shared.u32 [%r4], %r1
fence.proxy.async
bar.sync 0
setp.eq.u32 %p4, %r1, 32
@!%p4 bra stored
{STORE} [%rd2], [tile], 16
cp.async.bulk.commit_group
BUG
stored:
bar.sync 0
@!%p1 bra done
mov.u32 %r4, 16
shl.b32 %r5, %r9, 4
next:
cvt.u64.u32 %rd3, %r4
add.u64 %rd3, %rd2, %rd3
{STORE} [%rd3], [tile], 16
cp.async.bulk.commit_group
add.u32 %r4, %r4, 16
setp.lt.u32 %p3, %r4, %r5
@%p3 bra next
cp.async.bulk.wait_group 0
ld.global.u32 %r7, [%rd2]
st.global.u32 [%rd2+8192], %r7
done:
@%p4 cp.async.bulk.wait_group 0
"""
)
# Every lane of both warps copies N/2 elements to eight places in turn. In the clean program it waits before each copy.
LANES = (
    HEAD
    + """
shr.u32 %r9, %r9, 1
mov.u32 %r4, 0
shl.b32 %r3, %r1, 2
add.u32 %r6, %r2, %r3
cvt.u64.u32 %rd3, %r3
add.u64 %rd3, %rd1, %rd3
next:
rem.u32 %r5, %r4, 8
shl.b32 %r5, %r5, 8
add.u32 %r5, %r6, %r5
BUG
cp.async.ca.shared.global [%r5], [%rd3], 4
cp.async.commit_group
add.u32 %r4, %r4, 1
setp.lt.u32 %p3, %r4, %r9
@%p3 bra next
cp.async.wait_group 0
bar.sync 0
ld.shared.u32 %r7, [tile]
@%p1 st.global.u32 [%rd2], %r7
"""
)


def launch(text: str, count: int, line: str, **options: object) -> Report:
    x, y = device(np.arange(2048, dtype=np.uint32)), output(2 * 2052, np.uint32)
    return run(
        text.replace("BUG", line), [x], [y, count],
        grid=2, block=64, sanitize=True, initialised=True, **options,
    )  # fmt: skip


def places(report: Report, text: str) -> set[tuple[str, str, str]]:
    """The kind of each finding, and the instructions of both parties."""
    lines = text.splitlines()
    return {
        (f.kind, lines[f.site.location.line - 1], lines[f.other.location.line - 1])
        for f in report.findings
    }


LOADED = ("shared-race", "ld.shared.u32 %r7, [tile]", f"{LOAD} [tile], [%rd1], 16, [bar]")
STORED = ("global-race", "ld.global.u32 %r7, [%rd2]", f"{STORE} [%rd2], [tile], 16")
COPIED = "cp.async.ca.shared.global [%r5], [%rd3], 4"


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(
    ("text", "expected"), [(LOADS, LOADED), (STORES, STORED)], ids=["load", "store"]
)
def test_one_that_nobody_has_waited_for(text: str, expected: tuple[str, str, str], count: int):
    one, two = (launch(text, count, "nanosleep.u32 1", threads=threads) for threads in (1, 2))
    assert places(one, text) == {expected}
    assert [(f.kind, f.count, f.site, f.other) for f in two.findings] == [
        (f.kind, f.count, f.site, f.other) for f in one.findings
    ]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(
    ("text", "line"),
    [(LOADS, waits("bar", "first").strip()), (STORES, "cp.async.bulk.wait_group 0")],
    ids=["load", "store"],
)
def test_all_waited_for(text: str, line: str, count: int):
    assert launch(text, count, line).message == ""


@pytest.mark.parametrize("count", COUNTS[1:])
def test_copies_to_one_place(count: int):
    report = launch(LANES, count, "nanosleep.u32 1")
    assert places(report, LANES) == {("shared-race", COPIED, COPIED)}


@pytest.mark.parametrize("count", COUNTS)
def test_copies_to_one_place_one_after_the_other(count: int):
    assert launch(LANES, count, "cp.async.wait_group 0").message == ""


def test_more_copies_than_a_clock_counts():
    # Of the 32 agents that there are at first, each has a clock of 14 bits.
    assert launch(LANES, 2**19 + 2**12, "cp.async.wait_group 0").message == ""


# Both warps load the same words of the tile; then thread 0 begins N stores from elsewhere, each an agent of its own;
# then thread 32 stores over a word that warp 0 has loaded.
READERS = (
    HEAD
    + f"""
shl.b32 %r3, %r1, 2
and.b32 %r3, %r3, 127
add.u32 %r4, %r2, %r3
st.shared.u32 [%r4], %r1
st.shared.u32 [%r4+4096], %r1
fence.proxy.async
bar.sync 0
ld.shared.u32 %r7, [%r4]
@!%p1 bra begun
mov.u32 %r6, 0
next:
{STORE} [%rd2], [tile+4096], 16
cp.async.bulk.commit_group
add.u64 %rd2, %rd2, 16
add.u32 %r6, %r6, 1
setp.lt.u32 %p3, %r6, %r9
@%p3 bra next
ld.shared.u32 %r8, [%r4+64]
begun:
BUG
setp.eq.u32 %p4, %r1, 32
@%p4 st.shared.u32 [%r4], %r7
@%p1 cp.async.bulk.wait_group 0
"""
).replace(
    "st.shared.u32 [%r4], %r1\nst",
    "setp.lt.u32 %p4, %r1, 32\n@%p4 st.shared.u32 [%r4], %r1\n@%p4 st",
)


@pytest.mark.parametrize("count", COUNTS)
def test_readers_of_a_word_are_kept_while_operations_begin(count: int):
    report = launch(READERS, count, "nanosleep.u32 1")
    assert places(report, READERS) == {
        ("shared-race", "@%p4 st.shared.u32 [%r4], %r7", "ld.shared.u32 %r7, [%r4]")
    }
    assert launch(READERS, count, "bar.sync 0").message == ""
