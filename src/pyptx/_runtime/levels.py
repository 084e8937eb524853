"""How a call takes one more level of `jax.vmap` or `torch.func.vmap`: in one launch, if it can."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyptx._dims import Symbol
from pyptx._emulator import Program
from pyptx._launch.call import Call
from pyptx._launch.description import TensorSpec
from pyptx._launch.layout import Mask, distances
from pyptx._launch.plan import EarlierResult, InputAddress, OutputAddress
from pyptx._recent import CALLS, Recent
from pyptx._trace.tensors.access_widths import WIDEST
from pyptx.errors import EmulationError
from pyptx.types import BY_NUMPY

_alignments: Final[Recent[int]] = Recent(CALLS)


def alignment(call: Call) -> int:
    """What the addresses of a call's tensors are multiples of: the kernels' widest access."""
    found = _alignments.get(call.identity)
    if found is None:
        try:
            found = max((Program(code.image()).alignment for code in call.code), default=1)
        except EmulationError:  # an instruction that is not emulated
            found = WIDEST
        _alignments.keep(call.identity, found)
    return found


@dataclass(frozen=True, slots=True)
class Level:
    """A level as a call takes it.

    mapped   the inputs that have its axis: of others than were mapped, copies
    width    elements of one launch, where one launch does not take all of them
    """

    mapped: Mask
    width: int | None = None


def level(call: Call, mapped: Mask, shapes: Sequence[Sequence[Any]], size: Any) -> Level:
    """How the call takes `size` elements of inputs that are `mapped`; shapes are of one element.

    An element that is not one more part of a parallel dimension begins at a distance from the last
    one that has to be a multiple of the kernels' widest access. Where it is none, inputs that have
    the dimension too are repeated, so that elements are parts of it; without such a dimension the
    elements are launched one after the other.
    """
    for mask in dict.fromkeys((mapped, _widened(call, mapped))):
        wide = _with_axis(mask, shapes, size)
        if call.batchable(mask, wide) and _is_aligned(call, mask, wide):
            return Level(mask)
    wide = _with_axis(mapped, shapes, size)
    if call.batchable(mapped, wide):
        return Level(mapped, 1)
    width = call.batch_width(mapped, wide)
    aligned = width == 1 or _is_aligned(call, mapped, _with_axis(mapped, shapes, width))
    return Level(mapped, width if aligned else 1)


def _with_axis(mapped: Mask, shapes: Sequence[Sequence[Any]], size: Any) -> list[tuple[Any, ...]]:
    pairs = zip(mapped, shapes, strict=True)
    return [(size, *shape) if own else tuple(shape) for own, shape in pairs]


def _widened(call: Call, mapped: Mask) -> Mask:
    """The inputs that begin with a dimension which a mapped input begins with."""
    if call.description is None:
        return mapped
    first = [tensor.dims[:1] for tensor in call.description.inputs]
    shared = {
        dims for dims, own in zip(first, mapped, strict=True)
        if own and dims and isinstance(dims[0], Symbol)
    }  # fmt: skip
    return tuple(own or dims in shared for dims, own in zip(first, mapped, strict=True))


def _is_aligned(call: Call, mapped: Mask, shapes: Sequence[Sequence[Any]]) -> bool:
    """Whether every element of the levels that take an axis of the grid begins where one may.

    The shapes have the new axis; a size that is symbolic may be any number.
    """
    assert call.description is not None
    found = call.batched(mapped)
    inputs = list(zip(found.inputs, shapes, strict=True))
    results = (*found.output_shapes(shapes), *found.scratch_shapes(shapes))
    outputs = list(zip((*found.outputs, *found.scratch), results, strict=True))
    return all(
        _distance(*(inputs if isinstance(tensor, InputAddress) else outputs)[tensor.index], axis)
        % width
        == 0
        for tensor, axis, width in distances(call.description, found.levels)
        if isinstance(tensor, InputAddress | OutputAddress | EarlierResult)
    )


def _distance(tensor: TensorSpec, shape: Sequence[Any], axis: str) -> int:
    """A number that the bytes from one element of an axis to the next are a multiple of."""
    inner = shape[tensor.axes.index(axis) + 1 :]
    return BY_NUMPY[tensor.dtype].bytes * math.prod(n for n in inner if isinstance(n, int))
