"""Calls on tensors that are split over the processes of a mesh: `torch.distributed.tensor`.

What is split where follows from the call. A factor, which is an axis of a parallel dimension, may
be split along an axis of the mesh: then every tensor that has the factor is, and each process runs
the call on its part. A result that is a sum over the factor is a partial sum of each. No process
needs anything of another, unless a tensor has to be placed otherwise first.
"""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

from pyptx._launch.call import Call
from pyptx._launch.description import TensorSpec
from pyptx._runtime.torch.tensors import DTYPES
from pyptx.errors import CallError

Run: TypeAlias = Callable[[Call, Sequence[Any]], tuple[Any, ...]]


class Splits(Protocol):
    """What is read of a call, or of a computation that pads the parts of its tensors first."""

    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> Sequence[TensorSpec]: ...
    @property
    def whole(self) -> Sequence[str]: ...


def launch(call: Call, operands: Sequence[Any], run: Run) -> tuple[Any, ...]:
    """Run a call on operands that are DTensors; `run` runs it on the tensors of one process.

    Raises CallError as `parts` does.
    """
    mesh, factors, own = parts(call, operands)
    of_sums = call.partial if is_summed(call.outputs, factors) else None
    results = run(of_sums or call, own)
    shapes = call.output_shapes([tuple(operand.shape) for operand in operands])
    return tuple(
        result_of(result, spec, tuple(shape), mesh, factors)
        for result, spec, shape in zip(results, call.outputs, shapes, strict=True)
    )


def parts(call: Splits, operands: Sequence[Any]) -> tuple[Any, list[str | None], list[Any]]:
    """The mesh, the factor that each of its axes splits, and the operands of this process.

    Raises CallError where a tensor is split along an axis that is no factor, where two factors
    would be split along one axis of the mesh, and for a mixture with tensors that are not placed.
    """
    mesh = _mesh(call, operands)
    factors = [_factor(call, operands, mesh, axis) for axis in range(mesh.ndim)]
    placed = [
        _placed(operand, spec, mesh, factors) if isinstance(operand, DTensor) else operand
        for operand, spec in zip(operands, call.inputs, strict=True)
    ]
    return mesh, factors, [p.to_local() if isinstance(p, DTensor) else p for p in placed]


def is_summed(outputs: Sequence[TensorSpec], factors: Sequence[str | None]) -> bool:
    """Whether processes have parts of sums."""
    return any({*factors}.intersection(output.sums) for output in outputs)


def _mesh(call: Splits, operands: Sequence[Any]) -> Any:
    """The mesh of all operands. Scalars may be tensors of the process."""
    named = list(zip(operands, call.inputs, strict=True))
    first, first_spec = next((o, spec) for o, spec in named if isinstance(o, DTensor))
    for operand, spec in named:
        if not isinstance(operand, DTensor):
            if not spec.axes:
                continue
            raise CallError(
                f"{first_spec.name} is a DTensor and {spec.name} a torch.Tensor",
                notes=(("help", f"distribute_tensor({spec.name}, {first_spec.name}.device_mesh)"),),
            )
        if operand.device_mesh != first.device_mesh:
            raise CallError(f"{first_spec.name} and {spec.name} are on two meshes")
    return first.device_mesh


def _factor(call: Splits, operands: Sequence[Any], mesh: Any, along: int) -> str | None:
    """The factor that is split along an axis of the mesh, if one is."""
    found: str | None = None
    there = ""
    for operand, spec in zip(operands, call.inputs, strict=True):
        placement: Any = operand.placements[along] if isinstance(operand, DTensor) else None
        if not isinstance(placement, Shard):
            continue
        axis: int = placement.dim
        name = spec.axes[axis]
        here = f"dimension {axis} of {spec.name}"
        if isinstance(name, int) or name in call.whole:
            raise CallError(
                f"{here} is sharded over {_called(mesh, along)}, and kernel {call.name} needs it "
                "whole",
                notes=(
                    ("help", f"{spec.name}.redistribute(placements=[Replicate()])"),
                    ("help", "parallel= names dimensions that a kernel treats each index of alone"),
                ),
            )
        if found is not None and name != found:
            raise CallError(
                f"{there} and {here} are both sharded over {_called(mesh, along)}, and kernel "
                f"{call.name} works on each pair of their indices"
            )
        found, there = name, here
    return found


def _called(mesh: Any, along: int) -> str:
    names = mesh.mesh_dim_names
    return repr(names[along]) if names else f"axis {along} of the mesh"


def _placements(spec: TensorSpec, factors: Sequence[str | None]) -> list[Any]:
    """Where a tensor's axes are: split along each axis of the mesh whose factor it has."""
    return [
        Shard(spec.axes.index(factor)) if factor in spec.axes else Replicate() for factor in factors
    ]


def _placed(operand: Any, spec: TensorSpec, mesh: Any, factors: Sequence[str | None]) -> Any:
    """An operand as the call takes it: a partial sum is added up, a whole tensor is cut."""
    wanted = _placements(spec, factors)
    if list(operand.placements) == wanted:
        return operand
    return operand.redistribute(mesh, wanted)


def result_of(
    local: Any,
    spec: TensorSpec,
    shape: tuple[int, ...],
    mesh: Any,
    factors: Sequence[str | None],
) -> Any:
    """A result of which each process has a part. A sum of another type is rounded after it."""
    placements = [
        Partial() if factor in spec.sums else placement
        for factor, placement in zip(factors, _placements(spec, factors), strict=True)
    ]
    stride = torch.empty(shape, device="meta").stride()
    found = DTensor.from_local(
        local, mesh, placements, run_check=False, shape=torch.Size(shape), stride=stride
    )
    dtype = DTYPES[spec.dtype]
    if local.dtype != dtype:  # parts of a sum, which is rounded once: after it is added up
        found = found.redistribute(mesh, _placements(spec, factors)).to(dtype)
    return found
