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
    first_bytes=4919,
    memory=4266,
    requests=109,
    overlap=2.441,
    split=2531,
    share=1095,
    share_power=1.12,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (16, 64, None, 1, False): (94.0, 0.6),
    (16, 64, "columns", 2, False): (108.7, 1.2),
    (16, 64, "depth", 2, False): (51.0, 3910.2),
    (16, 64, "depth", 4, False): (123.6, 3263.8),
    (16, 128, None, 1, False): (117.9, 0.5),
    (16, 128, "columns", 2, False): (127.2, 7.1),
    (16, 128, "depth", 2, False): (84.7, 4012.7),
    (16, 128, "depth", 4, False): (144.3, 4419.0),
    (16, 256, None, 1, False): (265.3, 765.4),
    (16, 256, "depth", 2, False): (267.7, 3973.5),
    (16, 256, "depth", 4, False): (238.6, 7088.4),
    (32, 64, None, 1, False): (86.0, 0.0),
    (32, 64, "columns", 2, False): (100.9, 3.3),
    (32, 64, "depth", 2, False): (79.4, 3599.3),
    (32, 64, "depth", 4, False): (137.7, 2976.3),
    (32, 128, None, 1, False): (125.5, 0.0),
    (32, 128, "columns", 2, False): (135.7, 0.0),
    (32, 128, "depth", 2, False): (101.5, 4003.9),
    (32, 128, "depth", 4, False): (170.1, 4131.9),
    (32, 256, None, 1, False): (271.9, 473.2),
    (32, 256, "depth", 2, False): (271.2, 4802.4),
    (32, 256, "depth", 4, False): (245.2, 7247.2),
    (64, 64, None, 1, False): (132.3, 149.4),
    (64, 64, "columns", 2, False): (173.6, 210.9),
    (64, 64, "depth", 2, False): (187.5, 2506.4),
    (64, 64, "depth", 4, False): (187.5, 2400.5),
    (64, 64, "depth", 8, False): (215.5, 2520.8),
    (64, 128, None, 1, False): (170.6, 0.0),
    (64, 128, "columns", 2, False): (137.8, 6058.2),
    (64, 128, "depth", 2, False): (262.8, 3104.7),
    (64, 128, "depth", 4, False): (264.2, 3193.4),
    (64, 128, "depth", 8, False): (312.4, 3506.2),
    (64, 256, None, 1, False): (310.6, 5.5),
    (64, 256, "depth", 2, False): (397.2, 5143.1),
    (64, 256, "depth", 4, False): (451.2, 5164.4),
    (64, 256, "depth", 8, False): (543.4, 5595.0),
    (64, 256, "rows", 2, False): (343.3, 1383.2),
    (64, 256, "rows", 3, False): (319.4, 1493.1),
    (64, 256, "rows", 4, False): (317.5, 1343.3),
    (64, 256, "rows", 5, False): (313.4, 1425.9),
    (64, 256, "rows", 8, False): (314.2, 1492.3),
    (128, 64, None, 1, False): (286.2, 42.9),
    (128, 128, None, 1, False): (352.4, 438.7),
    (128, 128, "columns", 2, False): (351.6, 699.7),
    (128, 128, "depth", 2, False): (392.2, 4743.5),
    (128, 128, "depth", 4, False): (408.3, 4968.8),
    (128, 128, "depth", 8, False): (472.2, 5137.3),
    (128, 128, "rows", 2, False): (361.7, 331.2),
    (128, 128, "rows", 2, True): (363.6, 0.0),
    (128, 192, None, 1, False): (493.1, 1039.4),
    (128, 192, None, 1, True): (473.6, 1338.9),
    (128, 192, "depth", 2, False): (564.0, 6195.4),
    (128, 192, "depth", 3, False): (561.9, 7231.0),
    (128, 192, "depth", 4, False): (569.2, 7443.1),
    (128, 192, "rows", 2, True): (501.7, 469.4),
    (128, 256, None, 1, False): (635.5, 1847.9),
    (128, 256, "rows", 2, False): (625.7, 2131.0),
    (256, 192, None, 1, False): (981.7, 2069.5),
    (256, 192, "columns", 2, False): (924.1, 3405.4),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, 1, False): (198.1, 672.5),
    (64, 64, "depth", 2, False): (182.5, 3126.0),
    (64, 64, "depth", 4, False): (187.8, 2873.5),
    (64, 64, "depth", 8, False): (203.3, 2884.3),
    (64, 128, None, 1, False): (276.2, 640.8),
    (64, 128, "depth", 2, False): (259.8, 3915.9),
    (64, 128, "depth", 4, False): (273.5, 3586.2),
    (64, 128, "depth", 8, False): (345.8, 3765.2),
    (128, 64, None, 1, False): (278.8, 1665.8),
    (128, 128, None, 1, False): (409.9, 1124.0),
    (128, 128, "depth", 2, False): (471.0, 5071.9),
    (128, 128, "depth", 4, False): (468.9, 5243.7),
    (128, 128, "depth", 8, False): (552.3, 5190.6),
    (128, 192, None, 1, False): (556.3, 1652.3),
    (256, 128, None, 1, False): (718.7, 2978.2),
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
    (8, "K", True, 128, 32768, 512): ((64, 128, None, 1, False), False),
    (16, "K", False, 1, 8192, 28672): ((16, 64, None, 1, False), False),
    (16, "K", False, 64, 4096, 4096): ((64, 64, None, 1, False), False),
    (16, "K", False, 64, 8192, 28672): ((64, 128, "depth", 2, False), False),
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
    (16, "K", False, 2048, 2112, 7168): ((256, 192, None, 1, False), True),
    (16, "K", False, 2048, 14336, 4096): ((128, 256, None, 1, False), False),
    (16, "K", False, 4096, 24576, 1536): ((256, 192, None, 1, False), False),
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
    (16, "MN", False, 32, 2112, 7168): ((32, 64, "depth", 2, False), False),
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
    (16, "MN", False, 64, 2112, 7168): ((64, 64, "depth", 2, False), False),
    (16, "MN", False, 64, 4096, 4096): ((64, 64, None, 1, False), False),
    (16, "MN", False, 64, 5120, 13824): ((64, 64, None, 1, False), False),
    (16, "MN", False, 64, 6144, 4096): ((64, 128, None, 1, False), False),
    (16, "MN", False, 64, 7168, 2048): ((64, 128, None, 1, False), False),
    (16, "MN", False, 64, 8192, 28672): ((64, 128, "depth", 2, False), False),
    (16, "MN", False, 64, 10240, 8192): ((64, 128, "columns", 2, False), False),
    (16, "MN", False, 64, 24576, 1536): ((64, 64, None, 1, False), False),
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
    (16, "MN", False, 512, 14336, 4096): ((128, 128, None, 1, False), True),
    (16, "MN", False, 1024, 2112, 7168): ((128, 192, None, 1, False), True),
    (16, "MN", False, 1024, 5120, 5120): ((128, 128, None, 1, False), True),
    (16, "MN", False, 1024, 7168, 2048): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 1024, 8192, 28672): ((128, 256, None, 1, False), False),
    (16, "MN", False, 1024, 28672, 8192): ((128, 256, "rows", 2, False), False),
    (16, "MN", False, 2048, 8192, 28672): ((128, 256, None, 1, False), False),
    (16, "MN", False, 2048, 10240, 8192): ((128, 256, None, 1, False), False),
    (16, "MN", False, 2048, 14336, 4096): ((128, 256, None, 1, False), False),
    (16, "MN", False, 4096, 13824, 5120): ((128, 192, None, 1, True), False),
    (16, "MN", False, 4096, 24576, 1536): ((128, 192, None, 1, True), False),
    (16, "MN", False, 4096, 28672, 8192): ((128, 192, None, 1, False), True),
    (16, "MN", False, 8192, 4096, 4096): ((128, 256, None, 1, False), False),
    (16, "MN", False, 8192, 4096, 14336): ((256, 192, None, 1, False), True),
    (16, "MN", False, 8192, 5120, 5120): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 8192, 5120, 13824): ((128, 128, None, 1, False), True),
    (16, "MN", False, 8192, 13824, 5120): ((128, 192, "rows", 2, True), False),
    (16, "MN", False, 8192, 14336, 4096): ((128, 128, "rows", 2, True), False),
    (16, "MN", False, 8192, 28672, 8192): ((128, 192, None, 1, True), False),
    (16, "MN", False, 16384, 5120, 5120): ((128, 128, "rows", 2, True), False),
    (16, "MN", True, 64, 8192, 8192): ((64, 128, None, 1, False), False),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
