"""What the host takes for one call of RMS normalization on a small tensor in PyTorch.

`pyptx.torch.rms_norm` and a kernel of ours called by hand, next to `F.rms_norm`, Triton's launcher,
quack and Liger where they are installed; eager, with a gradient, and compiled. Wall-clock time of
many calls in a row and one wait for the device, which has less to do than the host.
"""

# PyTorch is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from typing import Any, Final

import torch
import torch.nn.functional as F  # noqa: N812
from measure import Bar, Result, no_collection, show, start, summarise
from measured_kernels import EPS

import pyptx.torch
from pyptx.ops._rms_norm import RmsNorm
from pyptx.ops.rowwise import plan
from pyptx.types import bf16

ROWS: Final = 8
COLUMNS: Final = 1024
CALLS: Final = 1000
ROUNDS: Final = 11
OURS: Final = "pyptx.torch.rms_norm"
THEIRS: Final = "F.rms_norm"

Function = Callable[[], Any]


def measure(device: dict[str, object], calls: int = CALLS, rounds: int = ROUNDS) -> Result:
    """Check every function against F.rms_norm, then time them in turns."""
    result = start(
        "torch_host", device, rows=ROWS, columns=COLUMNS, dtype="bf16", calls=calls, rounds=rounds,
        counted="wall-clock time of many calls and one wait",
    )  # fmt: skip
    generator = torch.Generator("cuda").manual_seed(0)
    x = torch.randn(ROWS, COLUMNS, device="cuda", dtype=torch.bfloat16, generator=generator)
    w = torch.randn(COLUMNS, device="cuda", dtype=torch.bfloat16, generator=generator)
    expected = F.rms_norm(x.double(), (COLUMNS,), w.double(), EPS)
    timed = functions(x, w)
    for name, run in timed.items():
        torch.testing.assert_close(run().double(), expected, rtol=2e-2, atol=2e-2, msg=name)
    taken: dict[str, list[float]] = {name: [] for name in timed}
    with no_collection():
        for _ in range(rounds):
            for name, run in timed.items():
                taken[name].append(microseconds(run, calls))
    result.measurements = [summarise(name, "us", times) for name, times in taken.items()]
    ours, theirs = result.median(f"{OURS}, eager"), result.median(f"{THEIRS}, eager")
    result.bars = [
        Bar("eager, next to F.rms_norm", ours, theirs, "us"),
        Bar("a kernel called by hand", result.median("a kernel by hand, eager"), 6.0, "us"),
    ]
    return result


def functions(x: Any, w: Any) -> dict[str, Function]:
    """Everything that is timed, by name."""
    shape = (COLUMNS,)
    kernel: Any = plan.operation(RmsNorm(COLUMNS, bf16, bf16, EPS), shape)
    one = {
        OURS: lambda a, b: pyptx.torch.rms_norm(a, shape, b, EPS),
        "a kernel by hand": kernel,
        THEIRS: lambda a, b: F.rms_norm(a, shape, b, EPS),
        **peers(),
    }
    found: dict[str, Function] = {}
    for name, run in one.items():
        found[f"{name}, eager"] = lambda run=run: run(x, w)
    leaf, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
    for name in (OURS, THEIRS):
        found[f"{name}, kept for a gradient"] = lambda run=one[name]: run(leaf, weight)
        found[f"{name}, with its gradient"] = lambda run=one[name]: with_gradient(
            run, leaf, weight, x
        )
        compiled = torch.compile(one[name], fullgraph=True)
        found[f"{name}, compiled"] = lambda run=compiled: run(x, w)
    return found


def with_gradient(run: Callable[..., Any], x: Any, w: Any, g: Any) -> Any:
    """Forward and backward; gives the result."""
    y = run(x, w)
    torch.autograd.grad(y, (x, w), g)
    return y.detach()


def peers() -> dict[str, Callable[[Any, Any], Any]]:
    """The peers that are installed here."""
    found: dict[str, Callable[[Any, Any], Any]] = {}
    if importlib.util.find_spec("triton") is not None:
        row: Any = importlib.import_module("norm_triton").held_row

        def triton_row(x: Any, w: Any) -> Any:
            y = torch.empty_like(x)
            row[(ROWS,)](x, w, y, EPS, COLUMNS, COLUMNS, num_warps=4)
            return y

        found["Triton's launcher"] = triton_row
    if importlib.util.find_spec("quack") is not None:
        rmsnorm: Any = importlib.import_module("quack").rmsnorm
        found["quack"] = lambda x, w: rmsnorm(x, w, eps=EPS)
    if importlib.util.find_spec("liger_kernel") is not None:
        liger: Any = importlib.import_module("liger_kernel.ops.rms_norm").LigerRMSNormFunction
        found["Liger"] = lambda x, w: liger.apply(x, w, EPS)
    return found


def microseconds(run: Function, calls: int) -> float:
    """Of one of many calls, the wait for the device among them."""
    for _ in range(calls // 10):
        run()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / calls * 1e6


def report(result: Result) -> None:
    """The table."""
    show(result)
