"""wmma in the emulator: what is loaded is stored again, products, and what is found.

Which elements a lane holds is not specified, so tests see fragments only through memory.
"""

# ruff: noqa: E501  # a line of PTX is a line

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from . import tensor_sums
from .harness import device, kinds, output, run

_path = Path(__file__).parents[1] / "trace/idioms.py"
_spec = importlib.util.spec_from_file_location("trace_idioms", _path)
idioms = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(idioms)

SHAPES = {
    "m16n16k16": (16, 16, 16), "m8n32k16": (8, 32, 16), "m32n8k16": (32, 8, 16),
    "m16n16k8": (16, 16, 8), "m8n8k4": (8, 8, 4), "m8n8k32": (8, 8, 32), "m8n8k128": (8, 8, 128),
}  # fmt: skip
BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64, "s8": 8, "u8": 8,
    "s4": 4, "u4": 4, "b1": 1,
}  # fmt: skip
BYTES = 16384


def packed(numbers, dtype):
    """Rows of numbers as rows of bytes."""
    if dtype == "f64":
        return np.ascontiguousarray(numbers, np.float64).view(np.uint8)
    if BITS[dtype] >= 8:
        return np.ascontiguousarray(idioms.bits(numbers, dtype)).view(np.uint8)
    per = 8 // BITS[dtype]
    parts = (np.asarray(numbers) & (1 << BITS[dtype]) - 1).reshape(len(numbers), -1, per)
    return sum(parts[..., i] << (i * BITS[dtype]) for i in range(per)).astype(np.uint8)


