"""RMS normalization and its gradients in float64 on the device, and what a result may differ by.

Works through the rows in chunks, so that it takes little memory beside the largest tensors, and
looks at every value.
"""

# PyTorch's annotations are partial, and it is not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch

CHUNK: Final = 2**24
"""Values that are looked at together: 128 MiB for each intermediate result in float64."""
SIXTEEN_BIT: Final = {torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10}
"""One unit in the last place, relative to a value, at most."""
SUBNORMAL: Final = {torch.float16: 2.0**-24}
"""And at least, where random numbers are small enough that it matters."""
SMALLEST: Final = 1e-300


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What f32 arithmetic may add, relative to the result's scale, and units in the last place."""

    arithmetic: float
    units: float
    sums: float
    """The same as `arithmetic` for the weight's gradient, relative to the scale of its column."""
    rounds_inside: float = 0.0
    """What rounding 16-bit intermediate results may add, relative to the scale."""
    of_magnitudes: bool = False
    """A column's scale is the sum of its magnitudes, not the root of the sum of its squares."""


OWN: Final = Tolerance(1e-6, 1, 1e-6, of_magnitudes=True)
"""What pyptx promises."""
OTHERS: Final = Tolerance(1e-4, 4, 1e-3, rounds_inside=0.05)
"""Enough that a formula in 16-bit arithmetic passes and another formula does not."""


def invvar(x: Any, eps: float) -> Any:
    """1 / sqrt(mean(x * x) + eps) of each row, computed in float64, given as f32."""
    return torch.cat([_invvar(x[rows].double(), eps) for rows in chunks(*x.shape)]).float()


def forward_error(y: Any, x: Any, w: Any, *, eps: float, tolerance: Tolerance) -> float:
    """The largest difference over what is allowed: at most 1 where `y` is right, NaN for a NaN."""
    _same(y, x)
    worst = 0.0
    for rows in chunks(*x.shape):
        wide = x[rows].double()
        expected = wide * _invvar(wide, eps)[:, None] * w.double()
        error = _error(y[rows], expected, expected.abs(), tolerance, tolerance.arithmetic)
        worst = _worse(worst, error)
    return worst


def backward_error(
    gradients: tuple[Any, Any], g: Any, x: Any, w: Any, *, eps: float, tolerance: Tolerance
) -> float:
    """The same for both gradients, of x and of the weight.

    The scale of dx is the row's largest |invvar * g * weight|. That of dw is the column's sum of
    |g * x * invvar| for our own result; for others the root of the sum of their squares, which is
    as large as the gradient itself, so that their wider tolerance still tells it from zeros.
    """
    dx, dw = gradients
    _same(dx, x)
    _same(dw, w)
    worst = 0.0
    total, absolute, squares = (torch.zeros_like(w, dtype=torch.float64) for _ in range(3))
    for rows in chunks(*x.shape):
        wide = x[rows].double()
        scale = _invvar(wide, eps)[:, None]
        normal, upstream = wide * scale, g[rows].double()
        weighted = upstream * w.double()
        expected = scale * (weighted - normal * (weighted * normal).mean(-1, keepdim=True))
        row = (scale * weighted).abs().amax(-1, keepdim=True)
        worst = _worse(worst, _error(dx[rows], expected, row, tolerance, tolerance.arithmetic))
        parts = upstream * normal
        total += parts.sum(0)
        absolute += parts.abs().sum(0)
        squares += (parts * parts).sum(0)
    scale = absolute if tolerance.of_magnitudes else squares.sqrt()
    return _worse(worst, _error(dw, total, scale, tolerance, tolerance.sums))


def chunks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of whole rows, at least one each, of at most `CHUNK` values where a row fits."""
    step = max(1, CHUNK // columns)
    yield from (slice(first, first + step) for first in range(0, rows, step))


def _invvar(wide: Any, eps: float) -> Any:
    return 1 / torch.sqrt((wide * wide).mean(-1) + eps)


def _same(result: Any, like: Any) -> None:
    if result.shape != like.shape or result.dtype != like.dtype:
        raise ValueError(
            f"the result is {result.dtype} {tuple(result.shape)}, "
            f"not {like.dtype} {tuple(like.shape)}"
        )


def _error(
    result: Any, expected: Any, scale: Any, tolerance: Tolerance, arithmetic: float
) -> float:
    """The largest difference over what is allowed."""
    unit = SIXTEEN_BIT.get(result.dtype, 0.0)
    inside = tolerance.rounds_inside if unit else 0.0
    place = (unit * expected.abs()).clamp(min=SUBNORMAL.get(result.dtype, 0.0))
    allowed = (arithmetic + inside) * scale + tolerance.units * place + SMALLEST
    return float(((result.double() - expected).abs() / allowed).amax())


def _worse(worst: float, error: float) -> float:
    """The larger one; NaN where one is NaN."""
    return error if math.isnan(error) or error > worst else worst
