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
from pyptx.ops.tensor_core.operands import shared_parts
from pyptx.ops.tensor_core.shape import BLOCK, CTAS, ROWS, SPAN, Major, Product, Shape, Tile
from pyptx.ops.tensor_core.times import Call, Cut, expected_ns, tiles_of
from pyptx.types import DType, bf16, e4m3, e5m2

KEPT: Final = 1024
"""Operations that are kept: one for each kind of product and shape of a kernel."""
_EVERYWHERE: Final = ("bf16", "cp.async")


MOST_GROUPS: Final = 2048
"""Of a product of groups: a CTA has a table of them in shared memory."""
FEW_GROUPS: Final = 240
"""Their table has room next to two panels of results."""


def _either_way(shape: Shape) -> tuple[Cut, Cut]:
    """A shape whose tiles are whole, and the same with tiles that are split."""
    stage, tile = measured.TIMES[shape.tile]
    return Cut(shape, stage, tile), Cut(replace(shape, split=True), stage, tile)


def _perhaps(shape: Shape) -> Cut:
    """Where a shape has not been measured, it takes as long as one of the usual size."""
    return Cut(shape, *measured.TIMES.get(shape.tile, measured.TIMES[Shape().tile]))


def _perhaps_promoted(shape: Shape) -> Cut:
    """The same where sums are promoted."""
    times = measured.PROMOTED_TIMES
    return Cut(shape, *times.get(shape.tile, times[_any_promoted().tile]))


def _any_promoted() -> Shape:
    """The shape for sizes that are known only when the kernel runs, where sums are promoted."""
    return Shape(128, 128, stages=6, panels=1, band=16)


def _promoted(shape: Shape) -> tuple[Cut, Cut]:
    """The same where sums are promoted."""
    stage, tile = measured.PROMOTED_TIMES[shape.tile]
    return Cut(shape, stage, tile), Cut(replace(shape, split=True), stage, tile)


CUTS: Final = (
    *_either_way(Shape(128, 256, stages=4, band=12)),
    *_either_way(Shape(256, 3 * ROWS, blocks=2, stages=3, panels=3, band=8)),
    *_either_way(Shape(128, 128, stages=6, band=16)),
    *_either_way(Shape(64, 256, stages=5, band=16)),
    *_either_way(Shape(64, 128, stages=8, band=16)),
    *_either_way(Shape(64, 64, stages=12, band=16)),
)


_DEEP: Final = tuple(
    Shape(*tile, stages=stages, band=16, cluster="depth", clustered=count)
    for tile, stages, counts in (
        ((64, 64), 12, (2, 4, 8)),
        ((64, 128), 7, (2, 4, 8)),
        ((64, 256), 4, (2, 4, 8)),
        ((128, 128), 5, (2, 4, 8)),
        ((128, 3 * ROWS), 3, (2, 3, 4)),
    )
    for count in counts
)
"""A tile's sums of each part of K go through the shared memory of a cluster."""


PROMOTED_CUTS: Final = (
    _promoted(Shape(256, 128, blocks=2, stages=4, panels=1, band=12))[0],
    *_promoted(_any_promoted()),
    *_promoted(Shape(64, 128, stages=8, band=16)),
)
"""Of products whose sums are promoted."""
LOW: Final = (16, 32)
"""Rows of the lowest tiles. In one of 64, copies of rows beyond the last take longer than of rows
that are there: 1 to 16 rows of models' weights took up to 30 % longer than 64."""


def _lowered(*shapes: Shape) -> tuple[Shape, ...]:
    """Each of the shapes with the rows of every low tile."""
    return tuple(replace(shape, rows=rows) for rows in LOW for shape in shapes)


PROMOTED_OTHERS: Final = (
    _perhaps_promoted(Shape(128, 3 * ROWS, stages=4, band=16)),
    _perhaps_promoted(Shape(128, 3 * ROWS, stages=4, band=16, split=True)),
    _perhaps_promoted(Shape(64, 64, stages=12, band=16)),
    _perhaps_promoted(Shape(64, 64, stages=12, band=16, split=True)),
    _perhaps_promoted(Shape(128, 64, stages=8, panels=1, band=16)),
    _perhaps_promoted(Shape(128, 64, stages=8, panels=1, band=16, split=True)),
    *(
        _perhaps_promoted(shape if shape.rows == ROWS else replace(shape, stages=4))
        for shape in _DEEP
        if shape.columns <= BLOCK  # and scales have room beside the sums
    ),
    *map(
        _perhaps_promoted,
        _lowered(
            Shape(64, 64, stages=12, band=16),
            Shape(64, 64, stages=12, band=16, split=True),
            Shape(64, 128, stages=8, band=16),
            Shape(64, 128, stages=7, band=16, cluster="depth"),
        ),
    ),
)
"""The same, chosen from where they have been measured."""


_ROUNDS: Final = 2
"""Rounds of tiles of 64 rows, at most."""


_MANY: Final = 2048
"""Rows of the products that were measured in one layout of B."""


