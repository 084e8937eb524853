"""Barriers, fences and spinning, across the warps of a CTA, the CTAs of a cluster, and the grid."""

from __future__ import annotations

import numpy as np
import pytest

from .harness import device, kinds, output, run

HEAD = """
.param u64 Y
.shared tile 1024 16
ld.param.u64 %rd1, [Y]
mov.u32 %r1, %tid.x
mov.u32 %r2, %ctaid.x
mov.u32 %r3, %ntid.x
mad.lo.u32 %r4, %r2, %r3, %r1
mul.wide.u32 %rd2, %r4, 4
add.u64 %rd2, %rd1, %rd2
shl.b32 %r5, %r1, 2
mov.u32 %r6, tile
add.u32 %r7, %r6, %r5
"""
SEEDS = [None, 0, 1, 2]


@pytest.mark.parametrize("seed", SEEDS)
def test_named_barriers_join_the_warps_that_use_them(seed):
    # Warps 0 and 1 exchange over barrier 1, warps 2 and 3 over barrier 2.
    text = (
        HEAD
        + """
    shr.u32 %r8, %r1, 6
    add.u32 %r8, %r8, 1
    st.shared.u32 [%r7], %r1
    bar.sync %r8, 64
    xor.b32 %r9, %r5, 128
    add.u32 %r9, %r6, %r9
    ld.shared.u32 %r10, [%r9]
    st.global.u32 [%rd2], %r10
    """
    )
    y = output(128, np.uint32)
    run(text, [], [y], block=128, sanitize=True, seed=seed).check()
    assert y.tolist() == (np.arange(128) ^ 32).tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_producers_arrive_and_consumers_wait(seed):
    text = (
        HEAD
        + """
    mov.u32 %r20, 0
    setp.lt.u32 %p1, %r1, 32
    @!%p1 bra consumer
    produce:
    add.u32 %r8, %r20, %r1
    bar.sync 2, 64
    st.shared.u32 [%r7], %r8
    bar.arrive 1, 64
    add.u32 %r20, %r20, 1
    setp.lt.u32 %p2, %r20, 10
    @%p2 bra produce
    exit
    consumer:
    mov.u32 %r9, 0
    consume:
    bar.arrive 2, 64
    bar.sync 1, 64
    ld.shared.u32 %r8, [%r7-128]
    add.u32 %r9, %r9, %r8
    add.u32 %r20, %r20, 1
    setp.lt.u32 %p2, %r20, 10
    @%p2 bra consume
    st.global.u32 [%rd2], %r9
    """
    )
    y = output(64, np.uint32)
    run(text, [], [y], block=64, sanitize=True, seed=seed).check()
    assert y[32:].tolist() == [45 + 10 * lane for lane in range(32)]


@pytest.mark.parametrize("block", [32, 64, 96, 40])
def test_barrier_reductions(block: int):
    text = (
        HEAD
        + """
    setp.lt.u32 %p1, %r1, 37
    bar.red.popc.u32 %r8, 0, %p1
    bar.red.and.pred %p2, 0, %p1
    barrier.cta.red.or.pred %p3, 1, !%p1
    @%p2 add.u32 %r8, %r8, 1000
    @%p3 add.u32 %r8, %r8, 2000
    st.global.u32 [%rd2], %r8
    """
    )
    y = output(block, np.uint32)
    run(text, [], [y], block=block, sanitize=True).check()
    expected = min(block, 37) + 1000 * (block <= 37) + 2000 * (block > 37)
    assert y.tolist() == [expected] * block


def test_warps_that_exit_are_not_waited_for():
    text = (
        HEAD
        + """
    setp.ge.u32 %p1, %r1, 32
    @%p1 exit
    bar.sync 0
    st.global.u32 [%rd2], %r1
    """
    )
    y = output(96, np.uint32)
    run(text, [], [y], block=96, sanitize=True).check()
    assert y[:32].tolist() == list(range(32))


