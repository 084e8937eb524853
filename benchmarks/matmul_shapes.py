"""Every shape of Hopper's matrix product at some sizes: what `ops.tensor_core.plan` chooses by.

For every kind of product and size it measures the device time of each shape that the plan knows,
but for those that it expects to take far longer than others. The notes say what the plan expects of
it and which one it chooses. Random normal data, a cold L2 cache, the time of everything on the
device that a call starts. All kernels are assembled first, by as many threads as there are cores.
Calls are those of PyTorch, which compiles no program for each size: with JAX that took 2.6 s a
size, most of all the time. `--budget` ends it, and `--resume` goes on.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import torch
from block_scaled_table import PUBLISHED
from chrome_trace import busy
from compile_products import KINDS, spelled
from device_time import Flush, in_rounds
from matmul_sweep import WEIGHTS
from measure import Result, Summary, show, start, summarise
from norm_cases import Options
from norm_visit import free
from sweeps import sweep, unlimited

from pyptx.ops.tensor_core import hopper, plan
from pyptx.ops.tensor_core.shape import BLOCK, Product, Shape
from pyptx.types import bf16

Call = Callable[[], Any]
Calls = dict[Shape, Call]
LARGE: Final = (
    (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 2048),
    (4096, 2112, 7168), (4096, 24576, 1536),
)  # fmt: skip
FEW_ROWS: Final = (
    (1, 8192, 28672), (8, 2048, 8192), (8, 4096, 4096), (16, 14336, 4096), (16, 4096, 14336),
    (32, 5120, 5120), (64, 8192, 8192), (64, 4096, 4096), (64, 28672, 8192), (128, 8192, 8192),
    (304, 4992, 3072),
)  # fmt: skip
DECODING: Final = tuple((m, n, k) for m in plan.LOW for n, k in WEIGHTS)
"""The weights of models, with as many rows as have kernels of their own."""
SOME_ROWS: Final = (
    (192, 8192, 8192), (256, 4096, 4096), (300, 4096, 14336), (384, 14336, 4096),
    (512, 4096, 4096), (512, 8192, 8192),
)  # fmt: skip
SHARED_WEIGHTS: Final = (
    *((m, n, k) for m in (128, 256, 512) for n, k in WEIGHTS),
    (192, 4096, 4096), (192, 14336, 4096), (257, 4096, 4096), (320, 5120, 5120), (320, 8192, 8192),
    (384, 4096, 4096), (384, 8192, 8192),
)  # fmt: skip
"""Rows of which the CTAs of a cluster have 64 each."""
SWEPT: Final = (
    (16, 10240, 8192), (16, 28672, 8192), (16, 8192, 28672), (16, 2112, 7168), (64, 8192, 28672),
    (128, 4096, 14336), (128, 10240, 8192), (256, 6144, 4096), (256, 8192, 8192),
    (256, 28672, 8192), (256, 5120, 5120), (256, 7168, 2048), (256, 24576, 1536),
    (512, 14336, 4096), (512, 4096, 14336), (512, 10240, 8192), (512, 5120, 13824),
    (512, 2112, 7168), (1024, 5120, 5120), (1024, 2112, 7168), (1024, 7168, 2048),
    (2048, 14336, 4096), (2048, 5120, 5120), (2048, 2112, 7168), (2048, 24576, 1536),
    (8192, 28672, 8192), (128, 2112, 7168), (128, 5120, 13824), (128, 8192, 28672),
    (128, 24576, 1536), (128, 28672, 8192), (256, 4096, 14336), (256, 10240, 8192),
    (512, 5120, 5120), (1024, 5120, 13824), (2048, 7168, 2048), (2048, 4096, 4096),
    (2048, 5120, 13824), (4096, 5120, 13824), (4096, 4096, 14336), (512, 8192, 28672),
    (8192, 7168, 2048), (1024, 10240, 8192), (256, 13824, 5120), (1024, 14336, 4096),
    (16384, 10240, 8192), (16384, 4096, 4096), (16384, 8192, 8192), (16384, 7168, 2048),
)  # fmt: skip
"""Where matmul_sweep found cuBLAS ahead."""
ODD_LINES: Final = ((300, 5000, 3000), (500, 5000, 3000), (1000, 5000, 3000), (4096, 5000, 3000))
"""Rows in memory are no multiple of 128 bytes."""
ALL: Final = tuple(
    dict.fromkeys((*LARGE, *FEW_ROWS, *DECODING, *SOME_ROWS, *SHARED_WEIGHTS, *ODD_LINES, *SWEPT))
)
CALLS: Final = 6
WARM: Final = 2
"""Rounds before them, which are not counted."""
FAR: Final = 1.8
"""Times the least time that is expected: more is not measured."""
NEAR: Final = 1.3
"""The same of a shape whose times are guessed from a similar one's."""
CLOSE: Final = 0.02
"""The largest distance from the product in f32, over its length."""
SIZES: Final = {
    "bf16": ALL,
    "bf16, B as (N, K)": ALL,
    "f32 as bf16": ((1024, 1024, 6144), (4096, 4096, 4096), (64, 8192, 8192)),
    "e4m3": (*FEW_ROWS, *SOME_ROWS, (4096, 7168, 2048)),
    "blocks": (
        (64, 8192, 8192),
        *PUBLISHED,
        *dict.fromkeys((m, n, k) for m in plan.LOW for _, n, k in PUBLISHED),
    ),
}  # fmt: skip


