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
    first_bytes=4730,
    memory=4211,
    requests=109.5,
    overlap=2.503,
    split=2705,
    share=1062,
    share_power=1.138,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (16, 64, None, 1, False, False): (93.5, 1.0),
    (16, 64, "columns", 2, False, False): (109.6, 1.0),
    (16, 64, "depth", 2, False, False): (54.6, 4024.2),
    (16, 64, "depth", 4, False, False): (125.1, 3260.0),
    (16, 128, None, 1, False, False): (120.2, 1.0),
    (16, 128, "columns", 2, False, False): (130.0, 1.0),
    (16, 128, "depth", 2, False, False): (84.8, 4294.4),
    (16, 128, "depth", 4, False, False): (143.8, 4552.0),
    (16, 256, None, 1, False, False): (267.1, 824.7),
    (16, 256, "depth", 2, False, False): (265.2, 4336.4),
    (16, 256, "depth", 4, False, False): (232.4, 7436.2),
    (32, 64, None, 1, False, False): (88.3, 1.0),
    (32, 64, "columns", 2, False, False): (102.3, 1.0),
    (32, 64, "depth", 2, False, False): (82.5, 3669.3),
    (32, 64, "depth", 4, False, False): (138.8, 3009.4),
    (32, 128, None, 1, False, False): (127.5, 1.0),
    (32, 128, "columns", 2, False, False): (137.9, 1.0),
    (32, 128, "depth", 2, False, False): (103.3, 4160.4),
    (32, 128, "depth", 4, False, False): (173.6, 4206.0),
    (32, 256, None, 1, False, False): (272.3, 690.8),
    (32, 256, "depth", 2, False, False): (271.5, 5015.6),
    (32, 256, "depth", 4, False, False): (247.0, 7382.1),
    (64, 64, None, 1, False, False): (135.5, 141.7),
    (64, 64, "columns", 2, False, False): (171.0, 564.0),
    (64, 64, "depth", 2, False, False): (186.0, 2667.3),
    (64, 64, "depth", 4, False, False): (186.8, 2504.3),
    (64, 64, "depth", 8, False, False): (213.6, 2573.1),
    (64, 128, None, 1, False, False): (173.1, 1.0),
    (64, 128, "columns", 2, False, False): (130.4, 6799.2),
    (64, 128, "depth", 2, False, False): (260.3, 3482.5),
    (64, 128, "depth", 4, False, False): (260.7, 3431.4),
    (64, 128, "depth", 8, False, False): (307.8, 3621.0),
    (64, 256, None, 1, False, False): (313.3, 26.2),
    (64, 256, "depth", 2, False, False): (390.5, 5683.4),
    (64, 256, "depth", 4, False, False): (444.3, 5593.3),
    (64, 256, "depth", 8, False, False): (535.5, 5867.3),
    (64, 256, "rows", 2, False, False): (341.9, 1523.1),
    (64, 256, "rows", 3, False, False): (319.2, 1550.7),
    (64, 256, "rows", 4, False, False): (317.3, 1410.9),
    (64, 256, "rows", 5, False, False): (313.9, 1463.1),
    (64, 256, "rows", 8, False, False): (315.3, 1479.5),
    (128, 64, None, 1, False, False): (288.5, 1.0),
    (128, 128, None, 1, False, False): (352.4, 518.1),
    (128, 128, "columns", 2, False, False): (351.6, 846.1),
    (128, 128, "depth", 2, False, False): (388.6, 5157.2),
    (128, 128, "depth", 4, False, False): (401.2, 5369.8),
    (128, 128, "depth", 8, False, False): (467.1, 5347.8),
    (128, 128, "rows", 2, False, False): (363.0, 439.9),
    (128, 128, "rows", 2, True, False): (364.8, 121.3),
    (128, 160, None, 1, False, False): (469.9, 860.1),
    (128, 192, None, 1, False, False): (495.6, 1030.7),
    (128, 192, None, 1, True, False): (476.0, 1375.4),
    (128, 192, "depth", 2, False, False): (556.5, 6792.6),
    (128, 192, "depth", 3, False, False): (551.1, 8088.6),
    (128, 192, "depth", 4, False, False): (558.3, 8203.6),
    (128, 192, "rows", 2, True, False): (488.9, 1798.1),
    (128, 224, None, 1, False, False): (583.3, 1348.1),
    (128, 256, None, 1, False, False): (637.4, 1949.5),
    (128, 256, "rows", 2, False, False): (628.0, 2168.6),
    (256, 160, None, 1, False, False): (862.1, 1397.7),
    (256, 192, None, 1, False, False): (988.3, 2118.5),
    (256, 192, "columns", 2, False, False): (925.8, 3513.6),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, 1, False, False): (200.5, 684.4),
    (64, 64, "depth", 2, False, False): (183.5, 3138.2),
    (64, 64, "depth", 4, False, False): (189.1, 2876.0),
    (64, 64, "depth", 8, False, False): (204.4, 2885.0),
    (64, 128, None, 1, False, False): (276.9, 644.0),
    (64, 128, "depth", 2, False, False): (260.9, 3943.1),
    (64, 128, "depth", 4, False, False): (275.2, 3592.7),
    (64, 128, "depth", 8, False, False): (348.5, 3766.2),
    (128, 64, None, 1, False, False): (281.2, 1692.2),
    (128, 128, None, 1, False, False): (410.8, 1131.3),
    (128, 128, "depth", 2, False, False): (473.0, 5114.2),
    (128, 128, "depth", 4, False, False): (472.5, 5251.5),
    (128, 128, "depth", 8, False, False): (555.9, 5191.0),
    (128, 192, None, 1, False, False): (557.3, 1671.0),
    (256, 128, None, 1, False, False): (718.1, 3081.3),
}
"""The same where sums are promoted."""

