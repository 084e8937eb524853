"""Kernels that multiply many matrices, and their operands: how products are held to a model and to a GPU.

`Form.kernel` is one instruction per CTA. The same kernel runs in the emulator and on a GPU.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import pyptx
from pyptx import Tile
from pyptx.types import u32

from . import tensor_sums
from .test_mma import CODES, TYPES, accumulators, multiplicand, numbers

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4}
SM = {"sm_80": 80, "sm_89": 89, "sm_90a": 90, "sm_100a": 100, "sm_120a": 120}
KINDS = 8
"""Of operands, one after the other: see `draw`."""
NEW_LINE = "\n"


@dataclass(frozen=True)
class Form:
    """D[m, n] = A[m, k] B[k, n] + C by "mma" or "wgmma"."""

    unit: str
    m: int
    n: int
    k: int
    a: str
    b: str
    d: str
    arch: str = "sm_90a"

    def __str__(self) -> str:
        return f"{self.unit} m{self.m}n{self.n}k{self.k} {self.d}.{self.a}.{self.b} {self.arch}"

    @property
    def model(self) -> tensor_sums.Model:
        return tensor_sums.model(self.unit, SM[self.arch], self.a)

    @property
    def threads(self) -> int:
        return 128 if self.unit == "wgmma" else 32

    @property
    def sums(self) -> int:
        """Registers of C and of D."""
        return self.m * self.n // self.threads // (2 if self.d == "f16" else 1)

    def kernel(self, tiles: int) -> Any:
        a, b = (lines * self.k * BITS[self.a] // 32 for lines in (self.m, self.n))
        c = self.sums * self.threads
        text = wgmma(self, a, b) if self.unit == "wgmma" else mma(self, a, b)
        return pyptx.from_ptx(
            text,
            in_specs=(Tile(tiles, a, u32), Tile(tiles, b, u32), Tile(tiles, c, u32)),
            out_specs=(Tile(tiles, c, u32),),
            grid=(tiles, 1, 1),
            block=(self.threads, 1, 1),
        )

    def places(self, what: str) -> Any:
        """[line, along] -> (word, bit) of a multiplicand, or [row, column] of an accumulator."""
        return _places(self, what)

    def lay_out(self, what: str, matrices: Any) -> Any:
        """Matrices of bit patterns, [tile, line, along], as the words that the kernel takes."""
        word, bit = self.places(what)
        words = np.zeros((len(matrices), int(word.max()) + 1), np.uint32)
        for place in np.unique(bit):
            chosen = bit == place
            words[:, word[chosen]] |= (matrices[:, chosen] << np.uint64(place)).astype(np.uint32)
        return words

    def collect(self, words: Any) -> Any:
        word, bit = self.places("d")
        return np.asarray(words)[:, word] >> bit.astype(np.uint32) & (
            0xFFFF if self.d == "f16" else 0xFFFFFFFF
        )


@cache
def _places(form: Form, what: str) -> Any:
    if what == "d":
        rows, columns = np.indices((form.m, form.n))
        if form.unit == "mma":
            where = accumulators(form.m, form.d == "f16")
            lane, register, place = np.moveaxis(
                np.array([[where[i, j] for j in range(8)] for i in range(form.m)]), 2, 0
            )
            return 32 * register + lane, 16 * place
        thread = 32 * (rows // 16) + rows % 8 * 4 + columns % 8 // 2
        pair = columns // 8 * 2 + rows % 16 // 8
        if form.d == "f16":
            return 128 * pair + thread, 16 * (columns % 2)
        return 128 * (2 * pair + columns % 2) + thread, 0 * rows
    lines, bits = (form.m if what == "a" else form.n), BITS[form.a]
    if form.unit == "mma":
        where = multiplicand(lines, form.k, bits)
        found = [[where[i, j] for j in range(form.k)] for i in range(lines)]
        lane, register, place = np.moveaxis(np.array(found), 2, 0)
        return 32 * register + lane, bits * place
    line, along = np.indices((lines, form.k))
    byte = along * bits // 8
    at = line // 8 * 256 + byte // 16 * 128 + line % 8 * 16 + byte % 16
    return at // 4, at % 4 * 8


def registers(first: int, count: int) -> str:
    return "{" + ", ".join(f"%r{first + i}" for i in range(count)) + "}"


def mma(form: Form, a: int, b: int) -> str:
    counts = {"A": (100, a // 32), "B": (200, b // 32), "C": (300, form.sums)}
    body = []
    for i, (name, (first, count)) in enumerate(counts.items()):
        body += pointer(name, i + 1, 4 * 32 * count)
        body += [f"ld.global.u32 %r{first + r}, [%rd{i + 1}+{128 * r}];" for r in range(count)]
    operands = [registers(*counts[name]) for name in "ABC"]
    spelling = f"m{form.m}n{form.n}k{form.k}.row.col.{form.d}.{form.a}.{form.b}.{form.d}"
    body.append(f"mma.sync.aligned.{spelling} {operands[2]}, {', '.join(operands)};")
    return entry(form, body)


def wgmma(form: Form, a: int, b: int) -> str:
    body = ["mov.u32 %r2, mats;"]
    for i, (name, words, start) in enumerate((("A", a, 0), ("B", b, 4 * a))):
        body += pointer(name, i + 1, 4 * words)
        for first in range(0, words, 128):
            body += [f"ld.global.u32 %r3, [%rd{i + 1}+{4 * first}];", "shl.b32 %r4, %r1, 2;"] if first + 128 <= words else [
                f"setp.lt.u32 %p1, %r1, {words - first};",
                f"@%p1 ld.global.u32 %r3, [%rd{i + 1}+{4 * first}];", "shl.b32 %r4, %r1, 2;"]  # fmt: skip
            guard = "" if first + 128 <= words else "@%p1 "
            body += ["add.u32 %r4, %r4, %r2;", f"{guard}st.shared.u32 [%r4+{start + 4 * first}], %r3;"]  # fmt: skip
    body += pointer("C", 3, 512 * form.sums)
    body += [f"ld.global.u32 %r{300 + r}, [%rd3+{512 * r}];" for r in range(form.sums)]
    fields = (128 >> 4) << 16 | (256 >> 4) << 32
    body += ["fence.proxy.async.shared::cta;", "bar.sync 0;", "shr.u32 %r5, %r2, 4;", "cvt.u64.u32 %rd5, %r5;"]  # fmt: skip
    body += [f"add.u64 %rd6, %rd5, {fields};", f"add.u64 %rd7, %rd5, {fields + (4 * a >> 4)};"]
    tail = {"f16": ", 1, 1, 0, 0", "bf16": ", 1, 1, 0, 0", "s8": "", "u8": ""}.get(form.a, ", 1, 1")
    body += [
        "setp.eq.u32 %p2, %r2, %r2;",
        "wgmma.fence.sync.aligned;",
        f"wgmma.mma_async.sync.aligned.m{form.m}n{form.n}k{form.k}.{form.d}.{form.a}.{form.b} {registers(300, form.sums)}, %rd6, %rd7, %p2{tail};",
        "wgmma.commit_group.sync.aligned;",
        "wgmma.wait_group.sync.aligned 0;",
    ]
    return entry(form, body, f".shared .align 128 .b8 mats[{4 * (a + b)}];")


def pointer(name: str, number: int, stride: int) -> list[str]:
    """The tile's address in global memory, this thread's word of it."""
    return [
        f"ld.param.u64 %rd{number}, [{name}];",
        f"mul.wide.u32 %rd20, %r0, {stride};",
        f"add.u64 %rd{number}, %rd{number}, %rd20;",
        "mul.wide.u32 %rd20, %r1, 4;",
        f"add.u64 %rd{number}, %rd{number}, %rd20;",
    ]


def entry(form: Form, body: list[str], shared: str = "") -> str:
    stores = pointer("D", 4, 4 * form.threads * form.sums)
    stores += [
        f"st.global.u32 [%rd4+{4 * form.threads * r}], %r{300 + r};" for r in range(form.sums)
    ]
    lines = ["mov.u32 %r0, %ctaid.x;", "mov.u32 %r1, %tid.x;", *body, *stores, "ret;"]
    return f"""
