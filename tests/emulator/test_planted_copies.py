"""More kernels with planted bugs: copies between CTAs, reductions by copies, states of mbarriers, split barriers."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from .harness import device, run
from .test_async_patterns import EXPECT, HEAD, LOAD, NUMBERS, STORE, init, loop, wait
from .test_pipeline import NAMES, POLICIES
from .test_planted_bugs import LANES, SPIN, Pattern, poll

REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32"
FENCE = "fence.proxy.async\n"
PEER = "xor.b32 %r16, %r3, 1\nmapa.shared::cluster.u32 %r17, %r6, %r16\n"

PATTERNS: dict[str, Pattern] = {
    "a copy of what another CTA has stored": Pattern(
        init(1) + "add.u64 %rd4, %rd2, %rd3\nadd.u64 %rd10, %rd2, 512\nadd.u64 %rd5, %rd1, %rd3\nsetp.eq.u32 %p3, %r2, 0\n@%p3 bra owner\n"
        "ld.global.u32 %r7, [%rd5]\nst.global.u32 [%rd4+256], %r7\nbar.sync 0\n@%p1 st.release.gpu.global.u32 [%rd10], 1\nexit\n"
        "owner:\nbar.sync 1\n@!%p1 bra copied\n" + poll()
        + f"{FENCE}add.u64 %rd6, %rd2, 256\n{EXPECT} [bar], 256\n{LOAD} [tile], [%rd6], 256, [bar]\ncopied:\n" + wait("full")
        + "ld.shared.u32 %r7, [%r6]\nst.global.u32 [%rd4], %r7\n",
        np.concatenate([np.tile(NUMBERS[:64], 2), NUMBERS[1:2]]), 64, {"grid": 2},
        bugs={
            "no fence of the proxies": (FENCE, "", "proxy-race"),
            "a fence for shared memory": (FENCE, "fence.proxy.async.shared::cta\n", "proxy-race"),
            "a relaxed flag": ("st.release.gpu", "st.relaxed.gpu", "global-race"),
            "a relaxed poll": (SPIN, SPIN.replace("acquire", "relaxed"), "global-race"),
            "a copy before the flag": ("bar.sync 0\n@%p1 st.release", "@%p1 st.release", "global-race"),
            "a wait of which nothing uses the result": ("@!%p2 bra full\n", "\n", "shared-race"),
        },
    ),
    "a sum by copies of four CTAs": Pattern(
        "add.u64 %rd5, %rd1, %rd3\nmul.wide.u32 %rd4, %r2, 256\nadd.u64 %rd5, %rd5, %rd4\nld.global.u32 %r7, [%rd5]\nst.shared.u32 [%r6], %r7\n"
        f"fence.proxy.async.shared::cta\nbar.sync 0\n@!%p1 bra counted\n{REDUCE} [%rd2], [tile], 256\ncp.async.bulk.commit_group\ncp.async.bulk.wait_group 0\n"
        "add.u64 %rd10, %rd2, 512\nfence.acq_rel.gpu\natom.add.relaxed.gpu.global.u32 %r8, [%rd10], 1\nfence.acq_rel.gpu\nst.shared.u32 [tile+256], %r8\ncounted:\nbar.sync 0\n"
        "ld.shared.u32 %r8, [tile+256]\nsetp.ne.u32 %p3, %r8, 3\n@%p3 exit\nadd.u64 %rd6, %rd2, %rd3\nld.global.u32 %r9, [%rd6]\nst.global.u32 [%rd6+256], %r9\n",
        np.concatenate([np.tile(NUMBERS[:256].reshape(4, 64).sum(0), 2), [4]]).astype(np.uint32), 64, {"grid": 4},
        bugs={
            "only the source has been read": ("wait_group 0", "wait_group.read 0", "global-race"),
            "no wait": ("cp.async.bulk.wait_group 0\n", "", "global-race"),
            "no group": ("cp.async.bulk.commit_group\n", "", "global-race"),
            "no fence of the proxies": ("fence.proxy.async.shared::cta\n", "", "proxy-race"),
            "the tile is not there yet": ("bar.sync 0\n@!%p1", "@!%p1", "shared-race"),
            "no fence before the count": ("fence.acq_rel.gpu\natom", "atom", "global-race"),
        },
    ),
    "states of an mbarrier": Pattern(
        init(64) + "bar.sync 0\nadd.u64 %rd4, %rd1, %rd3\nadd.u64 %rd5, %rd2, %rd3\nxor.b32 %r7, %r4, 128\nadd.u32 %r8, %r5, %r7\nmbarrier.arrive.shared::cta.b64 %rd9, [bar]\n"
        + "started:\nmbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd9\n@!%p2 bra started\n".replace("started", "begun")
        + loop(4, """
        ld.global.u32 %r9, [%rd4]
        and.b32 %r21, %r20, 1
        mad.lo.u32 %r22, %r21, 256, %r6
        mad.lo.u32 %r23, %r21, 256, %r8
        st.shared.u32 [%r22], %r9
        mbarrier.arrive.shared::cta.b64 %rd7, [bar]
        full:
        mbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd7
        @!%p2 bra full
        ld.shared.u32 %r9, [%r23]
        st.global.u32 [%rd5], %r9
        add.u64 %rd4, %rd4, 256
        add.u64 %rd5, %rd5, 256"""),
        NUMBERS[:256].reshape(-1, 2, 32)[:, ::-1].reshape(-1),
        bugs={
            "the state of an earlier arrival": ("[bar], %rd7\n        @!%p2", "[bar], %rd9\n        @!%p2", "shared-race"),
            "an arrival before the store": (
                "st.shared.u32 [%r22], %r9\n        mbarrier.arrive.shared::cta.b64 %rd7, [bar]",
                "mbarrier.arrive.shared::cta.b64 %rd7, [bar]\nst.shared.u32 [%r22], %r9", "shared-race",
            ),
            "one buffer": ("and.b32 %r21, %r20, 1", "mov.u32 %r21, 0", "shared-race"),
            "one warp's arrivals": ("[bar+0], 64", "[bar+0], 32", "shared-race"),
            "a relaxed wait": ("try_wait.shared::cta.b64 %p2, [bar], %rd7", "try_wait.relaxed.cta.shared::cta.b64 %p2, [bar], %rd7", "shared-race"),
        },
    ),
    "copies that a warp keeps to itself": Pattern(
        "add.u64 %rd4, %rd1, %rd3\nadd.u64 %rd5, %rd2, %rd3\nxor.b32 %r7, %r4, 4\nadd.u32 %r8, %r5, %r7\n"
        "cp.async.ca.shared.global [%r6], [%rd4], 4\ncp.async.ca.shared.global [%r6+256], [%rd4+256], 4\ncp.async.commit_group\ncp.async.wait_group 0\n"
        "ld.shared.u32 %r9, [%r6]\nbar.warp.sync -1\nld.shared.u32 %r10, [%r8]\nld.shared.u32 %r11, [%r8+256]\n"
        "add.u32 %r9, %r9, %r10\nadd.u32 %r9, %r9, %r11\nst.global.u32 [%rd5], %r9\n",
        NUMBERS[:64] + 2 * NUMBERS[:64].reshape(-1, 2)[:, ::-1].reshape(-1) + 64,
        bugs={
            "lanes that wait each for itself": ("bar.warp.sync -1\n", "\n", "shared-race"),
            "lanes that meet before they wait": (
                "cp.async.wait_group 0\nld.shared.u32 %r9, [%r6]\nbar.warp.sync -1", "bar.warp.sync -1\ncp.async.wait_group 0\nld.shared.u32 %r9, [%r6]", "shared-race",
            ),
            "one half of the warp meets": ("bar.warp.sync -1\n", "setp.lt.u32 %p3, %r9, 16\n@%p3 bar.warp.sync 0x0000ffff\n", "shared-race"),
        },
    ),
    "a barrier of the cluster in two parts": Pattern(
        PEER + "add.u64 %rd4, %rd1, %rd3\nmul.wide.u32 %rd5, %r2, 128\nadd.u64 %rd4, %rd4, %rd5\nld.global.u32 %r7, [%rd4]\nst.shared.u32 [%r6], %r7\n"
        "barrier.cluster.arrive\nadd.u32 %r7, %r7, 1\nbarrier.cluster.wait\nld.shared::cluster.u32 %r8, [%r17]\n"
        "barrier.cluster.arrive\nadd.u32 %r8, %r8, 5\nadd.u64 %rd6, %rd2, %rd3\nadd.u64 %rd6, %rd6, %rd5\nst.global.u32 [%rd6], %r8\nbarrier.cluster.wait\n",
        NUMBERS[:64].reshape(2, 32)[::-1].reshape(-1) + 5, 32, {"grid": 2, "cluster": (2, 1, 1)},
        bugs={
            "an arrival before the store": (
                "st.shared.u32 [%r6], %r7\nbarrier.cluster.arrive\n", "barrier.cluster.arrive\nst.shared.u32 [%r6], %r7\n", "shared-race",
            ),
            "a relaxed arrival": ("barrier.cluster.arrive\n", "barrier.cluster.arrive.relaxed\n", "shared-race"),
            "a load before the wait": (
                "barrier.cluster.wait\nld.shared::cluster.u32 %r8, [%r17]\n", "ld.shared::cluster.u32 %r8, [%r17]\nbarrier.cluster.wait\n", "shared-race",
            ),
            "an exit before the peer has read": ("barrier.cluster.arrive\nadd.u32 %r8, %r8, 5", "barrier.cluster.arrive.relaxed\nadd.u32 %r8, %r8, 5", "early-exit"),
        },
    ),
    "prefixes that pass from CTA to CTA": Pattern(
        "@!%p1 exit\nmul.wide.u32 %rd4, %r2, 8\nadd.u64 %rd5, %rd2, %rd4\nadd.u64 %rd10, %rd5, -4\nadd.u32 %r7, %r2, 1\nsetp.eq.u32 %p3, %r2, 0\n@%p3 bra first\n"
        + poll() + "ld.global.u32 %r8, [%rd5+-8]\nadd.u32 %r7, %r7, %r8\nfirst:\nst.global.u32 [%rd5], %r7\nst.release.gpu.global.u32 [%rd5+4], 1\n",
        np.stack([np.cumsum(np.arange(1, 9)), np.ones(8)], 1).astype(np.uint32).reshape(-1), 32, {"grid": 8},
        bugs={
            "a relaxed flag": ("st.release.gpu", "st.relaxed.gpu", "global-race"),
            "a weak flag": ("st.release.gpu.global", "st.global", "global-race"),
            "a volatile poll": (SPIN, SPIN.replace("acquire.gpu", "volatile"), "global-race"),
            "a flag before the prefix": (
                "st.global.u32 [%rd5], %r7\nst.release.gpu.global.u32 [%rd5+4], 1", "st.release.gpu.global.u32 [%rd5+4], 1\nst.global.u32 [%rd5], %r7", "global-race",
            ),
            "a prefix before the flag": (poll() + "ld.global.u32 %r8, [%rd5+-8]\n", "ld.global.u32 %r8, [%rd5+-8]\n" + poll(), "global-race"),
        },
    ),
    "a tile that others read again": Pattern(
        "add.u64 %rd4, %rd1, %rd3\nadd.u64 %rd5, %rd2, %rd3\nld.global.u32 %r7, [%rd4]\nst.shared.u32 [%r6], %r7\nfence.proxy.async.shared::cta\nbar.sync 0\n"
        f"@!%p1 bra stored\n{STORE} [%rd2], [tile], 256\ncp.async.bulk.commit_group\ncp.async.bulk.wait_group 0\nstored:\nbar.sync 0\n"
        "xor.b32 %r8, %r1, 63\nmul.wide.u32 %rd6, %r8, 4\nadd.u64 %rd6, %rd2, %rd6\nld.global.u32 %r9, [%rd6]\nst.global.u32 [%rd5+256], %r9\n",
        np.concatenate([NUMBERS[:64], NUMBERS[:64][::-1]]),
        bugs={
            "only the source has been read": ("wait_group 0", "wait_group.read 0", "global-race"),
            "a group too few": ("wait_group 0", "wait_group 1", "global-race"),
            "no barrier after the wait": ("stored:\nbar.sync 0\n", "stored:\n", "global-race"),
            "no fence of the proxies": ("fence.proxy.async.shared::cta\n", "", "proxy-race"),
        },
    ),
    "two warps in turn by named barriers": Pattern(
        "@%p1 st.shared.u32 [tile], 0\nbar.sync 0\n" + LANES + "add.u32 %r10, %r8, 1\nsub.u32 %r11, 2, %r8\nsetp.eq.u32 %p3, %r8, 1\n@%p3 bar.arrive 1, 64\n"
        + loop(4, """
        bar.sync %r10, 64
        ld.shared.u32 %r7, [tile]
        bar.warp.sync -1
        add.u32 %r7, %r7, 1
        @%p4 st.shared.u32 [tile], %r7
        setp.ne.u32 %p5, %r20, 3
        setp.eq.u32 %p6, %r8, 0
        or.pred %p5, %p5, %p6
        @%p5 bar.arrive %r11, 64""")
        + "bar.sync 0\nld.shared.u32 %r7, [tile]\nadd.u64 %rd2, %rd2, %rd3\nst.global.u32 [%rd2], %r7\n",
        np.full(64, 8, np.uint32),
        bugs={
            "lanes still read": ("bar.warp.sync -1\n", "\n", "shared-race"),
            "a turn that is given before the store": (
                "@%p4 st.shared.u32 [tile], %r7\n        setp.ne.u32 %p5, %r20, 3\n        setp.eq.u32 %p6, %r8, 0\n        or.pred %p5, %p5, %p6\n        @%p5 bar.arrive %r11, 64",
                "setp.ne.u32 %p5, %r20, 3\nsetp.eq.u32 %p6, %r8, 0\nor.pred %p5, %p5, %p6\n@%p5 bar.arrive %r11, 64\n@%p4 st.shared.u32 [tile], %r7", "shared-race",
            ),
            "nobody begins": ("@%p3 bar.arrive 1, 64\n", "\n", "deadlock"),
        },
    ),
}  # fmt: skip

BUGS = [(name, bug) for name, pattern in PATTERNS.items() for bug in pattern.bugs]


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@pytest.mark.parametrize("name", PATTERNS)
def test_the_kernel_is_silent(name: str, policy: dict[str, object]):
    PATTERNS[name].check(**policy)


@pytest.mark.parametrize("policy", POLICIES, ids=NAMES)
@pytest.mark.parametrize("fenced", ["by who stores", "by who copies"])
def test_either_side_of_a_flag_may_fence_the_proxies(fenced: str, policy: dict[str, object]):
    """A lane other than the first polls, fences and copies; or the threads that store have fenced."""
    pattern = PATTERNS["a copy of what another CTA has stored"]
    body = pattern.body.replace("owner:\n", "owner:\nsetp.eq.u32 %p1, %r1, 5\n")
    if fenced == "by who stores":
        body = body.replace(FENCE, "").replace("bar.sync 0\n", f"{FENCE}bar.sync 0\n", 2)
    pattern.check(body, **policy)


def test_the_message_names_the_lane_that_has_waited():
    pattern = PATTERNS["copies that a warp keeps to itself"]
    body = pattern.body.replace("bar.warp.sync -1\n", "\n")
    y = device(np.zeros_like(pattern.expected))
    report = run(HEAD + body, [device(NUMBERS)], [y], block=64, sanitize=True, initialised=True)
    assert [f.note for f in report.findings] == [
        "the lane that copies has waited for the copy, and no bar.warp.sync or barrier orders this lane after it"
    ] * 2


@pytest.mark.parametrize(("name", "bug"), BUGS)
def test_the_bug_is_found_by_default(name: str, bug: str):
    PATTERNS[name].check_bug(bug)
