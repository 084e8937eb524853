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
    first_bytes=4726,
    memory=4226,
    requests=109.5,
    overlap=2.466,
    split=2683,
    share=1081,
    share_power=1.126,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (16, 64, None, 1, False): (93.5, 0.1),
    (16, 64, "columns", 2, False): (108.8, 0.0),
    (16, 64, "depth", 2, False): (53.9, 3998.4),
    (16, 64, "depth", 4, False): (124.2, 3251.7),
    (16, 128, None, 1, False): (119.3, 0.0),
    (16, 128, "columns", 2, False): (129.0, 0.0),
    (16, 128, "depth", 2, False): (84.5, 4258.9),
    (16, 128, "depth", 4, False): (142.6, 4523.5),
    (16, 256, None, 1, False): (266.1, 819.5),
    (16, 256, "depth", 2, False): (264.0, 4312.7),
    (16, 256, "depth", 4, False): (231.7, 7393.1),
    (32, 64, None, 1, False): (87.3, 0.0),
    (32, 64, "columns", 2, False): (101.8, 0.0),
    (32, 64, "depth", 2, False): (81.6, 3643.3),
    (32, 64, "depth", 4, False): (137.9, 3002.4),
    (32, 128, None, 1, False): (126.7, 0.0),
    (32, 128, "columns", 2, False): (137.0, 0.0),
    (32, 128, "depth", 2, False): (102.9, 4120.6),
    (32, 128, "depth", 4, False): (171.9, 4181.3),
    (32, 256, None, 1, False): (271.2, 688.0),
    (32, 256, "depth", 2, False): (270.3, 4982.1),
    (32, 256, "depth", 4, False): (246.0, 7341.3),
    (64, 64, None, 1, False): (135.3, 118.1),
    (64, 64, "columns", 2, False): (170.7, 517.3),
    (64, 64, "depth", 2, False): (185.5, 2666.2),
    (64, 64, "depth", 4, False): (186.2, 2503.5),
    (64, 64, "depth", 8, False): (212.9, 2573.4),
    (64, 128, None, 1, False): (172.2, 0.0),
    (64, 128, "columns", 2, False): (134.1, 6420.2),
    (64, 128, "depth", 2, False): (258.4, 3488.8),
    (64, 128, "depth", 4, False): (259.8, 3430.8),
    (64, 128, "depth", 8, False): (306.6, 3620.9),
    (64, 256, None, 1, False): (312.8, 0.0),
    (64, 256, "depth", 2, False): (390.4, 5620.7),
    (64, 256, "depth", 4, False): (441.7, 5598.2),
    (64, 256, "depth", 8, False): (533.3, 5866.4),
    (64, 256, "rows", 2, False): (340.5, 1551.7),
    (64, 256, "rows", 3, False): (318.6, 1550.7),
    (64, 256, "rows", 4, False): (316.6, 1399.5),
    (64, 256, "rows", 5, False): (313.1, 1455.6),
    (64, 256, "rows", 8, False): (314.6, 1471.2),
    (128, 64, None, 1, False): (289.4, 0.1),
    (128, 128, None, 1, False): (351.3, 528.7),
    (128, 128, "columns", 2, False): (350.1, 865.1),
    (128, 128, "depth", 2, False): (388.4, 5100.2),
    (128, 128, "depth", 4, False): (401.9, 5342.0),
    (128, 128, "depth", 8, False): (465.2, 5349.8),
    (128, 128, "rows", 2, False): (361.4, 465.1),
    (128, 128, "rows", 2, True): (363.3, 137.3),
    (128, 192, None, 1, False): (493.9, 1043.3),
    (128, 192, None, 1, True): (472.1, 1505.0),
    (128, 192, "depth", 2, False): (558.2, 6654.9),
    (128, 192, "depth", 3, False): (549.4, 8068.5),
    (128, 192, "depth", 4, False): (557.3, 8171.0),
    (128, 192, "rows", 2, True): (488.2, 1783.7),
    (128, 256, None, 1, False): (635.5, 1937.3),
    (128, 256, "rows", 2, False): (625.5, 2191.5),
    (256, 192, None, 1, False): (985.4, 2142.6),
    (256, 192, "columns", 2, False): (923.1, 3541.5),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, 1, False): (199.5, 682.5),
    (64, 64, "depth", 2, False): (183.2, 3134.8),
    (64, 64, "depth", 4, False): (188.5, 2875.5),
    (64, 64, "depth", 8, False): (203.9, 2885.1),
    (64, 128, None, 1, False): (276.6, 643.2),
    (64, 128, "depth", 2, False): (260.5, 3935.9),
    (64, 128, "depth", 4, False): (274.5, 3591.0),
    (64, 128, "depth", 8, False): (347.2, 3766.6),
    (128, 64, None, 1, False): (280.3, 1682.8),
    (128, 128, None, 1, False): (410.2, 1131.6),
    (128, 128, "depth", 2, False): (472.2, 5102.5),
    (128, 128, "depth", 4, False): (471.0, 5249.7),
    (128, 128, "depth", 8, False): (554.1, 5191.9),
    (128, 192, None, 1, False): (556.6, 1669.1),
    (256, 128, None, 1, False): (717.9, 3055.6),
}
"""The same where sums are promoted."""

