"""tcgen05 by pairs of CTAs: products, copies and allocations of cta_group::2, held to NumPy."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from pyptx._layouts import Swizzle

from .harness import device, kinds, output, run
from .tensor_forms import (
    CLUSTER,
    Form,
    agrees,
    assembles,
    wait,
)
from .test_tensor_core import (
    BYTES,
    FOUR,
    KINDS,
    NARROW,
    POLICIES,
    READY,
    SETUP,
    SIXTEEN,
    TOTAL,
    Matrix,
    from_tensor,
    pointers,
    to_shared,
)
from .test_tensor_cp import ROWS


def pair(*arguments, **fields):
    return Form(*arguments, ctas=2, **fields)


PRODUCTS = [
    *(pair("f16", a, b, d, m, n) for a, b, d in SIXTEEN for m, n in ((128, 16), (128, 256), (256, 16), (256, 144), (256, 256))),
    *(pair("tf32", "tf32", "tf32", "f32", m, 32) for m in (128, 256)),
    *(pair("f8f6f4", a, b, d, m) for a, b in NARROW for d, m in (("f16", 128), ("f32", 256))),
    *(pair("i8", a, b, "s32", m, n) for a, b in BYTES for m, n in ((128, 32), (256, 96))),
    *(pair(k, a, a, d, m, in_memory=True)
      for k, a, d in (("f16", "bf16", "f32"), ("tf32", "tf32", "f32"), ("i8", "s8", "s32"), ("f8f6f4", "e2m1", "f32"))
      for m in (128, 256)),
    *(pair("f16", "f16", "f16", "f32", m, 128, swizzle_a=a, swizzle_b=b, columns_a=x, columns_b=y)
      for a, b in zip(Swizzle, reversed(Swizzle), strict=True) for x in (False, True) for y in (False, True) for m in (128, 256)),
    *(pair("i8", "s8", "u8", "s32", m, 256, swizzle_a=s, swizzle_b=s, columns_a=x, columns_b=not x)
      for s in Swizzle for x in (False, True) for m in (128, 256)),
    pair("f16", "f16", "f16", m=256, signs=(-1, 1)),
    pair("f16", "bf16", "bf16", m=256, scale=3),
    pair("f16", "f16", "f16", m=128, accumulates=False),
    pair("f16", "f16", "f16", m=256, issuer=1),
    pair("f16", "f16", "f16", m=128, issuer=1),
    pair("f16", "f16", "f16", m=256, disabled=(0, 1, 77, 127, 128, 200, 255)),
    pair("f16", "f16", "f16", m=128, disabled=(3, 64, 140, 230)),
]  # fmt: skip


@pytest.mark.sampled(56, each="p.*")
@pytest.mark.parametrize("p", PRODUCTS, ids=str)
def test_products(p):
    agrees(p)


def scaled(kind, a, b, m, n, **fields):
    return pair(kind, a, b, "f32", m, n, scaled=True, **{"blocks": 1, **fields})


SCALED = [
    *(scaled("mxf8f6f4", a, b, m, 16 * (i % 16 + 1), vector=("", "scale_vec::1X", "block32")[i % 3], ids=(i % 4, i // 4 % 4))
      for i, (a, b) in enumerate(NARROW) for m in (128, 256)),
    *(scaled(kind, "e2m1", "e2m1", m, n, vector=vector, blocks=blocks, factor=factor, ids=((2, 0) if blocks == 2 else (0, 0)))
      for kind, vector, blocks, factor in FOUR for m, n in ((128, 48), (128, 256), (256, 48), (256, 256))),
    *(scaled("mxf8f6f4", t, t, 128, 64, in_memory=True) for t in KINDS["f8f6f4"]),
]  # fmt: skip


@pytest.mark.sampled(56, each="p.*")
@pytest.mark.parametrize("p", SCALED, ids=str)
def test_blocks_are_scaled(p):
    agrees(p)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_every_order_of_completion(policy):
    agrees(pair("f16", "bf16", "bf16", m=256, n=64), [policy], seed=3)


# ---- copies --------------------------------------------------------------------------------------

PAIR = (
    SETUP.replace("cta_group::1", "cta_group::2")
    + """
