"""tcgen05.mma.sp: a sparse A with metadata in Tensor Memory, by one CTA and by pairs, held to NumPy."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import numpy as np
import pytest

from pyptx._layouts import Swizzle

from .harness import run
from .tensor_forms import (
    Form,
    agrees,
    assembles,
    expected,
    metadata_of,
    multiplied,
    start,
)
from .test_mma import draw
from .test_tensor_core import (
    BYTES,
    FOUR,
    FREE,
    KINDS,
    NARROW,
    NEW_LINE,
    POLICIES,
    READY,
    SETUP,
    SIXTEEN,
)


def sparse(*arguments, **fields):
    return Form(*arguments, sparse=True, **fields)


def scaled(kind, a, b, n, **fields):
    """Of one CTA with M = 128, or of a pair with 256."""
    m = 128 * fields.get("ctas", 1)
    return sparse(kind, a, b, "f32", m, n, scaled=True, **{"blocks": 1, **fields})


WHERE = [{"m": 128, "ctas": 1}, {"m": 256, "ctas": 2}]
PRODUCTS = [
    *(sparse("f16", a, b, d, n=n, selector=s, **where) for a, b, d in SIXTEEN for n, s in ((16, 0), (176, 1)) for where in WHERE),
    *(sparse("tf32", "tf32", "tf32", n=32, selector=s, **where) for s in (0, 1) for where in WHERE),
    *(sparse("f8f6f4", a, b, n=32, **WHERE[i % 2]) for i, (a, b) in enumerate(NARROW)),
    *(sparse("i8", a, b, "s32", n=64, **where) for a, b in BYTES for where in WHERE),
    *(sparse(k, a, a, d, in_memory=True, **where)
      for k, a, d in (("f16", "bf16", "f32"), ("tf32", "tf32", "f32"), ("i8", "s8", "s32"), ("f8f6f4", "e2m1", "f32")) for where in WHERE),
    *(sparse("f16", "f16", "f16", n=64, swizzle_a=a, swizzle_b=b, columns_a=x, columns_b=not x)
      for a, b in zip(Swizzle, reversed(Swizzle), strict=True) if b is not Swizzle.B32 for x in (False, True)),
    sparse("f16", "f16", "f16", signs=(-1, 1), scale=2),
    sparse("i8", "u8", "s8", "s32", disabled=(0, 77, 127)),
]  # fmt: skip


@pytest.mark.sampled(40, each="p.*")
@pytest.mark.parametrize("p", PRODUCTS, ids=str)
def test_products(p):
    agrees(p)


SCALED = [
    *(scaled("mxf8f6f4", a, b, 16 * (i % 16 + 1), vector=("", "scale_vec::1X", "block32")[i % 3], ids=(i % 4, i // 4 % 4), ctas=i % 2 + 1)
      for i, (a, b) in enumerate(NARROW)),
    *(scaled(kind, "e2m1", "e2m1", 48, vector=vector, blocks=blocks, factor=factor, ids=((2, 0) if blocks == 2 else (0, 0)), ctas=ctas)
      for kind, vector, blocks, factor in FOUR for ctas in (1, 2)),
    *(scaled("mxf8f6f4", t, t, 64, in_memory=True) for t in KINDS["f8f6f4"]),
]  # fmt: skip


@pytest.mark.sampled(40, each="p.*")
@pytest.mark.parametrize("p", SCALED, ids=str)
def test_blocks_are_scaled(p):
    agrees(p)


def test_what_is_not_stored_is_not_multiplied():
    """Infinity times what is left out is no NaN."""
    p = sparse("f16", "f16", "f16", n=16)
    random = np.random.default_rng(5)
    a, b = draw(random, (p.m, p.k // 2), p.a), draw(random, (p.n, p.k), p.b)
    words, places = metadata_of(p, random)
    words[0, 16] = 0x44444444  # the first two of each four, of all rows
    places = np.tile((4 * np.arange(8)[:, None] + [0, 1]).reshape(-1), (p.m, 1))
    b[:, 3::4] = 0x7C00
    c = start(random, p)
    found = multiplied(p, a, b, c, words)
    assert np.isfinite(found.view(np.float32)).all()
    np.testing.assert_array_equal(found, expected(p, a, b, c, places))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize(("p", "nibble", "note"), [
    (sparse("f16", "f16", "f16"), 0b0101,
     "the metadata of chunk 1 of the row in lane 0 are 0b0101; they name a lower place first, then a higher one, or are 0b0110"),
    (sparse("i8", "s8", "s8", "s32"), 0b0001,
     "the metadata of chunk 1 of the row in lane 0 are 0b0001; they name a lower place first, then a higher one, or are 0b0110"),
    (sparse("tf32", "tf32", "tf32"), 0b1000,
     "the metadata of chunk 1 of the row in lane 0 are 0b1000; of tf32 0b0100 and 0b1110 have a meaning"),
], ids=["f16", "i8", "tf32"])  # fmt: skip
def test_metadata_without_a_meaning(p, nibble, note, policy):
    text = f"""
