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
class FewRows:
    """Up to which sizes products of few rows are quicker from registers (`few_rows`).

    columns   the most columns of B
    ctas      the fewest CTAs, where a cluster can have more
    """

    columns: int
    ctas: int


FEW_ROWS: Final[dict[Major, FewRows]] = {"MN": FewRows(8192, 128), "K": FewRows(4096, 64)}
"""Measured by hand on an H200, with 1, 8 and 16 rows of bf16."""

DEVICE: Final = "NVIDIA H100 80GB HBM3"

COMMON: Final = Common(
    first_bytes=4618,
    memory=2875,
    requests=75,
    overlap=2.369,
    split=2724,
    share=1073,
    share_power=1.057,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None, False): (134.4, 1056.8),
    (64, 64, "columns", False): (102.0, 1533.6),
    (64, 128, None, False): (125.9, 2722.4),
    (64, 128, "columns", False): (127.4, 3336.3),
    (64, 256, None, False): (212.3, 6336.3),
    (64, 256, "rows", False): (253.7, 3019.2),
    (128, 128, None, False): (267.2, 3287.1),
    (128, 128, "columns", False): (236.0, 3487.1),
    (128, 128, "rows", False): (375.1, 467.4),
    (128, 128, "rows", True): (382.4, 16.5),
    (128, 192, None, True): (374.0, 6181.6),
    (128, 192, "rows", True): (446.6, 2198.6),
    (128, 256, None, False): (499.2, 6213.2),
    (128, 256, "rows", False): (535.0, 4368.4),
    (256, 192, None, False): (864.2, 5875.8),
    (256, 192, "columns", False): (817.0, 6203.6),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 128, None, False): (426.7, 1049.7),
    (128, 128, None, False): (553.0, 1716.0),
    (256, 128, None, False): (859.2, 1833.7),
}
"""The same where sums are promoted."""

FASTEST: Final[dict[Sizes, tuple[Tile, bool]]] = {
    (8, "K", False, 1, 8192, 28672): ((64, 128, None, False), False),
    (8, "K", False, 8, 2048, 8192): ((64, 64, None, False), True),
    (8, "K", False, 64, 4096, 4096): ((64, 64, None, False), False),
    (8, "K", False, 64, 28672, 8192): ((64, 64, None, False), True),
    (8, "K", False, 304, 4992, 3072): ((128, 128, None, False), False),
    (8, "K", False, 4096, 7168, 2048): ((128, 192, "rows", True), False),
    (16, "K", False, 1, 8192, 28672): ((64, 128, None, False), True),
    (16, "K", False, 8, 4096, 4096): ((64, 128, "columns", False), False),
    (16, "K", False, 16, 14336, 4096): ((64, 256, "rows", False), False),
    (16, "K", False, 64, 8192, 8192): ((64, 64, "columns", False), False),
    (16, "K", False, 64, 28672, 8192): ((64, 128, "columns", False), False),
    (16, "K", False, 300, 5000, 3000): ((64, 256, "rows", False), False),
    (16, "K", False, 4096, 5000, 3000): ((128, 256, "rows", False), False),
    (16, "MN", False, 1, 8192, 28672): ((64, 128, None, False), True),
    (16, "MN", False, 16, 14336, 4096): ((64, 256, None, False), False),
    (16, "MN", False, 32, 5120, 5120): ((64, 128, "columns", False), False),
    (16, "MN", False, 64, 4096, 4096): ((64, 64, None, False), False),
    (16, "MN", False, 64, 8192, 8192): ((64, 128, None, False), False),
    (16, "MN", False, 300, 5000, 3000): ((64, 256, "rows", False), False),
    (16, "MN", False, 4096, 5000, 3000): ((128, 256, "rows", False), False),
}
"""Sizes whose fastest tile, split or not, is another than the one expected."""