def unpacked(memory, dtype):
    if dtype == "f64":
        return np.ascontiguousarray(memory).view(np.float64)
    return idioms.values(np.ascontiguousarray(memory).view(f"u{BITS[dtype] // 8}"), dtype)


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory: its type, whether its columns are next to each other, and its stride."""

    rows: int
    columns: int
    dtype: str
    layout: str = "row"
    stride: int | None = None

    @property
    def shape(self):
        return (self.rows, self.columns) if self.layout == "row" else (self.columns, self.rows)

    @property
    def pitch(self) -> int:
        """Bytes from one line to the next."""
        return (self.stride or self.shape[1]) * BITS[self.dtype] // 8

    def lay_out(self, numbers):
        memory = np.full(BYTES, 0xA5, np.uint8)
        lines = packed(numbers if self.layout == "row" else np.asarray(numbers).T, self.dtype)
        for i, line in enumerate(lines):
            memory[i * self.pitch : i * self.pitch + len(line)] = line
        return memory

    def read(self, memory):
        wide = self.shape[1] * BITS[self.dtype] // 8
        lines = [memory[i * self.pitch : i * self.pitch + wide] for i in range(self.shape[0])]
        found = np.stack([unpacked(line, self.dtype) for line in lines])
        return found if self.layout == "row" else found.T

    def operand(self, pointer, space):
        stride = "" if self.stride is None else f", {self.stride}"
        return f"[{pointer}]{stride}", f".{self.layout}.{{shape}}{space}.{self.dtype}"


def registers(role, shape, dtype):
    """How many registers a fragment has: the manual's table, by counting."""
    if dtype == "f16" and role in "ab":
        return 8
    m, n, k = SHAPES[shape]
    count = {"a": m * k, "b": k * n, "c": m * n, "d": m * n}[role]
    width = 64 if dtype == "f64" else 32
    return max(1, count * BITS[dtype] // width // 32)


def held(first, count, dtype):
    prefix = "fd" if dtype == "f64" else "r"
    return "{" + ", ".join(f"%{prefix}{first + i}" for i in range(count)) + "}"


HEAD = """
.param u64 A
.param u64 B
.param u64 C
.param u64 D
.shared tile 16384 32
ld.param.u64 %rd1, [A]
ld.param.u64 %rd2, [B]
ld.param.u64 %rd3, [C]
ld.param.u64 %rd4, [D]
"""


def product(shape, spelling, a, b, c, d, space=".global"):
    """Loads, one wmma.mma, and the store; `a` to `d` are Matrix."""
    lines = []
    groups = {}
    for at, (role, matrix) in enumerate(zip("abcd", (a, b, c, d), strict=True)):
        groups[role] = held(100 * (at + 1), registers(role, shape, matrix.dtype), matrix.dtype)
        place, how = matrix.operand(f"%rd{at + 1}", space)
        how = how.replace("{shape}", shape)
        if role != "d":
            lines.append(f"wmma.load.{role}.sync.aligned{how} {groups[role]}, {place}")
        else:
            base, *stride = place.split(", ")
            store = f"wmma.store.d.sync.aligned{how} {', '.join([base, groups['d'], *stride])}"
    lines.append(f"wmma.mma.{spelling} {groups['d']}, {groups['a']}, {groups['b']}, {groups['c']}")
    return HEAD + "\n".join([*lines, store])


@dataclass(frozen=True)
class Case:
    shape: str
    a: str
    b: str
    c: str
    d: str
    layouts: tuple[str, str, str, str] = ("row", "col", "row", "row")
    padded: bool = False
    space: str = ".global"
    ending: str = ""
    numbers: str = "whole"

    def matrices(self):
        m, n, k = SHAPES[self.shape]
        sizes = ((m, k), (k, n), (m, n), (m, n))
        for (rows, columns), dtype, layout in zip(
            sizes, (self.a, self.b, self.c, self.d), self.layouts, strict=True
        ):
            extent = columns if layout == "row" else rows
            stride = extent + 256 // BITS[dtype] if self.padded else None
            yield Matrix(rows, columns, dtype, layout, stride)

    @property
    def spelling(self):
        types = f"{self.d}.{self.a}.{self.b}.{self.c}"
        if self.a == "f16":
            types = f"{self.d}.{self.c}"
        return f"sync.aligned.{self.layouts[0]}.{self.layouts[1]}.{self.shape}.{types}{self.ending}"

    def inputs(self):
        generator = np.random.default_rng(7)
        for matrix in list(self.matrices())[:3]:
            size = (matrix.rows, matrix.columns)
            if self.numbers == "whole" or matrix.dtype in ("s32", "s8", "u8", "s4", "u4"):
                least, most = {
                    "u8": (0, 256),
                    "s8": (-128, 128),
                    "u4": (0, 16),
                    "s4": (-8, 8),
                    "s32": (-1000, 1000),
                }.get(matrix.dtype, (-3, 4))
                yield generator.integers(least, most, size)
            else:
                values = generator.normal(size=size)
                yield (
                    values
                    if matrix.dtype == "f64"
                    else idioms.values(idioms.bits(values, matrix.dtype), matrix.dtype)
                )

    def run(self, a, b, c, **options):
        left, right, addend, result = self.matrices()
        memory = [device(m.lay_out(values)) for m, values in ((left, a), (right, b), (addend, c))]
        found = output(BYTES, np.uint8)
        text = product(self.shape, self.spelling, left, right, addend, result, self.space)
        report = run(text, memory, [found], block=32, **options)
        assert kinds(report) == [], report.message
        return result.read(np.array(found))


ALL = ("m16n16k16", "m8n32k16", "m32n8k16")
LAYOUTS = [
    (a, b, c, d)
    for a in ("row", "col")
    for b in ("row", "col")
    for c, d in (("row", "col"), ("col", "row"))
]
CASES = [
    *(Case(shape, "f16", "f16", c, d) for shape in ALL for c in ("f16", "f32") for d in ("f16", "f32")),
    *(Case(shape, "bf16", "bf16", "f32", "f32", padded=True) for shape in ALL),
    *(Case(shape, t, t, "s32", "s32") for shape in ALL for t in ("s8", "u8")),
    *(Case("m16n16k16", "f16", "f16", "f32", "f32", layouts, padded=True) for layouts in LAYOUTS),
    *(Case("m8n32k16", "s8", "s8", "s32", "s32", layouts) for layouts in LAYOUTS),
    *(Case("m16n16k8", "tf32", "tf32", "f32", "f32", layouts) for layouts in LAYOUTS[:4]),
    *(Case("m8n8k4", "f64", "f64", "f64", "f64", layouts) for layouts in LAYOUTS[4:]),
    *(Case("m8n8k32", t, t, "s32", "s32", padded=padded) for t in ("s4", "u4") for padded in (False, True)),
    Case("m16n16k16", "f16", "f16", "f32", "f32", space=""),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_products_of_whole_numbers(case):
    a, b, c = case.inputs()
    for options in ({}, {"sanitize": True}):
        np.testing.assert_array_equal(case.run(a, b, c, **options), a @ b + c)


@pytest.mark.parametrize("case", [Case("m16n16k16", "f16", "f16", "f32", "f32", numbers="any"), Case("m32n8k16", "bf16", "bf16", "f32", "f32", numbers="any"), Case("m16n16k16", "f16", "f16", "f16", "f16", numbers="any")], ids=str)  # fmt: skip
def test_sums_are_those_of_mma(case):
    a, b, c = case.inputs()
    how = tensor_sums.model("mma", 90, case.a)
    bits = tensor_sums.add(how, (case.a, case.b, case.d), a, b, c.astype(float))
    kind, unsigned = (np.float16, np.uint16) if case.d == "f16" else (np.float32, np.uint32)
    np.testing.assert_array_equal(case.run(a, b, c), bits.astype(unsigned).view(kind).astype(float))


def test_doubles_are_added_by_fma():
    case = Case("m8n8k4", "f64", "f64", "f64", "f64", numbers="any")
    a, b, c = case.inputs()
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble) + c
    found = case.run(a, b, c)
    assert (np.abs(found - exact) <= 8 * 2.0**-53 * (np.abs(a) @ np.abs(b) + np.abs(c))).all()


@pytest.mark.parametrize(
    ("rounding", "expected"), [("rn", 1.0), ("rz", 1.0), ("rm", 1.0), ("rp", 1.0 + 2.0**-52)]
)
def test_doubles_are_rounded_as_the_instruction_says(rounding, expected):
    a, b = np.zeros((8, 4)), np.zeros((4, 8))
    a[:, 0], b[0] = 2.0**-40, 2.0**-40
    plain = Case("m8n8k4", "f64", "f64", "f64", "f64")
    left, right, addend, result = plain.matrices()
    memory = [device(m.lay_out(v)) for m, v in ((left, a), (right, b), (addend, np.ones((8, 8))))]
    found = output(BYTES, np.uint8)
    spelling = f"sync.aligned.row.col.m8n8k4.{rounding}.f64.f64.f64.f64"
    report = run(
        product("m8n8k4", spelling, left, right, addend, result), memory, [found], block=32
    )
    assert kinds(report) == []
    assert (result.read(np.array(found)) == expected).all()


@pytest.mark.parametrize(("ending", "expected"), [("", -(2**31) + 126), (".satfinite", 2**31 - 1)])
def test_integers_wrap_or_saturate(ending, expected):
    case = Case("m16n16k16", "s8", "s8", "s32", "s32", ending=ending)
    a, b = np.zeros((16, 16), int), np.zeros((16, 16), int)
    a[0, 0], b[0, 0] = 127, 1
    found = case.run(a, b, np.full((16, 16), 2**31 - 1))
    assert found[0, 0] == expected
    assert found[1, 1] == 2**31 - 1


@pytest.mark.parametrize(
    ("operation", "combine"), [("xor", np.bitwise_xor), ("and", np.bitwise_and)]
)
def test_single_bits_are_counted(operation, combine):
    generator = np.random.default_rng(4)
    a, b = generator.integers(0, 2, (8, 128)), generator.integers(0, 2, (128, 8))
    c = np.arange(64).reshape(8, 8)
    left, right = Matrix(8, 128, "b1"), Matrix(128, 8, "b1", "col")
    addend, result = Matrix(8, 8, "s32"), Matrix(8, 8, "s32", "col")
    memory = [device(m.lay_out(v)) for m, v in ((left, a), (right, b), (addend, c))]
    found = output(BYTES, np.uint8)
    spelling = f"{operation}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"
    report = run(
        product("m8n8k128", spelling, left, right, addend, result),
        memory,
        [found],
        block=32,
        sanitize=True,
    )
    assert kinds(report) == []
    expected = combine(a[:, None, :], b.T[None]).sum(2) + c
    np.testing.assert_array_equal(result.read(np.array(found)), expected)


def test_f16_accumulators_have_the_places_of_f32_ones():
    """Two neighbours of f32 become one register of f16x2: as kernels convert fragments."""
    body = ["wmma.load.c.sync.aligned.row.m16n16k16.global.f32 " + held(100, 8, "f32") + ", [%rd1]"]
    body += [f"cvt.rn.f16x2.f32 %r{200 + i}, %r{101 + 2 * i}, %r{100 + 2 * i}" for i in range(4)]
    body.append("wmma.store.d.sync.aligned.col.m16n16k16.global.f16 [%rd4], " + held(200, 4, "f16"))
    values = np.arange(256).reshape(16, 16)
    source, target = Matrix(16, 16, "f32"), Matrix(16, 16, "f16", "col")
    found = output(BYTES, np.uint8)
    memory = device(source.lay_out(values))
    report = run(HEAD + "\n".join(body), [memory, memory, memory], [found], block=32, sanitize=True)
    assert kinds(report) == []
    np.testing.assert_array_equal(target.read(np.array(found)), values)


# ---- findings ------------------------------------------------------------------------------------

LOAD = (
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%r100, %r101, %r102, %r103}, [%r20], %r21"
)
FILLED = """
mov.u32 %r1, %tid.x
mov.u32 %r3, %laneid
mov.u32 %r20, tile
mov.u32 %r21, 16
xor.b32 %r4, %r1, 31
shl.b32 %r4, %r4, 4
add.u32 %r4, %r4, %r20
mov.u32 %r5, 0
st.shared.v4.u32 [%r4], {%r5, %r5, %r5, %r5}
"""
BUGS = {
    "a stride that differs between lanes": (
        "bad-matrix", FILLED + "bar.sync 0\nBUG\n" + LOAD, "add.u32 %r21, %r21, %r3", "add.u32 %r21, %r21, 0",
    ),
    "an address that differs between lanes": (
        "bad-matrix", FILLED + "bar.sync 0\nBUG\n" + LOAD, "mov.u32 %r20, %r4", "mov.u32 %r20, tile",
    ),
    "a part of the warp": (
        "divergent-barrier", FILLED + "bar.sync 0\nBUG\n@!%p1 bra done\n" + LOAD + "\ndone:",
        "setp.lt.u32 %p1, %r3, 16", "setp.lt.u32 %p1, %r3, 32",
    ),
    "rows past the end of shared memory": (
        "out-of-bounds", FILLED + "bar.sync 0\nBUG\n" + LOAD, "add.u32 %r20, %r20, 256", "add.u32 %r20, %r20, 0",
    ),
    "lanes that no barrier orders": (
        "shared-race", FILLED + "BUG\n" + LOAD, "nanosleep.u32 1", "bar.sync 0",
    ),
    "a matrix that was never stored": (
        "uninitialised-memory", FILLED + "bar.sync 0\nBUG\n" + LOAD.replace("%r20", "%r22"),
        "mov.u32 %r22, more", "mov.u32 %r22, tile",
    ),
    "an address between elements": (
        "misaligned", FILLED + "bar.sync 0\nBUG\n" + LOAD, "add.u32 %r20, %r20, 1", "add.u32 %r20, %r20, 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BUGS)
def test_what_is_found(name):
    kind, body, bug, clean = BUGS[name]
    for line, wanted in ((bug, [kind]), (clean, [])):
        text = ".shared more 512 32\n.shared tile 512 32\n" + body.replace("BUG", line)
        found = run(text, block=32, sanitize=True)
        assert sorted(set(kinds(found))) == wanted, found.message
