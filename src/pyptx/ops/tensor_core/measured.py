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


DEVICE: Final = "NVIDIA H100 80GB HBM3"

COMMON: Final = Common(
    first_bytes=6729,
    memory=2691,
    requests=94.65,
    overlap=2.701,
    split=2363,
    share=1015,
    share_power=1.096,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, False): (131.3, 917.5),
    (64, 64, "columns", False): (189.4, 460.7),
    (64, 128, None, False): (178.4, 690.1),
    (64, 128, "columns", False): (224.8, 2712.5),
    (64, 256, None, False): (330.7, 430.2),
    (64, 256, "rows", False): (315.1, 3444.5),
    (128, 128, None, False): (296.9, 2342.9),
    (128, 128, "columns", False): (300.1, 2494.9),
    (128, 128, "rows", False): (373.2, 897.6),
    (128, 128, "rows", True): (377.2, 495.0),
    (128, 192, None, True): (419.7, 2971.1),
    (128, 256, None, False): (528.8, 5106.3),
    (128, 256, "rows", False): (547.1, 4464.0),
    (256, 192, None, False): (869.1, 6057.7),
    (256, 192, "columns", False): (830.5, 7035.0),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 128, None, False): (316.1, 1643.4),
    (128, 128, None, False): (519.2, 1683.3),
    (256, 128, None, False): (839.4, 2414.5),
}
"""The same where sums are promoted."""

FASTEST: Final[dict[Sizes, tuple[Tile, bool]]] = {
    (8, "K", False, 1, 8192, 28672): ((64, 128, None, False), False),
    (8, "K", False, 8, 2048, 8192): ((64, 64, None, False), True),
    (8, "K", False, 8, 4096, 4096): ((64, 64, "columns", False), False),
    (8, "K", False, 16, 4096, 14336): ((64, 64, "columns", False), False),
    (8, "K", False, 128, 8192, 8192): ((64, 128, None, False), False),
    (8, "K", False, 304, 4992, 3072): ((128, 128, None, False), False),
    (8, "K", True, 128, 24576, 1536): ((64, 128, None, False), True),
    (16, "K", False, 1, 8192, 28672): ((64, 128, "columns", False), False),
    (16, "K", False, 8, 4096, 4096): ((64, 64, "columns", False), False),
    (16, "K", False, 16, 14336, 4096): ((64, 256, None, False), False),
    (16, "K", False, 128, 8192, 8192): ((64, 128, None, False), False),
    (16, "K", False, 300, 5000, 3000): ((64, 256, "rows", False), False),
    (16, "K", False, 304, 4992, 3072): ((128, 128, None, False), False),
    (16, "MN", False, 1, 8192, 28672): ((64, 128, None, False), True),
    (16, "MN", False, 8, 4096, 4096): ((64, 64, "columns", False), False),
    (16, "MN", False, 16, 14336, 4096): ((64, 256, None, False), False),
    (16, "MN", False, 128, 8192, 8192): ((64, 128, None, False), False),
    (16, "MN", False, 300, 5000, 3000): ((64, 256, "rows", False), False),
    (16, "MN", False, 304, 4992, 3072): ((128, 128, None, False), False),
    (16, "MN", False, 4096, 24576, 1536): ((128, 192, None, True), False),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
