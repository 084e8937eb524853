"""Matrix products in bf16 beside their own kernels with parts left out.

products   the tensor cores do all products, of stages that are filled once: what every kernel of
           these tiles takes at least, from its launch to its results, if memory always answers in
           time. The bits are those of the first stages, so they need as much current
copies     all stages are filled, and nothing is multiplied
neither    what launch, mbarriers and the writes of results take

Of `products` the fastest of a few shapes counts; the others are of the chosen one. A goal that asks
for less time than `products` takes is out of reach of kernels of these tiles on the GPU that both
ran on. Random normal data, a cold L2 cache, B as (K, N).
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final
from unittest import mock

import torch
from chrome_trace import busy
from device_time import Flush, in_rounds
from matmul_shapes import named
from matmul_table import CUBLAS, SIZES, candidates, waited
from measure import CONSOLE, Result, Summary, show, start, summarise
from moving import fastest
from norm_cases import OURS

from pyptx import Kernel, Reg, Tensor, ptx, reg
from pyptx.ops.tensor_core import arrays, hopper, mainloop, plan
from pyptx.ops.tensor_core.operands import Operand
from pyptx.ops.tensor_core.schedule import Schedule, low
from pyptx.ops.tensor_core.shape import CTAS, Product, Shape, barrier_of
from pyptx.ops.tensor_core.times import Call, expected_ns
from pyptx.types import bf16, u32

CALLS: Final = 8
WARM: Final = 2
"""Rounds before them, which are not counted."""
SHAPES: Final = 3
"""That are measured without copies: the chosen one, and the next by what is expected of them."""
PRODUCT: Final = Product(bf16, bf16, bf16)
GOALS: Final = dict(zip(
    SIZES, (1.03, 1.04, 1.05, 1.05, 1.02, 1.05, 1.02, 1.08, 1.25, 1.25, None, 1.15), strict=True
))  # fmt: skip
"""Of cuBLAS's rate, at least. That of one row is a share of the time to read B."""
LEFT: Final = {"products": (False, True), "copies": (True, False), "neither": (False, False)}
"""Whether a kernel has all copies, and whether it has products."""


def measure(device: dict[str, object]) -> Result:
    """Every size of `matmul_table`."""
    result = start("matmul_floors", device, calls=CALLS, dtype="bf16", layout="KN")
    flush = Flush()
    for sizes in SIZES:
        for found in visit(sizes, flush):
            result.put(found)
        CONSOLE.print(f"{sizes}")
    return result


def report(result: Result) -> None:
    """The table, with the shape of each kernel."""
    show(result, {"shape": lambda m: str(m.notes.get("way", ""))})


def visit(sizes: tuple[int, int, int], flush: Flush, where: str = "cuda") -> list[Summary]:
    """Ours, cuBLAS's and the kernels with parts left out, in the same rounds."""
    m, n, k = sizes
    torch.manual_seed(0)
    a, b = (torch.randn(size, device=where).bfloat16() for size in ((m, k), (k, n)))
    calls: dict[tuple[str, str], Callable[[], Any]] = {}
    for who, (call, _) in candidates(sizes, "KN", quack=False).items():
        calls[who, ""] = waited(call)
    tried = shapes(sizes)
    for left, (copies, products) in LEFT.items():
        for shape in tried[: SHAPES if products else 1]:
            call = partial(parts(PRODUCT, shape, copies=copies, products=products), a, b)
            call()
            calls[left, named(shape)] = call
    activities = in_rounds(calls, CALLS, flush, warm=WARM)
    times = {key: [busy(each) for each in found] for key, found in activities.items()}
    found: list[Summary] = []
    for who in (OURS, CUBLAS, "XLA", *LEFT):
        ways = {way: each for (name, way), each in times.items() if name == who}
        way = fastest(ways)
        found.append(summarise(
            f"{m} x {n} x {k}: {who}", "us", ways[way], m=m, n=n, k=k, candidate=who,
            **({"way": way} if way else {}),
            **({"goal": goal} if who == OURS and (goal := GOALS.get(sizes)) else {}),
        ))  # fmt: skip
    return found


def shapes(sizes: tuple[int, int, int]) -> list[Shape]:
    """The chosen one first, then those of which least time is expected."""
    chosen = plan.choose(PRODUCT, *sizes)
    fit = plan.fitting(plan.cuts(PRODUCT), PRODUCT, sizes[0])
    order = sorted(fit, key=lambda cut: expected_ns(cut, Call(PRODUCT, sizes)))
    return [chosen, *(cut.shape for cut in order if cut.shape != chosen)]


def parts(
    product: Product, shape: Shape, *, copies: bool, products: bool, ctas: int = CTAS
) -> Kernel:
    """The kernel of a shape; without all `copies` each stage is filled once, and without
    `products` nothing is multiplied. What it writes is not the product."""

    class Consumer(mainloop.Consumer):
        def multiply(
            self, sums: mainloop.Sums, stage: Reg, blocks: Sequence[int], *, add: bool = True
        ) -> None:
            if products:
                super().multiply(sums, stage, blocks, add=add)
            else:  # one thread gives a stage back for the warpgroup, which `wgmma` keeps together
                barrier_of(self.group).sync()

    def matmul(*tensors: Tensor) -> None:
        produce = mainloop.produce if copies else once
        with mock.patch.multiple(mainloop, Consumer=Consumer, produce=produce):
            hopper.program(product, shape, tensors)

    more = hopper.results_of(product, shape, ctas)
    return arrays.kernel_of(product, matmul, more=more, **hopper.launch_of(product, shape, ctas))


def once(ring: Any, a: Operand, b: Operand, schedule: Schedule, depth: int, *policy: Reg) -> None:
    """`mainloop.produce` with copies for as many stages as there are. One thread."""
    state = ring.producer()
    shared = a.shared or b.shared
    filled = reg.scalar(u32, init=0)
    with schedule.placed() as (item, place):
        k = low(item.first, depth)
        boxes = b.boxes(place.column)
        for _ in ptx.range_(0, item.steps, dtype=u32):
            full = mainloop.acquire(ring, state, shared=shared)
            with ptx.if_(filled < ring.n_stages):
                full.arrive_expect_tx(a.bytes + b.bytes)
                a.fetch(state.stage, full, place.row, k, place.matrix)
                b.fetch(state.stage, full, place.column, k, place.matrix, *policy, boxes=boxes)
            with ptx.else_():
                full.arrive()
            filled += 1
            k += depth
            state.advance()
    if shared:
        for _ in ptx.range_(0, ring.n_stages, dtype=u32):
            mainloop.acquire(ring, state, shared=True)
            state.advance()
