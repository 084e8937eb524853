"""RMS normalization of 2048 x 8192 f32 on one GPU, beside everything else that computes it.

Device time of all kernels that a call launches, with the L2 cache flushed before every call, random
data, several rounds that start with another candidate each. Every result is compared with float64
before anything is timed.
"""

# PyTorch and Triton are not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportUnknownLambdaType=false, reportIndexIssue=false

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import torch
import triton
import triton.language as tl
from chrome_trace import busy
from device_time import Flush, by_events, flushed_calls
from measure import Bar, Result, Summary, number, show, start, summarise, turns
from measured_kernels import (
    COLUMNS,
    EPS,
    ROWS,
    Floats,
    check,
    example_module,
    four_warps,
    inputs,
    reference,
)
from norm_cases import CONDITIONS

from pyptx import Kernel

CALLS: Final = 20
ROUNDS: Final = 5
BYTES: Final = 2 * ROWS * COLUMNS * 4 + COLUMNS * 4
COPY: Final = "copy of the same bytes"
EAGER: Final = "torch eager, five operations"
OURS: Final = "pyptx, examples/hopper/rms_norm.py"
FOUR_WARPS: Final = "pyptx, 128 threads a row"
OTHER_SIZES: Final = (256, 1024)
"""CTA sizes of the example beside the one that it takes by itself."""

Call = Callable[[], Any]


def measure(device: dict[str, object], calls: int = CALLS, rounds: int = ROUNDS) -> Result:
    """Check every candidate, then time it."""
    result = start(
        "rms_norm", device, rows=ROWS, columns=COLUMNS, dtype="f32", calls=calls, rounds=rounds,
        flush=CONDITIONS["flush"], counted="all kernels and copies of a call (CUPTI)",
    )  # fmt: skip
    x, w = inputs(ROWS, COLUMNS)
    example = example_module()
    kernels = {OURS: example.build(ROWS, COLUMNS, EPS), FOUR_WARPS: four_warps(ROWS, COLUMNS)}
    threads = {OURS: example.threads_for(COLUMNS), FOUR_WARPS: 128}
    for size in OTHER_SIZES:
        kernels[f"{OURS}, {size} threads"] = example.build(ROWS, COLUMNS, EPS, threads=size)
    candidates = {**torch_candidates(x, w), **jax_candidates(x, w, kernels)}
    expected = reference(x, w)
    errors = {n: check(to_numpy(c()), expected, n) for n, c in candidates.items() if n != COPY}
    candidates[COPY] = check_copy(x)
    flush = Flush()
    readings = time_all(candidates, flush, calls, rounds)
    for name, (times, names) in readings.items():
        notes = {"kernels": names, "error": errors.get(name)}
        result.measurements.append(summarise(name, "us", times, **notes))
    for name, count in threads.items():
        launch = driver_launch(kernels[name], count, x, w)
        check(to_numpy(launch()), expected, f"{name}, launched by the driver")
        times = by_events(launch, calls * rounds, flush)
        result.measurements.append(summarise(f"{name}, by CUDA events", "us", times))
    times = by_events(candidates[COPY], calls * rounds, flush)
    result.measurements.append(summarise(f"{COPY}, by CUDA events", "us", times))
    add_bars(result)
    return result


def add_bars(result: Result) -> None:
    """The kernel against the copy and against PyTorch's eager formula, in the same run."""
    for name in (OURS, FOUR_WARPS):
        ours, copy, eager = (result.median(n) for n in (name, COPY, EAGER))
        result.bars += [
            Bar(f"{name}: time over the copy's", ours / copy, 1.14, "x"),
            Bar(f"{name}: speed over torch eager's", eager / ours, 3.9, "x", at_least=True),
        ]


def time_all(
    candidates: dict[str, Call], flush: Flush, calls: int, rounds: int
) -> dict[str, tuple[list[float], list[str]]]:
    """Device times of every call of each candidate, and the names of the kernels it launched."""
    found: dict[str, tuple[list[float], list[str]]] = {name: ([], []) for name in candidates}
    for call in candidates.values():
        for _ in range(3):
            call()
    for name in turns(tuple(candidates), rounds):
        times, names = found[name]
        measured = flushed_calls(candidates[name], calls, flush)
        times += [busy(call) for call in measured]
        names[:] = [activity.name for activity in measured[-1]]
    return found


# ---- the candidates ------------------------------------------------------------------------------


