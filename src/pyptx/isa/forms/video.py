"""Scalar and SIMD video instructions, on whole 32-bit registers."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx.isa.syntax import chapter, instruction, row

SECOND = {"op2": "add min max"}
TYPES = {"dtype": "u32 s32", "atype": "u32 s32", "btype": "u32 s32"}
SHIFT = {"dtype": "u32 s32", "atype": "u32 s32"}
COMPARE = {"atype": "u32 s32", "btype": "u32 s32", "cmp": "eq ne lt le gt ge"}
MODE = {"mode": "clamp wrap"}
AB, ABC = "out d:dtype, a:atype!, b:btype!", "out d:dtype, a:atype!, b:btype!, c:dtype!"
DETAILS = "video-instructions-"

FORMS = chapter(
    "Video Instructions",
    *(instruction(
        opcode, f"scalar-{DETAILS}vadd-vsub-vabsdiff-vmin-vmax", summary,
        row(f"{opcode}.dtype.atype.btype{{.sat}}  {AB}", **TYPES),
        row(f"{opcode}.dtype.atype.btype{{.sat}}.op2  {ABC}", **TYPES, **SECOND))
      for opcode, summary in (
          ("vadd", "Add."), ("vsub", "Subtract."), ("vabsdiff", "The absolute difference."),
          ("vmin", "The lesser."), ("vmax", "The greater."))),
    *(instruction(
        opcode, f"scalar-{DETAILS}vshl-vshr", summary,
        row(f"{opcode}.dtype.atype.u32{{.sat}}.mode  out d:dtype, a:atype!, b:u32!",
            **SHIFT, **MODE),
        row(f"{opcode}.dtype.atype.u32{{.sat}}.mode.op2  out d:dtype, a:atype!, b:u32!, c:dtype!",
            **SHIFT, **MODE, **SECOND))
      for opcode, summary in (("vshl", "Shift left."), ("vshr", "Shift right."))),
    instruction(
        "vmad", f"scalar-{DETAILS}vmad", "Multiply, add and scale.",
        row(f"vmad.dtype.atype.btype{{.sat}}{{.scale}}  {ABC}", scale="shr7 shr15", **TYPES),
        row(f"vmad.dtype.atype.btype.po{{.sat}}{{.scale}}  {ABC}", scale="shr7 shr15", **TYPES),
    ),
    instruction(
        "vset", f"scalar-{DETAILS}vset", "Compare.",
        row("vset.atype.btype.cmp  out d:u32, a:atype!, b:btype!", **COMPARE),
        row("vset.atype.btype.cmp.op2  out d:u32, a:atype!, b:btype!, c:u32!",
            **COMPARE, **SECOND),
    ),
    *(instruction(
        f"{opcode}{width}", f"simd-{DETAILS}vadd{width}-vsub{width}-vavrg{width}-vabsdiff{width}-"
        f"vmin{width}-vmax{width}", f"{summary}, {count} at once.",
        row(f"{opcode}{width}.dtype.atype.btype{{.sat}}  {ABC}", **TYPES),
        row(f"{opcode}{width}.dtype.atype.btype.add  {ABC}", **TYPES))
      for width, count in (("2", "two"), ("4", "four"))
      for opcode, summary in (
          ("vadd", "Add"), ("vsub", "Subtract"), ("vavrg", "The average"),
          ("vabsdiff", "The absolute difference"), ("vmin", "The lesser"),
          ("vmax", "The greater"))),
    *(instruction(
        f"vset{width}", f"simd-{DETAILS}vset{width}", f"Compare, {count} at once.",
        row(f"vset{width}.atype.btype.cmp{{.add}}  out d:u32, a:atype!, b:btype!, c:u32!",
            **COMPARE))
      for width, count in (("2", "two"), ("4", "four"))),
)
