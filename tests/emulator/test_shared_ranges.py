"""Accesses of shared memory whose lanes share cells, in runs, blocks and steps, against a model of races.

The emulator checks neighbouring cells at once where it can. The programs here are chosen at random:
lanes in runs, in repeated rows and apart, guarded lanes, elements of 1 to 16 bytes over each other,
and warps that share a range. Accesses are ordered by nothing, by a barrier of the warp or by one of
the CTA. The model knows only which thread touched which byte between which barriers.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

from .harness import output, run

BYTES = 2048
GUARDS = (0, 0, 0, 1, 8, 17, 32, 64, 96)
AFTERS = ("", "", "bar.warp.sync -1", "bar.sync 0", "bar.sync 0", "bar.sync 0")
PREFIX = {1: "b", 2: "h", 4: "r", 8: "rd"}
PROLOGUE = f"""
.param u64 Y
.shared tile {BYTES} 16
ld.param.u64 %rd2, [Y]
mov.u32 %r1, %tid.x
mov.u32 %r5, tile
mov.u32 %r6, 0
mov.u32 %r7, 0
mov.u64 %rd7, 0
"""


@dataclass(frozen=True)
class Access:
    """A thread accesses base + ((tid >> shift) & mask) * step + (tid & low) * next + warp * far."""

    store: bool
    size: int
    vector: int
    base: int
    shift: int
    mask: int
    step: int
    low: int
    next: int
    far: int
    guard: int  # threads take part that have one of these bits, or all for 0

    @property
    def bytes(self) -> int:
        return self.size * self.vector

    def threads(self, block: int) -> list[int]:
        return [t for t in range(block) if self.guard == 0 or t & self.guard]

    def at(self, t: int) -> int:
        return (
            self.base + ((t >> self.shift) & self.mask) * self.step
            + (t & self.low) * self.next + (t >> 5) * self.far
        )  # fmt: skip

    def text(self) -> str:
        width = self.size * 8
        register = f"%{PREFIX[self.size]}7"
        data = register if self.vector == 1 else "{" + ", ".join([register] * self.vector) + "}"
        loaded = f"%{PREFIX[self.size]}"
        into = (
            f"{loaded}30" if self.vector == 1
            else "{" + ", ".join(f"{loaded}{30 + i}" for i in range(self.vector)) + "}"
        )  # fmt: skip
        vector = "" if self.vector == 1 else f".v{self.vector}"
        guard = ""
        lines = [
            f"shr.u32 %r10, %r1, {self.shift}", f"and.b32 %r10, %r10, {self.mask}",
            f"mul.lo.u32 %r10, %r10, {self.step}", f"and.b32 %r11, %r1, {self.low}",
            f"mul.lo.u32 %r11, %r11, {self.next}", "add.u32 %r10, %r10, %r11",
            "shr.u32 %r11, %r1, 5", f"mul.lo.u32 %r11, %r11, {self.far}",
            "add.u32 %r10, %r10, %r11", f"add.u32 %r10, %r10, {self.base}",
            "add.u32 %r10, %r10, %r5",
        ]  # fmt: skip
        if self.guard:
            guard = "@%p1 "
            lines += [f"and.b32 %r12, %r1, {self.guard}", "setp.ne.u32 %p1, %r12, 0"]
        if self.store:
            lines.append(f"{guard}st.shared{vector}.b{width} [%r10], {data}")
        else:
            lines.append(f"{guard}ld.shared{vector}.b{width} {into}, [%r10]")
        return "\n".join(lines) + "\n"


def one_place_each(access: Access) -> bool:
    """Whether no two lanes of a warp access one byte: which of two stores wins is undefined."""
    for warp in range(0, 96, 32):
        places = [access.at(t) // access.bytes for t in access.threads(96) if t // 32 == warp // 32]
        if len(set(places)) != len(places):
            return False
    return True


def draw(source: random.Random) -> Access:
    while True:
        size = source.choice((1, 2, 4, 4, 4, 8))
        vector = source.choice((1, 1, 1, 2, 4)) if size > 1 else 1
        each = size * vector
        if each > 16:
            continue
        low = source.choice((0, 1, 3, 7, 15, 31, 31))
        access = Access(
            store=source.random() < 0.4, size=size, vector=vector, base=each * source.randrange(4),
            shift=source.choice((0, 1, 2, 3, 4)), mask=source.choice((0, 0, 1, 3, 7)),
            step=each * source.choice((1, 8, 9, 16, 17)), low=low, next=each * source.choice((1, 1, 1, 2, 3)),
            far=each * source.choice((0, 0, 0, 1, 16, 32)), guard=source.choice(GUARDS),
        )  # fmt: skip
        if max(access.at(t) for t in range(96)) + each > BYTES:
            continue
        if not access.store or one_place_each(access):
            return access


def draw_steps(source: random.Random) -> list[tuple[Access, str]]:
    """Accesses, and what comes after each. Many touch what one before them has touched."""
    steps: list[tuple[Access, str]] = []
    for _ in range(source.randrange(2, 8)):
        access = draw(source)
        if steps and source.random() < 0.6:
            before = source.choice(steps)[0]
            same = replace(
                before, store=source.random() < 0.4, guard=source.choice(GUARDS),
                base=before.base + before.bytes * source.choice((0, 0, 0, 8)),
            )  # fmt: skip
            inside = max(same.at(t) for t in range(96)) + same.bytes <= BYTES
            access = same if inside and (not same.store or one_place_each(same)) else access
        steps.append((access, source.choice(AFTERS)))
    return steps


def has_race(steps: list[tuple[Access, str]], block: int) -> bool:
    """Whether two threads touch one byte, one of them storing, with nothing between them."""
    touched: dict[int, list[tuple[int, int, bool]]] = {}  # of a byte: thread, warp's epoch, store
    epoch = 0
    for access, after in steps:
        for t in access.threads(block):
            for byte in range(access.at(t), access.at(t) + access.bytes):
                for other, when, store in touched.get(byte, []):
                    ordered = other == t or (other // 32 == t // 32 and when < epoch)
                    if not ordered and (store or access.store):
                        return True
                touched.setdefault(byte, []).append((t, epoch, access.store))
        if after == "bar.sync 0":
            touched.clear()
        elif after:
            epoch += 1
    return False


def program(steps: list[tuple[Access, str]], block: int) -> str:
    fill = (
        f"mul.lo.u32 %r8, %r1, 4\nadd.u32 %r8, %r8, %r5\nfill:\nst.shared.b32 [%r8], %r7\n"
        f"add.u32 %r8, %r8, {4 * block}\nsub.u32 %r9, %r8, %r5\nsetp.lt.u32 %p2, %r9, {BYTES}\n"
        "@%p2 bra fill\nbar.sync 0\n"
    )
    head = "cvt.u16.u32 %h7, %r7\ncvt.u8.u32 %b7, %r7\n"
    return PROLOGUE + head + fill + "".join(f"{a.text()}{after}\n" for a, after in steps)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("seed", range(24))
def test_races_are_those_of_the_model(seed: int):
    source = random.Random(seed)
    found = {True: 0, False: 0}
    for _ in range(40):
        block = source.choice((32, 64, 96))
        steps = draw_steps(source)
        text = program(steps, block)
        report = run(text, [], [output(1, "u4")], block=block, sanitize=3, threads=1)
        kinds = {finding.kind for finding in report.findings}
        race = has_race(steps, block)
        assert kinds == ({"shared-race"} if race else set()), (steps, block, report.message)
        found[race] += 1
    assert min(found.values()) > 0


READERS = """
mul.lo.u32 %r8, %r1, 4
and.b32 %r9, %r8, 124
add.u32 %r9, %r9, %r5
setp.lt.u32 %p1, %r1, 32
@%p1 st.shared.u32 [%r9], %r1
bar.sync 0
mov.u32 %r10, 0
again:
ld.shared.u32 %r11, [%r9]
bar.sync 0
@%p1 st.shared.u32 [%r9], %r11
BARRIER
add.u32 %r10, %r10, 1
setp.lt.u32 %p2, %r10, ROUNDS
@%p2 bra again
"""


@pytest.mark.parametrize(("barrier", "kind"), [("bar.sync 0", ""), ("", "shared-race")])
def test_clocks_that_are_used_up_start_again(barrier: str, kind: str):
    """A warp's clock has 16 bits, and each barrier moves it on."""
    rounds = 40_000 if barrier else 70_000
    text = PROLOGUE + READERS.replace("BARRIER", barrier).replace("ROUNDS", str(rounds))
    report = run(text, [], [output(1, "u4")], block=96, sanitize=3, threads=1)
    assert {finding.kind for finding in report.findings} == ({kind} if kind else set())


