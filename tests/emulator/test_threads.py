"""What a launch gives and what is found does not depend on the number of host threads.

Results and reports for 1, 2 and 4 threads are compared, over kernels whose CTAs have nothing to do
with each other and over kernels whose CTAs race, wait for each other or stop the launch.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pyptx._emulator import Report

from .findings import Case
from .harness import device, output, run
from .test_findings import CASES, launch

THREADS = (1, 2, 4)

INDEX = """
.param u64 X
.param u64 Y
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
mov.u32 %r1, %ctaid.x
mov.u32 %r2, %tid.x
mov.u32 %r3, %ntid.x
mad.lo.u32 %r4, %r1, %r3, %r2
mul.wide.u32 %rd3, %r4, 4
add.u64 %rd4, %rd1, %rd3
add.u64 %rd5, %rd2, %rd3
"""


def told(report: Report) -> tuple[object, ...]:
    """All that a report says, without the addresses of the host's memory and the time."""
    findings = [
        (f.kind, f.count, f.site, f.other, f.note, f.index, without(f.text))
        for f in report.findings
    ]
    waits = [(w.site, w.lanes, w.waits) for w in report.waits]
    return report.status, without(report.message), findings, waits, report.instructions


def without(text: str) -> str:
    text = re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)
    return re.sub(r"\d+ bytes (past the end of|before) \w+ \(\d+ bytes\)", "PLACE", text)


def runs(text: str, grid: int, repeat: int = 1, block: int = 32, **options: object) -> list[tuple]:
    """The report and the memory of each run, with every number of threads."""
    seen = []
    for threads in THREADS:
        for _ in range(repeat):
            x = device(np.arange(grid * block, dtype=np.uint32))
            y = output(grid * block, np.uint32)
            y.fill(7)
            report = run(
                INDEX + text, [x], [y], grid=grid, block=block, initialised=True, threads=threads,
                **options,
            )  # fmt: skip
            seen.append((told(report), y.tolist(), report.printed))
    return seen


def only(seen: list[tuple]) -> tuple:
    assert all(each == seen[0] for each in seen), seen
    return seen[0]


RACE = """
st.global.u32 [%rd2], %r4
ld.global.u32 %r5, [%rd2+4]
add.u32 %r5, %r5, 1
st.global.u32 [%rd2+4], %r5
"""


def test_a_race_is_found_in_every_run():
    """Two CTAs on four threads: none of 300 runs misses it, and all say the same."""
    seen = []
    for _ in range(300):
        y = output(64, np.uint32)
        y.fill(7)
        report = run(
            INDEX + RACE, [device(y)], [y], grid=2, initialised=True, sanitize=True, threads=4
        )
        seen.append((told(report), y.tolist()))
    (_, _, findings, *_), memory = only(seen)
    assert [(kind, count) for kind, count, *_ in findings] == [
        ("global-race", 63), ("global-race", 33), ("global-race", 1),
    ]  # fmt: skip
    assert memory[:3] == [63, 9, 7]


@pytest.mark.parametrize("grid", [2, 3, 40])
def test_races_are_the_same_for_all_threads(grid: int):
    (_, _, findings, *_), memory, _ = only(runs(RACE, grid, repeat=10, sanitize=True))
    assert {kind for kind, *_ in findings} == {"global-race"}
    assert memory[1] == 7 + grid


def test_ctas_that_write_their_own_do_not_race():
    text = """
    ld.global.u32 %r5, [%rd1]
    ld.global.u32 %r6, [%rd4]
    add.u32 %r6, %r6, %r5
    st.global.u32 [%rd5], %r6
    ld.global.u32 %r7, [%rd5]
    add.u32 %r7, %r7, 1
    st.global.u32 [%rd5], %r7
    """
    (status, *_), memory, _ = only(runs(text, 40, repeat=5, sanitize=True))
    assert status == "ok"
    assert memory == [i + 1 for i in range(40 * 32)]


def test_places_that_all_ctas_read():
    """Of a tensor that the kernel may write: what all only read is no race, a store to it is one."""
    text = "ld.global.u32 %r5, [%rd2]\nld.global.u32 %r6, [%rd5]\nadd.u32 %r5, %r5, %r6\nBUG\n"
    clean = text.replace("BUG", "setp.ne.u32 %p1, %r1, 0\n@%p1 st.global.u32 [%rd5], %r5")
    (status, *_), memory, _ = only(runs(clean, 30, repeat=10, sanitize=True))
    assert status == "ok"
    assert memory == [7] * 32 + [14] * (29 * 32)
    racing = text.replace("BUG", "st.global.u32 [%rd5], %r5")
    (_, _, findings, *_), _, _ = only(runs(racing, 30, repeat=10, sanitize=True))
    assert {kind for kind, *_ in findings} == {"global-race"}


