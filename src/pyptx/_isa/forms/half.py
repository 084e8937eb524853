"""Half-precision arithmetic: f16, bf16 and their pairs."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

HALF = "f16 f16x2"
BFLOAT = "bf16 bf16x2"
PAIRED = "xorsign: abs; abs: xorsign"
XORSIGN = "xorsign@sm_86,7.2"

FORMS = chapter(
    "Half Precision Floating-Point Instructions",
    instruction(
        "add", "half-precision-floating-point-instructions-add", "Add 16-bit numbers.",
        row("add{.rnd}{.ftz}{.sat}.T  out d:T, a:T, b:T", rnd="rn", T=HALF),
        row("add{.rnd}.T  out d:T, a:T, b:T", rnd="rn", T=BFLOAT, sm="sm_90", ptx="7.8"),
    ),
    instruction(
        "sub", "half-precision-floating-point-instructions-sub", "Subtract 16-bit numbers.",
        row("sub{.rnd}{.ftz}{.sat}.T  out d:T, a:T, b:T", rnd="rn", T=HALF),
        row("sub{.rnd}.T  out d:T, a:T, b:T", rnd="rn", T=BFLOAT, sm="sm_90", ptx="7.8"),
    ),
    instruction(
        "mul", "half-precision-floating-point-instructions-mul", "Multiply 16-bit numbers.",
        row("mul{.rnd}{.ftz}{.sat}.T  out d:T, a:T, b:T", rnd="rn", T=HALF),
        row("mul{.rnd}.T  out d:T, a:T, b:T", rnd="rn", T=BFLOAT, sm="sm_90", ptx="7.8"),
    ),
    instruction(
        "fma", "half-precision-floating-point-instructions-fma",
        "Multiply and add 16-bit numbers with one rounding.",
        row("fma.rnd{.ftz}{.sat}.T  out d:T, a:T, b:T, c:T", rnd="rn", T=HALF),
        row("fma.rnd{.ftz}.relu.T  out d:T, a:T, b:T, c:T", rnd="rn", T=HALF,
            sm="sm_80", ptx="7.0"),
        row("fma.rnd{.relu}.T  out d:T, a:T, b:T, c:T", rnd="rn", T=BFLOAT,
            sm="sm_80", ptx="7.0"),
        row("fma.rnd.oob{.relu}.T  out d:T, a:T, b:T, c:T", rnd="rn", T="f16 f16x2 bf16 bf16x2",
            sm="sm_90", ptx="8.1"),
    ),
    instruction(
        "neg", "half-precision-floating-point-instructions-neg", "Negate 16-bit numbers.",
        row("neg{.ftz}.T  out d:T, a:T", T=HALF),
        row("neg.T  out d:T, a:T", T=BFLOAT, sm="sm_80", ptx="7.0"),
    ),
    instruction(
        "abs", "half-precision-floating-point-instructions-abs", "Absolute value of 16-bit numbers.",
        row("abs{.ftz}.T  out d:T, a:T", T=HALF, ptx="6.5"),
        row("abs.T  out d:T, a:T", T=BFLOAT, sm="sm_80", ptx="7.0"),
    ),
    instruction(
        "min", "half-precision-floating-point-instructions-min", "Smaller of 16-bit numbers.",
        row("min{.ftz}{.NaN}{.xorsign}{.abs}.T  out d:T, a:T, b:T", T=HALF, xorsign=XORSIGN,
            rules=PAIRED, sm="sm_80", ptx="7.0"),
        row("min{.NaN}{.xorsign}{.abs}.T  out d:T, a:T, b:T", T=BFLOAT, xorsign=XORSIGN,
            rules=PAIRED, sm="sm_80", ptx="7.0"),
    ),
    instruction(
        "max", "half-precision-floating-point-instructions-max", "Larger of 16-bit numbers.",
        row("max{.ftz}{.NaN}{.xorsign}{.abs}.T  out d:T, a:T, b:T", T=HALF, xorsign=XORSIGN,
            rules=PAIRED, sm="sm_80", ptx="7.0"),
        row("max{.NaN}{.xorsign}{.abs}.T  out d:T, a:T, b:T", T=BFLOAT, xorsign=XORSIGN,
            rules=PAIRED, sm="sm_80", ptx="7.0"),
    ),
    instruction(
        "tanh", "half-precision-floating-point-instructions-tanh",
        "Hyperbolic tangent of 16-bit numbers.",
        row("tanh.approx.T  out d:T, a:T", T=HALF, ptx="7.0"),
        row("tanh.approx.T  out d:T, a:T", T=BFLOAT, sm="sm_90", ptx="7.8"),
    ),
    instruction(
        "ex2", "half-precision-floating-point-instructions-ex2", "Power of 2 of 16-bit numbers.",
        row("ex2.approx.T  out d:T, a:T", T=HALF, ptx="7.0"),
        row("ex2.approx.ftz.T  out d:T, a:T", T=BFLOAT, sm="sm_90", ptx="7.8"),
    ),
)
