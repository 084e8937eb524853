"""Copies, reductions and atomics through the fabric, to the memory behind a logical endpoint."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

# What the mbarrier counts: bytes that have come, or units of 16 that have gone.
BYTES = "mbarrier::complete_tx::bytes.mbarrier::report::fabric"
UNITS = "mbarrier::complete_tx::16B.mbarrier::report::fabric"
HINT = {"L2::cache_hint": "L2::cache_hint@,9.4"}
POLICY = "policy:i64@L2::cache_hint"
FROM = "[srcLeId:fabric, srcDataOff:u64!]"
TO = "[dstLeId:fabric, dstDataOff:u64!]"
# At the other end, eight bytes count what has come.
COUNTED = "[dstLeId:fabric, dstDataOff:u64!, dstCounterOff:u64!]"
LOCAL = "[src:shared%16], size:u32(0..4294967280:16), [bar:shared%8]"
INTO = f"[dst:shared%16], {FROM}, size:u32(0..4294967280:16), [bar:shared%8]"
ORDER = "relaxed.sys{.L2::cache_hint}"
FIRST = {"sm": "sm_100", "ptx": "9.3"}
SMALL = {"sm": "sm_100f sm_110f sm_120f", "ptx": "9.3"}
# Operations with the types that they have.
REDUCE = (("and xor or", "b32 b64"), ("min max", "u32 s32 u64 s64 f16 bf16"))
SUMS = (("add", "u32 u64 f16 bf16 f32 f64"),)
PULLED = (("add", "u32 u64 f16 bf16 f32"),)
ATOMIC = (
    ("and or xor", "b32 b64"), ("exch cas", "b32 b64 b128"), ("add", "u32 u64 f16x2 bf16x2 f32 f64"),
    ("min max", "u32 s32 u64 s64 f16x2 bf16x2"))

FORMS = chapter(
    "Data Movement and Conversion Instructions: Fabric",
    instruction(
        "fabric", "fabric-instructions-try-get", "Copy from an endpoint to shared memory.",
        row(f"fabric.try_get.async.shared::cta.{BYTES}.{ORDER}.b128  {INTO}, {POLICY}",
            **HINT, **FIRST),
    ),
    instruction(
        "fabric", "fabric-instructions-try-put", "Copy from shared memory to an endpoint.",
        row(f"fabric.try_put.async{{.multimem}}.shared::cta.{UNITS}.{ORDER}.b128"
            f"  {TO}, {LOCAL}, {POLICY}", **HINT, **FIRST),
        # some bytes of each 16
        row(f"fabric.try_put.async{{.multimem}}.shared::cta.{UNITS}.cp_mask.{ORDER}.b128"
            f"  {TO}, {LOCAL}, bytemask:u16, {POLICY}", **HINT, **FIRST),
        row(f"fabric.try_put.async{{.multimem}}.shared::cta.{UNITS}.counted::bytes.{ORDER}.b128"
            f"  {COUNTED}, {LOCAL}, {POLICY}", **HINT, **FIRST),
    ),
    instruction(
        "fabric", "fabric-instructions-try-red",
        "Combine memory behind an endpoint with shared memory.",
        *(row(f"fabric.try_red.async{{.multimem}}.shared::cta.{UNITS}{counted}.{ORDER}.op.T"
              f"  {to}, {LOCAL}, {POLICY}", op=op, T=types, **HINT, **FIRST)
          for counted, to in (("", TO), (".counted::bytes", COUNTED))
          for op, types in (*REDUCE, *SUMS)),
    ),
    instruction(
        "fabric", "fabric-instructions-try-pullred",
        "Combine what several endpoints hold into shared memory.",
        *(row(f"fabric.try_pullred.async.multimem.shared::cta.{BYTES}.relaxed.sys.op.T.sync"
              f"  {INTO}, #membermask:u32(4294967295)", op=op, T=types, **FIRST)
          for op, types in (*REDUCE, *PULLED)),
        row(f"fabric.try_pullred.async.multimem.shared::cta.{BYTES}.relaxed.sys.op.T.sync"
            f"  {INTO}, #membermask:u32(4294967295)", op="min max", T="e4m3 e5m2", **SMALL),
        *(row(f"fabric.try_pullred.async.multimem.shared::cta.{BYTES}.relaxed.sys.add.{acc}.T.sync"
              f"  {INTO}, #membermask:u32(4294967295)", T=types, **SMALL)
          for acc, types in (("acc::f16", "e4m3 e5m2"), ("acc::f32", "f16 bf16"))),
    ),
    instruction(
        "fabric", "fabric-instructions-try-atom",
        "Change 16 bytes behind an endpoint as one step, and copy what was there.",
        *(row(f"fabric.try_atom.async.shared::cta.{UNITS}.{ORDER}.op.T"
              f"  {TO}, [dst:shared%16], [src:shared%16], [bar:shared%8], {POLICY}",
              op=op, T=types, **HINT, **FIRST | {"ptx": "9.4"})
          for op, types in ATOMIC),
    ),
    instruction(
        "fabric", "fabric-instructions-submit",
        "Hand this thread's fabric operations so far to the fabric.",
        row("fabric.submit{.op_restrict::fetching}", **FIRST),
    ),
    instruction(
        "fabric", "fabric-instructions-wait",
        "Wait until what this thread's submitted fabric operations read has been read.",
        row("fabric.wait.sync_restrict::reads", **FIRST),
    ),
)