# Each CTA reads 32 neighbours that all others read, too, and increments 32 of its own, both from any place on.
SHIFTED = """
mad.lo.u32 %r6, %r2, 4, COMMON
cvt.u64.u32 %rd6, %r6
add.u64 %rd6, %rd2, %rd6
ld.global.u32 %r7, [%rd2]
ld.global.u32 %r7, [%rd6]
ld.global.u32 %r8, [%rd5+OWN]
add.u32 %r8, %r8, 1
st.global.u32 [%rd5+OWN], %r8
"""


@pytest.mark.sampled(24, each=("own", "common"))
@pytest.mark.parametrize("common", [0, 8, 20, 64])
@pytest.mark.parametrize("own", [0, 4, 32, 60])
def test_neighbours_that_are_taken_together(common: int, own: int):
    """Cells of one block may be of several CTAs, or be read by all but for some."""
    grid, first = 20, 256 + own
    text = SHIFTED.replace("COMMON", str(common)).replace("OWN", str(first))

    def increment(bug: str) -> tuple:
        seen = []
        for threads in THREADS * 10:
            y = output((grid + 4) * 32, np.uint32)
            y.fill(7)
            report = run(
                INDEX + text + bug, [device(y)], [y], grid=grid, initialised=True, sanitize=True,
                threads=threads,
            )  # fmt: skip
            seen.append((told(report), y.tolist()))
        return only(seen)

    (status, *_), memory = increment("")
    assert status == "ok"
    assert memory == [7 + (first <= 4 * i < first + grid * 128) for i in range((grid + 4) * 32)]
    for bug in (
        f"ld.global.u32 %r9, [%rd5+{first + 4}]",  # of the next CTA, in one lane
        f"ld.global.u32 %r9, [%rd5+{first + 64}]",
        f"setp.eq.u32 %p1, %r1, 13\n@%p1 st.global.u32 [%rd6+{64 - common}], %r8",
        "setp.eq.u32 %p1, %r4, 420\n@%p1 st.global.u32 [%rd6+64], %r8",
    ):
        (_, _, findings, *_), _ = increment(bug)
        assert {kind for kind, *_ in findings} == {"global-race"}, bug


# The second CTA touches memory long after the first.
TWO_CTAS = """
mul.wide.u32 %rd6, %r2, 4
add.u64 %rd6, %rd2, %rd6
setp.eq.u32 %p1, %r1, 1
setp.eq.u32 %p2, %r4, 0
setp.eq.u32 %p3, %r4, 32
@%p1 bra second
FIRST
bra done
second:
mov.u32 %r6, 0
delay:
add.u32 %r6, %r6, 1
setp.ne.u32 %p4, %r6, 50000
@%p4 bra delay
SECOND
done:
"""


@pytest.mark.parametrize(
    ("first", "second", "races"),
    [
        ("ld RANGE", "ld PART\nst ZERO", True),
        ("ld RANGE\nst ZERO", "st FIVE", True),
        ("ld RANGE\nst ZERO", "ld FIVE", False),
        ("ld RANGE\nst ZERO", "ld ZERO", True),
        ("ld PART\nld RANGE\nst FIVE", "st ZERO", True),
        ("st RANGE", "ld FIVE", True),
        ("st RANGE", "ld PART", True),
        ("ld RANGE", "ld PART\nst FORTY", False),
    ],
)
def test_a_block_of_which_a_part_is_taken_otherwise(first: str, second: str, *, races: bool):
    def lines(words: str, one: str) -> str:
        places = {
            "RANGE": "%rd6", "PART": "%rd6+16", "ZERO": "%rd2", "FIVE": "%rd2+20", "FORTY": "%rd2+160",
        }  # fmt: skip
        out = []
        for verb, place in (line.split() for line in words.splitlines()):
            guard = "" if place in {"RANGE", "PART"} else f"@%{one} "
            operands = {"ld": f"%r5, [{places[place]}]", "st": f"[{places[place]}], %r4"}[verb]
            out.append(f"{guard}{verb}.global.u32 {operands}")
        return "\n".join(out)

    text = TWO_CTAS.replace("FIRST", lines(first, "p2")).replace("SECOND", lines(second, "p3"))
    (status, _, findings, *_), _, _ = only(runs(text, 2, repeat=5, sanitize=True))
    assert (status == "ok") != races
    assert {kind for kind, *_ in findings} == ({"global-race"} if races else set())


def test_what_two_ctas_read_uninitialised_is_no_race():
    text = """
    .param u64 Y
    ld.param.u64 %rd1, [Y]
    ld.global.u32 %r1, [%rd1]
    """
    seen = [
        told(run(text, [], [output(4, np.uint32)], grid=8, sanitize=True, threads=threads))
        for threads in THREADS
        for _ in range(10)
    ]
    _, _, ((kind, count, *_),), *_ = only(seen)
    assert (kind, count) == ("uninitialised-memory", 1)


