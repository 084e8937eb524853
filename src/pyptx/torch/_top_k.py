"""`top_k` and `argmax` as operations of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from typing import Any

import torch

from pyptx._runtime.torch.runtime import has_gradient
from pyptx.errors import CallError
from pyptx.ops._top_k import MOST, TopK, kernel_of
from pyptx.torch import _arguments as arguments
from pyptx.types import DType


@arguments.operation
def top_k(
    input: Any, k: Any, dim: Any = -1, largest: Any = True, sorted: Any = True
) -> tuple[Any, Any]:
    """`torch.topk` in a kernel: the k largest elements and their indices.

    input    bfloat16, float16, float32 or float64
    k        a Python integer, 1 to 64, at most the size of `dim`
    dim      if it is not the last dimension, input is copied
    largest  True
    sorted   either: elements come with the largest first
    returns  values, of input's type, and int64 indices; a tuple

    Equal elements keep their order. NaN is larger than infinity, a negative NaN less than minus
    infinity, and -0 less than 0. Values are differentiable, to any order. Raises CallError.
    """
    del sorted
    dtype, dim = _checked("top_k", input, dim)
    size = int(input.shape[dim])
    most = min(MOST, size)
    if isinstance(k, bool) or not isinstance(k, int) or not 0 < k <= most:
        raise CallError(
            f"k is {k!r} and must be a Python integer from 1 to {most}",
            notes=(("help", "for more, torch.topk(input, k)"),),
        )
    if largest is not True:
        raise CallError(
            f"largest is {largest!r}, and top_k gives the largest elements",
            notes=(("help", "torch.topk(input, k, largest=False)"),),
        )
    kernel: Any = kernel_of(TopK(dtype, size, k))

    def computed(input: Any, *_: Any, **__: Any) -> tuple[Any, Any]:  # the rest is known
        rows = input.movedim(dim, -1)
        values, indices = kernel(rows.detach().contiguous())
        if k == 1:
            values, indices = values.unsqueeze(-1), indices.unsqueeze(-1)
        indices = indices.long()
        if torch.is_grad_enabled() and has_gradient(input):
            values = rows.gather(-1, indices)
        return values.movedim(-1, dim), indices.movedim(-1, dim)

    return computed  # pyright: ignore[reportReturnType]  # what `operation` makes the result with


@arguments.operation
def argmax(input: Any, dim: Any = None, keepdim: Any = False) -> Any:
    """`torch.argmax` in a kernel: the index of the first largest element; int64.

    input    bfloat16, float16, float32 or float64
    dim      if it is not the last dimension, input is copied; None for all elements in a row
    keepdim  whether the result has `dim`, of size 1

    With NaN it is the index of the first NaN. Raises CallError.
    """
    if dim is None and isinstance(input, torch.Tensor):
        flat, at = input.reshape(-1), 0
        dtype, _ = _checked("argmax", flat, -1)
        size = input.numel()
    else:
        dtype, at = _checked("argmax", input, dim)
        size = int(input.shape[at])
    kernel: Any = kernel_of(TopK(dtype, int(size), 1, index_only=True))

    def computed(input: Any, *_: Any, **__: Any) -> Any:
        rows = input.reshape(-1) if dim is None else input.movedim(at, -1)
        found = kernel(rows.detach().contiguous()).long()
        if not keepdim:
            return found
        return found.reshape((1,) * input.ndim) if dim is None else found.unsqueeze(at)

    return computed


def _checked(name: str, x: Any, dim: Any) -> tuple[DType, int]:
    dtype = arguments.dtype_of("input", x, name)
    arguments.check_targets(name)
    dim = arguments.dimension(dim, x)
    arguments.check_rows(x.movedim(dim, -1), 1, name)
    return dtype, dim
