"""Products of DTensors: each process pads and multiplies its parts alone.

What may be split, and what becomes of it, is what the kernels' Tiles say. Padding the tensors that
the parts are of would give parts whose rows begin at addresses that copies do not take.
"""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyptx import Tile
from pyptx._launch.description import TensorSpec
from pyptx.ops.tensor_core import arrays
from pyptx.ops.tensor_core.shape import Product


@dataclass(frozen=True)
class _Described:
    """A product, as what splits tensors over processes reads it."""

    inputs: Sequence[TensorSpec]
    outputs: Sequence[TensorSpec]
    whole: Sequence[str]
    name: str = "matmul"


def computed(
    product: Product,
    tensors: Sequence[Any],
    multiply: Callable[[Product, Sequence[Any]], Sequence[Any]],
) -> list[Any]:
    """The results of a product of DTensors: `multiply(product, parts)` gives those of a process.

    Raises CallError where a dimension is split that may not be.
    """
    sharding: Any = importlib.import_module("pyptx._runtime.torch.sharding")
    described = _described(product)
    mesh, factors, parts = sharding.parts(described, tensors)
    summed = sharding.is_summed(described.outputs, factors)
    own = replace(product, d=product.sum) if summed else product
    sizes = {
        axis: size
        for spec, tensor in zip(described.inputs, tensors, strict=True)
        for axis, size in zip(spec.axes, tensor.shape, strict=True)
    }
    found = multiply(own, [part.contiguous() for part in parts])
    return [
        sharding.result_of(part, spec, tuple(sizes[axis] for axis in spec.axes), mesh, factors)
        for part, spec in zip(found, described.outputs, strict=True)
    ]


def _described(product: Product) -> _Described:
    tiles, results = arrays.inputs(product), arrays.results(product)
    names = arrays.names(product)
    # So are products of groups of rows a sum, for the gradient of matrices whose columns are split.
    more = ("K",) if product.ragged == "M" and product.blocks is None else ()
    inputs, outputs = (
        [_spec(name, tile, sums) for name, tile in zip(some, of, strict=True)]
        for some, of, sums in (
            (names[: len(tiles)], tiles, ()),
            (names[len(tiles) :], results, more),
        )
    )
    parallel = (*arrays.run_time(product)["parallel"], *more)
    named = {str(axis) for spec in (*inputs, *outputs) for axis in spec.axes}
    return _Described(inputs, outputs, sorted(named.difference(parallel)))


def _spec(name: str, tile: Tile, sums: tuple[str, ...]) -> TensorSpec:
    return TensorSpec(name, str(tile.dtype.numpy), tile.dims, (*tile.sum_over, *sums))
