"""Multiplications of a warpgroup in the emulator: values, descriptors, groups, a whole product.

The kernels of `idioms` are those that run on GPUs in tests/gpu/test_idioms.py. What wgmma has beyond
them is run here with matrices that NumPy lays out, by the canonical layouts of the manual.
"""

# ruff: noqa: E501  # a line of PTX is a line

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx._layouts import Swizzle, fragments
from pyptx.types import bf16, f32, s8, s32, u32

from . import tensor_sums
from .harness import device, kinds, output, run

_path = Path(__file__).parents[1] / "trace/idioms.py"
_spec = importlib.util.spec_from_file_location("trace_idioms", _path)
idioms = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(idioms)

POLICIES = [
    {},
    {"sanitize": True},
    {"sanitize": True, "completion": "eager"},
    {"sanitize": True, "completion": "reversed"},
    {"sanitize": True, "completion": "random", "seed": 1},
    {"sanitize": True, "seed": 2},
]

# ---- kernels of the language ---------------------------------------------------------------------


@pytest.mark.sampled(24, each="product.*")
@pytest.mark.parametrize("product", idioms.products(), ids=lambda p: p.name)
def test_products_of_whole_numbers(product):
    a, b = product.inputs()
    kernel, wanted = product.kernel(), product.expected(a, b)
    for policy in POLICIES:
        done = kernel.emulate(a, b, **policy)
        assert not done.report.findings, policy
        np.testing.assert_array_equal(product.outcome(done.outputs[0]), wanted)


def test_a_in_registers():
    a = idioms.bits(idioms.whole(5, (64, 16), "bf16"), "bf16")
    b = idioms.bits(idioms.whole(6, (64, 16), "bf16"), "bf16")
    wanted = idioms.values(a, "bf16") @ idioms.values(b, "bf16").T
    for policy in POLICIES:
        done = idioms.registers_times_shared().emulate(a, b, **policy)
        assert not done.report.findings
        np.testing.assert_array_equal(idioms.values(done.outputs[0], "f32"), wanted)


def unset_sums(scale_d, *, depth=32, columns=8, kind=bf16, sums_in=f32, at_run_time=False):
    """A product whose accumulators nothing sets before the first instruction.

    `scale_d(k, s)` says of each whether D is added, k values from the first on; s is a u32 that the
    kernel loads. `at_run_time`: the first values are multiplied twice, in a loop, and k is a
    register.
    """
    step = 32 // kind.bytes

    @kernel(
        in_specs=(Tile(64, depth, kind), Tile(columns, depth, kind), Tile(1, u32)),
        out_specs=(Tile(64, columns, sums_in),),
        block=128,
        arch="sm_90a",
    )
    def product_of_unset_sums(A, B, S, D):
        thread = reg.from_(ptx.special.tid.x(), u32)
        tiles = [smem.wgmma_tile(kind, (rows, depth)) for rows in (64, columns)]
        for tile, x in zip(tiles, (A, B), strict=True):
            for i in ptx.range_(thread, x.shape[0] * depth, 128, dtype=u32):
                tile[i // depth, i % depth] = x[i // depth, i % depth]
        ptx.fence.proxy_async("shared::cta")
        ptx.bar.sync()
        s, sums = S[0], reg.wgmma_frag(n=columns, dtype=sums_in)

        def multiply(first, k):
            a, b = (ptx.wgmma.descriptor(tile, k=first) for tile in tiles)
            ptx.wgmma.mma_async(
                shape=(64, columns, step), dtype_d=sums_in, dtype_a=kind, dtype_b=kind, d=sums,
                a=a, b=b, scale_d=scale_d(k, s),
            )  # fmt: skip

        ptx.wgmma.fence()
        if at_run_time:
            for k in ptx.range_(0, 2, dtype=u32):
                multiply(0, k)
        else:
            for k in range(0, depth, step):
                multiply(k, k)
        ptx.wgmma.commit_group()
        ptx.wgmma.wait_group(0)
        row, column = sums.origin(thread)
        for i, register in enumerate(sums):
            down, right = sums.step(i)
            D[row + down, column + right] = register

    generator = np.random.default_rng(0)
    a, b = (generator.integers(-4, 5, (n, depth)).astype(np.float32) for n in (64, columns))
    store = ml_dtypes.bfloat16 if kind is bf16 else np.int8
    return product_of_unset_sums, a.astype(store), b.astype(store)


def exact_product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64).T


