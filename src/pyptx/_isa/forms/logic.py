"""Logic and shift."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

BITS = "b16 b32 b64"

FORMS = chapter(
    "Logic and Shift Instructions",
    instruction(
        "and", "logic-and-shift-instructions-and", "Bitwise and.",
        row("and.T  out d:T, a:T, b:T", T="pred b16 b32 b64"),
    ),
    instruction(
        "or", "logic-and-shift-instructions-or", "Bitwise or.",
        row("or.T  out d:T, a:T, b:T", T="pred b16 b32 b64"),
    ),
    instruction(
        "xor", "logic-and-shift-instructions-xor", "Bitwise exclusive or.",
        row("xor.T  out d:T, a:T, b:T", T="pred b16 b32 b64"),
    ),
    instruction(
        "not", "logic-and-shift-instructions-not", "Invert every bit.",
        row("not.T  out d:T, a:T", T="pred b16 b32 b64"),
    ),
    instruction(
        "cnot", "logic-and-shift-instructions-cnot", "1 where the operand is zero, else 0.",
        row("cnot.T  out d:T, a:T", T=BITS),
    ),
    instruction(
        "lop3", "logic-and-shift-instructions-lop3", "Any logical function of three operands.",
        row("lop3.b32  out d:b32, a:b32, b:b32, c:b32, #lut:u32(0..255)"),
        row("lop3.bool.b32  out d|p:b32|_, a:b32, b:b32, c:b32, #lut:u32(0..255), q:pred",
            bool="or and", ptx="8.2"),
    ),
    instruction(
        "shf", "logic-and-shift-instructions-shf", "Shift a pair of registers.",
        row("shf.dir.mode.b32  out d:b32, a:b32, b:b32, c:u32", dir="l r", mode="clamp wrap"),
    ),
    instruction(
        "shl", "logic-and-shift-instructions-shl", "Shift left, filling with zeros.",
        row("shl.T  out d:T, a:T, b:u32", T=BITS),
    ),
    instruction(
        "shr", "logic-and-shift-instructions-shr",
        "Shift right, filling with zeros or the sign.",
        row("shr.T  out d:T, a:T, b:u32", T="b16 b32 b64 u16 u32 u64 s16 s32 s64"),
    ),
)
