"""A pipeline as kernels have it: clean under every policy and order, and with any part missing never silent.

One thread loads tiles into a ring of stages; four warps double them, store them from two output tiles, and
add them up; the CTAs of a cluster bring their sums together by asynchronous stores and by plain ones.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from pyptx._emulator import KINDS, Report

from .harness import device, kinds, output, run

TX = "mbarrier::complete_tx::bytes"
TILES, WORDS, CTAS = 10, 128, 4

PIPELINE = f"""
.param u64 X
.param u64 Y
.param u64 S
.shared full 24 8
.shared empty 24 8
.shared got 8 8
.shared stages 1536 128
.shared outs 1024 128
.shared slots 16 16
.shared sums 16 16
.shared total 16 16
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
ld.param.u64 %rd3, [S]
mov.u32 %r1, %tid.x
mov.u32 %r2, %ctaid.x
mov.u32 %r3, %cluster_ctarank
mul.wide.u32 %rd4, %r2, {TILES * WORDS * 4}
add.u64 %rd1, %rd1, %rd4
add.u64 %rd2, %rd2, %rd4
setp.ne.u32 %p1, %r1, 0
mov.u32 %r10, 0
mov.u32 %r11, full
mov.u32 %r12, empty
mov.u32 %r13, stages
@%p1 bra ready
mbarrier.init.shared::cta.b64 [full], 1
mbarrier.init.shared::cta.b64 [full+8], 1
mbarrier.init.shared::cta.b64 [full+16], 1
mbarrier.init.shared::cta.b64 [empty], 4
mbarrier.init.shared::cta.b64 [empty+8], 4
mbarrier.init.shared::cta.b64 [empty+16], 4
mbarrier.init.shared::cta.b64 [got], 1
fence.mbarrier_init.release.cluster
mbarrier.arrive.expect_tx.shared::cta.b64 _, [got], 8
st.shared.u32 [total], 0
ready:
barrier.cluster.arrive
barrier.cluster.wait
setp.ge.u32 %p2, %r1, 32
@%p2 bra consumer

@%p1 bra finish
mov.u32 %r14, 1
produce:
free:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r12], %r14
@!%p3 bra free
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 512
cp.async.bulk.shared::cluster.global.{TX} [%r13], [%rd1], 512, [%r11]
add.u64 %rd1, %rd1, 512
add.u32 %r11, %r11, 8
add.u32 %r12, %r12, 8
add.u32 %r13, %r13, 512
add.u32 %r10, %r10, 1
rem.u32 %r15, %r10, 3
setp.eq.u32 %p4, %r15, 0
@%p4 xor.b32 %r14, %r14, 1
@%p4 sub.u32 %r11, %r11, 24
@%p4 sub.u32 %r12, %r12, 24
@%p4 sub.u32 %r13, %r13, 1536
setp.lt.u32 %p5, %r10, {TILES}
@%p5 bra produce
bra finish

consumer:
sub.u32 %r4, %r1, 32
shl.b32 %r5, %r4, 2
mov.u32 %r6, %laneid
setp.eq.u32 %p6, %r6, 0
setp.eq.u32 %p7, %r4, 0
add.u32 %r13, %r13, %r5
mov.u32 %r14, 0
mov.u32 %r16, 0
consume:
filled:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r11], %r14
@!%p3 bra filled
ld.shared.u32 %r17, [%r13]
bar.warp.sync -1
@%p6 mbarrier.arrive.shared::cta.b64 _, [%r12]
add.u32 %r16, %r16, %r17
add.u32 %r18, %r17, %r17
and.b32 %r19, %r10, 1
shl.b32 %r19, %r19, 9
mov.u32 %r20, outs
add.u32 %r20, %r20, %r19
add.u32 %r21, %r20, %r5
@%p7 cp.async.bulk.wait_group.read 1
bar.sync 1, 128
st.shared.u32 [%r21], %r18
fence.proxy.async.shared::cta
bar.sync 2, 128
@%p7 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r20], 512
@%p7 cp.async.bulk.commit_group
add.u64 %rd2, %rd2, 512
add.u32 %r11, %r11, 8
add.u32 %r12, %r12, 8
add.u32 %r13, %r13, 512
add.u32 %r10, %r10, 1
rem.u32 %r15, %r10, 3
setp.eq.u32 %p4, %r15, 0
@%p4 xor.b32 %r14, %r14, 1
@%p4 sub.u32 %r11, %r11, 24
@%p4 sub.u32 %r12, %r12, 24
@%p4 sub.u32 %r13, %r13, 1536
setp.lt.u32 %p5, %r10, {TILES}
@%p5 bra consume
@%p7 cp.async.bulk.wait_group 0

