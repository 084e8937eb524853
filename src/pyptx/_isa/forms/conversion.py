"""Conversion between types: cvt and cvt.pack."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

INT = "u8 u16 u32 u64 s8 s16 s32 s64"
IRND = "rni rzi rmi rpi"
FRND = "rn rz rm rp"
F8 = "e4m3x2 e5m2x2"
F6 = "e2m3x2 e3m2x2"
F4 = "e2m1x2"
SCALE = "scale:b16!@scaled::n2::ue8m0"
ONE = "scale:b8!@scaled::n1::ue8m0"
# .sat is legal only where the destination does not hold every value of the source.
NARROWING = """
    D=u8: A=u16|u32|u64|s8|s16|s32|s64; D=u16: A=u32|u64|s8|s16|s32|s64;
    D=u32: A=u64|s8|s16|s32|s64; D=u64: A=s8|s16|s32|s64;
    D=s8: A=u8|u16|u32|u64|s16|s32|s64; D=s16: A=u16|u32|u64|s32|s64;
    D=s32: A=u32|u64|s64; D=s64: A=u64
"""
# The family-specific targets that know the formats of 4 and 6 bits.
SMALL = "sm_100f sm_110f sm_120f"
# The targets that round with random bits, and those that know fixed point.
RANDOM = "sm_100a sm_103a sm_107a"
RUBIN = {"sm": "sm_107f", "ptx": "9.4"}
# Negative zero becomes zero; to narrow types also rounded to zero, with a scale for both numbers.
PZO = "pzo@sm_107f,9.4"
NARROW = {"frnd2": "rn rz@sm_107f,9.4", "pzo": PZO,
          "scaled::n1::ue8m0": "scaled::n1::ue8m0@sm_107f,9.4"}
FIXED = "sm_100a sm_103a sm_107a sm_110a sm_120a sm_121a"

FORMS = chapter(
    "Data Movement and Conversion Instructions",
    instruction(
        "cvt", "data-movement-and-conversion-instructions-cvt", "Convert to another type.",
        # integer to integer
        row("cvt.D.A  out d:D>, a:A>|special", D=INT, A=INT),
        row("cvt.sat.D.A  out d:D>, a:A>|special", D=INT, A=INT, rules=NARROWING),
        # floating point to integer
        row("cvt.irnd{.ftz}{.sat}.D.f32  out d:D>, a:f32", irnd=IRND, D=INT),
        row("cvt.irnd{.sat}.D.A  out d:D>, a:A", irnd=IRND, D=INT, A="f16 f64"),
        row("cvt.irnd.D.bf16  out d:D, a:bf16", irnd=IRND, D=INT, sm="sm_90", ptx="7.8"),
        # integer to floating point
        row("cvt.frnd{.ftz}{.sat}.f32.A  out d:f32, a:A>", frnd=FRND, A=INT),
        row("cvt.frnd{.sat}.D.A  out d:D, a:A>", frnd=FRND, D="f16 f64", A=INT),
        row("cvt.frnd.bf16.A  out d:bf16, a:A", frnd=FRND, A=INT, sm="sm_90", ptx="7.8"),
        # to a wider floating-point type
        row("cvt{.ftz}{.sat}.f64.f32  out d:f64, a:f32"),
        row("cvt{.ftz}{.sat}.f32.f16  out d:f32, a:f16"),
        row("cvt{.sat}.f64.f16  out d:f64, a:f16"),
        row("cvt{.ftz}.f32.bf16  out d:f32, a:bf16", ftz="ftz@sm_90,7.8", sm="sm_80", ptx="7.1"),
        row("cvt{.frnd}.f64.bf16  out d:f64, a:bf16", frnd=FRND, sm="sm_90", ptx="7.8"),
        # to the same type, perhaps rounded to an integer
        row("cvt{.irnd}{.ftz}{.sat}.f32.f32  out d:f32, a:f32", irnd=IRND),
        row("cvt{.irnd}{.sat}.f64.f64  out d:f64, a:f64", irnd=IRND),
        row("cvt{.irnd}{.sat}.f16.f16  out d:f16, a:f16", irnd=IRND),
        row("cvt{.irnd}.bf16.bf16  out d:bf16, a:bf16", irnd=IRND, sm="sm_90", ptx="7.8"),
        # to a narrower floating-point type
        row("cvt.frnd{.ftz}{.sat}.D.A  out d:D, a:A", frnd=FRND, D="f32 f16", A="f64 f32",
            rules="D=f32: A=f64; D=f16: A=f32"),
        row("cvt.frnd{.sat}.f16.f64  out d:f16, a:f64", frnd=FRND),
        row("cvt.frnd.bf16.f64  out d:bf16, a:f64", frnd=FRND, sm="sm_90", ptx="7.8"),
        row("cvt.frnd.bf16.f16  out d:bf16, a:f16", frnd=FRND, sm="sm_90", ptx="7.8"),
        row("cvt.frnd.f16.bf16  out d:f16, a:bf16", frnd=FRND, sm="sm_90", ptx="7.8"),
        row("cvt.frnd.bf16.f32  out d:bf16, a:f32", frnd="rm rp", sm="sm_80", ptx="7.0"),
        row("cvt.frnd.ftz.bf16.f32  out d:bf16, a:f32", frnd=FRND, sm="sm_80", ptx="7.0"),
        row("cvt.frnd2{.relu}{.satfinite}{.pzo}.bf16.f32  out d:bf16, a:f32", frnd2="rn rz",
            satfinite="satfinite@,8.1", pzo=PZO, sm="sm_80", ptx="7.0"),
        row("cvt.frnd2.relu{.satfinite}{.pzo}.f16.f32  out d:f16, a:f32", frnd2="rn rz",
            satfinite="satfinite@,8.1", pzo=PZO, sm="sm_80", ptx="7.0"),
        row("cvt.frnd2.satfinite{.pzo}.f16.f32  out d:f16, a:f32", frnd2="rn rz", pzo=PZO,
            ptx="8.1"),
        row("cvt.frnd2.pzo.f16.f32  out d:f16, a:f32", frnd2="rn rz", **RUBIN),
        # f32 to a pair of 16-bit numbers
        row("cvt.frnd2{.relu}{.satfinite}{.pzo}.D.f32  out d:D, a:f32, b:f32", frnd2="rn rz",
            satfinite="satfinite@,8.1", pzo=PZO, D="f16x2 bf16x2", sm="sm_80", ptx="7.0"),
        row("cvt.rs{.relu}{.satfinite}.D.f32  out d:D, a:f32, b:f32, rbits:i32!",
            D="f16x2 bf16x2", sm=RANDOM, ptx="8.7"),
        # f32 to tf32
        row("cvt.rna{.satfinite}.tf32.f32  out d:tf32, a:f32", satfinite="satfinite@,8.1",
            sm="sm_80", ptx="7.0"),
        row("cvt.frnd2{.satfinite}{.relu}{.pzo}.tf32.f32  out d:tf32, a:f32", frnd2="rn rz",
            satfinite="satfinite@sm_100,8.6", pzo=PZO, sm="sm_90", ptx="7.8"),
        # to and from pairs and fours of 8-bit numbers
        row("cvt.frnd2.satfinite{.relu}{.pzo}{.scaled::n1::ue8m0}.D.f32"
            f"  out d:D, a:f32, b:f32, {ONE}", D=F8, **NARROW, sm="sm_89", ptx="8.1"),
        row("cvt.frnd2.satfinite{.relu}{.pzo}{.scaled::n1::ue8m0}.D.f16x2"
            f"  out d:D, a:f16x2, {ONE}", D=F8, **NARROW, sm="sm_89", ptx="8.1"),
        row("cvt.frnd2.satfinite{.relu}{.pzo}{.scaled::n1::ue8m0}.D.bf16x2"
            f"  out d:D, a:bf16x2, {ONE}", D=F8, **NARROW, sm=SMALL, ptx="9.1"),
        row("cvt.rn{.relu}.f16x2.A  out d:f16x2, a:A", A=F8, sm="sm_89", ptx="8.1"),
        row("cvt.rs{.relu}.satfinite.D.f32  out d:D, a*4:f32, rbits:i32!", D="e4m3x4 e5m2x4",
            sm=RANDOM, ptx="8.7"),
        # to and from pairs and fours of 4-bit and 6-bit numbers
        row("cvt.frnd2.satfinite{.relu}{.pzo}{.scaled::n1::ue8m0}.D.f32"
            f"  out d:D, a:f32, b:f32, {ONE}", D=f"{F4} {F6}", **NARROW, sm=SMALL, ptx="8.6"),
        row("cvt.frnd2.satfinite{.relu}{.pzo}{.scaled::n1::ue8m0}.D.A"
            f"  out d:D, a:A, {ONE}", D=f"{F4} {F6}", A="f16x2 bf16x2", **NARROW,
            sm=SMALL, ptx="9.1"),
        row("cvt.rn{.relu}.f16x2.A  out d:f16x2, a:A", A=f"{F4} {F6}", sm=SMALL, ptx="8.6"),
        row("cvt.rs{.relu}.satfinite.D.f32  out d:D, a*4:f32, rbits:i32!",
            D="e2m1x4 e2m3x4 e3m2x4", sm=RANDOM, ptx="8.7"),
        row("cvt.rn{.satfinite}{.relu}{.scaled::n2::ue8m0}.bf16x2.A"
            f"  out d:bf16x2, a:A, {SCALE}", A=f"{F8} {F6} {F4}", sm=SMALL, ptx="9.2"),
        # to and from powers of two
        row("cvt.frnd3{.satfinite}.ue8m0x2.f32  out d:ue8m0x2, a:f32, b:f32", frnd3="rz rp",
            sm=SMALL, ptx="8.6"),
        row("cvt.frnd3{.satfinite}.ue8m0x2.bf16x2  out d:ue8m0x2, a:bf16x2", frnd3="rz rp",
            sm=SMALL, ptx="8.6"),
        row("cvt.rn.bf16x2.ue8m0x2  out d:bf16x2, a:ue8m0x2", sm=SMALL, ptx="8.6"),
        # to and from numbers without a sign
        row("cvt.frnd4{.satfinite}.ue5m3x2.f32  out d:ue5m3x2, a:f32, b:f32", frnd4="rn rz rp",
            **RUBIN),
        row("cvt.frnd2{.satfinite}.scaled::n1::ue8m0.ue5m3x2.f32"
            "  out d:ue5m3x2, a:f32, b:f32, scale:b8!", frnd2="rn rz", **RUBIN),
        row("cvt.frnd4{.satfinite}.ue5m3x2.A  out d:ue5m3x2, a:A", frnd4="rn rz rp",
            A="f16x2 bf16x2", **RUBIN),
        row("cvt.frnd2{.satfinite}.scaled::n1::ue8m0.ue5m3x2.A"
            "  out d:ue5m3x2, a:A, scale:b8!", frnd2="rn rz", A="f16x2 bf16x2", **RUBIN),
        row("cvt.rn.f16x2.ue5m3x2  out d:f16x2, a:ue5m3x2", **RUBIN),
        row("cvt.rn{.satfinite}{.scaled::n2::ue8m0}.bf16x2.ue5m3x2"
            f"  out d:bf16x2, a:ue5m3x2, {SCALE}", **RUBIN),
        # to and from fixed point
        row("cvt.frnd2.satfinite{.relu}{.scaled::n2::ue8m0}.s2f6x2.f32"
            f"  out d:s2f6x2, a:f32, b:f32, {SCALE}", frnd2="rn rz@sm_107a,9.4",
            sm=FIXED, ptx="9.1"),
        row("cvt.frnd2.satfinite{.relu}{.scaled::n2::ue8m0}.s2f6x2.bf16x2"
            f"  out d:s2f6x2, a:bf16x2, {SCALE}", frnd2="rn rz@sm_107a,9.4",
            sm=FIXED, ptx="9.1"),
        row("cvt.rn{.satfinite}{.relu}{.scaled::n2::ue8m0}.bf16x2.s2f6x2"
            f"  out d:bf16x2, a:s2f6x2, {SCALE}",
            sm=FIXED, ptx="9.1"),
    ),
    instruction(
        "cvt", "data-movement-and-conversion-instructions-cvt-pack",
        "Convert two integers to a narrower type and pack them.",
        row("cvt.pack.sat.D.s32  out d:i32, a:s32, b:s32", D="u16 s16", ptx="6.5"),
        row("cvt.pack.sat.D.s32.b32  out d:i32, a:s32, b:s32, c:b32",
            D="u2 s2 u4 s4 u8 s8", ptx="6.5"),
    ),
)