def test_sums_of_floats_are_added_in_one_order():
    text = """
    cvt.rn.f32.u32 %f1, %r4
    rcp.rn.f32 %f1, %f1
    setp.ne.u32 %p1, %r4, 0
    @%p1 red.global.add.f32 [%rd2], %f1
    """
    for sanitize in (False, True):
        (status, *_), _, _ = only(runs(text, 200, repeat=5, sanitize=sanitize))
        assert status == "ok"


def test_the_first_cta_that_stops_the_launch():
    """Later CTAs have not run, whichever thread would have come to them first."""
    text = """
    setp.gt.u32 %p1, %r1, 20
    @%p1 st.global.u32 [%rd5+1], %r1
    st.global.u32 [%rd5], %r1
    """
    for sanitize in (False, True):
        (status, _, ((kind, _, site, *_),), *_), memory, _ = only(
            runs(text, 40, repeat=10, sanitize=sanitize)
        )
        assert (status, kind, site.cta) == ("stopped", "misaligned", (21, 0, 0))
        assert memory[::32] == [*range(21), *[7] * 19]


def test_ctas_that_wait_for_others_without_an_order():
    """A flag that is read and written as if nobody else did: a race, and no deadlock."""
    text = """
    setp.eq.u32 %p1, %r1, 1
    @%p1 st.global.u32 [%rd2], 1
    spin:
    ld.global.u32 %r5, [%rd2]
    setp.ne.u32 %p2, %r5, 1
    @%p2 bra spin
    """
    (_, _, findings, *_), _, _ = only(runs(text, 2, repeat=10, sanitize=True))
    assert {kind for kind, *_ in findings} == {"global-race"}
    never = text.replace("st.global.u32 [%rd2], 1", "add.u32 %r4, %r4, 1")
    for sanitize in (False, True):
        (_, _, findings, waits, _), _, _ = only(runs(never, 3, repeat=10, sanitize=sanitize))
        assert [kind for kind, *_ in findings] == ["deadlock"]
    assert len(waits) == 3


def test_a_random_order_is_that_of_its_seed():
    text = """
    clock:
    mov.u64 %rd6, %clock64
    st.global.u32 [%rd5], %r1
    bar.sync 0
    mov.u64 %rd7, %clock64
    sub.u64 %rd7, %rd7, %rd6
    cvt.u32.u64 %r5, %rd7
    st.global.u32 [%rd5], %r5
    """
    memories = set()
    for seed in range(4):
        for sanitize in (False, True):
            _, memory, _ = only(runs(text, 12, block=128, sanitize=sanitize, seed=seed))
            memories.add(tuple(memory))
    assert len(memories) > 1


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", CASES)
def test_every_planted_bug_is_told_alike(name: str):
    case: Case = CASES[name]
    for text in (case.bug, case.clean):
        reports = []
        for threads in THREADS:
            options = {**case.options, "threads": threads}
            reports.append(told(launch(replace(case, options=options), text, sanitize=True)))
        only(reports)


def test_threads_are_used():
    """Where CTAs may not see each other; with atomics one thread keeps their order."""
    text = "loop:\nadd.u32 %r4, %r4, 1\nsetp.ne.u32 %p1, %r4, -1\nLINE\nbra loop\n"
    assert usual_tasks(text.replace("LINE", "")) >= 3
    assert usual_tasks(text.replace("LINE", "@!%p1 red.global.add.u32 [%rd5], 1")) == 0


@pytest.mark.sampled(8)
@pytest.mark.parametrize("own", [0, 4, 32, 60])
def test_threads_are_used_where_ctas_take_parts_of_a_block(own: int):
    """What is not in conflict does not end them."""
    common = "ld.global.u32 %r7, [%rd2]\nld.global.u32 %r7, [%rd2+16]\n"
    text = common + f"st.global.u32 [%rd5+{256 + own}], %r4\nloop:\nadd.u32 %r4, %r4, 1\nbra loop\n"
    assert usual_tasks(text, sanitize=True) >= 3


def usual_tasks(text: str, **options: object) -> int:
    """How many more threads the process has, most of the time that a launch runs."""
    # By their numbers: a thread of an earlier launch, joined, may still be listed and then go.
    before, counts, done = tasks(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            counts.append(len(tasks() - before) - 1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    y = output(16 * 32, np.uint32)
    y.fill(7)
    report = run(
        INDEX + text,
        [device(y)],
        [y],
        grid=8,
        threads=4,
        max_seconds=0.5,
        initialised=True,
        **options,
    )
    done.set()
    watcher.join()
    assert [f.kind for f in report.findings] == ["budget"]
    return sorted(counts)[len(counts) // 2]


def tasks() -> set[str]:
    """The numbers of the process's threads."""
    return {task.name for task in Path("/proc/self/task").iterdir()}
