"""What JAX knows of a call before it is lowered: the types of its results, meshes among them."""

# JAX's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import core
from jax.sharding import NamedSharding, PartitionSpec

from pyptx._launch.call import Call
from pyptx.errors import CallError


def output_avals(call: Call, avals: Sequence[Any]) -> list[Any]:
    """The types of the results for operands of these types.

    Under an explicit mesh each factor is sharded as the operands are. Raises CallError where they
    disagree, or where an axis is sharded that is no factor.
    """
    shapes = call.output_shapes([aval.shape for aval in avals])
    meshes = (*(aval.sharding.mesh for aval in avals), jax.sharding.get_abstract_mesh())
    mesh = next((mesh for mesh in meshes if not mesh.empty), None)
    if mesh is None:
        return [
            core.ShapedArray(shape, np.dtype(output.dtype))
            for output, shape in zip(call.outputs, shapes, strict=True)
        ]
    split = _split(call, avals)
    return [
        core.ShapedArray(
            shape,
            np.dtype(output.dtype),
            sharding=NamedSharding(mesh, PartitionSpec(*(split.get(a) for a in output.axes))),
            manual_axis_type=jax.sharding.ManualAxisType(varying=varying(avals)),
        )
        for output, shape in zip(call.outputs, shapes, strict=True)
    ]


def varying(avals: Sequence[Any]) -> frozenset[str]:
    """The axes of `shard_map` that any of them varies over."""
    return frozenset[str]().union(*(aval.manual_axis_type.varying for aval in avals))


def _split(call: Call, avals: Sequence[Any]) -> dict[int | str, Any]:
    """The axes of an explicit mesh that each factor is sharded over."""
    split: dict[int | str, Any] = {}
    first: dict[int | str, str] = {}
    for index, aval in enumerate(avals):
        if unreduced := aval.sharding.spec.unreduced:
            raise _refused(
                f"{call.inputs[index].name} is unreduced over {', '.join(unreduced)}, and kernel "
                f"{call.name} reads its values"
            )
        for axis, over in enumerate(aval.sharding.spec):
            if over is None:
                continue
            factor = call.inputs[index].axes[axis]
            place = _place(call, index, axis)
            if isinstance(factor, int) or factor in call.whole:
                raise not_whole(call, index, axis, over)
            there = first.setdefault(factor, place)
            if split.setdefault(factor, over) != over:
                raise _refused(
                    f"{place} is sharded over {over!r} and {there} over {split[factor]!r}, and "
                    f"kernel {call.name} takes both the same way"
                )
    _check_disjoint(call, split, first)
    return split


def _check_disjoint(call: Call, split: dict[int | str, Any], places: dict[int | str, str]) -> None:
    """An axis of the mesh splits one factor."""
    users: dict[str, int | str] = {}
    for factor, over in split.items():
        for name in over if isinstance(over, tuple) else (over,):
            other = users.setdefault(name, factor)
            if other != factor:
                raise _refused(
                    f"{places[other]} and {places[factor]} are both sharded over {name!r}, and "
                    f"kernel {call.name} works on each pair of their indices"
                )


def check_whole(call: Call, arrays: Sequence[Any]) -> None:
    """Raises CallError where an array is sharded along an axis that is no factor."""
    for index, (tensor, array) in enumerate(zip(call.inputs, arrays, strict=True)):
        sharding = getattr(array, "sharding", None)
        if sharding is None:  # a number or an array that JAX kept as a constant of the program
            continue
        if sharding.num_devices == 1 or sharding.is_fully_replicated:
            continue
        part = sharding.shard_shape(array.shape)
        for axis, factor in enumerate(tensor.axes):
            no_factor = isinstance(factor, int) or factor in call.whole
            if no_factor and part[axis] != array.shape[axis]:
                spec = getattr(sharding, "spec", ())
                over = spec[axis] if axis < len(spec) else str(sharding)
                raise not_whole(call, index, axis, over)


def not_whole(call: Call, index: int, axis: int, over: object) -> CallError:
    """The error for a sharded axis of an input that is no factor."""
    return CallError(
        f"{_place(call, index, axis)} is sharded over {over!r}, and kernel {call.name} needs it "
        "whole",
        notes=(
            ("help", "call the kernel inside jax.shard_map, or replicate the array"),
            ("help", "parallel= names dimensions that a kernel treats each index of on its own"),
        ),
    )


def _refused(problem: str) -> CallError:
    return CallError(problem, notes=(("help", "jax.sharding.reshard changes the sharding"),))


def _place(call: Call, index: int, axis: int) -> str:
    """An axis as the user counts it, without those of jax.vmap."""
    levels = sum(mapped[index] for mapped in call.levels)
    where = f"dimension {axis - levels}" if axis >= levels else "a mapped axis"
    return f"{where} of {call.inputs[index].name}"
