"""mbarrier objects: barriers in shared memory that also count bytes of asynchronous copies."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

CTA = "shared shared::cta@,7.8"
ANY = "shared shared::cta shared::cluster"
SCOPE = "cta@,8.0 cluster@sm_90,8.0"
RELEASE = "release@,8.0 relaxed@sm_90,8.6"
ACQUIRE = "acquire@,8.0 relaxed@sm_90,8.6"
LAYOUT = "layout::v0@sm_90,9.3 layout::v1@sm_90,9.3"
PRIMARY = {"phase_type::primary": "phase_type::primary@sm_90,9.3"}
PHASE = "phase_type::primary@sm_90,9.3 phase_type::conditional@sm_90,9.3"
STATE = "[addr:space], state:i64!"
PARITY = "[addr:space], phaseParity:u32(0 1)"
BOTH = "sem: scope; scope: sem"
OLD = {"sm": "sm_80", "ptx": "7.0"}
NEW = {"sm": "sm_90", "ptx": "8.0"}
# at an object of each CTA in a mask
EACH = {"scope": "cta cluster", "rules": BOTH, "sm": "sm_107f", "ptx": "9.4"}
MASK = "ctaMask:u32"
REPORT = {"sem": "acquire relaxed", "scope": "cta cluster", "space": "shared shared::cta",
          "rules": BOTH, "sm": "sm_90", "ptx": "9.3"}

FORMS = chapter(
    "Parallel Synchronization and Communication Instructions: mbarrier",
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-init",
        "Make an mbarrier object that waits for so many arrivals in every phase.",
        row("mbarrier.init{.layout}{.space}.b64  [addr:space], count:u32(1..1048575)",
            layout=LAYOUT, space=CTA, **OLD),
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
        row("mbarrier.expect_tx{.sem}{.scope}{.space}.multicast::cluster::32b.b64"
            f"  [addr:space], txCount:u32(0..1048575), {MASK}",
            sem="relaxed", space="shared::cluster", **EACH),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-complete-tx",
        "Count bytes as arrived, as an asynchronous copy does.",
        row("mbarrier.complete_tx{.sem}{.scope}{.space}.b64  [addr:space], txCount:u32(0..1048575)",
            sem="relaxed", scope="cta cluster", space=ANY, rules=BOTH, **NEW),
        row("mbarrier.complete_tx{.sem}{.scope}{.space}.multicast::cluster::32b.b64"
            f"  [addr:space], txCount:u32(0..1048575), {MASK}",
            sem="relaxed", space="shared::cluster", **EACH),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-arrive",
        "Arrive at an mbarrier.",
        row("mbarrier.arrive{.sem}{.scope}{.space}.b64  out state:i64, [addr:space]",
            sem=RELEASE, scope=SCOPE, space=CTA, rules=BOTH, **OLD),
        row("mbarrier.arrive{.sem}{.scope}{.space}.b64  _, [addr:space]",
            sem=RELEASE, scope=SCOPE, space=CTA, rules=BOTH, sm="sm_80", ptx="7.1"),
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
        row("mbarrier.arrive{.sem}{.scope}{.space}.multicast::cluster::32b.b64"
            f"  _, [addr:space], {MASK}",
            sem="release relaxed", space="shared::cluster", **EACH),
        row("mbarrier.arrive{.sem}{.scope}{.space}.multicast::cluster::32b.b64"
            f"  _, [addr:space], count:u32(1..1048575), {MASK}",
            sem="release relaxed", space="shared::cluster", **EACH),
        row("mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.multicast::cluster::32b.b64"
            f"  _, [addr:space], txCount:u32(0..1048575), {MASK}",
            sem="release relaxed", space="shared::cluster", **EACH),
        row("mbarrier.arrive.noComplete{.release}{.cta}{.space}.b64"
            "  out state:i64, [addr:space], count:u32(1..1048575)",
            release="release@,8.0", cta="cta@,8.0", space=CTA,
            rules="release: cta; cta: release", **OLD),
        row("mbarrier.arrive.noComplete{.release}{.cta}{.space}.b64"
            "  _, [addr:space], count:u32(1..1048575)",
            release="release@,8.0", cta="cta@,8.0", space=CTA,
            rules="release: cta; cta: release", sm="sm_80", ptx="7.1"),
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
        row("mbarrier.arrive_drop{.sem}{.scope}{.space}.multicast::cluster::32b.b64"
            f"  _, [addr:space], {MASK}",
            sem="release relaxed", space="shared::cluster", **EACH),
        row("mbarrier.arrive_drop{.sem}{.scope}{.space}.multicast::cluster::32b.b64"
            f"  _, [addr:space], count:u32(1..1048575), {MASK}",
            sem="release relaxed", space="shared::cluster", **EACH),
        row("mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.multicast::cluster::32b.b64"
            f"  _, [addr:space], txCount:u32(0..1048575), {MASK}",
            sem="release relaxed", space="shared::cluster", **EACH),
        row("mbarrier.arrive_drop.noComplete{.release}{.cta}{.space}.b64"
            "  out state:i64|_, [addr:space], count:u32(1..1048575)",
            release="release@,8.0", cta="cta@,8.0", space=CTA,
            rules="release: cta; cta: release", **OLD),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-test-wait-try-wait",
        "Test whether the phase of a state, or of a parity, is complete.",
        row("mbarrier.test_wait{.phase_type::primary}{.sem}{.scope}{.space}.b64"
            f"  out waitComplete:pred, {STATE}",
            sem=ACQUIRE, scope=SCOPE, space=CTA, rules=BOTH, **PRIMARY, **OLD),
        row("mbarrier.test_wait.parity{.phase_type}{.sem}{.scope}{.space}.b64"
            f"  out waitComplete:pred, {PARITY}", phase_type=PHASE,
            sem=ACQUIRE, scope=SCOPE, space=CTA, rules=BOTH, sm="sm_80", ptx="7.1"),
        row("mbarrier.try_wait{.phase_type::primary}{.sem}{.scope}{.space}.b64"
            f"  out waitComplete:pred, {STATE}, timeHint:u32?",
            sem=ACQUIRE, scope=SCOPE, space=CTA, rules=BOTH, **PRIMARY, sm="sm_90", ptx="7.8"),
        row("mbarrier.try_wait.parity{.phase_type}{.sem}{.scope}{.space}.b64"
            f"  out waitComplete:pred, {PARITY}, timeHint:u32?", phase_type=PHASE,
            sem=ACQUIRE, scope=SCOPE, space=CTA, rules=BOTH, sm="sm_90", ptx="7.8"),
        # what the asynchronous operations of the phase report
        row("mbarrier.test_wait.phase_type::primary{.sem}{.scope}{.space}.b64"
            f"  out waitComplete|reportPredicate:pred, {STATE}", **REPORT),
        row("mbarrier.test_wait.parity.phase_type::primary{.sem}{.scope}{.space}.b64"
            f"  out waitComplete|reportPredicate:pred, {PARITY}", **REPORT),
        row("mbarrier.try_wait.phase_type::primary{.sem}{.scope}{.space}.b64"
            f"  out waitComplete|reportPredicate:pred, {STATE}, timeHint:u32?", **REPORT),
        row("mbarrier.try_wait.parity.phase_type::primary{.sem}{.scope}{.space}.b64"
            f"  out waitComplete|reportPredicate:pred, {PARITY}, timeHint:u32?", **REPORT),
        row("mbarrier.test_wait.phase_type::primary{.sem}{.scope}{.space}.b64"
            f"  out waitComplete|reportPredicate:pred, out reportValue:b8, {STATE}", **REPORT),
        row("mbarrier.test_wait.parity.phase_type::primary{.sem}{.scope}{.space}.b64"
            f"  out waitComplete|reportPredicate:pred, out reportValue:b8, {PARITY}", **REPORT),
        row("mbarrier.try_wait.phase_type::primary{.sem}{.scope}{.space}.b64"
            f"  out waitComplete|reportPredicate:pred, out reportValue:b8, {STATE}, timeHint:u32?",
            **REPORT),
        row("mbarrier.try_wait.parity.phase_type::primary{.sem}{.scope}{.space}.b64"
            f"  out waitComplete|reportPredicate:pred, out reportValue:b8, {PARITY}, timeHint:u32?",
            **REPORT),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-pending-count",
        "How many arrivals a state still waits for.",
        row("mbarrier.pending_count{.layout}.b64  out count:u32, state:i64!",
            layout="layout::v0@sm_90,9.3", **OLD),
    ),
    instruction(
        "mbarrier", "parallel-synchronization-and-communication-instructions-mbarrier-check-layout",
        "Test whether an mbarrier object was made in a layout.",
        row("mbarrier.check_layout.layout{.space}.b64  out p:pred, [addr:space]",
            layout="layout::v0 layout::v1", space="shared::cta", sm="sm_90", ptx="9.3"),
    ),
)
