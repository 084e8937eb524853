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
    few       of so few CTAs, K may be `shallow` at most: of more, tiles are quicker of which the
              CTAs of a cluster have a part of K each
    """

    columns: int
    ctas: int
    depth: int = 2**31
    few: int = 72
    shallow: int = 4096


FEW_ROWS: Final[dict[Major, FewRowsLimits]] = {
    "MN": FewRowsLimits(8192, 128),
    "K": FewRowsLimits(8192, 96, 8192),
}
"""Measured by hand on an H200, with 1, 8 and 16 rows of bf16."""

DEVICE: Final = "NVIDIA H200"

COMMON: Final = Common(
    first_bytes=4540,
    memory=4386,
    requests=112.1,
    overlap=1.839,
    split=2389,
    share=1314,
    share_power=0.9191,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, 1, False): (143.8, 432.5),
    (64, 64, "columns", 2, False): (168.4, 262.2),
    (64, 64, "depth", 2, False): (187.2, 2348.7),
    (64, 64, "depth", 4, False): (184.5, 2290.4),
    (64, 64, "depth", 8, False): (217.0, 2457.8),
    (64, 128, None, 1, False): (183.6, 0.2),
    (64, 128, "columns", 2, False): (154.8, 3529.3),
    (64, 128, "depth", 2, False): (253.1, 2872.3),
    (64, 128, "depth", 4, False): (252.7, 3026.3),
    (64, 128, "depth", 8, False): (300.7, 3445.3),
    (64, 256, None, 1, False): (298.8, 476.1),
    (64, 256, "depth", 2, False): (381.1, 4730.3),
    (64, 256, "depth", 4, False): (436.4, 4745.0),
    (64, 256, "depth", 8, False): (529.5, 5319.9),
    (64, 256, "rows", 2, False): (295.5, 2685.6),
    (64, 256, "rows", 3, False): (275.8, 2875.3),
    (64, 256, "rows", 4, False): (278.6, 2860.6),
    (64, 256, "rows", 5, False): (268.9, 3191.5),
    (64, 256, "rows", 8, False): (284.3, 2625.2),
    (128, 128, None, 1, False): (332.0, 815.0),
    (128, 128, "columns", 2, False): (320.3, 1269.9),
    (128, 128, "depth", 2, False): (406.0, 4075.6),
    (128, 128, "depth", 4, False): (402.9, 4517.5),
    (128, 128, "depth", 8, False): (462.7, 5101.2),
    (128, 128, "rows", 2, False): (389.1, 0.4),
    (128, 128, "rows", 2, True): (390.3, 0.2),
    (128, 192, None, 1, True): (418.0, 3026.4),
    (128, 192, "rows", 2, True): (469.7, 1508.1),
    (128, 256, None, 1, False): (557.4, 3658.4),
    (128, 256, "rows", 2, False): (547.3, 4155.1),
    (256, 192, None, 1, False): (882.9, 4785.8),
    (256, 192, "columns", 2, False): (842.6, 5519.0),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, "depth", 2, False): (229.9, 2678.0),
    (64, 64, "depth", 4, False): (222.9, 2610.1),
    (64, 64, "depth", 8, False): (259.2, 2646.9),
    (64, 128, None, 1, False): (338.9, 716.7),
    (64, 128, "depth", 2, False): (299.0, 3543.1),
    (64, 128, "depth", 4, False): (301.7, 3472.5),
    (64, 128, "depth", 8, False): (389.9, 3615.8),
    (128, 128, None, 1, False): (520.2, 1006.2),
    (128, 128, "depth", 2, False): (452.3, 4773.4),
    (128, 128, "depth", 4, False): (440.4, 5096.8),
    (128, 128, "depth", 8, False): (547.4, 5350.1),
    (128, 192, None, 1, False): (739.9, 1403.2),
    (256, 128, None, 1, False): (823.9, 1604.0),
}
"""The same where sums are promoted."""

FASTEST: Final[dict[Sizes, tuple[Tile, bool]]] = {
    (8, "K", False, 1, 8192, 28672): ((64, 128, "depth", 2, False), False),
    (8, "K", False, 8, 4096, 4096): ((64, 64, "depth", 2, False), False),
    (8, "K", False, 16, 4096, 14336): ((64, 256, "depth", 4, False), False),
    (8, "K", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (8, "K", False, 32, 5120, 5120): ((64, 128, "depth", 2, False), False),
    (8, "K", False, 64, 28672, 8192): ((64, 128, None, 1, False), False),
    (8, "K", False, 192, 8192, 8192): ((64, 256, "rows", 3, False), False),
    (8, "K", False, 256, 4096, 4096): ((64, 128, None, 1, False), True),
    (8, "K", False, 304, 4992, 3072): ((128, 128, None, 1, False), False),
    (8, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (8, "K", False, 4096, 7168, 2048): ((128, 128, "rows", 2, True), False),
    (16, "K", False, 1, 8192, 28672): ((64, 128, "depth", 2, False), False),
    (16, "K", False, 8, 2048, 8192): ((64, 128, "depth", 4, False), False),
    (16, "K", False, 8, 4096, 4096): ((64, 128, "depth", 2, False), False),
    (16, "K", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (16, "K", False, 32, 5120, 5120): ((64, 128, "depth", 2, False), False),
    (16, "K", False, 64, 4096, 4096): ((64, 64, None, 1, False), False),
    (16, "K", False, 64, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "K", False, 64, 28672, 8192): ((64, 128, "columns", 2, False), False),
    (16, "K", False, 128, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "K", False, 304, 4992, 3072): ((64, 256, "rows", 5, False), False),
    (16, "K", False, 512, 4096, 4096): ((128, 128, None, 1, False), False),
    (16, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (16, "K", False, 1000, 5000, 3000): ((128, 192, "rows", 2, True), False),
    (16, "K", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 1, 8192, 28672): ((64, 256, None, 1, False), True),
    (16, "MN", False, 8, 2048, 8192): ((64, 128, "depth", 4, False), False),
    (16, "MN", False, 8, 4096, 4096): ((64, 128, "depth", 2, False), False),
    (16, "MN", False, 16, 4096, 14336): ((64, 256, "depth", 4, False), False),
    (16, "MN", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (16, "MN", False, 32, 5120, 5120): ((64, 128, "depth", 2, False), False),
    (16, "MN", False, 64, 4096, 4096): ((64, 64, None, 1, False), False),
    (16, "MN", False, 64, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "MN", False, 128, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "MN", False, 304, 4992, 3072): ((64, 256, "rows", 5, False), False),
    (16, "MN", False, 500, 5000, 3000): ((128, 256, "rows", 2, False), False),
    (16, "MN", False, 512, 4096, 4096): ((128, 128, None, 1, False), False),
    (16, "MN", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 8192, 8192): ((256, 192, None, 1, False), True),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