FASTEST: Final[dict[Sizes, tuple[Tile, bool]]] = {
    (8, "K", False, 64, 28672, 8192): ((64, 128, None, 1, False), False),
    (8, "K", False, 192, 8192, 8192): ((64, 256, "rows", 3, False), False),
    (8, "K", False, 256, 4096, 4096): ((64, 128, None, 1, False), True),
    (8, "K", False, 300, 4096, 14336): ((64, 256, "rows", 5, False), False),
    (8, "K", False, 304, 4992, 3072): ((128, 128, None, 1, False), False),
    (8, "K", False, 512, 4096, 4096): ((128, 128, None, 1, False), False),
    (8, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (8, "K", True, 64, 7168, 16384): ((64, 64, None, 1, False), False),
    (8, "K", True, 64, 8192, 8192): ((64, 64, None, 1, False), False),
    (8, "K", True, 64, 24576, 1536): ((64, 64, None, 1, False), False),
    (8, "K", True, 128, 4096, 7168): ((64, 64, None, 1, False), False),
    (8, "K", True, 128, 7168, 16384): ((64, 128, None, 1, False), False),
    (8, "K", True, 128, 24576, 1536): ((64, 128, None, 1, False), False),
    (8, "K", True, 128, 32768, 512): ((64, 128, None, 1, False), False),
    (16, "K", False, 1, 8192, 28672): ((16, 64, None, 1, False), False),
    (16, "K", False, 64, 4096, 4096): ((64, 64, None, 1, False), False),
    (16, "K", False, 128, 4096, 14336): ((64, 64, None, 1, False), False),
    (16, "K", False, 128, 10240, 8192): ((128, 128, None, 1, False), False),
    (16, "K", False, 192, 8192, 8192): ((64, 256, "rows", 3, False), False),
    (16, "K", False, 256, 5120, 5120): ((64, 256, "rows", 5, False), False),
    (16, "K", False, 256, 6144, 4096): ((64, 256, "rows", 4, False), False),
    (16, "K", False, 256, 7168, 2048): ((64, 256, "rows", 4, False), False),
    (16, "K", False, 256, 8192, 8192): ((128, 128, None, 1, False), False),
    (16, "K", False, 256, 28672, 8192): ((64, 256, None, 1, False), True),
    (16, "K", False, 300, 4096, 14336): ((64, 256, "rows", 5, False), False),
    (16, "K", False, 304, 4992, 3072): ((64, 256, "rows", 5, False), False),
    (16, "K", False, 384, 14336, 4096): ((128, 192, None, 1, False), False),
    (16, "K", False, 512, 2112, 7168): ((64, 64, None, 1, False), False),
    (16, "K", False, 512, 4096, 14336): ((128, 128, None, 1, False), False),
    (16, "K", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (16, "K", False, 512, 10240, 8192): ((128, 128, None, 1, False), True),
    (16, "K", False, 512, 14336, 4096): ((128, 128, None, 1, False), True),
    (16, "K", False, 1000, 5000, 3000): ((128, 192, "rows", 2, True), False),
    (16, "K", False, 1024, 5120, 5120): ((128, 128, None, 1, False), True),
    (16, "K", False, 1024, 7168, 2048): ((128, 128, "rows", 2, True), False),
    (16, "K", False, 4096, 4096, 4096): ((128, 256, None, 1, False), False),
    (16, "K", False, 4096, 7168, 2048): ((128, 256, None, 1, False), False),
    (16, "K", False, 8192, 8192, 8192): ((128, 192, "rows", 2, True), False),
    (16, "MN", False, 16, 4096, 14336): ((16, 64, None, 1, False), False),
    (16, "MN", False, 16, 5120, 5120): ((16, 64, "columns", 2, False), False),
    (16, "MN", False, 16, 5120, 13824): ((16, 64, "columns", 2, False), False),
    (16, "MN", False, 16, 7168, 2048): ((16, 128, None, 1, False), False),
    (16, "MN", False, 16, 8192, 8192): ((16, 128, "columns", 2, False), False),
    (16, "MN", False, 16, 8192, 28672): ((16, 128, "columns", 2, False), False),
    (16, "MN", False, 16, 13824, 5120): ((64, 256, None, 1, False), False),
    (16, "MN", False, 16, 14336, 4096): ((16, 128, None, 1, False), False),
    (16, "MN", False, 32, 2112, 7168): ((32, 64, "depth", 2, False), False),
    (16, "MN", False, 32, 4096, 4096): ((32, 64, None, 1, False), False),
    (16, "MN", False, 32, 4096, 14336): ((32, 64, "depth", 2, False), False),
    (16, "MN", False, 32, 5120, 13824): ((32, 64, "columns", 2, False), False),
    (16, "MN", False, 32, 6144, 4096): ((32, 128, None, 1, False), False),
    (16, "MN", False, 32, 7168, 2048): ((32, 128, None, 1, False), False),
    (16, "MN", False, 32, 8192, 8192): ((32, 128, "columns", 2, False), False),
    (16, "MN", False, 32, 10240, 8192): ((32, 128, "columns", 2, False), False),
    (16, "MN", False, 32, 13824, 5120): ((32, 128, None, 1, False), False),
    (16, "MN", False, 32, 24576, 1536): ((32, 64, "columns", 2, False), False),
    (16, "MN", False, 32, 28672, 8192): ((32, 256, None, 1, False), False),
    (16, "MN", False, 64, 2112, 7168): ((64, 64, "depth", 2, False), False),
    (16, "MN", False, 64, 4096, 4096): ((64, 64, None, 1, False), False),
    (16, "MN", False, 64, 5120, 13824): ((64, 64, None, 1, False), False),
    (16, "MN", False, 64, 6144, 4096): ((64, 128, None, 1, False), False),
    (16, "MN", False, 64, 7168, 2048): ((64, 128, None, 1, False), False),
    (16, "MN", False, 64, 10240, 8192): ((64, 128, "columns", 2, False), False),
    (16, "MN", False, 64, 13824, 5120): ((64, 128, "columns", 2, False), False),
    (16, "MN", False, 64, 24576, 1536): ((64, 64, None, 1, False), False),
    (16, "MN", False, 64, 28672, 8192): ((64, 128, "columns", 2, False), False),
    (16, "MN", False, 128, 2112, 7168): ((64, 64, None, 1, False), True),
    (16, "MN", False, 128, 4096, 14336): ((64, 64, None, 1, False), False),
    (16, "MN", False, 128, 5120, 13824): ((128, 128, "depth", 2, False), False),
    (16, "MN", False, 128, 8192, 28672): ((64, 128, None, 1, False), False),
    (16, "MN", False, 128, 10240, 8192): ((64, 256, "rows", 2, False), False),
    (16, "MN", False, 128, 13824, 5120): ((64, 256, "rows", 2, False), False),
    (16, "MN", False, 128, 14336, 4096): ((64, 256, "rows", 2, False), False),
    (16, "MN", False, 128, 24576, 1536): ((64, 256, "rows", 2, False), False),
    (16, "MN", False, 128, 28672, 8192): ((64, 256, "rows", 2, False), False),
    (16, "MN", False, 192, 8192, 8192): ((64, 256, "rows", 3, False), False),
    (16, "MN", False, 256, 5120, 5120): ((64, 256, "rows", 4, False), False),
    (16, "MN", False, 256, 6144, 4096): ((64, 256, "rows", 4, False), False),
    (16, "MN", False, 256, 7168, 2048): ((64, 256, "rows", 4, False), False),
    (16, "MN", False, 256, 8192, 8192): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 256, 8192, 28672): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 256, 10240, 8192): ((128, 192, None, 1, False), False),
    (16, "MN", False, 256, 13824, 5120): ((128, 256, None, 1, False), False),
    (16, "MN", False, 256, 14336, 4096): ((64, 256, "rows", 4, False), False),
    (16, "MN", False, 256, 24576, 1536): ((128, 192, None, 1, False), False),
    (16, "MN", False, 256, 28672, 8192): ((128, 192, None, 1, False), True),
    (16, "MN", False, 300, 4096, 14336): ((64, 256, "rows", 5, False), False),
    (16, "MN", False, 304, 4992, 3072): ((64, 256, "rows", 5, False), False),
    (16, "MN", False, 384, 14336, 4096): ((128, 192, None, 1, True), False),
    (16, "MN", False, 500, 5000, 3000): ((128, 256, "rows", 2, False), False),
    (16, "MN", False, 512, 2112, 7168): ((128, 64, None, 1, False), False),
    (16, "MN", False, 512, 4096, 14336): ((128, 128, None, 1, False), False),
    (16, "MN", False, 512, 5120, 5120): ((128, 192, None, 1, False), False),
    (16, "MN", False, 512, 6144, 4096): ((128, 192, None, 1, False), False),
    (16, "MN", False, 512, 7168, 2048): ((128, 256, None, 1, False), False),
    (16, "MN", False, 512, 8192, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", False, 512, 10240, 8192): ((128, 128, None, 1, False), True),
    (16, "MN", False, 512, 14336, 4096): ((128, 128, None, 1, False), True),
    (16, "MN", False, 1024, 2112, 7168): ((128, 192, None, 1, False), True),
    (16, "MN", False, 1024, 4096, 14336): ((128, 256, None, 1, False), False),
    (16, "MN", False, 1024, 5120, 5120): ((128, 128, None, 1, False), True),
    (16, "MN", False, 1024, 7168, 2048): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 1024, 8192, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", False, 1024, 8192, 28672): ((128, 256, None, 1, False), False),
    (16, "MN", False, 1024, 14336, 4096): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 1024, 28672, 8192): ((128, 256, "rows", 2, False), False),
    (16, "MN", False, 2048, 4096, 14336): ((128, 256, None, 1, False), False),
    (16, "MN", False, 2048, 5120, 5120): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 2048, 8192, 28672): ((128, 256, None, 1, False), False),
    (16, "MN", False, 2048, 10240, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", False, 2048, 14336, 4096): ((128, 256, None, 1, False), False),
    (16, "MN", False, 4096, 5120, 5120): ((128, 256, None, 1, False), False),
    (16, "MN", False, 4096, 13824, 5120): ((128, 192, None, 1, True), False),
    (16, "MN", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 4096, 28672, 8192): ((128, 192, None, 1, False), True),
    (16, "MN", False, 8192, 4096, 4096): ((128, 256, None, 1, False), False),
    (16, "MN", False, 8192, 4096, 14336): ((128, 256, None, 1, False), False),
    (16, "MN", False, 8192, 5120, 5120): ((128, 256, "rows", 2, False), False),
    (16, "MN", False, 8192, 5120, 13824): ((128, 256, None, 1, False), True),
    (16, "MN", False, 8192, 6144, 4096): ((256, 192, None, 1, False), False),
    (16, "MN", False, 8192, 7168, 2048): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 10240, 8192): ((128, 256, None, 1, False), True),
    (16, "MN", False, 8192, 14336, 4096): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 28672, 8192): ((128, 192, None, 1, True), False),
    (16, "MN", False, 16384, 5120, 5120): ((128, 192, None, 1, True), False),
    (16, "MN", True, 64, 8192, 8192): ((64, 128, None, 1, False), False),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