def test_unaligned_barriers_may_stand_in_branches():
    text = (
        HEAD
        + """
    st.shared.u32 [%r7], %r1
    and.b32 %r8, %r1, 1
    setp.eq.u32 %p1, %r8, 0
    @%p1 bra even
    barrier.sync 0
    bra join
    even:
    barrier.sync 0
    join:
    xor.b32 %r9, %r5, 252
    add.u32 %r9, %r6, %r9
    ld.shared.u32 %r10, [%r9]
    st.global.u32 [%rd2], %r10
    """
    )
    y = output(64, np.uint32)
    run(text, [], [y], block=64, sanitize=True).check()
    assert y.tolist() == (63 - np.arange(64)).tolist()


def test_a_long_divergent_loop_is_no_divergent_barrier():
    # The lanes leave the loop thousands of iterations apart; the barrier is reached by all.
    text = (
        HEAD
        + """
    mov.u32 %r8, 0
    mul.lo.u32 %r9, %r1, 300
    loop:
    add.u32 %r8, %r8, 1
    setp.lt.u32 %p1, %r8, %r9
    @%p1 bra loop
    bar.sync 0
    st.global.u32 [%rd2], %r8
    """
    )
    y = output(64, np.uint32)
    run(text, [], [y], block=64, sanitize=True).check()
    assert y.tolist() == [max(1, 300 * t) for t in range(64)]


