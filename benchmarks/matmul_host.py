"""What the host takes for a matrix product: a call whose kernel is known, and the first of a shape.

Known: wall-clock time of many calls on small matrices and one wait for the device, eager and
jitted, in PyTorch where it is installed, beside its own product and XLA's. First: from the call to
the result, for shapes that have kernels of their own, each forgotten before and with an empty
folder of assembled kernels; another product has run in the process. For JAX that is with XLA's own
compilation, which stands beside it. benchmarks/compile_products.py tells what it is spent on.
"""

# The annotations of JAX and PyTorch are partial, and PyTorch is not installed everywhere.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from compile_products import MOST, SIZES, no_cubins, spelled
from measure import Bar, Result, no_collection, seconds, show, start, summarise, turns

from launch import time_calls
from pyptx import ops
from pyptx.ops._matmul_jax import KNOWN
from pyptx.ops.tensor_core import plan

SMALL: Final = (64, 128, 256)
CALLS: Final = 1000
ROUNDS: Final = 11
RUNS: Final = 3
OURS: Final = "pyptx.ops.matmul"
THEIRS: Final = "jax.numpy.matmul"
OUR_TORCH: Final = "pyptx.torch.matmul"
THEIR_TORCH: Final = "torch.matmul"
CLOSE: Final = 0.02
"""The largest distance from the product in float64, over its length."""

Sizes = tuple[int, int, int]
Function = Callable[[Any, Any], Any]


def measure(
    device: dict[str, object],
    calls: int = CALLS,
    rounds: int = ROUNDS,
    runs: int = RUNS,
    shapes: tuple[Sizes, ...] = SIZES["bf16"],
) -> Result:
    """Known calls, then first ones."""
    result = start(
        "matmul_host", device, sizes=SMALL, dtype="bf16", calls=calls, rounds=rounds, runs=runs,
        counted="wall-clock time",
    )  # fmt: skip
    for name, times in {**known(calls, rounds), **known_torch(calls, rounds)}.items():
        result.put(summarise(f"a known kernel: {name}", "us", times))
    for sizes in shapes:
        title = f"the first {spelled(sizes)}"
        for name, times in first(sizes, runs).items():
            result.put(summarise(f"{title}: {name}", "ms", [1000 * each for each in times]))
        ours = OUR_TORCH if has_torch() else OURS
        result.bars.append(Bar(title, result.median(f"{title}: {ours}"), MOST, " ms"))
    return result


def known(calls: int, rounds: int) -> dict[str, list[float]]:
    """Microseconds of a call in JAX."""
    a, b = (jnp.asarray(x, jnp.bfloat16) for x in matrices(SMALL))
    one: dict[str, Function] = {OURS: ops.matmul, THEIRS: jnp.matmul}
    programs = {f"{name}, eager": run for name, run in one.items()}
    programs |= {f"{name}, jitted": jax.jit(run) for name, run in one.items()}
    for name, run in programs.items():
        check(name, run(a, b), a, b)
    return time_calls(programs, a, b, calls, rounds, per=1)


def known_torch(calls: int, rounds: int) -> dict[str, list[float]]:
    """Microseconds of a call in PyTorch, eager."""
    if not has_torch():
        return {}
    torch: Any = importlib.import_module("torch")
    a, b = (torch.tensor(x, device="cuda", dtype=torch.bfloat16) for x in matrices(SMALL))
    microseconds: Any = importlib.import_module("torch_host").microseconds
    programs = torch_products()
    found: dict[str, list[float]] = {f"{name}, eager": [] for name in programs}
    for name, run in programs.items():
        check(name, run(a, b).float().cpu(), a.float().cpu(), b.float().cpu())
    with no_collection():
        for name in turns(tuple(programs), rounds):
            once = partial(programs[name], a, b)
            found[f"{name}, eager"].append(microseconds(once, calls))
    return found


def first(sizes: Sizes, runs: int) -> dict[str, list[float]]:
    """Seconds of the first call of a shape, each time with nothing known of it."""
    a, b = (jnp.asarray(x, jnp.bfloat16) for x in matrices(sizes))
    programs: dict[str, Function] = {
        f"{OURS}, jitted": jax.jit(ops.matmul),
        f"{THEIRS}, jitted": jax.jit(jnp.matmul),
        OURS: ops.matmul,
    }
    found: dict[str, list[float]] = {}
    for name, run in programs.items():

        def call(run: Function = run) -> None:
            jax.block_until_ready(run(a, b))

        found[name] = [forgotten(call) for _ in range(runs)]
    if has_torch():
        torch: Any = importlib.import_module("torch")
        c, d = (torch.tensor(x, device="cuda", dtype=torch.bfloat16) for x in matrices(sizes))

        resolve: Any = torch_products()[OUR_TORCH]
        resolve = resolve.__wrapped__  # what the operation keeps for arguments like these

        def eager() -> None:
            resolve(c, d)(c, d)
            torch.cuda.synchronize()

        found[OUR_TORCH] = [forgotten(eager) for _ in range(runs)]
    return found


def forgotten(call: Callable[[], None]) -> float:
    """The seconds of a call once no kernel is known, neither in the process nor on disk."""
    KNOWN.clear()
    plan.choose.cache_clear()
    plan.operation.cache_clear()
    jax.clear_caches()
    with no_cubins(), no_collection():
        return seconds(call)


def torch_products() -> dict[str, Function]:
    """Ours and PyTorch's."""
    ours: Any = importlib.import_module("pyptx.torch")
    return {OUR_TORCH: ours.matmul, THEIR_TORCH: importlib.import_module("torch").matmul}


def has_torch() -> bool:
    """Whether PyTorch is here, with a GPU."""
    if importlib.util.find_spec("torch") is None:
        return False
    return importlib.import_module("torch").cuda.is_available()


def matrices(sizes: Sizes) -> list[Any]:
    """A (M, K) and B (K, N), random normal."""
    m, n, k = sizes
    random = np.random.default_rng(0)
    return [random.standard_normal(shape, np.float32) for shape in ((m, k), (k, n))]


def check(name: str, found: Any, a: Any, b: Any) -> None:
    """Raises RuntimeError where a product is wrong."""
    wide = [np.asarray(x).astype(np.float64) for x in (found, a, b)]
    exact = wide[1] @ wide[2]
    error = float(np.linalg.norm(wide[0] - exact) / np.linalg.norm(exact))
    if not error < CLOSE:
        raise RuntimeError(f"{name} is off by {error}")


def report(result: Result) -> None:
    """The table."""
    show(result)
