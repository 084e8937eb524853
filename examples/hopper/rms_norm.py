"""RMS normalization of rows: y = x * rsqrt(mean(x * x) + eps) * w, one CTA for each row.

Every thread keeps its part of the row in registers between the two passes, so the row is read once.
All global accesses are 16 bytes wide. Run it: `python examples/hopper/rms_norm.py` (any machine).
"""

from __future__ import annotations

import numpy as np

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

WARP = 32
VECTOR = 4  # f32 values in a 16-byte access


def threads_for(columns: int) -> int:
    """The largest CTA that leaves each thread at least one 16-byte access, up to 512 threads."""
    for threads in (512, 256, 128, 64, 32):
        if columns % (threads * VECTOR) == 0:
            return threads
    raise ValueError(f"{columns} columns are not a multiple of {WARP * VECTOR}")


def build(rows: int, columns: int, eps: float = 1e-6, arch: str = "sm_90a") -> Kernel:
    """The kernel for `rows` x `columns` values of f32, columns a multiple of 128."""
    threads = threads_for(columns)
    warps = threads // WARP
    vectors = columns // (threads * VECTOR)

    @kernel(
        in_specs=(Tile(rows, columns, f32), Tile(columns, f32)),
        out_specs=(Tile(rows, columns, f32),),
        grid=(rows, 1, 1),
        block=(threads, 1, 1),
        arch=arch,
    )
    def rms_norm(X, W, Y):
        partial = smem.alloc(f32, warps)
        x, w, y = ptx.global_ptrs(X, W, Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        first = tid * (VECTOR * 4)  # byte offset of this thread's first vector
        row_offset = row * (columns * 4)
        x += row_offset
        x += first
        y += row_offset
        y += first
        w += first

        # The whole row first, so that as many loads as possible are on their way together.
        values = reg.array(f32, vectors * VECTOR)
        for j in range(vectors):
            lanes = list(values[j * VECTOR : (j + 1) * VECTOR])
            ptx.inst.ld.global_.v4.f32(lanes, ptx.addr(x, j * threads * VECTOR * 4))
        total = reg.scalar(f32, init=0.0)
        for value in values:
            ptx.inst.fma.rn.f32(total, value, value, total)

        ptx.warp.reduce_sum(total)
        lane = tid & (WARP - 1)
        with ptx.if_(lane == 0):
            partial[tid >> 5] = total
        ptx.bar.sync(0)
        # Every thread adds the partial sums itself: one barrier less than a second broadcast.
        ptx.inst.mov.f32(total, 0.0)
        for i in range(warps):
            total += partial[i]

        mean = total * (1.0 / columns)
        mean += eps
        scale = ptx.inst.rsqrt.approx.f32(mean)

        for j in range(vectors):
            offset = j * threads * VECTOR * 4
            weights = ptx.inst.ld.global_.v4.f32(ptx.addr(w, offset))
            results = [
                values[j * VECTOR + i] * scale * weights[i] for i in range(VECTOR)
            ]
            ptx.inst.st.global_.v4.f32(ptx.addr(y, offset), results)

    return rms_norm


def reference(x: np.ndarray, w: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """The same in float64."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w


def main() -> None:
    rng = np.random.default_rng(0)
    for rows, columns in [(4, 128), (16, 1024), (8, 8192)]:
        x = rng.standard_normal((rows, columns), np.float32)
        w = rng.standard_normal(columns, np.float32)
        result = build(rows, columns).emulate(x, w)
        result.report.check()
        error = np.abs(result.outputs[0] - reference(x, w)).max()
        print(f"{rows} x {columns}: largest error {error:.1e}")
        assert error < 1e-5


if __name__ == "__main__":
    main()