@pytest.mark.parametrize("seed", SEEDS)
def test_cluster_barriers_and_distributed_shared_memory(seed):
    text = (
        HEAD
        + """
    mov.u32 %r8, %cluster_ctarank
    mov.u32 %r9, %cluster_nctarank
    mad.lo.u32 %r10, %r8, 100, %r1
    st.shared.u32 [%r7], %r10
    barrier.cluster.arrive.release.aligned
    barrier.cluster.wait.acquire.aligned
    add.u32 %r11, %r8, 1
    rem.u32 %r11, %r11, %r9
    mapa.shared::cluster.u32 %r12, %r7, %r11
    ld.shared::cluster.u32 %r13, [%r12]
    getctarank.shared::cluster.u32 %r14, %r12
    mad.lo.u32 %r13, %r14, 10000, %r13
    st.global.u32 [%rd2], %r13
    barrier.cluster.arrive
    barrier.cluster.wait
    """
    )
    y = output(8 * 64, np.uint32)
    run(text, [], [y], grid=8, block=64, cluster=(4, 1, 1), sanitize=True, seed=seed).check()
    neighbour = (np.arange(8) % 4 + 1) % 4
    expected = neighbour[:, None] * 10100 + np.arange(64)
    assert np.array_equal(y.reshape(8, 64), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_threads_that_arrive_at_the_cluster_barrier_and_end_count_once(seed):
    # The second warp of each CTA ends; the first ones still have to wait for each other.
    text = (
        HEAD
        + """
    mov.u32 %r8, %cluster_ctarank
    setp.ge.u32 %p1, %r1, 32
    @%p1 barrier.cluster.arrive.release
    @%p1 exit
    mov.u32 %r9, 0
    busy:
    add.u32 %r9, %r9, 1
    mul.lo.u32 %r10, %r8, 200
    setp.lt.u32 %p2, %r9, %r10
    @%p2 bra busy
    mad.lo.u32 %r11, %r8, 1000, %r1
    st.shared.u32 [%r7], %r11
    barrier.cluster.arrive.release
    barrier.cluster.wait.acquire
    xor.b32 %r12, %r8, 1
    mapa.shared::cluster.u32 %r13, %r7, %r12
    ld.shared::cluster.u32 %r14, [%r13]
    st.global.u32 [%rd2], %r14
    barrier.cluster.arrive
    barrier.cluster.wait
    """
    )
    y = output(2 * 64, np.uint32)
    run(text, [], [y], grid=2, block=64, cluster=(2, 1, 1), sanitize=True, seed=seed).check()
    found = y.reshape(2, 64)[:, :32]
    assert np.array_equal(found, np.array([[1000], [0]]) + np.arange(32))


@pytest.mark.parametrize(
    ("barrier", "found"),
    [
        ("barrier.cluster.arrive\nbarrier.cluster.wait", []),
        ("barrier.cluster.arrive.release.aligned\nbarrier.cluster.wait.acquire.aligned", []),
        ("barrier.cluster.arrive.relaxed\nbarrier.cluster.wait", ["shared-race"]),
        ("bar.sync 0", ["shared-race", "early-access"]),
    ],
)
def test_remote_shared_memory_needs_a_cluster_barrier(barrier: str, found: list[str]):
    text = (
        HEAD
        + """
    mov.u32 %r8, %cluster_ctarank
    st.shared.u32 [%r7], %r8
    BARRIER
    xor.b32 %r9, %r8, 1
    mapa.shared::cluster.u32 %r10, %r7, %r9
    ld.shared::cluster.u32 %r11, [%r10]
    st.global.u32 [%rd2], %r11
    barrier.cluster.arrive
    barrier.cluster.wait
    """
    )
    y = output(64, np.uint32)
    report = run(
        text.replace("BARRIER", barrier), [], [y], grid=2, cluster=(2, 1, 1), sanitize=True
    )
    assert kinds(report) == found, report.message


def test_shared_memory_of_a_cta_that_has_exited_is_gone():
    text = (
        HEAD
        + """
    mov.u32 %r8, %cluster_ctarank
    setp.eq.u32 %p1, %r8, 0
    st.shared.u32 [%r7], %r1
    barrier.cluster.arrive
    barrier.cluster.wait
    @%p1 exit
    mov.u32 %r20, 0
    wait:
    nanosleep.u32 100
    add.u32 %r20, %r20, 1
    setp.lt.u32 %p2, %r20, 10
    @%p2 bra wait
    mapa.shared::cluster.u32 %r10, %r7, 0
    ld.shared::cluster.u32 %r11, [%r10]
    """
    )
    y = output(64, np.uint32)
    report = run(text, [], [y], grid=2, cluster=(2, 1, 1))
    assert kinds(report) == ["out-of-bounds"]
    assert report.findings[0].note == "the CTA that owns this shared memory has exited"


GRID_BARRIER = (
    HEAD
    + """
st.global.u32 [%rd2], %r4
bar.sync 0
setp.ne.u32 %p1, %r1, 0
@%p1 bra arrived
mov.u32 %r8, %nctaid.x
fence.acq_rel.gpu
red.relaxed.gpu.global.add.u32 [%rd1-256], 1
spin:
ld.relaxed.gpu.global.u32 %r9, [%rd1-256]
setp.lt.u32 %p2, %r9, %r8
@%p2 bra spin
fence.acq_rel.gpu
arrived:
bar.sync 0
xor.b32 %r10, %r4, 32
mul.wide.u32 %rd3, %r10, 4
add.u64 %rd3, %rd1, %rd3
ld.global.u32 %r11, [%rd3]
bar.sync 0
add.u64 %rd4, %rd2, 4096
st.global.u32 [%rd4], %r11
"""
)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_barrier_over_the_grid_makes_all_ctas_resident(threads: int):
    y = device(np.zeros(64 + 2048, np.uint32))
    text = GRID_BARRIER.replace(
        "ld.param.u64 %rd1, [Y]", "ld.param.u64 %rd1, [Y]\nadd.u64 %rd1, %rd1, 256"
    )
    run(text, [], [y], grid=32, threads=threads, sanitize=True, initialised=True).check()
    assert y[0] == 32
    assert y[64 + 1024 :].tolist() == (np.arange(1024) ^ 32).tolist()


def test_more_ctas_than_the_device_holds_is_said():
    y = device(np.zeros(1 << 20, np.uint32))
    text = (
        HEAD
        + """
    setp.ne.u32 %p1, %r1, 0
    @%p1 exit
    mov.u32 %r8, %nctaid.x
    atom.global.add.u32 %r9, [%rd1], 1
    spin:
    ld.volatile.global.u32 %r9, [%rd1]
    setp.lt.u32 %p2, %r9, %r8
    @%p2 bra spin
    """
    )
    report = run(text, [], [y], grid=400, block=1024, threads=2, initialised=True)
    assert kinds(report) == ["residency"]
    assert report.findings[0].note == (
        "CTAs wait for memory that a later CTA would write: the kernel needs more than 264 CTAs at "
        "once, which is what the device holds"
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_ctas_may_wait_for_their_predecessor(threads: int):
    text = (
        HEAD
        + """
    setp.ne.u32 %p1, %r1, 0
    @%p1 exit
    mul.wide.u32 %rd5, %r2, 4
    add.u64 %rd5, %rd1, %rd5
    setp.eq.u32 %p2, %r2, 0
    @%p2 bra first
    spin:
    ld.acquire.gpu.global.u32 %r9, [%rd5-4]
    setp.eq.u32 %p3, %r9, 0
    @%p3 bra spin
    add.u32 %r9, %r9, %r2
    st.release.gpu.global.u32 [%rd5], %r9
    exit
    first:
    st.release.gpu.global.u32 [%rd5], 1
    """
    )
    y = device(np.zeros(300, np.uint32))
    run(text, [], [y], grid=300, threads=threads, sanitize=True, initialised=True).check()
    assert y.tolist() == [1 + n * (n + 1) // 2 for n in range(300)]


def test_a_spinning_warp_waits_for_another_warp():
    text = (
        HEAD
        + """
    setp.eq.u32 %p9, %r1, 0
    @%p9 st.shared.u32 [tile], 0
    bar.sync 0
    setp.ge.u32 %p1, %r1, 32
    @%p1 bra setter
    spin:
    ld.acquire.cta.shared.u32 %r8, [tile]
    setp.ne.u32 %p2, %r8, 77
    @%p2 bra spin
    ld.shared.u32 %r9, [tile+64]
    st.global.u32 [%rd2], %r9
    exit
    setter:
    setp.eq.u32 %p3, %r1, 32
    @%p3 st.shared.u32 [tile+64], 5
    @%p3 st.release.cta.shared.u32 [tile], 77
    """
    )
    y = output(64, np.uint32)
    report = run(text, [], [y], block=64, sanitize=True)
    report.check()
    assert y[:32].tolist() == [5] * 32
    assert report.instructions < 500
    broken = run(
        text.replace("release.cta.shared", "relaxed.cta.shared"), [], [y], block=64, sanitize=True
    )
    assert kinds(broken) == ["shared-race"]


def test_a_lock_of_compare_and_swap():
    text = (
        HEAD
        + """
    and.b32 %r8, %r1, 31
    setp.ne.u32 %p1, %r8, 0
    @%p1 exit
    lock:
    atom.acquire.cta.shared.cas.b32 %r9, [tile], 0, 1
    setp.ne.u32 %p2, %r9, 0
    @%p2 bra lock
    ld.shared.u32 %r10, [tile+4]
    add.u32 %r10, %r10, %r1
    st.shared.u32 [tile+4], %r10
    atom.release.cta.shared.exch.b32 %r11, [tile], 0
    """
    )
    start = (
        HEAD
        + """
    setp.eq.u32 %p9, %r1, 0
    @%p9 st.shared.v2.u32 [tile], {0, 0}
    bar.sync 0
    """
    )
    end = "bar.sync 0\n@%p9 ld.shared.u32 %r12, [tile+4]\n@%p9 st.global.u32 [%rd1], %r12\n"
    body = text.removeprefix(HEAD).replace("@%p1 exit", "@%p1 bra done") + "done:\n" + end
    for seed in range(4):
        y = output(4, np.uint32)
        run(start + body, [], [y], block=256, sanitize=True, seed=seed).check()
        assert y[0] == sum(range(0, 256, 32))


def test_time_passes_for_a_loop_that_only_reads_the_clock():
    text = (
        HEAD
        + """
    mov.u64 %rd8, %clock64
    loop:
    mov.u64 %rd9, %clock64
    sub.u64 %rd10, %rd9, %rd8
    setp.lt.u64 %p1, %rd10, 5000
    @%p1 bra loop
    st.global.u32 [%rd2], %r1
    """
    )
    y = output(32, np.uint32)
    run(text, [], [y]).check()
    assert y.tolist() == list(range(32))


def test_a_deadlock_says_who_waits_for_what():
    text = (
        HEAD
        + """
    setp.lt.u32 %p1, %r1, 32
    @%p1 bra first
    bar.sync 1, 64
    first:
    bar.sync 2, 64
    """
    )
    y = output(64, np.uint32)
    report = run(text, [], [y], block=64)
    assert kinds(report) == ["deadlock"]
    rows = [(w.site.warp, w.lanes, w.waits, w.site.ptx) for w in report.waits]
    assert rows == [
        (0, 0xFFFFFFFF, "barrier 2; 32 of 64 threads have arrived", "bar.sync 2, 64"),
        (1, 0xFFFFFFFF, "barrier 1; 32 of 64 threads have arrived", "bar.sync 1, 64"),
    ]
    assert report.message.count("waits for barrier") == 2


def test_fences_of_every_scope_are_no_data():
    fences = (
        "fence.acq_rel.cta fence.sc.gpu fence.acq_rel.sys membar.cta membar.gl membar.sys "
        "fence.proxy.async fence.proxy.alias griddepcontrol.wait griddepcontrol.launch_dependents"
    )
    text = HEAD + "\n".join(fences.split()) + "\nst.global.u32 [%rd2], %r1\n"
    y = output(32, np.uint32)
    run(text, [], [y], sanitize=True).check()
    assert y.tolist() == list(range(32))


BROADCAST = (
    HEAD
    + """
mov.u32 %r20, 0
setp.ne.u32 %p1, %r1, 0
setp.eq.u32 %p4, %r2, 0
@!%p4 bra set
again:
@!%p1 ld.acquire.gpu.global.u32 %r8, [%rd1]
@!%p1 st.shared.u32 [tile], %r8
bar.sync 0
ld.shared.u32 %r9, [tile]
bar.sync 0
setp.eq.u32 %p2, %r9, 0
@%p2 bra again
st.global.u32 [%rd2+4], %r9
exit
set:
@!%p1 st.release.gpu.global.u32 [%rd1], VALUE
"""
)


@pytest.mark.parametrize("seed", [None, 1])
def test_a_whole_cta_may_wait_for_a_later_one(seed):
    y = device(np.zeros(256, np.uint32))
    text = BROADCAST.replace("VALUE", "9")
    run(text, [], [y], grid=2, block=64, threads=1, initialised=True, seed=seed).check()
    assert y[:65].tolist() == [9] * 65


def test_a_whole_cta_that_waits_in_vain_is_found():
    y = device(np.zeros(256, np.uint32))
    # The loop stores to shared memory in each turn, so that it cannot be seen to stand still.
    text = BROADCAST.replace("VALUE", "0")
    report = run(text, [], [y], grid=2, block=64, initialised=True, max_instructions=300000)
    assert kinds(report) == ["runaway"]
    still = (
        text.replace("@!%p1 st.shared.u32 [tile], %r8\nbar.sync 0", "bar.sync 0")
        .replace("ld.shared.u32 %r9, [tile]", "bar.red.popc.u32 %r9, 1, !%p1")
        .replace("setp.eq.u32 %p2, %r9, 0", "setp.eq.u32 %p2, %r9, 1")
    )
    for threads in (1, 2):
        report = run(still, [], [y], grid=2, block=64, initialised=True, threads=threads)
        assert kinds(report) == ["deadlock"]
