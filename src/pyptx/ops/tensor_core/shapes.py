"""The shapes of kernels that a matrix product on Hopper has to choose from.

`plan` chooses. A shape without measured times is not chosen: it is here for `make tune` to measure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pyptx.device import KIB
from pyptx.ops.tensor_core import measured
from pyptx.ops.tensor_core.shape import BLOCK, HOPPER, ROWS, SPAN, Cluster, Shape, Tile
from pyptx.ops.tensor_core.times import Cut

_MOST_STAGES: Final = 12
_PANEL: Final = ROWS * SPAN
"""Bytes of shared memory in which 64 rows of a result wait."""
_ROOM: Final = HOPPER.cta_shared - 2 * KIB
"""Bytes of shared memory for stages and results, beside mbarriers."""
ANY_PROMOTED: Final = Shape(128, 128, stages=6, panels=1, band=16)
"""The shape for sizes that are known only when the kernel runs, where sums are promoted."""


def _either_way(shape: Shape) -> tuple[Cut, Cut]:
    """A shape whose tiles are whole, and the same with tiles that are split."""
    stage, tile = measured.TIMES[shape.tile]
    return Cut(shape, stage, tile), Cut(replace(shape, split=True), stage, tile)


def _perhaps(shape: Shape) -> Cut:
    """Where a shape has not been measured, it takes as long as the most similar one, by the column.

    That is one of as many rows, if there is any, and the nearest number of columns.
    """
    found = measured.TIMES.get(shape.tile)
    if found is not None:
        return Cut(shape, *found)

    def unlike(tile: Tile) -> tuple[bool, bool, int]:
        cluster = shape.cluster, shape.cluster_size
        return tile[0] != shape.rows, tile[2:4] != cluster, abs(tile[1] - shape.columns)

    tile = min(measured.TIMES, key=unlike)
    stage, rest = measured.TIMES[tile]
    return Cut(shape, stage * shape.columns / tile[1], rest)


def _perhaps_promoted(shape: Shape) -> Cut:
    """The same where sums are promoted."""
    times = measured.PROMOTED_TIMES
    return Cut(shape, *times.get(shape.tile, times[ANY_PROMOTED.tile]))


def _promoted(shape: Shape) -> tuple[Cut, Cut]:
    """The same where sums are promoted."""
    stage, tile = measured.PROMOTED_TIMES[shape.tile]
    return Cut(shape, stage, tile), Cut(replace(shape, split=True), stage, tile)


# Split tiles of two blocks would take 2.2 s before the first launch, for 1 % at two sizes.
CUTS: Final = (
    *_either_way(Shape(128, 256, stages=4, band=12)),
    _either_way(Shape(256, 3 * ROWS, blocks=2, stages=3, panels=3, band=8))[0],
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
    *_promoted(ANY_PROMOTED),
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


def _of_width(
    rows: int,
    columns: int,
    cluster: Cluster | None = None,
    clustered: int = 2,
    *,
    pingpong: bool = False,
    transposed: bool = False,
) -> Shape:
    """A shape with as many stages as there is room for beside a panel for each warpgroup."""
    shape = Shape(
        rows, columns, blocks=2 if pingpong or rows > 2 * ROWS else 1, panels=1,
        band=16 if cluster is None else 8, cluster=cluster, clustered=clustered, pingpong=pingpong,
        transposed=transposed,
    )  # fmt: skip
    room = _ROOM - _ends(shape)
    return replace(shape, stages=min(_MOST_STAGES, room // ((rows + columns) * SPAN)))


def _ends(shape: Shape) -> int:
    """Bytes of shared memory for the results, of 16 bits, or of 32 where devices have parts of
    K."""
    left = 0 if shape.transposed else max(shape.columns * size % SPAN for size in (2, 4))
    return shape.groups * (shape.panels * _PANEL + ROWS * left)


def with_room(shape: Shape, columns: int) -> Shape:
    """The shape with no more stages than there is room for where each has so many columns of B, of
    16 bits."""
    room = _ROOM - _ends(shape)
    return replace(shape, stages=min(shape.stages, room // ((shape.rows + columns) * SPAN)))


_WIDTHS: Final = (
    *(_of_width(128, columns, pingpong=True) for columns in range(136, 192, 8)),
    *(_of_width(128, columns, "rows", pingpong=True) for columns in (144, 160, 176)),
    *(_of_width(128, columns) for columns in (136, 144, 152, 168, 176)),
    *(_of_width(256, columns) for columns in (128, 136, 144, 152, 168, 176)),
    *(_of_width(256, columns, "columns") for columns in (128, 160, 176)),
    _of_width(256, 128, "rows"),
    *(_of_width(64, columns, "rows") for columns in (80, 96, 128, 160, 192)),
    *(_of_width(64, columns, "rows", n) for n in _TOGETHER for columns in (128, 160, 192, 224)),
)
"""Numbers of columns that make whole rounds of tiles of the sizes between: with B as (N, K),
4096 x 7168 are 1312 tiles of 128 x 176, which 132 CTAs make in ten rounds."""
_BY_TURNS: Final = (128, 160, 168, 176, 184, 192)
_TRANSPOSED: Final = (
    *(_of_width(128, columns, pingpong=True, transposed=True) for columns in _BY_TURNS),
    *(_of_width(128, columns, "rows", pingpong=True, transposed=True) for columns in (128, 160)),
    *(_of_width(128, columns, transposed=True) for columns in (152, 256)),
    _of_width(128, 64, "rows", transposed=True),
    *(_of_width(128, 104, "rows", count, transposed=True) for count in (2, 4)),
    *(_of_width(256, columns, transposed=True) for columns in (128, 160)),
    _of_width(256, 128, "columns", transposed=True),
    _of_width(256, 160, "rows", transposed=True),
    _of_width(64, 256, transposed=True),
    _of_width(64, 256, "columns", transposed=True),
)
"""The same for rows, which lie along K: with B as (K, N), columns come in whole boxes. 1024 x 2112
are 132 tiles of 256 x 64 of D."""
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
            *_WIDTHS,
            *_TRANSPOSED,
        ),
    )
)
"""Clusters, and warpgroups that multiply by turns: chosen from where they have been measured."""
