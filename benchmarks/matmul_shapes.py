"""Every shape of Hopper's matrix product at some sizes: what `ops.tensor_core.plan` chooses by.

For every product and size it prints the device time of each shape, what the plan expects of it, and
which one the plan chooses. Random normal data, a cold L2 cache.

    python benchmarks/matmul_shapes.py --kind bf16 --sizes 64x8192x8192,300x5000x3000 --out FOLDER
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import torch
from chrome_trace import busy
from device_time import Flush, flushed_sequence
from measure import CONSOLE

from pyptx.ops.tensor_core import plan
from pyptx.ops.tensor_core.epilogue import SCALED
from pyptx.ops.tensor_core.shape import BLOCK, Product, Shape
from pyptx.types import bf16, e4m3, f32

SIZES: Final = (
    (64, 8192, 8192), (16, 14336, 4096), (1, 8192, 28672), (300, 5000, 3000), (2048, 2048, 2048),
    (4096, 4096, 4096), (4096, 7168, 2048), (4096, 2112, 7168), (4096, 24576, 1536),
)  # fmt: skip
CALLS: Final = 6
WARM: Final = 2
SCALED_8: Final = Product(e4m3, e4m3, bf16, b_major="K", epilogue=SCALED, batches=(False, False))
KINDS: Final = {
    "bf16": Product(bf16, bf16, bf16),
    "bf16 NK": Product(bf16, bf16, bf16, b_major="K"),
    "f32": Product(bf16, bf16, f32, rounded=True),
    "e4m3": SCALED_8,
    "blocks": Product(e4m3, e4m3, bf16, b_major="K", blocks="block", batches=(False, False)),
}
MORE: Final = (
    Shape(64, 64, stages=12, band=16),
    Shape(128, 64, stages=7, band=16),
    Shape(64, 192, stages=6, band=16),
    Shape(128, 192, stages=4, band=12),
)
"""Shapes that the plan does not know."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--kind", action="append", choices=KINDS, default=[])
    add("--sizes", type=_sizes, default=SIZES)
    add("--more", action="store_true", help="shapes, too, that the plan does not know")
    add("--budget", type=float, default=1e9, metavar="SECONDS", help="begin nothing after them")
    add("--out", type=Path, help="a folder for matmul_shapes.json")
    given = parser.parse_args()
    flush, begin = Flush(), time.monotonic()
    found: list[dict[str, Any]] = []
    for kind in given.kind or KINDS:
        for sizes in given.sizes:
            if time.monotonic() - begin < given.budget:
                found += list(_measured(kind, sizes, flush, more=given.more))
                if given.out:
                    (given.out / "matmul_shapes.json").write_text(json.dumps(found))
    CONSOLE.print(f"{time.monotonic() - begin:.0f} s")


def _sizes(text: str) -> list[tuple[int, ...]]:
    return [tuple(map(int, each.split("x"))) for each in text.split(",")]


def _measured(
    kind: str, sizes: tuple[int, int, int], flush: Flush, *, more: bool
) -> Iterator[dict[str, Any]]:
    product = KINDS[kind]
    calls = dict(_calls(product, sizes, more=more))
    order = [call for call in calls.values() for _ in range(CALLS + WARM)]
    activities = flushed_sequence(order, flush)
    each = CALLS + WARM
    chosen = plan.choose(product, *sizes)
    times = {
        shape: statistics.median(map(busy, activities[i * each + WARM : (i + 1) * each]))
        for i, shape in enumerate(calls)
    }
    m, n, k = sizes
    best = min(times.values())
    CONSOLE.print(f"{kind} {m} x {n} x {k}: {2e-6 * m * n * k / best:.0f} TFLOP/s at best")
    for shape, us in sorted(times.items(), key=lambda item: item[1]):
        known = plan.PROMOTED_CUTS if product.promoted else plan.CUTS
        told = [c for c in known if c.shape == shape]
        model = plan.expected_ns(told[0], product, sizes, 1, plan.CTAS) / 1000 if told else 0
        name = f"{shape.rows}x{shape.columns}/{shape.stages}{' split' if shape.split else ''}"
        mark = "  <- the plan's" if shape == chosen else ""
        CONSOLE.print(f"    {name:16} {us:8.1f} us, modelled {model:8.1f}{mark}")
        yield {
            "kind": kind, "sizes": sizes, "us": us, "rows": shape.rows, "columns": shape.columns,
            "stages": shape.stages, "split": shape.split, "chosen": shape == chosen,
        }  # fmt: skip


def _calls(
    product: Product, sizes: tuple[int, int, int], *, more: bool
) -> Iterator[tuple[Shape, Callable[[], Any]]]:
    arrays, exact = _arrays(product, sizes)
    shapes: Sequence[Shape] = [
        c.shape for c in (plan.PROMOTED_CUTS if product.promoted else plan.CUTS)
    ]
    if more:
        shapes = [*shapes, *MORE, *(replace(shape, split=True) for shape in MORE)]
    for shape in shapes:
        if not plan.fits(shape, product):
            continue
        run: Any = jax.jit(plan.operation(product, shape))
        try:
            found = torch.from_dlpack(run(*arrays)).float()
        except Exception as error:  # noqa: BLE001, a shape that a GPU has no room for is told
            CONSOLE.print(f"    {shape}: {str(error)[:200]}")
            continue
        error = float((found - exact).norm() / exact.norm())
        if not error < 0.02:
            raise RuntimeError(f"{shape} at {sizes} is off by {error}")
        yield shape, lambda run=run: jax.block_until_ready(run(*arrays))


def _arrays(product: Product, sizes: tuple[int, int, int]) -> tuple[list[Any], Any]:
    m, n, k = sizes
    torch.manual_seed(0)
    kind = torch.bfloat16 if product.a is bf16 else torch.float8_e4m3fn
    a = torch.randn(m, k, device="cuda").to(kind)
    b = torch.randn(*((n, k) if product.b_major == "K" else (k, n)), device="cuda").to(kind)
    wide = b.float().T if product.b_major == "K" else b.float()
    if product.blocks is not None:
        shapes = [(m, -(-k // BLOCK)), (-(-k // BLOCK), -(-n // BLOCK))]
    elif product.epilogue is not None:
        shapes = [(m,), (n,)]
    else:
        shapes = []
    scales = [torch.rand(*shape, device="cuda") + 0.5 for shape in shapes]
    one = a.float()
    if product.blocks is not None:
        one = one * scales[0].repeat_interleave(BLOCK, 1)[:, :k]
        spread = scales[1].repeat_interleave(BLOCK, 0)[:k].repeat_interleave(BLOCK, 1)[:, :n]
        wide = wide * spread
    exact = one @ wide
    if scales and product.blocks is None:
        exact = exact * scales[0][:, None] * scales[1]
    packed = [x.view(torch.uint8) if x.dtype == torch.float8_e4m3fn else x for x in (a, b)]
    arrays = [jax.dlpack.from_dlpack(x) for x in (*packed, *scales)]
    eight = jax.numpy.float8_e4m3fn
    if kind is torch.float8_e4m3fn:
        arrays[:2] = [jax.lax.bitcast_convert_type(x, eight) for x in arrays[:2]]
    return arrays, exact


if __name__ == "__main__":
    main()
