"""Clocks that multiprocessors take for one large product in bf16, and their rate meanwhile.

The kernel of `ops.matmul` itself reads the clock and the time, in each CTA before its first product
and after its last. A GPU lowers its clock as soon as the tensor cores draw too much current, in a
single call too: the rate that the clock had, times what the tensor cores do in a clock, is the
bound of any kernel there that takes as much for a product. `busy` is the part of the CTAs' clocks
in which their tensor cores multiply. Random normal data, a cold L2 cache.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any, Final
from unittest import mock

import torch
from chrome_trace import busy
from device_time import Flush, in_rounds
from matmul_power import FLOP, LARGE
from matmul_table import CUBLAS
from measure import CONSOLE, Result, Summary, show, start, summarise
from norm_cases import OURS

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx, reg
from pyptx.ops._parameters import with_parameters
from pyptx.ops.tensor_core import arrays, hopper, mainloop, plan
from pyptx.ops.tensor_core.shape import CTAS, Product, Shape
from pyptx.types import bf16, u32, u64

CALLS: Final = 7
WARM: Final = 2
"""Rounds before them, which are not counted."""
PRODUCT: Final = Product(bf16, bf16, bf16)
STAMPED: Final = "with stamps"
STAMPS: Final = 4
"""Of a CTA: the clock and the nanosecond of its first product and of its end."""


def measure(device: dict[str, object]) -> Result:
    """Every product of many rows."""
    result = start("matmul_clocks", device, calls=CALLS, dtype="bf16", layout="KN")
    flush = Flush()
    count = int(torch.cuda.get_device_properties(0).multi_processor_count)
    for sizes in LARGE:
        for found in visit(sizes, flush, count):
            result.put(found)
        CONSOLE.print(f"{sizes}")
    return result


def report(result: Result) -> None:
    """The table, with the clock, what tensor cores do at it, and in how many clocks they did."""
    show(result, {
        "MHz": lambda m: f"{m.notes['clock']:.0f}" if "clock" in m.notes else "",
        "peak": lambda m: f"{m.notes['peak']:.0f}" if "peak" in m.notes else "",
        "busy": lambda m: f"{m.notes['busy']:.1%}" if "busy" in m.notes else "",
    })  # fmt: skip


def visit(sizes: tuple[int, int, int], flush: Flush, count: int) -> list[Summary]:
    """Ours, as it is and with stamps, and cuBLAS, in the same rounds."""
    m, n, k = sizes
    torch.manual_seed(0)
    a, b = (torch.randn(size, device="cuda").bfloat16() for size in ((m, k), (k, n)))
    shape = plan.choose(PRODUCT, m, n, k)
    with_stamps = stamped(PRODUCT, shape, count)
    read: list[Sequence[Sequence[int]]] = []
    calls: dict[str, Callable[[], Any]] = {
        OURS: lambda: plan.operation(PRODUCT, shape)(a, b),
        STAMPED: lambda: with_stamps(a, b)[-1],
        CUBLAS: lambda: a @ b,
    }
    if not torch.equal(calls[OURS](), with_stamps(a, b)[0]):
        raise RuntimeError(f"{sizes}: stamps change the product")

    def kept() -> None:
        read.append(calls[STAMPED]().view(torch.int64).tolist())

    activities = in_rounds({**calls, STAMPED: kept}, CALLS, flush, warm=WARM)
    times = {
        name: [busy([a for a in each if "Memcpy" not in a.name]) for each in activities[name]]
        for name in calls
    }
    work = 2e-6 * m * n * k
    found = [readings_of(each, 1e6 * work, count) for each in read[WARM:]]
    notes = {name: statistics.median(each[name] for each in found) for name in found[0]}
    title = f"{m} x {n} x {k}"
    return [
        summarise(
            f"{title}: {name}", "TFLOP/s", [work / each for each in times[name]],
            m=m, n=n, k=k, candidate=name, **(notes if name == STAMPED else {}),
        )
        for name in calls
    ]  # fmt: skip


def readings_of(stamps: Sequence[Sequence[int]], flop: float, count: int) -> dict[str, float]:
    """Of one call: the clock in MHz, the TFLOP/s of busy tensor cores at it, and the part of the
    CTAs' clocks in which they were busy."""
    there = [each for each in stamps if each[2] > each[0]]
    clocks = [each[2] - each[0] for each in there]
    clock = statistics.median(
        1000 * taken / (each[3] - each[1]) for taken, each in zip(clocks, there, strict=True)
    )
    return {
        "clock": round(clock, 1),
        "peak": round(1e-6 * FLOP * count * clock, 1),
        "busy": round(flop / (FLOP * sum(clocks)), 4),
    }


def stamped(product: Product, shape: Shape, ctas: int = CTAS) -> Kernel:
    """The kernel of a shape with one more result: the clock and the nanosecond of each CTA's first
    product and of its end."""

    def matmul(*tensors: Tensor) -> None:
        *others, stamps = tensors

        class Consumer(mainloop.Consumer):
            def run(self, schedule: Any) -> None:
                begin = _now()
                super().run(schedule)
                cta = reg.from_(ptx.special.ctaid.x(), u32)
                with ptx.if_((self.group == 0) & (self.lane == 0)):
                    for i, value in enumerate((*begin, *_now())):
                        stamps.store(cta, i, value)

        with mock.patch.object(mainloop, "Consumer", Consumer):
            hopper.program(product, shape, others)

    names = [*arrays.names(product, split=shape.split), "STAMPS"]
    over = tuple(arrays.run_time(product)["parallel"])
    results = *arrays.results(product), *hopper.results_of(product, shape, ctas)
    return kernel(
        in_specs=arrays.inputs(product),
        out_specs=(*results, Tile(ctas, STAMPS, u64, init=0, sum_over=over)),
        **arrays.run_time(product),
        **hopper.launch_of(product, shape, ctas),
    )(with_parameters(matmul, names, annotation=Tensor))


def _now() -> tuple[Reg, Reg]:
    return (
        reg.from_(ptx.special.clock64(), u64),
        reg.from_(ptx.special.globaltimer(), u64),
    )
