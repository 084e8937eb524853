"""Ways to use mbarriers and asynchronous operations that are right: no finding, whatever the order."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from .harness import device, kinds, run
from .test_pipeline import NAMES, POLICIES

TX = "mbarrier::complete_tx::bytes"
LOAD = f"cp.async.bulk.shared::cluster.global.{TX}"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _,"
CLUSTER = "barrier.cluster.arrive\nbarrier.cluster.wait\n"
HEAD = """
.param u64 X
.param u64 Y
.shared bar 64 8
.shared tile 4096 128
ld.param.u64 %rd1, [X]
ld.param.u64 %rd2, [Y]
mov.u32 %r1, %tid.x
mov.u32 %r2, %ctaid.x
mov.u32 %r3, %cluster_ctarank
shl.b32 %r4, %r1, 2
mov.u32 %r5, tile
add.u32 %r6, %r5, %r4
mul.wide.u32 %rd3, %r1, 4
setp.eq.u32 %p1, %r1, 0
"""


def init(*counts: int) -> str:
    """Thread 0 initialises mbarriers of these counts, one behind the other."""
    rows = [f"mbarrier.init.shared::cta.b64 [bar+{8 * i}], {n}" for i, n in enumerate(counts)]
    return "\n".join(
        ["@!%p1 bra started", *rows, "fence.mbarrier_init.release.cluster", "started:", ""]
    )


def wait(label: str, bar: str = "bar", parity: str = "0", kind: str = "try_wait") -> str:
    return f"{label}:\nmbarrier.{kind}.parity.shared::cta.b64 %p2, [{bar}], {parity}\n@!%p2 bra {label}\n"


COUNT = 4096
NUMBERS = np.arange(COUNT, dtype=np.uint32)


def loop(tiles: int, body: str) -> str:
    return f"mov.u32 %r20, 0\nnext:\n{body}\nadd.u32 %r20, %r20, 1\nsetp.lt.u32 %p9, %r20, {tiles}\n@%p9 bra next\n"


PATTERNS: dict[str, tuple[str, int, np.ndarray, dict[str, object]]] = {
    # A tile goes in and out without a thread touching it; a stage is loaded again once it has been read.
    "from load to store": (
        init(1) + "bar.sync 0\n@!%p1 exit\n"
        + loop(8, f"""
        {EXPECT} [bar], 512
        {LOAD} [tile], [%rd1], 512, [bar]
        and.b32 %r21, %r20, 1
        {wait("filled", parity="%r21")}
        {STORE} [%rd2], [tile], 512
        cp.async.bulk.commit_group
        cp.async.bulk.wait_group.read 0
        add.u64 %rd1, %rd1, 512
        add.u64 %rd2, %rd2, 512""")
        + "cp.async.bulk.wait_group 0\n",
        64, NUMBERS[:1024], {},
    ),
    # The fence is executed by the thread that copies, behind the barrier.
    "a fence behind the barrier": (
        loop(4, f"""
        add.u64 %rd4, %rd1, %rd3
        ld.global.u32 %r7, [%rd4]
        st.shared.u32 [%r6], %r7
        bar.sync 0
        @!%p1 bra stored
        fence.proxy.async.shared::cta
        {STORE} [%rd2], [tile], 256
        cp.async.bulk.commit_group
        cp.async.bulk.wait_group.read 0
        stored:
        bar.sync 0
        add.u64 %rd1, %rd1, 256
        add.u64 %rd2, %rd2, 256""")
        + "@%p1 cp.async.bulk.wait_group 0",
        64, NUMBERS[:256], {},
    ),
    # Every thread waits, reads, and frees the stage by its own arrival; the elected thread loads the next.
    "all threads arrive": (
        init(1, 64) + "bar.sync 0\nelect.sync _|%p4, -1\nsetp.lt.u32 %p5, %r1, 32\nand.pred %p4, %p4, %p5\n"
        + loop(6, f"""
        and.b32 %r21, %r20, 1
        xor.b32 %r22, %r21, 1
        @!%p4 bra filled
        {wait("free", "bar+8", "%r22")}
        {EXPECT} [bar], 256
        {LOAD} [tile], [%rd1], 256, [bar]
        {wait("filled", parity="%r21")}
        ld.shared.u32 %r7, [%r6]
        mbarrier.arrive.shared::cta.b64 _, [bar+8]
        add.u64 %rd4, %rd2, %rd3
        st.global.u32 [%rd4], %r7
        add.u64 %rd1, %rd1, 256
        add.u64 %rd2, %rd2, 256"""),
        64, NUMBERS[:384], {},
    ),
    # One thread waits and a barrier tells the others; test_wait instead of try_wait.
    "one thread waits for all": (
        init(1) + "bar.sync 0\n"
        + loop(4, f"""
        and.b32 %r21, %r20, 1
        @!%p1 bra told
        {EXPECT} [bar], 256
        {LOAD} [tile], [%rd1], 256, [bar]
        {wait("filled", parity="%r21", kind="test_wait")}
        told:
        bar.sync 0
        ld.shared.u32 %r7, [%r6]
        bar.sync 0
        add.u64 %rd4, %rd2, %rd3
        st.global.u32 [%rd4], %r7
        add.u64 %rd1, %rd1, 256
        add.u64 %rd2, %rd2, 256"""),
        64, NUMBERS[:256], {},
    ),
    # cp.async with several groups under way.
    "groups under way": (
        "add.u64 %rd4, %rd1, %rd3\nadd.u64 %rd5, %rd2, %rd3\n"
        + "".join(f"cp.async.ca.shared.global [%r6+{256 * i}], [%rd4+{256 * i}], 4\ncp.async.commit_group\n" for i in range(3))
        + "".join(
            f"cp.async.wait_group {2 - i}\nbar.sync 0\nld.shared.u32 %r7, [%r6+{256 * i}]\nst.global.u32 [%rd5+{256 * i}], %r7\n"
            for i in range(3)
        ),
        64, NUMBERS[:192], {},
    ),
    # The output is the input: a tile is loaded, changed by the threads, and stored back.
    "in place": (
        init(1) + "bar.sync 0\n"
        + loop(4, f"""
        and.b32 %r21, %r20, 1
        @!%p1 bra filled
        {EXPECT} [bar], 256
        {LOAD} [tile], [%rd2], 256, [bar]
        {wait("filled", parity="%r21")}
        ld.shared.u32 %r7, [%r6]
        add.u32 %r7, %r7, %r7
        st.shared.u32 [%r6], %r7
        fence.proxy.async.shared::cta
        bar.sync 0
        @!%p1 bra stored
        {STORE} [%rd2], [tile], 256
        cp.async.bulk.commit_group
        cp.async.bulk.wait_group.read 0
        stored:
        bar.sync 0
        add.u64 %rd2, %rd2, 256""")
        + "@%p1 cp.async.bulk.wait_group 0",
        64, 2 * NUMBERS[:256], {"before": NUMBERS[:256]},
    ),
    # A CTA loads for both of its cluster; both tell both when they have read.
    "multicast with an empty barrier across the cluster": (
        init(1, 2) + CLUSTER
        + """
        mov.u32 %r10, bar
        add.u32 %r11, %r10, 8
        mapa.shared::cluster.u32 %r12, %r11, 0
        mapa.shared::cluster.u32 %r13, %r11, 1
        shl.b32 %r14, %r3, 8
        add.u32 %r15, %r5, %r14
        mul.wide.u32 %rd6, %r3, 256
        add.u64 %rd1, %rd1, %rd6
        mul.wide.u32 %rd7, %r2, 4096
        add.u64 %rd2, %rd2, %rd7
        mov.u16 %h1, 3
        """
        + loop(8, f"""
        and.b32 %r21, %r20, 1
        xor.b32 %r22, %r21, 1
        @!%p1 bra filled
        {wait("free", "bar+8", "%r22").replace("parity", "parity.acquire.cluster")}
        {EXPECT} [bar], 512
        {LOAD}.multicast::cluster [%r15], [%rd1], 256, [bar], %h1
        {wait("filled", parity="%r21")}
        ld.shared.u32 %r7, [%r6]
        ld.shared.u32 %r8, [%r6+256]
        bar.sync 0
        @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12]
        @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r13]
        add.u64 %rd4, %rd2, %rd3
        st.global.u32 [%rd4], %r7
        st.global.u32 [%rd4+256], %r8
        add.u64 %rd1, %rd1, 512
        add.u64 %rd2, %rd2, 512""")
        + CLUSTER,
        64, np.tile(NUMBERS[:1024], 2), {"grid": 2, "cluster": (2, 1, 1)},
    ),
    # Every CTA of a cluster sends each round's value to all by st.async; two slots in turn.
    "an all-to-all in rounds": (
        init(1, 1) + CLUSTER + "mov.u32 %r23, 0\nsetp.lt.u32 %p6, %r1, 4\nmov.u32 %r18, bar\n"
        + loop(6, f"""
        and.b32 %r21, %r20, 1
        shr.u32 %r22, %r20, 1
        and.b32 %r22, %r22, 1
        shl.b32 %r24, %r21, 3
        mov.u32 %r10, bar
        add.u32 %r10, %r10, %r24
        @%p1 {EXPECT} [%r10], 16
        shl.b32 %r25, %r21, 4
        add.u32 %r11, %r5, %r25
        shl.b32 %r12, %r3, 2
        add.u32 %r13, %r11, %r12
        mapa.shared::cluster.u32 %r14, %r13, %r1
        mapa.shared::cluster.u32 %r15, %r10, %r1
        mad.lo.u32 %r16, %r20, 10, %r3
        @%p6 st.async.weak.shared::cluster.{TX}.u32 [%r14], %r16, [%r15]
        {wait("arrived", "%r10", "%r22")}
        ld.shared.v4.u32 {{%r26, %r27, %r28, %r29}}, [%r11]
        add.u32 %r23, %r23, %r26
        add.u32 %r23, %r23, %r27
        add.u32 %r23, %r23, %r28
        add.u32 %r23, %r23, %r29
        {CLUSTER}""")
        + "mul.wide.u32 %rd4, %r2, 128\nadd.u64 %rd4, %rd2, %rd4\nadd.u64 %rd4, %rd4, %rd3\nst.global.u32 [%rd4], %r23",
        32, np.full(256, 4 * 150 + 6 * 6, np.uint32), {"grid": 8, "cluster": (4, 1, 1)},
    ),
    # Two CTAs answer each other by st.async alone: what one sends says that it has read the round before.
    "answers": (
        init(1, 1) + CLUSTER + "@!%p1 bra over\nxor.b32 %r9, %r3, 1\nmov.u32 %r23, 0\n"
        + loop(8, f"""
        and.b32 %r21, %r20, 1
        shr.u32 %r22, %r20, 1
        and.b32 %r22, %r22, 1
        mov.u32 %r10, bar
        mad.lo.u32 %r10, %r21, 8, %r10
        mad.lo.u32 %r11, %r21, 4, %r5
        mapa.shared::cluster.u32 %r12, %r10, %r9
        mapa.shared::cluster.u32 %r13, %r11, %r9
        add.u32 %r14, %r20, %r3
        {EXPECT} [%r10], 4
        st.async.shared::cluster.{TX}.u32 [%r13], %r14, [%r12]
        {wait("answered", "%r10", "%r22")}
        ld.shared.u32 %r7, [%r11]
        add.u32 %r23, %r23, %r7""")
        + "mul.wide.u32 %rd4, %r2, 4\nadd.u64 %rd4, %rd2, %rd4\nst.global.u32 [%rd4], %r23\nover:\n" + CLUSTER,
        32, np.array([28 + 8, 28], np.uint32), {"grid": 2, "cluster": (2, 1, 1)},
    ),
    # All have read a word, which one thread reads again and changes: behind a barrier, and behind an mbarrier,
    # after which it has not begun anew.
    "a word that all have read": (
        init(64) + "@%p1 st.shared.u32 [tile], 1\nbar.sync 0\nld.shared.u32 %r7, [tile]\nbar.sync 0\n"
        "@!%p1 bra changed\nld.shared.u32 %r8, [tile]\nadd.u32 %r8, %r8, %r7\nst.shared.u32 [tile], %r8\nchanged:\nbar.sync 0\n"
        "ld.shared.u32 %r7, [tile]\nmbarrier.arrive.shared::cta.b64 _, [bar]\n@!%p1 bra over\nld.shared.u32 %r8, [tile]\n"
        + wait("read") + "add.u32 %r8, %r8, %r7\nst.shared.u32 [tile], %r8\nover:\nbar.sync 0\n"
        "ld.shared.u32 %r7, [tile]\nadd.u64 %rd4, %rd2, %rd3\nst.global.u32 [%rd4], %r7",
        64, np.full(64, 4, np.uint32), {},
    ),
    # Registers hand a tile over between two roles by mbarriers alone, two stages deep.
    "two roles": (
        init(32, 32, 32, 32) + "bar.sync 0\nsetp.lt.u32 %p3, %r1, 32\nand.b32 %r8, %r1, 31\nshl.b32 %r8, %r8, 2\n"
        "add.u32 %r9, %r5, %r8\ncvt.u64.u32 %rd8, %r8\nadd.u64 %rd4, %rd1, %rd8\nadd.u64 %rd5, %rd2, %rd8\n@!%p3 bra taker\n"
        + loop(6, f"""
        and.b32 %r21, %r20, 1
        shr.u32 %r22, %r20, 1
        and.b32 %r22, %r22, 1
        xor.b32 %r23, %r22, 1
        shl.b32 %r24, %r21, 3
        mov.u32 %r10, bar
        add.u32 %r10, %r10, %r24
        shl.b32 %r25, %r21, 7
        add.u32 %r11, %r9, %r25
        ld.global.u32 %r7, [%rd4]
        {wait("free", "%r10+16", "%r23")}
        st.shared.u32 [%r11], %r7
        mbarrier.arrive.shared::cta.b64 _, [%r10]
        add.u64 %rd4, %rd4, 128""")
        + "exit\ntaker:\n"
        + loop(6, f"""
        and.b32 %r21, %r20, 1
        shr.u32 %r22, %r20, 1
        and.b32 %r22, %r22, 1
        shl.b32 %r24, %r21, 3
        mov.u32 %r10, bar
        add.u32 %r10, %r10, %r24
        shl.b32 %r25, %r21, 7
        add.u32 %r11, %r9, %r25
        {wait("full", "%r10", "%r22")}
        ld.shared.u32 %r7, [%r11]
        mbarrier.arrive.shared::cta.b64 _, [%r10+16]
        st.global.u32 [%rd5], %r7
        add.u64 %rd5, %rd5, 128""").replace("next", "again"),
        64, NUMBERS[:192], {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@pytest.mark.parametrize("name", PATTERNS)
def test_what_is_right_is_silent(name: str, policy: dict[str, object]):
    body, block, expected, options = PATTERNS[name]
    launch = {k: v for k, v in options.items() if k != "before"}
    x = device(NUMBERS)
    y = device(options.get("before", np.zeros_like(expected)))
    run(
        HEAD + body, [x], [y], block=block, sanitize=True, initialised=True, **launch, **policy
    ).check()
    assert np.array_equal(y, expected)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
def test_answers_need_a_place_for_every_second_round(policy: dict[str, object]):
    body, block, expected, options = PATTERNS["answers"]
    own_place = "mad.lo.u32 %r11, %r21, 4, %r5"
    assert own_place in body
    x, y = device(NUMBERS), device(np.zeros_like(expected))
    text = HEAD + body.replace(own_place, "mov.u32 %r11, %r5")
    report = run(text, [x], [y], block=block, sanitize=True, initialised=True, **options, **policy)
    assert set(kinds(report)) == {"shared-race"}