mov.u32 %r2, %cluster_ctarank
setp.eq.u32 %p7, %r2, 0
and.pred %p6, %p2, %p7
mov.u16 %h1, 3
"""
)
MET = f"fence.mbarrier_init.release.cluster\ntcgen05.fence::before_thread_sync\n{CLUSTER}tcgen05.fence::after_thread_sync\n"
FREE = "\nbar.sync 0\n@%p1 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r30, 512\n"
PAIRED = {"grid": 2, "cluster": (2, 1, 1), "block": 128, "target": "sm_100a"}


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("shape", ROWS)
def test_each_copies_its_own(shape, policy):
    """The even CTA's thread copies in both: from the same place of each CTA's shared memory."""
    wide = 8 if "256b" in shape else 4
    rows = int(shape.partition("x")[0])
    source = Matrix(rows, 4 * wide, 1, 0, Swizzle.B32, False)
    values = np.random.default_rng(rows).integers(0, 256, (2, rows, 4 * wide), np.uint64)
    memory = np.zeros((2, TOTAL), np.uint8)
    for own, of in zip(memory, values, strict=True):
        source.lay_out(own, of, "u8")
    found = output((2, 8, 128), np.uint32)
    zeros = "\n".join(f"mov.u32 %r{44 + i}, 0" for i in range(4))
    load = from_tensor("%rd2", 8, 24)
    if wide == 4:
        load = load.replace(
            "x8.b32 {%r40, %r41, %r42, %r43, %r44, %r45, %r46, %r47}",
            "x4.b32 {%r40, %r41, %r42, %r43}",
        )
    text = f"""
{pointers("M", "D")}
{PAIR}
{zeros}
mul.wide.u32 %rd40, %r2, {TOTAL}
add.u64 %rd1, %rd1, %rd40
mul.wide.u32 %rd40, %r2, {8 * 512}
add.u64 %rd2, %rd2, %rd40
{to_shared("%rd1", TOTAL)}
{READY}
{MET}
shr.u32 %r13, %r10, 4
cvt.u64.u32 %rd19, %r13
add.u64 %rd20, %rd19, {source.descriptor}
@%p6 tcgen05.cp.cta_group::2.{shape} [%r30+24], %rd20
{wait(2)}
{load}
{FREE}
"""  # fmt: skip
    report = run(text, [device(memory.view(np.uint32))], [found], **PAIRED, **policy)
    assert kinds(report) == [], report.message
    words = np.ascontiguousarray(values.astype(np.uint8)).view(np.uint32)
    for own, of in zip(found, words, strict=True):
        wanted = np.array([of[ROWS[shape](lane)] for lane in range(128)]).T
        np.testing.assert_array_equal(own[:wide], wanted)


# ---- allocating ----------------------------------------------------------------------------------


def test_warps_of_a_pair_wait_for_each_other():
    """Both CTAs get the same columns; one that asks for more waits until both have freed some."""
    text = f"""
{pointers("D")}
.shared other 4 4
{PAIR}
bar.sync 0
ld.shared.u32 %r30, [slot]
shr.u32 %r32, %r1, 5
setp.eq.u32 %p5, %r32, 1
@%p5 tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [other], 64
@%p1 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r30, 512
bar.sync 0
ld.shared.u32 %r31, [other]
add.u32 %r31, %r31, %r30
mul.wide.u32 %rd40, %r2, 512
add.u64 %rd1, %rd1, %rd40
add.u64 %rd8, %rd1, %rd9
st.global.u32 [%rd8], %r31
bar.sync 0
@%p5 tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned
@%p5 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r31, 64
"""
    found = output((2, 128), np.uint32)
    for policy in POLICIES:
        report = run(text, [], [found], **PAIRED, **policy)
        assert kinds(report) == [], report.message
        assert (found == 0).all()


ALLOCATE = "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot]"
DEALLOCATE = "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 32"
FIRST = """
.shared slot 4 4
mov.u32 %r1, %tid.x
mov.u32 %r2, %cluster_ctarank
setp.eq.u32 %p1, %r2, 0
setp.ne.u32 %p2, %r2, 0
"""


def test_a_deadlock_says_that_the_peer_does_not_come():
    report = run(FIRST + f"@%p1 {ALLOCATE}, 32", **{**PAIRED, "block": 32})
    assert kinds(report) == ["deadlock"]
    assert "a warp of the peer CTA to execute it too" in report.message


@pytest.mark.parametrize(("text", "note"), [
    (f"@%p1 {ALLOCATE}, 32\n@%p2 {ALLOCATE}, 64",
     "the warp of this CTA asks for 64 columns, that of the peer CTA for 32 columns; both must alike"),
    (f"{ALLOCATE}, 32\nld.shared.u32 %r3, [slot]\nmad.lo.u32 %r3, %r2, 32, %r3\n{DEALLOCATE}",
     "the warp of this CTA asks for 32 columns from 0 on, that of the peer CTA for 32 columns from 32 on; both must alike"),
    (f"{ALLOCATE}, 32\ntcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
     "an instruction of cta_group::2 came before; all of a kernel have one group"),
])  # fmt: skip
def test_what_both_must_do_alike(text, note):
    report = run(FIRST + text, **{**PAIRED, "block": 32}, sanitize=False)
    (finding,) = report.findings
    assert (finding.kind, finding.note) == ("bad-tensor-memory", note)


@pytest.mark.parametrize(("ctas", "note"), [
    (1, "the CTA has no peer: its cluster has 1 CTA, and its rank is 0"),
    (3, "the CTA has no peer: its cluster has 3 CTAs, and its rank is 2"),
])  # fmt: skip
def test_a_cta_without_a_peer(ctas, note):
    text = FIRST + f"{ALLOCATE}, 32\nld.shared.u32 %r3, [slot]\n{DEALLOCATE}"
    options = {**PAIRED, "block": 32, "grid": ctas, "cluster": (ctas, 1, 1)}
    (finding,) = run(text, **options, sanitize=False).findings
    assert (finding.kind, finding.note) == ("bad-tensor-memory", note)


@pytest.mark.parametrize("wrong", [
    (pair("f16", "f16", "f16", m=64), "M=64; a pair of CTAs has 128 and 256"),
    (pair("f16", "f16", "f16", m=256, n=24), "N=24; there are multiples of 16 up to 256"),
    (pair("i8", "s8", "s8", "s32", m=256, n=48), "N=48; there are multiples of 32 up to 256"),
    (pair("i8", "s8", "s8", "s32", m=256, n=32), None),
    (scaled("mxf8f6f4", "e4m3", "e4m3", 384, 32), "M=384; a pair of CTAs has 128 and 256"),
], ids=lambda w: str(w[1]))  # fmt: skip
def test_instruction_descriptors_that_are_wrong(wrong):
    p, note = wrong
    text = f"""
{PAIR}
.shared mats 16384 1024
{READY.replace("bar.sync 0", CLUSTER)}
mov.u32 %r10, mats
shr.u32 %r13, %r10, 4
cvt.u64.u32 %rd19, %r13
or.b64 %rd20, %rd19, {1 << 46 | 8 << 16 | 16 << 32}
mov.u64 %rd21, %rd20
mov.u32 %r31, {p.described}
add.u32 %r36, %r30, 0
setp.ne.u32 %p5, %r1, %r1
{p.spelled()}
{wait(2)}
{FREE}
"""
    findings = run(text, **PAIRED, sanitize=False).findings
    wanted = [] if note is None else [("bad-matrix", f"its instruction descriptor has {note}")]
    assert [(finding.kind, finding.note) for finding in findings] == wanted


def test_a_permit_is_given_up_behind_a_peer_that_has_exited():
    text = (
        FIRST
        + f"{ALLOCATE}, 32\nbar.sync 0\nld.shared.u32 %r3, [slot]\n{DEALLOCATE}\n@%p2 tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned"
    )
    for policy in POLICIES:
        report = run(text, **{**PAIRED, "block": 32}, **policy)
        assert kinds(report) == [], report.message


EXITED = "the peer CTA has exited"


@pytest.mark.parametrize(("what", "note"), [
    ("@%p6 tcgen05.mma.cta_group::2.kind::f16 [%r30], %rd20, %rd20, %r31, %p5", EXITED),
    ("@%p6 tcgen05.cp.cta_group::2.128x128b [%r30], %rd20", EXITED),
    ("@%p6 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [done]", EXITED),
    ("@%p1 tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r30, 512", EXITED),
])  # fmt: skip
def test_the_peer_must_be_there(what, note):
    text = f"""
{PAIR}
{READY.replace("bar.sync 0", CLUSTER)}
setp.ne.u32 %p8, %r2, 0
@%p8 bra gone
{CLUSTER}
{what}
gone:
"""
    (finding,) = run(text, **PAIRED, sanitize=False).findings
    assert (finding.kind, finding.note) == ("bad-tensor-memory", note)


def test_the_assembler_takes_every_form():
    assembles(PRODUCTS + SCALED)