def torch_candidates(x: Floats, w: Floats) -> dict[str, Call]:
    """PyTorch and Triton on the GPU."""
    a, b = torch.from_numpy(x).cuda(), torch.from_numpy(w).cuda()

    def formula(a: Any, b: Any) -> Any:
        return a * torch.rsqrt((a * a).mean(-1, keepdim=True) + EPS) * b

    compiled = torch.compile(formula, dynamic=False)
    y = torch.full_like(a, float("nan"))

    def triton_rows(warps: int) -> Any:
        rms_norm_rows[(ROWS,)](a, b, y, EPS, COLUMNS, num_warps=warps)
        return y

    return {
        EAGER: lambda: formula(a, b),
        "torch.compile": lambda: compiled(a, b),
        "torch F.rms_norm": lambda: torch.nn.functional.rms_norm(a, (COLUMNS,), b, EPS),
        **{
            f"Triton, one row per program, {warps} warps": lambda warps=warps: triton_rows(warps)
            for warps in (4, 8, 16)
        },
    }


@triton.jit
def rms_norm_rows(x, w, y, eps, COLUMNS: tl.constexpr):
    """A row per program, held in registers."""
    at = tl.arange(0, COLUMNS)
    start = tl.program_id(0) * COLUMNS
    row = tl.load(x + start + at)
    scale = tl.rsqrt(tl.sum(row * row, 0) / COLUMNS + eps)
    tl.store(y + start + at, row * scale * tl.load(w + at))


def jax_candidates(x: Floats, w: Floats, kernels: dict[str, Kernel]) -> dict[str, Call]:
    """XLA and our kernels, both under jit."""
    a, b = jax.device_put(x), jax.device_put(w)

    def formula(a: Any, b: Any) -> Any:
        return a * jax.lax.rsqrt(jnp.mean(a * a, -1, keepdims=True) + EPS) * b

    programs: dict[str, Any] = {"XLA": jax.jit(formula)}
    programs |= {name: jax.jit(kernel) for name, kernel in kernels.items()}
    return {
        name: lambda run=run: jax.block_until_ready(run(a, b)) for name, run in programs.items()
    }


def check_copy(x: Floats) -> Call:
    """The copy of the same bytes, checked."""
    source = torch.from_numpy(x).cuda()
    target = torch.full_like(source, float("nan"))
    if not np.array_equal(to_numpy(target.copy_(source)), x):
        raise ValueError("the copy is wrong")
    return lambda: target.copy_(source)


def to_numpy(array: Any) -> Any:
    """A tensor of either framework on the host."""
    return array.cpu().numpy() if isinstance(array, torch.Tensor) else np.asarray(array)


# ---- our kernel without XLA ----------------------------------------------------------------------


def driver_launch(kernel: Kernel, threads: int, x: Floats, w: Floats) -> Call:
    """The assembled kernel on PyTorch's stream, for which CUDA events work; writes into NaNs."""
    cuda = ctypes.CDLL("libcuda.so.1")
    cubin = kernel.cubin()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    succeed(cuda.cuModuleLoadData(ctypes.byref(module), cubin.code))
    succeed(cuda.cuModuleGetFunction(ctypes.byref(function), module, cubin.kernel.encode()))
    a, b = torch.from_numpy(x).cuda(), torch.from_numpy(w).cuda()
    y = torch.full_like(a, float("nan"))
    values = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (a, b, y)]
    addresses = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))
    shape = [ctypes.c_uint(size) for size in (ROWS, 1, 1, threads, 1, 1, 0)]

    def launch(_keep: tuple[object, ...] = (a, b, values, module)) -> Any:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        succeed(cuda.cuLaunchKernel(function, *shape, stream, addresses, None))
        return y

    return launch


def succeed(status: int) -> None:
    """Raise for a driver call that failed."""
    if status:
        raise RuntimeError(f"the CUDA driver returned error {status}")


# ---- the part ------------------------------------------------------------------------------------


def report(result: Result) -> None:
    """The table, with bandwidth and the share of the copy's speed."""
    copy = result.median(COPY)

    def bandwidth(m: Summary) -> str:
        return f"{BYTES / m.median / 1000:,.0f}"

    def kernels(m: Summary) -> str:
        names = m.notes.get("kernels")
        return str(len(names)) if isinstance(names, list) else ""

    def error(m: Summary) -> str:
        value = m.notes.get("error")
        return f"{value:.1e}" if isinstance(value, float) else ""

    columns = {
        "GB/s": bandwidth,
        "copy = 1": lambda m: number(m.median / copy),
        "kernels": kernels,
        "error": error,
    }
    show(result, columns)
