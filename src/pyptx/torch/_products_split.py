"""Products of DTensors: each process pads and multiplies its parts alone.

What may be split, and what becomes of it, is what the kernels' Tiles say. Padding the tensors that
the parts are of would give parts whose rows begin at addresses that copies do not take.
"""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from pyptx import Tile
from pyptx._launch.description import TensorSpec
from pyptx._runtime.torch.runtime import is_distributed
from pyptx.ops.tensor_core import arrays
from pyptx.ops.tensor_core.shape import Product


@dataclass(frozen=True)
class _Described:
    """A product, as what splits tensors over processes reads it."""

    inputs: Sequence[TensorSpec]
    outputs: Sequence[TensorSpec]
    whole: Sequence[str]
    name: str = "matmul"


def rows(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A tensor (..., K) as (M, K), and what gives a result (M, N) these dimensions back.

    Each process flattens its own part where a dimension inside is split, as a sequence is: the rows
    of all are then in another order, which a product does not see.
    """
    lead = tuple(x.shape[:-1])
    if not is_split_inside(x):
        whole = reshaped(x, (math.prod(lead), x.shape[-1]))
        return whole, lambda d: reshaped(d, (*lead, d.shape[-1]))
    placed = _dtensors()
    mesh, last = x.device_mesh, x.ndim - 1
    own = x.to_local()
    axes = tuple(own.shape[:-1])

    def back(d: Any) -> Any:
        part = d.to_local()
        placements = [
            before if after.is_shard(0) else placed.Shard(last) if after.is_shard() else after
            for before, after in zip(x.placements, d.placements, strict=True)
        ]
        shape = (*lead, d.shape[-1])
        return _from_part(part.reshape(*axes, part.shape[-1]), mesh, placements, shape)

    placements = [
        placed.Shard(int(each.dim == last)) if each.is_shard() else each for each in x.placements
    ]
    part = own.reshape(math.prod(axes), own.shape[-1])
    return _from_part(part, mesh, placements, (math.prod(lead), x.shape[-1])), back


def rows_like(residual: Any, x: Any) -> Any:
    """A tensor (..., N) as (M, N), in the order of the rows of x (..., K)."""
    if not is_split_inside(x):
        return reshaped(residual, (math.prod(residual.shape[:-1]), residual.shape[-1]))
    placed = _dtensors()
    last = x.ndim - 1
    placements = [
        of_x if of_x.is_shard() and of_x.dim < last
        else own if own.is_shard(last) else placed.Replicate()
        for of_x, own in zip(x.placements, residual.placements, strict=True)
    ]  # fmt: skip
    return rows(residual.redistribute(placements=placements))[0]


def is_split_inside(x: Any) -> bool:
    """Whether it is a DTensor that is split between its first and its last dimension, evenly."""
    if x.ndim < 3 or not is_distributed((x,)):
        return False
    plain = _dtensors().Shard
    parts = _parts(x)
    even = all(size % count == 0 for size, count in zip(x.shape, parts, strict=True))
    usual = all(type(each) is plain for each in x.placements if each.is_shard())
    return even and usual and any(count > 1 for count in parts[1:-1])


def reshaped(x: Any, shape: Sequence[Any]) -> Any:
    """`x.reshape(shape)`, also of a DTensor whose processes cannot each reshape their own part.

    A dimension that is split so is gathered first: PyTorch 2.11 refuses to reshape it, and 2.14 if
    parts are uneven. So is one of the gradient, which may be split in other ways than the result.
    """
    if not is_distributed((x,)) or tuple(x.shape) == tuple(shape):
        return x.reshape(shape)
    found = _gathered(x, shape).reshape(shape)
    if found.requires_grad:
        found.register_hook(partial(_gathered, shape=x.shape))
    return found


def _gathered(x: Any, shape: Sequence[Any]) -> Any:
    """A DTensor that can be given a shape; those dimensions are gathered that hinder it.

    A dimension may be split that stays as it is. So may the first one of several that become one,
    and one that becomes several, if the parts are even before and after.
    """
    if not is_distributed((x,)):  # the gradient of a result that was not used
        return x
    whole, parts = _dtensors().Replicate(), _parts(x)
    first = {math.prod(shape[:i]): size for i, size in enumerate(shape) if size != 1}

    def stays(axis: int) -> bool:
        size, after = x.shape[axis], first.get(math.prod(x.shape[:axis]))
        if size == 1 or after is None:
            return False
        return size == after or size % parts[axis] == after % parts[axis] == 0

    placements = [
        whole if each.is_shard() and not stays(each.dim) else each for each in x.placements
    ]
    return x if placements == [*x.placements] else _Placed.apply(x, placements)


class _Placed(torch.autograd.Function):
    """`x.redistribute(placements=placements)`, which in PyTorch 2.11 has only first derivatives.

    There a part that is put together from uneven ones is also not contiguous as the whole is said
    to be, and cannot be reshaped.
    """

    @staticmethod
    def forward(ctx: Any, x: Any, placements: Sequence[Any]) -> Any:
        ctx.set_materialize_grads(False)  # zeros would be no DTensor
        whole = _dtensors().Replicate()
        ctx.placements = [whole if each.is_partial() else each for each in x.placements]
        part = x.redistribute(placements=placements).to_local()
        return _from_part(part.contiguous(), x.device_mesh, placements, tuple(x.shape))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (given,) = gradients
        return None if given is None else _Placed.apply(given, ctx.placements), None


def _parts(x: Any) -> list[int]:
    """How many parts each dimension of a DTensor is split into."""
    parts = [1] * x.ndim
    for i, each in enumerate(x.placements):
        if each.is_shard():
            parts[each.dim] *= x.device_mesh.size(i)
    return parts


def _dtensors() -> Any:
    return importlib.import_module("torch.distributed.tensor")


def _from_part(part: Any, mesh: Any, placements: Sequence[Any], shape: tuple[int, ...]) -> Any:
    placed = _dtensors()
    stride = torch.empty(shape, device="meta").stride()
    return placed.DTensor.from_local(
        part, mesh, placements, run_check=False, shape=torch.Size(shape), stride=stride
    )


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
