"""Products whose tiles are split along K: sums added in a fixed order, and by atomic additions.

`ops.matmul` gives the same bits in every run: a CTA adds the others' sums to its own in their
order. Atomic additions into one sum would come in any order. They need sums that are cleared
first; their time is measured with that and without. Random normal data, a cold L2 cache.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from unittest import mock

import torch
from chrome_trace import Activity, busy
from device_time import Flush, in_rounds
from measure import CONSOLE, Result, Summary, show, start, summarise

from pyptx import Kernel, Reg, Tensor, Tile, ptx, reg
from pyptx.ops.tensor_core import arrays, hopper, plan, workspace
from pyptx.ops.tensor_core.schedule import Share, low
from pyptx.ops.tensor_core.shape import CTAS, Product, Shape
from pyptx.ops.tensor_core.workspace import VECTOR
from pyptx.types import bf16

CALLS: Final = 12
WARM: Final = 2
"""Rounds before them, which are not counted."""
PRODUCT: Final = Product(bf16, bf16, bf16)
SIZES: Final = (
    (64, 4096, 14336), (128, 4096, 14336), (256, 4096, 14336), (256, 5120, 5120),
    (512, 2112, 7168), (512, 5120, 13824), (512, 10240, 8192), (1024, 2112, 7168),
    (1024, 5120, 5120), (1024, 5120, 13824), (2048, 2112, 7168), (2048, 5120, 5120),
)  # fmt: skip
ORDERED: Final = "in order"
ATOMIC: Final = "atomic"
UNCLEARED: Final = "atomic, without clearing"
CLOSE: Final = 0.02
"""The largest distance from the product in f32, over its length."""


def measure(device: dict[str, object]) -> Result:
    """Every size, by the tile that is chosen for it, split."""
    result = start("matmul_sums", device, calls=CALLS, dtype="bf16", layout="KN")
    flush = Flush()
    for sizes in SIZES:
        for found in visit(sizes, flush):
            result.put(found)
        CONSOLE.print(f"{sizes}")
    return result


def report(result: Result) -> None:
    """The table."""
    show(result)


def visit(sizes: tuple[int, int, int], flush: Flush) -> list[Summary]:
    """Both kernels, checked, in the same rounds."""
    m, n, k = sizes
    torch.manual_seed(0)
    a, b = (torch.randn(size, device="cuda").bfloat16() for size in ((m, k), (k, n)))
    exact = a.float() @ b.float()
    shape = split_shape(sizes)
    calls: dict[str, Callable[[], Any]] = {}
    for name, build in ((ORDERED, hopper.build), (ATOMIC, atomic)):
        calls[name] = partial(_product, build(PRODUCT, shape), a, b)
        error = float((calls[name]().float() - exact).norm() / exact.norm())
        if not error < CLOSE:
            raise RuntimeError(f"{name}, {sizes}: off by {error}")
    activities = in_rounds(calls, CALLS, flush, warm=WARM)
    activities[UNCLEARED] = [uncleared(call) for call in activities[ATOMIC]]
    title = f"{m} x {n} x {k}"
    return [
        summarise(
            f"{title}: {name}", "us", [busy(call) for call in found],
            m=m, n=n, k=k, rows=shape.rows, columns=shape.columns, candidate=name,
        )
        for name, found in activities.items()
    ]  # fmt: skip


def _product(made: Kernel, a: Any, b: Any) -> Any:
    """D of a kernel that gives its workspace, too."""
    return made(a, b)[0]


def uncleared(call: Sequence[Activity]) -> list[Activity]:
    """A call's activities but for what clears memory."""
    return [activity for activity in call if "memset" not in activity.name.lower()]


def split_shape(sizes: tuple[int, int, int]) -> Shape:
    """The shape that is chosen, or the fastest one whose tiles may be split."""
    chosen = plan.choose(PRODUCT, *sizes)
    if chosen.split:
        return chosen
    call = plan.Call(PRODUCT, sizes)
    cuts = [cut for cut in plan.fitting(plan.cuts(PRODUCT), PRODUCT, sizes[0]) if cut.shape.split]
    return min(cuts, key=lambda cut: plan.expected_ns(cut, call)).shape


def atomic(product: Product, shape: Shape, ctas: int = CTAS) -> Kernel:
    """The kernel of a shape whose CTAs add their sums of a unit to one sum of it in memory."""

    def matmul(*tensors: Tensor) -> None:
        with mock.patch.object(workspace, "Workspace", Atomic):
            hopper.program(product, shape, tensors)

    sums, flags = hopper.results_of(product, shape, ctas)
    zeros = Tile(*sums.dims, sums.dtype, sum_over=sums.sum_over, init=0)
    more = zeros, flags
    return arrays.kernel_of(product, matmul, more=more, **hopper.launch_of(product, shape, ctas))


@dataclass(frozen=True, slots=True)
class Atomic(workspace.Workspace):
    """Sums of a unit that all CTAs but its own add to the first share's place."""

    def _first(self, share: Share, where: tuple[int, Reg, Reg]) -> object:
        return self._place(share, low(share.index, 0), where)

    def give(
        self, share: Share, where: tuple[int, Reg, Reg], values: Sequence[Reg],
        parts: Sequence[tuple[Reg, Sequence[range]]],
    ) -> None:  # fmt: skip
        """Add this CTA's sums of the others' units to those of the others, in any order."""
        place, add = self._first(share, where), ptx.inst["red.relaxed.gpu.global.add.v4.f32"]
        for mine, some in parts:
            with ptx.if_(~mine):
                for i in (i for part in some for i in part[::VECTOR]):
                    add(ptx.addr(place, self._bytes(i)), list(values[i : i + VECTOR]))

    def add(
        self, share: Share, where: tuple[int, Reg, Reg], values: Sequence[Reg], part: range
    ) -> None:
        """Add what the others have added up, of a tile that is shared."""
        with ptx.if_(share.count > 1):
            place = self._first(share, where)
            for i in part[::VECTOR]:
                found = [reg.scalar(self.sums.dtype) for _ in range(VECTOR)]
                ptx.inst.ld.global_.v4.f32(found, ptx.addr(place, self._bytes(i)))
                for value, other in zip(values[i : i + VECTOR], found, strict=True):
                    value.set(value + other)
