"""`mma.sync` in the emulator, every shape and type, held to products by NumPy.

Fragments are written here from the formulas of the manual ("Matrix Fragments for mma"), metadata
from its figures, and the bits of small types are read by ml_dtypes.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from . import tensor_sums
from .harness import device, kinds, output, run

LANES = range(32)
NEW_LINE = "\n"

TYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f64": np.float64,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "s8": np.int8,
    "u8": np.uint8,
    "s4": ml_dtypes.int4,
    "u4": ml_dtypes.uint4,
}
CODES = {"e3m2": 6, "e2m3": 6, "e2m1": 4, "s4": 4, "u4": 4}
"""Bits of the types that ml_dtypes holds in bytes."""


def numbers(codes, dtype):
    """The numbers that bit patterns mean, in float64."""
    width = CODES.get(dtype, 0)
    if dtype in {"s4", "u4"}:
        wrapped = codes.astype(np.int64) - (16 if dtype == "s4" else 0) * (codes >= 8)
        return wrapped.astype(np.float64)
    if width:
        return codes.astype(np.uint8).view(TYPES[dtype]).astype(np.float64)
    if dtype == "tf32":
        codes = codes & 0xFFFFE000
    unsigned = np.dtype(f"u{np.dtype(TYPES[dtype]).itemsize}")
    return codes.astype(unsigned).view(TYPES[dtype]).astype(np.float64)


def draw(random, shape, dtype):
    """Random bit patterns of finite numbers."""
    if dtype in {"s8", "u8"}:
        return random.integers(0, 256, shape, np.uint64)
    if dtype in CODES:
        return random.integers(0, 1 << CODES[dtype], shape, np.uint64)
    drawn = random.normal(size=shape).astype(TYPES[dtype])
    unsigned = f"u{drawn.dtype.itemsize}"
    bits = drawn.view(unsigned).astype(np.uint64)
    return bits | random.integers(0, 1 << 13, shape, np.uint64) if dtype == "tf32" else bits


# ---- fragments -----------------------------------------------------------------------------------


def multiplicand(lines, along, bits):
    """(lane, register, place) of each element (line, position along k)."""
    per = max(1, 32 // bits)
    where = {}
    for lane in LANES:
        group, inside = lane >> 2, lane % 4
        for i in range(lines * along // 32):
            block, place = divmod(i, per)
            line = group + (8 * (block % 2) if lines == 16 else 0)
            column = inside * per + place + 4 * per * (block // (lines // 8))
            where[line, column] = lane, block, place
    assert len(where) == lines * along
    return where


def accumulators(rows, half):
    where = {}
    for lane in LANES:
        for i in range(rows // 4):
            at = (lane >> 2) + 8 * (i // 2), lane % 4 * 2 + i % 2
            where[at] = (lane, i // 2, i % 2) if half else (lane, i, 0)
    return where


def spread(where, matrix, bits, shift=0):
    """A matrix of bit patterns as the registers of a warp, [register, lane]."""
    registers = 1 + max(register for _, register, _ in where.values())
    held = np.zeros((registers, 32), np.uint64)
    for at, (lane, register, place) in where.items():
        held[register, lane] |= np.uint64(int(matrix[at]) << (place * bits + shift))
    return held if bits == 64 else held.astype(np.uint32)


def gathered(where, registers, bits, shape):
    found = np.zeros(shape, np.uint64)
    for at, (lane, register, place) in where.items():
        found[at] = int(registers[register, lane]) >> (place * bits) & ((1 << bits) - 1)
    return found


def program(spelling, counts, tail=""):
    """One instruction on registers that come from, and go to, global memory: (letter, count, bits)."""
    lines = ["mov.u32 %r1, %laneid"]
    vectors = {}
    for number, (name, count, bits) in enumerate(counts):
        pointer, prefix = f"%rd{number + 1}", "%fd" if bits == 64 else "%r"
        registers = [f"{prefix}{100 * (number + 1) + i}" for i in range(count)]
        vectors[name] = registers
        lines.insert(0, f".param u64 {name}")
        lines += [
            f"ld.param.u64 {pointer}, [{name}]",
            f"mul.wide.u32 %rd20, %r1, {bits // 8}",
            f"add.u64 {pointer}, {pointer}, %rd20",
        ]
        step = 4 * bits
        if name != "D":
            lines += [
                f"ld.global.b{bits} {r}, [{pointer}+{step * i}]" for i, r in enumerate(registers)
            ]
    listed = [f"{{{', '.join(vectors[name])}}}" for name in "DABC"]
    extra = [vectors[name][0] for name in vectors if name not in "DABC"]
    lines.append(f"{spelling} {', '.join(listed)}{tail.format(*extra)}")
    number, (_, count, bits) = next((n, c) for n, c in enumerate(counts) if c[0] == "D")
    lines += [
        f"st.global.b{bits} [%rd{number + 1}+{4 * bits * i}], {r}"
        for i, r in enumerate(vectors["D"])
    ]
    params = [f".param u64 {name}" for name, _, _ in counts]
    return NEW_LINE.join(params + [line for line in lines if not line.startswith(".param")])


def attempt(spelling, d, inputs, tail="", **options):
    """The report, and D's registers. `inputs` are those of A, B, C and what else there is."""
    counts = [(n, len(a), 8 * a.itemsize) for n, a in zip("ABCEFG", inputs, strict=False)]
    counts.append(("D", len(d), 8 * d.itemsize))
    outputs = output(d.shape, d.dtype)
    text = program(spelling, counts, tail)
    report = run(text, [device(a) for a in inputs], [outputs], sanitize=True, **options)
    return report, outputs


