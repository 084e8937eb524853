"""The arrays of a matrix product as a kernel takes them, and their sizes when it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx
from pyptx.ops.tensor_core.shape import Product
from pyptx.types import f32

_NAMES: Final = {
    ("a", "K"): ("M", "K"),
    ("a", "MN"): ("K", "M"),
    ("b", "K"): ("N", "K"),
    ("b", "MN"): ("K", "N"),
}


def inputs(product: Product) -> tuple[Tile, ...]:
    """The Tiles of A and B, and of the numbers that rows and columns of D are multiplied by."""
    scales = (
        Tile(*_batch(product.a_batched), "M", f32),
        Tile(*_batch(product.b_batched), "N", f32),
    )
    return (
        Tile(*(*_batch(product.a_batched), *_NAMES["a", product.a_major]), product.a),
        Tile(*(*_batch(product.b_batched), *_NAMES["b", product.b_major]), product.b),
        *(scales if product.scaled else ()),
    )


def result(product: Product) -> Tile:
    """The Tile of D: where K is split over devices, their sums are added up in f32."""
    parts = None if product.d is f32 else f32
    dims = (*_batch(product.batched), "M", "N")
    return Tile(*dims, product.d, sum_over=("K",), accumulate=parts)


def names(product: Product, *, split: bool = False) -> list[str]:
    """What a kernel's parameters are called."""
    scales = ["ROWS", "COLUMNS"] if product.scaled else []
    return ["A", "B", *scales, "D", *(["SUMS", "FLAGS"] if split else [])]


def parallel(product: Product) -> tuple[str, ...]:
    """Dimensions whose sizes are known when a kernel runs, and that devices may split."""
    return ("M", "N", "K", *_batch(product.batched))


def _batch(batched: bool) -> tuple[str, ...]:
    return ("G",) if batched else ()


def kernel_of(
    product: Product,
    body: Callable[..., None],
    *,
    more: Sequence[Tile] = (),
    **options: Any,
) -> Kernel:
    """The kernel of A, B to D and `more`, for matrices of any size."""
    split = bool(more)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter(n, kind, annotation=Tensor) for n in names(product, split=split)
    ]
    body.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return kernel(
        in_specs=inputs(product),
        out_specs=(result(product), *more),
        parallel=parallel(product),
        **options,
    )(body)


@dataclass(frozen=True, slots=True)
class Sizes:
    """u32 registers; `matrices` where there is a batch."""

    m: Reg
    n: Reg
    k: Reg
    matrices: Reg | None


def sizes(product: Product, A: Tensor, D: Tensor) -> Sizes:
    """The sizes of a launch."""
    first = int(product.batched)
    k = A.shape[-1 if product.a_major == "K" else -2]
    matrices = _narrow(D.shape[0]) if product.batched else None
    return Sizes(_narrow(D.shape[first]), _narrow(D.shape[first + 1]), _narrow(k), matrices)


def _narrow(size: Any) -> Reg:
    return ptx.inst.cvt.u32.u64(size)
