"""Parallel synchronization and communication."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

SCOPE = "cta cluster@sm_90,7.8 gpu sys"
SPACE = "global shared shared::cta@,7.8 shared::cluster@sm_90,7.8"
SEM = "relaxed acquire release acq_rel"
RED = "relaxed release"
POLICY = "policy:b64@L2::cache_hint"
# A cache hint is for global memory, by its space or by a generic address.
HINT = {"L2::cache_hint": "L2::cache_hint@sm_80,7.4", "rules": "L2::cache_hint: space?=global"}
SCOPE128 = "cta cluster gpu sys@,8.4"
HALF = "f16 f16x2 bf16@sm_90,7.8 bf16x2@sm_90,7.8 f32@sm_90,9.4"
BARRIER = "a:u32(0..15)"
THREADS = "b:u32(32..1024:32)"
MASK = "membermask:i32"
CTA = "cta@,7.8"

FORMS = chapter(
    "Parallel Synchronization and Communication Instructions",
    instruction(
        "barrier", "parallel-synchronization-and-communication-instructions-bar",
        "Synchronize threads of the CTA at a barrier.",
        row(f"barrier{{.cta}}.sync{{.aligned}}  {BARRIER}, {THREADS}?", cta=CTA),
        row(f"barrier{{.cta}}.arrive{{.aligned}}  {BARRIER}, {THREADS}", cta=CTA),
        row(f"barrier{{.cta}}.red.popc{{.aligned}}.u32  out d:u32, {BARRIER}, {{!}}c:pred",
            cta=CTA),
        row("barrier{.cta}.red.popc{.aligned}.u32"
            f"  out d:u32, {BARRIER}, {THREADS}, {{!}}c:pred", cta=CTA),
        row(f"barrier{{.cta}}.red.op{{.aligned}}.pred  out p:pred, {BARRIER}, {{!}}c:pred",
            cta=CTA, op="and or"),
        row("barrier{.cta}.red.op{.aligned}.pred"
            f"  out p:pred, {BARRIER}, {THREADS}, {{!}}c:pred", cta=CTA, op="and or"),
    ),
    instruction(
        "bar", "parallel-synchronization-and-communication-instructions-bar",
        "Synchronize warps of the CTA at a barrier.",
        row(f"bar{{.cta}}.sync  {BARRIER}, {THREADS}?", cta=CTA),
        row(f"bar{{.cta}}.arrive  {BARRIER}, {THREADS}", cta=CTA),
        row(f"bar{{.cta}}.red.popc.u32  out d:u32, {BARRIER}, {{!}}c:pred", cta=CTA),
        row(f"bar{{.cta}}.red.popc.u32  out d:u32, {BARRIER}, {THREADS}, {{!}}c:pred", cta=CTA),
        row(f"bar{{.cta}}.red.op.pred  out p:pred, {BARRIER}, {{!}}c:pred", cta=CTA, op="and or"),
        row(f"bar{{.cta}}.red.op.pred  out p:pred, {BARRIER}, {THREADS}, {{!}}c:pred",
            cta=CTA, op="and or"),
    ),
    instruction(
        "bar", "parallel-synchronization-and-communication-instructions-bar-warp-sync",
        "Synchronize lanes of a warp.",
        row(f"bar.warp.sync  {MASK}"),
    ),
    instruction(
        "barrier", "parallel-synchronization-and-communication-instructions-barrier-cluster",
        "Synchronize threads of the cluster.",
        row("barrier.cluster.arrive{.sem}{.aligned}", sem="release@,8.0 relaxed@,8.0",
            sm="sm_90", ptx="7.8"),
        row("barrier.cluster.wait{.acquire}{.aligned}", acquire="acquire@,8.0",
            sm="sm_90", ptx="7.8"),
    ),
    instruction(
        "membar", "parallel-synchronization-and-communication-instructions-membar",
        "Order memory accesses, by the older name.",
        row("membar.level", level="cta gl sys"),
        row("membar.proxy.alias", ptx="7.5"),
        row("membar.proxy.async", sm="sm_90", ptx="8.0"),
    ),
    instruction(
        "fence", "parallel-synchronization-and-communication-instructions-membar",
        "Order memory accesses.",
        row("fence{.sem}.scope", sem="sc acq_rel acquire@sm_90,8.6 release@sm_90,8.6",
            scope=SCOPE),
        row("fence.acquire.sync_restrict::shared::cluster.cluster", sm="sm_90", ptx="8.6"),
        row("fence.release.sync_restrict::shared::cta.cluster", sm="sm_90", ptx="8.6"),
        row("fence.mbarrier_init.release.cluster", sm="sm_90", ptx="8.0"),
        row("fence.proxy.alias", ptx="7.5"),
        row("fence.proxy.alias.sem.sys", sem="acquire release", sm="sm_90", ptx="9.4"),
        row("fence.proxy.async{.space}", space="global shared::cta shared::cluster",
            sm="sm_90", ptx="8.0"),
        row("fence.proxy.tensormap::generic.release.scope", scope="cta cluster gpu sys",
            sm="sm_90", ptx="8.3"),
        row("fence.proxy.tensormap::generic.acquire.scope  [addr:generic], #size:u32(128)",
            scope="cta cluster gpu sys", sm="sm_90", ptx="8.3"),
        row("fence.proxy.kinds.alias.sem.sys", kinds="generic::fabric fabric::generic fabric::fabric",
            sem="acquire release", sm="sm_100", ptx="9.3"),
        row("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
            sm="sm_90", ptx="8.6"),
        row("fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster",
            sm="sm_90", ptx="9.4"),
        row("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
            sm="sm_90", ptx="8.6"),
    ),
    instruction(
        "atom", "parallel-synchronization-and-communication-instructions-atom",
        "Read, change and write memory as one step.",
        row("atom{.sem}{.scope}{.space}.op{.L2::cache_hint}.T"
            f"  out d:T|_, [a:space], b:T, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, op="and or xor exch", T="b32 b64", **HINT),
        row("atom{.sem}{.scope}{.space}.cas.T  out d:T|_, [a:space], b:T, c:T",
            sem=SEM, scope=SCOPE, space=SPACE, T="b16 b32 b64"),
        row("atom{.sem}{.scope}{.space}.add{.L2::cache_hint}.T"
            f"  out d:T|_, [a:space], b:T, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, T="u32 s32 u64 f32 f64", **HINT),
        row("atom{.sem}{.scope}{.space}.op{.L2::cache_hint}.u32"
            f"  out d:u32|_, [a:space], b:u32, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, op="inc dec", **HINT),
        row("atom{.sem}{.scope}{.space}.op{.L2::cache_hint}.T"
            f"  out d:T|_, [a:space], b:T, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, op="min max", T="u32 s32 u64 s64", **HINT),
        row("atom{.sem}{.scope}{.space}.add.noftz{.L2::cache_hint}.T"
            f"  out d:T|_, [a:space], b:T, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, T=HALF, **HINT),
        row("atom{.sem}{.scope}{.space}.cas.b128  out d:b128|_, [a:space], b:b128, c:b128",
            sem=SEM, scope=SCOPE128, space=SPACE, sm="sm_90", ptx="8.3"),
        row("atom{.sem}{.scope}{.space}.exch{.L2::cache_hint}.b128"
            f"  out d:b128|_, [a:space], b:b128, {POLICY}",
            sem=SEM, scope=SCOPE128, space=SPACE, sm="sm_90", ptx="8.3", **HINT),
        row("atom{.sem}{.scope}{.global}.add{.noftz}{.L2::cache_hint}.vec.f32"
            f"  out d*vec:f32, [a:global|generic], b*vec:f32, {POLICY}",
            sem=SEM, scope=SCOPE, noftz="noftz@,9.4", vec="v2 v4", sm="sm_90", ptx="8.1"),
        row("atom{.sem}{.scope}{.global}.op.noftz{.L2::cache_hint}.vec.T"
            f"  out d*vec:T, [a:global|generic], b*vec:T, {POLICY}",
            sem=SEM, scope=SCOPE, op="add min max", vec="v2 v4 v8", T="f16 bf16",
            sm="sm_90", ptx="8.1"),
        row("atom{.sem}{.scope}{.global}.op.noftz{.L2::cache_hint}.vec.T"
            f"  out d*vec:T, [a:global|generic], b*vec:T, {POLICY}",
            sem=SEM, scope=SCOPE, op="add min max", vec="v2 v4", T="f16x2 bf16x2",
            sm="sm_90", ptx="8.1"),
    ),
    instruction(
        "red", "parallel-synchronization-and-communication-instructions-red",
        "Change memory as one step.",
        row(f"red{{.sem}}{{.scope}}{{.space}}.op{{.L2::cache_hint}}.T  [a:space], b:T, {POLICY}",
            sem=RED, scope=SCOPE, space=SPACE, op="and or xor", T="b32 b64", **HINT),
        row(f"red{{.sem}}{{.scope}}{{.space}}.add{{.L2::cache_hint}}.T  [a:space], b:T, {POLICY}",
            sem=RED, scope=SCOPE, space=SPACE, T="u32 s32 u64 f32 f64", **HINT),
        row("red{.sem}{.scope}{.space}.op{.L2::cache_hint}.u32"
            f"  [a:space], b:u32, {POLICY}",
            sem=RED, scope=SCOPE, space=SPACE, op="inc dec", **HINT),
        row(f"red{{.sem}}{{.scope}}{{.space}}.op{{.L2::cache_hint}}.T  [a:space], b:T, {POLICY}",
            sem=RED, scope=SCOPE, space=SPACE, op="min max", T="u32 s32 u64 s64", **HINT),
        row("red{.sem}{.scope}{.space}.add.noftz{.L2::cache_hint}.T"
            f"  [a:space], b:T, {POLICY}",
            sem=RED, scope=SCOPE, space=SPACE, T=HALF, **HINT),
        row("red{.sem}{.scope}{.global}.add{.noftz}{.L2::cache_hint}.vec.f32"
            f"  [a:global|generic], b*vec:f32, {POLICY}",
            sem=RED, scope=SCOPE, noftz="noftz@,9.4", vec="v2 v4", sm="sm_90", ptx="8.1"),
        row("red{.sem}{.scope}{.global}.op.noftz{.L2::cache_hint}.vec.T"
            f"  [a:global|generic], b*vec:T, {POLICY}",
            sem=RED, scope=SCOPE, op="add min max", vec="v2 v4 v8", T="f16 bf16",
            sm="sm_90", ptx="8.1"),
        row("red{.sem}{.scope}{.global}.op.noftz{.L2::cache_hint}.vec.T"
            f"  [a:global|generic], b*vec:T, {POLICY}",
            sem=RED, scope=SCOPE, op="add min max", vec="v2 v4", T="f16x2 bf16x2",
            sm="sm_90", ptx="8.1"),
    ),
    instruction(
        "vote", "parallel-synchronization-and-communication-instructions-vote-sync",
        "Combine a predicate over the lanes of a warp.",
        row(f"vote.sync.mode.pred  out d:pred, {{!}}a:pred, {MASK}", mode="all any uni"),
        row(f"vote.sync.ballot.b32  out d:b32, {{!}}a:pred, {MASK}"),
    ),
    instruction(
        "match", "parallel-synchronization-and-communication-instructions-match-sync",
        "Find the lanes of a warp that hold the same value.",
        row(f"match.any.sync.T  out d:i32, a:T, {MASK}", T="b32 b64"),
        row(f"match.all.sync.T  out d{{|p}}:i32, a:T, {MASK}", T="b32 b64"),
    ),
    instruction(
        "activemask", "parallel-synchronization-and-communication-instructions-activemask",
        "The lanes that execute this instruction together.",
        row("activemask.b32  out d:b32"),
    ),
    instruction(
        "redux", "parallel-synchronization-and-communication-instructions-redux-sync",
        "Reduce a value over the lanes of a warp.",
        row(f"redux.sync.op.T  out d:T, a:T, {MASK}", op="add min max", T="u32 s32",
            sm="sm_80", ptx="7.0"),
        row(f"redux.sync.op.b32  out d:i32, a:i32, {MASK}", op="and or xor",
            sm="sm_80", ptx="7.0"),
        row(f"redux.sync.op{{.abs}}{{.NaN}}.f32  out d:f32, a:f32, {MASK}", op="min max",
            sm="sm_100f", ptx="8.6"),
    ),
    instruction(
        "griddepcontrol", "parallel-synchronization-and-communication-instructions-griddepcontrol",
        "Let dependent grids start, or wait for the grids this one depends on.",
        row("griddepcontrol.action", action="launch_dependents wait", sm="sm_90", ptx="7.8"),
    ),
    instruction(
        "clusterlaunchcontrol",
        "parallel-synchronization-and-communication-instructions-clusterlaunchcontrol-try-cancel",
        "Ask for the launch of a cluster that has not started to be cancelled.",
        row("clusterlaunchcontrol.try_cancel.async{.space}.mbarrier::complete_tx::bytes"
            "{.multicast::cluster::all}.b128  [addr:space%16], [mbar:space%8]",
            space="shared::cta",
            **{"multicast::cluster::all": "multicast::cluster::all@sm_100f+sm_110f+sm_120f"},
            sm="sm_100", ptx="8.6"),
    ),
    instruction(
        "clusterlaunchcontrol",
        "parallel-synchronization-and-communication-instructions-clusterlaunchcontrol-query-cancel",
        "Whether a launch was cancelled, and which cluster it was.",
        row("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128"
            "  out pred:pred, try_cancel_response:b128", sm="sm_100", ptx="8.6"),
        row("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128"
            "  out d*4:i32|_, try_cancel_response:b128", sm="sm_100", ptx="8.6"),
        row("clusterlaunchcontrol.query_cancel.dimension.b32.b128"
            "  out d:i32, try_cancel_response:b128",
            dimension="get_first_ctaid::x get_first_ctaid::y get_first_ctaid::z",
            sm="sm_100", ptx="8.6"),
    ),
    instruction(
        "elect", "parallel-synchronization-and-communication-instructions-elect-sync",
        "Choose one lane of a warp.",
        row(f"elect.sync  out d|p:b32|_, {MASK}", sm="sm_90", ptx="8.0"),
    ),
)