def execute(*arguments, **options):
    report, outputs = attempt(*arguments, **options)
    assert not kinds(report)
    return outputs


def summed(p, a, b, c, there=None, *, target=90, factors=None):
    """D as bit patterns: integers wrap, other sums are those of tensor_sums.py."""
    if p.d == "s32":
        return (ordered_sum(a, b, there).astype(np.int64) + c.astype(np.int64)).astype(np.uint32)
    how = tensor_sums.model("mma", target, p.a, scaled_four=p.bits == 4)
    if factors is not None:
        how = replace(how, apart=False)
    b = np.broadcast_to(b, (len(a), *b.shape))
    if factors is not None:
        factors = factors[0], np.broadcast_to(factors[1], b.shape), factors[2]
    if there is not None:
        kept = np.nonzero(there)[1].reshape(len(a), -1)
        rows = np.arange(len(a))[:, None]
        a, b = a[rows, kept], b[rows, kept]
        if factors is not None:
            factors = factors[0][rows, kept], factors[1][rows, kept], factors[2]
    return tensor_sums.add(how, (p.a, p.b, p.d), a, b, c.astype(float), factors)


def start(random, rows, d):
    """C, and its bit patterns."""
    if d == "s32":
        c = random.integers(-1000, 1000, (rows, 8))
        return c, c.astype(np.int32).view(np.uint32)
    c = random.normal(size=(rows, 8)).astype(np.float16 if d == "f16" else np.float32)
    return c, c.view(f"u{c.itemsize}")


def ordered_sum(a, b, there=None):
    sums = np.zeros((a.shape[0], b.shape[1]))
    for k in range(a.shape[1]):
        term = np.outer(a[:, k], b[k])
        sums += term if there is None else np.where(there[:, k : k + 1], term, 0.0)
    return sums


# ---- numbers -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Product:
    """One dense or sparse multiplication; `bits` is what an element takes in its register."""

    m: int
    k: int
    a: str
    b: str
    d: str
    bits: int
    kind: str = ""
    sparse: str = ""
    selector: int = 0

    @property
    def spelling(self):
        sparse = f".{self.sparse}" if self.sparse else ""
        kind = f".{self.kind}" if self.kind else ""
        return f"mma{sparse}.sync.aligned.m{self.m}n8k{self.k}.row.col{kind}.{self.d}.{self.a}.{self.b}.{self.d}"

    @property
    def stored(self):
        return self.k // 2 if self.sparse else self.k

    @property
    def shift(self):
        return [2 if t == "e2m1" and self.bits == 8 else 0 for t in (self.a, self.b)]

    @property
    def seed(self):
        return sum(map(ord, self.spelling)) + self.selector


