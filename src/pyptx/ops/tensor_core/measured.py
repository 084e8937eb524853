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
    first_bytes=4755,
    memory=4225,
    requests=109.4,
    overlap=2.474,
    split=2672,
    share=1079,
    share_power=1.129,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (16, 64, None, 1, False): (93.6, 1.0),
    (16, 64, "columns", 2, False): (108.9, 1.0),
    (16, 64, "depth", 2, False): (53.7, 3999.4),
    (16, 64, "depth", 4, False): (124.4, 3249.9),
    (16, 128, None, 1, False): (119.3, 1.0),
    (16, 128, "columns", 2, False): (129.0, 1.0),
    (16, 128, "depth", 2, False): (85.6, 4217.4),
    (16, 128, "depth", 4, False): (142.7, 4522.9),
    (16, 256, None, 1, False): (266.4, 800.3),
    (16, 256, "depth", 2, False): (264.6, 4285.5),
    (16, 256, "depth", 4, False): (231.7, 7389.6),
    (32, 64, None, 1, False): (87.4, 1.0),
    (32, 64, "columns", 2, False): (101.7, 1.0),
    (32, 64, "depth", 2, False): (81.5, 3644.5),
    (32, 64, "depth", 4, False): (138.1, 3001.0),
    (32, 128, None, 1, False): (126.7, 1.0),
    (32, 128, "columns", 2, False): (137.1, 1.0),
    (32, 128, "depth", 2, False): (102.8, 4112.6),
    (32, 128, "depth", 4, False): (172.0, 4181.4),
    (32, 256, None, 1, False): (271.6, 662.9),
    (32, 256, "depth", 2, False): (270.8, 4963.0),
    (32, 256, "depth", 4, False): (246.0, 7339.3),
    (64, 64, None, 1, False): (135.3, 118.0),
    (64, 64, "columns", 2, False): (170.8, 515.2),
    (64, 64, "depth", 2, False): (185.6, 2664.7),
    (64, 64, "depth", 4, False): (186.4, 2502.8),
    (64, 64, "depth", 8, False): (213.1, 2572.9),
    (64, 128, None, 1, False): (172.2, 1.0),
    (64, 128, "columns", 2, False): (134.3, 6418.5),
    (64, 128, "depth", 2, False): (258.6, 3487.0),
    (64, 128, "depth", 4, False): (260.0, 3429.4),
    (64, 128, "depth", 8, False): (306.9, 3620.1),
    (64, 256, None, 1, False): (312.9, 1.0),
    (64, 256, "depth", 2, False): (390.5, 5620.3),
    (64, 256, "depth", 4, False): (442.1, 5595.0),
    (64, 256, "depth", 8, False): (533.8, 5864.6),
    (64, 256, "rows", 2, False): (340.6, 1550.2),
    (64, 256, "rows", 3, False): (318.7, 1549.4),
    (64, 256, "rows", 4, False): (316.7, 1398.7),
    (64, 256, "rows", 5, False): (313.2, 1454.4),
    (64, 256, "rows", 8, False): (314.6, 1471.4),
    (128, 64, None, 1, False): (289.4, 3.5),
    (128, 128, None, 1, False): (351.4, 527.6),
    (128, 128, "columns", 2, False): (350.2, 862.6),
    (128, 128, "depth", 2, False): (388.6, 5098.9),
    (128, 128, "depth", 4, False): (402.2, 5341.2),
    (128, 128, "depth", 8, False): (465.6, 5348.5),
    (128, 128, "rows", 2, False): (361.4, 463.6),
    (128, 128, "rows", 2, True): (365.0, 26.4),
    (128, 192, None, 1, False): (494.1, 1042.2),
    (128, 192, None, 1, True): (472.2, 1502.7),
    (128, 192, "depth", 2, False): (558.4, 6654.0),
    (128, 192, "depth", 3, False): (549.7, 8068.2),
    (128, 192, "depth", 4, False): (557.5, 8172.1),
    (128, 192, "rows", 2, True): (499.6, 642.3),
    (128, 256, None, 1, False): (635.7, 1935.9),
    (128, 256, "rows", 2, False): (625.6, 2191.6),
    (256, 192, None, 1, False): (985.6, 2141.5),
    (256, 192, "columns", 2, False): (923.3, 3542.2),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, 1, False): (199.6, 681.1),
    (64, 64, "depth", 2, False): (183.2, 3134.6),
    (64, 64, "depth", 4, False): (188.6, 2875.4),
    (64, 64, "depth", 8, False): (203.9, 2884.9),
    (64, 128, None, 1, False): (276.6, 643.0),
    (64, 128, "depth", 2, False): (260.5, 3935.2),
    (64, 128, "depth", 4, False): (274.6, 3590.9),
    (64, 128, "depth", 8, False): (347.3, 3766.4),
    (128, 64, None, 1, False): (280.3, 1682.4),
    (128, 128, None, 1, False): (410.3, 1130.1),
    (128, 128, "depth", 2, False): (472.2, 5101.7),
    (128, 128, "depth", 4, False): (471.1, 5249.5),
    (128, 128, "depth", 8, False): (554.4, 5191.5),
    (128, 192, None, 1, False): (556.7, 1666.4),
    (256, 128, None, 1, False): (718.1, 3052.0),
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
    (16, "K", False, 256, 24576, 1536): ((128, 192, None, 1, True), False),
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
    (16, "MN", False, 8192, 4096, 14336): ((256, 192, None, 1, False), True),
    (16, "MN", False, 8192, 5120, 5120): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 8192, 5120, 13824): ((128, 128, None, 1, False), True),
    (16, "MN", False, 8192, 6144, 4096): ((256, 192, None, 1, False), False),
    (16, "MN", False, 8192, 7168, 2048): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 10240, 8192): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 8192, 13824, 5120): ((128, 192, "rows", 2, True), False),
    (16, "MN", False, 8192, 14336, 4096): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 8192, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 8192, 28672, 8192): ((128, 192, None, 1, True), False),
    (16, "MN", False, 16384, 5120, 5120): ((128, 128, "rows", 2, True), False),
    (16, "MN", True, 64, 8192, 8192): ((64, 128, None, 1, False), False),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
