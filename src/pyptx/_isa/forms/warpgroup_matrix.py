"""Asynchronous matrix multiplication by the four warps of a warpgroup, from shared memory."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

# 64 by n: for floating point any n that is a multiple of 8, for integers the even ones and 8 and 24
N = range(8, 257, 8)
NI = (8, 24, *range(16, 257, 16))
K8, K16, K32, K64 = (" ".join(f"m64n{n}k{k}" for n in N) for k in (8, 16, 32, 64))
I32, I64, I256 = (" ".join(f"m64n{n}k{k}" for n in sorted(NI)) for k in (32, 64, 256))

DF, DH, DI = "inout d*shape/2:f32!", "inout d*shape/4:i32!", "inout d*shape/2:s32!"
SHARED, REGISTERS = "aDesc:i64!, bDesc:i64!", "a*4:i32!, bDesc:i64!"
META = "spMeta:i32!, #spSel:u32"
SCALE = "{!}scaleD:pred(0 1)|immediate"
NEGATE = f"{SCALE}, #immScaleA:s32(-1 1), #immScaleB:s32(-1 1)"
TRANS = f"{NEGATE}, #immTransA:u32(0 1), #immTransB:u32(0 1)"
TRANSB = f"{NEGATE}, #immTransB:u32(0 1)"
HOPPER = {"sm": "sm_90a", "ptx": "8.0"}
SPARSE = {"sm": "sm_90a", "ptx": "8.2"}
FP8 = {"atype": "e4m3 e5m2", "btype": "e4m3 e5m2"}
INT8 = {"atype": "s8 u8", "btype": "s8 u8", "rules": "atype=s8: btype=s8; atype=u8: btype=u8"}
MIXED = INT8 | {"rules": "atype=s8: btype=u8; atype=u8: btype=s8", "sm": "sm_90a", "ptx": "8.4"}
MMA, SP = "wgmma.mma_async.sync.aligned", "wgmma.mma_async.sp.sync.aligned"

FORMS = chapter(
    "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions",
    instruction(
        "wgmma", "asynchronous-warpgroup-level-matrix-instructions-wgmma-mma",
        "Multiply a matrix in shared memory or registers by one in shared memory and add.",
        row(f"{MMA}.shape.f16.f16.f16  {DH}, {SHARED}, {TRANS}", shape=K16, **HOPPER),
        row(f"{MMA}.shape.f16.f16.f16  {DH}, {REGISTERS}, {TRANSB}", shape=K16, **HOPPER),
        row(f"{MMA}.shape.f32.f16.f16  {DF}, {SHARED}, {TRANS}", shape=K16, **HOPPER),
        row(f"{MMA}.shape.f32.f16.f16  {DF}, {REGISTERS}, {TRANSB}", shape=K16, **HOPPER),
        row(f"{MMA}.shape.f32.bf16.bf16  {DF}, {SHARED}, {TRANS}", shape=K16, **HOPPER),
        row(f"{MMA}.shape.f32.bf16.bf16  {DF}, {REGISTERS}, {TRANSB}", shape=K16, **HOPPER),
        row(f"{MMA}.shape.f32.tf32.tf32  {DF}, {SHARED}, {NEGATE}", shape=K8, **HOPPER),
        row(f"{MMA}.shape.f32.tf32.tf32  {DF}, {REGISTERS}, {NEGATE}", shape=K8, **HOPPER),
        row(f"{MMA}.shape.f16.atype.btype  {DH}, {SHARED}, {NEGATE}", shape=K32, **FP8, **HOPPER),
        row(f"{MMA}.shape.f16.atype.btype  {DH}, {REGISTERS}, {NEGATE}",
            shape=K32, **FP8, **HOPPER),
        row(f"{MMA}.shape.f32.atype.btype  {DF}, {SHARED}, {NEGATE}", shape=K32, **FP8, **HOPPER),
        row(f"{MMA}.shape.f32.atype.btype  {DF}, {REGISTERS}, {NEGATE}",
            shape=K32, **FP8, **HOPPER),
        row(f"{MMA}.shape{{.satfinite}}.s32.atype.btype  {DI}, {SHARED}, {SCALE}",
            shape=I32, **INT8, **HOPPER),
        row(f"{MMA}.shape{{.satfinite}}.s32.atype.btype  {DI}, {SHARED}, {SCALE}",
            shape=I32, **MIXED),
        row(f"{MMA}.shape{{.satfinite}}.s32.atype.btype  {DI}, {REGISTERS}, {SCALE}",
            shape=I32, **INT8, **HOPPER),
        row(f"{MMA}.shape{{.satfinite}}.s32.atype.btype  {DI}, {REGISTERS}, {SCALE}",
            shape=I32, **MIXED),
        row(f"{MMA}.shape.s32.b1.b1.and.popc  {DI}, {SHARED}, {SCALE}", shape=I256, **HOPPER),
        row(f"{MMA}.shape.s32.b1.b1.and.popc  {DI}, {REGISTERS}, {SCALE}",
            shape=I256, **HOPPER),
    ),
    instruction(
        "wgmma", "asynchronous-warpgroup-level-matrix-instructions-wgmma-mma-sp",
        "Multiply by a matrix in shared memory one with half its elements left out, and add.",
        row(f"{SP}.shape.f16.f16.f16  {DH}, {SHARED}, {META}(0 1), {TRANS}", shape=K32, **SPARSE),
        row(f"{SP}.shape.f16.f16.f16  {DH}, {REGISTERS}, {META}(0 1), {TRANSB}",
            shape=K32, **SPARSE),
        row(f"{SP}.shape.f32.f16.f16  {DF}, {SHARED}, {META}(0 1), {TRANS}", shape=K32, **SPARSE),
        row(f"{SP}.shape.f32.f16.f16  {DF}, {REGISTERS}, {META}(0 1), {TRANSB}",
            shape=K32, **SPARSE),
        row(f"{SP}.shape.f32.bf16.bf16  {DF}, {SHARED}, {META}(0 1), {TRANS}",
            shape=K32, **SPARSE),
        row(f"{SP}.shape.f32.bf16.bf16  {DF}, {REGISTERS}, {META}(0 1), {TRANSB}",
            shape=K32, **SPARSE),
        row(f"{SP}.shape.f32.tf32.tf32  {DF}, {SHARED}, {META}(0 1), {NEGATE}",
            shape=K16, **SPARSE),
        row(f"{SP}.shape.f32.tf32.tf32  {DF}, {REGISTERS}, {META}(0 1), {NEGATE}",
            shape=K16, **SPARSE),
        row(f"{SP}.shape.f16.atype.btype  {DH}, {SHARED}, {META}(0), {NEGATE}",
            shape=K64, **FP8, **SPARSE),
        row(f"{SP}.shape.f16.atype.btype  {DH}, {REGISTERS}, {META}(0), {NEGATE}",
            shape=K64, **FP8, **SPARSE),
        row(f"{SP}.shape.f32.atype.btype  {DF}, {SHARED}, {META}(0), {NEGATE}",
            shape=K64, **FP8, **SPARSE),
        row(f"{SP}.shape.f32.atype.btype  {DF}, {REGISTERS}, {META}(0), {NEGATE}",
            shape=K64, **FP8, **SPARSE),
        row(f"{SP}.shape{{.satfinite}}.s32.atype.btype  {DI}, {SHARED}, {META}(0), {SCALE}",
            shape=I64, **INT8, **SPARSE),
        row(f"{SP}.shape{{.satfinite}}.s32.atype.btype  {DI}, {SHARED}, {META}(0), {SCALE}",
            shape=I64, **MIXED),
        row(f"{SP}.shape{{.satfinite}}.s32.atype.btype  {DI}, {REGISTERS}, {META}(0), {SCALE}",
            shape=I64, **INT8, **SPARSE),
        row(f"{SP}.shape{{.satfinite}}.s32.atype.btype  {DI}, {REGISTERS}, {META}(0), {SCALE}",
            shape=I64, **MIXED),
    ),
    instruction(
        "wgmma", "asynchronous-warpgroup-level-matrix-instructions-wgmma-fence",
        "Order what was done to registers and shared memory before the next multiplication.",
        row("wgmma.fence.sync.aligned", **HOPPER),
    ),
    instruction(
        "wgmma", "asynchronous-warpgroup-level-matrix-instructions-wgmma-commit-group",
        "Put the multiplications since the last group into a new group.",
        row("wgmma.commit_group.sync.aligned", **HOPPER),
    ),
    instruction(
        "wgmma", "asynchronous-warpgroup-level-matrix-instructions-wgmma-wait-group",
        "Wait until no more than n of the warpgroup's latest groups are under way.",
        row("wgmma.wait_group.sync.aligned  #n:u32(0..7)", **HOPPER),
    ),
)
