"""Data movement: registers, lanes and memory. Conversions stand in `conversion`."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

SCALAR = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"
MEMORY = f"{SCALAR} b128@,8.3"
WIDE = "b32 u32 s32 f32 b64 u64 s64 f64"
CTA = "shared::cta@,7.8"
CLUSTER = "shared::cluster@sm_90,7.8"
LOAD = f"const global local param param::entry@,8.3 shared {CTA} {CLUSTER}"
STORE = f"global local shared {CTA} {CLUSTER}"
STRONG = f"global shared {CTA} {CLUSTER}"
VOLATILE = f"global local@,9.1 shared {CTA} {CLUSTER}"
SCOPE = "cta cluster@sm_90,7.8 gpu sys"
SCOPE128 = "cta cluster@sm_90 gpu sys@,8.4"
LEVEL1 = (
    "L1::evict_normal@,7.4 L1::evict_unchanged@,7.4 L1::evict_first@,7.4 L1::evict_last@,7.4 "
    "L1::no_allocate@,7.4"
)
LEVEL2 = "L2::evict_normal L2::evict_last L2::evict_first"
PREFETCH = "L2::64B@,7.4 L2::128B@,7.4 L2::256B@sm_80,7.4"
HINT = {"L2::cache_hint": "L2::cache_hint@sm_80,7.4"}
POLICY = "policy:i64@L2::cache_hint"
# Vectors of ordinary accesses have at most 128 bits.
NARROW = "vec=v4: T=b8|b16|b32|u8|u16|u32|s8|s16|s32|f32; "
NARROW128 = NARROW + "T=b128: !vec; "
# Vectors of 256 bits are eight times 32 or four times 64.
WIDE_VEC = "vec=v8: T=b32|u32|s32|f32; vec=v4: T=b64|u64|s64|f64; "
# Hints are for global memory, by its space or by a generic address.
GLOBAL = "level1: ss?=global; L2::cache_hint: ss?=global; prefetch: ss?=global"
EVICT = "L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged"

SPARSE = {"sm": "sm_107a", "ptx": "9.4"}

FORMS = chapter(
    "Data Movement and Conversion Instructions",
    instruction(
        "mov", "data-movement-and-conversion-instructions-mov",
        "Copy a register, a constant, a special register or the address of a variable.",
        row("mov.T  out d:T, a:T|special|symbol",
            T="pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"),
        row("mov.b128  out d:b128, a:b128", ptx="8.3"),
        # a constant: anything but 0 is true
        row("mov.pred  out d:pred, #value:pred"),
    ),
    instruction(
        "mov", "data-movement-and-conversion-instructions-mov-2",
        "Pack a vector into a register, or unpack a register into a vector.",
        row("mov.b16  out d:b16, a*2:b8"),
        row("mov.b32  out d:b32, a*2:b16"),
        row("mov.b32  out d:b32, a*4:b8"),
        row("mov.b64  out d:b64, a*2:b32"),
        row("mov.b64  out d:b64, a*4:b16"),
        row("mov.b128  out d:b128, a*2:b64", ptx="8.3"),
        row("mov.b128  out d:b128, a*4:b32", ptx="8.3"),
        row("mov.b16  out d*2:b8|_, a:b16"),
        row("mov.b32  out d*2:b16|_, a:b32"),
        row("mov.b32  out d*4:b8|_, a:b32"),
        row("mov.b64  out d*2:b32|_, a:b64"),
        row("mov.b64  out d*4:b16|_, a:b64"),
        row("mov.b128  out d*2:b64|_, a:b128", ptx="8.3"),
        row("mov.b128  out d*4:b32|_, a:b128", ptx="8.3"),
    ),
    instruction(
        "shfl", "data-movement-and-conversion-instructions-shfl-sync",
        "Read a register of another lane of the warp.",
        row("shfl.sync.mode.b32  out d{|p}:b32, a:b32, b:u32, c:u32, membermask:i32",
            mode="up down bfly idx"),
    ),
    instruction(
        "prmt", "data-movement-and-conversion-instructions-prmt",
        "Pick four bytes out of a pair of registers.",
        row("prmt.b32{.mode}  out d:b32, a:b32, b:b32, c:b32", mode="f4e b4e rc8 ecl ecr rc16"),
    ),
    instruction(
        "ld", "data-movement-and-conversion-instructions-ld", "Load from memory.",
        row("ld{.weak}{.ss}{.cop}{.L2::cache_hint}{.prefetch}{.vec}.T"
            f"  out d*vec:T>, [a:ss]{{.unified}}, {POLICY}", **HINT,
            ss=LOAD, cop="ca cg cs lu cv", prefetch=PREFETCH, vec="v2 v4", T=MEMORY,
            rules=NARROW128 + "L2::cache_hint: ss?=global; prefetch: ss?=global"),
        row("ld{.weak}{.ss}.level1{.L2::cache_hint}{.prefetch}{.vec}.T"
            f"  out d*vec:T>, [a:ss]{{.unified}}, {POLICY}", **HINT,
            ss="global", level1=LEVEL1, prefetch=PREFETCH, vec="v2 v4", T=MEMORY, rules=NARROW128),
        row("ld.volatile{.ss}{.prefetch}{.vec}.T  out d*vec:T>, [a:ss]",
            ss=VOLATILE, prefetch=PREFETCH, vec="v2 v4", T=MEMORY,
            rules=NARROW128 + "prefetch: ss?=global"),
        row("ld.sem.scope{.ss}{.level1}{.L2::cache_hint}{.prefetch}{.vec}.T"
            f"  out d*vec:T>, [a:ss], {POLICY}", **HINT,
            sem="relaxed acquire", scope=SCOPE, ss=STRONG, level1=LEVEL1, prefetch=PREFETCH,
            vec="v2 v4", T=SCALAR, rules=NARROW + GLOBAL),
        row("ld.sem.scope{.ss}{.level1}{.L2::cache_hint}{.prefetch}.b128"
            f"  out d:b128, [a:ss], {POLICY}", **HINT,
            sem="relaxed acquire", scope=SCOPE128, ss=STRONG, level1=LEVEL1, prefetch=PREFETCH,
            rules=GLOBAL, ptx="8.3"),
        row("ld.mmio.sem.sys{.global}.T  out d:T>, [a:global|generic]",
            sem="relaxed acquire@,9.3", T=f"{SCALAR} b128@,8.4", ptx="8.2"),
        # what no one writes while the kernel runs
        row("ld.proxy::readonly{.global}.T  out d:T>, [a:global|generic]",
            T=SCALAR, sm="sm_90", ptx="9.4"),
        # 256 bits
        row("ld{.weak}{.global}{.cop}{.L2::cache_hint}{.prefetch}.vec.T"
            f"  out d*vec:T|_, [a:global|generic]{{.unified}}, {POLICY}",
            cop="ca cg cs lu cv", prefetch=PREFETCH, vec="v8 v4", T=WIDE, rules=WIDE_VEC,
            sm="sm_100", ptx="8.8"),
        row("ld{.weak}{.global}{.level1}{.level2}{.L2::cache_hint}{.prefetch}.vec.T"
            f"  out d*vec:T|_, [a:global|generic]{{.unified}}, {POLICY}",
            level1=LEVEL1, level2=LEVEL2, prefetch=PREFETCH, vec="v8 v4", T=WIDE,
            rules=WIDE_VEC + "!level1: level2", sm="sm_100", ptx="8.8"),
        row("ld.volatile{.global}{.prefetch}.vec.T  out d*vec:T|_, [a:global|generic]",
            prefetch=PREFETCH, vec="v8 v4", T=WIDE, rules=WIDE_VEC, sm="sm_100", ptx="8.8"),
        row("ld.sem.scope{.global}{.level1}{.level2}{.L2::cache_hint}{.prefetch}.vec.T"
            f"  out d*vec:T|_, [a:global|generic], {POLICY}",
            sem="relaxed acquire", scope=SCOPE, level1=LEVEL1, level2=LEVEL2, prefetch=PREFETCH,
            vec="v8 v4", T=WIDE, rules=WIDE_VEC, sm="sm_100", ptx="8.8"),
    ),
    instruction(
        "ld", "data-movement-and-conversion-instructions-ld-global-nc",
        "Load from global memory that no one writes, through the read-only cache.",
        row("ld.global{.cop}.nc{.L2::cache_hint}{.prefetch}{.vec}.T"
            f"  out d*vec:T>, [a:global], {POLICY}", **HINT,
            cop="ca cg cs", prefetch=PREFETCH, vec="v2 v4", T=MEMORY, rules=NARROW128),
        row("ld.global.nc.level1{.L2::cache_hint}{.prefetch}{.vec}.T"
            f"  out d*vec:T>, [a:global], {POLICY}", **HINT,
            level1=LEVEL1, prefetch=PREFETCH, vec="v2 v4", T=MEMORY, rules=NARROW128),
        # 256 bits
        row("ld.global{.cop}.nc{.L2::cache_hint}{.prefetch}.vec.T"
            f"  out d*vec:T|_, [a:global], {POLICY}",
            cop="ca cg cs", prefetch=PREFETCH, vec="v8 v4", T=WIDE, rules=WIDE_VEC,
            sm="sm_100", ptx="8.8"),
        row("ld.global.nc{.level1}{.level2}{.L2::cache_hint}{.prefetch}.vec.T"
            f"  out d*vec:T|_, [a:global], {POLICY}",
            level1=LEVEL1, level2=LEVEL2, prefetch=PREFETCH, vec="v8 v4", T=WIDE,
            rules=WIDE_VEC + "!level1: level2", sm="sm_100", ptx="8.8"),
    ),
    instruction(
        "ldu", "data-movement-and-conversion-instructions-ldu",
        "Load from an address that is the same in the whole warp.",
        row("ldu{.ss}{.vec}.T  out d*vec:T>, [a:ss]", ss="global", vec="v2 v4", T=MEMORY,
            rules=NARROW128),
    ),
    instruction(
        "st", "data-movement-and-conversion-instructions-st", "Store to memory.",
        row("st{.weak}{.ss}{.cop}{.L2::cache_hint}{.vec}.T"
            f"  [a:ss], b*vec:T>, {POLICY}", **HINT,
            ss=STORE, cop="wb cg cs wt", vec="v2 v4", T=MEMORY,
            rules=NARROW128 + "L2::cache_hint: ss?=global"),
        row("st{.weak}{.ss}.level1{.L2::cache_hint}{.vec}.T"
            f"  [a:ss], b*vec:T>, {POLICY}", **HINT,
            ss="global", level1=LEVEL1, vec="v2 v4", T=MEMORY, rules=NARROW128),
        row("st.volatile{.ss}{.vec}.T  [a:ss], b*vec:T>", ss=VOLATILE, vec="v2 v4", T=MEMORY,
            rules=NARROW128),
        row("st.sem.scope{.ss}{.level1}{.L2::cache_hint}{.vec}.T"
            f"  [a:ss], b*vec:T>, {POLICY}", **HINT,
            sem="relaxed release", scope=SCOPE, ss=STRONG, level1=LEVEL1, vec="v2 v4", T=SCALAR,
            rules=NARROW + "level1: ss?=global; L2::cache_hint: ss?=global"),
        row("st.sem.scope{.ss}{.level1}{.L2::cache_hint}.b128"
            f"  [a:ss], b:b128, {POLICY}", **HINT,
            sem="relaxed release", scope=SCOPE128, ss=STRONG, level1=LEVEL1,
            rules="level1: ss?=global; L2::cache_hint: ss?=global", ptx="8.3"),
        row("st.mmio.sem.sys{.global}.T  [a:global|generic], b:T>",
            sem="relaxed release@,9.3", T=f"{SCALAR} b128@,8.4", ptx="8.2"),
        # 256 bits
        row("st{.weak}{.global}{.cop}{.L2::cache_hint}.vec.T"
            f"  [a:global|generic], b*vec:T, {POLICY}",
            cop="wb cg cs wt", vec="v8 v4", T=WIDE, rules=WIDE_VEC, sm="sm_100", ptx="8.8"),
        row("st{.weak}{.global}{.level1}{.level2}{.L2::cache_hint}.vec.T"
            f"  [a:global|generic], b*vec:T, {POLICY}",
            level1=LEVEL1, level2=LEVEL2, vec="v8 v4", T=WIDE,
            rules=WIDE_VEC + "!level1: level2", sm="sm_100", ptx="8.8"),
        row("st.volatile{.global}.vec.T  [a:global|generic], b*vec:T",
            vec="v8 v4", T=WIDE, rules=WIDE_VEC, sm="sm_100", ptx="8.8"),
        row("st.sem.scope{.global}{.level1}{.level2}{.L2::cache_hint}.vec.T"
            f"  [a:global|generic], b*vec:T, {POLICY}",
            sem="relaxed release", scope=SCOPE, level1=LEVEL1, level2=LEVEL2, vec="v8 v4",
            T=WIDE, rules=WIDE_VEC, sm="sm_100", ptx="8.8"),
    ),
    instruction(
        "prefetch", "data-movement-and-conversion-instructions-prefetch-prefetchu",
        "Bring a line into a cache.",
        row("prefetch{.space}.level  [a:space]", space="global local", level="L1 L2"),
        row("prefetch.global.priority  [a:global]",
            priority="L2::evict_last L2::evict_normal", sm="sm_80", ptx="7.4"),
        row("prefetch{.global}.L1::32B.valid_addr  [a:global|generic]", sm="sm_90", ptx="9.4"),
        row("prefetch{.space}.tensormap  [a:space]", space="const param", sm="sm_90", ptx="8.0"),
    ),
    instruction(
        "prefetchu", "data-movement-and-conversion-instructions-prefetch-prefetchu",
        "Bring a line into the uniform cache.",
        row("prefetchu.L1  [a:generic]"),
    ),
    instruction(
        "applypriority", "data-movement-and-conversion-instructions-applypriority",
        "Change the eviction priority of 128 bytes of a cache.",
        row("applypriority{.global}.priority  [a:global|generic], #size:u32(128)",
            priority="L2::evict_normal", sm="sm_80", ptx="7.4"),
    ),
    instruction(
        "applypriority", "data-movement-and-conversion-instructions-applypriority-async-bulk",
        "Change the eviction priority of a range of a cache without waiting.",
        row("applypriority.async.bulk{.global}.bulk_group.L2::evict_normal"
            "  [a:global|generic%128], size:u32(0..4294967280:16)", sm="sm_107f", ptx="9.4"),
    ),
    instruction(
        "discard", "data-movement-and-conversion-instructions-discard",
        "Drop 128 bytes of a cache without writing them back.",
        row("discard{.global}.L2  [a:global|generic], #size:u32(128)", sm="sm_80", ptx="7.4"),
    ),
    instruction(
        "spcompress", "data-movement-and-conversion-instructions-spcompress",
        "Keep two of every four elements, and where they stood.",
        *(row(f"spcompress.{elements}.{indices}.sp::2:4.num"
              f"  out {{mdata}}*num/{ratio}:b32, out {{cdata}}*num:b32, data*num*2:b32!, spdesc:i32!",
              num="x1 x2 x4 x8 x16 x32 x64", **SPARSE)
          for elements, indices, ratio in (
              ("b8", "b2", 4), ("b8", "b4", 2), ("b16", "b2", 8), ("b16", "b4", 4))),
    ),
    instruction(
        "spdecompress", "data-movement-and-conversion-instructions-spdecompress",
        "Put elements back where they stood, and zeros between them.",
        # so many elements of so many; indices of 2 bits reach four, and a result is up to 128 registers
        *(row(f"spdecompress.b{bits}.b{index}.sp::{few}:{many}.num"
              f"  out {{data}}*num*{many * bits}/32:b32, {{mdata}}*num*{few * index}/32:b32!, "
              f"{{cdata}}*num*{few * bits}/32:b32!",
              num=" ".join(f"x{n}" for n in (1, 2, 4, 8, 16, 32, 64) if 32 <= many * bits * n <= 4096),
              **SPARSE)
          for bits in (8, 16) for index in (2, 4)
          for few, many in ((1, 2), (1, 4), (1, 8), (1, 16), (2, 4), (2, 8), (2, 16), (4, 8), (4, 16))
          if few * bits <= 32 and many <= 2**index),
    ),
    instruction(
        "createpolicy", "data-movement-and-conversion-instructions-createpolicy",
        "Make a cache policy for instructions with a cache hint.",
        row("createpolicy.range{.global}.primary{.secondary}.b64"
            "  out policy:i64, [a:global|generic], primary_size:u32, total_size:u32",
            primary=EVICT, secondary="L2::evict_first L2::evict_unchanged",
            sm="sm_80", ptx="7.4"),
        row("createpolicy.range.fabric.primary{.secondary}.b64"
            "  out policy:i64, [leId:fabric, dataOff:u64!], primary_size:u32, total_size:u32",
            primary=EVICT, secondary="L2::evict_first L2::evict_unchanged",
            sm="sm_100", ptx="9.4"),
        row("createpolicy.fractional.primary{.secondary}.b64  out policy:i64, fraction:f32?",
            primary=EVICT, secondary="L2::evict_first L2::evict_unchanged",
            sm="sm_80", ptx="7.4"),
        row("createpolicy.cvt.L2.b64  out policy:i64, property:i64", sm="sm_80", ptx="7.4"),
    ),
    instruction(
        "isspacep", "data-movement-and-conversion-instructions-isspacep",
        "Test whether a generic address lies in a state space.",
        row("isspacep.space  out p:pred, a:u64!",
            space=f"const global local shared {CTA} {CLUSTER} param@,7.7 param::entry@,8.3"),
    ),
    instruction(
        "cvta", "data-movement-and-conversion-instructions-cvta",
        "Convert an address of a state space to a generic one, or back.",
        row("cvta.space.u64  out p:u64, a:u64!|symbol",
            space=f"const global local shared {CTA} {CLUSTER} param@,7.7 param::entry@,8.3"),
        row("cvta.to.space.u64  out p:u64, a:u64!",
            space=f"const global local shared {CTA} {CLUSTER} param@,7.7 param::entry@,8.3"),
    ),
    instruction(
        "mapa", "data-movement-and-conversion-instructions-mapa",
        "Address of a shared variable in another CTA of the cluster.",
        row("mapa.T  out d:T, a:T!, b:u32", T="u32 u64", sm="sm_90", ptx="7.8"),
        row("mapa.space.T  out d:T, a:T!|symbol, b:u32", space="shared::cluster", T="u32 u64",
            sm="sm_90", ptx="7.8"),
    ),
    instruction(
        "getctarank", "data-movement-and-conversion-instructions-getctarank",
        "Rank of the CTA of the cluster that owns an address.",
        row("getctarank.T  out d:u32, a:T!", T="u32 u64", sm="sm_90", ptx="7.8"),
        row("getctarank.space.T  out d:u32, a:T!|symbol", space="shared::cluster", T="u32 u64",
            sm="sm_90", ptx="7.8"),
    ),
)
