"""Comparison and selection, also of 16-bit numbers."""

from pyptx.isa.syntax import chapter, instruction, row

BITS = "b16 b32 b64"
UNSIGNED = "u16 u32 u64"
SIGNED = "s16 s32 s64"
INTEGER_CMP = "eq ne lt le gt ge lo ls hi hs"
FLOAT_CMP = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"
BOOL = "and or xor"
UNSIGNED_ONLY = "cmp=lo|ls|hi|hs: T=u16|u32|u64"

FORMS = chapter(
    "Comparison and Selection Instructions",
    instruction(
        "set", "comparison-and-selection-instructions-set",
        "Compare, and write the truth as a number.",
        row("set.cmp.D.T  out d:D, a:T, b:T", cmp="eq ne", D="u32 s32 f32", T=BITS),
        row("set.cmp.D.T  out d:D, a:T, b:T", cmp=INTEGER_CMP, D="u32 s32 f32",
            T="u16 u32 u64 s16 s32 s64", rules=UNSIGNED_ONLY),
        row("set.cmp{.ftz}.D.f32  out d:D, a:f32, b:f32", cmp=FLOAT_CMP, D="u32 s32 f32"),
        row("set.cmp.D.f64  out d:D, a:f64, b:f64", cmp=FLOAT_CMP, D="u32 s32 f32"),
        row("set.cmp.bool.D.T  out d:D, a:T, b:T, {!}c:pred", cmp="eq ne", bool=BOOL,
            D="u32 s32 f32", T=BITS),
        row("set.cmp.bool.D.T  out d:D, a:T, b:T, {!}c:pred", cmp=INTEGER_CMP, bool=BOOL,
            D="u32 s32 f32", T="u16 u32 u64 s16 s32 s64", rules=UNSIGNED_ONLY),
        row("set.cmp.bool{.ftz}.D.f32  out d:D, a:f32, b:f32, {!}c:pred", cmp=FLOAT_CMP,
            bool=BOOL, D="u32 s32 f32"),
        row("set.cmp.bool.D.f64  out d:D, a:f64, b:f64, {!}c:pred", cmp=FLOAT_CMP, bool=BOOL,
            D="u32 s32 f32"),
    ),
    instruction(
        "setp", "comparison-and-selection-instructions-setp",
        "Compare, and write the truth to a predicate, its opposite to a second one.",
        row("setp.cmp.T  out p{|q}:pred, a:T, b:T", cmp="eq ne", T=BITS),
        row("setp.cmp.T  out p{|q}:pred, a:T, b:T", cmp=INTEGER_CMP,
            T="u16 u32 u64 s16 s32 s64", rules=UNSIGNED_ONLY),
        row("setp.cmp{.ftz}.f32  out p{|q}:pred, a:f32, b:f32", cmp=FLOAT_CMP),
        row("setp.cmp.f64  out p{|q}:pred, a:f64, b:f64", cmp=FLOAT_CMP),
        row("setp.cmp.bool.T  out p{|q}:pred, a:T, b:T, {!}c:pred", cmp="eq ne", bool=BOOL, T=BITS),
        row("setp.cmp.bool.T  out p{|q}:pred, a:T, b:T, {!}c:pred", cmp=INTEGER_CMP, bool=BOOL,
            T="u16 u32 u64 s16 s32 s64", rules=UNSIGNED_ONLY),
        row("setp.cmp.bool{.ftz}.f32  out p{|q}:pred, a:f32, b:f32, {!}c:pred", cmp=FLOAT_CMP,
            bool=BOOL),
        row("setp.cmp.bool.f64  out p{|q}:pred, a:f64, b:f64, {!}c:pred", cmp=FLOAT_CMP, bool=BOOL),
    ),
    instruction(
        "selp", "comparison-and-selection-instructions-selp", "Choose by a predicate.",
        row("selp.T  out d:T, a:T, b:T, c:pred",
            T="b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"),
    ),
    instruction(
        "slct", "comparison-and-selection-instructions-slct", "Choose by the sign of a number.",
        row("slct.T.s32  out d:T, a:T, b:T, c:s32",
            T="b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"),
        row("slct{.ftz}.T.f32  out d:T, a:T, b:T, c:f32",
            T="b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"),
    ),
)
