"""Matrix products to try, with what their result may be off by."""

from __future__ import annotations

from functools import lru_cache

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from pyptx import Kernel
from pyptx.ops.tensor_core import hopper, plan
from pyptx.ops.tensor_core.shape import CTAS, Product, Shape
from pyptx.types import DType, bf16, e4m3, e5m2, f16, f32, s8, u8

NUMPY = {
    bf16: ml_dtypes.bfloat16, f16: np.float16, f32: np.float32, e4m3: ml_dtypes.float8_e4m3fn,
    e5m2: ml_dtypes.float8_e5m2,
}  # fmt: skip
ULP = {bf16: 2.0**-8, f16: 2.0**-11, f32: 0.0}
TENSOR_CORE = 2.0**-22
"""What adding the products of K = 16 may lose, of the sum of their absolute values."""


@lru_cache(16)
def built(product: Product, shape: Shape, ctas: int = CTAS) -> Kernel:
    """A kernel takes matrices of any size: those of one test are traced once."""
    return hopper.build(product, plan.with_boxes(shape, product), ctas)


def normal(shape: tuple[int, ...], dtype: DType, seed: int) -> NDArray[np.generic]:
    """Normally distributed numbers, or all integers of a type."""
    if dtype in (s8, u8):
        low, high = (-128, 128) if dtype is s8 else (0, 256)
        return np.random.default_rng(seed).integers(low, high, shape, dtype.numpy)
    values = np.random.default_rng(seed).standard_normal(shape, np.float32)
    return values.astype(NUMPY[dtype])


def factors(
    product: Product, m: int, n: int, k: int, matrices: int = 3
) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """A (M, K) and B (K, N), batched as the product says."""
    return (
        normal((*((matrices,) if product.a_batched else ()), m, k), product.a, 0),
        normal((*((matrices,) if product.b_batched else ()), k, n), product.b, 1),
    )


def error(
    product: Product,
    found: object,
    a: NDArray[np.generic],
    b: NDArray[np.generic],
    *,
    coarse: bool = False,
) -> float:
    """The largest error over what is allowed: at most 1.

    `coarse` is for sums of fp8 by wgmma, which keep 13 bits: an H200 has errors of up to 2**-10.8
    of the sum of absolute values.
    """
    x, y = a.astype(np.float64), b.astype(np.float64)
    expected = x @ y
    if coarse:
        most = 2.0**-10 * (np.abs(x) @ np.abs(y))
        return float(np.max(np.abs(np.asarray(found).astype(np.float64) - expected) / most))
    allowed = ULP[product.d] * np.abs(expected)
    allowed += (a.shape[-1] / 16 + 1) * TENSOR_CORE * (np.abs(x) @ np.abs(y)) + 1e-30
    return float(np.max(np.abs(np.asarray(found).astype(np.float64) - expected) / allowed))


def in_memory(values: NDArray[np.generic], *, turned: bool) -> NDArray[np.generic]:
    """The array as a kernel takes it."""
    return np.ascontiguousarray(np.swapaxes(values, -1, -2)) if turned else values


def emulated(
    kernel: Kernel,
    product: Product,
    m: int,
    n: int,
    k: int,
    matrices: int = 3,
    *,
    coarse: bool = False,
) -> float:
    """Run a kernel in the emulator; raises what it finds, gives the error over what is allowed."""
    a, b = factors(product, m, n, k, matrices)
    emulation = kernel.emulate(
        in_memory(a, turned=product.a_major == "MN"), in_memory(b, turned=product.b_major == "K")
    )
    emulation.report.check()
    return error(product, emulation.outputs[0], a, b, coarse=coarse)
