"""Which kernel makes a matrix product: by target, and on Hopper by the sizes.

The shape of tiles whose expected time (`times`) is least is chosen, or the one that was fastest
where the sizes were measured and the expectation was off. A kernel is right for any sizes, so a
choice is about time alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from pyptx import CallError, KernelSequence, device, lowered_for, sequence
from pyptx._target import Target
from pyptx.ops._parameters import with_parameters
from pyptx.ops.tensor_core import arrays, cluster_sums, hopper, measured, mma_sync
from pyptx.ops.tensor_core.operands import HALF, shared_parts
from pyptx.ops.tensor_core.shape import BLOCK, CTAS, EIGHT, ROWS, SPAN, Major, Product, Shape, Tile
from pyptx.ops.tensor_core.shapes import (
    ANY_PROMOTED,
    CUTS,
    LOW,
    OTHERS,
    PROMOTED_CUTS,
    PROMOTED_OTHERS,
    with_room,
)
from pyptx.ops.tensor_core.times import Call, Cut, expected_ns, tiles_of
from pyptx.types import DType, bf16, e4m3, e5m2

KEPT: Final = 1024
"""Operations that are kept: one for each kind of product and shape of a kernel."""
_EVERYWHERE: Final = ("bf16", "cp.async")
MOST_GROUPS: Final = 2048
"""Of a product of groups: a CTA has a table of them in shared memory."""
FEW_GROUPS: Final = 240
"""Their table has room next to two panels of results."""
_ROUNDS: Final = 2
"""Rounds of tiles of 64 rows, at most."""


def any_size(product: Product) -> Shape:
    """The shape for sizes that are known only when the kernel runs."""
    return _with_panels(ANY_PROMOTED, product) if product.promoted else Shape()


def _with_panels(shape: Shape, product: Product) -> Shape:
    """A shape of promoted sums: block scales leave room for a panel of results, where two are
    faster."""
    return shape if product.blocks else replace(shape, panels=2)


def cuts(product: Product) -> tuple[Cut, ...]:
    """What there is to choose from."""
    times = measured.PROMOTED_TIMES if product.promoted else measured.TIMES
    return tuple(cut for cut in candidates(product) if cut.shape.tile in times)


@lru_cache(KEPT)
def candidates(product: Product) -> tuple[Cut, ...]:
    """The same with shapes that have not been measured: what `make tune` measures."""
    if not product.promoted:
        cuts = (*CUTS, *OTHERS)
        return tuple(replace(cut, shape=with_boxes(cut.shape, product)) for cut in cuts)
    return tuple(
        replace(cut, shape=_with_panels(cut.shape, product))
        for cut in (*PROMOTED_CUTS, *PROMOTED_OTHERS)
    )


def with_boxes(shape: Shape, product: Product) -> Shape:
    """The shape with room for whole boxes of B by rows of K, which half a box has, too."""
    made = product.transposed if shape.transposed else product
    return shape if made.b_major == "K" else with_room(shape, -(-shape.columns // ROWS) * ROWS)


@lru_cache(KEPT)
def choose(product: Product, m: int, n: int, k: int, matrices: int = 1, ctas: int = CTAS) -> Shape:
    """The shape whose kernel took least time, or is expected to where that was not measured."""
    fit = fitting(cuts(product), product, m)
    if matrices == 1 and ctas == CTAS and product.ragged is None:
        found = fastest(measured.FASTEST, product, m, n, k)
        for cut in fit:
            if (cut.shape.tile, cut.shape.split) == found:
                return cut.shape
    given = Call(product, (m, n, k), matrices, ctas)
    # One warpgroup does not keep the tensor cores of an SM busy, which the model does not know. Few
    # rows leave them idle anyway.
    narrow = m > max(LOW) and tiles_of(Shape(ROWS, 256), given) > _ROUNDS * ctas
    fit = [cut for cut in fit if cut.shape.rows > ROWS or not narrow]
    return min(fit, key=lambda cut: expected_ns(cut, given)).shape


def fastest(
    known: Mapping[measured.Sizes, tuple[Tile, bool]], product: Product, m: int, n: int, k: int
) -> tuple[Tile, bool] | None:
    """The tile that was fastest where the expectation was off, by sizes where it was.

    Numbers of rows that are measured stand for those below them of which there are as many tiles.
    So does B as (K, N) for (N, K), of which fewer sizes were measured: there are as many copies and
    products. It was 1.5 % slower than the fastest, on average of those, and the expected one 5.2 %.
    """
    bits, major, promoted = product.kind
    majors: tuple[Major, ...] = ("K", "MN") if major == "K" else (major,)
    rows = (m, *(count for count in LOW if m < count), -(-m // ROWS) * ROWS)
    for count in rows:
        for layout in majors:
            found = known.get((bits, layout, promoted, count, n, k))
            if found is not None:
                return found
    return None


def choose_ragged(product: Product, m: int, n: int, k: int, groups: int, ctas: int = CTAS) -> Shape:
    """The shape for groups whose lengths are known when the kernel runs: as if they were equal."""
    m, k = (-(-m // groups), k) if product.ragged == "M" else (m, -(-k // groups))
    return with_table(choose(product, m, n, k, groups, ctas), groups)


def with_table(shape: Shape, groups: int) -> Shape:
    """The shape with room in shared memory for the table of so many groups."""
    return replace(shape, panels=1) if groups > FEW_GROUPS else shape


def fitting(among: Iterable[Cut], product: Product, m: int) -> list[Cut]:
    """Those of the cuts that a product can have, and so many rows of A."""
    return [cut for cut in among if fits(cut.shape, product) and suits(cut.shape, m)]


def suits(shape: Shape, m: int) -> bool:
    """Whether so many rows of A may have this shape: a low tile has all of them, and is the lowest
    that has. Each further tile would read B again."""
    return not shape.is_low or shape.rows == min((rows for rows in LOW if m <= rows), default=0)


def fits(shape: Shape, product: Product) -> bool:
    """Whether a tile's columns of D are whole panels of each of its results, if it has panels, and
    registers do.

    So are they of the matrices B, where those are in memory by rows of K: a box of a copy has 128
    bytes of a row. Two blocks of sums, or wide ones of a stage beside those of the tile, leave an
    epilogue too few registers, but for one that multiplies, and scales of single columns, too.
    """
    if shape.transposed:
        whole = replace(shape, transposed=False)
        return _may_transpose(shape, product) and fits(whole, product.transposed)
    if product.ragged is not None and shape.pingpong:
        return False
    if product.ragged == "K" and shape.split:
        return False
    if shape.shares and not _shares(shape, product):
        return False
    if shape.cluster == "depth" and not cluster_sums.fits(shape, product):
        return False
    if shape.is_low and (product.a_major != "K" or product.ragged is not None):
        return False
    plain = product.epilogue is None or product.epilogue.linear
    if product.blocks == "column" or product.ragged is not None:
        plain = False
    many = shape.blocks > 1 or (product.promoted and shape.columns > BLOCK)
    if many and not (plain and len(product.results) == 1):
        return False
    widest = 8 if shape.cluster == "depth" else SPAN // min(d.bytes for d in product.results)
    if _ends_anywhere(shape, product):
        return True
    if product.b_major == "MN":
        widest = max(widest, SPAN // product.b.bytes)
    return shape.columns % (product.factors * widest) == 0


def _ends_anywhere(shape: Shape, product: Product) -> bool:
    """Whether the last panel of a tile may be a part of one: of one result of 16 bits.

    Of B by rows of K only half a panel may be left: then boxes begin where lines of the cache do.
    """
    alone = product.factors == 1 and [d.bytes for d in product.results] == [2]
    other = shape.cluster == "depth" or product.promoted or product.ragged is not None
    if not alone or other:
        return False
    if product.b_major == "K":
        return shape.columns % EIGHT == 0
    return shape.columns % HALF == 0 and with_boxes(shape, product) == shape


def _may_transpose(shape: Shape, product: Product) -> bool:
    """Whether a kernel may make D^T: of sums alone that become 16 bits, of factors of 16 bits."""
    narrow = [d.bytes for d in (product.a, product.b, *product.results)] == [2, 2, 2]
    alone = product.epilogue is None and product.ragged is None and not product.promoted
    return narrow and alone and shape.cluster != "depth" and not shape.is_low


def _shares(shape: Shape, product: Product) -> bool:
    """Whether CTAs that fetch for each other have such tiles."""
    if product.ragged is not None or product.promoted or shape.split:
        return False
    of_a = shape.rows, 1, product.a_major, product.a, shape.beside
    of_b = shape.columns, product.factors, product.b_major, product.b, shape.below
    return all(each[-1] == 1 or shared_parts(*each) > 1 for each in (of_a, of_b))


# ---- operations ----------------------------------------------------------------------------------


@lru_cache(KEPT)
def operation(product: Product, shape: Shape) -> KernelSequence:
    """The product of A and B, on whatever it is lowered for; `shape` is of a kernel for Hopper.

    Its results are D, or a tuple of D and the epilogue's further results.
    """

    def on_targets(*given: Any) -> Any:
        targets = lowered_for()
        check("matmul", targets, product.a, product.results)
        common = device.common(targets)
        if not common.has("wgmma"):
            return mma_sync.build(product)(*given)
        made = hopper.build(product, shape, common.multiprocessors)(*given)
        return made[: len(arrays.results(product))] if shape.split else made

    names = [name for name in arrays.names(product) if name[0] != "D" and name != "AMAX"]
    return sequence(
        in_specs=arrays.inputs(product),
        out_specs=arrays.results(product),
        **arrays.run_time(product),
    )(with_parameters(on_targets, names, name="matmul"))


def check(
    name: str, targets: Iterable[Target], dtype: DType = bf16, results: Sequence[DType] = ()
) -> None:
    """Raises CallError for a target without kernels for such elements and results."""
    for target in targets:
        found = device.of(target)
        if not found.has(*_EVERYWHERE):
            raise CallError(
                f"{name} has no kernels for {target}",
                notes=(("legal", "sm_80 and later: bf16 and asynchronous copies are theirs"),),
            )
        if dtype in (e4m3, e5m2) and not found.has("mma.e4m3"):
            raise CallError(
                f"{name} of {dtype} has no kernels for {target}",
                notes=(
                    ("legal", "sm_89 and later"),
                    ("help", "convert both factors to bfloat16"),
                ),
            )
        for result in results:
            if result in (e4m3, e5m2) and not found.has("mma.e4m3"):
                raise CallError(
                    f"{name} with a result of {result} has no kernels for {target}",
                    notes=(("legal", "sm_89 and later"), ("help", "a result of bfloat16")),
                )