def products() -> dict[str, tuple[str, tuple[int, int, int]]]:
    """Every kind of product at every size, by their titles."""
    return {f"{kind}, {spelled(sizes)}": (kind, sizes) for kind in KINDS for sizes in SIZES[kind]}


def measure(device: dict[str, object], options: Options) -> Result:
    """Every kind of product at every size that begins within the budget, by every shape."""
    result = start("matmul_shapes", device, calls=CALLS)
    assemble()
    flush = Flush()
    cases = [(f"{title}: ", partial(visit, title, flush)) for title in products()]
    sweep(result, unlimited(options), cases)
    return result


def assemble() -> None:
    """Have all kernels assembled, which keeps their cubins in pyptx's folder of them."""
    kernels = [
        (product, cut.shape)
        for product in KINDS.values()
        for cut in plan.candidates(product)
        if plan.fits(cut.shape, product)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for kernel in [pool.submit(hopper.build(*each).cubin) for each in kernels]:
            kernel.result()


def visit(title: str, flush: Flush) -> tuple[list[Summary], dict[str, str]]:
    """A product's measurements; none fails."""
    kind, sizes = products()[title]
    calls = _calls(KINDS[kind], sizes)
    found = list(_measured(title, calls, flush))
    del calls
    free()
    return found, {}


def report(result: Result) -> None:
    """The table."""
    show(result, {"expected": lambda m: f"{m.notes['expected']:.1f} us", "chosen": _mark})


def _mark(measured: Summary) -> str:
    return "*" if measured.notes["chosen"] else ""


def _measured(title: str, calls: Calls, flush: Flush) -> Iterator[Summary]:
    kind, sizes = products()[title]
    product = KINDS[kind]
    activities = in_rounds(calls, CALLS, flush, warm=WARM)
    chosen = plan.choose(product, *sizes)
    expected = {
        cut.shape: plan.expected_ns(cut, plan.Call(product, sizes)) / 1000
        for cut in plan.candidates(product)
    }
    m, n, k = sizes
    for shape, found in activities.items():
        times = [busy(call) for call in found]
        yield summarise(
            f"{title}: {named(shape)}", "us", times, kind=kind, m=m, n=n, k=k,
            rows=shape.rows, columns=shape.columns, blocks=shape.blocks, stages=shape.stages,
            split=shape.split, cluster=shape.cluster, clustered=shape.clustered,
            pingpong=shape.pingpong, transposed=shape.transposed,
            expected=expected[shape], chosen=shape == chosen,
        )  # fmt: skip


def named(shape: Shape) -> str:
    """Its tile, and how CTAs and warpgroups work together on it."""
    name = f"{shape.rows} x {shape.columns}{', split' * shape.split}"
    if shape.cluster is not None:
        count = f"{shape.clustered} " * (shape.clustered > 2)
        name += f", clusters of {count}{shape.cluster}"
    return name + ", by turns" * shape.pingpong + ", transposed" * shape.transposed


def likely(product: Product, sizes: tuple[int, int, int]) -> list[Shape]:
    """The shapes to measure: those expected to be not too slow, of those that have not been
    measured those expected to be fast."""
    known = {cut.shape for cut in plan.cuts(product)}
    call = plan.Call(product, sizes)
    expected = {
        cut.shape: plan.expected_ns(cut, call)
        for cut in plan.fitting(plan.candidates(product), product, sizes[0])
    }
    least = min(time for shape, time in expected.items() if shape in known)
    return [
        shape
        for shape, time in expected.items()
        if time < (FAR if shape in known else NEAR) * least
    ]


def _calls(product: Product, sizes: tuple[int, int, int], place: str = "cuda") -> Calls:
    """A call for every shape that is measured, each checked."""
    arrays, exact = _arrays(product, sizes, place)
    found: Calls = {}
    for shape in likely(product, sizes):
        run: Any = partial(plan.operation(product, shape), *arrays)
        error = float((run().float() - exact).norm() / exact.norm())
        if not error < CLOSE:
            raise RuntimeError(f"{shape} at {sizes} is off by {error}")
        found[shape] = run
    return found


def _arrays(
    product: Product, sizes: tuple[int, int, int], place: str = "cuda"
) -> tuple[list[Any], Any]:
    """What the kernel takes, and the product in f32."""
    m, n, k = sizes
    torch.manual_seed(0)
    kind = torch.bfloat16 if product.a is bf16 else torch.float8_e4m3fn
    a = torch.randn(m, k, device=place).to(kind)
    b = torch.randn(*((n, k) if product.b_major == "K" else (k, n)), device=place).to(kind)
    left, right = a.float(), b.float().T if product.b_major == "K" else b.float()
    scales: list[Any] = []
    if product.blocks is not None:
        shapes = (m, -(-k // BLOCK)), (-(-k // BLOCK), -(-n // BLOCK))
        scales = [torch.rand(*shape, device=place) + 0.5 for shape in shapes]
        left = left * scales[0].repeat_interleave(BLOCK, 1)[:, :k]
        spread = scales[1].repeat_interleave(BLOCK, 0)[:k].repeat_interleave(BLOCK, 1)[:, :n]
        right = right * spread
    exact = left @ right
    if product.epilogue is not None:
        scales = [torch.rand(size, device=place) + 0.5 for size in (m, n)]
        exact = exact * scales[0][:, None] * scales[1]
    return [a, b, *scales], exact
