"""Products with epilogues, products of groups and products of 8 bits on a GPU, with their peers.

Random normal data, a cold L2 cache, the time of everything on the device that a call starts. Peers
compute the same: cuBLAS through PyTorch with the activation after it, XLA, `jax.lax.ragged_dot`,
and cuBLASLt through `torch._scaled_mm`.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import torch
from device_time import Flush
from matmul_table import rates
from measure import CONSOLE, Result, show, start, summarise
from norm_cases import DENSE

from pyptx import ops

CALLS: Final = 8
LAYERS: Final = ((4096, 4096, 4096), (8192, 14336, 4096), (4096, 2112, 7168), (64, 8192, 8192))
GATED: Final = ((4096, 14336, 4096), (8192, 11008, 4096), (64, 14336, 4096))
GROUPS: Final = ((8, 8192, 4096, 4096), (64, 8192, 2048, 7168), (256, 8192, 2048, 2048))
EIGHT_BITS: Final = (
    (4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 2048), (4096, 2112, 7168),
    (4096, 24576, 1536), (4096, 4096, 14336), (8192, 28672, 8192), (64, 8192, 8192),
    (16, 14336, 4096),
)  # fmt: skip
CLOSE: Final = 0.02
"""The largest distance of results from a peer's, over their length."""
Calls = dict[str, Callable[[], Any]]


def measure(device: dict[str, object]) -> Result:
    """Every kind of product at its sizes."""
    result = start("fused_matmul_table", device, calls=CALLS)
    flush = Flush()
    for name, work, calls in (*_layers(), *_gated(), *_groups(), *_eight_bits()):
        _check(name, {who: call for who, call in calls.items() if who != DENSE})
        for who, reached in rates(calls, work, flush, CALLS).items():
            result.put(summarise(f"{name}: {who}", "TFLOP/s", reached, candidate=who))
        CONSOLE.print(name)
    return result


def report(result: Result) -> None:
    """The table."""
    show(result)


def _check(name: str, calls: Calls) -> None:
    first, *others = (torch.from_dlpack(call()).float() for call in calls.values())
    for other in others:
        distance = float((first - other).norm() / other.norm())
        if not distance < CLOSE:
            raise RuntimeError(f"{name} is off by {distance}")


def _normal(*shape: int, scale: float = 1.0) -> Any:
    return (torch.randn(*shape, device="cuda") * scale).to(torch.bfloat16)


def _shared(*tensors: Any) -> list[Any]:
    return [jax.dlpack.from_dlpack(x) for x in tensors]


def _layers() -> Iterator[tuple[str, float, Calls]]:
    """gelu(a @ b + bias) + residual."""
    for m, n, k in LAYERS:
        torch.manual_seed(0)
        one, other, bias, rest = (
            _normal(m, k),
            _normal(k, n, scale=k**-0.5),
            _normal(n),
            _normal(m, n),
        )
        a, b, c, d = _shared(one, other, bias, rest)
        ours: Any = jax.jit(
            lambda a, b, c, d: ops.matmul(a, b, bias=c, activation="gelu_tanh", residual=d)
        )
        xla: Any = jax.jit(lambda a, b, c, d: jax.nn.gelu(a @ b + c) + d)
        compiled: Any = torch.compile(
            lambda a, b, c, d: torch.nn.functional.gelu(a @ b + c, approximate="tanh") + d
        )
        calls: Calls = {
            "pyptx": partial(ours, a, b, c, d),
            "XLA": partial(xla, a, b, c, d),
            "torch.compile": partial(compiled, one, other, bias, rest),
        }
        yield f"gelu(a b + bias) + residual, {m} x {n} x {k}", 2e-6 * m * n * k, calls


def _gated() -> Iterator[tuple[str, float, Calls]]:
    """silu(x gate) * (x up)."""
    for m, n, k in GATED:
        torch.manual_seed(0)
        one = _normal(m, k)
        gate, up = (_normal(k, n, scale=k**-0.5) for _ in range(2))
        x, v, w = _shared(one, gate, up)
        ours: Any = jax.jit(ops.gated_matmul)
        xla: Any = jax.jit(lambda x, v, w: jax.nn.silu(x @ v) * (x @ w))
        compiled: Any = torch.compile(lambda x, v, w: torch.nn.functional.silu(x @ v) * (x @ w))
        calls: Calls = {
            "pyptx": partial(ours, x, v, w),
            "XLA": partial(xla, x, v, w),
            "torch.compile": partial(compiled, one, gate, up),
        }
        yield f"silu(x gate) (x up), {m} x {n} x {k}", 4e-6 * m * n * k, calls


def _groups() -> Iterator[tuple[str, float, Calls]]:
    """Groups of random lengths, and of one length: the work of the dense product in the same
    rounds. Tiles that a random group fills in part are more work."""
    ours: Any = jax.jit(ops.ragged_dot)
    dense: Any = jax.jit(ops.matmul)
    xla: Any = jax.jit(jax.lax.ragged_dot)
    grouped: Any = torch._grouped_mm  # noqa: SLF001 - PyTorch has no public name for it
    for groups, m, n, k in GROUPS:
        torch.manual_seed(0)
        one, other = _normal(m, k), _normal(groups, k, n, scale=k**-0.5)
        x, w = _shared(one, other)
        by_chance = torch.bincount(torch.randint(groups, (m,)), minlength=groups)
        equal = torch.full((groups,), m // groups)
        for name, lengths in ((f"{groups} groups", by_chance), (f"{groups} equal groups", equal)):
            sizes = jnp.asarray(lengths.numpy())
            ends = lengths.cumsum(0).int().cuda()
            calls: Calls = {
                "pyptx": partial(ours, x, w, sizes),
                "torch._grouped_mm": partial(grouped, one, other, ends),
                "jax.lax.ragged_dot": partial(xla, x, w, sizes),
                DENSE: partial(dense, x, w[0]),
            }
            yield f"{name}, {m} x {n} x {k}", 2e-6 * m * n * k, calls


def _eight_bits() -> Iterator[tuple[str, float, Calls]]:
    """e4m3 with a scale for each row and column."""
    for m, n, k in EIGHT_BITS:
        torch.manual_seed(0)
        one, other = (_normal(size, k).to(torch.float8_e4m3fn) for size in (m, n))
        rows, columns = torch.rand(m, 1, device="cuda"), torch.rand(1, n, device="cuda")
        r, c = _shared(rows, columns)
        a, b = (
            jax.lax.bitcast_convert_type(x, jnp.float8_e4m3fn)
            for x in _shared(one.view(torch.uint8), other.view(torch.uint8))
        )
        ours: Any = jax.jit(lambda a, b, r, c: ops.matmul(a, b.T, a_scale=r, b_scale=c))
        scaled: Any = torch._scaled_mm  # noqa: SLF001 - PyTorch has no public name for it
        scales: dict[str, Any] = {"scale_a": rows, "scale_b": columns, "out_dtype": torch.bfloat16}
        calls: Calls = {
            "pyptx": partial(ours, a, b, r, c),
            "cuBLASLt": partial(scaled, one, other.T, **scales),
        }
        yield f"e4m3, scales of rows, {m} x {n} x {k}", 2e-6 * m * n * k, calls
