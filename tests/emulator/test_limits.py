"""A launch ends, whatever the kernel does, and what it leaves in memory is bounded."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from pyptx import EmulationError

from .harness import FILE, device, run
from .test_printf import run as printing

COUNTING = """
.param u64 Y
ld.param.u64 %rd1, [Y]
mov.u32 %r1, 0
loop:
add.u32 %r1, %r1, 1
red.global.add.u32 [%rd1], 1
bra loop
"""
QUIET = COUNTING.replace("red.global.add.u32 [%rd1], 1\n", "")
ENDS = COUNTING.replace("bra loop", "setp.lt.u32 %p1, %r1, 100\n@%p1 bra loop")


def counted(text: str = COUNTING, **options):
    return run(text, [], [device(np.zeros(4, np.uint32))], initialised=True, **options)


# ---- the budget of a launch ----------------------------------------------------------------------


@pytest.mark.sampled(12, each="sanitize")
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("text", [COUNTING, QUIET])
def test_instructions_of_all_warps(text: str, threads: int, sanitize: bool):
    report = counted(
        text, grid=20, block=64, threads=threads, sanitize=sanitize, max_launch_instructions=300_000
    )
    line = text.splitlines().index("add.u32 %r1, %r1, 1") + 1
    (finding,) = report.findings
    assert (finding.kind, report.status, report.waits) == ("budget", "stopped", ())
    assert report.instructions == 300_001
    assert finding.site.location is not None
    assert finding.site.location.line in range(line, line + 3)
    assert re.sub(rf"{FILE}:\d+", "FILE", finding.text.splitlines()[0]) == (
        "FILE: the launch takes too long: its warps have run 300000 instructions; "
        "max_launch_instructions= or $PYPTX_EMULATOR_INSTRUCTIONS allows more"
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_a_launch_may_run_exactly_its_budget(threads: int):
    each = counted(ENDS).instructions
    options = {"grid": 6, "threads": threads, "statistics": True}
    report = counted(ENDS, max_launch_instructions=6 * each, **options)
    assert (report.status, report.instructions) == ("ok", 6 * each)
    report = counted(ENDS, max_launch_instructions=6 * each - 1, **options)
    assert [f.kind for f in report.findings] == ["budget"]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("text", [COUNTING, QUIET])
def test_time(text: str, threads: int):
    begin = time.perf_counter()
    report = counted(text, grid=20, threads=threads, max_seconds=0.3)
    assert time.perf_counter() - begin < 5
    (finding,) = report.findings
    assert (finding.kind, report.status, report.waits) == ("budget", "stopped", ())
    assert (
        finding.note
        == "it has run for 0.3 seconds; max_seconds= or $PYPTX_EMULATOR_SECONDS allows more"
    )


def test_a_time_that_is_none():
    for seconds in (-1.0, float("nan")):
        with pytest.raises(EmulationError) as caught:
            counted(ENDS, max_seconds=seconds)
        assert (
            str(caught.value)
            == "kernel kernel: the seconds that a launch may take must be positive"
        )


def test_the_largest_grid():
    """Says at once that it cannot end."""
    begin = time.perf_counter()
    for sanitize in (False, True):
        report = counted(ENDS, grid=(2147483647, 65535, 65535), block=64, sanitize=sanitize)
        assert (report.status, report.instructions) == ("stopped", 0)
        assert report.message == (
            "kernel kernel: 1 finding; the launch was stopped\n"
            "the launch takes too long: its grid (2147483647, 65535, 65535) has 9223090559730712575 CTAs of "
            "2 warps, and all warps together may run 17179869184 instructions; max_launch_instructions= or "
            "$PYPTX_EMULATOR_INSTRUCTIONS allows more"
        )
    assert time.perf_counter() - begin < 5


def test_a_large_grid_that_its_budget_allows():
    report = counted(
        ENDS, grid=(2147483647, 65535, 65535), max_launch_instructions=2**64 - 1, max_seconds=0.3
    )
    assert [f.note.split(";")[0] for f in report.findings] == ["it has run for 0.3 seconds"]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("text", [COUNTING, QUIET])
def test_a_warp_that_runs_away_is_no_deadlock(text: str, threads: int):
    """Also where other warps and CTAs have stood still before."""
    waiting = text.replace(
        "loop:",
        "mov.u32 %r2, %tid.x\nsetp.lt.u32 %p2, %r2, 32\n@%p2 bra loop\nbar.sync 0\nexit\nloop:",
    )
    for body in (text, waiting):
        report = counted(body, grid=5, block=96, threads=threads, max_instructions=40_000)
        assert [f.kind for f in report.findings] == ["runaway"]
        assert report.findings[0].count == 1


# ---- what a launch leaves ------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_more_text_than_is_kept(threads: int, capsys: pytest.CaptureFixture[str]):
    """The first 16 MiB in the order of CTAs, whichever printed first."""
    stores = "mov.u32 r, %ctaid.x;\nst.local.b32 [values], r;\n"
    report, _ = printing(
        "%4096d", stores=stores, grid=70, block=64, threads=threads, sanitize=False
    )
    text, cut = report.printed[: 16 << 20], report.printed[16 << 20 :]
    assert report.message == ""
    assert cut == f"\n[pyptx: {6 * 64 * 4096} more bytes were printed and are not kept]\n"
    assert [int(n) for n in text.split()] == [cta for cta in range(64) for _ in range(64)]
    assert capsys.readouterr().out == report.printed


def test_exactly_what_is_kept():
    report, _ = printing("%4096d", bytes(4), grid=64, block=64, sanitize=False)
    assert len(report.printed) == 16 << 20


def test_more_findings_than_are_kept():
    loads = "".join(f"ld.shared.u32 %r1, [tile+{4 * i}]\n" for i in range(1200))
    text = f".shared tile 4800 4\n{loads}"
    report = run(text, [], [], sanitize=True)
    assert len(report.findings) == 1000
    assert [f.site.instruction for f in report.findings] == list(range(1000))
    assert report.message.startswith("kernel kernel: 1000 findings\n")
    assert report.message.splitlines()[-1] == (
        "and 200 more at other instructions: only 1000 different findings are kept"
    )
    fewer = "\n".join(text.splitlines()[:1001])
    report = run(fewer, [], [], sanitize=True)
    assert len(report.findings) == 1000
    assert "more at other" not in report.message


def test_more_waiting_warps_than_are_kept():
    text = """
    .param u64 Y
    ld.param.u64 %rd1, [Y]
    spin:
    ld.volatile.global.u32 %r1, [%rd1]
    setp.ne.u32 %p1, %r1, 1
    @%p1 bra spin
    """
    report = counted(text, grid=132 * 2, block=1024)
    assert [f.kind for f in report.findings] == ["deadlock"]
    assert len(report.waits) == 4096
    assert report.message.splitlines()[-1] == f"  and {264 * 32 - 40} more"
