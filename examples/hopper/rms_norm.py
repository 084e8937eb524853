"""RMS normalization of rows: y = x * rsqrt(mean(x * x) + eps) * w, one CTA for each row.

Each thread keeps its part of the row in registers between the two passes, so a row is read once,
and all global accesses are 16 bytes wide. Runs on any machine: python examples/hopper/rms_norm.py
"""

from __future__ import annotations

import importlib.util

import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

WARP = 32
VECTOR = 4  # f32 values in a 16-byte access
CTA_SIZES = (512, 256, 128, 64, 32)


def threads_for(columns: int) -> int:
    """The largest CTA in which each thread has at least one 16-byte access and all the same."""
    for threads in CTA_SIZES:
        if columns % (threads * VECTOR) == 0:
            return threads
    raise ValueError(f"{columns} columns are not a multiple of {WARP * VECTOR}")


def build(
    rows: int, columns: int, eps: float = 1e-6, arch: str = "sm_90a", threads: int | None = None
) -> Kernel:
    """The kernel for `rows` x `columns` values of f32, columns a multiple of 128."""
    threads = threads or threads_for(columns)
    warps = threads // WARP
    vectors = columns // (threads * VECTOR)
    stride = threads * VECTOR * 4  # bytes between two vectors of one thread

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
        first = tid * (VECTOR * 4)  # in bytes: this thread's first vector
        start = row * (columns * 4)
        x += start
        x += first
        y += start
        y += first
        w += first

        # All loads before the first use, so that the whole row is on its way at once.
        values = reg.array(f32, vectors * VECTOR)
        for j in range(vectors):
            vector = [values[j * VECTOR + i] for i in range(VECTOR)]
            ptx.inst.ld.global_.v4.f32(vector, ptx.addr(x, j * stride))
        # One sum for each place in a vector: four chains of dependent additions instead of one.
        sums = reg.array(f32, VECTOR)
        for i, value in enumerate(values):
            if i < VECTOR:
                ptx.inst.mul.rn.f32(sums[i], value, value)
            else:
                ptx.inst.fma.rn.f32(sums[i % VECTOR], value, value, sums[i % VECTOR])
        total = (sums[0] + sums[1]) + (sums[2] + sums[3])

        ptx.warp.reduce_sum(total)
        with ptx.if_((tid & (WARP - 1)) == 0):
            partial[tid >> 5] = total
        ptx.bar.sync(0)
        # Every warp adds all warps' sums itself, so no second barrier hands out the result. Its
        # lanes hold each of them WARP / warps times.
        total = partial[tid & (warps - 1)]
        ptx.warp.reduce_sum(total)
        scale = ptx.inst.rsqrt.approx.f32(total * (warps / WARP / columns) + eps)

        for j in range(vectors):
            weights = ptx.inst.ld.global_.v4.f32(ptx.addr(w, j * stride))
            results = [values[j * VECTOR + i] * scale * weights[i] for i in range(VECTOR)]
            ptx.inst.st.global_.v4.f32(ptx.addr(y, j * stride), results)

    return rms_norm


def reference(
    x: NDArray[np.float32], w: NDArray[np.float32], eps: float = 1e-6
) -> NDArray[np.float64]:
    """The same in float64."""
    wide = x.astype(np.float64)
    return wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + eps) * w


def largest_error(result: object, expected: NDArray[np.float64]) -> float:
    """Relative to the expected value; the kernel keeps it below 1e-5."""
    difference = np.abs(np.asarray(result, np.float64) - expected)
    return float(np.max(difference / (np.abs(expected) + 1e-6)))


def main() -> None:
    rng = np.random.default_rng(0)
    for rows, columns in [(4, 128), (16, 1024), (8, 8192)]:
        x = rng.standard_normal((rows, columns), np.float32)
        w = rng.standard_normal(columns, np.float32)
        expected = reference(x, w)

        emulation = build(rows, columns).emulate(x, w)
        emulation.report.check()  # raises if the emulator found a race or anything else wrong
        error = largest_error(emulation.outputs[0], expected)
        print(f"{rows} x {columns} in the emulator: largest error {error:.1e}")
        assert error < 1e-5

        if importlib.util.find_spec("jax"):
            error = with_jax(x, w, expected)
            assert error < 1e-5


def with_jax(
    x: NDArray[np.float32], w: NDArray[np.float32], expected: NDArray[np.float64]
) -> float:
    """Under jax.jit, on a GPU where there is one."""
    import jax

    rows, columns = x.shape
    result = jax.jit(build(rows, columns, arch="auto"))(jax.numpy.asarray(x), jax.numpy.asarray(w))
    error = largest_error(result, expected)
    place = next(iter(result.devices())).device_kind
    print(f"{rows} x {columns} under jax.jit on {place}: largest error {error:.1e}")
    return error


if __name__ == "__main__":
    main()
