"""tcgen05 in the emulator: products, loads, stores and copies of Tensor Memory, held to NumPy.

Matrices in shared memory are laid out here by the canonical layouts of the manual, fragments by the
figures of its loads and stores. The product of a compiler for sm_100a is in tests/foreign.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx._layouts import Swizzle
from pyptx.types import bf16, f32, u16, u32

from . import tensor_sums
from .harness import device, kinds, output, run
from .test_mma import CODES, TYPES, draw, factors, numbers

NEW_LINE = "\n"
POLICIES = [
    {"sanitize": False},
    {"sanitize": True},
    {"sanitize": True, "completion": "eager"},
    {"sanitize": True, "completion": "reversed"},
    {"sanitize": True, "completion": "random", "seed": 1},
    {"sanitize": True, "seed": 2},
]
POLICY = [POLICIES[1], POLICIES[4]]

SETUP = """
.shared slot 4 4
.shared done 8 8
mov.u32 %r1, %tid.x
setp.lt.u32 %p1, %r1, 32
setp.eq.u32 %p2, %r1, 0
mul.wide.u32 %rd9, %r1, 4
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512
@%p2 mbarrier.init.shared::cta.b64 [done], 1
"""
READY = """
fence.proxy.async.shared::cta
tcgen05.fence::before_thread_sync
bar.sync 0
tcgen05.fence::after_thread_sync
ld.shared.u32 %r30, [slot]
shr.u32 %r32, %r1, 5
shl.b32 %r32, %r32, 21
add.u32 %r33, %r30, %r32
"""
SYNC = """
tcgen05.fence::before_thread_sync
bar.sync 0
tcgen05.fence::after_thread_sync
"""
ENDED = """
@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done]
waiting:
mbarrier.try_wait.parity.shared::cta.b64 %p4, [done], 0
@!%p4 bra waiting
tcgen05.fence::after_thread_sync
"""
FREE = """
bar.sync 0
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 512
"""


def pointers(*names):
    """Parameters, and registers %rd1 and so on with what they hold."""
    given = [f".param u64 {name}" for name in names]
    return NEW_LINE.join(given + [f"ld.param.u64 %rd{i + 1}, [{n}]" for i, n in enumerate(names)])


def to_shared(pointer, total):
    """Copies `total` bytes, a multiple of 2048, of global memory to `mats`."""
    return f"""
    .shared mats {total} 1024
    mov.u32 %r10, mats
    shl.b32 %r11, %r1, 4
    add.u32 %r11, %r11, %r10
    mul.wide.u32 %rd8, %r1, 16
    add.u64 %rd8, %rd8, {pointer}
    mov.u32 %r12, 0
    copying:
    ld.global.v4.u32 {{%r20, %r21, %r22, %r23}}, [%rd8]
    st.shared.v4.u32 [%r11], {{%r20, %r21, %r22, %r23}}
    add.u64 %rd8, %rd8, 2048
    add.u32 %r11, %r11, 2048
    add.u32 %r12, %r12, 2048
    setp.lt.u32 %p3, %r12, {total}
    @%p3 bra copying
    """


def to_tensor(pointer, columns, at):
    """Stores `columns` words of each thread, [column, thread] in global memory, to its lane."""
    lines = [f"add.u64 %rd8, {pointer}, %rd9"]
    for first in range(0, columns, 8):
        registers = [f"%r{40 + i}" for i in range(8)]
        lines += [f"ld.global.u32 {r}, [%rd8+{512 * (first + i)}]" for i, r in enumerate(registers)]
        lines.append(
            f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%r33+{at + first}], {{{', '.join(registers)}}}"
        )
    return NEW_LINE.join([*lines, "tcgen05.wait::st.sync.aligned"])


def from_tensor(pointer, columns, at=0):
    """The other way round."""
    lines = [f"add.u64 %rd8, {pointer}, %rd9"]
    for first in range(0, columns, 8):
        registers = [f"%r{40 + i}" for i in range(8)]
        lines.append(
            f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {{{', '.join(registers)}}}, [%r33+{at + first}]"
        )
        lines.append("tcgen05.wait::ld.sync.aligned")
        lines += [f"st.global.u32 [%rd8+{512 * (first + i)}], {r}" for i, r in enumerate(registers)]
    return NEW_LINE.join(lines)


# ---- products ------------------------------------------------------------------------------------

KINDS = {
    "f16": {"f16": 0, "bf16": 1},
    "tf32": {"tf32": 2},
    "f8f6f4": {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5},
    "i8": {"u8": 0, "s8": 1},
}
SUMS = {"f16": 0, "f32": 1, "s32": 2}
MODES = {Swizzle.NONE: 0, Swizzle.B128: 2, Swizzle.B64: 4, Swizzle.B32: 6}
A_AT, B_AT, TOTAL = 0, 1 << 15, 3 << 15


def size_of(dtype):
    """Bytes of an element; smaller ones take a byte each, by how shared memory is spread."""
    return 1 if dtype in CODES else np.dtype(TYPES[dtype]).itemsize


@dataclass(frozen=True)
class Product:
    kind: str
    a: str
    b: str
    d: str = "f32"
    m: int = 128
    n: int = 32
    swizzle_a: Swizzle = Swizzle.NONE
    swizzle_b: Swizzle = Swizzle.NONE
    columns_a: bool = False
    columns_b: bool = False
    signs: tuple[int, int] = (1, 1)
    accumulates: bool = True
    scale: int | None = None
    in_memory: bool = False  # A in Tensor Memory
    lane: int = 0
    disabled: tuple[int, ...] = ()
    saturates: bool = False
    collector: str = ""

    @property
    def k(self):
        return 32 // size_of(self.a)

    @property
    def described(self):
        types = KINDS[self.kind]
        fields = [
            (int(self.saturates), 3), (SUMS[self.d], 4), (types[self.a], 7), (types[self.b], 10),
            (int(self.signs[0] < 0), 13), (int(self.signs[1] < 0), 14), (int(self.columns_a), 15),
            (int(self.columns_b), 16), (self.n >> 3, 17), (self.m >> 4, 24),
        ]  # fmt: skip
        return sum(value << at for value, at in fields)

    def stored(self, codes, dtype):
        """Elements as shared and Tensor Memory have them, and the type that they are of there."""
        return codes, dtype

    def lanes(self):
        """The lane of each row: all in order, or half of each quarter."""
        rows = np.arange(self.m)
        return rows if self.m == 128 else self.lane + rows // 16 * 32 + rows % 16


@dataclass(frozen=True)
class Matrix:
    """`mn` by `k` elements of `size` bytes from a byte of shared memory on."""

    mn: int
    k: int
    size: int
    start: int
    swizzle: Swizzle
    columns: bool

    @property
    def leading(self):
        if self.swizzle is Swizzle.NONE:
            return 160 if self.columns else self.mn // 8 * 144 + 16
        return self.k // 8 * 8 * self.swizzle.span + self.swizzle.atom_bytes if self.columns else 16

    @property
    def stride(self):
        if self.swizzle is Swizzle.NONE:
            return 656 if self.columns else 144
        return 8 * self.swizzle.span + (0 if self.columns else self.swizzle.atom_bytes)

    @property
    def descriptor(self):
        fields = (self.start >> 4, 0), (self.leading >> 4, 16), (self.stride >> 4, 32), (1, 46)
        return sum(v << at for v, at in fields) | MODES[self.swizzle] << 61

    def place(self, mn, k):
        size, span = self.size, self.swizzle.span
        if self.columns and self.swizzle is Swizzle.NONE:
            per = 16 // size
            at = mn % per * size + mn // per * self.stride + k % 8 * 16 + k // 8 * self.leading
        elif self.columns:
            byte = mn * size
            at = byte % span + byte // span * self.leading + k % 8 * span + k // 8 * self.stride
        elif self.swizzle is Swizzle.NONE:
            byte = k * size
            at = byte % 16 + byte // 16 * self.leading + mn % 8 * 16 + mn // 8 * self.stride
        else:
            at = k * size + mn % 8 * span + mn // 8 * self.stride
        return self.start + self.swizzle.apply(at)

    def lay_out(self, memory, codes, dtype):
        if dtype in CODES:  # 16 elements, then what is left of 16 bytes
            for line, chunk in np.ndindex(self.mn, self.k // 16):
                group = codes[line, 16 * chunk : 16 * chunk + 16]
                value = sum(int(c) << (CODES[dtype] * i) for i, c in enumerate(group))
                at = self.place(line, 16 * chunk)
                memory[at : at + 16] = np.frombuffer(value.to_bytes(16, "little"), np.uint8)
            return
        places = self.place(*np.indices(codes.shape))
        for byte in range(self.size):
            memory[places + byte] = codes >> np.uint64(8 * byte) & np.uint64(0xFF)


def words_of(codes, dtype):
    """Rows of elements as rows of 32-bit words, as Tensor Memory has them."""
    if dtype == "e2m1":
        codes = codes << np.uint64(2)
    packed = codes.astype(f"u{size_of(dtype)}")
    return np.ascontiguousarray(packed).view(np.uint32)


def spelled(p, rest=""):
    extra = f"{{{', '.join(f'%r{60 + i}' for i in range(4))}}}, " if p.disabled else ""
    scale = "" if p.scale is None else f", {p.scale}"
    collector = f".{p.collector}" if p.collector else ""
    a = "[%r36+256]" if p.in_memory else "%rd20"
    if isinstance(p, Scaled):
        extra = "[%r36+288], [%r36+292], "
        collector = ".block_scale" + (f".{p.vector}" if p.vector else "")
    return f"@%p2 tcgen05.mma.cta_group::1.kind::{p.kind}{collector} [%r36], {a}, %rd21, %r31, {extra}%p5{scale}{rest}"


def multiplied(p, a, b, c, factors=None, **options):
    """The words of Tensor Memory, [column, lane], behind one product; `c` are those before it."""
    (a, a_type), (b, b_type) = p.stored(a, p.a), p.stored(b, p.b)
    left = Matrix(p.m, a.shape[1], size_of(a_type), A_AT, p.swizzle_a, p.columns_a)
    right = Matrix(p.n, b.shape[1], size_of(b_type), B_AT, p.swizzle_b, p.columns_b)
    memory = np.zeros(TOTAL, np.uint8)
    left.lay_out(memory, a, a_type)
    right.lay_out(memory, b, b_type)
    held = np.zeros((8, 128), np.uint32)
    held[:, p.lanes()] = words_of(a, a_type).T
    lanes = [sum(1 << (lane % 32) for lane in p.disabled if lane // 32 == q) for q in range(4)]
    found = output((p.n, 128), np.uint32)
    text = f"""
{pointers("M", "A", "C", "F", "D")}
{SETUP}
{to_shared("%rd1", TOTAL)}
{READY}
{to_tensor("%rd3", p.n, 0)}
{to_tensor("%rd4", 16, 288)}
{to_tensor("%rd2", 8, 256)}
{SYNC}
mov.u32 %r31, {p.described}
shr.u32 %r13, %r10, 4
cvt.u64.u32 %rd19, %r13
add.u64 %rd20, %rd19, {left.descriptor}
add.u64 %rd21, %rd19, {right.descriptor}
add.u32 %r36, %r30, {p.lane << 16}
{NEW_LINE.join(f"mov.u32 %r{60 + i}, {bits}" for i, bits in enumerate(lanes))}
setp.{"eq" if p.accumulates else "ne"}.u32 %p5, %r1, %r1
{spelled(p)}
{ENDED}
{from_tensor("%rd5", p.n)}
{FREE}
"""
    report = run(
        text,
        [
            device(memory.view(np.uint32)),
            device(held),
            device(c),
            device(np.zeros((16, 128), np.uint32) if factors is None else factors),
        ],
        [found],
        block=128,
        target="sm_100a",
        **options,
    )
    assert kinds(report) == [], report.message
    return np.array(found)


def expected(p, a, b, c, of_a=1.0, of_b=1.0):
    """Integers exactly, floats as tensor_sums.py adds them; of D its words."""
    x, y = p.signs[0] * numbers(a, p.a), p.signs[1] * numbers(b, p.b)
    words = c.copy()
    rows = p.lanes()
    before = c[: p.n, rows].T
    if p.d == "s32":
        total = (x @ y.T).astype(np.int64) + before.view(np.int32) * p.accumulates
        if p.saturates:
            total = total.clip(-(2**31), 2**31 - 1)
        result = total.astype(np.uint32)
    else:
        kind = np.float16 if p.d == "f16" else np.float32
        held = before.astype("u2" if p.d == "f16" else "u4").view(kind).astype(float)
        how = tensor_sums.model("tcgen05", 100, p.a, scaled_four=p.kind.startswith("mxf4"))
        factors = None
        if p.kind.startswith("mx"):
            per_row = np.broadcast_to(of_b.T, (p.m, *y.T.shape))
            factors = np.broadcast_to(of_a, x.shape), per_row, p.factor
        c = held * p.accumulates / 2.0 ** (p.scale or 0)
        result = tensor_sums.add(how, (p.a, p.b, p.d), x, y.T, c, factors)
    kept = ~np.isin(rows, p.disabled)
    words[: p.n, rows[kept]] = result.T[:, kept]
    return words


def start(random, p):
    if p.d == "s32":
        return random.integers(-1000, 1000, (p.n, 128)).astype(np.int32).view(np.uint32)
    if p.d == "f16":
        return random.normal(size=(p.n, 128)).astype(np.float16).view(np.uint16).astype(np.uint32)
    return random.normal(size=(p.n, 128)).astype(np.float32).view(np.uint32)


NARROW = [(a, b) for a in KINDS["f8f6f4"] for b in KINDS["f8f6f4"]]
BYTES = [(a, b) for a in KINDS["i8"] for b in KINDS["i8"]]
SIXTEEN = [("f16", "f16", "f16"), ("f16", "f16", "f32"), ("bf16", "bf16", "f32")]
PRODUCTS = [
    *(Product("f16", a, b, d, m, n) for a, b, d in SIXTEEN for m, n in ((128, 8), (128, 24), (128, 256), (64, 8), (64, 200))),
    *(Product("tf32", "tf32", "tf32", "f32", m, 32) for m in (64, 128)),
    *(Product("f8f6f4", a, b, d) for a, b in NARROW for d in ("f16", "f32")),
    *(Product("i8", a, b, "s32", m, n) for a, b in BYTES for m, n in ((128, 48), (128, 8), (64, 24))),
    *(Product(k, a, a, d, m, in_memory=True, lane=lane)
      for k, a, d in (("f16", "bf16", "f32"), ("tf32", "tf32", "f32"), ("i8", "s8", "s32"), *(("f8f6f4", t, "f32") for t in KINDS["f8f6f4"]))
      for m, lane in ((128, 0), (64, 0), (64, 16))),
    *(Product("f16", "f16", "f16", swizzle_a=a, swizzle_b=b, columns_a=x, columns_b=y, n=64)
      for a, b in zip(Swizzle, reversed(Swizzle), strict=True) for x in (False, True) for y in (False, True)),
    *(Product("i8", "s8", "u8", "s32", swizzle_a=s, swizzle_b=s, columns_a=x, columns_b=not x, n=128)
      for s in Swizzle for x in (False, True)),
    *(Product("f8f6f4", "e2m1", "e3m2", swizzle_a=s, swizzle_b=s) for s in Swizzle),
    Product("f16", "f16", "f16", signs=(-1, 1)),
    Product("tf32", "tf32", "tf32", signs=(1, -1)),
    Product("f8f6f4", "e5m2", "e2m1", signs=(-1, -1)),
    Product("f16", "f16", "f16", "f16", accumulates=False),
    Product("i8", "u8", "u8", "s32", accumulates=False),
    Product("f16", "bf16", "bf16", scale=3),
    Product("tf32", "tf32", "tf32", scale=15),
    Product("f16", "f16", "f16", m=64, lane=16),
    Product("f16", "f16", "f16", disabled=(0, 1, 31, 32, 77, 127)),
    Product("i8", "s8", "s8", "s32", m=64, disabled=(3, 64)),
    Product("f16", "f16", "f16", collector="collector::a::lastuse"),
]  # fmt: skip


@pytest.mark.sampled(48, each="p.*")
@pytest.mark.parametrize("p", PRODUCTS, ids=str)
def test_products(p):
    random = np.random.default_rng(sum(map(ord, str(p))))
    a, b = draw(random, (p.m, p.k), p.a), draw(random, (p.n, p.k), p.b)
    c = start(random, p)
    for policy in POLICY:
        np.testing.assert_array_equal(multiplied(p, a, b, c, **policy), expected(p, a, b, c))


# ---- factors of blocks ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Scaled(Product):
    """A product whose rows of A, and columns of B, have a factor for each of their blocks."""

    vector: str = ""
    blocks: int = 1
    factor: str = "ue8m0"
    ids: tuple[int, int] = (0, 0)

    @property
    def k(self):
        return 32 if self.kind == "mxf8f6f4" else 64

    @property
    def described(self):
        types = KINDS["f8f6f4"] if self.kind == "mxf8f6f4" else {"e2m1": 1}
        fields = [
            (self.ids[1], 4), (types[self.a], 7), (types[self.b], 10), (int(self.signs[0] < 0), 13),
            (int(self.signs[1] < 0), 14), (int(self.columns_a), 15), (int(self.columns_b), 16),
            (self.n >> 3, 17), (int(self.factor == "ue8m0"), 23), (self.m >> 7, 27), (self.ids[0], 29),
        ]  # fmt: skip
        return sum(value << at for value, at in fields)

    def stored(self, codes, dtype):
        if self.kind == "mxf8f6f4":
            return codes, dtype
        return codes[:, ::2] | codes[:, 1::2] << np.uint64(4), "u8"


def factors_of(p, random):
    """Words of Tensor Memory with factors, [column, lane], A's from column 0, B's from column 4.

    Row i of A has its own in lane i % 32 of column i / 32, in all quarters; so has column i of B.
    """
    held = random.integers(0, 256, (16, 128, 4), np.uint8)
    along = []
    for lines, first, byte in ((p.m, 0, p.ids[0]), (p.n, 4, p.ids[1])):
        codes, values = factors(random, (lines, p.blocks), p.factor)
        for line, block in np.ndindex(codes.shape):
            held[first + line // 32, line % 32 :: 32, byte + block] = codes[line, block]
        along.append(np.repeat(values, p.k // p.blocks, axis=1))
    return held.view(np.uint32)[..., 0], *along


FOUR = [
    ("mxf4", "", 2, "ue8m0"), ("mxf4", "scale_vec::2X", 2, "ue8m0"), ("mxf4", "block32", 2, "ue8m0"),
    ("mxf4nvf4", "scale_vec::2X", 2, "ue8m0"), ("mxf4nvf4", "block32", 2, "ue8m0"),
    ("mxf4nvf4", "scale_vec::4X", 4, "ue4m3"), ("mxf4nvf4", "block16", 4, "ue8m0"),
]  # fmt: skip
SCALED = [
    *(Scaled("mxf8f6f4", a, b, n=8 * (i + 1), vector=("", "scale_vec::1X", "block32")[i % 3], ids=(i % 4, i // 4 % 4))
      for i, (a, b) in enumerate(NARROW)),
    *(Scaled(kind, "e2m1", "e2m1", n=n, vector=vector, blocks=blocks, factor=factor, ids=((2, 0) if blocks == 2 else (0, 0)))
      for kind, vector, blocks, factor in FOUR for n in (40, 256)),
    *(Scaled("mxf8f6f4", "e4m3", "e5m2", swizzle_a=s, swizzle_b=s, columns_a=True, columns_b=True, n=128) for s in Swizzle),
    *(Scaled("mxf4", "e2m1", "e2m1", swizzle_a=s, swizzle_b=s, blocks=2) for s in Swizzle),
    *(Scaled("mxf8f6f4", t, t, in_memory=True, signs=(-1, 1)) for t in KINDS["f8f6f4"]),
    Scaled("mxf4nvf4", "e2m1", "e2m1", vector="block16", blocks=4, factor="ue4m3", in_memory=True, accumulates=False),
]  # fmt: skip


@pytest.mark.sampled(32)
@pytest.mark.parametrize("p", SCALED, ids=str)
def test_blocks_are_scaled(p):
    random = np.random.default_rng(sum(map(ord, str(p))))
    a, b = draw(random, (p.m, p.k), p.a), draw(random, (p.n, p.k), p.b)
    c = start(random, p)
    words, of_a, of_b = factors_of(p, random)
    for policy in POLICY:
        found = multiplied(p, a, b, c, words, **policy)
        np.testing.assert_array_equal(found, expected(p, a, b, c, of_a, of_b))


@pytest.mark.parametrize("saturates", [False, True])
def test_integers_wrap_or_saturate(saturates):
    p = Product("i8", "s8", "s8", "s32", saturates=saturates)
    a, b = np.zeros((p.m, p.k), np.uint64), np.zeros((p.n, p.k), np.uint64)
    a[17, 0], b[3, 0] = 127, 1
    c = np.full((p.n, 128), 2**31 - 1, np.uint32)
    found = multiplied(p, a, b, c)
    assert found[3, 17] == (2**31 - 1 if saturates else 2**31 + 126)
    np.testing.assert_array_equal(found, expected(p, a, b, c))


# ---- loads and stores ----------------------------------------------------------------------------

SHAPES = {
    "32x32b": (32, 1),
    "16x64b": (16, 1),
    "16x128b": (16, 2),
    "16x256b": (16, 4),
    "16x32bx2": (16, 1),
}
MOST = {"32x32b": 128, "16x64b": 128, "16x128b": 64, "16x256b": 32, "16x32bx2": 128}
SPLIT = 160


def cells(shape, count):
    """(lane, register) to (row, column), by the figures of each shape."""
    where = {}
    for lane in range(32):
        for register in range(SHAPES[shape][1] * count):
            quad, inside = divmod(lane, 4)
            where[lane, register] = {
                "32x32b": (lane, register),
                # rows i and i + 8 in turn, of a column, then of the next
                "16x64b": (quad + 8 * (inside & 1), 2 * register + (inside >> 1)),
                "16x128b": (quad + 8 * (register & 1), 4 * (register >> 1) + inside),
                "16x256b": (
                    quad + 8 * (register >> 1 & 1),
                    8 * (register >> 2) + 2 * inside + (register & 1),
                ),
                "16x32bx2": (lane % 16, register + (SPLIT if lane >= 16 else 0)),
            }[shape]
    return where


def moves(shape, count, halves, lane):
    registers = [f"%r{100 + i}" for i in range(SHAPES[shape][1] * count)]
    listed, split = f"{{{', '.join(registers)}}}", f", {SPLIT}" if shape == "16x32bx2" else ""
    pack, unpack = (".pack::16b", ".unpack::16b") if halves else ("", "")
    address = f"[%r33+{(lane << 16) + 7}]"
    spelling = f"sync.aligned.{shape}.x{count}"
    load = f"tcgen05.ld.{spelling}{pack}.b32 {listed}, {address}{split}"
    store = f"tcgen05.st.{spelling}{unpack}.b32 {address}{split}, {listed}"
    return registers, load, store


def places(shape, count, halves, lane):
    """(thread, register) to lanes and columns of Tensor Memory: one, or two of 16 bits each."""
    found = {}
    for (thread, register), (row, column) in cells(shape, count).items():
        part = SPLIT if shape == "16x32bx2" and thread >= 16 else 0
        inner = column - part
        columns = [2 * inner, 2 * inner + 1] if halves else [inner]
        found[thread, register] = [(lane + row, 7 + part + c) for c in columns]
    return found


CASES = [
    (shape, count, halves, lane)
    for shape, (rows, _) in SHAPES.items()
    for halves in (False, True)
    for count in (1, 2, 8, MOST[shape])
    for lane in ((0, 16) if rows == 16 else (0,))
    if count
    * {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8, "16x32bx2": 1}[shape]
    * (1 + halves)
    <= (SPLIT if shape == "16x32bx2" else 505)
]


@pytest.mark.sampled(36, each=("shape", "count", "halves"))
@pytest.mark.parametrize("policy", POLICY, ids=str)
@pytest.mark.parametrize(("shape", "count", "halves", "lane"), CASES)
def test_loads(shape, count, halves, lane, policy):
    registers, load, _ = moves(shape, count, halves, lane)
    random = np.random.default_rng(count)
    memory = random.integers(0, 1 << 32, (512, 128), np.uint32)
    found = output((len(registers), 128), np.uint32)
    stores = [f"st.global.u32 [%rd8+{512 * i}], {r}" for i, r in enumerate(registers)]
    text = f"""
{pointers("M", "D")}
{SETUP}
{READY}
{to_tensor("%rd1", 512, 0)}
{load}
tcgen05.wait::ld.sync.aligned
add.u64 %rd8, %rd2, %rd9
{NEW_LINE.join(stores)}
{FREE}
"""
    report = run(text, [device(memory)], [found], block=128, target="sm_100a", **policy)
    assert kinds(report) == [], report.message
    wanted = np.zeros_like(found)
    for (thread, register), at in places(shape, count, halves, lane).items():
        for warp in range(4):
            words = [int(memory[column, 32 * warp + row]) for row, column in at]
            value = (words[0] & 0xFFFF) | (words[1] & 0xFFFF) << 16 if halves else words[0]
            wanted[register, 32 * warp + thread] = value
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.sampled(48, each=("shape", "count", "halves"))
@pytest.mark.parametrize("policy", POLICY, ids=str)
@pytest.mark.parametrize(("shape", "count", "halves", "lane"), CASES)
def test_stores(shape, count, halves, lane, policy):
    registers, _, store = moves(shape, count, halves, lane)
    random = np.random.default_rng(count)
    memory = random.integers(0, 1 << 32, (512, 128), np.uint32)
    values = random.integers(0, 1 << 32, (len(registers), 128), np.uint32)
    found = output((512, 128), np.uint32)
    loads = [f"ld.global.u32 {r}, [%rd8+{512 * i}]" for i, r in enumerate(registers)]
    text = f"""
{pointers("M", "V", "D")}
{SETUP}
{READY}
{to_tensor("%rd1", 512, 0)}
add.u64 %rd8, %rd2, %rd9
{NEW_LINE.join(loads)}
{store}
tcgen05.wait::st.sync.aligned
{from_tensor("%rd3", 512)}
{FREE}
"""
    report = run(
        text, [device(memory), device(values)], [found], block=128, target="sm_100a", **policy
    )
    assert kinds(report) == [], report.message
    wanted = memory.copy()
    for (thread, register), at in places(shape, count, halves, lane).items():
        for warp in range(4):
            value = int(values[register, 32 * warp + thread])
            for i, (row, column) in enumerate(at):
                wanted[column, 32 * warp + row] = value >> (16 * i) & 0xFFFF if halves else value
    np.testing.assert_array_equal(found, wanted)


REDUCTIONS = [
    *(f"{op}.{dtype}" for op in ("min", "max") for dtype in ("u32", "s32")),
    *(f"{op}{absolute}{nan}.f32" for op in ("min", "max") for absolute in ("", ".abs") for nan in ("", ".NaN")),
]  # fmt: skip
SPECIAL = np.array([np.nan, -np.inf, np.inf, 0.0, -0.0], np.float32).view(np.uint32)


def reduced(words, operation):
    """Of the rows of [thread, value]; floats by the order of their bits, so that -0 is less than +0."""
    largest, dtype = operation.startswith("max"), operation.rpartition(".")[2]
    pick = np.max if largest else np.min
    if dtype != "f32":
        return pick(words.view(np.uint32 if dtype == "u32" else np.int32), axis=1).view(np.uint32)
    words = words & 0x7FFFFFFF if ".abs" in operation else words
    nan = np.isnan(words.view(np.float32))
    signed = words.view(np.int32).astype(np.int64)
    keys = np.where(signed < 0, -(2**31) - 1 - signed, signed)
    best = pick(np.where(nan, -(2**40) if largest else 2**40, keys), axis=1)
    bits = np.where(best < 0, -(2**31) - 1 - best, best).astype(np.int32).view(np.uint32)
    none = nan.any(axis=1) if ".NaN" in operation else nan.all(axis=1)
    return np.where(none, np.uint32(0x7FFFFFFF), bits)


@pytest.mark.sampled(36, each="operation")
@pytest.mark.parametrize("policy", POLICY, ids=str)
@pytest.mark.parametrize("operation", REDUCTIONS)
@pytest.mark.parametrize(("shape", "count"), [("32x32b", 2), ("32x32b", 64), ("16x32bx2", 8)])
def test_loads_that_reduce(shape, count, operation, policy):
    random = np.random.default_rng(count)
    memory = random.integers(0, 1 << 32, (512, 128), np.uint32)
    memory[7::3, ::5] = random.choice(SPECIAL, memory[7::3, ::5].shape)
    memory[:, 3] = SPECIAL[0]
    memory[:, 4] = np.resize(SPECIAL[3:], 512)
    found = output((count + 1, 128), np.uint32)
    kind = "f" if operation.endswith("f32") else "r"
    registers = [f"%{kind}{100 + i}" for i in range(count)]
    stores = [
        f"st.global.b32 [%rd8+{512 * i}], {r}" for i, r in enumerate([*registers, f"%{kind}99"])
    ]
    split = f", {SPLIT}" if shape == "16x32bx2" else ""
    text = f"""
{pointers("M", "D")}
{SETUP}
{READY}
{to_tensor("%rd1", 512, 0)}
tcgen05.ld.red.sync.aligned.{shape}.x{count}.{operation} {{{", ".join(registers)}}}, %{kind}99, [%r33+7]{split}
tcgen05.wait::ld.sync.aligned
add.u64 %rd8, %rd2, %rd9
{NEW_LINE.join(stores)}
{FREE}
"""
    report = run(text, [device(memory)], [found], block=128, target="sm_103a", **policy)
    assert kinds(report) == [], report.message
    wanted = np.zeros_like(found)
    for (thread, register), ((row, column),) in places(shape, count, False, 0).items():
        wanted[register, thread::32] = memory[column, row::32]
    wanted[count] = reduced(wanted[:count].T.copy(), operation)
    np.testing.assert_array_equal(found, wanted)


# ---- a whole product of the language -------------------------------------------------------------

M, N, K, STAGE = 256, 128, 192, 64


def fill(tile, source, pitch, tid):
    rows, columns = tile.shape
    for i in ptx.range_(reg.from_(tid, u32), rows * columns, 128):
        row, column = i // columns, i % columns
        value = ptx.inst.ld.global_.u16(ptx.addr(source + (row * pitch + column) * 2))
        ptx.inst.st.shared.u16(tile.address(row, column), value)


@kernel(
    in_specs=(Tile(M, K, u16), Tile(N, K, u16)), out_specs=(Tile(M, N, f32),),
    grid=(M // 128, N // 64, 1), block=128, arch="sm_100a",
)  # fmt: skip
def product_of_tiles(A, B, D):
    a, b, d = ptx.global_ptrs(A, B, D)
    tile_a, tile_b = smem.wgmma_tile(bf16, (128, STAGE)), smem.wgmma_tile(bf16, (64, STAGE))
    done, slot = smem.mbarrier(), smem.alloc(u32, 1)
    tid = reg.from_(ptx.special.tid.x(), u32)
    across, down = (reg.from_(getattr(ptx.special.ctaid, i)(), u32) for i in "xy")
    warp = tid >> 5
    with ptx.if_(warp == 0):
        memory = ptx.tcgen05.alloc(slot, 64)
        ptx.tcgen05.relinquish_alloc_permit()
    with ptx.if_(tid == 0):
        done.init(1)
    how = ptx.tcgen05.instruction_descriptor("f16", m=128, n=64, a=bf16, b=bf16)
    for stage in range(K // STAGE):
        fill(tile_a, a + across * (128 * K * 2) + stage * STAGE * 2, K, tid)
        fill(tile_b, b + down * (64 * K * 2) + stage * STAGE * 2, K, tid)
        ptx.fence.proxy_async("shared::cta")
        ptx.tcgen05.fence_before_thread_sync()
        ptx.bar.sync()
        ptx.tcgen05.fence_after_thread_sync()
        sums = memory.address()
        with ptx.if_(tid == 0):
            for k in range(0, STAGE, 16):
                x, y = ptx.tcgen05.descriptor(tile_a, k=k), ptx.tcgen05.descriptor(tile_b, k=k)
                ptx.tcgen05.mma(sums, x, y, how, enable_input_d=stage + k > 0)
            ptx.tcgen05.commit(done)
        done.wait(stage & 1)
    ptx.tcgen05.fence_after_thread_sync()
    lanes = ptx.tcgen05.at(sums, lane=warp << 5)
    row = d + (across * 128 + tid) * (4 * N) + down * 256
    for column in range(0, 64, 32):
        values = ptx.tcgen05.ld(None, ptx.tcgen05.at(lanes, column=column), count=32, dtype=f32)
        ptx.tcgen05.wait_ld()
        for i, value in enumerate(values):
            ptx.inst.st.global_.f32(ptx.addr(row, (column + i) * 4), value)
    ptx.bar.sync()
    with ptx.if_(warp == 0):
        ptx.tcgen05.dealloc(sums)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_product_of_tiles(policy):
    random = np.random.default_rng(1)
    a, b = (random.normal(size=(rows, K)).astype(ml_dtypes.bfloat16) for rows in (M, N))
    done = product_of_tiles.emulate(a.view(np.uint16), b.view(np.uint16), **policy)
    assert not done.report.findings
    exact = a.astype(float) @ b.astype(float).T
    size = np.abs(a.astype(float)) @ np.abs(b.astype(float)).T
    # each of the 12 products of K = 16 rounds once
    assert (np.abs(done.outputs[0] - exact) <= 12 * 2.0**-24 * size).all()


def test_the_product_of_tiles_assembles():
    assert product_of_tiles.cubin().spill_stores == 0


# ---- who waits -----------------------------------------------------------------------------------


def test_a_warp_waits_until_columns_are_free():
    """Warp 0 has 512 columns, warp 1 asks for 64 and gets them once they are freed."""
    text = f"""
{pointers("D")}
.shared other 4 4
{SETUP}
{READY}
setp.eq.u32 %p5, %r32, {1 << 21}
@%p5 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [other], 64
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r30, 512
bar.sync 0
ld.shared.u32 %r31, [other]
add.u64 %rd8, %rd1, %rd9
st.global.u32 [%rd8], %r31
bar.sync 0
@%p5 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r31, 64
"""
    found = output(128, np.uint32)
    for policy in POLICIES:
        report = run(text, [], [found], block=128, target="sm_100a", **policy)
        assert kinds(report) == [], report.message
        assert (found == 0).all()


def test_a_deadlock_says_how_many_columns_are_missing():
    text = f"""
