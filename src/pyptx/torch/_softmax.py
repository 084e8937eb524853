"""`softmax` and `log_softmax` as operations of PyTorch."""

# PyTorch's annotations are partial, and values that cross its interface are Any here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import torch
from torch.nn import functional

from pyptx.errors import CallError
from pyptx.ops._softmax import Softmax, SoftmaxGradient
from pyptx.ops.rowwise import plan
from pyptx.torch import _arguments as arguments
from pyptx.torch._differentiable import differentiable
from pyptx.types import DType

_OPERATIONS: Final = 1024
"""Operations that are kept: one for each kind of row, which a program has few of."""


@arguments.operation
def softmax(input: Any, dim: Any, *, dtype: Any = None) -> Any:
    """`torch.nn.functional.softmax` by kernels, rounded once.

    input      bfloat16, float16, float32 or float64, of any shape but ()
    dim        the dimension of the sums; where it is not the last one, input is copied
    dtype      the type that input is converted to first
    returns    input's shape and type; float32 on a GPU under autocast, as PyTorch has it

    Sums and exponentials are in float32, in float64 where input is. A row of minus infinities, and
    a row with NaN or with plus infinity, is NaN. Differentiable by kernels, of higher order by
    PyTorch's operators. Raises CallError.
    """
    return _call("softmax", input, dim, dtype, log=False)


@arguments.operation
def log_softmax(input: Any, dim: Any, *, dtype: Any = None) -> Any:
    """`torch.nn.functional.log_softmax` by kernels, rounded once; else as `softmax`."""
    return _call("log_softmax", input, dim, dtype, log=True)


def _call(name: str, x: Any, dim: Any, dtype: Any, *, log: bool) -> Any:
    arguments.dtype_of("input", x, name)
    arguments.check_targets(name)
    rank = x.ndim
    if isinstance(dim, bool) or not isinstance(dim, int) or not -rank <= dim < rank:
        raise CallError(
            f"dim is {dim!r} and input has shape {tuple(x.shape)}",
            notes=(("legal", f"{-rank} to {rank - 1}" if rank else "nothing of a scalar"),),
        )
    if dtype is None and arguments.widened(x):
        dtype = torch.promote_types(x.dtype, torch.float32)
    kind = x.dtype if dtype is None else dtype
    arguments.check_rows(x.movedim(dim, -1), 1, name)
    last = dim % rank == rank - 1
    run = _operation(int(x.shape[dim]), arguments.kernel_type("input", kind), log).run

    def computed(input: Any, *_: Any, **__: Any) -> Any:  # dim and dtype are known
        rows = input.to(kind)
        if last:
            return run(rows.contiguous())
        return run(rows.movedim(dim, -1).contiguous()).movedim(-1, dim)

    return computed


@lru_cache(_OPERATIONS)
def _operation(columns: int, dtype: DType, log: bool) -> Any:
    plain = plan.operation(Softmax(columns, dtype, log), (columns,))
    gradient = plan.operation(SoftmaxGradient(columns, dtype, log), (columns,))
    function = functional.log_softmax if log else functional.softmax

    def softmax(x: Any) -> Any:
        return plain(x)

    def forward(x: Any) -> Any:
        y: Any = plain(x)
        return y, (y,)

    def backward(saved: Any, g: Any) -> Any:
        return gradient(saved[0], g)

    def reference(x: Any) -> Any:
        wide = torch.promote_types(x.dtype, torch.float32)
        return function(x.to(wide), -1).to(x.dtype)

    softmax.__name__ = "log_softmax" if log else "softmax"
    return differentiable(softmax, forward, backward, reference=reference)
