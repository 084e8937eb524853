"""Cases of findings about relaxed mbarrier operations after asynchronous reads and writes, for `test_findings`.

Some threads use a place in shared memory and arrive at an mbarrier; another thread waits there and
has the place overwritten by a bulk copy.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from . import tensor_core, warpgroup
from .asynchronous import CLUSTER, EXPECT, LOAD, NOTHING, REMOTE, START, STORE, TWO, TX, wait
from .findings import Case

# [bar] is of the copy, [bar+8] is where who used the place arrives.
ONCE = START.replace("[bar+8], 2", "[bar+8], 1")
RELAXED = "@%p1 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar+8]"
RELEASE = "@%p1 mbarrier.arrive.release.cta.shared::cta.b64 _, [bar+8]"
PROXY = "fence.proxy.async.shared::cta\n"
# All 64 threads store to the tile, which copies may read then.
STORED = f"st.shared.u32 [%r6], %r1\n{PROXY}"
ACQUIRED = wait("free", "bar+8")
NOT_ACQUIRED = ACQUIRED.replace("parity", "parity.relaxed.cta")
GROUP = "cp.async.bulk.commit_group\n"
READ = "cp.async.bulk.wait_group.read 0"


def one_thread(first: int) -> str:
    """Warps from this thread on: the thread alone goes on."""
    return f"bra finished\nproducer:\nsetp.eq.u32 %p4, %r1, {first}\n@!%p4 bra finished\n"


def others(first: int) -> str:
    """Warps before this thread go on, the others wait and copy."""
    return f"setp.ge.u32 %p3, %r1, {first}\n@%p3 bra producer\n"


def overwritten(place: str) -> str:
    """The copy over a place of 128 bytes, and its end."""
    return f"{EXPECT} [bar], 128\n{LOAD} [{place}], [%rd1], 128, [bar]\n{wait('full')}finished:\n"


def by_one(first: int, waited: str, place: str = "tile") -> str:
    return one_thread(first) + waited + overwritten(place)


MULTIPLY = (
    warpgroup.FILL + PROXY + ONCE + warpgroup.DESCRIBE + warpgroup.ZERO + others(128)
    + f"{warpgroup.FENCE}\n{warpgroup.PRODUCT}\n{warpgroup.COMMIT}\n"
)  # fmt: skip
BULK_STORE = (
    STORED + ONCE + others(32) + f"@!%p1 bra finished\n{STORE} [%rd2], [tile], 128\n{GROUP}"
)
TENSOR = (
    tensor_core.READY + ONCE + others(32)
    + f"{tensor_core.PRODUCT}\n{tensor_core.COMMIT}\n"
)  # fmt: skip
TENSOR_END = (
    "setp.lt.u32 %p1, %r1, 32\n" + tensor_core.WAIT.replace("waiting", "ended") + tensor_core.END
)

# Two CTAs: each stores its tile to global memory, tells the other, and copies to the other's tile.
PEERS = (
    STORED + ONCE + CLUSTER + REMOTE
    + "mapa.shared::cluster.u32 %r10, %r5, %r9\nmov.u32 %r11, bar\nmapa.shared::cluster.u32 %r12, %r11, %r9\n"
    f"@!%p1 bra over\n{EXPECT} [bar], 128\nmul.wide.u32 %rd6, %r8, 128\nadd.u64 %rd2, %rd2, %rd6\n"
    f"{STORE} [%rd2], [tile], 128\n{GROUP}{READ}\n"
)  # fmt: skip
PEERS_END = f"{LOAD} [%r10], [%rd1], 128, [%r12]\n{wait('full')}over:\n{CLUSTER}"
REDUCED = (
    f"cp.reduce.async.bulk.shared::cluster.shared::cta.{TX}.add.u32 [%r10], [tile+128], 128, [%r12]\n"
    f"{wait('full')}over:\n{CLUSTER}"
)
REMOTE_ARRIVAL = "mbarrier.arrive.{}.shared::cluster.b64 _, [%r12+8]"
PEERS_WAIT = "free:\nmbarrier.try_wait.parity{}.shared::cta.b64 %p2, [bar+8], 0\n@!%p2 bra free\n"


def scopes(bug: str) -> Case:
    """An arrival in the other CTA whose scope is its own."""
    return Case(
        "narrow-scope", PEERS + "BUG\n" + PEERS_WAIT.format(".relaxed.cluster") + PEERS_END,
        REMOTE_ARRIVAL.format(bug), REMOTE_ARRIVAL.format("relaxed.cluster"),
        at=LOAD, other=STORE, grid=2, options=TWO,
    )  # fmt: skip


def waiting_scopes(bug: str) -> Case:
    """A wait for the other CTA's arrival whose scope is its own."""
    return Case(
        "narrow-scope",
        PEERS + REMOTE_ARRIVAL.format("relaxed.cluster") + "\nfree:\nBUG\n@!%p2 bra free\n" + PEERS_END,
        f"mbarrier.try_wait.parity{bug}.shared::cta.b64 %p2, [bar+8], 0",
        "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p2, [bar+8], 0",
        at=LOAD, other=STORE, grid=2, options=TWO,
    )  # fmt: skip


