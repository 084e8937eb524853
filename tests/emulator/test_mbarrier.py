"""mbarriers: phases, counts, states and tests, within a CTA and across a cluster."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from .harness import kinds, output, run

HEAD = """
.param u64 Y
.shared bar 32 8
.shared tile 4096 16
ld.param.u64 %rd1, [Y]
mov.u32 %r1, %tid.x
mul.wide.u32 %rd2, %r1, 4
add.u64 %rd2, %rd1, %rd2
shl.b32 %r2, %r1, 2
mov.u32 %r3, tile
add.u32 %r4, %r3, %r2
setp.eq.u32 %p1, %r1, 0
mov.u32 %r5, %cluster_ctarank
"""
START = """
@!%p1 bra started
mbarrier.init.shared::cta.b64 [bar], COUNT
mbarrier.init.shared::cta.b64 [bar+8], COUNT
fence.mbarrier_init.release.cluster
started:
bar.sync 0
"""
SEEDS = [None, 0, 1, 2]


def start(count: int) -> str:
    return HEAD + START.replace("COUNT", str(count))


def one_thread(text: str) -> np.ndarray:
    """What a kernel of one thread stores: eight values."""
    y = output(8, np.uint32)
    run(HEAD + text, [], [y], block=1, sanitize=True, initialised=True).check()
    return y


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wait", ["try_wait", "test_wait"])
def test_all_threads_exchange_over_phases(seed, wait: str):
    # In each of five phases a thread adds what its neighbour stored.
    text = (
        start(64)
        + f"""
    mov.u32 %r10, 0
    mov.u32 %r11, 0
    mov.u32 %r15, %r1
    again:
    st.shared.u32 [%r4], %r15
    mbarrier.arrive.shared::cta.b64 %rd8, [bar]
    wait:
    mbarrier.{wait}.shared::cta.b64 %p2, [bar], %rd8
    @!%p2 bra wait
    xor.b32 %r12, %r2, 128
    add.u32 %r12, %r3, %r12
    ld.shared.u32 %r13, [%r12]
    add.u32 %r11, %r11, %r13
    mbarrier.arrive.shared::cta.b64 _, [bar+8]
    and.b32 %r14, %r10, 1
    free:
    mbarrier.{wait}.parity.shared::cta.b64 %p2, [bar+8], %r14
    @!%p2 bra free
    add.u32 %r15, %r15, 1
    add.u32 %r10, %r10, 1
    setp.lt.u32 %p3, %r10, 5
    @%p3 bra again
    st.global.u32 [%rd2], %r11
    """
    )
    y = output(64, np.uint32)
    run(text, [], [y], block=64, sanitize=True, seed=seed).check()
    assert y.tolist() == [(t ^ 32) * 5 + 10 for t in range(64)]


def test_parity_of_the_phases():
    y = one_thread("""
    mbarrier.init.shared.b64 [bar], 1
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1
    selp.u32 %r10, 1, 0, %p2
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0
    selp.u32 %r11, 1, 0, %p2
    mbarrier.arrive.shared.b64 _, [bar]
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0
    selp.u32 %r12, 1, 0, %p2
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1
    selp.u32 %r13, 1, 0, %p2
    mbarrier.arrive.shared.b64 _, [bar]
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1
    selp.u32 %r14, 1, 0, %p2
    st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13}
    st.global.u32 [%rd1+16], %r14
    """)
    assert y[:5].tolist() == [1, 0, 1, 0, 1]


def test_states_and_pending_counts():
    y = one_thread("""
    mbarrier.init.shared.b64 [bar], 5
    mbarrier.arrive.noComplete.shared.b64 %rd8, [bar], 2
    mbarrier.arrive.noComplete.shared.b64 %rd9, [bar], 1
    mbarrier.pending_count.b64 %r10, %rd8
    mbarrier.pending_count.b64 %r11, %rd9
    mbarrier.arrive.shared.b64 %rd10, [bar], 2
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd10
    selp.u32 %r12, 1, 0, %p2
    mbarrier.arrive_drop.shared.b64 %rd11, [bar], 2
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd11
    selp.u32 %r13, 1, 0, %p2
    mbarrier.arrive.shared.b64 _, [bar], 3
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd11
    selp.u32 %r14, 1, 0, %p2
    mbarrier.arrive.shared.b64 %rd12, [bar], 3
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd12
    selp.u32 %r15, 1, 0, %p2
    st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13}
    st.global.v2.u32 [%rd1+16], {%r14, %r15}
    """)
    assert y[:6].tolist() == [5, 3, 1, 0, 1, 1]


def test_a_phase_waits_for_bytes_too():
    y = one_thread("""
    mbarrier.init.shared.b64 [bar], 1
    mbarrier.arrive.expect_tx.shared.b64 %rd8, [bar], 48
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd8
    selp.u32 %r10, 1, 0, %p2
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 32
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd8
    selp.u32 %r11, 1, 0, %p2
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16
    mbarrier.test_wait.shared.b64 %p2, [bar], %rd8
    selp.u32 %r12, 1, 0, %p2
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 64
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 64
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1
    selp.u32 %r13, 1, 0, %p2
    mbarrier.arrive_drop.expect_tx.shared.b64 _, [bar], 0
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 1
    selp.u32 %r14, 1, 0, %p2
    st.global.v4.u32 [%rd1], {%r10, %r11, %r12, %r13}
    st.global.u32 [%rd1+16], %r14
    """)
    assert y[:5].tolist() == [0, 0, 1, 0, 1]


def test_the_memory_of_an_mbarrier_serves_again():
    y = one_thread("""
    mbarrier.init.shared.b64 [bar], 1
    mbarrier.arrive.shared.b64 _, [bar]
    mbarrier.inval.shared.b64 [bar]
    st.shared.u64 [bar], 77
    ld.shared.u32 %r10, [bar]
    mbarrier.init.shared.b64 [bar], 2
    mbarrier.arrive.shared.b64 _, [bar]
    mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0
    selp.u32 %r11, 1, 0, %p2
    st.global.v2.u32 [%rd1], {%r10, %r11}
    """)
    assert y[:2].tolist() == [77, 0]


def test_generic_addresses_of_mbarriers():
    y = one_thread("""
    mov.u64 %rd7, bar
    cvta.shared.u64 %rd7, %rd7
    mbarrier.init.b64 [%rd7], 1
    mbarrier.arrive.b64 %rd8, [%rd7]
    mbarrier.try_wait.b64 %p2, [%rd7], %rd8
    selp.u32 %r10, 1, 0, %p2
    st.global.u32 [%rd1], %r10
    """)
    assert y[0] == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_arrivals_from_other_ctas_of_the_cluster(seed):
    # Every CTA stores to the next one's shared memory and arrives there.
    text = (
        start(64)
        + """
    barrier.cluster.arrive.relaxed.aligned
    barrier.cluster.wait.acquire.aligned
    mov.u32 %r6, %cluster_nctarank
    add.u32 %r7, %r5, 1
    rem.u32 %r7, %r7, %r6
    mapa.shared::cluster.u32 %r8, %r4, %r7
    mov.u32 %r9, bar
    mapa.shared::cluster.u32 %r10, %r9, %r7
    mad.lo.u32 %r11, %r5, 1000, %r1
    st.shared::cluster.u32 [%r8], %r11
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10]
    wait:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0
    @!%p2 bra wait
    ld.shared.u32 %r12, [%r4]
    mov.u32 %r13, %ctaid.x
    mad.lo.u32 %r13, %r13, 64, %r1
    mul.wide.u32 %rd3, %r13, 4
    add.u64 %rd3, %rd1, %rd3
    st.global.u32 [%rd3], %r12
    barrier.cluster.arrive
    barrier.cluster.wait
    """
    )
    y = output(8 * 64, np.uint32)
    run(text, [], [y], grid=8, block=64, cluster=(4, 1, 1), sanitize=True, seed=seed).check()
    expected = ((np.arange(8) + 3) % 4)[:, None] * 1000 + np.arange(64)
    assert np.array_equal(y.reshape(8, 64), expected)


def test_a_thread_may_do_other_work_while_it_waits():
    # The lanes that wait count how often they have looked; a later one arrives when it is ten times.
    text = (
        start(1)
        + """
    setp.eq.u32 %p4, %r1, 31
    @%p1 st.shared.u32 [tile], 0
    bar.sync 0
    @%p4 bra arrive
    setp.ne.u32 %p5, %r1, 0
    wait:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0
    @!%p5 red.relaxed.cta.shared.add.u32 [tile], 1
    @!%p2 bra wait
    bra done
    arrive:
    ld.relaxed.cta.shared.u32 %r10, [tile]
    setp.lt.u32 %p3, %r10, 10
    @%p3 bra arrive
    mbarrier.arrive.shared.b64 _, [bar]
    done:
    st.global.u32 [%rd2], 5
    """
    )
    y = output(32, np.uint32)
    run(text, [], [y], sanitize=True).check()
    assert y.tolist() == [5] * 32


def test_a_try_wait_may_give_up():
    # Nobody ever arrives: after twenty tries the thread goes on without.
    text = (
        start(1)
        + """
    mov.u32 %r10, 0
    wait:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0, 1000
    @%p2 bra done
    add.u32 %r10, %r10, 1
    setp.lt.u32 %p3, %r10, 20
    @%p3 bra wait
    done:
    st.global.u32 [%rd2], %r10
    """
    )
    y = output(64, np.uint32)
    run(text, [], [y], block=64, sanitize=True).check()
    assert y.tolist() == [20] * 64


WAIT = """
wait:
mbarrier.try_wait.parity.shared.b64 %p2, [bar+8], 0
@!%p2 bra wait
"""


@pytest.mark.parametrize("sanitize", [False, True])
@pytest.mark.parametrize("grid", [1, 1000])
def test_a_deadlock_says_what_the_mbarrier_waits_for(sanitize: bool, grid: int):
    text = start(3) + "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar+8], 512\n" + WAIT
    y = output(64, np.uint32)
    report = run(text, [], [y], block=64, grid=grid, sanitize=sanitize, threads=1)
    assert kinds(report) == ["deadlock"]
    rows = [(w.site.warp, w.lanes, w.waits, w.site.ptx.split()[0]) for w in report.waits[:2]]
    waits = (
        "the end of phase 0 of the mbarrier at byte 8 of bar, which is in phase 0: 2 of 3 arrivals "
        "pending, 512 bytes outstanding"
    )
    assert rows == [(w, 0xFFFFFFFF, waits, "mbarrier.try_wait.parity.shared.b64") for w in (0, 1)]


def test_a_deadlock_of_diverged_lanes_and_of_tests():
    diverged = start(3) + "@%p1 bra other\n" + WAIT + "exit\nother:\n"
    diverged += WAIT.replace("wait", "spin").replace("try_spin", "try_wait").replace("bar+8", "bar")
    y = output(64, np.uint32)
    report = run(diverged, [], [y], block=64)
    assert kinds(report) == ["deadlock"]
    assert sorted(w.lanes for w in report.waits) == [1, 0xFFFFFFFE, 0xFFFFFFFF]
    tests = run(start(3) + WAIT.replace("try_", "test_"), [], [y], block=64)
    assert kinds(tests) == ["deadlock"]
    waits = (
        "the end of phase 0 of the mbarrier at byte 8 of bar, which is in phase 0: 3 of 3 arrivals "
        "pending, 0 bytes outstanding"
    )
    assert [w.waits for w in tests.waits] == [waits, waits]


@pytest.mark.parametrize("kind", ["try_wait", "test_wait"])
def test_a_thread_that_waits_in_vain_is_the_finding_and_not_the_barrier_behind(kind: str):
    text = start(1) + "@!%p1 bra told\n" + WAIT.replace("try_wait", kind) + "told:\nbar.sync 0\n"
    y = output(64, np.uint32)
    report = run(text, [], [y], block=64, sanitize=True)
    assert kinds(report) == ["deadlock"]
    rows = [(w.site.warp, w.lanes, w.waits.split(",")[0]) for w in report.waits]
    assert rows == [
        (0, 0xFFFFFFFE, "lanes 0x00000001 of the warp at the same instruction"),
        (0, 0x00000001, "the end of phase 0 of the mbarrier at byte 8 of bar"),
        (1, 0xFFFFFFFF, "barrier 0; 32 of 64 threads have arrived"),
    ]


def test_a_loop_of_try_waits_may_also_wait_for_another_cta():
    text = (
        start(1)
        + """
    mov.u32 %r20, %ctaid.x
    setp.eq.u32 %p6, %r20, 1
    @%p6 bra later
    wait:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0
    ld.relaxed.gpu.global.u32 %r10, [%rd1+256]
    setp.eq.u32 %p3, %r10, 0
    @%p3 bra wait
    st.global.u32 [%rd2], %r10
    exit
    later:
    @%p1 st.relaxed.gpu.global.u32 [%rd1+256], 9
    """
    )
    y = output(128, np.uint32)
    y[:] = 0
    for threads in (1, 2):
        y[:] = 0
        run(text, [], [y], grid=2, block=64, threads=threads, initialised=True).check()
        assert y[:65].tolist() == [9] * 65
