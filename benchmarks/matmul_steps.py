"""The steps of docs/tutorial/11_fast_product.md on a GPU: TFLOP/s of each kernel, of `pyptx.ops`,
and of cuBLAS through PyTorch.

Random normal data, a cold L2 cache, the time of everything on the device that a call starts. The
first steps are so slow that they have fewer calls.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax
import torch
from device_time import Flush, flushed_calls
from measure import CONSOLE, ROOT, Result, Summary, show, start, summarise

from pyptx import ops

SIZE: Final = 4096
CALLS: Final = 8
FEWER: Final = {"naive": 2, "tiled": 4}
"""Calls of the kernels without tensor cores."""
CHECKED: Final = 3e-3
"""The largest distance of a bf16 result from one in f32, over its length."""
OURS: Final = "pyptx.ops.matmul"
CUBLAS: Final = "cuBLAS, by PyTorch"


def measure(device: dict[str, object]) -> Result:
    """Every step, then the library's product and cuBLAS."""
    result = start("matmul_steps", device, size=SIZE, calls=CALLS, dtype="bf16")
    torch.manual_seed(0)
    a, b = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    exact = a.float() @ b.float().T
    flush = Flush()
    for name, (call, count, step) in _candidates(a, b).items():
        result.put(_measured(name, call, count, exact, flush, step=step))
        CONSOLE.print(name)
    return result


def report(result: Result) -> None:
    """The table."""
    show(result)


def _candidates(a: Any, b: Any) -> dict[str, tuple[Callable[[], object], int, int]]:
    """What to call, how often, and the number of the step; 0 for what is none."""
    one, other = (jax.dlpack.from_dlpack(x) for x in (a, b))
    ready: Any = jax.block_until_ready

    def under_jax(function: Any) -> Callable[[], object]:
        jitted: Any = jax.jit(function)
        return lambda: ready(jitted(one, other))

    found: dict[str, tuple[Callable[[], object], int, int]] = {}
    for step, (name, build) in enumerate(_example().STEPS.items(), 1):
        built = build(SIZE, SIZE, SIZE)
        count = FEWER.get(built.name, CALLS)
        found[f"{step}. {name}"] = (under_jax(built), count, step)
    numbers = (((1,), (1,)), ((), ()))
    ours = partial(ops.dot_general, dimension_numbers=numbers)
    found[OURS] = (under_jax(ours), CALLS, 0)
    found[CUBLAS] = (partial(torch.matmul, a, b.T), CALLS, 0)
    return found


def _example() -> Any:
    """The example's module."""
    path = ROOT / "examples" / "hopper" / "matmul_steps.py"
    spec = importlib.util.spec_from_file_location("example_matmul_steps", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _measured(
    name: str, call: Callable[[], object], count: int, exact: Any, flush: Flush, *, step: int
) -> Summary:
    """Its rates. Raises RuntimeError if its result is wrong."""
    error = float((torch.from_dlpack(call()).float() - exact).norm() / exact.norm())
    if not error < CHECKED:
        raise RuntimeError(f"{name}: the product is off by {error}")
    torch.cuda.synchronize()
    times = [sum(each.duration for each in one) for one in flushed_calls(call, count, flush)]
    rates = [2e-6 * SIZE**3 / time for time in times]
    return summarise(name, "TFLOP/s", rates, step=step, error=error)