def pairs(names):
    return [(a, b) for a in names for b in names]


FP8, INT8, INT4 = pairs(("e4m3", "e5m2")), pairs(("s8", "u8")), pairs(("s4", "u4"))
NARROW = pairs(("e4m3", "e5m2", "e3m2", "e2m3", "e2m1"))
DENSE = [
    *(Product(16, k, "f16", "f16", d, 16) for k in (8, 16) for d in ("f16", "f32")),
    *(Product(16, k, "bf16", "bf16", "f32", 16) for k in (8, 16)),
    *(Product(16, k, "tf32", "tf32", "f32", 32) for k in (4, 8)),
    *(Product(16, k, a, b, d, 8) for k in (16, 32) for d in ("f16", "f32") for a, b in FP8),
    *(Product(16, 32, a, b, d, 8, "kind::f8f6f4") for d in ("f16", "f32") for a, b in NARROW),
    *(Product(m, k, a, b, "s32", 8) for m, k in ((8, 16), (16, 16), (16, 32)) for a, b in INT8),
    *(Product(m, k, a, b, "s32", 4) for m, k in ((8, 32), (16, 32), (16, 64)) for a, b in INT4),
]


@pytest.mark.parametrize("p", DENSE, ids=lambda p: p.spelling)
def test_dense(p):
    random = np.random.default_rng(p.seed)
    a, b = draw(random, (p.m, p.k), p.a), draw(random, (p.k, 8), p.b)
    c, c_bits = start(random, p.m, p.d)
    half = p.d == "f16"
    of_d = accumulators(p.m, half)
    of_b = {(k, n): at for (n, k), at in multiplicand(8, p.k, p.bits).items()}
    c_registers = spread(of_d, c_bits, 16 if half else 32)
    found = execute(
        p.spelling,
        c_registers,
        (
            spread(multiplicand(p.m, p.k, p.bits), a, p.bits, p.shift[0]),
            spread(of_b, b, p.bits, p.shift[1]),
            c_registers,
        ),
    )
    expected = summed(p, numbers(a, p.a), numbers(b, p.b), c)
    np.testing.assert_array_equal(gathered(of_d, found, 16 if half else 32, (p.m, 8)), expected)


def test_a_fragment_is_read_again_where_its_registers_or_its_type_change():
    """Products share what was read of a fragment while its registers hold the same."""
    product = "mma.sync.aligned.m16n8k16.row.col.f32.{0}.{0}.f32 {{%f0, %f1, %f2, %f3}}, {{%r4, %r5, %r6, %r7}}, {{%r8, %r9}}, {{%f0, %f1, %f2, %f3}}\n"
    store = "st.global.v4.f32 [%rd4+{}], {{%f0, %f1, %f2, %f3}}\n"
    zeros = "".join(f"mov.b32 %f{i}, 0\n" for i in range(4))
    ones = "".join(f"mov.u32 %r{i}, 0x3f803f80\n" for i in range(4, 10))  # bf16: 1, f16: 1.875
    text = (
        ".param u64 Y\nld.param.u64 %rd2, [Y]\nmov.u32 %r1, %tid.x\nmul.wide.u32 %rd3, %r1, 64\n"
        "add.u64 %rd4, %rd2, %rd3\n" + ones
        + zeros + product.format("bf16") + store.format(0)
        + "setp.eq.u32 %p1, %r1, 31\n@%p1 mov.u32 %r7, 0x40003f80\n"  # A[15, 15] = 2
        + zeros + product.format("bf16") + store.format(16)
        + "@%p1 mov.u32 %r9, 0x3f804000\n"  # B[14, 7] = 2
        + zeros + product.format("bf16") + store.format(32)
        + zeros + "@%p1 mov.u32 %r7, 0x3f803f80\n@%p1 mov.u32 %r9, 0x3f803f80\n"
        + product.format("f16") + store.format(48)
    )  # fmt: skip
    y = output(32 * 16, "f4")
    assert run(text, [], [y]).message == ""
    got = y.reshape(32, 4, 4)  # lane, product, register
    assert np.all(got[:, 0] == 16)
    expected = np.full((32, 4), 16.0)
    expected[28:, 2:] = 17  # row 15
    np.testing.assert_array_equal(got[:, 1], expected)
    expected[3::4, 1::2] += 1  # column 7
    np.testing.assert_array_equal(got[:, 2], expected)
    assert np.all(got[:, 3] == 16 * 1.875**2)


