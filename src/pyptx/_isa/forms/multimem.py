"""Multimem addresses: one address that stands for a place in the memory of each of several GPUs."""

# fmt: off  (a row stands on as few lines as hold it)
from pyptx._isa.syntax import chapter, instruction, row

SECTION = "data-movement-and-conversion-instructions-multimem"
SCOPE = "cta cluster gpu sys"
LOAD = {"sem": "weak relaxed acquire", "scope": SCOPE}
STORE = {"sem": "weak relaxed release", "scope": SCOPE}
RED = {"sem": "relaxed release", "scope": SCOPE}
ORDER = "scope: sem=relaxed|acquire; sem=relaxed|acquire: scope; "
RELEASE = "scope: sem=relaxed|release; sem=relaxed|release: scope; "
INTEGER = "b32 b64 u32 u64 s32 s64"
BY_TYPE = "op=and|or|xor: T=b32|b64; op=min|max: T=u32|u64|s32|s64; op=add: T=u32|u64|s32"
# What a vector holds is 32, 64 or 128 bits.
FLOAT = "f16 f16x2 bf16 bf16x2 f32 f64"
VECTORS = "T=f16|bf16: vec; T=f16x2|bf16x2|f32: vec?=v2|v4; T=f64: !vec"
EIGHT = "e4m3 e4m3x2 e4m3x4 e5m2 e5m2x2 e5m2x4"
VECTORS8 = "T=e4m3|e5m2: vec=v4|v8; T=e4m3x2|e5m2x2: vec; T=e4m3x4|e5m2x4: vec?=v2|v4"
SM = {"sm": "sm_90", "ptx": "8.1"}
SM8 = {"sm": "sm_100f sm_110f sm_120a sm_121a", "ptx": "8.6"}
A = "[a:global|generic]"

FORMS = chapter(
    "Data Movement and Conversion Instructions: multimem",
    instruction(
        "multimem", SECTION,
        "Load from all places of a multimem address, and combine the values.",
        row(f"multimem.ld_reduce{{.sem}}{{.scope}}{{.global}}.op.T  out d:T, {A}",
            op="and or xor min max add", T=INTEGER, rules=ORDER + BY_TYPE, **LOAD, **SM),
        row(f"multimem.ld_reduce{{.sem}}{{.scope}}{{.global}}.op{{.acc}}{{.vec}}.T"
            f"  out d*vec:T, {A}", op="min max add", acc="acc::f32@,8.2", vec="v2 v4 v8", T=FLOAT,
            rules=ORDER + VECTORS + "; acc: op=add; acc: T=f16|f16x2|bf16|bf16x2; "
            "T=f32|f64: op=add", **LOAD, **SM),
        row(f"multimem.ld_reduce{{.sem}}{{.scope}}{{.global}}.op{{.acc}}{{.vec}}.T"
            f"  out d*vec:T, {A}", op="min max add", acc="acc::f16", vec="v2 v4 v8", T=EIGHT,
            rules=ORDER + VECTORS8 + "; acc: op=add", **LOAD, **SM8),
    ),
    instruction(
        "multimem", SECTION,
        "Store to all places of a multimem address.",
        row(f"multimem.st{{.sem}}{{.scope}}{{.global}}.T  {A}, b:T",
            T=INTEGER, rules=RELEASE, **STORE, **SM),
        row(f"multimem.st{{.sem}}{{.scope}}{{.global}}{{.vec}}.T  {A}, b*vec:T",
            vec="v2 v4 v8", T=FLOAT, rules=RELEASE + VECTORS, **STORE, **SM),
        row(f"multimem.st{{.sem}}{{.scope}}{{.global}}{{.vec}}.T  {A}, b*vec:T",
            vec="v2 v4 v8", T=EIGHT, rules=RELEASE + VECTORS8, **STORE, **SM8),
    ),
    instruction(
        "multimem", SECTION,
        "Change memory as one step at each place of a multimem address.",
        row(f"multimem.red{{.sem}}{{.scope}}{{.global}}.op.T  {A}, b:T",
            op="and or xor min max add", T=INTEGER, rules="scope: sem; sem: scope; " + BY_TYPE,
            **RED, **SM),
        row(f"multimem.red{{.sem}}{{.scope}}{{.global}}.add{{.vec}}.T  {A}, b*vec:T",
            vec="v2 v4 v8", T=FLOAT, rules="scope: sem; sem: scope; " + VECTORS, **RED, **SM),
    ),
)
