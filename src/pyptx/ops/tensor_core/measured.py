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
    first_bytes=5144,
    memory=4231,
    requests=110.9,
    overlap=2.153,
    split=2192,
    share=1187,
    share_power=1.023,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, 1, False): (145.4, 303.4),
    (64, 64, "columns", 2, False): (172.3, 24.3),
    (64, 64, "depth", 2, False): (188.9, 2388.5),
    (64, 64, "depth", 4, False): (187.3, 2321.4),
    (64, 64, "depth", 8, False): (217.9, 2488.1),
    (64, 128, None, 1, False): (179.9, 1.0),
    (64, 128, "columns", 2, False): (171.8, 3768.1),
    (64, 128, "depth", 2, False): (256.0, 2959.1),
    (64, 128, "depth", 4, False): (257.2, 3100.0),
    (64, 128, "depth", 8, False): (305.8, 3479.6),
    (64, 256, None, 1, False): (311.5, 238.4),
    (64, 256, "depth", 2, False): (405.8, 4686.4),
    (64, 256, "depth", 4, False): (443.0, 4907.1),
    (64, 256, "depth", 8, False): (523.1, 5492.4),
    (64, 256, "rows", 2, False): (322.2, 2197.0),
    (64, 256, "rows", 3, False): (305.9, 2148.0),
    (64, 256, "rows", 4, False): (300.4, 2144.4),
    (64, 256, "rows", 5, False): (298.3, 2019.8),
    (64, 256, "rows", 8, False): (298.2, 2110.3),
    (128, 128, None, 1, False): (341.0, 604.7),
    (128, 128, "columns", 2, False): (340.2, 848.6),
    (128, 128, "depth", 2, False): (396.4, 4363.4),
    (128, 128, "depth", 4, False): (402.6, 4756.2),
    (128, 128, "depth", 8, False): (457.8, 5243.7),
    (128, 128, "rows", 2, False): (368.8, 41.3),
    (128, 128, "rows", 2, True): (367.3, 1.0),
    (128, 192, None, 1, True): (447.1, 2258.5),
    (128, 192, "rows", 2, True): (486.3, 1192.1),
    (128, 256, None, 1, False): (590.5, 3159.5),
    (128, 256, "rows", 2, False): (580.9, 3557.0),
    (256, 192, None, 1, False): (912.4, 4061.5),
    (256, 192, "columns", 2, False): (872.0, 5039.7),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, "depth", 2, False): (106.2, 3285.0),
    (64, 64, "depth", 4, False): (174.1, 2841.3),
    (64, 64, "depth", 8, False): (192.7, 2859.8),
    (64, 128, None, 1, False): (219.2, 996.0),
    (64, 128, "depth", 2, False): (250.8, 3778.4),
    (64, 128, "depth", 4, False): (263.5, 3547.1),
    (64, 128, "depth", 8, False): (327.6, 3746.8),
    (128, 128, None, 1, False): (402.7, 1054.4),
    (128, 128, "depth", 2, False): (448.2, 4911.3),
    (128, 128, "depth", 4, False): (442.2, 5217.4),
    (128, 128, "depth", 8, False): (515.9, 5555.0),
    (128, 192, None, 1, False): (549.8, 1374.3),
    (256, 128, None, 1, False): (728.0, 2514.2),
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
    (8, "K", False, 300, 4096, 14336): ((64, 256, "rows", 5, False), False),
    (8, "K", False, 304, 4992, 3072): ((128, 128, None, 1, False), False),
    (8, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (8, "K", True, 64, 8192, 8192): ((64, 128, None, 1, False), False),
    (8, "K", True, 128, 4096, 7168): ((64, 128, None, 1, False), True),
    (8, "K", True, 128, 32768, 512): ((64, 128, None, 1, False), False),
    (16, "K", False, 8, 2048, 8192): ((64, 128, "depth", 4, False), False),
    (16, "K", False, 8, 4096, 4096): ((64, 64, "columns", 2, False), False),
    (16, "K", False, 16, 10240, 8192): ((64, 256, "depth", 2, False), False),
    (16, "K", False, 16, 28672, 8192): ((64, 256, None, 1, False), False),
    (16, "K", False, 32, 5120, 5120): ((64, 128, "depth", 2, False), False),
    (16, "K", False, 64, 4096, 4096): ((64, 64, None, 1, False), False),
    (16, "K", False, 64, 8192, 28672): ((64, 128, "depth", 2, False), False),
    (16, "K", False, 64, 28672, 8192): ((64, 128, "columns", 2, False), False),
    (16, "K", False, 128, 4096, 14336): ((64, 64, None, 1, False), False),
    (16, "K", False, 128, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "K", False, 128, 10240, 8192): ((128, 128, None, 1, False), False),
    (16, "K", False, 192, 8192, 8192): ((64, 256, "rows", 3, False), False),
    (16, "K", False, 256, 5120, 5120): ((64, 256, "rows", 5, False), False),
    (16, "K", False, 256, 6144, 4096): ((64, 256, "rows", 4, False), False),
    (16, "K", False, 256, 7168, 2048): ((64, 256, "rows", 4, False), False),
    (16, "K", False, 256, 8192, 8192): ((128, 128, None, 1, False), False),
    (16, "K", False, 256, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "K", False, 256, 28672, 8192): ((64, 256, None, 1, False), True),
    (16, "K", False, 300, 4096, 14336): ((64, 256, "rows", 5, False), False),
    (16, "K", False, 304, 4992, 3072): ((64, 256, "rows", 5, False), False),
    (16, "K", False, 512, 2112, 7168): ((64, 64, None, 1, False), False),
    (16, "K", False, 512, 4096, 14336): ((128, 128, None, 1, False), False),
    (16, "K", False, 512, 5120, 13824): ((128, 128, None, 1, False), True),
    (16, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (16, "K", False, 512, 14336, 4096): ((128, 128, None, 1, False), True),
    (16, "K", False, 1000, 5000, 3000): ((128, 192, "rows", 2, True), False),
    (16, "K", False, 1024, 5120, 5120): ((128, 128, None, 1, False), True),
    (16, "K", False, 1024, 7168, 2048): ((128, 128, "rows", 2, True), False),
    (16, "K", False, 4096, 4096, 4096): ((128, 256, None, 1, False), False),
    (16, "K", False, 8192, 28672, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", False, 8, 2048, 8192): ((64, 128, "depth", 4, False), False),
    (16, "MN", False, 8, 4096, 4096): ((64, 128, "depth", 2, False), False),
    (16, "MN", False, 16, 8192, 28672): ((64, 128, "depth", 2, False), False),
    (16, "MN", False, 16, 10240, 8192): ((64, 256, "depth", 2, False), False),
    (16, "MN", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (16, "MN", False, 32, 5120, 5120): ((64, 128, "depth", 2, False), False),
    (16, "MN", False, 64, 4096, 4096): ((64, 64, None, 1, False), False),
    (16, "MN", False, 64, 8192, 28672): ((64, 128, None, 1, False), False),
    (16, "MN", False, 128, 4096, 14336): ((64, 64, None, 1, False), False),
    (16, "MN", False, 128, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "MN", False, 128, 10240, 8192): ((64, 256, "rows", 2, False), False),
    (16, "MN", False, 192, 8192, 8192): ((64, 256, "rows", 3, False), False),
    (16, "MN", False, 256, 5120, 5120): ((64, 256, "rows", 4, False), False),
    (16, "MN", False, 256, 6144, 4096): ((64, 256, "rows", 4, False), False),
    (16, "MN", False, 256, 7168, 2048): ((64, 256, "rows", 4, False), False),
    (16, "MN", False, 256, 8192, 8192): ((128, 128, "rows", 2, False), False),
    (16, "MN", False, 256, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 256, 28672, 8192): ((128, 128, None, 1, False), True),
    (16, "MN", False, 300, 4096, 14336): ((64, 256, "rows", 5, False), False),
    (16, "MN", False, 304, 4992, 3072): ((64, 256, "rows", 5, False), False),
    (16, "MN", False, 512, 2112, 7168): ((64, 128, None, 1, False), True),
    (16, "MN", False, 512, 4096, 14336): ((128, 128, None, 1, False), False),
    (16, "MN", False, 512, 5120, 13824): ((128, 128, None, 1, False), True),
    (16, "MN", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", False, 512, 14336, 4096): ((128, 128, None, 1, False), True),
    (16, "MN", False, 1024, 5120, 5120): ((128, 128, None, 1, False), True),
    (16, "MN", False, 1024, 7168, 2048): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 2048, 2112, 7168): ((256, 192, None, 1, False), True),
    (16, "MN", False, 2048, 5120, 5120): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 2048, 14336, 4096): ((128, 256, None, 1, False), False),
    (16, "MN", False, 2048, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 28672, 8192): ((128, 256, None, 1, False), True),
    (16, "MN", True, 64, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "MN", True, 1024, 1024, 6144): ((128, 128, None, 1, False), True),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
