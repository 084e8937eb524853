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
    first_bytes=5085,
    memory=4351,
    requests=111.3,
    overlap=2.073,
    split=2225,
    share=1137,
    share_power=1.022,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, 1, False): (138.0, 313.6),
    (64, 64, "columns", 2, False): (170.3, 113.6),
    (64, 64, "depth", 2, False): (188.2, 2361.7),
    (64, 64, "depth", 4, False): (184.4, 2336.5),
    (64, 64, "depth", 8, False): (214.5, 2493.8),
    (64, 128, None, 1, False): (177.4, 1.0),
    (64, 128, "columns", 2, False): (167.8, 3786.2),
    (64, 128, "depth", 2, False): (254.6, 2917.4),
    (64, 128, "depth", 4, False): (253.8, 3085.2),
    (64, 128, "depth", 8, False): (301.1, 3461.5),
    (64, 256, None, 1, False): (310.7, 128.3),
    (64, 256, "depth", 2, False): (403.4, 4657.7),
    (64, 256, "depth", 4, False): (437.9, 4902.3),
    (64, 256, "depth", 8, False): (515.8, 5489.1),
    (64, 256, "rows", 2, False): (316.7, 2262.0),
    (64, 256, "rows", 3, False): (299.8, 2246.8),
    (64, 256, "rows", 4, False): (294.6, 2236.7),
    (64, 256, "rows", 5, False): (293.0, 2146.4),
    (64, 256, "rows", 8, False): (293.1, 2283.6),
    (128, 128, None, 1, False): (334.6, 612.7),
    (128, 128, "columns", 2, False): (336.4, 843.2),
    (128, 128, "depth", 2, False): (391.0, 4301.0),
    (128, 128, "depth", 4, False): (398.8, 4602.2),
    (128, 128, "depth", 8, False): (450.5, 4977.3),
    (128, 128, "rows", 2, False): (359.3, 192.5),
    (128, 128, "rows", 2, True): (361.6, 1.0),
    (128, 192, None, 1, False): (446.3, 2220.2),
    (128, 192, None, 1, True): (440.2, 2311.7),
    (128, 192, "depth", 2, False): (567.7, 5437.5),
    (128, 192, "depth", 3, False): (573.3, 5715.0),
    (128, 192, "depth", 4, False): (555.6, 6229.4),
    (128, 192, "rows", 2, True): (483.7, 1140.0),
    (128, 256, None, 1, False): (582.9, 3147.9),
    (128, 256, "rows", 2, False): (572.3, 3606.9),
    (256, 192, None, 1, False): (906.3, 3995.0),
    (256, 192, "columns", 2, False): (865.8, 5090.3),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, "depth", 2, False): (105.8, 3277.1),
    (64, 64, "depth", 4, False): (173.5, 2837.2),
    (64, 64, "depth", 8, False): (191.8, 2858.3),
    (64, 128, None, 1, False): (217.4, 997.4),
    (64, 128, "depth", 2, False): (250.7, 3764.9),
    (64, 128, "depth", 4, False): (263.3, 3539.5),
    (64, 128, "depth", 8, False): (326.3, 3743.5),
    (128, 128, None, 1, False): (402.1, 1057.8),
    (128, 128, "depth", 2, False): (447.4, 4892.4),
    (128, 128, "depth", 4, False): (440.8, 5207.4),
    (128, 128, "depth", 8, False): (512.9, 5551.9),
    (128, 192, None, 1, False): (549.1, 1370.5),
    (256, 128, None, 1, False): (726.3, 2496.1),
}
"""The same where sums are promoted."""

