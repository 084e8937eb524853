"""tcgen05.mma.ws: D of 32, 64 and 128 rows, columns of B that count as zeros, held to NumPy."""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import pytest

from pyptx._layouts import Swizzle

from .harness import run
from .tensor_forms import (
    Form,
    agrees,
    assembles,
    zero_columns,
)
from .test_tensor_core import BYTES, FREE, KINDS, NARROW, READY, SETUP, SIXTEEN


def stationary(*arguments, **fields):
    return Form(*arguments, stationary=True, **fields)


def mask(skip, use, first=0, counts=(0, 0, 0, 0), shift=0):
    """A zero-column mask descriptor: spans in columns, `first` with a bit of each sub-mask."""
    return sum([
        sum(count << 8 * i for i, count in enumerate(counts)), first << 32, 1 << 39,
        (skip - 1) << 40, (use - 1) << 48, shift << 56,
    ])  # fmt: skip


ROWS = (32, 64, 128)
PRODUCTS = [
    *(stationary("f16", a, b, d, m, n) for a, b, d in SIXTEEN for m in ROWS for n in (64, 256)),
    *(stationary("tf32", "tf32", "tf32", "f32", m, 64) for m in ROWS),
    *(stationary("f8f6f4", a, b, "f32", ROWS[i % 3], 64) for i, (a, b) in enumerate(NARROW)),
    *(stationary("i8", a, b, "s32", m, 128) for a, b in BYTES for m in ROWS),
    *(stationary(k, a, a, d, m, 64, in_memory=True)
      for k, a, d in (("f16", "bf16", "f32"), ("i8", "s8", "s32"), *(("f8f6f4", t, "f32") for t in KINDS["f8f6f4"])) for m in ROWS),
    *(stationary("f16", "f16", "f16", "f32", m, 64, swizzle_a=s, swizzle_b=s, columns_a=True, columns_b=True)
      for s in Swizzle for m in (64, 128)),
    *(stationary("f16", "f16", "f16", "f32", m, 64, collector=f"collector::b{i}::{use}")
      for m in ROWS for i, use in enumerate(("fill", "use", "lastuse", "discard"))),
    stationary("f16", "f16", "f16", m=32, n=64, accumulates=False),
    *(stationary("f16", "f16", "f16", "f32", m, 64, zeros=0x7F << 40) for m in ROWS),
    *(stationary("f16", "f16", "f16", "f32", m, n, zeros=mask(3, 4, first, counts))
      for m in ROWS for n, first, counts in ((64, 0b0000, (0, 0, 0, 0)), (128, 0b0011, (0, 1, 2, 1)))),
    *(stationary("i8", "s8", "s8", "s32", m, 64, zeros=mask(1, 1, 0b0101), columns_b=True) for m in ROWS),
    *(stationary("f16", "f16", "f16", "f32", m, 128, zeros=mask(3, 4, 0b11, (0, 1, 2, 1), shift), most_shift=most)
      for m in ROWS for shift, most in ((2, 8), (16, 16))),
    stationary("f16", "f16", "f16", m=64, n=64, zeros=mask(1, 1, shift=32) & ~(1 << 39), most_shift=32),
]  # fmt: skip


@pytest.mark.sampled(48, each="p.*")
@pytest.mark.parametrize("p", PRODUCTS, ids=str)
def test_products(p):
    agrees(p)


SPARSE = [
    *(stationary(kind, t, t, d, m, 64, sparse=True, selector=s)
      for m in ROWS for kind, t, d, s in (("f16", "bf16", "f32", 1), ("tf32", "tf32", "f32", 0), ("i8", "s8", "s32", 0), ("f8f6f4", "e3m2", "f32", 0))),
    *(stationary("f16", "f16", "f16", "f32", m, 128, sparse=True, in_memory=True, zeros=mask(2, 5)) for m in ROWS),
]  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize("p", SPARSE, ids=str)
def test_sparse_products(p):
    agrees(p)


