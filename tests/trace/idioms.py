"""Kernels that multiply small matrices with each instruction for it, and what they should give.

Values are small whole numbers, which every type holds and every order of adding gives exactly.
Tiles are filled by plain stores through the layout, one element at a time. Bit patterns go in and
out as unsigned integers, so that no array needs a type that NumPy lacks.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import DTYPES, bf16, f16, f32, u8, u16, u32

THREADS = 128
UNSIGNED = {8: u8, 16: u16, 32: u32}
NUMPY = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
    "s32": np.int32,
}


def bits(values, dtype):
    """An array of a type as unsigned integers of its width."""
    array = np.asarray(values).astype(NUMPY[dtype])
    return array.view(f"u{array.itemsize}")


def values(array, dtype):
    """The numbers that bits mean, in float64."""
    return np.ascontiguousarray(array).view(NUMPY[dtype]).astype(np.float64)


def whole(seed, shape, dtype, most=3):
    """Whole numbers from -most (0 for unsigned types) to most."""
    least = 0 if dtype == "u8" else -most
    return np.random.default_rng(seed).integers(least, most + 1, shape)


def fill(tile, source, tid, count=THREADS):
    """Store a row-major matrix in global memory to a tile, element by element, all threads."""
    rows, columns = tile.shape
    unsigned = UNSIGNED[tile.dtype.bits]
    load = getattr(ptx.inst.ld.global_, f"{unsigned}")
    store = getattr(ptx.inst.st.shared, f"{unsigned}")
    for i in ptx.range_(reg.from_(tid, u32), rows * columns, count):
        row, column = i // columns, i % columns
        value = load(ptx.addr(source + i * tile.dtype.bytes))
        store(tile.address(row, column), value)


def store_all(fragment, target, columns, origin, each):
    """Store every register of a fragment to a row-major matrix of `columns` of `each` bytes."""
    row, column = origin
    first = target + (ptx.inst.mad.lo.u32(row, columns, column)) * each
    for i, register in enumerate(fragment):
        down, right = fragment.step(i)
        width = register.dtype.bits
        store = getattr(ptx.inst.st.global_, f"b{width}")
        store(ptx.addr(first, (down * columns + right) * each), register)


@dataclass(frozen=True)
class Product:
    """D = A * B by `wgmma`, 64 by n, over all of k; types by name, `d` f32, f16 or s32."""

    a: str
    b: str
    d: str = "f32"
    major_a: str = "K"
    major_b: str = "K"
    swizzle: str = "128B"
    n: int = 128
    k: int = 128

    @property
    def name(self):
        majors = f"{self.major_a}{self.major_b}"
        return f"{self.a}-{self.b}-{self.d}-{majors}-{self.swizzle}-n{self.n}k{self.k}"

    @property
    def step(self):
        return 32 // DTYPES[self.a].bytes

    def shapes(self):
        a = (64, self.k) if self.major_a == "K" else (self.k, 64)
        b = (self.n, self.k) if self.major_b == "K" else (self.k, self.n)
        return a, b

    def inputs(self):
        a, b = self.shapes()
        return bits(whole(1, a, self.a), self.a), bits(whole(2, b, self.b), self.b)

    def expected(self, a, b):
        a, b = values(a, self.a), values(b, self.b)
        a = a if self.major_a == "K" else a.T
        b = b.T if self.major_b == "K" else b
        return a @ b

    def outcome(self, d):
        return values(d, self.d)

    def kernel(self):
        (a_shape, b_shape), out = self.shapes(), DTYPES[self.d]
        types = [DTYPES[name] for name in (self.a, self.b)]
        specs = [
            Tile(*shape, UNSIGNED[t.bits])
            for shape, t in zip((a_shape, b_shape), types, strict=True)
        ]

        @kernel(
            in_specs=tuple(specs),
            out_specs=(Tile(64, self.n, UNSIGNED[out.bits]),),
            block=THREADS,
            arch="sm_90a",
        )
        def product(A, B, D):
            a, b, d = ptx.global_ptrs(A, B, D)
            tid = reg.from_(ptx.special.tid.x(), u32)
            tile_a = smem.wgmma_tile(types[0], a_shape, self.major_a, swizzle=self.swizzle)
            tile_b = smem.wgmma_tile(types[1], b_shape, self.major_b, swizzle=self.swizzle)
            fill(tile_a, a, tid)
            fill(tile_b, b, tid)
            ptx.fence.proxy_async("shared::cta")
            ptx.bar.sync()
            sums = reg.wgmma_frag(n=self.n, dtype=out)
            for register in sums:
                ptx.inst.mov.b32(register, 0)
            ptx.wgmma.fence()
            for k in range(0, self.k, self.step):
                ptx.wgmma.mma_async(
                    shape=(64, self.n, self.step),
                    dtype_d=out,
                    dtype_a=types[0],
                    dtype_b=types[1],
                    d=sums,
                    a=tile_a,
                    b=tile_b,
                    scale_d=k > 0,
                    a_k_offset=tile_a.k_offset(k),
                    b_k_offset=tile_b.k_offset(k),
                )
            ptx.wgmma.commit_group()
            ptx.wgmma.wait_group(0)
            store_all(sums, d, self.n, sums.origin(tid), out.bytes)

        return product


def products():
    """Every major, swizzle and type that wgmma reads from shared memory."""
    swizzles = ("none", "32B", "64B", "128B")
    found = [
        Product("bf16", "bf16", major_a=a, major_b=b, swizzle=swizzle)
        for a in ("K", "MN")
        for b in ("K", "MN")
        for swizzle in swizzles
    ]
    found += [Product("f16", "f16", d, "K", "MN") for d in ("f32", "f16")]
    for a, b, d in (
        ("tf32", "tf32", "f32"),
        ("e4m3", "e5m2", "f32"),
        ("e5m2", "e4m3", "f16"),
        ("s8", "s8", "s32"),
        ("u8", "s8", "s32"),
    ):
        found += [Product(a, b, d, swizzle=swizzle) for swizzle in swizzles]
    found += [Product("bf16", "bf16", n=n, k=k) for n, k in ((8, 64), (256, 64), (24, 192))]
    return found


def registers_times_shared():
    """D = A * B with A in registers, for bf16, K of 16, n of 64."""

    @kernel(
        in_specs=(Tile(64, 16, u16), Tile(64, 16, u16)),
        out_specs=(Tile(64, 64, u32),),
        block=THREADS,
        arch="sm_90a",
    )
    def product(A, B, D):
        a, b, d = ptx.global_ptrs(A, B, D)
        tid = reg.from_(ptx.special.tid.x(), u32)
        tile = smem.wgmma_tile(bf16, (64, 16))
        fill(tile, b, tid)
        held = reg.mma_frag("a", shape=(16, 8, 16), dtype=bf16)
        row, column = held.origin(tid)
        row = ptx.inst.mad.lo.u32(tid >> 5, 16, row)  # a warp has 16 rows
        first = a + ptx.inst.mad.lo.u32(row, 16, column) * 2
        for i, register in enumerate(held):
            down, right = held.step(i)
            ptx.inst.ld.global_.b32(register, ptx.addr(first, (down * 16 + right) * 2))
        ptx.fence.proxy_async("shared::cta")
        ptx.bar.sync()
        sums = reg.wgmma_frag(n=64, dtype=f32)
        for register in sums:
            ptx.inst.mov.b32(register, 0)
        ptx.wgmma.fence()
        ptx.wgmma.mma_async(
            shape="m64n64k16", dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=sums, a=held,
            b=ptx.wgmma.descriptor(tile),
        )  # fmt: skip
        ptx.wgmma.commit_group()
        ptx.wgmma.wait_group(0)
        store_all(sums, d, 64, sums.origin(tid), 4)

    return product


STAGES, BLOCK, DEPTH = 3, 128, 64


def tiled_product(wrong=""):
    """D = A @ B.T of bf16: a warp copies tiles by tensor maps, two warpgroups multiply them.

    M and N are multiples of 128, K of 64. A stage is released behind the multiplications of the
    stage after it, but where `wrong` says "released early".
    """
    tiles = {"tma_box": (BLOCK, DEPTH), "layout": Layout.TMA_128B}

    @kernel(
        in_specs=(Tile("M", "K", u16, **tiles), Tile("N", "K", u16, **tiles)),
        out_specs=(Tile("M", "N", f32),),
        grid=lambda M, N, K: (N // BLOCK, M // BLOCK, 1),
        block=2 * THREADS + 32,
        arch="sm_90a",
    )
    def product(A, B, D):
        a, b = A.tma_desc(), B.tma_desc()
        (d,) = ptx.global_ptrs(D)
        stages = [smem.wgmma_tile(bf16, (STAGES, BLOCK, DEPTH), name=n) for n in ("a", "b")]
        ring = ptx.ring(STAGES, consumers=2)
        tid = reg.from_(ptx.special.tid.x(), u32)
        row, column = (
            reg.from_(r, u32) << 7 for r in (ptx.special.ctaid.y(), ptx.special.ctaid.x())
        )
        steps = A.shape[1] // DEPTH
        with ptx.if_(tid == 0):
            ring.init()
        ptx.bar.sync()
        with ptx.if_(tid == 2 * THREADS):
            state = ring.producer()
            load = ptx.cp.async_.bulk.tensor_2d
            for step in ptx.range_(0, steps, dtype=u32):
                full = ring.acquire(state)
                full.arrive_expect_tx(a.bytes + b.bytes)
                k = step << 6
                load(dst=stages[0][state.stage], src=a, coord=[k, row], mbar=full)
                load(dst=stages[1][state.stage], src=b, coord=[k, column], mbar=full)
                state.advance()
        with ptx.if_(tid < 2 * THREADS):
            half = (tid >> 7) << 6
            first = (tid & (THREADS - 1)) == 0
            sums = reg.wgmma_frag(n=BLOCK, dtype=f32)
            state, read = ring.consumer(), ring.consumer()
            always = reg.scalar(u32, init=0) == 0
            for step in ptx.range_(0, steps, dtype=u32):
                ring.wait(state)
                held_a, held_b = (tiles[state.stage] for tiles in stages)
                begun = step > 0
                ptx.wgmma.fence()
                for k in range(0, DEPTH, 16):
                    ptx.wgmma.mma_async(
                        shape=(64, BLOCK, 16), dtype_d=f32, dtype_a=bf16, dtype_b=bf16, d=sums,
                        a=ptx.wgmma.descriptor(held_a, mn=half, k=k),
                        b=ptx.wgmma.descriptor(held_b, k=k),
                        scale_d=always if k else begun,
                    )  # fmt: skip
                ptx.wgmma.commit_group()
                if wrong == "released early":
                    ring.release(state, pred=first)
                else:
                    ptx.wgmma.wait_group(1)
                    with ptx.if_(begun):
                        ring.release(read, pred=first)
                        read.advance()
                state.advance()
            ptx.wgmma.wait_group(0)
            down, right = sums.origin(tid & (THREADS - 1))
            at = (row + half + down) * D.shape[1] + (column + right)
            start = d + at * 4
            for i, register in enumerate(sums):
                down, right = sums.step(i)
                place = ptx.addr(start, (down * D.shape[1] + right) * 4)
                ptx.inst.st.global_.f32(place, register)

    return product


@dataclass(frozen=True)
class WarpProduct:
    """D = A * B by `mma.sync`, 16 by 16, over all of k, from tiles that ldmatrix reads."""

    a: str
    b: str
    d: str = "f32"
    swizzle: str = "128B"
    k: int = 128
    arch: str = "sm_90a"

    @property
    def name(self):
        return f"{self.a}-{self.b}-{self.d}-{self.swizzle}"

    def inputs(self):
        shape = (16, self.k)
        return bits(whole(3, shape, self.a), self.a), bits(whole(4, shape, self.b), self.b)

    def expected(self, a, b):
        return values(a, self.a) @ values(b, self.b).T

    def outcome(self, d):
        return values(d, self.d)

    def kernel(self):
        types = [DTYPES[name] for name in (self.a, self.b)]
        out = DTYPES[self.d]
        step = 32 // types[0].bytes

        @kernel(
            in_specs=tuple(Tile(16, self.k, UNSIGNED[t.bits]) for t in types),
            out_specs=(Tile(16, 16, UNSIGNED[out.bits]),),
            block=32,
            arch=self.arch,
        )
        def product(A, B, D):
            a, b, d = ptx.global_ptrs(A, B, D)
            lane = reg.from_(ptx.special.tid.x(), u32)
            swizzle = None if self.swizzle == "none" else self.swizzle
            tile_a = smem.alloc(types[0], (16, self.k), swizzle=swizzle, name="a")
            tile_b = smem.alloc(types[1], (16, self.k), swizzle=swizzle, name="b")
            fill(tile_a, a, lane, 32)
            fill(tile_b, b, lane, 32)
            ptx.bar.sync()
            shape = (16, 8, step)
            sums = [reg.mma_frag("d", shape=shape, dtype=out) for _ in range(2)]
            for register in (*sums[0], *sums[1]):
                ptx.inst.mov.b32(register, 0)
            for k in range(0, self.k, step):
                held_a = ptx.mma.load_a(tile_a, 0, k)
                held_b = ptx.mma.load_b(tile_b, 0, k)
                for half, total in enumerate(sums):
                    ptx.mma.sync(
                        shape=shape, dtype_d=out, dtype_a=types[0], dtype_b=types[1], dtype_c=out,
                        d=total, a=held_a, b=held_b[2 * half : 2 * half + 2], c=total,
                    )  # fmt: skip
            row, column = sums[0].origin(lane)
            for half, total in enumerate(sums):
                store_all(total, d + 8 * half * out.bytes, 16, (row, column), out.bytes)

        return product


def warp_products():
    found = [
        WarpProduct("f16", "f16", "f32", swizzle) for swizzle in ("none", "32B", "64B", "128B")
    ]
    found += [WarpProduct("f16", "f16", "f16"), WarpProduct("bf16", "bf16")]
    found += [WarpProduct("tf32", "tf32"), WarpProduct("s8", "s8", "s32")]
    found += [WarpProduct("u8", "s8", "s32"), WarpProduct("e4m3", "e5m2")]
    return found


def transpose_by_stmatrix(trans):
    """Y = X, or its transpose, 16 by 16 values of 16 bits: ldmatrix, then stmatrix."""

    @kernel(in_specs=(Tile(16, 16, u16),), out_specs=(Tile(16, 16, u16),), block=32, arch="sm_90a")
    def copy(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        lane = reg.from_(ptx.special.tid.x(), u32)
        source = smem.alloc(f16, (16, 16), swizzle="32B")
        target = smem.alloc(f16, (16, 16), swizzle="32B")
        fill(source, x, lane, 32)
        ptx.bar.sync()
        row, column = lane & 15, (lane >> 4) << 3
        held = ptx.ldmatrix(src=source.address(row, column))
        # The matrices of a transpose change places across the diagonal.
        if trans:
            row, column = (lane & 7) + (lane >> 4 << 3), lane & 8
        ptx.stmatrix(smem=target.address(row, column), regs=held, trans=trans)
        ptx.bar.sync()
        for i in ptx.range_(reg.from_(lane, u32), 256, 32):
            value = ptx.inst.ld.shared.u16(target.address(i // 16, i % 16))
            ptx.inst.st.global_.u16(ptx.addr(y + i * 2), value)

    return copy


__all__ = [
    "THREADS",
    "Product",
    "WarpProduct",
    "bits",
    "fill",
    "products",
    "registers_times_shared",
    "tiled_product",
    "transpose_by_stmatrix",
    "values",
    "warp_products",
    "whole",
]
