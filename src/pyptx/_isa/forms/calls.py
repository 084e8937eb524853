"""Calls and their parameters: rows of files, whose modules have functions; kernels have none.

The parameter space of a call belongs to variables that a function declares, not to parameters of a
kernel, so these rows stand apart from those of the language.
"""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

SCALAR = "b8 b16 b32 b64 b128@,8.3 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"
WIDTH = (
    "vec=v4: T=b8|b16|b32|u8|u16|u32|s8|s16|s32|f32; T=b128: !vec"
)

FORMS = chapter(
    "Control Flow Instructions",
    instruction(
        "call", "control-flow-instructions-call", "Call a function.",
        row("call{.uni}  func:function"),
        row("call{.uni}  func:function, params:arguments"),
        row("call{.uni}  out ret:arguments, func:function, params:arguments"),
        row("call{.uni}  fptr:u64!, flist:prototype"),
        row("call{.uni}  fptr:u64!, params:arguments, flist:prototype"),
        row("call{.uni}  out ret:arguments, fptr:u64!, params:arguments, flist:prototype"),
    ),
    instruction(
        "st", "data-movement-and-conversion-instructions-st",
        "Store what a call passes or a function returns.",
        row("st{.weak}.ss{.vec}.T  [a:ss], b*vec:T>", ss="param param::func@,8.3",
            vec="v2 v4", T=SCALAR, rules=WIDTH),
    ),
    instruction(
        "ld", "data-movement-and-conversion-instructions-ld",
        "Load what a call gives back or a function is passed.",
        row("ld{.weak}.ss{.vec}.T  out d*vec:T>, [a:ss]", ss="param::func@,8.3",
            vec="v2 v4", T=SCALAR, rules=WIDTH),
    ),
)
