"""Products of tcgen05 by pairs of CTAs, of a sparse A, and of .ws, with the layouts that they have.

Layouts are said here as NumPy has arrays: what is in which lane and column follows from reshaping and
transposing, not from the arithmetic of the emulator.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from pyptx import kernel, ptx

from . import tensor_sums
from .harness import device, kinds, output, run
from .test_mma import draw, factors, numbers
from .test_tensor_core import (
    A_AT,
    B_AT,
    NEW_LINE,
    POLICY,
    READY,
    SETUP,
    TOTAL,
    Matrix,
    Product,
    from_tensor,
    pointers,
    size_of,
    to_shared,
    to_tensor,
    words_of,
)

RANK = """
mov.u32 %r2, %cluster_ctarank
setp.eq.u32 %p7, %r2, ISSUER
and.pred %p6, %p2, %p7
"""
CLUSTER = "barrier.cluster.arrive.aligned\nbarrier.cluster.wait.aligned\n"
MOST = 256
"""Columns of B from its start on; what `TOTAL` has room for."""


@dataclass(frozen=True)
class Form(Product):
    """A product of `ctas` CTAs, each with `m` / `ctas` rows of A and `n` / `ctas` columns of B."""

    ctas: int = 1
    issuer: int = 0
    sparse: bool = False
    selector: int = 0
    stationary: bool = False
    zeros: int | None = None  # zero-column mask descriptor
    most_shift: int = 0
    scaled: bool = False
    vector: str = ""
    blocks: int = 0
    factor: str = "ue8m0"
    ids: tuple[int, int] = (0, 0)

    @property
    def four(self):
        return self.kind in {"mxf4", "mxf4nvf4"}

    @property
    def k(self):
        """Of B: twice what a sparse A stores."""
        return (64 if self.four else 32 // size_of(self.a)) * (2 if self.sparse else 1)

    @property
    def rows(self):
        return self.m // self.ctas

    @property
    def shift(self):
        return 0 if self.zeros is None else self.zeros >> 56 & 0x3F

    @property
    def parts(self):
        """Of D's columns, one behind the other in the lanes."""
        spread = self.stationary or (self.ctas == 2 and not self.sparse)
        return 128 // self.rows if spread else 1

    @property
    def columns(self):
        return self.n // self.parts

    @property
    def described(self):
        if not self.scaled:
            shift = {0: 0, 8: 1, 16: 2, 32: 3}[self.most_shift]
            return super().described | self.selector | int(self.sparse) << 2 | shift << 30
        types = (
            {"e2m1": 1} if self.four else {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
        )
        fields = [
            (int(self.sparse), 2), (self.ids[1], 4), (types[self.a], 7), (types[self.b], 10),
            (self.n >> 3, 17), (int(self.factor == "ue8m0"), 23), (self.m >> 7, 27), (self.ids[0], 29),
        ]  # fmt: skip
        return sum(value << at for value, at in fields)

    def stored(self, codes, dtype):
        if not self.four:
            return codes, dtype
        return codes[:, ::2] | codes[:, 1::2] << np.uint64(4), "u8"

    def lanes(self):
        """Of the slots of a CTA, part by part and row by row."""
        slots = np.arange(self.rows * self.parts)
        return slots if len(slots) == 128 else self.lane + slots // 16 * 32 + slots % 16

    def spelled(self):
        modifiers = [
            *(["ws"] if self.stationary else []), *(["sp"] if self.sparse else []),
            f"cta_group::{self.ctas}", f"kind::{self.kind}", *(["block_scale"] if self.scaled else []),
            *([self.vector] if self.vector else []), *([self.collector] if self.collector else []),
        ]  # fmt: skip
        lanes = f"{{{', '.join(f'%r{60 + i}' for i in range(4 * self.ctas))}}}"
        operands = [
            "[%r36]", "[%r36+256]" if self.in_memory else "%rd20", "%rd21",
            *(["[%r30+304]"] if self.sparse else []), "%r31",
            *(["[%r30+288]", "[%r30+296]"] if self.scaled else []), *([lanes] if self.disabled else []),
            "%p5", *([str(self.scale)] if self.scale is not None else []),
            *(["%rd22"] if self.zeros is not None else []),
        ]  # fmt: skip
        return f"@%p6 tcgen05.mma.{'.'.join(modifiers)} {', '.join(operands)}"


def wait(group):
    return f"""
@%p6 tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [done], %h1
waiting:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [done], 0
@!%p4 bra waiting
tcgen05.fence::after_thread_sync
"""


def of_cta(pointer, size):
    return f"mul.wide.u32 %rd40, %r2, {size}\nadd.u64 {pointer}, {pointer}, %rd40\n"


def program(p, described, lanes):
    """Every CTA fills its shared and its Tensor Memory; one multiplies."""
    sizes = {1: TOTAL, 2: 8 * 512, 3: p.columns * 512, 4: 24 * 512, 5: p.columns * 512}
    text = f"""
{pointers("M", "A", "C", "F", "D")}
{SETUP}
{RANK.replace("ISSUER", str(p.issuer))}
mov.u16 %h1, {(1 << p.ctas) - 1}
{NEW_LINE.join(of_cta(f"%rd{i}", size) for i, size in sizes.items())}
{to_shared("%rd1", TOTAL)}
{READY}
{to_tensor("%rd3", p.columns, 0)}
{to_tensor("%rd4", 24, 288)}
{to_tensor("%rd2", 8, 256)}
fence.mbarrier_init.release.cluster
tcgen05.fence::before_thread_sync
{CLUSTER}
tcgen05.fence::after_thread_sync
mov.u32 %r31, {p.described}
and.b32 %r13, %r10, 0x3ffff
shr.u32 %r13, %r13, 4
cvt.u64.u32 %rd19, %r13
add.u64 %rd20, %rd19, {described[0]}
add.u64 %rd21, %rd19, {described[1]}
mov.u64 %rd22, {p.zeros or 0}
add.u32 %r36, %r30, {p.lane << 16}
{NEW_LINE.join(f"mov.u32 %r{60 + i}, {bits}" for i, bits in enumerate(lanes))}
setp.{"eq" if p.accumulates else "ne"}.u32 %p5, %r1, %r1
{p.spelled()}
{wait(p.ctas)}
{from_tensor("%rd5", p.columns)}
bar.sync 0
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 512
"""
    return text.replace("cta_group::1", f"cta_group::{p.ctas}")


def multiplied(p, a, b, c, held_f=None, **options):
    """The words of every CTA's Tensor Memory, [CTA, column, lane], behind one product.

    `a` are what is stored of A's rows, `b` the columns of B, of all CTAs; `c` are the words before.
    """
    (a, a_type), (b, b_type) = p.stored(a, p.a), p.stored(b, p.b)
    lines = len(b) // p.ctas
    left = Matrix(p.rows, a.shape[1], size_of(a_type), A_AT, p.swizzle_a, p.columns_a)
    right = Matrix(lines, b.shape[1], size_of(b_type), B_AT, p.swizzle_b, p.columns_b)
    memory = np.zeros((p.ctas, TOTAL), np.uint8)
    held = np.zeros((p.ctas, 8, 128), np.uint32)
    for cta in range(p.ctas):
        left.lay_out(memory[cta], a[cta * p.rows :][: p.rows], a_type)
        right.lay_out(memory[cta], b[cta * lines :][:lines], b_type)
        words = words_of(a[cta * p.rows :][: p.rows], a_type).T
        held[cta][:, p.lanes()] = np.tile(words, p.parts)
    lanes = [sum(1 << i for i in range(32) if 32 * q + i in p.disabled) for q in range(4 * p.ctas)]
    found = output(c.shape, np.uint32)
    factors = np.zeros((p.ctas, 24, 128), np.uint32) if held_f is None else held_f
    inputs = [device(memory.view(np.uint32)), device(held), device(c), device(factors)]
    report = run(
        program(p, (left.descriptor, right.descriptor), lanes), inputs, [found],
        grid=p.ctas, cluster=(p.ctas, 1, 1), block=128, target="sm_100a", **options,
    )  # fmt: skip
    assert kinds(report) == [], report.message
    return np.array(found)


def expected(p, a, b, c, places=None, of_a=1.0, of_b=1.0):
    """Sums of tensor_sums.py.

    `places` say, of every row, where along K what is stored stands. D of each CTA is [rows, columns];
    what of it is in which lane follows from cutting the columns into parts.
    """
    x, y = p.signs[0] * numbers(a, p.a), p.signs[1] * numbers(b, p.b)
    y = y[p.shift : p.shift + p.n]
    y = np.where(zero_columns(p)[:, None], 0.0, y)
    places = np.tile(np.arange(x.shape[1]), (p.m, 1)) if places is None else places
    y = y.T[places]
    factors = None
    if p.scaled:
        factors = np.broadcast_to(of_a, x.shape), of_b.T[places], p.factor
    words = c.copy()
    for cta in range(p.ctas):
        lanes, rows = p.lanes(), slice(cta * p.rows, (cta + 1) * p.rows)
        before = c[cta][:, lanes].T.reshape(p.parts, p.rows, p.columns)
        before = before.swapaxes(0, 1).reshape(p.rows, p.n)
        some = None if factors is None else (factors[0][rows], factors[1][rows], factors[2])
        mine = summed(p, x[rows], y[rows], before, some)
        by_lane = mine.reshape(p.rows, p.parts, p.columns).swapaxes(0, 1).reshape(-1, p.columns)
        kept = ~np.isin(lanes + 128 * cta, p.disabled)
        words[cta][:, lanes[kept]] = by_lane.T[:, kept]
    return words


def summed(p, x, y, before, factors=None):
    """Bit patterns of D from those of D before; y is [row, k, column]."""
    if p.d == "s32":
        total = np.einsum("mk,mkn->mn", x, y).astype(np.int64)
        return (total + before.view(np.int32) * p.accumulates).astype(np.uint32)
    kind = np.float16 if p.d == "f16" else np.float32
    c = before.astype("u2" if p.d == "f16" else "u4").view(kind).astype(float) * p.accumulates
    how = tensor_sums.model("tcgen05", 100, p.a, scaled_four=p.scaled and p.four)
    return tensor_sums.add(how, (p.a, p.b, p.d), x, y, c / 2.0 ** (p.scale or 0), factors)


def zero_columns(p):
    """Which columns the mask of .ws has, by its definition: spans in turn, from a count on."""
    if p.zeros is None or not p.zeros >> 39 & 1:
        return np.zeros(p.n, bool)
    skip, use = (p.zeros >> 40 & 0xFF) + 1, (p.zeros >> 48 & 0xFF) + 1
    masks = []
    for part in range(p.parts):
        first = p.zeros >> (32 + part) & 1
        spans = [True] * skip + [False] * use if first else [False] * use + [True] * skip
        repeated = np.tile(spans, p.n)[p.zeros >> (8 * part) & 0xFF :]
        masks.append(repeated[: p.columns])
    return np.concatenate(masks)


def start(random, p):
    shape = p.ctas, p.columns, 128
    if p.d == "s32":
        return random.integers(-1000, 1000, shape).astype(np.int32).view(np.uint32)
    if p.d == "f16":
        return random.normal(size=shape).astype(np.float16).view(np.uint16).astype(np.uint32)
    return random.normal(size=shape).astype(np.float32).view(np.uint32)


def agrees(p, policies=POLICY, seed=None):
    """Whether a product of random values is NumPy's, under each of these policies."""
    random = np.random.default_rng(sum(map(ord, str(p))) if seed is None else seed)
    stored, lines = p.k // 2 if p.sparse else p.k, p.n + 8 * -(-p.shift // 8)
    a, b = draw(random, (p.m, stored), p.a), draw(random, (lines, p.k), p.b)
    c = start(random, p)
    words, places, of_a, of_b = None, None, 1.0, 1.0
    if p.sparse:
        words, places = metadata_of(p, random)
    if p.scaled:
        metadata = words
        words, of_a, of_b = factors_of(p, random)
        if metadata is not None:
            words[:, 16:] = metadata[:, 16:]
    wanted = expected(p, a, b, c, places, of_a, of_b)
    for policy in policies:
        np.testing.assert_array_equal(multiplied(p, a, b, c, words, **policy), wanted)


# ---- factors -------------------------------------------------------------------------------------


def factors_of(p, random):
    """Words of the columns from 288 on, [CTA, column, lane]: factors of A, behind 8 columns those of B.

    A CTA has those of its rows of A and of all columns of B: 32 of them in the lanes of a quarter. All
    quarters have the same, but where parts of D's columns are behind each other in the lanes: there each has
    those of its part.
    """
    held = random.integers(0, 256, (p.ctas, 24, 128, 4), np.uint8)
    a_codes, a_values = factors(random, (p.m, p.blocks), p.factor)
    b_codes, b_values = factors(random, (p.n, p.blocks), p.factor)
    per = p.k // p.blocks // (2 if p.sparse else 1)
    for cta, quarter in np.ndindex(p.ctas, 4):
        lanes = slice(32 * quarter, 32 * quarter + 32)
        part = quarter * p.parts // 4
        for codes, first, byte in (
            (a_codes[cta * p.rows :][: p.rows], 0, p.ids[0]),
            (b_codes[part * p.columns :][: p.columns], 8, p.ids[1]),
        ):
            for group in range(0, len(codes), 32):
                some = codes[group : group + 32]
                held[cta, first + group // 32, lanes, byte : byte + p.blocks][: len(some)] = some
    return (
        held.view(np.uint32)[..., 0],
        np.repeat(a_values, per, axis=1),
        np.repeat(b_values, p.k // p.blocks, axis=1),
    )


# ---- metadata ------------------------------------------------------------------------------------

NIBBLES = {32: [0b0100, 0b1110], 16: [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110]}
"""The places of the two units of a chunk that are stored, the first in the low bits; by the bits of a unit."""


def metadata_of(p, random):
    """Words of the columns from 304 on, [CTA, column, lane], and the place along K of every stored element."""
    bits = 4 if p.four else 8 * size_of(p.a)
    stored = p.k // 2
    units = stored * bits // (16 if bits >= 16 else 8)
    nibbles = random.choice(NIBBLES[32 if bits == 32 else 16], (p.m, units // 2))
    chunk = 4 * np.arange(units // 2)
    of_units = np.stack([chunk + (nibbles & 3), chunk + (nibbles >> 2)], -1).reshape(p.m, units)
    places = of_units[:, ::2] // 2 if bits == 32 else of_units
    if bits == 4:  # units are two elements
        places = np.stack([2 * of_units, 2 * of_units + 1], -1).reshape(p.m, stored)
    packed = np.unpackbits(nibbles.astype(np.uint8)[..., None], axis=-1, count=4, bitorder="little")
    packed = packed.reshape(p.m, -1)
    held = random.integers(0, 1 << 32, (p.ctas, 24, 128), np.uint32)
    for cta in range(p.ctas):
        rows = np.tile(packed[cta * p.rows :][: p.rows], (p.parts, 1))
        if bits >= 16:  # rows i and i + 8, and two halves of K, of every 16
            rows = rows.reshape(8, 2, 8, 2, 16).transpose(0, 3, 2, 1, 4).reshape(128, 32)
        words = np.packbits(rows, axis=-1, bitorder="little").view(np.uint32)
        held[cta, 16 + p.selector : 16 + p.selector + words.shape[1]] = words.T
    return held, places


# ---- the assembler -------------------------------------------------------------------------------


def assembles(forms):
    """Every spelling of these forms, as a kernel of its group of CTAs."""
    for ctas in {p.ctas for p in forms}:
        lines = sorted({p.spelled().replace("@%p6 ", "") for p in forms if p.ctas == ctas})
        assert listed(lines, ctas).cubin().spill_stores == 0


SET = {"r": "mov.u32 %r{}, 0;", "rd": "mov.u64 %rd{}, 0;", "p": "setp.eq.u32 %p{}, %r0, 0;"}


def listed(lines, ctas):
    used = sorted(
        {*re.findall(r"%(rd|r|p)(\d+)", " ".join(lines)), ("r", "0")},
        key=lambda u: list(SET).index(u[0]),
    )

    @kernel(grid=(ctas, 1, 1), cluster=(ctas, 1, 1), block=32, arch="sm_100a")
    def body():
        ptx.raw(
            ".reg .b32 %r<80>; .reg .b64 %rd<30>; .reg .pred %p<8>;"
            + "".join(SET[k].format(n) for k, n in used)
            + "".join(f" {line};" for line in lines)
        )

    return body
