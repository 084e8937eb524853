"""Cases of findings about scopes, strong accesses, readers, and lanes that diverge, for `test_findings`."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from .findings import Case

ONE_THREAD = {"sanitize": 2, "threads": 1}
FLAG = """setp.eq.u32 %p1, %r2, 0
@!%p1 bra consumer
st.global.u32 [%rd2], 42
{release}
exit
consumer:
spin:
{acquire}
setp.ne.u32 %p2, %r7, 1
@%p2 bra spin
{after}
ld.global.u32 %r8, [%rd2]
st.global.u32 [%rd2+8], %r8"""
RELEASE, ACQUIRE = (
    "st.release.gpu.global.u32 [%rd2+4], 1",
    "ld.acquire.gpu.global.u32 %r7, [%rd2+4]",
)
RELAXED, POLL = "st.relaxed.gpu.global.u32 [%rd2+4], 1", "ld.relaxed.gpu.global.u32 %r7, [%rd2+4]"
BAR = """.shared bar 32 8
setp.eq.u32 %p1, %r1, 0
setp.eq.u32 %p3, %r3, 0
setp.ge.u32 %p4, %r1, 32
@%p1 mbarrier.init.shared::cta.b64 [bar], {count}
bar.sync 0
"""
WAIT = "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0\n@!%p2 bra wait\n"
TWO = {"cluster": (2, 1, 1)}
CLUSTER = "barrier.cluster.arrive.aligned\nbarrier.cluster.wait.aligned\n"


def flag(release: str = RELEASE, acquire: str = ACQUIRE, after: str = "") -> str:
    return FLAG.format(release=release, acquire=acquire, after=after)


SCOPES = {
    "a release of the CTA's scope for another CTA": Case(
        "narrow-scope", flag("BUG"), "st.release.cta.global.u32 [%rd2+4], 1", RELEASE,
        at="ld.acquire", other="st.release", grid=2, block=1, options=ONE_THREAD,
    ),
    "an acquire of the CTA's scope of another CTA": Case(
        "narrow-scope", flag(acquire="BUG"), "ld.acquire.cta.global.u32 %r7, [%rd2+4]", ACQUIRE,
        at="ld.acquire", other="st.release", grid=2, block=1, options=ONE_THREAD,
    ),
    "a releasing fence of the CTA's scope": Case(
        "narrow-scope", flag("BUG\n" + RELAXED), "fence.acq_rel.cta", "fence.acq_rel.gpu",
        at="ld.global.u32 %r8", other="st.global.u32 [%rd2], 42", grid=2, block=1, options=ONE_THREAD,
    ),
    "an acquiring fence of the CTA's scope": Case(
        "narrow-scope", flag(acquire=POLL, after="BUG"), "fence.acq_rel.cta", "fence.acq_rel.gpu",
        at="ld.global.u32 %r8", other="st.global.u32 [%rd2], 42", grid=2, block=1, options=ONE_THREAD,
    ),
    "an acquiring fence of the cluster's scope": Case(
        "narrow-scope", flag(acquire=POLL, after="BUG"), "fence.acq_rel.cluster", "fence.acq_rel.gpu",
        at="ld.global.u32 %r8", other="st.global.u32 [%rd2], 42", grid=2, block=1, options=ONE_THREAD,
    ),
    "atomics of the CTA's scope on one place of several CTAs": Case(
        "narrow-scope", "BUG", "red.relaxed.cta.global.add.u32 [%rd2], 1", "red.relaxed.gpu.global.add.u32 [%rd2], 1",
        at="red.relaxed", other="red.relaxed", grid=2, block=32, options=ONE_THREAD,
    ),
    "an atomic of the CTA's scope in another CTA's shared memory": Case(
        "narrow-scope",
        "setp.eq.u32 %p1, %r1, 0\n@%p1 st.shared.u32 [tile], 0\n" + CLUSTER
        + "mov.u32 %r8, tile\nmapa.shared::cluster.u32 %r9, %r8, 0\nBUG\n" + CLUSTER,
        "@%p1 red.relaxed.cta.shared::cluster.add.u32 [%r9], 1",
        "@%p1 red.relaxed.cluster.shared::cluster.add.u32 [%r9], 1",
        at="red.relaxed", other="red.relaxed", grid=2, block=32, options=TWO,
    ),
    "an arrival of the CTA's scope in another CTA": Case(
        "narrow-scope",
        BAR.format(count=2) + "mov.u32 %r8, %cluster_ctarank\nxor.b32 %r8, %r8, 1\nmov.u32 %r9, bar\n"
        "mapa.shared::cluster.u32 %r9, %r9, %r8\nmov.u32 %r10, tile\nmapa.shared::cluster.u32 %r10, %r10, %r8\n"
        + CLUSTER + "@%p1 st.shared::cluster.u32 [%r10], 5\nBUG\n@%p1 mbarrier.arrive.shared::cta.b64 _, [bar]\n"
        "wait:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0\n@!%p2 bra wait\n"
        "ld.shared.u32 %r11, [tile]\n" + CLUSTER,
        "@%p1 mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r9]",
        "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9]",
        at="ld.shared.u32 %r11", other="st.shared::cluster", grid=2, block=32, options=TWO,
    ),
}  # fmt: skip

HISTORY = {
    "two warps that store to one place of global memory": Case(
        "global-race", "and.b32 %r8, %r1, 31\nmul.wide.u32 %rd6, %r8, 4\nadd.u64 %rd6, %rd2, %rd6\n"
        "setp.lt.u32 %p1, %r1, 32\n@%p1 st.global.u32 [%rd6], %r1\nBUG\n@!%p1 st.global.u32 [%rd6], %r1",
        "nanosleep.u32 1", "bar.sync 0", at="@!%p1 st.global", other="@%p1 st.global",
    ),
    "a warp that reads what another has stored to global memory": Case(
        "global-race", "st.global.u32 [%rd5], %r1\nBUG\nxor.b32 %r8, %r1, 32\nmul.wide.u32 %rd6, %r8, 4\n"
        "add.u64 %rd6, %rd2, %rd6\nld.global.u32 %r9, [%rd6]",
        "nanosleep.u32 1", "bar.sync 0", at="ld.global.u32 %r9", other="st.global", options={"sanitize": 2},
    ),
    "lanes that read what others have stored to global memory": Case(
        "global-race", "st.global.u32 [%rd5], %r1\nBUG\nxor.b32 %r8, %r1, 1\nmul.wide.u32 %rd6, %r8, 4\n"
        "add.u64 %rd6, %rd2, %rd6\nld.global.u32 %r9, [%rd6]",
        "nanosleep.u32 1", "bar.warp.sync -1", at="ld.global.u32 %r9", other="st.global",
    ),
    "a release by one warp of what another has stored": Case(
        "global-race",
        "setp.eq.u32 %p1, %r2, 0\n@!%p1 bra consumer\nsetp.lt.u32 %p4, %r1, 32\n@!%p4 st.global.u32 [%rd5-128], 42\nBUG\nsetp.eq.u32 %p3, %r1, 0\n"
        "@%p3 st.release.gpu.global.u32 [%rd2+252], 1\nexit\nconsumer:\n"
        "spin:\nld.acquire.gpu.global.u32 %r7, [%rd2+252]\nsetp.ne.u32 %p2, %r7, 1\n@%p2 bra spin\n"
        "setp.lt.u32 %p4, %r1, 32\n@%p4 ld.global.u32 %r8, [%rd5]",
        "nanosleep.u32 1", "bar.sync 0", at="ld.global.u32 %r8", other="st.global.u32 [%rd5-128], 42",
        grid=2, options=ONE_THREAD,
    ),
    "a reader that a later one hides": Case(
        "global-race",
        "setp.eq.u32 %p1, %r1, 64\n@%p1 ld.global.u32 %r7, [%rd2]\n"
        "BUG\nsetp.eq.u32 %p3, %r1, 0\n@%p3 ld.global.u32 %r8, [%rd2]\n"
        "@%p3 st.global.u32 [%rd2], 1",
        "nanosleep.u32 1", "bar.sync 0", at="st.global", other="ld.global", block=96,
        options={"sanitize": 2, "threads": 1},
    ),
    "atomics without a barrier after the first value": Case(
        "shared-race",
        "setp.eq.u32 %p1, %r1, 0\n@%p1 st.shared.u32 [tile], 0\nBUG\nred.shared.add.u32 [tile], 1",
        "bar.warp.sync -1", "bar.sync 0", at="red.shared", other="st.shared",
    ),
    "a weak store before the last of several atomics": Case(
        "global-race",
        "setp.eq.u32 %p1, %r1, 0\n@%p1 st.global.u32 [%rd2], 0\nBUG\nred.global.add.u32 [%rd2], 1",
        "bar.warp.sync -1", "bar.sync 0", at="red.global", other="st.global",
    ),
    "a weak load after the last of several atomics": Case(
        "global-race",
        "red.global.add.u32 [%rd2], 1\nBUG\nsetp.eq.u32 %p1, %r1, 32\n@%p1 ld.global.u32 %r7, [%rd2]",
        "bar.warp.sync -1", "bar.sync 0", at="ld.global.u32", other="red.global", options={"sanitize": 2},
    ),
}  # fmt: skip

LANES = {
    "a lane that arrives for its warp": Case(
        "shared-race",
        BAR.format(count=1) + "@%p4 bra consumer\nst.shared.u32 [%r6], %r1\nBUG\n"
        "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar]\nexit\nconsumer:\n" + WAIT
        + "ld.shared.u32 %r8, [%r6-128]\nst.global.u32 [%rd5], %r8",
        "nanosleep.u32 1", "bar.warp.sync -1", at="ld.shared", other="st.shared",
    ),
    "a lane that waits for its warp": Case(
        "shared-race",
        BAR.format(count=32) + "@%p4 bra consumer\nst.shared.u32 [%r6], %r1\n"
        "mbarrier.arrive.shared::cta.b64 _, [bar]\nexit\nconsumer:\n@!%p3 bra waited\n" + WAIT + "waited:\nBUG\n"
        "ld.shared.u32 %r8, [%r6-128]\nst.global.u32 [%rd5], %r8",
        "nanosleep.u32 1", "bar.warp.sync -1", at="ld.shared", other="st.shared",
    ),
    "fewer arrivals than lanes that arrive": Case(
        "shared-race",
        BAR.replace("{count}", "BUG") + "@%p4 bra consumer\nst.shared.u32 [%r6], %r1\n"
        "mbarrier.arrive.shared::cta.b64 _, [bar]\nexit\nconsumer:\n" + WAIT
        + "ld.shared.u32 %r8, [%r6-128]\nst.global.u32 [%rd5], %r8",
        "31", "32", at="ld.shared", other="st.shared",
    ),
    "one arrival for the copies of a warp": Case(
        "shared-race",
        BAR.replace("{count}", "BUG") + "@%p4 bra consumer\ncp.async.ca.shared.global [%r6], [%rd4], 4\n"
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar]\ncp.async.wait_all\nexit\nconsumer:\n" + WAIT
        + "ld.shared.u32 %r8, [%r6-128]\nst.global.u32 [%rd5], %r8",
        "31", "32", at="ld.shared", other="cp.async.ca",
    ),
    "a lane that starts a bulk store for its warp": Case(
        "shared-race",
        "setp.eq.u32 %p1, %r3, 0\nst.shared.u32 [%r6], %r1\nfence.proxy.async.shared::cta\nBUG\n"
        "@!%p1 bra done\nmul.wide.u32 %rd6, %r1, 4\nadd.u64 %rd6, %rd2, %rd6\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%rd6], [%r6], 128\ncp.async.bulk.commit_group\n"
        "cp.async.bulk.wait_group 0\ndone:",
        "nanosleep.u32 1", "bar.warp.sync -1", at="cp.async.bulk.global", other="st.shared",
    ),
    "a fence by one lane of what its warp stored": Case(
        "global-race",
        "setp.eq.u32 %p1, %r2, 0\n@!%p1 bra consumer\nst.global.u32 [%rd5], 42\nBUG\nsetp.eq.u32 %p3, %r1, 0\n"
        "@!%p3 bra done\nfence.acq_rel.gpu\nst.relaxed.gpu.global.u32 [%rd2+252], 1\ndone:\nexit\nconsumer:\n"
        "spin:\nld.acquire.gpu.global.u32 %r7, [%rd2+252]\nsetp.ne.u32 %p2, %r7, 1\n@%p2 bra spin\n"
        "ld.global.u32 %r8, [%rd5]",
        "nanosleep.u32 1", "bar.warp.sync -1", at="ld.global.u32 %r8", other="st.global.u32 [%rd5], 42",
        grid=2, block=32, options=ONE_THREAD,
    ),
    "a wait that nothing orders before the next phase": Case(
        "phase-overrun",
        BAR.format(count=1) + "@%p4 bra consumer\n@%p1 mbarrier.arrive.shared::cta.b64 _, [bar]\nbra both\nconsumer:\n"
        + WAIT + "both:\nBUG\n@%p1 mbarrier.arrive.shared::cta.b64 _, [bar]",
        "nanosleep.u32 1", "bar.sync 0", at="mbarrier.try_wait", other="mbarrier.arrive", options={"seed": 6},
    ),
}  # fmt: skip

PEER = (
    "mov.u32 %r8, %cluster_ctarank\nxor.b32 %r8, %r8, 1\nmov.u32 %r9, tile\n"
    "mapa.shared::cluster.u32 %r9, %r9, %r8\nsetp.eq.u32 %p1, %r1, 0\n"
)

STARTS = {
    "rows of a matrix that differ and are stored to one place": Case(
        "shared-race", "BUG\nstmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r8}",
        "mov.u32 %r8, %r1", "mov.u32 %r8, 5", at="stmatrix", other="stmatrix", block=32,
    ),
    "a store to a CTA that may not have started": Case(
        "early-access", PEER + "BUG\n@%p1 st.shared::cluster.u32 [%r9], 5\n" + CLUSTER,
        "nanosleep.u32 1", CLUSTER, at="st.shared::cluster", grid=2, block=32, options=TWO,
    ),
    "a non-coherent load of what the CTA has stored": Case(
        "non-coherent-load", "st.global.u32 [%rd5], %r1\nBUG",
        "ld.global.nc.u32 %r8, [%rd5]", "ld.global.u32 %r8, [%rd5]", at="ld.global.nc", other="st.global",
    ),
    "more registers than there are": Case(
        "register-file",
        "setp.lt.u32 %p1, %r1, 128\n@%p1 bra producer\nBUG\nbra done\nproducer:\n"
        "setmaxnreg.dec.sync.aligned.u32 40\ndone:",
        "setmaxnreg.inc.sync.aligned.u32 240", "setmaxnreg.inc.sync.aligned.u32 232", at="setmaxnreg.inc", block=384,
    ),
}  # fmt: skip

ORDERING = SCOPES | HISTORY | LANES | STARTS
