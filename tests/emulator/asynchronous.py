"""Cases of findings with mbarriers and asynchronous operations, for `test_findings`."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from .findings import Case

TX = "mbarrier::complete_tx::bytes"
LOAD = f"cp.async.bulk.shared::cluster.global.{TX}"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _,"
CLUSTER = "barrier.cluster.arrive.aligned\nbarrier.cluster.wait.aligned\n"
START = """
.shared bar 32 8
setp.eq.u32 %p1, %r1, 0
@!%p1 bra started
mbarrier.init.shared::cta.b64 [bar], 1
mbarrier.init.shared::cta.b64 [bar+8], 2
fence.mbarrier_init.release.cluster
started:
bar.sync 0
"""
WAIT = """
wait:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0
@!%p2 bra wait
"""
TWO = {"cluster": (2, 1, 1)}

MBARRIERS = {
    "an mbarrier that was never initialised": Case(
        "bad-mbarrier", START + "BUG",
        "mbarrier.arrive.shared.b64 _, [bar+16]", "@%p1 mbarrier.arrive.shared.b64 _, [bar+8]",
        at="mbarrier.arrive", always=True,
    ),
    "an mbarrier that was invalidated": Case(
        "bad-mbarrier", START + "BUG\n@%p1 mbarrier.arrive.shared.b64 _, [bar]",
        "@%p1 mbarrier.inval.shared.b64 [bar]", "@%p1 mbarrier.inval.shared.b64 [bar+8]",
        at="mbarrier.arrive", always=True,
    ),
    "a second initialisation": Case(
        "bad-mbarrier", START + "BUG\n@%p1 mbarrier.init.shared.b64 [bar], 4",
        "nanosleep.u32 1", "@%p1 mbarrier.inval.shared.b64 [bar]",
        at="mbarrier.init.shared.b64 [bar], 4", always=True,
    ),
    "more arrivals than are pending": Case(
        "bad-mbarrier", START + "BUG",
        "@%p1 mbarrier.arrive.shared.b64 _, [bar+8], 3", "@%p1 mbarrier.arrive.shared.b64 _, [bar+8], 2",
        at="mbarrier.arrive", always=True,
    ),
    "too many bytes": Case(
        "bad-mbarrier",
        START + "@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048575\nBUG",
        "@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16",
        "@%p1 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 1048575",
        at="mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16", always=True,
    ),
    "an arrival that would complete and may not": Case(
        "bad-mbarrier", START + "BUG",
        "@%p1 mbarrier.arrive.noComplete.shared.b64 %rd8, [bar+8], 2",
        "@%p1 mbarrier.arrive.noComplete.shared.b64 %rd8, [bar+8], 1",
        at="mbarrier.arrive", always=True,
    ),
    "a test of another CTA's mbarrier": Case(
        "bad-mbarrier",
        START + CLUSTER + "mov.u64 %rd8, bar\ncvta.shared.u64 %rd8, %rd8\nmov.u32 %r8, %cluster_ctarank\nBUG\n"
        "mapa.u64 %rd8, %rd8, %r8\nmbarrier.test_wait.parity.b64 %p2, [%rd8], 1\n" + CLUSTER,
        "xor.b32 %r8, %r8, 1", "xor.b32 %r8, %r8, 0",
        at="test_wait", always=True, grid=2, options=TWO,
    ),
    "an arrival that nobody makes": Case(
        "deadlock", START + "BUG" + WAIT,
        "@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16",
        "@%p1 mbarrier.arrive.shared.b64 _, [bar]", at="try_wait", always=True,
    ),
    "more bytes expected than are copied": Case(
        "deadlock", START + f"@!%p1 bra wait\n{LOAD} [tile], [%rd1], 128, [bar]\nBUG" + WAIT,
        f"{EXPECT} [bar], 144", f"{EXPECT} [bar], 128", at="try_wait", always=True,
    ),
}  # fmt: skip

COPIES = {
    "a bulk copy past the end of a tensor": Case(
        "out-of-bounds", START + "@!%p1 bra wait\nBUG\n" + f"{EXPECT} [bar], 128" + WAIT,
        f"{LOAD} [tile], [%rd1+144], 128, [bar]", f"{LOAD} [tile], [%rd1+128], 128, [bar]",
        at="cp.async.bulk", always=True,
    ),
    "a bulk copy of some bytes where one of none is allowed": Case(
        "out-of-bounds",
        START + "BUG\n" + f"@!%p1 bra wait\n{LOAD} [tile+1024], [%rd1+256], %r8, [bar]\n{EXPECT} [bar], %r8" + WAIT,
        "mov.u32 %r8, 16", "mov.u32 %r8, 0", at="cp.async.bulk", always=True,
    ),
    "a bulk store of some bytes where one of none is allowed": Case(
        "out-of-bounds",
        START + "st.shared.u32 [%r6], %r1\nfence.proxy.async\nbar.sync 0\nBUG\n@!%p1 bra done\n"
        f"{STORE} [%rd2+4096], [tile+1024], %r8\ncp.async.bulk.commit_group\ncp.async.bulk.wait_group 0\ndone:",
        "mov.u32 %r8, 16", "mov.u32 %r8, 0", at="cp.async.bulk.global", always=True,
    ),
    "a bulk copy past the end of shared memory": Case(
        "out-of-bounds", START + "@!%p1 bra wait\nBUG\n" + f"{EXPECT} [bar], 128" + WAIT,
        f"{LOAD} [bar+16], [%rd1], 128, [bar]", f"{LOAD} [tile+896], [%rd1], 128, [bar]",
        at="cp.async.bulk", always=True,
    ),
    "a bulk store to an input": Case(
        "read-only",
        START + "st.shared.u32 [%r6], %r1\nfence.proxy.async\nbar.sync 0\n@!%p1 bra done\nBUG\n"
        "cp.async.bulk.commit_group\ncp.async.bulk.wait_group 0\ndone:",
        f"{STORE} [%rd1], [tile], 256", f"{STORE} [%rd2], [tile], 256", at="cp.async.bulk.global", always=True,
    ),
    "a bulk copy to an address that is no multiple of 16": Case(
        "misaligned", START + "@!%p1 bra wait\nBUG\n" + f"{EXPECT} [bar], 128" + WAIT,
        f"{LOAD} [tile+8], [%rd1], 128, [bar]", f"{LOAD} [tile+16], [%rd1], 128, [bar]",
        at="cp.async.bulk", always=True,
    ),
    "a size that is no multiple of 16": Case(
        "bad-copy", START + "@!%p1 bra wait\nBUG\n" + f"{LOAD} [tile], [%rd1], %r8, [bar]\n{EXPECT} [bar], 128" + WAIT,
        "mov.u32 %r8, 120", "mov.u32 %r8, 128", at="cp.async.bulk", always=True,
    ),
    "a multicast to no CTA": Case(
        "bad-copy",
        START + CLUSTER + f"@!%p1 bra wait\n{EXPECT} [bar], 128\nmov.u32 %r8, %cluster_ctarank\n"
        f"setp.eq.u32 %p3, %r8, 0\nBUG\n@%p3 {LOAD}.multicast::cluster [tile], [%rd1], 128, [bar], %h1" + WAIT + CLUSTER,
        "mov.u16 %h1, 7", "mov.u16 %h1, 3", at="multicast", always=True, grid=2, options=TWO,
    ),
    "an mbarrier of another CTA than the destination": Case(
        "bad-copy",
        START + f"@%p1 {EXPECT} [bar], 256\n" + CLUSTER + "mov.u32 %r8, %cluster_ctarank\nxor.b32 %r9, %r8, 1\n"
        "mapa.shared::cluster.u32 %r10, %r6, %r9\nmov.u32 %r11, bar\nBUG\nmapa.shared::cluster.u32 %r11, %r11, %r9\n"
        f"st.async.weak.shared::cluster.{TX}.u32 [%r10], %r1, [%r11]" + WAIT + CLUSTER,
        "mov.u32 %r9, %r8", "nanosleep.u32 1", at="st.async", always=True, grid=2, options=TWO,
    ),
    "a bulk copy within one CTA": Case(
        "bad-copy",
        START + "st.shared.u32 [%r6], %r1\nfence.proxy.async\n" + CLUSTER + "mov.u32 %r8, %cluster_ctarank\nBUG\n"
        f"@!%p1 bra sent\n{EXPECT} [bar], 128\nadd.u32 %r10, %r5, 512\nmapa.shared::cluster.u32 %r10, %r10, %r8\n"
        "mov.u32 %r11, bar\nmapa.shared::cluster.u32 %r11, %r11, %r8\n"
        f"cp.async.bulk.shared::cluster.shared::cta.{TX} [%r10], [tile], 128, [%r11]\nsent:" + WAIT + CLUSTER,
        "xor.b32 %r8, %r8, 0", "xor.b32 %r8, %r8, 1", at="cp.async.bulk", always=True, grid=2, options=TWO,
    ),
    "st.async without a cluster": Case(
        "bad-copy",
        START + f"BUG\nsetp.eq.u32 %p3, %r8, 1\n@%p3 bra done\n@!%p1 bra wait\n{EXPECT} [bar], 4\nmov.u32 %r9, bar\n"
        f"st.async.shared::cluster.{TX}.u32 [%r6], %r1, [%r9]" + WAIT + "done:",
        "mov.u32 %r8, %cluster_nctarank\nxor.b32 %r8, %r8, 1", "mov.u32 %r8, %cluster_nctarank", at="st.async", always=True,
    ),
    "red.async to the thread's own CTA": Case(
        "bad-copy",
        START + f"@%p1 {EXPECT} [bar], 4\n@%p1 st.shared.u32 [tile], 0\n" + CLUSTER + "mov.u32 %r8, %cluster_ctarank\nBUG\n"
        "mapa.shared::cluster.u32 %r10, %r5, %r8\nmov.u32 %r11, bar\nmapa.shared::cluster.u32 %r11, %r11, %r8\n"
        f"@%p1 red.async.relaxed.cluster.shared::cluster.{TX}.add.u32 [%r10], %r1, [%r11]" + WAIT + CLUSTER,
        "xor.b32 %r8, %r8, 0", "xor.b32 %r8, %r8, 1", at="red.async", always=True, grid=2, options=TWO,
    ),
    "a prefetch of a size that is no multiple of 16": Case(
        "bad-copy", "BUG\ncp.async.bulk.prefetch.L2.global [%rd1], %r8",
        "mov.u32 %r8, 24", "mov.u32 %r8, 32", at="prefetch", always=True,
    ),
    "a prefetch of some bytes where one of none is allowed": Case(
        "bad-copy", "BUG\ncp.async.bulk.prefetch.L2.global [%rd1+8], %r8",
        "mov.u32 %r8, 16", "mov.u32 %r8, 0", at="prefetch", always=True,
    ),
    "a source that is larger than what is copied": Case(
        "bad-copy",
        "add.u32 %r8, %r3, 0\nBUG\ncp.async.ca.shared.global [%r6], [%rd4], 4, %r8\ncp.async.wait_all\n"
        "ld.shared.u32 %r9, [%r6]\nst.global.u32 [%rd5], %r9",
        "mov.u32 %r8, 5", "mov.u32 %r8, 4", at="cp.async.ca", always=True,
    ),
}  # fmt: skip


def wait(label: str, bar: str = "bar", parity: int = 0, kind: str = "try_wait") -> str:
    return f"{label}:\nmbarrier.{kind}.parity.shared::cta.b64 %p2, [{bar}], {parity}\n@!%p2 bra {label}\n"


NOTHING = "nanosleep.u32 1"
# Thread 0 loads 256 bytes, which all 64 threads then read.
FILL = (
    START + f"@!%p1 bra filled\n{LOAD} [tile], [%rd1], 256, [bar]\n{EXPECT} [bar], 256\nfilled:\n"
)
READ = "ld.shared.u32 %r7, [%r6]\nst.global.u32 [%rd5], %r7\n"
# All threads store 256 bytes, which thread 0 then stores to global memory.
DRAIN = f"@!%p1 bra drained\n{STORE} [%rd2], [tile], 256\ncp.async.bulk.commit_group\n"
DRAINED = "cp.async.bulk.wait_group 0\ndrained:\n"
FIRST = "setp.eq.u32 %p1, %r1, 0\n"
REMOTE = "mov.u32 %r8, %cluster_ctarank\nxor.b32 %r9, %r8, 1\n"
# The address of this thread's word in the other CTA; %p3 holds in the first one.
VISIT = REMOTE + "mapa.shared::cluster.u32 %r10, %r6, %r9\nsetp.eq.u32 %p3, %r8, 0\n"
LOADS = f"{LOAD} [tile], [%rd1], 128, [bar]\n{LOAD} [tile+128], [%rd1+128], 128, [bar]"

ORDERS = {
    "a bulk load that is not waited for": Case(
        "shared-race", FILL + "BUG\n" + READ + wait("late"),
        NOTHING, wait("early"), at="ld.shared", other="cp.async.bulk",
    ),
    "a try_wait without a loop": Case(
        "shared-race", FILL + "BUG\n" + READ + wait("late"),
        "mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0", wait("early"),
        at="ld.shared", other="cp.async.bulk",
    ),
    "a relaxed wait": Case(
        "shared-race",
        FILL + "again:\nBUG\n@!%p2 bra again\n" + READ + wait("late"),
        "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p2, [bar], 0",
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [bar], 0",
        at="ld.shared", other="cp.async.bulk",
    ),
    "a relaxed arrival": Case(
        "shared-race",
        START + "mbarrier.init.shared::cta.b64 [bar+16], 1\n".replace("mbar", "@%p1 mbar", 1) + "bar.sync 0\n"
        "@%p1 st.shared.u32 [tile], 7\nBUG\n" + wait("filled", "bar+16")
        + "ld.shared.u32 %r7, [tile]\nst.global.u32 [%rd5], %r7",
        "@%p1 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar+16]",
        "@%p1 mbarrier.arrive.release.cta.shared::cta.b64 _, [bar+16]",
        at="ld.shared", other="st.shared",
    ),
    "fewer bytes expected than are copied": Case(
        "shared-race",
        START + f"@!%p1 bra filled\nBUG\n{LOADS}\nfilled:\n" + wait("early")
        + READ + f"bar.sync 0\n@%p1 {EXPECT} [bar], %r9\n" + wait("late", parity=1),
        f"mov.u32 %r9, 128\n{EXPECT} [bar], 128", f"mov.u32 %r9, 0\n{EXPECT} [bar], 256",
        at="ld.shared", other="[tile+128]",
    ),
    "a stage that is filled again before it has been read": Case(
        "shared-race",
        FILL + wait("early") + READ + f"BUG\n@!%p1 bra again\n{LOAD} [tile], [%rd1], 128, [bar]\n"
        f"{EXPECT} [bar], 128\nagain:\n" + wait("late", parity=1),
        NOTHING, "bar.sync 0", at="[%rd1], 128", other="ld.shared",
    ),
    "a bulk store by one lane before all have stored": Case(
        "shared-race",
        FIRST + "st.shared.u32 [%r6], %r1\nfence.proxy.async.shared::cta\nBUG\n" + DRAIN + DRAINED,
        NOTHING, "bar.sync 0", at="cp.async.bulk.global", other="st.shared",
    ),
    "the source of a bulk store is overwritten before it is read": Case(
        "shared-race",
        FIRST + "st.shared.u32 [%r6], %r1\nfence.proxy.async.shared::cta\nbar.sync 0\n" + DRAIN
        + "BUG\ndrained:\nbar.sync 0\nst.shared.u32 [%r6], 5\n@%p1 cp.async.bulk.wait_group 0",
        NOTHING, "cp.async.bulk.wait_group.read 0", at="st.shared.u32 [%r6], 5", other="cp.async.bulk.global",
    ),
    "a wait that leaves the last group": Case(
        "shared-race",
        FIRST + "st.shared.u32 [%r6], %r1\nfence.proxy.async.shared::cta\nbar.sync 0\n" + DRAIN
        + "BUG\ndrained:\nbar.sync 0\nst.shared.u32 [%r6], 5\n@%p1 cp.async.bulk.wait_group 0",
        "cp.async.bulk.wait_group.read 1", "cp.async.bulk.wait_group.read 0",
        at="st.shared.u32 [%r6], 5", other="cp.async.bulk.global",
    ),
    "a copy that is not waited for": Case(
        "shared-race",
        "cp.async.ca.shared.global [%r6], [%rd4], 4\ncp.async.commit_group\nBUG\n" + READ + "cp.async.wait_all",
        "cp.async.wait_group 1", "cp.async.wait_group 0", at="ld.shared", other="cp.async.ca",
    ),
    "a copy that another thread has waited for": Case(
        "shared-race",
        "cp.async.ca.shared.global [%r6], [%rd4], 4\ncp.async.wait_all\nBUG\nxor.b32 %r7, %r4, 128\n"
        "add.u32 %r7, %r5, %r7\nld.shared.u32 %r7, [%r7]\nst.global.u32 [%rd5], %r7",
        NOTHING, "bar.sync 0", at="ld.shared", other="cp.async.ca",
    ),
    "an arrival that does not wait for copies": Case(
        "shared-race",
        START + "@%p1 mbarrier.init.shared::cta.b64 [bar+16], 64\nbar.sync 0\n"
        "cp.async.ca.shared.global [%r6], [%rd4], 4\nBUG\n" + wait("filled", "bar+16")
        + "xor.b32 %r7, %r4, 128\nadd.u32 %r7, %r5, %r7\nld.shared.u32 %r7, [%r7]\n"
        "st.global.u32 [%rd5], %r7\ncp.async.wait_all",
        "mbarrier.arrive.shared::cta.b64 _, [bar+16]", "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar+16]",
        at="ld.shared", other="cp.async.ca",
    ),
    "an asynchronous store that is not waited for": Case(
        "shared-race",
        START + f"@%p1 {EXPECT} [bar], 256\n" + CLUSTER + REMOTE + "mapa.shared::cluster.u32 %r10, %r6, %r9\n"
        f"mov.u32 %r11, bar\nmapa.shared::cluster.u32 %r11, %r11, %r9\n"
        f"st.async.weak.shared::cluster.{TX}.u32 [%r10], %r1, [%r11]\nBUG\nsetp.eq.u32 %p4, %r8, 0\n"
        "ld.shared.u32 %r7, [%r6]\n@%p4 st.global.u32 [%rd5], %r7\n" + wait("late") + CLUSTER,
        NOTHING, wait("early"), at="ld.shared", other="st.async", grid=2, options=TWO,
    ),
    "a bulk store whose end is not waited for": Case(
        "global-race",
        FIRST + "st.shared.u32 [%r6], %r1\nfence.proxy.async.shared::cta\nbar.sync 0\n" + DRAIN
        + "BUG\ndrained:\nbar.sync 0\nld.global.u32 %r7, [%rd5]\nst.shared.u32 [%r6], %r7\n@%p1 cp.async.bulk.wait_group 0",
        "cp.async.bulk.wait_group.read 0", "cp.async.bulk.wait_group 0",
        at="ld.global", other="cp.async.bulk.global",
    ),
    "a bulk store without a proxy fence": Case(
        "proxy-race",
        FIRST + "st.shared.u32 [%r6], %r1\nBUG\nbar.sync 0\n" + DRAIN + DRAINED,
        NOTHING, "fence.proxy.async.shared::cta", at="cp.async.bulk.global", other="st.shared",
    ),
    "a proxy fence before the store": Case(
        "proxy-race",
        FIRST + "BUG\nbar.sync 0\n" + DRAIN + DRAINED,
        "fence.proxy.async\nst.shared.u32 [%r6], %r1", "st.shared.u32 [%r6], %r1\nfence.proxy.async",
        at="cp.async.bulk.global", other="st.shared",
    ),
    "a proxy fence of global memory": Case(
        "proxy-race",
        FIRST + "st.shared.u32 [%r6], %r1\nbar.sync 0\nBUG\n" + DRAIN + DRAINED,
        "fence.proxy.async.global", "fence.proxy.async.shared::cta", at="cp.async.bulk.global", other="st.shared",
    ),
    "a bulk load over what was stored without a proxy fence": Case(
        "proxy-race",
        "st.shared.u32 [%r6], 9\nBUG\n" + FILL + wait("early") + READ,
        NOTHING, "fence.proxy.async", at="cp.async.bulk", other="st.shared",
    ),
    "a bulk load of what was stored to global memory": Case(
        "proxy-race",
        START + f"st.global.u32 [%rd5], %r1\nBUG\nbar.sync 0\n@!%p1 bra filled\n{LOAD} [tile], [%rd2], 256, [bar]\n"
        f"{EXPECT} [bar], 256\nfilled:\n" + wait("early") + "ld.shared.u32 %r7, [%r6]\nst.global.u32 [%rd5], %r7",
        "fence.proxy.async.shared::cta", "fence.proxy.async", at="cp.async.bulk", other="st.global.u32 [%rd5], %r1",
    ),
    "a bulk copy to another CTA without a proxy fence": Case(
        "proxy-race",
        START + "st.shared.u32 [%r6], %r1\nBUG\n" + CLUSTER + REMOTE
        + f"@!%p1 bra sent\n{EXPECT} [bar], 128\nmapa.shared::cluster.u32 %r10, %r5, %r9\n"
        "mov.u32 %r11, bar\nmapa.shared::cluster.u32 %r11, %r11, %r9\nadd.u32 %r10, %r10, 512\n"
        f"cp.async.bulk.shared::cluster.shared::cta.{TX} [%r10], [tile], 128, [%r11]\nsent:\n"
        + wait("early") + CLUSTER,
        NOTHING, "fence.proxy.async.shared::cta", at="cp.async.bulk", other="st.shared", grid=2, options=TWO,
    ),
    "an mbarrier that another warp may not see yet": Case(
        "unordered-init",
        START.replace("bar.sync 0", "BUG") + "setp.ge.u32 %p3, %r1, 32\n@%p3 mbarrier.arrive.shared.b64 _, [bar+16]",
        "@%p1 mbarrier.init.shared.b64 [bar+16], 32",
        "@%p1 mbarrier.init.shared.b64 [bar+16], 32\nbar.sync 0",
        at="mbarrier.arrive", other="mbarrier.init",
    ),
    "an mbarrier that another CTA may not see yet": Case(
        "unordered-init",
        START.replace("fence.mbarrier_init.release.cluster", "BUG")
        + "barrier.cluster.arrive.relaxed.aligned\nbarrier.cluster.wait.acquire.aligned\n" + REMOTE
        + "mov.u32 %r11, bar\nmapa.shared::cluster.u32 %r11, %r11, %r9\n"
        "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11]\n" + wait("early") + CLUSTER,
        NOTHING, "fence.mbarrier_init.release.cluster",
        at="mbarrier.arrive", other="mbarrier.init", grid=2, options=TWO,
    ),
    "a store to an mbarrier": Case(
        "mbarrier-access", START + "BUG",
        "@%p1 st.shared.u32 [bar+12], 0", "@%p1 st.shared.u32 [bar+16], 0", at="st.shared",
    ),
    "a load of an mbarrier": Case(
        "mbarrier-access", START + "BUG\nst.global.u32 [%rd5], %r1",
        "ld.shared.u64 %rd8, [bar]",
        "bar.sync 0\n@%p1 mbarrier.inval.shared.b64 [bar]\n@%p1 st.shared.u64 [bar], 0\nbar.sync 0\nld.shared.u64 %rd8, [bar]",
        at="ld.shared",
    ),
    "a copy over an mbarrier": Case(
        "mbarrier-access",
        START + f"@!%p1 bra filled\nBUG\n{LOAD} [%r8], [%rd1], 16, [bar+8]\n"
        f"{EXPECT} [bar+8], 16\nmbarrier.arrive.shared::cta.b64 _, [bar+8]\nfilled:\n" + wait("early", "bar+8"),
        "mov.u32 %r8, bar", "mov.u32 %r8, tile", at="cp.async.bulk",
    ),
    "phases that a waiting thread has missed": Case(
        "phase-overrun",
        START + "setp.ge.u32 %p3, %r1, 32\n@%p3 bra test\n@%p1 mbarrier.arrive.shared.b64 _, [bar]\nBUG\nbra done\ntest:\nnanosleep.u32 1\n"
        "mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0\ndone:",
        "@%p1 mbarrier.arrive.shared.b64 _, [bar]", NOTHING, at="test_wait",
    ),
    "an exit before a bulk store has read its source": Case(
        "unfinished-copy",
        FIRST + "st.shared.u32 [%r6], %r1\nfence.proxy.async.shared::cta\nbar.sync 0\n" + DRAIN + "BUG\ndrained:",
        NOTHING, "cp.async.bulk.wait_group.read 0", at="cp.async.bulk.global",
    ),
    "an exit before a bulk load has ended": Case(
        "unfinished-copy", FILL + "BUG",
        NOTHING, wait("early"), at="cp.async.bulk",
    ),
    "a store to a CTA that may have exited": Case(
        "early-exit", CLUSTER + VISIT + "@%p3 st.shared::cluster.u32 [%r10], %r1\nBUG",
        NOTHING, CLUSTER, at="st.shared::cluster", grid=2, options=TWO,
    ),
    "a store that a relaxed arrival does not order before the exit": Case(
        "early-exit", CLUSTER + VISIT + "@%p3 st.shared::cluster.u32 [%r10], %r1\nBUG\nbarrier.cluster.wait.aligned",
        "barrier.cluster.arrive.relaxed.aligned", "barrier.cluster.arrive.release.aligned",
        at="st.shared::cluster", grid=2, options=TWO,
    ),
    "a load from a CTA that may have exited": Case(
        "early-exit",
        "st.shared.u32 [%r6], %r1\n" + CLUSTER + VISIT + "@%p3 ld.shared::cluster.u32 %r7, [%r10]\n"
        "@%p3 st.global.u32 [%rd5], %r7\nBUG",
        NOTHING, CLUSTER, at="ld.shared::cluster", grid=2, options=TWO,
    ),
    "an atomic operation in a CTA that may have exited": Case(
        "early-exit",
        "st.shared.u32 [%r6], %r1\n" + CLUSTER + VISIT
        + "@%p3 red.relaxed.cluster.shared::cluster.add.u32 [%r10], 1\nBUG",
        NOTHING, CLUSTER, at="red.relaxed", grid=2, options=TWO,
    ),
    "an arrival in a CTA that may have exited": Case(
        "early-exit",
        START + CLUSTER + REMOTE + "mov.u32 %r11, bar\nmapa.shared::cluster.u32 %r11, %r11, %r9\n"
        "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11]\nBUG",
        NOTHING, wait("early"), at="mbarrier.arrive", grid=2, options=TWO,
    ),
    "an arrival that only the phase orders before the exit": Case(
        "early-exit",
        START + CLUSTER + REMOTE + "mov.u32 %r11, bar\nmapa.shared::cluster.u32 %r11, %r11, %r9\n"
        "@%p1 mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r11]\nBUG",
        NOTHING, "again:\nmbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p2, [bar], 0\n@!%p2 bra again",
        at="mbarrier.arrive", grid=2, options=TWO,
    ),
    "registers that part of a warp asks for": Case(
        "divergent-barrier",
        "setp.lt.u32 %p3, %r3, 16\nBUG\nst.global.u32 [%rd5], %r1",
        "@%p3 setmaxnreg.dec.sync.aligned.u32 40", "setmaxnreg.dec.sync.aligned.u32 40", at="setmaxnreg",
    ),
    "registers that one warp of a warpgroup asks for": Case(
        "divergent-barrier",
        "setp.lt.u32 %p3, %r1, 32\n@!%p3 bra other\nBUG\nother:\nst.global.u32 [%rd5], %r1",
        "setmaxnreg.dec.sync.aligned.u32 40", NOTHING, at="setmaxnreg",
    ),
    "registers that the warps of a warpgroup ask for apart": Case(
        "divergent-barrier",
        "setp.lt.u32 %p3, %r1, 32\n@!%p3 bra other\nBUG\nother:\nsetmaxnreg.dec.sync.aligned.u32 40\nst.global.u32 [%rd5], %r1",
        "setmaxnreg.dec.sync.aligned.u32 48\nbra done\ndone:", NOTHING, at="setmaxnreg",
    ),
}  # fmt: skip

ASYNCHRONOUS = MBARRIERS | COPIES | ORDERS
