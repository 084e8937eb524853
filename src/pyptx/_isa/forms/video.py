"""Scalar and SIMD video instructions: on bytes, halves and all of 32-bit registers.

What they select of a register stands behind its name; `model.PARTS` has the kinds.
"""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

SIGNS = "u32 s32"
TYPES = {"dtype": SIGNS, "atype": SIGNS, "btype": SIGNS}
SHIFT = {"dtype": SIGNS, "atype": SIGNS, "mode": "clamp wrap"}
COMPARE = {"atype": SIGNS, "btype": SIGNS, "cmp": "eq ne lt le gt ge"}
SCALE = {"scale": "shr7 shr15"}
# The result is combined with c, or written to a part of d beside what c has there.
SECOND = {"op2": "add min max"}
AB = "a{.sel}:atype, b{.sel}:btype"
SCALAR, SIMD = "scalar-video-instructions", "simd-video-instructions"

FORMS = chapter(
    "Video Instructions",
    *(instruction(
        opcode, f"{SCALAR}-vadd-vsub-vabsdiff-vmin-vmax", summary,
        row(f"{opcode}.dtype.atype.btype{{.sat}}  out d:dtype, {AB}", **TYPES),
        row(f"{opcode}.dtype.atype.btype{{.sat}}.op2  out d:dtype, {AB}, c:dtype",
            **TYPES, **SECOND),
        row(f"{opcode}.dtype.atype.btype{{.sat}}  out d.sel:dtype, {AB}, c:dtype", **TYPES))
      for opcode, summary in (
          ("vadd", "Add."), ("vsub", "Subtract."), ("vabsdiff", "The absolute difference."),
          ("vmin", "The lesser."), ("vmax", "The greater."))),
    *(instruction(
        opcode, f"{SCALAR}-vshl-vshr", summary,
        row(f"{opcode}.dtype.atype.u32{{.sat}}.mode"
            "  out d:dtype, a{.sel}:atype, b{.sel}:u32", **SHIFT),
        row(f"{opcode}.dtype.atype.u32{{.sat}}.mode.op2"
            "  out d:dtype, a{.sel}:atype, b{.sel}:u32, c:dtype", **SHIFT, **SECOND),
        row(f"{opcode}.dtype.atype.u32{{.sat}}.mode"
            "  out d.sel:dtype, a{.sel}:atype, b{.sel}:u32, c:dtype", **SHIFT))
      for opcode, summary in (("vshl", "Shift left."), ("vshr", "Shift right."))),
    instruction(
        "vmad", f"{SCALAR}-vmad", "Multiply, add and scale.",
        # the product may be negated or c
        row("vmad.dtype.atype.btype{.sat}{.scale}"
            "  out d:dtype, {-}a{.sel}:atype, {-}b{.sel}:btype, c:dtype", **SCALE, **TYPES),
        row(f"vmad.dtype.atype.btype{{.sat}}{{.scale}}  out d:dtype, {AB}, -c:dtype!",
            **SCALE, **TYPES),
        row(f"vmad.dtype.atype.btype.po{{.sat}}{{.scale}}  out d:dtype, {AB}, c:dtype",
            **SCALE, **TYPES),
    ),
    instruction(
        "vset", f"{SCALAR}-vset", "Compare.",
        row(f"vset.atype.btype.cmp  out d:u32, {AB}", **COMPARE),
        row(f"vset.atype.btype.cmp.op2  out d:u32, {AB}, c:u32", **COMPARE, **SECOND),
        row(f"vset.atype.btype.cmp  out d.sel:u32, {AB}, c:u32", **COMPARE),
    ),
    *(instruction(
        f"{opcode}{n}", f"{SIMD}-vadd{n}-vsub{n}-vavrg{n}-vabsdiff{n}-vmin{n}-vmax{n}",
        f"{summary}, {count} at once.",
        row(f"{opcode}{n}.dtype.atype.btype{{.sat}}"
            f"  out d{{.mask{n}}}:dtype, a{{.sel{n}}}:atype!, b{{.sel{n}}}:btype!, c:dtype!",
            **TYPES),
        # the results are added up
        row(f"{opcode}{n}.dtype.atype.btype.add"
            f"  out d{{.mask{n}}}:dtype, a{{.sel{n}}}:atype!, b{{.sel{n}}}:btype!, c:dtype!",
            **TYPES))
      for n, count in (("2", "two"), ("4", "four"))
      for opcode, summary in (
          ("vadd", "Add"), ("vsub", "Subtract"), ("vavrg", "The average"),
          ("vabsdiff", "The absolute difference"), ("vmin", "The lesser"),
          ("vmax", "The greater"))),
    *(instruction(
        f"vset{n}", f"{SIMD}-vset{n}", f"Compare, {count} at once.",
        row(f"vset{n}.atype.btype.cmp{{.add}}"
            f"  out d{{.mask{n}}}:u32, a{{.sel{n}}}:atype!, b{{.sel{n}}}:btype!, c:u32!",
            **COMPARE))
      for n, count in (("2", "two"), ("4", "four"))),
)
