"""The kernels that are measured: the example's RMS normalization, and one of another shape."""

# Bodies of kernels take tensors that have no types of their own to name.
# pyright: reportMissingParameterType=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportOperatorIssue=false, reportIndexIssue=false
# pyright: reportOptionalSubscript=false

from __future__ import annotations

import importlib.util
from typing import Any, Final

import numpy as np
from measure import ROOT
from numpy.typing import NDArray

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

EPS: Final = 1e-6
ROWS: Final = 2048
COLUMNS: Final = 8192
WARP: Final = 32
VECTOR: Final = 4

Floats = NDArray[np.float32]


def example_module() -> Any:
    """examples/hopper/rms_norm.py: `build(rows, columns, eps)` and `threads_for(columns)`."""
    path = ROOT / "examples" / "hopper" / "rms_norm.py"
    spec = importlib.util.spec_from_file_location("example_rms_norm", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def four_warps(rows: int, columns: int, eps: float = EPS, arch: str = "sm_90a") -> Kernel:
    """RMS normalization with 128 threads for each row and 64 values of 8192 in each thread.

    The first thread adds the warps' sums and hands the total back through shared memory, so a row
    meets two barriers. Columns are a multiple of 512.
    """
    threads = 4 * WARP
    vectors = columns // (threads * VECTOR)

    @kernel(
        in_specs=(Tile(rows, columns, f32), Tile(columns, f32)),
        out_specs=(Tile(rows, columns, f32),),
        grid=(rows, 1, 1),
        block=(threads, 1, 1),
        arch=arch,
    )
    def rms_norm_four_warps(X, W, Y):
        sums = smem.alloc(f32, 4)
        total = smem.alloc(f32, 1)
        x, w, y = ptx.global_ptrs(X, W, Y)
        thread = reg.from_(ptx.special.tid.x(), u32)
        start = reg.from_(ptx.special.ctaid.x(), u32) * (columns * 4)
        x += start
        y += start
        mine = thread << 2

        held = reg.array(f32, vectors * VECTOR)
        squares = reg.scalar(f32, init=0.0)
        for j in range(vectors):
            place = x + (mine + j * threads * VECTOR) * 4
            lanes = [held[j * VECTOR + k] for k in range(VECTOR)]
            ptx.inst.ld.global_.v4.f32(lanes, ptx.addr(place))
            for value in lanes:
                ptx.inst.fma.rn.f32(squares, value, value, squares)

        ptx.warp.reduce_sum(squares)
        with ptx.if_((thread & (WARP - 1)) == 0):
            sums[thread >> 5] = squares
        ptx.bar.sync(0)
        with ptx.if_(thread == 0):
            added = reg.scalar(f32, init=0.0)
            for i in range(4):
                added += sums[i]
            total[0] = added
        ptx.bar.sync(0)

        scale = ptx.inst.rsqrt.approx.f32(total[0] * (1.0 / columns) + eps)
        for j in range(vectors):
            offset = (mine + j * threads * VECTOR) * 4
            weights = ptx.inst.ld.global_.v4.f32(ptx.addr(w + offset))
            results = [held[j * VECTOR + k] * scale * weights[k] for k in range(VECTOR)]
            ptx.inst.st.global_.v4.f32(ptx.addr(y + offset), results)

    return rms_norm_four_warps


def inputs(rows: int, columns: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Random rows and weights."""
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((rows, columns), np.float32),
        rng.standard_normal(columns, np.float32),
    )


def reference(x: Any, w: Any, eps: float = EPS) -> NDArray[np.float64]:
    """RMS normalization in float64."""
    wide, weights = np.asarray(x, np.float64), np.asarray(w, np.float64)
    return wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + eps) * weights


def check(result: Any, expected: NDArray[np.float64], name: str) -> float:
    """The largest relative error, which an f32 kernel keeps below 2e-5. Raises ValueError."""
    difference = np.abs(np.asarray(result, np.float64) - expected)
    error = float(np.max(difference / (np.abs(expected) + 1e-3)))
    if not error < 2e-5:  # NaN fails too
        raise ValueError(f"{name} is wrong: relative error {error:.1e}")
    return error
