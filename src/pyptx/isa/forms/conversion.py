"""Conversion between types: cvt and cvt.pack."""

from pyptx.isa.syntax import chapter, instruction, row

INT = "u8 u16 u32 u64 s8 s16 s32 s64"

FORMS = chapter(
    "Data Movement and Conversion Instructions",
    instruction(
        "cvt", "data-movement-and-conversion-instructions-cvt", "Convert to another type.",
        row("cvt{.sat}.D.A  out d:D>, a:A>", D=INT, A=INT),
        row("cvt.irnd{.ftz}{.sat}.D.f32  out d:D>, a:f32", irnd="rni rzi rmi rpi", D=INT),
        row("cvt.irnd{.sat}.D.A  out d:D>, a:A", irnd="rni rzi rmi rpi", D=INT, A="f16 f64"),
        row("cvt.frnd{.ftz}{.sat}.f32.A  out d:f32, a:A>", frnd="rn rz rm rp", A=INT),
        row("cvt.frnd{.sat}.D.A  out d:D, a:A>", frnd="rn rz rm rp", D="f16 f64", A=INT),
        row("cvt.frnd{.ftz}{.sat}.f32.f64  out d:f32, a:f64", frnd="rn rz rm rp"),
        row("cvt{.ftz}{.sat}.f64.f32  out d:f64, a:f32"),
        row("cvt{.ftz}{.sat}.f32.f16  out d:f32, a:f16"),
        row("cvt.f32.bf16  out d:f32, a:bf16", sm="sm_80", ptx="7.1"),
        row("cvt.frnd{.relu}{.satfinite}.D.f32  out d:D, a:f32", frnd="rn rz", D="f16 bf16",
            sm="sm_80", ptx="7.0"),
        row("cvt.frnd{.ftz}{.sat}.f16.f32  out d:f16, a:f32", frnd="rn rz rm rp"),
        row("cvt.frnd{.relu}{.satfinite}.D.f32  out d:D, a:f32, b:f32", frnd="rn rz",
            D="f16x2 bf16x2", sm="sm_80", ptx="7.0"),
    ),
)
