"""Products of 8-bit floats with block scales on a GPU, at the shapes that DeepGEMM publishes.

A has a scale for each row and 128 of K, B for each 128 x 128. Random normal data, a cold L2 cache,
the time of everything on the device that a call starts. cuBLASLt computes the same, through
`torch._scaled_mm`. What DeepGEMM's README published of an H800 (in its first version, of February
2025) is in the notes of each of our measurements: it was not run here.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import torch
from device_time import Flush
from matmul_table import FEW_ROWS, rates, reading
from measure import CONSOLE, Result, reason, show, start, summarise

from pyptx import ops

CALLS: Final = 8
BLOCK: Final = 128
CLOSE: Final = 0.02
"""The largest distance from the product in f32, over its length."""
PUBLISHED: Final = {
    (64, 2112, 7168): 206, (64, 24576, 1536): 289, (64, 32768, 512): 219, (64, 7168, 16384): 336,
    (64, 4096, 7168): 287, (64, 7168, 2048): 295, (128, 2112, 7168): 352, (128, 24576, 1536): 535,
    (128, 32768, 512): 358, (128, 7168, 16384): 645, (128, 4096, 7168): 533,
    (128, 7168, 2048): 510, (4096, 2112, 7168): 1058, (4096, 24576, 1536): 990,
    (4096, 32768, 512): 590, (4096, 7168, 16384): 1358, (4096, 4096, 7168): 1304,
    (4096, 7168, 2048): 1025,
}  # fmt: skip
"""TFLOP/s by M, N and K."""
Calls = dict[str, Callable[[], Any]]


def measure(device: dict[str, object]) -> Result:
    """Every shape; peers that fail are in the settings, with the reason."""
    result = start("block_scaled_table", device, calls=CALLS)
    result.settings["failed"] = failed = dict[str, str]()
    flush = Flush()
    for (m, n, k), published in PUBLISHED.items():
        title, work = f"{m} x {n} x {k}", 2e-6 * m * n * k
        for who, reached in rates(_checked(m, n, k, failed), work, flush, CALLS).items():
            more = {"published": published} if who == "pyptx" else {}
            result.put(summarise(
                f"{title}: {who}", "TFLOP/s", reached, candidate=who, m=m, n=n, k=k, **more
            ))  # fmt: skip
        if m <= FEW_ROWS:
            result.put(reading((m, n, k), 1, flush))
        CONSOLE.print(title)
    return result


def report(result: Result) -> None:
    """The table."""
    show(result, {"published": lambda m: str(m.notes.get("published", ""))})


def _checked(m: int, n: int, k: int, failed: dict[str, str]) -> Calls:
    """Ours and cuBLASLt's calls, compared with the product in f32."""
    torch.manual_seed(0)
    a, b = (torch.randn(size, k, device="cuda").to(torch.float8_e4m3fn) for size in (m, n))
    blocks, columns = -(-k // BLOCK), -(-n // BLOCK)
    of_a = torch.rand(m, blocks, device="cuda") + 0.5
    of_b = torch.rand(blocks, columns, device="cuda") + 0.5
    wide = of_b.repeat_interleave(BLOCK, 0)[:k].repeat_interleave(BLOCK, 1)[:, :n]
    exact = (a.float() * of_a.repeat_interleave(BLOCK, 1)[:, :k]) @ (b.float().T * wide)
    del wide
    calls: Calls = {"pyptx": _ours(a, b, of_a, of_b), "cuBLASLt": _cublas(a, b, of_a, of_b)}
    for who, call in list(calls.items()):
        try:
            found = call()
            torch.cuda.synchronize()
            near = torch.from_dlpack(found) if isinstance(found, jax.Array) else found
            error = float((near.float() - exact).norm() / exact.norm())
            if not error < CLOSE:
                raise RuntimeError(f"off by {error}")  # noqa: TRY301
        except Exception as error:
            if who == "pyptx":
                raise
            failed[f"{m} x {n} x {k}: {who}"] = reason(error)
            del calls[who]
    return calls


def _ours(a: Any, b: Any, of_a: Any, of_b: Any) -> Callable[[], Any]:
    x, y = (
        jax.lax.bitcast_convert_type(
            jax.dlpack.from_dlpack(each.view(torch.uint8)), jnp.float8_e4m3fn
        )
        for each in (a, b)
    )
    scales = [jax.dlpack.from_dlpack(each) for each in (of_a, of_b)]
    run: Any = jax.jit(lambda a, b, r, c: ops.matmul(a, b.T, a_scale=r, b_scale=c))
    return lambda: jax.block_until_ready(run(x, y, *scales))


def _cublas(a: Any, b: Any, of_a: Any, of_b: Any) -> Callable[[], Any]:
    """By PyTorch, which takes the scales of A and of B by columns."""
    scaled: Any = torch._scaled_mm  # noqa: SLF001 - PyTorch has no public name for it
    scales = {"scale_a": of_a.T.contiguous().T, "scale_b": of_b.T.contiguous().T}
    return partial(scaled, a, b.T, **scales, out_dtype=torch.bfloat16)
