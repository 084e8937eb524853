"""Shuffles whose clamp lets no lane read another one.

Source: PTX ISA, "shfl.sync": the bits of c from 8 on split the warp into segments, bits 0 to 4 are
the last lane that `down`, `bfly` and `idx` read in a segment, and the first lane that `up` does.
With a wrong c, `bfly` and `idx` still read some lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyptx._operands import Immediate, Operand
from pyptx._source import SourceLocation
from pyptx._trace.core.warned import warn_at

_LANES: Final = 31
_CLAMP: Final = 3  # its place among the operands


def check_shuffle(
    modifiers: Sequence[str], operands: Sequence[Operand], where: SourceLocation
) -> None:
    """Warn where every lane would keep its own value: `up` reads towards lane 0, `down` to 31."""
    mode = next((each for each in modifiers if each in ("up", "down")), None)
    clamp = operands[_CLAMP]
    if mode is None or not isinstance(clamp, Immediate):
        return
    segment = clamp.bits >> 8 & _LANES
    inside = _LANES & ~segment
    useless = inside if mode == "up" else 0
    if not inside or clamp.bits & inside != useless:
        return
    right = segment << 8 | (inside if mode == "down" else 0)
    warn_at(
        where,
        f"shfl.{mode} with c={clamp.bits} gives every lane its own value: c is the "
        f"{'first' if mode == 'up' else 'last'} lane that may be read",
        ("help", f"c={right} is CUDA's __shfl_{mode}_sync"),
    )