def bits(p):
    """A mask with its columns from the highest on, as the manual writes them."""
    return [
        "".join("01"[int(z)] for z in part[::-1]) for part in zero_columns(p).reshape(p.parts, -1)
    ]


def test_the_manuals_masks():
    """Its examples 2 to 4: spans of 3 zeros and 4 columns that are used."""
    (one,) = bits(stationary("f16", "f16", "f16", m=128, n=64, zeros=mask(3, 4)))
    assert one.endswith("1110000" * 2)
    first, second = bits(stationary("f16", "f16", "f16", m=64, n=64, zeros=mask(3, 4, 0b01)))
    assert first.endswith("1110000" * 2 + "111")
    assert second.endswith("0000" + "1110000" * 2)
    four = bits(
        stationary("f16", "f16", "f16", m=32, n=128, zeros=mask(3, 4, 0b0011, (0, 1, 2, 1), 2))
    )
    ends = ["00001110000111", "0000111000011", "111000011100", "1110000111000"]
    assert all(found.endswith(end) for found, end in zip(four, ends, strict=True))


def findings_of(p, **options):
    text = f"""
.shared mats 65536 1024
{SETUP}
{READY}
mov.u32 %r10, mats
shr.u32 %r13, %r10, 4
cvt.u64.u32 %rd19, %r13
or.b64 %rd20, %rd19, {1 << 46 | 128 << 16 | 8 << 32}
mov.u64 %rd21, %rd20
mov.u64 %rd22, {p.zeros or 0}
mov.u32 %r31, {p.described}
add.u32 %r36, %r30, 0
setp.ne.u32 %p5, %r1, %r1
{p.spelled().replace("%p6", "%p2")}
{FREE}
"""
    return run(text, [], [], block=128, target="sm_100a", sanitize=False, **options).findings


@pytest.mark.parametrize(("p", "note"), [
    (stationary("f16", "f16", "f16", m=256, n=64), "M=256; .ws has 32, 64 and 128"),
    (stationary("f16", "f16", "f16", m=32, n=96), "N=96; .ws has 64, 128 and 256"),
    (stationary("f16", "f16", "f16", m=32, n=256, sparse=True), "N=256; .ws has 64 and 128 of a sparse A"),
    (Form("f16", "f16", "f16", n=64, most_shift=8), "fields of .sp or .ws"),
    (Form("f16", "f16", "f16", m=32), "M=32; a CTA has 64 and 128"),
], ids=lambda w: w if isinstance(w, str) else "")  # fmt: skip
def test_instruction_descriptors_that_are_wrong(p, note):
    (finding,) = findings_of(p)
    assert (finding.kind, finding.note) == ("bad-matrix", f"its instruction descriptor has {note}")


@pytest.mark.parametrize(("p", "note"), [
    (stationary("f16", "f16", "f16", m=32, n=64, zeros=1 << 36), "has bits in places that no field has"),
    (stationary("f16", "f16", "f16", m=64, n=64, zeros=9 << 56, most_shift=8),
     "shifts by 9 columns; the instruction descriptor and M allow 8"),
    (stationary("f16", "f16", "f16", m=32, n=64, zeros=17 << 56, most_shift=32),
     "shifts by 17 columns; the instruction descriptor and M allow 16"),
    (stationary("f16", "f16", "f16", m=64, n=64, zeros=8 << 56, most_shift=8, columns_b=True),
     "shifts B transposed, which the emulator does not run"),
    (stationary("f16", "f16", "f16", m=64, n=64, zeros=mask(3, 4, 0b10, (3, 3, 0, 0))),
     "begins sub-mask 1 behind its first span, which the emulator does not run"),
], ids=lambda w: w if isinstance(w, str) else "")  # fmt: skip
def test_zero_column_masks_that_are_wrong(p, note):
    (finding,) = findings_of(p)
    wanted = "bad-matrix", f"its zero-column mask descriptor {note}"
    assert (finding.kind, finding.note) == wanted


def test_the_assembler_takes_every_form():
    assembles(PRODUCTS + SPARSE)
