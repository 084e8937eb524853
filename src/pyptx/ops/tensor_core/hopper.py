"""A matrix product for Hopper: TMA fetches, `wgmma` multiplies, TMA stores."""

from __future__ import annotations

from collections.abc import Sequence

from pyptx import Kernel, Reg, Tensor, ptx, reg
from pyptx.ops.tensor_core import arrays, mainloop, workspace
from pyptx.ops.tensor_core.operands import operand
from pyptx.ops.tensor_core.result import Result
from pyptx.ops.tensor_core.schedule import Item, Place, Schedule
from pyptx.ops.tensor_core.shape import WARPGROUP, Product, Shape
from pyptx.types import u32


def build(product: Product, shape: Shape, ctas: int = 132) -> Kernel:
    """The kernel of A, B to D, on `ctas` CTAs at most.

    Rows of A, B and D are multiples of 16 bytes. With `shape.split` it has a workspace and flags as
    further results.
    """

    tiles = f"cdiv(M, {shape.rows}) * cdiv(N, {shape.columns})" + " * G" * product.batched

    def matmul(A: Tensor, B: Tensor, D: Tensor) -> None:
        program(product, shape, A, B, D)

    def matmul_split(A: Tensor, B: Tensor, D: Tensor, SUMS: Tensor, FLAGS: Tensor) -> None:
        program(product, shape, A, B, D, workspace.Workspace(SUMS, FLAGS, shape))

    over = arrays.parallel(product)
    return arrays.kernel_of(
        product,
        matmul_split if shape.split else matmul,
        grid=ctas if shape.split else f"min({tiles}, {ctas})",
        more=workspace.tiles(shape, ctas, over) if shape.split else (),
        block=shape.threads,
        arch="sm_90a",
        # With one CTA on an SM, `setmaxnreg` has registers to give.
        **({} if shape.registers is None else {"minnctapersm": 1}),
        cooperative=shape.split,
    )


def program(
    product: Product, shape: Shape, A: Tensor, B: Tensor, D: Tensor,
    shared: workspace.Workspace | None = None,
) -> None:  # fmt: skip
    """The kernel's body."""
    a = operand(A, product.a_major, shape.rows, shape.stages, product.a_batched)
    b = operand(B, product.b_major, shape.columns, shape.stages, product.b_batched)
    ring = ptx.ring(shape.stages, consumers=shape.groups)
    result = Result(D, product, shape)
    sizes = arrays.sizes(product, A, D)
    thread = reg.from_(ptx.special.tid.x(), u32)
    schedule = Schedule(shape, sizes, (sizes.k + (product.depth - 1)) // product.depth)

    with ptx.if_(thread == 0):
        ring.init()
        ptx.fence.mbarrier_init()
    ptx.bar.sync()
    with ptx.if_(thread < WARPGROUP):
        if shape.registers is not None:
            ptx.setmaxnreg(shape.registers[0], inc=False)
        with ptx.if_(thread == 0):
            mainloop.produce(ring, a, b, schedule, product.depth)
    with ptx.else_():
        if shape.registers is not None:
            ptx.setmaxnreg(shape.registers[1])
        lane = (thread - WARPGROUP) & (WARPGROUP - 1)
        # The same in all lanes, which the assembler knows of a shuffle: descriptors are uniform.
        group = ptx.inst.shfl.sync.idx.b32((thread - WARPGROUP) >> 7, 0, 31, 0xFFFFFFFF)

        def finish(item: Item, place: Place, block: int, values: Sequence[Reg]) -> None:
            share = item.share
            if shared is None or share is None:
                result.write(place, block, group, lane, values)
                return
            with ptx.if_(share.index == (share.owner if block else 0)):
                shared.take(share, block, group, lane, values)
                result.write(place, block, group, lane, values)
            with ptx.else_():
                shared.give(share, block, group, lane, values)

        consumer = mainloop.Consumer(product, shape, ring, a, b, group, lane, finish)
        consumer.run(schedule)
        result.finish(lane)