.version 8.8
.target {form.arch}
.address_size 64
.visible .entry products(.param .u64 A, .param .u64 B, .param .u64 C, .param .u64 D) {{
{shared}
.reg .b32 %r<500>; .reg .b64 %rd<30>; .reg .pred %p<4>;
{NEW_LINE.join(lines)}
}}
"""


@np.errstate(all="ignore")
def draw(form: Form, tiles: int, seed: int) -> tuple[Any, Any, Any]:
    """Bit patterns of A[tile, row, k], B[tile, column, k] and C[tile, row, column].

    Tiles take turns: values about 1; any finite bits; sums that cancel; subnormals; one large product;
    a large C; an exponent that falls along k; zeros, infinities and NaNs among values about 1.
    """
    random = np.random.default_rng(seed)
    a = _bits(random, (tiles, form.m, form.k), form.a)
    b = _bits(random, (tiles, form.n, form.k), form.b)
    c = _bits(random, (tiles, form.m, form.n), form.d)
    if form.d == "s32":
        return a, b, c
    for kind, (x, dtype) in enumerate(((a, form.a), (b, form.b), (c, form.d))):
        some, narrow = x[1::KINDS], CODES.get(dtype, 0) or BITS.get(dtype, 32)
        some[...] = _finite(random.integers(0, 1 << narrow, some.shape, np.uint64), dtype)
        if kind < 2:
            x[3::KINDS] = _finite(x[3::KINDS] & _subnormal(dtype), dtype)
    half = form.k // 2
    sign = 1 << (BITS[form.a] - 1)
    a[2::KINDS, :, half:] = a[2::KINDS, :, :half] ^ sign
    b[2::KINDS, :, half:] = b[2::KINDS, :, :half]
    b[2::KINDS, :, 0] ^= 1 << (13 if form.b == "tf32" else 0)
    c[2::KINDS] &= _sign(form.d) | _subnormal(form.d)
    spike = np.arange(len(a[4::KINDS])) % form.k
    a[4::KINDS, :, :][np.arange(len(spike)), :, spike] = _from(256.0, form.a)
    b[4::KINDS, :, :][np.arange(len(spike)), :, spike] = _from(192.0, form.b)
    c[5::KINDS] = _from(
        random.normal(size=c[5::KINDS].shape) * 2.0 ** random.integers(0, 14), form.d
    )
    fall = 2.0 ** -(np.arange(form.k) % 14)
    a[6::KINDS] = _from(random.normal(size=a[6::KINDS].shape) * fall, form.a)
    for x, dtype in ((a, form.a), (b, form.b), (c, form.d)):
        odd = random.random(x[7::KINDS].shape)
        choice = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan], odd.shape)
        x[7::KINDS] = np.where(odd < 0.01, _from(choice, dtype), x[7::KINDS])
    return a, b, c


def _from(values: Any, dtype: str) -> Any:
    kind = np.dtype(np.float32 if dtype == "f32" else TYPES[dtype])
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(kind).view(f"u{kind.itemsize}").astype(np.uint64)


def _bits(random: Any, shape: Any, dtype: str) -> Any:
    if dtype == "s32":
        return random.integers(0, 1 << 32, shape, np.uint64)
    if dtype[0] in "su":
        return random.integers(0, 1 << BITS[dtype], shape, np.uint64)
    return _from(random.normal(size=shape), dtype)


def _sign(dtype: str) -> int:
    return 1 << (31 if dtype == "f32" else BITS[dtype] - 1)


def _subnormal(dtype: str) -> int:
    """The bits of subnormal numbers, and of a few just above them."""
    mantissa = {"f16": 10, "bf16": 7, "tf32": 23, "f32": 23, "e4m3": 3, "e5m2": 2}[dtype]
    return (1 << mantissa + 1) - 1 | _sign(dtype)


def _finite(bits: Any, dtype: str) -> Any:
    values = bits.astype(np.uint32).view(np.float32) if dtype == "f32" else numbers(bits, dtype)
    return np.where(np.isfinite(values), bits, bits & np.uint64(_subnormal(dtype)))


def values(form: Form, what: str, bits: Any) -> Any:
    """Bit patterns as float64."""
    dtype = {"a": form.a, "b": form.b, "d": form.d}[what]
    if dtype == "f32":
        return bits.astype(np.uint32).view(np.float32).astype(float)
    with np.errstate(all="ignore"):
        return numbers(bits, dtype)


def expected(
    form: Form, operands: tuple[Any, Any, Any], how: tensor_sums.Model | None = None
) -> Any:
    """D by the model, tile by tile."""
    a, b, c = (values(form, w, x) for w, x in zip("abd", operands, strict=True))
    types = form.a, form.b, form.d
    found = [
        tensor_sums.add(how or form.model, types, x, y.T, z)
        for x, y, z in zip(a, b, c, strict=True)
    ]
    return np.array(found)


def launch(form: Form, operands: tuple[Any, Any, Any], place: Any = np.asarray) -> Any:
    """D of the emulator, or, with arrays that `place` puts on a GPU, of that."""
    kernel = form.kernel(len(operands[0]))
    words = [form.lay_out(w, x) for w, x in zip("abd", operands, strict=True)]
    return form.collect(kernel(*map(place, words)))
