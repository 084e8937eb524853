"""Comparison and selection, also of 16-bit numbers."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

BITS = "b16 b32 b64"
INTEGER = "u16 u32 u64 s16 s32 s64"
INTEGER_CMP = "eq ne lt le gt ge lo ls hi hs"
FLOAT_CMP = "eq ne lt le gt ge equ neu ltu leu gtu geu num nan"
BOOL = "and or xor"
# lo, ls, hi and hs compare unsigned integers.
UNSIGNED_CMP = "cmp=lo|ls|hi|hs: T=u16|u32|u64"
D = "u32 s32 f32 f16 bf16@sm_90,7.8"
SELECTED = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"

FORMS = chapter(
    "Comparison and Selection Instructions",
    instruction(
        "set", "comparison-and-selection-instructions-set",
        "Compare, perhaps combine with a predicate, and write the truth as a number.",
        row("set.cmp{.bool}.D.T  out d:D, a:T, b:T, {!}c:pred@bool",
            cmp="eq ne", bool=BOOL, D=D, T=BITS),
        row("set.cmp{.bool}.D.T  out d:D, a:T, b:T, {!}c:pred@bool",
            cmp=INTEGER_CMP, bool=BOOL, D=D, T=INTEGER, rules=UNSIGNED_CMP),
        row("set.cmp{.bool}{.ftz}.D.f32  out d:D, a:f32, b:f32, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL, D="u32 s32 f32 f16"),
        row("set.cmp{.bool}.bf16.f32  out d:bf16, a:f32, b:f32, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL, sm="sm_90", ptx="7.8"),
        row("set.cmp{.bool}.D.f64  out d:D, a:f64, b:f64, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL, D=D),
        # each element of a packed register: all its bits, or none
        row("set.cmp.T  out d:T, a:T, b:T", cmp=INTEGER_CMP, T="u8x4 s8x4 u16x2 s16x2",
            rules="cmp=lo|ls|hi|hs: T=u8x4|u16x2", sm="sm_107f", ptx="9.4"),
    ),
    instruction(
        "setp", "comparison-and-selection-instructions-setp",
        "Compare, perhaps combine with a predicate, and write the truth to a predicate and its "
        "opposite to a second one.",
        row("setp.cmp{.bool}.T  out p{|q}:pred, a:T, b:T, {!}c:pred@bool",
            cmp="eq ne", bool=BOOL, T=BITS),
        row("setp.cmp{.bool}.T  out p{|q}:pred, a:T, b:T, {!}c:pred@bool",
            cmp=INTEGER_CMP, bool=BOOL, T=INTEGER, rules=UNSIGNED_CMP),
        row("setp.cmp{.bool}{.ftz}.f32  out p{|q}:pred, a:f32, b:f32, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL),
        row("setp.cmp{.bool}.f64  out p{|q}:pred, a:f64, b:f64, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL),
    ),
    instruction(
        "selp", "comparison-and-selection-instructions-selp", "Choose by a predicate.",
        row("selp.T  out d:T, a:T, b:T, c:pred",
            T=SELECTED),
    ),
    instruction(
        "slct", "comparison-and-selection-instructions-slct", "Choose by the sign of a number.",
        row("slct.T.s32  out d:T, a:T, b:T, c:s32",
            T=SELECTED),
        row("slct{.ftz}.T.f32  out d:T, a:T, b:T, c:f32",
            T=SELECTED),
    ),
) + chapter(
    "Half Precision Comparison Instructions",
    instruction(
        "set", "half-precision-comparison-instructions-set",
        "Compare 16-bit numbers, perhaps combine with a predicate, and write the truth as a number.",
        row("set.cmp{.bool}{.ftz}.D.f16  out d:D, a:f16, b:f16, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL, D="u16@,6.5 s16@,6.5 u32@,6.5 s32@,6.5 f16"),
        row("set.cmp{.bool}{.ftz}.D.f16x2  out d:D, a:f16x2, b:f16x2, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL, D="u32@,6.5 s32@,6.5 f16x2"),
        row("set.cmp{.bool}.bf16.f16  out d:bf16, a:f16, b:f16, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL, sm="sm_90", ptx="7.8"),
        row("set.cmp{.bool}.D.bf16  out d:D, a:bf16, b:bf16, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL, D="u16 s16 u32 s32 bf16", sm="sm_90", ptx="7.8"),
        row("set.cmp{.bool}.D.bf16x2  out d:D, a:bf16x2, b:bf16x2, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL, D="u32 s32 bf16x2", sm="sm_90", ptx="7.8"),
    ),
    instruction(
        "setp", "half-precision-comparison-instructions-setp",
        "Compare 16-bit numbers, perhaps combine with a predicate, and write the truth to a "
        "predicate, of pairs to one each.",
        row("setp.cmp{.bool}{.ftz}.f16  out p:pred, a:f16, b:f16, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL),
        row("setp.cmp{.bool}{.ftz}.f16x2  out p|q:pred, a:f16x2, b:f16x2, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL),
        row("setp.cmp{.bool}.bf16  out p:pred, a:bf16, b:bf16, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL, sm="sm_90", ptx="7.8"),
        row("setp.cmp{.bool}.bf16x2  out p|q:pred, a:bf16x2, b:bf16x2, {!}c:pred@bool",
            cmp=FLOAT_CMP, bool=BOOL, sm="sm_90", ptx="7.8"),
    ),
)