FASTEST: Final[dict[Sizes, tuple[Tile, bool]]] = {
    (8, "K", False, 64, 28672, 8192): ((64, 128, None, 1, False, False), False),
    (8, "K", False, 192, 8192, 8192): ((64, 256, "rows", 3, False, False), False),
    (8, "K", False, 256, 4096, 4096): ((64, 128, None, 1, False, False), True),
    (8, "K", False, 300, 4096, 14336): ((64, 256, "rows", 5, False, False), False),
    (8, "K", False, 304, 4992, 3072): ((128, 128, None, 1, False, False), False),
    (8, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False, False), False),
    (8, "K", True, 64, 7168, 16384): ((64, 64, None, 1, False, False), False),
    (8, "K", True, 64, 8192, 8192): ((64, 64, None, 1, False, False), False),
    (8, "K", True, 64, 24576, 1536): ((64, 64, None, 1, False, False), False),
    (8, "K", True, 128, 4096, 7168): ((64, 64, None, 1, False, False), False),
    (8, "K", True, 128, 7168, 16384): ((64, 128, None, 1, False, False), False),
    (8, "K", True, 128, 24576, 1536): ((64, 128, None, 1, False, False), False),
    (8, "K", True, 128, 32768, 512): ((64, 128, None, 1, False, False), False),
    (16, "K", False, 1, 8192, 28672): ((16, 64, None, 1, False, False), False),
    (16, "K", False, 64, 4096, 4096): ((64, 64, None, 1, False, False), False),
    (16, "K", False, 128, 4096, 14336): ((64, 64, None, 1, False, False), False),
    (16, "K", False, 128, 10240, 8192): ((128, 128, None, 1, False, False), False),
    (16, "K", False, 192, 8192, 8192): ((64, 256, "rows", 3, False, False), False),
    (16, "K", False, 256, 5120, 5120): ((64, 256, "rows", 5, False, False), False),
    (16, "K", False, 256, 6144, 4096): ((64, 256, "rows", 4, False, False), False),
    (16, "K", False, 256, 7168, 2048): ((64, 256, "rows", 4, False, False), False),
    (16, "K", False, 256, 8192, 8192): ((128, 128, None, 1, False, False), False),
    (16, "K", False, 256, 28672, 8192): ((64, 256, None, 1, False, False), True),
    (16, "K", False, 300, 4096, 14336): ((64, 256, "rows", 5, False, False), False),
    (16, "K", False, 304, 4992, 3072): ((64, 256, "rows", 5, False, False), False),
    (16, "K", False, 384, 14336, 4096): ((128, 192, None, 1, False, False), False),
    (16, "K", False, 512, 2112, 7168): ((64, 64, None, 1, False, False), False),
    (16, "K", False, 512, 4096, 14336): ((128, 128, None, 1, False, False), False),
    (16, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False, False), False),
    (16, "K", False, 512, 10240, 8192): ((128, 128, None, 1, False, False), True),
    (16, "K", False, 512, 14336, 4096): ((128, 128, None, 1, False, False), True),
    (16, "K", False, 1000, 5000, 3000): ((128, 192, "rows", 2, True, False), False),
    (16, "K", False, 1024, 5120, 5120): ((128, 128, None, 1, False, False), True),
    (16, "K", False, 1024, 7168, 2048): ((128, 128, "rows", 2, True, False), False),
    (16, "K", False, 8192, 8192, 8192): ((128, 192, "rows", 2, True, False), False),
    (16, "MN", False, 16, 4096, 14336): ((16, 64, None, 1, False, False), False),
    (16, "MN", False, 16, 5120, 5120): ((16, 64, "columns", 2, False, False), False),
    (16, "MN", False, 16, 5120, 13824): ((16, 64, "columns", 2, False, False), False),
    (16, "MN", False, 16, 7168, 2048): ((16, 128, None, 1, False, False), False),
    (16, "MN", False, 16, 8192, 8192): ((16, 128, "columns", 2, False, False), False),
    (16, "MN", False, 16, 8192, 28672): ((16, 128, "columns", 2, False, False), False),
    (16, "MN", False, 16, 13824, 5120): ((64, 256, None, 1, False, False), False),
    (16, "MN", False, 16, 14336, 4096): ((16, 128, None, 1, False, False), False),
    (16, "MN", False, 32, 2112, 7168): ((32, 64, "depth", 2, False, False), False),
    (16, "MN", False, 32, 4096, 4096): ((32, 64, None, 1, False, False), False),
    (16, "MN", False, 32, 4096, 14336): ((32, 64, "depth", 2, False, False), False),
    (16, "MN", False, 32, 5120, 13824): ((32, 64, "columns", 2, False, False), False),
    (16, "MN", False, 32, 6144, 4096): ((32, 128, None, 1, False, False), False),
    (16, "MN", False, 32, 7168, 2048): ((32, 128, None, 1, False, False), False),
    (16, "MN", False, 32, 8192, 8192): ((32, 128, "columns", 2, False, False), False),
    (16, "MN", False, 32, 10240, 8192): ((32, 128, "columns", 2, False, False), False),
    (16, "MN", False, 32, 13824, 5120): ((32, 128, None, 1, False, False), False),
    (16, "MN", False, 32, 24576, 1536): ((32, 64, "columns", 2, False, False), False),
    (16, "MN", False, 32, 28672, 8192): ((32, 256, None, 1, False, False), False),
    (16, "MN", False, 64, 2112, 7168): ((64, 64, "depth", 2, False, False), False),
    (16, "MN", False, 64, 4096, 4096): ((64, 64, None, 1, False, False), False),
    (16, "MN", False, 64, 5120, 13824): ((64, 64, None, 1, False, False), False),
    (16, "MN", False, 64, 6144, 4096): ((64, 128, None, 1, False, False), False),
    (16, "MN", False, 64, 7168, 2048): ((64, 128, None, 1, False, False), False),
    (16, "MN", False, 64, 10240, 8192): ((64, 128, "columns", 2, False, False), False),
    (16, "MN", False, 64, 13824, 5120): ((64, 128, "columns", 2, False, False), False),
    (16, "MN", False, 64, 24576, 1536): ((64, 64, None, 1, False, False), False),
    (16, "MN", False, 64, 28672, 8192): ((64, 128, "columns", 2, False, False), False),
    (16, "MN", False, 128, 2112, 7168): ((64, 64, None, 1, False, False), True),
    (16, "MN", False, 128, 4096, 14336): ((64, 64, None, 1, False, False), False),
    (16, "MN", False, 128, 5120, 13824): ((128, 128, "depth", 2, False, False), False),
    (16, "MN", False, 128, 8192, 28672): ((64, 128, None, 1, False, False), False),
    (16, "MN", False, 128, 10240, 8192): ((64, 256, "rows", 2, False, False), False),
    (16, "MN", False, 128, 13824, 5120): ((64, 256, "rows", 2, False, False), False),
    (16, "MN", False, 128, 14336, 4096): ((64, 256, "rows", 2, False, False), False),
    (16, "MN", False, 128, 24576, 1536): ((64, 256, "rows", 2, False, False), False),
    (16, "MN", False, 128, 28672, 8192): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 192, 8192, 8192): ((64, 256, "rows", 3, False, False), False),
    (16, "MN", False, 256, 5120, 5120): ((64, 256, "rows", 4, False, False), False),
    (16, "MN", False, 256, 6144, 4096): ((64, 256, "rows", 4, False, False), False),
    (16, "MN", False, 256, 7168, 2048): ((64, 256, "rows", 4, False, False), False),
    (16, "MN", False, 256, 8192, 8192): ((128, 128, "rows", 2, True, False), False),
    (16, "MN", False, 256, 8192, 28672): ((128, 128, "rows", 2, True, False), False),
    (16, "MN", False, 256, 10240, 8192): ((128, 192, None, 1, False, False), False),
    (16, "MN", False, 256, 13824, 5120): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 256, 24576, 1536): ((128, 192, None, 1, False, False), False),
    (16, "MN", False, 300, 4096, 14336): ((64, 256, "rows", 5, False, False), False),
    (16, "MN", False, 304, 4992, 3072): ((64, 256, "rows", 5, False, False), False),
    (16, "MN", False, 384, 14336, 4096): ((128, 192, None, 1, True, False), False),
    (16, "MN", False, 500, 5000, 3000): ((128, 256, "rows", 2, False, False), False),
    (16, "MN", False, 512, 2112, 7168): ((128, 64, None, 1, False, False), False),
    (16, "MN", False, 512, 4096, 14336): ((128, 128, None, 1, False, False), False),
    (16, "MN", False, 512, 5120, 13824): ((128, 160, None, 1, False, False), False),
    (16, "MN", False, 512, 6144, 4096): ((128, 192, None, 1, False, False), False),
    (16, "MN", False, 512, 8192, 8192): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 1024, 2112, 7168): ((128, 160, None, 1, False, False), False),
    (16, "MN", False, 1024, 4096, 14336): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 1024, 8192, 8192): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 1024, 8192, 28672): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 1024, 14336, 4096): ((128, 128, "rows", 2, True, False), False),
    (16, "MN", False, 2048, 4096, 14336): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 2048, 5120, 5120): ((128, 128, "rows", 2, True, False), False),
    (16, "MN", False, 2048, 7168, 2048): ((128, 128, "rows", 2, True, False), False),
    (16, "MN", False, 2048, 8192, 28672): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 2048, 10240, 8192): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 2048, 14336, 4096): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 4096, 4096, 4096): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 4096, 7168, 2048): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 4096, 13824, 5120): ((128, 192, None, 1, True, False), False),
    (16, "MN", False, 8192, 4096, 4096): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 8192, 4096, 14336): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 8192, 5120, 5120): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 8192, 5120, 13824): ((128, 256, None, 1, False, False), False),
    (16, "MN", False, 8192, 6144, 4096): ((256, 192, None, 1, False, False), False),
    (16, "MN", False, 8192, 7168, 2048): ((128, 192, None, 1, True, False), False),
    (16, "MN", False, 8192, 10240, 8192): ((128, 256, None, 1, False, False), True),
    (16, "MN", False, 8192, 14336, 4096): ((128, 192, None, 1, True, False), False),
    (16, "MN", False, 8192, 28672, 8192): ((128, 192, None, 1, True, False), False),
    (16, "MN", False, 16384, 5120, 5120): ((128, 256, None, 1, False, False), True),
    (16, "MN", True, 64, 8192, 8192): ((64, 128, None, 1, False, False), False),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
