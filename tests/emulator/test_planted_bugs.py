"""Kernels of patterns that people write, each with bugs that people make: the kernel is silent, each bug is found by default."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from .harness import device, kinds, run
from .test_async_patterns import CLUSTER, EXPECT, HEAD, LOAD, NUMBERS, STORE, init, loop, wait
from .test_pipeline import NAMES, POLICIES


@dataclass(frozen=True)
class Pattern:
    """A correct kernel, and its bugs: what is replaced, by what, and the kinds of findings of which one is reported."""

    body: str
    expected: np.ndarray
    block: int = 64
    launch: dict[str, object] = field(default_factory=dict)
    bugs: dict[str, tuple[str, str, str]] = field(default_factory=dict)

    def run(self, body: str, **options: object) -> tuple[list[str], np.ndarray]:
        y = device(np.zeros_like(self.expected))
        report = run(
            HEAD + body, [device(NUMBERS)], [y], block=self.block, sanitize=True, initialised=True,
            max_seconds=20, **self.launch, **options,
        )  # fmt: skip
        return kinds(report), y

    def check(self, body: str | None = None, **policy: object) -> None:
        """The kernel, or another as correct, is silent, and its results are right."""
        found, y = self.run(self.body if body is None else body, **policy)
        assert found == []
        assert np.array_equal(y, self.expected)

    def check_bug(self, bug: str, **options: object) -> None:
        """The bug is found."""
        old, new, kind = self.bugs[bug]
        assert old in self.body
        found, _ = self.run(self.body.replace(old, new), **options)
        assert kind in found


LANES = "shr.u32 %r8, %r1, 5\nand.b32 %r9, %r1, 31\nshl.b32 %r18, %r9, 2\ncvt.u64.u32 %rd8, %r18\nsetp.eq.u32 %p4, %r9, 0\n"
RING = """
        rem.u32 %r21, %r20, 3
        div.u32 %r22, %r20, 3
        and.b32 %r22, %r22, 1
        xor.b32 %r23, %r22, 1
        shl.b32 %r24, %r21, 3
        mov.u32 %r10, bar
        add.u32 %r10, %r10, %r24
        shl.b32 %r25, %r21, 7
        add.u32 %r11, %r5, %r25
"""
PAIR = """
        and.b32 %r21, %r20, 1
        shr.u32 %r22, %r20, 1
        and.b32 %r22, %r22, 1
        xor.b32 %r23, %r22, 1
        mov.u32 %r10, bar
        mad.lo.u32 %r10, %r21, 8, %r10
        shl.b32 %r25, %r21, 8