# ---- half of A left out --------------------------------------------------------------------------

SPARSE = [
    *(Product(16, 16, "f16", "f16", d, 16, selector=s) for d in ("f16", "f32") for s in range(4)),
    *(Product(16, 32, "f16", "f16", d, 16, selector=s) for d in ("f16", "f32") for s in range(2)),
    *(Product(16, 16, "bf16", "bf16", "f32", 16, selector=s) for s in range(4)),
    *(Product(16, 32, "bf16", "bf16", "f32", 16, selector=s) for s in range(2)),
    *(Product(16, 8, "tf32", "tf32", "f32", 32, selector=s) for s in range(4)),
    *(Product(16, 16, "tf32", "tf32", "f32", 32, selector=s) for s in range(2)),
    *(Product(16, 64, a, b, "f32", 8) for a, b in FP8),
    *(Product(16, 32, a, b, "s32", 8, selector=s) for a, b in INT8 for s in range(2)),
    *(Product(16, 64, a, b, "s32", 8) for a, b in INT8),
    *(Product(16, 64, a, b, "s32", 4, selector=s) for a, b in INT4 for s in range(2)),
    *(Product(16, 128, a, b, "s32", 4) for a, b in INT4),
]
EITHER = [
    Product(p.m, p.k, p.a, p.b, p.d, p.bits, "", sparse, p.selector)
    for p in SPARSE
    for sparse in ("sp", "sp::ordered_metadata")
] + [
    Product(16, 64, a, b, d, 8, "kind::f8f6f4", "sp::ordered_metadata")
    for d in ("f16", "f32")
    for a, b in NARROW
]


