"""Matrices that the threads of a warp hold together: loading, storing, transposing, multiplying."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

# Fragments: what one thread holds. Elements under 32 bits share a register.
A1, A2, A4, A8 = "{a}*1:i32!", "a*2:i32!", "a*4:i32!", "a*8:i32!"
B1, B2, B4, B8 = "{b}*1:i32!", "b*2:i32!", "b*4:i32!", "b*8:i32!"
D2, C2, D4, C4 = "out d*2:i32", "c*2:i32!", "out d*4:i32", "c*4:i32!"
F4, E4, F8, E8 = "out d*4:f32", "c*4:f32", "out d*8:f32", "c*8:f32"
I2, J2, I4, J4, I8, J8 = (
    "out d*2:s32", "c*2:s32", "out d*4:s32", "c*4:s32", "out d*8:s32", "c*8:s32"
)
META = "e:i32!, #f:u32"
SCALES = "scaleA:i32!, {idA}*2:u16(0..3), scaleB:i32!, {idB}*2:u16(0..3)"

SS = "shared shared::cta@,7.8"
SS8 = "shared shared::cta"
AB8 = {"atype": "s8 u8", "btype": "s8 u8"}
AB4 = {"atype": "s4 u4", "btype": "s4 u4"}
SAME8 = AB8 | {"rules": "atype=s8: btype=s8; atype=u8: btype=u8"}
SAME4 = AB4 | {"rules": "atype=s4: btype=s4; atype=u4: btype=u4"}
FP8 = {"atype": "e4m3 e5m2", "btype": "e4m3 e5m2"}
F8F6F4 = {"atype": "e4m3 e5m2 e3m2 e2m3 e2m1", "btype": "e4m3 e5m2 e3m2 e2m3 e2m1"}
SPARSE = {"sp": "sp sp::ordered_metadata@,8.5", "sm": "sm_80", "ptx": "7.1"}
ORDERED = {"sp": "sp::ordered_metadata"}
TURING = {"ptx": "6.5"}
AMPERE = {"sm": "sm_80", "ptx": "7.0"}
ADA = {"sm": "sm_89", "ptx": "8.4"}
HOPPER = {"sm": "sm_90", "ptx": "7.8"}
NARROW = {"sm": "sm_100f sm_110f sm_120f", "ptx": "8.6"}
SCALED = {"sm": "sm_120f", "ptx": "8.7"}
SPECIFIC = {"sm": "sm_120a sm_121a", "ptx": "8.7"}
NVF4 = {"scale_vec_size": "scale_vec::2X scale_vec::4X", "stype": "ue8m0 ue4m3",
        "rules": "scale_vec_size=scale_vec::2X: stype=ue8m0; "
                 "scale_vec_size=scale_vec::4X: stype=ue4m3"}
ROUNDED = {"rnd": "rn rz rm rp"}
LAYOUTS = {"alayout": "row col", "blayout": "row col"}
LAYOUT = {"layout": "row col"}
ALL3 = {"shape": "m16n16k16 m8n32k16 m32n8k16"}
WSS = {"ss": "global shared shared::cta@,7.8"}
STRIDE = "[p:ss], stride:u32?"
MMA = "mma.sync.aligned"
SP = "mma.sp.sync.aligned"
LD, ST, WMMA = "wmma.load", "wmma.store", "wmma.mma.sync.aligned"

FORMS = chapter(
    "Warp Level Matrix Multiply-Accumulate Instructions",
    instruction(
        "ldmatrix", "warp-level-matrix-instructions-ldmatrix",
        "Load matrices from shared memory, spread over the warp.",
        row("ldmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16  out {r}*num:b32, [p:shared%16]",
            num="x1 x2 x4", ss=SS, ptx="6.5"),
        row("ldmatrix.sync.aligned.m16n16.num.trans{.ss}.b8  out r*num*2:b32, [p:shared%16]",
            num="x1 x2", ss=SS8, **NARROW),
        # 6-bit and 4-bit elements become bytes
        row("ldmatrix.sync.aligned.m16n16.num.trans{.ss}.b8x16.src_fmt"
            "  out r*num*2:b32, [p:shared%16]",
            num="x1 x2", ss=SS8, src_fmt="b6x16_p32 b4x16_p64", **NARROW),
        row("ldmatrix.sync.aligned.m8n16.num{.ss}.b8x16.src_fmt  out {r}*num:b32, [p:shared%16]",
            num="x1 x2 x4", ss=SS8, src_fmt="b6x16_p32 b4x16_p64", **NARROW),
        row("ldmatrix.sync.aligned.m8n16.num{.ss}.s8.s4  out {r}*num:b32, [p:shared%16]",
            num="x1 x2 x4", ss=SS8, sm="sm_90a sm_100f sm_110f sm_120f", ptx="9.4"),
    ),
    instruction(
        "stmatrix", "warp-level-matrix-instructions-stmatrix",
        "Store matrices that are spread over the warp to shared memory.",
        row("stmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16  [p:shared%16], {r}*num:b32!",
            num="x1 x2 x4", ss=SS8, **HOPPER),
        row("stmatrix.sync.aligned.m16n8.num.trans{.ss}.b8  [p:shared%16], {r}*num:b32!",
            num="x1 x2 x4", ss=SS8, **NARROW),
    ),
    instruction(
        "movmatrix", "warp-level-matrix-instructions-movmatrix",
        "Transpose a matrix that is spread over the warp.",
        row("movmatrix.sync.aligned.m8n8.trans.b16  out d:b32, a:i32!", ptx="7.8"),
    ),
    instruction(
        "mma", "warp-level-matrix-instructions-mma", "Multiply matrices of the warp and add.",
        # half precision
        row(f"{MMA}.m8n8k4.alayout.blayout.f16.f16.f16.f16  {D4}, {A2}, {B2}, {C4}",
            **LAYOUTS, ptx="6.4"),
        row(f"{MMA}.m8n8k4.alayout.blayout.f32.f16.f16.f16  {F8}, {A2}, {B2}, {C4}",
            **LAYOUTS, ptx="6.4"),
        row(f"{MMA}.m8n8k4.alayout.blayout.f32.f16.f16.f32  {F8}, {A2}, {B2}, {E8}",
            **LAYOUTS, ptx="6.4"),
        row(f"{MMA}.m16n8k8.row.col.f16.f16.f16.f16  {D2}, {A2}, {B1}, {C2}", **TURING),
        row(f"{MMA}.m16n8k8.row.col.f32.f16.f16.f32  {F4}, {A2}, {B1}, {E4}", **TURING),
        row(f"{MMA}.m16n8k16.row.col.f16.f16.f16.f16  {D2}, {A4}, {B2}, {C2}", **AMPERE),
        row(f"{MMA}.m16n8k16.row.col.f32.f16.f16.f32  {F4}, {A4}, {B2}, {E4}", **AMPERE),
        # alternate floating point
        row(f"{MMA}.m16n8k4.row.col.f32.tf32.tf32.f32  {F4}, {A2}, {B1}, {E4}", **AMPERE),
        row(f"{MMA}.m16n8k8.row.col.f32.tf32.tf32.f32  {F4}, {A4}, {B2}, {E4}", **AMPERE),
        row(f"{MMA}.m16n8k8.row.col.f32.bf16.bf16.f32  {F4}, {A2}, {B1}, {E4}", **AMPERE),
        row(f"{MMA}.m16n8k16.row.col.f32.bf16.bf16.f32  {F4}, {A4}, {B2}, {E4}", **AMPERE),
        row(f"{MMA}.m16n8k16.row.col.f16.atype.btype.f16  {D2}, {A2}, {B1}, {C2}",
            **FP8, sm="sm_89", ptx="8.7"),
        row(f"{MMA}.m16n8k16.row.col.f32.atype.btype.f32  {F4}, {A2}, {B1}, {E4}",
            **FP8, sm="sm_89", ptx="8.7"),
        row(f"{MMA}.m16n8k32.row.col.f16.atype.btype.f16  {D2}, {A4}, {B2}, {C2}",
            **FP8, sm="sm_89", ptx="8.7"),
        row(f"{MMA}.m16n8k32.row.col.f32.atype.btype.f32  {F4}, {A4}, {B2}, {E4}", **FP8, **ADA),
        row(f"{MMA}.m16n8k32.row.col.kind::f8f6f4.f16.atype.btype.f16  {D2}, {A4}, {B2}, {C2}",
            **F8F6F4, **SCALED),
        row(f"{MMA}.m16n8k32.row.col.kind::f8f6f4.f32.atype.btype.f32  {F4}, {A4}, {B2}, {E4}",
            **F8F6F4, **SCALED),
        # with a scale for each block of elements
        row(f"{MMA}.m16n8k64.row.col.kind::mxf4.block_scale{{.scale_vec::2X}}"
            f".f32.e2m1.e2m1.f32.ue8m0  {F4}, {A4}, {B2}, {E4}, {SCALES}", **SCALED),
        row(f"{MMA}.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec_size"
            f".f32.e2m1.e2m1.f32.stype  {F4}, {A4}, {B2}, {E4}, {SCALES}", **NVF4,
            **SCALED),
        row(f"{MMA}.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X"
            f".f32.e2m1.e2m1.f32.ue8m0  {F4}, {A4}, {B2}, {E4}, {SCALES}",
            **SCALED | {"ptx": "9.1"}),
        row(f"{MMA}.m16n8k32.row.col.kind::mxf8f6f4.block_scale{{.scale_vec::1X}}"
            f".f32.atype.btype.f32.ue8m0  {F4}, {A4}, {B2}, {E4}, {SCALES}", **F8F6F4, **SCALED),
        # double precision; the manual says how it may be rounded below its syntax lines
        row(f"{MMA}.m8n8k4.row.col{{.rnd}}.f64.f64.f64.f64"
            "  out d*2:f64, {a}*1:f64, {b}*1:f64, c*2:f64", **ROUNDED, **AMPERE),
        row(f"{MMA}.m16n8k4.row.col{{.rnd}}.f64.f64.f64.f64"
            "  out d*4:f64, a*2:f64, {b}*1:f64, c*4:f64", **ROUNDED, **HOPPER),
        row(f"{MMA}.m16n8k8.row.col{{.rnd}}.f64.f64.f64.f64"
            "  out d*4:f64, a*4:f64, b*2:f64, c*4:f64", **ROUNDED, **HOPPER),
        row(f"{MMA}.m16n8k16.row.col{{.rnd}}.f64.f64.f64.f64"
            "  out d*4:f64, a*8:f64, b*4:f64, c*4:f64", **ROUNDED, **HOPPER),
        # integers
        row(f"{MMA}.m8n8k16.row.col{{.satfinite}}.s32.atype.btype.s32  {I2}, {A1}, {B1}, {J2}",
            **AB8, **TURING),
        row(f"{MMA}.m16n8k16.row.col{{.satfinite}}.s32.atype.btype.s32  {I4}, {A2}, {B1}, {J4}",
            **AB8, **AMPERE),
        row(f"{MMA}.m16n8k32.row.col{{.satfinite}}.s32.atype.btype.s32  {I4}, {A4}, {B2}, {J4}",
            **AB8, **AMPERE),
        row(f"{MMA}.m8n8k32.row.col{{.satfinite}}.s32.atype.btype.s32  {I2}, {A1}, {B1}, {J2}",
            **AB4, **TURING),
        row(f"{MMA}.m16n8k32.row.col{{.satfinite}}.s32.atype.btype.s32  {I4}, {A2}, {B1}, {J4}",
            **AB4, **AMPERE),
        row(f"{MMA}.m16n8k64.row.col{{.satfinite}}.s32.atype.btype.s32  {I4}, {A4}, {B2}, {J4}",
            **AB4, **AMPERE),
        # single bits: the bits that remain of `op` are counted
        row(f"{MMA}.m8n8k128.row.col.s32.b1.b1.s32.op.popc  {I2}, {A1}, {B1}, {J2}",
            op="xor@,7.0 and@sm_80,7.1"),
        row(f"{MMA}.m16n8k128.row.col.s32.b1.b1.s32.op.popc  {I4}, {A2}, {B1}, {J4}",
            op="xor and@,7.1", **AMPERE),
        row(f"{MMA}.m16n8k256.row.col.s32.b1.b1.s32.op.popc  {I4}, {A4}, {B2}, {J4}",
            op="xor and@,7.1", **AMPERE),
    ),
    instruction(
        "mma", "warp-level-matrix-instructions-sparse-mma",
        "Multiply matrices of the warp, the first with half its elements left out, and add.",
        row(f"{SP}.m16n8k16.row.col.f16.f16.f16.f16  {D2}, {A2}, {B2}, {C2}, {META}(0..3)",
            **SPARSE),
        row(f"{SP}.m16n8k16.row.col.f32.f16.f16.f32  {F4}, {A2}, {B2}, {E4}, {META}(0..3)",
            **SPARSE),
        row(f"{SP}.m16n8k32.row.col.f16.f16.f16.f16  {D2}, {A4}, {B4}, {C2}, {META}(0 1)",
            **SPARSE),
        row(f"{SP}.m16n8k32.row.col.f32.f16.f16.f32  {F4}, {A4}, {B4}, {E4}, {META}(0 1)",
            **SPARSE),
        row(f"{SP}.m16n8k16.row.col.f32.bf16.bf16.f32  {F4}, {A2}, {B2}, {E4}, {META}(0..3)",
            **SPARSE),
        row(f"{SP}.m16n8k32.row.col.f32.bf16.bf16.f32  {F4}, {A4}, {B4}, {E4}, {META}(0 1)",
            **SPARSE),
        row(f"{SP}.m16n8k8.row.col.f32.tf32.tf32.f32  {F4}, {A2}, {B2}, {E4}, {META}(0..3)",
            **SPARSE),
        row(f"{SP}.m16n8k16.row.col.f32.tf32.tf32.f32  {F4}, {A4}, {B4}, {E4}, {META}(0 1)",
            **SPARSE),
        row(f"{SP}.m16n8k64.row.col.f32.atype.btype.f32  {F4}, {A4}, {B4}, {E4}, {META}(0)",
            **FP8, **SPARSE | ADA),
        row(f"{SP}.m16n8k64.row.col.kind::f8f6f4.f16.atype.btype.f16"
            f"  {D2}, {A4}, {B4}, {C2}, {META}(0)", **F8F6F4, **ORDERED, **SCALED),
        row(f"{SP}.m16n8k64.row.col.kind::f8f6f4.f32.atype.btype.f32"
            f"  {F4}, {A4}, {B4}, {E4}, {META}(0)", **F8F6F4, **ORDERED, **SCALED),
        row(f"{SP}.m16n8k128.row.col.kind::mxf4.block_scale{{.scale_vec::2X}}"
            f".f32.e2m1.e2m1.f32.ue8m0  {F4}, {A4}, {B4}, {E4}, {META}(0), {SCALES}",
            **ORDERED, **SPECIFIC),
        row(f"{SP}.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec_size"
            f".f32.e2m1.e2m1.f32.stype  {F4}, {A4}, {B4}, {E4}, {META}(0), {SCALES}", **NVF4,
            **ORDERED, **SPECIFIC),
        row(f"{SP}.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X"
            f".f32.e2m1.e2m1.f32.ue8m0  {F4}, {A4}, {B4}, {E4}, {META}(0), {SCALES}",
            **ORDERED, **SPECIFIC | {"ptx": "9.1"}),
        row(f"{SP}.m16n8k64.row.col.kind::mxf8f6f4.block_scale{{.scale_vec::1X}}"
            f".f32.atype.btype.f32.ue8m0  {F4}, {A4}, {B4}, {E4}, {META}(0), {SCALES}",
            **F8F6F4, **ORDERED, **SCALED),
        row(f"{SP}.m16n8k32.row.col{{.satfinite}}.s32.atype.btype.s32"
            f"  {I4}, {A2}, {B2}, {J4}, {META}(0 1)", **AB8, **SPARSE),
        row(f"{SP}.m16n8k64.row.col{{.satfinite}}.s32.atype.btype.s32"
            f"  {I4}, {A4}, {B4}, {J4}, {META}(0)", **AB8, **SPARSE),
        row(f"{SP}.m16n8k64.row.col{{.satfinite}}.s32.atype.btype.s32"
            f"  {I4}, {A2}, {B2}, {J4}, {META}(0 1)", **AB4, **SPARSE),
        row(f"{SP}.m16n8k128.row.col{{.satfinite}}.s32.atype.btype.s32"
            f"  {I4}, {A4}, {B4}, {J4}, {META}(0)", **AB4, **SPARSE),
    ),
    instruction(
        "wmma", "warp-level-matrix-instructions-wmma-ld",
        "Load a matrix, spread over the warp.",
        row(f"{LD}.ab.sync.aligned.layout.shape{{.ss}}.f16  out r*8:i32, {STRIDE}",
            ab="a b", **LAYOUT, **ALL3, **WSS),
        row(f"{LD}.c.sync.aligned.layout.shape{{.ss}}.f16  out r*4:i32, {STRIDE}",
            **LAYOUT, **ALL3, **WSS),
        row(f"{LD}.c.sync.aligned.layout.shape{{.ss}}.f32  out r*8:f32, {STRIDE}",
            **LAYOUT, **ALL3, **WSS),
        row(f"{LD}.ab.sync.aligned.layout.m16n16k16{{.ss}}.bf16  out r*4:i32, {STRIDE}",
            ab="a b", **LAYOUT, **WSS, **AMPERE),
        row(f"{LD}.a.sync.aligned.layout.m8n32k16{{.ss}}.bf16  out r*2:i32, {STRIDE}",
            **LAYOUT, **WSS, **AMPERE),
        row(f"{LD}.b.sync.aligned.layout.m8n32k16{{.ss}}.bf16  out r*8:i32, {STRIDE}",
            **LAYOUT, **WSS, **AMPERE),
        row(f"{LD}.a.sync.aligned.layout.m32n8k16{{.ss}}.bf16  out r*8:i32, {STRIDE}",
            **LAYOUT, **WSS, **AMPERE),
        row(f"{LD}.b.sync.aligned.layout.m32n8k16{{.ss}}.bf16  out r*2:i32, {STRIDE}",
            **LAYOUT, **WSS, **AMPERE),
        row(f"{LD}.ab.sync.aligned.layout.m16n16k8{{.ss}}.tf32  out r*4:i32, {STRIDE}",
            ab="a b", **LAYOUT, **WSS, **AMPERE),
        row(f"{LD}.c.sync.aligned.layout.m16n16k8{{.ss}}.f32  out r*8:f32, {STRIDE}",
            **LAYOUT, **WSS, **AMPERE),
        row(f"{LD}.ab.sync.aligned.layout.m8n8k4{{.ss}}.f64  out {{r}}*1:f64, {STRIDE}",
            ab="a b", **LAYOUT, **WSS, **AMPERE),
        row(f"{LD}.c.sync.aligned.layout.m8n8k4{{.ss}}.f64  out r*2:f64, {STRIDE}",
            **LAYOUT, **WSS, **AMPERE),
        row(f"{LD}.ab.sync.aligned.layout.m16n16k16{{.ss}}.T  out r*2:i32, {STRIDE}",
            ab="a b", T="s8 u8", **LAYOUT, **WSS),
        row(f"{LD}.a.sync.aligned.layout.m8n32k16{{.ss}}.T  out {{r}}*1:i32, {STRIDE}",
            T="s8 u8", **LAYOUT, **WSS),
        row(f"{LD}.b.sync.aligned.layout.m8n32k16{{.ss}}.T  out r*4:i32, {STRIDE}",
            T="s8 u8", **LAYOUT, **WSS),
        row(f"{LD}.a.sync.aligned.layout.m32n8k16{{.ss}}.T  out r*4:i32, {STRIDE}",
            T="s8 u8", **LAYOUT, **WSS),
        row(f"{LD}.b.sync.aligned.layout.m32n8k16{{.ss}}.T  out {{r}}*1:i32, {STRIDE}",
            T="s8 u8", **LAYOUT, **WSS),
        row(f"{LD}.c.sync.aligned.layout.shape{{.ss}}.s32  out r*8:s32, {STRIDE}",
            **LAYOUT, **ALL3, **WSS),
        row(f"{LD}.a.sync.aligned.row.m8n8k32{{.ss}}.T  out {{r}}*1:i32, {STRIDE}",
            T="s4 u4", **WSS),
        row(f"{LD}.b.sync.aligned.col.m8n8k32{{.ss}}.T  out {{r}}*1:i32, {STRIDE}",
            T="s4 u4", **WSS),
        row(f"{LD}.a.sync.aligned.row.m8n8k128{{.ss}}.b1  out {{r}}*1:i32, {STRIDE}", **WSS),
        row(f"{LD}.b.sync.aligned.col.m8n8k128{{.ss}}.b1  out {{r}}*1:i32, {STRIDE}", **WSS),
        row(f"{LD}.c.sync.aligned.layout.shape{{.ss}}.s32  out r*2:s32, {STRIDE}",
            shape="m8n8k32 m8n8k128", **LAYOUT, **WSS),
    ),
    instruction(
        "wmma", "warp-level-matrix-instructions-wmma-st",
        "Store a matrix that is spread over the warp.",
        row(f"{ST}.d.sync.aligned.layout.shape{{.ss}}.f16  [p:ss], r*4:i32!, stride:u32?",
            **LAYOUT, **ALL3, **WSS),
        row(f"{ST}.d.sync.aligned.layout.shape{{.ss}}.f32  [p:ss], r*8:f32, stride:u32?",
            shape="m16n16k16 m8n32k16 m32n8k16 m16n16k8@sm_80,7.0", **LAYOUT, **WSS),
        row(f"{ST}.d.sync.aligned.layout.m8n8k4{{.ss}}.f64  [p:ss], r*2:f64, stride:u32?",
            **LAYOUT, **WSS, **AMPERE),
        row(f"{ST}.d.sync.aligned.layout.shape{{.ss}}.s32  [p:ss], r*8:s32, stride:u32?",
            **LAYOUT, **ALL3, **WSS),
        row(f"{ST}.d.sync.aligned.layout.shape{{.ss}}.s32  [p:ss], r*2:s32, stride:u32?",
            shape="m8n8k32 m8n8k128", **LAYOUT, **WSS),
    ),
    instruction(
        "wmma", "warp-level-matrix-instructions-wmma-mma",
        "Multiply matrices that wmma.load has spread over the warp, and add.",
        row(f"{WMMA}.alayout.blayout.shape.f16.f16  {D4}, {A8}, {B8}, {C4}", **LAYOUTS, **ALL3),
        row(f"{WMMA}.alayout.blayout.shape.f16.f32  {D4}, {A8}, {B8}, {E8}", **LAYOUTS, **ALL3),
        row(f"{WMMA}.alayout.blayout.shape.f32.f16  {F8}, {A8}, {B8}, {C4}", **LAYOUTS, **ALL3),
        row(f"{WMMA}.alayout.blayout.shape.f32.f32  {F8}, {A8}, {B8}, {E8}", **LAYOUTS, **ALL3),
        row(f"{WMMA}.alayout.blayout.m16n16k16.f32.bf16.bf16.f32  {F8}, {A4}, {B4}, {E8}",
            **LAYOUTS, **AMPERE),
        row(f"{WMMA}.alayout.blayout.m8n32k16.f32.bf16.bf16.f32  {F8}, {A2}, {B8}, {E8}",
            **LAYOUTS, **AMPERE),
        row(f"{WMMA}.alayout.blayout.m32n8k16.f32.bf16.bf16.f32  {F8}, {A8}, {B2}, {E8}",
            **LAYOUTS, **AMPERE),
        row(f"{WMMA}.alayout.blayout.m16n16k8.f32.tf32.tf32.f32  {F8}, {A4}, {B4}, {E8}",
            **LAYOUTS, **AMPERE),
        row(f"{WMMA}.alayout.blayout.m8n8k4{{.rnd}}.f64.f64.f64.f64"
            "  out d*2:f64, {a}*1:f64, {b}*1:f64, c*2:f64", **ROUNDED, **LAYOUTS, **AMPERE),
        row(f"{WMMA}.alayout.blayout.m16n16k16.s32.atype.btype.s32{{.satfinite}}"
            f"  {I8}, {A2}, {B2}, {J8}", **SAME8, **LAYOUTS),
        row(f"{WMMA}.alayout.blayout.m8n32k16.s32.atype.btype.s32{{.satfinite}}"
            f"  {I8}, {A1}, {B4}, {J8}", **SAME8, **LAYOUTS),
        row(f"{WMMA}.alayout.blayout.m32n8k16.s32.atype.btype.s32{{.satfinite}}"
            f"  {I8}, {A4}, {B1}, {J8}", **SAME8, **LAYOUTS),
        row(f"{WMMA}.row.col.m8n8k32.s32.atype.btype.s32{{.satfinite}}  {I2}, {A1}, {B1}, {J2}",
            **SAME4),
        row("wmma.mma.op.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"
            f"  {I2}, {A1}, {B1}, {J2}", op="xor and@sm_80,7.1"),
    ),
)
