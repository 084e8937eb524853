"""mbarrier objects: barriers in shared memory that also count bytes of asynchronous copies."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx.isa.syntax import chapter, instruction, row

CTA = "shared shared::cta@,7.8"
ANY = "shared shared::cta shared::cluster"
SCOPE = "cta@sm_90,8.0 cluster@sm_90,8.0"
RELEASE = "release@sm_90,8.0 relaxed@sm_90,8.6"
ACQUIRE = "acquire@sm_90,8.0 relaxed@sm_90,8.6"
BOTH = "sem: scope; scope: sem"
OLD = {"sm": "sm_80", "ptx": "7.0"}
NEW = {"sm": "sm_90", "ptx": "8.0"}

FORMS = chapter(
    "Parallel Synchronization and Communication Instructions: mbarrier",
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-init",
        "Make an mbarrier object that waits for so many arrivals in every phase.",
        row("mbarrier.init{.space}.b64  [addr:space], count:u32(1..1048575)", space=CTA, **OLD),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-inval",
        "End the life of an mbarrier object; its memory may hold something else.",
        row("mbarrier.inval{.space}.b64  [addr:space]", space=CTA, **OLD),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-expect-tx",
        "Expect so many more bytes in the current phase.",
        row("mbarrier.expect_tx{.sem}{.scope}{.space}.b64  [addr:space], txCount:u32(0..1048575)",
            sem="relaxed", scope="cta cluster", space=ANY, rules=BOTH, **NEW),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-complete-tx",
        "Count bytes as arrived, as an asynchronous copy does.",
        row("mbarrier.complete_tx{.sem}{.scope}{.space}.b64  [addr:space], txCount:u32(0..1048575)",
            sem="relaxed", scope="cta cluster", space=ANY, rules=BOTH, **NEW),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-arrive",
        "Arrive at an mbarrier.",
        row("mbarrier.arrive{.sem}{.scope}{.space}.b64  out state:i64|_, [addr:space]",
            sem=RELEASE, scope=SCOPE, space=CTA, rules=BOTH, **OLD),
        row("mbarrier.arrive{.sem}{.scope}{.space}.b64  out state:i64|_, [addr:space], count:u32(1..1048575)",
            sem=RELEASE, scope=SCOPE, space=CTA, rules=BOTH, sm="sm_90", ptx="7.8"),
        row("mbarrier.arrive{.sem}{.scope}.shared::cluster.b64"
            "  _, [addr:shared::cluster], count:u32(1..1048575)?",
            sem=RELEASE, scope=SCOPE, rules=BOTH, **NEW),
        row("mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.b64"
            "  out state:i64|_, [addr:space], txCount:u32(0..1048575)",
            sem="release relaxed@,8.6", scope="cta cluster", space=CTA, rules=BOTH, **NEW),
        row("mbarrier.arrive.expect_tx{.sem}{.scope}.shared::cluster.b64"
            "  _, [addr:shared::cluster], txCount:u32(0..1048575)",
            sem="release relaxed@,8.6", scope="cta cluster", rules=BOTH, **NEW),
        row("mbarrier.arrive.noComplete{.release}{.cta}{.space}.b64"
            "  out state:i64|_, [addr:space], count:u32(1..1048575)",
            release="release@,8.0", cta="cta@,8.0", space=CTA,
            rules="release: cta; cta: release", **OLD),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-arrive-drop",
        "Arrive at an mbarrier and stay away from its later phases.",
        row("mbarrier.arrive_drop{.sem}{.scope}{.space}.b64  out state:i64|_, [addr:space]",
            sem=RELEASE, scope=SCOPE, space=CTA, rules=BOTH, **OLD),
        row("mbarrier.arrive_drop{.sem}{.scope}{.space}.b64"
            "  out state:i64|_, [addr:space], count:u32(1..1048575)",
            sem=RELEASE, scope=SCOPE, space=CTA, rules=BOTH, sm="sm_90", ptx="7.8"),
        row("mbarrier.arrive_drop{.sem}{.scope}.shared::cluster.b64"
            "  _, [addr:shared::cluster], count:u32(1..1048575)?",
            sem=RELEASE, scope=SCOPE, rules=BOTH, **NEW),
        row("mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.b64"
            "  out state:i64|_, [addr:space], txCount:u32(0..1048575)",
            sem="release relaxed@,8.6", scope="cta cluster", space=CTA, rules=BOTH, **NEW),
        row("mbarrier.arrive_drop.expect_tx{.sem}{.scope}.shared::cluster.b64"
            "  _, [addr:shared::cluster], txCount:u32(0..1048575)",
            sem="release relaxed@,8.6", scope="cta cluster", rules=BOTH, **NEW),
        row("mbarrier.arrive_drop.noComplete{.release}{.cta}{.space}.b64"
            "  out state:i64|_, [addr:space], count:u32(1..1048575)",
            release="release@,8.0", cta="cta@,8.0", space=CTA,
            rules="release: cta; cta: release", **OLD),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait",
        "Test whether the phase of a state, or of a parity, is complete.",
        row("mbarrier.test_wait{.sem}{.scope}{.space}.b64"
            "  out waitComplete:pred, [addr:space], state:i64!",
            sem=ACQUIRE, scope=SCOPE, space=CTA, rules=BOTH, **OLD),
        row("mbarrier.test_wait.parity{.sem}{.scope}{.space}.b64"
            "  out waitComplete:pred, [addr:space], phaseParity:u32(0..1)",
            sem=ACQUIRE, scope=SCOPE, space=CTA, rules=BOTH, sm="sm_80", ptx="7.1"),
        row("mbarrier.try_wait{.sem}{.scope}{.space}.b64"
            "  out waitComplete:pred, [addr:space], state:i64!, suspendTimeHint:u32?",
            sem=ACQUIRE, scope=SCOPE, space=CTA, rules=BOTH, sm="sm_90", ptx="7.8"),
        row("mbarrier.try_wait.parity{.sem}{.scope}{.space}.b64"
            "  out waitComplete:pred, [addr:space], phaseParity:u32(0..1), suspendTimeHint:u32?",
            sem=ACQUIRE, scope=SCOPE, space=CTA, rules=BOTH, sm="sm_90", ptx="7.8"),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-pending-count",
        "How many arrivals a state still waits for.",
        row("mbarrier.pending_count.b64  out count:u32, state:i64!", **OLD),
    ),
)
