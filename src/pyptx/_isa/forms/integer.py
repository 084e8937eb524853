"""Integer arithmetic and extended-precision integer arithmetic."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

INT = "u16 u32 u64 s16 s32 s64"
X2 = "u16x2 s16x2"
X4 = "u8x4 s8x4"
# The family-specific targets that compute on packed bytes.
PACKED = "sm_107f sm_120f"

FORMS = chapter(
    "Integer Arithmetic Instructions",
    instruction(
        "add", "integer-arithmetic-instructions-add", "Add two integers.",
        row("add.T  out d:T, a:T, b:T", T=INT),
        row("add.T  out d:T, a:T, b:T", T=X2, sm="sm_90", ptx="8.0"),
        row("add{.sat}.T  out d:T, a:T, b:T", T=X4, sm=PACKED, ptx="9.2"),
        row("add.sat.s32  out d:s32, a:s32, b:s32"),
        row("add.sat.T  out d:T, a:T, b:T", T=f"u32 {X2}", sm=PACKED, ptx="9.2"),
    ),
    instruction(
        "sub", "integer-arithmetic-instructions-sub", "Subtract one integer from another.",
        row("sub.T  out d:T, a:T, b:T", T=INT),
        row("sub{.sat}.T  out d:T, a:T, b:T", T=X4, sm=PACKED, ptx="9.2"),
        row("sub.sat.s32  out d:s32, a:s32, b:s32"),
    ),
    instruction(
        "mul", "integer-arithmetic-instructions-mul",
        "Multiply integers; keep the high half, the low half or the whole product.",
        row("mul.mode.T  out d:T, a:T, b:T", mode="hi lo", T=INT),
        row("mul.wide.T  out d:wide(T), a:T, b:T", T="u16 u32 s16 s32"),
    ),
    instruction(
        "mad", "integer-arithmetic-instructions-mad", "Multiply integers and add a third.",
        row("mad.mode.T  out d:T, a:T, b:T, c:T", mode="hi lo", T=INT),
        row("mad.wide.T  out d:wide(T), a:T, b:T, c:wide(T)", T="u16 u32 s16 s32"),
        row("mad.hi.sat.s32  out d:s32, a:s32, b:s32, c:s32"),
    ),
    instruction(
        "clmad", "integer-arithmetic-instructions-clmad",
        "Multiply without carries, and add without carries.",
        row("clmad.mode.u64  out d:u64, a:u64, b:u64, c:u64", mode="hi lo", sm="sm_80", ptx="9.3"),
    ),
    instruction(
        "mul24", "integer-arithmetic-instructions-mul24", "Multiply the low 24 bits of integers.",
        row("mul24.mode.T  out d:T, a:T, b:T", mode="hi lo", T="u32 s32"),
    ),
    instruction(
        "mad24", "integer-arithmetic-instructions-mad24",
        "Multiply the low 24 bits of integers and add a third.",
        row("mad24.mode.T  out d:T, a:T, b:T, c:T", mode="hi lo", T="u32 s32"),
        row("mad24.hi.sat.s32  out d:s32, a:s32, b:s32, c:s32"),
    ),
    instruction(
        "sad", "integer-arithmetic-instructions-sad", "Add the absolute difference of two integers.",
        row("sad.T  out d:T, a:T, b:T, c:T", T=INT),
    ),
    instruction(
        "div", "integer-arithmetic-instructions-div", "Divide integers, rounding towards zero.",
        row("div.T  out d:T, a:T, b:T", T=INT),
    ),
    instruction(
        "rem", "integer-arithmetic-instructions-rem", "Remainder of an integer division.",
        row("rem.T  out d:T, a:T, b:T", T=INT),
    ),
    instruction(
        "abs", "integer-arithmetic-instructions-abs", "Absolute value of a signed integer.",
        row("abs.T  out d:T, a:T", T="s16 s32 s64"),
    ),
    instruction(
        "neg", "integer-arithmetic-instructions-neg", "Negate a signed integer.",
        row("neg.T  out d:T, a:T", T="s16 s32 s64"),
        row("neg.s8x4  out d:s8x4, a:s8x4", sm=PACKED, ptx="9.2"),
    ),
    instruction(
        "min", "integer-arithmetic-instructions-min", "Smaller of two integers.",
        row("min.T  out d:T, a:T, b:T", T=INT),
        row("min.relu.s32  out d:s32, a:s32, b:s32", sm="sm_90", ptx="8.0"),
        row("min{.relu}.s16x2  out d:s16x2, a:s16x2, b:s16x2", sm="sm_90", ptx="8.0"),
        row("min.u16x2  out d:u16x2, a:u16x2, b:u16x2", sm="sm_90", ptx="8.0"),
        row("min{.relu}.s8x4  out d:s8x4, a:s8x4, b:s8x4", sm=PACKED, ptx="9.2"),
        row("min.u8x4  out d:u8x4, a:u8x4, b:u8x4", sm=PACKED, ptx="9.2"),
    ),
    instruction(
        "max", "integer-arithmetic-instructions-max", "Larger of two integers.",
        row("max.T  out d:T, a:T, b:T", T=INT),
        row("max.relu.s32  out d:s32, a:s32, b:s32", sm="sm_90", ptx="8.0"),
        row("max{.relu}.s16x2  out d:s16x2, a:s16x2, b:s16x2", sm="sm_90", ptx="8.0"),
        row("max.u16x2  out d:u16x2, a:u16x2, b:u16x2", sm="sm_90", ptx="8.0"),
        row("max{.relu}.s8x4  out d:s8x4, a:s8x4, b:s8x4", sm=PACKED, ptx="9.2"),
        row("max.u8x4  out d:u8x4, a:u8x4, b:u8x4", sm=PACKED, ptx="9.2"),
    ),
    instruction(
        "popc", "integer-arithmetic-instructions-popc", "Count the bits that are set.",
        row("popc.T  out d:u32, a:T", T="b32 b64"),
    ),
    instruction(
        "clz", "integer-arithmetic-instructions-clz", "Count the leading zeros.",
        row("clz.T  out d:u32, a:T", T="b32 b64"),
    ),
    instruction(
        "bfind", "integer-arithmetic-instructions-bfind",
        "Position of the most significant bit that is not the sign.",
        row("bfind{.shiftamt}.T  out d:u32, a:T", T="u32 u64 s32 s64"),
    ),
    instruction(
        "fns", "integer-arithmetic-instructions-fns", "Position of the n-th bit that is set.",
        row("fns.b32  out d:b32, mask:b32, base:b32, offset:s32"),
    ),
    instruction(
        "brev", "integer-arithmetic-instructions-brev", "Reverse the order of the bits.",
        row("brev.T  out d:T, a:T", T="b32 b64"),
    ),
    instruction(
        "bfe", "integer-arithmetic-instructions-bfe", "Extract a bit field.",
        row("bfe.T  out d:T, a:T, b:u32, c:u32", T="u32 u64 s32 s64"),
    ),
    instruction(
        "bfi", "integer-arithmetic-instructions-bfi", "Insert a bit field.",
        row("bfi.T  out f:T, a:T, b:T, c:u32, d:u32", T="b32 b64"),
    ),
    instruction(
        "szext", "integer-arithmetic-instructions-szext",
        "Sign- or zero-extend from a bit position.",
        row("szext.mode.T  out d:T, a:T, b:u32", mode="clamp wrap", T="u32 s32", ptx="7.6"),
    ),
    instruction(
        "bmsk", "integer-arithmetic-instructions-bmsk", "Make a mask of a run of bits.",
        row("bmsk.mode.b32  out d:i32, a:u32, b:u32", mode="clamp wrap", ptx="7.6"),
    ),
    instruction(
        "dp4a", "integer-arithmetic-instructions-dp4a",
        "Dot product of four bytes each, added to a 32-bit integer.",
        row("dp4a.A.B  out d:i32, a:i32, b:i32, c:i32", A="u32 s32", B="u32 s32"),
    ),
    instruction(
        "dp2a", "integer-arithmetic-instructions-dp2a",
        "Dot product of two 16-bit integers with two bytes, added to a 32-bit integer.",
        row("dp2a.mode.A.B  out d:i32, a:i32, b:i32, c:i32", mode="lo hi",
            A="u32 s32", B="u32 s32"),
    ),
) + chapter(
    "Extended-Precision Integer Arithmetic Instructions",
    instruction(
        "add", "extended-precision-arithmetic-instructions-add-cc", "Add and keep the carry-out.",
        row("add.cc.T  out d:T, a:T, b:T", T="u32 s32 u64 s64"),
    ),
    instruction(
        "addc", "extended-precision-arithmetic-instructions-addc", "Add with the carry-in.",
        row("addc{.cc}.T  out d:T, a:T, b:T", T="u32 s32 u64 s64"),
    ),
    instruction(
        "sub", "extended-precision-arithmetic-instructions-sub-cc",
        "Subtract and keep the borrow-out.",
        row("sub.cc.T  out d:T, a:T, b:T", T="u32 s32 u64 s64"),
    ),
    instruction(
        "subc", "extended-precision-arithmetic-instructions-subc", "Subtract with the borrow-in.",
        row("subc{.cc}.T  out d:T, a:T, b:T", T="u32 s32 u64 s64"),
    ),
    instruction(
        "mad", "extended-precision-arithmetic-instructions-mad-cc",
        "Multiply integers, add a third and keep the carry-out.",
        row("mad.mode.cc.T  out d:T, a:T, b:T, c:T", mode="hi lo", T="u32 s32 u64 s64"),
    ),
    instruction(
        "madc", "extended-precision-arithmetic-instructions-madc",
        "Multiply integers, add a third with the carry-in.",
        row("madc.mode{.cc}.T  out d:T, a:T, b:T, c:T", mode="hi lo", T="u32 s32 u64 s64"),
    ),
)
