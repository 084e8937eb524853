"""Kernels of quotients, and the values that they are tried with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyptx import Reg, Tensor, Tile, kernel, ptx, reg
from pyptx.types import u32

COUNT = 1024


def values(divisor: int, bits: int = 32) -> np.ndarray:
    """The largest of so many bits, the smallest, both sides of multiples, and others."""
    top = 2**bits - 1
    near = [k * divisor + i for k in (1, 2, 3, 1000, top // divisor) for i in (-1, 0, 1)]
    some = [v for v in (0, 1, top, *near) if 0 <= v <= top]
    random = np.random.default_rng(divisor).integers(0, 2**bits, COUNT - len(some))
    return np.concatenate([some, random]).astype(np.uint32)


def quotients(divide: Callable[[Reg, Reg], Reg], x: np.ndarray, d: np.ndarray) -> np.ndarray:
    """What `divide` makes of the elements of both."""

    @kernel(
        in_specs=(Tile(COUNT, u32),) * 2, out_specs=(Tile(COUNT, u32),), block=COUNT, arch="sm_90a"
    )
    def quotients(x: Tensor, d: Tensor, q: Tensor) -> None:
        thread = reg.from_(ptx.special.tid.x(), u32)
        q[thread] = divide(x[thread], d[thread])

    return np.asarray(quotients(x, d))
