"""`tensordot` as an operation of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyptx.errors import CallError
from pyptx.ops.tensor_core.factors import DTYPES
from pyptx.torch import _arguments as arguments
from pyptx.torch._matmul import check_types, matmul
from pyptx.torch._products_split import reshaped


@arguments.operation
def tensordot(a: Any, b: Any, dims: Any = 2, *, out_dtype: Any = None) -> Any:
    """`torch.tensordot` on tensor cores.

    a, b       bfloat16, float16 or float32, of one type
    dims       how many dimensions to sum over, the last of a and the first of b; or the dimensions
               of a and those of b, two sequences of the same length
    out_dtype  as for `matmul`
    returns    the dimensions of a that are not summed over, then those of b

    Nothing is copied if the dimensions that are summed over are next to each other, in the same
    order in both, and first or last. Everything else is as in `matmul`, which multiplies batches.
    Raises CallError.
    """
    check_types("tensordot", DTYPES, a=a, b=b)
    of_a, of_b = _dims(dims, a, b)
    rows = [i for i in range(a.ndim) if i not in of_a]
    columns = [i for i in range(b.ndim) if i not in of_b]

    def computed(a: Any, b: Any, *_: Any, **__: Any) -> Any:
        kept = [a.shape[i] for i in rows], [b.shape[i] for i in columns]
        depth = math.prod(a.shape[i] for i in of_a)
        one = reshaped(a.permute((*rows, *of_a)), (math.prod(kept[0]), depth))
        other = reshaped(b.permute((*of_b, *columns)), (depth, math.prod(kept[1])))
        return reshaped(matmul(one, other, out_dtype=out_dtype), (*kept[0], *kept[1]))

    return computed


def _dims(dims: Any, a: Any, b: Any) -> tuple[list[int], list[int]]:
    """The dimensions to sum over, from 0 on. Raises CallError for what is none."""
    shapes = tuple(a.shape), tuple(b.shape)
    if isinstance(dims, int) and not isinstance(dims, bool) and 0 <= dims <= min(a.ndim, b.ndim):
        pair = [*range(a.ndim - dims, a.ndim)], [*range(dims)]
    else:
        found = _pair(dims, a.ndim, b.ndim)
        if found is None:
            raise CallError(
                f"dims is {dims!r}, and a has shape {shapes[0]} and b {shapes[1]}",
                notes=(("legal", "a number, or dimensions of a and of b: ([0, 1], [1, 0])"),),
            )
        pair = found
    if [shapes[0][i] for i in pair[0]] != [shapes[1][i] for i in pair[1]]:
        raise CallError(
            f"a has shape {shapes[0]} and b {shapes[1]}, whose sizes along dimensions {pair[0]} "
            f"and {pair[1]} are not equal"
        )
    return pair


def _pair(dims: Any, *ranks: int) -> tuple[list[int], list[int]] | None:
    """Two lists of different dimensions, of one length; None where they are not."""
    if not isinstance(dims, (tuple, list)) or len(dims) != len(ranks):
        return None
    found: list[list[int]] = []
    for some, rank in zip(dims, ranks, strict=True):
        each: Sequence[Any] = some if isinstance(some, (tuple, list)) else (some,)
        if not all(isinstance(dim, int) and -rank <= dim < rank for dim in each):
            return None
        found.append([dim % rank for dim in each])
        if len({*found[-1]}) != len(found[-1]):
            return None
    return (found[0], found[1]) if len(found[0]) == len(found[1]) else None