def choose(random, p):
    """Where along k each stored element stands, [row, stored], and the metadata of each chunk."""
    group, step = {32: (2, 1), 16: (4, 1), 8: (4, 1), 4: (4, 2)}[p.bits]
    places = np.zeros((p.m, p.stored), int)
    chunks = np.zeros((p.m, p.k // (group * step)), int)
    for row, chunk in np.ndindex(chunks.shape):
        first = chunk * group * step
        if p.bits == 32:  # one of two
            at = int(random.integers(2))
            places[row, chunk] = first + at
            chunks[row, chunk] = 0b1110 if at else 0b0100
            continue
        kept = random.choice(4, 2, replace=False)
        if p.sparse != "sp":
            kept.sort()
        low, high = (int(i) for i in kept)
        chunks[row, chunk] = low | high << 2
        for i, at in enumerate((low, high)):
            for e in range(step):
                places[row, (chunk * 2 + i) * step + e] = first + at * step + e
    return places, chunks


def metadata(p, chunks):
    """The register of metadata of each lane; lanes that the selector leaves out hold noise."""
    held = np.full(32, 0xDEADBEEF, np.uint64)
    halves = p.bits >= 16  # a lane has 4 chunks of rows i and i + 8; otherwise 8 of one of them
    lanes = chunks.shape[1] // 4
    for group in range(8):
        for i in range(lanes):
            lane = 4 * group + p.selector * lanes + i
            if halves:
                low = [chunks[group, 4 * i + c] << (4 * c) for c in range(4)]
                high = [chunks[group + 8, 4 * i + c] << (16 + 4 * c) for c in range(4)]
                held[lane] = sum(map(int, low + high))
            else:
                row, first = group + 8 * (i % 2), 8 * (i // 2)
                held[lane] = sum(int(chunks[row, first + c]) << (4 * c) for c in range(8))
    return held.astype(np.uint32).reshape(1, 32)


def sparse_inputs(p, random):
    stored, b = draw(random, (p.m, p.stored), p.a), draw(random, (p.k, 8), p.b)
    places, chunks = choose(random, p)
    a, there = np.zeros((p.m, p.k)), np.zeros((p.m, p.k), bool)
    rows = np.arange(p.m)[:, None]
    a[rows, places] = numbers(stored, p.a)
    there[rows, places] = True
    of_b = {(k, n): at for (n, k), at in multiplicand(8, p.k, p.bits).items()}
    registers = (
        spread(multiplicand(p.m, p.stored, p.bits), stored, p.bits, p.shift[0]),
        spread(of_b, b, p.bits, p.shift[1]),
    )
    return a, there, numbers(b, p.b), registers, metadata(p, chunks)


@pytest.mark.sampled(32, each="p.*")
@pytest.mark.parametrize("p", EITHER, ids=lambda p: f"{p.spelling} {p.selector}")
def test_sparse(p):
    random = np.random.default_rng(p.seed)
    a, there, b, registers, held = sparse_inputs(p, random)
    c, c_bits = start(random, p.m, p.d)
    half = p.d == "f16"
    of_d = accumulators(p.m, half)
    c_registers = spread(of_d, c_bits, 16 if half else 32)
    found = execute(
        p.spelling, c_registers, (*registers, c_registers, held), f", {{}}, {p.selector}"
    )
    expected = summed(p, a, b, c, there)
    np.testing.assert_array_equal(gathered(of_d, found, 16 if half else 32, (p.m, 8)), expected)


def test_what_is_left_out_is_not_multiplied():
    """An infinity of B against nothing of A changes nothing; 0 times it would be a NaN."""
    p = Product(16, 16, "f16", "f16", "f32", 16, sparse="sp")
    of_b = {(k, n): at for (n, k), at in multiplicand(8, 16, 16).items()}
    a = np.full((16, 8), np.float16(1).view(np.uint16), np.uint64)
    b = np.full((16, 8), np.float16(1).view(np.uint16), np.uint64)
    b[3::4] = np.float16(np.inf).view(np.uint16)
    chunks = np.full((16, 4), 0b0100)
    c = np.zeros((4, 32), np.uint32)
    found = execute(
        p.spelling,
        c,
        (
            spread(multiplicand(16, 8, 16), a, 16),
            spread(of_b, b, 16),
            c,
            metadata(p, chunks),
        ),
        ", {}, 0",
    )
    np.testing.assert_array_equal(found.view(np.float32), np.full((4, 32), 8.0))


@pytest.mark.parametrize(
    ("spelling", "word", "note"),
    [
        (
            "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            0x44444441,
            "the metadata of chunk 0 of row 0 are 0b0001; ordered ones name a lower place first, then a higher one",
        ),
        (
            "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            0x44484444,
            "the metadata of chunk 0 of row 8 are 0b1000; of tf32 0b0100 and 0b1110 have a meaning",
        ),
    ],
)
def test_metadata_without_a_meaning(spelling, word, note):
    zeros = [np.zeros((n, 32), np.uint32) for n in (2, 2, 4)]
    clean = np.full((1, 32), 0x44444444, np.uint32)
    execute(spelling, zeros[2], (*zeros, clean), ", {}, 1")
    planted = clean.copy()
    planted[0, 1] = word
    (finding,) = attempt(spelling, zeros[2], (*zeros, planted), ", {}, 1")[0].findings
    assert (finding.kind, finding.note, finding.site.lane) == ("bad-matrix", note, 1)


# ---- factors of blocks ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Scaled:
    product: Product
    vector: str
    blocks: int
    factor: str = "ue8m0"
    byte: tuple[int, int] = (0, 0)
    thread: tuple[int, int] = (0, 0)

    @property
    def spelling(self):
        head, tail = self.product.spelling.split(f".{self.product.kind}.")
        vector = f".{self.vector}" if self.vector else ""
        return f"{head}.{self.product.kind}.block_scale{vector}.{tail}.{self.factor}"


def scaled(sparse):
    """Each kind with each number of factors, each pair of types, each byte and thread."""
    once = "sp::ordered_metadata" if sparse else ""
    wide = 2 if sparse else 1
    four = [
        ("kind::mxf4", "", 2, "ue8m0"),
        ("kind::mxf4", "scale_vec::2X", 2, "ue8m0"),
        ("kind::mxf4nvf4", "scale_vec::2X", 2, "ue8m0"),
        ("kind::mxf4nvf4", "scale_vec::4X", 4, "ue4m3"),
        ("kind::mxf4nvf4", "scale_vec::4X", 4, "ue8m0"),
    ]
    for kind, vector, blocks, factor in four:
        p = Product(16, 64 * wide, "e2m1", "e2m1", "f32", 4, kind, once)
        for byte in range(0, 4, blocks):
            yield Scaled(p, vector, blocks, factor, (byte, (byte + blocks) % 4), (1, 3))
    for i, (a, b) in enumerate(NARROW):
        p = Product(16, 32 * wide, a, b, "f32", 8, "kind::mxf8f6f4", once)
        vector = "scale_vec::1X" if i % 2 else ""
        yield Scaled(p, vector, 1, "ue8m0", (i % 4, (i + 1) % 4), (i % 2, i // 2 % 4))


def factors(random, shape, dtype):
    codes = (
        random.integers(120, 134, shape) if dtype == "ue8m0" else random.integers(1, 0x7F, shape)
    )
    kind = ml_dtypes.float8_e8m0fnu if dtype == "ue8m0" else ml_dtypes.float8_e4m3fn
    return codes, codes.astype(np.uint8).view(kind).astype(np.float64)


def scale_registers(codes, byte, thread, lane_of):
    """[line, block] as the registers of a warp; bytes that are not asked for hold noise."""
    held = np.full((32, 4), 0xA5, np.uint8)
    for line, block in np.ndindex(codes.shape):
        held[lane_of(line, thread), byte + block] = codes[line, block]
    return held.view(np.uint32).reshape(1, 32)


@pytest.mark.sampled(32, each="s.*")
@pytest.mark.parametrize(
    "s", [*scaled(False), *scaled(True)], ids=lambda s: f"{s.spelling} {s.byte} {s.thread}"
)
def test_blocks_are_scaled(s):
    p = s.product
    random = np.random.default_rng(p.seed)
    a_codes, a_factors = factors(random, (16, s.blocks), s.factor)
    b_codes, b_factors = factors(random, (8, s.blocks), s.factor)
    c, c_bits = start(random, 16, "f32")
    of_d = accumulators(16, False)
    c_registers = spread(of_d, c_bits, 32)
    of_b = {(k, n): at for (n, k), at in multiplicand(8, p.k, p.bits).items()}
    held, tail = [], ""
    if p.sparse:
        a, there, b, registers, meta = sparse_inputs(p, random)
        held, tail = [meta], ", {}, 0"
    else:
        a_bits, b_bits = draw(random, (16, p.k), p.a), draw(random, (p.k, 8), p.b)
        a, b, there = numbers(a_bits, p.a), numbers(b_bits, p.b), None
        registers = (
            spread(multiplicand(16, p.k, p.bits), a_bits, p.bits, p.shift[0]),
            spread(of_b, b_bits, p.bits, p.shift[1]),
        )
    a_scale = scale_registers(
        a_codes, s.byte[0], s.thread[0], lambda m, t: 4 * (m % 8) + 2 * t + m // 8
    )
    b_scale = scale_registers(b_codes, s.byte[1], s.thread[1], lambda n, t: 4 * n + t)
    ids = [f"{{{{{s.byte[i]}, {s.thread[i]}}}}}" for i in range(2)]
    tail += f", {{}}, {ids[0]}, {{}}, {ids[1]}"
    inputs = (*registers, c_registers, *held, a_scale, b_scale)
    found = execute(s.spelling, c_registers, inputs, tail, target="sm_120a")
    wide = p.k // s.blocks
    of_a, of_b = np.repeat(a_factors, wide, axis=1), np.repeat(b_factors, wide, axis=1).T
    sums = summed(p, a, b, c, there, target=120, factors=(of_a, of_b, s.factor))
    np.testing.assert_array_equal(gathered(of_d, found, 32, (16, 8)), sums)


@pytest.mark.parametrize(("byte", "thread"), [("%h1", "0"), ("0", "2")])
def test_selectors_of_no_factors(byte, thread):
    """Of two factors the first is in byte 0 or 2, and two pairs of lanes may hold A's."""
    spelling = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
    zeros = [np.zeros((n, 32), np.uint32) for n in (4, 2, 4, 1, 1)]
    planted, clean = (
        f", {{}}, {{{{{ids}}}}}, {{}}, {{{{0, 0}}}}"
        for ids in (f"{byte}, {thread}", f"{byte.replace('%h1', '2')}, {thread.replace('2', '1')}")
    )
    with_register = f"mov.u16 %h1, 1{NEW_LINE}{spelling}"
    (finding,) = attempt(with_register, zeros[2], zeros, planted)[0].findings
    assert finding.kind == "bad-matrix"
    assert finding.note == (
        f"byte-id {byte.replace('%h', '')} and thread-id {thread} select no factors, or others than lane 0 does; "
        "of 2 factors byte-id is a multiple below 4, and thread-id is below 2"
    )
    execute(with_register, zeros[2], zeros, clean)


# ---- f64, single bits, and Volta's products ------------------------------------------------------


@pytest.mark.parametrize(("m", "k"), [(8, 4), (16, 4), (16, 8), (16, 16)])
def test_doubles_are_added_by_fma(m, k):
    random = np.random.default_rng(m + k)
    a, b, c = (random.normal(size=s) for s in ((m, k), (k, 8), (m, 8)))
    of_a, of_d = multiplicand(m, k, 64), accumulators(m, False)
    of_b = {(at, n): where for (n, at), where in multiplicand(8, k, 64).items()}
    registers = [
        spread(where, x.view(np.uint64), 64) for where, x in ((of_a, a), (of_b, b), (of_d, c))
    ]
    found = execute(f"mma.sync.aligned.m{m}n8k{k}.row.col.f64.f64.f64.f64", registers[2], registers)
    expected = np.zeros((m, 8))
    for i, j in np.ndindex(m, 8):
        total = Fraction(c[i, j])
        for step in range(k):
            total = Fraction(float(Fraction(a[i, step]) * Fraction(b[step, j]) + total))
        expected[i, j] = float(total)
    np.testing.assert_array_equal(gathered(of_d, found, 64, (m, 8)).view(np.float64), expected)


@pytest.mark.parametrize(
    ("rounding", "expected"), [("rn", 1.0), ("rz", 1.0), ("rm", 1.0), ("rp", 1.0 + 2.0**-52)]
)
@pytest.mark.parametrize(("m", "k"), [(8, 4), (16, 4), (16, 8), (16, 16)])
def test_doubles_are_rounded_as_the_instruction_says(m, k, rounding, expected):
    """1 and a product of 2^-80, which only .rp sees."""
    a, b = np.zeros((m, k)), np.zeros((k, 8))
    a[:, 1], b[1] = 2.0**-40, 2.0**-40
    of_a, of_d = multiplicand(m, k, 64), accumulators(m, False)
    of_b = {(at, n): where for (n, at), where in multiplicand(8, k, 64).items()}
    registers = [
        spread(where, x.view(np.uint64), 64)
        for where, x in ((of_a, a), (of_b, b), (of_d, np.ones((m, 8))))
    ]
    spelling = f"mma.sync.aligned.m{m}n8k{k}.row.col.{rounding}.f64.f64.f64.f64"
    found = execute(spelling, registers[2], registers)
    assert (gathered(of_d, found, 64, (m, 8)).view(np.float64) == expected).all()


@pytest.mark.parametrize("operation", ["xor", "and"])
@pytest.mark.parametrize(("m", "k"), [(8, 128), (16, 128), (16, 256)])
def test_single_bits_are_counted(m, k, operation):
    random = np.random.default_rng(k)
    a, b = random.integers(0, 2, (m, k)), random.integers(0, 2, (k, 8))
    c = random.integers(-1000, 1000, (m, 8))
    of_d = accumulators(m, False)
    of_b = {(at, n): where for (n, at), where in multiplicand(8, k, 1).items()}
    held = spread(of_d, c.astype(np.int32).view(np.uint32), 32)
    found = execute(
        f"mma.sync.aligned.m{m}n8k{k}.row.col.s32.b1.b1.s32.{operation}.popc",
        held,
        (spread(multiplicand(m, k, 1), a, 1), spread(of_b, b, 1), held),
    )
    both = a[:, :, None] ^ b[None] if operation == "xor" else a[:, :, None] & b[None]
    expected = both.sum(axis=1) + c
    np.testing.assert_array_equal(
        gathered(of_d, found, 32, (m, 8)), expected.astype(np.int32).view(np.uint32)
    )


def quad_pairs(role, layout):
    """(product, row, column) to (lane, element): the formulas of m8n8k4 with .f16."""
    where = {}
    for lane in LANES:
        product, low, high = lane % 16 // 4, lane % 4, 4 * (lane >= 16)
        for i in range(8 if role == "C" else 4):
            at = {
                ("A", "row"): (low + high, i),
                ("A", "col"): (i % 4 + high, low),
                ("B", "row"): (low, i + high),
                ("B", "col"): (i, low + high),
                ("C", "f16"): (low + high, i),
                ("C", "f32"): (
                    (lane & 0b1) + (i & 0b10) + high,
                    (i & 0b100) + (lane & 0b10) + (i & 0b1),
                ),
            }[role, layout]
            where[(product, *at)] = lane, i
    return where


def packed(where, matrices, bits):
    per = 32 // bits
    return spread(
        {at: (lane, i // per, i % per) for at, (lane, i) in where.items()}, matrices, bits
    )


def chained(a, b, c, d):
    """FFMA and FADD, which is what ptxas makes of m8n8k4: f64 has a product and a sum of these exactly."""

    def fused(k, sums):
        product = np.outer(a[:, k].astype(float), b[k].astype(float))
        return (product + sums).astype(np.float32)

    low = fused(1, fused(0, np.zeros((8, 8), np.float32)))
    if d == "f16":
        return c + low + fused(3, fused(2, np.zeros((8, 8), np.float32)))
    return c + fused(3, fused(2, low))


@pytest.mark.parametrize("b_layout", ["row", "col"])
@pytest.mark.parametrize("a_layout", ["row", "col"])
@pytest.mark.parametrize(("d", "c"), [("f16", "f16"), ("f32", "f16"), ("f32", "f32")])
def test_four_products_of_quad_pairs(d, c, a_layout, b_layout):
    random = np.random.default_rng(5)
    a, b = draw(random, (4, 8, 4), "f16"), draw(random, (4, 4, 8), "f16")
    start_c = random.normal(size=(4, 8, 8)).astype(np.float16 if c == "f16" else np.float32)
    wide = 16 if d == "f16" else 32
    of_d = quad_pairs("C", d)
    shape = np.zeros((4 if d == "f16" else 8, 32), np.uint32)
    found = execute(
        f"mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.{d}.f16.f16.{c}",
        shape,
        (
            packed(quad_pairs("A", a_layout), a, 16),
            packed(quad_pairs("B", b_layout), b, 16),
            packed(quad_pairs("C", c), start_c.view(f"u{start_c.itemsize}"), 8 * start_c.itemsize),
        ),
    )
    per = 32 // wide
    places = {at: (lane, i // per, i % per) for at, (lane, i) in of_d.items()}
    got = gathered(places, found, wide, (4, 8, 8))
    for product in range(4):
        x, y = (numbers(m[product], "f16").astype(np.float32) for m in (a, b))
        total = chained(x, y, start_c[product].astype(np.float32), d)
        kind = np.float16 if d == "f16" else np.float32
        bits = total.astype(kind).view(f"u{np.dtype(kind).itemsize}")
        np.testing.assert_array_equal(got[product], bits)