@pytest.mark.parametrize(
    ("depth", "columns", "kind", "sums_in"), [(32, 8, bf16, f32), (96, 24, s8, s32), (16, 40, bf16, f32)]
)  # fmt: skip
def test_a_product_that_adds_nothing_first_needs_no_zeros(depth, columns, kind, sums_in):
    sizes = {"depth": depth, "columns": columns, "kind": kind, "sums_in": sums_in}
    adds, a, b = unset_sums(lambda k, _: k > 0, **sizes)
    done = adds.emulate(a, b, np.array([0], np.uint32), sanitize=True)
    assert not done.report.findings
    np.testing.assert_array_equal(done.outputs[0], exact_product(a, b))
    alone, a, b = unset_sums(lambda *_: False, **sizes)
    done = alone.emulate(a, b, np.array([0], np.uint32), sanitize=True)
    assert not done.report.findings
    last = slice(depth - 32 // kind.bytes, depth)
    np.testing.assert_array_equal(done.outputs[0], exact_product(a[:, last], b[:, last]))


@pytest.mark.parametrize(
    ("scale_d", "s", "times"),
    [
        (lambda k, _: k > 0, 0, 2),
        (lambda _, s: s > 0, 0, 1),
        (lambda _, s: s > 0, 1, None),
        (lambda k, _: k == 0, 0, None),
    ],
    ids=["not the first", "never", "always", "the first"],
)
def test_what_a_loop_adds_is_known_when_it_runs(scale_d, s, times):
    """`times`: how often the product is in the sums, None where they begin with what is unset."""
    product, a, b = unset_sums(scale_d, depth=16, at_run_time=True)
    done = product.emulate(a, b, np.array([s], np.uint32), sanitize=True)
    if times is None:
        assert {found.kind for found in done.report.findings} == {"uninitialised-register"}
        return
    assert not done.report.findings
    np.testing.assert_array_equal(done.outputs[0], times * exact_product(a, b))


def tiled_inputs():
    return tuple(
        idioms.bits(idioms.whole(seed, (rows, 320), "bf16"), "bf16")
        for seed, rows in ((1, 256), (2, 128))
    )


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_product_of_tiles_with_copies_a_ring_and_two_warpgroups(policy):
    a, b = tiled_inputs()
    done = idioms.tiled_product().emulate(a, b, **policy)
    assert not done.report.findings
    wanted = idioms.values(a, "bf16") @ idioms.values(b, "bf16").T
    np.testing.assert_array_equal(done.outputs[0], wanted)


@pytest.mark.parametrize("policy", POLICIES[1:], ids=str)
def test_a_stage_that_is_released_before_it_has_been_multiplied(policy):
    report = idioms.tiled_product("released early").emulate(*tiled_inputs(), **policy).report
    assert {f.kind for f in report.findings} == {"shared-race"}
    lines = {f.site.location.text.strip().split(",")[0] for f in report.findings}
    assert lines == {"load(dst=stages[0][state.stage]", "load(dst=stages[1][state.stage]"}


def product_of_copied_tiles(hasty, loads):
    """Warp `hasty` does not wait for B; `loads`: the others read it by themselves first."""
    layout = Layout.TMA_128B

    @kernel(
        in_specs=(
            Tile(64, 64, bf16, layout=layout, tma_box=(64, 64)),
            Tile(128, 64, bf16, layout=layout, tma_box=(128, 64)),
        ),
        out_specs=(Tile(64, 128, f32),),
        block=128,
        arch="sm_90a",
    )
    def copied_tiles(A, B, D):
        tile_a, tile_b = smem.wgmma_tile(bf16, (64, 64)), smem.wgmma_tile(bf16, (128, 64))
        a, b = A.tma_desc(), B.tma_desc()
        of_a, of_b = smem.mbarrier(), smem.mbarrier()
        thread = reg.from_(ptx.special.tid.x(), u32)
        of_a.init(1, pred=thread == 0)
        of_b.init(1, pred=thread == 0)
        ptx.bar.sync()
        with ptx.if_(thread == 0):
            for arrived, tile, each in ((of_a, tile_a, a), (of_b, tile_b, b)):
                arrived.arrive_expect_tx(each.bytes)
                ptx.cp.async_.bulk.tensor_2d(dst=tile, src=each, coord=[0, 0], mbar=arrived)
        of_a.wait(0)
        with ptx.if_(thread >> 5 != hasty):
            of_b.wait(0)
            if loads:
                word = reg.scalar(u32)
                ptx.inst.ld.shared.u32(word, ptx.addr(tile_b))
        sums = reg.wgmma_frag(n=128, dtype=f32)
        for register in sums:
            register.set(0.0)
        ptx.wgmma.fence()
        for k in range(0, 64, 16):
            ptx.wgmma.mma_async(
                shape=(64, 128, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=sums,
                a=ptx.wgmma.descriptor(tile_a, k=k), b=ptx.wgmma.descriptor(tile_b, k=k),
                scale_d=True,
            )  # fmt: skip
        ptx.wgmma.commit_group()
        ptx.wgmma.wait_group(0)
        row, column = sums.origin(thread)
        for i in range(0, len(sums), 2):
            down, right = sums.step(i)
            D.store(row + down, column + right, [sums[i], sums[i + 1]])

    return copied_tiles


@pytest.mark.sampled(24, each=("hasty", "loads", "completion"))
@pytest.mark.parametrize("loads", [False, True])
@pytest.mark.parametrize("hasty", [None, 0, 1, 2])
@pytest.mark.parametrize("completion", ["eager", "reversed"])
def test_each_warp_has_to_have_waited_for_what_all_of_them_read(hasty, loads, completion):
    a, b = (idioms.whole(seed, (n, 64), "bf16") for seed, n in ((1, 64), (2, 128)))
    done = product_of_copied_tiles(4 if hasty is None else hasty, loads).emulate(
        *(each.astype(ml_dtypes.bfloat16) for each in (a, b)), sanitize=True, completion=completion
    )
    found = done.report.findings
    if hasty is None:
        assert not found
        np.testing.assert_array_equal(done.outputs[0], a @ b.T)
        return
    assert {f.kind for f in found} == {"shared-race"}
    assert {f.site.thread[0] // 32 for f in found} == {hasty}
    assert all("mma_async" in f.site.location.text for f in found)


# ---- matrices that NumPy lays out ----------------------------------------------------------------

BITS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "e4m3": 8,
    "e5m2": 8,
    "s8": 8,
    "u8": 8,
    "b1": 1,
    "u32": 32,
}
MODES = {Swizzle.NONE: 0, Swizzle.B128: 1, Swizzle.B64: 2, Swizzle.B32: 3}


@dataclass(frozen=True)
class Matrix:
    """`mn` by `k` values in shared memory, from byte `start` on, which begins a swizzle's pattern."""

    mn: int
    k: int
    dtype: str
    start: int
    swizzle: Swizzle = Swizzle.NONE
    columns: bool = False
    leading: int = 0
    stride: int = 0

    @property
    def descriptor(self) -> int:
        """Without the address of the variable, which is added to it."""
        base = self.start >> 7 & ((self.swizzle.atom_bytes >> 7) - 1)
        fields = (self.start >> 4, 0), (self.leading >> 4, 16), (self.stride >> 4, 32)
        return sum(v << at for v, at in fields) | base << 49 | MODES[self.swizzle] << 62

    def place(self, mn, k):
        """The byte at which a value lies: the tables of canonical layouts, in bytes."""
        size, span = BITS[self.dtype] // 8, self.swizzle.span
        if self.columns and self.swizzle is Swizzle.NONE:
            at = mn % 8 * size + mn // 8 * self.stride + k % 8 * 16 + k // 8 * self.leading
        elif self.columns:
            byte = mn * size
            at = byte % span + byte // span * self.leading + k % 8 * span + k // 8 * self.stride
        elif self.swizzle is Swizzle.NONE:
            byte = k * size
            at = byte % 16 + byte // 16 * self.leading + mn % 8 * 16 + mn // 8 * self.stride
        else:
            byte = k * size
            at = byte % span + byte // span * self.leading + mn % 8 * span + mn // 8 * self.stride
        return self.start + self.swizzle.apply(at)

    def lay_out(self, memory, bits):
        mn, k = np.indices(bits.shape)
        places = self.place(mn, k)
        for byte in range(bits.itemsize):
            memory[places + byte] = bits >> (8 * byte) & 0xFF


def words(values, dtype):
    """Rows of bit patterns as rows of 32-bit words."""
    return np.ascontiguousarray(idioms.bits(values, dtype)).view(np.uint32)


def program(spelling, registers, a, b, tail, *, a_held):
    """Loads shared memory, the accumulators and A's registers, multiplies, stores the accumulators."""
    sums = [f"%r{100 + i}" for i in range(registers)]
    held = [f"%r{90 + i}" for i in range(5)]  # A's, and the metadata
    lines = [f"ld.global.u32 {r}, [%rd13+{512 * i}]" for i, r in enumerate(sums)]
    lines += [f"ld.global.u32 {r}, [%rd12+{512 * i}]" for i, r in enumerate(held)]
    stores = [f"st.global.u32 [%rd14+{512 * i}], {r}" for i, r in enumerate(sums)]
    left = f"{{{', '.join(held[:4])}}}" if a_held else "%rd20"
    new_line = "\n"
    return f"""
.param u64 M
.param u64 A
.param u64 C
.param u64 D
.shared mats 49152 1024
ld.param.u64 %rd1, [M]
ld.param.u64 %rd2, [A]
ld.param.u64 %rd3, [C]
ld.param.u64 %rd4, [D]
mov.u32 %r1, %tid.x
mul.wide.u32 %rd5, %r1, 4
add.u64 %rd12, %rd2, %rd5
add.u64 %rd13, %rd3, %rd5
add.u64 %rd14, %rd4, %rd5
shl.b32 %r2, %r1, 4
mul.wide.u32 %rd6, %r1, 16
add.u64 %rd6, %rd6, %rd1
mov.u32 %r3, mats
add.u32 %r4, %r2, %r3
mov.u32 %r5, 0
copy:
ld.global.v4.u32 {{%r6, %r7, %r8, %r9}}, [%rd6]
st.shared.v4.u32 [%r4], {{%r6, %r7, %r8, %r9}}
add.u64 %rd6, %rd6, 2048
add.u32 %r4, %r4, 2048
add.u32 %r5, %r5, 1
setp.lt.u32 %p1, %r5, 24
@%p1 bra copy
{new_line.join(lines)}
fence.proxy.async.shared::cta
bar.sync 0
shr.u32 %r10, %r3, 4
cvt.u64.u32 %rd19, %r10
mov.u64 %rd20, {a}
add.u64 %rd20, %rd20, %rd19
mov.u64 %rd21, {b}
add.u64 %rd21, %rd21, %rd19
wgmma.fence.sync.aligned
{spelling} {{{", ".join(sums)}}}, {left}, %rd21, {tail}
wgmma.commit_group.sync.aligned
wgmma.wait_group.sync.aligned 0
{new_line.join(stores)}
"""


@dataclass(frozen=True)
class Case:
    """One instruction, its operands, and what beside the types it says."""

    a: str
    b: str
    d: str = "f32"
    n: int = 16
    held: bool = False
    swizzle_a: Swizzle = Swizzle.NONE
    swizzle_b: Swizzle = Swizzle.NONE
    columns_a: bool = False
    columns_b: bool = False
    base: int = 0
    signs: tuple[int, int] = (1, 1)
    accumulates: bool = True
    satfinite: bool = False
    selector: int | None = None  # of a sparse A

    @property
    def k(self):
        """Values of a row of A in memory; a sparse A leaves as many out."""
        return 256 // BITS[self.a]

    @property
    def depth(self):
        return self.k if self.selector is None else 2 * self.k

    def matrix(self, mn, dtype, swizzle, columns, start, wider=1):
        """Distances that are no multiples of each other, so that none stands for another."""
        gap = 0 if swizzle is Swizzle.NONE else swizzle.atom_bytes
        block = 8 * swizzle.span
        if swizzle is Swizzle.NONE:
            leading, stride = (160, 656) if columns else (mn // 8 * 144 + 16, 144)
        elif columns:
            stride, leading = block, 4 * block + gap
        else:
            # leading counts where a swizzle's pattern is narrower than the rows
            leading, stride = (16 if wider == 1 else mn // 8 * (block + gap)), block + gap
        dtype = "u32" if dtype == "b1" else dtype
        return Matrix(
            mn, wider * 256 // BITS[dtype], dtype, start, swizzle, columns, leading, stride
        )

    def matrices(self):
        a = self.matrix(64, self.a, self.swizzle_a, self.columns_a, 128 * self.base)
        b = self.matrix(
            self.n, self.b, self.swizzle_b, self.columns_b, 17408 + 128 * self.base,
            1 if self.selector is None else 2,
        )  # fmt: skip
        return a, b

    def run(self, a, b, c, metadata=0, **options):
        """D as the registers of the warpgroup have it; `c` is D's bits there.

        `a` and `b` are (mn, k); single bits 32 in a word. `metadata` are a word for each thread.
        """
        left, right = self.matrices()
        memory = np.zeros(49152, np.uint8)
        single = self.a == "b1"
        left.lay_out(memory, a if single else idioms.bits(a, self.a))
        right.lay_out(memory, b if single else idioms.bits(b, self.b))
        spread = np.zeros((5, 128), np.uint32)
        spread[4] = metadata
        packed = a if single else words(a, self.a)
        for (row, column), (thread, register, _) in fragments.wgmma_a(bits=32).holders().items():
            spread[register, thread] = packed[row, column]
        floats = self.d != "s32"
        sparse = self.selector is not None
        tail = ["%r94", str(self.selector)] * sparse + ["%p2"]
        tail += [str(s) for s in self.signs if floats]
        if BITS[self.a] == 16:
            tail += [str(int(self.columns_a))] * (not self.held) + [str(int(self.columns_b))]
        compare = "eq" if self.accumulates else "ne"
        counted = ".and.popc" if self.a == "b1" else ""
        shape = f"m64n{self.n}k{self.depth}{'.satfinite' if self.satfinite else ''}"
        name = "wgmma.mma_async.sp" if sparse else "wgmma.mma_async"
        spelling = f"{name}.sync.aligned.{shape}.{self.d}.{self.a}.{self.b}{counted}"
        found = output(c.shape, np.uint32)
        text = program(
            f"setp.{compare}.u32 %p2, %r3, %r3\n{spelling}", len(c), left.descriptor, right.descriptor,
            ", ".join(tail), a_held=self.held,
        )  # fmt: skip
        report = run(
            text,
            [device(memory.view(np.uint32)), device(spread), device(c)],
            [found],
            block=128,
            **options,
        )
        assert kinds(report) == [], report.message
        return np.array(found)


def spread_sums(case, values):
    """A 64 by n matrix as the registers of a warpgroup have it."""
    fragment = fragments.wgmma_d(case.n, bits=16 if case.d == "f16" else 32)
    bits = idioms.bits(values, case.d).astype(np.uint32)
    registers = np.zeros((fragment.registers, 128), np.uint32)
    for where, (thread, register, place) in fragment.holders().items():
        registers[register, thread] |= bits[where] << np.uint32(16 * place)
    return registers


def collected_sums(case, registers):
    fragment = fragments.wgmma_d(case.n, bits=16 if case.d == "f16" else 32)
    found = np.zeros((64, case.n), np.uint16 if case.d == "f16" else np.uint32)
    for where, (thread, register, place) in fragment.holders().items():
        found[where] = registers[register, thread] >> (16 * place) & (
            0xFFFF if case.d == "f16" else 0xFFFFFFFF
        )
    return idioms.values(found, case.d)


def numbers(seed, shape, dtype):
    generator = np.random.default_rng(seed)
    if dtype in ("s8", "u8"):
        least, most = (-128, 128) if dtype == "s8" else (0, 256)
        return generator.integers(least, most, shape)
    values = generator.normal(size=shape) * (4 if dtype in ("e4m3", "e5m2") else 1)
    return idioms.values(idioms.bits(values, dtype), dtype)


def cut(values, dtype):
    """What of a value is multiplied: of tf32 not the lower 13 bits."""
    if dtype != "tf32":
        return values
    return (values.astype(np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32).astype(float)


FLOATS = [("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32")]
SMALL = [(a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
INTEGERS = [(a, b) for a in ("s8", "u8") for b in ("s8", "u8")]
HALVES = [("f16", "f16"), *SMALL]
CASES = [
    *(Case(a, b, held=held, n=n) for a, b in FLOATS + SMALL for held, n in ((False, 8), (True, 40))),
    *(Case(a, b, "f16", held=held, n=24) for a, b in HALVES for held in (False, True)),
    *(Case(a, b, "s32", held=held, n=n) for a, b in INTEGERS for held, n in ((False, 24), (True, 8))),
    *(Case("f16", "f16", signs=signs, held=held) for signs in ((-1, 1), (1, -1), (-1, -1)) for held in (False, True)),
    Case("tf32", "tf32", signs=(-1, 1)),
    Case("e4m3", "e5m2", signs=(1, -1)),
    *(Case("bf16", "bf16", accumulates=False, held=held) for held in (False, True)),
    Case("s8", "u8", "s32", accumulates=False),
    Case("bf16", "bf16", n=256),
    *(
        Case("f16", "f16", swizzle_a=a, swizzle_b=b, columns_a=x, columns_b=y, base=base, n=64)
        for a, b in zip(Swizzle, reversed(Swizzle), strict=True)
        for x in (False, True)
        for y in (False, True)
        for base in (0, 3)
    ),
    *(Case("s8", "s8", "s32", swizzle_a=s, swizzle_b=s, base=5) for s in Swizzle),
    *(Case("f16", "f16", held=True, columns_b=True, swizzle_b=s, n=128 if s is Swizzle.B128 else 32) for s in Swizzle),
]  # fmt: skip


def summed(case, left, right, c):
    """D in float64; `right` is [k, column], or that of each row."""
    how = tensor_sums.model("wgmma", 90, case.a)
    bits = tensor_sums.add(
        how, (case.a, case.b, case.d), left, right, c.astype(float) * case.accumulates
    )
    kind, unsigned = (np.float16, np.uint16) if case.d == "f16" else (np.float32, np.uint32)
    return bits.astype(unsigned).view(kind).astype(float)


@pytest.mark.sampled(48, each="case.*")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case):
    """Integers exactly, floats as tensor_sums.py adds them."""
    a, b = numbers(1, (64, case.k), case.a), numbers(2, (case.n, case.k), case.b)
    c = (
        numbers(3, (64, case.n), case.d)
        if case.d != "s32"
        else np.arange(64 * case.n).reshape(64, -1)
    )
    registers = spread_sums(case, c)
    found = collected_sums(case, case.run(a, b, registers, sanitize=True))
    left, right = case.signs[0] * cut(a, case.a), case.signs[1] * cut(b, case.b)
    exact = left @ right.T + c * case.accumulates
    if case.d == "s32":
        np.testing.assert_array_equal(found, exact)
        return
    np.testing.assert_array_equal(found, summed(case, left, right.T, c))
    plain = case.run(a, b, registers)
    np.testing.assert_array_equal(collected_sums(case, plain), found)


@pytest.mark.parametrize("held", [False, True])
def test_single_bits_are_counted(held):
    case = Case("b1", "b1", "s32", held=held)
    generator = np.random.default_rng(4)
    a, b = (generator.integers(0, 2**32, (rows, 8), dtype=np.uint32) for rows in (64, case.n))
    c = np.arange(64 * case.n).reshape(64, -1) - 300
    found = collected_sums(case, case.run(a, b, spread_sums(case, c), sanitize=True))
    left, right = (np.unpackbits(m.view(np.uint8), axis=1).astype(int) for m in (a, b))
    np.testing.assert_array_equal(found, left @ right.T + c)


@pytest.mark.parametrize(("satfinite", "expected"), [(False, -(2**31) + 126), (True, 2**31 - 1)])
def test_integers_wrap_or_saturate(satfinite, expected):
    case = Case("s8", "s8", "s32", satfinite=satfinite)
    a, b = np.zeros((64, 32), int), np.zeros((case.n, 32), int)
    a[17, 0], b[3, 0] = 127, 1
    c = np.full((64, case.n), 2**31 - 1)
    found = collected_sums(case, case.run(a, b, spread_sums(case, c)))
    assert found[17, 3] == expected
    assert found[16, 3] == 2**31 - 1


def test_special_values():
    case = Case("f16", "f16")
    a, b = np.zeros((64, 16)), np.zeros((16, 16))
    a[0, 0], b[:, 0] = np.inf, 1.0
    a[1, 0] = np.nan
    a[2, 0], a[2, 1], b[5, 1] = np.inf, np.inf, -1.0
    found = collected_sums(case, case.run(a, b, spread_sums(case, np.zeros((64, 16)))))
    assert (found[0, :1] == np.inf).all()
    assert np.isnan(found[1]).all()
    assert np.isnan(found[2, 5])
    assert (found[3:] == 0).all()


# ---- half of A left out --------------------------------------------------------------------------

SPARSE = [
    *(Case(a, b, d, held=held, n=n, selector=s, signs=(s * 2 - 1, 1))
      for a, b, d in (*((a, b, "f32") for a, b in FLOATS), ("f16", "f16", "f16"))
      for held, n in ((False, 8), (True, 40)) for s in (0, 1)),
    *(Case(a, b, d, held=held, n=16, selector=0)
      for a, b in SMALL for d in ("f16", "f32") for held in (False, True)),
    *(Case(a, b, "s32", held=held, n=24, selector=0) for a, b in INTEGERS for held in (False, True)),
    *(
        Case("bf16", "bf16", swizzle_a=a, swizzle_b=b, columns_a=x, columns_b=y, n=64, selector=1)
        for a, b in zip(Swizzle, reversed(Swizzle), strict=True)
        for x in (False, True)
        for y in (False, True)
    ),
    *(Case("e4m3", "e4m3", swizzle_a=s, swizzle_b=s, selector=0, accumulates=False) for s in Swizzle),
]  # fmt: skip


def places_and_metadata(case, generator):
    """Where along k A's values stand, (64, k), and the word of each thread, by the manual's figures."""
    nibbles = generator.choice([0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110], (64, case.k // 2))
    if case.a == "tf32":
        nibbles = generator.choice([0b0100, 0b1110], (64, case.k))
        places = 2 * np.arange(case.k) + (nibbles == 0b1110)
    else:
        first = 4 * np.arange(case.k // 2)
        places = np.stack([first + (nibbles & 3), first + (nibbles >> 2)], -1).reshape(64, case.k)
    words = generator.integers(0, 1 << 32, 128)
    for thread in range(128):
        warp, lane = divmod(thread, 32)
        row, inside = 16 * warp + lane // 4, lane % 4
        if BITS[case.a] == 8:  # all lanes: 8 chunks of row i or of row i + 8
            held = nibbles[row + 8 * (inside % 2), 8 * (inside // 2) :][:8]
        elif inside // 2 == case.selector:  # 4 chunks of row i, then of row i + 8
            chunks = slice(4 * (inside % 2), 4 * (inside % 2) + 4)
            held = [*nibbles[row, chunks], *nibbles[row + 8, chunks]]
        else:
            continue
        words[thread] = sum(int(n) << (4 * i) for i, n in enumerate(held))
    return places, words.astype(np.uint32)


@pytest.mark.sampled(48, each="case.*")
@pytest.mark.parametrize("case", SPARSE, ids=str)
def test_sparse_values(case):
    generator = np.random.default_rng(9)
    stored, b = numbers(1, (64, case.k), case.a), numbers(2, (case.n, case.depth), case.b)
    c = numbers(3, (64, case.n), case.d) if case.d != "s32" else np.ones((64, case.n), int)
    places, words = places_and_metadata(case, generator)
    a = np.zeros((64, case.depth), stored.dtype)
    a[np.arange(64)[:, None], places] = stored
    registers = spread_sums(case, c)
    found = collected_sums(case, case.run(stored, b, registers, words, sanitize=True))
    left, right = case.signs[0] * cut(a, case.a), case.signs[1] * cut(b, case.b)
    exact = left @ right.T + c * case.accumulates
    if case.d == "s32":
        np.testing.assert_array_equal(found, exact)
        return
    kept = np.sort(places, axis=1)
    np.testing.assert_array_equal(
        found, summed(case, left[np.arange(64)[:, None], kept], right.T[kept], c)
    )


# ---- who takes part ------------------------------------------------------------------------------


def test_a_warpgroup_of_fewer_warps_is_found():
    text = """
    mov.u64 %rd10, 0
    mov.f32 %f1, 0.0
    mov.f32 %f2, 0.0
    mov.f32 %f3, 0.0
    mov.f32 %f4, 0.0
    setp.eq.u64 %p1, %rd10, 0
    wgmma.fence.sync.aligned
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd10, %rd10, %p1, 1, 1, 0, 0
    """
    for sanitize in (False, True):
        report = run(text, block=96, sanitize=sanitize)
        assert kinds(report) == ["bad-matrix"]
        assert "a warpgroup has four warps, and the last of this CTA has 3" in report.message


def test_a_deadlock_says_which_warp_is_missing():
    text = """
    .shared bar 8 8
    .shared mats 4096 128
    mov.u32 %r1, %tid.x
    setp.eq.u32 %p1, %r1, 0
    setp.eq.u32 %p4, %r1, %r1
    @%p1 mbarrier.init.shared::cta.b64 [bar], 1
    bar.sync 0
    mov.u32 %r10, mats
    shr.u32 %r11, %r10, 4
    cvt.u64.u32 %rd10, %r11
    mov.f32 %f1, 0.0
    mov.f32 %f2, 0.0
    mov.f32 %f3, 0.0
    mov.f32 %f4, 0.0
    setp.ge.u32 %p2, %r1, 96
    @!%p2 bra go
    wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0
    @!%p3 bra wait
    go:
    wgmma.fence.sync.aligned
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd10, %rd10, %p4, 1, 1, 0, 0
    wgmma.commit_group.sync.aligned
    wgmma.wait_group.sync.aligned 0
    """
    report = run(text, block=128)
    assert kinds(report) == ["deadlock"]
    waits = [row.waits for row in report.waits]
    missing = "a multiplication that warp 3 of the warpgroup has not executed"
    assert waits[:3] == [missing] * 3
    assert "the end of phase 0 of the mbarrier" in waits[3]
