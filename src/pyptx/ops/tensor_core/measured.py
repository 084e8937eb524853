"""What matrix products take on a GPU, as measured: `make tune` writes the numbers below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from pyptx.ops.tensor_core.shape import Major, Tile

Sizes: TypeAlias = "tuple[int, Major, bool, int, int, int]"
"""A kind of product (`Product.kind`), and M, N and K."""


@dataclass(frozen=True, slots=True)
class Common:
    """What kernels of all shapes have in common; times in nanoseconds.

    first_bytes   from the launch until memory gives all that it can
    memory        bytes that it then gives in a nanosecond
    requests      of copies to the L2 cache, that it answers in a nanosecond: one for the 128 bytes
                  that a box has of a line, two where lines are no multiple of 128 bytes
    overlap       multiplying and waiting for memory take the norm of this order of both: each
                  hides most of the other
    split         to clear the flags of a split product, and its cooperative launch
    share         to add the sums of one more CTA, of 128 x 128 elements
    share_power   of the number of elements over 128 x 128, by which that time is multiplied
    """

    first_bytes: float
    memory: float
    requests: float
    overlap: float
    split: float
    share: float
    share_power: float


@dataclass(frozen=True, slots=True)
class FewRowsLimits:
    """Up to which sizes products of few rows are quicker from registers (`few_rows`).

    columns   the most columns of B
    ctas      the most CTAs of clusters
    depth     the largest K: of more, tiles that are split over all multiprocessors are quicker
    """

    columns: int
    ctas: int
    depth: int = 2**31


FEW_ROWS: Final[dict[Major, FewRowsLimits]] = {
    "MN": FewRowsLimits(8192, 128),
    "K": FewRowsLimits(8192, 96, 8192),
}
"""Measured by hand on an H200, with 1, 8 and 16 rows of bf16."""

DEVICE: Final = "NVIDIA H200"

COMMON: Final = Common(
    first_bytes=5327,
    memory=4118,
    requests=108.8,
    overlap=2.079,
    split=1948,
    share=1205,
    share_power=1.011,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, 1, False): (145.9, 266.5),
    (64, 64, "columns", 2, False): (173.0, 115.8),
    (64, 128, None, 1, False): (181.6, 0.1),
    (64, 128, "columns", 2, False): (161.2, 3320.6),
    (64, 256, None, 1, False): (306.9, 260.8),
    (64, 256, "rows", 2, False): (306.1, 2376.0),
    (64, 256, "rows", 3, False): (280.7, 2915.4),
    (64, 256, "rows", 4, False): (285.5, 2731.2),
    (64, 256, "rows", 5, False): (275.6, 3029.3),
    (64, 256, "rows", 8, False): (288.3, 2574.2),
    (128, 128, None, 1, False): (336.0, 860.0),
    (128, 128, "columns", 2, False): (330.4, 1045.6),
    (128, 128, "rows", 2, False): (397.9, 0.0),
    (128, 128, "rows", 2, True): (399.8, 0.0),
    (128, 192, None, 1, True): (432.2, 2789.3),
    (128, 192, "rows", 2, True): (488.9, 1179.5),
    (128, 256, None, 1, False): (569.0, 3718.3),
    (128, 256, "rows", 2, False): (563.1, 4009.3),
    (256, 192, None, 1, False): (894.3, 4947.5),
    (256, 192, "columns", 2, False): (854.9, 5696.5),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 128, None, 1, False): (314.6, 1446.5),
    (128, 128, None, 1, False): (497.5, 2020.7),
    (256, 128, None, 1, False): (829.4, 2148.6),
}
"""The same where sums are promoted."""

FASTEST: Final[dict[Sizes, tuple[Tile, bool]]] = {
    (8, "K", False, 16, 4096, 14336): ((64, 128, None, 1, False), True),
    (8, "K", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (8, "K", False, 64, 8192, 8192): ((64, 64, "columns", 2, False), False),
    (8, "K", False, 64, 28672, 8192): ((64, 64, None, 1, False), True),
    (8, "K", False, 128, 8192, 8192): ((64, 128, None, 1, False), True),
    (8, "K", False, 192, 8192, 8192): ((64, 256, "rows", 3, False), False),
    (8, "K", False, 256, 4096, 4096): ((64, 128, None, 1, False), True),
    (8, "K", False, 304, 4992, 3072): ((128, 128, None, 1, False), False),
    (8, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (8, "K", False, 4096, 7168, 2048): ((128, 128, "rows", 2, True), False),
    (8, "K", True, 128, 24576, 1536): ((64, 128, None, 1, False), True),
    (16, "K", False, 8, 4096, 4096): ((64, 128, None, 1, False), True),
    (16, "K", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (16, "K", False, 64, 28672, 8192): ((64, 128, "columns", 2, False), False),
    (16, "K", False, 128, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "K", False, 304, 4992, 3072): ((64, 256, "rows", 5, False), False),
    (16, "K", False, 512, 4096, 4096): ((128, 128, None, 1, False), False),
    (16, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (16, "K", False, 1000, 5000, 3000): ((128, 192, "rows", 2, True), False),
    (16, "K", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 1, 8192, 28672): ((64, 256, None, 1, False), True),
    (16, "MN", False, 8, 4096, 4096): ((64, 128, None, 1, False), True),
    (16, "MN", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (16, "MN", False, 64, 28672, 8192): ((64, 128, "columns", 2, False), False),
    (16, "MN", False, 128, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "MN", False, 304, 4992, 3072): ((64, 256, "rows", 5, False), False),
    (16, "MN", False, 500, 5000, 3000): ((128, 256, "rows", 2, False), False),
    (16, "MN", False, 512, 4096, 4096): ((128, 128, None, 1, False), False),
    (16, "MN", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", False, 4096, 4096, 4096): ((128, 256, None, 1, False), False),
    (16, "MN", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 8192, 8192): ((256, 192, None, 1, False), True),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
