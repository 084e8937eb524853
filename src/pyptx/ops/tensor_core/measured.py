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


DEVICE: Final = "NVIDIA H200"

COMMON: Final = Common(
    first_bytes=4295,
    memory=4461,
    requests=111.6,
    overlap=1.961,
    split=2718,
    share=1197,
    share_power=1.057,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (16, 64, None, 1, False): (90.0, 18.4),
    (16, 64, "columns", 2, False): (101.8, 37.1),
    (16, 64, "depth", 2, False): (50.9, 3599.5),
    (16, 64, "depth", 4, False): (109.3, 3180.3),
    (16, 128, None, 1, False): (108.7, 16.4),
    (16, 128, "columns", 2, False): (115.6, 213.5),
    (16, 128, "depth", 2, False): (82.8, 3897.0),
    (16, 128, "depth", 4, False): (128.5, 4126.2),
    (16, 256, None, 1, False): (246.9, 962.2),
    (16, 256, "depth", 2, False): (243.3, 4117.2),
    (16, 256, "depth", 4, False): (227.5, 6657.0),
    (32, 64, None, 1, False): (82.1, 1.1),
    (32, 64, "columns", 2, False): (97.9, 99.4),
    (32, 64, "depth", 2, False): (75.7, 3262.9),
    (32, 64, "depth", 4, False): (122.4, 2906.7),
    (32, 128, None, 1, False): (116.7, 1.1),
    (32, 128, "columns", 2, False): (126.4, 1.2),
    (32, 128, "depth", 2, False): (98.6, 3801.6),
    (32, 128, "depth", 4, False): (150.6, 3840.0),
    (32, 256, None, 1, False): (252.9, 712.1),
    (32, 256, "depth", 2, False): (248.2, 4760.2),
    (32, 256, "depth", 4, False): (232.6, 6782.2),
    (64, 64, None, 1, False): (133.1, 278.0),
    (64, 64, "columns", 2, False): (170.9, 100.6),
    (64, 64, "depth", 2, False): (184.0, 2450.7),
    (64, 64, "depth", 4, False): (182.5, 2359.3),
    (64, 64, "depth", 8, False): (208.7, 2511.9),
    (64, 128, None, 1, False): (160.7, 1.0),
    (64, 128, "columns", 2, False): (147.2, 3964.6),
    (64, 128, "depth", 2, False): (252.5, 2961.2),
    (64, 128, "depth", 4, False): (252.0, 3107.2),
    (64, 128, "depth", 8, False): (299.4, 3460.2),
    (64, 256, None, 1, False): (295.2, 164.6),
    (64, 256, "depth", 2, False): (397.0, 4738.3),
    (64, 256, "depth", 4, False): (433.6, 4988.1),
    (64, 256, "depth", 8, False): (514.3, 5518.5),
    (64, 256, "rows", 2, False): (311.4, 2307.0),
    (64, 256, "rows", 3, False): (295.2, 2211.8),
    (64, 256, "rows", 4, False): (292.6, 2076.7),
    (64, 256, "rows", 5, False): (290.6, 1996.0),
    (64, 256, "rows", 8, False): (292.0, 2029.3),
    (128, 128, None, 1, False): (334.1, 697.5),
    (128, 128, "columns", 2, False): (331.9, 1088.5),
    (128, 128, "depth", 2, False): (388.7, 4511.0),
    (128, 128, "depth", 4, False): (394.4, 4695.5),
    (128, 128, "depth", 8, False): (446.8, 5032.8),
    (128, 128, "rows", 2, False): (370.1, 64.9),
    (128, 128, "rows", 2, True): (370.5, 1.0),
    (128, 192, None, 1, False): (437.8, 2398.9),
    (128, 192, None, 1, True): (431.3, 2506.4),
    (128, 192, "depth", 2, False): (552.1, 5784.7),
    (128, 192, "depth", 3, False): (558.7, 6107.0),
    (128, 192, "depth", 4, False): (545.1, 6591.2),
    (128, 192, "rows", 2, True): (483.3, 1045.2),
    (128, 256, None, 1, False): (575.2, 3223.4),
    (128, 256, "rows", 2, False): (569.5, 3451.9),
    (256, 192, None, 1, False): (897.3, 4220.8),
    (256, 192, "columns", 2, False): (859.1, 4970.4),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, 1, False): (183.6, 656.5),
    (64, 64, "depth", 2, False): (177.7, 3081.6),
    (64, 64, "depth", 4, False): (180.4, 2861.5),
    (64, 64, "depth", 8, False): (194.4, 2884.8),
    (64, 128, None, 1, False): (270.8, 625.1),
    (64, 128, "depth", 2, False): (254.9, 3840.3),
    (64, 128, "depth", 4, False): (264.1, 3560.5),
    (64, 128, "depth", 8, False): (327.4, 3768.3),
    (128, 64, None, 1, False): (266.7, 1528.7),
    (128, 128, None, 1, False): (401.0, 1127.4),
    (128, 128, "depth", 2, False): (459.0, 4948.9),
    (128, 128, "depth", 4, False): (449.1, 5213.8),
    (128, 128, "depth", 8, False): (524.3, 5201.8),
    (128, 192, None, 1, False): (544.0, 1622.9),
    (256, 128, None, 1, False): (709.6, 2752.8),
}
"""The same where sums are promoted."""

