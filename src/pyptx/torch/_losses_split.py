"""The cross entropy of DTensors whose classes are split over the processes of a mesh's axis."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any, Final

import torch

from pyptx._runtime.torch.runtime import is_distributed
from pyptx.errors import CallError
from pyptx.ops._cross_entropy import Part, PartGradient
from pyptx.ops.rowwise import plan
from pyptx.torch._arguments import DTYPES
from pyptx.torch._differentiable import differentiable
from pyptx.types import DType

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""


def axis_of(x: Any) -> int | None:
    """The axis of the mesh that the last dimension of a tensor is split over, if it is one."""
    if not is_distributed((x,)):
        return None
    axes = [i for i, each in enumerate(x.placements) if each.is_shard(x.ndim - 1)]
    return axes[0] if len(axes) == 1 else None


def loss(x: Any, labels: Any, axis: int, ignored: int | None, smoothing: float, z: float) -> Any:
    """The loss of whole rows, of a process' columns of them: one all-reduce of a few numbers.

    `labels` are int32, of all columns. The result is split as the rows of x are. Raises CallError
    for labels that are no DTensor of the mesh, and for fewer columns than processes.
    """
    placed: Any = importlib.import_module("torch.distributed.tensor")
    mesh, columns = x.device_mesh, int(x.shape[-1])
    processes, process = mesh.size(axis), mesh.get_local_rank(axis)
    _check(x, labels, processes)
    by_rows = [
        each if each.is_shard() and i != axis else placed.Replicate()
        for i, each in enumerate(x.placements)
    ]
    whole = [placed.Shard(x.ndim - 1) if i == axis else each for i, each in enumerate(by_rows)]
    own = x.redistribute(mesh, whole).to_local().contiguous()
    label = labels.redistribute(mesh, by_rows).to_local()
    there = (label >= 0) & (label < columns)
    first = process * -(-columns // processes)  # as torch.chunk cuts them
    found = _part(int(own.shape[-1]), DTYPES[x.dtype]).run(
        own, torch.where(there, label - first, -1).to(torch.int32).contiguous()
    )
    if ignored is not None:  # also where the row is not a number
        instead = (0.0, 1.0, 0.0, 0.0)
        found = [torch.where(label == ignored, *each) for each in zip(instead, found, strict=True)]
    maximum, exponentials, picked, total = found
    # Those of all processes, by a sum in which every process has a place of its own.
    mine = torch.arange(processes, device=maximum.device) == process
    places = [torch.where(mine, each[..., None], 0.0) for each in (maximum, exponentials)]
    summed = _Sum.apply(torch.cat([*places, torch.stack([picked, total], -1)], -1), mesh, axis)
    maxima = summed[..., :processes].detach()
    largest = maxima.amax(-1)
    # Of minus infinities nothing can be subtracted.
    largest = torch.where(largest == -torch.inf, 0.0, largest)
    powers = (maxima - largest[..., None]).exp()
    logarithm = (summed[..., processes:-2] * powers).sum(-1).log()
    of_all = largest + logarithm
    value = largest - (1 - smoothing) * summed[..., -2]
    if smoothing:  # a sum of minus infinities times nothing is no number
        value = value - smoothing / columns * summed[..., -1]
    penalty = z * of_all * of_all if z else 0.0  # a square may be infinite
    value = (value + logarithm + penalty) * torch.where(there, 1.0, torch.nan).to(value.dtype)
    if ignored is not None:
        value = torch.where(label == ignored, 0.0, value)
    shape = torch.Size(x.shape[:-1])
    stride = torch.empty(shape, device="meta").stride()
    return placed.DTensor.from_local(
        value, mesh, by_rows, run_check=False, shape=shape, stride=stride
    )


class _Sum(torch.autograd.Function):
    """A sum over the processes of a mesh's axis, which all of them go on with in the same way.

    So each has the whole gradient of it already. The gradient of that one is a sum again: DTensor's
    own sums leave it out.
    """

    @staticmethod
    def forward(ctx: Any, x: Any, mesh: Any, axis: int) -> Any:
        ctx.where = mesh, axis
        placed: Any = importlib.import_module("torch.distributed.tensor")
        whole = [placed.Replicate()] * mesh.ndim
        parts = [*whole[:axis], placed.Partial(), *whole[axis + 1 :]]
        summed = placed.DTensor.from_local(x.detach(), mesh, parts, run_check=False)
        return summed.redistribute(mesh, whole).to_local()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _Same.apply(*gradients, *ctx.where), None, None


class _Same(torch.autograd.Function):
    """A number that all processes of a mesh's axis have, as each of them goes on with it alone."""

    @staticmethod
    def forward(ctx: Any, x: Any, mesh: Any, axis: int) -> Any:
        ctx.where = mesh, axis
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _Sum.apply(*gradients, *ctx.where), None, None


def _check(x: Any, labels: Any, processes: int) -> None:
    if not is_distributed((labels,)):
        raise CallError(
            "input is a DTensor and target a torch.Tensor",
            notes=(("help", "distribute_tensor(target, input.device_mesh)"),),
        )
    if labels.device_mesh != x.device_mesh:
        raise CallError("input and target are on two meshes")
    columns = int(x.shape[-1])
    size = -(-columns // processes)
    if size * (processes - 1) >= columns:
        raise CallError(
            f"input has {columns} classes, split over {processes} processes, of which some have "
            "none",
            notes=(("help", "input.redistribute(placements=[Replicate()])"),),
        )


@lru_cache(_OPERATIONS)
def _part(columns: int, dtype: DType) -> Any:
    """Of some columns the maximum M, the sum of exp(x - M), x in the label's column or 0, and the
    sum of x.

    What is made of the first two does not depend on M, whose cotangent is not read.
    """
    plain = plan.operation(Part(columns, dtype), (columns,))
    gradient = plan.operation(PartGradient(columns, dtype), (columns,))

    def cross_entropy_part(x: Any, labels: Any) -> Any:
        return tuple(plain(x, labels))

    def forward(x: Any, labels: Any) -> Any:
        found = cross_entropy_part(x, labels)
        return found, (x, labels, found[0])

    def backward(saved: Any, *cotangents: Any) -> Any:
        return gradient(*saved, *cotangents[1:]), None

    def reference(x: Any, labels: Any) -> Any:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        here = (labels >= 0) & (labels < columns)
        at = labels.long().clamp(0, columns - 1)[..., None]
        picked = torch.where(here, wide.gather(-1, at)[..., 0], 0.0)
        maximum = wide.detach().amax(-1)
        exponentials = (wide - maximum[..., None]).exp().sum(-1)
        return maximum, exponentials, picked, wide.sum(-1)

    return differentiable(cross_entropy_part, forward, backward, reference=reference)
