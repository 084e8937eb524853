"""Rotary embedding of views: heads are read where they are, and results have the same strides."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportPrivateUsage=false
# ruff: noqa: SLF001

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import torch
from torch.autograd import forward_ad

from pyptx._runtime.torch.runtime import PLAIN, at_once
from pyptx.ops._rope import Rope
from pyptx.ops._rope import kernel_of as kernel_of_rows
from pyptx.ops._rope_strided import Place, Stride, Strided, kernel_of
from pyptx.torch import _arguments as arguments

Tensors = tuple[Any, Any]
_LAYOUTS: Final = 4096
"""Shapes and strides that are kept."""


def turned(op: Rope, positions: Any, turns: Any, q: Any, k: Any) -> Tensors:
    """q and k, turned; positions are contiguous.

    Results have the strides of q and k, as those of PyTorch's elementwise operators, where the
    elements of a head are consecutive; otherwise they are contiguous. Transformations, exported
    programs, tensors that are split over processes and those of sizes that a compiled program
    computes have contiguous copies.
    """
    if not _keeps_strides((q, k, positions)):
        q, k = q.contiguous(), k.contiguous()
    q, k = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k))
    if q.is_contiguous() and k.is_contiguous():
        return kernel_of_rows(op)(positions, turns, q, k)
    if at_once((q, k)):
        return _computed(op, positions, turns, q, k)
    return torch.ops.pyptx.rope(q, k, positions, turns, op.interleaved, op.back)


def _keeps_strides(tensors: Sequence[Any]) -> bool:
    if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
        return False
    if torch.compiler.is_exporting() or torch._C._is_tracing():
        return False
    if arguments.is_traced():
        return not any(map(arguments.of_unknown_size, tensors))
    return all(type(each) in PLAIN for each in tensors)


# ---- what a launch reads and writes --------------------------------------------------------------


def _computed(op: Rope, positions: Any, turns: Any, q: Any, k: Any) -> Tensors:
    """The rotation of tensors with data."""
    results = _empty(q), _empty(k)
    if not positions.numel():
        return results
    inputs = [x if _is_read(x, op) else x.contiguous() for x in (q, k)]
    arrays = (*inputs, *results)
    with torch.no_grad():
        memory = [each.as_strided((_extent(each.shape, each.stride()),), (1,)) for each in arrays]
        kernel, sizes = _kernel(op, q.shape[:-2], tuple(each.stride() for each in arrays))
        kernel(positions.view(sizes), turns, *memory)
    return results


def _empty(x: Any) -> Any:
    """Memory for a result."""
    y = torch.empty_like(x)
    return y if y.stride(-1) == 1 else torch.empty_like(x, memory_format=torch.contiguous_format)


def _is_read(x: Any, op: Rope) -> bool:
    """Whether the kernel can read a tensor where it is."""
    width = op.vector.size
    aligned = x.data_ptr() % (width * op.dtype.bytes) == 0
    return aligned and _has_strides(width, x.shape, x.stride())


@lru_cache(_LAYOUTS)
def _has_strides(width: int, shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a kernel that reads vectors is made for such strides.

    Kernels are made for strides, less the sizes that count tokens. So that a new number of tokens
    makes none, there may be gaps between the heads of a token, and none between tokens whose heads
    are next to each other.
    """
    last = len(shape) - 1
    axes = [(stride, shape[i], i) for i, stride in enumerate(strides) if shape[i] > 1]
    axes.sort(reverse=True)
    for (outer, _, _), (inner, size, i) in pairwise(axes):
        if outer < inner * size or (outer > inner * size and i < last - 1):
            return False
    return strides[last] == 1 and all(stride % width == 0 for stride, _, i in axes if i < last)


@lru_cache(_LAYOUTS)
def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The elements of memory from a tensor's first one to its last one."""
    return 1 + sum(stride * (size - 1) for size, stride in zip(shape, strides, strict=True))


@lru_cache(_LAYOUTS)
def _kernel(
    op: Rope, shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[Any, Sequence[int]]:
    """The kernel for tokens of a shape and arrays with these strides, and the sizes that it takes.

    Dimensions of tokens that are one dimension of all arrays are one here.
    """
    merged, sizes = _merged(shape, [each[:-2] for each in strides])
    places: list[Place] = []
    for tokens, each in zip(merged, strides, strict=True):
        steps = [_stride(step, tokens, sizes) for step in (*tokens, each[-2])]
        places.append(Place(tuple(steps[:-1]), steps[-1]))
    count = len(op.heads)
    return kernel_of(Strided(op, tuple(places[:count]), tuple(places[count:]))), sizes


def _merged(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[list[list[int]], list[int]]:
    """The strides of as few dimensions as possible, and at least one; and their sizes."""
    found, sizes = [list[int]() for _ in strides], list[int]()
    for axis, size in enumerate(shape):
        here = [each[axis] for each in strides]
        if size == 1:
            continue
        if sizes and all(f[-1] == size * step for f, step in zip(found, here, strict=True)):
            sizes[-1] *= size
            for each, step in zip(found, here, strict=True):
                each[-1] = step
        else:
            sizes.append(size)
            for each, step in zip(found, here, strict=True):
                each.append(step)
    return (found, sizes) if sizes else ([[0] for _ in strides], [1])


def _stride(step: int, tokens: Sequence[int], sizes: Sequence[int]) -> Stride:
    """A stride by the sizes of the indices of tokens that are within it."""
    within = tuple(i for i, each in enumerate(tokens) if each < step)
    return Stride(step // math.prod(sizes[i] for i in within), within)


# ---- the operator --------------------------------------------------------------------------------

_library: Final = torch.library.Library("pyptx", "FRAGMENT")
_library.define(
    "rope(Tensor q, Tensor k, Tensor positions, Tensor turns, bool interleaved, bool back)"
    " -> (Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides),
)


def _with_data(
    q: Any, k: Any, positions: Any, turns: Any, interleaved: bool, back: bool
) -> Tensors:
    heads = int(q.shape[-2]), int(k.shape[-2])
    op = Rope(arguments.DTYPES[q.dtype], int(q.shape[-1]), heads, interleaved, back)
    return _computed(op, positions.contiguous(), turns.contiguous(), q, k)


def _without_data(q: Any, k: Any, *_: Any) -> Tensors:
    return _empty(q), _empty(k)


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    del output
    *_, positions, turns, ctx.interleaved, ctx.back = inputs
    ctx.save_for_backward(positions, turns)


def _backward(ctx: Any, g: Any, h: Any) -> tuple[Any, ...]:
    found = torch.ops.pyptx.rope(g, h, *ctx.saved_tensors, ctx.interleaved, not ctx.back)
    return *found, None, None, None, None


for _device in ("CPU", "CUDA"):
    _library.impl("rope", _with_data, _device)
torch.library.register_fake("pyptx::rope", _without_data, lib=_library)
torch.library.register_autograd("pyptx::rope", _backward, setup_context=_setup, lib=_library)