.shared other 4 4
{SETUP}
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [other], 32
"""
    report = run(text, [], [], block=128, target="sm_100a")
    assert kinds(report) == ["deadlock"]
    assert "32 columns of Tensor Memory to be free beside each other" in report.message


@pytest.mark.parametrize("wrong", [
    (replace(Product("f16", "f16", "f16"), n=264), "N=264; there are multiples of 8 up to 256"),
    (replace(Product("i8", "s8", "s8", "s32"), m=64, n=40), "N=40; there are multiples of 8 up to 256, above 24 of 16"),
    (replace(Product("f16", "f16", "f16"), m=32), "M=32; a CTA has 64 and 128"),
    (replace(Product("tf32", "tf32", "tf32"), columns_a=True), "A transposed, which of tf32 the emulator does not run"),
    (replace(Product("f8f6f4", "e2m1", "e4m3"), columns_a=True), "A transposed, which elements of fewer than 8 bits are not"),
    (replace(Product("i8", "s8", "s8", "s32"), signs=(-1, 1)), "negation, which integers do not have"),
    (replace(Product("f16", "bf16", "bf16", "f16")), "a sum of bf16 in f16"),
    (Scaled("mxf8f6f4", "e4m3", "e4m3", factor="ue4m3"), "factors of ue4m3, which kind::mxf8f6f4 with so many does not have"),
    (Scaled("mxf4", "e2m1", "e2m1", ids=(1, 0)), "a scale factor ID that is no multiple of 2, the factors of a row"),
    (Scaled("mxf4", "e2m1", "e2m1", columns_b=True), "B transposed, which elements of fewer than 8 bits are not"),
    (Scaled("mxf4", "e2m1", "e2m1", m=256), "M=256; a CTA has 128"),
], ids=lambda w: w[1])  # fmt: skip
def test_instruction_descriptors_that_are_wrong(wrong):
    p, note = wrong
    text = f"""
{SETUP}
{READY}
mov.u64 %rd20, {1 << 46}
mov.u64 %rd21, {1 << 46}
mov.u32 %r31, {p.described}
add.u32 %r36, %r30, 0
setp.ne.u32 %p5, %r1, %r1
{spelled(p)}
{FREE}
"""
    (finding,) = run(text, [], [], block=128, target="sm_100a").findings
    assert (finding.kind, finding.note) == ("bad-matrix", f"its instruction descriptor has {note}")


def test_commits_arrive_at_several_ctas():
    """CTA 0 commits for both of a cluster; each waits at its own mbarrier."""
    text = """
.param u64 D
.shared done 8 8
ld.param.u64 %rd1, [D]
mov.u32 %r1, %tid.x
mov.u32 %r2, %cluster_ctarank
setp.eq.u32 %p2, %r1, 0
setp.eq.u32 %p3, %r2, 0
and.pred %p4, %p2, %p3
mov.u16 %h1, 3
@%p2 mbarrier.init.shared::cta.b64 [done], 1
fence.mbarrier_init.release.cluster
barrier.cluster.arrive.aligned
barrier.cluster.wait.aligned
@%p4 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [done], %h1
waiting:
mbarrier.try_wait.parity.shared::cta.b64 %p5, [done], 0
@!%p5 bra waiting
mad.lo.u32 %r3, %r2, 32, %r1
mul.wide.u32 %rd2, %r3, 4
add.u64 %rd2, %rd2, %rd1
st.global.u32 [%rd2], %r3
barrier.cluster.arrive.aligned
barrier.cluster.wait.aligned
"""
    found = output(64, np.uint32)
    for policy in POLICIES:
        report = run(text, [], [found], grid=2, cluster=(2, 1, 1), target="sm_100a", **policy)
        assert kinds(report) == [], report.message
        np.testing.assert_array_equal(found, np.arange(64))
