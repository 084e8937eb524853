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
    ctas      the fewest CTAs, where a cluster can have more
    wave      of fewer CTAs than these, K may be `depth` at most: tiles that are split over all
              multiprocessors are quicker where it is longer
    """

    columns: int
    ctas: int
    wave: int = 192
    depth: int = 8192


FEW_ROWS: Final[dict[Major, FewRowsLimits]] = {
    "MN": FewRowsLimits(8192, 128),
    "K": FewRowsLimits(4096, 64),
}
"""Measured by hand on an H200, with 1, 8 and 16 rows of bf16."""

DEVICE: Final = "NVIDIA H200"

COMMON: Final = Common(
    first_bytes=4359,
    memory=4197,
    requests=109.3,
    overlap=1.786,
    split=2743,
    share=1198,
    share_power=0.986,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, 1, False): (147.6, 352.6),
    (64, 64, "columns", 2, False): (158.3, 296.4),
    (64, 128, None, 1, False): (172.2, 16.3),
    (64, 128, "columns", 2, False): (149.8, 2560.6),
    (64, 256, None, 1, False): (286.2, 453.7),
    (64, 256, "rows", 2, False): (265.3, 3065.4),
    (128, 128, None, 1, False): (341.3, 567.6),
    (128, 128, "columns", 2, False): (299.7, 1605.0),
    (128, 128, "rows", 2, False): (391.5, 2.8),
    (128, 128, "rows", 2, True): (391.3, 0.0),
    (128, 192, None, 1, True): (422.3, 2705.1),
    (128, 192, "rows", 2, True): (481.5, 1039.3),
    (128, 256, None, 1, False): (559.9, 3433.3),
    (128, 256, "rows", 2, False): (546.8, 4147.9),
    (256, 192, None, 1, False): (906.4, 4018.8),
    (256, 192, "columns", 2, False): (851.4, 5059.2),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 128, None, 1, False): (311.8, 1413.1),
    (128, 128, None, 1, False): (488.3, 1954.2),
    (256, 128, None, 1, False): (827.5, 1857.5),
}
"""The same where sums are promoted."""

FASTEST: Final[dict[Sizes, tuple[Tile, bool]]] = {
    (8, "K", False, 8, 4096, 4096): ((64, 64, "columns", 2, False), False),
    (8, "K", False, 16, 4096, 14336): ((64, 128, None, 1, False), True),
    (8, "K", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (8, "K", False, 128, 8192, 8192): ((64, 128, None, 1, False), True),
    (8, "K", False, 304, 4992, 3072): ((128, 128, None, 1, False), False),
    (8, "K", False, 4096, 7168, 2048): ((128, 128, "rows", 2, True), False),
    (8, "K", True, 128, 24576, 1536): ((64, 128, None, 1, False), True),
    (16, "K", False, 8, 4096, 4096): ((64, 128, None, 1, False), True),
    (16, "K", False, 64, 28672, 8192): ((64, 128, "columns", 2, False), False),
    (16, "K", False, 128, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "K", False, 300, 5000, 3000): ((64, 256, "rows", 2, False), False),
    (16, "K", False, 304, 4992, 3072): ((128, 128, None, 1, False), False),
    (16, "K", False, 1000, 5000, 3000): ((128, 192, "rows", 2, True), False),
    (16, "K", False, 2048, 2048, 2048): ((128, 128, "rows", 2, True), False),
    (16, "K", False, 4096, 2112, 7168): ((256, 192, None, 1, False), True),
    (16, "K", False, 4096, 4096, 4096): ((128, 256, None, 1, False), False),
    (16, "K", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "K", False, 8192, 8192, 8192): ((256, 192, None, 1, False), True),
    (16, "MN", False, 1, 8192, 28672): ((64, 256, None, 1, False), True),
    (16, "MN", False, 8, 4096, 4096): ((64, 128, None, 1, False), True),
    (16, "MN", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (16, "MN", False, 64, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "MN", False, 64, 28672, 8192): ((64, 128, "columns", 2, False), False),
    (16, "MN", False, 128, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "MN", False, 300, 5000, 3000): ((64, 256, "rows", 2, False), False),
    (16, "MN", False, 304, 4992, 3072): ((128, 128, None, 1, False), False),
    (16, "MN", False, 4096, 2112, 7168): ((256, 192, None, 1, False), True),
    (16, "MN", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 8192, 8192): ((256, 192, None, 1, False), True),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
