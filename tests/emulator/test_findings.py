"""Each kind of finding: a planted bug, reported once at the right line, and its clean twin, silent.

A case is one kernel in which `BUG` marks a line: with the bug the line is `bug`, in the twin `clean`.
`at` is the text of the line that the finding must name, `other` that of the other party.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pyptx._emulator import KINDS, Report

from .asynchronous import ASYNCHRONOUS
from .exchanges import EXCHANGES
from .findings import PROLOGUE, Case
from .harness import FILE, device, output, run
from .ordering import ORDERING
from .relaxed import ENDED
from .tensor_core import TENSOR_CORE
from .tensor_pairs import PAIRS
from .warpgroup import WARPGROUP

CASES = {
    "a store past the end": Case(
        "out-of-bounds",
        "BUG", "st.global.u32 [%rd5+4], %r1", "st.global.u32 [%rd5], %r1",
        at="st.global.u32 [%rd5+4]", always=True,
    ),
    "a load before the start": Case(
        "out-of-bounds",
        "BUG\nst.global.u32 [%rd5], %r7",
        "ld.global.u32 %r7, [%rd4-4]", "ld.global.u32 %r7, [%rd4]",
        at="ld.global.u32 %r7, [%rd4-4]", always=True,
    ),
    "a vector that reaches past the end": Case(
        "out-of-bounds",
        "and.b32 %r8, %r1, 31\nmul.wide.u32 %rd6, %r8, 8\nadd.u64 %rd7, %rd1, %rd6\nBUG",
        "ld.global.v2.u32 {%r7, %r9}, [%rd7+8]", "ld.global.v2.u32 {%r7, %r9}, [%rd7]",
        at="ld.global.v2.u32", always=True,
    ),
    "shared memory past the end": Case(
        "out-of-bounds",
        "BUG", "st.shared.u32 [%r6+1024], %r1", "st.shared.u32 [%r6], %r1",
        at="st.shared.u32", always=True,
    ),
    "shared memory before the start": Case(
        "out-of-bounds",
        "BUG", "st.shared.u32 [%r4], %r1", "st.shared.u32 [%r6], %r1",
        at="st.shared.u32", always=True,
    ),
    "local memory past the end": Case(
        "out-of-bounds",
        ".local mine 16 4\nBUG", "st.local.u32 [mine+16], %r1", "st.local.u32 [mine+12], %r1",
        at="st.local.u32", always=True,
    ),
    "constant memory past the end": Case(
        "out-of-bounds",
        ".const table 8 4 0100000002000000\nBUG", "ld.const.u32 %r7, [table+8]",
        "ld.const.u32 %r7, [table+4]", at="ld.const.u32", always=True,
    ),
    "a parameter past the end": Case(
        "out-of-bounds",
        "BUG", "ld.param.u64 %rd9, [Y+8]", "ld.param.u64 %rd9, [Y]",
        at="[Y+8]", always=True,
    ),
    "an address in no window": Case(
        "out-of-bounds",
        "cvta.to.shared.u64 %rd8, %rd4\nBUG",
        "ld.u32 %r7, [%rd3]", "ld.u32 %r7, [%rd4]", at="ld.u32 %r7", always=True,
    ),
    "shared memory of a CTA that is not there": Case(
        "out-of-bounds",
        "mapa.shared::cluster.u32 %r8, %r6, 1\nBUG",
        "st.shared::cluster.u32 [%r8], %r1", "st.shared::cluster.u32 [%r6], %r1",
        at="st.shared::cluster", always=True,
    ),
    "a misaligned vector": Case(
        "misaligned",
        "BUG", "st.shared.v4.u32 [tile+8], {%r1, %r1, %r1, %r1}",
        "st.shared.v4.u32 [tile+16], {%r2, %r2, %r2, %r2}", at="st.shared.v4", block=32, always=True,
    ),
    "a misaligned global load": Case(
        "misaligned",
        "BUG", "ld.global.u32 %r7, [%rd1+2]", "ld.global.u32 %r7, [%rd1+4]",
        at="[%rd1+2]", always=True,
    ),
    "a misaligned atomic": Case(
        "misaligned",
        "BUG", "red.global.add.u64 [%rd2+4], 1", "red.global.add.u64 [%rd2+8], 1",
        at="red.global", always=True,
        options={"initialised": True},
    ),
    "a store to an input": Case(
        "read-only",
        "BUG", "st.global.u32 [%rd4], %r1", "st.global.u32 [%rd5], %r1",
        at="st.global.u32 [%rd4]", always=True,
    ),
    "an atomic on an input": Case(
        "read-only",
        "BUG", "red.global.add.u32 [%rd4], 1", "red.global.add.u32 [%rd5], 1",
        at="red.global", always=True, options={"initialised": True},
    ),
    "a barrier that not all warps reach": Case(
        "deadlock",
        "setp.lt.u32 %p1, %r1, 32\n@!%p1 bra wait\nBUG\nwait:\nbar.sync 1, 64",
        "bar.sync 2, 64", "st.shared.u32 [%r6], %r1",
        at="bar.sync 2", always=True,
    ),
    "a flag that nobody sets": Case(
        "deadlock",
        "setp.eq.u32 %p1, %r1, 0\n@%p1 st.shared.u32 [tile], 0\nbar.sync 0\n"
        "setp.lt.u32 %p1, %r1, 32\n@%p1 bra set\nspin:\nld.volatile.shared.u32 %r7, [tile]\n"
        "setp.ne.u32 %p2, %r7, 7\n@%p2 bra spin\nexit\nset:\nBUG",
        "st.volatile.shared.u32 [tile+4], 7", "st.volatile.shared.u32 [tile], 7",
        at="@%p2 bra spin", always=True,
    ),
    "a loop without an end": Case(
        "runaway",
        "mov.u32 %r7, 0\nloop:\nadd.u32 %r7, %r7, 1\nBUG\n@%p1 bra loop",
        "setp.ne.u32 %p1, %r7, -1", "setp.ne.u32 %p1, %r7, 100",
        at="", always=True, options={"max_instructions": 20000},
    ),
    "a launch longer than it may be": Case(
        "budget",
        "mov.u32 %r7, 0\nloop:\nadd.u32 %r7, %r7, 1\nBUG\n@%p1 bra loop",
        "setp.ne.u32 %p1, %r7, -1", "setp.ne.u32 %p1, %r7, 100",
        at="", always=True, options={"max_launch_instructions": 20000},
    ),
    "a trap": Case(
        "trap",
        "setp.eq.u32 %p1, %r1, 40\nBUG\nst.global.u32 [%rd5], %r1",
        "@%p1 trap", "@%p1 exit", at="trap", always=True,
    ),
    "a barrier that does not exist": Case(
        "bad-barrier", "BUG", "bar.sync 16", "bar.sync 15", at="bar.sync 16", always=True,
    ),
    "a thread count that is no multiple of 32": Case(
        "bad-barrier", "BUG", "bar.sync 1, 48", "bar.sync 1, 64", at="bar.sync", always=True,
    ),
    "a thread count beyond the CTA": Case(
        "bad-barrier", "BUG", "bar.sync 1, 96", "bar.sync 1, 64", at="bar.sync", always=True,
    ),
    "two thread counts of one barrier": Case(
        "bad-barrier",
        "setp.lt.u32 %p1, %r1, 32\n@%p1 bra first\nBUG\nexit\nfirst:\nbar.arrive 1, 64",
        "bar.sync 1, 32", "bar.sync 1, 64", at="bar.sync 1, 32", always=True,
    ),
    "arriving at the cluster barrier twice": Case(
        "bad-barrier",
        "barrier.cluster.arrive\nBUG\nbarrier.cluster.arrive\nbarrier.cluster.wait",
        "mov.u32 %r7, 0", "barrier.cluster.wait", at="barrier.cluster.arrive", always=True,
    ),
    "an output that is read before it is written": Case(
        "uninitialised-memory",
        "BUG\nst.global.u32 [%rd5], %r7", "ld.global.u32 %r7, [%rd5]", "ld.global.u32 %r7, [%rd4]",
        at="ld.global.u32 %r7, [%rd5]",
    ),
    "shared memory that nobody has written": Case(
        "uninitialised-memory",
        "BUG\nst.global.u32 [%rd5], %r7", "ld.shared.u32 %r7, [%r6]",
        "st.shared.u32 [%r6], %r1\nld.shared.u32 %r7, [%r6]", at="ld.shared",
    ),
    "half of a word of shared memory": Case(
        "uninitialised-memory",
        "BUG\nld.shared.u32 %r7, [%r6]\nst.global.u32 [%rd5], %r7",
        "cvt.u16.u32 %h1, %r1\nst.shared.u16 [%r6], %h1",
        "cvt.u16.u32 %h1, %r1\nst.shared.v2.u16 [%r6], {%h1, %h1}", at="ld.shared",
    ),
    "local memory that was not written": Case(
        "uninitialised-memory",
        ".local mine 16 4\nst.local.u32 [mine], %r1\nBUG\nst.global.u32 [%rd5], %r7",
        "ld.local.u32 %r7, [mine+4]", "ld.local.u32 %r7, [mine]", at="ld.local",
    ),
    "an atomic on an output that was not written": Case(
        "uninitialised-memory",
        "BUG", "red.global.add.u32 [%rd5], 1",
        "st.global.u32 [%rd5], 0\nred.global.add.u32 [%rd5], 1", at="red.global",
    ),
    "a register that only some lanes write": Case(
        "uninitialised-register",
        "setp.lt.u32 %p1, %r1, 40\nBUG\nst.global.u32 [%rd5], %r7",
        "@%p1 mov.u32 %r7, 1", "mov.u32 %r7, 1", at="st.global",
    ),
    "a register written in one branch": Case(
        "uninitialised-register",
        "setp.lt.u32 %p1, %r1, 40\n@%p1 bra small\nBUG\nbra join\nsmall:\nmov.u32 %r7, 2\njoin:\n"
        "st.global.u32 [%rd5], %r7",
        "mov.u32 %r8, 1", "mov.u32 %r7, 1", at="st.global",
    ),
    "a guard that was never assigned": Case(
        "unassigned-predicate",
        "BUG\n@%p1 st.global.u32 [%rd5], %r1",
        "mov.u32 %r7, 1", "setp.lt.u32 %p1, %r1, 40", at="@%p1 st.global",
    ),
    "a predicate operand assigned in some lanes": Case(
        "unassigned-predicate",
        "setp.lt.u32 %p2, %r1, 40\nBUG\nselp.u32 %r7, 1, 2, %p1\nst.global.u32 [%rd5], %r7",
        "@%p2 setp.lt.u32 %p1, %r1, 20", "setp.lt.u32 %p1, %r1, 20", at="selp",
    ),
    "a missing barrier between store and load": Case(
        "shared-race",
        "st.shared.u32 [%r6], %r1\nBUG\nxor.b32 %r7, %r4, 252\nadd.u32 %r7, %r5, %r7\n"
        "ld.shared.u32 %r8, [%r7]\nst.global.u32 [%rd5], %r8",
        "mov.u32 %r9, 0", "bar.sync 0", at="st.shared", other="ld.shared",
    ),
    "a missing barrier before the next store": Case(
        "shared-race",
        "st.shared.u32 [%r6], %r1\nbar.sync 0\nxor.b32 %r7, %r4, 252\nadd.u32 %r7, %r5, %r7\n"
        "ld.shared.u32 %r8, [%r7]\nBUG\nst.shared.u32 [%r6], %r8",
        "mov.u32 %r9, 0", "bar.sync 0", at="st.shared.u32 [%r6], %r8", other="ld.shared",
    ),
    "two warps that store to one place": Case(
        "shared-race",
        "BUG\nst.shared.u32 [tile+512], %r2",
        "mov.u32 %r9, 0", "setp.ge.u32 %p1, %r1, 32\n@%p1 exit", at="st.shared", other="st.shared",
    ),
    "two lanes that store different values to one place": Case(
        "shared-race",
        "BUG", "st.shared.u32 [tile], %r1", "st.shared.u32 [tile], %r2",
        at="st.shared", other="st.shared", block=32,
    ),
    "lanes of a warp that exchange without bar.warp.sync": Case(
        "shared-race",
        "st.shared.u32 [%r6], %r1\nBUG\nxor.b32 %r7, %r4, 4\nadd.u32 %r7, %r5, %r7\n"
        "ld.shared.u32 %r8, [%r7]\nst.global.u32 [%rd5], %r8",
        "mov.u32 %r9, 0", "bar.warp.sync -1", at="ld.shared", other="st.shared",
    ),
    "a named barrier that does not cover the reader": Case(
        "shared-race",
        "setp.lt.u32 %p1, %r1, 32\n@!%p1 bra second\nst.shared.u32 [%r6], %r1\nbar.sync 1, 32\nBUG\n"
        "exit\nsecond:\nbar.sync 2, 64\nld.shared.u32 %r8, [%r6-128]\nst.global.u32 [%rd5], %r8\nexit\n",
        "bar.arrive 2, 64\nst.shared.u32 [%r6], %r1", "bar.arrive 2, 64", at="ld.shared", other="st.shared",
    ),
    "an atomic and a plain store": Case(
        "shared-race",
        "setp.lt.u32 %p1, %r1, 32\nsetp.eq.u32 %p2, %r1, 63\n@%p2 st.shared.u32 [tile], 0\nbar.sync 0\n"
        "@%p1 red.shared.add.u32 [tile], 1\nBUG",
        "@%p2 st.shared.u32 [tile], 5", "@%p2 red.shared.add.u32 [tile], 5",
        at="st.shared.u32 [tile], 5", other="red.shared",
    ),
    "CTAs that store to one place": Case(
        "global-race",
        "BUG\nst.global.u32 [%rd6], %r1",
        "add.u64 %rd6, %rd5, 0",
        "mul.wide.u32 %rd7, %r2, 128\nadd.u64 %rd6, %rd5, %rd7",
        at="st.global", other="st.global", grid=2, block=32,
    ),
    "a CTA that reads what another writes": Case(
        "global-race",
        "shl.b32 %r7, %r2, 7\ncvt.u64.u32 %rd6, %r7\nadd.u64 %rd7, %rd5, %rd6\n"
        "st.global.u32 [%rd7], %r1\nBUG",
        "ld.global.u32 %r8, [%rd5]", "ld.global.u32 %r8, [%rd7]",
        at="ld.global", other="st.global", grid=2, block=32,
    ),
    "a flag between CTAs without a release": Case(
        "global-race",
        "setp.eq.u32 %p1, %r2, 0\n@!%p1 bra consumer\nst.global.u32 [%rd2], 42\nBUG\nexit\nconsumer:\n"
        "spin:\nld.acquire.gpu.global.u32 %r7, [%rd2+4]\nsetp.ne.u32 %p2, %r7, 1\n@%p2 bra spin\n"
        "ld.global.u32 %r8, [%rd2]\nst.global.u32 [%rd2+8], %r8",
        "st.relaxed.gpu.global.u32 [%rd2+4], 1", "st.release.gpu.global.u32 [%rd2+4], 1",
        at="ld.global.u32 %r8", other="st.global", grid=2, block=1, options={"sanitize": 2, "threads": 1},
    ),
    "a barrier in a branch": Case(
        "divergent-barrier",
        "setp.lt.u32 %p1, %r3, 16\nBUG\nbar.sync 0\nskip:\nst.shared.u32 [%r6], %r1",
        "@%p1 bra skip", "mov.u32 %r7, 0", at="bar.sync",
    ),
    "a barrier that lanes leave before": Case(
        "divergent-barrier",
        "setp.lt.u32 %p1, %r3, 16\nBUG\nbar.sync 0\nexit\nskip:\nst.shared.u32 [%r6], %r1\nexit\n",
        "@%p1 bra skip", "mov.u32 %r7, 0", at="bar.sync",
    ),
    "a shuffle in a branch": Case(
        "absent-lane",
        "setp.lt.u32 %p1, %r3, 16\n@!%p1 bra skip\nBUG\nst.global.u32 [%rd5], %r7\nskip:\n",
        "shfl.sync.bfly.b32 %r7, %r1, 1, 31, -1", "shfl.sync.bfly.b32 %r7, %r1, 1, 31, 0xffff",
        at="shfl", block=32,
    ),
    "a shuffle from a lane that is not there": Case(
        "absent-lane",
        "setp.lt.u32 %p1, %r3, 16\n@!%p1 bra skip\nBUG\nst.global.u32 [%rd5], %r7\nskip:\n",
        "shfl.sync.bfly.b32 %r7, %r1, 16, 31, 0xffff", "shfl.sync.bfly.b32 %r7, %r1, 8, 31, 0xffff",
        at="shfl", block=32,
    ),
    "a vote that names lanes that leave": Case(
        "absent-lane",
        "setp.lt.u32 %p1, %r3, 16\n@!%p1 bra skip\nBUG\nst.global.u32 [%rd5], %r7\nskip:\n",
        "vote.sync.ballot.b32 %r7, %p1, -1", "vote.sync.ballot.b32 %r7, %p1, 0xffff",
        at="vote", block=32,
    ),
    "a membermask without the lane": Case(
        "bad-membermask",
        "BUG\nst.global.u32 [%rd5], %r7",
        "shfl.sync.idx.b32 %r7, %r1, 0, 31, 0xffff", "shfl.sync.idx.b32 %r7, %r1, 0, 31, -1",
        at="shfl", block=32,
    ),
    "a membermask of bar.warp.sync without the lane": Case(
        "bad-membermask", "BUG", "bar.warp.sync 0x7fffffff", "bar.warp.sync 0xffffffff",
        at="bar.warp.sync", block=32,
    ),
    **ASYNCHRONOUS,
    **ORDERING, **EXCHANGES, **ENDED,
    **TENSOR_CORE,
    **PAIRS,
    **WARPGROUP,
}  # fmt: skip


def launch(case: Case, line: str, *, sanitize: bool) -> Report:
    x = device(np.arange(64, dtype=np.uint32))
    y = output(64, np.uint32)
    options = {"sanitize": sanitize, "threads": 1, **(case.options if sanitize else {})}
    if not sanitize:
        options |= {k: v for k, v in case.options.items() if k != "sanitize"}
    return run(case.text(line), [x], [y], grid=case.grid, block=case.block, **options)


def line_of(case: Case, wanted: str) -> set[int]:
    lines = case.text(case.bug).splitlines()
    return {i for i, line in enumerate(lines, 1) if wanted in line}


@pytest.mark.parametrize("name", CASES)
def test_the_bug_is_reported_once_where_it_is(name: str):
    case = CASES[name]
    report = launch(case, case.bug, sanitize=True)
    assert [f.kind for f in report.findings] == [case.kind], report.message
    (finding,) = report.findings
    assert finding.site.location is not None
    assert finding.site.location.file == FILE
    assert report.status == ("stopped" if case.always else "findings")
    lines = {finding.site.location.line}
    if case.other is not None:
        assert finding.other is not None
        assert finding.other.location is not None
        lines.add(finding.other.location.line)
        assert lines <= line_of(case, case.at) | line_of(case, case.other), report.message
    if case.other != case.at and case.other is not None:
        assert len(lines) == 2
    assert lines & line_of(case, case.at), report.message


@pytest.mark.parametrize("name", CASES)
def test_the_clean_twin_is_silent(name: str):
    case = CASES[name]
    report = launch(case, case.clean, sanitize=True)
    assert report.message == ""
    assert report.status == "ok"
    assert report.findings == ()


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.always])
def test_some_kinds_are_always_reported(name: str):
    case = CASES[name]
    report = launch(case, case.bug, sanitize=False)
    assert [f.kind for f in report.findings] == [case.kind], report.message
    assert report.status == "stopped"


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if not c.always])
def test_the_others_need_the_sanitizer(name: str):
    case = CASES[name]
    assert launch(case, case.bug, sanitize=False).findings == ()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CASES)
def test_clean_twins_are_silent_in_every_order(name: str, seed: int):
    case = CASES[name]
    seeded = Case(**{**vars(case), "options": {**case.options, "seed": seed}})
    assert launch(seeded, case.clean, sanitize=True).message == ""


RACING = {
    "shared-race",
    "global-race",
    "narrow-scope",
    "register-race",
    "tensor-race",
    "tensor-fence",
}
RACES = [n for n, c in CASES.items() if c.kind in RACING]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", RACES)
def test_races_are_found_in_every_order(name: str, seed: int):
    case = CASES[name]
    seeded = Case(**{**vars(case), "options": {**case.options, "seed": seed}})
    report = launch(seeded, case.bug, sanitize=True)
    assert {f.kind for f in report.findings} == {case.kind}, report.message


ELSEWHERE = {
    "bad-branch": "test_warp.py: brx to an index beyond its labels",
    "bad-texture": "foreign/test_textures.py: a handle of another kind",
    "bad-call": "test_functions.py: a call through what is no address of a function",
    "stack-overflow": "test_functions.py: a function that calls itself for ever",
    "index-out-of-range": "test_subscripts.py: indices beyond a row or an array",
    "unwritten-output": "test_written.py: a grid that is too small",
    "residency": "test_sync.py: more CTAs than the device holds",
}


def test_every_kind_has_a_case_and_a_line_in_the_documentation():
    asked_for = {"not-parallel"}  # kernel/test_parallel.py
    assert {case.kind for case in CASES.values()} | ELSEWHERE.keys() | asked_for == KINDS.keys()
    page = (Path(__file__).parents[2] / "docs/emulator.md").read_text()
    rows = {
        line.split("`")[1]: line.split("|")[2].strip()
        for line in page.splitlines()
        if line.startswith("| `")
    }
    always = {kind for kind, checked in rows.items() if checked == "always"}
    assert rows.keys() == KINDS.keys()
    assert always == {case.kind for case in CASES.values() if case.always} | ELSEWHERE.keys()


def test_what_an_earlier_launch_wrote_is_not_initialised_in_the_next():
    # More launches than the numbers of segments last for, so that they start again in between.
    y = output(64, np.uint32)
    store = PROLOGUE + "st.global.u32 [%rd5], %r1\n"
    load = PROLOGUE + "ld.global.u32 %r7, [%rd5]\n"
    x = device(np.arange(64, dtype=np.uint32))
    for _ in range(1200):
        assert run(store, [x], [y], block=64, sanitize=True).findings == ()
        (finding,) = run(load, [x], [y], block=64, sanitize=True).findings
        assert (finding.kind, finding.count) == ("uninitialised-memory", 64)
