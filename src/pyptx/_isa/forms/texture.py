"""Textures and surfaces. Their handles are in 64-bit registers."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

# The coordinates of each geometry, and how many derivatives and offsets it has. In an array the
# first coordinate is the layer; what has three coordinates is written with four. A sampler of its
# own stands in front of them.
SAMPLER = "sampler:u64!?, "
GEOMETRY = {
    "1d": (f"{SAMPLER}{{c}}*1:ctype", 1),
    "2d": (f"{SAMPLER}{{c}}*2:ctype", 2),
    "3d": (f"{SAMPLER}{{c}}*4:ctype", 4),
    "a1d": ("{c}*2:u32+ctype", 1),
    "a2d": ("{c}*4:u32+ctype", 2),
}
CUBES = {"cube": ("{c}*4:f32", 4), "acube": ("{c}*4:u32+f32", 4)}
COMPARED = {g: (c.replace("ctype", "f32"), n) for g, (c, n) in GEOMETRY.items() if g != "3d"}
# How the level of detail is chosen: by the hardware or none, by the instruction, by derivatives
DETAIL = (("{.base}", ""), (".level", ", lod:ctype"), (".grad", ", {{dPdx}}*{n}:f32, {{dPdy}}*{n}:f32"))
DETAIL32 = tuple((mode, more.replace("ctype", "f32")) for mode, more in DETAIL)

BY_SIZE = "vec=v2: T=f16x2; T=f16x2: vec=v2"
RESULT = {"vec": "v4 v2", "T": "u32 s32 f32 f16 f16x2", "rules": BY_SIZE}
CTYPE = {"ctype": "s32 f32"}
# The predicate says whether the texels are resident.
RESIDENT = (("out d*vec:T", dict[str, str]()), ("out d|p*vec:T", {"ptx": "7.1"}))
GATHER = {"comp": "r g b a", "T": "u32 s32 f32"}

ELEMENTS = {"vec": "v2 v4", "T": "b8 b16 b32 b64", "rules": "vec=v4: T=b8|b16|b32"}
PIXELS = {"vec": "v2 v4"}
COORDINATES = {"1d": "{b}*1:s32", "2d": "b*2:s32", "a1d": "b*2:u32+s32",
          "3d": "b*4:s32", "a2d": "b*4:u32+s32"}
CLAMP = {"clamp": "trap clamp zero"}
BY_TYPE = "op=add: T=u32|u64|s32; op=min|max: T=u32|s32; op=and|or: T=b32"

FORMS = chapter(
    "Texture Instructions and Surface Instructions",
    instruction(
        "tex", "texture-instructions-tex", "Look up a texture at coordinates.",
        # a sampler of its own beside a level is not what assemblers take in every type
        *(row(f"tex{mode}.{geometry}.vec.T.ctype"
              f"  {d}, [tex:generic, {c.removeprefix(SAMPLER) if mode == '.level' else c}]"
              f"{more.format(n=n)}, {{e}}*{n}:s32?", **CTYPE, **RESULT, **where)
          for d, where in RESIDENT for geometry, (c, n) in GEOMETRY.items() for mode, more in DETAIL),
        *(row(f"tex{mode}.{geometry}.vec.T.f32  {d}, [tex:generic, {c}]{more.format(n=n)}",
              **RESULT, **where)
          for d, where in RESIDENT for geometry, (c, n) in CUBES.items() for mode, more in DETAIL32),
        # compared with a depth
        *(row(f"tex{mode}.{geometry}.vec.T.f32"
              f"  {d}, [tex:generic, {c}]{more.format(n=n)}, {{e}}*{n}:s32, f:f32",
              **RESULT, **where)
          for d, where in RESIDENT for geometry, (c, n) in COMPARED.items()
          for mode, more in DETAIL32),
        *(row(f"tex{mode}.{geometry}.vec.T.f32"
              f"  {d}, [tex:generic, {c}]{more.format(n=n)}, f:f32", **RESULT, **where)
          for d, where in RESIDENT for geometry, (c, n) in (COMPARED | CUBES).items()
          for mode, more in DETAIL32),
        # several samples: the first coordinate, or the second in an array, is the sample
        *(row(f"tex{{.base}}.{geometry}.vec.T.s32  {d}, [tex:generic, {{c}}*4:s32], {{e}}*2:s32?",
              **RESULT, **where)
          for d, where in RESIDENT for geometry in ("2dms", "a2dms")),
    ),
    instruction(
        "tld4", "texture-instructions-tld4",
        "Read one component of the four texels that bilinear interpolation would use.",
        *(row(f"tld4.comp.{geometry}.v4.T.f32  {d.replace('vec', '4')}, [tex:generic, {c}]{e}",
              **GATHER, **where)
          for d, where in RESIDENT
          for geometry, c, offsets in (
              ("2d", f"{SAMPLER}c*2:f32", ("e*2:s32", "e*2:s32, f:f32")),
              ("a2d", "c*4:u32+f32", ("e*2:s32", "e*2:s32, f:f32")),
              ("cube", "c*4:f32", ()),
              ("acube", "c*4:u32+f32", ()))
          for e in ("", ", f:f32", *(f", {offset}" for offset in offsets))),
    ),
    instruction(
        "txq", "texture-instructions-txq", "Ask for an attribute of a texture or sampler.",
        row("txq.query.b32  out d:b32, [tex:handle!]",
            query="width height depth channel_data_type channel_order normalized_coords "
                  "array_size num_mipmap_levels num_samples filter_mode addr_mode_0 addr_mode_1 "
                  "addr_mode_2 force_unnormalized_coords"),
        row("txq.level.query.b32  out d:b32, [tex:handle!], lod:i32",
            query="width height depth"),
    ),
    instruction(
        "istypep", "texture-instructions-istypep", "Whether a handle is of a kind.",
        row("istypep.type  out p:pred, a:u64!", type="texref samplerref surfref"),
    ),
    instruction(
        "suld", "surface-instructions-suld", "Load from a surface.",
        *(row(f"suld.b.{geometry}{{.cop}}{{.vec}}.T.clamp  out d*vec:T>, [surf:generic, {b}]",
              cop="ca cg cs cv", **ELEMENTS, **CLAMP)
          for geometry, b in COORDINATES.items()),
    ),
    instruction(
        "sust", "surface-instructions-sust", "Store to a surface.",
        *(row(f"sust.b.{geometry}{{.cop}}{{.vec}}.T.clamp  [surf:generic, {b}], c*vec:T!>",
              cop="wb cg cs wt", **ELEMENTS, **CLAMP)
          for geometry, b in COORDINATES.items()),
        # converted to the surface's format
        *(row(f"sust.p.{geometry}{{.vec}}.b32.clamp  [surf:generic, {b}], c*vec:b32!",
              **PIXELS, **CLAMP)
          for geometry, b in COORDINATES.items()),
    ),
    instruction(
        "sured", "surface-instructions-sured", "Change an element of a surface as one step.",
        *(row(f"sured.b.op.{geometry}.T.clamp  [surf:generic, {COORDINATES[geometry]}], c:T",
              op="add min max and or", T="u32 u64 s32 b32", rules=BY_TYPE, **CLAMP)
          for geometry in ("1d", "2d", "3d")),
        *(row(f"sured.b.op.{geometry}.T.clamp  [surf:generic, {COORDINATES[geometry]}], c:T",
              op="min max", T="u64 s64", ptx="8.1", **CLAMP)
          for geometry in ("1d", "2d", "3d")),
        *(row(f"sured.p.op.{geometry}.T.clamp  [surf:generic, {COORDINATES[geometry]}], c:T",
              op="add min max and or", T="b32 b64@,8.1", rules="T=b64: op=min|max", **CLAMP)
          for geometry in ("1d", "2d", "3d")),
    ),
    instruction(
        "suq", "surface-instructions-suq", "Ask for an attribute of a surface.",
        row("suq.query.b32  out d:b32, [surf:handle!]",
            query="width height depth channel_data_type channel_order array_size memory_layout"),
    ),
)