red.relaxed.cta.shared.add.u32 [total], %r16
bar.sync 3, 128
@!%p7 bra finish
ld.shared.u32 %r22, [total]
shl.b32 %r23, %r3, 2
mov.u32 %r24, slots
add.u32 %r24, %r24, %r23
mapa.shared::cluster.u32 %r24, %r24, 0
mov.u32 %r25, got
mapa.shared::cluster.u32 %r25, %r25, 0
st.async.weak.shared::cluster.{TX}.u32 [%r24], %r22, [%r25]
mov.u32 %r26, sums
add.u32 %r26, %r26, %r23
mapa.shared::cluster.u32 %r26, %r26, 0
st.shared::cluster.u32 [%r26], %r22

finish:
barrier.cluster.arrive.release
barrier.cluster.wait.acquire
setp.eq.u32 %p8, %r3, 0
setp.eq.u32 %p9, %r1, 32
and.pred %p8, %p8, %p9
@!%p8 exit
arrived:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [got], 0
@!%p3 bra arrived
ld.shared.v2.u32 {{%r27, %r28}}, [slots]
ld.shared.v2.u32 {{%r29, %r30}}, [sums]
mul.wide.u32 %rd5, %r2, 8
add.u64 %rd5, %rd3, %rd5
st.global.v4.u32 [%rd5], {{%r27, %r28, %r29, %r30}}
"""

X = np.random.default_rng(3).integers(0, 1000, (CTAS, TILES, WORDS)).astype(np.uint32)
SUMS = X.sum((1, 2), dtype=np.uint32)
POLICIES: list[dict[str, object]] = [
    {},
    *({"completion": c} for c in ("eager", "late", "reversed")),
    *(
        {"completion": c, "seed": s}
        for c in ("eager", "late", "reversed", "random")
        for s in range(3)
    ),
]
NAMES = ["-".join(map(str, p.values())) or "default" for p in POLICIES]


def launch(text: str, **options: object) -> tuple[Report, np.ndarray, np.ndarray]:
    y = output(X.shape, np.uint32)
    s = output((CTAS // 2, 4), np.uint32)
    report = run(
        text, [device(X)], [y, s], grid=CTAS, block=32 + WORDS, cluster=(2, 1, 1), **options
    )
    return report, y, s


def check(report: Report, y: np.ndarray, s: np.ndarray) -> None:
    report.check()
    assert np.array_equal(y, 2 * X)
    assert np.array_equal(s, np.tile(SUMS.reshape(-1, 2), 2))


@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_the_pipeline_is_clean_and_right(policy: dict[str, object], sanitize: bool):
    check(*launch(PIPELINE, sanitize=sanitize, **policy))


@dataclass(frozen=True)
class Mutation:
    """A part of the pipeline, what stands there instead, and the findings one of which is expected."""

    part: str
    instead: str
    found: tuple[str, ...]


MUTATIONS = {
    "one look at a full stage": Mutation("@!%p3 bra filled", "", ("shared-race",)),
    "one look at an empty stage": Mutation("@!%p3 bra free", "", ("shared-race", "bad-mbarrier")),
    "no wait for a full stage": Mutation(
        "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r11], %r14\n@!%p3 bra filled\n", "", ("shared-race",),
    ),
    "no wait for an empty stage": Mutation(
        "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r12], %r14\n@!%p3 bra free\n", "",
        ("shared-race", "bad-mbarrier"),
    ),
    "the wrong parity of a full stage": Mutation(
        "mov.u32 %r14, 0", "mov.u32 %r14, 1", ("shared-race", "deadlock"),
    ),
    "the wrong parity of an empty stage": Mutation(
        "mov.u32 %r14, 1", "mov.u32 %r14, 0", ("deadlock",),
    ),
    "a parity that never turns": Mutation(
        "rem.u32 %r15, %r10, 3\nsetp.eq.u32 %p4, %r15, 0\n@%p4 xor.b32 %r14, %r14, 1",
        "rem.u32 %r15, %r10, 3\nsetp.eq.u32 %p4, %r15, 0", ("shared-race", "deadlock", "bad-mbarrier", "phase-overrun"),
    ),
    "fewer bytes expected": Mutation("[%r11], 512\n", "[%r11], 496\n", ("deadlock",)),
    "more bytes expected": Mutation("[%r11], 512\n", "[%r11], 528\n", ("deadlock",)),
    "fewer bytes copied": Mutation("[%rd1], 512, [%r11]", "[%rd1], 496, [%r11]", ("deadlock",)),
    "no expected bytes": Mutation(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], 512", "mbarrier.arrive.shared::cta.b64 _, [%r11]",
        ("shared-race", "deadlock", "bad-mbarrier"),
    ),
    "a stage is never freed": Mutation(
        "@%p6 mbarrier.arrive.shared::cta.b64 _, [%r12]", "", ("deadlock",),
    ),
    "a stage is freed by more than there are": Mutation(
        "mbarrier.arrive.shared::cta.b64 _, [%r12]", "mbarrier.arrive.shared::cta.b64 _, [%r12], 5", ("bad-mbarrier",),
    ),
    "a stage is freed before it is read": Mutation(
        "ld.shared.u32 %r17, [%r13]\nbar.warp.sync -1\n@%p6 mbarrier.arrive.shared::cta.b64 _, [%r12]",
        "@%p6 mbarrier.arrive.shared::cta.b64 _, [%r12]\nld.shared.u32 %r17, [%r13]", ("shared-race",),
    ),
    "a stage is freed by a relaxed arrival": Mutation(
        "mbarrier.arrive.shared::cta.b64 _, [%r12]", "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r12]",
        ("shared-race",),
    ),
    "a relaxed wait for a full stage": Mutation(
        "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r11]",
        "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p3, [%r11]", ("shared-race",),
    ),
    "no proxy fence": Mutation("fence.proxy.async.shared::cta", "", ("proxy-race",)),
    "a proxy fence of global memory": Mutation(
        "fence.proxy.async.shared::cta", "fence.proxy.async.global", ("proxy-race",),
    ),
    "no barrier before a bulk store": Mutation("bar.sync 2, 128", "", ("shared-race",)),
    "no barrier before an output tile is used again": Mutation("bar.sync 1, 128", "", ("shared-race",)),
    "no wait for bulk stores to read": Mutation(
        "@%p7 cp.async.bulk.wait_group.read 1", "", ("shared-race",),
    ),
    "a wait for too few bulk stores": Mutation(
        "cp.async.bulk.wait_group.read 1", "cp.async.bulk.wait_group.read 2", ("shared-race",),
    ),
    "no groups of bulk stores": Mutation(
        "@%p7 cp.async.bulk.commit_group", "", ("shared-race",),
    ),
    "no last wait for bulk stores": Mutation(
        "@%p7 cp.async.bulk.wait_group 0", "", ("unfinished-copy",),
    ),
    "no first barrier of the cluster": Mutation(
        "barrier.cluster.arrive\nbarrier.cluster.wait\n", "bar.sync 0\n", ("unordered-init", "bad-mbarrier"),
    ),
    "no fence of initialisations": Mutation(
        "fence.mbarrier_init.release.cluster\n", "", (),
    ),
    "nor a release by the first barrier": Mutation(
        "ready:\nbarrier.cluster.arrive\n", "ready:\nbar.sync 0\nbarrier.cluster.arrive.relaxed\n", (),
    ),
    "no wait for asynchronous stores": Mutation(
        "arrived:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [got], 0\n@!%p3 bra arrived\n", "",
        ("shared-race",),
    ),
    "fewer bytes of asynchronous stores expected": Mutation(
        "[got], 8\n", "[got], 4\n", ("shared-race", "unfinished-copy"),
    ),
    "a relaxed last barrier of the cluster": Mutation(
        "barrier.cluster.arrive.release", "barrier.cluster.arrive.relaxed", ("shared-race",),
    ),
    "no last barrier of the cluster": Mutation(
        "barrier.cluster.arrive.release\nbarrier.cluster.wait.acquire\n", "",
        ("shared-race", "out-of-bounds", "uninitialised-memory"),
    ),
    "a source that is not aligned": Mutation("[%rd1], 512, [%r11]", "[%rd1+4], 512, [%r11]", ("misaligned",)),
    "a source beyond its end": Mutation(
        f"mul.wide.u32 %rd4, %r2, {TILES * WORDS * 4}", f"mul.wide.u32 %rd4, %r2, {TILES * WORDS * 4 + 512}",
        ("out-of-bounds",),
    ),
    "too few arrivals expected": Mutation("[empty+8], 4", "[empty+8], 3", ("bad-mbarrier", "shared-race", "deadlock")),
    "too many arrivals expected": Mutation("[empty+8], 4", "[empty+8], 5", ("deadlock",)),
}  # fmt: skip


def mutated(mutation: Mutation) -> str:
    assert mutation.part in PIPELINE
    assert set(mutation.found) <= KINDS.keys()
    return PIPELINE.replace(mutation.part, mutation.instead)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@pytest.mark.parametrize("name", [n for n, m in MUTATIONS.items() if m.found])
def test_a_missing_part_is_found(name: str, policy: dict[str, object]):
    mutation = MUTATIONS[name]
    report, _, _ = launch(mutated(mutation), sanitize=True, max_instructions=100_000, **policy)
    assert set(kinds(report)) & set(mutation.found), report.message


@pytest.mark.parametrize("name", [n for n, m in MUTATIONS.items() if not m.found])
def test_parts_that_stand_in_for_each_other(name: str):
    check(*launch(mutated(MUTATIONS[name]), sanitize=True))


def test_one_of_the_parts_that_stand_in_for_each_other_is_needed():
    text = PIPELINE
    for mutation in MUTATIONS.values():
        text = text if mutation.found else text.replace(mutation.part, mutation.instead)
    report, _, _ = launch(text, sanitize=True)
    assert set(kinds(report)) == {"unordered-init"}
