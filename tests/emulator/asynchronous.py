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
    "a source that is larger than what is copied": Case(
        "bad-copy",
        "add.u32 %r8, %r3, 0\nBUG\ncp.async.ca.shared.global [%r6], [%rd4], 4, %r8\ncp.async.wait_all\n"
        "ld.shared.u32 %r9, [%r6]\nst.global.u32 [%rd5], %r9",
        "mov.u32 %r8, 5", "mov.u32 %r8, 4", at="cp.async.ca", always=True,
    ),
}  # fmt: skip

ASYNCHRONOUS = MBARRIERS | COPIES
