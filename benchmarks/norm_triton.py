"""RMS normalization in Triton, one program for each row: what its tutorials would write."""

# Triton is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportIndexIssue=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
import triton
import triton.language as tl

HELD: Final = 32768
"""The longest row that a program keeps in registers; it reads a longer one twice."""
PIECE: Final = 16384
WARPS: Final = (1, 2, 4, 8, 16, 32)


def row_kernels(x: Any, w: Any, eps: float) -> Mapping[str, Callable[[], Any]]:
    """A call for each sensible number of warps: 8 to 64 values of a piece in each thread."""
    rows, columns = x.shape
    whole = triton.next_power_of_2(columns)
    kernel, block = (held_row, whole) if whole <= HELD else (long_row, PIECE)
    y = torch.full_like(x, float("nan"))

    def call(warps: int) -> Any:
        kernel[(rows,)](x, w, y, eps, columns, block, num_warps=warps)
        return y

    return {f"{n} warps": lambda n=n: call(n) for n in warps_for(block)}


def warps_for(block: int) -> tuple[int, ...]:
    """Numbers of warps that give each thread 8 to 64 values of a block; one for a short block."""
    return tuple(n for n in WARPS if 8 <= block // (32 * n) <= 64) or (1,)


@triton.jit
def held_row(x, w, y, eps, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):  # noqa: PLR0917
    """The row in registers, read once."""
    at = tl.arange(0, BLOCK)
    inside = at < COLUMNS
    start = tl.program_id(0).to(tl.int64) * COLUMNS
    row = tl.load(x + start + at, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(row * row, 0) / COLUMNS + eps)
    weight = tl.load(w + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + start + at, (row * scale * weight).to(y.dtype.element_ty), mask=inside)


@triton.jit
def long_row(x, w, y, eps, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):  # noqa: PLR0917
    """The row piece by piece, twice: its squares, then its values."""
    start = tl.program_id(0).to(tl.int64) * COLUMNS
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, COLUMNS, BLOCK):
        at = first + tl.arange(0, BLOCK)
        piece = tl.load(x + start + at, mask=at < COLUMNS, other=0.0).to(tl.float32)
        squares += piece * piece
    scale = tl.rsqrt(tl.sum(squares, 0) / COLUMNS + eps)
    for first in range(0, COLUMNS, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < COLUMNS
        piece = tl.load(x + start + at, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(w + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + start + at, (piece * scale * weight).to(y.dtype.element_ty), mask=inside)