.shared mats 32768 1024
{SETUP}
mov.u32 %r40, {0x44444404 | nibble << 4}
{READY}
tcgen05.st.sync.aligned.32x32b.x2.b32 [%r33+304], {{%r40, %r40}}
tcgen05.wait::st.sync.aligned
tcgen05.fence::before_thread_sync
bar.sync 0
tcgen05.fence::after_thread_sync
mov.u32 %r10, mats
shr.u32 %r13, %r10, 4
cvt.u64.u32 %rd19, %r13
or.b64 %rd20, %rd19, {1 << 46 | 128 << 16 | 8 << 32}
mov.u64 %rd21, %rd20
mov.u32 %r31, {p.described}
add.u32 %r36, %r30, 0
setp.ne.u32 %p5, %r1, %r1
{p.spelled().replace("%p6", "%p2")}
@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done]
waiting:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [done], 0
@!%p4 bra waiting
tcgen05.fence::after_thread_sync
{FREE}
"""
    report = run(text, block=128, target="sm_100a", **{**policy, "sanitize": False})
    (finding,) = report.findings
    assert (finding.kind, finding.note) == ("bad-matrix", note)


@pytest.mark.parametrize(("p", "extra", "note"), [
    (sparse("f16", "f16", "f16", m=64), 0, "M=64 of a sparse A, which the emulator does not run"),
    (sparse("f16", "f16", "f16", selector=2), 0, "sparsity selector 2, which the emulator does not run"),
    (sparse("i8", "s8", "s8", "s32", selector=1), 0, "a sparsity selector, which kind::i8 does not have"),
    (sparse("f16", "f16", "f16"), 4, "no bit that A is sparse, which .sp says"),
    (Form("f16", "f16", "f16"), 4, "fields of .sp"),
    (scaled("mxf8f6f4", "e4m3", "e4m3", 16), 4, "no bit that A is sparse, which .sp says"),
], ids=lambda w: w if isinstance(w, str) else "")  # fmt: skip
def test_instruction_descriptors_that_are_wrong(p, extra, note):
    text = f"""
{SETUP}
{READY}
mov.u64 %rd20, {1 << 46}
mov.u64 %rd21, {1 << 46}
mov.u32 %r31, {p.described ^ extra}
add.u32 %r36, %r30, 0
setp.ne.u32 %p5, %r1, %r1
{p.spelled().replace("%p6", "%p2")}
{FREE}
"""
    (finding,) = run(text, [], [], block=128, target="sm_100a").findings
    assert (finding.kind, finding.note) == ("bad-matrix", f"its instruction descriptor has {note}")


def test_metadata_begin_in_an_even_column():
    p = sparse("f16", "f16", "f16")
    text = NEW_LINE.join([
        SETUP, READY, f"mov.u64 %rd20, {1 << 46}", f"mov.u64 %rd21, {1 << 46}", f"mov.u32 %r31, {p.described}",
        "add.u32 %r36, %r30, 0", "setp.ne.u32 %p5, %r1, %r1",
        p.spelled().replace("%p6", "%p2").replace("[%r30+304]", "[%r30+305]"), FREE,
    ])  # fmt: skip
    (finding,) = run(text, [], [], block=128, target="sm_100a").findings
    note = "metadata begin in lane 0, column 305; they do in lane 0 of an even column"
    assert (finding.kind, finding.note) == ("bad-tensor-memory", note)


def test_the_assembler_takes_every_form():
    assembles(PRODUCTS + SCALED)
