"""Floating-point arithmetic: f32, f64, pairs of f32, and f32 with 16-bit inputs."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

RND = "rn rz rm rp"
# Conversions between pairs on the way in, and on the way out, where they are rounded to zero.
PAIRS = {"sm": "sm_107f", "ptx": "9.4"}
# Fours of small numbers, and the fours of 8 bits that results are rounded to.
FOURS = "e5m2x4 e4m3x4 e3m2x4 e2m3x4 e2m1x4 e2m1p4x4 ue8m0x4"
SMALL = {"rnd": "rn", "T": "e5m2x4 e4m3x4", "sm": "sm_100a sm_103a", "ptx": "9.4"}
PAIRED = "xorsign: abs; abs: xorsign"
XORSIGN = "xorsign@sm_86,7.2"

FORMS = chapter(
    "Floating-Point Instructions",
    instruction(
        "testp", "floating-point-instructions-testp", "Test a property of a number.",
        row("testp.op.T  out p:pred, a:T", T="f32 f64",
            op="finite infinite number notanumber normal subnormal"),
    ),
    instruction(
        "copysign", "floating-point-instructions-copysign",
        "Copy the sign of one number to the magnitude of another.",
        row("copysign.T  out d:T, a:T, b:T", T="f32 f64"),
    ),
    instruction(
        "add", "floating-point-instructions-add", "Add two numbers.",
        row("add{.rnd}{.ftz}{.sat}.f32  out d:f32, a:f32, b:f32", rnd=RND),
        row("add{.rnd}{.ftz}.f32x2  out d:f32x2, a:f32x2, b:f32x2", rnd=RND,
            sm="sm_100", ptx="8.6"),
        row("add{.rnd}.f64  out d:f64, a:f64, b:f64", rnd=RND),
    ),
    instruction(
        "sub", "floating-point-instructions-sub", "Subtract one number from another.",
        row("sub{.rnd}{.ftz}{.sat}.f32  out d:f32, a:f32, b:f32", rnd=RND),
        row("sub{.rnd}{.ftz}.f32x2  out d:f32x2, a:f32x2, b:f32x2", rnd=RND,
            sm="sm_100", ptx="8.6"),
        row("sub{.rnd}.f64  out d:f64, a:f64, b:f64", rnd=RND),
    ),
    instruction(
        "mul", "floating-point-instructions-mul", "Multiply two numbers.",
        row("mul{.rnd}{.ftz}{.sat}.f32  out d:f32, a:f32, b:f32", rnd=RND),
        row("mul{.rnd}{.ftz}.f32x2  out d:f32x2, a:f32x2, b:f32x2", rnd=RND,
            sm="sm_100", ptx="8.6"),
        row("mul{.rnd}.f64  out d:f64, a:f64, b:f64", rnd=RND),
    ),
    instruction(
        "fma", "floating-point-instructions-fma", "Multiply and add with one rounding.",
        row("fma.rnd{.ftz}{.sat}.f32  out d:f32, a:f32, b:f32, c:f32", rnd=RND),
        row("fma.rnd{.ftz}.f32x2  out d:f32x2, a:f32x2, b:f32x2, c:f32x2", rnd=RND,
            sm="sm_100", ptx="8.6"),
        row("fma.rnd.f64  out d:f64, a:f64, b:f64, c:f64", rnd=RND),
    ),
    instruction(
        "mad", "floating-point-instructions-mad", "Multiply and add: fma by its older name.",
        row("mad.rnd{.ftz}{.sat}.f32  out d:f32, a:f32, b:f32, c:f32", rnd=RND),
        row("mad.rnd.f64  out d:f64, a:f64, b:f64, c:f64", rnd=RND),
    ),
    instruction(
        "div", "floating-point-instructions-div", "Divide one number by another.",
        row("div.approx{.ftz}.f32  out d:f32, a:f32, b:f32"),
        row("div.full{.ftz}.f32  out d:f32, a:f32, b:f32"),
        row("div.rnd{.ftz}.f32  out d:f32, a:f32, b:f32", rnd=RND),
        row("div.rnd.f64  out d:f64, a:f64, b:f64", rnd=RND),
    ),
    instruction(
        "abs", "floating-point-instructions-abs", "Absolute value.",
        row("abs{.ftz}.f32  out d:f32, a:f32"),
        row("abs.f64  out d:f64, a:f64"),
    ),
    instruction(
        "neg", "floating-point-instructions-neg", "Negate a number.",
        row("neg{.ftz}.f32  out d:f32, a:f32"),
        row("neg.f64  out d:f64, a:f64"),
    ),
    instruction(
        "min", "floating-point-instructions-min", "Smaller of two or three numbers.",
        row("min{.ftz}{.NaN}{.xorsign}{.abs}.f32  out d:f32, a:f32, b:f32", NaN="NaN@sm_80,7.0",
            xorsign=XORSIGN, rules=PAIRED),
        row("min{.ftz}{.NaN}{.abs}.f32  out d:f32, a:f32, b:f32, c:f32", sm="sm_100", ptx="8.8"),
        row("min.f64  out d:f64, a:f64, b:f64"),
    ),
    instruction(
        "max", "floating-point-instructions-max", "Larger of two or three numbers.",
        row("max{.ftz}{.NaN}{.xorsign}{.abs}.f32  out d:f32, a:f32, b:f32", NaN="NaN@sm_80,7.0",
            xorsign=XORSIGN, rules=PAIRED),
        row("max{.ftz}{.NaN}{.abs}.f32  out d:f32, a:f32, b:f32, c:f32", sm="sm_100", ptx="8.8"),
        row("max.f64  out d:f64, a:f64, b:f64"),
    ),
    instruction(
        "rcp", "floating-point-instructions-rcp", "Reciprocal.",
        row("rcp.approx{.ftz}.f32  out d:f32, a:f32"),
        row("rcp.rnd{.ftz}.f32  out d:f32, a:f32", rnd=RND),
        row("rcp.rnd.f64  out d:f64, a:f64", rnd=RND),
    ),
    instruction(
        "rcp", "floating-point-instructions-rcp-approx-ftz-f64",
        "Reciprocal of the upper half of an f64, coarsely approximated.",
        row("rcp.approx.ftz.f64  out d:f64, a:f64"),
    ),
    instruction(
        "sqrt", "floating-point-instructions-sqrt", "Square root.",
        row("sqrt.approx{.ftz}.f32  out d:f32, a:f32"),
        row("sqrt.rnd{.ftz}.f32  out d:f32, a:f32", rnd=RND),
        row("sqrt.rnd.f64  out d:f64, a:f64", rnd=RND),
    ),
    instruction(
        "rsqrt", "floating-point-instructions-rsqrt", "Reciprocal of the square root.",
        row("rsqrt.approx{.ftz}.f32  out d:f32, a:f32"),
        row("rsqrt.approx.f64  out d:f64, a:f64"),
    ),
    instruction(
        "rsqrt", "floating-point-instructions-rsqrt-approx-ftz-f64",
        "Reciprocal square root of the upper half of an f64, coarsely approximated.",
        row("rsqrt.approx.ftz.f64  out d:f64, a:f64"),
    ),
    instruction(
        "sin", "floating-point-instructions-sin", "Sine of an angle in radians.",
        row("sin.approx{.ftz}.f32  out d:f32, a:f32"),
    ),
    instruction(
        "cos", "floating-point-instructions-cos", "Cosine of an angle in radians.",
        row("cos.approx{.ftz}.f32  out d:f32, a:f32"),
    ),
    instruction(
        "lg2", "floating-point-instructions-lg2", "Logarithm to base 2.",
        row("lg2.approx{.ftz}.f32  out d:f32, a:f32"),
    ),
    instruction(
        "ex2", "floating-point-instructions-ex2", "Power of 2.",
        row("ex2.approx{.ftz}.f32  out d:f32, a:f32"),
    ),
    instruction(
        "tanh", "floating-point-instructions-tanh", "Hyperbolic tangent.",
        row("tanh.approx.f32  out d:f32, a:f32", ptx="7.0"),
    ),
) + chapter(
    "Mixed Precision Floating-Point Instructions",
    instruction(
        "add", "mixed-precision-floating-point-instructions-add", "Add a 16-bit number to an f32.",
        row("add{.rnd}{.sat}.f32.T  out d:f32, a:T, c:f32", rnd=RND, T="f16 bf16",
            sm="sm_100", ptx="8.6"),
        row("add{.rnd}.f32x2.T.f32x2  out d:f32x2, a:T, c:f32x2", rnd=RND, T="f16x2 bf16x2",
            **PAIRS),
        row("add.rz.ftz.f16x2.f32x2.f32x2  out d:f16x2, a:f32x2, c:f32x2", **PAIRS),
        row("add.rz.bf16x2.f32x2.f32x2  out d:bf16x2, a:f32x2, c:f32x2", **PAIRS),
    ),
    instruction(
        "sub", "mixed-precision-floating-point-instructions-sub",
        "Subtract an f32 from a 16-bit number.",
        row("sub{.rnd}{.sat}.f32.T  out d:f32, a:T, c:f32", rnd=RND, T="f16 bf16",
            sm="sm_100", ptx="8.6"),
        row("sub{.rnd}.f32x2.T.f32x2  out d:f32x2, a:T, c:f32x2", rnd=RND, T="f16x2 bf16x2",
            **PAIRS),
        row("sub.rz.ftz.f16x2.f32x2.f32x2  out d:f16x2, a:f32x2, c:f32x2", **PAIRS),
        row("sub.rz.bf16x2.f32x2.f32x2  out d:bf16x2, a:f32x2, c:f32x2", **PAIRS),
    ),
    instruction(
        "fma", "mixed-precision-floating-point-instructions-fma",
        "Multiply 16-bit numbers and add an f32 with one rounding.",
        row("fma.rnd{.sat}.f32.T  out d:f32, a:T, b:T, c:f32", rnd=RND, T="f16 bf16",
            sm="sm_100", ptx="8.6"),
        row("fma.rnd.f32x2.T.f32x2.f32x2  out d:f32x2, a:T, b:f32x2, c:f32x2",
            rnd=RND, T="f16x2 bf16x2", **PAIRS),
    ),
    instruction(
        "mul", "mixed-precision-floating-point-instructions-mul",
        "Multiply pairs of different types.",
        row("mul.rz.ftz.f16x2.f32x2.f32x2  out d:f16x2, a:f32x2, c:f32x2", **PAIRS),
        row("mul.rz.bf16x2.f32x2.f32x2  out d:bf16x2, a:f32x2, c:f32x2", **PAIRS),
        row("mul.bf16x2.bf16x2.f16x2  out d:bf16x2, a:bf16x2, c:f16x2", **PAIRS),
        row("mul.f16x2.f16x2.bf16x2  out d:f16x2, a:f16x2, c:bf16x2", **PAIRS),
    ),
) + chapter(
    "Alternate Floating-Point Instructions",
    instruction(
        "add", "alternate-floating-point-instructions-add",
        "Add fours of small numbers.",
        row("add{.rnd}{.satfinite}.T.A  out d:T, a:A, c:T", A=FOURS, **SMALL),
    ),
    instruction(
        "sub", "alternate-floating-point-instructions-sub",
        "Subtract fours of small numbers.",
        row("sub{.rnd}{.satfinite}.T.A  out d:T, a:A, c:T", A=FOURS, **SMALL),
    ),
    instruction(
        "mul", "alternate-floating-point-instructions-mul",
        "Multiply fours of small numbers.",
        row("mul{.rnd}{.satfinite}.T.A.C  out d:T, a:A, c:C", A=FOURS, C=FOURS, **SMALL),
    ),
    instruction(
        "fma", "alternate-floating-point-instructions-fma",
        "Multiply and add fours of small numbers with one rounding.",
        row("fma{.rnd}{.satfinite}.T.A.B  out d:T, a:A, b:B, c:T", A=FOURS, B=FOURS, **SMALL),
    ),
)
