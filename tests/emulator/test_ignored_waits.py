"""Tests of an mbarrier whose result nothing uses: they order nothing, however often they succeed."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from pyptx._emulator import Report

from .harness import FILE, device, run
from .test_async_patterns import EXPECT, HEAD, LOAD, NUMBERS, init, wait
from .test_pipeline import NAMES, POLICIES

TRY = "mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0"
SHORT = f"@!%p1 bra copied\n{EXPECT} [bar], 128\n{LOAD} [tile], [%rd1], 128, [bar]\ncopied:\n"
READ = "ld.shared.u32 %r7, [%r6]\nadd.u64 %rd2, %rd2, %rd3\nst.global.u32 [%rd2], %r7\n"


def launch(waits: str, **options: object) -> Report:
    text = HEAD + init(1) + "bar.sync 0\n" + SHORT + waits + READ
    y = device(np.zeros(32, np.uint32))
    return run(
        text, [device(NUMBERS)], [y], sanitize=True, initialised=True, max_seconds=20, **options
    )


def test_a_wait_that_is_no_loop_orders_nothing():
    report = launch(f"{TRY}\n{TRY}\n", completion="eager")
    assert (
        str(report.findings[0]).replace(FILE, "FILE")
        == """\
FILE:27: race in shared memory: loads 4 bytes of shared memory: nothing uses the result of mbarrier.try_wait.parity.shared::cta.b64 %p10, [bar], 0 at FILE:25, so it orders nothing
  instruction: 19: ld.shared.u32 %r11, [%r7]
  thread: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0
  address: 0x480, byte 0 of tile (4096 bytes)
  other: CTA (0, 0, 0), thread (0, 0, 0), warp 0 lane 0, stores at FILE:23, instruction 16: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%r0], 128, [bar]
  count: 32; this is the first"""
    )


@pytest.mark.parametrize(
    "ignored",
    [
        TRY,
        f"{TRY}\nselp.u32 %r9, 1, 0, %p2",
        f"{TRY}\nselp.u32 %r9, 1, 0, %p2\nsetp.ne.u32 %p3, %r9, 0\nmov.pred %p4, %p3",
        f"{TRY}\nsetp.eq.u32 %p2, %r1, 0\n@%p2 mov.u32 %r9, 0",
        f"@%p1 bra first\n{TRY}\nbra over\nfirst:\n{TRY}\nover:",
    ],
    ids=["alone", "selected", "computed with", "overwritten", "on two paths"],
)
def test_nothing_uses_the_result(ignored: str):
    report = launch(ignored + "\n" + ignored.replace("first", "third").replace("over", "gone") + "\n", completion="eager")  # fmt: skip
    assert {f.kind for f in report.findings} == {"shared-race", "unfinished-copy"}


@pytest.mark.parametrize(
    "waits",
    [
        wait("loop"),
        f"loop:\n{TRY}\nselp.u32 %r9, 1, 0, %p2\nsetp.eq.u32 %p3, %r9, 0\n@%p3 bra loop\n",
        f"mov.u32 %r9, 0\nloop:\n{TRY}\nselp.u32 %r9, 1, %r9, %p2\nsetp.eq.u32 %p3, %r9, 0\n@%p3 bra loop\n",
        f"{TRY}\n@%p2 bra over\n" + wait("loop") + "over:\n",
        f"{TRY}\n" + wait("loop"),
        wait("loop") + f"{TRY}\n",
        f"loop:\n{TRY}\n@%p2 bra over\nbra loop\nover:\n",
    ],
    ids=[
        "loop", "selected", "carried", "tried before", "only a hint", "known before", "two branches",
    ],
)  # fmt: skip
@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_something_uses_the_result(waits: str, policy: dict[str, object]):
    launch(waits, **policy).check()


def test_a_narrow_test_that_succeeded_before_acquires_with_a_wide_scope():
    """Once a thread knows that a phase is complete, a test of it cannot fail."""
    narrow = wait("loop").replace("parity", "parity.relaxed.cta")
    launch(narrow + TRY + "\n").check()
