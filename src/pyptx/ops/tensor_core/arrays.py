"""The arrays of a matrix product as a kernel takes them, and their sizes when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyptx import Kernel, Reg, Tensor, Tile, kernel, ptx
from pyptx.ops._parameters import with_parameters
from pyptx.ops.tensor_core.shape import Product
from pyptx.types import f32, s32, u32

_NAMES: Final = {
    ("a", "K"): ("M", "K"),
    ("a", "MN"): ("K", "M"),
    ("b", "K"): ("N", "K"),
    ("b", "MN"): ("K", "N"),
}


def inputs(product: Product) -> tuple[Tile, ...]:
    """The Tiles of A, of B once or twice, and of the epilogue's arrays."""
    of_a, of_b = _NAMES["a", product.a_major], _NAMES["b", product.b_major]
    b = Tile(*_starred(product, (*_batch(product.b_batched), *of_b)), product.b)
    return (
        Tile(*_starred(product, (*_batch(product.a_batched), *of_a)), product.a),
        *(b,) * product.factors,
        *((Tile("G", s32),) if product.ragged else ()),
        *_scales(product),
        *_operands(product),
    )


def _scales(product: Product) -> Iterator[Tile]:
    if product.blocks is None:
        return
    of_a, of_b = map(_batch, product.batches[:2])
    across = "N" if product.blocks == "column" else "NB"
    yield Tile(*_starred(product, (*of_a, "M", "KA")), f32)  # KB, and zeros up to 16 bytes
    yield Tile(*_starred(product, (*of_b, "KB", across)), f32)


def _operands(product: Product) -> Iterator[Tile]:
    epilogue = product.epilogue
    if epilogue is None:
        return
    kinds = [*((("M",), t) for t in epilogue.rows), *((("N",), t) for t in epilogue.columns)]
    kinds += [(("M", "N"), t) for t in epilogue.elements]
    for (dims, dtype), batched in zip(kinds, product.operand_batches, strict=True):
        yield Tile(*_starred(product, (*_batch(batched), *dims)), dtype)


def results(product: Product) -> tuple[Tile, ...]:
    """The Tiles of D and of further results of its shape, and of the largest values of rows.

    Where K is split over devices and D is the sum of what they have, it is added up in f32, or s32.
    """
    dims = _starred(product, (*_batch(product.batched), "M", "N"))
    if not product.divisible:
        rows = [Tile(*dims[:-1], u32, init=0)] if product.amax else []
        return (*(Tile(*dims, dtype) for dtype in product.results), *rows)
    return tuple(
        Tile(*dims, dtype, sum_over=("K",), accumulate=None if dtype in (f32, s32) else f32)
        for dtype in product.results
    )


def _starred(product: Product, dims: Sequence[str]) -> list[str]:
    """Dimensions as Tiles name them: with a star what may be several axes."""
    return ["*" * (dim == product.spread) + dim for dim in dims]


def names(product: Product, *, split: bool = False) -> list[str]:
    """What a kernel's parameters are called."""
    operands = [f"E{i}" for i in range(len(product.operand_batches))]
    more = [f"D{i + 1}" for i in range(len(product.results) - 1)]
    second = ["C"] if product.factors > 1 else []
    groups = ["GROUPS"] if product.ragged else []
    return [
        "A",
        "B",
        *second,
        *groups,
        *(["A_SCALE", "B_SCALE"] if product.blocks else []),
        *operands,
        "D",
        *more,
        *(["AMAX"] if product.amax else []),
        *(["SUMS", "FLAGS"] if split else []),
    ]


def run_time(product: Product) -> dict[str, Any]:
    """Dimensions whose sizes are known when a kernel runs; devices may split the parallel ones."""
    across = ("NB",) if product.blocks == "block" else ()
    scales = ("KA", "KB", *across) if product.blocks else ()
    if product.ragged == "M" and product.blocks == "block":
        return {"parallel": (), "dynamic": ("M", "N", "K", *scales)}
    if product.ragged == "M":
        return {"parallel": ("N",), "dynamic": ("M", "K", *scales)}
    if product.ragged == "K":
        return {"parallel": ("M", "N"), "dynamic": ("K",)}
    batch = _batch(product.batched)
    # A row's largest value may not be on several devices, nor 128 columns with one scale.
    if product.amax or product.blocks == "block":
        return {"parallel": ("M", *batch), "dynamic": ("N", "K", *scales)}
    if product.divisible:
        return {"parallel": ("M", "N", "K", *batch)}
    return {"parallel": ("M", "N", *batch), "dynamic": ("K", *scales)}


def _batch(batched: bool) -> tuple[str, ...]:
    return ("G",) if batched else ()


def tiles(product: Product, rows: int, columns: int) -> str:
    """How many tiles D has, as an expression of sizes; `columns` are those of all matrices B."""
    down, across = f"cdiv(M, {rows})", f"cdiv(N, {columns // product.factors})"
    if product.ragged == "M":
        down = f"({down} + G)"  # at most a tile more for each group
    return f"{down} * {across}" + " * G" * product.batched


def kernel_of(
    product: Product,
    body: Callable[..., None],
    *,
    more: Sequence[Tile] = (),
    **options: Any,
) -> Kernel:
    """The kernel of A, B to D and `more`, for matrices of any size."""
    parameters = names(product, split=bool(more))
    return kernel(
        in_specs=inputs(product),
        out_specs=(*results(product), *more),
        **run_time(product),
        **options,
    )(with_parameters(body, parameters, annotation=Tensor))


@dataclass(frozen=True, slots=True)
class Sizes:
    """u32 registers; `matrices` where there is a batch."""

    m: Reg
    n: Reg
    k: Reg
    matrices: Reg | None

    @property
    def transposed(self) -> Sizes:
        """Those of D^T."""
        return Sizes(self.n, self.m, self.k, self.matrices)


def sizes(product: Product, A: Tensor, D: Tensor) -> Sizes:
    """The sizes of a launch."""
    first = int(product.batched)
    k = A.shape[-1 if product.a_major == "K" else -2]
    matrices = _narrow(D.shape[0]) if product.batched else None
    return Sizes(_narrow(D.shape[first]), _narrow(D.shape[first + 1]), _narrow(k), matrices)


def _narrow(size: Any) -> Reg:
    return ptx.inst.cvt.u32.u64(size)
