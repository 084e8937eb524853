"""Cases of findings with multiplications of a warpgroup, for `test_findings`.

D (64 by 8, f32) = A (64 by 16, f16) * B, both in core matrices without a swizzle: A's along K are
1024 bytes apart, along M 128; B's are 128 apart along K.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from .findings import Case

NOTHING = "nanosleep.u32 1"
FENCE = "wgmma.fence.sync.aligned"
COMMIT = "wgmma.commit_group.sync.aligned"
WAIT = "wgmma.wait_group.sync.aligned 0"
MMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
SUMS = "{%f1, %f2, %f3, %f4}"
PRODUCT = f"{MMA} {SUMS}, %rd10, %rd11, %p5, 1, 1, 0, 0"
HELD = f"{MMA} {SUMS}, {{%r20, %r21, %r22, %r23}}, %rd11, %p5, 1, 1, 0"
OTHER_SHAPE = f"wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {SUMS}, %rd10, %rd11, %p5, 1, 1"

FILL = """
.shared mats 4096 128
mov.u32 %r10, mats
shl.b32 %r11, %r1, 4
add.u32 %r11, %r10, %r11
mov.u32 %r12, 0
st.shared.v4.u32 [%r11], {%r12, %r12, %r12, %r12}
"""
FILL_B = "st.shared.v4.u32 [%r11+2048], {%r12, %r12, %r12, %r12}\n"
PROXY = "fence.proxy.async.shared::cta\n"
DESCRIBE = """
bar.sync 0
shr.u32 %r13, %r10, 4
add.u32 %r14, %r13, 128
or.b32 %r13, %r13, 0x400000
or.b32 %r14, %r14, 0x80000
mov.u32 %r15, 8
mov.b64 %rd10, {%r13, %r15}
mov.b64 %rd11, {%r14, %r15}
mov.u32 %r20, 0
mov.u32 %r21, 0
mov.u32 %r22, 0
mov.u32 %r23, 0
mov.u32 %r24, 0
setp.eq.u32 %p5, %r12, 0
"""
ZERO = "mov.f32 %f1, 0.0\nmov.f32 %f2, 0.0\nmov.f32 %f3, 0.0\nmov.f32 %f4, 0.0\n"
READY = FILL + FILL_B + PROXY + DESCRIBE + ZERO
ENDED = f"\n{COMMIT}\n{WAIT}\n"

REGISTERS = {
    "accumulators read before the wait": Case(
        "register-race", READY + f"{FENCE}\n{PRODUCT}\n{COMMIT}\nBUG\n{WAIT}\nadd.f32 %f6, %f1, %f1",
        "add.f32 %f5, %f1, %f1", NOTHING, at="add.f32 %f5", other="mma_async", block=128,
    ),
    "accumulators written before the wait": Case(
        "register-race", READY + f"{FENCE}\n{PRODUCT}\n{COMMIT}\nBUG\n{WAIT}",
        "mov.f32 %f2, 1.0", "mov.f32 %f5, 1.0", at="mov.f32 %f2, 1.0", other="mma_async", block=128,
    ),
    "a wait that leaves the group": Case(
        "register-race", READY + f"{FENCE}\n{PRODUCT}\n{COMMIT}\nBUG\nadd.f32 %f5, %f1, %f1",
        "wgmma.wait_group.sync.aligned 1", WAIT, at="add.f32", other="mma_async", block=128,
    ),
    "a multiplication in no group": Case(
        "register-race", READY + f"{FENCE}\n{PRODUCT}\nBUG\n{WAIT}\nadd.f32 %f5, %f1, %f1",
        NOTHING, COMMIT, at="add.f32", other="mma_async", block=128,
    ),
    "registers of A changed before the wait": Case(
        "register-race", READY + f"{FENCE}\n{HELD}\n{COMMIT}\nBUG\n{WAIT}",
        "mov.u32 %r22, 1", "mov.u32 %r24, 1", at="mov.u32 %r22, 1", other="mma_async", block=128,
    ),
    "no fence before the first multiplication": Case(
        "register-race", READY + f"BUG\n{PRODUCT}" + ENDED, NOTHING, FENCE, at="mma_async", block=128,
    ),
    "no fence behind a change of accumulators": Case(
        "register-race", READY + f"{FENCE}\n{PRODUCT}{ENDED}mul.f32 %f1, %f1, %f1\nBUG\n{PRODUCT}" + ENDED,
        NOTHING, FENCE, at="mma_async", other="mul.f32", block=128,
    ),
    "no fence behind a change of A": Case(
        "register-race", READY + f"{FENCE}\n{HELD}{ENDED}mov.u32 %r20, 1\nBUG\n{HELD}" + ENDED,
        NOTHING, FENCE, at="mma_async", other="mov.u32 %r20, 1", block=128,
    ),
    "accumulators of another shape": Case(
        "register-race", READY + f"{FENCE}\n{PRODUCT}\nBUG" + ENDED, OTHER_SHAPE, PRODUCT, at=OTHER_SHAPE, other=PRODUCT, block=128,
    ),
    "accumulators of another shape that were waited for": Case(
        "register-race", READY + f"{FENCE}\n{PRODUCT}{ENDED}BUG\n{OTHER_SHAPE}" + ENDED,
        NOTHING, FENCE, at=OTHER_SHAPE, other=PRODUCT, block=128,
    ),
    "accumulators that are the next A": Case(
        "register-race", READY + f"{FENCE}\n{HELD}\n{FENCE}\nBUG" + ENDED,
        HELD.replace(SUMS, "{%r20, %r21, %r22, %r23}").replace("{%r20, %r21, %r22, %r23}, %rd11", f"{SUMS}, %rd11"),
        HELD, at="{%r20, %r21, %r22, %r23}, {%f1", other="mma_async", block=128,
    ),
    "accumulators that were never written": Case(
        "uninitialised-register",
        FILL + FILL_B + PROXY + DESCRIBE + f"BUG\n{FENCE}\n{PRODUCT.replace('%p5', '%p6')}" + ENDED,
        "setp.eq.u32 %p6, %r12, 0", "setp.ne.u32 %p6, %r12, 0", at="mma_async", block=128,
    ),
}  # fmt: skip

MEMORY = {
    "a multiplication of what was stored without a proxy fence": Case(
        "proxy-race", FILL + PROXY + FILL_B + "BUG\n" + DESCRIBE + ZERO + f"{FENCE}\n{PRODUCT}" + ENDED,
        NOTHING, PROXY, at="mma_async", other="[%r11+2048]", block=128,
    ),
    "a matrix overwritten while it is multiplied": Case(
        "shared-race", READY + f"{FENCE}\n{PRODUCT}\n{COMMIT}\nBUG\nst.shared.v4.u32 [%r11], {{%r1, %r1, %r1, %r1}}\n{WAIT}",
        NOTHING, WAIT, at="{%r1, %r1, %r1, %r1}", other="mma_async", block=128,
    ),
    "a matrix that no barrier orders before": Case(
        "shared-race",
        FILL + FILL_B + PROXY + DESCRIBE + ZERO + f"st.shared.v4.u32 [%r11], {{%r1, %r1, %r1, %r1}}\n{PROXY}BUG\n{FENCE}\n{PRODUCT}" + ENDED,
        NOTHING, "bar.sync 0", at="mma_async", other="{%r1, %r1, %r1, %r1}", block=128,
    ),
    "a matrix that was never stored": Case(
        "uninitialised-memory", FILL + "BUG\n" + PROXY + DESCRIBE + ZERO + f"{FENCE}\n{PRODUCT}" + ENDED,
        NOTHING, FILL_B, at="mma_async", block=128,
    ),
    "a matrix past the end of shared memory": Case(
        "out-of-bounds", READY + f"BUG\n{FENCE}\n{PRODUCT}" + ENDED,
        "add.u64 %rd11, %rd11, 192", "add.u64 %rd11, %rd11, 0", at="mma_async", always=True, block=128,
    ),
    "a descriptor with bits that no field has": Case(
        "bad-matrix", READY + f"BUG\n{FENCE}\n{PRODUCT}" + ENDED,
        "add.u64 %rd10, %rd10, 0x10000000000000", "add.u64 %rd10, %rd10, 0", at="mma_async", always=True, block=128,
    ),
}  # fmt: skip

WARPS = {
    "a descriptor that differs between lanes": Case(
        "bad-matrix", READY + f"BUG\nadd.u64 %rd11, %rd11, %rd12\n{FENCE}\n{PRODUCT}" + ENDED,
        "cvt.u64.u32 %rd12, %r3", "cvt.u64.u32 %rd12, %r12", at="mma_async", always=True, block=128,
    ),
    "a descriptor that differs between warps": Case(
        "bad-matrix", READY + f"shr.u32 %r16, %r1, 5\nBUG\nadd.u64 %rd11, %rd11, %rd12\n{FENCE}\n{PRODUCT}" + ENDED,
        "cvt.u64.u32 %rd12, %r16", "cvt.u64.u32 %rd12, %r12", at="mma_async", always=True, block=128,
    ),
    "scale-d that differs between lanes": Case(
        "bad-matrix", READY + f"BUG\n{FENCE}\n{PRODUCT}" + ENDED,
        "setp.lt.u32 %p5, %r3, 16", "setp.lt.u32 %p5, %r3, 32", at="mma_async", always=True, block=128,
    ),
    "scale-d that differs between warps": Case(
        "bad-matrix", READY + f"BUG\n{FENCE}\n{PRODUCT}" + ENDED,
        "setp.lt.u32 %p5, %r1, 64", "setp.lt.u32 %p5, %r1, 128", at="mma_async", always=True, block=128,
    ),
    "a warp that leaves the warpgroup": Case(
        "divergent-barrier", READY + f"BUG\n@!%p6 bra done\n{FENCE}\n{PRODUCT}{ENDED}done:",
        "setp.lt.u32 %p6, %r1, 96", "setp.lt.u32 %p6, %r1, 128", at="mma_async", block=128,
    ),
    "a warp whose multiplication nobody waits for": Case(
        "divergent-barrier", READY + f"BUG\n{FENCE}\n@!%p6 bra done\n{PRODUCT}\n{COMMIT}\ndone:",
        "setp.lt.u32 %p6, %r1, 96", "setp.lt.u32 %p6, %r1, 128", at="mma_async", block=128,
    ),
    "lanes that leave the warp": Case(
        "divergent-barrier", READY + f"BUG\n{FENCE}\n@!%p6 bra done\n{PRODUCT}\ndone:" + ENDED,
        "setp.lt.u32 %p6, %r3, 16", "setp.lt.u32 %p6, %r3, 32", at="mma_async", block=128,
    ),
    "warps that multiply in different places": Case(
        "divergent-barrier",
        READY + f"BUG\n{FENCE}\n@!%p6 bra other\n{PRODUCT}\nbra done\nother:\n{PRODUCT}\ndone:" + ENDED,
        "setp.lt.u32 %p6, %r1, 96", "setp.lt.u32 %p6, %r1, 128", at="mma_async", block=128,
    ),
}  # fmt: skip

WARPGROUP = REGISTERS | MEMORY | WARPS