"""
SPIN = "ld.acquire.gpu.global.u32 %r15, [%rd10]"


def poll(load: str = SPIN, value: int = 1) -> str:
    return f"poll:\n{load}\nsetp.ne.u32 %p6, %r15, {value}\n@%p6 bra poll\n"


PATTERNS: dict[str, Pattern] = {
    "a ring of three stages with two consumers": Pattern(
        init(1, 1, 1, 2, 2, 2) + "bar.sync 0\n" + LANES
        + "setp.ne.u32 %p3, %r8, 0\n@%p3 bra consumer\n@!%p4 exit\n"
        + loop(8, f"""{RING}
        {wait("free", "%r10+24", "%r23")}
        {EXPECT} [%r10], 128
        {LOAD} [%r11], [%rd1], 128, [%r10]
        add.u64 %rd1, %rd1, 128""")
        + "exit\nconsumer:\nsub.u32 %r8, %r8, 1\nmul.wide.u32 %rd4, %r8, 1024\nadd.u64 %rd2, %rd2, %rd4\nadd.u64 %rd2, %rd2, %rd8\n"
        + loop(8, f"""{RING}
        add.u32 %r12, %r11, %r18
        {wait("full", "%r10", "%r22")}
        ld.shared.u32 %r7, [%r12]
        bar.warp.sync -1
        @%p4 mbarrier.arrive.shared::cta.b64 _, [%r10+24]
        st.global.u32 [%rd2], %r7
        add.u64 %rd2, %rd2, 128""").replace("next", "again"),
        np.tile(NUMBERS[:256], 2), 96,
        bugs={
            "one arrival frees a stage": ("[bar+24], 2", "[bar+24], 1", "shared-race"),
            "lanes still read": ("bar.warp.sync -1\n", "\n", "shared-race"),
            "freed before it is read": (
                "ld.shared.u32 %r7, [%r12]\n        bar.warp.sync -1\n        @%p4 mbarrier.arrive.shared::cta.b64 _, [%r10+24]",
                "@%p4 mbarrier.arrive.shared::cta.b64 _, [%r10+24]\nld.shared.u32 %r7, [%r12]", "shared-race",
            ),
            "the other parity": (wait("full", "%r10", "%r22"), wait("full", "%r10", "%r23"), "shared-race"),
            "a producer that begins with the wrong parity": (wait("free", "%r10+24", "%r23"), wait("free", "%r10+24", "%r22"), "deadlock"),
            "no wait for free stages": (wait("free", "%r10+24", "%r23"), "", "bad-mbarrier"),
            "half of the bytes": (f"{EXPECT} [%r10], 128", f"{EXPECT} [%r10], 64", "deadlock"),
        },
    ),
    "named barriers between two warps": Pattern(
        LANES + "setp.ne.u32 %p3, %r8, 0\n@%p3 bra consumer\nadd.u64 %rd1, %rd1, %rd8\n"
        + loop(6, """and.b32 %r21, %r20, 1
        add.u32 %r22, %r21, 1
        add.u32 %r23, %r21, 3
        shl.b32 %r25, %r21, 7
        add.u32 %r11, %r5, %r25
        add.u32 %r12, %r11, %r18
        ld.global.u32 %r7, [%rd1]
        bar.sync %r23, 64
        st.shared.u32 [%r12], %r7
        bar.arrive %r22, 64
        add.u64 %rd1, %rd1, 128""")
        + "exit\nconsumer:\nadd.u64 %rd2, %rd2, %rd8\nbar.arrive 3, 64\nbar.arrive 4, 64\nxor.b32 %r19, %r18, 4\n"
        + loop(6, """and.b32 %r21, %r20, 1
        add.u32 %r22, %r21, 1
        add.u32 %r23, %r21, 3
        shl.b32 %r25, %r21, 7
        add.u32 %r11, %r5, %r25
        add.u32 %r12, %r11, %r19
        bar.sync %r22, 64
        ld.shared.u32 %r7, [%r12]
        setp.lt.u32 %p5, %r20, 4
        @%p5 bar.arrive %r23, 64
        st.global.u32 [%rd2], %r7
        add.u64 %rd2, %rd2, 128""").replace("next", "again"),
        NUMBERS[:192].reshape(-1, 2)[:, ::-1].reshape(-1),
        bugs={
            "full before it is stored": ("st.shared.u32 [%r12], %r7\n        bar.arrive %r22, 64", "bar.arrive %r22, 64\nst.shared.u32 [%r12], %r7", "shared-race"),
            "free before it is read": (
                "ld.shared.u32 %r7, [%r12]\n        setp.lt.u32 %p5, %r20, 4\n        @%p5 bar.arrive %r23, 64",
                "setp.lt.u32 %p5, %r20, 4\n@%p5 bar.arrive %r23, 64\nld.shared.u32 %r7, [%r12]", "shared-race",
            ),
            "one buffer for both": ("add.u32 %r11, %r5, %r25", "mov.u32 %r11, %r5", "shared-race"),
            "a producer that does not wait": ("bar.sync %r23, 64", "bar.arrive %r23, 64", "deadlock"),
            "a consumer that does not wait": ("bar.sync %r22, 64", "bar.arrive %r22, 64", "shared-race"),
        },
    ),
    "a partial sum that another CTA adds": Pattern(
        "add.u64 %rd4, %rd2, %rd3\nadd.u64 %rd10, %rd2, 512\nadd.u64 %rd5, %rd1, %rd3\nsetp.eq.u32 %p2, %r2, 0\n@%p2 bra owner\n"
        "ld.global.u32 %r7, [%rd5+256]\nst.global.u32 [%rd4+256], %r7\nbar.sync 0\n"
        "@%p1 st.release.gpu.global.u32 [%rd10], 1\nexit\n"
        "owner:\nld.global.u32 %r7, [%rd5]\n@!%p1 bra told\n" + poll() + "told:\nbar.sync 0\nld.global.u32 %r8, [%rd4+256]\n"
        "add.u32 %r7, %r7, %r8\nst.global.u32 [%rd4], %r7\n",
        np.concatenate([2 * NUMBERS[:64] + 64, NUMBERS[64:128], NUMBERS[1:2]]), 64, {"grid": 2},
        bugs={
            "a relaxed flag": ("st.release.gpu", "st.relaxed.gpu", "global-race"),
            "a relaxed poll": (SPIN, SPIN.replace("acquire", "relaxed"), "global-race"),
            "a weak poll": (SPIN, "ld.global.u32 %r15, [%rd10]", "global-race"),
            "a flag without the barrier": ("bar.sync 0\n@%p1 st.release", "@%p1 st.release", "global-race"),
            "one thread waits for all": ("told:\nbar.sync 0", "told:\n", "global-race"),
            "a flag of its CTA": ("st.release.gpu", "st.release.cta", "narrow-scope"),
            "a flag before the sum": (
                "st.global.u32 [%rd4+256], %r7\nbar.sync 0\n@%p1 st.release.gpu.global.u32 [%rd10], 1\n",
                "bar.sync 0\n@%p1 st.release.gpu.global.u32 [%rd10], 1\nst.global.u32 [%rd4+256], %r7\n", "global-race",
            ),
        },
    ),
    "a persistent kernel that draws its tiles": Pattern(
        "add.u64 %rd1, %rd1, %rd3\nadd.u64 %rd10, %rd2, 2048\nadd.u64 %rd2, %rd2, %rd3\nnext:\n"
        "@!%p1 bra drawn\natom.add.relaxed.gpu.global.u32 %r7, [%rd10], 1\nst.shared.u32 [tile], %r7\ndrawn:\nbar.sync 0\n"
        "ld.shared.u32 %r8, [tile]\nbar.sync 1\nsetp.ge.u32 %p2, %r8, 8\n@%p2 exit\nmul.wide.u32 %rd4, %r8, 256\n"
        "add.u64 %rd5, %rd1, %rd4\nld.global.u32 %r9, [%rd5]\nadd.u64 %rd6, %rd2, %rd4\nst.global.u32 [%rd6], %r9\nbra next\n",
        np.concatenate([NUMBERS[:512], np.array([10], np.uint32)]), 64, {"grid": 2},
        bugs={
            "read before it is drawn": ("bar.sync 0\n", "\n", "shared-race"),
            "drawn while it is read": ("bar.sync 1\n", "\n", "shared-race"),
            "a counter that is loaded and stored": (
                "atom.add.relaxed.gpu.global.u32 %r7, [%rd10], 1", "ld.global.u32 %r7, [%rd10]\nadd.u32 %r17, %r7, 1\nst.global.u32 [%rd10], %r17", "global-race",
            ),
            "a counter of its CTA": ("atom.add.relaxed.gpu", "atom.add.relaxed.cta", "narrow-scope"),
        },
    ),
    "the last CTA adds up": Pattern(
        "mul.wide.u32 %rd4, %r2, 256\nadd.u64 %rd5, %rd1, %rd4\nadd.u64 %rd5, %rd5, %rd3\nld.global.u32 %r7, [%rd5]\n"
        "add.u64 %rd6, %rd2, %rd4\nadd.u64 %rd6, %rd6, %rd3\nst.global.u32 [%rd6+512], %r7\nbar.sync 0\n@!%p1 bra counted\n"
        "fence.acq_rel.gpu\nadd.u64 %rd10, %rd2, 256\natom.add.relaxed.gpu.global.u32 %r8, [%rd10], 1\nfence.acq_rel.gpu // after\n"
        "st.shared.u32 [tile], %r8\ncounted:\nbar.sync 0\nld.shared.u32 %r8, [tile]\nsetp.ne.u32 %p2, %r8, 3\n@%p2 exit\n"
        "add.u64 %rd2, %rd2, %rd3\nld.global.u32 %r9, [%rd2+512]\nld.global.u32 %r10, [%rd2+768]\nadd.u32 %r9, %r9, %r10\n"
        "ld.global.u32 %r10, [%rd2+1024]\nadd.u32 %r9, %r9, %r10\nld.global.u32 %r10, [%rd2+1280]\nadd.u32 %r9, %r9, %r10\nst.global.u32 [%rd2], %r9\n",
        np.concatenate([NUMBERS[:256].reshape(4, 64).sum(0), np.array([4] + [0] * 63), NUMBERS[:256]]).astype(np.uint32), 64, {"grid": 4},
        bugs={
            "no fence before the count": ("fence.acq_rel.gpu\n", "\n", "global-race"),
            "no fence after the count": ("fence.acq_rel.gpu // after", "", "global-race"),
            "counted before all have stored": ("st.global.u32 [%rd6+512], %r7\nbar.sync 0", "st.global.u32 [%rd6+512], %r7", "global-race"),
            "fences of the CTA": ("fence.acq_rel.gpu", "fence.acq_rel.cta", "narrow-scope"),
            "all read the count at once": ("counted:\nbar.sync 0\n", "counted:\n", "shared-race"),
        },
    ),
    "a lock around a sum": Pattern(
        "@!%p1 exit\nadd.u64 %rd10, %rd2, 4\nlock:\natom.cas.acquire.gpu.global.b32 %r7, [%rd10], 0, 1\nsetp.ne.u32 %p2, %r7, 0\n@%p2 bra lock\n"
        "ld.global.u32 %r8, [%rd2]\nadd.u32 %r8, %r8, 5\nst.global.u32 [%rd2], %r8\natom.exch.release.gpu.global.b32 %r9, [%rd10], 0\n",
        np.array([20, 0], np.uint32), 32, {"grid": 4},
        bugs={
            "a relaxed lock": ("atom.cas.acquire", "atom.cas.relaxed", "global-race"),
            "a relaxed release": ("atom.exch.release", "atom.exch.relaxed", "global-race"),
            "released by a weak store": ("atom.exch.release.gpu.global.b32 %r9, [%rd10], 0", "st.global.u32 [%rd10], 0", "global-race"),
            "a lock of its CTA": ("atom.cas.acquire.gpu", "atom.cas.acquire.cta", "narrow-scope"),
        },
    ),
    "two warps in turn": Pattern(
        init(1, 1) + "@%p1 st.shared.u32 [tile], 0\nbar.sync 0\n" + LANES + "shl.b32 %r10, %r8, 3\nmov.u32 %r11, bar\nadd.u32 %r12, %r11, %r10\nxor.b32 %r10, %r10, 8\nadd.u32 %r13, %r11, %r10\n"
        + loop(4, f"""
        and.b32 %r21, %r20, 1
        xor.b32 %r22, %r8, 1
        xor.b32 %r21, %r21, %r22
        {wait("turn", "%r12", "%r21")}
        ld.shared.u32 %r7, [tile]
        bar.warp.sync -1
        add.u32 %r7, %r7, 1
        @%p4 st.shared.u32 [tile], %r7
        @%p4 mbarrier.arrive.shared::cta.b64 _, [%r13]""")
        + "bar.sync 0\nld.shared.u32 %r7, [tile]\nadd.u64 %rd2, %rd2, %rd3\nst.global.u32 [%rd2], %r7\n",
        np.full(64, 8, np.uint32),
        bugs={
            "lanes still read": ("bar.warp.sync -1\n", "\n", "shared-race"),
            "its own turn again": ("_, [%r13]", "_, [%r12]", "deadlock"),
            "both begin": ("xor.b32 %r22, %r8, 1\n        xor.b32 %r21, %r21, %r22", "xor.b32 %r21, %r21, 1", "deadlock"),
            "a relaxed arrival": ("mbarrier.arrive.shared::cta", "mbarrier.arrive.relaxed.cta.shared::cta", "shared-race"),
            "a wait of which nothing uses the result": ("@!%p2 bra turn\n", "\n", "shared-race"),
        },
    ),
    "stages of cp.async": Pattern(
        "add.u64 %rd4, %rd1, %rd3\nadd.u64 %rd5, %rd2, %rd3\nxor.b32 %r7, %r4, 128\nadd.u32 %r8, %r5, %r7\n"
        "cp.async.ca.shared.global [%r6], [%rd4], 4\ncp.async.commit_group\ncp.async.ca.shared.global [%r6+256], [%rd4+256], 4\ncp.async.commit_group\n"
        + loop(8, """
        cp.async.wait_group 1
        bar.sync 0
        add.u32 %r21, %r20, 2
        rem.u32 %r22, %r21, 3
        mad.lo.u32 %r23, %r22, 256, %r6
        mul.wide.u32 %rd6, %r21, 256
        add.u64 %rd6, %rd4, %rd6
        setp.lt.u32 %p5, %r21, 8
        @%p5 cp.async.ca.shared.global [%r23], [%rd6], 4
        cp.async.commit_group
        rem.u32 %r24, %r20, 3
        mad.lo.u32 %r25, %r24, 256, %r8
        ld.shared.u32 %r9, [%r25]
        st.global.u32 [%rd5], %r9
        add.u64 %rd5, %rd5, 256"""),
        NUMBERS[:512].reshape(-1, 2, 32)[:, ::-1].reshape(-1),
        bugs={
            "no group for what is not copied": ("        cp.async.commit_group\n        rem", "        @%p5 cp.async.commit_group\n        rem", "shared-race"),
            "one group too many under way": ("cp.async.wait_group 1", "cp.async.wait_group 2", "shared-race"),
            "no barrier": ("bar.sync 0\n", "\n", "shared-race"),
            "two stages": (", 3\n", ", 2\n", "shared-race"),
            "a barrier before the wait": ("cp.async.wait_group 1\n        bar.sync 0", "bar.sync 0\ncp.async.wait_group 1", "shared-race"),
        },
    ),
    "two buffers and one barrier": Pattern(
        "add.u64 %rd4, %rd1, %rd3\nadd.u64 %rd5, %rd2, %rd3\nxor.b32 %r7, %r4, 128\nadd.u32 %r8, %r5, %r7\n"
        + loop(6, """and.b32 %r21, %r20, 1
        mad.lo.u32 %r22, %r21, 256, %r6
        mad.lo.u32 %r23, %r21, 256, %r8
        ld.global.u32 %r9, [%rd4]
        st.shared.u32 [%r22], %r9
        bar.sync 0
        ld.shared.u32 %r9, [%r23]
        st.global.u32 [%rd5], %r9
        add.u64 %rd4, %rd4, 256
        add.u64 %rd5, %rd5, 256"""),
        NUMBERS[:384].reshape(-1, 2, 32)[:, ::-1].reshape(-1),
        bugs={
            "one buffer": ("and.b32 %r21, %r20, 1", "mov.u32 %r21, 0", "shared-race"),
            "no barrier": ("bar.sync 0\n", "\n", "shared-race"),
        },
    ),
    "a ring of CTAs": Pattern(
        init(1) + CLUSTER
        + "add.u32 %r7, %r3, 1\nand.b32 %r7, %r7, 3\nmov.u32 %r8, bar\nmapa.shared::cluster.u32 %r9, %r8, %r7\nmapa.shared::cluster.u32 %r10, %r6, %r7\n"
        "mad.lo.u32 %r11, %r3, 100, %r1\nst.shared::cluster.u32 [%r10], %r11\nbar.warp.sync -1\n@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9]\n"
        + wait("told").replace("parity", "parity.acquire.cluster") + "ld.shared.u32 %r12, [%r6]\nmul.wide.u32 %rd4, %r2, 128\nadd.u64 %rd2, %rd2, %rd4\nadd.u64 %rd2, %rd2, %rd3\nst.global.u32 [%rd2], %r12\n",
        (np.array([3, 0, 1, 2])[:, None] * 100 + np.arange(32)).astype(np.uint32).reshape(-1), 32, {"grid": 4, "cluster": (4, 1, 1)},
        bugs={
            "an arrival of its CTA": ("arrive.release.cluster", "arrive.release.cta", "narrow-scope"),
            "a wait of its CTA": ("parity.acquire.cluster", "parity.acquire.cta", "narrow-scope"),
            "no barrier of the cluster first": (CLUSTER, "bar.sync 0\n", "early-access"),
            "lanes still store": ("bar.warp.sync -1\n", "\n", "shared-race"),
            "a wait of which nothing uses the result": ("@!%p2 bra told\n", "\n", "shared-race"),
        },
    ),
    "a relaxed ring of copies between two CTAs": Pattern(
        init(1, 1, 2, 2) + CLUSTER
        + "setp.eq.u32 %p3, %r1, 32\nshl.b32 %r18, %r3, 7\nadd.u32 %r19, %r5, %r18\ncvt.u64.u32 %rd6, %r18\nmov.u16 %h1, 3\n@%p3 bra consumer\n@!%p1 bra over\nadd.u64 %rd1, %rd1, %rd6\n"
        + loop(8, f"""{PAIR}
        add.u32 %r15, %r19, %r25
        {wait("free", "%r10+16", "%r23").replace("parity", "parity.relaxed.cluster")}
        {EXPECT} [%r10], 256
        {LOAD}.multicast::cluster [%r15], [%rd1], 128, [%r10], %h1
        add.u64 %rd1, %rd1, 256""")
        + "bra over\nconsumer:\nmul.wide.u32 %rd7, %r2, 2048\nadd.u64 %rd2, %rd2, %rd7\n"
        + loop(8, f"""{PAIR}
        add.u32 %r11, %r5, %r25
        mapa.shared::cluster.u32 %r12, %r10, 0
        mapa.shared::cluster.u32 %r13, %r10, 1
        {wait("full", "%r10", "%r22")}
        {STORE} [%rd2], [%r11], 256
        cp.async.bulk.commit_group
        cp.async.bulk.wait_group.read 0
        mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r12+16]
        mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r13+16]
        add.u64 %rd2, %rd2, 256""").replace("next", "again")
        + f"cp.async.bulk.wait_group 0\nover:\n{CLUSTER}",
        np.tile(NUMBERS[:512], 2), 64, {"grid": 2, "cluster": (2, 1, 1)},
        bugs={
            "freed before it is read": ("cp.async.bulk.wait_group.read 0\n", "", "shared-race"),
            "a load after the copy": ("cp.async.bulk.wait_group.read 0\n", "cp.async.bulk.wait_group.read 0\nld.shared.u32 %r7, [%r11]\n", "shared-race"),
            "arrivals of their CTA": ("arrive.relaxed.cluster", "arrive.relaxed.cta", "narrow-scope"),
            "a wait of its CTA": ("parity.relaxed.cluster", "parity.relaxed.cta", "narrow-scope"),
            "one arrival frees a stage": ("[bar+16], 2", "[bar+16], 1", "shared-race"),
            "a relaxed wait for full stages": (wait("full", "%r10", "%r22"), wait("full", "%r10", "%r22").replace("parity", "parity.relaxed.cta"), "shared-race"),
        },
    ),
    "a warp adds in shared memory": Pattern(
        "add.u64 %rd4, %rd1, %rd3\nld.global.u32 %r7, [%rd4]\nst.shared.u32 [%r6], %r7\nmov.u32 %r9, 16\nhalf:\nbar.warp.sync -1\n"
        "setp.lt.u32 %p2, %r1, %r9\nshl.b32 %r10, %r9, 2\nadd.u32 %r11, %r6, %r10\n@%p2 ld.shared.u32 %r8, [%r11]\n"
        "@%p2 ld.shared.u32 %r7, [%r6]\n@%p2 add.u32 %r7, %r7, %r8\n@%p2 st.shared.u32 [%r6], %r7\nshr.u32 %r9, %r9, 1\nsetp.ne.u32 %p3, %r9, 0\n@%p3 bra half\n"
        "bar.warp.sync -1 // last\nld.shared.u32 %r7, [tile]\nadd.u64 %rd5, %rd2, %rd3\nst.global.u32 [%rd5], %r7\n",
        np.full(32, 496, np.uint32), 32,
        bugs={
            "no synchronisation of the warp": ("half:\nbar.warp.sync -1\n", "half:\n", "shared-race"),
            "none at the end": ("bar.warp.sync -1 // last\n", "\n", "shared-race"),
        },
    ),
    "a barrier of the grid": Pattern(
        "mul.wide.u32 %rd4, %r2, 256\nadd.u64 %rd4, %rd4, %rd3\nadd.u64 %rd5, %rd1, %rd4\nadd.u64 %rd6, %rd2, %rd4\nadd.u64 %rd10, %rd2, 2048\n"
        "ld.global.u32 %r7, [%rd5]\nst.global.u32 [%rd6+1024], %r7\nbar.sync 0\n@!%p1 bra all\nfence.acq_rel.gpu\nred.add.relaxed.gpu.global.u32 [%rd10], 1\n"
        + poll("ld.relaxed.gpu.global.u32 %r15, [%rd10]", 4) + "fence.acq_rel.gpu // after\nall:\nbar.sync 0\n"
        "xor.b32 %r8, %r2, 3\nmul.wide.u32 %rd4, %r8, 256\nadd.u64 %rd4, %rd4, %rd3\nadd.u64 %rd5, %rd2, %rd4\nld.global.u32 %r7, [%rd5+1024]\nst.global.u32 [%rd6], %r7\n",
        np.concatenate([NUMBERS[:256].reshape(4, 64)[::-1].reshape(-1), NUMBERS[:256], [4]]).astype(np.uint32), 64, {"grid": 4},
        bugs={
            "no fence before the arrival": ("fence.acq_rel.gpu\n", "\n", "global-race"),
            "no fence after the wait": ("fence.acq_rel.gpu // after", "", "global-race"),
            "no barrier before": ("bar.sync 0\n@!%p1", "@!%p1", "global-race"),
            "no barrier after": ("all:\nbar.sync 0\n", "all:\n", "global-race"),
            "a poll that the compiler may keep": ("ld.relaxed.gpu", "ld", "global-race"),
        },
    ),
}  # fmt: skip

BUGS = [(name, bug) for name, pattern in PATTERNS.items() for bug in pattern.bugs]


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@pytest.mark.parametrize("name", PATTERNS)
def test_the_kernel_is_silent(name: str, policy: dict[str, object]):
    PATTERNS[name].check(**policy)


@pytest.mark.parametrize(("name", "bug"), BUGS)
def test_the_bug_is_found_by_default(name: str, bug: str):
    PATTERNS[name].check_bug(bug)