_TOGETHER: Final = (3, 4, 5, 8)
"""CTAs that fetch columns of B for each other: of 129 to 512 rows, each has 64."""


_PINGPONG: Final = Shape(128, 3 * ROWS, blocks=2, stages=5, panels=1, band=16, pingpong=True)
_LOW: Final = _lowered(
    Shape(64, 64, stages=12, band=16),
    Shape(64, 64, stages=12, band=16, split=True),
    Shape(64, 64, stages=12, band=16, cluster="columns"),
    Shape(64, 128, stages=8, band=16),
    Shape(64, 128, stages=8, band=16, split=True),
    Shape(64, 128, stages=8, band=16, cluster="columns"),
    Shape(64, 256, stages=5, band=16),
    *(shape for shape in _DEEP if shape.rows == ROWS and shape.clustered < 8),
)
_BETWEEN: Final = (
    Shape(256, 5 * ROWS // 2, blocks=2, stages=3, panels=3, band=8),
    Shape(128, 7 * ROWS // 2, stages=4, panels=1, band=12),
    Shape(128, 5 * ROWS // 2, stages=5, panels=1, band=16),
)
"""With half a panel of columns more or less, which makes another number of tiles: 1024 x 5120 are
128 of 256 x 160, one round."""
OTHERS: Final = tuple(
    map(
        _perhaps,
        (
            _PINGPONG,
            replace(_PINGPONG, cluster="rows", band=8),
            replace(_PINGPONG, columns=128, stages=6, cluster="rows", band=8),
            Shape(128, 3 * ROWS, stages=5, panels=1, band=16),
            Shape(128, 3 * ROWS, stages=5, panels=1, band=16, split=True),
            *_BETWEEN,
            Shape(128, 256, stages=4, band=6, cluster="rows"),
            Shape(256, 3 * ROWS, blocks=2, stages=3, panels=3, band=8, cluster="columns"),
            Shape(128, 128, stages=6, band=8, cluster="rows"),
            Shape(128, 64, stages=8, panels=1, band=16),
            Shape(128, 128, stages=6, band=16, cluster="columns"),
            Shape(64, 256, stages=5, band=8, cluster="rows"),
            *(Shape(64, 256, stages=5, band=4, cluster="rows", clustered=n) for n in _TOGETHER),
            Shape(64, 128, stages=8, band=16, cluster="columns"),
            Shape(64, 64, stages=12, band=16, cluster="columns"),
            *_DEEP,
            *_LOW,
        ),
    )
)
"""Clusters, and warpgroups that multiply by turns: chosen from where they have been measured."""


def any_size(product: Product) -> Shape:
    """The shape for sizes that are known only when the kernel runs."""
    return _with_panels(_any_promoted(), product) if product.promoted else Shape()


def _with_panels(shape: Shape, product: Product) -> Shape:
    """A shape of promoted sums: block scales leave room for a panel of results, where two are
    faster."""
    return shape if product.blocks else replace(shape, panels=2)


def cuts(product: Product) -> tuple[Cut, ...]:
    """What there is to choose from."""
    times = measured.PROMOTED_TIMES if product.promoted else measured.TIMES
    return tuple(cut for cut in candidates(product) if cut.shape.tile in times)


def candidates(product: Product) -> tuple[Cut, ...]:
    """The same with shapes that have not been measured: what `make tune` measures."""
    if not product.promoted:
        return *CUTS, *OTHERS
    return tuple(
        replace(cut, shape=_with_panels(cut.shape, product))
        for cut in (*PROMOTED_CUTS, *PROMOTED_OTHERS)
    )


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
    Many rows and few were measured with B as (K, N); as (N, K) there are as many copies and
    products.
    """
    bits, major, promoted = product.kind
    majors: tuple[Major, ...] = (major,)
    if major == "K" and (m >= _MANY or m <= max(LOW)):
        majors = ("K", "MN")
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
    if _halves(shape, product):
        return True
    if product.b_major == "MN":
        widest = max(widest, SPAN // product.b.bytes)
    return shape.columns % (product.factors * widest) == 0


def _halves(shape: Shape, product: Product) -> bool:
    """Whether the last panel of a tile may be half a panel: of one result of 16 bits. Of B by rows
    of K, a stage has whole boxes."""
    alone = product.factors == 1 and [d.bytes for d in product.results] == [2]
    other = shape.cluster is not None or product.promoted or product.ragged is not None
    return alone and not other and shape.columns % ROWS == ROWS // 2


def _shares(shape: Shape, product: Product) -> bool:
    """Whether CTAs that fetch for each other have such tiles."""
    if product.ragged is not None or product.promoted or shape.split:
        return False
    lines, matrices = (
        (shape.columns, product.factors) if shape.cluster == "rows" else (shape.rows, 1)
    )
    major = product.b_major if shape.cluster == "rows" else product.a_major
    # Types of both factors have as many bytes.
    return shared_parts(lines, matrices, major, product.a, shape.clustered) > 1


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