ENDED = {
    "a relaxed arrival before wgmma has read": Case(
        "shared-race",
        f"{MULTIPLY}BUG\n{RELAXED}\n{warpgroup.WAIT}\n" + by_one(128, NOT_ACQUIRED, "mats"),
        NOTHING, warpgroup.WAIT, at=LOAD, other="mma_async", block=160,
    ),
    "a relaxed arrival before a bulk store has read": Case(
        "shared-race", f"{BULK_STORE}BUG\n{RELAXED}\n{READ}\n" + by_one(32, NOT_ACQUIRED),
        NOTHING, READ, at=LOAD, other=STORE,
    ),
    "a relaxed arrival before tcgen05.mma has read": Case(
        "shared-race",
        f"{TENSOR}@!%p2 bra told\nBUG\n{RELAXED}\ntold:\n" + by_one(32, NOT_ACQUIRED, "mats").replace("%p2", "%p6") + TENSOR_END,
        NOTHING, tensor_core.WAIT, at=LOAD, other=tensor_core.MMA, block=128,
    ),
    "no wait for tcgen05.commit, which is relaxed": Case(
        "shared-race",
        f"{TENSOR}" + by_one(32, "BUG\n", "mats").replace("%p2", "%p6") + TENSOR_END,
        NOTHING, tensor_core.WAIT.replace("parity", "parity.relaxed.cta"), at=LOAD, other=tensor_core.MMA, block=128,
    ),
    "a relaxed arrival after a load": Case(
        "shared-race", STORED + ONCE + others(32) + "@%p1 ld.shared.u32 %r16, [tile]\nBUG\n" + by_one(32, ACQUIRED),
        RELAXED, RELEASE, at=LOAD, other="ld.shared",
    ),
    "a relaxed wait after another thread's load": Case(
        "shared-race",
        STORED + ONCE + others(32) + f"@%p1 ld.shared.u32 %r16, [tile]\n{RELEASE}\n" + by_one(32, "BUG\n"),
        NOT_ACQUIRED, ACQUIRED, at=LOAD, other="ld.shared",
    ),
    "a relaxed arrival after a store": Case(
        "shared-race",
        STORED + ONCE + others(32) + f"@%p1 st.shared.u32 [tile], 7\n{PROXY}BUG\n" + by_one(32, ACQUIRED),
        RELAXED, RELEASE, at=LOAD, other="st.shared.u32 [tile], 7",
    ),
    "a relaxed arrival after cp.async": Case(
        "shared-race",
        ONCE + others(32) + "@%p1 cp.async.ca.shared.global [tile], [%rd1], 16\ncp.async.wait_all\nBUG\n" + by_one(32, ACQUIRED),
        RELAXED, RELEASE, at=LOAD, other="cp.async.ca",
    ),
    "a relaxed arrival and a store by who waits": Case(
        "shared-race",
        f"{BULK_STORE}{READ}\nBUG\n" + one_thread(32) + ACQUIRED + "st.shared.u32 [tile], 7\nfinished:\n",
        RELAXED, RELEASE, at="st.shared.u32 [tile], 7", other=STORE,
    ),
    "a relaxed arrival and a bulk store by who waits": Case(
        "shared-race",
        ONCE + others(32) + f"@!%p1 bra finished\n{EXPECT} [bar], 128\n{LOAD} [tile], [%rd1], 128, [bar]\n{wait('full')}BUG\n"
        + one_thread(32) + ACQUIRED + f"{STORE} [%rd2], [tile], 128\n{GROUP}{READ}\nfinished:\n",
        RELAXED, RELEASE, at=STORE, other=LOAD,
    ),
    "a relaxed wait by another lane than the one that copies": Case(
        "shared-race",
        f"{BULK_STORE}{READ}\n{RELAXED}\nbra finished\nproducer:\nsetp.eq.u32 %p4, %r1, 32\nsetp.eq.u32 %p6, %r1, 33\n"
        f"@!%p4 bra waited\n{NOT_ACQUIRED}waited:\nBUG\n@!%p6 bra finished\n" + overwritten("tile"),
        NOTHING, "bar.warp.sync -1", at=LOAD, other=STORE,
    ),
    "a relaxed arrival by another lane than the one that has waited": Case(
        "shared-race",
        STORED + ONCE + others(32) + f"setp.eq.u32 %p6, %r1, 1\n@!%p6 bra waited\n{STORE} [%rd2], [tile], 128\n{GROUP}{READ}\n"
        f"waited:\nBUG\n{RELAXED}\n" + by_one(32, NOT_ACQUIRED),
        NOTHING, "bar.warp.sync -1", at=LOAD, other=STORE,
    ),
    "a relaxed arrival of the CTA's scope in another CTA": scopes("relaxed.cta"),
    "a releasing arrival of the CTA's scope in another CTA": scopes("release.cta"),
    "a relaxed wait of the CTA's scope": waiting_scopes(".relaxed.cta"),
    "an acquiring wait of the CTA's scope": waiting_scopes(".acquire.cta"),
    "a relaxed wait of which nothing uses the result": Case(
        "shared-race", f"{BULK_STORE}{READ}\n{RELAXED}\n" + by_one(32, "BUG\n"),
        NOT_ACQUIRED.split("\n")[1], NOT_ACQUIRED, at=LOAD, other=STORE,
    ),
    "a relaxed arrival before a read, and a reduction by who waits": Case(
        "shared-race",
        PEERS.replace(READ, "BUG") + REMOTE_ARRIVAL.format("relaxed.cluster") + "\n" + PEERS_WAIT.format(".relaxed.cluster") + REDUCED.replace("over:", f"{READ}\nover:"),
        NOTHING, READ, at="cp.reduce", other=STORE, grid=2, options=TWO,
    ),
    "a relaxed arrival after a write, and a reduction by who waits": Case(
        "shared-race",
        PEERS.replace(f"{STORE} [%rd2], [tile], 128\n", f"{LOAD} [tile], [%rd1], 128, [bar]\n{wait('loaded')}")
        + "BUG\n" + PEERS_WAIT.format(".acquire.cluster") + f"{EXPECT} [bar], 128\n" + REDUCED.replace(wait("full"), wait("full", parity=1)),
        REMOTE_ARRIVAL.format("relaxed.cluster"), REMOTE_ARRIVAL.format("release.cluster"),
        at="cp.reduce", other=LOAD, grid=2, options=TWO,
    ),
    "a copy without the relaxed barrier of the cluster": Case(
        "shared-race",
        PEERS.replace("@!%p1 bra over", "@!%p1 bra met") + "met:\nBUG\n@!%p1 bra over\n" + PEERS_END,
        NOTHING, "barrier.cluster.arrive.relaxed\nbarrier.cluster.wait", at=LOAD, other=STORE, grid=2, options=TWO,
    ),
}  # fmt: skip
