"""Matrix products on a GPU: TFLOP/s of `ops.matmul`, next to cuBLAS through PyTorch and XLA, and to
quack where it is installed, in the configuration that it takes without a search.

Random normal data, a cold L2 cache, the time of everything on the device that a call starts. B is
(K, N) in memory, as JAX has it, and (N, K), as a layer of PyTorch has it. Where A has few rows, a
kernel that only reads as many bytes as B has is measured, too: no product is faster.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, cast

import jax
import torch
from chrome_trace import busy
from device_time import Flush, in_rounds
from measure import CONSOLE, Result, Summary, show, start, summarise
from moving import call_of, fastest, ways
from norm_cases import ALONE

from pyptx import ops

SIZES: Final = (
    (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 2048),
    (4096, 2112, 7168), (4096, 24576, 1536), (4096, 4096, 14336), (8192, 28672, 8192),
    (64, 8192, 8192), (16, 14336, 4096), (1, 8192, 28672), (300, 5000, 3000),
)  # fmt: skip
CUBLAS: Final = "PyTorch (cuBLAS)"
CALLS: Final = 8
WARM: Final = 2
"""Rounds before them, which are not counted."""
FEW_ROWS: Final = 300
"""Up to so many, B is most of the bytes."""
CHECKED: Final = 3e-3
"""The largest distance of a bf16 result from one in f32, over its length."""
DIMENSIONS: Final = {"KN": ((1,), (0,)), "NK": ((1,), (1,))}


def measure(device: dict[str, object]) -> Result:
    """Every size, with B in memory as (K, N) and as (N, K)."""
    result = start("matmul_table", device, calls=CALLS, dtype="bf16")
    flush = Flush()
    for sizes in SIZES:
        for layout in DIMENSIONS:
            for found in measured(sizes, layout, flush):
                result.put(found)
            CONSOLE.print(f"{sizes} {layout}")
        if sizes[0] <= FEW_ROWS:
            result.put(reading(sizes, 2, flush))
    return result


def report(result: Result) -> None:
    """The table."""
    show(result)


def measured(
    sizes: tuple[int, int, int],
    layout: str,
    flush: Flush,
    *,
    calls: int = CALLS,
    quack: bool = True,
) -> list[Any]:
    """One size, each candidate checked and called so often."""
    m, n, k = sizes
    work = 2e-6 * m * n * k
    name = f"{m} x {n} x {k}, {layout}"
    checked = candidates(sizes, layout, quack=quack)
    reached = rates({who: call for who, (call, _) in checked.items()}, work, flush, calls)
    return [
        summarise(
            f"{name}: {who}", "TFLOP/s", reached[who],
            m=m, n=n, k=k, layout=layout, candidate=who, error=error,
        )
        for who, (_, error) in checked.items()
    ]  # fmt: skip


def rates(
    calls: Mapping[str, Callable[[], Any]], work: float, flush: Flush, rounds: int = CALLS
) -> dict[str, list[float]]:
    """TFLOP/s of each call in every round, for so much work in MFLOP."""
    every = {who: waited(call) for who, call in calls.items()}
    found = in_rounds(every, rounds, flush, warm=WARM)
    return {who: [work / sum(a.duration for a in call) for call in found[who]] for who in calls}


def waited(call: Callable[[], Any]) -> Callable[[], Any]:
    """A call that ends when its result is there."""
    ready: Any = jax.block_until_ready
    return lambda: ready(call())


def reading(sizes: tuple[int, int, int], size: int, flush: Flush) -> Summary:
    """The rate of the product if it took as long as to read B, of so many bytes an element."""
    m, n, k = sizes
    generator = torch.Generator("cuda").manual_seed(1)
    how: Any = {"generator": generator, "device": "cuda", "dtype": torch.int32}
    words = torch.randint(-(2**31), 2**31 - 1, (n * k * size // 4,), **how)
    calls = {str(way): call_of(way, [words]) for way in ways(1, 0, first=(False, True))}
    for call in calls.values():
        call()
    found = in_rounds(calls, CALLS, flush, warm=WARM)
    times = {way: [busy(each) for each in found[way]] for way in calls}
    way = fastest(times)
    rates = [2e-6 * m * n * k / each for each in times[way]]
    name = f"{m} x {n} x {k}: {ALONE}"
    return summarise(name, "TFLOP/s", rates, m=m, n=n, k=k, candidate=ALONE, way=way)


def candidates(
    sizes: tuple[int, int, int], layout: str, *, quack: bool = True
) -> dict[str, tuple[Callable[[], Any], float]]:
    """A call of each that does not wait, and how far its result is from one in f32."""
    m, n, k = sizes
    torch.manual_seed(0)
    one = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    other = torch.randn(*((k, n) if layout == "KN" else (n, k)), device="cuda", dtype=one.dtype)
    whole = other if layout == "KN" else other.T
    a, b = (jax.dlpack.from_dlpack(x) for x in (one, other))
    numbers = (DIMENSIONS[layout], ((), ()))
    ours: Any = jax.jit(partial(ops.dot_general, dimension_numbers=numbers))
    xla: Any = jax.jit(partial(cast("Any", jax.lax.dot_general), dimension_numbers=numbers))
    calls: dict[str, Callable[[], Any]] = {
        "pyptx": partial(ours, a, b),
        CUBLAS: partial(torch.matmul, one, whole),
        "XLA": partial(xla, a, b),
    }
    if quack and importlib.util.find_spec("quack") is not None:
        gemm: Any = importlib.import_module("quack.gemm_interface").gemm
        calls["quack"] = partial(gemm, one, whole, tuned=False)
    exact = one.float() @ whole.float()
    found: dict[str, tuple[Callable[[], Any], float]] = {}
    for who, call in calls.items():
        result = jax.block_until_ready(call())
        error = float((torch.from_dlpack(result).float() - exact).norm() / exact.norm())
        if not error < CHECKED:
            raise RuntimeError(f"{who}'s product of {sizes} is off by {error}")
        found[who] = call, error
    torch.cuda.synchronize()
    return found
