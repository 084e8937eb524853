"""Planted bugs in what orders threads through memory: fences of all threads, flags that are passed on, ends of copies."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from .test_async_patterns import CLUSTER, init, wait
from .test_pipeline import NAMES, POLICIES
from .test_planted_bugs import Pattern
from .test_planted_copies import PEER

RING_COPY = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r12], [tile], 256, [%r10]"
LAST = "// last\n"

PATTERNS: dict[str, Pattern] = {
    # Every thread fences for itself, and one counts for all; so does PyTorch's reduction over CTAs.
    "all threads fence, and one counts": Pattern(
        """
        mul.wide.u32 %rd4, %r2, 256
        add.u64 %rd5, %rd2, %rd4
        add.u64 %rd5, %rd5, %rd3
        mad.lo.u32 %r10, %r2, 100, %r1
        st.global.u32 [%rd5+512], %r10
        membar.gl
        bar.sync 0
        @!%p1 bra counted
        atom.inc.relaxed.gpu.global.u32 %r9, [%rd2+256], 1
        st.shared.u32 [tile], %r9
        counted:
        bar.sync 1
        ld.shared.u32 %r9, [tile]
        setp.eq.u32 %p2, %r9, 0
        @%p2 exit
        fence.sc.gpu
        add.u64 %rd6, %rd2, %rd3
        ld.global.u32 %r11, [%rd6+512]
        ld.global.u32 %r12, [%rd6+768]
        add.u32 %r11, %r11, %r12
        st.global.u32 [%rd6], %r11
        """,
        np.concatenate([2 * np.arange(64) + 100, np.zeros(64), np.arange(64), np.arange(64) + 100]).astype(np.uint32),
        64, {"grid": 2},
        bugs={
            "fences that order what their own thread does": ("membar.gl", "fence.acq_rel.gpu", "global-race"),
            "fences after the count that order what their own thread does": ("fence.sc.gpu", "fence.acq_rel.gpu", "global-race"),
            "fences of the CTA": ("membar.gl", "membar.cta", "global-race"),
            "no fence before the count": ("membar.gl\n", "\n", "global-race"),
            "no fence after the count": ("fence.sc.gpu\n", "\n", "global-race"),
            "one thread fences before the count": ("membar.gl", "@%p1 membar.gl", "global-race"),
            "one thread fences after the count": ("fence.sc.gpu", "@%p1 fence.sc.gpu", "global-race"),
            "one warp fences before the count": ("membar.gl", "setp.lt.u32 %p5, %r1, 32\n@%p5 membar.gl", "global-race"),
            "a fence before the store": (
                "st.global.u32 [%rd5+512], %r10\n        membar.gl", "membar.gl\nst.global.u32 [%rd5+512], %r10", "global-race",
            ),
            "counted before all have fenced": ("bar.sync 0\n", "\n", "global-race"),
        },
    ),
    # The same within warps: an mbarrier and bar.warp.sync bring the fences together, and a shuffle the count.
    "all lanes fence, and one tells": Pattern(
        """
        setp.eq.u32 %p2, %r2, 0
        add.u64 %rd4, %rd2, %rd3
        @%p2 bra writer
        mov.u32 %r7, 0
        @!%p1 bra told
        poll:
        ld.relaxed.gpu.global.u32 %r7, [%rd2+256]
        setp.eq.u32 %p3, %r7, 0
        @%p3 bra poll
        told:
        bar.warp.sync -1 // told
        fence.sc.gpu
        ld.global.u32 %r8, [%rd4+512]
        st.global.u32 [%rd4], %r8
        exit
        writer:
        st.global.u32 [%rd4+512], %r1
        fence.sc.sys
        bar.warp.sync -1 // fenced
        @%p1 red.relaxed.gpu.global.or.b32 [%rd2+256], 1
        """,
        np.concatenate([np.arange(32), np.zeros(32), [1], np.zeros(63), np.arange(32)]).astype(np.uint32), 32, {"grid": 2},
        bugs={
            "told before all have fenced": ("bar.warp.sync -1 // fenced", "", "global-race"),
            "fenced before all have been told": ("bar.warp.sync -1 // told", "", "global-race"),
            "a shuffle, which orders no fences": ("bar.warp.sync -1 // fenced", "shfl.sync.idx.b32 %r9, %r1, 0, 31, -1", "global-race"),
        },
    ),
    # The scope of the CTA is enough within it, and a wider one on either side.
    "all lanes fence for their CTA": Pattern(
        """
        @%p1 st.shared.u32 [tile+2048], 0
        bar.sync 0
        setp.ge.u32 %p3, %r1, 32
        @%p3 bra reader
        st.shared.u32 [%r6], %r1
        membar.cta
        bar.warp.sync -1 // fenced
        @%p1 st.volatile.shared.u32 [tile+2048], 1
        exit
        reader:
        setp.eq.u32 %p5, %r1, 32
        @!%p5 bra told
        spin:
        ld.volatile.shared.u32 %r7, [tile+2048]
        setp.eq.u32 %p4, %r7, 0
        @%p4 bra spin
        told:
        bar.warp.sync -1 // told
        fence.sc.cta
        ld.shared.u32 %r8, [%r6-128]
        add.u64 %rd4, %rd2, %rd3
        st.global.u32 [%rd4-128], %r8
        """,
        np.arange(32, dtype=np.uint32), 64,
        bugs={
            "no fence before the flag": ("membar.cta\n", "\n", "shared-race"),
            "no fence after the flag": ("fence.sc.cta\n", "\n", "shared-race"),
            "told before all have fenced": ("bar.warp.sync -1 // fenced", "", "shared-race"),
            "fenced before all have been told": ("bar.warp.sync -1 // told", "", "shared-race"),
            "fences that order what their own thread does": ("membar.cta", "fence.acq_rel.cta", "shared-race"),
        },
    ),
    # Each CTA waits for its number at one word, and stores the next.
    "a word that three CTAs pass on": Pattern(
        """
        @!%p1 exit
        setp.eq.u32 %p2, %r2, 0
        @%p2 bra first
        poll:
        ld.acquire.gpu.global.u32 %r7, [%rd2+8]
        setp.ne.u32 %p3, %r7, %r2
        @%p3 bra poll
        setp.eq.u32 %p2, %r2, 2
        @%p2 bra last
        add.u32 %r9, %r2, 1
        st.release.gpu.global.u32 [%rd2+8], %r9
        exit
        first:
        st.global.u32 [%rd2+4], 7
        st.release.gpu.global.u32 [%rd2+8], 1
        exit
        last:
        ld.global.u32 %r8, [%rd2+4]
        st.global.u32 [%rd2], %r8
        """,
        np.array([7, 7, 2], np.uint32), 32, {"grid": 3},
        bugs={
            "passed on by a relaxed store": ("st.release.gpu.global.u32 [%rd2+8], %r9", "st.relaxed.gpu.global.u32 [%rd2+8], %r9", "global-race"),
            "passed on by a relaxed exchange of the acquired": (
                "ld.acquire.gpu.global.u32 %r7, [%rd2+8]\n        setp.ne.u32 %p3, %r7, %r2",
                "ld.relaxed.gpu.global.u32 %r7, [%rd2+8]\nsetp.ne.u32 %p3, %r7, %r2", "global-race",
            ),
        },
    ),
    # Another CTA's relaxed atomic does not end what the first one released.
    "a count on which atomics go on": Pattern(
        """
        @!%p1 exit
        setp.eq.u32 %p2, %r2, 0
        @%p2 bra first
        mov.u32 %r9, 1
        setp.eq.u32 %p4, %r2, 2
        @%p4 mov.u32 %r9, 2
        poll:
        ld.acquire.gpu.global.u32 %r7, [%rd2+8]
        setp.lt.u32 %p3, %r7, %r9
        @%p3 bra poll
        @%p4 bra last
        red.relaxed.gpu.global.add.u32 [%rd2+8], 1
        exit
        first:
        st.global.u32 [%rd2+4], 7
        st.release.gpu.global.u32 [%rd2+8], 1
        exit
        last:
        ld.global.u32 %r8, [%rd2+4]
        st.global.u32 [%rd2], %r8
        """,
        np.array([7, 7, 2], np.uint32), 32, {"grid": 3},
        bugs={"a store on which nothing goes on": ("red.relaxed.gpu.global.add.u32 [%rd2+8], 1", "st.relaxed.gpu.global.u32 [%rd2+8], 2", "global-race")},
    ),
    # Each lane fences for itself and sets a flag of its own.
    "flags of lanes": Pattern(
        """
        setp.ge.u32 %p3, %r1, 32
        st.shared.u32 [%r6+1024], 0
        bar.sync 0
        @%p3 bra reader
        st.shared.u32 [%r6], %r1
        fence.acq_rel.cta
        st.relaxed.cta.shared.u32 [%r6+1024], 1
        exit
        reader:
        ld.relaxed.cta.shared.u32 %r8, [%r6+896]
        setp.eq.u32 %p4, %r8, 0
        @%p4 bra reader
        fence.acq_rel.cta
        ld.shared.u32 %r9, [%r6-128]
        add.u64 %rd4, %rd2, %rd3
        st.global.u32 [%rd4-128], %r9
        """,
        np.arange(32, dtype=np.uint32), 64,
        bugs={
            "data of another lane": ("ld.shared.u32 %r9, [%r6-128]", "xor.b32 %r20, %r6, 4\nld.shared.u32 %r9, [%r20-128]", "shared-race"),
            "one flag for all lanes": (
                "ld.relaxed.cta.shared.u32 %r8, [%r6+896]", "mov.u32 %r20, tile\nld.relaxed.cta.shared.u32 %r8, [%r20+1024]", "shared-race",
            ),
        },
    ),
    # A CTA exits when the copy from its memory has ended, of which the other CTA's mbarrier tells.
    "copies around a cluster": Pattern(
        init(1) + "@!%p1 bra expected\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256\nexpected:\n"
        "mad.lo.u32 %r7, %r3, 100, %r1\nst.shared.u32 [%r6], %r7\nfence.proxy.async.shared::cta\n" + CLUSTER
        + "@!%p1 bra sent\nadd.u32 %r8, %r3, 1\nand.b32 %r8, %r8, 3\nmov.u32 %r9, bar\nmapa.shared::cluster.u32 %r10, %r9, %r8\n"
        f"add.u32 %r11, %r5, 1024\nmapa.shared::cluster.u32 %r12, %r11, %r8\n{RING_COPY}\nsent:\n" + wait("full")
        + "ld.shared.u32 %r13, [%r6+1024]\nmul.wide.u32 %rd4, %r2, 256\nadd.u64 %rd4, %rd4, %rd2\nadd.u64 %rd4, %rd4, %rd3\nst.global.u32 [%rd4], %r13\n"
        f"barrier.cluster.arrive.relaxed\nbarrier.cluster.wait {LAST}",
        (np.array([3, 0, 1, 2])[:, None] * 100 + np.arange(64)).astype(np.uint32).reshape(-1), 64, {"grid": 4, "cluster": (4, 1, 1)},
        bugs={
            "an exit before the copy from there has ended": (f"barrier.cluster.arrive.relaxed\nbarrier.cluster.wait {LAST}", "", "unfinished-copy"),
            "a barrier of the CTA instead": (f"barrier.cluster.arrive.relaxed\nbarrier.cluster.wait {LAST}", "bar.sync 0\n", "unfinished-copy"),
        },
    ),
    # The flag is the last that comes from the other CTA, which this one has seen when it exits.
    "a flag in another CTA's shared memory": Pattern(
        "@%p1 st.shared.u32 [tile+2048], 0\n" + CLUSTER + """
        xor.b32 %r7, %r3, 1
        mapa.shared::cluster.u32 %r8, %r6, %r7
        mapa.shared::cluster.u32 %r9, %r5, %r7
        mad.lo.u32 %r10, %r3, 100, %r1
        st.shared::cluster.u32 [%r8], %r10
        bar.sync 0
        @!%p1 bra told
        fence.acq_rel.cluster
        st.relaxed.cluster.shared::cluster.u32 [%r9+2048], 1
        poll:
        ld.relaxed.cluster.shared.u32 %r11, [tile+2048]
        setp.eq.u32 %p3, %r11, 0
        @%p3 bra poll
        fence.acq_rel.cluster // after
        told:
        bar.sync 0
        ld.shared.u32 %r12, [%r6]
        mul.wide.u32 %rd4, %r2, 256
        add.u64 %rd4, %rd4, %rd2
        add.u64 %rd4, %rd4, %rd3
        st.global.u32 [%rd4], %r12
        """,
        np.concatenate([np.arange(64) + 100, np.arange(64)]).astype(np.uint32), 64, {"grid": 2, "cluster": (2, 1, 1)},
        bugs={
            "an exit that waits for no flag": ("@%p3 bra poll\n        fence.acq_rel.cluster // after", "", "early-exit"),
            "no fence before the flag": ("fence.acq_rel.cluster\n        st.relaxed", "st.relaxed", "shared-race"),
            "no fence after the flag": ("fence.acq_rel.cluster // after", "", "shared-race"),
            "a flag of its CTA": ("st.relaxed.cluster", "st.relaxed.cta", "narrow-scope"),
            "a fence of the CTA after the flag": ("fence.acq_rel.cluster // after", "fence.acq_rel.cta", "narrow-scope"),
        },
    ),
    # The second step is within a CTA, so the scope of the CTA is enough for it.
    "two steps, by flags of the GPU and of a CTA": Pattern(
        """
        @%p1 st.shared.u32 [tile], 0
        bar.sync 0
        setp.eq.u32 %p2, %r2, 0
        @%p2 bra writer
        setp.eq.u32 %p3, %r1, 32
        @%p3 bra second
        @!%p1 exit
        poll:
        ld.acquire.gpu.global.u32 %r7, [%rd2+8]
        setp.eq.u32 %p4, %r7, 0
        @%p4 bra poll
        fence.acq_rel.cta // told
        st.relaxed.cta.shared.u32 [tile], 1
        exit
        second:
        ld.relaxed.cta.shared.u32 %r7, [tile]
        setp.eq.u32 %p4, %r7, 0
        @%p4 bra second
        fence.acq_rel.cta
        ld.global.u32 %r8, [%rd2+4]
        st.global.u32 [%rd2], %r8
        exit
        writer:
        @!%p1 exit
        st.global.u32 [%rd2+4], 7
        st.release.gpu.global.u32 [%rd2+8], 1
        """,
        np.array([7, 7, 1], np.uint32), 64, {"grid": 2},
        bugs={
            "no fence between the steps": ("fence.acq_rel.cta // told", "", "global-race"),
            "no fence after the second": ("fence.acq_rel.cta\n        ld.global", "ld.global", "global-race"),
            "a relaxed first step": ("ld.acquire.gpu", "ld.relaxed.gpu", "narrow-scope"),
        },
    ),
    # The manual's example of barrier.cluster.
    "a fence before a relaxed barrier of the cluster": Pattern(
        PEER + """
        mad.lo.u32 %r9, %r3, 100, %r1
        st.shared.u32 [%r6], %r9
        fence.acq_rel.cluster
        barrier.cluster.arrive.relaxed
        barrier.cluster.wait
        ld.shared::cluster.u32 %r10, [%r17]
        mul.wide.u32 %rd4, %r2, 256
        add.u64 %rd4, %rd4, %rd2
        add.u64 %rd4, %rd4, %rd3
        st.global.u32 [%rd4], %r10
        """ + CLUSTER,
        np.concatenate([np.arange(64) + 100, np.arange(64)]).astype(np.uint32), 64, {"grid": 2, "cluster": (2, 1, 1)},
        bugs={
            "no fence": ("fence.acq_rel.cluster\n", "\n", "shared-race"),
            "a fence of the CTA": ("fence.acq_rel.cluster", "fence.acq_rel.cta", "shared-race"),
            "a fence before the store": ("st.shared.u32 [%r6], %r9\n        fence.acq_rel.cluster", "fence.acq_rel.cluster\nst.shared.u32 [%r6], %r9", "shared-race"),
            "one thread fences": ("fence.acq_rel.cluster", "@%p1 fence.acq_rel.cluster", "shared-race"),
        },
    ),
    "fences around relaxed arrivals and waits": Pattern(
        init(32) + CLUSTER + PEER + """
        mov.u32 %r9, bar
        mapa.shared::cluster.u32 %r9, %r9, %r16
        mad.lo.u32 %r10, %r3, 100, %r1
        st.shared::cluster.u32 [%r17], %r10
        fence.acq_rel.cluster
        mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r9]
        """ + wait("full").replace("parity", "parity.relaxed.cluster") + """
        fence.acq_rel.cluster // after
        xor.b32 %r7, %r4, 4
        add.u32 %r7, %r7, %r5
        ld.shared.u32 %r9, [%r7]
        mul.wide.u32 %rd4, %r2, 128
        add.u64 %rd4, %rd4, %rd2
        add.u64 %rd4, %rd4, %rd3
        st.global.u32 [%rd4], %r9
        """,
        np.concatenate([(np.arange(32) ^ 1) + 100, np.arange(32) ^ 1]).astype(np.uint32), 32, {"grid": 2, "cluster": (2, 1, 1)},
        bugs={
            "no fence before the arrival": ("fence.acq_rel.cluster\n        mbarrier", "mbarrier", "shared-race"),
            "no fence after the wait": ("fence.acq_rel.cluster // after", "", "shared-race"),
            "a fence of the CTA before the arrival": ("fence.acq_rel.cluster\n        mbarrier", "fence.acq_rel.cta\nmbarrier", "shared-race"),
            "a fence of the CTA after the wait": ("fence.acq_rel.cluster // after", "fence.acq_rel.cta", "narrow-scope"),
            "an arrival of the CTA's scope": ("arrive.relaxed.cluster", "arrive.relaxed.cta", "shared-race"),
            "a fence before the arrival that acquires alone": (
                "fence.acq_rel.cluster\n        mbarrier", "fence.acquire.sync_restrict::shared::cluster.cluster\nmbarrier", "shared-race",
            ),
            "a fence after the wait that releases alone": ("fence.acq_rel.cluster // after", "fence.release.sync_restrict::shared::cta.cluster", "shared-race"),
            "a fence before the store": (
                "st.shared::cluster.u32 [%r17], %r10\n        fence.acq_rel.cluster", "fence.acq_rel.cluster\nst.shared::cluster.u32 [%r17], %r10", "shared-race",
            ),
        },
    ),
    "memory of an mbarrier used again": Pattern(
        init(64) + "bar.sync 0\nst.shared.u32 [%r6], %r1\nmbarrier.arrive.shared::cta.b64 _, [bar]\n" + wait("met")
        + """
        xor.b32 %r7, %r4, 128
        add.u32 %r7, %r7, %r5
        ld.shared.u32 %r8, [%r7]
        bar.sync 0 // tested
        @%p1 mbarrier.inval.shared::cta.b64 [bar]
        @%p1 st.shared.u32 [bar], 5
        bar.sync 0
        ld.shared.u32 %r9, [bar]
        add.u32 %r8, %r8, %r9
        add.u64 %rd4, %rd2, %rd3
        st.global.u32 [%rd4], %r8
        """,
        (np.arange(64) ^ 32).astype(np.uint32) + 5, 64,
        bugs={"invalidated while others may still test it": ("bar.sync 0 // tested", "", "shared-race")},
    ),
}  # fmt: skip

BUGS = [(name, bug) for name, pattern in PATTERNS.items() for bug in pattern.bugs]


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@pytest.mark.parametrize("name", PATTERNS)
def test_the_kernel_is_silent(name: str, policy: dict[str, object]):
    PATTERNS[name].check(**policy)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("name", "bug"), BUGS)
def test_the_bug_is_found_by_default(name: str, bug: str, threads: int):
    PATTERNS[name].check_bug(bug, threads=threads)