FASTEST: Final[dict[Sizes, tuple[Tile, bool]]] = {
    (8, "K", False, 64, 28672, 8192): ((64, 128, None, 1, False), False),
    (8, "K", False, 192, 8192, 8192): ((64, 256, "rows", 3, False), False),
    (8, "K", False, 256, 4096, 4096): ((64, 128, None, 1, False), True),
    (8, "K", False, 300, 4096, 14336): ((64, 256, "rows", 5, False), False),
    (8, "K", False, 304, 4992, 3072): ((128, 128, None, 1, False), False),
    (8, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (8, "K", True, 64, 7168, 16384): ((64, 64, None, 1, False), False),
    (8, "K", True, 64, 8192, 8192): ((64, 64, None, 1, False), False),
    (8, "K", True, 64, 24576, 1536): ((64, 64, None, 1, False), False),
    (8, "K", True, 128, 7168, 16384): ((64, 128, None, 1, False), False),
    (8, "K", True, 128, 32768, 512): ((64, 128, None, 1, False), False),
    (16, "K", False, 1, 8192, 28672): ((16, 64, None, 1, False), False),
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
    (16, "K", False, 512, 5120, 13824): ((128, 128, None, 1, False), True),
    (16, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (16, "K", False, 512, 10240, 8192): ((128, 128, None, 1, False), True),
    (16, "K", False, 512, 14336, 4096): ((128, 128, None, 1, False), True),
    (16, "K", False, 1000, 5000, 3000): ((128, 192, "rows", 2, True), False),
    (16, "K", False, 1024, 5120, 5120): ((128, 128, None, 1, False), True),
    (16, "K", False, 2048, 2112, 7168): ((256, 192, None, 1, False), True),
    (16, "K", False, 2048, 14336, 4096): ((128, 256, None, 1, False), False),
    (16, "K", False, 8192, 8192, 8192): ((128, 256, None, 1, False), True),
    (16, "K", False, 8192, 28672, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", False, 16, 4096, 14336): ((16, 64, None, 1, False), False),
    (16, "MN", False, 16, 5120, 5120): ((16, 64, "columns", 2, False), False),
    (16, "MN", False, 16, 5120, 13824): ((16, 64, "columns", 2, False), False),
    (16, "MN", False, 16, 7168, 2048): ((16, 128, None, 1, False), False),
    (16, "MN", False, 16, 8192, 8192): ((16, 128, "columns", 2, False), False),
    (16, "MN", False, 16, 8192, 28672): ((16, 128, "columns", 2, False), False),
    (16, "MN", False, 16, 13824, 5120): ((64, 256, None, 1, False), False),
    (16, "MN", False, 16, 14336, 4096): ((16, 128, None, 1, False), False),
    (16, "MN", False, 32, 4096, 4096): ((32, 64, None, 1, False), False),
    (16, "MN", False, 32, 4096, 14336): ((32, 64, "depth", 2, False), False),
    (16, "MN", False, 32, 5120, 13824): ((32, 64, "columns", 2, False), False),
    (16, "MN", False, 32, 6144, 4096): ((32, 128, None, 1, False), False),
    (16, "MN", False, 32, 7168, 2048): ((32, 128, None, 1, False), False),
    (16, "MN", False, 32, 8192, 8192): ((32, 128, "columns", 2, False), False),
    (16, "MN", False, 32, 8192, 28672): ((32, 64, "columns", 2, False), False),
    (16, "MN", False, 32, 10240, 8192): ((32, 128, "columns", 2, False), False),
    (16, "MN", False, 32, 13824, 5120): ((32, 128, None, 1, False), False),
    (16, "MN", False, 32, 24576, 1536): ((32, 64, "columns", 2, False), False),
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
    (16, "MN", False, 256, 24576, 1536): ((128, 192, None, 1, False), False),
    (16, "MN", False, 256, 28672, 8192): ((128, 192, None, 1, False), True),
    (16, "MN", False, 300, 4096, 14336): ((64, 256, "rows", 5, False), False),
    (16, "MN", False, 304, 4992, 3072): ((64, 256, "rows", 5, False), False),
    (16, "MN", False, 384, 14336, 4096): ((128, 192, None, 1, True), False),
    (16, "MN", False, 512, 4096, 14336): ((128, 128, None, 1, False), False),
    (16, "MN", False, 512, 5120, 13824): ((128, 128, None, 1, False), True),
    (16, "MN", False, 512, 14336, 4096): ((128, 128, None, 1, False), True),
    (16, "MN", False, 1024, 2112, 7168): ((128, 192, None, 1, False), True),
    (16, "MN", False, 1024, 5120, 5120): ((128, 128, None, 1, False), True),
    (16, "MN", False, 2048, 5120, 5120): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 2048, 14336, 4096): ((128, 256, None, 1, False), False),
    (16, "MN", False, 2048, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 8192, 8192): ((256, 192, None, 1, False), True),
    (16, "MN", False, 8192, 28672, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", True, 64, 8192, 8192): ((64, 128, None, 1, False), False),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
