"""Five kernels of examples/ with addresses made by hand, as they are without typed indexing.

Each is the example's kernel but for its global memory: `ptx.global_ptrs`, products with the strides
in bytes, pointers that are moved once, and `ptx.addr` with what is known while tracing.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any, Final

from measure import ROOT

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, bf16x2, f16, f32, u32


def example(name: str) -> ModuleType:
    """A module of examples/."""
    known = f"examples_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, ROOT / "examples" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[known] = module
    return sys.modules[known]


LOWEST: Final = example("softmax").LOWEST
power: Final = example("softmax").power
add: Final = example("layer_norm").add
silu: Final = example("swiglu").silu
split: Final = example("swiglu").split
product: Final = example("matmul_mma_sync")
SIDE: Final = 32
LINES: Final = 8


@kernel(
    in_specs=(Tile("M", "N", f32),),
    out_specs=(Tile("N", "M", f32),),
    grid=lambda M, N: (ptx.cdiv(N, SIDE), ptx.cdiv(M, SIDE)),
    block=(SIDE, LINES),
    arch="auto",
)
def transpose(X: Any, Y: Any) -> None:
    tile = smem.alloc(f32, (SIDE, SIDE + 1))
    x, y = ptx.global_ptrs(X, Y)
    rows, columns = map(int, X.shape)
    across, down = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.tid.y(), u32)
    left = reg.from_(ptx.special.ctaid.x(), u32) << 5
    top = reg.from_(ptx.special.ctaid.y(), u32) << 5
    row, column = top + down, left + across
    x += row * (columns * 4)
    x += column * 4
    for i in range(0, SIDE, LINES):
        inside = (row + i < rows) & (column < columns)
        value = reg.scalar(f32, init=0.0)
        ptx.inst.ld.global_.f32(value, ptx.addr(x, i * columns * 4), pred=inside)
        tile[down + i, across] = value
    ptx.bar.sync()
    row, column = left + down, top + across  # of Y
    y += row * (rows * 4)
    y += column * 4
    for i in range(0, SIDE, LINES):
        inside = (row + i < columns) & (column < rows)
        value = tile[across, down + i]
        ptx.inst.st.global_.f32(ptx.addr(y, i * rows * 4), value, pred=inside)


SOFTMAX_THREADS: Final = 256
SOFTMAX_WARPS: Final = 8


@kernel(
    in_specs=(Tile("B", "N", f32),),
    out_specs=(Tile("B", "N", f32),),
    grid=lambda B: B,
    block=SOFTMAX_THREADS,
    parallel=("B",),
    arch="auto",
)
def softmax(X: Any, Y: Any) -> None:
    maxima, totals = smem.alloc(f32, SOFTMAX_WARPS), smem.alloc(f32, SOFTMAX_WARPS)
    x, y = ptx.global_ptrs(X, Y)
    columns = X.shape[1]
    row = reg.from_(ptx.special.ctaid.x(), u32)
    thread = reg.from_(ptx.special.tid.x(), u32)
    lane, warp = thread & 31, thread >> 5
    x += row * (columns * 4)
    y += row * (columns * 4)

    largest, total = reg.scalar(f32, init=LOWEST), reg.scalar(f32, init=0.0)
    for i in ptx.range_(thread, columns, SOFTMAX_THREADS):
        value = ptx.inst.ld.global_.f32(ptx.addr(x + i * 4))
        before = reg.from_(largest, f32)
        ptx.inst.max.f32(largest, largest, value)
        total *= power(before - largest)
        total += power(value - largest)

    of_warp = ptx.warp.reduce_max(reg.from_(largest, f32))
    total *= power(largest - of_warp)
    ptx.warp.reduce_sum(total)
    with ptx.if_(lane == 0):
        maxima[warp] = of_warp
        totals[warp] = total
    ptx.bar.sync()
    theirs = maxima[lane & (SOFTMAX_WARPS - 1)]
    of_row = ptx.warp.reduce_max(reg.from_(theirs, f32), width=SOFTMAX_WARPS)
    total = totals[lane & (SOFTMAX_WARPS - 1)] * power(theirs - of_row)
    ptx.warp.reduce_sum(total, width=SOFTMAX_WARPS)

    for i in ptx.range_(thread, columns, SOFTMAX_THREADS):
        value = ptx.inst.ld.global_.f32(ptx.addr(x + i * 4))
        ptx.inst.st.global_.f32(ptx.addr(y + i * 4), power(value - of_row) / total)


def layer_norm(columns: int, threads: int, eps: float = 1e-5) -> Kernel:
    """The example's kernel for rows of `columns` values."""
    starts = range(0, columns, threads * 4)

    @kernel(
        in_specs=(Tile("B", columns, f32), Tile(columns, f32), Tile(columns, f32)),
        out_specs=(Tile("B", columns, f32),),
        grid=lambda B: B,
        block=threads,
        parallel=("B",),
        arch="auto",
    )
    def layer_norm(X: Any, W: Any, Bias: Any, Y: Any) -> None:
        partial = smem.alloc(f32, (2, threads // 32))
        x, w, b, y = ptx.global_ptrs(X, W, Bias, Y)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        thread = reg.from_(ptx.special.tid.x(), u32)
        first = thread * 16  # in bytes
        start = row * (columns * 4)
        x += start
        x += first
        w += first
        b += first
        y += start
        y += first

        vectors = [ptx.inst.ld.global_.v4.f32(ptx.addr(x, i * 4)) for i in starts]
        mean = add([v for vector in vectors for v in vector], partial, 0, thread) * (1 / columns)
        deviations = [[value - mean for value in vector] for vector in vectors]
        squares = [d * d for vector in deviations for d in vector]
        variance = add(squares, partial, 1, thread) * (1 / columns)
        scale = ptx.inst.rsqrt.approx.f32(variance + eps)

        for i, vector in zip(starts, deviations, strict=True):
            ws = ptx.inst.ld.global_.v4.f32(ptx.addr(w, i * 4))
            bs = ptx.inst.ld.global_.v4.f32(ptx.addr(b, i * 4))
            results = [ptx.inst.fma.rn.f32(d * scale, ws[j], bs[j]) for j, d in enumerate(vector)]
            ptx.inst.st.global_.v4.f32(ptx.addr(y, i * 4), results)

    return layer_norm


SWIGLU_THREADS: Final = 256


@kernel(
    in_specs=(Tile("B", "N", bf16), Tile("B", "N", bf16)),
    out_specs=(Tile("B", "N", bf16),),
    grid=lambda B, N: (ptx.cdiv(N, SWIGLU_THREADS * 8), B),
    block=SWIGLU_THREADS,
    parallel=("B",),
    arch="auto",
)
def swiglu(Gate: Any, Up: Any, Y: Any) -> None:
    row = reg.from_(ptx.special.ctaid.y(), u32)
    cta = reg.from_(ptx.special.ctaid.x(), u32)
    thread = reg.from_(ptx.special.tid.x(), u32)
    column = ptx.inst.mad.lo.u32(cta, SWIGLU_THREADS, thread) << 3
    with ptx.if_(column < Gate.shape[1]):
        gate_at, up_at, y_at = ptx.global_ptrs(Gate, Up, Y)
        offset = row * (Gate.shape[1] * 2) + column * 2
        gates = ptx.inst.ld.global_.v4.b32(ptx.addr(gate_at + offset))
        ups = ptx.inst.ld.global_.v4.b32(ptx.addr(up_at + offset))
        results: list[Any] = []
        for gate, up in zip(gates, ups, strict=True):
            low, high = (silu(g) * u for g, u in zip(split(gate), split(up), strict=True))
            results.append(ptx.inst.cvt.rn.bf16x2.f32(high, low))
        ptx.inst.st.global_.v4.b32(ptx.addr(y_at + offset), [reg.from_(r, bf16x2) for r in results])


def matmul(n: int, k: int) -> Kernel:
    """The example's kernel for B of `n` rows, and rows of `k` values."""

    @kernel(
        in_specs=(Tile("M", k, f16), Tile(n, k, f16)),
        out_specs=(Tile("M", n, f32),),
        grid=lambda M: (n // product.TILE, ptx.cdiv(M, product.TILE)),
        block=32 * product.WARPS,
        parallel=("M",),
        arch="auto",
    )
    def matmul(A: Any, B: Any, D: Any) -> None:
        tiles_a = smem.alloc(f16, (product.STAGES, product.TILE, product.DEPTH), swizzle="64B")
        tiles_b = smem.alloc(f16, (product.STAGES, product.TILE, product.DEPTH), swizzle="64B")
        a, b, d = ptx.global_ptrs(A, B, D)
        rows = ptx.inst.cvt.u32.u64(A.shape[0])
        thread = reg.from_(ptx.special.tid.x(), u32)
        left = reg.from_(ptx.special.ctaid.x(), u32) << 7
        top = reg.from_(ptx.special.ctaid.y(), u32) << 7
        warp = thread >> 5
        row, column = warp >> 2 << 6, (warp & 3) << 5
        read, write = ptx.pipeline(product.STAGES), ptx.pipeline(product.STAGES)

        def fetch(step: Any) -> None:
            with ptx.if_(step < k // product.DEPTH):
                copy(tiles_a[write.stage], a, k, top, step << 5, thread, rows)
                copy(tiles_b[write.stage], b, k, left, step << 5, thread, n)
            ptx.cp.async_.commit_group()
            write.advance()

        sums = product.zeros()
        for step in range(product.STAGES - 1):
            fetch(reg.scalar(u32, init=step))
        for step in ptx.range_(0, k // product.DEPTH, dtype=u32):
            ptx.cp.async_.wait_group(product.STAGES - 2)
            ptx.bar.sync()
            fetch(step + (product.STAGES - 1))
            product.multiply(sums, tiles_a[read.stage], tiles_b[read.stage], row, column)
            read.advance()
        store(d, n, sums, top + row, left + column, rows)

    return matmul


def copy(  # noqa: PLR0917  # those of the example
    tile: Any, base: Any, k: int, first: Any, column: Any, thread: Any, rows: Any
) -> None:
    """As `copy` of the example, from a pointer to rows of `k` values."""
    along, down = (thread & 3) << 3, thread >> 2
    for i in range(0, product.TILE, 8 * product.WARPS):
        row = first + down + i
        size = ptx.inst.selp.u32(16, 0, row < rows)
        clamped = ptx.inst.min.u32(row, rows - 1)
        where = base + clamped * (2 * k) + (column + along) * 2
        ptx.cp.async_.cg(tile.address(down + i, along), ptx.addr(where), src_size=size)


def store(  # noqa: PLR0917  # those of the example
    d: Any, n: int, sums: Any, first_row: Any, first_column: Any, rows: Any
) -> None:
    """As `store` of the example, to a pointer to rows of `n` values."""
    down, right = sums[0][0].origin(reg.from_(ptx.special.laneid(), u32))
    down += first_row
    right += first_column
    start = d + down * (4 * n) + right * 4
    for i, line in enumerate(sums):
        for half in range(2):
            below = 16 * i + 8 * half
            for j, block in enumerate(line):
                ptx.inst.st.global_.v2.f32(
                    ptx.addr(start, (below * n + 8 * j) * 4),
                    [block[2 * half], block[2 * half + 1]],
                    pred=down + below < rows,
                )
