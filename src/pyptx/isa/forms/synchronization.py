"""Parallel synchronization and communication."""

from pyptx.isa.syntax import chapter, instruction, row

SCOPE = "cta cluster@sm_90,7.8 gpu sys"
SPACE = "global shared shared::cta@,7.8 shared::cluster@sm_90,7.8"
SEM = "relaxed acquire release acq_rel"
POLICY = "policy:b64@L2::cache_hint"
BARRIER = "a:u32(0..15)"

FORMS = chapter(
    "Parallel Synchronization and Communication Instructions",
    instruction(
        "bar", "parallel-synchronization-and-communication-instructions-bar",
        "Synchronize warps of the CTA at a barrier.",
        row(f"bar{{.cta}}.sync  {BARRIER}, b:u32?", rules=""),
        row(f"bar{{.cta}}.arrive  {BARRIER}, b:u32"),
        row(f"bar{{.cta}}.red.popc.u32  out d:u32, {BARRIER}, {{!}}c:pred"),
        row(f"bar{{.cta}}.red.popc.u32  out d:u32, {BARRIER}, b:u32, {{!}}c:pred"),
        row(f"bar{{.cta}}.red.op.pred  out p:pred, {BARRIER}, {{!}}c:pred", op="and or"),
        row(f"bar{{.cta}}.red.op.pred  out p:pred, {BARRIER}, b:u32, {{!}}c:pred", op="and or"),
    ),
    instruction(
        "bar", "parallel-synchronization-and-communication-instructions-bar-warp-sync",
        "Synchronize lanes of a warp.",
        row("bar.warp.sync  membermask:b32"),
    ),
    instruction(
        "membar", "parallel-synchronization-and-communication-instructions-membar",
        "Order memory accesses, by the older name.",
        row("membar.level  ", level="cta gl sys"),
    ),
    instruction(
        "fence", "parallel-synchronization-and-communication-instructions-membar",
        "Order memory accesses.",
        row("fence{.sem}.scope  ", sem="sc acq_rel", scope=SCOPE),
    ),
    instruction(
        "atom", "parallel-synchronization-and-communication-instructions-atom",
        "Read, change and write memory as one step.",
        row("atom{.sem}{.scope}{.space}.op{.L2::cache_hint}.T"
            f"  out d:T|_, [a:space], b:T, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, op="and or xor exch", T="b32 b64"),
        row("atom{.sem}{.scope}{.space}.cas{.L2::cache_hint}.T"
            f"  out d:T|_, [a:space], b:T, c:T, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, T="b16 b32 b64"),
        row("atom{.sem}{.scope}{.space}.add{.L2::cache_hint}.T"
            f"  out d:T|_, [a:space], b:T, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, T="u32 s32 u64 f32 f64"),
        row("atom{.sem}{.scope}{.space}.op{.L2::cache_hint}.u32"
            f"  out d:u32|_, [a:space], b:u32, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, op="inc dec"),
        row("atom{.sem}{.scope}{.space}.op{.L2::cache_hint}.T"
            f"  out d:T|_, [a:space], b:T, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, op="min max", T="u32 s32 u64 s64"),
        row("atom{.sem}{.scope}{.space}.add.noftz{.L2::cache_hint}.T"
            f"  out d:T|_, [a:space], b:T, {POLICY}",
            sem=SEM, scope=SCOPE, space=SPACE, T="f16 f16x2 bf16@sm_90,7.8 bf16x2@sm_90,7.8"),
    ),
    instruction(
        "red", "parallel-synchronization-and-communication-instructions-red",
        "Change memory as one step.",
        row("red{.sem}{.scope}{.space}.op{.L2::cache_hint}.T"
            f"  [a:space], b:T, {POLICY}",
            sem="relaxed release", scope=SCOPE, space=SPACE, op="and or xor", T="b32 b64"),
        row("red{.sem}{.scope}{.space}.add{.L2::cache_hint}.T"
            f"  [a:space], b:T, {POLICY}",
            sem="relaxed release", scope=SCOPE, space=SPACE, T="u32 s32 u64 f32 f64"),
        row("red{.sem}{.scope}{.space}.op{.L2::cache_hint}.u32"
            f"  [a:space], b:u32, {POLICY}",
            sem="relaxed release", scope=SCOPE, space=SPACE, op="inc dec"),
        row("red{.sem}{.scope}{.space}.op{.L2::cache_hint}.T"
            f"  [a:space], b:T, {POLICY}",
            sem="relaxed release", scope=SCOPE, space=SPACE, op="min max", T="u32 s32 u64 s64"),
        row("red{.sem}{.scope}{.space}.add.noftz{.L2::cache_hint}.T"
            f"  [a:space], b:T, {POLICY}",
            sem="relaxed release", scope=SCOPE, space=SPACE,
            T="f16 f16x2 bf16@sm_90,7.8 bf16x2@sm_90,7.8"),
    ),
    instruction(
        "vote", "parallel-synchronization-and-communication-instructions-vote-sync",
        "Combine a predicate over the lanes of a warp.",
        row("vote.sync.mode.pred  out d:pred, {!}a:pred, membermask:b32", mode="all any uni"),
        row("vote.sync.ballot.b32  out d:b32, {!}a:pred, membermask:b32"),
    ),
    instruction(
        "match", "parallel-synchronization-and-communication-instructions-match-sync",
        "Find the lanes of a warp that hold the same value.",
        row("match.any.sync.T  out d:b32, a:T, membermask:b32", T="b32 b64"),
        row("match.all.sync.T  out d{|p}:b32, a:T, membermask:b32", T="b32 b64"),
    ),
    instruction(
        "activemask", "parallel-synchronization-and-communication-instructions-activemask",
        "The lanes that execute this instruction together.",
        row("activemask.b32  out d:b32"),
    ),
    instruction(
        "redux", "parallel-synchronization-and-communication-instructions-redux-sync",
        "Reduce a value over the lanes of a warp.",
        row("redux.sync.op.T  out d:T, a:T, membermask:b32", op="add min max", T="u32 s32",
            sm="sm_80", ptx="7.0"),
        row("redux.sync.op.b32  out d:b32, a:b32, membermask:b32", op="and or xor",
            sm="sm_80", ptx="7.0"),
        row("redux.sync.op{.abs}{.NaN}.f32  out d:f32, a:f32, membermask:b32", op="min max",
            sm="sm_100a sm_100f", ptx="8.6"),
    ),
    instruction(
        "elect", "parallel-synchronization-and-communication-instructions-elect-sync",
        "Choose one lane of a warp.",
        row("elect.sync  out d|p:b32|_, membermask:b32", sm="sm_90", ptx="8.0"),
    ),
)
