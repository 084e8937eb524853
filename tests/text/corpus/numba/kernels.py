"""Kernels for Numba to compile: shared memory, atomics, warps, and arithmetic that can fail."""

# pyright: basic
import math

from numba import cuda, float32, float64, int32, void


def reversed_rows(given, out):
    tile = cuda.shared.array(128, float32)
    thread, row = cuda.threadIdx.x, cuda.blockIdx.x
    if thread < given.shape[1]:
        tile[thread] = given[row, thread]
    cuda.syncthreads()
    if thread < given.shape[1]:
        out[row, thread] = tile[given.shape[1] - 1 - thread]


def counted(given, counts, total):
    at = cuda.grid(1)
    if at < given.size:
        cuda.atomic.add(counts, given[at] % 16, 1)
        cuda.atomic.max(total, 0, float(given[at]))
        lane_sum = given[at]
        for step in (16, 8, 4, 2, 1):
            lane_sum += cuda.shfl_down_sync(0xFFFFFFFF, lane_sum, step)
        if cuda.laneid == 0:
            cuda.atomic.add(total, 1, float(lane_sum))


def roots(given, out):
    for at in range(cuda.grid(1), given.size, cuda.gridsize(1)):
        x = given[at]
        out[at] = math.sqrt(x) if x >= 0 else math.exp(x) / (1.0 + x * x)


KERNELS = {
    reversed_rows: void(float32[:, ::1], float32[:, ::1]),
    counted: void(int32[::1], int32[::1], float64[::1]),
    roots: void(float64[::1], float64[::1]),
}
"""Each with the types of its arguments."""
