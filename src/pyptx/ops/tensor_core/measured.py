"""What matrix products take on a GPU, as measured: `make tune` writes the numbers below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Tile: TypeAlias = tuple[int, int, Literal["rows", "columns"] | None]
"""Rows and columns that a CTA multiplies at a time, and where the next CTA of its cluster is."""


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
    first_bytes=4993,
    memory=3850,
    requests=111.2,
    overlap=1.989,
    split=2926,
    share=1089,
    share_power=1.024,
)

TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 64, None): (147.4, 383.8),
    (64, 128, None): (179.8, 125.6),
    (64, 256, None): (303.3, 1265.0),
    (128, 128, None): (322.1, 1200.6),
    (128, 256, None): (538.1, 4214.0),
    (256, 192, None): (889.6, 5175.5),
}
"""A stage and a tile of each shape that was measured, in nanoseconds."""

PROMOTED_TIMES: Final[dict[Tile, tuple[float, float]]] = {
    (64, 128, None): (319.9, 1509.1),
    (128, 128, None): (492.8, 1771.8),
    (256, 128, None): (828.2, 2003.6),
}
"""The same where sums are promoted."""
