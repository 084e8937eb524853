"""RMS normalization in extended precision, and how far from it a result may be.

The bounds are what the operation promises: relative to the result itself for y and invvar, to the
row's largest |invvar g weight| for grad_x, to the column's sum of |g x invvar| for grad_weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
DTYPES = (BF16, F16, F32, F64)
PAIRS = [(x, w) for x in DTYPES for w in DTYPES]
NAMES = [f"{x}-{w}" for x, w in PAIRS]
EPS = 1e-5


def compute_type(x: np.dtype) -> np.dtype:
    return F64 if x == F64 else F32


@dataclass(frozen=True)
class Problem:
    """What the kernels are given: x[..., *row], weight[*row], and a cotangent of the result."""

    x: np.ndarray
    weight: np.ndarray
    g: np.ndarray

    @property
    def types(self) -> tuple[np.dtype, np.dtype]:
        return self.x.dtype, self.weight.dtype

    @property
    def compute(self) -> np.dtype:
        return compute_type(self.x.dtype)

    @property
    def axes(self) -> tuple[int, ...]:
        """The dimensions of a row."""
        return tuple(range(self.x.ndim - self.weight.ndim, self.x.ndim))

    @property
    def lead(self) -> tuple[int, ...]:
        return self.x.shape[: self.x.ndim - self.weight.ndim]


def problem(lead, row, types, seed=0, scale=1.0) -> Problem:
    """Normal values, the weights around one; 16-bit types hold what rounding leaves of them."""
    random = np.random.default_rng(seed)
    x, g, w = (np.asarray(random.standard_normal(s)) for s in (lead + row, lead + row, row))
    values = (x * scale, types[0]), (1 + 0.1 * w, types[1]), (g, types[1])
    return Problem(*(np.asarray(value, dtype) for value, dtype in values))


def _wide(array: np.ndarray) -> np.ndarray:
    """Exactly, in the widest type that NumPy has."""
    return np.asarray(array).astype(np.float64).astype(np.longdouble)


def invvar(given: Problem, eps: float = EPS) -> np.ndarray:
    x = _wide(given.x)
    return 1 / np.sqrt((x * x).mean(given.axes) + np.longdouble(eps))


def unit(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """One unit in the last place of `dtype` at the values."""
    info = ml_dtypes.finfo(dtype)
    exponent = np.frexp(np.abs(values).astype(np.float64))[1] - 1
    return np.ldexp(1.0, np.maximum(exponent, info.minexp) - info.nmant)


def close(found, exact, scale, compute, what: str) -> None:
    """|found - exact| <= 1e-6 (f32) or 1e-14 (f64) of `scale`, and a unit where it is narrower."""
    found = np.asarray(found)
    assert found.shape == np.shape(exact), (what, found.shape, np.shape(exact))
    bound = (1e-14 if compute == F64 else 1e-6) * np.asarray(scale, np.longdouble)
    if found.dtype.itemsize < compute.itemsize:
        bound = bound + unit(exact, found.dtype)
    error = np.abs(_wide(found) - exact)
    # Nothing is asked of the subnormals of f32, which rsqrt.approx and the products may lose.
    worst = np.max(error / (bound + 1e-37), initial=0.0)
    assert worst <= 1, f"{what}: off by {float(worst):.3g} times the allowed error"


def check_forward(given: Problem, y, r, eps: float = EPS) -> None:
    """y and invvar, as close as promised."""
    exact_r = invvar(given, eps)
    rows = np.expand_dims(exact_r, given.axes)
    exact_y = _wide(given.x) * rows * _wide(given.weight)
    assert (y.dtype, r.dtype) == (given.weight.dtype, given.compute)
    close(r, exact_r, np.abs(exact_r), given.compute, "invvar")
    close(y, exact_y, np.abs(exact_y), given.compute, "y")


def check_backward(given: Problem, r, dx, dw) -> None:
    """Both gradients for this invvar, as close as promised."""
    x, g, w = _wide(given.x), _wide(given.g), _wide(given.weight)
    rows = np.expand_dims(_wide(r), given.axes)
    gw = g * w
    mean = (gw * x).mean(given.axes, keepdims=True)
    exact_x = rows * gw - x * rows**3 * mean
    largest = np.abs(rows * gw).max(given.axes, keepdims=True, initial=0)
    lead = tuple(range(len(given.lead)))
    terms = g * x * rows
    assert (dx.dtype, dw.dtype) == given.types
    close(dx, exact_x, largest, given.compute, "grad_x")
    close(dw, terms.sum(lead), np.abs(terms).sum(lead), given.compute, "grad_weight")
