"""Tensor Cores of the fifth generation, and the Tensor Memory that they work on."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

NUM = "x1 x2 x4 x8 x16 x32 x64 x128"
NUM2 = "x1 x2 x4 x8 x16 x32 x64"
NUM4 = "x1 x2 x4 x8 x16 x32"
REDUCED = "x2 x4 x8 x16 x32 x64 x128"
COLUMNS = "nCols:u32(32 64 128 256 512)"
ALL = "nCols:u32(32..576:32)"
SPLIT = "#immHalfSplitoff:u32"
BLACKWELL = {"sm": "sm_100f sm_110f", "ptx": "8.6"}
EXCLUSIVE = {"sm": "sm_100f sm_110f", "ptx": "9.4"}
SPECIFIC = {"sm": "sm_100a sm_103a sm_107a sm_110a", "ptx": "8.6"}
REDUCING = {"sm": "sm_103f sm_110f", "ptx": "8.8"}
GROUP = {"cta_group": "cta_group::1 cta_group::2"}
FORMAT = {"src_fmt": "b6x16_p32 b4x16_p64", "rules": "b8x16: src_fmt; src_fmt: b8x16"}

FROM_SHARED = "[d:tmem!], aDesc:i64!, bDesc:i64!, [spMeta:tmem!]@sp, idesc:i32"
FROM_TMEM = "[d:tmem!], [a:tmem!], bDesc:i64!, [spMeta:tmem!]@sp, idesc:i32"
DENSE_SHARED = FROM_SHARED.replace("[spMeta:tmem!]@sp, ", "")
DENSE_TMEM = FROM_TMEM.replace("[spMeta:tmem!]@sp, ", "")
SPARSE_SHARED, SPARSE_TMEM = FROM_SHARED.replace("@sp", ""), FROM_TMEM.replace("@sp", "")
LANES = "disableOutputLane*cta_group*4:i32!"
ENABLE = "enableInputD:pred"
SCALE = "#scaleInputD:u32(0..15)?"
SCALES = "[scaleA:tmem!], [scaleB:tmem!]"
COLLECTOR = {"collector_usage": "collector::a::fill collector::a::use collector::a::lastuse "
                                "collector::a::discard"}
# From PTX 9.4 on also of the second matrix. The manual wants the first's before it for most kinds;
# compilers write it alone, and the first's has a default.
COLLECTOR_B = {"collector_b": " ".join(
    f"collector::b::{use}@sm_107f,9.4" for use in ("fill", "use", "lastuse", "discard"))}
COLLECTORS = {"collector_usage": " ".join(
    f"collector::b{n}::{use}" for n in range(4) for use in ("fill", "use", "lastuse", "discard"))}
SHIFTED = "ashift: collector_usage?=collector::a::lastuse|collector::a::discard"
NOT_I8 = "kind=kind::i8: !collector_b"
EITHER = ("", f"{LANES}, ")
RUBIN = {"sm": "sm_107f", "ptx": "9.4"}
LUT_SHARED = "[d:tmem!], aDesc:i64!, bDesc:i64!, [bMeta:tmem!], idesc:i32"
LUT_TMEM = "[d:tmem!], [a:tmem!], bDesc:i64!, [bMeta:tmem!], idesc:i32"
BOTH = "{.collector_usage}{.collector_b}"
SPCOMPRESS = ".spcompress.sync.aligned.32x32b.num.redOp.sp::2:4"
COMPRESSED = {"num": "x4 x8 x16 x32 x64 x128", "redOp": "min max", "sm": "sm_107a", "ptx": "9.4"}
HALF = {"kind": "kind::f16 kind::tf32"}
BYTE = {"kind": "kind::f8f6f4 kind::i8@sm_100a+sm_110a kind::ti16@sm_107f,9.4"}
ANY = {"kind": "kind::f16 kind::tf32 kind::f8f6f4 kind::i8@sm_100a+sm_110a kind::ti16@sm_107f,9.4"}
ONE = "sm_100a+sm_103a+sm_107a+sm_110a"
VECTORS = {"scale_vectorsize": f"scale_vec::1X@{ONE} scale_vec::2X@{ONE} scale_vec::4X@{ONE} "
                               "block16@,8.8 block32@,8.8"}
MX = {"kind": "kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4@,8.7"}
MXSP = {"kind": f"kind::mxf8f6f4 kind::mxf4@{ONE} kind::mxf4nvf4@{ONE},8.7"}
BY_KIND = (
    "kind=kind::mxf8f6f4: scale_vectorsize?=scale_vec::1X|block32; "
    "kind=kind::mxf4: scale_vectorsize?=scale_vec::2X|block32; "
    "kind=kind::mxf4nvf4: scale_vectorsize=scale_vec::2X|scale_vec::4X|block16|block32"
)
MMA = "tcgen05.mma{.sp}.cta_group.kind"
LUT = "tcgen05.mma.cta_group.kind::f8f6f4.decompress::lut::b"
LUT_SCALED = "tcgen05.mma.cta_group.kind::mxf8f6f4.block_scale.decompress::lut::b{.block32}"
READ = "sync_restrict::shared::read::mma::a@sm_107f,9.4"
MULTICAST = "multicast::cluster multicast::cluster::16b@,9.4"

FORMS = chapter(
    "TensorCore 5th Generation Instructions",
    instruction(
        "tcgen05", "tcgen05-instructions-tcgen05-alloc-dealloc-relinquish-alloc-permit",
        "Allocate columns of Tensor Memory, free them, or give up allocating.",
        row(f"tcgen05.alloc.cta_group.sync.aligned{{.ss}}.b32  [dst:ss%4], {COLUMNS}",
            ss="shared::cta", **GROUP, **BLACKWELL),
        row(f"tcgen05.dealloc.cta_group.sync.aligned.b32  taddr:i32!, {COLUMNS}",
            **GROUP, **BLACKWELL),
        # all of it
        row(f"tcgen05.alloc.exclusive.cta_group.sync.aligned{{.ss}}.b32  [dst:ss%4], {ALL}",
            ss="shared::cta", **GROUP, **EXCLUSIVE),
        row(f"tcgen05.dealloc.exclusive.cta_group.sync.aligned.b32  taddr:i32!, {ALL}",
            **GROUP, **EXCLUSIVE),
        row("tcgen05.relinquish_alloc_permit.cta_group.sync.aligned", **GROUP, **BLACKWELL),
    ),
    instruction(
        "tcgen05", "tcgen05-instructions-tcgen05-ld",
        "Load registers of a warp from Tensor Memory.",
        row("tcgen05.ld.sync.aligned.shape.num{.pack::16b}.b32  out {r}*num:b32, [taddr:tmem!]",
            shape="16x64b 32x32b", num=NUM, **BLACKWELL),
        row("tcgen05.ld.sync.aligned.16x128b.num{.pack::16b}.b32  out r*num*2:b32, [taddr:tmem!]",
            num=NUM2, **BLACKWELL),
        row("tcgen05.ld.sync.aligned.16x256b.num{.pack::16b}.b32  out r*num*4:b32, [taddr:tmem!]",
            num=NUM4, **BLACKWELL),
        row("tcgen05.ld.sync.aligned.16x32bx2.num{.pack::16b}.b32"
            f"  out {{r}}*num:b32, [taddr:tmem!], {SPLIT}", num=NUM, **BLACKWELL),
        # with the least or the greatest of the loaded
        row("tcgen05.ld.red.sync.aligned.32x32b.num.redOp{.abs}{.NaN}.f32"
            "  out r*num:f32, out redval:f32, [taddr:tmem!]",
            num=REDUCED, redOp="min max", **REDUCING),
        row("tcgen05.ld.red.sync.aligned.16x32bx2.num.redOp{.abs}{.NaN}.f32"
            f"  out r*num:f32, out redval:f32, [taddr:tmem!], {SPLIT}",
            num=REDUCED, redOp="min max", **REDUCING),
        row("tcgen05.ld.red.sync.aligned.32x32b.num.redOp.T"
            "  out r*num:T, out redval:T, [taddr:tmem!]",
            num=REDUCED, redOp="min max", T="u32 s32", **REDUCING),
        row("tcgen05.ld.red.sync.aligned.16x32bx2.num.redOp.T"
            f"  out r*num:T, out redval:T, [taddr:tmem!], {SPLIT}",
            num=REDUCED, redOp="min max", T="u32 s32", **REDUCING),
        # with half of the loaded left out
        row(f"tcgen05.ld{SPCOMPRESS}{{.abs}}.f32.b2"
            "  out {mdata}*num/32:b32, out cdata*num/2:b32, [taddr:tmem!]", **COMPRESSED),
        row(f"tcgen05.ld.red{SPCOMPRESS}{{.abs}}{{.NaN}}.f32.b2"
            "  out {mdata}*num/32:b32, out cdata*num/2:b32, out redval:f32, [taddr:tmem!]",
            **COMPRESSED),
    ),
    instruction(
        "tcgen05", "tcgen05-instructions-tcgen05-st",
        "Store registers of a warp to Tensor Memory.",
        row("tcgen05.st.sync.aligned.shape.num{.unpack::16b}.b32  [taddr:tmem!], {r}*num:b32!",
            shape="16x64b 32x32b", num=NUM, **BLACKWELL),
        row("tcgen05.st.sync.aligned.16x128b.num{.unpack::16b}.b32  [taddr:tmem!], r*num*2:b32!",
            num=NUM2, **BLACKWELL),
        row("tcgen05.st.sync.aligned.16x256b.num{.unpack::16b}.b32  [taddr:tmem!], r*num*4:b32!",
            num=NUM4, **BLACKWELL),
        row("tcgen05.st.sync.aligned.16x32bx2.num{.unpack::16b}.b32"
            f"  [taddr:tmem!], {SPLIT}, {{r}}*num:b32!", num=NUM, **BLACKWELL),
    ),
    instruction(
        "tcgen05", "tcgen05-instructions-tcgen05-wait",
        "Wait until this thread's loads from, or stores to, Tensor Memory are complete.",
        row("tcgen05.wait_operation.sync.aligned", wait_operation="wait::ld wait::st",
            **BLACKWELL),
    ),
    instruction(
        "tcgen05", "tcgen05-instructions-tcgen05-cp",
        "Copy from shared to Tensor Memory without waiting.",
        row("tcgen05.cp.cta_group.shape{.b8x16}{.src_fmt}  [taddr:tmem!], sDesc:i64!",
            shape="128x256b 4x256b 128x128b", **GROUP, **FORMAT, **BLACKWELL),
        row("tcgen05.cp.cta_group.64x128b.multicast{.b8x16}{.src_fmt}  [taddr:tmem!], sDesc:i64!",
            multicast="warpx2::02_13 warpx2::01_23", **GROUP, **FORMAT, **BLACKWELL),
        row("tcgen05.cp.cta_group.32x128b.warpx4{.b8x16}{.src_fmt}  [taddr:tmem!], sDesc:i64!",
            **GROUP, **FORMAT, **BLACKWELL),
    ),
    instruction(
        "tcgen05", "tcgen05-instructions-tcgen05-shift",
        "Move the rows of a matrix in Tensor Memory down by one.",
        row("tcgen05.shift.cta_group.down  [taddr:tmem!]", **GROUP, **SPECIFIC),
    ),
    instruction(
        "tcgen05", "tcgen05-instructions-tcgen05-mma",
        "Multiply matrices of shared or Tensor Memory and add, in Tensor Memory, without waiting.",
        # in each pair the second has lanes that are not written
        *(row(f"{MMA}{BOTH}  {FROM_SHARED}, {lanes}{ENABLE}, {SCALE}",
              **HALF, **GROUP, **COLLECTOR, **COLLECTOR_B, **BLACKWELL)
          for lanes in EITHER),
        *(row(f"{MMA}{{.ashift}}{BOTH}  {FROM_TMEM}, {lanes}{ENABLE}, {SCALE}",
              rules=SHIFTED, **HALF, **GROUP, **COLLECTOR, **COLLECTOR_B, **BLACKWELL)
          for lanes in EITHER),
        *(row(f"{MMA}{BOTH}  {FROM_SHARED}, {lanes}{ENABLE}",
              rules=NOT_I8, **BYTE, **GROUP, **COLLECTOR, **COLLECTOR_B, **BLACKWELL)
          for lanes in EITHER),
        *(row(f"{MMA}{{.ashift}}{BOTH}  {FROM_TMEM}, {lanes}{ENABLE}",
              rules=f"{SHIFTED}; {NOT_I8}", **BYTE, **GROUP, **COLLECTOR, **COLLECTOR_B,
              **BLACKWELL)
          for lanes in EITHER),
        # with a scale for each block of elements
        *(row(f"tcgen05.mma.cta_group.kind.block_scale{{.scale_vectorsize}}{BOTH}"
              f"  {operands}, {SCALES}, {ENABLE}", rules=BY_KIND, **MX, **GROUP, **VECTORS, **COLLECTOR, **COLLECTOR_B, **BLACKWELL)
          for operands in (DENSE_SHARED, DENSE_TMEM)),
        *(row(f"tcgen05.mma.sp.cta_group.kind.block_scale{{.scale_vectorsize}}{BOTH}"
              f"  {operands}, {SCALES}, {ENABLE}", rules=BY_KIND, **MXSP, **GROUP, **VECTORS, **COLLECTOR, **COLLECTOR_B, **BLACKWELL)
          for operands in (SPARSE_SHARED, SPARSE_TMEM)),
        # with the elements of the second matrix in a table
        *(row(f"{LUT}{BOTH}  {operands}, {lanes}{ENABLE}",
              **GROUP, **COLLECTOR, **COLLECTOR_B, **RUBIN)
          for operands in (LUT_SHARED, LUT_TMEM) for lanes in EITHER),
        *(row(f"{LUT_SCALED}{BOTH}  {operands}, {SCALES}, {ENABLE}",
              **GROUP, **COLLECTOR, **COLLECTOR_B, **RUBIN)
          for operands in (LUT_SHARED, LUT_TMEM)),
    ),
    instruction(
        "tcgen05", "tcgen05-instructions-tcgen05-mma-ws",
        "Multiply like tcgen05.mma, with the second matrix held in place.",
        row("tcgen05.mma.ws{.sp}.cta_group::1.kind{.collector_usage}"
            f"  {FROM_SHARED}, {ENABLE}, zeroColumnMaskDesc:i64?",
            **ANY, **COLLECTORS, **BLACKWELL),
        row("tcgen05.mma.ws{.sp}.cta_group::1.kind{.collector_usage}"
            f"  {FROM_TMEM}, {ENABLE}, zeroColumnMaskDesc:i64?",
            **ANY, **COLLECTORS, **BLACKWELL),
    ),
    instruction(
        "tcgen05", "tcgen05-instructions-tcgen05-commit",
        "Make an mbarrier follow the asynchronous instructions of this thread so far.",
        row("tcgen05.commit.cta_group.mbarrier::arrive::one{.sync_restrict}{.space}{.multicast}.b64"
            "  [mbar:space%8], ctaMask:u16@multicast", sync_restrict=READ, multicast=MULTICAST,
            space="shared::cluster", **GROUP, **BLACKWELL),
        row("tcgen05.commit.cta_group.mbarrier::arrive::one{.sync_restrict}{.space}"
            ".multicast::cluster::32b.b64  [mbar:space%8], ctaMask:u32", sync_restrict=READ,
            space="shared::cluster", **GROUP, **RUBIN),
    ),
    instruction(
        "tcgen05", "tcgen05-instructions-tcgen05-fence",
        "Order asynchronous instructions of Tensor Cores with those of other threads.",
        row("tcgen05.fence_operation",
            fence_operation="fence::before_thread_sync fence::after_thread_sync", **BLACKWELL),
    ),
)
