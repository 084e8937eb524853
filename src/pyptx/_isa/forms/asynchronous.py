"""Asynchronous copies, stores and reductions, and how they complete. Tensors stand in `tensor`."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

HINT = {"L2::cache_hint": "L2::cache_hint"}
POLICY = "policy:i64@L2::cache_hint"
PREFETCH = "L2::64B@,7.4 L2::128B@,7.4 L2::256B@,7.4"
TX = "mbarrier::complete_tx::bytes"
MBAR = "[mbar:shared%8]"
CP = {"shared": "shared shared::cta@,7.8", "L2::cache_hint": "L2::cache_hint@,7.4",
      "prefetch": PREFETCH, "sm": "sm_80", "ptx": "7.0"}
BULK = {"sm": "sm_90", "ptx": "8.0"}
STRONG = {"sm": "sm_90a sm_100f sm_110f", "ptx": "9.3"}
WEAK = "weak@sm_90a+sm_100f+sm_110f,9.3"
RELAXED = "relaxed@sm_90a+sm_100f+sm_110f,9.3"
SCOPE = "cta cluster gpu sys"
# The CTAs that a copy goes to, in a mask of 16 bits or of 32.
MULTICAST = "multicast::cluster multicast::cluster::16b@,9.4"
MASK = "ctaMask:u16@multicast"
WIDE = "multicast::cluster::32b"
MASK32 = "ctaMask:u32"
RUBIN = {"sm": "sm_107f", "ptx": "9.4"}
# What an mbarrier reports of the copied bytes.
DISABLED = "mbarrier::report::disabled@sm_107f,9.4"
REPORT = " ".join(
    (DISABLED, *(f"mbarrier::report::validity::{each}@sm_107f,9.4" for each in (
        "per_16bytes::80000000", "per_16bytes::8000", "per_16bytes::80", "per_16bytes::8",
        "per_element::ff"))))
BOTH = "relaxed: scope; scope: relaxed; "
REDUCE = "and or xor add inc dec min max"
TYPES = "b32 b64 u32 u64 s32 s64 f16 bf16 f32 f64"
BY_TYPE = (
    "op=and|or|xor: T=b32|b64; op=inc|dec: T=u32; op=add: T=u32|s32|u64|f32|f64; "
    "op=min|max: T=u32|s32|u64|s64|f16|bf16"
)
SRC = "src_size:u32(0..16)"
IGNORED = "ignoreBytesLeft:u32(0..15), ignoreBytesRight:u32(0..15)"
ELEMENTS = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"
SIZE = "size:u32(0..1048560:16)"
COPY = f"[dst:shared%16], [src:global%16], {SIZE}"
REMOTE = f"[dst:shared%16], [src:shared%16], {SIZE}"
STORE = f"[dst:global%16], [src:shared%16], {SIZE}"

FORMS = chapter(
    "Data Movement and Conversion Instructions: Asynchronous Copy",
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-async",
        "Copy 4, 8 or 16 bytes from global to shared memory without waiting.",
        row("cp.async.ca.shared.global{.L2::cache_hint}{.prefetch}"
            f"  [dst:shared], [src:global], #cp_size:u32(4 8 16), {POLICY}", **CP),
        row("cp.async.cg.shared.global{.L2::cache_hint}{.prefetch}"
            f"  [dst:shared%16], [src:global%16], #cp_size:u32(16), {POLICY}", **CP),
        # the rest of the destination becomes zeros
        row("cp.async.ca.shared.global{.L2::cache_hint}{.prefetch}"
            f"  [dst:shared], [src:global], #cp_size:u32(4 8 16), {SRC}, {POLICY}", **CP),
        row("cp.async.cg.shared.global{.L2::cache_hint}{.prefetch}"
            f"  [dst:shared%16], [src:global%16], #cp_size:u32(16), {SRC}, {POLICY}", **CP),
        # where the predicate holds, zeros are copied
        row("cp.async.ca.shared.global{.L2::cache_hint}{.prefetch}"
            "  [dst:shared], [src:global], #cp_size:u32(4 8 16), {!}ignore_src:pred, "
            f"{POLICY}", **CP | {"ptx": "7.5"}),
        row("cp.async.cg.shared.global{.L2::cache_hint}{.prefetch}"
            "  [dst:shared%16], [src:global%16], #cp_size:u32(16), {!}ignore_src:pred, "
            f"{POLICY}", **CP | {"ptx": "7.5"}),
    ),
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-async-commit-group",
        "Put the copies since the last group into a new group.",
        row("cp.async.commit_group", sm="sm_80", ptx="7.0"),
    ),
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-async-wait-group-cp-async-wait-all",
        "Wait until no more than n of this thread's latest groups of copies are under way.",
        row("cp.async.wait_group  #n:u32", sm="sm_80", ptx="7.0"),
        row("cp.async.wait_all", sm="sm_80", ptx="7.0"),
    ),
    instruction(
        "cp", "parallel-synchronization-and-communication-instructions-cp-async-mbarrier-arrive",
        "Arrive at an mbarrier once this thread's copies so far are complete.",
        row("cp.async.mbarrier.arrive{.noinc}{.space}.b64  [addr:space]",
            space="shared shared::cta@,7.8", sm="sm_80", ptx="7.0"),
    ),
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-async-bulk",
        "Copy a multiple of 16 bytes without waiting.",
        row(f"cp.async.bulk{{.weak}}.shared::cluster.global.{TX}{{.report}}"
            f"{{.multicast}}{{.L2::cache_hint}}  {COPY}, {MBAR}, {MASK}, {POLICY}",
            weak=WEAK, report=REPORT, multicast=MULTICAST, **BULK),
        row(f"cp.async.bulk{{.weak}}.shared::cluster.global.{TX}{{.report}}"
            f".{WIDE}{{.L2::cache_hint}}  {COPY}, {MBAR}, {MASK32}, {POLICY}",
            weak=WEAK, report=REPORT, **RUBIN),
        row(f"cp.async.bulk{{.weak}}.shared::cta.global.{TX}{{.report}}{{.L2::cache_hint}}"
            f"  {COPY}, {MBAR}, {POLICY}", weak=WEAK, report=REPORT, sm="sm_90", ptx="8.6"),
        # some of the first and the last 16 bytes are not read
        row(f"cp.async.bulk{{.weak}}.shared::cta.global.{TX}{{.report}}{{.L2::cache_hint}}"
            f".ignore_oob  {COPY}, {IGNORED}, {MBAR}, {POLICY}", weak=WEAK, report=DISABLED,
            sm="sm_90", ptx="9.2"),
        row(f"cp.async.bulk{{.weak}}.shared::cluster.shared::cta.{TX}"
            f"  {REMOTE}, {MBAR}", weak=WEAK, **BULK),
        row("cp.async.bulk{.weak}.global.shared::cta.bulk_group{.L2::cache_hint}{.cp_mask}"
            f"  {STORE}, {POLICY}, byteMask:u16@cp_mask",
            weak=WEAK, cp_mask="cp_mask@sm_100,8.6", **BULK),
        # 16 bytes at a time are one access
        row(f"cp.async.bulk.relaxed.scope.shared::cluster.global.{TX}{{.report}}"
            f"{{.multicast}}{{.L2::cache_hint}}.b128  {COPY}, {MBAR}, {MASK}, {POLICY}",
            scope=SCOPE, report=REPORT, multicast=MULTICAST, **STRONG),
        row(f"cp.async.bulk.relaxed.scope.shared::cluster.global.{TX}{{.report}}"
            f".{WIDE}{{.L2::cache_hint}}.b128  {COPY}, {MBAR}, {MASK32}, {POLICY}",
            scope=SCOPE, report=REPORT, **RUBIN),
        row(f"cp.async.bulk.relaxed.scope.shared::cta.global.{TX}{{.report}}{{.L2::cache_hint}}"
            f".b128  {COPY}, {MBAR}, {POLICY}", scope=SCOPE, report=REPORT, **STRONG),
        row(f"cp.async.bulk.relaxed.scope.shared::cta.global.{TX}{{.report}}{{.L2::cache_hint}}"
            f".ignore_oob.b128  {COPY}, {IGNORED}, {MBAR}, {POLICY}", scope=SCOPE,
            report=DISABLED, **STRONG),
        row(f"cp.async.bulk.relaxed.scope.shared::cluster.shared::cta.{TX}.b128"
            f"  {REMOTE}, {MBAR}", scope="cta cluster", **STRONG),
        row("cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group{.L2::cache_hint}"
            f"{{.cp_mask}}.b128  {STORE}, {POLICY}, byteMask:u16@cp_mask",
            scope=SCOPE, cp_mask="cp_mask@sm_100", **STRONG),
    ),
    instruction(
        "multimem", "data-movement-and-conversion-instructions-multimem-cp-async-bulk",
        "Copy a multiple of 16 bytes to all places of a multimem address without waiting.",
        row("multimem.cp.async.bulk{.weak}.global.shared::cta.bulk_group{.cp_mask}"
            f"  {STORE}, byteMask:u16@cp_mask",
            weak=WEAK, cp_mask="cp_mask@sm_100", sm="sm_90", ptx="9.1"),
        row("multimem.cp.async.bulk.relaxed.scope.global.shared::cta.bulk_group{.cp_mask}.b128"
            f"  {STORE}, byteMask:u16@cp_mask",
            scope=SCOPE, cp_mask="cp_mask@sm_100", **STRONG),
    ),
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-reduce-async-bulk",
        "Combine an array in shared memory with one elsewhere without waiting.",
        row(f"cp.reduce.async.bulk{{.relaxed}}{{.scope}}.shared::cluster.shared::cta.{TX}.op.T"
            f"  {REMOTE}, {MBAR}", relaxed=RELAXED, scope="cta cluster",
            op="and or xor add inc dec min max", T="b32 u32 s32 u64",
            rules=BOTH + "op=and|or|xor: T=b32; op=inc|dec: T=u32; op=min|max: T=u32|s32; "
                  "op=add: T=u32|s32|u64", **BULK),
        row("cp.reduce.async.bulk{.relaxed}{.scope}.global.shared::cta.bulk_group"
            f"{{.L2::cache_hint}}.op.T  {STORE}, {POLICY}",
            op=REDUCE, T=TYPES, relaxed=RELAXED, scope=SCOPE, rules=BOTH + BY_TYPE, **BULK),
        row("cp.reduce.async.bulk{.relaxed}{.scope}.global.shared::cta.bulk_group"
            f"{{.L2::cache_hint}}.add.noftz.T  {STORE}, {POLICY}", T="f16 bf16 f32@,9.4",
            relaxed=RELAXED, scope=SCOPE, rules=BOTH, **BULK),
    ),
    instruction(
        "multimem", "data-movement-and-conversion-instructions-multimem-cp-reduce-async-bulk",
        "Combine shared memory with all places of a multimem address without waiting.",
        row("multimem.cp.reduce.async.bulk{.relaxed}{.scope}.global.shared::cta.bulk_group.op.T"
            f"  {STORE}", op=REDUCE, T=TYPES, relaxed=RELAXED, scope=SCOPE, rules=BOTH + BY_TYPE,
            sm="sm_90", ptx="9.1"),
        row("multimem.cp.reduce.async.bulk{.relaxed}{.scope}.global.shared::cta.bulk_group"
            f".add.noftz.T  {STORE}", T="f16 bf16 f32@,9.4", relaxed=RELAXED, scope=SCOPE, rules=BOTH,
            sm="sm_90", ptx="9.1"),
    ),
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-async-bulk-prefetch",
        "Bring a multiple of 16 bytes into the L2 cache.",
        row("cp.async.bulk.prefetch.L2.global{.L2::cache_hint}"
            f"  [src:global%16], {SIZE}, {POLICY}", **BULK),
        row(f"cp.async.bulk.prefetch.L2.global.L2::evict_last  [src:global%16], {SIZE}", **RUBIN),
    ),
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-async-bulk-commit-group",
        "Put the bulk copies since the last bulk group into a new one.",
        row("cp.async.bulk.commit_group", **BULK),
    ),
    instruction(
        "cp", "data-movement-and-conversion-instructions-cp-async-bulk-wait-group",
        "Wait until no more than n of this thread's latest bulk groups are under way, or reading.",
        row("cp.async.bulk.wait_group{.read}  #n:u32", **BULK),
    ),
    instruction(
        "st", "data-movement-and-conversion-instructions-st-async",
        "Store without waiting.",
        row(f"st.async{{.weak}}{{.shared::cluster}}.{TX}{{.vec}}.T"
            f"  [a:shared::cluster], b*vec:T, {MBAR}",
            vec="v2 v4", T="b32 b64 u32 u64 s32 s64 f32 f64 b128@,9.2",
            rules="vec=v4: T=b32|u32|s32|f32; T=b128: !vec",
            sm="sm_90", ptx="8.1"),
        # a register only: a constant makes assemblers fail
        row("st.async{.mmio}.release.scope{.global}.T  [a:global|generic], b:T!",
            scope="gpu sys", T=ELEMENTS,
            rules="mmio: scope=sys", sm="sm_100", ptx="8.7"),
    ),
    instruction(
        "multimem", "data-movement-and-conversion-instructions-multimem-st-async",
        "Store to all places of a multimem address without waiting.",
        row("multimem.st.async.release.scope{.global}.T  [a:global|generic], b:T!",
            scope="gpu sys", T=ELEMENTS, sm="sm_100", ptx="9.3"),
    ),
    instruction(
        "st", "data-movement-and-conversion-instructions-st-bulk",
        "Fill shared memory with zeros.",
        # an address in a register: assemblers fail at a variable's
        row("st.bulk{.weak}{.space}  [a:space!], size:u64(0..18446744073709551608:8), #initval:u64(0)",
            space="shared::cta",
            sm="sm_100", ptx="8.6"),
    ),
    instruction(
        "red", "parallel-synchronization-and-communication-instructions-red-async",
        "Change memory as one step without waiting.",
        row(f"red.async.relaxed.cluster{{.shared::cluster}}.{TX}.op.T"
            f"  [a:shared::cluster], b:T, {MBAR}",
            op="inc dec min max add and or xor", T="b32 u32 s32 u64",
            rules="op=inc|dec: T=u32; op=min|max: T=u32|s32; op=add: T=u32|s32|u64; "
                  "op=and|or|xor: T=b32", sm="sm_90", ptx="8.1"),
        row("red.async{.mmio}.release.scope{.global}.add.T  [a:global|generic], b:T!",
            scope="gpu sys", T="u32 s32 u64 s64", rules="mmio: scope=sys", sm="sm_100", ptx="8.7"),
    ),
    instruction(
        "multimem", "parallel-synchronization-and-communication-instructions-multimem-red-async",
        "Change memory at all places of a multimem address without waiting.",
        row("multimem.red.async.release.scope{.global}.add.T  [a:global|generic], b:T!",
            scope="gpu sys", T="u32 s32 u64", sm="sm_100", ptx="9.3"),
    ),
)
