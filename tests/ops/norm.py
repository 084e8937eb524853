"""The kernels that the operation chooses, applied to NumPy arrays in the emulator."""

from __future__ import annotations

import numpy as np

from pyptx.ops._rms import choice
from pyptx.ops._rms.geometry import Rows
from pyptx.types import BY_NUMPY

from .exact import EPS, Problem, check_backward, check_forward


def rows_of(given: Problem) -> Rows:
    x, w = (BY_NUMPY[str(dtype)] for dtype in given.types)
    return Rows(given.weight.shape, x, w)


def forward(given: Problem, eps: float = EPS) -> tuple[np.ndarray, np.ndarray]:
    """y and invvar."""
    return choice.forward(rows_of(given), eps, invvar=True)(given.x, given.weight)


def backward(given: Problem, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """grad_x and grad_weight, rounded by the last kernel unless it is wider than the sums."""
    rows = rows_of(given)
    result = rows.weight if rows.weight.bytes <= rows.compute.bytes else rows.compute
    dx, dw = choice.backward(rows, result)(given.g, r, given.x, given.weight)
    return dx, dw.astype(given.weight.dtype)


def check(given: Problem, eps: float = EPS) -> None:
    """Values and gradients are as close as promised, and the kernel without invvar agrees."""
    y, r = forward(given, eps)
    check_forward(given, y, r, eps)
    alone = choice.forward(rows_of(given), eps, invvar=False)(given.x, given.weight)
    np.testing.assert_array_equal(alone, y)
    check_backward(given, r, *backward(given, r))
