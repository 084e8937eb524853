"""A matrix product for Hopper: TMA fetches, `wgmma` multiplies, TMA stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pyptx import Kernel, Reg, Tensor, Tile, ptx, reg
from pyptx.device import WARP
from pyptx.ops.tensor_core import arrays, mainloop, scale_stages, workspace
from pyptx.ops.tensor_core.cluster_sums import ClusterSums
from pyptx.ops.tensor_core.elements import Elements
from pyptx.ops.tensor_core.operands import Operand, Team, is_read_once, leaves_first, operand
from pyptx.ops.tensor_core.promoted import promoting
from pyptx.ops.tensor_core.ragged import Groups, Parts, Rows
from pyptx.ops.tensor_core.result import Results, TransposedResults
from pyptx.ops.tensor_core.scales import Scales
from pyptx.ops.tensor_core.schedule import Item, Place, Schedule
from pyptx.ops.tensor_core.shape import (
    CTAS,
    ROWS,
    WARPGROUP,
    Product,
    Shape,
    clusters_at_once,
    rank_of,
)
from pyptx.types import u32

FEW_REGISTERS: Final = 24
"""Of a thread that fetches."""
MANY_REGISTERS: Final = 240
"""Of a thread that multiplies."""
BEGINS: Final = WARP
"""The thread that makes the mbarriers, of another warp than the one that fetches first."""


def build(product: Product, shape: Shape, ctas: int = CTAS) -> Kernel:
    """The kernel of A, B, and the epilogue's arrays to D, on `ctas` CTAs at most.

    Rows of A, B and D are multiples of 16 bytes. With `shape.split` it has a workspace and flags as
    further results.
    """

    def matmul(*tensors: Tensor) -> None:
        program(product, shape, tensors)

    more = results_of(product, shape, ctas)
    return arrays.kernel_of(product, matmul, more=more, **launch_of(product, shape, ctas))


def results_of(product: Product, shape: Shape, ctas: int = CTAS) -> tuple[Tile, ...]:
    """Further results: the workspace and the flags, where tiles are split."""
    over = arrays.run_time(product)["parallel"]
    return workspace.tiles(shape, ctas, over, product.sum) if shape.split else ()


def launch_of(product: Product, shape: Shape, ctas: int = CTAS) -> dict[str, Any]:
    """The options of the kernel that say how it is launched."""
    return {
        "grid": ctas if shape.split else _grid(product, shape, ctas),
        "block": shape.threads,
        "cluster": (shape.cluster_size, 1, 1),
        "arch": "auto",
        # With one CTA on an SM, `setmaxnreg` has registers to give.
        **({"minnctapersm": 1} if shape.groups > 1 else {}),
        "cooperative": shape.split,
    }


def _grid(product: Product, shape: Shape, ctas: int) -> str:
    """As many CTAs as there are tiles, but not more than `ctas`; whole clusters."""
    each = shape.cluster_size
    if shape.cluster == "depth":  # threads that fetch the next tile would not come to a barrier
        return f"{arrays.tiles(product, shape.rows, shape.columns)} * {each}"
    tile = shape.all_rows, shape.all_columns
    tiles = arrays.tiles(product, *(reversed(tile) if shape.transposed else tile))
    most = clusters_at_once(each, ctas) * each
    return f"min({tiles}{f' * {each}' * (each > 1)}, {most})"


def program(product: Product, shape: Shape, tensors: Sequence[Tensor]) -> None:
    """The kernel's body."""
    names = arrays.names(product, split=shape.split)
    named = dict(zip(names, tensors, strict=True))
    if shape.transposed:
        product = product.transposed
        named |= {"A": named["B"], "B": named["A"]}
    rank = _rank(shape)
    a, b = _factors(product, shape, named, rank)
    ring = ptx.ring(shape.stages, consumers=shape.readers)
    sizes = _sizes(product, shape, named)
    operands = [named[name] for name in names if name[0] == "E"]
    elements = Elements(product, sizes, operands, named.get("AMAX"))
    thread = reg.from_(ptx.special.tid.x(), u32)
    scales = _scales(product, shape, sizes, named)
    end = _End.of(product, shape, named, elements, rank)
    with ptx.if_(thread == BEGINS):
        more = () if scales is None else (scales,)
        results = [described for each in (*more, end) for described in each.maps]
        _begin(
            [*a.every_map, *b.every_map, *results],
            [ring, *(each.ring for each in more), *end.mbarriers],
        )
    steps = (sizes.k + (product.depth - 1)) // product.depth
    if product.ragged is None:
        schedule = Schedule(shape, sizes, steps, shape.columns // product.factors)
        schedule.begin()
        _everybody(shape)
    else:
        groups = _groups(product, shape, sizes, named)
        with ptx.if_(thread < WARP):
            groups.fill(thread)
        _everybody(shape)
        schedule = _schedule(product, shape, sizes, steps, groups)
    with ptx.if_(thread < WARPGROUP):
        _give_registers(shape, FEW_REGISTERS, inc=False)
        if scales is not None:
            with ptx.if_((thread >> 5) == scale_stages.FETCHING):
                scales.fetch(schedule, thread & (WARP - 1))
        with ptx.if_(thread == 0):
            fetch = partial(mainloop.produce, ring, a, b, schedule, product.depth)
            if scales is not None:
                fetch = partial(fetch, before=scales.copies().before)
            _fetching(product, shape, fetch, schedule, sizes.n)
        end.leave()
    with ptx.else_():
        _give_registers(shape, MANY_REGISTERS, inc=True)
        lane = (thread - WARPGROUP) & (WARPGROUP - 1)
        # The same in all lanes, which the assembler knows of a shuffle: descriptors are uniform.
        group = ptx.inst.shfl.sync.idx.b32((thread - WARPGROUP) >> 7, 0, 31, 0xFFFFFFFF)
        consumer = mainloop.Consumer(
            product, shape, ring, a, b, group, lane, partial(end.finish, group, lane)
        )
        if product.promoted:
            consumer = promoting(consumer, scales)
        consumer.run(schedule)
        end.wait(lane)


def _sizes(product: Product, shape: Shape, named: dict[str, Tensor]) -> arrays.Sizes:
    """Those of the product that the kernel makes."""
    found = arrays.sizes(product, named["A"], named["D"])
    return found.transposed if shape.transposed else found


def _rank(shape: Shape) -> Reg | None:
    """A CTA's rank in its cluster, if there are any."""
    if shape.cluster is None:
        return None
    # %cluster_ctarank would be read in each stage.
    return rank_of(reg.from_(ptx.special.ctaid.x(), u32), shape.clustered)


def _give_registers(shape: Shape, count: int, *, inc: bool) -> None:
    """Of a thread; with one warpgroup that multiplies, all have enough."""
    if shape.groups > 1:
        ptx.setmaxnreg(count, inc=inc)


def _begin(maps: Sequence[Any], rings: Sequence[Any]) -> None:
    """Have tensor maps brought near, and make the mbarriers. One thread."""
    for described in maps:
        ptx.inst.prefetch.tensormap(ptx.addr(described))
    for ring in rings:
        ring.init()
    ptx.fence.mbarrier_init()


def _fetching(
    product: Product, shape: Shape, fetch: Callable[..., None], schedule: Schedule, columns: Reg
) -> None:
    """Fetch A and B; lines of B that are read once leave the cache first."""
    if not _may_read_once(product, shape):
        fetch()
        return
    with ptx.if_(is_read_once(schedule.down == 1, columns, schedule.steps)):
        fetch(leaves_first())
    with ptx.else_():
        fetch()


def _may_read_once(product: Product, shape: Shape) -> bool:
    """Whether kernels of this shape are those for few rows of D, and a matrix B is for one A."""
    alone = product.b_batched or not product.a_batched
    few = shape.rows <= ROWS and not shape.transposed
    return few and product.ragged is None and alone


def _everybody(shape: Shape) -> None:
    """Wait for all threads of the cluster, after `fence.mbarrier_init`."""
    if not shape.shares:
        if shape.cluster == "depth":  # who adds up sums waits for others then
            ptx.cluster.arrive(relaxed=True)
        ptx.bar.sync()
        return
    # The fence is the release of the mbarriers, and threads have written nothing else.
    ptx.cluster.arrive(relaxed=True)
    ptx.cluster.wait()


@dataclass(frozen=True, slots=True)
class _End:
    """What is done about the end of a tile."""

    result: Results | ClusterSums
    shared: workspace.Workspace | None

    @staticmethod
    def of(
        product: Product,
        shape: Shape,
        named: dict[str, Tensor],
        elements: Elements,
        rank: Reg | None,
    ) -> _End:
        results = [tensor for name, tensor in named.items() if name.startswith("D")]
        if shape.cluster == "depth":
            assert rank is not None
            return _End(ClusterSums.of(results, product, shape, elements, rank), None)
        shared = workspace.Workspace(named["SUMS"], named["FLAGS"], shape) if shape.split else None
        made = TransposedResults if shape.transposed else Results
        return _End(made(results, product, shape, elements), shared)

    @property
    def maps(self) -> Sequence[Any]:
        """The tensor maps of what is written."""
        return self.result.maps if isinstance(self.result, Results) else ()

    @property
    def mbarriers(self) -> Sequence[ClusterSums]:
        """What has mbarriers to be made."""
        return [self.result] if isinstance(self.result, ClusterSums) else []

    def leave(self) -> None:
        """What threads that do not multiply do in the end."""
        if isinstance(self.result, ClusterSums):
            ptx.cluster.wait()  # each `arrive` has its `wait`

    def wait(self, lane: Reg) -> None:
        """Until shared memory is no longer read."""
        if isinstance(self.result, Results):
            self.result.finish(lane)

    def finish(
        self, group: Reg, lane: Reg, item: Item, place: Place, block: int, values: Sequence[Reg]
    ) -> None:
        """Write a block's sums, or give them to the CTA that adds them up. A warpgroup."""
        if isinstance(self.result, ClusterSums):
            self.result.write(place, group, lane, values)
            return
        share, shared, where = item.share, self.shared, (block, group, lane)
        if shared is None or share is None:
            self.result.write(place, *where, values)
            return
        parts = self.result.units(values)
        owned = [shared.owned(share, i, len(parts), *where[:2]) for i in range(len(parts))]
        units = list(zip(owned, parts, strict=True))
        with ptx.if_(share.count > 1):
            shared.give(share, where, values, units)
            shared.release(share, *where)
            some = owned[0]
            for mine in owned[1:]:
                some = some | mine
            with ptx.if_(some):
                shared.wait(share, *where)
        # One write for whole tiles, of which this CTA has all units, and for shared ones: the
        # assembler takes most of its time for writes.
        for i, (mine, some_parts) in enumerate(units):
            with ptx.if_(mine):
                for part in some_parts:
                    shared.add(share, where, values, part)
                follows = owned[i - 1] if i else None
                self.result.write(place, *where, values, unit=i, follows=follows)


def _scales(
    product: Product, shape: Shape, sizes: arrays.Sizes, named: dict[str, Tensor]
) -> scale_stages.ScaleStages | None:
    """The block scales, if there are any."""
    if product.blocks is None:
        return None
    scales = Scales(product, sizes, named["A_SCALE"], named["B_SCALE"])
    return scale_stages.ScaleStages.of(scales, shape)


def _factors(
    product: Product, shape: Shape, named: dict[str, Tensor], rank: Reg | None
) -> tuple[Operand, Operand]:
    tensors = [named[name] for name in "BC" if name in named]
    of_a, of_b = _teams(shape, rank)
    return (
        operand([named["A"]], product.a_major, shape.rows, shape.stages, product.a_batched, of_a),
        operand(tensors, product.b_major, shape.columns, shape.stages, product.b_batched, of_b),
    )


def _teams(shape: Shape, rank: Reg | None) -> tuple[Team | None, Team | None]:
    """Those with which a CTA fetches A, and B."""
    if rank is None or not shape.shares:
        return None, None
    team = Team(rank, shape.clustered, (1 << shape.clustered) - 1)
    return (None, team) if shape.cluster == "rows" else (team, None)


def _groups(
    product: Product, shape: Shape, sizes: arrays.Sizes, named: dict[str, Tensor]
) -> Groups:
    """The groups of a product that is ragged."""
    return Groups(named["GROUPS"], sizes.m if product.ragged == "M" else sizes.k, shape.rows)


def _schedule(
    product: Product, shape: Shape, sizes: arrays.Sizes, steps: Reg, groups: Groups
) -> Schedule:
    columns = shape.columns // product.factors
    if product.ragged == "M":
        return Rows(shape, sizes, steps, columns, groups)
    return Parts(shape, sizes, product.depth, columns, groups)
