"""Data movement: registers, lanes and memory. Conversions stand in `conversion`."""

from pyptx.isa.syntax import chapter, instruction, row

SCALAR = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"
MEMORY = f"{SCALAR} b128@sm_70,8.3"
SPACE = "const global local param param::entry@,8.3 shared shared::cta@,7.8 shared::cluster@sm_90,7.8"
STORE = "global local param shared shared::cta@,7.8 shared::cluster@sm_90,7.8"
STRONG = "global shared shared::cta@,7.8 shared::cluster@sm_90,7.8"
SCOPE = "cta cluster@sm_90,7.8 gpu sys"
LEVEL1 = "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate"
LEVEL2 = "L2::evict_normal L2::evict_last L2::evict_first"
PREFETCH = "L2::64B L2::128B L2::256B@sm_80"
VEC = "v2 v4 v8@sm_100,8.8"

FORMS = chapter(
    "Data Movement and Conversion Instructions",
    instruction(
        "mov", "data-movement-and-conversion-instructions-mov",
        "Copy a register, a constant, a special register or the address of a variable.",
        row("mov.T  out d:T, a:T|special|symbol",
            T="pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"),
        row("mov.b128  out d:b128, a:b128", sm="sm_70", ptx="8.3"),
    ),
    instruction(
        "mov", "data-movement-and-conversion-instructions-mov-2",
        "Pack a vector into a register, or unpack a register into a vector.",
        row("mov.b16  out d:b16, a*2:b8"),
        row("mov.b32  out d:b32, a*2:b16"),
        row("mov.b32  out d:b32, a*4:b8"),
        row("mov.b64  out d:b64, a*2:b32"),
        row("mov.b64  out d:b64, a*4:b16"),
        row("mov.b128  out d:b128, a*2:b64", sm="sm_70", ptx="8.3"),
        row("mov.b128  out d:b128, a*4:b32", sm="sm_70", ptx="8.3"),
        row("mov.b16  out d*2:b8|_, a:b16"),
        row("mov.b32  out d*2:b16|_, a:b32"),
        row("mov.b32  out d*4:b8|_, a:b32"),
        row("mov.b64  out d*2:b32|_, a:b64"),
        row("mov.b64  out d*4:b16|_, a:b64"),
        row("mov.b128  out d*2:b64|_, a:b128", sm="sm_70", ptx="8.3"),
        row("mov.b128  out d*4:b32|_, a:b128", sm="sm_70", ptx="8.3"),
    ),
    instruction(
        "shfl", "data-movement-and-conversion-instructions-shfl-sync",
        "Read a register of another lane of the warp.",
        row("shfl.sync.mode.b32  out d{|p}:b32, a:b32, b:b32, c:b32, membermask:b32",
            mode="up down bfly idx"),
    ),
    instruction(
        "prmt", "data-movement-and-conversion-instructions-prmt",
        "Pick four bytes out of a pair of registers.",
        row("prmt.b32{.mode}  out d:b32, a:b32, b:b32, c:b32", mode="f4e b4e rc8 ecl ecr rc16"),
    ),
    instruction(
        "ld", "data-movement-and-conversion-instructions-ld", "Load from memory.",
        row("ld{.weak}{.ss}{.level1}{.level2}{.L2::cache_hint}{.prefetch}{.vec}.T"
            "  out d*vec:T>|_, [a:ss], policy:b64@L2::cache_hint",
            ss=SPACE, level1=LEVEL1, level2=LEVEL2, prefetch=PREFETCH, vec=VEC, T=MEMORY),
        row("ld{.weak}{.ss}.cop{.L2::cache_hint}{.prefetch}{.vec}.T"
            "  out d*vec:T>|_, [a:ss], policy:b64@L2::cache_hint",
            ss=SPACE, cop="ca cg cs lu cv", prefetch=PREFETCH, vec=VEC, T=MEMORY),
        row("ld.volatile{.ss}{.prefetch}{.vec}.T  out d*vec:T>|_, [a:ss]",
            ss=SPACE, prefetch=PREFETCH, vec=VEC, T=MEMORY),
        row("ld.sem.scope{.ss}{.level1}{.level2}{.L2::cache_hint}{.prefetch}{.vec}.T"
            "  out d*vec:T>|_, [a:ss], policy:b64@L2::cache_hint",
            sem="relaxed acquire", scope=SCOPE, ss=STRONG, level1=LEVEL1, level2=LEVEL2,
            prefetch=PREFETCH, vec=VEC, T=MEMORY),
        row("ld.mmio.relaxed.sys{.global}.T  out d:T>, [a:global]", T=SCALAR, ptx="8.2"),
    ),
    instruction(
        "ld", "data-movement-and-conversion-instructions-ld-global-nc",
        "Load from global memory that no one writes, through the read-only cache.",
        row("ld.global{.cop}.nc{.L2::cache_hint}{.prefetch}{.vec}.T"
            "  out d*vec:T>|_, [a:global], policy:b64@L2::cache_hint",
            cop="ca cg cs", prefetch=PREFETCH, vec=VEC, T=MEMORY),
        row("ld.global.nc.level1{.level2}{.L2::cache_hint}{.prefetch}{.vec}.T"
            "  out d*vec:T>|_, [a:global], policy:b64@L2::cache_hint",
            level1=LEVEL1, level2=LEVEL2, prefetch=PREFETCH, vec=VEC, T=MEMORY),
        row("ld.global.nc.level2{.L2::cache_hint}{.prefetch}{.vec}.T"
            "  out d*vec:T>|_, [a:global], policy:b64@L2::cache_hint",
            level2=LEVEL2, prefetch=PREFETCH, vec=VEC, T=MEMORY),
    ),
    instruction(
        "ldu", "data-movement-and-conversion-instructions-ldu",
        "Load from an address that is the same in the whole warp.",
        row("ldu{.ss}{.vec}.T  out d*vec:T>|_, [a:ss]", ss="global", vec="v2 v4", T=MEMORY),
    ),
    instruction(
        "st", "data-movement-and-conversion-instructions-st", "Store to memory.",
        row("st{.weak}{.ss}{.level1}{.level2}{.L2::cache_hint}{.vec}.T"
            "  [a:ss], b*vec:T>, policy:b64@L2::cache_hint",
            ss=STORE, level1=LEVEL1, level2=LEVEL2, vec=VEC, T=MEMORY),
        row("st{.weak}{.ss}.cop{.L2::cache_hint}{.vec}.T"
            "  [a:ss], b*vec:T>, policy:b64@L2::cache_hint",
            ss=STORE, cop="wb cg cs wt", vec=VEC, T=MEMORY),
        row("st.volatile{.ss}{.vec}.T  [a:ss], b*vec:T>", ss=STORE, vec=VEC, T=MEMORY),
        row("st.sem.scope{.ss}{.level1}{.level2}{.L2::cache_hint}{.vec}.T"
            "  [a:ss], b*vec:T>, policy:b64@L2::cache_hint",
            sem="relaxed release", scope=SCOPE, ss=STRONG, level1=LEVEL1, level2=LEVEL2,
            vec=VEC, T=MEMORY),
        row("st.mmio.relaxed.sys{.global}.T  [a:global], b:T>", T=SCALAR, ptx="8.2"),
    ),
    instruction(
        "prefetch", "data-movement-and-conversion-instructions-prefetch-prefetchu",
        "Bring a line into a cache.",
        row("prefetch{.space}.level  [a:space]", space="global local", level="L1 L2"),
        row("prefetch.global.priority  [a:global]",
            priority="L2::evict_last L2::evict_normal", sm="sm_80", ptx="7.4"),
    ),
    instruction(
        "prefetchu", "data-movement-and-conversion-instructions-prefetch-prefetchu",
        "Bring a line into the uniform cache.",
        row("prefetchu.L1  [a:generic]"),
    ),
    instruction(
        "applypriority", "data-movement-and-conversion-instructions-applypriority",
        "Change the eviction priority of 128 bytes of a cache.",
        row("applypriority{.global}.priority  [a:global], #size:u32(128)",
            priority="L2::evict_normal", sm="sm_80", ptx="7.4"),
    ),
    instruction(
        "discard", "data-movement-and-conversion-instructions-discard",
        "Drop 128 bytes of a cache without writing them back.",
        row("discard{.global}.L2  [a:global], #size:u32(128)", sm="sm_80", ptx="7.4"),
    ),
    instruction(
        "createpolicy", "data-movement-and-conversion-instructions-createpolicy",
        "Make a cache policy for instructions with a cache hint.",
        row("createpolicy.range{.global}.primary{.secondary}.b64"
            "  out policy:b64, [a:global], primary_size:u32, total_size:u32",
            primary="L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged",
            secondary="L2::evict_first L2::evict_unchanged", sm="sm_80", ptx="7.4"),
        row("createpolicy.fractional.primary{.secondary}.b64  out policy:b64, fraction:f32?",
            primary="L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged",
            secondary="L2::evict_first L2::evict_unchanged", sm="sm_80", ptx="7.4"),
        row("createpolicy.cvt.L2.b64  out policy:b64, property:b64", sm="sm_80", ptx="7.4"),
    ),
    instruction(
        "isspacep", "data-movement-and-conversion-instructions-isspacep",
        "Test whether a generic address lies in a state space.",
        row("isspacep.space  out p:pred, a:u64",
            space="const global local shared shared::cta@,7.8 shared::cluster@sm_90,7.8 "
            "param@sm_70,7.7 param::entry@sm_70,8.3"),
    ),
    instruction(
        "cvta", "data-movement-and-conversion-instructions-cvta",
        "Convert an address of a state space to a generic one, or back.",
        row("cvta.space.u64  out p:u64, a:u64|symbol",
            space="const global local shared shared::cta@,7.8 shared::cluster@sm_90,7.8 "
            "param@sm_70,7.7 param::entry@sm_70,8.3"),
        row("cvta.to.space.u64  out p:u64, a:u64",
            space="const global local shared shared::cta@,7.8 shared::cluster@sm_90,7.8 "
            "param@sm_70,7.7 param::entry@sm_70,8.3"),
    ),
    instruction(
        "mapa", "data-movement-and-conversion-instructions-mapa",
        "Address of a shared variable in another CTA of the cluster.",
        row("mapa{.space}.T  out d:T, a:T|symbol, b:u32", space="shared::cluster", T="u32 u64",
            sm="sm_90", ptx="7.8"),
    ),
    instruction(
        "getctarank", "data-movement-and-conversion-instructions-getctarank",
        "Rank of the CTA of the cluster that owns an address.",
        row("getctarank{.space}.T  out d:u32, a:T|symbol", space="shared::cluster", T="u32 u64",
            sm="sm_90", ptx="7.8"),
    ),
)
