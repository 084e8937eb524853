"""The kernels that the operation chooses, applied to NumPy arrays in the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyptx import device
from pyptx.ops._rms_norm import RmsNorm, RmsNormGradient
from pyptx.ops.rowwise import plan
from pyptx.ops.rowwise.partition import H200, Rows
from pyptx.ops.rowwise.program import types_of
from pyptx.types import BY_NUMPY, DType

from .exact import EPS, Problem, check_backward, check_forward


def norm_of(given: Problem, eps: float = EPS, *, invvar: bool = True) -> RmsNorm:
    """The formulas of the norm."""
    x, w = (BY_NUMPY[str(dtype)] for dtype in given.types)
    return RmsNorm(given.weight.size, x, w, eps, invvar)


def gradient_of(given: Problem) -> RmsNormGradient:
    """The formulas of its gradient."""
    x, w = (BY_NUMPY[str(dtype)] for dtype in given.types)
    return RmsNormGradient(given.weight.size, x, w)


def rows_of(given: Problem, on: device.Device = H200, **options: Any) -> Rows:
    op = norm_of(given)
    return Rows(given.weight.shape, types_of(op), op.compute, device=on, **options)


def result_of(given: Problem) -> DType:
    """The type that the last kernel rounds dw to, unless that is wider than the sums."""
    op = gradient_of(given)
    return op.weight if op.weight.bytes <= op.compute.bytes else op.compute


def chosen_forward(
    given: Problem, eps: float = EPS, *, invvar: bool = True, on: device.Device = H200
) -> plan.Operation:
    """x, w to y, and r with `invvar`."""
    return plan._chosen(norm_of(given, eps, invvar=invvar), rows_of(given, on), ())


def chosen_backward(given: Problem, on: device.Device = H200) -> plan.Operation:
    """x, g, r, w to dx and dw."""
    return plan._chosen(gradient_of(given), rows_of(given, on), (result_of(given),))


def forward(given: Problem, eps: float = EPS) -> tuple[np.ndarray, np.ndarray]:
    """y and invvar."""
    return chosen_forward(given, eps)(given.x, given.weight)


def backward(given: Problem, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """grad_x and grad_weight."""
    dx, dw = chosen_backward(given)(given.x, given.g, r, given.weight)
    return dx, dw.astype(given.weight.dtype)


def check(given: Problem, eps: float = EPS) -> None:
    """Values and gradients are as close as promised, and the kernel without invvar agrees."""
    y, r = forward(given, eps)
    check_forward(given, y, r, eps)
    alone = chosen_forward(given, eps, invvar=False)(given.x, given.weight)
    np.testing.assert_array_equal(alone, y)
    check_backward(given, r, *backward(given, r))
