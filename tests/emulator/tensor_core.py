"""Cases of findings with tcgen05, for `test_findings`.

D (128 by 16, f32, in 16 columns of Tensor Memory) = A (128 by 16, f16) * B, both in core matrices
without a swizzle: A's along K are 2048 bytes apart, B's 256, along M and N 128.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from .findings import Case

NOTHING = "nanosleep.u32 1"
BEFORE, AFTER = "tcgen05.fence::before_thread_sync", "tcgen05.fence::after_thread_sync"
PROXY = "fence.proxy.async.shared::cta"
ALLOC = "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32"
FREE = "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 32"
RELINQUISH = "@%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"
MMA = "tcgen05.mma.cta_group::1.kind::f16"
PRODUCT = f"@%p2 {MMA} [%r30], %rd10, %rd11, %r31, %p3"
COMMIT = "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done]"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r34}, [%r33]"
STORE = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r33], {%r1}"
FACTORS = f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r33+16], {{{', '.join(['%r1'] * 8)}}}"
SCALED = "@%p2 tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r30], %rd10, %rd11, %r31, [%r30+16], [%r30+20], %p3"
STORE_ALL = f"tcgen05.st.sync.aligned.32x32b.x16.b32 [%r33], {{{', '.join(['%r1'] * 16)}}}"
LOADED, STORED = "tcgen05.wait::ld.sync.aligned", "tcgen05.wait::st.sync.aligned"
WAIT = """
waiting:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [done], 0
@!%p4 bra waiting
"""
AGAIN = WAIT.replace("waiting", "again").replace(", 0", ", 1")

VARIABLES = """
.shared mats 8192 128
.shared slot 8 4
.shared done 8 8
setp.lt.u32 %p1, %r1, 32
setp.eq.u32 %p2, %r1, 0
setp.ne.u32 %p3, %r1, %r1
mov.u32 %r31, 0x8040010
mov.u32 %r10, mats
shl.b32 %r11, %r1, 4
add.u32 %r11, %r10, %r11
mov.u32 %r12, 0
"""
FILL = """
st.shared.v4.u32 [%r11], {%r12, %r12, %r12, %r12}
st.shared.v4.u32 [%r11+2048], {%r12, %r12, %r12, %r12}
st.shared.v4.u32 [%r11+4096], {%r12, %r12, %r12, %r12}
"""
INIT = "@%p2 mbarrier.init.shared::cta.b64 [done], 1\n"
DESCRIBE = """
shr.u32 %r13, %r10, 4
add.u32 %r14, %r13, 256
or.b32 %r13, %r13, 0x800000
or.b32 %r14, %r14, 0x100000
mov.u32 %r15, 0x4008
mov.b64 %rd10, {%r13, %r15}
mov.b64 %rd11, {%r14, %r15}
shr.u32 %r32, %r1, 5
shl.b32 %r32, %r32, 21
"""
ADDRESS = "ld.shared.u32 %r30, [slot]\nadd.u32 %r33, %r30, %r32\n"
SYNC = f"\n{BEFORE}\nbar.sync 0\n{AFTER}\n"
READY = f"{VARIABLES}{ALLOC}\n{INIT}{FILL}{PROXY}\n{DESCRIBE}{SYNC}{ADDRESS}"
MULTIPLIED = f"{PRODUCT}\n{COMMIT}\n{WAIT}{AFTER}\n"
USE = "mov.u32 %r37, %r34"
REDUCING = "tcgen05.ld.red.sync.aligned.32x32b.x2.max.u32 {%r34, %r35}, %r36, [%r33]"
USE_REDUCED = "mov.u32 %r37, %r36"
READ = f"{LOAD}\n{LOADED}\n{USE}\n"
END = f"bar.sync 0\n{FREE}"


def case(kind, body, bug, clean, at, other=None, **options):
    return Case(kind, body, bug, clean, at=at, other=other, block=128, **options)


ALLOCATION = {
    "Tensor Memory that is not freed": case(
        "unfreed-tensor-memory", READY + "bar.sync 0\nBUG", NOTHING, FREE, at="tcgen05.alloc",
    ),
    "other columns freed than were allocated": case(
        "bad-tensor-memory", READY + "bar.sync 0\nBUG", FREE.replace(", 32", ", 64"), FREE, at="tcgen05.dealloc", always=True,
    ),
    "columns freed twice": case(
        "bad-tensor-memory", READY + END + "\nBUG", FREE, NOTHING, at="tcgen05.dealloc", always=True,
    ),
    "a number of columns that there is not": case(
        "bad-tensor-memory", f"{VARIABLES}BUG\n{DESCRIBE}bar.sync 0\n{ADDRESS}bar.sync 0\n{FREE}",
        ALLOC.replace(", 32", ", 48"), ALLOC, at="tcgen05.alloc", always=True,
    ),
    "columns allocated after the permit was given up": case(
        "bad-tensor-memory", READY + f"BUG\n{ALLOC.replace('[slot]', '[slot+4]')}\nbar.sync 0\nld.shared.u32 %r35, [slot+4]\n{FREE.replace('%r30', '%r35')}\n{END}",
        RELINQUISH, NOTHING, at="[slot+4], 32", always=True,
    ),
    "more columns than there are": case(
        "deadlock", f"{VARIABLES}{ALLOC}\nBUG\n{DESCRIBE}bar.sync 0\n{ADDRESS}ld.shared.u32 %r35, [slot+4]\nbar.sync 0\n@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r35, 256\n{FREE}",
        "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 512",
        "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 256", at="[slot+4], 512", always=True,
    ),
    "a column that is not allocated": case(
        "bad-tensor-memory", READY + f"BUG\n{STORED}\n{END}", STORE.replace("[%r33]", "[%r33+32]"), STORE, at="tcgen05.st", always=True,
    ),
    "a result wider than what is allocated": case(
        "bad-tensor-memory", READY + f"BUG\n{MULTIPLIED}{END}", "mov.u32 %r31, 0x8100010", "mov.u32 %r31, 0x8040010", at=MMA, always=True,
    ),
    "another warp's lanes": case(
        "bad-tensor-memory", READY + f"BUG\n{STORED}\n{END}", STORE.replace("[%r33]", "[%r30]"), STORE, at="tcgen05.st", always=True,
    ),
    "addresses that differ between lanes": case(
        "bad-tensor-memory", READY + f"BUG\nadd.u32 %r33, %r33, %r36\n{STORE}\n{STORED}\n{END}",
        "mov.u32 %r36, %r3", "mov.u32 %r36, 0", at="tcgen05.st", always=True,
    ),
    "a result that does not begin in lane 0": case(
        "bad-tensor-memory", READY + f"BUG\n{COMMIT}\n{WAIT}{END}", PRODUCT.replace("[%r30]", "[%r30+1048576]"), PRODUCT, at=MMA, always=True,
    ),
    "an mbarrier that is not there": case(
        "bad-mbarrier", f"{VARIABLES}{ALLOC}\nBUG\n{FILL}{PROXY}\n{DESCRIBE}{SYNC}{ADDRESS}{COMMIT}\n{END}",
        NOTHING, INIT.strip(), at="tcgen05.commit", always=True,
    ),
}  # fmt: skip


def described(name, bug, at=MMA):
    return {
        name: case(
            "bad-matrix", READY + f"BUG\n{MULTIPLIED}{END}", bug, NOTHING, at=at, always=True
        )
    }


DESCRIPTORS = (
    described("an instruction descriptor with a type that the kind lacks", "or.b32 %r31, %r31, 0x100")
    | described("an instruction descriptor with two types", "or.b32 %r31, %r31, 0x80")
    | described("an instruction descriptor with another sum", "or.b32 %r31, %r31, 0x20")
    | described("an instruction descriptor with N that there is not", "mov.u32 %r31, 0x8420010")
    | described("an instruction descriptor with M that there is not", "mov.u32 %r31, 0x2040010")
    | described("an instruction descriptor of a sparse product", "or.b32 %r31, %r31, 4")
    | described("an instruction descriptor that saturates floats", "or.b32 %r31, %r31, 8")
    | described("a matrix descriptor without its constant", "xor.b64 %rd10, %rd10, 0x400000000000")
    | described("a matrix descriptor with a swizzle that there is not", "or.b64 %rd11, %rd11, 0x6000000000000000")
    | described("a matrix descriptor with bits that no field has", "or.b64 %rd11, %rd11, 0x20000000000000")
)  # fmt: skip

ORDER = {
    "a result loaded before it is there": case(
        "tensor-race", READY + f"{PRODUCT}\n{COMMIT}{SYNC}BUG\n{WAIT}{AFTER}\nearly:\n{READ}{WAIT.replace('waiting', 'again')}{END}",
        "bra early", NOTHING, at=LOAD, other=MMA,
    ),
    "a result loaded behind a wait without a fence": case(
        "tensor-fence", READY + f"{PRODUCT}\n{COMMIT}\n{WAIT}BUG\n{READ}{END}", NOTHING, AFTER, at=LOAD, other=MMA,
    ),
    "a result freed before it is there": case(
        "tensor-race", READY + f"{PRODUCT}\n{COMMIT}\nBUG\n{WAIT}early:\n{END}\n{WAIT.replace('waiting', 'again')}",
        "bra early", NOTHING, at="tcgen05.dealloc", other=MMA,
    ),
    "a commit of another thread": case(
        "tensor-race", READY + f"{PRODUCT}\nBUG\n{COMMIT.replace('@%p2', '@%p5')}\n{WAIT}{AFTER}\n{READ}bar.sync 0\n{COMMIT}\n{AGAIN}{END}",
        "setp.eq.u32 %p5, %r1, 32", "setp.eq.u32 %p5, %r1, 0", at=LOAD, other=MMA,
    ),
    "an accumulator that is stored and not waited for": case(
        "tensor-race", READY + f"{STORE_ALL}\nBUG\n{SYNC}{MULTIPLIED}{END}", NOTHING, STORED, at=MMA, other="tcgen05.st",
    ),
    "an accumulator stored without a fence before the barrier": case(
        "tensor-fence", READY + f"{STORE_ALL}\n{STORED}\nBUG\nbar.sync 0\n{AFTER}\n{MULTIPLIED}{END}", NOTHING, BEFORE, at=MMA, other="tcgen05.st",
    ),
    "an accumulator stored without a fence behind the barrier": case(
        "tensor-fence", READY + f"{STORE_ALL}\n{STORED}\n{BEFORE}\nbar.sync 0\nBUG\n{MULTIPLIED}{END}", NOTHING, AFTER, at=MMA, other="tcgen05.st",
    ),
    "an accumulator stored without a barrier": case(
        "tensor-race", READY + f"{STORE_ALL}\n{STORED}\n{BEFORE}\nBUG\n{AFTER}\n{MULTIPLIED}{END}", NOTHING, "bar.sync 0", at=MMA, other="tcgen05.st",
    ),
    "a load of what is stored and not waited for": case(
        "tensor-race", READY + f"{STORE}\nBUG\n{READ}{STORED}\n{END}", NOTHING, STORED, at=LOAD, other="tcgen05.st",
    ),
    "a product over what is still loaded": case(
        "tensor-race", READY + f"{STORE_ALL}\n{STORED}\n{LOAD}\nBUG\n{SYNC}{LOADED}\n{USE}\n{MULTIPLIED}{END}",
        NOTHING, LOADED, at=MMA, other=LOAD,
    ),
    "a register read before the load has been waited for": case(
        "register-race", READY + f"{STORE}\n{STORED}\n{LOAD}\nBUG\n{USE}\n{LOADED}\n{END}",
        NOTHING, LOADED, at=USE, other=LOAD,
    ),
    "a register of two loads": case(
        "register-race", READY + f"{STORE}\n{STORED}\n{LOAD}\nBUG\n{LOAD.replace('[%r33]', '[%r33+0]')}\n{LOADED}\n{END}",
        NOTHING, LOADED, at="[%r33+0]", other=LOAD,
    ),
    "a reduced value read before the load has been waited for": case(
        "register-race", READY + f"{STORE_ALL}\n{STORED}\n{REDUCING}\nBUG\n{USE_REDUCED}\n{LOADED}\n{END}",
        NOTHING, LOADED, at=USE_REDUCED, other=REDUCING,
    ),
    "Tensor Memory that was never stored": case(
        "uninitialised-memory", READY + f"BUG\n{STORED}\n{READ}{END}", NOTHING, STORE, at=LOAD,
    ),
    "a sum with what was never stored": case(
        "uninitialised-memory", READY + f"BUG\n{MULTIPLIED}{END}", "setp.eq.u32 %p3, %r1, %r1", "setp.ne.u32 %p3, %r1, %r1", at=MMA,
    ),
    "factors that are not in all quarters of the lanes": case(
        "uninitialised-memory",
        READY + f"BUG\n{STORED}\n{SYNC}mov.u32 %r31, 0x8840000\n{SCALED}\n{COMMIT}\n{WAIT}{AFTER}\n{END}",
        f"@%p1 {FACTORS}", FACTORS, at="kind::mxf8f6f4",
    ),
    "a matrix that is stored without a proxy fence": case(
        "proxy-race", f"{VARIABLES}{ALLOC}\n{INIT}{FILL}{PROXY}\nst.shared.u32 [%r11], %r12\nBUG\n{DESCRIBE}{SYNC}{ADDRESS}{MULTIPLIED}{END}", NOTHING, PROXY, at=MMA, other="st.shared.u32 [%r11]",
    ),
    "a matrix overwritten before the product has ended": case(
        "shared-race", READY + f"{PRODUCT}\n{COMMIT}\nBUG\n{WAIT}early:\nst.shared.u32 [%r11], %r12\n{WAIT.replace('waiting', 'again')}{END}",
        "bra early", NOTHING, at="st.shared.u32 [%r11], %r12", other=MMA,
    ),
    "a commit to a CTA that has exited": Case(
        "early-exit",
        ".shared done 8 8\nmov.u32 %r20, %cluster_ctarank\nsetp.eq.u32 %p1, %r20, 0\nsetp.eq.u32 %p3, %r1, 0\n"
        "and.pred %p2, %p1, %p3\nmov.u16 %h1, 3\n@%p3 mbarrier.init.shared::cta.b64 [done], 1\n"
        "fence.mbarrier_init.release.cluster\nbarrier.cluster.arrive.aligned\nbarrier.cluster.wait.aligned\n"
        "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [done], %h1\n"
        "@!%p1 bra exited" + WAIT + "exited:\nBUG",
        NOTHING, "mbarrier.try_wait.parity.shared::cta.b64 %p4, [done], 0\n@!%p4 bra exited", at="tcgen05.commit", grid=2,
        options={"cluster": (2, 1, 1)},
    ),
}  # fmt: skip

TENSOR_CORE = ALLOCATION | DESCRIPTORS | ORDER
