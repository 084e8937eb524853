"""Cases of findings with tcgen05 by a pair of CTAs, for `test_findings`.

D (256 by 32, f32, 128 rows in each CTA) = A (256 by 16, f16) * B, of which each CTA has half of the
rows of A and half of the columns of B in the same places of its shared memory, as in `tensor_core`.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from .asynchronous import CLUSTER
from .findings import Case
from .tensor_core import (
    ADDRESS,
    AFTER,
    ALLOC,
    BEFORE,
    DESCRIBE,
    FILL,
    FREE,
    INIT,
    LOAD,
    LOADED,
    MMA,
    NOTHING,
    PROXY,
    READ,
    STORE_ALL,
    STORED,
    USE,
    VARIABLES,
    WAIT,
)


def of_pair(text):
    return text.replace("cta_group::1", "cta_group::2")


RANK = """
.shared again 8 8
@%p2 mbarrier.init.shared::cta.b64 [again], 1
mov.u32 %r38, %cluster_ctarank
setp.eq.u32 %p6, %r38, 0
setp.ne.u32 %p7, %r38, 0
and.pred %p8, %p2, %p6
and.pred %p9, %p2, %p7
mov.u16 %h1, 3
mov.u32 %r31, 0x10080010
fence.mbarrier_init.release.cluster
"""
# Of another CTA than the first of a cluster, addresses in shared memory have bits that descriptors have no place for.
MASKED = "and.b32 %r10, %r10, 0x3ffff\n"
MET = f"\n{BEFORE}\n{CLUSTER}{AFTER}\n"
BEGUN = VARIABLES + of_pair(ALLOC) + f"\n{INIT}{RANK}"
DESCRIBED = MASKED + DESCRIBE
READY = f"{BEGUN}{FILL}{PROXY}\n{DESCRIBED}{MET}{ADDRESS}"
PRODUCT = f"@%p8 {of_pair(MMA)} [%r30], %rd10, %rd11, %r31, %p3"
OTHERS = f"@%p9 {of_pair(MMA)} [%r30+0], %rd10, %rd11, %r31, %p3"
COMMIT = "@%p8 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [done], %h1"
COMMIT_AGAIN = COMMIT.replace("%p8", "%p9").replace("[done]", "[again]")
WAIT_AGAIN = WAIT.replace("waiting", "other").replace("[done]", "[again]")
MULTIPLIED = f"{PRODUCT}\n{COMMIT}\n{WAIT}{AFTER}\n"
LATE = WAIT.replace("waiting", "late")
END = f"bar.sync 0\n{of_pair(FREE)}"


def case(kind, body, bug, clean, at, other=None, **fields):
    options = {"cluster": (2, 1, 1)}
    return Case(
        kind, body, bug, clean, at=at, other=other, block=128, grid=2, options=options, **fields
    )


PAIRS = {
    "a product of the peer that does not wait for one before": case(
        "tensor-race", READY + f"{PRODUCT}\n{COMMIT}\nBUG\n{WAIT}{AFTER}\nearly:\n{OTHERS}\n{COMMIT_AGAIN}\n{WAIT_AGAIN}{LATE}{AFTER}\n{READ}{END}",
        "@%p7 bra early", NOTHING, at="[%r30+0]", other="[%r30], %rd10",
    ),
    "the peer's part of a result loaded before it is there": case(
        "tensor-race", READY + f"{PRODUCT}\n{COMMIT}{MET}BUG\n{WAIT}{AFTER}\nearly:\n{READ}{LATE}{END}",
        "@%p7 bra early", NOTHING, at=LOAD, other=of_pair(MMA),
    ),
    "the peer's part of a result loaded without a fence": case(
        "tensor-fence", READY + f"{PRODUCT}\n{COMMIT}\n{WAIT}BUG\nearly:\n{READ}{END}",
        "@%p7 bra early\n" + AFTER, AFTER, at=LOAD, other=of_pair(MMA),
    ),
    "a pair's result freed before it is there": case(
        "tensor-race", READY + f"{PRODUCT}\n{COMMIT}\nBUG\n{WAIT}early:\n{END}\n{LATE}",
        "bra early", NOTHING, at="tcgen05.dealloc", other=of_pair(MMA),
    ),
    "a commit that does not arrive at the peer": case(
        "deadlock", READY + f"{PRODUCT}\nBUG\n{COMMIT}\n{WAIT}{END}",
        "mov.u16 %h1, 1", "mov.u16 %h1, 3", at="tcgen05.dealloc", always=True,
    ),
    "a pair of which one allocates": case(
        "deadlock", f"{VARIABLES}{INIT}{RANK}BUG\n{of_pair(ALLOC.replace('%p1', '%p10'))}\n{DESCRIBED}{MET}{ADDRESS}{of_pair(FREE)}",
        "and.pred %p10, %p1, %p6", "and.pred %p10, %p1, %p1", at="tcgen05.alloc", always=True,
    ),
    "a pair of which one frees": case(
        "deadlock", READY + f"{MULTIPLIED}BUG\nbar.sync 0\n{of_pair(FREE.replace('%p1', '%p10'))}\n{CLUSTER}",
        "and.pred %p10, %p1, %p6", "and.pred %p10, %p1, %p1", at="tcgen05.dealloc", always=True,
    ),
    "the peer's matrix without a proxy fence": case(
        "proxy-race", f"{BEGUN}{FILL}{PROXY}\n@%p7 st.shared.u32 [%r11], %r12\nBUG\n{DESCRIBED}{MET}{ADDRESS}{MULTIPLIED}{END}",
        NOTHING, PROXY, at=MMA[:11], other="@%p7 st.shared.u32",
    ),
    "the peer's matrix without a barrier of the cluster": case(
        "shared-race", f"{BEGUN}{FILL}{PROXY}\n{MET}@%p7 st.shared.u32 [%r11], %r12\n{PROXY}\n{DESCRIBED}{BEFORE}\nBUG\n{AFTER}\n{ADDRESS}{MULTIPLIED}{END}",
        "bar.sync 0", CLUSTER.strip(), at=MMA[:11], other="@%p7 st.shared.u32",
    ),
    "the peer's matrix overwritten before the product has ended": case(
        "shared-race", READY + f"{PRODUCT}\n{COMMIT}\nBUG\n{WAIT}early:\n@%p7 st.shared.u32 [%r11], %r12\n{LATE}{END}",
        "@%p7 bra early", NOTHING, at="@%p7 st.shared.u32", other=of_pair(MMA),
    ),
    "an accumulator that the peer stored without a fence": case(
        "tensor-fence", READY + f"{STORE_ALL}\n{STORED}\nBUG\n{CLUSTER}{AFTER}\n{MULTIPLIED}{END}",
        f"@%p6 {BEFORE}", BEFORE, at=MMA[:11], other="tcgen05.st",
    ),
    "an accumulator that the peer stored and has not waited for": case(
        "tensor-race", READY + f"@%p7 bra stores\nbra stored\nstores:\n{STORE_ALL}\nBUG\nstored:\n{MET}{STORED}\n{MULTIPLIED}{END}",
        NOTHING, STORED, at=MMA[:11], other="tcgen05.st",
    ),
    "a product over what the peer still loads": case(
        "tensor-race", READY + f"{MULTIPLIED}{LOAD}\nBUG\n{MET}{PRODUCT.replace('%r30]', '%r30+0]')}\n{COMMIT}\n{LATE.replace(', 0', ', 1')}{AFTER}\n{LOADED}\n{USE}\n{END}",
        NOTHING, LOADED, at="[%r30+0]", other=LOAD,
    ),
    "a peer's accumulator that was never stored": case(
        "uninitialised-memory", READY + f"BUG\n{STORE_ALL}\n{STORE_ALL.replace('%r33]', '%r33+16]')}\nstored:\n{STORED}\n{MET}setp.eq.u32 %p3, %r1, %r1\n{MULTIPLIED}{END}",
        "@%p7 bra stored", NOTHING, at=MMA[:11],
    ),
}  # fmt: skip