PARTLY = """
and.b32 %r8, %r1, 31
mul.lo.u32 %r9, %r8, 4
add.u32 %r9, %r9, %r5
setp.lt.u32 %p1, %r1, 32
@%p1 bra last
setp.lt.u32 %p2, %r1, 64
setp.LANES.u32 %p3, %r8, 16
and.pred %p3, %p3, %p2
ld.shared.u32 %r11, [%r9]
BEFORE
bar.arrive 1, 96
AFTER
exit
last:
bar.sync 1, 96
st.shared.u32 [%r9], %r1
"""


@pytest.mark.parametrize("lanes", ["lt", "ge"])
@pytest.mark.parametrize("late", [False, True])
def test_readers_of_a_part_of_a_range_may_be_later(lanes: str, late: bool):
    """Two warps read a row. One of them reads half of it again, before or after it has arrived."""
    again = "@%p3 ld.shared.u32 %r12, [%r9]"
    body = PARTLY.replace("LANES", lanes)
    body = body.replace("BEFORE", "" if late else again).replace("AFTER", again if late else "")
    fill = "mul.lo.u32 %r8, %r1, 4\nadd.u32 %r8, %r8, %r5\nst.shared.b32 [%r8], %r7\nbar.sync 0\n"
    report = run(PROLOGUE + fill + body, [], [output(1, "u4")], block=96, sanitize=3, threads=1)
    found = {finding.kind for finding in report.findings}
    assert found == ({"shared-race"} if late else set())
    assert sum(finding.count for finding in report.findings) == (16 if late else 0)