FASTEST: Final[dict[Sizes, tuple[Tile, bool]]] = {
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
    (16, "K", False, 8, 4096, 4096): ((64, 64, "depth", 2, False), False),
    (16, "K", False, 16, 10240, 8192): ((64, 128, "columns", 2, False), False),
    (16, "K", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (16, "K", False, 32, 5120, 5120): ((64, 128, "depth", 2, False), False),
    (16, "K", False, 64, 4096, 4096): ((64, 64, None, 1, False), False),
    (16, "K", False, 64, 8192, 28672): ((64, 128, "depth", 2, False), False),
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
    (16, "K", False, 384, 14336, 4096): ((128, 192, None, 1, False), False),
    (16, "K", False, 512, 2112, 7168): ((64, 64, None, 1, False), False),
    (16, "K", False, 512, 4096, 14336): ((128, 128, None, 1, False), False),
    (16, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (16, "K", False, 512, 14336, 4096): ((128, 128, None, 1, False), True),
    (16, "K", False, 1000, 5000, 3000): ((128, 192, "rows", 2, True), False),
    (16, "K", False, 1024, 5120, 5120): ((128, 128, None, 1, False), True),
    (16, "K", False, 1024, 7168, 2048): ((128, 128, "rows", 2, True), False),
    (16, "K", False, 2048, 2112, 7168): ((256, 192, None, 1, False), True),
    (16, "K", False, 2048, 14336, 4096): ((128, 256, None, 1, False), False),
    (16, "K", False, 8192, 8192, 8192): ((128, 256, None, 1, False), True),
    (16, "K", False, 8192, 28672, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", False, 8, 2048, 8192): ((64, 128, "depth", 4, False), False),
    (16, "MN", False, 8, 4096, 4096): ((64, 64, "depth", 2, False), False),
    (16, "MN", False, 16, 4096, 14336): ((64, 256, "depth", 4, False), False),
    (16, "MN", False, 16, 10240, 8192): ((64, 128, "columns", 2, False), False),
    (16, "MN", False, 16, 14336, 4096): ((64, 256, None, 1, False), False),
    (16, "MN", False, 32, 5120, 5120): ((64, 128, "depth", 2, False), False),
    (16, "MN", False, 64, 4096, 4096): ((64, 64, None, 1, False), False),
    (16, "MN", False, 64, 8192, 28672): ((64, 128, "depth", 2, False), False),
    (16, "MN", False, 128, 4096, 14336): ((64, 64, None, 1, False), False),
    (16, "MN", False, 128, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "MN", False, 128, 10240, 8192): ((64, 256, "rows", 2, False), False),
    (16, "MN", False, 192, 8192, 8192): ((64, 256, "rows", 3, False), False),
    (16, "MN", False, 256, 5120, 5120): ((64, 256, "rows", 4, False), False),
    (16, "MN", False, 256, 6144, 4096): ((64, 256, "rows", 4, False), False),
    (16, "MN", False, 256, 7168, 2048): ((64, 256, "rows", 4, False), False),
    (16, "MN", False, 256, 8192, 8192): ((128, 128, "rows", 2, False), False),
    (16, "MN", False, 256, 24576, 1536): ((128, 192, None, 1, False), False),
    (16, "MN", False, 256, 28672, 8192): ((128, 192, None, 1, False), True),
    (16, "MN", False, 300, 4096, 14336): ((64, 256, "rows", 5, False), False),
    (16, "MN", False, 304, 4992, 3072): ((64, 256, "rows", 5, False), False),
    (16, "MN", False, 384, 14336, 4096): ((128, 192, None, 1, True), False),
    (16, "MN", False, 512, 4096, 14336): ((128, 128, None, 1, False), False),
    (16, "MN", False, 512, 14336, 4096): ((128, 128, None, 1, False), True),
    (16, "MN", False, 1024, 2112, 7168): ((128, 192, None, 1, False), True),
    (16, "MN", False, 1024, 5120, 5120): ((128, 128, None, 1, False), True),
    (16, "MN", False, 1024, 7168, 2048): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 2048, 5120, 5120): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 2048, 14336, 4096): ((128, 256, None, 1, False), False),
    (16, "MN", False, 2048, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 8192, 8192): ((256, 192, None, 1, False), True),
    (16, "MN", False, 8192, 28672, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", True, 64, 8192, 8192): ((64, 128, None, 1, False), False),
    (16, "MN", True, 1024, 1024, 6144): ((128, 128, None, 1, False), True),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
